/* JSON functions: their clauses to arguments of the registry's functions. */
#include "sql/bind.h"

/** The letter of what ON EMPTY or ON ERROR says (fn_json.c). */
static char behaviour_of(const char *text)
{
    static const struct {
        const char *text;
        char letter;
    } letters[] = {{"NULL", 'N'}, {"ERROR", 'E'}, {"TRUE", 'T'}, {"FALSE", 'F'}, {"UNKNOWN", 'U'}, {"DEFAULT", 'D'}, {"EMPTY ARRAY", '['}, {"EMPTY OBJECT", '{'}};
    for (size_t i = 0; i < TL_ARRAY_LEN(letters); i++)
        if (strcmp(letters[i].text, text) == 0)
            return letters[i].letter;
    return 'N';
}

/** Read the clauses into letters [ON EMPTY, ON ERROR]; `allowed` are the letters that the function takes. */
static tl_status read_clauses(tl_binder *b, const tl_ast *ast, const char *allowed, char letters[2], const tl_ast *defaults[2])
{
    defaults[0] = defaults[1] = NULL;
    for (const tl_ast *c = tl_ast_first(ast->kid[2]); c != NULL; c = c->next) {
        int which = (c->flags & AST_F_ON_EMPTY) != 0 ? 0 : 1;
        char letter = behaviour_of(c->text);
        if (strchr(allowed, letter) == NULL)
            return BIND_ERROR(b, c, "%s cannot have %s %s", ast->text, c->text, which == 0 ? "ON EMPTY" : "ON ERROR");
        letters[which] = letter;
        defaults[which] = c->kid[0];
    }
    return TL_OK;
}

/** JSON text and path as the first two of `args`. */
static tl_status bind_input(tl_binder *b, const tl_ast *ast, tl_expr **args)
{
    const tl_ast *input = tl_ast_first(ast->kid[0]);
    TL_TRY(tl_bind__expr(b, input, &args[0]));
    return tl_bind__expr(b, input->next, &args[1]);
}

static tl_status bind_exists(tl_binder *b, const tl_ast *ast, tl_expr **out)
{
    char letters[2] = {'N', 'F'};
    const tl_ast *defaults[2];
    tl_expr *args[3];
    TL_TRY(read_clauses(b, ast, "TFUE", letters, defaults));
    TL_TRY(bind_input(b, ast, args));
    TL_TRY(tl_bind__text_literal(b, &letters[1], 1, ast, &args[2]));
    return tl_bind__function(b, "JSON_EXISTS", args, 3, ast, out);
}

static tl_status returning_type(tl_binder *b, const tl_ast *ast, const tl_type **type, char *letter)
{
    if (ast->kid[1] == NULL)
        TL_TRY(tl_bind__simple_type(b, TL_VARCHAR, true, TL_LENGTH_MAX, 0, type));
    else
        TL_TRY(tl_bind__ast_type(b, ast->kid[1], type));
    *letter = tl_sql__is_text(*type) ? 'S' : (*type)->kind == TL_INT ? 'I' : (*type)->kind == TL_DOUBLE ? 'D' : (*type)->kind == TL_BOOLEAN ? 'B' : '\0';
    if (*letter == '\0')
        return BIND_ERROR(b, ast, "Unsupported type '%s' for RETURNING in JSON_VALUE().", tl_bind__type_text(b, *type));
    return tl_bind__nullable(b, *type, true, type);
}

static tl_status bind_value(tl_binder *b, const tl_ast *ast, tl_expr **out)
{
    char letters[3] = {'N', 'N', 'S'};
    const tl_ast *defaults[2];
    const tl_type *type, *text;
    tl_expr *args[5];
    TL_TRY(read_clauses(b, ast, "NED", letters, defaults));
    TL_TRY(returning_type(b, ast, &type, &letters[2]));
    TL_TRY(bind_input(b, ast, args));
    TL_TRY(tl_bind__text_literal(b, letters, 3, ast, &args[2]));
    TL_TRY(tl_bind__simple_type(b, TL_VARCHAR, true, TL_LENGTH_MAX, 0, &text));
    for (int i = 0; i < 2; i++) { /* all goes through text, which keeps each of these types whole */
        if (defaults[i] == NULL) {
            TL_TRY(tl_bind__null(b, text, ast, &args[3 + i]));
            continue;
        }
        TL_TRY(tl_bind__expr(b, defaults[i], &args[3 + i]));
        TL_TRY(tl_bind__coerce(b, args[3 + i], type, &args[3 + i]));
        TL_TRY(tl_bind__coerce(b, args[3 + i], text, &args[3 + i]));
    }
    TL_TRY(tl_bind__function(b, "JSON_VALUE", args, 5, ast, out));
    return tl_bind__coerce(b, *out, type, out);
}

static tl_status bind_query(tl_binder *b, const tl_ast *ast, tl_expr **out)
{
    char letters[3] = {'N', 'N', 'N'};
    const tl_ast *defaults[2];
    const tl_type *type = NULL;
    tl_expr *args[3];
    TL_TRY(read_clauses(b, ast, "NE[{", &letters[1], defaults));
    if ((ast->flags & AST_F_WRAPPER) != 0)
        letters[0] = (ast->flags & AST_F_CONDITIONAL) != 0 ? 'C' : 'W';
    if (ast->kid[1] != NULL)
        TL_TRY(tl_bind__ast_type(b, ast->kid[1], &type));
    bool array = type != NULL && type->kind == TL_ARRAY && tl_sql__is_text(type->fields[0].type);
    if (type != NULL && !array && !tl_sql__is_text(type))
        return BIND_ERROR(b, ast, "Unsupported array element type '%s' for RETURNING ARRAY in JSON_QUERY().", tl_bind__type_text(b, type));
    TL_TRY(bind_input(b, ast, args));
    TL_TRY(tl_bind__text_literal(b, letters, 3, ast, &args[2]));
    return tl_bind__function(b, array ? "$JSON_QUERY_ARRAY" : "JSON_QUERY", args, 3, ast, out);
}

/** JSON_OBJECT and JSON_ARRAY: values that are made by these two stand as they are. */
static tl_status bind_container(tl_binder *b, const tl_ast *ast, bool pairs, tl_expr **out)
{
    int32_t n = (int32_t)tl_ast_count(ast->kid[0]);
    tl_expr **args = tl_arena_alloc(b->arena, (size_t)(n + 1) * sizeof *args);
    char *how = tl_arena_alloc(b->arena, (size_t)n + 2);
    BIND_ALLOC(b, args);
    BIND_ALLOC(b, how);
    size_t m = 0;
    bool absent = pairs ? (ast->flags & AST_F_ABSENT) != 0 : (ast->flags & AST_F_NULL_ON_NULL) == 0;
    how[m++] = absent ? 'A' : 'N';
    int32_t i = 1;
    for (const tl_ast *a = tl_ast_first(ast->kid[0]); a != NULL; a = a->next, i++) {
        TL_TRY(tl_bind__expr(b, a, &args[i]));
        bool made = a->kind == AST_JSON && (strcmp(a->text, "JSON_OBJECT") == 0 || strcmp(a->text, "JSON_ARRAY") == 0);
        if (!pairs || i % 2 == 0)
            how[m++] = made ? 'r' : 'v';
    }
    TL_TRY(tl_bind__text_literal(b, how, m, ast, &args[0]));
    return tl_bind__function(b, ast->text, args, n + 1, ast, out);
}

tl_status tl_bind__json(tl_binder *b, const tl_ast *ast, tl_expr **out)
{
    static const struct {
        const char *name;
        tl_status (*bind)(tl_binder *b, const tl_ast *ast, tl_expr **out);
    } forms[] = {{"JSON_EXISTS", bind_exists}, {"JSON_VALUE", bind_value}, {"JSON_QUERY", bind_query}};
    for (size_t i = 0; i < TL_ARRAY_LEN(forms); i++)
        if (strcmp(ast->text, forms[i].name) == 0)
            return forms[i].bind(b, ast, out);
    if (strcmp(ast->text, "JSON_OBJECT") == 0 || strcmp(ast->text, "JSON_ARRAY") == 0)
        return bind_container(b, ast, strcmp(ast->text, "JSON_OBJECT") == 0, out);
    return tl_bind__json_aggregate(b, ast, out);
}
