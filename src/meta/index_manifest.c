/*
 * Index manifests: the index files (hash indexes, deletion vectors, global indexes) that a snapshot has, always as a whole
 * (format reference §4.3, §15). Java: IndexManifestFile, IndexManifestEntry, IndexFileMeta, DeletionVectorMeta, GlobalIndexMeta.
 */
#include "meta/manifest_record.h"
#include "meta/meta_private.h"

#define INDEX_MANIFEST_VERSION 1

/* ---- records ---- */

typedef struct range_record {
    tl_bytes_view data_file;
    int64_t offset;
    int64_t bytes;
    int64_t cardinality;
} range_record;

typedef struct global_record {
    int64_t row_start;
    int64_t row_end;
    int64_t field_id;
    tl_avro_longs extra_fields;
    tl_bytes_view meta;
} global_record;

typedef struct index_record {
    int64_t version;
    int64_t kind;
    tl_bytes_view partition;
    int64_t bucket;
    tl_bytes_view type;
    tl_bytes_view name;
    int64_t bytes;
    int64_t rows;
    tl_avro_structs ranges;
    tl_bytes_view external_path;
    global_record global;
    bool has_global;
} index_record;

static const tl_avro_field range_field_list[] = {
    {.name = "f0", .kind = TL_AVRO_STR, .offset = offsetof(range_record, data_file)},
    {.name = "f1", .kind = TL_AVRO_I32, .offset = offsetof(range_record, offset)},
    {.name = "f2", .kind = TL_AVRO_I32, .offset = offsetof(range_record, bytes)},
    {.name = "_CARDINALITY", .kind = TL_AVRO_I64, .nullable = true, .offset = offsetof(range_record, cardinality)},
};
static const tl_avro_record range_fields = {range_field_list, (int32_t)TL_ARRAY_LEN(range_field_list), sizeof(range_record)};

static const tl_avro_field global_field_list[] = {
    {.name = "_ROW_RANGE_START", .kind = TL_AVRO_I64, .offset = offsetof(global_record, row_start)},
    {.name = "_ROW_RANGE_END", .kind = TL_AVRO_I64, .offset = offsetof(global_record, row_end)},
    {.name = "_INDEX_FIELD_ID", .kind = TL_AVRO_I32, .offset = offsetof(global_record, field_id)},
    {.name = "_EXTRA_FIELD_IDS", .kind = TL_AVRO_I32S, .nullable = true, .offset = offsetof(global_record, extra_fields)},
    {.name = "_INDEX_META", .kind = TL_AVRO_BIN, .nullable = true, .offset = offsetof(global_record, meta)},
};
static const tl_avro_record global_fields = {global_field_list, (int32_t)TL_ARRAY_LEN(global_field_list), sizeof(global_record)};

static const tl_avro_field index_field_list[] = {
    {.name = "_VERSION", .kind = TL_AVRO_I32, .offset = offsetof(index_record, version)},
    {.name = "_KIND", .kind = TL_AVRO_I8, .offset = offsetof(index_record, kind)},
    {.name = "_PARTITION", .kind = TL_AVRO_BIN, .offset = offsetof(index_record, partition)},
    {.name = "_BUCKET", .kind = TL_AVRO_I32, .offset = offsetof(index_record, bucket)},
    {.name = "_INDEX_TYPE", .kind = TL_AVRO_STR, .offset = offsetof(index_record, type)},
    {.name = "_FILE_NAME", .kind = TL_AVRO_STR, .offset = offsetof(index_record, name)},
    {.name = "_FILE_SIZE", .kind = TL_AVRO_I64, .offset = offsetof(index_record, bytes)},
    {.name = "_ROW_COUNT", .kind = TL_AVRO_I64, .offset = offsetof(index_record, rows)},
    {.name = "_DELETIONS_VECTORS_RANGES",
     .kind = TL_AVRO_NULL_RECORDS,
     .nullable = true,
     .offset = offsetof(index_record, ranges),
     .record = &range_fields},
    {.name = "_EXTERNAL_PATH", .kind = TL_AVRO_STR, .nullable = true, .offset = offsetof(index_record, external_path)},
    {.name = "_GLOBAL_INDEX",
     .kind = TL_AVRO_RECORD,
     .nullable = true,
     .offset = offsetof(index_record, global),
     .record = &global_fields,
     .present_offset = offsetof(index_record, has_global)},
};
static const tl_avro_record index_fields = {index_field_list, (int32_t)TL_ARRAY_LEN(index_field_list), sizeof(index_record)};

/* ---- index files and entries ---- */

tl_index_file *tl_index_file_create(void)
{
    tl_index_file *file = tl_calloc(1, sizeof *file);
    if (file != NULL) {
        file->refs = 1;
        file->n_ranges = -1;
        file->n_extra_fields = -1;
    }
    return file;
}

tl_index_file *tl_index_file_ref(const tl_index_file *file)
{
    tl_index_file *mutable = (tl_index_file *)file; /* the count is no part of the value */
    if (mutable != NULL)
        __atomic_fetch_add(&mutable->refs, 1, __ATOMIC_RELAXED);
    return mutable;
}

void tl_index_file_unref(tl_index_file *file)
{
    if (file == NULL || __atomic_sub_fetch(&file->refs, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    for (int32_t i = 0; i < file->n_ranges; i++)
        tl_free(file->ranges[i].data_file);
    tl_free(file->type);
    tl_free(file->name);
    tl_free(file->ranges);
    tl_free(file->external_path);
    tl_free(file->extra_fields);
    tl_bytes_deinit(&file->global_meta);
    tl_free(file);
}

tl_status tl_index_list_add(tl_index_list *list, const tl_index_file *file, tl_error *err)
{
    if (list->n == list->cap) {
        size_t cap = TL_MAX(list->cap * 2, (size_t)2);
        tl_index_file **items = tl_realloc(list->items, cap * sizeof *items);
        if (items == NULL)
            return tl_nomem(err, "index files");
        list->items = items;
        list->cap = cap;
    }
    list->items[list->n++] = tl_index_file_ref(file);
    return TL_OK;
}

void tl_index_list_deinit(tl_index_list *list)
{
    for (size_t i = 0; i < list->n; i++)
        tl_index_file_unref(list->items[i]);
    tl_free(list->items);
    *list = (tl_index_list){0};
}

void tl_index_entries_deinit(tl_index_entries *entries)
{
    for (size_t i = 0; i < entries->n; i++) {
        tl_bytes_deinit(&entries->items[i].partition);
        tl_index_file_unref(entries->items[i].file);
    }
    tl_free(entries->items);
    *entries = (tl_index_entries){0};
}

tl_status tl_index_entries_add(tl_index_entries *entries, tl_entry_kind kind, tl_bytes_view partition, int32_t bucket, const tl_index_file *file,
                               tl_error *err)
{
    if (entries->n == entries->cap) {
        size_t cap = TL_MAX(entries->cap * 2, (size_t)8);
        tl_index_entry *items = tl_realloc(entries->items, cap * sizeof *items);
        if (items == NULL)
            return tl_nomem(err, "index files");
        entries->items = items;
        entries->cap = cap;
    }
    tl_bytes copy = {0};
    if (tl_bytes_dup(partition, &copy) != TL_OK)
        return tl_nomem(err, "index files");
    entries->items[entries->n++] =
        (tl_index_entry){.kind = kind, .partition = copy, .bucket = bucket, .file = tl_index_file_ref(file)};
    return TL_OK;
}

/* ---- reading ---- */

static bool plain_name(tl_bytes_view v)
{
    return v.len > 0 && memchr(v.data, 0, v.len) == NULL && memchr(v.data, '/', v.len) == NULL;
}

static tl_status take_str(tl_bytes_view v, char **out, tl_error *err)
{
    if (v.data == NULL)
        return TL_OK;
    *out = tl_strndup((const char *)v.data, v.len);
    return *out == NULL ? tl_nomem(err, "index manifest") : TL_OK;
}

static tl_status take_ranges(const tl_avro_structs *from, tl_index_file *file, tl_error *err)
{
    if (from->n < 0)
        return TL_OK;
    file->ranges = tl_calloc((size_t)from->n + 1, sizeof *file->ranges);
    if (file->ranges == NULL)
        return tl_nomem(err, "index manifest");
    file->n_ranges = 0;
    const range_record *records = from->items;
    for (int32_t i = 0; i < from->n; i++) {
        const range_record *r = &records[i];
        file->ranges[file->n_ranges++] = (tl_dv_range){
            .offset = (int32_t)r->offset,
            .bytes = (int32_t)r->bytes,
            .cardinality = r->cardinality == TL_AVRO_ABSENT ? TL_ABSENT : r->cardinality,
        };
        TL_TRY(take_str(r->data_file, &file->ranges[i].data_file, err));
    }
    return TL_OK;
}

static tl_status take_global(const global_record *from, tl_index_file *file, tl_error *err)
{
    file->has_global = true;
    file->row_start = from->row_start;
    file->row_end = from->row_end;
    file->field_id = (int32_t)from->field_id;
    if (from->meta.data != NULL && tl_bytes_dup(from->meta, &file->global_meta) != TL_OK)
        return tl_nomem(err, "index manifest");
    if (from->extra_fields.n < 0)
        return TL_OK;
    file->extra_fields = tl_calloc((size_t)from->extra_fields.n + 1, sizeof *file->extra_fields);
    if (file->extra_fields == NULL)
        return tl_nomem(err, "index manifest");
    file->n_extra_fields = from->extra_fields.n;
    for (int32_t i = 0; i < from->extra_fields.n; i++)
        file->extra_fields[i] = (int32_t)from->extra_fields.items[i];
    return TL_OK;
}

static tl_status fill_file(const index_record *record, tl_index_file *file, tl_error *err)
{
    file->bytes = record->bytes;
    file->rows = record->rows;
    TL_TRY(take_str(record->type, &file->type, err));
    TL_TRY(take_str(record->name, &file->name, err));
    TL_TRY(take_str(record->external_path, &file->external_path, err));
    TL_TRY(take_ranges(&record->ranges, file, err));
    return record->has_global ? take_global(&record->global, file, err) : TL_OK;
}

static tl_status add_record(tl_index_entries *out, const index_record *record, tl_error *err)
{
    if (record->version != INDEX_MANIFEST_VERSION)
        return tl_error_set(err, TL_E_UNSUPPORTED, "index manifest version %lld", (long long)record->version);
    if (record->kind != TL_ENTRY_ADD && record->kind != TL_ENTRY_DELETE)
        return tl_error_set(err, TL_E_CORRUPT, "entry kind %lld", (long long)record->kind);
    if (!plain_name(record->name))
        return tl_error_set(err, TL_E_CORRUPT, "entry with the file name '%.*s'", (int)TL_MIN(record->name.len, 200),
                            (const char *)record->name.data);
    tl_index_file *file = tl_index_file_create();
    if (file == NULL)
        return tl_nomem(err, "index manifest");
    tl_status status = fill_file(record, file, err);
    if (status == TL_OK)
        status = tl_index_entries_add(out, (tl_entry_kind)record->kind, record->partition, (int32_t)record->bucket, file, err);
    tl_index_file_unref(file);
    return status;
}

static tl_status decode(tl_meta__records *records, tl_index_entries *out, tl_error *err)
{
    index_record record;
    for (;;) {
        bool more;
        TL_TRY(tl_meta__records_next(records, &record, &more, err));
        if (!more)
            return TL_OK;
        TL_TRY(add_record(out, &record, err));
    }
}

tl_status tl_index_manifest_read(tl_fs *fs, const tl_paths *paths, const char *name, tl_index_entries *out, tl_error *err)
{
    TL_TRY(tl_meta__check_name("index manifest", name, TL_E_CORRUPT, err));
    TL_CLEANUP(tl_freep) char *path = tl_paths_manifest(paths, name);
    if (path == NULL)
        return tl_nomem(err, "index manifest");
    tl_bytes file = {0};
    tl_meta__records *records = NULL;
    tl_index_entries entries = {0};
    tl_status status = tl_fs_read_all(fs, path, TL_META_MANIFEST_BYTES_MAX, &file, err);
    if (status == TL_OK)
        status = tl_meta__records_open(fs, path, tl_bytes_view_of(file), &index_fields, &records, err);
    if (status == TL_OK)
        status = decode(records, &entries, err);
    tl_meta__records_free(records);
    tl_bytes_deinit(&file);
    if (status != TL_OK) {
        tl_index_entries_deinit(&entries);
        return tl_error_wrap(err, status, "index manifest '%s'", name);
    }
    *out = entries;
    return TL_OK;
}

/* ---- writing ---- */

static tl_bytes_view view_str(const char *s)
{
    return (tl_bytes_view){(const uint8_t *)s, s == NULL ? 0 : strlen(s)};
}

/* Arrays of the record lie in `scratch`. */
static tl_status to_record(const tl_index_entry *entry, tl_buf *scratch, index_record *out, tl_error *err)
{
    const tl_index_file *f = entry->file;
    size_t n_ranges = (size_t)TL_MAX(f->n_ranges, 0), n_extra = (size_t)TL_MAX(f->n_extra_fields, 0);
    scratch->len = 0;
    if (tl_buf_reserve(scratch, n_ranges * sizeof(range_record) + n_extra * sizeof(int64_t) + 1) != TL_OK || scratch->data == NULL)
        return tl_nomem(err, "index manifest");
    range_record *ranges = (range_record *)(void *)scratch->data;
    int64_t *extra = (int64_t *)(void *)(ranges + n_ranges);
    for (size_t i = 0; i < n_ranges; i++) {
        const tl_dv_range *r = &f->ranges[i];
        ranges[i] = (range_record){view_str(r->data_file), r->offset, r->bytes, r->cardinality == TL_ABSENT ? TL_AVRO_ABSENT : r->cardinality};
    }
    for (size_t i = 0; i < n_extra; i++)
        extra[i] = f->extra_fields[i];
    *out = (index_record){
        .version = INDEX_MANIFEST_VERSION,
        .kind = entry->kind,
        .partition = tl_bytes_view_of(entry->partition),
        .bucket = entry->bucket,
        .type = view_str(f->type),
        .name = view_str(f->name),
        .bytes = f->bytes,
        .rows = f->rows,
        .ranges = {ranges, f->n_ranges},
        .external_path = view_str(f->external_path),
        .has_global = f->has_global,
        .global = {f->row_start, f->row_end, f->field_id, {extra, f->n_extra_fields}, tl_bytes_view_of(f->global_meta)},
    };
    return TL_OK;
}

static tl_status fill(tl_manifest_writer *w, const char *path, const tl_index_entry *entries, size_t n, tl_error *err)
{
    TL_CLEANUP(tl_meta__sink_freep) tl_meta__sink *sink = NULL;
    TL_TRY(tl_meta__sink_create(w, path, &index_fields, &sink, err));
    tl_buf scratch = {0};
    tl_status status = TL_OK;
    for (size_t i = 0; i < n && status == TL_OK; i++) {
        index_record record;
        status = to_record(&entries[i], &scratch, &record, err);
        if (status == TL_OK)
            status = tl_meta__sink_append(sink, &record, err);
    }
    tl_buf_deinit(&scratch);
    int64_t bytes = 0;
    return status == TL_OK ? tl_meta__sink_finish(sink, &bytes, err) : status;
}

tl_status tl_index_manifest_write(tl_manifest_writer *w, const tl_index_entry *entries, size_t n, char **name, tl_error *err)
{
    TL_CLEANUP(tl_freep) char *fresh = tl_strf("index-manifest-%s-%d", w->uuid, w->next_index++);
    TL_CLEANUP(tl_freep) char *path = fresh == NULL ? NULL : tl_paths_manifest(&w->paths, fresh);
    if (path == NULL)
        return tl_nomem(err, "index manifest");
    TL_TRY(tl_error_wrap(err, fill(w, path, entries, n, err), "index manifest '%s'", fresh));
    *name = TL_STEAL(fresh);
    return TL_OK;
}
