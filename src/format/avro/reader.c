/*
 * Data files as batches. Records are decoded row by row, each value straight into the buffers of its column; nested ones go
 * through builders. A batch may end inside a block, and span several.
 */
#include "format/avro/avro_private.h"
#include "format/passing.h"

/* Strings of one batch: far below the 2^31 that offsets can hold, and bounds the memory of wide rows. */
#define BATCH_BYTES_MAX (64 << 20)

/* A column of the batch being filled. */
typedef struct sink {
    const tl_avro_node *node; /* NULL: the file does not have the column */
    tl_column *col;           /* scalars: room for batch_rows values */
    tl_buf data;              /* BYTES */
    tl_builder *builder;      /* nested */
} sink;

typedef struct avro_reader {
    tl_reader base;
    tl_fs *fs; /* ref held */
    tl_file *file;
    char *name; /* for messages */
    tl_avro_in in;
    tl_avro_node row;
    sink *sinks;             /* one per column wanted */
    tl_predicate *predicate; /* rows that fail are left out; NULL: none */
    int64_t batch_rows;
    bool with_row_numbers;
    int64_t row_number; /* of the next record */
    const tl_row_ranges *wanted; /* NULL: all rows */
    size_t wanted_at;            /* the first of them that ends behind row_number */
    tl_bytes_view block;
    tl_avro_cursor c; /* in the block */
    int64_t left;     /* records in the block */
    size_t batch_bytes;
} avro_reader;

/* ---- one value ---- */

static tl_status set_null(sink *s, int64_t row, int64_t cap)
{
    tl_column *col = s->col;
    if (col->validity == NULL) {
        if ((col->validity = tl_alloc(tl_bitmap_bytes(cap))) == NULL)
            return TL_E_NOMEM;
        memset(col->validity, 0xff, tl_bitmap_bytes(cap));
    }
    tl_bit_clear(col->validity, row);
    col->null_count++;
    if (col->phys == TL_PHYS_BYTES)
        col->offsets[row + 1] = col->offsets[row];
    return TL_OK;
}

static void put_fixed(tl_column *col, int64_t row, const tl_avro_scalar *v)
{
    switch (col->phys) {
    case TL_PHYS_BOOL:
    case TL_PHYS_I8:
        ((int8_t *)col->values)[row] = (int8_t)v->i;
        break;
    case TL_PHYS_I16:
        ((int16_t *)col->values)[row] = (int16_t)v->i;
        break;
    case TL_PHYS_I32:
        ((int32_t *)col->values)[row] = (int32_t)v->i;
        break;
    case TL_PHYS_F32:
        ((float *)col->values)[row] = v->f32;
        break;
    case TL_PHYS_F64:
        ((double *)col->values)[row] = v->f64;
        break;
    case TL_PHYS_I128:
        ((tl_i128 *)col->values)[row] = v->i128;
        break;
    case TL_PHYS_TS96:
        ((tl_ts96 *)col->values)[row] = v->ts96;
        break;
    default:
        ((int64_t *)col->values)[row] = v->i;
    }
}

static tl_status put_scalar(avro_reader *r, sink *s, int64_t row)
{
    tl_avro_scalar v;
    if (!tl_avro__read_scalar(&r->c, s->node, &v))
        return TL_E_CORRUPT;
    if (s->col->phys != TL_PHYS_BYTES) {
        put_fixed(s->col, row, &v);
        return TL_OK;
    }
    TL_TRY(tl_buf_append(&s->data, v.bytes.data, v.bytes.len));
    if (s->data.len > INT32_MAX)
        return TL_E_LIMIT;
    r->batch_bytes += v.bytes.len;
    s->col->offsets[row + 1] = (int32_t)s->data.len;
    return TL_OK;
}

static tl_status read_field(avro_reader *r, sink *s, int64_t row)
{
    if (s->builder != NULL) {
        const uint8_t *before = r->c.p;
        TL_TRY(tl_avro__read_value(&r->c, s->node, s->builder));
        r->batch_bytes += (size_t)(r->c.p - before);
        return TL_OK;
    }
    if (s->node->null_branch >= 0) {
        int64_t branch;
        if (!tl_avro__read_long(&r->c, &branch) || (branch != 0 && branch != 1))
            return TL_E_CORRUPT;
        if (branch == s->node->null_branch)
            return set_null(s, row, r->batch_rows);
    }
    return put_scalar(r, s, row);
}

/* ---- one record ---- */

static tl_status field_error(avro_reader *r, int32_t field, tl_status status, tl_error *err)
{
    if (status == TL_E_NOMEM)
        return tl_nomem(err, "Avro column");
    tl_bytes_view name = field >= 0 ? r->in.schema->names[field] : (tl_bytes_view){(const uint8_t *)"?", 1};
    return tl_error_set(err, status == TL_E_CORRUPT || status == TL_E_INVALID ? TL_E_CORRUPT : status,
                        "block %lld: row %lld: field '%.*s' is wrong, truncated or too large", (long long)r->in.block_no,
                        (long long)r->row_number, (int)TL_MIN(name.len, 100), (const char *)name.data);
}

static tl_status read_record(avro_reader *r, int64_t row, tl_error *err)
{
    int64_t branch;
    if (r->in.null_branch >= 0 && (!tl_avro__read_long(&r->c, &branch) || branch != 1 - r->in.null_branch))
        return field_error(r, -1, TL_E_CORRUPT, err);
    for (int32_t i = 0; i < r->row.n; i++) {
        const tl_avro_node *node = &r->row.children[i];
        tl_status status = TL_OK;
        if (node->op != TL_AVRO_OP_SKIP)
            status = read_field(r, &r->sinks[node->target], row);
        else if (!tl_avro__skip(&r->c, node->schema))
            status = TL_E_CORRUPT;
        if (status != TL_OK)
            return field_error(r, i, status, err);
    }
    return TL_OK;
}

/* ---- one batch ---- */

/* Whether some of the next n rows are wanted. */
static bool is_wanted(avro_reader *r, int64_t n)
{
    if (r->wanted == NULL)
        return true;
    r->wanted_at = tl_row_ranges_find(r->wanted, r->wanted_at, r->row_number);
    return r->wanted_at < r->wanted->n && r->wanted->items[r->wanted_at].from - r->row_number < n;
}

static tl_status next_block(avro_reader *r, bool *more, tl_error *err)
{
    *more = true;
    while (r->left == 0) {
        tl_avro_block block;
        if (r->c.p != r->c.end)
            return tl_avro__in_corrupt(&r->in, "bytes after the last record", err);
        TL_TRY(tl_avro__in_head(&r->in, &block, err));
        if (block.at < 0) {
            *more = false;
            return TL_OK;
        }
        if (block.n_records > INT64_MAX - r->row_number)
            return tl_avro__in_corrupt(&r->in, "too many records", err);
        if (!is_wanted(r, block.n_records)) {
            tl_avro__in_pass(&r->in, &block);
            r->row_number += block.n_records;
            continue;
        }
        TL_TRY(tl_avro__in_body(&r->in, &block, &r->block, err));
        r->left = block.n_records;
        r->c = (tl_avro_cursor){r->block.data, r->block.data + r->block.len};
    }
    return TL_OK;
}

static bool is_nested(tl_phys phys)
{
    return phys == TL_PHYS_LIST || phys == TL_PHYS_MAP || phys == TL_PHYS_ROW;
}

static tl_status start_batch(avro_reader *r, tl_error *err)
{
    r->batch_bytes = 0;
    for (int32_t c = 0; c < r->base.type->n_fields; c++) {
        sink *s = &r->sinks[c];
        if (s->node != NULL && !is_nested(s->node->phys))
            TL_TRY(tl_column_alloc(r->base.type->fields[c].type, r->batch_rows, &s->col, err));
    }
    return TL_OK;
}

/* The filled column, cut to its rows. */
static tl_status finish_sink(avro_reader *r, int32_t c, int64_t n_rows, tl_column **out, tl_error *err)
{
    sink *s = &r->sinks[c];
    if (s->node == NULL)
        return tl_column_nulls(r->base.type->fields[c].type, n_rows, out, err);
    if (s->builder != NULL)
        return tl_builder_finish(s->builder, out, err);
    s->col->length = n_rows;
    if (s->data.data != NULL) {
        tl_free(s->col->data);
        s->col->data = tl_buf_steal(&s->data).data;
    }
    *out = TL_STEAL(s->col);
    return TL_OK;
}

static tl_status finish_batch(avro_reader *r, int64_t first_row, int64_t n_rows, tl_batch **out, tl_error *err)
{
    TL_CLEANUP(tl_batch_freep) tl_batch *batch = NULL;
    TL_TRY(tl_batch_create(r->base.type, n_rows, &batch, err));
    for (int32_t c = 0; c < batch->n_cols; c++)
        TL_TRY(finish_sink(r, c, n_rows, &batch->cols[c], err));
    if (r->with_row_numbers)
        TL_TRY(tl_batch_number(batch, first_row, err));
    *out = TL_STEAL(batch);
    return TL_OK;
}

static tl_status fill_batch(tl_reader *reader, tl_batch **out, tl_error *err)
{
    avro_reader *r = (avro_reader *)reader;
    int64_t row = 0;
    bool more;
    TL_TRY(next_block(r, &more, err));
    int64_t first_row = r->row_number;
    if (!more) {
        *out = NULL;
        return TL_OK;
    }
    TL_TRY(start_batch(r, err));
    /* Rows of a batch are numbered through, so that it ends where a block was passed over. */
    while (more && row < r->batch_rows && r->batch_bytes < BATCH_BYTES_MAX && r->row_number == first_row + row) {
        for (; r->left > 0 && row < r->batch_rows && r->batch_bytes < BATCH_BYTES_MAX; r->left--, row++, r->row_number++)
            TL_TRY(read_record(r, row, err));
        TL_TRY(next_block(r, &more, err));
    }
    return finish_batch(r, first_row, row, out, err);
}

static tl_status reader_next(tl_reader *reader, tl_batch **out, tl_error *err)
{
    avro_reader *r = (avro_reader *)reader;
    return tl_format__next_passing(reader, fill_batch, r->predicate, r->name, out, err);
}

static void reader_free(tl_reader *reader)
{
    avro_reader *r = (avro_reader *)reader;
    for (int32_t c = 0; r->sinks != NULL && c < r->base.type->n_fields; c++) {
        tl_column_unref(r->sinks[c].col);
        tl_buf_deinit(&r->sinks[c].data);
        tl_builder_free(r->sinks[c].builder);
    }
    tl_free(r->sinks);
    tl_avro__node_deinit(&r->row);
    tl_predicate_free(r->predicate);
    tl_avro__in_deinit(&r->in);
    if (r->file != NULL)
        (void)tl_file_close(r->file, NULL); /* was only read */
    if (r->fs != NULL)
        tl_fs_unref(r->fs);
    tl_type_unref(r->base.type);
    tl_free(r->name);
    tl_free(r);
}

/* ---- open ---- */

static tl_status open_input(tl_fs *fs, const char *path, int64_t bytes, tl_file **file, tl_avro_in *in, tl_error *err)
{
    int64_t size = bytes, mapped;
    TL_TRY(tl_fs_open_read(fs, path, file, err));
    if (size <= 0)
        TL_TRY(tl_file_size(*file, &size, err));
    tl_bytes_view memory = {tl_file_map(*file, &mapped), 0};
    if (memory.data != NULL) {
        memory.len = (size_t)mapped;
        size = mapped;
    }
    return tl_avro__in_open(in, memory, *file, size, err);
}

static tl_status prepare(avro_reader *r, const tl_read_spec *spec, tl_error *err)
{
    int32_t n = spec->row_type->n_fields;
    TL_TRY(tl_avro__node_create(spec->row_type, r->in.schema, &r->row, err));
    if ((r->sinks = tl_calloc((size_t)n + 1, sizeof *r->sinks)) == NULL)
        return tl_nomem(err, "Avro reader");
    for (int32_t i = 0; i < r->row.n; i++) {
        const tl_avro_node *node = &r->row.children[i];
        if (node->op == TL_AVRO_OP_SKIP)
            continue;
        sink *s = &r->sinks[node->target];
        s->node = node;
        if (is_nested(node->phys))
            TL_TRY(tl_builder_create(node->type, &s->builder, err));
    }
    return spec->predicate != NULL && spec->exact ? tl_predicate_dup(spec->predicate, &r->predicate, err) : TL_OK;
}

static const tl_reader_ops reader_ops = {reader_next, reader_free};

tl_status tl_avro__reader_open(tl_fs *fs, const char *path, int64_t bytes, const tl_read_spec *spec, tl_reader **out,
                               tl_error *err)
{
    avro_reader *r = tl_calloc(1, sizeof *r);
    if (r == NULL)
        return tl_nomem(err, "Avro reader");
    r->base.ops = &reader_ops;
    r->base.type = tl_type_ref(spec->row_type);
    r->fs = tl_fs_ref(fs);
    r->batch_rows = spec->batch_rows > 0 ? spec->batch_rows : TL_BATCH_ROWS;
    r->with_row_numbers = spec->with_row_numbers;
    r->wanted = spec->rows;
    tl_status status = (r->name = tl_strdup(tl_path_base(path))) == NULL ? tl_nomem(err, "Avro reader") : TL_OK;
    if (r->wanted != NULL)
        tl_avro__in_expect_gaps(&r->in);
    if (status == TL_OK)
        status = open_input(fs, path, bytes, &r->file, &r->in, err);
    if (status == TL_OK)
        status = prepare(r, spec, err);
    if (status != TL_OK) {
        reader_free(&r->base);
        return tl_error_wrap(err, status, "file '%s'", tl_path_base(path));
    }
    *out = &r->base;
    return TL_OK;
}
