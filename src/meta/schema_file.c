/*
 * schema/schema-N: JSON to struct and back (format reference §2). Java: TableSchema, SchemaSerializer.
 */
#include "meta/meta_private.h"

#define SCHEMA_VERSION 3

tl_table_schema *tl_table_schema_ref(const tl_table_schema *schema)
{
    tl_table_schema *s = (tl_table_schema *)schema;
    __atomic_add_fetch(&s->refs, 1, __ATOMIC_RELAXED);
    return s;
}

void tl_table_schema_unref(tl_table_schema *schema)
{
    if (schema == NULL || __atomic_sub_fetch(&schema->refs, 1, __ATOMIC_ACQ_REL) != 0)
        return;
    tl_type_unref(schema->row_type);
    tl_names_free(schema->partition_keys, (size_t)schema->n_partition_keys);
    tl_names_free(schema->primary_keys, (size_t)schema->n_primary_keys);
    tl_options_deinit(&schema->options);
    tl_free(schema->comment);
    tl_free(schema);
}

static tl_status parse_field(const tl_json *json, tl_field *out, tl_error *err)
{
    int64_t id;
    if (json->kind != TL_JSON_OBJECT)
        return tl_error_set(err, TL_E_CORRUPT, "'fields' has an item that is no object");
    TL_TRY(tl_meta__json_int(json, "id", true, 0, &id, err));
    if (id < 0 || id > INT32_MAX)
        return tl_error_set(err, TL_E_CORRUPT, "field id %lld", (long long)id);
    out->id = (int32_t)id;
    TL_TRY(tl_meta__json_str(json, "name", true, &out->name, err));
    const tl_json *type = tl_json_get(json, "type");
    if (type == NULL)
        return tl_error_set(err, TL_E_CORRUPT, "field '%s' has no type", out->name);
    TL_TRY(tl_error_wrap(err, tl_type_from_json(type, &out->type, err), "field '%s'", out->name));
    TL_TRY(tl_meta__json_str(json, "description", false, &out->description, err));
    return tl_meta__json_str(json, "defaultValue", false, &out->default_value, err);
}

static void free_fields(tl_field *fields, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        tl_free(fields[i].name);
        tl_type_unref(fields[i].type);
        tl_free(fields[i].description);
        tl_free(fields[i].default_value);
    }
    tl_free(fields);
}

static tl_status parse_fields(const tl_json *object, const tl_type **out, tl_error *err)
{
    const tl_json *list = tl_json_get(object, "fields");
    if (list == NULL || list->kind != TL_JSON_ARRAY || list->n_children > INT32_MAX / 2)
        return tl_error_set(err, TL_E_CORRUPT, "'fields' is missing or no array");
    size_t n = (size_t)list->n_children, i = 0;
    tl_field *fields = tl_calloc(n + 1, sizeof *fields);
    if (fields == NULL)
        return tl_nomem(err, "schema");
    tl_status status = TL_OK;
    for (const tl_json *item = list->child; item != NULL && status == TL_OK; item = item->next)
        status = parse_field(item, &fields[i++], err);
    if (status == TL_OK)
        status = tl_type_create_row(/* nullable= */ false, fields, (int32_t)n, out, err);
    free_fields(fields, n);
    return status;
}

static tl_status default_option(tl_options *options, const char *key, const char *value, tl_error *err)
{
    if (tl_options_get(options, key) != NULL)
        return TL_OK;
    return tl_options_set(options, key, value) == TL_OK ? TL_OK : tl_nomem(err, "schema options");
}

/* Files of older versions lack options whose defaults have changed since. */
static tl_status apply_version(tl_table_schema *schema, int64_t version, tl_error *err)
{
    if (version > SCHEMA_VERSION)
        return tl_error_set(err, TL_E_UNSUPPORTED, "schema version %lld", (long long)version);
    if (version <= 1)
        TL_TRY(default_option(&schema->options, "bucket", "1", err));
    return version <= 2 ? default_option(&schema->options, "file.format", "orc", err) : TL_OK;
}

static tl_status check_keys(const tl_table_schema *schema, char *const *keys, int32_t n, const char *what, tl_error *err)
{
    for (int32_t i = 0; i < n; i++) {
        if (tl_type_field_index(schema->row_type, keys[i]) < 0)
            return tl_error_set(err, TL_E_CORRUPT, "%s '%s' is no column", what, keys[i]);
    }
    return TL_OK;
}

static tl_status parse_members(const tl_json *json, tl_table_schema *schema, tl_error *err)
{
    int64_t version, highest;
    TL_TRY(tl_meta__json_int(json, "version", false, 1, &version, err));
    TL_TRY(tl_meta__json_int(json, "id", true, 0, &schema->id, err));
    TL_TRY(parse_fields(json, &schema->row_type, err));
    TL_TRY(tl_meta__json_int(json, "highestFieldId", true, 0, &highest, err));
    if (highest < -1 || highest > INT32_MAX)
        return tl_error_set(err, TL_E_CORRUPT, "'highestFieldId' is %lld", (long long)highest);
    schema->highest_field_id = (int32_t)highest;
    TL_TRY(tl_meta__json_names(json, "partitionKeys", &schema->partition_keys, &schema->n_partition_keys, err));
    TL_TRY(tl_meta__json_names(json, "primaryKeys", &schema->primary_keys, &schema->n_primary_keys, err));
    TL_TRY(check_keys(schema, schema->partition_keys, schema->n_partition_keys, "partition key", err));
    TL_TRY(check_keys(schema, schema->primary_keys, schema->n_primary_keys, "primary key", err));
    TL_TRY(tl_meta__json_options(json, "options", &schema->options, err));
    TL_TRY(apply_version(schema, version, err));
    TL_TRY(tl_meta__json_str(json, "comment", false, &schema->comment, err));
    return tl_meta__json_int(json, "timeMillis", false, 0, &schema->time_ms, err);
}

tl_status tl_table_schema_parse(tl_bytes_view text, tl_table_schema **out, tl_error *err)
{
    tl_table_schema *schema = tl_calloc(1, sizeof *schema);
    if (schema == NULL)
        return tl_nomem(err, "schema");
    schema->refs = 1;
    tl_arena arena = {0};
    const tl_json *json;
    tl_status status = tl_meta__parse_object(&arena, text, &json, err);
    if (status == TL_OK)
        status = parse_members(json, schema, err);
    tl_arena_deinit(&arena);
    if (status != TL_OK)
        tl_table_schema_unref(schema);
    else
        *out = schema;
    return status;
}

static void write_names(tl_json_writer *w, const char *key, char *const *names, int32_t n)
{
    tl_json_key(w, key);
    tl_json_begin_array(w);
    for (int32_t i = 0; i < n; i++)
        tl_json_write_str(w, names[i]);
    tl_json_end_array(w);
}

static void write_int(tl_json_writer *w, const char *key, int64_t v)
{
    tl_json_key(w, key);
    tl_json_write_int(w, v);
}

tl_status tl_table_schema_format(const tl_table_schema *schema, tl_bytes *out, tl_error *err)
{
    tl_json_writer w;
    tl_json_writer_init(&w, /* pretty= */ true);
    tl_json_begin_object(&w);
    write_int(&w, "version", SCHEMA_VERSION);
    write_int(&w, "id", schema->id);
    tl_json_key(&w, "fields");
    tl_fields_to_json(schema->row_type, &w);
    write_int(&w, "highestFieldId", schema->highest_field_id);
    write_names(&w, "partitionKeys", schema->partition_keys, schema->n_partition_keys);
    write_names(&w, "primaryKeys", schema->primary_keys, schema->n_primary_keys);
    tl_json_key(&w, "options");
    tl_meta__write_options(&w, &schema->options);
    if (schema->comment != NULL) {
        tl_json_key(&w, "comment");
        tl_json_write_str(&w, schema->comment);
    }
    write_int(&w, "timeMillis", schema->time_ms);
    tl_json_end_object(&w);
    return tl_meta__json_finish(&w, out, err);
}

int32_t tl_table_schema_trimmed_keys(const tl_table_schema *schema, int32_t *out)
{
    int32_t n = 0;
    for (int32_t i = 0; i < schema->n_primary_keys; i++) {
        bool is_partition = false;
        for (int32_t p = 0; p < schema->n_partition_keys; p++)
            is_partition = is_partition || strcmp(schema->primary_keys[i], schema->partition_keys[p]) == 0;
        if (!is_partition)
            out[n++] = tl_type_field_index(schema->row_type, schema->primary_keys[i]);
    }
    return n;
}
