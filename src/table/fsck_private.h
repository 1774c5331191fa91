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

/** Add a line to the report. */
tl_status tl_fsck__problem(tl_fsck__check *c, tl_error *err, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/** *out is true the first time that this name of this kind is asked for. */
tl_status tl_fsck__first_time(tl_fsck__check *c, const char *kind, const char *name, bool *out, tl_error *err);
/** A failure to read as a problem of the table, unless memory ran out or the feature is not there. */
tl_status tl_fsck__failed(tl_fsck__check *c, tl_status status, const tl_error *cause, const char *what, tl_error *err);
tl_status tl_fsck__check_size(tl_fsck__check *c, const char *path, const char *name, int64_t bytes, tl_error *err);
/** Index files of the snapshot, whose live data files are given. */
tl_status tl_fsck__check_indexes(tl_fsck__check *c, const tl_snapshot *snap, const tl_entries *live, tl_error *err);

#endif
