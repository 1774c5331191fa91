/*
 * The indexes of a data file in the making, and their container (file_index.h has the layout). Columns and kinds lie in the order of
 * the reference's hash tables, so that equal files have equal bytes. Java: DataFileIndexWriter, FileIndexFormat.
 */
#include "base/log.h"
#include "index/file_index_plan.h"
#include "types/java_hash.h"

#define MAGIC UINT64_C(1493475289347502)

struct tl_file_index_writer {
    const tl_file_index_plan *plan;
    tl_findex__writer **writers; /* one for each item of the plan */
    int64_t n_rows;
};

void tl_file_index_writer_free(tl_file_index_writer *writer)
{
    if (writer == NULL)
        return;
    for (size_t i = 0; writer->writers != NULL && i < writer->plan->n; i++) {
        if (writer->writers[i] != NULL)
            writer->writers[i]->kind->free(writer->writers[i]);
    }
    tl_free(writer->writers);
    tl_free(writer);
}

static const tl_type *item_type(const tl_file_index_plan *plan, const tl_findex__item *item)
{
    const tl_type *type = plan->row_type->fields[item->column].type;
    return item->key == NULL ? type : type->fields[1].type;
}

static tl_status create_item(const tl_file_index_plan *plan, const tl_findex__item *item, tl_findex__writer **out, tl_error *err)
{
    tl_findex__type type;
    if (!tl_findex__type_of(item_type(plan, item), &type))
        return tl_error_set(err, TL_E_UNSUPPORTED, "its type cannot be indexed");
    return item->kind->create(&type, &item->options, out, err);
}

tl_status tl_file_index_writer_create(const tl_file_index_plan *plan, tl_file_index_writer **out, tl_error *err)
{
    tl_file_index_writer *writer = tl_calloc(1, sizeof *writer);
    if (writer == NULL)
        return tl_nomem(err, "file index");
    writer->plan = plan;
    writer->writers = tl_calloc(plan->n + 1, sizeof *writer->writers);
    tl_status status = writer->writers == NULL ? tl_nomem(err, "file index") : TL_OK;
    for (size_t i = 0; i < plan->n && status == TL_OK; i++) {
        const tl_findex__item *item = &plan->items[i];
        status = create_item(plan, item, &writer->writers[i], err);
        status = tl_error_wrap(err, status, "file index %s of column '%s'", item->kind->name, item->name);
    }
    if (status != TL_OK) {
        tl_file_index_writer_free(writer);
        return status;
    }
    *out = writer;
    return TL_OK;
}

/* ---- rows ---- */

/* The values of a key in each row's map; NULL where the map or its key is not there. */
static tl_status key_values(const tl_column *map, const char *key, int64_t n, tl_column **out, tl_error *err)
{
    const tl_column *keys = map->children[0], *values = map->children[1];
    tl_bytes_view wanted = {(const uint8_t *)key, strlen(key)};
    TL_CLEANUP(tl_freep) tl_rowref *refs = tl_alloc(((size_t)n + 1) * sizeof *refs);
    if (refs == NULL)
        return tl_nomem(err, "file index");
    for (int64_t i = 0; i < n; i++) {
        refs[i] = (tl_rowref){0, TL_ROW_NULL};
        for (int32_t e = map->offsets[i]; !tl_col_is_null(map, i) && e < map->offsets[i + 1]; e++) {
            if (tl_bytes_equal(tl_col_bytes(keys, e), wanted))
                refs[i].row = (uint32_t)e;
        }
    }
    const tl_type *type = NULL;
    TL_TRY(tl_type_with_nullable(values->type, true, &type, err));
    tl_status status = tl_column_gather_multi(type, &values, refs, n, out, err);
    tl_type_unref(type);
    return status;
}

tl_status tl_file_index_writer_add(tl_file_index_writer *writer, tl_column *const *cols, int64_t n_rows, tl_error *err)
{
    for (size_t i = 0; i < writer->plan->n; i++) {
        const tl_findex__item *item = &writer->plan->items[i];
        TL_CLEANUP(tl_column_unrefp) tl_column *values = NULL;
        if (item->key != NULL)
            TL_TRY(key_values(cols[item->column], item->key, n_rows, &values, err));
        else
            values = tl_column_ref(cols[item->column]);
        TL_TRY(item->kind->add(writer->writers[i], values, n_rows, err));
    }
    writer->n_rows += n_rows;
    return TL_OK;
}

int64_t tl_file_index_writer_bytes(const tl_file_index_writer *writer)
{
    int64_t bytes = 0;
    for (size_t i = 0; i < writer->plan->n; i++)
        bytes += writer->writers[i]->kind->memory(writer->writers[i]);
    return bytes;
}

/* ---- order ---- */

static int32_t text_hash(const char *text)
{
    return tl_java_hash_text((tl_bytes_view){(const uint8_t *)text, strlen(text)});
}

/* The numbers of `n` of the items, distinct by their texts, in the order of a hash table of texts. */
static tl_status order_by(const uint32_t *items, const char *const *texts, uint32_t n, tl_java_fill fill, uint32_t *out, tl_error *err)
{
    TL_CLEANUP(tl_freep) int32_t *hashes = tl_alloc(((size_t)n + 1) * sizeof *hashes);
    TL_CLEANUP(tl_freep) uint32_t *order = tl_alloc(((size_t)n + 1) * sizeof *order);
    if (hashes == NULL || order == NULL)
        return tl_nomem(err, "file index");
    for (uint32_t i = 0; i < n; i++)
        hashes[i] = text_hash(texts[items[i]]);
    TL_TRY(tl_java_order(hashes, n, fill, order, err));
    for (uint32_t i = 0; i < n; i++)
        out[i] = items[order[i]];
    return TL_OK;
}

/* Items with one text after each other: a kind's, or a column's. */
typedef struct group {
    uint32_t first; /* in the array of items */
    uint32_t n;
} group;

typedef struct grouping {
    uint32_t *items;
    group *groups;
    uint32_t n_groups;
} grouping;

static void grouping_deinit(grouping *g)
{
    tl_free(g->items);
    tl_free(g->groups);
}

/* Groups in the order of their first item, items in the order that they have. */
static tl_status group_by(const uint32_t *items, const char *const *texts, uint32_t n, grouping *out, tl_error *err)
{
    uint32_t at = 0;
    out->items = tl_alloc(((size_t)n + 1) * sizeof *out->items);
    out->groups = tl_alloc(((size_t)n + 1) * sizeof *out->groups);
    out->n_groups = 0;
    if (out->items == NULL || out->groups == NULL)
        return tl_nomem(err, "file index");
    for (uint32_t i = 0; i < n; i++) {
        const char *text = texts[items[i]];
        bool seen = false;
        for (uint32_t k = 0; k < i; k++)
            seen |= strcmp(texts[items[k]], text) == 0;
        if (seen)
            continue;
        group *g = &out->groups[out->n_groups++];
        g->first = at;
        for (uint32_t k = i; k < n; k++) {
            if (strcmp(texts[items[k]], text) == 0)
                out->items[at++] = items[k];
        }
        g->n = at - g->first;
    }
    return TL_OK;
}

/*
 * Items as a HashMap of hash tables gives them, when they came in the order given: groups by `outer`, which computeIfAbsent() made, in
 * each the items by `inner`, which were put.
 */
static tl_status nest(const uint32_t *items, uint32_t n, const char *const *outer, const char *const *inner, grouping *out, tl_error *err)
{
    TL_CLEANUP(grouping_deinit) grouping came = {0};
    TL_CLEANUP(tl_freep) uint32_t *firsts = tl_alloc(((size_t)n + 1) * sizeof *firsts);
    TL_CLEANUP(tl_freep) uint32_t *order = tl_alloc(((size_t)n + 1) * sizeof *order);
    uint32_t at = 0;
    out->items = tl_alloc(((size_t)n + 1) * sizeof *out->items);
    out->groups = tl_alloc(((size_t)n + 1) * sizeof *out->groups);
    if (firsts == NULL || order == NULL || out->items == NULL || out->groups == NULL)
        return tl_nomem(err, "file index");
    TL_TRY(group_by(items, outer, n, &came, err));
    for (uint32_t g = 0; g < came.n_groups; g++)
        firsts[g] = came.items[came.groups[g].first];
    bool ends_with_new = came.n_groups > 0 && firsts[came.n_groups - 1] == items[n - 1];
    TL_TRY(order_by(firsts, outer, came.n_groups, ends_with_new ? TL_JAVA_COMPUTE_LAST : TL_JAVA_COMPUTE, order, err));
    for (uint32_t k = 0; k < came.n_groups; k++) {
        uint32_t g = 0;
        while (firsts[g] != order[k])
            g++;
        out->groups[k] = (group){at, came.groups[g].n};
        TL_TRY(order_by(came.items + came.groups[g].first, inner, came.groups[g].n, TL_JAVA_PUT, out->items + at, err));
        at += came.groups[g].n;
    }
    out->n_groups = came.n_groups;
    return TL_OK;
}

typedef struct arrangement {
    const char **names; /* by item: of the column */
    const char **kinds;
    grouping columns;
} arrangement;

static void arrangement_deinit(arrangement *a)
{
    tl_free(a->names);
    tl_free(a->kinds);
    grouping_deinit(&a->columns);
}

/* The reference keeps writers by kind, by column, and then collects their bytes by column, by kind: a HashMap each time. */
static tl_status arrange(const tl_file_index_plan *plan, const bool *kept, arrangement *a, tl_error *err)
{
    uint32_t n = 0;
    TL_CLEANUP(grouping_deinit) grouping by_kind = {0};
    TL_CLEANUP(tl_freep) uint32_t *items = tl_alloc((plan->n + 1) * sizeof *items);
    a->names = tl_alloc((plan->n + 1) * sizeof *a->names);
    a->kinds = tl_alloc((plan->n + 1) * sizeof *a->kinds);
    if (items == NULL || a->names == NULL || a->kinds == NULL)
        return tl_nomem(err, "file index");
    for (size_t i = 0; i < plan->n; i++) {
        a->names[i] = plan->items[i].name;
        a->kinds[i] = plan->items[i].kind->name;
        if (kept[i])
            items[n++] = (uint32_t)i;
    }
    TL_TRY(nest(items, n, a->kinds, a->names, &by_kind, err));
    return nest(by_kind.items, n, a->names, a->kinds, &a->columns, err);
}

/* ---- the container ---- */

/* Where an item's bytes are in the body. */
typedef struct piece {
    size_t from;
    size_t bytes;
} piece;

static tl_status put_utf(const char *text, tl_buf *out)
{
    size_t at = out->len;
    TL_TRY(tl_buf_append(out, "\0\0", 2));
    TL_TRY(tl_findex__utf_name(text, out));
    if (out->len - at - 2 > UINT16_MAX)
        return TL_E_LIMIT;
    tl_write_be16(out->data + at, (uint16_t)(out->len - at - 2));
    return TL_OK;
}

/* Bytes of all items into `bodies`, those that are left out marked. */
static tl_status finish_items(tl_file_index_writer *writer, tl_buf *bodies, piece *pieces, bool *kept, tl_error *err)
{
    for (size_t i = 0; i < writer->plan->n; i++) {
        const tl_findex__item *item = &writer->plan->items[i];
        const char *why = NULL;
        size_t before = bodies->len;
        tl_status status = item->kind->finish(writer->writers[i], bodies, &why, err);
        TL_TRY(tl_error_wrap(err, status, "file index %s of column '%s'", item->kind->name, item->name));
        kept[i] = why == NULL;
        pieces[i] = (piece){before, bodies->len - before};
        if (why != NULL)
            tl_log(TL_LOG_WARN, "a data file gets no file index %s of column '%s': %s", item->kind->name, item->name, why);
    }
    return TL_OK;
}

/* Head and body. Starts are counted from the container's first byte, at `from` in `out`. */
static tl_status put_container(const arrangement *a, const tl_buf *bodies, const piece *pieces, tl_buf *out)
{
    size_t from = out->len, at = 0;
    uint8_t magic[8];
    tl_write_be64(magic, MAGIC);
    TL_TRY(tl_buf_append(out, magic, sizeof magic));
    TL_TRY(tl_findex__put_i32(out, 1));
    TL_TRY(tl_findex__put_i32(out, 0)); /* bytes of the head, set below */
    TL_TRY(tl_findex__put_i32(out, a->columns.n_groups));
    for (uint32_t g = 0; g < a->columns.n_groups; g++) {
        TL_TRY(put_utf(a->names[a->columns.items[a->columns.groups[g].first]], out));
        TL_TRY(tl_findex__put_i32(out, a->columns.groups[g].n));
        for (uint32_t k = 0; k < a->columns.groups[g].n; k++) {
            uint32_t item = a->columns.items[a->columns.groups[g].first + k];
            TL_TRY(put_utf(a->kinds[item], out));
            TL_TRY(tl_findex__put_i32(out, (int64_t)at));
            TL_TRY(tl_findex__put_i32(out, (int64_t)pieces[item].bytes));
            at += pieces[item].bytes;
        }
    }
    TL_TRY(tl_findex__put_i32(out, 0));
    uint32_t head = (uint32_t)(out->len - from);
    tl_write_be32(out->data + from + 12, head);
    uint8_t *p = out->data + from + 20;
    for (uint32_t g = 0; g < a->columns.n_groups; g++) {
        p += 2 + tl_read_be16(p) + 4;
        for (uint32_t k = 0; k < a->columns.groups[g].n; k++) {
            p += 2 + tl_read_be16(p);
            tl_write_be32(p, tl_read_be32(p) + head);
            p += 8;
        }
    }
    for (uint32_t g = 0; g < a->columns.n_groups; g++) {
        for (uint32_t k = 0; k < a->columns.groups[g].n; k++) {
            const piece *body = &pieces[a->columns.items[a->columns.groups[g].first + k]];
            TL_TRY(tl_buf_append(out, bodies->data + body->from, body->bytes));
        }
    }
    return TL_OK;
}

tl_status tl_file_index_writer_finish(tl_file_index_writer *writer, tl_buf *out, tl_error *err)
{
    size_t n = writer->plan->n;
    TL_CLEANUP(tl_freep) piece *pieces = tl_calloc(n + 1, sizeof *pieces);
    TL_CLEANUP(tl_freep) bool *kept = tl_calloc(n + 1, sizeof *kept);
    TL_CLEANUP(tl_buf_deinit) tl_buf bodies = {0};
    arrangement a = {0};
    if (pieces == NULL || kept == NULL)
        return tl_nomem(err, "file index");
    TL_TRY(finish_items(writer, &bodies, pieces, kept, err));
    if (bodies.len > INT32_MAX - (64 << 20))
        return tl_error_set(err, TL_E_LIMIT, "file indexes of a data file of %zu bytes: more than a container can have", bodies.len);
    tl_status status = arrange(writer->plan, kept, &a, err);
    if (status == TL_OK)
        status = put_container(&a, &bodies, pieces, out);
    arrangement_deinit(&a);
    return status == TL_E_NOMEM ? tl_nomem(err, "file index") : tl_error_wrap(err, status, "file index");
}
