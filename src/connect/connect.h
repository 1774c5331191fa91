/*
 * Connectors: sources and sinks outside the lake, as Flink's CREATE TABLE … WITH ('connector' = …) names them.
 *
 *   filesystem  files of JSON lines, CSV or change events (source; followed with source.monitor-interval), JSON or CSV (sink)
 *   datagen     generated rows (source)
 *   print       rows on standard output; blackhole: nowhere (sinks)
 *
 * A source can be stopped after any batch and resumed elsewhere from its position: a text that the caller stores with what it
 * committed. connect/ knows no table, no job and no clock of its own.
 */
#ifndef TL_CONNECT_CONNECT_H
#define TL_CONNECT_CONNECT_H

#include <stdio.h>

#include "base/map.h"
#include "base/thread.h"
#include "io/io.h"
#include "types/column.h"

/** A connector table: what its columns are and its WITH options (hints laid over). All borrowed; they outlive the source or sink. */
typedef struct tl_connector_spec {
    tl_fs *fs;
    const tl_type *row_type;
    const tl_options *options;
    const char *const *metadata_keys; /* per column of row_type: the key that it is read from; NULL entries: a stored column. NULL: none */
    const int32_t *partition_key;     /* columns of row_type that are folders `column=value` and not in the files */
    int32_t n_partition_key;
    const tl_clock *clock; /* NULL: the system's */
    bool overwrite;        /* sinks: INSERT OVERWRITE */
    bool at_once;          /* sources: a batch query, whose rows are not held back to a rate */
} tl_connector_spec;

/** Check connector, format and options, as opening does: unknown ones are TL_E_INVALID with what is known. */
tl_status tl_connector_validate(const tl_connector_spec *spec, tl_error *err);
/** Whether the connector can be read, and whether it ends by itself. */
tl_status tl_connector_is_bounded(const tl_connector_spec *spec, bool *bounded, tl_error *err);
/** Whether rows may carry other kinds than +I (change formats). */
bool tl_connector_has_changes(const tl_connector_spec *spec);

/* ---- sources ---- */

typedef enum tl_source_state {
    TL_SOURCE_ROWS, /* a batch was given */
    TL_SOURCE_IDLE, /* nothing now; more may come */
    TL_SOURCE_END
} tl_source_state;

typedef struct tl_source tl_source;
typedef struct tl_source_ops {
    tl_status (*next)(tl_source *source, int64_t max_rows, tl_batch **out, tl_source_state *state, tl_error *err);
    tl_status (*position)(const tl_source *source, tl_buf *out);
    void (*free)(tl_source *source);
} tl_source_ops;
struct tl_source {
    const tl_source_ops *ops;
};

/** `position` as tl_source_position() gave it, or NULL for the beginning. */
tl_status tl_source_open(const tl_connector_spec *spec, const char *position, tl_source **out, tl_error *err);
/** A bounded source of the rows that came before `position`, in no promised order of files: for rebuilding state. */
tl_status tl_source_open_history(const tl_connector_spec *spec, const char *position, tl_source **out, tl_error *err);
/** At most about max_rows rows with row kinds; *out is NULL unless the state is TL_SOURCE_ROWS. Does not wait. */
static inline tl_status tl_source_next(tl_source *source, int64_t max_rows, tl_batch **out, tl_source_state *state, tl_error *err)
{
    return source->ops->next(source, max_rows, out, state, err);
}
/** Position behind the last batch, one line of JSON; appended to `out`. */
static inline tl_status tl_source_position(const tl_source *source, tl_buf *out)
{
    return source->ops->position(source, out);
}
static inline void tl_source_free(tl_source *source)
{
    if (source != NULL)
        source->ops->free(source);
}

/* ---- sinks ---- */

typedef struct tl_sink tl_sink;
typedef struct tl_sink_ops {
    tl_status (*write)(tl_sink *sink, const tl_batch *batch, tl_error *err);
    tl_status (*flush)(tl_sink *sink, tl_error *err); /* make visible what was written: at checkpoints and at the end */
    void (*free)(tl_sink *sink);
} tl_sink_ops;
struct tl_sink {
    const tl_sink_ops *ops;
};

/** `out_file`: where `print` prints (NULL: stdout). */
tl_status tl_sink_open(const tl_connector_spec *spec, FILE *out_file, tl_sink **out, tl_error *err);
static inline tl_status tl_sink_write(tl_sink *sink, const tl_batch *batch, tl_error *err)
{
    return sink->ops->write(sink, batch, err);
}
static inline tl_status tl_sink_flush(tl_sink *sink, tl_error *err)
{
    return sink->ops->flush(sink, err);
}
static inline void tl_sink_free(tl_sink *sink)
{
    if (sink != NULL)
        sink->ops->free(sink);
}

#endif
