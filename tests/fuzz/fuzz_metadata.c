/* Schema, snapshot and tag files: what is accepted is printed and accepted again, to the same bytes. */
#include <stdlib.h>

#include "meta/meta.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void schema(tl_bytes_view text)
{
    tl_table_schema *first = NULL, *second = NULL;
    tl_bytes printed = {0}, again = {0};
    if (tl_table_schema_parse(text, &first, NULL) != TL_OK)
        return;
    if (tl_table_schema_format(first, &printed, NULL) != TL_OK || tl_table_schema_parse(tl_bytes_view_of(printed), &second, NULL) != TL_OK ||
        tl_table_schema_format(second, &again, NULL) != TL_OK || !tl_bytes_equal(tl_bytes_view_of(printed), tl_bytes_view_of(again)))
        abort();
    tl_bytes_deinit(&printed);
    tl_bytes_deinit(&again);
    tl_table_schema_unref(first);
    tl_table_schema_unref(second);
}

static void snapshot(tl_bytes_view text)
{
    tl_snapshot *first = NULL, *second = NULL;
    tl_bytes printed = {0}, again = {0};
    if (tl_snapshot_parse(text, &first, NULL) != TL_OK)
        return;
    if (tl_snapshot_format(first, &printed, NULL) != TL_OK || tl_snapshot_parse(tl_bytes_view_of(printed), &second, NULL) != TL_OK ||
        tl_snapshot_format(second, &again, NULL) != TL_OK || !tl_bytes_equal(tl_bytes_view_of(printed), tl_bytes_view_of(again)))
        abort();
    tl_bytes_deinit(&printed);
    tl_bytes_deinit(&again);
    tl_snapshot_free(first);
    tl_snapshot_free(second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    schema((tl_bytes_view){data, size});
    snapshot((tl_bytes_view){data, size});
    tl_buf out = {0};
    (void)tl_path_unescape((tl_bytes_view){data, size}, &out); /* any text is one */
    tl_buf_deinit(&out);
    return 0;
}
