/*
 * The time that a partition's values stand for: `partition.timestamp-pattern` makes one text of them, `partition.timestamp-formatter`
 * reads it. Java: PartitionTimeExtractor.
 */
#include "table/table_private.h"
#include "types/java_format.h"
#include "types/text.h"

struct tl_partition_time {
    const tl_table *table;
    const char *pattern; /* NULL: the first partition column */
    tl_jformat *format;  /* NULL: yyyy-m-d or yyyy-m-d h:m:s[.f], fields that are too large carried over */
};

void tl_partition_time__free(tl_partition_time *time)
{
    if (time != NULL)
        tl_jformat_free(time->format);
    tl_free(time);
}

tl_status tl_partition_time__create(const tl_table *table, tl_partition_time **out, tl_error *err)
{
    TL_CLEANUP(tl_partition_time__freep) tl_partition_time *time = tl_calloc(1, sizeof *time);
    if (time == NULL)
        return tl_nomem(err, "partition time");
    time->table = table;
    time->pattern = tl_table_option(table, "partition.timestamp-pattern");
    const char *format = tl_table_option(table, "partition.timestamp-formatter");
    if (format != NULL)
        TL_TRY(tl_error_wrap(err, tl_jformat_compile((tl_bytes_view){(const uint8_t *)format, strlen(format)}, false, &time->format, err),
                             "option 'partition.timestamp-formatter'"));
    *out = TL_STEAL(time);
    return TL_OK;
}

/* ---- values to text ---- */

/* Every "$name" becomes the value, one column after the other: as the reference does, also where a name begins another. */
static tl_status replace(tl_buf *text, const char *name, tl_bytes_view value)
{
    tl_buf out = {0};
    size_t n = strlen(name);
    tl_status status = TL_OK;
    for (size_t i = 0; status == TL_OK && i < text->len;) {
        bool hit = text->data[i] == '$' && text->len - i > n && memcmp(text->data + i + 1, name, n) == 0;
        status = hit ? tl_buf_append(&out, value.data, value.len) : tl_buf_append(&out, text->data + i, 1);
        i += hit ? n + 1 : 1;
    }
    tl_buf_deinit(text);
    *text = out;
    return status;
}

/* *known is false if a value that is needed is NULL. */
static tl_status time_text(const tl_partition_time *time, const tl_batch *partition, tl_buf *out, bool *known)
{
    int32_t n = time->pattern == NULL ? 1 : partition->n_cols;
    tl_status status = time->pattern == NULL ? TL_OK : tl_buf_append(out, time->pattern, strlen(time->pattern));
    *known = true;
    for (int32_t i = 0; status == TL_OK && i < n && *known; i++) {
        tl_buf value = {0};
        *known = !tl_col_is_null(partition->cols[i], 0);
        if (*known && time->pattern == NULL)
            status = tl_text_append_java(out, partition->cols[i], 0);
        else if (*known)
            status = tl_text_append_java(&value, partition->cols[i], 0);
        if (status == TL_OK && *known && time->pattern != NULL)
            status = replace(out, partition->type->fields[i].name, (tl_bytes_view){value.data, value.len});
        tl_buf_deinit(&value);
    }
    return status;
}

/* ---- text to time ---- */

/* Up to `most` digits. */
static bool take(const char **p, int most, int64_t *out)
{
    int n = 0;
    for (*out = 0; n < most && **p >= '0' && **p <= '9'; n++)
        *out = *out * 10 + (*(*p)++ - '0');
    return n > 0;
}

static bool take_mark(const char **p, char mark)
{
    return *(*p)++ == mark;
}

static bool read_default(const char *text, int64_t *local_ms)
{
    int64_t year, month, day, h = 0, m = 0, s = 0, fraction = 0;
    bool before = *text == '-';
    const char *p = text + before;
    if (!take(&p, 10, &year) || !take_mark(&p, '-') || !take(&p, 2, &month) || !take_mark(&p, '-') || !take(&p, 2, &day) || year > 1000000)
        return false;
    if (*p == ' ') {
        p++;
        if (!take(&p, 2, &h) || !take_mark(&p, ':') || !take(&p, 2, &m) || !take_mark(&p, ':') || !take(&p, 2, &s))
            return false;
        const char *dot = p;
        if (*p == '.' && (p++, !take(&p, 9, &fraction)))
            return false;
        for (int64_t digits = p - dot - 1; *dot == '.' && digits < 9; digits++)
            fraction *= 10;
    }
    if (*p != '\0')
        return false;
    int64_t months = (before ? -year : year) * 12 + month - 1, carried = months / 12 - (months % 12 < 0);
    int64_t days = tl_days_from_civil(carried, (int)(months - carried * 12) + 1, 1) + day - 1;
    *local_ms = days * INT64_C(86400000) + h * 3600000 + m * 60000 + s * 1000 + fraction / 1000000;
    return true;
}

static bool read_formatted(const tl_jformat *format, tl_bytes_view text, int64_t *local_ms)
{
    tl_jtime time;
    bool has_offset;
    bool is_date = tl_jformat_has(format, "yu") && (tl_jformat_has(format, "D") || (tl_jformat_has(format, "ML") && tl_jformat_has(format, "d")));
    if (!is_date || !tl_jformat_parse(format, text, &time, &has_offset))
        return false;
    int64_t day = INT64_C(86400000), in_day = time.millis % day + (time.millis % day < 0 ? day : 0);
    /* Without an hour it is a date, and minutes do not count. */
    *local_ms = tl_jformat_has(format, "HkKhAN") ? time.millis : time.millis - in_day;
    return true;
}

tl_status tl_partition_time__of(const tl_partition_time *time, const tl_batch *partition, int64_t *local_ms, bool *known, tl_error *err)
{
    tl_buf text = {0};
    tl_status status = time_text(time, partition, &text, known);
    if (status == TL_OK)
        status = tl_buf_append_byte(&text, 0);
    if (status == TL_OK && *known) {
        tl_bytes_view view = {text.data, text.len - 1};
        *known = memchr(view.data, 0, view.len) == NULL &&
                 (time->format != NULL ? read_formatted(time->format, view, local_ms) : read_default((const char *)view.data, local_ms));
    }
    tl_buf_deinit(&text);
    return status == TL_OK ? TL_OK : tl_error_set(err, status, "time of a partition: %s", tl_status_name(status));
}
