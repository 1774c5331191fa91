/*
 * The parser's driver: tokens into the generated LALR(1) automaton, and what its actions call to build nodes.
 *
 * Hostile input is bounded three ways: bytes of a statement, the automaton's stack, and the depth of the tree (every later
 * recursion follows the tree). An error, once met, is kept; actions that run after it build nothing.
 */
#include <stdio.h>
#include <strings.h>

#include "sql/parser_private.h"

#include "grammar.h"

static void fail(tl_parser *p, tl_status status)
{
    if (p->status == TL_OK)
        p->status = status;
}

tl_ast *tl_sql__node(tl_parser *p, tl_ast_kind kind, int32_t line, int32_t position, tl_ast_init init)
{
    if (p->status != TL_OK)
        return NULL;
    tl_ast *node = tl_arena_calloc(p->arena, 1, sizeof *node);
    if (node == NULL) {
        fail(p, tl_nomem(p->err, "syntax tree"));
        return NULL;
    }
    node->kind = kind;
    node->line = line;
    node->position = position;
    node->flags = init.flags;
    node->count = init.count;
    node->text = init.text;
    int32_t depth = 0;
    for (int i = 0; i < TL_AST_KIDS; i++) {
        node->kid[i] = init.kid[i];
        if (init.kid[i] != NULL)
            depth = TL_MAX(depth, init.kid[i]->depth);
    }
    node->depth = depth + 1;
    if (node->depth > TL_AST_DEPTH_MAX)
        tl_sql__too_deep(p);
    return node;
}

tl_ast *tl_sql__append_kind(tl_parser *p, tl_ast_kind kind, tl_ast *list, tl_ast *element)
{
    if (p->status != TL_OK || element == NULL)
        return NULL;
    if (list == NULL) {
        list = tl_sql__node(p, kind, element->line, element->position, (tl_ast_init){0});
        if (list == NULL)
            return NULL;
    }
    /* An element that ends a list has next == NULL; a list inside a list is one element. */
    if (list->kid[1] != NULL)
        list->kid[1]->next = element;
    else
        list->kid[0] = element;
    list->kid[1] = element;
    list->count++;
    list->depth = TL_MAX(list->depth, element->depth + 1);
    if (list->depth > TL_AST_DEPTH_MAX)
        tl_sql__too_deep(p);
    return list;
}

tl_ast *tl_sql__append(tl_parser *p, tl_ast *list, tl_ast *element)
{
    return tl_sql__append_kind(p, AST_LIST, list, element);
}

tl_ast *tl_sql__prepend(tl_parser *p, tl_ast *element, tl_ast *list)
{
    if (p->status != TL_OK || element == NULL || list == NULL)
        return NULL;
    element->next = list->kid[0];
    list->kid[0] = element;
    list->count++;
    list->depth = TL_MAX(list->depth, element->depth + 1);
    if (list->depth > TL_AST_DEPTH_MAX)
        tl_sql__too_deep(p);
    return list;
}

/** a AND b AND c is one node: a filter of thousands of conditions has no depth. */
tl_ast *tl_sql__chain(tl_parser *p, tl_ast_kind kind, const char *text, tl_ast *a, tl_ast *b)
{
    if (p->status != TL_OK || a == NULL || b == NULL)
        return NULL;
    tl_ast *chain = a;
    if (a->kind != kind || (a->flags & AST_F_PAREN) != 0) {
        chain = tl_sql__append_kind(p, kind, NULL, a);
        if (chain == NULL)
            return NULL;
        chain->text = text;
    }
    return tl_sql__append_kind(p, kind, chain, b);
}

tl_ast *tl_sql__setop(tl_parser *p, const char *text, uint32_t flags, tl_ast *a, tl_ast *b)
{
    if (p->status != TL_OK || a == NULL || b == NULL)
        return NULL;
    if (a->kind == AST_SETOP && strcmp(a->text, text) == 0 && (a->flags & AST_F_ALL) == flags && strcmp(text, "EXCEPT") != 0)
        return tl_sql__append_kind(p, AST_SETOP, a, b);
    tl_ast *op = tl_sql__append_kind(p, AST_SETOP, NULL, a);
    if (op == NULL)
        return NULL;
    op->text = text;
    op->flags = flags;
    return tl_sql__append_kind(p, AST_SETOP, op, b);
}

tl_ast *tl_sql__flag(tl_parser *p, tl_ast *node, uint32_t flags)
{
    (void)p;
    if (node != NULL)
        node->flags |= flags;
    return node;
}

tl_ast *tl_sql__call(tl_parser *p, tl_ast *name, uint32_t flags, tl_ast *args, tl_ast *order, tl_ast *filter, tl_ast *over)
{
    if (p->status != TL_OK || name == NULL)
        return NULL;
    return tl_sql__node(p, AST_CALL, name->line, name->position,
                        (tl_ast_init){.flags = flags, .text = tl_ast_last_name(name), .kid = {args, filter, over, order, name->count > 1 ? name : NULL}});
}

tl_ast *tl_sql__query(tl_parser *p, tl_ast *ctes, tl_ast *body, tl_ast *order, tl_ast *limits)
{
    if (p->status != TL_OK || body == NULL)
        return NULL;
    tl_ast *offset = limits != NULL ? limits->kid[0] : NULL, *limit = limits != NULL ? limits->kid[1] : NULL;
    /* Parentheses alone add nothing. */
    if (body->kind == AST_QUERY && ctes == NULL && order == NULL && limits == NULL)
        return body;
    return tl_sql__node(p, AST_QUERY, body->line, body->position, (tl_ast_init){.kid = {ctes, body, order, offset, limit}});
}

tl_ast *tl_sql__alias(tl_parser *p, tl_ast *table, tl_ast *alias)
{
    if (table != NULL && alias != NULL) {
        table->text = alias->text;
        table->kid[3] = alias->kid[0];
    }
    return p->status == TL_OK ? table : NULL;
}

const char *tl_sql__join(tl_parser *p, const char *a, const char *b)
{
    const char *text = tl_arena_strf(p->arena, "%s %s", a, b);
    if (text == NULL)
        fail(p, tl_nomem(p->err, "syntax tree"));
    return text;
}

const char *tl_sql__rest(tl_parser *p, const tl_sql_token *after)
{
    const char *from = after->to, *to = p->lexer.end;
    while (from < to && strchr(" \t\r\n", *from) != NULL)
        from++;
    while (to > from && strchr(" \t\r\n;", to[-1]) != NULL)
        to--;
    const char *text = tl_arena_strndup(p->arena, from, (size_t)(to - from));
    if (text == NULL)
        fail(p, tl_nomem(p->err, "syntax tree"));
    return text;
}

void tl_sql__too_deep(tl_parser *p)
{
    if (p->status == TL_OK)
        p->status = tl_error_set(p->err, TL_E_LIMIT, "line %d: statement is nested too deeply (more than %d levels)", (int)p->lexer.line, TL_AST_DEPTH_MAX);
}

/* ---- syntax errors ---- */

#define EXPECTED_MAX 12

void tl_sql__syntax_error_begin(tl_parser *p, const tl_sql_token *token)
{
    p->message.len = 0;
    p->expected = 0;
    if (p->status != TL_OK)
        return;
    if (token->code == 0)
        p->status = tl_error_set(p->err, TL_E_INVALID, "line %d:%d: the statement ends too early", (int)token->line, (int)token->position);
    else
        p->status = tl_error_set(p->err, TL_E_INVALID, "line %d:%d: syntax error at '%.*s'", (int)token->line, (int)token->position,
                                 (int)TL_MIN(token->to - token->from, 60), token->from);
}

void tl_sql__syntax_error_expected(tl_parser *p, int code)
{
    const char *name = tl_sql__token_name(code);
    if (name == NULL)
        return;
    if (p->expected++ < EXPECTED_MAX)
        (void)tl_buf_appendf(&p->message, "%s%s", p->message.len > 0 ? ", " : "", name); /* a shorter message is no harm */
}

void tl_sql__syntax_error_end(tl_parser *p)
{
    if (p->expected == 0 || p->expected > EXPECTED_MAX || p->err == NULL)
        return;
    size_t used = strlen(p->err->message);
    snprintf(p->err->message + used, sizeof p->err->message - used, ", expected %s%.*s", p->expected > 1 ? "one of " : "", (int)p->message.len,
             (const char *)p->message.data);
}

/* ---- SET key = value without quotes ---- */

static const char *skip_spaces(const char *p, const char *end)
{
    while (p < end && strchr(" \t\r\n", *p) != NULL && *p != '\0')
        p++;
    return p;
}

static bool is_key_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.';
}

static tl_ast *raw_string(tl_parser *p, const tl_sql_token *at, const char *from, const char *to)
{
    return tl_sql__node(p, AST_STRING, at->line, at->position,
                        (tl_ast_init){.text = tl_arena_strndup(p->arena, from, (size_t)(to - from)), .count = (int32_t)(to - from)});
}

/** As the SQL client takes them: SET key = value and RESET key, to the end of the statement. False: not of this form. */
static bool parse_raw_set(tl_parser *p, const tl_sql_token *first)
{
    bool is_set = first->code == TK_SET;
    const char *end = p->lexer.end, *at = skip_spaces(first->to, end);
    while (end > at && strchr(" \t\r\n;", end[-1]) != NULL)
        end--;
    const char *key = at;
    while (at < end && is_key_char(*at))
        at++;
    const char *key_end = at;
    at = skip_spaces(at, end);
    if (key == key_end || (is_set ? at >= end || *at != '=' : at != end))
        return false;
    tl_ast *value = NULL;
    if (is_set) {
        at = skip_spaces(at + 1, end);
        bool quoted = end - at >= 2 && *at == '\'' && end[-1] == '\'';
        value = raw_string(p, first, at + quoted, end - quoted);
    }
    p->result = tl_sql__node(p, is_set ? AST_SET : AST_RESET, first->line, first->position, (tl_ast_init){.kid = {raw_string(p, first, key, key_end), value}});
    return true;
}

/* ---- driver ---- */

static tl_status check_utf8(const char *text, size_t bytes, tl_error *err)
{
    const uint8_t *p = (const uint8_t *)text, *end = p + bytes;
    while (p < end) {
        size_t extra = *p < 0x80 ? 0 : *p >= 0xC2 && *p < 0xE0 ? 1 : *p >= 0xE0 && *p < 0xF0 ? 2 : *p >= 0xF0 && *p < 0xF5 ? 3 : 9;
        bool good = extra < 9 && (size_t)(end - p) > extra;
        for (size_t i = 1; good && i <= extra; i++)
            good = (p[i] & 0xC0) == 0x80;
        if (good && extra == 2)
            good = !(p[0] == 0xE0 && p[1] < 0xA0) && !(p[0] == 0xED && p[1] >= 0xA0);
        if (good && extra == 3)
            good = !(p[0] == 0xF0 && p[1] < 0x90) && !(p[0] == 0xF4 && p[1] >= 0x90);
        if (!good)
            return tl_error_set(err, TL_E_INVALID, "the statement is not UTF-8 at byte %zu", (size_t)(p - (const uint8_t *)text));
        p += extra + 1;
    }
    return TL_OK;
}

static void feed(tl_parser *p, void *machine, bool is_expression)
{
    tl_sql_token token = {0};
    if (is_expression)
        tl_sql__Parse(machine, TK_EXPRESSION, (tl_sql_token){.code = TK_EXPRESSION}, p);
    bool first = true;
    tl_sql_token begin[2] = {{0}}, last[3] = {{0}}; /* for the message where the grammar stops */
    int n = 0;
    do {
        tl_status status = tl_sql__lex(&p->lexer, &token, p->err);
        if (status != TL_OK) {
            fail(p, status);
            return;
        }
        if (first && !is_expression && (token.code == TK_SET || token.code == TK_RESET) && parse_raw_set(p, &token))
            return;
        first = false;
        if (n < 2)
            begin[n++] = token;
        last[0] = last[1];
        last[1] = last[2];
        last[2] = token;
        tl_sql__Parse(machine, token.code, token, p);
    } while (token.code != 0 && p->status == TL_OK);
    tl_error ignored;
    if (p->status == TL_E_INVALID && n == 1 && token.code != 0) /* it stopped at the first word: the second one, if there is one */
        if (tl_sql__lex(&p->lexer, &begin[1], &ignored) != TL_OK)
            begin[1] = (tl_sql_token){0};
    if (p->status == TL_E_INVALID && !is_expression)
        p->status = tl_sql__refusal(begin, last, p->status, p->err);
}

static tl_status parse(tl_arena *arena, const char *text, size_t bytes, int32_t line, bool is_expression, const tl_ast **out, tl_error *err)
{
    if (bytes > TL_SQL_TEXT_MAX)
        return tl_error_set(err, TL_E_LIMIT, "the statement has %zu bytes; at most %d can be taken", bytes, TL_SQL_TEXT_MAX);
    TL_TRY(check_utf8(text, bytes, err));
    tl_error local = {0};
    tl_parser p = {.arena = arena, .err = err != NULL ? err : &local, .lexer = {arena, text, text + bytes, text, text, line, false}};
    void *machine = tl_sql__ParseAlloc(tl_alloc);
    if (machine == NULL)
        return tl_nomem(err, "parser");
    feed(&p, machine, is_expression);
    tl_sql__ParseFree(machine, tl_free);
    tl_buf_deinit(&p.message);
    if (p.status == TL_OK && p.result == NULL)
        p.status = tl_error_set(err, TL_E_INVALID, "line %d: there is no statement", (int)line);
    if (p.status == TL_OK)
        *out = p.result;
    return p.status;
}

tl_status tl_sql__parse(tl_arena *arena, const char *text, size_t bytes, int32_t line, const tl_ast **out, tl_error *err)
{
    return parse(arena, text, bytes, line, /* is_expression= */ false, out, err);
}

tl_status tl_sql__parse_expr(tl_arena *arena, const char *text, size_t bytes, const tl_ast **out, tl_error *err)
{
    return parse(arena, text, bytes, /* line= */ 1, /* is_expression= */ true, out, err);
}

const char *tl_ast_name_text(tl_arena *arena, const tl_ast *name)
{
    const char *text = NULL;
    for (const tl_ast *id = tl_ast_first(name); id != NULL; id = id->next) {
        text = text == NULL ? tl_arena_strdup(arena, id->text) : tl_arena_strf(arena, "%s.%s", text, id->text);
        if (text == NULL)
            return NULL;
    }
    return text;
}
