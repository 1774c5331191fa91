/*
 * System tables (`t$name`): which there are, and reading those that show metadata. Source: format reference §19; Java:
 * org.apache.paimon.table.system. Rows of metadata are built as one batch, then filtered and projected like any other.
 */
#include "table/system_private.h"

#include <strings.h>

static const tl_system_table tables[] = {
    {"snapshots",
     "ROW<snapshot_id BIGINT NOT NULL, schema_id BIGINT NOT NULL, commit_user STRING NOT NULL, commit_identifier BIGINT NOT NULL, "
     "commit_kind STRING NOT NULL, commit_time TIMESTAMP(3) NOT NULL, base_manifest_list STRING NOT NULL, delta_manifest_list STRING NOT NULL, "
     "changelog_manifest_list STRING, total_record_count BIGINT, delta_record_count BIGINT, changelog_record_count BIGINT, watermark BIGINT, "
     "next_row_id BIGINT>",
     tl_system__snapshots},
    {"schemas",
     "ROW<schema_id BIGINT NOT NULL, fields STRING NOT NULL, partition_keys STRING NOT NULL, primary_keys STRING NOT NULL, "
     "options STRING NOT NULL, comment STRING, update_time TIMESTAMP(3) NOT NULL>",
     tl_system__schemas},
    {"options", "ROW<`key` STRING NOT NULL, `value` STRING NOT NULL>", tl_system__options},
    {"tags",
     "ROW<tag_name STRING NOT NULL, snapshot_id BIGINT NOT NULL, schema_id BIGINT NOT NULL, commit_time TIMESTAMP(3) NOT NULL, "
     "record_count BIGINT, create_time TIMESTAMP(3), time_retained STRING>",
     tl_system__tags},
    {"branches", "ROW<branch_name STRING NOT NULL, create_time TIMESTAMP(3) NOT NULL>", tl_system__branches},
    {"consumers", "ROW<consumer_id STRING NOT NULL, next_snapshot_id BIGINT NOT NULL>", tl_system__consumers},
    {"statistics",
     "ROW<snapshot_id BIGINT NOT NULL, schema_id BIGINT NOT NULL, mergedRecordCount BIGINT, mergedRecordSize BIGINT, colstat STRING>",
     tl_system__statistics},
    {"aggregation_fields",
     "ROW<field_name STRING NOT NULL, field_type STRING NOT NULL, function STRING, function_options STRING, comment STRING>",
     tl_system__aggregation_fields},
    {"manifests",
     "ROW<file_name STRING NOT NULL, file_size BIGINT NOT NULL, num_added_files BIGINT NOT NULL, num_deleted_files BIGINT NOT NULL, "
     "schema_id BIGINT NOT NULL, min_partition_stats STRING, max_partition_stats STRING, min_row_id BIGINT, max_row_id BIGINT>",
     tl_system__manifests},
    {"files",
     "ROW<partition STRING, bucket INT NOT NULL, file_path STRING NOT NULL, file_format STRING NOT NULL, schema_id BIGINT NOT NULL, "
     "level INT NOT NULL, record_count BIGINT NOT NULL, file_size_in_bytes BIGINT NOT NULL, min_key STRING, max_key STRING, "
     "null_value_counts STRING NOT NULL, min_value_stats STRING NOT NULL, max_value_stats STRING NOT NULL, min_sequence_number BIGINT, "
     "max_sequence_number BIGINT, creation_time TIMESTAMP(3), deleteRowCount BIGINT, file_source STRING, first_row_id BIGINT, "
     "write_cols ARRAY<STRING>>",
     tl_system__files},
    {"file_key_ranges",
     "ROW<partition STRING, bucket INT NOT NULL, file_path STRING NOT NULL, file_format STRING NOT NULL, schema_id BIGINT NOT NULL, "
     "level INT NOT NULL, record_count BIGINT NOT NULL, file_size_in_bytes BIGINT NOT NULL, min_key STRING, max_key STRING, "
     "first_row_id BIGINT>",
     tl_system__file_key_ranges},
    {"partitions",
     "ROW<partition STRING, record_count BIGINT NOT NULL, file_size_in_bytes BIGINT NOT NULL, file_count BIGINT NOT NULL, "
     "last_update_time TIMESTAMP(3), created_at TIMESTAMP(3), created_by STRING, updated_by STRING, options STRING>",
     tl_system__partitions},
    {"buckets",
     "ROW<partition STRING, bucket INT NOT NULL, record_count BIGINT NOT NULL, file_size_in_bytes BIGINT NOT NULL, "
     "file_count BIGINT NOT NULL, last_update_time TIMESTAMP(3)>",
     tl_system__buckets},
    {"table_indexes",
     "ROW<partition STRING, bucket INT NOT NULL, index_type STRING NOT NULL, file_name STRING NOT NULL, file_size BIGINT NOT NULL, "
     "row_count BIGINT NOT NULL, dv_ranges ARRAY<ROW<f0 STRING NOT NULL, f1 INT NOT NULL, f2 INT NOT NULL, _CARDINALITY BIGINT>>>",
     tl_system__table_indexes},
    {"audit_log", NULL, NULL},
    {"binlog", NULL, NULL},
    {"ro", NULL, NULL},
    {"row_tracking", NULL, NULL},
};

const tl_system_table *tl_system__find(const char *name)
{
    for (size_t i = 0; i < TL_ARRAY_LEN(tables); i++) {
        if (strcasecmp(tables[i].name, name) == 0)
            return &tables[i];
    }
    return NULL;
}

bool tl_system__is(const tl_table *table, const char *name)
{
    return table->system != NULL && strcmp(table->system->name, name) == 0;
}

/* ---- helpers of the rows ---- */

tl_status tl_system__str(tl_builder *col, const char *text)
{
    return text == NULL ? tl_builder_null(col) : tl_builder_bytes(col, text, strlen(text));
}

tl_status tl_system__long(tl_builder *col, int64_t v)
{
    return v == TL_ABSENT ? tl_builder_null(col) : tl_builder_int(col, v);
}

tl_status tl_system__time(tl_builder *col, int64_t local_ms)
{
    return local_ms == TL_ABSENT ? tl_builder_null(col) : tl_builder_timestamp(col, local_ms, 0);
}

tl_status tl_system__built(tl_status status, tl_error *err)
{
    return status == TL_OK ? TL_OK : tl_nomem(err, "system table");
}

tl_status tl_system__add_buf(tl_builder *col, tl_buf *buf, tl_status status)
{
    if (status == TL_OK)
        status = tl_builder_bytes(col, buf->data, buf->len);
    tl_buf_deinit(buf);
    return status;
}

tl_status tl_system__row_text(const tl_type *type, tl_bytes_view row, tl_buf *out, tl_error *err)
{
    TL_CLEANUP(tl_batch_freep) tl_batch *batch = NULL;
    TL_TRY(tl_binary_row_decode(row, type, /* with_arity= */ true, &batch, err));
    tl_status status = tl_buf_append_byte(out, '{');
    for (int32_t i = 0; status == TL_OK && i < batch->n_cols; i++) {
        if (i > 0)
            status = tl_buf_append_str(out, ", ");
        if (status == TL_OK)
            status = tl_col_is_null(batch->cols[i], 0) ? tl_buf_append_str(out, "null") : tl_text_append_cast(out, batch->cols[i], 0);
    }
    if (status == TL_OK)
        status = tl_buf_append_byte(out, '}');
    return status == TL_OK ? TL_OK : tl_nomem(err, "row text");
}

/* ---- reading ---- */

/* All rows of a metadata table as one batch. */
static tl_status build(tl_table *table, tl_batch **out, tl_error *err)
{
    const tl_type *type = table->row_type;
    TL_CLEANUP(tl_batch_freep) tl_batch *batch = NULL;
    tl_builder **cols = tl_calloc((size_t)type->n_fields, sizeof *cols);
    tl_status status = cols == NULL ? tl_nomem(err, "system table") : TL_OK;
    for (int32_t i = 0; status == TL_OK && i < type->n_fields; i++)
        status = tl_builder_create(type->fields[i].type, &cols[i], err);
    if (status == TL_OK)
        status = table->system->rows(table, cols, err);
    if (status == TL_OK)
        status = tl_batch_create(type, tl_builder_length(cols[0]), &batch, err);
    for (int32_t i = 0; status == TL_OK && i < type->n_fields; i++)
        status = tl_builder_finish(cols[i], &batch->cols[i], err);
    for (int32_t i = 0; cols != NULL && i < type->n_fields; i++)
        tl_builder_free(cols[i]);
    tl_free(cols);
    if (status == TL_OK)
        *out = TL_STEAL(batch);
    return status;
}

tl_status tl_system__select(const tl_scan_spec *spec, tl_batch *full, tl_batch **out, tl_error *err)
{
    TL_CLEANUP(tl_batch_freep) tl_batch *batch = full;
    if (spec->predicate != NULL && batch->n_rows > 0) {
        TL_CLEANUP(tl_freep) uint32_t *sel = tl_alloc((size_t)batch->n_rows * sizeof *sel);
        int64_t n = 0;
        tl_batch *passed = NULL;
        if (sel == NULL)
            return tl_nomem(err, "filter");
        TL_TRY(tl_predicate_eval(spec->predicate, (const tl_column *const *)batch->cols, batch->n_rows, sel, &n, err));
        if (n < batch->n_rows) {
            TL_TRY(tl_batch_gather(batch, sel, n, &passed, err));
            tl_batch_free(batch);
            batch = passed;
        }
    }
    if (spec->columns == NULL) {
        *out = TL_STEAL(batch);
        return TL_OK;
    }
    return tl_batch_project(batch, spec->columns, spec->n_columns, out, err);
}

tl_status tl_system__read(tl_table *table, const tl_scan_spec *spec, tl_reader **out, tl_error *err)
{
    char name[256];
    tl_batch *batch = NULL;
    tl_status status = build(table, &batch, err);
    if (status == TL_OK)
        status = tl_system__select(spec, TL_STEAL(batch), &batch, err);
    if (status == TL_OK && spec->limit >= 0 && batch->n_rows > spec->limit) {
        tl_batch *cut = NULL;
        status = tl_batch_slice(batch, 0, spec->limit, &cut, err);
        tl_batch_free(batch);
        batch = cut;
    }
    TL_TRY(tl_error_wrap(err, status, "table %s", tl_table__full_name(table, name)));
    return tl_reader_from_batch(batch, out, err);
}
