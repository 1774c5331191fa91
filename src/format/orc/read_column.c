/*
 * Values of a column: the file holds those that are not null, one after the other; they are decoded as such and then spread over
 * the rows. A child of a struct has no bits at all for the rows whose struct is null: `mask` tells them.
 */
#include "format/orc/read_private.h"

/* Elements of lists and maps that one batch may hold; keeps small hostile files from asking for much memory. */
#define ELEMENTS_MAX ((int64_t)1 << 26)

/* ---- which rows have a value ---- */

/* *valid: bitmap over the rows, NULL if all have a value; *k how many have. */
static tl_status read_validity(tl_orc_node *node, int64_t n, const uint8_t *mask, uint8_t **valid, int64_t *k, tl_error *err)
{
    *valid = NULL;
    *k = mask == NULL ? n : tl_bitmap_count(mask, 0, n);
    if (!node->has_present && mask == NULL)
        return TL_OK;
    TL_CLEANUP(tl_freep) uint8_t *out = tl_calloc(1, tl_bitmap_bytes(n) + 1);
    if (out == NULL)
        return tl_nomem(err, "validity");
    if (!node->has_present) {
        memcpy(out, mask, tl_bitmap_bytes(n));
    } else if (mask == NULL) {
        TL_TRY(tl_orc__bits_read(&node->present, out, n, err));
    } else {
        TL_CLEANUP(tl_freep) uint8_t *own = tl_alloc(tl_bitmap_bytes(*k) + 1);
        if (own == NULL)
            return tl_nomem(err, "validity");
        TL_TRY(tl_orc__bits_read(&node->present, own, *k, err));
        for (int64_t i = 0, j = 0; i < n; i++) {
            if (!tl_bit_get(mask, i))
                continue;
            if (tl_bit_get(own, j++))
                tl_bit_set(out, i);
        }
    }
    *k = tl_bitmap_count(out, 0, n);
    if (*k < n)
        *valid = TL_STEAL(out);
    return TL_OK;
}

static tl_status scratch(tl_orc_node *node, int which, int64_t n, size_t bytes, void *out, tl_error *err)
{
    size_t total;
    tl_buf *buf = &node->scratch[which];
    buf->len = 0;
    if (!tl_mul_size((size_t)n, bytes, &total) || tl_buf_reserve(buf, total + 1) != TL_OK)
        return tl_nomem(err, "column");
    *(void **)out = buf->data;
    return TL_OK;
}

static tl_status out_of_range(const tl_orc_node *node, tl_error *err)
{
    return tl_error_set(err, TL_E_CORRUPT, "column %d: a value does not fit the type that is expected", node->column);
}

/* Put EXPR(j), j counting the values, at the rows that have one. */
#define SPREAD(T, EXPR)                                     \
    do {                                                    \
        T *restrict to_ = col->values;                      \
        int64_t j = 0;                                      \
        if (valid == NULL) {                                \
            for (; j < n; j++)                              \
                to_[j] = (T)(EXPR);                         \
        } else {                                            \
            for (int64_t row_ = 0; row_ < n; row_++)        \
                if (tl_bit_get(valid, row_)) {              \
                    to_[row_] = (T)(EXPR);                  \
                    j++;                                    \
                }                                           \
        }                                                   \
    } while (0)

/* ---- integers ---- */

static bool all_within(const int64_t *v, int64_t k, int64_t min, int64_t max)
{
    bool ok = true;
    for (int64_t j = 0; j < k; j++)
        ok &= (v[j] >= min) & (v[j] <= max);
    return ok;
}

static tl_status spread_ints(tl_orc_node *node, tl_column *col, int64_t n, const uint8_t *valid, const int64_t *v, int64_t k,
                             tl_error *err)
{
    switch (node->phys) {
    case TL_PHYS_I8:
        if (!all_within(v, k, INT8_MIN, INT8_MAX))
            return out_of_range(node, err);
        SPREAD(int8_t, v[j]);
        return TL_OK;
    case TL_PHYS_I16:
        if (!all_within(v, k, INT16_MIN, INT16_MAX))
            return out_of_range(node, err);
        SPREAD(int16_t, v[j]);
        return TL_OK;
    case TL_PHYS_I32:
        if (!all_within(v, k, INT32_MIN, INT32_MAX))
            return out_of_range(node, err);
        SPREAD(int32_t, v[j]);
        return TL_OK;
    default:
        SPREAD(int64_t, v[j]);
        return TL_OK;
    }
}

static tl_status read_ints(tl_orc_node *node, tl_column *col, int64_t n, const uint8_t *valid, int64_t k, tl_error *err)
{
    if (node->phys == TL_PHYS_I64 && valid == NULL)
        return tl_orc__ints_read(&node->ints, col->values, k, err);
    int64_t *v;
    TL_TRY(scratch(node, 0, k, sizeof *v, &v, err));
    TL_TRY(tl_orc__ints_read(&node->ints, v, k, err));
    return spread_ints(node, col, n, valid, v, k, err);
}

static tl_status read_octets(tl_orc_node *node, tl_column *col, int64_t n, const uint8_t *valid, int64_t k, tl_error *err)
{
    int8_t *octets;
    int64_t *v;
    TL_TRY(scratch(node, 0, k, sizeof *octets, &octets, err));
    TL_TRY(scratch(node, 1, k, sizeof *v, &v, err));
    TL_TRY(tl_orc__octets_read(&node->octets, (uint8_t *)octets, k, err));
    for (int64_t j = 0; j < k; j++)
        v[j] = octets[j];
    return spread_ints(node, col, n, valid, v, k, err);
}

static tl_status read_bools(tl_orc_node *node, tl_column *col, int64_t n, const uint8_t *valid, int64_t k, tl_error *err)
{
    uint8_t *bits;
    TL_TRY(scratch(node, 0, (int64_t)tl_bitmap_bytes(k), 1, &bits, err));
    TL_TRY(tl_orc__bits_read(&node->bits, bits, k, err));
    SPREAD(uint8_t, tl_bit_get(bits, j));
    return TL_OK;
}

/* ---- floating point ---- */

static tl_status read_floats(tl_orc_node *node, tl_column *col, int64_t n, const uint8_t *valid, int64_t k, tl_error *err)
{
    float *v;
    TL_TRY(scratch(node, 0, k, sizeof *v, &v, err));
    TL_TRY(tl_orc__in_read(&node->data, v, (size_t)k * sizeof *v, err));
    if (node->phys == TL_PHYS_F32)
        SPREAD(float, v[j]);
    else
        SPREAD(double, v[j]);
    return TL_OK;
}

static tl_status read_doubles(tl_orc_node *node, tl_column *col, int64_t n, const uint8_t *valid, int64_t k, tl_error *err)
{
    double *v;
    TL_TRY(scratch(node, 0, k, sizeof *v, &v, err));
    TL_TRY(tl_orc__in_read(&node->data, v, (size_t)k * sizeof *v, err));
    SPREAD(double, v[j]);
    return TL_OK;
}

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

static tl_status spread_decimals(tl_orc_node *node, tl_column *col, int64_t n, const uint8_t *valid, const tl_i128 *v,
                                 tl_error *err)
{
    if (node->phys == TL_PHYS_I128) {
        SPREAD(tl_i128, v[j]);
        return TL_OK;
    }
    bool ok = true;
    int64_t *to = col->values;
    for (int64_t i = 0, j = 0; i < n; i++) {
        if (valid != NULL && !tl_bit_get(valid, i))
            continue;
        to[i] = (int64_t)v[j];
        ok &= to[i] == v[j];
        j++;
    }
    return ok ? TL_OK : out_of_range(node, err);
}

static tl_status read_decimals(tl_orc_node *node, tl_column *col, int64_t n, const uint8_t *valid, int64_t k, tl_error *err)
{
    tl_i128 *v;
    int64_t *scales;
    bool ok = true;
    TL_TRY(scratch(node, 0, k, sizeof *v, &v, err));
    TL_TRY(scratch(node, 1, k, sizeof *scales, &scales, err));
    if (node->op == TL_ORC_OP_DECIMAL64) {
        TL_TRY(tl_orc__ints_read(&node->ints, scales, k, err));
        for (int64_t j = 0; j < k; j++) {
            v[j] = scales[j];
            ok &= rescale(&v[j], node->type->scale, node->want->scale);
        }
    } else {
        TL_TRY(tl_orc__ints_read(&node->lengths, scales, k, err));
        for (int64_t j = 0; j < k; j++) {
            TL_TRY(read_wide(&node->data, &v[j], err));
            if (scales[j] != node->want->scale)
                ok &= rescale(&v[j], scales[j], node->want->scale);
        }
    }
    return ok ? spread_decimals(node, col, n, valid, v, err) : out_of_range(node, err);
}

/* ---- timestamps ---- */

/* The low three bits tell how many zeros were taken off the end: 0, or one less than there were. */
static int64_t nanos_of(int64_t coded)
{
    static const int32_t pow10[] = {1, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};
    return (int64_t)((uint64_t)coded >> 3) * pow10[coded & 7];
}

/*
 * Seconds of the wall clock, as if it were UTC. Before 1970 the writer cuts towards zero what has whole milliseconds, and the
 * reference's readers undo it so; in the second before 1970 that cannot be told, and they read it one second late, as we do.
 */
static int64_t wall_seconds(const tl_orc_zone *zone, int64_t base, int64_t stored, int64_t nanos)
{
    int64_t seconds = (int64_t)((uint64_t)stored + (uint64_t)base);
    if (seconds < 0 && nanos > 999999)
        seconds--;
    return zone == NULL ? seconds : (int64_t)((uint64_t)seconds + (uint64_t)(int64_t)tl_orc__zone_offset(zone, seconds));
}

static bool to_timestamp(const tl_orc_node *node, int64_t seconds, int64_t nanos, void *values, int64_t i)
{
    int64_t out;
    if (node->phys == TL_PHYS_TS96) {
        if (__builtin_mul_overflow(seconds, (int64_t)1000, &out) || __builtin_add_overflow(out, nanos / 1000000, &out))
            return false;
        ((tl_ts96 *)values)[i] = (tl_ts96){out, (int32_t)(nanos % 1000000), 0};
        return true;
    }
    int64_t ticks = node->want->precision <= 3 ? 1000 : 1000000;
    if (__builtin_mul_overflow(seconds, ticks, &out) || __builtin_add_overflow(out, nanos / (1000000000 / ticks), &out))
        return false;
    ((int64_t *)values)[i] = out;
    return true;
}

static tl_status read_timestamps(tl_orc_node *node, tl_column *col, int64_t n, const uint8_t *valid, int64_t k, tl_error *err)
{
    int64_t *seconds, *nanos, base = TL_ORC_EPOCH_2015;
    bool ok = true;
    if (node->zone != NULL)
        base -= tl_orc__zone_offset(node->zone, base - tl_orc__zone_offset(node->zone, base));
    TL_TRY(scratch(node, 0, k, sizeof *seconds, &seconds, err));
    TL_TRY(scratch(node, 1, k, sizeof *nanos, &nanos, err));
    TL_TRY(tl_orc__ints_read(&node->ints, seconds, k, err));
    TL_TRY(tl_orc__ints_read(&node->lengths, nanos, k, err));
    for (int64_t i = 0, j = 0; i < n; i++) {
        if (valid != NULL && !tl_bit_get(valid, i))
            continue;
        int64_t nano = nanos_of(nanos[j]);
        ok &= nano >= 0 && nano < 1000000000 &&
              to_timestamp(node, wall_seconds(node->zone, base, seconds[j], nano), nano, col->values, i);
        j++;
    }
    return ok ? TL_OK : out_of_range(node, err);
}

/* ---- strings ---- */

/* offsets[i + 1] from the lengths of the values; false if they are negative or more than `max` together. */
static bool fill_offsets(int32_t *offsets, int64_t n, const uint8_t *valid, const int64_t *lengths, int64_t max)
{
    int64_t total = 0;
    for (int64_t i = 0, j = 0; i < n; i++) {
        if (valid == NULL || tl_bit_get(valid, i)) {
            if (lengths[j] < 0 || lengths[j] > max - total)
                return false;
            total += lengths[j++];
        }
        offsets[i + 1] = (int32_t)total;
    }
    return true;
}

static void take_data(tl_column *col, tl_buf *data)
{
    tl_free(col->data);
    col->data = tl_buf_steal(data).data;
}

static tl_status read_direct(tl_orc_node *node, tl_column *col, int64_t n, const uint8_t *valid, int64_t k, tl_error *err)
{
    int64_t *lengths;
    TL_TRY(scratch(node, 0, k, sizeof *lengths, &lengths, err));
    TL_TRY(tl_orc__ints_read(&node->lengths, lengths, k, err));
    if (!fill_offsets(col->offsets, n, valid, lengths, INT32_MAX))
        return tl_error_set(err, TL_E_CORRUPT, "column %d: strings with a negative length or more than 2 GiB in a batch",
                            node->column);
    tl_buf data = {0};
    tl_status status = tl_orc__in_append(&node->data, &data, (size_t)col->offsets[n], err);
    if (status == TL_OK && data.data != NULL)
        take_data(col, &data);
    tl_buf_deinit(&data);
    return status;
}

/* Word numbers become lengths; false if one is not in the dictionary. */
static bool word_lengths(const tl_orc_node *node, const int64_t *words, int64_t k, int64_t *lengths)
{
    const int32_t *offsets = (const int32_t *)(const void *)node->word_offsets.data;
    for (int64_t j = 0; j < k; j++) {
        if (words[j] < 0 || words[j] >= node->n_words)
            return false;
        lengths[j] = offsets[words[j] + 1] - offsets[words[j]];
    }
    return true;
}

static tl_status read_words(tl_orc_node *node, tl_column *col, int64_t n, const uint8_t *valid, int64_t k, tl_error *err)
{
    int64_t *words, *lengths;
    const int32_t *offsets = (const int32_t *)(const void *)node->word_offsets.data;
    TL_TRY(scratch(node, 0, k, sizeof *words, &words, err));
    TL_TRY(scratch(node, 1, k, sizeof *lengths, &lengths, err));
    TL_TRY(tl_orc__ints_read(&node->ints, words, k, err));
    if (!word_lengths(node, words, k, lengths))
        return tl_error_set(err, TL_E_CORRUPT, "column %d: word outside of the dictionary", node->column);
    if (!fill_offsets(col->offsets, n, valid, lengths, INT32_MAX))
        return tl_error_set(err, TL_E_LIMIT, "column %d: strings of a batch have more than 2 GiB", node->column);
    uint8_t *data = tl_alloc((size_t)col->offsets[n] + 1);
    if (data == NULL)
        return tl_nomem(err, "strings");
    uint8_t *to = data;
    for (int64_t j = 0; j < k; j++) {
        memcpy(to, node->words.data + offsets[words[j]], (size_t)lengths[j]);
        to += lengths[j];
    }
    tl_free(col->data);
    col->data = data;
    return TL_OK;
}

/* CHAR is padded with blanks in the file; readers take them off again. Java: TreeReaderFactory.CharTreeReader. */
static void trim_right(tl_column *col, int64_t n)
{
    int32_t from = 0, to = 0; /* of the value as it lay, and as it comes to lie */
    for (int64_t i = 0; i < n; i++) {
        int32_t end = col->offsets[i + 1], len = end - from;
        while (len > 0 && col->data[from + len - 1] == ' ')
            len--;
        if (len > 0)
            memmove(col->data + to, col->data + from, (size_t)len);
        to += len;
        from = end;
        col->offsets[i + 1] = to;
    }
}

static tl_status read_bytes(tl_orc_node *node, tl_column *col, int64_t n, const uint8_t *valid, int64_t k, tl_error *err)
{
    TL_TRY(node->is_dictionary ? read_words(node, col, n, valid, k, err) : read_direct(node, col, n, valid, k, err));
    if (node->type->kind == TL_ORC_CHAR)
        trim_right(col, n);
    return TL_OK;
}

/* ---- nested ---- */

static tl_status read_list(tl_orc_node *node, tl_column *col, int64_t n, const uint8_t *valid, int64_t k, tl_error *err)
{
    int64_t *lengths;
    TL_TRY(scratch(node, 0, k, sizeof *lengths, &lengths, err));
    TL_TRY(tl_orc__ints_read(&node->lengths, lengths, k, err));
    if (!fill_offsets(col->offsets, n, valid, lengths, ELEMENTS_MAX))
        return tl_error_set(err, TL_E_LIMIT, "column %d: a negative length, or more than %lld elements in a batch", node->column,
                            (long long)ELEMENTS_MAX);
    for (int32_t c = 0; c < node->n_children; c++)
        TL_TRY(tl_orc__node_read(&node->children[c], col->offsets[n], NULL, &col->children[c], err));
    return TL_OK;
}

static tl_status read_row(tl_orc_node *node, tl_column *col, int64_t n, const uint8_t *valid, tl_error *err)
{
    for (int32_t c = 0; c < node->n_children; c++)
        TL_TRY(tl_orc__node_read(&node->children[c], n, valid, &col->children[c], err));
    return TL_OK;
}

static tl_status read_values(tl_orc_node *node, tl_column *col, int64_t n, const uint8_t *valid, int64_t k, tl_error *err)
{
    switch (node->op) {
    case TL_ORC_OP_BOOL:
        return read_bools(node, col, n, valid, k, err);
    case TL_ORC_OP_OCTET:
        return read_octets(node, col, n, valid, k, err);
    case TL_ORC_OP_INT:
        return read_ints(node, col, n, valid, k, err);
    case TL_ORC_OP_F32:
        return read_floats(node, col, n, valid, k, err);
    case TL_ORC_OP_F64:
        return read_doubles(node, col, n, valid, k, err);
    case TL_ORC_OP_DECIMAL:
    case TL_ORC_OP_DECIMAL64:
        return read_decimals(node, col, n, valid, k, err);
    case TL_ORC_OP_BYTES:
        return read_bytes(node, col, n, valid, k, err);
    case TL_ORC_OP_TIMESTAMP:
        return read_timestamps(node, col, n, valid, k, err);
    case TL_ORC_OP_LIST:
        return read_list(node, col, n, valid, k, err);
    default:
        return read_row(node, col, n, valid, err);
    }
}

tl_status tl_orc__node_read(tl_orc_node *node, int64_t n, const uint8_t *mask, tl_column **out, tl_error *err)
{
    int64_t k;
    if (node->op == TL_ORC_OP_ABSENT)
        return tl_column_nulls(node->want, n, out, err);
    TL_CLEANUP(tl_column_unrefp) tl_column *col = NULL;
    TL_TRY(tl_column_alloc(node->want, n, &col, err));
    TL_TRY(read_validity(node, n, mask, &col->validity, &k, err));
    col->null_count = n - k;
    TL_TRY(read_values(node, col, n, col->validity, k, err));
    *out = TL_STEAL(col);
    return TL_OK;
}
