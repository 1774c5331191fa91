/*
 * JSON: a tree reader that keeps numbers as text, and a writer that prints as Jackson's default pretty printer does.
 *
 * Own code, because metadata must be printed byte for byte as the reference prints it, and because change events carry
 * decimals and 64-bit integers that a double would spoil. The reader is strict (RFC 8259), with limits on depth and size;
 * nodes live in the caller's arena and strings that need no unescaping point into the input.
 */
#ifndef TL_BASE_JSON_H
#define TL_BASE_JSON_H

#include "base/mem.h"

#define TL_JSON_DEPTH_MAX 512

typedef enum tl_json_kind { TL_JSON_NULL, TL_JSON_FALSE, TL_JSON_TRUE, TL_JSON_NUMBER, TL_JSON_STRING, TL_JSON_ARRAY, TL_JSON_OBJECT } tl_json_kind;

typedef struct tl_json tl_json;
struct tl_json {
    tl_json_kind kind;
    tl_bytes_view text; /* NUMBER: as written; STRING: unescaped UTF-8 */
    tl_bytes_view raw;  /* the whole value as it stands in the input */
    tl_bytes_view key;  /* name, if this is a member of an object */
    tl_json *child;     /* first element or member */
    tl_json *next;      /* next sibling */
    int64_t n_children;
};

/** Parse one value that fills `text` (white space around allowed). Nodes live in `arena`, `text` must outlive them. */
tl_status tl_json_parse(tl_arena *arena, tl_bytes_view text, const tl_json **out, tl_error *err);
/** The same for a text whose first value counts, whatever stands behind it (as Jackson reads). */
tl_status tl_json_parse_first(tl_arena *arena, tl_bytes_view text, const tl_json **out, tl_error *err);
/** The same with control characters in strings allowed: records of message queues, as Flink reads them. */
tl_status tl_json_parse_record(tl_arena *arena, tl_bytes_view text, const tl_json **out, tl_error *err);
/** Member by name, NULL if absent or `object` is no object (or NULL). The last of equal names wins, as in Jackson. */
const tl_json *tl_json_get(const tl_json *object, const char *name);
bool tl_json_is_null(const tl_json *node); /* also true for NULL */
/** Integer of a NUMBER without fraction in range; false otherwise. */
bool tl_json_int64(const tl_json *node, int64_t *out);
bool tl_json_bool(const tl_json *node, bool *out);
bool tl_json_double(const tl_json *node, double *out);
bool tl_json_text_is(const tl_json *node, const char *text);
/** STRING as a NUL-terminated copy in the arena; NULL if it is no string. */
char *tl_json_strdup(tl_arena *arena, const tl_json *node);

/** Writer. `pretty` gives two-space indent, `"key" : value`, `[ {` on one line, `[ ]` for empty arrays (format reference §2). */
typedef struct tl_json_writer {
    tl_buf out;
    tl_status status; /* sticky: check once at the end */
    bool pretty;
    int depth;
    uint8_t state[TL_JSON_DEPTH_MAX]; /* private: container kind and whether it has members */
    bool after_key;
} tl_json_writer;

void tl_json_writer_init(tl_json_writer *w, bool pretty);
void tl_json_writer_deinit(tl_json_writer *w);
void tl_json_begin_object(tl_json_writer *w);
void tl_json_end_object(tl_json_writer *w);
void tl_json_begin_array(tl_json_writer *w);
void tl_json_end_array(tl_json_writer *w);
void tl_json_key(tl_json_writer *w, const char *name);
void tl_json_write_str(tl_json_writer *w, const char *text);
void tl_json_write_bytes(tl_json_writer *w, tl_bytes_view utf8);
void tl_json_write_int(tl_json_writer *w, int64_t v);
void tl_json_write_bool(tl_json_writer *w, bool v);
void tl_json_write_null(tl_json_writer *w);
/** A value that is already JSON. */
void tl_json_write_raw(tl_json_writer *w, tl_bytes_view json);

/** Append `"…"` with the escapes of the text form: `"`, `\`, control characters and U+007F (\n \r \t, else \u00xx). What is no
    UTF-8 becomes U+FFFD, as tl_utf8_append() has it. */
tl_status tl_json_append_quoted(tl_buf *buf, tl_bytes_view text);
/** The same with Jackson's escapes: quote, backslash, \b \t \n \f \r, other control characters as \u00XX; DEL stays as it is. */
tl_status tl_json_append_jackson(tl_buf *buf, tl_bytes_view text);

#endif
