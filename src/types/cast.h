/*
 * Casts of stored values whose column got another type: what the reference does when it reads old files (Java: CastExecutors,
 * SchemaEvolutionUtil). The local time zone is UTC.
 */
#ifndef TL_TYPES_CAST_H
#define TL_TYPES_CAST_H

#include "types/column.h"

/** Whether values of `from` can be read as `to`: there is a rule, or the types are equal but for nullability. Types as a whole:
 * fields of ROWs are matched by evolve.h. */
bool tl_cast_exists(const tl_type *from, const tl_type *to);

/** What a cast keeps of the values: decides what filters and statistics may still say about the old ones. */
typedef enum tl_cast_effect {
    TL_CAST_NOTHING, /* the same bytes under another type: only tl_column_retype() */
    TL_CAST_WIDENS,  /* integers to wider integers: no two values become equal, none changes place */
    TL_CAST_CHANGES  /* anything else */
} tl_cast_effect;
tl_cast_effect tl_cast_effect_of(const tl_type *from, const tl_type *to);

/**
 * The column's values as `to`. NULL stays NULL; a decimal that does not fit becomes NULL; TL_E_INVALID names a text that is no value
 * of the type, TL_E_UNSUPPORTED a pair without a rule.
 */
tl_status tl_cast_stored(const tl_column *from, const tl_type *to, tl_column **out, tl_error *err);

#endif
