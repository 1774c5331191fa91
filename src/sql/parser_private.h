/* Shared by the lexer, the grammar's actions (grammar.y) and the parser's driver (parse.c). */
#ifndef TL_SQL_PARSER_PRIVATE_H
#define TL_SQL_PARSER_PRIVATE_H

#include "sql/ast.h"

typedef struct tl_sql_token {
    int code;         /* TK_…; 0 at the end */
    int32_t line, position;
    int32_t count;    /* bytes of `text` for strings (may hold NUL) */
    const char *text; /* names and strings: their value, in the arena; numbers and others: as written */
    const char *from; /* in the statement's text */
    const char *to;
} tl_sql_token;

typedef struct tl_lexer {
    tl_arena *arena;
    const char *text;
    const char *end;
    const char *at;
    const char *line_start;
    int32_t line;
    bool in_hint;
} tl_lexer;

/** The next token; code 0 at the end. Errors: an unclosed string, comment or name, a character that starts nothing. */
tl_status tl_sql__lex(tl_lexer *lexer, tl_sql_token *out, tl_error *err);
/** Spelling of a token code for messages; NULL if it has none worth naming. */
const char *tl_sql__token_name(int code);
/** All key words in upper case, for completion. */
const char *tl_sql__keyword(size_t i);

typedef struct tl_parser {
    tl_arena *arena;
    tl_lexer lexer;
    const tl_sql_token *end; /* not NULL once the end was reached */
    tl_ast *result;
    tl_status status;
    tl_error *err;
    tl_buf message; /* syntax error under construction */
    int expected;
} tl_parser;

/** What an action sets in a node. */
typedef struct tl_ast_init {
    uint32_t flags;
    int32_t count;
    const char *text;
    tl_ast *kid[TL_AST_KIDS];
} tl_ast_init;

/* Called by the actions; all give NULL once an error was met, and take NULL. */
tl_ast *tl_sql__node(tl_parser *p, tl_ast_kind kind, int32_t line, int32_t position, tl_ast_init init);
tl_ast *tl_sql__append(tl_parser *p, tl_ast *list, tl_ast *element);
tl_ast *tl_sql__append_kind(tl_parser *p, tl_ast_kind kind, tl_ast *list, tl_ast *element);
tl_ast *tl_sql__prepend(tl_parser *p, tl_ast *element, tl_ast *list);
tl_ast *tl_sql__chain(tl_parser *p, tl_ast_kind kind, const char *text, tl_ast *a, tl_ast *b);
tl_ast *tl_sql__setop(tl_parser *p, const char *text, uint32_t flags, tl_ast *a, tl_ast *b);
tl_ast *tl_sql__flag(tl_parser *p, tl_ast *node, uint32_t flags);
tl_ast *tl_sql__call(tl_parser *p, tl_ast *name, uint32_t flags, tl_ast *args, tl_ast *order, tl_ast *filter, tl_ast *over);
tl_ast *tl_sql__query(tl_parser *p, tl_ast *ctes, tl_ast *body, tl_ast *order, tl_ast *limits);
tl_ast *tl_sql__alias(tl_parser *p, tl_ast *table, tl_ast *alias);
const char *tl_sql__join(tl_parser *p, const char *a, const char *b);
/** Text of the statement after a token, without a `;` at its end. */
const char *tl_sql__rest(tl_parser *p, const tl_sql_token *after);

void tl_sql__syntax_error_begin(tl_parser *p, const tl_sql_token *token);
void tl_sql__syntax_error_expected(tl_parser *p, int code);
/** After a syntax error: if the statement's first words, or the last ones that were read, are of something known, an error that says so. */
tl_status tl_sql__refusal(const tl_sql_token first[2], const tl_sql_token last[3], tl_status status, tl_error *err);
void tl_sql__syntax_error_end(tl_parser *p);
void tl_sql__too_deep(tl_parser *p);

/* grammar.c */
void *tl_sql__ParseAlloc(void *(*alloc)(size_t));
void tl_sql__Parse(void *parser, int code, tl_sql_token token, tl_parser *p);
void tl_sql__ParseFree(void *parser, void (*release)(void *));

#endif
