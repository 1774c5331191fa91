/*
 * Import of Arrow schemas and arrays that are built from the bytes: formats, children, lengths, offsets, nulls, dictionaries as
 * they should be or not. Buffers are as large as the interface demands of a producer, for it does not tell their sizes; all that
 * it tells may be wrong. What is accepted keeps the promises of columns, goes out again and comes back as the same; every array is
 * released exactly once.
 */
#include <stdio.h>

#include "fuzz/input.h"
#include "types/arrow.h"
#include "types/key.h"

#define SLOTS_MAX 512   /* what a buffer has room for, beyond what its array says */
#define CHILDREN_MAX 4
#define DEPTH_MAX 5
#define ROWS_MAX 40

static int64_t arrays_alive;

typedef struct node {
    struct ArrowSchema schema;
    struct ArrowArray array;
    struct node *children[CHILDREN_MAX];
    struct node *dictionary;
    struct ArrowSchema *schema_slots[CHILDREN_MAX + 1];
    struct ArrowArray *array_slots[CHILDREN_MAX + 1];
    const void *buffers[8];
    void *owned[8];
    char format[24];
    char name[8];
} node;

static void release_schema(struct ArrowSchema *schema)
{
    schema->release = NULL;
}

static void release_array(struct ArrowArray *array)
{
    if (array->release == NULL)
        abort();
    array->release = NULL;
    arrays_alive--;
}

static void node_free(node *n)
{
    if (n == NULL)
        return;
    for (int i = 0; i < CHILDREN_MAX; i++)
        node_free(n->children[i]);
    node_free(n->dictionary);
    for (int i = 0; i < 8; i++)
        free(n->owned[i]);
    free(n);
}

static const char *const formats[] = {
    "n",  "b",  "c",  "C",  "s",  "S",  "i",  "I",  "l",     "L",     "f",     "g",     "u",         "U",      "vu",     "z",       "Z",
    "vz", "tdD", "tdm", "tts", "ttm", "ttu", "ttn", "tss:", "tsm:", "tsu:UTC", "tsn:", "d:10,2", "d:38,10", "d:9,3,32", "d:18,0,64",
    "d:76,5,256", "w:4", "w:0", "+l", "+L", "+w:2", "+w:0", "+w:2147483647", "+m", "+s", "+s", "+s", "e", "+ud:0,1", "+r",
    "tiM", "+vl", "d:", "d:99,1", "w:-1", "+w:-3", ""};

/* Bytes that one slot takes in the values' buffer, with room for offsets. */
static size_t slot_bytes(const char *format)
{
    return format[0] == 'w' && format[1] == ':' ? 8 : 40;
}

static bool is_offsets(const char *format)
{
    return strchr("uUzZ", format[0]) != NULL || strcmp(format, "+l") == 0 || strcmp(format, "+L") == 0 || strcmp(format, "+m") == 0;
}

static void fill_offsets(uint8_t *to, size_t slots, bool wide, input *in)
{
    int64_t at = 0;
    bool hostile = take_below(in, 4) == 0;
    for (size_t i = 0; i < slots; i++) {
        int64_t v = hostile && take_below(in, 8) == 0 ? (int64_t)(int16_t)take(in, 2) % SLOTS_MAX : at;
        if (wide)
            memcpy(to + i * 8, &v, 8);
        else
            memcpy(to + i * 4, &(int32_t){(int32_t)v}, 4);
        at += take_below(in, 4);
        at = at > SLOTS_MAX ? SLOTS_MAX : at;
    }
}

static void fill_views(node *n, uint8_t *to, size_t slots, input *in)
{
    for (size_t i = 0; i < slots; i++) {
        int32_t view[4] = {take_below(in, 20), (int32_t)take(in, 4), take_below(in, 3), take_below(in, 64)};
        if (take_below(in, 10) == 0)
            view[0] = (int32_t)take(in, 4);
        if (view[0] > 12 && take_below(in, 16) == 0)
            view[2 + take_below(in, 2)] = (int32_t)take(in, 4);
        memcpy(to + i * 16, view, 16);
    }
    n->array.n_buffers = 4; /* validity, views, one of data, and their sizes */
    n->owned[2] = calloc(1, 128);
    n->buffers[2] = n->owned[2];
    int64_t *sizes = calloc(2, sizeof *sizes);
    sizes[0] = 128;
    n->owned[3] = sizes;
    n->buffers[3] = sizes;
}

static void make_buffers(node *n, size_t slots, input *in)
{
    n->array.n_buffers = n->format[0] == 'n' ? 0 : strncmp(n->format, "+s", 2) == 0 || strncmp(n->format, "+w", 2) == 0 ? 1 : 2;
    if (take_below(in, 3) != 0) {
        uint8_t *validity = malloc(slots / 8 + 1);
        for (size_t i = 0; i < slots / 8 + 1; i++)
            validity[i] = (uint8_t)~(take_below(in, 3) == 0 ? take(in, 1) : 0);
        n->owned[0] = validity;
    }
    size_t bytes = slots * slot_bytes(n->format);
    uint8_t *values = calloc(1, bytes + 1);
    for (size_t i = 0; i < bytes && in->size > 0 && i < 64; i++)
        values[i] = (uint8_t)take(in, 1);
    n->owned[1] = values;
    n->buffers[0] = n->owned[0];
    n->buffers[1] = values;
    if (is_offsets(n->format)) {
        fill_offsets(values, slots, strchr("UZ", n->format[0]) != NULL || strcmp(n->format, "+L") == 0, in);
        if (n->format[0] != '+') {
            n->array.n_buffers = 3;
            uint8_t *text = malloc(SLOTS_MAX + 1);
            for (int i = 0; i <= SLOTS_MAX; i++)
                text[i] = (uint8_t)(take_below(in, 16) == 0 ? take(in, 1) : 'a');
            n->owned[2] = text;
            n->buffers[2] = text;
        }
    } else if (n->format[0] == 'v') {
        fill_views(n, values, slots, in);
    }
}

/* What the interface tells, wrong. Lengths that could be right are left alone: buffers of that size are not there. */
static void spoil(node *n, input *in)
{
    static const int64_t bad[] = {-1, INT64_MIN, INT32_MIN, -7};
    switch (take_below(in, 14)) {
    case 0:
        n->array.length = bad[take_below(in, 4)];
        break;
    case 1:
        n->array.offset = bad[take_below(in, 4)];
        break;
    case 2:
        n->array.length = INT64_MAX;
        n->array.offset = 1 + (int64_t)take_below(in, 100);
        break;
    case 3:
        n->array.null_count = (int64_t)take(in, 8);
        break;
    case 4:
        n->array.n_buffers = n->array.n_buffers == 0 ? -1 : (int64_t)take_below(in, (uint32_t)n->array.n_buffers) - 1;
        break;
    case 5:
        n->array.n_buffers = n->format[0] == 'v' ? 2 : INT64_MAX; /* views: the number of data buffers is the producer's word */
        break;
    case 6:
        n->array.buffers = NULL;
        break;
    case 7:
        n->buffers[take_below(in, 3)] = NULL;
        break;
    case 8:
        n->array.children = NULL;
        break;
    case 9:
        n->array_slots[take_below(in, CHILDREN_MAX)] = NULL;
        break;
    case 10:
        n->schema_slots[take_below(in, CHILDREN_MAX)] = NULL;
        break;
    case 11:
        n->array.n_children = bad[take_below(in, 4)];
        break;
    case 12:
        n->schema.n_children = bad[take_below(in, 4)];
        break;
    default:
        n->array.dictionary = NULL;
    }
}

static node *make_node(input *in, int depth, int64_t length)
{
    node *n = calloc(1, sizeof *n);
    const char *format = depth == 0 ? "+s" : formats[take_below(in, sizeof formats / sizeof *formats)];
    snprintf(n->format, sizeof n->format, "%s", format);
    snprintf(n->name, sizeof n->name, "%c", 'a' + (int)take_below(in, 4));
    bool is_list = format[0] == '+' && strchr("lLw", format[1]) != NULL, is_map = strcmp(format, "+m") == 0;
    int n_children = strcmp(format, "+s") == 0 ? (int)take_below(in, CHILDREN_MAX + 1) : is_list || is_map ? 1 : 0;
    if (depth >= DEPTH_MAX)
        n_children = 0;
    int64_t offset = take_below(in, 3) == 0 ? take_below(in, 20) : 0;
    n->array = (struct ArrowArray){.length = length, .offset = offset, .null_count = -1, .n_children = n_children, .buffers = n->buffers,
                                   .children = n->array_slots, .release = release_array};
    n->schema = (struct ArrowSchema){.format = n->format, .name = n->name, .flags = take_below(in, 4) == 0 ? 0 : ARROW_FLAG_NULLABLE,
                                     .n_children = n_children, .children = n->schema_slots, .release = release_schema};
    make_buffers(n, (size_t)(length + offset) + SLOTS_MAX + 8, in);
    for (int i = 0; i < n_children; i++) {
        int64_t wanted = length + offset + (is_list || is_map ? SLOTS_MAX : 0);
        n->children[i] = make_node(in, depth + 1, take_below(in, 12) == 0 ? take_below(in, (uint32_t)wanted + 1) : wanted);
        if (is_map && depth + 2 <= DEPTH_MAX && take_below(in, 8) != 0) { /* mostly a struct of two */
            node *entries = n->children[i];
            snprintf(entries->format, sizeof entries->format, "+s");
            for (int c = 0; c < 2; c++)
                if (entries->children[c] == NULL)
                    entries->children[c] = make_node(in, depth + 2, wanted); /* what the entries say of themselves may be spoilt */
            for (int c = 0; c < CHILDREN_MAX; c++) {
                entries->schema_slots[c] = entries->children[c] == NULL ? NULL : &entries->children[c]->schema;
                entries->array_slots[c] = entries->children[c] == NULL ? NULL : &entries->children[c]->array;
            }
            entries->schema.n_children = entries->array.n_children = 2;
            entries->array.n_buffers = 1;
        }
        n->schema_slots[i] = &n->children[i]->schema;
        n->array_slots[i] = &n->children[i]->array;
    }
    if (depth > 0 && depth < DEPTH_MAX && strchr("cCsSiIlLf", format[0]) != NULL && take_below(in, 4) == 0) {
        n->dictionary = make_node(in, depth + 1, take_below(in, 100));
        n->schema.dictionary = &n->dictionary->schema;
        n->array.dictionary = &n->dictionary->array;
    }
    if (take_below(in, 10) == 0)
        spoil(n, in);
    return n;
}

/* Rows that came in must go out and come in again as the same. */
static void check_again(const tl_batch *batch)
{
    struct ArrowSchema schema;
    struct ArrowArray array;
    tl_batch *again = NULL;
    for (int32_t c = 0; c < batch->n_cols; c++)
        if (batch->cols[c]->length != batch->n_rows || tl_column_check(batch->cols[c], NULL) != TL_OK)
            abort();
    if (tl_arrow_export_schema(batch->type, &schema, NULL) != TL_OK)
        abort();
    if (tl_arrow_export_batch(batch, &array, NULL) == TL_OK) { /* refuses times that Arrow cannot tell */
        tl_error err;
        if (tl_arrow_import_batch(&array, &schema, batch->type, &again, &err) != TL_OK) {
            fprintf(stderr, "what was exported is refused: %s\n", err.message);
            abort();
        }
        if (again->n_rows != batch->n_rows)
            abort();
        for (int32_t c = 0; c < batch->n_cols; c++)
            for (int64_t i = 0; i < batch->n_rows; i++)
                if (!tl_column_equal(batch->cols[c], i, again->cols[c], i))
                    abort();
        tl_batch_free(again);
    }
    schema.release(&schema);
}

static void import_as(node *root, const tl_type *type)
{
    tl_batch *batch = NULL;
    struct ArrowArray moved = root->array;
    arrays_alive = 1;
    if (tl_arrow_import_batch(&moved, &root->schema, type, &batch, NULL) == TL_OK)
        check_again(batch);
    tl_batch_free(batch);
    if (arrays_alive != 0 || moved.release != NULL)
        abort();
}

static const char *const targets[] = {
    "ROW<a BIGINT, b STRING>", "ROW<a DECIMAL(10, 2), b TIMESTAMP(9), c BYTES>", "ROW<a ARRAY<INT>, b MAP<STRING, BIGINT>>",
    "ROW<a ROW<a INT, b STRING>, b DOUBLE>", "ROW<a TINYINT NOT NULL>", "ROW<b DATE, c TIME(3), d FLOAT, a BOOLEAN>",
    "ROW<a ARRAY<ROW<a STRING>>, c MULTISET<STRING>, b VARIANT>", "ROW<a TIMESTAMP(3), b TIMESTAMP(6) WITH LOCAL TIME ZONE, c DECIMAL(38, 3)>",
    "ROW<a VECTOR<INT, 2>, b VECTOR<DOUBLE NOT NULL, 3>, c ROW<a VECTOR<BOOLEAN, 1>>>"};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    input in = {data, size};
    const tl_type *suggested = NULL, *target = NULL;
    const char *text = targets[take_below(&in, sizeof targets / sizeof *targets)];
    node *root = make_node(&in, 0, take_below(&in, ROWS_MAX));
    if (tl_arrow_import_schema(&root->schema, &suggested, NULL) == TL_OK)
        import_as(root, suggested);
    if (tl_type_parse((tl_bytes_view){(const uint8_t *)text, strlen(text)}, &target, NULL) != TL_OK)
        abort();
    import_as(root, target);
    tl_type_unref(suggested);
    tl_type_unref(target);
    node_free(root);
    return 0;
}
