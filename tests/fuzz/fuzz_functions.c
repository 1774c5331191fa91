/*
 * Little languages inside SQL functions: patterns of dates, regular expressions, JSON paths, time zones, texts that are cast. The
 * first byte picks one, the second says how long the pattern is; the rest is the text it is used on.
 */
#include "fuzz/input.h"
#include "sql/cast.h"
#include "types/java_format.h"
#include "sql/json_path.h"
#include "sql/text_util.h"

static void date_pattern(tl_bytes_view pattern, tl_bytes_view text, bool legacy)
{
    tl_jformat *format = NULL;
    tl_jtime time = {0};
    tl_buf out = {0};
    bool has_offset = false;
    if (tl_jformat_compile(pattern, legacy, &format, NULL) != TL_OK)
        return;
    if (!tl_jformat_parse(format, text, &time, &has_offset))
        time = (tl_jtime){.millis = text.len >= 8 ? (int64_t)tl_read_le64(text.data) % 8000000000000000 : 0, .zone = "UTC"};
    if (time.zone == NULL)
        time.zone = "UTC";
    (void)tl_jformat_print(format, &time, &out, NULL); /* years beyond its range are refused */
    tl_buf_deinit(&out);
    tl_jformat_free(format);
}

static void regular_expression(tl_bytes_view pattern, tl_bytes_view text)
{
    tl_regex *regex = NULL;
    size_t groups[20], at = 0;
    int n = 0;
    bool found = true;
    if (tl_regex__compile(pattern, &regex, NULL) != TL_OK)
        return;
    for (int i = 0; i < 20 && found && at <= text.len; i++) {
        if (tl_regex__find(regex, text, at, groups, 10, &n, &found, NULL) != TL_OK)
            break; /* too many steps */
        if (found && (n < 1 || groups[0] > groups[1] || groups[1] > text.len))
            abort();
        if (found)
            at = groups[1] > groups[0] ? groups[1] : groups[1] + 1;
    }
    tl_regex__free(regex);
}

static void json_path(tl_bytes_view pattern, tl_bytes_view text)
{
    tl_arena arena = {0};
    const tl_json *json = NULL;
    tl_json_path *path = NULL;
    tl_json_found found;
    tl_buf out = {0};
    if (tl_json_parse(&arena, text, &json, NULL) == TL_OK && tl_json_path_compile(pattern, &path, NULL) == TL_OK &&
        tl_json_path_find(path, json, &arena, &found, NULL) == TL_OK && found.value != NULL)
        (void)tl_json_print(&out, found.value, &arena, NULL); /* texts that are no Unicode are refused */
    tl_json_path_free(path);
    tl_buf_deinit(&out);
    tl_arena_deinit(&arena);
}

static void zone_and_casts(tl_bytes_view text)
{
    static const int64_t times[] = {0, -62135596800000, 253402300799999, 1700000000000};
    const tl_tz *zone = NULL;
    int32_t day, nanos;
    int64_t millis, number;
    if (tl_tz_find(text, &zone, NULL) == TL_OK)
        for (size_t i = 0; i < TL_ARRAY_LEN(times); i++)
            (void)tl_tz_to_utc_ms(zone, times[i] + tl_tz_offset_ms(zone, times[i]));
    (void)tl_convert_parse_date(text, &day); /* only that they end */
    (void)tl_convert_parse_time(text, &millis);
    if (tl_convert_parse_timestamp(text, &millis, &nanos) && (nanos < 0 || nanos >= 1000000))
        abort();
    if (tl_cast__parse_int(text, INT16_MIN, INT16_MAX, &number) == NULL && (number < INT16_MIN || number > INT16_MAX))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    size_t n = data[1] < size - 2 ? data[1] : size - 2;
    tl_bytes_view pattern = {data + 2, n}, text = {data + 2 + n, size - 2 - n};
    switch (data[0] % 5) {
    case 0:
        date_pattern(pattern, text, false);
        break;
    case 1:
        date_pattern(pattern, text, true);
        break;
    case 2:
        regular_expression(pattern, text);
        break;
    case 3:
        json_path(pattern, text);
        break;
    default:
        zone_and_casts(text);
    }
    return 0;
}
