/*
 * Values of one page, by encoding, appended to a sink in the form of the requested type.
 *
 * Fixed-width values that need no conversion are decoded straight into the sink. A dictionary is converted once, so that
 * dictionary pages are a gather whatever the types are. Strings take two passes over a batch: lengths first, which gives the
 * exact room, then copies of 32 bytes at a time without a call for short ones (source and target have slack for it).
 */
#include "format/parquet/read_private.h"

#define PIECE_VALUES 256
#define SHORT_COPY_BYTES 32
#define SMALL_STRING_BYTES 16

static tl_status corrupt(const char *why, tl_error *err)
{
    return tl_error_set(err, TL_E_CORRUPT, "%s", why);
}

static tl_status ends_early(tl_error *err)
{
    return corrupt("page ends before its last value", err);
}

void tl_pq__values_deinit(tl_pq_values *values)
{
    tl_buf_deinit(&values->last);
    tl_buf_deinit(&values->raw);
    tl_buf_deinit(&values->indices);
    tl_pq__sink_deinit(&values->strings);
}

void tl_pq__dictionary_deinit(tl_pq_dictionary *dictionary)
{
    tl_free(dictionary->values);
    tl_free(dictionary->offsets);
    tl_free(dictionary->data);
    *dictionary = (tl_pq_dictionary){0};
}

/* ---- start ---- */

static tl_status open_dictionary(tl_pq_values *v, tl_bytes_view bytes, tl_error *err)
{
    v->encoding = TL_PQ_RLE_DICTIONARY;
    if (v->dictionary == NULL)
        return corrupt("values refer to a dictionary, and there is none", err);
    int width = bytes.len == 0 ? 0 : bytes.data[0];
    if (width > 32)
        return corrupt("indices are wider than 32 bits", err);
    tl_bytes_view rest = bytes.len == 0 ? bytes : (tl_bytes_view){bytes.data + 1, bytes.len - 1};
    tl_pq__rle_init(&v->rle, rest, width);
    v->is_index_safe = width < 32 && (INT64_C(1) << width) <= v->dictionary->n;
    return TL_OK;
}

static tl_status open_rle(tl_pq_values *v, tl_error *err)
{
    if (v->type != TL_PQ_BOOLEAN)
        return tl_error_set(err, TL_E_UNSUPPORTED, "encoding RLE of a type other than BOOLEAN");
    if (v->p == v->end) {
        tl_pq__rle_init(&v->rle, (tl_bytes_view){v->p, 0}, 1);
        return TL_OK;
    }
    size_t left = (size_t)(v->end - v->p);
    if (left < 4 || tl_read_le32(v->p) > left - 4)
        return corrupt("values are longer than the page", err);
    tl_pq__rle_init(&v->rle, (tl_bytes_view){v->p + 4, tl_read_le32(v->p)}, 1);
    return TL_OK;
}

static bool is_string(const tl_pq_values *v)
{
    return v->type == TL_PQ_BYTE_ARRAY || v->type == TL_PQ_FIXED_LEN_BYTE_ARRAY;
}

/* Lengths come first; where they end, the next part of the page begins. */
static tl_status open_deltas(tl_pq_values *v, tl_error *err)
{
    bool is_integer = v->type == TL_PQ_INT32 || v->type == TL_PQ_INT64;
    if (v->encoding == TL_PQ_DELTA_BINARY_PACKED       ? !is_integer
        : v->encoding == TL_PQ_DELTA_LENGTH_BYTE_ARRAY ? v->type != TL_PQ_BYTE_ARRAY
                                                       : !is_string(v))
        return tl_error_set(err, TL_E_UNSUPPORTED, "encoding %d of this type", (int)v->encoding);
    v->last.len = 0;
    if (v->p == v->end) { /* no values, as in a page of nulls */
        v->delta = v->suffixes = (tl_pq_delta){0};
        return TL_OK;
    }
    TL_TRY(tl_pq__delta_init(&v->delta, (tl_bytes_view){v->p, (size_t)(v->end - v->p)}, err));
    if (v->encoding == TL_PQ_DELTA_BINARY_PACKED)
        return TL_OK;
    TL_TRY(tl_pq__delta_end(&v->delta, &v->p, err));
    if (v->encoding == TL_PQ_DELTA_LENGTH_BYTE_ARRAY)
        return TL_OK;
    TL_TRY(tl_pq__delta_init(&v->suffixes, (tl_bytes_view){v->p, (size_t)(v->end - v->p)}, err));
    return tl_pq__delta_end(&v->suffixes, &v->p, err);
}

tl_status tl_pq__values_open(tl_pq_values *values, const tl_pq_conversion *conv, const tl_pq_schema_element *el,
                             const tl_pq_page *page, const tl_pq_dictionary *dictionary, tl_error *err)
{
    tl_pq_values *v = values;
    v->conv = conv;
    v->type = el->type;
    v->encoding = page->header.data.encoding;
    v->p = page->values.data;
    v->end = page->values.data + page->values.len;
    v->pos = 0;
    v->dictionary = dictionary;
    switch (v->encoding) {
    case TL_PQ_PLAIN:
        return TL_OK;
    case TL_PQ_PLAIN_DICTIONARY:
    case TL_PQ_RLE_DICTIONARY:
        return open_dictionary(v, page->values, err);
    case TL_PQ_RLE:
        return open_rle(v, err);
    case TL_PQ_DELTA_BINARY_PACKED:
    case TL_PQ_DELTA_LENGTH_BYTE_ARRAY:
    case TL_PQ_DELTA_BYTE_ARRAY:
        return open_deltas(v, err);
    case TL_PQ_BYTE_STREAM_SPLIT:
        if (conv->src_width <= 1 && el->type != TL_PQ_FIXED_LEN_BYTE_ARRAY)
            return tl_error_set(err, TL_E_UNSUPPORTED, "encoding BYTE_STREAM_SPLIT of this type");
        v->count = (int64_t)page->values.len / conv->src_width;
        return TL_OK;
    default:
        return tl_error_set(err, TL_E_UNSUPPORTED, "encoding %d is not known", (int)v->encoding);
    }
}

/* ---- scratch ---- */

static tl_status scratch(tl_buf *buf, size_t bytes, void *out, tl_error *err)
{
    buf->len = 0;
    if (tl_buf_reserve(buf, bytes + TL_PQ_SLACK) != TL_OK)
        return tl_nomem(err, "values");
    memcpy(out, &buf->data, sizeof buf->data);
    return TL_OK;
}

/* ---- fixed width ---- */

static tl_status read_strings(tl_pq_values *v, int64_t n, tl_pq_sink *sink, tl_error *err);

static tl_status plain_fixed(tl_pq_values *v, int64_t n, uint8_t *out, tl_error *err)
{
    if (v->type == TL_PQ_BOOLEAN) {
        if (v->pos + n > (v->end - v->p) * 8)
            return ends_early(err);
        tl_pq__unpack_bool(v->p, v->pos, n, out);
        return TL_OK;
    }
    int64_t width = v->conv->src_width;
    if (n > (v->end - v->p) / width)
        return ends_early(err);
    memcpy(out, v->p, (size_t)(n * width));
    v->p += n * width;
    return TL_OK;
}

/* FIXED_LEN_BYTE_ARRAY as DELTA_BYTE_ARRAY: every string must have the type's length. */
static tl_status delta_fixed(tl_pq_values *v, int64_t n, uint8_t *out, tl_error *err)
{
    tl_pq_sink *strings = &v->strings;
    int width = v->conv->src_width;
    strings->len = strings->data_len = strings->width = 0;
    TL_TRY(read_strings(v, n, strings, err));
    for (int64_t i = 0; i < n; i++)
        if (strings->offsets[i + 1] - strings->offsets[i] != width)
            return corrupt("a value has another length than its type", err);
    memcpy(out, strings->data, (size_t)(n * width));
    return TL_OK;
}

/* Stored values, src_width bytes each. */
static tl_status decode_fixed(tl_pq_values *v, int64_t n, uint8_t *out, tl_error *err)
{
    switch (v->encoding) {
    case TL_PQ_PLAIN:
        return plain_fixed(v, n, out, err);
    case TL_PQ_RLE:
        return tl_pq__rle_u8(&v->rle, n, out) ? TL_OK : ends_early(err);
    case TL_PQ_DELTA_BINARY_PACKED:
        return v->type == TL_PQ_INT32 ? tl_pq__delta_i32(&v->delta, n, (int32_t *)(void *)out, err)
                                      : tl_pq__delta_i64(&v->delta, n, (int64_t *)(void *)out, err);
    case TL_PQ_BYTE_STREAM_SPLIT:
        if (v->pos + n > v->count)
            return ends_early(err);
        tl_pq__unsplit(v->p, v->count, v->conv->src_width, v->pos, n, out);
        return TL_OK;
    case TL_PQ_DELTA_BYTE_ARRAY:
        return delta_fixed(v, n, out, err);
    default:
        return tl_error_set(err, TL_E_UNSUPPORTED, "encoding %d of this type", (int)v->encoding);
    }
}

/* ---- dictionary ---- */

static tl_status read_indices(tl_pq_values *v, int64_t n, const uint32_t **out, tl_error *err)
{
    uint32_t *indices, max = 0;
    TL_TRY(scratch(&v->indices, (size_t)n * sizeof *indices, &indices, err));
    if (!tl_pq__rle_u32(&v->rle, n, indices))
        return ends_early(err);
    if (!v->is_index_safe) {
        for (int64_t i = 0; i < n; i++)
            max = TL_MAX(max, indices[i]);
        if (max >= (uint32_t)v->dictionary->n && n > 0)
            return corrupt("index beyond the dictionary", err);
    }
    *out = indices;
    return TL_OK;
}

#define GATHER(TYPE)                                                    \
    {                                                                   \
        const TYPE *restrict from = (const TYPE *)(const void *)values; \
        TYPE *restrict to = (TYPE *)(void *)out;                        \
        for (int64_t i = 0; i < n; i++)                                 \
            to[i] = from[indices[i]];                                   \
    }

static void gather(const uint8_t *values, int width, const uint32_t *restrict indices, int64_t n, uint8_t *out)
{
    switch (width) {
    case 1:
        GATHER(uint8_t)
        break;
    case 2:
        GATHER(uint16_t)
        break;
    case 4:
        GATHER(uint32_t)
        break;
    case 8:
        GATHER(uint64_t)
        break;
    default:
        GATHER(tl_i128)
    }
}

/* ---- strings ---- */

/* Both sides have TL_PQ_SLACK bytes to spare. A call of memcpy costs more than most strings. */
static inline void copy_string(uint8_t *restrict to, const uint8_t *restrict from, size_t bytes)
{
    memcpy(to, from, SHORT_COPY_BYTES);
    if (bytes <= SHORT_COPY_BYTES)
        return;
    memcpy(to + SHORT_COPY_BYTES, from + SHORT_COPY_BYTES, SHORT_COPY_BYTES);
    if (TL_UNLIKELY(bytes > 2 * SHORT_COPY_BYTES))
        memcpy(to + 2 * SHORT_COPY_BYTES, from + 2 * SHORT_COPY_BYTES, bytes - 2 * SHORT_COPY_BYTES);
}
_Static_assert(SHORT_COPY_BYTES <= TL_PQ_SLACK, "short copies stay inside the slack");

/* Short strings only: room for the longest is taken for each, so that lengths and bytes are one pass. */
static tl_status dictionary_short_strings(tl_pq_values *v, const uint32_t *restrict indices, int64_t n, tl_pq_sink *sink,
                                          tl_error *err)
{
    const tl_pq_dictionary *dict = v->dictionary;
    TL_TRY(tl_pq__sink_reserve_data(sink, n * dict->max_bytes, err));
    const int32_t *restrict starts = dict->offsets;
    const uint8_t *restrict from = dict->data;
    uint8_t *restrict to = sink->data;
    int32_t *restrict ends = sink->offsets + sink->len + 1;
    int32_t end = (int32_t)sink->data_len;
    for (int64_t i = 0; i < n; i++) {
        int32_t start = starts[indices[i]];
        memcpy(to + end, from + start, SMALL_STRING_BYTES);
        end += starts[indices[i] + 1] - start;
        ends[i] = end;
    }
    sink->data_len = end;
    return TL_OK;
}

static tl_status dictionary_strings(tl_pq_values *v, int64_t n, tl_pq_sink *sink, tl_error *err)
{
    const tl_pq_dictionary *dict = v->dictionary;
    const uint32_t *indices;
    TL_TRY(read_indices(v, n, &indices, err));
    if (dict->max_bytes <= SMALL_STRING_BYTES)
        return dictionary_short_strings(v, indices, n, sink, err);
    int32_t *ends = sink->offsets + sink->len + 1;
    int64_t start = sink->data_len, end = start;
    for (int64_t i = 0; i < n; i++) {
        end += dict->offsets[indices[i] + 1] - dict->offsets[indices[i]];
        ends[i] = (int32_t)end;
    }
    TL_TRY(tl_pq__sink_reserve_data(sink, end - start, err)); /* also refuses what offsets cannot hold */
    for (int64_t i = 0; i < n; i++) {
        int32_t from = dict->offsets[indices[i]];
        copy_string(sink->data + ends[i - 1], dict->data + from, (size_t)(dict->offsets[indices[i] + 1] - from));
    }
    sink->data_len = end;
    return TL_OK;
}

/*
 * {LE length, bytes} each: a walk over the lengths, then the copies, a block at a time so that the second pass finds the
 * bytes in the nearest cache. How much room all of them will need is guessed from the batch before.
 */
static tl_status plain_strings(tl_pq_values *v, int64_t n, tl_pq_sink *sink, tl_error *err)
{
    int32_t *ends = sink->offsets + sink->len + 1;
    const int64_t start = sink->data_len;
    TL_TRY(tl_pq__sink_reserve_data(sink, TL_MIN(n * v->bytes_per_string, v->end - v->p), err));
    for (int64_t from = 0; from < n; from += PIECE_VALUES) {
        int64_t to = TL_MIN(n, from + PIECE_VALUES), end = sink->data_len;
        const uint8_t *p = v->p;
        for (int64_t i = from; i < to; i++) {
            if (TL_UNLIKELY(v->end - p < 4))
                return ends_early(err);
            uint32_t len = tl_read_le32(p);
            if (TL_UNLIKELY(len > (size_t)(v->end - p - 4)))
                return ends_early(err);
            p += 4 + len;
            end += len;
            ends[i] = (int32_t)end;
        }
        TL_TRY(tl_pq__sink_reserve_data(sink, end - sink->data_len, err));
        p = v->p + 4;
        for (int64_t i = from; i < to; i++) {
            size_t len = (size_t)(ends[i] - ends[i - 1]);
            copy_string(sink->data + ends[i - 1], p, len);
            p += 4 + len;
        }
        v->p = p - 4;
        sink->data_len = end;
    }
    v->bytes_per_string = (sink->data_len - start) / n + 1;
    return TL_OK;
}

static tl_status delta_length_strings(tl_pq_values *v, int64_t n, tl_pq_sink *sink, tl_error *err)
{
    int32_t *ends = sink->offsets + sink->len + 1;
    TL_TRY(tl_pq__delta_i32(&v->delta, n, ends, err));
    int64_t end = sink->data_len, left = v->end - v->p;
    for (int64_t i = 0; i < n; i++) {
        if (ends[i] < 0 || ends[i] > left)
            return ends_early(err);
        left -= ends[i];
        end += ends[i];
        ends[i] = (int32_t)end;
    }
    size_t bytes = (size_t)(end - sink->data_len);
    TL_TRY(tl_pq__sink_reserve_data(sink, (int64_t)bytes, err));
    memcpy(sink->data + sink->data_len, v->p, bytes);
    v->p += bytes;
    sink->data_len = end;
    return TL_OK;
}

/* One value: a prefix of the value before it, and a suffix. */
static tl_status append_delta_string(tl_pq_values *v, tl_bytes_view prefix, int32_t suffix, tl_pq_sink *sink, tl_error *err)
{
    if (suffix < 0 || suffix > v->end - v->p)
        return ends_early(err);
    /* The prefix may lie in the sink, which moves when it grows. */
    bool is_inside = sink->data != NULL && prefix.data >= sink->data && prefix.data <= sink->data + sink->data_len;
    size_t at = is_inside ? (size_t)(prefix.data - sink->data) : 0;
    TL_TRY(tl_pq__sink_reserve_data(sink, (int64_t)prefix.len + suffix, err));
    uint8_t *to = sink->data + sink->data_len;
    if (prefix.len != 0)
        memcpy(to, is_inside ? sink->data + at : prefix.data, prefix.len);
    memcpy(to + prefix.len, v->p, (size_t)suffix);
    v->p += suffix;
    sink->data_len += (int64_t)prefix.len + suffix;
    return TL_OK;
}

static tl_status delta_strings(tl_pq_values *v, int64_t n, tl_pq_sink *sink, tl_error *err)
{
    int32_t prefixes[PIECE_VALUES], suffixes[PIECE_VALUES];
    int32_t *ends = sink->offsets + sink->len + 1;
    int64_t last_from = -1; /* in the sink; -1: the last value is in v->last */
    size_t last_len = v->last.len;
    for (int64_t done = 0; done < n;) {
        int64_t k = TL_MIN(n - done, PIECE_VALUES);
        TL_TRY(tl_pq__delta_i32(&v->delta, k, prefixes, err));
        TL_TRY(tl_pq__delta_i32(&v->suffixes, k, suffixes, err));
        for (int64_t i = 0; i < k; i++) {
            if (prefixes[i] < 0 || (size_t)prefixes[i] > last_len)
                return corrupt("a prefix is longer than the value before it", err);
            const uint8_t *last = last_from < 0 ? v->last.data : sink->data + last_from;
            int64_t from = sink->data_len;
            TL_TRY(append_delta_string(v, (tl_bytes_view){last, (size_t)prefixes[i]}, suffixes[i], sink, err));
            last_from = from;
            last_len = (size_t)(sink->data_len - from);
            ends[done + i] = (int32_t)sink->data_len;
        }
        done += k;
    }
    if (last_from < 0)
        return TL_OK;
    v->last.len = 0;
    return tl_buf_append(&v->last, sink->data + last_from, last_len) == TL_OK ? TL_OK : tl_nomem(err, "values");
}

/* Append n stored strings; the sink's width is 0. */
static tl_status read_strings(tl_pq_values *v, int64_t n, tl_pq_sink *sink, tl_error *err)
{
    tl_status status;
    TL_TRY(tl_pq__sink_reserve(sink, n, err));
    switch (v->encoding) {
    case TL_PQ_PLAIN:
        status = plain_strings(v, n, sink, err);
        break;
    case TL_PQ_RLE_DICTIONARY:
        status = dictionary_strings(v, n, sink, err);
        break;
    case TL_PQ_DELTA_LENGTH_BYTE_ARRAY:
        status = delta_length_strings(v, n, sink, err);
        break;
    case TL_PQ_DELTA_BYTE_ARRAY:
        status = delta_strings(v, n, sink, err);
        break;
    default:
        return tl_error_set(err, TL_E_UNSUPPORTED, "encoding %d of a string", (int)v->encoding);
    }
    if (status == TL_OK)
        sink->len += n;
    return status;
}

/* FIXED_LEN_BYTE_ARRAY as strings. */
static tl_status read_fixed_strings(tl_pq_values *v, int64_t n, tl_pq_sink *sink, tl_error *err)
{
    int64_t width = v->conv->src_width;
    TL_TRY(tl_pq__sink_reserve(sink, n, err));
    if (n > TL_PQ_BATCH_BYTES_MAX / width)
        return tl_error_set(err, TL_E_LIMIT, "strings of one batch take more than %lld bytes",
                            (long long)TL_PQ_BATCH_BYTES_MAX);
    TL_TRY(tl_pq__sink_reserve_data(sink, n * width, err));
    /* DELTA integers are never strings, so the sink's bytes need no alignment here. */
    TL_TRY(decode_fixed(v, n, sink->data + sink->data_len, err));
    for (int64_t i = 0; i < n; i++)
        sink->offsets[sink->len + i + 1] = (int32_t)(sink->data_len + (i + 1) * width);
    sink->data_len += n * width;
    sink->len += n;
    return TL_OK;
}

/* ---- reading ---- */

static tl_status convert_strings(tl_pq_values *v, int64_t n, uint8_t *out, tl_error *err)
{
    tl_pq_sink *strings = &v->strings;
    strings->len = strings->data_len = strings->width = 0;
    TL_TRY(read_strings(v, n, strings, err));
    return v->conv->strings(v->conv, strings->offsets, strings->data, out, n, err);
}

static tl_status convert_fixed(tl_pq_values *v, int64_t n, uint8_t *out, tl_error *err)
{
    size_t bytes;
    uint8_t *raw;
    if (!tl_mul_size((size_t)n, (size_t)v->conv->src_width, &bytes) || bytes > (size_t)TL_PQ_BATCH_BYTES_MAX)
        return tl_error_set(err, TL_E_LIMIT, "values of one batch take more than %lld bytes", (long long)TL_PQ_BATCH_BYTES_MAX);
    TL_TRY(scratch(&v->raw, bytes, &raw, err));
    TL_TRY(decode_fixed(v, n, raw, err));
    return v->conv->fixed(v->conv, raw, out, n, err);
}

static tl_status read_fixed(tl_pq_values *v, int64_t n, tl_pq_sink *sink, tl_error *err)
{
    const tl_pq_conversion *conv = v->conv;
    TL_TRY(tl_pq__sink_reserve(sink, n, err));
    uint8_t *out = sink->values + sink->len * sink->width;
    if (v->encoding == TL_PQ_RLE_DICTIONARY) {
        const uint32_t *indices;
        TL_TRY(read_indices(v, n, &indices, err));
        gather(v->dictionary->values, sink->width, indices, n, out);
    } else if (conv->strings != NULL) {
        TL_TRY(convert_strings(v, n, out, err));
    } else if (conv->fixed != NULL) {
        TL_TRY(convert_fixed(v, n, out, err));
    } else {
        TL_TRY(decode_fixed(v, n, out, err));
    }
    sink->len += n;
    return TL_OK;
}

tl_status tl_pq__values_read(tl_pq_values *values, int64_t n, tl_pq_sink *sink, tl_error *err)
{
    if (n == 0)
        return TL_OK;
    bool is_dictionary = values->encoding == TL_PQ_RLE_DICTIONARY;
    if (values->conv->dst_width != 0)
        TL_TRY(read_fixed(values, n, sink, err));
    else if (values->conv->src_width == 0 || is_dictionary)
        TL_TRY(read_strings(values, n, sink, err));
    else
        TL_TRY(read_fixed_strings(values, n, sink, err));
    values->pos += n;
    return TL_OK;
}

/* ---- skipping ---- */

static tl_status skip_plain(tl_pq_values *v, int64_t n, tl_error *err)
{
    if (v->type == TL_PQ_BOOLEAN)
        return v->pos + n > (v->end - v->p) * 8 ? ends_early(err) : TL_OK;
    if (v->type != TL_PQ_BYTE_ARRAY) {
        if (n > (v->end - v->p) / v->conv->src_width)
            return ends_early(err);
        v->p += n * v->conv->src_width;
        return TL_OK;
    }
    for (int64_t i = 0; i < n; i++) {
        if (v->end - v->p < 4 || tl_read_le32(v->p) > (size_t)(v->end - v->p - 4))
            return ends_early(err);
        v->p += 4 + (size_t)tl_read_le32(v->p);
    }
    return TL_OK;
}

static tl_status skip_lengths(tl_pq_values *v, int64_t n, tl_error *err)
{
    int32_t lengths[PIECE_VALUES];
    for (int64_t k; n > 0; n -= k) {
        k = TL_MIN(n, PIECE_VALUES);
        TL_TRY(tl_pq__delta_i32(&v->delta, k, lengths, err));
        for (int64_t i = 0; i < k; i++) {
            if (lengths[i] < 0 || lengths[i] > v->end - v->p)
                return ends_early(err);
            v->p += lengths[i];
        }
    }
    return TL_OK;
}

/* Prefixes make each value depend on the one before: they are decoded and dropped, some at a time. */
static tl_status skip_delta_strings(tl_pq_values *v, int64_t n, tl_error *err)
{
    for (int64_t k; n > 0; n -= k) {
        k = TL_MIN(n, PIECE_VALUES);
        v->strings.len = v->strings.data_len = v->strings.width = 0;
        TL_TRY(read_strings(v, k, &v->strings, err));
    }
    return TL_OK;
}

tl_status tl_pq__values_skip(tl_pq_values *values, int64_t n, tl_error *err)
{
    tl_status status = TL_OK;
    if (n == 0)
        return TL_OK;
    switch (values->encoding) {
    case TL_PQ_PLAIN:
        status = skip_plain(values, n, err);
        break;
    case TL_PQ_RLE_DICTIONARY:
    case TL_PQ_RLE:
        status = tl_pq__rle_skip(&values->rle, n) ? TL_OK : ends_early(err);
        break;
    case TL_PQ_DELTA_BINARY_PACKED:
        status = tl_pq__delta_skip(&values->delta, n, err);
        break;
    case TL_PQ_DELTA_LENGTH_BYTE_ARRAY:
        status = skip_lengths(values, n, err);
        break;
    case TL_PQ_DELTA_BYTE_ARRAY:
        status = skip_delta_strings(values, n, err);
        break;
    default: /* BYTE_STREAM_SPLIT has no state but the position, which is checked when values are taken */
        break;
    }
    values->pos += n;
    return status;
}

/* ---- dictionaries ---- */

static bool count_is_possible(const tl_pq_conversion *conv, const tl_pq_schema_element *el, size_t bytes, int64_t n)
{
    if (el->type == TL_PQ_BOOLEAN)
        return (uint64_t)n <= (uint64_t)bytes * 8;
    return (uint64_t)n <= bytes / (conv->src_width == 0 ? 4 : (size_t)conv->src_width);
}

tl_status tl_pq__values_plain(const tl_pq_conversion *conv, const tl_pq_schema_element *el, tl_bytes_view bytes, int64_t n,
                              tl_pq_dictionary *out, tl_error *err)
{
    if (!count_is_possible(conv, el, bytes.len, n))
        return corrupt("dictionary has fewer bytes than its values need", err);
    tl_pq_page page = {.header.data.encoding = TL_PQ_PLAIN, .values = bytes};
    tl_pq_values values = {0};
    tl_pq_sink sink = {.width = conv->dst_width};
    tl_status status = tl_pq__values_open(&values, conv, el, &page, NULL, err);
    if (status == TL_OK)
        status = tl_pq__values_read(&values, n, &sink, err);
    if (status == TL_OK) {
        *out = (tl_pq_dictionary){.n = (int32_t)n, .values = sink.values, .offsets = sink.offsets, .data = sink.data};
        for (int64_t i = 0; i < n && sink.offsets != NULL; i++)
            out->max_bytes = TL_MAX(out->max_bytes, sink.offsets[i + 1] - sink.offsets[i]);
    } else {
        tl_pq__sink_deinit(&sink);
    }
    tl_pq__values_deinit(&values);
    return status;
}
