/*
 * Micro-benchmarks of single stages: what one loop costs a row, when nothing around it does.
 *
 * A stage makes its data first and hands stage_run() a function; the line that comes out has nanoseconds of CPU time a row and bytes a
 * cycle (of the time stamp counter, whose rate is measured; `bytes` are those that go in).
 */
#ifndef TL_BENCH_STAGE_H
#define TL_BENCH_STAGE_H

#include <stdlib.h>

#include "../mix.h"
#include "types/builder.h"

#define STAGE_ROWS TL_BATCH_ROWS

/** The error of the last call: hand it to every call, and the call's status to check(). */
extern tl_error err;
/** Ends the program with the error's text unless `status` is TL_OK. */
void check(tl_status status);

const tl_type *type_of(const char *text);

/** What a column is filled with: one of `distinct` values (0: each row its own), some of them NULL; `sorted`: rising. */
typedef struct values {
    uint64_t distinct;
    int null_percent;
    bool sorted;
} values;

/** Value number `v` of a type: text of about 12 to 40 bytes, numbers over the type's usual range. Nested types get 0 to 4 elements. */
void append_value(tl_builder *builder, const tl_type *type, uint64_t v);
/** `rows` values from row `from` on. */
tl_column *make_column(const tl_type *type, values how, int64_t from, int64_t rows);
/** Columns of a ROW type; `how` for all but NOT NULL ones, which get no NULLs. */
tl_batch *make_batch(const tl_type *row_type, values how, int64_t from, int64_t rows);
/** Bytes of the buffers of a batch that rows need. */
int64_t batch_bytes(const tl_batch *batch);

/** Only stages whose line holds one of the words of the command line are run: whether this one is. Look before making data. */
bool is_wanted(const char *stage, const char *what);
/** Time `fn`, which treats `rows` rows and reads `bytes` bytes, again and again; best of five. */
void stage_run(const char *stage, const char *what, void (*fn)(void *ctx), void *ctx, int64_t rows, int64_t bytes);

/* The stages, one file each. */
void stage_columns(void);
void stage_keys(void);
void stage_merge(void);
void stage_parquet(void);
void stage_compress(void);
void stage_lookup(void);

#endif
