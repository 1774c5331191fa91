/*
 * Index files in commit messages, deletion files in splits. Source: format reference §22; Java: IndexFileMetaSerializer,
 * DeletionFile.
 *
 *   index files     int32 count; each: int32 length, then BinaryRow without arity of the row type below
 *   deletion files  byte 0, or byte 1, int32 count and for each data file byte 0, or byte 1, UTF path, int64 offset, int64 length,
 *                   int64 cardinality or -1
 */
#include "table/wire_private.h"

#include "base/bits.h"

#define N_INDEX_FIELDS 7

static const char index_row_text[] =
    "ROW<f0 STRING NOT NULL, f1 STRING NOT NULL, f2 BIGINT NOT NULL, f3 BIGINT NOT NULL, "
    "f4 ARRAY<ROW<a STRING NOT NULL, b INT NOT NULL, c INT NOT NULL, d BIGINT>>, f5 STRING, "
    "f6 ROW<a BIGINT NOT NULL, b BIGINT NOT NULL, c INT NOT NULL, d ARRAY<INT NOT NULL>, e BYTES>> NOT NULL";

typedef struct index_rows {
    const tl_type *type;
    tl_builder *cols[N_INDEX_FIELDS];
    tl_column *done[N_INDEX_FIELDS];
} index_rows;

static void rows_deinit(index_rows *rows)
{
    for (int i = 0; i < N_INDEX_FIELDS; i++) {
        tl_builder_free(rows->cols[i]);
        tl_column_unref(rows->done[i]);
    }
    tl_type_unref(rows->type);
}

static tl_status rows_init(index_rows *rows, tl_error *err)
{
    *rows = (index_rows){0};
    TL_TRY(tl_type_parse((tl_bytes_view){(const uint8_t *)index_row_text, sizeof index_row_text - 1}, &rows->type, err));
    tl_status status = TL_OK;
    for (int i = 0; i < N_INDEX_FIELDS && status == TL_OK; i++)
        status = tl_builder_create(rows->type->fields[i].type, &rows->cols[i], err);
    if (status != TL_OK)
        rows_deinit(rows);
    return status;
}

static tl_status rows_finish(index_rows *rows, tl_error *err)
{
    for (int i = 0; i < N_INDEX_FIELDS; i++)
        TL_TRY(tl_builder_finish(rows->cols[i], &rows->done[i], err));
    return TL_OK;
}

/* ---- writing ---- */

static tl_status add_text(tl_builder *b, const char *text)
{
    return text == NULL ? tl_builder_null(b) : tl_builder_bytes(b, text, strlen(text));
}

static tl_status add_ranges(tl_builder *list, const tl_index_file *f)
{
    if (f->n_ranges < 0)
        return tl_builder_null(list);
    tl_builder *row = tl_builder_child(list, 0);
    for (int32_t i = 0; i < f->n_ranges; i++) {
        const tl_dv_range *r = &f->ranges[i];
        tl_builder *cardinality = tl_builder_child(row, 3);
        TL_TRY(add_text(tl_builder_child(row, 0), r->data_file));
        TL_TRY(tl_builder_int(tl_builder_child(row, 1), r->offset));
        TL_TRY(tl_builder_int(tl_builder_child(row, 2), r->bytes));
        TL_TRY(r->cardinality == TL_ABSENT ? tl_builder_null(cardinality) : tl_builder_int(cardinality, r->cardinality));
        TL_TRY(tl_builder_end(row));
    }
    return tl_builder_end(list);
}

static tl_status add_global(tl_builder *row, const tl_index_file *f)
{
    if (!f->has_global)
        return tl_builder_null(row);
    tl_builder *extra = tl_builder_child(row, 3), *meta = tl_builder_child(row, 4);
    TL_TRY(tl_builder_int(tl_builder_child(row, 0), f->row_start));
    TL_TRY(tl_builder_int(tl_builder_child(row, 1), f->row_end));
    TL_TRY(tl_builder_int(tl_builder_child(row, 2), f->field_id));
    for (int32_t i = 0; i < f->n_extra_fields; i++)
        TL_TRY(tl_builder_int(tl_builder_child(extra, 0), f->extra_fields[i]));
    TL_TRY(f->n_extra_fields < 0 ? tl_builder_null(extra) : tl_builder_end(extra));
    TL_TRY(f->global_meta.data == NULL ? tl_builder_null(meta) : tl_builder_bytes(meta, f->global_meta.data, f->global_meta.len));
    return tl_builder_end(row);
}

static tl_status add_index(tl_builder *const *c, const tl_index_file *f)
{
    TL_TRY(add_text(c[0], f->type));
    TL_TRY(add_text(c[1], f->name));
    TL_TRY(tl_builder_int(c[2], f->bytes));
    TL_TRY(tl_builder_int(c[3], f->rows));
    TL_TRY(add_ranges(c[4], f));
    TL_TRY(add_text(c[5], f->external_path));
    return add_global(c[6], f);
}

static tl_status append_rows(const index_rows *rows, size_t n, tl_buf *out)
{
    for (size_t i = 0; i < n; i++) {
        size_t at = out->len;
        TL_TRY(tl_wire__put_i32(out, 0));
        TL_TRY(tl_binary_row_append(out, (const tl_column *const *)rows->done, N_INDEX_FIELDS, (int64_t)i, TL_KIND_INSERT,
                                    /* with_arity= */ false));
        tl_write_be32(out->data + at, (uint32_t)(out->len - at - 4));
    }
    return TL_OK;
}

tl_status tl_wire__put_indexes(const tl_index_list *files, tl_buf *out, tl_error *err)
{
    index_rows rows;
    if (tl_wire__put_i32(out, (int32_t)files->n) != TL_OK)
        return tl_nomem(err, "index files");
    if (files->n == 0)
        return TL_OK;
    TL_TRY(rows_init(&rows, err));
    tl_status status = TL_OK;
    for (size_t i = 0; i < files->n && status == TL_OK; i++) {
        status = add_index(rows.cols, files->items[i]);
        if (status != TL_OK)
            status = tl_error_set(err, status, "index file '%s' cannot be serialised", files->items[i]->name);
    }
    if (status == TL_OK)
        status = rows_finish(&rows, err);
    if (status == TL_OK && append_rows(&rows, files->n, out) != TL_OK)
        status = tl_nomem(err, "index files");
    rows_deinit(&rows);
    return status;
}

/* A vector that is stored nowhere cannot be told to anybody. */
static tl_status put_deletion(tl_dv_set *vectors, const char *data_file, tl_buf *out, tl_error *err)
{
    tl_dv_place place;
    bool stored = tl_dv_set_place(vectors, data_file, &place);
    if (!stored && tl_dv_set_has(vectors, data_file))
        return tl_error_set(err, TL_E_INTERNAL, "deletion vector of '%s' is stored nowhere", data_file);
    if (tl_buf_append_byte(out, stored) != TL_OK)
        return tl_nomem(err, "split");
    if (!stored)
        return TL_OK;
    TL_TRY(tl_wire__put_utf(out, place.path, err));
    bool ok = tl_wire__put_i64(out, place.offset) == TL_OK && tl_wire__put_i64(out, place.length) == TL_OK &&
              tl_wire__put_i64(out, place.cardinality < 0 ? -1 : place.cardinality) == TL_OK;
    return ok ? TL_OK : tl_nomem(err, "split");
}

tl_status tl_wire__put_deletions(tl_dv_set *vectors, const tl_file_list *files, tl_buf *out, tl_error *err)
{
    bool any = false;
    for (size_t i = 0; i < files->n; i++)
        any |= tl_dv_set_has(vectors, files->items[i]->name);
    if (tl_buf_append_byte(out, any) != TL_OK || (any && tl_wire__put_i32(out, (int32_t)files->n) != TL_OK))
        return tl_nomem(err, "split");
    for (size_t i = 0; any && i < files->n; i++)
        TL_TRY(put_deletion(vectors, files->items[i]->name, out, err));
    return TL_OK;
}

/* ---- reading: bytes from outside ---- */

static tl_status take_text(const tl_column *col, int64_t i, char **out)
{
    if (tl_col_is_null(col, i))
        return TL_OK;
    tl_bytes_view v = tl_col_bytes(col, i);
    *out = tl_strndup((const char *)v.data, v.len);
    return *out == NULL ? TL_E_NOMEM : TL_OK;
}

static tl_status take_ranges(const tl_column *col, int64_t i, tl_index_file *f)
{
    if (tl_col_is_null(col, i))
        return TL_OK;
    const tl_column *rows = col->children[0];
    int32_t from = col->offsets[i], n = col->offsets[i + 1] - from;
    f->ranges = tl_calloc((size_t)n + 1, sizeof *f->ranges);
    if (f->ranges == NULL)
        return TL_E_NOMEM;
    for (f->n_ranges = 0; f->n_ranges < n;) {
        int64_t at = from + f->n_ranges;
        tl_dv_range *r = &f->ranges[f->n_ranges++];
        r->offset = tl_col_i32(rows->children[1], at);
        r->bytes = tl_col_i32(rows->children[2], at);
        r->cardinality = tl_col_is_null(rows->children[3], at) ? TL_ABSENT : tl_col_i64(rows->children[3], at);
        tl_bytes_view name = tl_col_bytes(rows->children[0], at);
        if ((r->data_file = tl_strndup((const char *)name.data, name.len)) == NULL)
            return TL_E_NOMEM;
    }
    return TL_OK;
}

static tl_status take_global(const tl_column *row, int64_t i, tl_index_file *f)
{
    if (tl_col_is_null(row, i))
        return TL_OK;
    const tl_column *extra = row->children[3], *meta = row->children[4];
    f->has_global = true;
    f->row_start = tl_col_i64(row->children[0], i);
    f->row_end = tl_col_i64(row->children[1], i);
    f->field_id = tl_col_i32(row->children[2], i);
    if (!tl_col_is_null(meta, i))
        TL_TRY(tl_bytes_dup(tl_col_bytes(meta, i), &f->global_meta));
    if (tl_col_is_null(extra, i))
        return TL_OK;
    int32_t from = extra->offsets[i];
    f->n_extra_fields = extra->offsets[i + 1] - from;
    f->extra_fields = tl_calloc((size_t)f->n_extra_fields + 1, sizeof *f->extra_fields);
    for (int32_t k = 0; f->extra_fields != NULL && k < f->n_extra_fields; k++)
        f->extra_fields[k] = tl_col_i32(extra->children[0], from + k);
    return f->extra_fields == NULL ? TL_E_NOMEM : TL_OK;
}

static tl_status from_row(tl_column *const *c, int64_t i, tl_index_file *f)
{
    TL_TRY(take_text(c[0], i, &f->type));
    TL_TRY(take_text(c[1], i, &f->name));
    f->bytes = tl_col_i64(c[2], i);
    f->rows = tl_col_i64(c[3], i);
    TL_TRY(take_ranges(c[4], i, f));
    TL_TRY(take_text(c[5], i, &f->external_path));
    return take_global(c[6], i, f);
}

/* Values that must be there, down to the items: files are made of them without looking again. */
static bool is_whole(const index_rows *rows)
{
    const tl_column *ranges = rows->done[4]->children[0], *global = rows->done[6];
    int64_t missing = 0;
    for (int k = 0; k < 4; k++)
        missing += rows->done[k]->null_count;
    missing += ranges->null_count;
    for (int k = 0; k < 3; k++)
        missing += ranges->children[k]->null_count;
    missing += global->children[3]->children[0]->null_count;
    return missing == 0;
}

static tl_status add_files(tl_wire_input *in, const index_rows *rows, int32_t n, tl_index_list *out, tl_error *err)
{
    if (!is_whole(rows))
        return tl_error_set(err, TL_E_CORRUPT, "%s: an index file lacks a field", in->what);
    for (int64_t i = 0; i < n; i++) {
        tl_index_file *f = tl_index_file_create();
        if (f == NULL)
            return tl_nomem(err, in->what);
        tl_status status = from_row(rows->done, i, f) == TL_OK ? TL_OK : tl_nomem(err, in->what);
        if (status == TL_OK && (*f->name == '\0' || strchr(f->name, '/') != NULL || f->bytes < 0))
            status = tl_error_set(err, TL_E_CORRUPT, "%s: index file '%s' of %lld bytes", in->what, f->name, (long long)f->bytes);
        if (status == TL_OK)
            status = tl_index_list_add(out, f, err);
        tl_index_file_unref(f);
        TL_TRY(status);
    }
    return TL_OK;
}

tl_status tl_wire__get_indexes(tl_wire_input *in, tl_index_list *out, tl_error *err)
{
    int32_t n = 0;
    index_rows rows;
    TL_TRY(tl_wire__get_i32(in, &n, err));
    /* Each takes more than 4 bytes: a larger count cannot be true, and nothing is allocated for it. */
    if (n < 0 || (size_t)n > (size_t)(in->end - in->p) / 4)
        return tl_error_set(err, TL_E_CORRUPT, "%s: %d index files at byte %zu", in->what, n, (size_t)(in->p - in->start) - 4);
    if (n == 0)
        return TL_OK;
    TL_TRY(rows_init(&rows, err));
    tl_status status = TL_OK;
    for (int32_t i = 0; i < n && status == TL_OK; i++) {
        tl_bytes_view row;
        status = tl_wire__get_bytes(in, &row, err);
        if (status == TL_OK)
            status = tl_error_wrap(err, tl_binary_row_read(row, rows.type, /* with_arity= */ false, rows.cols, err), "%s: index file %d",
                                   in->what, i);
    }
    if (status == TL_OK)
        status = rows_finish(&rows, err);
    if (status == TL_OK)
        status = add_files(in, &rows, n, out, err);
    rows_deinit(&rows);
    return status;
}

static tl_status get_deletion(tl_wire_input *in, const char *data_file, tl_dv_set *set, tl_error *err)
{
    uint8_t there = 0;
    tl_dv_place place = {0};
    TL_TRY(tl_wire__get_u8(in, &there, err));
    if (there == 0)
        return TL_OK;
    TL_CLEANUP(tl_freep) char *path = NULL;
    TL_TRY(tl_wire__get_utf(in, &path, err));
    TL_TRY(tl_wire__get_i64(in, &place.offset, err));
    TL_TRY(tl_wire__get_i64(in, &place.length, err));
    TL_TRY(tl_wire__get_i64(in, &place.cardinality, err));
    place.path = path;
    place.cardinality = place.cardinality < 0 ? TL_ABSENT : place.cardinality;
    return tl_dv_set_add(set, data_file, &place, err);
}

tl_status tl_wire__get_deletions(tl_wire_input *in, const tl_file_list *files, tl_dv_set **out, tl_error *err)
{
    uint8_t there = 0;
    int32_t n = 0;
    TL_CLEANUP(tl_dv_set_unrefp) tl_dv_set *set = NULL;
    TL_TRY(tl_wire__get_u8(in, &there, err));
    if (there == 0)
        return TL_OK;
    TL_TRY(tl_wire__get_i32(in, &n, err));
    if (n < 0 || (size_t)n != files->n)
        return tl_error_set(err, TL_E_CORRUPT, "%s: %d deletion files for %zu data files", in->what, n, files->n);
    TL_TRY(tl_dv_set_create(NULL, &set, err));
    for (size_t i = 0; i < files->n; i++)
        TL_TRY(get_deletion(in, files->items[i]->name, set, err));
    *out = TL_STEAL(set);
    return TL_OK;
}
