/* Syntax trees of expressions back to text, every name quoted: what a lake table stores of computed columns and watermarks. */
#include "sql/ast.h"

static tl_status put(tl_buf *out, const char *text)
{
    return tl_buf_append_str(out, text);
}

static tl_status put_quoted(tl_buf *out, const char *text, size_t bytes, char quote)
{
    TL_TRY(tl_buf_append_byte(out, (uint8_t)quote));
    for (size_t i = 0; i < bytes; i++) {
        if (text[i] == quote)
            TL_TRY(tl_buf_append_byte(out, (uint8_t)quote));
        TL_TRY(tl_buf_append_byte(out, (uint8_t)text[i]));
    }
    return tl_buf_append_byte(out, (uint8_t)quote);
}

static tl_status put_list(tl_buf *out, const tl_ast *list, const char *separator)
{
    for (const tl_ast *e = tl_ast_first(list); e != NULL; e = e->next) {
        TL_TRY(tl_sql__unparse(e, out));
        if (e->next != NULL)
            TL_TRY(put(out, separator));
    }
    return TL_OK;
}

static tl_status put_name(tl_buf *out, const tl_ast *name)
{
    for (const tl_ast *id = tl_ast_first(name); id != NULL; id = id->next) {
        TL_TRY(put_quoted(out, id->text, strlen(id->text), '`'));
        if (id->next != NULL)
            TL_TRY(put(out, "."));
    }
    return TL_OK;
}

static tl_status put_type(tl_buf *out, const tl_ast *type)
{
    TL_TRY(put(out, type->text));
    if (type->kid[0] != NULL && type->kid[1] == NULL) {
        TL_TRY(put(out, "("));
        TL_TRY(put_list(out, type->kid[0], ", "));
        TL_TRY(put(out, ")"));
    }
    if (type->kid[1] != NULL) {
        TL_TRY(put(out, "<"));
        for (const tl_ast *t = tl_ast_first(type->kid[1]); t != NULL; t = t->next) {
            if (t->kind == AST_TYPE_FIELD) {
                TL_TRY(put_quoted(out, t->text, strlen(t->text), '`'));
                TL_TRY(put(out, " "));
            }
            TL_TRY(put_type(out, t->kind == AST_TYPE_FIELD ? t->kid[0] : t));
            if (t->next != NULL)
                TL_TRY(put(out, ", "));
        }
        if (type->kid[0] != NULL) { /* VECTOR<FLOAT, 3> */
            TL_TRY(put(out, ", "));
            TL_TRY(put_list(out, type->kid[0], ", "));
        }
        TL_TRY(put(out, ">"));
    }
    return (type->flags & AST_F_NOT_NULL) != 0 ? put(out, " NOT NULL") : TL_OK;
}

static tl_status put_literal(tl_buf *out, const char *word, const tl_ast *ast)
{
    TL_TRY(put(out, word));
    return put_quoted(out, ast->text, strlen(ast->text), '\'');
}

static tl_status put_interval(tl_buf *out, const tl_ast *ast)
{
    TL_TRY(put_literal(out, (ast->flags & AST_F_NEGATIVE) != 0 ? "INTERVAL -" : "INTERVAL ", ast));
    TL_TRY(put(out, " "));
    TL_TRY(put(out, ast->kid[0]->text));
    if (ast->kid[1] == NULL)
        return TL_OK;
    TL_TRY(put(out, " TO "));
    return put(out, ast->kid[1]->text);
}

static tl_status put_case(tl_buf *out, const tl_ast *ast)
{
    TL_TRY(put(out, "CASE"));
    if (ast->kid[0] != NULL) {
        TL_TRY(put(out, " "));
        TL_TRY(tl_sql__unparse(ast->kid[0], out));
    }
    bool is_when = true;
    for (const tl_ast *e = tl_ast_first(ast->kid[1]); e != NULL; e = e->next, is_when = !is_when) {
        TL_TRY(put(out, is_when ? " WHEN " : " THEN "));
        TL_TRY(tl_sql__unparse(e, out));
    }
    if (ast->kid[2] != NULL) {
        TL_TRY(put(out, " ELSE "));
        TL_TRY(tl_sql__unparse(ast->kid[2], out));
    }
    return put(out, " END");
}

/** Functions with a syntax of their own keep it. */
static tl_status put_call(tl_buf *out, const tl_ast *ast)
{
    const tl_ast *first = tl_ast_first(ast->kid[0]);
    bool is_extract = strcmp(ast->text, "EXTRACT") == 0 && first != NULL && first->kind == AST_UNIT;
    bool is_position = strcmp(ast->text, "POSITION") == 0;
    bool is_overlay = strcmp(ast->text, "OVERLAY") == 0;
    bool is_trim = strncmp(ast->text, "TRIM", 4) == 0;
    TL_TRY(put(out, is_trim ? "TRIM" : ast->text));
    TL_TRY(put(out, "("));
    if (is_extract) {
        TL_TRY(put(out, first->text));
        TL_TRY(put(out, " FROM "));
        TL_TRY(tl_sql__unparse(first->next, out));
    } else if (is_trim && (ast->text[4] != '\0' || (first != NULL && first->next != NULL))) {
        TL_TRY(put(out, ast->text[4] == '\0' ? "BOTH " : ast->text + 5));
        TL_TRY(put(out, " "));
        if (first->next != NULL)
            TL_TRY(tl_sql__unparse(first->next, out));
        TL_TRY(put(out, " FROM "));
        TL_TRY(tl_sql__unparse(first, out));
    } else {
        int i = 0;
        for (const tl_ast *e = first; e != NULL; e = e->next, i++) {
            static const char *const overlay[] = {"", " PLACING ", " FROM ", " FOR "};
            if (i > 0)
                TL_TRY(put(out, e->kind == AST_UNIT ? " TO " : is_position ? " IN " : is_overlay && i < 4 ? overlay[i] : ", "));
            TL_TRY(e->kind == AST_UNIT ? put(out, e->text) : tl_sql__unparse(e, out));
        }
    }
    return put(out, ")");
}

static tl_status put_operator(tl_buf *out, const tl_ast *ast)
{
    bool word = ast->text[0] >= 'A' && ast->text[0] <= 'Z';
    if (ast->kind == AST_UNARY && strncmp(ast->text, "IS ", 3) == 0) {
        TL_TRY(tl_sql__unparse(ast->kid[0], out));
        TL_TRY(put(out, " "));
        return put(out, ast->text);
    }
    if (ast->kind == AST_UNARY) {
        TL_TRY(put(out, ast->text));
        TL_TRY(put(out, word ? " (" : "("));
        TL_TRY(tl_sql__unparse(ast->kid[0], out));
        return put(out, ")");
    }
    TL_TRY(tl_sql__unparse(ast->kid[0], out));
    TL_TRY(put(out, " "));
    TL_TRY(put(out, ast->text));
    TL_TRY(put(out, " "));
    TL_TRY(tl_sql__unparse(ast->kid[1], out));
    if (ast->kid[2] == NULL)
        return TL_OK;
    TL_TRY(put(out, " ESCAPE "));
    return tl_sql__unparse(ast->kid[2], out);
}

static tl_status put_between(tl_buf *out, const tl_ast *ast)
{
    TL_TRY(tl_sql__unparse(ast->kid[0], out));
    TL_TRY(put(out, (ast->flags & AST_F_NOT) != 0 ? " NOT BETWEEN " : " BETWEEN "));
    TL_TRY(put(out, (ast->flags & AST_F_SYMMETRIC) != 0 ? "SYMMETRIC " : ""));
    TL_TRY(tl_sql__unparse(ast->kid[1], out));
    TL_TRY(put(out, " AND "));
    return tl_sql__unparse(ast->kid[2], out);
}

static tl_status put_around(tl_buf *out, const char *before, const tl_ast *list, const char *after)
{
    TL_TRY(put(out, before));
    TL_TRY(put_list(out, list, ", "));
    return put(out, after);
}

static tl_status unparse(const tl_ast *ast, tl_buf *out)
{
    switch (ast->kind) {
    case AST_NAME:
        return put_name(out, ast);
    case AST_NUMBER:
        return put(out, ast->text);
    case AST_STRING:
        return put_quoted(out, ast->text, (size_t)ast->count, '\'');
    case AST_NULL:
        return put(out, "NULL");
    case AST_TRUE:
        return put(out, "TRUE");
    case AST_FALSE:
        return put(out, "FALSE");
    case AST_DATE:
        return put_literal(out, "DATE ", ast);
    case AST_TIME:
        return put_literal(out, "TIME ", ast);
    case AST_TIMESTAMP:
        return put_literal(out, "TIMESTAMP ", ast);
    case AST_INTERVAL:
        return put_interval(out, ast);
    case AST_DISTANCE:
        TL_TRY(put(out, "("));
        TL_TRY(tl_sql__unparse(ast->kid[0], out));
        TL_TRY(put(out, ") "));
        TL_TRY(put(out, ast->kid[1]->text));
        return ast->kid[2] == NULL ? TL_OK : tl_buf_appendf(out, " TO %s", ast->kid[2]->text);
    case AST_UNARY:
    case AST_BINARY:
        return put_operator(out, ast);
    case AST_AND:
        return put_list(out, ast, " AND ");
    case AST_OR:
        return put_list(out, ast, " OR ");
    case AST_BETWEEN:
        return put_between(out, ast);
    case AST_IN:
        if (ast->kid[1]->kind != AST_LIST)
            return TL_E_UNSUPPORTED;
        TL_TRY(tl_sql__unparse(ast->kid[0], out));
        return put_around(out, (ast->flags & AST_F_NOT) != 0 ? " NOT IN (" : " IN (", ast->kid[1], ")");
    case AST_CASE:
        return put_case(out, ast);
    case AST_CAST:
        TL_TRY(put(out, (ast->flags & AST_F_TRY) != 0 ? "TRY_CAST(" : "CAST("));
        TL_TRY(tl_sql__unparse(ast->kid[0], out));
        TL_TRY(put(out, " AS "));
        TL_TRY(put_type(out, ast->kid[1]));
        return put(out, ")");
    case AST_CALL:
        return put_call(out, ast);
    case AST_INDEX:
        TL_TRY(tl_sql__unparse(ast->kid[0], out));
        TL_TRY(put(out, "["));
        TL_TRY(tl_sql__unparse(ast->kid[1], out));
        return put(out, "]");
    case AST_FIELD:
        TL_TRY(tl_sql__unparse(ast->kid[0], out));
        TL_TRY(put(out, "."));
        return put_quoted(out, ast->text, strlen(ast->text), '`');
    case AST_ROW:
        return put_around(out, "ROW(", ast->kid[0], ")");
    case AST_ARRAY:
        return put_around(out, "ARRAY[", ast->kid[0], "]");
    case AST_MAP:
        return put_around(out, "MAP[", ast->kid[0], "]");
    default:
        return TL_E_UNSUPPORTED;
    }
}

tl_status tl_sql__unparse(const tl_ast *ast, tl_buf *out)
{
    bool paren = (ast->flags & AST_F_PAREN) != 0;
    if (paren)
        TL_TRY(put(out, "("));
    TL_TRY(unparse(ast, out));
    return paren ? put(out, ")") : TL_OK;
}
