/* tl_format_orc: ORC data files as batches. */
#include "format/orc/orc_private.h"

/* Lossy in the second before 1970: see wall_seconds() in read_column.c. */
const tl_format tl_format_orc = {
    .name = "orc",
    .open = tl_orc__open,
    .create = tl_orc__create,
    .schema = tl_orc__schema,
    .stats = tl_orc__stats,
    .is_lossy = true,
};
