/*
 * Options of the merge engines: names of engines and functions, lists of fields, and the rules by column made of them.
 * Source: format reference §14; Java: PartialUpdateMergeFunction.Factory, AggregateMergeFunction, FieldAggregatorFactory.
 */
#include "merge/merge_private.h"

#include <strings.h>

#include "base/parse.h"

#define GROUP_PREFIX "fields."
#define GROUP_SUFFIX ".sequence-group"

/* What type of column a function takes. */
typedef enum fn_domain {
    DOMAIN_ANY,
    DOMAIN_NUMERIC,
    DOMAIN_BOOLEAN,
    DOMAIN_STRING,
    DOMAIN_BYTES,
    DOMAIN_ARRAY,
    DOMAIN_MAP,
    DOMAIN_TABLE
} fn_domain;

typedef struct fn_entry {
    const char *name;
    agg_fn fn;
    fn_domain domain;
} fn_entry;

static const fn_entry functions[] = {
    {"bool_and", AGG_BOOL_AND, DOMAIN_BOOLEAN},
    {"bool_or", AGG_BOOL_OR, DOMAIN_BOOLEAN},
    {"collect", AGG_COLLECT, DOMAIN_ARRAY},
    {"first_non_null_value", AGG_FIRST_NON_NULL_VALUE, DOMAIN_ANY},
    {"first_not_null_value", AGG_FIRST_NON_NULL_VALUE, DOMAIN_ANY},
    {"first_value", AGG_FIRST_VALUE, DOMAIN_ANY},
    {"hll_sketch", AGG_HLL_SKETCH, DOMAIN_BYTES},
    {"last_non_null_value", AGG_LAST_NON_NULL_VALUE, DOMAIN_ANY},
    {"last_value", AGG_LAST_VALUE, DOMAIN_ANY},
    {"listagg", AGG_LISTAGG, DOMAIN_STRING},
    {"max", AGG_MAX, DOMAIN_ANY},
    {"merge_map", AGG_MERGE_MAP, DOMAIN_MAP},
    {"merge_map_with_keytime", AGG_MERGE_MAP_WITH_KEYTIME, DOMAIN_MAP},
    {"min", AGG_MIN, DOMAIN_ANY},
    {"nested_partial_update", AGG_NESTED_PARTIAL_UPDATE, DOMAIN_TABLE},
    {"nested_update", AGG_NESTED_UPDATE, DOMAIN_TABLE},
    {"primary-key", AGG_PRIMARY_KEY, DOMAIN_ANY},
    {"product", AGG_PRODUCT, DOMAIN_NUMERIC},
    {"rbm32", AGG_RBM32, DOMAIN_BYTES},
    {"rbm64", AGG_RBM64, DOMAIN_BYTES},
    {"sum", AGG_SUM, DOMAIN_NUMERIC},
    {"theta_sketch", AGG_THETA_SKETCH, DOMAIN_BYTES},
};

static const fn_entry *find_function(const char *name)
{
    for (size_t i = 0; i < TL_ARRAY_LEN(functions); i++)
        if (strcmp(functions[i].name, name) == 0)
            return &functions[i];
    return NULL;
}

bool tl_merge__find_function(const char *name, agg_fn *out)
{
    const fn_entry *entry = find_function(name);
    if (entry != NULL)
        *out = entry->fn;
    return entry != NULL;
}

const char *tl_merge__function_names(void)
{
    return "bool_and, bool_or, collect, first_non_null_value, first_not_null_value, first_value, hll_sketch, "
           "last_non_null_value, "
           "last_value, listagg, max, merge_map, merge_map_with_keytime, min, nested_partial_update, nested_update, "
           "primary-key, "
           "product, rbm32, rbm64, sum, theta_sketch";
}

tl_status tl_merge__parse_kind(const tl_options *options, tl_merge_engine_kind *out, tl_error *err)
{
    static const struct {
        const char *name;
        tl_merge_engine_kind kind;
    } kinds[] = {{"deduplicate", TL_ENGINE_DEDUPLICATE},
                 {"partial-update", TL_ENGINE_PARTIAL_UPDATE},
                 {"aggregation", TL_ENGINE_AGGREGATION},
                 {"first-row", TL_ENGINE_FIRST_ROW}};
    const char *name = tl_options_get(options, "merge-engine");
    if (name == NULL)
        name = "deduplicate";
    for (size_t i = 0; i < TL_ARRAY_LEN(kinds); i++) {
        if (strcasecmp(kinds[i].name, name) == 0) {
            *out = kinds[i].kind;
            return TL_OK;
        }
    }
    return tl_error_set(err, TL_E_INVALID,
                        "option 'merge-engine': '%s' is none of deduplicate, partial-update, aggregation, first-row", name);
}

bool tl_merge__option_true(const tl_options *options, const char *key)
{
    const char *text = tl_options_get(options, key);
    return text != NULL && strcasecmp(text, "true") == 0;
}

bool tl_merge__ignores_deletes(const tl_options *options)
{
    /* The last three are names of earlier releases. */
    static const char *const keys[] = {"ignore-delete", "first-row.ignore-delete", "deduplicate.ignore-delete",
                                       "partial-update.ignore-delete"};
    for (size_t i = 0; i < TL_ARRAY_LEN(keys); i++)
        if (tl_options_get(options, keys[i]) != NULL)
            return tl_merge__option_true(options, keys[i]);
    return false;
}

static tl_bytes_view trimmed(tl_bytes_view text)
{
    while (text.len > 0 && text.data[0] <= ' ') {
        text.data++;
        text.len--;
    }
    while (text.len > 0 && text.data[text.len - 1] <= ' ')
        text.len--;
    return text;
}

tl_status tl_merge__split(const char *list, bool trim, tl_merge__part_fn fn, void *ctx, tl_error *err)
{
    size_t len = strlen(list);
    while (len > 0 && list[len - 1] == ',')
        len--;
    size_t from = 0;
    for (size_t i = 0; i <= len; i++) {
        if (i < len && list[i] != ',')
            continue;
        tl_bytes_view part = {(const uint8_t *)list + from, i - from};
        TL_TRY(fn(ctx, trim ? trimmed(part) : part, err));
        from = i + 1;
    }
    return TL_OK;
}

int32_t tl_merge__field(const tl_type *row_type, tl_bytes_view name)
{
    for (int32_t i = 0; i < row_type->n_fields; i++)
        if (strlen(row_type->fields[i].name) == name.len && memcmp(row_type->fields[i].name, name.data, name.len) == 0)
            return i;
    return -1;
}

bool tl_merge__is_group_key(const char *key, tl_bytes_view *names)
{
    size_t len = strlen(key), prefix = strlen(GROUP_PREFIX), suffix = strlen(GROUP_SUFFIX);
    if (len < prefix + suffix || strncmp(key, GROUP_PREFIX, prefix) != 0 || strcmp(key + len - suffix, GROUP_SUFFIX) != 0)
        return false;
    *names = (tl_bytes_view){(const uint8_t *)key + prefix, len - prefix - suffix};
    return true;
}

/* ---- lists of fields ---- */

/* Indices of named fields; names that row_type does not have are counted only. */
typedef struct field_list {
    const tl_type *row_type;
    int32_t *idx;
    int32_t n;
    int32_t n_missing;
} field_list;

static tl_status add_field(void *ctx, tl_bytes_view name, tl_error *err)
{
    field_list *list = ctx;
    int32_t i = tl_merge__field(list->row_type, name);
    if (i < 0) {
        list->n_missing++;
        return TL_OK;
    }
    int32_t *grown = tl_realloc(list->idx, ((size_t)list->n + 1) * sizeof *grown);
    if (grown == NULL)
        return tl_nomem(err, "merge engine");
    list->idx = grown;
    list->idx[list->n++] = i;
    return TL_OK;
}

static tl_status parse_fields(const tl_type *row_type, const char *names, bool trim, field_list *out, tl_error *err)
{
    *out = (field_list){.row_type = row_type};
    tl_status status = tl_merge__split(names, trim, add_field, out, err);
    if (status != TL_OK) {
        tl_free(out->idx);
        out->idx = NULL;
    }
    return status;
}

/* ---- rules of one column ---- */

static char *field_option_key(const char *field, const char *option)
{
    return tl_strf("fields.%s.%s", field, option);
}

/* Value of `fields.FIELD.OPTION`, NULL if there is none. */
static tl_status field_option(const tl_options *options, const char *field, const char *option, const char **out, tl_error *err)
{
    TL_CLEANUP(tl_freep) char *key = field_option_key(field, option);
    if (key == NULL)
        return tl_nomem(err, "merge engine");
    *out = tl_options_get(options, key);
    return TL_OK;
}

static tl_status field_flag(const tl_options *options, const char *field, const char *option, bool *out, tl_error *err)
{
    const char *text = NULL;
    TL_TRY(field_option(options, field, option, &text, err));
    *out = false;
    if (text != NULL)
        TL_TRY(tl_error_wrap(err, tl_parse_bool(text, out, err), "option 'fields.%s.%s'", field, option));
    return TL_OK;
}

static bool domain_fits(fn_domain domain, const tl_type *type)
{
    switch (domain) {
    case DOMAIN_NUMERIC:
        return (type->kind >= TL_TINYINT && type->kind <= TL_DECIMAL);
    case DOMAIN_BOOLEAN:
        return type->kind == TL_BOOLEAN;
    case DOMAIN_STRING:
        return type->kind == TL_VARCHAR && type->length == TL_LENGTH_MAX;
    case DOMAIN_BYTES:
        return type->kind == TL_VARBINARY;
    case DOMAIN_ARRAY:
        return type->kind == TL_ARRAY;
    case DOMAIN_MAP:
        return type->kind == TL_MAP;
    case DOMAIN_TABLE:
        return type->kind == TL_ARRAY && type->fields[0].type->kind == TL_ROW;
    default:
        return true;
    }
}

static tl_status check_domain(const fn_entry *entry, const tl_field *field, tl_error *err)
{
    static const char *const wanted[] = {"any type",  "a numeric type", "BOOLEAN", "STRING",
                                         "VARBINARY", "ARRAY",          "MAP",     "ARRAY<ROW>"};
    if (domain_fits(entry->domain, field->type))
        return TL_OK;
    TL_CLEANUP(tl_buf_deinit) tl_buf text = {0};
    if (tl_type_format(field->type, &text) != TL_OK)
        return tl_nomem(err, "merge engine");
    return tl_error_set(err, TL_E_INVALID, "column '%s': aggregate function '%s' takes %s, not %.*s", field->name, entry->name,
                        wanted[entry->domain], (int)text.len, (const char *)text.data);
}

static tl_status configure_nested(column_rule *rule, const tl_field *field, const tl_options *options, tl_error *err)
{
    const char *keys = NULL, *limit = NULL;
    int64_t count = INT32_MAX;
    TL_TRY(field_option(options, field->name, "nested-key", &keys, err));
    TL_TRY(field_option(options, field->name, "count-limit", &limit, err));
    if (limit != NULL)
        TL_TRY(tl_error_wrap(err, tl_parse_int(limit, INT32_MIN, INT32_MAX, &count, err), "option 'fields.%s.count-limit'",
                             field->name));
    rule->count_limit = (int32_t)count;
    if (keys != NULL) {
        field_list list;
        TL_TRY(parse_fields(field->type->fields[0].type, keys, /* trim= */ true, &list, err));
        rule->nested_key = list.idx;
        rule->n_nested_key = list.n;
        if (list.n_missing > 0)
            return tl_error_set(err, TL_E_INVALID,
                                "option 'fields.%s.nested-key': '%s' names a field that the nested rows do not have",
                                field->name, keys);
    }
    if (rule->fn == AGG_NESTED_PARTIAL_UPDATE && rule->n_nested_key == 0)
        return tl_error_set(err, TL_E_INVALID, "column '%s': nested_partial_update needs the option 'fields.%s.nested-key'",
                            field->name, field->name);
    return TL_OK;
}

static tl_status configure_keytime(column_rule *rule, const tl_field *field, const tl_options *options, tl_error *err)
{
    const tl_type *value = field->type->fields[1].type;
    if (value->kind != TL_ROW || value->n_fields < 2)
        return tl_error_set(err, TL_E_INVALID,
                            "column '%s': merge_map_with_keytime takes a MAP whose values are ROWs of two fields or more",
                            field->name);
    const char *name = NULL;
    TL_TRY(field_option(options, field->name, "ts-field", &name, err));
    rule->ts_field = name == NULL ? value->n_fields - 1 : tl_type_field_index(value, name);
    if (rule->ts_field < 0)
        return tl_error_set(err, TL_E_INVALID, "option 'fields.%s.ts-field': no field '%s' in the map's values", field->name,
                            name);
    if (tl_type_phys(value->fields[rule->ts_field].type) != TL_PHYS_BYTES)
        return tl_error_set(err, TL_E_INVALID, "column '%s': the time field '%s' of merge_map_with_keytime must be a string",
                            field->name, value->fields[rule->ts_field].name);
    return TL_OK;
}

tl_status tl_merge__check_ignore_retract(const tl_options *options, const char *field, tl_error *err)
{
    bool ignores = false;
    TL_TRY(field_flag(options, field, "ignore-retract", &ignores, err));
    if (!ignores || !tl_merge__option_true(options, "aggregation.remove-record-on-delete"))
        return TL_OK;
    return tl_error_set(err, TL_E_INVALID,
                        "aggregation.remove-record-on-delete and fields.%s.ignore-retract have conflicting behavior "
                        "so should not be enabled at the same time",
                        field);
}

static tl_status configure_aggregate(column_rule *rule, const tl_field *field, const char *fn_name, const tl_options *options,
                                     tl_error *err)
{
    const fn_entry *entry = find_function(fn_name);
    if (entry == NULL)
        return tl_error_set(err, TL_E_INVALID, "column '%s': unknown aggregate function '%s'; there are: %s", field->name,
                            fn_name, tl_merge__function_names());
    rule->kind = RULE_AGGREGATE;
    rule->fn = entry->fn;
    rule->fn_name = entry->name;
    TL_TRY(field_flag(options, field->name, "ignore-retract", &rule->ignore_retract, err));
    TL_TRY(tl_merge__check_ignore_retract(options, field->name, err));
    TL_TRY(check_domain(entry, field, err));
    if (entry->fn == AGG_LISTAGG || entry->fn == AGG_COLLECT)
        TL_TRY(field_flag(options, field->name, "distinct", &rule->distinct, err));
    if (entry->fn == AGG_LISTAGG) {
        const char *delimiter = NULL;
        TL_TRY(field_option(options, field->name, "list-agg-delimiter", &delimiter, err));
        rule->delimiter = tl_strdup(delimiter == NULL ? "," : delimiter);
        return rule->delimiter == NULL ? tl_nomem(err, "merge engine") : TL_OK;
    }
    if (entry->domain == DOMAIN_TABLE)
        return configure_nested(rule, field, options, err);
    return entry->fn == AGG_MERGE_MAP_WITH_KEYTIME ? configure_keytime(rule, field, options, err) : TL_OK;
}

/* ---- the engine ---- */

static tl_status add_group(tl_merge_engine *engine, const char *members, tl_bytes_view names, tl_error *err)
{
    TL_CLEANUP(tl_freep) char *sequence = tl_strndup((const char *)names.data, names.len);
    if (sequence == NULL)
        return tl_nomem(err, "merge engine");
    field_list member_list, sequence_list;
    TL_TRY(parse_fields(engine->row_type, sequence, /* trim= */ false, &sequence_list, err));
    tl_status status = parse_fields(engine->row_type, members, /* trim= */ false, &member_list, err);
    if (status != TL_OK || sequence_list.n == 0 || (sequence_list.n_missing > 0 && member_list.n == 0)) {
        tl_free(sequence_list.idx);
        tl_free(status == TL_OK ? member_list.idx : NULL);
        return status; /* projected away */
    }
    int32_t g = engine->n_groups++;
    engine->groups[g] = (sequence_group){.columns = sequence_list.idx, .n_columns = sequence_list.n};
    for (int32_t i = 0; i < member_list.n && status == TL_OK; i++) {
        column_rule *rule = &engine->rules[member_list.idx[i]];
        if (rule->group >= 0)
            status = tl_error_set(err, TL_E_INVALID, "Field %s is defined repeatedly by multiple groups",
                                  engine->row_type->fields[member_list.idx[i]].name);
        rule->group = g;
    }
    for (int32_t i = 0; i < sequence_list.n && status == TL_OK; i++) {
        column_rule *rule = &engine->rules[sequence_list.idx[i]];
        if (rule->group >= 0 && rule->group != g)
            status = tl_error_set(err, TL_E_INVALID, "Field %s is defined repeatedly by multiple groups",
                                  engine->row_type->fields[sequence_list.idx[i]].name);
        rule->group = g;
        rule->kind = RULE_SEQUENCE;
    }
    if (status == TL_OK && sequence_list.n_missing > 0)
        status = tl_error_set(err, TL_E_INVALID, "sequence group '%s': not all of its sequence columns are read", sequence);
    tl_free(member_list.idx);
    return status;
}

static tl_status mark_removing(void *ctx, tl_bytes_view name, tl_error *err)
{
    tl_merge_engine *engine = ctx;
    (void)err;
    int32_t i = tl_merge__field(engine->row_type, name);
    if (i >= 0 && engine->rules[i].kind == RULE_SEQUENCE)
        engine->groups[engine->rules[i].group].removes = true;
    return TL_OK;
}

static tl_status configure_groups(tl_merge_engine *engine, const tl_options *options, tl_error *err)
{
    engine->groups = tl_calloc(options->count + 1, sizeof *engine->groups);
    if (engine->groups == NULL)
        return tl_nomem(err, "merge engine");
    for (size_t i = 0; i < options->count; i++) {
        tl_bytes_view names;
        if (!tl_merge__is_group_key(options->keys[i], &names))
            continue;
        engine->has_groups = true;
        TL_TRY(add_group(engine, options->values[i], names, err));
    }
    const char *removing = tl_options_get(options, "partial-update.remove-record-on-sequence-group");
    return removing == NULL ? TL_OK : tl_merge__split(removing, /* trim= */ false, mark_removing, engine, err);
}

/* The function that options name for a column, NULL: none. */
static tl_status named_function(const tl_options *options, const char *field, const char **out, tl_error *err)
{
    TL_TRY(field_option(options, field, "aggregate-function", out, err));
    if (*out == NULL)
        *out = tl_options_get(options, "fields.default-aggregate-function");
    return TL_OK;
}

static tl_status configure_partial_update(tl_merge_engine *engine, const tl_options *options, tl_error *err)
{
    TL_TRY(configure_groups(engine, options, err));
    for (int32_t c = 0; c < engine->row_type->n_fields; c++) {
        column_rule *rule = &engine->rules[c];
        const tl_field *field = &engine->row_type->fields[c];
        const char *fn = NULL;
        if (rule->kind == RULE_KEY || rule->kind == RULE_SEQUENCE)
            continue;
        rule->kind = rule->group < 0 ? RULE_OVERWRITE : RULE_MEMBER;
        TL_TRY(named_function(options, field->name, &fn, err));
        if (fn == NULL)
            continue;
        if (rule->group < 0 && strcmp(fn, "last_non_null_value") != 0)
            return tl_error_set(err, TL_E_INVALID,
                                "Must use sequence group for aggregation functions but not found for field %s", field->name);
        if (rule->group < 0)
            continue; /* the same as overwriting */
        TL_TRY(configure_aggregate(rule, field, fn, options, err));
        engine->groups[rule->group].aggregates = true;
    }
    return TL_OK;
}

static bool is_sequence_field(const tl_merge_engine *engine, int32_t column)
{
    for (int32_t i = 0; i < engine->n_sequence_fields; i++)
        if (engine->sequence_fields[i] == column)
            return true;
    return false;
}

static tl_status configure_aggregation(tl_merge_engine *engine, const tl_options *options, tl_error *err)
{
    for (int32_t c = 0; c < engine->row_type->n_fields; c++) {
        column_rule *rule = &engine->rules[c];
        const tl_field *field = &engine->row_type->fields[c];
        const char *fn = NULL;
        if (is_sequence_field(engine, c)) {
            fn = "last_value";
        } else if (rule->kind == RULE_KEY) {
            continue;
        } else {
            TL_TRY(named_function(options, field->name, &fn, err));
            if (fn == NULL)
                fn = "last_non_null_value";
        }
        TL_TRY(configure_aggregate(rule, field, fn, options, err));
        engine->raw_singles = engine->raw_singles || (rule->fn == AGG_COLLECT && rule->distinct);
    }
    return TL_OK;
}

static tl_status configure_sequence_fields(tl_merge_engine *engine, const tl_options *options, tl_error *err)
{
    const char *names = tl_options_get(options, "sequence.field"),
               *order = tl_options_get(options, "sequence.field.sort-order");
    engine->sequence_descending = order != NULL && strcasecmp(order, "descending") == 0;
    if (names == NULL)
        return TL_OK;
    field_list list;
    TL_TRY(parse_fields(engine->row_type, names, /* trim= */ true, &list, err));
    engine->sequence_fields = list.idx;
    engine->n_sequence_fields = list.n;
    if (list.n_missing > 0)
        return tl_error_set(err, TL_E_INVALID, "option 'sequence.field': not all fields of '%s' are in the schema", names);
    return TL_OK;
}

tl_status tl_merge__engine_configure(tl_merge_engine *engine, const int32_t *key_idx, int32_t n_keys, const tl_options *options,
                                     tl_error *err)
{
    TL_TRY(tl_merge__parse_kind(options, &engine->kind, err));
    engine->ignore_delete = tl_merge__ignores_deletes(options);
    engine->rules = tl_calloc((size_t)TL_MAX(engine->row_type->n_fields, 1), sizeof *engine->rules);
    if (engine->rules == NULL)
        return tl_nomem(err, "merge engine");
    for (int32_t c = 0; c < engine->row_type->n_fields; c++) {
        engine->rules[c].kind = RULE_OVERWRITE;
        engine->rules[c].group = -1;
    }
    for (int32_t k = 0; k < n_keys; k++)
        engine->rules[key_idx[k]].kind = RULE_KEY;
    TL_TRY(configure_sequence_fields(engine, options, err));
    switch (engine->kind) {
    case TL_ENGINE_PARTIAL_UPDATE:
        engine->remove_on_delete = tl_merge__option_true(options, "partial-update.remove-record-on-delete");
        return configure_partial_update(engine, options, err);
    case TL_ENGINE_AGGREGATION:
        engine->remove_on_delete = tl_merge__option_true(options, "aggregation.remove-record-on-delete");
        return configure_aggregation(engine, options, err);
    default:
        return TL_OK;
    }
}
