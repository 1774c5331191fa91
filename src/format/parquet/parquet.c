/* Parquet as a file format: the reader is in read_*.c, the writer in write_*.c. */
#include "format/parquet/parquet_private.h"

const tl_format tl_format_parquet = {"parquet", tl_pq__open, tl_pq__create, tl_pq__schema, tl_pq__stats};
