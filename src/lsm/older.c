/*
 * Before-images: records of given keys on the levels below a compaction's output (Java: LookupLevels).
 *
 * The reference copies each data file into a local key-value store and looks every key up there. A compaction asks in key
 * order, so here it is a merge join of the keys with the files' rows. Two ways, by how many keys are asked for:
 * - many: each file is read through once, from its first wanted key on, the cursor staying where the last call ended;
 * - few: for each call the file is opened with the keys as a predicate, so that only pages that can hold one of them are
 *   decoded, and of these only the key columns unless a key is there.
 * A key is asked for on one level after the other until it is found.
 */
#include "lsm/lsm_private.h"

/* Reading through costs about as much per row as looking up costs per key times this (measured, bench/lsm). */
#define FEW_KEYS_FACTOR 16

typedef struct older_level {
    tl_file_list files; /* one level, in key order */
    tl_keys *file_keys;
    bool few;
    size_t next_file;
    /* reading through: the open file */
    tl_reader *reader;
    tl_batch *batch;
    tl_keys *keys;
    int64_t pos;
} older_level;

typedef struct found_rows {
    tl_batch *batch;
    const tl_data_file *file; /* borrowed from the level */
    int64_t *numbers;         /* of the rows in the file; NULL: not wanted */
} found_rows;

struct tl_lsm__older {
    tl_lsm__scan *scan;
    older_level *levels; /* ascending */
    size_t n_levels;
    found_rows *found; /* in this call */
    uint32_t n_found;
    uint32_t found_cap;
    const tl_batch **batches; /* those of `found` */
};

/* ---- create, free ---- */

static void close_file(older_level *level)
{
    tl_reader_free(level->reader);
    tl_batch_free(level->batch);
    tl_keys_free(level->keys);
    level->reader = NULL;
    level->batch = NULL;
    level->keys = NULL;
    level->pos = 0;
}

static void forget_found(tl_lsm__older *older)
{
    for (uint32_t i = 0; i < older->n_found; i++) {
        tl_batch_free(older->found[i].batch);
        tl_free(older->found[i].numbers);
    }
    older->n_found = 0;
}

void tl_lsm__older_free(tl_lsm__older *older)
{
    if (older == NULL)
        return;
    for (size_t i = 0; i < older->n_levels; i++) {
        close_file(&older->levels[i]);
        tl_keys_free(older->levels[i].file_keys);
        tl_file_list_deinit(&older->levels[i].files);
    }
    tl_free(older->levels);
    forget_found(older);
    tl_free(older->found);
    tl_free(older->batches);
    tl_lsm__scan_unref(older->scan);
    tl_free(older);
}

static older_level *level_of(tl_lsm__older *older, int32_t level)
{
    for (size_t i = 0; i < older->n_levels; i++) {
        if (older->levels[i].files.items[0]->level == level)
            return &older->levels[i];
    }
    return NULL;
}

static tl_status group_by_level(tl_lsm__older *older, const tl_file_list *files, tl_error *err)
{
    older->levels = tl_calloc(files->n + 1, sizeof(*older->levels));
    if (older->levels == NULL)
        return tl_nomem(err, "lookup");
    for (size_t i = 0; i < files->n; i++) {
        older_level *level = level_of(older, files->items[i]->level);
        if (level != NULL) {
            TL_TRY(tl_file_list_add(&level->files, files->items[i], err));
            continue;
        }
        size_t at = older->n_levels;
        while (at > 0 && older->levels[at - 1].files.items[0]->level > files->items[i]->level)
            at--;
        older_level fresh = {0};
        TL_TRY(tl_file_list_add(&fresh.files, files->items[i], err));
        memmove(&older->levels[at + 1], &older->levels[at], (older->n_levels - at) * sizeof(fresh));
        older->levels[at] = fresh;
        older->n_levels++;
    }
    return TL_OK;
}

static tl_status create(tl_lsm__older *older, tl_lsm__bucket *bucket, const tl_file_list *files, int64_t key_count,
                        bool keys_only, tl_error *err)
{
    const tl_lsm_config *config = bucket->config;
    int32_t n_columns = keys_only ? config->n_keys : tl_lsm__n_columns(config);
    TL_CLEANUP(tl_freep) int32_t *columns = tl_alloc((size_t)(n_columns + 1) * sizeof(*columns));
    if (columns == NULL)
        return tl_nomem(err, "lookup");
    for (int32_t i = 0; i < n_columns; i++)
        columns[i] = keys_only ? config->key_idx[i] : i;
    TL_TRY(tl_lsm__scan_create(bucket, columns, n_columns, /* pred= */ NULL, &older->scan, err));
    older->scan->with_kind = older->scan->with_seq = !keys_only;
    older->scan->with_numbers = bucket->vectors != NULL;
    TL_TRY(group_by_level(older, files, err));
    for (size_t i = 0; i < older->n_levels; i++) {
        older_level *level = &older->levels[i];
        int64_t rows = 0;
        TL_TRY(tl_lsm__sort_run(bucket->config, &level->files, err));
        TL_TRY(tl_lsm__file_keys(bucket->config, level->files.items, level->files.n, &level->file_keys, err));
        for (size_t f = 0; f < level->files.n; f++)
            rows += level->files.items[f]->rows;
        level->few = key_count < rows / FEW_KEYS_FACTOR;
    }
    return TL_OK;
}

tl_status tl_lsm__older_create(tl_lsm__bucket *bucket, const tl_file_list *files, int64_t key_count, bool keys_only,
                               tl_lsm__older **out, tl_error *err)
{
    tl_lsm__older *older = tl_calloc(1, sizeof *older);
    if (older == NULL)
        return tl_nomem(err, "lookup");
    tl_status status = create(older, bucket, files, key_count, keys_only, err);
    if (status != TL_OK) {
        tl_lsm__older_free(older);
        return status;
    }
    *out = older;
    return TL_OK;
}

const tl_batch *const *tl_lsm__older_batches(const tl_lsm__older *older, uint32_t *n)
{
    *n = older->n_found;
    return older->batches;
}

tl_status tl_lsm__older_delete_found(const tl_lsm__older *older, tl_lsm__deletions *deletions, tl_error *err)
{
    for (uint32_t i = 0; i < older->n_found; i++) {
        const found_rows *f = &older->found[i];
        TL_TRY(tl_lsm__deletions_add(deletions, f->file, f->numbers, (size_t)f->batch->n_rows, err));
    }
    return TL_OK;
}

/* ---- one call ---- */

/* The keys of one call, and which of them are still looked for on this level. */
typedef struct request {
    const tl_column *const *key_cols;
    tl_keys *keys;
    uint32_t *todo; /* rows of `keys`, ascending */
    int64_t n_todo;
    tl_rowref *refs; /* results, per row of `keys` */
    /* matches in the batch at hand */
    uint32_t *match_rows;
    uint32_t *match_keys;
    int64_t n_matches;
} request;

static tl_status grow_found(tl_lsm__older *older, tl_error *err)
{
    if (older->n_found < older->found_cap)
        return TL_OK;
    uint32_t cap = older->found_cap == 0 ? 16 : older->found_cap * 2;
    found_rows *found = tl_realloc(older->found, cap * sizeof(*found));
    if (found == NULL)
        return tl_nomem(err, "lookup");
    older->found = found;
    const tl_batch **batches = tl_realloc(older->batches, cap * sizeof(*batches));
    if (batches == NULL)
        return tl_nomem(err, "lookup");
    older->batches = batches;
    older->found_cap = cap;
    return TL_OK;
}

/* Keep the matched rows of a batch as one of the found batches; `numbers` are those of all its rows. */
static tl_status take_matches(tl_lsm__older *older, request *req, const tl_batch *batch, const tl_data_file *file,
                              const int64_t *numbers, tl_error *err)
{
    if (req->n_matches == 0)
        return TL_OK;
    TL_TRY(grow_found(older, err));
    found_rows found = {.file = file};
    TL_TRY(tl_batch_gather(batch, req->match_rows, req->n_matches, &found.batch, err));
    found.batch->level = batch->level;
    if (numbers != NULL && (found.numbers = tl_alloc((size_t)req->n_matches * sizeof(*found.numbers))) == NULL) {
        tl_batch_free(found.batch);
        return tl_nomem(err, "lookup");
    }
    for (int64_t i = 0; i < req->n_matches; i++) {
        req->refs[req->match_keys[i]] = (tl_rowref){older->n_found, (uint32_t)i};
        if (numbers != NULL)
            found.numbers[i] = numbers[req->match_rows[i]];
    }
    older->batches[older->n_found] = found.batch;
    older->found[older->n_found++] = found;
    req->n_matches = 0;
    return TL_OK;
}

/* First row from `pos` on whose key is not below key `k` of the request: galloping, as hits lie near or far. */
static int64_t seek(const tl_keys *keys, int64_t pos, const tl_keys *wanted, int64_t k)
{
    int64_t step = 1, lo = pos, hi = pos;
    while (hi < keys->count && tl_keys_compare(keys, hi, wanted, k) < 0) {
        lo = hi + 1;
        hi += step;
        step *= 2;
    }
    hi = TL_MIN(hi, keys->count);
    while (lo < hi) {
        int64_t mid = lo + (hi - lo) / 2;
        if (tl_keys_compare(keys, mid, wanted, k) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* Join todo[i…end) with the rows of a batch from *pos on; returns the first entry that may match in a later batch. */
static int64_t join_batch(request *req, const tl_keys *keys, int64_t *pos, int64_t i, int64_t end)
{
    for (; i < end; i++) {
        *pos = seek(keys, *pos, req->keys, req->todo[i]);
        if (*pos == keys->count)
            break;
        if (tl_keys_compare(keys, *pos, req->keys, req->todo[i]) == 0) {
            req->match_rows[req->n_matches] = (uint32_t)*pos;
            req->match_keys[req->n_matches++] = req->todo[i];
        }
    }
    return i;
}

static tl_status batch_keys(const tl_lsm__older *older, const tl_batch *batch, tl_keys **out, tl_error *err)
{
    int32_t n_keys = older->scan->bucket->config->n_keys;
    TL_CLEANUP(tl_freep) const tl_column **cols = tl_alloc((size_t)(n_keys + 1) * sizeof(*cols));
    if (cols == NULL)
        return tl_nomem(err, "lookup");
    for (int32_t k = 0; k < n_keys; k++)
        cols[k] = batch->cols[older->scan->key_idx[k]];
    return tl_keys_create(cols, n_keys, batch->n_rows, out, err);
}

/* ---- predicates ---- */

/* Predicates compare floats otherwise than keys do. */
static bool can_push(const tl_column *col)
{
    return col->phys != TL_PHYS_F32 && col->phys != TL_PHYS_F64;
}

static tl_status key_leaf(const tl_lsm__older *older, const request *req, int32_t k, tl_pred_op op, int64_t from, int64_t to,
                          tl_predicate **out, tl_error *err)
{
    tl_column *literals = NULL;
    TL_TRY(tl_column_gather(req->key_cols[k], req->todo + from, to - from, &literals, err));
    return tl_predicate_leaf(op, older->scan->key_idx[k], literals, out, err);
}

/* Every key column is in the list of its wanted values: not exact for keys of several columns, the join decides. */
static tl_status few_predicate(const tl_lsm__older *older, const request *req, int64_t from, int64_t to, tl_predicate **out,
                               tl_error *err)
{
    tl_predicate *pred = NULL;
    tl_status status = TL_OK;
    for (int32_t k = 0; k < older->scan->bucket->config->n_keys && status == TL_OK; k++) {
        tl_predicate *leaf = NULL;
        if (!can_push(req->key_cols[k]))
            continue;
        status = key_leaf(older, req, k, TL_PRED_IN, from, to, &leaf, err);
        if (status == TL_OK) {
            tl_predicate *both = NULL;
            status = tl_predicate_combine(TL_PRED_AND, pred, leaf, &both, err);
            pred = both;
        }
    }
    if (status != TL_OK) {
        tl_predicate_free(pred);
        return status;
    }
    *out = pred;
    return TL_OK;
}

/* ---- the two ways ---- */

static tl_status find_few(tl_lsm__older *older, request *req, const tl_data_file *file, int64_t from, int64_t to, tl_error *err)
{
    tl_predicate *pred = NULL;
    tl_reader *reader = NULL;
    tl_status status = few_predicate(older, req, from, to, &pred, err);
    if (status == TL_OK)
        status = tl_lsm__file_open(older->scan, file, pred, &reader, err);
    tl_predicate_free(pred);
    for (int64_t i = from; status == TL_OK && i < to;) {
        TL_CLEANUP(tl_batch_freep) tl_batch *batch = NULL;
        TL_CLEANUP(tl_keys_freep) tl_keys *keys = NULL;
        int64_t pos = 0;
        status = tl_reader_next(reader, &batch, err);
        if (status != TL_OK || batch == NULL)
            break;
        status = batch_keys(older, batch, &keys, err);
        if (status == TL_OK) {
            i = join_batch(req, keys, &pos, i, to);
            status = take_matches(older, req, batch, file, tl_lsm__file_row_numbers(reader), err);
        }
    }
    tl_reader_free(reader);
    return status;
}

static tl_status open_through(tl_lsm__older *older, older_level *level, const request *req, int64_t from, tl_error *err)
{
    tl_predicate *pred = NULL;
    if (can_push(req->key_cols[0]))
        TL_TRY(key_leaf(older, req, 0, TL_PRED_GE, from, from + 1, &pred, err));
    tl_status status = tl_lsm__file_open(older->scan, level->files.items[level->next_file], pred, &level->reader, err);
    tl_predicate_free(pred);
    return status;
}

/* Next batch of the open file; *end when there is none. */
static tl_status next_through(tl_lsm__older *older, older_level *level, bool *end, tl_error *err)
{
    tl_batch_free(level->batch);
    tl_keys_free(level->keys);
    level->batch = NULL;
    level->keys = NULL;
    level->pos = 0;
    TL_TRY(tl_reader_next(level->reader, &level->batch, err));
    *end = level->batch == NULL;
    return *end ? TL_OK : batch_keys(older, level->batch, &level->keys, err);
}

static tl_status find_through(tl_lsm__older *older, older_level *level, request *req, int64_t from, int64_t to, tl_error *err)
{
    bool end = false;
    if (level->reader == NULL)
        TL_TRY(open_through(older, level, req, from, err));
    for (int64_t i = from; i < to;) {
        if (level->batch == NULL) {
            TL_TRY(next_through(older, level, &end, err));
            if (end)
                break;
        }
        i = join_batch(req, level->keys, &level->pos, i, to);
        TL_TRY(take_matches(older, req, level->batch, level->files.items[level->next_file], tl_lsm__file_row_numbers(level->reader), err));
        if (level->pos == level->keys->count) {
            TL_TRY(next_through(older, level, &end, err));
            if (end)
                break;
        }
    }
    if (end) {
        close_file(level);
        level->next_file++;
    }
    return TL_OK;
}

static tl_status find_on_level(tl_lsm__older *older, older_level *level, request *req, tl_error *err)
{
    for (int64_t i = 0; i < req->n_todo && level->next_file < level->files.n;) {
        size_t file = level->next_file;
        int64_t min = 2 * (int64_t)file, max = min + 1;
        if (tl_keys_compare(req->keys, req->todo[i], level->file_keys, max) > 0) {
            close_file(level);
            level->next_file++;
            continue;
        }
        if (tl_keys_compare(req->keys, req->todo[i], level->file_keys, min) < 0) {
            i++;
            continue;
        }
        int64_t to = i + 1;
        while (to < req->n_todo && tl_keys_compare(req->keys, req->todo[to], level->file_keys, max) <= 0)
            to++;
        TL_TRY(level->few ? find_few(older, req, level->files.items[file], i, to, err)
                          : find_through(older, level, req, i, to, err));
        i = to;
    }
    return TL_OK;
}

tl_status tl_lsm__older_find(tl_lsm__older *older, const tl_column *const *key_cols, int64_t n, tl_rowref *refs, tl_error *err)
{
    request req = {.key_cols = key_cols, .refs = refs};
    tl_status status = TL_OK;
    forget_found(older);
    for (int64_t i = 0; i < n; i++)
        refs[i] = (tl_rowref){0, TL_ROW_NULL};
    if (older->n_levels == 0 || n == 0)
        return TL_OK;
    size_t bytes = (size_t)n * sizeof(uint32_t);
    req.todo = tl_alloc(bytes);
    req.match_rows = tl_alloc(bytes);
    req.match_keys = tl_alloc(bytes);
    if (req.todo == NULL || req.match_rows == NULL || req.match_keys == NULL) {
        status = tl_nomem(err, "lookup");
        goto out;
    }
    TL_TRY_GOTO(tl_keys_create(key_cols, older->scan->bucket->config->n_keys, n, &req.keys, err));
    for (size_t l = 0; l < older->n_levels; l++) {
        req.n_todo = 0;
        for (int64_t i = 0; i < n; i++) {
            if (refs[i].row == TL_ROW_NULL)
                req.todo[req.n_todo++] = (uint32_t)i;
        }
        TL_TRY_GOTO(find_on_level(older, &older->levels[l], &req, err));
    }
out:
    tl_keys_free(req.keys);
    tl_free(req.todo);
    tl_free(req.match_rows);
    tl_free(req.match_keys);
    return status;
}
