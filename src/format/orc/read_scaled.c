/*
 * Decimals and timestamps: values of two streams each. What is usual (all scales the column's, numbers of up to eight bytes, UTC) goes
 * straight into the column. As in read_column.c, the values that are there come to lie side by side at its front.
 */
#include "format/orc/read_private.h"

/* ---- decimals ---- */

/* A zigzag number of up to 128 bits, seven at a time. */
static tl_status read_wide(tl_orc_in *in, tl_i128 *out, tl_error *err)
{
    unsigned __int128 v = 0;
    TL_TRY(tl_orc__in_need(in, 19, err));
    for (int shift = 0; in->p < in->end; shift += 7) {
        uint8_t octet = *in->p++;
        if (shift > 126 || (shift == 126 && octet > 3))
            return tl_error_set(err, TL_E_CORRUPT, "a decimal has more than 128 bits");
        v |= (unsigned __int128)(octet & 127) << shift;
        if (octet < 128) {
            *out = (tl_i128)(v >> 1) ^ -(tl_i128)(v & 1);
            return TL_OK;
        }
    }
    return tl_orc__truncated(err);
}

/* k numbers that must fit in 64 bits; *ok becomes false if one does not. */
static tl_status read_narrow(tl_orc_in *in, int64_t *to, int64_t k, bool *ok, tl_error *err)
{
    for (int64_t j = 0; j < k;) {
        const uint8_t *p = in->p, *end = in->end;
        for (unsigned bytes; j < k && end - p >= 8; p += bytes, j++) {
            uint64_t head = tl_read_le64(p);
            if ((bytes = tl_varint_head_bytes(head)) == 0)
                break;
            to[j] = tl_unzigzag64(tl_varint_head_value(head, bytes));
        }
        in->p = p;
        if (j == k)
            break;
        tl_i128 wide; /* longer, or at the end of a block */
        TL_TRY(read_wide(in, &wide, err));
        to[j] = (int64_t)wide;
        *ok &= to[j++] == wide;
    }
    return TL_OK;
}

/* To another scale; digits that fall off are rounded half up. False if it does not fit in 128 bits. */
static bool rescale(tl_i128 *v, int64_t from, int64_t to)
{
    if (from > to + 39 || from < to - 39)
        return *v == 0;
    for (; from < to; from++)
        if (__builtin_mul_overflow(*v, (tl_i128)10, v))
            return false;
    int digit = 0;
    for (; from > to; from--) {
        digit = (int)(*v % 10);
        *v /= 10;
    }
    *v += digit >= 5 ? 1 : digit <= -5 ? -1 : 0;
    return true;
}

/* False if a value does not fit the column. */
static bool put_decimals(const tl_orc_node *node, tl_column *col, const tl_i128 *v, int64_t k)
{
    if (node->phys == TL_PHYS_I128) {
        if (k > 0)
            memcpy(col->values, v, (size_t)k * sizeof *v);
        return true;
    }
    bool ok = true;
    int64_t *to = col->values;
    for (int64_t j = 0; j < k; j++) {
        to[j] = (int64_t)v[j];
        ok &= to[j] == v[j];
    }
    return ok;
}

static bool all_are(const int64_t *v, int64_t k, int64_t value)
{
    int64_t differ = 0;
    for (int64_t j = 0; j < k; j++)
        differ |= v[j] ^ value;
    return differ == 0;
}

tl_status tl_orc__read_decimals(tl_orc_node *node, tl_column *col, int64_t k, tl_error *err)
{
    tl_i128 *v;
    int64_t *scales;
    bool ok = true;
    TL_TRY(tl_orc__scratch(node, 1, k, sizeof *scales, &scales, err));
    TL_TRY(tl_orc__ints_read(node->op == TL_ORC_OP_DECIMAL64 ? &node->ints : &node->lengths, scales, k, err));
    if (node->op == TL_ORC_OP_DECIMAL && node->phys == TL_PHYS_I64 && all_are(scales, k, node->want->scale)) {
        TL_TRY(read_narrow(&node->data, col->values, k, &ok, err));
        return ok ? TL_OK : tl_orc__out_of_range(node, err);
    }
    TL_TRY(tl_orc__scratch(node, 0, k, sizeof *v, &v, err));
    for (int64_t j = 0; j < k; j++) {
        int64_t scale = scales[j];
        if (node->op == TL_ORC_OP_DECIMAL64) { /* its number, and the type's scale */
            v[j] = scales[j];
            scale = node->type->scale;
        } else {
            TL_TRY(read_wide(&node->data, &v[j], err));
        }
        if (scale != node->want->scale)
            ok &= rescale(&v[j], scale, node->want->scale);
    }
    return ok && put_decimals(node, col, v, k) ? TL_OK : tl_orc__out_of_range(node, err);
}

tl_status tl_orc__skip_decimals(tl_orc_node *node, int64_t k, tl_error *err)
{
    tl_i128 dropped;
    if (node->op == TL_ORC_OP_DECIMAL64)
        return tl_orc__ints_skip(&node->ints, k, err);
    for (int64_t j = 0; j < k; j++)
        TL_TRY(read_wide(&node->data, &dropped, err));
    return tl_orc__ints_skip(&node->lengths, k, err);
}

/* ---- timestamps ---- */

/* The low three bits tell how many zeros were taken off the end: 0, or one less than there were. */
static inline int64_t nanos_of(int64_t coded)
{
    static const int32_t pow10[] = {1, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};
    return (int64_t)((uint64_t)coded >> 3) * pow10[coded & 7];
}

/*
 * Seconds of the wall clock, as if it were UTC. Before 1970 the writer cuts towards zero what has whole milliseconds, and the
 * reference's readers undo it so; in the second before 1970 that cannot be told, and they read it one second late, as we do.
 */
static inline int64_t wall_seconds(const tl_orc_zone *zone, int64_t base, int64_t stored, int64_t nanos)
{
    int64_t seconds = (int64_t)((uint64_t)stored + (uint64_t)base);
    if (seconds < 0 && nanos > 999999)
        seconds--;
    return zone == NULL ? seconds : (int64_t)((uint64_t)seconds + (uint64_t)(int64_t)tl_orc__zone_offset(zone, seconds));
}

/* Seconds and coded nanoseconds of k values, and the seconds that the former are counted from. */
typedef struct times {
    const tl_orc_zone *zone;
    int64_t base;
    const int64_t *seconds;
    const int64_t *nanos;
    int64_t k;
} times;

/* In each: false if a value is out of range. */
static bool put_ts96(const times *t, tl_ts96 *to)
{
    bool ok = true;
    for (int64_t j = 0; j < t->k; j++) {
        int64_t nano = nanos_of(t->nanos[j]), out;
        ok &= (uint64_t)nano < 1000000000 &&
              !__builtin_mul_overflow(wall_seconds(t->zone, t->base, t->seconds[j], nano), (int64_t)1000, &out) &&
              !__builtin_add_overflow(out, nano / 1000000, &out);
        to[j] = ok ? (tl_ts96){out, (int32_t)(nano % 1000000), 0} : (tl_ts96){0};
    }
    return ok;
}

/* `ticks` a second is a constant wherever this is inlined: division by what is not known costs more than all the rest. */
static inline __attribute__((always_inline)) bool put_ticks(const times *t, int64_t *to, const int64_t ticks)
{
    bool ok = true;
    for (int64_t j = 0; j < t->k; j++) {
        int64_t nano = nanos_of(t->nanos[j]);
        bool fits = !__builtin_mul_overflow(wall_seconds(t->zone, t->base, t->seconds[j], nano), ticks, &to[j]);
        fits &= !__builtin_add_overflow(to[j], (int64_t)((uint64_t)nano / (uint64_t)(1000000000 / ticks)), &to[j]);
        ok &= fits & ((uint64_t)nano < 1000000000);
    }
    return ok;
}

tl_status tl_orc__read_timestamps(tl_orc_node *node, tl_column *col, int64_t k, tl_error *err)
{
    int64_t *seconds, *nanos, base = TL_ORC_EPOCH_2015;
    if (node->zone != NULL)
        base -= tl_orc__zone_offset(node->zone, base - tl_orc__zone_offset(node->zone, base));
    TL_TRY(tl_orc__scratch(node, 0, k, sizeof *seconds, &seconds, err));
    TL_TRY(tl_orc__scratch(node, 1, k, sizeof *nanos, &nanos, err));
    TL_TRY(tl_orc__ints_read(&node->ints, seconds, k, err));
    TL_TRY(tl_orc__ints_read(&node->lengths, nanos, k, err));
    times t = {node->zone, base, seconds, nanos, k};
    bool ok = node->phys == TL_PHYS_TS96        ? put_ts96(&t, col->values)
              : node->want->precision <= 3 ? put_ticks(&t, col->values, 1000)
                                                : put_ticks(&t, col->values, 1000000);
    return ok ? TL_OK : tl_orc__out_of_range(node, err);
}
