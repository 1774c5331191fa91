/*
 * Changes of lake tables without a primary key that a query decides: UPDATE and DELETE with subqueries, merge_into. The query finds the rows
 * that go, all their columns and what takes their place; the store then marks the rows that are equal to one of them. Equal rows fare alike, since a condition sees values only.
 * If the store does not find as many rows as the query did, somebody changed the table in between, or a value came back from the query
 * other than it went in: then nothing is changed.
 */
#include "sql/commands.h"

#include "types/binary_row.h"

struct tl_row_changes {
    const tl_type *row_type; /* of the table */
    int32_t n_cols;
    tl_map rows; /* BinaryRow -> place + 1 */
    tl_kept_batches batches; /* old rows, those of an update with the new ones in columns behind */
    tl_rowref *places; /* of the distinct old rows */
    size_t n_places, places_cap;
    tl_kept_batches inserts;
    int64_t wanted; /* old rows that queries found */
    int64_t found;
    tl_table *table;
    tl_table_writer *writer; /* of what takes the place of rows that go */
    tl_table_writer *inserter; /* of rows that come: they have no ids yet (row tracking) */
};
typedef tl_row_changes row_set;

tl_status tl_sql__changes_create(const tl_sql_table *table, tl_row_changes **out, tl_error *err)
{
    row_set *s = tl_calloc(1, sizeof *s);
    if (s == NULL)
        return tl_nomem(err, "rows");
    s->table = table->table;
    s->row_type = tl_table_row_type(table->table);
    s->n_cols = s->row_type->n_fields;
    *out = s;
    return TL_OK;
}

void tl_sql__changes_free(tl_row_changes *s)
{
    if (s == NULL)
        return;
    tl_sql__batches_deinit(&s->batches);
    tl_sql__batches_deinit(&s->inserts);
    tl_free(s->places);
    tl_map_deinit(&s->rows);
    tl_free(s);
}

/* The rows' first columns as bytes: row i is data[offsets[i] … offsets[i + 1]). */
static tl_status encode(const row_set *s, const tl_batch *rows, tl_buf *data, int64_t **offsets, tl_error *err)
{
    *offsets = tl_alloc((size_t)(rows->n_rows + 1) * sizeof **offsets);
    if (*offsets == NULL)
        return tl_nomem(err, "rows");
    return tl_binary_rows((const tl_column *const *)rows->cols, s->n_cols, rows->n_rows, data, *offsets, err);
}

/* ---- what the query found ---- */

/* Equal rows may come again from the same batch or another one: they fare as the first, unless one is to go and one to change. */
static tl_status add_row(row_set *s, const tl_batch *batch, const uint8_t *bytes, size_t len, uint32_t row, tl_error *err)
{
    uintptr_t place = (uintptr_t)tl_map_get(&s->rows, bytes, len);
    if (place != 0) {
        uint32_t src = s->places[place - 1].src;
        if (src < s->batches.n && s->batches.items[src]->n_cols != batch->n_cols)
            return tl_error_set(err, TL_E_INVALID, "a row is to be changed and to be deleted");
        return TL_OK;
    }
    if (s->n_places == s->places_cap) {
        size_t cap = s->places_cap == 0 ? 64 : s->places_cap * 2;
        tl_rowref *places = tl_realloc(s->places, cap * sizeof *places);
        if (places == NULL)
            return tl_nomem(err, "rows");
        s->places = places;
        s->places_cap = cap;
    }
    s->places[s->n_places++] = (tl_rowref){(uint32_t)s->batches.n, row};
    return tl_map_put(&s->rows, bytes, len, (void *)(uintptr_t)s->n_places, NULL) == TL_OK ? TL_OK : tl_nomem(err, "rows");
}

static tl_status add_old(row_set *s, tl_batch **batch, tl_error *err)
{
    TL_CLEANUP(tl_freep) int64_t *offsets = NULL;
    tl_buf data = {0};
    tl_status status = encode(s, *batch, &data, &offsets, err);
    for (int64_t i = 0; i < (*batch)->n_rows && status == TL_OK; i++)
        status = add_row(s, *batch, data.data + offsets[i], (size_t)(offsets[i + 1] - offsets[i]), (uint32_t)i, err);
    s->wanted += (*batch)->n_rows;
    tl_buf_deinit(&data);
    return status == TL_OK ? tl_sql__batches_keep(&s->batches, batch, err) : status;
}

tl_status tl_sql__changes_add(tl_row_changes *s, tl_reader *rows_take, bool inserts, tl_error *err)
{
    TL_CLEANUP(tl_reader_freep) tl_reader *rows = rows_take;
    for (;;) {
        TL_CLEANUP(tl_batch_freep) tl_batch *batch = NULL;
        TL_TRY(tl_reader_next(rows, &batch, err));
        if (batch == NULL)
            return TL_OK;
        TL_TRY(inserts ? tl_sql__batches_keep(&s->inserts, &batch, err) : add_old(s, &batch, err));
    }
}

/* ---- what the store finds ---- */

/* What takes the place of the chosen rows, `from` being their numbers. */
static tl_status write_new(row_set *s, const tl_batch *rows, const uint32_t *from, const tl_rowref *refs, int64_t n, tl_error *err)
{
    TL_CLEANUP(tl_batch_freep) tl_batch *fresh = NULL;
    TL_CLEANUP(tl_freep) const tl_column **srcs = tl_calloc(s->batches.n + 1, sizeof *srcs);
    if (srcs == NULL)
        return tl_nomem(err, "rows");
    TL_TRY(tl_batch_create(s->row_type, n, &fresh, err));
    for (int32_t c = 0; c < s->n_cols; c++) {
        for (size_t i = 0; i < s->batches.n; i++)
            srcs[i] = s->batches.items[i]->n_cols == s->n_cols ? NULL : s->batches.items[i]->cols[s->n_cols + c];
        TL_TRY(tl_column_gather_multi(s->row_type->fields[c].type, srcs, refs, n, &fresh->cols[c], err));
    }
    TL_TRY(tl_sql__keep_ids(s->table, rows, from, n, &fresh, err));
    return tl_table_writer_write(s->writer, fresh, err);
}

static tl_status match(void *ctx, const tl_batch *rows, uint32_t *sel, int64_t *n, tl_error *err)
{
    row_set *s = ctx;
    tl_buf data = {0};
    int64_t n_new = 0;
    TL_CLEANUP(tl_freep) int64_t *offsets = NULL;
    TL_CLEANUP(tl_freep) tl_rowref *refs = tl_alloc((size_t)(rows->n_rows + 1) * sizeof *refs);
    TL_CLEANUP(tl_freep) uint32_t *from = tl_alloc((size_t)(rows->n_rows + 1) * sizeof *from);
    tl_status status = refs == NULL || from == NULL ? tl_nomem(err, "rows") : encode(s, rows, &data, &offsets, err);
    *n = 0;
    for (int64_t i = 0; i < rows->n_rows && status == TL_OK; i++) {
        uintptr_t place = (uintptr_t)tl_map_get(&s->rows, data.data + offsets[i], (size_t)(offsets[i + 1] - offsets[i]));
        if (place == 0)
            continue;
        sel[(*n)++] = (uint32_t)i;
        tl_rowref ref = s->places[place - 1];
        if (s->batches.items[ref.src]->n_cols > s->n_cols) {
            from[n_new] = (uint32_t)i;
            refs[n_new++] = ref;
        }
    }
    tl_buf_deinit(&data);
    s->found += *n;
    return status == TL_OK && n_new > 0 ? write_new(s, rows, from, refs, n_new, err) : status;
}

static tl_status prepare_inserts(row_set *s, tl_commit_messages *out, tl_error *err)
{
    tl_commit_messages inserted = {0};
    TL_TRY(tl_table_writer_prepare(s->inserter, /* wait_compaction= */ true, &inserted, err));
    tl_status status = tl_commit_messages_move(out, &inserted, err);
    if (status != TL_OK)
        tl_table_abort(s->table, &inserted);
    tl_commit_messages_deinit(&inserted);
    return status;
}

/* A writer that keeps ids cannot give new ones. */
static tl_status create_writers(tl_binder *b, tl_table *writable, row_set *s)
{
    tl_write_options options = {.pool = b->session->pool, .keep_ids = tl_table_config(writable)->row_tracking};
    TL_TRY(tl_table_writer_create(writable, &options, &s->writer, b->err));
    s->inserter = s->writer;
    if (!options.keep_ids)
        return TL_OK;
    options.keep_ids = false;
    return tl_table_writer_create(writable, &options, &s->inserter, b->err);
}

static tl_status written(void *ctx, tl_commit_messages *out, tl_error *err)
{
    row_set *s = ctx;
    if (s->found != s->wanted)
        return tl_error_set(err, TL_E_CONFLICT,
                            "the query found %lld rows to change and the table has %lld that are equal to them: the table was changed meanwhile, or "
                            "a row was found more than once (several rows of a source match it)",
                            (long long)s->wanted, (long long)s->found);
    for (size_t i = 0; i < s->inserts.n; i++)
        TL_TRY(tl_table_writer_write(s->inserter, s->inserts.items[i], err));
    TL_TRY(tl_table_writer_prepare(s->writer, /* wait_compaction= */ true, out, err));
    return s->inserter == s->writer ? TL_OK : prepare_inserts(s, out, err);
}

static tl_status insert_all(tl_binder *b, tl_table *table, row_set *s)
{
    tl_reader *rows = NULL;
    if (s->inserts.n == 0)
        return TL_OK;
    int32_t n = (int32_t)s->inserts.n;
    s->inserts.n = s->inserts.cap = 0; /* the reader takes them */
    TL_TRY(tl_reader_from_batches(s->row_type, TL_STEAL(s->inserts.items), n, &rows, b->err));
    return tl_exec__write(b->session, table, rows, /* overwrite= */ false, NULL, b->err);
}

tl_status tl_sql__changes_commit(tl_binder *b, const tl_sql_table *table, tl_row_changes *s)
{
    tl_table *writable = NULL;
    const tl_delete_spec spec = {.finder = {.match = match, .ctx = s}, .written = written};
    if (s->wanted == 0)
        return insert_all(b, table->table, s);
    /* A writer of its own: a compaction beside the deletion would not know the rows that go. */
    tl_status status = tl_table_reopen(table->table, "write-only", "true", &writable, b->err);
    if (status == TL_OK)
        status = create_writers(b, writable, s);
    if (status == TL_OK)
        status = tl_table_delete(table->table, &spec, NULL, NULL, b->err);
    if (s->inserter != s->writer)
        tl_table_writer_free(s->inserter);
    tl_table_writer_free(s->writer);
    tl_table_free(writable);
    return status;
}

/* ---- UPDATE and DELETE ---- */

/* The table's columns, and behind them the new values. */
static tl_status project(tl_binder *b, const tl_ast *ast, tl_plan *rows, const tl_plan *values, tl_plan **out)
{
    int32_t n = rows->type->n_fields, all = values == NULL ? n : 2 * n;
    tl_expr **exprs = tl_arena_alloc(b->arena, (size_t)all * sizeof *exprs);
    const char **names = tl_arena_alloc(b->arena, (size_t)all * sizeof *names);
    BIND_ALLOC(b, exprs);
    BIND_ALLOC(b, names);
    for (int32_t i = 0; i < all; i++) {
        names[i] = tl_arena_strf(b->arena, i < n ? "c%d" : "n%d", (int)(i % n));
        BIND_ALLOC(b, names[i]);
        if (i < n)
            TL_TRY(tl_bind__column(b, i, rows->type->fields[i].type, ast, &exprs[i]));
        else
            exprs[i] = values->exprs[i - n];
    }
    return tl_bind__project(b, rows, exprs, names, all, out);
}

static tl_status run_query(tl_binder *b, tl_plan *plan, row_set *s)
{
    tl_sql_env env = b->stmt->env;
    tl_reader *rows = NULL;
    env.fixed_now_ms = tl_clock_now_ms(b->session->clock);
    TL_TRY(tl_plan__optimise(b, &plan));
    TL_TRY(tl_exec__open(b->session, &env, plan, &rows, b->err));
    return tl_sql__changes_add(s, rows, /* inserts= */ false, b->err);
}

tl_status tl_sql__change_by_rows(tl_binder *b, const tl_ast *ast, const tl_sql_table *table, tl_plan *scan, tl_expr *condition,
                                 const tl_plan *values)
{
    tl_plan *plan = scan;
    row_set *s = NULL;
    if (condition != NULL)
        TL_TRY(tl_bind__filter(b, scan, condition, &plan));
    TL_TRY(project(b, ast, plan, values, &plan));
    TL_TRY(tl_sql__changes_create(table, &s, b->err));
    tl_status status = run_query(b, plan, s);
    if (status == TL_OK)
        status = tl_sql__changes_commit(b, table, s);
    tl_sql__changes_free(s);
    return status;
}
