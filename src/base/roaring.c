#include "base/roaring.h"

#include "base/bits.h"

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

static tl_status read_runs(tl_roaring_input *in, tl_roaring_box *out, tl_error *err)
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
    *out = (tl_roaring_box){TL_ROARING_RUN, card, in->at, 2 + 4 * n};
    return TL_OK;
}

static tl_status read_array(tl_roaring_input *in, uint32_t card, tl_roaring_box *out, tl_error *err)
{
    if (card == 0 || card > 65536 || in->left < 2 * (size_t)card)
        return corrupt(err, "an array container without numbers or cut off");
    for (uint32_t i = 1; i < card; i++)
        if (read16(in->at, i) <= read16(in->at, i - 1))
            return corrupt(err, "an array container out of order");
    *out = (tl_roaring_box){TL_ROARING_ARRAY, card, in->at, 2 * (size_t)card};
    return TL_OK;
}

static uint32_t count_words(const words *set)
{
    uint32_t card = 0;
    for (size_t i = 0; i < 1024; i++)
        card += (uint32_t)__builtin_popcountll(set->w[i]);
    return card;
}

static tl_status read_bitmap(tl_roaring_input *in, tl_roaring_box *out, tl_error *err)
{
    if (in->left < TL_ROARING_BITMAP_BYTES)
        return corrupt(err, "cut off in a bitmap container");
    words set;
    memcpy(&set, in->at, sizeof set);
    *out = (tl_roaring_box){TL_ROARING_BITMAP, count_words(&set), in->at, TL_ROARING_BITMAP_BYTES};
    return out->card == 0 ? corrupt(err, "empty bitmap container") : TL_OK;
}

tl_status tl_roaring_box_read(tl_roaring_input *in, tl_roaring_form form, uint32_t card, tl_roaring_box *out, tl_error *err)
{
    switch (form) {
    case TL_ROARING_RUN:
        TL_TRY(read_runs(in, out, err));
        break;
    case TL_ROARING_BITMAP:
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

static void add_box(words *set, const tl_roaring_box *box)
{
    if (box->form == TL_ROARING_BITMAP) {
        for (size_t i = 0; i < 1024; i++)
            set->w[i] |= tl_read_le64(box->data + 8 * i);
    } else if (box->form == TL_ROARING_ARRAY) {
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

static tl_status encode(const words *set, tl_roaring_form form, uint32_t card, uint32_t n_runs, tl_arena *arena, tl_roaring_box *out,
                        tl_error *err)
{
    size_t bytes = form == TL_ROARING_RUN ? 2 + 4 * (size_t)n_runs : form == TL_ROARING_ARRAY ? 2 * (size_t)card : TL_ROARING_BITMAP_BYTES;
    uint8_t *data = tl_arena_alloc(arena, bytes);
    if (data == NULL)
        return tl_nomem(err, "roaring bitmap");
    if (form == TL_ROARING_RUN)
        write_runs(set, data, n_runs);
    else if (form == TL_ROARING_ARRAY)
        write_array(set, data);
    else
        memcpy(data, set->w, TL_ROARING_BITMAP_BYTES);
    *out = (tl_roaring_box){form, card, data, bytes};
    return TL_OK;
}

/* The form that a run container takes when made efficient. */
static tl_roaring_form efficient(uint32_t card, uint32_t n_runs)
{
    if (2 + 4 * n_runs <= TL_MIN(TL_ROARING_BITMAP_BYTES, 2 + 2 * card))
        return TL_ROARING_RUN;
    return card <= TL_ROARING_ARRAY_MAX ? TL_ROARING_ARRAY : TL_ROARING_BITMAP;
}

static bool is_full_run(const tl_roaring_box *box)
{
    return box->form == TL_ROARING_RUN && box->card == 65536;
}

tl_status tl_roaring_box_union(const tl_roaring_box *a, const tl_roaring_box *b, tl_arena *arena, tl_roaring_box *out, tl_error *err)
{
    words set = {{0}};
    if (is_full_run(a)) {
        *out = *a;
        return TL_OK;
    }
    add_box(&set, a);
    add_box(&set, b);
    uint32_t card = count_words(&set), n_runs = count_runs(&set);
    tl_roaring_form form;
    if (a->form == TL_ROARING_BITMAP || b->form == TL_ROARING_BITMAP)
        form = card == 65536 ? TL_ROARING_RUN : TL_ROARING_BITMAP;
    else if (a->form == TL_ROARING_RUN || b->form == TL_ROARING_RUN)
        form = efficient(card, n_runs);
    else
        form = card <= TL_ROARING_ARRAY_MAX ? TL_ROARING_ARRAY : card == 65536 ? TL_ROARING_RUN : TL_ROARING_BITMAP;
    return encode(&set, form, card, n_runs, arena, out, err);
}

tl_status tl_roaring_box_optimize(tl_roaring_box *box, bool only_to_runs, tl_arena *arena, tl_error *err)
{
    words set = {{0}};
    add_box(&set, box);
    uint32_t n_runs = count_runs(&set);
    tl_roaring_form form = box->form;
    if (form == TL_ROARING_RUN)
        form = efficient(box->card, n_runs);
    else if (box->bytes > 2 + 4 * (size_t)n_runs)
        form = TL_ROARING_RUN;
    if (form == box->form || (only_to_runs && form != TL_ROARING_RUN))
        return TL_OK;
    return encode(&set, form, box->card, n_runs, arena, box, err);
}

/* ---- ranges ---- */

static uint32_t find_stored_bit(const uint8_t *data, uint32_t from, bool wanted)
{
    for (uint32_t i = from / 64; i < 1024; i++) {
        uint64_t word = tl_read_le64(data + 8 * (size_t)i);
        if (!wanted)
            word = ~word;
        if (i == from / 64)
            word &= UINT64_MAX << (from & 63);
        if (word != 0)
            return i * 64 + (uint32_t)__builtin_ctzll(word);
    }
    return 65536;
}

static bool next_bits(tl_roaring_ranges *it, uint32_t first, uint32_t *from, uint32_t *to)
{
    uint32_t at = TL_MAX(it->at, first);
    if (at > 65535 || (at = find_stored_bit(it->box->data, at, true)) > 65535)
        return false;
    it->at = find_stored_bit(it->box->data, at, false);
    *from = at;
    *to = it->at - 1;
    return true;
}

static bool next_run(tl_roaring_ranges *it, uint32_t first, uint32_t *from, uint32_t *to)
{
    for (uint32_t n = tl_read_le16(it->box->data); it->at < n; it->at++) {
        *from = read16(it->box->data + 2, 2 * (size_t)it->at);
        *to = *from + read16(it->box->data + 2, 2 * (size_t)it->at + 1);
        if (*to >= first) {
            it->at++;
            return true;
        }
    }
    return false;
}

static bool next_numbers(tl_roaring_ranges *it, uint32_t first, uint32_t *from, uint32_t *to)
{
    const tl_roaring_box *box = it->box;
    if (it->at == 0 && first > 0) { /* the first call may start far in */
        uint32_t low = 0, high = box->card;
        while (low < high) {
            uint32_t mid = (low + high) / 2;
            if (read16(box->data, mid) < first)
                low = mid + 1;
            else
                high = mid;
        }
        it->at = low;
    }
    while (it->at < box->card && read16(box->data, it->at) < first)
        it->at++;
    if (it->at == box->card)
        return false;
    *from = *to = read16(box->data, it->at++);
    while (it->at < box->card && read16(box->data, it->at) == *to + 1) {
        ++*to;
        it->at++;
    }
    return true;
}

bool tl_roaring_may_have_run(const tl_roaring_box *box, uint32_t n)
{
    if (box->form == TL_ROARING_RUN)
        return true;
    if (box->form == TL_ROARING_BITMAP) {
        uint32_t filled = 0, wanted = (n - 63) / 64; /* that so many bits fill, wherever they begin */
        for (size_t i = 0; i < TL_ROARING_BITMAP_BYTES && filled < wanted; i += sizeof(uint64_t))
            filled = tl_read_le64(box->data + i) == UINT64_MAX ? filled + 1 : 0;
        return filled == wanted;
    }
    for (uint32_t i = n - 1; i < box->card; i++)
        if (read16(box->data, i) - read16(box->data, i - (n - 1)) == n - 1)
            return true;
    return false;
}

bool tl_roaring_next_range(tl_roaring_ranges *it, uint32_t first, uint32_t *from, uint32_t *to)
{
    switch (it->box->form) {
    case TL_ROARING_RUN:
        return next_run(it, first, from, to);
    case TL_ROARING_BITMAP:
        return next_bits(it, first, from, to);
    default:
        return next_numbers(it, first, from, to);
    }
}
