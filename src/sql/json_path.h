/*
 * JSON paths as the reference has them (Jayway's dialect): $.a.b[0], ['a','b'], [1:3], [0,2], .*, [*], ..name, .length(),
 * [?(@.a > 1)] (json_filter.h). Private to sql/.
 */
#ifndef TL_SQL_JSON_PATH_H
#define TL_SQL_JSON_PATH_H

#include "types/json_print.h"

typedef struct tl_json_path tl_json_path;

/** What a path found. */
typedef struct tl_json_found {
    bool failed;          /* strict mode: the path leads nowhere, or is no path */
    const tl_json *value; /* NULL: nothing */
} tl_json_found;

/**
 * "[strict|lax] path"; strict if no mode is said. A text that is no path compiles too: it finds nothing, which is an error in
 * strict mode (or any mode: `failed`). Only out of memory fails.
 */
tl_status tl_json_path_compile(tl_bytes_view text, tl_json_path **out, tl_error *err);
void tl_json_path_free(tl_json_path *path);
bool tl_json_path_is_lax(const tl_json_path *path);
const char *tl_json_path_complaint(const tl_json_path *path); /* why it is no path; NULL if it is one */
/** Results live in the arena. TL_E_LIMIT: a path that visits too many values. */
tl_status tl_json_path_find(const tl_json_path *path, const tl_json *root, tl_arena *arena, tl_json_found *out, tl_error *err);

#endif
