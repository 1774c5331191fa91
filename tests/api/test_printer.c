/* What printers print on terminals of some width, and what happens when an output takes nothing or memory runs out. */
#include "api_support.h"

#include <errno.h>

static const char wide_schema[] =
    "{\"columns\":[{\"name\":\"id\",\"type\":\"INT\"},{\"name\":\"名前\",\"type\":\"STRING\"},"
    "{\"name\":\"at\",\"type\":\"TIMESTAMP(3)\"},{\"name\":\"price\",\"type\":\"DECIMAL(10, 2)\"}]}";
static const char wide_rows[] = "{\"id\":1,\"名前\":\"山田太郎\",\"at\":\"2024-02-29T12:34:56.789\",\"price\":\"12.3\"}\n"
                                "{\"id\":-20,\"名前\":\"a long text with a \\u001b[31m colour and\\na line end\"}\n";

static void assert_prints(tidelake_table *table, const tidelake_printer_options *options, const char *wanted)
{
    tl_error err;
    tidelake_rows *rows;
    char *text;
    assert_ok(tidelake_read(table, NULL, &rows, &err), &err);
    assert_ok(api_print(rows, options, &text, &err), &err);
    assert_string_equal(text, wanted);
    tl_free(text);
}

static void tables_fit_the_terminal(void **state)
{
    (void)state;
    api_lake l;
    api_lake_open(&l);
    tl_error err;
    tidelake_table *table = api_table(&l, "db.t", wide_schema);
    assert_ok(api_write(&l, table, wide_rows, NULL, NULL, NULL, &err), &err);
    tidelake_printer_options print = TIDELAKE_PRINTER_INIT;
    print.format = "table";
    print.max_width = 64;
    assert_prints(table, &print,
                  "┌─────┬───────────────────────┬────────────────────────┬───────┐\n"
                  "│  id │ 名前                  │ at                     │ price │\n"
                  "├─────┼───────────────────────┼────────────────────────┼───────┤\n"
                  "│   1 │ 山田太郎              │ 2024-02-29 12:34:56.7… │ 12.30 │\n"
                  "│ -20 │ a long text with a  … │ NULL                   │  NULL │\n"
                  "└─────┴───────────────────────┴────────────────────────┴───────┘\n"
                  "2 rows\n");
    print.colors = 1;
    print.max_width = 50;
    assert_prints(table, &print,
                  "┌─────┬────────────────┬─────────────────┬───────┐\n"
                  "│  id │ 名前           │ at              │ price │\n"
                  "├─────┼────────────────┼─────────────────┼───────┤\n"
                  "│   1 │ 山田太郎       │ 2024-02-29 12:… │ 12.30 │\n"
                  "│ -20 │ a long text w… │ \033[2mNULL           \033[0m │ \033[2m NULL\033[0m │\n"
                  "└─────┴────────────────┴─────────────────┴───────┘\n"
                  "2 rows\n");
    tidelake_table_close(table);
    api_lake_close(&l);
}

static void rows_too_wide_for_the_terminal_are_records(void **state)
{
    (void)state;
    api_lake l;
    api_lake_open(&l);
    tl_error err;
    tidelake_table *table = api_table(&l, "db.t", wide_schema);
    assert_ok(api_write(&l, table, wide_rows, NULL, NULL, NULL, &err), &err);
    tidelake_printer_options print = TIDELAKE_PRINTER_INIT;
    print.format = "table";
    print.max_width = 24;
    assert_prints(table, &print,
                  "── row 1 ───────────────\n"
                  "id    │ 1\n"
                  "名前  │ 山田太郎\n"
                  "at    │ 2024-02-29 12:34:56.789\n"
                  "price │ 12.30\n"
                  "── row 2 ───────────────\n"
                  "id    │ -20\n"
                  "名前  │ a long text with a  [31m colour and a line end\n"
                  "at    │ NULL\n"
                  "price │ NULL\n"
                  "2 rows\n");
    tidelake_table_close(table);
    api_lake_close(&l);
}

static void an_unknown_format_is_told_with_those_that_there_are(void **state)
{
    (void)state;
    api_lake l;
    api_lake_open(&l);
    tl_error err;
    tidelake_table *table = api_table(&l, "db.t", wide_schema);
    tidelake_rows *rows;
    tidelake_printer *printer;
    assert_ok(tidelake_read(table, NULL, &rows, &err), &err);
    tidelake_printer_options print = TIDELAKE_PRINTER_INIT;
    print.format = "xml";
    assert_fails(tidelake_printer_open(rows, &print, print_rows_append, NULL, &printer, &err), TL_E_INVALID, &err,
                 "jsonl, csv, table, arrow or parquet");
    tidelake_rows_free(rows);
    tidelake_table_close(table);
    api_lake_close(&l);
}

/* ---- outputs that fail ---- */

/* Takes `left` pieces, then is full. */
static int full_after(void *ctx, const void *data, size_t bytes)
{
    (void)data;
    (void)bytes;
    int *left = ctx;
    return (*left)-- > 0 ? 0 : ENOSPC;
}

static void a_full_output_is_told_in_every_format(void **state)
{
    (void)state;
    api_lake l;
    api_lake_open(&l);
    tl_error err;
    tidelake_table *table = api_table(&l, "db.t", wide_schema);
    assert_ok(api_write(&l, table, wide_rows, NULL, NULL, NULL, &err), &err);
    static const char *const formats[] = {"jsonl", "csv", "table", "arrow", "parquet"};
    for (size_t i = 0; i < 5; i++) {
        tidelake_printer_options print = TIDELAKE_PRINTER_INIT;
        print.format = formats[i];
        int pieces = 0;
        for (bool failed = true; failed; pieces++) {
            int left = pieces;
            tidelake_rows *rows;
            tidelake_printer *printer;
            tidelake_batch *batch;
            assert_ok(tidelake_read(table, NULL, &rows, &err), &err);
            assert_ok(tidelake_printer_open(rows, &print, full_after, &left, &printer, &err), &err);
            assert_ok(tidelake_rows_next(rows, &batch, &err), &err);
            tl_status status = tidelake_printer_print(printer, batch, &err);
            if (status == TL_OK)
                status = tidelake_printer_finish(printer, &err);
            failed = status != TL_OK;
            if (failed && (status != TL_E_NOSPACE || strstr(err.message, "could not write the output") == NULL))
                fail_msg("%s: %s", formats[i], err.message);
            tidelake_batch_free(batch);
            tidelake_printer_close(printer);
            tidelake_rows_free(rows);
        }
        assert_true(pieces > 1); /* it did fail once */
    }
    tidelake_table_close(table);
    api_lake_close(&l);
}

/* ---- memory that runs out ---- */

static const char all_schema[] =
    "{\"columns\":[{\"name\":\"k\",\"type\":\"INT\"},{\"name\":\"s\",\"type\":\"STRING\"},"
    "{\"name\":\"a\",\"type\":\"ARRAY<ROW<x INT, m MAP<STRING, DOUBLE>>>\"},{\"name\":\"d\",\"type\":\"DECIMAL(20, 3)\"}],"
    "\"partitionKeys\":[],\"primaryKeys\":[\"k\"],\"options\":{\"bucket\":\"1\",\"changelog-producer\":\"lookup\"}}";

/* A table's life in one call of each kind; TL_OK only if all went well. */
static tl_status live(api_lake *l, const char *format, char **out, tl_error *err)
{
    tidelake_lake *lake = NULL;
    tidelake_table *table = NULL;
    tl_status status = tidelake_open(l->folder, &lake, err);
    if (status == TL_OK)
        status = tidelake_create_table(lake, "db.t", all_schema, 1, err);
    if (status == TL_OK)
        status = tidelake_table_open(lake, "db.t", NULL, 0, &table, err);
    if (status == TL_OK)
        status = api_write(
            l, table, "{\"k\":1,\"s\":\"x\",\"a\":[{\"x\":1,\"m\":{\"p\":0.5}}],\"d\":\"1.5\"}\n{\"k\":2,\"_kind\":\"+U\"}",
            NULL, NULL, NULL, err);
    tidelake_rows *rows;
    if (status == TL_OK) {
        tidelake_read_options read = TIDELAKE_READ_INIT;
        read.where = "[\"or\",[\"=\",\"k\",1],[\"isNull\",\"s\"]]";
        read.kinds = 1;
        status = tidelake_read(table, &read, &rows, err);
    }
    tidelake_printer_options print = TIDELAKE_PRINTER_INIT;
    print.format = format;
    print.sorted = strcmp(format, "jsonl") == 0;
    if (status == TL_OK)
        status = api_print(rows, &print, out, err);
    tidelake_table_close(table);
    tidelake_close(lake);
    return status;
}

/* Leaks and double frees are found by the sanitizers; here: a failure is told as such, and the next try succeeds. */
static void every_allocation_may_fail(void **state)
{
    (void)state;
    static const char *const formats[] = {"jsonl", "csv", "table", "arrow", "parquet"};
    for (size_t f = 0; f < 5; f++) {
        api_lake l;
        api_lake_open(&l);
        tl_error err;
        char *text = NULL;
        assert_ok(live(&l, formats[f], &text, &err), &err); /* the first makes the table */
        tl_free(text);
        tl_alloc_fail_at(UINT64_MAX); /* count only */
        assert_ok(live(&l, formats[f], &text, &err), &err);
        tl_free(text);
        uint64_t total = tl_alloc_count();
        assert_true(total > 100);
        /* Every third in one format, fewer in the others, which begin elsewhere: each try commits, and waits for the disk. */
        int failures = 0;
        for (uint64_t n = 1 + f; n <= total; n += f == 0 ? 3 : 29) {
            text = NULL;
            tl_alloc_fail_at(n);
            tl_status status = live(&l, formats[f], &text, &err);
            tl_alloc_fail_at(0);
            tl_free(text);
            failures += status != TL_OK;
            if (status != TL_OK && status != TL_E_NOMEM)
                fail_msg("%s, allocation %llu: %s: %s", formats[f], (unsigned long long)n, tl_status_name(status), err.message);
        }
        assert_true(failures > 20);
        assert_ok(live(&l, formats[f], &text, &err), &err);
        tl_free(text);
        api_lake_close(&l);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_fit_the_terminal),
        cmocka_unit_test(rows_too_wide_for_the_terminal_are_records),
        cmocka_unit_test(an_unknown_format_is_told_with_those_that_there_are),
        cmocka_unit_test(a_full_output_is_told_in_every_format),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
