/*
 * Pages that cannot match, by the page index: ColumnIndex has the bounds of each page, OffsetIndex where it lies and which
 * rows it holds.
 *
 * Pages of different columns end at different rows, so the result is ranges of rows: each part of the predicate that looks at
 * one column only is asked page by page; AND intersects ranges, OR unites them.
 */
#include "format/parquet/read_private.h"

/* ---- offset index ---- */

static tl_status check_offset_index(const tl_pq_file *file, const tl_pq_offset_index *index, int64_t num_rows, tl_error *err)
{
    for (int32_t i = 0; i < index->n_pages; i++) {
        const tl_pq_page_location *page = &index->pages[i], *before = i == 0 ? NULL : page - 1;
        bool is_in_order =
            before == NULL ? page->first_row == 0 : page->first_row >= before->first_row && page->offset > before->offset;
        if (!is_in_order || page->first_row > num_rows || page->offset < 0 || page->offset >= file->in.bytes ||
            page->compressed_bytes < 0)
            return tl_error_set(err, TL_E_CORRUPT, "offset index: page %d is out of order or outside of the file", i);
    }
    return TL_OK;
}

tl_status tl_pq__offset_index(tl_pq_file *file, int32_t group, int32_t leaf, tl_arena *arena, const tl_pq_offset_index **out,
                              tl_error *err)
{
    const tl_pq_row_group *row_group = &file->meta.row_groups[group];
    const tl_pq_column_chunk *chunk = &row_group->columns[leaf];
    tl_bytes_view bytes;
    TL_CLEANUP(tl_freep) uint8_t *owned = NULL;
    *out = NULL;
    if (chunk->offset_index_offset < 0 || chunk->offset_index_length <= 0)
        return TL_OK;
    tl_pq_offset_index *index = tl_arena_calloc(arena, 1, sizeof *index);
    if (index == NULL)
        return tl_nomem(err, "offset index");
    TL_TRY(tl_error_wrap(err,
                         tl_pq__file_piece(file, chunk->offset_index_offset, chunk->offset_index_length, &bytes, &owned, err),
                         "offset index"));
    TL_TRY(tl_pq__read_offset_index(bytes, arena, index, err));
    if (index->n_pages == 0)
        return TL_OK;
    TL_TRY(check_offset_index(file, index, row_group->num_rows, err));
    *out = index;
    return TL_OK;
}

/* ---- ranges ---- */

typedef struct ranges {
    tl_row_ranges rows;
    size_t cap;
} ranges;

static void ranges_deinit(ranges *r)
{
    tl_row_ranges_deinit(&r->rows);
    r->cap = 0;
}

static tl_status ranges_add(ranges *r, int64_t from, int64_t to, tl_error *err)
{
    return tl_row_ranges_add(&r->rows, &r->cap, from, to, err);
}

static tl_status unite(const ranges *a, const ranges *b, ranges *out, tl_error *err)
{
    for (size_t i = 0, j = 0; i < a->rows.n || j < b->rows.n;) {
        bool from_a = j == b->rows.n || (i < a->rows.n && a->rows.items[i].from <= b->rows.items[j].from);
        const tl_row_range *next = from_a ? &a->rows.items[i++] : &b->rows.items[j++];
        TL_TRY(ranges_add(out, next->from, next->to, err));
    }
    return TL_OK;
}

/* ---- pages of one column ---- */

typedef struct column_pages {
    bool is_loaded;
    int32_t n_pages; /* 0: no usable index */
    const tl_pq_offset_index *offsets;
    const int64_t *null_counts;
    const bool *null_pages;
    tl_column *min;
    tl_column *max;
} column_pages;

typedef struct page_pruner {
    const tl_pq_pruner *pruner;
    int32_t group;
    int64_t num_rows;
    tl_arena arena;
    column_pages *columns;
    tl_col_bounds *bounds;
    bool *used; /* scratch */
    tl_error *err;
} page_pruner;

static tl_status load_pages(page_pruner *p, int32_t idx)
{
    const tl_pq_pruner *pruner = p->pruner;
    const tl_pq_node *node = pruner->nodes[idx];
    column_pages *pages = &p->columns[idx];
    if (pages->is_loaded || node == NULL)
        return TL_OK;
    pages->is_loaded = true;
    const tl_pq_column_chunk *chunk = &pruner->file->meta.row_groups[p->group].columns[node->leaf];
    if (chunk->column_index_offset < 0 || chunk->column_index_length <= 0)
        return TL_OK;
    TL_TRY(tl_pq__offset_index(pruner->file, p->group, node->leaf, &p->arena, &pages->offsets, p->err));
    if (pages->offsets == NULL)
        return TL_OK;
    tl_bytes_view bytes;
    TL_CLEANUP(tl_freep) uint8_t *owned = NULL;
    TL_TRY(tl_pq__file_piece(pruner->file, chunk->column_index_offset, chunk->column_index_length, &bytes, &owned, p->err));
    tl_pq_column_index index;
    TL_TRY(tl_pq__read_column_index(bytes, &p->arena, &index, p->err));
    if (index.n_pages != pages->offsets->n_pages)
        return tl_error_set(p->err, TL_E_CORRUPT, "column index has %d pages, offset index %d", index.n_pages,
                            pages->offsets->n_pages);
    if (pruner->conversions[idx].is_order_kept && tl_pq__is_order_known(pruner->file, node->leaf)) {
        TL_TRY(tl_pq__bounds_column(pruner, idx, index.min_values, index.null_pages, index.n_pages, &pages->min, p->err));
        TL_TRY(tl_pq__bounds_column(pruner, idx, index.max_values, index.null_pages, index.n_pages, &pages->max, p->err));
    }
    pages->null_counts = index.null_counts;
    pages->null_pages = index.null_pages;
    pages->n_pages = index.n_pages;
    return TL_OK;
}

static tl_status add_all(page_pruner *p, ranges *out)
{
    return ranges_add(out, 0, p->num_rows, p->err);
}

static tl_status single_column(page_pruner *p, const tl_predicate *pred, int32_t idx, ranges *out)
{
    TL_TRY(load_pages(p, idx));
    const column_pages *pages = &p->columns[idx];
    if (pages->n_pages == 0)
        return add_all(p, out);
    for (int32_t i = 0; i < pages->n_pages; i++) {
        int64_t from = pages->offsets->pages[i].first_row;
        int64_t to = i + 1 < pages->n_pages ? pages->offsets->pages[i + 1].first_row : p->num_rows;
        int64_t nulls = pages->null_pages[i] ? to - from : pages->null_counts == NULL ? -1 : pages->null_counts[i];
        p->bounds[idx] = (tl_col_bounds){pages->min, pages->max, i, i, nulls};
        if (to > from && tl_predicate_may_match(pred, p->bounds, to - from))
            TL_TRY(ranges_add(out, from, to, p->err));
    }
    p->bounds[idx] = (tl_col_bounds){.null_count = -1};
    return TL_OK;
}

static tl_status node_ranges(page_pruner *p, const tl_predicate *pred, ranges *out);

static tl_status combine(page_pruner *p, const tl_predicate *pred, ranges *out)
{
    tl_status status = node_ranges(p, pred->children[0], out);
    for (int32_t i = 1; i < pred->n_children && status == TL_OK; i++) {
        ranges other = {0}, both = {0};
        status = node_ranges(p, pred->children[i], &other);
        if (status == TL_OK)
            status = pred->op == TL_PRED_AND ? tl_row_ranges_and(&out->rows, &other.rows, &both.rows, p->err) : unite(out, &other, &both, p->err);
        ranges_deinit(&other);
        ranges_deinit(out);
        *out = both;
    }
    return status;
}

/* The only column of a predicate; -1 if there are none or several. */
static int32_t only_column(page_pruner *p, const tl_predicate *pred)
{
    int32_t n = p->pruner->row_type->n_fields, only = -1;
    memset(p->used, 0, (size_t)n * sizeof *p->used);
    tl_predicate_columns(pred, p->used);
    for (int32_t i = 0; i < n; i++) {
        if (!p->used[i])
            continue;
        if (only >= 0)
            return -1;
        only = i;
    }
    return only;
}

static tl_status node_ranges(page_pruner *p, const tl_predicate *pred, ranges *out)
{
    int32_t idx = only_column(p, pred);
    if (idx >= 0)
        return single_column(p, pred, idx, out);
    if ((pred->op == TL_PRED_AND || pred->op == TL_PRED_OR) && pred->n_children > 0)
        return combine(p, pred, out);
    return add_all(p, out);
}

tl_status tl_pq__group_ranges(const tl_pq_pruner *pruner, int32_t group, tl_row_ranges *out, tl_error *err)
{
    size_t n = (size_t)pruner->row_type->n_fields;
    page_pruner p = {.pruner = pruner, .group = group, .num_rows = pruner->file->meta.row_groups[group].num_rows, .err = err};
    ranges r = {0};
    tl_status status = TL_OK;
    if (pruner->predicate == NULL) {
        TL_TRY(add_all(&p, &r));
        *out = r.rows;
        return TL_OK;
    }
    p.columns = tl_arena_calloc(&p.arena, n, sizeof *p.columns);
    p.bounds = tl_arena_calloc(&p.arena, n, sizeof *p.bounds);
    p.used = tl_arena_calloc(&p.arena, n, sizeof *p.used);
    if (p.columns == NULL || p.bounds == NULL || p.used == NULL)
        status = tl_nomem(err, "row ranges");
    for (size_t i = 0; i < n && status == TL_OK; i++)
        p.bounds[i] = (tl_col_bounds){.null_count = -1};
    if (status == TL_OK)
        status = node_ranges(&p, pruner->predicate, &r);
    for (size_t i = 0; i < n && p.columns != NULL; i++) {
        tl_column_unref(p.columns[i].min);
        tl_column_unref(p.columns[i].max);
    }
    tl_arena_deinit(&p.arena);
    if (status != TL_OK) {
        ranges_deinit(&r);
        return status;
    }
    *out = r.rows;
    return TL_OK;
}
