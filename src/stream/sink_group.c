/* A sink group's life: build, recover, loop over its pipelines, commit. */
#include "base/parse.h"
#include "connect/connect.h"
#include "stream/job.h"
#include "types/text.h"

#define PIPELINES_MAX 64
#define MICRO_BATCH_ROWS 16384
#define CHECKPOINT_DEFAULT_MS 500
#define PAUSE_MS 5

struct tl_sink_group {
    tl_run *run;
    const tl_sql_table *sink; /* NULL: a query, printed */
    tl_pipeline pipelines[PIPELINES_MAX];
    bool ended_pipeline[PIPELINES_MAX];
    int32_t n;
    char *user;
    tl_table_writer *writer;
    tl_sink *connector;
    bool drop_update_before;
    bool takes_deletes;      /* a row that is taken back is deleted */
    bool wait_compaction;    /* with every commit: its changelog is part of it (lookup) */
    int64_t full_every;      /* full compaction with every so many commits; 0: never */
    bool compaction_pending; /* a commit did not wait for what runs in the background */
    int64_t identifier;
    int64_t interval_ns;
    int64_t last_commit_ns;
    int64_t last_look_ns; /* at the clock, while nothing is written */
    tl_idle_partitions *idle; /* NULL: partitions are not marked done */
    int64_t rows_pending; /* written since the last commit */
    int64_t rows_in_told;
    bool resumed;
    pthread_t thread;
    bool started;
    atomic_bool quiet;
    atomic_bool ended;
    tl_status status;
    tl_error error;
};

/* ---- building ---- */

/* As Flink's connector asks for changes: rows that only take an old value back are of use to tables that store or retract them. */
static bool drops_update_before(const tl_table *table)
{
    if (tl_table_schema_of(table)->n_primary_keys == 0)
        return false;
    const char *producer = tl_table_option(table, "changelog-producer"), *engine = tl_table_option(table, "merge-engine");
    if ((producer != NULL && strcmp(producer, "input") == 0) || (engine != NULL && strcmp(engine, "aggregation") == 0))
        return false;
    if (engine == NULL || strcmp(engine, "partial-update") != 0)
        return true;
    const tl_options *options = &tl_table_schema_of(table)->options;
    for (size_t i = 0; i < options->count; i++)
        if (strstr(options->keys[i], ".aggregate-function") != NULL)
            return false;
    return true;
}

static tl_status checkpoint_interval(const tl_run *run, int64_t *out_ns, tl_error *err)
{
    const char *text = tl_sql_session_get(run->session, "execution.checkpointing.interval");
    int64_t ms = CHECKPOINT_DEFAULT_MS;
    if (text != NULL)
        TL_TRY(tl_error_wrap(err, tl_parse_duration_ms(text, &ms, err), "setting 'execution.checkpointing.interval'"));
    *out_ns = ms * 1000000;
    return TL_OK;
}

/*
 * When compactions are waited for and forced, as Flink's sink does it (FlinkSink, GlobalFullCompactionSinkWrite): what look-ups
 * make (a changelog, deletion vectors) comes with its commit unless lookup-wait is false; a full-compaction changelog with every
 * full-compaction.delta-commits commits and at the end.
 */
static tl_status compaction_rules(tl_sink_group *g, tl_error *err)
{
    g->wait_compaction = tl_table_lookups_wait(g->sink->table);
    return tl_table_full_compaction_every(g->sink->table, g->interval_ns / 1000000, &g->full_every, err);
}

static tl_status add_pipeline(tl_sink_group *g, const tl_plan *plan, tl_error *err)
{
    if (g->n == PIPELINES_MAX)
        return tl_error_set(err, TL_E_LIMIT, "a table has at most %d INSERTs in one statement set", PIPELINES_MAX);
    tl_pipeline *p = &g->pipelines[g->n++];
    *p = (tl_pipeline){.env = tl_sql_session_env(g->run->session), .fs = g->run->fs, .max_rows = MICRO_BATCH_ROWS};
    const char *ttl = tl_sql_session_get(g->run->session, "table.exec.state.ttl");
    if (ttl != NULL)
        TL_TRY(tl_error_wrap(err, tl_parse_duration_ms(ttl, &p->state_ttl_ms, err), "setting 'table.exec.state.ttl'"));
    p->splits_updates = tl_stream__splits_updates(plan);
    p->new_rows_do = tl_stream__new_rows_do(plan, g->sink, g->sink != NULL && g->sink->kind == TL_SQL_TABLE_LAKE && drops_update_before(g->sink->table));
    return tl_stream__build(p, plan, &p->root, err);
}

/* ---- positions ---- */

/* A leaf that has ended for good is {"end":POSITION} where that makes a difference: its end moved time on to the last window. */
static tl_status append_position(const tl_pipeline *p, const tl_leaf *leaf, tl_buf *out, tl_error *err)
{
    bool ended = p->event_time && leaf->base.watermark == TL_WATERMARK_END;
    if (ended && tl_buf_append_str(out, "{\"end\":") != TL_OK)
        return tl_nomem(err, "positions");
    TL_TRY(leaf->leaf_ops->position(leaf, out, err));
    return !ended || tl_buf_append_byte(out, '}') == TL_OK ? TL_OK : tl_nomem(err, "positions");
}

static tl_status append_positions(const tl_sink_group *g, tl_buf *out, tl_error *err)
{
    tl_status status = tl_buf_append_byte(out, '[');
    for (int32_t i = 0; i < g->n && status == TL_OK; i++) {
        status = tl_buf_append_str(out, i == 0 ? "[" : ",[");
        for (int k = 0; k < g->pipelines[i].n_leaves && status == TL_OK; k++) {
            if (k > 0)
                status = tl_buf_append_byte(out, ',');
            const tl_leaf *leaf = g->pipelines[i].leaves[k];
            if (status == TL_OK)
                TL_TRY(append_position(&g->pipelines[i], leaf, out, err));
        }
        if (status == TL_OK)
            status = tl_buf_append_byte(out, ']');
    }
    if (status == TL_OK)
        status = tl_buf_append_byte(out, ']');
    return status == TL_OK ? TL_OK : tl_nomem(err, "positions");
}

/* Rebuild the operators' state: what came before the position goes through them, and what they give is dropped. */
static tl_status replay(tl_pipeline *p, tl_error *err)
{
    for (;;) {
        tl_batch *batch;
        tl_op_state state;
        TL_TRY(tl_stream__next(p->root, &batch, &state, err));
        tl_batch_free(batch);
        if (state == TL_OP_END)
            return TL_OK;
        if (state == TL_OP_IDLE)
            return tl_error_set(err, TL_E_INTERNAL, "a source has no end of its history");
    }
}

static tl_status open_leaves(tl_pipeline *p, const tl_json *positions, bool history, tl_error *err)
{
    const tl_json *position = positions == NULL ? NULL : positions->child;
    for (int k = 0; k < p->n_leaves; k++) {
        const tl_json *end = position == NULL ? NULL : tl_json_get(position, "end"), *at = end != NULL ? end : position;
        TL_CLEANUP(tl_freep) char *text = at == NULL ? NULL : tl_strndup((const char *)at->raw.data, at->raw.len);
        if (at != NULL && text == NULL)
            return tl_nomem(err, "positions");
        p->leaves[k]->end_is_final = !history || end != NULL;
        TL_TRY(p->leaves[k]->leaf_ops->open(p->leaves[k], text, history, err));
        position = position == NULL ? NULL : position->next;
    }
    return TL_OK;
}

static tl_status open_pipelines(tl_sink_group *g, const tl_json *positions, tl_error *err)
{
    if (positions != NULL && positions->n_children != g->n)
        return tl_error_set(err, TL_E_INVALID, "the job's last commit has positions of %lld INSERTs, the script has %d now", (long long)positions->n_children, g->n);
    const tl_json *of_pipeline = positions == NULL ? NULL : positions->child;
    for (int32_t i = 0; i < g->n; i++) {
        tl_pipeline *p = &g->pipelines[i];
        if (of_pipeline != NULL && of_pipeline->n_children != p->n_leaves)
            return tl_error_set(err, TL_E_INVALID, "the job's last commit has positions of %lld sources, the script has %d now", (long long)of_pipeline->n_children, p->n_leaves);
        if (of_pipeline != NULL && p->stateful) {
            TL_TRY(open_leaves(p, of_pipeline, true, err));
            p->replaying = true;
            TL_TRY(tl_error_wrap(err, replay(p, err), "rebuilding the state of an operator"));
            p->replaying = false;
            p->rows_in = 0;
        }
        TL_TRY(open_leaves(p, of_pipeline, false, err));
        of_pipeline = of_pipeline == NULL ? NULL : of_pipeline->next;
    }
    return TL_OK;
}

/* ---- partitions that are marked done ---- */

/* The time by which partitions are idle: the clock's or, where the table asks for it, that of the slowest INSERT; in ms. */
static int64_t idle_now_ms(const tl_sink_group *g)
{
    if (g->idle == NULL || !tl_idle_partitions_by_watermark(g->idle))
        return tl_clock_now_ms(tl_clock_system());
    int64_t slowest = TL_WATERMARK_END;
    for (int32_t i = 0; i < g->n; i++)
        slowest = TL_MIN(slowest, g->pipelines[i].root->watermark);
    return slowest;
}

static tl_status mark_idle(tl_sink_group *g, bool end_of_input, tl_error *err)
{
    if (g->idle == NULL)
        return TL_OK;
    int64_t now = idle_now_ms(g);
    bool has_time = now != TL_WATERMARK_NONE && now != TL_WATERMARK_END;
    return has_time || end_of_input ? tl_idle_partitions_mark(g->idle, now, end_of_input, err) : TL_OK;
}

static tl_status note_written(tl_sink_group *g, const tl_commit_messages *messages, tl_job_state *state, tl_options *properties, tl_error *err)
{
    if (g->idle == NULL)
        return TL_OK;
    TL_TRY(tl_idle_partitions_note(g->idle, messages, idle_now_ms(g), err));
    TL_TRY(tl_idle_partitions_text(g->idle, &state->pending, err));
    return tl_options_set(properties, TL_JOB_PENDING_PROPERTY, state->pending) == TL_OK ? TL_OK : tl_nomem(err, "partitions");
}

static tl_status recover(tl_sink_group *g, tl_error *err)
{
    tl_job_state state = {0};
    if (g->writer != NULL)
        TL_TRY(tl_job_state_load(g->sink->table, g->user, &state, err));
    g->identifier = state.identifier;
    tl_arena arena = {0};
    const tl_json *positions = NULL;
    tl_status status = TL_OK;
    if (state.positions != NULL && !g->run->options->fresh) {
        status = tl_json_parse(&arena, (tl_bytes_view){(const uint8_t *)state.positions, strlen(state.positions)}, &positions, err);
        g->resumed = true;
    }
    if (status == TL_OK)
        status = open_pipelines(g, positions, err);
    if (status == TL_OK && g->writer != NULL)
        status = tl_idle_partitions_create(g->sink->table, g->run->options->fresh ? NULL : state.pending, idle_now_ms(g), &g->idle, err);
    tl_arena_deinit(&arena);
    tl_job_state_deinit(&state);
    return status;
}

/* ---- rows ---- */

/* Whether the row of kind -U has another key than the one that takes its place, which then does not replace it:
   change events give both next to each other. */
static bool leaves_its_key(const tl_sink_group *g, const tl_batch *batch, int64_t row)
{
    const tl_table_schema *schema = tl_table_schema_of(g->sink->table);
    if (row + 1 == batch->n_rows)
        return true;
    if (batch->row_kind[row + 1] != TL_KIND_UPDATE_AFTER)
        return false;
    for (int32_t k = 0; k < schema->n_primary_keys; k++) {
        const tl_column *col = batch->cols[tl_type_field_index(schema->row_type, schema->primary_keys[k])];
        if (tl_column_compare(col, row, col, row + 1, /* descending= */ false, /* nulls_first= */ true) != 0)
            return true;
    }
    return false;
}

static tl_status without_update_before(const tl_sink_group *g, const tl_batch *batch, tl_batch **out, tl_error *err)
{
    TL_CLEANUP(tl_freep) uint32_t *sel = tl_alloc(sizeof *sel * (size_t)(batch->n_rows + 1));
    if (sel == NULL)
        return tl_nomem(err, "rows");
    int64_t n = 0;
    for (int64_t i = 0; i < batch->n_rows; i++)
        if (batch->row_kind[i] != TL_KIND_UPDATE_BEFORE || (g->takes_deletes && leaves_its_key(g, batch, i)))
            sel[n++] = (uint32_t)i;
    return tl_batch_gather(batch, sel, n, out, err);
}

static tl_status print_rows(tl_sink_group *g, const tl_batch *batch, tl_error *err)
{
    tl_buf lines = {0};
    tl_status status = TL_OK;
    for (int64_t i = 0; i < batch->n_rows && status == TL_OK; i++) {
        status = tl_text_append_json_row(&lines, batch, i, true, 0);
        if (status == TL_OK)
            status = tl_buf_append_byte(&lines, '\n');
    }
    if (status == TL_OK) {
        pthread_mutex_lock(&g->run->out_lock);
        bool ok = fwrite(lines.data, 1, lines.len, g->run->out) == lines.len && fflush(g->run->out) == 0;
        pthread_mutex_unlock(&g->run->out_lock);
        status = ok ? TL_OK : tl_error_set(err, TL_E_IO, "could not write the output");
    } else {
        (void)tl_nomem(err, "output");
    }
    tl_buf_deinit(&lines);
    return status;
}

static tl_status write_rows(tl_sink_group *g, const tl_pipeline *p, const tl_batch *batch, tl_error *err)
{
    if (g->sink == NULL)
        return print_rows(g, batch, err);
    TL_CLEANUP(tl_batch_freep) tl_batch *kept = NULL;
    TL_CLEANUP(tl_batch_freep) tl_batch *typed = NULL;
    if (g->drop_update_before && !(g->takes_deletes && p->splits_updates) && batch->row_kind != NULL) {
        TL_TRY(without_update_before(g, batch, &kept, err));
        batch = kept;
    }
    if (g->connector != NULL)
        return tl_sink_write(g->connector, batch, err);
    TL_TRY(tl_stream__retype(batch, tl_table_row_type(g->sink->table), &typed, err));
    tl_free(typed->seq); /* watermarks, not sequence numbers of the table */
    typed->seq = NULL;
    return tl_table_writer_write(g->writer, typed, err);
}

/* One turn over all pipelines; *progress: some gave rows; *idle: none that goes on has any now. */
static tl_status turn(tl_sink_group *g, bool *progress, bool *all_ended, tl_error *err)
{
    *progress = false;
    *all_ended = true;
    for (int32_t i = 0; i < g->n; i++) {
        if (g->ended_pipeline[i])
            continue;
        TL_CLEANUP(tl_batch_freep) tl_batch *batch = NULL;
        tl_op_state state;
        TL_TRY(tl_stream__next(g->pipelines[i].root, &batch, &state, err));
        g->ended_pipeline[i] = state == TL_OP_END;
        *all_ended &= state == TL_OP_END;
        *progress |= state == TL_OP_ROWS;
        if (batch == NULL || batch->n_rows == 0)
            continue;
        atomic_store(&g->quiet, false);
        TL_TRY(write_rows(g, &g->pipelines[i], batch, err));
        g->rows_pending += batch->n_rows;
    }
    return TL_OK;
}

static void set_drain(tl_sink_group *g, bool on)
{
    for (int32_t i = 0; i < g->n; i++)
        g->pipelines[i].drain = on;
}

/* Go on until every leaf stands at a position. */
static tl_status drain(tl_sink_group *g, tl_error *err)
{
    set_drain(g, true);
    bool progress = true, all_ended;
    tl_status status = TL_OK;
    while (progress && status == TL_OK)
        status = turn(g, &progress, &all_ended, err);
    set_drain(g, false);
    return status;
}

/* ---- commits ---- */

static void count_rows(tl_sink_group *g)
{
    int64_t rows_in = 0;
    for (int32_t i = 0; i < g->n; i++)
        rows_in += g->pipelines[i].rows_in;
    atomic_fetch_add(&g->run->rows_in, rows_in - g->rows_in_told);
    g->rows_in_told = rows_in;
}

static tl_status commit_table(tl_sink_group *g, bool wait, bool end_of_input, tl_error *err)
{
    bool full = g->full_every > 0 && (end_of_input || (g->identifier + 1) % g->full_every == 0);
    tl_buf text = {0};
    tl_job_state state = {.identifier = g->identifier + 1};
    bool wanted = false;
    tl_options properties = {0};
    tl_commit_messages messages = {0};
    tl_commit_result result = {0};
    tl_status status = append_positions(g, &text, err);
    if (status == TL_OK && (tl_buf_steal_str(&text, &state.positions) != TL_OK || tl_options_set(&properties, TL_JOB_POSITIONS_PROPERTY, state.positions) != TL_OK))
        status = tl_nomem(err, "positions");
    if (status == TL_OK && full)
        status = g->full_every == 1 ? tl_table_writer_compact(g->writer, true, err) : tl_table_writer_compact_all(g->writer, true, err);
    wait |= full || g->wait_compaction;
    if (status == TL_OK)
        status = tl_table_writer_prepare(g->writer, wait, &messages, err);
    if (status == TL_OK)
        status = note_written(g, &messages, &state, &properties, err);
    if (status == TL_OK)
        status = tl_table_wants_snapshot(g->sink->table, &wanted, err);
    tl_commit_spec spec = {.user = g->user, .identifier = state.identifier, .watermark = TL_ABSENT, .properties = &properties, .ignore_empty = !wanted};
    if (status == TL_OK)
        status = tl_table_commit(g->sink->table, &spec, &messages, &result, err);
    if (status == TL_OK)
        status = tl_table_writer_committed(g->writer, &result, err);
    g->compaction_pending = !wait;
    if (status == TL_OK && result.snapshots > 0) {
        g->identifier = state.identifier;
        status = tl_job_state_save(g->sink->table, g->user, &state, err);
        atomic_fetch_add(&g->run->commits, result.snapshots);
    }
    tl_buf_deinit(&text);
    tl_commit_messages_deinit(&messages);
    tl_options_deinit(&properties);
    tl_job_state_deinit(&state);
    return status;
}

static tl_status commit(tl_sink_group *g, bool wait, bool end_of_input, tl_error *err)
{
    TL_TRY(drain(g, err));
    if (g->writer != NULL)
        TL_TRY(commit_table(g, wait, end_of_input, err));
    else if (g->connector != NULL)
        TL_TRY(tl_sink_flush(g->connector, err));
    atomic_fetch_add(&g->run->rows_out, g->rows_pending);
    if (g->rows_pending > 0)
        atomic_store(&g->run->last_commit_ns, tl_monotonic_ns());
    g->rows_pending = 0;
    g->last_commit_ns = tl_monotonic_ns();
    return mark_idle(g, end_of_input, err);
}

/* Nothing is written, but time goes by: for tags that are due and partitions in which nothing came for long enough. As often as commits. */
static tl_status look_at_clock(tl_sink_group *g, tl_error *err)
{
    bool wanted = false;
    int64_t now = tl_monotonic_ns();
    if (g->writer == NULL || now - TL_MAX(g->last_look_ns, g->last_commit_ns) < g->interval_ns)
        return TL_OK;
    g->last_look_ns = now;
    TL_TRY(tl_table_wants_snapshot(g->sink->table, &wanted, err));
    return wanted ? commit(g, /* wait= */ false, /* end_of_input= */ false, err) : mark_idle(g, false, err);
}

/* ---- the loop ---- */

static bool must_stop(const tl_sink_group *g)
{
    const volatile int *stop = g->run->options->stop;
    return atomic_load(&g->run->stop) || (stop != NULL && *stop != 0);
}

static tl_status loop(tl_sink_group *g, tl_error *err)
{
    g->last_commit_ns = tl_monotonic_ns();
    for (;;) {
        bool progress, all_ended;
        TL_TRY(turn(g, &progress, &all_ended, err));
        count_rows(g);
        bool stop = must_stop(g);
        bool due = tl_monotonic_ns() - g->last_commit_ns >= g->interval_ns && g->rows_pending > 0;
        if (all_ended || stop || due)
            TL_TRY(commit(g, all_ended || stop, all_ended, err));
        if (all_ended || stop)
            return TL_OK;
        if (!progress && g->compaction_pending && g->rows_pending == 0) /* time to take the background's result in */
            TL_TRY(commit(g, true, false, err));
        if (!progress && g->rows_pending == 0)
            TL_TRY(look_at_clock(g, err));
        if (!progress) {
            atomic_store(&g->quiet, g->rows_pending == 0);
            tl_sleep_ms(PAUSE_MS);
        }
    }
}

static void *run_group(void *arg)
{
    tl_sink_group *g = arg;
    g->status = loop(g, &g->error);
    if (g->status != TL_OK)
        atomic_store(&g->run->stop, true); /* the others commit what they have and end */
    atomic_store(&g->quiet, true);
    atomic_store(&g->ended, true);
    return NULL;
}

/* ---- the group from outside ---- */

static tl_status open_sink(tl_sink_group *g, tl_error *err)
{
    if (g->sink->kind == TL_SQL_TABLE_CONNECTOR) {
        tl_connector_spec spec = {.fs = g->run->fs, .row_type = g->sink->row_type, .options = g->sink->options, .metadata_keys = g->sink->metadata_keys,
                                  .partition_key = g->sink->partition_key, .n_partition_key = g->sink->n_partition_key};
        return tl_sink_open(&spec, g->run->out, &g->connector, err);
    }
    if (tl_table_is_format(g->sink->table)) /* a commit could not be told from one that was made before a restart */
        return tl_error_set(err, TL_E_UNSUPPORTED, "table %s.%s: a format table can be written in batch only ('execution.runtime-mode' = 'batch')",
                            g->sink->db, g->sink->name);
    g->drop_update_before = drops_update_before(g->sink->table);
    const char *engine = tl_table_option(g->sink->table, "merge-engine");
    g->takes_deletes = engine == NULL || strcmp(engine, "deduplicate") == 0;
    TL_TRY(compaction_rules(g, err));
    tl_write_options options = {.pool = g->run->pool, .user = g->user};
    return tl_table_writer_create(g->sink->table, &options, &g->writer, err);
}

static tl_status new_group(tl_run *run, tl_sink_group **out, tl_error *err)
{
    tl_sink_group *g = tl_calloc(1, sizeof *g);
    if (g == NULL)
        return tl_nomem(err, "job");
    g->run = run;
    *out = g;
    return checkpoint_interval(run, &g->interval_ns, err);
}

tl_status tl_sink_group_create(tl_run *run, const tl_plan *const *sinks, int32_t n, const char *user, tl_sink_group **out, tl_error *err)
{
    tl_sink_group *g = NULL;
    tl_status status = new_group(run, &g, err);
    if (status == TL_OK) {
        g->sink = sinks[0]->table;
        g->user = tl_strdup(user);
        status = g->user == NULL ? tl_nomem(err, "job") : TL_OK;
    }
    for (int32_t i = 0; i < n && status == TL_OK; i++) {
        if (sinks[i]->overwrite)
            status = tl_error_set(err, TL_E_INVALID, "INSERT OVERWRITE needs batch mode: SET 'execution.runtime-mode' = 'batch'");
        else
            status = add_pipeline(g, sinks[i]->inputs[0], err);
    }
    if (status == TL_OK)
        status = open_sink(g, err);
    if (status == TL_OK)
        status = recover(g, err);
    if (status != TL_OK) {
        tl_sink_group_free(g);
        return tl_error_wrap(err, status, "INSERT INTO '%s'", sinks[0]->table->name);
    }
    *out = g;
    return TL_OK;
}

tl_status tl_sink_group_create_query(tl_run *run, const tl_plan *plan, tl_sink_group **out, tl_error *err)
{
    tl_sink_group *g = NULL;
    tl_status status = new_group(run, &g, err);
    if (status == TL_OK)
        status = add_pipeline(g, plan, err);
    if (status == TL_OK)
        status = recover(g, err);
    if (status != TL_OK) {
        tl_sink_group_free(g);
        return status;
    }
    *out = g;
    return TL_OK;
}

tl_status tl_sink_group_start(tl_sink_group *g, tl_error *err)
{
    int rc = pthread_create(&g->thread, NULL, run_group, g);
    if (rc != 0)
        return tl_error_errno(err, rc, "could not start a thread");
    g->started = true;
    return TL_OK;
}

bool tl_sink_group_is_quiet(const tl_sink_group *g)
{
    return atomic_load(&g->quiet);
}

bool tl_sink_group_has_ended(const tl_sink_group *g)
{
    return atomic_load(&g->ended);
}

bool tl_sink_group_was_resumed(const tl_sink_group *g)
{
    return g->resumed;
}

tl_status tl_sink_group_join(tl_sink_group *g, tl_error *err)
{
    if (g->started) {
        pthread_join(g->thread, NULL);
        g->started = false;
    }
    if (g->status != TL_OK && err != NULL)
        *err = g->error;
    return g->sink == NULL ? g->status : tl_error_wrap(err, g->status, "INSERT INTO '%s'", g->sink->name);
}

void tl_sink_group_free(tl_sink_group *g)
{
    if (g == NULL)
        return;
    if (g->started) {
        atomic_store(&g->run->stop, true);
        pthread_join(g->thread, NULL);
    }
    for (int32_t i = 0; i < g->n; i++)
        tl_stream__op_free(g->pipelines[i].root);
    tl_idle_partitions_free(g->idle);
    tl_table_writer_free(g->writer);
    tl_sink_free(g->connector);
    tl_free(g->user);
    tl_free(g);
}
