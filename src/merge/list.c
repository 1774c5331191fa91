/*
 * collect, merge_map, merge_map_with_keytime, nested_update, nested_partial_update: lists of elements under aggregation.
 * Format reference §14; Java: FieldCollectAgg, FieldMergeMapAgg, FieldMergeMapWithKeyTimeAgg, FieldNestedUpdateAgg,
 * FieldNestedPartialUpdateAgg.
 *
 * Where the reference stores what it iterates over in a Java hash table, the order is that table's (java_order.c). Values are compared by value, BINARY too (Java compares byte arrays by identity, so that its sets and
 * maps of them keep doubles).
 */
#include "merge/elements.h"
#include "merge/merge_private.h"

/* An array or map under aggregation. */
typedef struct list_value {
    bool null;
    bool raw; /* as it stands in the input: not yet without doubles or NULL rows */
    element_list list;
} list_value;

typedef struct list_reduce {
    const merge_column *col;
    element_key key;            /* what makes elements equal */
    const tl_column **elements; /* by source: children[0] of the column */
    const tl_column **values;   /* by source: children[1] of a map */
    list_value acc, input;
    element_index index;
    /* result */
    tl_column *result;
    element_list items; /* of all groups */
    /* nested_partial_update: elements made of several rows. An item then is {0, number of the composite} */
    tl_rowref *composites; /* n_fields each; the first element of a NULL row is {0, TL_ROW_NULL} in all fields */
    uint32_t n_composites, cap_composites;
    int32_t n_fields;
} list_reduce;

/* ---- input ---- */

static tl_status load(const list_reduce *r, tl_rowref ref, list_value *out)
{
    const tl_column *col = r->col->srcs[ref.src];
    out->list.n = 0;
    out->raw = true;
    out->null = tl_col_is_null(col, ref.row);
    if (out->null)
        return TL_OK;
    uint32_t from = (uint32_t)col->offsets[ref.row], to = (uint32_t)col->offsets[ref.row + 1];
    TL_TRY(tl_merge__elements_reserve(&out->list, to - from, r->col->err));
    for (uint32_t k = from; k < to; k++)
        out->list.items[out->list.n++] = (tl_rowref){ref.src, k};
    return TL_OK;
}

static void swap_values(list_value *a, list_value *b)
{
    list_value t = *a;
    *a = *b;
    *b = t;
}

static tl_status append_all(list_value *to, const list_value *from, tl_error *err)
{
    TL_TRY(tl_merge__elements_reserve(&to->list, from->list.n, err));
    if (from->list.n > 0)
        memcpy(to->list.items + to->list.n, from->list.items, from->list.n * sizeof(tl_rowref));
    to->list.n += from->list.n;
    return TL_OK;
}

static bool is_null_element(const list_reduce *r, tl_rowref item)
{
    return tl_col_is_null(r->elements[item.src], item.row);
}

/*
 * Keeps one of equal elements from position `from` on, at the first one's place: that one, or the last (`last_wins`).
 * Elements before `from` are known to differ from each other.
 */
static tl_status keep_distinct(list_reduce *r, element_list *list, uint32_t from, bool last_wins)
{
    TL_TRY(tl_merge__index_reset(&r->index, list->n, r->col->err));
    uint32_t n = 0;
    for (uint32_t i = 0; i < list->n; i++) {
        tl_rowref item = list->items[i];
        uint64_t hash = tl_merge__element_hash(&r->key, item);
        uint32_t at = i < from ? UINT32_MAX : tl_merge__index_find(&r->index, list, &r->key, item, hash);
        if (at == UINT32_MAX) {
            list->items[n] = item;
            tl_merge__index_add(&r->index, n++, hash);
        } else if (last_wins) {
            list->items[at] = item;
        }
    }
    list->n = n;
    return TL_OK;
}

/* ---- collect ---- */

static bool is_constructed(const tl_type *type)
{
    return type->kind == TL_ARRAY || type->kind == TL_MAP || type->kind == TL_MULTISET || type->kind == TL_ROW;
}

static tl_status collect_add(list_reduce *r, list_value *acc, list_value *input)
{
    bool distinct = r->col->rule->distinct;
    if (acc->null && input->null)
        return TL_OK;
    if ((acc->null || input->null) && !distinct) {
        if (acc->null)
            swap_values(acc, input);
        return TL_OK;
    }
    /* Of constructed elements the reference takes those it has as different already. */
    uint32_t known = !acc->raw || is_constructed(r->elements[0]->type) ? acc->list.n : 0;
    if (acc->null)
        known = acc->list.n = 0;
    acc->null = false;
    if (!input->null)
        TL_TRY(append_all(acc, input, r->col->err));
    acc->raw = false;
    if (!distinct)
        return TL_OK;
    TL_TRY(keep_distinct(r, &acc->list, known, /* last_wins= */ false));
    bool hashed = tl_merge__has_java_order(r->elements[0]->type);
    return hashed ? tl_merge__java_order(&r->key, /* as_row= */ false, &acc->list, r->col->err) : TL_OK;
}

/* Takes each element of `input` away once. */
static tl_status collect_retract(list_reduce *r, list_value *acc, list_value *input)
{
    if (acc->null || input->null || input->list.n == 0)
        return TL_OK;
    TL_TRY(tl_merge__index_reset(&r->index, input->list.n, r->col->err));
    for (uint32_t i = input->list.n; i-- > 0;)
        tl_merge__index_add(&r->index, i, tl_merge__element_hash(&r->key, input->list.items[i]));
    for (uint32_t i = 0; i < acc->list.n; i++) {
        tl_rowref *item = &acc->list.items[i];
        uint32_t at = tl_merge__index_find(&r->index, &input->list, &r->key, *item, tl_merge__element_hash(&r->key, *item));
        if (at != UINT32_MAX)
            input->list.items[at].row = item->row = TL_ROW_NULL;
    }
    tl_merge__elements_compact(&acc->list);
    return TL_OK;
}

/* ---- maps ---- */

static tl_status map_add(list_reduce *r, list_value *acc, list_value *input)
{
    if (acc->null || input->null) {
        if (acc->null)
            swap_values(acc, input);
        return TL_OK;
    }
    uint32_t known = acc->raw ? 0 : acc->list.n;
    TL_TRY(append_all(acc, input, r->col->err));
    acc->raw = false;
    return keep_distinct(r, &acc->list, known, /* last_wins= */ true);
}

/* Takes the elements away whose key is one of the input's. */
static tl_status remove_keys(list_reduce *r, list_value *acc, const list_value *input)
{
    TL_TRY(tl_merge__index_reset(&r->index, input->list.n, r->col->err));
    for (uint32_t i = 0; i < input->list.n; i++)
        tl_merge__index_add(&r->index, i, tl_merge__element_hash(&r->key, input->list.items[i]));
    for (uint32_t i = 0; i < acc->list.n; i++) {
        tl_rowref *item = &acc->list.items[i];
        if (tl_merge__index_find(&r->index, &input->list, &r->key, *item, tl_merge__element_hash(&r->key, *item)) != UINT32_MAX)
            item->row = TL_ROW_NULL;
    }
    tl_merge__elements_compact(&acc->list);
    return TL_OK;
}

static tl_status map_retract(list_reduce *r, list_value *acc, list_value *input)
{
    if (acc->null || input->null || input->list.n == 0)
        return TL_OK;
    if (acc->raw)
        TL_TRY(keep_distinct(r, &acc->list, 0, /* last_wins= */ true));
    acc->raw = false;
    return remove_keys(r, acc, input);
}

/* Java's String.compareTo on UTF-8: by UTF-16 units, where characters beyond U+FFFF come before U+E000..U+FFFF. */
static int compare_utf16(tl_bytes_view a, tl_bytes_view b)
{
    size_t n = TL_MIN(a.len, b.len), i = 0;
    while (i < n && a.data[i] == b.data[i])
        i++;
    if (i == n)
        return (a.len > b.len) - (a.len < b.len);
    int x = a.data[i], y = b.data[i];
    if (x >= 0xee && y >= 0xee) {
        x += x < 0xf0 ? 0x20 : 0;
        y += y < 0xf0 ? 0x20 : 0;
    }
    return x - y;
}

/* Time of an entry; false: its row or its time is NULL. */
static bool entry_time(const list_reduce *r, tl_rowref item, tl_bytes_view *out)
{
    const tl_column *value = r->values[item.src];
    const tl_column *time = value->children[r->col->rule->ts_field];
    if (tl_col_is_null(value, item.row) || tl_col_is_null(time, item.row))
        return false;
    *out = tl_col_bytes(time, item.row);
    return true;
}

static tl_status keytime_entry(list_reduce *r, list_value *acc, tl_rowref item)
{
    uint64_t hash = tl_merge__element_hash(&r->key, item);
    uint32_t at = tl_merge__index_find(&r->index, &acc->list, &r->key, item, hash);
    tl_bytes_view mine, theirs;
    if (tl_col_is_null(r->values[item.src], item.row)) {
        if (at != UINT32_MAX)
            acc->list.items[at].row = TL_ROW_NULL;
        return TL_OK;
    }
    if (!entry_time(r, item, &mine))
        return TL_OK;
    if (at == UINT32_MAX) {
        tl_merge__index_add(&r->index, acc->list.n, hash);
        return elements_add(&acc->list, item, r->col->err);
    }
    if (!entry_time(r, acc->list.items[at], &theirs) || compare_utf16(mine, theirs) > 0)
        acc->list.items[at] = item;
    return TL_OK;
}

static tl_status keytime_add(list_reduce *r, list_value *acc, list_value *input)
{
    if (acc->null || input->null) {
        if (acc->null)
            swap_values(acc, input);
        return TL_OK;
    }
    if (acc->raw)
        TL_TRY(keep_distinct(r, &acc->list, 0, /* last_wins= */ true));
    acc->raw = false;
    TL_TRY(tl_merge__index_reset(&r->index, acc->list.n + input->list.n, r->col->err));
    for (uint32_t i = 0; i < acc->list.n; i++)
        tl_merge__index_add(&r->index, i, tl_merge__element_hash(&r->key, acc->list.items[i]));
    for (uint32_t i = 0; i < input->list.n; i++)
        TL_TRY(keytime_entry(r, acc, input->list.items[i]));
    tl_merge__elements_compact(&acc->list);
    return TL_OK;
}

/* ---- nested tables ---- */

static void drop_null_rows(const list_reduce *r, list_value *v)
{
    for (uint32_t i = 0; i < v->list.n; i++)
        if (is_null_element(r, v->list.items[i]))
            v->list.items[i].row = TL_ROW_NULL;
    tl_merge__elements_compact(&v->list);
}

static tl_status nested_add(list_reduce *r, list_value *acc, list_value *input)
{
    const column_rule *rule = r->col->rule;
    if (acc->null || input->null) {
        if (acc->null)
            swap_values(acc, input);
        return TL_OK;
    }
    if ((int64_t)acc->list.n >= rule->count_limit)
        return TL_OK;
    uint32_t room = (uint32_t)(rule->count_limit - (int64_t)acc->list.n), known = acc->raw ? 0 : acc->list.n;
    drop_null_rows(r, acc);
    drop_null_rows(r, input);
    known = TL_MIN(known, acc->list.n);
    input->list.n = TL_MIN(input->list.n, room);
    TL_TRY(append_all(acc, input, r->col->err));
    acc->raw = false;
    if (rule->n_nested_key == 0)
        return TL_OK;
    TL_TRY(keep_distinct(r, &acc->list, known, /* last_wins= */ true));
    return tl_merge__java_order(&r->key, /* as_row= */ true, &acc->list, r->col->err);
}

static tl_status nested_retract(list_reduce *r, list_value *acc, list_value *input)
{
    if (acc->null || input->null)
        return TL_OK;
    drop_null_rows(r, acc);
    drop_null_rows(r, input);
    if (r->col->rule->n_nested_key > 0 && acc->raw)
        TL_TRY(keep_distinct(r, &acc->list, 0, /* last_wins= */ true));
    acc->raw = false;
    TL_TRY(remove_keys(r, acc, input));
    return r->col->rule->n_nested_key == 0 ? TL_OK : tl_merge__java_order(&r->key, /* as_row= */ true, &acc->list, r->col->err);
}

/* ---- nested_partial_update: rows put together field by field ---- */

static tl_status add_composite(list_reduce *r, uint32_t *out)
{
    if (r->n_composites == r->cap_composites) {
        uint64_t cap = (uint64_t)r->cap_composites * 2 + 64;
        tl_rowref *grown = cap >= UINT32_MAX ? NULL : tl_realloc(r->composites, cap * (size_t)r->n_fields * sizeof *grown);
        if (grown == NULL)
            return tl_nomem(r->col->err, "merge");
        r->composites = grown;
        r->cap_composites = (uint32_t)cap;
    }
    for (int32_t f = 0; f < r->n_fields; f++)
        r->composites[(size_t)r->n_composites * (size_t)r->n_fields + (size_t)f] = (tl_rowref){0, TL_ROW_NULL};
    *out = r->n_composites++;
    return TL_OK;
}

/* The fields of `item` that are not NULL replace those of the composite. */
static void overlay(list_reduce *r, uint32_t composite, tl_rowref item)
{
    tl_rowref *fields = &r->composites[(size_t)composite * (size_t)r->n_fields];
    const tl_column *row = r->elements[item.src];
    for (int32_t f = 0; f < r->n_fields; f++)
        if (!tl_col_is_null(row->children[f], item.row))
            fields[f] = item;
}

/*
 * One group: all its records at once. `first` is what the group starts from and stays as it is if nothing is merged with
 * it. Key fields of a composite are those of its first row, which `keys` remembers for comparison.
 */
static tl_status partial_rows(list_reduce *r, element_list *keys, const list_value *input, uint32_t base)
{
    for (uint32_t i = 0; i < input->list.n; i++) {
        tl_rowref item = input->list.items[i];
        if (is_null_element(r, item))
            continue;
        uint64_t hash = tl_merge__element_hash(&r->key, item);
        uint32_t at = tl_merge__index_find(&r->index, keys, &r->key, item, hash), composite;
        if (at == UINT32_MAX) {
            at = keys->n;
            tl_merge__index_add(&r->index, at, hash);
            TL_TRY(elements_add(keys, item, r->col->err));
            TL_TRY(add_composite(r, &composite));
        }
        overlay(r, base + at, item);
    }
    return TL_OK;
}

/* acc and input are raw lists here, or acc is a list of composites {0, number} of this group with raw = false. */
static tl_status partial_add(list_reduce *r, list_value *acc, list_value *input, element_list *keys, uint32_t *base)
{
    if (acc->null || input->null) {
        if (acc->null)
            swap_values(acc, input);
        return TL_OK;
    }
    uint32_t n_before = acc->raw ? 0 : keys->n;
    uint32_t most = (acc->raw ? acc->list.n : keys->n) + input->list.n;
    if (acc->raw) {
        keys->n = 0;
        *base = r->n_composites;
    }
    TL_TRY(tl_merge__index_reset(&r->index, most, r->col->err));
    for (uint32_t k = 0; k < n_before; k++)
        tl_merge__index_add(&r->index, k, tl_merge__element_hash(&r->key, keys->items[k]));
    if (acc->raw)
        TL_TRY(partial_rows(r, keys, acc, *base));
    TL_TRY(partial_rows(r, keys, input, *base));
    acc->raw = false;
    acc->list.n = 0;
    TL_TRY(tl_merge__elements_reserve(&acc->list, keys->n, r->col->err));
    for (uint32_t k = 0; k < keys->n; k++)
        acc->list.items[acc->list.n++] = (tl_rowref){0, *base + k};
    return TL_OK;
}

/*
 * A late record goes before the present rows: their fields win, and its fields fill what they leave NULL; keys that only
 * it has come in front in the reference, but the order is a hash table's anyway.
 */
static tl_status partial_add_late(list_reduce *r, list_value *acc, list_value *input, element_list *keys, uint32_t *base)
{
    if (acc->null || input->null || acc->raw) {
        swap_values(acc, input);
        return partial_add(r, acc, input, keys, base);
    }
    TL_TRY(tl_merge__index_reset(&r->index, keys->n + input->list.n, r->col->err));
    for (uint32_t k = 0; k < keys->n; k++)
        tl_merge__index_add(&r->index, k, tl_merge__element_hash(&r->key, keys->items[k]));
    uint32_t n_before = keys->n;
    size_t n_fields = (size_t)r->n_fields, bytes = n_before * n_fields * sizeof(tl_rowref);
    TL_CLEANUP(tl_freep) tl_rowref *before = tl_alloc(bytes);
    if (before == NULL)
        return tl_nomem(r->col->err, "merge");
    if (bytes > 0)
        memcpy(before, r->composites + *base * n_fields, bytes);
    TL_TRY(partial_rows(r, keys, input, *base));
    for (size_t i = 0; i < n_before * n_fields; i++)
        if (before[i].row != TL_ROW_NULL)
            r->composites[*base * n_fields + i] = before[i];
    acc->list.n = 0;
    TL_TRY(tl_merge__elements_reserve(&acc->list, keys->n, r->col->err));
    for (uint32_t k = 0; k < keys->n; k++)
        acc->list.items[acc->list.n++] = (tl_rowref){0, *base + k};
    return TL_OK;
}

/* Composites in the order of their keys' hash table. */
static tl_status order_partial(list_reduce *r, list_value *acc, const element_list *keys, uint32_t base)
{
    if (acc->null || acc->raw)
        return TL_OK;
    element_list ordered = {0};
    tl_status status = tl_merge__elements_reserve(&ordered, keys->n, r->col->err);
    if (status == TL_OK) {
        memcpy(ordered.items, keys->items, keys->n * sizeof(tl_rowref));
        ordered.n = keys->n;
        status = tl_merge__java_order(&r->key, /* as_row= */ true, &ordered, r->col->err);
    }
    for (uint32_t i = 0; i < ordered.n && status == TL_OK; i++) {
        uint32_t k = 0; /* lists are short: a search per element */
        while (keys->items[k].src != ordered.items[i].src || keys->items[k].row != ordered.items[i].row)
            k++;
        acc->list.items[i] = (tl_rowref){0, base + k};
    }
    tl_merge__elements_deinit(&ordered);
    return status;
}

/* At the end of a group all its elements are composites, raw ones too; a NULL row is one whose fields all are NULL. */
static tl_status close_partial(list_reduce *r, list_value *acc)
{
    for (uint32_t i = 0; acc->raw && i < acc->list.n; i++) {
        uint32_t composite;
        tl_rowref item = acc->list.items[i];
        TL_TRY(add_composite(r, &composite));
        bool null = is_null_element(r, item);
        for (int32_t f = 0; !null && f < r->n_fields; f++)
            r->composites[(size_t)composite * (size_t)r->n_fields + (size_t)f] = item;
        acc->list.items[i] = (tl_rowref){null ? 1 : 0, composite};
    }
    return TL_OK;
}

/* ---- all groups ---- */

static tl_status apply_add(list_reduce *r, list_value *acc, list_value *input)
{
    switch (r->col->rule->fn) {
    case AGG_COLLECT:
        return collect_add(r, acc, input);
    case AGG_MERGE_MAP:
        return map_add(r, acc, input);
    case AGG_MERGE_MAP_WITH_KEYTIME:
        return keytime_add(r, acc, input);
    default:
        return nested_add(r, acc, input);
    }
}

static tl_status apply_late(list_reduce *r)
{
    /* collect adds late elements at the end as well, unless the reference's wrapper for ignored retractions is between. */
    if (r->col->rule->fn == AGG_COLLECT && !r->col->rule->ignore_retract)
        return apply_add(r, &r->acc, &r->input);
    TL_TRY(apply_add(r, &r->input, &r->acc));
    swap_values(&r->acc, &r->input);
    return TL_OK;
}

static tl_status apply_retract(list_reduce *r)
{
    if (r->col->rule->ignore_retract)
        return TL_OK;
    switch (r->col->rule->fn) {
    case AGG_COLLECT:
        return collect_retract(r, &r->acc, &r->input);
    case AGG_MERGE_MAP:
        return map_retract(r, &r->acc, &r->input);
    case AGG_NESTED_UPDATE:
        return nested_retract(r, &r->acc, &r->input);
    default:
        return tl_merge__no_retract(r->col);
    }
}

static tl_status reduce_group(list_reduce *r, uint32_t g, element_list *keys)
{
    const merge_view *view = r->col->view;
    bool partial = r->col->rule->fn == AGG_NESTED_PARTIAL_UPDATE;
    uint32_t base = 0;
    r->acc.null = r->acc.raw = true;
    r->acc.list.n = 0;
    for (uint32_t e = view->starts[g]; e < view->starts[g + 1]; e++) {
        uint8_t action = merge_action_at(view, e);
        if (action == ACT_NONE)
            continue;
        TL_TRY(load(r, view->refs[e], action == ACT_SET ? &r->acc : &r->input));
        if (action == ACT_SET)
            continue;
        if (action == ACT_RETRACT || action == ACT_RETRACT_LATE)
            TL_TRY(apply_retract(r));
        else if (partial)
            TL_TRY(action == ACT_ADD ? partial_add(r, &r->acc, &r->input, keys, &base)
                                     : partial_add_late(r, &r->acc, &r->input, keys, &base));
        else
            TL_TRY(action == ACT_ADD ? apply_add(r, &r->acc, &r->input) : apply_late(r));
    }
    if (!partial)
        return TL_OK;
    TL_TRY(order_partial(r, &r->acc, keys, base));
    return close_partial(r, &r->acc);
}

static tl_status reduce_groups(list_reduce *r, uint8_t *valid)
{
    element_list keys = {0};
    tl_status status = TL_OK;
    r->result->offsets[0] = 0;
    for (uint32_t g = 0; g < r->col->view->n_groups && status == TL_OK; g++) {
        status = reduce_group(r, g, &keys);
        if (status != TL_OK)
            break;
        valid[g] = !r->acc.null;
        if (!r->acc.null)
            status = tl_merge__elements_reserve(&r->items, r->acc.list.n, r->col->err);
        if (status == TL_OK && !r->acc.null && r->acc.list.n > 0) {
            memcpy(r->items.items + r->items.n, r->acc.list.items, r->acc.list.n * sizeof(tl_rowref));
            r->items.n += r->acc.list.n;
        }
        if (status == TL_OK && r->items.n > INT32_MAX)
            status =
                tl_error_set(r->col->err, TL_E_LIMIT, "column '%s': more than 2^31-1 elements in a batch", r->col->field->name);
        r->result->offsets[g + 1] = (int32_t)r->items.n;
    }
    tl_merge__elements_deinit(&keys);
    return status;
}

/* ---- result ---- */

static tl_status gather_composites(list_reduce *r, tl_column **out)
{
    const tl_type *row_type = r->col->field->type->fields[0].type;
    uint32_t n = r->items.n;
    TL_CLEANUP(tl_column_unrefp) tl_column *rows = NULL;
    TL_TRY(tl_column_alloc(row_type, n, &rows, r->col->err));
    tl_rowref *refs = tl_arena_alloc(r->col->arena, n * sizeof *refs);
    const tl_column **srcs = tl_arena_alloc(r->col->arena, r->col->n_srcs * sizeof *srcs);
    if (refs == NULL || srcs == NULL)
        return tl_nomem(r->col->err, "merge");
    for (int32_t f = 0; f < r->n_fields; f++) {
        for (uint32_t k = 0; k < r->col->n_srcs; k++)
            srcs[k] = r->elements[k]->children[f];
        for (uint32_t i = 0; i < n; i++)
            refs[i] = r->composites[(size_t)r->items.items[i].row * (size_t)r->n_fields + (size_t)f];
        TL_TRY(tl_column_gather_multi(row_type->fields[f].type, srcs, refs, n, &rows->children[f], r->col->err));
    }
    for (uint32_t i = 0; i < n; i++)
        rows->null_count += r->items.items[i].src == 1;
    if (rows->null_count > 0) {
        rows->validity = tl_calloc(tl_bitmap_bytes(n) + 8, 1);
        if (rows->validity == NULL)
            return tl_nomem(r->col->err, "merge");
        for (uint32_t i = 0; i < n; i++)
            tl_bit_put(rows->validity, i, r->items.items[i].src == 0);
    }
    *out = TL_STEAL(rows);
    return TL_OK;
}

static tl_status build_children(list_reduce *r)
{
    const tl_type *type = r->col->field->type;
    if (r->col->rule->fn == AGG_NESTED_PARTIAL_UPDATE)
        return gather_composites(r, &r->result->children[0]);
    TL_TRY(tl_column_gather_multi(type->fields[0].type, r->elements, r->items.items, r->items.n, &r->result->children[0],
                                  r->col->err));
    if (r->result->n_children < 2)
        return TL_OK;
    return tl_column_gather_multi(type->fields[1].type, r->values, r->items.items, r->items.n, &r->result->children[1],
                                  r->col->err);
}

/* ---- setting up ---- */

static tl_status load_sources(list_reduce *r)
{
    const merge_column *col = r->col;
    const column_rule *rule = col->rule;
    size_t n = col->n_srcs, n_key = (size_t)TL_MAX(rule->n_nested_key, 1);
    r->elements = tl_arena_alloc(col->arena, n * sizeof *r->elements);
    r->values = tl_arena_alloc(col->arena, n * sizeof *r->values);
    r->key = (element_key){tl_arena_alloc(col->arena, n_key * n * sizeof *r->key.cols), (int32_t)n_key, col->n_srcs};
    if (r->elements == NULL || r->values == NULL || r->key.cols == NULL)
        return tl_nomem(col->err, "merge");
    for (uint32_t k = 0; k < n; k++) {
        const tl_column *src = col->srcs[k];
        r->elements[k] = src->children[0];
        r->values[k] = src->n_children > 1 ? src->children[1] : NULL;
        for (size_t c = 0; c < n_key; c++)
            r->key.cols[c * n + k] =
                rule->n_nested_key > 0 ? src->children[0]->children[rule->nested_key[c]] : src->children[0];
    }
    const tl_type *element = col->field->type->fields[0].type;
    r->n_fields = element->kind == TL_ROW ? element->n_fields : 0;
    return TL_OK;
}

static void deinit(list_reduce *r)
{
    tl_merge__elements_deinit(&r->acc.list);
    tl_merge__elements_deinit(&r->input.list);
    tl_merge__elements_deinit(&r->items);
    tl_merge__index_deinit(&r->index);
    tl_free(r->composites);
    tl_column_unref(r->result);
}

static tl_status reduce(list_reduce *r)
{
    uint32_t n = r->col->view->n_groups;
    TL_TRY(load_sources(r));
    TL_TRY(tl_column_alloc(r->col->field->type, n, &r->result, r->col->err));
    uint8_t *valid = tl_arena_alloc(r->col->arena, n);
    if (valid == NULL)
        return tl_nomem(r->col->err, "merge");
    TL_TRY(reduce_groups(r, valid));
    TL_TRY(build_children(r));
    return tl_merge__set_validity(r->result, valid, r->col->err);
}

tl_status tl_merge__reduce_lists(const merge_column *col, tl_column **out)
{
    list_reduce r = {.col = col};
    tl_status status = reduce(&r);
    if (status == TL_OK)
        *out = TL_STEAL(r.result);
    deinit(&r);
    return status;
}
