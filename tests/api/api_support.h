/* A lake in a temporary folder, tables with a few rows, batches out of JSON, printed text: what tests of the API begin with. */
#ifndef TL_TESTS_API_SUPPORT_H
#define TL_TESTS_API_SUPPORT_H

#include <ftw.h>
#include <unistd.h>

#include <tidelake/tidelake.h>

#include "base/mem.h"
#include "support/print_rows.h"
#include "support/test.h"

typedef struct api_lake {
    char folder[64];
    tidelake_lake *lake;
} api_lake;

static inline int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

static inline void api_lake_open(api_lake *l)
{
    tl_error err;
    /* In memory where there is such a folder: commits wait for the disk. */
    const char *place = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    snprintf(l->folder, sizeof l->folder, "%s/tidelake-api-XXXXXX", place);
    assert_non_null(mkdtemp(l->folder));
    assert_ok(tidelake_open(l->folder, &l->lake, &err), &err);
}

static inline void api_lake_close(api_lake *l)
{
    tidelake_close(l->lake);
    nftw(l->folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

/** A file of the lake's folder with a text; the path is good until the next call. */
static inline const char *api_file(const api_lake *l, const char *name, const char *text)
{
    static char path[128];
    snprintf(path, sizeof path, "%s/%s", l->folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    return path;
}

static const char keyed_schema[] = "{\"columns\":[{\"name\":\"k\",\"type\":\"INT\"},{\"name\":\"v\",\"type\":\"STRING\"}],"
                                   "\"primaryKeys\":[\"k\"],\"options\":{\"bucket\":\"1\"}}";

static inline tidelake_table *api_table(api_lake *l, const char *name, const char *schema)
{
    tl_error err;
    tidelake_table *table;
    assert_ok(tidelake_create_table(l->lake, name, schema, /* if_not_exists= */ 1, &err), &err);
    assert_ok(tidelake_table_open(l->lake, name, NULL, 0, &table, &err), &err);
    return table;
}

/** Write JSON lines with an open writer. */
static inline tl_status api_write_with(api_lake *l, tidelake_table *table, tidelake_writer *writer, const char *lines,
                                       tl_error *err)
{
    tidelake_input *input;
    TL_TRY(tidelake_input_open(table, api_file(l, "rows.jsonl", lines), NULL, &input, err));
    tl_status status = TL_OK;
    for (;;) {
        tidelake_batch *batch = NULL;
        int commit;
        status = tidelake_input_next(input, &batch, &commit, err);
        if (status != TL_OK || batch == NULL)
            break;
        status = tidelake_writer_write_batch(writer, batch, err);
        tidelake_batch_free(batch);
        if (status != TL_OK)
            break;
    }
    tidelake_input_close(input);
    return status;
}

/** Write JSON lines as one commit. */
static inline tl_status api_write(api_lake *l, tidelake_table *table, const char *lines, const tidelake_write_options *options,
                                  const tidelake_commit_options *commit, tidelake_commit_result *result, tl_error *err)
{
    tidelake_writer *writer;
    TL_TRY(tidelake_writer_open(table, options, &writer, err));
    tl_status status = api_write_with(l, table, writer, lines, err);
    if (status == TL_OK)
        status = tidelake_writer_commit(writer, commit, result, err);
    tidelake_writer_close(writer);
    return status;
}

/** Print rows and free them; the text is the caller's (tl_free). */
static inline tl_status api_print(tidelake_rows *rows, const tidelake_printer_options *options, char **out, tl_error *err)
{
    tl_buf text = {0};
    tl_status status = print_rows(rows, options, &text, err);
    if (status == TL_OK && tl_buf_steal_str(&text, out) != TL_OK)
        status = TL_E_NOMEM;
    tl_buf_deinit(&text);
    return status;
}

/** What a read prints, sorted. */
static inline void assert_reads(tidelake_table *table, const tidelake_read_options *options, const char *wanted)
{
    tl_error err;
    tidelake_rows *rows;
    char *text;
    tidelake_printer_options print = TIDELAKE_PRINTER_INIT;
    print.sorted = 1;
    assert_ok(tidelake_read(table, options, &rows, &err), &err);
    assert_ok(api_print(rows, &print, &text, &err), &err);
    assert_string_equal(text, wanted);
    tl_free(text);
}

#endif
