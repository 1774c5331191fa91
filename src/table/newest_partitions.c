/* The newest partitions of a table: `max_pt()` and `max_two_pt()` of 'scan.partitions'. Java: PartitionLoader (Flink module). */
#include "table/table_private.h"

#include "types/binary_row.h"
#include "types/key.h"

int tl_newest_partitions_wanted(const char *partitions)
{
    if (partitions == NULL)
        return 0;
    return strcmp(partitions, "max_pt()") == 0 ? 1 : strcmp(partitions, "max_two_pt()") == 0 ? TL_NEWEST_PARTITIONS_MAX : 0;
}

int tl_partitions_compare(const tl_batch *a, const tl_batch *b)
{
    int order = 0;
    for (int32_t c = 0; c < a->n_cols && order == 0; c++)
        order = tl_column_compare(a->cols[c], 0, b->cols[c], 0, /* descending= */ false, /* nulls_first= */ true);
    return order;
}

/* The row, taken over, to its place among them, if it has one. */
static void insert(tl_batch *newest[], int wanted, tl_batch *row)
{
    int at = 0;
    while (at < wanted && newest[at] != NULL && tl_partitions_compare(newest[at], row) > 0)
        at++;
    if (at == wanted || (newest[at] != NULL && tl_partitions_compare(newest[at], row) == 0)) {
        tl_batch_free(row);
        return;
    }
    tl_batch_free(newest[wanted - 1]);
    for (int k = wanted - 1; k > at; k--)
        newest[k] = newest[k - 1];
    newest[at] = row;
}

tl_status tl_newest_partitions(const tl_table *table, const tl_splits *splits, int wanted, tl_batch *newest[TL_NEWEST_PARTITIONS_MAX], tl_error *err)
{
    for (int k = 0; k < TL_NEWEST_PARTITIONS_MAX; k++)
        newest[k] = NULL;
    for (size_t i = 0; i < splits->n; i++) {
        tl_batch *row = NULL;
        tl_status status = tl_binary_row_decode(tl_bytes_view_of(splits->items[i].partition), table->partition_type, true, &row, err);
        if (status != TL_OK) {
            for (int k = 0; k < TL_NEWEST_PARTITIONS_MAX; k++)
                tl_batch_free(TL_STEAL(newest[k]));
            return status;
        }
        insert(newest, wanted, row);
    }
    return TL_OK;
}
