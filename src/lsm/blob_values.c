/*
 * BLOB columns of which data files keep descriptors instead of bytes (options `blob-descriptor-field`, `blob-external-storage-*`), and the
 * bytes that descriptors name. Java: CoreOptions#BLOB_DESCRIPTOR_FIELD, BlobRef, UriReader.
 *
 * A descriptor is data, and data names any file. Bytes are read of a file only if, all symbolic links followed, it is a plain file below
 * the table's own folder or below a folder of `blob-descriptor.allowed-paths`. That option counts where the user of this program gives it (a
 * command, a hint), never where it comes with the table: table/open.c takes it out of stored options.
 */
#include "lsm/lsm_private.h"

#include "base/parse.h"
#include "types/blob_descriptor.h"

#define ALLOWED TL_BLOB_PATHS_OPTION
/* Bytes that one batch gets from the files of descriptors, beyond its first row. */
#define BATCH_BYTES_MAX (INT64_C(64) << 20)
/* Open files: values that come after each other lie in the same few files, as a rule. */
#define FILES_MAX 8

/* ---- options ---- */

static tl_status mark_columns(const tl_type *row, const char *list, const char *key, bool *out, tl_error *err)
{
    for (tl_bytes_view name; tl_list_next(&list, &name);) {
        int32_t at = 0;
        if (name.len == 0)
            continue;
        while (at < row->n_fields && (strlen(row->fields[at].name) != name.len || memcmp(row->fields[at].name, name.data, name.len) != 0))
            at++;
        if (at == row->n_fields || row->fields[at].type->kind != TL_BLOB)
            return tl_error_set(err, TL_E_INVALID, "option '%s': '%.*s' is no BLOB column of the table", key, (int)name.len, (const char *)name.data);
        out[at] = true;
    }
    return TL_OK;
}

static tl_status parse_allowed(struct tl_lsm__blobs *blobs, const char *list, tl_error *err)
{
    size_t most = 2;
    for (const char *p = list; p != NULL && *p != '\0'; p++)
        most += *p == ',';
    if ((blobs->allowed = tl_calloc(most, sizeof *blobs->allowed)) == NULL)
        return tl_nomem(err, "options");
    for (tl_bytes_view piece; list != NULL && tl_list_next(&list, &piece);) {
        if (piece.len == 0)
            continue;
        TL_CLEANUP(tl_freep) char *uri = tl_strndup((const char *)piece.data, piece.len);
        char *path = uri == NULL ? NULL : tl_path_of_uri(uri);
        if (path == NULL)
            return tl_nomem(err, "options");
        blobs->allowed[blobs->n_allowed++] = path;
        if (*path != '/')
            return tl_error_set(err, TL_E_INVALID, "option '" ALLOWED "': '%s' is no absolute path of a local folder", uri);
    }
    return TL_OK;
}

tl_status tl_lsm__blobs_parse(tl_lsm_config *config, const tl_options *options, tl_error *err)
{
    const tl_type *row = config->schema->row_type;
    bool any = false;
    for (int32_t i = 0; i < row->n_fields; i++)
        any |= row->fields[i].type->kind == TL_BLOB;
    if (!any)
        return TL_OK;
    struct tl_lsm__blobs *blobs = config->blobs = tl_calloc(1, sizeof *blobs);
    if (blobs == NULL || (blobs->described = tl_calloc((size_t)row->n_fields + 1, sizeof(bool))) == NULL ||
        (blobs->outside = tl_calloc((size_t)row->n_fields + 1, sizeof(bool))) == NULL)
        return tl_nomem(err, "options");
    const char *described = tl_options_get(options, "blob-descriptor-field"), *outside = tl_options_get(options, "blob-external-storage-field");
    if (described != NULL)
        TL_TRY(mark_columns(row, described, "blob-descriptor-field", blobs->described, err));
    if (outside != NULL)
        TL_TRY(mark_columns(row, outside, "blob-external-storage-field", blobs->outside, err));
    for (int32_t i = 0; i < row->n_fields; i++) {
        if (blobs->outside[i] && !blobs->described[i])
            return tl_error_set(err, TL_E_INVALID, "Field '%s' in 'blob-external-storage-field' must also be in 'blob-descriptor-field'.", row->fields[i].name);
    }
    const char *folder = tl_options_get(options, "blob-external-storage-path");
    if (folder != NULL && (blobs->folder = tl_strdup(folder)) == NULL)
        return tl_nomem(err, "options");
    return parse_allowed(blobs, tl_options_get(options, ALLOWED), err);
}

void tl_lsm__blobs_free(struct tl_lsm__blobs *blobs)
{
    if (blobs == NULL)
        return;
    for (int32_t i = 0; i < blobs->n_allowed; i++)
        tl_free(blobs->allowed[i]);
    tl_free(blobs->allowed);
    tl_free(blobs->described);
    tl_free(blobs->outside);
    tl_free(blobs->folder);
    tl_free(blobs);
}

/* ---- files that descriptors name ---- */

typedef struct named_file {
    char *uri;
    tl_file *file;
    int64_t bytes;
    uint64_t used; /* when: the one that waits longest goes first */
} named_file;

struct tl_lsm__blob_files {
    const tl_lsm_config *config;
    named_file files[FILES_MAX];
    int32_t n;
    uint64_t turn;
};

tl_status tl_lsm__blob_files_create(const tl_lsm_config *config, tl_lsm__blob_files **out, tl_error *err)
{
    tl_lsm__blob_files *files = *out = tl_calloc(1, sizeof *files);
    if (files == NULL)
        return tl_nomem(err, "files of blobs");
    files->config = config;
    return TL_OK;
}

static void close_file(named_file *file)
{
    if (file->file != NULL)
        (void)tl_file_close(file->file, NULL); /* was only read */
    tl_free(file->uri);
    *file = (named_file){0};
}

void tl_lsm__blob_files_free(tl_lsm__blob_files *files)
{
    for (int32_t i = 0; files != NULL && i < files->n; i++)
        close_file(&files->files[i]);
    tl_free(files);
}

static bool is_below(const char *path, const char *folder)
{
    size_t n = strlen(folder);
    if (n == 1) /* the root */
        return true;
    return strncmp(path, folder, n) == 0 && path[n] == '/';
}

static bool has_dots(const char *path)
{
    size_t n = strlen(path);
    return strstr(path, "/../") != NULL || (n >= 3 && strcmp(path + n - 3, "/..") == 0);
}

/* Whether a path without links lies below a folder: below where that leads, or would lead if it were there. */
static tl_status is_allowed_by(tl_fs *fs, const char *real, const char *folder, bool *out, tl_error *err)
{
    TL_CLEANUP(tl_freep) char *root = NULL;
    tl_status status = tl_fs_real_path(fs, folder, &root, err);
    if (status == TL_E_NOMEM)
        return status;
    *out |= is_below(real, status == TL_OK ? root : folder);
    return TL_OK;
}

static tl_status refuse(const char *uri, const char *real, tl_error *err)
{
    size_t folder = (size_t)(tl_path_base(real) - real);
    folder -= folder > 1; /* the slash, unless it is all */
    return tl_error_set(err, TL_E_INVALID,
                        "a descriptor names '%s'; files outside of the table's folder are read only where '" ALLOWED "' lets them: "
                        "--option " ALLOWED "=%.*s, in SQL /*+ OPTIONS('" ALLOWED "' = '%.*s') */",
                        uri, (int)folder, real, (int)folder, real);
}

/* The path that may be opened for an address; tl_free. */
static tl_status allowed_path(const tl_lsm_config *config, const char *uri, char **out, tl_error *err)
{
    TL_CLEANUP(tl_freep) char *path = tl_path_of_uri(uri);
    TL_CLEANUP(tl_freep) char *real = NULL;
    bool allowed = false;
    if (path == NULL)
        return tl_nomem(err, "files of blobs");
    if (*path != '/')
        return tl_error_set(err, TL_E_UNSUPPORTED, "a descriptor names '%s': only local files (file:/…) are followed", uri);
    tl_error why = {0};
    tl_status status = tl_fs_real_path(config->fs, path, &real, &why);
    /* Of what is not allowed not a word is said, not even whether it is there. */
    const char *place = status == TL_OK ? real : path;
    for (int32_t i = -1; i < config->blobs->n_allowed && !allowed && !has_dots(place); i++)
        TL_TRY(is_allowed_by(config->fs, place, i < 0 ? config->paths.table : config->blobs->allowed[i], &allowed, err));
    if (!allowed)
        return refuse(uri, place, err);
    if (status != TL_OK)
        return tl_error_set(err, status, "a descriptor names '%s': %s", uri, why.message);
    *out = TL_STEAL(real);
    return TL_OK;
}

static tl_status open_named(const tl_lsm_config *config, named_file *out, tl_error *err)
{
    TL_CLEANUP(tl_freep) char *path = NULL;
    tl_stat stat;
    TL_TRY(allowed_path(config, out->uri, &path, err));
    TL_TRY(tl_fs_stat(config->fs, path, &stat, err));
    if (stat.is_dir || stat.is_special)
        return tl_error_set(err, TL_E_INVALID, "a descriptor names '%s', which is no plain file", out->uri);
    TL_TRY(tl_fs_open_read(config->fs, path, &out->file, err));
    return tl_file_size(out->file, &out->bytes, err);
}

static tl_status find_file(tl_lsm__blob_files *files, tl_bytes_view uri, const named_file **out, tl_error *err)
{
    if (uri.len == 0 || uri.len > TL_BLOB_URI_MAX || memchr(uri.data, 0, uri.len) != NULL)
        return tl_error_set(err, TL_E_INVALID, "descriptor of a blob: an address of %zu bytes, or with a NUL in it, names no file", uri.len);
    named_file *oldest = &files->files[0];
    for (int32_t i = 0; i < files->n; i++) {
        named_file *f = &files->files[i];
        if (strlen(f->uri) == uri.len && memcmp(f->uri, uri.data, uri.len) == 0) {
            f->used = ++files->turn;
            *out = f;
            return TL_OK;
        }
        oldest = f->used < oldest->used ? f : oldest;
    }
    named_file fresh = {.uri = tl_strndup((const char *)uri.data, uri.len), .used = ++files->turn};
    tl_status status = fresh.uri == NULL ? tl_nomem(err, "files of blobs") : open_named(files->config, &fresh, err);
    if (status != TL_OK) {
        close_file(&fresh);
        return status;
    }
    named_file *place = files->n < FILES_MAX ? &files->files[files->n++] : oldest;
    close_file(place);
    *place = fresh;
    *out = place;
    return TL_OK;
}

/* ---- values ---- */

/* File and place of a value; its length is that of the bytes, never TL_BLOB_TO_END. */
static tl_status locate(tl_lsm__blob_files *files, tl_bytes_view value, const named_file **file, tl_blob_descriptor *out, tl_error *err)
{
    TL_TRY(tl_blob_descriptor_read(value, out, err));
    TL_TRY(find_file(files, out->uri, file, err));
    int64_t bytes = (*file)->bytes;
    if (out->length == TL_BLOB_TO_END && out->offset <= bytes)
        out->length = bytes - out->offset;
    if (out->length < 0 || out->offset > bytes || out->length > bytes - out->offset)
        return tl_error_set(err, TL_E_INVALID, "a descriptor names %lld bytes from %lld on of '%s', which has %lld", (long long)out->length,
                            (long long)out->offset, (*file)->uri, (long long)bytes);
    if (out->length > INT32_MAX)
        return tl_error_set(err, TL_E_UNSUPPORTED, "a value of %lld bytes ('%s') is larger than a column can hold (2 GB)", (long long)out->length, (*file)->uri);
    return TL_OK;
}

static bool is_followed(const tl_column *col, int64_t i, bool all)
{
    return !tl_col_is_null(col, i) && (all || tl_blob_is_descriptor(tl_col_bytes(col, i)));
}

static tl_status value_bytes(tl_lsm__blob_files *files, const tl_column *col, int64_t i, bool all, int64_t *out, tl_error *err)
{
    const named_file *file = NULL;
    tl_blob_descriptor where;
    *out = (int64_t)tl_col_bytes(col, i).len;
    if (!is_followed(col, i, all))
        return TL_OK;
    TL_TRY(locate(files, tl_col_bytes(col, i), &file, &where, err));
    *out = where.length;
    return TL_OK;
}

tl_status tl_lsm__blobs_room(tl_lsm__blob_files *files, const tl_batch *batch, const int32_t *columns, int32_t n, bool all, int64_t from,
                             int64_t *rows, tl_error *err)
{
    int64_t sum = 0, i = from;
    for (; i < batch->n_rows; i++) {
        int64_t row = 0;
        for (int32_t c = 0; c < n; c++) {
            int64_t bytes = 0;
            TL_TRY(tl_error_wrap(err, value_bytes(files, batch->cols[columns[c]], i, all, &bytes, err), "column '%s'", batch->type->fields[columns[c]].name));
            row += bytes;
        }
        if (i > from && row > BATCH_BYTES_MAX - sum)
            break;
        sum += TL_MIN(row, BATCH_BYTES_MAX);
    }
    *rows = i - from;
    return TL_OK;
}

/* What the values take together, and whether any of them is followed at all. */
static tl_status measure(tl_lsm__blob_files *files, const tl_column *col, bool all, int64_t *sum, bool *any, tl_error *err)
{
    *sum = 0;
    *any = false;
    for (int64_t i = 0; i < col->length; i++) {
        int64_t bytes = 0;
        *any |= is_followed(col, i, all);
        TL_TRY(value_bytes(files, col, i, all, &bytes, err));
        *sum += bytes;
    }
    return *sum <= INT32_MAX ? TL_OK : tl_error_set(err, TL_E_LIMIT, "%lld bytes of blobs in one batch are more than a column can hold", (long long)*sum);
}

static tl_status copy_value(tl_lsm__blob_files *files, const tl_column *col, int64_t i, bool all, tl_column *out, tl_error *err)
{
    int32_t at = out->offsets[i];
    tl_bytes_view value = tl_col_bytes(col, i);
    if (!is_followed(col, i, all)) {
        if (value.len > 0)
            memcpy(out->data + at, value.data, value.len);
        out->offsets[i + 1] = at + (int32_t)value.len;
        return TL_OK;
    }
    const named_file *file = NULL;
    tl_blob_descriptor where;
    TL_TRY(locate(files, value, &file, &where, err));
    if (where.length > 0)
        TL_TRY(tl_file_read_at(file->file, where.offset, out->data + at, (size_t)where.length, err));
    out->offsets[i + 1] = at + (int32_t)where.length;
    return TL_OK;
}

tl_status tl_lsm__blobs_fetch(tl_lsm__blob_files *files, const tl_column *col, bool all, tl_column **out, tl_error *err)
{
    TL_CLEANUP(tl_column_unrefp) tl_column *made = NULL;
    int64_t sum = 0;
    bool any = false;
    TL_TRY(measure(files, col, all, &sum, &any, err));
    if (!any) {
        *out = tl_column_ref(col);
        return TL_OK;
    }
    TL_TRY(tl_column_alloc(col->type, col->length, &made, err));
    tl_free(made->data);
    made->data = tl_alloc_aligned((size_t)sum + 64);
    if (made->data == NULL)
        return tl_nomem(err, "values of blobs");
    if (col->null_count > 0) {
        if ((made->validity = tl_memdup(col->validity, tl_bitmap_bytes(col->length))) == NULL)
            return tl_nomem(err, "values of blobs");
        made->null_count = col->null_count;
    }
    for (int64_t i = 0; i < col->length; i++)
        TL_TRY(copy_value(files, col, i, all, made, err));
    *out = TL_STEAL(made);
    return TL_OK;
}

/* ---- rows read ---- */

typedef struct following_reader {
    tl_reader base;
    tl_lsm_config *config; /* ref held */
    tl_reader *inner;
    tl_lsm__blob_files *files;
    int32_t *columns; /* of the batches: those that hold descriptors */
    int32_t n_columns;
    tl_batch *batch; /* read last; NULL: nothing is left of it */
    int64_t taken;
} following_reader;

static void following_free(tl_reader *reader)
{
    following_reader *r = (following_reader *)reader;
    tl_reader_free(r->inner);
    tl_batch_free(r->batch);
    tl_lsm__blob_files_free(r->files);
    tl_free(r->columns);
    tl_type_unref(r->base.type);
    tl_lsm_config_unref(r->config);
    tl_free(r);
}

static tl_status fill_piece(following_reader *r, tl_batch *piece, tl_error *err)
{
    for (int32_t c = 0; c < r->n_columns; c++) {
        int32_t column = r->columns[c];
        tl_column *bytes = NULL;
        TL_TRY(tl_error_wrap(err, tl_lsm__blobs_fetch(r->files, piece->cols[column], /* all= */ true, &bytes, err), "column '%s'", r->base.type->fields[column].name));
        tl_column_unref(piece->cols[column]);
        piece->cols[column] = bytes;
    }
    return TL_OK;
}

static tl_status following_next(tl_reader *reader, tl_batch **out, tl_error *err)
{
    following_reader *r = (following_reader *)reader;
    TL_CLEANUP(tl_batch_freep) tl_batch *piece = NULL;
    int64_t rows = 0;
    while (r->batch == NULL || r->taken == r->batch->n_rows) {
        tl_batch_free(TL_STEAL(r->batch));
        r->taken = 0;
        TL_TRY(tl_reader_next(r->inner, &r->batch, err));
        if (r->batch == NULL) {
            *out = NULL;
            return TL_OK;
        }
    }
    TL_TRY(tl_lsm__blobs_room(r->files, r->batch, r->columns, r->n_columns, /* all= */ true, r->taken, &rows, err));
    TL_TRY(tl_batch_slice(r->batch, r->taken, rows, &piece, err));
    TL_TRY(fill_piece(r, piece, err));
    r->taken += rows;
    *out = TL_STEAL(piece);
    return TL_OK;
}

static const tl_reader_ops following_ops = {following_next, following_free};

tl_status tl_lsm__blobs_follow(tl_lsm_config *config, const int32_t *columns, int32_t n, tl_reader *inner_take, tl_reader **out, tl_error *err)
{
    TL_CLEANUP(tl_reader_freep) tl_reader *owned = inner_take;
    following_reader *r = tl_calloc(1, sizeof *r);
    if (r == NULL)
        return tl_nomem(err, "read");
    r->base = (tl_reader){&following_ops, tl_type_ref(owned->type)};
    r->config = tl_lsm_config_ref(config);
    r->inner = owned;
    owned = &r->base;
    TL_TRY(tl_lsm__blob_files_create(config, &r->files, err));
    if ((r->columns = tl_alloc(((size_t)n + 1) * sizeof *r->columns)) == NULL)
        return tl_nomem(err, "read");
    for (int32_t i = 0; i < n; i++) {
        if (tl_lsm__is_described(config, columns[i]))
            r->columns[r->n_columns++] = i;
    }
    *out = TL_STEAL(owned);
    return TL_OK;
}

static bool looks_at_values(const tl_lsm_config *config, const tl_predicate *pred, int32_t *column)
{
    for (int32_t i = 0; i < pred->n_children; i++) {
        if (looks_at_values(config, pred->children[i], column))
            return true;
    }
    *column = pred->column;
    return pred->n_children == 0 && pred->literals != NULL && tl_lsm__is_described(config, pred->column);
}

tl_status tl_lsm__blobs_check_filter(const tl_lsm_config *config, const tl_predicate *pred, tl_error *err)
{
    int32_t column = 0;
    if (config->blobs == NULL || pred == NULL || !looks_at_values(config, pred, &column))
        return TL_OK;
    return tl_error_set(err, TL_E_UNSUPPORTED,
                        "column '%s' holds descriptors of blobs ('blob-descriptor-field'): a filter can ask whether it is NULL, and for nothing else (SQL's WHERE can)",
                        config->schema->row_type->fields[column].name);
}
