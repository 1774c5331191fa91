/*
 * System tables about a table's history and definition: $snapshots, $schemas, $options, $tags, $branches, $consumers,
 * $statistics, $aggregation_fields. Source: format reference §19; Java: SnapshotsTable and its neighbours.
 */
#include "table/system_private.h"

#include <stdlib.h>

#include "base/json.h"

/* ---- snapshots ---- */

static tl_status snapshot_row(tl_builder *const *c, const tl_snapshot *s)
{
    TL_TRY(tl_system__long(c[0], s->id));
    TL_TRY(tl_system__long(c[1], s->schema_id));
    TL_TRY(tl_system__str(c[2], s->commit_user));
    TL_TRY(tl_builder_int(c[3], s->commit_identifier));
    TL_TRY(tl_system__str(c[4], tl_commit_kind_name(s->commit_kind)));
    TL_TRY(tl_system__time(c[5], tl_to_local_ms(s->time_ms)));
    TL_TRY(tl_system__str(c[6], s->base_manifest_list));
    TL_TRY(tl_system__str(c[7], s->delta_manifest_list));
    TL_TRY(tl_system__str(c[8], s->changelog_manifest_list));
    TL_TRY(tl_system__long(c[9], s->total_record_count));
    TL_TRY(tl_system__long(c[10], s->delta_record_count));
    TL_TRY(tl_system__long(c[11], s->changelog_record_count));
    TL_TRY(tl_system__long(c[12], s->watermark));
    return tl_system__long(c[13], s->next_row_id);
}

tl_status tl_system__snapshots(tl_table *table, tl_builder *const *cols, tl_error *err)
{
    int64_t *ids = NULL;
    size_t n = 0;
    TL_TRY(tl_snapshot_list(table->fs, &table->paths, &ids, &n, err));
    tl_status status = TL_OK;
    for (size_t i = 0; status == TL_OK && i < n; i++) {
        TL_CLEANUP(tl_snapshot_freep) tl_snapshot *snap = NULL;
        status = tl_snapshot_read(table->fs, &table->paths, ids[i], &snap, err);
        if (status == TL_E_NOT_FOUND) /* expired meanwhile */
            status = TL_OK;
        else if (status == TL_OK)
            status = tl_system__built(snapshot_row(cols, snap), err);
    }
    tl_free(ids);
    return status;
}

/* ---- schemas ---- */

static void write_names(tl_json_writer *w, char *const *names, int32_t n)
{
    tl_json_begin_array(w);
    for (int32_t i = 0; i < n; i++)
        tl_json_write_str(w, names[i]);
    tl_json_end_array(w);
}

/* Java's String.hashCode over UTF-16, spread as HashMap does. Keys of options are plain text: others hash by their bytes. */
static uint32_t java_hash(const char *text)
{
    uint32_t h = 0;
    for (size_t i = 0, n = strlen(text); i < n; i++)
        h = 31 * h + (uint8_t)text[i];
    return h ^ h >> 16;
}

/* The order of Java's HashMap, in which the reference shows the options: by slot of the table, then as they were put in. */
static void write_options(tl_json_writer *w, const tl_options *opts)
{
    uint32_t slots = 16;
    while (opts->count > slots / 4 * 3)
        slots *= 2;
    tl_json_begin_object(w);
    for (uint32_t slot = 0; slot < slots; slot++) {
        for (size_t i = 0; i < opts->count; i++) {
            if ((java_hash(opts->keys[i]) & (slots - 1)) != slot)
                continue;
            tl_json_key(w, opts->keys[i]);
            tl_json_write_str(w, opts->values[i]);
        }
    }
    tl_json_end_object(w);
}

static tl_status schema_row(tl_builder *const *c, const tl_table_schema *s)
{
    tl_status status = tl_system__long(c[0], s->id);
    for (int part = 0; status == TL_OK && part < 4; part++) {
        tl_json_writer w;
        tl_json_writer_init(&w, /* pretty= */ false);
        if (part == 0)
            tl_fields_to_json(s->row_type, &w);
        else if (part == 1)
            write_names(&w, s->partition_keys, s->n_partition_keys);
        else if (part == 2)
            write_names(&w, s->primary_keys, s->n_primary_keys);
        else
            write_options(&w, &s->options);
        status = w.status == TL_OK ? tl_builder_bytes(c[1 + part], w.out.data, w.out.len) : w.status;
        tl_json_writer_deinit(&w);
    }
    TL_TRY(status);
    TL_TRY(tl_system__str(c[5], s->comment));
    return tl_system__time(c[6], tl_to_local_ms(s->time_ms));
}

tl_status tl_system__schemas(tl_table *table, tl_builder *const *cols, tl_error *err)
{
    int64_t *ids = NULL;
    size_t n = 0;
    TL_TRY(tl_schema_list(table->fs, &table->paths, &ids, &n, err));
    tl_status status = TL_OK;
    for (size_t i = 0; status == TL_OK && i < n; i++) {
        TL_CLEANUP(tl_table_schema_unrefp) tl_table_schema *schema = NULL;
        status = tl_schema_read(table->fs, &table->paths, ids[i], &schema, err);
        if (status == TL_OK)
            status = tl_system__built(schema_row(cols, schema), err);
    }
    tl_free(ids);
    return status;
}

/* ---- options: those of the latest schema, without what this handle lays over ---- */

tl_status tl_system__options(tl_table *table, tl_builder *const *cols, tl_error *err)
{
    TL_CLEANUP(tl_table_schema_unrefp) tl_table_schema *schema = NULL;
    TL_TRY(tl_table__latest_schema(table, &schema, err));
    for (size_t i = 0; i < schema->options.count; i++) {
        TL_TRY(tl_system__built(tl_system__str(cols[0], schema->options.keys[i]), err));
        TL_TRY(tl_system__built(tl_system__str(cols[1], schema->options.values[i]), err));
    }
    return TL_OK;
}

/* ---- tags ---- */

/* Java's Duration.toString(): PT24H, PT1H30M, PT0.5S. */
static void duration_text(int64_t ms, char out[64])
{
    int64_t hours = ms / 3600000, minutes = ms / 60000 % 60, rest = ms % 60000;
    int n = snprintf(out, 64, "PT");
    if (hours != 0)
        n += snprintf(out + n, 64 - (size_t)n, "%lldH", (long long)hours);
    if (minutes != 0)
        n += snprintf(out + n, 64 - (size_t)n, "%lldM", (long long)minutes);
    if (rest == 0 && n > 2)
        return;
    char fraction[8] = "";
    if (rest % 1000 != 0) {
        snprintf(fraction, sizeof fraction, ".%03d", (int)(rest % 1000));
        for (size_t len = 4; len > 2 && fraction[len - 1] == '0'; len--)
            fraction[len - 1] = '\0';
    }
    snprintf(out + n, 64 - (size_t)n, "%lld%sS", (long long)(rest / 1000), fraction);
}

static tl_status tag_row(tl_builder *const *c, const char *name, const tl_snapshot *s)
{
    char retained[64];
    TL_TRY(tl_system__str(c[0], name));
    TL_TRY(tl_system__long(c[1], s->id));
    TL_TRY(tl_system__long(c[2], s->schema_id));
    TL_TRY(tl_system__time(c[3], tl_to_local_ms(s->time_ms)));
    TL_TRY(tl_system__long(c[4], s->total_record_count));
    TL_TRY(tl_system__time(c[5], s->tag_create_time_ms));
    if (s->tag_retained_ms == TL_ABSENT)
        return tl_builder_null(c[6]);
    duration_text(s->tag_retained_ms, retained);
    return tl_system__str(c[6], retained);
}

tl_status tl_system__tags(tl_table *table, tl_builder *const *cols, tl_error *err)
{
    char **names = NULL;
    size_t n = 0;
    TL_TRY(tl_tag_list(table->fs, &table->paths, &names, &n, err));
    tl_status status = TL_OK;
    for (size_t i = 0; status == TL_OK && i < n; i++) {
        TL_CLEANUP(tl_snapshot_freep) tl_snapshot *snap = NULL;
        status = tl_tag_read(table->fs, &table->paths, names[i], &snap, err);
        if (status == TL_E_NOT_FOUND) /* deleted meanwhile */
            status = TL_OK;
        else if (status == TL_OK)
            status = tl_system__built(tag_row(cols, names[i], snap), err);
    }
    tl_names_free(names, n);
    return status;
}

/* ---- branches, consumers ---- */

tl_status tl_system__branches(tl_table *table, tl_builder *const *cols, tl_error *err)
{
    TL_CLEANUP(tl_freep) char *dir = tl_path_join(table->path, "branch");
    if (dir == NULL)
        return tl_nomem(err, "path");
    tl_dir_entry *entries = NULL;
    size_t n = 0;
    TL_TRY(tl_fs_list(table->fs, dir, &entries, &n, err));
    tl_status status = TL_OK;
    for (size_t i = 0; status == TL_OK && i < n; i++) {
        if (!entries[i].stat.is_dir || strncmp(entries[i].name, "branch-", 7) != 0)
            continue;
        status = tl_system__str(cols[0], entries[i].name + 7);
        if (status == TL_OK)
            status = tl_system__time(cols[1], tl_to_local_ms(entries[i].stat.mtime_ms));
        status = tl_system__built(status, err);
    }
    tl_dir_free(entries, n);
    return status;
}

tl_status tl_system__consumers(tl_table *table, tl_builder *const *cols, tl_error *err)
{
    tl_consumer *consumers = NULL;
    size_t n = 0;
    TL_TRY(tl_table_consumers(table, &consumers, &n, err));
    tl_status status = TL_OK;
    for (size_t i = 0; status == TL_OK && i < n; i++) {
        status = tl_system__str(cols[0], consumers[i].id);
        if (status == TL_OK)
            status = tl_system__long(cols[1], consumers[i].next_snapshot);
        status = tl_system__built(status, err);
    }
    tl_consumers_free(consumers, n);
    return status;
}

/* ---- statistics ---- */

/* The same JSON, printed as the reference prints it. The parser bounds the depth. */
static void copy_json(tl_json_writer *w, const tl_json *node)
{
    if (node->kind == TL_JSON_OBJECT || node->kind == TL_JSON_ARRAY) {
        bool object = node->kind == TL_JSON_OBJECT;
        if (object)
            tl_json_begin_object(w);
        else
            tl_json_begin_array(w);
        for (const tl_json *child = node->child; child != NULL; child = child->next) {
            if (object) {
                char key[512];
                snprintf(key, sizeof key, "%.*s", (int)TL_MIN(child->key.len, sizeof key - 1), (const char *)child->key.data);
                tl_json_key(w, key);
            }
            copy_json(w, child);
        }
        if (object)
            tl_json_end_object(w);
        else
            tl_json_end_array(w);
    } else if (node->kind == TL_JSON_STRING) {
        tl_json_write_bytes(w, node->text);
    } else {
        tl_json_write_raw(w, node->raw);
    }
}

static tl_status statistics_row(tl_builder *const *c, const tl_json *json)
{
    static const char *const keys[] = {"snapshotId", "schemaId", "mergedRecordCount", "mergedRecordSize"};
    for (size_t i = 0; i < TL_ARRAY_LEN(keys); i++) {
        int64_t v = TL_ABSENT;
        (void)tl_json_int64(tl_json_get(json, keys[i]), &v); /* absent numbers stay TL_ABSENT */
        TL_TRY(tl_system__long(c[i], i < 2 && v == TL_ABSENT ? 0 : v));
    }
    const tl_json *stats = tl_json_get(json, "colStats");
    tl_json_writer w;
    tl_json_writer_init(&w, /* pretty= */ true);
    if (tl_json_is_null(stats)) {
        tl_json_begin_object(&w);
        tl_json_end_object(&w);
    } else {
        copy_json(&w, stats);
    }
    tl_status status = w.status == TL_OK ? tl_builder_bytes(c[4], w.out.data, w.out.len) : w.status;
    tl_json_writer_deinit(&w);
    return status;
}

/* The snapshot that this handle reads: the one travelled to, or the latest. NULL: none. */
static tl_status read_snapshot(tl_table *table, tl_snapshot **out, tl_error *err)
{
    TL_TRY(tl_table__travel(table->fs, &table->paths, &table->schema->options, out, err));
    return *out != NULL ? TL_OK : tl_table__latest(table->fs, &table->paths, out, err);
}

tl_status tl_system__statistics(tl_table *table, tl_builder *const *cols, tl_error *err)
{
    TL_CLEANUP(tl_snapshot_freep) tl_snapshot *snap = NULL;
    TL_TRY(read_snapshot(table, &snap, err));
    if (snap == NULL || snap->statistics == NULL)
        return TL_OK;
    TL_CLEANUP(tl_freep) char *dir = tl_paths_dir(&table->paths, "statistics");
    TL_CLEANUP(tl_freep) char *path = dir == NULL ? NULL : tl_path_join(dir, snap->statistics);
    if (path == NULL)
        return tl_nomem(err, "path");
    tl_bytes text = {0};
    tl_arena arena = {0};
    const tl_json *json = NULL;
    TL_TRY(tl_fs_read_all(table->fs, path, INT64_C(64) << 20, &text, err));
    tl_status status = tl_error_wrap(err, tl_json_parse(&arena, tl_bytes_view_of(text), &json, err), "statistics '%s'", snap->statistics);
    if (status == TL_OK)
        status = tl_system__built(statistics_row(cols, json), err);
    tl_arena_deinit(&arena);
    tl_bytes_deinit(&text);
    return status;
}

/* ---- aggregation fields ---- */

/* "[a, b]" of the keys or values of the options `fields.NAME.*`. */
static tl_status field_options(const tl_options *opts, const char *name, bool values, tl_builder *col)
{
    tl_buf buf = {0};
    size_t len = strlen(name);
    tl_status status = tl_buf_append_byte(&buf, '[');
    bool any = false;
    for (size_t i = 0; status == TL_OK && i < opts->count; i++) {
        const char *key = opts->keys[i];
        if (strncmp(key, "fields.", 7) != 0 || strncmp(key + 7, name, len) != 0 || key[7 + len] != '.' || key[8 + len] == '\0')
            continue;
        status = tl_buf_appendf(&buf, "%s%s", any ? ", " : "", values ? opts->values[i] : key);
        any = true;
    }
    if (status == TL_OK)
        status = tl_buf_append_byte(&buf, ']');
    if (status == TL_OK)
        status = tl_builder_bytes(col, buf.data, buf.len);
    tl_buf_deinit(&buf);
    return status;
}

tl_status tl_system__aggregation_fields(tl_table *table, tl_builder *const *cols, tl_error *err)
{
    TL_CLEANUP(tl_table_schema_unrefp) tl_table_schema *schema = NULL;
    TL_TRY(tl_table__latest_schema(table, &schema, err));
    for (int32_t i = 0; i < schema->row_type->n_fields; i++) {
        const tl_field *f = &schema->row_type->fields[i];
        tl_buf type = {0};
        tl_status status = tl_type_format(f->type, &type);
        if (status == TL_OK)
            status = tl_builder_bytes(cols[1], type.data, type.len);
        tl_buf_deinit(&type);
        if (status == TL_OK)
            status = tl_system__str(cols[0], f->name);
        if (status == TL_OK)
            status = field_options(&schema->options, f->name, /* values= */ true, cols[2]);
        if (status == TL_OK)
            status = field_options(&schema->options, f->name, /* values= */ false, cols[3]);
        if (status == TL_OK)
            status = tl_system__str(cols[4], f->description);
        TL_TRY(tl_system__built(status, err));
    }
    return TL_OK;
}
