/*
 * Files of lines of text: csv, json and text, as the reference's format tables and append tables have them (Java:
 * AbstractTextFileReader, AbstractTextFileWriter and what derives from them). A file's name says how it is compressed.
 */
#ifndef TL_FORMAT_LINES_PRIVATE_H
#define TL_FORMAT_LINES_PRIVATE_H

#include "format/format.h"
#include "types/builder.h"

/* A file is held in memory as a whole, decompressed: what a file may become. */
#define TL_LINES_PLAIN_MAX ((size_t)2 << 30)

typedef enum tl_lines_kind { TL_LINES_CSV, TL_LINES_JSON, TL_LINES_TEXT } tl_lines_kind;
typedef enum tl_csv_mode { TL_CSV_PERMISSIVE, TL_CSV_DROP, TL_CSV_FAIL } tl_csv_mode;

/** Options by the reference's names and defaults; texts are borrowed from the table's options. */
typedef struct tl_lines_options {
    const char *line_delimiter;
    /* csv */
    const char *field_delimiter;
    const char *quote;
    const char *escape;
    const char *null_literal;
    bool header;
    tl_csv_mode mode;
    /* json */
    bool ignore_parse_errors;
} tl_lines_options;
/** TL_E_INVALID names the option. `options` may be NULL. */
tl_status tl_lines__options(tl_lines_kind kind, const tl_options *options, tl_lines_options *out, tl_error *err);

/** The codec that a file's name ends with. TL_E_UNSUPPORTED for those that are known and not there. */
tl_status tl_lines__codec(const char *path, tl_codec *out, tl_error *err);

/* ---- lines ---- */

/** The lines of a text. */
typedef struct tl_lines_cursor {
    tl_bytes_view text;
    size_t at;
    const char *delimiter; /* NULL: \n, \r and \r\n */
    int64_t number;        /* of the last line, from 1 */
    tl_buf repaired;       /* the last line, if it was no UTF-8 */
} tl_lines_cursor;
void tl_lines__cursor_init(tl_lines_cursor *cursor, tl_bytes_view text, const char *delimiter);
/** The next line without its end, as well-formed UTF-8 (what is none becomes U+FFFD, as in Java); *more is false at the end. The line is
    good until the next call. */
tl_status tl_lines__next(tl_lines_cursor *cursor, tl_bytes_view *line, bool *more, tl_error *err);

/* ---- a line becomes a row ---- */

typedef struct tl_lines_parser {
    tl_lines_kind kind;
    tl_lines_options options;
    const tl_type *type;     /* the columns wanted; borrowed */
    tl_builder **builders;   /* one for each; borrowed */
    int32_t *ordinal;        /* csv: the place of each in the line */
    int32_t n_cells;         /* csv: how many are looked at */
    tl_bytes_view *cells;    /* csv: data == NULL: none */
    size_t *cell_ends;       /* csv: of cells, in `scratch` */
    tl_buf scratch;
    tl_arena arena; /* json */
} tl_lines_parser;
/** Append the row of one line to the builders; *keep is false if there is none, and the builders may then be longer than before. Errors
    name column and reason. */
tl_status tl_lines__parse_csv(tl_lines_parser *parser, tl_bytes_view line, bool *keep, tl_error *err);
tl_status tl_lines__parse_json(tl_lines_parser *parser, tl_bytes_view line, bool *keep, tl_error *err);

/** A value that is not nested, from its text: what the reference's parsers of both formats share. TL_E_INVALID: it is none. */
tl_status tl_lines__value(tl_bytes_view text, const tl_type *type, tl_builder *builder, tl_error *err);
/** The text of row `i`, which is not NULL, of a column that is not nested. */
tl_status tl_lines__append_value(tl_buf *out, const tl_column *col, int64_t i);

/* ---- a row becomes a line ---- */

tl_status tl_lines__print_csv(tl_buf *out, tl_buf *scratch, const tl_lines_options *options, const tl_batch *batch, int64_t i);
tl_status tl_lines__print_csv_header(tl_buf *out, const tl_lines_options *options, const tl_type *type);
/** TL_E_INVALID: a map has NULL as a key. */
tl_status tl_lines__print_json(tl_buf *out, tl_buf *scratch, const tl_lines_options *options, const tl_batch *batch, int64_t i);

/* ---- the formats ---- */

tl_status tl_lines__reader_open(tl_lines_kind kind, tl_fs *fs, const char *path, const tl_read_spec *spec, tl_reader **out, tl_error *err);
tl_status tl_lines__writer_create(tl_lines_kind kind, tl_fs *fs, const char *path, const tl_write_spec *spec, tl_file_writer **out,
                                  tl_error *err);

#endif
