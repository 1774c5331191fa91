/*
 * Filters of JSON paths: comparisons of paths and literals, whether a path leads somewhere, !, && and ||. Semantics are Jayway's:
 * numbers compare as numbers, a number and a string are equal if the one reads as the other, an order is there only between two
 * numbers or two strings, and what is missing equals nothing.
 */
#include "sql/json_filter.h"

#include <stdlib.h>

#define DEPTH_MAX 32
#define CONDITIONS_MAX 256 /* bounds the recursion over chains, too */

typedef enum filter_kind { FILTER_OR, FILTER_AND, FILTER_NOT, FILTER_EXISTS, FILTER_COMPARE } filter_kind;
typedef enum compare_op { OP_EQ, OP_NE, OP_LE, OP_GE, OP_LT, OP_GT } compare_op;

typedef struct operand {
    tl_json_path *path; /* of `@`, or of `$` if `of_root`; NULL: a literal */
    bool of_root;
    tl_json literal;
} operand;

struct tl_json_filter {
    filter_kind kind;
    compare_op op;
    operand left, right;
    tl_json_filter *a, *b;
};

/* ---- reading ---- */

typedef struct reader {
    tl_arena *arena;
    const uint8_t *p, *end;
    const char *complaint;
    tl_error *err;
    int depth, conditions;
} reader;

/* Each of these gives TL_OK with *out NULL, and a complaint, where the text is no filter. */
static tl_status read_or(reader *r, tl_json_filter **out);

static tl_status complain(reader *r, const char *why)
{
    if (r->complaint == NULL)
        r->complaint = why;
    return TL_OK;
}

static bool take(reader *r, const char *text)
{
    size_t n = strlen(text);
    while (r->p < r->end && *r->p == ' ')
        r->p++;
    if ((size_t)(r->end - r->p) < n || memcmp(r->p, text, n) != 0)
        return false;
    r->p += n;
    return true;
}

static tl_json_filter *new_filter(reader *r, filter_kind kind, tl_json_filter *a, tl_json_filter *b)
{
    tl_json_filter *f = tl_arena_calloc(r->arena, 1, sizeof *f);
    if (f != NULL)
        *f = (tl_json_filter){.kind = kind, .a = a, .b = b};
    return f;
}

/** @.a['b'][0], up to an operator or a parenthesis outside of brackets. */
static tl_status read_path(reader *r, operand *out)
{
    const uint8_t *from = r->p;
    int brackets = 0;
    for (; r->p < r->end; r->p++) {
        if (*r->p == '?')
            return complain(r, "a filter inside a filter is not there");
        brackets += *r->p == '[';
        brackets -= *r->p == ']';
        if (brackets <= 0 && strchr(" )=!<>&|,", *r->p) != NULL)
            break;
    }
    out->of_root = *from == '$';
    TL_TRY(tl_json_path_compile((tl_bytes_view){from, (size_t)(r->p - from)}, &out->path, r->err));
    return tl_json_path_complaint(out->path) != NULL ? complain(r, "a path in a filter is none") : TL_OK;
}

static tl_status read_string(reader *r, operand *out)
{
    uint8_t quote = *r->p++;
    const uint8_t *from = r->p;
    while (r->p < r->end && *r->p != quote)
        r->p += *r->p == '\\' && r->end - r->p > 1 ? 2 : 1;
    if (r->p >= r->end)
        return complain(r, "a string in a filter has no end");
    char *copy = tl_arena_alloc(r->arena, (size_t)(r->p - from) + 1);
    if (copy == NULL)
        return tl_nomem(r->err, "JSON path");
    size_t n = 0;
    for (const uint8_t *c = from; c < r->p; c++) {
        c += *c == '\\' && c + 1 < r->p;
        copy[n++] = (char)*c;
    }
    r->p++;
    out->literal = (tl_json){.kind = TL_JSON_STRING, .text = {(const uint8_t *)copy, n}};
    return TL_OK;
}

static tl_status read_operand(reader *r, operand *out)
{
    static const struct {
        const char *word;
        tl_json_kind kind;
    } words[] = {{"true", TL_JSON_TRUE}, {"false", TL_JSON_FALSE}, {"null", TL_JSON_NULL}};
    (void)take(r, "");
    if (r->p == r->end)
        return complain(r, "a filter has no end");
    if (*r->p == '@' || *r->p == '$')
        return read_path(r, out);
    if (*r->p == '\'' || *r->p == '"')
        return read_string(r, out);
    for (size_t i = 0; i < TL_ARRAY_LEN(words); i++)
        if (take(r, words[i].word)) {
            out->literal.kind = words[i].kind;
            return TL_OK;
        }
    const uint8_t *from = r->p;
    while (r->p < r->end && strchr("0123456789+-.eE", *r->p) != NULL)
        r->p++;
    out->literal = (tl_json){.kind = TL_JSON_NUMBER, .text = {from, (size_t)(r->p - from)}};
    double ignored;
    if (r->p == from || !tl_json_double(&out->literal, &ignored))
        return complain(r, "a filter compares paths, numbers, strings, true, false and null");
    return TL_OK;
}

static tl_status read_compare(reader *r, tl_json_filter **out)
{
    static const char *const ops[] = {[OP_EQ] = "==", [OP_NE] = "!=", [OP_LE] = "<=", [OP_GE] = ">=", [OP_LT] = "<", [OP_GT] = ">"};
    if (++r->conditions > CONDITIONS_MAX)
        return complain(r, "a filter has too many conditions");
    tl_json_filter *f = new_filter(r, FILTER_EXISTS, NULL, NULL);
    if (f == NULL)
        return tl_nomem(r->err, "JSON path");
    *out = f; /* so that its paths are released */
    TL_TRY(read_operand(r, &f->left));
    for (size_t i = 0; i < TL_ARRAY_LEN(ops) && r->complaint == NULL; i++)
        if (take(r, ops[i])) {
            f->kind = FILTER_COMPARE;
            f->op = (compare_op)i;
            return read_operand(r, &f->right);
        }
    if (r->complaint == NULL && f->left.path == NULL)
        return complain(r, "a literal alone is no filter");
    return TL_OK;
}

static tl_status read_not(reader *r, tl_json_filter **out)
{
    if (++r->depth > DEPTH_MAX)
        return complain(r, "a filter is too deep");
    if (take(r, "!")) {
        *out = new_filter(r, FILTER_NOT, NULL, NULL);
        if (*out == NULL)
            return tl_nomem(r->err, "JSON path");
        TL_TRY(read_not(r, &(*out)->a));
    } else if (take(r, "(")) {
        TL_TRY(read_or(r, out));
        if (r->complaint == NULL && !take(r, ")"))
            TL_TRY(complain(r, "')' is missing in a filter"));
    } else {
        TL_TRY(read_compare(r, out));
    }
    r->depth--;
    return TL_OK;
}

/** A chain of one operator; each node is reachable from *out at any time. */
static tl_status read_chain(reader *r, filter_kind kind, tl_status (*part)(reader *, tl_json_filter **), const char *op, tl_json_filter **out)
{
    TL_TRY(part(r, out));
    while (r->complaint == NULL && take(r, op)) {
        tl_json_filter *both = new_filter(r, kind, *out, NULL);
        if (both == NULL)
            return tl_nomem(r->err, "JSON path");
        *out = both;
        TL_TRY(part(r, &both->b));
    }
    return TL_OK;
}

static tl_status read_and(reader *r, tl_json_filter **out)
{
    return read_chain(r, FILTER_AND, read_not, "&&", out);
}

static tl_status read_or(reader *r, tl_json_filter **out)
{
    return read_chain(r, FILTER_OR, read_and, "||", out);
}

void tl_json_filter_deinit(tl_json_filter *filter)
{
    /* A chain hangs on `a`; `b` and parentheses are bounded by DEPTH_MAX. */
    for (; filter != NULL; filter = filter->a) {
        tl_json_path_free(filter->left.path);
        tl_json_path_free(filter->right.path);
        tl_json_filter_deinit(filter->b);
    }
}

tl_status tl_json_filter_read(tl_arena *arena, const uint8_t **p, const uint8_t *end, tl_json_filter **out, const char **complaint, tl_error *err)
{
    reader r = {.arena = arena, .p = *p, .end = end, .err = err};
    tl_json_filter *filter = NULL;
    *out = NULL;
    tl_status status = read_or(&r, &filter);
    if (status == TL_OK && r.complaint == NULL && !take(&r, ")"))
        r.complaint = "an operator in a filter is not there: ==, !=, <, <=, >, >=, &&, || and ! are";
    if (status != TL_OK || r.complaint != NULL) {
        tl_json_filter_deinit(filter);
        *complaint = r.complaint;
        return status;
    }
    *p = r.p;
    *out = filter;
    return TL_OK;
}

/* ---- applying ---- */

/** The operand's value: NULL if its path leads nowhere. */
static tl_status value_of(const operand *o, const tl_json *value, const tl_json *root, tl_arena *arena, const tl_json **out, tl_error *err)
{
    static const tl_json null = {.kind = TL_JSON_NULL};
    *out = &o->literal;
    if (o->path == NULL)
        return TL_OK;
    tl_json_found found;
    TL_TRY(tl_json_path_find(o->path, o->of_root ? root : value, arena, &found, err));
    *out = found.failed ? NULL : found.value != NULL ? found.value : &null;
    return TL_OK;
}

static bool number_of(const tl_json *v, double *out)
{
    tl_json number = {.kind = TL_JSON_NUMBER, .text = v->text};
    return (v->kind == TL_JSON_NUMBER || v->kind == TL_JSON_STRING) && v->text.len > 0 && tl_json_double(&number, out);
}

static tl_status equal(const tl_json *l, const tl_json *r, tl_arena *arena, bool *out, tl_error *err)
{
    double x, y;
    *out = false;
    if (l == NULL || r == NULL)
        return TL_OK;
    if (l->kind == TL_JSON_NUMBER && number_of(l, &x) && number_of(r, &y)) {
        *out = x == y;
    } else if (l->kind == TL_JSON_STRING && (r->kind == TL_JSON_STRING || r->kind == TL_JSON_NUMBER)) {
        *out = tl_bytes_equal(l->text, r->text);
    } else if (l->kind == r->kind) {
        TL_CLEANUP(tl_buf_deinit) tl_buf a = {0};
        TL_CLEANUP(tl_buf_deinit) tl_buf b = {0};
        TL_TRY(tl_json_print(&a, l, arena, err));
        TL_TRY(tl_json_print(&b, r, arena, err));
        *out = tl_bytes_equal((tl_bytes_view){a.data, a.len}, (tl_bytes_view){b.data, b.len});
    }
    return TL_OK;
}

static bool ordered(compare_op op, int order)
{
    return op == OP_LT ? order < 0 : op == OP_LE ? order <= 0 : op == OP_GT ? order > 0 : order >= 0;
}

static tl_status compare(const tl_json_filter *f, const tl_json *value, const tl_json *root, tl_arena *arena, bool *out, tl_error *err)
{
    const tl_json *l, *r;
    double x, y;
    TL_TRY(value_of(&f->left, value, root, arena, &l, err));
    TL_TRY(value_of(&f->right, value, root, arena, &r, err));
    if (f->op == OP_EQ || f->op == OP_NE) {
        TL_TRY(equal(l, r, arena, out, err));
        *out = *out == (f->op == OP_EQ);
        return TL_OK;
    }
    *out = false;
    if (l == NULL || r == NULL || l->kind != r->kind)
        return TL_OK;
    if (l->kind == TL_JSON_STRING)
        *out = ordered(f->op, tl_bytes_compare(l->text, r->text));
    else if (l->kind == TL_JSON_NUMBER && number_of(l, &x) && number_of(r, &y))
        *out = ordered(f->op, (x > y) - (x < y));
    return TL_OK;
}

tl_status tl_json_filter_accepts(const tl_json_filter *f, const tl_json *value, const tl_json *root, tl_arena *arena, bool *out, tl_error *err)
{
    const tl_json *found;
    switch (f->kind) {
    case FILTER_COMPARE:
        return compare(f, value, root, arena, out, err);
    case FILTER_EXISTS:
        TL_TRY(value_of(&f->left, value, root, arena, &found, err));
        *out = found != NULL;
        return TL_OK;
    case FILTER_NOT:
        TL_TRY(tl_json_filter_accepts(f->a, value, root, arena, out, err));
        *out = !*out;
        return TL_OK;
    default:
        TL_TRY(tl_json_filter_accepts(f->a, value, root, arena, out, err));
        if (*out == (f->kind == FILTER_OR))
            return TL_OK;
        return tl_json_filter_accepts(f->b, value, root, arena, out, err);
    }
}
