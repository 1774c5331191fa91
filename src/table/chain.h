/*
 * Chain tables: a partition that neither the table nor its snapshot branch has is put together from the newest earlier partition of the
 * snapshot branch, its anchor, and the partitions of the delta branch from there on. Java: ChainGroupReadTable.
 */
#ifndef TL_TABLE_CHAIN_H
#define TL_TABLE_CHAIN_H

#include "table/table_private.h"

typedef enum tl_chain_role {
    TL_CHAIN_NONE,
    TL_CHAIN_UNFINISHED, /* a chain table whose options do not name both branches yet: it reads its own rows and cannot be written */
    TL_CHAIN_READER,     /* neither of its branches: what is read as a chain */
    TL_CHAIN_SNAPSHOT,
    TL_CHAIN_DELTA,
} tl_chain_role;
tl_chain_role tl_chain__role(const tl_table *table);

/** Open the branches of a READER: table->other reads what is chained; table->anchors is the snapshot branch. Branches that are not there are
 * told when rows are asked for, so that they can be made. */
tl_status tl_chain__open(tl_table *table, const tl_options *dynamic, tl_error *err);
/** Splits of all partitions that the branches have between them, but for those of `complete`. */
tl_status tl_chain__plan(tl_table *table, const tl_predicate *pred, const tl_map *complete, tl_pool *pool, tl_splits *out, tl_error *err);
/** The files of a chained split with the paths that they lie at; `table` is the one that reads them. */
tl_status tl_chain__files(const tl_table *table, const tl_split *split, tl_file_list *out, tl_error *err);
/** Say where a split's files lie, which makes it a chained one. */
tl_status tl_chain__place(const tl_table *owner, const char *branch, tl_split *split, tl_error *err);

/** Partitions by value, nulls first: their first `n` columns. */
int tl_chain__compare(const tl_batch *a, const tl_batch *b, int32_t n);
bool tl_chain__has_null(const tl_batch *partition);

/* ---- partitions in time (chain_time.c) ---- */

typedef struct tl_chain_time {
    bool known;
    bool regular; /* a whole day or hour, called as the options call that time */
    int64_t local_ms;
} tl_chain_time;
/** Of the last `n_chain` partition columns, those of the chain. */
tl_status tl_chain__time_of(const tl_table *table, const tl_batch *partition, int32_t n_chain, tl_chain_time *out, tl_error *err);
/** Whether the delta partition of time `t` counts between an anchor (exclusive) and `to` (inclusive), all ordered by value already. */
bool tl_chain__between(const tl_chain_time *anchor, const tl_chain_time *t, const tl_chain_time *to, int32_t n_chain);
/** How many partition columns, the last ones, make the chain; the others are those of its group. */
int32_t tl_chain__columns(const tl_table *table);

/* ---- what a commit to a branch of a chain table must heed (chain_commit.c) ---- */

/** An OVERWRITE that takes away what other partitions are read from: TL_E_CONFLICT. `delta`: its changes. */
tl_status tl_chain__check_overwrite(tl_table *table, const tl_entries *delta, tl_error *err);
/** After an OVERWRITE of the delta branch: what the snapshot branch has of these partitions is no longer true and goes. */
tl_status tl_chain__after_overwrite(tl_table *table, const char *user, const tl_map *partitions, tl_error *err);

#endif
