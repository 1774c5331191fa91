/*
 * Values of a column: the file holds those that are not null, one after the other; they are decoded as such, at the front of the
 * column, and then spread over the rows. A child of a struct has no bits at all for the rows whose struct is null: `mask` tells them.
 */
#include "format/expand.h"
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

tl_status tl_orc__scratch(tl_orc_node *node, int which, int64_t n, size_t bytes, void *out, tl_error *err)
{
    size_t total;
    tl_buf *buf = &node->scratch[which];
    buf->len = 0;
    if (!tl_mul_size((size_t)n, bytes, &total) || tl_buf_reserve(buf, total + 1) != TL_OK)
        return tl_nomem(err, "column");
    *(void **)out = buf->data;
    return TL_OK;
}

tl_status tl_orc__out_of_range(const tl_orc_node *node, tl_error *err)
{
    return tl_error_set(err, TL_E_CORRUPT, "column %d: a value does not fit the type that is expected", node->column);
}

/* Put EXPR(j) for the k values at the front of the column, from where they are spread over its rows. */
#define FILL(T, EXPR)                       \
    do {                                    \
        T *restrict to_ = col->values;      \
        for (int64_t j = 0; j < k; j++)     \
            to_[j] = (T)(EXPR);             \
    } while (0)

/* ---- integers ---- */

/* Whether the values fit in T; without a branch, so that several are taken at once. */
#define FILL_WITHIN(T, MIN)                                                 \
    do {                                                                    \
        uint64_t wide_ = 0;                                                 \
        for (int64_t j = 0; j < k; j++)                                     \
            wide_ |= ((uint64_t)v[j] - (uint64_t)(MIN)) >> (8 * sizeof(T)); \
        if (wide_ != 0)                                                     \
            return tl_orc__out_of_range(node, err);                         \
        FILL(T, v[j]);                                                      \
    } while (0)

static tl_status fill_ints(tl_orc_node *node, tl_column *col, const int64_t *v, int64_t k, tl_error *err)
{
    switch (node->phys) {
    case TL_PHYS_I8:
        FILL_WITHIN(int8_t, INT8_MIN);
        return TL_OK;
    case TL_PHYS_I16:
        FILL_WITHIN(int16_t, INT16_MIN);
        return TL_OK;
    case TL_PHYS_I32:
        FILL_WITHIN(int32_t, INT32_MIN);
        return TL_OK;
    default:
        FILL(int64_t, v[j]);
        return TL_OK;
    }
}

static tl_status read_ints(tl_orc_node *node, tl_column *col, int64_t k, tl_error *err)
{
    if (node->phys == TL_PHYS_I64)
        return tl_orc__ints_read(&node->ints, col->values, k, err);
    int64_t *v;
    TL_TRY(tl_orc__scratch(node, 0, k, sizeof *v, &v, err));
    TL_TRY(tl_orc__ints_read(&node->ints, v, k, err));
    return fill_ints(node, col, v, k, err);
}

static tl_status read_octets(tl_orc_node *node, tl_column *col, int64_t k, tl_error *err)
{
    int8_t *octets;
    int64_t *v;
    TL_TRY(tl_orc__scratch(node, 0, k, sizeof *octets, &octets, err));
    TL_TRY(tl_orc__scratch(node, 1, k, sizeof *v, &v, err));
    TL_TRY(tl_orc__octets_read(&node->octets, (uint8_t *)octets, k, err));
    for (int64_t j = 0; j < k; j++)
        v[j] = octets[j];
    return fill_ints(node, col, v, k, err);
}

static tl_status read_bools(tl_orc_node *node, tl_column *col, int64_t k, tl_error *err)
{
    uint8_t *bits;
    TL_TRY(tl_orc__scratch(node, 0, (int64_t)tl_bitmap_bytes(k), 1, &bits, err));
    TL_TRY(tl_orc__bits_read(&node->bits, bits, k, err));
    FILL(uint8_t, tl_bit_get(bits, j));
    return TL_OK;
}

/* ---- floating point ---- */

static tl_status read_floats(tl_orc_node *node, tl_column *col, int64_t k, tl_error *err)
{
    if (node->phys == TL_PHYS_F32)
        return tl_orc__in_read(&node->data, col->values, (size_t)k * sizeof(float), err);
    float *v;
    TL_TRY(tl_orc__scratch(node, 0, k, sizeof *v, &v, err));
    TL_TRY(tl_orc__in_read(&node->data, v, (size_t)k * sizeof *v, err));
    FILL(double, v[j]);
    return TL_OK;
}

/* ---- strings ---- */

/* Offsets of the rows from the lengths of the values; false if these are negative or more than `max` together. */
static bool fill_offsets(int32_t *offsets, int64_t n, const uint8_t *valid, const int64_t *lengths, int64_t k, int64_t max)
{
    uint64_t total = 0, bad = 0; /* fewer than 2^32 lengths below 2^31 do not wrap around */
    for (int64_t j = 0; j < k; j++) {
        bad |= (uint64_t)lengths[j] >> 31;
        total += (uint64_t)lengths[j];
        offsets[j + 1] = (int32_t)total;
    }
    if (bad != 0 || total > (uint64_t)max)
        return false;
    if (valid != NULL)
        tl_format__expand_offsets(offsets, valid, n, k);
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
    TL_TRY(tl_orc__scratch(node, 0, k, sizeof *lengths, &lengths, err));
    TL_TRY(tl_orc__ints_read(&node->lengths, lengths, k, err));
    if (!fill_offsets(col->offsets, n, valid, lengths, k, INT32_MAX))
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
    TL_TRY(tl_orc__scratch(node, 0, k, sizeof *words, &words, err));
    TL_TRY(tl_orc__scratch(node, 1, k, sizeof *lengths, &lengths, err));
    TL_TRY(tl_orc__ints_read(&node->ints, words, k, err));
    if (!word_lengths(node, words, k, lengths))
        return tl_error_set(err, TL_E_CORRUPT, "column %d: word outside of the dictionary", node->column);
    if (!fill_offsets(col->offsets, n, valid, lengths, k, INT32_MAX))
        return tl_error_set(err, TL_E_LIMIT, "column %d: strings of a batch have more than 2 GiB", node->column);
    uint8_t *data = tl_alloc((size_t)col->offsets[n] + TL_ORC_WORD_ROOM);
    if (data == NULL)
        return tl_nomem(err, "strings");
    uint8_t *to = data;
    if (node->word_bytes_max <= TL_ORC_WORD_ROOM)
        for (int64_t j = 0; j < k; to += lengths[j++])
            memcpy(to, node->words.data + offsets[words[j]], TL_ORC_WORD_ROOM);
    else
        for (int64_t j = 0; j < k; to += lengths[j++])
            memcpy(to, node->words.data + offsets[words[j]], (size_t)lengths[j]);
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
    TL_TRY(tl_orc__scratch(node, 0, k, sizeof *lengths, &lengths, err));
    TL_TRY(tl_orc__ints_read(&node->lengths, lengths, k, err));
    if (!fill_offsets(col->offsets, n, valid, lengths, k, ELEMENTS_MAX))
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

/* Of each row its tag, or -1 for those without a value. */
static tl_status read_tags(tl_orc_node *node, int64_t n, const uint8_t *valid, int64_t k, int8_t **out, tl_error *err)
{
    int8_t *tags, *spread;
    TL_TRY(tl_orc__scratch(node, 0, k, sizeof *tags, &tags, err));
    TL_TRY(tl_orc__scratch(node, 1, n, sizeof *spread, &spread, err));
    TL_TRY(tl_orc__octets_read(&node->octets, (uint8_t *)tags, k, err));
    for (int64_t j = 0; j < k; j++)
        if (tags[j] < 0 || tags[j] >= node->type->n_children)
            return tl_error_set(err, TL_E_CORRUPT, "column %d: a union of %d types has a value of type %d", node->column, node->type->n_children, tags[j]);
    for (int64_t i = 0, j = 0; i < n; i++)
        spread[i] = valid == NULL || tl_bit_get(valid, i) ? tags[j++] : -1;
    *out = spread;
    return TL_OK;
}

static tl_status tag_column(const tl_orc_node *field, const int8_t *tags, int64_t n, const uint8_t *valid, int64_t k, tl_column **out, tl_error *err)
{
    TL_CLEANUP(tl_column_unrefp) tl_column *col = NULL;
    TL_TRY(tl_column_alloc(field->want, n, &col, err));
    for (int64_t i = 0; i < n; i++)
        ((int8_t *)col->values)[i] = TL_MAX(tags[i], 0);
    if (valid != NULL && (col->validity = tl_memdup(valid, tl_bitmap_bytes(n) + 1)) == NULL)
        return tl_nomem(err, "validity");
    col->null_count = n - k;
    *out = TL_STEAL(col);
    return TL_OK;
}

/* A type of a union has values for the rows that have its tag alone. */
static tl_status read_union(tl_orc_node *node, tl_column *col, int64_t n, const uint8_t *valid, int64_t k, tl_error *err)
{
    int8_t *tags;
    TL_TRY(read_tags(node, n, valid, k, &tags, err));
    TL_CLEANUP(tl_freep) uint8_t *mask = tl_alloc(tl_bitmap_bytes(n) + 1);
    if (mask == NULL)
        return tl_nomem(err, "union");
    for (int32_t c = 0; c < node->n_children; c++) {
        tl_orc_node *field = &node->children[c];
        if (field->variant == TL_ORC_TAG) {
            TL_TRY(tag_column(field, tags, n, valid, k, &col->children[c], err));
            continue;
        }
        memset(mask, 0, tl_bitmap_bytes(n) + 1);
        for (int64_t i = 0; i < n; i++)
            if (tags[i] == field->variant)
                tl_bit_set(mask, i);
        TL_TRY(tl_orc__node_read(field, n, mask, &col->children[c], err));
    }
    return TL_OK;
}

/* Values of a fixed width: the k that are there, side by side. */
static tl_status read_fixed(tl_orc_node *node, tl_column *col, int64_t k, tl_error *err)
{
    switch (node->op) {
    case TL_ORC_OP_BOOL:
        return read_bools(node, col, k, err);
    case TL_ORC_OP_OCTET:
        return read_octets(node, col, k, err);
    case TL_ORC_OP_INT:
        return read_ints(node, col, k, err);
    case TL_ORC_OP_F32:
        return read_floats(node, col, k, err);
    case TL_ORC_OP_F64:
        return tl_orc__in_read(&node->data, col->values, (size_t)k * sizeof(double), err);
    case TL_ORC_OP_DECIMAL:
    case TL_ORC_OP_DECIMAL64:
        return tl_orc__read_decimals(node, col, k, err);
    default:
        return tl_orc__read_timestamps(node, col, k, err);
    }
}

static tl_status read_values(tl_orc_node *node, tl_column *col, int64_t n, const uint8_t *valid, int64_t k, tl_error *err)
{
    switch (node->op) {
    case TL_ORC_OP_BYTES:
        return read_bytes(node, col, n, valid, k, err);
    case TL_ORC_OP_LIST:
        return read_list(node, col, n, valid, k, err);
    case TL_ORC_OP_ROW:
        return read_row(node, col, n, valid, err);
    case TL_ORC_OP_UNION:
        return read_union(node, col, n, valid, k, err);
    default:
        TL_TRY(read_fixed(node, col, k, err));
        if (valid != NULL)
            tl_format__expand_fixed(col->values, tl_phys_width(node->phys), valid, n, k);
        return TL_OK;
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
