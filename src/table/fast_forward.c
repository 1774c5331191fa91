/*
 * Fast-forward: a branch becomes what the table is from the branch's first snapshot on. Snapshots, schemas and tags of that time
 * and later give way to the branch's; data files stay where they are, since branches share them. Source: format reference §17;
 * Java: FileSystemBranchManager.fastForward.
 *
 * The reference removes everything first and copies then. Here a crash in between leaves a table that reads as of the branch's first
 * snapshot or of a later one, and doing it again completes it: younger snapshots go from the youngest on, the first is replaced,
 * then schemas come, and the branch's snapshots in their order.
 */
#include "table/table_private.h"

#define METADATA_BYTES_MAX (INT64_C(64) << 20)

typedef struct forward {
    tl_table *table;
    tl_paths from;      /* the branch */
    int64_t *snapshots; /* of the branch, ascending */
    size_t n_snapshots;
    int64_t *schemas;
    size_t n_schemas;
    char **tags;
    size_t n_tags;
    int64_t first_schema; /* of its first snapshot */
} forward;

static void forward_deinit(forward *f)
{
    tl_free(f->snapshots);
    tl_free(f->schemas);
    tl_names_free(f->tags, f->n_tags);
}

static tl_status read_branch(forward *f, const char *branch, tl_error *err)
{
    tl_fs *fs = f->table->fs;
    TL_TRY(tl_snapshot_list(fs, &f->from, &f->snapshots, &f->n_snapshots, err));
    if (f->n_snapshots == 0)
        return tl_error_set(err, TL_E_INVALID, "Cannot fast forward branch %s, because it does not have snapshot.", branch);
    TL_CLEANUP(tl_snapshot_freep) tl_snapshot *first = NULL;
    TL_TRY(tl_snapshot_read(fs, &f->from, f->snapshots[0], &first, err));
    f->first_schema = first->schema_id;
    TL_TRY(tl_schema_list(fs, &f->from, &f->schemas, &f->n_schemas, err));
    return tl_tag_list(fs, &f->from, &f->tags, &f->n_tags, err);
}

/* ---- single files ---- */

static tl_status copy(tl_fs *fs, char *from_take, char *to_take, tl_error *err)
{
    TL_CLEANUP(tl_freep) char *from = from_take;
    TL_CLEANUP(tl_freep) char *to = to_take;
    if (from == NULL || to == NULL)
        return tl_nomem(err, "path");
    tl_bytes text = {0};
    TL_TRY(tl_fs_read_all(fs, from, METADATA_BYTES_MAX, &text, err));
    tl_status status = tl_fs_publish(fs, to, tl_bytes_view_of(text), /* replace= */ true, err);
    tl_bytes_deinit(&text);
    return status;
}

static tl_status remove_file(tl_fs *fs, char *path_take, tl_error *err)
{
    TL_CLEANUP(tl_freep) char *path = path_take;
    if (path == NULL)
        return tl_nomem(err, "path");
    tl_status status = tl_fs_remove(fs, path, err);
    return status == TL_E_NOT_FOUND ? TL_OK : status;
}

static bool has_id(const int64_t *ids, size_t n, int64_t id)
{
    for (size_t i = 0; i < n; i++) {
        if (ids[i] == id)
            return true;
    }
    return false;
}

/* ---- steps ---- */

/* What came after the branch's first snapshot, from the youngest on; then that one as the branch has it. */
static tl_status take_back(const forward *f, tl_error *err)
{
    tl_table *table = f->table;
    int64_t *ids = NULL, first = f->snapshots[0];
    size_t n = 0;
    TL_TRY(tl_snapshot_list(table->fs, &table->paths, &ids, &n, err));
    tl_status status = tl_hint_write(table->fs, &table->paths, "LATEST", first, /* durable= */ true, err);
    for (size_t i = n; i > 0 && ids[i - 1] > first && status == TL_OK; i--)
        status = remove_file(table->fs, tl_paths_snapshot(&table->paths, ids[i - 1]), err);
    if (status == TL_OK)
        status = copy(table->fs, tl_paths_snapshot(&f->from, first), tl_paths_snapshot(&table->paths, first), err);
    if (status == TL_OK && (n == 0 || ids[0] >= first)) /* older snapshots stay where they are the first */
        status = tl_hint_write(table->fs, &table->paths, "EARLIEST", first, /* durable= */ true, err);
    tl_free(ids);
    return status;
}

/* Whether the branch has a tag of this name that is the same to the byte, as it has the one that it was made from. */
static tl_status is_tag_of_both(const forward *f, const char *name, bool *out, tl_error *err)
{
    TL_CLEANUP(tl_freep) char *theirs = tl_paths_tag(&f->from, name);
    TL_CLEANUP(tl_freep) char *ours = tl_paths_tag(&f->table->paths, name);
    *out = false;
    for (size_t i = 0; i < f->n_tags && !*out; i++)
        *out = strcmp(f->tags[i], name) == 0;
    if (theirs == NULL || ours == NULL)
        return tl_nomem(err, "path");
    if (!*out)
        return TL_OK;
    tl_bytes a = {0}, b = {0};
    tl_status status = tl_fs_read_all(f->table->fs, theirs, METADATA_BYTES_MAX, &a, err);
    if (status == TL_OK)
        status = tl_fs_read_all(f->table->fs, ours, METADATA_BYTES_MAX, &b, err);
    *out = status == TL_OK && tl_bytes_equal(tl_bytes_view_of(a), tl_bytes_view_of(b));
    tl_bytes_deinit(&a);
    tl_bytes_deinit(&b);
    return status;
}

/* A tag that comes back as it was does not go at all: after a crash in between, nothing would keep its rows from an expiry. */
static tl_status remove_tag(const forward *f, const char *name, tl_error *err)
{
    bool stays;
    TL_TRY(is_tag_of_both(f, name, &stays, err));
    return stays ? TL_OK : remove_file(f->table->fs, tl_paths_tag(&f->table->paths, name), err);
}

static tl_status remove_tags(const forward *f, tl_error *err)
{
    tl_table *table = f->table;
    tl_tagged *tags = NULL;
    size_t n = 0;
    TL_TRY(tl_tags__snapshots(table, &tags, &n, err));
    tl_status status = TL_OK;
    for (size_t i = 0; i < n; i++) {
        for (size_t t = 0; tags[i].snap->id >= f->snapshots[0] && t < tags[i].n_names && status == TL_OK; t++)
            status = remove_tag(f, tags[i].names[t], err);
    }
    tl_tags__free(tags, n);
    return status;
}

static tl_status replace_schemas(const forward *f, tl_error *err)
{
    tl_table *table = f->table;
    int64_t *ids = NULL;
    size_t n = 0;
    for (size_t i = 0; i < f->n_schemas; i++)
        TL_TRY(copy(table->fs, tl_paths_schema(&f->from, f->schemas[i]), tl_paths_schema(&table->paths, f->schemas[i]), err));
    TL_TRY(tl_schema_list(table->fs, &table->paths, &ids, &n, err));
    tl_status status = TL_OK;
    for (size_t i = n; i > 0 && ids[i - 1] >= f->first_schema && status == TL_OK; i--) {
        if (!has_id(f->schemas, f->n_schemas, ids[i - 1]))
            status = remove_file(table->fs, tl_paths_schema(&table->paths, ids[i - 1]), err);
    }
    tl_free(ids);
    return status;
}

static tl_status copy_snapshots(const forward *f, tl_error *err)
{
    tl_table *table = f->table;
    for (size_t i = 1; i < f->n_snapshots; i++)
        TL_TRY(copy(table->fs, tl_paths_snapshot(&f->from, f->snapshots[i]), tl_paths_snapshot(&table->paths, f->snapshots[i]), err));
    return tl_hint_write(table->fs, &table->paths, "LATEST", f->snapshots[f->n_snapshots - 1], /* durable= */ true, err);
}

static tl_status copy_tags(const forward *f, tl_error *err)
{
    for (size_t i = 0; i < f->n_tags; i++)
        TL_TRY(copy(f->table->fs, tl_paths_tag(&f->from, f->tags[i]), tl_paths_tag(&f->table->paths, f->tags[i]), err));
    return TL_OK;
}

static tl_status fast_forward(tl_table *table, const char *branch, tl_error *err)
{
    forward f = {.table = table, .from = {.table = table->path, .branch = branch}};
    tl_status status = read_branch(&f, branch, err);
    if (status == TL_OK)
        status = take_back(&f, err);
    if (status == TL_OK)
        status = remove_tags(&f, err);
    if (status == TL_OK)
        status = replace_schemas(&f, err);
    if (status == TL_OK)
        status = copy_snapshots(&f, err);
    if (status == TL_OK)
        status = copy_tags(&f, err);
    forward_deinit(&f);
    return status;
}

tl_status tl_table_fast_forward(tl_table *table, const char *branch, tl_error *err)
{
    char name[256];
    TL_TRY(tl_table__require_data(table, "fast-forward it", err));
    if (branch == NULL)
        return tl_branch__require(table, branch, err); /* tells what a name must be */
    if (strcmp(branch, "main") == 0)
        return tl_error_set(err, TL_E_INVALID, "Branch name 'main' do not use in fast-forward.");
    TL_TRY(tl_branch__require(table, branch, err));
    if (table->branch != NULL && strcmp(table->branch, branch) == 0)
        return tl_error_set(err, TL_E_INVALID, "Fast-forward from the current branch '%s' is not allowed.", branch);
    return tl_error_wrap(err, fast_forward(table, branch, err), "table %s: fast-forward to branch '%s'", tl_table__full_name(table, name), branch);
}
