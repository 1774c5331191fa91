/* Variants: first byte even: the two parts (the second byte is the length of the metadata); what prints is JSON that comes back to the
 * same text. Odd: JSON text; what becomes a variant prints to JSON that comes back. */
#include <stdlib.h>

#include "types/builder.h"
#include "types/variant.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static tl_bytes_view view(const tl_buf *buf)
{
    return (tl_bytes_view){buf->data, buf->len};
}

static bool same(const tl_buf *a, const tl_buf *b)
{
    return a->len == b->len && (a->len == 0 || memcmp(a->data, b->data, a->len) == 0);
}

/* What is inferred from a value can be shredded into, and a value that was made of JSON comes back. */
static void infer(tl_bytes_view value, tl_bytes_view metadata, bool is_sound)
{
    static const tl_variant_limits limits = {40, 8, 0.1};
    int32_t left = limits.max_width;
    const tl_type *variant = NULL, *schema = NULL, *type = NULL;
    tl_builder *builder = NULL;
    tl_column *col = NULL, *parts = NULL, *whole = NULL;
    if (tl_type_create(TL_VARIANT, true, 0, 0, &variant, NULL) != TL_OK || tl_builder_create(variant, &builder, NULL) != TL_OK ||
        tl_builder_bytes(tl_builder_child(builder, 0), value.data, value.len) != TL_OK ||
        tl_builder_bytes(tl_builder_child(builder, 1), metadata.data, metadata.len) != TL_OK || tl_builder_end(builder) != TL_OK ||
        tl_builder_finish(builder, &col, NULL) != TL_OK)
        abort();
    if (tl_variant_infer((const tl_column *const *)&col, 1, 1, &limits, &left, &schema, NULL) == TL_OK) {
        if (tl_variant_shredded_type(schema, &type, NULL) != TL_OK)
            abort();
        if (tl_variant_shred(col, type, &parts, NULL) == TL_OK && tl_variant_unshred(parts, variant, &whole, NULL) != TL_OK && is_sound)
            abort();
    }
    tl_column_unref(col);
    tl_column_unref(parts);
    tl_column_unref(whole);
    tl_builder_free(builder);
    tl_type_unref(variant);
    tl_type_unref(schema);
    tl_type_unref(type);
}

/* JSON to a variant and to JSON again. False: it is no JSON that a variant can hold. */
static bool pass(tl_bytes_view json, tl_buf *out)
{
    tl_buf value = {0}, metadata = {0};
    bool good = tl_variant_from_json(json, &value, &metadata, NULL) == TL_OK;
    if (good && tl_variant_append_json(out, view(&value), view(&metadata), NULL) != TL_OK)
        abort();
    if (good)
        infer(view(&value), view(&metadata), /* is_sound= */ true);
    tl_buf_deinit(&value);
    tl_buf_deinit(&metadata);
    return good;
}

/* What is printed can be read; after two passes nothing changes any more (1e3 becomes the double 1000.0, and that the decimal 1000). */
static void round_trip(tl_bytes_view json)
{
    tl_buf text[3] = {{0}, {0}, {0}};
    if (pass(json, &text[0]) && (!pass(view(&text[0]), &text[1]) || !pass(view(&text[1]), &text[2]) || !same(&text[1], &text[2])))
        abort();
    for (size_t i = 0; i < TL_ARRAY_LEN(text); i++)
        tl_buf_deinit(&text[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    if (data[0] % 2 != 0) {
        round_trip((tl_bytes_view){data + 1, size - 1});
        return 0;
    }
    size_t metadata = TL_MIN((size_t)data[1], size - 2);
    tl_buf text = {0};
    (void)tl_variant_append_json(&text, (tl_bytes_view){data + 2 + metadata, size - 2 - metadata}, (tl_bytes_view){data + 2, metadata}, NULL);
    tl_buf_deinit(&text);
    infer((tl_bytes_view){data + 2 + metadata, size - 2 - metadata}, (tl_bytes_view){data + 2, metadata}, /* is_sound= */ false);
    return 0;
}
