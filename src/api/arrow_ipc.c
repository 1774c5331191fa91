/*
 * The Arrow IPC stream format.
 *
 * stream:  schema message, batch messages, end (FF FF FF FF 00 00 00 00)
 * message: FF FF FF FF, int32 bytes of the head (padding included, so that the body is aligned to 8), head: a FlatBuffer
 *          `Message`, body: the buffers of a batch, each padded to 8 bytes
 * Columns of a batch are told depth first: one FieldNode (length, nulls) each, and their buffers (place in the body, bytes):
 * validity; for fixed widths the values; for strings offsets and bytes; for lists and maps offsets; for structs and lists of fixed size
 * nothing more.
 *
 * Source: Arrow Columnar Format, "Serialization and Interprocess Communication"; Schema.fbs and Message.fbs, whose names are
 * used here.
 */
#include "api/arrow_ipc_private.h"

#include <stdlib.h>

#include "api/flatbuffer_private.h"

#define IPC_ALIGNMENT 8
#define DEPTH_MAX 64

enum { METADATA_V5 = 4 };
enum { HEADER_SCHEMA = 1, HEADER_RECORD_BATCH = 3 };
enum {
    TYPE_INT = 2,
    TYPE_FLOAT = 3,
    TYPE_BINARY = 4,
    TYPE_UTF8 = 5,
    TYPE_BOOL = 6,
    TYPE_DECIMAL = 7,
    TYPE_DATE = 8,
    TYPE_TIME = 9,
    TYPE_TIMESTAMP = 10,
    TYPE_LIST = 12,
    TYPE_STRUCT = 13,
    TYPE_FIXED_SIZE_LIST = 16,
    TYPE_MAP = 17
};

/* How values of a format lie: bits per value of the fixed width, or what stands in for one. */
enum { LAYOUT_BYTES = -1, LAYOUT_LIST = -2, LAYOUT_STRUCT = -3 };

/* One format of the C Data Interface as a table of Schema.fbs. */
typedef struct ipc_type {
    const char *format; /* the whole, or what it begins with */
    uint8_t type;
    int layout; /* bits, or LAYOUT_… */
    fb_field fields[3];
    uint8_t n_fields;
} ipc_type;

static const ipc_type types[] = {
    {"b", TYPE_BOOL, 1, {{0}}, 0},
    {"c", TYPE_INT, 8, {{4, 8}, {1, 1}}, 2},
    {"s", TYPE_INT, 16, {{4, 16}, {1, 1}}, 2},
    {"i", TYPE_INT, 32, {{4, 32}, {1, 1}}, 2},
    {"l", TYPE_INT, 64, {{4, 64}, {1, 1}}, 2},
    {"f", TYPE_FLOAT, 32, {{2, 1}}, 1},
    {"g", TYPE_FLOAT, 64, {{2, 2}}, 1},
    {"u", TYPE_UTF8, LAYOUT_BYTES, {{0}}, 0},
    {"z", TYPE_BINARY, LAYOUT_BYTES, {{0}}, 0},
    {"tdD", TYPE_DATE, 32, {{2, 0}}, 1},
    {"ttm", TYPE_TIME, 32, {{2, 1}, {4, 32}}, 2},
    {"tsm:", TYPE_TIMESTAMP, 64, {{2, 1}, {0}}, 2},
    {"tsu:", TYPE_TIMESTAMP, 64, {{2, 2}, {0}}, 2},
    {"tsn:", TYPE_TIMESTAMP, 64, {{2, 3}, {0}}, 2},
    {"d:", TYPE_DECIMAL, 128, {{4, 0}, {4, 0}, {4, 128}}, 3},
    {"+l", TYPE_LIST, LAYOUT_LIST, {{0}}, 0},
    {"+w:", TYPE_FIXED_SIZE_LIST, LAYOUT_STRUCT, {{4, 0}}, 1}, /* as a struct: validity and a child */
    {"+m", TYPE_MAP, LAYOUT_LIST, {{1, 0}}, 1},
    {"+s", TYPE_STRUCT, LAYOUT_STRUCT, {{0}}, 0},
};

static tl_status find_type(const char *format, const ipc_type **out, tl_error *err)
{
    for (size_t i = 0; i < TL_ARRAY_LEN(types); i++) {
        size_t len = strlen(types[i].format);
        if (strncmp(format, types[i].format, len) == 0 && (format[len] == '\0' || types[i].format[len - 1] == ':')) {
            *out = &types[i];
            return TL_OK;
        }
    }
    return tl_error_set(err, TL_E_UNSUPPORTED, "the Arrow format '%s' is not written", format);
}

/* ---- schema ---- */

static size_t write_type(fb_writer *w, const ipc_type *type, const char *format)
{
    fb_field fields[3];
    memcpy(fields, type->fields, sizeof fields);
    const char *parameters = format + strlen(type->format);
    if (type->type == TYPE_DECIMAL) {
        char *end;
        fields[0].value = (uint64_t)strtol(parameters, &end, 10);
        fields[1].value = *end == ',' ? (uint64_t)strtol(end + 1, NULL, 10) : 0;
    }
    if (type->type == TYPE_FIXED_SIZE_LIST)
        fields[0].value = (uint64_t)strtol(parameters, NULL, 10);
    bool zoned = type->type == TYPE_TIMESTAMP && *parameters != '\0';
    if (zoned)
        fields[1].bytes = 4;
    size_t places[3];
    size_t table = fb_table(w, fields, type->n_fields, places);
    if (zoned)
        fb_refer(w, places[1], fb_string(w, parameters));
    return table;
}

static tl_status write_field(fb_writer *w, const struct ArrowSchema *schema, int depth, size_t *out, tl_error *err)
{
    if (depth > DEPTH_MAX)
        return tl_error_set(err, TL_E_LIMIT, "types are nested deeper than %d levels", DEPTH_MAX);
    const ipc_type *type;
    TL_TRY(find_type(schema->format, &type, err));
    enum { NAME, NULLABLE, TYPE_KIND, TYPE, DICTIONARY, CHILDREN, N_FIELDS };
    fb_field fields[N_FIELDS] = {[NAME] = {4, 0},
                                 [NULLABLE] = {1, (schema->flags & ARROW_FLAG_NULLABLE) != 0},
                                 [TYPE_KIND] = {1, type->type},
                                 [TYPE] = {4, 0},
                                 [CHILDREN] = {4, 0}};
    size_t places[N_FIELDS];
    *out = fb_table(w, fields, N_FIELDS, places);
    fb_refer(w, places[NAME], fb_string(w, schema->name == NULL ? "" : schema->name));
    fb_refer(w, places[TYPE], write_type(w, type, schema->format));
    size_t children = fb_references(w, (size_t)schema->n_children);
    fb_refer(w, places[CHILDREN], children);
    for (int64_t i = 0; i < schema->n_children; i++) {
        size_t child;
        TL_TRY(write_field(w, schema->children[i], depth + 1, &child, err));
        fb_refer(w, children + 4 + 4 * (size_t)i, child);
    }
    return TL_OK;
}

/* The root of every head; the result is the place of the reference to what it carries. */
static size_t begin_message(fb_writer *w, uint8_t header_type, int64_t body_bytes)
{
    fb_begin(w);
    const fb_field fields[] = {{2, METADATA_V5}, {1, header_type}, {4, 0}, {8, (uint64_t)body_bytes}};
    size_t places[4];
    size_t message = fb_table(w, fields, 4, places);
    fb_refer(w, 0, message);
    return places[2];
}

static tl_status append_head(tl_buf *out, fb_writer *w, tl_error *err)
{
    fb_align(w, IPC_ALIGNMENT, 0);
    const uint8_t prefix[8] = {0xff,
                               0xff,
                               0xff,
                               0xff,
                               (uint8_t)w->out.len,
                               (uint8_t)(w->out.len >> 8),
                               (uint8_t)(w->out.len >> 16),
                               (uint8_t)(w->out.len >> 24)};
    if (w->status != TL_OK || tl_buf_append(out, prefix, sizeof prefix) != TL_OK ||
        tl_buf_append(out, w->out.data, w->out.len) != TL_OK)
        return tl_nomem(err, "Arrow message");
    return TL_OK;
}

tl_status tl_ipc__append_schema(tl_buf *out, const struct ArrowSchema *schema, tl_error *err)
{
    fb_writer w;
    size_t header = begin_message(&w, HEADER_SCHEMA, 0);
    const fb_field fields[] = {{2, 0 /* little endian */}, {4, 0}};
    size_t places[2];
    fb_refer(&w, header, fb_table(&w, fields, 2, places));
    size_t columns = fb_references(&w, (size_t)schema->n_children);
    fb_refer(&w, places[1], columns);
    tl_status status = TL_OK;
    for (int64_t i = 0; i < schema->n_children && status == TL_OK; i++) {
        size_t field;
        status = write_field(&w, schema->children[i], 0, &field, err);
        if (status == TL_OK)
            fb_refer(&w, columns + 4 + 4 * (size_t)i, field);
    }
    if (status == TL_OK)
        status = append_head(out, &w, err);
    fb_deinit(&w);
    return status;
}

/* ---- batches ---- */

/* A buffer of the body: `bytes` of `data`; offsets of strings are told from `base` on. */
typedef struct ipc_buffer {
    const void *data;
    size_t bytes;
    int32_t base; /* of offsets: subtracted from each */
} ipc_buffer;

typedef struct ipc_batch {
    tl_buf nodes;   /* int64_t[2]: length, nulls */
    tl_buf ranges;  /* int64_t[2]: place in the body, bytes */
    tl_buf buffers; /* ipc_buffer */
    int64_t body_bytes;
} ipc_batch;

static tl_status add_buffer(ipc_batch *batch, const void *data, size_t bytes, int32_t base)
{
    if (data == NULL)
        bytes = 0;
    const int64_t range[2] = {batch->body_bytes, (int64_t)bytes};
    const ipc_buffer buffer = {data, bytes, base};
    batch->body_bytes += ((int64_t)bytes + IPC_ALIGNMENT - 1) / IPC_ALIGNMENT * IPC_ALIGNMENT;
    TL_TRY(tl_buf_append(&batch->ranges, range, sizeof range));
    return tl_buf_append(&batch->buffers, &buffer, sizeof buffer);
}

static tl_status add_values(ipc_batch *batch, const struct ArrowArray *array, int layout)
{
    size_t n = (size_t)array->length;
    if (layout == LAYOUT_STRUCT)
        return TL_OK;
    if (layout > 0)
        return add_buffer(batch, array->buffers[1], (n * (size_t)layout + 7) / 8, 0);
    /* The columns of an empty batch need not have offsets. */
    const int32_t *offsets = array->buffers[1];
    if (offsets == NULL || n == 0) {
        static const int32_t zero[1] = {0};
        TL_TRY(add_buffer(batch, zero, sizeof zero, 0));
        return layout == LAYOUT_BYTES ? add_buffer(batch, NULL, 0, 0) : TL_OK;
    }
    /* A slice has offsets that begin later: its strings are cut out. Elements of a list are written whole. */
    int32_t base = layout == LAYOUT_BYTES ? offsets[0] : 0;
    TL_TRY(add_buffer(batch, offsets, (n + 1) * sizeof *offsets, base));
    if (layout == LAYOUT_LIST)
        return TL_OK;
    const uint8_t *data = array->buffers[2];
    return add_buffer(batch, data == NULL ? NULL : data + base, (size_t)(offsets[n] - base), 0);
}

/* Formats were looked at when the schema was written. */
static tl_status add_column(ipc_batch *batch, const struct ArrowArray *array, const struct ArrowSchema *schema, tl_error *err)
{
    const ipc_type *type;
    TL_TRY(find_type(schema->format, &type, err));
    const int64_t node[2] = {array->length, array->null_count};
    tl_status status = tl_buf_append(&batch->nodes, node, sizeof node);
    if (status == TL_OK)
        status = add_buffer(batch, array->null_count == 0 ? NULL : array->buffers[0], ((size_t)array->length + 7) / 8, 0);
    if (status == TL_OK)
        status = add_values(batch, array, type->layout);
    if (status != TL_OK)
        return tl_nomem(err, "Arrow batch");
    for (int64_t i = 0; i < array->n_children; i++)
        TL_TRY(add_column(batch, array->children[i], schema->children[i], err));
    return TL_OK;
}

static tl_status append_body(tl_buf *out, const ipc_batch *batch)
{
    static const uint8_t zeros[IPC_ALIGNMENT] = {0};
    const ipc_buffer *buffers = (const ipc_buffer *)(const void *)batch->buffers.data;
    for (size_t i = 0; i < batch->buffers.len / sizeof *buffers; i++) {
        const ipc_buffer *buffer = &buffers[i];
        if (buffer->base == 0) {
            TL_TRY(tl_buf_append(out, buffer->data, buffer->bytes));
        } else {
            const int32_t *offsets = buffer->data;
            for (size_t k = 0; k < buffer->bytes / sizeof *offsets; k++) {
                int32_t moved = offsets[k] - buffer->base;
                TL_TRY(tl_buf_append(out, &moved, sizeof moved));
            }
        }
        TL_TRY(tl_buf_append(out, zeros, (IPC_ALIGNMENT - buffer->bytes % IPC_ALIGNMENT) % IPC_ALIGNMENT));
    }
    return TL_OK;
}

static tl_status append_batch(tl_buf *out, const ipc_batch *batch, int64_t rows, fb_writer *w, tl_error *err)
{
    size_t header = begin_message(w, HEADER_RECORD_BATCH, batch->body_bytes);
    const fb_field fields[] = {{8, (uint64_t)rows}, {4, 0}, {4, 0}};
    size_t places[3];
    fb_refer(w, header, fb_table(w, fields, 3, places));
    fb_refer(w, places[1], fb_pairs(w, (const int64_t(*)[2])(const void *)batch->nodes.data, batch->nodes.len / 16));
    fb_refer(w, places[2], fb_pairs(w, (const int64_t(*)[2])(const void *)batch->ranges.data, batch->ranges.len / 16));
    TL_TRY(append_head(out, w, err));
    return append_body(out, batch) == TL_OK ? TL_OK : tl_nomem(err, "Arrow batch");
}

tl_status tl_ipc__append_batch(tl_buf *out, const struct ArrowArray *array, const struct ArrowSchema *schema, tl_error *err)
{
    ipc_batch batch = {0};
    tl_status status = TL_OK;
    for (int64_t i = 0; i < array->n_children && status == TL_OK; i++)
        status = add_column(&batch, array->children[i], schema->children[i], err);
    if (status == TL_OK) {
        fb_writer w;
        status = append_batch(out, &batch, array->length, &w, err);
        fb_deinit(&w);
    }
    tl_buf_deinit(&batch.nodes);
    tl_buf_deinit(&batch.ranges);
    tl_buf_deinit(&batch.buffers);
    return status;
}

tl_status tl_ipc__append_end(tl_buf *out)
{
    static const uint8_t end[8] = {0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0};
    return tl_buf_append(out, end, sizeof end);
}
