/*
 * Expiry of partitions: those whose time, or whose last file, is older than partition.expiration-time are dropped. Source: format
 * reference §17; Java: PartitionExpire, PartitionValuesTimeExpireStrategy, PartitionUpdateTimeExpireStrategy.
 */
#include "table/table_private.h"

#include <stdlib.h>

#include "base/log.h"
#include "types/text.h"

typedef struct part {
    tl_bytes_view key; /* bytes of the partition row, in the entries */
    char *name;        /* values joined by ',': the order in which partitions go */
    int64_t newest_ms; /* local time of the newest file */
} part;

typedef struct expiry {
    tl_table *table;
    tl_entries entries;
    part *parts;
    size_t n;
    tl_map index; /* partition -> its place + 1 */
    int64_t older_than_ms; /* local */
} expiry;

static void expiry_deinit(expiry *e)
{
    for (size_t i = 0; i < e->n; i++)
        tl_free(e->parts[i].name);
    tl_free(e->parts);
    tl_map_deinit(&e->index);
    tl_entries_deinit(&e->entries);
}

/* ---- what there is ---- */

static tl_status add_parts(expiry *e, tl_error *err)
{
    e->parts = tl_calloc(e->entries.n + 1, sizeof *e->parts);
    if (e->parts == NULL)
        return tl_nomem(err, "partitions");
    for (size_t i = 0; i < e->entries.n; i++) {
        const tl_manifest_entry *entry = &e->entries.items[i];
        tl_bytes_view key = tl_bytes_view_of(entry->partition);
        uintptr_t at = (uintptr_t)tl_map_get(&e->index, key.data, key.len);
        if (at == 0) {
            e->parts[e->n] = (part){.key = key, .newest_ms = INT64_MIN};
            at = ++e->n;
            if (tl_map_put(&e->index, key.data, key.len, (void *)at, NULL) != TL_OK)
                return tl_nomem(err, "partitions");
        }
        part *p = &e->parts[at - 1];
        /* A file without a time is as young as can be. */
        int64_t made = entry->file->creation_time_ms == TL_ABSENT ? INT64_MAX : entry->file->creation_time_ms;
        p->newest_ms = TL_MAX(p->newest_ms, made);
    }
    return TL_OK;
}

/* Values joined by `mark`, with names if `named`; NULL is the default name. */
static tl_status join_values(const tl_table *table, const tl_batch *row, bool named, const char *mark, char **out, tl_error *err)
{
    tl_buf text = {0};
    tl_status status = TL_OK;
    for (int32_t i = 0; status == TL_OK && i < row->n_cols; i++) {
        status = i == 0 ? TL_OK : tl_buf_append(&text, mark, strlen(mark));
        if (status == TL_OK && named)
            status = tl_buf_appendf(&text, "%s=", row->type->fields[i].name);
        if (status == TL_OK && tl_col_is_null(row->cols[i], 0))
            status = tl_buf_append(&text, table->config->partition_default_name, strlen(table->config->partition_default_name));
        else if (status == TL_OK)
            status = tl_text_append_java(&text, row->cols[i], 0);
    }
    if (status == TL_OK)
        status = tl_buf_steal_str(&text, out);
    tl_buf_deinit(&text);
    return status == TL_OK ? TL_OK : tl_error_set(err, status, "partition: %s", tl_status_name(status));
}

/* ---- which of them go ---- */

static int by_name(const void *a, const void *b)
{
    return strcmp(((const part *)a)->name, ((const part *)b)->name);
}

/* One line for all of them: a table may have many, at every look. */
static void warn(const expiry *e, size_t n, const char *first)
{
    if (n > 0)
        tl_log(TL_LOG_WARN,
               "table %s.%s: %zu partitions never expire, since their values give no time (%s is one): see partition.timestamp-formatter and "
               "-pattern, or use partition.expiration-strategy=update-time",
               e->table->db, e->table->name, n, first);
}

/* Whether a partition is over; then its name is set. */
static tl_status look_at(const expiry *e, const tl_partition_time *time, part *p, char **timeless, size_t *n_timeless, tl_error *err)
{
    TL_CLEANUP(tl_batch_freep) tl_batch *row = NULL;
    bool known = true;
    int64_t ms = p->newest_ms;
    TL_TRY(tl_binary_row_decode(p->key, e->table->partition_type, true, &row, err));
    if (time != NULL)
        TL_TRY(tl_partition_time__of(time, row, &ms, &known, err));
    if (!known && (*n_timeless)++ == 0)
        return join_values(e->table, row, true, ", ", timeless, err);
    return known && ms < e->older_than_ms ? join_values(e->table, row, false, ",", &p->name, err) : TL_OK;
}

/* Keeps those that are over, by name. `time` is NULL for the strategy update-time. */
static tl_status select_expired(expiry *e, const tl_partition_time *time, tl_error *err)
{
    TL_CLEANUP(tl_freep) char *timeless = NULL;
    size_t n = 0, count = e->n, n_timeless = 0;
    e->n = 0;
    for (size_t i = 0; i < count; i++) {
        part p = e->parts[i];
        TL_TRY(look_at(e, time, &p, &timeless, &n_timeless, err));
        if (p.name != NULL)
            e->parts[n++] = p;
        e->n = n;
    }
    if (n > 0)
        qsort(e->parts, n, sizeof *e->parts, by_name);
    warn(e, n_timeless, timeless);
    return TL_OK;
}

static tl_status find_expired(expiry *e, tl_error *err)
{
    tl_table *table = e->table;
    const char *strategy = tl_table__option_or_default(&table->schema->options, "partition.expiration-strategy");
    bool by_values = strcmp(strategy, "values-time") == 0;
    if (!by_values && strcmp(strategy, "update-time") != 0)
        return tl_error_set(err, TL_E_INVALID, "Unknown partitionExpireStrategy: %s", strategy);
    TL_CLEANUP(tl_partition_time__freep) tl_partition_time *time = NULL;
    if (by_values)
        TL_TRY(tl_partition_time__create(table, &time, err));
    TL_CLEANUP(tl_snapshot_freep) tl_snapshot *snap = NULL;
    TL_TRY(tl_table__latest(table->fs, &table->paths, &snap, err));
    if (snap == NULL)
        return TL_OK;
    tl_scan scan;
    tl_scan_init(&scan, TL_SCAN_ALL, snap);
    TL_TRY(tl_table__scan(table, &scan, &e->entries, err));
    TL_TRY(add_parts(e, err));
    return select_expired(e, time, err);
}

/* ---- dropping ---- */

static tl_status drop(expiry *e, const char *user, int64_t identifier, size_t from, size_t to, tl_error *err)
{
    static char mark;
    tl_map partitions = {0};
    tl_status status = TL_OK;
    for (size_t i = from; status == TL_OK && i < to; i++) {
        if (tl_map_put(&partitions, e->parts[i].key.data, e->parts[i].key.len, &mark, NULL) != TL_OK)
            status = tl_nomem(err, "partitions");
    }
    tl_attempt attempt = {.table = e->table,
                          .user = user,
                          .identifier = identifier,
                          .watermark = TL_ABSENT,
                          .kind = TL_COMMIT_OVERWRITE,
                          .check = true,
                          .overwrite = true,
                          .overwrite_partitions = &partitions};
    tl_changes nothing = {0};
    int64_t id = 0;
    int32_t retries = 0;
    if (status == TL_OK)
        status = tl_commit__try(&attempt, &nothing, &id, &retries, err);
    tl_map_deinit(&partitions);
    return status;
}

static tl_status drop_expired(expiry *e, const char *user, int64_t identifier, tl_names *dropped, tl_error *err)
{
    const tl_options *opts = &e->table->schema->options;
    int64_t most = 0, batch = 0;
    TL_TRY(tl_table__option_int(opts, "partition.expiration-max-num", 100, &most, err));
    TL_TRY(tl_table__option_int(opts, "partition.expiration-batch-size", most, &batch, err));
    size_t n = most < 0 ? 0 : TL_MIN(e->n, (size_t)most);
    size_t step = batch > 0 ? (size_t)batch : n;
    for (size_t from = 0; from < n; from += step) {
        size_t to = TL_MIN(from + step, n);
        TL_TRY(drop(e, user, identifier, from, to, err));
        for (size_t i = from; dropped != NULL && i < to; i++) {
            TL_CLEANUP(tl_batch_freep) tl_batch *row = NULL;
            TL_CLEANUP(tl_freep) char *name = NULL;
            TL_TRY(tl_binary_row_decode(e->parts[i].key, e->table->partition_type, true, &row, err));
            TL_TRY(join_values(e->table, row, true, ", ", &name, err));
            TL_TRY(tl_names_add(dropped, name, err));
        }
    }
    return TL_OK;
}

/* Whether it is time to look again. A handle begins at a random point of the interval, so that jobs that are started often come to it,
   too. */
static tl_status is_due(tl_table *table, int64_t identifier, int64_t now_ms, bool *out, tl_error *err)
{
    const tl_options *opts = &table->schema->options;
    int64_t interval = 0;
    TL_TRY(tl_table__option_int(opts, "partition.expiration-check-interval", 3600000, &interval, err));
    pthread_mutex_lock(&table->lock);
    if (table->partitions_checked_ms == 0) {
        int64_t seconds = interval / 1000;
        table->partitions_checked_ms = now_ms - (seconds > 0 ? (int64_t)(tl_random_u64() % (uint64_t)seconds) * 1000 : 0);
    }
    *out = interval == 0 || now_ms - interval > table->partitions_checked_ms ||
           (identifier == TL_COMMIT_BATCH && tl_table__option_bool(opts, "end-input.check-partition-expire"));
    if (*out)
        table->partitions_checked_ms = now_ms;
    pthread_mutex_unlock(&table->lock);
    return TL_OK;
}

tl_status tl_partitions__expire(tl_table *table, const char *user, int64_t identifier, bool due_only, tl_names *dropped, tl_error *err)
{
    int64_t age = 0, now = tl_clock_now_ms(tl_clock_system());
    bool due = true;
    TL_TRY(tl_table__option_int(&table->schema->options, "partition.expiration-time", TL_ABSENT, &age, err));
    if (age == TL_ABSENT || table->n_partition == 0)
        return TL_OK;
    if (due_only)
        TL_TRY(is_due(table, identifier, now, &due, err));
    if (!due)
        return TL_OK;
    expiry e = {.table = table, .older_than_ms = tl_to_local_ms(now) - age};
    tl_status status = find_expired(&e, err);
    if (status == TL_OK)
        status = drop_expired(&e, user, identifier, dropped, err);
    expiry_deinit(&e);
    return status;
}

tl_status tl_table_expire_partitions(tl_table *table, const char *user, char ***dropped, size_t *n, tl_error *err)
{
    char name[256], uuid[37];
    TL_TRY(tl_table__require_data(table, "expire its partitions", err));
    tl_table__full_name(table, name);
    if (table->n_partition == 0 || tl_table_option(table, "partition.expiration-time") == NULL)
        return tl_error_set(err, TL_E_INVALID, "table %s: Both the partition expiration time and partition field can not be null.", name);
    TL_TRY(tl_table__check_writable(table, err));
    tl_names names = {0};
    tl_uuid(uuid);
    tl_status status = tl_partitions__expire(table, user == NULL ? uuid : user, TL_COMMIT_BATCH, /* due_only= */ false, &names, err);
    if (status != TL_OK) {
        tl_names_deinit(&names);
        return tl_error_wrap(err, status, "expiring partitions of table %s", name);
    }
    *dropped = names.items;
    *n = names.n;
    return TL_OK;
}
