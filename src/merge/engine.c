/* The engine object: a table's merging rules, shared by threads. */
#include "merge/merge_private.h"

static void free_engine(tl_merge_engine *engine)
{
    if (engine == NULL)
        return;
    for (int32_t c = 0; engine->rules != NULL && c < engine->row_type->n_fields; c++) {
        tl_free(engine->rules[c].delimiter);
        tl_free(engine->rules[c].nested_key);
    }
    for (int32_t g = 0; g < engine->n_groups; g++)
        tl_free(engine->groups[g].columns);
    tl_free(engine->groups);
    tl_free(engine->rules);
    tl_free(engine->sequence_fields);
    tl_type_unref(engine->row_type);
    tl_free(engine);
}

TL_DEFINE_CLEANUP(free_enginep, tl_merge_engine, free_engine)

tl_status tl_merge_engine_create(const tl_type *row_type, const int32_t *key_idx, int32_t n_keys, const tl_options *options,
                                 tl_merge_engine **out, tl_error *err)
{
    TL_CLEANUP(free_enginep) tl_merge_engine *engine = tl_calloc(1, sizeof *engine);
    if (engine == NULL)
        return tl_nomem(err, "merge engine");
    engine->refs = 1;
    engine->row_type = tl_type_ref(row_type);
    TL_TRY(tl_merge__engine_configure(engine, key_idx, n_keys, options, err));
    *out = TL_STEAL(engine);
    return TL_OK;
}

tl_merge_engine *tl_merge_engine_ref(tl_merge_engine *engine)
{
    __atomic_fetch_add(&engine->refs, 1, __ATOMIC_RELAXED);
    return engine;
}

void tl_merge_engine_unref(tl_merge_engine *engine)
{
    if (engine != NULL && __atomic_sub_fetch(&engine->refs, 1, __ATOMIC_ACQ_REL) == 0)
        free_engine(engine);
}

tl_merge_engine_kind tl_merge_engine_get_kind(const tl_merge_engine *engine)
{
    return engine->kind;
}

int32_t tl_merge_sequence_fields(const tl_merge_engine *engine, const int32_t **columns, bool *descending)
{
    *columns = engine->sequence_fields;
    *descending = engine->sequence_descending;
    return engine->n_sequence_fields;
}
