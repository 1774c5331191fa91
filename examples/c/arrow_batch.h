/*
 * A batch of orders in the Arrow C Data Interface, built by hand: id BIGINT, customer STRING, amount DOUBLE (may be null).
 * A program that has an Arrow library at hand exports its batches with that library instead.
 */
#ifndef EXAMPLE_ARROW_BATCH_H
#define EXAMPLE_ARROW_BATCH_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <tidelake/tidelake.h>

typedef struct order {
    int64_t id;
    const char *customer;
    double amount; /* NAN: null */
} order;

/* Whoever gets an array or a schema calls its release: all that was allocated here is freed there. */
static void release_array(struct ArrowArray *array)
{
    for (int64_t i = 0; i < array->n_children; i++) {
        if (array->children[i]->release != NULL)
            array->children[i]->release(array->children[i]);
        free(array->children[i]);
    }
    for (int64_t i = 0; i < array->n_buffers; i++)
        free((void *)array->buffers[i]);
    free(array->buffers);
    free(array->children);
    array->release = NULL;
}

static void release_schema(struct ArrowSchema *schema)
{
    for (int64_t i = 0; i < schema->n_children; i++) {
        if (schema->children[i]->release != NULL)
            schema->children[i]->release(schema->children[i]);
        free(schema->children[i]);
    }
    free(schema->children);
    schema->release = NULL;
}

static void *allocate(size_t bytes)
{
    void *memory = calloc(1, bytes + 1);
    if (memory == NULL)
        abort();
    return memory;
}

static void start_array(struct ArrowArray *array, int64_t length, int64_t n_buffers, int64_t n_children)
{
    memset(array, 0, sizeof *array);
    array->length = length;
    array->n_buffers = n_buffers;
    array->buffers = (const void **)allocate(sizeof(void *) * (size_t)n_buffers);
    array->n_children = n_children;
    array->children = (struct ArrowArray **)allocate(sizeof(void *) * (size_t)n_children);
    for (int64_t i = 0; i < n_children; i++)
        array->children[i] = (struct ArrowArray *)allocate(sizeof(struct ArrowArray));
    array->release = release_array;
}

static void start_schema(struct ArrowSchema *schema, const char *format, const char *name, int64_t n_children)
{
    memset(schema, 0, sizeof *schema);
    schema->format = format;
    schema->name = name;
    schema->flags = ARROW_FLAG_NULLABLE;
    schema->n_children = n_children;
    schema->children = (struct ArrowSchema **)allocate(sizeof(void *) * (size_t)n_children);
    for (int64_t i = 0; i < n_children; i++)
        schema->children[i] = (struct ArrowSchema *)allocate(sizeof(struct ArrowSchema));
    schema->release = release_schema;
}

static inline void orders_to_arrow(const order *orders, int64_t n, struct ArrowArray *array, struct ArrowSchema *schema)
{
    start_schema(schema, "+s", "", 3);
    start_schema(schema->children[0], "l", "id", 0);
    start_schema(schema->children[1], "u", "customer", 0);
    start_schema(schema->children[2], "g", "amount", 0);

    start_array(array, n, 1, 3);
    struct ArrowArray *id = array->children[0], *customer = array->children[1], *amount = array->children[2];
    start_array(id, n, 2, 0);
    start_array(customer, n, 3, 0);
    start_array(amount, n, 2, 0);

    /* Fixed width: validity (absent: no nulls) and values. */
    int64_t *ids = (int64_t *)allocate(sizeof *ids * (size_t)n);
    double *amounts = (double *)allocate(sizeof *amounts * (size_t)n);
    uint8_t *amount_valid = (uint8_t *)allocate((size_t)(n + 7) / 8);
    /* Strings: validity, n + 1 offsets, bytes. */
    int32_t *offsets = (int32_t *)allocate(sizeof *offsets * (size_t)(n + 1));
    for (int64_t i = 0; i < n; i++)
        offsets[i + 1] = offsets[i] + (int32_t)strlen(orders[i].customer);
    char *names = (char *)allocate((size_t)offsets[n]);
    for (int64_t i = 0; i < n; i++) {
        ids[i] = orders[i].id;
        memcpy(names + offsets[i], orders[i].customer, (size_t)(offsets[i + 1] - offsets[i]));
        if (orders[i].amount == orders[i].amount) {
            amounts[i] = orders[i].amount;
            amount_valid[i / 8] |= (uint8_t)(1 << i % 8);
        } else {
            amount->null_count++;
        }
    }
    id->buffers[1] = ids;
    customer->buffers[1] = offsets;
    customer->buffers[2] = names;
    amount->buffers[0] = amount_valid;
    amount->buffers[1] = amounts;
}

/* Value i of a column that Tidelake gave; arrays may begin at an offset. */
static inline int is_null(const struct ArrowArray *column, int64_t i)
{
    const uint8_t *valid = (const uint8_t *)column->buffers[0];
    i += column->offset;
    return column->null_count != 0 && valid != NULL && (valid[i / 8] >> i % 8 & 1) == 0;
}

static inline int64_t int64_at(const struct ArrowArray *column, int64_t i)
{
    return ((const int64_t *)column->buffers[1])[column->offset + i];
}

static inline double double_at(const struct ArrowArray *column, int64_t i)
{
    return ((const double *)column->buffers[1])[column->offset + i];
}

static inline const char *string_at(const struct ArrowArray *column, int64_t i, int *bytes)
{
    const int32_t *offsets = (const int32_t *)column->buffers[1] + column->offset;
    *bytes = offsets[i + 1] - offsets[i];
    return (const char *)column->buffers[2] + offsets[i];
}

#endif
