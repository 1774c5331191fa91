/* Functions of text: case, length, trimming, parts, joining. Those that count UTF-16 units do so because the reference does. */
#include <stdlib.h>
#include <unicase.h>

#include "sql/bind.h"
#include "sql/text_kernel.h"
#include "sql/text_util.h"

static int32_t int_arg(const tl_kernel *k, int32_t a, int64_t i)
{
    return TL_VEC(&k->args[a], int32_t, i);
}

/* ---- case ---- */

static bool is_ascii(tl_bytes_view v)
{
    uint8_t all = 0;
    for (size_t i = 0; i < v.len; i++)
        all |= v.data[i];
    return all < 0x80;
}

static tl_status case_row(tl_kernel *k, int64_t i, bool *is_null)
{
    (void)is_null;
    bool upper = k->fn->name[0] == 'U';
    tl_bytes_view v = arg(k, 0, i);
    if (is_ascii(v)) {
        if (tl_buf_reserve(&k->text, v.len) != TL_OK)
            return nomem(k);
        uint8_t *out = k->text.data + k->text.len, low = upper ? 'a' : 'A';
        for (size_t c = 0; c < v.len; c++)
            out[c] = (uint8_t)(v.data[c] ^ ((uint8_t)(v.data[c] - low) < 26 ? 0x20 : 0));
        k->text.len += v.len;
        return TL_OK;
    }
    size_t n = 0;
    uint8_t *text = upper ? u8_toupper(v.data, v.len, NULL, NULL, NULL, &n) : u8_tolower(v.data, v.len, NULL, NULL, NULL, &n);
    if (text == NULL) { /* bytes that are no UTF-8 stay as they are */
        APPEND(k, v.data, v.len);
        return TL_OK;
    }
    tl_status status = tl_buf_append(&k->text, text, n);
    free(text); /* NOLINT: the library's own allocation */
    return status == TL_OK ? TL_OK : nomem(k);
}

static tl_status case_kernel(tl_kernel *k)
{
    return tl_kernel_text_rows(k, case_row);
}

/** A word is a run of ASCII letters and digits; what else there is ends it. */
static tl_status initcap_row(tl_kernel *k, int64_t i, bool *is_null)
{
    (void)is_null;
    tl_bytes_view v = arg(k, 0, i);
    bool start = true;
    for (size_t c = 0; c < v.len; c++) {
        uint8_t ch = v.data[c];
        bool lower = ch >= 'a' && ch <= 'z', upper = ch >= 'A' && ch <= 'Z', digit = ch >= '0' && ch <= '9';
        uint8_t out = start && lower ? (uint8_t)(ch - 32) : !start && upper ? (uint8_t)(ch + 32) : ch;
        start = !(lower || upper || digit);
        APPEND(k, &out, 1);
    }
    return TL_OK;
}

static tl_status initcap_kernel(tl_kernel *k)
{
    return tl_kernel_text_rows(k, initcap_row);
}

/* ---- lengths and places ---- */

static tl_status length_kernel(tl_kernel *k)
{
    for (int64_t i = 0; i < k->n; i++)
        TL_OUT(k, int32_t)[i] = (int32_t)tl_text__length(arg(k, 0, i));
    return TL_OK;
}

static tl_status octet_length_kernel(tl_kernel *k)
{
    for (int64_t i = 0; i < k->n; i++)
        TL_OUT(k, int32_t)[i] = (int32_t)arg(k, 0, i).len;
    return TL_OK;
}

/** Character number (from 1) of the first `needle` from character `from` on, 0 if there is none. */
static int32_t place_of(tl_bytes_view needle, tl_bytes_view text, int64_t from)
{
    size_t at = tl_text__find(text, needle, tl_text__offset(text, TL_MAX(from, 1) - 1));
    return at == SIZE_MAX ? 0 : (int32_t)tl_text__length((tl_bytes_view){text.data, at}) + 1;
}

/** POSITION and LOCATE: what, where[, from]. */
static tl_status position_kernel(tl_kernel *k)
{
    for (int64_t i = 0; i < k->n; i++)
        if (tl_kernel_is_valid(k, i))
            TL_OUT(k, int32_t)[i] = place_of(arg(k, 0, i), arg(k, 1, i), k->n_args > 2 ? int_arg(k, 2, i) : 1);
    return TL_OK;
}

/** INSTR: where, what. */
static tl_status instr_kernel(tl_kernel *k)
{
    for (int64_t i = 0; i < k->n; i++)
        if (tl_kernel_is_valid(k, i))
            TL_OUT(k, int32_t)[i] = place_of(arg(k, 1, i), arg(k, 0, i), 1);
    return TL_OK;
}

static tl_status starts_kernel(tl_kernel *k)
{
    bool starts = k->fn->name[0] == 'S';
    for (int64_t i = 0; i < k->n; i++) {
        tl_bytes_view v = arg(k, 0, i), part = arg(k, 1, i);
        bool fits = part.len <= v.len;
        TL_OUT(k, uint8_t)[i] = fits && (part.len == 0 || memcmp(starts ? v.data : v.data + (v.len - part.len), part.data, part.len) == 0);
    }
    return TL_OK;
}

static tl_status ascii_kernel(tl_kernel *k)
{
    for (int64_t i = 0; i < k->n; i++) {
        tl_bytes_view v = arg(k, 0, i);
        TL_OUT(k, int32_t)[i] = v.len == 0 ? 0 : (int8_t)v.data[0];
    }
    return TL_OK;
}

/** CHR(n): the character of n's lowest byte; '' for negative numbers. */
static tl_status chr_row(tl_kernel *k, int64_t i, bool *is_null)
{
    (void)is_null;
    int64_t v = TL_VEC(&k->args[0], int64_t, i);
    if (v < 0)
        return TL_OK;
    return tl_text__append_char(&k->text, (uint32_t)(v & 0xFF)) == TL_OK ? TL_OK : nomem(k);
}

static tl_status chr_kernel(tl_kernel *k)
{
    return tl_kernel_text_rows(k, chr_row);
}

/* ---- joining ---- */

static tl_status concat_row(tl_kernel *k, int64_t i, bool *is_null)
{
    (void)is_null;
    for (int32_t a = 0; a < k->n_args; a++) {
        tl_bytes_view v = arg(k, a, i);
        APPEND(k, v.data, v.len);
    }
    return TL_OK;
}

static tl_status concat_kernel(tl_kernel *k)
{
    return tl_kernel_text_rows(k, concat_row);
}

/** NULLs between are left out; a NULL separator is NULL. */
static tl_status concat_ws_row(tl_kernel *k, int64_t i, bool *is_null)
{
    *is_null = tl_vec_is_null(&k->args[0], i);
    bool first = true;
    for (int32_t a = 1; a < k->n_args && !*is_null; a++) {
        if (tl_vec_is_null(&k->args[a], i))
            continue;
        tl_bytes_view separator = arg(k, 0, i), v = arg(k, a, i);
        if (!first)
            APPEND(k, separator.data, separator.len);
        APPEND(k, v.data, v.len);
        first = false;
    }
    return TL_OK;
}

static tl_status concat_ws_kernel(tl_kernel *k)
{
    return tl_kernel_text_rows(k, concat_ws_row);
}

static tl_status repeat_row(tl_kernel *k, int64_t i, bool *is_null)
{
    (void)is_null;
    tl_bytes_view v = arg(k, 0, i);
    int32_t n = int_arg(k, 1, i);
    if (n > 0 && v.len > (size_t)INT32_MAX / (size_t)n)
        return tl_error_set(k->err, TL_E_LIMIT, "REPEAT gives more than 2 GiB");
    for (int32_t c = 0; c < n; c++)
        APPEND(k, v.data, v.len);
    return TL_OK;
}

static tl_status repeat_kernel(tl_kernel *k)
{
    return tl_kernel_text_rows(k, repeat_row);
}

static tl_status reverse_row(tl_kernel *k, int64_t i, bool *is_null)
{
    (void)is_null;
    tl_bytes_view v = arg(k, 0, i);
    size_t end = v.len;
    while (end > 0) {
        size_t start = end - 1;
        while (start > 0 && !tl_text__is_start(v.data[start]))
            start--;
        APPEND(k, v.data + start, end - start);
        end = start;
    }
    return TL_OK;
}

static tl_status reverse_kernel(tl_kernel *k)
{
    return tl_kernel_text_rows(k, reverse_row);
}

/* ---- trimming ---- */

static bool is_in(tl_bytes_view set, const uint8_t *p, size_t n)
{
    const uint8_t *end = set.data + set.len;
    for (const uint8_t *q = set.data; q < end;) {
        size_t m = tl_text__char_bytes(q, end);
        if (m == n && memcmp(p, q, n) == 0)
            return true;
        q += m;
    }
    return false;
}

static tl_bytes_view trimmed(tl_bytes_view v, tl_bytes_view set, bool left, bool right)
{
    while (left && v.len > 0) {
        size_t n = tl_text__char_bytes(v.data, v.data + v.len);
        if (!is_in(set, v.data, n))
            break;
        v.data += n;
        v.len -= n;
    }
    while (right && v.len > 0) {
        size_t start = v.len - 1;
        while (start > 0 && !tl_text__is_start(v.data[start]))
            start--;
        if (!is_in(set, v.data + start, v.len - start))
            break;
        v.len = start;
    }
    return v;
}

static tl_status trim_row(tl_kernel *k, int64_t i, bool *is_null)
{
    (void)is_null;
    const char *name = k->fn->name;
    bool left = name[0] == 'L' || strcmp(name, "TRIM LEADING") == 0, right = name[0] == 'R' || strcmp(name, "TRIM TRAILING") == 0;
    if (!left && !right)
        left = right = true;
    const tl_bytes_view blank = {(const uint8_t *)" ", 1};
    tl_bytes_view v = trimmed(arg(k, 0, i), k->n_args > 1 ? arg(k, 1, i) : blank, left, right);
    APPEND(k, v.data, v.len);
    return TL_OK;
}

static tl_status trim_kernel(tl_kernel *k)
{
    return tl_kernel_text_rows(k, trim_row);
}

/* ---- parts ---- */

/** Characters [from, from + count) of the text. */
static tl_bytes_view characters(tl_bytes_view v, int64_t from, int64_t count)
{
    size_t start = tl_text__offset(v, from);
    tl_bytes_view rest = {v.data + start, v.len - start};
    rest.len = tl_text__offset(rest, count);
    return rest;
}

static tl_status substring_row(tl_kernel *k, int64_t i, bool *is_null)
{
    tl_bytes_view v = arg(k, 0, i);
    int64_t position = int_arg(k, 1, i), count = k->n_args > 2 ? int_arg(k, 2, i) : INT32_MAX;
    *is_null = count < 0;
    if (count <= 0)
        return TL_OK;
    int64_t start = position > 0 ? position - 1 : 0;
    if (position < 0) {
        start = tl_text__length(v) + position;
        if (start < 0)
            return TL_OK;
    }
    tl_bytes_view part = characters(v, start, count);
    APPEND(k, part.data, part.len);
    return TL_OK;
}

static tl_status substring_kernel(tl_kernel *k)
{
    return tl_kernel_text_rows(k, substring_row);
}

static tl_status left_row(tl_kernel *k, int64_t i, bool *is_null)
{
    (void)is_null;
    tl_bytes_view v = arg(k, 0, i);
    int64_t n = int_arg(k, 1, i);
    if (n <= 0)
        return TL_OK;
    int64_t from = 0;
    if (k->fn->name[0] == 'R')
        from = TL_MAX(tl_text__length(v) - n, 0);
    tl_bytes_view part = characters(v, from, n);
    APPEND(k, part.data, part.len);
    return TL_OK;
}

static tl_status left_kernel(tl_kernel *k)
{
    return tl_kernel_text_rows(k, left_row);
}

static tl_status replace_row(tl_kernel *k, int64_t i, bool *is_null)
{
    (void)is_null;
    tl_bytes_view v = arg(k, 0, i), from = arg(k, 1, i), to = arg(k, 2, i);
    if (from.len == 0) { /* Java puts the replacement between all characters */
        const uint8_t *p = v.data, *end = v.data + v.len;
        APPEND(k, to.data, to.len);
        while (p < end) {
            size_t n = tl_text__char_bytes(p, end);
            APPEND(k, p, n);
            APPEND(k, to.data, to.len);
            p += n;
        }
        return TL_OK;
    }
    size_t at = 0;
    for (;;) {
        size_t found = tl_text__find(v, from, at);
        if (found == SIZE_MAX)
            break;
        APPEND(k, v.data + at, found - at);
        APPEND(k, to.data, to.len);
        at = found + from.len;
    }
    APPEND(k, v.data + at, v.len - at);
    return TL_OK;
}

static tl_status replace_kernel(tl_kernel *k)
{
    return tl_kernel_text_rows(k, replace_row);
}

/* ---- UTF-16 ---- */

typedef struct units {
    uint16_t *data;
    size_t n;
} units;

static tl_status units_of(tl_kernel *k, tl_bytes_view v, units *out)
{
    return tl_text__to_utf16(v, &out->data, &out->n) == TL_OK ? TL_OK : nomem(k);
}

/** OVERLAY(s PLACING r FROM start [FOR length]); a start outside leaves the text, a length that is none takes all behind it. */
static tl_status overlay_row(tl_kernel *k, int64_t i, bool *is_null)
{
    (void)is_null;
    tl_bytes_view with = arg(k, 1, i);
    int64_t start = int_arg(k, 2, i);
    units s = {0}, r = {0};
    TL_TRY(units_of(k, arg(k, 0, i), &s));
    tl_status status = units_of(k, with, &r);
    int64_t length = k->n_args > 3 ? int_arg(k, 3, i) : (int64_t)r.n;
    if (status == TL_OK && (start <= 0 || start > (int64_t)s.n)) {
        status = tl_text__append_utf16(&k->text, s.data, s.n);
    } else if (status == TL_OK) {
        size_t from = (size_t)(start - 1), to = length <= 0 || (int64_t)from + length > (int64_t)s.n ? s.n : from + (size_t)length;
        status = tl_text__append_utf16(&k->text, s.data, from);
        if (status == TL_OK)
            status = tl_buf_append(&k->text, with.data, with.len);
        if (status == TL_OK)
            status = tl_text__append_utf16(&k->text, s.data + to, s.n - to);
    }
    tl_free(s.data);
    tl_free(r.data);
    return status == TL_OK ? TL_OK : nomem(k);
}

static tl_status overlay_kernel(tl_kernel *k)
{
    return tl_kernel_text_rows(k, overlay_row);
}

static tl_status pad_units(tl_kernel *k, const units *s, const units *pad, int64_t n, bool left)
{
    size_t missing = (size_t)n > s->n ? (size_t)n - s->n : 0;
    uint16_t *all = tl_alloc(((size_t)n + 1) * sizeof *all);
    if (all == NULL)
        return nomem(k);
    size_t keep = TL_MIN(s->n, (size_t)n);
    for (size_t i = 0; i < missing; i++)
        all[(left ? 0 : keep) + i] = pad->data[i % pad->n];
    if (keep > 0)
        memcpy(all + (left ? missing : 0), s->data, keep * sizeof *all);
    tl_status status = tl_text__append_utf16(&k->text, all, (size_t)n);
    tl_free(all);
    return status == TL_OK ? TL_OK : nomem(k);
}

static tl_status pad_row(tl_kernel *k, int64_t i, bool *is_null)
{
    int64_t n = int_arg(k, 1, i);
    tl_bytes_view pad_text = arg(k, 2, i);
    if (n < 0 || pad_text.len == 0) {
        *is_null = true;
        return TL_OK;
    }
    if (n > INT32_MAX / 4)
        return tl_error_set(k->err, TL_E_LIMIT, "%s to %lld characters", k->fn->name, (long long)n);
    units s = {0}, pad = {0};
    TL_TRY(units_of(k, arg(k, 0, i), &s));
    tl_status status = units_of(k, pad_text, &pad);
    if (status == TL_OK)
        status = pad_units(k, &s, &pad, n, k->fn->name[0] == 'L');
    tl_free(s.data);
    tl_free(pad.data);
    return status;
}

static tl_status pad_kernel(tl_kernel *k)
{
    return tl_kernel_text_rows(k, pad_row);
}

/* ---- types of results ---- */

static bool any_nullable(tl_expr *const *args, int32_t n)
{
    bool nullable = false;
    for (int32_t i = 0; i < n; i++)
        nullable = nullable || args[i]->type->nullable;
    return nullable;
}

/** No longer than the first argument. */
static tl_status trim_rule(tl_binder *b, const tl_sql_function *fn, tl_expr **args, int32_t n, const tl_type **out)
{
    (void)fn;
    return tl_bind__simple_type(b, TL_VARCHAR, any_nullable(args, n), args[0]->type->length, 0, out);
}

/** The same, and always nullable: a length below zero gives NULL. */
static tl_status part_rule(tl_binder *b, const tl_sql_function *fn, tl_expr **args, int32_t n, const tl_type **out)
{
    (void)fn;
    (void)n;
    return tl_bind__simple_type(b, TL_VARCHAR, true, args[0]->type->length, 0, out);
}

/** As long as both together. */
static tl_status overlay_rule(tl_binder *b, const tl_sql_function *fn, tl_expr **args, int32_t n, const tl_type **out)
{
    (void)fn;
    int64_t length = TL_MIN((int64_t)args[0]->type->length + args[1]->type->length, TL_LENGTH_MAX);
    return tl_bind__simple_type(b, TL_VARCHAR, any_nullable(args, n), (int32_t)length, 0, out);
}

static tl_status concat_rule(tl_binder *b, const tl_sql_function *fn, tl_expr **args, int32_t n, const tl_type **out)
{
    TL_TRY(overlay_rule(b, fn, args, n, out));
    bool fixed = args[0]->type->kind == TL_CHAR && args[1]->type->kind == TL_CHAR;
    return fixed ? tl_bind__simple_type(b, TL_CHAR, (*out)->nullable, (*out)->length, 0, out) : TL_OK;
}

const tl_sql_function tl_fn_text[] = {
    {.name = "UPPER", .args = "S", .result = "0", .kernel = case_kernel, .flags = TL_FN_SLOW},
    {.name = "LOWER", .args = "S", .result = "0", .kernel = case_kernel, .flags = TL_FN_SLOW},
    {.name = "INITCAP", .args = "S", .result = "0", .kernel = initcap_kernel, .flags = TL_FN_SLOW},
    {.name = "CHAR_LENGTH", .args = "S", .result = "I", .kernel = length_kernel},
    {.name = "CHARACTER_LENGTH", .args = "S", .result = "I", .kernel = length_kernel},
    {.name = "OCTET_LENGTH", .args = "S", .result = "I", .kernel = octet_length_kernel},
    {.name = "POSITION", .args = "SS", .result = "I", .kernel = position_kernel, .flags = TL_FN_SLOW},
    {.name = "LOCATE", .args = "SS?I", .result = "I", .kernel = position_kernel, .flags = TL_FN_SLOW},
    {.name = "INSTR", .args = "SS", .result = "I", .kernel = instr_kernel, .flags = TL_FN_SLOW},
    {.name = "STARTSWITH", .args = "SS", .result = "B", .kernel = starts_kernel},
    {.name = "ENDSWITH", .args = "SS", .result = "B", .kernel = starts_kernel},
    {.name = "ASCII", .args = "S", .result = "I", .kernel = ascii_kernel},
    {.name = "CHR", .args = "L", .result = "S?", .kernel = chr_kernel},
    {.name = "||", .args = "SS", .rule = concat_rule, .kernel = concat_kernel, .flags = TL_FN_SLOW},
    {.name = "||", .args = "YY", .result = "Y", .kernel = concat_kernel, .flags = TL_FN_SLOW},
    {.name = "CONCAT", .args = "S*", .result = "S", .kernel = concat_kernel, .flags = TL_FN_SLOW},
    {.name = "CONCAT_WS", .args = "SS*", .result = "S", .kernel = concat_ws_kernel, .flags = TL_FN_NULLS | TL_FN_SLOW},
    {.name = "REPEAT", .args = "SI", .result = "S", .kernel = repeat_kernel, .flags = TL_FN_SLOW | TL_FN_CAN_FAIL},
    {.name = "REVERSE", .args = "S", .result = "S?", .kernel = reverse_kernel, .flags = TL_FN_SLOW},
    {.name = "TRIM", .args = "S?S", .rule = trim_rule, .kernel = trim_kernel, .flags = TL_FN_SLOW},
    {.name = "TRIM LEADING", .args = "S?S", .rule = trim_rule, .kernel = trim_kernel, .flags = TL_FN_SLOW},
    {.name = "TRIM TRAILING", .args = "S?S", .rule = trim_rule, .kernel = trim_kernel, .flags = TL_FN_SLOW},
    {.name = "BTRIM", .args = "S?S", .rule = trim_rule, .kernel = trim_kernel, .flags = TL_FN_SLOW},
    {.name = "LTRIM", .args = "S?S", .rule = trim_rule, .kernel = trim_kernel, .flags = TL_FN_SLOW},
    {.name = "RTRIM", .args = "S?S", .rule = trim_rule, .kernel = trim_kernel, .flags = TL_FN_SLOW},
    {.name = "SUBSTRING", .args = "SI?I", .rule = part_rule, .kernel = substring_kernel, .flags = TL_FN_SLOW},
    {.name = "SUBSTR", .args = "SI?I", .rule = part_rule, .kernel = substring_kernel, .flags = TL_FN_SLOW},
    {.name = "LEFT", .args = "SI", .rule = part_rule, .kernel = left_kernel, .flags = TL_FN_SLOW},
    {.name = "RIGHT", .args = "SI", .rule = part_rule, .kernel = left_kernel, .flags = TL_FN_SLOW},
    {.name = "REPLACE", .args = "SSS", .result = "S", .kernel = replace_kernel, .flags = TL_FN_SLOW},
    {.name = "OVERLAY", .args = "SSI?I", .rule = overlay_rule, .kernel = overlay_kernel, .flags = TL_FN_SLOW},
    {.name = "LPAD", .args = "SIS", .result = "S", .kernel = pad_kernel, .flags = TL_FN_SLOW | TL_FN_CAN_FAIL},
    {.name = "RPAD", .args = "SIS", .result = "S", .kernel = pad_kernel, .flags = TL_FN_SLOW | TL_FN_CAN_FAIL},
    {.name = NULL},
};
