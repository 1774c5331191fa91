/* Reading members of metadata JSON leniently: unknown keys are ignored, optional ones may be absent or null. */
#include "meta/meta_private.h"

tl_status tl_meta__parse_object(tl_arena *arena, tl_bytes_view json, const tl_json **out, tl_error *err)
{
    TL_TRY(tl_json_parse(arena, json, out, err));
    return (*out)->kind == TL_JSON_OBJECT ? TL_OK : tl_error_set(err, TL_E_CORRUPT, "JSON is no object");
}

tl_status tl_meta__json_int(const tl_json *object, const char *key, bool required, int64_t absent, int64_t *out, tl_error *err)
{
    const tl_json *node = tl_json_get(object, key);
    if (tl_json_is_null(node)) {
        if (required)
            return tl_error_set(err, TL_E_CORRUPT, "'%s' is missing", key);
        *out = absent;
        return TL_OK;
    }
    return tl_json_int64(node, out) ? TL_OK : tl_error_set(err, TL_E_CORRUPT, "'%s' is no integer", key);
}

static tl_status dup_text(const tl_json *node, const char *key, char **out, tl_error *err)
{
    if (node->text.len > 0 && memchr(node->text.data, 0, node->text.len) != NULL)
        return tl_error_set(err, TL_E_CORRUPT, "'%s' contains a NUL", key);
    *out = tl_strndup((const char *)node->text.data, node->text.len);
    return *out == NULL ? tl_nomem(err, "metadata text") : TL_OK;
}

tl_status tl_meta__json_str(const tl_json *object, const char *key, bool required, char **out, tl_error *err)
{
    const tl_json *node = tl_json_get(object, key);
    if (tl_json_is_null(node)) {
        if (required)
            return tl_error_set(err, TL_E_CORRUPT, "'%s' is missing", key);
        *out = NULL;
        return TL_OK;
    }
    if (node->kind != TL_JSON_STRING)
        return tl_error_set(err, TL_E_CORRUPT, "'%s' is no string", key);
    return dup_text(node, key, out, err);
}

/* Values are strings; numbers and booleans count by their text, as Jackson reads them into a String. */
static tl_status put_option(tl_options *out, const tl_json *node, const char *key, tl_error *err)
{
    TL_CLEANUP(tl_freep) char *name = NULL;
    TL_CLEANUP(tl_freep) char *value = NULL;
    if (tl_json_is_null(node))
        return TL_OK;
    if (node->kind == TL_JSON_ARRAY || node->kind == TL_JSON_OBJECT)
        return tl_error_set(err, TL_E_CORRUPT, "'%s' has a value that is no text", key);
    if (node->key.len > 0 && memchr(node->key.data, 0, node->key.len) != NULL)
        return tl_error_set(err, TL_E_CORRUPT, "'%s' contains a NUL", key);
    if ((name = tl_strndup((const char *)node->key.data, node->key.len)) == NULL)
        return tl_nomem(err, "options");
    if (node->kind == TL_JSON_STRING)
        TL_TRY(dup_text(node, key, &value, err));
    else if ((value = tl_strndup((const char *)node->raw.data, node->raw.len)) == NULL)
        return tl_nomem(err, "options");
    return tl_options_set(out, name, value) == TL_OK ? TL_OK : tl_nomem(err, "options");
}

tl_status tl_meta__json_options(const tl_json *object, const char *key, tl_options *out, tl_error *err)
{
    const tl_json *node = tl_json_get(object, key);
    if (tl_json_is_null(node))
        return TL_OK;
    if (node->kind != TL_JSON_OBJECT)
        return tl_error_set(err, TL_E_CORRUPT, "'%s' is no object", key);
    for (const tl_json *member = node->child; member != NULL; member = member->next)
        TL_TRY(put_option(out, member, key, err));
    return TL_OK;
}

tl_status tl_meta__json_names(const tl_json *object, const char *key, char ***out, int32_t *n, tl_error *err)
{
    const tl_json *node = tl_json_get(object, key);
    *out = NULL;
    *n = 0;
    if (tl_json_is_null(node))
        return TL_OK;
    if (node->kind != TL_JSON_ARRAY || node->n_children > INT32_MAX / 2)
        return tl_error_set(err, TL_E_CORRUPT, "'%s' is no array", key);
    char **names = tl_calloc((size_t)node->n_children + 1, sizeof *names);
    if (names == NULL)
        return tl_nomem(err, key);
    int32_t count = 0;
    tl_status status = TL_OK;
    for (const tl_json *item = node->child; item != NULL && status == TL_OK; item = item->next) {
        if (item->kind != TL_JSON_STRING)
            status = tl_error_set(err, TL_E_CORRUPT, "'%s' has an item that is no string", key);
        else
            status = dup_text(item, key, &names[count], err);
        count += status == TL_OK;
    }
    if (status != TL_OK) {
        tl_names_free(names, (size_t)count);
        return status;
    }
    *out = names;
    *n = count;
    return TL_OK;
}

void tl_meta__write_options(tl_json_writer *w, const tl_options *options)
{
    tl_json_begin_object(w);
    for (size_t i = 0; i < options->count; i++) {
        tl_json_key(w, options->keys[i]);
        tl_json_write_str(w, options->values[i]);
    }
    tl_json_end_object(w);
}

tl_status tl_meta__json_finish(tl_json_writer *w, tl_bytes *out, tl_error *err)
{
    tl_status status = w->status;
    if (status == TL_OK)
        *out = tl_buf_steal(&w->out);
    tl_json_writer_deinit(w);
    if (status == TL_OK)
        return TL_OK;
    return status == TL_E_NOMEM ? tl_nomem(err, "JSON text")
                                : tl_error_set(err, status, "JSON text: %s", tl_status_name(status));
}
