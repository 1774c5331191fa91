/*
 * Source 'datagen': rows made of sequences or random values (generated.h). Options as in Flink: rows-per-second (10000), number-of-rows, and
 * those of columns.
 *
 * Row n is a function of n and of the moment at which the first row came: a resumed source goes on with exactly the rows that would have
 * come, and rows that were can be had again. Times are therefore those at which a row is due, not those at which it is made. A batch query
 * gets its rows at once. Position: {"row":N,"origin":MS}.
 */
#include <stdlib.h>

#include "base/parse.h"
#include "connect/generated.h"

typedef struct datagen_source {
    tl_source base;
    const tl_type *type;
    tl_generated *columns;
    tl_buf text;
    tl_row_buffer rows;
    int64_t row;  /* next */
    int64_t end;  /* INT64_MAX: unbounded */
    int64_t rate; /* rows per second */
    bool at_once; /* not held back to that */
    int64_t start_ns;
    int64_t start_row;
    int64_t origin_ms; /* wall clock of row 0 */
} datagen_source;

static int64_t rows_due(const datagen_source *s)
{
    double seconds = (double)(tl_monotonic_ns() - s->start_ns) / 1e9, rows = (double)s->start_row + seconds * (double)s->rate + 1;
    return s->at_once || rows > 9e18 ? INT64_MAX : (int64_t)rows;
}

static tl_status datagen_next(tl_source *source, int64_t max_rows, tl_batch **out, tl_source_state *state, tl_error *err)
{
    datagen_source *s = (datagen_source *)source;
    *out = NULL;
    int64_t to = TL_MIN(TL_MIN(s->end, rows_due(s)), s->row + max_rows);
    for (; s->row < to; s->row++) {
        int64_t due_ms = s->origin_ms + (int64_t)((double)s->row * 1000 / (double)s->rate);
        for (int32_t c = 0; c < s->type->n_fields; c++) {
            tl_status status = tl_generated_add(&s->columns[c], s->row, c, due_ms, &s->text, s->rows.builders[c]);
            TL_TRY(tl_builder_error(s->rows.builders[c], status, err));
        }
        TL_TRY(tl_connect__rows_end(&s->rows, TL_KIND_INSERT, err));
    }
    if (s->rows.n > 0) {
        *state = TL_SOURCE_ROWS;
        return tl_connect__rows_finish(&s->rows, out, err);
    }
    *state = s->row >= s->end ? TL_SOURCE_END : TL_SOURCE_IDLE;
    return TL_OK;
}

static tl_status datagen_position(const tl_source *source, tl_buf *out)
{
    const datagen_source *s = (const datagen_source *)source;
    return tl_buf_appendf(out, "{\"row\":%lld,\"origin\":%lld}", (long long)s->row, (long long)s->origin_ms);
}

static void datagen_free(tl_source *source)
{
    datagen_source *s = (datagen_source *)source;
    tl_connect__rows_deinit(&s->rows);
    for (int32_t c = 0; s->columns != NULL && c < s->type->n_fields; c++)
        tl_generated_deinit(&s->columns[c]);
    tl_free(s->columns);
    tl_buf_deinit(&s->text);
    tl_free(s);
}

/* ---- options ---- */

static tl_status number_option(const tl_options *options, const char *key, int64_t least, int64_t *out, tl_error *err)
{
    const char *text = tl_options_get(options, key);
    return text == NULL ? TL_OK : tl_error_wrap(err, tl_parse_int(text, least, INT64_MAX, out, err), "option '%s'", key);
}

static tl_status check_used(const tl_options *options, const tl_map *used, tl_error *err)
{
    for (size_t i = 0; i < options->count; i++) {
        const char *key = options->keys[i];
        if (strncmp(key, "fields.", strlen("fields.")) == 0 && tl_map_get(used, key, strlen(key)) == NULL)
            return tl_error_set(err, TL_E_INVALID, "connector 'datagen': unknown option '%s': there is no such column, or its type or kind has no such option", key);
    }
    return TL_OK;
}

static tl_status init_columns(datagen_source *s, const tl_options *options, tl_map *used, tl_error *err)
{
    s->columns = tl_calloc((size_t)s->type->n_fields + 1, sizeof *s->columns);
    if (s->columns == NULL)
        return tl_nomem(err, "source");
    for (int32_t c = 0; c < s->type->n_fields; c++) {
        tl_generated *gen = &s->columns[c];
        TL_TRY(tl_generated_init(gen, s->type->fields[c].name, s->type->fields[c].type, options, used, err));
        if (gen->is_sequence) /* the source ends with its shortest sequence */
            s->end = TL_MIN(s->end, gen->max - gen->min + 1);
    }
    return check_used(options, used, err);
}

/* A position of earlier versions has no origin. */
static tl_status go_on(datagen_source *s, const char *position, tl_error *err)
{
    if (position != NULL && sscanf(position, "{\"row\":%ld,\"origin\":%ld", &s->row, &s->origin_ms) < 1)
        return tl_error_set(err, TL_E_CORRUPT, "connector 'datagen': bad position '%s'", position);
    return s->row < 0 ? tl_error_set(err, TL_E_CORRUPT, "connector 'datagen': bad position '%s'", position) : TL_OK;
}

static tl_status init(datagen_source *s, const tl_connector_spec *spec, const char *position, bool history, tl_error *err)
{
    tl_map used = {0};
    s->end = INT64_MAX;
    s->rate = 10000;
    s->origin_ms = tl_clock_now_ms(spec->clock == NULL ? tl_clock_system() : spec->clock);
    TL_TRY(number_option(spec->options, "number-of-rows", 0, &s->end, err));
    TL_TRY(number_option(spec->options, "rows-per-second", 1, &s->rate, err));
    tl_status status = init_columns(s, spec->options, &used, err);
    tl_map_deinit(&used);
    TL_TRY(status);
    TL_TRY(tl_connect__rows_init(&s->rows, s->type, err));
    TL_TRY(go_on(s, position, err));
    s->at_once = history || spec->at_once; /* rows that have been are there */
    if (history) {
        s->end = TL_MIN(s->end, s->row);
        s->row = 0;
    }
    s->start_row = s->row;
    s->start_ns = tl_monotonic_ns();
    return TL_OK;
}

bool tl_connect__datagen_bounded(const tl_connector_spec *spec)
{
    if (tl_options_get(spec->options, "number-of-rows") != NULL)
        return true;
    for (int32_t c = 0; c < spec->row_type->n_fields; c++) {
        char key[300];
        int n = snprintf(key, sizeof key, "fields.%s.kind", spec->row_type->fields[c].name);
        const char *kind = n < (int)sizeof key ? tl_options_get(spec->options, key) : NULL;
        if (kind != NULL && strcmp(kind, "sequence") == 0)
            return true;
    }
    return false;
}

tl_status tl_connect__datagen_source(const tl_connector_spec *spec, const char *position, bool history, tl_source **out, tl_error *err)
{
    static const tl_source_ops ops = {datagen_next, datagen_position, datagen_free};
    datagen_source *s = tl_calloc(1, sizeof *s);
    if (s == NULL)
        return tl_nomem(err, "source");
    s->base.ops = &ops;
    s->type = spec->row_type;
    tl_status status = init(s, spec, position, history, err);
    if (status != TL_OK) {
        datagen_free(&s->base);
        return status;
    }
    *out = &s->base;
    return TL_OK;
}
