/* What the files of this room share. */
#ifndef TL_CONNECT_PRIVATE_H
#define TL_CONNECT_PRIVATE_H

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "base/json.h"
#include "connect/connect.h"
#include "types/builder.h"

#define TL_CONNECT_LINE_BYTES_MAX ((size_t)64 << 20)

/* ---- rows under construction ---- */

/** Rows of one batch: a builder for each column, kinds beside. */
typedef struct tl_row_buffer {
    const tl_type *type; /* borrowed */
    tl_builder **builders;
    uint8_t *kinds;
    int64_t n;
    int64_t cap;
    int64_t record_start; /* rows before the record being decoded */
    bool any_change;      /* a kind other than +I */
    bool any_dead;        /* rows of records that were given up: left out of the batch */
} tl_row_buffer;
tl_status tl_connect__rows_init(tl_row_buffer *rows, const tl_type *type, tl_error *err);
void tl_connect__rows_deinit(tl_row_buffer *rows);
/** All columns have got their value: count the row. */
tl_status tl_connect__rows_end(tl_row_buffer *rows, uint8_t kind, tl_error *err);
/** Give the record being decoded up, complete rows and a begun one: none of them will be in the batch. */
tl_status tl_connect__rows_rewind(tl_row_buffer *rows, tl_error *err);
/** The rows so far as a batch; the buffer is empty afterwards. */
tl_status tl_connect__rows_finish(tl_row_buffer *rows, tl_batch **out, tl_error *err);

/* ---- decoders: a line (or record) becomes rows ---- */

typedef enum tl_time_standard { TL_TIME_SQL, TL_TIME_ISO } tl_time_standard;

typedef struct tl_decoder tl_decoder;
typedef struct tl_decoder_ops {
    /* Append the rows of one record. Errors name the column; the caller adds file and line. */
    tl_status (*decode)(tl_decoder *decoder, tl_bytes_view record, tl_row_buffer *rows, tl_error *err);
    void (*free)(tl_decoder *decoder);
} tl_decoder_ops;
struct tl_decoder {
    const tl_decoder_ops *ops;
    /* Where the record that `text` begins with ends, at a line end; text.len: not in it. NULL: at its first line end. */
    size_t (*record_end)(const tl_decoder *decoder, tl_bytes_view text);
    bool skips_mark; /* a byte order mark at the file's start is none of its text */
};

typedef struct tl_format_def {
    const char *name; /* value of 'format'; options begin with "NAME." */
    bool changes;
    tl_status (*create)(const tl_connector_spec *spec, tl_decoder **out, tl_error *err);
} tl_format_def;
extern const tl_format_def tl_connect__formats[];
extern const size_t tl_connect__n_formats;
/** The table's format by its 'format' option. */
tl_status tl_connect__format(const tl_connector_spec *spec, const tl_format_def **out, tl_error *err);

tl_status tl_connect__json_decoder(const tl_connector_spec *spec, tl_decoder **out, tl_error *err);
tl_status tl_connect__csv_decoder(const tl_connector_spec *spec, tl_decoder **out, tl_error *err);
tl_status tl_connect__change_decoder(const tl_connector_spec *spec, tl_decoder **out, tl_error *err);
tl_status tl_connect__raw_decoder(const tl_connector_spec *spec, tl_decoder **out, tl_error *err);

/** Rules of JSON values, shared by the json format and the change formats. */
typedef struct tl_json_rules {
    tl_time_standard time;
    bool fail_on_missing_field;
    bool ignore_parse_errors;
    tl_arena *arena; /* of the record, where objects and arrays become text */
} tl_json_rules;
tl_status tl_connect__json_rules(const tl_options *options, const char *prefix, tl_json_rules *out, tl_error *err);
/** Whether a text has the form of a pattern (d: a digit, others themselves), with a fraction of up to nine digits behind it if `fraction`. */
bool tl_connect__has_form(tl_bytes_view text, const char *pattern, bool fraction);
/** One value by Flink's rules; NULL nodes are NULL, and so is what cannot be read, if errors are ignored. */
tl_status tl_connect__json_value(const tl_json_rules *rules, const tl_json *json, const tl_type *type, tl_builder *builder, tl_error *err);
/** Append all columns of an object; `fallback` (may be NULL) has values of members that `object` lacks. */
tl_status tl_connect__json_row(const tl_json_rules *rules, const tl_json *object, const tl_json *fallback, const tl_type *type,
                               tl_row_buffer *rows, tl_error *err);

/* ---- columns that records of files do not have ---- */

/** Partition columns (from the folders' names) and metadata (of the file): one value for all rows of a file. */
typedef struct tl_file_columns {
    const tl_type *row_type;       /* borrowed */
    const tl_type *record_type;    /* owned: the columns that records have */
    int32_t *of_record;            /* per column of row_type: its index in record_type, -1: none */
    const char *const *keys;       /* metadata keys, borrowed; NULL: none */
    const char *default_name;      /* of a folder whose value is NULL */
    tl_column **values;            /* per column of row_type, of the current file: one row; NULL where records have it */
    int32_t n;                     /* such columns */
} tl_file_columns;
/** TL_E_INVALID: a metadata key that files do not have, or a type that it cannot have. */
tl_status tl_connect__file_columns_init(tl_file_columns *columns, const tl_connector_spec *spec, tl_error *err);
void tl_connect__file_columns_deinit(tl_file_columns *columns);
/** A file begins: `path` is the whole one, `name` what is below the table's path. */
tl_status tl_connect__file_columns_begin(tl_file_columns *columns, const char *path, const char *name, const tl_stat *stat, tl_error *err);
/** *batch (of record_type, all rows of the current file) becomes one of row_type. */
tl_status tl_connect__file_columns_add(const tl_file_columns *columns, tl_batch **batch, tl_error *err);

/* ---- encoders: rows become lines ---- */

typedef struct tl_encoder {
    const tl_connector_spec *spec; /* borrowed while the encoder lives */
    const bool *left_out;          /* per column: not in the line */
    bool csv;
    /* csv */
    uint8_t delimiter, quote, escape; /* quote, escape: 0: none */
    const char *null_literal, *array_delimiter;
    /* json */
    tl_json_rules rules;
    bool plain_decimals, leave_nulls_out;
} tl_encoder;
/** Format 'json' or 'csv' with its options. */
tl_status tl_connect__encoder_init(tl_encoder *encoder, const tl_connector_spec *spec, const bool *left_out, tl_error *err);
/** Append a row and a line end, as Flink writes them. TL_E_NOMEM without a message. */
tl_status tl_connect__encode_row(const tl_encoder *encoder, const tl_batch *batch, int64_t i, tl_buf *out);

/** Options of format csv that are one character. `fallback` if unset. */
tl_status tl_connect__csv_char(const tl_options *options, const char *key, uint8_t fallback, uint8_t *out, tl_error *err);
/** What stands between elements of an ARRAY and fields of a ROW. */
const char *tl_connect__csv_array_delimiter(const tl_options *options);

/* ---- options ---- */

/** Name of a partition's folder where the value is NULL or empty. */
const char *tl_connect__default_partition(const tl_options *options);

/** PREFIX + key; NULL if unset. */
const char *tl_connect__option(const tl_options *options, const char *prefix, const char *key);
tl_status tl_connect__bool_option(const tl_options *options, const char *prefix, const char *key, bool fallback, bool *out, tl_error *err);

/** An option that is a regular expression for whole texts. *out stays NULL if it is unset; pcre2_code_free(). */
tl_status tl_connect__pattern(const tl_options *options, const char *key, pcre2_code **out, tl_error *err);
bool tl_connect__matches(const pcre2_code *pattern, tl_bytes_view text);

/* ---- connectors ---- */

typedef struct tl_connector_def {
    const char *name;
    const char *const *options; /* known keys besides those of the format; a trailing '*' matches any rest */
    bool has_format;
    bool (*is_bounded)(const tl_connector_spec *spec);
    /* NULL: no source. `history`: only what came before the position. */
    tl_status (*open_source)(const tl_connector_spec *spec, const char *position, bool history, tl_source **out, tl_error *err);
    tl_status (*open_sink)(const tl_connector_spec *spec, FILE *out_file, tl_sink **out, tl_error *err);           /* NULL: no sink */
} tl_connector_def;

tl_status tl_connect__files_source(const tl_connector_spec *spec, const char *position, bool history, tl_source **out, tl_error *err);
tl_status tl_connect__files_sink(const tl_connector_spec *spec, FILE *out_file, tl_sink **out, tl_error *err);
bool tl_connect__files_bounded(const tl_connector_spec *spec);
tl_status tl_connect__datagen_source(const tl_connector_spec *spec, const char *position, bool history, tl_source **out, tl_error *err);
bool tl_connect__datagen_bounded(const tl_connector_spec *spec);
tl_status tl_connect__print_sink(const tl_connector_spec *spec, FILE *out_file, tl_sink **out, tl_error *err);
tl_status tl_connect__blackhole_sink(const tl_connector_spec *spec, FILE *out_file, tl_sink **out, tl_error *err);

#endif
