/* Inside this room: the loop of readers that decode a batch whole and then leave out the rows that do not pass. */
#ifndef TL_FORMAT_PASSING_H
#define TL_FORMAT_PASSING_H

#include "format/format.h"

/** The next batch before any filter: NULL at the end. The caller's. */
typedef tl_status (*tl_format__fill)(tl_reader *reader, tl_batch **out, tl_error *err);

/**
 * The next batch of which a row passes `predicate` (NULL: any batch, an empty one is skipped); NULL at the end. Errors name the
 * file `name`.
 */
tl_status tl_format__next_passing(tl_reader *reader, tl_format__fill fill, const tl_predicate *predicate, const char *name, tl_batch **out,
                                  tl_error *err);

#endif
