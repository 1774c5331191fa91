/*
 * Rows whose time is over, `record-level.expire-time` after what `record-level.time-field` says (Java: RecordLevelExpire).
 *
 * Compactions leave such rows out wherever they read files; reads of the table show them until then. A file that holds some, as the
 * least time in its statistics tells, is rewritten where it would only have moved up, and by a full compaction where the top level is
 * all there is. Times count in seconds.
 */
#include "lsm/lsm_private.h"
#include "types/cast.h"

tl_status tl_lsm__expiry_check(tl_lsm_config *config, const char *field, tl_error *err)
{
    config->time_column = -1;
    if (config->record_expire_ms < 0 || config->n_keys == 0 || field == NULL) /* without a field writers are refused: config.c */
        return TL_OK;
    int32_t i = tl_type_field_index(config->schema->row_type, field);
    if (i < 0)
        return tl_error_set(err, TL_E_INVALID, "Can not find time field %s for record level expire.", field);
    tl_type_kind kind = config->schema->row_type->fields[i].type->kind;
    if (kind != TL_INT && kind != TL_BIGINT && kind != TL_TIMESTAMP && kind != TL_TIMESTAMP_LTZ)
        return tl_error_set(err, TL_E_INVALID, "record level time field %s: its type should be one of INT, BIGINT, or TIMESTAMP", field);
    config->time_column = i;
    return TL_OK;
}

#define LEAST_MILLIS INT64_C(1000000000000) /* a BIGINT from here on counts milliseconds, below seconds */

/* Division of a negative time rounds towards zero, as the reference's does; that of microseconds down. */
static int64_t seconds_of(const tl_column *col, int64_t i)
{
    if (col->phys == TL_PHYS_TS96)
        return ((const tl_ts96 *)col->values)[i].millis / 1000;
    int64_t v = tl_col_integer(col, i);
    if (col->type->kind == TL_INT)
        return v;
    if (col->type->kind == TL_BIGINT)
        return v >= LEAST_MILLIS ? v / 1000 : v;
    int64_t millis = col->type->precision <= 3 ? v : v / 1000 - (v % 1000 < 0);
    return millis / 1000;
}

int64_t tl_lsm__expiry_cutoff(const tl_lsm_config *config)
{
    return tl_clock_now_ms(config->clock) / 1000 - config->record_expire_ms / 1000;
}

bool tl_lsm__is_expired(const tl_column *times, int64_t i, int64_t cutoff)
{
    return !tl_col_is_null(times, i) && seconds_of(times, i) < cutoff;
}

tl_status tl_lsm__drop_expired(const tl_lsm__scan *scan, tl_batch *batch, tl_batch **out, tl_error *err)
{
    TL_CLEANUP(tl_batch_freep) tl_batch *owned = batch;
    const tl_column *times = batch->cols[scan->bucket->config->time_column];
    TL_CLEANUP(tl_freep) uint32_t *sel = tl_alloc((size_t)(batch->n_rows + 1) * sizeof(*sel));
    if (sel == NULL)
        return tl_nomem(err, "record-level expiry");
    int64_t kept = 0;
    for (int64_t i = 0; i < batch->n_rows; i++) {
        sel[kept] = (uint32_t)i;
        kept += !tl_lsm__is_expired(times, i, scan->expiry_cutoff);
    }
    if (kept == batch->n_rows) {
        *out = TL_STEAL(owned);
        return TL_OK;
    }
    TL_TRY(tl_batch_gather(batch, sel, kept, out, err));
    (*out)->level = batch->level;
    return TL_OK;
}

/* The least time in a file of these columns; *out (owned by the caller) is NULL where nothing is known. */
static tl_status least_time(const tl_lsm_config *config, const tl_data_file *file, const tl_type *row, tl_column **out, tl_error *err)
{
    const tl_field *mine = &config->schema->row_type->fields[config->time_column];
    int32_t at = tl_type_field_index_by_id(row, mine->id);
    tl_bounds bounds = {0};
    if (at < 0)
        return TL_OK;
    TL_TRY(tl_simple_stats_bounds(&file->value_stats, row, file->value_stats_cols, file->n_value_stats_cols, &bounds, err));
    const tl_col_bounds *b = &bounds.cols[at];
    tl_column *least = NULL;
    tl_status status = TL_OK;
    if (b->min != NULL && !tl_col_is_null(b->min, b->min_row))
        status = tl_column_slice(b->min, b->min_row, 1, &least, err);
    if (status == TL_OK && least != NULL && tl_cast_exists(least->type, mine->type))
        status = tl_cast_stored(least, mine->type, out, err);
    tl_column_unref(least);
    tl_bounds_deinit(&bounds);
    return status;
}

tl_status tl_lsm__file_has_expired(tl_lsm_config *config, const tl_data_file *file, bool *out, tl_error *err)
{
    *out = false;
    if (config->time_column < 0)
        return TL_OK;
    const tl_lsm__file_schema *schema = NULL;
    tl_column *least = NULL;
    tl_status status = tl_lsm__file_schema_of(config, file, &schema, err);
    if (status == TL_OK) {
        const tl_type *row = schema->schema == NULL ? config->schema->row_type : schema->schema->row_type;
        status = least_time(config, file, row, &least, err);
    }
    if (status == TL_OK && least != NULL)
        *out = tl_lsm__is_expired(least, 0, tl_lsm__expiry_cutoff(config));
    tl_column_unref(least);
    return tl_error_wrap(err, status, "data file '%s'", file->name);
}
