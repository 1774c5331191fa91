/*
 * Sorting rows under a budget of memory: batches are kept until they have `write-buffer-size`, then they go, sorted, into a temporary file;
 * in the end the files are merged. Equal rows stay in the order in which they came.
 */
#include "lsm/lsm_private.h"

#include "types/key.h"

#define CHUNK_ROWS 4096 /* of a batch in a temporary file: each run holds one while runs are merged */
#define CHUNK_ROWS_MIN 64
#define CHUNK_BYTES ((int64_t)2 << 20)
#define RUNS_MAX 64 /* more are merged into one before */

struct tl_lsm__sorter {
    tl_lsm_config *config; /* borrowed, as are the next three */
    const tl_type *type;
    const tl_order *order;
    const tl_lsm__scale *scales;
    tl_batch **batches;
    int32_t n, cap;
    int64_t bytes, rows;
    tl_lsm__spill **runs;
    size_t n_runs, runs_cap;
};

/* Where sorted rows go. */
typedef struct sink {
    tl_lsm__writer *writer; /* or */
    tl_lsm__spill *spill;
} sink;

static tl_status put(const sink *to, const tl_batch *batch, tl_error *err)
{
    return to->writer != NULL ? tl_lsm__writer_write(to->writer, batch, err) : tl_lsm__spill_write(to->spill, batch, err);
}

static void forget_batches(tl_lsm__sorter *s)
{
    for (int32_t i = 0; i < s->n; i++)
        tl_batch_free(s->batches[i]);
    s->n = 0;
    s->bytes = s->rows = 0;
}

tl_status tl_lsm__sorter_create(tl_lsm_config *config, const tl_type *type, const tl_order *order, const tl_lsm__scale *scales,
                                tl_lsm__sorter **out, tl_error *err)
{
    *out = tl_calloc(1, sizeof **out);
    if (*out == NULL)
        return tl_nomem(err, "sorting");
    **out = (tl_lsm__sorter){.config = config, .type = type, .order = order, .scales = scales};
    return TL_OK;
}

void tl_lsm__sorter_free(tl_lsm__sorter *s)
{
    if (s == NULL)
        return;
    forget_batches(s);
    for (size_t i = 0; i < s->n_runs; i++)
        tl_lsm__spill_free(s->runs[i]);
    tl_free(s->runs);
    tl_free(s->batches);
    tl_free(s);
}

/* ---- in memory ---- */

/* Sequence numbers of keyed tables. */
static tl_status gather_seq(tl_batch *const *batches, const tl_rowref *refs, tl_batch *rows, tl_error *err)
{
    rows->seq = tl_alloc((size_t)(rows->n_rows + 1) * sizeof *rows->seq);
    if (rows->seq == NULL)
        return tl_nomem(err, "sorting");
    for (int64_t i = 0; i < rows->n_rows; i++)
        rows->seq[i] = batches[refs[i].src]->seq[refs[i].row];
    return TL_OK;
}

static tl_status gather(const tl_lsm__sorter *s, tl_batch *const *batches, int32_t n, const tl_rowref *refs, int64_t n_rows, tl_batch **out,
                        tl_error *err)
{
    TL_CLEANUP(tl_batch_freep) tl_batch *rows = NULL;
    TL_CLEANUP(tl_freep) const tl_column **srcs = tl_calloc((size_t)n + 1, sizeof *srcs);
    if (srcs == NULL)
        return tl_nomem(err, "sorting");
    TL_TRY(tl_batch_create(s->type, n_rows, &rows, err));
    for (int32_t c = 0; c < rows->n_cols; c++) {
        for (int32_t b = 0; b < n; b++)
            srcs[b] = batches[b] == NULL ? NULL : batches[b]->cols[c];
        TL_TRY(tl_column_gather_multi(s->type->fields[c].type, srcs, refs, n_rows, &rows->cols[c], err));
    }
    if (s->config->n_keys > 0)
        TL_TRY(gather_seq(batches, refs, rows, err));
    *out = TL_STEAL(rows);
    return TL_OK;
}

static tl_status all_keys(const tl_lsm__sorter *s, tl_keys **out, tl_error *err)
{
    tl_keys **parts = tl_calloc((size_t)s->n + 1, sizeof *parts);
    tl_status status = parts == NULL ? tl_nomem(err, "sorting") : TL_OK;
    for (int32_t i = 0; i < s->n && status == TL_OK; i++)
        status = tl_lsm__order_keys(s->order, s->scales, s->batches[i], &parts[i], err);
    if (status == TL_OK)
        status = tl_keys_concat((const tl_keys *const *)parts, s->n, out, err);
    for (int32_t i = 0; parts != NULL && i < s->n; i++)
        tl_keys_free(parts[i]);
    tl_free(parts);
    return status;
}

/* Rows in order, as places in the batches. */
static tl_status sorted_refs(const tl_lsm__sorter *s, tl_rowref **out, tl_error *err)
{
    TL_CLEANUP(tl_keys_freep) tl_keys *all = NULL;
    TL_CLEANUP(tl_freep) uint32_t *order = tl_alloc((size_t)(s->rows + 1) * sizeof *order);
    TL_CLEANUP(tl_freep) tl_rowref *places = tl_alloc((size_t)(s->rows + 1) * sizeof *places);
    tl_rowref *refs = tl_alloc((size_t)(s->rows + 1) * sizeof *refs);
    tl_status status = order == NULL || places == NULL || refs == NULL ? tl_nomem(err, "sorting") : TL_OK;
    if (status == TL_OK)
        status = all_keys(s, &all, err);
    if (status == TL_OK)
        status = tl_keys_sort(all, order, err);
    if (status != TL_OK) {
        tl_free(refs);
        return status;
    }
    int64_t at = 0;
    for (int32_t b = 0; b < s->n; b++)
        for (int64_t i = 0; i < s->batches[b]->n_rows; i++)
            places[at++] = (tl_rowref){(uint32_t)b, (uint32_t)i};
    for (int64_t i = 0; i < s->rows; i++)
        refs[i] = places[order[i]];
    *out = refs;
    return TL_OK;
}

static int64_t chunk_rows(const tl_lsm__sorter *s)
{
    int64_t row_bytes = s->rows == 0 ? 1 : TL_MAX(1, s->bytes / s->rows);
    return TL_MAX(CHUNK_ROWS_MIN, TL_MIN(CHUNK_ROWS, CHUNK_BYTES / row_bytes));
}

/* Everything that is in memory, in order. */
static tl_status emit_memory(tl_lsm__sorter *s, const sink *to, tl_error *err)
{
    TL_CLEANUP(tl_freep) tl_rowref *refs = NULL;
    int64_t step = chunk_rows(s);
    if (s->rows == 0)
        return TL_OK;
    TL_TRY(sorted_refs(s, &refs, err));
    for (int64_t from = 0; from < s->rows; from += step) {
        TL_CLEANUP(tl_batch_freep) tl_batch *chunk = NULL;
        TL_TRY(gather(s, s->batches, s->n, refs + from, TL_MIN(step, s->rows - from), &chunk, err));
        TL_TRY(put(to, chunk, err));
    }
    forget_batches(s);
    return TL_OK;
}

/* ---- merging runs ---- */

typedef struct run {
    tl_reader *reader;
    tl_batch *batch;
    tl_keys *keys;
    int64_t row;
} run;

typedef struct merge {
    tl_lsm__sorter *s;
    run *runs;
    int32_t n;
    int32_t *heap; /* runs that have rows, the smallest first */
    int32_t n_heap;
    tl_rowref refs[CHUNK_ROWS]; /* chosen, not yet written */
    int64_t n_refs;
} merge;

static bool less(const merge *m, int32_t a, int32_t b)
{
    int c = tl_keys_compare(m->runs[a].keys, m->runs[a].row, m->runs[b].keys, m->runs[b].row);
    return c != 0 ? c < 0 : a < b;
}

/* The entry at `i` may be too large for its place. */
static void sift_down(merge *m, int32_t i)
{
    for (int32_t child; (child = 2 * i + 1) < m->n_heap;) {
        if (child + 1 < m->n_heap && less(m, m->heap[child + 1], m->heap[child]))
            child++;
        if (!less(m, m->heap[child], m->heap[i]))
            return;
        int32_t swap = m->heap[i];
        m->heap[i] = m->heap[child];
        m->heap[child] = swap;
        i = child;
    }
}

/* The run's next batch; *more is false at its end. */
static tl_status advance(merge *m, run *r, bool *more, tl_error *err)
{
    do {
        tl_batch_free(r->batch);
        tl_keys_free(r->keys);
        r->batch = NULL;
        r->keys = NULL;
        r->row = 0;
        TL_TRY(tl_reader_next(r->reader, &r->batch, err));
    } while (r->batch != NULL && r->batch->n_rows == 0);
    *more = r->batch != NULL;
    return *more ? tl_lsm__order_keys(m->s->order, m->s->scales, r->batch, &r->keys, err) : TL_OK;
}

static tl_status flush(merge *m, const sink *to, tl_error *err)
{
    TL_CLEANUP(tl_batch_freep) tl_batch *chunk = NULL;
    TL_CLEANUP(tl_freep) tl_batch **batches = tl_calloc((size_t)m->n + 1, sizeof(tl_batch *));
    if (m->n_refs == 0)
        return TL_OK;
    if (batches == NULL)
        return tl_nomem(err, "sorting");
    for (int32_t i = 0; i < m->n; i++)
        batches[i] = m->runs[i].batch;
    TL_TRY(gather(m->s, batches, m->n, m->refs, m->n_refs, &chunk, err));
    m->n_refs = 0;
    return put(to, chunk, err);
}

static tl_status merge_open(merge *m, tl_error *err)
{
    m->runs = tl_calloc((size_t)m->n, sizeof *m->runs);
    m->heap = tl_calloc((size_t)m->n, sizeof *m->heap);
    if (m->runs == NULL || m->heap == NULL)
        return tl_nomem(err, "sorting");
    for (int32_t i = 0; i < m->n; i++) {
        bool more = false;
        TL_TRY(tl_lsm__spill_open(m->s->runs[i], m->s->type, &m->runs[i].reader, err));
        TL_TRY(advance(m, &m->runs[i], &more, err));
        if (more)
            m->heap[m->n_heap++] = i;
    }
    for (int32_t i = m->n_heap / 2; i-- > 0;)
        sift_down(m, i);
    return TL_OK;
}

static tl_status merge_all(merge *m, const sink *to, tl_error *err)
{
    while (m->n_heap > 0) {
        int32_t i = m->heap[0];
        run *r = &m->runs[i];
        bool more = true;
        m->refs[m->n_refs++] = (tl_rowref){(uint32_t)i, (uint32_t)r->row++};
        if (m->n_refs == CHUNK_ROWS || r->row == r->batch->n_rows)
            TL_TRY(flush(m, to, err)); /* before the batch goes */
        if (r->row == r->batch->n_rows)
            TL_TRY(advance(m, r, &more, err));
        if (!more)
            m->heap[0] = m->heap[--m->n_heap];
        sift_down(m, 0);
    }
    return TL_OK;
}

static tl_status merge_runs(tl_lsm__sorter *s, const sink *to, tl_error *err)
{
    merge *m = tl_calloc(1, sizeof *m);
    if (m == NULL)
        return tl_nomem(err, "sorting");
    m->s = s;
    m->n = (int32_t)s->n_runs;
    tl_status status = merge_open(m, err);
    if (status == TL_OK)
        status = merge_all(m, to, err);
    for (int32_t i = 0; m->runs != NULL && i < m->n; i++) {
        tl_reader_free(m->runs[i].reader);
        tl_batch_free(m->runs[i].batch);
        tl_keys_free(m->runs[i].keys);
    }
    tl_free(m->runs);
    tl_free(m->heap);
    tl_free(m);
    return status;
}

/* ---- spilling ---- */

static tl_status keep_run(tl_lsm__sorter *s, tl_lsm__spill *spill, tl_error *err)
{
    if (s->n_runs == s->runs_cap) {
        size_t cap = s->runs_cap == 0 ? 8 : s->runs_cap * 2;
        tl_lsm__spill **runs = tl_realloc(s->runs, cap * sizeof(tl_lsm__spill *));
        if (runs == NULL)
            return tl_nomem(err, "sorting");
        s->runs = runs;
        s->runs_cap = cap;
    }
    s->runs[s->n_runs++] = spill;
    return TL_OK;
}

/* What `emit` gives, as a run of its own. */
static tl_status new_run(tl_lsm__sorter *s, tl_status (*emit)(tl_lsm__sorter *s, const sink *to, tl_error *err), tl_lsm__spill **out, tl_error *err)
{
    tl_lsm__spill *spill = NULL;
    TL_TRY(tl_lsm__spill_create(s->config, &spill, err));
    tl_status status = emit(s, &(sink){.spill = spill}, err);
    if (status == TL_OK)
        status = tl_lsm__spill_finish(spill, err);
    if (status != TL_OK)
        tl_lsm__spill_free(spill);
    else
        *out = spill;
    return status;
}

static tl_status spill_memory(tl_lsm__sorter *s, tl_error *err)
{
    tl_lsm__spill *spill = NULL;
    if (s->n_runs == RUNS_MAX) {
        TL_TRY(new_run(s, merge_runs, &spill, err));
        for (size_t i = 0; i < s->n_runs; i++)
            tl_lsm__spill_free(s->runs[i]);
        s->n_runs = 0;
        s->runs[s->n_runs++] = TL_STEAL(spill);
    }
    TL_TRY(new_run(s, emit_memory, &spill, err));
    tl_status status = keep_run(s, spill, err);
    if (status != TL_OK)
        tl_lsm__spill_free(spill);
    return status;
}

/* ---- in and out ---- */

static tl_status reserve(tl_lsm__sorter *s, tl_error *err)
{
    if (s->n < s->cap)
        return TL_OK;
    int32_t cap = s->cap == 0 ? 64 : s->cap * 2;
    tl_batch **batches = tl_realloc(s->batches, (size_t)cap * sizeof *batches);
    if (batches == NULL)
        return tl_nomem(err, "sorting");
    s->batches = batches;
    s->cap = cap;
    return TL_OK;
}

/* What sorting will take besides the rows: keys twice, while they are put together, and the order. */
static int64_t keys_bytes(const tl_lsm__sorter *s, const tl_batch *rows)
{
    int64_t bytes = 2 * (int64_t)sizeof(uint64_t) + 3 * (int64_t)sizeof(tl_rowref);
    for (int32_t c = 0; c < s->order->n_columns; c++)
        bytes += 2 * TL_MAX(tl_column_bytes(rows->cols[s->order->columns[c]]) / rows->n_rows, 8);
    return bytes * rows->n_rows;
}

tl_status tl_lsm__sorter_add(tl_lsm__sorter *s, tl_batch *batch_take, tl_error *err)
{
    TL_CLEANUP(tl_batch_freep) tl_batch *batch = batch_take;
    if (batch->n_rows == 0)
        return TL_OK;
    TL_TRY(reserve(s, err));
    s->bytes += tl_batch_bytes(batch) + keys_bytes(s, batch);
    s->rows += batch->n_rows;
    s->batches[s->n++] = TL_STEAL(batch);
    return s->bytes < s->config->write_buffer_bytes && s->rows < INT32_MAX ? TL_OK : spill_memory(s, err);
}

static tl_status emit_all(tl_lsm__sorter *s, const sink *to, tl_error *err)
{
    if (s->n_runs == 0)
        return emit_memory(s, to, err);
    if (s->rows > 0)
        TL_TRY(spill_memory(s, err));
    return merge_runs(s, to, err);
}

tl_status tl_lsm__sorter_write(tl_lsm__sorter *s, tl_lsm__writer *writer, tl_error *err)
{
    return emit_all(s, &(sink){.writer = writer}, err);
}

tl_status tl_lsm__sorter_spill(tl_lsm__sorter *s, tl_lsm__spill **out, tl_error *err)
{
    return new_run(s, emit_all, out, err);
}
