/*
 * Rows by key: a table of orders is enriched from, as a service or a join would. The look-up holds the latest snapshot in memory
 * (or, where the table is too large for that, reads its files) and follows the table when it is told to.
 *
 * usage: lookup WAREHOUSE
 */
#include <stdio.h>

#include "arrow_batch.h"

static void must(tl_status status, const tl_error *err)
{
    if (status == TL_OK)
        return;
    fprintf(stderr, "%s: %s\n", tidelake_status_name(status), err->message);
    exit(1);
}

static void write_orders(tidelake_table *table, const order *orders, int64_t n)
{
    tl_error err;
    tidelake_writer *writer;
    struct ArrowArray array;
    struct ArrowSchema schema;
    must(tidelake_writer_open(table, NULL, &writer, &err), &err);
    orders_to_arrow(orders, n, &array, &schema);
    must(tidelake_writer_write(writer, &array, &schema, NULL, &err), &err);
    schema.release(&schema);
    must(tidelake_writer_commit(writer, NULL, NULL, &err), &err);
    tidelake_writer_close(writer);
}

/* Ask for many keys at a time: the columns that are no keys are left out by the library. */
static void print_orders(tidelake_lookup *lookup, const order *wanted, int64_t n)
{
    tl_error err;
    struct ArrowArray keys, rows;
    struct ArrowSchema schema;
    tidelake_batch *found;
    const uint32_t *positions;
    orders_to_arrow(wanted, n, &keys, &schema);
    must(tidelake_lookup_find(lookup, &keys, &schema, &found, &positions, &err), &err);
    schema.release(&schema);
    must(tidelake_batch_arrow(found, &rows, &err), &err);
    printf("snapshot %lld\n", (long long)tidelake_lookup_snapshot(lookup));
    for (int64_t i = 0; i < rows.length; i++) {
        int bytes;
        const char *customer = string_at(rows.children[0], i, &bytes);
        printf("  key %u (id %lld): %.*s, %.2f\n", (unsigned)positions[i], (long long)wanted[positions[i]].id, bytes, customer,
               double_at(rows.children[1], i));
    }
    rows.release(&rows);
    tidelake_batch_free(found);
}

int main(int argc, char **argv)
{
    static const order first[] = {{1, "Ada", 10}, {2, "Grace", 20}, {3, "Edsger", 30}};
    static const order second[] = {{2, "Grace", 25}, {4, "Barbara", 40}};
    static const order wanted[] = {{4, "", 0}, {2, "", 0}, {2, "", 0}};
    static const char *const columns[] = {"customer", "amount"};
    tl_error err;
    tidelake_lake *lake;
    tidelake_table *table;
    tidelake_lookup *lookup;
    if (argc != 2) {
        fprintf(stderr, "usage: lookup WAREHOUSE\n");
        return 2;
    }
    must(tidelake_open(argv[1], &lake, &err), &err);
    must(tidelake_drop_table(lake, "shop.lookup", /* if_exists= */ 1, &err), &err);
    must(tidelake_create_table(lake, "shop.lookup",
                               "{\"columns\": [{\"name\": \"id\", \"type\": \"BIGINT\"}, {\"name\": \"customer\", \"type\": \"STRING\"},"
                               " {\"name\": \"amount\", \"type\": \"DOUBLE\"}],"
                               " \"primaryKeys\": [\"id\"], \"options\": {\"bucket\": \"1\"}}",
                               /* if_not_exists= */ 0, &err),
         &err);
    must(tidelake_table_open(lake, "shop.lookup", NULL, 0, &table, &err), &err);
    write_orders(table, first, 3);

    tidelake_lookup_options options = TIDELAKE_LOOKUP_INIT; /* by primary key */
    options.columns = columns;
    options.n_columns = 2;
    must(tidelake_lookup_open(table, &options, &lookup, &err), &err);
    print_orders(lookup, wanted, 3);
    write_orders(table, second, 2);
    print_orders(lookup, wanted, 3); /* still the same answers */
    must(tidelake_lookup_refresh(lookup, NULL, &err), &err);
    print_orders(lookup, wanted, 3);

    tidelake_lookup_close(lookup);
    tidelake_table_close(table);
    tidelake_close(lake);
    return 0;
}
