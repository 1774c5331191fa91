/* Inside this room: statistics of the columns of a new file whose format keeps none itself: gathered from the batches written. */
#ifndef TL_FORMAT_GATHERED_STATS_H
#define TL_FORMAT_GATHERED_STATS_H

#include "format/format.h"

/** Bounds of all types that can be compared, and null counts. */
typedef struct tl_gathered_stats {
    int32_t n;
    tl_column_stats *cols;
} tl_gathered_stats;
tl_status tl_format__gathered_init(tl_gathered_stats *stats, int32_t n, tl_error *err);
tl_status tl_format__gathered_add(tl_gathered_stats *stats, const tl_batch *batch, tl_error *err);
/** Hands them over to the result of a finished file. */
void tl_format__gathered_take(tl_gathered_stats *stats, tl_write_result *out);
void tl_format__gathered_deinit(tl_gathered_stats *stats);

#endif
