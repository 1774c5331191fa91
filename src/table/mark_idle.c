/*
 * Partitions that a streaming job wrote to and that are marked done when nothing came for long enough: `partition.idle-time-to-done` after the
 * last write, and after the end of the time that the partition stands for (its values' time and `partition.time-interval`). What a
 * partition is marked by is mark_done.c's. Java: PartitionMarkDoneListener, PartitionMarkDoneTrigger.
 */
#include "table/table_private.h"

#include <strings.h>

#include "base/json.h"

struct tl_idle_partitions {
    tl_table *table;
    tl_partition_time *time;
    int64_t idle_ms, interval_ms; /* TL_ABSENT: only the end of the input counts */
    bool by_watermark;            /* instead of the clock */
    bool at_end;                  /* all of them with the end of the input */
    bool needs_compaction;        /* rows are seen when they are compacted: that counts as a write */
    tl_map last;                  /* partition row -> when it was last written to, in ms plus 1 (0 is "not there") */
};

static tl_status note(tl_idle_partitions *idle, tl_bytes_view partition, int64_t now_ms, tl_error *err)
{
    void *when = (void *)(intptr_t)(TL_MIN(TL_MAX(now_ms, 0), INT64_MAX - 1) + 1);
    return tl_map_put(&idle->last, partition.data, partition.len, when, NULL) == TL_OK ? TL_OK : tl_nomem(err, "partitions");
}

/* ---- what waited when the job ended ---- */

static int hex_value(uint8_t c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static tl_status read_one(tl_idle_partitions *idle, tl_bytes_view hex, int64_t now_ms, tl_error *err)
{
    TL_CLEANUP(tl_batch_freep) tl_batch *row = NULL;
    TL_CLEANUP(tl_freep) uint8_t *bytes = tl_alloc(hex.len / 2 + 1);
    if (bytes == NULL)
        return tl_nomem(err, "partitions");
    for (size_t i = 0; i + 1 < hex.len; i += 2) {
        int high = hex_value(hex.data[i]), low = hex_value(hex.data[i + 1]);
        if (high < 0 || low < 0)
            return tl_error_set(err, TL_E_CORRUPT, "partitions that wait: '%.*s' is no row", (int)TL_MIN(hex.len, 64), (const char *)hex.data);
        bytes[i / 2] = (uint8_t)(high << 4 | low);
    }
    const tl_bytes_view partition = {bytes, hex.len / 2};
    TL_TRY(tl_error_wrap(err, tl_binary_row_decode(partition, idle->table->partition_type, true, &row, err), "partitions that wait"));
    return note(idle, partition, now_ms, err);
}

static tl_status read_pending(tl_idle_partitions *idle, const char *pending, int64_t now_ms, tl_error *err)
{
    tl_arena arena = {0};
    const tl_json *json = NULL;
    tl_status status = tl_json_parse(&arena, (tl_bytes_view){(const uint8_t *)pending, strlen(pending)}, &json, err);
    if (status == TL_OK && json->kind != TL_JSON_ARRAY)
        status = tl_error_set(err, TL_E_CORRUPT, "partitions that wait: a list is expected");
    for (const tl_json *item = status == TL_OK ? json->child : NULL; item != NULL && status == TL_OK; item = item->next)
        status = item->kind == TL_JSON_STRING ? read_one(idle, item->text, now_ms, err) : tl_error_set(err, TL_E_CORRUPT, "partitions that wait: a text is expected");
    tl_arena_deinit(&arena);
    return status;
}

tl_status tl_idle_partitions_text(const tl_idle_partitions *idle, char **out, tl_error *err)
{
    tl_buf text = {0};
    tl_bytes_view partition;
    void *when;
    tl_status status = tl_buf_append_byte(&text, '[');
    bool first = true;
    for (size_t at = 0; status == TL_OK && tl_map_next(&idle->last, &at, &partition, &when); first = false) {
        status = tl_buf_append_str(&text, first ? "\"" : ",\"");
        for (size_t i = 0; status == TL_OK && i < partition.len; i++) {
            static const char digits[] = "0123456789abcdef";
            const char pair[] = {digits[partition.data[i] >> 4], digits[partition.data[i] & 15]};
            status = tl_buf_append(&text, pair, 2);
        }
        if (status == TL_OK)
            status = tl_buf_append_byte(&text, '"');
    }
    if (status == TL_OK)
        status = tl_buf_append_byte(&text, ']');
    if (status == TL_OK)
        status = tl_buf_steal_str(&text, out);
    tl_buf_deinit(&text);
    return status == TL_OK ? TL_OK : tl_nomem(err, "partitions");
}

/* ---- beginning ---- */

static tl_status read_options(tl_idle_partitions *idle, tl_error *err)
{
    const tl_table *table = idle->table;
    const tl_options *opts = &table->schema->options;
    const char *mode = tl_table__option_or_default(opts, "partition.mark-done-action.mode"), *engine = tl_table_option(table, "merge-engine");
    TL_TRY(tl_mark_done__check(opts, err));
    TL_TRY(tl_table__option_int(opts, "partition.time-interval", TL_ABSENT, &idle->interval_ms, err));
    if (strcasecmp(mode, "process-time") != 0 && strcasecmp(mode, "watermark") != 0)
        return tl_error_set(err, TL_E_INVALID, "option 'partition.mark-done-action.mode': '%s' is none of process-time, watermark", mode);
    idle->by_watermark = strcasecmp(mode, "watermark") == 0;
    idle->at_end = tl_table__option_bool(opts, "partition.end-input-to-done");
    idle->needs_compaction = table->n_keys > 0 && (table->config->deletion_vectors || table->bucket_mode == TL_BUCKETS_POSTPONE ||
                                                   (engine != NULL && strcmp(engine, "first-row") == 0));
    return tl_partition_time__create(table, &idle->time, err);
}

tl_status tl_idle_partitions_create(tl_table *table, const char *pending, int64_t now_ms, tl_idle_partitions **out, tl_error *err)
{
    int64_t idle_ms = TL_ABSENT;
    *out = NULL;
    TL_TRY(tl_table__option_int(&table->schema->options, "partition.idle-time-to-done", TL_ABSENT, &idle_ms, err));
    if (table->n_partition == 0 || idle_ms == TL_ABSENT)
        return TL_OK;
    tl_idle_partitions *idle = tl_calloc(1, sizeof *idle);
    if (idle == NULL)
        return tl_nomem(err, "partitions");
    idle->table = table;
    idle->idle_ms = idle_ms;
    tl_status status = read_options(idle, err);
    if (status == TL_OK && pending != NULL && tl_table__option_bool(&table->schema->options, "partition.mark-done.recover-from-state"))
        status = read_pending(idle, pending, now_ms, err);
    if (status != TL_OK) {
        tl_idle_partitions_free(idle);
        return status;
    }
    *out = idle;
    return TL_OK;
}

void tl_idle_partitions_free(tl_idle_partitions *idle)
{
    if (idle == NULL)
        return;
    tl_partition_time__free(idle->time);
    tl_map_deinit(&idle->last);
    tl_free(idle);
}

bool tl_idle_partitions_by_watermark(const tl_idle_partitions *idle)
{
    return idle->by_watermark;
}

/* ---- writes, and their end ---- */

tl_status tl_idle_partitions_note(tl_idle_partitions *idle, const tl_commit_messages *messages, int64_t now_ms, tl_error *err)
{
    for (size_t i = 0; i < messages->n; i++) {
        const tl_commit_message *m = &messages->items[i];
        size_t changes = m->new_files.n + m->deleted_files.n + m->changelog_files.n + m->new_indexes.n + m->deleted_indexes.n;
        if (idle->needs_compaction || changes > 0)
            TL_TRY(note(idle, tl_bytes_view_of(m->partition), now_ms, err));
    }
    return TL_OK;
}

/* Whether nothing came for long enough, or (*timeless) the partition's values say no time, so that nobody can know. */
static tl_status is_over(const tl_idle_partitions *idle, tl_bytes_view partition, int64_t last_ms, int64_t now_ms, bool *over, bool *timeless, tl_error *err)
{
    TL_CLEANUP(tl_batch_freep) tl_batch *row = NULL;
    int64_t begin_ms = 0;
    bool known = false;
    TL_TRY(tl_binary_row_decode(partition, idle->table->partition_type, true, &row, err));
    TL_TRY(tl_partition_time__of(idle->time, row, &begin_ms, &known, err));
    *timeless = !known;
    if (!idle->by_watermark) /* watermarks are compared with UTC */
        begin_ms = tl_from_local_ms(begin_ms);
    int64_t end_ms = begin_ms > INT64_MAX - idle->interval_ms ? INT64_MAX : begin_ms + idle->interval_ms;
    *over = known && now_ms - TL_MAX(last_ms, end_ms) > idle->idle_ms;
    return TL_OK;
}

/* Rows of the partitions that need not wait any longer; `marked` of them are to be marked, and come first. */
typedef struct due {
    tl_bytes *items;
    size_t n, marked;
} due;

static void due_deinit(due *d)
{
    for (size_t i = 0; i < d->n; i++)
        tl_bytes_deinit(&d->items[i]);
    tl_free(d->items);
}

static tl_status find_due(const tl_idle_partitions *idle, int64_t now_ms, bool all, due *out, tl_error *err)
{
    tl_bytes_view partition;
    void *when;
    out->items = tl_calloc(idle->last.count + 1, sizeof *out->items);
    if (out->items == NULL)
        return tl_nomem(err, "partitions");
    for (size_t at = 0; tl_map_next(&idle->last, &at, &partition, &when);) {
        bool over = all, timeless = false;
        if (!all)
            TL_TRY(is_over(idle, partition, (int64_t)(intptr_t)when - 1, now_ms, &over, &timeless, err));
        if (!over && !timeless)
            continue;
        if (tl_bytes_dup(partition, &out->items[out->n]) != TL_OK)
            return tl_nomem(err, "partitions");
        tl_bytes mine = out->items[out->n];
        if (over) {
            out->items[out->n] = out->items[out->marked];
            out->items[out->marked++] = mine;
        }
        out->n++;
    }
    return TL_OK;
}

tl_status tl_idle_partitions_mark(tl_idle_partitions *idle, int64_t now_ms, bool end_of_input, tl_error *err)
{
    bool all = end_of_input && idle->at_end;
    due d = {0};
    if (idle->last.count == 0 || (!all && idle->interval_ms == TL_ABSENT))
        return TL_OK;
    tl_status status = find_due(idle, now_ms, all, &d, err);
    for (size_t i = 0; status == TL_OK && i < d.n; i++) {
        status = i < d.marked ? tl_mark_done__row(idle->table, tl_bytes_view_of(d.items[i]), err) : TL_OK;
        if (status == TL_OK)
            tl_map_remove(&idle->last, d.items[i].data, d.items[i].len);
    }
    due_deinit(&d);
    return tl_error_wrap(err, status, "marking partitions done");
}
