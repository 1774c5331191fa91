/* Descriptors of blobs (types/blob_descriptor.h), as values: nothing here opens what they name. Java: PathToDescriptor, DescriptorToString. */
#include "sql/bind.h"
#include "sql/functions.h"
#include "types/blob_descriptor.h"

static tl_status path_to_descriptor_row(tl_kernel *k, int64_t i, bool *is_null)
{
    (void)is_null;
    const tl_blob_descriptor whole = {.uri = tl_vec_bytes(&k->args[0], i), .length = TL_BLOB_TO_END};
    return tl_blob_descriptor_append(&whole, &k->text) == TL_OK ? TL_OK : tl_nomem(k->err, "batch");
}

static tl_status path_to_descriptor_kernel(tl_kernel *k)
{
    return tl_kernel_text_rows(k, path_to_descriptor_row);
}

static tl_status descriptor_to_string_row(tl_kernel *k, int64_t i, bool *is_null)
{
    (void)is_null;
    tl_bytes_view bytes = tl_vec_bytes(&k->args[0], i);
    tl_blob_descriptor d;
    TL_TRY(tl_blob_descriptor_read(bytes, &d, k->err));
    tl_status status = tl_buf_appendf(&k->text, "BlobDescriptor{version=%d, uri='%.*s', offset=%lld, length=%lld}", bytes.data[0], (int)d.uri.len,
                                      (const char *)d.uri.data, (long long)d.offset, (long long)d.length);
    return status == TL_OK ? TL_OK : tl_nomem(k->err, "batch");
}

static tl_status descriptor_to_string_kernel(tl_kernel *k)
{
    return tl_kernel_text_rows(k, descriptor_to_string_row);
}

const tl_sql_function tl_fn_blobs[] = {
    {.name = "PATH_TO_DESCRIPTOR", .args = "S", .result = "Y", .kernel = path_to_descriptor_kernel},
    {.name = "DESCRIPTOR_TO_STRING", .args = "Y", .result = "S", .kernel = descriptor_to_string_kernel, .flags = TL_FN_CAN_FAIL},
    {.name = NULL},
};
