/*
 * The law: the content of a table is a matter of its rows and their order alone. For random schemas, options and histories it is
 * the same for every split of the rows into commits and files, every compaction schedule, file format, mode of statistics, with or
 * without threads; a projection, filter or limit gives what it would of the whole content; each snapshot keeps its content; and the
 * changelog, replayed from empty, gives the table; a tag and the last snapshot keep it when the others expire and orphans are cleaned.
 *
 * What is counted are operations, the steps of a history: a commit (of any rows), a compaction, a change of the schema, a tag, an
 * expiry, a cleaning of orphans, and each reading of the table that is compared with what it must be: a snapshot, a filter with a
 * projection and a limit, the changelog up to a snapshot, fsck. Neither rows nor batches count, nor what is done to make a case smaller.
 *
 * TL_LAW_CASES: how many cases (default 300); TL_SEED: the first case's seed. A case that fails is made smaller, row by row, and
 * printed with the seed that replays it.
 */
#include "law_case.h"

#include "base/log.h"

#define SNAPSHOTS_MAX 500

/* What went wrong; NULL: nothing. free(). */
typedef char *verdict;

static verdict wrong(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static verdict wrong(const char *fmt, ...)
{
    va_list args;
    char *text = malloc(1 << 16);
    va_start(args, fmt);
    vsnprintf(text, 1 << 16, fmt, args);
    va_end(args);
    return text;
}

/* One way to write a history. */
typedef struct way {
    const law_case *c;
    uint64_t rng;
    char options[2048];
    const char *producer; /* NULL: none */
    bool write_only;
    bool late;  /* rows are seen when they have been compacted only: first-row and deletion vectors */
    bool early; /* the table has the early columns still */
    int64_t last_early; /* the last snapshot of that time */
    lake l;
    tl_table *table;
    int64_t identifier;
    int64_t operations;
    /* content after each commit, by its last snapshot; whether the changelog must tell it */
    char *contents[SNAPSHOTS_MAX];
    bool told[SNAPSHOTS_MAX];
} way;

/* ---- writing ---- */

static tl_status commit_some(way *w, const uint32_t *idx, int64_t n, tl_error *err)
{
    tl_pool *pool = NULL;
    tl_table_writer *writer = NULL;
    tl_commit_messages messages = {0};
    tl_commit_result result = {0};
    if (below(&w->rng, 3) == 0)
        TL_TRY(tl_pool_create(2, &pool, err));
    tl_write_options options = {.pool = pool};
    tl_status status = tl_table_writer_create(w->table, &options, &writer, err);
    for (int64_t from = 0; status == TL_OK && from < n;) {
        int64_t step = 1 + (int64_t)below(&w->rng, (uint64_t)(n - from));
        tl_batch *part = NULL;
        status = tl_batch_gather(w->early ? w->c->early : w->c->history, idx + from, step, &part, err);
        if (status == TL_OK)
            status = tl_table_writer_write(writer, part, err);
        tl_batch_free(part);
        from += step;
    }
    if (status == TL_OK && below(&w->rng, 4) == 0 && !w->write_only && (w->c->n_keys > 0 || strstr(w->options, "bucket=-1") == NULL))
        status = tl_table_writer_compact(writer, /* full= */ below(&w->rng, 2) == 0, err);
    if (status == TL_OK)
        status = tl_table_writer_prepare(writer, /* wait_compaction= */ true, &messages, err);
    tl_commit_spec spec = batch_commit("law", ++w->identifier);
    if (status == TL_OK)
        status = tl_table_commit(w->table, &spec, &messages, &result, err);
    w->operations += status == TL_OK;
    tl_commit_messages_deinit(&messages);
    tl_table_writer_free(writer);
    tl_pool_free(pool);
    return status;
}

static int64_t latest_id(way *w)
{
    tl_snapshot *snap = NULL;
    int64_t id = tl_table_latest_snapshot(w->table, &snap, NULL) == TL_OK && snap != NULL ? snap->id : 0;
    tl_snapshot_free(snap);
    return id;
}

/* Remembers the content; what the changelog must have told so far. */
static tl_status note(way *w, bool compacted, tl_error *err)
{
    int64_t id = latest_id(w);
    bool lookup = w->producer != NULL && strcmp(w->producer, "lookup") == 0, input = w->producer != NULL && strcmp(w->producer, "input") == 0;
    if (id <= w->last_early || id >= SNAPSHOTS_MAX)
        return TL_OK;
    free(w->contents[id]);
    w->contents[id] = NULL;
    w->told[id] = w->c->n_keys == 0 || (input && (!w->late || !w->write_only)) || (w->producer != NULL && compacted) || (lookup && !w->write_only);
    return try_read(w->table, NULL, false, NULL, &w->contents[id], err);
}

/* From the early columns to those of the case. What was told before has other columns, so it is not compared. */
static tl_status change_schema(way *w, tl_error *err)
{
    tl_alter changes[COLUMNS_MAX];
    char early_names[COLUMNS_MAX][16];
    size_t n = 0;
    const law_case *c = w->c;
    for (int i = 0; i < c->type->n_fields; i++) {
        const tl_field *field = &c->type->fields[i];
        snprintf(early_names[i], sizeof early_names[i], "was%s", field->name + 1);
        if (c->past[i] == PAST_MISSING)
            changes[n++] = (tl_alter){.kind = TL_ALTER_ADD_COLUMN, .name = field->name, .type = field->type, .after = c->type->fields[i - 1].name};
        else if (c->past[i] == PAST_NARROW)
            changes[n++] = (tl_alter){.kind = TL_ALTER_COLUMN_TYPE, .name = field->name, .type = field->type};
        else if (c->past[i] == PAST_RENAMED)
            changes[n++] = (tl_alter){.kind = TL_ALTER_RENAME_COLUMN, .name = early_names[i], .value = field->name};
    }
    if (n > 0)
        TL_TRY(tl_table_alter(w->l.catalog, "d", "t", changes, n, err));
    w->operations += n > 0;
    tl_table_free(w->table);
    w->table = open_table(&w->l, "t");
    memset(w->told, 0, sizeof w->told);
    w->last_early = latest_id(w);
    w->early = false;
    return TL_OK;
}

static tl_status compact_all(way *w, tl_error *err)
{
    tl_commit_result result = {0};
    TL_TRY(tl_table_compact(w->table, NULL, /* full= */ true, NULL, &result, err));
    w->operations++;
    return note(w, true, err);
}

static tl_status write_all(way *w, const uint32_t *rows, int64_t n, bool at_once, tl_error *err)
{
    int64_t n_early = 0;
    while (w->early && n_early < n && rows[n_early] < w->c->changed_at)
        n_early++;
    for (int64_t from = 0; from < n;) {
        if (w->early && from == n_early)
            TL_TRY(change_schema(w, err));
        int64_t left = (w->early ? n_early : n) - from;
        int64_t step = at_once ? left : 1 + (int64_t)below(&w->rng, below(&w->rng, 2) == 0 ? 4 : (uint64_t)left);
        step = TL_MIN(step, left);
        TL_TRY(commit_some(w, rows + from, step, err));
        TL_TRY(note(w, false, err));
        from += step;
        if (!at_once && below(&w->rng, 4) == 0)
            TL_TRY(compact_all(w, err));
    }
    if (w->early)
        TL_TRY(change_schema(w, err));
    return w->late ? compact_all(w, err) : TL_OK;
}

/* ---- a changelog, replayed ---- */

typedef struct replayed {
    char **keys; /* of keyed tables */
    char **lines;
    size_t n;
} replayed;

static void replayed_free(replayed *r)
{
    for (size_t i = 0; i < r->n; i++) {
        free(r->keys[i]);
        free(r->lines[i]);
    }
    free(r->keys);
    free(r->lines);
}

static char *line_of(const tl_batch *batch, int64_t i, int32_t n_cols)
{
    tl_buf buf = {0};
    for (int32_t c = 0; c < n_cols; c++) {
        assert_int_equal(tl_text_append_json(&buf, batch->cols[c], i), TL_OK);
        assert_int_equal(tl_buf_append_byte(&buf, ' '), TL_OK);
    }
    char *text = strndup(buf.data == NULL ? "" : (const char *)buf.data, buf.len);
    tl_buf_deinit(&buf);
    return text;
}

static verdict follow_change(const way *w, replayed *r, const tl_batch *batch, int64_t i)
{
    bool exact = w->producer == NULL || strcmp(w->producer, "input") != 0;
    char *key = line_of(batch, i, w->c->n_keys), *line = line_of(batch, i, batch->n_cols);
    size_t at = 0;
    verdict v = NULL;
    while (at < r->n && (w->c->n_keys == 0 || strcmp(r->keys[at], key) != 0))
        at++;
    if (tl_kind_is_retract(tl_batch_kind(batch, i))) {
        if (at == r->n && exact)
            v = wrong("the changelog takes back what is not there: %s", line);
        else if (at < r->n && exact && strcmp(r->lines[at], line) != 0)
            v = wrong("the changelog takes back %s, but the row is %s", line, r->lines[at]);
        if (v == NULL && at < r->n) {
            free(r->keys[at]);
            free(r->lines[at]);
            r->n--;
            r->keys[at] = r->keys[r->n];
            r->lines[at] = r->lines[r->n];
        }
        free(key);
        free(line);
        return v;
    }
    if (at < r->n && exact)
        v = wrong("the changelog adds %s, but there is %s", line, r->lines[at]);
    if (at < r->n) {
        free(r->keys[at]);
        free(r->lines[at]);
    } else {
        r->keys = realloc(r->keys, (r->n + 1) * sizeof *r->keys);
        r->lines = realloc(r->lines, (r->n + 1) * sizeof *r->lines);
        r->n++;
    }
    r->keys[at] = key;
    r->lines[at] = line;
    return v;
}

/* The content as the replay prints it. */
static char *content_lines(way *w, int64_t snapshot)
{
    char option[64];
    tl_buf buf = {0};
    tl_reader *reader = NULL;
    tl_scan_spec spec = {.limit = -1};
    snprintf(option, sizeof option, "scan.snapshot-id=%lld", (long long)snapshot);
    tl_table *table = open_with(&w->l, "t", option);
    if (tl_table_read(table, &spec, &reader, NULL) == TL_OK) {
        tl_batch *batch = NULL;
        while (tl_reader_next(reader, &batch, NULL) == TL_OK && batch != NULL) {
            for (int64_t i = 0; i < batch->n_rows; i++) {
                char *line = line_of(batch, i, batch->n_cols);
                assert_int_equal(tl_buf_append_str(&buf, line), TL_OK);
                assert_int_equal(tl_buf_append_byte(&buf, '\n'), TL_OK);
                free(line);
            }
            tl_batch_free(batch);
            batch = NULL;
        }
    }
    tl_reader_free(reader);
    tl_table_free(table);
    assert_int_equal(tl_buf_append_byte(&buf, 0), TL_OK);
    char *sorted = sort_lines((const char *)buf.data);
    tl_buf_deinit(&buf);
    return sorted;
}

static verdict compare_replay(way *w, const replayed *r, int64_t snapshot)
{
    tl_buf buf = {0};
    for (size_t i = 0; i < r->n; i++)
        assert_true(tl_buf_append_str(&buf, r->lines[i]) == TL_OK && tl_buf_append_byte(&buf, '\n') == TL_OK);
    assert_int_equal(tl_buf_append_byte(&buf, 0), TL_OK);
    char *told = sort_lines((const char *)buf.data), *there = content_lines(w, snapshot);
    verdict v = strcmp(told, there) == 0 ? NULL : wrong("snapshot %lld: the changelog tells\n%sthe table holds\n%s", (long long)snapshot, told, there);
    free(told);
    free(there);
    tl_buf_deinit(&buf);
    return v;
}

static verdict read_changes_of(way *w, tl_splits *splits, replayed *r)
{
    tl_error err;
    verdict v = NULL;
    tl_scan_spec spec = {.limit = -1, .with_kinds = true};
    for (size_t s = 0; s < splits->n && v == NULL; s++) {
        tl_reader *reader = NULL;
        tl_batch *batch = NULL;
        tl_status status = tl_table_read_split(w->table, &splits->items[s], &spec, &reader, &err);
        while (status == TL_OK && v == NULL && (status = tl_reader_next(reader, &batch, &err)) == TL_OK && batch != NULL) {
            for (int64_t i = 0; i < batch->n_rows && v == NULL; i++)
                v = follow_change(w, r, batch, i);
            tl_batch_free(batch);
            batch = NULL;
        }
        tl_reader_free(reader);
        if (status != TL_OK && v == NULL)
            v = wrong("reading the changelog: %s", err.message);
    }
    return v;
}

static verdict check_changelog(way *w)
{
    tl_stream_scan *scan = NULL;
    tl_error err;
    replayed r = {0};
    verdict v = NULL;
    if (w->c->n_keys > 0 && w->producer == NULL)
        return NULL;
    if (tl_stream_scan_create(w->table, 1, &scan, &err) != TL_OK)
        return wrong("changelog: %s", err.message);
    int64_t done = 0, last = latest_id(w);
    for (bool ready = true; ready && v == NULL;) {
        tl_splits splits = {0};
        int64_t id = 0;
        bool full;
        if (tl_stream_scan_plan(scan, &splits, &ready, &id, &full, &err) != TL_OK)
            v = wrong("changelog: %s", err.message);
        int64_t upto = ready && v == NULL ? id : last + 1; /* snapshots without changes are passed over */
        for (int64_t s = done; s < upto && v == NULL; s++)
            if (s > 0 && s < SNAPSHOTS_MAX && w->contents[s] != NULL && w->told[s]) {
                v = compare_replay(w, &r, s);
                w->operations++;
            }
        done = upto;
        if (ready && v == NULL)
            v = read_changes_of(w, &splits, &r);
        tl_splits_deinit(&splits);
    }
    tl_stream_scan_free(scan);
    replayed_free(&r);
    return v;
}

/* ---- reads ---- */

static verdict check_snapshots(way *w)
{
    for (int64_t id = 1; id < SNAPSHOTS_MAX; id++) {
        char option[64];
        tl_error err;
        char *text = NULL;
        if (w->contents[id] == NULL)
            continue;
        snprintf(option, sizeof option, "scan.snapshot-id=%lld", (long long)id);
        tl_table *table = open_with(&w->l, "t", option);
        tl_status status = try_read(table, NULL, false, NULL, &text, &err);
        verdict v = status != TL_OK                        ? wrong("snapshot %lld: %s", (long long)id, err.message)
                    : strcmp(text, w->contents[id]) != 0 ? wrong("snapshot %lld was\n%sand is\n%s", (long long)id, w->contents[id], text)
                                                          : NULL;
        free(text);
        tl_table_free(table);
        w->operations++;
        if (v != NULL)
            return v;
    }
    return NULL;
}

static tl_predicate *random_predicate(way *w, int depth)
{
    static const tl_pred_op ops[] = {TL_PRED_EQ, TL_PRED_NE, TL_PRED_LT,      TL_PRED_LE,          TL_PRED_GT,          TL_PRED_GE,
                                     TL_PRED_IN, TL_PRED_NOT_IN, TL_PRED_BETWEEN, TL_PRED_IS_NULL, TL_PRED_IS_NOT_NULL, TL_PRED_STARTS_WITH};
    tl_predicate *out = NULL;
    tl_error err;
    uint64_t how = below(&w->rng, depth > 0 ? 6 : 3);
    if (how >= 4) {
        tl_predicate *a = random_predicate(w, depth - 1), *b = random_predicate(w, depth - 1);
        assert_ok(tl_predicate_combine(how == 4 ? TL_PRED_AND : TL_PRED_OR, a, b, &out, &err), &err);
        return out;
    }
    if (how == 3) {
        tl_predicate *a = random_predicate(w, depth - 1);
        if (a != NULL)
            assert_ok(tl_predicate_negate(a, &out, &err), &err);
        return out;
    }
    tl_pred_op op = PICK(&w->rng, ops);
    int32_t column = (int32_t)below(&w->rng, (uint64_t)w->c->type->n_fields);
    tl_column *literals = NULL;
    if (op != TL_PRED_IS_NULL && op != TL_PRED_IS_NOT_NULL) {
        uint32_t idx[2] = {(uint32_t)below(&w->rng, (uint64_t)w->c->history->n_rows), (uint32_t)below(&w->rng, (uint64_t)w->c->history->n_rows)};
        int64_t n = op == TL_PRED_IN || op == TL_PRED_NOT_IN || op == TL_PRED_BETWEEN ? 2 : 1;
        assert_ok(tl_column_gather(w->c->history->cols[column], idx, n, &literals, &err), &err);
    }
    (void)tl_predicate_leaf(op, column, literals, &out, NULL); /* what does not suit the type is no predicate */
    return out;
}

/* Everything that passes, read whole and filtered here; or the columns of a read that does both itself. Sorted lines. */
static verdict gather_lines(way *w, const tl_scan_spec *spec, const tl_predicate *here, const int32_t *columns, int32_t n_columns, char **out,
                            int64_t *n_rows)
{
    tl_reader *reader = NULL;
    tl_batch *batch = NULL;
    tl_buf buf = {0};
    tl_error err;
    tl_status status = tl_table_read(w->table, spec, &reader, &err);
    *n_rows = 0;
    while (status == TL_OK && (status = tl_reader_next(reader, &batch, &err)) == TL_OK && batch != NULL) {
        uint32_t *sel = tl_alloc((size_t)batch->n_rows * sizeof *sel + 1);
        int64_t n = batch->n_rows;
        for (int64_t i = 0; i < n; i++)
            sel[i] = (uint32_t)i;
        if (here != NULL)
            status = tl_predicate_eval(here, (const tl_column *const *)batch->cols, batch->n_rows, sel, &n, &err);
        for (int64_t i = 0; status == TL_OK && i < n; i++) {
            for (int32_t c = 0; c < n_columns; c++)
                assert_true(tl_text_append_json(&buf, batch->cols[columns == NULL ? c : columns[c]], sel[i]) == TL_OK &&
                            tl_buf_append_byte(&buf, ' ') == TL_OK);
            assert_int_equal(tl_buf_append_byte(&buf, '\n'), TL_OK);
        }
        *n_rows += n;
        tl_free(sel);
        tl_batch_free(batch);
        batch = NULL;
    }
    tl_reader_free(reader);
    assert_int_equal(tl_buf_append_byte(&buf, 0), TL_OK);
    *out = sort_lines((const char *)buf.data);
    tl_buf_deinit(&buf);
    return status == TL_OK ? NULL : wrong("reading: %s", err.message);
}

static verdict check_one_read(way *w)
{
    int32_t columns[COLUMNS_MAX], n_columns = 0;
    tl_pool *pool = NULL;
    for (int32_t i = 0; i < w->c->type->n_fields; i++)
        if (below(&w->rng, 2) == 0)
            columns[n_columns++] = i;
    for (int32_t i = n_columns; i > 1; i--) {
        int32_t k = (int32_t)below(&w->rng, (uint64_t)i), t = columns[k];
        columns[k] = columns[i - 1];
        columns[i - 1] = t;
    }
    if (below(&w->rng, 2) == 0)
        assert_int_equal(tl_pool_create(2, &pool, NULL), TL_OK);
    tl_predicate *pred = random_predicate(w, 2);
    tl_scan_spec whole = {.limit = -1}, part = {.columns = columns, .n_columns = n_columns, .predicate = pred, .limit = -1, .pool = pool};
    char *want = NULL, *got = NULL, *few = NULL, *none = NULL;
    int64_t n_want = 0, n_got = 0, n_few = 0, n_counted = 0;
    verdict v = gather_lines(w, &whole, pred, columns, n_columns, &want, &n_want);
    if (v == NULL)
        v = gather_lines(w, &part, NULL, NULL, n_columns, &got, &n_got);
    if (v == NULL && (n_want != n_got || strcmp(want, got) != 0))
        v = wrong("a filter (op %d on column %d) and %d columns give\n%sbut of the whole\n%s", pred == NULL ? -1 : (int)pred->op,
                  pred == NULL ? -1 : pred->column, n_columns, got, want);
    part.n_columns = 0;
    if (v == NULL)
        v = gather_lines(w, &part, NULL, NULL, 0, &none, &n_counted);
    if (v == NULL && n_counted != n_want)
        v = wrong("a filter (op %d on column %d) counts %lld of %lld rows", pred == NULL ? -1 : (int)pred->op,
                  pred == NULL ? -1 : pred->column, (long long)n_counted, (long long)n_want);
    part.n_columns = n_columns;
    part.limit = (int64_t)below(&w->rng, 5);
    if (v == NULL)
        v = gather_lines(w, &part, NULL, NULL, n_columns, &few, &n_few);
    if (v == NULL && n_few != TL_MIN(part.limit, n_want))
        v = wrong("limit %lld gives %lld of %lld rows", (long long)part.limit, (long long)n_few, (long long)n_want);
    w->operations += 2; /* whole and limited */
    free(want);
    free(got);
    free(few);
    free(none);
    tl_predicate_free(pred);
    tl_pool_free(pool);
    return v;
}

static verdict check_soundness(way *w)
{
    tl_fsck_report report = {0};
    tl_error err;
    if (tl_table_fsck(w->table, /* all= */ true, &report, &err) != TL_OK)
        return wrong("fsck: %s", err.message);
    verdict v = report.n_problems == 0 ? NULL : wrong("fsck: %s", report.problems[0]);
    tl_fsck_report_deinit(&report);
    w->operations++;
    return v;
}

/* ---- what stays when the rest goes ---- */

static tl_status expire_all_but(way *w, int64_t tagged, tl_error *err)
{
    tl_expire_spec last = {.retain_max = 1, .retain_min = 1, .older_than_ms = 0};
    tl_orphan *orphans = NULL;
    size_t n = 0;
    TL_TRY(tl_table_create_tag(w->table, "kept", tagged, TL_ABSENT, err));
    TL_TRY(tl_table_expire(w->table, &last, NULL, err));
    TL_TRY(tl_table_remove_orphans(w->table, 0, &orphans, &n, err));
    tl_orphans_free(orphans, n);
    w->operations += 3;
    return TL_OK;
}

static verdict check_content(way *w, const char *options, const char *want, const char *what)
{
    tl_error err;
    char *text = NULL;
    tl_table *table = open_with(&w->l, "t", options);
    tl_status status = try_read(table, NULL, false, NULL, &text, &err);
    verdict v = status != TL_OK          ? wrong("after expiry, %s: %s", what, err.message)
                : strcmp(text, want) != 0 ? wrong("after expiry %s was\n%sand is\n%s", what, want, text)
                                          : NULL;
    free(text);
    tl_table_free(table);
    w->operations++;
    return v;
}

/* `content`: the last snapshot's. */
static verdict check_expiry(way *w, const char *content)
{
    tl_error err;
    int64_t tagged = 0, last = TL_MIN(latest_id(w), (int64_t)SNAPSHOTS_MAX - 1);
    for (int64_t id = 1, n = 0; id <= last; id++)
        if (w->contents[id] != NULL && below(&w->rng, (uint64_t)++n) == 0)
            tagged = id;
    if (tagged == 0)
        return NULL;
    if (expire_all_but(w, tagged, &err) != TL_OK)
        return wrong("expiry: %s", err.message);
    verdict v = check_content(w, "scan.tag-name=kept", w->contents[tagged], "the tag");
    if (v == NULL)
        v = check_content(w, NULL, content, "the table");
    return v == NULL ? check_soundness(w) : v;
}

/* ---- one way, and all of them ---- */

static void choose_way(way *w, const law_case *c, uint64_t seed, bool plain)
{
    static const char *const producers[] = {NULL, "lookup", "full-compaction", "input"};
    *w = (way){.c = c, .rng = seed, .early = !plain && c->changed_at > 0, .late = c->engine == LAW_FIRST_ROW};
    if (plain) {
        snprintf(w->options, sizeof w->options, "%s", c->options);
        add_option(w->options, sizeof w->options, "bucket", c->n_keys > 0 ? "1" : "-1");
        if (c->n_keys > 0)
            add_option(w->options, sizeof w->options, "write-only", "true");
        w->write_only = true;
        return;
    }
    how_to_store(c, w->options, sizeof w->options, &w->rng);
    w->write_only = strstr(w->options, "write-only=true") != NULL;
    w->late |= strstr(w->options, "deletion-vectors.enabled=true") != NULL;
    if (c->n_keys > 0)
        w->producer = producers[below(&w->rng, c->engine == LAW_FIRST_ROW ? 2 : c->engine == LAW_DEDUPLICATE && !c->by_sequence ? 4 : 3)];
    if (w->producer != NULL)
        add_option(w->options, sizeof w->options, "changelog-producer", w->producer);
    add_option(w->options, sizeof w->options, "snapshot.num-retained.min", "1000");
    add_option(w->options, sizeof w->options, "snapshot.num-retained.max", "1000");
}

/* Writes the rows one way and looks at the table from all sides; *content: sorted lines, NULL if the table was refused. */
static verdict try_way(way *w, const uint32_t *rows, int64_t n, bool plain, char **content)
{
    tl_error err;
    verdict v = NULL;
    *content = NULL;
    w->l = memory_lake();
    tl_status status = try_create(&w->l, "t", w->early ? w->c->early_columns : w->c->columns, w->c->keys, w->c->partitioned ? "k0" : NULL, w->options, &err);
    if (status == TL_E_UNSUPPORTED || status == TL_E_INVALID) { /* refused with its reason: the law does not speak of it */
        close_lake(&w->l);
        return NULL;
    }
    assert_ok(status, &err);
    w->table = open_table(&w->l, "t");
    if (write_all(w, rows, n, plain, &err) != TL_OK)
        v = wrong("writing: %s", err.message);
    if (v == NULL && try_read(w->table, NULL, false, NULL, content, &err) != TL_OK)
        v = wrong("reading: %s", err.message);
    if (v == NULL)
        v = check_soundness(w);
    if (v == NULL)
        v = check_snapshots(w);
    if (v == NULL)
        v = check_changelog(w);
    for (int i = 0; i < 4 && v == NULL; i++)
        v = check_one_read(w);
    if (v == NULL)
        v = check_expiry(w, *content);
    tl_table_free(w->table);
    close_lake(&w->l);
    for (int i = 0; i < SNAPSHOTS_MAX; i++)
        free(w->contents[i]);
    return v;
}

typedef struct totals {
    int64_t refused, operations;
} totals;

static verdict broken(const law_case *c, uint64_t way_seed, const uint32_t *rows, int64_t n, totals *done)
{
    way plain, other = {0};
    char *want = NULL, *got = NULL;
    choose_way(&plain, c, way_seed, true);
    verdict v = try_way(&plain, rows, n, true, &want);
    if (v == NULL) {
        choose_way(&other, c, way_seed, false);
        v = try_way(&other, rows, n, false, &got);
        done->refused += want == NULL || got == NULL;
        if (v == NULL && want != NULL && got != NULL && strcmp(want, got) != 0)
            v = wrong("all at once the content is\n%sbut with '%s'\n%s", want, other.options, got);
        else if (v != NULL) {
            verdict with = wrong("%s\n(options %s)", v, other.options);
            free(v);
            v = with;
        }
    }
    done->operations += plain.operations + other.operations;
    free(want);
    free(got);
    return v;
}

/* Leaves rows out as long as the case stays broken. */
static verdict shrink(const law_case *c, uint64_t way_seed, uint32_t *rows, int64_t *n, verdict v)
{
    totals ignored = {0};
    for (int64_t chunk = *n / 2; chunk > 0; chunk /= 2) {
        for (int64_t at = 0; at + chunk <= *n;) {
            uint32_t *less = malloc((size_t)*n * sizeof *less);
            memcpy(less, rows, (size_t)at * sizeof *less);
            memcpy(less + at, rows + at + chunk, (size_t)(*n - at - chunk) * sizeof *less);
            verdict again = *n > chunk ? broken(c, way_seed, less, *n - chunk, &ignored) : NULL;
            if (again != NULL) {
                free(v);
                v = again;
                *n -= chunk;
                memcpy(rows, less, (size_t)*n * sizeof *rows);
            } else {
                at += chunk;
            }
            free(less);
        }
    }
    return v;
}

static void report(const law_case *c, const uint32_t *rows, int64_t n, const char *what)
{
    tl_error err;
    tl_batch *batch = NULL;
    tl_buf buf = {0};
    assert_ok(tl_batch_gather(c->history, rows, n, &batch, &err), &err);
    assert_int_equal(tl_text_append_json_lines(&buf, batch, 0, n, /* kinds= */ true, false), TL_OK);
    int64_t n_early = 0;
    while (n_early < n && rows[n_early] < c->changed_at)
        n_early++;
    printf("columns: %s\nprimary key: %s%s\n", c->columns, c->keys, c->partitioned ? ", partitioned by k0" : "");
    if (c->changed_at > 0)
        printf("before row %lld: %s\n", (long long)n_early, c->early_columns);
    printf("rows:\n%.*s%s\n", (int)buf.len, (const char *)buf.data, what);
    tl_buf_deinit(&buf);
    tl_batch_free(batch);
}

static void the_law_holds(void **state)
{
    (void)state;
    const char *text = getenv("TL_LAW_CASES");
    int64_t cases = text == NULL ? 300 : atoll(text);
    totals done = {0};
    uint64_t seed = test_seed(1);
    for (int64_t i = 0; i < cases; i++, seed++) {
        law_case c;
        case_init(&c, seed);
        int64_t n = c.history->n_rows;
        uint32_t *rows = malloc((size_t)n * sizeof *rows);
        for (int64_t r = 0; r < n; r++)
            rows[r] = (uint32_t)r;
        verdict v = broken(&c, seed ^ 0x5eed, rows, n, &done);
        if (v != NULL) {
            v = shrink(&c, seed ^ 0x5eed, rows, &n, v);
            report(&c, rows, n, v);
            fail_msg("TL_SEED=%llu TL_LAW_CASES=1 replays this", (unsigned long long)seed);
        }
        free(rows);
        case_deinit(&c);
    }
    printf("%lld operations, %lld cases, %lld of them refused\n", (long long)done.operations, (long long)cases, (long long)done.refused);
    assert_true(done.refused * 2 < cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_law_holds)};
    tl_log_set(NULL, NULL, TL_LOG_ERROR);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
