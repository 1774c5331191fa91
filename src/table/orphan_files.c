/* Files of a table that may be orphans: all that are old enough, where files that something refers to may lie. */
#include "table/format_table.h"
#include "table/orphans.h"

#define DEPTH_MAX 32 /* of partition folders */

static tl_status add_candidate(tl_search *s, const char *dir, const tl_dir_entry *entry, tl_error *err)
{
    if (entry->stat.mtime_ms >= s->older_than_ms)
        return TL_OK;
    if (s->n == s->cap) {
        size_t cap = s->cap == 0 ? 64 : s->cap * 2;
        tl_orphan *items = tl_realloc(s->items, cap * sizeof *items);
        if (items == NULL)
            return tl_nomem(err, "files");
        s->items = items;
        s->cap = cap;
    }
    char *path = tl_path_join(dir, entry->name);
    if (path == NULL)
        return tl_nomem(err, "path");
    s->items[s->n++] = (tl_orphan){path, entry->stat.bytes};
    return TL_OK;
}

/* What publishing leaves when it is cut short: ".NAME.UUID.tmp". */
static bool is_temporary(const char *name)
{
    size_t n = strlen(name);
    return name[0] == '.' && n > 4 && strcmp(name + n - 4, ".tmp") == 0;
}

typedef enum place { PLACE_ALL, PLACE_TEMPORARY } place;

/* Files of one folder: all of them, or only temporary ones where others have names that mean something. */
static tl_status list_folder(tl_search *s, const char *dir, place what, tl_error *err)
{
    tl_dir_entry *entries = NULL;
    size_t n = 0;
    tl_status status = tl_fs_list(s->fs, dir, &entries, &n, err);
    if (status == TL_E_NOT_FOUND)
        return TL_OK;
    TL_TRY(status);
    for (size_t i = 0; status == TL_OK && i < n; i++) {
        if (!entries[i].stat.is_dir && (what == PLACE_ALL || is_temporary(entries[i].name)))
            status = add_candidate(s, dir, &entries[i], err);
    }
    tl_dir_free(entries, n);
    return status;
}

/* Folders of metadata of one branch. */
tl_status tl_search__metadata(tl_search *s, const tl_paths *paths, tl_error *err)
{
    static const struct {
        const char *dir;
        place what;
    } folders[] = {{"manifest", PLACE_ALL},       {"statistics", PLACE_ALL}, {"index", PLACE_ALL},          {"snapshot", PLACE_TEMPORARY},
                   {"schema", PLACE_TEMPORARY},   {"tag", PLACE_TEMPORARY},  {"consumer", PLACE_TEMPORARY}, {"changelog", PLACE_TEMPORARY},
                   {"tidelake", PLACE_TEMPORARY}};
    for (size_t i = 0; i < TL_ARRAY_LEN(folders); i++) {
        TL_CLEANUP(tl_freep) char *dir = tl_paths_dir(paths, folders[i].dir);
        if (dir == NULL)
            return tl_nomem(err, "path");
        TL_TRY(list_folder(s, dir, folders[i].what, err));
    }
    return TL_OK;
}

#define UUID_CHARS 36

static bool is_uuid(const char *at)
{
    static const char form[] = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
    _Static_assert(sizeof form - 1 == UUID_CHARS, "a UUID");
    size_t k = 0;
    while (k < UUID_CHARS && (form[k] == '-' ? at[k] == '-' : at[k] != '\0' && strchr("0123456789abcdef", at[k]) != NULL))
        k++;
    return k == UUID_CHARS;
}

/* PREFIX and a UUID in front, as writers of this table name files. */
static bool is_own_name(const tl_search *s, const char *name)
{
    const char *const prefixes[] = {s->table->config->data_prefix, s->table->config->changelog_prefix};
    for (size_t i = 0; i < TL_ARRAY_LEN(prefixes); i++) {
        size_t prefix = strlen(prefixes[i]);
        if (strncmp(name, prefixes[i], prefix) == 0 && is_uuid(name + prefix) && name[prefix + UUID_CHARS] == '-')
            return true;
    }
    return false;
}

static bool is_metadata(const char *name)
{
    static const char *const folders[] = {"snapshot", "schema", "manifest", "index", "statistics", "tag", "branch", "consumer", "changelog", "tidelake"};
    for (size_t i = 0; i < TL_ARRAY_LEN(folders); i++)
        if (strcmp(name, folders[i]) == 0)
            return true;
    return false;
}

/* A folder that is walked through: what is done with its entries, and where among others it lies. */
typedef struct walked {
    tl_status (*visit)(tl_search *s, const char *dir, const tl_dir_entry *entry, const struct walked *at, tl_error *err);
    int depth;
    tl_search_area area; /* visit_table() */
    bool in_bucket;      /* visit_table() */
    bool in_temporary;   /* visit_unfinished() */
} walked;

/* A folder that is gone has nothing. */
static tl_status walk(tl_search *s, const char *dir, const walked *at, tl_error *err)
{
    tl_dir_entry *entries = NULL;
    size_t n = 0;
    if (at->depth > DEPTH_MAX)
        return TL_OK;
    tl_status status = tl_fs_list(s->fs, dir, &entries, &n, err);
    if (status == TL_E_NOT_FOUND)
        return TL_OK;
    for (size_t i = 0; status == TL_OK && i < n; i++)
        status = at->visit(s, dir, &entries[i], at, err);
    tl_dir_free(entries, n);
    return status;
}

static tl_status walk_child(tl_search *s, const char *dir, const char *name, walked child, tl_error *err)
{
    TL_CLEANUP(tl_freep) char *path = tl_path_join(dir, name);
    child.depth++;
    return path == NULL ? tl_nomem(err, "path") : walk(s, path, &child, err);
}

static tl_status visit_table(tl_search *s, const char *dir, const tl_dir_entry *entry, const walked *at, tl_error *err)
{
    if (!entry->stat.is_dir) {
        bool may_be = at->area == TL_SEARCH_ALL || (at->in_bucket && (at->area == TL_SEARCH_TABLE || is_own_name(s, entry->name)));
        return may_be ? add_candidate(s, dir, entry, err) : TL_OK;
    }
    if (at->area == TL_SEARCH_TABLE && (at->in_bucket || (at->depth == 0 && is_metadata(entry->name))))
        return TL_OK;
    walked child = *at;
    child.in_bucket |= strncmp(entry->name, "bucket-", strlen("bucket-")) == 0;
    return walk_child(s, dir, entry->name, child, err);
}

tl_status tl_search__folder(tl_search *s, const char *dir, tl_search_area area, tl_error *err)
{
    const walked top = {.visit = visit_table, .area = area};
    return walk(s, dir, &top, err);
}

/* ---- format tables ---- */

/* The reference's writers: `_temporary/.tmp.UUID` beside the file to be (RenamingTwoPhaseOutputStream). */
#define TEMPORARY_FOLDER "_temporary"
#define TEMPORARY_PREFIX ".tmp."

static bool is_unfinished(const tl_search *s, const char *name, bool in_temporary)
{
    if (in_temporary)
        return strncmp(name, TEMPORARY_PREFIX, strlen(TEMPORARY_PREFIX)) == 0 && is_uuid(name + strlen(TEMPORARY_PREFIX));
    return name[0] == '.' && is_own_name(s, name + 1);
}

static tl_status visit_unfinished(tl_search *s, const char *dir, const tl_dir_entry *entry, const walked *at, tl_error *err)
{
    if (!entry->stat.is_dir)
        return is_unfinished(s, entry->name, at->in_temporary) ? add_candidate(s, dir, entry, err) : TL_OK;
    bool temporary = strcmp(entry->name, TEMPORARY_FOLDER) == 0, own = at->depth == 0 && strcmp(entry->name, TL_FOLDER_OWN) == 0;
    if (at->in_temporary || own || (tl_format_table__hidden(entry->name) && !temporary))
        return TL_OK;
    walked child = *at;
    child.in_temporary = temporary;
    return walk_child(s, dir, entry->name, child, err);
}

tl_status tl_search__unfinished(tl_search *s, tl_error *err)
{
    TL_CLEANUP(tl_freep) char *schemas = tl_path_join(s->path, TL_FOLDER_OWN);
    if (schemas == NULL)
        return tl_nomem(err, "path");
    TL_TRY(list_folder(s, schemas, PLACE_TEMPORARY, err));
    const walked top = {.visit = visit_unfinished};
    return walk(s, s->path, &top, err);
}
