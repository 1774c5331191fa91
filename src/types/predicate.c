/*
 * Predicate trees: making, copying, binding to other rows.
 */
#include "types/predicate.h"

#include "types/predicate_private.h"
#include "types/text.h"

void tl_predicate_free(tl_predicate *pred)
{
    if (pred == NULL)
        return;
    for (int32_t i = 0; i < pred->n_children; i++)
        tl_predicate_free(pred->children[i]);
    tl_free(pred->children);
    tl_column_unref(pred->literals);
    tl_free(pred);
}

static tl_status node_create(tl_pred_op op, int32_t n_children, tl_predicate **out, tl_error *err)
{
    TL_CLEANUP(tl_freep) tl_predicate *node = tl_calloc(1, sizeof *node);
    if (node == NULL)
        return tl_nomem(err, "predicate");
    if (n_children > 0 && (node->children = tl_calloc((size_t)n_children, sizeof *node->children)) == NULL)
        return tl_nomem(err, "predicate");
    node->op = op;
    node->n_children = n_children;
    *out = TL_STEAL(node);
    return TL_OK;
}

bool tl_predicate__is_ordered(const tl_type *type)
{
    tl_phys phys = tl_type_phys(type);
    return phys != TL_PHYS_LIST && phys != TL_PHYS_MAP && phys != TL_PHYS_ROW;
}

static bool is_text_op(tl_pred_op op)
{
    return op == TL_PRED_STARTS_WITH || op == TL_PRED_ENDS_WITH || op == TL_PRED_CONTAINS || op == TL_PRED_LIKE;
}

static tl_status check_literals(tl_pred_op op, const tl_column *literals, tl_error *err)
{
    bool list = op == TL_PRED_IN || op == TL_PRED_NOT_IN;
    bool none = op == TL_PRED_TRUE || op == TL_PRED_FALSE || op == TL_PRED_IS_NULL || op == TL_PRED_IS_NOT_NULL;
    int64_t want = none ? 0 : op == TL_PRED_BETWEEN ? 2 : 1;
    int64_t n = literals == NULL ? 0 : literals->length;
    if (op == TL_PRED_AND || op == TL_PRED_OR || op == TL_PRED_NOT)
        return tl_error_set(err, TL_E_INTERNAL, "AND, OR and NOT are no leaves of a predicate");
    if ((!list && n != want) || (list && literals == NULL))
        return tl_error_set(err, TL_E_INVALID, "predicate with %lld values in place of %lld", (long long)n, (long long)want);
    if (none)
        return TL_OK;
    if (!tl_predicate__is_ordered(literals->type))
        return tl_error_set(err, TL_E_INVALID, "predicate: values of a nested type cannot be compared");
    if (is_text_op(op) && literals->phys != TL_PHYS_BYTES)
        return tl_error_set(err, TL_E_INVALID, "predicate: a text operator needs a string column");
    if (op == TL_PRED_LIKE && !tl_col_is_null(literals, 0) && !tl_like__valid(tl_col_bytes(literals, 0)))
        return tl_error_set(err, TL_E_INVALID, "predicate: LIKE pattern '%.*s' has an escape before neither %%, _ nor itself",
                            (int)TL_MIN(tl_col_bytes(literals, 0).len, 200), (const char *)tl_col_bytes(literals, 0).data);
    return TL_OK;
}

tl_status tl_predicate_leaf(tl_pred_op op, int32_t column, tl_column *literals, tl_predicate **out, tl_error *err)
{
    TL_CLEANUP(tl_column_unrefp) tl_column *owned = literals;
    tl_predicate *leaf = NULL;
    TL_TRY(check_literals(op, literals, err));
    TL_TRY(node_create(op, 0, &leaf, err));
    leaf->column = column;
    leaf->literals = TL_STEAL(owned);
    *out = leaf;
    return TL_OK;
}

tl_status tl_predicate_negate(tl_predicate *child, tl_predicate **out, tl_error *err)
{
    tl_predicate *node = NULL;
    tl_status status = node_create(TL_PRED_NOT, 1, &node, err);
    if (status != TL_OK) {
        tl_predicate_free(child);
        return status;
    }
    node->children[0] = child;
    *out = node;
    return TL_OK;
}

tl_status tl_predicate_combine(tl_pred_op op, tl_predicate *a, tl_predicate *b, tl_predicate **out, tl_error *err)
{
    if (a == NULL || b == NULL) {
        *out = a == NULL ? b : a;
        return TL_OK;
    }
    tl_predicate *node = NULL;
    tl_status status = node_create(op, 2, &node, err);
    if (status != TL_OK) {
        tl_predicate_free(a);
        tl_predicate_free(b);
        return status;
    }
    node->children[0] = a;
    node->children[1] = b;
    *out = node;
    return TL_OK;
}

static tl_status copy_node(const tl_predicate *pred, tl_predicate **out, tl_error *err)
{
    tl_predicate *node = NULL;
    TL_TRY(node_create(pred->op, pred->n_children, &node, err));
    node->column = pred->column;
    if (pred->literals != NULL)
        node->literals = tl_column_ref(pred->literals);
    *out = node;
    return TL_OK;
}

tl_status tl_predicate_dup(const tl_predicate *pred, tl_predicate **out, tl_error *err)
{
    if (pred == NULL) {
        *out = NULL;
        return TL_OK;
    }
    TL_CLEANUP(tl_predicate_freep) tl_predicate *copy = NULL;
    TL_TRY(copy_node(pred, &copy, err));
    for (int32_t i = 0; i < pred->n_children; i++)
        TL_TRY(tl_predicate_dup(pred->children[i], &copy->children[i], err));
    *out = TL_STEAL(copy);
    return TL_OK;
}

static bool has_column(const tl_predicate *pred)
{
    return pred->n_children == 0 && pred->op != TL_PRED_TRUE && pred->op != TL_PRED_FALSE && pred->op != TL_PRED_AND &&
           pred->op != TL_PRED_OR;
}

void tl_predicate_columns(const tl_predicate *pred, bool *used)
{
    if (pred == NULL)
        return;
    if (has_column(pred))
        used[pred->column] = true;
    for (int32_t i = 0; i < pred->n_children; i++)
        tl_predicate_columns(pred->children[i], used);
}

/* `positive`: under an even number of NOTs. Only there TRUE keeps a superset of the rows; under an odd one FALSE does. */
static tl_status remap(const tl_predicate *pred, const int32_t *map, bool weaken, bool positive, tl_predicate **out,
                       tl_error *err)
{
    TL_CLEANUP(tl_predicate_freep) tl_predicate *copy = NULL;
    if (has_column(pred) && map[pred->column] < 0) {
        if (!weaken)
            return tl_error_set(err, TL_E_INVALID, "predicate uses column %d, which is not there", pred->column);
        return tl_predicate_leaf(positive ? TL_PRED_TRUE : TL_PRED_FALSE, -1, NULL, out, err);
    }
    TL_TRY(copy_node(pred, &copy, err));
    if (has_column(pred))
        copy->column = map[pred->column];
    for (int32_t i = 0; i < pred->n_children; i++)
        TL_TRY(remap(pred->children[i], map, weaken, positive != (pred->op == TL_PRED_NOT), &copy->children[i], err));
    *out = TL_STEAL(copy);
    return TL_OK;
}

tl_status tl_predicate_remap(const tl_predicate *pred, const int32_t *map, bool weaken, tl_predicate **out, tl_error *err)
{
    if (pred == NULL) {
        *out = NULL;
        return TL_OK;
    }
    return remap(pred, map, weaken, true, out, err);
}

/* ---- JSON ---- */

#define DEPTH_MAX 100

static const struct op_name {
    const char *name;
    tl_pred_op op;
} OP_NAMES[] = {
    {"=", TL_PRED_EQ},
    {"!=", TL_PRED_NE},
    {"<", TL_PRED_LT},
    {"<=", TL_PRED_LE},
    {">", TL_PRED_GT},
    {">=", TL_PRED_GE},
    {"in", TL_PRED_IN},
    {"notIn", TL_PRED_NOT_IN},
    {"between", TL_PRED_BETWEEN},
    {"isNull", TL_PRED_IS_NULL},
    {"isNotNull", TL_PRED_IS_NOT_NULL},
    {"startsWith", TL_PRED_STARTS_WITH},
    {"endsWith", TL_PRED_ENDS_WITH},
    {"contains", TL_PRED_CONTAINS},
    {"like", TL_PRED_LIKE},
    {"and", TL_PRED_AND},
    {"or", TL_PRED_OR},
    {"not", TL_PRED_NOT},
};

static tl_status bad_filter(const tl_json *json, const char *reason, tl_error *err)
{
    return tl_error_set(err, TL_E_INVALID, "filter %.*s: %s", (int)TL_MIN(json->raw.len, 200), (const char *)json->raw.data,
                        reason);
}

static tl_status read_literals(const tl_json *first, const tl_type *type, tl_column **out, tl_error *err)
{
    tl_builder *builder = NULL;
    TL_TRY(tl_builder_create(type, &builder, err));
    tl_status status = TL_OK;
    for (const tl_json *node = first; node != NULL && status == TL_OK; node = node->next)
        status = tl_text_read_json(node, type, builder, err);
    if (status == TL_OK)
        status = tl_builder_finish(builder, out, err);
    tl_builder_free(builder);
    return status;
}

static tl_status leaf_from_json(const tl_json *json, tl_pred_op op, const tl_type *row_type, tl_predicate **out, tl_error *err)
{
    const tl_json *name = json->child->next;
    if (name == NULL || name->kind != TL_JSON_STRING)
        return bad_filter(json, "the second element must be the name of a column", err);
    int32_t column = -1;
    for (int32_t i = 0; i < row_type->n_fields && column < 0; i++)
        if (tl_json_text_is(name, row_type->fields[i].name))
            column = i;
    if (column < 0)
        return bad_filter(json, "no such column", err);
    const tl_type *type = row_type->fields[column].type;
    const tl_json *first = name->next;
    int64_t n_values = json->n_children - 2;
    bool null_test = op == TL_PRED_IS_NULL || op == TL_PRED_IS_NOT_NULL;
    if (n_values != (null_test ? 0 : op == TL_PRED_BETWEEN ? 2 : 1))
        return bad_filter(json, "wrong number of values", err);
    if (op == TL_PRED_IN || op == TL_PRED_NOT_IN) {
        if (first->kind != TL_JSON_ARRAY)
            return bad_filter(json, "a list of values is needed", err);
        first = first->child;
    }
    if (!null_test && !tl_predicate__is_ordered(type))
        return bad_filter(json, "values of a nested type cannot be compared", err);
    TL_CLEANUP(tl_column_unrefp) tl_column *literals = NULL;
    if (!null_test)
        TL_TRY(tl_error_wrap(err, read_literals(first, type, &literals, err), "filter on column '%s'",
                             row_type->fields[column].name));
    return tl_error_wrap(err, tl_predicate_leaf(op, column, TL_STEAL(literals), out, err), "filter on column '%s'",
                         row_type->fields[column].name);
}

static tl_status from_json(const tl_json *json, const tl_type *row_type, int depth, tl_predicate **out, tl_error *err);

static tl_status node_from_json(const tl_json *json, tl_pred_op op, const tl_type *row_type, int depth, tl_predicate **out,
                                tl_error *err)
{
    int64_t n = json->n_children - 1;
    if (n < 1 || (op == TL_PRED_NOT && n != 1))
        return bad_filter(json, "wrong number of parts", err);
    if (n > INT32_MAX)
        return bad_filter(json, "too many parts", err);
    TL_CLEANUP(tl_predicate_freep) tl_predicate *node = NULL;
    TL_TRY(node_create(op, (int32_t)n, &node, err));
    int32_t i = 0;
    for (const tl_json *part = json->child->next; part != NULL; part = part->next)
        TL_TRY(from_json(part, row_type, depth + 1, &node->children[i++], err));
    *out = TL_STEAL(node);
    return TL_OK;
}

static tl_status from_json(const tl_json *json, const tl_type *row_type, int depth, tl_predicate **out, tl_error *err)
{
    if (depth > DEPTH_MAX)
        return tl_error_set(err, TL_E_LIMIT, "filter nested deeper than %d levels", DEPTH_MAX);
    if (json->kind != TL_JSON_ARRAY || json->child == NULL || json->child->kind != TL_JSON_STRING)
        return bad_filter(json, "must be a list that starts with an operator", err);
    for (size_t i = 0; i < TL_ARRAY_LEN(OP_NAMES); i++) {
        tl_pred_op op = OP_NAMES[i].op;
        if (!tl_json_text_is(json->child, OP_NAMES[i].name))
            continue;
        if (op == TL_PRED_AND || op == TL_PRED_OR || op == TL_PRED_NOT)
            return node_from_json(json, op, row_type, depth, out, err);
        return leaf_from_json(json, op, row_type, out, err);
    }
    return bad_filter(json, "no such operator", err);
}

tl_status tl_predicate_from_json(const tl_json *json, const tl_type *row_type, tl_predicate **out, tl_error *err)
{
    return from_json(json, row_type, 1, out, err);
}
