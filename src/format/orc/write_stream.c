/* Streams in blocks, and the run length encodings in front of them. Source: ORC specification, "Run Length Encoding". */
#include "format/orc/write_private.h"

#define RUN_MIN 3           /* of bytes */
#define REPEATS_MIN 10      /* equal integers that are worth a run of their own */
#define SHORT_REPEAT_MAX 10

/* ---- blocks ---- */

void tl_orc__out_deinit(tl_orc_out *out)
{
    tl_buf_deinit(&out->plain);
    tl_buf_deinit(&out->done);
}

void tl_orc__out_reset(tl_orc_out *out)
{
    out->plain.len = out->done.len = 0;
}

static void put_header(uint8_t *to, size_t bytes, bool is_original)
{
    uint32_t header = (uint32_t)bytes << 1 | is_original;
    to[0] = (uint8_t)header;
    to[1] = (uint8_t)(header >> 8);
    to[2] = (uint8_t)(header >> 16);
}

tl_status tl_orc__out_flush(tl_orc_out *out, tl_error *err)
{
    uint8_t header[3] = {0};
    if (out->plain.len == 0 || out->compressor == NULL)
        return TL_OK;
    size_t at = out->done.len;
    if (tl_buf_append(&out->done, header, sizeof header) != TL_OK)
        return tl_nomem(err, "stream");
    TL_TRY(tl_compress(out->compressor, (tl_bytes_view){out->plain.data, out->plain.len}, &out->done, err));
    size_t packed = out->done.len - at - sizeof header;
    if (packed >= out->plain.len) {
        out->done.len = at + sizeof header;
        if (tl_buf_append(&out->done, out->plain.data, out->plain.len) != TL_OK)
            return tl_nomem(err, "stream");
        put_header(out->done.data + at, out->plain.len, true);
    } else {
        put_header(out->done.data + at, packed, false);
    }
    out->plain.len = 0;
    return TL_OK;
}

tl_status tl_orc__out_put(tl_orc_out *out, const void *data, size_t bytes, tl_error *err)
{
    if (out->compressor == NULL)
        return tl_buf_append(&out->done, data, bytes) == TL_OK ? TL_OK : tl_nomem(err, "stream");
    for (const uint8_t *p = data; bytes > 0;) {
        size_t piece = TL_MIN(bytes, TL_ORC_BLOCK_BYTES - out->plain.len);
        if (tl_buf_append(&out->plain, p, piece) != TL_OK)
            return tl_nomem(err, "stream");
        p += piece;
        bytes -= piece;
        if (out->plain.len == TL_ORC_BLOCK_BYTES)
            TL_TRY(tl_orc__out_flush(out, err));
    }
    return TL_OK;
}

int tl_orc__out_position(const tl_orc_out *out, uint64_t *to)
{
    to[0] = out->done.len;
    if (out->compressor == NULL)
        return 1;
    to[1] = out->plain.len;
    return 2;
}

/* ---- integers ---- */

static int bits_of(uint64_t v)
{
    return v == 0 ? 1 : 64 - __builtin_clzll(v);
}

/* The code of the smallest width that has one and holds `bits`. */
static int width_code(int bits, int *width)
{
    static const uint8_t wide[] = {26, 28, 30, 32, 40, 48, 56, 64};
    if (bits <= 24) {
        *width = bits;
        return bits - 1;
    }
    int i = 0;
    while (wide[i] < bits)
        i++;
    *width = wide[i];
    return 24 + i;
}

/*
 * The width that makes the smallest file: an entropy coder behind sees values only where they end with bytes, so of 3 and of 5 to 7
 * bits it makes less if they come as 4 and 8. Wider ones would mix their high and low bytes, which costs more than it gains.
 */
static int packed_bits(const tl_orc_ints_out *ints, int bits)
{
    if (ints->out.compressor == NULL || bits > 8)
        return bits;
    return bits > 4 ? 8 : bits == 3 ? 4 : bits;
}

/* As pack(), four bytes at a time; it may write three bytes too many. */
static size_t pack_narrow(const uint64_t *v, int32_t n, int width, uint8_t *to)
{
    uint64_t acc = 0;
    int held = 0;
    uint8_t *p = to;
    for (int32_t i = 0; i < n; i++) {
        acc = acc << width | v[i];
        held += width;
        if (held >= 32) {
            held -= 32;
            tl_write_be32(p, (uint32_t)(acc >> held));
            p += 4;
        }
    }
    if (held > 0)
        tl_write_be32(p, (uint32_t)(acc << (32 - held)));
    return (size_t)(p - to) + (size_t)(held + 7) / 8;
}

/* n values of `width` bits, the highest first. */
static size_t pack(const uint64_t *v, int32_t n, int width, uint8_t *to)
{
    if (width <= 32)
        return pack_narrow(v, n, width, to);
    unsigned __int128 acc = 0;
    int held = 0;
    uint8_t *p = to;
    for (int32_t i = 0; i < n; i++) {
        acc = acc << width | v[i];
        for (held += width; held >= 8; held -= 8)
            *p++ = (uint8_t)(acc >> (held - 8));
    }
    if (held > 0)
        *p++ = (uint8_t)(acc << (8 - held));
    return (size_t)(p - to);
}

static uint64_t coded(const tl_orc_ints_out *ints, int64_t v)
{
    return ints->is_signed ? tl_zigzag64(v) : (uint64_t)v;
}

static size_t put_long_header(uint8_t *to, unsigned encoding, int code, int32_t n)
{
    to[0] = (uint8_t)(encoding << 6 | (unsigned)code << 1 | (unsigned)(n - 1) >> 8);
    to[1] = (uint8_t)(n - 1);
    return 2;
}

static tl_status put_repeat(tl_orc_ints_out *ints, int64_t value, int32_t n, tl_error *err)
{
    uint8_t run[24];
    uint64_t v = coded(ints, value);
    size_t len = 1;
    if (n > SHORT_REPEAT_MAX) {
        len = put_long_header(run, 3, 0, n);
        len += tl_varint_encode(v, run + len);
        run[len++] = 0; /* the step */
        return tl_orc__out_put(&ints->out, run, len, err);
    }
    int bytes = (bits_of(v) + 7) / 8;
    run[0] = (uint8_t)((bytes - 1) << 3 | (n - 3));
    for (int b = bytes - 1; b >= 0; b--)
        run[len++] = (uint8_t)(v >> (8 * b));
    return tl_orc__out_put(&ints->out, run, len, err);
}

static tl_status put_direct(tl_orc_ints_out *ints, const int64_t *v, int32_t n, tl_error *err)
{
    uint8_t run[TL_ORC_RUN_MAX * 8 + 8];
    uint64_t values[TL_ORC_RUN_MAX], all = 0;
    for (int32_t i = 0; i < n; i++)
        all |= values[i] = coded(ints, v[i]);
    int width, code = width_code(packed_bits(ints, bits_of(all)), &width);
    size_t len = put_long_header(run, 1, code, n);
    len += pack(values, n, width, run + len);
    return tl_orc__out_put(&ints->out, run, len, err);
}

/* Steps between the values if all go one way: their sizes from the third value on, and the widest. False if they do not. */
static bool steps_of(const int64_t *v, int32_t n, int64_t *first, uint64_t *steps, uint64_t *all, bool *is_fixed)
{
    int64_t step;
    if (n < 3 || __builtin_sub_overflow(v[1], v[0], first))
        return false;
    *all = 0;
    *is_fixed = true;
    for (int32_t i = 2; i < n; i++) {
        if (__builtin_sub_overflow(v[i], v[i - 1], &step) || step == INT64_MIN || (*first < 0 ? step > 0 : step < 0))
            return false;
        *is_fixed &= step == *first;
        steps[i - 2] = (uint64_t)(step < 0 ? -step : step);
        *all |= steps[i - 2];
    }
    return true;
}

/* *done is false if values as they are take less. */
static tl_status put_steps(tl_orc_ints_out *ints, const int64_t *v, int32_t n, bool *done, tl_error *err)
{
    uint8_t run[TL_ORC_RUN_MAX * 8 + 32];
    uint64_t steps[TL_ORC_RUN_MAX], all, plain = 0;
    int64_t first;
    bool is_fixed;
    *done = false;
    if (!steps_of(v, n, &first, steps, &all, &is_fixed))
        return TL_OK;
    for (int32_t i = 0; i < n; i++)
        plain |= coded(ints, v[i]);
    int width = 0, code = is_fixed ? 0 : width_code(packed_bits(ints, TL_MAX(bits_of(all), 2)), &width);
    if (width * (n - 2) + 80 > bits_of(plain) * n && !(is_fixed && n > 8))
        return TL_OK;
    size_t len = put_long_header(run, 3, code, n);
    len += tl_varint_encode(coded(ints, v[0]), run + len);
    len += tl_varint_encode(tl_zigzag64(first), run + len);
    if (!is_fixed)
        len += pack(steps, n - 2, width, run + len);
    *done = true;
    return tl_orc__out_put(&ints->out, run, len, err);
}

static tl_status put_values(tl_orc_ints_out *ints, const int64_t *v, int32_t n, tl_error *err)
{
    bool done = n == 0;
    if (n > 0)
        TL_TRY(put_steps(ints, v, n, &done, err));
    return done ? TL_OK : put_direct(ints, v, n, err);
}

tl_status tl_orc__ints_flush(tl_orc_ints_out *ints, tl_error *err)
{
    const int64_t *v = ints->pending;
    int32_t n = ints->n, from = 0;
    for (int32_t i = 0, next; i < n; i = next) {
        for (next = i + 1; next < n && v[next] == v[i]; next++)
            continue;
        if (next - i < REPEATS_MIN && !(next - i >= 3 && i == 0 && next == n))
            continue;
        TL_TRY(put_values(ints, v + from, i - from, err));
        TL_TRY(put_repeat(ints, v[i], next - i, err));
        from = next;
    }
    TL_TRY(put_values(ints, v + from, n - from, err));
    ints->n = 0;
    return TL_OK;
}

tl_status tl_orc__ints_put_all(tl_orc_ints_out *ints, const int64_t *v, int64_t n, tl_error *err)
{
    for (int64_t piece; n > 0; v += piece, n -= piece) {
        piece = TL_MIN(n, (int64_t)(TL_ORC_RUN_MAX - ints->n));
        memcpy(ints->pending + ints->n, v, (size_t)piece * sizeof *v);
        ints->n += (int32_t)piece;
        if (ints->n == TL_ORC_RUN_MAX)
            TL_TRY(tl_orc__ints_flush(ints, err));
    }
    return TL_OK;
}

int tl_orc__ints_position(const tl_orc_ints_out *ints, uint64_t *to)
{
    int n = tl_orc__out_position(&ints->out, to);
    to[n] = (uint64_t)ints->n;
    return n + 1;
}

/* ---- bytes ---- */

static tl_status put_literals(tl_orc_octets_out *octets, const uint8_t *v, int32_t n, tl_error *err)
{
    uint8_t head = (uint8_t)-n;
    if (n == 0)
        return TL_OK;
    TL_TRY(tl_orc__out_put(&octets->out, &head, 1, err));
    return tl_orc__out_put(&octets->out, v, (size_t)n, err);
}

tl_status tl_orc__octets_flush(tl_orc_octets_out *octets, tl_error *err)
{
    const uint8_t *v = octets->pending;
    int32_t n = octets->n, from = 0;
    for (int32_t i = 0, next; i < n; i = next) {
        for (next = i + 1; next < n && v[next] == v[i]; next++)
            continue;
        if (next - i < RUN_MIN)
            continue;
        TL_TRY(put_literals(octets, v + from, i - from, err));
        uint8_t run[2] = {(uint8_t)(next - i - RUN_MIN), v[i]};
        TL_TRY(tl_orc__out_put(&octets->out, run, 2, err));
        from = next;
    }
    octets->n = 0;
    return put_literals(octets, v + from, n - from, err);
}

int tl_orc__octets_position(const tl_orc_octets_out *octets, uint64_t *to)
{
    int n = tl_orc__out_position(&octets->out, to);
    to[n] = (uint64_t)octets->n;
    return n + 1;
}

tl_status tl_orc__bits_put_ones(tl_orc_bits_out *bits, int64_t n, tl_error *err)
{
    for (; n > 0 && bits->n > 0; n--)
        TL_TRY(tl_orc__bits_put(bits, true, err));
    for (; n >= 8; n -= 8)
        TL_TRY(tl_orc__octets_put(&bits->octets, 0xff, err));
    for (; n > 0; n--)
        TL_TRY(tl_orc__bits_put(bits, true, err));
    return TL_OK;
}

tl_status tl_orc__bits_flush(tl_orc_bits_out *bits, tl_error *err)
{
    if (bits->n > 0)
        TL_TRY(tl_orc__octets_put(&bits->octets, (uint8_t)(bits->bits << (8 - bits->n)), err));
    bits->n = 0;
    return tl_orc__octets_flush(&bits->octets, err);
}

int tl_orc__bits_position(const tl_orc_bits_out *bits, uint64_t *to)
{
    int n = tl_orc__octets_position(&bits->octets, to);
    to[n] = (uint64_t)bits->n;
    return n + 1;
}
