/*
 * Rolling writer of data and changelog files, and what their manifest entries say (format reference §5, §8).
 * Java: RollingFileWriterImpl, KeyValueDataFileWriter, RowDataFileWriter.
 *
 * The files made stay with the writer until tl_lsm__writer_finish() hands them over; until then an error or a free removes
 * them, so that nothing is left of a write that failed.
 */
#include "lsm/lsm_private.h"

#include <time.h>

#include "types/binary_row.h"

#define ROLL_CHECK_ROWS 1000 /* RollingFileWriter#CHECK_ROLLING_RECORD_CNT */

struct tl_lsm__writer {
    tl_lsm__writer_spec spec; /* bucket: ref held */
    const tl_lsm__file_options *options;
    const tl_file_index_plan *index_plan; /* NULL: no column is indexed */
    tl_file_writer *open;                 /* NULL: no open file */
    char *name;                           /* of the open file */
    char *external_path;                  /* of the open file if it lies outside the table's folder */
    tl_file_index_writer *index;          /* of the open file; NULL: none */
    int64_t rows;         /* over all files, for the rhythm of the checks */
    int64_t file_rows;
    int64_t min_seq;
    int64_t max_seq;
    int64_t delete_rows;
    tl_buf min_key;
    tl_buf max_key;
    tl_lsm__kept *kept; /* rows of the open file; NULL: they are not kept */
    tl_file_list closed;
    tl_lsm__writer **sides;
    size_t n_sides;
};

static const tl_lsm_config *config_of(const tl_lsm__writer *writer)
{
    return writer->spec.bucket->config;
}

tl_status tl_lsm__writer_create(const tl_lsm__writer_spec *spec, tl_lsm__writer **out, tl_error *err)
{
    tl_lsm__writer *writer = tl_calloc(1, sizeof *writer);
    if (writer == NULL)
        return tl_nomem(err, "file writer");
    writer->spec = *spec;
    writer->spec.bucket = tl_lsm__bucket_ref(spec->bucket);
    tl_status status = TL_OK;
    if (spec->shape != NULL)
        writer->options = &spec->shape->options;
    else
        status = tl_lsm__file_options_of(spec->bucket->config, spec->level, spec->changelog, &writer->options, err);
    bool whole_rows = spec->shape == NULL || spec->shape->n >= tl_lsm__n_columns(spec->bucket->config);
    if (status == TL_OK && whole_rows)
        status = tl_lsm__index_plan_of(spec->bucket->config, &writer->index_plan, err);
    if (status != TL_OK) {
        tl_lsm__writer_free(writer);
        return status;
    }
    *out = writer;
    return TL_OK;
}

tl_status tl_lsm__writer_add_side(tl_lsm__writer *writer, const tl_lsm__writer_spec *spec, tl_error *err)
{
    tl_lsm__writer **sides = tl_realloc(writer->sides, (writer->n_sides + 1) * sizeof(*sides));
    if (sides == NULL)
        return tl_nomem(err, "file writer");
    writer->sides = sides;
    TL_TRY(tl_lsm__writer_create(spec, &sides[writer->n_sides], err));
    writer->n_sides++;
    return TL_OK;
}

static void drop_open_file(tl_lsm__writer *writer)
{
    if (writer->open != NULL)
        writer->open->ops->free(writer->open);
    writer->open = NULL;
    tl_lsm__kept_unref(TL_STEAL(writer->kept));
    tl_free(writer->name);
    writer->name = NULL;
    tl_free(writer->external_path);
    writer->external_path = NULL;
    tl_file_index_writer_free(writer->index);
    writer->index = NULL;
}

void tl_lsm__writer_free(tl_lsm__writer *writer)
{
    if (writer == NULL)
        return;
    for (size_t i = 0; i < writer->n_sides; i++)
        tl_lsm__writer_free(writer->sides[i]);
    tl_free(writer->sides);
    drop_open_file(writer);
    for (size_t i = 0; i < writer->closed.n; i++)
        tl_lsm__bucket_remove(writer->spec.bucket, writer->closed.items[i]);
    tl_file_list_deinit(&writer->closed);
    tl_buf_deinit(&writer->min_key);
    tl_buf_deinit(&writer->max_key);
    tl_lsm__bucket_unref(writer->spec.bucket);
    tl_free(writer);
}

int64_t tl_lsm__writer_open_bytes(const tl_lsm__writer *writer)
{
    return writer->open == NULL ? 0 : writer->open->ops->bytes_estimate(writer->open);
}

int64_t tl_lsm__writer_memory_bytes(const tl_lsm__writer *writer)
{
    if (writer->open == NULL)
        return 0;
    const tl_file_writer_ops *ops = writer->open->ops;
    int64_t bytes = ops->memory_bytes == NULL ? ops->bytes_estimate(writer->open) : ops->memory_bytes(writer->open);
    bytes += writer->index == NULL ? 0 : tl_file_index_writer_bytes(writer->index);
    for (size_t i = 0; i < writer->n_sides; i++)
        bytes += tl_lsm__writer_memory_bytes(writer->sides[i]);
    return bytes;
}

/* ---- opening ---- */

/* Name and place of the next file; tl_free. NULL if out of memory. */
static char *next_path(tl_lsm__writer *writer)
{
    const tl_lsm_config *config = config_of(writer);
    writer->name = tl_lsm__names_next(writer->spec.names, config, writer->options);
    if (writer->name == NULL || config->external == NULL)
        return writer->name == NULL ? NULL : tl_path_join(writer->spec.bucket->dir, writer->name);
    writer->external_path = tl_lsm__external_next(writer->spec.bucket, writer->name);
    return writer->external_path == NULL ? NULL : tl_path_of_uri(writer->external_path);
}

/*
 * Bytes of values up to which a file is not compressed as well as it could be, as the next compaction takes it: half of a small commit's time is
 * the entropy coder. Such files have at most about 32 KiB, up to which they gather (pick.c). A level that somebody has set is kept to.
 */
static int64_t light_bytes(const tl_lsm__writer *writer)
{
    const tl_lsm_config *config = config_of(writer);
    bool is_rewritten = config->n_keys > 0 && !config->write_only && writer->spec.level == 0 && !writer->spec.changelog;
    return is_rewritten && config->zstd_level_is_default ? 64 << 10 : 0;
}

static tl_status open_file(tl_lsm__writer *writer, tl_error *err)
{
    const tl_lsm_config *config = config_of(writer);
    if (writer->index_plan != NULL)
        TL_TRY(tl_file_index_writer_create(writer->index_plan, &writer->index, err));
    char *path = next_path(writer);
    tl_write_spec spec = {
        .row_type = writer->spec.shape == NULL ? config->layout->file_type : writer->spec.shape->file_type,
        .field_ids = writer->spec.shape == NULL ? config->layout->field_ids : writer->spec.shape->field_ids,
        .compression = writer->options->compression,
        .compression_level = config->zstd_level,
        .light_bytes = light_bytes(writer),
        .options = &config->schema->options,
        .with_stats = writer->options->any_stats,
    };
    tl_status status = path == NULL ? tl_nomem(err, "file name")
                                    : writer->options->format->create(config->fs, path, &spec, &writer->open, err);
    if (status != TL_OK && path != NULL)
        (void)tl_fs_remove(config->fs, path,
                           /* err= */ NULL); /* it may have got as far as making the file; the name is ours alone */
    tl_free(path);
    if (status != TL_OK) {
        drop_open_file(writer);
        return status;
    }
    if (writer->spec.bucket->recent != NULL && !writer->spec.changelog && !writer->options->format->is_lossy)
        writer->kept = tl_lsm__kept_create(); /* out of memory: it will be read again */
    writer->file_rows = writer->delete_rows = 0;
    writer->min_seq = INT64_MAX;
    writer->max_seq = INT64_MIN;
    return TL_OK;
}

/* ---- writing ---- */

static tl_status key_row(const tl_lsm__writer *writer, const tl_batch *batch, int64_t row, tl_buf *out, tl_error *err)
{
    const tl_lsm_config *config = config_of(writer);
    bool clustered = config->pk_clustering && writer->spec.level > 0 && !writer->spec.changelog;
    int32_t n = clustered ? config->cluster_order.n_columns : config->n_keys;
    const int32_t *idx = clustered ? config->cluster_order.columns : config->key_idx;
    const tl_column **cols = tl_alloc((size_t)(n + 1) * sizeof(*cols));
    if (cols == NULL)
        return tl_nomem(err, "key of a data file");
    for (int32_t k = 0; k < n; k++)
        cols[k] = batch->cols[idx[k]];
    out->len = 0;
    tl_status status = tl_binary_row_append(out, cols, n, row, TL_KIND_INSERT, /* with_arity= */ true);
    tl_free(cols);
    return status == TL_OK ? TL_OK : tl_nomem(err, "key of a data file");
}

static tl_status note_rows(tl_lsm__writer *writer, const tl_batch *batch, tl_error *err)
{
    int64_t n = batch->n_rows;
    if (config_of(writer)->n_keys == 0) {
        writer->file_rows += n;
        return TL_OK;
    }
    if (writer->file_rows == 0)
        TL_TRY(key_row(writer, batch, 0, &writer->min_key, err));
    TL_TRY(key_row(writer, batch, n - 1, &writer->max_key, err));
    int64_t min = writer->min_seq, max = writer->max_seq, deletes = 0;
    for (int64_t i = 0; i < n; i++) {
        min = TL_MIN(min, batch->seq[i]);
        max = TL_MAX(max, batch->seq[i]);
    }
    for (int64_t i = 0; batch->row_kind != NULL && i < n; i++)
        deletes += tl_kind_is_retract(batch->row_kind[i]);
    writer->min_seq = min;
    writer->max_seq = max;
    writer->delete_rows += deletes;
    writer->file_rows += n;
    return TL_OK;
}

static tl_status system_column(const tl_type *type, const void *values, int64_t n, tl_column **out, tl_error *err)
{
    TL_TRY(tl_column_alloc(type, n, out, err));
    if (values != NULL)
        memcpy((*out)->values, values, (size_t)n * (size_t)tl_phys_width((*out)->phys));
    return TL_OK;
}

/* Those columns of the batch that the file has. */
static tl_status shaped_batch(const tl_lsm__shape *shape, const tl_batch *batch, tl_batch **out, tl_error *err)
{
    TL_CLEANUP(tl_batch_freep) tl_batch *file = NULL;
    TL_TRY(tl_batch_create(shape->file_type, batch->n_rows, &file, err));
    for (int32_t i = 0; i < shape->n; i++)
        file->cols[i] = tl_column_ref(batch->cols[shape->columns[i]]);
    *out = TL_STEAL(file);
    return TL_OK;
}

/* The batch with the file's system columns before the table's. */
static tl_status file_batch(const tl_lsm__writer *writer, const tl_batch *batch, tl_batch **out, tl_error *err)
{
    if (writer->spec.shape != NULL)
        return shaped_batch(writer->spec.shape, batch, out, err);
    const tl_lsm_config *config = config_of(writer);
    const tl_lsm__layout *layout = config->layout;
    TL_CLEANUP(tl_batch_freep) tl_batch *file = NULL;
    TL_TRY(tl_batch_create(layout->file_type, batch->n_rows, &file, err));
    for (int32_t k = 0; k < layout->n_key_cols; k++)
        file->cols[k] = tl_column_ref(batch->cols[config->key_idx[k]]);
    if (layout->seq_col >= 0) {
        const tl_field *fields = layout->file_type->fields;
        TL_TRY(system_column(fields[layout->seq_col].type, batch->seq, batch->n_rows, &file->cols[layout->seq_col], err));
        TL_TRY(
            system_column(fields[layout->kind_col].type, batch->row_kind, batch->n_rows, &file->cols[layout->kind_col], err));
    }
    for (int32_t i = 0; i < tl_lsm__n_columns(config); i++)
        file->cols[layout->first_value + i] = tl_column_ref(batch->cols[i]);
    *out = TL_STEAL(file);
    return TL_OK;
}

static tl_status write_piece(tl_lsm__writer *writer, const tl_batch *batch, tl_error *err)
{
    TL_CLEANUP(tl_batch_freep) tl_batch *file = NULL;
    if (writer->open == NULL)
        TL_TRY(open_file(writer, err));
    TL_TRY(file_batch(writer, batch, &file, err));
    TL_TRY(tl_error_wrap(err, writer->open->ops->write(writer->open, file, err), "data file '%s'", writer->name));
    if (writer->index != NULL)
        TL_TRY(tl_error_wrap(err, tl_file_index_writer_add(writer->index, batch->cols, batch->n_rows, err), "data file '%s'", writer->name));
    TL_TRY(note_rows(writer, batch, err));
    if (writer->kept != NULL && !tl_lsm__kept_add(writer->kept, config_of(writer), batch))
        tl_lsm__kept_unref(TL_STEAL(writer->kept));
    writer->rows += batch->n_rows;
    for (size_t i = 0; i < writer->n_sides; i++)
        TL_TRY(tl_lsm__writer_write(writer->sides[i], batch, err));
    return TL_OK;
}

static int64_t target_of(const tl_lsm__writer *writer)
{
    return writer->spec.target_bytes > 0 ? writer->spec.target_bytes : config_of(writer)->target_file_bytes;
}

/* Rows until a blob file has reached its target: there the reference looks after each row. */
static int64_t rows_until_full(const tl_lsm__writer *writer, const tl_batch *batch, int64_t from)
{
    const tl_column *col = batch->cols[writer->spec.shape->columns[0]];
    int64_t room = target_of(writer) - tl_lsm__writer_open_bytes(writer), i = from;
    while (i < batch->n_rows && room > 0) {
        if (!tl_col_is_null(col, i))
            room -= tl_blob_record_bytes((int64_t)tl_col_bytes(col, i).len);
        i++;
    }
    return TL_MAX(i - from, 1);
}

/* Rows of the batch from `from` on that can go into the open file before its size must be looked at. */
static int64_t rows_until_check(const tl_lsm__writer *writer, const tl_batch *batch, int64_t from, int64_t row_bytes)
{
    if (writer->options->format == &tl_format_blob)
        return rows_until_full(writer, batch, from);
    int64_t left = batch->n_rows - from;
    int64_t room = target_of(writer) - tl_lsm__writer_open_bytes(writer);
    /* Encoded rows are hardly larger than rows in memory: far from the target no check can fire. */
    if (room > 0 && left < room / (2 * row_bytes))
        return left;
    return TL_MIN(left, ROLL_CHECK_ROWS - writer->rows % ROLL_CHECK_ROWS);
}

tl_status tl_lsm__writer_write(tl_lsm__writer *writer, const tl_batch *batch, tl_error *err)
{
    if (batch->n_rows == 0)
        return TL_OK;
    int64_t row_bytes = tl_batch_bytes(batch) / batch->n_rows + 16;
    for (int64_t from = 0; from < batch->n_rows;) {
        int64_t n = rows_until_check(writer, batch, from, row_bytes);
        if (n == batch->n_rows) {
            TL_TRY(write_piece(writer, batch, err));
        } else {
            TL_CLEANUP(tl_batch_freep) tl_batch *piece = NULL;
            TL_TRY(tl_batch_slice(batch, from, n, &piece, err));
            TL_TRY(write_piece(writer, piece, err));
        }
        from += n;
        if (tl_lsm__writer_open_bytes(writer) >= target_of(writer))
            TL_TRY(tl_lsm__writer_roll(writer, err));
    }
    return TL_OK;
}

/* ---- closing: the manifest entry ---- */

int64_t tl_lsm__local_wall_clock_ms(const tl_clock *clock)
{
    int64_t now = tl_clock_now_ms(clock);
    time_t seconds = (time_t)(now / 1000);
    struct tm local;
    return localtime_r(&seconds, &local) == NULL ? now : now + (int64_t)local.tm_gmtoff * 1000;
}

typedef struct stats_input {
    const tl_type **types;
    const char **names;
    tl_column_stats *stats; /* shallow copies of the result's */
    tl_stats_spec *specs;
} stats_input;

static void stats_input_deinit(stats_input *in)
{
    tl_free(in->types);
    tl_free(in->names);
    tl_free(in->stats);
    tl_free(in->specs);
}

static tl_status stats_input_init(stats_input *in, int32_t n, tl_error *err)
{
    size_t count = (size_t)n + 1;
    in->types = tl_calloc(count, sizeof(*in->types));
    in->names = tl_calloc(count, sizeof(*in->names));
    in->stats = tl_calloc(count, sizeof(*in->stats));
    in->specs = tl_calloc(count, sizeof(*in->specs));
    return in->types == NULL || in->names == NULL || in->stats == NULL || in->specs == NULL ? tl_nomem(err, "file statistics")
                                                                                            : TL_OK;
}

static void stats_input_set(stats_input *in, int32_t i, const tl_field *field, const tl_write_result *result, int32_t file_col,
                            tl_stats_spec spec)
{
    in->types[i] = field->type;
    in->names[i] = field->name;
    in->specs[i] = spec;
    in->stats[i] =
        result->stats != NULL && file_col < result->n_stats ? result->stats[file_col] : (tl_column_stats){NULL, NULL, -1};
}

/* Key statistics come from `_KEY_*`, in thin mode from the key columns' own (KeyValueThinDataFileWriterImpl). */
static tl_status fill_key_stats(const tl_lsm__writer *writer, const tl_write_result *result, tl_data_file *file, tl_error *err)
{
    const tl_lsm_config *config = config_of(writer);
    const tl_lsm__layout *layout = config->layout;
    const tl_stats_spec *specs = writer->options->stats;
    stats_input in = {0};
    char **cols = NULL;
    int32_t n_cols = -1;
    tl_status status = stats_input_init(&in, config->n_keys, err);
    for (int32_t k = 0; k < config->n_keys && status == TL_OK; k++) {
        int32_t column = config->key_idx[k];
        int32_t file_col = layout->n_key_cols == 0 ? layout->first_value + column : k;
        stats_input_set(&in, k, &config->schema->row_type->fields[column], result, file_col, specs[file_col]);
    }
    if (status == TL_OK)
        status = tl_simple_stats_build(in.types, in.names, in.stats, in.specs, config->n_keys, /* dense= */ false,
                                       &file->key_stats, &cols, &n_cols, err);
    stats_input_deinit(&in);
    return status;
}

tl_status tl_lsm__value_stats(const tl_lsm_config *config, const tl_lsm__shape *shape, const tl_stats_spec *specs, const tl_write_result *result,
                              tl_data_file *file, tl_error *err)
{
    const tl_type *row = shape == NULL ? config->schema->row_type : shape->file_type;
    int32_t n = row->n_fields, first = shape == NULL ? config->layout->first_value : 0;
    stats_input in = {0};
    tl_status status = stats_input_init(&in, n, err);
    for (int32_t i = 0; i < n && status == TL_OK; i++)
        stats_input_set(&in, i, &row->fields[i], result, first + i, specs[first + i]);
    if (status == TL_OK)
        status = tl_simple_stats_build(in.types, in.names, in.stats, in.specs, n, config->stats_dense, &file->value_stats,
                                       &file->value_stats_cols, &file->n_value_stats_cols, err);
    stats_input_deinit(&in);
    return status;
}

tl_status tl_lsm__no_keys(tl_data_file *file, int64_t first_seq, int64_t rows, tl_error *err)
{
    tl_buf empty = {0};
    if (tl_binary_row_append(&empty, NULL, 0, 0, TL_KIND_INSERT, /* with_arity= */ true) != TL_OK)
        return tl_nomem(err, "key of a data file");
    file->min_key = tl_buf_steal(&empty);
    if (tl_bytes_dup(tl_bytes_view_of(file->min_key), &file->max_key) != TL_OK)
        return tl_nomem(err, "key of a data file");
    file->min_seq = first_seq;
    file->max_seq = first_seq + rows - 1;
    file->delete_rows = 0;
    return TL_OK;
}

static tl_status fill_keys(tl_lsm__writer *writer, tl_data_file *file, tl_error *err)
{
    if (config_of(writer)->n_keys == 0)
        return tl_lsm__no_keys(file, writer->spec.next_seq == NULL ? 0 : *writer->spec.next_seq, writer->file_rows, err);
    file->min_key = tl_buf_steal(&writer->min_key);
    file->max_key = tl_buf_steal(&writer->max_key);
    file->min_seq = writer->min_seq;
    file->max_seq = writer->max_seq;
    file->delete_rows = writer->delete_rows;
    return TL_OK;
}

static tl_status fill_write_cols(const tl_lsm__shape *shape, tl_data_file *file, tl_error *err)
{
    if (shape == NULL || shape->write_cols == NULL)
        return TL_OK;
    if ((file->write_cols = tl_calloc((size_t)shape->n + 1, sizeof(*file->write_cols))) == NULL)
        return tl_nomem(err, "data file");
    for (file->n_write_cols = 0; file->n_write_cols < shape->n; file->n_write_cols++) {
        char *name = tl_strdup(shape->write_cols[file->n_write_cols]);
        if (name == NULL)
            return tl_nomem(err, "data file");
        file->write_cols[file->n_write_cols] = name;
    }
    return TL_OK;
}

static tl_status describe(tl_lsm__writer *writer, const tl_write_result *result, tl_data_file *file, tl_error *err)
{
    const tl_lsm_config *config = config_of(writer);
    file->bytes = result->bytes;
    file->rows = result->rows;
    file->schema_id = config->schema->id;
    file->level = writer->spec.level;
    file->creation_time_ms = tl_lsm__local_wall_clock_ms(config->clock);
    file->file_source = writer->spec.file_source;
    TL_TRY(fill_keys(writer, file, err));
    TL_TRY(fill_write_cols(writer->spec.shape, file, err));
    TL_TRY(fill_key_stats(writer, result, file, err));
    return tl_lsm__value_stats(config, writer->spec.shape, writer->options->stats, result, file, err);
}

tl_status tl_lsm__writer_roll(tl_lsm__writer *writer, tl_error *err)
{
    if (writer->open == NULL)
        return TL_OK;
    tl_write_result result = {0};
    tl_data_file *file = tl_data_file_create();
    tl_status status = file == NULL ? tl_nomem(err, "data file") : writer->open->ops->finish(writer->open, &result, err);
    status = tl_error_wrap(err, status, "data file '%s'", writer->name);
    bool written = status == TL_OK;
    if (written) {
        writer->open->ops->free(writer->open);
        writer->open = NULL;
        file->name = TL_STEAL(writer->name);
        file->external_path = TL_STEAL(writer->external_path);
        status = describe(writer, &result, file, err);
        if (status == TL_OK && writer->index != NULL)
            status = tl_error_wrap(err, tl_lsm__index_attach(writer->spec.bucket, writer->index, file, err), "data file '%s'", file->name);
        tl_file_index_writer_free(writer->index);
        writer->index = NULL;
        if (status == TL_OK)
            status = tl_file_list_add(&writer->closed, file, err);
        if (status == TL_OK && writer->kept != NULL)
            tl_lsm__recent_add(writer->spec.bucket->recent, file->name, TL_STEAL(writer->kept));
        if (status != TL_OK)
            tl_lsm__bucket_remove(writer->spec.bucket, file);
        else if (writer->spec.next_seq != NULL)
            *writer->spec.next_seq += writer->file_rows;
    }
    tl_write_result_deinit(&result);
    tl_data_file_unref(file);
    for (size_t i = 0; i < writer->n_sides && status == TL_OK; i++)
        status = tl_lsm__writer_finish(writer->sides[i], &writer->closed, err);
    return status;
}

tl_status tl_lsm__writer_finish(tl_lsm__writer *writer, tl_file_list *out, tl_error *err)
{
    TL_TRY(tl_lsm__writer_roll(writer, err));
    TL_TRY(tl_lsm__list_add_all(out, &writer->closed, err));
    tl_file_list_deinit(&writer->closed);
    return TL_OK;
}
