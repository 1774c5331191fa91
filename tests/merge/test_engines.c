/*
 * Random histories through the engines, against the model: whole groups, sorted buffers, and merges of runs cut in every
 * way. Each case is a set of options with the model's view of them.
 */
#include "support/random_column.h"

#include "merge/model.c" /* the model is part of this program */

#include "merge/merge.h"
#include "types/text.h"

typedef struct option {
    const char *key;
    const char *value;
} option;

typedef struct test_case {
    const char *name;
    const char *type; /* ROW; column 0 is the key k INT NOT NULL, then those of the model */
    option options[12];
    model model;
    bool retracts; /* whether histories have -U and -D */
    bool no_update_before;
} test_case;

#define NO_GROUP .group = -1

static const test_case cases[] = {
    {"deduplicate",
     "ROW<k INT NOT NULL, a INT, s STRING>",
     {{"merge-engine", "deduplicate"}},
     {.engine = M_DEDUPLICATE, .n_cols = 2, .cols = {{M_INT, NO_GROUP}, {M_STRING, NO_GROUP}}},
     true,
     false},
    {"deduplicate by a sequence field",
     "ROW<k INT NOT NULL, a INT, s STRING>",
     {{"sequence.field", "a"}},
     {.engine = M_DEDUPLICATE,
      .n_cols = 2,
      .cols = {{M_INT, NO_GROUP}, {M_STRING, NO_GROUP}},
      .n_sequence_fields = 1,
      .sequence_fields = {0}},
     true,
     false},
    {"deduplicate by two descending sequence fields",
     "ROW<k INT NOT NULL, a INT, s STRING>",
     {{"sequence.field", "s, a"}, {"sequence.field.sort-order", "descending"}},
     {.engine = M_DEDUPLICATE,
      .n_cols = 2,
      .cols = {{M_INT, NO_GROUP}, {M_STRING, NO_GROUP}},
      .n_sequence_fields = 2,
      .sequence_fields = {1, 0},
      .sequence_descending = true},
     true,
     false},
    {"deduplicate without deletes",
     "ROW<k INT NOT NULL, a INT>",
     {{"ignore-delete", "true"}},
     {.engine = M_DEDUPLICATE, .n_cols = 1, .cols = {{M_INT, NO_GROUP}}, .ignore_delete = true},
     true,
     false},
    {"first row",
     "ROW<k INT NOT NULL, a INT>",
     {{"merge-engine", "first-row"}},
     {.engine = M_FIRST_ROW, .n_cols = 1, .cols = {{M_INT, NO_GROUP}}},
     false,
     false},
    {"first row without deletes",
     "ROW<k INT NOT NULL, a INT>",
     {{"merge-engine", "first-row"}, {"ignore-delete", "true"}},
     {.engine = M_FIRST_ROW, .n_cols = 1, .cols = {{M_INT, NO_GROUP}}, .ignore_delete = true},
     true,
     false},
    {"partial update",
     "ROW<k INT NOT NULL, a INT, s STRING, l ARRAY<INT>>",
     {{"merge-engine", "partial-update"}},
     {.engine = M_PARTIAL_UPDATE, .n_cols = 3, .cols = {{M_INT, NO_GROUP}, {M_STRING, NO_GROUP}, {M_ARRAY, NO_GROUP}}},
     false,
     false},
    {"partial update without deletes",
     "ROW<k INT NOT NULL, a INT, s STRING>",
     {{"merge-engine", "partial-update"}, {"ignore-delete", "true"}},
     {.engine = M_PARTIAL_UPDATE, .n_cols = 2, .cols = {{M_INT, NO_GROUP}, {M_STRING, NO_GROUP}}, .ignore_delete = true},
     true,
     false},
    {"partial update, deletes remove",
     "ROW<k INT NOT NULL, a INT, s STRING>",
     {{"merge-engine", "partial-update"}, {"partial-update.remove-record-on-delete", "true"}},
     {.engine = M_PARTIAL_UPDATE, .n_cols = 2, .cols = {{M_INT, NO_GROUP}, {M_STRING, NO_GROUP}}, .remove_on_delete = true},
     true,
     false},
    {"partial update, two groups",
     "ROW<k INT NOT NULL, a INT, g INT, h INT, s STRING, b INT, f STRING>",
     {{"merge-engine", "partial-update"}, {"fields.g.sequence-group", "a"}, {"fields.h.sequence-group", "s,b"}},
     {.engine = M_PARTIAL_UPDATE,
      .n_cols = 6,
      .n_groups = 2,
      .cols = {{M_INT, .group = 0},
               {M_INT, .group = 0, .is_sequence = true},
               {M_INT, .group = 1, .is_sequence = true},
               {M_STRING, .group = 1},
               {M_INT, .group = 1},
               {M_STRING, NO_GROUP}}},
     true,
     false},
    {"partial update, a group with two sequence columns",
     "ROW<k INT NOT NULL, a INT, g INT, t STRING, b INT>",
     {{"merge-engine", "partial-update"}, {"fields.g,t.sequence-group", "a,b"}},
     {.engine = M_PARTIAL_UPDATE,
      .n_cols = 4,
      .n_groups = 1,
      .cols = {{M_INT, .group = 0},
               {M_INT, .group = 0, .is_sequence = true},
               {M_STRING, .group = 0, .is_sequence = true},
               {M_INT, .group = 0}}},
     true,
     false},
    {"partial update, a group removes",
     "ROW<k INT NOT NULL, a INT, g INT, b INT, h INT, f INT>",
     {{"merge-engine", "partial-update"},
      {"fields.g.sequence-group", "a"},
      {"fields.h.sequence-group", "b"},
      {"partial-update.remove-record-on-sequence-group", "g"}},
     {.engine = M_PARTIAL_UPDATE,
      .n_cols = 5,
      .n_groups = 2,
      .group_removes = {true},
      .cols = {{M_INT, .group = 0},
               {M_INT, .group = 0, .is_sequence = true},
               {M_INT, .group = 1},
               {M_INT, .group = 1, .is_sequence = true},
               {M_INT, NO_GROUP}}},
     true,
     false},
    {"partial update, groups without deletes",
     "ROW<k INT NOT NULL, a INT, g INT, f INT>",
     {{"merge-engine", "partial-update"}, {"fields.g.sequence-group", "a"}, {"ignore-delete", "true"}},
     {.engine = M_PARTIAL_UPDATE,
      .n_cols = 3,
      .n_groups = 1,
      .ignore_delete = true,
      .cols = {{M_INT, .group = 0}, {M_INT, .group = 0, .is_sequence = true}, {M_INT, NO_GROUP}}},
     true,
     false},
    {"partial update, aggregates in groups",
     "ROW<k INT NOT NULL, su INT, g INT, la INT, ln INT, co ARRAY<INT>, h INT, ma MAP<INT, INT>, f INT>",
     {{"merge-engine", "partial-update"},
      {"fields.g.sequence-group", "su,la,ln,co"},
      {"fields.h.sequence-group", "ma"},
      {"fields.su.aggregate-function", "sum"},
      {"fields.la.aggregate-function", "last_value"},
      {"fields.ln.aggregate-function", "last_non_null_value"},
      {"fields.co.aggregate-function", "collect"},
      {"fields.ma.aggregate-function", "merge_map"}},
     {.engine = M_PARTIAL_UPDATE,
      .n_cols = 8,
      .n_groups = 2,
      .cols = {{M_INT, .fn = "sum", .group = 0},
               {M_INT, .group = 0, .is_sequence = true},
               {M_INT, .fn = "last_value", .group = 0},
               {M_INT, .fn = "last_non_null_value", .group = 0},
               {M_ARRAY, .fn = "collect", .group = 0},
               {M_INT, .group = 1, .is_sequence = true},
               {M_MAP, .fn = "merge_map", .group = 1},
               {M_INT, NO_GROUP}}},
     true,
     false},
    {"partial update, late records reversed",
     "ROW<k INT NOT NULL, g INT, fv INT, fn INT, li STRING, mx INT, cd ARRAY<INT>, ld STRING>",
     {{"merge-engine", "partial-update"},
      {"fields.g.sequence-group", "fv,fn,li,mx,cd,ld"},
      {"fields.fv.aggregate-function", "first_value"},
      {"fields.fn.aggregate-function", "first_non_null_value"},
      {"fields.li.aggregate-function", "listagg"},
      {"fields.mx.aggregate-function", "max"},
      {"fields.cd.aggregate-function", "collect"},
      {"fields.cd.distinct", "true"},
      {"fields.ld.aggregate-function", "listagg"},
      {"fields.ld.distinct", "true"}},
     {.engine = M_PARTIAL_UPDATE,
      .n_cols = 7,
      .n_groups = 1,
      .cols = {{M_INT, .group = 0, .is_sequence = true},
               {M_INT, .fn = "first_value", .group = 0},
               {M_INT, .fn = "first_non_null_value", .group = 0},
               {M_STRING, .fn = "listagg", .group = 0},
               {M_INT, .fn = "max", .group = 0},
               {M_ARRAY, .fn = "collect", .distinct = true, .group = 0},
               {M_STRING, .fn = "listagg", .distinct = true, .group = 0}}},
     false,
     false},
    {"partial update, retractions ignored",
     "ROW<k INT NOT NULL, g INT, mx INT, co ARRAY<INT>>",
     {{"merge-engine", "partial-update"},
      {"fields.g.sequence-group", "mx,co"},
      {"fields.mx.aggregate-function", "min"},
      {"fields.mx.ignore-retract", "true"},
      {"fields.co.aggregate-function", "collect"},
      {"fields.co.ignore-retract", "true"}},
     {.engine = M_PARTIAL_UPDATE,
      .n_cols = 3,
      .n_groups = 1,
      .cols = {{M_INT, .group = 0, .is_sequence = true},
               {M_INT, .fn = "min", .ignore_retract = true, .group = 0},
               {M_ARRAY, .fn = "collect", .ignore_retract = true, .group = 0}}},
     true,
     false},
    {"aggregation of numbers",
     "ROW<k INT NOT NULL, a INT, b INT, c INT, d INT>",
     {{"merge-engine", "aggregation"},
      {"fields.a.aggregate-function", "sum"},
      {"fields.b.aggregate-function", "last_value"},
      {"fields.c.aggregate-function", "last_non_null_value"}},
     {.engine = M_AGGREGATION,
      .n_cols = 4,
      .cols = {{M_INT, .fn = "sum", NO_GROUP},
               {M_INT, .fn = "last_value", NO_GROUP},
               {M_INT, .fn = "last_non_null_value", NO_GROUP},
               {M_INT, NO_GROUP}}},
     true,
     false},
    {"aggregation without retractions",
     "ROW<k INT NOT NULL, a INT, b INT, c BOOLEAN, d BOOLEAN, e INT, f INT, p INT, x STRING, y STRING>",
     {{"merge-engine", "aggregation"},
      {"fields.a.aggregate-function", "max"},
      {"fields.b.aggregate-function", "min"},
      {"fields.c.aggregate-function", "bool_and"},
      {"fields.d.aggregate-function", "bool_or"},
      {"fields.e.aggregate-function", "first_value"},
      {"fields.f.aggregate-function", "first_not_null_value"},
      {"fields.p.aggregate-function", "product"},
      {"fields.x.aggregate-function", "max"},
      {"fields.y.aggregate-function", "listagg"}},
     {.engine = M_AGGREGATION,
      .n_cols = 9,
      .cols = {{M_INT, .fn = "max", NO_GROUP},
               {M_INT, .fn = "min", NO_GROUP},
               {M_BOOL, .fn = "bool_and", NO_GROUP},
               {M_BOOL, .fn = "bool_or", NO_GROUP},
               {M_INT, .fn = "first_value", NO_GROUP},
               {M_INT, .fn = "first_non_null_value", NO_GROUP},
               {M_INT, .fn = "product", NO_GROUP},
               {M_STRING, .fn = "max", NO_GROUP},
               {M_STRING, .fn = "listagg", NO_GROUP}}},
     false,
     false},
    {"aggregation of collections",
     "ROW<k INT NOT NULL, a ARRAY<INT>, b ARRAY<INT>, m MAP<INT, INT>>",
     {{"merge-engine", "aggregation"},
      {"fields.a.aggregate-function", "collect"},
      {"fields.b.aggregate-function", "collect"},
      {"fields.b.distinct", "true"},
      {"fields.m.aggregate-function", "merge_map"}},
     {.engine = M_AGGREGATION,
      .n_cols = 3,
      .cols = {{M_ARRAY, .fn = "collect", NO_GROUP},
               {M_ARRAY, .fn = "collect", .distinct = true, NO_GROUP},
               {M_MAP, .fn = "merge_map", NO_GROUP}}},
     true,
     false},
    {"aggregation, deletes remove",
     "ROW<k INT NOT NULL, a INT, b STRING, l ARRAY<INT>>",
     {{"merge-engine", "aggregation"},
      {"fields.a.aggregate-function", "sum"},
      {"fields.l.aggregate-function", "collect"},
      {"aggregation.remove-record-on-delete", "true"}},
     {.engine = M_AGGREGATION,
      .n_cols = 3,
      .remove_on_delete = true,
      .cols = {{M_INT, .fn = "sum", NO_GROUP}, {M_STRING, NO_GROUP}, {M_ARRAY, .fn = "collect", NO_GROUP}}},
     true,
     false},
    {"aggregation by a default function",
     "ROW<k INT NOT NULL, a INT, b INT>",
     {{"merge-engine", "aggregation"}, {"fields.default-aggregate-function", "sum"}, {"sequence.field", "b"}},
     {.engine = M_AGGREGATION,
      .n_cols = 2,
      .cols = {{M_INT, .fn = "sum", NO_GROUP}, {M_INT, NO_GROUP}},
      .n_sequence_fields = 1,
      .sequence_fields = {1}},
     true,
     false},
};

/* ---- random histories ---- */

static model_value random_value(const model_column *col, uint64_t *rng)
{
    model_value v = {.null = test_random(rng) % 4 == 0};
    if (v.null)
        return v;
    switch (col->type) {
    case M_BOOL:
        v.num = test_random(rng) % 2;
        break;
    case M_INT:
        /* Sums and products of a history stay in the type: what does not is in test_functions.c. */
        if (col->fn != NULL && strcmp(col->fn, "product") == 0)
            v.num = test_random(rng) % 64 == 0 ? 2 : (int64_t)(test_random(rng) % 2) * 2 - 1;
        else
            v.num = test_random(rng) % 20 == 0 ? (int32_t)test_random(rng) / 1024 : (int64_t)(test_random(rng) % 9) - 3;
        break;
    case M_STRING:
        for (size_t n = test_random(rng) % 3; n > 0; n--)
            strcat(v.text, n == 1 ? (test_random(rng) % 2 ? "a" : "b") : "a,");
        break;
    default:
        for (size_t n = test_random(rng) % 4; n > 0; n--) {
            int32_t item = (int32_t)(test_random(rng) % 5);
            if (col->type == M_MAP && find_item(&v, item) >= 0)
                continue;
            push(&v, item, (int32_t)(test_random(rng) % 100));
        }
        break;
    }
    return v;
}

static void random_history(const test_case *tc, model_record *records, int n, int n_keys, uint64_t *rng)
{
    for (int i = 0; i < n; i++) {
        model_record *r = &records[i];
        memset(r, 0, sizeof *r);
        r->key = (int32_t)(test_random(rng) % (uint64_t)n_keys) - 3;
        r->seq = i;
        r->kind = test_random(rng) % 3 == 0 ? TL_KIND_UPDATE_AFTER : TL_KIND_INSERT;
        if (tc->retracts && test_random(rng) % 4 == 0)
            r->kind = test_random(rng) % 2 ? TL_KIND_DELETE : TL_KIND_UPDATE_BEFORE;
        for (int c = 0; c < tc->model.n_cols; c++)
            r->cols[c] = random_value(&tc->model.cols[c], rng);
    }
}

/* ---- to and from columns ---- */

static void build_value(tl_builder *b, model_type type, const model_value *v)
{
    tl_status status = TL_OK;
    if (v->null) {
        assert_int_equal(tl_builder_null(b), TL_OK);
        return;
    }
    switch (type) {
    case M_BOOL:
        status = tl_builder_bool(b, v->num != 0);
        break;
    case M_INT:
        status = tl_builder_int(b, v->num);
        break;
    case M_STRING:
        status = tl_builder_bytes(b, v->text, strlen(v->text));
        break;
    default:
        for (int i = 0; i < v->n; i++) {
            assert_int_equal(tl_builder_int(tl_builder_child(b, 0), v->items[i]), TL_OK);
            if (type == M_MAP)
                assert_int_equal(tl_builder_int(tl_builder_child(b, 1), v->values[i]), TL_OK);
        }
        status = tl_builder_end(b);
        break;
    }
    assert_int_equal(status, TL_OK);
}

static tl_batch *to_batch(const test_case *tc, const tl_type *type, model_record *const *records, int n)
{
    tl_error err;
    tl_batch *batch = NULL;
    assert_ok(tl_batch_create(type, n, &batch, &err), &err);
    batch->row_kind = tl_alloc((size_t)n + 1);
    batch->seq = tl_alloc(((size_t)n + 1) * sizeof *batch->seq);
    for (int32_t c = 0; c < type->n_fields; c++) {
        tl_builder *b = NULL;
        assert_ok(tl_builder_create(type->fields[c].type, &b, &err), &err);
        for (int i = 0; i < n; i++) {
            if (c == 0)
                assert_int_equal(tl_builder_int(b, records[i]->key), TL_OK);
            else
                build_value(b, tc->model.cols[c - 1].type, &records[i]->cols[c - 1]);
        }
        assert_ok(tl_builder_finish(b, &batch->cols[c], &err), &err);
        tl_builder_free(b);
    }
    for (int i = 0; i < n; i++) {
        batch->row_kind[i] = records[i]->kind;
        batch->seq[i] = records[i]->seq;
    }
    return batch;
}

static void append_text(tl_buf *out, const tl_batch *batch, bool deletes)
{
    tl_error err;
    (void)err;
    for (int64_t i = 0; i < batch->n_rows; i++) {
        if (!deletes && tl_kind_is_retract(tl_batch_kind(batch, i)))
            continue;
        assert_int_equal(tl_text_append_json_row(out, batch, i, /* with_kind= */ true, 0), TL_OK);
        assert_int_equal(tl_buf_appendf(out, " %lld\n", (long long)batch->seq[i]), TL_OK);
    }
}

/* Without the sequence numbers at the ends of the lines. */
static void cut_seqs(tl_buf *text)
{
    size_t to = 0, space = 0;
    for (size_t from = 0; from < text->len; from++) {
        uint8_t c = text->data[from];
        if (c == ' ')
            space = to;
        if (c == '\n')
            to = space;
        text->data[to++] = c;
    }
    text->len = to;
}

typedef struct fixture {
    const test_case *tc;
    const tl_type *type;
    tl_merge_engine *engine;
    model_record *records;
    int n;
} fixture;

static const int32_t key_column = 0;

static void open_fixture(fixture *f, const test_case *tc, int n, int n_keys, uint64_t *rng)
{
    tl_error err;
    tl_options options = {0};
    *f = (fixture){.tc = tc, .n = n, .type = test_type(tc->type)};
    for (size_t i = 0; i < TL_ARRAY_LEN(tc->options) && tc->options[i].key != NULL; i++)
        assert_int_equal(tl_options_set(&options, tc->options[i].key, tc->options[i].value), TL_OK);
    assert_ok(tl_merge_validate(f->type, &key_column, 1, &options, &err), &err);
    assert_ok(tl_merge_engine_create(f->type, &key_column, 1, &options, &f->engine, &err), &err);
    tl_options_deinit(&options);
    f->records = malloc(((size_t)n + 1) * sizeof *f->records);
    random_history(tc, f->records, n, n_keys, rng);
}

static void close_fixture(fixture *f)
{
    tl_merge_engine_unref(f->engine);
    tl_type_unref(f->type);
    free(f->records);
}

static int by_key_and_seq(const void *a, const void *b)
{
    const model_record *x = *(model_record *const *)a, *y = *(model_record *const *)b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return (x->seq > y->seq) - (x->seq < y->seq);
}

/* What the model makes of the history, as text in key order. */
static tl_buf expected_text(const fixture *f, bool buffer, bool always_call, bool deletes)
{
    tl_buf out = {0};
    model m = f->tc->model;
    m.sequence_descending = m.sequence_descending && !buffer; /* a flush sorts in ascending order */
    model_record **sorted = malloc(((size_t)f->n + 1) * sizeof *sorted);
    for (int i = 0; i < f->n; i++)
        sorted[i] = &f->records[i];
    qsort(sorted, (size_t)f->n, sizeof *sorted, by_key_and_seq);
    for (int from = 0, to; from < f->n; from = to) {
        for (to = from + 1; to < f->n && sorted[to]->key == sorted[from]->key; to++)
            continue;
        model_order(&m, sorted + from, to - from);
        model_record merged = model_merge(&m, sorted + from, to - from, always_call), *one = &merged;
        tl_batch *batch = to_batch(f->tc, f->type, &one, 1);
        append_text(&out, batch, deletes);
        tl_batch_free(batch);
    }
    free(sorted);
    assert_int_equal(tl_buf_append_byte(&out, 0), TL_OK);
    return out;
}

static void compare_texts(const fixture *f, const char *how, tl_buf *got, const tl_buf *wanted)
{
    assert_int_equal(tl_buf_append_byte(got, 0), TL_OK);
    const char *g = (const char *)got->data, *w = (const char *)wanted->data;
    if (strcmp(g, w) == 0)
        return;
    while (*g != 0 && *w != 0) {
        size_t g_len = strcspn(g, "\n"), w_len = strcspn(w, "\n");
        if (g_len != w_len || memcmp(g, w, g_len) != 0)
            break;
        g += g_len + 1;
        w += w_len + 1;
    }
    print_error("got    %.*s\nwanted %.*s\n", (int)strcspn(g, "\n"), g, (int)strcspn(w, "\n"), w);
    for (int i = 0; i < f->n; i++) {
        tl_buf text = {0};
        model_record *one = &f->records[i];
        tl_batch *batch = to_batch(f->tc, f->type, &one, 1);
        char key[32];
        append_text(&text, batch, true);
        snprintf(key, sizeof key, "\"k\":%d,", one->key);
        if (memmem(w, strcspn(w, "\n"), key, strlen(key)) != NULL)
            print_error("  %.*s", (int)text.len, (const char *)text.data);
        tl_buf_deinit(&text);
        tl_batch_free(batch);
    }
    fail_msg("%s: %s", f->tc->name, how);
}

/* The history in batches of random length, in order of arrival. */
static uint32_t cut_batches(const fixture *f, tl_batch **batches, uint64_t *rng)
{
    uint32_t n_batches = 0;
    model_record **all = malloc(((size_t)f->n + 1) * sizeof *all);
    for (int i = 0; i < f->n; i++)
        all[i] = &f->records[i];
    for (int from = 0; from < f->n;) {
        int n = 1 + (int)(test_random(rng) % 97);
        n = TL_MIN(n, f->n - from);
        batches[n_batches++] = to_batch(f->tc, f->type, all + from, n);
        from += n;
    }
    free(all);
    return n_batches;
}

static void check_groups(const fixture *f, bool always_call, uint64_t *rng)
{
    tl_error err;
    tl_batch **batches = calloc((size_t)f->n + 1, sizeof *batches), *merged = NULL;
    uint32_t n_batches = cut_batches(f, batches, rng), n_groups = 0, *starts = NULL;
    tl_rowref *refs = NULL;
    tl_buf got = {0}, wanted = expected_text(f, /* buffer= */ true, always_call, true);
    const tl_batch *const *sources = (const tl_batch *const *)batches;
    assert_ok(tl_merge_sort_groups(f->engine, &key_column, 1, sources, n_batches, &refs, &starts, &n_groups, &err), &err);
    tl_groups groups = {sources, n_batches, refs, starts, n_groups};
    assert_ok(tl_merge_groups(f->engine, &groups, always_call, &merged, &err), &err);
    for (int32_t c = 0; c < merged->n_cols; c++)
        assert_ok(tl_column_check(merged->cols[c], &err), &err);
    assert_int_equal(merged->n_rows, n_groups);
    append_text(&got, merged, true);
    compare_texts(f, always_call ? "groups, always called" : "groups", &got, &wanted);
    tl_batch_free(merged);
    tl_free(refs);
    tl_free(starts);
    tl_buf_deinit(&got);
    tl_buf_deinit(&wanted);
    for (uint32_t b = 0; b < n_batches; b++)
        tl_batch_free(batches[b]);
    free(batches);
}

/* One run: some of the records, in batches sorted by key (records of one key in merge order, as a spill has them). */
static tl_reader *make_run(const fixture *f, model_record **records, int n, bool with_seq, uint64_t *rng)
{
    tl_error err;
    tl_reader *reader = NULL;
    int32_t n_batches = 0;
    qsort(records, (size_t)n, sizeof *records, by_key_and_seq);
    tl_batch **batches = tl_calloc((size_t)n + 2, sizeof *batches);
    for (int from = 0; from < n;) {
        int len = 1 + (int)(test_random(rng) % (test_random(rng) % 2 ? 5 : 700));
        len = TL_MIN(len, n - from);
        batches[n_batches] = to_batch(f->tc, f->type, records + from, len);
        if (!with_seq) {
            tl_free(batches[n_batches]->seq);
            batches[n_batches]->seq = NULL;
        }
        n_batches++;
        from += len;
    }
    if (test_random(rng) % 2)
        batches[n_batches++] = to_batch(f->tc, f->type, records, 0); /* an empty batch is not the end */
    assert_ok(tl_reader_from_batches(f->type, batches, n_batches, &reader, &err), &err);
    return reader;
}

/* A run's input; as a file's description does, it tells the range of sequence numbers. */
static tl_merge_input make_input(const fixture *f, model_record **records, int n, int level, bool with_seq, uint64_t *rng)
{
    tl_merge_input input = {.level = level, .min_seq = INT64_MAX, .max_seq = INT64_MIN};
    for (int i = 0; i < n; i++) {
        input.min_seq = TL_MIN(input.min_seq, records[i]->seq);
        input.max_seq = TL_MAX(input.max_seq, records[i]->seq);
    }
    input.reader = make_run(f, records, n, with_seq, rng);
    return input;
}

static int64_t last_seq(const fixture *f)
{
    int64_t last = 0;
    for (int i = 0; i < f->n; i++)
        last = TL_MAX(last, f->records[i].seq);
    return last;
}

static void check_merge(const fixture *f, int n_runs, bool drop_deletes, bool by_range, uint64_t *rng)
{
    tl_error err;
    /* Like flushes: each run has the sequence numbers between those of its neighbours. */
    bool by_seq = !by_range && test_random(rng) % 2;
    int64_t seqs = last_seq(f) + 1;
    const int32_t *fields;
    bool descending, in_order = by_seq && n_runs > 1 && tl_merge_sequence_fields(f->engine, &fields, &descending) == 0, told;
    bool with_seq = !in_order || test_random(rng) % 2;
    tl_merge_input *inputs = calloc((size_t)n_runs + 1, sizeof *inputs);
    model_record **mine = malloc(((size_t)f->n + 1) * sizeof *mine);
    for (int r = 0; r < n_runs; r++) {
        int n = 0;
        for (int i = 0; i < f->n; i++) {
            /* By range, a run has stretches of keys of its own; else each record goes anywhere. */
            uint64_t h = by_range ? (uint64_t)(f->records[i].key + 3) / 50 : (uint64_t)f->records[i].seq * 2654435761u >> 7;
            if (by_seq)
                h = (uint64_t)(n_runs - 1 - f->records[i].seq * n_runs / seqs); /* the latest first */
            if (h % (uint64_t)n_runs == (uint64_t)r)
                mine[n++] = &f->records[i];
        }
        inputs[r] = make_input(f, mine, n, r, with_seq, rng);
    }
    int64_t batch_rows = test_random(rng) % 2 ? 0 : 1 + (int64_t)(test_random(rng) % 40);
    bool buffer_order = test_random(rng) % 3 == 0;
    tl_merge_spec spec = {.engine = f->engine,
                          .key_idx = &key_column,
                          .n_keys = 1,
                          .drop_deletes = drop_deletes,
                          .buffer_order = buffer_order,
                          .batch_rows = batch_rows};
    tl_reader *reader = NULL;
    assert_ok(tl_merge_in_order(f->engine, inputs, n_runs, &told, &err), &err);
    assert_true(told || !in_order);
    assert_ok(tl_merge_open(f->type, &spec, inputs, n_runs, &reader, &err), &err);
    tl_buf got = {0}, wanted = expected_text(f, buffer_order, false, !drop_deletes);
    for (;;) {
        tl_batch *batch = NULL;
        assert_ok(tl_reader_next(reader, &batch, &err), &err);
        if (batch == NULL)
            break;
        assert_true(batch->n_rows > 0);
        assert_true(batch->n_rows <= (batch_rows == 0 ? TL_BATCH_ROWS : batch_rows));
        append_text(&got, batch, true);
        tl_batch_free(batch);
    }
    if (!with_seq) {
        cut_seqs(&got);
        cut_seqs(&wanted);
    }
    compare_texts(f, by_range ? "merge of ranges" : "merge of runs", &got, &wanted);
    tl_reader_free(reader);
    tl_buf_deinit(&got);
    tl_buf_deinit(&wanted);
    free(inputs);
    free(mine);
}

static void engines_do_what_the_model_does(void **state)
{
    (void)state;
    uint64_t rng = test_seed(11);
    for (size_t k = 0; k < TL_ARRAY_LEN(cases); k++)
        for (int round = 0; round < 12; round++) {
            static const int sizes[] = {1, 2, 5, 40, 300};
            fixture f;
            int n = sizes[round % 5];
            open_fixture(&f, &cases[k], n, 1 + n / 4, &rng);
            check_groups(&f, false, &rng);
            check_groups(&f, true, &rng);
            close_fixture(&f);
        }
}

/* Whether values grow with the history, beyond what the model holds. */
static bool values_grow(const test_case *tc)
{
    for (int c = 0; c < tc->model.n_cols; c++) {
        const char *fn = tc->model.cols[c].fn;
        if (fn != NULL && (strcmp(fn, "collect") == 0 || strcmp(fn, "listagg") == 0))
            return true;
    }
    return false;
}

static void groups_of_many_records_are_no_different(void **state)
{
    (void)state;
    uint64_t rng = test_seed(14);
    for (size_t k = 0; k < TL_ARRAY_LEN(cases); k++) {
        fixture f;
        if (values_grow(&cases[k]))
            continue;
        open_fixture(&f, &cases[k], 900, 3, &rng);
        check_groups(&f, false, &rng);
        check_merge(&f, 4, true, false, &rng);
        check_merge(&f, 1, false, false, &rng);
        close_fixture(&f);
    }
}

static void merging_runs_is_merging_all_at_once(void **state)
{
    (void)state;
    uint64_t rng = test_seed(12);
    for (size_t k = 0; k < TL_ARRAY_LEN(cases); k++) {
        static const int sizes[] = {0, 1, 30, 500, 2000};
        for (int round = 0; round < 10; round++) {
            fixture f;
            int n = sizes[round % 5];
            open_fixture(&f, &cases[k], n, 1 + n / 3, &rng);
            check_merge(&f, 1 + (int)(test_random(&rng) % 12), round % 2 == 0, round >= 5, &rng);
            close_fixture(&f);
        }
    }
}

static void no_input_gives_no_rows(void **state)
{
    (void)state;
    uint64_t rng = 1;
    fixture f;
    open_fixture(&f, &cases[0], 0, 1, &rng);
    check_merge(&f, 0, true, false, &rng);
    close_fixture(&f);
}

/* Every allocation fails once: an error, no leak, no crash. */
static void failing_allocations_are_errors(void **state)
{
    (void)state;
    tl_error err;
    uint64_t rng = test_seed(13);
    for (size_t k = 0; k < TL_ARRAY_LEN(cases); k++) {
        fixture f;
        open_fixture(&f, &cases[k], 60, 20, &rng);
        tl_batch *batches[80], *merged = NULL;
        uint32_t n_batches = cut_batches(&f, batches, &rng);
        const tl_batch *const *sources = (const tl_batch *const *)batches;
        for (uint64_t nth = 1;; nth++) {
            tl_rowref *refs = NULL;
            uint32_t *starts = NULL, n_groups = 0;
            tl_alloc_fail_at(nth);
            tl_status status =
                tl_merge_sort_groups(f.engine, &key_column, 1, sources, n_batches, &refs, &starts, &n_groups, &err);
            if (status == TL_OK) {
                tl_groups groups = {sources, n_batches, refs, starts, n_groups};
                status = tl_merge_groups(f.engine, &groups, true, &merged, &err);
            }
            tl_alloc_fail_at(0);
            tl_free(refs);
            tl_free(starts);
            if (status == TL_OK)
                break;
            assert_int_equal(status, TL_E_NOMEM);
        }
        tl_batch_free(merged);
        for (uint32_t b = 0; b < n_batches; b++)
            tl_batch_free(batches[b]);
        close_fixture(&f);
    }
}

static tl_status read_all(tl_reader *reader, tl_error *err)
{
    for (;;) {
        tl_batch *batch = NULL;
        TL_TRY(tl_reader_next(reader, &batch, err));
        if (batch == NULL)
            return TL_OK;
        tl_batch_free(batch);
    }
}

static void a_reader_survives_failing_allocations(void **state)
{
    (void)state;
    tl_error err;
    uint64_t rng = test_seed(15);
    static const char *const types[] = {"ROW<k INT NOT NULL, a INT, s STRING>", "ROW<k INT, a INT, s STRING>"};
    for (size_t t = 0; t < TL_ARRAY_LEN(types); t++) {
        test_case tc = cases[0];
        tc.type = types[t]; /* a nullable key is no number: the loser tree */
        fixture f;
        open_fixture(&f, &tc, 300, 90, &rng);
        for (uint64_t nth = 1;; nth++) {
            tl_merge_input inputs[3];
            model_record *mine[300];
            for (int r = 0; r < 3; r++) {
                for (int i = 0; i < 100; i++)
                    mine[i] = &f.records[r * 100 + i];
                inputs[r] = make_input(&f, mine, 100, r, true, &rng);
            }
            tl_merge_spec spec = {.engine = f.engine, .key_idx = &key_column, .n_keys = 1, .batch_rows = 16};
            tl_reader *reader = NULL;
            tl_alloc_fail_at(nth);
            tl_status status = tl_merge_open(f.type, &spec, inputs, 3, &reader, &err);
            if (status == TL_OK)
                status = read_all(reader, &err);
            tl_alloc_fail_at(0);
            tl_reader_free(reader);
            if (status == TL_OK)
                break;
            assert_int_equal(status, TL_E_NOMEM);
        }
        close_fixture(&f);
    }
}

/* The same runs through the loser tree, whose keys are no numbers. */
static void byte_keys_merge_as_numbers_do(void **state)
{
    (void)state;
    uint64_t rng = test_seed(16);
    for (int round = 0; round < 12; round++) {
        test_case tc = cases[round % 3];
        fixture f;
        tc.type = "ROW<k INT, a INT, s STRING>";
        open_fixture(&f, &tc, 1500, 500, &rng);
        check_merge(&f, 1 + round, round % 2 == 0, round >= 6, &rng);
        close_fixture(&f);
    }
}

static tl_status count_rows(void *ctx, const tl_merge_engine *engine, const tl_groups *groups, const int32_t *source_levels,
                            tl_batch **out, tl_error *err)
{
    int64_t *rows = ctx;
    for (uint32_t g = 0; g < groups->n_groups; g++)
        for (uint32_t r = groups->starts[g]; r < groups->starts[g + 1]; r++) {
            assert_true(groups->refs[r].src < groups->n_sources);
            assert_true(groups->refs[r].row < groups->sources[groups->refs[r].src]->n_rows);
            rows[source_levels[groups->refs[r].src]]++;
        }
    return tl_merge_groups(engine, groups, false, out, err);
}

static void a_hook_sees_each_record_and_its_level(void **state)
{
    (void)state;
    tl_error err;
    uint64_t rng = test_seed(17);
    fixture f;
    open_fixture(&f, &cases[0], 1000, 300, &rng);
    tl_merge_input inputs[4];
    for (int r = 0; r < 4; r++) {
        model_record *mine[250];
        for (int i = 0; i < 250; i++)
            mine[i] = &f.records[r * 250 + i];
        inputs[r] = make_input(&f, mine, 250 - r, r, true, &rng);
    }
    int64_t rows[4] = {0};
    tl_group_hook hook = {count_rows, rows};
    tl_merge_spec spec = {.engine = f.engine, .key_idx = &key_column, .n_keys = 1, .hook = &hook, .batch_rows = 100};
    tl_reader *reader = NULL;
    assert_ok(tl_merge_open(f.type, &spec, inputs, 4, &reader, &err), &err);
    assert_ok(read_all(reader, &err), &err);
    tl_reader_free(reader);
    for (int r = 0; r < 4; r++)
        assert_int_equal(rows[r], 250 - r);
    close_fixture(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(engines_do_what_the_model_does),      cmocka_unit_test(groups_of_many_records_are_no_different),
        cmocka_unit_test(merging_runs_is_merging_all_at_once), cmocka_unit_test(no_input_gives_no_rows),
        cmocka_unit_test(failing_allocations_are_errors),      cmocka_unit_test(a_reader_survives_failing_allocations),
        cmocka_unit_test(byte_keys_merge_as_numbers_do),       cmocka_unit_test(a_hook_sees_each_record_and_its_level),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
