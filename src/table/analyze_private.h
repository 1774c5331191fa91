/* Statistics of columns while they are gathered. Private to analyze*.c. */
#ifndef TL_TABLE_ANALYZE_PRIVATE_H
#define TL_TABLE_ANALYZE_PRIVATE_H

#include "table/table_private.h"

#include "base/json.h"

typedef struct tl_column_summary {
    const tl_field *field; /* borrowed */
    int64_t rows;
    int64_t nulls;
    struct tl_distinct *distinct;
    tl_column *min, *max; /* one value; NULL: there is none, or the type has no bounds */
    int64_t sum_len, max_len; /* texts: characters, binaries: bytes */
} tl_column_summary;

tl_status tl_column_summary__init(tl_column_summary *s, const tl_field *field, tl_error *err);
void tl_column_summary__deinit(tl_column_summary *s);
tl_status tl_column_summary__add(tl_column_summary *s, const tl_column *col, tl_error *err);
/** The entry of the file's `colStats`. */
tl_status tl_column_summary__write(const tl_column_summary *s, tl_json_writer *w, tl_error *err);

#endif
