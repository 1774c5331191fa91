/* Inside this room: a file that is read piece by piece, in place where it can be mapped. */
#ifndef TL_FORMAT_INPUT_H
#define TL_FORMAT_INPUT_H

#include "format/format.h"

typedef struct tl_format__input {
    tl_fs *fs;          /* ref held */
    char *path;
    tl_file *file;
    int64_t bytes;
    const uint8_t *map; /* all of it, or NULL */
} tl_format__input;

/** Open a file. `bytes` is the size that is expected, <= 0: the file system knows it. After an error there is nothing to close. */
tl_status tl_format__input_open(tl_fs *fs, const char *path, int64_t bytes, tl_format__input *out, tl_error *err);
/** TL_E_CORRUPT: the file is shorter than the smallest `what` ("Parquet file"), or does not have the size that was expected (<= 0: any). */
tl_status tl_format__input_check(const tl_format__input *in, int64_t bytes, int64_t bytes_min, const char *what, tl_error *err);
void tl_format__input_close(tl_format__input *in); /* zeroed is fine */
/** Bytes of the file; *owned (tl_free) is NULL where it is mapped: then they are not counted as read, which is for who looks at them. */
tl_status tl_format__input_piece(const tl_format__input *in, int64_t offset, int64_t bytes, tl_bytes_view *out, uint8_t **owned,
                                 tl_error *err);

#endif
