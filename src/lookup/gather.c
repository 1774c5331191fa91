/* The columns of rows that were found. */
#include "lookup/lookup_private.h"

#define FEW_ROWS 16 /* up to so many their places are on the stack */

/* Where the rows lie. The lines of one are asked for all at once, up to some: the others come as they are read. */
static void find_rows(const tl_lookup *l, const tl_rowref *refs, int64_t n, const uint8_t **rows)
{
    for (int64_t i = 0; i < n; i++) {
        if (refs[i].row == TL_ROW_NULL) {
            rows[i] = tl_row_layout_null_row(l->layout);
            continue;
        }
        const tl_packed_rows *from = &l->chunks[refs[i].src].rows;
        rows[i] = from->bytes + from->starts[refs[i].row];
        for (size_t at = 0; at < 256; at += 64)
            __builtin_prefetch(rows[i] + at);
    }
}

/* The chunks that rows come from, each once: what a gather would do for every chunk of the table costs more than a few rows. */
typedef struct chunk_choice {
    uint32_t *chunks;
    uint32_t n;
    tl_rowref *refs; /* the rows, with the chunks' places in `chunks` */
} chunk_choice;

static tl_status choose_chunks(const tl_lookup *l, const tl_rowref *refs, int64_t n, chunk_choice *out, tl_error *err)
{
    TL_CLEANUP(tl_freep) uint32_t *place = tl_calloc((size_t)l->n_chunks + 1, sizeof *place); /* + 1 */
    out->chunks = tl_alloc(sizeof *out->chunks * ((size_t)TL_MIN(n, (int64_t)l->n_chunks) + 1));
    out->refs = tl_alloc(sizeof *out->refs * (size_t)(n + 1));
    if (out->chunks == NULL || out->refs == NULL || place == NULL)
        return tl_nomem(err, "look-up rows");
    for (int64_t i = 0; i < n; i++) {
        uint32_t chunk_number = refs[i].src;
        if (refs[i].row == TL_ROW_NULL) {
            out->refs[i] = (tl_rowref){0, TL_ROW_NULL};
            continue;
        }
        if (place[chunk_number] == 0) {
            out->chunks[out->n++] = chunk_number;
            place[chunk_number] = out->n;
        }
        out->refs[i] = (tl_rowref){place[chunk_number] - 1, refs[i].row};
    }
    return TL_OK;
}

static tl_status gather_chosen(const tl_lookup *l, const chunk_choice *from, int64_t n, tl_column **out, tl_error *err)
{
    TL_CLEANUP(tl_freep) const tl_column **srcs = tl_alloc(sizeof *srcs * ((size_t)from->n + 1));
    if (srcs == NULL)
        return tl_nomem(err, "look-up rows");
    tl_rowrefs refs = tl_rowrefs_scan(from->refs, n);
    for (int32_t c = 0; c < l->n_columns; c++) {
        if (tl_row_layout_has(l->layout, c))
            continue;
        for (uint32_t i = 0; i < from->n; i++)
            srcs[i] = l->chunks[from->chunks[i]].unpacked[c];
        TL_TRY(tl_column_gather_refs(l->answer->fields[c].type, srcs, &refs, &out[c], err));
    }
    return TL_OK;
}

/* The columns that are not packed. */
static tl_status gather_others(const tl_lookup *l, const tl_rowref *refs, int64_t n, tl_column **out, tl_error *err)
{
    chunk_choice from = {0};
    tl_status status = choose_chunks(l, refs, n, &from, err);
    if (status == TL_OK)
        status = gather_chosen(l, &from, n, out, err);
    tl_free(from.chunks);
    tl_free(from.refs);
    return status;
}

tl_status tl_lookup_gather(tl_lookup *l, const tl_rowref *refs, int64_t n, tl_column **out, tl_error *err)
{
    const uint8_t *stack[FEW_ROWS];
    TL_CLEANUP(tl_freep) const uint8_t **heap = n <= FEW_ROWS ? NULL : tl_alloc((size_t)n * sizeof *heap);
    const uint8_t **rows = n <= FEW_ROWS ? stack : heap;
    if (rows == NULL)
        return tl_nomem(err, "look-up rows");
    find_rows(l, refs, n, rows);
    TL_TRY(tl_rows_unpack(l->layout, rows, n, out, err));
    tl_status status = l->all_packed ? TL_OK : gather_others(l, refs, n, out, err);
    for (int32_t c = 0; c < l->n_columns && status != TL_OK; c++) {
        tl_column_unref(out[c]);
        out[c] = NULL;
    }
    return status;
}
