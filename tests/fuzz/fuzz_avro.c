/* The Avro reader: any bytes that begin as such a file does; others are a recipe for a file that must be read as it was written. */
#include "fuzz/file_any.h"
#include "fuzz/file_round_trip.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const codecs[] = {"null", "zstd", "snappy", "deflate"};
    static const char *const options[] = {"file.block-size", "100 b", "20 kb", NULL, NULL};
    if (size >= 3 && memcmp(data, "Obj", 3) == 0)
        any_file(&tl_format_avro, data, size);
    else
        recipe_run(&tl_format_avro, codecs, TL_ARRAY_LEN(codecs), options, (input){data, size});
    return 0;
}
