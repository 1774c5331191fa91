/* See packed_rows.h. */
#include "types/packed_rows.h"

#include "types/types_private.h"

#define SLACK 64                   /* readable behind the last row: short strings are copied without a branch on their length */
#define FEW_ROWS 16                /* so many are unpacked into one allocation */
#define FEW_BYTES_MAX (1 << 16)    /* of a column's buffers in it */
#define LENGTH sizeof(uint32_t)    /* of a string */

typedef struct row_field {
    tl_phys phys;
    uint32_t width; /* of a value, or of a string's length; 0: not packed */
    uint32_t at;    /* where it is in the row */
} row_field;

struct tl_row_layout {
    const tl_type *type;
    uint32_t head; /* bytes before the strings */
    uint8_t *null_row;
    row_field fields[];
};

/* ---- layout ---- */

static tl_status place_fields(tl_row_layout *layout, tl_error *err)
{
    layout->head = (uint32_t)tl_bitmap_bytes(layout->type->n_fields);
    for (int32_t i = 0; i < layout->type->n_fields; i++) {
        row_field *f = &layout->fields[i];
        f->phys = tl_type_phys(layout->type->fields[i].type);
        f->width = f->phys == TL_PHYS_BYTES ? LENGTH : (uint32_t)tl_phys_width(f->phys);
        if (f->phys == TL_PHYS_BYTES)
            continue;
        f->at = layout->head;
        layout->head += f->width;
    }
    for (int32_t i = 0; i < layout->type->n_fields; i++) {
        row_field *f = &layout->fields[i];
        if (f->phys != TL_PHYS_BYTES)
            continue;
        f->at = layout->head; /* the lengths beside each other, before the bytes */
        layout->head += LENGTH;
    }
    layout->null_row = tl_calloc(layout->head + SLACK, 1);
    if (layout->null_row == NULL)
        return tl_nomem(err, "rows");
    tl_bitmap_fill(layout->null_row, 0, layout->type->n_fields, true);
    return TL_OK;
}

tl_status tl_row_layout_create(const tl_type *row_type, tl_row_layout **out, tl_error *err)
{
    tl_row_layout *layout = tl_calloc(1, sizeof *layout + (size_t)row_type->n_fields * sizeof(row_field));
    if (layout == NULL)
        return tl_nomem(err, "rows");
    layout->type = tl_type_ref(row_type);
    tl_status status = place_fields(layout, err);
    if (status != TL_OK) {
        tl_row_layout_free(layout);
        return status;
    }
    *out = layout;
    return TL_OK;
}

void tl_row_layout_free(tl_row_layout *layout)
{
    if (layout == NULL)
        return;
    tl_type_unref(layout->type);
    tl_free(layout->null_row);
    tl_free(layout);
}

bool tl_row_layout_has(const tl_row_layout *layout, int32_t field)
{
    return layout->fields[field].width > 0;
}

const uint8_t *tl_row_layout_null_row(const tl_row_layout *layout)
{
    return layout->null_row;
}

void tl_packed_rows_deinit(tl_packed_rows *rows)
{
    tl_free(rows->starts);
    tl_free(rows->bytes);
    *rows = (tl_packed_rows){0};
}

int64_t tl_packed_rows_bytes(const tl_packed_rows *rows)
{
    return rows->n == 0 ? 0 : (int64_t)rows->starts[rows->n] + SLACK + (rows->n + 1) * (int64_t)sizeof *rows->starts;
}

/* ---- pack ---- */

static void find_starts(const tl_row_layout *layout, const tl_column *const *cols, tl_packed_rows *rows)
{
    uint64_t *starts = rows->starts;
    for (int64_t i = 0; i < rows->n; i++)
        starts[i + 1] = layout->head;
    for (int32_t c = 0; c < layout->type->n_fields; c++) {
        if (layout->fields[c].phys != TL_PHYS_BYTES)
            continue;
        const int32_t *offsets = cols[c]->offsets;
        for (int64_t i = 0; i < rows->n; i++)
            starts[i + 1] += (uint64_t)(offsets[i + 1] - offsets[i]);
    }
    starts[0] = 0;
    for (int64_t i = 0; i < rows->n; i++)
        starts[i + 1] += starts[i];
}

/* Row by row: the bytes that a copy writes too many lie in what is written after it. */
static void pack_strings(const tl_row_layout *layout, const tl_column *const *cols, tl_packed_rows *rows)
{
    for (int64_t i = 0; i < rows->n; i++) {
        uint8_t *to = rows->bytes + rows->starts[i] + layout->head;
        for (int32_t c = 0; c < layout->type->n_fields; c++) {
            if (layout->fields[c].phys != TL_PHYS_BYTES)
                continue;
            const tl_column *col = cols[c];
            tl_bytes_view bytes = tl_col_bytes(col, i);
            tl_column__copy_bytes(to, bytes.data, bytes.len, col->data + col->offsets[col->length]);
            to += bytes.len;
        }
    }
}

#define DEFINE_PACK(NAME, TYPE)                                                                        \
    static void NAME(uint8_t *bytes, const uint64_t *restrict starts, const void *values, int64_t n)   \
    {                                                                                                  \
        const TYPE *restrict from = values;                                                            \
        for (int64_t i = 0; i < n; i++)                                                                \
            memcpy(bytes + starts[i], &from[i], sizeof from[i]);                                       \
    }
DEFINE_PACK(pack_8, uint8_t)
DEFINE_PACK(pack_16, uint16_t)
DEFINE_PACK(pack_32, uint32_t)
DEFINE_PACK(pack_64, uint64_t)

static void pack_fixed(const row_field *f, const tl_column *col, tl_packed_rows *rows)
{
    uint8_t *bytes = rows->bytes + f->at;
    switch (f->width) {
    case 1:
        pack_8(bytes, rows->starts, col->values, rows->n);
        break;
    case 2:
        pack_16(bytes, rows->starts, col->values, rows->n);
        break;
    case 4:
        pack_32(bytes, rows->starts, col->values, rows->n);
        break;
    case 8:
        pack_64(bytes, rows->starts, col->values, rows->n);
        break;
    default:
        for (int64_t i = 0; i < rows->n; i++)
            memcpy(bytes + rows->starts[i], (const uint8_t *)col->values + i * f->width, f->width);
    }
}

static void pack_lengths(const row_field *f, const tl_column *col, tl_packed_rows *rows)
{
    uint8_t *bytes = rows->bytes + f->at;
    for (int64_t i = 0; i < rows->n; i++) {
        uint32_t length = (uint32_t)(col->offsets[i + 1] - col->offsets[i]);
        memcpy(bytes + rows->starts[i], &length, sizeof length);
    }
}

static void pack_nulls(int32_t field, const tl_column *col, tl_packed_rows *rows)
{
    uint8_t *bytes = rows->bytes + field / 8;
    unsigned bit = (unsigned)field % 8;
    for (int64_t i = 0; i < rows->n; i++)
        bytes[rows->starts[i]] |= (uint8_t)(!tl_bit_get(col->validity, i) << bit);
}

tl_status tl_rows_pack(const tl_row_layout *layout, const tl_column *const *cols, int64_t n, tl_packed_rows *out, tl_error *err)
{
    tl_packed_rows rows = {.n = n, .starts = tl_alloc(((size_t)n + 1) * sizeof *rows.starts)};
    if (rows.starts == NULL)
        return tl_nomem(err, "rows");
    find_starts(layout, cols, &rows);
    rows.bytes = tl_alloc(rows.starts[n] + SLACK);
    if (rows.bytes == NULL) {
        tl_packed_rows_deinit(&rows);
        return tl_nomem(err, "rows");
    }
    memset(rows.bytes + rows.starts[n], 0, SLACK);
    pack_strings(layout, cols, &rows);
    for (int64_t i = 0; i < n; i++)
        memset(rows.bytes + rows.starts[i], 0, tl_bitmap_bytes(layout->type->n_fields));
    for (int32_t c = 0; c < layout->type->n_fields; c++) {
        const row_field *f = &layout->fields[c];
        if (f->phys == TL_PHYS_BYTES)
            pack_lengths(f, cols[c], &rows);
        else if (f->width > 0)
            pack_fixed(f, cols[c], &rows);
        if (f->width > 0 && cols[c]->null_count > 0)
            pack_nulls(c, cols[c], &rows);
    }
    *out = rows;
    return TL_OK;
}

/* ---- unpack: parts ---- */

static inline bool is_null(const uint8_t *row, int32_t field)
{
    return row[field / 8] >> (field % 8) & 1;
}

static inline uint32_t length_of(const uint8_t *row, const row_field *f)
{
    uint32_t length;
    memcpy(&length, row + f->at, sizeof length);
    return length;
}

static int64_t count_nulls(const uint8_t *const *rows, int64_t n, int32_t field)
{
    int64_t nulls = 0;
    for (int64_t i = 0; i < n; i++)
        nulls += is_null(rows[i], field);
    return nulls;
}

static tl_status unpack_validity(const uint8_t *const *rows, int32_t field, int64_t nulls, tl_column *col, tl_error *err)
{
    col->null_count = nulls;
    if (nulls == 0)
        return TL_OK;
    col->validity = tl_column__buffer(col, tl_bitmap_bytes(col->length));
    if (col->validity == NULL)
        return tl_nomem(err, "column");
    memset(col->validity, 0, tl_bitmap_bytes(col->length));
    for (int64_t i = 0; i < col->length; i++)
        col->validity[i / 8] |= (uint8_t)(!is_null(rows[i], field) << (i % 8));
    return TL_OK;
}

#define DEFINE_UNPACK(NAME, TYPE)                                                                        \
    static inline void NAME(const uint8_t *const *restrict rows, uint32_t at, int64_t n, void *values)   \
    {                                                                                                    \
        TYPE *restrict to = values;                                                                      \
        for (int64_t i = 0; i < n; i++)                                                                  \
            memcpy(&to[i], rows[i] + at, sizeof to[i]);                                                  \
    }
DEFINE_UNPACK(unpack_8, uint8_t)
DEFINE_UNPACK(unpack_16, uint16_t)
DEFINE_UNPACK(unpack_32, uint32_t)
DEFINE_UNPACK(unpack_64, uint64_t)

static inline void unpack_fixed(const uint8_t *const *rows, const row_field *f, tl_column *col)
{
    switch (f->width) {
    case 1:
        unpack_8(rows, f->at, col->length, col->values);
        break;
    case 2:
        unpack_16(rows, f->at, col->length, col->values);
        break;
    case 4:
        unpack_32(rows, f->at, col->length, col->values);
        break;
    case 8:
        unpack_64(rows, f->at, col->length, col->values);
        break;
    default:
        for (int64_t i = 0; i < col->length; i++)
            memcpy((uint8_t *)col->values + i * f->width, rows[i] + f->at, f->width);
    }
}

/* `strings`: where the next string of each row is; moved behind it. */
static tl_status unpack_strings(const uint8_t *const *rows, const row_field *f, const uint8_t **strings, tl_column *col, tl_error *err)
{
    int64_t total = 0;
    for (int64_t i = 0; i < col->length; i++) {
        col->offsets[i] = (int32_t)total;
        total += length_of(rows[i], f);
        if (total > INT32_MAX)
            return tl_column__too_large(col->type, err);
    }
    col->offsets[col->length] = (int32_t)total;
    col->data = tl_column__buffer(col, (size_t)total + TL_BYTES_SLACK);
    if (col->data == NULL)
        return tl_nomem(err, "column");
    for (int64_t i = 0; i < col->length; i++) {
        size_t length = (size_t)(col->offsets[i + 1] - col->offsets[i]);
        tl_column__copy_bytes(col->data + col->offsets[i], strings[i], length, strings[i] + TL_MAX(length, SLACK));
        strings[i] += length;
    }
    return TL_OK;
}

static inline tl_status unpack_field(const tl_row_layout *layout, const uint8_t *const *rows, int32_t field, int64_t nulls, const uint8_t **strings,
                                     tl_column *col, tl_error *err)
{
    const row_field *f = &layout->fields[field];
    TL_TRY(unpack_validity(rows, field, nulls, col, err));
    if (f->phys == TL_PHYS_BYTES)
        return unpack_strings(rows, f, strings, col, err);
    unpack_fixed(rows, f, col);
    return TL_OK;
}

/* ---- unpack: many rows, few rows ---- */

static tl_status unpack_many(const tl_row_layout *layout, const uint8_t *const *rows, int64_t n, tl_column **out, tl_error *err)
{
    TL_CLEANUP(tl_freep) const uint8_t **strings = tl_alloc((size_t)n * sizeof *strings);
    if (strings == NULL)
        return tl_nomem(err, "column");
    for (int64_t i = 0; i < n; i++)
        strings[i] = rows[i] + layout->head;
    for (int32_t c = 0; c < layout->type->n_fields; c++) {
        if (layout->fields[c].width == 0)
            continue;
        TL_TRY(tl_column__alloc_raw(layout->type->fields[c].type, n, &out[c], err));
        TL_TRY(unpack_field(layout, rows, c, count_nulls(rows, n, c), strings, out[c], err));
    }
    return TL_OK;
}

static uint32_t round_16(uint64_t bytes)
{
    return (uint32_t)(bytes + 15) / 16 * 16;
}

/* What a column's buffers take in a block, each rounded as tl_column__buffer() does; 0: it is not packed, or takes too much. */
static uint32_t few_bytes(const row_field *f, const uint8_t *const *rows, int64_t n, int64_t nulls)
{
    uint32_t validity = nulls > 0 ? round_16(tl_bitmap_bytes(n)) : 0;
    if (f->phys != TL_PHYS_BYTES)
        return f->width == 0 ? 0 : validity + round_16((uint64_t)n * f->width);
    uint64_t bytes = TL_BYTES_SLACK;
    for (int64_t i = 0; i < n; i++)
        bytes += length_of(rows[i], f);
    return bytes > FEW_BYTES_MAX ? 0 : validity + round_16(((uint64_t)n + 1) * sizeof(int32_t)) + round_16(bytes);
}

/* Strings that are too long for the block have a column of their own. */
static tl_status unpack_few(const tl_row_layout *layout, const uint8_t *const *rows, int64_t n, uint32_t *room, uint8_t *nulls, tl_column **out,
                            tl_error *err)
{
    const uint8_t *strings[FEW_ROWS];
    for (int64_t i = 0; i < n; i++)
        strings[i] = rows[i] + layout->head;
    for (int32_t c = 0; c < layout->type->n_fields; c++) {
        nulls[c] = (uint8_t)count_nulls(rows, n, c);
        room[c] = few_bytes(&layout->fields[c], rows, n, nulls[c]);
    }
    TL_TRY(tl_column__alloc_block(layout->type, room, n, out, err));
    for (int32_t c = 0; c < layout->type->n_fields; c++) {
        if (layout->fields[c].width == 0)
            continue;
        if (out[c] == NULL)
            TL_TRY(tl_column__alloc_raw(layout->type->fields[c].type, n, &out[c], err));
        TL_TRY(unpack_field(layout, rows, c, nulls[c], strings, out[c], err));
    }
    return TL_OK;
}

#define STACK_FIELDS 64

static tl_status unpack_few_of_many_fields(const tl_row_layout *layout, const uint8_t *const *rows, int64_t n, tl_column **out, tl_error *err)
{
    size_t fields = (size_t)layout->type->n_fields;
    TL_CLEANUP(tl_freep) uint32_t *room = tl_alloc(fields * sizeof *room);
    TL_CLEANUP(tl_freep) uint8_t *nulls = tl_alloc(fields);
    if (room == NULL || nulls == NULL)
        return tl_nomem(err, "columns");
    return unpack_few(layout, rows, n, room, nulls, out, err);
}

tl_status tl_rows_unpack(const tl_row_layout *layout, const uint8_t *const *rows, int64_t n, tl_column **out, tl_error *err)
{
    uint32_t room[STACK_FIELDS];
    uint8_t nulls[STACK_FIELDS];
    tl_status status;
    for (int32_t c = 0; c < layout->type->n_fields; c++)
        out[c] = NULL;
    if (n == 0 || n > FEW_ROWS)
        status = unpack_many(layout, rows, n, out, err);
    else if (layout->type->n_fields <= STACK_FIELDS)
        status = unpack_few(layout, rows, n, room, nulls, out, err);
    else
        status = unpack_few_of_many_fields(layout, rows, n, out, err);
    for (int32_t c = 0; c < layout->type->n_fields && status != TL_OK; c++) {
        tl_column_unref(out[c]);
        out[c] = NULL;
    }
    return status;
}
