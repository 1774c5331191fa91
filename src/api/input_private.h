/* Rows from files: one struct of functions per format, chosen once by name. Text formats share lines and builders. */
#ifndef TL_API_INPUT_PRIVATE_H
#define TL_API_INPUT_PRIVATE_H

#include <stdio.h>

#include "api/api_private.h"
#include "types/builder.h"

#define INPUT_BATCH_ROWS 8192
#define INPUT_RECORD_BYTES_MAX ((size_t)256 << 20)

/* Columns of a file that are no columns of the table: what the printer puts before the rows. */
#define INPUT_KIND_COLUMN "_kind"
#define INPUT_SNAPSHOT_COLUMN "_snapshot"

struct shape;

typedef struct input_format {
    const char *name;
    tl_status (*open)(tidelake_input *in, tl_error *err);
    /* As tidelake_input_next(). */
    tl_status (*next)(tidelake_input *in, tl_batch **out, bool *commit_after, tl_error *err);
    void (*close)(tidelake_input *in); /* frees `state`, which may be half built or NULL */
    /* Reads the whole file to find out its columns, into an OBJECT (the input has no type); NULL: its schema tells them. */
    tl_status (*infer)(tidelake_input *in, tl_arena *arena, struct shape *columns, tl_error *err);
} input_format;

extern const input_format tl_input__jsonl;
extern const input_format tl_input__csv;
extern const input_format tl_input__parquet;
extern const input_format tl_input__orc;
extern const input_format tl_input__avro;

/** The format of that name, or (`name` NULL) of the file's last extension; without one, and for standard input, JSON lines. */
tl_status tl_input__find_format(const char *path, const char *name, const input_format **out, tl_error *err);

struct tidelake_input {
    const input_format *format;
    char *path;
    const char *name;    /* for messages: the path, or "standard input" */
    const tl_type *type; /* the table's ROW */
    int64_t bytes_done;
    int64_t bytes_total; /* -1: unknown */
    void *state;         /* of the format */
};

/* ---- infer.c: types of values that have none ---- */

typedef enum shape_kind { SHAPE_NULL, SHAPE_BOOLEAN, SHAPE_INT, SHAPE_BIG, SHAPE_DOUBLE, SHAPE_DATE, SHAPE_TIME, SHAPE_TEXT, SHAPE_LIST, SHAPE_OBJECT } shape_kind;
/** What the values seen so far have in common; lives in an arena. LIST: one member, its elements; OBJECT: its members by name. */
typedef struct shape {
    shape_kind kind;
    const char *name;
    struct shape *members;
    struct shape *last;
    struct shape *next;
    int32_t n_members;
} shape;

/** Member of a name, made if it is missing. */
tl_status tl_infer__member(tl_arena *arena, shape *s, tl_bytes_view name, shape **out, tl_error *err);
/** One more value in JSON. TL_E_INVALID if no type holds it and those before. */
tl_status tl_infer__json(tl_arena *arena, shape *s, const tl_json *value, tl_error *err);
/** One more cell of text; anything can be STRING. */
void tl_infer__text(shape *s, tl_bytes_view cell);
/** ROW of an OBJECT's members; those without any value are STRING. */
tl_status tl_infer__row(const shape *s, bool nullable, const tl_type **out, tl_error *err);

/* ---- text ---- */

/* A text file by lines, with the batch that is being built. */
typedef struct text_input {
    FILE *file;
    char *line; /* getline's buffer: the current line, without its end */
    size_t line_cap;
    size_t line_len;
    const char *line_end; /* what ended it: "\n", "\r\n" or "" */
    int64_t line_number;
    tl_builder **builders; /* one for each column */
    uint8_t *kinds;        /* INPUT_BATCH_ROWS */
    bool any_kind;
    bool row_since_commit;
    int64_t n_rows; /* in the batch being built */
} text_input;

typedef enum text_record { TEXT_ROW, TEXT_BLANK, TEXT_END } text_record;

/** Open in->path ("-": standard input) and make the builders; `text` is zeroed. */
tl_status tl_input__text_open(tidelake_input *in, text_input *text, tl_error *err);
void tl_input__text_close(const tidelake_input *in, text_input *text);
/** The next line; *end at the end of the file. */
tl_status tl_input__read_line(tidelake_input *in, text_input *text, bool *end, tl_error *err);
/** Build a batch: `add_row` appends one value to each builder and sets kinds[n_rows]; a failure is told with the line's number.
 */
tl_status tl_input__text_next(tidelake_input *in, text_input *text,
                              tl_status (*add_row)(tidelake_input *in, text_record *record, tl_error *err), tl_batch **out,
                              bool *commit_after, tl_error *err);
/** Set the kind of the row that is being built. */
tl_status tl_input__set_kind(text_input *text, tl_bytes_view kind, tl_error *err);
/** "no column 'x' in the table; it has a, b, c". */
tl_status tl_input__unknown_column(const tl_type *type, tl_bytes_view name, tl_error *err);

#endif
