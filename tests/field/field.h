/*
 * Field cases: histories that went wrong for users of table stores, written down once and run in every variant of their kind.
 * README.md tells the form of the case files.
 */
#ifndef TL_TESTS_FIELD_H
#define TL_TESTS_FIELD_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tidelake/tidelake.h>

#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"

#define FIELD_LIST_MAX 64
#define FIELD_STEPS_MAX 96

/* Values that an axis can have; what the case says narrows it. */
typedef struct axis {
    const char *name;
    int n;
    const char *values[8];
} axis;

enum { AXIS_FORMAT, AXIS_BUCKET, AXIS_STAGE, AXIS_COMMITS, AXIS_MORE, AXES_MAX = 8 };

typedef struct step {
    int line;
    const char *fails; /* part of the message that it must fail with; NULL: it must work */
    const char *verb;
    const char *rest;
} step;

typedef struct field_case {
    const char *file, *name;
    int line;
    int n_columns;
    const char *columns[FIELD_LIST_MAX];
    const char *types[FIELD_LIST_MAX];
    const char *key, *partition; /* names, comma-separated; NULL: none */
    int n_options;
    const char *options[FIELD_LIST_MAX]; /* K=V */
    int n_axes;
    axis axes[AXES_MAX];
    int n_steps;
    step steps[FIELD_STEPS_MAX];
} field_case;

/** Read a case file; ends the program with file and line when it cannot. Cases live in `arena`. */
int field_parse(tl_arena *arena, const char *path, field_case *cases, int cases_max);

/** Rows as the text of their cells. */
typedef struct cells {
    int kind;         /* +I -U +U -D as 0..3 */
    int64_t snapshot; /* of a changelog; 0 otherwise */
    int n;
    const char **text; /* JSON */
} cells;

typedef struct rowset {
    int n_columns;
    const char **names;
    size_t n, cap;
    cells *rows;
} rowset;

typedef struct reading {
    const char *columns; /* comma-separated; NULL: all */
    const char *where;
    int64_t batch_rows;
    int threads;
    int kinds;
    int n_options;
    tidelake_option options[8];
} reading;

/** One case in one variant. */
typedef struct run {
    const field_case *c;
    const char *values[AXES_MAX];
    tl_arena arena;
    const char *folder;
    tidelake_lake *lake;
    tidelake_session *session; /* NULL until a step needs it */
    const char *pending;       /* rows that wait for the next step but a write; NULL: none */
    rowset expected;           /* of the last `rows` step without conditions */
    bool has_expected;
    int writer_count;
    struct {
        const char *name;
        tidelake_table *table;
        tidelake_writer *writer;
        tidelake_bytes *messages;
        size_t n_messages;
    } writers[4];
    tl_error err;
} run;

/** All as TL_E_… with a message in run->err. */
tl_status field_open_table(run *r, const char *suffix, const tidelake_option *options, int n, tidelake_table **out);
tl_status field_rows_text(run *r, tidelake_rows *rows, bool kinds, rowset *out);
/** "[1,\"a\"] -D[2,null]" by the given columns. */
tl_status field_parse_rows(run *r, const char *text, int n_columns, rowset *out);
tl_status field_read(run *r, const char *suffix, const reading *how, rowset *out);
tl_status field_compare(run *r, const rowset *wanted, const rowset *got, const char *what);
/** That the table holds `wanted`, by every projection and filter. */
tl_status field_check_everywhere(run *r, const rowset *wanted);
tl_status field_check_fsck(run *r);
/** Replaying the changes from the first snapshot gives `wanted`. */
tl_status field_check_replay(run *r, const rowset *wanted);
tl_status field_changes(run *r, const char *options, rowset *out);
tl_status field_step(run *r, const step *s);
tl_status field_create(run *r);
/** Commit rows that wait. */
tl_status field_settle(run *r);
void field_close_writers(run *r);
/** Cut at commas outside brackets, parentheses, quotes; at most `max` pieces, trimmed, in the arena. */
int field_split(tl_arena *arena, const char *text, char separator, const char **out, int max);
/** All pieces, however many. */
int field_split_all(tl_arena *arena, const char *text, char separator, const char ***out);

#endif
