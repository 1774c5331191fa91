/*
 * Tables against a model, for tests of whole histories: columns p INT, k INT (the primary key of keyed tables, p being the
 * partition where there is one), v BIGINT, s STRING; rows as plain structs; what a table must hold after each commit; reads of
 * states and of changelogs into the same structs.
 */
#ifndef TL_TESTS_LAKE_MODEL_H
#define TL_TESTS_LAKE_MODEL_H

#include "support/random_column.h"
#include "table/table.h"

typedef struct row {
    int32_t p;
    int32_t k;
    int64_t v;
    int32_t s; /* text "sNNN" */
    uint8_t kind;
} row;

typedef struct rows {
    row *items;
    size_t n;
    size_t cap;
} rows;

static inline void rows_add(rows *list, row r)
{
    if (list->n == list->cap) {
        list->cap = list->cap == 0 ? 64 : list->cap * 2;
        list->items = realloc(list->items, list->cap * sizeof(*list->items));
        assert_non_null(list->items);
    }
    list->items[list->n++] = r;
}

static inline void rows_free(rows *list)
{
    free(list->items);
    *list = (rows){NULL, 0, 0};
}

static inline rows rows_dup(const rows *from)
{
    rows copy = {0};
    for (size_t i = 0; i < from->n; i++)
        rows_add(&copy, from->items[i]);
    return copy;
}

static inline int compare_rows(const void *x, const void *y)
{
    const row *a = x, *b = y;
    if (a->p != b->p)
        return a->p < b->p ? -1 : 1;
    if (a->k != b->k)
        return a->k < b->k ? -1 : 1;
    if (a->v != b->v)
        return a->v < b->v ? -1 : 1;
    return (a->s > b->s) - (a->s < b->s);
}

static inline void rows_sort(rows *list)
{
    if (list->n > 1)
        qsort(list->items, list->n, sizeof(row), compare_rows);
}

/* Equal as bags, row kinds aside; both are sorted here. */
static inline bool rows_equal(rows *a, rows *b)
{
    rows_sort(a);
    rows_sort(b);
    if (a->n != b->n)
        return false;
    for (size_t i = 0; i < a->n; i++) {
        if (compare_rows(&a->items[i], &b->items[i]) != 0)
            return false;
    }
    return true;
}

static inline void rows_print(const char *what, const rows *list)
{
    for (size_t i = 0; i < list->n; i++)
        printf("  %s: p=%d k=%d v=%lld s=%d\n", what, list->items[i].p, list->items[i].k, (long long)list->items[i].v,
               list->items[i].s);
}

static inline void assert_rows_equal(rows *got, rows *want, const char *where)
{
    if (rows_equal(got, want))
        return;
    rows_print("got", got);
    rows_print("want", want);
    fail_msg("%s: %zu rows, %zu wanted, or they differ", where, got->n, want->n);
}

/* ---- what a table holds ---- */

typedef enum engine {
    ENGINE_APPEND,      /* a bag of rows */
    ENGINE_DEDUPLICATE, /* the last row of a key; deletes */
    ENGINE_SUM          /* aggregation: v is summed, s the last one */
} engine;

static inline row *model_find(rows *model, const row *r)
{
    for (size_t i = 0; i < model->n; i++) {
        if (model->items[i].p == r->p && model->items[i].k == r->k)
            return &model->items[i];
    }
    return NULL;
}

static inline void model_apply(rows *model, engine e, row r)
{
    row *old = e == ENGINE_APPEND ? NULL : model_find(model, &r);
    if (tl_kind_is_retract(r.kind)) {
        if (old != NULL)
            *old = model->items[--model->n];
        return;
    }
    r.kind = TL_KIND_INSERT;
    if (old != NULL && e == ENGINE_SUM)
        r.v += old->v;
    if (old != NULL)
        *old = r;
    else
        rows_add(model, r);
}

/* One change of a changelog that tells every step: what it takes back must be there, what it adds must not. */
static inline void model_follow(rows *state, const row *change, const char *where)
{
    row *old = model_find(state, change);
    if (tl_kind_is_retract(change->kind)) {
        if (old == NULL || compare_rows(old, change) != 0)
            fail_msg("%s: %s of key %d takes back v=%lld, which is not there", where, tl_row_kind_text(change->kind), change->k,
                     (long long)change->v);
        *old = state->items[--state->n];
        return;
    }
    if (old != NULL)
        fail_msg("%s: %s of key %d, which is there already", where, tl_row_kind_text(change->kind), change->k);
    rows_add(state, *change);
}

/* ---- tables ---- */

/* A kind of table that a test runs its history on. */
typedef struct table_kind {
    const char *name;
    engine engine;
    bool partitioned;
    bool deletes_rows; /* an append table with deletion vectors */
    bool exact_changelog; /* of lookup and full-compaction: see model_follow() */
    bool full_each;       /* each commit compacts in full */
    const char *options[16]; /* key, value, …, NULL */
} table_kind;

static inline tl_status create_table(tl_catalog *catalog, const table_kind *kind, tl_error *err)
{
    static char *const partition_keys[] = {"p"};
    static char *const primary_keys[] = {"p", "k"};
    const tl_type *type = NULL;
    tl_options options = {0};
    static const char text[] = "ROW<p INT NOT NULL, k INT NOT NULL, v BIGINT, s STRING> NOT NULL";
    tl_status status = tl_type_parse((tl_bytes_view){(const uint8_t *)text, sizeof text - 1}, &type, err);
    for (int i = 0; status == TL_OK && kind->options[i] != NULL; i += 2) {
        if (tl_options_set(&options, kind->options[i], kind->options[i + 1]) != TL_OK)
            status = tl_nomem(err, "options");
    }
    /* Not the seconds that a real commit waits for others. */
    if (status == TL_OK && (tl_options_set(&options, "commit.min-retry-wait", "1 ms") != TL_OK ||
                            tl_options_set(&options, "commit.max-retry-wait", "20 ms") != TL_OK))
        status = tl_nomem(err, "options");
    if (status == TL_OK) {
        tl_table_def def = {.row_type = type, .options = &options};
        if (kind->partitioned) {
            def.partition_keys = partition_keys;
            def.n_partition_keys = 1;
        }
        if (kind->engine != ENGINE_APPEND) {
            def.primary_keys = primary_keys;
            def.n_primary_keys = 2;
        }
        status = tl_table_create(catalog, "d", "t", &def, /* if_not_exists= */ true, err);
    }
    tl_options_deinit(&options);
    tl_type_unref(type);
    return status;
}

static inline tl_status open_table(tl_catalog *catalog, const char *key, const char *value, tl_table **out, tl_error *err)
{
    tl_options dynamic = {0};
    tl_status status = TL_OK;
    if (key != NULL && tl_options_set(&dynamic, key, value) != TL_OK)
        status = tl_nomem(err, "options");
    if (status == TL_OK)
        status = tl_table_open(catalog, "d", "t", key == NULL ? NULL : &dynamic, out, err);
    tl_options_deinit(&dynamic);
    return status;
}

static inline tl_status append_cell(tl_builder *builder, const row *r, int column)
{
    char text[16];
    if (column == 3)
        return tl_builder_bytes(builder, text, (size_t)snprintf(text, sizeof text, "s%03d", r->s));
    return tl_builder_int(builder, column == 0 ? r->p : column == 1 ? r->k : r->v);
}

static inline tl_status make_column(const tl_type *type, const row *items, size_t n, int column, tl_column **out, tl_error *err)
{
    tl_builder *builder = NULL;
    TL_TRY(tl_builder_create(type, &builder, err));
    tl_status status = TL_OK;
    for (size_t i = 0; i < n && status == TL_OK; i++)
        status = append_cell(builder, &items[i], column);
    if (status == TL_OK)
        status = tl_builder_finish(builder, out, err);
    else
        (void)tl_builder_error(builder, status, err);
    tl_builder_free(builder);
    return status;
}

static inline tl_status make_batch(const tl_type *type, const row *items, size_t n, tl_batch **out, tl_error *err)
{
    TL_CLEANUP(tl_batch_freep) tl_batch *batch = NULL;
    TL_TRY(tl_batch_create(type, (int64_t)n, &batch, err));
    for (int c = 0; c < 4; c++)
        TL_TRY(make_column(type->fields[c].type, items, n, c, &batch->cols[c], err));
    batch->row_kind = tl_alloc(n + 1);
    if (batch->row_kind == NULL)
        return tl_nomem(err, "row kinds");
    for (size_t i = 0; i < n; i++)
        batch->row_kind[i] = items[i].kind;
    *out = TL_STEAL(batch);
    return TL_OK;
}

static inline tl_status write_rows(tl_table *table, tl_table_writer *writer, const rows *list, tl_error *err)
{
    TL_CLEANUP(tl_batch_freep) tl_batch *batch = NULL;
    TL_TRY(make_batch(tl_table_row_type(table), list->items, list->n, &batch, err));
    return tl_table_writer_write(writer, batch, err);
}

/* Write and commit the rows with a new writer: what a job does that starts again from its last checkpoint. */
static inline tl_status commit_rows(tl_table *table, const table_kind *kind, const rows *list, const char *user, int64_t identifier,
                                    tl_pool *pool, tl_commit_result *result, tl_error *err)
{
    tl_write_options options = {.pool = pool};
    tl_table_writer *writer = NULL;
    tl_commit_messages messages = {0};
    TL_TRY(tl_table_writer_create(table, &options, &writer, err));
    tl_status status = write_rows(table, writer, list, err);
    if (status == TL_OK && kind->full_each)
        status = tl_table_writer_compact(writer, /* full= */ true, err);
    if (status == TL_OK)
        status = tl_table_writer_prepare(writer, /* wait_compaction= */ true, &messages, err);
    tl_commit_spec spec = {.user = user, .identifier = identifier, .watermark = TL_ABSENT, .ignore_empty = true};
    if (status == TL_OK)
        status = tl_table_commit(table, &spec, &messages, result, err);
    tl_commit_messages_deinit(&messages);
    tl_table_writer_free(writer);
    return status;
}

/* ---- reads ---- */

static inline void add_batch(rows *out, const tl_batch *batch)
{
    for (int64_t i = 0; i < batch->n_rows; i++) {
        tl_bytes_view text = tl_col_bytes(batch->cols[3], i);
        row r = {.p = tl_col_i32(batch->cols[0], i),
                 .k = tl_col_i32(batch->cols[1], i),
                 .v = tl_col_i64(batch->cols[2], i),
                 .kind = tl_batch_kind(batch, i)};
        for (size_t c = 1; c < text.len; c++)
            r.s = r.s * 10 + text.data[c] - '0';
        rows_add(out, r);
    }
}

static inline tl_status drain(tl_reader *reader, rows *out, tl_error *err)
{
    for (;;) {
        TL_CLEANUP(tl_batch_freep) tl_batch *batch = NULL;
        TL_TRY(tl_reader_next(reader, &batch, err));
        if (batch == NULL)
            return TL_OK;
        add_batch(out, batch);
    }
}

/* The table's rows as its scan options have it. */
static inline tl_status read_table(tl_table *table, tl_pool *pool, rows *out, tl_error *err)
{
    tl_scan_spec spec = {.limit = -1, .pool = pool};
    TL_CLEANUP(tl_reader_freep) tl_reader *reader = NULL;
    TL_TRY(tl_table_read(table, &spec, &reader, err));
    return drain(reader, out, err);
}

static inline tl_status read_splits(tl_table *table, const tl_splits *splits, rows *out, tl_error *err)
{
    tl_scan_spec spec = {.limit = -1, .with_kinds = true};
    for (size_t i = 0; i < splits->n; i++) {
        TL_CLEANUP(tl_reader_freep) tl_reader *reader = NULL;
        TL_TRY(tl_table_read_split(table, &splits->items[i], &spec, &reader, err));
        TL_TRY(drain(reader, out, err));
    }
    return TL_OK;
}

/* All changes from snapshot `from` on, in order. */
static inline tl_status read_changes(tl_table *table, int64_t from, rows *out, tl_error *err)
{
    tl_stream_scan *scan = NULL;
    TL_TRY(tl_stream_scan_create(table, from, &scan, err));
    bool ready = true;
    tl_status status = TL_OK;
    while (status == TL_OK && ready) {
        tl_splits splits = {0};
        int64_t id = 0;
        bool full = false;
        status = tl_stream_scan_plan(scan, &splits, &ready, &id, &full, err);
        if (status == TL_OK && ready)
            status = read_splits(table, &splits, out, err);
        tl_splits_deinit(&splits);
    }
    tl_stream_scan_free(scan);
    return status;
}

/* What the changes since the table's beginning make of it. */
static inline void fold_changes(tl_table *table, const table_kind *kind, rows *state, const char *where)
{
    rows changes = {0};
    tl_error err;
    assert_ok(read_changes(table, 1, &changes, &err), &err);
    for (size_t i = 0; i < changes.n; i++) {
        if (kind->exact_changelog)
            model_follow(state, &changes.items[i], where);
        else
            model_apply(state, kind->engine, changes.items[i]);
    }
    rows_free(&changes);
}

/* fsck finds nothing. */
static inline void assert_sound(tl_table *table, bool all, const char *where)
{
    tl_fsck_report report = {0};
    tl_error err;
    tl_status status = tl_table_fsck(table, all, &report, &err);
    if (status != TL_OK)
        fail_msg("%s: fsck: %s", where, err.message);
    if (report.n_problems > 0)
        fail_msg("%s: fsck: %s (and %zu more)", where, report.problems[0], report.n_problems - 1);
    tl_fsck_report_deinit(&report);
}

#endif
