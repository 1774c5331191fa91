/* JSON lines: one object a line, columns by name, absent ones NULL; a blank line ends a batch, which is to be committed. */
#include "api/input_private.h"
#include "types/text.h"

typedef struct jsonl_input {
    text_input text; /* first */
    tl_arena arena;  /* of one line */
} jsonl_input;

/* Members usually come in the order of the columns: look at *hint first. */
static const tl_json *member(const tl_json *row, const tl_json **hint, const char *name)
{
    size_t len = strlen(name);
    const tl_json *next = *hint;
    if (next != NULL && next->key.len == len && memcmp(next->key.data, name, len) == 0) {
        *hint = next->next;
        return next;
    }
    const tl_json *found = tl_json_get(row, name);
    if (found != NULL)
        *hint = found->next;
    return found;
}

static bool key_is(const tl_json *json, const char *name)
{
    return json->key.len == strlen(name) && memcmp(json->key.data, name, json->key.len) == 0;
}

/* A misspelt name must not lose its values in silence. */
static tl_status check_members(const tl_json *row, const tl_type *type, tl_error *err)
{
    for (const tl_json *json = row->child; json != NULL; json = json->next) {
        bool known = key_is(json, INPUT_KIND_COLUMN) || key_is(json, INPUT_SNAPSHOT_COLUMN);
        for (int32_t c = 0; c < type->n_fields && !known; c++)
            known = key_is(json, type->fields[c].name);
        if (!known)
            return tl_input__unknown_column(type, json->key, err);
    }
    return TL_OK;
}

static tl_status add_object(tidelake_input *in, jsonl_input *jsonl, const tl_json *row, tl_error *err)
{
    text_input *text = &jsonl->text;
    const tl_json *hint = row->child;
    int64_t used = 0;
    for (int32_t i = 0; i < 2; i++) { /* what the printer puts first: passed over, or the kind taken */
        const tl_json *first = hint;
        if (first != NULL && (key_is(first, INPUT_SNAPSHOT_COLUMN) || key_is(first, INPUT_KIND_COLUMN)))
            hint = first->next;
    }
    const tl_json *kind = tl_json_get(row, INPUT_KIND_COLUMN);
    if (kind != NULL) {
        used++;
        if (!tl_json_is_null(kind))
            TL_TRY(tl_input__set_kind(text, kind->kind == TL_JSON_STRING ? kind->text : kind->raw, err));
    }
    for (int32_t c = 0; c < in->type->n_fields; c++) {
        const tl_field *field = &in->type->fields[c];
        const tl_json *value = member(row, &hint, field->name);
        used += value != NULL;
        tl_status status = tl_json_is_null(value) ? tl_builder_error(text->builders[c], tl_builder_null(text->builders[c]), err)
                                                  : tl_text_read_json(value, field->type, text->builders[c], err);
        if (status != TL_OK)
            return tl_error_wrap(err, status, "column '%s'", field->name);
    }
    return used == row->n_children ? TL_OK : check_members(row, in->type, err);
}

static bool is_blank(const char *line, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (line[i] != ' ' && line[i] != '\t' && line[i] != '\r')
            return false;
    return true;
}

static tl_status add_row(tidelake_input *in, text_record *record, tl_error *err)
{
    jsonl_input *jsonl = in->state;
    text_input *text = &jsonl->text;
    bool end;
    TL_TRY(tl_input__read_line(in, text, &end, err));
    if (end || is_blank(text->line, text->line_len)) {
        *record = end ? TEXT_END : TEXT_BLANK;
        return TL_OK;
    }
    tl_arena_reset(&jsonl->arena);
    const tl_json *row;
    TL_TRY(tl_api__parse_json(&jsonl->arena, (tl_bytes_view){(const uint8_t *)text->line, text->line_len}, &row, err));
    if (row->kind != TL_JSON_OBJECT)
        return tl_error_set(err, TL_E_INVALID, "a row is expected as an object: {\"column\":value,…}");
    *record = TEXT_ROW;
    return add_object(in, jsonl, row, err);
}

static tl_status jsonl_open(tidelake_input *in, tl_error *err)
{
    jsonl_input *jsonl = in->state = tl_calloc(1, sizeof *jsonl);
    return jsonl == NULL ? tl_nomem(err, "input") : tl_input__text_open(in, &jsonl->text, err);
}

static tl_status jsonl_next(tidelake_input *in, tl_batch **out, bool *commit_after, tl_error *err)
{
    return tl_input__text_next(in, &((jsonl_input *)in->state)->text, add_row, out, commit_after, err);
}

static void jsonl_close(tidelake_input *in)
{
    jsonl_input *jsonl = in->state;
    tl_input__text_close(in, &jsonl->text);
    tl_arena_deinit(&jsonl->arena);
    tl_free(jsonl);
}

static tl_status jsonl_infer(tidelake_input *in, tl_arena *arena, shape *columns, tl_error *err)
{
    jsonl_input *jsonl = in->state;
    text_input *text = &jsonl->text;
    for (bool end = false;;) {
        const tl_json *row;
        TL_TRY(tl_input__read_line(in, text, &end, err));
        if (end)
            return TL_OK;
        if (is_blank(text->line, text->line_len))
            continue;
        tl_arena_reset(&jsonl->arena);
        tl_status status = tl_api__parse_json(&jsonl->arena, (tl_bytes_view){(const uint8_t *)text->line, text->line_len}, &row, err);
        if (status == TL_OK)
            status = tl_infer__json(arena, columns, row, err);
        TL_TRY(tl_error_wrap(err, status, "%s, line %lld", in->name, (long long)text->line_number));
    }
}

const input_format tl_input__jsonl = {"jsonl", jsonl_open, jsonl_next, jsonl_close, jsonl_infer};
