/*
 * Checks of a table's merge options at CREATE and ALTER, in the reference's order and words (Java: SchemaValidation,
 * PartialUpdateMergeFunction.Factory), and the columns that a projected read needs besides those asked for.
 *
 * What the reference finds out only at the first write (a function on a column of the wrong type) is not refused here; what it would answer
 * wrongly for ever is, for new tables (tl_merge_check_new).
 */
#include "merge/merge_private.h"

typedef struct check {
    const tl_type *row_type;
    const tl_options *options;
    const char *option; /* whose value is being looked at */
    bool *seen;         /* by column */
    bool *sequence;     /* by column: sequence column of some group */
} check;

static int text_len(tl_bytes_view text)
{
    return (int)TL_MIN(text.len, 200);
}

static tl_status missing_field(tl_bytes_view name, const char *end, tl_error *err)
{
    return tl_error_set(err, TL_E_INVALID, "Field %.*s can not be found in table schema%s", text_len(name),
                        (const char *)name.data, end);
}

static tl_status check_prefix_field(void *ctx, tl_bytes_view name, tl_error *err)
{
    const check *c = ctx;
    static const char default_function[] = "default-aggregate-function";
    if (name.len == strlen(default_function) && memcmp(name.data, default_function, name.len) == 0)
        return TL_OK;
    return tl_merge__field(c->row_type, name) >= 0 ? TL_OK : missing_field(name, ".", err);
}

/* `fields.A,B.OPTION`: A and B must be columns. */
static tl_status check_prefixes(check *c, tl_error *err)
{
    for (size_t i = 0; i < c->options->count; i++) {
        const char *key = c->options->keys[i];
        if (strncmp(key, "fields.", 7) != 0)
            continue;
        const char *end = strchr(key + 7, '.');
        TL_CLEANUP(tl_freep) char *names = end == NULL ? tl_strdup(key + 7) : tl_strndup(key + 7, (size_t)(end - key - 7));
        if (names == NULL)
            return tl_nomem(err, "options");
        TL_TRY(tl_merge__split(names, /* trim= */ false, check_prefix_field, c, err));
    }
    return TL_OK;
}

static tl_status check_sequence_field(void *ctx, tl_bytes_view name, tl_error *err)
{
    check *c = ctx;
    int32_t i = tl_merge__field(c->row_type, name);
    if (i < 0)
        return tl_error_set(err, TL_E_INVALID, "Sequence field: '%.*s' can not be found in table schema.", text_len(name),
                            (const char *)name.data);
    TL_CLEANUP(tl_freep) char *key = tl_strf("fields.%s.aggregate-function", c->row_type->fields[i].name);
    if (key == NULL)
        return tl_nomem(err, "options");
    if (tl_options_get(c->options, key) != NULL)
        return tl_error_set(err, TL_E_INVALID, "Should not define aggregation on sequence field: '%s'.",
                            c->row_type->fields[i].name);
    if (c->seen[i])
        return tl_error_set(err, TL_E_INVALID, "Sequence field '%s' is defined repeatedly.", c->row_type->fields[i].name);
    c->seen[i] = true;
    return TL_OK;
}

static tl_status check_sequence(check *c, tl_merge_engine_kind kind, tl_error *err)
{
    const char *names = tl_options_get(c->options, "sequence.field");
    if (names == NULL)
        return TL_OK;
    TL_TRY(tl_merge__split(names, /* trim= */ true, check_sequence_field, c, err));
    if (kind == TL_ENGINE_FIRST_ROW)
        return tl_error_set(err, TL_E_INVALID, "Do not support use sequence field on FIRST_ROW merge engine.");
    return TL_OK;
}

static tl_status check_group_sequence(void *ctx, tl_bytes_view name, tl_error *err)
{
    check *c = ctx;
    int32_t i = tl_merge__field(c->row_type, name);
    if (i < 0)
        return missing_field(name, "", err);
    c->sequence[i] = true;
    return TL_OK;
}

static tl_status check_group_member(void *ctx, tl_bytes_view name, tl_error *err)
{
    check *c = ctx;
    int32_t i = tl_merge__field(c->row_type, name);
    if (i < 0)
        return missing_field(name, "", err);
    if (c->seen[i])
        return tl_error_set(err, TL_E_INVALID, "Field %s is defined repeatedly by multiple groups: %s",
                            c->row_type->fields[i].name, c->option);
    c->seen[i] = true;
    return TL_OK;
}

static tl_status check_removing(void *ctx, tl_bytes_view name, tl_error *err)
{
    check *c = ctx;
    int32_t i = tl_merge__field(c->row_type, name);
    if (i < 0 || !c->sequence[i])
        return tl_error_set(err, TL_E_INVALID, "field '%.*s' defined in '%s' option must be part of sequence groups",
                            text_len(name), (const char *)name.data, c->option);
    return TL_OK;
}

static tl_status conflict(const char *a, const char *b, tl_error *err)
{
    return tl_error_set(err, TL_E_INVALID, "%s and %s have conflicting behavior so should not be enabled at the same time.", a,
                        b);
}

/* The columns of each sequence group: those that order it, then those that it has. */
static tl_status each_group(check *c, tl_merge__part_fn on_sequence, tl_merge__part_fn on_member, bool *any, tl_error *err)
{
    for (size_t i = 0; i < c->options->count; i++) {
        tl_bytes_view names;
        c->option = c->options->keys[i];
        if (!tl_merge__is_group_key(c->option, &names))
            continue;
        TL_CLEANUP(tl_freep) char *sequence = tl_strndup((const char *)names.data, names.len);
        if (sequence == NULL)
            return tl_nomem(err, "options");
        TL_TRY(tl_merge__split(sequence, /* trim= */ false, on_sequence, c, err));
        TL_TRY(tl_merge__split(c->options->values[i], /* trim= */ false, on_member, c, err));
        *any = true;
    }
    return TL_OK;
}

static tl_status function_of(const check *c, int32_t column, const char **out, tl_error *err)
{
    TL_CLEANUP(tl_freep) char *key = tl_strf("fields.%s.aggregate-function", c->row_type->fields[column].name);
    if (key == NULL)
        return tl_nomem(err, "options");
    *out = tl_options_get(c->options, key);
    if (*out == NULL)
        *out = tl_options_get(c->options, "fields.default-aggregate-function");
    return TL_OK;
}

static tl_status check_partial_update(check *c, const int32_t *key_idx, int32_t n_keys, tl_error *err)
{
    bool any_group = false;
    TL_TRY(each_group(c, check_group_sequence, check_group_member, &any_group, err));
    for (int32_t i = 0; i < c->row_type->n_fields; i++) {
        bool key = false;
        const char *fn = NULL;
        for (int32_t k = 0; k < n_keys; k++)
            key = key || key_idx[k] == i;
        TL_TRY(function_of(c, i, &fn, err));
        if (!key && !c->sequence[i] && fn != NULL && !c->seen[i] && strcmp(fn, "last_non_null_value") != 0)
            return tl_error_set(err, TL_E_INVALID,
                                "Must use sequence group for aggregation functions but not found for field %s.",
                                c->row_type->fields[i].name);
    }
    static const char on_delete[] = "partial-update.remove-record-on-delete",
                      on_group[] = "partial-update.remove-record-on-sequence-group";
    bool ignore = tl_merge__ignores_deletes(c->options), remove = tl_merge__option_true(c->options, on_delete);
    const char *removing = tl_options_get(c->options, on_group);
    if (remove && ignore)
        return conflict("ignore-delete", on_delete, err);
    if (removing != NULL && ignore)
        return conflict("ignore-delete", on_group, err);
    if (remove && any_group)
        return conflict("sequence-group", on_delete, err);
    c->option = on_group;
    return removing == NULL ? TL_OK : tl_merge__split(removing, /* trim= */ false, check_removing, c, err);
}

static tl_status check_functions(const check *c, tl_error *err)
{
    for (int32_t i = 0; i < c->row_type->n_fields; i++) {
        const char *fn = NULL;
        agg_fn known;
        TL_TRY(function_of(c, i, &fn, err));
        if (fn != NULL && !tl_merge__find_function(fn, &known))
            return tl_error_set(err, TL_E_INVALID,
                                "Could not find any factory for identifier '%s': unknown aggregate function; there are: %s", fn,
                                tl_merge__function_names());
        if (fn != NULL)
            TL_TRY(tl_merge__check_ignore_retract(c->options, c->row_type->fields[i].name, err));
    }
    return TL_OK;
}

tl_status tl_merge_validate(const tl_type *row_type, const int32_t *key_idx, int32_t n_keys, const tl_options *options,
                            tl_error *err)
{
    tl_merge_engine_kind kind;
    TL_TRY(tl_merge__parse_kind(options, &kind, err));
    size_t n = (size_t)TL_MAX(row_type->n_fields, 1);
    TL_CLEANUP(tl_freep) bool *flags = tl_calloc(2 * n, sizeof *flags);
    if (flags == NULL)
        return tl_nomem(err, "options");
    check c = {.row_type = row_type, .options = options, .seen = flags, .sequence = flags + n};
    TL_TRY(check_prefixes(&c, err));
    TL_TRY(check_sequence(&c, kind, err));
    if (n_keys == 0)
        return TL_OK;
    memset(flags, 0, 2 * n);
    if (kind == TL_ENGINE_PARTIAL_UPDATE)
        TL_TRY(check_partial_update(&c, key_idx, n_keys, err));
    return kind == TL_ENGINE_PARTIAL_UPDATE || kind == TL_ENGINE_AGGREGATION ? check_functions(&c, err) : TL_OK;
}

/* ---- new tables ---- */

/* `seen`: the key columns. */
static tl_status check_no_key(void *ctx, tl_bytes_view name, tl_error *err)
{
    const check *c = ctx;
    int32_t i = tl_merge__field(c->row_type, name);
    if (i < 0 || !c->seen[i])
        return TL_OK;
    return tl_error_set(err, TL_E_INVALID,
                        "The sequence-group '%s' contains primary key field '%s', which is not allowed. Primary key columns cannot be put in "
                        "sequence-group.",
                        c->option, c->row_type->fields[i].name);
}

static tl_status check_ordered(const check *c, tl_error *err)
{
    for (int32_t i = 0; i < c->row_type->n_fields; i++) {
        const char *fn = NULL;
        TL_TRY(function_of(c, i, &fn, err));
        bool compares = fn != NULL && (strcmp(fn, "max") == 0 || strcmp(fn, "min") == 0);
        if (compares && !c->seen[i] && !tl_merge__is_ordered(c->row_type->fields[i].type))
            return tl_error_set(err, TL_E_INVALID, "column '%s': aggregate function '%s': values of this type cannot be compared",
                                c->row_type->fields[i].name, fn);
    }
    return TL_OK;
}

tl_status tl_merge_check_new(const tl_type *row_type, const int32_t *key_idx, int32_t n_keys, const tl_options *options, tl_error *err)
{
    tl_merge_engine_kind kind;
    TL_TRY(tl_merge__parse_kind(options, &kind, err));
    TL_CLEANUP(tl_freep) bool *keys = tl_calloc((size_t)TL_MAX(row_type->n_fields, 1), sizeof *keys);
    if (keys == NULL)
        return tl_nomem(err, "options");
    for (int32_t k = 0; k < n_keys; k++)
        keys[key_idx[k]] = true;
    check c = {.row_type = row_type, .options = options, .seen = keys};
    bool any = false;
    if (kind == TL_ENGINE_PARTIAL_UPDATE)
        TL_TRY(each_group(&c, check_no_key, check_no_key, &any, err));
    return kind == TL_ENGINE_PARTIAL_UPDATE || kind == TL_ENGINE_AGGREGATION ? check_ordered(&c, err) : TL_OK;
}

/* ---- projection ---- */

/* Sequence columns of one group, needed if a member or one of themselves is. */
typedef struct need {
    const tl_type *row_type;
    const bool *wanted;
    bool *needed;
    bool any;
    bool mark;
} need;

static tl_status look_at_field(void *ctx, tl_bytes_view name, tl_error *err)
{
    need *n = ctx;
    (void)err;
    int32_t i = tl_merge__field(n->row_type, name);
    if (i < 0)
        return TL_OK;
    n->any = n->any || n->wanted[i];
    if (n->mark)
        n->needed[i] = true;
    return TL_OK;
}

static tl_status names_removing_field(void *ctx, tl_bytes_view name, tl_error *err)
{
    need *n = ctx;
    (void)err;
    int32_t i = tl_merge__field(n->row_type, name);
    n->any = n->any || (i >= 0 && n->needed[i]);
    return TL_OK;
}

static tl_status need_group(const tl_options *options, const char *sequence, const char *members, need *n, tl_error *err)
{
    n->any = n->mark = false;
    TL_TRY(tl_merge__split(sequence, /* trim= */ false, look_at_field, n, err));
    TL_TRY(tl_merge__split(members, /* trim= */ false, look_at_field, n, err));
    const char *removing = tl_options_get(options, "partial-update.remove-record-on-sequence-group");
    if (!n->any && removing != NULL) {
        /* A record that this group removes must be seen, whatever is read: the reference overlooks that. */
        TL_CLEANUP(tl_freep) bool *own = tl_calloc((size_t)n->row_type->n_fields, sizeof *own);
        if (own == NULL)
            return tl_nomem(err, "columns");
        need probe = {.row_type = n->row_type, .wanted = n->wanted, .needed = own, .mark = true};
        TL_TRY(tl_merge__split(sequence, /* trim= */ false, look_at_field, &probe, err));
        probe.any = false;
        TL_TRY(tl_merge__split(removing, /* trim= */ false, names_removing_field, &probe, err));
        n->any = probe.any;
    }
    n->mark = n->any;
    return tl_merge__split(sequence, /* trim= */ false, look_at_field, n, err);
}

tl_status tl_merge_required_columns(const tl_type *table_row_type, const tl_options *options, const bool *wanted, bool *needed,
                                    tl_error *err)
{
    tl_merge_engine_kind kind;
    TL_TRY(tl_merge__parse_kind(options, &kind, err));
    need n = {.row_type = table_row_type, .wanted = wanted, .needed = needed, .mark = true};
    const char *sequence_field = tl_options_get(options, "sequence.field");
    if (sequence_field != NULL)
        TL_TRY(tl_merge__split(sequence_field, /* trim= */ true, look_at_field, &n, err));
    if (kind != TL_ENGINE_PARTIAL_UPDATE)
        return TL_OK;
    for (size_t i = 0; i < options->count; i++) {
        tl_bytes_view names;
        if (!tl_merge__is_group_key(options->keys[i], &names))
            continue;
        TL_CLEANUP(tl_freep) char *sequence = tl_strndup((const char *)names.data, names.len);
        if (sequence == NULL)
            return tl_nomem(err, "columns");
        TL_TRY(need_group(options, sequence, options->values[i], &n, err));
    }
    return TL_OK;
}
