/* Union of 32-bit Roaring bitmaps in the portable form. */
#include "base/roaring.h"
#include "merge/sketch.h"

static tl_status read_whole(tl_bytes_view bytes, tl_arena *arena, tl_roaring32 *out, tl_error *err)
{
    tl_roaring_input in = {bytes.data, bytes.len};
    return tl_roaring32_read(&in, arena, out, err);
}

static tl_status union_in(tl_bytes_view a, tl_bytes_view b, tl_arena *arena, tl_buf *out, tl_error *err)
{
    tl_roaring32 x, y, result;
    TL_TRY(read_whole(a, arena, &x, err));
    TL_TRY(read_whole(b, arena, &y, err));
    TL_TRY(tl_roaring32_union(&x, &y, arena, &result, err));
    TL_TRY(tl_roaring32_optimize(&result, arena, err));
    return tl_roaring32_write(&result, out) == TL_OK ? TL_OK : tl_nomem(err, "roaring bitmap");
}

tl_status tl_merge__rbm32_union(tl_bytes_view a, tl_bytes_view b, tl_buf *out, tl_error *err)
{
    tl_arena arena = {0};
    out->len = 0;
    tl_status status = union_in(a, b, &arena, out, err);
    tl_arena_deinit(&arena);
    return status;
}
