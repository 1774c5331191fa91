/*
 * ARRAY, MAP, MULTISET, ROW, VARIANT -> repetition and definition levels, column by column (Dremel, "Dremel: Interactive
 * Analysis of Web-Scale Datasets", section 4.2; parquet-format, README.md "Nested Encoding").
 *
 * A node of the schema gets from its parent a list of *entries*: repetition level and definition level of each. An entry is
 * *live* if its definition level is as high as the path down to the parent allows; for the live ones, in order, `rows` tells
 * their rows in the node's column. A node
 *   - raises the level of its live entries that are not null (if it is nullable), which drops the others out;
 *   - if it is a list: replaces each live entry by one for each element, one level higher (an empty list's entry stays as it
 *     is and drops out);
 *   - hands the entries on to its children. At a leaf they are the levels, and the rows of the live ones are the values.
 * So the work is a few passes over flat arrays for each node, whatever the nesting.
 */
#include "format/parquet/write_private.h"

/** Rows taken at a time; pages end between them. */
#define SLICE_ROWS 1024
/** Elements of a top-level list taken at a time. */
#define SLICE_ELEMENTS 16384

#define BUFFERS_PER_NODE 3
/** The schema builder allows 100 levels of types. */
#define NODE_DEPTH_MAX 104

typedef struct entries {
    int64_t n;
    const uint8_t *reps;
    const uint8_t *defs;
    int64_t n_live;
    const uint32_t *rows; /* of the live entries */
    uint8_t live_def;     /* level of the live entries */
    uint8_t rep;          /* lists above */
} entries;

typedef struct shredder {
    tl_buf *buffers;
    tl_pq_leaf *next_leaf;
    int64_t n_records;
    tl_error *err;
} shredder;

static void *node_buffer(shredder *s, int depth, int which, size_t bytes)
{
    tl_buf *buf = &s->buffers[depth * BUFFERS_PER_NODE + which];
    buf->len = 0;
    if (tl_buf_reserve(buf, bytes + 8) != TL_OK)
        return NULL;
    return buf->data;
}

static tl_status nomem(shredder *s)
{
    return tl_nomem(s->err, "levels of a nested column");
}

/* ---- nulls ---- */

static bool has_null(const tl_column *col, const entries *in)
{
    if (col->validity == NULL || col->null_count == 0)
        return false;
    for (int64_t i = 0; i < in->n_live; i++)
        if (!tl_bit_get(col->validity, in->rows[i]))
            return true;
    return false;
}

/** Raise the live entries that are not null; `rows` receives the rows of those. */
static void raise_valid(const tl_column *col, const entries *in, uint8_t *defs, uint32_t *rows, entries *out)
{
    int64_t seen = 0;
    int64_t kept = 0;
    for (int64_t i = 0; i < in->n; i++) {
        bool is_live = in->defs[i] == in->live_def;
        uint32_t row = in->rows[seen];
        bool is_valid = is_live && tl_bit_get(col->validity, row);
        rows[kept] = row;
        kept += is_valid;
        seen += is_live;
        seen -= seen == in->n_live; /* stay inside; there is no live entry to come then */
        defs[i] = (uint8_t)(in->defs[i] + is_valid);
    }
    out->n_live = kept;
    out->rows = rows;
}

static tl_status apply_nullable(shredder *s, const tl_column *col, int depth, const entries *in, entries *out)
{
    uint8_t *defs = node_buffer(s, depth, 0, (size_t)in->n);
    if (defs == NULL)
        return nomem(s);
    *out = *in;
    out->defs = defs;
    out->live_def = (uint8_t)(in->live_def + 1);
    if (in->n_live == 0 || col->validity == NULL || col->null_count == 0) {
        for (int64_t i = 0; i < in->n; i++)
            defs[i] = (uint8_t)(in->defs[i] + (in->defs[i] == in->live_def));
        return TL_OK;
    }
    uint32_t *rows = node_buffer(s, depth, 1, (size_t)(in->n_live + 1) * sizeof *rows);
    if (rows == NULL)
        return nomem(s);
    raise_valid(col, in, defs, rows, out);
    return TL_OK;
}

/* ---- lists ---- */

/** Entries that the elements give, and elements. */
static void count_elements(const tl_column *col, const entries *in, int64_t *n_entries, int64_t *n_elements)
{
    int64_t elements = 0;
    int64_t empty = 0;
    for (int64_t i = 0; i < in->n_live; i++) {
        int32_t len = col->offsets[in->rows[i] + 1] - col->offsets[in->rows[i]];
        elements += len;
        empty += len == 0;
    }
    *n_elements = elements;
    *n_entries = in->n - in->n_live + elements + empty;
}

static void expand(const tl_column *col, const entries *in, uint8_t *reps, uint8_t *defs, uint32_t *rows)
{
    uint8_t rep = (uint8_t)(in->rep + 1);
    uint8_t def = (uint8_t)(in->live_def + 1);
    int64_t k = 0;
    int64_t n_rows = 0;
    int64_t live = 0;
    for (int64_t i = 0; i < in->n; i++) {
        int32_t from = 0;
        int32_t len = 0;
        if (in->defs[i] == in->live_def) {
            uint32_t row = in->rows[live++];
            from = col->offsets[row];
            len = col->offsets[row + 1] - from;
        }
        reps[k] = in->reps[i];
        defs[k] = len == 0 ? in->defs[i] : def;
        k++;
        for (int32_t j = 0; j < len; j++)
            rows[n_rows++] = (uint32_t)(from + j);
        for (int32_t j = 1; j < len; j++) {
            reps[k] = rep;
            defs[k] = def;
            k++;
        }
    }
}

static tl_status enter_list(shredder *s, const tl_column *col, int depth, const entries *in, entries *out)
{
    int64_t n_entries = 0;
    int64_t n_elements = 0;
    count_elements(col, in, &n_entries, &n_elements);
    uint8_t *reps = node_buffer(s, depth, 0, (size_t)n_entries);
    uint8_t *defs = node_buffer(s, depth, 1, (size_t)n_entries);
    uint32_t *rows = node_buffer(s, depth, 2, (size_t)n_elements * sizeof *rows);
    if (reps == NULL || defs == NULL || rows == NULL)
        return nomem(s);
    expand(col, in, reps, defs, rows);
    *out = (entries){
        .n = n_entries,
        .reps = reps,
        .defs = defs,
        .n_live = n_elements,
        .rows = rows,
        .live_def = (uint8_t)(in->live_def + 1),
        .rep = (uint8_t)(in->rep + 1),
    };
    return TL_OK;
}

/* ---- the walk ---- */

static tl_status shred_node(shredder *s, const tl_column *col, const tl_field *field, bool required, int depth, const entries *in);

static tl_status null_error(shredder *s, const tl_field *field, bool is_key)
{
    if (is_key)
        return tl_error_set(s->err, TL_E_INVALID, "Parquet cannot hold a null key of a map");
    return tl_error_set(s->err, TL_E_INVALID, "field '%s' is NOT NULL, but a value is null", field->name);
}

/** The contents of a node whose nulls are dealt with. `depth` is free for buffers. */
static tl_status shred_contents(shredder *s, const tl_column *col, const tl_type *type, int depth, const entries *in)
{
    entries elements = *in;
    bool is_list = col->phys == TL_PHYS_LIST || col->phys == TL_PHYS_MAP;
    if (is_list)
        TL_TRY(enter_list(s, col, depth, in, &elements));
    for (int32_t i = 0; i < type->n_fields; i++) {
        const tl_field *field = &type->fields[i];
        bool required = !field->type->nullable || type->kind == TL_VARIANT || (col->phys == TL_PHYS_MAP && i == 0);
        TL_TRY(shred_node(s, col->children[i], field, required, depth + 1, &elements));
    }
    return TL_OK;
}

static tl_status shred_node(shredder *s, const tl_column *col, const tl_field *field, bool required, int depth, const entries *in)
{
    entries own = *in;
    if (!required)
        TL_TRY(apply_nullable(s, col, depth, in, &own));
    else if (has_null(col, in))
        return null_error(s, field, field->type->nullable);
    if (col->n_children != 0)
        return shred_contents(s, col, field->type, depth + 1, &own);
    tl_pq_leaf *leaf = s->next_leaf++;
    return tl_pq__leaf_append_nested(leaf, col, own.rows, own.n_live, own.reps, own.defs, own.n, s->n_records, s->err);
}

/** Rows of the next slice: few enough elements for the scratch buffers, and no page beyond its limits by much. */
static int64_t slice_rows(const tl_pq_writer *writer, int32_t column, const tl_column *col, int64_t from, int64_t count)
{
    int64_t rows = TL_MAX(TL_MIN(writer->options.page_bytes / 1024, SLICE_ROWS), 1);
    rows = TL_MIN(rows, count);
    for (int32_t i = writer->schema.first_leaf[column]; i < writer->schema.first_leaf[column + 1]; i++)
        rows = TL_MIN(rows, writer->options.page_rows - writer->schema.leaves[i].page_rows);
    if (col->offsets == NULL)
        return rows;
    while (rows > 1 && col->offsets[from + rows] - col->offsets[from] > SLICE_ELEMENTS)
        rows /= 2;
    return rows;
}

static tl_status shred_slice(shredder *s, const tl_column *col, const tl_field *field, int64_t from, int64_t count)
{
    uint8_t *levels = node_buffer(s, 0, 0, (size_t)count);
    uint32_t *rows = node_buffer(s, 0, 1, (size_t)count * sizeof *rows);
    if (levels == NULL || rows == NULL)
        return nomem(s);
    memset(levels, 0, (size_t)count);
    for (int64_t i = 0; i < count; i++)
        rows[i] = (uint32_t)(from + i);
    entries all = {.n = count, .reps = levels, .defs = levels, .n_live = count, .rows = rows};
    return shred_node(s, col, field, !field->type->nullable, 1, &all);
}

tl_status tl_pq__shred(tl_pq_writer *writer, int32_t column, const tl_column *col, int64_t from, int64_t count, tl_error *err)
{
    if (writer->shred.buffers == NULL)
        writer->shred.buffers = tl_calloc((size_t)NODE_DEPTH_MAX * 2 * BUFFERS_PER_NODE, sizeof *writer->shred.buffers);
    if (writer->shred.buffers == NULL)
        return tl_nomem(err, "levels of a nested column");
    const tl_field *field = &writer->row_type->fields[column];
    while (count > 0) {
        int64_t rows = slice_rows(writer, column, col, from, count);
        shredder s = {
            .buffers = writer->shred.buffers,
            .next_leaf = &writer->schema.leaves[writer->schema.first_leaf[column]],
            .n_records = rows,
            .err = err,
        };
        TL_TRY(tl_error_wrap(err, shred_slice(&s, col, field, from, rows), "column '%s'", field->name));
        from += rows;
        count -= rows;
    }
    return TL_OK;
}

void tl_pq__shred_deinit(tl_pq_shred *shred)
{
    for (int i = 0; shred->buffers != NULL && i < NODE_DEPTH_MAX * 2 * BUFFERS_PER_NODE; i++)
        tl_buf_deinit(&shred->buffers[i]);
    tl_free(shred->buffers);
    shred->buffers = NULL;
}
