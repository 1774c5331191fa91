/*
 * $audit_log and $binlog: rows of the data table with their kind as a column. Source: format reference §19; Java: AuditLogTable,
 * BinlogTable, PackChangelogReader.
 *
 * Columns: rowkind, _SEQUENCE_NUMBER if the table asks for it, then the table's columns, in $binlog each as an array: of one
 * value, or of the values before and after where a -U is followed by its +U in a streaming read.
 */
#include "table/system_private.h"

static const char seq_option[] = "table-read.sequence-number.enabled";

static int32_t n_special(const tl_options *opts)
{
    return tl_table__option_bool(opts, seq_option) ? 2 : 1;
}

bool tl_audit_wants_seq(const tl_table *table)
{
    return tl_table__is_audit(table) && n_special(&table->schema->options) == 2;
}

/* ---- row type ---- */

static tl_status special_types(const tl_type *types[2], tl_error *err)
{
    TL_TRY(tl_type_create(TL_VARCHAR, true, TL_LENGTH_MAX, 0, &types[0], err));
    tl_status status = tl_type_create(TL_BIGINT, false, 0, 0, &types[1], err);
    if (status != TL_OK)
        tl_type_unref(types[0]);
    return status;
}

static tl_status array_of(const tl_type *type, const tl_type **out, tl_error *err)
{
    const tl_type *element = NULL;
    TL_TRY(tl_type_with_nullable(type, true, &element, err));
    tl_status status = tl_type_create_array(true, element, out, err);
    tl_type_unref(element);
    return status;
}

tl_status tl_system__row_type(const tl_system_table *system, const tl_type *data_type, const tl_options *opts, const tl_type **out, tl_error *err)
{
    int32_t special = n_special(opts), n = special + data_type->n_fields;
    bool arrays = strcmp(system->name, "binlog") == 0;
    const tl_type *types[2] = {NULL, NULL};
    TL_TRY(special_types(types, err));
    tl_field *fields = tl_calloc((size_t)n, sizeof *fields);
    const tl_type **made = tl_calloc((size_t)n, sizeof *made);
    tl_status status = fields == NULL || made == NULL ? tl_nomem(err, "row type") : TL_OK;
    if (status == TL_OK) {
        fields[0] = (tl_field){.name = (char *)"rowkind", .id = INT32_MAX - 4, .type = types[0]};
        if (special == 2)
            fields[1] = (tl_field){.name = (char *)"_SEQUENCE_NUMBER", .id = INT32_MAX - 1, .type = types[1]};
    }
    for (int32_t i = 0; status == TL_OK && i < data_type->n_fields; i++) {
        tl_field *f = &fields[special + i];
        *f = data_type->fields[i];
        if (arrays) {
            status = array_of(f->type, &made[i], err);
            f->type = made[i];
        }
    }
    if (status == TL_OK)
        status = tl_type_create_row(false, fields, n, out, err);
    for (int32_t i = 0; made != NULL && i < n; i++)
        tl_type_unref(made[i]);
    tl_free(made);
    tl_free(fields);
    tl_type_unref(types[0]);
    tl_type_unref(types[1]);
    return status;
}

/* ---- what to read of the data table ---- */

/* The data columns that a scan of the audit table needs, ascending: those asked for and those that the predicate looks at. */
static tl_status needed_columns(const tl_table *table, const tl_scan_spec *spec, int32_t **out, int32_t *n, tl_error *err)
{
    int32_t n_audit = table->row_type->n_fields, special = n_special(&table->schema->options);
    TL_CLEANUP(tl_freep) bool *used = tl_calloc((size_t)n_audit, sizeof *used);
    *out = tl_alloc((size_t)n_audit * sizeof **out);
    if (used == NULL || *out == NULL)
        return tl_nomem(err, "columns");
    for (int32_t i = 0; i < n_audit && spec->columns == NULL; i++)
        used[i] = true;
    for (int32_t i = 0; spec->columns != NULL && i < spec->n_columns; i++)
        used[spec->columns[i]] = true;
    if (spec->predicate != NULL)
        tl_predicate_columns(spec->predicate, used);
    *n = 0;
    for (int32_t i = special; i < n_audit; i++) {
        if (used[i])
            (*out)[(*n)++] = i - special;
    }
    return TL_OK;
}

tl_status tl_audit_data_spec(tl_table *table, const tl_scan_spec *spec, tl_scan_spec *data_spec, int32_t **columns, tl_predicate **predicate,
                             tl_error *err)
{
    *data_spec = *spec;
    data_spec->predicate = NULL;
    data_spec->limit = -1;
    data_spec->with_kinds = true;
    TL_TRY(needed_columns(table, spec, columns, &data_spec->n_columns, err));
    data_spec->columns = *columns;
    if (spec->predicate == NULL || tl_system__is(table, "binlog"))
        return TL_OK; /* predicates on arrays do not push down */
    int32_t n_audit = table->row_type->n_fields, special = n_special(&table->schema->options);
    TL_CLEANUP(tl_freep) int32_t *map = tl_alloc((size_t)n_audit * sizeof *map);
    if (map == NULL)
        return tl_nomem(err, "predicate");
    for (int32_t i = 0; i < n_audit; i++)
        map[i] = i < special ? -1 : i - special;
    TL_TRY(tl_predicate_remap(spec->predicate, map, /* weaken= */ true, predicate, err));
    data_spec->predicate = *predicate;
    return TL_OK;
}

/* ---- the reader ---- */

typedef struct audit {
    tl_reader base;
    tl_table *table;
    tl_reader *data;
    tl_scan_spec spec;
    int32_t *columns;
    tl_predicate *predicate;
    int32_t *data_columns; /* columns of the data reader */
    int32_t n_data_columns;
    bool arrays;
    bool pack;
    tl_batch *pending; /* pack: a -U that ended a batch; one row */
    bool at_end;
} audit;

/* Rows of a result: the first (or only) value's row and, where packed, the second's. -1: none. */
typedef struct pairing {
    int64_t n;
    uint32_t *first;
    int64_t *second;
} pairing;

static void pairing_deinit(pairing *p)
{
    tl_free(p->first);
    tl_free(p->second);
}

/* -U and the row after it (its +U) make one row; a -U at the end of the batch waits (its row number in *waiting, or -1). */
static tl_status pair_up(const tl_batch *batch, bool pack, bool at_end, pairing *out, int64_t *waiting, tl_error *err)
{
    *waiting = -1;
    out->first = tl_alloc((size_t)batch->n_rows * sizeof *out->first);
    out->second = tl_alloc((size_t)batch->n_rows * sizeof *out->second);
    if (out->first == NULL || out->second == NULL)
        return tl_nomem(err, "changes");
    for (int64_t i = 0; i < batch->n_rows; i++) {
        out->first[out->n] = (uint32_t)i;
        out->second[out->n] = -1;
        if (pack && tl_batch_kind(batch, i) == TL_KIND_UPDATE_BEFORE) {
            if (i + 1 < batch->n_rows) {
                out->second[out->n] = ++i;
            } else if (!at_end) {
                *waiting = i;
                return TL_OK;
            }
        }
        out->n++;
    }
    return TL_OK;
}

static tl_status kind_column(const tl_type *type, const tl_batch *batch, const pairing *p, tl_column **out, tl_error *err)
{
    TL_CLEANUP(tl_column_unrefp) tl_column *col = NULL;
    TL_TRY(tl_column_alloc(type, p->n, &col, err));
    tl_free(col->data);
    col->data = tl_alloc_aligned((size_t)p->n * 2 + 64);
    if (col->data == NULL)
        return tl_nomem(err, "row kinds");
    for (int64_t i = 0; i < p->n; i++) {
        int64_t row = p->second[i] >= 0 ? p->second[i] : p->first[i];
        memcpy(col->data + 2 * i, tl_row_kind_text(tl_batch_kind(batch, row)), 2);
        col->offsets[i + 1] = (int32_t)(2 * (i + 1));
    }
    *out = TL_STEAL(col);
    return TL_OK;
}

static tl_status seq_column(const tl_type *type, const tl_batch *batch, const pairing *p, tl_column **out, tl_error *err)
{
    if (batch->seq == NULL)
        return tl_error_set(err, TL_E_INTERNAL, "rows without sequence numbers");
    TL_TRY(tl_column_alloc(type, p->n, out, err));
    for (int64_t i = 0; i < p->n; i++)
        ((int64_t *)(*out)->values)[i] = batch->seq[p->first[i]];
    return TL_OK;
}

/* Values as arrays of one or two. */
static tl_status array_column(const tl_type *type, const tl_column *col, const pairing *p, tl_column **out, tl_error *err)
{
    TL_CLEANUP(tl_column_unrefp) tl_column *list = NULL;
    TL_CLEANUP(tl_column_unrefp) tl_column *values = NULL;
    TL_CLEANUP(tl_freep) uint32_t *rows = tl_alloc((size_t)p->n * 2 * sizeof *rows);
    if (rows == NULL)
        return tl_nomem(err, "changes");
    TL_TRY(tl_column_alloc(type, p->n, &list, err));
    int64_t n = 0;
    for (int64_t i = 0; i < p->n; i++) {
        rows[n++] = p->first[i];
        if (p->second[i] >= 0)
            rows[n++] = (uint32_t)p->second[i];
        list->offsets[i + 1] = (int32_t)n;
    }
    TL_TRY(tl_column_gather(col, rows, n, &values, err));
    TL_TRY(tl_column_retype(values, type->fields[0].type, &list->children[0], err));
    *out = TL_STEAL(list);
    return TL_OK;
}

static tl_status convert(audit *a, const tl_batch *data, const pairing *p, tl_batch **out, tl_error *err)
{
    TL_CLEANUP(tl_batch_freep) tl_batch *full = NULL;
    const tl_type *type = a->table->row_type;
    int32_t special = n_special(&a->table->schema->options);
    TL_TRY(tl_batch_create(type, p->n, &full, err));
    TL_TRY(kind_column(type->fields[0].type, data, p, &full->cols[0], err));
    if (special == 2)
        TL_TRY(seq_column(type->fields[1].type, data, p, &full->cols[1], err));
    for (int32_t i = 0; i < a->n_data_columns; i++) {
        int32_t at = special + a->data_columns[i];
        if (a->arrays)
            TL_TRY(array_column(type->fields[at].type, data->cols[i], p, &full->cols[at], err));
        else if (p->n == data->n_rows)
            full->cols[at] = tl_column_ref(data->cols[i]);
        else
            TL_TRY(tl_column_gather(data->cols[i], p->first, p->n, &full->cols[at], err));
    }
    /* Columns that nobody asked for stay empty slots: filter and projection do not look at them. */
    if (a->predicate != NULL) {
        TL_CLEANUP(tl_freep) uint32_t *sel = tl_alloc((size_t)p->n * sizeof *sel);
        int64_t n = 0;
        if (sel == NULL)
            return tl_nomem(err, "filter");
        TL_TRY(tl_predicate_eval(a->predicate, (const tl_column *const *)full->cols, p->n, sel, &n, err));
        for (int32_t i = 0; i < full->n_cols; i++) {
            if (full->cols[i] == NULL)
                continue;
            tl_column *kept = NULL;
            TL_TRY(tl_column_gather(full->cols[i], sel, n, &kept, err));
            tl_column_unref(full->cols[i]);
            full->cols[i] = kept;
        }
        full->n_rows = n;
    }
    if (a->spec.columns == NULL) {
        *out = TL_STEAL(full);
        return TL_OK;
    }
    return tl_batch_project(full, a->spec.columns, a->spec.n_columns, out, err);
}

/* The next data batch, with a -U that waited in front. */
static tl_status next_data(audit *a, tl_batch **out, tl_error *err)
{
    tl_batch *batch = NULL;
    if (a->at_end) {
        *out = NULL;
        return TL_OK;
    }
    TL_TRY(tl_reader_next(a->data, &batch, err));
    if (a->pending == NULL) {
        *out = batch;
        return TL_OK;
    }
    tl_batch *pending = TL_STEAL(a->pending);
    if (batch == NULL) {
        a->at_end = true; /* a -U without its +U stands alone */
        *out = pending;
        return TL_OK;
    }
    const tl_batch *parts[2] = {pending, batch};
    tl_status status = tl_batch_concat(parts, 2, out, err);
    tl_batch_free(pending);
    tl_batch_free(batch);
    return status;
}

static tl_status audit_next(tl_reader *reader, tl_batch **out, tl_error *err)
{
    audit *a = (audit *)reader;
    TL_CLEANUP(tl_batch_freep) tl_batch *data = NULL;
    TL_TRY(next_data(a, &data, err));
    if (data == NULL) {
        *out = NULL;
        return TL_OK;
    }
    pairing p = {0};
    int64_t waiting = -1;
    tl_status status = pair_up(data, a->pack, a->at_end, &p, &waiting, err);
    if (status == TL_OK && waiting >= 0) {
        uint32_t row = (uint32_t)waiting;
        status = tl_batch_gather(data, &row, 1, &a->pending, err);
    }
    if (status == TL_OK)
        status = convert(a, data, &p, out, err);
    pairing_deinit(&p);
    return status;
}

static void audit_free(tl_reader *reader)
{
    audit *a = (audit *)reader;
    tl_reader_free(a->data);
    tl_batch_free(a->pending);
    tl_free(a->columns);
    tl_free(a->data_columns);
    tl_predicate_free(a->predicate);
    tl_type_unref(a->base.type);
    tl_free(a);
}

static const tl_reader_ops audit_ops = {audit_next, audit_free};

static tl_status fill(audit *a, const tl_scan_spec *spec, tl_error *err)
{
    tl_table *table = a->table;
    TL_TRY(needed_columns(table, spec, &a->data_columns, &a->n_data_columns, err));
    if (spec->predicate != NULL)
        TL_TRY(tl_predicate_dup(spec->predicate, &a->predicate, err));
    if (spec->columns == NULL) {
        a->base.type = tl_type_ref(table->row_type);
        return TL_OK;
    }
    a->columns = tl_memdup(spec->columns, (size_t)spec->n_columns * sizeof *spec->columns);
    if (a->columns == NULL)
        return tl_nomem(err, "read");
    a->spec.columns = a->columns;
    return tl_type_project(table->row_type, spec->columns, spec->n_columns, &a->base.type, err);
}

tl_status tl_audit_reader(tl_table *table, tl_reader *data, const tl_scan_spec *spec, bool pack_updates, tl_reader **out, tl_error *err)
{
    audit *a = tl_calloc(1, sizeof *a);
    if (a == NULL) {
        tl_reader_free(data);
        return tl_nomem(err, "read");
    }
    a->base.ops = &audit_ops;
    a->table = table;
    a->data = data;
    a->spec = *spec;
    a->arrays = tl_system__is(table, "binlog");
    a->pack = pack_updates;
    tl_status status = fill(a, spec, err);
    if (status != TL_OK) {
        audit_free(&a->base);
        return status;
    }
    *out = &a->base;
    return TL_OK;
}
