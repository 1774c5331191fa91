/* Checking index files: sizes and counts, deletion vectors that can be read and belong to rows of files that are there. */
#include "table/fsck_private.h"

static tl_status check_vector(tl_fsck__check *c, const tl_dv_range *range, tl_dv_set *set, const tl_data_file *file, tl_error *err)
{
    TL_CLEANUP(tl_dv_unrefp) tl_dv *dv = NULL;
    tl_error cause = {0};
    tl_status status = tl_dv_set_get(set, range->data_file, &dv, &cause);
    if (status != TL_OK)
        return tl_fsck__failed(c, status, &cause, range->data_file, err);
    if (range->cardinality != TL_ABSENT && range->cardinality != tl_dv_count(dv))
        TL_TRY(tl_fsck__problem(c, err, "%s: its deletion vector has %lld rows, metadata says %lld", range->data_file,
                                (long long)tl_dv_count(dv), (long long)range->cardinality));
    if (file == NULL)
        return tl_fsck__problem(c, err, "%s: has a deletion vector but is no live file", range->data_file);
    if (tl_dv_last(dv) >= file->rows)
        return tl_fsck__problem(c, err, "%s: its deletion vector has row %lld, the file %lld rows", range->data_file, (long long)tl_dv_last(dv),
                                (long long)file->rows);
    return TL_OK;
}

static tl_status check_vectors(tl_fsck__check *c, const tl_index_entry *e, const char *path, const tl_map *live, tl_error *err)
{
    TL_CLEANUP(tl_dv_set_unrefp) tl_dv_set *set = NULL;
    const tl_index_file *file = e->file;
    if (TL_MAX(file->n_ranges, 0) != file->rows)
        TL_TRY(tl_fsck__problem(c, err, "%s: %d vectors, metadata says %lld", file->name, TL_MAX(file->n_ranges, 0), (long long)file->rows));
    TL_TRY(tl_dv_set_create(c->table->fs, &set, err));
    for (int32_t i = 0; i < file->n_ranges; i++) {
        const tl_dv_range *r = &file->ranges[i];
        tl_dv_place place = {path, r->offset, r->bytes, r->cardinality};
        TL_TRY(tl_dv_set_add(set, r->data_file, &place, err));
        TL_TRY(check_vector(c, r, set, tl_map_get(live, r->data_file, strlen(r->data_file)), err));
    }
    return TL_OK;
}

static tl_status check_index(tl_fsck__check *c, const tl_index_entry *e, const tl_map *live, tl_error *err)
{
    bool first = false;
    TL_TRY(tl_fsck__first_time(c, "i", e->file->name, &first, err));
    if (!first)
        return TL_OK;
    c->report->index_files++;
    TL_CLEANUP(tl_freep) char *path =
        tl_indexes__path(c->table, tl_bytes_view_of(e->partition), e->bucket, e->file->name, e->file->external_path);
    if (path == NULL)
        return tl_nomem(err, "path");
    TL_TRY(tl_fsck__check_size(c, path, e->file->name, e->file->bytes, err));
    if (strcmp(e->file->type, TL_INDEX_DELETION_VECTORS) == 0)
        return check_vectors(c, e, path, live, err);
    if (strcmp(e->file->type, TL_INDEX_HASH) == 0 && e->file->bytes != e->file->rows * 4)
        return tl_fsck__problem(c, err, "%s: %lld hashes in %lld bytes", e->file->name, (long long)e->file->rows, (long long)e->file->bytes);
    return TL_OK;
}

tl_status tl_fsck__check_indexes(tl_fsck__check *c, const tl_snapshot *snap, const tl_entries *live, tl_error *err)
{
    tl_index_entries indexes = {0};
    tl_error cause = {0};
    tl_map files = {0};
    tl_status status = tl_indexes__read(c->table, snap, &indexes, &cause);
    if (status != TL_OK)
        return tl_fsck__failed(c, status, &cause, snap->index_manifest, err);
    for (size_t i = 0; i < live->n && status == TL_OK && indexes.n > 0; i++) {
        const char *name = live->items[i].file->name;
        if (tl_map_put(&files, name, strlen(name), live->items[i].file, NULL) != TL_OK)
            status = tl_nomem(err, "files");
    }
    for (size_t i = 0; i < indexes.n && status == TL_OK; i++)
        status = check_index(c, &indexes.items[i], &files, err);
    if (status == TL_OK && snap->id == c->report->latest_snapshot) /* writers look at no other */
        status = tl_fsck__check_hashes(c, &indexes, live, err);
    tl_map_deinit(&files);
    tl_index_entries_deinit(&indexes);
    return status;
}
