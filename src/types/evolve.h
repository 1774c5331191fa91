/*
 * Columns of an older (or newer) schema as columns of this one. Fields of ROWs, also inside ARRAYs and MAPs, belong together by
 * their ids, whatever their names and places; values are cast where types differ (cast.h), absent fields are NULL. Planned once for
 * a pair of types. Java: SchemaEvolutionUtil, FormatReaderMapping.
 */
#ifndef TL_TYPES_EVOLVE_H
#define TL_TYPES_EVOLVE_H

#include "types/cast.h"
#include "types/predicate.h"

/** How one column is read; immutable. */
typedef struct tl_evolution tl_evolution;

/**
 * From a column of type `from` to one of type `to`. *out is NULL where nothing of it is left: a ROW none of whose fields is there
 * any more counts as an absent column, as in the reference. TL_E_UNSUPPORTED: there is no cast, or the keys of a MAP changed.
 */
tl_status tl_evolution_create(const tl_type *from, const tl_type *to, tl_evolution **out, tl_error *err);
void tl_evolution_free(tl_evolution *evolution); /* NULL is fine */
/** What to read: `from` without the fields that `to` has not. */
const tl_type *tl_evolution_read_type(const tl_evolution *evolution);
/** Nested types: TL_CAST_NOTHING if all values stay, names apart. */
tl_cast_effect tl_evolution_effect(const tl_evolution *evolution);
/** Whether values are cast in a way that may change them; fields that are absent do not count. */
bool tl_evolution_changes_values(const tl_evolution *evolution);
/** The result is of `to` itself. Columns that need no cast share their buffers. */
tl_status tl_evolution_apply(const tl_evolution *evolution, const tl_column *col, tl_column **out, tl_error *err);

/* ---- filters on old columns (devolve.c) ---- */

/**
 * Whether a filter on `column` says the same of its old values, of `type`: the cast keeps them apart and in order, and each
 * literal that the filter compares with them is a value of `type`, too.
 */
bool tl_devolve_fits(const tl_predicate *pred, int32_t column, const tl_type *type);
/** Literals become values of types[column] (NULL: they stay as they are), for columns that fit. In place; on failure some may be changed. */
tl_status tl_devolve_literals(tl_predicate *pred, const tl_type *const *types, tl_error *err);
/** Bounds of an old column as bounds of the new one; false if nothing can be said. Replaces *min_max, the column of both bounds. */
tl_status tl_evolve_bounds(tl_column **min_max, const tl_type *to, bool *known, tl_error *err);

#endif
