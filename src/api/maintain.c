/* Tags, rollback, expiry, partitions, fsck. */
#include "api/api_private.h"

#include <stdlib.h>

#include "base/parse.h"

static tl_status in_table(tidelake_table *table, tl_status status, tl_error *err)
{
    return tl_error_wrap(err, status, "table '%s.%s'", table->db, table->name);
}

tl_status tidelake_create_tag(tidelake_table *table, const char *tag, int64_t snapshot_id, int64_t retain_ms, tl_error *err)
{
    return in_table(table, tl_table_create_tag(table->table, tag, snapshot_id, retain_ms < 0 ? TL_ABSENT : retain_ms, err), err);
}

tl_status tidelake_delete_tag(tidelake_table *table, const char *tag, tl_error *err)
{
    return in_table(table, tl_table_delete_tag(table->table, tag, err), err);
}

tl_status tidelake_rename_tag(tidelake_table *table, const char *from, const char *to, tl_error *err)
{
    return in_table(table, tl_table_rename_tag(table->table, from, to, err), err);
}

tl_status tidelake_rollback(tidelake_table *table, int64_t snapshot_id, const char *tag, tl_error *err)
{
    return in_table(table, tl_table_rollback(table->table, snapshot_id, tag, err), err);
}

tl_status tidelake_expire(tidelake_table *table, int64_t retain_max, int64_t retain_min, int64_t retain_ms, int *expired, tl_error *err)
{
    tl_expire_spec spec = {retain_max < 0 ? TL_ABSENT : retain_max, retain_min < 0 ? TL_ABSENT : retain_min, retain_ms < 0 ? TL_ABSENT : retain_ms};
    int32_t n = 0;
    TL_TRY(in_table(table, tl_table_expire(table->table, &spec, &n, err), err));
    if (expired != NULL)
        *expired = n;
    return TL_OK;
}

tl_status tidelake_drop_partition(tidelake_table *table, const tidelake_option *spec, size_t n, tl_error *err)
{
    tl_options options;
    TL_TRY(tl_api__options(spec, n, &options, err));
    tl_status status = tl_table_drop_partitions(table->table, &options, 1, err);
    tl_options_deinit(&options);
    return in_table(table, status, err);
}

static void report_json(const tl_fsck_report *report, tl_json_writer *w)
{
    const struct {
        const char *name;
        int64_t value;
    } counts[] = {{"snapshots", report->snapshots}, {"dataFiles", report->data_files}, {"rows", report->rows},
                  {"changelogRows", report->changelog_rows}, {"indexFiles", report->index_files}};
    tl_json_begin_object(w);
    for (size_t i = 0; i < TL_ARRAY_LEN(counts); i++) {
        tl_json_key(w, counts[i].name);
        tl_json_write_int(w, counts[i].value);
    }
    tl_json_key(w, "problems");
    tl_json_begin_array(w);
    for (size_t i = 0; i < report->n_problems; i++)
        tl_json_write_str(w, report->problems[i]);
    tl_json_end_array(w);
    tl_json_end_object(w);
}

tl_status tidelake_fsck(tidelake_table *table, int all_snapshots, char **out, size_t *problems, tl_error *err)
{
    tl_fsck_report report = {0};
    TL_TRY(in_table(table, tl_table_fsck(table->table, all_snapshots != 0, &report, err), err));
    tl_json_writer w;
    tl_json_writer_init(&w, false);
    report_json(&report, &w);
    *problems = report.n_problems;
    tl_fsck_report_deinit(&report);
    tl_status status = w.status == TL_OK ? tl_api__steal(&w.out, out, err) : tl_nomem(err, "report");
    tl_json_writer_deinit(&w);
    return status;
}

/* ISO 8601 ("P1DT2H3M4.5S", no years or months), for those who know it from Java; false if it is none. */
static bool parse_iso_duration(const char *text, int64_t *ms)
{
    if (*text++ != 'P' || *text == '\0')
        return false;
    int64_t total = 0;
    bool in_time = false;
    while (*text != '\0') {
        if (*text == 'T' && !in_time) {
            in_time = true;
            text++;
            continue;
        }
        char *end;
        double v = strtod(text, &end);
        if (end == text)
            return false;
        int64_t unit = !in_time && *end == 'D' ? 86400000 : in_time && *end == 'H' ? 3600000 : in_time && *end == 'M' ? 60000 : in_time && *end == 'S' ? 1000 : 0;
        if (unit == 0)
            return false;
        total += (int64_t)(v * (double)unit);
        text = end + 1;
    }
    *ms = total;
    return true;
}

tl_status tidelake_parse_duration(const char *text, int64_t *ms, tl_error *err)
{
    return parse_iso_duration(text, ms) ? TL_OK : tl_parse_duration_ms(text, ms, err);
}
