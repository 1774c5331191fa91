/*
 * Change formats: an event of a database log becomes one or two rows with kinds. Sources: Flink's
 * DebeziumJsonDeserializationSchema, CanalJson…, MaxwellJson…, OggJson….
 *
 *   debezium-json  {"before":{…},"after":{…},"op":"c|r|u|d"}, with schema-include inside {"schema":…,"payload":…}
 *   canal-json     {"data":[{…},…],"old":[{…}],"type":"INSERT|UPDATE|DELETE"}: `old` has changed columns only
 *   maxwell-json   {"data":{…},"old":{…},"type":"insert|update|delete"}: likewise
 *   ogg-json       {"before":{…},"after":{…},"op_type":"I|U|D"}
 */
#include "connect/connect_private.h"

typedef struct change_decoder change_decoder;
typedef tl_status (*event_fn)(change_decoder *d, const tl_json *event, tl_row_buffer *rows, tl_error *err);

struct change_decoder {
    tl_decoder base;
    tl_json_rules rules;
    const tl_type *type;
    const char *format;
    event_fn event;
    bool schema_include;
    pcre2_code *database; /* canal: only events whose whole names match; NULL: all */
    pcre2_code *table;
    tl_arena arena;
};

static tl_status emit(change_decoder *d, const tl_json *row, const tl_json *fallback, uint8_t kind, tl_row_buffer *rows, tl_error *err)
{
    TL_TRY(tl_connect__json_row(&d->rules, row, fallback, d->type, rows, err));
    return tl_connect__rows_end(rows, kind, err);
}

static tl_status missing(const char *what, const char *why, tl_error *err)
{
    return tl_error_set(err, TL_E_INVALID, "\"%s\" of an event is null; %s", what, why);
}

/* Debezium and OGG: whole rows before and after. */
static tl_status before_after(change_decoder *d, const tl_json *event, char op, tl_row_buffer *rows, tl_error *err)
{
    const tl_json *before = tl_json_get(event, "before"), *after = tl_json_get(event, "after");
    static const char advice[] = "the database must log whole rows (PostgreSQL: REPLICA IDENTITY FULL)";
    if (op != 'D' && tl_json_is_null(after))
        return missing("after", "an insert or update needs it", err);
    if (op != 'I' && tl_json_is_null(before))
        return missing("before", advice, err);
    if (op == 'I')
        return emit(d, after, NULL, TL_KIND_INSERT, rows, err);
    if (op == 'D')
        return emit(d, before, NULL, TL_KIND_DELETE, rows, err);
    TL_TRY(emit(d, before, NULL, TL_KIND_UPDATE_BEFORE, rows, err));
    return emit(d, after, NULL, TL_KIND_UPDATE_AFTER, rows, err);
}

static tl_status unknown_op(const tl_json *op, tl_error *err)
{
    if (op == NULL)
        return tl_error_set(err, TL_E_INVALID, "the event does not tell its kind of change");
    return tl_error_set(err, TL_E_INVALID, "unknown kind of change %.*s", (int)TL_MIN(op->raw.len, (size_t)60), (const char *)op->raw.data);
}

static tl_status debezium_event(change_decoder *d, const tl_json *event, tl_row_buffer *rows, tl_error *err)
{
    const tl_json *body = d->schema_include ? tl_json_get(event, "payload") : event;
    const tl_json *op = tl_json_get(body, "op");
    if (op == NULL || op->kind != TL_JSON_STRING || op->text.len != 1)
        return unknown_op(op, err);
    switch (op->text.data[0]) {
    case 'c':
    case 'r':
        return before_after(d, body, 'I', rows, err);
    case 'u':
        return before_after(d, body, 'U', rows, err);
    case 'd':
        return before_after(d, body, 'D', rows, err);
    default:
        return unknown_op(op, err);
    }
}

static tl_status ogg_event(change_decoder *d, const tl_json *event, tl_row_buffer *rows, tl_error *err)
{
    const tl_json *op = tl_json_get(event, "op_type");
    if (tl_json_text_is(op, "I") || tl_json_text_is(op, "U") || tl_json_text_is(op, "D"))
        return before_after(d, event, (char)op->text.data[0], rows, err);
    return tl_json_text_is(op, "T") ? TL_OK : unknown_op(op, err); /* truncate: Flink leaves it out, too */
}

/*
 * Canal and Maxwell: the new row, and the old values of what changed. Writers that know no old values send null (TiCDC): nothing is
 * known to have changed then, and what comes behind still learns the new row. Flink fails there.
 */
static tl_status data_old(change_decoder *d, const tl_json *data, const tl_json *old, char op, tl_row_buffer *rows, tl_error *err)
{
    if (op == 'I' || op == 'D')
        return emit(d, data, NULL, op == 'I' ? TL_KIND_INSERT : TL_KIND_DELETE, rows, err);
    TL_TRY(tl_json_is_null(old) ? emit(d, data, NULL, TL_KIND_UPDATE_BEFORE, rows, err)
                                : emit(d, old, data, TL_KIND_UPDATE_BEFORE, rows, err));
    return emit(d, data, NULL, TL_KIND_UPDATE_AFTER, rows, err);
}

static tl_status maxwell_event(change_decoder *d, const tl_json *event, tl_row_buffer *rows, tl_error *err)
{
    const tl_json *type = tl_json_get(event, "type"), *data = tl_json_get(event, "data");
    char op = tl_json_text_is(type, "insert") || tl_json_text_is(type, "bootstrap-insert") ? 'I'
              : tl_json_text_is(type, "update")                                            ? 'U'
              : tl_json_text_is(type, "delete")                                            ? 'D'
                                                                                           : 0;
    if (tl_json_text_is(type, "bootstrap-start") || tl_json_text_is(type, "bootstrap-complete"))
        return TL_OK;
    if (op == 0)
        return unknown_op(type, err);
    if (tl_json_is_null(data))
        return missing("data", "an event needs it", err);
    return data_old(d, data, tl_json_get(event, "old"), op, rows, err);
}

static bool is_included(pcre2_code *pattern, const tl_json *name)
{
    if (pattern == NULL)
        return true;
    return name != NULL && name->kind == TL_JSON_STRING && tl_connect__matches(pattern, name->text);
}

static tl_status include_option(const tl_options *options, const char *format, const char *key, pcre2_code **out, tl_error *err)
{
    char name[128];
    snprintf(name, sizeof name, "%s.%s", format, key);
    return tl_connect__pattern(options, name, out, err);
}

static tl_status canal_event(change_decoder *d, const tl_json *event, tl_row_buffer *rows, tl_error *err)
{
    if (!is_included(d->database, tl_json_get(event, "database")) || !is_included(d->table, tl_json_get(event, "table")))
        return TL_OK;
    const tl_json *type = tl_json_get(event, "type"), *data = tl_json_get(event, "data"), *old = tl_json_get(event, "old");
    char op = tl_json_text_is(type, "INSERT") ? 'I' : tl_json_text_is(type, "UPDATE") ? 'U' : tl_json_text_is(type, "DELETE") ? 'D' : 0;
    bool is_ddl = false;
    (void)tl_json_bool(tl_json_get(event, "isDdl"), &is_ddl); /* absent: false */
    if (op == 0)
        return is_ddl || tl_json_text_is(type, "CREATE") ? TL_OK : unknown_op(type, err);
    if (tl_json_is_null(data) || data->kind != TL_JSON_ARRAY)
        return missing("data", "an event needs its rows", err);
    const tl_json *old_row = old != NULL && old->kind == TL_JSON_ARRAY ? old->child : NULL;
    for (const tl_json *row = data->child; row != NULL; row = row->next) {
        TL_TRY(data_old(d, row, old_row, op, rows, err));
        old_row = old_row == NULL ? NULL : old_row->next;
    }
    return TL_OK;
}

static tl_status change_decode(tl_decoder *decoder, tl_bytes_view record, tl_row_buffer *rows, tl_error *err)
{
    change_decoder *d = (change_decoder *)decoder;
    if (record.len == 0)
        return TL_OK;
    tl_arena_reset(&d->arena);
    const tl_json *event;
    tl_status status = tl_json_parse_record(&d->arena, record, &event, err);
    if (status == TL_OK && event->kind != TL_JSON_OBJECT)
        status = event->kind == TL_JSON_NULL ? TL_OK : tl_error_set(err, TL_E_INVALID, "an object is expected");
    else if (status == TL_OK)
        status = d->event(d, event, rows, err);
    return status != TL_OK && status != TL_E_NOMEM && d->rules.ignore_parse_errors ? tl_connect__rows_rewind(rows, err) : status;
}

static void change_free(tl_decoder *decoder)
{
    change_decoder *d = (change_decoder *)decoder;
    pcre2_code_free(d->database);
    pcre2_code_free(d->table);
    tl_arena_deinit(&d->arena);
    tl_free(d);
}

static const struct {
    const char *format;
    event_fn event;
} events[] = {
    {"debezium-json", debezium_event},
    {"canal-json", canal_event},
    {"maxwell-json", maxwell_event},
    {"ogg-json", ogg_event},
};

tl_status tl_connect__change_decoder(const tl_connector_spec *spec, tl_decoder **out, tl_error *err)
{
    static const tl_decoder_ops ops = {change_decode, change_free};
    const char *format = tl_options_get(spec->options, "format");
    change_decoder *d = tl_calloc(1, sizeof *d);
    if (d == NULL)
        return tl_nomem(err, "decoder");
    d->base.ops = &ops;
    d->base.skips_mark = true;
    d->type = spec->row_type;
    d->format = format;
    d->rules.arena = &d->arena;
    for (size_t i = 0; i < TL_ARRAY_LEN(events); i++)
        if (strcmp(events[i].format, format) == 0)
            d->event = events[i].event;
    tl_status status = include_option(spec->options, format, "database.include", &d->database, err);
    if (status == TL_OK)
        status = include_option(spec->options, format, "table.include", &d->table, err);
    if (status == TL_OK)
        status = tl_connect__json_rules(spec->options, format, &d->rules, err);
    if (status == TL_OK)
        status = tl_connect__bool_option(spec->options, format, "schema-include", false, &d->schema_include, err);
    if (status != TL_OK) {
        change_free(&d->base);
        return status;
    }
    *out = &d->base;
    return TL_OK;
}
