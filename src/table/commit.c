/*
 * Committing what writers prepared: new data as an APPEND (or OVERWRITE) snapshot, compactions as a COMPACT snapshot after it.
 * Source: format reference §16; Java: FileStoreCommitImpl.commit, overwritePartition, ManifestEntryChanges, TableCommitImpl.
 *
 * Who loses what: data of an APPEND conflicts with nothing and always gets in. A compaction that finds its input gone (another
 * job compacted it, or it was overwritten) is dropped with the files that it made; its changelog will be made by the compaction
 * that comes next, since the level-0 files stay (where readers do not look there, the commit compacts once more). Messages that delete files or overwrite can conflict; then nothing gets in and
 * their files are removed.
 */
#include "table/format_table.h"

#include "base/log.h"

/* ---- messages to entries ---- */

static tl_status add_all(tl_entries *entries, tl_entry_kind kind, const tl_commit_message *msg, int32_t total, const tl_file_list *files,
                         tl_error *err)
{
    for (size_t i = 0; i < files->n; i++)
        TL_TRY(tl_entries_add(entries, kind, tl_bytes_view_of(msg->partition), msg->bucket, total, files->items[i], err));
    return TL_OK;
}

static tl_status add_indexes(tl_index_entries *entries, tl_entry_kind kind, const tl_commit_message *msg, const tl_index_list *files,
                             tl_error *err)
{
    for (size_t i = 0; i < files->n; i++) {
        TL_TRY(tl_index_entries_add(entries, kind, tl_bytes_view_of(msg->partition), msg->bucket, files->items[i], err));
        if (strcmp(files->items[i]->type, TL_INDEX_DELETION_VECTORS) == 0)
            entries->items[entries->n - 1].replaces = msg->vectors_base;
    }
    return TL_OK;
}

static tl_status collect(tl_table *table, const tl_commit_messages *messages, tl_changes *append, tl_changes *compact, tl_error *err)
{
    for (size_t i = 0; i < messages->n; i++) {
        const tl_commit_message *m = &messages->items[i];
        int32_t total = m->total_buckets != 0 ? m->total_buckets : table->n_buckets;
        TL_TRY(add_all(&append->table, TL_ENTRY_ADD, m, total, &m->new_files, err));
        TL_TRY(add_all(&append->table, TL_ENTRY_DELETE, m, total, &m->deleted_files, err));
        TL_TRY(add_all(&append->changelog, TL_ENTRY_ADD, m, total, &m->changelog_files, err));
        TL_TRY(add_all(&compact->table, TL_ENTRY_DELETE, m, total, &m->compact_before, err));
        TL_TRY(add_all(&compact->table, TL_ENTRY_ADD, m, total, &m->compact_after, err));
        TL_TRY(add_all(&compact->changelog, TL_ENTRY_ADD, m, total, &m->compact_changelog, err));
        TL_TRY(add_indexes(&append->indexes, TL_ENTRY_ADD, m, &m->new_indexes, err));
        TL_TRY(add_indexes(&append->indexes, TL_ENTRY_DELETE, m, &m->deleted_indexes, err));
        TL_TRY(add_indexes(&compact->indexes, TL_ENTRY_ADD, m, &m->compact_new_indexes, err));
        TL_TRY(add_indexes(&compact->indexes, TL_ENTRY_DELETE, m, &m->compact_deleted_indexes, err));
    }
    return TL_OK;
}

/* ---- removing files that do not get in ---- */

/* A path that metadata gives is followed for reading; what lies outside the table and its folders is not ours to remove. */
static bool is_ours(const tl_table *table, const tl_data_file *file, const char *path)
{
    size_t root = strlen(table->path);
    bool is_inside = strncmp(path, table->path, root) == 0 && path[root] == '/' && tl_path_is_inside(path + root + 1);
    return file->external_path == NULL || is_inside || tl_lsm_is_external(table->config, path);
}

/* The files beside a data file, but for those that `kept` (NULL: none) has, too. */
static void remove_beside(tl_table *table, const char *path, const tl_data_file *file, const tl_data_file *kept)
{
    for (int32_t i = 0; i < file->n_extra_files; i++) {
        bool is_kept = false;
        for (int32_t k = 0; kept != NULL && k < kept->n_extra_files; k++)
            is_kept |= strcmp(kept->extra_files[k], file->extra_files[i]) == 0;
        TL_CLEANUP(tl_freep) char *extra = is_kept ? NULL : tl_strf("%.*s%s", (int)(tl_path_base(path) - path), path, file->extra_files[i]);
        if (extra != NULL)
            (void)tl_fs_remove(table->fs, extra, NULL); /* missing is fine, anything else leaves an orphan */
    }
}

void tl_table__remove_file(tl_table *table, tl_bytes_view partition, int32_t bucket, const tl_data_file *file)
{
    TL_CLEANUP(tl_freep) char *path = tl_data_file_path(table->config, partition, bucket, file);
    if (path == NULL)
        return; /* an orphan: the cleaner of orphans finds it */
    if (!is_ours(table, file, path))
        return;
    (void)tl_fs_remove(table->fs, path, NULL); /* missing is fine, anything else leaves an orphan */
    remove_beside(table, path, file, NULL);
}

void tl_table__remove_extra_files(tl_table *table, tl_bytes_view partition, int32_t bucket, const tl_data_file *file, const tl_data_file *kept)
{
    TL_CLEANUP(tl_freep) char *path = tl_data_file_path(table->config, partition, bucket, file);
    if (path != NULL && is_ours(table, file, path))
        remove_beside(table, path, file, kept);
}

static const tl_data_file *find_file(const tl_file_list *list, const char *name)
{
    for (size_t i = 0; i < list->n; i++) {
        if (strcmp(list->items[i]->name, name) == 0)
            return list->items[i];
    }
    return NULL;
}

static bool listed(const tl_file_list *list, const char *name)
{
    return find_file(list, name) != NULL;
}

static void remove_list(tl_table *table, const tl_commit_message *m, const tl_file_list *files)
{
    for (size_t i = 0; i < files->n; i++)
        tl_table__remove_file(table, tl_bytes_view_of(m->partition), m->bucket, files->items[i]);
}

static void remove_indexes(tl_table *table, const tl_commit_message *m, const tl_index_list *files)
{
    for (size_t i = 0; i < files->n; i++)
        tl_indexes__remove(table, tl_bytes_view_of(m->partition), m->bucket, files->items[i]);
}

/* What a compaction made anew. A file that was only moved to another level, or got another index, is still live as it was. */
static void remove_compaction(tl_table *table, const tl_commit_message *m)
{
    for (size_t i = 0; i < m->compact_after.n; i++) {
        const tl_data_file *file = m->compact_after.items[i], *before = find_file(&m->compact_before, file->name);
        if (before != NULL)
            tl_table__remove_extra_files(table, tl_bytes_view_of(m->partition), m->bucket, file, before);
        else if (!listed(&m->new_files, file->name))
            tl_table__remove_file(table, tl_bytes_view_of(m->partition), m->bucket, file);
    }
    remove_list(table, m, &m->compact_changelog);
    remove_indexes(table, m, &m->compact_new_indexes);
}

static void remove_compactions(tl_table *table, const tl_commit_messages *messages)
{
    for (size_t i = 0; i < messages->n; i++)
        remove_compaction(table, &messages->items[i]);
}

void tl_table_abort(tl_table *table, const tl_commit_messages *messages)
{
    if (table->folder != NULL) {
        tl_format_table__abort(table, messages);
        return;
    }
    for (size_t i = 0; i < messages->n; i++) {
        const tl_commit_message *m = &messages->items[i];
        remove_compaction(table, m);
        remove_list(table, m, &m->new_files);
        remove_list(table, m, &m->changelog_files);
        remove_indexes(table, m, &m->new_indexes);
    }
}

/* ---- was it committed before? ---- */

tl_status tl_table_latest_of_user(tl_table *table, const char *user, tl_snapshot **out, tl_error *err)
{
    int64_t latest = 0;
    TL_TRY(tl_snapshot_latest_id(table->fs, &table->paths, &latest, err));
    for (int64_t id = latest; id > 0; id--) {
        TL_CLEANUP(tl_snapshot_freep) tl_snapshot *snap = NULL;
        tl_status status = tl_snapshot_read(table->fs, &table->paths, id, &snap, err);
        if (status == TL_E_NOT_FOUND)
            break; /* expired: those before it are, too */
        TL_TRY(status);
        if (strcmp(snap->commit_user, user) == 0) {
            *out = TL_STEAL(snap);
            return TL_OK;
        }
    }
    return tl_error_set(err, TL_E_NOT_FOUND, "no snapshot of commit user '%s'", user);
}

/* Snapshots that this user made with this identifier; 0: none. `compact`: its COMPACT, `data`: the one before it. */
typedef struct committed {
    int64_t data;
    int64_t compact;
    int64_t later;     /* data is in, its snapshot has expired: a younger one of this user */
    bool no_snapshots; /* nothing is known of this user */
} committed;

typedef struct commit {
    tl_table *table;
    const tl_commit_spec *spec;
    const tl_commit_messages *messages;
    const char *user;
    tl_changes append;
    tl_changes compact;
    committed before;
    tl_commit_result result;
} commit;

static tl_status find_committed(tl_table *table, const char *user, int64_t identifier, committed *out, tl_error *err)
{
    *out = (committed){0};
    TL_CLEANUP(tl_snapshot_freep) tl_snapshot *snap = NULL;
    tl_status status = tl_table_latest_of_user(table, user, &snap, err);
    out->no_snapshots = status == TL_E_NOT_FOUND;
    if (status != TL_OK)
        return status == TL_E_NOT_FOUND ? TL_OK : status;
    int64_t id = snap->id, newest = snap->id;
    bool is_past = snap->commit_identifier > identifier;
    /* Identifiers of a user never fall: what lies before one that is smaller is smaller, too. */
    while (snap != NULL && (strcmp(snap->commit_user, user) != 0 || snap->commit_identifier >= identifier)) {
        if (strcmp(snap->commit_user, user) == 0 && snap->commit_identifier == identifier) {
            if (snap->commit_kind == TL_COMMIT_COMPACT)
                out->compact = snap->id;
            else
                out->data = snap->id;
        }
        tl_snapshot_free(snap);
        snap = NULL;
        status = --id == 0 ? TL_E_NOT_FOUND : tl_snapshot_read(table->fs, &table->paths, id, &snap, err);
        if (status != TL_OK && status != TL_E_NOT_FOUND)
            return status;
    }
    /* Data goes in before its compaction, and commits go in order: what is not in the rest of a history was there and has expired. */
    bool has_expired = status == TL_E_NOT_FOUND && id > 0;
    if (has_expired && out->data == 0 && (is_past || out->compact > 0))
        out->later = newest;
    return TL_OK;
}

/* A file of the messages that is live, as tl_table_commit() finds it in the latest snapshot; or one that is not on disk. */
static tl_status look_for_files(tl_table *table, const tl_commit_messages *messages, const tl_entries *live, bool *committed_before, char **missing,
                                tl_error *err)
{
    tl_map names = {0};
    static char mark;
    tl_status status = TL_OK;
    for (size_t i = 0; status == TL_OK && i < live->n; i++)
        status = tl_map_put(&names, live->items[i].file->name, strlen(live->items[i].file->name), &mark, NULL);
    if (status != TL_OK)
        status = tl_nomem(err, "files");
    for (size_t i = 0; status == TL_OK && i < messages->n; i++) {
        const tl_commit_message *m = &messages->items[i];
        for (size_t f = 0; status == TL_OK && f < m->new_files.n; f++) {
            const tl_data_file *file = m->new_files.items[f];
            TL_CLEANUP(tl_freep) char *path = tl_data_file_path(table->config, tl_bytes_view_of(m->partition), m->bucket, file);
            bool exists = false;
            *committed_before |= tl_map_get(&names, file->name, strlen(file->name)) != NULL;
            status = path == NULL ? tl_nomem(err, "path") : tl_fs_exists(table->fs, path, &exists, err);
            if (status == TL_OK && !exists && *missing == NULL && (*missing = tl_strdup(path)) == NULL)
                status = tl_nomem(err, "path");
        }
    }
    tl_map_deinit(&names);
    return status;
}

/*
 * A user without any snapshot, while old ones have expired: it may be new, or a job that comes back with messages that it committed
 * long ago. Their files tell. A live one: that commit is in. One that is gone: it was in and compacted, or somebody removed it; to
 * commit would break the table, to do nothing might lose rows, so that the caller must decide.
 */
static tl_status look_in_the_past(commit *c, tl_error *err)
{
    bool committed_before = false;
    TL_CLEANUP(tl_snapshot_freep) tl_snapshot *latest = NULL;
    TL_CLEANUP(tl_freep) char *missing = NULL;
    tl_map partitions = {0};
    tl_entries live = {0};
    static char mark;
    TL_TRY(tl_table__latest(c->table->fs, &c->table->paths, &latest, err));
    if (latest == NULL)
        return TL_OK;
    tl_status status = TL_OK;
    for (size_t i = 0; status == TL_OK && i < c->messages->n; i++) {
        tl_bytes p = c->messages->items[i].partition;
        if (tl_map_put(&partitions, p.data, p.len, &mark, NULL) != TL_OK)
            status = tl_nomem(err, "partitions");
    }
    tl_scan scan;
    tl_scan_init(&scan, TL_SCAN_ALL, latest);
    scan.partitions = &partitions;
    if (status == TL_OK)
        status = tl_table__scan(c->table, &scan, &live, err);
    if (status == TL_OK)
        status = look_for_files(c->table, c->messages, &live, &committed_before, &missing, err);
    tl_entries_deinit(&live);
    tl_map_deinit(&partitions);
    if (status == TL_OK && !committed_before && missing != NULL)
        return tl_error_set(err, TL_E_INVALID,
                            "the file '%s' of these messages is gone: user '%s' committed %lld before and its snapshots have expired since, or the "
                            "file was removed. Nothing was committed; if the rows are in the table, drop the messages, else write them again",
                            missing, c->user, (long long)c->spec->identifier);
    if (committed_before)
        c->before.later = latest->id;
    return status;
}

/* A handle that committed a smaller identifier of this user before knows without looking. */
static tl_status look_for_committed(commit *c, tl_error *err)
{
    tl_table *table = c->table;
    int64_t identifier = c->spec->identifier, earliest = 0;
    c->before = (committed){0};
    if (identifier == TL_COMMIT_BATCH)
        return TL_OK;
    pthread_mutex_lock(&table->lock);
    bool known = table->last_user != NULL && strcmp(table->last_user, c->user) == 0 && table->last_identifier < identifier;
    pthread_mutex_unlock(&table->lock);
    if (known)
        return TL_OK;
    TL_TRY(find_committed(table, c->user, identifier, &c->before, err));
    if (!c->before.no_snapshots)
        return TL_OK;
    TL_TRY(tl_snapshot_earliest_id(table->fs, &table->paths, &earliest, err));
    return earliest > 1 ? look_in_the_past(c, err) : TL_OK;
}

static void remember(tl_table *table, const char *user, int64_t identifier)
{
    pthread_mutex_lock(&table->lock);
    if (table->last_user == NULL || strcmp(table->last_user, user) != 0) {
        tl_free(table->last_user);
        table->last_user = tl_strdup(user); /* NULL only means: look again next time */
    }
    table->last_identifier = identifier;
    pthread_mutex_unlock(&table->lock);
}

/*
 * The snapshot is there already. After a recovery the messages may be those that made it, or a new attempt at the same input:
 * files that the snapshot does not name belong to the latter and go.
 */
static tl_status drop_duplicates(tl_table *table, int64_t snapshot_id, const tl_commit_messages *messages, bool compaction, tl_error *err)
{
    TL_CLEANUP(tl_snapshot_freep) tl_snapshot *snap = NULL;
    TL_TRY(tl_snapshot_read(table->fs, &table->paths, snapshot_id, &snap, err));
    tl_entries entries = {0};
    tl_scan scan;
    tl_scan_init(&scan, TL_SCAN_DELTA, snap);
    tl_status status = tl_table__scan(table, &scan, &entries, err);
    scan.mode = TL_SCAN_CHANGELOG;
    if (status == TL_OK)
        status = tl_table__scan(table, &scan, &entries, err);
    tl_index_entries indexes = {0};
    if (status == TL_OK)
        status = tl_indexes__read(table, snap, &indexes, err);
    tl_map names = {0};
    for (size_t i = 0; status == TL_OK && i < indexes.n; i++) {
        const char *name = indexes.items[i].file->name;
        if (tl_map_put(&names, name, strlen(name), indexes.items[i].file, NULL) != TL_OK)
            status = tl_nomem(err, "files");
    }
    for (size_t i = 0; status == TL_OK && i < entries.n; i++) {
        const char *name = entries.items[i].file->name;
        if (tl_map_put(&names, name, strlen(name), entries.items[i].file, NULL) != TL_OK)
            status = tl_nomem(err, "files");
    }
    for (size_t i = 0; status == TL_OK && i < messages->n; i++) {
        const tl_commit_message *m = &messages->items[i];
        const tl_file_list *lists[2] = {compaction ? &m->compact_after : &m->new_files,
                                        compaction ? &m->compact_changelog : &m->changelog_files};
        for (int l = 0; l < 2; l++) {
            for (size_t f = 0; f < lists[l]->n; f++) {
                const tl_data_file *file = lists[l]->items[f];
                bool moved = compaction && (listed(&m->compact_before, file->name) || listed(&m->new_files, file->name));
                if (!moved && tl_map_get(&names, file->name, strlen(file->name)) == NULL)
                    tl_table__remove_file(table, tl_bytes_view_of(m->partition), m->bucket, file);
            }
        }
        const tl_index_list *fresh = compaction ? &m->compact_new_indexes : &m->new_indexes;
        for (size_t f = 0; f < fresh->n; f++) {
            if (tl_map_get(&names, fresh->items[f]->name, strlen(fresh->items[f]->name)) == NULL)
                tl_indexes__remove(table, tl_bytes_view_of(m->partition), m->bucket, fresh->items[f]);
        }
    }
    tl_index_entries_deinit(&indexes);
    tl_map_deinit(&names);
    tl_entries_deinit(&entries);
    return status;
}

/* ---- phases ---- */

static tl_attempt attempt_of(const commit *c, tl_commit_kind kind)
{
    return (tl_attempt){.table = c->table,
                        .user = c->user,
                        .identifier = c->spec->identifier,
                        .watermark = c->spec->watermark,
                        .properties = c->spec->properties,
                        .kind = kind,
                        .check = kind != TL_COMMIT_APPEND};
}

static tl_status make(commit *c, const tl_attempt *attempt, const tl_changes *changes, tl_error *err)
{
    int64_t id = 0;
    int32_t retries = 0;
    tl_status status = tl_commit__try(attempt, changes, &id, &retries, err);
    c->result.retries += retries;
    if (status == TL_OK) {
        c->result.snapshot_id = id;
        c->result.snapshots++;
    }
    return status;
}

/* Appends that take rows away, by deleting files or by deletion vectors, are overwrites that can conflict. */
static bool takes_away(const tl_changes *changes)
{
    for (size_t i = 0; i < changes->table.n; i++) {
        if (changes->table.items[i].kind == TL_ENTRY_DELETE)
            return true;
    }
    for (size_t i = 0; i < changes->indexes.n; i++) {
        if (strcmp(changes->indexes.items[i].file->type, TL_INDEX_DELETION_VECTORS) == 0)
            return true;
    }
    return false;
}

/* Rows that were placed at once although they could wait (bucket_counts.c): another job may have given the partition another number of
   buckets. Java: TableCommitImpl#appendCommitCheckConflict. */
static bool places_postponed(const commit *c)
{
    bool places = false;
    for (size_t i = 0; c->table->bucket_mode == TL_BUCKETS_POSTPONE && i < c->append.table.n && !places; i++)
        places = c->append.table.items[i].bucket >= 0;
    return places;
}

/* A conflict that no retry can mend: the files will never get in. */
static tl_status reject(commit *c, tl_status status, const tl_error *err)
{
    if (status == TL_E_CONFLICT && !err->retryable && !c->spec->keep_files)
        tl_table_abort(c->table, c->messages);
    return status;
}

static tl_status append_phase(commit *c, tl_error *err)
{
    bool nothing = c->append.table.n == 0 && c->append.changelog.n == 0 && c->append.indexes.n == 0;
    bool force = tl_table__option_bool(&c->table->schema->options, "commit.force-create-snapshot");
    if (nothing && c->spec->ignore_empty && !force)
        return TL_OK;
    if (c->before.later > 0) {
        c->result.snapshot_id = c->before.later; /* which files it named is not known any more: none are removed */
        return TL_OK;
    }
    if (c->before.data > 0) {
        c->result.snapshot_id = c->before.data;
        return drop_duplicates(c->table, c->before.data, c->messages, /* compaction= */ false, err);
    }
    tl_attempt attempt = attempt_of(c, takes_away(&c->append) ? TL_COMMIT_OVERWRITE : TL_COMMIT_APPEND);
    attempt.based = c->messages;
    attempt.check |= places_postponed(c);
    attempt.discard_duplicates = attempt.kind == TL_COMMIT_APPEND &&
                                 tl_table__option_bool(&c->table->schema->options, "commit.discard-duplicate-files");
    return make(c, &attempt, &c->append, err);
}

static tl_status compact_phase(commit *c, const tl_changes *changes, tl_error *err)
{
    if (changes->table.n == 0 && changes->changelog.n == 0 && changes->indexes.n == 0)
        return TL_OK;
    if (c->before.later > 0 && c->before.compact == 0)
        return TL_OK;
    if (c->before.compact > 0) {
        c->result.snapshot_id = c->before.compact;
        return drop_duplicates(c->table, c->before.compact, c->messages, /* compaction= */ true, err);
    }
    tl_attempt attempt = attempt_of(c, TL_COMMIT_COMPACT);
    tl_status status = make(c, &attempt, changes, err);
    if (status != TL_E_CONFLICT)
        return status;
    tl_log(TL_LOG_INFO, "table %s.%s: a compaction was dropped: %s", c->table->db, c->table->name, err->message);
    c->result.compaction_dropped = true;
    remove_compactions(c->table, c->messages);
    return TL_OK;
}

static tl_status plain(commit *c, tl_error *err)
{
    tl_status status = append_phase(c, err);
    if (status != TL_OK)
        return reject(c, status, err);
    return compact_phase(c, &c->compact, err);
}

/* ---- overwrite ---- */

/* Every new file must lie in the partition that is overwritten. */
static tl_status check_within(commit *c, const tl_predicate *partition, tl_error *err)
{
    for (size_t i = 0; partition != NULL && i < c->append.table.n; i++) {
        tl_status status;
        bool inside = tl_partition_matches(c->table, partition, tl_bytes_view_of(c->append.table.items[i].partition), &status, err);
        TL_TRY(status);
        if (!inside)
            return tl_error_set(err, TL_E_INVALID, "Trying to overwrite a partition, but the changes in bucket %d (file '%s') do not belong to it",
                                c->append.table.items[i].bucket, c->append.table.items[i].file->name);
    }
    return TL_OK;
}

static void remove_changelogs(commit *c, const tl_commit_messages *messages)
{
    for (size_t i = 0; i < messages->n; i++) {
        remove_list(c->table, &messages->items[i], &messages->items[i].changelog_files);
        remove_list(c->table, &messages->items[i], &messages->items[i].compact_changelog);
    }
}

/* The snapshot. `moved` receives what it deletes in partitions that are not overwritten. */
static tl_status overwrite_with(commit *c, const tl_predicate *partition, const tl_map *partitions, tl_commit_messages *moved, tl_error *err)
{
    if (c->table->spans_partitions && (partition != NULL || partitions != NULL) && c->append.table.n > 0)
        TL_TRY(tl_retract__moved(c->table, &c->append.table, partition, partitions, moved, err));
    if (c->compact.table.n == 0 && c->compact.indexes.n == 0)
        TL_TRY(tl_commit__upgrade(c->table, &c->append.table, err));
    TL_TRY(collect(c->table, moved, &c->append, &c->compact, err));
    tl_attempt attempt = attempt_of(c, TL_COMMIT_OVERWRITE);
    attempt.overwrite = true;
    attempt.overwrite_partition = partition;
    attempt.overwrite_partitions = partitions;
    attempt.based = moved;
    tl_changes changes = {.table = c->append.table, .indexes = c->append.indexes}; /* changelog of an overwrite is not committed */
    return make(c, &attempt, &changes, err);
}

static tl_status overwrite_phase(commit *c, const tl_predicate *partition, const tl_map *partitions, tl_error *err)
{
    if (c->before.later > 0) {
        c->result.snapshot_id = c->before.later; /* which files it named is not known any more: none are removed */
        return TL_OK;
    }
    if (c->before.data > 0) {
        c->result.snapshot_id = c->before.data;
        return drop_duplicates(c->table, c->before.data, c->messages, /* compaction= */ false, err);
    }
    tl_commit_messages moved = {0};
    tl_status status = overwrite_with(c, partition, partitions, &moved, err);
    if (status == TL_OK)
        remove_changelogs(c, &moved);
    else if (status == TL_E_CONFLICT)
        tl_table_abort(c->table, &moved); /* also if the caller may try again, which makes them anew */
    tl_commit_messages_deinit(&moved);
    return status;
}

static tl_status overwrite(commit *c, tl_error *err)
{
    TL_CLEANUP(tl_predicate_freep) tl_predicate *partition = NULL;
    tl_map partitions = {0};
    static char mark;
    tl_status status = TL_OK;
    bool dynamic = c->table->n_partition > 0 && tl_table__option_bool(&c->table->schema->options, "dynamic-partition-overwrite");
    bool skip = dynamic && c->append.table.n == 0; /* no data, no partition: nothing is overwritten */
    for (size_t i = 0; dynamic && status == TL_OK && i < c->append.table.n; i++) {
        tl_bytes p = c->append.table.items[i].partition;
        if (tl_map_put(&partitions, p.data, p.len, &mark, NULL) != TL_OK)
            status = tl_nomem(err, "partitions");
    }
    if (!dynamic && c->spec->overwrite_partition != NULL) {
        status = tl_table__partition_predicate(c->table, c->spec->overwrite_partition, &partition, err);
        if (status == TL_OK)
            status = check_within(c, partition, err);
    }
    if (status == TL_OK && !skip)
        status = overwrite_phase(c, partition, dynamic ? &partitions : NULL, err);
    tl_map_deinit(&partitions);
    if (status != TL_OK)
        return reject(c, status, err);
    tl_changes compact = {.table = c->compact.table, .indexes = c->compact.indexes};
    TL_TRY(compact_phase(c, &compact, err));
    remove_changelogs(c, c->messages);
    return TL_OK;
}

/* ---- the whole ---- */

static tl_status commit_user(tl_table *table, const char *given, char **out, tl_error *err)
{
    char uuid[37];
    const char *prefix = tl_table_option(table, "commit.user-prefix");
    tl_uuid(uuid);
    if (given != NULL)
        *out = tl_strdup(given);
    else
        *out = prefix == NULL ? tl_strdup(uuid) : tl_strf("%s_%s", prefix, uuid);
    return *out == NULL ? tl_nomem(err, "commit user") : TL_OK;
}

/* Expiry after a commit is upkeep: the commit stands whatever becomes of it. */
static void maintain_quietly(tl_table *table, const char *user, int64_t identifier, const tl_commit_messages *messages)
{
    tl_error err = {0};
    if (identifier == TL_COMMIT_BATCH && tl_mark_done__batch(table, messages, &err) != TL_OK)
        tl_log(TL_LOG_WARN, "table %s.%s: could not mark partitions done: %s", table->db, table->name, err.message);
    if (tl_table__maintain(table, user, identifier, &err) != TL_OK)
        tl_log(TL_LOG_WARN, "table %s.%s: upkeep after a commit: %s", table->db, table->name, err.message);
}

/* Where level 0 is not read, rows whose compaction has lost its race would be seen by nobody until somebody compacts. Whoever waits for
   compactions so that readers see what was committed wants them placed now. The rows are committed, whatever becomes of it. */
static void place_level0(tl_table *table)
{
    tl_error err = {0};
    tl_commit_result result = {.compaction_dropped = true};
    for (int tries = 0; tries < 3 && result.compaction_dropped; tries++) {
        if (tl_table_compact(table, /* user= */ NULL, /* full= */ false, /* pool= */ NULL, &result, &err) != TL_OK) {
            tl_log(TL_LOG_WARN, "table %s.%s: rows are committed, but not yet seen by readers, which do not look at level 0: %s", table->db, table->name, err.message);
            return;
        }
    }
}

tl_status tl_table_commit(tl_table *table, const tl_commit_spec *spec, const tl_commit_messages *messages, tl_commit_result *out, tl_error *err)
{
    char name[256];
    tl_error local; /* whether a conflict is final is read from the error, also if the caller does not want it */
    if (err == NULL)
        err = &local;
    if (table->folder != NULL) {
        if (out != NULL)
            *out = (tl_commit_result){0};
        return tl_error_wrap(err, tl_format_table__commit(table, spec, messages, err), "commit to table %s", tl_table__full_name(table, name));
    }
    TL_TRY(tl_table__require_data(table, "commit to it", err));
    TL_CLEANUP(tl_freep) char *user = NULL;
    TL_TRY(commit_user(table, spec->user, &user, err));
    commit c = {.table = table, .spec = spec, .messages = messages, .user = user};
    tl_status status = collect(table, messages, &c.append, &c.compact, err);
    if (status == TL_OK && spec->user != NULL)
        status = look_for_committed(&c, err);
    if (status == TL_OK)
        status = spec->overwrite ? overwrite(&c, err) : plain(&c, err);
    bool hidden = c.result.compaction_dropped && c.append.table.n > 0 && tl_table__skips_level0(table) && tl_table_lookups_wait(table);
    tl_changes_deinit(&c.append);
    tl_changes_deinit(&c.compact);
    if (status != TL_OK)
        return tl_error_wrap(err, status, "commit to table %s", tl_table__full_name(table, name));
    remember(table, user, spec->identifier);
    if (hidden)
        place_level0(table);
    if (c.result.snapshots > 0)
        maintain_quietly(table, user, spec->identifier, messages);
    if (out != NULL)
        *out = c.result;
    return TL_OK;
}
