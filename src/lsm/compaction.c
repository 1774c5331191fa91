/*
 * One compaction: picked files → files of the output level (Java: MergeTreeCompactTask, MergeTreeCompactRewriter,
 * ChangelogMergeTreeRewriter, LookupMergeTreeCompactRewriter, FullChangelogMergeTreeCompactRewriter).
 *
 * The files are cut into sections of disjoint key ranges. Sections where runs overlap are merged and rewritten; a large file
 * on its own is upgraded, which only changes its level; small ones are rewritten with their neighbours. Sections are kept in
 * key order, so that what is rewritten together makes files in key order.
 *
 * Files are read and written in batches; nothing is held as a whole.
 */
#include "lsm/lsm_private.h"

typedef enum changelog_mode { CHANGELOG_OFF, CHANGELOG_BY_LOOKUP, CHANGELOG_BY_FULL_COMPACTION } changelog_mode;

/* What one rewrite does. */
typedef struct rewrite {
    const tl_section *sections;
    size_t n_sections;
    changelog_mode changelog;
    bool write_data; /* false: only the changelog is made, the files are upgraded */
    bool drop_deletes;
} rewrite;

typedef struct task {
    tl_lsm__compaction *c;
    const tl_lsm_config *config;
    tl_lsm__names names;
    tl_section *sections; /* those with one run are split into one section per file */
    size_t n_sections;
    tl_file_list made; /* new files, to be removed on failure */
    tl_lsm__deletions *deletions; /* NULL: no deletion vectors */
    int64_t expiry_cutoff;        /* record-level expiry: one time for the whole compaction */
} task;

void tl_lsm__compaction_deinit(tl_lsm__compaction *c)
{
    tl_file_list_deinit(&c->files);
    tl_file_list_deinit(&c->older);
    tl_file_list_deinit(&c->before);
    tl_file_list_deinit(&c->after);
    tl_file_list_deinit(&c->changelog);
    tl_lsm__vector_changes_deinit(&c->vectors);
    tl_lsm__bucket_unref(c->bucket);
    c->bucket = NULL;
}

/* ---- reading a section ---- */

static tl_status make_scan(const task *t, bool drop_deletes, tl_lsm__scan **out, tl_error *err)
{
    int32_t n = tl_lsm__n_columns(t->config);
    TL_CLEANUP(tl_freep) int32_t *columns = tl_alloc((size_t)(n + 1) * sizeof(*columns));
    if (columns == NULL)
        return tl_nomem(err, "compaction");
    for (int32_t i = 0; i < n; i++)
        columns[i] = i;
    TL_TRY(tl_lsm__scan_create(t->c->bucket, columns, n, /* pred= */ NULL, out, err));
    (*out)->drop_deletes = drop_deletes;
    (*out)->drop_expired = t->config->time_column >= 0;
    (*out)->expiry_cutoff = t->expiry_cutoff;
    return TL_OK;
}

tl_status tl_lsm__merge_section(tl_lsm__scan *scan, const tl_section *section, const tl_merge_spec *spec, tl_reader **out, tl_error *err)
{
    TL_CLEANUP(tl_freep) tl_merge_input *inputs = tl_calloc(section->n_runs, sizeof(*inputs));
    if (inputs == NULL)
        return tl_nomem(err, "compaction");
    for (size_t r = 0; r < section->n_runs; r++) {
        const tl_file_list *run = &section->runs[r];
        inputs[r] = tl_lsm__merge_input(run);
        tl_status status = tl_lsm__run_open(scan, run->items, run->n, TL_LSM__PUSH_NONE, &inputs[r].reader, err);
        if (status != TL_OK) {
            for (size_t i = 0; i < r; i++)
                tl_reader_free(inputs[i].reader);
            return status;
        }
    }
    return tl_merge_open(scan->bucket->config->schema->row_type, spec, inputs, (int32_t)section->n_runs, out, err);
}

static tl_status open_section(const task *t, const tl_section *section, const tl_group_hook *hook, bool drop_deletes,
                              tl_reader **out, tl_error *err)
{
    TL_CLEANUP(tl_lsm__scan_unrefp) tl_lsm__scan *scan = NULL;
    if (hook == NULL && section->n_runs == 1) {
        TL_TRY(make_scan(t, drop_deletes, &scan, err));
        return tl_lsm__run_open(scan, section->runs[0].items, section->runs[0].n, TL_LSM__PUSH_NONE, out, err);
    }
    if (hook == NULL && tl_lsm__reads_lowest_level(t->config))
        hook = &tl_lsm__lookup_read_hook;
    tl_merge_spec spec = {.engine = t->config->engine,
                          .key_idx = t->config->key_idx,
                          .n_keys = t->config->n_keys,
                          .drop_deletes = drop_deletes,
                          .hook = hook};
    TL_TRY(make_scan(t, /* drop_deletes= */ false, &scan, err));
    return tl_lsm__merge_section(scan, section, &spec, out, err);
}

/* ---- rewriting ---- */

static tl_status stream_section(const task *t, const rewrite *rw, const tl_section *section, const tl_group_hook *hook,
                                tl_lsm__writer *data, tl_error *err)
{
    TL_CLEANUP(tl_reader_freep) tl_reader *reader = NULL;
    TL_TRY(open_section(t, section, hook, rw->drop_deletes, &reader, err));
    for (;;) {
        TL_CLEANUP(tl_batch_freep) tl_batch *batch = NULL;
        if (atomic_load_explicit(&t->c->cancelled, memory_order_relaxed))
            return tl_error_set(err, TL_E_CANCELLED, "compaction was cancelled");
        TL_TRY(tl_reader_next(reader, &batch, err));
        if (batch == NULL)
            return TL_OK;
        if (data != NULL)
            TL_TRY(tl_lsm__writer_write(data, batch, err));
    }
}

static bool is_first_row(const tl_lsm_config *config)
{
    return tl_merge_engine_get_kind(config->engine) == TL_ENGINE_FIRST_ROW;
}

/* The newest record wins as a whole: older ones need not be seen. */
static bool keeps_values(const tl_lsm_config *config)
{
    return tl_merge_engine_get_kind(config->engine) == TL_ENGINE_DEDUPLICATE && !config->has_sequence_field;
}

static int64_t level0_rows(const rewrite *rw)
{
    int64_t rows = 0;
    for (size_t s = 0; s < rw->n_sections; s++) {
        for (size_t r = 0; r < rw->sections[s].n_runs; r++) {
            const tl_file_list *run = &rw->sections[s].runs[r];
            for (size_t i = 0; i < run->n; i++)
                rows += run->items[i]->level == 0 ? run->items[i]->rows : 0;
        }
    }
    return rows;
}

static tl_status open_writers(task *t, const rewrite *rw, tl_lsm__writer **data, tl_lsm__changelog *changelog, tl_error *err)
{
    tl_lsm__writer_spec spec = {.bucket = t->c->bucket, .names = &t->names, .level = t->c->output_level, .file_source = 1};
    if (rw->write_data)
        TL_TRY(tl_lsm__writer_create(&spec, data, err));
    if (rw->changelog == CHANGELOG_OFF)
        return TL_OK;
    bool produce = rw->changelog == CHANGELOG_BY_FULL_COMPACTION || t->config->changelog_producer == TL_CHANGELOG_LOOKUP;
    spec.changelog = true;
    spec.file_source = 0;
    if (produce)
        TL_TRY(tl_lsm__writer_create(&spec, &changelog->writer, err));
    changelog->keys_only = is_first_row(t->config) || (t->config->deletion_vectors && !produce && keeps_values(t->config));
    changelog->deletions = t->deletions;
    if (rw->changelog == CHANGELOG_BY_LOOKUP && t->c->older.n > 0)
        TL_TRY(tl_lsm__older_create(t->c->bucket, &t->c->older, level0_rows(rw), changelog->keys_only, &changelog->older, err));
    return TL_OK;
}

static tl_status stream_all(task *t, const rewrite *rw, tl_lsm__writer *data, tl_lsm__changelog *changelog, tl_error *err)
{
    tl_group_hook hook, *use = NULL;
    if (rw->changelog == CHANGELOG_BY_LOOKUP && is_first_row(t->config))
        tl_lsm__first_row_hook(changelog, use = &hook);
    else if (rw->changelog == CHANGELOG_BY_LOOKUP)
        tl_lsm__lookup_changelog_hook(changelog, use = &hook);
    else if (rw->changelog == CHANGELOG_BY_FULL_COMPACTION)
        tl_lsm__full_changelog_hook(changelog, use = &hook);
    for (size_t s = 0; s < rw->n_sections; s++)
        TL_TRY(stream_section(t, rw, &rw->sections[s], use, data, err));
    return TL_OK;
}

static tl_status finish_writer(task *t, tl_lsm__writer *writer, tl_file_list *out, tl_error *err)
{
    tl_file_list files = {0};
    if (writer == NULL)
        return TL_OK;
    TL_TRY(tl_lsm__writer_roll(writer, err));
    tl_status status = tl_lsm__writer_finish(writer, &files, err);
    if (status == TL_OK)
        status = tl_lsm__list_add_all(&t->made, &files, err);
    if (status != TL_OK) {
        for (size_t i = 0; i < files.n; i++)
            tl_lsm__bucket_remove(t->c->bucket, files.items[i]);
    } else {
        status = tl_lsm__list_add_all(out, &files, err);
    }
    tl_file_list_deinit(&files);
    return status;
}

static tl_status add_upgraded(task *t, const tl_data_file *file, tl_error *err)
{
    tl_data_file *upgraded = NULL;
    TL_TRY(tl_data_file_dup(file, &upgraded, err));
    upgraded->level = t->c->output_level;
    tl_status status = tl_file_list_add(&t->c->after, upgraded, err);
    tl_data_file_unref(upgraded);
    return status;
}

/* The rewritten files were consumed, with the vectors that went into the new ones; without new data they go on at the output level. */
static tl_status note_inputs(task *t, const rewrite *rw, tl_error *err)
{
    for (size_t s = 0; s < rw->n_sections; s++) {
        for (size_t r = 0; r < rw->sections[s].n_runs; r++) {
            const tl_file_list *run = &rw->sections[s].runs[r];
            TL_TRY(tl_lsm__list_add_all(&t->c->before, run, err));
            for (size_t i = 0; i < run->n; i++)
                TL_TRY(rw->write_data ? tl_lsm__vector_gone(t->c->bucket->vectors, run->items[i], &t->c->vectors, err)
                                      : add_upgraded(t, run->items[i], err));
        }
    }
    return TL_OK;
}

static tl_status run_rewrite(task *t, const rewrite *rw, tl_error *err)
{
    tl_lsm__changelog changelog = {.bucket = t->c->bucket, .max_level = t->config->num_levels - 1, .expiry_cutoff = t->expiry_cutoff};
    tl_lsm__writer *data = NULL;
    tl_status status = open_writers(t, rw, &data, &changelog, err);
    if (status == TL_OK)
        status = stream_all(t, rw, data, &changelog, err);
    if (status == TL_OK)
        status = finish_writer(t, data, &t->c->after, err);
    if (status == TL_OK)
        status = finish_writer(t, changelog.writer, &t->c->changelog, err);
    if (status == TL_OK)
        status = note_inputs(t, rw, err);
    tl_lsm__writer_free(data);
    tl_lsm__writer_free(changelog.writer);
    tl_lsm__older_free(changelog.older);
    return status;
}

/* ---- upgrade or rewrite ---- */

static bool has_level0(const tl_section *sections, size_t n)
{
    rewrite rw = {.sections = sections, .n_sections = n};
    for (size_t s = 0; s < n; s++) {
        for (size_t r = 0; r < rw.sections[s].n_runs; r++) {
            const tl_file_list *run = &rw.sections[s].runs[r];
            for (size_t i = 0; i < run->n; i++) {
                if (run->items[i]->level == 0)
                    return true;
            }
        }
    }
    return false;
}

static bool is_top(const task *t)
{
    return t->c->output_level == t->config->num_levels - 1;
}

static changelog_mode rewrite_mode(const task *t, const tl_section *sections, size_t n)
{
    if (t->config->changelog_producer == TL_CHANGELOG_FULL_COMPACTION)
        return is_top(t) ? CHANGELOG_BY_FULL_COMPACTION : CHANGELOG_OFF;
    bool lookup = t->config->need_lookup && t->c->output_level != 0 && has_level0(sections, n);
    return lookup ? CHANGELOG_BY_LOOKUP : CHANGELOG_OFF;
}

static tl_status rewrite_sections(task *t, const tl_section *sections, size_t n, tl_error *err)
{
    rewrite rw = {sections, n, rewrite_mode(t, sections, n), /* write_data= */ true, t->c->drop_deletes};
    return run_rewrite(t, &rw, err);
}

static tl_status same_format(const task *t, int32_t from, int32_t to, bool *out, tl_error *err)
{
    const tl_lsm__file_options *a = NULL, *b = NULL;
    TL_TRY(tl_lsm__file_options_of(t->c->bucket->config, from, /* changelog= */ false, &a, err));
    TL_TRY(tl_lsm__file_options_of(t->c->bucket->config, to, /* changelog= */ false, &b, err));
    *out = a->format == b->format;
    return TL_OK;
}

/* Move one file up as the changelog producer demands (LookupMergeTreeCompactRewriter#upgradeStrategy). */
static tl_status move_up(task *t, const tl_section *section, const tl_data_file *file, tl_error *err)
{
    rewrite rw = {section, 1, CHANGELOG_OFF, /* write_data= */ false, /* drop_deletes= */ t->config->deletion_vectors};
    if (t->config->changelog_producer == TL_CHANGELOG_FULL_COMPACTION) {
        rw.changelog = is_top(t) ? CHANGELOG_BY_FULL_COMPACTION : CHANGELOG_OFF;
    } else if (t->config->need_lookup && file->level == 0) {
        bool keeps_format = false;
        TL_TRY(same_format(t, file->level, t->c->output_level, &keeps_format, err));
        rw.changelog = CHANGELOG_BY_LOOKUP;
        bool drops = t->config->deletion_vectors && file->delete_rows != 0; /* with vectors, levels above 0 hold no deletes */
        rw.write_data = !keeps_format || drops || (!is_top(t) && !keeps_values(t->config));
    }
    return rw.changelog == CHANGELOG_OFF ? note_inputs(t, &rw, err) : run_rewrite(t, &rw, err);
}

static tl_status upgrade(task *t, const tl_section *section, tl_error *err)
{
    const tl_data_file *file = section->runs[0].items[0];
    bool may_hold_deletes = file->delete_rows != 0; /* unknown counts */
    bool has_expired = false;
    TL_TRY(tl_lsm__file_has_expired(t->c->bucket->config, file, &has_expired, err));
    if ((t->c->output_level == t->c->max_level && may_hold_deletes) || t->config->force_rewrite_all || has_expired)
        return rewrite_sections(t, section, 1, err);
    return file->level == t->c->output_level ? TL_OK : move_up(t, section, file, err);
}

static tl_status rewrite_range(task *t, size_t from, size_t to, tl_error *err)
{
    if (from == to)
        return TL_OK;
    if (to - from == 1 && t->sections[from].n_runs == 1)
        return upgrade(t, &t->sections[from], err);
    return rewrite_sections(t, &t->sections[from], to - from, err);
}

static tl_status run_sections(task *t, tl_error *err)
{
    size_t from = 0;
    for (size_t i = 0; i < t->n_sections; i++) {
        const tl_section *section = &t->sections[i];
        if (section->n_runs > 1 || section->runs[0].items[0]->bytes < tl_lsm__small_file_bytes(t->config))
            continue;
        TL_TRY(rewrite_range(t, from, i, err));
        TL_TRY(upgrade(t, section, err));
        from = i + 1;
    }
    return rewrite_range(t, from, t->n_sections, err);
}

static tl_status run_each(task *t, tl_error *err)
{
    for (size_t i = 0; i < t->n_sections; i++)
        TL_TRY(rewrite_sections(t, &t->sections[i], 1, err));
    return TL_OK;
}

/* ---- sections ---- */

static tl_status single_file_section(const tl_data_file *file, tl_section *out, tl_error *err)
{
    out->runs = tl_calloc(1, sizeof(*out->runs));
    if (out->runs == NULL)
        return tl_nomem(err, "compaction");
    out->n_runs = 1;
    return tl_file_list_add(&out->runs[0], file, err);
}

/* Sections of the inputs, those with one run split into its files. */
static tl_status split_sections(task *t, tl_error *err)
{
    tl_section *sections = NULL;
    size_t n = 0;
    t->sections = tl_calloc(t->c->files.n + 1, sizeof(*t->sections));
    if (t->sections == NULL)
        return tl_nomem(err, "compaction");
    TL_TRY(tl_sections(t->config, t->c->files.items, t->c->files.n, &sections, &n, err));
    tl_status status = TL_OK;
    for (size_t s = 0; s < n && status == TL_OK; s++) {
        if (sections[s].n_runs > 1) {
            t->sections[t->n_sections++] = sections[s];
            sections[s] = (tl_section){NULL, 0};
            continue;
        }
        const tl_file_list *run = &sections[s].runs[0];
        for (size_t i = 0; i < run->n && status == TL_OK; i++)
            status = single_file_section(run->items[i], &t->sections[t->n_sections++], err);
    }
    tl_sections_free(sections, n);
    return status;
}

tl_status tl_lsm__compaction_run(tl_lsm__compaction *c, tl_error *err)
{
    if (c->bucket->config->pk_clustering)
        return tl_lsm__recluster(c, err);
    task t = {.c = c, .config = c->bucket->config, .expiry_cutoff = tl_lsm__expiry_cutoff(c->bucket->config)};
    tl_status status = c->bucket->vectors == NULL ? TL_OK : tl_lsm__deletions_create(&t.deletions, err);
    if (status == TL_OK)
        status = split_sections(&t, err);
    if (status == TL_OK)
        status = c->rewrite_each ? run_each(&t, err) : run_sections(&t, err);
    if (status == TL_OK && t.deletions != NULL)
        status = tl_lsm__deletions_finish(t.deletions, c->bucket, &c->vectors, err);
    tl_lsm__deletions_free(t.deletions);
    if (status != TL_OK) {
        for (size_t i = 0; i < t.made.n; i++)
            tl_lsm__bucket_remove(c->bucket, t.made.items[i]);
        tl_file_list_deinit(&c->before);
        tl_file_list_deinit(&c->after);
        tl_file_list_deinit(&c->changelog);
        tl_lsm__vector_changes_deinit(&c->vectors);
        (void)tl_error_wrap(err, status, "compaction of bucket '%s'", c->bucket->dir);
    }
    tl_file_list_deinit(&t.made);
    if (t.sections != NULL)
        tl_sections_free(t.sections, t.n_sections);
    return status;
}
