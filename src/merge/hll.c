/*
 * Union of HLL sketches (Apache DataSketches, HLL family), little-endian:
 *
 *   u8 preamble length in 4-byte words, u8 serial version (1), u8 family (7), u8 log2 k (4..21)
 *   u8 log2 of the array (list, set, exceptions), u8 flags (04 empty, 08 compact, 10 out of order, 20 to be rebuilt)
 *   u8 coupons in a list or smallest value (HLL), u8 mode: bits 0-1 LIST, SET, HLL; bits 2-3 HLL_4, HLL_6, HLL_8
 *   LIST  coupons (u32: 6 bits of value, 26 bits of slot)
 *   SET   u32 number, coupons (compact), or the hash table
 *   HLL   f64 HIP accumulator, f64 KxQ0, f64 KxQ1, u32 slots at the smallest value, u32 exceptions, the slots of 4, 6 or 8
 *         bits, then (HLL_4) the exceptions as coupons: slots whose nibble is 15
 *
 * The reference takes the new value's sketch as the union's state and merges the accumulated one into it; the result is an
 * HLL_4 in compact form. Coupons keep the order of the library's tables and the HIP accumulator the order of its additions,
 * so all of it is done in the library's order here. Sources: Union, HllSketch, CouponList, CouponHashSet, HllArray,
 * Conversions, HeapAuxHashMap of datasketches-java 4.2.
 */
#include "base/bits.h"
#include "merge/sketch.h"

#define LG_K_MIN 4
#define LG_K_MAX 21
#define LIST_SIZE 8
#define LG_SET_SIZE_MIN 5
#define HLL_HEADER 40
#define SLOT_MASK 0x3ffffffu
#define AUX_TOKEN 15

enum { FLAG_EMPTY = 4, FLAG_COMPACT = 8, FLAG_OUT_OF_ORDER = 16, FLAG_REBUILD = 32 };
typedef enum hll_mode { MODE_LIST, MODE_SET, MODE_HLL } hll_mode;
enum { TYPE_4, TYPE_6, TYPE_8 };

/* Coupons in a list or hash table, or one value a slot. */
typedef struct hll {
    hll_mode mode;
    int lg_k;
    int type;          /* of the form that was read */
    uint32_t *coupons; /* 0: empty place */
    int lg_size;
    uint32_t count;
    uint8_t *values;
    bool out_of_order;
    bool rebuild; /* KxQ does not belong to the values */
    double hip, kxq0, kxq1;
} hll;

typedef struct work {
    tl_arena *arena;
    tl_error *err;
} work;

static tl_status corrupt(const work *w, const char *what)
{
    return tl_error_set(w->err, TL_E_CORRUPT, "HLL sketch: %s", what);
}

static tl_status nomem(const work *w)
{
    return tl_nomem(w->err, "HLL sketch");
}

/* ---- slots ---- */

static double inverse_power(int v)
{
    uint64_t bits = (uint64_t)(1023 - v) << 52;
    double result;
    memcpy(&result, &bits, sizeof result);
    return result;
}

static void count_value(hll *h, int old_value, int new_value)
{
    h->hip += (double)(1 << h->lg_k) / (h->kxq0 + h->kxq1);
    *(old_value < 32 ? &h->kxq0 : &h->kxq1) -= inverse_power(old_value);
    *(new_value < 32 ? &h->kxq0 : &h->kxq1) += inverse_power(new_value);
}

static void put_slot(hll *h, uint32_t coupon)
{
    uint32_t slot = coupon & ((1u << h->lg_k) - 1);
    int value = (int)(coupon >> 26), old_value = h->values[slot];
    if (value <= old_value)
        return;
    h->values[slot] = (uint8_t)value;
    count_value(h, old_value, value);
}

static tl_status new_slots(const work *w, int lg_k, hll *out)
{
    *out = (hll){.mode = MODE_HLL, .lg_k = lg_k, .type = TYPE_8, .kxq0 = (double)(1 << lg_k)};
    out->values = tl_arena_calloc(w->arena, (size_t)1 << lg_k, 1);
    return out->values == NULL ? nomem(w) : TL_OK;
}

/* The slots of `from` counted anew into 2^lg_k slots. */
static tl_status convert(const work *w, const hll *from, int lg_k, hll *out)
{
    TL_TRY(new_slots(w, lg_k, out));
    for (uint32_t slot = 0; slot < 1u << from->lg_k; slot++)
        if (from->values[slot] != 0)
            put_slot(out, (uint32_t)from->values[slot] << 26 | slot);
    out->hip = from->hip;
    out->out_of_order = from->out_of_order;
    return TL_OK;
}

/* As copyAs(HLL_8): one of that type is taken as it is. */
static tl_status as_hll8(const work *w, const hll *from, hll *out)
{
    if (from->type != TYPE_8)
        return convert(w, from, from->lg_k, out);
    *out = *from;
    out->values = tl_arena_alloc(w->arena, (size_t)1 << from->lg_k);
    if (out->values == NULL)
        return nomem(w);
    memcpy(out->values, from->values, (size_t)1 << from->lg_k);
    return TL_OK;
}

static tl_status downsample(const work *w, const hll *from, int lg_k, hll *out)
{
    TL_TRY(convert(w, from, lg_k, out));
    if (out->out_of_order)
        out->hip = 0;
    return TL_OK;
}

static void rebuild(hll *h)
{
    if (!h->rebuild || h->mode != MODE_HLL)
        return;
    h->kxq0 = (double)(1 << h->lg_k);
    h->kxq1 = 0;
    for (uint32_t slot = 0; slot < 1u << h->lg_k; slot++)
        if (h->values[slot] > 0)
            *(h->values[slot] < 32 ? &h->kxq0 : &h->kxq1) += inverse_power(h->values[slot]) - 1.0;
    h->rebuild = false;
}

/* ---- coupons ---- */

/*
 * Number of different items that leave `count` coupons: the library's table for 2^26 slots, cubically interpolated. No
 * list or set becomes an HLL with more coupons than the table reaches.
 */
static double estimate_coupons(uint32_t count)
{
    static const double x[] = {0, 1, 20, 400, 8000, 160000, 300000, 600000};
    static const double y[] = {0.0,
                               1.0,
                               20.0000009437402611,
                               400.0003963713384110,
                               8000.1589294602090376,
                               160063.6067763759638183,
                               300223.7071597663452849,
                               600895.5933856170158833};
    double v = count, sum = 0;
    int at = 0;
    while (at < 6 && x[at + 1] <= v)
        at++;
    at = at == 0 ? 0 : at == 6 ? 4 : at - 1;
    for (int i = 0; i < 4; i++) {
        /* (v - a)(v - b)(v - c) / ((x - a)(x - b)(x - c)) with the other three, in ascending order. */
        double numerator = 1, denominator = 1;
        bool first = true;
        for (int k = 0; k < 4; k++) {
            if (k == i)
                continue;
            numerator = first ? v - x[at + k] : numerator * (v - x[at + k]);
            denominator = first ? x[at + i] - x[at + k] : denominator * (x[at + i] - x[at + k]);
            first = false;
        }
        double term = y[at + i] * numerator / denominator;
        sum = i == 0 ? term : sum + term;
    }
    return sum > v ? sum : v;
}

/* Place of the coupon in the table, or of the empty place where it belongs; false: it is nowhere and the table is full. */
static bool find_coupon(const uint32_t *table, int lg_size, uint32_t coupon, uint32_t *out)
{
    uint32_t mask = (1u << lg_size) - 1, probe = coupon & mask, start = probe;
    do {
        if (table[probe] == 0 || table[probe] == coupon) {
            *out = probe;
            return true;
        }
        probe = (probe + (((coupon & SLOT_MASK) >> lg_size) | 1)) & mask;
    } while (probe != start);
    return false;
}

static tl_status new_coupons(const work *w, hll_mode mode, int lg_k, int lg_size, hll *out)
{
    *out = (hll){.mode = mode, .lg_k = lg_k, .type = TYPE_8, .lg_size = lg_size};
    out->coupons = tl_arena_calloc(w->arena, (size_t)1 << lg_size, sizeof *out->coupons);
    return out->coupons == NULL ? nomem(w) : TL_OK;
}

static tl_status promote(const work *w, hll *h)
{
    hll slots;
    TL_TRY(new_slots(w, h->lg_k, &slots));
    for (uint32_t i = 0; i < 1u << h->lg_size; i++)
        if (h->coupons[i] != 0)
            put_slot(&slots, h->coupons[i]);
    slots.hip = estimate_coupons(h->count);
    *h = slots;
    return TL_OK;
}

static tl_status grow_set(const work *w, hll *h)
{
    hll bigger;
    uint32_t at;
    TL_TRY(new_coupons(w, MODE_SET, h->lg_k, h->lg_size + 1, &bigger));
    for (uint32_t i = 0; i < 1u << h->lg_size; i++) {
        if (h->coupons[i] == 0)
            continue;
        if (!find_coupon(bigger.coupons, bigger.lg_size, h->coupons[i], &at) || bigger.coupons[at] != 0)
            return corrupt(w, "a coupon twice");
        bigger.coupons[at] = h->coupons[i];
    }
    h->coupons = bigger.coupons;
    h->lg_size++;
    return TL_OK;
}

/* `may_promote`: a full set becomes an HLL (not while one is read). */
static tl_status add_to_set(const work *w, hll *h, uint32_t coupon, bool may_promote)
{
    uint32_t at;
    if (!find_coupon(h->coupons, h->lg_size, coupon, &at))
        return corrupt(w, "a set without room");
    if (h->coupons[at] != 0)
        return TL_OK;
    h->coupons[at] = coupon;
    h->count++;
    if (4 * (uint64_t)h->count <= 3 * (UINT64_C(1) << h->lg_size))
        return TL_OK;
    if (h->lg_size >= h->lg_k - 3)
        return may_promote ? promote(w, h) : TL_OK;
    return grow_set(w, h);
}

static tl_status list_to_set(const work *w, hll *h)
{
    hll set;
    TL_TRY(new_coupons(w, MODE_SET, h->lg_k, LG_SET_SIZE_MIN, &set));
    for (uint32_t i = 0; i < h->count; i++)
        TL_TRY(add_to_set(w, &set, h->coupons[i], /* may_promote= */ false));
    *h = set;
    return TL_OK;
}

static tl_status add_coupon(const work *w, hll *h, uint32_t coupon)
{
    if (coupon >> 26 == 0)
        return TL_OK;
    if (h->mode == MODE_HLL) {
        put_slot(h, coupon);
        return TL_OK;
    }
    if (h->mode == MODE_SET)
        return add_to_set(w, h, coupon, /* may_promote= */ true);
    uint32_t i = 0;
    while (i < LIST_SIZE && h->coupons[i] != 0 && h->coupons[i] != coupon)
        i++;
    if (i == LIST_SIZE)
        return corrupt(w, "a list without room");
    if (h->coupons[i] == coupon)
        return TL_OK;
    h->coupons[i] = coupon;
    if (++h->count < LIST_SIZE)
        return TL_OK;
    return h->lg_k < 8 ? promote(w, h) : list_to_set(w, h);
}

static tl_status add_coupons(const work *w, const hll *from, hll *to)
{
    for (uint32_t i = 0; i < 1u << from->lg_size; i++)
        if (from->coupons[i] != 0)
            TL_TRY(add_coupon(w, to, from->coupons[i]));
    return TL_OK;
}

/* ---- reading ---- */

static tl_status read_list(const work *w, tl_bytes_view in, hll *out)
{
    uint32_t count = in.data[6];
    TL_TRY(new_coupons(w, MODE_LIST, out->lg_k, 3, out));
    if (count > LIST_SIZE || in.len < 8 + 4 * (size_t)count)
        return corrupt(w, "a list that is too long or cut off");
    for (uint32_t i = 0; i < count; i++) {
        out->coupons[i] = tl_read_le32(in.data + 8 + 4 * i);
        if (out->coupons[i] >> 26 == 0)
            return corrupt(w, "a coupon without a value");
    }
    out->count = count;
    return TL_OK;
}

/* A hash table as it stands. */
static tl_status read_table(const work *w, tl_bytes_view in, uint32_t count, hll *out)
{
    int lg_size = in.data[4], lg_k = out->lg_k;
    if (lg_size < LG_SET_SIZE_MIN) {
        lg_size = LG_SET_SIZE_MIN;
        while (lg_size < 26 && 4 * (uint64_t)count > 3 * (UINT64_C(1) << lg_size))
            lg_size++;
    }
    if (lg_size > 26 || in.len < 12 + ((size_t)4 << lg_size))
        return corrupt(w, "a set that is cut off");
    TL_TRY(new_coupons(w, MODE_SET, lg_k, lg_size, out));
    uint32_t found = 0;
    for (uint32_t i = 0; i < 1u << lg_size; i++) {
        out->coupons[i] = tl_read_le32(in.data + 12 + 4 * (size_t)i);
        if (out->coupons[i] != 0 && out->coupons[i] >> 26 == 0)
            return corrupt(w, "a coupon without a value");
        found += out->coupons[i] != 0;
    }
    out->count = count;
    return found == count && count < 1u << lg_size ? TL_OK : corrupt(w, "a set with a wrong number of coupons");
}

static tl_status read_set(const work *w, tl_bytes_view in, hll *out)
{
    if (in.len < 12 || out->lg_k < 8)
        return corrupt(w, "a set that is cut off or too small for one");
    uint32_t count = tl_read_le32(in.data + 8);
    if ((in.data[5] & FLAG_COMPACT) == 0)
        return read_table(w, in, count, out);
    if (count > (in.len - 12) / 4)
        return corrupt(w, "a set that is cut off");
    TL_TRY(new_coupons(w, MODE_SET, out->lg_k, LG_SET_SIZE_MIN, out));
    for (uint32_t i = 0; i < count; i++) {
        uint32_t coupon = tl_read_le32(in.data + 12 + 4 * (size_t)i);
        if (coupon >> 26 == 0)
            return corrupt(w, "a coupon without a value");
        TL_TRY(add_to_set(w, out, coupon, /* may_promote= */ false));
    }
    return TL_OK;
}

static tl_status read_exceptions(const work *w, tl_bytes_view in, size_t at, hll *h)
{
    bool compact = (in.data[5] & FLAG_COMPACT) != 0;
    size_t n = tl_read_le32(in.data + 36);
    if (n == 0)
        return TL_OK;
    if (!compact)
        n = in.data[4] > 26 ? SIZE_MAX / 8 : (size_t)1 << in.data[4];
    if (n > (in.len - at) / 4)
        return corrupt(w, "exceptions that are cut off");
    for (size_t i = 0; i < n; i++) {
        uint32_t pair = tl_read_le32(in.data + at + 4 * i), slot = pair & ((1u << h->lg_k) - 1);
        if (pair == 0 && !compact)
            continue;
        if (h->values[slot] != UINT8_MAX)
            return corrupt(w, "an exception for a slot that has none");
        h->values[slot] = (uint8_t)(pair >> 26);
    }
    return TL_OK;
}

/* Nibbles plus the smallest value; exceptions are marked UINT8_MAX until they are read. */
static tl_status read_nibbles(const work *w, tl_bytes_view in, hll *h)
{
    uint32_t k = 1u << h->lg_k;
    uint8_t least = in.data[6];
    if (least > 63)
        return corrupt(w, "wrong smallest value");
    for (uint32_t slot = 0; slot < k; slot++) {
        uint8_t nibble = in.data[HLL_HEADER + slot / 2] >> (slot % 2 * 4) & 15;
        h->values[slot] = nibble == AUX_TOKEN ? UINT8_MAX : (uint8_t)TL_MIN(nibble + least, 63);
    }
    TL_TRY(read_exceptions(w, in, HLL_HEADER + k / 2, h));
    for (uint32_t slot = 0; slot < k; slot++)
        if (h->values[slot] == UINT8_MAX)
            return corrupt(w, "a slot without its exception");
    return TL_OK;
}

static tl_status read_slots(const work *w, tl_bytes_view in, hll *out)
{
    uint32_t k = 1u << out->lg_k;
    int type = in.data[7] >> 2 & 3;
    size_t bytes = type == TYPE_4 ? k / 2 : type == TYPE_6 ? k / 4 * 3 + 1 : k;
    if (type > TYPE_8 || in.len < HLL_HEADER + bytes)
        return corrupt(w, "slots of unknown type or cut off");
    TL_TRY(new_slots(w, out->lg_k, out));
    out->type = type;
    out->out_of_order = (in.data[5] & FLAG_OUT_OF_ORDER) != 0;
    out->rebuild = (in.data[5] & FLAG_REBUILD) != 0;
    memcpy(&out->hip, in.data + 8, 8);
    memcpy(&out->kxq0, in.data + 16, 8);
    memcpy(&out->kxq1, in.data + 24, 8);
    if (type == TYPE_4)
        return read_nibbles(w, in, out);
    const uint8_t *slots = in.data + HLL_HEADER;
    for (uint32_t slot = 0; slot < k; slot++)
        out->values[slot] = type == TYPE_8 ? slots[slot] & 63 : tl_read_le16(slots + slot * 6 / 8) >> (slot * 6 % 8) & 63;
    return TL_OK;
}

static tl_status read_sketch(const work *w, tl_bytes_view in, hll *out)
{
    static const uint8_t preambles[] = {2, 3, 10};
    if (in.len < 8)
        return corrupt(w, "shorter than its preamble");
    hll_mode mode = in.data[7] & 3;
    if (in.data[1] != 1 || in.data[2] != 7 || mode > MODE_HLL || (in.data[0] & 0x3f) != preambles[mode] ||
        in.len < 4 * (size_t)preambles[mode])
        return corrupt(w, "wrong preamble");
    *out = (hll){.lg_k = in.data[3]};
    if (out->lg_k < LG_K_MIN || out->lg_k > LG_K_MAX)
        return corrupt(w, "wrong number of slots");
    return mode == MODE_LIST ? read_list(w, in, out) : mode == MODE_SET ? read_set(w, in, out) : read_slots(w, in, out);
}

/* ---- the union ---- */

static bool is_empty(const hll *h)
{
    return h->mode != MODE_HLL && h->count == 0;
}

static void merge_slots(const hll *from, hll *to)
{
    uint32_t mask = (1u << to->lg_k) - 1;
    for (uint32_t slot = 0; slot < 1u << from->lg_k; slot++)
        to->values[slot & mask] = TL_MAX(to->values[slot & mask], from->values[slot]);
    to->out_of_order = true;
    to->hip = 0;
    to->rebuild = true;
}

/* A source in HLL mode into the union's state; lg_max is the union's own size. */
static tl_status unite_slots(const work *w, const hll *source, hll *state, int lg_max)
{
    hll fresh;
    if (state->mode != MODE_HLL) {
        /* The state's coupons, if any, go into a copy of the source. */
        TL_TRY(source->lg_k > lg_max ? downsample(w, source, lg_max, &fresh) : as_hll8(w, source, &fresh));
        TL_TRY(add_coupons(w, state, &fresh));
        *state = fresh;
        return TL_OK;
    }
    if (source->lg_k < state->lg_k) {
        TL_TRY(downsample(w, state, source->lg_k, &fresh));
        *state = fresh;
    }
    merge_slots(source, state);
    return TL_OK;
}

static tl_status unite(const work *w, const hll *source, hll *state, int lg_max)
{
    if (is_empty(source))
        return TL_OK;
    if (source->mode == MODE_HLL)
        return unite_slots(w, source, state, lg_max);
    if (source->mode == MODE_SET && is_empty(state) && source->lg_k == state->lg_k) {
        *state = *source;
        state->coupons = tl_arena_alloc(w->arena, sizeof *state->coupons << source->lg_size);
        if (state->coupons == NULL)
            return nomem(w);
        memcpy(state->coupons, source->coupons, sizeof *state->coupons << source->lg_size);
        return TL_OK;
    }
    return add_coupons(w, source, state);
}

/* ---- writing ---- */

static void put_head(uint8_t *head, int preamble, const hll *h, int lg_size, int flags, int byte6, hll_mode mode)
{
    const uint8_t bytes[8] = {(uint8_t)preamble, 1, 7, (uint8_t)h->lg_k, (uint8_t)lg_size, (uint8_t)flags, (uint8_t)byte6,
                              (uint8_t)mode};
    memcpy(head, bytes, sizeof bytes);
}

static tl_status append32(tl_buf *out, uint32_t v)
{
    uint8_t bytes[4];
    tl_write_le32(bytes, v);
    return tl_buf_append(out, bytes, sizeof bytes);
}

static tl_status write_coupons(const hll *h, tl_buf *out)
{
    uint8_t head[8];
    int flags = FLAG_COMPACT | (h->count == 0 ? FLAG_EMPTY : 0);
    bool list = h->mode == MODE_LIST;
    put_head(head, list ? 2 : 3, h, h->lg_size, flags, list ? (int)h->count : 0, h->mode);
    TL_TRY(tl_buf_append(out, head, sizeof head));
    if (!list)
        TL_TRY(append32(out, h->count));
    for (uint32_t i = 0; i < 1u << h->lg_size; i++)
        if (h->coupons[i] != 0)
            TL_TRY(append32(out, h->coupons[i]));
    return TL_OK;
}

/* Hash table of the exceptions, whose order is that of the output. */
typedef struct exceptions {
    uint32_t *table;
    int lg_size;
    uint32_t count;
} exceptions;

static uint32_t find_exception(const exceptions *e, uint32_t slot, uint32_t slot_mask)
{
    uint32_t mask = (1u << e->lg_size) - 1, probe = slot & mask;
    while (e->table[probe] != 0 && (e->table[probe] & slot_mask) != slot)
        probe = (probe + ((slot >> e->lg_size) | 1)) & mask;
    return probe;
}

static tl_status grow_exceptions(const work *w, exceptions *e, uint32_t slot_mask)
{
    exceptions bigger = {.lg_size = e->lg_size + 1, .count = e->count};
    bigger.table = tl_arena_calloc(w->arena, (size_t)1 << bigger.lg_size, sizeof *bigger.table);
    if (bigger.table == NULL)
        return nomem(w);
    for (uint32_t i = 0; i < 1u << e->lg_size; i++)
        if (e->table[i] != 0)
            bigger.table[find_exception(&bigger, e->table[i] & slot_mask, slot_mask)] = e->table[i];
    *e = bigger;
    return TL_OK;
}

static tl_status add_exception(const work *w, exceptions *e, int lg_k, uint32_t slot, uint8_t value)
{
    static const uint8_t lg_first_size[] = {0, 2, 2, 2, 2, 2, 2, 3, 3, 3, 4, 4, 5, 5, 6, 7, 8, 9, 10, 11, 12, 13};
    uint32_t slot_mask = (1u << lg_k) - 1;
    if (e->table == NULL) {
        e->lg_size = lg_first_size[lg_k];
        e->table = tl_arena_calloc(w->arena, (size_t)1 << e->lg_size, sizeof *e->table);
        if (e->table == NULL)
            return nomem(w);
    }
    e->table[find_exception(e, slot, slot_mask)] = (uint32_t)value << 26 | slot;
    e->count++;
    return 4 * (uint64_t)e->count > 3 * (UINT64_C(1) << e->lg_size) ? grow_exceptions(w, e, slot_mask) : TL_OK;
}

/* As an HLL_4: values above the smallest as nibbles. */
static tl_status write_slots(const work *w, const hll *h, tl_buf *out)
{
    uint32_t k = 1u << h->lg_k, at_least = 0;
    uint8_t least = 64;
    hll counted = {.lg_k = h->lg_k, .kxq0 = (double)k}; /* for its KxQ, which the library counts anew */
    exceptions e = {0};
    for (uint32_t slot = 0; slot < k; slot++) {
        if (h->values[slot] < least) {
            least = h->values[slot];
            at_least = 0;
        }
        at_least += h->values[slot] == least;
    }
    uint8_t *body = tl_arena_calloc(w->arena, HLL_HEADER + k / 2, 1);
    if (body == NULL)
        return nomem(w);
    for (uint32_t slot = 0; slot < k; slot++) {
        uint8_t value = h->values[slot], nibble;
        if (value == 0)
            continue;
        count_value(&counted, 0, value);
        nibble = (uint8_t)TL_MIN(value - least, AUX_TOKEN);
        if (nibble == AUX_TOKEN)
            TL_TRY(add_exception(w, &e, h->lg_k, slot, value));
        body[HLL_HEADER + slot / 2] |= (uint8_t)(nibble << (slot % 2 * 4));
    }
    put_head(body, 10, h, e.lg_size, FLAG_COMPACT | (h->out_of_order ? FLAG_OUT_OF_ORDER : 0), least, MODE_HLL);
    memcpy(body + 8, &h->hip, 8);
    memcpy(body + 16, &counted.kxq0, 8);
    memcpy(body + 24, &counted.kxq1, 8);
    tl_write_le32(body + 32, at_least);
    tl_write_le32(body + 36, e.count);
    if (tl_buf_append(out, body, HLL_HEADER + k / 2) != TL_OK)
        return nomem(w);
    for (uint32_t i = 0; e.table != NULL && i < 1u << e.lg_size; i++)
        if (e.table[i] != 0 && append32(out, e.table[i]) != TL_OK)
            return nomem(w);
    return TL_OK;
}

static tl_status union_in(const work *w, tl_bytes_view a, tl_bytes_view b, tl_buf *out)
{
    hll old, fresh, state;
    TL_TRY(read_sketch(w, a, &old));
    TL_TRY(read_sketch(w, b, &fresh));
    rebuild(&old);
    TL_TRY(new_coupons(w, MODE_LIST, fresh.lg_k, 3, &state));
    TL_TRY(unite(w, &fresh, &state, fresh.lg_k));
    TL_TRY(unite(w, &old, &state, fresh.lg_k));
    rebuild(&state);
    if (state.mode == MODE_HLL)
        return write_slots(w, &state, out);
    return write_coupons(&state, out) == TL_OK ? TL_OK : nomem(w);
}

tl_status tl_merge__hll_union(tl_bytes_view a, tl_bytes_view b, tl_buf *out, tl_error *err)
{
    tl_arena arena = {0};
    work w = {&arena, err};
    out->len = 0;
    tl_status status = union_in(&w, a, b, out);
    tl_arena_deinit(&arena);
    return status;
}
