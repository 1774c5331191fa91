/* The Parquet reader: any bytes that begin as such a file does; others are a recipe for a file that must be read as it was written. */
#include "fuzz/file_any.h"
#include "fuzz/file_round_trip.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const codecs[] = {"none", "zstd", "snappy", "lz4", "gzip"};
    static const char *const options[] = {"parquet.page.row.count.limit", "1", "20", "1000", NULL, "parquet.block.size", "100", "20000", NULL,
                                          "parquet.enable.dictionary", "false", NULL, "parquet.writer.version", "v2", NULL,
                                          "parquet.bloom.filter.enabled", "true", NULL, "parquet.page.size", "64", NULL,
                                          /* the default makes a filter of a megabyte for each column and row group */
                                          "!parquet.bloom.filter.expected.ndv", "1", "50", "3000", NULL, NULL};
    if (size >= 4 && memcmp(data, "PAR1", 4) == 0)
        any_file(&tl_format_parquet, data, size);
    else
        recipe_run(&tl_format_parquet, codecs, TL_ARRAY_LEN(codecs), options, (input){data, size});
    return 0;
}
