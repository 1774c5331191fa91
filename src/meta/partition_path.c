/*
 * Partition folders: `escape(key)=escape(value)` for each partition column (format reference §1).
 * Java: PartitionPathUtils, InternalRowPartitionComputer.
 */
#include "meta/meta_private.h"
#include "types/text.h"

/* Java's Character.isWhitespace at `p`: the bytes of the character, 0 if it is none. */
static size_t java_whitespace(const uint8_t *p, size_t left)
{
    if ((*p >= 0x09 && *p <= 0x0d) || (*p >= 0x1c && *p <= 0x20))
        return 1;
    if (left < 3 || (p[0] != 0xe1 && p[0] != 0xe2 && p[0] != 0xe3))
        return 0;
    uint32_t c = (uint32_t)(p[0] & 0x0f) << 12 | (uint32_t)(p[1] & 0x3f) << 6 | (p[2] & 0x3f);
    bool space =
        c == 0x1680 || (c >= 0x2000 && c <= 0x200a && c != 0x2007) || c == 0x2028 || c == 0x2029 || c == 0x205f || c == 0x3000;
    return space ? 3 : 0;
}

bool tl_partition_value_is_blank(tl_bytes_view text)
{
    for (size_t i = 0; i < text.len;) {
        size_t n = java_whitespace(text.data + i, text.len - i);
        if (n == 0)
            return false;
        i += n;
    }
    return true;
}

tl_status tl_partition_value_text(const tl_column *col, const char *default_name, bool legacy_names, tl_buf *out)
{
    out->len = 0;
    if (!tl_col_is_null(col, 0))
        TL_TRY(legacy_names ? tl_text_append_java(out, col, 0) : tl_text_append_cast(out, col, 0));
    if (!tl_partition_value_is_blank((tl_bytes_view){out->data, out->len}))
        return TL_OK;
    out->len = 0;
    return tl_buf_append_str(out, default_name);
}

static tl_status append_value(tl_buf *out, tl_buf *value, const tl_column *col, const char *default_name, bool legacy_names)
{
    TL_TRY(tl_partition_value_text(col, default_name, legacy_names, value));
    return tl_path_escape((tl_bytes_view){value->data, value->len}, out);
}

static tl_status append_key(tl_buf *out, const char *name)
{
    TL_TRY(tl_path_escape((tl_bytes_view){(const uint8_t *)name, strlen(name)}, out));
    return tl_buf_append_byte(out, '=');
}

static tl_status make_path(const tl_batch *partition, const char *default_name, bool legacy_names, bool with_keys, char **out, tl_error *err)
{
    tl_buf path = {0}, value = {0};
    tl_status status = TL_OK;
    for (int32_t i = 0; i < partition->n_cols && status == TL_OK; i++) {
        if (i > 0)
            status = tl_buf_append_byte(&path, '/');
        if (status == TL_OK && with_keys)
            status = append_key(&path, partition->type->fields[i].name);
        if (status == TL_OK)
            status = append_value(&path, &value, partition->cols[i], default_name, legacy_names);
    }
    if (status == TL_OK)
        status = tl_buf_steal_str(&path, out);
    tl_buf_deinit(&path);
    tl_buf_deinit(&value);
    return status == TL_OK ? TL_OK : tl_error_set(err, status, "partition folder: %s", tl_status_name(status));
}

tl_status tl_partition_path(const tl_batch *partition, const char *default_name, bool legacy_names, char **out, tl_error *err)
{
    return make_path(partition, default_name, legacy_names, /* with_keys= */ true, out, err);
}

tl_status tl_partition_value_path(const tl_batch *partition, const char *default_name, bool legacy_names, char **out, tl_error *err)
{
    return make_path(partition, default_name, legacy_names, /* with_keys= */ false, out, err);
}
