/*
 * Kind bloom-filter: int32 number of hash functions, then the bits (bit i is bit i % 8 of byte i / 8). It knows which values are
 * surely not in the file; NULLs are not in it.
 * Options: `items` (1,000,000) and `fpp` (0.1) give the size. Java: BloomFilterFileIndex, BloomFilter64, FastHash.
 */
#include <math.h>

#include "base/parse.h"
#include "index/file_index_private.h"

#define ITEMS_DEFAULT 1000000
#define FPP_DEFAULT 0.1
#define HASHES_MAX 1024 /* a file with more is not believed */
#define PROBES_MAX 64   /* bits that are fetched one by one; for more of them the whole filter is */

typedef struct bloom_reader {
    tl_findex__reader base;
    int32_t n_hashes;
    tl_bytes_view bits; /* data NULL: not fetched as a whole */
} bloom_reader;

typedef struct bloom_writer {
    tl_findex__writer base;
    int32_t n_hashes;
    int32_t n_bits;
    uint8_t *bits;
    bool overflow;
} bloom_writer;

static bool bloom_holds(const tl_type *type, const char **why)
{
    *why = "bloom filters know no BOOLEAN, DECIMAL or nested values";
    return type->kind != TL_BOOLEAN && type->kind != TL_DECIMAL && type->kind < TL_ARRAY;
}

/* Thomas Wang's hash, with the arithmetic shifts of the reference. */
static uint64_t hash_number(int64_t key)
{
    uint64_t k = ~(uint64_t)key + ((uint64_t)key << 21);
    k ^= (uint64_t)((int64_t)k >> 24);
    k = k + (k << 3) + (k << 8);
    k ^= (uint64_t)((int64_t)k >> 14);
    k = k + (k << 2) + (k << 4);
    k ^= (uint64_t)((int64_t)k >> 28);
    return k + (k << 31);
}

static uint64_t hash_value(const tl_findex__type *type, tl_findex__value value)
{
    return type->repr == TL_FINDEX__BYTES ? tl_xxh64(value.bytes.data, value.bytes.len, 0) : hash_number(tl_findex__bits(type, value));
}

/* The bit of hash function i, 1 and up. */
static uint32_t bit_of(uint64_t hash, int32_t i, uint32_t n_bits)
{
    uint32_t h = (uint32_t)hash + (uint32_t)i * (uint32_t)(hash >> 32);
    return ((int32_t)h < 0 ? ~h : h) % n_bits;
}

/* ---- reading ---- */

static tl_status bloom_open(tl_findex__reader *reader, tl_error *err)
{
    bloom_reader *r = (bloom_reader *)reader;
    tl_findex__cursor c = tl_findex__cursor_at(&r->base.in, 0);
    TL_TRY(tl_findex__take_count(&c, HASHES_MAX, "number of hash functions", &r->n_hashes, err));
    int64_t bytes = r->base.in.bytes - 4;
    if (r->n_hashes == 0 || bytes == 0 || bytes > INT32_MAX / 8)
        return tl_findex__corrupt(&r->base.in, 0, "a bloom filter without bits or hash functions, or too large", err);
    r->bits.len = (size_t)bytes;
    return TL_OK;
}

static tl_status may_hold(const bloom_reader *r, uint64_t hash, bool *out, tl_error *err)
{
    *out = true;
    for (int32_t i = 1; *out && i <= r->n_hashes; i++) {
        uint32_t bit = bit_of(hash, i, (uint32_t)r->bits.len * 8);
        tl_bytes_view byte;
        if (r->bits.data == NULL)
            TL_TRY(tl_findex__view(&r->base.in, 4 + bit / 8, 1, &byte, err));
        *out = r->bits.data != NULL ? tl_bit_get(r->bits.data, bit) : tl_bit_get(byte.data, bit % 8);
    }
    return TL_OK;
}

static tl_status bloom_answer(tl_findex__reader *reader, const tl_findex__ask *ask, tl_findex__answer *out, tl_error *err)
{
    bloom_reader *r = (bloom_reader *)reader;
    if (ask->op != TL_FINDEX__IN)
        return TL_OK;
    if (r->bits.data == NULL && ask->n_values * r->n_hashes > PROBES_MAX)
        TL_TRY(tl_findex__view(&r->base.in, 4, (int64_t)r->bits.len, &r->bits, err));
    for (int64_t i = 0; i < ask->n_values; i++) {
        bool held;
        TL_TRY(may_hold(r, hash_value(&r->base.type, ask->values[i]), &held, err));
        if (held)
            return TL_OK;
    }
    out->verdict = TL_INDEX_NONE;
    return TL_OK;
}

/* ---- writing ---- */

static tl_status bloom_create(const tl_findex__type *type, const tl_options *options, tl_findex__writer **out, tl_error *err)
{
    int64_t items = ITEMS_DEFAULT;
    double fpp = FPP_DEFAULT;
    const char *text = tl_options_get(options, "fpp");
    TL_TRY(tl_findex__opt_int(options, "items", 1, INT32_MAX, &items, err));
    if (text != NULL)
        TL_TRY(tl_error_wrap(err, tl_parse_double(text, &fpp, err), "option 'fpp'"));
    double bits = -(double)items * log(fpp) / (log(2) * log(2));
    if (!(fpp > 0 && fpp < 1) || !(bits < INT32_MAX - 8))
        return tl_error_set(err, TL_E_INVALID, "options 'items' (%lld) and 'fpp' (%s): fpp must be between 0 and 1, and the filter below 2^31 bits",
                            (long long)items, text == NULL ? "0.1" : text);
    bloom_writer *w = tl_calloc(1, sizeof *w);
    if (w == NULL)
        return tl_nomem(err, "bloom filter");
    int32_t n_bits = (int32_t)bits;
    w->base = (tl_findex__writer){&tl_findex__bloom_filter, *type};
    w->n_bits = n_bits + (8 - n_bits % 8);
    w->n_hashes = TL_MAX(1, (int32_t)floor((double)w->n_bits / (double)items * log(2) + 0.5));
    w->bits = tl_calloc(1, (size_t)w->n_bits / 8);
    if (w->bits == NULL) {
        tl_free(w);
        return tl_nomem(err, "bloom filter");
    }
    *out = &w->base;
    return TL_OK;
}

static tl_status bloom_add(tl_findex__writer *writer, const tl_column *col, int64_t n, tl_error *err)
{
    bloom_writer *w = (bloom_writer *)writer;
    (void)err;
    for (int64_t row = 0; row < n; row++) {
        tl_findex__value value;
        if (tl_col_is_null(col, row))
            continue;
        w->overflow |= !tl_findex__value_at(&w->base.type, col, row, &value);
        uint64_t hash = hash_value(&w->base.type, value);
        for (int32_t i = 1; i <= w->n_hashes; i++)
            tl_bit_set(w->bits, bit_of(hash, i, (uint32_t)w->n_bits));
    }
    return TL_OK;
}

static int64_t bloom_memory(const tl_findex__writer *writer)
{
    return ((const bloom_writer *)writer)->n_bits / 8;
}

static tl_status bloom_finish(tl_findex__writer *writer, tl_buf *out, const char **why, tl_error *err)
{
    const bloom_writer *w = (bloom_writer *)writer;
    if (w->overflow) {
        *why = "a value has more than 64 bits";
        return TL_OK;
    }
    tl_status status = tl_findex__put_i32(out, w->n_hashes);
    if (status == TL_OK)
        status = tl_buf_append(out, w->bits, (size_t)w->n_bits / 8);
    return status == TL_OK ? TL_OK : tl_nomem(err, "bloom filter");
}

static void bloom_free(tl_findex__writer *writer)
{
    tl_free(((bloom_writer *)writer)->bits);
    tl_free(writer);
}

const tl_findex__kind tl_findex__bloom_filter = {
    .name = "bloom-filter",
    .reader_bytes = sizeof(bloom_reader),
    .holds = bloom_holds,
    .open = bloom_open,
    .answer = bloom_answer,
    .create = bloom_create,
    .add = bloom_add,
    .memory = bloom_memory,
    .finish = bloom_finish,
    .free = bloom_free,
};
