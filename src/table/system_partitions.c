/*
 * System tables of sums over the files of a snapshot: $partitions, $buckets, and what `sys.partitions` tells of a table. Source: format
 * reference §19; Java: PartitionsTable, BucketsTable, PartitionEntry.
 *
 * Sums go over all entries as manifests have them, deleted ones taken off: a partition's newest time is also that of files that are gone.
 */
#include "table/format_table.h"
#include "table/system_private.h"

#include <stdlib.h>

/** Of one partition, or one bucket of it. */
typedef struct sum {
    tl_bytes partition; /* borrowed of the entries */
    int32_t bucket;
    int64_t rows, bytes, files;
    int64_t last_ms; /* newest creation time, local; TL_ABSENT: unknown */
} sum;

typedef struct sums {
    tl_entries entries;
    sum *items; /* by partition (bytes) and bucket */
    size_t n;
} sums;

static void sums_deinit(sums *s)
{
    tl_free(s->items);
    tl_entries_deinit(&s->entries);
}

/* Files of a format table: how many rows they have, and when they were made, nobody wrote down. */
static tl_status folder_entries(tl_table *table, tl_entries *entries, tl_error *err)
{
    tl_splits splits = {0};
    tl_status status = tl_format_table__files(table, /* pred= */ NULL, &splits, err);
    for (size_t i = 0; status == TL_OK && i < splits.n; i++)
        status = tl_entries_add(entries, TL_ENTRY_ADD, tl_bytes_view_of(splits.items[i].partition), 0, -1, splits.items[i].files.items[0], err);
    tl_splits_deinit(&splits);
    return status == TL_OK ? tl_entries_sort_buckets(entries, err) : status;
}

static tl_status read_entries(tl_table *table, tl_entries *entries, tl_error *err)
{
    if (table->folder != NULL)
        return folder_entries(table, entries, err);
    TL_CLEANUP(tl_snapshot_freep) tl_snapshot *snap = NULL;
    TL_TRY(tl_system__read_snapshot(table, &snap, err));
    if (snap == NULL)
        return TL_OK;
    tl_manifest_list list = {0};
    tl_status status = tl_table__manifests(table, snap, TL_SCAN_ALL, &list, err);
    for (size_t i = 0; status == TL_OK && i < list.n; i++)
        status = tl_manifest_read(table->fs, &table->paths, list.items[i].name, list.items[i].bytes, NULL, NULL, entries, err);
    tl_manifest_list_deinit(&list);
    return status == TL_OK ? tl_entries_sort_buckets(entries, err) : status;
}

/* Partitions of postponed tables are those that can be read: files that wait for a bucket do not count. Buckets show these, too. */
static tl_status add_up(tl_table *table, bool by_bucket, sums *out, tl_error *err)
{
    TL_TRY(read_entries(table, &out->entries, err));
    bool real_only = !by_bucket && table->bucket_mode == TL_BUCKETS_POSTPONE;
    out->items = tl_calloc(out->entries.n + 1, sizeof *out->items);
    if (out->items == NULL)
        return tl_nomem(err, "system table");
    for (size_t i = 0; i < out->entries.n; i++) {
        const tl_manifest_entry *e = &out->entries.items[i];
        sum *s = out->n == 0 ? NULL : &out->items[out->n - 1];
        if (real_only && e->bucket < 0)
            continue;
        if (s == NULL || !tl_bytes_equal(tl_bytes_view_of(s->partition), tl_bytes_view_of(e->partition)) || (by_bucket && s->bucket != e->bucket)) {
            s = &out->items[out->n++];
            *s = (sum){.partition = e->partition, .bucket = e->bucket, .last_ms = TL_ABSENT};
        }
        int64_t sign = e->kind == TL_ENTRY_ADD ? 1 : -1;
        s->rows += sign * e->file->rows;
        s->bytes += sign * e->file->bytes;
        s->files += sign;
        s->last_ms = TL_MAX(s->last_ms, e->file->creation_time_ms);
    }
    return TL_OK;
}

/* ---- buckets ---- */

static tl_status bucket_row(tl_table *table, const sum *s, tl_builder *const *c, tl_error *err)
{
    TL_TRY(tl_system__add_row(c[0], table->partition_type, s->partition, err));
    const int64_t numbers[4] = {s->bucket, s->rows, s->bytes, s->files};
    for (int i = 0; i < 4; i++)
        TL_TRY(tl_system__built(tl_builder_int(c[1 + i], numbers[i]), err));
    return tl_system__built(tl_system__time(c[5], s->last_ms), err);
}

tl_status tl_system__buckets(tl_table *table, tl_builder *const *cols, tl_error *err)
{
    sums s = {0};
    tl_status status = add_up(table, /* by_bucket= */ true, &s, err);
    for (size_t i = 0; status == TL_OK && i < s.n; i++) {
        if (s.items[i].files > 0)
            status = bucket_row(table, &s.items[i], cols, err);
    }
    sums_deinit(&s);
    return status;
}

/* ---- partitions ---- */

static bool is_blank(const tl_column *col)
{
    if (col->phys != TL_PHYS_BYTES || (col->type->kind != TL_CHAR && col->type->kind != TL_VARCHAR))
        return false;
    tl_bytes_view text = tl_col_bytes(col, 0);
    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] > ' ')
            return false;
    }
    return true;
}

/* "a=1/b=x" with values cast to strings; null and blank values under the default name. */
static tl_status cast_name(const tl_table *table, const tl_batch *row, const char *default_name, char **out, tl_error *err)
{
    tl_buf text = {0};
    tl_status status = TL_OK;
    for (int32_t i = 0; status == TL_OK && i < row->n_cols; i++) {
        status = tl_buf_appendf(&text, "%s%s=", i > 0 ? "/" : "", table->partition_type->fields[i].name);
        if (status != TL_OK)
            break;
        bool missing = tl_col_is_null(row->cols[i], 0) || is_blank(row->cols[i]);
        status = missing ? tl_buf_append_str(&text, default_name) : tl_text_append_cast(&text, row->cols[i], 0);
    }
    if (status == TL_OK)
        status = tl_buf_steal_str(&text, out);
    tl_buf_deinit(&text);
    return tl_system__built(status, err);
}

/* "a=1/b=x" with the values that folders are named by, but not escaped. */
static tl_status folder_name(const tl_table *table, const tl_batch *row, const char *default_name, char **out, tl_error *err)
{
    TL_CLEANUP(tl_freep) char *folder = NULL;
    TL_TRY(tl_partition_path(row, default_name, tl_table__option_bool(&table->schema->options, "partition.legacy-name"), &folder, err));
    tl_buf text = {0};
    tl_status status = tl_path_unescape((tl_bytes_view){(const uint8_t *)folder, strlen(folder)}, &text);
    if (status == TL_OK)
        status = tl_buf_steal_str(&text, out);
    tl_buf_deinit(&text);
    return tl_system__built(status, err);
}

static tl_status add_partition(tl_table *table, const sum *s, bool folders, tl_partition_sums *out, tl_error *err)
{
    TL_CLEANUP(tl_batch_freep) tl_batch *row = NULL;
    const char *default_name = tl_table__option_or_default(&table->schema->options, "partition.default-name");
    tl_partition_sum *grown = tl_realloc(out->items, (out->n + 1) * sizeof *grown);
    if (grown == NULL)
        return tl_nomem(err, "partitions");
    out->items = grown;
    tl_partition_sum *p = &grown[out->n];
    *p = (tl_partition_sum){.rows = table->folder == NULL ? s->rows : -1, .bytes = s->bytes, .files = s->files, .last_ms = s->last_ms, .rank = out->rank};
    TL_TRY(tl_binary_row_decode(tl_bytes_view_of(s->partition), table->partition_type, true, &row, err));
    TL_TRY(folders ? folder_name(table, row, default_name, &p->name, err) : cast_name(table, row, default_name, &p->name, err));
    out->n++;
    return TL_OK;
}

static tl_status add_partitions(tl_table *table, bool folders, tl_partition_sums *out, tl_error *err)
{
    sums s = {0};
    tl_status status = add_up(table, /* by_bucket= */ false, &s, err);
    for (size_t i = 0; status == TL_OK && i < s.n; i++) {
        if (s.items[i].files > 0)
            status = add_partition(table, &s.items[i], folders, out, err);
    }
    sums_deinit(&s);
    return status;
}

static int by_name(const void *a, const void *b)
{
    const tl_partition_sum *x = a, *y = b;
    int order = strcmp(x->name, y->name);
    return order != 0 ? order : x->rank - y->rank;
}

void tl_partition_sums_deinit(tl_partition_sums *s)
{
    for (size_t i = 0; i < s->n; i++)
        tl_free(s->items[i].name);
    tl_free(s->items);
}

tl_status tl_system__partition_sums(tl_table *table, bool folders, tl_partition_sums *out, tl_error *err)
{
    bool swapped = table->other != NULL && table->other_is_first;
    tl_table *const in_order[] = {swapped ? table->other : table, table->anchors, swapped ? table : table->other};
    for (size_t i = 0; i < TL_ARRAY_LEN(in_order); i++) {
        out->rank = (int)i;
        if (in_order[i] != NULL)
            TL_TRY(add_partitions(in_order[i], folders, out, err));
    }
    if (out->n == 0)
        return TL_OK;
    qsort(out->items, out->n, sizeof *out->items, by_name);
    size_t kept = 1;
    for (size_t i = 1; i < out->n; i++) { /* a partition that a branch before has is read from it alone */
        bool again = out->items[i].rank > out->items[kept - 1].rank && strcmp(out->items[i].name, out->items[kept - 1].name) == 0;
        if (again)
            tl_free(out->items[i].name);
        else
            out->items[kept++] = out->items[i];
    }
    out->n = kept;
    return TL_OK;
}

/*
 * The reference lists partitions by their folders' names and reads the values back from them, which it cannot for times in the
 * legacy form. The same rows are refused here, so that no two engines show the table differently.
 */
static tl_status check_names_readable(const tl_table *table, tl_error *err)
{
    if (!tl_table__option_bool(&table->schema->options, "partition.legacy-name"))
        return TL_OK;
    for (int32_t i = 0; i < table->n_partition; i++) {
        const tl_field *f = &table->partition_type->fields[i];
        if (f->type->kind == TL_TIMESTAMP || f->type->kind == TL_TIMESTAMP_LTZ)
            return tl_error_set(err, TL_E_UNSUPPORTED,
                                "partition column '%s' is a timestamp, which cannot be read back from a folder's name in the legacy form "
                                "(partition.legacy-name); see $files or $buckets",
                                f->name);
    }
    return TL_OK;
}

static tl_status partition_row(const tl_partition_sum *p, tl_builder *const *c)
{
    TL_TRY(tl_system__str(c[0], p->name));
    TL_TRY(tl_builder_int(c[1], p->rows));
    TL_TRY(tl_builder_int(c[2], p->bytes));
    TL_TRY(tl_builder_int(c[3], p->files));
    TL_TRY(tl_system__time(c[4], p->last_ms));
    for (int i = 5; i < 9; i++) /* who made a partition, and when: known to catalogs that keep partitions themselves */
        TL_TRY(tl_builder_null(c[i]));
    return TL_OK;
}

tl_status tl_system__partitions(tl_table *table, tl_builder *const *cols, tl_error *err)
{
    tl_partition_sums s = {0};
    TL_TRY(check_names_readable(table, err));
    tl_status status = tl_system__partition_sums(table, /* folders= */ false, &s, err);
    for (size_t i = 0; status == TL_OK && i < s.n; i++)
        status = tl_system__built(partition_row(&s.items[i], cols), err);
    tl_partition_sums_deinit(&s);
    return status;
}
