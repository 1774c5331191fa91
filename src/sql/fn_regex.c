/*
 * Patterns: LIKE, SIMILAR TO and Java's regular expressions (pcre2, whose syntax and matching are the nearest).
 *
 * LIKE with a constant pattern is reduced to equality, prefix, suffix or search where it is one of these. Regular expressions are
 * compiled once for a constant pattern, else for each value that differs from the one before; matching has a step limit.
 */
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdlib.h>

#include "sql/bind.h"
#include "sql/text_kernel.h"
#include "sql/text_util.h"

#define MATCH_STEPS_MAX 10000000

/* ---- regular expressions ---- */

struct tl_regex {
    pcre2_code *code;
    pcre2_match_data *data; /* of the thread that is matching: see tl_regex__find() */
    pcre2_match_context *context;
};

void tl_regex__free(tl_regex *regex)
{
    if (regex == NULL)
        return;
    pcre2_code_free(regex->code);
    pcre2_match_context_free(regex->context);
    tl_free(regex);
}

static tl_status compile(tl_bytes_view pattern, uint32_t options, tl_regex **out, tl_error *err)
{
    tl_regex *regex = tl_calloc(1, sizeof *regex);
    if (regex == NULL)
        return tl_nomem(err, "pattern");
    int code;
    PCRE2_SIZE offset;
    regex->code = pcre2_compile(pattern.len > 0 ? pattern.data : (const uint8_t *)"", pattern.len, PCRE2_UTF | options, &code, &offset, NULL);
    if (regex->code == NULL) {
        PCRE2_UCHAR message[256];
        pcre2_get_error_message(code, message, sizeof message);
        tl_free(regex);
        return tl_error_set(err, TL_E_INVALID, "pattern '%.*s': %s at byte %zu", (int)TL_MIN(pattern.len, 200), (const char *)pattern.data, (const char *)message, (size_t)offset);
    }
    (void)pcre2_jit_compile(regex->code, PCRE2_JIT_COMPLETE); /* matching works without */
    regex->context = pcre2_match_context_create(NULL);
    if (regex->context != NULL)
        pcre2_set_match_limit(regex->context, MATCH_STEPS_MAX);
    *out = regex;
    return TL_OK;
}

tl_status tl_regex__compile(tl_bytes_view pattern, tl_regex **out, tl_error *err)
{
    return compile(pattern, 0, out, err);
}

int tl_regex__groups(const tl_regex *regex)
{
    uint32_t n = 0;
    pcre2_pattern_info(regex->code, PCRE2_INFO_CAPTURECOUNT, &n);
    return (int)n;
}

tl_status tl_regex__find(tl_regex *regex, tl_bytes_view text, size_t from, size_t *groups, int max, int *n_groups, bool *found, tl_error *err)
{
    pcre2_match_data *data = pcre2_match_data_create_from_pattern(regex->code, NULL);
    if (data == NULL)
        return tl_nomem(err, "pattern");
    int rc = pcre2_match(regex->code, text.len > 0 ? text.data : (const uint8_t *)"", text.len, from, 0, data, regex->context);
    *found = rc >= 0;
    *n_groups = 0;
    if (rc >= 0) {
        PCRE2_SIZE *ends = pcre2_get_ovector_pointer(data);
        *n_groups = TL_MIN((int)pcre2_get_ovector_count(data), max);
        for (int i = 0; i < *n_groups * 2; i++)
            groups[i] = i / 2 < rc && ends[i] != PCRE2_UNSET ? ends[i] : SIZE_MAX;
    }
    pcre2_match_data_free(data);
    if (rc < 0 && rc != PCRE2_ERROR_NOMATCH) {
        if (rc <= PCRE2_ERROR_UTF8_ERR1 && rc >= PCRE2_ERROR_UTF8_ERR21)
            return TL_OK; /* bytes that are no text match nothing */
        PCRE2_UCHAR message[256];
        pcre2_get_error_message(rc, message, sizeof message);
        return tl_error_set(err, TL_E_LIMIT, "a pattern was given up: %s", (const char *)message);
    }
    return TL_OK;
}

/** Pattern argument number `a` for row i: the prepared one, or compiled into `*own` when the text changes. */
typedef struct patterns {
    tl_regex *own;
    tl_bytes_view text;
    bool bad; /* the text is no pattern */
} patterns;

static tl_status pattern_for(tl_kernel *k, int32_t a, int64_t i, patterns *p, tl_regex **out)
{
    if (k->aux != NULL) {
        *out = (tl_regex *)(uintptr_t)k->aux;
        return TL_OK;
    }
    tl_bytes_view text = arg(k, a, i);
    if ((p->own == NULL && !p->bad) || !tl_bytes_equal(p->text, text)) {
        tl_regex__free(p->own);
        p->own = NULL;
        p->text = text;
        tl_error ignored = {0};
        tl_status status = compile(text, 0, &p->own, &ignored);
        if (status == TL_E_NOMEM)
            return tl_nomem(k->err, "pattern");
        p->bad = status != TL_OK;
    }
    *out = p->own;
    return TL_OK;
}

static void release_regex(void *aux)
{
    tl_regex__free(aux);
}

/** Constant patterns are compiled once. One that is no pattern is left to the rows, which are NULL or FALSE then. */
static tl_status prepare_regex(const tl_sql_function *fn, const tl_type *type, const tl_column *const *args, int32_t n, void **aux, tl_error *err)
{
    (void)fn;
    (void)type;
    if (n < 2 || args[1] == NULL || tl_col_is_null(args[1], 0))
        return TL_OK;
    tl_error ignored = {0};
    tl_regex *regex;
    tl_status status = compile(tl_col_bytes(args[1], 0), 0, &regex, &ignored);
    if (status == TL_E_NOMEM)
        return tl_nomem(err, "pattern");
    if (status == TL_OK)
        *aux = regex;
    return TL_OK;
}

#define GROUPS_MAX 100

static tl_status regexp_kernel(tl_kernel *k)
{
    patterns p = {0};
    tl_status status = TL_OK;
    for (int64_t i = 0; i < k->n && status == TL_OK; i++) {
        tl_regex *regex = NULL;
        bool found = false;
        size_t groups[2];
        int n;
        if (!tl_kernel_is_valid(k, i))
            continue;
        status = pattern_for(k, 1, i, &p, &regex);
        if (status == TL_OK && regex != NULL)
            status = tl_regex__find(regex, arg(k, 0, i), 0, groups, 1, &n, &found, k->err);
        TL_OUT(k, uint8_t)[i] = found && arg(k, 1, i).len > 0; /* the empty pattern matches nothing */
    }
    tl_regex__free(p.own);
    return status;
}

static tl_status extract_one(tl_kernel *k, int64_t i, patterns *p)
{
    tl_regex *regex;
    size_t groups[2 * GROUPS_MAX];
    int n = 0;
    bool found = false;
    int32_t group = k->n_args > 2 ? TL_VEC(&k->args[2], int32_t, i) : 0;
    TL_TRY(pattern_for(k, 1, i, p, &regex));
    tl_bytes_view text = arg(k, 0, i);
    if (regex != NULL && group >= 0 && group < GROUPS_MAX)
        TL_TRY(tl_regex__find(regex, text, 0, groups, GROUPS_MAX, &n, &found, k->err));
    if (!found || group >= n || groups[2 * group] == SIZE_MAX)
        return tl_kernel_put_null(k);
    return tl_kernel_put(k, text.data + groups[2 * group], groups[2 * group + 1] - groups[2 * group]);
}

static tl_status regexp_extract_kernel(tl_kernel *k)
{
    patterns p = {0};
    tl_status status = TL_OK;
    for (int64_t i = 0; i < k->n && status == TL_OK; i++)
        status = tl_kernel_is_valid(k, i) ? extract_one(k, i, &p) : tl_kernel_put_null(k);
    tl_regex__free(p.own);
    return status;
}

/** The replacement is taken as it stands. */
static tl_status replace_one(tl_kernel *k, int64_t i, patterns *p)
{
    tl_regex *regex;
    TL_TRY(pattern_for(k, 1, i, p, &regex));
    if (regex == NULL)
        return tl_kernel_put_null(k);
    tl_bytes_view text = arg(k, 0, i), with = arg(k, 2, i);
    size_t from = 0, copied = 0, groups[2];
    while (from <= text.len) {
        int n;
        bool found;
        TL_TRY(tl_regex__find(regex, text, from, groups, 1, &n, &found, k->err));
        if (!found)
            break;
        if (tl_buf_append(&k->text, text.data + copied, groups[0] - copied) != TL_OK || tl_buf_append(&k->text, with.data, with.len) != TL_OK)
            return tl_nomem(k->err, "batch");
        copied = groups[1];
        from = groups[1];
        if (groups[0] == groups[1]) /* an empty match: go on behind the next character */
            from += from < text.len ? tl_text__char_bytes(text.data + from, text.data + text.len) : 1;
    }
    if (copied < text.len && tl_buf_append(&k->text, text.data + copied, text.len - copied) != TL_OK)
        return tl_nomem(k->err, "batch");
    return tl_kernel_end(k);
}

static tl_status regexp_replace_kernel(tl_kernel *k)
{
    patterns p = {0};
    tl_status status = TL_OK;
    for (int64_t i = 0; i < k->n && status == TL_OK; i++)
        status = tl_kernel_is_valid(k, i) ? replace_one(k, i, &p) : tl_kernel_put_null(k);
    tl_regex__free(p.own);
    return status;
}

/* ---- SIMILAR TO ---- */

static tl_status append_literal(tl_buf *out, uint8_t c)
{
    if (c != 0 && strchr("[]()|^-+*%_?{}.$\\", c) != NULL)
        TL_TRY(tl_buf_append_byte(out, '\\'));
    return tl_buf_append_byte(out, c);
}

/* Java's `.`: no end of a line. */
#define ANY_CHARACTER "[^\\n\\r\\x{85}\\x{2028}\\x{2029}]"

/** Whether the escape character (empty: none) stands at byte i. */
static bool is_escape(tl_bytes_view pattern, size_t i, tl_bytes_view escape)
{
    return escape.len > 0 && pattern.len - i >= escape.len && memcmp(pattern.data + i, escape.data, escape.len) == 0;
}

/** [:ALPHA:] inside a class: pcre2 wants small letters. *i is at its `[`, afterwards at its last byte. */
static tl_status posix_class(tl_bytes_view pattern, size_t *i, tl_buf *out)
{
    for (;; (*i)++) {
        uint8_t c = pattern.data[*i];
        TL_TRY(tl_buf_append_byte(out, c >= 'A' && c <= 'Z' ? (uint8_t)(c | 0x20) : c));
        if (*i + 1 == pattern.len || c == ']')
            return TL_OK;
    }
}

/** SQL's regular expression as one of pcre2 that must match the whole text. */
static tl_status similar_to_regex(tl_bytes_view pattern, tl_bytes_view escape, tl_buf *out)
{
    TL_TRY(tl_buf_append_str(out, "\\A(?:"));
    bool in_class = false;
    for (size_t i = 0; i < pattern.len; i++) {
        uint8_t c = pattern.data[i];
        if (is_escape(pattern, i, escape) && i + escape.len < pattern.len) {
            i += escape.len;
            TL_TRY(append_literal(out, pattern.data[i]));
        } else if (in_class && c == '[' && i + 1 < pattern.len && pattern.data[i + 1] == ':') {
            TL_TRY(posix_class(pattern, &i, out));
        } else if (in_class) {
            in_class = c != ']';
            TL_TRY(tl_buf_append_byte(out, c));
        } else if (c == '%') {
            TL_TRY(tl_buf_append_str(out, "(?s:.*)"));
        } else if (c == '_') {
            TL_TRY(tl_buf_append_str(out, ANY_CHARACTER));
        } else if (c == '.' || c == '^' || c == '$' || c == '\\') {
            TL_TRY(append_literal(out, c));
        } else {
            in_class = c == '[';
            TL_TRY(tl_buf_append_byte(out, c));
        }
    }
    return tl_buf_append_str(out, ")\\z");
}

/* ---- LIKE ---- */

/** A LIKE pattern: runs of literal text between `%`; `_` inside makes it general. */
typedef enum like_kind { LIKE_EQUAL, LIKE_PREFIX, LIKE_SUFFIX, LIKE_CONTAINS, LIKE_REGEX } like_kind;

typedef struct like {
    like_kind kind;
    tl_buf text;
    tl_regex *regex;
} like;

static void like_release(void *aux)
{
    like *l = aux;
    if (l == NULL)
        return;
    tl_buf_deinit(&l->text);
    tl_regex__free(l->regex);
    tl_free(l);
}

static tl_status like_to_regex(tl_bytes_view pattern, tl_bytes_view escape, tl_buf *out, tl_error *err)
{
    if (tl_buf_append_str(out, "\\A(?:") != TL_OK)
        return tl_nomem(err, "pattern");
    for (size_t i = 0; i < pattern.len; i++) {
        uint8_t c = pattern.data[i];
        tl_status status;
        if (is_escape(pattern, i, escape)) {
            size_t next = i + escape.len;
            bool good = next < pattern.len && (pattern.data[next] == '%' || pattern.data[next] == '_' || is_escape(pattern, next, escape));
            if (!good)
                return tl_error_set(err, TL_E_INVALID, "Invalid escape sequence '%.*s', %zu", (int)TL_MIN(pattern.len, 200), (const char *)pattern.data, i);
            status = append_literal(out, pattern.data[next]);
            if (is_escape(pattern, next, escape))
                for (size_t k = 1; k < escape.len && status == TL_OK; k++)
                    status = append_literal(out, pattern.data[++next]);
            i = next;
        } else {
            status = c == '%' ? tl_buf_append_str(out, "(?s:.*)") : c == '_' ? tl_buf_append_str(out, ANY_CHARACTER) : append_literal(out, c);
        }
        if (status != TL_OK)
            return tl_nomem(err, "pattern");
    }
    return tl_buf_append_str(out, ")\\z") == TL_OK ? TL_OK : tl_nomem(err, "pattern");
}

/** Patterns of the forms x, x%, %x and %x% without other wild cards; *simple false: it is none of these. */
static tl_status simple_like(tl_bytes_view p, tl_bytes_view escape, like *l, bool *simple)
{
    *simple = false;
    bool front = p.len > 0 && p.data[0] == '%', back = p.len > (size_t)front && p.data[p.len - 1] == '%';
    size_t from = front, to = p.len - back;
    for (size_t i = from; i < to; i++)
        if (p.data[i] == '%' || p.data[i] == '_' || is_escape(p, i, escape))
            return TL_OK;
    *simple = true;
    l->kind = front ? (back ? LIKE_CONTAINS : LIKE_SUFFIX) : back ? LIKE_PREFIX : LIKE_EQUAL;
    if (front && to == from && !back)
        l->kind = LIKE_CONTAINS; /* % alone */
    return tl_buf_append(&l->text, p.data + from, to - from);
}

static tl_status like_compile(tl_bytes_view pattern, tl_bytes_view escape, bool similar, like **out, tl_error *err)
{
    if (escape.len > 0 && tl_text__char_bytes(escape.data, escape.data + escape.len) != escape.len)
        return tl_error_set(err, TL_E_INVALID, "Invalid escape character '%.*s'", (int)TL_MIN(escape.len, 200), (const char *)escape.data);
    like *l = tl_calloc(1, sizeof *l);
    if (l == NULL)
        return tl_nomem(err, "pattern");
    bool simple = false;
    tl_status status = similar ? TL_OK : simple_like(pattern, escape, l, &simple);
    if (status == TL_OK && !simple) {
        tl_buf regex = {0};
        l->kind = LIKE_REGEX;
        status = similar ? similar_to_regex(pattern, escape, &regex) : like_to_regex(pattern, escape, &regex, err);
        if (status == TL_OK)
            status = compile((tl_bytes_view){regex.data, regex.len}, 0, &l->regex, err);
        tl_buf_deinit(&regex);
    }
    if (status != TL_OK) {
        like_release(l);
        return status == TL_E_NOMEM ? tl_nomem(err, "pattern") : status;
    }
    *out = l;
    return TL_OK;
}

static tl_status like_matches(const like *l, tl_bytes_view v, bool *out, tl_error *err)
{
    tl_bytes_view t = {l->text.data, l->text.len};
    size_t groups[2];
    int n;
    switch (l->kind) {
    case LIKE_EQUAL:
        *out = tl_bytes_equal(v, t);
        return TL_OK;
    case LIKE_PREFIX:
        *out = v.len >= t.len && (t.len == 0 || memcmp(v.data, t.data, t.len) == 0);
        return TL_OK;
    case LIKE_SUFFIX:
        *out = v.len >= t.len && (t.len == 0 || memcmp(v.data + (v.len - t.len), t.data, t.len) == 0);
        return TL_OK;
    case LIKE_CONTAINS:
        *out = tl_text__find(v, t, 0) != SIZE_MAX;
        return TL_OK;
    default:
        return tl_regex__find(l->regex, v, 0, groups, 1, &n, out, err);
    }
}

static tl_status like_prepare(const tl_sql_function *fn, const tl_type *type, const tl_column *const *args, int32_t n, void **aux, tl_error *err)
{
    (void)type;
    if (args[1] == NULL || tl_col_is_null(args[1], 0) || (n > 2 && (args[2] == NULL || tl_col_is_null(args[2], 0))))
        return TL_OK;
    like *l;
    TL_TRY(like_compile(tl_col_bytes(args[1], 0), n > 2 ? tl_col_bytes(args[2], 0) : (tl_bytes_view){NULL, 0}, fn->name[0] == 'S', &l, err));
    *aux = l;
    return TL_OK;
}

static tl_status like_kernel(tl_kernel *k)
{
    like *own = NULL;
    tl_status status = TL_OK;
    for (int64_t i = 0; i < k->n && status == TL_OK; i++) {
        if (!tl_kernel_is_valid(k, i))
            continue;
        const like *l = k->aux;
        if (l == NULL) {
            like_release(own);
            own = NULL;
            tl_bytes_view escape = k->n_args > 2 ? arg(k, 2, i) : (tl_bytes_view){NULL, 0};
            status = like_compile(arg(k, 1, i), escape, k->fn->name[0] == 'S', &own, k->err);
            l = own;
        }
        bool result = false;
        if (status == TL_OK)
            status = like_matches(l, arg(k, 0, i), &result, k->err);
        TL_OUT(k, uint8_t)[i] = result;
    }
    like_release(own);
    return status;
}

const tl_sql_function tl_fn_regex[] = {
    {.name = "LIKE", .args = "SS?S", .result = "B", .kernel = like_kernel, .flags = TL_FN_SLOW | TL_FN_CAN_FAIL, .prepare = like_prepare, .release = like_release},
    {.name = "SIMILAR TO", .args = "SS?S", .result = "B", .kernel = like_kernel, .flags = TL_FN_SLOW | TL_FN_CAN_FAIL, .prepare = like_prepare, .release = like_release},
    {.name = "REGEXP", .args = "SS", .result = "B", .kernel = regexp_kernel, .flags = TL_FN_SLOW | TL_FN_CAN_FAIL, .prepare = prepare_regex, .release = release_regex},
    {.name = "REGEXP_EXTRACT", .args = "SS?I", .result = "S?", .kernel = regexp_extract_kernel, .flags = TL_FN_SLOW | TL_FN_CAN_FAIL, .prepare = prepare_regex, .release = release_regex},
    {.name = "REGEXP_REPLACE", .args = "SSS", .result = "S", .kernel = regexp_replace_kernel, .flags = TL_FN_SLOW | TL_FN_CAN_FAIL, .prepare = prepare_regex, .release = release_regex},
    {.name = NULL},
};
