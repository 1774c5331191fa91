/*
 * Compaction of tables with data evolution (Java: DataEvolutionCompactCoordinator, DataEvolutionCompactTask): files that hold columns
 * of the same rows become one again, and small ones of rows that follow each other, so that the new file has the ids of all of them
 * in one range. Side files (of BLOBs, of VECTORs) stay as they are; so that the reference can read them, rows that have none of a column are
 * not put into one file with rows that have (it would do so itself, and then finds gaps).
 *
 * What a data file holds of a column whose values are now in side files (the option 'vector.file.format' came later) would have no place in the
 * new file: such files stay as they are, too. (The reference leaves those values out, and so loses them.)
 */
#include "lsm/lsm_private.h"

typedef struct plan {
    tl_lsm__bucket *bucket;
    tl_file_list waiting; /* data files of groups that follow each other, not enough for a file yet */
    int64_t weight;
    bool *sides;      /* per column of the table: the group at hand has side files of it */
    bool *last_sides; /* the group before it, and all that wait */
    tl_commit_message *msg;
} plan;

/* ---- one task ---- */

/* Columns of the table that lie in data files, of rows that have side files of the columns `sides`. */
static int32_t plain_columns(const tl_lsm_config *config, const bool *sides, int32_t *out)
{
    int32_t n = 0;
    for (int32_t i = 0; i < tl_lsm__n_columns(config); i++) {
        if (!sides[i] && tl_lsm__place_of(config, i) == TL_LSM__IN_DATA_FILES)
            out[n++] = i;
    }
    return n;
}

/* Whether data files hold values that the new file would not. */
static tl_status would_lose(const plan *p, const tl_file_list *files, const bool *sides, bool *out, tl_error *err)
{
    tl_lsm_config *config = p->bucket->config;
    size_t n = (size_t)tl_lsm__n_columns(config);
    TL_CLEANUP(tl_freep) bool *held = tl_calloc(n + 1, sizeof *held);
    if (held == NULL)
        return tl_nomem(err, "compaction");
    for (size_t i = 0; i < files->n; i++)
        TL_TRY(tl_lsm__columns_held(config, files->items[i], held, err));
    *out = false;
    for (size_t c = 0; c < n; c++)
        *out |= held[c] && (sides[c] || tl_lsm__place_of(config, c) != TL_LSM__IN_DATA_FILES);
    return TL_OK;
}

static tl_status copy_rows(tl_lsm__bucket *bucket, const tl_file_list *files, const int32_t *columns, int32_t n, tl_lsm__writer *writer,
                           tl_error *err)
{
    TL_CLEANUP(tl_lsm__scan_unrefp) tl_lsm__scan *scan = NULL;
    TL_CLEANUP(tl_reader_freep) tl_reader *reader = NULL;
    TL_TRY(tl_lsm__scan_create(bucket, columns, n, /* pred= */ NULL, &scan, err));
    TL_TRY(tl_lsm__run_open(scan, files->items, files->n, TL_LSM__PUSH_NONE, &reader, err));
    for (;;) {
        TL_CLEANUP(tl_batch_freep) tl_batch *batch = NULL;
        TL_TRY(tl_reader_next(reader, &batch, err));
        if (batch == NULL)
            return TL_OK;
        TL_TRY(tl_lsm__writer_write(writer, batch, err));
    }
}

/* One file of all rows: `columns` are those of the batches and, in the order of the shape, of the file. */
static tl_status rewrite(tl_lsm__bucket *bucket, const tl_file_list *files, const bool *sides, tl_file_list *out, tl_error *err)
{
    tl_lsm_config *config = bucket->config;
    int32_t n_columns = tl_lsm__n_columns(config);
    TL_CLEANUP(tl_freep) int32_t *columns = tl_alloc((size_t)(n_columns + 1) * sizeof(*columns));
    TL_CLEANUP(tl_lsm__shape_freep) tl_lsm__shape *shape = NULL; /* outlives the writer */
    TL_CLEANUP(tl_lsm__writer_freep) tl_lsm__writer *writer = NULL;
    tl_lsm__names names = {0};
    if (columns == NULL)
        return tl_nomem(err, "compaction");
    int32_t n = plain_columns(config, sides, columns);
    TL_TRY(tl_lsm__shape_create(config, columns, n, TL_LSM__IN_DATA_FILES, /* named= */ n < n_columns, &shape, err));
    for (int32_t i = 0; i < n; i++)
        shape->columns[i] = i; /* batches have these columns alone */
    tl_lsm__writer_spec spec = {.bucket = bucket, .names = &names, .shape = shape, .target_bytes = INT64_MAX};
    TL_TRY(tl_lsm__writer_create(&spec, &writer, err));
    TL_TRY(copy_rows(bucket, files, columns, n, writer, err));
    return tl_lsm__writer_finish(writer, out, err);
}

/* The new file takes the place of the old ones: their ids, and their sequence numbers. */
static tl_status take_place(const tl_lsm__bucket *bucket, const tl_file_list *before, const tl_data_file *made, tl_file_list *after, tl_error *err)
{
    tl_data_file *file = NULL;
    int64_t end = INT64_MIN;
    TL_TRY(tl_data_file_dup(made, &file, err));
    file->first_row_id = before->items[0]->first_row_id;
    file->min_seq = INT64_MAX;
    file->max_seq = INT64_MIN;
    for (size_t i = 0; i < before->n; i++) {
        const tl_data_file *old = before->items[i];
        file->min_seq = TL_MIN(file->min_seq, old->min_seq);
        file->max_seq = TL_MAX(file->max_seq, old->max_seq);
        end = TL_MAX(end, old->first_row_id + old->rows);
    }
    tl_status status = file->rows == end - file->first_row_id
                           ? tl_file_list_add(after, file, err)
                           : tl_error_set(err, TL_E_CORRUPT, "bucket '%s': files of the rows with ids %lld to %lld hold %lld rows", bucket->dir,
                                          (long long)file->first_row_id, (long long)end - 1, (long long)file->rows);
    tl_data_file_unref(file);
    return status;
}

static tl_status run_task(const plan *p, const tl_file_list *files, const bool *sides, tl_error *err)
{
    tl_lsm__bucket *bucket = p->bucket;
    tl_file_list made = {0};
    bool loses = false;
    if (files->n == 0 || (int64_t)files->n < bucket->config->compaction_min_file_num)
        return TL_OK;
    TL_TRY(would_lose(p, files, sides, &loses, err));
    if (loses)
        return TL_OK;
    tl_status status = tl_error_wrap(err, rewrite(bucket, files, sides, &made, err), "compaction of bucket '%s'", bucket->dir);
    if (status == TL_OK && made.n == 1)
        status = take_place(bucket, files, made.items[0], &p->msg->compact_after, err);
    if (status == TL_OK)
        status = tl_lsm__list_add_all(&p->msg->compact_before, files, err);
    bool given = p->msg->compact_after.n > 0 && made.n == 1 &&
                 strcmp(p->msg->compact_after.items[p->msg->compact_after.n - 1]->name, made.items[0]->name) == 0;
    for (size_t i = 0; !given && i < made.n; i++)
        tl_lsm__bucket_remove(bucket, made.items[i]);
    tl_file_list_deinit(&made);
    return status;
}

/* ---- the plan ---- */

/* `sides`: those of the rows that wait. */
static tl_status flush_waiting(plan *p, const bool *sides, tl_error *err)
{
    tl_status status = run_task(p, &p->waiting, sides, err);
    tl_lsm__list_clear(&p->waiting);
    p->weight = 0;
    return status;
}

/* A group that is large enough by itself is put together apart from its neighbours. */
static tl_status add_group(plan *p, tl_data_file *const *files, size_t n, tl_error *err)
{
    const tl_lsm_config *config = p->bucket->config;
    int64_t weight = 0;
    tl_file_list group = {.items = (tl_data_file **)files, .n = n, .cap = n}; /* borrowed */
    for (size_t i = 0; i < n; i++)
        weight += TL_MAX(files[i]->bytes, config->split_open_file_cost);
    if (weight > config->target_file_bytes) {
        TL_TRY(run_task(p, &group, p->sides, err));
        return flush_waiting(p, p->sides, err);
    }
    TL_TRY(tl_lsm__list_add_all(&p->waiting, &group, err));
    p->weight += weight;
    return p->weight > config->target_file_bytes ? flush_waiting(p, p->sides, err) : TL_OK;
}

static tl_status note_sides(plan *p, tl_data_file *const *files, size_t n, tl_error *err)
{
    bool *swap = p->last_sides;
    p->last_sides = p->sides;
    p->sides = swap;
    memset(p->sides, 0, (size_t)tl_lsm__n_columns(p->bucket->config) * sizeof(*p->sides));
    for (size_t i = 0; i < n; i++)
        TL_TRY(tl_lsm__columns_held(p->bucket->config, files[i], p->sides, err));
    return TL_OK;
}

static bool has_other_sides(const plan *p)
{
    return memcmp(p->sides, p->last_sides, (size_t)tl_lsm__n_columns(p->bucket->config) * sizeof(*p->sides)) != 0;
}

static size_t count_data_files(tl_data_file *const *files, size_t n)
{
    size_t n_data = 0;
    while (n_data < n && !tl_data_file_is_side(files[n_data]))
        n_data++;
    return n_data;
}

static tl_status plan_groups(plan *p, tl_data_file *const *sorted, const tl_row_groups *groups, tl_error *err)
{
    int64_t end = INT64_MIN;
    for (size_t g = 0, from = 0; g < groups->n; from = groups->ends[g++]) {
        size_t n = groups->ends[g] - from, n_data = count_data_files(sorted + from, n);
        if (n_data == 0)
            continue;
        TL_TRY(note_sides(p, sorted + from + n_data, n - n_data, err));
        if (sorted[from]->first_row_id != end || has_other_sides(p)) /* rows between are not there: one range would cover them */
            TL_TRY(flush_waiting(p, p->last_sides, err));
        end = sorted[from]->first_row_id + sorted[from]->rows;
        TL_TRY(add_group(p, sorted + from, n_data, err));
    }
    return flush_waiting(p, p->sides, err);
}

tl_status tl_lsm__evolution_compact(tl_lsm__bucket *bucket, tl_data_file *const *files, size_t n, tl_commit_message *msg, tl_error *err)
{
    size_t n_columns = (size_t)tl_lsm__n_columns(bucket->config);
    TL_CLEANUP(tl_freep) tl_data_file **sorted = tl_alloc((n + 1) * sizeof(*sorted));
    TL_CLEANUP(tl_freep) bool *sides = tl_calloc(2 * n_columns, sizeof(*sides));
    tl_row_groups groups = {0};
    if (sorted == NULL || sides == NULL)
        return tl_nomem(err, "compaction");
    plan p = {.bucket = bucket, .sides = sides, .last_sides = sides + n_columns, .msg = msg};
    TL_TRY(tl_row_groups_create(files, n, &groups, err));
    for (size_t i = 0; i < n; i++)
        sorted[i] = files[groups.order[i]];
    tl_status status = plan_groups(&p, sorted, &groups, err);
    tl_file_list_deinit(&p.waiting);
    tl_row_groups_deinit(&groups);
    return status;
}
