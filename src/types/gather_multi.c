/*
 * Gather from several columns: the hot loop of merging. A reference names source and row.
 *
 * The base pointers of the sources are laid into small arrays first, so that a row costs two dependent loads. References
 * without a row (a NULL value) are looked for once; the loops come in a form with and one without that test.
 */
#include "types/types_private.h"

#define STACK_SRCS 64
/* Strings of rows so far ahead are fetched into the cache (their offsets are there already): a string to copy gives the
 * processor too little to do for it to look further itself. */
#define PREFETCH_ROWS 16

/* So many rows are those of a write buffer, whose batches have left the caches since they came. */
#define COLD_ROWS 16384
#define CACHE_LINE 64

/* One call: the references, and what a scan over them told. */
typedef struct multi {
    const tl_type *type;
    const tl_column *const *srcs;
    const tl_rowref *refs;
    int64_t n;
    uint32_t n_srcs; /* largest source referenced, plus one */
    bool null_refs;  /* some reference has no row */
} multi;

static uint32_t max_with_nulls(const tl_rowref *refs, int64_t n)
{
    uint32_t src_max = 0;
    for (int64_t i = 0; i < n; i++) {
        uint32_t src = refs[i].row == TL_ROW_NULL ? 0 : refs[i].src;
        src_max = src > src_max ? src : src_max;
    }
    return src_max;
}

/* Two references at a time; lanes are src, row, src, row. Sources are few, so signed order will do. */
tl_rowrefs tl_rowrefs_scan(const tl_rowref *refs, int64_t n)
{
    typedef int32_t lanes __attribute__((vector_size(16)));
    lanes max = {0}, nulls = {0};
    int64_t i = 0;
    for (; i + 2 <= n; i += 2) {
        lanes pair;
        memcpy(&pair, &refs[i], sizeof pair);
        lanes larger = pair > max;
        max = (pair & larger) | (max & ~larger);
        nulls |= pair == -1;
    }
    int32_t src_max = TL_MAX(max[0], max[2]);
    bool has_nulls = (nulls[1] | nulls[3]) != 0;
    for (; i < n; i++) {
        has_nulls |= refs[i].row == TL_ROW_NULL;
        src_max = TL_MAX(src_max, (int32_t)refs[i].src);
    }
    return (tl_rowrefs){refs, n, (has_nulls ? max_with_nulls(refs, n) : (uint32_t)src_max) + 1, has_nulls};
}

/* Base pointers by source, on the stack where there are few. */
typedef struct bases {
    const void **ptrs;
    const void *stack[STACK_SRCS];
    const void **heap;
} bases;

static tl_status bases_init(bases *b, uint32_t n, tl_error *err)
{
    b->heap = NULL;
    b->ptrs = b->stack;
    if (n > STACK_SRCS) {
        b->heap = tl_alloc(n * sizeof *b->heap);
        if (b->heap == NULL)
            return tl_nomem(err, "column");
        b->ptrs = b->heap;
    }
    return TL_OK;
}

static void bases_deinit(bases *b)
{
    tl_free(b->heap);
}

/* Whether rows are read in random order from memory that holds little else: then it is worth fetching all of it in order first, for
 * which the processor needs a fraction of the time that it waits for line after line. */
static bool is_cold(const multi *m)
{
    int64_t rows = 0;
    if (m->n < COLD_ROWS)
        return false;
    for (uint32_t k = 0; k < m->n_srcs; k++)
        rows += m->srcs[k] == NULL ? 0 : m->srcs[k]->length;
    return rows <= 4 * m->n;
}

static void fetch(const void *p, int64_t bytes)
{
    for (int64_t at = 0; at < bytes; at += CACHE_LINE)
        __builtin_prefetch((const uint8_t *)p + at, /* write= */ 0, /* locality= */ 2);
}

/* Numbers of `width` bytes, or offsets, of all sources. */
static void fetch_sources(const multi *m, const void *const *from, int width)
{
    for (uint32_t k = 0; k < m->n_srcs; k++)
        if (from[k] != NULL)
            fetch(from[k], m->srcs[k]->length * width);
}

/* The bytes of all sources. */
static void fetch_data(const multi *m)
{
    for (uint32_t k = 0; k < m->n_srcs; k++) {
        const tl_column *src = m->srcs[k];
        if (src != NULL)
            fetch(src->data + src->offsets[0], (int64_t)src->offsets[src->length] - src->offsets[0]);
    }
}

static bool all_null(const multi *m)
{
    if (!m->null_refs)
        return false;
    for (int64_t i = 0; i < m->n; i++)
        if (m->refs[i].row != TL_ROW_NULL)
            return false;
    return true;
}

/* ---- fixed width ---- */

/* A reference in one load: source in the low half, row in the high one. */
static inline uint64_t load_ref(const tl_rowref *ref)
{
    return tl_read_le64(ref);
}

#define DEFINE_GATHER(NAME, TYPE)                                                                                      \
    static void NAME(const void *const *restrict from, const tl_rowref *restrict refs, int64_t n, void *dst)           \
    {                                                                                                                  \
        TYPE *restrict to = dst;                                                                                       \
        _Pragma("GCC unroll 4") for (int64_t i = 0; i < n; i++)                                                        \
        {                                                                                                              \
            uint64_t ref = load_ref(&refs[i]);                                                                         \
            to[i] = ((const TYPE *)from[(uint32_t)ref])[ref >> 32];                                                    \
        }                                                                                                              \
    }                                                                                                                  \
    static void NAME##_or_null(const void *const *restrict from, const tl_rowref *restrict refs, int64_t n, void *dst) \
    {                                                                                                                  \
        TYPE *restrict to = dst;                                                                                       \
        for (int64_t i = 0; i < n; i++) {                                                                              \
            if (refs[i].row == TL_ROW_NULL)                                                                            \
                memset(&to[i], 0, sizeof to[i]);                                                                       \
            else                                                                                                       \
                to[i] = ((const TYPE *)from[refs[i].src])[refs[i].row];                                                \
        }                                                                                                              \
    }
DEFINE_GATHER(gather_8, uint8_t)
DEFINE_GATHER(gather_16, uint16_t)
DEFINE_GATHER(gather_32, uint32_t)
DEFINE_GATHER(gather_64, uint64_t)
DEFINE_GATHER(gather_128, tl_wide)

typedef void (*gather_fn)(const void *const *from, const tl_rowref *refs, int64_t n, void *dst);

static gather_fn pick_gather(int width, bool null_refs)
{
    switch (width) {
    case 1:
        return null_refs ? gather_8_or_null : gather_8;
    case 2:
        return null_refs ? gather_16_or_null : gather_16;
    case 4:
        return null_refs ? gather_32_or_null : gather_32;
    case 8:
        return null_refs ? gather_64_or_null : gather_64;
    default:
        return null_refs ? gather_128_or_null : gather_128;
    }
}

static tl_status multi_fixed(const multi *m, int width, tl_column *out, tl_error *err)
{
    bases b;
    TL_TRY(bases_init(&b, m->n_srcs, err));
    for (uint32_t k = 0; k < m->n_srcs; k++)
        b.ptrs[k] = m->srcs[k] == NULL ? NULL : m->srcs[k]->values;
    if (is_cold(m))
        fetch_sources(m, b.ptrs, width);
    pick_gather(width, m->null_refs)(b.ptrs, m->refs, m->n, out->values);
    bases_deinit(&b);
    return TL_OK;
}

/* ---- validity ---- */

/* Validity of one source; without a bitmap every row is looked up as row 0 of one that says valid. */
typedef struct src_bits {
    const uint8_t *bits;
    uint32_t mask;
} src_bits;

static int64_t multi_bits(const src_bits *restrict srcs, const tl_rowref *restrict refs, int64_t n, bool null_refs,
                          uint8_t *restrict out)
{
    int64_t ones = 0;
    for (int64_t i = 0; i < n; i += 64) {
        uint64_t word = 0;
        int64_t m = TL_MIN(n - i, 64);
        if (null_refs) {
            for (int64_t j = 0; j < m; j++) {
                tl_rowref ref = refs[i + j];
                if (ref.row != TL_ROW_NULL)
                    word |= (uint64_t)tl_bit_get(srcs[ref.src].bits, ref.row & srcs[ref.src].mask) << j;
            }
        } else {
            for (int64_t j = 0; j < m; j++) {
                uint64_t ref = load_ref(&refs[i + j]);
                src_bits src = srcs[(uint32_t)ref];
                uint32_t row = (uint32_t)(ref >> 32) & src.mask;
                word |= (uint64_t)((src.bits[row >> 3] >> (row & 7)) & 1) << j;
            }
        }
        tl_write_le64(out + i / 8, word);
        ones += __builtin_popcountll(word);
    }
    return n - ones;
}

static tl_status multi_validity(const multi *m, tl_column *out, tl_error *err)
{
    static const uint8_t valid[1] = {1};
    bool any = m->null_refs;
    for (uint32_t k = 0; k < m->n_srcs && !any; k++)
        any = m->srcs[k] != NULL && m->srcs[k]->null_count > 0;
    if (!any || m->n == 0)
        return TL_OK;
    src_bits stack[STACK_SRCS];
    src_bits *srcs = m->n_srcs <= STACK_SRCS ? stack : tl_alloc(m->n_srcs * sizeof *srcs);
    uint8_t *bits = tl_column__buffer(out, (size_t)((m->n + 63) / 64) * 8);
    if (srcs != NULL && bits != NULL) {
        for (uint32_t k = 0; k < m->n_srcs; k++) {
            bool nulls = m->srcs[k] != NULL && m->srcs[k]->null_count > 0;
            srcs[k] = nulls ? (src_bits){m->srcs[k]->validity, UINT32_MAX} : (src_bits){valid, 0};
        }
        out->null_count = multi_bits(srcs, m->refs, m->n, m->null_refs, bits);
    }
    bool done = srcs != NULL && bits != NULL;
    out->validity = bits;
    if (out->null_count == 0)
        tl_column__no_validity(out);
    if (srcs != stack)
        tl_free(srcs);
    return done ? TL_OK : tl_nomem(err, "column");
}

/* ---- variable length ---- */

/* Offsets of the result; returns the last one, which may be beyond 32 bits (then the offsets are garbage). */
static int64_t multi_offsets(const multi *m, const void *const *restrict offsets, int32_t *restrict out)
{
    const tl_rowref *restrict refs = m->refs;
    int64_t total = 0;
    out[0] = 0;
    if (!m->null_refs) {
        for (int64_t i = 0; i < m->n; i++) {
            uint64_t ref = load_ref(&refs[i]);
            const int32_t *o = (const int32_t *)offsets[(uint32_t)ref] + (ref >> 32);
            total += o[1] - o[0];
            out[i + 1] = (int32_t)total;
        }
        return total;
    }
    for (int64_t i = 0; i < m->n; i++) {
        if (refs[i].row != TL_ROW_NULL) {
            const int32_t *o = (const int32_t *)offsets[refs[i].src] + refs[i].row;
            total += o[1] - o[0];
        }
        out[i + 1] = (int32_t)total;
    }
    return total;
}

static inline void prefetch_string(const multi *m, int64_t i)
{
    if (i >= m->n || m->refs[i].row == TL_ROW_NULL)
        return;
    const tl_column *src = m->srcs[m->refs[i].src];
    const int32_t *offsets = src->offsets + m->refs[i].row;
    __builtin_prefetch(src->data + offsets[0]);
    __builtin_prefetch(src->data + offsets[1]);
}

static tl_status multi_data(const multi *m, tl_column *out, tl_error *err)
{
    uint8_t *restrict to = tl_column__buffer(out, (size_t)out->offsets[m->n] + TL_BYTES_SLACK);
    if (to == NULL)
        return tl_nomem(err, "column");
    out->data = to;
    if (is_cold(m))
        fetch_data(m);
    const int32_t *restrict offsets = out->offsets;
    const tl_rowref *restrict refs = m->refs;
    for (int64_t i = 0; i < m->n;) {
        prefetch_string(m, i + PREFETCH_ROWS);
        if (m->null_refs && refs[i].row == TL_ROW_NULL) {
            i++;
            continue;
        }
        /* Rows that follow each other in one source are copied in one go: runs are what a merge often gives. */
        int64_t j = i + 1;
        while (j < m->n && refs[j].row == refs[j - 1].row + 1 && refs[j].src == refs[i].src && refs[j].row != TL_ROW_NULL)
            j++;
        const tl_column *src = m->srcs[refs[i].src];
        tl_column__copy_bytes(to + offsets[i], src->data + src->offsets[refs[i].row], (size_t)(offsets[j] - offsets[i]),
                              src->data + src->offsets[src->length]);
        i = j;
    }
    return TL_OK;
}

static tl_status multi_children(const multi *m, const tl_rowref *refs, int64_t n, tl_column *out, tl_error *err)
{
    bases b;
    TL_TRY(bases_init(&b, m->n_srcs, err));
    tl_status status = TL_OK;
    for (int32_t c = 0; c < out->n_children && status == TL_OK; c++) {
        for (uint32_t k = 0; k < m->n_srcs; k++)
            b.ptrs[k] = m->srcs[k] == NULL ? NULL : m->srcs[k]->children[c];
        status =
            tl_column_gather_multi(m->type->fields[c].type, (const tl_column *const *)b.ptrs, refs, n, &out->children[c], err);
    }
    bases_deinit(&b);
    return status;
}

static tl_status multi_elements(const multi *m, tl_column *out, tl_error *err)
{
    int64_t total = out->offsets[m->n], at = 0;
    TL_CLEANUP(tl_freep) tl_rowref *refs = tl_alloc((size_t)TL_MAX(total, 1) * sizeof *refs);
    if (refs == NULL)
        return tl_nomem(err, "column");
    for (int64_t i = 0; i < m->n; i++) {
        if (m->refs[i].row == TL_ROW_NULL)
            continue;
        const int32_t *offsets = m->srcs[m->refs[i].src]->offsets + m->refs[i].row;
        for (int32_t e = offsets[0]; e < offsets[1]; e++)
            refs[at++] = (tl_rowref){m->refs[i].src, (uint32_t)e};
    }
    return multi_children(m, refs, total, out, err);
}

static tl_status multi_variable(const multi *m, tl_column *out, tl_error *err)
{
    bases b;
    TL_TRY(bases_init(&b, m->n_srcs, err));
    for (uint32_t k = 0; k < m->n_srcs; k++)
        b.ptrs[k] = m->srcs[k] == NULL ? NULL : m->srcs[k]->offsets;
    if (is_cold(m))
        fetch_sources(m, b.ptrs, sizeof(int32_t));
    int64_t total = multi_offsets(m, b.ptrs, out->offsets);
    bases_deinit(&b);
    if (total > INT32_MAX)
        return tl_column__too_large(m->type, err);
    return out->phys == TL_PHYS_BYTES ? multi_data(m, out, err) : multi_elements(m, out, err);
}

static tl_status multi_content(const multi *m, tl_column *out, tl_error *err)
{
    TL_TRY(multi_validity(m, out, err));
    int width = tl_phys_width(out->phys);
    if (width > 0)
        return multi_fixed(m, width, out, err);
    if (out->phys == TL_PHYS_ROW)
        return multi_children(m, m->refs, m->n, out, err);
    return multi_variable(m, out, err);
}

tl_status tl_column_gather_refs(const tl_type *type, const tl_column *const *srcs, const tl_rowrefs *refs, tl_column **out,
                                tl_error *err)
{
    multi m = {type, srcs, refs->refs, refs->n, refs->n_srcs, refs->has_nulls};
    /* Without any row, no source need exist. */
    if (m.n == 0 || all_null(&m))
        return tl_column_nulls(type, m.n, out, err);
    TL_CLEANUP(tl_column_unrefp) tl_column *result = NULL;
    TL_TRY(tl_column__alloc_raw(type, m.n, &result, err));
    TL_TRY(multi_content(&m, result, err));
    *out = TL_STEAL(result);
    return TL_OK;
}

tl_status tl_column_gather_multi(const tl_type *type, const tl_column *const *srcs, const tl_rowref *refs, int64_t n,
                                 tl_column **out, tl_error *err)
{
    tl_rowrefs scanned = tl_rowrefs_scan(refs, n);
    return tl_column_gather_refs(type, srcs, &scanned, out, err);
}
