/*
 * Row tracking: what the committer gives to new files. Source: format reference §11; Java: RowTrackingCommitUtils.
 *
 * A file whose sequence numbers begin with 0 gets the snapshot's as both of its own. A new file (`_FILE_SOURCE` APPEND) without
 * `_FIRST_ROW_ID` gets the next free ids, unless it stores ids with its rows. Side files (of a BLOB, of
 * VECTORs) follow the data file whose rows' values they hold, and share its ids: one file of the same columns after the other.
 */
#include "table/table_private.h"

/* Where the next side file of a column begins. */
typedef struct side_start {
    const char *column; /* of an entry's file */
    int64_t next;
} side_start;

typedef struct assignment {
    int64_t snapshot_id;
    int64_t next;        /* free row id */
    int64_t data_start;  /* of the last data file */
    int64_t data_end;
    side_start *sides;   /* since the last data file */
    size_t n_sides;
} assignment;

static bool stores_ids(const tl_data_file *file)
{
    for (int32_t i = 0; i < file->n_write_cols; i++) {
        if (strcmp(file->write_cols[i], "_ROW_ID") == 0)
            return true;
    }
    return false;
}

static tl_status side_start_of(assignment *a, const char *column, side_start **out, tl_error *err)
{
    for (size_t i = 0; i < a->n_sides; i++) {
        if (strcmp(a->sides[i].column, column) == 0) {
            *out = &a->sides[i];
            return TL_OK;
        }
    }
    side_start *sides = tl_realloc(a->sides, (a->n_sides + 1) * sizeof *sides);
    if (sides == NULL)
        return tl_nomem(err, "row ids");
    a->sides = sides;
    sides[a->n_sides] = (side_start){column, a->data_start};
    *out = &sides[a->n_sides++];
    return TL_OK;
}

/* Side files of the same columns follow each other, so the first column stands for all. */
static tl_status assign_side(assignment *a, tl_data_file *file, tl_error *err)
{
    side_start *start = NULL;
    if (file->n_write_cols < 1)
        return tl_error_set(err, TL_E_INVALID, "file '%s' does not tell the columns that it holds", file->name);
    TL_TRY(side_start_of(a, file->write_cols[0], &start, err));
    if (file->rows > a->data_end - start->next)
        return tl_error_set(err, TL_E_INVALID, "file '%s' of a BLOB or of VECTORs does not follow the data file of its rows in the commit", file->name);
    file->first_row_id = start->next;
    start->next += file->rows;
    return TL_OK;
}

static tl_status assign_ids(assignment *a, tl_data_file *file, tl_error *err)
{
    if (file->file_source < 0)
        return tl_error_set(err, TL_E_INVALID, "file '%s' of a table with row tracking does not tell its source", file->name);
    if (file->file_source != 0 || file->first_row_id != TL_ABSENT || stores_ids(file))
        return TL_OK;
    if (tl_data_file_is_side(file))
        return assign_side(a, file, err);
    if (file->rows < 0 || a->next > INT64_MAX - file->rows)
        return tl_error_set(err, TL_E_INVALID, "file '%s': row ids have run out", file->name);
    file->first_row_id = a->data_start = a->next;
    a->next = a->data_end = a->next + file->rows;
    a->n_sides = 0;
    return TL_OK;
}

tl_status tl_commit__assign_row_ids(int64_t snapshot_id, tl_entries *delta, int64_t *next_row_id, tl_error *err)
{
    assignment a = {.snapshot_id = snapshot_id, .next = *next_row_id, .data_start = *next_row_id, .data_end = *next_row_id};
    tl_status status = TL_OK;
    for (size_t i = 0; status == TL_OK && i < delta->n; i++) {
        tl_manifest_entry *e = &delta->items[i];
        tl_data_file *copy = NULL;
        if (e->kind != TL_ENTRY_ADD)
            continue;
        status = tl_data_file_dup(e->file, &copy, err); /* the messages' files stay as they are: another round gives other numbers */
        if (status == TL_OK && copy->min_seq == 0)
            copy->min_seq = copy->max_seq = snapshot_id;
        if (status == TL_OK)
            status = assign_ids(&a, copy, err);
        if (status != TL_OK) {
            tl_data_file_unref(copy);
            break;
        }
        tl_data_file_unref(e->file);
        e->file = copy;
    }
    tl_free(a.sides);
    if (status == TL_OK)
        *next_row_id = a.next;
    return status;
}

tl_status tl_commit__onto_rows(tl_commit_messages *messages, int64_t first, tl_error *err)
{
    assignment a = {.next = first, .data_start = first, .data_end = first};
    tl_status status = TL_OK;
    for (size_t m = 0; status == TL_OK && m < messages->n; m++) {
        tl_file_list *files = &messages->items[m].new_files;
        for (size_t i = 0; status == TL_OK && i < files->n; i++) {
            tl_data_file *copy = NULL;
            status = tl_data_file_dup(files->items[i], &copy, err);
            if (status == TL_OK)
                status = assign_ids(&a, copy, err);
            if (status != TL_OK) {
                tl_data_file_unref(copy);
                break;
            }
            tl_data_file_unref(files->items[i]);
            files->items[i] = copy;
        }
    }
    tl_free(a.sides);
    return status;
}
