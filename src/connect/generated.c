#include "connect/generated.h"

#include "base/parse.h"
#include "types/text.h"

#define TEXT_LENGTH 100    /* where neither type nor option says */
#define COLLECTION_LENGTH 3
#define LENGTH_MAX (1 << 20)
#define MS_PER_DAY INT64_C(86400000)

/* ---- options ---- */

typedef struct field_options {
    const char *name; /* NAME, or NAME.PART … */
    const tl_options *options;
    tl_map *used;
    tl_error *err;
} field_options;

/* *out: the value of fields.NAME.KEY, NULL if there is none; *key names the option for messages, tl_free(). */
static tl_status find(const field_options *f, const char *what, char **key, const char **out)
{
    *key = tl_strf("fields.%s.%s", f->name, what);
    if (*key == NULL)
        return tl_nomem(f->err, "option name");
    *out = tl_options_get(f->options, *key);
    if (*out != NULL && tl_map_put(f->used, *key, strlen(*key), (void *)1, NULL) != TL_OK)
        return tl_nomem(f->err, "option name");
    return TL_OK;
}

static tl_status whole_option(const field_options *f, const char *what, int64_t least, int64_t most, int64_t *out, bool *is_set)
{
    TL_CLEANUP(tl_freep) char *key = NULL;
    const char *text;
    TL_TRY(find(f, what, &key, &text));
    if (is_set != NULL)
        *is_set = text != NULL;
    return text == NULL ? TL_OK : tl_error_wrap(f->err, tl_parse_int(text, least, most, out, f->err), "option '%s'", key);
}

static tl_status real_option(const field_options *f, const char *what, double *out)
{
    TL_CLEANUP(tl_freep) char *key = NULL;
    const char *text;
    TL_TRY(find(f, what, &key, &text));
    return text == NULL ? TL_OK : tl_error_wrap(f->err, tl_parse_double(text, out, f->err), "option '%s'", key);
}

static tl_status kind_option(const field_options *f, bool *is_sequence)
{
    TL_CLEANUP(tl_freep) char *key = NULL;
    const char *text;
    TL_TRY(find(f, "kind", &key, &text));
    *is_sequence = text != NULL && strcmp(text, "sequence") == 0;
    return text == NULL || *is_sequence || strcmp(text, "random") == 0
               ? TL_OK
               : tl_error_set(f->err, TL_E_INVALID, "option '%s' is '%s', not random or sequence", key, text);
}

static bool is_text(tl_type_kind kind)
{
    return kind >= TL_CHAR && kind <= TL_VARBINARY;
}

static bool is_real(tl_type_kind kind)
{
    return kind == TL_FLOAT || kind == TL_DOUBLE || kind == TL_DECIMAL;
}

static tl_status sequence_options(tl_generated *gen, const field_options *f)
{
    tl_type_kind kind = gen->type->kind;
    bool has_start = false, has_end = false;
    if (!is_text(kind) && !is_real(kind) && !(kind >= TL_TINYINT && kind <= TL_BIGINT))
        return tl_error_set(f->err, TL_E_INVALID, "option 'fields.%s.kind': sequences are made of numbers and texts only", f->name);
    TL_TRY(whole_option(f, "start", INT64_MIN, INT64_MAX, &gen->min, &has_start));
    TL_TRY(whole_option(f, "end", INT64_MIN, INT64_MAX, &gen->max, &has_end));
    if (!has_start || !has_end)
        return tl_error_set(f->err, TL_E_INVALID, "a sequence needs the options 'fields.%s.start' and 'fields.%s.end'", f->name, f->name);
    if (gen->max < gen->min || (uint64_t)gen->max - (uint64_t)gen->min >= INT64_MAX)
        return tl_error_set(f->err, TL_E_INVALID, "option 'fields.%s.end' is less than 'fields.%s.start', or too far from it", f->name, f->name);
    return TL_OK;
}

static tl_status range_options(tl_generated *gen, const field_options *f)
{
    static const int64_t most[] = {[TL_TINYINT] = INT8_MAX, [TL_SMALLINT] = INT16_MAX, [TL_INT] = INT32_MAX, [TL_BIGINT] = INT64_MAX};
    tl_type_kind kind = gen->type->kind;
    if (is_real(kind)) {
        double limit = kind == TL_DECIMAL ? (double)tl_pow10_i128(gen->type->precision) / (double)tl_pow10_i128(gen->type->scale) : 3.4e38;
        gen->min_real = kind == TL_DECIMAL ? -limit : 0;
        gen->max_real = kind == TL_DOUBLE ? 1.79e308 : limit;
        TL_TRY(real_option(f, "min", &gen->min_real));
        TL_TRY(real_option(f, "max", &gen->max_real));
    } else if (kind >= TL_TINYINT && kind <= TL_BIGINT) {
        gen->max = most[kind];
        gen->min = -gen->max - 1;
        TL_TRY(whole_option(f, "min", gen->min, gen->max, &gen->min, NULL));
        TL_TRY(whole_option(f, "max", -most[kind] - 1, most[kind], &gen->max, NULL));
    }
    if (gen->max < gen->min || gen->max_real < gen->min_real)
        return tl_error_set(f->err, TL_E_INVALID, "option 'fields.%s.max' is less than 'fields.%s.min'", f->name, f->name);
    return TL_OK;
}

static tl_status length_options(tl_generated *gen, const field_options *f)
{
    tl_type_kind kind = gen->type->kind;
    if (!is_text(kind) && kind != TL_ARRAY && kind != TL_MAP && kind != TL_MULTISET)
        return TL_OK;
    int64_t most = is_text(kind) ? TL_MIN(gen->type->length, LENGTH_MAX) : LENGTH_MAX;
    gen->length = !is_text(kind) ? COLLECTION_LENGTH : gen->type->length == TL_LENGTH_MAX ? TEXT_LENGTH : most;
    TL_TRY(whole_option(f, "length", 0, most, &gen->length, NULL));
    if (kind != TL_VARCHAR && kind != TL_VARBINARY)
        return TL_OK;
    TL_CLEANUP(tl_freep) char *key = NULL;
    const char *text;
    TL_TRY(find(f, "var-len", &key, &text));
    return text == NULL ? TL_OK : tl_error_wrap(f->err, tl_parse_bool(text, &gen->any_length, f->err), "option '%s'", key);
}

static tl_status other_options(tl_generated *gen, const field_options *f)
{
    TL_TRY(real_option(f, "null-rate", &gen->null_rate));
    if (!(gen->null_rate >= 0 && gen->null_rate <= 1))
        return tl_error_set(f->err, TL_E_INVALID, "option 'fields.%s.null-rate' is not between 0 and 1", f->name);
    if (gen->null_rate > 0 && !gen->type->nullable)
        return tl_error_set(f->err, TL_E_INVALID, "option 'fields.%s.null-rate': the column is NOT NULL", f->name);
    if (gen->type->kind != TL_TIMESTAMP && gen->type->kind != TL_TIMESTAMP_LTZ)
        return TL_OK;
    TL_CLEANUP(tl_freep) char *key = NULL;
    const char *text;
    TL_TRY(find(f, "max-past", &key, &text));
    return text == NULL ? TL_OK : tl_error_wrap(f->err, tl_parse_duration_ms(text, &gen->past_ms, f->err), "option '%s'", key);
}

/* The parts of a column have options of their own: NAME.FIELD, NAME.element, NAME.key and NAME.value. */
static tl_status add_children(tl_generated *gen, const field_options *f)
{
    const tl_type *type = gen->type;
    static const char *const of_map[] = {"key", "value"};
    if (type->n_fields == 0)
        return TL_OK;
    gen->children = tl_calloc((size_t)type->n_fields, sizeof *gen->children);
    if (gen->children == NULL)
        return tl_nomem(f->err, "source");
    gen->n_children = type->n_fields;
    for (int32_t i = 0; i < type->n_fields; i++) {
        const char *part = type->kind == TL_ROW ? type->fields[i].name : type->kind == TL_MAP ? of_map[i] : i == 0 ? "element" : "count";
        TL_CLEANUP(tl_freep) char *name = tl_strf("%s.%s", f->name, part);
        if (name == NULL)
            return tl_nomem(f->err, "option name");
        TL_TRY(tl_generated_init(&gen->children[i], name, type->fields[i].type, f->options, f->used, f->err));
    }
    if (type->kind == TL_MULTISET) { /* how often: once */
        gen->children[1].min = gen->children[1].max = 1;
    }
    return TL_OK;
}

tl_status tl_generated_init(tl_generated *gen, const char *name, const tl_type *type, const tl_options *options, tl_map *used, tl_error *err)
{
    field_options f = {name, options, used, err};
    *gen = (tl_generated){.type = type};
    if (type->kind == TL_VARIANT || type->kind == TL_BLOB)
        return tl_error_set(err, TL_E_UNSUPPORTED, "connector 'datagen': column '%s': no values of this type can be made up", name);
    TL_TRY(kind_option(&f, &gen->is_sequence));
    if (gen->is_sequence)
        return sequence_options(gen, &f);
    TL_TRY(range_options(gen, &f));
    TL_TRY(length_options(gen, &f));
    TL_TRY(other_options(gen, &f));
    return add_children(gen, &f);
}

void tl_generated_deinit(tl_generated *gen)
{
    for (int32_t i = 0; i < gen->n_children; i++)
        tl_generated_deinit(&gen->children[i]);
    tl_free(gen->children);
    gen->children = NULL;
    gen->n_children = 0;
}

/* ---- values ---- */

/* What a value is made of. */
typedef struct draw {
    int64_t row;
    uint64_t random;
    int64_t key; /* of a map: which of its keys, all of which are different; -1: no key */
    int64_t now_ms;
    tl_buf *text;
} draw;

#define KEY_DIGITS 5 /* of a text that is a key of a map */

static uint64_t mix(uint64_t a, uint64_t b)
{
    uint64_t z = a * UINT64_C(0x9e3779b97f4a7c15) + (b + 1) * UINT64_C(0xd1342543de82ef95);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static double fraction(uint64_t random)
{
    return (double)(random >> 11) / 9007199254740992.0; /* 2^53 */
}

static int64_t below(uint64_t random, int64_t n)
{
    return (int64_t)(random % (uint64_t)n);
}

static tl_status add_sequence(const tl_generated *gen, int64_t row, tl_builder *builder)
{
    int64_t value = gen->min + row;
    char digits[24];
    switch (gen->type->kind) {
    case TL_FLOAT:
        return tl_builder_f32(builder, (float)value);
    case TL_DOUBLE:
        return tl_builder_f64(builder, (double)value);
    case TL_DECIMAL:
        return tl_builder_i128(builder, (tl_i128)value * tl_pow10_i128(gen->type->scale));
    case TL_CHAR:
    case TL_VARCHAR:
    case TL_BINARY:
    case TL_VARBINARY:
        return tl_builder_bytes(builder, digits, (size_t)snprintf(digits, sizeof digits, "%lld", (long long)value));
    default:
        return tl_builder_int(builder, value);
    }
}

/* Hexadecimal digits, as Flink's random strings; random bytes. The number of a key comes first. */
static tl_status add_text(const tl_generated *gen, const draw *d, tl_builder *builder)
{
    static const char digits[] = "0123456789abcdef";
    bool is_binary = gen->type->kind == TL_BINARY || gen->type->kind == TL_VARBINARY;
    uint64_t random = d->random;
    int64_t length = gen->any_length && gen->length > 0 && d->key < 0 ? 1 + below(mix(random, 1), gen->length) : gen->length;
    if (tl_buf_reserve(d->text, (size_t)length + 1) != TL_OK)
        return TL_E_NOMEM;
    for (int64_t i = 0; i < length; i++) {
        if (i % 8 == 0 && i > 0)
            random = mix(random, (uint64_t)i);
        uint8_t byte = (uint8_t)(random >> (i % 8 * 8));
        if (d->key >= 0 && i < KEY_DIGITS)
            byte = (uint8_t)(d->key >> (i * 4) & 15);
        d->text->data[i] = is_binary ? byte : (uint8_t)digits[byte & 15];
    }
    return tl_builder_bytes(builder, d->text->data, (size_t)length);
}

static tl_status add_real(const tl_generated *gen, uint64_t random, tl_builder *builder)
{
    double part = fraction(random), value = gen->min_real * (1 - part) + gen->max_real * part;
    const tl_type *type = gen->type;
    if (type->kind == TL_FLOAT)
        return tl_builder_f32(builder, (float)value);
    if (type->kind == TL_DOUBLE)
        return tl_builder_f64(builder, value);
    double limit = (double)(tl_pow10_i128(type->precision) - 1), unscaled = value * (double)tl_pow10_i128(type->scale);
    tl_i128 most = tl_pow10_i128(type->precision) - 1;
    return tl_builder_i128(builder, unscaled >= limit ? most : unscaled <= -limit ? -most : (tl_i128)unscaled);
}

/* So many different keys of a map there are at most, as add() makes them. */
static int64_t keys_max(const tl_generated *key)
{
    tl_type_kind kind = key->type->kind;
    if (kind == TL_BOOLEAN)
        return 2;
    if (is_text(kind))
        return INT64_C(1) << 4 * TL_MIN(key->length, KEY_DIGITS);
    if (kind >= TL_TINYINT && kind <= TL_BIGINT)
        return (int64_t)TL_MIN((uint64_t)key->max - (uint64_t)key->min, (uint64_t)LENGTH_MAX) + 1;
    return 1;
}

static tl_status add(const tl_generated *gen, const draw *d, tl_builder *builder);

static tl_status add_collection(const tl_generated *gen, const draw *d, tl_builder *builder)
{
    bool has_keys = gen->type->kind != TL_ARRAY;
    int64_t n = has_keys ? TL_MIN(gen->length, keys_max(&gen->children[0])) : gen->length;
    for (int64_t i = 0; i < n; i++) {
        for (int32_t c = 0; c < gen->n_children; c++) {
            bool is_key = has_keys && c == 0;
            draw part = *d;
            part.random = mix(d->random, is_key ? 0 : (uint64_t)(i * 2 + c + 1));
            part.key = is_key ? i : -1;
            TL_TRY(add(&gen->children[c], &part, tl_builder_child(builder, c)));
        }
    }
    return tl_builder_end(builder);
}

static tl_status add_row(const tl_generated *gen, const draw *d, tl_builder *builder)
{
    for (int32_t c = 0; c < gen->n_children; c++) {
        draw part = *d;
        part.random = mix(d->random, (uint64_t)c + 1);
        part.key = -1;
        TL_TRY(add(&gen->children[c], &part, tl_builder_child(builder, c)));
    }
    return tl_builder_end(builder);
}

static tl_status add_whole(const tl_generated *gen, const draw *d, tl_builder *builder)
{
    uint64_t width = (uint64_t)gen->max - (uint64_t)gen->min + 1; /* 0: all of 64 bits */
    uint64_t random = d->random + (d->key < 0 ? 0 : (uint64_t)d->key);
    return tl_builder_int(builder, (int64_t)((uint64_t)gen->min + (width == 0 ? random : random % width)));
}

static tl_status add(const tl_generated *gen, const draw *d, tl_builder *builder)
{
    if (gen->is_sequence)
        return add_sequence(gen, d->row, builder);
    if (gen->null_rate > 0 && d->key < 0 && fraction(mix(d->random, 7)) < gen->null_rate)
        return tl_builder_null(builder);
    switch (gen->type->kind) {
    case TL_BOOLEAN:
        return tl_builder_bool(builder, d->key < 0 ? (d->random & 1) != 0 : d->key == 1);
    case TL_FLOAT:
    case TL_DOUBLE:
    case TL_DECIMAL:
        return add_real(gen, d->random, builder);
    case TL_CHAR:
    case TL_VARCHAR:
    case TL_BINARY:
    case TL_VARBINARY:
        return add_text(gen, d, builder);
    case TL_DATE:
        return tl_builder_int(builder, d->now_ms / MS_PER_DAY);
    case TL_TIME:
        return tl_builder_int(builder, d->now_ms % MS_PER_DAY);
    case TL_TIMESTAMP:
    case TL_TIMESTAMP_LTZ:
        return tl_builder_timestamp(builder, d->now_ms - below(d->random, gen->past_ms + 1), 0);
    case TL_ROW:
        return add_row(gen, d, builder);
    case TL_ARRAY:
    case TL_MAP:
    case TL_MULTISET:
        return add_collection(gen, d, builder);
    default:
        return add_whole(gen, d, builder);
    }
}

tl_status tl_generated_add(const tl_generated *gen, int64_t row, int32_t column, int64_t now_ms, tl_buf *text, tl_builder *builder)
{
    draw d = {row, mix((uint64_t)row, (uint64_t)column), -1, now_ms, text};
    return add(gen, &d, builder);
}
