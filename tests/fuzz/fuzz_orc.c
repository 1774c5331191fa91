/* The ORC reader: any bytes that begin as such a file does; others are a recipe for a file that must be read as it was written. */
#include "fuzz/file_any.h"
#include "fuzz/file_round_trip.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const codecs[] = {"none", "zstd", "snappy", "lz4", "zlib"};
    static const char *const options[] = {"orc.stripe.size", "1 kb", "40 kb", NULL, "orc.bloom.filter.columns", "c0", "c0,c1,c2,c3,c4,c5", NULL,
                                          "orc.dictionary.key.threshold", "0", "1", NULL, NULL};
    if (size >= 3 && memcmp(data, "ORC", 3) == 0)
        any_file(&tl_format_orc, data, size);
    else
        recipe_run(&tl_format_orc, codecs, TL_ARRAY_LEN(codecs), options, (input){data, size});
    return 0;
}
