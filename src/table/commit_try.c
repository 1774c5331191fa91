/*
 * Making one snapshot: read the latest, look for conflicts, write manifests, publish snapshot-(n+1); again if another commit
 * was faster. Source: format reference §16 a-f; Java: FileStoreCommitImpl.tryCommit, tryCommitOnce.
 *
 * A failure before publishing removes what the attempt wrote. A publish that failed in an unclear way leaves its files, since the
 * snapshot may be there: the next round finds out. Files of attempts that turn out not to have won are removed at the end.
 */
#include "table/chain.h"

#include <strings.h>

#include "base/json.h"

void tl_changes_deinit(tl_changes *changes)
{
    tl_entries_deinit(&changes->table);
    tl_entries_deinit(&changes->changelog);
    tl_index_entries_deinit(&changes->indexes);
}

/* A round whose publication failed in a way that says nothing: the snapshot that it may have made. */
typedef struct unclear_round {
    int64_t id;
    char *delta_list;
} unclear_round;

/* State over the rounds of one tl_commit__try(). */
typedef struct rounds {
    const tl_attempt *attempt;
    tl_table *table;
    tl_manifest_writer writer;
    int64_t seen;        /* latest snapshot of the previous round */
    tl_known *known;     /* of the latest snapshot; NULL: it must be read */
    tl_live_files base;  /* in snapshot `base_id`, of the touched partitions at least */
    int64_t base_id;     /* 0: none */
    tl_manifest_list manifests; /* of the snapshot that this round makes */
    tl_names files;      /* manifests written by this round */
    tl_names leftovers;  /* of rounds whose outcome was unclear */
    tl_names own_deltas; /* delta lists of all rounds: tells our snapshots from others */
    unclear_round *unclear;
    size_t n_unclear;
    tl_staged staged;    /* the snapshot file of this round under its temporary name */
    tl_map overwritten;  /* partitions that this round's OVERWRITE changes, in chain tables */
} rounds;

static void rounds_deinit(rounds *r)
{
    tl_known__free(r->known);
    tl_live_files__deinit(&r->base);
    tl_manifest_list_deinit(&r->manifests);
    tl_names_deinit(&r->files);
    tl_names_deinit(&r->leftovers);
    tl_names_deinit(&r->own_deltas);
    for (size_t i = 0; i < r->n_unclear; i++)
        tl_free(r->unclear[i].delta_list);
    tl_free(r->unclear);
    tl_map_deinit(&r->overwritten);
    tl_staged_deinit(r->table->fs, &r->staged);
}

static void remove_manifests(tl_table *table, tl_names *names)
{
    for (size_t i = 0; i < names->n; i++) {
        TL_CLEANUP(tl_freep) char *path = tl_paths_manifest(&table->paths, names->items[i]);
        if (path != NULL)
            (void)tl_fs_remove(table->fs, path, NULL); /* an orphan at worst */
    }
    tl_names_deinit(names);
}

static tl_status move_names(tl_names *from, tl_names *to, tl_error *err)
{
    for (size_t i = 0; i < from->n; i++)
        TL_TRY(tl_names_add(to, from->items[i], err));
    tl_names_deinit(from);
    return TL_OK;
}

static tl_status manifest_format(const tl_table *table, tl_manifest_format *out, tl_error *err)
{
    const char *format = tl_table__option_or_default(&table->schema->options, "manifest.format");
    char name[256];
    *out = strcasecmp(format, "parquet") == 0 ? TL_MANIFEST_PARQUET
           : strcasecmp(format, "orc") == 0   ? TL_MANIFEST_ORC
                                              : TL_MANIFEST_AVRO;
    if (*out != TL_MANIFEST_AVRO || strcasecmp(format, "avro") == 0)
        return TL_OK;
    return tl_error_set(err, TL_E_UNSUPPORTED, "table %s: not supported: writing manifests in this format (option 'manifest.format' = '%s')",
                        tl_table__full_name(table, name), format);
}

tl_status tl_table__check_manifest_format(const tl_table *table, tl_error *err)
{
    tl_manifest_format format;
    return manifest_format(table, &format, err);
}

tl_status tl_table__manifest_writer(tl_table *table, tl_manifest_writer *out, tl_error *err)
{
    const tl_options *opts = &table->schema->options;
    *out = (tl_manifest_writer){.fs = table->fs, .paths = table->paths, .partition_type = table->partition_type, .options = opts};
    TL_TRY(manifest_format(table, &out->format, err));
    tl_uuid(out->uuid);
    const char *compression = tl_table__option_or_default(opts, "manifest.compression");
    if (strlen(compression) >= sizeof out->compression)
        return tl_error_set(err, TL_E_INVALID, "option 'manifest.compression': '%s' is unknown", compression);
    snprintf(out->compression, sizeof out->compression, "%s", compression);
    int64_t level = 0;
    TL_TRY(tl_table__option_int(opts, "file.compression.zstd-level", 1, &level, err));
    out->zstd_level = (int)level;
    return tl_table__option_int(opts, "manifest.target-file-size", 0, &out->target_bytes, err);
}

/* ---- was it done already? ---- */

static bool is_own_delta(const rounds *r, const tl_snapshot *snap)
{
    for (size_t i = 0; i < r->own_deltas.n; i++) {
        if (strcmp(r->own_deltas.items[i], snap->delta_manifest_list) == 0)
            return true;
    }
    return false;
}

/* Whether the snapshot is the one that we want to make. Batch identifiers are all alike: there only our own files tell. */
static bool is_ours(const rounds *r, const tl_snapshot *snap)
{
    const tl_attempt *a = r->attempt;
    if (is_own_delta(r, snap))
        return true;
    return a->identifier != TL_COMMIT_BATCH && strcmp(snap->commit_user, a->user) == 0 && snap->commit_identifier == a->identifier &&
           snap->commit_kind == a->kind;
}

static tl_status note_unclear(rounds *r, const tl_snapshot *snap, tl_error *err)
{
    unclear_round *more = tl_realloc(r->unclear, (r->n_unclear + 1) * sizeof *more);
    if (more != NULL)
        r->unclear = more;
    char *list = tl_strdup(snap->delta_manifest_list);
    if (more == NULL || list == NULL) {
        tl_free(list);
        return tl_nomem(err, "commit");
    }
    r->unclear[r->n_unclear++] = (unclear_round){snap->id, list};
    return TL_OK;
}

static tl_status is_tagged(rounds *r, const unclear_round *u, bool *out, tl_error *err)
{
    tl_tagged *tags = NULL;
    size_t n = 0;
    *out = false;
    TL_TRY(tl_tags__snapshots(r->table, &tags, &n, err));
    for (size_t i = 0; i < n; i++)
        *out |= tags[i].snap->id == u->id && strcmp(tags[i].snap->delta_manifest_list, u->delta_list) == 0;
    tl_tags__free(tags, n);
    return TL_OK;
}

/*
 * Whether an unclear round made its snapshot. If that number has expired meanwhile, its delta list tells: no other snapshot uses it,
 * so that expiry takes it away before the snapshot (unless a tag keeps it), and nobody does if the snapshot never was.
 */
static tl_status settle(rounds *r, const unclear_round *u, int64_t latest_id, bool *made, tl_error *err)
{
    TL_CLEANUP(tl_snapshot_freep) tl_snapshot *snap = NULL;
    *made = false;
    tl_status status = tl_snapshot_read(r->table->fs, &r->table->paths, u->id, &snap, err);
    if (status == TL_OK)
        *made = strcmp(snap->delta_manifest_list, u->delta_list) == 0;
    if (status != TL_E_NOT_FOUND || latest_id < u->id)
        return status == TL_E_NOT_FOUND ? TL_OK : status;
    TL_CLEANUP(tl_freep) char *path = tl_paths_manifest(&r->table->paths, u->delta_list);
    bool list_is_there = false;
    if (path == NULL)
        return tl_nomem(err, "path");
    TL_TRY(tl_fs_exists(r->table->fs, path, &list_is_there, err));
    *made = !list_is_there;
    return list_is_there ? is_tagged(r, u, made, err) : TL_OK;
}

static tl_status settle_all(rounds *r, int64_t latest_id, int64_t *done_id, tl_error *err)
{
    for (size_t i = 0; i < r->n_unclear; i++) {
        bool made = false;
        TL_TRY(settle(r, &r->unclear[i], latest_id, &made, err));
        if (made)
            *done_id = r->unclear[i].id;
    }
    return TL_OK;
}

static tl_status find_done(rounds *r, const tl_snapshot *latest, int64_t *done_id, tl_error *err)
{
    *done_id = 0;
    tl_status settled = settle_all(r, latest->id, done_id, err);
    if (settled != TL_OK)
        return tl_error_wrap(err, settled, "commit of user '%s', identifier %lld, may be there or not", r->attempt->user,
                             (long long)r->attempt->identifier);
    for (int64_t id = r->seen + 1; *done_id == 0 && id <= latest->id; id++) {
        TL_CLEANUP(tl_snapshot_freep) tl_snapshot *snap = NULL;
        tl_status status = tl_snapshot_read(r->table->fs, &r->table->paths, id, &snap, err);
        if (status == TL_E_NOT_FOUND)
            continue; /* expired already: not of one of our rounds, see above */
        TL_TRY(status);
        if (is_ours(r, snap)) {
            *done_id = id;
            return TL_OK;
        }
    }
    return TL_OK;
}

/* ---- what the changes meet ---- */

static tl_status partitions_of(const tl_entries *entries, const tl_index_entries *indexes, tl_map *out, tl_error *err)
{
    static char mark;
    for (size_t i = 0; i < indexes->n; i++) {
        if (tl_map_put(out, indexes->items[i].partition.data, indexes->items[i].partition.len, &mark, NULL) != TL_OK)
            return tl_nomem(err, "partitions");
    }
    for (size_t i = 0; i < entries->n; i++) {
        if (tl_map_put(out, entries->items[i].partition.data, entries->items[i].partition.len, &mark, NULL) != TL_OK)
            return tl_nomem(err, "partitions");
    }
    return TL_OK;
}

/* Bring the base from `base_id` to `latest` by what the snapshots in between changed. */
static tl_status follow_base(rounds *r, const tl_snapshot *latest, const tl_map *partitions, tl_error *err)
{
    for (int64_t id = r->base_id + 1; id <= latest->id; id++) {
        TL_CLEANUP(tl_snapshot_freep) tl_snapshot *snap = NULL;
        TL_TRY(tl_snapshot_read(r->table->fs, &r->table->paths, id, &snap, err));
        tl_scan scan;
        tl_scan_init(&scan, TL_SCAN_DELTA, snap);
        scan.partitions = partitions;
        TL_TRY(tl_table__scan(r->table, &scan, &r->base.entries, err));
    }
    return tl_entries_merge(&r->base.entries, /* drop_deletes= */ true, err);
}

static tl_status read_base(rounds *r, const tl_snapshot *latest, const tl_map *partitions, tl_error *err)
{
    tl_scan scan;
    tl_entries_deinit(&r->base.entries);
    tl_scan_init(&scan, TL_SCAN_ALL, latest);
    scan.partitions = partitions;
    return tl_table__scan(r->table, &scan, &r->base.entries, err);
}

/*
 * The live entries of the touched partitions: what the handle knows, or else only what is new since the last round is read. If some
 * of that has expired (the last round is long ago), the whole is read.
 */
static tl_status refresh_base(rounds *r, const tl_snapshot *latest, const tl_entries *delta, const tl_index_entries *indexes, tl_error *err)
{
    tl_map partitions = {0};
    tl_status status = partitions_of(delta, indexes, &partitions, err);
    if (status == TL_OK && r->base_id == 0 && r->known != NULL && tl_live_files__cover(&r->known->live, &partitions)) {
        tl_live_files__deinit(&r->base);
        r->base = r->known->live;
        r->known->live = (tl_live_files){0};
        r->base_id = latest->id;
    }
    bool whole = r->base_id == 0 || r->base_id > latest->id;
    if (status == TL_OK && !whole && r->base_id < latest->id) {
        status = follow_base(r, latest, &partitions, err);
        whole = status == TL_E_NOT_FOUND;
    }
    if (whole && (status == TL_OK || status == TL_E_NOT_FOUND))
        status = read_base(r, latest, &partitions, err);
    if (whole || r->base_id != latest->id) /* others that were known were not followed */
        tl_map_deinit(&r->base.partitions);
    if (whole) {
        r->base.partitions = partitions;
        partitions = (tl_map){0};
    }
    r->base_id = status == TL_OK ? latest->id : 0; /* 0: half of a base is none */
    tl_map_deinit(&partitions);
    return status;
}

/* Entries that take the overwritten files away, then the new ones. */
static tl_status overwrite_delta(rounds *r, const tl_snapshot *latest, const tl_entries *changes, tl_entries *out, tl_error *err)
{
    const tl_attempt *a = r->attempt;
    if (latest != NULL) {
        tl_scan scan;
        tl_scan_init(&scan, TL_SCAN_ALL, latest);
        scan.partition = a->overwrite_partition;
        scan.partitions = a->overwrite_partitions;
        scan.real_buckets_only = r->table->bucket_mode != TL_BUCKETS_POSTPONE; /* only there bucket -2 may be overwritten */
        TL_TRY(tl_table__scan(r->table, &scan, out, err));
        for (size_t i = 0; i < out->n; i++)
            out->items[i].kind = TL_ENTRY_DELETE;
    }
    for (size_t i = 0; i < changes->n; i++) {
        const tl_manifest_entry *e = &changes->items[i];
        TL_TRY(tl_entries_add(out, e->kind, tl_bytes_view_of(e->partition), e->bucket, e->total_buckets, e->file, err));
    }
    return TL_OK;
}

static bool overwrites(const tl_attempt *a, const tl_index_entry *entry, tl_status *status, tl_error *err)
{
    *status = TL_OK;
    if (a->overwrite_partitions != NULL && tl_map_get(a->overwrite_partitions, entry->partition.data, entry->partition.len) == NULL)
        return false;
    return a->overwrite_partition == NULL ||
           tl_partition_matches(a->table, a->overwrite_partition, tl_bytes_view_of(entry->partition), status, err);
}

/* Changes of index files: those of the overwritten partitions go, whatever their bucket. */
static tl_status index_delta(const rounds *r, const tl_index_entries *old, const tl_index_entries *changes, tl_index_entries *out,
                             tl_error *err)
{
    for (size_t i = 0; r->attempt->overwrite && i < old->n; i++) {
        const tl_index_entry *e = &old->items[i];
        tl_status status;
        if (overwrites(r->attempt, e, &status, err))
            TL_TRY(tl_index_entries_add(out, TL_ENTRY_DELETE, tl_bytes_view_of(e->partition), e->bucket, e->file, err));
        TL_TRY(status);
    }
    for (size_t i = 0; i < changes->n; i++) {
        const tl_index_entry *e = &changes->items[i];
        TL_TRY(tl_index_entries_add(out, e->kind, tl_bytes_view_of(e->partition), e->bucket, e->file, err));
        out->items[out->n - 1].replaces = e->replaces;
    }
    return TL_OK;
}

/* The changes without files that are in the base already. */
static tl_status without_duplicates(const rounds *r, const tl_entries *changes, tl_entries *out, tl_error *err)
{
    tl_map there = {0};
    tl_buf key = {0};
    tl_status status = TL_OK;
    static char mark;
    for (size_t i = 0; status == TL_OK && i < r->base.entries.n; i++) {
        key.len = 0;
        if (tl_entry_identity(&r->base.entries.items[i], &key) != TL_OK || tl_map_put(&there, key.data, key.len, &mark, NULL) != TL_OK)
            status = tl_nomem(err, "files");
    }
    for (size_t i = 0; status == TL_OK && i < changes->n; i++) {
        const tl_manifest_entry *e = &changes->items[i];
        key.len = 0;
        if (tl_entry_identity(e, &key) != TL_OK)
            status = tl_nomem(err, "files");
        else if (tl_map_get(&there, key.data, key.len) == NULL)
            status = tl_entries_add(out, e->kind, tl_bytes_view_of(e->partition), e->bucket, e->total_buckets, e->file, err);
    }
    tl_buf_deinit(&key);
    tl_map_deinit(&there);
    return status;
}

/* ---- the snapshot ---- */

static int64_t record_count(const tl_entries *entries)
{
    int64_t rows = 0;
    for (size_t i = 0; i < entries->n; i++)
        rows += entries->items[i].kind == TL_ENTRY_ADD ? entries->items[i].file->rows : -entries->items[i].file->rows;
    return rows;
}

static tl_status set_str(char **field, const char *value, tl_error *err)
{
    if (value == NULL)
        return TL_OK;
    *field = tl_strdup(value);
    return *field == NULL ? tl_nomem(err, "snapshot") : TL_OK;
}

/* Statistics stay with the table while its schema does: the file says which schema it was made for. */
static tl_status inherit_statistics(rounds *r, const tl_snapshot *latest, tl_snapshot *snap, tl_error *err)
{
    if (latest == NULL || latest->statistics == NULL)
        return TL_OK;
    TL_CLEANUP(tl_freep) char *dir = tl_paths_dir(&r->table->paths, "statistics");
    TL_CLEANUP(tl_freep) char *path = dir == NULL ? NULL : tl_path_join(dir, latest->statistics);
    if (path == NULL)
        return tl_nomem(err, "path");
    tl_bytes text = {0};
    tl_status status = tl_fs_read_all(r->table->fs, path, INT64_C(64) << 20, &text, NULL);
    if (status != TL_OK)
        return status == TL_E_NOMEM ? tl_nomem(err, "statistics") : TL_OK; /* statistics are only a help: without a readable file they end */
    tl_arena arena = {0};
    const tl_json *json = NULL;
    int64_t schema_id = -1;
    if (tl_json_parse(&arena, tl_bytes_view_of(text), &json, NULL) == TL_OK && tl_json_int64(tl_json_get(json, "schemaId"), &schema_id) &&
        schema_id == snap->schema_id)
        status = set_str(&snap->statistics, latest->statistics, err);
    tl_arena_deinit(&arena);
    tl_bytes_deinit(&text);
    return status;
}

/* Write entries as manifests and their list. */
static tl_status write_list(rounds *r, const tl_manifest_list *list, char **name, int64_t *bytes, tl_error *err)
{
    TL_TRY(tl_manifest_list_write(&r->writer, list->items, list->n, name, bytes, err));
    return tl_names_add(&r->files, *name, err);
}

/* `in_snapshot`: the manifests are among those of the table's files. */
static tl_status write_entries(rounds *r, const tl_entries *entries, bool in_snapshot, char **name, int64_t *bytes, tl_error *err)
{
    tl_manifest_list list = {0};
    tl_status status = TL_OK;
    if (entries->n > 0)
        status = tl_manifest_write(&r->writer, entries->items, entries->n, &list, err);
    for (size_t i = 0; i < list.n; i++) {
        tl_status noted = tl_names_add(&r->files, list.items[i].name, err);
        status = status == TL_OK ? noted : status;
    }
    if (status == TL_OK)
        status = write_list(r, &list, name, bytes, err);
    for (size_t i = 0; status == TL_OK && in_snapshot && i < list.n; i++)
        status = tl_manifest_meta__dup(&list.items[i], &r->manifests, err);
    tl_manifest_list_deinit(&list);
    return status;
}

static void free_meta(tl_manifest_meta *meta)
{
    tl_free(meta->name);
    tl_simple_stats_deinit(&meta->partition_stats);
}

/* The manifests that are there; the table has the rows that these know of. */
static tl_status drop_lost(rounds *r, tl_manifest_list *list, tl_snapshot *snap, tl_error *err)
{
    tl_entries entries = {0};
    tl_status status = TL_OK;
    size_t kept = 0;
    for (size_t i = 0; i < list->n; i++) {
        bool there = true;
        if (status == TL_OK)
            status = tl_manifests__exists(r->table, &list->items[i], &there, err);
        if (status == TL_OK && there)
            status = tl_manifest_read(r->table->fs, &r->table->paths, list->items[i].name, list->items[i].bytes, NULL, NULL, &entries, err);
        if (there)
            list->items[kept++] = list->items[i];
        else
            free_meta(&list->items[i]);
    }
    list->n = kept;
    snap->total_record_count = record_count(&entries);
    tl_entries_deinit(&entries);
    return status;
}

static tl_status write_base(rounds *r, const tl_snapshot *latest, tl_snapshot *snap, tl_error *err)
{
    tl_manifest_list read = {0};
    tl_status status = TL_OK;
    if (latest != NULL && r->known == NULL)
        status = tl_table__manifests(r->table, latest, TL_SCAN_ALL, &read, err);
    if (status == TL_OK && r->attempt->drop_lost_manifests)
        status = drop_lost(r, &read, snap, err);
    tl_manifest_list_deinit(&r->manifests);
    if (status == TL_OK)
        status = tl_manifests__merge(r->table, &r->writer, r->known != NULL ? &r->known->manifests : &read, &r->manifests, &r->files, err);
    if (status == TL_OK)
        status = write_list(r, &r->manifests, &snap->base_manifest_list, &snap->base_manifest_list_bytes, err);
    tl_manifest_list_deinit(&read);
    return status;
}

static tl_status describe(rounds *r, const tl_snapshot *latest, const tl_entries *delta, const tl_entries *changelog, tl_snapshot *snap,
                          tl_error *err)
{
    const tl_attempt *a = r->attempt;
    TL_CLEANUP(tl_table_schema_unrefp) tl_table_schema *schema = NULL;
    TL_TRY(tl_table__latest_schema(r->table, &schema, err));
    snap->version = 3;
    snap->id = latest == NULL ? 1 : latest->id + 1;
    snap->schema_id = schema->id;
    snap->commit_identifier = a->identifier;
    snap->commit_kind = a->kind;
    snap->time_ms = tl_clock_now_ms(tl_clock_system());
    snap->delta_record_count = record_count(delta);
    snap->total_record_count = (latest == NULL ? 0 : latest->total_record_count) + snap->delta_record_count;
    snap->changelog_record_count = changelog->n == 0 ? TL_ABSENT : record_count(changelog);
    snap->watermark = a->watermark;
    if (latest != NULL && latest->watermark != TL_ABSENT && (a->watermark == TL_ABSENT || latest->watermark > a->watermark))
        snap->watermark = latest->watermark;
    snap->tag_create_time_ms = snap->tag_retained_ms = TL_ABSENT;
    snap->changelog_manifest_list_bytes = TL_ABSENT;
    TL_TRY(set_str(&snap->commit_user, a->user, err));
    if (a->properties != NULL && tl_options_dup(a->properties, &snap->properties) != TL_OK)
        return tl_nomem(err, "snapshot");
    if (a->statistics != NULL)
        return set_str(&snap->statistics, a->statistics, err);
    return inherit_statistics(r, latest, snap, err);
}

static bool has_bases(const tl_commit_messages *messages)
{
    for (size_t i = 0; messages != NULL && i < messages->n; i++) {
        if (messages->items[i].base_kind != TL_BASE_NONE)
            return true;
    }
    return false;
}

/* The index manifest of the latest snapshot stays unless index files change. */
static tl_status write_indexes(rounds *r, const tl_snapshot *latest, const tl_entries *files, const tl_changes *changes, tl_snapshot *snap,
                               tl_error *err)
{
    bool check = r->attempt->check && r->table->config->deletion_vectors;
    bool based = has_bases(r->attempt->based);
    bool carried = changes->indexes.n == 0 && !r->attempt->overwrite && !check && !based;
    tl_index_entries old = {0}, delta = {0}, fresh = {0};
    tl_status status = carried ? TL_OK : tl_indexes__read(r->table, latest, &old, err);
    if (status == TL_OK && based)
        status = tl_commit__check_bases(r->table, latest, &old, r->attempt->based, err);
    if (status == TL_OK && !carried)
        status = index_delta(r, &old, &changes->indexes, &delta, err);
    if (status == TL_OK && check)
        status = tl_commit__check_vectors(r->table, &r->base.entries, files, &old, &delta, err);
    if (status == TL_OK && delta.n == 0) {
        status = set_str(&snap->index_manifest, latest == NULL ? NULL : latest->index_manifest, err);
    } else if (status == TL_OK) {
        status = tl_indexes__combine(r->table, &old, &delta, &fresh, err);
        if (status == TL_OK)
            status = tl_index_manifest_write(&r->writer, fresh.items, fresh.n, &snap->index_manifest, err);
        if (status == TL_OK)
            status = tl_names_add(&r->files, snap->index_manifest, err);
    }
    tl_index_entries_deinit(&old);
    tl_index_entries_deinit(&delta);
    tl_index_entries_deinit(&fresh);
    return status;
}

/* Write all manifests of the new snapshot and the snapshot itself; all that it refers to, data files too, is durable then. New files of
 * `delta` get their row ids. */
static tl_status prepare(rounds *r, const tl_snapshot *latest, tl_entries *delta, const tl_changes *changes, tl_snapshot **out, tl_error *err)
{
    const tl_entries *changelog = &changes->changelog;
    TL_CLEANUP(tl_snapshot_freep) tl_snapshot *snap = tl_calloc(1, sizeof *snap);
    if (snap == NULL)
        return tl_nomem(err, "snapshot");
    TL_TRY(describe(r, latest, delta, changelog, snap, err));
    snap->next_row_id = latest == NULL || latest->next_row_id == TL_ABSENT ? 0 : latest->next_row_id;
    if (r->table->config->row_tracking)
        TL_TRY(tl_commit__assign_row_ids(snap->id, delta, &snap->next_row_id, err));
    TL_TRY(write_base(r, latest, snap, err));
    TL_TRY(write_entries(r, delta, /* in_snapshot= */ true, &snap->delta_manifest_list, &snap->delta_manifest_list_bytes, err));
    if (changelog->n > 0)
        TL_TRY(write_entries(r, changelog, /* in_snapshot= */ false, &snap->changelog_manifest_list, &snap->changelog_manifest_list_bytes, err));
    TL_TRY(write_indexes(r, latest, delta, changes, snap, err));
    tl_staged_deinit(r->table->fs, &r->staged); /* of the round before */
    TL_TRY(tl_snapshot_stage(r->table->fs, &r->table->paths, snap, &r->staged, err));
    TL_TRY(tl_fs_flush(r->table->fs, err));
    *out = TL_STEAL(snap);
    return TL_OK;
}

/* ---- one round ---- */

typedef enum outcome { OUTCOME_DONE, OUTCOME_LOST, OUTCOME_UNCLEAR } outcome;

/*
 * Whose is the snapshot that is there already? It can be ours: a store whose client asked again after the answer was lost says that
 * it exists. What cannot be read now is looked at again before the next round.
 */
static tl_status find_owner(rounds *r, int64_t id, outcome *out, tl_error *err)
{
    TL_CLEANUP(tl_snapshot_freep) tl_snapshot *there = NULL;
    tl_status status = tl_snapshot_read(r->table->fs, &r->table->paths, id, &there, err);
    *out = status != TL_OK ? OUTCOME_UNCLEAR : is_own_delta(r, there) ? OUTCOME_DONE : OUTCOME_LOST;
    return status;
}

static tl_status publish(rounds *r, tl_snapshot *snap, outcome *out, tl_error *err)
{
    TL_TRY(tl_names_add(&r->own_deltas, snap->delta_manifest_list, err));
    tl_status status = tl_snapshot_publish(r->table->fs, &r->table->paths, snap->id, &r->staged, err);
    if (status == TL_OK) {
        *out = OUTCOME_DONE;
        return TL_OK;
    }
    if (status == TL_E_CONFLICT || status == TL_E_EXISTS)
        return find_owner(r, snap->id, out, err);
    *out = OUTCOME_UNCLEAR;
    return status;
}

/* Whether files hold columns of rows that must be there. */
static bool goes_onto_rows(const tl_table *table, const tl_entries *entries)
{
    bool any = false;
    for (size_t i = 0; table->config->data_evolution && i < entries->n; i++)
        any |= tl_commit__is_onto_rows(&entries->items[i]);
    return any;
}

static tl_status gather(rounds *r, const tl_snapshot *latest, const tl_changes *changes, tl_entries *delta, tl_error *err)
{
    const tl_attempt *a = r->attempt;
    if (a->overwrite)
        TL_TRY(overwrite_delta(r, latest, &changes->table, delta, err));
    const tl_entries *wanted = a->overwrite ? delta : &changes->table;
    bool check = a->check || goes_onto_rows(r->table, wanted);
    bool needs_base = latest != NULL && wanted->n + changes->indexes.n > 0 && (check || a->discard_duplicates);
    if (needs_base)
        TL_TRY(refresh_base(r, latest, wanted, &changes->indexes, err));
    if (a->discard_duplicates && latest != NULL) {
        TL_TRY(without_duplicates(r, &changes->table, delta, err));
    } else if (!a->overwrite) {
        for (size_t i = 0; i < changes->table.n; i++) {
            const tl_manifest_entry *e = &changes->table.items[i];
            TL_TRY(tl_entries_add(delta, e->kind, tl_bytes_view_of(e->partition), e->bucket, e->total_buckets, e->file, err));
        }
    }
    if (check && (needs_base || !a->check))
        return tl_commit__check(r->table, &r->base.entries, delta, a->kind, err);
    return TL_OK;
}

/*
 * Whether others committed since the round began. Publishing finds that out only while the snapshot of that number is there: a
 * round so slow that it has expired again would fill the gap with a snapshot that nobody follows.
 */
static bool overtaken(const rounds *r)
{
    int64_t newest = 0;
    return tl_snapshot_latest_id(r->table->fs, &r->table->paths, &newest, NULL) == TL_OK && newest > r->seen;
}

/*
 * The snapshot is there: the next commit of this handle begins with what is known of it. Overwrites change partitions that nobody
 * follows, and deletion vectors change what a check needs.
 */
static void remember(rounds *r, const tl_snapshot *snap, const tl_entries *delta)
{
    tl_live_files live = {0};
    bool follows = r->attempt->kind == TL_COMMIT_APPEND || r->attempt->kind == TL_COMMIT_COMPACT;
    if (follows && !r->table->config->deletion_vectors) {
        tl_live_files *from = r->base_id == snap->id - 1 ? &r->base : r->known != NULL ? &r->known->live : &live;
        if (from != &live) {
            live = *from;
            *from = (tl_live_files){0};
            r->base_id = 0;
        }
        if (live.partitions.count == 0 || tl_live_files__apply(&live, delta, NULL) != TL_OK)
            tl_live_files__deinit(&live);
    }
    tl_known__give(r->table, tl_known__create(snap, &r->manifests, &live));
    tl_live_files__deinit(&live);
}

/* What an OVERWRITE changes in a branch of a chain table, which partitions of others may be read from. */
static tl_status heed_chain(rounds *r, const tl_entries *delta, tl_error *err)
{
    if (r->attempt->kind != TL_COMMIT_OVERWRITE || tl_chain__role(r->table) == TL_CHAIN_NONE)
        return TL_OK;
    tl_map_deinit(&r->overwritten);
    TL_TRY(partitions_of(delta, &(tl_index_entries){0}, &r->overwritten, err));
    return tl_chain__check_overwrite(r->table, delta, err);
}

/* `*status` is set with OUTCOME_UNCLEAR; the return value only for what ends the commit. */
static tl_status one_round(rounds *r, const tl_snapshot *latest, const tl_changes *changes, outcome *out, int64_t *id, tl_status *unclear,
                           tl_error *err)
{
    tl_entries delta = {0};
    TL_CLEANUP(tl_snapshot_freep) tl_snapshot *snap = NULL;
    tl_status status = tl_strict_mode__check(r->table, r->attempt->user, r->attempt->kind, latest == NULL ? 0 : latest->id, err);
    if (status == TL_OK)
        status = gather(r, latest, changes, &delta, err);
    if (status == TL_OK)
        status = heed_chain(r, &delta, err);
    if (status == TL_OK)
        status = prepare(r, latest, &delta, changes, &snap, err);
    if (status != TL_OK) {
        tl_entries_deinit(&delta);
        remove_manifests(r->table, &r->files);
        return status;
    }
    *id = snap->id;
    if (overtaken(r))
        *out = OUTCOME_LOST;
    else
        *unclear = publish(r, snap, out, err);
    if (*out == OUTCOME_DONE)
        remember(r, snap, &delta);
    tl_entries_deinit(&delta);
    if (*out == OUTCOME_LOST)
        remove_manifests(r->table, &r->files);
    else if (*out == OUTCOME_UNCLEAR) {
        TL_TRY(note_unclear(r, snap, err));
        return move_names(&r->files, &r->leftovers, err);
    }
    return TL_OK;
}

/* ---- rounds ---- */

typedef struct pacing {
    int64_t max_retries, timeout_ms, min_wait_ms, max_wait_ms;
    int64_t started_ns;
} pacing;

static tl_status read_pacing(const tl_options *opts, pacing *out, tl_error *err)
{
    TL_TRY(tl_table__option_int(opts, "commit.max-retries", 10, &out->max_retries, err));
    TL_TRY(tl_table__option_int(opts, "commit.timeout", INT64_MAX, &out->timeout_ms, err));
    TL_TRY(tl_table__option_int(opts, "commit.min-retry-wait", 10, &out->min_wait_ms, err));
    TL_TRY(tl_table__option_int(opts, "commit.max-retry-wait", 10000, &out->max_wait_ms, err));
    out->started_ns = tl_monotonic_ns();
    return TL_OK;
}

static bool exhausted(const pacing *p, int32_t retries)
{
    return retries >= p->max_retries || (tl_monotonic_ns() - p->started_ns) / 1000000 > p->timeout_ms;
}

/* Doubling waits; a random part keeps committers that met once from meeting again. */
static void pause_before_retry(const pacing *p, int32_t retries)
{
    int64_t wait = p->max_wait_ms;
    if (retries < 40 && p->min_wait_ms < (p->max_wait_ms >> retries))
        wait = p->min_wait_ms << retries;
    tl_sleep_ms(wait / 2 + (int64_t)(tl_random_u64() % (uint64_t)(wait / 2 + 1)));
}

static tl_status give_up(rounds *r, const pacing *p, int32_t retries, tl_status unclear, tl_error *err)
{
    if (unclear != TL_OK) /* the last failure says more than that there were many */
        return tl_error_wrap(err, unclear, "commit of user '%s', identifier %lld, could not be completed and may be there or not",
                             r->attempt->user, (long long)r->attempt->identifier);
    return tl_error_set(err, TL_E_CONFLICT,
                        "Commit failed after %lld millis with %d retries, there maybe exist commit conflicts between multiple jobs.",
                        (long long)((tl_monotonic_ns() - p->started_ns) / 1000000), retries);
}

/* Right after an unclear round the answer is mostly at hand. What cannot be read now is looked at again before the next round. */
static bool settled_now(rounds *r, int64_t *snapshot_id)
{
    int64_t latest_id = 0, done_id = 0;
    if (tl_snapshot_latest_id(r->table->fs, &r->table->paths, &latest_id, NULL) != TL_OK || settle_all(r, latest_id, &done_id, NULL) != TL_OK ||
        done_id == 0)
        return false;
    *snapshot_id = done_id;
    return true;
}

static tl_status run(rounds *r, const tl_changes *changes, int64_t *snapshot_id, int32_t *retries, tl_error *err)
{
    pacing pace;
    TL_TRY(read_pacing(&r->table->schema->options, &pace, err));
    for (*retries = 0;; ++*retries) {
        TL_CLEANUP(tl_snapshot_freep) tl_snapshot *latest = NULL;
        TL_TRY(tl_table__latest(r->table->fs, &r->table->paths, &latest, err));
        if (*retries > 0 && latest != NULL) {
            int64_t done_id = 0;
            TL_TRY(find_done(r, latest, &done_id, err));
            if (done_id > 0) {
                *snapshot_id = done_id;
                return TL_OK;
            }
        }
        r->seen = latest == NULL ? 0 : latest->id;
        tl_known__free(r->known);
        r->known = r->attempt->drop_lost_manifests ? NULL : tl_known__take(r->table, latest); /* they are read from what is there */
        outcome out = OUTCOME_LOST;
        tl_status unclear = TL_OK;
        tl_status status = one_round(r, latest, changes, &out, snapshot_id, &unclear, err);
        if (status != TL_OK && !(status == TL_E_NOT_FOUND && overtaken(r))) /* what it read may have expired meanwhile */
            return status;
        if (out == OUTCOME_DONE) {
            if (r->leftovers.n > 0)
                remove_manifests(r->table, &r->leftovers); /* earlier rounds did not get in: this one is the snapshot after `seen` */
            return TL_OK;
        }
        if (out == OUTCOME_UNCLEAR && settled_now(r, snapshot_id))
            return TL_OK;
        if (exhausted(&pace, *retries))
            return give_up(r, &pace, *retries, unclear, err);
        pause_before_retry(&pace, *retries);
    }
}

tl_status tl_commit__try(const tl_attempt *attempt, const tl_changes *changes, int64_t *snapshot_id, int32_t *retries, tl_error *err)
{
    rounds r = {.attempt = attempt, .table = attempt->table};
    tl_status status = tl_table__check_writable(attempt->table, err);
    if (status == TL_OK)
        status = tl_table__manifest_writer(attempt->table, &r.writer, err);
    if (status == TL_OK)
        status = run(&r, changes, snapshot_id, retries, err);
    if (status == TL_OK && r.overwritten.count > 0)
        status = tl_chain__after_overwrite(attempt->table, attempt->user, &r.overwritten, err);
    rounds_deinit(&r);
    return status;
}
