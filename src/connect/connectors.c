/* The tables of connectors and formats, and the checks of options that are made when a table is opened, as in Flink. */
#include "connect/connect_private.h"

const tl_format_def tl_connect__formats[] = {
    {"json", false, tl_connect__json_decoder},
    {"csv", false, tl_connect__csv_decoder},
    {"raw", false, tl_connect__raw_decoder},
    {"debezium-json", true, tl_connect__change_decoder},
    {"canal-json", true, tl_connect__change_decoder},
    {"maxwell-json", true, tl_connect__change_decoder},
    {"ogg-json", true, tl_connect__change_decoder},
};
const size_t tl_connect__n_formats = TL_ARRAY_LEN(tl_connect__formats);

/* Of every table. */
static const char *const table_options[] = {"property-version", "scan.watermark.*", NULL};
static const char *const files_options[] = {"connector", "path", "format", "source.monitor-interval", "source.path.regex-pattern",
                                            "source.report-statistics", "partition.default-name", "partition.time-extractor.*", "sink.*",
                                            "auto-compaction", "compaction.file-size", "compaction.parallelism", NULL};
static const char *const datagen_options[] = {"connector", "rows-per-second", "number-of-rows", "scan.parallelism", "fields.*", NULL};
static const char *const print_options[] = {"connector", "print-identifier", "standard-error", "sink.parallelism", NULL};
static const char *const blackhole_options[] = {"connector", NULL};

static const tl_connector_def connectors[] = {
    {"filesystem", files_options, true, tl_connect__files_bounded, tl_connect__files_source, tl_connect__files_sink},
    {"datagen", datagen_options, false, tl_connect__datagen_bounded, tl_connect__datagen_source, NULL},
    {"print", print_options, false, NULL, NULL, tl_connect__print_sink},
    {"blackhole", blackhole_options, false, NULL, NULL, tl_connect__blackhole_sink},
};

static tl_status unknown(const char *what, const char *name, const char *known, tl_error *err)
{
    return tl_error_set(err, TL_E_INVALID, "unknown %s '%s'; known are %s", what, name, known);
}

static tl_status find_connector(const tl_connector_spec *spec, const tl_connector_def **out, tl_error *err)
{
    const char *name = tl_options_get(spec->options, "connector");
    if (name == NULL)
        return tl_error_set(err, TL_E_INVALID, "the table has no option 'connector'");
    for (size_t i = 0; i < TL_ARRAY_LEN(connectors); i++) {
        if (strcmp(connectors[i].name, name) == 0) {
            *out = &connectors[i];
            return TL_OK;
        }
    }
    return unknown("connector", name, "filesystem, datagen, print, blackhole", err);
}

tl_status tl_connect__format(const tl_connector_spec *spec, const tl_format_def **out, tl_error *err)
{
    const char *name = tl_options_get(spec->options, "format");
    if (name == NULL)
        return tl_error_set(err, TL_E_INVALID, "the table has no option 'format'");
    for (size_t i = 0; i < tl_connect__n_formats; i++) {
        if (strcmp(tl_connect__formats[i].name, name) == 0) {
            *out = &tl_connect__formats[i];
            return TL_OK;
        }
    }
    return unknown("format", name, "json, csv, raw, debezium-json, canal-json, maxwell-json, ogg-json", err);
}

tl_status tl_connect__pattern(const tl_options *options, const char *key, pcre2_code **out, tl_error *err)
{
    const char *text = tl_options_get(options, key);
    if (text == NULL)
        return TL_OK;
    int code;
    PCRE2_SIZE at;
    *out = pcre2_compile((PCRE2_SPTR)text, PCRE2_ZERO_TERMINATED, PCRE2_UTF | PCRE2_ANCHORED | PCRE2_ENDANCHORED, &code, &at, NULL);
    return *out != NULL ? TL_OK : tl_error_set(err, TL_E_INVALID, "option '%s' is '%s', which is no regular expression (byte %zu)", key, text, (size_t)at);
}

bool tl_connect__matches(const pcre2_code *pattern, tl_bytes_view text)
{
    pcre2_match_data *data = pcre2_match_data_create(1, NULL);
    bool matches = data != NULL && pcre2_match(pattern, text.data, text.len, 0, 0, data, NULL) >= 0;
    pcre2_match_data_free(data);
    return matches;
}

static bool is_known(const char *const *known, const char *key)
{
    for (; *known != NULL; known++) {
        size_t len = strlen(*known);
        bool prefix = (*known)[len - 1] == '*';
        if (prefix ? strncmp(*known, key, len - 1) == 0 : strcmp(*known, key) == 0)
            return true;
    }
    return false;
}

tl_status tl_connector_validate(const tl_connector_spec *spec, tl_error *err)
{
    const tl_connector_def *connector;
    const tl_format_def *format = NULL;
    TL_TRY(find_connector(spec, &connector, err));
    if (connector->has_format)
        TL_TRY(tl_connect__format(spec, &format, err));
    for (size_t i = 0; i < spec->options->count; i++) {
        const char *key = spec->options->keys[i];
        size_t prefix = format == NULL ? 0 : strlen(format->name);
        bool of_format = prefix > 0 && strncmp(key, format->name, prefix) == 0 && key[prefix] == '.';
        /* Flink does not check options of formats: unknown ones do nothing. */
        if (!of_format && !is_known(connector->options, key) && !is_known(table_options, key))
            return tl_error_set(err, TL_E_INVALID, "connector '%s' has no option '%s'", connector->name, key);
    }
    if (format != NULL) { /* the decoder checks the values */
        tl_file_columns columns;
        tl_decoder *decoder = NULL;
        tl_connector_spec of_records = *spec;
        tl_status status = tl_connect__file_columns_init(&columns, spec, err);
        of_records.row_type = columns.record_type;
        if (status == TL_OK)
            status = format->create(&of_records, &decoder, err);
        if (status == TL_OK)
            decoder->ops->free(decoder);
        tl_connect__file_columns_deinit(&columns);
        return status;
    }
    return TL_OK;
}

tl_status tl_connector_is_bounded(const tl_connector_spec *spec, bool *bounded, tl_error *err)
{
    const tl_connector_def *connector;
    TL_TRY(find_connector(spec, &connector, err));
    if (connector->open_source == NULL)
        return tl_error_set(err, TL_E_INVALID, "connector '%s' cannot be read", connector->name);
    *bounded = connector->is_bounded(spec);
    return TL_OK;
}

bool tl_connector_has_changes(const tl_connector_spec *spec)
{
    const tl_connector_def *connector;
    const tl_format_def *format;
    return find_connector(spec, &connector, NULL) == TL_OK && connector->has_format && tl_connect__format(spec, &format, NULL) == TL_OK && format->changes;
}

static tl_status open_source(const tl_connector_spec *spec, const char *position, bool history, tl_source **out, tl_error *err)
{
    const tl_connector_def *connector;
    TL_TRY(find_connector(spec, &connector, err));
    if (connector->open_source == NULL)
        return tl_error_set(err, TL_E_INVALID, "connector '%s' cannot be read", connector->name);
    TL_TRY(tl_connector_validate(spec, err));
    return connector->open_source(spec, position, history, out, err);
}

tl_status tl_source_open(const tl_connector_spec *spec, const char *position, tl_source **out, tl_error *err)
{
    return open_source(spec, position, /* history= */ false, out, err);
}

tl_status tl_source_open_history(const tl_connector_spec *spec, const char *position, tl_source **out, tl_error *err)
{
    return open_source(spec, position, /* history= */ true, out, err);
}

tl_status tl_sink_open(const tl_connector_spec *spec, FILE *out_file, tl_sink **out, tl_error *err)
{
    const tl_connector_def *connector;
    TL_TRY(find_connector(spec, &connector, err));
    if (connector->open_sink == NULL)
        return tl_error_set(err, TL_E_INVALID, "connector '%s' cannot be written", connector->name);
    TL_TRY(tl_connector_validate(spec, err));
    return connector->open_sink(spec, out_file, out, err);
}
