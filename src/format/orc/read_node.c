/* The tree of column readers: resolving wanted types against the file's, and opening their streams stripe by stripe. */
#include "format/orc/read_private.h"

#include <stdio.h>

#define WORDS_PIECE 4096

/* ---- types ---- */

static tl_status mismatch(const tl_type *want, const tl_orc_type *type, tl_error *err)
{
    static const char *const names[] = {"boolean", "tinyint", "smallint",  "int",  "bigint", "float",  "double",
                                        "string",  "binary",  "timestamp", "list", "map",    "struct", "union",
                                        "decimal", "date",    "varchar",   "char", "timestamp with local time zone"};
    tl_buf text = {0};
    tl_status status = tl_type_format(want, &text);
    if (status == TL_OK)
        status = tl_buf_append_byte(&text, 0);
    const char *name = (size_t)type->kind < TL_ARRAY_LEN(names) ? names[type->kind] : "an unknown type";
    status = status != TL_OK ? tl_nomem(err, "ORC reader")
                             : tl_error_set(err, TL_E_CORRUPT, "the file has %s where %s is expected", name, (const char *)text.data);
    tl_buf_deinit(&text);
    return status;
}

static bool is_integer(tl_type_kind kind)
{
    return (kind >= TL_TINYINT && kind <= TL_BIGINT) || kind == TL_DATE || kind == TL_TIME;
}

static bool is_bytes(tl_type_kind kind)
{
    return (kind >= TL_CHAR && kind <= TL_VARBINARY) || kind == TL_BLOB;
}

/* ABSENT: they do not fit. */
static tl_orc_op choose_op(const tl_orc_meta *meta, const tl_orc_type *type, tl_type_kind kind)
{
    bool is_unstable = meta->version[0] == 1 && meta->version[1] == 9999;
    switch (type->kind) {
    case TL_ORC_BOOLEAN:
        return kind == TL_BOOLEAN ? TL_ORC_OP_BOOL : TL_ORC_OP_ABSENT;
    case TL_ORC_BYTE:
        return is_integer(kind) ? TL_ORC_OP_OCTET : TL_ORC_OP_ABSENT;
    case TL_ORC_SHORT:
    case TL_ORC_INT:
    case TL_ORC_LONG:
    case TL_ORC_DATE:
        return is_integer(kind) ? TL_ORC_OP_INT : TL_ORC_OP_ABSENT;
    case TL_ORC_FLOAT:
        return kind == TL_FLOAT || kind == TL_DOUBLE ? TL_ORC_OP_F32 : TL_ORC_OP_ABSENT;
    case TL_ORC_DOUBLE:
        return kind == TL_DOUBLE ? TL_ORC_OP_F64 : TL_ORC_OP_ABSENT;
    case TL_ORC_DECIMAL:
        return kind != TL_DECIMAL                        ? TL_ORC_OP_ABSENT
               : is_unstable && type->precision <= 18 ? TL_ORC_OP_DECIMAL64
                                                         : TL_ORC_OP_DECIMAL;
    case TL_ORC_STRING:
    case TL_ORC_VARCHAR:
    case TL_ORC_CHAR:
    case TL_ORC_BINARY:
        return is_bytes(kind) ? TL_ORC_OP_BYTES : TL_ORC_OP_ABSENT;
    case TL_ORC_TIMESTAMP:
    case TL_ORC_TIMESTAMP_INSTANT:
        return kind == TL_TIMESTAMP || kind == TL_TIMESTAMP_LTZ ? TL_ORC_OP_TIMESTAMP : TL_ORC_OP_ABSENT;
    case TL_ORC_LIST:
        return kind == TL_ARRAY ? TL_ORC_OP_LIST : TL_ORC_OP_ABSENT;
    case TL_ORC_MAP:
        return kind == TL_MAP || kind == TL_MULTISET ? TL_ORC_OP_LIST : TL_ORC_OP_ABSENT;
    case TL_ORC_STRUCT:
        return kind == TL_ROW ? TL_ORC_OP_ROW : TL_ORC_OP_ABSENT;
    case TL_ORC_UNION:
        return kind == TL_ROW ? TL_ORC_OP_UNION : TL_ORC_OP_ABSENT;
    default:
        return TL_ORC_OP_ABSENT;
    }
}

/* The column of a union's field; *variant is set. -1: there is none of its own. */
static int32_t find_variant(const tl_orc_type *type, const tl_field *field, int32_t *variant)
{
    int32_t n = 0, bytes = 0;
    *variant = type->n_children; /* none: no value has it */
    if (strcmp(field->name, "tag") == 0 && field->type->kind == TL_TINYINT)
        *variant = TL_ORC_TAG;
    else if (sscanf(field->name, "field%9d%n", &n, &bytes) == 1 && field->name[bytes] == '\0' && n >= 0 && n < type->n_children)
        *variant = n;
    return *variant >= 0 && *variant < type->n_children ? type->children[n] : -1;
}

static int32_t find_field(const tl_orc_type *type, const char *name)
{
    for (int32_t i = 0; i < type->n_children; i++)
        if (strcmp(type->names[i], name) == 0)
            return type->children[i];
    return -1;
}

tl_status tl_orc__node_init(tl_orc_node *node, const tl_orc_meta *meta, int32_t column, const tl_type *want, tl_arena *arena,
                            tl_error *err)
{
    node->want = want;
    node->phys = tl_type_phys(want);
    node->column = column;
    node->op = TL_ORC_OP_ABSENT;
    if (column < 0)
        return TL_OK;
    node->type = &meta->types[column];
    node->op = choose_op(meta, node->type, want->kind);
    if (node->op == TL_ORC_OP_ABSENT)
        return mismatch(want, node->type, err);
    if (node->op != TL_ORC_OP_ROW && node->op != TL_ORC_OP_LIST && node->op != TL_ORC_OP_UNION)
        return TL_OK;
    node->children = tl_arena_calloc(arena, (size_t)want->n_fields + 1, sizeof *node->children);
    if (node->children == NULL)
        return tl_nomem(err, "ORC reader");
    node->n_children = want->n_fields;
    for (int32_t i = 0; i < want->n_fields; i++) {
        const tl_field *field = &want->fields[i];
        int32_t child = node->op == TL_ORC_OP_ROW     ? find_field(node->type, field->name)
                        : node->op == TL_ORC_OP_UNION ? find_variant(node->type, field, &node->children[i].variant)
                                                      : node->type->children[i];
        tl_status status = tl_orc__node_init(&node->children[i], meta, child, field->type, arena, err);
        TL_TRY(tl_error_wrap(err, status, "'%s'", field->name));
    }
    return TL_OK;
}

void tl_orc__node_deinit(tl_orc_node *node)
{
    for (int32_t i = 0; i < node->n_children; i++)
        tl_orc__node_deinit(&node->children[i]);
    tl_orc__in_deinit(&node->present.octets.in);
    tl_orc__in_deinit(&node->bits.octets.in);
    tl_orc__in_deinit(&node->octets.in);
    tl_orc__in_deinit(&node->ints.in);
    tl_orc__in_deinit(&node->lengths.in);
    tl_orc__in_deinit(&node->data);
    tl_buf_deinit(&node->words);
    tl_buf_deinit(&node->word_offsets);
    tl_buf_deinit(&node->index);
    tl_buf_deinit(&node->filter_bytes);
    for (size_t i = 0; i < TL_ARRAY_LEN(node->scratch); i++)
        tl_buf_deinit(&node->scratch[i]);
}

/* ---- streams ---- */

typedef struct opening {
    const tl_orc_file *file;
    const tl_orc_stripe_footer *footer;
    tl_orc_zone *zone;
    tl_arena *arena;
    tl_error *err;
} opening;

static const tl_orc_stream *find_stream(const opening *o, int32_t column, tl_orc_stream_kind kind)
{
    for (int32_t i = 0; i < o->footer->n_streams; i++)
        if (o->footer->streams[i].column == (uint64_t)column && o->footer->streams[i].kind == kind)
            return &o->footer->streams[i];
    return NULL;
}

/* A stream that is not there is empty: nothing can be read from it. */
static tl_status open_in(const opening *o, int32_t column, tl_orc_stream_kind kind, tl_orc_in *in)
{
    const tl_orc_stream *stream = find_stream(o, column, kind);
    tl_bytes_view raw = {0};
    uint8_t *owned = NULL;
    if (stream != NULL)
        TL_TRY(tl_format__input_piece(&o->file->in, stream->offset, stream->bytes, &raw, &owned, o->err));
    tl_orc__in_reset(in, o->file, raw, owned);
    return TL_OK;
}

static tl_status open_ints(const opening *o, int32_t column, tl_orc_stream_kind kind, bool is_v2, bool is_signed,
                           tl_orc_ints *ints)
{
    ints->n = ints->taken = 0;
    ints->is_v2 = is_v2;
    ints->is_signed = is_signed;
    return open_in(o, column, kind, &ints->in);
}

static tl_status open_octets(const opening *o, int32_t column, tl_orc_stream_kind kind, tl_orc_octets *octets)
{
    octets->left = 0;
    return open_in(o, column, kind, &octets->in);
}

/* ---- dictionaries ---- */

static tl_status read_word_lengths(tl_orc_node *node, uint64_t n_words, tl_error *err)
{
    int64_t lengths[WORDS_PIECE], total = 0;
    int32_t offset = 0;
    node->word_offsets.len = 0;
    node->word_bytes_max = 0;
    node->n_words = 0;
    if (tl_buf_append(&node->word_offsets, &offset, sizeof offset) != TL_OK)
        return tl_nomem(err, "dictionary");
    while ((uint64_t)node->n_words < n_words) {
        int64_t n = (int64_t)TL_MIN(n_words - (uint64_t)node->n_words, (uint64_t)WORDS_PIECE);
        TL_TRY(tl_orc__ints_read(&node->lengths, lengths, n, err));
        for (int64_t i = 0; i < n; i++) {
            if (lengths[i] < 0 || lengths[i] > INT32_MAX - total)
                return tl_error_set(err, TL_E_CORRUPT, "dictionary: negative or too large length");
            total += lengths[i];
            offset = (int32_t)total;
            node->word_bytes_max = TL_MAX(node->word_bytes_max, lengths[i]);
            if (tl_buf_append(&node->word_offsets, &offset, sizeof offset) != TL_OK)
                return tl_nomem(err, "dictionary");
        }
        node->n_words += n;
    }
    return TL_OK;
}

static tl_status open_dictionary(const opening *o, tl_orc_node *node, bool is_v2, uint64_t n_words)
{
    TL_TRY(open_ints(o, node->column, TL_ORC_DATA, is_v2, /* is_signed= */ false, &node->ints));
    TL_TRY(open_ints(o, node->column, TL_ORC_LENGTH, is_v2, /* is_signed= */ false, &node->lengths));
    TL_TRY(read_word_lengths(node, n_words, o->err));
    TL_TRY(open_in(o, node->column, TL_ORC_DICTIONARY_DATA, &node->data));
    node->words.len = 0;
    size_t bytes = (size_t)((const int32_t *)(const void *)node->word_offsets.data)[node->n_words];
    tl_status status = tl_orc__in_append(&node->data, &node->words, bytes, o->err);
    if (status == TL_OK && tl_buf_reserve(&node->words, TL_ORC_WORD_ROOM) != TL_OK) /* even where all words are empty */
        status = tl_nomem(o->err, "words");
    return tl_error_wrap(o->err, status, "dictionary");
}

/* ---- a node's streams ---- */

static tl_status open_bytes(const opening *o, tl_orc_node *node, bool is_v2, uint64_t n_words)
{
    if (node->is_dictionary)
        return open_dictionary(o, node, is_v2, n_words);
    TL_TRY(open_in(o, node->column, TL_ORC_DATA, &node->data));
    return open_ints(o, node->column, TL_ORC_LENGTH, is_v2, /* is_signed= */ false, &node->lengths);
}

static tl_status open_timestamps(const opening *o, tl_orc_node *node, bool is_v2)
{
    node->zone = NULL;
    if (node->type->kind == TL_ORC_TIMESTAMP) {
        TL_TRY(tl_orc__zone_set(o->zone, o->footer->timezone, o->err));
        if (o->zone->n > 0 || o->zone->first != 0)
            node->zone = o->zone;
    }
    TL_TRY(open_ints(o, node->column, TL_ORC_DATA, is_v2, /* is_signed= */ true, &node->ints));
    return open_ints(o, node->column, TL_ORC_SECONDARY, is_v2, /* is_signed= */ false, &node->lengths);
}

static tl_status open_values(const opening *o, tl_orc_node *node, bool is_v2, uint64_t n_words)
{
    switch (node->op) {
    case TL_ORC_OP_BOOL:
        node->bits.left = 0;
        return open_octets(o, node->column, TL_ORC_DATA, &node->bits.octets);
    case TL_ORC_OP_OCTET:
    case TL_ORC_OP_UNION:
        return open_octets(o, node->column, TL_ORC_DATA, &node->octets);
    case TL_ORC_OP_INT:
        return open_ints(o, node->column, TL_ORC_DATA, is_v2, /* is_signed= */ true, &node->ints);
    case TL_ORC_OP_DECIMAL64:
        return open_ints(o, node->column, TL_ORC_DATA, /* is_v2= */ true, /* is_signed= */ true, &node->ints);
    case TL_ORC_OP_F32:
    case TL_ORC_OP_F64:
        return open_in(o, node->column, TL_ORC_DATA, &node->data);
    case TL_ORC_OP_DECIMAL:
        TL_TRY(open_in(o, node->column, TL_ORC_DATA, &node->data));
        return open_ints(o, node->column, TL_ORC_SECONDARY, is_v2, /* is_signed= */ true, &node->lengths);
    case TL_ORC_OP_BYTES:
        return open_bytes(o, node, is_v2, n_words);
    case TL_ORC_OP_TIMESTAMP:
        return open_timestamps(o, node, is_v2);
    case TL_ORC_OP_LIST:
        return open_ints(o, node->column, TL_ORC_LENGTH, is_v2, /* is_signed= */ false, &node->lengths);
    default:
        return TL_OK;
    }
}

static tl_status open_node(const opening *o, tl_orc_node *node);

static tl_status open_one(const opening *o, tl_orc_node *node)
{
    if (node->column >= o->footer->n_encodings)
        return tl_error_set(o->err, TL_E_CORRUPT, "stripe footer: no encoding of column %d", node->column);
    uint64_t kind = o->footer->encodings[node->column].kind;
    node->is_dictionary = kind == TL_ORC_DICTIONARY || kind == TL_ORC_DICTIONARY_V2;
    if (kind > TL_ORC_DICTIONARY_V2 || (node->is_dictionary && node->op != TL_ORC_OP_BYTES))
        return tl_error_set(o->err, TL_E_CORRUPT, "stripe footer: encoding %llu does not suit the type",
                            (unsigned long long)kind);
    node->n_entries = 0;
    node->has_present = find_stream(o, node->column, TL_ORC_PRESENT) != NULL;
    node->present.left = 0;
    TL_TRY(open_octets(o, node->column, TL_ORC_PRESENT, &node->present.octets));
    TL_TRY(open_values(o, node, kind >= TL_ORC_DIRECT_V2, o->footer->encodings[node->column].dictionary_size));
    for (int32_t i = 0; i < node->n_children; i++)
        TL_TRY(open_node(o, &node->children[i]));
    return TL_OK;
}

static tl_status open_node(const opening *o, tl_orc_node *node)
{
    return node->op == TL_ORC_OP_ABSENT ? TL_OK : tl_error_wrap(o->err, open_one(o, node), "column %d", node->column);
}

/* ---- row index ---- */

static tl_status open_index(const opening *o, tl_orc_node *node)
{
    const tl_orc_stream *stream = find_stream(o, node->column, TL_ORC_ROW_INDEX);
    const tl_orc_stream *filters = find_stream(o, node->column, TL_ORC_BLOOM_FILTER_UTF8);
    node->n_entries = 0;
    node->n_filters = -1;
    node->filters_size = 0;
    if (node->op == TL_ORC_OP_ABSENT || stream == NULL)
        return TL_OK;
    if (filters != NULL) {
        node->filters_at = filters->offset;
        node->filters_size = filters->bytes;
    }
    node->index.len = 0;
    TL_TRY(tl_orc__file_plain(o->file, stream->offset, stream->bytes, &node->index, o->err));
    int32_t n = 0;
    for (int round = 0; round < 2; round++) {
        tl_orc_pb pb = tl_orc__pb((tl_bytes_view){node->index.data, node->index.len});
        for (n = 0; tl_orc__pb_next(&pb);) {
            if (pb.field == 1 && round == 1)
                node->entries[n] = pb.bytes;
            n += pb.field == 1;
        }
        if (pb.is_bad)
            return tl_error_set(o->err, TL_E_CORRUPT, "column %d: malformed row index", node->column);
        if (round == 0 && (node->entries = tl_arena_calloc(o->arena, (size_t)n + 1, sizeof *node->entries)) == NULL)
            return tl_nomem(o->err, "row index");
    }
    node->n_entries = n;
    for (int32_t i = 0; i < node->n_children; i++)
        TL_TRY(open_index(o, &node->children[i]));
    return TL_OK;
}

tl_status tl_orc__node_open(tl_orc_node *node, const tl_orc_file *file, const tl_orc_stripe_footer *footer, tl_orc_zone *zone,
                            tl_arena *arena, tl_error *err)
{
    opening o = {file, footer, zone, arena, err};
    TL_TRY(open_node(&o, node));
    return file->meta.stride == 0 ? TL_OK : open_index(&o, node);
}

bool tl_orc__node_can_seek(const tl_orc_node *node, int64_t n_groups)
{
    if (node->op == TL_ORC_OP_ABSENT)
        return true;
    if (node->n_entries != n_groups)
        return false;
    for (int32_t i = 0; i < node->n_children; i++)
        if (!tl_orc__node_can_seek(&node->children[i], n_groups))
            return false;
    return true;
}

static tl_status seek_values(tl_orc_node *node, tl_orc_positions *pos, tl_error *err)
{
    switch (node->op) {
    case TL_ORC_OP_BOOL:
        return tl_orc__bits_seek(&node->bits, pos, err);
    case TL_ORC_OP_OCTET:
    case TL_ORC_OP_UNION:
        return tl_orc__octets_seek(&node->octets, pos, err);
    case TL_ORC_OP_INT:
    case TL_ORC_OP_DECIMAL64:
        return tl_orc__ints_seek(&node->ints, pos, err);
    case TL_ORC_OP_F32:
    case TL_ORC_OP_F64:
        return tl_orc__in_seek(&node->data, pos, err);
    case TL_ORC_OP_BYTES:
        if (node->is_dictionary)
            return tl_orc__ints_seek(&node->ints, pos, err);
        TL_TRY(tl_orc__in_seek(&node->data, pos, err));
        return tl_orc__ints_seek(&node->lengths, pos, err);
    case TL_ORC_OP_DECIMAL:
        TL_TRY(tl_orc__in_seek(&node->data, pos, err));
        return tl_orc__ints_seek(&node->lengths, pos, err);
    case TL_ORC_OP_TIMESTAMP:
        TL_TRY(tl_orc__ints_seek(&node->ints, pos, err));
        return tl_orc__ints_seek(&node->lengths, pos, err);
    case TL_ORC_OP_LIST:
        return tl_orc__ints_seek(&node->lengths, pos, err);
    default:
        return TL_OK;
    }
}

tl_status tl_orc__node_seek(tl_orc_node *node, int64_t group, tl_error *err)
{
    if (node->op == TL_ORC_OP_ABSENT)
        return TL_OK;
    tl_orc_positions pos = tl_orc__positions(node->entries[group]);
    if (node->has_present)
        TL_TRY(tl_orc__bits_seek(&node->present, &pos, err));
    TL_TRY(seek_values(node, &pos, err));
    for (int32_t i = 0; i < node->n_children; i++)
        TL_TRY(tl_orc__node_seek(&node->children[i], group, err));
    return TL_OK;
}

/* ---- sizes ---- */

/* Plain bytes of a stream at most: that many full blocks as there may be headers, but no more than a good ratio gives. */
static int64_t plain_bytes(const tl_orc_in *in)
{
    return in->compression == TL_ORC_NONE ? (int64_t)in->raw.len : (int64_t)in->raw.len * 16;
}

int64_t tl_orc__node_row_bytes(const tl_orc_node *node, int64_t rows)
{
    int64_t bytes = 0;
    if (node->op == TL_ORC_OP_BYTES)
        bytes = node->is_dictionary ? node->word_bytes_max : plain_bytes(&node->data) / TL_MAX(rows, 1);
    else if (node->op == TL_ORC_OP_LIST)
        bytes = 256;
    for (int32_t i = 0; i < node->n_children; i++)
        bytes += tl_orc__node_row_bytes(&node->children[i], rows);
    return bytes;
}
