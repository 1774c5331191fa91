/* Finding a format by name and by file name. */
#include "format/format.h"

#include <strings.h>

/* Extensions that name a compression of the file before them: `x.csv.gz`, `x.zstd.parquet` has none at its end. */
static const char *const codec_extensions[] = {"gz",    "gzip", "zst", "zstd",    "lz4", "snappy", "bz2",
                                               "bzip2", "xz",   "br",  "deflate", "lzo", NULL};
/* Formats that the reference has and this program has not (yet). */
static const char *const known_formats[] = {"lance", NULL};

static bool is_one_of(const char *const *list, const char *name, size_t len)
{
    for (; *list != NULL; list++)
        if (strlen(*list) == len && strncasecmp(*list, name, len) == 0)
            return true;
    return false;
}

static tl_status find(const char *name, size_t len, const tl_format **out, tl_error *err)
{
    const tl_format *const formats[] = {&tl_format_parquet, &tl_format_avro, &tl_format_orc, &tl_format_blob, &tl_format_csv, &tl_format_json, &tl_format_text};
    for (size_t i = 0; i < TL_ARRAY_LEN(formats); i++) {
        if (strlen(formats[i]->name) == len && strncasecmp(formats[i]->name, name, len) == 0) {
            *out = formats[i];
            return TL_OK;
        }
    }
    if (is_one_of(known_formats, name, len))
        return tl_error_set(err, TL_E_UNSUPPORTED, "file format '%.*s' is not supported", (int)len, name);
    return tl_error_set(err, TL_E_INVALID, "unknown file format '%.*s'", (int)len, name);
}

tl_status tl_format_find(const char *name, const tl_format **out, tl_error *err)
{
    return find(name, strlen(name), out, err);
}

tl_status tl_format_of_file(const char *file_name, const tl_format **out, tl_error *err)
{
    const char *base = tl_path_base(file_name);
    const char *end = base + strlen(base);
    for (int tries = 0; tries < 2; tries++) {
        const char *dot = end;
        while (dot > base && dot[-1] != '.')
            dot--;
        if (dot == base)
            break;
        size_t len = (size_t)(end - dot);
        if (tries == 1 || !is_one_of(codec_extensions, dot, len))
            return tl_error_wrap(err, find(dot, len, out, err), "file '%s'", base);
        end = dot - 1;
    }
    return tl_error_set(err, TL_E_INVALID, "file '%s' has no extension that names its format", base);
}
