/*
 * Records into columns: row by row, each value straight into the buffers of its column; nested ones go through builders.
 *
 * Where a field ends is known only when it was looked at, so that reading is one chain of dependent loads. What is common (numbers, strings
 * and decimals of up to 64 bits, null or not) is read without a branch on what the data is like: neither which rows are null nor how long
 * a number is can be foreseen. Such a step looks at up to FAST_BYTES bytes; near the end of a block, and for anything that it does not
 * expect, it declines, and the careful way reads the same field or says what is wrong.
 */
#include "format/avro/rows_private.h"

/* Strings of one batch: far below the 2^31 that offsets can hold, and bounds the memory of wide rows. */
#define BATCH_BYTES_MAX (64 << 20)
#define FAST_BYTES 96 /* a branch, a length of two bytes, and a string that is copied 64 bytes at once */

/* ---- one value, carefully ---- */

static void set_null(tl_avro_sink *s, int64_t row)
{
    tl_bit_clear(s->validity, row);
    s->col->null_count++;
    if (s->col->phys == TL_PHYS_BYTES)
        s->col->offsets[row + 1] = s->col->offsets[row];
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

static tl_status put_scalar(tl_avro_rows *r, tl_avro_sink *s)
{
    tl_avro_scalar v;
    if (!tl_avro__read_scalar(&r->c, s->node, &v))
        return TL_E_CORRUPT;
    if (s->col->phys != TL_PHYS_BYTES) {
        put_fixed(s->col, r->n, &v);
        return TL_OK;
    }
    TL_TRY(tl_buf_append(&s->data, v.bytes.data, v.bytes.len));
    if (s->data.len > INT32_MAX)
        return TL_E_LIMIT;
    r->batch_bytes += v.bytes.len;
    s->col->offsets[r->n + 1] = (int32_t)s->data.len;
    return TL_OK;
}

static tl_status read_field(tl_avro_rows *r, tl_avro_sink *s)
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
        if (branch == s->node->null_branch) {
            set_null(s, r->n);
            return TL_OK;
        }
    }
    return put_scalar(r, s);
}

/* Field `i`, in any case. */
static tl_status read_carefully(tl_avro_rows *r, int32_t i)
{
    const tl_avro_node *node = &r->row.children[i];
    if (node->op != TL_AVRO_OP_SKIP)
        return read_field(r, &r->sinks[node->target]);
    return tl_avro__skip(&r->c, node->schema) ? TL_OK : TL_E_CORRUPT;
}

/* ---- one value, quickly: where the next one begins, or NULL if the step declines ---- */

/* All ones if a value is there, else 0; moves behind the branch. */
static inline const uint8_t *read_branch(const uint8_t *p, const tl_avro_step *st, uint64_t *there)
{
    *there = ~(uint64_t)0;
    if (!st->nullable)
        return p;
    uint8_t branch = *p;
    *there = (uint64_t)(branch != st->value) - 1;
    return branch & ~2 ? NULL : p + 1;
}

static inline const uint8_t *read_number(const uint8_t *p, const tl_avro_step *st, int64_t row)
{
    uint64_t there;
    if ((p = read_branch(p, st, &there)) == NULL)
        return NULL;
    uint64_t head = tl_read_le64(p);
    unsigned n = tl_varint_head_bytes(head);
    if (n == 0)
        return NULL;
    int64_t v = tl_unzigzag64(tl_varint_head_value(head, n)) & (int64_t)there;
    tl_column *col = st->sink->col;
    if (st->kind == TL_AVRO_STEP_I64) {
        ((int64_t *)col->values)[row] = v;
    } else {
        if (v != (int32_t)v)
            return NULL;
        ((int32_t *)col->values)[row] = (int32_t)v;
    }
    if (st->nullable)
        tl_avro__note_null(st->sink, row, there);
    return p + (n & there);
}

/* A length of one byte or two; false: it is longer, or wrong. */
static inline bool read_length(const uint8_t **p, size_t *len)
{
    unsigned v = (*p)[0];
    *p += 1;
    if (v >= 0x80) {
        if ((*p)[0] >= 0x80)
            return false;
        v = (v & 0x7f) | (unsigned)(*p)[0] << 7;
        *p += 1;
    }
    *len = v >> 1;
    return (v & 1) == 0;
}

static inline const uint8_t *read_string(tl_avro_rows *r, const uint8_t *p, const uint8_t *end, const tl_avro_step *st)
{
    tl_avro_sink *s = st->sink;
    uint64_t there;
    size_t len;
    if ((p = read_branch(p, st, &there)) == NULL)
        return NULL;
    if (there == 0) {
        set_null(s, r->n);
        return p;
    }
    if (!read_length(&p, &len) || len > (size_t)(end - p) || s->data.len + len > INT32_MAX || s->data.cap - s->data.len < len + 64)
        return NULL; /* the careful way makes room */
    if (len <= 64 && end - p >= 64)
        memcpy(s->data.data + s->data.len, p, 64);
    else
        memcpy(s->data.data + s->data.len, p, len);
    s->data.len += len;
    r->batch_bytes += len;
    s->col->offsets[r->n + 1] = (int32_t)s->data.len;
    return p + len;
}

static inline const uint8_t *read_decimal(const uint8_t *p, const tl_avro_step *st, int64_t row)
{
    uint64_t there;
    if ((p = read_branch(p, st, &there)) == NULL)
        return NULL;
    unsigned len = *p >> 1; /* if it is there */
    if (there != 0 && ((*p & 1) != 0 || len == 0 || len > 8))
        return NULL;
    unsigned shift = (64 - 8 * len) & 63;
    ((int64_t *)st->sink->col->values)[row] = (int64_t)(tl_read_be64(p + 1)) >> shift & (int64_t)there;
    if (st->nullable)
        tl_avro__note_null(st->sink, row, there);
    return p + ((1 + len) & there);
}

static inline const uint8_t *read_fixed(const uint8_t *p, const tl_avro_step *st, int64_t row)
{
    uint64_t there, v;
    if ((p = read_branch(p, st, &there)) == NULL)
        return NULL;
    v = tl_read_le64(p) & there;
    if (st->width == 8)
        ((uint64_t *)st->sink->col->values)[row] = v;
    else
        ((uint32_t *)st->sink->col->values)[row] = (uint32_t)v;
    if (st->nullable)
        tl_avro__note_null(st->sink, row, there);
    return p + (st->width & there);
}

static inline const uint8_t *skip_number(const uint8_t *p, const tl_avro_step *st)
{
    uint64_t there;
    if ((p = read_branch(p, st, &there)) == NULL)
        return NULL;
    unsigned n = tl_varint_head_bytes(tl_read_le64(p));
    return n == 0 ? NULL : p + (n & there);
}

static inline const uint8_t *skip_string(const uint8_t *p, const uint8_t *end, const tl_avro_step *st)
{
    uint64_t there;
    size_t len;
    if ((p = read_branch(p, st, &there)) == NULL || there == 0)
        return p;
    return !read_length(&p, &len) || len > (size_t)(end - p) ? NULL : p + len;
}

static inline const uint8_t *skip_fixed(const uint8_t *p, const tl_avro_step *st)
{
    uint64_t there;
    return (p = read_branch(p, st, &there)) == NULL ? NULL : p + (st->width & there);
}

static inline const uint8_t *take_step(tl_avro_rows *r, const uint8_t *p, const uint8_t *end, const tl_avro_step *st)
{
    switch (st->kind) {
    case TL_AVRO_STEP_I32:
    case TL_AVRO_STEP_I64:
        return read_number(p, st, r->n);
    case TL_AVRO_STEP_BYTES:
        return read_string(r, p, end, st);
    case TL_AVRO_STEP_DECIMAL:
        return read_decimal(p, st, r->n);
    case TL_AVRO_STEP_FIXED:
        return read_fixed(p, st, r->n);
    case TL_AVRO_STEP_SKIP_NUMBER:
        return skip_number(p, st);
    case TL_AVRO_STEP_SKIP_BYTES:
        return skip_string(p, end, st);
    case TL_AVRO_STEP_SKIP_FIXED:
        return skip_fixed(p, st);
    default:
        return NULL;
    }
}

/* ---- records ---- */

/* So often may four fields at a time be declined, where nothing speaks for them; each time that they are taken makes up for some. */
#define CREDIT_MAX 64
#define CREDIT_LOSS 8

/* Where the field behind the four from `i` on begins; NULL: they are to be read one by one. */
static inline const uint8_t *take_four(tl_avro_rows *r, const uint8_t *p, int32_t i)
{
    const uint8_t *next = tl_avro__take_four(p, &r->steps[i], r->n);
    r->four_credit += next == NULL ? -CREDIT_LOSS : r->four_credit < CREDIT_MAX;
    return next;
}

static tl_status read_record(tl_avro_rows *r)
{
    int64_t branch;
    r->wrong_field = -1;
    if (r->null_branch >= 0 && (!tl_avro__read_long(&r->c, &branch) || branch != 1 - r->null_branch))
        return TL_E_CORRUPT;
    const uint8_t *p = r->c.p, *end = r->c.end;
    for (int32_t i = 0; i < r->row.n; i++) {
        const tl_avro_step *st = &r->steps[i];
        const uint8_t *next = NULL;
        if (TL_LIKELY(end - p >= FAST_BYTES)) {
            if (st->begins_four && r->four_credit > 0 && (next = take_four(r, p, i)) != NULL) {
                p = next;
                i += 3;
                continue;
            }
            next = take_step(r, p, end, st);
        }
        if (TL_LIKELY(next != NULL)) {
            p = next;
            continue;
        }
        r->c.p = p;
        r->wrong_field = i;
        TL_TRY(read_carefully(r, i));
        p = r->c.p;
    }
    r->c.p = p;
    return TL_OK;
}

tl_status tl_avro__rows_read(tl_avro_rows *r)
{
    for (; r->left > 0 && tl_avro__rows_have_room(r); r->left--, r->n++)
        TL_TRY(read_record(r));
    return TL_OK;
}

bool tl_avro__rows_have_room(const tl_avro_rows *r)
{
    return r->n < r->batch_rows && r->batch_bytes < BATCH_BYTES_MAX;
}

/* ---- batches ---- */

static bool is_nested(tl_phys phys)
{
    return phys == TL_PHYS_LIST || phys == TL_PHYS_MAP || phys == TL_PHYS_ROW;
}

tl_status tl_avro__rows_start(tl_avro_rows *r, tl_error *err)
{
    r->batch_bytes = 0;
    r->n = 0;
    size_t validity_bytes = tl_bitmap_bytes(r->batch_rows);
    for (int32_t c = 0; c < r->type->n_fields; c++) {
        tl_avro_sink *s = &r->sinks[c];
        if (s->node == NULL || is_nested(s->node->phys))
            continue;
        TL_TRY(tl_column_alloc(r->type->fields[c].type, r->batch_rows, &s->col, err));
        if (s->node->null_branch < 0)
            continue;
        if (s->validity == NULL && (s->validity = tl_alloc(validity_bytes)) == NULL)
            return tl_nomem(err, "Avro column");
        memset(s->validity, 0xff, validity_bytes);
    }
    return TL_OK;
}

tl_status tl_avro__rows_take(tl_avro_rows *r, int32_t column, tl_column **out, tl_error *err)
{
    tl_avro_sink *s = &r->sinks[column];
    if (s->node == NULL)
        return tl_column_nulls(r->type->fields[column].type, r->n, out, err);
    if (s->builder != NULL)
        return tl_builder_finish(s->builder, out, err);
    s->col->length = r->n;
    if (s->col->null_count > 0)
        s->col->validity = TL_STEAL(s->validity);
    if (s->data.data != NULL) {
        tl_free(s->col->data);
        s->col->data = tl_buf_steal(&s->data).data;
    }
    *out = TL_STEAL(s->col);
    return TL_OK;
}

/* ---- which steps ---- */

static tl_avro_step_kind kind_of_value(const tl_avro_node *node)
{
    bool same_ticks = node->phys == TL_PHYS_I64 && node->ticks_per_second == (node->type->precision <= 3 ? 1000 : 1000000);
    switch (node->op) {
    case TL_AVRO_OP_INT:
        return node->phys == TL_PHYS_I32 ? TL_AVRO_STEP_I32 : node->phys == TL_PHYS_I64 ? TL_AVRO_STEP_I64 : TL_AVRO_STEP_OTHER;
    case TL_AVRO_OP_TIMESTAMP:
        return same_ticks ? TL_AVRO_STEP_I64 : TL_AVRO_STEP_OTHER;
    case TL_AVRO_OP_BYTES:
        return TL_AVRO_STEP_BYTES;
    case TL_AVRO_OP_DECIMAL:
        return node->phys == TL_PHYS_I64 ? TL_AVRO_STEP_DECIMAL : TL_AVRO_STEP_OTHER;
    case TL_AVRO_OP_F32:
    case TL_AVRO_OP_F64:
        return TL_AVRO_STEP_FIXED;
    default:
        return TL_AVRO_STEP_OTHER;
    }
}

static tl_avro_step_kind kind_of_skipped(const tl_avro_schema *schema)
{
    switch (schema->wire) {
    case TL_AVRO_WIRE_INT:
    case TL_AVRO_WIRE_LONG:
        return TL_AVRO_STEP_SKIP_NUMBER;
    case TL_AVRO_WIRE_BYTES:
    case TL_AVRO_WIRE_STRING:
        return TL_AVRO_STEP_SKIP_BYTES;
    case TL_AVRO_WIRE_FLOAT:
    case TL_AVRO_WIRE_DOUBLE:
        return TL_AVRO_STEP_SKIP_FIXED;
    default:
        return TL_AVRO_STEP_OTHER;
    }
}

static void plan_step(tl_avro_rows *r, int32_t i)
{
    const tl_avro_node *node = &r->row.children[i];
    bool skipped = node->op == TL_AVRO_OP_SKIP;
    int null_branch = node->null_branch;
    const tl_avro_schema *schema = node->schema;
    if (skipped)
        schema = tl_avro__nullable(schema, &null_branch);
    r->steps[i] = (tl_avro_step){
        .kind = skipped ? kind_of_skipped(schema) : kind_of_value(node),
        .nullable = null_branch >= 0,
        .value = null_branch == 0 ? 2 : 0,
        .width = schema->wire == TL_AVRO_WIRE_DOUBLE ? 8 : 4,
        .sink = skipped ? NULL : &r->sinks[node->target],
    };
}

static bool may_be_of_four(const tl_avro_step *st, const tl_avro_step *first)
{
    return st->nullable && st->value == first->value &&
           (st->kind == TL_AVRO_STEP_I32 || st->kind == TL_AVRO_STEP_I64 || st->kind == TL_AVRO_STEP_SKIP_NUMBER);
}

static void plan_fours(tl_avro_rows *r)
{
    r->four_credit = tl_avro__can_take_four() ? CREDIT_MAX : 0;
    for (int32_t i = 0, n; i < r->row.n; i += n) {
        for (n = 0; n < 4 && i + n < r->row.n && may_be_of_four(&r->steps[i + n], &r->steps[i]); n++)
            ;
        r->steps[i].begins_four = n == 4;
        n = n == 4 ? 4 : 1;
    }
}

tl_status tl_avro__rows_init(tl_avro_rows *r, const tl_type *row_type, const tl_avro_schema *record, int null_branch, int64_t batch_rows,
                             tl_error *err)
{
    r->type = row_type;
    r->null_branch = null_branch;
    r->batch_rows = batch_rows;
    TL_TRY(tl_avro__node_create(row_type, record, &r->row, err));
    r->sinks = tl_calloc((size_t)row_type->n_fields + 1, sizeof *r->sinks);
    r->steps = tl_calloc((size_t)r->row.n + 1, sizeof *r->steps);
    if (r->sinks == NULL || r->steps == NULL)
        return tl_nomem(err, "Avro reader");
    for (int32_t i = 0; i < r->row.n; i++) {
        const tl_avro_node *node = &r->row.children[i];
        plan_step(r, i);
        if (node->op == TL_AVRO_OP_SKIP)
            continue;
        tl_avro_sink *s = &r->sinks[node->target];
        s->node = node;
        if (is_nested(node->phys))
            TL_TRY(tl_builder_create(node->type, &s->builder, err));
    }
    plan_fours(r);
    return TL_OK;
}

void tl_avro__rows_deinit(tl_avro_rows *r)
{
    for (int32_t c = 0; r->sinks != NULL && c < r->type->n_fields; c++) {
        tl_column_unref(r->sinks[c].col);
        tl_free(r->sinks[c].validity);
        tl_buf_deinit(&r->sinks[c].data);
        tl_builder_free(r->sinks[c].builder);
    }
    tl_free(r->sinks);
    tl_free(r->steps);
    tl_avro__node_deinit(&r->row);
}
