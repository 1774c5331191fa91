/*
 * Data files as batches of table columns.
 *
 * A column of a batch comes from the file, from the bucket's partition (format reference §8: never from the file), or is NULL
 * because it was added after the file was written or the file holds only some columns (`_WRITE_COLS`). `_KEY_*` is never read: the
 * key columns are there twice. Columns that had another type in the file's schema are read with that type and then cast.
 * With row tracking `_ROW_ID` and `_SEQUENCE_NUMBER` are those that a rewrite stored with the row, else the row's number in the file
 * from `_FIRST_ROW_ID` on, and the file's sequence number (Java: DataFileRecordReader).
 * Predicates go down to the file as far as they look at its columns, in terms of the types there; the rest is evaluated on the
 * finished batch. The file's indexes are asked first: they may know that no row passes, or which rows alone can.
 * Files that are lost or broken are left out where the options say so.
 * Files that the bucket's writer has just made may still be in memory (recent.c) and are not opened.
 * Rows in the file's deletion vector are left out of each batch by their numbers in the file, which stay true however much of it
 * was pruned. Before that the file's reader is told what to leave out, where this is less work (tl_dv_rest()).
 */
#include "base/log.h"
#include "lsm/lsm_private.h"

/* ---- scan: what to read ---- */

static tl_status map_keys(tl_lsm__scan *scan, tl_error *err)
{
    const tl_lsm_config *config = scan->bucket->config;
    scan->key_idx = tl_calloc((size_t)config->n_keys + 1, sizeof(*scan->key_idx));
    if (scan->key_idx == NULL)
        return tl_nomem(err, "read");
    for (int32_t k = 0; k < config->n_keys; k++) {
        int32_t at = -1;
        for (int32_t i = 0; i < scan->n_columns; i++) {
            if (scan->columns[i] == config->key_idx[k])
                at = i;
        }
        if (at < 0) {
            tl_free(scan->key_idx);
            scan->key_idx = NULL;
            return TL_OK;
        }
        scan->key_idx[k] = at;
    }
    return TL_OK;
}

/* A predicate on the table's columns → the scan's; with `keys_only`, parts on other columns become TRUE. */
static tl_status bind_predicate(const tl_lsm__scan *scan, const tl_predicate *pred, bool keys_only, tl_predicate **out,
                                tl_error *err)
{
    const tl_lsm_config *config = scan->bucket->config;
    int32_t n = tl_lsm__n_readable(config);
    int32_t *map = tl_alloc((size_t)(n + 1) * sizeof(*map));
    if (map == NULL)
        return tl_nomem(err, "predicate");
    for (int32_t i = 0; i < n; i++)
        map[i] = -1;
    for (int32_t i = 0; i < scan->n_columns; i++)
        map[scan->columns[i]] = i;
    if (keys_only) {
        for (int32_t i = 0; i < n; i++) {
            bool is_key = false;
            for (int32_t k = 0; k < config->n_keys; k++)
                is_key |= config->key_idx[k] == i;
            map[i] = is_key ? map[i] : -1;
        }
    }
    tl_status status = tl_predicate_remap(pred, map, /* weaken= */ keys_only, out, err);
    tl_free(map);
    return status;
}

tl_status tl_lsm__scan_create(tl_lsm__bucket *bucket, const int32_t *columns, int32_t n_columns, const tl_predicate *pred,
                              tl_lsm__scan **out, tl_error *err)
{
    const tl_lsm_config *config = bucket->config;
    TL_CLEANUP(tl_lsm__scan_unrefp) tl_lsm__scan *scan = tl_calloc(1, sizeof *scan);
    if (scan == NULL)
        return tl_nomem(err, "read");
    atomic_init(&scan->refs, 1);
    scan->bucket = tl_lsm__bucket_ref(bucket);
    scan->columns = tl_alloc((size_t)(n_columns + 1) * sizeof(*columns));
    if (scan->columns == NULL)
        return tl_nomem(err, "read");
    for (int32_t i = 0; i < n_columns; i++)
        scan->columns[i] = columns[i];
    scan->n_columns = n_columns;
    scan->with_kind = scan->with_seq = config->n_keys > 0;
    TL_TRY(tl_type_project(config->read_type, columns, n_columns, &scan->type, err));
    TL_TRY(map_keys(scan, err));
    if (pred != NULL) {
        TL_TRY(bind_predicate(scan, pred, /* keys_only= */ false, &scan->pred, err));
        if (config->n_keys > 0)
            TL_TRY(bind_predicate(scan, pred, /* keys_only= */ true, &scan->key_pred, err));
        if (scan->key_pred != NULL && scan->key_pred->op == TL_PRED_TRUE) {
            tl_predicate_free(scan->key_pred);
            scan->key_pred = NULL;
        }
    }
    *out = TL_STEAL(scan);
    return TL_OK;
}

tl_lsm__scan *tl_lsm__scan_ref(tl_lsm__scan *scan)
{
    atomic_fetch_add_explicit(&scan->refs, 1, memory_order_relaxed);
    return scan;
}

void tl_lsm__scan_unref(tl_lsm__scan *scan)
{
    if (scan == NULL || atomic_fetch_sub_explicit(&scan->refs, 1, memory_order_acq_rel) > 1)
        return;
    tl_lsm__bucket_unref(scan->bucket);
    tl_type_unref(scan->type);
    tl_free(scan->columns);
    tl_free(scan->key_idx);
    tl_predicate_free(scan->pred);
    tl_predicate_free(scan->key_pred);
    tl_map_filter_unref(scan->map_filter);
    tl_free(scan);
}

/* ---- reader of one file ---- */

typedef struct file_reader {
    tl_reader base;
    tl_lsm__scan *scan;
    tl_data_file *file;
    tl_reader *inner;       /* NULL: no row of the file passes */
    tl_predicate *pushed;   /* bound to the inner type; must live as long as `inner` */
    tl_predicate *residual; /* bound to scan->type: what the file could not decide; NULL: nothing */
    bool *residual_columns; /* per column of the scan: it looks at it */
    int32_t *source;        /* per column of the scan: its column in the inner batch, or one of the constants below */
    const tl_lsm__file_schema *schema;
    int32_t seq_col;        /* in the inner batch, -1: not read */
    int32_t kind_col;
    int32_t row_id_col;     /* row tracking: what the file stores, if it does */
    int32_t row_seq_col;
    tl_row_ranges rows; /* that may pass, as the file's index tells; must live as long as `inner` */
    bool known_inserts; /* no row of the file is a -U or -D */
    tl_dv *deleted;     /* NULL: no row is */
    int64_t *numbers;   /* of the rows of the last batch; NULL: not wanted */
} file_reader;

enum { SOURCE_PARTITION = -1, SOURCE_NULL = -2, SOURCE_ROW_ID = -3, SOURCE_ROW_SEQ = -4 };

static void file_reader_free(tl_reader *reader)
{
    file_reader *r = (file_reader *)reader;
    tl_reader_free(r->inner);
    tl_predicate_free(r->pushed);
    tl_predicate_free(r->residual);
    tl_free(r->residual_columns);
    tl_free(r->source);
    tl_row_ranges_deinit(&r->rows);
    tl_free(r->numbers);
    tl_dv_unref(r->deleted);
    tl_data_file_unref(r->file);
    tl_lsm__scan_unref(r->scan);
    tl_free(r);
}

/* NULL where all rows are +I, so that operators can take their short way. */
static tl_status take_kinds(const tl_column *col, int64_t n, uint8_t **out, tl_error *err)
{
    const uint8_t *kinds = col->values;
    uint8_t any = 0, max = 0;
    for (int64_t i = 0; i < n; i++) {
        any |= kinds[i];
        max = TL_MAX(max, kinds[i]);
    }
    if (any == 0)
        return TL_OK;
    if (max > TL_KIND_DELETE)
        return tl_error_set(err, TL_E_CORRUPT, "_VALUE_KIND %u is no row kind", max);
    *out = tl_memdup(kinds, (size_t)n);
    return *out == NULL ? tl_nomem(err, "row kinds") : TL_OK;
}

/* Values that the file stores, and where it does not `base`, plus the row's number in the file if `numbers` is given. */
static tl_status tracked_column(const tl_column *stored, const tl_type *type, int64_t base, const int64_t *numbers, tl_column **out,
                                tl_error *err)
{
    if (stored->null_count == 0 || base == TL_ABSENT) /* a row without an id: the file is older than the table's row tracking */
        return tl_column_retype(stored, type, out, err);
    TL_TRY(tl_column_alloc(type, stored->length, out, err));
    int64_t *values = (*out)->values;
    for (int64_t i = 0; i < stored->length; i++)
        values[i] = !tl_col_is_null(stored, i) ? tl_col_i64(stored, i) : numbers == NULL ? base : base + numbers[i];
    return TL_OK;
}

/* Column `i` of the scan. */
static tl_status make_column(const file_reader *r, const tl_batch *inner, int32_t i, tl_column **out, tl_error *err)
{
    const tl_lsm__scan *scan = r->scan;
    if (r->source[i] == SOURCE_NULL)
        return tl_column_nulls(scan->type->fields[i].type, inner->n_rows, out, err);
    if (r->source[i] == SOURCE_PARTITION) {
        int32_t p = scan->bucket->config->partition_idx[scan->columns[i]];
        return tl_column_repeat(scan->bucket->partition_row->cols[p], 0, inner->n_rows, out, err);
    }
    if (r->source[i] == SOURCE_ROW_ID)
        return tracked_column(inner->cols[r->row_id_col], scan->type->fields[i].type, r->file->first_row_id, inner->seq, out, err);
    if (r->source[i] == SOURCE_ROW_SEQ)
        return tracked_column(inner->cols[r->row_seq_col], scan->type->fields[i].type, r->file->max_seq, /* numbers= */ NULL, out, err);
    const tl_evolution *evolution = r->schema->columns[scan->columns[i]].evolution;
    const tl_column *col = inner->cols[r->source[i]];
    if (evolution != NULL)
        return tl_error_wrap(err, tl_evolution_apply(evolution, col, out, err), "column '%s'", scan->type->fields[i].name);
    *out = tl_column_ref(col);
    return TL_OK;
}

static tl_status build_batch(const file_reader *r, const tl_batch *inner, tl_batch **out, tl_error *err)
{
    TL_CLEANUP(tl_batch_freep) tl_batch *batch = NULL;
    TL_TRY(tl_batch_create(r->scan->type, inner->n_rows, &batch, err));
    batch->level = r->file->level;
    for (int32_t i = 0; i < r->scan->n_columns; i++)
        TL_TRY(make_column(r, inner, i, &batch->cols[i], err));
    if (r->kind_col >= 0)
        TL_TRY(take_kinds(inner->cols[r->kind_col], inner->n_rows, &batch->row_kind, err));
    if (r->seq_col >= 0) {
        batch->seq = tl_memdup(inner->cols[r->seq_col]->values, (size_t)inner->n_rows * sizeof(int64_t));
        if (batch->seq == NULL)
            return tl_nomem(err, "sequence numbers");
    }
    *out = TL_STEAL(batch);
    return TL_OK;
}

/* Leave out the rows of the deletion vector. */
static tl_status drop_deleted(const tl_dv *deleted, tl_batch **batch, tl_error *err)
{
    int64_t n = (*batch)->n_rows;
    TL_CLEANUP(tl_freep) uint32_t *sel = tl_alloc((size_t)(n + 1) * sizeof(*sel));
    if (sel == NULL)
        return tl_nomem(err, "deletion vector");
    int64_t kept = tl_dv_select(deleted, (*batch)->seq, n, sel);
    if (kept == n)
        return TL_OK;
    tl_batch *rest = NULL;
    TL_TRY(tl_batch_gather(*batch, sel, kept, &rest, err));
    tl_batch_free(*batch);
    *batch = rest;
    return TL_OK;
}

const int64_t *tl_lsm__file_row_numbers(const tl_reader *reader)
{
    return ((const file_reader *)reader)->numbers;
}

/* Leave out what the residual predicate does not let pass, before the other columns are made: what is cast of rows that nobody wants
 * costs time, and may fail. */
static tl_status drop_filtered(const file_reader *r, tl_batch **inner, tl_error *err)
{
    int64_t n = (*inner)->n_rows, kept = 0;
    int32_t n_columns = r->scan->n_columns;
    TL_CLEANUP(tl_freep) uint32_t *sel = tl_alloc((size_t)(n + 1) * sizeof(*sel));
    tl_column **cols = tl_calloc((size_t)n_columns + 1, sizeof(*cols));
    tl_status status = sel == NULL || cols == NULL ? tl_nomem(err, "filter") : TL_OK;
    for (int32_t i = 0; i < n_columns && status == TL_OK; i++) {
        if (r->residual_columns[i])
            status = make_column(r, *inner, i, &cols[i], err);
    }
    if (status == TL_OK)
        status = tl_predicate_eval(r->residual, (const tl_column *const *)cols, n, sel, &kept, err);
    for (int32_t i = 0; cols != NULL && i < n_columns; i++)
        tl_column_unref(cols[i]);
    tl_free(cols);
    if (status != TL_OK || kept == n)
        return status;
    tl_batch *rest = NULL;
    TL_TRY(tl_batch_gather(*inner, sel, kept, &rest, err));
    tl_batch_free(*inner);
    *inner = rest;
    return TL_OK;
}

tl_status tl_lsm__drop_retracts(tl_batch *batch, int64_t *numbers, tl_batch **out, tl_error *err)
{
    TL_CLEANUP(tl_batch_freep) tl_batch *owned = batch;
    if (batch->row_kind == NULL || batch->n_rows == 0) {
        *out = TL_STEAL(owned);
        return TL_OK;
    }
    TL_CLEANUP(tl_freep) uint32_t *sel = tl_alloc((size_t)batch->n_rows * sizeof(*sel));
    if (sel == NULL)
        return tl_nomem(err, "filter");
    int64_t kept = 0;
    for (int64_t i = 0; i < batch->n_rows; i++) {
        sel[kept] = (uint32_t)i;
        kept += !tl_kind_is_retract(batch->row_kind[i]);
    }
    if (kept == batch->n_rows) {
        *out = TL_STEAL(owned);
        return TL_OK;
    }
    TL_TRY(tl_batch_gather(batch, sel, kept, out, err));
    (*out)->level = batch->level;
    for (int64_t i = 0; numbers != NULL && i < kept; i++)
        numbers[i] = numbers[sel[i]];
    return TL_OK;
}

/*
 * What the options make of a failure to read the file (Java: DataFileRecordReader): a lost file has no rows, a broken one those before
 * the fault. Failures that say nothing about the file stay failures.
 */
static tl_status ignore_failure(const file_reader *r, tl_status status, tl_error *why, tl_error *err)
{
    const tl_lsm_config *config = r->scan->bucket->config;
    bool ignored = status == TL_E_NOT_FOUND ? config->ignore_lost_files
                                            : (status == TL_E_CORRUPT || status == TL_E_IO || status == TL_E_LIMIT) && config->ignore_corrupt_files;
    if (!ignored) {
        if (err != NULL)
            *err = *why;
        return status;
    }
    tl_log(TL_LOG_WARN, "data file '%s' of '%s' %s: %s", r->file->name, r->scan->bucket->dir,
           status == TL_E_NOT_FOUND ? "is lost and left out (scan.ignore-lost-files)" : "is left out from here on (scan.ignore-corrupt-files)",
           why->message);
    return TL_OK;
}

/* *out NULL: the file ends. */
static tl_status next_inner(file_reader *r, tl_batch **out, tl_error *err)
{
    tl_error why = {0};
    tl_status status = tl_reader_next(r->inner, out, &why);
    if (status == TL_OK)
        return TL_OK;
    *out = NULL;
    TL_TRY(ignore_failure(r, status, &why, err));
    tl_reader_free(TL_STEAL(r->inner));
    return TL_OK;
}

static tl_status file_reader_next(tl_reader *reader, tl_batch **out, tl_error *err)
{
    file_reader *r = (file_reader *)reader;
    for (;;) {
        TL_CLEANUP(tl_batch_freep) tl_batch *inner = NULL;
        tl_batch *batch = NULL;
        if (r->inner != NULL)
            TL_TRY(tl_error_wrap(err, next_inner(r, &inner, err), "data file '%s'", r->file->name));
        if (inner == NULL) {
            *out = NULL;
            return TL_OK;
        }
        if (r->deleted != NULL)
            TL_TRY(drop_deleted(r->deleted, &inner, err));
        if (r->residual != NULL && inner->n_rows > 0)
            TL_TRY(tl_error_wrap(err, drop_filtered(r, &inner, err), "data file '%s'", r->file->name));
        TL_TRY(tl_error_wrap(err, build_batch(r, inner, &batch, err), "data file '%s'", r->file->name));
        tl_free(r->numbers);
        r->numbers = r->scan->with_numbers ? TL_STEAL(inner->seq) : NULL;
        if (r->scan->drop_deletes)
            TL_TRY(tl_lsm__drop_retracts(batch, r->numbers, &batch, err));
        if (r->scan->drop_expired)
            TL_TRY(tl_lsm__drop_expired(r->scan, batch, &batch, err));
        if (batch->n_rows > 0) {
            *out = batch;
            return TL_OK;
        }
        tl_batch_free(batch);
    }
}

static const tl_reader_ops file_reader_ops = {file_reader_next, file_reader_free};

/* The table's column as it is in the file; names and types are borrowed. */
static tl_field file_field(const file_reader *r, int32_t column)
{
    const tl_lsm__file_column *from = &r->schema->columns[column];
    tl_field field = r->scan->bucket->config->schema->row_type->fields[column];
    field.name = from->name;
    if (from->evolution != NULL)
        field.type = tl_evolution_read_type(from->evolution);
    return field;
}

/* A column of row tracking, as files store it. */
static void add_tracking(file_reader *r, int32_t i, const tl_type *number, tl_field *fields, int32_t *n)
{
    bool is_id = r->scan->columns[i] == tl_lsm__n_columns(r->scan->bucket->config);
    fields[*n] = r->scan->type->fields[i];
    fields[*n].type = number;
    *(is_id ? &r->row_id_col : &r->row_seq_col) = (*n)++;
    r->source[i] = is_id ? SOURCE_ROW_ID : SOURCE_ROW_SEQ;
}

/* The columns to read from the file: fills `fields` and where each column of the scan comes from. `number`: BIGINT. */
static tl_status choose_columns(file_reader *r, const tl_type *number, tl_field *fields, int32_t *n_fields, tl_error *err)
{
    const tl_lsm__scan *scan = r->scan;
    const tl_lsm_config *config = scan->bucket->config;
    const tl_lsm__layout *layout = config->layout;
    const tl_lsm__file_column *columns = r->schema->columns;
    int32_t n = 0, hint = 0;
    r->seq_col = r->kind_col = r->row_id_col = r->row_seq_col = -1;
    if (scan->with_seq && layout->seq_col >= 0) {
        r->seq_col = n;
        fields[n++] = layout->file_type->fields[layout->seq_col];
    }
    if (layout->kind_col >= 0 && (scan->with_kind || scan->drop_deletes) && !(r->known_inserts && !scan->with_kind)) {
        r->kind_col = n;
        fields[n++] = layout->file_type->fields[layout->kind_col];
    }
    for (int32_t i = 0; i < scan->n_columns; i++) {
        int32_t column = scan->columns[i];
        if (column >= tl_lsm__n_columns(config)) {
            add_tracking(r, i, number, fields, &n);
        } else if (config->partition_idx[column] >= 0) {
            r->source[i] = SOURCE_PARTITION;
        } else if (!tl_data_file_holds(r->file, columns[column].name, &hint)) {
            r->source[i] = SOURCE_NULL;
        } else if (columns[column].unsupported != NULL) {
            return tl_error_set(err, TL_E_UNSUPPORTED, "schema %lld: %s", (long long)r->schema->schema_id, columns[column].unsupported);
        } else {
            r->source[i] = n;
            fields[n++] = file_field(r, column);
        }
    }
    /* Only constants are wanted: one column is read for the number of rows. */
    if (n == 0 && layout->kind_col >= 0)
        fields[n++] = layout->file_type->fields[layout->kind_col];
    for (int32_t c = 0; c < tl_lsm__n_columns(config) && n == 0; c++) {
        if (columns[c].unsupported == NULL && tl_data_file_holds(r->file, columns[c].name, &hint))
            fields[n++] = file_field(r, c);
    }
    *n_fields = n;
    return TL_OK;
}

/* Whether a predicate says the same of the column's values in the file; *type: what its literals are there, NULL: what they are. */
static bool can_push(const file_reader *r, const tl_predicate *pred, int32_t i, const tl_type **type)
{
    *type = NULL;
    if (r->source[i] < 0)
        return false;
    const tl_evolution *evolution = r->schema->columns[r->scan->columns[i]].evolution;
    if (evolution == NULL)
        return true;
    *type = tl_evolution_read_type(evolution);
    return tl_evolution_effect(evolution) != TL_CAST_CHANGES && tl_devolve_fits(pred, i, *type);
}

static tl_status split_predicate(file_reader *r, const tl_predicate *pred, tl_error *err)
{
    int32_t n = r->scan->n_columns;
    bool whole = true;
    TL_CLEANUP(tl_freep) bool *used = tl_calloc((size_t)n + 1, sizeof(*used));
    TL_CLEANUP(tl_freep) int32_t *map = tl_alloc((size_t)(n + 1) * sizeof(*map));
    TL_CLEANUP(tl_freep) const tl_type **types = tl_calloc((size_t)n + 4, sizeof(*types)); /* by column of the file */
    if (used == NULL || map == NULL || types == NULL)
        return tl_nomem(err, "predicate");
    tl_predicate_columns(pred, used);
    for (int32_t i = 0; i < n; i++) {
        const tl_type *type;
        map[i] = can_push(r, pred, i, &type) ? r->source[i] : -1;
        whole &= !used[i] || map[i] >= 0;
        if (map[i] >= 0)
            types[map[i]] = type;
    }
    TL_TRY(tl_predicate_remap(pred, map, /* weaken= */ !whole, &r->pushed, err));
    TL_TRY(tl_devolve_literals(r->pushed, types, err));
    if (whole)
        return TL_OK;
    r->residual_columns = TL_STEAL(used);
    return tl_predicate_dup(pred, &r->residual, err);
}

/* The rows to read of the file: those that its index knows of, but for deleted ones. *out points to them, or is NULL: all. */
static tl_status choose_rows(file_reader *r, bool indexed, const tl_row_ranges **out, tl_error *err)
{
    *out = indexed ? &r->rows : NULL;
    if (r->deleted == NULL)
        return TL_OK;
    TL_CLEANUP(tl_row_ranges_deinit) tl_row_ranges rest = {NULL, 0};
    TL_CLEANUP(tl_row_ranges_deinit) tl_row_ranges both = {NULL, 0};
    TL_TRY(tl_dv_rest(r->deleted, r->file->rows, &rest, err));
    if (!indexed && rest.n == 1 && rest.items[0].from == 0)
        return TL_OK;
    if (indexed)
        TL_TRY(tl_row_ranges_and(&r->rows, &rest, &both, err));
    tl_row_ranges *chosen = indexed ? &both : &rest;
    tl_row_ranges_deinit(&r->rows);
    r->rows = *chosen;
    *chosen = (tl_row_ranges){NULL, 0};
    *out = &r->rows;
    return TL_OK;
}

static tl_status open_format(file_reader *r, const tl_type *type, tl_error *err)
{
    const tl_lsm__scan *scan = r->scan;
    const tl_format *format = NULL;
    tl_file_index_verdict verdict = TL_INDEX_ALL;
    TL_TRY(tl_format_of_file(r->file->name, &format, err));
    TL_TRY(tl_lsm__check_format(scan->bucket->config, format, err));
    const tl_lsm__index_filter filter = {.pred = r->pushed, .type = type, .map_filter = scan->map_filter, .schema = r->schema};
    if ((r->pushed != NULL && r->pushed->op != TL_PRED_TRUE) || scan->map_filter != NULL)
        TL_TRY(tl_lsm__index_ask(scan->bucket, r->file, &filter, &verdict, &r->rows, err));
    if (verdict == TL_INDEX_NONE)
        return TL_OK;
    const tl_row_ranges *rows = NULL;
    TL_TRY(choose_rows(r, verdict == TL_INDEX_SOME, &rows, err));
    TL_CLEANUP(tl_freep) char *path = tl_lsm__bucket_file_path(scan->bucket, r->file);
    if (path == NULL)
        return tl_nomem(err, "file path");
    tl_read_spec spec = {.row_type = type,
                         .predicate = r->pushed,
                         .exact = r->pushed != NULL,
                         .rows = rows,
                         .batch_rows = scan->batch_rows,
                         .file_type = r->schema->row_type,
                         .options = &scan->bucket->config->schema->options,
                         .with_row_numbers = r->deleted != NULL || scan->with_numbers || r->row_id_col >= 0,
                         .pool = scan->bucket->pool};
    tl_error why = {0};
    tl_status status = format->open(scan->bucket->config->fs, path, r->file->bytes, &spec, &r->inner, &why);
    return status == TL_OK ? TL_OK : ignore_failure(r, status, &why, err);
}

static tl_status open_inner(file_reader *r, const tl_predicate *pred, tl_error *err)
{
    const tl_lsm__scan *scan = r->scan;
    tl_field *fields = tl_alloc((size_t)(scan->n_columns + 3) * sizeof(*fields));
    r->source = tl_alloc((size_t)(scan->n_columns + 1) * sizeof(*r->source));
    const tl_type *type = NULL, *number = NULL;
    tl_status status = TL_OK;
    if (fields == NULL || r->source == NULL) {
        status = tl_nomem(err, "file reader");
        goto out;
    }
    int32_t n = 0;
    TL_TRY_GOTO(tl_type_create(TL_BIGINT, /* nullable= */ true, 0, 0, &number, err));
    TL_TRY_GOTO(choose_columns(r, number, fields, &n, err));
    TL_TRY_GOTO(tl_type_create_row(/* nullable= */ false, fields, n, &type, err));
    if (pred != NULL)
        TL_TRY_GOTO(split_predicate(r, pred, err));
    TL_TRY_GOTO(open_format(r, type, err));
out:
    tl_type_unref(number);
    tl_type_unref(type);
    tl_free(fields);
    return status;
}

/* The file's rows if they are still in memory and are wanted without more ado. */
static tl_lsm__kept *find_kept(const tl_lsm__scan *scan, const tl_data_file *file, const tl_predicate *pred)
{
    const tl_lsm__bucket *bucket = scan->bucket;
    bool usable = bucket->recent != NULL && bucket->vectors == NULL && pred == NULL && !scan->with_numbers;
    return usable ? tl_lsm__recent_get(bucket->recent, file->name) : NULL;
}

tl_status tl_lsm__file_open(tl_lsm__scan *scan, const tl_data_file *file, const tl_predicate *pred, tl_reader **out,
                            tl_error *err)
{
    tl_lsm__kept *kept = find_kept(scan, file, pred);
    if (kept != NULL)
        return tl_lsm__kept_open(scan, kept, file->level, out, err);
    const tl_lsm__file_schema *schema = NULL;
    TL_TRY(tl_error_wrap(err, tl_lsm__file_schema_of(scan->bucket->config, file, &schema, err), "data file '%s'",
                         file->name));
    file_reader *r = tl_calloc(1, sizeof *r);
    if (r == NULL)
        return tl_nomem(err, "file reader");
    r->base = (tl_reader){&file_reader_ops, scan->type};
    r->scan = tl_lsm__scan_ref(scan);
    r->schema = schema;
    r->file = tl_data_file_ref(file);
    r->known_inserts = file->delete_rows == 0;
    tl_status status = tl_dv_set_get(scan->bucket->vectors, file->name, &r->deleted, err);
    if (status == TL_OK)
        status = tl_error_wrap(err, open_inner(r, pred, err), "data file '%s'", file->name);
    if (status != TL_OK) {
        file_reader_free(&r->base);
        return status;
    }
    *out = &r->base;
    return TL_OK;
}

/* ---- a run: files one after the other ---- */

typedef struct run_reader {
    tl_reader base;
    tl_lsm__scan *scan;
    tl_file_list files;
    size_t next_file;
    tl_lsm__push push;
    tl_reader *current;
} run_reader;

static void run_reader_free(tl_reader *reader)
{
    run_reader *r = (run_reader *)reader;
    tl_reader_free(r->current);
    tl_file_list_deinit(&r->files);
    tl_lsm__scan_unref(r->scan);
    tl_free(r);
}

static tl_status run_reader_next(tl_reader *reader, tl_batch **out, tl_error *err)
{
    run_reader *r = (run_reader *)reader;
    for (;;) {
        if (r->current == NULL) {
            if (r->next_file == r->files.n) {
                *out = NULL;
                return TL_OK;
            }
            const tl_predicate *pred = r->push == TL_LSM__PUSH_ALL    ? r->scan->pred
                                       : r->push == TL_LSM__PUSH_KEYS ? r->scan->key_pred
                                                                      : NULL;
            TL_TRY(tl_lsm__file_open(r->scan, r->files.items[r->next_file++], pred, &r->current, err));
        }
        TL_TRY(tl_reader_next(r->current, out, err));
        if (*out != NULL)
            return TL_OK;
        tl_reader_free(TL_STEAL(r->current));
    }
}

static const tl_reader_ops run_reader_ops = {run_reader_next, run_reader_free};

tl_status tl_lsm__run_open(tl_lsm__scan *scan, tl_data_file *const *files, size_t n, tl_lsm__push push, tl_reader **out,
                           tl_error *err)
{
    if (scan->bucket->config->data_evolution)
        return tl_lsm__evolution_open(scan, files, n, push == TL_LSM__PUSH_ALL, out, err);
    run_reader *r = tl_calloc(1, sizeof *r);
    if (r == NULL)
        return tl_nomem(err, "run reader");
    r->base = (tl_reader){&run_reader_ops, scan->type};
    r->scan = tl_lsm__scan_ref(scan);
    r->push = push;
    tl_status status = TL_OK;
    for (size_t i = 0; i < n && status == TL_OK; i++)
        status = tl_file_list_add(&r->files, files[i], err);
    if (status != TL_OK) {
        run_reader_free(&r->base);
        return status;
    }
    *out = &r->base;
    return TL_OK;
}
