/* tl_format_avro: Avro data files. */
#include "format/avro/avro_private.h"

static tl_status avro_open(tl_fs *fs, const char *path, int64_t bytes, const tl_read_spec *spec, tl_reader **out, tl_error *err)
{
    (void)fs, (void)bytes, (void)spec, (void)out;
    return tl_error_set(err, TL_E_UNSUPPORTED, "file '%s': Avro data files", tl_path_base(path));
}

static tl_status avro_create(tl_fs *fs, const char *path, const tl_write_spec *spec, tl_file_writer **out, tl_error *err)
{
    (void)fs, (void)spec, (void)out;
    return tl_error_set(err, TL_E_UNSUPPORTED, "file '%s': Avro data files", tl_path_base(path));
}

const tl_format tl_format_avro = {.name = "avro", .open = avro_open, .create = avro_create};
