/*
 * Changes of columns, nested ones included, by the rules of the reference. Source: Java: SchemaManager (NestedColumnModifier,
 * applyMove, applyRenameColumnsToOptions); format reference §2 "Evolution".
 *
 * Types are immutable: a change rebuilds the ROWs along its path. A path goes through ROW fields by name; ARRAY elements and MAP
 * values take one step of their own each, whatever it is called (engines say `element` and `value`).
 */
#include "table/alter_private.h"

#include "base/parse.h"

typedef struct edit {
    tl_altering *altering;
    const tl_alter *change;
    char **path;
    int32_t n_path;
} edit;

/* Fields of one ROW while they change. Names and types are borrowed from the old ROW, the change, or `held`. */
typedef struct fields {
    tl_field *items;
    int32_t n;
    const tl_type *held; /* a type made for these fields; released with them */
} fields;

static void fields_deinit(fields *f)
{
    tl_free(f->items);
    tl_type_unref(f->held);
}

static int32_t find(const fields *f, const char *name)
{
    for (int32_t i = 0; i < f->n; i++) {
        if (strcmp(f->items[i].name, name) == 0)
            return i;
    }
    return -1;
}

/* The path up to `depth` joined by dots, for messages. */
static const char *path_text(const edit *e, int32_t depth, const char *last, char out[256])
{
    out[0] = '\0';
    for (int32_t i = 0; i <= depth && i < e->n_path; i++) {
        size_t used = strlen(out);
        snprintf(out + used, 256 - used, "%s%s", i > 0 ? "." : "", i == depth && last != NULL ? last : e->path[i]);
    }
    return out;
}

static tl_status no_column(const edit *e, int32_t depth, tl_error *err)
{
    char text[256];
    return tl_error_set(err, TL_E_NOT_FOUND, "Column %s does not exist in the %s table.", path_text(e, depth, NULL, text),
                        e->altering->table_name);
}

static tl_status column_exists(const edit *e, int32_t depth, const char *last, tl_error *err)
{
    char text[256];
    return tl_error_set(err, TL_E_EXISTS, "Column %s already exists in the %s table.", path_text(e, depth, last, text),
                        e->altering->table_name);
}

/* ---- keys ---- */

static bool listed(char *const *names, int32_t n, const char *name)
{
    for (int32_t i = 0; i < n; i++) {
        if (strcmp(names[i], name) == 0)
            return true;
    }
    return false;
}

static bool is_partition_key(const edit *e)
{
    const tl_table_schema *old = e->altering->old;
    return e->n_path == 1 && listed(old->partition_keys, old->n_partition_keys, e->path[0]);
}

static bool is_primary_key(const edit *e)
{
    const tl_table_schema *old = e->altering->old;
    return e->n_path == 1 && listed(old->primary_keys, old->n_primary_keys, e->path[0]);
}

static tl_status check_keys(const edit *e, tl_error *err)
{
    switch (e->change->kind) {
    case TL_ALTER_DROP_COLUMN:
        if (is_partition_key(e) || is_primary_key(e))
            return tl_error_set(err, TL_E_INVALID, "Cannot drop partition key or primary key: [%s]", e->path[0]);
        return TL_OK;
    case TL_ALTER_RENAME_COLUMN:
        if (is_partition_key(e))
            return tl_error_set(err, TL_E_INVALID, "Cannot rename partition column: [%s]", e->path[0]);
        return TL_OK;
    case TL_ALTER_COLUMN_TYPE:
        if (is_partition_key(e))
            return tl_error_set(err, TL_E_INVALID, "Cannot update partition column: [%s]", e->path[0]);
        if (is_primary_key(e))
            return tl_error_set(err, TL_E_INVALID, "Cannot update primary key");
        return TL_OK;
    case TL_ALTER_COLUMN_NULLABLE:
        if ((e->change->type != NULL ? e->change->type->nullable : e->change->nullable) && is_primary_key(e))
            return tl_error_set(err, TL_E_INVALID, "Cannot change nullability of primary key");
        return TL_OK;
    default:
        return TL_OK;
    }
}

/* ---- positions ---- */

static void insert(fields *f, int32_t at, tl_field field)
{
    memmove(f->items + at + 1, f->items + at, (size_t)(f->n - at) * sizeof *f->items);
    f->items[at] = field;
    f->n++;
}

static void remove_at(fields *f, int32_t at)
{
    memmove(f->items + at, f->items + at + 1, (size_t)(f->n - at - 1) * sizeof *f->items);
    f->n--;
}

/* Where a new column goes. */
static tl_status new_position(const edit *e, const fields *f, int32_t *at, tl_error *err)
{
    const tl_alter *change = e->change;
    const tl_altering *a = e->altering;
    *at = f->n;
    if (change->first) {
        *at = 0;
    } else if (change->after != NULL || change->before != NULL) {
        const char *other = change->after != NULL ? change->after : change->before;
        int32_t i = find(f, other);
        if (i < 0)
            return tl_error_set(err, TL_E_NOT_FOUND, "Column %s does not exist in the %s table.", other, a->table_name);
        *at = change->after != NULL ? i + 1 : i;
    } else if (!change->last && e->n_path == 1 && tl_table__option_bool(&a->old->options, "add-column-before-partition")) {
        for (int32_t i = 0; i < f->n; i++) {
            if (listed(a->old->partition_keys, a->old->n_partition_keys, f->items[i].name)) {
                *at = i;
                break;
            }
        }
    }
    return TL_OK;
}

static tl_status move_column(const edit *e, fields *f, tl_error *err)
{
    const tl_alter *change = e->change;
    const char *name = e->path[0];
    int32_t from = find(f, name);
    if (from < 0)
        return tl_error_set(err, TL_E_NOT_FOUND, "Field name not found: %s", name);
    int32_t to = 0;
    if (!change->first && (change->after != NULL || change->before != NULL)) {
        const char *other = change->after != NULL ? change->after : change->before;
        to = find(f, other);
        if (to < 0)
            return tl_error_set(err, TL_E_NOT_FOUND, "Reference field name not found: %s", other);
    } else if (!change->first) {
        to = f->n - 1;
    }
    if (to == from)
        return tl_error_set(err, TL_E_INVALID, "Cannot move itself for column %s", name);
    if (!change->first && change->after != NULL && from > to)
        to++;
    else if (!change->first && change->after == NULL && change->before != NULL && from < to)
        to--;
    tl_field moved = f->items[from];
    remove_at(f, from);
    insert(f, to, moved);
    return TL_OK;
}

/* ---- add, rename, drop ---- */

/* The new column with its ids: its own first, then those of the ROWs inside. */
static tl_status number(const edit *e, const char *name, fields *f, tl_error *err)
{
    tl_field field = {.name = (char *)name, .id = -1, .type = e->change->type, .description = (char *)e->change->comment};
    const tl_type *plain = NULL;
    TL_TRY(tl_type_create_row(false, &field, 1, &plain, err));
    tl_status status = tl_schema_assign_ids(plain, &e->altering->fresh->highest_field_id, &f->held, err);
    tl_type_unref(plain);
    return status;
}

static tl_status add_column(const edit *e, fields *f, int32_t depth, const char *name, tl_error *err)
{
    char text[256];
    if (e->change->type == NULL)
        return tl_error_set(err, TL_E_INVALID, "column '%s' is added without a type", name);
    if (!e->change->type->nullable)
        return tl_error_set(err, TL_E_INVALID, "Column %s cannot specify NOT NULL in the %s table.", path_text(e, depth, NULL, text),
                            e->altering->table_name);
    if (find(f, name) >= 0)
        return column_exists(e, depth, name, err);
    int32_t at = 0;
    TL_TRY(new_position(e, f, &at, err));
    TL_TRY(number(e, name, f, err));
    insert(f, at, f->held->fields[0]);
    return TL_OK;
}

static tl_status rename_column(const edit *e, fields *f, int32_t depth, const char *name, tl_error *err)
{
    int32_t i = find(f, name);
    if (i < 0)
        return no_column(e, depth, err);
    if (e->change->value == NULL || *e->change->value == '\0')
        return tl_error_set(err, TL_E_INVALID, "column '%s' is renamed to nothing", name);
    if (find(f, e->change->value) >= 0)
        return column_exists(e, depth, e->change->value, err);
    f->items[i].name = (char *)e->change->value;
    return TL_OK;
}

static tl_status drop_column(const edit *e, fields *f, int32_t depth, const char *name, tl_error *err)
{
    int32_t i = find(f, name);
    if (i < 0)
        return no_column(e, depth, err);
    if (f->n == 1)
        return tl_error_set(err, TL_E_INVALID, "Cannot drop all fields in table");
    remove_at(f, i);
    return TL_OK;
}

/* ---- types ---- */

/* The type that the rest of the path leads to: down through `steps` ARRAYs and MAPs. */
static const tl_type *root_of(const tl_type *type, int32_t steps)
{
    for (; steps > 0 && (type->kind == TL_ARRAY || type->kind == TL_MAP); steps--)
        type = type->fields[type->kind == TL_MAP ? 1 : 0].type;
    return type;
}

static tl_status wrap(const tl_type *type, const tl_type *inner, const tl_type **out, tl_error *err)
{
    if (type->kind == TL_ARRAY)
        return tl_type_create_array(type->nullable, inner, out, err);
    return tl_type_create_map(type->nullable, type->fields[0].type, inner, out, err);
}

/* `type` with its root replaced. */
static tl_status with_root(const tl_type *type, int32_t steps, const tl_type *root, const tl_type **out, tl_error *err)
{
    if (steps == 0 || (type->kind != TL_ARRAY && type->kind != TL_MAP)) {
        *out = tl_type_ref(root);
        return TL_OK;
    }
    const tl_type *inner = NULL;
    TL_TRY(with_root(type->fields[type->kind == TL_MAP ? 1 : 0].type, steps - 1, root, &inner, err));
    tl_status status = wrap(type, inner, out, err);
    tl_type_unref(inner);
    return status;
}

static tl_status check_nullability(const edit *e, bool before, bool after, tl_error *err)
{
    char text[256];
    if (!before || after || !tl_table__option_bool(&e->altering->old->options, "alter-column-null-to-not-null.disabled"))
        return TL_OK;
    return tl_error_set(err, TL_E_INVALID,
                        "Cannot update column type from nullable to non nullable for %s. You can set table configuration option "
                        "'alter-column-null-to-not-null.disabled' = 'false' to allow converting null columns to not null",
                        path_text(e, e->n_path - 1, NULL, text));
}

static tl_status cast_refused(const char *name, const tl_type *from, const tl_type *to, tl_error *err)
{
    tl_buf a = {0}, b = {0};
    (void)tl_type_format(from, &a); /* only a message */
    (void)tl_type_format(to, &b);
    tl_status status = tl_error_set(err, TL_E_INVALID, "Column type %s[%.*s] cannot be converted to %.*s without loosing information.", name,
                                    (int)a.len, (const char *)a.data, (int)b.len, (const char *)b.data);
    tl_buf_deinit(&a);
    tl_buf_deinit(&b);
    return status;
}

/* ROWs that a type change brings along get ids of their own, as a new column's would. */
static tl_status numbered_type(const edit *e, const tl_type *type, const tl_type **out, tl_error *err)
{
    if (type->kind != TL_ROW && type->kind != TL_ARRAY && type->kind != TL_MAP && type->kind != TL_MULTISET) {
        *out = tl_type_ref(type);
        return TL_OK;
    }
    tl_field field = {.name = (char *)"c", .id = -1, .type = type};
    const tl_type *plain = NULL, *numbered = NULL;
    int32_t highest = e->altering->fresh->highest_field_id;
    TL_TRY(tl_type_create_row(false, &field, 1, &plain, err));
    tl_status status = tl_schema_assign_ids(plain, &highest, &numbered, err);
    tl_type_unref(plain);
    TL_TRY(status);
    *out = tl_type_ref(numbered->fields[0].type);
    tl_type_unref(numbered);
    e->altering->fresh->highest_field_id = highest;
    return TL_OK;
}

static tl_status change_type(const edit *e, tl_field *field, int32_t steps, const tl_type **out, tl_error *err)
{
    const tl_type *from = root_of(field->type, steps);
    if (e->change->type == NULL)
        return tl_error_set(err, TL_E_INVALID, "the new type of column '%s' is missing", field->name);
    const tl_type *to = NULL;
    if (e->change->keep_nullability) {
        TL_TRY(tl_type_with_nullable(e->change->type, from->nullable, &to, err));
    } else {
        TL_TRY(check_nullability(e, from->nullable, e->change->type->nullable, err));
        to = tl_type_ref(e->change->type);
    }
    bool allow_explicit = !tl_table__option_bool(&e->altering->old->options, "disable-explicit-type-casting");
    tl_status status = tl_table__can_cast(from, to, allow_explicit) ? TL_OK : cast_refused(field->name, from, to, err);
    const tl_type *numbered = NULL;
    if (status == TL_OK)
        status = numbered_type(e, to, &numbered, err);
    if (status == TL_OK)
        status = with_root(field->type, steps, numbered, out, err);
    tl_type_unref(numbered);
    tl_type_unref(to);
    return status;
}

static tl_status change_nullable(const edit *e, tl_field *field, int32_t steps, const tl_type **out, tl_error *err)
{
    const tl_type *from = root_of(field->type, steps);
    bool nullable = e->change->type != NULL ? e->change->type->nullable : e->change->nullable;
    TL_TRY(check_nullability(e, from->nullable, nullable, err));
    const tl_type *to = NULL;
    TL_TRY(tl_type_with_nullable(from, nullable, &to, err));
    tl_status status = with_root(field->type, steps, to, out, err);
    tl_type_unref(to);
    return status;
}

/* A change of one field that stays where it is. `steps`: ARRAYs and MAPs below it that the path goes through. */
static tl_status update_field(const edit *e, fields *f, int32_t depth, const char *name, tl_error *err)
{
    int32_t i = find(f, name);
    if (i < 0)
        return no_column(e, e->n_path - 1, err);
    tl_field *field = &f->items[i];
    int32_t steps = e->n_path - 1 - depth;
    switch (e->change->kind) {
    case TL_ALTER_COLUMN_TYPE:
        TL_TRY(change_type(e, field, steps, &f->held, err));
        field->type = f->held;
        return tl_table__validate_default(field->type, field->default_value, err);
    case TL_ALTER_COLUMN_NULLABLE:
        TL_TRY(change_nullable(e, field, steps, &f->held, err));
        field->type = f->held;
        return TL_OK;
    case TL_ALTER_COLUMN_COMMENT:
        field->description = (char *)e->change->value;
        return TL_OK;
    case TL_ALTER_COLUMN_DEFAULT:
        TL_TRY(tl_table__validate_default(field->type, e->change->value, err));
        field->default_value = (char *)e->change->value;
        return TL_OK;
    default:
        return tl_error_set(err, TL_E_INTERNAL, "unknown change of column '%s'", name);
    }
}

/* ---- along the path ---- */

static tl_status change_here(const edit *e, fields *f, int32_t depth, tl_error *err)
{
    const char *name = e->path[depth];
    switch (e->change->kind) {
    case TL_ALTER_ADD_COLUMN:
        return add_column(e, f, depth, name, err);
    case TL_ALTER_RENAME_COLUMN:
        return rename_column(e, f, depth, name, err);
    case TL_ALTER_DROP_COLUMN:
        return drop_column(e, f, depth, name, err);
    case TL_ALTER_COLUMN_POSITION:
        return move_column(e, f, err);
    default:
        return update_field(e, f, depth, name, err);
    }
}

static tl_status edit_row(const edit *e, const tl_type *row, int32_t depth, const tl_type **out, tl_error *err);

/* The ROW below ARRAYs and MAPs; *steps counts those and the step into the ROW. NULL if there is none. */
static const tl_type *row_below(const tl_type *type, int32_t *steps)
{
    *steps = 1;
    while (type->kind == TL_ARRAY || type->kind == TL_MAP) {
        type = type->fields[type->kind == TL_MAP ? 1 : 0].type;
        ++*steps;
    }
    return type->kind == TL_ROW ? type : NULL;
}

static tl_status descend(const edit *e, fields *f, int32_t depth, tl_error *err)
{
    int32_t i = find(f, e->path[depth]);
    if (i < 0)
        return no_column(e, depth, err);
    int32_t steps = 0;
    const tl_type *row = row_below(f->items[i].type, &steps);
    if (depth + steps >= e->n_path)
        return change_here(e, f, depth, err);
    if (row == NULL)
        return no_column(e, depth + steps, err);
    const tl_type *changed = NULL;
    TL_TRY(edit_row(e, row, depth + steps, &changed, err));
    tl_status status = with_root(f->items[i].type, steps - 1, changed, &f->held, err);
    tl_type_unref(changed);
    if (status == TL_OK)
        f->items[i].type = f->held;
    return status;
}

static tl_status edit_row(const edit *e, const tl_type *row, int32_t depth, const tl_type **out, tl_error *err)
{
    fields f = {.n = row->n_fields};
    f.items = tl_alloc((size_t)(row->n_fields + 1) * sizeof *f.items);
    if (f.items == NULL)
        return tl_nomem(err, "columns");
    if (row->n_fields > 0)
        memcpy(f.items, row->fields, (size_t)row->n_fields * sizeof *f.items);
    tl_status status = depth == e->n_path - 1 ? change_here(e, &f, depth, err) : descend(e, &f, depth, err);
    if (status == TL_OK)
        status = tl_type_create_row(row->nullable, f.items, f.n, out, err);
    fields_deinit(&f);
    return status;
}

/* The change's path: as given, or its name, which may be dotted unless a column has that very name. */
static tl_status make_path(const tl_altering *a, const tl_alter *change, char ***path, int32_t *n, tl_error *err)
{
    if (change->path != NULL && change->n_path > 0) {
        char **copy = tl_calloc((size_t)change->n_path, sizeof *copy);
        bool ok = copy != NULL;
        for (int32_t i = 0; ok && i < change->n_path; i++) {
            copy[i] = tl_strdup(change->path[i]);
            ok = copy[i] != NULL;
        }
        *path = copy;
        *n = change->n_path;
        return ok ? TL_OK : tl_nomem(err, "column path");
    }
    const char *name = change->name;
    if (name == NULL || *name == '\0')
        return tl_error_set(err, TL_E_INVALID, "the column to change is missing");
    const tl_type *row = a->fresh->row_type;
    size_t head = strcspn(name, ".");
    TL_CLEANUP(tl_freep) char *first = tl_strndup(name, head);
    if (first == NULL)
        return tl_nomem(err, "column path");
    bool whole = name[head] == '\0' || tl_type_field_index(row, name) >= 0 || tl_type_field_index(row, first) < 0;
    size_t parts = 1;
    for (const char *p = name; !whole && *p != '\0'; p++)
        parts += *p == '.';
    *path = tl_calloc(parts, sizeof **path);
    if (*path == NULL)
        return tl_nomem(err, "column path");
    *n = (int32_t)parts;
    for (size_t i = 0; i < parts; i++) {
        size_t len = whole ? strlen(name) : strcspn(name, ".");
        (*path)[i] = tl_strndup(name, len);
        if ((*path)[i] == NULL)
            return tl_nomem(err, "column path");
        name += len + 1;
    }
    return TL_OK;
}

tl_status tl_alter__column(tl_altering *altering, const tl_alter *change, tl_error *err)
{
    edit e = {.altering = altering, .change = change};
    const tl_type *changed = NULL;
    tl_status status = make_path(altering, change, &e.path, &e.n_path, err);
    if (status == TL_OK)
        status = check_keys(&e, err);
    if (status == TL_OK)
        status = edit_row(&e, altering->fresh->row_type, 0, &changed, err);
    tl_names_free(e.path, (size_t)e.n_path);
    TL_TRY(status);
    tl_type_unref(altering->fresh->row_type);
    altering->fresh->row_type = changed;
    return TL_OK;
}

/* ---- renamed columns in keys and options ---- */

/* The new name of a top-level column; its own if it was not renamed. */
static const char *new_name(const tl_alter *changes, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++) {
        const tl_alter *c = &changes[i];
        const char *from = c->path != NULL && c->n_path == 1 ? c->path[0] : c->path == NULL ? c->name : NULL;
        if (c->kind == TL_ALTER_RENAME_COLUMN && from != NULL && strcmp(from, name) == 0)
            return c->value;
    }
    return name;
}

/* A comma list with its columns renamed; tl_free. */
static tl_status rename_list(const tl_alter *changes, size_t n, const char *text, char **out, tl_error *err)
{
    char **names = NULL;
    size_t count = 0;
    TL_TRY(tl_table__split_list(text, /* trim= */ false, &names, &count, err));
    tl_buf buf = {0};
    tl_status status = TL_OK;
    for (size_t i = 0; status == TL_OK && i < count; i++)
        status = tl_buf_appendf(&buf, "%s%s", i > 0 ? "," : "", new_name(changes, n, names[i]));
    if (status == TL_OK)
        status = tl_buf_steal_str(&buf, out);
    tl_buf_deinit(&buf);
    tl_names_free(names, count);
    return status == TL_OK ? TL_OK : tl_nomem(err, "options");
}

static bool starts_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

/* "a, m[k]" of file indexes: columns, and values of MAP columns. */
static tl_status rename_indexed(const tl_alter *changes, size_t n, const char *text, char **out, tl_error *err)
{
    tl_buf buf = {0};
    tl_bytes_view piece;
    tl_status status = TL_OK;
    for (const char *at = text; status == TL_OK && tl_list_next(&at, &piece);) {
        const char *name = (const char *)piece.data, *bracket = memchr(name, '[', piece.len);
        size_t len = bracket != NULL && name[piece.len - 1] == ']' ? (size_t)(bracket - name) : piece.len;
        TL_CLEANUP(tl_freep) char *column = tl_strndup(name, len);
        status = column == NULL ? TL_E_NOMEM
                                : tl_buf_appendf(&buf, "%s%s%.*s", buf.len > 0 ? "," : "", new_name(changes, n, column), (int)(piece.len - len),
                                                 name + len);
    }
    if (status == TL_OK)
        status = tl_buf_steal_str(&buf, out);
    tl_buf_deinit(&buf);
    return status == TL_OK ? TL_OK : tl_nomem(err, "options");
}

/* `fields.A,B.OPTION`: the columns of the key, and those of a sequence group's value (a nested-key's are fields of the column's rows). */
static tl_status rename_fields_option(const tl_alter *changes, size_t n, const char *key, const char *value, char **new_key, char **new_value,
                                      tl_error *err)
{
    const char *columns = key + strlen("fields."), *option = strrchr(columns, '.');
    if (option == NULL)
        return TL_OK;
    TL_CLEANUP(tl_freep) char *names = tl_strndup(columns, (size_t)(option - columns));
    TL_CLEANUP(tl_freep) char *renamed = NULL;
    if (names == NULL)
        return tl_nomem(err, "options");
    TL_TRY(rename_list(changes, n, names, &renamed, err));
    *new_key = tl_strf("fields.%s%s", renamed, option);
    if (*new_key == NULL)
        return tl_nomem(err, "options");
    return strcmp(option, ".sequence-group") == 0 ? rename_list(changes, n, value, new_value, err) : TL_OK;
}

/* `file-index.KIND.columns` and `file-index.KIND.COLUMN.OPTION`. */
static tl_status rename_index_option(const tl_alter *changes, size_t n, const char *key, const char *value, char **new_key, char **new_value,
                                     tl_error *err)
{
    const char *kind = key + strlen("file-index."), *column = strchr(kind, '.'), *option = column == NULL ? NULL : strchr(column + 1, '.');
    if (column != NULL && strcmp(column, ".columns") == 0)
        return rename_indexed(changes, n, value, new_value, err);
    if (option == NULL)
        return TL_OK;
    TL_CLEANUP(tl_freep) char *name = tl_strndup(column + 1, (size_t)(option - column - 1));
    TL_CLEANUP(tl_freep) char *renamed = NULL;
    if (name == NULL)
        return tl_nomem(err, "options");
    TL_TRY(rename_indexed(changes, n, name, &renamed, err));
    *new_key = tl_strf("%.*s.%s%s", (int)(column - key), key, renamed, option);
    return *new_key == NULL ? tl_nomem(err, "options") : TL_OK;
}

/* One option under its new key and value; what stays NULL is unchanged. The reference follows in keys and in some of these only; the others
   name a column there that is none any more. */
static tl_status rename_option(const tl_alter *changes, size_t n, const char *key, const char *value, char **new_key, char **new_value,
                               tl_error *err)
{
    static const char *const lists[] = {"bucket-key",          "sequence.field", "record-level.time-field",
                                        "clustering.columns",  "rowkind.field",  "partial-update.remove-record-on-sequence-group",
                                        "upsert-key"};
    *new_key = *new_value = NULL;
    for (size_t i = 0; i < TL_ARRAY_LEN(lists); i++) {
        if (strcmp(key, lists[i]) == 0)
            return rename_list(changes, n, value, new_value, err);
    }
    if (starts_with(key, "fields."))
        return rename_fields_option(changes, n, key, value, new_key, new_value, err);
    return starts_with(key, "file-index.") ? rename_index_option(changes, n, key, value, new_key, new_value, err) : TL_OK;
}

static tl_status rename_options(tl_options *opts, const tl_alter *changes, size_t n, tl_error *err)
{
    tl_options fresh = {0};
    tl_status status = TL_OK;
    for (size_t i = 0; status == TL_OK && i < opts->count; i++) {
        TL_CLEANUP(tl_freep) char *key = NULL;
        TL_CLEANUP(tl_freep) char *value = NULL;
        status = rename_option(changes, n, opts->keys[i], opts->values[i], &key, &value, err);
        if (status == TL_OK && tl_options_set(&fresh, key == NULL ? opts->keys[i] : key, value == NULL ? opts->values[i] : value) != TL_OK)
            status = tl_nomem(err, "options");
    }
    if (status == TL_OK) {
        tl_options_deinit(opts);
        *opts = fresh;
    } else {
        tl_options_deinit(&fresh);
    }
    return status;
}

tl_status tl_alter__renames(tl_altering *a, const tl_alter *changes, size_t n, tl_error *err)
{
    bool any = false;
    for (size_t i = 0; i < n; i++)
        any |= changes[i].kind == TL_ALTER_RENAME_COLUMN;
    if (!any)
        return TL_OK;
    for (int32_t i = 0; i < a->fresh->n_primary_keys; i++) {
        char *renamed = tl_strdup(new_name(changes, n, a->fresh->primary_keys[i]));
        if (renamed == NULL)
            return tl_nomem(err, "primary key");
        tl_free(a->fresh->primary_keys[i]);
        a->fresh->primary_keys[i] = renamed;
    }
    return rename_options(&a->fresh->options, changes, n, err);
}
