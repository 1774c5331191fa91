/*
 * Order of the records of one key: user sequence fields (nulls first in both directions), then sequence number. And the
 * sort of a write buffer into groups. Format reference §11; Java: UserDefinedSeqComparator, SortBufferWriteBuffer.
 *
 * The reference's write buffer knows no `sequence.field.sort-order`: within a flush the order is ascending, and only between
 * files it is as the option says. Fixture sequence-descending pins that.
 */
#include "merge/merge_private.h"

#define INSERTION_MAX 16

/* Records and their order. */
typedef struct record_order {
    const int32_t *fields; /* sequence.field */
    int32_t n_fields;
    bool descending;
    const tl_batch *const *sources;
} record_order;

static int compare_records(const record_order *o, tl_rowref a, tl_rowref b)
{
    const tl_batch *x = o->sources[a.src], *y = o->sources[b.src];
    for (int32_t i = 0; i < o->n_fields; i++) {
        int32_t c = o->fields[i];
        int order = tl_column_compare(x->cols[c], a.row, y->cols[c], b.row, o->descending, /* nulls_first= */ true);
        if (order != 0)
            return order;
    }
    int64_t a_seq = x->seq == NULL ? 0 : x->seq[a.row], b_seq = y->seq == NULL ? 0 : y->seq[b.row];
    return (a_seq > b_seq) - (a_seq < b_seq);
}

static void order_few(const record_order *o, tl_rowref *refs, uint32_t n)
{
    for (uint32_t i = 1; i < n; i++) {
        tl_rowref ref = refs[i];
        uint32_t at = i;
        for (; at > 0 && compare_records(o, refs[at - 1], ref) > 0; at--)
            refs[at] = refs[at - 1];
        refs[at] = ref;
    }
}

static void merge_halves(const record_order *o, const tl_rowref *in, uint32_t half, uint32_t n, tl_rowref *out)
{
    uint32_t a = 0, b = half;
    for (uint32_t i = 0; i < n; i++) {
        bool first = b == n || (a < half && compare_records(o, in[a], in[b]) <= 0);
        out[i] = first ? in[a++] : in[b++];
    }
}

/* Bottom-up merge sort: one key may have all the records of a buffer. */
static tl_status order_many(const record_order *o, tl_rowref *refs, uint32_t n, tl_error *err)
{
    TL_CLEANUP(tl_freep) tl_rowref *scratch = tl_alloc(n * sizeof *scratch);
    if (scratch == NULL)
        return tl_nomem(err, "merge");
    for (uint32_t from = 0; from < n; from += INSERTION_MAX)
        order_few(o, refs + from, TL_MIN(INSERTION_MAX, n - from));
    tl_rowref *in = refs, *out = scratch;
    for (uint64_t width = INSERTION_MAX; width < n; width *= 2) {
        for (uint64_t from = 0; from < n; from += 2 * width) {
            uint32_t len = (uint32_t)TL_MIN(2 * width, n - from);
            merge_halves(o, in + from, (uint32_t)TL_MIN(width, len), len, out + from);
        }
        tl_rowref *swap = in;
        in = out;
        out = swap;
    }
    if (in != refs)
        memcpy(refs, in, n * sizeof *refs);
    return TL_OK;
}

static int64_t seq_of(const tl_batch *const *sources, tl_rowref ref)
{
    const int64_t *seq = sources[ref.src]->seq;
    return seq == NULL ? 0 : seq[ref.row];
}

/* By sequence number alone, each loaded once: what nearly every group of a merge is. */
static void order_few_by_seq(const tl_batch *const *sources, tl_rowref *refs, uint32_t n)
{
    int64_t seqs[INSERTION_MAX];
    for (uint32_t i = 0; i < n; i++) {
        tl_rowref ref = refs[i];
        int64_t seq = seq_of(sources, ref);
        uint32_t at = i;
        for (; at > 0 && seqs[at - 1] > seq; at--) {
            seqs[at] = seqs[at - 1];
            refs[at] = refs[at - 1];
        }
        seqs[at] = seq;
        refs[at] = ref;
    }
}

tl_status tl_merge__order_records(const tl_merge_engine *engine, bool buffer, const tl_batch *const *sources, tl_rowref *refs,
                                  uint32_t n, tl_error *err)
{
    if (engine->n_sequence_fields == 0 && n <= INSERTION_MAX) {
        order_few_by_seq(sources, refs, n);
        return TL_OK;
    }
    record_order o = {engine->sequence_fields, engine->n_sequence_fields, engine->sequence_descending && !buffer, sources};
    bool sorted = true;
    for (uint32_t i = 1; i < n && sorted; i++)
        sorted = compare_records(&o, refs[i - 1], refs[i]) <= 0;
    if (sorted)
        return TL_OK;
    if (n > INSERTION_MAX)
        return order_many(&o, refs, n, err);
    order_few(&o, refs, n);
    return TL_OK;
}

tl_status tl_merge_order_records(const tl_merge_engine *engine, const tl_batch *const *sources, tl_rowref *refs, uint32_t n,
                                 tl_error *err)
{
    return tl_merge__order_records(engine, /* buffer= */ false, sources, refs, n, err);
}

/* ---- the sort of a buffer ---- */

/* A buffer under sorting. */
typedef struct buffer_sort {
    const tl_merge_engine *engine;
    const tl_batch *const *batches;
    uint32_t n_batches;
    uint32_t n_rows;
    tl_keys *keys; /* of all rows, in order of arrival */
    uint32_t *order;
    tl_rowref *refs;
    uint32_t *starts;
    uint32_t n_groups;
} buffer_sort;

static void free_parts(tl_keys **parts, uint32_t n)
{
    for (uint32_t b = 0; parts != NULL && b < n; b++)
        tl_keys_free(parts[b]);
    tl_free(parts);
}

static tl_status create_parts(const buffer_sort *s, const int32_t *key_idx, int32_t n_keys, tl_keys **parts, tl_error *err)
{
    TL_CLEANUP(tl_freep) const tl_column **cols = tl_alloc((size_t)TL_MAX(n_keys, 1) * sizeof *cols);
    if (cols == NULL)
        return tl_nomem(err, "sort");
    for (uint32_t b = 0; b < s->n_batches; b++) {
        for (int32_t k = 0; k < n_keys; k++)
            cols[k] = s->batches[b]->cols[key_idx[k]];
        TL_TRY(tl_keys_create(cols, n_keys, s->batches[b]->n_rows, &parts[b], err));
    }
    return TL_OK;
}

static tl_status make_keys(buffer_sort *s, const int32_t *key_idx, int32_t n_keys, tl_error *err)
{
    tl_keys **parts = tl_calloc(TL_MAX(s->n_batches, 1), sizeof *parts);
    if (parts == NULL)
        return tl_nomem(err, "sort");
    tl_status status = create_parts(s, key_idx, n_keys, parts, err);
    if (status == TL_OK && s->n_batches == 1)
        s->keys = TL_STEAL(parts[0]);
    else if (status == TL_OK)
        status = tl_keys_concat((const tl_keys *const *)parts, (int32_t)s->n_batches, &s->keys, err);
    free_parts(parts, s->n_batches);
    return status;
}

/* Sequence numbers rise in the order of arrival, and nothing else counts: a stable sort by key is enough. */
static bool arrives_in_order(const buffer_sort *s)
{
    if (s->engine->n_sequence_fields > 0)
        return false;
    int64_t last = INT64_MIN;
    for (uint32_t b = 0; b < s->n_batches; b++) {
        const int64_t *seq = s->batches[b]->seq;
        for (int64_t i = 0; seq != NULL && i < s->batches[b]->n_rows; i++) {
            if (seq[i] < last)
                return false;
            last = seq[i];
        }
    }
    return true;
}

/* Rows by number of arrival: the batch of the first row of each block, to search on from. */
#define BLOCK_BITS 8

static tl_status fill_refs(buffer_sort *s, tl_error *err)
{
    if (s->n_batches == 1) {
        for (uint32_t i = 0; i < s->n_rows; i++)
            s->refs[i] = (tl_rowref){0, s->order[i]};
        return TL_OK;
    }
    uint32_t n_blocks = (s->n_rows >> BLOCK_BITS) + 1, row = 0, block = 0;
    TL_CLEANUP(tl_freep) uint32_t *bases = tl_alloc(((size_t)s->n_batches + 1 + n_blocks) * sizeof *bases);
    if (bases == NULL)
        return tl_nomem(err, "sort");
    uint32_t *blocks = bases + s->n_batches + 1;
    for (uint32_t b = 0; b < s->n_batches; b++) {
        bases[b] = row;
        row += (uint32_t)s->batches[b]->n_rows;
        while (block < n_blocks && block << BLOCK_BITS < row)
            blocks[block++] = b;
    }
    bases[s->n_batches] = row;
    for (uint32_t i = 0; i < s->n_rows; i++) {
        uint32_t at = s->order[i], b = blocks[at >> BLOCK_BITS];
        while (at >= bases[b + 1])
            b++;
        s->refs[i] = (tl_rowref){b, at - bases[b]};
    }
    return TL_OK;
}

static tl_status sort_buffer(buffer_sort *s, const int32_t *key_idx, int32_t n_keys, tl_error *err)
{
    TL_TRY(make_keys(s, key_idx, n_keys, err));
    s->order = tl_alloc((size_t)TL_MAX(s->n_rows, 1) * sizeof *s->order);
    s->refs = tl_alloc((size_t)TL_MAX(s->n_rows, 1) * sizeof *s->refs);
    s->starts = tl_alloc(((size_t)s->n_rows + 1) * sizeof *s->starts);
    if (s->order == NULL || s->refs == NULL || s->starts == NULL)
        return tl_nomem(err, "sort");
    TL_TRY(tl_keys_sort_groups(s->keys, s->order, s->starts, &s->n_groups, err));
    TL_TRY(fill_refs(s, err));
    if (arrives_in_order(s))
        return TL_OK;
    for (uint32_t g = 0; g < s->n_groups; g++)
        if (s->starts[g + 1] - s->starts[g] > 1)
            TL_TRY(tl_merge__order_records(s->engine, /* buffer= */ true, s->batches, s->refs + s->starts[g],
                                           s->starts[g + 1] - s->starts[g], err));
    return TL_OK;
}

tl_status tl_merge_sort_groups(const tl_merge_engine *engine, const int32_t *key_idx, int32_t n_keys,
                               const tl_batch *const *batches, uint32_t n_batches, tl_rowref **refs, uint32_t **starts,
                               uint32_t *n_groups, tl_error *err)
{
    buffer_sort s = {.engine = engine, .batches = batches, .n_batches = n_batches};
    int64_t n_rows = 0;
    for (uint32_t b = 0; b < n_batches; b++)
        n_rows += batches[b]->n_rows;
    if (n_rows >= TL_ROW_NULL)
        return tl_error_set(err, TL_E_LIMIT, "cannot sort %lld rows at once", (long long)n_rows);
    s.n_rows = (uint32_t)n_rows;
    tl_status status = sort_buffer(&s, key_idx, n_keys, err);
    tl_keys_free(s.keys);
    tl_free(s.order);
    if (status != TL_OK) {
        tl_free(s.refs);
        tl_free(s.starts);
        return status;
    }
    *refs = s.refs;
    *starts = s.starts;
    *n_groups = s.n_groups;
    return TL_OK;
}
