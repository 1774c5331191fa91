/*
 * Source 'filesystem': the files of a path (one file, or a folder with its subfolders), read in order of their names, each to
 * its end. With source.monitor-interval new files are looked for until the job ends. Names that begin with '.' or '_' are
 * hidden; files ending in .gz are decompressed. With source.path.regex-pattern only files whose whole path matches are read.
 *
 * Position: {"done":["a.json",…],"file":"b.json","record":17}: names relative to the path, records read of the current one. A file
 * counts as complete when it is found, as in Flink: files that grow must be renamed into place.
 */
#include <stdlib.h>
#include <zlib.h>

#include "base/parse.h"
#include "connect/connect_private.h"

#define CHUNK_BYTES ((size_t)256 << 10)
#define DEPTH_MAX 32

typedef struct files_source {
    tl_source base;
    tl_fs *fs;
    char *path;
    bool is_dir;
    pcre2_code *pattern; /* whole paths that are read; NULL: all */
    tl_decoder *decoder;
    tl_row_buffer rows; /* of columns.record_type */
    tl_file_columns columns;
    int64_t monitor_ms; /* 0: bounded */
    int64_t next_look_ns;
    tl_map done;      /* name -> (void *)1 */
    char **queue;     /* names to read, sorted; queue[next] first */
    size_t n_queue, next_queue;
    /* the file being read */
    char *name; /* NULL: none */
    tl_file *file;
    int64_t offset, size;
    bool gzip;
    z_stream inflater;
    bool inflater_on;
    uint8_t *compressed;
    tl_buf text;     /* bytes of the file that are not consumed yet */
    size_t text_pos;
    bool text_end;   /* nothing follows `text` */
    int64_t record;  /* records consumed of this file */
    int64_t skip;    /* of a resumed file: records to pass over */
    /* history: only the files of a position, and of `last_name` only the first `last_records` records */
    bool history;
    char *last_name;
    int64_t last_records;
} files_source;

/* ---- which files ---- */

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool is_queued(const files_source *s, const char *name)
{
    for (size_t i = s->next_queue; i < s->n_queue; i++)
        if (strcmp(s->queue[i], name) == 0)
            return true;
    return s->name != NULL && strcmp(s->name, name) == 0;
}

static tl_status enqueue(files_source *s, const char *name, tl_error *err)
{
    if (tl_map_get(&s->done, name, strlen(name)) != NULL || is_queued(s, name))
        return TL_OK;
    char **grown = tl_realloc(s->queue, (s->n_queue + 1) * sizeof *grown);
    char *copy = tl_strdup(name);
    if (grown != NULL)
        s->queue = grown;
    if (grown == NULL || copy == NULL) {
        tl_free(copy);
        return tl_nomem(err, "file names");
    }
    s->queue[s->n_queue++] = copy;
    return TL_OK;
}

static bool is_wanted(const files_source *s, const char *path)
{
    return s->pattern == NULL || tl_connect__matches(s->pattern, (tl_bytes_view){(const uint8_t *)path, strlen(path)});
}

static tl_status look(files_source *s, const char *dir, const char *prefix, int depth, tl_error *err)
{
    if (depth > DEPTH_MAX)
        return tl_error_set(err, TL_E_LIMIT, "'%s' is nested deeper than %d folders", s->path, DEPTH_MAX);
    tl_dir_entry *entries;
    size_t n;
    TL_TRY(tl_fs_list(s->fs, dir, &entries, &n, err));
    tl_status status = TL_OK;
    for (size_t i = 0; i < n && status == TL_OK; i++) {
        if (entries[i].name[0] == '.' || entries[i].name[0] == '_')
            continue;
        TL_CLEANUP(tl_freep) char *name = tl_path_join(prefix, entries[i].name);
        TL_CLEANUP(tl_freep) char *path = tl_path_join(dir, entries[i].name);
        if (name == NULL || path == NULL)
            status = tl_nomem(err, "file names");
        else if (entries[i].stat.is_dir)
            status = look(s, path, name, depth + 1, err);
        else if (is_wanted(s, path))
            status = enqueue(s, name, err);
    }
    tl_dir_free(entries, n);
    return status;
}

/* Find files that are not done; sorted by name, so that the order does not depend on the folder's. */
static tl_status find_files(files_source *s, tl_error *err)
{
    tl_stat stat;
    tl_status status = tl_fs_stat(s->fs, s->path, &stat, err);
    if (status == TL_E_NOT_FOUND && s->monitor_ms > 0)
        return TL_OK; /* the folder may come later */
    TL_TRY(status);
    s->is_dir = stat.is_dir;
    if (!stat.is_dir)
        return is_wanted(s, s->path) ? enqueue(s, tl_path_base(s->path), err) : TL_OK;
    TL_TRY(look(s, s->path, "", 0, err));
    if (s->n_queue > s->next_queue)
        qsort(s->queue + s->next_queue, s->n_queue - s->next_queue, sizeof *s->queue, compare_names);
    return TL_OK;
}

/* ---- bytes of the current file ---- */

static void close_file(files_source *s)
{
    if (s->inflater_on)
        inflateEnd(&s->inflater);
    s->inflater_on = false;
    (void)tl_file_close(s->file, NULL); /* read only */
    s->file = NULL;
    tl_free(s->name);
    s->name = NULL;
    s->text.len = s->text_pos = 0;
}

static tl_status open_file(files_source *s, char *name_take, int64_t skip, tl_error *err)
{
    s->name = name_take;
    TL_CLEANUP(tl_freep) char *path = s->is_dir ? tl_path_join(s->path, s->name) : tl_strdup(s->path);
    if (path == NULL)
        return tl_nomem(err, "path");
    TL_TRY(tl_fs_open_read(s->fs, path, &s->file, err));
    TL_TRY(tl_file_size(s->file, &s->size, err));
    if (s->columns.n > 0) {
        tl_stat stat;
        TL_TRY(tl_fs_stat(s->fs, path, &stat, err));
        TL_TRY(tl_error_wrap(err, tl_connect__file_columns_begin(&s->columns, path, s->name, &stat, err), "file '%s'", s->name));
    }
    size_t len = strlen(s->name);
    s->gzip = len > 3 && strcmp(s->name + len - 3, ".gz") == 0;
    if (s->gzip) {
        memset(&s->inflater, 0, sizeof s->inflater);
        if (inflateInit2(&s->inflater, 15 + 16) != Z_OK)
            return tl_nomem(err, "gzip");
        s->inflater_on = true;
        if (s->compressed == NULL && (s->compressed = tl_alloc(CHUNK_BYTES)) == NULL)
            return tl_nomem(err, "gzip");
    }
    s->offset = 0;
    s->record = 0;
    s->skip = skip;
    s->text_end = false;
    return TL_OK;
}

static tl_status read_plain(files_source *s, tl_error *err)
{
    size_t bytes = (size_t)TL_MIN((int64_t)CHUNK_BYTES, s->size - s->offset);
    if (tl_buf_reserve(&s->text, bytes) != TL_OK)
        return tl_nomem(err, "text");
    TL_TRY(tl_file_read_at(s->file, s->offset, s->text.data + s->text.len, bytes, err));
    s->text.len += bytes;
    s->offset += (int64_t)bytes;
    s->text_end = s->offset == s->size;
    return TL_OK;
}

static tl_status read_gzip(files_source *s, tl_error *err)
{
    if (s->inflater.avail_in == 0 && s->offset < s->size) {
        size_t bytes = (size_t)TL_MIN((int64_t)CHUNK_BYTES, s->size - s->offset);
        TL_TRY(tl_file_read_at(s->file, s->offset, s->compressed, bytes, err));
        s->offset += (int64_t)bytes;
        s->inflater.next_in = s->compressed;
        s->inflater.avail_in = (unsigned)bytes;
    }
    if (tl_buf_reserve(&s->text, CHUNK_BYTES) != TL_OK)
        return tl_nomem(err, "text");
    s->inflater.next_out = s->text.data + s->text.len;
    s->inflater.avail_out = CHUNK_BYTES;
    int rc = inflate(&s->inflater, Z_NO_FLUSH);
    s->text.len += CHUNK_BYTES - s->inflater.avail_out;
    bool input_left = s->inflater.avail_in > 0 || s->offset < s->size;
    if (rc == Z_STREAM_END && input_left)
        rc = inflateReset(&s->inflater); /* another member follows */
    else if (rc == Z_STREAM_END)
        s->text_end = true;
    if ((rc != Z_OK && rc != Z_STREAM_END && rc != Z_BUF_ERROR) || (!input_left && !s->text_end && s->inflater.avail_out > 0))
        return tl_error_set(err, TL_E_CORRUPT, "the gzip data is broken near byte %lld", (long long)s->offset);
    return TL_OK;
}

static tl_status read_more(files_source *s, tl_error *err)
{
    if (s->text_pos > 0) { /* keep only what is not consumed */
        memmove(s->text.data, s->text.data + s->text_pos, s->text.len - s->text_pos);
        s->text.len -= s->text_pos;
        s->text_pos = 0;
    }
    if (s->text.len > TL_CONNECT_LINE_BYTES_MAX)
        return tl_error_set(err, TL_E_LIMIT, "record %lld is longer than %zu bytes", (long long)s->record + 1, TL_CONNECT_LINE_BYTES_MAX);
    if (s->size == 0) {
        s->text_end = true;
        return TL_OK;
    }
    return s->gzip ? read_gzip(s, err) : read_plain(s, err);
}

/* End of the record that begins at text_pos, or text.len if it is not there yet. */
static size_t record_end(const files_source *s)
{
    tl_bytes_view rest = {s->text.data + s->text_pos, s->text.len - s->text_pos};
    if (rest.len == 0)
        return s->text.len;
    if (s->decoder->record_end != NULL)
        return s->text_pos + s->decoder->record_end(s->decoder, rest);
    const uint8_t *hit = memchr(rest.data, '\n', rest.len);
    return hit == NULL ? s->text.len : (size_t)(hit - s->text.data);
}

/* Text files of some editors begin with a mark that is not of their first record. */
static void skip_mark(files_source *s)
{
    if (s->record == 0 && s->text_pos == 0 && s->text.len >= 3 && s->decoder->skips_mark && memcmp(s->text.data, "\xef\xbb\xbf", 3) == 0)
        s->text_pos = 3;
}

/* The next record of the current file; *more is false at its end. */
static tl_status next_record(files_source *s, tl_bytes_view *out, bool *more, tl_error *err)
{
    size_t end = record_end(s);
    while (end == s->text.len && !s->text_end) {
        TL_TRY(read_more(s, err));
        skip_mark(s);
        end = record_end(s);
    }
    *more = s->text_pos < s->text.len;
    if (!*more)
        return TL_OK;
    size_t len = end - s->text_pos;
    *out = (tl_bytes_view){s->text.data + s->text_pos, len};
    if (len > 0 && out->data[len - 1] == '\r')
        out->len--;
    s->text_pos = TL_MIN(end + 1, s->text.len);
    return TL_OK;
}

/* ---- the source ---- */

static tl_status finish_file(files_source *s, tl_error *err)
{
    if (tl_map_put(&s->done, s->name, strlen(s->name), (void *)1, NULL) != TL_OK)
        return tl_nomem(err, "file names");
    close_file(s);
    return TL_OK;
}

/* Decode until max_rows are there or the file ends (*ended). */
static tl_status read_rows(files_source *s, int64_t max_rows, bool *ended, tl_error *err)
{
    *ended = false;
    while (s->rows.n < max_rows) {
        tl_bytes_view record;
        bool more = !s->history || s->last_name == NULL || s->record < s->last_records || strcmp(s->name, s->last_name) != 0;
        if (more)
            TL_TRY(next_record(s, &record, &more, err));
        if (!more) {
            *ended = true;
            return TL_OK;
        }
        s->record++;
        if (s->record <= s->skip)
            continue;
        s->rows.record_start = s->rows.n;
        TL_TRY(tl_error_wrap(err, s->decoder->ops->decode(s->decoder, record, &s->rows, err), "record %lld", (long long)s->record));
    }
    return TL_OK;
}

static tl_status next_file(files_source *s, bool *found, tl_error *err)
{
    int64_t now = tl_monotonic_ns();
    if (s->next_queue == s->n_queue && s->monitor_ms > 0 && now >= s->next_look_ns) {
        s->next_queue = s->n_queue = 0;
        TL_TRY(find_files(s, err));
        s->next_look_ns = now + s->monitor_ms * 1000000;
    }
    *found = s->next_queue < s->n_queue;
    return *found ? open_file(s, s->queue[s->next_queue++], 0, err) : TL_OK;
}

static tl_status files_next(tl_source *source, int64_t max_rows, tl_batch **out, tl_source_state *state, tl_error *err)
{
    files_source *s = (files_source *)source;
    *out = NULL;
    while (s->rows.n < max_rows) {
        if (s->file == NULL) {
            if (s->rows.n > 0 && s->columns.n > 0)
                break; /* a batch is of one file: that makes the values of its partition */
            bool found;
            TL_TRY(tl_error_wrap(err, next_file(s, &found, err), "files '%s'", s->path));
            if (!found)
                break;
        }
        bool ended;
        TL_TRY(tl_error_wrap(err, read_rows(s, max_rows, &ended, err), "file '%s' of '%s'", s->name, s->path));
        if (ended)
            TL_TRY(finish_file(s, err));
    }
    if (s->rows.n > 0) {
        *state = TL_SOURCE_ROWS;
        TL_TRY(tl_connect__rows_finish(&s->rows, out, err));
        tl_status status = tl_connect__file_columns_add(&s->columns, out, err);
        if (status != TL_OK) {
            tl_batch_free(*out);
            *out = NULL;
        }
        return status;
    }
    *state = s->monitor_ms > 0 ? TL_SOURCE_IDLE : TL_SOURCE_END;
    return TL_OK;
}

static tl_status files_position(const tl_source *source, tl_buf *out)
{
    const files_source *s = (const files_source *)source;
    tl_json_writer w;
    tl_json_writer_init(&w, false);
    tl_json_begin_object(&w);
    tl_json_key(&w, "done");
    tl_json_begin_array(&w);
    size_t pos = 0;
    tl_bytes_view name;
    while (tl_map_next(&s->done, &pos, &name, NULL))
        tl_json_write_bytes(&w, name);
    tl_json_end_array(&w);
    if (s->name != NULL) {
        tl_json_key(&w, "file");
        tl_json_write_str(&w, s->name);
        tl_json_key(&w, "record");
        tl_json_write_int(&w, TL_MAX(s->record, s->skip));
    }
    tl_json_end_object(&w);
    tl_status status = w.status != TL_OK ? w.status : tl_buf_append(out, w.out.data, w.out.len);
    tl_json_writer_deinit(&w);
    return status;
}

static void files_free(tl_source *source)
{
    files_source *s = (files_source *)source;
    close_file(s);
    for (size_t i = s->next_queue; i < s->n_queue; i++)
        tl_free(s->queue[i]);
    tl_free(s->queue);
    tl_map_deinit(&s->done);
    if (s->decoder != NULL)
        s->decoder->ops->free(s->decoder);
    tl_connect__rows_deinit(&s->rows);
    tl_connect__file_columns_deinit(&s->columns);
    tl_buf_deinit(&s->text);
    pcre2_code_free(s->pattern);
    tl_free(s->compressed);
    tl_free(s->last_name);
    tl_free(s->path);
    tl_free(s);
}

static tl_status resume(files_source *s, const tl_json *json, tl_error *err)
{
    const tl_json *done = tl_json_get(json, "done"), *file = tl_json_get(json, "file");
    for (const tl_json *name = done == NULL ? NULL : done->child; name != NULL; name = name->next)
        if (tl_map_put(&s->done, name->text.data, name->text.len, (void *)1, NULL) != TL_OK)
            return tl_nomem(err, "file names");
    int64_t record;
    if (file == NULL)
        return TL_OK;
    if (!tl_json_int64(tl_json_get(json, "record"), &record))
        return tl_error_set(err, TL_E_CORRUPT, "the position has a file but no record");
    tl_stat stat;
    TL_TRY(tl_fs_stat(s->fs, s->path, &stat, err));
    s->is_dir = stat.is_dir;
    char *name = tl_strndup((const char *)file->text.data, file->text.len);
    return name == NULL ? tl_nomem(err, "file name") : open_file(s, name, record, err);
}

/* The files of the position become the queue. */
static tl_status look_back(files_source *s, const tl_json *json, tl_error *err)
{
    tl_stat stat;
    TL_TRY(tl_fs_stat(s->fs, s->path, &stat, err));
    s->is_dir = stat.is_dir;
    s->history = true;
    s->monitor_ms = 0;
    tl_arena names = {0};
    tl_status status = TL_OK;
    const tl_json *done = tl_json_get(json, "done"), *file = tl_json_get(json, "file");
    for (const tl_json *name = done == NULL ? NULL : done->child; name != NULL && status == TL_OK; name = name->next) {
        const char *text = tl_json_strdup(&names, name);
        status = text == NULL ? tl_nomem(err, "file names") : enqueue(s, text, err);
    }
    if (s->n_queue > 1)
        qsort(s->queue, s->n_queue, sizeof *s->queue, compare_names);
    if (status == TL_OK && file != NULL) {
        s->last_name = tl_strndup((const char *)file->text.data, file->text.len);
        if (s->last_name == NULL)
            status = tl_nomem(err, "file names");
        else if (!tl_json_int64(tl_json_get(json, "record"), &s->last_records))
            status = tl_error_set(err, TL_E_CORRUPT, "the position has a file but no record");
        else
            status = enqueue(s, s->last_name, err);
    }
    tl_arena_deinit(&names);
    return status;
}

static tl_status resume_text(files_source *s, const char *position, bool history, tl_error *err)
{
    tl_arena arena = {0};
    const tl_json *json;
    tl_status status = tl_json_parse(&arena, (tl_bytes_view){(const uint8_t *)position, strlen(position)}, &json, err);
    if (status == TL_OK)
        status = history ? look_back(s, json, err) : resume(s, json, err);
    tl_arena_deinit(&arena);
    return tl_error_wrap(err, status, "position of files '%s'", s->path);
}

static tl_status monitor_interval(const tl_options *options, int64_t *out, tl_error *err)
{
    const char *text = tl_options_get(options, "source.monitor-interval");
    *out = 0;
    return text == NULL ? TL_OK : tl_error_wrap(err, tl_parse_duration_ms(text, out, err), "option 'source.monitor-interval'");
}

bool tl_connect__files_bounded(const tl_connector_spec *spec)
{
    int64_t ms;
    return monitor_interval(spec->options, &ms, NULL) != TL_OK || ms == 0;
}

static tl_status init(files_source *s, const tl_connector_spec *spec, const char *position, bool history, tl_error *err)
{
    const char *path = tl_options_get(spec->options, "path");
    if (path == NULL)
        return tl_error_set(err, TL_E_INVALID, "connector 'filesystem' needs the option 'path'");
    s->path = tl_path_of_uri(path);
    if (s->path == NULL)
        return tl_nomem(err, "path");
    TL_TRY(monitor_interval(spec->options, &s->monitor_ms, err));
    TL_TRY(tl_connect__pattern(spec->options, "source.path.regex-pattern", &s->pattern, err));
    const tl_format_def *format;
    TL_TRY(tl_connect__format(spec, &format, err));
    TL_TRY(tl_connect__file_columns_init(&s->columns, spec, err));
    tl_connector_spec of_records = *spec;
    of_records.row_type = s->columns.record_type;
    TL_TRY(format->create(&of_records, &s->decoder, err));
    TL_TRY(tl_connect__rows_init(&s->rows, s->columns.record_type, err));
    if (position != NULL)
        TL_TRY(resume_text(s, position, history, err));
    return history || s->monitor_ms > 0 ? TL_OK : find_files(s, err);
}

tl_status tl_connect__files_source(const tl_connector_spec *spec, const char *position, bool history, tl_source **out, tl_error *err)
{
    static const tl_source_ops ops = {files_next, files_position, files_free};
    files_source *s = tl_calloc(1, sizeof *s);
    if (s == NULL)
        return tl_nomem(err, "source");
    s->base.ops = &ops;
    s->fs = spec->fs;
    tl_status status = init(s, spec, position, history, err);
    if (status != TL_OK) {
        files_free(&s->base);
        return status;
    }
    *out = &s->base;
    return TL_OK;
}
