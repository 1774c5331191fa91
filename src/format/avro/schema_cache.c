/*
 * Parsed schemas by their text. A table's manifests all have the same few schemas, and reading one of 3 kB costs less than parsing
 * its schema. Parsed schemas are immutable and shared by threads; the last few stay.
 */
#include <pthread.h>

#include "format/avro/avro_private.h"

#define KEPT 8
#define TEXT_BYTES_MAX (64 << 10) /* longer ones are not kept: nobody else's memory should hang on one odd file */

struct tl_avro_parsed {
    tl_arena arena;
    tl_bytes_view text;
    const tl_avro_schema *schema;
    int refs; /* guarded by the lock */
};

static struct {
    pthread_mutex_t lock; /* guards everything below and all reference counts */
    tl_avro_parsed *kept[KEPT];
    size_t next; /* to be replaced */
} cache = {.lock = PTHREAD_MUTEX_INITIALIZER};

const tl_avro_schema *tl_avro__parsed_schema(const tl_avro_parsed *parsed)
{
    return parsed->schema;
}

tl_bytes_view tl_avro__parsed_text(const tl_avro_parsed *parsed)
{
    return parsed->text;
}

/* @locks cache.lock held */
static void unref(tl_avro_parsed *parsed)
{
    if (parsed == NULL || --parsed->refs > 0)
        return;
    tl_arena_deinit(&parsed->arena);
    tl_free(parsed);
}

void tl_avro__parsed_unref(tl_avro_parsed *parsed)
{
    pthread_mutex_lock(&cache.lock);
    unref(parsed);
    pthread_mutex_unlock(&cache.lock);
}

static tl_avro_parsed *find(tl_bytes_view text)
{
    tl_avro_parsed *found = NULL;
    pthread_mutex_lock(&cache.lock);
    for (size_t i = 0; i < KEPT && found == NULL; i++) {
        if (cache.kept[i] != NULL && tl_bytes_equal(cache.kept[i]->text, text))
            found = cache.kept[i];
    }
    if (found != NULL)
        found->refs++;
    pthread_mutex_unlock(&cache.lock);
    return found;
}

static void keep(tl_avro_parsed *parsed)
{
    pthread_mutex_lock(&cache.lock);
    unref(cache.kept[cache.next]);
    cache.kept[cache.next] = parsed;
    cache.next = (cache.next + 1) % KEPT;
    parsed->refs++;
    pthread_mutex_unlock(&cache.lock);
}

tl_status tl_avro__parsed_get(tl_bytes_view text, tl_avro_parsed **out, tl_error *err)
{
    *out = find(text);
    if (*out != NULL)
        return TL_OK;
    tl_avro_parsed *parsed = tl_calloc(1, sizeof *parsed);
    if (parsed == NULL)
        return tl_nomem(err, "Avro schema");
    parsed->refs = 1;
    char *copy = tl_arena_strndup(&parsed->arena, (const char *)text.data, text.len);
    parsed->text = (tl_bytes_view){(const uint8_t *)copy, text.len};
    tl_status status = copy == NULL ? tl_nomem(err, "Avro schema") : TL_OK;
    if (status == TL_OK)
        status = tl_avro__schema_parse(&parsed->arena, parsed->text, &parsed->schema, err);
    if (status != TL_OK) {
        tl_avro__parsed_unref(parsed);
        return status;
    }
    if (text.len <= TEXT_BYTES_MAX)
        keep(parsed);
    *out = parsed;
    return TL_OK;
}
