/*
 * Records of a container file as structs: the writer schema is resolved once, by field name, into a list of steps in the
 * file's order; decoding a record runs the steps. Nothing is allocated per record, arrays go into buffers of their step.
 */
#include "format/avro/avro_private.h"

typedef struct plan plan;

typedef struct step {
    const tl_avro_field *field;   /* NULL: pass over a value of `schema` */
    const tl_avro_schema *schema; /* without the union around it */
    int8_t null_branch;           /* index of null in the union around it; -1: no union */
    int8_t item_null_branch;      /* the same for the items of an array */
    plan *sub;                    /* RECORD, NULL_RECORDS */
    void *items;                  /* of the array read last */
    size_t items_cap;             /* bytes */
} step;

struct plan {
    const tl_avro_record *record;
    step *steps;
    int32_t n_steps;
};

struct tl_avro_records {
    tl_avro_in in;
    const tl_avro_record *record;
    plan *plan;
    void *cleared; /* a record with nothing read */
    tl_bytes_view block;
    tl_avro_cursor c; /* in the block */
    int64_t left;     /* records in the block */
};

static void plan_free(plan *p)
{
    if (p == NULL)
        return;
    for (int32_t i = 0; i < p->n_steps; i++) {
        plan_free(p->steps[i].sub);
        tl_free(p->steps[i].items);
    }
    tl_free(p->steps);
    tl_free(p);
}

static bool wire_is_integer(const tl_avro_schema *s)
{
    return s->wire == TL_AVRO_WIRE_INT || s->wire == TL_AVRO_WIRE_LONG;
}

static bool wire_is_bytes(const tl_avro_schema *s)
{
    return s->wire == TL_AVRO_WIRE_BYTES || s->wire == TL_AVRO_WIRE_STRING;
}

static bool kind_accepts(tl_avro_kind kind, const tl_avro_schema *s, const tl_avro_schema *item)
{
    switch (kind) {
    case TL_AVRO_I32:
    case TL_AVRO_I8:
    case TL_AVRO_I64:
    case TL_AVRO_MILLIS:
        return wire_is_integer(s);
    case TL_AVRO_STR:
    case TL_AVRO_BIN:
        return wire_is_bytes(s);
    case TL_AVRO_I32S:
    case TL_AVRO_NULL_I64S:
        return item != NULL && wire_is_integer(item);
    case TL_AVRO_STRS:
        return item != NULL && wire_is_bytes(item);
    case TL_AVRO_RECORD:
        return s->wire == TL_AVRO_WIRE_RECORD;
    case TL_AVRO_NULL_RECORDS:
        return item != NULL && item->wire == TL_AVRO_WIRE_RECORD;
    }
    return false;
}

static tl_status plan_create(const tl_avro_record *record, const tl_avro_schema *schema, plan **out, tl_error *err);

static tl_status bind_step(step *s, const tl_avro_field *field, tl_error *err)
{
    s->field = field;
    const tl_avro_schema *item = NULL;
    if (s->schema->wire == TL_AVRO_WIRE_ARRAY) {
        int branch;
        item = tl_avro__nullable(s->schema->children[0], &branch);
        s->item_null_branch = (int8_t)branch;
    }
    if (!kind_accepts(field->kind, s->schema, item))
        return tl_error_set(err, TL_E_CORRUPT, "field '%s' has the unexpected type %s", field->name,
                            tl_avro__wire_name(s->schema->wire));
    if (field->record == NULL)
        return TL_OK;
    return plan_create(field->record, item == NULL ? s->schema : item, &s->sub, err);
}

static tl_status bind_fields(plan *p, const tl_avro_record *record, const tl_avro_schema *schema, tl_error *err)
{
    for (int32_t i = 0; i < schema->n; i++) {
        int branch;
        p->steps[i].schema = tl_avro__nullable(schema->children[i], &branch);
        p->steps[i].null_branch = (int8_t)branch;
        p->steps[i].item_null_branch = -1;
    }
    p->n_steps = schema->n;
    for (int32_t f = 0; f < record->n_fields; f++) {
        const tl_avro_field *field = &record->fields[f];
        int32_t i = tl_avro__field_index(schema, field->name);
        if (i < 0 && !field->nullable)
            return tl_error_set(err, TL_E_CORRUPT, "the file's schema has no field '%s'", field->name);
        if (i >= 0)
            TL_TRY(bind_step(&p->steps[i], field, err));
    }
    return TL_OK;
}

static tl_status plan_create(const tl_avro_record *record, const tl_avro_schema *schema, plan **out, tl_error *err)
{
    plan *p = tl_calloc(1, sizeof *p);
    if (p == NULL || (p->steps = tl_calloc((size_t)schema->n + 1, sizeof *p->steps)) == NULL) {
        tl_free(p);
        return tl_nomem(err, "Avro reader");
    }
    p->record = record;
    tl_status status = bind_fields(p, record, schema, err);
    if (status != TL_OK)
        plan_free(p);
    else
        *out = p;
    return status;
}

tl_status tl_avro_records_open(tl_bytes_view file, const tl_avro_record *record, tl_avro_records **out, tl_error *err)
{
    static const uint8_t nothing[1];
    if (file.data == NULL)
        file.data = nothing;
    TL_CLEANUP(tl_avro_records_freep) tl_avro_records *r = tl_calloc(1, sizeof *r);
    if (r == NULL || (r->cleared = tl_alloc(record->bytes)) == NULL)
        return tl_nomem(err, "Avro reader");
    r->record = record;
    tl_avro_record_clear(record, r->cleared);
    TL_TRY(tl_avro__in_open(&r->in, file, /* file= */ NULL, (int64_t)file.len, err));
    TL_TRY(plan_create(record, r->in.schema, &r->plan, err));
    *out = TL_STEAL(r);
    return TL_OK;
}

void tl_avro_records_free(tl_avro_records *r)
{
    if (r == NULL)
        return;
    plan_free(r->plan);
    tl_avro__in_deinit(&r->in);
    tl_free(r->cleared);
    tl_free(r);
}

tl_bytes_view tl_avro_records_schema(const tl_avro_records *r)
{
    return tl_avro__parsed_text(r->in.parsed);
}

/* ---- decoding; false: the bytes are wrong. Running out of memory looks the same to the caller, who then asks `nomem`. ---- */

typedef struct decoder {
    tl_avro_cursor c;
    const char *field; /* that was being read when it went wrong */
    bool nomem;
} decoder;

static bool decode_record(decoder *d, plan *p, void *out);

/* Room for `n` more items of `item_bytes` after `used`. Items take at least a byte of input each, so this is bounded by it. */
static bool grow_items(decoder *d, step *s, size_t used, int64_t n, size_t item_bytes)
{
    size_t need = (used + (size_t)n) * item_bytes;
    if (need <= s->items_cap)
        return true;
    size_t cap = TL_MAX(need, s->items_cap * 2);
    void *grown = tl_realloc(s->items, cap);
    if (grown == NULL) {
        d->nomem = true;
        return false;
    }
    s->items = grown;
    s->items_cap = cap;
    return true;
}

/* Index of a union of null and another type: *is_null. */
static bool read_branch(tl_avro_cursor *c, int null_branch, bool *is_null)
{
    int64_t v;
    *is_null = false;
    if (null_branch < 0)
        return true;
    if (!tl_avro__read_long(c, &v) || (v != 0 && v != 1))
        return false;
    *is_null = v == null_branch;
    return true;
}

static size_t item_size(const step *s)
{
    switch (s->field->kind) {
    case TL_AVRO_STRS:
        return sizeof(tl_bytes_view);
    case TL_AVRO_NULL_RECORDS:
        return s->field->record->bytes;
    default:
        return sizeof(int64_t);
    }
}

/* One item at index *n of s->items; a null record is left out. */
static bool read_item(decoder *d, step *s, int32_t *n)
{
    bool is_null;
    if (!read_branch(&d->c, s->item_null_branch, &is_null))
        return false;
    switch (s->field->kind) {
    case TL_AVRO_NULL_RECORDS: {
        if (is_null)
            return true;
        void *at = (char *)s->items + (size_t)*n * s->field->record->bytes;
        tl_avro_record_clear(s->field->record, at);
        if (!decode_record(d, s->sub, at))
            return false;
        break;
    }
    case TL_AVRO_STRS:
        if (is_null || !tl_avro__read_bytes(&d->c, (tl_bytes_view *)s->items + *n))
            return false;
        break;
    default: {
        int64_t *at = (int64_t *)s->items + *n;
        if (is_null)
            *at = TL_AVRO_ABSENT;
        else if (!tl_avro__read_long(&d->c, at))
            return false;
    }
    }
    ++*n;
    return true;
}

static bool read_array(decoder *d, step *s, void *out)
{
    int32_t n = 0;
    for (;;) {
        int64_t count;
        if (!tl_avro__read_block(&d->c, 1, &count) || count > INT32_MAX - n ||
            !grow_items(d, s, (size_t)n, count, item_size(s)))
            return false;
        if (count == 0)
            break;
        for (int64_t i = 0; i < count; i++) {
            if (!read_item(d, s, &n))
                return false;
        }
    }
    if (s->field->kind == TL_AVRO_STRS)
        *(tl_avro_strs *)out = (tl_avro_strs){s->items, n};
    else if (s->field->kind == TL_AVRO_NULL_RECORDS)
        *(tl_avro_structs *)out = (tl_avro_structs){s->items, n};
    else
        *(tl_avro_longs *)out = (tl_avro_longs){s->items, n};
    return true;
}

static bool read_value(decoder *d, step *s, void *out)
{
    switch (s->field->kind) {
    case TL_AVRO_I32:
        return tl_avro__read_long(&d->c, out) && *(int64_t *)out >= INT32_MIN && *(int64_t *)out <= INT32_MAX;
    case TL_AVRO_I8:
        return tl_avro__read_long(&d->c, out) && *(int64_t *)out >= INT8_MIN && *(int64_t *)out <= INT8_MAX;
    case TL_AVRO_I64:
    case TL_AVRO_MILLIS:
        return tl_avro__read_long(&d->c, out);
    case TL_AVRO_STR:
    case TL_AVRO_BIN:
        return tl_avro__read_bytes(&d->c, out);
    case TL_AVRO_RECORD:
        return decode_record(d, s->sub, out);
    default:
        return read_array(d, s, out);
    }
}

/* `out` holds a cleared record. */
static bool decode_record(decoder *d, plan *p, void *out)
{
    for (int32_t i = 0; i < p->n_steps; i++) {
        step *s = &p->steps[i];
        const tl_avro_field *f = s->field;
        bool is_null;
        if (!read_branch(&d->c, s->null_branch, &is_null) || (is_null && f != NULL && !f->nullable)) {
            d->field = f != NULL ? f->name : d->field;
            return false;
        }
        if (is_null)
            continue;
        if (f == NULL ? !tl_avro__skip(&d->c, s->schema) : !read_value(d, s, (char *)out + f->offset)) {
            d->field = d->field == NULL && f != NULL ? f->name : d->field;
            return false;
        }
        if (f != NULL && f->kind == TL_AVRO_RECORD && f->nullable)
            *((bool *)out + f->present_offset) = true;
    }
    return true;
}

/* Start the next block that has records; false in *more at the end of the file. */
static tl_status next_block(tl_avro_records *r, bool *more, tl_error *err)
{
    while (r->left == 0) {
        if (r->c.p != r->c.end)
            return tl_avro__in_corrupt(&r->in, "bytes after the last record", err);
        tl_bytes_view data;
        TL_TRY(tl_avro__in_next(&r->in, &data, &r->left, err));
        if (data.data == NULL) {
            *more = false;
            return TL_OK;
        }
        r->block = data;
        r->c = (tl_avro_cursor){data.data, data.data + data.len};
    }
    *more = true;
    return TL_OK;
}

tl_status tl_avro_records_next(tl_avro_records *r, void *out, bool *more, tl_error *err)
{
    TL_TRY(next_block(r, more, err));
    if (!*more)
        return TL_OK;
    decoder d = {.c = r->c};
    memcpy(out, r->cleared, r->record->bytes);
    bool is_null;
    bool ok = read_branch(&d.c, r->in.null_branch, &is_null) && !is_null && decode_record(&d, r->plan, out);
    if (d.nomem)
        return tl_nomem(err, "Avro array");
    if (!ok)
        return tl_error_set(err, TL_E_CORRUPT, "block %lld: record at byte %lld of %zu: field '%s' is wrong or truncated",
                            (long long)r->in.block_no, (long long)(r->c.p - r->block.data), r->block.len,
                            d.field != NULL ? d.field : "?");
    r->c = d.c;
    r->left--;
    return TL_OK;
}
