/*
 * Object container file, reading.
 *
 *     4  magic "Obj" 0x01
 *     .  metadata: map of string to bytes: avro.schema, avro.codec (null if absent)
 *    16  sync marker
 *  then blocks to the end of the file:
 *     .  long  number of records
 *     .  long  bytes that follow before the marker
 *     .        records, compressed as one piece
 *    16  sync marker
 *
 * Source: Avro specification, "Object Container Files". Snappy blocks end with the CRC-32 (big-endian) of the plain bytes.
 */
#include "format/avro/avro_private.h"

#define READ_AHEAD_BYTES (1 << 20)
#define READ_AHEAD_BYTES_SELECTIVE 4096 /* heads of blocks, most of which are passed over */

/* What a decompressed block may have: far above the usual 64 kB, and in proportion to the bytes that are there. */
static size_t block_bytes_max(size_t packed_bytes)
{
    size_t cap = (size_t)64 << 20;
    return packed_bytes > ((size_t)INT32_MAX - cap) / 256 ? (size_t)INT32_MAX : cap + 256 * packed_bytes;
}

/* Bytes [pos, pos + len) of the file: in place, or out of a window that is read ahead. The caller has checked the range. */
static tl_status fetch(tl_avro_in *in, int64_t pos, size_t len, tl_bytes_view *out, tl_error *err)
{
    if (in->memory.data != NULL) {
        int64_t from = TL_MAX(pos, in->counted), to = pos + (int64_t)len;
        if (in->file != NULL && from < to) {
            tl_io_count_mapped((size_t)(to - from));
            in->counted = to;
        }
        *out = (tl_bytes_view){in->memory.data + pos, len};
        return TL_OK;
    }
    if (pos < in->window_pos || len > in->window.len || (size_t)(pos - in->window_pos) > in->window.len - len) {
        size_t ahead = (size_t)TL_MIN(in->bytes - pos, (int64_t)TL_MAX(len, in->read_ahead));
        in->window.len = 0;
        if (tl_buf_reserve(&in->window, ahead) != TL_OK)
            return tl_nomem(err, "Avro block");
        TL_TRY(tl_file_read_at(in->file, pos, in->window.data, ahead, err));
        in->window.len = ahead;
        in->window_pos = pos;
    }
    *out = (tl_bytes_view){in->window.data + (pos - in->window_pos), len};
    return TL_OK;
}

tl_status tl_avro__in_corrupt(const tl_avro_in *in, const char *what, tl_error *err)
{
    return tl_error_set(err, TL_E_CORRUPT, "block %lld: %s", (long long)in->block_no, what);
}

static tl_status find_codec(tl_bytes_view name, tl_codec *out, tl_error *err)
{
    static const struct {
        const char *name;
        tl_codec codec;
    } known[] = {{"null", TL_CODEC_NONE},      {"deflate", TL_CODEC_DEFLATE}, {"snappy", TL_CODEC_SNAPPY},
                 {"zstandard", TL_CODEC_ZSTD}, {"bzip2", TL_CODEC_BZIP2},     {"xz", TL_CODEC_XZ}};
    for (size_t i = 0; i < TL_ARRAY_LEN(known); i++) {
        if (name.len == strlen(known[i].name) && memcmp(name.data, known[i].name, name.len) == 0) {
            *out = known[i].codec;
            return TL_OK;
        }
    }
    return tl_error_set(err, TL_E_UNSUPPORTED, "Avro codec '%.*s'", (int)TL_MIN(name.len, 40), (const char *)name.data);
}

typedef enum header_result { HEADER_OK, HEADER_SHORT, HEADER_BAD } header_result;

/* Parse as much of the header as `c` holds; HEADER_SHORT asks for more bytes of the file. */
static header_result parse_header(tl_avro_cursor *c, tl_bytes_view *schema, tl_bytes_view *codec, uint8_t sync[16])
{
    if (c->end - c->p < 4)
        return HEADER_SHORT;
    if (memcmp(c->p, "Obj\x01", 4) != 0)
        return HEADER_BAD;
    c->p += 4;
    for (;;) {
        int64_t n, bytes;
        if (!tl_avro__read_long(c, &n))
            return HEADER_SHORT;
        if (n == 0)
            break;
        if (n < 0 && (n == INT64_MIN || !tl_avro__read_long(c, &bytes)))
            return HEADER_SHORT;
        for (n = n < 0 ? -n : n; n > 0; n--) {
            tl_bytes_view key, value;
            if (!tl_avro__read_bytes(c, &key) || !tl_avro__read_bytes(c, &value))
                return HEADER_SHORT;
            if (key.len == 11 && memcmp(key.data, "avro.schema", 11) == 0)
                *schema = value;
            else if (key.len == 10 && memcmp(key.data, "avro.codec", 10) == 0)
                *codec = value;
        }
    }
    if (c->end - c->p < 16)
        return HEADER_SHORT;
    memcpy(sync, c->p, 16);
    c->p += 16;
    return HEADER_OK;
}

/* The header's size is not stored: read a likely piece of the file, and twice as much while it does not suffice. */
static tl_status read_header(tl_avro_in *in, tl_bytes_view *schema, tl_bytes_view *codec, tl_error *err)
{
    size_t most = (size_t)TL_MIN(in->bytes, TL_AVRO_HEADER_BYTES_MAX);
    for (size_t len = TL_MIN(most, (size_t)16384);; len = TL_MIN(most, len * 2)) {
        tl_bytes_view head = {NULL, 0};
        TL_TRY(fetch(in, 0, len, &head, err));
        tl_avro_cursor c = {head.data, head.data + head.len};
        header_result result = parse_header(&c, schema, codec, in->sync);
        if (result == HEADER_OK) {
            in->pos = c.p - head.data;
            return TL_OK;
        }
        if (result == HEADER_BAD)
            return tl_error_set(err, TL_E_CORRUPT, "not an Avro file: wrong magic");
        if (len == most)
            return tl_error_set(err, TL_E_CORRUPT, "header does not end within %zu bytes", len);
    }
}

tl_status tl_avro__in_open(tl_avro_in *in, tl_bytes_view memory, tl_file *file, int64_t bytes, tl_error *err)
{
    in->memory = memory;
    in->file = file;
    in->bytes = bytes;
    if (in->read_ahead == 0)
        in->read_ahead = READ_AHEAD_BYTES;
    tl_bytes_view schema = {NULL, 0}, codec = {(const uint8_t *)"null", 4};
    TL_TRY(read_header(in, &schema, &codec, err));
    TL_TRY(find_codec(codec, &in->codec, err));
    if (schema.data == NULL)
        return tl_error_set(err, TL_E_CORRUPT, "header has no avro.schema");
    TL_TRY(tl_avro__parsed_get(schema, &in->parsed, err));
    in->schema = tl_avro__nullable(tl_avro__parsed_schema(in->parsed), &in->null_branch);
    if (in->schema->wire != TL_AVRO_WIRE_RECORD)
        return tl_error_set(err, TL_E_CORRUPT, "Avro schema: %s where a record is expected",
                            tl_avro__wire_name(in->schema->wire));
    return TL_OK;
}

void tl_avro__in_deinit(tl_avro_in *in)
{
    tl_buf_deinit(&in->window);
    tl_buf_deinit(&in->plain);
    tl_avro__parsed_unref(in->parsed);
}

static tl_status decompress(tl_avro_in *in, tl_bytes_view packed, tl_bytes_view *data, tl_error *err)
{
    if (in->codec == TL_CODEC_NONE) {
        *data = packed;
        return TL_OK;
    }
    uint32_t crc = 0;
    if (in->codec == TL_CODEC_SNAPPY) {
        if (packed.len < 4)
            return tl_avro__in_corrupt(in, "no room for the checksum", err);
        packed.len -= 4;
        crc = tl_read_be32(packed.data + packed.len);
    }
    in->plain.len = 0;
    tl_status status = tl_decompress_append(in->codec, packed, block_bytes_max(packed.len), &in->plain, err);
    if (status != TL_OK)
        return tl_error_wrap(err, status, "block %lld", (long long)in->block_no);
    if (in->codec == TL_CODEC_SNAPPY && tl_crc32(0, in->plain.data, in->plain.len) != crc)
        return tl_avro__in_corrupt(in, "checksum mismatch", err);
    static const uint8_t nothing[1];
    *data = (tl_bytes_view){in->plain.data != NULL ? in->plain.data : nothing, in->plain.len};
    return TL_OK;
}

/* Each record has at least its schema's fewest bytes. A record without any content has no meaning for a table, and would let a
   few bytes stand for any number of them. */
static bool count_fits(const tl_avro_in *in, int64_t n_records, size_t bytes)
{
    int64_t min_bytes = in->schema->min_bytes;
    if (in->null_branch >= 0)
        min_bytes = 1;
    return n_records == 0 || (min_bytes > 0 && n_records <= (int64_t)bytes / min_bytes);
}

tl_status tl_avro__in_head(tl_avro_in *in, tl_avro_block *out, tl_error *err)
{
    *out = (tl_avro_block){.at = -1};
    if (in->pos >= in->bytes)
        return TL_OK;
    in->block_no++;
    tl_bytes_view head = {NULL, 0};
    TL_TRY(fetch(in, in->pos, (size_t)TL_MIN(in->bytes - in->pos, 20), &head, err));
    tl_avro_cursor c = {head.data, head.data + head.len};
    if (!tl_avro__read_long(&c, &out->n_records) || !tl_avro__read_long(&c, &out->bytes))
        return tl_avro__in_corrupt(in, "truncated", err);
    int64_t at = in->pos + (c.p - head.data);
    if (out->bytes < 0 || out->bytes > in->bytes - at - 16)
        return tl_error_set(err, TL_E_CORRUPT, "block %lld: %lld bytes at %lld, where the file ends at %lld",
                            (long long)in->block_no, (long long)out->bytes, (long long)at, (long long)in->bytes);
    if (out->n_records < 0)
        return tl_error_set(err, TL_E_CORRUPT, "block %lld: %lld records", (long long)in->block_no, (long long)out->n_records);
    out->at = at;
    return TL_OK;
}

void tl_avro__in_expect_gaps(tl_avro_in *in)
{
    in->read_ahead = READ_AHEAD_BYTES_SELECTIVE;
}

void tl_avro__in_pass(tl_avro_in *in, const tl_avro_block *block)
{
    in->pos = block->at + block->bytes + 16;
}

tl_status tl_avro__in_body(tl_avro_in *in, const tl_avro_block *block, tl_bytes_view *data, tl_error *err)
{
    tl_bytes_view packed = {NULL, 0};
    TL_TRY(fetch(in, block->at, (size_t)block->bytes + 16, &packed, err));
    packed.len -= 16;
    if (memcmp(packed.data + packed.len, in->sync, 16) != 0)
        return tl_error_set(err, TL_E_CORRUPT, "block %lld: sync marker mismatch at byte %lld", (long long)in->block_no,
                            (long long)(block->at + block->bytes));
    TL_TRY(decompress(in, packed, data, err));
    if (!count_fits(in, block->n_records, data->len))
        return tl_error_set(err, TL_E_CORRUPT, "block %lld: %lld records in %zu bytes", (long long)in->block_no,
                            (long long)block->n_records, data->len);
    tl_avro__in_pass(in, block);
    return TL_OK;
}

tl_status tl_avro__in_next(tl_avro_in *in, tl_bytes_view *data, int64_t *n_records, tl_error *err)
{
    tl_avro_block block;
    *data = (tl_bytes_view){NULL, 0};
    *n_records = 0;
    TL_TRY(tl_avro__in_head(in, &block, err));
    if (block.at < 0)
        return TL_OK;
    TL_TRY(tl_avro__in_body(in, &block, data, err));
    *n_records = block.n_records;
    return TL_OK;
}
