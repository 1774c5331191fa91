/* A file of lines as batches. It is held in memory as a whole: mapped if it is not compressed. */
#include "format/lines/lines_private.h"
#include "format/passing.h"

/* Texts of one batch: far below the 2^31 that offsets can hold. */
#define BATCH_BYTES_MAX ((size_t)64 << 20)

typedef struct lines_reader {
    tl_reader base;
    tl_lines_kind kind;
    tl_fs *fs; /* ref held */
    tl_file *file;
    char *name; /* for messages */
    tl_buf plain;
    tl_lines_cursor cursor;
    tl_lines_parser parser;
    tl_predicate *predicate; /* rows that fail are left out; NULL: none */
    int64_t batch_rows;
    bool with_row_numbers;
    int64_t row_number; /* of the next line */
} lines_reader;

/* ---- batches ---- */

static tl_status add_line(lines_reader *r, tl_bytes_view line, bool *keep, tl_error *err)
{
    tl_lines_parser *p = &r->parser;
    *keep = true;
    if (r->kind == TL_LINES_CSV)
        return tl_lines__parse_csv(p, line, keep, err);
    if (r->kind == TL_LINES_JSON)
        return tl_lines__parse_json(p, line, keep, err);
    return r->base.type->n_fields == 0 ? TL_OK : tl_builder_error(p->builders[0], tl_builder_bytes(p->builders[0], line.data, line.len), err);
}

static tl_status finish_batch(lines_reader *r, int64_t n_rows, int64_t **numbers, tl_batch **out, tl_error *err)
{
    TL_CLEANUP(tl_batch_freep) tl_batch *batch = NULL;
    TL_TRY(tl_batch_create(r->base.type, n_rows, &batch, err));
    for (int32_t c = 0; c < batch->n_cols; c++)
        TL_TRY(tl_builder_finish(r->parser.builders[c], &batch->cols[c], err));
    batch->seq = TL_STEAL(*numbers);
    *out = TL_STEAL(batch);
    return TL_OK;
}

static tl_status fill_batch(tl_reader *reader, tl_batch **out, tl_error *err)
{
    lines_reader *r = (lines_reader *)reader;
    TL_CLEANUP(tl_freep) int64_t *numbers = r->with_row_numbers ? tl_alloc((size_t)r->batch_rows * sizeof *numbers) : NULL;
    int64_t rows = 0;
    bool more = true;
    if (r->with_row_numbers && numbers == NULL)
        return tl_nomem(err, "row numbers");
    for (size_t start = r->cursor.at; rows < r->batch_rows && r->cursor.at - start < BATCH_BYTES_MAX;) {
        tl_bytes_view line;
        bool keep = false;
        TL_TRY(tl_lines__next(&r->cursor, &line, &more, err));
        if (!more)
            break;
        TL_TRY(tl_error_wrap(err, add_line(r, line, &keep, err), "line %lld", (long long)r->cursor.number));
        if (!keep) {
            for (int32_t c = 0; c < r->base.type->n_fields; c++)
                tl_builder_truncate(r->parser.builders[c], rows);
        } else if (numbers != NULL) {
            numbers[rows] = r->row_number;
        }
        rows += keep;
        r->row_number++;
    }
    *out = NULL;
    return rows == 0 && !more ? TL_OK : finish_batch(r, rows, &numbers, out, err);
}

static tl_status reader_next(tl_reader *reader, tl_batch **out, tl_error *err)
{
    lines_reader *r = (lines_reader *)reader;
    return tl_format__next_passing(reader, fill_batch, r->predicate, r->name, out, err);
}

static void reader_free(tl_reader *reader)
{
    lines_reader *r = (lines_reader *)reader;
    for (int32_t c = 0; r->parser.builders != NULL && c < r->base.type->n_fields; c++)
        tl_builder_free(r->parser.builders[c]);
    tl_free(r->parser.builders);
    tl_free(r->parser.ordinal);
    tl_free(r->parser.cells);
    tl_free(r->parser.cell_ends);
    tl_buf_deinit(&r->parser.scratch);
    tl_arena_deinit(&r->parser.arena);
    tl_buf_deinit(&r->cursor.repaired);
    tl_buf_deinit(&r->plain);
    tl_predicate_free(r->predicate);
    if (r->file != NULL)
        (void)tl_file_close(r->file, NULL); /* was only read */
    if (r->fs != NULL)
        tl_fs_unref(r->fs);
    tl_type_unref(r->base.type);
    tl_free(r->name);
    tl_free(r);
}

static const tl_reader_ops reader_ops = {reader_next, reader_free};

/* ---- open ---- */

/* The bytes of the file, mapped or read into `room`. */
static tl_status file_bytes(lines_reader *r, const char *path, tl_bytes *room, tl_bytes_view *out, tl_error *err)
{
    int64_t mapped;
    TL_TRY(tl_fs_open_read(r->fs, path, &r->file, err));
    const uint8_t *map = tl_file_map(r->file, &mapped);
    if (map == NULL) {
        TL_TRY(tl_fs_read_all(r->fs, path, TL_LINES_PLAIN_MAX, room, err));
        *out = tl_bytes_view_of(*room);
        return TL_OK;
    }
    *out = (tl_bytes_view){map, (size_t)mapped};
    return TL_OK;
}

static tl_status load(lines_reader *r, const char *path, const char *delimiter, tl_error *err)
{
    tl_codec codec;
    tl_bytes room = {NULL, 0};
    tl_bytes_view bytes = {NULL, 0};
    TL_TRY(tl_lines__codec(path, &codec, err));
    tl_status status = file_bytes(r, path, &room, &bytes, err);
    if (status == TL_OK && codec != TL_CODEC_NONE && bytes.len > 0)
        status = tl_decompress_append(codec, bytes, TL_LINES_PLAIN_MAX, &r->plain, err);
    if (status == TL_OK && codec == TL_CODEC_NONE && room.data != NULL) {
        r->plain = (tl_buf){room.data, room.len, room.len};
        room.data = NULL;
    }
    tl_bytes_deinit(&room);
    TL_TRY(status);
    bool is_mapped = codec == TL_CODEC_NONE && r->plain.data == NULL;
    tl_lines__cursor_init(&r->cursor, is_mapped ? bytes : (tl_bytes_view){r->plain.data, r->plain.len}, delimiter);
    return TL_OK;
}

/* Where each column stands in a line. */
static tl_status place_cells(tl_lines_parser *p, const tl_type *file_type, tl_error *err)
{
    int32_t n = p->type->n_fields;
    if ((p->ordinal = tl_calloc((size_t)n + 1, sizeof *p->ordinal)) == NULL)
        return tl_nomem(err, "CSV reader");
    for (int32_t i = 0; i < n; i++) {
        p->ordinal[i] = tl_type_field_index(file_type, p->type->fields[i].name);
        if (p->ordinal[i] < 0)
            return tl_error_set(err, TL_E_INTERNAL, "column '%s' is not among the file's", p->type->fields[i].name);
        p->n_cells = TL_MAX(p->n_cells, p->ordinal[i] + 1);
    }
    p->cells = tl_calloc((size_t)p->n_cells + 1, sizeof *p->cells);
    p->cell_ends = tl_calloc((size_t)p->n_cells + 1, sizeof *p->cell_ends);
    return p->cells == NULL || p->cell_ends == NULL ? tl_nomem(err, "CSV reader") : TL_OK;
}

static tl_status prepare(lines_reader *r, const char *path, const tl_read_spec *spec, tl_error *err)
{
    static const tl_format *const formats[] = {&tl_format_csv, &tl_format_json, &tl_format_text};
    tl_lines_parser *p = &r->parser;
    tl_bytes_view header;
    bool more;
    p->kind = r->kind;
    p->type = r->base.type;
    if ((r->name = tl_strdup(tl_path_base(path))) == NULL)
        return tl_nomem(err, "reader of lines");
    if (p->type->n_fields > 0)
        TL_TRY(tl_lines_check_type(formats[r->kind], p->type, err));
    TL_TRY(tl_lines__options(r->kind, spec->options, &p->options, err));
    if ((p->builders = tl_calloc((size_t)p->type->n_fields + 1, sizeof *p->builders)) == NULL)
        return tl_nomem(err, "reader of lines");
    for (int32_t c = 0; c < p->type->n_fields; c++)
        TL_TRY(tl_builder_create(p->type->fields[c].type, &p->builders[c], err));
    if (r->kind == TL_LINES_CSV)
        TL_TRY(place_cells(p, spec->file_type == NULL ? spec->row_type : spec->file_type, err));
    TL_TRY(load(r, path, p->options.line_delimiter, err));
    if (r->kind == TL_LINES_CSV && p->options.header)
        TL_TRY(tl_lines__next(&r->cursor, &header, &more, err));
    return spec->predicate != NULL && spec->exact ? tl_predicate_dup(spec->predicate, &r->predicate, err) : TL_OK;
}

tl_status tl_lines__reader_open(tl_lines_kind kind, tl_fs *fs, const char *path, const tl_read_spec *spec, tl_reader **out, tl_error *err)
{
    lines_reader *r = tl_calloc(1, sizeof *r);
    if (r == NULL)
        return tl_nomem(err, "reader of lines");
    r->base.ops = &reader_ops;
    r->base.type = tl_type_ref(spec->row_type);
    r->kind = kind;
    r->fs = tl_fs_ref(fs);
    r->batch_rows = spec->batch_rows > 0 ? spec->batch_rows : TL_BATCH_ROWS;
    r->with_row_numbers = spec->with_row_numbers;
    tl_status status = prepare(r, path, spec, err);
    if (status != TL_OK) {
        reader_free(&r->base);
        return tl_error_wrap(err, status, "file '%s'", tl_path_base(path));
    }
    *out = &r->base;
    return TL_OK;
}
