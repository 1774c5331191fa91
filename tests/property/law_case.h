/*
 * A random case of the law: a schema, options that mean something for the content, a history of rows. Everything comes from a
 * seed; how the history is written (commits, compactions, files) comes from another one, for that must not matter.
 */
#ifndef TL_TESTS_LAW_CASE_H
#define TL_TESTS_LAW_CASE_H

#include "../table/table_support.h"
#include "types/key.h"

#define COLUMNS_MAX 8
#define POOL 6

typedef enum law_engine { LAW_APPEND, LAW_DEDUPLICATE, LAW_PARTIAL_UPDATE, LAW_AGGREGATION, LAW_FIRST_ROW, LAW_ENGINES } law_engine;
/* What a column was before the schema changed. */
typedef enum law_past { PAST_SAME, PAST_MISSING, PAST_NARROW, PAST_RENAMED } law_past;

typedef struct law_case {
    uint64_t seed;
    law_engine engine;
    int n_keys; /* the first columns; 0: an append table */
    int n_first; /* columns before the values */
    bool partitioned; /* by the first column */
    bool by_sequence; /* the last column is the sequence field */
    char columns[1024];
    char keys[64];
    char options[2048]; /* those that decide on the content */
    const tl_type *type;
    tl_batch *history; /* rows with their kinds, in order */
    /* A history in which the schema changes: rows before `changed_at` can be written to a table of the early columns, which is
       altered then. What they did not have is NULL in `history`. 0: it does not change. */
    int64_t changed_at;
    law_past past[COLUMNS_MAX];
    char early_columns[1024];
    const tl_type *early_type;
    tl_batch *early;
} law_case;

static inline uint64_t below(uint64_t *rng, uint64_t n)
{
    return test_random(rng) % n;
}

#define PICK(rng, list) (list)[below(rng, TL_ARRAY_LEN(list))]

static inline void add_option(char *options, size_t cap, const char *key, const char *value)
{
    size_t len = strlen(options);
    snprintf(options + len, cap - len, "%s%s=%s", len > 0 ? "," : "", key, value);
}

static inline void add_column(char *columns, size_t cap, const char *name, const char *type)
{
    size_t len = strlen(columns);
    snprintf(columns + len, cap - len, "%s%s %s", len > 0 ? ", " : "", name, type);
}

/* A value column in both schemas. The function of an aggregate is an option of the column's name, so it cannot come later. */
static inline void add_values(law_case *c, int i, const char *type, bool changes, uint64_t *rng)
{
    char name[16], early_name[16];
    law_past past = changes ? (law_past)below(rng, 4) : PAST_SAME;
    bool fits = past == PAST_NARROW ? strcmp(type, "BIGINT") == 0 : c->engine != LAW_AGGREGATION && !(c->n_keys == 0 && i == 0);
    if (!fits)
        past = PAST_SAME;
    snprintf(name, sizeof name, "v%d", i);
    snprintf(early_name, sizeof early_name, "%s%d", past == PAST_RENAMED ? "was" : "v", i);
    c->past[c->n_first + i] = past;
    add_column(c->columns, sizeof c->columns, name, type);
    if (past != PAST_MISSING)
        add_column(c->early_columns, sizeof c->early_columns, early_name, past == PAST_NARROW ? "INT" : type);
}

/* A value column's type, and for aggregation a function that gives the same in any grouping. */
static inline void add_value_column(law_case *c, int i, bool changes, uint64_t *rng)
{
    static const char *const types[] = {"INT",    "BIGINT", "STRING",          "DOUBLE",       "DECIMAL(10, 2)", "DATE",
                                        "TIMESTAMP(3)", "TIMESTAMP(9)", "BOOLEAN", "BYTES", "CHAR(4)", "FLOAT", "DECIMAL(25, 3)", "TIME(3)", "SMALLINT"};
    static const char *const nested[] = {"ARRAY<INT>", "MAP<STRING NOT NULL, INT>", "ROW<x INT, y STRING>"};
    static const struct {
        const char *type, *function;
    } aggregates[] = {{"BIGINT", "sum"},         {"STRING", "max"}, {"INT", "min"},          {"DOUBLE", "last_value"}, {"STRING", "last_non_null_value"},
                      {"DATE", "first_value"},   {"INT", "sum"},    {"BOOLEAN", "bool_or"}, {"BOOLEAN", "bool_and"},  {"DECIMAL(20, 2)", "sum"},
                      {"TIMESTAMP(3)", "max"},   {"STRING", "first_non_null_value"}};
    if (c->engine == LAW_AGGREGATION) {
        size_t k = below(rng, TL_ARRAY_LEN(aggregates));
        /* A merged row has one sequence number, but what is first or not NULL in it may be of another row. */
        while (c->by_sequence && (strstr(aggregates[k].function, "first") != NULL || strstr(aggregates[k].function, "non_null") != NULL))
            k = below(rng, TL_ARRAY_LEN(aggregates));
        char key[64];
        add_values(c, i, aggregates[k].type, changes, rng);
        snprintf(key, sizeof key, "fields.v%d.aggregate-function", i);
        add_option(c->options, sizeof c->options, key, aggregates[k].function);
    } else {
        add_values(c, i, below(rng, 5) == 0 ? PICK(rng, nested) : PICK(rng, types), changes, rng);
    }
}

static inline void make_schema(law_case *c, uint64_t *rng)
{
    static const char *const key_types[] = {"INT", "BIGINT", "STRING", "DATE", "DECIMAL(10, 2)", "TIMESTAMP(3)", "BOOLEAN", "SMALLINT", "DECIMAL(30, 4)",
                                            "VARCHAR(5)"};
    static const char *const partition_types[] = {"INT", "STRING", "BOOLEAN"};
    static const char *const engines[] = {"", "deduplicate", "partial-update", "aggregation", "first-row"};
    c->engine = (law_engine)below(rng, LAW_ENGINES);
    c->partitioned = below(rng, 3) == 0;
    c->n_keys = c->engine == LAW_APPEND ? 0 : 1 + (int)below(rng, 2) + c->partitioned;
    int first_columns = c->n_keys > 0 ? c->n_keys : c->partitioned;
    for (int i = 0; i < first_columns; i++) {
        size_t len = strlen(c->columns), keys = strlen(c->keys);
        snprintf(c->columns + len, sizeof c->columns - len, "%sk%d %s%s", i > 0 ? ", " : "", i,
                 c->partitioned && i == 0 ? PICK(rng, partition_types) : PICK(rng, key_types), c->n_keys > 0 ? " NOT NULL" : "");
        if (c->n_keys > 0)
            snprintf(c->keys + keys, sizeof c->keys - keys, "%sk%d", i > 0 ? "," : "", i);
    }
    if (first_columns == 0)
        snprintf(c->columns, sizeof c->columns, "k0 INT");
    if (c->engine > LAW_DEDUPLICATE || (c->engine == LAW_DEDUPLICATE && below(rng, 2) == 0))
        add_option(c->options, sizeof c->options, "merge-engine", engines[c->engine]);
    c->by_sequence = (c->engine == LAW_DEDUPLICATE || c->engine == LAW_AGGREGATION) && below(rng, 3) == 0;
    c->n_first = TL_MAX(first_columns, 1);
    snprintf(c->early_columns, sizeof c->early_columns, "%s", c->columns);
    bool changes = below(rng, 3) == 0;
    for (int i = 0, n = 1 + (int)below(rng, 3); i < n; i++)
        add_value_column(c, i, changes, rng);
    c->changed_at = changes; /* where, make_history() will say */
    if (c->by_sequence) {
        add_column(c->columns, sizeof c->columns, "s", "INT");
        add_column(c->early_columns, sizeof c->early_columns, "s", "INT");
        /* Not descending: the reference sorts so between files only, ascending within a commit (fixture sequence-descending, merge/order.c). */
        add_option(c->options, sizeof c->options, "sequence.field", "s");
    }
    char text[1200];
    snprintf(text, sizeof text, "ROW<%s> NOT NULL", c->columns);
    c->type = test_type(text);
    snprintf(text, sizeof text, "ROW<%s> NOT NULL", c->early_columns);
    c->early_type = test_type(text);
}

/* Any value that all formats hold: within precision and length, and no time in the second before 1970, which ORC cannot tell. */
static inline void pool_value(tl_builder *b, const tl_type *type, bool small, uint64_t *rng)
{
    bool number = type->kind >= TL_TINYINT && type->kind <= TL_BIGINT;
    uint8_t text[32];
    int64_t v = test_random_int(rng);
    tl_status status = TL_OK;
    if (type->nullable && below(rng, 100) < 15) {
        status = tl_builder_null(b);
    } else if (small && number) { /* sums stay within their types */
        status = tl_builder_int(b, v % 100);
    } else if (type->kind == TL_DECIMAL) {
        status = tl_builder_i128(b, v % (small ? 100 : 10000000));
    } else if (type->kind == TL_CHAR || type->kind == TL_VARCHAR) {
        size_t len = test_random_text(rng, /* zeros= */ false, text);
        status = tl_builder_bytes(b, text, len > (size_t)type->length ? (size_t)type->length : len);
    } else if (type->kind == TL_TIMESTAMP) {
        v %= 9000000000000;
        status = tl_builder_timestamp(b, v < 0 && v > -1000 ? v - 1000 : v, (int32_t)below(rng, 1000) * 1000);
    } else {
        test_random_value(b, type, 15, rng);
    }
    assert_int_equal(status, TL_OK);
}

/* Keys meet each other: they come out of a few values, few of them at times. */
static inline tl_column *make_column(const law_case *c, int i, int64_t n, uint64_t *rng)
{
    tl_builder *pool = NULL, *values = NULL;
    tl_column *few = NULL, *out = NULL;
    tl_error err;
    const tl_type *type = c->type->fields[i].type;
    bool is_key = i < c->n_keys || (c->n_keys == 0 && i == 0), is_sequence = c->by_sequence && i == c->type->n_fields - 1;
    uint64_t size = is_key ? 1 + below(rng, POOL) : POOL * 4;
    assert_ok(tl_builder_create(type, &pool, &err), &err);
    assert_ok(tl_builder_create(type, &values, &err), &err);
    for (uint64_t k = 0; k < size; k++)
        pool_value(pool, type, c->engine == LAW_AGGREGATION || is_sequence, rng);
    assert_ok(tl_builder_finish(pool, &few, &err), &err);
    for (int64_t r = 0; r < n; r++)
        assert_int_equal(tl_builder_copy(values, few, (int64_t)below(rng, size)), TL_OK);
    assert_ok(tl_builder_finish(values, &out, &err), &err);
    tl_builder_free(pool);
    tl_builder_free(values);
    tl_column_unref(few);
    return out;
}

/* A column as it is after the change, and as it was: rows before have no value of a column that came later, and small ones in what
 * was narrow. */
static inline void make_past(law_case *c, int i, int early_at)
{
    tl_column **now = &c->history->cols[i], *was = NULL, *is = NULL;
    tl_builder *early = NULL, *late = NULL;
    tl_error err;
    if (c->past[i] == PAST_SAME || c->past[i] == PAST_RENAMED) {
        c->early->cols[early_at] = tl_column_ref(*now);
        return;
    }
    assert_ok(tl_builder_create(c->type->fields[i].type, &late, &err), &err);
    if (c->past[i] == PAST_NARROW)
        assert_ok(tl_builder_create(c->early_type->fields[early_at].type, &early, &err), &err);
    for (int64_t r = 0; r < c->history->n_rows; r++) {
        bool before = r < c->changed_at, null = tl_col_is_null(*now, r) || (before && early == NULL);
        int64_t small = early == NULL || null ? 0 : tl_col_i64(*now, r) % 1000;
        if (null)
            assert_int_equal(tl_builder_null(late), TL_OK);
        else if (before)
            assert_int_equal(tl_builder_int(late, small), TL_OK);
        else
            assert_int_equal(tl_builder_copy(late, *now, r), TL_OK);
        if (early != NULL)
            assert_int_equal(null ? tl_builder_null(early) : tl_builder_int(early, small), TL_OK);
    }
    assert_ok(tl_builder_finish(late, &is, &err), &err);
    if (early != NULL) {
        assert_ok(tl_builder_finish(early, &was, &err), &err);
        c->early->cols[early_at] = was;
    }
    tl_builder_free(early);
    tl_builder_free(late);
    tl_column_unref(*now);
    *now = is;
}

static inline void make_early(law_case *c, uint64_t *rng)
{
    tl_error err;
    int64_t n = c->history->n_rows;
    if (c->changed_at == 0)
        return;
    c->changed_at = 1 + (int64_t)below(rng, (uint64_t)n);
    assert_ok(tl_batch_create(c->early_type, n, &c->early, &err), &err);
    for (int i = 0, at = 0; i < c->type->n_fields; i++) {
        make_past(c, i, at);
        at += c->past[i] != PAST_MISSING;
    }
    c->early->row_kind = tl_alloc((size_t)n);
    memcpy(c->early->row_kind, c->history->row_kind, (size_t)n);
}

static inline void make_history(law_case *c, uint64_t *rng)
{
    static const uint8_t kinds[] = {TL_KIND_INSERT, TL_KIND_INSERT, TL_KIND_INSERT, TL_KIND_UPDATE_AFTER, TL_KIND_UPDATE_BEFORE, TL_KIND_DELETE};
    tl_error err;
    int64_t n = 1 + (int64_t)below(rng, below(rng, 4) == 0 ? 400 : 40);
    assert_ok(tl_batch_create(c->type, n, &c->history, &err), &err);
    for (int i = 0; i < c->type->n_fields; i++)
        c->history->cols[i] = make_column(c, i, n, rng);
    c->history->row_kind = tl_calloc((size_t)n, 1);
    /* No deletes beside a sequence field: a compaction to the top level drops them, and what comes later with a smaller sequence is a
     * new row then. So it is in the reference. */
    for (int64_t i = 0; c->engine == LAW_DEDUPLICATE && !c->by_sequence && i < n; i++)
        c->history->row_kind[i] = PICK(rng, kinds);
    make_early(c, rng);
}

static inline void case_init(law_case *c, uint64_t seed)
{
    uint64_t rng = seed;
    *c = (law_case){.seed = seed};
    make_schema(c, &rng);
    make_history(c, &rng);
}

static inline void case_deinit(law_case *c)
{
    tl_batch_free(c->history);
    tl_batch_free(c->early);
    tl_type_unref(c->type);
    tl_type_unref(c->early_type);
}

/* Whether a kind of file index can hold values of the type. */
static inline bool can_index(const char *kind, const tl_type *type)
{
    bool number = type->kind == TL_SMALLINT || type->kind == TL_INT || type->kind == TL_BIGINT || type->kind == TL_DATE || type->kind == TL_TIME ||
                  type->kind == TL_TIMESTAMP;
    bool text = type->kind == TL_CHAR || type->kind == TL_VARCHAR, real = type->kind == TL_FLOAT || type->kind == TL_DOUBLE;
    if (strcmp(kind, "bsi") == 0)
        return number || type->kind == TL_DECIMAL;
    if (strcmp(kind, "bloom-filter") == 0)
        return number || text || real || type->kind == TL_VARBINARY;
    if (strcmp(kind, "bitmap") == 0)
        return number || text || real || type->kind == TL_BOOLEAN;
    return (number && type->precision <= 6) || text || real || type->kind == TL_BOOLEAN || (type->kind == TL_DECIMAL && type->precision <= 18);
}

/* File indexes of some kinds, each for one column or for a key of a map. */
static inline void add_file_indexes(const law_case *c, char *options, size_t cap, uint64_t *rng)
{
    static const char *const kinds[] = {"bloom-filter", "bitmap", "bsi", "range-bitmap"}, *const thresholds[] = {"0 b", "200 b", "1 mb"};
    for (size_t k = 0; k < TL_ARRAY_LEN(kinds); k++) {
        size_t at = below(rng, (uint64_t)c->type->n_fields);
        const tl_field *field = &c->type->fields[at];
        bool always_there = c->past[at] == PAST_SAME || c->past[at] == PAST_NARROW; /* the options name columns */
        bool is_map = field->type->kind == TL_MAP;
        char key[64], name[64];
        if (below(rng, 3) > 0 || !always_there || !can_index(kinds[k], is_map ? field->type->fields[1].type : field->type))
            continue;
        snprintf(key, sizeof key, "file-index.%s.columns", kinds[k]);
        snprintf(name, sizeof name, is_map ? "%s[a]" : "%s", field->name);
        add_option(options, cap, key, name);
        snprintf(key, sizeof key, "file-index.%s.%s.%s", kinds[k], field->name, k == 0 ? "items" : k == 1 ? "version" : "chunk-size");
        if (k == 0 || (k != 2 && below(rng, 2) == 0))
            add_option(options, cap, key, k == 0 ? "100" : k == 1 ? "1" : "16 b");
        add_option(options, cap, "file-index.in-manifest-threshold", PICK(rng, thresholds));
    }
}

/* Options that must not show in the content. */
static inline void how_to_store(const law_case *c, char *options, size_t cap, uint64_t *rng)
{
    static const char *const formats[] = {"parquet", "orc", "avro"}, *const stats[] = {"none", "counts", "truncate(4)", "full"},
                      *const sizes[] = {"1 kb", "4 kb", "128 mb"}, *const buckets[] = {"1", "2", "3"}, *const triggers[] = {"2", "3", "5"},
                      *const manifests[] = {"2", "30"}, *const rows_of_bucket[] = {"1", "3", "50"};
    bool has_time_9 = strstr(c->columns, "TIMESTAMP(9)") != NULL;
    snprintf(options, cap, "%s", c->options);
    add_option(options, cap, "file.format", formats[below(rng, has_time_9 ? 2 : 3)]);
    add_option(options, cap, "metadata.stats-mode", PICK(rng, stats));
    add_option(options, cap, "target-file-size", PICK(rng, sizes));
    add_option(options, cap, "manifest.merge-min-count", PICK(rng, manifests));
    add_file_indexes(c, options, cap, rng);
    if (below(rng, 3) == 0)
        add_option(options, cap, "metadata.stats-dense-store", "false");
    if (c->n_keys == 0 && below(rng, 2) == 0) {
        add_option(options, cap, "bucket", "-1");
        add_option(options, cap, "compaction.min.file-num", "2");
        return;
    }
    if (c->n_keys > 0 && c->engine != LAW_FIRST_ROW && below(rng, 4) == 0) {
        add_option(options, cap, "deletion-vectors.enabled", "true");
        add_option(options, cap, "deletion-vectors.bitmap64", below(rng, 2) == 0 ? "true" : "false");
    }
    if (c->n_keys > 0 && below(rng, 5) == 0) {
        add_option(options, cap, "bucket", "-1");
        add_option(options, cap, "dynamic-bucket.target-row-num", PICK(rng, rows_of_bucket));
    } else {
        add_option(options, cap, "bucket", PICK(rng, buckets));
    }
    if (c->n_keys == 0)
        add_option(options, cap, "bucket-key", c->partitioned ? "v0" : "k0");
    else
        add_option(options, cap, "num-sorted-run.compaction-trigger", PICK(rng, triggers));
    if (c->n_keys > 0 && below(rng, 4) == 0)
        add_option(options, cap, "write-only", "true");
}

#endif
