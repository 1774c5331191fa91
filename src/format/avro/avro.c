/* tl_format_avro: Avro data files as batches. */
#include "format/avro/avro_private.h"

const tl_format tl_format_avro = {
    .name = "avro",
    .open = tl_avro__reader_open,
    .create = tl_avro__writer_create,
    .schema = tl_avro__file_type,
    .stats = tl_avro__file_stats,
};
