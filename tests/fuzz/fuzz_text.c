/*
 * Fuzz target of this room's parsers: the first byte picks one, the rest is its input.
 * Built with clang -fsanitize=fuzzer,address,undefined.
 */
#include <stdlib.h>

#include "types/predicate.h"
#include "types/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const tl_type *any_row(void)
{
    static const char text[] =
        "ROW<a INT, b DECIMAL(10, 2), c STRING, d TIMESTAMP(9), e DOUBLE, f DATE, g TIME(3), h BYTES, i BOOLEAN, j FLOAT, "
        "k ARRAY<ROW<x BIGINT, y MAP<STRING, DATE>>>, l MULTISET<INT>, m DECIMAL(38, 10), n TIMESTAMP(3) WITH LOCAL TIME ZONE>";
    static const tl_type *type;
    if (type == NULL && tl_type_parse((tl_bytes_view){(const uint8_t *)text, sizeof text - 1}, &type, NULL) != TL_OK)
        abort();
    return type;
}

/* What was accepted must be printed and accepted again. */
static void type_text(tl_bytes_view text)
{
    const tl_type *type = NULL, *again = NULL;
    tl_error err;
    tl_buf buf = {0};
    if (tl_type_parse(text, &type, &err) == TL_OK) {
        if (tl_type_format(type, &buf) == TL_OK && tl_type_parse((tl_bytes_view){buf.data, buf.len}, &again, &err) == TL_OK &&
            !tl_type_equal(type, again, true))
            abort();
    }
    tl_buf_deinit(&buf);
    tl_type_unref(again);
    tl_type_unref(type);
}

static void type_json(const tl_json *json)
{
    const tl_type *type = NULL;
    tl_error err;
    if (tl_type_from_json(json, &type, &err) != TL_OK)
        return;
    tl_json_writer w;
    tl_json_writer_init(&w, true);
    tl_type_to_json(type, &w);
    tl_json_writer_deinit(&w);
    tl_type_unref(type);
}

static void print_all(tl_builder *builder)
{
    tl_error err;
    tl_column *col = NULL;
    tl_buf buf = {0};
    if (tl_builder_finish(builder, &col, &err) != TL_OK || tl_column_check(col, &err) != TL_OK)
        abort();
    for (int64_t i = 0; i < col->length; i++) {
        (void)tl_text_append_json(&buf, col, i);
        (void)tl_text_append_cast(&buf, col, i);
        (void)tl_text_append_java(&buf, col, i);
    }
    tl_buf_deinit(&buf);
    tl_column_unref(col);
}

static void value_json(const tl_json *json)
{
    tl_builder *builder = NULL;
    tl_error err;
    if (tl_builder_create(any_row(), &builder, &err) != TL_OK)
        abort();
    if (tl_text_read_json(json, any_row(), builder, &err) != TL_OK)
        tl_builder_truncate(builder, 0);
    print_all(builder);
    tl_builder_free(builder);
}

static void value_plain(tl_bytes_view text)
{
    const tl_type *row = any_row();
    if (text.len == 0)
        return;
    const tl_type *type = row->fields[text.data[0] % row->n_fields].type;
    tl_builder *builder = NULL;
    tl_error err;
    if (tl_builder_create(type, &builder, &err) != TL_OK)
        abort();
    if (tl_text_read_plain((tl_bytes_view){text.data + 1, text.len - 1}, type, builder, &err) != TL_OK)
        tl_builder_truncate(builder, 0);
    print_all(builder);
    tl_builder_free(builder);
}

static void filter_json(const tl_json *json)
{
    const tl_type *row = any_row();
    tl_predicate *pred = NULL;
    tl_error err;
    if (tl_predicate_from_json(json, row, &pred, &err) != TL_OK)
        return;
    const tl_column *cols[32] = {NULL};
    tl_col_bounds bounds[32] = {{NULL, NULL, 0, 0, -1}};
    uint32_t sel[3];
    int64_t n = 0;
    for (int32_t c = 0; c < row->n_fields; c++) {
        tl_column *nulls = NULL;
        if (tl_column_nulls(row->fields[c].type, 3, &nulls, &err) != TL_OK)
            abort();
        cols[c] = nulls;
        bounds[c].null_count = -1;
    }
    if (tl_predicate_eval(pred, cols, 3, sel, &n, &err) == TL_OK && n > 0 && !tl_predicate_may_match(pred, bounds, 3))
        abort();
    for (int32_t c = 0; c < row->n_fields; c++)
        tl_column_unref((tl_column *)(uintptr_t)cols[c]);
    tl_predicate_free(pred);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    tl_bytes_view text = {data + 1, size - 1};
    tl_arena arena = {0};
    tl_error err;
    const tl_json *json = NULL;
    int which = data[0] % 5;
    if (which == 0)
        type_text(text);
    else if (which == 1)
        value_plain(text);
    else if (tl_json_parse(&arena, text, &json, &err) == TL_OK)
        (which == 2 ? type_json : which == 3 ? value_json : filter_json)(json);
    tl_arena_deinit(&arena);
    return 0;
}
