/* Commands and their results. Private to sql/. */
#ifndef TL_SQL_COMMANDS_H
#define TL_SQL_COMMANDS_H

#include "sql/exec.h"
#include "sql/parser_private.h"

/** A result of text columns under construction. */
typedef struct tl_result {
    const tl_type *type;
    tl_builder **builders;
    int32_t n;
    int64_t rows;
} tl_result;

tl_status tl_result__init(tl_result *r, const char *const *names, int32_t n, tl_error *err);
void tl_result__deinit(tl_result *r);
tl_status tl_result__add(tl_result *r, const char *const *cells, tl_error *err); /* NULL cells are NULL */
tl_status tl_result__finish(tl_result *r, tl_reader **out, tl_error *err);
tl_status tl_result__single(const char *name, const char *value, tl_reader **out, tl_error *err);

bool tl_sql__like(const char *text, const char *pattern);

/* describe.c */
tl_status tl_sql__describe(tl_binder *b, const tl_ast *name, const tl_ast *at, tl_reader **out);
tl_status tl_sql__show_create(tl_binder *b, const tl_ast *ast, tl_reader **out);

/* alter.c */
tl_status tl_sql__alter_table(tl_binder *b, const tl_ast *ast);

/* modify.c */
tl_status tl_sql__update(tl_binder *b, const tl_ast *ast);
tl_status tl_sql__delete(tl_binder *b, const tl_ast *ast);
tl_status tl_sql__truncate(tl_binder *b, const tl_ast *ast);

/* procedures.c */
tl_status tl_sql__call_procedure(tl_binder *b, const tl_ast *ast, tl_reader **out);
const char *tl_sql__procedure_name(size_t i);

#endif
