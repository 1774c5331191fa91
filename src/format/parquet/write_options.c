/*
 * Table options -> options of the Parquet writer.
 *
 * Keys and defaults are those of parquet-mr (ParquetOutputFormat, ParquetProperties) as the reference passes them on
 * (Java: RowDataParquetBuilder, ParquetFileFormat): any `parquet.*` table option; `file.block-size` and `file.compression`
 * are Paimon's own. Options that the reference's writer knows but that have no meaning here (padding, validation, zstd
 * worker threads) are ignored.
 */
#include <strings.h>

#include "base/parse.h"
#include "format/parquet/write_private.h"

#define ROW_GROUP_BYTES_DEFAULT (INT64_C(128) << 20)
#define PAGE_BYTES_DEFAULT (INT64_C(1) << 20)
#define PAGE_ROWS_DEFAULT 20000

static tl_status option_int(const tl_options *options, const char *key, int64_t min, int64_t max, int64_t *out, tl_error *err)
{
    const char *text = options == NULL ? NULL : tl_options_get(options, key);
    if (text == NULL)
        return TL_OK;
    return tl_error_wrap(err, tl_parse_int(text, min, max, out, err), "option '%s'", key);
}

static tl_status option_bool(const tl_options *options, const char *key, bool *out, tl_error *err)
{
    const char *text = options == NULL ? NULL : tl_options_get(options, key);
    if (text == NULL)
        return TL_OK;
    return tl_error_wrap(err, tl_parse_bool(text, out, err), "option '%s'", key);
}

static tl_status option_double(const tl_options *options, const char *key, double *out, tl_error *err)
{
    const char *text = options == NULL ? NULL : tl_options_get(options, key);
    if (text == NULL)
        return TL_OK;
    return tl_error_wrap(err, tl_parse_double(text, out, err), "option '%s'", key);
}

static const struct codec_name {
    const char *name;
    tl_pq_codec codec;
    tl_codec compression;
} codec_names[] = {
    {"none", TL_PQ_UNCOMPRESSED, TL_CODEC_NONE},   {"uncompressed", TL_PQ_UNCOMPRESSED, TL_CODEC_NONE},
    {"zstd", TL_PQ_ZSTD, TL_CODEC_ZSTD},           {"snappy", TL_PQ_SNAPPY, TL_CODEC_SNAPPY},
    {"gzip", TL_PQ_GZIP, TL_CODEC_GZIP},           {"brotli", TL_PQ_BROTLI, TL_CODEC_BROTLI},
    {"lz4_raw", TL_PQ_LZ4_RAW, TL_CODEC_LZ4_RAW},  {"lz4", TL_PQ_LZ4, TL_CODEC_LZ4_HADOOP},
};

/** `parquet.compression` wins over `file.compression`. Java: CompressionCodecName#fromConf. */
static tl_status read_codec(const tl_write_spec *spec, tl_pq_write_options *out, tl_error *err)
{
    const char *name = spec->options == NULL ? NULL : tl_options_get(spec->options, "parquet.compression");
    if (name == NULL)
        name = spec->compression == NULL ? "zstd" : spec->compression;
    for (size_t i = 0; i < TL_ARRAY_LEN(codec_names); i++) {
        if (strcasecmp(codec_names[i].name, name) == 0) {
            out->codec = codec_names[i].codec;
            out->compression = codec_names[i].compression;
            return TL_OK;
        }
    }
    return tl_error_set(err, TL_E_UNSUPPORTED,
                        "compression '%s' is not available for Parquet (zstd, lz4_raw, lz4, snappy, gzip, brotli, none)", name);
}

/** Level of the codec in use; each codec has its own key in parquet-mr. */
static tl_status read_level(const tl_write_spec *spec, tl_pq_write_options *out, tl_error *err)
{
    int64_t level = -1;
    if (out->codec == TL_PQ_ZSTD) {
        level = spec->compression_level == 0 ? 1 : spec->compression_level;
        TL_TRY(option_int(spec->options, "parquet.compression.codec.zstd.level", -131072, 22, &level, err));
    } else if (out->codec == TL_PQ_GZIP) {
        level = 6;
    } else if (out->codec == TL_PQ_BROTLI) {
        level = 1;
        TL_TRY(option_int(spec->options, "compression.brotli.quality", 0, 11, &level, err));
    }
    out->level = (int)level;
    return TL_OK;
}

static tl_status read_writer_version(const tl_options *options, bool *is_v2, tl_error *err)
{
    const char *text = options == NULL ? NULL : tl_options_get(options, "parquet.writer.version");
    *is_v2 = text != NULL && (strcmp(text, "v2") == 0 || strcmp(text, "PARQUET_2_0") == 0);
    if (text != NULL && !*is_v2 && strcmp(text, "v1") != 0 && strcmp(text, "PARQUET_1_0") != 0)
        return tl_error_set(err, TL_E_INVALID, "option 'parquet.writer.version': '%s' is neither v1 nor v2", text);
    return TL_OK;
}

tl_status tl_pq__write_options(const tl_write_spec *spec, tl_pq_write_options *out, tl_error *err)
{
    tl_pq_write_options o = {
        .row_group_bytes = ROW_GROUP_BYTES_DEFAULT,
        .page_bytes = PAGE_BYTES_DEFAULT,
        .page_rows = PAGE_ROWS_DEFAULT,
        .dictionary_bytes = PAGE_BYTES_DEFAULT,
    };
    const tl_options *options = spec->options;
    TL_TRY(read_codec(spec, &o, err));
    TL_TRY(read_level(spec, &o, err));
    TL_TRY(read_writer_version(options, &o.is_v2, err));
    TL_TRY(option_int(options, "parquet.block.size", 1, INT64_MAX, &o.row_group_bytes, err));
    TL_TRY(option_int(options, "parquet.page.size", 1, INT32_MAX, &o.page_bytes, err));
    TL_TRY(option_int(options, "parquet.page.row.count.limit", 1, INT32_MAX, &o.page_rows, err));
    TL_TRY(option_int(options, "parquet.dictionary.page.size", 1, INT32_MAX, &o.dictionary_bytes, err));
    const char *block_size = options == NULL ? NULL : tl_options_get(options, "file.block-size");
    if (block_size != NULL)
        TL_TRY(tl_error_wrap(err, tl_parse_memory_bytes(block_size, &o.row_group_bytes, err), "option 'file.block-size'"));
    *out = o;
    return TL_OK;
}

/** KEY or, if it is set, KEY#PATH. */
static const char *column_key(const tl_options *options, char *column_specific, const char *key)
{
    return column_specific != NULL && tl_options_get(options, column_specific) != NULL ? column_specific : key;
}

/* Tables of many columns have small files written, and most have none of these. */
static bool has_parquet_option(const tl_options *options)
{
    for (size_t i = 0; options != NULL && i < options->count; i++) {
        if (strncmp(options->keys[i], "parquet.", 8) == 0)
            return true;
    }
    return false;
}

tl_status tl_pq__leaf_options(const tl_options *options, const char *path, tl_pq_leaf_options *out, tl_error *err)
{
    *out = (tl_pq_leaf_options){.dictionary = true, .bloom = false, .bloom_values = -1, .bloom_fpp = 0.01};
    if (!has_parquet_option(options))
        return TL_OK;
    TL_CLEANUP(tl_freep) char *dictionary = tl_strf("parquet.enable.dictionary#%s", path);
    TL_CLEANUP(tl_freep) char *bloom = tl_strf("parquet.bloom.filter.enabled#%s", path);
    TL_CLEANUP(tl_freep) char *values = tl_strf("parquet.bloom.filter.expected.ndv#%s", path);
    TL_CLEANUP(tl_freep) char *fpp = tl_strf("parquet.bloom.filter.fpp#%s", path);
    if (dictionary == NULL || bloom == NULL || values == NULL || fpp == NULL)
        return tl_nomem(err, "options of a Parquet column");
    TL_TRY(option_bool(options, column_key(options, dictionary, "parquet.enable.dictionary"), &out->dictionary, err));
    TL_TRY(option_bool(options, column_key(options, bloom, "parquet.bloom.filter.enabled"), &out->bloom, err));
    TL_TRY(option_int(options, values, 1, INT64_MAX, &out->bloom_values, err));
    TL_TRY(option_double(options, fpp, &out->bloom_fpp, err));
    if (!(out->bloom_fpp > 0.0 && out->bloom_fpp < 1.0))
        return tl_error_set(err, TL_E_INVALID, "option '%s': must be greater than 0 and less than 1", fpp);
    return TL_OK;
}
