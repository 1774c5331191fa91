/*
 * Kind range-bitmap: a dictionary of the values, ascending, and each row's place in it (its code) as one bitmap for each bit.
 *   head        int32 bytes of the rest of it, int8 version 1, int32 rows, int32 values, [least value, greatest value], int32 bytes
 *               of the dictionary
 *   dictionary  int32 13, int8 1, int32 chunks, int32 bytes of offsets, int32 bytes of chunks; int32 offset of each chunk; chunks:
 *               int8 1, first value, int32 its code, int32 offset among the keys, int32 further values,
 *                 values of fixed width  int32 bytes of the further values, int32 bytes of one
 *                 strings                int32 bytes of their offsets, int32 bytes of them
 *               keys: for each chunk its further values, strings after an int32 offset of each
 *   codes       int32 bytes of the rest of the head, int8 1, int8 slices, int32 bytes of the first bitmap, int32 bytes of what
 *               follows, int32 offset and int32 bytes of each slice; bitmap of the rows that are not NULL; slices
 * Java: RangeBitmap, ChunkedDictionary, BitSliceIndexBitmap. The writer is in range_bitmap_write.c.
 */
#include "index/range_bitmap.h"

typedef struct chunk {
    tl_findex__value first;
    int32_t code; /* of `first` */
    int32_t keys_at;
    int32_t n_more;
    int32_t keys_bytes;    /* strings: of their offsets and them */
    int32_t offsets_bytes; /* strings only */
    tl_findex__value *more; /* NULL: not read yet */
} chunk;

typedef struct range_reader {
    tl_findex__reader base;
    int32_t n_values;
    tl_findex__value least, greatest;
    tl_findex__input dictionary;
    tl_findex__input codes;
    /* read when they are needed */
    int32_t n_chunks; /* 0: not yet */
    chunk *chunks;
    int64_t keys_at;
    bool has_codes;
    int64_t slices_at;
    int32_t n_slices;
    int32_t *slice_places; /* offset and bytes of each */
    tl_roaring32 present;
    tl_roaring32 slice; /* the last one asked for */
} range_reader;

static bool range_holds(const tl_type *type, const char **why)
{
    *why = "range bitmaps know no BINARY or nested values, DECIMAL up to 18 digits, and TIMESTAMP up to precision 6";
    if (type->kind == TL_BINARY || type->kind == TL_VARBINARY || type->kind >= TL_ARRAY)
        return false;
    tl_phys phys = tl_type_phys(type);
    return phys != TL_PHYS_I128 && phys != TL_PHYS_TS96;
}

/* ---- heads ---- */

static tl_status range_open(tl_findex__reader *reader, tl_error *err)
{
    range_reader *r = (range_reader *)reader;
    const tl_findex__input *in = &r->base.in;
    tl_findex__cursor c = tl_findex__cursor_at(in, 0);
    int32_t head = 0, rows = 0, bytes = 0;
    uint8_t version = 0;
    TL_TRY(tl_findex__take_count(&c, in->bytes - 4, "size of the head", &head, err));
    TL_TRY(tl_findex__take_u8(&c, &version, err));
    if (version != 1)
        return tl_error_set(err, TL_E_UNSUPPORTED, "version %u is not known", version);
    TL_TRY(tl_findex__take_i32(&c, &rows, err));
    if (rows != r->base.rows)
        return tl_error_set(err, TL_E_CORRUPT, "byte %lld: it has %d rows, the data file %lld", (long long)(in->from + 5), rows,
                            (long long)r->base.rows);
    TL_TRY(tl_findex__take_count(&c, rows, "number of values", &r->n_values, err));
    if (r->n_values > 0) {
        TL_TRY(tl_findex__take_value(&c, &r->base.type, &r->least, err));
        TL_TRY(tl_findex__take_value(&c, &r->base.type, &r->greatest, err));
    }
    TL_TRY(tl_findex__take_count(&c, in->bytes, "size of the dictionary", &bytes, err));
    if (c.at != 4 + (int64_t)head)
        return tl_findex__corrupt(in, c.at, "the head has another size than told", err);
    TL_TRY(tl_findex__part(in, c.at, bytes, &r->dictionary, err));
    return tl_findex__part(in, c.at + bytes, in->bytes - c.at - bytes, &r->codes, err);
}

/* ---- the dictionary ---- */

static tl_status read_chunk(range_reader *r, tl_findex__cursor *c, chunk *out, tl_error *err)
{
    uint8_t version = 0;
    int32_t width = 0;
    bool strings = r->base.type.repr == TL_FINDEX__BYTES;
    int64_t keys = r->dictionary.bytes - r->keys_at, at = c->at;
    TL_TRY(tl_findex__take_u8(c, &version, err));
    if (version != 1)
        return tl_error_set(err, TL_E_UNSUPPORTED, "version %u of a chunk is not known", version);
    TL_TRY(tl_findex__take_value(c, &r->base.type, &out->first, err));
    TL_TRY(tl_findex__take_count(c, r->n_values - 1, "code", &out->code, err));
    TL_TRY(tl_findex__take_count(c, keys, "offset of keys", &out->keys_at, err));
    TL_TRY(tl_findex__take_count(c, r->n_values - 1 - out->code, "number of keys", &out->n_more, err));
    if (strings)
        TL_TRY(tl_findex__take_count(c, keys, "size of offsets", &out->offsets_bytes, err));
    TL_TRY(tl_findex__take_count(c, keys, "size of keys", &out->keys_bytes, err));
    if (!strings)
        TL_TRY(tl_findex__take_i32(c, &width, err));
    int64_t each = strings ? 4 : (int64_t)tl_findex__stored_bytes(&r->base.type, out->first);
    if ((strings ? out->offsets_bytes : out->keys_bytes) != each * out->n_more || (!strings && width != each))
        return tl_findex__corrupt(&r->dictionary, at, "a chunk whose sizes contradict each other", err);
    return TL_OK;
}

/* Chunks are read one after the other, as they lie: their offsets say the same. */
static tl_status load_chunks(range_reader *r, tl_error *err)
{
    tl_findex__cursor c = tl_findex__cursor_at(&r->dictionary, 0);
    int32_t head = 0, n = 0, offsets = 0, bytes = 0;
    uint8_t version = 0;
    if (r->n_chunks > 0)
        return TL_OK;
    TL_TRY(tl_findex__take_i32(&c, &head, err));
    TL_TRY(tl_findex__take_u8(&c, &version, err));
    if (head != 13 || version != 1)
        return tl_error_set(err, TL_E_UNSUPPORTED, "version %u of the dictionary is not known", version);
    TL_TRY(tl_findex__take_count(&c, r->n_values, "number of chunks", &n, err));
    TL_TRY(tl_findex__take_i32(&c, &offsets, err));
    TL_TRY(tl_findex__take_count(&c, r->dictionary.bytes, "size of chunks", &bytes, err));
    if (n == 0 || offsets != 4 * (int64_t)n || bytes < n)
        return tl_findex__corrupt(&r->dictionary, 5, "chunks whose sizes contradict each other", err);
    c = tl_findex__cursor_at(&r->dictionary, c.at + offsets);
    r->keys_at = c.at + bytes;
    r->chunks = tl_arena_calloc(r->base.in.arena, (size_t)n, sizeof *r->chunks);
    if (r->chunks == NULL)
        return tl_nomem(err, "range bitmap");
    for (int32_t i = 0; i < n; i++) {
        const chunk *before = i > 0 ? &r->chunks[i - 1] : NULL;
        int64_t at = c.at;
        TL_TRY(read_chunk(r, &c, &r->chunks[i], err));
        int32_t code = before == NULL ? 0 : before->code + 1 + before->n_more;
        if (r->chunks[i].code != code || (before != NULL && tl_findex__compare(&r->base.type, before->first, r->chunks[i].first) >= 0))
            return tl_findex__corrupt(&r->dictionary, at, "chunks out of order", err);
    }
    if (r->chunks[n - 1].code + 1 + r->chunks[n - 1].n_more != r->n_values)
        return tl_findex__corrupt(&r->dictionary, c.at, "chunks that do not hold all values", err);
    r->n_chunks = n;
    return TL_OK;
}

static tl_status load_keys(range_reader *r, chunk *k, tl_error *err)
{
    tl_findex__input keys;
    if (k->more != NULL)
        return TL_OK;
    int64_t from = r->keys_at + k->keys_at;
    TL_TRY(tl_findex__part(&r->dictionary, from, (int64_t)k->offsets_bytes + k->keys_bytes, &keys, err));
    tl_findex__value *more = tl_arena_alloc(keys.arena, ((size_t)k->n_more + 1) * sizeof *more);
    if (more == NULL)
        return tl_nomem(err, "range bitmap");
    tl_findex__cursor c = tl_findex__cursor_at(&keys, k->offsets_bytes); /* keys lie one after the other */
    for (int32_t i = 0; i < k->n_more; i++) {
        int64_t at = c.at;
        TL_TRY(tl_findex__take_value(&c, &r->base.type, &more[i], err));
        if (tl_findex__compare(&r->base.type, i > 0 ? more[i - 1] : k->first, more[i]) >= 0)
            return tl_findex__corrupt(&keys, at, "values out of order", err);
    }
    k->more = more;
    return TL_OK;
}

/* The code of the first value that is not less; *equal: it is the value itself. */
static tl_status find_code(range_reader *r, tl_findex__value value, int32_t *code, bool *equal, tl_error *err)
{
    const tl_findex__type *type = &r->base.type;
    *equal = false;
    *code = 0;
    if (r->n_values == 0 || tl_findex__compare(type, value, r->least) < 0)
        return TL_OK;
    *code = r->n_values;
    if (tl_findex__compare(type, value, r->greatest) > 0)
        return TL_OK;
    TL_TRY(load_chunks(r, err));
    int32_t low = 0, high = r->n_chunks; /* chunks before `low` begin at or before the value */
    while (low < high) {
        int32_t mid = low + (high - low) / 2;
        if (tl_findex__compare(type, r->chunks[mid].first, value) <= 0)
            low = mid + 1;
        else
            high = mid;
    }
    if (low == 0)
        return tl_findex__corrupt(&r->dictionary, 0, "a first value that is greater than the least one", err);
    chunk *k = &r->chunks[low - 1];
    *code = k->code;
    *equal = tl_findex__compare(type, k->first, value) == 0;
    if (*equal)
        return TL_OK;
    TL_TRY(load_keys(r, k, err));
    int32_t from = 0, to = k->n_more;
    while (from < to) {
        int32_t mid = from + (to - from) / 2;
        if (tl_findex__compare(type, k->more[mid], value) < 0)
            from = mid + 1;
        else
            to = mid;
    }
    *code = k->code + 1 + from;
    *equal = from < k->n_more && tl_findex__compare(type, k->more[from], value) == 0;
    return TL_OK;
}

/* ---- codes ---- */

static tl_status load_codes(range_reader *r, tl_error *err)
{
    tl_findex__cursor c = tl_findex__cursor_at(&r->codes, 0);
    int32_t head = 0, present = 0, bytes = 0;
    uint8_t version = 0, n = 0;
    if (r->has_codes)
        return TL_OK;
    TL_TRY(tl_findex__take_count(&c, r->codes.bytes, "size of the head of the codes", &head, err));
    TL_TRY(tl_findex__take_u8(&c, &version, err));
    TL_TRY(tl_findex__take_u8(&c, &n, err));
    if (version != 1)
        return tl_error_set(err, TL_E_UNSUPPORTED, "version %u of the codes is not known", version);
    TL_TRY(tl_findex__take_count(&c, r->codes.bytes, "size of a bitmap", &present, err));
    TL_TRY(tl_findex__take_i32(&c, &bytes, err));
    if (n > 64 || bytes != 8 * n || head != 10 + bytes)
        return tl_findex__corrupt(&r->codes, 0, "slices whose sizes contradict each other", err);
    r->slice_places = tl_arena_alloc(r->base.in.arena, 2 * ((size_t)n + 1) * sizeof *r->slice_places);
    if (r->slice_places == NULL)
        return tl_nomem(err, "range bitmap");
    for (int32_t i = 0; i < 2 * n; i++)
        TL_TRY(tl_findex__take_count(&c, r->codes.bytes, "place of a slice", &r->slice_places[i], err));
    TL_TRY(tl_findex__roaring(&r->codes, c.at, present, &r->present, err));
    r->slices_at = c.at + present;
    r->n_slices = n;
    r->has_codes = true;
    return TL_OK;
}

static tl_status slice_of(void *ctx, int32_t i, const tl_roaring32 **out, tl_error *err)
{
    range_reader *r = ctx;
    *out = &r->slice;
    return tl_findex__roaring(&r->codes, r->slices_at + r->slice_places[2 * i], r->slice_places[2 * i + 1], &r->slice, err);
}

/* Add the rows with codes below `code`. */
static tl_status add_below(range_reader *r, int32_t code, tl_row_set *rows, tl_error *err)
{
    if (code <= 0)
        return TL_OK;
    TL_TRY(load_codes(r, err));
    if (code >= r->n_values)
        return tl_row_set_add_roaring(rows, &r->present, err);
    tl_findex__slices slices = {r->base.rows, &r->present, r->n_slices, slice_of, r};
    return tl_findex__slices_less(&slices, (uint64_t)code, /* or_equal= */ false, rows, err);
}

static tl_status add_values(range_reader *r, const tl_findex__ask *ask, tl_row_set *rows, tl_error *err)
{
    for (int64_t i = 0; i < ask->n_values; i++) {
        int32_t code;
        bool is_there;
        TL_TRY(find_code(r, ask->values[i], &code, &is_there, err));
        if (!is_there)
            continue;
        TL_TRY(load_codes(r, err));
        tl_findex__slices slices = {r->base.rows, &r->present, r->n_slices, slice_of, r};
        TL_TRY(tl_findex__slices_equal(&slices, (uint64_t)code, rows, err));
    }
    return TL_OK;
}

/* Codes [*low, *high) of the values in a range. */
static tl_status range_codes(range_reader *r, const tl_findex__ask *ask, int32_t *low, int32_t *high, tl_error *err)
{
    bool equal = false;
    *low = 0;
    *high = r->n_values;
    if (ask->has_low) {
        TL_TRY(find_code(r, ask->low, low, &equal, err));
        *low += equal && ask->low_open;
    }
    if (ask->has_high) {
        TL_TRY(find_code(r, ask->high, high, &equal, err));
        *high += equal && !ask->high_open;
    }
    return TL_OK;
}

/* `out_of` is empty: rows to take out of `rows`. */
static tl_status find_rows(range_reader *r, const tl_findex__ask *ask, tl_row_set *rows, tl_row_set *out_of, tl_error *err)
{
    int32_t low = 0, high = r->n_values;
    switch (ask->op) {
    case TL_FINDEX__IN:
        return add_values(r, ask, rows, err);
    case TL_FINDEX__NOT_IN:
        TL_TRY(add_values(r, ask, out_of, err));
        break;
    case TL_FINDEX__RANGE:
        TL_TRY(range_codes(r, ask, &low, &high, err));
        if (low >= high)
            return TL_OK;
        TL_TRY(add_below(r, low, out_of, err));
        break;
    default:
        break;
    }
    TL_TRY(add_below(r, high, rows, err));
    if (ask->op == TL_FINDEX__NULL)
        tl_row_set_not(rows);
    tl_row_set_and_not(rows, out_of);
    return TL_OK;
}

static tl_status range_answer(tl_findex__reader *reader, const tl_findex__ask *ask, tl_findex__answer *out, tl_error *err)
{
    tl_row_set out_of = {0, NULL};
    TL_TRY(tl_findex__some(reader, out, err));
    tl_status status = tl_row_set_init(&out_of, reader->rows, /* all= */ false, err);
    if (status == TL_OK)
        status = find_rows((range_reader *)reader, ask, &out->rows, &out_of, err);
    tl_row_set_deinit(&out_of);
    return status;
}

const tl_findex__kind tl_findex__range_bitmap = {
    .name = "range-bitmap",
    .reader_bytes = sizeof(range_reader),
    .holds = range_holds,
    .open = range_open,
    .answer = range_answer,
    .create = tl_range_bitmap__create,
    .add = tl_range_bitmap__add,
    .memory = tl_range_bitmap__memory,
    .finish = tl_range_bitmap__finish,
    .free = tl_range_bitmap__free,
};
