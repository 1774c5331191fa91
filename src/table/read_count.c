/*
 * Splits of which no column is wanted, only how many rows there are: answered from the numbers in the manifests wherever those say it,
 * as the reference answers COUNT(*) (its DataSplit.mergedRowCount); what must be merged or filtered is read with one column.
 */
#include "table/table_private.h"

#define BATCH_ROWS 65536

typedef struct counted_reader {
    tl_reader base;
    tl_reader *in; /* NULL: `left` rows are still to be given */
    int64_t left;
} counted_reader;

static tl_status counted_next(tl_reader *reader, tl_batch **out, tl_error *err)
{
    counted_reader *r = (counted_reader *)reader;
    *out = NULL;
    if (r->in != NULL) {
        TL_CLEANUP(tl_batch_freep) tl_batch *batch = NULL;
        TL_TRY(tl_reader_next(r->in, &batch, err));
        return batch == NULL ? TL_OK : tl_batch_project(batch, NULL, 0, out, err);
    }
    int64_t n = TL_MIN(r->left, BATCH_ROWS);
    if (n == 0)
        return TL_OK;
    r->left -= n;
    return tl_batch_create(r->base.type, n, out, err);
}

static void counted_free(tl_reader *reader)
{
    counted_reader *r = (counted_reader *)reader;
    tl_reader_free(r->in);
    tl_type_unref(r->base.type);
    tl_free(r);
}

/* Takes `in` over. */
static tl_status create_reader(const tl_type *none, tl_reader *in, int64_t n_rows, tl_reader **out, tl_error *err)
{
    static const tl_reader_ops ops = {counted_next, counted_free};
    counted_reader *r = tl_alloc(sizeof *r);
    if (r == NULL) {
        tl_reader_free(in);
        return tl_nomem(err, "read");
    }
    *r = (counted_reader){{&ops, tl_type_ref(none)}, in, n_rows};
    *out = &r->base;
    return TL_OK;
}

static bool is_partition_column(const tl_table *table, int32_t column)
{
    const char *name = column < 0 ? "" : table->row_type->fields[column].name;
    return table->partition_type != NULL && tl_type_field_index(table->partition_type, name) >= 0;
}

/* A predicate on partition columns alone holds for all rows of a partition that planning has kept, or for none. */
static bool is_of_partition(const tl_table *table, const tl_predicate *pred)
{
    if (pred->n_children == 0)
        return is_partition_column(table, pred->column);
    for (int32_t i = 0; i < pred->n_children; i++)
        if (!is_of_partition(table, pred->children[i]))
            return false;
    return true;
}

/* Rows of the split after all merging and deleting; -1 if only reading tells. */
static int64_t known_rows(const tl_table *table, const tl_split *split, const tl_scan_spec *spec)
{
    const tl_lsm_config *config = table->config;
    if (split->kind != TL_SPLIT_DATA || split->streaming || spec->with_kinds || config->data_evolution || tl_table__is_audit(table))
        return -1;
    if (config->ignore_corrupt_files || config->ignore_lost_files) /* what cannot be read does not count */
        return -1;
    if (table->n_keys > 0 && !tl_table__reads_raw(split))
        return -1;
    if (spec->predicate != NULL && !is_of_partition(table, spec->predicate))
        return -1;
    int64_t n = 0;
    for (size_t i = 0; i < split->files.n; i++) {
        const tl_data_file *file = split->files.items[i];
        int64_t deleted = split->vectors == NULL ? 0 : tl_dv_set_count(split->vectors, file->name);
        if (deleted < 0 || deleted > file->rows)
            return -1;
        n += file->rows - deleted;
    }
    return n;
}

/* The column that costs least: one that the predicate or the merge reads anyway, else the narrowest. */
static int32_t cheapest_column(const tl_table *table, const tl_scan_spec *spec)
{
    const tl_predicate *pred = spec->predicate;
    while (pred != NULL && pred->n_children > 0)
        pred = pred->children[0];
    if (pred != NULL && pred->column >= 0)
        return pred->column;
    if (table->n_keys > 0)
        return tl_type_field_index(table->row_type, table->schema->primary_keys[0]);
    int32_t best = 0, width = INT32_MAX;
    for (int32_t i = 0; i < table->row_type->n_fields; i++) {
        int w = tl_phys_width(tl_type_phys(table->row_type->fields[i].type));
        if (w > 0 && w < width) {
            width = w;
            best = i;
        }
    }
    return best;
}

tl_status tl_table__count_split(tl_table *table, const tl_split *split, const tl_scan_spec *spec, tl_reader **out, tl_error *err)
{
    tl_table *owner = split->other_branch && table->other != NULL ? table->other : table;
    TL_CLEANUP(tl_type_unrefp) const tl_type *none = NULL;
    TL_TRY(tl_type_create_row(false, NULL, 0, &none, err));
    int64_t n = known_rows(owner, split, spec);
    if (n >= 0)
        return create_reader(none, NULL, n, out, err);
    int32_t column = cheapest_column(owner, spec);
    tl_scan_spec one = *spec;
    one.columns = &column;
    one.n_columns = 1;
    tl_reader *in = NULL;
    TL_TRY(tl_table_read_split(table, split, &one, &in, err));
    return create_reader(none, in, 0, out, err);
}
