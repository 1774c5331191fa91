/* Procedures of tags, branches, rollback and consumers. */
#include "sql/procedures.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/parse.h"

tl_status tl_proc__create_tag(tl_call *c)
{
    int64_t snapshot, retained = TL_ABSENT;
    TL_TRY(tl_call__integer(c, c->args[2], "snapshot_id", 0, &snapshot));
    if (c->args[3] != NULL)
        TL_TRY(tl_parse_duration_ms(c->args[3], &retained, c->b->err));
    return tl_table_create_tag(c->table->table, c->args[1], snapshot, retained, c->b->err);
}

tl_status tl_proc__delete_tag(tl_call *c)
{
    tl_bytes_view tag;
    for (const char *at = c->args[1]; tl_list_next(&at, &tag);) { /* a list: a,b */
        const char *name = tl_arena_strndup(c->b->arena, (const char *)tag.data, tag.len);
        BIND_ALLOC(c->b, name);
        TL_TRY(tl_table_delete_tag(c->table->table, name, c->b->err));
    }
    return TL_OK;
}

tl_status tl_proc__rename_tag(tl_call *c)
{
    return tl_table_rename_tag(c->table->table, c->args[1], c->args[2], c->b->err);
}

tl_status tl_proc__replace_tag(tl_call *c)
{
    int64_t snapshot, retained = TL_ABSENT;
    TL_TRY(tl_call__integer(c, c->args[2], "snapshot_id", 0, &snapshot));
    if (c->args[3] != NULL)
        TL_TRY(tl_parse_duration_ms(c->args[3], &retained, c->b->err));
    return tl_table_replace_tag(c->table->table, c->args[1], snapshot, retained, c->b->err);
}

/* Tags the first snapshot since a time or a watermark, in milliseconds. */
static tl_status tag_first_since(tl_call *c, bool watermark)
{
    int64_t ms, retained = TL_ABSENT;
    TL_TRY(tl_error_wrap(c->b->err, tl_parse_int(c->args[2], INT64_MIN, INT64_MAX, &ms, c->b->err), "%s", watermark ? "watermark" : "timestamp"));
    if (c->args[3] != NULL)
        TL_TRY(tl_parse_duration_ms(c->args[3], &retained, c->b->err));
    TL_CLEANUP(tl_snapshot_freep) tl_snapshot *snap = NULL;
    TL_TRY(tl_table_first_since(c->table->table, watermark, ms, &snap, c->b->err));
    TL_TRY(tl_table_create_tag(c->table->table, c->args[1], snap->id, retained, c->b->err));
    memcpy(c->columns, (const char *[]){"tagName", "snapshot", "commit_time", "watermark"}, sizeof c->columns);
    c->n_columns = 4;
    c->numbers = 1U << 1 | 1U << 2; /* the watermark is text in the reference, too */
    TL_TRY(tl_call__add_cell(c, c->args[1]));
    TL_TRY(tl_call__add_number(c, snap->id));
    TL_TRY(tl_call__add_number(c, snap->time_ms));
    return tl_call__add_number(c, snap->watermark);
}

tl_status tl_proc__create_tag_from_timestamp(tl_call *c)
{
    return tag_first_since(c, /* watermark= */ false);
}

tl_status tl_proc__create_tag_from_watermark(tl_call *c)
{
    return tag_first_since(c, /* watermark= */ true);
}

tl_status tl_proc__trigger_tags(tl_call *c)
{
    return tl_table_trigger_tags(c->table->table, c->b->err);
}

static tl_status tell_rollback(tl_call *c, int64_t from, int64_t to)
{
    c->columns[0] = "previous_snapshot_id";
    c->columns[1] = "current_snapshot_id";
    c->n_columns = 2;
    c->numbers = 1U << 0 | 1U << 1;
    TL_TRY(tl_call__add_number(c, from));
    return tl_call__add_number(c, to);
}

tl_status tl_proc__rollback_to(tl_call *c)
{
    int64_t snapshot;
    TL_CLEANUP(tl_snapshot_freep) tl_snapshot *before = NULL;
    TL_CLEANUP(tl_snapshot_freep) tl_snapshot *after = NULL;
    TL_TRY(tl_call__integer(c, c->args[2], "snapshot_id", 0, &snapshot));
    if (c->args[1] == NULL && snapshot == 0)
        return BIND_ERROR(c->b, c->ast, "rollback_to needs 'tag' or 'snapshot_id'");
    TL_TRY(tl_table_latest_snapshot(c->table->table, &before, c->b->err));
    if (before == NULL)
        return BIND_ERROR(c->b, c->ast, "Latest snapshot is null, can not rollback.");
    TL_TRY(tl_table_rollback(c->table->table, snapshot, c->args[1], c->b->err));
    TL_TRY(tl_table_latest_snapshot(c->table->table, &after, c->b->err));
    return tell_rollback(c, before->id, after == NULL ? 0 : after->id);
}

/* To the last snapshot that is not younger than a time, or not above a watermark. */
static tl_status roll_back_before(tl_call *c, bool watermark, int64_t *from, int64_t *to)
{
    int64_t ms;
    const char *what = watermark ? "watermark" : "timestamp";
    TL_TRY(tl_error_wrap(c->b->err, tl_parse_int(c->args[1], INT64_MIN, INT64_MAX, &ms, c->b->err), "%s", what));
    TL_CLEANUP(tl_snapshot_freep) tl_snapshot *latest = NULL;
    TL_CLEANUP(tl_snapshot_freep) tl_snapshot *snap = NULL;
    TL_TRY(tl_table_latest_snapshot(c->table->table, &latest, c->b->err));
    if (latest == NULL)
        return BIND_ERROR(c->b, c->ast, "Latest snapshot is null, can not rollback.");
    TL_TRY(tl_table_last_until(c->table->table, watermark, ms, &snap, c->b->err));
    *from = latest->id;
    *to = snap->id;
    return tl_table_rollback(c->table->table, snap->id, NULL, c->b->err);
}

tl_status tl_proc__rollback_to_timestamp(tl_call *c)
{
    int64_t from, to;
    TL_TRY(roll_back_before(c, /* watermark= */ false, &from, &to));
    return tell_rollback(c, from, to);
}

tl_status tl_proc__rollback_to_watermark(tl_call *c)
{
    int64_t from, to;
    char text[80];
    TL_TRY(roll_back_before(c, /* watermark= */ true, &from, &to));
    snprintf(text, sizeof text, "Success roll back to snapshot: %lld .", (long long)to);
    return tl_call__add_cell(c, text);
}

tl_status tl_proc__create_branch(tl_call *c)
{
    return tl_table_create_branch(c->table->table, c->args[1], c->args[2], c->b->err);
}

tl_status tl_proc__delete_branch(tl_call *c)
{
    return tl_table_delete_branch(c->table->table, c->args[1], c->b->err);
}

tl_status tl_proc__rename_branch(tl_call *c)
{
    return tl_table_rename_branch(c->table->table, c->args[1], c->args[2], c->b->err);
}

tl_status tl_proc__fast_forward(tl_call *c)
{
    return tl_table_fast_forward(c->table->table, c->args[1], c->b->err);
}

tl_status tl_proc__expire_tags(tl_call *c)
{
    int64_t age = TL_ABSENT;
    TL_TRY(tl_call__age_of(c, c->args[1], "older_than", &age));
    c->columns[0] = "expired_tags";
    c->none = "No expired tags.";
    int64_t before = age == TL_ABSENT ? TL_ABSENT : tl_clock_now_ms(c->b->session->clock) - age;
    return tl_table_expire_tags(c->table->table, before, &c->cells, &c->n_cells, c->b->err);
}

tl_status tl_proc__reset_consumer(tl_call *c)
{
    int64_t next;
    if (c->args[2] == NULL)
        return tl_table_consumer_delete(c->table->table, c->args[1], c->b->err);
    TL_TRY(tl_call__integer(c, c->args[2], "next_snapshot_id", 0, &next));
    return tl_table_consumer_set(c->table->table, c->args[1], next, c->b->err);
}

tl_status tl_proc__clear_consumers(tl_call *c)
{
    tl_consumer *consumers = NULL;
    size_t n = 0;
    tl_name_filter filter;
    TL_TRY(tl_call__filter(c, c->args[1], c->args[2], &filter));
    tl_status status = tl_table_consumers(c->table->table, &consumers, &n, c->b->err);
    for (size_t i = 0; status == TL_OK && i < n; i++) {
        bool chosen = false;
        status = tl_call__is_chosen(c, &filter, consumers[i].id, &chosen);
        if (status == TL_OK && chosen)
            status = tl_table_consumer_delete(c->table->table, consumers[i].id, c->b->err);
    }
    tl_consumers_free(consumers, n);
    tl_name_filter_deinit(&filter);
    return status;
}
