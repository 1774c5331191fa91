/*
 * Options of a table → tl_lsm_config. Defaults are those of the reference (Java: org.apache.paimon.CoreOptions, 1.4.2).
 */
#include "lsm/lsm_private.h"

#include <stdlib.h>
#include <strings.h>

#include "base/parse.h"

#define MB (INT64_C(1) << 20)

/* ---- typed options: *out keeps its value (the default) where the option is not set ---- */

static tl_status wrap_option(tl_error *err, tl_status status, const char *key)
{
    return tl_error_wrap(err, status, "option '%s'", key);
}

static tl_status opt_memory(const tl_options *options, const char *key, int64_t *out, tl_error *err)
{
    const char *text = tl_options_get(options, key);
    return text == NULL ? TL_OK : wrap_option(err, tl_parse_memory_bytes(text, out, err), key);
}

static tl_status opt_duration(const tl_options *options, const char *key, int64_t *out, tl_error *err)
{
    const char *text = tl_options_get(options, key);
    return text == NULL ? TL_OK : wrap_option(err, tl_parse_duration_ms(text, out, err), key);
}

static tl_status opt_bool(const tl_options *options, const char *key, bool *out, tl_error *err)
{
    const char *text = tl_options_get(options, key);
    return text == NULL ? TL_OK : wrap_option(err, tl_parse_bool(text, out, err), key);
}

static tl_status opt_int(const tl_options *options, const char *key, int32_t *out, tl_error *err)
{
    const char *text = tl_options_get(options, key);
    if (text == NULL)
        return TL_OK;
    int64_t v = 0;
    TL_TRY(wrap_option(err, tl_parse_int(text, INT32_MIN, INT32_MAX, &v, err), key));
    *out = (int32_t)v;
    return TL_OK;
}

/* NULL default: stays NULL when unset. */
static tl_status opt_string(const tl_options *options, const char *key, const char *default_value, char **out, tl_error *err)
{
    const char *text = tl_options_get(options, key);
    if (text == NULL)
        text = default_value;
    if (text == NULL)
        return TL_OK;
    *out = tl_strdup(text);
    return *out == NULL ? tl_nomem(err, "option") : TL_OK;
}

/* Java's enums are found by their text or by their name, in any case. */
static bool enum_equal(const char *text, const char *name)
{
    for (; *text != 0 && *name != 0; text++, name++) {
        char a = *text == '_' ? '-' : *text;
        if (strncasecmp(&a, name, 1) != 0)
            return false;
    }
    return *text == *name;
}

/* ---- features that are not there ---- */

static bool type_holds(const tl_type *type, tl_type_kind kind)
{
    if (type->kind == kind)
        return true;
    for (int32_t i = 0; i < type->n_fields; i++) {
        if (type_holds(type->fields[i].type, kind))
            return true;
    }
    return false;
}

/* Columns of type BLOB have files of their own; parts of a column have no place. */
static tl_status refuse_types(const tl_type *row_type, tl_error *err)
{
    for (int32_t i = 0; i < row_type->n_fields; i++) {
        const tl_field *f = &row_type->fields[i];
        if (f->type->n_fields > 0 && type_holds(f->type, TL_BLOB))
            return tl_error_set(err, TL_E_UNSUPPORTED, "column '%s': type BLOB inside of another type is not supported", f->name);
    }
    return TL_OK;
}

/* The first feature that a writer would need and that is not there: a table with it can be read, not written. */
static const char *write_feature(const tl_options *options)
{
    if (tl_options_get(options, "record-level.expire-time") != NULL && tl_options_get(options, "record-level.time-field") == NULL)
        return "record-level expiry (option 'record-level.expire-time') without 'record-level.time-field'";
    return NULL;
}

/* ---- groups of options ---- */

static tl_status parse_files(tl_lsm_config *config, const tl_options *options, tl_error *err)
{
    config->target_file_bytes = config->n_keys > 0 ? 128 * MB : 256 * MB;
    TL_TRY(opt_memory(options, "target-file-size", &config->target_file_bytes, err));
    config->blob_target_bytes = config->target_file_bytes;
    TL_TRY(opt_memory(options, "blob.target-file-size", &config->blob_target_bytes, err));
    config->vector_target_bytes = TL_MIN(config->target_file_bytes, INT64_MAX / 10) * 10;
    TL_TRY(opt_memory(options, "vector.target-file-size", &config->vector_target_bytes, err));
    TL_TRY(opt_string(options, "vector.file.format", NULL, &config->vector_format, err));
    TL_TRY(opt_bool(options, "blob-as-descriptor", &config->blob_as_descriptor, err));
    TL_TRY(tl_lsm__blobs_parse(config, options, err));
    TL_TRY(opt_string(options, "file.compression", "zstd", &config->compression, err));
    int32_t zstd_level = 1;
    TL_TRY(opt_int(options, "file.compression.zstd-level", &zstd_level, err));
    config->zstd_level = zstd_level;
    config->zstd_level_is_default = tl_options_get(options, "file.compression.zstd-level") == NULL;
    TL_TRY(opt_string(options, "data-file.prefix", "data-", &config->data_prefix, err));
    TL_TRY(opt_string(options, "changelog-file.prefix", "changelog-", &config->changelog_prefix, err));
    TL_TRY(opt_string(options, "data-file.path-directory", NULL, &config->data_dir, err));
    if (strchr(config->data_prefix, '/') != NULL || strchr(config->changelog_prefix, '/') != NULL)
        return tl_error_set(err, TL_E_INVALID, "options 'data-file.prefix', 'changelog-file.prefix': a prefix of file names has no '/'");
    if (config->data_dir != NULL && *config->data_dir != '\0' && !tl_path_is_inside(config->data_dir))
        return tl_error_set(err, TL_E_INVALID, "option 'data-file.path-directory': '%s' is no folder inside the table", config->data_dir);
    TL_TRY(opt_bool(options, "file.suffix.include.compression", &config->suffix_compression, err));
    TL_TRY(opt_bool(options, "data-file.thin-mode", &config->thin_mode, err));
    config->legacy_partition_names = true;
    TL_TRY(opt_bool(options, "partition.legacy-name", &config->legacy_partition_names, err));
    TL_TRY(opt_string(options, "partition.default-name", "__DEFAULT_PARTITION__", &config->partition_default_name, err));
    config->split_open_file_cost = 4 * MB;
    return opt_memory(options, "source.split.open-file-cost", &config->split_open_file_cost, err);
}

static tl_status parse_buffer(tl_lsm_config *config, const tl_options *options, tl_error *err)
{
    /* As many rows as the 256 MB of the reference hold, and more: columns take less than its rows. What a flush needs comes on top. */
    config->write_buffer_bytes = 192 * MB;
    config->write_buffer_spillable = true;
    TL_TRY(opt_memory(options, "write-buffer-size", &config->write_buffer_bytes, err));
    TL_TRY(opt_bool(options, "write-buffer-spillable", &config->write_buffer_spillable, err));
    TL_TRY(opt_bool(options, "write.compaction-skip", &config->write_only, err));
    TL_TRY(opt_bool(options, "write-only", &config->write_only, err));
    static const char *const ignore_keys[] = {"first-row.ignore-delete", "deduplicate.ignore-delete",
                                              "partial-update.ignore-delete", "ignore-delete"};
    for (size_t i = 0; i < TL_ARRAY_LEN(ignore_keys); i++)
        TL_TRY(opt_bool(options, ignore_keys[i], &config->ignore_delete, err));
    TL_TRY(opt_bool(options, "ignore-update-before", &config->ignore_update_before, err));
    TL_TRY(opt_bool(options, "chain-table.enabled", &config->keep_deletes, err));
    config->bucket_append_ordered = true;
    TL_TRY(opt_bool(options, "bucket-append-ordered", &config->bucket_append_ordered, err));
    config->total_buckets = -1;
    TL_TRY(opt_int(options, "bucket", &config->total_buckets, err));
    config->unaware_bucket = config->n_keys == 0 && config->total_buckets == -1;
    const char *dir = getenv("TMPDIR");
    config->spill_dir = tl_strdup(dir != NULL && dir[0] != 0 ? dir : "/tmp");
    if (config->spill_dir == NULL)
        return tl_nomem(err, "options");
    return tl_fs_local(&config->spill_fs, err);
}

/* LZ4 unless the user asks for something else: a spill is read once, so speed counts more than size. */
static tl_status parse_spill_codec(tl_lsm_config *config, const tl_options *options, tl_error *err)
{
    static const struct {
        const char *name;
        tl_codec codec;
    } codecs[] = {{"lz4", TL_CODEC_LZ4_RAW}, {"zstd", TL_CODEC_ZSTD}, {"none", TL_CODEC_NONE}, {"lzo", TL_CODEC_LZ4_RAW}};
    config->spill_codec = TL_CODEC_LZ4_RAW;
    const char *name = tl_options_get(options, "spill-compression");
    if (name == NULL)
        return TL_OK;
    for (size_t i = 0; i < TL_ARRAY_LEN(codecs); i++) {
        if (strcasecmp(name, codecs[i].name) == 0) {
            config->spill_codec = codecs[i].codec;
            return TL_OK;
        }
    }
    return tl_error_set(err, TL_E_INVALID, "option 'spill-compression': unknown codec '%s'", name);
}

static tl_status parse_lookup_compact(tl_lsm_config *config, const tl_options *options, tl_error *err)
{
    const char *mode = tl_options_get(options, "lookup-compact");
    if (mode == NULL || enum_equal(mode, "radical"))
        return TL_OK;
    if (!enum_equal(mode, "gentle"))
        return tl_error_set(err, TL_E_INVALID, "option 'lookup-compact': '%s' is neither radical nor gentle", mode);
    int64_t interval = (int64_t)config->compaction_trigger * 2;
    int32_t set = (int32_t)TL_MIN(interval, INT32_MAX);
    TL_TRY(opt_int(options, "lookup-compact.max-interval", &set, err));
    config->lookup_compact_max_interval = TL_MAX(config->compaction_trigger, set);
    return TL_OK;
}

static tl_status parse_compaction(tl_lsm_config *config, const tl_options *options, tl_error *err)
{
    config->compaction_trigger = 5;
    TL_TRY(opt_int(options, "num-sorted-run.compaction-trigger", &config->compaction_trigger, err));
    config->trigger_is_default = tl_options_get(options, "num-sorted-run.compaction-trigger") == NULL;
    int32_t stop = config->compaction_trigger > INT32_MAX - 3 ? INT32_MAX : config->compaction_trigger + 3;
    TL_TRY(opt_int(options, "num-sorted-run.stop-trigger", &stop, err));
    config->stop_trigger = TL_MAX(config->compaction_trigger, stop);
    config->num_levels = config->compaction_trigger == INT32_MAX ? INT32_MAX : config->compaction_trigger + 1;
    TL_TRY(opt_int(options, "num-levels", &config->num_levels, err));
    if (config->n_keys > 0 && (config->num_levels < 2 || config->num_levels > 1000000))
        return tl_error_set(err, TL_E_INVALID, "number of levels must be at least 2 and at most 1000000, not %d",
                            config->num_levels);
    config->max_size_amplification_percent = 200;
    TL_TRY(opt_int(options, "compaction.max-size-amplification-percent", &config->max_size_amplification_percent, err));
    config->size_ratio = 1;
    TL_TRY(opt_int(options, "compaction.size-ratio", &config->size_ratio, err));
    static const char *const shapes[] = {"num-sorted-run.stop-trigger", "num-levels", "compaction.max-size-amplification-percent", "compaction.size-ratio"};
    config->shape_is_default = config->trigger_is_default;
    for (size_t i = 0; i < TL_ARRAY_LEN(shapes); i++)
        config->shape_is_default &= tl_options_get(options, shapes[i]) == NULL;
    config->offpeak_start_hour = config->offpeak_end_hour = -1;
    TL_TRY(opt_int(options, "compaction.offpeak.start.hour", &config->offpeak_start_hour, err));
    TL_TRY(opt_int(options, "compaction.offpeak.end.hour", &config->offpeak_end_hour, err));
    TL_TRY(opt_int(options, "compaction.offpeak-ratio", &config->offpeak_ratio, err));
    config->optimization_interval_ms = config->total_size_threshold = config->incremental_size_threshold = -1;
    TL_TRY(opt_duration(options, "compaction.optimization-interval", &config->optimization_interval_ms, err));
    TL_TRY(opt_memory(options, "compaction.total-size-threshold", &config->total_size_threshold, err));
    TL_TRY(opt_memory(options, "compaction.incremental-size-threshold", &config->incremental_size_threshold, err));
    TL_TRY(opt_bool(options, "compaction.force-up-level-0", &config->force_up_level0, err));
    TL_TRY(opt_bool(options, "compaction.force-rewrite-all-files", &config->force_rewrite_all, err));
    TL_TRY(opt_bool(options, "commit.force-compact", &config->commit_force_compact, err));
    config->compaction_min_file_num = 5;
    TL_TRY(opt_int(options, "compaction.min.file-num", &config->compaction_min_file_num, err));
    return parse_lookup_compact(config, options, err);
}

static void parse_ignored_fields(tl_lsm_config *config, const char *list)
{
    const tl_type *row = config->schema->row_type;
    for (int32_t i = 0; i < row->n_fields; i++)
        config->row_deduplicate_ignored[i] |= tl_list_has(list, row->fields[i].name);
}

static tl_status parse_changelog(tl_lsm_config *config, const tl_options *options, tl_error *err)
{
    static const char *const names[] = {"none", "input", "lookup", "full-compaction"};
    const char *name = tl_options_get(options, "changelog-producer");
    config->changelog_producer = TL_CHANGELOG_NONE;
    bool found = name == NULL;
    for (size_t i = 0; i < TL_ARRAY_LEN(names) && !found; i++) {
        found = enum_equal(name, names[i]);
        if (found)
            config->changelog_producer = (tl_changelog_producer)i;
    }
    if (!found)
        return tl_error_set(err, TL_E_INVALID, "option 'changelog-producer': unknown producer '%s'", name);
    TL_TRY(opt_bool(options, "changelog-producer.row-deduplicate", &config->row_deduplicate, err));
    config->row_deduplicate_ignored = tl_calloc((size_t)tl_lsm__n_columns(config) + 1, sizeof(bool));
    if (config->row_deduplicate_ignored == NULL)
        return tl_nomem(err, "options");
    TL_TRY(opt_bool(options, "force-lookup", &config->force_lookup, err));
    const char *engine = tl_options_get(options, "merge-engine");
    bool lookup = config->force_lookup || config->changelog_producer == TL_CHANGELOG_LOOKUP || config->deletion_vectors ||
                  (engine != NULL && enum_equal(engine, "first-row"));
    config->need_lookup = config->n_keys > 0 && lookup;
    parse_ignored_fields(config, tl_options_get(options, "changelog-producer.row-deduplicate-ignore-fields"));
    return TL_OK;
}

static tl_status opt_double(const tl_options *options, const char *key, double *out, tl_error *err)
{
    const char *text = tl_options_get(options, key);
    return text == NULL ? TL_OK : wrap_option(err, tl_parse_double(text, out, err), key);
}

static tl_status parse_vectors(tl_lsm_config *config, const tl_options *options, tl_error *err)
{
    config->index_target_bytes = 2 * MB;
    config->delete_ratio_threshold = 0.2;
    TL_TRY(opt_double(options, "compaction.delete-ratio-threshold", &config->delete_ratio_threshold, err));
    TL_TRY(opt_bool(options, "deletion-vectors.enabled", &config->deletion_vectors, err));
    TL_TRY(opt_bool(options, "deletion-vectors.bitmap64", &config->deletion_vectors_64, err));
    TL_TRY(opt_bool(options, "index-file-in-data-file-dir", &config->index_in_data_dir, err));
    return opt_memory(options, "deletion-vector.index-file.target-size", &config->index_target_bytes, err);
}

static tl_status parse_file_indexes(tl_lsm_config *config, const tl_options *options, tl_error *err)
{
    config->index_read = true;
    config->index_in_manifest_bytes = 500;
    TL_TRY(opt_bool(options, "file-index.read.enabled", &config->index_read, err));
    return opt_memory(options, "file-index.in-manifest-threshold", &config->index_in_manifest_bytes, err);
}

static tl_status parse_stats(tl_lsm_config *config, const tl_options *options, tl_error *err)
{
    config->stats_dense = true;
    TL_TRY(opt_bool(options, "metadata.stats-dense-store", &config->stats_dense, err));
    config->stats_first_columns = -1;
    return opt_int(options, "metadata.stats-keep-first-n-columns", &config->stats_first_columns, err);
}

static tl_status parse_expiry(tl_lsm_config *config, const tl_options *options, tl_error *err)
{
    config->record_expire_ms = -1;
    TL_TRY(opt_duration(options, "record-level.expire-time", &config->record_expire_ms, err));
    return tl_lsm__expiry_check(config, tl_options_get(options, "record-level.time-field"), err);
}

/* Not with data evolution, where rows are put together from several files. */
static tl_status parse_broken_files(tl_lsm_config *config, const tl_options *options, tl_error *err)
{
    if (config->data_evolution)
        return TL_OK;
    TL_TRY(opt_bool(options, "scan.ignore-corrupt-files", &config->ignore_corrupt_files, err));
    return opt_bool(options, "scan.ignore-lost-files", &config->ignore_lost_files, err);
}

/* Columns named in a list. */
static tl_status columns_of_list(const tl_type *row, const char *list, const char *key, int32_t **out, int32_t *n, tl_error *err)
{
    *out = tl_alloc((strlen(list) + 1) * sizeof **out);
    if (*out == NULL)
        return tl_nomem(err, "options");
    *n = 0;
    for (tl_bytes_view name; tl_list_next(&list, &name);) {
        int32_t at = 0;
        while (at < row->n_fields && (strlen(row->fields[at].name) != name.len || memcmp(row->fields[at].name, name.data, name.len) != 0))
            at++;
        if (at == row->n_fields)
            return tl_error_set(err, TL_E_INVALID, "option '%s': no column '%.*s' in the table", key, (int)name.len, (const char *)name.data);
        (*out)[(*n)++] = at;
    }
    return *n > 0 ? TL_OK : tl_error_set(err, TL_E_INVALID, "option '%s' names no column", key);
}

static tl_status parse_clustering(tl_lsm_config *config, const tl_options *options, tl_error *err)
{
    bool incremental = false;
    TL_TRY(opt_bool(options, "clustering.incremental", &incremental, err));
    config->clusters_buckets = incremental && config->n_keys == 0 && !config->unaware_bucket && !config->bucket_append_ordered && !config->deletion_vectors;
    TL_TRY(opt_bool(options, "pk-clustering-override", &config->pk_clustering, err));
    config->pk_clustering &= config->n_keys > 0;
    if (!config->pk_clustering)
        return TL_OK;
    const char *columns = tl_options_get(options, "clustering.columns");
    if (columns == NULL || !config->deletion_vectors || config->num_levels < 2)
        return tl_error_set(err, TL_E_INVALID, "'pk-clustering-override' needs 'clustering.columns', deletion vectors and two levels");
    config->cluster_order.kind = TL_ORDER_COLUMNS;
    TL_TRY(columns_of_list(config->schema->row_type, columns, "clustering.columns", &config->cluster_order.columns, &config->cluster_order.n_columns, err));
    return tl_lsm__order_check(config, &config->cluster_order, err);
}

/* ---- schema ---- */

static tl_status parse_schema(tl_lsm_config *config, tl_error *err)
{
    const tl_table_schema *schema = config->schema;
    const tl_type *row = schema->row_type;
    config->key_idx = tl_calloc((size_t)schema->n_primary_keys + 1, sizeof *config->key_idx);
    config->partition_idx = tl_calloc((size_t)row->n_fields + 1, sizeof *config->partition_idx);
    int32_t *partition_cols = tl_calloc((size_t)schema->n_partition_keys + 1, sizeof *partition_cols);
    tl_status status = TL_OK;
    if (config->key_idx == NULL || config->partition_idx == NULL || partition_cols == NULL) {
        status = tl_nomem(err, "table schema");
        goto out;
    }
    for (int32_t i = 0; i < schema->n_primary_keys && status == TL_OK; i++) {
        if (tl_type_field_index(row, schema->primary_keys[i]) < 0)
            status = tl_error_set(err, TL_E_CORRUPT, "primary key '%s' is no column", schema->primary_keys[i]);
    }
    if (status != TL_OK)
        goto out;
    config->n_keys = tl_table_schema_trimmed_keys(schema, config->key_idx);
    if (schema->n_primary_keys > 0 && config->n_keys == 0) {
        status = tl_error_set(err, TL_E_INVALID, "the primary key must have a column that is no partition column");
        goto out;
    }
    for (int32_t i = 0; i < row->n_fields; i++)
        config->partition_idx[i] = -1;
    for (int32_t p = 0; p < schema->n_partition_keys; p++) {
        int32_t col = tl_type_field_index(row, schema->partition_keys[p]);
        if (col < 0) {
            status = tl_error_set(err, TL_E_CORRUPT, "partition key '%s' is no column", schema->partition_keys[p]);
            goto out;
        }
        partition_cols[p] = col;
        config->partition_idx[col] = p;
    }
    status = tl_type_project(row, partition_cols, schema->n_partition_keys, &config->partition_type, err);
out:
    tl_free(partition_cols);
    return status;
}

/* SpecialFields#rowTypeWithRowTracking. */
static tl_status add_tracking_columns(tl_lsm_config *config, tl_error *err)
{
    const tl_type *row = config->schema->row_type, *number = NULL;
    int32_t n = row->n_fields;
    tl_field *fields = tl_alloc((size_t)(n + 2) * sizeof *fields);
    tl_status status = fields == NULL ? tl_nomem(err, "row tracking") : TL_OK;
    if (status == TL_OK)
        status = tl_type_create(TL_BIGINT, /* nullable= */ false, 0, 0, &number, err);
    for (int32_t i = 0; i < n && status == TL_OK; i++) {
        fields[i] = row->fields[i];
        if (strcmp(fields[i].name, TL_LSM__ROW_ID) == 0 || strcmp(fields[i].name, TL_LSM__SEQUENCE_NUMBER) == 0)
            status = tl_error_set(err, TL_E_INVALID, "Row tracking field name '%s' conflicts with existing field names.", fields[i].name);
    }
    if (status == TL_OK) {
        fields[n] = (tl_field){.name = (char *)TL_LSM__ROW_ID, .id = TL_LSM__ROW_ID_FIELD_ID, .type = number};
        fields[n + 1] = (tl_field){.name = (char *)TL_LSM__SEQUENCE_NUMBER, .id = TL_LSM__SEQUENCE_FIELD_ID, .type = number};
        status = tl_type_create_row(/* nullable= */ false, fields, n + 2, &config->read_type, err);
    }
    tl_type_unref(number);
    tl_free(fields);
    return status;
}

static tl_status parse_tracking(tl_lsm_config *config, const tl_options *options, tl_error *err)
{
    TL_TRY(opt_bool(options, "row-tracking.enabled", &config->row_tracking, err));
    TL_TRY(opt_bool(options, "data-evolution.enabled", &config->data_evolution, err));
    if (config->data_evolution && (!config->row_tracking || config->n_keys > 0))
        return tl_error_set(err, TL_E_INVALID, "Data evolution config must enabled with row-tracking.enabled");
    if (config->row_tracking)
        return add_tracking_columns(config, err);
    config->read_type = tl_type_ref(config->schema->row_type);
    return TL_OK;
}

/*
 * The reference's write buffer sorts by the sequence fields ascending, whatever `sequence.field.sort-order` says
 * (SortBufferWriteBuffer), so within one flush the largest wins; merges of files obey the option. Reproduced.
 */
static tl_status create_buffer_engine(tl_lsm_config *config, const int32_t *keys, tl_error *err)
{
    const tl_table_schema *schema = config->schema;
    if (tl_options_get(&schema->options, "sequence.field.sort-order") == NULL) {
        config->buffer_engine = tl_merge_engine_ref(config->engine);
        return TL_OK;
    }
    tl_options options = {0};
    tl_status status = tl_options_dup(&schema->options, &options);
    if (status != TL_OK)
        status = tl_nomem(err, "options");
    else
        (void)tl_options_remove(&options, "sequence.field.sort-order");
    if (status == TL_OK)
        status = tl_merge_engine_create(schema->row_type, keys, schema->n_primary_keys, &options, &config->buffer_engine, err);
    tl_options_deinit(&options);
    return status;
}

/* The engine is told the whole primary key, partition columns included: they are no columns to aggregate either. */
static tl_status create_engine(tl_lsm_config *config, tl_error *err)
{
    const tl_table_schema *schema = config->schema;
    int32_t *keys = tl_alloc((size_t)schema->n_primary_keys * sizeof(*keys));
    if (keys == NULL)
        return tl_nomem(err, "primary key");
    for (int32_t i = 0; i < schema->n_primary_keys; i++)
        keys[i] = tl_type_field_index(schema->row_type, schema->primary_keys[i]);
    tl_status status =
        tl_merge_engine_create(schema->row_type, keys, schema->n_primary_keys, &schema->options, &config->engine, err);
    if (status == TL_OK)
        status = create_buffer_engine(config, keys, err);
    tl_free(keys);
    TL_TRY(status);
    const int32_t *columns = NULL;
    bool descending = false;
    config->has_sequence_field = tl_merge_sequence_fields(config->engine, &columns, &descending) > 0;
    return TL_OK;
}

/* A format that is not there is told at once, where it is known to be needed; files of others are met when they are opened. */
static tl_status check_formats(tl_lsm_config *config, tl_error *err)
{
    int kinds = config->n_keys > 0 ? 2 : 1; /* of files: data, and changelogs of what has keys */
    for (int changelog = 0; changelog < kinds; changelog++) {
        const tl_lsm__file_options *options = NULL;
        tl_error reason = {TL_OK, 0, ""};
        tl_status status = tl_lsm__file_options_of(config, 0, changelog != 0, &options, &reason);
        if (status == TL_E_UNSUPPORTED && config->write_unsupported == NULL) {
            config->write_unsupported =
                tl_strf("the format of its %s files (%s)", changelog ? "changelog" : "data", reason.message);
            if (config->write_unsupported == NULL)
                return tl_nomem(err, "options");
        } else if (status != TL_OK && status != TL_E_UNSUPPORTED) {
            return tl_error_set(err, status, "%s", reason.message);
        }
    }
    return TL_OK;
}

static tl_status parse_all(tl_lsm_config *config, tl_error *err)
{
    const tl_options *options = &config->schema->options;
    TL_TRY(refuse_types(config->schema->row_type, err));
    TL_TRY(parse_schema(config, err));
    const char *feature = write_feature(options);
    if (feature != NULL && (config->write_unsupported = tl_strdup(feature)) == NULL)
        return tl_nomem(err, "options");
    TL_TRY(parse_files(config, options, err));
    TL_TRY(tl_lsm__external_create(options, &config->external, err));
    TL_TRY(parse_buffer(config, options, err));
    TL_TRY(parse_spill_codec(config, options, err));
    TL_TRY(parse_compaction(config, options, err));
    TL_TRY(parse_vectors(config, options, err));
    TL_TRY(parse_file_indexes(config, options, err));
    TL_TRY(parse_changelog(config, options, err));
    TL_TRY(parse_stats(config, options, err));
    TL_TRY(parse_tracking(config, options, err));
    TL_TRY(parse_expiry(config, options, err));
    TL_TRY(parse_clustering(config, options, err));
    TL_TRY(parse_broken_files(config, options, err));
    if (config->n_keys > 0)
        TL_TRY(create_engine(config, err));
    TL_TRY(tl_lsm__layout_create(config, err));
    return check_formats(config, err);
}

tl_status tl_lsm_config_create(tl_fs *fs, const tl_paths *paths, const tl_table_schema *schema, tl_lsm_config **out,
                               tl_error *err)
{
    tl_lsm_config *config = tl_calloc(1, sizeof *config);
    if (config == NULL)
        return tl_nomem(err, "table options");
    config->refs = 1;
    config->fs = tl_fs_ref(fs);
    config->schema = tl_table_schema_ref(schema);
    config->clock = tl_clock_system();
    config->paths.table = tl_strdup(paths->table);
    config->paths.branch = paths->branch == NULL ? NULL : tl_strdup(paths->branch);
    tl_status status = config->paths.table == NULL || (paths->branch != NULL && config->paths.branch == NULL)
                           ? tl_nomem(err, "table options")
                           : parse_all(config, err);
    if (status != TL_OK) {
        tl_lsm_config_unref(config);
        return status;
    }
    *out = config;
    return TL_OK;
}

tl_lsm_config *tl_lsm_config_ref(tl_lsm_config *config)
{
    __atomic_add_fetch(&config->refs, 1, __ATOMIC_RELAXED);
    return config;
}

void tl_lsm_config_unref(tl_lsm_config *config)
{
    if (config == NULL || __atomic_sub_fetch(&config->refs, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    if (config->layout != NULL)
        tl_lsm__layout_free(config->layout, tl_lsm__n_columns(config));
    tl_lsm__blobs_free(config->blobs);
    tl_merge_engine_unref(config->engine);
    tl_merge_engine_unref(config->buffer_engine);
    tl_type_unref(config->partition_type);
    tl_type_unref(config->read_type);
    tl_fs_unref(config->fs);
    if (config->spill_fs != NULL)
        tl_fs_unref(config->spill_fs);
    tl_table_schema_unref(config->schema);
    tl_free((char *)config->paths.table);
    tl_free((char *)config->paths.branch);
    tl_free(config->key_idx);
    tl_free(config->partition_idx);
    tl_free(config->write_unsupported);
    tl_free(config->anchors);
    tl_free(config->row_deduplicate_ignored);
    tl_free(config->compression);
    tl_free(config->data_prefix);
    tl_free(config->changelog_prefix);
    tl_free(config->data_dir);
    tl_free(config->vector_format);
    tl_free(config->partition_default_name);
    tl_lsm__external_free(config->external);
    tl_free(config->spill_dir);
    tl_free(config->cluster_order.columns);
    tl_free(config);
}
