/* Object container file, writing: the layout is at the head of container_in.c. Blocks are cut where the reference cuts them. */
#include "base/thread.h"
#include "format/avro/avro_private.h"

/* Paimon hands `file.compression` to Avro's codec factory after turning zstd into zstandard; the factory refuses other names.
 */
static tl_status choose_codec(const char *compression, const char **name, tl_codec *codec, tl_error *err)
{
    static const struct {
        const char *name;
        const char *avro;
        tl_codec codec;
    } known[] = {{"zstd", "zstandard", TL_CODEC_ZSTD},
                 {"zstandard", "zstandard", TL_CODEC_ZSTD},
                 {"null", "null", TL_CODEC_NONE},
                 {"deflate", "deflate", TL_CODEC_DEFLATE},
                 {"snappy", "snappy", TL_CODEC_SNAPPY},
                 {"bzip2", "bzip2", TL_CODEC_BZIP2},
                 {"xz", "xz", TL_CODEC_XZ}};
    for (size_t i = 0; i < TL_ARRAY_LEN(known); i++) {
        if (strcmp(compression, known[i].name) == 0 || (i == 0 && strcasecmp(compression, "zstd") == 0)) {
            *name = known[i].avro;
            *codec = known[i].codec;
            return TL_OK;
        }
    }
    return tl_error_set(err, TL_E_INVALID, "unrecognized Avro codec '%s'", compression);
}

static tl_status put_header(tl_avro_out *out, tl_buf *buf, tl_bytes_view schema_json, const char *codec)
{
    TL_TRY(tl_buf_append(buf, "Obj\x01", 4));
    TL_TRY(tl_avro__put_long(buf, 2));
    TL_TRY(tl_avro__put_bytes(buf, (tl_bytes_view){(const uint8_t *)"avro.schema", 11}));
    TL_TRY(tl_avro__put_bytes(buf, schema_json));
    TL_TRY(tl_avro__put_bytes(buf, (tl_bytes_view){(const uint8_t *)"avro.codec", 10}));
    TL_TRY(tl_avro__put_bytes(buf, (tl_bytes_view){(const uint8_t *)codec, strlen(codec)}));
    TL_TRY(tl_avro__put_long(buf, 0));
    return tl_buf_append(buf, out->sync, sizeof out->sync);
}

static tl_status flush_packed(tl_avro_out *out, tl_error *err)
{
    TL_TRY(tl_file_write(out->file, out->packed.data, out->packed.len, err));
    out->bytes += (int64_t)out->packed.len;
    out->packed.len = 0;
    return TL_OK;
}

tl_status tl_avro__out_create(tl_avro_out *out, tl_fs *fs, const char *path, tl_bytes_view schema_json, const char *compression,
                              int level, tl_error *err)
{
    const char *codec_name;
    TL_TRY(choose_codec(compression, &codec_name, &out->codec, err));
    if (out->codec != TL_CODEC_NONE)
        TL_TRY(tl_compressor_create(out->codec, level, &out->compressor, err));
    if ((out->path = tl_strdup(path)) == NULL)
        return tl_nomem(err, "Avro file");
    out->fs = tl_fs_ref(fs);
    for (int i = 0; i < 2; i++)
        tl_write_le64(out->sync + 8 * i, tl_random_u64());
    if (put_header(out, &out->packed, schema_json, codec_name) != TL_OK)
        return tl_nomem(err, "Avro file");
    TL_TRY(tl_fs_create(fs, path, &out->file, err));
    return flush_packed(out, err);
}

static tl_status write_block(tl_avro_out *out, tl_error *err)
{
    uint8_t head[20];
    tl_bytes_view plain = {out->block.data, out->block.len};
    /* The compressed size stands before the data: leave room for the head, and close the gap afterwards. */
    out->packed.len = 0;
    if (tl_buf_append(&out->packed, head, sizeof head) != TL_OK)
        return tl_nomem(err, "Avro block");
    if (out->codec == TL_CODEC_NONE) {
        if (tl_buf_append(&out->packed, plain.data, plain.len) != TL_OK)
            return tl_nomem(err, "Avro block");
    } else {
        TL_TRY(tl_compress(out->compressor, plain, &out->packed, err));
    }
    uint8_t crc[4];
    tl_write_be32(crc, out->codec == TL_CODEC_SNAPPY ? tl_crc32(0, plain.data, plain.len) : 0);
    if ((out->codec == TL_CODEC_SNAPPY && tl_buf_append(&out->packed, crc, 4) != TL_OK) ||
        tl_buf_append(&out->packed, out->sync, 16) != TL_OK)
        return tl_nomem(err, "Avro block");
    size_t head_bytes = tl_varint_encode(tl_zigzag64(out->block_records), head);
    head_bytes += tl_varint_encode(tl_zigzag64((int64_t)(out->packed.len - sizeof head - 16)), head + head_bytes);
    size_t gap = sizeof head - head_bytes;
    memcpy(out->packed.data + gap, head, head_bytes);
    TL_TRY(tl_file_write(out->file, out->packed.data + gap, out->packed.len - gap, err));
    out->bytes += (int64_t)(out->packed.len - gap);
    out->block.len = 0;
    out->block_records = 0;
    return TL_OK;
}

tl_status tl_avro__out_record(tl_avro_out *out, tl_error *err)
{
    out->block_records++;
    return out->block.len >= TL_AVRO_BLOCK_BYTES ? write_block(out, err) : TL_OK;
}

tl_status tl_avro__out_finish(tl_avro_out *out, tl_error *err)
{
    if (out->block_records > 0)
        TL_TRY(write_block(out, err));
    TL_TRY(tl_file_finish(TL_STEAL(out->file), err));
    out->finished = true;
    return TL_OK;
}

void tl_avro__out_deinit(tl_avro_out *out)
{
    bool created = out->file != NULL || out->bytes > 0;
    if (out->file != NULL)
        (void)tl_file_close(out->file, NULL); /* thrown away */
    if (created && !out->finished)
        (void)tl_fs_remove(out->fs, out->path, NULL); /* best effort: an orphan is harmless */
    tl_compressor_free(out->compressor);
    tl_buf_deinit(&out->block);
    tl_buf_deinit(&out->packed);
    tl_free(out->path);
    if (out->fs != NULL)
        tl_fs_unref(out->fs);
}
