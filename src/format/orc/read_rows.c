/*
 * The reader: stripes as the parts of a row reader, row groups that may match as their ranges. Each column knows how far it is read;
 * where it lags behind, the row index brings it near, and the rest is passed over.
 */
#include "format/orc/read_private.h"

/* Strings and lists make batches smaller, so that they have about this size. */
#define BATCH_BYTES_MAX ((int64_t)256 << 20)
#define BATCH_ROWS_MIN 16
/* Rows up to so many between two that are wanted are read with them: less than a batch more would cost. */
#define GAP_ROWS 511
/* Passing rows are read one by one if a run of them stands for this many rows of the window; else all are read. */
#define ROWS_PER_RUN_MIN 64

typedef struct orc_rows {
    tl_format__row_reader base;
    tl_orc_file file;
    tl_orc_zone zone;
    int32_t n_cols; /* that are initialised */
    tl_orc_node *cols;
    bool *can_seek; /* in this stripe */
    int64_t *at;    /* rows of the stripe that are read */
    tl_bytes_view *stats;
    /* the stripe */
    tl_arena stripe_arena;
    int64_t rows;
    int64_t stride;
    int64_t n_groups;
    int64_t batch_rows;
} orc_rows;

/* ---- pruning ---- */

static tl_status file_may_match(orc_rows *r, bool *out, tl_error *err)
{
    for (int32_t i = 0; i < r->n_cols; i++) {
        int32_t column = r->cols[i].column;
        r->stats[i] = column >= 0 && column < r->file.meta.n_stats ? r->file.meta.stats[column] : (tl_bytes_view){0};
    }
    return tl_orc__may_match(r->base.predicate, &r->file.meta, r->cols, r->n_cols, r->base.is_used, r->stats, r->file.meta.rows, out, err);
}

/* ColumnStatistics of the columns out of a StripeStatistics message. */
static void stripe_stats(orc_rows *r, int32_t stripe)
{
    memset(r->stats, 0, (size_t)r->n_cols * sizeof *r->stats);
    if (stripe >= r->file.meta.n_stripe_stats)
        return;
    tl_orc_pb pb = tl_orc__pb(r->file.meta.stripe_stats[stripe]);
    for (int32_t column = 0; tl_orc__pb_next(&pb);) {
        if (pb.field != 1)
            continue;
        for (int32_t i = 0; i < r->n_cols; i++)
            if (r->cols[i].column == column)
                r->stats[i] = pb.bytes;
        column++;
    }
}

static tl_bytes_view entry_stats(tl_bytes_view entry)
{
    tl_orc_pb pb = tl_orc__pb(entry);
    tl_bytes_view out = {0};
    while (tl_orc__pb_next(&pb))
        if (pb.field == 2)
            out = pb.bytes;
    return out;
}

/* Whether rows of row group g may pass, by its statistics and its bloom filters. */
static tl_status group_may_match(orc_rows *r, int64_t g, bool *out, tl_error *err)
{
    const tl_predicate *predicate = r->base.predicate;
    int64_t rows = TL_MIN(r->stride, r->rows - g * r->stride);
    for (int32_t i = 0; i < r->n_cols; i++) {
        bool has_entry = r->base.is_used[i] && r->cols[i].op != TL_ORC_OP_ABSENT && r->cols[i].n_entries == r->n_groups;
        r->stats[i] = has_entry ? entry_stats(r->cols[i].entries[g]) : (tl_bytes_view){0};
    }
    TL_TRY(tl_orc__may_match(predicate, &r->file.meta, r->cols, r->n_cols, r->base.is_used, r->stats, rows, out, err));
    return *out ? tl_orc__bloom_may_match(predicate, &r->file, r->cols, g, r->n_groups, &r->stripe_arena, out, err) : TL_OK;
}

static tl_status groups_that_match(orc_rows *r, tl_row_ranges *out, tl_error *err)
{
    out->items = tl_alloc((size_t)r->n_groups * sizeof *out->items);
    if (out->items == NULL)
        return tl_nomem(err, "row groups");
    for (int64_t g = 0; g < r->n_groups; g++) {
        bool may_match;
        int64_t from = g * r->stride, to = TL_MIN(from + r->stride, r->rows);
        TL_TRY(group_may_match(r, g, &may_match, err));
        if (may_match && out->n > 0 && out->items[out->n - 1].to == from)
            out->items[out->n - 1].to = to;
        else if (may_match)
            out->items[out->n++] = (tl_row_range){from, to};
    }
    return TL_OK;
}

/* ---- stripes ---- */

static tl_status read_stripe_footer(orc_rows *r, const tl_orc_stripe *stripe, tl_orc_stripe_footer *out, tl_error *err)
{
    tl_buf plain = {0};
    tl_status status = tl_orc__file_plain(&r->file, stripe->offset + stripe->index_bytes + stripe->data_bytes,
                                          stripe->footer_bytes, &plain, err);
    uint8_t *kept = status == TL_OK ? tl_arena_alloc(&r->stripe_arena, plain.len + 1) : NULL;
    if (status == TL_OK && kept == NULL)
        status = tl_nomem(err, "stripe footer");
    if (status == TL_OK && plain.len > 0)
        memcpy(kept, plain.data, plain.len);
    if (status == TL_OK)
        status = tl_orc__read_stripe_footer((tl_bytes_view){kept, plain.len}, stripe, &r->stripe_arena, out, err);
    tl_buf_deinit(&plain);
    return status;
}

static tl_status open_columns(orc_rows *r, const tl_orc_stripe *stripe, tl_error *err)
{
    tl_orc_stripe_footer footer;
    TL_TRY(read_stripe_footer(r, stripe, &footer, err));
    int64_t row_bytes = 0;
    for (int32_t i = 0; i < r->n_cols; i++) {
        TL_TRY(tl_orc__node_open(&r->cols[i], &r->file, &footer, &r->zone, &r->stripe_arena, err));
        r->can_seek[i] = r->stride > 0 && tl_orc__node_can_seek(&r->cols[i], r->n_groups);
        r->at[i] = 0;
        row_bytes = TL_MAX(row_bytes, tl_orc__node_row_bytes(&r->cols[i], stripe->rows));
    }
    r->batch_rows = TL_MAX(BATCH_BYTES_MAX / TL_MAX(row_bytes, 1), (int64_t)BATCH_ROWS_MIN);
    return TL_OK;
}

static tl_status all_rows(const orc_rows *r, tl_row_ranges *out, tl_error *err)
{
    out->items = tl_alloc(sizeof *out->items);
    if (out->items == NULL)
        return tl_nomem(err, "stripe");
    out->items[out->n++] = (tl_row_range){0, r->rows};
    return TL_OK;
}

/* Whether there is something to ask of row groups: all columns of the predicate that the stripe has tell of them, and there is one. */
static bool has_row_index(const orc_rows *r)
{
    int32_t n = 0;
    bool all = r->base.predicate != NULL && r->stride > 0;
    for (int32_t i = 0; i < r->n_cols && all; i++) {
        bool asked = r->base.is_used[i] && r->cols[i].op != TL_ORC_OP_ABSENT;
        all = !asked || r->cols[i].n_entries == r->n_groups;
        n += asked;
    }
    return all && n > 0;
}

static int64_t stripe_rows(tl_format__row_reader *reader, int32_t s)
{
    return ((orc_rows *)reader)->file.meta.stripes[s].rows;
}

/* What tells of row groups lies in the streams of the stripe, so that it is opened here. */
static tl_status stripe_ranges(tl_format__row_reader *reader, int32_t s, tl_row_ranges *out, tl_error *err)
{
    orc_rows *r = (orc_rows *)reader;
    const tl_orc_stripe *stripe = &r->file.meta.stripes[s];
    bool may_match = true;
    r->rows = stripe->rows;
    r->stride = r->file.meta.stride;
    r->n_groups = r->stride > 0 ? (r->rows + r->stride - 1) / r->stride : 1;
    if (reader->predicate != NULL) {
        stripe_stats(r, s);
        TL_TRY(tl_orc__may_match(reader->predicate, &r->file.meta, r->cols, r->n_cols, reader->is_used, r->stats, r->rows, &may_match, err));
    }
    if (!may_match)
        return TL_OK;
    tl_arena_deinit(&r->stripe_arena);
    TL_TRY(open_columns(r, stripe, err));
    return has_row_index(r) ? groups_that_match(r, out, err) : all_rows(r, out, err);
}

static tl_status window_rows(tl_format__row_reader *reader, int64_t *rows, tl_error *err)
{
    (void)err;
    *rows = TL_MIN(*rows, ((orc_rows *)reader)->batch_rows);
    return TL_OK;
}

/* ---- columns ---- */

static tl_status skip_to(orc_rows *r, int32_t i, int64_t row, tl_error *err)
{
    int64_t group = r->stride > 0 ? row / r->stride : 0;
    if (r->can_seek[i] && group * r->stride > r->at[i]) {
        TL_TRY(tl_orc__node_seek(&r->cols[i], group, err));
        r->at[i] = group * r->stride;
    }
    while (r->at[i] < row) {
        int64_t n = TL_MIN(row - r->at[i], r->base.window_rows_max);
        TL_TRY(tl_orc__node_skip(&r->cols[i], n, err));
        r->at[i] += n;
    }
    return TL_OK;
}

static tl_status read_range(orc_rows *r, int32_t i, tl_row_range rows, tl_column **out, tl_error *err)
{
    TL_TRY(skip_to(r, i, rows.from, err));
    TL_TRY(tl_orc__node_read(&r->cols[i], rows.to - rows.from, NULL, out, err));
    r->at[i] = rows.to;
    return TL_OK;
}

/* Each range as a column of its own, put together then. */
static tl_status read_pieces(orc_rows *r, int32_t i, const tl_row_ranges *rows, tl_column **out, tl_error *err)
{
    tl_status status = TL_OK;
    int32_t n = 0;
    tl_column **pieces = tl_calloc(rows->n, sizeof *pieces);
    if (pieces == NULL)
        return tl_nomem(err, "column");
    for (; n < (int32_t)rows->n && status == TL_OK; n++)
        status = read_range(r, i, rows->items[n], &pieces[n], err);
    if (status == TL_OK)
        status = tl_column_concat(r->cols[i].want, (const tl_column *const *)pieces, n, out, err);
    for (int32_t k = 0; k < n; k++)
        tl_column_unref(pieces[k]);
    tl_free(pieces);
    return status;
}

static tl_status read_column(tl_format__row_reader *reader, int32_t col, const tl_row_ranges *rows, int64_t n_rows, tl_column **out,
                             tl_error *err)
{
    orc_rows *r = (orc_rows *)reader;
    if (r->cols[col].op == TL_ORC_OP_ABSENT)
        return tl_column_nulls(r->cols[col].want, n_rows, out, err);
    tl_status status = rows->n == 1 ? read_range(r, col, rows->items[0], out, err) : read_pieces(r, col, rows, out, err);
    return tl_error_wrap(err, status, "column '%s'", reader->base.type->fields[col].name);
}

/* ---- open ---- */

int32_t tl_orc__find_column(const tl_orc_type *root, const char *name)
{
    if (root->kind != TL_ORC_STRUCT)
        return strcmp(name, TL_ORC_ONLY_COLUMN) == 0 ? 0 : -1;
    for (int32_t i = 0; i < root->n_children; i++)
        if (strcmp(root->names[i], name) == 0)
            return root->children[i];
    return -1;
}

static tl_status rows_open(tl_format__row_reader *reader, tl_fs *fs, const char *path, int64_t bytes, tl_error *err)
{
    orc_rows *r = (orc_rows *)reader;
    TL_TRY(tl_orc__file_open(fs, path, bytes, &r->file, err));
    reader->path = r->file.in.path;
    return TL_OK;
}

static tl_status init_columns(orc_rows *r, tl_error *err)
{
    tl_arena *arena = &r->base.arena;
    const tl_type *type = r->base.base.type;
    size_t n = (size_t)type->n_fields + 1;
    r->cols = tl_arena_calloc(arena, n, sizeof *r->cols);
    r->can_seek = tl_arena_calloc(arena, n, sizeof *r->can_seek);
    r->at = tl_arena_calloc(arena, n, sizeof *r->at);
    r->stats = tl_arena_calloc(arena, n, sizeof *r->stats);
    if (r->cols == NULL || r->can_seek == NULL || r->at == NULL || r->stats == NULL)
        return tl_nomem(err, "ORC reader");
    for (int32_t i = 0; i < type->n_fields; i++) {
        const tl_field *field = &type->fields[i];
        r->n_cols = i + 1;
        int32_t column = tl_orc__find_column(&r->file.meta.types[0], field->name);
        tl_status status = tl_orc__node_init(&r->cols[i], &r->file.meta, column, field->type, arena, err);
        TL_TRY(tl_error_wrap(err, status, "column '%s'", field->name));
    }
    return TL_OK;
}

static tl_status rows_init(tl_format__row_reader *reader, tl_error *err)
{
    orc_rows *r = (orc_rows *)reader;
    bool may_match = true;
    TL_TRY(init_columns(r, err));
    if (reader->predicate != NULL)
        TL_TRY(file_may_match(r, &may_match, err));
    reader->n_parts = may_match ? r->file.meta.n_stripes : 0;
    return TL_OK;
}

static void rows_close(tl_format__row_reader *reader)
{
    orc_rows *r = (orc_rows *)reader;
    for (int32_t i = 0; i < r->n_cols; i++)
        tl_orc__node_deinit(&r->cols[i]);
    tl_orc__zone_deinit(&r->zone);
    tl_arena_deinit(&r->stripe_arena);
    tl_orc__file_close(&r->file);
}

tl_status tl_orc__open(tl_fs *fs, const char *path, int64_t bytes, const tl_read_spec *spec, tl_reader **out, tl_error *err)
{
    static const tl_format__row_ops ops = {
        .bytes = sizeof(orc_rows),
        .file_name = "ORC file",
        .part_name = "stripe",
        .window_ranges = 1,
        .gap_rows = GAP_ROWS,
        .run_rows = ROWS_PER_RUN_MIN,
        .open = rows_open,
        .init = rows_init,
        .part_rows = stripe_rows,
        .part_ranges = stripe_ranges,
        .window_rows = window_rows,
        .read_column = read_column,
        .close = rows_close,
    };
    return tl_format__row_reader_open(&ops, fs, path, bytes, spec, out, err);
}

tl_status tl_orc__schema(tl_fs *fs, const char *path, const tl_type **out, tl_error *err)
{
    tl_orc_file file;
    TL_TRY(tl_orc__file_open(fs, path, 0, &file, err));
    tl_status status = tl_orc__root_type(&file.meta, out, err);
    tl_orc__file_close(&file);
    return tl_error_wrap(err, status, "ORC file '%s'", path);
}
