/*
 * Which snapshot, or which range of them, a batch read reads. Source: format reference §20; Java: TimeTravelUtil,
 * SnapshotManager, AbstractDataTableScan.createStartingScanner, Incremental*StartingScanner.
 */
#include "table/table_private.h"

#include <ctype.h>
#include <strings.h>
#include <time.h>

#include "base/parse.h"

#define FIRST_SNAPSHOT_ID 1

/* ---- local time ---- */

int64_t tl_to_local_ms(int64_t epoch_ms)
{
    int64_t millis = ((epoch_ms % 1000) + 1000) % 1000;
    time_t seconds = (time_t)((epoch_ms - millis) / 1000);
    struct tm parts;
    if (localtime_r(&seconds, &parts) == NULL)
        return epoch_ms;
    return epoch_ms + (int64_t)parts.tm_gmtoff * 1000;
}

int64_t tl_from_local_ms(int64_t local_ms)
{
    int64_t millis = ((local_ms % 1000) + 1000) % 1000;
    time_t seconds = (time_t)((local_ms - millis) / 1000);
    struct tm parts;
    if (gmtime_r(&seconds, &parts) == NULL)
        return local_ms;
    parts.tm_isdst = -1;
    time_t epoch = mktime(&parts);
    return (int64_t)epoch * 1000 + millis;
}

bool tl_parse_local_timestamp(const char *text, int64_t *ms)
{
    int64_t millis = 0;
    int32_t nanos = 0;
    int32_t days = 0;
    tl_bytes_view view = {(const uint8_t *)text, strlen(text)};
    if (tl_parse_timestamp(view, &millis, &nanos)) {
        *ms = tl_from_local_ms(millis);
        return true;
    }
    if (!tl_parse_date(view, &days))
        return false;
    *ms = tl_from_local_ms((int64_t)days * 86400000);
    return true;
}

/* ---- scan.mode ---- */

static bool is_set(const tl_options *opts, const char *key)
{
    return tl_options_get(opts, key) != NULL;
}

tl_status tl_table__default_scan_mode(tl_options *opts, tl_error *err)
{
    const char *mode = NULL;
    if (is_set(opts, "scan.mode"))
        return TL_OK;
    if (is_set(opts, "scan.timestamp-millis") || is_set(opts, "scan.timestamp"))
        mode = "from-timestamp";
    else if (is_set(opts, "scan.file-creation-time-millis"))
        mode = "from-file-creation-time";
    else if (is_set(opts, "scan.snapshot-id"))
        mode = "from-snapshot";
    else if (is_set(opts, "incremental-between-timestamp") || is_set(opts, "incremental-between") || is_set(opts, "incremental-to-auto-tag"))
        mode = "incremental";
    if (mode != NULL && tl_options_set(opts, "scan.mode", mode) != TL_OK)
        return tl_nomem(err, "options");
    return TL_OK;
}

const char *tl_table__startup_mode(const tl_options *opts)
{
    const char *mode = tl_table__option_or_default(opts, "scan.mode");
    static const char *const known[] = {"latest-full",   "latest",        "compacted-full",          "from-timestamp",
                                        "from-snapshot", "incremental",   "from-file-creation-time", "from-creation-timestamp",
                                        "from-snapshot-full"};
    for (size_t i = 0; i < TL_ARRAY_LEN(known); i++) {
        if (strcasecmp(mode, known[i]) == 0)
            return known[i];
    }
    if (strcasecmp(mode, "full") == 0)
        return "latest-full";
    if (is_set(opts, "scan.timestamp-millis") || is_set(opts, "scan.timestamp"))
        return "from-timestamp";
    if (is_set(opts, "scan.snapshot-id") || is_set(opts, "scan.tag-name") || is_set(opts, "scan.watermark") || is_set(opts, "scan.version"))
        return "from-snapshot";
    if (is_set(opts, "scan.file-creation-time-millis"))
        return "from-file-creation-time";
    if (is_set(opts, "scan.creation-time-millis"))
        return "from-creation-timestamp";
    if (is_set(opts, "incremental-between") || is_set(opts, "incremental-between-timestamp"))
        return "incremental";
    return "latest-full";
}

/* ---- snapshots by time ---- */

tl_status tl_table__latest(tl_fs *fs, const tl_paths *paths, tl_snapshot **out, tl_error *err)
{
    /* The id and the file are two reads; a rollback or an expiry in between shows as a missing file: look again. */
    for (int attempt = 0;; attempt++) {
        int64_t id = 0;
        TL_TRY(tl_snapshot_latest_id(fs, paths, &id, err));
        if (id == 0) {
            *out = NULL;
            return TL_OK;
        }
        tl_status status = tl_snapshot_read(fs, paths, id, out, err);
        if (status != TL_E_NOT_FOUND || attempt == 3)
            return status;
    }
}

tl_status tl_table__earliest(tl_fs *fs, const tl_paths *paths, int64_t latest, tl_snapshot **out, tl_error *err)
{
    int64_t id = 0;
    TL_TRY(tl_snapshot_earliest_id(fs, paths, &id, err));
    for (; id > 0 && id <= latest; id++) {
        tl_status status = tl_snapshot_read(fs, paths, id, out, err);
        if (status != TL_E_NOT_FOUND)
            return status;
        /* expired meanwhile: the next one */
    }
    *out = NULL;
    return TL_OK;
}

tl_status tl_table__at_or_before(tl_fs *fs, const tl_paths *paths, int64_t ms, tl_snapshot **out, tl_error *err)
{
    *out = NULL;
    int64_t high = 0;
    TL_TRY(tl_snapshot_latest_id(fs, paths, &high, err));
    TL_CLEANUP(tl_snapshot_freep) tl_snapshot *found = NULL;
    if (high > 0)
        TL_TRY(tl_table__earliest(fs, paths, high, &found, err));
    if (found == NULL || found->time_ms > ms)
        return TL_OK;
    int64_t low = found->id;
    while (low <= high) {
        int64_t mid = low + (high - low) / 2;
        tl_snapshot *snap = NULL;
        TL_TRY(tl_snapshot_read(fs, paths, mid, &snap, err));
        bool equal = snap->time_ms == ms;
        if (snap->time_ms > ms) {
            high = mid - 1;
            tl_snapshot_free(snap);
            continue;
        }
        low = mid + 1;
        tl_snapshot_free(found);
        found = snap;
        if (equal)
            break;
    }
    *out = TL_STEAL(found);
    return TL_OK;
}

static tl_status earliest_of(tl_table *table, bool changes, int64_t latest, tl_snapshot **out, tl_error *err)
{
    if (changes) {
        int64_t id = 0;
        TL_TRY(tl_table__earliest_changes(table, &id, err));
        tl_status status = id == 0 ? TL_E_NOT_FOUND : tl_table__changes_at(table, id, out, err);
        if (status != TL_E_NOT_FOUND)
            return status;
    }
    return tl_table__earliest(table->fs, &table->paths, latest, out, err);
}

tl_status tl_table__earlier_than(tl_table *table, int64_t ms, bool changes, int64_t *out, bool *too_early, tl_error *err)
{
    *too_early = false;
    int64_t high = 0;
    TL_TRY(tl_snapshot_latest_id(table->fs, &table->paths, &high, err));
    if (high == 0) {
        *out = -1;
        return TL_OK;
    }
    TL_CLEANUP(tl_snapshot_freep) tl_snapshot *first = NULL;
    TL_TRY(earliest_of(table, changes, high, &first, err));
    if (first == NULL) {
        *out = high - 1;
        return TL_OK;
    }
    if (first->time_ms >= ms) {
        *too_early = true;
        *out = first->id - 1;
        return TL_OK;
    }
    int64_t low = first->id;
    while (low < high) {
        int64_t mid = low + (high - low + 1) / 2;
        TL_CLEANUP(tl_snapshot_freep) tl_snapshot *snap = NULL;
        TL_TRY(changes ? tl_table__changes_at(table, mid, &snap, err) : tl_snapshot_read(table->fs, &table->paths, mid, &snap, err));
        if (snap->time_ms < ms)
            low = mid;
        else
            high = mid - 1;
    }
    *out = low;
    return TL_OK;
}

/* First snapshot with watermark >= w; watermarks never fall, absent ones stand at the beginning only. */
static tl_status at_watermark(tl_fs *fs, const tl_paths *paths, int64_t watermark, tl_snapshot **out, tl_error *err)
{
    int64_t latest = 0;
    TL_TRY(tl_snapshot_latest_id(fs, paths, &latest, err));
    TL_CLEANUP(tl_snapshot_freep) tl_snapshot *first = NULL;
    if (latest > 0)
        TL_TRY(tl_table__earliest(fs, paths, latest, &first, err));
    int64_t low = first == NULL ? 1 : first->id, high = latest;
    TL_CLEANUP(tl_snapshot_freep) tl_snapshot *found = NULL;
    while (low <= high) {
        int64_t mid = low + (high - low) / 2;
        tl_snapshot *snap = NULL;
        TL_TRY(tl_snapshot_read(fs, paths, mid, &snap, err));
        if (snap->watermark == TL_ABSENT || snap->watermark < watermark) {
            low = mid + 1;
            tl_snapshot_free(snap);
        } else {
            high = mid - 1;
            tl_snapshot_free(found);
            found = snap;
        }
    }
    if (found == NULL)
        return tl_error_set(err, TL_E_NOT_FOUND, "There is currently no snapshot later than or equal to watermark[%lld]", (long long)watermark);
    *out = TL_STEAL(found);
    return TL_OK;
}

static tl_status at_time(tl_fs *fs, const tl_paths *paths, int64_t ms, tl_snapshot **out, tl_error *err)
{
    TL_TRY(tl_table__at_or_before(fs, paths, ms, out, err));
    if (*out != NULL)
        return TL_OK;
    int64_t latest = 0;
    TL_TRY(tl_snapshot_latest_id(fs, paths, &latest, err));
    TL_CLEANUP(tl_snapshot_freep) tl_snapshot *first = NULL;
    TL_TRY(tl_table__earliest(fs, paths, latest, &first, err));
    char earliest[32] = "null";
    if (first != NULL)
        snprintf(earliest, sizeof earliest, "%lld", (long long)first->time_ms);
    return tl_error_set(err, TL_E_NOT_FOUND,
                        "There is currently no snapshot earlier than or equal to timestamp [%lld], the earliest snapshot's timestamp is [%s]",
                        (long long)ms, earliest);
}

static tl_status at_id(tl_fs *fs, const tl_paths *paths, int64_t id, tl_snapshot **out, tl_error *err)
{
    tl_status status = tl_snapshot_read(fs, paths, id, out, err);
    if (status != TL_E_NOT_FOUND)
        return status;
    int64_t first = 0, last = 0;
    TL_TRY(tl_snapshot_earliest_id(fs, paths, &first, err));
    TL_TRY(tl_snapshot_latest_id(fs, paths, &last, err));
    if (first == 0 || last == 0)
        return tl_error_set(err, TL_E_NOT_FOUND, "There is currently no snapshot.");
    return tl_error_set(err, TL_E_NOT_FOUND, "The specified scan snapshotId %lld is out of available snapshotId range [%lld, %lld].",
                        (long long)id, (long long)first, (long long)last);
}

static tl_status at_tag(tl_fs *fs, const tl_paths *paths, const char *tag, tl_snapshot **out, tl_error *err)
{
    tl_status status = tl_tag_read(fs, paths, tag, out, err);
    if (status == TL_E_NOT_FOUND)
        return tl_error_set(err, TL_E_NOT_FOUND, "Tag '%s' doesn't exist.", tag);
    return status;
}

static tl_status number(const char *key, const char *text, int64_t *out, tl_error *err)
{
    return tl_error_wrap(err, tl_parse_int(text, INT64_MIN, INT64_MAX, out, err), "option '%s'", key);
}

/* scan.version: an existing tag, `watermark-N`, or a snapshot id. */
static tl_status at_version(tl_fs *fs, const tl_paths *paths, const char *version, tl_snapshot **out, tl_error *err)
{
    tl_status status = tl_tag_read(fs, paths, version, out, err);
    if (status != TL_E_NOT_FOUND)
        return status;
    int64_t n = 0;
    if (strncmp(version, "watermark-", 10) == 0) {
        TL_TRY(number("scan.version", version + 10, &n, err));
        return at_watermark(fs, paths, n, out, err);
    }
    bool digits = *version != '\0';
    for (const char *p = version; *p != '\0'; p++)
        digits &= isdigit((unsigned char)*p) != 0;
    if (!digits)
        return tl_error_set(err, TL_E_NOT_FOUND, "Cannot find a time travel version for %s", version);
    TL_TRY(number("scan.version", version, &n, err));
    return at_id(fs, paths, n, out, err);
}

tl_status tl_table__travel(tl_fs *fs, const tl_paths *paths, const tl_options *opts, tl_snapshot **out, tl_error *err)
{
    static const char *const keys[] = {"scan.snapshot-id", "scan.tag-name",         "scan.watermark",
                                       "scan.timestamp",   "scan.timestamp-millis", "scan.version"};
    const char *key = NULL;
    for (size_t i = 0; i < TL_ARRAY_LEN(keys); i++) {
        if (!is_set(opts, keys[i]))
            continue;
        if (key != NULL)
            return tl_error_set(err, TL_E_INVALID,
                                "Only one of the following parameters may be set : [scan.snapshot-id, scan.tag-name, scan.watermark, "
                                "scan.timestamp, scan.timestamp-millis]");
        key = keys[i];
    }
    *out = NULL;
    if (key == NULL)
        return TL_OK;
    const char *value = tl_options_get(opts, key);
    int64_t n = 0;
    if (strcmp(key, "scan.tag-name") == 0)
        return at_tag(fs, paths, value, out, err);
    if (strcmp(key, "scan.version") == 0)
        return at_version(fs, paths, value, out, err);
    if (strcmp(key, "scan.timestamp") == 0) {
        if (!tl_parse_local_timestamp(value, &n))
            return tl_error_set(err, TL_E_INVALID, "option 'scan.timestamp': '%s' is no time", value);
        return at_time(fs, paths, n, out, err);
    }
    TL_TRY(number(key, value, &n, err));
    if (strcmp(key, "scan.snapshot-id") == 0)
        return at_id(fs, paths, n, out, err);
    if (strcmp(key, "scan.watermark") == 0)
        return at_watermark(fs, paths, n, out, err);
    return at_time(fs, paths, n, out, err);
}

/* ---- incremental reads ---- */

/* The two halves of `a,b`. */
static tl_status two_parts(const char *key, const char *text, char **a, char **b, tl_error *err)
{
    char **parts = NULL;
    size_t n = 0;
    TL_TRY(tl_table__split_list(text, /* trim= */ false, &parts, &n, err));
    if (n != 2) {
        tl_names_free(parts, n);
        return tl_error_set(err, TL_E_INVALID, "The %s must specific start(exclusive) and end snapshot or timestamp, but is: %s", key, text);
    }
    *a = parts[0];
    *b = parts[1];
    tl_free(parts);
    return TL_OK;
}

static tl_scan_mode delta_mode(const tl_options *opts)
{
    const char *mode = tl_table__option_or_default(opts, "incremental-between-scan-mode");
    if (strcasecmp(mode, "delta") == 0)
        return TL_SCAN_DELTA;
    if (strcasecmp(mode, "changelog") == 0)
        return TL_SCAN_CHANGELOG;
    return strcasecmp(tl_table__option_or_default(opts, "changelog-producer"), "none") == 0 ? TL_SCAN_DELTA : TL_SCAN_CHANGELOG;
}

static bool is_diff(const tl_options *opts)
{
    return strcasecmp(tl_table__option_or_default(opts, "incremental-between-scan-mode"), "diff") == 0;
}

/* A difference of states is only meaningful if their rows lie in the same buckets. */
static tl_status check_rescale(tl_table *table, const tl_snapshot *before, const tl_snapshot *after, tl_error *err)
{
    if (before->schema_id == after->schema_id)
        return TL_OK;
    const tl_table_schema *a = NULL, *b = NULL;
    TL_TRY(tl_table__schema(table, before->schema_id, &a, err));
    TL_TRY(tl_table__schema(table, after->schema_id, &b, err));
    int64_t na = 0, nb = 0;
    TL_TRY(tl_table__option_int(&a->options, "bucket", -1, &na, err));
    TL_TRY(tl_table__option_int(&b->options, "bucket", -1, &nb, err));
    if (na == nb)
        return TL_OK;
    return tl_error_set(err, TL_E_INVALID,
                        "The bucket number of two snapshots are different (%lld, %lld), which is not supported in incremental diff query.",
                        (long long)na, (long long)nb);
}

static tl_status diff_point(tl_table *table, tl_snapshot *before, tl_snapshot *after, tl_read_point *out, tl_error *err)
{
    out->before = before;
    out->snap = after;
    if (before->id == after->id) {
        out->kind = TL_READ_EMPTY;
        return TL_OK;
    }
    out->kind = TL_READ_DIFF;
    return check_rescale(table, before, after, err);
}

/* All that `after` holds is new to a reader who begins before the first snapshot there ever was. */
static tl_status all_of(tl_snapshot *after, tl_read_point *out)
{
    out->snap = after;
    out->kind = TL_READ_SNAPSHOT;
    return TL_OK;
}

static tl_status delta_point(tl_table *table, int64_t from, int64_t to, tl_read_point *out, tl_error *err)
{
    int64_t first = 0, last = 0;
    TL_TRY(tl_snapshot_earliest_id(table->fs, &table->paths, &first, err));
    TL_TRY(tl_snapshot_latest_id(table->fs, &table->paths, &last, err));
    /* (from, to]: the start may be the one before the first. */
    if (from < first - 1 || to > last)
        return tl_error_set(err, TL_E_NOT_FOUND,
                            "The specified scan snapshotId range [%lld, %lld] is out of available snapshotId range [%lld, %lld].",
                            (long long)from, (long long)to, (long long)first, (long long)last);
    out->kind = TL_READ_DELTA;
    out->mode = delta_mode(&table->schema->options);
    out->from = from;
    out->to = to;
    return TL_OK;
}

static tl_status between_tags(tl_table *table, tl_snapshot *start, const char *start_name, tl_snapshot *end, const char *end_name,
                              tl_read_point *out, tl_error *err)
{
    if (tl_table__option_bool(&table->schema->options, "incremental-between-tag-to-snapshot")) {
        int64_t from = start->id, to = end->id;
        tl_snapshot_free(start);
        tl_snapshot_free(end);
        return delta_point(table, from, to, out, err);
    }
    int64_t a = start->id, b = end->id;
    out->before = start;
    out->snap = end;
    if (b < a)
        return tl_error_set(err, TL_E_INVALID, "Tag end %s with snapshot id %lld should be >= tag start %s with snapshot id %lld", end_name,
                            (long long)b, start_name, (long long)a);
    return diff_point(table, start, end, out, err);
}

static tl_status between_ids(tl_table *table, const char *a, const char *b, tl_read_point *out, tl_error *err)
{
    int64_t from = 0, to = 0;
    if (tl_parse_int(a, INT64_MIN, INT64_MAX, &from, NULL) != TL_OK || tl_parse_int(b, INT64_MIN, INT64_MAX, &to, NULL) != TL_OK)
        return tl_error_set(err, TL_E_INVALID,
                            "Didn't find two tags for start '%s' and end '%s', and they are not two snapshot Ids. Please set two tags or two "
                            "snapshot Ids.",
                            a, b);
    if (to < from)
        return tl_error_set(err, TL_E_INVALID, "Ending snapshotId should >= starting snapshotId %lld.", (long long)from);
    int64_t first = 0;
    TL_TRY(tl_snapshot_earliest_id(table->fs, &table->paths, &first, err));
    if (first == 0 || from == to) {
        out->kind = TL_READ_EMPTY;
        return TL_OK;
    }
    if (!is_diff(&table->schema->options))
        return delta_point(table, from, to, out, err);
    tl_snapshot *before = NULL, *after = NULL;
    if (from == FIRST_SNAPSHOT_ID - 1 && first == FIRST_SNAPSHOT_ID) {
        TL_TRY(at_id(table->fs, &table->paths, to, &after, err));
        return all_of(after, out);
    }
    TL_TRY(at_id(table->fs, &table->paths, from, &before, err));
    tl_status status = at_id(table->fs, &table->paths, to, &after, err);
    if (status != TL_OK) {
        tl_snapshot_free(before);
        return status;
    }
    return diff_point(table, before, after, out, err);
}

static tl_status between(tl_table *table, const char *text, tl_read_point *out, tl_error *err)
{
    TL_CLEANUP(tl_freep) char *a = NULL;
    TL_CLEANUP(tl_freep) char *b = NULL;
    TL_TRY(two_parts("incremental-between", text, &a, &b, err));
    tl_snapshot *start = NULL, *end = NULL;
    tl_status status = tl_tag_read(table->fs, &table->paths, a, &start, err);
    if (status != TL_OK && status != TL_E_NOT_FOUND)
        return status;
    status = tl_tag_read(table->fs, &table->paths, b, &end, err);
    if (status != TL_OK && status != TL_E_NOT_FOUND) {
        tl_snapshot_free(start);
        return status;
    }
    if (start != NULL && end != NULL)
        return between_tags(table, start, a, end, b, out, err);
    tl_snapshot_free(start);
    tl_snapshot_free(end);
    return between_ids(table, a, b, out, err);
}

static tl_status parse_times(const char *text, int64_t *from, int64_t *to, tl_error *err)
{
    TL_CLEANUP(tl_freep) char *a = NULL;
    TL_CLEANUP(tl_freep) char *b = NULL;
    TL_TRY(two_parts("incremental-between-timestamp", text, &a, &b, err));
    if (tl_parse_int(a, INT64_MIN, INT64_MAX, from, NULL) == TL_OK && tl_parse_int(b, INT64_MIN, INT64_MAX, to, NULL) == TL_OK)
        return TL_OK;
    if (tl_parse_local_timestamp(a, from) && tl_parse_local_timestamp(b, to))
        return TL_OK;
    return tl_error_set(err, TL_E_INVALID,
                        "The incremental-between-timestamp must specific start(exclusive) and end timestamp. But is: %s", text);
}

static tl_status between_times_diff(tl_table *table, int64_t from, int64_t to, const tl_snapshot *first, const tl_snapshot *last,
                                    tl_read_point *out, tl_error *err)
{
    TL_CLEANUP(tl_snapshot_freep) tl_snapshot *before = NULL;
    TL_CLEANUP(tl_snapshot_freep) tl_snapshot *after = NULL;
    TL_TRY(tl_table__at_or_before(table->fs, &table->paths, to, &after, err));
    if (after == NULL)
        TL_TRY(tl_snapshot_dup(last, &after, err));
    TL_TRY(tl_table__at_or_before(table->fs, &table->paths, from, &before, err));
    if (before == NULL && first->id == FIRST_SNAPSHOT_ID) /* 1.4.2 leaves the rows of the first snapshot out */
        return all_of(TL_STEAL(after), out);
    if (before == NULL)
        TL_TRY(tl_snapshot_dup(first, &before, err));
    return diff_point(table, TL_STEAL(before), TL_STEAL(after), out, err);
}

static tl_status between_times(tl_table *table, const char *text, tl_read_point *out, tl_error *err)
{
    int64_t from = 0, to = 0;
    TL_TRY(parse_times(text, &from, &to, err));
    TL_CLEANUP(tl_snapshot_freep) tl_snapshot *last = NULL;
    TL_CLEANUP(tl_snapshot_freep) tl_snapshot *first = NULL;
    out->kind = TL_READ_EMPTY;
    TL_TRY(tl_table__latest(table->fs, &table->paths, &last, err));
    if (last != NULL)
        TL_TRY(tl_table__earliest(table->fs, &table->paths, last->id, &first, err));
    if (first == NULL)
        return TL_OK;
    if (to < from)
        return tl_error_set(err, TL_E_INVALID, "Ending timestamp %lld should be >= starting timestamp %lld.", (long long)to, (long long)from);
    if (from == to || from > last->time_ms || to < first->time_ms)
        return TL_OK;
    if (is_diff(&table->schema->options))
        return between_times_diff(table, from, to, first, last, out, err);
    TL_CLEANUP(tl_snapshot_freep) tl_snapshot *start = NULL;
    TL_CLEANUP(tl_snapshot_freep) tl_snapshot *end = NULL;
    TL_TRY(tl_table__at_or_before(table->fs, &table->paths, from, &start, err));
    TL_TRY(tl_table__at_or_before(table->fs, &table->paths, to, &end, err));
    int64_t from_id = start == NULL || first->time_ms > from ? first->id - 1 : start->id;
    return delta_point(table, from_id, end == NULL ? last->id : end->id, out, err);
}

/* ---- all modes of a batch read ---- */

/* The newest COMPACT snapshot, or else the newest: what compacted-full reads. */
static tl_status latest_compacted(tl_table *table, tl_snapshot **out, tl_error *err)
{
    int64_t every = 0;
    TL_TRY(tl_table__option_int(&table->schema->options, "full-compaction.delta-commits", 0, &every, err));
    bool by_identifier =
        every > 0 || strcasecmp(tl_table__option_or_default(&table->schema->options, "changelog-producer"), "full-compaction") == 0;
    if (every <= 0)
        every = 1;
    TL_TRY(tl_table__latest(table->fs, &table->paths, out, err));
    if (*out == NULL)
        return TL_OK;
    int64_t first = 0;
    TL_TRY(tl_snapshot_earliest_id(table->fs, &table->paths, &first, err));
    for (int64_t id = (*out)->id; first > 0 && id >= first; id--) {
        TL_CLEANUP(tl_snapshot_freep) tl_snapshot *snap = NULL;
        tl_status status = tl_snapshot_read(table->fs, &table->paths, id, &snap, err);
        if (status == TL_E_NOT_FOUND)
            continue;
        TL_TRY(status);
        if (snap->commit_kind != TL_COMMIT_COMPACT ||
            (by_identifier && snap->commit_identifier != INT64_MAX && snap->commit_identifier % every != 0))
            continue;
        tl_snapshot_free(*out);
        *out = TL_STEAL(snap);
        return TL_OK;
    }
    return TL_OK;
}

void tl_read_point_deinit(tl_read_point *point)
{
    tl_snapshot_free(point->snap);
    tl_snapshot_free(point->before);
    *point = (tl_read_point){0};
}

static tl_status from_creation_time(tl_table *table, tl_read_point *out, tl_error *err)
{
    const tl_options *opts = &table->schema->options;
    int64_t ms = 0, id = 0;
    bool too_early = false;
    TL_TRY(tl_table__option_int(opts, "scan.creation-time-millis", 0, &ms, err));
    TL_TRY(tl_table__earlier_than(table, ms, /* changes= */ false, &id, &too_early, err));
    if (id >= 0 && !too_early) {
        tl_status status = tl_snapshot_read(table->fs, &table->paths, id + 1, &out->snap, err);
        if (status != TL_E_NOT_FOUND)
            return status;
    }
    out->created_after_ms = tl_to_local_ms(ms);
    return tl_table__latest(table->fs, &table->paths, &out->snap, err);
}

/* From the automatic tag before `name` to it; nothing if either is not there. */
static tl_status to_auto_tag(tl_table *table, const char *name, tl_read_point *out, tl_error *err)
{
    TL_CLEANUP(tl_freep) char *start = NULL;
    TL_TRY(tl_tags__auto_before(table, name, &start, err));
    tl_status status = tl_tag_read(table->fs, &table->paths, name, &out->snap, err);
    if (status == TL_E_NOT_FOUND || (status == TL_OK && start == NULL)) {
        tl_snapshot_free(TL_STEAL(out->snap));
        out->kind = TL_READ_EMPTY;
        return TL_OK;
    }
    TL_TRY(status);
    TL_TRY(tl_tag_read(table->fs, &table->paths, start, &out->before, err));
    return diff_point(table, out->before, out->snap, out, err);
}

static tl_status resolve(tl_table *table, tl_read_point *out, tl_error *err)
{
    const tl_options *opts = &table->schema->options;
    const char *mode = tl_table__startup_mode(opts);
    if (strcmp(mode, "incremental") == 0) {
        const char *text = tl_options_get(opts, "incremental-between");
        if (text != NULL)
            return between(table, text, out, err);
        text = tl_options_get(opts, "incremental-between-timestamp");
        if (text != NULL)
            return between_times(table, text, out, err);
        text = tl_options_get(opts, "incremental-to-auto-tag");
        if (text != NULL)
            return to_auto_tag(table, text, out, err);
        return tl_error_set(err, TL_E_INVALID, "option 'scan.mode' = 'incremental' needs one of the options that say from where to where");
    }
    if (strcmp(mode, "compacted-full") == 0)
        return latest_compacted(table, &out->snap, err);
    if (strcmp(mode, "from-file-creation-time") == 0) {
        int64_t ms = 0;
        TL_TRY(tl_table__option_int(opts, "scan.file-creation-time-millis", 0, &ms, err));
        out->created_after_ms = tl_to_local_ms(ms);
        return tl_table__latest(table->fs, &table->paths, &out->snap, err);
    }
    if (strcmp(mode, "from-creation-timestamp") == 0)
        return from_creation_time(table, out, err);
    TL_TRY(tl_table__travel(table->fs, &table->paths, opts, &out->snap, err));
    if (out->snap != NULL)
        return TL_OK;
    return tl_table__latest(table->fs, &table->paths, &out->snap, err);
}

tl_status tl_table__read_point(tl_table *table, tl_read_point *out, tl_error *err)
{
    tl_read_point point = {.kind = TL_READ_SNAPSHOT, .created_after_ms = INT64_MIN};
    tl_status status = resolve(table, &point, err);
    if (status != TL_OK) {
        tl_read_point_deinit(&point);
        return status;
    }
    *out = point;
    return TL_OK;
}
