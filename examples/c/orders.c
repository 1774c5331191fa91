/*
 * A table with a primary key: create it, write two commits as Arrow batches, read it, read its changes.
 *
 * usage: orders WAREHOUSE
 */
#include <math.h>
#include <stdio.h>

#include "arrow_batch.h"

static const char *const kinds_text[] = {"+I", "-U", "+U", "-D"};

static void must(tl_status status, const tl_error *err)
{
    if (status == TL_OK)
        return;
    fprintf(stderr, "%s: %s\n", tidelake_status_name(status), err->message);
    exit(1);
}

static void write_orders(tidelake_table *table, const order *orders, int64_t n, const uint8_t *kinds)
{
    tl_error err;
    tidelake_writer *writer;
    must(tidelake_writer_open(table, NULL, &writer, &err), &err);

    struct ArrowArray array;
    struct ArrowSchema schema;
    orders_to_arrow(orders, n, &array, &schema);
    must(tidelake_writer_write(writer, &array, &schema, kinds, &err), &err); /* takes the array over */
    schema.release(&schema);

    tidelake_commit_result result;
    must(tidelake_writer_commit(writer, NULL, &result, &err), &err);
    printf("snapshot %lld\n", (long long)result.snapshot_id);
    tidelake_writer_close(writer);
}

/* Print the batches of a cursor and release it. */
static void print_rows(tidelake_rows *rows, int with_kinds)
{
    tl_error err;
    for (;;) {
        tidelake_batch *batch;
        must(tidelake_rows_next(rows, &batch, &err), &err);
        if (batch == NULL)
            break;
        struct ArrowArray array;
        must(tidelake_batch_arrow(batch, &array, &err), &err);
        for (int64_t i = 0; i < array.length; i++) {
            int bytes;
            const char *customer = string_at(array.children[1], i, &bytes);
            if (with_kinds)
                printf("snapshot %lld %s ", (long long)tidelake_batch_snapshot(batch),
                       kinds_text[tidelake_batch_kind(batch, i)]);
            printf("order %lld of %.*s: ", (long long)int64_at(array.children[0], i), bytes, customer);
            if (is_null(array.children[2], i))
                printf("no amount\n");
            else
                printf("%.2f\n", double_at(array.children[2], i));
        }
        array.release(&array);
        tidelake_batch_free(batch);
    }
    tidelake_rows_free(rows);
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: orders WAREHOUSE\n");
        return 2;
    }
    tl_error err;
    tidelake_lake *lake;
    tidelake_table *table;
    must(tidelake_open(argv[1], &lake, &err), &err);
    must(tidelake_drop_table(lake, "shop.orders", /* if_exists= */ 1, &err), &err);
    must(tidelake_create_table(lake, "shop.orders",
                               "{\"columns\": [{\"name\": \"id\", \"type\": \"BIGINT\"},"
                               "              {\"name\": \"customer\", \"type\": \"STRING\"},"
                               "              {\"name\": \"amount\", \"type\": \"DOUBLE\"}],"
                               " \"primaryKeys\": [\"id\"],"
                               " \"options\": {\"bucket\": \"1\", \"changelog-producer\": \"lookup\"}}",
                               /* if_not_exists= */ 0, &err),
         &err);
    must(tidelake_table_open(lake, "shop.orders", NULL, 0, &table, &err), &err);

    const order first[] = {{1, "Ada", 10.5}, {2, "Grace", 20}, {3, "Edsger", NAN}};
    write_orders(table, first, 3, NULL);
    const order second[] = {{2, "Grace", 25}, {3, "Edsger", NAN}};
    const uint8_t kinds[] = {2, 3}; /* +U, -D */
    write_orders(table, second, 2, kinds);

    printf("-- orders above 20\n");
    tidelake_rows *rows;
    tidelake_read_options read = TIDELAKE_READ_INIT;
    read.where = "[\">\", \"amount\", 20]";
    must(tidelake_read(table, &read, &rows, &err), &err);
    print_rows(rows, 0);

    printf("-- all changes\n");
    tidelake_changes_options changes = TIDELAKE_CHANGES_INIT;
    changes.next_snapshot = 1;
    must(tidelake_changes(table, &changes, &rows, &err), &err);
    print_rows(rows, 1);

    tidelake_table_close(table);
    tidelake_close(lake);
    return 0;
}
