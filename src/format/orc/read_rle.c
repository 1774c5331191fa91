/*
 * Run length encodings of integers (versions 1 and 2), bytes and booleans. A run is decoded as a whole: its bytes are made to lie
 * in one piece first. Source: ORC specification, "Run Length Encoding".
 */
#include "format/orc/read_private.h"

/* The longest run: PATCHED_BASE with its header, 512 values and 31 patches of 8 bytes. */
#define RUN_BYTES_MAX 4608
#define V1_RUN_MIN 3

static tl_status malformed(tl_error *err)
{
    return tl_error_set(err, TL_E_CORRUPT, "malformed run of integers");
}

/* ---- bits, the highest first ---- */

/* n values of `width` bits (1 to 64); false if the bytes do not suffice. */
static bool unpack(const uint8_t **at, const uint8_t *end, int width, int64_t *restrict dst, int32_t n)
{
    const uint8_t *p = *at;
    size_t bytes = ((size_t)width * (size_t)n + 7) / 8;
    if ((size_t)(end - p) < bytes)
        return false;
    *at = p + bytes;
    int32_t i = 0;
    if (width == 8) {
        for (; i < n; i++)
            dst[i] = p[i];
    } else if (width == 16) {
        for (; i < n; i++)
            dst[i] = tl_read_be16(p + 2 * i);
    } else if (width == 32) {
        for (; i < n; i++)
            dst[i] = tl_read_be32(p + 4 * i);
    } else if (width <= 57) {
        size_t bit = 0;
        for (; i < n && (bit >> 3) + 8 <= (size_t)(end - p); i++, bit += (size_t)width)
            dst[i] = (int64_t)((tl_read_be64(p + (bit >> 3)) << (bit & 7)) >> (64 - width));
    }
    for (; i < n; i++) {
        uint64_t v = 0;
        size_t bit = (size_t)i * (size_t)width;
        for (int got = 0; got < width;) {
            int in_byte = 8 - (int)(bit & 7), take = TL_MIN(in_byte, width - got);
            v = v << take | ((p[bit >> 3] >> (in_byte - take)) & ((1u << take) - 1));
            got += take;
            bit += (size_t)take;
        }
        dst[i] = (int64_t)v;
    }
    return true;
}

static int width_of(int code)
{
    static const uint8_t wide[] = {26, 28, 30, 32, 40, 48, 56, 64};
    return code < 24 ? code + 1 : wide[code - 24];
}

/* The next width that there is a code for. */
static int closest_width(int bits)
{
    for (int code = 0; code < 32; code++)
        if (width_of(code) >= bits)
            return width_of(code);
    return 64;
}

static bool big_endian(const uint8_t **at, const uint8_t *end, int bytes, uint64_t *out)
{
    if (end - *at < bytes)
        return false;
    for (*out = 0; bytes > 0; bytes--)
        *out = *out << 8 | *(*at)++;
    return true;
}

static bool varint(const uint8_t **at, const uint8_t *end, bool is_signed, int64_t *out)
{
    uint64_t v;
    size_t n = tl_varint_decode(*at, end, &v);
    *at += n;
    *out = is_signed ? tl_unzigzag64(v) : (int64_t)v;
    return n != 0;
}

/* ---- version 2 ---- */

typedef struct run_in {
    const uint8_t *p;
    const uint8_t *end;
    bool is_signed;
} run_in;

static bool short_repeat(run_in *in, int64_t *dst, int32_t *n)
{
    uint8_t head = *in->p++;
    uint64_t v;
    if (!big_endian(&in->p, in->end, (head >> 3 & 7) + 1, &v))
        return false;
    *n = (head & 7) + 3;
    for (int32_t i = 0; i < *n; i++)
        dst[i] = in->is_signed ? tl_unzigzag64(v) : (int64_t)v;
    return true;
}

static bool long_header(run_in *in, int *width_code, int32_t *n)
{
    if (in->end - in->p < 2)
        return false;
    *width_code = in->p[0] >> 1 & 31;
    *n = ((in->p[0] & 1) << 8 | in->p[1]) + 1;
    in->p += 2;
    return true;
}

static bool direct(run_in *in, int64_t *dst, int32_t *n)
{
    int code;
    if (!long_header(in, &code, n) || !unpack(&in->p, in->end, width_of(code), dst, *n))
        return false;
    for (int32_t i = 0; in->is_signed && i < *n; i++)
        dst[i] = tl_unzigzag64((uint64_t)dst[i]);
    return true;
}

static bool patched_base(run_in *in, int64_t *dst, int32_t *n)
{
    int code;
    if (!long_header(in, &code, n) || in->end - in->p < 2)
        return false;
    int width = width_of(code), base_bytes = (in->p[0] >> 5) + 1, patch_width = width_of(in->p[0] & 31);
    int gap_width = (in->p[1] >> 5) + 1, n_patches = in->p[1] & 31;
    in->p += 2;
    uint64_t base, sign = UINT64_C(1) << (base_bytes * 8 - 1);
    if (!big_endian(&in->p, in->end, base_bytes, &base) || !unpack(&in->p, in->end, width, dst, *n))
        return false;
    if ((base & sign) != 0)
        base = -(base & (sign - 1));
    int64_t patches[32];
    if (gap_width + patch_width > 64 ||
        !unpack(&in->p, in->end, closest_width(gap_width + patch_width), patches, n_patches))
        return false;
    int64_t at = 0;
    for (int i = 0; i < n_patches; i++) {
        uint64_t entry = (uint64_t)patches[i];
        at += patch_width == 64 ? 0 : (int64_t)(entry >> patch_width);
        uint64_t patch = patch_width == 64 ? entry : entry & ((UINT64_C(1) << patch_width) - 1);
        if (at >= *n || (patch != 0 && width == 64))
            return false;
        if (patch != 0) /* else it only lengthens the gap */
            dst[at] = (int64_t)((uint64_t)dst[at] | patch << width);
    }
    for (int32_t i = 0; i < *n; i++)
        dst[i] = (int64_t)((uint64_t)dst[i] + base);
    return true;
}

static bool delta(run_in *in, int64_t *dst, int32_t *n)
{
    int code;
    int64_t step;
    if (!long_header(in, &code, n) || !varint(&in->p, in->end, in->is_signed, &dst[0]) ||
        !varint(&in->p, in->end, true, &step))
        return false;
    if (code == 0) {
        for (int32_t i = 1; i < *n; i++)
            dst[i] = (int64_t)((uint64_t)dst[i - 1] + (uint64_t)step);
        return true;
    }
    if (*n < 2 || !unpack(&in->p, in->end, width_of(code), dst + 2, *n - 2))
        return *n == 1;
    dst[1] = (int64_t)((uint64_t)dst[0] + (uint64_t)step);
    uint64_t sum = (uint64_t)dst[1];
    for (int32_t i = 2; i < *n; i++) {
        sum = step < 0 ? sum - (uint64_t)dst[i] : sum + (uint64_t)dst[i];
        dst[i] = (int64_t)sum;
    }
    return true;
}

/* ---- version 1 ---- */

static bool run_v1(run_in *in, int64_t *dst, int32_t *n)
{
    int8_t head = (int8_t)*in->p++;
    if (head < 0) {
        *n = -(int32_t)head;
        for (int32_t i = 0; i < *n; i++)
            if (!varint(&in->p, in->end, in->is_signed, &dst[i]))
                return false;
        return true;
    }
    *n = head + V1_RUN_MIN;
    if (in->p == in->end)
        return false;
    int64_t step = (int8_t)*in->p++;
    if (!varint(&in->p, in->end, in->is_signed, &dst[0]))
        return false;
    for (int32_t i = 1; i < *n; i++)
        dst[i] = (int64_t)((uint64_t)dst[i - 1] + (uint64_t)step);
    return true;
}

/* ---- integers ---- */

/* The next run into dst, which has room for TL_ORC_RUN_MAX values. */
static tl_status next_run(tl_orc_ints *ints, int64_t *dst, int32_t *n, tl_error *err)
{
    TL_TRY(tl_orc__in_need(&ints->in, RUN_BYTES_MAX, err));
    run_in in = {ints->in.p, ints->in.end, ints->is_signed};
    if (in.p == in.end)
        return tl_orc__truncated(err);
    static bool (*const v2[])(run_in *, int64_t *, int32_t *) = {short_repeat, direct, patched_base, delta};
    bool ok = ints->is_v2 ? v2[*in.p >> 6](&in, dst, n) : run_v1(&in, dst, n);
    ints->in.p = in.p;
    return ok ? TL_OK : malformed(err);
}

tl_status tl_orc__ints_read(tl_orc_ints *ints, int64_t *dst, int64_t n, tl_error *err)
{
    while (n > 0) {
        if (ints->taken == ints->n && n >= TL_ORC_RUN_MAX) { /* without the detour */
            int32_t got;
            TL_TRY(next_run(ints, dst, &got, err));
            dst += got;
            n -= got;
            continue;
        }
        if (ints->taken == ints->n) {
            ints->taken = ints->n = 0;
            TL_TRY(next_run(ints, ints->run, &ints->n, err));
        }
        int64_t piece = TL_MIN(n, (int64_t)(ints->n - ints->taken));
        memcpy(dst, ints->run + ints->taken, (size_t)piece * sizeof *dst);
        ints->taken += (int32_t)piece;
        dst += piece;
        n -= piece;
    }
    return TL_OK;
}

/* If a packed run of at most `max` values comes next, pass over it; *n is 0 if none does. */
static tl_status pass_run(tl_orc_ints *ints, int64_t max, int32_t *n, tl_error *err)
{
    enum { DIRECT = 1 };
    tl_orc_in *in = &ints->in;
    int code;
    *n = 0;
    TL_TRY(tl_orc__in_need(in, RUN_BYTES_MAX, err));
    run_in run = {in->p, in->end, ints->is_signed};
    if (!ints->is_v2 || in->p == in->end || *in->p >> 6 != DIRECT || !long_header(&run, &code, n))
        return TL_OK;
    size_t bytes = ((size_t)width_of(code) * (size_t)*n + 7) / 8;
    if (*n > max || bytes > (size_t)(run.end - run.p))
        *n = 0;
    else
        in->p = run.p + bytes;
    return TL_OK;
}

tl_status tl_orc__ints_skip(tl_orc_ints *ints, int64_t n, tl_error *err)
{
    while (n > 0) {
        int32_t piece = 0;
        if (ints->taken == ints->n)
            TL_TRY(pass_run(ints, n, &piece, err));
        if (piece == 0) {
            if (ints->taken == ints->n) {
                ints->taken = ints->n = 0;
                TL_TRY(next_run(ints, ints->run, &ints->n, err));
            }
            piece = (int32_t)TL_MIN(n, (int64_t)(ints->n - ints->taken));
            ints->taken += piece;
        }
        n -= piece;
    }
    return TL_OK;
}

tl_status tl_orc__ints_seek(tl_orc_ints *ints, tl_orc_positions *pos, tl_error *err)
{
    int64_t skip;
    TL_TRY(tl_orc__in_seek(&ints->in, pos, err));
    TL_TRY(tl_orc__positions_next(pos, &skip, err));
    ints->n = ints->taken = 0;
    if (skip > 2 * TL_ORC_RUN_MAX)
        return malformed(err);
    while (skip > 0) { /* writers may end a run early, and count on */
        TL_TRY(next_run(ints, ints->run, &ints->n, err));
        ints->taken = (int32_t)TL_MIN(skip, (int64_t)ints->n);
        skip -= ints->taken;
    }
    return TL_OK;
}

/* ---- bytes ---- */

static tl_status next_octets(tl_orc_octets *octets, tl_error *err)
{
    uint8_t head;
    TL_TRY(tl_orc__in_read(&octets->in, &head, 1, err));
    octets->is_repeat = head < 128;
    octets->left = octets->is_repeat ? head + V1_RUN_MIN : 256 - head;
    return octets->is_repeat ? tl_orc__in_read(&octets->in, &octets->value, 1, err) : TL_OK;
}

tl_status tl_orc__octets_read(tl_orc_octets *octets, uint8_t *dst, int64_t n, tl_error *err)
{
    while (n > 0) {
        if (octets->left == 0)
            TL_TRY(next_octets(octets, err));
        size_t piece = (size_t)TL_MIN(n, (int64_t)octets->left);
        if (octets->is_repeat)
            memset(dst, octets->value, piece);
        else
            TL_TRY(tl_orc__in_read(&octets->in, dst, piece, err));
        octets->left -= (int32_t)piece;
        dst += piece;
        n -= (int64_t)piece;
    }
    return TL_OK;
}

tl_status tl_orc__octets_seek(tl_orc_octets *octets, tl_orc_positions *pos, tl_error *err)
{
    int64_t skip;
    uint8_t skipped[256];
    TL_TRY(tl_orc__in_seek(&octets->in, pos, err));
    TL_TRY(tl_orc__positions_next(pos, &skip, err));
    octets->left = 0;
    return skip > (int64_t)sizeof skipped ? malformed(err) : tl_orc__octets_read(octets, skipped, skip, err);
}

/* ---- booleans ---- */

static uint32_t reverse_bits(uint8_t v)
{
    v = (uint8_t)(v >> 4 | v << 4);
    v = (uint8_t)((v & 0xcc) >> 2 | (v & 0x33) << 2);
    return (uint8_t)((v & 0xaa) >> 1 | (v & 0x55) << 1);
}

/* Whole bytes at once. */
static tl_status read_whole(tl_orc_bits *bits, uint8_t *bitmap, int64_t n_octets, tl_error *err)
{
    TL_TRY(tl_orc__octets_read(&bits->octets, bitmap, n_octets, err));
    for (int64_t i = 0; i < n_octets; i++)
        bitmap[i] = (uint8_t)reverse_bits(bitmap[i]);
    return TL_OK;
}

tl_status tl_orc__bits_read(tl_orc_bits *bits, uint8_t *bitmap, int64_t n, tl_error *err)
{
    memset(bitmap, 0, tl_bitmap_bytes(n));
    for (int64_t i = 0; i < n;) {
        if (bits->left == 0 && (i & 7) == 0 && n - i >= 8) {
            TL_TRY(read_whole(bits, bitmap + i / 8, (n - i) / 8, err));
            i += (n - i) / 8 * 8;
            continue;
        }
        if (bits->left == 0) {
            uint8_t octet;
            TL_TRY(tl_orc__octets_read(&bits->octets, &octet, 1, err));
            bits->bits = reverse_bits(octet);
            bits->left = 8;
        }
        int take = (int)TL_MIN(TL_MIN((int64_t)bits->left, n - i), 8 - (i & 7));
        bitmap[i >> 3] |= (uint8_t)((bits->bits & ((1u << take) - 1)) << (i & 7));
        bits->bits >>= take;
        bits->left -= take;
        i += take;
    }
    return TL_OK;
}

tl_status tl_orc__bits_seek(tl_orc_bits *bits, tl_orc_positions *pos, tl_error *err)
{
    int64_t skip;
    uint8_t skipped[1];
    TL_TRY(tl_orc__octets_seek(&bits->octets, pos, err));
    TL_TRY(tl_orc__positions_next(pos, &skip, err));
    bits->left = 0;
    return skip > 8 ? malformed(err) : tl_orc__bits_read(bits, skipped, skip, err);
}
