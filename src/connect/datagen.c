/*
 * Source 'datagen': rows made of sequences or random values. Options per column as in Flink: fields.C.kind (random, sequence),
 * .min, .max, .length, .start, .end; rows-per-second (10000), number-of-rows.
 *
 * Row n is a function of n alone, so a resumed source goes on with exactly the rows that would have come.
 * Position: {"row":N}.
 */
#include <stdlib.h>

#include "base/parse.h"
#include "connect/connect_private.h"
#include "types/text.h"

typedef struct column_gen {
    bool sequence;
    int64_t min, max; /* sequence: start and end; times: milliseconds around now are not random here, but from min to max */
    double fmin, fmax;
    int32_t length; /* text and binary */
} column_gen;

typedef struct datagen_source {
    tl_source base;
    const tl_type *type;
    column_gen *columns;
    tl_row_buffer rows;
    int64_t row;   /* next */
    int64_t end;   /* INT64_MAX: unbounded */
    int64_t rate;  /* rows per second */
    int64_t start_ns;
    int64_t start_row;
} datagen_source;

static uint64_t mix(uint64_t row, uint64_t column)
{
    uint64_t z = row * UINT64_C(0x9e3779b97f4a7c15) + (column + 1) * UINT64_C(0xd1342543de82ef95);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static tl_status add_text(const column_gen *gen, uint64_t random, tl_builder *builder)
{
    static const char digits[] = "0123456789abcdef";
    char text[256];
    int32_t n = TL_MIN(gen->length, (int32_t)sizeof text);
    for (int32_t i = 0; i < n; i++) {
        if (i % 16 == 0 && i > 0)
            random = mix(random, (uint64_t)i);
        text[i] = digits[random >> (i % 16 * 4) & 15];
    }
    return tl_builder_bytes(builder, text, (size_t)n);
}

static tl_status add_value(const datagen_source *s, int32_t c, tl_builder *builder)
{
    const column_gen *gen = &s->columns[c];
    const tl_type *type = s->type->fields[c].type;
    uint64_t random = mix((uint64_t)s->row, (uint64_t)c);
    uint64_t width = (uint64_t)gen->max - (uint64_t)gen->min + 1; /* 0: all of 64 bits */
    int64_t whole = gen->sequence ? gen->min + s->row : (int64_t)((uint64_t)gen->min + (width == 0 ? random : random % width));
    double real = gen->fmin + (gen->fmax - gen->fmin) * (double)(random >> 11) / 9007199254740992.0;
    switch (type->kind) {
    case TL_BOOLEAN:
        return tl_builder_bool(builder, random & 1);
    case TL_FLOAT:
        return tl_builder_f32(builder, gen->sequence ? (float)whole : (float)real);
    case TL_DOUBLE:
        return tl_builder_f64(builder, gen->sequence ? (double)whole : real);
    case TL_DECIMAL:
        return tl_builder_i128(builder, (tl_i128)whole * (gen->sequence ? tl_pow10_i128(type->scale) : 1));
    case TL_CHAR:
    case TL_VARCHAR:
    case TL_BINARY:
    case TL_VARBINARY:
        if (gen->sequence) {
            char text[24];
            return tl_builder_bytes(builder, text, (size_t)snprintf(text, sizeof text, "%lld", (long long)whole));
        }
        return add_text(gen, random, builder);
    case TL_TIMESTAMP:
    case TL_TIMESTAMP_LTZ:
        return tl_builder_timestamp(builder, whole, 0);
    default:
        return tl_builder_int(builder, whole);
    }
}

static tl_status datagen_next(tl_source *source, int64_t max_rows, tl_batch **out, tl_source_state *state, tl_error *err)
{
    datagen_source *s = (datagen_source *)source;
    *out = NULL;
    double seconds = (double)(tl_monotonic_ns() - s->start_ns) / 1e9;
    int64_t allowed = s->start_row + (int64_t)(seconds * (double)s->rate) + 1;
    int64_t to = TL_MIN(TL_MIN(s->end, allowed), s->row + max_rows);
    for (; s->row < to; s->row++) {
        for (int32_t c = 0; c < s->type->n_fields; c++)
            if (add_value(s, c, s->rows.builders[c]) != TL_OK)
                return tl_nomem(err, "generated rows");
        TL_TRY(tl_connect__rows_end(&s->rows, TL_KIND_INSERT, err));
    }
    if (s->rows.n > 0) {
        *state = TL_SOURCE_ROWS;
        return tl_connect__rows_finish(&s->rows, out, err);
    }
    *state = s->row >= s->end ? TL_SOURCE_END : TL_SOURCE_IDLE;
    return TL_OK;
}

static tl_status datagen_position(const tl_source *source, tl_buf *out)
{
    return tl_buf_appendf(out, "{\"row\":%lld}", (long long)((const datagen_source *)source)->row);
}

static void datagen_free(tl_source *source)
{
    datagen_source *s = (datagen_source *)source;
    tl_connect__rows_deinit(&s->rows);
    tl_free(s->columns);
    tl_free(s);
}

/* ---- options ---- */

static tl_status int_option(const tl_options *options, const char *key, int64_t fallback, int64_t *out, tl_error *err)
{
    const char *text = tl_options_get(options, key);
    *out = fallback;
    return text == NULL ? TL_OK : tl_error_wrap(err, tl_parse_int(text, INT64_MIN, INT64_MAX, out, err), "option '%s'", key);
}

static void default_range(const tl_type *type, column_gen *gen)
{
    static const int64_t max[] = {[TL_TINYINT] = INT8_MAX, [TL_SMALLINT] = INT16_MAX, [TL_INT] = INT32_MAX, [TL_BIGINT] = INT64_MAX};
    gen->length = type->kind == TL_CHAR || type->kind == TL_BINARY ? type->length : 100;
    gen->fmin = -1e6;
    gen->fmax = 1e6;
    if (type->kind >= TL_TINYINT && type->kind <= TL_BIGINT) {
        gen->max = max[type->kind];
        gen->min = -gen->max - 1;
    } else if (type->kind == TL_DECIMAL) {
        gen->max = type->precision < 18 ? (int64_t)tl_pow10_i128(type->precision) - 1 : INT64_MAX;
        gen->min = -gen->max;
    } else if (type->kind == TL_DATE) {
        gen->max = 25567; /* 2040 */
    } else if (type->kind == TL_TIME) {
        gen->max = 86399999;
    } else { /* timestamps: 1970 to 2040 in milliseconds */
        gen->max = INT64_C(2208988800000);
    }
}

static tl_status column_options(datagen_source *s, const tl_connector_spec *spec, int32_t c, tl_error *err)
{
    const tl_field *field = &s->type->fields[c];
    column_gen *gen = &s->columns[c];
    if (field->type->n_fields > 0)
        return tl_error_set(err, TL_E_UNSUPPORTED, "connector 'datagen': column '%s' has a nested type", field->name);
    default_range(field->type, gen);
    TL_CLEANUP(tl_freep) char *prefix = tl_strf("fields.%s", field->name);
    if (prefix == NULL)
        return tl_nomem(err, "option name");
    const char *kind = tl_connect__option(spec->options, prefix, "kind");
    gen->sequence = kind != NULL && strcmp(kind, "sequence") == 0;
    if (kind != NULL && !gen->sequence && strcmp(kind, "random") != 0)
        return tl_error_set(err, TL_E_INVALID, "option '%s.kind' is '%s', not random or sequence", prefix, kind);
    TL_CLEANUP(tl_freep) char *low = tl_strf("%s.%s", prefix, gen->sequence ? "start" : "min");
    TL_CLEANUP(tl_freep) char *high = tl_strf("%s.%s", prefix, gen->sequence ? "end" : "max");
    TL_CLEANUP(tl_freep) char *length = tl_strf("%s.length", prefix);
    if (low == NULL || high == NULL || length == NULL)
        return tl_nomem(err, "option name");
    if (gen->sequence && (tl_options_get(spec->options, low) == NULL || tl_options_get(spec->options, high) == NULL))
        return tl_error_set(err, TL_E_INVALID, "a sequence needs the options '%s' and '%s'", low, high);
    if (field->type->kind == TL_FLOAT || field->type->kind == TL_DOUBLE) {
        const char *min = tl_options_get(spec->options, low), *max = tl_options_get(spec->options, high);
        if (!gen->sequence && min != NULL)
            TL_TRY(tl_error_wrap(err, tl_parse_double(min, &gen->fmin, err), "option '%s'", low));
        if (!gen->sequence && max != NULL)
            TL_TRY(tl_error_wrap(err, tl_parse_double(max, &gen->fmax, err), "option '%s'", high));
        if (!gen->sequence)
            return TL_OK;
    }
    TL_TRY(int_option(spec->options, low, gen->min, &gen->min, err));
    TL_TRY(int_option(spec->options, high, gen->max, &gen->max, err));
    if (gen->max < gen->min)
        return tl_error_set(err, TL_E_INVALID, "option '%s' is less than '%s'", high, low);
    if (gen->sequence) /* the source ends with its shortest sequence */
        s->end = TL_MIN(s->end, gen->max - gen->min + 1);
    int64_t n = gen->length;
    TL_TRY(int_option(spec->options, length, n, &n, err));
    if (n < 0 || n > 256)
        return tl_error_set(err, TL_E_INVALID, "option '%s' is not between 0 and 256", length);
    gen->length = (int32_t)n;
    return TL_OK;
}

bool tl_connect__datagen_bounded(const tl_connector_spec *spec)
{
    if (tl_options_get(spec->options, "number-of-rows") != NULL)
        return true;
    for (size_t i = 0; i < spec->options->count; i++)
        if (strcmp(spec->options->values[i], "sequence") == 0)
            return true;
    return false;
}

static tl_status init(datagen_source *s, const tl_connector_spec *spec, const char *position, bool history, tl_error *err)
{
    s->columns = tl_calloc((size_t)s->type->n_fields + 1, sizeof *s->columns);
    if (s->columns == NULL)
        return tl_nomem(err, "source");
    TL_TRY(int_option(spec->options, "number-of-rows", INT64_MAX, &s->end, err));
    TL_TRY(int_option(spec->options, "rows-per-second", 10000, &s->rate, err));
    if (s->rate < 1 || s->end < 0)
        return tl_error_set(err, TL_E_INVALID, "options 'rows-per-second' and 'number-of-rows' must be positive");
    for (int32_t c = 0; c < s->type->n_fields; c++)
        TL_TRY(column_options(s, spec, c, err));
    TL_TRY(tl_connect__rows_init(&s->rows, s->type, err));
    if (position != NULL && sscanf(position, "{\"row\":%ld}", &s->row) != 1)
        return tl_error_set(err, TL_E_CORRUPT, "connector 'datagen': bad position '%s'", position);
    if (history) {
        s->end = s->row;
        s->row = 0;
        s->rate = INT64_C(1) << 40; /* rows that have been are there at once */
    }
    s->start_row = s->row;
    s->start_ns = tl_monotonic_ns();
    return TL_OK;
}

tl_status tl_connect__datagen_source(const tl_connector_spec *spec, const char *position, bool history, tl_source **out, tl_error *err)
{
    static const tl_source_ops ops = {datagen_next, datagen_position, datagen_free};
    datagen_source *s = tl_calloc(1, sizeof *s);
    if (s == NULL)
        return tl_nomem(err, "source");
    s->base.ops = &ops;
    s->type = spec->row_type;
    tl_status status = init(s, spec, position, history, err);
    if (status != TL_OK) {
        datagen_free(&s->base);
        return status;
    }
    *out = &s->base;
    return TL_OK;
}
