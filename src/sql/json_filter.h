/* Filters of JSON paths, [?(@.a > 1 && @.b == 'x')]: what stands between the parentheses. Private to json_path.c. */
#ifndef TL_SQL_JSON_FILTER_H
#define TL_SQL_JSON_FILTER_H

#include "sql/json_path.h"

typedef struct tl_json_filter tl_json_filter;

/**
 * Read a condition at *p, up to the `)` that closes it (*p is behind it then). NULL in *out and why in *complaint: it is none, or uses
 * an operator that is not there. Only out of memory fails. It lives in the arena; what it holds besides is released by
 * tl_json_filter_deinit().
 */
tl_status tl_json_filter_read(tl_arena *arena, const uint8_t **p, const uint8_t *end, tl_json_filter **out, const char **complaint, tl_error *err);
void tl_json_filter_deinit(tl_json_filter *filter);
/** Whether the value (`@`) passes; `root` is `$`. */
tl_status tl_json_filter_accepts(const tl_json_filter *filter, const tl_json *value, const tl_json *root, tl_arena *arena, bool *out, tl_error *err);

#endif
