/*
 * Reading tables with data evolution: rows are put together from files that hold different columns of them (format reference §11;
 * Java: DataEvolutionSplitRead).
 *
 * A group of files (row_groups.c) is read after the other. Each column comes from the newest data file of its group that holds it,
 * else from the column's side files (of BLOBs, or of VECTORs; NULL for rows that none of them has), else it is NULL. The files taken are read
 * side by side, each only with the columns that come from it, and their batches cut to pieces of the same rows; columns are not copied where
 * the cuts allow it. Where one file gives all columns, it is read by itself, filter and all.
 */
#include "lsm/lsm_private.h"

/* A data file, or side files one after the other, that give some columns of a group's rows. */
typedef struct part {
    tl_lsm__scan *scan; /* of these columns */
    int32_t *columns;   /* per column of it: which column of the whole scan it is */
    int32_t n_columns;
    bool is_side;
    tl_file_list files;
    tl_reader *reader;
    tl_batch *batch; /* what was read last; NULL: nothing is left of it */
    int64_t taken;   /* rows of it that have been handed on */
} part;

typedef struct zip_reader {
    tl_reader base;
    tl_lsm__scan *scan;
    part *parts;
    int32_t n_parts;
    int64_t first_row_id; /* of the group, for messages */
    int64_t rows;
    bool *filled; /* per column of the scan: a part gives it */
    bool filters; /* the scan's predicate is to be applied */
} zip_reader;

static void part_deinit(part *p)
{
    tl_reader_free(p->reader);
    tl_batch_free(p->batch);
    tl_lsm__scan_unref(p->scan);
    tl_file_list_deinit(&p->files);
    tl_free(p->columns);
}

static void zip_free(tl_reader *reader)
{
    zip_reader *z = (zip_reader *)reader;
    for (int32_t i = 0; i < z->n_parts; i++)
        part_deinit(&z->parts[i]);
    tl_free(z->parts);
    tl_free(z->filled);
    tl_lsm__scan_unref(z->scan);
    tl_free(z);
}

/* ---- which file gives which column ---- */

/* Side files of a column, in order of rows: where they overlap the newest counts (Java: SpecialFieldBunch). */
static tl_status add_side(const zip_reader *z, part *p, const tl_data_file *file, tl_error *err)
{
    const tl_data_file *last = p->files.n == 0 ? NULL : p->files.items[p->files.n - 1];
    int64_t end = last == NULL ? z->first_row_id : last->first_row_id + last->rows, file_end = file->first_row_id + file->rows;
    if (last != NULL && file->first_row_id < end && file_end <= end && file->max_seq < last->max_seq)
        return TL_OK;
    if (file->first_row_id < end || file_end > z->first_row_id + z->rows)
        return tl_error_set(err, TL_E_CORRUPT, "file '%s' has the row ids %lld to %lld, after others up to %lld of %lld to %lld", file->name,
                            (long long)file->first_row_id, (long long)file_end - 1, (long long)end - 1, (long long)z->first_row_id,
                            (long long)(z->first_row_id + z->rows - 1));
    return tl_file_list_add(&p->files, file, err);
}

tl_status tl_lsm__columns_held(tl_lsm_config *config, const tl_data_file *file, bool *held, tl_error *err)
{
    const tl_lsm__file_schema *schema = NULL;
    int32_t hint = 0;
    TL_TRY(tl_error_wrap(err, tl_lsm__file_schema_of(config, file, &schema, err), "data file '%s'", file->name));
    for (int32_t c = 0; c < tl_lsm__n_columns(config); c++)
        held[c] |= tl_data_file_holds(file, schema->columns[c].name, &hint);
    return TL_OK;
}

static part *part_of_side(zip_reader *z, int32_t i)
{
    for (int32_t k = 0; k < z->n_parts; k++) {
        if (z->parts[k].is_side && z->parts[k].columns[0] == i)
            return &z->parts[k];
    }
    return NULL;
}

static tl_status make_part(zip_reader *z, bool is_side, part **out, tl_error *err)
{
    part *p = &z->parts[z->n_parts];
    *p = (part){.is_side = is_side, .columns = tl_alloc((size_t)(z->scan->n_columns + 1) * sizeof(*p->columns))};
    if (p->columns == NULL)
        return tl_nomem(err, "read");
    z->n_parts++;
    *out = p;
    return TL_OK;
}

static void give(zip_reader *z, part *p, int32_t i)
{
    p->columns[p->n_columns++] = i;
    z->filled[i] = true;
}

/* A data file gives what no newer one did. The newest also gives what lies in no file. */
static tl_status take_data_file(zip_reader *z, const tl_data_file *file, tl_error *err)
{
    tl_lsm_config *config = z->scan->bucket->config;
    const tl_lsm__file_schema *schema = NULL;
    part *p = NULL;
    int32_t hint = 0;
    TL_TRY(tl_error_wrap(err, tl_lsm__file_schema_of(config, file, &schema, err), "data file '%s'", file->name));
    TL_TRY(make_part(z, /* is_side= */ false, &p, err));
    TL_TRY(tl_file_list_add(&p->files, file, err));
    for (int32_t i = 0; i < z->scan->n_columns; i++) {
        int32_t column = z->scan->columns[i];
        bool constant = column >= tl_lsm__n_columns(config) || config->partition_idx[column] >= 0;
        if (!z->filled[i] && (constant || tl_data_file_holds(file, schema->columns[column].name, &hint)))
            give(z, p, i);
    }
    return TL_OK;
}

static tl_status take_side_file(zip_reader *z, const tl_data_file *file, tl_error *err)
{
    tl_lsm_config *config = z->scan->bucket->config;
    const tl_lsm__file_schema *schema = NULL;
    int32_t hint = 0;
    if (file->n_write_cols < 1 || (tl_data_file_is_blob(file) && file->n_write_cols != 1))
        return tl_error_set(err, TL_E_CORRUPT, "file '%s' does not tell the column%s that it holds", file->name, tl_data_file_is_blob(file) ? "" : "s");
    TL_TRY(tl_error_wrap(err, tl_lsm__file_schema_of(config, file, &schema, err), "data file '%s'", file->name));
    for (int32_t i = 0; i < z->scan->n_columns; i++) {
        int32_t column = z->scan->columns[i];
        if (column >= tl_lsm__n_columns(config) || !tl_data_file_holds(file, schema->columns[column].name, &hint))
            continue;
        part *p = part_of_side(z, i);
        if (p == NULL && z->filled[i])
            continue;
        if (p == NULL) {
            TL_TRY(make_part(z, /* is_side= */ true, &p, err));
            give(z, p, i);
        }
        TL_TRY(add_side(z, p, file, err));
    }
    return TL_OK;
}

static bool are_same_files(const tl_file_list *a, const tl_file_list *b)
{
    bool same = a->n == b->n;
    for (size_t i = 0; same && i < a->n; i++)
        same = a->items[i] == b->items[i];
    return same;
}

/* VECTOR columns that come from the same side files are read together. */
static void join_side_parts(zip_reader *z)
{
    int32_t kept = 0;
    for (int32_t i = 0; i < z->n_parts; i++) {
        part p = z->parts[i];
        part *same = NULL;
        for (int32_t k = 0; k < kept && p.is_side && same == NULL; k++)
            same = z->parts[k].is_side && are_same_files(&z->parts[k].files, &p.files) ? &z->parts[k] : NULL;
        if (same == NULL) {
            z->parts[kept++] = p;
            continue;
        }
        same->columns[same->n_columns++] = p.columns[0];
        part_deinit(&p);
    }
    z->n_parts = kept;
}

/* Drop the parts that give nothing; one stays for the number of rows. */
static void drop_idle_parts(zip_reader *z)
{
    int32_t kept = 0;
    for (int32_t i = 0; i < z->n_parts; i++) {
        part p = z->parts[i];
        bool last_chance = kept == 0 && i + 1 == z->n_parts;
        if (p.n_columns > 0 || last_chance)
            z->parts[kept++] = p;
        else
            part_deinit(&p);
    }
    z->n_parts = kept;
}

static tl_status plan_parts(zip_reader *z, tl_data_file *const *files, size_t n, tl_error *err)
{
    int64_t end = INT64_MIN;
    size_t n_data = 0;
    while (n_data < n && !tl_data_file_is_side(files[n_data]))
        n_data++;
    for (size_t i = 0; i < (n_data > 0 ? 1 : n); i++) /* without a data file the side files alone tell the rows */
        end = TL_MAX(end, files[i]->first_row_id + files[i]->rows);
    z->first_row_id = files[0]->first_row_id;
    z->rows = end - z->first_row_id;
    z->parts = tl_calloc(n_data + (size_t)z->scan->n_columns + 1, sizeof(*z->parts)); /* a column has one part of side files at most */
    z->filled = tl_calloc((size_t)z->scan->n_columns + 1, sizeof(*z->filled));
    if (z->parts == NULL || z->filled == NULL)
        return tl_nomem(err, "read");
    for (size_t i = 0; i < n_data; i++)
        TL_TRY(take_data_file(z, files[i], err));
    for (size_t i = n_data; i < n; i++)
        TL_TRY(take_side_file(z, files[i], err));
    join_side_parts(z);
    drop_idle_parts(z);
    if (z->n_parts == 0)
        return tl_error_set(err, TL_E_CORRUPT, "files of BLOBs or VECTORs without the data file of their rows (row id %lld; '%s')", (long long)z->first_row_id,
                            files[0]->name);
    return TL_OK;
}

/* ---- side files as rows of a group ---- */

typedef struct side_rows {
    tl_reader base;
    tl_lsm__scan *scan;
    tl_file_list files;
    size_t next_file;
    int64_t at; /* row id of the next row */
    int64_t end;
    tl_reader *current;
} side_rows;

static void side_rows_free(tl_reader *reader)
{
    side_rows *r = (side_rows *)reader;
    tl_reader_free(r->current);
    tl_file_list_deinit(&r->files);
    tl_lsm__scan_unref(r->scan);
    tl_free(r);
}

/* Rows without values, up to the next file. */
static tl_status side_gap(side_rows *r, int64_t n, tl_batch **out, tl_error *err)
{
    TL_CLEANUP(tl_batch_freep) tl_batch *batch = NULL;
    TL_TRY(tl_batch_create(r->scan->type, n, &batch, err));
    for (int32_t i = 0; i < batch->n_cols; i++)
        TL_TRY(tl_column_nulls(r->scan->type->fields[i].type, n, &batch->cols[i], err));
    r->at += n;
    *out = TL_STEAL(batch);
    return TL_OK;
}

static tl_status side_rows_next(tl_reader *reader, tl_batch **out, tl_error *err)
{
    side_rows *r = (side_rows *)reader;
    *out = NULL;
    for (;;) {
        if (r->current == NULL) {
            const tl_data_file *file = r->next_file < r->files.n ? r->files.items[r->next_file] : NULL;
            int64_t gap = (file == NULL ? r->end : file->first_row_id) - r->at;
            if (gap > 0)
                return side_gap(r, TL_MIN(gap, TL_BATCH_ROWS), out, err);
            if (file == NULL)
                return TL_OK;
            TL_TRY(tl_lsm__file_open(r->scan, file, /* pred= */ NULL, &r->current, err));
            r->next_file++;
        }
        TL_TRY(tl_reader_next(r->current, out, err));
        if (*out != NULL) {
            r->at += (*out)->n_rows;
            return TL_OK;
        }
        tl_reader_free(TL_STEAL(r->current));
        const tl_data_file *done = r->files.items[r->next_file - 1];
        if (r->at != done->first_row_id + done->rows)
            return tl_error_set(err, TL_E_CORRUPT, "file '%s' has %lld rows, its entry says %lld", done->name,
                                (long long)(r->at - done->first_row_id), (long long)done->rows);
    }
}

static const tl_reader_ops side_rows_ops = {side_rows_next, side_rows_free};

static tl_status open_side_rows(const zip_reader *z, const part *p, tl_reader **out, tl_error *err)
{
    side_rows *r = tl_calloc(1, sizeof *r);
    if (r == NULL)
        return tl_nomem(err, "read");
    r->base = (tl_reader){&side_rows_ops, p->scan->type};
    r->scan = tl_lsm__scan_ref(p->scan);
    r->at = z->first_row_id;
    r->end = z->first_row_id + z->rows;
    tl_status status = tl_lsm__list_add_all(&r->files, &p->files, err);
    if (status != TL_OK) {
        side_rows_free(&r->base);
        return status;
    }
    *out = &r->base;
    return TL_OK;
}

/* ---- reading side by side ---- */

static tl_status open_part(const zip_reader *z, part *p, tl_error *err)
{
    const tl_lsm__scan *whole = z->scan;
    TL_CLEANUP(tl_freep) int32_t *columns = tl_alloc((size_t)(p->n_columns + 1) * sizeof(*columns));
    if (columns == NULL)
        return tl_nomem(err, "read");
    for (int32_t i = 0; i < p->n_columns; i++)
        columns[i] = whole->columns[p->columns[i]];
    TL_TRY(tl_lsm__scan_create(whole->bucket, columns, p->n_columns, /* pred= */ NULL, &p->scan, err));
    p->scan->batch_rows = whole->batch_rows;
    if (p->is_side)
        return open_side_rows(z, p, &p->reader, err);
    return tl_lsm__file_open(p->scan, p->files.items[0], /* pred= */ NULL, &p->reader, err);
}

/* Rows of the part's batch that wait; 0: the part is at its end. */
static tl_status refill(part *p, int64_t *rows, tl_error *err)
{
    while (p->batch == NULL || p->taken == p->batch->n_rows) {
        tl_batch_free(TL_STEAL(p->batch));
        p->taken = 0;
        TL_TRY(tl_reader_next(p->reader, &p->batch, err));
        if (p->batch == NULL) {
            *rows = 0;
            return TL_OK;
        }
    }
    *rows = p->batch->n_rows - p->taken;
    return TL_OK;
}

static tl_status take_columns(const part *p, int64_t n, tl_batch *out, tl_error *err)
{
    for (int32_t i = 0; i < p->n_columns; i++) {
        const tl_column *col = p->batch->cols[i];
        if (n == col->length)
            out->cols[p->columns[i]] = tl_column_ref(col);
        else
            TL_TRY(tl_column_slice(col, p->taken, n, &out->cols[p->columns[i]], err));
    }
    return TL_OK;
}

static tl_status join(zip_reader *z, int64_t n, tl_batch **out, tl_error *err)
{
    TL_CLEANUP(tl_batch_freep) tl_batch *batch = NULL;
    TL_TRY(tl_batch_create(z->scan->type, n, &batch, err));
    for (int32_t i = 0; i < z->n_parts; i++) {
        TL_TRY(take_columns(&z->parts[i], n, batch, err));
        z->parts[i].taken += n;
    }
    for (int32_t i = 0; i < z->scan->n_columns; i++) {
        if (!z->filled[i])
            TL_TRY(tl_column_nulls(z->scan->type->fields[i].type, n, &batch->cols[i], err));
    }
    *out = TL_STEAL(batch);
    return TL_OK;
}

/* Rows that all parts have; 0: all are at their end. */
static tl_status common_rows(zip_reader *z, int64_t *out, tl_error *err)
{
    int64_t least = INT64_MAX, most = 0;
    const part *short_one = NULL;
    for (int32_t i = 0; i < z->n_parts; i++) {
        int64_t rows = 0;
        TL_TRY(refill(&z->parts[i], &rows, err));
        if (rows == 0)
            short_one = &z->parts[i];
        least = TL_MIN(least, rows);
        most = TL_MAX(most, rows);
    }
    if (least == 0 && most > 0)
        return tl_error_set(err, TL_E_CORRUPT, "data file '%s' has fewer rows than other files of the row ids from %lld on",
                            short_one->files.items[short_one->files.n - 1]->name, (long long)z->first_row_id);
    *out = least;
    return TL_OK;
}

static tl_status zip_next(tl_reader *reader, tl_batch **out, tl_error *err)
{
    zip_reader *z = (zip_reader *)reader;
    for (;;) {
        TL_CLEANUP(tl_batch_freep) tl_batch *batch = NULL;
        int64_t n = 0;
        TL_TRY(common_rows(z, &n, err));
        if (n == 0) {
            *out = NULL;
            return TL_OK;
        }
        TL_TRY(join(z, n, &batch, err));
        if (z->filters && z->scan->pred != NULL)
            TL_TRY(tl_predicate_filter(z->scan->pred, &batch, err));
        if (batch->n_rows > 0) {
            *out = TL_STEAL(batch);
            return TL_OK;
        }
    }
}

static const tl_reader_ops zip_ops = {zip_next, zip_free};

/* Whether the scan reads the maps whose values its map filter speaks of: a file that gives all its columns then gives these, too. */
static bool reads_maps(const tl_lsm__scan *scan)
{
    const tl_map_filter *maps = scan->map_filter;
    for (int32_t v = 0; maps != NULL && v < maps->n_values; v++) {
        bool read = false;
        for (int32_t i = 0; i < scan->n_columns; i++)
            read |= scan->columns[i] == maps->values[v].column;
        if (!read)
            return false;
    }
    return true;
}

/* A group of files as one reader. Where several files give the columns none of their indexes is asked: another one may have newer values. */
static tl_status open_group(tl_lsm__scan *scan, tl_data_file *const *files, size_t n, bool filters, tl_reader **out, tl_error *err)
{
    const tl_predicate *pred = filters ? scan->pred : NULL;
    if (n == 1)
        return tl_lsm__file_open(scan, files[0], pred, out, err);
    TL_CLEANUP(tl_reader_freep) tl_reader *owned = NULL;
    zip_reader *z = tl_calloc(1, sizeof *z);
    if (z == NULL)
        return tl_nomem(err, "read");
    owned = &z->base;
    z->base = (tl_reader){&zip_ops, scan->type};
    z->scan = tl_lsm__scan_ref(scan);
    z->filters = filters;
    TL_TRY(plan_parts(z, files, n, err));
    if (z->n_parts == 1 && !z->parts[0].is_side && reads_maps(scan))
        return tl_lsm__file_open(scan, z->parts[0].files.items[0], pred, out, err);
    for (int32_t i = 0; i < z->n_parts; i++)
        TL_TRY(open_part(z, &z->parts[i], err));
    *out = TL_STEAL(owned);
    return TL_OK;
}

/* ---- one group after the other ---- */

typedef struct groups_reader {
    tl_reader base;
    tl_lsm__scan *scan;
    tl_file_list files; /* in the order of the groups */
    tl_row_groups groups;
    size_t next;
    bool filters;
    tl_reader *current;
} groups_reader;

static void groups_free(tl_reader *reader)
{
    groups_reader *r = (groups_reader *)reader;
    tl_reader_free(r->current);
    tl_file_list_deinit(&r->files);
    tl_row_groups_deinit(&r->groups);
    tl_lsm__scan_unref(r->scan);
    tl_free(r);
}

static tl_status groups_next(tl_reader *reader, tl_batch **out, tl_error *err)
{
    groups_reader *r = (groups_reader *)reader;
    for (;;) {
        if (r->current == NULL) {
            if (r->next == r->groups.n) {
                *out = NULL;
                return TL_OK;
            }
            size_t from = r->next == 0 ? 0 : r->groups.ends[r->next - 1], to = r->groups.ends[r->next];
            TL_TRY(open_group(r->scan, r->files.items + from, to - from, r->filters, &r->current, err));
            r->next++;
        }
        TL_TRY(tl_reader_next(r->current, out, err));
        if (*out != NULL)
            return TL_OK;
        tl_reader_free(TL_STEAL(r->current));
    }
}

static const tl_reader_ops groups_ops = {groups_next, groups_free};

tl_status tl_lsm__evolution_open(tl_lsm__scan *scan, tl_data_file *const *files, size_t n, bool filters, tl_reader **out, tl_error *err)
{
    TL_CLEANUP(tl_reader_freep) tl_reader *owned = NULL;
    groups_reader *r = tl_calloc(1, sizeof *r);
    if (r == NULL)
        return tl_nomem(err, "read");
    owned = &r->base;
    r->base = (tl_reader){&groups_ops, scan->type};
    r->scan = tl_lsm__scan_ref(scan);
    r->filters = filters;
    TL_TRY(tl_row_groups_create(files, n, &r->groups, err));
    for (size_t i = 0; i < n; i++)
        TL_TRY(tl_file_list_add(&r->files, files[r->groups.order[i]], err));
    *out = TL_STEAL(owned);
    return TL_OK;
}
