/* DESCRIBE and SHOW CREATE. */
#include <stdio.h>

#include "sql/commands.h"

typedef struct description {
    tl_result *rows;
    tl_binder *b;
    const tl_ast *at; /* DESCRIBE, or SHOW COLUMNS with its pattern */
    const char *const *keys;
    int32_t n_keys;
} description;

static tl_status type_cell(tl_binder *b, const tl_type *type, const char **out)
{
    *out = tl_bind__type_summary(b, type);
    BIND_ALLOC(b, *out);
    return TL_OK;
}

/** The type of a time attribute as Flink shows it: a rowtime only in streaming mode. */
static tl_status attribute_cell(tl_binder *b, const tl_type *type, uint8_t attr, const char **out)
{
    bool proctime = attr == TL_TIME_PROCTIME;
    if (!proctime && (attr != TL_TIME_ROWTIME || !b->streaming))
        return type_cell(b, type, out);
    *out = tl_arena_strf(b->arena, "%s(%d) *%s*", type->kind == TL_TIMESTAMP_LTZ ? "TIMESTAMP_LTZ" : "TIMESTAMP", (int)type->precision, proctime ? "PROCTIME" : "ROWTIME");
    BIND_ALLOC(b, *out);
    return TL_OK;
}

static tl_status describe_column(const description *d, const char *name, const tl_type *type, uint8_t attr, const char *extras, const char *watermark, const char *comment)
{
    tl_binder *b = d->b;
    if (!tl_sql__shows(d->at, name))
        return TL_OK;
    const tl_type *nullable;
    TL_TRY(tl_bind__nullable(b, type, true, &nullable));
    const char *key = NULL;
    for (int32_t i = 0; i < d->n_keys; i++) {
        if (strcmp(d->keys[i], name) != 0)
            continue;
        const char *all = d->keys[0];
        for (int32_t k = 1; k < d->n_keys && all != NULL; k++)
            all = tl_arena_strf(b->arena, "%s, %s", all, d->keys[k]);
        key = all != NULL ? tl_arena_strf(b->arena, "PRI(%s)", all) : NULL;
        BIND_ALLOC(b, key);
    }
    const char *type_text;
    TL_TRY(attribute_cell(b, nullable, attr, &type_text));
    const char *cells[] = {name, type_text, type->nullable ? "TRUE" : "FALSE", key, extras, watermark, comment};
    return tl_result__add(d->rows, cells, b->err);
}

static const char *unparsed(tl_binder *b, const tl_ast *e)
{
    tl_buf buf = {0};
    const char *text = NULL;
    if (tl_sql__unparse(e, &buf) == TL_OK)
        text = tl_arena_strndup(b->arena, (const char *)buf.data, buf.len);
    tl_buf_deinit(&buf);
    return text;
}

static tl_status describe_object(description *d, const tl_sql_object *object)
{
    tl_binder *b = d->b;
    tl_plan *plan;
    tl_scope *scope;
    const char *quoted = tl_arena_strf(b->arena, "`%s`.`%s`.`%s`", object->catalog, object->db, object->name);
    const tl_ast *name;
    BIND_ALLOC(b, quoted);
    TL_TRY(tl_sql__parse_expr(b->arena, quoted, strlen(quoted), &name, b->err));
    TL_TRY(tl_bind__table_scan(b, name, NULL, &plan, &scope, NULL));
    d->keys = object->primary_key;
    d->n_keys = object->n_primary_key;
    for (int32_t i = 0; i < plan->type->n_fields; i++) {
        const tl_field *f = &plan->type->fields[i];
        const tl_sql_column *c = object->is_view ? NULL : &object->columns[i];
        const char *extras = NULL, *watermark = NULL;
        if (c != NULL && c->computed != NULL)
            extras = tl_arena_strf(b->arena, "AS %s", unparsed(b, c->computed));
        if (c != NULL && c->metadata != NULL)
            extras = tl_arena_strf(b->arena, "METADATA FROM '%s'%s", c->metadata, c->is_virtual ? " VIRTUAL" : "");
        if (c != NULL && object->watermark != NULL && strcmp(tl_ast_last_name(object->watermark_column), c->name) == 0)
            watermark = unparsed(b, object->watermark);
        TL_TRY(describe_column(d, f->name, f->type, plan->time_attr[i], extras, watermark, c != NULL ? c->comment : NULL));
    }
    return TL_OK;
}

/** A table of the lake: its stored columns, and among them those that its options define. */
static tl_status describe_table(description *d, const tl_ast *name, const tl_sql_table *table)
{
    tl_binder *b = d->b;
    bool system = tl_table_is_system(table->table);
    const tl_table_schema *schema = tl_table_schema_of(table->table);
    tl_plan *plan;
    tl_scope *scope;
    TL_TRY(tl_bind__table_scan(b, name, NULL, &plan, &scope, NULL));
    d->keys = system ? NULL : (const char *const *)schema->primary_keys;
    d->n_keys = system ? 0 : schema->n_primary_keys;
    const char *rowtime, *strategy;
    bool has_watermark = !system && tl_bind__stored_watermark(&schema->options, &rowtime, &strategy);
    for (int32_t i = 0; i < plan->type->n_fields; i++) {
        const tl_field *f = &plan->type->fields[i];
        int32_t stored = tl_type_field_index(table->row_type, f->name);
        const char *extras = NULL, *watermark = NULL, *computed;
        const char *text = system ? NULL : tl_bind__stored_expr(table, i, &computed);
        if (text != NULL)
            extras = tl_arena_strf(b->arena, "AS %s", text);
        if (has_watermark && strcmp(rowtime, f->name) == 0)
            watermark = strategy;
        TL_TRY(describe_column(d, f->name, f->type, plan->time_attr[i], extras, watermark, stored >= 0 ? table->row_type->fields[stored].description : NULL));
    }
    return TL_OK;
}

/** Whether a column has a comment: without any there is no column of comments. */
static bool has_comments(const tl_sql_object *object, const tl_sql_table *table)
{
    for (int32_t i = 0; object != NULL && !object->is_view && i < object->n_columns; i++)
        if (object->columns[i].comment != NULL)
            return true;
    for (int32_t i = 0; object == NULL && i < table->row_type->n_fields; i++)
        if (table->row_type->fields[i].description != NULL)
            return true;
    return false;
}

/** Name, type and comment of a catalog; EXTENDED: its options, too. */
static tl_status describe_catalog(tl_binder *b, const tl_ast *at, tl_reader **out)
{
    static const char *const names[] = {"info name", "info value"};
    const tl_sql_catalog *catalog = tl_sql__catalog(b->session, tl_ast_last_name(at->kid[0]));
    if (catalog == NULL)
        return TL_AST_ERROR(b->err, TL_E_NOT_FOUND, at, "a catalog with name [%s] does not exist", tl_ast_last_name(at->kid[0]));
    const char *type = tl_options_get(&catalog->options, "type");
    TL_CLEANUP(tl_result__deinit) tl_result rows = {0};
    TL_TRY(tl_result__init(&rows, names, 2, b->err));
    const char *const head[][2] = {{"name", catalog->name}, {"type", type != NULL ? type : "generic_in_memory"}, {"comment", NULL}};
    for (size_t i = 0; i < TL_ARRAY_LEN(head); i++)
        TL_TRY(tl_result__add(&rows, head[i], b->err));
    for (size_t i = 0; (at->flags & AST_F_ALL) != 0 && i < catalog->options.count; i++) {
        if (strcmp(catalog->options.keys[i], "type") == 0)
            continue;
        const char *cells[] = {tl_arena_strf(b->arena, "option:%s", catalog->options.keys[i]), catalog->options.values[i]};
        BIND_ALLOC(b, cells[0]);
        TL_TRY(tl_result__add(&rows, cells, b->err));
    }
    return tl_result__finish(&rows, out, b->err);
}

tl_status tl_sql__describe(tl_binder *b, const tl_ast *name, const tl_ast *at, tl_reader **out)
{
    static const char *const names[] = {"name", "type", "null", "key", "extras", "watermark", "comment"};
    if (at->kind == AST_DESCRIBE && strcmp(at->text, "CATALOG") == 0)
        return describe_catalog(b, at, out);
    if (at->kind == AST_DESCRIBE && strcmp(at->text, "TABLE") != 0)
        return TL_AST_ERROR(b->err, TL_E_UNSUPPORTED, at, "DESCRIBE %s is not there: Flink refuses it, too", at->text);
    tl_sql_table *table;
    tl_sql_object *object;
    TL_TRY(tl_bind__table(b, name, NULL, &table, &object));
    TL_CLEANUP(tl_result__deinit) tl_result rows = {0};
    TL_TRY(tl_result__init(&rows, names, has_comments(object, table) ? 7 : 6, b->err));
    TL_TRY(tl_result__make_boolean(&rows, 2, b->err));
    description d = {.rows = &rows, .b = b, .at = at};
    TL_TRY(object != NULL ? describe_object(&d, object) : describe_table(&d, name, table));
    return tl_result__finish(&rows, out, b->err);
}

/* ---- SHOW CREATE ---- */

static tl_status append_text(tl_buf *buf, const char *text)
{
    TL_TRY(tl_buf_append_byte(buf, '\''));
    for (; *text != '\0'; text++) {
        if (*text == '\'')
            TL_TRY(tl_buf_append_byte(buf, '\''));
        TL_TRY(tl_buf_append_byte(buf, (uint8_t)*text));
    }
    return tl_buf_append_byte(buf, '\'');
}

static tl_status append_names(tl_buf *buf, const char *const *names, int32_t n)
{
    for (int32_t i = 0; i < n; i++)
        TL_TRY(tl_buf_appendf(buf, "%s`%s`", i > 0 ? ", " : "", names[i]));
    return TL_OK;
}

static tl_status append_options(tl_buf *buf, const tl_options *options)
{
    bool first = true;
    for (size_t i = 0; i < options->count; i++) {
        if (strncmp(options->keys[i], "schema.", 7) == 0)
            continue;
        TL_TRY(tl_buf_append_str(buf, first ? "WITH (\n  " : ",\n  "));
        TL_TRY(append_text(buf, options->keys[i]));
        TL_TRY(tl_buf_append_str(buf, " = "));
        TL_TRY(append_text(buf, options->values[i]));
        first = false;
    }
    return first ? TL_OK : tl_buf_append_str(buf, "\n)\n");
}

/** A type in the words that Flink prints here: VARCHAR(2147483647) for STRING and the like, inside other types, too. */
static tl_status append_type(tl_buf *buf, const tl_type *type)
{
    static const char *const words[][2] = {{"STRING", "VARCHAR(2147483647)"}, {"BYTES", "VARBINARY(2147483647)"}, {"TIMESTAMP_LTZ", "TIMESTAMP"}};
    tl_buf text = {0};
    tl_status status = tl_type_format(type, &text);
    char quote = 0;
    bool local = false;
    for (size_t i = 0; status == TL_OK && i < text.len;) {
        char c = (char)text.data[i];
        size_t w = TL_ARRAY_LEN(words);
        for (size_t k = 0; quote == 0 && k < TL_ARRAY_LEN(words); k++)
            if (text.len - i >= strlen(words[k][0]) && memcmp(text.data + i, words[k][0], strlen(words[k][0])) == 0)
                w = k;
        if (w < TL_ARRAY_LEN(words)) {
            status = tl_buf_append_str(buf, words[w][1]);
            i += strlen(words[w][0]);
            local = w == 2;
            continue;
        }
        if (quote != 0)
            quote = c == quote ? 0 : quote;
        else if (c == '`' || c == '\'')
            quote = c;
        status = tl_buf_append_byte(buf, (uint8_t)c);
        if (status == TL_OK && local && c == ')') {
            status = tl_buf_append_str(buf, " WITH LOCAL TIME ZONE");
            local = false;
        }
        i++;
    }
    tl_buf_deinit(&text);
    return status;
}

static tl_status append_comment(tl_buf *buf, const char *comment)
{
    if (comment == NULL)
        return TL_OK;
    TL_TRY(tl_buf_append_str(buf, " COMMENT "));
    return append_text(buf, comment);
}

static tl_status append_tail(tl_buf *buf, const char *const *primary, int32_t n_primary, const char *const *partition, int32_t n_partition, const char *comment,
                             const tl_options *options)
{
    if (n_primary > 0) {
        TL_TRY(tl_buf_append_str(buf, ",\n  CONSTRAINT `PK"));
        for (int32_t i = 0; i < n_primary; i++)
            TL_TRY(tl_buf_appendf(buf, "_%s", primary[i]));
        TL_TRY(tl_buf_append_str(buf, "` PRIMARY KEY ("));
        TL_TRY(append_names(buf, primary, n_primary));
        TL_TRY(tl_buf_append_str(buf, ") NOT ENFORCED"));
    }
    TL_TRY(tl_buf_append_str(buf, "\n) "));
    if (comment != NULL && comment[0] != '\0') {
        TL_TRY(tl_buf_append_str(buf, "COMMENT "));
        TL_TRY(append_text(buf, comment));
        TL_TRY(tl_buf_append_str(buf, "\n"));
    }
    if (n_partition > 0) {
        TL_TRY(tl_buf_append_str(buf, "PARTITIONED BY ("));
        TL_TRY(append_names(buf, partition, n_partition));
        TL_TRY(tl_buf_append_str(buf, ")\n"));
    }
    return append_options(buf, options);
}

/** The view's query as it was written (Flink prints it with every name qualified). */
static tl_status create_view_text(tl_binder *b, const tl_sql_object *o, tl_buf *buf)
{
    tl_plan *plan;
    tl_binder inner = *b;
    TL_TRY(tl_buf_appendf(buf, "CREATE %sVIEW `%s`.`%s`.`%s`", o->temporary ? "TEMPORARY " : "", o->catalog, o->db, o->name));
    if (o->names != NULL) {
        TL_TRY(tl_bind__view(&inner, o, &plan));
        TL_TRY(tl_buf_append_str(buf, " ("));
        TL_TRY(append_names(buf, o->names, plan->type->n_fields));
        TL_TRY(tl_buf_append_str(buf, ")"));
    }
    TL_TRY(append_comment(buf, o->comment != NULL && o->comment[0] != '\0' ? o->comment : NULL));
    return tl_buf_appendf(buf, " AS\n%s\n", o->text);
}

static tl_status create_object_text(tl_binder *b, const tl_sql_object *o, tl_buf *buf)
{
    const char *temporary = o->temporary ? "TEMPORARY " : "";
    if (o->is_view)
        return create_view_text(b, o, buf);
    TL_TRY(tl_buf_appendf(buf, "CREATE %sTABLE `%s`.`%s`.`%s` (\n", temporary, o->catalog, o->db, o->name));
    for (int32_t i = 0; i < o->n_columns; i++) {
        const tl_sql_column *c = &o->columns[i];
        TL_TRY(tl_buf_appendf(buf, "%s  `%s` ", i > 0 ? ",\n" : "", c->name));
        if (c->computed != NULL) {
            const char *text = unparsed(b, c->computed);
            BIND_ALLOC(b, text);
            TL_TRY(tl_buf_appendf(buf, "AS %s", text));
        } else {
            TL_TRY(append_type(buf, c->type));
        }
        if (c->metadata != NULL)
            TL_TRY(tl_buf_appendf(buf, " METADATA FROM '%s'%s", c->metadata, c->is_virtual ? " VIRTUAL" : ""));
        TL_TRY(append_comment(buf, c->comment));
    }
    if (o->watermark != NULL) {
        const char *text = unparsed(b, o->watermark);
        BIND_ALLOC(b, text);
        TL_TRY(tl_buf_appendf(buf, ",\n  WATERMARK FOR `%s` AS %s", tl_ast_last_name(o->watermark_column), text));
    }
    return append_tail(buf, o->primary_key, o->n_primary_key, o->partition_key, o->n_partition_key, o->comment, &o->options);
}

static tl_status create_table_text(const tl_sql_table *t, tl_buf *buf)
{
    const tl_table_schema *s = tl_table_schema_of(t->table);
    int32_t total = t->row_type->n_fields + tl_bind__stored_computed(t), stored = 0;
    TL_TRY(tl_buf_appendf(buf, "CREATE TABLE `%s`.`%s`.`%s` (\n", t->catalog, t->db, t->name));
    for (int32_t i = 0; i < total; i++) {
        const char *computed, *text = tl_bind__stored_expr(t, i, &computed);
        if (text != NULL) {
            TL_TRY(tl_buf_appendf(buf, "%s  `%s` AS %s", i > 0 ? ",\n" : "", computed, text));
            continue;
        }
        if (stored == t->row_type->n_fields)
            continue;
        const tl_field *f = &t->row_type->fields[stored++];
        TL_TRY(tl_buf_appendf(buf, "%s  `%s` ", i > 0 ? ",\n" : "", f->name));
        TL_TRY(append_type(buf, f->type));
        TL_TRY(append_comment(buf, f->description));
    }
    const char *rowtime, *strategy;
    if (tl_bind__stored_watermark(&s->options, &rowtime, &strategy))
        TL_TRY(tl_buf_appendf(buf, ",\n  WATERMARK FOR `%s` AS %s", rowtime, strategy));
    return append_tail(buf, (const char *const *)s->primary_keys, s->n_primary_keys, (const char *const *)s->partition_keys, s->n_partition_keys, s->comment, &s->options);
}

tl_status tl_sql__show_create(tl_binder *b, const tl_ast *ast, tl_reader **out)
{
    tl_buf buf = {0};
    tl_status status;
    if (strcmp(ast->text, "CREATE CATALOG") == 0) {
        const tl_sql_catalog *catalog = tl_sql__catalog(b->session, tl_ast_last_name(ast->kid[0]));
        if (catalog == NULL)
            return TL_AST_ERROR(b->err, TL_E_NOT_FOUND, ast, "a catalog with name [%s] does not exist", tl_ast_last_name(ast->kid[0]));
        status = tl_buf_appendf(&buf, "CREATE CATALOG `%s` ", catalog->name);
        if (status == TL_OK)
            status = append_options(&buf, &catalog->options);
    } else {
        tl_sql_table *table;
        tl_sql_object *object;
        TL_TRY(tl_bind__table(b, ast->kid[0], NULL, &table, &object));
        if (object == NULL && tl_table_is_system(table->table))
            return BIND_ERROR(b, ast, "'%s' is a system table", table->name);
        if (strcmp(ast->text, "CREATE VIEW") == 0 && (object == NULL || !object->is_view))
            return BIND_ERROR(b, ast, "'%s' is no view", tl_ast_last_name(ast->kid[0]));
        status = object != NULL ? create_object_text(b, object, &buf) : create_table_text(table, &buf);
    }
    char *text = NULL;
    if (status == TL_OK)
        status = tl_buf_steal_str(&buf, &text);
    status = status == TL_OK ? tl_result__single("result", text, out, b->err) : tl_nomem(b->err, "SHOW CREATE");
    tl_free(text);
    tl_buf_deinit(&buf);
    return status;
}
