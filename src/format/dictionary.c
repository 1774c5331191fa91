/*
 * Three kinds of hash table, all open addressing with linear
 * probing and at most half full: 4- and 8-byte values lie in the slots themselves, so that a value that is there costs one
 * load. Of byte strings (and 12- or 16-byte values) the slot has 32 bits of the hash; what decides is the value's *head*: its
 * length and its prefix. Only longer strings are compared in `plain`.
 *
 * Whether a dictionary is worth its while is for the writers to decide. A column of values that hardly repeat must not go through
 * a hash table row by row: tl_format__looks_unique() finds that out from a sample.
 */
#include "format/dictionary.h"

#define SLOTS_MIN 256
#define NO_ID UINT32_MAX

/* FIXED_LEN_BYTE_ARRAY has at least 9 bytes here (decimals of more than 18 digits): 4 and 8 are numbers. */
typedef struct slot32 {
    uint32_t value;
    uint32_t id;
} slot32;
typedef struct slot64 {
    uint64_t value;
    uint64_t id;
} slot64;
typedef struct slot_bytes {
    uint32_t hash;
    uint32_t id;
} slot_bytes;

typedef struct head {
    tl_format_prefix prefix;
    uint32_t len;    /* of the value */
    uint32_t offset; /* of the value in `plain` */
} head;

static size_t slot_bytes_of(int32_t width)
{
    return width == 8 ? sizeof(slot64) : sizeof(slot32);
}

void tl_format__dict_deinit(tl_format_dict *dict)
{
    tl_buf_deinit(&dict->plain);
    tl_buf_deinit(&dict->heads);
    tl_free(dict->slots);
    *dict = (tl_format_dict){0};
}

static void clear_slots(tl_format_dict *dict)
{
    /* All ones: NO_ID in every kind of slot. */
    if (dict->slots != NULL)
        memset(dict->slots, 0xff, dict->cap * slot_bytes_of(dict->width));
}

void tl_format__dict_reset(tl_format_dict *dict, int32_t width)
{
    if (slot_bytes_of(width) != slot_bytes_of(dict->width) && dict->slots != NULL) {
        tl_free(dict->slots);
        dict->slots = NULL;
        dict->cap = 0;
    }
    dict->width = width;
    dict->plain.len = 0;
    dict->heads.len = 0;
    dict->count = 0;
    clear_slots(dict);
}

/* ---- hashes ---- */

static inline uint32_t hash32(uint32_t v, int shift)
{
    return (uint32_t)((v * UINT64_C(0x9E3779B97F4A7C15)) >> shift);
}

static inline uint32_t hash64(uint64_t v, int shift)
{
    return (uint32_t)((v * UINT64_C(0x9E3779B97F4A7C15)) >> shift);
}

static inline uint64_t mix(uint64_t a, uint64_t b)
{
    unsigned __int128 product = (unsigned __int128)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

#define SEED_A UINT64_C(0xA0761D6478BD642F)
#define SEED_B UINT64_C(0xE7037ED1A0B428DB)

const uint64_t tl_format__prefix_masks[TL_FORMAT_PREFIX_BYTES + 1][2] = {
    {0, 0}, {0xff, 0}, {0xffff, 0}, {0xffffff, 0}, {0xffffffff, 0}, {0xffffffffff, 0}, {0xffffffffffff, 0},
    {0xffffffffffffff, 0}, {UINT64_MAX, 0}, {UINT64_MAX, 0xff}, {UINT64_MAX, 0xffff}, {UINT64_MAX, 0xffffff},
    {UINT64_MAX, 0xffffffff}, {UINT64_MAX, 0xffffffffff}, {UINT64_MAX, 0xffffffffffff}, {UINT64_MAX, 0xffffffffffffff},
    {UINT64_MAX, UINT64_MAX},
};

/** Head of a value whose memory can be read up to `end`; the offset is left open. */
static inline head head_of(const uint8_t *p, size_t len, const uint8_t *end)
{
    return (head){.prefix = tl_format__prefix(p, len, end), .len = (uint32_t)len};
}

/** Multiplicative, word by word, as wyhash does it. Not for use outside this process's memory. */
static inline uint64_t hash_value(const head *h, const uint8_t *p)
{
    uint64_t hash = mix(h->prefix.a ^ SEED_B, h->prefix.b ^ SEED_A ^ h->len);
    if (TL_LIKELY(h->len <= TL_FORMAT_PREFIX_BYTES))
        return hash;
    size_t i = TL_FORMAT_PREFIX_BYTES;
    for (; i + 16 < h->len; i += 16)
        hash = mix(tl_read_le64(p + i) ^ SEED_B, tl_read_le64(p + i + 8) ^ hash);
    return mix(tl_read_le64(p + h->len - 16) ^ SEED_B, tl_read_le64(p + h->len - 8) ^ hash);
}

/* ---- growth ---- */

static inline head *heads_of(const tl_format_dict *dict)
{
    return (head *)(void *)dict->heads.data;
}

static inline tl_bytes_view value_of(const tl_format_dict *dict, uint32_t id)
{
    if (dict->width != 0)
        return (tl_bytes_view){dict->plain.data + (size_t)id * (size_t)dict->width, (size_t)dict->width};
    const head *h = &heads_of(dict)[id];
    return (tl_bytes_view){dict->plain.data + h->offset, h->len};
}

tl_bytes_view tl_format__dict_value(const tl_format_dict *dict, uint32_t id)
{
    return value_of(dict, id);
}

/** Put value `id` into its slot of a table that has room and does not hold it. */
static void place(tl_format_dict *dict, uint32_t id)
{
    tl_bytes_view v = value_of(dict, id);
    uint32_t mask = dict->cap - 1;
    if (dict->width == 4) {
        slot32 *slots = dict->slots;
        uint32_t i = hash32(tl_read_le32(v.data), dict->shift);
        while (slots[i].id != NO_ID)
            i = (i + 1) & mask;
        slots[i] = (slot32){tl_read_le32(v.data), id};
    } else if (dict->width == 8) {
        slot64 *slots = dict->slots;
        uint32_t i = hash64(tl_read_le64(v.data), dict->shift);
        while (slots[i].id != UINT64_MAX)
            i = (i + 1) & mask;
        slots[i] = (slot64){tl_read_le64(v.data), id};
    } else {
        slot_bytes *slots = dict->slots;
        uint64_t hash = hash_value(&heads_of(dict)[id], v.data);
        uint32_t i = (uint32_t)(hash >> dict->shift);
        while (slots[i].id != NO_ID)
            i = (i + 1) & mask;
        slots[i] = (slot_bytes){(uint32_t)hash, id};
    }
}

/** Room for `more` values: a table of at least twice the values. */
static tl_status grow(tl_format_dict *dict, int64_t more)
{
    uint64_t wanted = TL_MAX(tl_next_pow2(2 * ((uint64_t)dict->count + (uint64_t)more)), SLOTS_MIN);
    if (wanted <= dict->cap)
        return TL_OK;
    if (wanted > UINT32_MAX / 2)
        return TL_E_NOMEM;
    void *slots = tl_alloc(wanted * slot_bytes_of(dict->width));
    if (slots == NULL)
        return TL_E_NOMEM;
    tl_free(dict->slots);
    dict->slots = slots;
    dict->cap = (uint32_t)wanted;
    dict->shift = 64 - __builtin_ctz(dict->cap);
    clear_slots(dict);
    for (uint32_t id = 0; id < dict->count; id++)
        place(dict, id);
    return TL_OK;
}

/** Values that may be added before the table has to grow; at least one. */
static inline int64_t room(const tl_format_dict *dict)
{
    return (int64_t)(dict->cap / 2) - (int64_t)dict->count;
}

/* ---- look-up ---- */

/*
 * The loops stop when the table is half full, grow it and go on: tables start small, because most columns that have a
 * dictionary have few values and the first level cache is what makes the look-up fast.
 */
static int64_t ids_32(tl_format_dict *dict, const uint32_t *restrict v, int64_t count, uint32_t *restrict ids)
{
    slot32 *slots = dict->slots;
    uint32_t mask = dict->cap - 1;
    uint32_t limit = dict->cap / 2;
    uint32_t *values = (uint32_t *)(void *)dict->plain.data;
    for (int64_t i = 0; i < count; i++) {
        uint32_t s = hash32(v[i], dict->shift);
        while (slots[s].value != v[i] || slots[s].id == NO_ID) {
            if (slots[s].id != NO_ID) {
                s = (s + 1) & mask;
                continue;
            }
            if (dict->count == limit)
                return i;
            values[dict->count] = v[i];
            slots[s] = (slot32){v[i], dict->count++};
        }
        ids[i] = slots[s].id;
    }
    return count;
}

static int64_t ids_64(tl_format_dict *dict, const uint64_t *restrict v, int64_t count, uint32_t *restrict ids)
{
    slot64 *slots = dict->slots;
    uint32_t mask = dict->cap - 1;
    uint32_t limit = dict->cap / 2;
    uint64_t *values = (uint64_t *)(void *)dict->plain.data;
    for (int64_t i = 0; i < count; i++) {
        uint32_t s = hash64(v[i], dict->shift);
        while (slots[s].value != v[i] || slots[s].id == UINT64_MAX) {
            if (slots[s].id != UINT64_MAX) {
                s = (s + 1) & mask;
                continue;
            }
            if (dict->count == limit)
                return i;
            values[dict->count] = v[i];
            slots[s] = (slot64){v[i], dict->count++};
        }
        ids[i] = (uint32_t)slots[s].id;
    }
    return count;
}

static tl_status add_value(tl_format_dict *dict, const uint8_t *p, head *h)
{
    size_t len_bytes = dict->width == 0 ? sizeof(uint32_t) : 0;
    if (dict->plain.len + len_bytes + h->len > UINT32_MAX)
        return TL_E_NOMEM;
    TL_TRY(tl_buf_reserve(&dict->plain, len_bytes + h->len));
    if (len_bytes != 0)
        tl_write_le32(dict->plain.data + dict->plain.len, h->len);
    h->offset = (uint32_t)(dict->plain.len + len_bytes);
    TL_TRY(tl_buf_append(&dict->heads, h, sizeof *h));
    if (h->len != 0)
        memcpy(dict->plain.data + h->offset, p, h->len);
    dict->plain.len = h->offset + h->len;
    dict->count++;
    return TL_OK;
}

/** Number of one value whose memory can be read up to `end`; the table must have room. */
static inline tl_status id_of(tl_format_dict *dict, const uint8_t *p, size_t len, const uint8_t *end, uint32_t *id)
{
    slot_bytes *slots = dict->slots;
    const head *heads = heads_of(dict);
    uint32_t mask = dict->cap - 1;
    head h = head_of(p, len, end);
    uint64_t hash = hash_value(&h, p);
    uint32_t s = (uint32_t)(hash >> dict->shift);
    for (; slots[s].id != NO_ID; s = (s + 1) & mask) {
        if (slots[s].hash != (uint32_t)hash)
            continue;
        const head *have = &heads[slots[s].id];
        uint64_t differing = (have->prefix.a ^ h.prefix.a) | (have->prefix.b ^ h.prefix.b) | (have->len ^ h.len);
        if (TL_LIKELY(differing == 0) && (len <= TL_FORMAT_PREFIX_BYTES || memcmp(dict->plain.data + have->offset, p, len) == 0)) {
            *id = slots[s].id;
            return TL_OK;
        }
    }
    *id = dict->count;
    TL_TRY(add_value(dict, p, &h));
    slots[s] = (slot_bytes){(uint32_t)hash, *id};
    return TL_OK;
}

tl_status tl_format__dict_ids_fixed(tl_format_dict *dict, const void *dense, int64_t count, uint32_t *ids)
{
    const uint8_t *v = dense;
    int32_t width = dict->width;
    for (int64_t done = 0; done < count;) {
        if (dict->cap == 0 || room(dict) == 0)
            TL_TRY(grow(dict, TL_MAX(dict->count, SLOTS_MIN / 2)));
        int64_t left = count - done;
        if (width != 4 && width != 8) {
            TL_TRY(id_of(dict, v + done * width, (size_t)width, v + count * width, &ids[done]));
            done++;
            continue;
        }
        TL_TRY(tl_buf_reserve(&dict->plain, (size_t)room(dict) * (size_t)width));
        const void *next = v + done * width;
        done += width == 4 ? ids_32(dict, next, left, ids + done) : ids_64(dict, next, left, ids + done);
        dict->plain.len = (size_t)dict->count * (size_t)width;
    }
    return TL_OK;
}

tl_status tl_format__dict_ids_bytes(tl_format_dict *dict, const tl_column *col, const uint32_t *sel, int64_t from, int64_t count, uint32_t *ids)
{
    const uint8_t *end = col->data + col->offsets[col->length];
    for (int64_t i = 0; i < count; i++) {
        if (TL_UNLIKELY(dict->cap == 0 || room(dict) == 0))
            TL_TRY(grow(dict, TL_MAX(dict->count, SLOTS_MIN / 2)));
        tl_bytes_view v = tl_col_bytes(col, sel == NULL ? from + i : (int64_t)sel[i]);
        TL_TRY(id_of(dict, v.data, v.len, end, &ids[i]));
    }
    return TL_OK;
}

tl_status tl_format__dict_ids_plain(tl_format_dict *dict, const uint8_t **plain, const uint8_t *end, int64_t count, uint32_t *ids)
{
    const uint8_t *p = *plain;
    for (int64_t i = 0; i < count; i++) {
        if (TL_UNLIKELY(dict->cap == 0 || room(dict) == 0))
            TL_TRY(grow(dict, TL_MAX(dict->count, SLOTS_MIN / 2)));
        size_t len = tl_read_le32(p);
        TL_TRY(id_of(dict, p + sizeof(uint32_t), len, end, &ids[i]));
        p += sizeof(uint32_t) + len;
    }
    *plain = p;
    return TL_OK;
}

bool tl_format__dict_bounds(const tl_format_dict *dict, const uint8_t *is_used, uint32_t *min, uint32_t *max)
{
    const head *heads = heads_of(dict);
    unsigned __int128 min_order = 0, max_order = 0;
    *min = *max = NO_ID;
    for (uint32_t id = 0; id < dict->count; id++) {
        if (!is_used[id])
            continue;
        unsigned __int128 order = tl_format__prefix_order(heads[id].prefix);
        if (*min == NO_ID || (order <= min_order && tl_bytes_compare(value_of(dict, id), value_of(dict, *min)) < 0)) {
            *min = id;
            min_order = order;
        }
        if (*max == NO_ID || (order >= max_order && tl_bytes_compare(value_of(dict, id), value_of(dict, *max)) > 0)) {
            *max = id;
            max_order = order;
        }
    }
    return *min != NO_ID;
}

tl_status tl_format__dict_decode(const tl_format_dict *dict, const uint32_t *ids, int64_t count, tl_buf *out)
{
    for (int64_t i = 0; i < count; i++) {
        tl_bytes_view v = value_of(dict, ids[i]);
        size_t len_before = dict->width == 0 ? sizeof(uint32_t) : 0; /* the length lies before the value */
        TL_TRY(tl_buf_append(out, v.data - len_before, v.len + len_before));
    }
    return TL_OK;
}

/* ---- is it worth trying? ---- */

#define SAMPLE_VALUES_MAX 2048
#define SAMPLE_VALUES_MIN 64

/** Hashes seen, and how many came again. */
typedef struct sampler {
    uint64_t *seen;
    size_t mask;
    int64_t again;
} sampler;

static void sample_hash(sampler *s, uint64_t hash)
{
    uint64_t mark = hash | 1; /* 0 is an empty place */
    size_t i = (size_t)(hash >> 40) & s->mask;
    while (s->seen[i] != 0 && s->seen[i] != mark)
        i = (i + 1) & s->mask;
    s->again += s->seen[i] == mark;
    s->seen[i] = mark;
}

/** Repetitions from which on a sample is not unique, whatever comes. */
#define AGAIN_MAX 1

/**
 * At least 4 times the root of the count, a power of two. A dictionary of n values can only pay if they have fewer than n
 * candidates; drawn at random from n, a sample of s values has s * s / 2n repetitions: 8 of them.
 */
static int64_t sample_size(int64_t count)
{
    int64_t size = SAMPLE_VALUES_MIN;
    while (size < SAMPLE_VALUES_MAX && size * size < 16 * count)
        size *= 2;
    return size;
}

/**
 * Half of the sample are neighbours (values in runs), the other half is spread over the page (values that come back after a
 * while). None or one repetition in it means that there are far more candidates than rows, or for the largest sample over
 * 10^6 of them: a dictionary would cost more than it saves for values of any usual length.
 */
tl_status tl_format__looks_unique(tl_bytes_view plain, int64_t count, int32_t width, bool *out)
{
    int64_t size = sample_size(count);
    *out = false;
    if (count <= size)
        return TL_OK; /* trying costs as little */
    uint64_t seen[2 * SAMPLE_VALUES_MAX];
    sampler s = {.seen = seen, .mask = 2 * (size_t)size - 1};
    memset(seen, 0, 2 * (size_t)size * sizeof *seen);
    int64_t half = size / 2;
    int64_t stride = (count - half) / half;
    const uint8_t *p = plain.data;
    const uint8_t *end = plain.data + plain.len;
    for (int64_t i = 0, next = 0; i < count && s.again <= AGAIN_MAX; i++) {
        size_t len = width == 0 ? tl_read_le32(p) : (size_t)width;
        if (width == 0)
            p += sizeof(uint32_t);
        if (i == next) {
            head h = head_of(p, len, end);
            sample_hash(&s, hash_value(&h, p));
            next += i < half ? 1 : stride;
        }
        p += len;
    }
    *out = s.again <= AGAIN_MAX;
    return TL_OK;
}
