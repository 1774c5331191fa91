/* tl_format_orc: ORC data files as batches. */
#include "format/orc/orc_private.h"

tl_status tl_orc__create(tl_fs *fs, const char *path, const tl_write_spec *spec, tl_file_writer **out, tl_error *err)
{
    (void)fs, (void)spec, (void)out;
    return tl_error_set(err, TL_E_UNSUPPORTED, "writing of ORC file '%s'", path);
}

const tl_format tl_format_orc = {.name = "orc", .open = tl_orc__open, .create = tl_orc__create, .schema = tl_orc__schema};
