/*
 * Tags that the table makes itself: one a period, by the clock or the watermark of its snapshots, or one after a batch; and tags whose
 * time is over. Source: format reference §17; Java: TagAutoCreation, TagPeriodHandler, TagTimeExtractor, TagTimeExpire, TagBatchCreation.
 */
#include "table/table_private.h"

#include <strings.h>

#include "types/text.h"
#include "types/tz.h"

#define HOUR_MS INT64_C(3600000)
#define DAY_MS INT64_C(86400000)

/* How tags are named: y, M, d, H and m stand for digits, everything else for itself. */
typedef struct period {
    int64_t ms;
    const char *name;
    bool is_day; /* what follows a blank in a name does not count */
} period;

static tl_status read_period(const tl_options *opts, period *out, tl_error *err)
{
    int64_t ms = TL_ABSENT;
    TL_TRY(tl_table__option_int(opts, "tag.creation-period-duration", TL_ABSENT, &ms, err));
    const char *kind = tl_table__option_or_default(opts, "tag.creation-period"), *form = tl_table__option_or_default(opts, "tag.period-formatter");
    bool dashes = strcasecmp(form, "with_dashes") == 0, spaces = strcasecmp(form, "without_dashes_and_spaces") != 0;
    if (ms != TL_ABSENT)
        *out = (period){ms, "yyyyMMddHHmm", false};
    else if (strcasecmp(kind, "daily") == 0)
        *out = (period){DAY_MS, dashes ? "yyyy-MM-dd" : "yyyyMMdd", true};
    else if (strcasecmp(kind, "hourly") == 0)
        *out = (period){HOUR_MS, dashes ? "yyyy-MM-dd HH" : spaces ? "yyyyMMdd HH" : "yyyyMMddHH", false};
    else
        *out = (period){2 * HOUR_MS, "yyyy-MM-dd HH", false};
    return out->ms > 0 ? TL_OK : tl_error_set(err, TL_E_INVALID, "option 'tag.creation-period-duration' must be more than nothing");
}

static void print_name(const period *p, int64_t local_ms, char out[32])
{
    int64_t days = local_ms / DAY_MS - (local_ms % DAY_MS < 0), in_day = local_ms - days * DAY_MS, year;
    int month, day;
    tl_civil_from_days(days, &year, &month, &day);
    const struct {
        char letter;
        int64_t value;
    } fields[] = {{'y', year}, {'M', month}, {'d', day}, {'H', in_day / HOUR_MS}, {'m', in_day / 60000 % 60}};
    size_t n = strlen(p->name);
    memcpy(out, p->name, n + 1);
    for (size_t f = 0; f < TL_ARRAY_LEN(fields); f++) {
        int64_t left = fields[f].value;
        for (size_t i = n; i-- > 0;) {
            if (p->name[i] == fields[f].letter) {
                out[i] = (char)('0' + left % 10);
                left /= 10;
            }
        }
    }
}

/* The local time that a tag's name says; false if no automatic tag is called so. */
static bool parse_name(const period *p, const char *tag, int64_t *local_ms)
{
    int64_t v[128] = {0};
    size_t n = p->is_day ? strcspn(tag, " ") : strlen(tag);
    if (n != strlen(p->name))
        return false;
    for (size_t i = 0; i < n; i++) {
        if (strchr("yMdHm", p->name[i]) == NULL) {
            if (tag[i] != p->name[i])
                return false;
        } else if (tag[i] >= '0' && tag[i] <= '9') {
            v[(unsigned char)p->name[i]] = v[(unsigned char)p->name[i]] * 10 + (tag[i] - '0');
        } else {
            return false;
        }
    }
    if (v['M'] < 1 || v['M'] > 12 || v['d'] < 1 || v['d'] > 31 || v['H'] > 23 || v['m'] > 59)
        return false;
    int64_t days = tl_days_from_civil(v['y'], (int)v['M'], (int)v['d']), year;
    int month, day;
    tl_civil_from_days(days, &year, &month, &day);
    *local_ms = days * DAY_MS + v['H'] * HOUR_MS + v['m'] * 60000;
    return month == v['M']; /* there is no 30th of February */
}

tl_status tl_tags__check_options(const tl_options *opts, tl_error *err)
{
    period p;
    int64_t delay = 0;
    static const char *const zones[] = {"sink.process-time-zone", "sink.watermark-time-zone"};
    TL_TRY(read_period(opts, &p, err));
    TL_TRY(tl_table__option_int(opts, "tag.creation-delay", 0, &delay, err));
    if (delay >= p.ms)
        return tl_error_set(err, TL_E_INVALID, "option 'tag.creation-delay': it must be shorter than the period of automatic tags");
    for (size_t i = 0; i < TL_ARRAY_LEN(zones); i++) {
        const char *name = tl_options_get(opts, zones[i]);
        const tl_tz *zone;
        if (name != NULL)
            TL_TRY(tl_error_wrap(err, tl_tz_find((tl_bytes_view){(const uint8_t *)name, strlen(name)}, &zone, err), "option '%s'", zones[i]));
    }
    return TL_OK;
}

/* ---- by the clock and by watermarks ---- */

/* Local time of a snapshot in the zone that the options name. */
static tl_status local_time(const tl_options *opts, const char *zone_option, int64_t utc_ms, int64_t *out, tl_error *err)
{
    const char *name = tl_table__option_or_default(opts, zone_option);
    const tl_tz *zone;
    if (name == NULL) {
        *out = tl_to_local_ms(utc_ms);
        return TL_OK;
    }
    TL_TRY(tl_tz_find((tl_bytes_view){(const uint8_t *)name, strlen(name)}, &zone, err));
    *out = utc_ms + tl_tz_offset_ms(zone, utc_ms);
    return TL_OK;
}

typedef struct creation {
    tl_table *table;
    const tl_options *opts;
    period period;
    int64_t delay_ms;
    bool by_watermark;
    tl_auto_tags at; /* where it goes on */
} creation;

/* Behind the last automatic tag, or at the first snapshot. */
static tl_status find_start(creation *c, tl_error *err)
{
    tl_table *table = c->table;
    tl_tagged *tags = NULL;
    size_t n = 0;
    TL_TRY(tl_tags__snapshots(table, &tags, &n, err));
    c->at = (tl_auto_tags){.next_ms = TL_ABSENT};
    for (size_t i = 0; i < n; i++) {
        for (size_t t = 0; t < tags[i].n_names; t++) {
            int64_t ms;
            if (!parse_name(&c->period, tags[i].names[t], &ms))
                continue;
            bool same = c->at.next_snapshot == tags[i].snap->id + 1;
            c->at.next_ms = same ? TL_MAX(c->at.next_ms, ms + c->period.ms) : ms + c->period.ms;
            c->at.next_snapshot = tags[i].snap->id + 1;
        }
    }
    tl_tags__free(tags, n);
    if (c->at.next_snapshot > 0)
        return TL_OK;
    TL_TRY(tl_snapshot_earliest_id(table->fs, &table->paths, &c->at.next_snapshot, err));
    c->at.next_snapshot = TL_MAX(c->at.next_snapshot, 1);
    return TL_OK;
}

tl_status tl_tags__auto_before(tl_table *table, const char *name, char **out, tl_error *err)
{
    period p;
    int64_t end = 0, best = INT64_MIN, ms = 0;
    tl_tagged *tags = NULL;
    size_t n = 0;
    *out = NULL;
    TL_TRY(read_period(&table->schema->options, &p, err));
    if (!parse_name(&p, name, &end))
        return tl_error_set(err, TL_E_INVALID, "Specified tag '%s' is not an auto-created tag.", name);
    TL_TRY(tl_tags__snapshots(table, &tags, &n, err));
    const char *found = NULL;
    for (size_t i = 0; i < n; i++) {
        for (size_t t = 0; t < tags[i].n_names; t++) {
            if (!parse_name(&p, tags[i].names[t], &ms) || ms >= end || ms < best)
                continue;
            best = ms;
            found = tags[i].names[t];
        }
    }
    tl_status status = TL_OK;
    if (found != NULL && (*out = tl_strdup(found)) == NULL)
        status = tl_nomem(err, "tags");
    tl_tags__free(tags, n);
    return status;
}

/* Only the newest tag.num-retained-max automatic tags stay. */
static tl_status drop_surplus(creation *c, tl_error *err)
{
    int64_t max = 0;
    TL_TRY(tl_table__option_int(c->opts, "tag.num-retained-max", TL_ABSENT, &max, err));
    if (max == TL_ABSENT)
        return TL_OK;
    tl_tagged *tags = NULL;
    size_t n = 0;
    TL_TRY(tl_tags__snapshots(c->table, &tags, &n, err));
    int64_t ms, count = 0;
    for (size_t i = 0; i < n; i++) {
        bool any = false;
        for (size_t t = 0; t < tags[i].n_names; t++)
            any |= parse_name(&c->period, tags[i].names[t], &ms);
        count += any;
    }
    tl_status status = TL_OK;
    for (size_t i = 0; status == TL_OK && i < n && count > max; i++) {
        bool any = false;
        for (size_t t = 0; status == TL_OK && t < tags[i].n_names; t++) {
            if (!parse_name(&c->period, tags[i].names[t], &ms))
                continue;
            any = true;
            status = tl_table_delete_tag(c->table, tags[i].names[t], err);
        }
        count -= any;
    }
    tl_tags__free(tags, n);
    return status;
}

static tl_status look_at(creation *c, const tl_snapshot *snap, tl_error *err)
{
    int64_t time = 0;
    if (c->by_watermark && (snap->watermark == TL_ABSENT || snap->watermark == INT64_MIN))
        return TL_OK;
    TL_TRY(local_time(c->opts, c->by_watermark ? "sink.watermark-time-zone" : "sink.process-time-zone",
                      c->by_watermark ? snap->watermark : snap->time_ms, &time, err));
    if (c->at.next_ms != TL_ABSENT && time - c->delay_ms < c->at.next_ms + c->period.ms)
        return TL_OK;
    int64_t tag_ms = time / c->period.ms * c->period.ms - c->period.ms;
    if (c->at.next_ms != TL_ABSENT && tl_table__option_bool(c->opts, "tag.automatic-completion"))
        tag_ms = c->at.next_ms;
    char name[32];
    print_name(&c->period, tag_ms, name);
    tl_status status = tl_table_create_tag(c->table, name, snap->id, TL_ABSENT, err);
    if (status != TL_E_EXISTS)
        TL_TRY(status);
    c->at.next_ms = tag_ms + c->period.ms;
    return drop_surplus(c, err);
}

static tl_status walk(creation *c, tl_error *err)
{
    tl_table *table = c->table;
    for (;;) {
        TL_CLEANUP(tl_snapshot_freep) tl_snapshot *snap = NULL;
        tl_status status = tl_snapshot_read(table->fs, &table->paths, c->at.next_snapshot, &snap, err);
        if (status == TL_OK) {
            TL_TRY(look_at(c, snap, err));
            c->at.next_snapshot++;
            continue;
        }
        if (status != TL_E_NOT_FOUND)
            return status;
        int64_t first = 0;
        TL_TRY(tl_snapshot_earliest_id(table->fs, &table->paths, &first, err));
        if (first <= c->at.next_snapshot)
            return TL_OK;
        c->at.next_snapshot = first; /* what lies between has expired */
    }
}

/* Options, and where the last look ended. */
static tl_status begin(creation *c, tl_error *err)
{
    tl_table *table = c->table;
    TL_TRY(tl_tags__check_options(c->opts, err));
    TL_TRY(read_period(c->opts, &c->period, err));
    TL_TRY(tl_table__option_int(c->opts, "tag.creation-delay", 0, &c->delay_ms, err));
    pthread_mutex_lock(&table->lock);
    c->at = table->auto_tags;
    pthread_mutex_unlock(&table->lock);
    return c->at.next_snapshot == 0 ? find_start(c, err) : TL_OK;
}

static tl_status create_due(tl_table *table, tl_error *err)
{
    const tl_options *opts = &table->schema->options;
    const char *mode = tl_table__option_or_default(opts, "tag.automatic-creation");
    creation c = {.table = table, .opts = opts, .by_watermark = strcasecmp(mode, "watermark") == 0};
    if (!c.by_watermark && strcasecmp(mode, "process-time") != 0)
        return TL_OK;
    TL_TRY(begin(&c, err));
    tl_status status = walk(&c, err);
    pthread_mutex_lock(&table->lock);
    table->auto_tags = c.at;
    pthread_mutex_unlock(&table->lock);
    return status;
}

tl_status tl_table_wants_snapshot(tl_table *table, bool *out, tl_error *err)
{
    const tl_options *opts = &table->schema->options;
    int64_t now = 0;
    *out = tl_table__option_bool(opts, "commit.force-create-snapshot");
    if (*out || table->config->write_only || strcasecmp(tl_table__option_or_default(opts, "tag.automatic-creation"), "process-time") != 0)
        return TL_OK;
    creation c = {.table = table, .opts = opts};
    TL_TRY(begin(&c, err));
    TL_TRY(local_time(opts, "sink.process-time-zone", tl_clock_now_ms(tl_clock_system()), &now, err));
    *out = c.at.next_ms == TL_ABSENT || now - c.delay_ms >= c.at.next_ms + c.period.ms;
    return TL_OK;
}

/* ---- after a batch ---- */

/* Of all tags only the newest tag.num-retained-max stay. */
static tl_status keep_newest(tl_table *table, tl_error *err)
{
    int64_t max = 0, count = 0;
    TL_TRY(tl_table__option_int(&table->schema->options, "tag.num-retained-max", TL_ABSENT, &max, err));
    if (max == TL_ABSENT)
        return TL_OK;
    tl_tagged *tags = NULL;
    size_t n = 0;
    TL_TRY(tl_tags__snapshots(table, &tags, &n, err));
    for (size_t i = 0; i < n; i++)
        count += (int64_t)tags[i].n_names;
    tl_status status = TL_OK;
    for (size_t i = 0; status == TL_OK && i < n; i++) {
        for (size_t t = 0; status == TL_OK && t < tags[i].n_names && count > max; t++, count--)
            status = tl_table_delete_tag(table, tags[i].names[t], err);
    }
    tl_tags__free(tags, n);
    return status;
}

tl_status tl_tags__after_batch(tl_table *table, tl_error *err)
{
    const tl_options *opts = &table->schema->options;
    if (strcasecmp(tl_table__option_or_default(opts, "tag.automatic-creation"), "batch") != 0)
        return TL_OK;
    TL_CLEANUP(tl_snapshot_freep) tl_snapshot *snap = NULL;
    TL_TRY(tl_table__latest(table->fs, &table->paths, &snap, err));
    if (snap == NULL)
        return TL_OK;
    int64_t local = 0;
    char name[48] = "batch-write-";
    TL_TRY(local_time(opts, "sink.process-time-zone", snap->time_ms, &local, err));
    print_name(&(period){DAY_MS, "yyyy-MM-dd", true}, local, name + strlen(name));
    const char *given = tl_options_get(opts, "tag.batch.customized-name");
    TL_TRY(tl_table_delete_tag(table, given != NULL ? given : name, err)); /* of an earlier batch of the day */
    TL_TRY(tl_table_create_tag(table, given != NULL ? given : name, snap->id, TL_ABSENT, err));
    return keep_newest(table, err);
}

/* ---- tags whose time is over ---- */

static tl_status made_at(tl_table *table, const char *name, int64_t *local_ms, tl_error *err)
{
    TL_CLEANUP(tl_freep) char *path = tl_paths_tag(&table->paths, name);
    tl_stat stat;
    if (path == NULL)
        return tl_nomem(err, "path");
    TL_TRY(tl_fs_stat(table->fs, path, &stat, err));
    *local_ms = tl_to_local_ms(stat.mtime_ms);
    return TL_OK;
}

static tl_status expire_one(tl_table *table, const char *name, int64_t older_than_ms, tl_names *expired, tl_error *err)
{
    TL_CLEANUP(tl_snapshot_freep) tl_snapshot *tag = NULL;
    int64_t now = tl_to_local_ms(tl_clock_now_ms(tl_clock_system()));
    tl_status status = tl_tag_read(table->fs, &table->paths, name, &tag, err);
    if (status == TL_E_NOT_FOUND)
        return TL_OK; /* deleted meanwhile */
    TL_TRY(status);
    int64_t made = tag->tag_create_time_ms, kept = tag->tag_retained_ms;
    if (made == TL_ABSENT || kept == TL_ABSENT) {
        if (older_than_ms == TL_ABSENT)
            return TL_OK;
        TL_TRY(made_at(table, name, &made, err));
    }
    bool over = kept != TL_ABSENT && now - made > kept;
    if (!over && (older_than_ms == TL_ABSENT || made >= older_than_ms))
        return TL_OK;
    TL_TRY(tl_table_delete_tag(table, name, err));
    return expired == NULL ? TL_OK : tl_names_add(expired, name, err);
}

static tl_status expire_all(tl_table *table, int64_t older_than_ms, tl_names *expired, tl_error *err)
{
    char **names = NULL;
    size_t n = 0;
    TL_TRY(tl_tag_list(table->fs, &table->paths, &names, &n, err));
    tl_status status = TL_OK;
    for (size_t i = 0; status == TL_OK && i < n; i++)
        status = expire_one(table, names[i], older_than_ms, expired, err);
    tl_names_free(names, n);
    return status;
}

tl_status tl_table_expire_tags(tl_table *table, int64_t older_than_ms, char ***expired, size_t *n, tl_error *err)
{
    char name[256];
    TL_TRY(tl_table__require_data(table, "expire its tags", err));
    tl_names names = {0};
    tl_status status = expire_all(table, older_than_ms == TL_ABSENT ? TL_ABSENT : tl_to_local_ms(older_than_ms), &names, err);
    if (status != TL_OK) {
        tl_names_deinit(&names);
        return tl_error_wrap(err, status, "expiring tags of table %s", tl_table__full_name(table, name));
    }
    *expired = names.items;
    *n = names.n;
    return TL_OK;
}

tl_status tl_table_trigger_tags(tl_table *table, tl_error *err)
{
    TL_TRY(tl_table__require_data(table, "make its tags", err));
    TL_TRY(create_due(table, err));
    return tl_table__option_bool(&table->schema->options, "tag.time-expire-enabled") ? expire_all(table, TL_ABSENT, NULL, err) : TL_OK;
}
