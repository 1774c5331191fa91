/*
 * The merging reader: sorted runs in, groups of equal keys collected, each output batch merged column by column.
 *
 * Batches of the inputs stay alive while groups of the next output refer to them (`sources`). There are two ways to collect
 * groups: keys that are numbers are taken in rounds (collect_rounds.c), others come one by one out of a loser tree
 * (collect_tree.c). Where the output is one stretch of an input batch, it ends with that batch and is a slice of it.
 */
#ifndef TL_MERGE_READER_PRIVATE_H
#define TL_MERGE_READER_PRIVATE_H

#include "merge/loser_tree.h"
#include "merge/merge_private.h"

#define MERGE_NO_SOURCE UINT32_MAX

/* One input and its current batch. */
typedef struct merge_run {
    tl_reader *reader;
    int32_t level;
    tl_batch *batch; /* NULL: at the end */
    tl_keys *keys;
    uint32_t row;    /* the next one (rounds) */
    uint32_t source; /* its number among the sources of the output, MERGE_NO_SOURCE: not referred to */
} merge_run;

/* A batch that groups of the output refer to. */
typedef struct merge_source {
    tl_batch *batch;
    tl_keys *keys;
    uint32_t run;
    bool retired; /* its run has gone on: freed after the output is built */
} merge_source;

/* Working memory of a round: rows of several runs. */
typedef struct merge_round {
    uint64_t *keys;
    tl_rowref *refs;
    uint32_t *order;
    uint32_t *starts;
    uint32_t cap;
    uint32_t *limits; /* by run: end of its part */
} merge_round;

typedef struct merge_reader {
    tl_reader base;
    tl_merge_engine *engine;
    int32_t *key_idx;
    int32_t n_keys;
    bool drop_deletes;
    bool buffer_order;
    bool has_form; /* some batch was seen */
    bool is_fixed; /* keys are numbers */
    bool runs_in_order; /* records of a later run come after those of an earlier one */
    uint32_t batch_rows;
    tl_group_hook hook;         /* merge NULL: none */
    const tl_column **key_cols; /* scratch */
    uint32_t n_runs;
    merge_run *runs;
    bool started;
    /* loser tree */
    loser_tree tree;
    uint32_t *tree_scratch;
    const tl_keys *group_keys; /* key of the group being collected */
    uint32_t group_row;
    uint32_t wins; /* in a row, of the run last_run */
    uint32_t last_run;
    /* rounds */
    merge_round round;
    /* the output being collected */
    merge_source *sources;
    const tl_batch **source_batches;
    int32_t *source_levels;
    uint32_t n_sources, cap_sources;
    tl_rowref *refs;
    uint32_t n_refs, cap_refs;
    uint32_t *starts; /* batch_rows + 1 */
    uint32_t n_groups;
} merge_reader;

/** The run's next batch that has rows; leaves batch NULL at the end. */
tl_status tl_merge__load_batch(merge_reader *m, merge_run *r, tl_error *err);
/** Make the run's batch a source of the output. */
tl_status tl_merge__use_source(merge_reader *m, merge_run *r, tl_error *err);
tl_status tl_merge__reserve_refs(merge_reader *m, uint32_t extra, tl_error *err);
/** The groups so far are one stretch up to the end of an input batch: worth an output of their own, which is a slice. */
bool tl_merge__ends_as_slice(const merge_reader *m);
/** Rows from `row` on that differ from their neighbours, so that each is a group of its own; the last one is not counted. */
uint32_t tl_merge__count_unique(const tl_keys *keys, uint32_t row, uint32_t end);
/** Rows row..row+n of the run as a group each. */
tl_status tl_merge__add_stretch(merge_reader *m, merge_run *r, uint32_t row, uint32_t n, tl_error *err);
/** Whether the group that starts at refs[from], whose records come in the order of the runs, is in merge order by that. */
static inline bool merge_group_in_order(const merge_reader *m, uint32_t from)
{
    bool ordered = m->runs_in_order;
    for (uint32_t i = from + 1; i < m->n_refs && ordered; i++)
        ordered = m->sources[m->refs[i].src].run != m->sources[m->refs[i - 1].src].run; /* within a run they may be in any order */
    return ordered;
}
/** Put the records of the group that starts at refs[from] into merge order. */
static inline tl_status merge_order_group(merge_reader *m, uint32_t from, tl_error *err)
{
    return tl_merge__order_records(m->engine, m->buffer_order, m->source_batches, m->refs + from, m->n_refs - from, err);
}

/** Collect groups until the output is full or the inputs are at their end. All runs have their first batch. */
void tl_merge__start_tree(merge_reader *m);
tl_status tl_merge__collect_tree(merge_reader *m, tl_error *err);
tl_status tl_merge__collect_rounds(merge_reader *m, tl_error *err);

#endif
