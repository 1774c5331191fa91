/* The three formats of lines: their table of functions, options and types. */
#include <strings.h>

#include "base/parse.h"
#include "format/lines/lines_private.h"

/* ---- options ---- */

/* The value of a key or of its older names, which end with NULL. */
static const char *option(const tl_options *options, const char *const *names, const char *fallback)
{
    for (; options != NULL && *names != NULL; names++) {
        const char *value = tl_options_get(options, *names);
        if (value != NULL)
            return value;
    }
    return fallback;
}
#define OPTION(FALLBACK, ...) option(options, (const char *const[]){__VA_ARGS__, NULL}, FALLBACK)

/* One character, of which the first byte decides: the reference looks at the first character of a longer text, too. */
static tl_status check_special(const char *key, const char *value, tl_error *err)
{
    if (value[0] == 0 || (uint8_t)value[0] >= 0x80)
        return tl_error_set(err, TL_E_INVALID, "option '%s' = '%s': must begin with an ASCII character", key, value);
    return TL_OK;
}

static tl_status check_specials(const tl_lines_options *o, tl_error *err)
{
    TL_TRY(check_special("csv.field-delimiter", o->field_delimiter, err));
    TL_TRY(check_special("csv.quote-character", o->quote, err));
    TL_TRY(check_special("csv.escape-character", o->escape, err));
    if (o->field_delimiter[0] == o->quote[0])
        return tl_error_set(err, TL_E_INVALID, "csv: separator and quote character cannot be the same ('%c')", o->quote[0]);
    if (o->field_delimiter[0] == o->escape[0])
        return tl_error_set(err, TL_E_INVALID, "csv: separator and escape character cannot be the same ('%c')", o->escape[0]);
    if (o->quote[0] == o->escape[0])
        return tl_error_set(err, TL_E_INVALID, "csv: quote and escape character cannot be the same ('%c')", o->quote[0]);
    return TL_OK;
}

static tl_status csv_options(const tl_options *options, tl_lines_options *o, tl_error *err)
{
    o->field_delimiter = OPTION(",", "csv.field-delimiter", "field-delimiter", "seq");
    o->line_delimiter = OPTION("\n", "csv.line-delimiter", "lineSep");
    o->quote = OPTION("\"", "csv.quote-character", "quote");
    o->escape = OPTION("\\", "csv.escape-character", "escape");
    o->null_literal = OPTION("", "csv.null-literal", "nullvalue");
    const char *header = OPTION("false", "csv.include-header", "header"), *mode = OPTION("permissive", "csv.mode", "mode");
    TL_TRY(tl_error_wrap(err, tl_parse_bool(header, &o->header, err), "option 'csv.include-header'"));
    static const char *const modes[] = {"permissive", "dropmalformed", "failfast"};
    for (size_t i = 0; i < TL_ARRAY_LEN(modes); i++) {
        if (strcasecmp(mode, modes[i]) == 0) {
            o->mode = (tl_csv_mode)i;
            return check_specials(o, err);
        }
    }
    return tl_error_set(err, TL_E_INVALID, "option 'csv.mode' = '%s': must be permissive, dropmalformed or failfast", mode);
}

tl_status tl_lines__options(tl_lines_kind kind, const tl_options *options, tl_lines_options *out, tl_error *err)
{
    *out = (tl_lines_options){.line_delimiter = "\n"};
    if (kind == TL_LINES_CSV)
        TL_TRY(csv_options(options, out, err));
    if (kind == TL_LINES_TEXT)
        out->line_delimiter = OPTION("\n", "text.line-delimiter", "lineSep");
    if (kind == TL_LINES_JSON) {
        out->line_delimiter = OPTION("\n", "json.line-delimiter");
        TL_TRY(tl_error_wrap(err, tl_parse_bool(OPTION("false", "json.ignore-parse-errors"), &out->ignore_parse_errors, err),
                             "option 'json.ignore-parse-errors'"));
    }
    if (out->line_delimiter[0] == 0)
        return tl_error_set(err, TL_E_INVALID, "the line delimiter is empty");
    return TL_OK;
}

tl_status tl_lines__codec(const char *path, tl_codec *out, tl_error *err)
{
    static const struct {
        const char *extension;
        tl_codec codec;
    } known[] = {{"gz", TL_CODEC_GZIP}, {"bz2", TL_CODEC_BZIP2}, {"deflate", TL_CODEC_ZLIB}, {"zst", TL_CODEC_ZSTD}};
    const char *dot = strrchr(tl_path_base(path), '.');
    *out = TL_CODEC_NONE;
    if (dot == NULL)
        return TL_OK;
    for (size_t i = 0; i < TL_ARRAY_LEN(known); i++) {
        if (strcasecmp(dot + 1, known[i].extension) == 0)
            *out = known[i].codec;
    }
    if (strcasecmp(dot, ".snappy") == 0 || strcasecmp(dot, ".lz4") == 0)
        return tl_error_set(err, TL_E_UNSUPPORTED, "files of lines are compressed with gzip, zstd, bzip2 or deflate, not with '%s'", dot + 1);
    return TL_OK;
}

/* ---- types ---- */

/* Java: CsvFileFormat#validateDataFields, JsonFileFormat#validateDataFields. */
static bool holds(tl_lines_kind kind, const tl_type *type)
{
    if (type->kind <= TL_VARBINARY || (type->kind >= TL_DATE && type->kind <= TL_TIMESTAMP_LTZ))
        return true;
    if (kind != TL_LINES_JSON || (type->kind != TL_ARRAY && type->kind != TL_VECTOR && type->kind != TL_MAP && type->kind != TL_ROW))
        return false;
    for (int32_t i = 0; i < type->n_fields; i++) {
        if (!holds(kind, type->fields[i].type))
            return false;
    }
    return true;
}

bool tl_format_is_lines(const tl_format *format)
{
    return format == &tl_format_csv || format == &tl_format_json || format == &tl_format_text;
}

tl_status tl_lines_check_type(const tl_format *format, const tl_type *row_type, tl_error *err)
{
    if (!tl_format_is_lines(format))
        return TL_OK;
    if (format == &tl_format_text) {
        bool good = row_type->n_fields == 1 && row_type->fields[0].type->kind == TL_VARCHAR;
        return good ? TL_OK : tl_error_set(err, TL_E_INVALID, "Text format only supports a single string column");
    }
    for (int32_t i = 0; i < row_type->n_fields; i++) {
        if (!holds(format == &tl_format_csv ? TL_LINES_CSV : TL_LINES_JSON, row_type->fields[i].type))
            return tl_error_set(err, TL_E_INVALID, "Unsupported data type for %s format: column '%s'",
                                format == &tl_format_csv ? "CSV" : "JSON", row_type->fields[i].name);
    }
    return TL_OK;
}

tl_status tl_lines_check_options(const tl_format *format, const tl_options *options, tl_error *err)
{
    tl_lines_options ignored;
    if (!tl_format_is_lines(format))
        return TL_OK;
    tl_lines_kind kind = format == &tl_format_csv ? TL_LINES_CSV : format == &tl_format_json ? TL_LINES_JSON : TL_LINES_TEXT;
    return tl_lines__options(kind, options, &ignored, err);
}

/* ---- the formats ---- */

static tl_status no_schema(tl_fs *fs, const char *path, const tl_type **out, tl_error *err)
{
    (void)fs;
    (void)out;
    return tl_error_set(err, TL_E_UNSUPPORTED, "file '%s': a file of lines does not say what its columns are", tl_path_base(path));
}

static tl_status no_stats(tl_fs *fs, const char *path, const tl_type *row_type, tl_write_result *out, tl_error *err)
{
    (void)fs;
    (void)row_type;
    (void)out;
    return tl_error_set(err, TL_E_UNSUPPORTED, "file '%s': a file of lines has no statistics", tl_path_base(path));
}

#define DEFINE_FORMAT(NAME, KIND)                                                                                                \
    static tl_status NAME##_open(tl_fs *fs, const char *path, int64_t bytes, const tl_read_spec *spec, tl_reader **out, tl_error *err) \
    {                                                                                                                            \
        (void)bytes;                                                                                                             \
        return tl_lines__reader_open(KIND, fs, path, spec, out, err);                                                            \
    }                                                                                                                            \
    static tl_status NAME##_create(tl_fs *fs, const char *path, const tl_write_spec *spec, tl_file_writer **out, tl_error *err)  \
    {                                                                                                                            \
        return tl_lines__writer_create(KIND, fs, path, spec, out, err);                                                          \
    }                                                                                                                            \
    const tl_format tl_format_##NAME = {                                                                                         \
        .name = #NAME, .open = NAME##_open, .create = NAME##_create, .schema = no_schema, .stats = no_stats, .is_lossy = true,   \
    }
DEFINE_FORMAT(csv, TL_LINES_CSV);
DEFINE_FORMAT(json, TL_LINES_JSON);
DEFINE_FORMAT(text, TL_LINES_TEXT);
