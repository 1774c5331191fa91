/* The field tables of manifests and manifest lists, and records to structs and back. Java: ManifestEntry, ManifestFileMeta,
   DataFileMeta, SimpleStats. */
#include "meta/manifest_record.h"

#define FIELD(STRUCT, NAME, MEMBER, KIND) {.name = NAME, .kind = TL_AVRO_##KIND, .offset = offsetof(STRUCT, MEMBER)}
#define NULLABLE(STRUCT, NAME, MEMBER, KIND) \
    {.name = NAME, .kind = TL_AVRO_##KIND, .nullable = true, .offset = offsetof(STRUCT, MEMBER)}
#define NESTED(STRUCT, NAME, MEMBER, RECORD_TYPE) \
    {.name = NAME, .kind = TL_AVRO_RECORD, .offset = offsetof(STRUCT, MEMBER), .record = &(RECORD_TYPE)}
#define RECORD_OF(FIELDS, STRUCT) {(FIELDS), (int32_t)TL_ARRAY_LEN(FIELDS), (uint32_t)sizeof(STRUCT)}

static const tl_avro_field stats_field_list[] = {
    FIELD(tl_meta__stats_record, "_MIN_VALUES", min, BIN),
    FIELD(tl_meta__stats_record, "_MAX_VALUES", max, BIN),
    NULLABLE(tl_meta__stats_record, "_NULL_COUNTS", null_counts, NULL_I64S),
};
static const tl_avro_record stats_fields = RECORD_OF(stats_field_list, tl_meta__stats_record);

static const tl_avro_field file_field_list[] = {
    FIELD(tl_meta__file_record, "_FILE_NAME", name, STR),
    FIELD(tl_meta__file_record, "_FILE_SIZE", bytes, I64),
    FIELD(tl_meta__file_record, "_ROW_COUNT", rows, I64),
    FIELD(tl_meta__file_record, "_MIN_KEY", min_key, BIN),
    FIELD(tl_meta__file_record, "_MAX_KEY", max_key, BIN),
    NESTED(tl_meta__file_record, "_KEY_STATS", key_stats, stats_fields),
    NESTED(tl_meta__file_record, "_VALUE_STATS", value_stats, stats_fields),
    FIELD(tl_meta__file_record, "_MIN_SEQUENCE_NUMBER", min_seq, I64),
    FIELD(tl_meta__file_record, "_MAX_SEQUENCE_NUMBER", max_seq, I64),
    FIELD(tl_meta__file_record, "_SCHEMA_ID", schema_id, I64),
    FIELD(tl_meta__file_record, "_LEVEL", level, I32),
    FIELD(tl_meta__file_record, "_EXTRA_FILES", extra_files, STRS),
    NULLABLE(tl_meta__file_record, "_CREATION_TIME", creation_time_ms, MILLIS),
    NULLABLE(tl_meta__file_record, "_DELETE_ROW_COUNT", delete_rows, I64),
    NULLABLE(tl_meta__file_record, "_EMBEDDED_FILE_INDEX", embedded_index, BIN),
    NULLABLE(tl_meta__file_record, "_FILE_SOURCE", file_source, I8),
    NULLABLE(tl_meta__file_record, "_VALUE_STATS_COLS", value_stats_cols, STRS),
    NULLABLE(tl_meta__file_record, "_EXTERNAL_PATH", external_path, STR),
    NULLABLE(tl_meta__file_record, "_FIRST_ROW_ID", first_row_id, I64),
    NULLABLE(tl_meta__file_record, "_WRITE_COLS", write_cols, STRS),
};
static const tl_avro_record file_fields = RECORD_OF(file_field_list, tl_meta__file_record);

static const tl_avro_field entry_field_list[] = {
    FIELD(tl_meta__entry_record, "_VERSION", version, I32),
    FIELD(tl_meta__entry_record, "_KIND", kind, I8),
    FIELD(tl_meta__entry_record, "_PARTITION", partition, BIN),
    FIELD(tl_meta__entry_record, "_BUCKET", bucket, I32),
    FIELD(tl_meta__entry_record, "_TOTAL_BUCKETS", total_buckets, I32),
    NESTED(tl_meta__entry_record, "_FILE", file, file_fields),
};
const tl_avro_record tl_meta__entry_fields = RECORD_OF(entry_field_list, tl_meta__entry_record);

static const tl_avro_field list_field_list[] = {
    FIELD(tl_meta__list_record, "_VERSION", version, I32),
    FIELD(tl_meta__list_record, "_FILE_NAME", name, STR),
    FIELD(tl_meta__list_record, "_FILE_SIZE", bytes, I64),
    FIELD(tl_meta__list_record, "_NUM_ADDED_FILES", added, I64),
    FIELD(tl_meta__list_record, "_NUM_DELETED_FILES", deleted, I64),
    NESTED(tl_meta__list_record, "_PARTITION_STATS", partition_stats, stats_fields),
    FIELD(tl_meta__list_record, "_SCHEMA_ID", schema_id, I64),
    NULLABLE(tl_meta__list_record, "_MIN_BUCKET", min_bucket, I32),
    NULLABLE(tl_meta__list_record, "_MAX_BUCKET", max_bucket, I32),
    NULLABLE(tl_meta__list_record, "_MIN_LEVEL", min_level, I32),
    NULLABLE(tl_meta__list_record, "_MAX_LEVEL", max_level, I32),
    NULLABLE(tl_meta__list_record, "_MIN_ROW_ID", min_row_id, I64),
    NULLABLE(tl_meta__list_record, "_MAX_ROW_ID", max_row_id, I64),
};
const tl_avro_record tl_meta__list_fields = RECORD_OF(list_field_list, tl_meta__list_record);

/* ---- records to structs: one allocation a file ---- */

/*
 * Lays copies out behind a struct. Run twice with the same calls: first with base == NULL to count, then to copy; the
 * pointers of the first run are only placeholders.
 */
typedef struct packer {
    uint8_t *base;
    size_t used;
} packer;

static void *pack(packer *p, const void *data, size_t bytes, size_t align)
{
    p->used = (p->used + align - 1) & ~(align - 1);
    void *at = p->base != NULL ? p->base + p->used : NULL;
    if (at != NULL && data != NULL)
        memcpy(at, data, bytes);
    p->used += bytes;
    return at;
}

static tl_bytes pack_bytes(packer *p, tl_bytes_view v)
{
    return v.data == NULL ? (tl_bytes){NULL, 0} : (tl_bytes){pack(p, v.data, v.len, 1), v.len};
}

static char *pack_str(packer *p, tl_bytes_view v)
{
    if (v.data == NULL)
        return NULL;
    char *at = pack(p, v.data, v.len, 1);
    pack(p, "", 1, 1);
    return at;
}

static char **pack_strs(packer *p, tl_avro_strs v, int32_t *n)
{
    *n = v.n;
    if (v.n <= 0)
        return NULL;
    char **at = pack(p, NULL, (size_t)v.n * sizeof *at, sizeof *at);
    for (int32_t i = 0; i < v.n; i++) {
        char *s = pack_str(p, v.items[i]);
        if (at != NULL)
            at[i] = s;
    }
    return at;
}

static void pack_stats(packer *p, const tl_meta__stats_record *from, tl_simple_stats *out)
{
    out->n = from->null_counts.n;
    size_t n = (size_t)TL_MAX(out->n, 0);
    out->null_counts = pack(p, from->null_counts.items, n * sizeof(int64_t), sizeof(int64_t));
    for (size_t i = 0; i < n && out->null_counts != NULL; i++)
        out->null_counts[i] = TL_MAX(out->null_counts[i], -1);
    out->min = pack_bytes(p, from->min);
    out->max = pack_bytes(p, from->max);
}

static void pack_file(packer *p, const tl_meta__file_record *from, tl_data_file *out)
{
    pack(p, NULL, sizeof *out, sizeof(int64_t));
    pack_stats(p, &from->key_stats, &out->key_stats);
    pack_stats(p, &from->value_stats, &out->value_stats);
    out->extra_files = pack_strs(p, from->extra_files, &out->n_extra_files);
    out->value_stats_cols = pack_strs(p, from->value_stats_cols, &out->n_value_stats_cols);
    out->write_cols = pack_strs(p, from->write_cols, &out->n_write_cols);
    out->name = pack_str(p, from->name);
    out->external_path = pack_str(p, from->external_path);
    out->min_key = pack_bytes(p, from->min_key);
    out->max_key = pack_bytes(p, from->max_key);
    out->embedded_index = pack_bytes(p, from->embedded_index);
}

tl_status tl_meta__file_from_record(const tl_meta__file_record *from, tl_data_file **out, tl_error *err)
{
    tl_data_file shape;
    packer p = {0};
    pack_file(&p, from, &shape);
    tl_data_file *file = tl_alloc(p.used);
    if (file == NULL)
        return tl_nomem(err, "data file entry");
    p = (packer){(uint8_t *)file, 0};
    *file = (tl_data_file){
        .bytes = from->bytes,
        .rows = from->rows,
        .min_seq = from->min_seq,
        .max_seq = from->max_seq,
        .schema_id = from->schema_id,
        .level = (int32_t)from->level,
        .creation_time_ms = from->creation_time_ms,
        .delete_rows = from->delete_rows,
        .file_source = from->file_source == TL_AVRO_ABSENT ? -1 : (int32_t)from->file_source,
        .first_row_id = from->first_row_id,
        .refs = 1,
        .packed = true,
    };
    pack_file(&p, from, file);
    *out = file;
    return TL_OK;
}

static tl_status dup_bytes(tl_bytes_view v, tl_bytes *out, tl_error *err)
{
    *out = (tl_bytes){tl_memdup(v.data != NULL ? v.data : (const uint8_t *)"", v.len), v.len};
    return out->data == NULL ? tl_nomem(err, "statistics") : TL_OK;
}

tl_status tl_meta__stats_from_record(const tl_meta__stats_record *from, tl_simple_stats *out, tl_error *err)
{
    tl_simple_stats stats = {.n = from->null_counts.n};
    tl_status status = dup_bytes(from->min, &stats.min, err);
    if (status == TL_OK)
        status = dup_bytes(from->max, &stats.max, err);
    if (status == TL_OK && stats.n > 0) {
        stats.null_counts = tl_memdup(from->null_counts.items, (size_t)stats.n * sizeof(int64_t));
        if (stats.null_counts == NULL)
            status = tl_nomem(err, "statistics");
    }
    if (status != TL_OK) {
        tl_simple_stats_deinit(&stats);
        return status;
    }
    for (int32_t i = 0; i < stats.n; i++)
        stats.null_counts[i] = TL_MAX(stats.null_counts[i], -1);
    *out = stats;
    return TL_OK;
}

/* ---- structs to records ---- */

void tl_meta__stats_to_record(const tl_simple_stats *from, int64_t *counts, tl_meta__stats_record *out)
{
    out->min = tl_bytes_view_of(from->min);
    out->max = tl_bytes_view_of(from->max);
    for (int32_t i = 0; i < from->n; i++)
        counts[i] = from->null_counts[i] < 0 ? TL_AVRO_ABSENT : from->null_counts[i];
    out->null_counts = (tl_avro_longs){counts, from->n};
}

static tl_bytes_view view_str(const char *s)
{
    return (tl_bytes_view){(const uint8_t *)s, s == NULL ? 0 : strlen(s)};
}

/* `room` advances over the views used. */
static tl_avro_strs view_strs(char *const *strs, int32_t n, tl_bytes_view **room)
{
    tl_avro_strs out = {*room, n};
    for (int32_t i = 0; i < n; i++)
        *(*room)++ = view_str(strs[i]);
    return out;
}

static size_t count(int32_t n)
{
    return n > 0 ? (size_t)n : 0;
}

tl_status tl_meta__file_to_record(const tl_data_file *f, tl_buf *scratch, tl_meta__file_record *out, tl_error *err)
{
    size_t n_views = count(f->n_extra_files) + count(f->n_value_stats_cols) + count(f->n_write_cols);
    size_t n_counts = count(f->key_stats.n) + count(f->value_stats.n);
    scratch->len = 0;
    if (tl_buf_reserve(scratch, n_views * sizeof(tl_bytes_view) + n_counts * sizeof(int64_t) + 1) != TL_OK)
        return tl_nomem(err, "data file entry");
    tl_bytes_view *views = (tl_bytes_view *)(void *)scratch->data;
    int64_t *counts = (int64_t *)(void *)(views + n_views);
    *out = (tl_meta__file_record){
        .name = view_str(f->name),
        .bytes = f->bytes,
        .rows = f->rows,
        .min_key = tl_bytes_view_of(f->min_key),
        .max_key = tl_bytes_view_of(f->max_key),
        .min_seq = f->min_seq,
        .max_seq = f->max_seq,
        .schema_id = f->schema_id,
        .level = f->level,
        .creation_time_ms = f->creation_time_ms,
        .delete_rows = f->delete_rows,
        .embedded_index = tl_bytes_view_of(f->embedded_index),
        .file_source = f->file_source < 0 ? TL_AVRO_ABSENT : f->file_source,
        .external_path = view_str(f->external_path),
        .first_row_id = f->first_row_id,
    };
    tl_meta__stats_to_record(&f->key_stats, counts, &out->key_stats);
    tl_meta__stats_to_record(&f->value_stats, counts + count(f->key_stats.n), &out->value_stats);
    out->extra_files = view_strs(f->extra_files, TL_MAX(f->n_extra_files, 0), &views);
    out->value_stats_cols = view_strs(f->value_stats_cols, f->n_value_stats_cols, &views);
    out->write_cols = view_strs(f->write_cols, f->n_write_cols, &views);
    return TL_OK;
}
