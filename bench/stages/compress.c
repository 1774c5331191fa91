/* Codecs over a page of each of two kinds: numbers of a column that repeat in part, and random text, of which six bits of eight count. */
#include <stdio.h>

#include "format/format.h"
#include "stage.h"

#define PAGE_BYTES (1 << 20)

typedef struct work {
    tl_codec codec;
    tl_compressor *compressor;
    tl_bytes_view page;
    tl_buf packed;
    uint8_t *out;
} work;

static void compress(void *ctx)
{
    work *w = ctx;
    w->packed.len = 0;
    check(tl_compress(w->compressor, w->page, &w->packed, &err));
}

static void decompress(void *ctx)
{
    work *w = ctx;
    check(tl_decompress(w->codec, (tl_bytes_view){w->packed.data, w->packed.len}, w->out, w->page.len, &err));
}

static void of_codec(const char *name, tl_codec codec, int level, const char *page_name, tl_bytes_view page)
{
    char what[64];
    work w = {.codec = codec, .page = page, .out = malloc(PAGE_BYTES)};
    check(tl_compressor_create(codec, level, &w.compressor, &err));
    compress(&w);
    snprintf(what, sizeof what, "%s, %s, to %d%%", name, page_name, (int)(w.packed.len * 100 / page.len));
    stage_run("compress", what, compress, &w, PAGE_BYTES / 8, PAGE_BYTES);
    stage_run("decompress", what, decompress, &w, PAGE_BYTES / 8, PAGE_BYTES);
    tl_compressor_free(w.compressor);
    tl_buf_deinit(&w.packed);
    free(w.out);
}

void stage_compress(void)
{
    static const struct {
        const char *name;
        tl_codec codec;
        int level;
    } codecs[] = {{"zstd 1", TL_CODEC_ZSTD, 1}, {"zstd 3", TL_CODEC_ZSTD, 3}, {"lz4", TL_CODEC_LZ4_RAW, 0}, {"snappy", TL_CODEC_SNAPPY, 0}, {"gzip", TL_CODEC_GZIP, 6}};
    uint8_t *numbers = malloc(PAGE_BYTES), *text = malloc(PAGE_BYTES);
    for (int i = 0; i < PAGE_BYTES / 8; i++) {
        tl_write_le64(numbers + i * 8, mix((uint64_t)i) % 100000);
        for (int k = 0; k < 8; k++)
            text[i * 8 + k] = (uint8_t)(48 + (mix((uint64_t)i) >> (8 * k) & 63));
    }
    for (size_t i = 0; i < TL_ARRAY_LEN(codecs); i++) {
        of_codec(codecs[i].name, codecs[i].codec, codecs[i].level, "numbers", (tl_bytes_view){numbers, PAGE_BYTES});
        of_codec(codecs[i].name, codecs[i].codec, codecs[i].level, "random text", (tl_bytes_view){text, PAGE_BYTES});
    }
    free(numbers);
    free(text);
}
