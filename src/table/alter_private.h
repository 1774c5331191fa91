/* What the files of ALTER TABLE share. */
#ifndef TL_TABLE_ALTER_PRIVATE_H
#define TL_TABLE_ALTER_PRIVATE_H

#include "table/table_private.h"

/** A change under way: `fresh` starts as a copy of `old` and takes the changes one after the other. */
typedef struct tl_altering {
    const tl_table_schema *old;
    tl_table_schema *fresh;
    bool has_snapshots;
    const char *table_name; /* DB.TABLE, for messages */
} tl_altering;

/** A change of columns (alter_columns.c). */
tl_status tl_alter__column(tl_altering *altering, const tl_alter *change, tl_error *err);
/** After all changes: renamed columns get their new names in primary keys and options. */
tl_status tl_alter__renames(tl_altering *altering, const tl_alter *changes, size_t n, tl_error *err);

#endif
