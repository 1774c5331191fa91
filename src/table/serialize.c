/*
 * Splits and commit messages as bytes, so that another process (or engine) can do the part between planning and committing.
 * Source: format reference §22; Java: DataSplit (version 8), ChainSplit (version 1), CommitMessageSerializer (version 11),
 * DataFileMetaSerializer.
 *
 *   DataSplit      int64 magic, int32 8, int64 snapshot, partition, int32 bucket, UTF bucketPath, bool [int32 totalBuckets],
 *                  int32 0 and byte 0 (once: files before), list of files, deletion files, bool streaming, bool raw
 *   CommitMessage  partition, int32 bucket, bool [int32 total], new, deleted, changelog, new and deleted index files,
 *                  compact before, after, changelog, new and deleted index files; then, where buckets were chosen by what
 *                  was there (base_kind): byte kind, int64 base, which other engines do not look at
 *   partition      int32 length, then BinaryRow with arity; file: int32 length, then BinaryRow without arity; list: int32 count
 *
 *   ChainSplit     int32 1, partition, list of files, int32 n and n × (UTF file name, UTF folder), int32 n and n × (UTF file name, UTF branch)
 *
 * All integers big-endian, UTF = u16 length and modified UTF-8 (Java DataOutput).
 */
#include "table/table_private.h"

#include "base/bits.h"
#include "table/wire_private.h"

#define SPLIT_MAGIC INT64_C(-2394839472490812314)
#define SPLIT_VERSION 8
#define CHAIN_VERSION 1 /* where a data split has the first half of its magic number */
#define N_FILE_FIELDS 20

static const char file_row_text[] =
    "ROW<f0 STRING NOT NULL, f1 BIGINT NOT NULL, f2 BIGINT NOT NULL, f3 BYTES NOT NULL, f4 BYTES NOT NULL, "
    "f5 ROW<a BYTES NOT NULL, b BYTES NOT NULL, c ARRAY<BIGINT>> NOT NULL, f6 ROW<a BYTES NOT NULL, b BYTES NOT NULL, c ARRAY<BIGINT>> NOT NULL, "
    "f7 BIGINT NOT NULL, f8 BIGINT NOT NULL, f9 BIGINT NOT NULL, f10 INT NOT NULL, f11 ARRAY<STRING NOT NULL> NOT NULL, f12 TIMESTAMP(3), "
    "f13 BIGINT, f14 BYTES, f15 TINYINT, f16 ARRAY<STRING NOT NULL>, f17 STRING, f18 BIGINT, f19 ARRAY<STRING NOT NULL>> NOT NULL";

static tl_status file_row_type(const tl_type **out, tl_error *err)
{
    return tl_type_parse((tl_bytes_view){(const uint8_t *)file_row_text, sizeof file_row_text - 1}, out, err);
}

/* ---- builders of file rows ---- */

typedef struct file_rows {
    const tl_type *type;
    tl_builder *cols[N_FILE_FIELDS];
} file_rows;

static void file_rows_deinit(file_rows *rows)
{
    for (int i = 0; i < N_FILE_FIELDS; i++)
        tl_builder_free(rows->cols[i]);
    tl_type_unref(rows->type);
}

static tl_status file_rows_init(file_rows *rows, tl_error *err)
{
    *rows = (file_rows){0};
    TL_TRY(file_row_type(&rows->type, err));
    for (int i = 0; i < N_FILE_FIELDS; i++) {
        tl_status status = tl_builder_create(rows->type->fields[i].type, &rows->cols[i], err);
        if (status != TL_OK) {
            file_rows_deinit(rows);
            return status;
        }
    }
    return TL_OK;
}

/* ---- writing ---- */

static tl_status add_str(tl_builder *b, const char *text)
{
    return text == NULL ? tl_builder_null(b) : tl_builder_bytes(b, text, strlen(text));
}

static tl_status add_optional(tl_builder *b, int64_t v)
{
    return v == TL_ABSENT ? tl_builder_null(b) : tl_builder_int(b, v);
}

static tl_status add_list(tl_builder *b, char *const *names, int32_t n)
{
    if (n < 0)
        return tl_builder_null(b);
    for (int32_t i = 0; i < n; i++)
        TL_TRY(add_str(tl_builder_child(b, 0), names[i]));
    return tl_builder_end(b);
}

static tl_status add_stats(tl_builder *b, const tl_simple_stats *stats)
{
    TL_TRY(tl_builder_bytes(tl_builder_child(b, 0), stats->min.data, stats->min.len));
    TL_TRY(tl_builder_bytes(tl_builder_child(b, 1), stats->max.data, stats->max.len));
    tl_builder *counts = tl_builder_child(b, 2);
    if (stats->n < 0) {
        TL_TRY(tl_builder_null(counts));
        return tl_builder_end(b);
    }
    for (int32_t i = 0; i < stats->n; i++) {
        tl_builder *item = tl_builder_child(counts, 0);
        TL_TRY(stats->null_counts[i] < 0 ? tl_builder_null(item) : tl_builder_int(item, stats->null_counts[i]));
    }
    TL_TRY(tl_builder_end(counts));
    return tl_builder_end(b);
}

static tl_status add_file(tl_builder *const *c, const tl_data_file *f)
{
    TL_TRY(add_str(c[0], f->name));
    TL_TRY(tl_builder_int(c[1], f->bytes));
    TL_TRY(tl_builder_int(c[2], f->rows));
    TL_TRY(tl_builder_bytes(c[3], f->min_key.data, f->min_key.len));
    TL_TRY(tl_builder_bytes(c[4], f->max_key.data, f->max_key.len));
    TL_TRY(add_stats(c[5], &f->key_stats));
    TL_TRY(add_stats(c[6], &f->value_stats));
    TL_TRY(tl_builder_int(c[7], f->min_seq));
    TL_TRY(tl_builder_int(c[8], f->max_seq));
    TL_TRY(tl_builder_int(c[9], f->schema_id));
    TL_TRY(tl_builder_int(c[10], f->level));
    TL_TRY(add_list(c[11], f->extra_files, TL_MAX(f->n_extra_files, 0)));
    TL_TRY(f->creation_time_ms == TL_ABSENT ? tl_builder_null(c[12]) : tl_builder_timestamp(c[12], f->creation_time_ms, 0));
    TL_TRY(add_optional(c[13], f->delete_rows));
    TL_TRY(f->embedded_index.data == NULL ? tl_builder_null(c[14]) : tl_builder_bytes(c[14], f->embedded_index.data, f->embedded_index.len));
    TL_TRY(f->file_source < 0 ? tl_builder_null(c[15]) : tl_builder_int(c[15], f->file_source));
    TL_TRY(add_list(c[16], f->value_stats_cols, f->n_value_stats_cols));
    TL_TRY(add_str(c[17], f->external_path));
    TL_TRY(add_optional(c[18], f->first_row_id));
    return add_list(c[19], f->write_cols, f->n_write_cols);
}

static tl_status append_rows(tl_column *const *cols, size_t n, tl_buf *out)
{
    for (size_t i = 0; i < n; i++) {
        size_t at = out->len;
        TL_TRY(tl_wire__put_i32(out, 0));
        TL_TRY(tl_binary_row_append(out, (const tl_column *const *)cols, N_FILE_FIELDS, (int64_t)i, TL_KIND_INSERT, /* with_arity= */ false));
        tl_write_be32(out->data + at, (uint32_t)(out->len - at - 4));
    }
    return TL_OK;
}

/* A count and the files' rows. */
static tl_status put_files(const tl_file_list *files, tl_buf *out, tl_error *err)
{
    if (tl_wire__put_i32(out, (int32_t)files->n) != TL_OK)
        return tl_nomem(err, "files");
    if (files->n == 0)
        return TL_OK;
    file_rows rows;
    tl_column *cols[N_FILE_FIELDS] = {NULL};
    TL_TRY(file_rows_init(&rows, err));
    tl_status status = TL_OK;
    for (size_t i = 0; status == TL_OK && i < files->n; i++) {
        status = add_file(rows.cols, files->items[i]);
        if (status != TL_OK)
            status = tl_error_set(err, status, "file '%s' cannot be serialised", files->items[i]->name);
    }
    for (int i = 0; status == TL_OK && i < N_FILE_FIELDS; i++)
        status = tl_builder_finish(rows.cols[i], &cols[i], err);
    if (status == TL_OK && append_rows(cols, files->n, out) != TL_OK)
        status = tl_nomem(err, "files");
    for (int i = 0; i < N_FILE_FIELDS; i++)
        tl_column_unref(cols[i]);
    file_rows_deinit(&rows);
    return status;
}


static tl_status put_total(int32_t total, tl_buf *out)
{
    TL_TRY(tl_buf_append_byte(out, total != 0));
    return total == 0 ? TL_OK : tl_wire__put_i32(out, total);
}

static tl_status put_chain(const tl_split *split, tl_buf *out, tl_error *err)
{
    if (tl_wire__put_i32(out, CHAIN_VERSION) != TL_OK || tl_wire__put_bytes(out, split->partition.data, split->partition.len) != TL_OK)
        return tl_nomem(err, "split");
    TL_TRY(put_files(&split->files, out, err));
    for (int map = 0; map < 2; map++) {
        if (tl_wire__put_i32(out, (int32_t)split->files.n) != TL_OK)
            return tl_nomem(err, "split");
        for (size_t i = 0; i < split->files.n; i++) {
            TL_TRY(tl_wire__put_utf(out, split->files.items[i]->name, err));
            TL_TRY(tl_wire__put_utf(out, map == 0 ? split->places[i].dir : split->places[i].branch, err));
        }
    }
    return TL_OK;
}

tl_status tl_split_serialize(const tl_split *split, const char *bucket_path, tl_buf *out, tl_error *err)
{
    if (split->kind != TL_SPLIT_DATA)
        return tl_error_set(err, TL_E_UNSUPPORTED, "splits that compare two states cannot be serialised");
    if (split->places != NULL)
        return put_chain(split, out, err);
    if (tl_wire__put_i64(out, SPLIT_MAGIC) != TL_OK || tl_wire__put_i32(out, SPLIT_VERSION) != TL_OK || tl_wire__put_i64(out, split->snapshot_id) != TL_OK ||
        tl_wire__put_bytes(out, split->partition.data, split->partition.len) != TL_OK || tl_wire__put_i32(out, split->bucket) != TL_OK)
        return tl_nomem(err, "split");
    TL_TRY(tl_wire__put_utf(out, bucket_path, err));
    if (put_total(split->total_buckets, out) != TL_OK || tl_wire__put_i32(out, 0) != TL_OK || tl_buf_append_byte(out, 0) != TL_OK)
        return tl_nomem(err, "split");
    TL_TRY(put_files(&split->files, out, err));
    TL_TRY(tl_wire__put_deletions(split->vectors, &split->files, out, err));
    /* The last is there only for splits of the other branch (Java: FallbackDataSplit). */
    uint8_t tail[3] = {split->streaming, split->raw, 1};
    return tl_buf_append(out, tail, split->other_branch ? 3 : 2) == TL_OK ? TL_OK : tl_nomem(err, "split");
}

tl_status tl_commit_message_serialize(const tl_commit_message *msg, tl_buf *out, tl_error *err)
{
    if (tl_wire__put_bytes(out, msg->partition.data, msg->partition.len) != TL_OK || tl_wire__put_i32(out, msg->bucket) != TL_OK ||
        put_total(msg->total_buckets, out) != TL_OK)
        return tl_nomem(err, "commit message");
    const tl_file_list *lists[] = {&msg->new_files,      &msg->deleted_files, &msg->changelog_files,
                                   &msg->compact_before, &msg->compact_after, &msg->compact_changelog};
    const tl_index_list *indexes[] = {&msg->new_indexes, &msg->deleted_indexes, &msg->compact_new_indexes, &msg->compact_deleted_indexes};
    for (size_t i = 0; i < TL_ARRAY_LEN(lists); i++) {
        TL_TRY(put_files(lists[i], out, err));
        for (size_t k = 0; i % 3 == 2 && k < 2; k++) /* after each group of three: index files, new and deleted */
            TL_TRY(tl_wire__put_indexes(indexes[i / 3 * 2 + k], out, err));
    }
    if (msg->base_kind != TL_BASE_NONE &&
        (tl_buf_append_byte(out, (uint8_t)msg->base_kind) != TL_OK || tl_wire__put_i64(out, (int64_t)msg->base) != TL_OK))
        return tl_nomem(err, "commit message");
    return TL_OK;
}

/* ---- reading: bytes from outside ---- */

/* A partition: its row must at least hold the arity and a header. */
static tl_status get_partition(tl_wire_input *in, tl_bytes *out, tl_error *err)
{
    tl_bytes_view view;
    TL_TRY(tl_wire__get_bytes(in, &view, err));
    if (view.len < 12)
        return tl_error_set(err, TL_E_CORRUPT, "%s: a partition of %zu bytes", in->what, view.len);
    return tl_bytes_dup(view, out) == TL_OK ? TL_OK : tl_nomem(err, in->what);
}

static tl_status get_total(tl_wire_input *in, int32_t *out, tl_error *err)
{
    uint8_t there = 0;
    TL_TRY(tl_wire__get_u8(in, &there, err));
    *out = 0;
    return there == 0 ? TL_OK : tl_wire__get_i32(in, out, err);
}

static tl_status dup_str(const tl_column *col, int64_t i, char **out)
{
    if (tl_col_is_null(col, i))
        return TL_OK;
    tl_bytes_view v = tl_col_bytes(col, i);
    *out = tl_strndup((const char *)v.data, v.len);
    return *out == NULL ? TL_E_NOMEM : TL_OK;
}

static tl_status dup_bytes(const tl_column *col, int64_t i, tl_bytes *out)
{
    return tl_col_is_null(col, i) ? TL_OK : tl_bytes_dup(tl_col_bytes(col, i), out);
}

static tl_status dup_list(const tl_column *col, int64_t i, char ***out, int32_t *n)
{
    if (tl_col_is_null(col, i)) {
        *n = -1;
        return TL_OK;
    }
    int32_t from = col->offsets[i], count = col->offsets[i + 1] - from;
    *out = tl_calloc((size_t)count, sizeof **out);
    if (*out == NULL)
        return TL_E_NOMEM;
    for (*n = 0; *n < count; ++*n) {
        tl_bytes_view v = tl_col_bytes(col->children[0], from + *n);
        (*out)[*n] = tl_strndup((const char *)v.data, v.len);
        if ((*out)[*n] == NULL)
            return TL_E_NOMEM;
    }
    return TL_OK;
}

static tl_status dup_stats(const tl_column *col, int64_t i, tl_simple_stats *out)
{
    TL_TRY(dup_bytes(col->children[0], i, &out->min));
    TL_TRY(dup_bytes(col->children[1], i, &out->max));
    const tl_column *list = col->children[2];
    if (tl_col_is_null(list, i)) {
        out->n = -1;
        return TL_OK;
    }
    int32_t from = list->offsets[i], count = list->offsets[i + 1] - from;
    out->null_counts = tl_calloc((size_t)count, sizeof *out->null_counts);
    if (out->null_counts == NULL)
        return TL_E_NOMEM;
    out->n = count;
    for (int32_t k = 0; k < count; k++)
        out->null_counts[k] = tl_col_is_null(list->children[0], from + k) ? -1 : tl_col_i64(list->children[0], from + k);
    return TL_OK;
}

static int64_t optional(const tl_column *col, int64_t i)
{
    return tl_col_is_null(col, i) ? TL_ABSENT : tl_col_i64(col, i);
}

static tl_status file_from_row(tl_column *const *c, int64_t i, tl_data_file *f)
{
    TL_TRY(dup_str(c[0], i, &f->name));
    f->bytes = tl_col_i64(c[1], i);
    f->rows = tl_col_i64(c[2], i);
    TL_TRY(dup_bytes(c[3], i, &f->min_key));
    TL_TRY(dup_bytes(c[4], i, &f->max_key));
    TL_TRY(dup_stats(c[5], i, &f->key_stats));
    TL_TRY(dup_stats(c[6], i, &f->value_stats));
    f->min_seq = tl_col_i64(c[7], i);
    f->max_seq = tl_col_i64(c[8], i);
    f->schema_id = tl_col_i64(c[9], i);
    f->level = tl_col_i32(c[10], i);
    TL_TRY(dup_list(c[11], i, &f->extra_files, &f->n_extra_files));
    f->creation_time_ms = optional(c[12], i);
    f->delete_rows = optional(c[13], i);
    TL_TRY(dup_bytes(c[14], i, &f->embedded_index));
    f->file_source = tl_col_is_null(c[15], i) ? -1 : tl_col_i8(c[15], i);
    TL_TRY(dup_list(c[16], i, &f->value_stats_cols, &f->n_value_stats_cols));
    TL_TRY(dup_str(c[17], i, &f->external_path));
    f->first_row_id = optional(c[18], i);
    return dup_list(c[19], i, &f->write_cols, &f->n_write_cols);
}

/* What later code relies on: a file name without folders, sizes that are none of the impossible. */
static tl_status check_file(const tl_wire_input *in, const tl_data_file *f, tl_error *err)
{
    for (int32_t i = -1; i < f->n_extra_files; i++) {
        const char *name = i < 0 ? f->name : f->extra_files[i];
        if (name == NULL || !tl_path_is_name((tl_bytes_view){(const uint8_t *)name, strlen(name)}))
            return tl_error_set(err, TL_E_CORRUPT, "%s: file name '%s'", in->what, name == NULL ? "" : name);
    }
    if (f->bytes < 0 || f->rows < 0 || f->level < 0)
        return tl_error_set(err, TL_E_CORRUPT, "%s: file '%s' has %lld bytes, %lld rows, level %d", in->what, f->name, (long long)f->bytes,
                            (long long)f->rows, f->level);
    return TL_OK;
}

static tl_status add_rows(tl_wire_input *in, tl_column *const *cols, int64_t n, tl_file_list *out, tl_error *err)
{
    /* Columns that are NOT NULL in the row's type must hold values: files are made of them without looking again. */
    static const int required[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
    for (size_t k = 0; k < TL_ARRAY_LEN(required); k++) {
        if (cols[required[k]]->null_count > 0)
            return tl_error_set(err, TL_E_CORRUPT, "%s: a file lacks its field %d", in->what, required[k]);
    }
    for (int64_t i = 0; i < n; i++) {
        tl_data_file *file = tl_data_file_create();
        if (file == NULL)
            return tl_nomem(err, in->what);
        tl_status status = file_from_row(cols, i, file) == TL_OK ? check_file(in, file, err) : tl_nomem(err, in->what);
        if (status == TL_OK)
            status = tl_file_list_add(out, file, err);
        tl_data_file_unref(file);
        TL_TRY(status);
    }
    return TL_OK;
}

static tl_status read_rows(tl_wire_input *in, int32_t n, file_rows *rows, tl_error *err)
{
    for (int32_t i = 0; i < n; i++) {
        tl_bytes_view row;
        TL_TRY(tl_wire__get_bytes(in, &row, err));
        TL_TRY(tl_error_wrap(err, tl_binary_row_read(row, rows->type, /* with_arity= */ false, rows->cols, err), "%s: file %d", in->what, i));
    }
    return TL_OK;
}

static tl_status get_files(tl_wire_input *in, tl_file_list *out, tl_error *err)
{
    int32_t n = 0;
    TL_TRY(tl_wire__get_i32(in, &n, err));
    /* Each file takes more than 4 bytes: a larger count cannot be true, and nothing is allocated for it. */
    if (n < 0 || (size_t)n > (size_t)(in->end - in->p) / 4)
        return tl_error_set(err, TL_E_CORRUPT, "%s: %d files at byte %zu", in->what, n, (size_t)(in->p - in->start) - 4);
    if (n == 0)
        return TL_OK;
    file_rows rows;
    tl_column *cols[N_FILE_FIELDS] = {NULL};
    TL_TRY(file_rows_init(&rows, err));
    tl_status status = read_rows(in, n, &rows, err);
    for (int i = 0; status == TL_OK && i < N_FILE_FIELDS; i++)
        status = tl_builder_finish(rows.cols[i], &cols[i], err);
    if (status == TL_OK)
        status = add_rows(in, cols, n, out, err);
    for (int i = 0; i < N_FILE_FIELDS; i++)
        tl_column_unref(cols[i]);
    file_rows_deinit(&rows);
    return status;
}

static tl_status at_end(const tl_wire_input *in, tl_error *err)
{
    if (in->p == in->end)
        return TL_OK;
    return tl_error_set(err, TL_E_CORRUPT, "%s: %zu bytes after its end", in->what, (size_t)(in->end - in->p));
}

/* Which file each name of a map is of; every file must be there once. */
static tl_status get_places(tl_wire_input *in, const tl_map *by_name, bool dirs, tl_split *out, tl_error *err)
{
    int32_t n = 0;
    TL_TRY(tl_wire__get_i32(in, &n, err));
    if (n < 0 || (size_t)n != out->files.n)
        return tl_error_set(err, TL_E_CORRUPT, "%s: places of %d files, but there are %zu", in->what, n, out->files.n);
    for (int32_t i = 0; i < n; i++) {
        TL_CLEANUP(tl_freep) char *name = NULL;
        TL_TRY(tl_wire__get_utf(in, &name, err));
        tl_data_file **file = tl_map_get(by_name, name, strlen(name));
        char **place = file == NULL ? NULL : dirs ? &out->places[file - out->files.items].dir : &out->places[file - out->files.items].branch;
        if (place == NULL || *place != NULL)
            return tl_error_set(err, TL_E_CORRUPT, "%s: the place of file '%s', which is %s", in->what, name, place == NULL ? "none of it" : "known");
        TL_TRY(tl_wire__get_utf(in, place, err));
    }
    return TL_OK;
}

static tl_status read_chain(tl_wire_input *in, tl_split *out, tl_error *err)
{
    int32_t version = 0;
    tl_map by_name = {0};
    TL_TRY(tl_wire__get_i32(in, &version, err));
    TL_TRY(get_partition(in, &out->partition, err));
    TL_TRY(get_files(in, &out->files, err));
    out->places = tl_calloc(out->files.n + 1, sizeof *out->places);
    tl_status status = out->places == NULL ? tl_nomem(err, in->what) : TL_OK;
    for (size_t i = 0; status == TL_OK && i < out->files.n; i++) {
        const char *name = out->files.items[i]->name;
        if (tl_map_put(&by_name, name, strlen(name), &out->files.items[i], NULL) != TL_OK)
            status = tl_nomem(err, in->what);
    }
    if (status == TL_OK)
        status = get_places(in, &by_name, /* dirs= */ true, out, err);
    if (status == TL_OK)
        status = get_places(in, &by_name, /* dirs= */ false, out, err);
    tl_map_deinit(&by_name);
    out->other_branch = true;
    return status == TL_OK ? at_end(in, err) : status;
}

static bool is_chain(const tl_wire_input *in)
{
    return in->end - in->p >= 4 && tl_read_be32(in->p) == CHAIN_VERSION;
}

static tl_status read_split(tl_wire_input *in, tl_split *out, tl_error *err)
{
    if (is_chain(in))
        return read_chain(in, out, err);
    int64_t magic = 0;
    int32_t version = 0, before = 0;
    uint8_t flag = 0;
    TL_TRY(tl_wire__get_i64(in, &magic, err));
    if (magic != SPLIT_MAGIC)
        return tl_error_set(err, TL_E_UNSUPPORTED, "split: not supported: version 1 (no magic number)");
    TL_TRY(tl_wire__get_i32(in, &version, err));
    if (version != SPLIT_VERSION)
        return tl_error_set(err, TL_E_UNSUPPORTED, "split: not supported: version %d", version);
    TL_TRY(tl_wire__get_i64(in, &out->snapshot_id, err));
    TL_TRY(get_partition(in, &out->partition, err));
    TL_TRY(tl_wire__get_i32(in, &out->bucket, err));
    TL_TRY(tl_wire__need(in, 2, err));
    size_t path_bytes = tl_read_be16(in->p);
    TL_TRY(tl_wire__need(in, 2 + path_bytes, err));
    in->p += 2 + path_bytes; /* follows from table, partition and bucket */
    TL_TRY(get_total(in, &out->total_buckets, err));
    TL_TRY(tl_wire__get_i32(in, &before, err));
    TL_TRY(tl_wire__get_u8(in, &flag, err));
    if (before != 0 || flag != 0)
        return tl_error_set(err, TL_E_UNSUPPORTED, "split: not supported: files before");
    TL_TRY(get_files(in, &out->files, err));
    TL_TRY(tl_wire__get_deletions(in, &out->files, &out->vectors, err));
    TL_TRY(tl_wire__get_u8(in, &flag, err));
    out->streaming = flag != 0;
    TL_TRY(tl_wire__get_u8(in, &flag, err));
    out->raw = flag != 0;
    out->other_branch = in->end - in->p == 1 && *in->p == 1;
    in->p += out->other_branch;
    return at_end(in, err);
}

tl_status tl_split_deserialize(tl_bytes_view bytes, tl_split *out, tl_error *err)
{
    tl_wire_input in = {bytes.data, bytes.data, bytes.data + bytes.len, "split"};
    tl_split split = {0};
    tl_status status = read_split(&in, &split, err);
    if (status != TL_OK) {
        tl_split_deinit(&split);
        return status;
    }
    *out = split;
    return TL_OK;
}

static tl_status get_base(tl_wire_input *in, tl_commit_message *out, tl_error *err)
{
    uint8_t kind = 0;
    int64_t base = 0;
    TL_TRY(tl_wire__get_u8(in, &kind, err));
    TL_TRY(tl_wire__get_i64(in, &base, err));
    if (kind != TL_BASE_HASHES && kind != TL_BASE_SNAPSHOT && kind != TL_BASE_ROWS)
        return tl_error_set(err, TL_E_CORRUPT, "commit message: base of kind %u", kind);
    out->base_kind = kind;
    out->base = (uint64_t)base;
    return TL_OK;
}

static tl_status read_message(tl_wire_input *in, tl_commit_message *out, tl_error *err)
{
    TL_TRY(get_partition(in, &out->partition, err));
    TL_TRY(tl_wire__get_i32(in, &out->bucket, err));
    TL_TRY(get_total(in, &out->total_buckets, err));
    tl_file_list *lists[] = {&out->new_files,      &out->deleted_files, &out->changelog_files,
                             &out->compact_before, &out->compact_after, &out->compact_changelog};
    tl_index_list *indexes[] = {&out->new_indexes, &out->deleted_indexes, &out->compact_new_indexes, &out->compact_deleted_indexes};
    for (size_t i = 0; i < TL_ARRAY_LEN(lists); i++) {
        TL_TRY(get_files(in, lists[i], err));
        for (size_t k = 0; i % 3 == 2 && k < 2; k++)
            TL_TRY(tl_wire__get_indexes(in, indexes[i / 3 * 2 + k], err));
    }
    if (in->p != in->end)
        TL_TRY(get_base(in, out, err));
    return at_end(in, err);
}

tl_status tl_commit_message_deserialize(tl_bytes_view bytes, tl_commit_message *out, tl_error *err)
{
    tl_wire_input in = {bytes.data, bytes.data, bytes.data + bytes.len, "commit message"};
    tl_commit_message msg = {0};
    tl_status status = read_message(&in, &msg, err);
    if (status != TL_OK) {
        tl_commit_message_deinit(&msg);
        return status;
    }
    *out = msg;
    return TL_OK;
}
