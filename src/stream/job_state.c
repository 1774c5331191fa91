/*
 * A job's state: in the properties of the snapshot that it committed last. Snapshots expire; so that a job that slept for long
 * does not begin anew, the same text is also kept in TABLE/tidelake/job-USER.json, replaced after each commit. The newer one
 * of both counts: a crash between commit and file leaves the snapshot as the newer.
 */
#include "stream/job.h"

#define STATE_BYTES_MAX (INT64_C(64) << 20)

void tl_job_state_deinit(tl_job_state *state)
{
    tl_free(state->positions);
    tl_free(state->pending);
    *state = (tl_job_state){0};
}

static char *state_path(tl_table *table, const char *user)
{
    return tl_strf("%s/tidelake/job-%s.json", tl_table_path(table), user);
}

static tl_status load_file(tl_table *table, const char *user, tl_job_state *out, tl_error *err)
{
    TL_CLEANUP(tl_freep) char *path = state_path(table, user);
    if (path == NULL)
        return tl_nomem(err, "path");
    tl_bytes text;
    tl_status status = tl_fs_read_all(tl_table_config(table)->fs, path, STATE_BYTES_MAX, &text, err);
    if (status == TL_E_NOT_FOUND)
        return TL_OK;
    TL_TRY(status);
    tl_arena arena = {0};
    const tl_json *json;
    status = tl_json_parse(&arena, tl_bytes_view_of(text), &json, err);
    const tl_json *positions = status == TL_OK ? tl_json_get(json, "positions") : NULL;
    if (status == TL_OK && (positions == NULL || !tl_json_int64(tl_json_get(json, "identifier"), &out->identifier)))
        status = tl_error_set(err, TL_E_CORRUPT, "no identifier or positions");
    const tl_json *pending = status == TL_OK ? tl_json_get(json, "pending") : NULL;
    if (status == TL_OK && (out->positions = tl_strndup((const char *)positions->raw.data, positions->raw.len)) == NULL)
        status = tl_nomem(err, "state");
    if (status == TL_OK && pending != NULL && (out->pending = tl_strndup((const char *)pending->raw.data, pending->raw.len)) == NULL)
        status = tl_nomem(err, "state");
    tl_arena_deinit(&arena);
    tl_bytes_deinit(&text);
    return tl_error_wrap(err, status, "job state '%s'", path);
}

tl_status tl_job_state_load(tl_table *table, const char *user, tl_job_state *out, tl_error *err)
{
    *out = (tl_job_state){0};
    TL_TRY(load_file(table, user, out, err));
    TL_CLEANUP(tl_snapshot_freep) tl_snapshot *snap = NULL;
    tl_status status = tl_table_latest_of_user(table, user, &snap, err);
    const char *positions = status == TL_OK ? tl_options_get(&snap->properties, TL_JOB_POSITIONS_PROPERTY) : NULL;
    if (status == TL_OK && positions != NULL && snap->commit_identifier >= out->identifier) {
        const char *pending = tl_options_get(&snap->properties, TL_JOB_PENDING_PROPERTY);
        tl_job_state_deinit(out);
        *out = (tl_job_state){snap->commit_identifier, tl_strdup(positions), pending == NULL ? NULL : tl_strdup(pending)};
        if (out->positions == NULL || (pending != NULL && out->pending == NULL))
            status = tl_nomem(err, "state");
    }
    if (status != TL_OK && status != TL_E_NOT_FOUND) {
        tl_job_state_deinit(out);
        return status;
    }
    return TL_OK;
}

tl_status tl_job_state_save(tl_table *table, const char *user, const tl_job_state *state, tl_error *err)
{
    TL_CLEANUP(tl_freep) char *path = state_path(table, user);
    TL_CLEANUP(tl_freep) char *text = tl_strf("{\"identifier\":%lld,\"positions\":%s%s%s}", (long long)state->identifier, state->positions,
                                            state->pending == NULL ? "" : ",\"pending\":", state->pending == NULL ? "" : state->pending);
    if (path == NULL || text == NULL)
        return tl_nomem(err, "state");
    return tl_fs_publish(tl_table_config(table)->fs, path, (tl_bytes_view){(const uint8_t *)text, strlen(text)}, true, err);
}
