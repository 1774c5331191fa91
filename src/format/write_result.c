#include "format/format.h"

void tl_write_result_deinit(tl_write_result *result)
{
    for (int32_t i = 0; i < result->n_stats; i++) {
        tl_column_unref(result->stats[i].min);
        tl_column_unref(result->stats[i].max);
    }
    tl_free(result->stats);
    *result = (tl_write_result){0};
}
