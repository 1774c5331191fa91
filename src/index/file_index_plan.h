/* The parsed options of file indexes: made by file_index_plan.c, used by file_index_write.c. */
#ifndef TL_INDEX_FILE_INDEX_PLAN_H
#define TL_INDEX_FILE_INDEX_PLAN_H

#include "index/file_index_private.h"

/** One index: a kind for a column or for the values of a map's key. */
typedef struct tl_findex__item {
    const tl_findex__kind *kind;
    char *name;     /* as the option has it: a column, or `m[k]` */
    int32_t column; /* in the row type */
    char *key;      /* NULL: the column itself */
    tl_options options; /* without the prefix; a key's own go before those of its map */
} tl_findex__item;

struct tl_file_index_plan {
    const tl_type *row_type; /* ref held */
    tl_findex__item *items;
    size_t n;
};

#endif
