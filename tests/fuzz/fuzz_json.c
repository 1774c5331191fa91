/* The JSON reader: what it accepts can be printed raw and read again to the same tree. */
#include <stdlib.h>

#include "base/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int64_t count(const tl_json *node)
{
    int64_t n = 1;
    for (const tl_json *child = node->child; child != NULL; child = child->next)
        n += count(child);
    return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tl_arena arena = {0};
    const tl_json *json, *again;
    if (tl_json_parse(&arena, (tl_bytes_view){data, size}, &json, NULL) == TL_OK) {
        int64_t v;
        double d;
        (void)tl_json_int64(json, &v); /* only reads */
        (void)tl_json_double(json, &d);
        if (tl_json_parse(&arena, json->raw, &again, NULL) != TL_OK || count(json) != count(again))
            abort();
    }
    tl_arena_deinit(&arena);
    return 0;
}
