/*
 * Which columns are indexed, out of the table's options. Java: FileIndexOptions.
 *
 *   file-index.KIND.columns = a, b, m[k]
 *   file-index.KIND.COLUMN.OPTION = value; of a map's column: for all its keys
 */
#include "base/parse.h"
#include "index/file_index_plan.h"

#define PREFIX "file-index."

static const char columns_suffix[] = ".columns";

tl_status tl_findex__opt_int(const tl_options *options, const char *key, int64_t min, int64_t max, int64_t *out, tl_error *err)
{
    const char *text = tl_options_get(options, key);
    return text == NULL ? TL_OK : tl_error_wrap(err, tl_parse_int(text, min, max, out, err), "option '%s'", key);
}

tl_status tl_findex__opt_memory(const tl_options *options, const char *key, int64_t *out, tl_error *err)
{
    const char *text = tl_options_get(options, key);
    return text == NULL ? TL_OK : tl_error_wrap(err, tl_parse_memory_bytes(text, out, err), "option '%s'", key);
}

static void item_deinit(tl_findex__item *item)
{
    tl_free(item->name);
    tl_free(item->key);
    tl_options_deinit(&item->options);
    *item = (tl_findex__item){.kind = NULL};
}

void tl_file_index_plan_free(tl_file_index_plan *plan)
{
    if (plan == NULL)
        return;
    for (size_t i = 0; plan->items != NULL && i < plan->n; i++)
        item_deinit(&plan->items[i]);
    tl_free(plan->items);
    tl_type_unref(plan->row_type);
    tl_free(plan);
}

/* ---- columns ---- */

/* "m[k]" into column and key; *key stays NULL where it is a plain column. */
static tl_status split_name(tl_bytes_view text, char **column, char **key, tl_error *err)
{
    const char *start = (const char *)text.data;
    const char *bracket = memchr(start, '[', text.len);
    bool is_nested = bracket != NULL && start[text.len - 1] == ']';
    size_t n = is_nested ? (size_t)(bracket - start) : text.len;
    *column = tl_strf("%.*s", (int)n, start);
    if (*column != NULL && is_nested)
        *key = tl_strf("%.*s", (int)(text.len - n - 2), bracket + 1);
    return *column == NULL || (is_nested && *key == NULL) ? tl_nomem(err, "file index") : TL_OK;
}

static tl_status check_item(const tl_file_index_plan *plan, const tl_findex__item *item, tl_error *err)
{
    const tl_type *type = plan->row_type->fields[item->column].type;
    const char *why = NULL;
    if (item->key != NULL) {
        if (type->kind != TL_MAP)
            return tl_error_set(err, TL_E_INVALID, "column '%s' is no MAP, so that '[%s]' names no value of it", item->name, item->key);
        tl_type_kind key = type->fields[0].type->kind;
        if (key != TL_CHAR && key != TL_VARCHAR)
            return tl_error_set(err, TL_E_UNSUPPORTED, "column '%s': keys of a MAP with file indexes must be strings", item->name);
        type = type->fields[1].type;
    }
    if (!item->kind->holds(type, &why))
        return tl_error_set(err, TL_E_UNSUPPORTED, "column '%s': %s", item->name, why);
    return TL_OK;
}

static bool is_planned(const tl_file_index_plan *plan, const tl_findex__kind *kind, const char *name)
{
    for (size_t i = 0; i < plan->n; i++) {
        if (plan->items[i].kind == kind && strcmp(plan->items[i].name, name) == 0)
            return true;
    }
    return false;
}

static tl_status add_item(tl_file_index_plan *plan, const tl_findex__kind *kind, tl_bytes_view name, tl_error *err)
{
    TL_CLEANUP(tl_freep) char *column = NULL;
    tl_findex__item *items = tl_realloc(plan->items, (plan->n + 1) * sizeof *items);
    if (items == NULL)
        return tl_nomem(err, "file index");
    plan->items = items;
    tl_findex__item *item = &items[plan->n];
    *item = (tl_findex__item){.kind = kind, .name = tl_strf("%.*s", (int)name.len, (const char *)name.data)};
    if (item->name == NULL)
        return tl_nomem(err, "file index");
    if (is_planned(plan, kind, item->name)) {
        tl_free(item->name);
        return TL_OK;
    }
    plan->n++;
    TL_TRY(split_name(name, &column, &item->key, err));
    item->column = tl_type_field_index(plan->row_type, column);
    if (item->column < 0)
        return tl_error_set(err, TL_E_INVALID, "column '%s' does not exist", column);
    return check_item(plan, item, err);
}

static tl_status add_columns(tl_file_index_plan *plan, const char *option, const char *kind_name, size_t kind_len, const char *list, tl_error *err)
{
    const tl_findex__kind *kind = tl_findex__kind_of((tl_bytes_view){(const uint8_t *)kind_name, kind_len});
    if (kind == NULL)
        return tl_error_set(err, TL_E_INVALID, "option '%s': '%.*s' is no kind of file index (bloom-filter, bitmap, bsi, range-bitmap)", option,
                            (int)kind_len, kind_name);
    for (const char *from = list; from != NULL;) {
        const char *end = strchrnul(from, ','), *to = end;
        while (from < to && (uint8_t)*from <= ' ')
            from++;
        while (to > from && (uint8_t)to[-1] <= ' ')
            to--;
        if (from == to)
            return tl_error_set(err, TL_E_INVALID, "option '%s': a column without a name", option);
        TL_TRY(tl_error_wrap(err, add_item(plan, kind, (tl_bytes_view){(const uint8_t *)from, (size_t)(to - from)}, err), "option '%s'", option));
        from = *end == 0 ? NULL : end + 1;
    }
    return TL_OK;
}

/* ---- options of columns ---- */

/* Whether an option of `column` is one of the item; *own: of it alone, not of all keys of a map. */
static bool is_of_item(const tl_file_index_plan *plan, const tl_findex__item *item, const char *column, size_t len, bool *own)
{
    *own = strlen(item->name) == len && memcmp(item->name, column, len) == 0;
    const char *map = plan->row_type->fields[item->column].name;
    return *own || (item->key != NULL && strlen(map) == len && memcmp(map, column, len) == 0);
}

/* KIND.COLUMN.OPTION; names with other numbers of dots are not options of columns. */
static tl_status set_option(tl_file_index_plan *plan, const char *option, const char *value, tl_error *err)
{
    const char *kind = option + strlen(PREFIX), *column = strchr(kind, '.'), *key = column == NULL ? NULL : strchr(column + 1, '.');
    if (key == NULL || key[1] == 0 || strchr(key + 1, '.') != NULL)
        return TL_OK;
    size_t kind_len = (size_t)(column - kind), column_len = (size_t)(key - column - 1);
    bool found = false;
    for (size_t i = 0; i < plan->n; i++) {
        tl_findex__item *item = &plan->items[i];
        bool own = false;
        if (strlen(item->kind->name) != kind_len || memcmp(item->kind->name, kind, kind_len) != 0 ||
            !is_of_item(plan, item, column + 1, column_len, &own))
            continue;
        found = true;
        if ((own || tl_options_get(&item->options, key + 1) == NULL) && tl_options_set(&item->options, key + 1, value) != TL_OK)
            return tl_nomem(err, "file index");
    }
    return found ? TL_OK
                 : tl_error_set(err, TL_E_INVALID, "option '%s': '%.*s' is not among the columns of '" PREFIX "%.*s%s'", option, (int)column_len,
                                column + 1, (int)kind_len, kind, columns_suffix);
}

static bool is_column_list(const char *key)
{
    size_t len = strlen(key), n = sizeof columns_suffix - 1;
    return len > strlen(PREFIX) + n && strcmp(key + len - n, columns_suffix) == 0;
}

static tl_status fill_columns(tl_file_index_plan *plan, const tl_options *options, tl_error *err)
{
    for (size_t i = 0; i < options->count; i++) {
        const char *key = options->keys[i];
        if (strncmp(key, PREFIX, strlen(PREFIX)) == 0 && is_column_list(key))
            TL_TRY(add_columns(plan, key, key + strlen(PREFIX), strlen(key) - strlen(PREFIX) - (sizeof columns_suffix - 1), options->values[i], err));
    }
    return TL_OK;
}

static tl_status fill(tl_file_index_plan *plan, const tl_options *options, tl_error *err)
{
    TL_TRY(fill_columns(plan, options, err));
    for (size_t i = 0; i < options->count; i++) {
        const char *key = options->keys[i];
        if (strncmp(key, PREFIX, strlen(PREFIX)) == 0 && !is_column_list(key))
            TL_TRY(set_option(plan, key, options->values[i], err));
    }
    return TL_OK;
}

tl_status tl_file_index_plan_create(const tl_options *options, const tl_type *row_type, tl_file_index_plan **out, tl_error *err)
{
    tl_file_index_plan *plan = tl_calloc(1, sizeof *plan);
    if (plan == NULL)
        return tl_nomem(err, "file index");
    plan->row_type = tl_type_ref(row_type);
    tl_status status = fill(plan, options, err);
    if (status != TL_OK || plan->n == 0) {
        tl_file_index_plan_free(plan);
        plan = NULL;
    }
    TL_TRY(status);
    *out = plan;
    return TL_OK;
}

tl_status tl_file_index_check_columns(const tl_options *options, const tl_type *row_type, tl_error *err)
{
    tl_file_index_plan *plan = tl_calloc(1, sizeof *plan);
    if (plan == NULL)
        return tl_nomem(err, "file index");
    plan->row_type = tl_type_ref(row_type);
    tl_status status = fill_columns(plan, options, err);
    tl_file_index_plan_free(plan);
    return status;
}

/* ---- older schemas ---- */

bool tl_file_index_plan_uses(const tl_file_index_plan *plan, int32_t column)
{
    bool uses = false;
    for (size_t i = 0; i < plan->n; i++)
        uses |= plan->items[i].column == column;
    return uses;
}

/* The item for the older row type; item->kind stays NULL where it cannot be. */
static tl_status evolve_item(const tl_file_index_plan *plan, const tl_findex__item *from, const tl_file_index_plan *to, tl_findex__item *item,
                             tl_error *err)
{
    int32_t column = tl_type_field_index_by_id(to->row_type, plan->row_type->fields[from->column].id);
    if (column < 0)
        return TL_OK;
    const char *name = to->row_type->fields[column].name;
    item->column = column;
    item->name = from->key == NULL ? tl_strdup(name) : tl_strf("%s[%s]", name, from->key);
    item->key = from->key == NULL ? NULL : tl_strdup(from->key);
    if (item->name == NULL || (from->key != NULL && item->key == NULL) || tl_options_dup(&from->options, &item->options) != TL_OK)
        return tl_nomem(err, "file index");
    item->kind = from->kind;
    if (check_item(to, item, NULL) != TL_OK)
        item->kind = NULL; /* another type, then */
    return TL_OK;
}

tl_status tl_file_index_plan_for(const tl_file_index_plan *plan, const tl_type *row_type, tl_file_index_plan **out, tl_error *err)
{
    tl_file_index_plan *mine = tl_calloc(1, sizeof *mine);
    if (mine == NULL)
        return tl_nomem(err, "file index");
    mine->row_type = tl_type_ref(row_type);
    mine->items = tl_calloc(plan->n + 1, sizeof *mine->items);
    tl_status status = mine->items == NULL ? tl_nomem(err, "file index") : TL_OK;
    for (size_t i = 0; i < plan->n && status == TL_OK; i++) {
        tl_findex__item *item = &mine->items[mine->n];
        status = evolve_item(plan, &plan->items[i], mine, item, err);
        if (item->kind != NULL && status == TL_OK)
            mine->n++;
        else
            item_deinit(item);
    }
    if (status != TL_OK || mine->n == 0) {
        tl_file_index_plan_free(mine);
        mine = NULL;
    }
    TL_TRY(status);
    *out = mine;
    return TL_OK;
}
