/*
 * Writing a format table: files are written under hidden names beside the table's, and get their own when they are committed. An overwrite
 * then removes the files that were there before; other readers may see both for a moment, but a crash loses none. Java: FormatTableWrite,
 * FormatTableRollingFileWriter, FormatTableCommit (which removes the old files first).
 */
#include "table/format_table.h"

/* Files that are open at a time: each has a buffer and a descriptor. Beyond it the one that holds most is finished. */
#define OPEN_MAX 256

typedef struct part {
    tl_bytes partition;
    char *dir;
    tl_file_writer *open; /* NULL: no open file */
    char *name;           /* of the open file */
    tl_file_list closed;
} part;

struct tl_format_writer {
    tl_table *table;
    char uuid[37];
    int32_t next; /* number of the next file */
    part *parts;
    size_t n, cap;
    size_t n_open;
    tl_map index; /* partition -> position + 1 */
};

/* ---- names ---- */

static char *hidden_path(const char *dir, const char *name)
{
    return tl_strf("%s/.%s", dir, name);
}

static char *next_name(tl_format_writer *w)
{
    const tl_lsm_config *config = w->table->config;
    const tl_folder *f = w->table->folder;
    return tl_data_file_name(config->data_prefix, w->uuid, w->next++, "", f->format, f->compression, config->suffix_compression);
}

/* ---- one partition's files ---- */

static tl_status open_file(tl_format_writer *w, part *p, tl_error *err)
{
    const tl_table *table = w->table;
    const tl_folder *f = table->folder;
    TL_CLEANUP(tl_freep) int32_t *ids = tl_calloc((size_t)f->n_file + 1, sizeof *ids);
    TL_CLEANUP(tl_freep) char *path = NULL;
    tl_free(p->name);
    p->name = next_name(w);
    if (ids == NULL || p->name == NULL || (path = hidden_path(p->dir, p->name)) == NULL)
        return tl_nomem(err, "file name");
    for (int32_t i = 0; i < f->n_file; i++)
        ids[i] = f->file_type->fields[i].id;
    tl_write_spec spec = {.row_type = f->file_type,
                          .field_ids = ids,
                          .compression = f->compression,
                          .compression_level = table->config->zstd_level,
                          .options = &table->schema->options};
    TL_TRY(tl_fs_mkdirs(table->fs, p->dir, err));
    TL_TRY(f->format->create(table->fs, path, &spec, &p->open, err));
    w->n_open++;
    return TL_OK;
}

static tl_status close_file(tl_format_writer *w, part *p, tl_error *err)
{
    tl_write_result result = {0};
    tl_data_file *file = NULL;
    if (p->open == NULL)
        return TL_OK;
    tl_file_writer *open = TL_STEAL(p->open);
    w->n_open--;
    tl_status status = open->ops->finish(open, &result, err);
    open->ops->free(open);
    int64_t bytes = result.bytes, rows = result.rows;
    tl_write_result_deinit(&result);
    TL_TRY(tl_error_wrap(err, status, "file '%s'", p->name));
    status = tl_format_table__entry(w->table, p->name, /* path= */ NULL, bytes, rows, &file, err);
    if (status == TL_OK)
        status = tl_file_list_add(&p->closed, file, err);
    tl_data_file_unref(file);
    if (status != TL_OK) {
        TL_CLEANUP(tl_freep) char *path = hidden_path(p->dir, p->name);
        if (path != NULL)
            (void)tl_fs_remove(w->table->fs, path, NULL); /* nobody will know of it */
    }
    return status;
}

static void remove_hidden(const tl_table *table, const char *dir, const tl_file_list *files)
{
    for (size_t i = 0; i < files->n; i++) {
        TL_CLEANUP(tl_freep) char *path = hidden_path(dir, files->items[i]->name);
        if (path != NULL)
            (void)tl_fs_remove(table->fs, path, NULL); /* best effort: readers pass over it */
    }
}

/* ---- the writer ---- */

tl_status tl_format_writer__create(tl_table *table, tl_format_writer **out, tl_error *err)
{
    tl_format_writer *w = tl_calloc(1, sizeof *w);
    if (w == NULL)
        return tl_nomem(err, "table writer");
    w->table = table;
    tl_uuid(w->uuid);
    *out = w;
    return TL_OK;
}

static void part_deinit(const tl_table *table, part *p)
{
    if (p->open != NULL)
        p->open->ops->free(p->open);
    if (p->dir != NULL)
        remove_hidden(table, p->dir, &p->closed);
    tl_file_list_deinit(&p->closed);
    tl_bytes_deinit(&p->partition);
    tl_free(p->dir);
    tl_free(p->name);
}

static void clear(tl_format_writer *w)
{
    for (size_t i = 0; i < w->n; i++)
        part_deinit(w->table, &w->parts[i]);
    tl_map_deinit(&w->index);
    w->index = (tl_map){0};
    w->n = w->n_open = 0;
}

void tl_format_writer__free(tl_format_writer *w)
{
    if (w == NULL)
        return;
    clear(w);
    tl_free(w->parts);
    tl_free(w);
}

static tl_status find_part(tl_format_writer *w, tl_bytes_view partition, part **out, tl_error *err)
{
    uintptr_t at = (uintptr_t)tl_map_get(&w->index, partition.data, partition.len);
    if (at != 0) {
        *out = &w->parts[at - 1];
        return TL_OK;
    }
    if (w->n == w->cap) {
        size_t cap = w->cap == 0 ? 16 : w->cap * 2;
        part *parts = tl_realloc(w->parts, cap * sizeof *parts);
        if (parts == NULL)
            return tl_nomem(err, "partitions");
        w->parts = parts;
        w->cap = cap;
    }
    part *p = &w->parts[w->n];
    *p = (part){0};
    tl_status status = tl_format_table__dir(w->table, partition, &p->dir, err);
    if (status == TL_OK && (tl_bytes_dup(partition, &p->partition) != TL_OK ||
                            tl_map_put(&w->index, partition.data, partition.len, (void *)(uintptr_t)(w->n + 1), NULL) != TL_OK))
        status = tl_nomem(err, "partitions");
    if (status != TL_OK) {
        part_deinit(w->table, p);
        return status;
    }
    w->n++;
    *out = p;
    return TL_OK;
}

static int64_t held_bytes(const part *p)
{
    if (p->open == NULL)
        return -1;
    const tl_file_writer_ops *ops = p->open->ops;
    return ops->memory_bytes == NULL ? ops->bytes_estimate(p->open) : ops->memory_bytes(p->open);
}

/* Many partitions at once: files that hold much are finished before they are full. */
static tl_status keep_budget(tl_format_writer *w, tl_error *err)
{
    for (;;) {
        int64_t total = 0, most = -1;
        part *fullest = NULL;
        for (size_t i = 0; i < w->n; i++) {
            int64_t bytes = held_bytes(&w->parts[i]);
            total += TL_MAX(bytes, 0);
            if (bytes > most) {
                most = bytes;
                fullest = &w->parts[i];
            }
        }
        bool fits = total <= w->table->config->write_buffer_bytes || w->n_open == 1;
        if (fullest == NULL || (fits && w->n_open <= OPEN_MAX))
            return TL_OK;
        TL_TRY(close_file(w, fullest, err));
    }
}

static tl_status check_kinds(const tl_batch *rows, tl_error *err)
{
    for (int64_t i = 0; rows->row_kind != NULL && i < rows->n_rows; i++) {
        if (rows->row_kind[i] != TL_KIND_INSERT)
            return tl_error_set(err, TL_E_INVALID, "a format table takes rows that are added (+I) only, not %s", tl_row_kind_text(rows->row_kind[i]));
    }
    return TL_OK;
}

tl_status tl_format_writer__write(tl_format_writer *w, tl_bytes_view partition, const tl_batch *rows, tl_error *err)
{
    const tl_folder *f = w->table->folder;
    part *p = NULL;
    TL_TRY(check_kinds(rows, err));
    TL_TRY(find_part(w, partition, &p, err));
    if (p->open == NULL)
        TL_TRY(open_file(w, p, err));
    TL_CLEANUP(tl_batch_freep) tl_batch *in_file = NULL;
    TL_TRY(tl_batch_create(f->file_type, rows->n_rows, &in_file, err));
    for (int32_t i = 0; i < f->n_file; i++)
        in_file->cols[i] = tl_column_ref(rows->cols[f->file_idx[i]]);
    TL_TRY(tl_error_wrap(err, p->open->ops->write(p->open, in_file, err), "file '%s'", p->name));
    if (p->open->ops->bytes_estimate(p->open) >= w->table->config->target_file_bytes)
        TL_TRY(close_file(w, p, err));
    return keep_budget(w, err);
}

tl_status tl_format_writer__prepare(tl_format_writer *w, tl_commit_messages *out, tl_error *err)
{
    for (size_t i = 0; i < w->n; i++)
        TL_TRY(close_file(w, &w->parts[i], err));
    tl_commit_messages messages = {.items = tl_calloc(w->n + 1, sizeof *messages.items), .cap = w->n + 1};
    if (messages.items == NULL)
        return tl_nomem(err, "commit messages");
    for (size_t i = 0; i < w->n; i++) {
        part *p = &w->parts[i];
        if (p->closed.n == 0)
            continue;
        tl_commit_message *m = &messages.items[messages.n++];
        m->total_buckets = -1;
        m->partition = p->partition;
        m->new_files = p->closed;
        p->partition = (tl_bytes){0};
        p->closed = (tl_file_list){0};
    }
    clear(w);
    *out = messages;
    return TL_OK;
}

/* ---- commit ---- */

void tl_format_table__abort(tl_table *table, const tl_commit_messages *messages)
{
    for (size_t i = 0; i < messages->n; i++) {
        TL_CLEANUP(tl_freep) char *dir = NULL;
        if (tl_format_table__dir(table, tl_bytes_view_of(messages->items[i].partition), &dir, NULL) == TL_OK)
            remove_hidden(table, dir, &messages->items[i].new_files);
    }
}

static tl_status check_names(const tl_commit_messages *messages, tl_error *err)
{
    for (size_t i = 0; i < messages->n; i++) {
        for (size_t k = 0; k < messages->items[i].new_files.n; k++) {
            const char *name = messages->items[i].new_files.items[k]->name;
            if (!tl_path_is_name((tl_bytes_view){(const uint8_t *)name, strlen(name)}))
                return tl_error_set(err, TL_E_INVALID, "'%s' is no name of a file", name);
        }
    }
    return TL_OK;
}

/* From the hidden name to its own, or (`back`) the other way round. */
static tl_status rename_file(const tl_table *table, const char *dir, const char *name, bool back, tl_error *err)
{
    TL_CLEANUP(tl_freep) char *hidden = hidden_path(dir, name);
    TL_CLEANUP(tl_freep) char *path = tl_path_join(dir, name);
    if (hidden == NULL || path == NULL)
        return tl_nomem(err, "path");
    return tl_fs_rename(table->fs, back ? path : hidden, back ? hidden : path, /* replace= */ false, err);
}

/* *done: how many have their names, in the order of the messages. */
static tl_status rename_all(const tl_table *table, const tl_commit_messages *messages, size_t *done, tl_error *err)
{
    for (size_t i = 0; i < messages->n; i++) {
        const tl_commit_message *m = &messages->items[i];
        TL_CLEANUP(tl_freep) char *dir = NULL;
        TL_TRY(tl_format_table__dir(table, tl_bytes_view_of(m->partition), &dir, err));
        for (size_t k = 0; k < m->new_files.n; k++, ++*done)
            TL_TRY(rename_file(table, dir, m->new_files.items[k]->name, /* back= */ false, err));
        TL_TRY(tl_fs_sync_dir(table->fs, dir, err));
    }
    return TL_OK;
}

static void rename_back(const tl_table *table, const tl_commit_messages *messages, size_t done)
{
    for (size_t i = 0; i < messages->n && done > 0; i++) {
        const tl_commit_message *m = &messages->items[i];
        TL_CLEANUP(tl_freep) char *dir = NULL;
        if (tl_format_table__dir(table, tl_bytes_view_of(m->partition), &dir, NULL) != TL_OK)
            return;
        for (size_t k = 0; k < m->new_files.n && done > 0; k++, done--)
            (void)rename_file(table, dir, m->new_files.items[k]->name, /* back= */ true, NULL); /* the first failure is what is told */
    }
}

/* Whether the messages bring files for the partition: an overwrite without partitions named replaces those. */
static bool brings(const tl_commit_messages *messages, tl_bytes_view partition)
{
    for (size_t i = 0; i < messages->n; i++) {
        if (tl_bytes_equal(tl_bytes_view_of(messages->items[i].partition), partition))
            return true;
    }
    return false;
}

static tl_status find_old(tl_table *table, const tl_commit_spec *spec, tl_splits *out, tl_error *err)
{
    TL_CLEANUP(tl_predicate_freep) tl_predicate *pred = NULL;
    if (spec->overwrite_partition != NULL)
        TL_TRY(tl_table__partition_predicate(table, spec->overwrite_partition, &pred, err));
    return tl_format_table__files(table, pred, out, err);
}

/* The files that an overwrite replaces. `messages` NULL: all of them go. */
static tl_status remove_old(const tl_table *table, const tl_splits *old, const tl_commit_messages *messages, tl_error *err)
{
    for (size_t i = 0; i < old->n; i++) {
        const tl_split *split = &old->items[i];
        if (messages != NULL && !brings(messages, tl_bytes_view_of(split->partition)))
            continue;
        tl_status status = tl_fs_remove(table->fs, split->files.items[0]->external_path, err);
        if (status != TL_E_NOT_FOUND)
            TL_TRY(status);
    }
    return TL_OK;
}

tl_status tl_format_table__commit(tl_table *table, const tl_commit_spec *spec, const tl_commit_messages *messages, tl_error *err)
{
    tl_splits old = {0};
    size_t done = 0;
    bool dynamic = spec->overwrite_partition == NULL && table->n_partition > 0;
    tl_status status = check_names(messages, err);
    if (status == TL_OK && spec->overwrite)
        status = find_old(table, spec, &old, err);
    if (status == TL_OK)
        status = tl_fs_flush(table->fs, err);
    if (status == TL_OK)
        status = rename_all(table, messages, &done, err);
    if (status != TL_OK) {
        rename_back(table, messages, done);
        if (!spec->keep_files)
            tl_format_table__abort(table, messages);
    } else {
        status = remove_old(table, &old, dynamic ? messages : NULL, err);
    }
    tl_splits_deinit(&old);
    return status;
}

tl_status tl_format_table__drop(tl_table *table, const tl_predicate *pred, tl_error *err)
{
    tl_splits old = {0};
    tl_status status = tl_format_table__files(table, pred, &old, err);
    if (status == TL_OK)
        status = remove_old(table, &old, NULL, err);
    for (size_t i = 0; status == TL_OK && i < old.n && table->n_partition > 0; i++) {
        char *path = old.items[i].files.items[0]->external_path;
        *strrchr(path, '/') = '\0';
        (void)tl_fs_remove(table->fs, path, NULL); /* the partition's folder, if nothing is left in it */
    }
    tl_splits_deinit(&old);
    return status;
}
