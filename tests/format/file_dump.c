/*
 * Prints a Parquet, ORC or Avro file as JSON lines, one row a line, for comparison with other readers.
 *
 *   file_dump [--schema] [--columns a,b] [--where JSON] [--exact] [--numbers] [--batch N] [--threads N] FILE
 *
 * --schema prints the file's own schema as JSON; --where prunes by a predicate, --exact also leaves out rows; --numbers puts
 * the row's number in the file before each line. An error goes to stderr, exit status 1.
 */
#include <stdio.h>
#include <stdlib.h>

#include "format/format.h"
#include "types/text.h"

typedef struct options {
    const char *path;
    const char *columns;
    const char *where;
    bool schema, exact, numbers;
    long batch_rows;
    int threads;
} options;

static bool parse_options(int argc, char **argv, options *o)
{
    for (int i = 1; i < argc; i++) {
        const char *arg = argv[i];
        bool has_value = i + 1 < argc;
        if (strcmp(arg, "--schema") == 0)
            o->schema = true;
        else if (strcmp(arg, "--exact") == 0)
            o->exact = true;
        else if (strcmp(arg, "--numbers") == 0)
            o->numbers = true;
        else if (strcmp(arg, "--columns") == 0 && has_value)
            o->columns = argv[++i];
        else if (strcmp(arg, "--where") == 0 && has_value)
            o->where = argv[++i];
        else if (strcmp(arg, "--batch") == 0 && has_value)
            o->batch_rows = strtol(argv[++i], NULL, 10);
        else if (strcmp(arg, "--threads") == 0 && has_value)
            o->threads = atoi(argv[++i]);
        else if (arg[0] != '-' && o->path == NULL)
            o->path = arg;
        else
            return false;
    }
    return o->path != NULL;
}

static tl_status project(const tl_type *row, const char *columns, const tl_type **out, tl_error *err)
{
    int32_t indices[256], n = 0;
    char *names = tl_strdup(columns);
    tl_status status = names == NULL ? tl_nomem(err, "columns") : TL_OK;
    char *save = NULL;
    for (char *name = status == TL_OK ? strtok_r(names, ",", &save) : NULL; name != NULL; name = strtok_r(NULL, ",", &save)) {
        int32_t idx = tl_type_field_index(row, name);
        if (idx < 0 || n == (int32_t)TL_ARRAY_LEN(indices)) {
            status = tl_error_set(err, TL_E_NOT_FOUND, "column '%s'", name);
            break;
        }
        indices[n++] = idx;
    }
    tl_free(names);
    return status != TL_OK ? status : tl_type_project(row, indices, n, out, err);
}

static void print_schema(const tl_type *type)
{
    tl_json_writer w;
    tl_json_writer_init(&w, false);
    tl_type_to_json(type, &w);
    printf("%.*s\n", (int)w.out.len, (const char *)w.out.data);
    tl_json_writer_deinit(&w);
}

static tl_status print_rows(tl_reader *reader, bool numbers, tl_error *err)
{
    tl_buf buf = {0};
    for (;;) {
        tl_batch *batch;
        tl_status status = tl_reader_next(reader, &batch, err);
        if (status != TL_OK || batch == NULL) {
            tl_buf_deinit(&buf);
            return status;
        }
        for (int32_t i = 0; i < batch->n_cols && status == TL_OK; i++)
            status = tl_column_check(batch->cols[i], err);
        buf.len = 0;
        for (int64_t i = 0; i < batch->n_rows && status == TL_OK; i++) {
            if (numbers)
                status = tl_buf_appendf(&buf, "%lld ", (long long)batch->seq[i]);
            if (status == TL_OK)
                status = tl_text_append_json_row(&buf, batch, i, false, 0);
            if (status == TL_OK)
                status = tl_buf_append_byte(&buf, '\n');
        }
        fwrite(buf.data, 1, buf.len, stdout);
        tl_batch_free(batch);
        if (status != TL_OK) {
            tl_buf_deinit(&buf);
            return status;
        }
    }
}

static tl_status parse_where(const char *where, const tl_type *type, tl_predicate **out, tl_error *err)
{
    tl_arena arena = {0};
    const tl_json *json;
    tl_status status = tl_json_parse(&arena, (tl_bytes_view){(const uint8_t *)where, strlen(where)}, &json, err);
    if (status == TL_OK)
        status = tl_predicate_from_json(json, type, out, err);
    tl_arena_deinit(&arena);
    return status;
}

static tl_status dump(tl_fs *fs, const options *o, tl_error *err)
{
    TL_CLEANUP(tl_type_unrefp) const tl_type *whole = NULL;
    TL_CLEANUP(tl_type_unrefp) const tl_type *type = NULL;
    TL_CLEANUP(tl_predicate_freep) tl_predicate *pred = NULL;
    TL_CLEANUP(tl_reader_freep) tl_reader *reader = NULL;
    const tl_format *format = NULL;
    TL_TRY(tl_format_of_file(o->path, &format, err));
    TL_TRY(format->schema(fs, o->path, &whole, err));
    if (o->schema) {
        print_schema(whole);
        return TL_OK;
    }
    if (o->columns != NULL)
        TL_TRY(project(whole, o->columns, &type, err));
    else
        type = tl_type_ref(whole);
    if (o->where != NULL)
        TL_TRY(parse_where(o->where, type, &pred, err));
    tl_pool *pool = NULL;
    if (o->threads > 0)
        TL_TRY(tl_pool_create(o->threads, &pool, err));
    tl_read_spec spec = {.row_type = type,
                         .predicate = pred,
                         .exact = o->exact,
                         .batch_rows = o->batch_rows,
                         .with_row_numbers = o->numbers,
                         .pool = pool};
    tl_status status = format->open(fs, o->path, 0, &spec, &reader, err);
    if (status == TL_OK)
        status = print_rows(reader, o->numbers, err);
    tl_reader_free(TL_STEAL(reader));
    tl_pool_free(pool);
    return status;
}

int main(int argc, char **argv)
{
    options o = {0};
    if (!parse_options(argc, argv, &o)) {
        fprintf(stderr, "usage: file_dump [--schema] [--columns a,b] [--where JSON] [--exact] [--numbers] [--batch N] "
                        "[--threads N] FILE\n");
        return 2;
    }
    tl_error err = {0};
    tl_fs *fs = NULL;
    tl_status status = tl_fs_local(&fs, &err);
    if (status == TL_OK)
        status = dump(fs, &o, &err);
    tl_fs_unref(fs);
    if (status != TL_OK)
        fprintf(stderr, "file_dump: %s\n", err.message);
    return status == TL_OK ? 0 : 1;
}
