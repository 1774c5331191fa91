/*
 * Blob files: the values of one BLOB column (format reference §9.4; Java: BlobFormatWriter, BlobFileMeta). All little-endian:
 *
 *   records, one after the other, none for a NULL:
 *     int32 magic, the value's bytes, int64 length of the whole record, int32 CRC-32 of all before it
 *   index: lengths of the records as zigzag varints of differences (the first from 0), -1 for a NULL
 *   int32 bytes of the index, int8 version 1
 */
#ifndef TL_FORMAT_BLOB_PRIVATE_H
#define TL_FORMAT_BLOB_PRIVATE_H

#include "base/bits.h"
#include "format/format.h"

#define TL_BLOB__MAGIC 1481511375
#define TL_BLOB__VERSION 1
#define TL_BLOB__HEAD_BYTES 4  /* magic */
#define TL_BLOB__TAIL_BYTES 12 /* length and checksum */
#define TL_BLOB__FRAME_BYTES (TL_BLOB__HEAD_BYTES + TL_BLOB__TAIL_BYTES)
#define TL_BLOB__END_BYTES 5 /* size of the index, version */
#define TL_BLOB__NULL (-1)   /* length of a record that is not there */

tl_status tl_blob__open(tl_fs *fs, const char *path, int64_t bytes, const tl_read_spec *spec, tl_reader **out, tl_error *err);
tl_status tl_blob__create(tl_fs *fs, const char *path, const tl_write_spec *spec, tl_file_writer **out, tl_error *err);

#endif
