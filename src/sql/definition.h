/* A table's definition while a statement makes or changes it. Private to sql/. */
#ifndef TL_SQL_DEFINITION_H
#define TL_SQL_DEFINITION_H

#include "sql/bind.h"

typedef struct tl_definition {
    tl_sql_column *columns; /* types owned by the statement, or by the object that they were taken from */
    int32_t n_columns, cap;
    const char **primary_key;
    int32_t n_primary_key;
    const char **partition_key;
    int32_t n_partition_key;
    const tl_ast *watermark_column, *watermark;
    tl_options *options;
    const char *comment;
} tl_definition;

/** A COLUMN of the statement; a key that stands in it is the caller's to take. */
tl_status tl_def__column(tl_binder *b, const tl_ast *ast, tl_sql_column *out);
/** Behind the others; an error if its name is taken. */
tl_status tl_def__add_column(tl_binder *b, tl_definition *d, tl_sql_column column, const tl_ast *at);
tl_status tl_def__id_texts(tl_binder *b, const tl_ast *ids, const char ***out, int32_t *n);
/** Key columns become NOT NULL; keys that name no stored column are refused. */
tl_status tl_def__finish(tl_binder *b, tl_definition *d, const tl_ast *ast);
/** What a table of the session is now; shares the object's memory. */
tl_status tl_def__of_object(tl_binder *b, const tl_sql_object *object, const tl_ast *at, tl_definition *out);
/** Put a table defined so in the object's place, which is freed; on failure the object stays as it was. */
tl_status tl_def__replace_object(tl_binder *b, tl_sql_object *object, const tl_definition *d);

#endif
