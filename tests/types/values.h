/* Values as JSON text, the plainest model of a column: what a column holds is what it prints. */
#ifndef TL_TESTS_TYPES_VALUES_H
#define TL_TESTS_TYPES_VALUES_H

#include "support/random_column.h"
#include "types/text.h"

static inline tl_bytes_view view_of(const char *text)
{
    return (tl_bytes_view){(const uint8_t *)text, strlen(text)};
}

/** A column of the elements of a JSON array. */
static inline tl_column *column_of(const tl_type *type, const char *json_array)
{
    tl_error err;
    tl_arena arena = {0};
    const tl_json *json = NULL;
    tl_builder *builder = NULL;
    tl_column *col = NULL;
    assert_ok(tl_json_parse(&arena, view_of(json_array), &json, &err), &err);
    assert_ok(tl_builder_create(type, &builder, &err), &err);
    for (const tl_json *node = json->child; node != NULL; node = node->next)
        assert_ok(tl_text_read_json(node, type, builder, &err), &err);
    assert_ok(tl_builder_finish(builder, &col, &err), &err);
    tl_builder_free(builder);
    tl_arena_deinit(&arena);
    assert_ok(tl_column_check(col, &err), &err);
    return col;
}

/** JSON text of one value; free() it. */
static inline char *text_at(const tl_column *col, int64_t i)
{
    tl_buf buf = {0};
    assert_int_equal(tl_text_append_json(&buf, col, i), TL_OK);
    char *text = strndup((const char *)buf.data, buf.len);
    tl_buf_deinit(&buf);
    return text;
}

static inline void assert_text_at(const tl_column *col, int64_t i, const char *want)
{
    char *got = text_at(col, i);
    assert_string_equal(got, want);
    free(got);
}

static inline void assert_same_value(const tl_column *a, int64_t i, const tl_column *b, int64_t j)
{
    char *x = text_at(a, i), *y = text_at(b, j);
    assert_string_equal(x, y);
    free(x);
    free(y);
}

/** One type of every kind and layout, and nested ones. */
static const char *const every_type[] = {
    "BOOLEAN",
    "BOOLEAN NOT NULL",
    "TINYINT",
    "SMALLINT",
    "INT",
    "INT NOT NULL",
    "BIGINT",
    "FLOAT",
    "DOUBLE",
    "DECIMAL(9, 2)",
    "DECIMAL(18, 6)",
    "DECIMAL(38, 10)",
    "CHAR(3)",
    "VARCHAR(20)",
    "STRING",
    "STRING NOT NULL",
    "BINARY(4)",
    "VARBINARY(9)",
    "BYTES",
    "DATE",
    "TIME(3)",
    "TIMESTAMP(3)",
    "TIMESTAMP(6)",
    "TIMESTAMP(9)",
    "TIMESTAMP(3) WITH LOCAL TIME ZONE",
    "TIMESTAMP(6) WITH LOCAL TIME ZONE",
    "TIMESTAMP(9) WITH LOCAL TIME ZONE",
    "ARRAY<INT>",
    "ARRAY<STRING> NOT NULL",
    "ARRAY<ARRAY<DECIMAL(38, 3)>>",
    "MAP<STRING NOT NULL, INT>",
    "MAP<INT NOT NULL, ARRAY<STRING>>",
    "VECTOR<FLOAT, 3>",
    "VECTOR<BOOLEAN NOT NULL, 9> NOT NULL",
    "ROW<v VECTOR<BIGINT, 2>, x INT>",
    "MULTISET<STRING NOT NULL>",
    "ROW<a INT, b STRING>",
    "ROW<a INT NOT NULL, b ARRAY<ROW<x BOOLEAN, y TIMESTAMP(9)>>, c MAP<DATE NOT NULL, DOUBLE>> NOT NULL",
    "ARRAY<MAP<INT NOT NULL, ROW<f FLOAT, g ARRAY<BYTES>>>>",
    "BLOB",
    "VARIANT",
};

#endif
