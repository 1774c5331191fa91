#include "merge/roaring.h"

#include "base/bits.h"

#define BITMAP_BYTES 8192
#define ARRAY_MAX 4096 /* numbers in an ARRAY */

typedef struct words {
    uint64_t w[1024];
} words;

static tl_status corrupt(tl_error *err, const char *what)
{
    return tl_error_set(err, TL_E_CORRUPT, "roaring bitmap: %s", what);
}

static uint32_t read16(const uint8_t *data, size_t i)
{
    return tl_read_le16(data + 2 * i);
}

static tl_status read_runs(roaring_input *in, roaring_box *out, tl_error *err)
{
    if (in->left < 2)
        return corrupt(err, "cut off in a run container");
    size_t n = tl_read_le16(in->at);
    if (in->left < 2 + 4 * n || n == 0)
        return corrupt(err, n == 0 ? "empty run container" : "cut off in a run container");
    uint32_t card = 0, next = 0; /* first number that a run may start with */
    for (size_t r = 0; r < n; r++) {
        uint32_t first = read16(in->at + 2, 2 * r), more = read16(in->at + 2, 2 * r + 1);
        if (first < next || first + more > 65535)
            return corrupt(err, "runs that are out of order or too long");
        next = first + more + 1;
        card += more + 1;
    }
    *out = (roaring_box){BOX_RUN, card, in->at, 2 + 4 * n};
    return TL_OK;
}

static tl_status read_array(roaring_input *in, uint32_t card, roaring_box *out, tl_error *err)
{
    if (card == 0 || card > 65536 || in->left < 2 * (size_t)card)
        return corrupt(err, "an array container without numbers or cut off");
    for (uint32_t i = 1; i < card; i++)
        if (read16(in->at, i) <= read16(in->at, i - 1))
            return corrupt(err, "an array container out of order");
    *out = (roaring_box){BOX_ARRAY, card, in->at, 2 * (size_t)card};
    return TL_OK;
}

static uint32_t count_words(const words *set)
{
    uint32_t card = 0;
    for (size_t i = 0; i < 1024; i++)
        card += (uint32_t)__builtin_popcountll(set->w[i]);
    return card;
}

static tl_status read_bitmap(roaring_input *in, roaring_box *out, tl_error *err)
{
    if (in->left < BITMAP_BYTES)
        return corrupt(err, "cut off in a bitmap container");
    words set;
    memcpy(&set, in->at, sizeof set);
    *out = (roaring_box){BOX_BITMAP, count_words(&set), in->at, BITMAP_BYTES};
    return out->card == 0 ? corrupt(err, "empty bitmap container") : TL_OK;
}

tl_status tl_merge__box_read(roaring_input *in, box_form form, uint32_t card, roaring_box *out, tl_error *err)
{
    switch (form) {
    case BOX_RUN:
        TL_TRY(read_runs(in, out, err));
        break;
    case BOX_BITMAP:
        TL_TRY(read_bitmap(in, out, err));
        break;
    default:
        TL_TRY(read_array(in, card, out, err));
        break;
    }
    in->at += out->bytes;
    in->left -= out->bytes;
    return TL_OK;
}

/* ---- sets of words ---- */

static void set_range(words *set, uint32_t from, uint32_t to)
{
    uint64_t first = UINT64_MAX << (from & 63), last = UINT64_MAX >> (63 - (to & 63));
    if (from / 64 == to / 64) {
        set->w[from / 64] |= first & last;
        return;
    }
    set->w[from / 64] |= first;
    for (uint32_t i = from / 64 + 1; i < to / 64; i++)
        set->w[i] = UINT64_MAX;
    set->w[to / 64] |= last;
}

static void add_box(words *set, const roaring_box *box)
{
    if (box->form == BOX_BITMAP) {
        for (size_t i = 0; i < 1024; i++)
            set->w[i] |= tl_read_le64(box->data + 8 * i);
    } else if (box->form == BOX_ARRAY) {
        for (uint32_t i = 0; i < box->card; i++)
            set->w[read16(box->data, i) / 64] |= UINT64_C(1) << (read16(box->data, i) & 63);
    } else {
        for (size_t r = 0; r < tl_read_le16(box->data); r++) {
            uint32_t first = read16(box->data + 2, 2 * r);
            set_range(set, first, first + read16(box->data + 2, 2 * r + 1));
        }
    }
}

static uint32_t count_runs(const words *set)
{
    uint32_t runs = 0;
    uint64_t before = 0; /* the last bit of the word before */
    for (size_t i = 0; i < 1024; i++) {
        runs += (uint32_t)__builtin_popcountll(set->w[i] & ~(set->w[i] << 1 | before));
        before = set->w[i] >> 63;
    }
    return runs;
}

/* First position from `from` on whose bit is `wanted`; 65536: none. */
static uint32_t find_bit(const words *set, uint32_t from, bool wanted)
{
    for (uint32_t i = from / 64; i < 1024; i++) {
        uint64_t word = wanted ? set->w[i] : ~set->w[i];
        if (i == from / 64)
            word &= UINT64_MAX << (from & 63);
        if (word != 0)
            return i * 64 + (uint32_t)__builtin_ctzll(word);
    }
    return 65536;
}

static void write_runs(const words *set, uint8_t *data, uint32_t n_runs)
{
    tl_write_le16(data, (uint16_t)n_runs);
    uint32_t at = 0;
    for (uint32_t r = 0; r < n_runs; r++) {
        uint32_t first = find_bit(set, at, true);
        at = find_bit(set, first, false);
        tl_write_le16(data + 2 + 4 * r, (uint16_t)first);
        tl_write_le16(data + 4 + 4 * r, (uint16_t)(at - 1 - first));
    }
}

static void write_array(const words *set, uint8_t *data)
{
    for (size_t i = 0; i < 1024; i++)
        for (uint64_t word = set->w[i]; word != 0; word &= word - 1) {
            tl_write_le16(data, (uint16_t)(i * 64 + (size_t)__builtin_ctzll(word)));
            data += 2;
        }
}

static tl_status encode(const words *set, box_form form, uint32_t card, uint32_t n_runs, tl_arena *arena, roaring_box *out,
                        tl_error *err)
{
    size_t bytes = form == BOX_RUN ? 2 + 4 * (size_t)n_runs : form == BOX_ARRAY ? 2 * (size_t)card : BITMAP_BYTES;
    uint8_t *data = tl_arena_alloc(arena, bytes);
    if (data == NULL)
        return tl_nomem(err, "roaring bitmap");
    if (form == BOX_RUN)
        write_runs(set, data, n_runs);
    else if (form == BOX_ARRAY)
        write_array(set, data);
    else
        memcpy(data, set->w, BITMAP_BYTES);
    *out = (roaring_box){form, card, data, bytes};
    return TL_OK;
}

/* The form that a run container takes when made efficient. */
static box_form efficient(uint32_t card, uint32_t n_runs)
{
    if (2 + 4 * n_runs <= TL_MIN(BITMAP_BYTES, 2 + 2 * card))
        return BOX_RUN;
    return card <= ARRAY_MAX ? BOX_ARRAY : BOX_BITMAP;
}

static bool is_full_run(const roaring_box *box)
{
    return box->form == BOX_RUN && box->card == 65536;
}

tl_status tl_merge__box_union(const roaring_box *a, const roaring_box *b, tl_arena *arena, roaring_box *out, tl_error *err)
{
    words set = {{0}};
    if (is_full_run(a)) {
        *out = *a;
        return TL_OK;
    }
    add_box(&set, a);
    add_box(&set, b);
    uint32_t card = count_words(&set), n_runs = count_runs(&set);
    box_form form;
    if (a->form == BOX_BITMAP || b->form == BOX_BITMAP)
        form = card == 65536 ? BOX_RUN : BOX_BITMAP;
    else if (a->form == BOX_RUN || b->form == BOX_RUN)
        form = efficient(card, n_runs);
    else
        form = card <= ARRAY_MAX ? BOX_ARRAY : card == 65536 ? BOX_RUN : BOX_BITMAP;
    return encode(&set, form, card, n_runs, arena, out, err);
}

tl_status tl_merge__box_optimize(roaring_box *box, bool only_to_runs, tl_arena *arena, tl_error *err)
{
    words set = {{0}};
    add_box(&set, box);
    uint32_t n_runs = count_runs(&set);
    box_form form = box->form;
    if (form == BOX_RUN)
        form = efficient(box->card, n_runs);
    else if (box->bytes > 2 + 4 * (size_t)n_runs)
        form = BOX_RUN;
    if (form == box->form || (only_to_runs && form != BOX_RUN))
        return TL_OK;
    return encode(&set, form, box->card, n_runs, arena, box, err);
}
