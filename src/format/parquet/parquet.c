/* Parquet as a file format: the reader is in read_*.c, the writer in write_*.c. */
#include "format/parquet/parquet_private.h"

const tl_format tl_format_parquet = {
    .name = "parquet",
    .open = tl_pq__open,
    .create = tl_pq__create,
    .schema = tl_pq__schema,
    .stats = tl_pq__stats,
};
