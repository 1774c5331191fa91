/*
 * Files of tables with data evolution, by the rows that they hold values of (format reference §11; Java:
 * DataEvolutionSplitRead#mergeRangesAndSort, RangeHelper).
 *
 * The data files of a group have one range of row ids and hold different columns of these rows, or newer values of them; side files
 * (of a BLOB column, or of VECTOR columns) hold theirs of a part of the rows.
 */
#include "lsm/lsm_private.h"

#include <stdlib.h>

typedef struct placed {
    const tl_data_file *file;
    size_t index; /* in the caller's list: the order of files that nothing else puts in order */
    size_t group;
    bool is_side;
} placed;

static int compare_long(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int by_range(const void *a, const void *b)
{
    const placed *x = a, *y = b;
    int c = compare_long(x->file->first_row_id, y->file->first_row_id);
    c = c != 0 ? c : compare_long(x->file->rows, y->file->rows);
    return c != 0 ? c : compare_long((int64_t)x->index, (int64_t)y->index);
}

/* Data files with the newest first, then side files by row, again the newest first. */
static int by_place(const void *a, const void *b)
{
    const placed *x = a, *y = b;
    int c = compare_long((int64_t)x->group, (int64_t)y->group);
    c = c != 0 ? c : x->is_side - y->is_side;
    if (c == 0 && x->is_side)
        c = compare_long(x->file->first_row_id, y->file->first_row_id);
    c = c != 0 ? c : compare_long(y->file->max_seq, x->file->max_seq);
    return c != 0 ? c : compare_long((int64_t)x->index, (int64_t)y->index);
}

static tl_status place(const tl_data_file *file, size_t i, placed *out, tl_error *err)
{
    if (file->first_row_id == TL_ABSENT)
        return tl_error_set(err, TL_E_CORRUPT, "data file '%s' of a table with data evolution has no _FIRST_ROW_ID", file->name);
    if (file->first_row_id < 0 || file->rows < 0 || file->first_row_id > INT64_MAX - file->rows)
        return tl_error_set(err, TL_E_CORRUPT, "data file '%s': _FIRST_ROW_ID %lld with %lld rows", file->name, (long long)file->first_row_id,
                            (long long)file->rows);
    *out = (placed){.file = file, .index = i, .is_side = tl_data_file_is_side(file)};
    return TL_OK;
}

/* Files that touch each other's rows are in one group. (Only an empty file has none: it is one by itself.) */
static size_t number_groups(placed *files, size_t n)
{
    size_t group = 0;
    int64_t end = INT64_MIN;
    for (size_t i = 0; i < n; i++) {
        const tl_data_file *file = files[i].file;
        group += i > 0 && file->first_row_id >= end;
        end = TL_MAX(i > 0 && files[i - 1].group == group ? end : INT64_MIN, file->first_row_id + file->rows);
        files[i].group = group;
    }
    return n == 0 ? 0 : group + 1;
}

static tl_status check_ranges(const placed *files, size_t n, tl_error *err)
{
    for (size_t i = 1; i < n && !files[i].is_side; i++) {
        const tl_data_file *a = files[i - 1].file, *b = files[i].file;
        if (files[i - 1].group == files[i].group && (a->first_row_id != b->first_row_id || a->rows != b->rows))
            return tl_error_set(err, TL_E_CORRUPT, "data files '%s' (row ids %lld to %lld) and '%s' (%lld to %lld) overlap, and are not of the same rows",
                                a->name, (long long)a->first_row_id, (long long)(a->first_row_id + a->rows - 1), b->name,
                                (long long)b->first_row_id, (long long)(b->first_row_id + b->rows - 1));
    }
    return TL_OK;
}

tl_status tl_row_groups_create(tl_data_file *const *files, size_t n, tl_row_groups *out, tl_error *err)
{
    TL_CLEANUP(tl_freep) placed *list = tl_alloc((n + 1) * sizeof *list);
    if (list == NULL)
        return tl_nomem(err, "row ids");
    for (size_t i = 0; i < n; i++)
        TL_TRY(place(files[i], i, &list[i], err));
    qsort(list, n, sizeof *list, by_range);
    size_t n_groups = number_groups(list, n);
    qsort(list, n, sizeof *list, by_place);
    size_t *order = tl_alloc((n + n_groups + 1) * sizeof *order);
    if (order == NULL)
        return tl_nomem(err, "row ids");
    tl_row_groups groups = {.n = n_groups, .order = order, .ends = order + n};
    tl_status status = TL_OK;
    for (size_t i = 0, g = 0; i < n && status == TL_OK; i++) {
        order[i] = list[i].index;
        if (i + 1 < n && list[i + 1].group == list[i].group)
            continue;
        size_t from = g == 0 ? 0 : groups.ends[g - 1];
        groups.ends[g++] = i + 1;
        status = check_ranges(list + from, i + 1 - from, err);
    }
    if (status != TL_OK)
        tl_row_groups_deinit(&groups);
    else
        *out = groups;
    return status;
}

void tl_row_groups_deinit(tl_row_groups *groups)
{
    tl_free(groups->order);
    *groups = (tl_row_groups){0};
}
