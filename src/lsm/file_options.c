/*
 * How files of a level are written: format, compression, statistics (format reference §5, §8; Java: KeyValueFileWriterFactory,
 * StatsCollectorFactories). `….per.level` options name levels one by one; `changelog-file.…` options go before both.
 */
#include "lsm/lsm_private.h"

#include <strings.h>

#include "base/parse.h"

/* ---- option values ---- */

static const char *option_or(const tl_options *options, const char *key, const char *otherwise)
{
    const char *text = tl_options_get(options, key);
    return text == NULL ? otherwise : text;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static tl_bytes_view trim(const char *from, const char *to)
{
    while (from < to && is_blank(*from))
        from++;
    while (to > from && is_blank(to[-1]))
        to--;
    return (tl_bytes_view){(const uint8_t *)from, (size_t)(to - from)};
}

/* Value of `level` in "0:a,3:b"; *out stays where the level is not named. The copy is kept in the arena of the layout. */
static tl_status per_level(tl_lsm_config *config, const char *key, int32_t level, const char **out, tl_error *err)
{
    const char *text = tl_options_get(&config->schema->options, key);
    while (text != NULL && *text != 0) {
        const char *end = strchrnul(text, ','), *colon = memchr(text, ':', (size_t)(end - text));
        if (colon == NULL)
            return tl_error_set(err, TL_E_INVALID, "option '%s': '%.*s' is not LEVEL:VALUE", key, (int)(end - text), text);
        tl_bytes_view name = trim(text, colon), value = trim(colon + 1, end);
        char *level_text = tl_arena_strndup(&config->layout->arena, (const char *)name.data, name.len);
        char *value_text = tl_arena_strndup(&config->layout->arena, (const char *)value.data, value.len);
        int64_t number = 0;
        if (level_text == NULL || value_text == NULL)
            return tl_nomem(err, "options");
        TL_TRY(tl_error_wrap(err, tl_parse_int(level_text, 0, INT32_MAX, &number, err), "option '%s'", key));
        if (number == level)
            *out = value_text;
        text = *end == 0 ? NULL : end + 1;
    }
    return TL_OK;
}

tl_status tl_lsm__find_format(const char *name, const tl_format **out, tl_error *err)
{
    char lower[16];
    size_t n = 0;
    for (; name[n] != 0 && n + 1 < sizeof lower; n++)
        lower[n] = (char)(name[n] >= 'A' && name[n] <= 'Z' ? name[n] - 'A' + 'a' : name[n]);
    lower[n] = 0;
    return tl_format_find(lower, out, err);
}

tl_status tl_lsm__check_format(const tl_lsm_config *config, const tl_format *format, tl_error *err)
{
    bool by_place = format == &tl_format_csv || format == &tl_format_text;
    if (by_place && (config->n_keys > 0 || config->row_tracking))
        return tl_error_set(err, TL_E_UNSUPPORTED,
                            "files of format '%s' cannot hold the columns that a table with %s has beside its own (the reference reads other "
                            "values than it wrote): use another 'file.format'",
                            format->name, config->n_keys > 0 ? "a primary key" : "row tracking");
    return TL_OK;
}

/* ---- statistics ---- */

static bool is_key_column(const tl_lsm_config *config, int32_t column)
{
    for (int32_t k = 0; k < config->n_keys; k++) {
        if (config->key_idx[k] == column)
            return true;
    }
    return false;
}

/* System columns, and in thin mode the keys, keep long statistics whatever the mode; formats whose statistics are gathered know no such exception. `column`: of
 * the table, if it is one of its. */
static bool is_system_column(const tl_lsm_config *config, const tl_format *format, const tl_field *field, int32_t column)
{
    if (format == &tl_format_avro || tl_format_is_lines(format))
        return false;
    return column < 0 || field->id >= TL_LSM__KEY_FIELD_ID_START || (config->thin_mode && is_key_column(config, column));
}

static tl_status field_mode(const tl_lsm_config *config, const char *name, bool *set, tl_stats_spec *out, tl_error *err)
{
    char *key = tl_strf("fields.%s.stats-mode", name);
    if (key == NULL)
        return tl_nomem(err, "options");
    const char *text = tl_options_get(&config->schema->options, key);
    *set = text != NULL;
    tl_status status = text == NULL ? TL_OK : tl_error_wrap(err, tl_stats_spec_parse(text, out, err), "option '%s'", key);
    tl_free(key);
    return status;
}

tl_status tl_lsm__make_stats(const tl_lsm_config *config, const tl_type *file_type, int32_t first_value, tl_lsm__file_options *out,
                             tl_error *err)
{
    tl_stats_spec table_spec = {TL_STATS_TRUNCATE, 16};
    TL_TRY(tl_error_wrap(err, tl_stats_spec_parse(out->stats_mode, &table_spec, err), "option 'metadata.stats-mode'"));
    out->any_stats = false;
    int32_t counted = 0;
    for (int32_t i = 0; i < file_type->n_fields; i++) {
        bool set = false;
        TL_TRY(field_mode(config, file_type->fields[i].name, &set, &out->stats[i], err));
        if (!set && is_system_column(config, out->format, &file_type->fields[i], i - first_value)) {
            out->stats[i] = (tl_stats_spec){TL_STATS_TRUNCATE, TL_LSM__SYSTEM_STATS_TRUNCATE};
        } else {
            bool beyond = config->stats_first_columns >= 0 && counted >= config->stats_first_columns;
            if (!set)
                out->stats[i] = beyond ? (tl_stats_spec){TL_STATS_NONE, 0} : table_spec;
            counted++;
        }
        out->any_stats |= out->stats[i].mode != TL_STATS_NONE;
    }
    return TL_OK;
}

/* ---- options of one level ---- */

static tl_status make_options(tl_lsm_config *config, int32_t level, bool changelog, tl_lsm__file_options *out, tl_error *err)
{
    const tl_options *options = &config->schema->options;
    const char *format = option_or(options, "file.format", "parquet");
    const char *mode = option_or(options, "metadata.stats-mode", "truncate(16)");
    *out = (tl_lsm__file_options){.level = level, .changelog = changelog, .compression = config->compression};
    TL_TRY(per_level(config, "file.format.per.level", level, &format, err));
    TL_TRY(per_level(config, "file.compression.per.level", level, &out->compression, err));
    TL_TRY(per_level(config, "metadata.stats-mode.per.level", level, &mode, err));
    if (changelog) {
        format = option_or(options, "changelog-file.format", format);
        out->compression = option_or(options, "changelog-file.compression", out->compression);
        mode = option_or(options, "changelog-file.stats-mode", mode);
    }
    TL_TRY(tl_lsm__find_format(format, &out->format, err));
    TL_TRY(tl_lsm__check_format(config, out->format, err));
    out->stats_mode = mode;
    out->stats = tl_arena_calloc(&config->layout->arena, (size_t)config->layout->n_file_cols + 1, sizeof(*out->stats));
    if (out->stats == NULL)
        return tl_nomem(err, "options");
    return tl_lsm__make_stats(config, config->layout->file_type, config->layout->first_value, out, err);
}

tl_status tl_lsm__file_options_of(tl_lsm_config *config, int32_t level, bool changelog, const tl_lsm__file_options **out,
                                  tl_error *err)
{
    tl_lsm__layout *layout = config->layout;
    tl_lsm__file_options *found = NULL;
    tl_status status = TL_OK;
    pthread_mutex_lock(&layout->lock);
    for (found = layout->file_options; found != NULL; found = found->next) {
        if (found->level == level && found->changelog == changelog)
            break;
    }
    if (found == NULL) {
        found = tl_arena_alloc(&layout->arena, sizeof(*found));
        status = found == NULL ? tl_nomem(err, "options") : make_options(config, level, changelog, found, err);
        if (status == TL_OK) {
            found->next = layout->file_options;
            layout->file_options = found;
        }
    }
    pthread_mutex_unlock(&layout->lock);
    if (status == TL_OK)
        *out = found;
    return status;
}
