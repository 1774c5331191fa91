/*
 * Filters and bounds across a change of a column's type. Only what is certain goes through: values that stay as they are under
 * another type, and integers that became wider. Java: CastExecutors.castLiteralsWithEvolution, SimpleStatsEvolution.
 */
#include "types/convert.h"
#include "types/evolve.h"

/* Literals that a leaf compares values with; NULL if it has none. */
static const tl_column *literals_on(const tl_predicate *pred, int32_t column)
{
    return pred->n_children == 0 && pred->literals != NULL && pred->column == column ? pred->literals : NULL;
}

static bool all_fit(const tl_column *literals, const tl_type *type)
{
    int64_t max = INT64_MAX >> (64 - 8 * tl_phys_width(tl_type_phys(type)));
    for (int64_t i = 0; i < literals->length; i++) {
        int64_t v = tl_col_is_null(literals, i) ? 0 : tl_col_integer(literals, i);
        if (v > max || v < -max - 1)
            return false;
    }
    return true;
}

/* `text` patterns of LIKE and the like are literals as well, and as good under any length. */
bool tl_devolve_fits(const tl_predicate *pred, int32_t column, const tl_type *type)
{
    const tl_column *literals = literals_on(pred, column);
    if (literals != NULL) {
        tl_cast_effect effect = tl_cast_effect_of(type, literals->type);
        if (effect == TL_CAST_CHANGES || (effect == TL_CAST_WIDENS && !all_fit(literals, type)))
            return false;
    }
    for (int32_t i = 0; i < pred->n_children; i++) {
        if (!tl_devolve_fits(pred->children[i], column, type))
            return false;
    }
    return true;
}

tl_status tl_devolve_literals(tl_predicate *pred, const tl_type *const *types, tl_error *err)
{
    if (pred->n_children == 0 && pred->literals != NULL && types[pred->column] != NULL) {
        const tl_type *type = types[pred->column];
        tl_column *old = NULL;
        if (tl_cast_effect_of(type, pred->literals->type) == TL_CAST_WIDENS)
            TL_TRY(tl_convert_numbers(pred->literals, type, &old, err));
        else
            TL_TRY(tl_column_retype(pred->literals, type, &old, err));
        tl_column_unref(pred->literals);
        pred->literals = old;
    }
    for (int32_t i = 0; i < pred->n_children; i++)
        TL_TRY(tl_devolve_literals(pred->children[i], types, err));
    return TL_OK;
}

tl_status tl_evolve_bounds(tl_column **min_max, const tl_type *to, bool *known, tl_error *err)
{
    *known = tl_cast_effect_of((*min_max)->type, to) != TL_CAST_CHANGES;
    if (!*known)
        return TL_OK;
    tl_column *cast = NULL;
    TL_TRY(tl_cast_stored(*min_max, to, &cast, err));
    tl_column_unref(*min_max);
    *min_max = cast;
    return TL_OK;
}
