/*
 * Writer of one bucket of a primary-key table: buffer → level 0 → compactions (Java: MergeTreeWriter, MergeTreeCompactManager).
 *
 * One thread writes; at most one compaction runs beside it, on the files it was given when it started. Its result is taken in
 * at the next flush or prepare: only the writing thread touches levels and lists.
 */
#include "base/log.h"
#include "lsm/lsm_private.h"

typedef struct keyed_writer {
    tl_bucket_writer base;
    tl_lsm__names names;
    tl_lsm__buffer *buffer;
    int64_t next_seq;
    tl_lsm__levels levels;
    tl_lsm__picker picker;
    tl_lsm__compaction compaction; /* of the running task */
} keyed_writer;

static const tl_lsm_config *config_of(const keyed_writer *w)
{
    return w->base.bucket->config;
}

/* ---- compaction ---- */

/*
 * A sum that does not fit its type must not lock the bucket: its files stay as they are, so that other keys can be written and a
 * later retraction mends the key. Who reads it gets the error.
 */
static tl_status run_compaction(void *arg, tl_error *err)
{
    tl_error why = {0};
    tl_lsm__compaction *c = arg;
    tl_status status = tl_lsm__compaction_run(c, &why);
    c->given_up = status == TL_E_OVERFLOW;
    if (c->given_up)
        tl_log(TL_LOG_WARN, "not compacted until that is mended: %s", why.message);
    else if (status != TL_OK && err != NULL)
        *err = why;
    return c->given_up ? TL_OK : status;
}

/* What was consumed is not read any more; what moved up may be. */
static void forget_inputs(const keyed_writer *w, const tl_lsm__compaction *c)
{
    tl_lsm__recent *recent = w->base.bucket->recent;
    for (size_t i = 0; recent != NULL && i < c->before.n; i++) {
        if (tl_lsm__list_find_name(&c->after, c->before.items[i]->name) < 0)
            tl_lsm__recent_forget(recent, c->before.items[i]->name);
    }
}

/* Take the result of a compaction that is over, if there is one. */
static tl_status sync_compaction(keyed_writer *w, bool blocking, tl_error *err)
{
    bool ended = false;
    tl_lsm__compaction *c = &w->compaction;
    tl_status status = tl_lsm__task_poll(&w->base, blocking, &ended, err);
    if (!ended)
        return status;
    if (status == TL_OK && !c->given_up) {
        if (c->output_level == c->max_level && w->levels.levels[c->max_level].n > 0)
            tl_lsm__learn_stale(&w->picker, c->max_level, &c->before, &c->after);
        status = tl_lsm__levels_update(&w->levels, &c->before, &c->after, err);
        if (status == TL_OK)
            status = tl_lsm__apply_vectors(&w->base, &c->vectors, err);
        if (status == TL_OK)
            status = tl_lsm__book_compaction(&w->base, &c->before, &c->after, &c->changelog, err);
        if (status != TL_OK)
            tl_lsm__discard_compaction(&w->base, &c->before, &c->after, &c->changelog);
        forget_inputs(w, c);
    }
    tl_lsm__compaction_deinit(c);
    return status;
}

/* Runs newest first, as the picker wants them. */
static tl_status list_runs(const keyed_writer *w, tl_lsm__run **out, size_t *n, tl_error *err)
{
    const tl_lsm__levels *levels = &w->levels;
    tl_lsm__run *runs = tl_alloc(((size_t)tl_lsm__levels_run_count(levels) + 1) * sizeof(*runs));
    if (runs == NULL)
        return tl_nomem(err, "sorted runs");
    *n = 0;
    for (size_t i = 0; i < levels->levels[0].n; i++)
        runs[(*n)++] = (tl_lsm__run){.bytes = levels->levels[0].items[i]->bytes};
    for (int32_t level = 1; level < levels->n_levels; level++) {
        if (levels->levels[level].n > 0)
            runs[(*n)++] = (tl_lsm__run){.level = level, .bytes = tl_lsm__list_bytes(&levels->levels[level])};
    }
    if (tl_lsm__wants_stale(&w->picker))
        tl_lsm__note_stale(config_of(w), levels, runs, *n);
    *out = runs;
    return TL_OK;
}

static tl_status files_of_runs(const keyed_writer *w, size_t n_runs, tl_file_list *out, tl_error *err)
{
    const tl_lsm__levels *levels = &w->levels;
    for (size_t i = 0; i < levels->levels[0].n && n_runs > 0; i++, n_runs--)
        TL_TRY(tl_file_list_add(out, levels->levels[0].items[i], err));
    for (int32_t level = 1; level < levels->n_levels && n_runs > 0; level++) {
        if (levels->levels[level].n == 0)
            continue;
        TL_TRY(tl_lsm__list_add_all(out, &levels->levels[level], err));
        n_runs--;
    }
    return TL_OK;
}

/* Where the top level is all there is, files that have lost rows, or will, are worth a rewrite. */
static tl_status add_worth_rewriting(const keyed_writer *w, tl_file_list *out, tl_error *err)
{
    const tl_file_list *files = &w->levels.levels[w->levels.n_levels - 1];
    for (size_t i = 0; i < files->n; i++) {
        bool worth = config_of(w)->force_rewrite_all || tl_dv_set_has(w->base.bucket->vectors, files->items[i]->name);
        if (!worth)
            TL_TRY(tl_lsm__file_has_expired(w->base.bucket->config, files->items[i], &worth, err));
        if (worth)
            TL_TRY(tl_file_list_add(out, files->items[i], err));
    }
    return TL_OK;
}

/* A forced full compaction (CompactStrategy#pickFullCompaction). */
static tl_lsm__pick pick_full(const keyed_writer *w, const tl_lsm__run *runs, size_t n, bool *rewrite_each)
{
    int32_t max_level = w->levels.n_levels - 1;
    *rewrite_each = n == 1 && runs[0].level == max_level;
    return (tl_lsm__pick){n, max_level};
}

/* Nothing to gain: the one file picked is where it would go. */
static bool pointless(const tl_lsm__compaction *c)
{
    return c->files.n == 0 || (c->files.n == 1 && c->files.items[0]->level == c->output_level);
}

static tl_status start_compaction(keyed_writer *w, const tl_lsm__pick *pick, bool forced, bool rewrite_each, tl_error *err)
{
    tl_lsm__compaction *c = &w->compaction;
    *c = (tl_lsm__compaction){.bucket = tl_lsm__bucket_ref(w->base.bucket),
                              .output_level = pick->output_level,
                              .max_level = w->levels.n_levels - 1,
                              .rewrite_each = rewrite_each};
    atomic_init(&c->cancelled, false);
    /* Deletes may go when nothing older lies below the output, or what does is deleted there. */
    c->drop_deletes = !config_of(w)->keep_deletes && pick->output_level != 0 && (pick->output_level >= tl_lsm__levels_highest(&w->levels) || config_of(w)->deletion_vectors);
    tl_status status = rewrite_each ? add_worth_rewriting(w, &c->files, err) : files_of_runs(w, pick->n_runs, &c->files, err);
    for (int32_t level = pick->output_level + 1; level < w->levels.n_levels && config_of(w)->need_lookup && status == TL_OK;
         level++)
        status = tl_lsm__list_add_all(&c->older, &w->levels.levels[level], err);
    if (status == TL_OK && c->files.n > 0 && (forced || !pointless(c)))
        status = tl_lsm__task_start(&w->base, run_compaction, c, err);
    if (w->base.task == NULL)
        tl_lsm__compaction_deinit(c);
    return status;
}

/* With pk-clustering-override: level 0 goes, the levels above are looked at as a whole (cluster_keyed.c). */
static tl_status start_clustering(keyed_writer *w, bool full, tl_error *err)
{
    tl_lsm__compaction *c = &w->compaction;
    if (w->levels.levels[0].n == 0 && !full)
        return TL_OK;
    *c = (tl_lsm__compaction){.bucket = tl_lsm__bucket_ref(w->base.bucket), .rewrite_each = full};
    atomic_init(&c->cancelled, false);
    tl_status status = tl_lsm__list_add_all(&c->files, &w->levels.levels[0], err);
    for (int32_t level = 1; level < w->levels.n_levels && status == TL_OK; level++)
        status = tl_lsm__list_add_all(&c->older, &w->levels.levels[level], err);
    if (status == TL_OK && c->files.n + c->older.n > (c->files.n == 0))
        status = tl_lsm__task_start(&w->base, run_compaction, c, err);
    if (w->base.task == NULL)
        tl_lsm__compaction_deinit(c);
    return status;
}

/* Files that a newer schema wrote are left to writers that know it. Where every level 0 must be compacted, or somebody asks for it,
 * there is no going on. */
static tl_status may_compact(const keyed_writer *w, bool full, bool *may, tl_error *err)
{
    const tl_data_file *newer = NULL;
    for (int32_t level = 0; level < w->levels.n_levels && newer == NULL; level++) {
        const tl_file_list *files = &w->levels.levels[level];
        TL_TRY(tl_lsm__newer_file(w->base.bucket->config, files->items, files->n, &newer, err));
    }
    *may = newer == NULL;
    bool must = full || config_of(w)->need_lookup || config_of(w)->commit_force_compact;
    return newer != NULL && must ? tl_lsm__refuse_newer(config_of(w), newer, err) : TL_OK;
}

static tl_status trigger_compaction(keyed_writer *w, bool wait, bool full, tl_error *err)
{
    tl_lsm__run *runs = NULL;
    size_t n = 0;
    bool rewrite_each = false, may = false;
    if (config_of(w)->write_only || w->base.task != NULL)
        return TL_OK;
    TL_TRY(may_compact(w, full, &may, err));
    if (!may)
        return TL_OK;
    if (config_of(w)->pk_clustering)
        return start_clustering(w, full, err);
    TL_TRY(list_runs(w, &runs, &n, err));
    w->picker.patient = !wait;
    tl_lsm__pick pick =
        full ? pick_full(w, runs, n, &rewrite_each) : tl_lsm__picker_pick(&w->picker, w->levels.n_levels, runs, n);
    tl_free(runs);
    return pick.n_runs == 0 ? TL_OK : start_compaction(w, &pick, full, rewrite_each, err);
}

/* ---- flush ---- */

static bool has_more_runs_than(const keyed_writer *w, int64_t limit)
{
    return !config_of(w)->write_only && tl_lsm__levels_run_count(&w->levels) > limit;
}

static tl_status write_level0(keyed_writer *w, tl_file_list *files, tl_file_list *changelog, tl_error *err)
{
    tl_lsm__writer_spec spec = {.bucket = w->base.bucket, .names = &w->names};
    TL_CLEANUP(tl_lsm__writer_freep) tl_lsm__writer *data = NULL;
    TL_CLEANUP(tl_lsm__writer_freep) tl_lsm__writer *log = NULL;
    TL_TRY(tl_lsm__writer_create(&spec, &data, err));
    if (config_of(w)->changelog_producer == TL_CHANGELOG_INPUT) {
        spec.changelog = true;
        TL_TRY(tl_lsm__writer_create(&spec, &log, err));
    }
    TL_TRY(tl_lsm__buffer_flush(w->buffer, data, log, err));
    TL_TRY(tl_lsm__writer_roll(data, err));
    if (log != NULL)
        TL_TRY(tl_lsm__writer_finish(log, changelog, err));
    return tl_lsm__writer_finish(data, files, err);
}

static tl_status flush_buffer(keyed_writer *w, bool wait, bool full, tl_error *err)
{
    if (tl_lsm__buffer_rows(w->buffer) > 0) {
        tl_file_list fresh = {0};
        wait |= has_more_runs_than(w, config_of(w)->stop_trigger);
        tl_status status = write_level0(w, &fresh, &w->base.new_changelog, err);
        /* Once in the list the files are removed with the writer, whatever fails after. */
        size_t old = w->base.new_files.n;
        if (status == TL_OK)
            status = tl_lsm__list_add_all(&w->base.new_files, &fresh, err);
        if (status == TL_OK && !config_of(w)->write_only)
            status = tl_lsm__levels_update(&w->levels, /* before= */ NULL, &fresh, err);
        for (size_t i = 0; i < fresh.n && w->base.new_files.n == old; i++)
            tl_lsm__bucket_remove(w->base.bucket, fresh.items[i]);
        tl_file_list_deinit(&fresh);
        TL_TRY(status);
    }
    TL_TRY(sync_compaction(w, wait, err));
    return trigger_compaction(w, wait, full, err);
}

/* ---- operations ---- */

static tl_status keyed_flush(tl_bucket_writer *base, tl_error *err)
{
    keyed_writer *w = (keyed_writer *)base;
    if (config_of(w)->write_buffer_spillable)
        return tl_lsm__buffer_spill(w->buffer, err);
    return flush_buffer(w, /* wait= */ false, /* full= */ false, err);
}

static tl_status keyed_has_room(const tl_bucket_writer *base, int64_t n_rows, tl_error *err)
{
    if (((const keyed_writer *)base)->next_seq <= INT64_MAX - n_rows)
        return TL_OK;
    return tl_error_set(err, TL_E_LIMIT, "bucket '%s': sequence numbers are used up", base->bucket->dir);
}

static tl_status keyed_write(tl_bucket_writer *base, const tl_batch *batch, tl_error *err)
{
    keyed_writer *w = (keyed_writer *)base;
    TL_TRY(keyed_has_room(base, batch->n_rows, err));
    TL_TRY(tl_lsm__buffer_add(w->buffer, batch, w->next_seq, err));
    w->next_seq += batch->n_rows;
    return tl_lsm__buffer_bytes(w->buffer) >= config_of(w)->write_buffer_bytes ? keyed_flush(base, err) : TL_OK;
}

static int64_t keyed_bytes(const tl_bucket_writer *base)
{
    return tl_lsm__buffer_bytes(((const keyed_writer *)base)->buffer);
}

static tl_status keyed_compact(tl_bucket_writer *base, bool full, tl_error *err)
{
    return flush_buffer((keyed_writer *)base, /* wait= */ true, full, err);
}

static tl_status keyed_begin_prepare(tl_bucket_writer *base, bool wait, tl_error *err)
{
    return flush_buffer((keyed_writer *)base, wait, /* full= */ false, err);
}

static tl_status keyed_prepare(tl_bucket_writer *base, bool wait, tl_commit_message *out, tl_error *err)
{
    keyed_writer *w = (keyed_writer *)base;
    wait |= config_of(w)->commit_force_compact;
    wait |= has_more_runs_than(w, (int64_t)config_of(w)->stop_trigger + 1);
    TL_TRY(sync_compaction(w, wait, err));
    TL_TRY(tl_lsm__prepare_vectors(base, err));
    return tl_lsm__drain(base, out, err);
}

static bool keyed_idle(const tl_bucket_writer *base)
{
    const keyed_writer *w = (const keyed_writer *)base;
    const tl_lsm_config *config = config_of(w);
    return base->task == NULL && !(config->need_lookup && !config->write_only && w->levels.levels[0].n > 0);
}

static void keyed_free(tl_bucket_writer *base)
{
    keyed_writer *w = (keyed_writer *)base;
    if (base->task != NULL) {
        bool ended = false;
        atomic_store(&w->compaction.cancelled, true);
        /* Its failure concerns nobody any more; its files are removed either way. */
        if (tl_lsm__task_poll(base, /* blocking= */ true, &ended, /* err= */ NULL) == TL_OK)
            tl_lsm__discard_compaction(base, &w->compaction.before, &w->compaction.after, &w->compaction.changelog);
        tl_lsm__compaction_deinit(&w->compaction);
    }
    tl_lsm__buffer_free(w->buffer);
    tl_lsm__levels_deinit(&w->levels);
    tl_lsm__writer_base_deinit(base);
    tl_free(w);
}

static const tl_lsm__writer_ops keyed_ops = {
    .free = keyed_free,
    .write = keyed_write,
    .has_room = keyed_has_room,
    .bytes = keyed_bytes,
    .flush = keyed_flush,
    .compact = keyed_compact,
    .begin_prepare = keyed_begin_prepare,
    .prepare = keyed_prepare,
    .idle = keyed_idle,
};

tl_status tl_lsm__keyed_writer_create(tl_lsm__bucket *bucket, int32_t total_buckets, tl_data_file *const *files, size_t n_files,
                                      tl_pool *pool, tl_bucket_writer **out, tl_error *err)
{
    keyed_writer *w = tl_calloc(1, sizeof *w);
    if (w == NULL)
        return tl_nomem(err, "bucket writer");
    tl_lsm__writer_base_init(&w->base, &keyed_ops, bucket, total_buckets, pool);
    tl_lsm__picker_init(&w->picker, bucket->config, bucket->bucket);
    w->next_seq = tl_lsm__next_seq(files, n_files);
    tl_status status = tl_lsm__levels_init(&w->levels, bucket->config, files, n_files, err);
    if (status == TL_OK)
        status = tl_lsm__buffer_create(bucket, &w->buffer, err);
    if (status == TL_OK && !bucket->config->write_only && !bucket->config->deletion_vectors)
        status = tl_lsm__recent_create(bucket->config, &bucket->recent, err);
    if (status != TL_OK) {
        keyed_free(&w->base);
        return status;
    }
    *out = &w->base;
    return TL_OK;
}
