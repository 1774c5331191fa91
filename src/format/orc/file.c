/* Opening an ORC file: postscript, footer and metadata section; and its types as those of this program. */
#include "format/orc/orc_private.h"

#include <stdio.h>

/* Plain bytes of footer or metadata. */
#define META_BYTES_MAX ((size_t)256 << 20)

tl_status tl_orc__file_plain(const tl_orc_file *file, int64_t offset, int64_t bytes, tl_buf *out, tl_error *err)
{
    tl_bytes_view piece;
    TL_CLEANUP(tl_freep) uint8_t *owned = NULL;
    TL_TRY(tl_format__input_piece(&file->in, offset, bytes, &piece, &owned, err));
    if (owned == NULL)
        tl_io_count_mapped(piece.len);
    for (size_t at = 0; at < piece.len;) {
        TL_TRY(tl_orc__block(file->meta.compression, file->meta.block_bytes, piece, &at, out, err));
        if (out->len > META_BYTES_MAX)
            return tl_error_set(err, TL_E_LIMIT, "more than %zu bytes of metadata", META_BYTES_MAX);
    }
    return TL_OK;
}

static tl_status check_magic(const tl_orc_file *file, tl_error *err)
{
    tl_bytes_view head;
    TL_CLEANUP(tl_freep) uint8_t *owned = NULL;
    if (file->meta.has_magic)
        return TL_OK;
    TL_TRY(tl_format__input_piece(&file->in, 0, TL_ORC_MAGIC_BYTES, &head, &owned, err));
    if (memcmp(head.data, TL_ORC_MAGIC, TL_ORC_MAGIC_BYTES) != 0)
        return tl_error_set(err, TL_E_CORRUPT, "not an ORC file: it has no magic");
    return TL_OK;
}

static tl_status read_tail(tl_orc_file *file, tl_error *err)
{
    tl_bytes_view tail;
    TL_CLEANUP(tl_freep) uint8_t *owned = NULL;
    int64_t want = TL_MIN(file->in.bytes, 256);
    TL_TRY(tl_format__input_piece(&file->in, file->in.bytes - want, want, &tail, &owned, err));
    if (owned == NULL)
        tl_io_count_mapped(tail.len);
    size_t ps_bytes = tail.data[tail.len - 1];
    if (ps_bytes + 1 > tail.len)
        return tl_error_set(err, TL_E_CORRUPT, "postscript of %zu bytes in a file of %lld bytes", ps_bytes,
                            (long long)file->in.bytes);
    TL_TRY(tl_orc__read_postscript((tl_bytes_view){tail.data + tail.len - 1 - ps_bytes, ps_bytes}, &file->meta, err));
    TL_TRY(check_magic(file, err));
    int64_t footer_at = file->in.bytes - 1 - (int64_t)ps_bytes - file->meta.footer_bytes;
    TL_TRY(tl_orc__file_plain(file, footer_at, file->meta.footer_bytes, &file->tail, err));
    TL_TRY(tl_orc__read_footer((tl_bytes_view){file->tail.data, file->tail.len}, &file->arena, &file->meta, err));
    TL_TRY(tl_orc__file_plain(file, footer_at - file->meta.metadata_bytes, file->meta.metadata_bytes, &file->stats, err));
    return tl_orc__read_metadata((tl_bytes_view){file->stats.data, file->stats.len}, &file->arena, &file->meta, err);
}

static tl_status check_stripes(const tl_orc_file *file, tl_error *err)
{
    for (int32_t i = 0; i < file->meta.n_stripes; i++) {
        const tl_orc_stripe *s = &file->meta.stripes[i];
        if (s->offset + s->index_bytes + s->data_bytes + s->footer_bytes > file->in.bytes)
            return tl_error_set(err, TL_E_CORRUPT, "stripe %d lies outside of the file", i);
    }
    return TL_OK;
}

static tl_status open_file(tl_orc_file *file, int64_t bytes, tl_error *err)
{
    TL_TRY(tl_format__input_check(&file->in, bytes, TL_ORC_MAGIC_BYTES + 1, "an ORC file", err));
    TL_TRY(read_tail(file, err));
    return check_stripes(file, err);
}

tl_status tl_orc__file_open(tl_fs *fs, const char *path, int64_t bytes, tl_orc_file *out, tl_error *err)
{
    *out = (tl_orc_file){0};
    tl_status status = tl_format__input_open(fs, path, bytes, &out->in, err);
    if (status == TL_OK)
        status = open_file(out, bytes, err);
    if (status != TL_OK)
        tl_orc__file_close(out);
    return tl_error_wrap(err, status, "ORC file '%s'", path);
}

void tl_orc__file_close(tl_orc_file *file)
{
    tl_format__input_close(&file->in);
    tl_arena_deinit(&file->arena);
    tl_buf_deinit(&file->tail);
    tl_buf_deinit(&file->stats);
    *file = (tl_orc_file){0};
}

/* ---- types ---- */

static tl_status struct_type(const tl_orc_meta *meta, const tl_orc_type *type, const tl_type **out, tl_error *err)
{
    TL_CLEANUP(tl_freep) tl_field *fields = tl_calloc((size_t)type->n_children + 1, sizeof *fields);
    if (fields == NULL)
        return tl_nomem(err, "types of a file");
    tl_status status = TL_OK;
    int32_t n = 0;
    for (; n < type->n_children && status == TL_OK; n++) {
        fields[n] = (tl_field){.name = (char *)(uintptr_t)type->names[n], .id = n};
        status = tl_orc__type_of(meta, type->children[n], &fields[n].type, err);
        TL_TRY_GOTO(tl_error_wrap(err, status, "'%s'", type->names[n]));
    }
    status = tl_type_create_row(true, fields, n, out, err);
out:
    for (int32_t i = 0; i < type->n_children; i++)
        tl_type_unref(fields[i].type);
    return status;
}

/* See TL_ORC_TAG. */
static tl_status union_type(const tl_orc_meta *meta, const tl_orc_type *type, const tl_type **out, tl_error *err)
{
    TL_CLEANUP(tl_freep) tl_field *fields = tl_calloc((size_t)type->n_children + 1, sizeof *fields);
    TL_CLEANUP(tl_freep) char(*names)[16] = tl_calloc((size_t)type->n_children + 1, sizeof *names);
    if (fields == NULL || names == NULL)
        return tl_nomem(err, "types of a file");
    fields[0] = (tl_field){.name = "tag"};
    tl_status status = tl_type_create(TL_TINYINT, true, 0, 0, &fields[0].type, err);
    for (int32_t i = 0; i < type->n_children && status == TL_OK; i++) {
        snprintf(names[i], sizeof names[i], "field%d", i);
        fields[i + 1] = (tl_field){.name = names[i], .id = i + 1};
        status = tl_error_wrap(err, tl_orc__type_of(meta, type->children[i], &fields[i + 1].type, err), "'%s'", names[i]);
    }
    if (status == TL_OK)
        status = tl_type_create_row(true, fields, type->n_children + 1, out, err);
    for (int32_t i = 0; i <= type->n_children; i++)
        tl_type_unref(fields[i].type);
    return status;
}

static tl_status list_type(const tl_orc_meta *meta, const tl_orc_type *type, const tl_type **out, tl_error *err)
{
    TL_CLEANUP(tl_type_unrefp) const tl_type *a = NULL;
    TL_CLEANUP(tl_type_unrefp) const tl_type *b = NULL;
    TL_TRY(tl_orc__type_of(meta, type->children[0], &a, err));
    if (type->kind == TL_ORC_LIST)
        return tl_type_create_array(true, a, out, err);
    TL_TRY(tl_orc__type_of(meta, type->children[1], &b, err));
    return tl_type_create_map(true, a, b, out, err);
}

tl_status tl_orc__root_type(const tl_orc_meta *meta, const tl_type **out, tl_error *err)
{
    if (meta->types[0].kind == TL_ORC_STRUCT)
        return tl_orc__type_of(meta, 0, out, err);
    TL_CLEANUP(tl_type_unrefp) const tl_type *only = NULL;
    TL_TRY(tl_orc__type_of(meta, 0, &only, err));
    return tl_type_create_row(true, &(tl_field){.name = TL_ORC_ONLY_COLUMN, .type = only}, 1, out, err);
}

tl_status tl_orc__type_of(const tl_orc_meta *meta, int32_t column, const tl_type **out, tl_error *err)
{
    static const tl_type_kind plain[] = {
        [TL_ORC_BOOLEAN] = TL_BOOLEAN,     [TL_ORC_BYTE] = TL_TINYINT,      [TL_ORC_SHORT] = TL_SMALLINT,
        [TL_ORC_INT] = TL_INT,             [TL_ORC_LONG] = TL_BIGINT,       [TL_ORC_FLOAT] = TL_FLOAT,
        [TL_ORC_DOUBLE] = TL_DOUBLE,       [TL_ORC_STRING] = TL_VARCHAR,    [TL_ORC_BINARY] = TL_VARBINARY,
        [TL_ORC_TIMESTAMP] = TL_TIMESTAMP, [TL_ORC_DECIMAL] = TL_DECIMAL,   [TL_ORC_DATE] = TL_DATE,
        [TL_ORC_VARCHAR] = TL_VARCHAR,     [TL_ORC_CHAR] = TL_CHAR,         [TL_ORC_TIMESTAMP_INSTANT] = TL_TIMESTAMP_LTZ,
    };
    const tl_orc_type *type = &meta->types[column];
    int32_t a = TL_LENGTH_MAX, b = 0;
    switch (type->kind) {
    case TL_ORC_STRUCT:
        return struct_type(meta, type, out, err);
    case TL_ORC_UNION:
        return union_type(meta, type, out, err);
    case TL_ORC_LIST:
    case TL_ORC_MAP:
        return list_type(meta, type, out, err);
    case TL_ORC_TIMESTAMP:
    case TL_ORC_TIMESTAMP_INSTANT:
        a = 9;
        break;
    case TL_ORC_DECIMAL:
        a = type->precision;
        b = type->scale;
        break;
    case TL_ORC_VARCHAR:
    case TL_ORC_CHAR:
        a = type->length == 0 || type->length > TL_LENGTH_MAX ? TL_LENGTH_MAX : (int32_t)type->length;
        break;
    default:
        break;
    }
    if ((size_t)type->kind >= TL_ARRAY_LEN(plain))
        return tl_error_set(err, TL_E_UNSUPPORTED, "ORC type of an unknown kind is not supported");
    return tl_type_create(plain[type->kind], true, a, b, out, err);
}
