/*
 * Compaction of level 0 with merge engine first-row (format reference §13; Java: FirstRowMergeFunctionWrapper).
 *
 * The first record of a key stays. Where the compaction holds no record of the key above level 0, the levels below the output
 * are asked: if the key is there, the new records vanish; if not, its first record is written, and told as it came.
 */
#include "lsm/lsm_private.h"

typedef struct first_row_call {
    uint32_t *asked; /* groups of level 0 only */
    uint32_t n_asked;
    tl_rowref *found; /* per asked group */
    uint32_t *kept;   /* rows of the merged batch that are written */
    int64_t n_kept;
    uint32_t *fresh; /* those that are new */
    int64_t n_fresh;
} first_row_call;

static void call_deinit(first_row_call *call)
{
    tl_free(call->asked);
    tl_free(call->found);
    tl_free(call->kept);
    tl_free(call->fresh);
}

static tl_status call_init(first_row_call *call, const tl_groups *groups, tl_error *err)
{
    size_t n = (size_t)groups->n_groups + 1;
    call->asked = tl_alloc(n * sizeof(*call->asked));
    call->found = tl_alloc(n * sizeof(*call->found));
    call->kept = tl_alloc(n * sizeof(*call->kept));
    call->fresh = tl_alloc(n * sizeof(*call->fresh));
    if (call->asked == NULL || call->found == NULL || call->kept == NULL || call->fresh == NULL)
        return tl_nomem(err, "first-row");
    for (uint32_t g = 0; g < groups->n_groups; g++) {
        bool high = false;
        for (uint32_t i = groups->starts[g]; i < groups->starts[g + 1]; i++)
            high |= groups->sources[groups->refs[i].src]->level > 0;
        call->found[call->n_asked] = (tl_rowref){0, TL_ROW_NULL};
        call->asked[call->n_asked] = g;
        call->n_asked += !high;
    }
    return TL_OK;
}

/* Groups where only deletes were there, which the table ignores, have given a delete: they vanish too. */
static void choose_rows(first_row_call *call, const tl_batch *merged)
{
    uint32_t next = 0;
    for (uint32_t g = 0; g < (uint32_t)merged->n_rows; g++) {
        bool asked = next < call->n_asked && call->asked[next] == g;
        bool known = asked && call->found[next].row != TL_ROW_NULL;
        next += asked;
        if (known || tl_kind_is_retract(tl_batch_kind(merged, g)))
            continue;
        call->kept[call->n_kept++] = g;
        if (asked)
            call->fresh[call->n_fresh++] = g;
    }
}

static tl_status merge_call(tl_lsm__changelog *changelog, const tl_merge_engine *engine, const tl_groups *groups,
                            first_row_call *call, tl_batch **out, tl_error *err)
{
    TL_CLEANUP(tl_batch_freep) tl_batch *merged = NULL;
    TL_CLEANUP(tl_batch_freep) tl_batch *told = NULL;
    TL_TRY(call_init(call, groups, err));
    if (call->n_asked > 0 && changelog->older != NULL)
        TL_TRY(tl_lsm__find_older(changelog, groups, call->asked, call->n_asked, call->found, err));
    TL_TRY(tl_merge_groups(engine, groups, /* always_call= */ true, &merged, err));
    if (merged->n_rows != groups->n_groups)
        return tl_error_set(err, TL_E_INTERNAL, "merge of %u keys gave %lld rows", groups->n_groups, (long long)merged->n_rows);
    choose_rows(call, merged);
    if (changelog->writer != NULL && call->n_fresh > 0) {
        TL_TRY(tl_batch_gather(merged, call->fresh, call->n_fresh, &told, err));
        TL_TRY(tl_lsm__writer_write(changelog->writer, told, err));
    }
    return tl_batch_gather(merged, call->kept, call->n_kept, out, err);
}

static tl_status first_row_merge(void *ctx, const tl_merge_engine *engine, const tl_groups *groups,
                                 const int32_t *source_levels, tl_batch **out, tl_error *err)
{
    (void)source_levels;
    first_row_call call = {0};
    tl_status status = merge_call(ctx, engine, groups, &call, out, err);
    call_deinit(&call);
    return status;
}

void tl_lsm__first_row_hook(tl_lsm__changelog *changelog, tl_group_hook *out)
{
    *out = (tl_group_hook){first_row_merge, changelog};
}
