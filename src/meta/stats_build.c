/*
 * SimpleStats of a data file from its writer's statistics, under `metadata.stats-mode` (format reference §5, "Modes").
 * Java: SimpleStatsConverter, TruncateSimpleColStatsCollector, NoneSimpleColStatsCollector.
 */
#include "meta/meta_private.h"

#include <stdlib.h>
#include <strings.h>

#include "types/builder.h"

tl_status tl_stats_spec_parse(const char *text, tl_stats_spec *out, tl_error *err)
{
    static const char *const plain[] = {[TL_STATS_NONE] = "none", [TL_STATS_COUNTS] = "counts", [TL_STATS_FULL] = "full"};
    for (tl_stats_mode mode = TL_STATS_NONE; mode <= TL_STATS_FULL; mode++) {
        if (plain[mode] != NULL && strcasecmp(text, plain[mode]) == 0) {
            *out = (tl_stats_spec){.mode = mode};
            return TL_OK;
        }
    }
    char *end = NULL;
    if (strncasecmp(text, "truncate(", 9) == 0 && text[9] >= '0' && text[9] <= '9') {
        long long n = strtoll(text + 9, &end, 10);
        if (strcmp(end, ")") == 0 && n > 0 && n <= INT32_MAX) {
            *out = (tl_stats_spec){.mode = TL_STATS_TRUNCATE, .truncate = (int32_t)n};
            return TL_OK;
        }
    }
    return tl_error_set(err, TL_E_INVALID, "statistics mode '%s': expected none, counts, full or truncate(N)", text);
}

/* ---- truncation, in code points ---- */

/* Bytes of the first `n` code points; the whole length if there are no more. */
static size_t prefix_bytes(tl_bytes_view text, int32_t n)
{
    size_t at = 0;
    while (n > 0 && at < text.len) {
        at++;
        while (at < text.len && (text.data[at] & 0xc0) == 0x80)
            at++;
        n--;
    }
    return at;
}

static uint32_t decode_utf8(const uint8_t *p, size_t len)
{
    static const uint8_t lead_bits[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    uint32_t c = p[0] & lead_bits[TL_MIN(len, 4)];
    for (size_t i = 1; i < len && i < 4; i++)
        c = c << 6 | (p[i] & 0x3f);
    return c;
}

static size_t encode_utf8(uint32_t c, uint8_t out[4])
{
    if (c < 0x80) {
        out[0] = (uint8_t)c;
        return 1;
    }
    size_t n = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (size_t i = n - 1; i > 0; i--, c >>= 6)
        out[i] = (uint8_t)(0x80 | (c & 0x3f));
    out[0] = (uint8_t)(c | (n == 2 ? 0xc0 : n == 3 ? 0xe0 : 0xf0));
    return n;
}

/*
 * Least text of at most `n` code points that is above all texts beginning with the first `n` of `text`: its last code point
 * that has a successor is raised, and what follows dropped. False if there is none. The reference raises U+D7FF to a lone
 * surrogate, which its encoder turns into '?', a wrong bound; the next character is taken here.
 */
static tl_status successor(tl_bytes_view text, int32_t n, tl_buf *out, bool *found)
{
    size_t end = prefix_bytes(text, n);
    *found = false;
    while (end > 0) {
        size_t start = end - 1;
        while (start > 0 && (text.data[start] & 0xc0) == 0x80)
            start--;
        uint32_t next = decode_utf8(text.data + start, end - start) + 1;
        if (next == 0xd800)
            next = 0xe000;
        if (next <= 0x10ffff) {
            uint8_t utf8[4];
            size_t len = encode_utf8(next, utf8);
            *found = true;
            TL_TRY(tl_buf_append(out, text.data, start));
            return tl_buf_append(out, utf8, len);
        }
        end = start;
    }
    return TL_OK;
}

/* ---- one column ---- */

typedef struct column_bounds {
    tl_column *rows; /* two: min and max, null if unknown */
    int64_t null_count;
    bool none; /* nothing known: left out in dense mode */
} column_bounds;

static bool is_text(const tl_type *type)
{
    return type->kind == TL_CHAR || type->kind == TL_VARCHAR;
}

/* Types whose values the reference can compare. */
static bool is_comparable(const tl_type *type)
{
    return type->kind <= TL_VARCHAR || (type->kind >= TL_DATE && type->kind <= TL_TIMESTAMP_LTZ);
}

static tl_status append_truncated(tl_builder *builder, const tl_column_stats *stats, int32_t n, tl_buf *scratch)
{
    tl_bytes_view min = tl_col_bytes(stats->min, 0), max = tl_col_bytes(stats->max, 0);
    scratch->len = 0;
    if (prefix_bytes(max, n) < max.len) {
        bool found;
        TL_TRY(successor(max, n, scratch, &found));
        if (!found) { /* no upper bound: then the reference stores none at all */
            TL_TRY(tl_builder_null(builder));
            return tl_builder_null(builder);
        }
        max = (tl_bytes_view){scratch->data, scratch->len};
    }
    TL_TRY(tl_builder_bytes(builder, min.data, prefix_bytes(min, n)));
    return tl_builder_bytes(builder, max.data, max.len);
}

static tl_status append_bound(tl_builder *builder, const tl_column *bound)
{
    return bound == NULL || tl_col_is_null(bound, 0) ? tl_builder_null(builder) : tl_builder_copy(builder, bound, 0);
}

static tl_status append_bounds(tl_builder *builder, const tl_column_stats *stats, const tl_stats_spec *spec, tl_buf *scratch)
{
    bool has_min = stats->min != NULL && !tl_col_is_null(stats->min, 0),
         has_max = stats->max != NULL && !tl_col_is_null(stats->max, 0);
    bool truncate = spec->mode == TL_STATS_TRUNCATE;
    if (truncate && !(has_min && has_max)) {
        TL_TRY(tl_builder_null(builder));
        return tl_builder_null(builder);
    }
    if (truncate && is_text(stats->min->type))
        return append_truncated(builder, stats, spec->truncate, scratch);
    TL_TRY(append_bound(builder, stats->min));
    return append_bound(builder, stats->max);
}

static tl_status build_column(const tl_type *type, const tl_column_stats *stats, const tl_stats_spec *spec, tl_buf *scratch,
                              column_bounds *out, tl_error *err)
{
    bool with_bounds = (spec->mode == TL_STATS_TRUNCATE || spec->mode == TL_STATS_FULL) && is_comparable(type);
    out->null_count = spec->mode == TL_STATS_NONE ? -1 : stats->null_count;
    TL_CLEANUP(tl_type_unrefp) const tl_type *nullable = NULL;
    TL_TRY(tl_type_with_nullable(type, true, &nullable, err));
    if (!with_bounds || (stats->min == NULL && stats->max == NULL)) {
        out->none = out->null_count < 0;
        return tl_column_nulls(nullable, 2, &out->rows, err);
    }
    tl_builder *builder;
    TL_TRY(tl_builder_create(nullable, &builder, err));
    tl_status status = append_bounds(builder, stats, spec, scratch);
    if (status != TL_OK)
        status = tl_nomem(err, "statistics");
    else
        status = tl_builder_finish(builder, &out->rows, err);
    tl_builder_free(builder);
    out->none = status == TL_OK && out->null_count < 0 && out->rows->null_count == 2;
    return status;
}

/* ---- all columns ---- */

/* Names of the columns that are kept. */
static tl_status kept_names(const char *const *names, const column_bounds *columns, int32_t n, int32_t n_kept, char ***out,
                            tl_error *err)
{
    char **kept = tl_calloc((size_t)n_kept + 1, sizeof *kept);
    if (kept == NULL)
        return tl_nomem(err, "statistics");
    int32_t k = 0;
    for (int32_t i = 0; i < n; i++) {
        if (columns[i].none)
            continue;
        if ((kept[k++] = tl_strdup(names[i])) == NULL) {
            tl_names_free(kept, (size_t)k);
            return tl_nomem(err, "statistics");
        }
    }
    *out = kept;
    return TL_OK;
}

static tl_status encode(const column_bounds *columns, int32_t n, int32_t n_kept, bool dense, tl_simple_stats *out,
                        tl_error *err)
{
    tl_column **bounds = tl_calloc((size_t)n_kept + 1, sizeof(tl_column *));
    out->null_counts = tl_calloc((size_t)n_kept + 1, sizeof *out->null_counts);
    tl_status status = bounds == NULL || out->null_counts == NULL ? tl_nomem(err, "statistics") : TL_OK;
    for (int32_t i = 0; i < n && status == TL_OK; i++) {
        if (dense && columns[i].none)
            continue;
        bounds[out->n] = columns[i].rows; /* borrowed */
        out->null_counts[out->n++] = columns[i].null_count;
    }
    if (status == TL_OK)
        status = tl_meta__encode_bounds(bounds, n_kept, out, err);
    tl_free(bounds);
    return status;
}

static tl_status build_columns(const tl_type *const *types, const tl_column_stats *stats, const tl_stats_spec *specs, int32_t n,
                               column_bounds *columns, tl_error *err)
{
    tl_buf scratch = {0};
    tl_status status = TL_OK;
    for (int32_t i = 0; i < n && status == TL_OK; i++)
        status = build_column(types[i], &stats[i], &specs[i], &scratch, &columns[i], err);
    tl_buf_deinit(&scratch);
    return status;
}

tl_status tl_simple_stats_build(const tl_type *const *types, const char *const *names, const tl_column_stats *stats,
                                const tl_stats_spec *specs, int32_t n, bool dense, tl_simple_stats *out, char ***cols,
                                int32_t *n_cols, tl_error *err)
{
    column_bounds *columns = tl_calloc((size_t)n + 1, sizeof *columns);
    if (columns == NULL)
        return tl_nomem(err, "statistics");
    tl_simple_stats built = {0};
    char **kept = NULL;
    int32_t n_kept = 0;
    tl_status status = build_columns(types, stats, specs, n, columns, err);
    for (int32_t i = 0; i < n; i++)
        n_kept += !dense || !columns[i].none;
    if (status == TL_OK)
        status = encode(columns, n, n_kept, dense, &built, err);
    if (status == TL_OK && n_kept < n)
        status = kept_names(names, columns, n, n_kept, &kept, err);
    for (int32_t i = 0; i < n; i++)
        tl_column_unref(columns[i].rows);
    tl_free(columns);
    if (status != TL_OK) {
        tl_simple_stats_deinit(&built);
        return status;
    }
    *out = built;
    if (dense) {
        *cols = kept;
        *n_cols = n_kept < n ? n_kept : -1;
    }
    return TL_OK;
}
