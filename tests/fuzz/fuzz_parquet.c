/* The Parquet reader: any bytes that begin as such a file does; others are a recipe for a file that must be read as it was written. */
#include "fuzz/file_any.h"
#include "fuzz/file_round_trip.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const codecs[] = {"none", "zstd", "snappy", "lz4", "gzip"};
    static const char *const options[] = {"parquet.page.row.count.limit", "1", "20", "1000", NULL, "parquet.block.size", "100", "20000", NULL,
                                          "parquet.enable.dictionary", "false", NULL, "parquet.writer.version", "v2", NULL,
                                          "parquet.page.size", "64", NULL,
                                          /* Per column: for each column that is given no number the default makes a filter of a megabyte a row group. */
                                          "parquet.bloom.filter.enabled#c0", "true", NULL, "!parquet.bloom.filter.expected.ndv#c0", "1", "50", "200", NULL,
                                          "parquet.bloom.filter.enabled#c1", "true", NULL, "!parquet.bloom.filter.expected.ndv#c1", "1", "50", "200", NULL,
                                          "parquet.bloom.filter.enabled#c0.list.element", "true", NULL,
                                          "!parquet.bloom.filter.expected.ndv#c0.list.element", "50", NULL, NULL};
    if (size >= 4 && memcmp(data, "PAR1", 4) == 0)
        any_file(&tl_format_parquet, data, size);
    else
        recipe_run(&tl_format_parquet, codecs, TL_ARRAY_LEN(codecs), options, (input){data, size});
    return 0;
}
