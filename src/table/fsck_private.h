/* What the files of fsck share. */
#ifndef TL_TABLE_FSCK_PRIVATE_H
#define TL_TABLE_FSCK_PRIVATE_H

#include "table/table_private.h"

typedef struct tl_fsck__check {
    tl_table *table;
    tl_fsck_report *report;
    tl_map seen; /* "m:", "l:", "f:", "i:" and a name: checked already */
    size_t cap;
} tl_fsck__check;

/** A file's statistics while its rows are seen. */
typedef struct tl_fsck__stats {
    bool is_on; /* false: nothing is compared */
    tl_bounds bounds;
    int64_t *nulls;  /* of each column */
    int32_t outside; /* the first column with a value outside of its bounds, plus 1; 0: none */
} tl_fsck__stats;
/** Statistics that cannot be decoded are TL_E_CORRUPT. */
tl_status tl_fsck__stats_open(const tl_table *table, const tl_data_file *file, tl_fsck__stats *out, tl_error *err);
void tl_fsck__stats_see(tl_fsck__stats *s, const tl_batch *batch);
tl_status tl_fsck__stats_compare(tl_fsck__check *c, const tl_fsck__stats *s, const char *where, tl_error *err);
void tl_fsck__stats_deinit(tl_fsck__stats *s);

/** Add a line to the report. */
tl_status tl_fsck__problem(tl_fsck__check *c, tl_error *err, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/** *out is true the first time that this name of this kind is asked for. */
tl_status tl_fsck__first_time(tl_fsck__check *c, const char *kind, const char *name, bool *out, tl_error *err);
/** A failure to read as a problem of the table, unless memory ran out or the feature is not there. */
tl_status tl_fsck__failed(tl_fsck__check *c, tl_status status, const tl_error *cause, const char *what, tl_error *err);
tl_status tl_fsck__check_size(tl_fsck__check *c, const char *path, const char *name, int64_t bytes, tl_error *err);
/** The changelog of all snapshots leads from each state to the next, where it tells everything. */
tl_status tl_fsck__check_changes(tl_fsck__check *c, tl_error *err);
/** Of dynamic buckets: each key's hash is in the index of its bucket, and in no other of its partition. */
tl_status tl_fsck__check_hashes(tl_fsck__check *c, const tl_index_entries *indexes, const tl_entries *live, tl_error *err);
/** Index files of the snapshot, whose live data files are given. */
tl_status tl_fsck__check_indexes(tl_fsck__check *c, const tl_snapshot *snap, const tl_entries *live, tl_error *err);

#endif
