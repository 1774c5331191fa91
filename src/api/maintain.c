/* Tags, rollback, expiry, partitions, branches, consumers, fsck. */
#include "api/api_private.h"

#include <stdlib.h>

#include "base/parse.h"

tl_status tidelake_create_tag(tidelake_table *table, const char *tag, int64_t snapshot_id, int64_t retain_ms, tl_error *err)
{
    return tl_api__in_table(
        table, tl_table_create_tag(table->table, tag, snapshot_id, retain_ms < 0 ? TL_ABSENT : retain_ms, err), err);
}

tl_status tidelake_delete_tag(tidelake_table *table, const char *tag, tl_error *err)
{
    return tl_api__in_table(table, tl_table_delete_tag(table->table, tag, err), err);
}

tl_status tidelake_rename_tag(tidelake_table *table, const char *from, const char *to, tl_error *err)
{
    return tl_api__in_table(table, tl_table_rename_tag(table->table, from, to, err), err);
}

tl_status tidelake_rollback(tidelake_table *table, int64_t snapshot_id, const char *tag, tl_error *err)
{
    return tl_api__in_table(table, tl_table_rollback(table->table, snapshot_id, tag, err), err);
}

static tl_expire_spec expire_spec(int64_t retain_max, int64_t retain_min, int64_t retain_ms)
{
    return (tl_expire_spec){.retain_max = retain_max < 0 ? TL_ABSENT : retain_max,
                            .retain_min = retain_min < 0 ? TL_ABSENT : retain_min,
                            .older_than_ms = retain_ms < 0 ? TL_ABSENT : retain_ms};
}

tl_status tidelake_expire(tidelake_table *table, int64_t retain_max, int64_t retain_min, int64_t retain_ms, int *expired,
                          tl_error *err)
{
    tl_expire_spec spec = expire_spec(retain_max, retain_min, retain_ms);
    int32_t n = 0;
    TL_TRY(tl_api__in_table(table, tl_table_expire(table->table, &spec, &n, err), err));
    if (expired != NULL)
        *expired = n;
    return TL_OK;
}

tl_status tidelake_expire_changelogs(tidelake_table *table, int64_t retain_max, int64_t retain_min, int64_t retain_ms,
                                     int *expired, tl_error *err)
{
    tl_expire_spec spec = expire_spec(retain_max, retain_min, retain_ms);
    int32_t n = 0;
    TL_TRY(tl_api__in_table(table, tl_table_expire_changelogs(table->table, &spec, &n, err), err));
    if (expired != NULL)
        *expired = n;
    return TL_OK;
}

/* ---- partitions ---- */

/* What stands for NULL in the names of partitions. */
static const char *null_partition(const tidelake_table *table)
{
    const char *name = tl_table_option(table->table, "partition.default-name");
    return name != NULL ? name : tl_option_find("partition.default-name")->default_value;
}

/* A scalar member's value: texts as they are, numbers and booleans as they are written. NULL: out of memory. */
static const char *partition_value(tl_arena *arena, const tl_json *json, const char *null_name)
{
    if (json->kind == TL_JSON_NULL)
        return null_name;
    tl_bytes_view text = json->kind == TL_JSON_STRING ? json->text : json->raw;
    return tl_arena_strndup(arena, (const char *)text.data, text.len);
}

/* The members of an object of scalars as options. */
static tl_status partition_of(const tidelake_table *table, const char *text, tl_options *out, tl_error *err)
{
    tl_arena arena = {0};
    const tl_json *json;
    tl_options options = {0};
    tl_status status = tl_api__parse_json(&arena, (tl_bytes_view){(const uint8_t *)text, strlen(text)}, &json, err);
    if (status == TL_OK && (json->kind != TL_JSON_OBJECT || json->n_children == 0))
        status = tl_error_set(err, TL_E_INVALID, "an object is expected: {\"key\":\"value\"}");
    for (const tl_json *member = status == TL_OK ? json->child : NULL; member != NULL && status == TL_OK;
         member = member->next) {
        if (member->kind == TL_JSON_ARRAY || member->kind == TL_JSON_OBJECT) {
            status = tl_error_set(err, TL_E_INVALID, "the value of '%.*s' is a list or an object", (int)member->key.len,
                                  (const char *)member->key.data);
            break;
        }
        const char *key = tl_arena_strndup(&arena, (const char *)member->key.data, member->key.len);
        const char *value = partition_value(&arena, member, null_partition(table));
        status =
            key == NULL || value == NULL || tl_options_set(&options, key, value) != TL_OK ? tl_nomem(err, "partition") : TL_OK;
    }
    tl_arena_deinit(&arena);
    if (status == TL_OK)
        *out = options;
    else
        tl_options_deinit(&options);
    return tl_error_wrap(err, status, "partition %.200s", text);
}

tl_status tidelake_parse_partition(tidelake_table *table, const char *json, tidelake_option **out, size_t *n, tl_error *err)
{
    tl_options options;
    TL_TRY(partition_of(table, json, &options, err));
    /* One piece of memory: the array, then the texts. */
    size_t bytes = sizeof(tidelake_option) * options.count;
    for (size_t i = 0; i < options.count; i++)
        bytes += strlen(options.keys[i]) + strlen(options.values[i]) + 2;
    tidelake_option *list = tl_alloc(bytes);
    char *at = list == NULL ? NULL : (char *)(list + options.count);
    for (size_t i = 0; list != NULL && i < options.count; i++) {
        list[i].key = at;
        at = stpcpy(at, options.keys[i]) + 1;
        list[i].value = at;
        at = stpcpy(at, options.values[i]) + 1;
    }
    if (list != NULL) {
        *n = options.count;
        *out = list;
    }
    tl_options_deinit(&options);
    return list == NULL ? tl_nomem(err, "partition") : TL_OK;
}

tl_status tidelake_expire_partitions(tidelake_table *table, const char *commit_user, char **partitions_json, tl_error *err)
{
    char **names = NULL;
    size_t n = 0;
    TL_TRY(tl_api__in_table(table, tl_table_expire_partitions(table->table, commit_user, &names, &n, err), err));
    tl_json_writer w;
    tl_json_writer_init(&w, /* pretty= */ false);
    tl_json_begin_array(&w);
    for (size_t i = 0; i < n; i++)
        tl_json_write_str(&w, names[i]);
    tl_json_end_array(&w);
    tl_names_free(names, n);
    tl_status status = w.status == TL_OK ? tl_api__steal(&w.out, partitions_json, err) : tl_nomem(err, "partitions");
    tl_json_writer_deinit(&w);
    return status;
}

void tl_api__partitions_free(tl_options *specs, size_t n)
{
    for (size_t i = 0; specs != NULL && i < n; i++)
        tl_options_deinit(&specs[i]);
    tl_free(specs);
}

tl_status tl_api__partitions(const tidelake_table *table, const char *const *specs_json, size_t n, tl_options **out, tl_error *err)
{
    tl_options *specs = tl_calloc(n + 1, sizeof *specs);
    tl_status status = specs == NULL ? tl_nomem(err, "partitions") : TL_OK;
    for (size_t i = 0; i < n && status == TL_OK; i++)
        status = partition_of(table, specs_json[i], &specs[i], err);
    if (status != TL_OK)
        tl_api__partitions_free(specs, n);
    else
        *out = specs;
    return status;
}

tl_status tidelake_drop_partitions(tidelake_table *table, const char *commit_user, const char *const *specs_json, size_t n,
                                   tl_error *err)
{
    tl_options *specs = NULL;
    TL_TRY(tl_api__partitions(table, specs_json, n, &specs, err));
    tl_status status = tl_api__in_table(table, tl_table_drop_partitions_as(table->table, commit_user, specs, n, err), err);
    tl_api__partitions_free(specs, n);
    return status;
}

tl_status tidelake_mark_partitions_done(tidelake_table *table, const char *const *specs_json, size_t n, tl_error *err)
{
    tl_options *specs = NULL;
    TL_TRY(tl_api__partitions(table, specs_json, n, &specs, err));
    tl_status status = tl_api__in_table(table, tl_table_mark_done(table->table, specs, n, err), err);
    tl_api__partitions_free(specs, n);
    return status;
}

tl_status tidelake_rewrite_file_index(tidelake_table *table, const char *commit_user, const char *const *specs_json, size_t n, tl_error *err)
{
    tl_options *specs = NULL;
    TL_TRY(tl_api__partitions(table, specs_json, n, &specs, err));
    tl_status status = tl_api__in_table(table, tl_table_rewrite_file_index(table->table, commit_user, specs, n, NULL, err), err);
    tl_api__partitions_free(specs, n);
    return status;
}

/* ---- branches and consumers ---- */

tl_status tidelake_create_branch(tidelake_table *table, const char *branch, const char *tag, tl_error *err)
{
    return tl_api__in_table(table, tl_table_create_branch(table->table, branch, tag, err), err);
}

tl_status tidelake_delete_branch(tidelake_table *table, const char *branch, tl_error *err)
{
    return tl_api__in_table(table, tl_table_delete_branch(table->table, branch, err), err);
}

tl_status tidelake_rename_branch(tidelake_table *table, const char *from, const char *to, tl_error *err)
{
    return tl_api__in_table(table, tl_table_rename_branch(table->table, from, to, err), err);
}

tl_status tidelake_fast_forward(tidelake_table *table, const char *branch, tl_error *err)
{
    return tl_api__in_table(table, tl_table_fast_forward(table->table, branch, err), err);
}

tl_status tidelake_set_consumer(tidelake_table *table, const char *id, int64_t next_snapshot, tl_error *err)
{
    return tl_api__in_table(table, tl_table_consumer_set(table->table, id, next_snapshot, err), err);
}

tl_status tidelake_delete_consumer(tidelake_table *table, const char *id, tl_error *err)
{
    return tl_api__in_table(table, tl_table_consumer_delete(table->table, id, err), err);
}

static void consumer_json(const tl_consumer *consumer, tl_json_writer *w)
{
    tl_json_begin_object(w);
    tl_json_key(w, "consumer");
    tl_json_write_str(w, consumer->id);
    tl_json_key(w, "next");
    tl_json_write_int(w, consumer->next_snapshot);
    tl_json_end_object(w);
}

tl_status tidelake_consumers_json(tidelake_table *table, char **out, tl_error *err)
{
    tl_consumer *consumers = NULL;
    size_t n = 0;
    TL_TRY(tl_api__in_table(table, tl_table_consumers(table->table, &consumers, &n, err), err));
    tl_buf lines = {0};
    tl_status status = TL_OK;
    for (size_t i = 0; i < n && status == TL_OK; i++) {
        tl_json_writer w;
        tl_json_writer_init(&w, /* pretty= */ false);
        consumer_json(&consumers[i], &w);
        status = w.status != TL_OK ? w.status : tl_buf_append(&lines, w.out.data, w.out.len);
        if (status == TL_OK)
            status = tl_buf_append_byte(&lines, '\n');
        tl_json_writer_deinit(&w);
    }
    tl_consumers_free(consumers, n);
    status = status == TL_OK ? tl_api__steal(&lines, out, err) : tl_nomem(err, "consumers");
    tl_buf_deinit(&lines);
    return status;
}

/* ---- fsck ---- */

static void report_json(const tl_fsck_report *report, tl_json_writer *w)
{
    const struct {
        const char *name;
        int64_t value;
    } counts[] = {{"snapshots", report->snapshots},
                  {"dataFiles", report->data_files},
                  {"rows", report->rows},
                  {"changelogRows", report->changelog_rows},
                  {"indexFiles", report->index_files}};
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
    TL_TRY(tl_api__in_table(table, tl_table_fsck(table->table, all_snapshots != 0, &report, err), err));
    tl_json_writer w;
    tl_json_writer_init(&w, false);
    report_json(&report, &w);
    *problems = report.n_problems;
    tl_fsck_report_deinit(&report);
    tl_status status = w.status == TL_OK ? tl_api__steal(&w.out, out, err) : tl_nomem(err, "report");
    tl_json_writer_deinit(&w);
    return status;
}

static void repair_json(const tidelake_table *table, const tl_repair_report *report, tl_json_writer *w)
{
    size_t root = strlen(tl_table_path(table->table));
    int64_t bytes = 0;
    tl_json_begin_object(w);
    tl_json_key(w, "hints");
    tl_json_begin_array(w);
    if (report->earliest)
        tl_json_write_str(w, "EARLIEST");
    if (report->latest)
        tl_json_write_str(w, "LATEST");
    tl_json_end_array(w);
    tl_json_key(w, "orphans");
    tl_json_begin_array(w);
    for (size_t i = 0; i < report->n_orphans; i++) {
        tl_json_write_str(w, report->orphans[i].path + root + 1);
        bytes += report->orphans[i].bytes;
    }
    tl_json_end_array(w);
    tl_json_key(w, "bytes");
    tl_json_write_int(w, bytes);
    tl_json_end_object(w);
}

tl_status tidelake_repair(tidelake_table *table, int64_t older_than_ms, int dry_run, char **out, tl_error *err)
{
    tl_repair_report report = {0};
    TL_TRY(tl_api__in_table(table, tl_table_repair(table->table, older_than_ms, dry_run != 0, &report, err), err));
    tl_json_writer w;
    tl_json_writer_init(&w, false);
    repair_json(table, &report, &w);
    tl_orphans_free(report.orphans, report.n_orphans);
    tl_status status = w.status == TL_OK ? tl_api__steal(&w.out, out, err) : tl_nomem(err, "report");
    tl_json_writer_deinit(&w);
    return status;
}

/* ISO 8601 ("P1DT2H3M4.5S", no years or months), for those who know it from Java; false if it is none. */
static bool parse_iso_duration(const char *text, int64_t *ms)
{
    static const struct {
        char name;
        bool in_time;
        double ms;
    } units[] = {{'D', false, 86400000}, {'H', true, 3600000}, {'M', true, 60000}, {'S', true, 1000}};
    if (*text++ != 'P')
        return false;
    double total = 0;
    bool in_time = false;
    size_t next_unit = 0; /* each at most once, in this order */
    while (*text != '\0') {
        if (*text == 'T' && !in_time) {
            in_time = true;
            text++;
        }
        if (*text < '0' || *text > '9')
            return false;
        char *end;
        double v = strtod(text, &end);
        while (next_unit < TL_ARRAY_LEN(units) && (units[next_unit].name != *end || units[next_unit].in_time != in_time))
            next_unit++;
        if (next_unit == TL_ARRAY_LEN(units))
            return false;
        total += v * units[next_unit++].ms;
        text = end + 1;
    }
    *ms = (int64_t)total;
    return next_unit > 0 && total < 9e18;
}

tl_status tidelake_parse_duration(const char *text, int64_t *ms, tl_error *err)
{
    return parse_iso_duration(text, ms) ? TL_OK : tl_parse_duration_ms(text, ms, err);
}

/* ---- clone ---- */

tl_status tidelake_clone(tidelake_table *table, tidelake_lake *to, const char *name, const tidelake_clone_options *options, int *skipped,
                         tl_error *err)
{
    TL_CLEANUP(tl_freep) char *db = NULL;
    TL_CLEANUP(tl_freep) char *target = NULL;
    TL_CLEANUP(tl_predicate_freep) tl_predicate *predicate = NULL;
    tl_clone_result result;
    TL_TRY(tl_api__split_name(name, &db, &target, err));
    if (TL_API_HAS(options, where) && options->where != NULL)
        TL_TRY(tl_api__parse_where(options->where, tl_table_row_type(table->table), &predicate, err));
    const tl_clone_spec spec = {.to = to->catalog,
                                .db = db,
                                .name = target,
                                .predicate = predicate,
                                .meta_only = TL_API_HAS(options, meta_only) && options->meta_only != 0,
                                .skip_existing = TL_API_HAS(options, skip_existing) && options->skip_existing != 0};
    TL_TRY(tl_api__in_table(table, tl_table_clone(table->table, &spec, &result, err), err));
    if (skipped != NULL)
        *skipped = result.skipped;
    return TL_OK;
}
