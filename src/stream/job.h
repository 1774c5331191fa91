/*
 * Jobs: one statement's INSERTs, grouped by the table they write. Private to stream/.
 *
 * A sink group is the unit of exactly-once: its pipelines share one writer, and one commit holds rows and source positions of
 * all of them. Each group has a thread of its own.
 */
#ifndef TL_STREAM_JOB_H
#define TL_STREAM_JOB_H

#include <pthread.h>
#include <stdatomic.h>

#include "stream/op.h"

/** What all jobs of a script share. */
typedef struct tl_run {
    const tl_stream_options *options;
    tl_sql_session *session;
    tl_fs *fs;
    tl_pool *pool; /* background compaction */
    FILE *out;
    pthread_mutex_t out_lock; /* guards `out` */
    atomic_bool stop;         /* commit what is there and end */
    _Atomic int64_t last_commit_ns;
    _Atomic int64_t rows_in, rows_out, commits;
    int64_t jobs, resumed;    /* of the main thread */
} tl_run;

typedef struct tl_sink_group tl_sink_group;

/** Positions of a group's leaves: what a commit stores and a restart reads. */
typedef struct tl_job_state {
    int64_t identifier; /* of the commit; 0: none */
    char *positions;    /* JSON: per pipeline a list of its leaves' positions; NULL: none */
    char *pending;      /* JSON: partitions that are to be marked done (tl_idle_partitions_text()); NULL: none */
} tl_job_state;

/** The newest state of a commit user: from its last snapshot, or the file beside the table where that has expired. */
tl_status tl_job_state_load(tl_table *table, const char *user, tl_job_state *out, tl_error *err);
tl_status tl_job_state_save(tl_table *table, const char *user, const tl_job_state *state, tl_error *err);
void tl_job_state_deinit(tl_job_state *state);
/** Key of the snapshot property that holds the positions. */
#define TL_JOB_POSITIONS_PROPERTY "tidelake.positions"
#define TL_JOB_PENDING_PROPERTY "tidelake.pending-partitions"

/** `sinks`: SINK plans with one and the same table; `user`: commit user (copied). Builds, recovers, does not start. */
tl_status tl_sink_group_create(tl_run *run, const tl_plan *const *sinks, int32_t n, const char *user, tl_sink_group **out, tl_error *err);
/** A SELECT in streaming mode: its changes are printed as JSON lines. */
tl_status tl_sink_group_create_query(tl_run *run, const tl_plan *plan, tl_sink_group **out, tl_error *err);
tl_status tl_sink_group_start(tl_sink_group *group, tl_error *err);
/** Everything read so far is committed and nothing is to be read now, or the group has ended. */
bool tl_sink_group_is_quiet(const tl_sink_group *group);
bool tl_sink_group_has_ended(const tl_sink_group *group);
bool tl_sink_group_was_resumed(const tl_sink_group *group);
/** Wait for its thread; its failure. */
tl_status tl_sink_group_join(tl_sink_group *group, tl_error *err);
void tl_sink_group_free(tl_sink_group *group);

#endif
