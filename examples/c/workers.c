/*
 * Work that is shared out: writers hand their files over as commit messages and one place commits them all at once; a read
 * is planned in one place and its splits are read in others. Messages and splits are plain bytes, in the reference's own
 * forms, so they can go over any wire. Here all "workers" are this one process.
 *
 * usage: workers WAREHOUSE
 */
#include <stdio.h>

#include "arrow_batch.h"

#define WORKERS 3

static void must(tl_status status, const tl_error *err)
{
    if (status == TL_OK)
        return;
    fprintf(stderr, "%s: %s\n", tidelake_status_name(status), err->message);
    exit(1);
}

/* A worker writes its part; nothing is visible yet. Release *messages with tidelake_free(). */
static void write_part(tidelake_lake *lake, int worker, tidelake_bytes **messages, size_t *n)
{
    tl_error err;
    tidelake_table *table;
    tidelake_writer *writer;
    must(tidelake_table_open(lake, "shop.events", NULL, 0, &table, &err), &err);
    must(tidelake_writer_open(table, NULL, &writer, &err), &err);
    order orders[4];
    for (int i = 0; i < 4; i++)
        orders[i] = (order){worker * 100 + i, i % 2 == 0 ? "Ada" : "Grace", i};
    struct ArrowArray array;
    struct ArrowSchema schema;
    orders_to_arrow(orders, 4, &array, &schema);
    must(tidelake_writer_write(writer, &array, &schema, NULL, &err), &err);
    schema.release(&schema);
    must(tidelake_writer_prepare(writer, messages, n, &err), &err);
    tidelake_writer_close(writer);
    tidelake_table_close(table);
}

/* One worker's share of a read. */
static void read_part(tidelake_table *table, tidelake_bytes split, const tidelake_read_options *options, int64_t *count,
                      double *sum)
{
    tl_error err;
    struct ArrowArrayStream stream;
    tidelake_rows *rows;
    must(tidelake_read_split(table, split, options, &rows, &err), &err);
    must(tidelake_rows_stream(rows, &stream, &err), &err); /* takes the rows over */
    for (;;) {
        struct ArrowArray array;
        if (stream.get_next(&stream, &array) != 0) {
            fprintf(stderr, "%s\n", stream.get_last_error(&stream));
            exit(1);
        }
        if (array.release == NULL)
            break;
        *count += array.length;
        for (int64_t i = 0; i < array.length; i++)
            *sum += double_at(array.children[0], i);
        array.release(&array);
    }
    stream.release(&stream);
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: workers WAREHOUSE\n");
        return 2;
    }
    tl_error err;
    tidelake_lake *lake;
    tidelake_table *table;
    must(tidelake_open(argv[1], &lake, &err), &err);
    must(tidelake_drop_table(lake, "shop.events", /* if_exists= */ 1, &err), &err);
    must(tidelake_create_table(lake, "shop.events",
                               "{\"columns\": [{\"name\": \"id\", \"type\": \"BIGINT\"},"
                               "              {\"name\": \"customer\", \"type\": \"STRING\"},"
                               "              {\"name\": \"amount\", \"type\": \"DOUBLE\"}],"
                               " \"partitionKeys\": [\"customer\"]}",
                               /* if_not_exists= */ 0, &err),
         &err);
    must(tidelake_table_open(lake, "shop.events", NULL, 0, &table, &err), &err);

    /* The messages of all workers, as they would arrive at the place that commits. */
    tidelake_bytes all[WORKERS * 2];
    tidelake_bytes *parts[WORKERS];
    size_t n = 0;
    for (int worker = 0; worker < WORKERS; worker++) {
        size_t n_part;
        write_part(lake, worker, &parts[worker], &n_part);
        for (size_t i = 0; i < n_part && n < WORKERS * 2; i++)
            all[n++] = parts[worker][i];
    }
    tidelake_commit_result result;
    must(tidelake_commit_prepared(table, "example", all, n, NULL, &result, &err), &err);
    printf("%zu messages of %d workers in snapshot %lld\n", n, WORKERS, (long long)result.snapshot_id);
    for (int worker = 0; worker < WORKERS; worker++)
        tidelake_free(parts[worker]);

    /* A filter prunes while planning; a split is read with the same options. */
    const char *const columns[] = {"amount"};
    tidelake_read_options read = TIDELAKE_READ_INIT;
    read.columns = columns;
    read.n_columns = 1;
    read.where = "[\"=\", \"customer\", \"Grace\"]";
    tidelake_bytes *splits;
    must(tidelake_plan(table, &read, &splits, &n, &err), &err);
    int64_t count = 0;
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        read_part(table, splits[i], &read, &count, &sum);
    printf("%zu split%s: %lld events of Grace, amounts %.0f\n", n, n == 1 ? "" : "s", (long long)count, sum);
    tidelake_free(splits);

    tidelake_table_close(table);
    tidelake_close(lake);
    return 0;
}
