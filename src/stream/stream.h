/*
 * Jobs: a SQL script is run; streaming INSERTs become jobs that read sources in micro-batches, change rows through incremental
 * operators and commit to lake tables, exactly once.
 *
 * What makes it exactly once: the positions of all sources ride in the properties of the snapshot that their rows went into,
 * under a commit user that belongs to the statement. A job that died is started by running the script again: it goes on behind
 * its last commit. State of operators is not stored: it is rebuilt from what the sources gave up to that position.
 */
#ifndef TL_STREAM_STREAM_H
#define TL_STREAM_STREAM_H

#include <stdio.h>

#include "sql/sql.h"

typedef struct tl_stream_report {
    int64_t rows_in;      /* from sources, by streaming jobs */
    int64_t rows_out;     /* into tables */
    int64_t commits;
    int64_t files;        /* created by the process */
    int64_t bytes_written;
    double seconds;
    int64_t peak_bytes;   /* of the process */
    int64_t jobs;
    int64_t resumed;      /* jobs that went on behind an earlier commit */
} tl_stream_report;

typedef struct tl_stream_options {
    const tl_options *vars;    /* ${NAME} in the script */
    double stop_after_idle_s;  /* end unbounded jobs when nothing was committed for so long and all input was read; < 0: never */
    FILE *out;                 /* rows of SELECT, SHOW … as JSON lines, and of print sinks; NULL: stdout */
    bool fresh;                /* forget earlier commits: every statement begins anew */
    const char *name;          /* of the job; NULL: the setting pipeline.name, else "job" */
    const volatile int *stop;  /* set to non-zero (by a signal handler): commit and end; NULL: none */
    void (*progress)(void *ctx, const tl_stream_report *so_far); /* called about twice a second; NULL: none */
    void *progress_ctx;
} tl_stream_options;

/**
 * Run a script in a session, statement by statement. INSERTs in streaming mode run beside the following statements unless
 * table.dml-sync says otherwise; all are waited for at the end. `report` (may be NULL) is also filled on failure.
 * Errors begin with the line of the statement.
 */
tl_status tl_stream_run_script(tl_sql_session *session, const char *text, size_t bytes, const tl_stream_options *options, tl_stream_report *report,
                               tl_error *err);

#endif
