/*
 * File indexes out of any bytes: every kind for each type that it can have, asked with every kind of question. What is answered must be
 * rows of the file, ascending. The columns are those of the fixtures, whose index files are the seeds.
 */
#include <stdio.h>
#include <stdlib.h>

#include "index/file_index.h"
#include "types/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char row_text[] = "ROW<id INT, cat STRING, n INT, d DATE, big BIGINT, ts TIMESTAMP(3), dec DECIMAL(10, 2), f DOUBLE, flag BOOLEAN, "
                               "t SMALLINT, b TINYINT, r FLOAT, ts9 TIMESTAMP(9)>";
static const char *const filters[] = {
    "[\"in\",\"COL\",[LOW,HIGH]]", "[\"!=\",\"COL\",LOW]", "[\"between\",\"COL\",LOW,HIGH]", "[\"not\",[\"between\",\"COL\",LOW,HIGH]]",
    "[\"<\",\"COL\",HIGH]",        "[\">\",\"COL\",LOW]",  "[\"isNull\",\"COL\"]",           "[\"isNotNull\",\"COL\"]",
};
static const struct {
    const char *column, *low, *high;
} values[] = {
    {"id", "5", "40"},         {"cat", "\"blue\"", "\"green\""},          {"n", "-3", "7"},
    {"d", "\"2024-01-02\"", "\"2024-02-01\""}, {"big", "-9223372036854775807", "5000000000"}, {"ts", "\"2024-01-01 00:00:00\"", "\"2025-01-01 00:00:00\""},
    {"dec", "\"-1.50\"", "\"100.50\""}, {"f", "-1.5", "2.5"},             {"flag", "false", "true"},
    {"t", "-7", "300"},        {"b", "-7", "100"},                        {"r", "-1.5", "2.5"},
    {"ts9", "\"2024-01-01 00:00:00.000000001\"", "\"2025-01-01 00:00:00\""},
};

#define FILTERS (TL_ARRAY_LEN(filters) * TL_ARRAY_LEN(values))

static const tl_type *row_type;
static tl_predicate *predicates[FILTERS];

/* COL, LOW and HIGH replaced. */
static void fill(const char *pattern, size_t v, char *out, size_t cap)
{
    size_t n = 0;
    for (const char *p = pattern; *p != 0 && n + 1 < cap;) {
        const char *with = strncmp(p, "COL", 3) == 0 ? values[v].column : strncmp(p, "LOW", 3) == 0 ? values[v].low : strncmp(p, "HIGH", 4) == 0 ? values[v].high : NULL;
        if (with == NULL) {
            out[n++] = *p++;
            continue;
        }
        n += (size_t)snprintf(out + n, cap - n, "%s", with);
        p += *p == 'H' ? 4 : 3;
    }
    out[n] = 0;
}

static void prepare(void)
{
    if (tl_type_parse((tl_bytes_view){(const uint8_t *)row_text, sizeof row_text - 1}, &row_type, NULL) != TL_OK)
        abort();
    for (size_t i = 0; i < FILTERS; i++) {
        char text[256];
        tl_arena arena = {0};
        const tl_json *json = NULL;
        fill(filters[i % TL_ARRAY_LEN(filters)], i / TL_ARRAY_LEN(filters), text, sizeof text);
        if (tl_json_parse(&arena, (tl_bytes_view){(const uint8_t *)text, strlen(text)}, &json, NULL) != TL_OK ||
            tl_predicate_from_json(json, row_type, &predicates[i], NULL) != TL_OK)
            abort();
        tl_arena_deinit(&arena);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const int64_t rows[] = {60, 180};
    if (row_type == NULL)
        prepare();
    tl_file_index_place place = {.bytes = {data, size}};
    for (size_t i = 0; i < FILTERS * TL_ARRAY_LEN(rows) && size > 0; i++) {
        int64_t n = rows[i / FILTERS], end = -1;
        tl_row_ranges ranges = {NULL, 0};
        tl_file_index_verdict verdict = TL_INDEX_ALL;
        if (tl_file_index_ask(&place, predicates[i % FILTERS], row_type, n, &verdict, &ranges, NULL) != TL_OK)
            continue;
        for (size_t k = 0; k < ranges.n; k++) {
            if (ranges.items[k].from <= end || ranges.items[k].to <= ranges.items[k].from || ranges.items[k].to > n)
                abort();
            end = ranges.items[k].to;
        }
        if ((verdict == TL_INDEX_SOME) != (ranges.n > 0))
            abort();
        tl_row_ranges_deinit(&ranges);
    }
    return 0;
}
