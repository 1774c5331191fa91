/* Rows by key in memory: the index that look-up joins and look-ups share, filled and asked. A row is one key. */
#include "stage.h"
#include "types/row_index.h"

#define CHUNKS 64

typedef struct work {
    tl_keys *chunks[CHUNKS];
    tl_keys *asked;
    tl_row_index index;
    int64_t found;
} work;

static void fill(void *ctx)
{
    work *w = ctx;
    tl_row_index_deinit(&w->index);
    w->index = (tl_row_index){0};
    for (uint32_t c = 0; c < CHUNKS; c++)
        check(tl_row_index_add(&w->index, w->chunks[c], c, NULL, &err));
}

static void ask(void *ctx)
{
    work *w = ctx;
    for (int64_t i = 0; i < w->asked->count; i++) {
        const struct tl_row_entry *e = tl_row_index_first(&w->index, tl_row_index_hash(w->asked, i));
        while (e != NULL && tl_keys_compare(w->chunks[e->chunk], e->row, w->asked, i) != 0)
            e = tl_row_index_next(&w->index, e);
        w->found += e != NULL;
    }
}

static tl_keys *make_keys(const tl_type *type, int64_t from, bool at_random)
{
    tl_column *col = make_column(type, (values){.sorted = !at_random, .distinct = CHUNKS * STAGE_ROWS}, from, STAGE_ROWS);
    const tl_column *cols[] = {col};
    tl_keys *keys;
    check(tl_keys_create(cols, 1, STAGE_ROWS, &keys, &err));
    tl_column_unref(col);
    return keys;
}

static void of_key(const char *what, const char *type_text)
{
    static work w;
    if (!is_wanted("lookup", what))
        return;
    const tl_type *type = type_of(type_text);
    w = (work){0};
    for (int c = 0; c < CHUNKS; c++)
        w.chunks[c] = make_keys(type, (int64_t)c * STAGE_ROWS, /* at_random= */ true);
    w.asked = make_keys(type, INT64_C(7) << 32, /* at_random= */ true);
    fill(&w);
    stage_run("lookup fill", what, fill, &w, (int64_t)CHUNKS * STAGE_ROWS, 0);
    stage_run("lookup", what, ask, &w, STAGE_ROWS, 0);
    for (int c = 0; c < CHUNKS; c++)
        tl_keys_free(w.chunks[c]);
    tl_keys_free(w.asked);
    tl_row_index_deinit(&w.index);
    tl_type_unref(type);
}

void stage_lookup(void)
{
    of_key("262,144 BIGINT keys", "BIGINT NOT NULL");
    of_key("262,144 STRING keys", "STRING NOT NULL");
}
