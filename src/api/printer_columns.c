/* Snapshot and row kind as columns, for formats that have no other place for them. */
#include "api/printer_private.h"

#include "types/builder.h"

tl_status tl_printer__full_type(const tidelake_printer *p, const tl_type **out, tl_error *err)
{
    if (!p->snapshots && !p->kinds) {
        *out = tl_type_ref(p->type);
        return TL_OK;
    }
    int32_t n = 0;
    tl_field *fields = tl_calloc((size_t)p->type->n_fields + 2, sizeof *fields);
    if (fields == NULL)
        return tl_nomem(err, "columns");
    tl_status status = TL_OK;
    if (p->snapshots) {
        fields[n].name = (char *)(uintptr_t)"_snapshot";
        status = tl_type_parse((tl_bytes_view){(const uint8_t *)"BIGINT NOT NULL", 15}, &fields[n++].type, err);
    }
    if (p->kinds && status == TL_OK) {
        fields[n].name = (char *)(uintptr_t)"_kind";
        status = tl_type_parse((tl_bytes_view){(const uint8_t *)"STRING NOT NULL", 15}, &fields[n++].type, err);
    }
    int32_t own = n;
    for (int32_t c = 0; c < p->type->n_fields; c++)
        fields[n++] = p->type->fields[c];
    if (status == TL_OK)
        status = tl_type_create_row(false, fields, n, out, err);
    for (int32_t i = 0; i < own; i++)
        tl_type_unref(fields[i].type);
    tl_free(fields);
    return status;
}

static tl_status snapshot_column(const tl_type *type, const tl_batch *batch, tl_column **out, tl_error *err)
{
    TL_TRY(tl_column_alloc(type, batch->n_rows, out, err));
    int64_t *values = (*out)->values;
    for (int64_t i = 0; i < batch->n_rows; i++)
        values[i] = batch->snapshot;
    return TL_OK;
}

static tl_status kind_column(const tl_type *type, const tl_batch *batch, tl_column **out, tl_error *err)
{
    tl_builder *builder;
    TL_TRY(tl_builder_create(type, &builder, err));
    tl_status status = TL_OK;
    for (int64_t i = 0; i < batch->n_rows && status == TL_OK; i++)
        status = tl_builder_bytes(builder, tl_row_kind_text(tl_batch_kind(batch, i)), 2);
    status = status != TL_OK ? tl_builder_error(builder, status, err) : tl_builder_finish(builder, out, err);
    tl_builder_free(builder);
    return status;
}

tl_status tl_printer__full_batch(const tidelake_printer *p, const tl_type *full_type, const tl_batch *batch, tl_batch **out,
                                 tl_error *err)
{
    TL_CLEANUP(tl_batch_freep) tl_batch *full = NULL;
    TL_TRY(tl_batch_create(full_type, batch->n_rows, &full, err));
    int32_t n = 0;
    if (p->snapshots) {
        TL_TRY(snapshot_column(full_type->fields[n].type, batch, &full->cols[n], err));
        n++;
    }
    if (p->kinds) {
        TL_TRY(kind_column(full_type->fields[n].type, batch, &full->cols[n], err));
        n++;
    }
    for (int32_t c = 0; c < batch->n_cols; c++)
        full->cols[n++] = tl_column_ref(batch->cols[c]);
    *out = TL_STEAL(full);
    return TL_OK;
}
