/* Rows from files, whatever their format. */
#include "api/input_private.h"

static const input_format *const formats[] = {&tl_input__jsonl, &tl_input__csv, &tl_input__parquet, &tl_input__orc, &tl_input__avro};

tl_status tl_input__find_format(const char *path, const char *name, const input_format **out, tl_error *err)
{
    if (name == NULL) {
        const char *slash = strrchr(path, '/');
        const char *dot = strrchr(slash == NULL ? path : slash, '.');
        name = dot == NULL ? "jsonl" : dot + 1;
    }
    if (strcmp(name, "json") == 0 || strcmp(name, "ndjson") == 0)
        name = "jsonl";
    for (size_t i = 0; i < TL_ARRAY_LEN(formats); i++) {
        if (strcmp(name, formats[i]->name) == 0) {
            *out = formats[i];
            return TL_OK;
        }
    }
    return tl_error_set(err, TL_E_INVALID, "'%s': rows in the format '%s' are not read; jsonl, csv, parquet, orc and avro are", path,
                        name);
}

tl_status tidelake_input_open(tidelake_table *table, const char *path, const char *format, tidelake_input **out, tl_error *err)
{
    tidelake_input *in = tl_calloc(1, sizeof *in);
    if (in == NULL)
        return tl_nomem(err, "input");
    in->bytes_total = -1;
    in->path = tl_strdup(path);
    in->type = tl_type_ref(tl_table_row_type(table->table));
    in->name = strcmp(path, "-") == 0 ? "standard input" : in->path;
    tl_status status = in->path == NULL ? tl_nomem(err, "path") : tl_input__find_format(path, format, &in->format, err);
    if (status == TL_OK)
        status = in->format->open(in, err);
    if (status != TL_OK) {
        tidelake_input_close(in);
        return status;
    }
    *out = in;
    return TL_OK;
}

void tidelake_input_close(tidelake_input *in)
{
    if (in == NULL)
        return;
    if (in->format != NULL && in->state != NULL)
        in->format->close(in);
    tl_type_unref(in->type);
    tl_free(in->path);
    tl_free(in);
}

tl_status tidelake_input_next(tidelake_input *in, tidelake_batch **out, int *commit_after, tl_error *err)
{
    tl_batch *batch = NULL;
    bool commit = false;
    TL_TRY(in->format->next(in, &batch, &commit, err));
    *commit_after = commit;
    if (batch == NULL) {
        *out = NULL;
        return TL_OK;
    }
    return tl_api__batch(batch, out, err);
}

void tidelake_input_progress(const tidelake_input *in, int64_t *done, int64_t *total)
{
    *done = in->bytes_done;
    *total = in->bytes_total;
}

tl_status tl_input__unknown_column(const tl_type *type, tl_bytes_view name, tl_error *err)
{
    tl_buf names = {0};
    tl_status status = TL_OK;
    for (int32_t c = 0; c < type->n_fields && names.len < 400 && status == TL_OK; c++) {
        status = tl_buf_append_str(&names, c == 0 ? "" : ", ");
        if (status == TL_OK)
            status = tl_buf_append_str(&names, type->fields[c].name);
    }
    if (status == TL_OK)
        status = tl_error_set(err, TL_E_INVALID, "the table has no column '%.*s'; it has %.*s%s", (int)TL_MIN(name.len, 100),
                              (const char *)name.data, (int)names.len, (const char *)names.data, names.len >= 400 ? ", …" : "");
    else
        status = tl_nomem(err, "column names");
    tl_buf_deinit(&names);
    return status;
}
