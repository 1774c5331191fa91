/*
 * A recipe out of fuzz bytes: columns of any type, rows, options. Written as a file of a format, they must be read again as they
 * are; with a filter, with and without pruning and in batches of any size, exactly the rows that pass.
 */
#ifndef TL_TESTS_FUZZ_FILE_ROUND_TRIP_H
#define TL_TESTS_FUZZ_FILE_ROUND_TRIP_H

#include <stdio.h>

#include "format/format.h"
#include "fuzz/input.h"
#include "types/key.h"

#define RECIPE_PATH "/recipe"
#define RECIPE_ROWS_MAX 10600 /* a row group of ORC and a bit: one input in 512, for it takes as long as a thousand others */
#define RECIPE_ROWS_MORE 400 /* one input in eight: pages and row groups of several rows need some, all else is in the first few */
#define RECIPE_COLUMNS_MAX 6

typedef struct recipe {
    const tl_format *format;
    tl_fs *fs;
    const tl_type *type;
    tl_batch *rows;
    tl_options options;
} recipe;

#define MUST(cond)                                                                                                               \
    do {                                                                                                                         \
        if (!(cond)) {                                                                                                           \
            fprintf(stderr, "%s:%d: %s\n%s\n", __FILE__, __LINE__, #cond, recipe_error.message);                                 \
            abort();                                                                                                             \
        }                                                                                                                        \
    } while (0)

static tl_error recipe_error;

static inline void recipe_type(recipe *r, input *in)
{
    static const char *const types[] = {"BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL(9, 3)",
                                        "DECIMAL(18, 0)", "DECIMAL(38, 10)", "CHAR(5)", "VARCHAR(9)", "STRING", "BYTES", "DATE",
                                        "TIME(3)", "TIMESTAMP(3)", "TIMESTAMP(6)", "TIMESTAMP(9)", "TIMESTAMP(3) WITH LOCAL TIME ZONE",
                                        "TIMESTAMP(9) WITH LOCAL TIME ZONE", "ARRAY<INT>", "ARRAY<ARRAY<STRING>>", "MAP<STRING NOT NULL, BIGINT>",
                                        "ROW<x INT, y ARRAY<ROW<z STRING>>>", "BINARY(4)", "MULTISET<STRING NOT NULL>", "MAP<INT NOT NULL, ROW<q DATE>>"};
    char text[1024] = "ROW<";
    size_t len = 4;
    uint32_t n = 1 + take_below(in, RECIPE_COLUMNS_MAX);
    for (uint32_t i = 0; i < n; i++) {
        const char *type = types[take_below(in, TL_ARRAY_LEN(types))], *required = take_below(in, 4) == 0 ? " NOT NULL" : "";
        len += (size_t)snprintf(text + len, sizeof text - len, "%sc%u %s%s", i > 0 ? ", " : "", i, type, required);
    }
    text[len++] = '>';
    MUST(tl_type_parse((tl_bytes_view){(const uint8_t *)text, len}, &r->type, &recipe_error) == TL_OK);
}

static inline void recipe_value(tl_builder *b, const tl_type *type, input *in);

static inline void recipe_nested(tl_builder *b, const tl_type *type, input *in)
{
    uint32_t count = type->kind == TL_ROW ? 1 : take_below(in, 4);
    for (uint32_t k = 0; k < count; k++)
        for (int32_t c = 0; c < type->n_fields; c++)
            recipe_value(tl_builder_child(b, c), type->fields[c].type, in);
    MUST(tl_builder_end(b) == TL_OK);
}

static inline void recipe_bytes(tl_builder *b, const tl_type *type, input *in)
{
    uint8_t bytes[64];
    size_t n = take_below(in, 12);
    bool text = type->kind == TL_CHAR || type->kind == TL_VARCHAR;
    for (size_t i = 0; i < n; i++)
        bytes[i] = (uint8_t)(text ? 'a' + take(in, 1) % 26 : take(in, 1));
    MUST(tl_builder_bytes(b, bytes, n > (size_t)type->length ? (size_t)type->length : n) == TL_OK);
}

static inline void recipe_value(tl_builder *b, const tl_type *type, input *in)
{
    tl_status status = TL_OK;
    if (type->nullable && take_below(in, 5) == 4) {
        MUST(tl_builder_null(b) == TL_OK);
        return;
    }
    if (type->n_fields > 0) {
        recipe_nested(b, type, in);
        return;
    }
    int64_t v = tl_phys_width(tl_type_phys(type)) == 0 ? 0 : take_number(in);
    double d;
    memcpy(&d, &v, sizeof d);
    switch (type->kind) {
    case TL_BOOLEAN:
        status = tl_builder_bool(b, v & 1);
        break;
    case TL_TINYINT:
        status = tl_builder_int(b, (int8_t)v);
        break;
    case TL_SMALLINT:
        status = tl_builder_int(b, (int16_t)v);
        break;
    case TL_INT:
        status = tl_builder_int(b, (int32_t)v);
        break;
    case TL_DATE:
        status = tl_builder_int(b, v % 700000);
        break;
    case TL_TIME:
        status = tl_builder_int(b, (int64_t)((uint64_t)v % 86400000));
        break;
    case TL_BIGINT:
        status = tl_builder_int(b, v);
        break;
    case TL_FLOAT:
        status = tl_builder_f32(b, (v & 1) != 0 ? (float)d : (float)v);
        break;
    case TL_DOUBLE:
        status = tl_builder_f64(b, (v & 1) != 0 ? d : (double)v);
        break;
    case TL_DECIMAL:
        status = tl_builder_i128(b, type->precision > 18 ? (tl_i128)v * 1000003 : v % (type->precision > 9 ? 1000000000000000 : 1000000));
        break;
    case TL_TIMESTAMP:
    case TL_TIMESTAMP_LTZ: /* years 1678 to 2262, so that nanoseconds fit; not in the second before 1970, see format/orc */
        v %= 9000000000000;
        status = tl_builder_timestamp(b, v > -1000 && v < 0 ? v - 1000 : v, (int32_t)(take(in, 1) % 3 * 1001));
        break;
    default:
        recipe_bytes(b, type, in);
    }
    MUST(status == TL_OK);
}

/* Drawn rows, as far as the bytes go; then repeated, so that files get several row groups. */
static inline void recipe_rows(recipe *r, input *in)
{
    uint32_t how = take_below(in, 64), drawn = 1 + take_below(in, 40);
    uint32_t last = 1 + (uint32_t)(in->size / (size_t)(2 * r->type->n_fields));
    drawn = TL_MIN(drawn, last);
    int64_t n = how == 63 && r->format == &tl_format_orc && take_below(in, 8) == 7 ? RECIPE_ROWS_MAX - take_below(in, 1000)
                : how >= 55                              ? 1 + take_below(in, RECIPE_ROWS_MORE)
                                                         : drawn;
    tl_batch *few = NULL;
    MUST(tl_batch_create(r->type, drawn, &few, &recipe_error) == TL_OK);
    for (int32_t c = 0; c < r->type->n_fields; c++) {
        tl_builder *b = NULL;
        MUST(tl_builder_create(r->type->fields[c].type, &b, &recipe_error) == TL_OK);
        for (uint32_t i = 0; i < drawn; i++)
            recipe_value(b, r->type->fields[c].type, in);
        MUST(tl_builder_finish(b, &few->cols[c], &recipe_error) == TL_OK);
        tl_builder_free(b);
    }
    static uint32_t idx[RECIPE_ROWS_MAX];
    uint32_t run = 1 + take_below(in, 200);
    for (int64_t i = 0; i < n; i++)
        idx[i] = (uint32_t)(n == drawn ? i : (i / run) % drawn);
    MUST(tl_batch_gather(few, idx, n, &r->rows, &recipe_error) == TL_OK);
    tl_batch_free(few);
}

/* False if the format has no place for a type. */
static inline bool recipe_write(recipe *r, input *in, const char *const *codecs, uint32_t n_codecs)
{
    tl_file_writer *w = NULL;
    tl_write_result result = {0};
    int32_t ids[RECIPE_COLUMNS_MAX] = {0, 1, 2, 3, 4, 5};
    tl_write_spec spec = {.row_type = r->type, .field_ids = ids, .compression = codecs[take_below(in, n_codecs)], .compression_level = 1,
                          .options = &r->options, .with_stats = true, .light_bytes = r->rows->n_rows % 2 == 0 ? 1 << 20 : 0};
    tl_status status = r->format->create(r->fs, RECIPE_PATH, &spec, &w, &recipe_error);
    if (status == TL_E_UNSUPPORTED || (status == TL_E_INVALID && strstr(recipe_error.message, "does not support the type") != NULL))
        return false;
    MUST(status == TL_OK);
    int64_t cut = r->rows->n_rows / (1 + take_below(in, 3)) / 8 * 8;
    tl_batch *parts[2] = {NULL, NULL};
    MUST(tl_batch_slice(r->rows, 0, cut, &parts[0], &recipe_error) == TL_OK &&
         tl_batch_slice(r->rows, cut, r->rows->n_rows - cut, &parts[1], &recipe_error) == TL_OK);
    for (int i = 0; i < 2; i++) {
        MUST(parts[i]->n_rows == 0 || w->ops->write(w, parts[i], &recipe_error) == TL_OK);
        tl_batch_free(parts[i]);
    }
    MUST(w->ops->finish(w, &result, &recipe_error) == TL_OK && result.rows == r->rows->n_rows);
    w->ops->free(w);
    for (int32_t c = 0; c < result.n_stats; c++)
        MUST(result.stats[c].null_count < 0 || result.stats[c].null_count == r->rows->cols[c]->null_count);
    tl_write_result_deinit(&result);
    return true;
}

/* What a read gives must be rows `want` of the recipe, in order. `subset`: rows may be more than wanted, but of the recipe. */
static inline void recipe_read(const recipe *r, const tl_read_spec *spec, const uint32_t *want, int64_t n, bool superset)
{
    tl_reader *reader = NULL;
    int64_t at = 0;
    MUST(r->format->open(r->fs, RECIPE_PATH, 0, spec, &reader, &recipe_error) == TL_OK);
    for (;;) {
        tl_batch *batch = NULL;
        MUST(tl_reader_next(reader, &batch, &recipe_error) == TL_OK);
        if (batch == NULL)
            break;
        MUST(batch->seq != NULL);
        for (int32_t c = 0; c < batch->n_cols; c++)
            MUST(tl_column_check(batch->cols[c], &recipe_error) == TL_OK);
        for (int64_t i = 0; i < batch->n_rows; i++) {
            MUST(batch->seq[i] >= 0 && batch->seq[i] < r->rows->n_rows);
            bool wanted = at < n && batch->seq[i] == (int64_t)want[at];
            MUST(wanted || superset);
            at += wanted;
            for (int32_t c = 0; c < batch->n_cols; c++)
                MUST(tl_column_equal(batch->cols[c], i, r->rows->cols[c], batch->seq[i]));
        }
        tl_batch_free(batch);
    }
    MUST(at == n);
    tl_reader_free(reader);
}

static inline tl_predicate *recipe_predicate(const recipe *r, input *in, int depth)
{
    static const tl_pred_op ops[] = {TL_PRED_EQ, TL_PRED_NE,      TL_PRED_LT,          TL_PRED_LE,         TL_PRED_GT,
                                     TL_PRED_GE, TL_PRED_BETWEEN, TL_PRED_IN,          TL_PRED_NOT_IN,     TL_PRED_IS_NULL,
                                     TL_PRED_IS_NOT_NULL, TL_PRED_STARTS_WITH, TL_PRED_AND, TL_PRED_OR, TL_PRED_NOT};
    tl_pred_op op = ops[take_below(in, depth > 0 ? TL_ARRAY_LEN(ops) : TL_ARRAY_LEN(ops) - 3)];
    tl_predicate *out = NULL;
    if (op == TL_PRED_AND || op == TL_PRED_OR) {
        tl_predicate *a = recipe_predicate(r, in, depth - 1), *b = recipe_predicate(r, in, depth - 1);
        if (a == NULL || b == NULL) {
            tl_predicate_free(b);
            return a;
        }
        MUST(tl_predicate_combine(op, a, b, &out, &recipe_error) == TL_OK);
        return out;
    }
    if (op == TL_PRED_NOT) {
        tl_predicate *a = recipe_predicate(r, in, depth - 1);
        MUST(a == NULL || tl_predicate_negate(a, &out, &recipe_error) == TL_OK);
        return out;
    }
    int32_t c = (int32_t)take_below(in, (uint32_t)r->type->n_fields);
    tl_column *literals = NULL;
    if (op != TL_PRED_IS_NULL && op != TL_PRED_IS_NOT_NULL) {
        uint32_t idx[2] = {take_below(in, RECIPE_ROWS_MAX) % (uint32_t)r->rows->n_rows, take_below(in, RECIPE_ROWS_MAX) % (uint32_t)r->rows->n_rows};
        MUST(tl_column_gather(r->rows->cols[c], idx, op == TL_PRED_BETWEEN || op == TL_PRED_IN || op == TL_PRED_NOT_IN ? 2 : 1, &literals, NULL) ==
             TL_OK);
    }
    (void)tl_predicate_leaf(op, c, literals, &out, NULL); /* what does not suit the type is no predicate */
    return out;
}

static inline void recipe_check(const recipe *r, input *in)
{
    static const int64_t batch_rows[] = {0, 1, 7, 100, 1024};
    static uint32_t all[RECIPE_ROWS_MAX], sel[RECIPE_ROWS_MAX];
    int64_t n = 0;
    for (int64_t i = 0; i < r->rows->n_rows; i++)
        all[i] = (uint32_t)i;
    tl_read_spec spec = {.row_type = r->type, .with_row_numbers = true, .batch_rows = batch_rows[take_below(in, 5)]};
    if (r->rows->n_rows > RECIPE_ROWS_MORE)
        spec.batch_rows = 0;
    else if (r->rows->n_rows > 60 && spec.batch_rows == 1)
        spec.batch_rows = 13; /* few rows show what batches of one do */
    recipe_read(r, &spec, all, r->rows->n_rows, false);
    tl_predicate *pred = recipe_predicate(r, in, 2);
    if (pred != NULL && tl_predicate_eval(pred, (const tl_column *const *)r->rows->cols, r->rows->n_rows, sel, &n, &recipe_error) == TL_OK) {
        spec.predicate = pred;
        recipe_read(r, &spec, sel, n, true);
        spec.exact = true;
        recipe_read(r, &spec, sel, n, false);
    }
    tl_predicate_free(pred);
}

/* `options`: key and values that a byte picks from, or leaves unset if there is no ! before the key, in groups ended by NULL; two
 * NULLs end all. */
static inline void recipe_run(const tl_format *format, const char *const *codecs, uint32_t n_codecs, const char *const *options, input in)
{
    recipe r = {.format = format};
    MUST(tl_fs_memory(&r.fs, &recipe_error) == TL_OK);
    for (const char *const *o = options; *o != NULL; o++) {
        uint32_t n = 0;
        while (o[1 + n] != NULL)
            n++;
        bool always = o[0][0] == '!';
        uint32_t pick = take_below(&in, always ? n : n + 1);
        MUST(pick == n || tl_options_set(&r.options, o[0] + always, o[1 + pick]) == TL_OK);
        o += n + 1;
    }
    recipe_type(&r, &in);
    recipe_rows(&r, &in);
    if (recipe_write(&r, &in, codecs, n_codecs))
        recipe_check(&r, &in);
    tl_batch_free(r.rows);
    tl_options_deinit(&r.options);
    tl_type_unref(r.type);
    tl_fs_unref(r.fs);
}

#endif
