/* Merging sorted runs, engine by engine and function by function; a row is one that goes in. */
#include <stdio.h>

#include "merge/merge.h"
#include "stage.h"

#define RUNS 10
#define RUN_BATCHES 4

static const int32_t key_column = 0;

typedef struct work {
    const tl_type *type;
    tl_merge_engine *engine;
    tl_batch *batches[RUNS][RUN_BATCHES];
    int n_runs;
} work;

static tl_merge_engine *make_engine(const tl_type *type, const char *const *options)
{
    tl_options table = {0};
    tl_merge_engine *engine;
    for (; options != NULL && options[0] != NULL; options += 2)
        check(tl_options_set(&table, options[0], options[1]));
    check(tl_merge_engine_create(type, &key_column, 1, &table, &engine, &err));
    tl_options_deinit(&table);
    return engine;
}

static tl_reader *read_run(work *w, int run)
{
    tl_batch **batches = tl_alloc(RUN_BATCHES * sizeof *batches);
    tl_reader *reader;
    for (int32_t b = 0; b < RUN_BATCHES; b++)
        check(tl_batch_slice(w->batches[run][b], 0, STAGE_ROWS, &batches[b], &err));
    check(tl_reader_from_batches(w->type, batches, RUN_BATCHES, &reader, &err));
    return reader;
}

static void merge(void *ctx)
{
    work *w = ctx;
    tl_merge_input inputs[RUNS];
    for (int r = 0; r < w->n_runs; r++)
        inputs[r] = (tl_merge_input){.reader = read_run(w, r)};
    tl_merge_spec spec = {.engine = w->engine, .key_idx = &key_column, .n_keys = 1, .drop_deletes = true};
    tl_reader *reader;
    check(tl_merge_open(w->type, &spec, inputs, w->n_runs, &reader, &err));
    for (;;) {
        tl_batch *batch;
        check(tl_reader_next(reader, &batch, &err));
        if (batch == NULL)
            break;
        tl_batch_free(batch);
    }
    tl_reader_free(reader);
}

/* Keys of a run rise; `stretch` keys in a row are its own (0: each run has every other key, at random which). */
static tl_column *run_keys(const tl_type *type, int run, int n_runs, int batch, int64_t stretch)
{
    tl_builder *builder;
    tl_column *keys;
    check(tl_builder_create(type, &builder, &err));
    for (int64_t i = (int64_t)batch * STAGE_ROWS; i < (int64_t)(batch + 1) * STAGE_ROWS; i++) {
        uint64_t own = (uint64_t)i * 2 + (mix((uint64_t)i * RUNS + (uint64_t)run) & 1);
        uint64_t key = stretch > 0 ? (uint64_t)((i / stretch * n_runs + run) * stretch + i % stretch) : own;
        char text[32];
        if (tl_type_phys(type) == TL_PHYS_BYTES)
            check(tl_builder_bytes(builder, text, (size_t)snprintf(text, sizeof text, "key-%016llx", (unsigned long long)key)));
        else
            check(tl_builder_int(builder, (int64_t)key));
    }
    check(tl_builder_finish(builder, &keys, &err));
    tl_builder_free(builder);
    return keys;
}

static void of_engine(const char *what, const char *type_text, const char *const *options, int n_runs, int64_t stretch, int null_percent)
{
    static work w;
    int64_t bytes = 0, seq = 0;
    if (!is_wanted("merge", what))
        return;
    w = (work){.type = type_of(type_text), .n_runs = n_runs};
    w.engine = make_engine(w.type, options);
    for (int r = 0; r < n_runs; r++) {
        for (int b = 0; b < RUN_BATCHES; b++) {
            tl_batch *batch = make_batch(w.type, (values){.distinct = 1000, .null_percent = null_percent}, (r * RUN_BATCHES + b) * STAGE_ROWS, STAGE_ROWS);
            tl_column_unref(batch->cols[0]);
            batch->cols[0] = run_keys(w.type->fields[0].type, r, n_runs, b, stretch);
            batch->seq = tl_alloc(STAGE_ROWS * sizeof *batch->seq);
            for (int i = 0; i < STAGE_ROWS; i++)
                batch->seq[i] = seq++;
            bytes += batch_bytes(batch);
            w.batches[r][b] = batch;
        }
    }
    stage_run("merge", what, merge, &w, (int64_t)n_runs * RUN_BATCHES * STAGE_ROWS, bytes);
    for (int r = 0; r < n_runs; r++)
        for (int b = 0; b < RUN_BATCHES; b++)
            tl_batch_free(w.batches[r][b]);
    tl_merge_engine_unref(w.engine);
    tl_type_unref(w.type);
}

static void of_function(const char *function, const char *value_type)
{
    char what[64], type[64];
    const char *const options[] = {"merge-engine", "aggregation", "fields.v.aggregate-function", function, NULL};
    snprintf(what, sizeof what, "aggregation: %s of %s", function, value_type);
    snprintf(type, sizeof type, "ROW<k BIGINT NOT NULL, v %s>", value_type);
    of_engine(what, type, options, RUNS, 0, 10);
}

static char *wide_type(void)
{
    tl_buf buf = {0};
    char *text;
    check(tl_buf_append_str(&buf, "ROW<k BIGINT NOT NULL"));
    for (int c = 0; c < 30; c++)
        check(tl_buf_appendf(&buf, ", c%d %s", c, c % 3 == 0 ? "STRING" : c % 3 == 1 ? "BIGINT" : "DOUBLE"));
    check(tl_buf_append_str(&buf, ", g0 BIGINT, g1 BIGINT, g2 BIGINT>"));
    check(tl_buf_steal_str(&buf, &text));
    return text;
}

static void partial_updates(void)
{
    static const char *const plain[] = {"merge-engine", "partial-update", NULL};
    static const char *const groups[] = {"merge-engine",
                                         "partial-update",
                                         "fields.g0.sequence-group",
                                         "c0,c1,c2,c3,c4,c5,c6,c7,c8,c9",
                                         "fields.g1.sequence-group",
                                         "c10,c11,c12,c13,c14,c15,c16,c17,c18,c19",
                                         "fields.g2.sequence-group",
                                         "c20,c21,c22,c23,c24,c25,c26,c27,c28,c29",
                                         NULL};
    char *wide = wide_type();
    of_engine("partial-update: 30 columns, 60% NULL", wide, plain, RUNS, 0, 60);
    of_engine("partial-update: 30 columns in 3 sequence groups", wide, groups, RUNS, 0, 60);
    tl_free(wide);
}

void stage_merge(void)
{
    static const char five[] = "ROW<k BIGINT NOT NULL, a BIGINT, b DOUBLE, c STRING, d INT>";
    static const char *const first_row[] = {"merge-engine", "first-row", NULL};
    static const char *const sequence[] = {"sequence.field", "a", NULL};
    static const char *const functions[][2] = {
        {"sum", "BIGINT"},          {"sum", "DECIMAL(12, 2)"}, {"product", "DOUBLE"},     {"max", "STRING"},
        {"min", "TIMESTAMP(3)"},    {"last_value", "INT"},     {"first_value", "STRING"}, {"last_non_null_value", "STRING"},
        {"first_non_null_value", "INT"}, {"bool_or", "BOOLEAN"},    {"listagg", "STRING"},     {"collect", "ARRAY<INT>"},
        {"merge_map", "MAP<STRING, INT>"}};
    of_engine("deduplicate", five, NULL, RUNS, 0, 0);
    of_engine("deduplicate: STRING key", "ROW<k STRING NOT NULL, a BIGINT, b DOUBLE, c STRING, d INT>", NULL, RUNS, 0, 0);
    of_engine("deduplicate: stretches of 2,000 keys", five, NULL, RUNS, 2000, 0);
    of_engine("deduplicate: one run", five, NULL, 1, 0, 0);
    of_engine("deduplicate: sequence field", five, sequence, RUNS, 0, 0);
    of_engine("first-row", five, first_row, RUNS, 0, 0);
    partial_updates();
    for (size_t i = 0; i < TL_ARRAY_LEN(functions); i++)
        of_function(functions[i][0], functions[i][1]);
}
