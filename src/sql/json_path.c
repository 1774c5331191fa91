#include "sql/json_path.h"

#include "sql/json_filter.h"

#include <stdlib.h>
#include <strings.h>

#define TOKENS_MAX 100
#define VISITS_MAX 10000000

typedef enum step_kind { STEP_NAME, STEP_NAMES, STEP_ALL, STEP_INDICES, STEP_SLICE, STEP_SCAN, STEP_LENGTH, STEP_FILTER } step_kind;

typedef struct step {
    step_kind kind;
    tl_bytes_view *names;
    int64_t *indices; /* SLICE: from, to */
    bool has_from, has_to;
    int32_t n;
    tl_json_filter *filter;
} step;

struct tl_json_path {
    tl_arena arena;
    bool lax;
    const char *complaint;
    bool definite; /* leads to one value at most */
    step *steps;
    int32_t n_steps;
};

/* ---- reading a path ---- */

typedef struct reader {
    tl_json_path *path;
    const uint8_t *p, *end;
} reader;

static bool complain(reader *r, const char *why)
{
    if (r->path->complaint == NULL)
        r->path->complaint = why;
    return false;
}

static step *add_step(reader *r, step_kind kind)
{
    if (r->path->n_steps == TOKENS_MAX) {
        complain(r, "it has too many steps");
        return NULL;
    }
    step *s = &r->path->steps[r->path->n_steps++];
    *s = (step){.kind = kind};
    return s;
}

static void skip_blanks(reader *r)
{
    while (r->p < r->end && *r->p == ' ')
        r->p++;
}

static bool take(reader *r, char c)
{
    if (r->p == r->end || *r->p != (uint8_t)c)
        return false;
    r->p++;
    return true;
}

static bool add_name(reader *r, step *s, const uint8_t *from, size_t bytes)
{
    tl_bytes_view *names = tl_arena_alloc(&r->path->arena, (size_t)(s->n + 1) * sizeof *names);
    char *copy = tl_arena_alloc(&r->path->arena, bytes + 1);
    if (names == NULL || copy == NULL)
        return false; /* the caller sees it by the missing complaint */
    if (s->n > 0)
        memcpy(names, s->names, (size_t)s->n * sizeof *names);
    size_t n = 0;
    for (size_t i = 0; i < bytes; i++) { /* \' and \" */
        if (from[i] == '\\' && i + 1 < bytes)
            i++;
        copy[n++] = (char)from[i];
    }
    names[s->n++] = (tl_bytes_view){(const uint8_t *)copy, n};
    s->names = names;
    return true;
}

/** name, name() or * behind a dot. */
static bool take_dotted(reader *r)
{
    if (take(r, '*'))
        return add_step(r, STEP_ALL) != NULL;
    const uint8_t *from = r->p;
    while (r->p < r->end && *r->p != '.' && *r->p != '[' && *r->p != '(' && *r->p != ' ')
        r->p++;
    size_t bytes = (size_t)(r->p - from);
    if (r->p < r->end && *r->p == ' ')
        return complain(r, "a name with blanks needs brackets");
    if (take(r, '(')) {
        if (bytes != 6 || memcmp(from, "length", 6) != 0 || !take(r, ')'))
            return complain(r, "only the function length() is there");
        return add_step(r, STEP_LENGTH) != NULL;
    }
    if (bytes == 0)
        return complain(r, "a name is missing");
    step *s = add_step(r, STEP_NAME);
    return s != NULL && add_name(r, s, from, bytes);
}

static bool take_quoted_names(reader *r)
{
    step *s = add_step(r, STEP_NAME);
    if (s == NULL)
        return false;
    do {
        skip_blanks(r);
        uint8_t quote = r->p < r->end ? *r->p : 0;
        if (quote != '\'' && quote != '"')
            return complain(r, "a quoted name is missing");
        const uint8_t *from = ++r->p;
        while (r->p < r->end && *r->p != quote)
            r->p += *r->p == '\\' && r->end - r->p > 1 ? 2 : 1;
        if (r->p >= r->end)
            return complain(r, "a quote has no end");
        if (!add_name(r, s, from, (size_t)(r->p - from)))
            return false;
        r->p++;
        skip_blanks(r);
    } while (take(r, ','));
    if (s->n > 1)
        s->kind = STEP_NAMES;
    return take(r, ']') || complain(r, "']' is missing");
}

static bool take_int(reader *r, int64_t *out)
{
    bool negative = take(r, '-');
    const uint8_t *from = r->p;
    int64_t v = 0;
    while (r->p < r->end && *r->p >= '0' && *r->p <= '9' && r->p - from < 10)
        v = v * 10 + (*r->p++ - '0');
    *out = negative ? -v : v;
    return r->p > from;
}

/** 0, -1, 1:3, :2, -2:, 0,2. */
static bool take_indices(reader *r)
{
    step *s = add_step(r, STEP_INDICES);
    if (s == NULL)
        return false;
    int64_t found[64];
    int32_t n = 0;
    skip_blanks(r);
    bool has = take_int(r, &found[0]);
    skip_blanks(r);
    if (take(r, ':')) {
        skip_blanks(r);
        s->kind = STEP_SLICE;
        s->has_from = has;
        s->has_to = take_int(r, &found[1]);
        if (!s->has_from && !s->has_to)
            return complain(r, "a slice needs a bound");
        n = 2;
    } else {
        if (!has)
            return complain(r, "an index, a quoted name or * is wanted in brackets");
        for (n = 1; take(r, ','); n++) {
            skip_blanks(r);
            if (n == (int32_t)TL_ARRAY_LEN(found) || !take_int(r, &found[n]))
                return complain(r, "an index is missing");
            skip_blanks(r);
        }
    }
    skip_blanks(r);
    s->n = n;
    s->indices = tl_arena_alloc(&r->path->arena, (size_t)n * sizeof *s->indices);
    if (s->indices == NULL)
        return false;
    memcpy(s->indices, found, (size_t)n * sizeof *s->indices);
    return take(r, ']') || complain(r, "']' is missing");
}

/** ?(condition)] */
static bool take_filter(reader *r)
{
    step *s = add_step(r, STEP_FILTER);
    r->p++;
    skip_blanks(r);
    if (s == NULL || !take(r, '('))
        return complain(r, "a filter's condition stands in parentheses");
    const char *why = NULL;
    if (tl_json_filter_read(&r->path->arena, &r->p, r->end, &s->filter, &why, NULL) != TL_OK)
        return false;
    if (s->filter == NULL)
        return complain(r, why);
    skip_blanks(r);
    return take(r, ']') || complain(r, "']' is missing");
}

static bool take_bracket(reader *r)
{
    skip_blanks(r);
    if (r->p == r->end)
        return complain(r, "']' is missing");
    if (*r->p == '\'' || *r->p == '"')
        return take_quoted_names(r);
    if (*r->p == '?')
        return take_filter(r);
    if (take(r, '*')) {
        skip_blanks(r);
        return (take(r, ']') || complain(r, "']' is missing")) && add_step(r, STEP_ALL) != NULL;
    }
    return take_indices(r);
}

static bool read_steps(reader *r)
{
    while (r->p < r->end) {
        if (take(r, '[')) {
            if (!take_bracket(r))
                return false;
        } else if (take(r, '.')) {
            bool scan = take(r, '.');
            if (scan && add_step(r, STEP_SCAN) == NULL)
                return false;
            if (!(scan && take(r, '[') ? take_bracket(r) : take_dotted(r)))
                return false;
        } else {
            return complain(r, "'.' or '[' is wanted");
        }
    }
    return true;
}

/** "lax " or "strict " in front. */
static void take_mode(reader *r)
{
    static const char *const modes[] = {"lax", "strict"};
    const uint8_t *p = r->p;
    while (p < r->end && (*p == ' ' || (*p >= '\t' && *p <= '\r')))
        p++;
    for (size_t m = 0; m < TL_ARRAY_LEN(modes); m++) {
        size_t n = strlen(modes[m]);
        if ((size_t)(r->end - p) <= n || strncasecmp((const char *)p, modes[m], n) != 0 || (p[n] != ' ' && !(p[n] >= '\t' && p[n] <= '\r')))
            continue;
        p += n;
        while (p < r->end && (*p == ' ' || (*p >= '\t' && *p <= '\r')))
            p++;
        if (p < r->end) {
            r->path->lax = m == 0;
            r->p = p;
        }
        return;
    }
}

static bool is_definite(const tl_json_path *path)
{
    for (int32_t i = 0; i < path->n_steps; i++) {
        const step *s = &path->steps[i];
        bool last = i + 1 == path->n_steps;
        if (s->kind == STEP_ALL || s->kind == STEP_FILTER || s->kind == STEP_SLICE || s->kind == STEP_SCAN || (s->kind == STEP_INDICES && s->n > 1) || (s->kind == STEP_NAMES && !last))
            return false;
    }
    return true;
}

tl_status tl_json_path_compile(tl_bytes_view text, tl_json_path **out, tl_error *err)
{
    tl_json_path *path = tl_calloc(1, sizeof *path);
    *out = NULL;
    if (path == NULL || (path->steps = tl_arena_alloc(&path->arena, TOKENS_MAX * sizeof *path->steps)) == NULL) {
        tl_json_path_free(path);
        return tl_nomem(err, "JSON path");
    }
    reader r = {path, text.data, text.data + text.len};
    take_mode(&r);
    bool good;
    if (r.p == r.end)
        good = complain(&r, "it is empty");
    else if (*r.p == '$' || *r.p == '@')
        good = (r.p++, read_steps(&r));
    else
        good = take_dotted(&r) && read_steps(&r); /* a name alone stands for $.name */
    if (!good && path->complaint == NULL) {
        tl_json_path_free(path);
        return tl_nomem(err, "JSON path");
    }
    path->definite = is_definite(path);
    *out = path;
    return TL_OK;
}

void tl_json_path_free(tl_json_path *path)
{
    if (path == NULL)
        return;
    for (int32_t i = 0; i < path->n_steps; i++)
        tl_json_filter_deinit(path->steps[i].filter);
    tl_arena_deinit(&path->arena);
    tl_free(path);
}

bool tl_json_path_is_lax(const tl_json_path *path)
{
    return path->lax;
}

const char *tl_json_path_complaint(const tl_json_path *path)
{
    return path->complaint;
}

/* ---- finding ---- */

typedef struct search {
    const tl_json_path *path;
    const tl_json *root;
    tl_arena *arena;
    tl_error *err;
    const tl_json **found;
    int64_t n, cap;
    int64_t visits;
    bool missing; /* a step of a path that is definite so far led nowhere */
} search;

static tl_status walk(search *s, int32_t i, const tl_json *node, bool definite);

static tl_status add_found(search *s, const tl_json *node)
{
    if (s->n == s->cap) {
        int64_t cap = s->cap == 0 ? 8 : s->cap * 2;
        const tl_json **found = tl_arena_alloc(s->arena, (size_t)cap * sizeof *found);
        if (found == NULL)
            return tl_nomem(s->err, "JSON path");
        if (s->n > 0)
            memcpy(found, s->found, (size_t)s->n * sizeof *found);
        s->found = found;
        s->cap = cap;
    }
    s->found[s->n++] = node;
    return TL_OK;
}

static tl_status nowhere(search *s, bool definite)
{
    s->missing = s->missing || definite;
    return TL_OK;
}

static const tl_json *member(const tl_json *object, tl_bytes_view name)
{
    const tl_json *found = NULL;
    for (const tl_json *c = object->child; c != NULL; c = c->next)
        if (c->key.len == name.len && memcmp(c->key.data, name.data, name.len) == 0)
            found = c;
    return found;
}

/** An array or object of values that stand elsewhere. */
static tl_json *collect(search *s, tl_json_kind kind, const tl_json *const *values, int64_t n)
{
    tl_json *list = tl_arena_calloc(s->arena, 1, sizeof *list), *copies = tl_arena_calloc(s->arena, (size_t)n + 1, sizeof *copies);
    if (list == NULL || copies == NULL)
        return NULL;
    list->kind = kind;
    list->n_children = n;
    list->child = n > 0 ? copies : NULL;
    for (int64_t i = 0; i < n; i++) {
        copies[i] = *values[i];
        copies[i].next = i + 1 < n ? &copies[i + 1] : NULL;
    }
    return list;
}

static tl_status walk_names(search *s, int32_t i, const tl_json *node, bool definite)
{
    const step *st = &s->path->steps[i];
    bool last = i + 1 == s->path->n_steps;
    const tl_json **values = tl_arena_alloc(s->arena, (size_t)st->n * sizeof *values);
    int64_t n = 0;
    if (values == NULL)
        return tl_nomem(s->err, "JSON path");
    for (int32_t k = 0; k < st->n; k++) {
        const tl_json *v = member(node, st->names[k]);
        if (v != NULL && last)
            values[n++] = v;
        else if (v != NULL)
            TL_TRY(walk(s, i + 1, v, false));
        else if (!last)
            nowhere(s, definite);
    }
    if (!last)
        return TL_OK;
    tl_json *object = collect(s, TL_JSON_OBJECT, values, n);
    return object == NULL ? tl_nomem(s->err, "JSON path") : add_found(s, object);
}

static const tl_json *element(const tl_json *array, int64_t index)
{
    const tl_json *c = array->child;
    while (c != NULL && index-- > 0)
        c = c->next;
    return c;
}

static tl_status walk_indices(search *s, int32_t i, const tl_json *node, bool definite)
{
    const step *st = &s->path->steps[i];
    bool one = st->n == 1;
    for (int32_t k = 0; k < st->n; k++) {
        int64_t index = st->indices[k] < 0 ? st->indices[k] + node->n_children : st->indices[k];
        const tl_json *v = index < 0 || index >= node->n_children ? NULL : element(node, index);
        if (v != NULL)
            TL_TRY(walk(s, i + 1, v, definite && one));
        else if (one)
            nowhere(s, definite);
    }
    return TL_OK;
}

static tl_status walk_slice(search *s, int32_t i, const tl_json *node)
{
    const step *st = &s->path->steps[i];
    int64_t n = node->n_children, from = st->has_from ? st->indices[0] : 0, to = st->has_to ? st->indices[1] : n;
    from = TL_MAX(from < 0 ? from + n : from, 0);
    to = TL_MIN(to < 0 ? to + n : to, n);
    const tl_json *c = from < to ? element(node, from) : NULL;
    for (int64_t k = from; k < to; k++, c = c->next)
        TL_TRY(walk(s, i + 1, c, false));
    return TL_OK;
}

static tl_status walk_children(search *s, int32_t i, const tl_json *node)
{
    if (node->kind == TL_JSON_OBJECT) {
        const tl_json **members;
        int64_t n;
        TL_TRY(tl_json_members(node, s->arena, &members, &n, s->err));
        for (int64_t k = 0; k < n; k++)
            TL_TRY(walk(s, i, members[k], false));
    } else if (node->kind == TL_JSON_ARRAY) {
        for (const tl_json *c = node->child; c != NULL; c = c->next)
            TL_TRY(walk(s, i, c, false));
    }
    return TL_OK;
}

/** Elements of an array that pass; an object passes itself. */
static tl_status walk_filter(search *s, int32_t i, const tl_json *node, bool definite)
{
    bool is_array = node->kind == TL_JSON_ARRAY;
    if (!is_array && node->kind != TL_JSON_OBJECT)
        return nowhere(s, definite);
    const tl_json *alone = is_array ? NULL : node;
    for (const tl_json *c = is_array ? node->child : node; c != NULL; c = alone != NULL ? NULL : c->next) {
        bool accepted;
        TL_TRY(tl_json_filter_accepts(s->path->steps[i].filter, c, s->root, s->arena, &accepted, s->err));
        if (accepted)
            TL_TRY(walk(s, i + 1, c, false));
    }
    return TL_OK;
}

/** Whether the step behind `..` can be taken at a value. */
static bool applies(const step *st, const tl_json *node)
{
    switch (st->kind) {
    case STEP_NAME:
        return node->kind == TL_JSON_OBJECT && member(node, st->names[0]) != NULL;
    case STEP_NAMES:
        return node->kind == TL_JSON_OBJECT;
    case STEP_INDICES:
    case STEP_SLICE:
        return node->kind == TL_JSON_ARRAY;
    case STEP_ALL:
        return node->kind == TL_JSON_ARRAY || node->kind == TL_JSON_OBJECT;
    case STEP_FILTER:
        return node->kind == TL_JSON_OBJECT; /* elements of an array come as objects of their own */
    default:
        return false;
    }
}

/** `i` is the SCAN step: the next one is tried here and at every value below, from the outside in. */
static tl_status walk_scan(search *s, int32_t i, const tl_json *node)
{
    if (applies(&s->path->steps[i + 1], node))
        TL_TRY(walk(s, i + 1, node, false));
    return walk_children(s, i, node);
}

static tl_status walk_length(search *s, int32_t i, const tl_json *node, bool definite)
{
    if (node->kind != TL_JSON_ARRAY && node->kind != TL_JSON_OBJECT && node->kind != TL_JSON_STRING)
        return nowhere(s, definite);
    tl_json *number = tl_arena_calloc(s->arena, 1, sizeof *number);
    char *digits = number == NULL ? NULL : tl_arena_strf(s->arena, "%lld", (long long)(node->kind == TL_JSON_STRING ? (int64_t)node->text.len : node->n_children));
    if (digits == NULL)
        return tl_nomem(s->err, "JSON path");
    number->kind = TL_JSON_NUMBER;
    number->text = (tl_bytes_view){(const uint8_t *)digits, strlen(digits)};
    return walk(s, i + 1, number, definite);
}

/** Take step i at a value. Recursion is as deep as the path is long, and as the JSON is below a scan: both are limited. */
static tl_status walk(search *s, int32_t i, const tl_json *node, bool definite)
{
    if (++s->visits > VISITS_MAX)
        return tl_error_set(s->err, TL_E_LIMIT, "a JSON path visits more than %d values", VISITS_MAX);
    if (i == s->path->n_steps)
        return add_found(s, node);
    const step *st = &s->path->steps[i];
    switch (st->kind) {
    case STEP_NAME: {
        const tl_json *v = node->kind == TL_JSON_OBJECT ? member(node, st->names[0]) : NULL;
        return v != NULL ? walk(s, i + 1, v, definite) : nowhere(s, definite);
    }
    case STEP_NAMES:
        return node->kind == TL_JSON_OBJECT ? walk_names(s, i, node, definite) : nowhere(s, definite);
    case STEP_ALL:
        return walk_children(s, i + 1, node);
    case STEP_INDICES:
        return node->kind == TL_JSON_ARRAY ? walk_indices(s, i, node, definite) : nowhere(s, definite);
    case STEP_SLICE:
        return node->kind == TL_JSON_ARRAY ? walk_slice(s, i, node) : nowhere(s, definite);
    case STEP_SCAN:
        return walk_scan(s, i, node);
    case STEP_FILTER:
        return walk_filter(s, i, node, definite);
    default:
        return walk_length(s, i, node, definite);
    }
}

tl_status tl_json_path_find(const tl_json_path *path, const tl_json *root, tl_arena *arena, tl_json_found *out, tl_error *err)
{
    *out = (tl_json_found){false, NULL};
    if (path->complaint != NULL || root->kind == TL_JSON_NULL) {
        out->failed = true; /* Jayway refuses these in both modes */
        return TL_OK;
    }
    search s = {.path = path, .root = root, .arena = arena, .err = err};
    TL_TRY(walk(&s, 0, root, true));
    if (s.missing && !path->lax) {
        out->failed = true;
        return TL_OK;
    }
    if (path->definite) {
        out->value = s.n > 0 && s.found[0]->kind != TL_JSON_NULL ? s.found[0] : NULL;
        return TL_OK;
    }
    out->value = collect(&s, TL_JSON_ARRAY, s.found, s.n);
    return out->value == NULL ? tl_nomem(err, "JSON path") : TL_OK;
}
