/* tl_format_blob: blob files as batches of one column. */
#include "format/blob/blob_private.h"

/* A file does not tell the name of its column. */
static tl_status schema_of(tl_fs *fs, const char *path, const tl_type **out, tl_error *err)
{
    const tl_type *blob = NULL;
    (void)fs;
    (void)path;
    TL_TRY(tl_type_create(TL_BLOB, /* nullable= */ true, 0, 0, &blob, err));
    tl_field field = {.name = (char *)"value", .type = blob};
    tl_status status = tl_type_create_row(/* nullable= */ false, &field, 1, out, err);
    tl_type_unref(blob);
    return status;
}

int64_t tl_blob_record_bytes(int64_t value_bytes)
{
    return value_bytes + TL_BLOB__FRAME_BYTES;
}

int64_t tl_blob_value_offset(int64_t record_offset)
{
    return record_offset + TL_BLOB__HEAD_BYTES;
}

const tl_format tl_format_blob = {
    .name = "blob",
    .open = tl_blob__open,
    .create = tl_blob__create,
    .schema = schema_of,
};
