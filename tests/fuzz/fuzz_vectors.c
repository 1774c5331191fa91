/*
 * Deletion vectors out of any bytes: the input is the payload of a record, put between a right size and checksum. What is accepted
 * must be written to what reads as the same, and select what it counts.
 */
#include <stdlib.h>

#include "base/bits.h"
#include "index/deletion_vector.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define WINDOW 70000

/* Rows of a window that are not in the vector. */
static int64_t rest(const tl_dv *dv, int64_t from)
{
    static int64_t rows[WINDOW];
    static uint32_t sel[WINDOW];
    for (int64_t i = 0; i < WINDOW; i++)
        rows[i] = from + i;
    int64_t n = tl_dv_select(dv, rows, WINDOW, sel);
    for (int64_t i = 1; i < n && n < WINDOW; i++) {
        if (sel[i] <= sel[i - 1])
            abort();
    }
    return n;
}

static void check(const tl_dv *dv)
{
    tl_buf out = {0};
    tl_dv *again = NULL, *both = NULL;
    int32_t length = 0;
    int64_t last = tl_dv_last(dv);
    if (last >= INT64_C(1) << 40) /* bitmaps up to that one would be written */
        return;
    if (tl_dv_encode(dv, &out, &length, NULL) != TL_OK || tl_dv_decode((tl_bytes_view){out.data, out.len}, length, &again, NULL) != TL_OK ||
        tl_dv_union(dv, again, &both, NULL) != TL_OK)
        abort();
    if (tl_dv_count(again) != tl_dv_count(dv) || tl_dv_count(both) != tl_dv_count(dv) || tl_dv_last(again) != last)
        abort();
    int64_t near_end = last < WINDOW ? 0 : last - WINDOW + 1;
    if (rest(dv, 0) != rest(again, 0) || rest(dv, near_end) != rest(both, near_end))
        abort();
    if (last >= 0 && last < WINDOW && WINDOW - rest(dv, 0) != tl_dv_count(dv))
        abort();
    tl_dv_unref(again);
    tl_dv_unref(both);
    tl_buf_deinit(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tl_dv *dv = NULL;
    if (size > 1 << 20)
        return 0;
    uint8_t *record = malloc(size + 8);
    if (record == NULL)
        abort();
    tl_write_be32(record, (uint32_t)size);
    if (size > 0)
        memcpy(record + 4, data, size);
    tl_write_be32(record + 4 + size, tl_crc32(0, data, size));
    for (int64_t extra = 0; extra <= 8; extra += 8) { /* as the manifest says it of 32 and of 64 bits */
        if (tl_dv_decode((tl_bytes_view){record, size + 8}, (int64_t)size + extra, &dv, NULL) == TL_OK) {
            check(dv);
            tl_dv_unref(dv);
        }
    }
    free(record);
    return 0;
}
