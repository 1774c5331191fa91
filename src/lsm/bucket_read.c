/*
 * Reading a bucket (Java: MergeFileSplitRead, RawFileSplitRead).
 *
 * The files are cut into sections of disjoint key ranges, read one after the other. Where one run is alone, each key is there
 * once: only the wanted columns are read, and every predicate goes down into the files. Where runs overlap they are merged,
 * with the columns that merging needs; then only predicates on keys may go down, as an older record that passes must not show
 * in place of a newer one that fails, and the whole predicate is applied to the merged rows.
 */
#include "lsm/lsm_private.h"

/* One way of reading: its scan, and where the wanted columns are in what it gives. */
typedef struct read_path {
    tl_lsm__scan *scan;
    int32_t *out; /* indices into scan->type of the wanted columns; NULL: all in order */
} read_path;

typedef struct bucket_reader {
    tl_reader base;
    tl_lsm__bucket *bucket;
    tl_section *sections;
    size_t n_sections;
    size_t next_section;
    int32_t n_columns;
    int32_t *columns; /* wanted */
    bool keep_deletes;
    bool with_kinds;
    bool with_seq;
    int64_t batch_rows;
    tl_predicate *pred; /* bound to the config's read_type; NULL: none */
    tl_map_filter *map_filter; /* for files that need no merging; NULL: none */
    read_path direct;
    read_path merged;
    tl_lsm__scan *in_order;  /* merged.scan without sequence numbers; NULL: not made */
    tl_lsm__scan *search;    /* for candidates; NULL: not made, or of no use */
    tl_merge_engine *engine; /* over merged.scan->type */
    tl_reader *current;
    const read_path *path; /* of `current` */
} bucket_reader;

static void path_deinit(read_path *path)
{
    tl_lsm__scan_unref(path->scan);
    tl_free(path->out);
}

static void bucket_reader_free(tl_reader *reader)
{
    bucket_reader *r = (bucket_reader *)reader;
    tl_reader_free(r->current);
    path_deinit(&r->direct);
    path_deinit(&r->merged);
    tl_lsm__scan_unref(r->in_order);
    tl_lsm__scan_unref(r->search);
    tl_merge_engine_unref(r->engine);
    if (r->sections != NULL)
        tl_sections_free(r->sections, r->n_sections);
    tl_predicate_free(r->pred);
    tl_map_filter_unref(r->map_filter);
    tl_free(r->columns);
    tl_type_unref(r->base.type);
    tl_lsm__bucket_unref(r->bucket);
    tl_free(r);
}

/* ---- the two ways ---- */

static tl_status make_path(bucket_reader *r, const bool *needed, read_path *path, tl_error *err)
{
    int32_t n = tl_lsm__n_readable(r->bucket->config);
    TL_CLEANUP(tl_freep) int32_t *columns = tl_alloc((size_t)(n + 1) * sizeof(*columns));
    TL_CLEANUP(tl_freep) int32_t *position = tl_alloc((size_t)(n + 1) * sizeof(*position));
    path->out = tl_alloc((size_t)(r->n_columns + 1) * sizeof(*path->out));
    if (columns == NULL || position == NULL || path->out == NULL)
        return tl_nomem(err, "read");
    int32_t n_read = 0;
    for (int32_t i = 0; i < n; i++) {
        position[i] = n_read;
        if (needed[i])
            columns[n_read++] = i;
    }
    bool identity = n_read == r->n_columns;
    for (int32_t i = 0; i < r->n_columns; i++) {
        path->out[i] = position[r->columns[i]];
        identity &= path->out[i] == i;
    }
    if (identity) {
        tl_free(path->out);
        path->out = NULL;
    }
    TL_TRY(tl_lsm__scan_create(r->bucket, columns, n_read, r->pred, &path->scan, err));
    path->scan->batch_rows = r->batch_rows;
    return TL_OK;
}

static void mark_wanted(const bucket_reader *r, bool *needed)
{
    for (int32_t i = 0; i < r->n_columns; i++)
        needed[r->columns[i]] = true;
}

static tl_status make_direct(bucket_reader *r, tl_error *err)
{
    TL_CLEANUP(tl_freep) bool *needed = tl_calloc((size_t)tl_lsm__n_readable(r->bucket->config) + 1, sizeof(*needed));
    if (needed == NULL)
        return tl_nomem(err, "read");
    mark_wanted(r, needed);
    if (r->pred != NULL)
        tl_predicate_columns(r->pred, needed);
    TL_TRY(make_path(r, needed, &r->direct, err));
    r->direct.scan->with_kind = r->with_kinds;
    r->direct.scan->with_seq = r->with_seq;
    r->direct.scan->drop_deletes = !r->keep_deletes;
    r->direct.scan->map_filter = tl_map_filter_ref(r->map_filter);
    return TL_OK;
}

static int32_t primary_key_column(const tl_table_schema *schema, int32_t i)
{
    return tl_type_field_index(schema->row_type, schema->primary_keys[i]);
}

static tl_status make_engine(bucket_reader *r, tl_error *err)
{
    const tl_table_schema *schema = r->bucket->config->schema;
    const tl_lsm__scan *scan = r->merged.scan;
    TL_CLEANUP(tl_freep) int32_t *keys = tl_alloc((size_t)schema->n_primary_keys * sizeof(*keys));
    if (keys == NULL)
        return tl_nomem(err, "read");
    for (int32_t k = 0; k < schema->n_primary_keys; k++) {
        int32_t column = primary_key_column(schema, k);
        for (int32_t i = 0; i < scan->n_columns; i++) {
            if (scan->columns[i] == column)
                keys[k] = i;
        }
    }
    return tl_merge_engine_create(scan->type, keys, schema->n_primary_keys, &schema->options, &r->engine, err);
}

/*
 * The scan that finds candidates: key and filter. It is of use if the filter looks at other columns than the key (what looks at
 * the key alone goes down anyway), and if there are columns that only the rows in the result are wanted of.
 */
static tl_status make_search(bucket_reader *r, tl_error *err)
{
    const tl_lsm_config *config = r->bucket->config;
    int32_t n = tl_lsm__n_columns(config);
    if (r->pred == NULL || r->keep_deletes || tl_merge_engine_get_kind(r->engine) != TL_ENGINE_DEDUPLICATE ||
        tl_lsm__reads_lowest_level(config))
        return TL_OK;
    TL_CLEANUP(tl_freep) bool *used = tl_calloc((size_t)n + 1, sizeof(*used));
    TL_CLEANUP(tl_freep) bool *searched = tl_calloc((size_t)n + 1, sizeof(*searched));
    TL_CLEANUP(tl_freep) int32_t *columns = tl_alloc((size_t)(n + 1) * sizeof(*columns));
    if (used == NULL || searched == NULL || columns == NULL)
        return tl_nomem(err, "read");
    tl_predicate_columns(r->pred, used);
    memcpy(searched, used, (size_t)n * sizeof(*used));
    for (int32_t k = 0; k < config->n_keys; k++) {
        searched[config->key_idx[k]] = true;
        used[config->key_idx[k]] = false;
    }
    int32_t n_columns = 0, n_values = 0, n_rest = 0;
    for (int32_t i = 0; i < n; i++) {
        if (searched[i])
            columns[n_columns++] = i;
        n_values += used[i] && config->partition_idx[i] < 0;
    }
    for (int32_t i = 0; i < r->merged.scan->n_columns; i++)
        n_rest += !searched[r->merged.scan->columns[i]];
    if (n_values == 0 || n_rest == 0)
        return TL_OK;
    TL_TRY(tl_lsm__scan_create(r->bucket, columns, n_columns, r->pred, &r->search, err));
    r->search->with_kind = r->search->with_seq = false;
    r->search->drop_deletes = true;
    return TL_OK;
}

static tl_status make_merged(bucket_reader *r, tl_error *err)
{
    const tl_table_schema *schema = r->bucket->config->schema;
    size_t n = (size_t)tl_lsm__n_columns(r->bucket->config) + 1;
    TL_CLEANUP(tl_freep) bool *wanted = tl_calloc(n, sizeof(*wanted));
    TL_CLEANUP(tl_freep) bool *needed = tl_calloc(n, sizeof(*needed));
    if (wanted == NULL || needed == NULL)
        return tl_nomem(err, "read");
    mark_wanted(r, wanted);
    if (r->pred != NULL)
        tl_predicate_columns(r->pred, wanted);
    for (int32_t k = 0; k < schema->n_primary_keys; k++)
        wanted[primary_key_column(schema, k)] = true;
    TL_TRY(tl_merge_required_columns(schema->row_type, &schema->options, wanted, needed, err));
    for (size_t i = 0; i + 1 < n; i++)
        needed[i] |= wanted[i];
    TL_TRY(make_path(r, needed, &r->merged, err));
    TL_TRY(make_engine(r, err));
    return make_search(r, err);
}

/* ---- sections ---- */

/* As merged.scan, under another predicate. */
static tl_status merged_scan(const bucket_reader *r, const tl_predicate *pred, bool with_seq, tl_lsm__scan **out, tl_error *err)
{
    const tl_lsm__scan *scan = r->merged.scan;
    TL_TRY(tl_lsm__scan_create(r->bucket, scan->columns, scan->n_columns, pred, out, err));
    (*out)->batch_rows = r->batch_rows;
    (*out)->with_seq = with_seq;
    return TL_OK;
}

/* The scan that a section is read with: the usual one, or one that reads candidates only. NULL: no row of it passes. */
static tl_status choose_scan(bucket_reader *r, const tl_section *section, bool with_seq, tl_lsm__scan **out, tl_error *err)
{
    TL_CLEANUP(tl_batch_freep) tl_batch *keys = NULL;
    TL_CLEANUP(tl_predicate_freep) tl_predicate *pred = NULL;
    bool few = false;
    *out = NULL;
    if (r->search != NULL)
        TL_TRY(tl_lsm__candidates(r->search, section, &keys, &few, err));
    if (few && keys == NULL)
        return TL_OK;
    if (few) {
        TL_TRY(tl_lsm__among(r->bucket->config, keys, r->pred, &pred, err));
        return merged_scan(r, pred, with_seq, out, err);
    }
    if (!with_seq && r->in_order == NULL)
        TL_TRY(merged_scan(r, r->pred, with_seq, &r->in_order, err));
    *out = tl_lsm__scan_ref(with_seq ? r->merged.scan : r->in_order);
    return TL_OK;
}

/* Sequence numbers are read if they are asked for, or if the order of the runs does not make up for them. */
static tl_status wants_seq(const bucket_reader *r, const tl_merge_input *inputs, size_t n, bool *out, tl_error *err)
{
    bool in_order = false;
    if (!r->with_seq && !tl_lsm__reads_lowest_level(r->bucket->config))
        TL_TRY(tl_merge_in_order(r->engine, inputs, (int32_t)n, &in_order, err));
    *out = !in_order;
    return TL_OK;
}

static tl_status open_runs(tl_lsm__scan *scan, const tl_section *section, tl_merge_input *inputs, tl_error *err)
{
    for (size_t i = 0; i < section->n_runs; i++) {
        const tl_file_list *run = &section->runs[i];
        tl_status status = tl_lsm__run_open(scan, run->items, run->n, TL_LSM__PUSH_KEYS, &inputs[i].reader, err);
        if (status != TL_OK) {
            for (size_t j = 0; j < i; j++)
                tl_reader_free(inputs[j].reader);
            return status;
        }
    }
    return TL_OK;
}

static tl_status open_merged(bucket_reader *r, const tl_section *section, tl_error *err)
{
    TL_CLEANUP(tl_lsm__scan_unrefp) tl_lsm__scan *scan = NULL;
    TL_CLEANUP(tl_freep) tl_merge_input *inputs = tl_calloc(section->n_runs, sizeof(*inputs));
    bool with_seq;
    if (inputs == NULL)
        return tl_nomem(err, "read");
    for (size_t i = 0; i < section->n_runs; i++)
        inputs[i] = tl_lsm__merge_input(&section->runs[i]);
    TL_TRY(wants_seq(r, inputs, section->n_runs, &with_seq, err));
    TL_TRY(choose_scan(r, section, with_seq, &scan, err));
    if (scan == NULL)
        return TL_OK;
    tl_merge_spec spec = {.engine = r->engine,
                          .key_idx = scan->key_idx,
                          .n_keys = r->bucket->config->n_keys,
                          .drop_deletes = !r->keep_deletes,
                          .batch_rows = r->batch_rows,
                          .hook = tl_lsm__reads_lowest_level(r->bucket->config) ? &tl_lsm__lookup_read_hook : NULL};
    TL_TRY(open_runs(scan, section, inputs, err));
    return tl_merge_open(r->merged.scan->type, &spec, inputs, (int32_t)section->n_runs, &r->current, err);
}

static tl_status open_section(bucket_reader *r, const tl_section *section, tl_error *err)
{
    if (section->n_runs > 1) {
        if (r->merged.scan == NULL)
            TL_TRY(make_merged(r, err));
        r->path = &r->merged;
        return open_merged(r, section, err);
    }
    if (r->direct.scan == NULL)
        TL_TRY(make_direct(r, err));
    r->path = &r->direct;
    return tl_lsm__run_open(r->direct.scan, section->runs[0].items, section->runs[0].n, TL_LSM__PUSH_ALL, &r->current, err);
}

/* ---- rows out ---- */

static tl_status shape_batch(const bucket_reader *r, tl_batch *batch, tl_batch **out, tl_error *err)
{
    TL_CLEANUP(tl_batch_freep) tl_batch *owned = batch;
    if (r->path == &r->merged && r->merged.scan->pred != NULL)
        TL_TRY(tl_predicate_filter(r->merged.scan->pred, &owned, err));
    if (r->path->out != NULL) {
        tl_batch *projected = NULL;
        TL_TRY(tl_batch_project(owned, r->path->out, r->n_columns, &projected, err));
        tl_batch_free(owned);
        owned = projected;
    }
    if (!r->with_kinds) {
        tl_free(owned->row_kind);
        owned->row_kind = NULL;
    }
    if (!r->with_seq) {
        tl_free(owned->seq);
        owned->seq = NULL;
    }
    *out = TL_STEAL(owned);
    return TL_OK;
}

static tl_status bucket_reader_next(tl_reader *reader, tl_batch **out, tl_error *err)
{
    bucket_reader *r = (bucket_reader *)reader;
    for (;;) {
        tl_batch *batch = NULL;
        if (r->current == NULL) {
            if (r->next_section == r->n_sections) {
                *out = NULL;
                return TL_OK;
            }
            TL_TRY(open_section(r, &r->sections[r->next_section++], err));
            if (r->current == NULL)
                continue; /* nothing of it passes */
        }
        TL_TRY(tl_reader_next(r->current, &batch, err));
        if (batch == NULL) {
            tl_reader_free(TL_STEAL(r->current));
            continue;
        }
        TL_TRY(shape_batch(r, batch, &batch, err));
        if (batch->n_rows > 0) {
            *out = batch;
            return TL_OK;
        }
        tl_batch_free(batch);
    }
}

static const tl_reader_ops bucket_reader_ops = {bucket_reader_next, bucket_reader_free};

/* ---- opening ---- */

static tl_status take_spec(bucket_reader *r, const tl_bucket_read_spec *spec, tl_error *err)
{
    const tl_lsm_config *config = r->bucket->config;
    int32_t n = tl_lsm__n_columns(config);
    r->n_columns = spec->columns == NULL ? n : spec->n_columns;
    r->columns = tl_alloc((size_t)(r->n_columns + 1) * sizeof(*r->columns));
    if (r->columns == NULL)
        return tl_nomem(err, "read");
    for (int32_t i = 0; i < r->n_columns; i++) {
        r->columns[i] = spec->columns == NULL ? i : spec->columns[i];
        if (r->columns[i] < 0 || r->columns[i] >= tl_lsm__n_readable(config))
            return tl_error_set(err, TL_E_INVALID, "column %d of %d does not exist", r->columns[i], tl_lsm__n_readable(config));
    }
    r->keep_deletes = spec->keep_deletes;
    r->with_kinds = spec->with_kinds || spec->keep_deletes;
    r->with_seq = spec->with_seq;
    r->batch_rows = spec->batch_rows;
    r->map_filter = tl_map_filter_ref(spec->map_filter);
    if (spec->follow_blobs && !config->blob_as_descriptor)
        TL_TRY(tl_lsm__blobs_check_filter(config, spec->predicate, err));
    if (spec->predicate != NULL)
        TL_TRY(tl_predicate_dup(spec->predicate, &r->pred, err));
    return tl_type_project(config->read_type, r->columns, r->n_columns, &r->base.type, err);
}

static tl_status reader_create(tl_lsm_config *config, tl_bytes_view partition, int32_t number, const tl_bucket_read_spec *spec,
                               bucket_reader **out, tl_error *err)
{
    bucket_reader *r = tl_calloc(1, sizeof *r);
    if (r == NULL)
        return tl_nomem(err, "read");
    r->base.ops = &bucket_reader_ops;
    tl_status status = tl_lsm__bucket_create(config, partition, number, &r->bucket, err);
    if (status == TL_OK) {
        r->bucket->vectors = tl_dv_set_ref(spec->vectors);
        r->bucket->pool = spec->pool;
        status = take_spec(r, spec, err);
    }
    if (status != TL_OK) {
        bucket_reader_free(&r->base);
        return status;
    }
    *out = r;
    return TL_OK;
}

/* One section of one run with the files in the given order: read one after the other. */
static tl_status single_section(bucket_reader *r, tl_data_file *const *files, size_t n, tl_error *err)
{
    r->sections = tl_calloc(1, sizeof(*r->sections));
    if (r->sections == NULL || (r->sections->runs = tl_calloc(1, sizeof(*r->sections->runs))) == NULL)
        return tl_nomem(err, "read");
    r->sections->n_runs = 1;
    r->n_sections = 1;
    for (size_t i = 0; i < n; i++)
        TL_TRY(tl_file_list_add(&r->sections->runs[0], files[i], err));
    return TL_OK;
}

/* The finished reader, as the spec wants the values of blobs. */
static tl_status give(bucket_reader *r, const tl_bucket_read_spec *spec, tl_reader **out, tl_error *err)
{
    tl_lsm_config *config = r->bucket->config;
    bool described = false;
    for (int32_t i = 0; i < r->n_columns; i++)
        described |= tl_lsm__is_described(config, r->columns[i]);
    if (!spec->follow_blobs || config->blob_as_descriptor || !described) {
        *out = &r->base;
        return TL_OK;
    }
    return tl_lsm__blobs_follow(config, r->columns, r->n_columns, &r->base, out, err);
}

tl_status tl_bucket_read(tl_lsm_config *config, tl_bytes_view partition, int32_t number, tl_data_file *const *files,
                         size_t n_files, const tl_bucket_read_spec *spec, tl_reader **out, tl_error *err)
{
    bucket_reader *r = NULL;
    TL_TRY(reader_create(config, partition, number, spec, &r, err));
    tl_status status = config->n_keys > 0 ? tl_sections(config, files, n_files, &r->sections, &r->n_sections, err)
                                          : single_section(r, files, n_files, err);
    if (status != TL_OK) {
        bucket_reader_free(&r->base);
        return status;
    }
    return give(r, spec, out, err);
}

tl_status tl_files_read(tl_lsm_config *config, tl_bytes_view partition, int32_t number, tl_data_file *const *files,
                        size_t n_files, const tl_bucket_read_spec *spec, tl_reader **out, tl_error *err)
{
    bucket_reader *r = NULL;
    tl_bucket_read_spec all = *spec;
    all.keep_deletes = true;
    TL_TRY(reader_create(config, partition, number, &all, &r, err));
    tl_status status = single_section(r, files, n_files, err);
    if (status != TL_OK) {
        bucket_reader_free(&r->base);
        return status;
    }
    return give(r, spec, out, err);
}
