/* What tests of jobs have in common: a folder, scripts that are run in it, tables that are read. */
#ifndef TEST_STREAM_JOBS_H
#define TEST_STREAM_JOBS_H

#include <stdarg.h>
#include <unistd.h>

#include "stream/stream.h"
#include "support/test.h"
#include "types/text.h"

static char root[64];
static tl_fs *fs;

static inline int make_root(void **state)
{
    (void)state;
    tl_error err;
    strcpy(root, "/tmp/tidelake-stream-XXXXXX");
    assert_non_null(mkdtemp(root));
    assert_ok(tl_fs_local(&fs, &err), &err);
    return 0;
}

static inline int remove_root(void **state)
{
    (void)state;
    tl_error err;
    assert_ok(tl_fs_remove_all(fs, root, &err), &err);
    tl_fs_unref(fs);
    return 0;
}

static void put(const char *name, const char *text, size_t bytes)
{
    tl_error err;
    char *path = tl_path_join(root, name);
    assert_ok(tl_fs_publish(fs, path, (tl_bytes_view){(const uint8_t *)text, bytes}, true, &err), &err);
    tl_free(path);
}

static tl_status try_run(const char *script, tl_stream_report *report, tl_error *err)
{
    tl_options vars = {0};
    assert_int_equal(tl_options_set(&vars, "DIR", root), TL_OK);
    tl_sql_session_options session_options = {.streaming = true};
    tl_sql_session *session;
    assert_ok(tl_sql_session_create(&session_options, &session, err), err);
    tl_stream_options options = {.vars = &vars, .stop_after_idle_s = 0.2};
    tl_status status = tl_stream_run_script(session, script, strlen(script), &options, report, err);
    tl_sql_session_free(session);
    tl_options_deinit(&vars);
    return status;
}

static inline tl_stream_report run(const char *script)
{
    tl_error err;
    tl_stream_report report;
    assert_ok(try_run(script, &report, &err), &err);
    return report;
}

static int compare_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Rows of app.TABLE as sorted JSON lines in one string. */
static char *read_table(const char *name)
{
    tl_error err;
    tl_catalog *catalog;
    tl_table *table;
    tl_reader *reader;
    char *warehouse = tl_path_join(root, "lake");
    assert_ok(tl_catalog_open(fs, warehouse, &catalog, &err), &err);
    assert_ok(tl_table_open(catalog, "app", name, NULL, &table, &err), &err);
    tl_scan_spec spec = {.limit = -1};
    assert_ok(tl_table_read(table, &spec, &reader, &err), &err);
    char **lines = NULL;
    size_t n = 0;
    for (;;) {
        tl_batch *batch;
        assert_ok(tl_reader_next(reader, &batch, &err), &err);
        if (batch == NULL)
            break;
        lines = realloc(lines, sizeof *lines * (n + (size_t)batch->n_rows + 1));
        for (int64_t i = 0; i < batch->n_rows; i++) {
            tl_buf line = {0};
            assert_int_equal(tl_text_append_json_row(&line, batch, i, false, 0), TL_OK);
            assert_int_equal(tl_buf_steal_str(&line, &lines[n++]), TL_OK);
        }
        tl_batch_free(batch);
    }
    tl_reader_free(reader);
    tl_table_free(table);
    tl_catalog_close(catalog);
    tl_free(warehouse);
    qsort(lines, n, sizeof *lines, compare_text);
    tl_buf all = {0};
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(tl_buf_appendf(&all, "%s\n", lines[i]), TL_OK);
        tl_free(lines[i]);
    }
    free(lines);
    char *text;
    assert_int_equal(tl_buf_steal_str(&all, &text), TL_OK);
    return text;
}

static inline void assert_table(const char *name, const char *want)
{
    char *got = read_table(name);
    assert_string_equal(got, want);
    tl_free(got);
}

#define LAKE                                                                                                                     \
    "SET 'execution.checkpointing.interval' = '20 ms'; SET 'table.exec.sink.upsert-materialize' = 'NONE';"                        \
    "CREATE CATALOG lake WITH ('type' = 'paimon', 'warehouse' = '${DIR}/lake'); USE CATALOG lake;"                                \
    "CREATE DATABASE IF NOT EXISTS app; USE app;"

#endif
