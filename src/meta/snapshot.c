/*
 * snapshot/snapshot-N and tag/tag-NAME: JSON to struct and back (format reference §3, §17). Java: Snapshot, Tag.
 */
#include "meta/meta_private.h"

#include <stdio.h>

#include "types/text.h"

static const char *const commit_kinds[] = {"APPEND", "COMPACT", "OVERWRITE", "ANALYZE"};

const char *tl_commit_kind_name(tl_commit_kind kind)
{
    return commit_kinds[kind];
}

void tl_snapshot_free(tl_snapshot *snap)
{
    if (snap == NULL)
        return;
    tl_free(snap->base_manifest_list);
    tl_free(snap->delta_manifest_list);
    tl_free(snap->changelog_manifest_list);
    tl_free(snap->index_manifest);
    tl_free(snap->commit_user);
    tl_free(snap->statistics);
    tl_options_deinit(&snap->properties);
    tl_free(snap);
}

static tl_status parse_kind(const tl_json *json, tl_commit_kind *out, tl_error *err)
{
    const tl_json *kind = tl_json_get(json, "commitKind");
    for (size_t i = 0; i < TL_ARRAY_LEN(commit_kinds); i++) {
        if (tl_json_text_is(kind, commit_kinds[i])) {
            *out = (tl_commit_kind)i;
            return TL_OK;
        }
    }
    return tl_error_set(err, TL_E_CORRUPT, "'commitKind' is missing or unknown");
}

/* LocalDateTime as Jackson writes it: [year, month, day, hour, minute, second, nanos], the last two left out if zero. */
static bool parse_create_time(const tl_json *node, int64_t *millis, int32_t *nanos_below)
{
    int64_t v[7] = {0};
    int n = 0;
    if (node->kind == TL_JSON_STRING)
        return tl_parse_timestamp(node->text, millis, nanos_below);
    if (node->kind != TL_JSON_ARRAY)
        return false;
    for (const tl_json *item = node->child; item != NULL; item = item->next, n++) {
        if (n == 7 || !tl_json_int64(item, &v[n]))
            return false;
    }
    static const int64_t least[7] = {-100000000, 1, 1, 0, 0, 0, 0}, most[7] = {100000000, 12, 31, 23, 59, 59, 999999999};
    for (int i = 0; i < 7; i++) {
        if (n < 5 || v[i] < least[i] || v[i] > most[i])
            return false;
    }
    int64_t days = tl_days_from_civil(v[0], (int)v[1], (int)v[2]);
    *millis = ((days * 24 + v[3]) * 60 + v[4]) * 60000 + v[5] * 1000 + v[6] / 1000000;
    *nanos_below = (int32_t)(v[6] % 1000000);
    return true;
}

/* Duration as decimal seconds ("86400.000000000"). */
static bool parse_seconds(tl_bytes_view text, int64_t *millis)
{
    int64_t seconds = 0, fraction = 0;
    size_t i = 0, digits = 0;
    bool negative = text.len > 0 && text.data[0] == '-';
    for (i = negative; i < text.len && text.data[i] >= '0' && text.data[i] <= '9'; i++, digits++) {
        if (__builtin_mul_overflow(seconds, 10, &seconds) || __builtin_add_overflow(seconds, text.data[i] - '0', &seconds))
            return false;
    }
    if (digits == 0 || (i < text.len && text.data[i++] != '.'))
        return false;
    for (digits = 0; i < text.len && text.data[i] >= '0' && text.data[i] <= '9'; i++, digits++) {
        if (digits < 3)
            fraction = fraction * 10 + (text.data[i] - '0');
    }
    for (; digits < 3; digits++)
        fraction *= 10;
    if (i != text.len || __builtin_mul_overflow(seconds, 1000, millis) || __builtin_add_overflow(*millis, fraction, millis))
        return false;
    if (negative)
        *millis = -*millis;
    return true;
}

static tl_status parse_tag_members(const tl_json *json, tl_snapshot *snap, tl_error *err)
{
    const tl_json *created = tl_json_get(json, "tagCreateTime"), *retained = tl_json_get(json, "tagTimeRetained");
    snap->tag_create_time_ms = snap->tag_retained_ms = TL_ABSENT;
    if (!tl_json_is_null(created) && !parse_create_time(created, &snap->tag_create_time_ms, &snap->tag_create_nanos))
        return tl_error_set(err, TL_E_CORRUPT, "'tagCreateTime' is no date and time");
    if (!tl_json_is_null(retained) && !parse_seconds(retained->text, &snap->tag_retained_ms))
        return tl_error_set(err, TL_E_CORRUPT, "'tagTimeRetained' is no number of seconds");
    return TL_OK;
}

static tl_status parse_members(const tl_json *json, tl_snapshot *s, tl_error *err)
{
    TL_TRY(tl_meta__json_int(json, "version", false, 1, &s->version, err));
    TL_TRY(tl_meta__json_int(json, "id", true, 0, &s->id, err));
    TL_TRY(tl_meta__json_int(json, "schemaId", true, 0, &s->schema_id, err));
    TL_TRY(tl_meta__json_str(json, "baseManifestList", true, &s->base_manifest_list, err));
    TL_TRY(tl_meta__json_int(json, "baseManifestListSize", false, TL_ABSENT, &s->base_manifest_list_bytes, err));
    TL_TRY(tl_meta__json_str(json, "deltaManifestList", true, &s->delta_manifest_list, err));
    TL_TRY(tl_meta__json_int(json, "deltaManifestListSize", false, TL_ABSENT, &s->delta_manifest_list_bytes, err));
    TL_TRY(tl_meta__json_str(json, "changelogManifestList", false, &s->changelog_manifest_list, err));
    TL_TRY(tl_meta__json_int(json, "changelogManifestListSize", false, TL_ABSENT, &s->changelog_manifest_list_bytes, err));
    TL_TRY(tl_meta__json_str(json, "indexManifest", false, &s->index_manifest, err));
    TL_TRY(tl_meta__json_str(json, "commitUser", true, &s->commit_user, err));
    TL_TRY(tl_meta__json_int(json, "commitIdentifier", true, 0, &s->commit_identifier, err));
    TL_TRY(parse_kind(json, &s->commit_kind, err));
    TL_TRY(tl_meta__json_int(json, "timeMillis", true, 0, &s->time_ms, err));
    TL_TRY(tl_meta__json_int(json, "totalRecordCount", false, 0, &s->total_record_count, err));
    TL_TRY(tl_meta__json_int(json, "deltaRecordCount", false, 0, &s->delta_record_count, err));
    TL_TRY(tl_meta__json_int(json, "changelogRecordCount", false, TL_ABSENT, &s->changelog_record_count, err));
    TL_TRY(tl_meta__json_int(json, "watermark", false, TL_ABSENT, &s->watermark, err));
    TL_TRY(tl_meta__json_str(json, "statistics", false, &s->statistics, err));
    TL_TRY(tl_meta__json_options(json, "properties", &s->properties, err));
    TL_TRY(tl_meta__json_int(json, "nextRowId", false, TL_ABSENT, &s->next_row_id, err));
    return parse_tag_members(json, s, err);
}

/* Names of files become parts of paths that are read and, when the snapshot expires, removed. */
static tl_status check_names(const tl_snapshot *snap, tl_error *err)
{
    const char *const names[] = {snap->base_manifest_list, snap->delta_manifest_list, snap->changelog_manifest_list, snap->index_manifest,
                                 snap->statistics};
    for (size_t i = 0; i < TL_ARRAY_LEN(names); i++) {
        if (names[i] != NULL)
            TL_TRY(tl_meta__check_name("file", names[i], TL_E_CORRUPT, err));
    }
    return TL_OK;
}

tl_status tl_snapshot_parse(tl_bytes_view text, tl_snapshot **out, tl_error *err)
{
    TL_CLEANUP(tl_snapshot_freep) tl_snapshot *snap = tl_calloc(1, sizeof *snap);
    if (snap == NULL)
        return tl_nomem(err, "snapshot");
    tl_arena arena = {0};
    const tl_json *json;
    tl_status status = tl_meta__parse_object(&arena, text, &json, err);
    if (status == TL_OK)
        status = parse_members(json, snap, err);
    tl_arena_deinit(&arena);
    if (status == TL_OK)
        status = check_names(snap, err);
    if (status == TL_OK)
        *out = TL_STEAL(snap);
    return status;
}

/* ---- printing ---- */

static void write_int(tl_json_writer *w, const char *key, int64_t v)
{
    tl_json_key(w, key);
    tl_json_write_int(w, v);
}

static void write_optional_int(tl_json_writer *w, const char *key, int64_t v)
{
    if (v != TL_ABSENT)
        write_int(w, key, v);
}

static void write_str(tl_json_writer *w, const char *key, const char *v)
{
    if (v == NULL)
        return;
    tl_json_key(w, key);
    tl_json_write_str(w, v);
}

static void write_create_time(tl_json_writer *w, int64_t millis, int32_t nanos_below)
{
    int64_t day_ms = INT64_C(86400000), year;
    int month, day;
    int64_t days = millis / day_ms - (millis % day_ms < 0), ms = millis - days * day_ms;
    tl_civil_from_days(days, &year, &month, &day);
    int64_t second = ms / 1000 % 60, nanos = ms % 1000 * 1000000 + nanos_below;
    int64_t v[7] = {year, month, day, ms / 3600000, ms / 60000 % 60, second, nanos};
    int n = nanos != 0 ? 7 : second != 0 ? 6 : 5;
    tl_json_key(w, "tagCreateTime");
    tl_json_begin_array(w);
    for (int i = 0; i < n; i++)
        tl_json_write_int(w, v[i]);
    tl_json_end_array(w);
}

static void write_seconds(tl_json_writer *w, const char *key, int64_t millis)
{
    char text[40];
    uint64_t magnitude = millis < 0 ? -(uint64_t)millis : (uint64_t)millis;
    int n = snprintf(text, sizeof text, "%s%llu.%03llu000000", millis < 0 ? "-" : "", (unsigned long long)(magnitude / 1000),
                     (unsigned long long)(magnitude % 1000));
    tl_json_key(w, key);
    tl_json_write_raw(w, (tl_bytes_view){(const uint8_t *)text, (size_t)n});
}

tl_status tl_snapshot_format(const tl_snapshot *s, tl_bytes *out, tl_error *err)
{
    tl_json_writer w;
    tl_json_writer_init(&w, /* pretty= */ true);
    tl_json_begin_object(&w);
    write_int(&w, "version", s->version);
    write_int(&w, "id", s->id);
    write_int(&w, "schemaId", s->schema_id);
    write_str(&w, "baseManifestList", s->base_manifest_list);
    write_optional_int(&w, "baseManifestListSize", s->base_manifest_list_bytes);
    write_str(&w, "deltaManifestList", s->delta_manifest_list);
    write_optional_int(&w, "deltaManifestListSize", s->delta_manifest_list_bytes);
    write_str(&w, "changelogManifestList", s->changelog_manifest_list);
    write_optional_int(&w, "changelogManifestListSize", s->changelog_manifest_list_bytes);
    write_str(&w, "indexManifest", s->index_manifest);
    write_str(&w, "commitUser", s->commit_user);
    write_int(&w, "commitIdentifier", s->commit_identifier);
    write_str(&w, "commitKind", tl_commit_kind_name(s->commit_kind));
    write_int(&w, "timeMillis", s->time_ms);
    write_int(&w, "totalRecordCount", s->total_record_count);
    write_int(&w, "deltaRecordCount", s->delta_record_count);
    write_optional_int(&w, "changelogRecordCount", s->changelog_record_count);
    write_optional_int(&w, "watermark", s->watermark);
    write_str(&w, "statistics", s->statistics);
    if (s->properties.count > 0) {
        tl_json_key(&w, "properties");
        tl_meta__write_options(&w, &s->properties);
    }
    write_optional_int(&w, "nextRowId", s->next_row_id);
    if (s->tag_create_time_ms != TL_ABSENT)
        write_create_time(&w, s->tag_create_time_ms, s->tag_create_nanos);
    if (s->tag_retained_ms != TL_ABSENT)
        write_seconds(&w, "tagTimeRetained", s->tag_retained_ms);
    tl_json_end_object(&w);
    return tl_meta__json_finish(&w, out, err);
}

tl_status tl_snapshot_dup(const tl_snapshot *from, tl_snapshot **out, tl_error *err)
{
    TL_CLEANUP(tl_snapshot_freep) tl_snapshot *to = tl_calloc(1, sizeof *to);
    if (to == NULL)
        return tl_nomem(err, "snapshot");
    *to = *from;
    to->properties = (tl_options){0};
    char **texts[] = {&to->base_manifest_list, &to->delta_manifest_list, &to->changelog_manifest_list,
                      &to->index_manifest,     &to->commit_user,         &to->statistics};
    bool ok = true;
    for (size_t i = 0; i < TL_ARRAY_LEN(texts); i++) { /* all of them, so that nothing of `from` is left */
        const char *text = *texts[i];
        *texts[i] = text == NULL ? NULL : tl_strdup(text);
        ok = ok && (text == NULL || *texts[i] != NULL);
    }
    if (!ok || tl_options_dup(&from->properties, &to->properties) != TL_OK)
        return tl_nomem(err, "snapshot");
    *out = TL_STEAL(to);
    return TL_OK;
}
