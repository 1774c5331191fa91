/* Functions of maps, and those that split text into lists. */
#include "sql/bind.h"
#include "sql/nested.h"
#include "sql/text_util.h"
#include "types/key.h"

static const tl_column *keys_of(const tl_vec *v)
{
    return v->col->children[0];
}

static const tl_column *values_of(const tl_vec *v)
{
    return v->col->children[1];
}

/* ---- types ---- */

static tl_status map_of(tl_binder *b, const tl_type *key, const tl_type *value, bool nullable, const tl_type **out)
{
    TL_TRY(tl_type_create_map(nullable, key, value, out, b->err));
    return tl_sql__own_type(b->stmt, *out, b->err);
}

static tl_status array_of(tl_binder *b, const tl_type *element, bool nullable, const tl_type **out)
{
    TL_TRY(tl_type_create_array(nullable, element, out, b->err));
    return tl_sql__own_type(b->stmt, *out, b->err);
}

/** MAP[k, v, …]: keys have one type, values too. */
static tl_status map_rule(tl_binder *b, const tl_sql_function *fn, tl_expr **args, int32_t n, const tl_type **out)
{
    (void)fn;
    if (n == 0)
        return tl_error_set(b->err, TL_E_INVALID, "Map requires at least 2 arguments");
    const tl_type *types[2];
    for (int32_t side = 0; side < 2; side++) {
        bool nullable = false;
        for (int32_t i = side; i < n; i += 2)
            nullable = nullable || args[i]->type->nullable;
        TL_TRY(tl_bind__nullable(b, args[side]->type, nullable, &types[side]));
    }
    return map_of(b, types[0], types[1], false, out);
}

static tl_status value_rule(tl_binder *b, const tl_sql_function *fn, tl_expr **args, int32_t n, const tl_type **out)
{
    (void)fn;
    (void)n;
    return tl_bind__nullable(b, args[0]->type->fields[1].type, true, out);
}

static tl_status keys_rule(tl_binder *b, const tl_sql_function *fn, tl_expr **args, int32_t n, const tl_type **out)
{
    (void)n;
    const tl_type *map = args[0]->type;
    return array_of(b, map->fields[strcmp(fn->name, "MAP_VALUES") == 0].type, map->nullable, out);
}

static tl_status entries_rule(tl_binder *b, const tl_sql_function *fn, tl_expr **args, int32_t n, const tl_type **out)
{
    (void)fn;
    (void)n;
    static const char *const names[2] = {"key", "value"};
    const tl_type *types[2] = {args[0]->type->fields[0].type, args[0]->type->fields[1].type}, *row;
    TL_TRY(tl_bind__row_type(b, names, types, 2, &row));
    TL_TRY(tl_bind__nullable(b, row, true, &row));
    return array_of(b, row, args[0]->type->nullable, out);
}

static tl_status from_arrays_rule(tl_binder *b, const tl_sql_function *fn, tl_expr **args, int32_t n, const tl_type **out)
{
    (void)fn;
    (void)n;
    return map_of(b, args[0]->type->fields[0].type, args[1]->type->fields[0].type, args[0]->type->nullable || args[1]->type->nullable, out);
}

static tl_status same_map_rule(tl_binder *b, const tl_sql_function *fn, tl_expr **args, int32_t n, const tl_type **out)
{
    bool nullable = false;
    for (int32_t i = 0; i < n; i++) {
        if (args[i]->type->kind != TL_MAP)
            return tl_error_set(b->err, TL_E_INVALID, "%s needs maps, not %s", fn->name, tl_bind__type_text(b, args[i]->type));
        nullable = nullable || args[i]->type->nullable;
    }
    return tl_bind__nullable(b, args[0]->type, nullable, out);
}

static tl_status text_map_rule(tl_binder *b, const tl_sql_function *fn, tl_expr **args, int32_t n, const tl_type **out)
{
    (void)fn;
    (void)args;
    (void)n;
    const tl_type *text;
    TL_TRY(tl_bind__simple_type(b, TL_VARCHAR, true, TL_LENGTH_MAX, 0, &text));
    return map_of(b, text, text, /* nullable= */ true, out);
}

static tl_status split_rule(tl_binder *b, const tl_sql_function *fn, tl_expr **args, int32_t n, const tl_type **out)
{
    (void)fn;
    (void)n;
    const tl_type *text;
    TL_TRY(tl_bind__simple_type(b, TL_VARCHAR, true, TL_LENGTH_MAX, 0, &text));
    return array_of(b, text, args[0]->type->nullable || args[1]->type->nullable, out);
}

static tl_status multiset_rule(tl_binder *b, const tl_sql_function *fn, tl_expr **args, int32_t n, const tl_type **out)
{
    (void)fn;
    (void)n;
    TL_TRY(tl_type_create_multiset(false, args[0]->type->fields[0].type, out, b->err));
    return tl_sql__own_type(b->stmt, *out, b->err);
}

/* ---- making ---- */

/** Keys of each row once, later ones win. */
static tl_status map_rows(tl_kernel *k, tl_nested *o, const tl_column *const *keys)
{
    uint32_t pairs = (uint32_t)k->n_args / 2;
    tl_elements seen = {0};
    tl_status status = TL_OK;
    for (int64_t i = 0; i < k->n && status == TL_OK; i++) {
        status = tl_elements_reset(&seen, keys, pairs, k->err);
        for (uint32_t p = 0; p < pairs && status == TL_OK; p++)
            status = tl_nested_add_unique(o, &seen, p, i);
        tl_nested_end(o);
    }
    tl_elements_deinit(&seen);
    return status;
}

/** References are shared by keys and values: constants (one row) are spread out first. */
static tl_status spread_constants(tl_kernel *k, tl_column **spread)
{
    for (int32_t a = 0; a < k->n_args; a++) {
        if (k->args[a].step == 0)
            TL_TRY(tl_column_repeat(k->args[a].col, 0, k->n, &spread[a], k->err));
        else
            spread[a] = tl_column_ref(k->args[a].col);
    }
    return TL_OK;
}

static tl_status map_kernel(tl_kernel *k)
{
    int32_t pairs = k->n_args / 2;
    tl_column **spread = tl_calloc((size_t)k->n_args * 2, sizeof *spread);
    if (spread == NULL)
        return tl_nomem(k->err, "batch");
    tl_column **srcs = spread + k->n_args; /* keys, then values; borrowed */
    tl_nested o = {0};
    tl_status status = spread_constants(k, spread);
    for (int32_t a = 0; a < k->n_args; a++)
        srcs[a % 2 * pairs + a / 2] = spread[a];
    const tl_column *const *keys = (const tl_column *const *)srcs;
    if (status == TL_OK)
        status = tl_nested_init(&o, k);
    if (status == TL_OK)
        status = map_rows(k, &o, keys);
    if (status == TL_OK)
        status = tl_nested_finish(&o, (const tl_column *const *const[]){keys, keys + pairs});
    tl_nested_deinit(&o);
    for (int32_t a = 0; a < k->n_args; a++)
        tl_column_unref(spread[a]);
    tl_free(spread);
    return status;
}

static tl_status from_arrays_rows(tl_kernel *k, tl_nested *keys, tl_nested *values)
{
    for (int64_t i = 0; i < k->n; i++) {
        if (!tl_kernel_is_valid(k, i)) {
            tl_nested_end_null(keys);
            continue;
        }
        int32_t from[2], to[2];
        for (int a = 0; a < 2; a++)
            tl_nested_range(&k->args[a], i, &from[a], &to[a]);
        if (to[0] - from[0] != to[1] - from[1])
            return tl_error_set(k->err, TL_E_INVALID,
                                "Invalid function MAP_FROM_ARRAYS call:\nThe length of the keys array %d is not equal to the length of the values array %d",
                                (int)(to[0] - from[0]), (int)(to[1] - from[1]));
        for (int32_t e = 0; e < to[0] - from[0]; e++) {
            TL_TRY(tl_nested_add(keys, 0, from[0] + e));
            TL_TRY(tl_nested_add(values, 0, from[1] + e));
        }
        tl_nested_end(keys);
    }
    return TL_OK;
}

/** Keys and values stand at different places: the values are gathered by themselves. */
static tl_status from_arrays_kernel(tl_kernel *k)
{
    tl_nested keys, values;
    TL_TRY(tl_nested_init(&keys, k));
    tl_status status = tl_nested_init(&values, k);
    if (status == TL_OK)
        status = from_arrays_rows(k, &keys, &values);
    const tl_column *key_src = k->args[0].col->children[0], *value_src = k->args[1].col->children[0];
    const tl_column *const *srcs[2] = {&key_src, NULL};
    if (status == TL_OK)
        status = tl_nested_finish(&keys, srcs);
    if (status == TL_OK)
        status = tl_column_gather_multi(k->type->fields[1].type, &value_src, values.refs != NULL ? values.refs : &(tl_rowref){0, 0}, values.n, &k->out->children[1], k->err);
    tl_nested_deinit(&keys);
    tl_nested_deinit(&values);
    return status;
}

/** Later maps win. */
static tl_status union_rows(tl_kernel *k, tl_nested *o, tl_elements *seen, const tl_column *const *keys)
{
    for (int64_t i = 0; i < k->n; i++) {
        if (!tl_kernel_is_valid(k, i)) {
            tl_nested_end_null(o);
            continue;
        }
        int64_t total = 0;
        int32_t from, to;
        for (int32_t a = 0; a < k->n_args; a++) {
            tl_nested_range(&k->args[a], i, &from, &to);
            total += to - from;
        }
        TL_TRY(tl_elements_reset(seen, keys, total, k->err));
        for (int32_t a = 0; a < k->n_args; a++) {
            tl_nested_range(&k->args[a], i, &from, &to);
            for (int32_t e = from; e < to; e++)
                TL_TRY(tl_nested_add_unique(o, seen, (uint32_t)a, e));
        }
        tl_nested_end(o);
    }
    return TL_OK;
}

static tl_status union_kernel(tl_kernel *k)
{
    const tl_column **srcs = tl_alloc((size_t)k->n_args * 2 * sizeof *srcs);
    if (srcs == NULL)
        return tl_nomem(k->err, "batch");
    for (int32_t a = 0; a < k->n_args; a++) {
        srcs[a] = keys_of(&k->args[a]);
        srcs[k->n_args + a] = values_of(&k->args[a]);
    }
    tl_elements seen = {0};
    tl_nested o;
    tl_status status = tl_nested_init(&o, k);
    if (status == TL_OK)
        status = union_rows(k, &o, &seen, srcs);
    if (status == TL_OK)
        status = tl_nested_finish(&o, (const tl_column *const *const[]){srcs, srcs + k->n_args});
    tl_nested_deinit(&o);
    tl_elements_deinit(&seen);
    tl_free(srcs);
    return status;
}

/* ---- looking ---- */

static tl_status value_kernel(tl_kernel *k)
{
    const tl_vec *map = &k->args[0], *key = &k->args[1];
    tl_rowref *refs = tl_alloc(((size_t)k->n + 1) * sizeof *refs);
    if (refs == NULL)
        return tl_nomem(k->err, "batch");
    for (int64_t i = 0; i < k->n; i++) {
        int32_t from = 0, to = 0;
        refs[i] = (tl_rowref){0, TL_ROW_NULL};
        if (!tl_vec_is_null(map, i))
            tl_nested_range(map, i, &from, &to);
        for (int32_t e = from; e < to && refs[i].row == TL_ROW_NULL; e++)
            if (tl_column_equal(keys_of(map), e, key->col, tl_vec_row(key, i)))
                refs[i].row = (uint32_t)e;
    }
    const tl_column *src = values_of(map);
    tl_status status = tl_column_gather_multi(k->type, &src, refs, k->n, &k->out, k->err);
    tl_free(refs);
    return status;
}

/** The lists of a map as an array of keys, of values, or of both: the same offsets over other children. */
static tl_status relist(tl_kernel *k, tl_column *child)
{
    tl_column *out;
    const tl_column *map = k->args[0].col;
    tl_status status = tl_column_alloc(k->type, map->length, &out, k->err);
    if (status != TL_OK) {
        tl_column_unref(child);
        return status;
    }
    out->children[0] = child;
    memcpy(out->offsets, map->offsets, ((size_t)map->length + 1) * sizeof *map->offsets);
    if (map->validity != NULL) {
        out->validity = tl_memdup(map->validity, tl_bitmap_bytes(map->length) + (map->length == 0));
        out->null_count = map->null_count;
        if (out->validity == NULL) {
            tl_column_unref(out);
            return tl_nomem(k->err, "batch");
        }
    }
    k->out = out;
    return TL_OK;
}

static tl_status keys_kernel(tl_kernel *k)
{
    return relist(k, tl_column_ref(k->args[0].col->children[strcmp(k->fn->name, "MAP_VALUES") == 0]));
}

static tl_status entries_kernel(tl_kernel *k)
{
    const tl_column *map = k->args[0].col;
    tl_column *rows;
    TL_TRY(tl_column_alloc(k->type->fields[0].type, map->children[0]->length, &rows, k->err));
    rows->children[0] = tl_column_ref(map->children[0]);
    rows->children[1] = tl_column_ref(map->children[1]);
    return relist(k, rows);
}

/* ---- text into lists ---- */

/** Pieces of text of all rows: what the lists refer to. */
typedef struct pieces {
    tl_builder *builder[2]; /* keys, values */
    int64_t n;
    int64_t *ends; /* of each row's pieces */
} pieces;

static tl_status add_piece(tl_kernel *k, tl_builder *builder, const void *data, size_t bytes)
{
    tl_status status = data == NULL ? tl_builder_null(builder) : tl_builder_bytes(builder, data, bytes);
    return status == TL_OK ? TL_OK : tl_builder_error(builder, status, k->err);
}

static tl_status add_single(tl_kernel *k, pieces *p, const void *data, size_t bytes)
{
    p->n++;
    return add_piece(k, p->builder[0], data, bytes);
}

static tl_status split_units(tl_kernel *k, pieces *p, tl_bytes_view text)
{
    uint16_t *units = NULL;
    size_t n = 0;
    if (tl_text__to_utf16(text, &units, &n) != TL_OK)
        return tl_nomem(k->err, "text");
    tl_status status = TL_OK;
    for (size_t i = 0; i < n && status == TL_OK; i++) {
        tl_buf one = {0};
        status = tl_text__append_utf16(&one, &units[i], 1) == TL_OK ? add_single(k, p, one.data, one.len) : tl_nomem(k->err, "text");
        tl_buf_deinit(&one);
    }
    tl_free(units);
    return status;
}

static tl_status split_text(tl_kernel *k, pieces *p, int64_t i)
{
    tl_bytes_view text = tl_vec_bytes(&k->args[0], i), separator = tl_vec_bytes(&k->args[1], i);
    if (text.len == 0)
        return TL_OK;
    if (separator.len == 0)
        return split_units(k, p, text);
    size_t from = 0;
    for (;;) {
        size_t at = tl_text__find(text, separator, from), end = at == SIZE_MAX ? text.len : at;
        TL_TRY(add_single(k, p, text.data + from, end - from));
        if (at == SIZE_MAX)
            return TL_OK;
        from = at + separator.len;
    }
}

/** The separators of STR_TO_MAP: regular expressions, compiled when they change. */
typedef struct separators {
    tl_regex *regex[2];
    tl_bytes_view pattern[2];
} separators;

static tl_status separator_of(tl_kernel *k, separators *s, int which, int64_t i)
{
    tl_bytes_view pattern = k->n_args > which + 1 ? tl_vec_bytes(&k->args[which + 1], i) : (tl_bytes_view){(const uint8_t *)(which == 0 ? "," : "="), 1};
    if (s->regex[which] != NULL && pattern.len == s->pattern[which].len && memcmp(pattern.data, s->pattern[which].data, pattern.len) == 0)
        return TL_OK;
    tl_regex__free(s->regex[which]);
    s->regex[which] = NULL;
    s->pattern[which] = pattern;
    return tl_regex__compile(pattern, &s->regex[which], k->err);
}

/** One `key=value`: what stands before the first separator and behind it. */
static tl_status add_pair(tl_kernel *k, pieces *p, separators *s, tl_bytes_view pair)
{
    size_t group[2];
    int n_groups;
    bool found;
    TL_TRY(tl_regex__find(s->regex[1], pair, 0, group, 1, &n_groups, &found, k->err));
    if (found && group[1] == 0)
        found = false;
    p->n++;
    TL_TRY(add_piece(k, p->builder[0], pair.len > 0 ? pair.data : (const uint8_t *)"", found ? group[0] : pair.len));
    return add_piece(k, p->builder[1], found ? pair.data + group[1] : NULL, found ? pair.len - group[1] : 0);
}

/** As Java's split(): empty pieces at the end are none. */
static tl_status str_to_map(tl_kernel *k, pieces *p, separators *s, int64_t i)
{
    tl_bytes_view text = tl_vec_bytes(&k->args[0], i);
    size_t from = 0;
    int64_t empty = 0; /* pieces that are empty so far */
    TL_TRY(separator_of(k, s, 0, i));
    TL_TRY(separator_of(k, s, 1, i));
    while (from < text.len) {
        size_t group[2] = {0, 0};
        int n_groups;
        bool found;
        TL_TRY(tl_regex__find(s->regex[0], text, from, group, 1, &n_groups, &found, k->err));
        if (found && group[1] == group[0]) /* an empty match separates nothing here */
            found = false;
        size_t end = found ? group[0] : text.len;
        if (end == from) {
            empty++;
        } else {
            for (; empty > 0; empty--)
                TL_TRY(add_pair(k, p, s, (tl_bytes_view){NULL, 0}));
            TL_TRY(add_pair(k, p, s, (tl_bytes_view){text.data + from, end - from}));
        }
        from = found ? group[1] : text.len;
    }
    return TL_OK;
}

static tl_status cut_rows(tl_kernel *k, pieces *p)
{
    separators s = {0};
    tl_status status = TL_OK;
    for (int64_t i = 0; i < k->n && status == TL_OK; i++) {
        if (tl_kernel_is_valid(k, i))
            status = k->type->kind == TL_MAP ? str_to_map(k, p, &s, i) : split_text(k, p, i);
        p->ends[i] = p->n;
    }
    tl_regex__free(s.regex[0]);
    tl_regex__free(s.regex[1]);
    return status;
}

/** The lists over all pieces; keys of maps once. */
static tl_status list_pieces(tl_kernel *k, const pieces *p, tl_nested *o, const tl_column *keys)
{
    bool map = k->type->kind == TL_MAP;
    tl_elements seen = {0};
    tl_status status = TL_OK;
    for (int64_t i = 0, at = 0; i < k->n && status == TL_OK; i++) {
        if (!tl_kernel_is_valid(k, i)) {
            tl_nested_end_null(o);
            continue;
        }
        if (map)
            status = tl_elements_reset(&seen, &keys, p->ends[i] - at, k->err);
        for (; at < p->ends[i] && status == TL_OK; at++)
            status = map ? tl_nested_add_unique(o, &seen, 0, at) : tl_nested_add(o, 0, at);
        tl_nested_end(o);
    }
    tl_elements_deinit(&seen);
    return status;
}

static tl_status pieces_kernel(tl_kernel *k)
{
    int n = k->type->kind == TL_MAP ? 2 : 1;
    pieces p = {.ends = tl_alloc(((size_t)k->n + 1) * sizeof *p.ends)};
    tl_column *cols[2] = {NULL, NULL};
    tl_nested o = {0};
    tl_status status = p.ends != NULL ? tl_nested_init(&o, k) : tl_nomem(k->err, "batch");
    for (int c = 0; c < n && status == TL_OK; c++)
        status = tl_builder_create(k->type->fields[c].type, &p.builder[c], k->err);
    if (status == TL_OK)
        status = cut_rows(k, &p);
    for (int c = 0; c < n && status == TL_OK; c++)
        status = tl_builder_finish(p.builder[c], &cols[c], k->err);
    if (status == TL_OK)
        status = list_pieces(k, &p, &o, cols[0]);
    if (status == TL_OK)
        status = tl_nested_finish(&o, (const tl_column *const *const[]){(const tl_column *const *)&cols[0], (const tl_column *const *)&cols[1]});
    for (int c = 0; c < 2; c++) {
        tl_builder_free(p.builder[c]);
        tl_column_unref(cols[c]);
    }
    tl_nested_deinit(&o);
    tl_free(p.ends);
    return status;
}

/* ---- COLLECT ---- */

/** Counts of equal elements. */
static tl_status multiset_rows(tl_kernel *k, tl_nested *o, tl_elements *seen, tl_builder *counts, const tl_column *const *srcs)
{
    for (int64_t i = 0; i < k->n; i++) {
        int32_t from, to;
        tl_nested_range(&k->args[0], i, &from, &to);
        if (tl_vec_is_null(&k->args[0], i))
            to = from;
        TL_TRY(tl_elements_reset(seen, srcs, to - from, k->err));
        int32_t *count = tl_calloc((size_t)(to - from) + 1, sizeof *count);
        if (count == NULL)
            return tl_nomem(k->err, "batch");
        bool is_new;
        for (int32_t e = from; e < to; e++)
            count[tl_elements_add(seen, 0, e, &is_new)]++;
        tl_status status = TL_OK;
        for (uint32_t d = 0; d < seen->n && status == TL_OK; d++) {
            status = tl_nested_add(o, 0, seen->items[d].row);
            if (status == TL_OK && (status = tl_builder_int(counts, count[d])) != TL_OK)
                status = tl_builder_error(counts, status, k->err);
        }
        tl_free(count);
        TL_TRY(status);
        tl_nested_end(o);
    }
    return TL_OK;
}

static tl_status multiset_kernel(tl_kernel *k)
{
    const tl_column *src = k->args[0].col->children[0];
    tl_elements seen = {0};
    tl_builder *counts = NULL;
    tl_nested o;
    TL_TRY(tl_nested_init(&o, k));
    tl_status status = tl_builder_create(k->type->fields[1].type, &counts, k->err);
    if (status == TL_OK)
        status = multiset_rows(k, &o, &seen, counts, &src);
    const tl_column *const *srcs[2] = {&src, NULL};
    if (status == TL_OK)
        status = tl_nested_finish(&o, srcs);
    if (status == TL_OK)
        status = tl_builder_finish(counts, &k->out->children[1], k->err);
    tl_builder_free(counts);
    tl_elements_deinit(&seen);
    tl_nested_deinit(&o);
    return status;
}

const tl_sql_function tl_fn_maps[] = {
    {.name = "MAP", .args = "X*", .kernel = map_kernel, .rule = map_rule, .flags = TL_FN_NULLS | TL_FN_SETS_OUT},
    {.name = "$INDEX", .args = "PX", .kernel = value_kernel, .rule = value_rule, .flags = TL_FN_NULLS | TL_FN_SETS_OUT},
    {.name = "MAP_KEYS", .args = "P", .kernel = keys_kernel, .rule = keys_rule, .flags = TL_FN_NULLS | TL_FN_SETS_OUT},
    {.name = "MAP_VALUES", .args = "P", .kernel = keys_kernel, .rule = keys_rule, .flags = TL_FN_NULLS | TL_FN_SETS_OUT},
    {.name = "MAP_ENTRIES", .args = "P", .kernel = entries_kernel, .rule = entries_rule, .flags = TL_FN_NULLS | TL_FN_SETS_OUT},
    {.name = "MAP_FROM_ARRAYS", .args = "AA", .kernel = from_arrays_kernel, .rule = from_arrays_rule, .flags = TL_FN_SETS_OUT | TL_FN_CAN_FAIL},
    {.name = "MAP_UNION", .args = "P=*", .kernel = union_kernel, .rule = same_map_rule, .flags = TL_FN_SETS_OUT},
    {.name = "STR_TO_MAP", .args = "S?SS", .kernel = pieces_kernel, .rule = text_map_rule, .flags = TL_FN_SETS_OUT | TL_FN_CAN_FAIL},
    {.name = "SPLIT", .args = "SS", .kernel = pieces_kernel, .rule = split_rule, .flags = TL_FN_SETS_OUT},
    {.name = "$MULTISET", .args = "A", .kernel = multiset_kernel, .rule = multiset_rule, .flags = TL_FN_NULLS | TL_FN_SETS_OUT},
    {.name = NULL},
};
