/*
 * Lists of manifest entries; ADD and DELETE of one file cancel each other.
 *
 * Identity (format reference §4.2): partition, bucket, level, name, extra files, embedded index, external path. Java:
 * FileEntry.Identifier. The merge compares entries in place, through a table of their hashes: a plan over 10^5 files
 * builds no key bytes.
 */
#include "base/bits.h"
#include "meta/meta_private.h"

void tl_entries_deinit(tl_entries *entries)
{
    for (size_t i = 0; i < entries->n; i++) {
        tl_bytes_deinit(&entries->items[i].partition);
        tl_data_file_unref(entries->items[i].file);
    }
    tl_free(entries->items);
    *entries = (tl_entries){0};
}

static tl_status grow(tl_entries *entries, tl_error *err)
{
    if (entries->n < entries->cap)
        return TL_OK;
    size_t cap = TL_MAX(entries->cap * 2, (size_t)16);
    tl_manifest_entry *items = tl_realloc(entries->items, cap * sizeof *items);
    if (items == NULL)
        return tl_nomem(err, "manifest entries");
    entries->items = items;
    entries->cap = cap;
    return TL_OK;
}

tl_status tl_entries_add(tl_entries *entries, tl_entry_kind kind, tl_bytes_view partition, int32_t bucket,
                         int32_t total_buckets, const tl_data_file *file, tl_error *err)
{
    TL_TRY(grow(entries, err));
    uint8_t *copy = tl_memdup(partition.data, partition.len);
    if (copy == NULL)
        return tl_nomem(err, "manifest entries");
    entries->items[entries->n++] = (tl_manifest_entry){
        .kind = kind,
        .partition = {copy, partition.len},
        .bucket = bucket,
        .total_buckets = total_buckets,
        .file = tl_data_file_ref(file),
    };
    return TL_OK;
}

static tl_status put_sized(tl_buf *out, const void *data, size_t len)
{
    uint8_t size[8];
    tl_write_le64(size, data == NULL ? UINT64_MAX : len);
    TL_TRY(tl_buf_append(out, size, sizeof size));
    return data == NULL ? TL_OK : tl_buf_append(out, data, len);
}

static tl_status put_i32(tl_buf *out, int32_t v)
{
    uint8_t bytes[4];
    tl_write_le32(bytes, (uint32_t)v);
    return tl_buf_append(out, bytes, sizeof bytes);
}

tl_status tl_entry_identity(const tl_manifest_entry *entry, tl_buf *out)
{
    const tl_data_file *f = entry->file;
    TL_TRY(put_sized(out, entry->partition.data, entry->partition.len));
    TL_TRY(put_i32(out, entry->bucket));
    TL_TRY(put_i32(out, f->level));
    TL_TRY(put_sized(out, f->name, strlen(f->name)));
    TL_TRY(put_i32(out, TL_MAX(f->n_extra_files, 0)));
    for (int32_t i = 0; i < f->n_extra_files; i++)
        TL_TRY(put_sized(out, f->extra_files[i], strlen(f->extra_files[i])));
    TL_TRY(put_sized(out, f->embedded_index.data, f->embedded_index.len));
    return put_sized(out, f->external_path, f->external_path == NULL ? 0 : strlen(f->external_path));
}

static bool same_str(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

/* No index is not the same as one of no bytes. */
static bool same_index(const tl_bytes *a, const tl_bytes *b)
{
    return a->data == NULL || b->data == NULL ? a->data == b->data : tl_bytes_equal(tl_bytes_view_of(*a), tl_bytes_view_of(*b));
}

static bool same_identity(const tl_manifest_entry *a, const tl_manifest_entry *b)
{
    const tl_data_file *f = a->file, *g = b->file;
    if (a->bucket != b->bucket || f->level != g->level || strcmp(f->name, g->name) != 0 ||
        TL_MAX(f->n_extra_files, 0) != TL_MAX(g->n_extra_files, 0) || !same_str(f->external_path, g->external_path) ||
        !same_index(&f->embedded_index, &g->embedded_index) ||
        !tl_bytes_equal(tl_bytes_view_of(a->partition), tl_bytes_view_of(b->partition)))
        return false;
    for (int32_t i = 0; i < f->n_extra_files; i++) {
        if (strcmp(f->extra_files[i], g->extra_files[i]) != 0)
            return false;
    }
    return true;
}

/* File names are nearly unique; equal ones of other levels and buckets are told apart by these two. */
static uint64_t hash_identity(const tl_manifest_entry *entry)
{
    uint64_t h = tl_xxh3(entry->file->name, strlen(entry->file->name));
    return (h ^ (uint32_t)entry->bucket ^ ((uint64_t)(uint32_t)entry->file->level << 32)) * UINT64_C(0x9E3779B97F4A7C15);
}

/* Open addressing over entry numbers + 1; 0 is free. */
typedef struct identity_table {
    size_t *slots;
    size_t mask;
} identity_table;

/* The slot of the entry's identity, or the free one where it belongs. */
static size_t *find_slot(const identity_table *table, const tl_entries *entries, const tl_manifest_entry *entry)
{
    for (size_t i = (size_t)(hash_identity(entry) >> 20) & table->mask;; i = (i + 1) & table->mask) {
        size_t *slot = &table->slots[i];
        if (*slot == 0 || same_identity(&entries->items[*slot - 1], entry))
            return slot;
    }
}

enum { KEEP = 0, DROP = 1 };

/* Marks what cancels out. A table holds the first entry of each identity; `fate` tells what became of it. */
static tl_status cancel_out(const tl_entries *entries, identity_table *table, uint8_t *fate, tl_error *err)
{
    for (size_t i = 0; i < entries->n; i++) {
        const tl_manifest_entry *entry = &entries->items[i];
        size_t *slot = find_slot(table, entries, entry);
        if (*slot == 0) {
            *slot = i + 1;
            continue;
        }
        size_t first = *slot - 1;
        if (entry->kind != entries->items[first].kind) {
            fate[first] = fate[i] = DROP;
        } else if (entry->kind == TL_ENTRY_DELETE || fate[first] == DROP) {
            fate[i] = DROP;
        } else {
            return tl_error_set(err, TL_E_CORRUPT, "file '%s' (bucket %d, level %d) is added twice", entry->file->name,
                                entry->bucket, entry->file->level);
        }
    }
    return TL_OK;
}

static void sweep(tl_entries *entries, const uint8_t *fate, bool drop_deletes)
{
    size_t kept = 0;
    for (size_t i = 0; i < entries->n; i++) {
        tl_manifest_entry *entry = &entries->items[i];
        if (fate[i] == DROP || (drop_deletes && entry->kind == TL_ENTRY_DELETE)) {
            tl_bytes_deinit(&entry->partition);
            tl_data_file_unref(entry->file);
        } else {
            entries->items[kept++] = *entry;
        }
    }
    entries->n = kept;
}

tl_status tl_entries_merge(tl_entries *entries, bool drop_deletes, tl_error *err)
{
    if (entries->n < 2 && !drop_deletes)
        return TL_OK;
    identity_table table = {.mask = (size_t)tl_next_pow2((uint64_t)entries->n * 2 + 1) - 1};
    table.slots = tl_calloc(table.mask + 1, sizeof *table.slots);
    uint8_t *fate = tl_calloc(entries->n + 1, 1);
    tl_status status = table.slots == NULL || fate == NULL ? tl_nomem(err, "manifest entries") : TL_OK;
    if (status == TL_OK)
        status = cancel_out(entries, &table, fate, err);
    if (status == TL_OK)
        sweep(entries, fate, drop_deletes);
    tl_free(table.slots);
    tl_free(fate);
    return status;
}
