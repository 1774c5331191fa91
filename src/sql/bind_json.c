/* JSON functions: their clauses to arguments of the registry's functions. */
#include "sql/bind.h"

tl_status tl_bind__json(tl_binder *b, const tl_ast *ast, tl_expr **out)
{
    if (strcmp(ast->text, "JSON_OBJECTAGG") == 0 || strcmp(ast->text, "JSON_ARRAYAGG") == 0)
        return tl_bind__json_aggregate(b, ast, out);
    return TL_AST_ERROR(b->err, TL_E_UNSUPPORTED, ast, "%s is not there yet", ast->text);
}
