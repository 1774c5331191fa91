/*
 * Default values of nested types as text: `[1, 2]` or ARRAY(1, 2); `{a -> 1}` or MAP(a, 1); `{1, x}` or STRUCT(1, x). Read as the reference
 * casts such a text, its ways with quotes and backslashes included: they guard commas and brackets, stay part of an element of arrays and
 * rows, and are dropped in maps (with the character behind a backslash). Source: Java: StringToArrayCastRule, StringToMapCastRule,
 * StringToRowCastRule.
 */
#include "table/table_private.h"
#include "types/cast.h"

#include <strings.h>

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static tl_bytes_view trimmed(tl_bytes_view text)
{
    while (text.len > 0 && is_blank((char)text.data[0])) {
        text.data++;
        text.len--;
    }
    while (text.len > 0 && is_blank((char)text.data[text.len - 1]))
        text.len--;
    return text;
}

static bool is_digits(tl_bytes_view text)
{
    size_t n = 0;
    while (n < text.len && text.data[n] >= '0' && text.data[n] <= '9')
        n++;
    return n > 0 && n == text.len;
}

static bool is_word(tl_bytes_view text, const char *word)
{
    return text.len == strlen(word) && strncasecmp((const char *)text.data, word, text.len) == 0;
}

/* What is between the brackets, or between those of NAME(…). */
static bool content_of(tl_bytes_view text, const char *brackets, const char *name, tl_bytes_view *out)
{
    size_t skip = 1, len = strlen(name);
    bool plain = text.len >= 2 && text.data[0] == (uint8_t)brackets[0] && text.data[text.len - 1] == (uint8_t)brackets[1];
    if (!plain) {
        if (text.len < len + 2 || strncasecmp((const char *)text.data, name, len) != 0 || text.data[text.len - 1] != ')')
            return false;
        for (skip = len; skip < text.len && is_blank((char)text.data[skip]);)
            skip++;
        if (text.data[skip++] != '(')
            return false;
    }
    *out = trimmed((tl_bytes_view){text.data + skip, text.len - skip - 1});
    return true;
}

/* Pieces of a list, parted by commas outside of quotes and brackets; empty ones are none. */
typedef struct pieces {
    tl_bytes_view *items; /* into `text` */
    size_t n;
    tl_buf text;
} pieces;

static void pieces_deinit(pieces *p)
{
    tl_free(p->items);
    tl_buf_deinit(&p->text);
}

static tl_status split(tl_bytes_view content, bool drop_quotes, pieces *out, tl_error *err)
{
    bool quoted = false, escaped = false;
    size_t depth = 0, from = 0;
    out->items = tl_calloc(content.len + 1, sizeof *out->items);
    if (out->items == NULL || tl_buf_reserve(&out->text, content.len + 1) != TL_OK)
        return tl_nomem(err, "default value");
    for (size_t i = 0; i <= content.len; i++) {
        char c = i < content.len ? (char)content.data[i] : ',';
        bool mark = escaped || c == '\\' || c == '"', ends = i == content.len || (!mark && !quoted && depth == 0 && c == ',');
        if (ends) {
            if (out->text.len > from)
                out->items[out->n++] = (tl_bytes_view){out->text.data + from, out->text.len - from};
            from = out->text.len;
            continue;
        }
        quoted ^= !escaped && c == '"';
        escaped = !escaped && c == '\\';
        if (!mark && !quoted && strchr("[{(", c) != NULL)
            depth++;
        else if (!mark && !quoted && strchr("]})", c) != NULL && depth > 0)
            depth--;
        if (!mark || !drop_quotes)
            out->text.data[out->text.len++] = (uint8_t)c; /* room for all was made */
    }
    return TL_OK;
}

/* ---- values ---- */

static tl_status read_value(tl_bytes_view text, const tl_type *type, tl_builder *builder, tl_error *err);

static tl_status malformed(tl_bytes_view text, const char *form, tl_error *err)
{
    return tl_error_set(err, TL_E_INVALID, "'%.*s' is not of the form %s", (int)TL_MIN(text.len, 100), (const char *)text.data, form);
}

static tl_status read_array(tl_bytes_view text, const tl_type *type, tl_builder *builder, tl_error *err)
{
    tl_bytes_view content;
    TL_CLEANUP(pieces_deinit) pieces p = {0};
    if (!content_of(text, "[]", "ARRAY", &content))
        return malformed(text, "[a, b] or ARRAY(a, b)", err);
    TL_TRY(split(content, /* drop_quotes= */ false, &p, err));
    for (size_t i = 0; i < p.n; i++)
        TL_TRY(read_value(p.items[i], type->fields[0].type, tl_builder_child(builder, 0), err));
    return tl_builder_error(builder, tl_builder_end(builder), err);
}

static tl_status read_row(tl_bytes_view text, const tl_type *type, tl_builder *builder, tl_error *err)
{
    static const tl_bytes_view null_text = {(const uint8_t *)"null", 4};
    tl_bytes_view content;
    TL_CLEANUP(pieces_deinit) pieces p = {0};
    if (!content_of(text, "{}", "STRUCT", &content))
        return malformed(text, "{a, b} or STRUCT(a, b)", err);
    TL_TRY(split(content, /* drop_quotes= */ false, &p, err));
    if (content.len > 0 && p.n != (size_t)type->n_fields)
        return tl_error_set(err, TL_E_INVALID, "%zu values for a ROW of %d fields", p.n, type->n_fields);
    for (int32_t i = 0; i < type->n_fields; i++)
        TL_TRY(read_value(content.len == 0 ? null_text : p.items[i], type->fields[i].type, tl_builder_child(builder, i), err));
    return tl_builder_error(builder, tl_builder_end(builder), err);
}

/* Halves of "k -> v"; the first arrow behind one character at least counts. */
static bool cut_entry(tl_bytes_view entry, tl_bytes_view *key, tl_bytes_view *value)
{
    for (size_t i = 1; i + 2 < entry.len; i++) {
        if (entry.data[i] == '-' && entry.data[i + 1] == '>') {
            *key = trimmed((tl_bytes_view){entry.data, i});
            *value = trimmed((tl_bytes_view){entry.data + i + 2, entry.len - i - 2});
            return value->len > 0;
        }
    }
    return false;
}

static tl_status read_map(tl_bytes_view text, const tl_type *type, tl_builder *builder, tl_error *err)
{
    tl_bytes_view content;
    TL_CLEANUP(pieces_deinit) pieces p = {0};
    bool arrows = text.len > 0 && text.data[0] == '{';
    if (is_word(text, "NULL"))
        return tl_builder_error(builder, tl_builder_null(builder), err);
    if (!content_of(text, "{}", "MAP", &content))
        return malformed(text, "{a -> b} or MAP(a, b)", err);
    TL_TRY(split(content, /* drop_quotes= */ true, &p, err));
    if (!arrows && p.n % 2 != 0)
        return tl_error_set(err, TL_E_INVALID, "Invalid Function map format: odd number of elements");
    size_t n = arrows ? p.n : p.n / 2;
    TL_CLEANUP(tl_freep) tl_bytes_view *entries = tl_calloc(2 * n + 1, sizeof *entries);
    if (entries == NULL)
        return tl_nomem(err, "default value");
    for (size_t i = 0; i < n; i++) {
        entries[2 * i] = arrows ? (tl_bytes_view){0} : trimmed(p.items[2 * i]);
        entries[2 * i + 1] = arrows ? (tl_bytes_view){0} : trimmed(p.items[2 * i + 1]);
        if (arrows && !cut_entry(trimmed(p.items[i]), &entries[2 * i], &entries[2 * i + 1]))
            return malformed(p.items[i], "key -> value", err);
    }
    for (size_t i = 0; i < n; i++) {
        bool again = false; /* the last value of a key counts */
        for (size_t k = i + 1; k < n && !again; k++)
            again = tl_bytes_equal(entries[2 * i], entries[2 * k]);
        if (again)
            continue;
        TL_TRY(read_value(entries[2 * i], type->fields[0].type, tl_builder_child(builder, 0), err));
        TL_TRY(read_value(entries[2 * i + 1], type->fields[1].type, tl_builder_child(builder, 1), err));
    }
    return tl_builder_error(builder, tl_builder_end(builder), err);
}

static tl_status read_value(tl_bytes_view text, const tl_type *type, tl_builder *builder, tl_error *err)
{
    text = trimmed(text);
    if (text.len == 4 && memcmp(text.data, "null", 4) == 0)
        return tl_builder_error(builder, tl_builder_null(builder), err);
    return tl_table__read_default(text, type, builder, err);
}

/* Texts and bytes take the text as it is, cut and padded to their length. */
static tl_status cast_text(tl_bytes_view text, const tl_type *type, tl_builder *builder, tl_error *err)
{
    TL_CLEANUP(tl_type_unrefp) const tl_type *string = NULL;
    TL_CLEANUP(tl_column_unrefp) tl_column *col = NULL, *value = NULL;
    tl_builder *one = NULL;
    TL_TRY(tl_type_create(TL_VARCHAR, /* nullable= */ true, INT32_MAX, 0, &string, err));
    TL_TRY(tl_builder_create(string, &one, err));
    tl_status status = tl_builder_error(one, tl_builder_bytes(one, text.data, text.len), err);
    if (status == TL_OK)
        status = tl_builder_finish(one, &col, err);
    tl_builder_free(one);
    TL_TRY(status);
    TL_TRY(tl_cast_stored(col, type, &value, err));
    return tl_builder_error(builder, tl_builder_copy(builder, value, 0), err);
}

tl_status tl_table__read_default(tl_bytes_view text, const tl_type *type, tl_builder *builder, tl_error *err)
{
    switch (type->kind) {
    case TL_ARRAY:
        return read_array(trimmed(text), type, builder, err);
    case TL_MAP:
        return read_map(trimmed(text), type, builder, err);
    case TL_ROW:
        return read_row(trimmed(text), type, builder, err);
    case TL_CHAR:
    case TL_VARCHAR:
    case TL_BINARY:
    case TL_VARBINARY:
        return cast_text(text, type, builder, err);
    case TL_TIMESTAMP_LTZ: /* digits alone are an epoch to casts of a text to TIMESTAMP, and no value to this one */
        if (is_digits(text))
            return tl_error_set(err, TL_E_INVALID, "'%.*s' is no timestamp", (int)TL_MIN(text.len, (size_t)80), (const char *)text.data);
        return tl_text_read_plain(text, type, builder, err);
    default:
        if (type->n_fields > 0)
            return tl_error_set(err, TL_E_UNSUPPORTED, "default values of this type");
        return tl_text_read_plain(text, type, builder, err);
    }
}
