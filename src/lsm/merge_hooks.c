/*
 * What merges do besides merging: selection of records in lookup mode, and changelogs (format reference §13).
 *
 * Lookup mode (Java: LookupMergeFunction, LookupChangelogMergeFunctionWrapper): a record on a level above 0 already holds what
 * lies below it, so of a key only the records of level 0 and the one on the lowest other level are merged. That other one is
 * also the "before" of the changelog; where the compaction does not hold one, it is looked up on the levels below the output.
 *
 * Full compaction (FullChangelogMergeFunctionWrapper): "before" is the record of the top level.
 *
 * Groups are rebuilt as columns of references, never record by record; only what changes is gathered.
 */
#include "lsm/lsm_private.h"

static int32_t level_of(const tl_groups *groups, uint32_t ref)
{
    return groups->sources[groups->refs[ref].src]->level;
}

/* ---- groups under construction ---- */

typedef struct group_builder {
    tl_rowref *refs;
    uint32_t *starts;
    uint32_t n_refs;
    uint32_t n_groups;
} group_builder;

static void group_builder_deinit(group_builder *b)
{
    tl_free(b->refs);
    tl_free(b->starts);
}

static tl_status group_builder_init(group_builder *b, size_t refs_max, size_t groups_max, tl_error *err)
{
    *b = (group_builder){tl_alloc((refs_max + 1) * sizeof(tl_rowref)), tl_alloc((groups_max + 1) * sizeof(uint32_t)), 0, 0};
    if (b->refs == NULL || b->starts == NULL)
        return tl_nomem(err, "groups");
    b->starts[0] = 0;
    return TL_OK;
}

static void close_group(group_builder *b)
{
    b->starts[++b->n_groups] = b->n_refs;
}

/* ---- lookup mode: which records count ---- */

#define NONE UINT32_MAX

/* Reference of the record on the lowest level above 0, NONE if there is none; *has_level0 if one of level 0 (or none) is there.
 */
static uint32_t pick_high(const tl_groups *groups, uint32_t g, bool *has_level0)
{
    uint32_t high = NONE;
    *has_level0 = false;
    for (uint32_t i = groups->starts[g]; i < groups->starts[g + 1]; i++) {
        int32_t level = level_of(groups, i);
        if (level <= 0)
            *has_level0 = true;
        else if (high == NONE || level < level_of(groups, high))
            high = i;
    }
    return high;
}

static void add_selected(group_builder *b, const tl_groups *groups, uint32_t g, uint32_t high)
{
    for (uint32_t i = groups->starts[g]; i < groups->starts[g + 1]; i++) {
        if (i == high || level_of(groups, i) <= 0)
            b->refs[b->n_refs++] = groups->refs[i];
    }
}

/*
 * A group of several records that shrinks to one still goes through the engine, a group that was single does not
 * (ReducerMergeFunctionWrapper). Both kinds in one call happen only where levels above 0 overlap, so then every group is
 * merged with the engine called, and the single ones are taken back from the input.
 */
static tl_status merge_selected(const tl_merge_engine *engine, const tl_groups *groups, const group_builder *b,
                                bool shrunk_to_one, tl_batch **out, tl_error *err)
{
    tl_groups selected = {groups->sources, groups->n_sources, b->refs, b->starts, b->n_groups};
    return tl_merge_groups(engine, &selected, shrunk_to_one, out, err);
}

/* Splits groups by whether they were single; results are put together in order. */
static tl_status merge_in_two(const tl_merge_engine *engine, const tl_groups *groups, const group_builder *all, tl_batch **out,
                              tl_error *err)
{
    group_builder part[2] = {{0}, {0}};
    tl_batch *merged[2] = {NULL, NULL};
    tl_rowref *order = tl_alloc(((size_t)all->n_groups + 1) * sizeof(*order));
    tl_status status = order == NULL ? tl_nomem(err, "groups") : TL_OK;
    for (int p = 0; p < 2 && status == TL_OK; p++)
        status = group_builder_init(&part[p], all->n_refs, all->n_groups, err);
    for (uint32_t g = 0; g < all->n_groups && status == TL_OK; g++) {
        int p = groups->starts[g + 1] - groups->starts[g] > 1;
        for (uint32_t i = all->starts[g]; i < all->starts[g + 1]; i++)
            part[p].refs[part[p].n_refs++] = all->refs[i];
        order[g] = (tl_rowref){(uint32_t)p, part[p].n_groups};
        close_group(&part[p]);
    }
    for (int p = 0; p < 2 && status == TL_OK; p++)
        status = merge_selected(engine, groups, &part[p], /* shrunk_to_one= */ p == 1, &merged[p], err);
    if (status == TL_OK && (merged[0]->n_rows != part[0].n_groups || merged[1]->n_rows != part[1].n_groups))
        status = tl_error_set(err, TL_E_INTERNAL, "merge lost groups");
    if (status == TL_OK)
        status = tl_lsm__gather_rows((const tl_batch *const *)merged, 2, order, all->n_groups, out, err);
    for (int p = 0; p < 2; p++) {
        tl_batch_free(merged[p]);
        group_builder_deinit(&part[p]);
    }
    tl_free(order);
    return status;
}

static tl_status lookup_read_merge(void *ctx, const tl_merge_engine *engine, const tl_groups *groups,
                                   const int32_t *source_levels, tl_batch **out, tl_error *err)
{
    (void)ctx;
    (void)source_levels;
    TL_CLEANUP(group_builder_deinit) group_builder b = {0};
    bool shrunk = false, shrunk_to_one = false;
    TL_TRY(group_builder_init(&b, groups->starts[groups->n_groups], groups->n_groups, err));
    for (uint32_t g = 0; g < groups->n_groups; g++) {
        bool has_level0;
        uint32_t before = b.n_refs;
        add_selected(&b, groups, g, pick_high(groups, g, &has_level0));
        uint32_t n = groups->starts[g + 1] - groups->starts[g];
        shrunk |= b.n_refs - before < n;
        shrunk_to_one |= n > 1 && b.n_refs - before == 1;
        close_group(&b);
    }
    tl_status status = !shrunk         ? tl_merge_groups(engine, groups, /* always_call= */ false, out, err)
                       : shrunk_to_one ? merge_in_two(engine, groups, &b, out, err)
                                       : merge_selected(engine, groups, &b, /* shrunk_to_one= */ false, out, err);
    return status;
}

const tl_group_hook tl_lsm__lookup_read_hook = {lookup_read_merge, NULL};

/* ---- gathering rows of several batches ---- */

tl_status tl_lsm__gather_rows(const tl_batch *const *sources, uint32_t n_sources, const tl_rowref *refs, int64_t n,
                              tl_batch **out, tl_error *err)
{
    const tl_type *type = sources[0]->type;
    TL_CLEANUP(tl_batch_freep) tl_batch *batch = NULL;
    TL_TRY(tl_batch_create(type, n, &batch, err));
    TL_CLEANUP(tl_freep) const tl_column **cols = tl_alloc((size_t)n_sources * sizeof(*cols));
    batch->row_kind = tl_alloc((size_t)n + 1);
    batch->seq = tl_alloc((size_t)(n + 1) * sizeof(int64_t));
    if (cols == NULL || batch->row_kind == NULL || batch->seq == NULL)
        return tl_nomem(err, "gathered rows");
    for (int32_t c = 0; c < type->n_fields; c++) {
        for (uint32_t s = 0; s < n_sources; s++)
            cols[s] = sources[s]->cols[c];
        TL_TRY(tl_column_gather_multi(type->fields[c].type, cols, refs, n, &batch->cols[c], err));
    }
    for (int64_t i = 0; i < n; i++) {
        const tl_batch *from = sources[refs[i].src];
        batch->row_kind[i] = tl_batch_kind(from, refs[i].row);
        batch->seq[i] = from->seq == NULL ? 0 : from->seq[refs[i].row];
    }
    *out = TL_STEAL(batch);
    return TL_OK;
}

/* All records of the groups, in order. */
static tl_status gather_records(const tl_groups *groups, tl_batch **out, tl_error *err)
{
    uint32_t first = groups->starts[0];
    return tl_lsm__gather_rows(groups->sources, groups->n_sources, groups->refs + first,
                               groups->starts[groups->n_groups] - first, out, err);
}

static tl_status keep_all_merge(void *ctx, const tl_merge_engine *engine, const tl_groups *groups, const int32_t *source_levels,
                                tl_batch **out, tl_error *err)
{
    (void)ctx;
    (void)engine;
    (void)source_levels;
    return gather_records(groups, out, err);
}

const tl_group_hook tl_lsm__keep_all_hook = {keep_all_merge, NULL};

static tl_status input_changelog_merge(void *ctx, const tl_merge_engine *engine, const tl_groups *groups,
                                       const int32_t *source_levels, tl_batch **out, tl_error *err)
{
    tl_lsm__changelog *changelog = ctx;
    (void)source_levels;
    TL_CLEANUP(tl_batch_freep) tl_batch *all = NULL;
    TL_TRY(gather_records(groups, &all, err));
    TL_TRY(tl_lsm__writer_write(changelog->writer, all, err));
    return tl_merge_groups(engine, groups, /* always_call= */ false, out, err);
}

void tl_lsm__input_changelog_hook(tl_lsm__changelog *changelog, tl_group_hook *out)
{
    *out = (tl_group_hook){input_changelog_merge, changelog};
}

/* ---- changes: before and after of each group ---- */

/* One group's change: where its old record lies (row TL_ROW_NULL: nowhere); its new one is row g of the merged batch. */
typedef struct changes {
    const tl_batch **sources; /* those of the groups, then the merged batch */
    uint32_t n_sources;
    const tl_rowref *before; /* per group */
    const bool *wanted;      /* per group; NULL: all */
    uint32_t n_groups;
} changes;

static bool is_add(const tl_batch *batch, uint32_t row)
{
    return !tl_kind_is_retract(tl_batch_kind(batch, row));
}

/* FLOAT and DOUBLE compare as Java's generated code does (NaN differs from itself, 0.0 equals -0.0), the rest by value. */
static bool values_equal(const tl_column *a, int64_t i, const tl_column *b, int64_t j)
{
    if (a->phys != TL_PHYS_F32 && a->phys != TL_PHYS_F64)
        return tl_column_equal(a, i, b, j);
    if (tl_col_is_null(a, i) || tl_col_is_null(b, j))
        return tl_col_is_null(a, i) && tl_col_is_null(b, j);
    return a->phys == TL_PHYS_F32 ? tl_col_f32(a, i) == tl_col_f32(b, j) : tl_col_f64(a, i) == tl_col_f64(b, j);
}

static bool rows_equal(const tl_lsm_config *config, const tl_batch *a, uint32_t i, const tl_batch *b, uint32_t j)
{
    for (int32_t c = 0; c < a->n_cols; c++) {
        if (!config->row_deduplicate_ignored[c] && !values_equal(a->cols[c], i, b->cols[c], j))
            return false;
    }
    return true;
}

/* Appends the changelog rows of all groups: at most two each. Returns how many. */
static int64_t list_changes(const tl_lsm_config *config, const changes *ch, tl_rowref *refs, uint8_t *kinds)
{
    uint32_t merged_src = ch->n_sources - 1;
    const tl_batch *merged = ch->sources[merged_src];
    int64_t n = 0;
    for (uint32_t g = 0; g < ch->n_groups; g++) {
        if (ch->wanted != NULL && !ch->wanted[g])
            continue;
        tl_rowref before = ch->before[g], after = {merged_src, g};
        bool was = before.row != TL_ROW_NULL && is_add(ch->sources[before.src], before.row);
        bool is = is_add(merged, g);
        if (was && is && config->row_deduplicate && rows_equal(config, ch->sources[before.src], before.row, merged, g))
            continue;
        if (was) {
            refs[n] = before;
            kinds[n++] = is ? TL_KIND_UPDATE_BEFORE : TL_KIND_DELETE;
        }
        if (is) {
            refs[n] = after;
            kinds[n++] = was ? TL_KIND_UPDATE_AFTER : TL_KIND_INSERT;
        }
    }
    return n;
}

static tl_status write_changes(tl_lsm__changelog *changelog, const changes *ch, tl_error *err)
{
    const tl_lsm_config *config = changelog->bucket->config;
    if (changelog->writer == NULL || ch->n_groups == 0)
        return TL_OK;
    size_t cap = (size_t)ch->n_groups * 2;
    TL_CLEANUP(tl_freep) tl_rowref *refs = tl_alloc(cap * sizeof(*refs));
    TL_CLEANUP(tl_freep) uint8_t *kinds = tl_alloc(cap);
    TL_CLEANUP(tl_batch_freep) tl_batch *rows = NULL;
    if (refs == NULL || kinds == NULL)
        return tl_nomem(err, "changelog");
    int64_t n = list_changes(config, ch, refs, kinds);
    if (n == 0)
        return TL_OK;
    TL_TRY(tl_lsm__gather_rows(ch->sources, ch->n_sources, refs, n, &rows, err));
    memcpy(rows->row_kind, kinds, (size_t)n);
    return tl_lsm__writer_write(changelog->writer, rows, err);
}

/* ---- lookup changelog ---- */

/* State of one call. */
typedef struct lookup_call {
    tl_rowref *before; /* per group, into the groups' sources or, past them, the looked-up batches */
    bool *has_level0;  /* per group */
    uint32_t *asked;   /* groups without a high record */
    tl_rowref *found;  /* per asked group */
    uint32_t n_asked;
    const tl_batch **sources; /* the groups', the looked-up ones, room for the merged one */
    uint32_t n_sources;
} lookup_call;

static void lookup_call_deinit(lookup_call *call)
{
    tl_free(call->before);
    tl_free(call->has_level0);
    tl_free(call->asked);
    tl_free(call->found);
    tl_free(call->sources);
}

static tl_status lookup_call_init(lookup_call *call, const tl_groups *groups, tl_error *err)
{
    size_t n = (size_t)groups->n_groups + 1;
    call->before = tl_alloc(n * sizeof(*call->before));
    call->has_level0 = tl_alloc(n * sizeof(*call->has_level0));
    call->asked = tl_alloc(n * sizeof(*call->asked));
    call->found = tl_alloc(n * sizeof(*call->found));
    if (call->before == NULL || call->has_level0 == NULL || call->asked == NULL || call->found == NULL)
        return tl_nomem(err, "lookup");
    for (uint32_t g = 0; g < groups->n_groups; g++) {
        uint32_t high = pick_high(groups, g, &call->has_level0[g]);
        if (high == NONE)
            call->asked[call->n_asked++] = g;
        call->before[g] = high == NONE ? (tl_rowref){0, TL_ROW_NULL} : groups->refs[high];
    }
    return TL_OK;
}

tl_status tl_lsm__find_older(tl_lsm__changelog *changelog, const tl_groups *groups, const uint32_t *asked, uint32_t n,
                             tl_rowref *found, tl_error *err)
{
    const tl_lsm_config *config = changelog->bucket->config;
    TL_CLEANUP(tl_freep) tl_rowref *refs = tl_alloc(((size_t)n + 1) * sizeof(*refs));
    TL_CLEANUP(tl_freep) const tl_column **srcs = tl_alloc((size_t)groups->n_sources * sizeof(*srcs));
    TL_CLEANUP(tl_freep) tl_column **keys = tl_calloc((size_t)config->n_keys, sizeof(*keys));
    if (refs == NULL || srcs == NULL || keys == NULL)
        return tl_nomem(err, "lookup");
    for (uint32_t i = 0; i < n; i++)
        refs[i] = groups->refs[groups->starts[asked[i]]];
    tl_status status = TL_OK;
    for (int32_t k = 0; k < config->n_keys && status == TL_OK; k++) {
        for (uint32_t s = 0; s < groups->n_sources; s++)
            srcs[s] = groups->sources[s]->cols[config->key_idx[k]];
        status = tl_column_gather_multi(config->layout->key_type->fields[k].type, srcs, refs, n, &keys[k], err);
    }
    if (status == TL_OK)
        status = tl_lsm__older_find(changelog->older, (const tl_column *const *)keys, n, found, err);
    for (int32_t k = 0; k < config->n_keys; k++)
        tl_column_unref(keys[k]);
    return status;
}

/* A record whose time is over is gone, though it still lies there: it is deleted with deletion vectors, but nothing to merge with. */
static bool found_expired(const tl_lsm__changelog *changelog, const tl_batch *const *found, tl_rowref ref)
{
    const tl_lsm_config *config = changelog->bucket->config;
    return config->time_column >= 0 && tl_lsm__is_expired(found[ref.src]->cols[config->time_column], ref.row, changelog->expiry_cutoff);
}

/* Look the keys of the asked groups up; found records become `before`, their batches sources. With deletion vectors they are deleted
 * where they lie. */
static tl_status look_up(tl_lsm__changelog *changelog, const tl_groups *groups, lookup_call *call, tl_error *err)
{
    uint32_t n_found = 0;
    const tl_batch *const *found = NULL;
    if (call->n_asked > 0 && changelog->older != NULL) {
        TL_TRY(tl_lsm__find_older(changelog, groups, call->asked, call->n_asked, call->found, err));
        found = tl_lsm__older_batches(changelog->older, &n_found);
        if (changelog->deletions != NULL)
            TL_TRY(tl_lsm__older_delete_found(changelog->older, changelog->deletions, err));
        n_found = changelog->keys_only ? 0 : n_found;
        for (uint32_t i = 0; i < call->n_asked && n_found > 0; i++) {
            if (call->found[i].row != TL_ROW_NULL && !found_expired(changelog, found, call->found[i]))
                call->before[call->asked[i]] = (tl_rowref){groups->n_sources + call->found[i].src, call->found[i].row};
        }
    }
    call->sources = tl_alloc(((size_t)groups->n_sources + n_found + 1) * sizeof(*call->sources));
    if (call->sources == NULL)
        return tl_nomem(err, "lookup");
    for (uint32_t i = 0; i < groups->n_sources; i++)
        call->sources[i] = groups->sources[i];
    for (uint32_t i = 0; i < n_found; i++)
        call->sources[groups->n_sources + i] = found[i];
    call->n_sources = groups->n_sources + n_found;
    return TL_OK;
}

/* The groups' records of level 0 with each high record at its place. */
static tl_status select_with_before(group_builder *b, const tl_merge_engine *engine, const tl_groups *groups,
                                    const lookup_call *call, tl_error *err)
{
    for (uint32_t g = 0; g < groups->n_groups; g++) {
        tl_rowref before = call->before[g];
        for (uint32_t i = groups->starts[g]; i < groups->starts[g + 1]; i++) {
            tl_rowref ref = groups->refs[i];
            bool is_high = ref.src == before.src && ref.row == before.row;
            if (is_high || level_of(groups, i) <= 0)
                b->refs[b->n_refs++] = ref;
        }
        if (before.row != TL_ROW_NULL && before.src >= groups->n_sources) {
            uint32_t start = b->starts[b->n_groups];
            b->refs[b->n_refs++] = before;
            TL_TRY(tl_merge_order_records(engine, call->sources, b->refs + start, b->n_refs - start, err));
        }
        close_group(b);
    }
    return TL_OK;
}

static tl_status lookup_merge_call(tl_lsm__changelog *changelog, const tl_merge_engine *engine, const tl_groups *groups,
                                   lookup_call *call, tl_batch **out, tl_error *err)
{
    TL_CLEANUP(group_builder_deinit) group_builder b = {0};
    TL_TRY(lookup_call_init(call, groups, err));
    TL_TRY(look_up(changelog, groups, call, err));
    TL_TRY(group_builder_init(&b, (size_t)groups->starts[groups->n_groups] + call->n_asked, groups->n_groups, err));
    tl_status status = select_with_before(&b, engine, groups, call, err);
    TL_CLEANUP(tl_batch_freep) tl_batch *merged = NULL;
    tl_groups selected = {call->sources, call->n_sources, b.refs, b.starts, b.n_groups};
    if (status == TL_OK)
        status = tl_merge_groups(engine, &selected, /* always_call= */ true, &merged, err);
    TL_TRY(status);
    if (merged->n_rows != groups->n_groups)
        return tl_error_set(err, TL_E_INTERNAL, "merge of %u keys gave %lld rows", groups->n_groups, (long long)merged->n_rows);
    call->sources[call->n_sources++] = merged;
    changes ch = {call->sources, call->n_sources, call->before, call->has_level0, groups->n_groups};
    TL_TRY(write_changes(changelog, &ch, err));
    *out = TL_STEAL(merged);
    return TL_OK;
}

static tl_status lookup_changelog_merge(void *ctx, const tl_merge_engine *engine, const tl_groups *groups,
                                        const int32_t *source_levels, tl_batch **out, tl_error *err)
{
    (void)source_levels;
    lookup_call call = {0};
    tl_status status = lookup_merge_call(ctx, engine, groups, &call, out, err);
    lookup_call_deinit(&call);
    return status;
}

void tl_lsm__lookup_changelog_hook(tl_lsm__changelog *changelog, tl_group_hook *out)
{
    *out = (tl_group_hook){lookup_changelog_merge, changelog};
}

/* ---- full-compaction changelog ---- */

/* A single record of the top level is no change; the rest of the rules are those of list_changes(). */
static void find_top_level(const tl_lsm__changelog *changelog, const tl_groups *groups, tl_rowref *before, bool *wanted)
{
    for (uint32_t g = 0; g < groups->n_groups; g++) {
        before[g] = (tl_rowref){0, TL_ROW_NULL};
        for (uint32_t i = groups->starts[g]; i < groups->starts[g + 1]; i++) {
            if (level_of(groups, i) == changelog->max_level)
                before[g] = groups->refs[i];
        }
        wanted[g] = before[g].row == TL_ROW_NULL || groups->starts[g + 1] - groups->starts[g] > 1;
    }
}

static tl_status full_changelog_merge(void *ctx, const tl_merge_engine *engine, const tl_groups *groups,
                                      const int32_t *source_levels, tl_batch **out, tl_error *err)
{
    tl_lsm__changelog *changelog = ctx;
    (void)source_levels;
    TL_CLEANUP(tl_freep) tl_rowref *before = tl_alloc(((size_t)groups->n_groups + 1) * sizeof(*before));
    TL_CLEANUP(tl_freep) bool *wanted = tl_alloc((size_t)groups->n_groups + 1);
    TL_CLEANUP(tl_freep) const tl_batch **sources = tl_alloc(((size_t)groups->n_sources + 1) * sizeof(*sources));
    TL_CLEANUP(tl_batch_freep) tl_batch *merged = NULL;
    if (before == NULL || wanted == NULL || sources == NULL)
        return tl_nomem(err, "changelog");
    find_top_level(changelog, groups, before, wanted);
    TL_TRY(tl_merge_groups(engine, groups, /* always_call= */ false, &merged, err));
    if (merged->n_rows != groups->n_groups)
        return tl_error_set(err, TL_E_INTERNAL, "merge of %u keys gave %lld rows", groups->n_groups, (long long)merged->n_rows);
    for (uint32_t i = 0; i < groups->n_sources; i++)
        sources[i] = groups->sources[i];
    sources[groups->n_sources] = merged;
    changes ch = {sources, groups->n_sources + 1, before, wanted, groups->n_groups};
    TL_TRY(write_changes(changelog, &ch, err));
    *out = TL_STEAL(merged);
    return TL_OK;
}

void tl_lsm__full_changelog_hook(tl_lsm__changelog *changelog, tl_group_hook *out)
{
    *out = (tl_group_hook){full_changelog_merge, changelog};
}
