/* The registry: all groups of functions as one. */
#include "sql/functions.h"

static const tl_sql_function *const groups[] = {tl_fn_operators, tl_fn_numbers, tl_fn_text, tl_fn_text_parts, tl_fn_regex, tl_fn_hash, tl_fn_blobs, tl_fn_times, tl_fn_time_text, tl_fn_arrays, tl_fn_maps, tl_fn_json, tl_fn_json_make};

const tl_sql_function *tl_fn_at(size_t i)
{
    for (size_t g = 0; g < TL_ARRAY_LEN(groups); g++)
        for (const tl_sql_function *fn = groups[g]; fn->name != NULL; fn++)
            if (i-- == 0)
                return fn;
    return NULL;
}

const tl_sql_function *tl_fn_find(const char *name, const tl_sql_function *from)
{
    bool passed = from == NULL;
    for (size_t g = 0; g < TL_ARRAY_LEN(groups); g++) {
        for (const tl_sql_function *fn = groups[g]; fn->name != NULL; fn++) {
            if (passed && strcmp(fn->name, name) == 0)
                return fn;
            passed = passed || fn == from;
        }
    }
    return NULL;
}
