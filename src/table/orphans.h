/*
 * Search for files of a table that nothing refers to, in parts: files that may be such (orphan_files.c), what is in use (orphan_uses.c), and
 * folders outside the table (outside_folders.c). orphans.c puts them together, drop.c asks for files outside.
 */
#ifndef TL_TABLE_ORPHANS_H
#define TL_TABLE_ORPHANS_H

#include "table/table_private.h"

typedef struct tl_search {
    tl_fs *fs;
    const char *path;      /* the table's folder */
    tl_table *table;       /* NULL when it is dropped */
    tl_names *outside;     /* gets the paths of files outside of the table's folder; NULL: nobody asks */
    int64_t older_than_ms; /* wall clock */
    tl_orphan *items;      /* candidates; tl_orphans_free() */
    size_t n;
    size_t cap;
    tl_name_set used; /* names without folders: they are unique, and one too many only keeps a file */
} tl_search;

/** Candidates in the folders of metadata of one branch. */
tl_status tl_search__metadata(tl_search *s, const tl_paths *paths, tl_error *err);

typedef enum tl_search_area {
    TL_SEARCH_ALL,     /* everything */
    TL_SEARCH_TABLE,   /* in a table's folder: files of bucket folders, the folders of metadata left out */
    TL_SEARCH_OUTSIDE, /* elsewhere: files of bucket folders, and of folders in them (entropy-inject), that are named as this table's are */
} tl_search_area;

/** Candidates below a folder, which may be gone. */
tl_status tl_search__folder(tl_search *s, const char *dir, tl_search_area area, tl_error *err);
/** Candidates of a format table: what its writers, ours and the reference's, left under the hidden names of files that are not finished. */
tl_status tl_search__unfinished(tl_search *s, tl_error *err);
/** Names of branches besides the main one. What is left of dropped ones (branch.c) is all candidates. */
tl_status tl_search__branches(tl_search *s, tl_names *out, tl_error *err);
/** `visit` with the main branch and each of `branches`. */
tl_status tl_search__each_branch(tl_search *s, const tl_names *branches, tl_status (*visit)(tl_search *, const tl_paths *, tl_error *), tl_error *err);
/** Into s->used (and s->outside): all that the snapshots, tags and changelogs of a branch name, be it added or deleted. */
tl_status tl_search__uses(tl_search *s, const tl_paths *paths, tl_error *err);
/** Folders outside the table (`data-file.external-paths`) that a schema of a branch, old ones as well, names; some may come twice. */
tl_status tl_search__roots(tl_fs *fs, const char *table_path, const tl_names *branches, tl_names *out, tl_error *err);
/** Candidates in such folders, but for those that are another table's as well, which are told in the log. */
tl_status tl_search__outside(tl_search *s, const tl_names *branches, tl_error *err);
void tl_search__deinit(tl_search *s);

#endif
