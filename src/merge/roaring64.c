/*
 * Union of 64-bit Roaring bitmaps in the form of Java's Roaring64Bitmap (org.roaringbitmap.longlong): the high 48 bits of
 * the numbers are keys of an adaptive radix tree, whose leaves name a container of low 16 bits. There is no specification
 * of the form but the library's source (HighLowContainer, art.*). Little-endian unless said otherwise:
 *
 *   u8 0: empty; else 1, then
 *   u64 number of keys
 *   the tree's nodes, each before its children, which follow in the order of their key bytes:
 *     u8 type (0: Node4, 1: Node16, 2: Node48, 3: Node256, 4: leaf), u16 children, u8 length of the prefix, the prefix
 *     Node4   4 key bytes, backwards             Node16  2 x 8 key bytes, each 8 backwards
 *     Node48  256 slot numbers, each 8 backwards, FF: no child        Node256  32 bytes of flags
 *     leaf    6 bytes of key, big-endian; u64 number of the container
 *   u32 number of container arrays (one up to 2^31 containers); of each: u8 FE, u32 length, entries:
 *     u8 0: none; 1: u8 form, u32 cardinality, container
 *   u64 containers, u32 index of the last array, u32 index of the last container in it
 *
 * A node keeps its type when it is full no more, and a Node48 remembers in which order its children came: the union is
 * therefore made as the library makes it, by inserting the keys of the second bitmap into the tree of the first.
 */
#include "base/bits.h"
#include "base/roaring.h"
#include "merge/sketch.h"

#define KEY_BYTES 6
#define NODE_LEAF 4
#define ARRAY_MARK 0xfe
#define NO_CHILD UINT32_MAX

static const uint16_t node_capacity[] = {4, 16, 48, 256};

typedef struct art_node {
    uint8_t type;
    uint8_t prefix_len;
    uint8_t prefix[KEY_BYTES];
    uint16_t n;             /* children */
    uint8_t *bytes;         /* of the children, ascending */
    uint8_t *slots;         /* Node48: the slot of each child, else NULL */
    uint32_t *children;     /* node numbers */
    uint8_t key[KEY_BYTES]; /* leaf */
    uint32_t box;           /* leaf: its container */
} art_node;

typedef struct bitmap64 {
    art_node *nodes;
    uint32_t n_nodes, cap_nodes;
    uint32_t root; /* NO_CHILD: empty */
    uint64_t n_keys;
    tl_roaring_box *boxes; /* entries without a container have card 0 */
    uint32_t n_boxes, cap_boxes;
    uint32_t last_box;
    uint64_t n_used;
} bitmap64;

/* One union; everything lives in the arena. */
typedef struct work {
    tl_arena *arena;
    tl_error *err;
} work;

static tl_status corrupt(const work *w, const char *what)
{
    return tl_error_set(w->err, TL_E_CORRUPT, "64-bit roaring bitmap: %s", what);
}

static void *grow(const work *w, void *old, size_t n, size_t item_bytes, uint32_t *cap)
{
    size_t fresh_cap = TL_MAX(16, (size_t)*cap * 2);
    void *fresh = fresh_cap > UINT32_MAX ? NULL : tl_arena_alloc(w->arena, fresh_cap * item_bytes);
    if (fresh != NULL && n > 0)
        memcpy(fresh, old, n * item_bytes);
    if (fresh != NULL)
        *cap = (uint32_t)fresh_cap;
    return fresh;
}

static tl_status add_node(const work *w, bitmap64 *bm, uint32_t *out)
{
    if (bm->n_nodes == bm->cap_nodes) {
        art_node *nodes = grow(w, bm->nodes, bm->n_nodes, sizeof *nodes, &bm->cap_nodes);
        if (nodes == NULL)
            return tl_nomem(w->err, "roaring bitmap");
        bm->nodes = nodes;
    }
    bm->nodes[bm->n_nodes] = (art_node){0};
    *out = bm->n_nodes++;
    return TL_OK;
}

/* Room for `cap` children; what was there is kept. */
static tl_status alloc_children(const work *w, art_node *node, size_t cap)
{
    uint8_t *bytes = tl_arena_alloc(w->arena, cap);
    uint8_t *slots = node->type == 2 ? tl_arena_calloc(w->arena, cap, 1) : NULL;
    uint32_t *children = tl_arena_alloc(w->arena, cap * sizeof *children);
    if (bytes == NULL || children == NULL || (node->type == 2 && slots == NULL))
        return tl_nomem(w->err, "roaring bitmap");
    if (node->n > 0) {
        memcpy(bytes, node->bytes, node->n);
        memcpy(children, node->children, node->n * sizeof *children);
        for (uint16_t i = 0; slots != NULL && i < node->n; i++)
            slots[i] = node->slots == NULL ? (uint8_t)i : node->slots[i];
    }
    node->bytes = bytes;
    node->slots = slots;
    node->children = children;
    return TL_OK;
}

/* ---- reading ---- */

static bool take(tl_roaring_input *in, size_t bytes, const uint8_t **out)
{
    if (in->left < bytes)
        return false;
    *out = in->at;
    in->at += bytes;
    in->left -= bytes;
    return true;
}

/* Position of the i-th byte where each 8 (or 4) are stored backwards. */
static size_t backwards(size_t i, size_t group)
{
    return i / group * group + (group - 1 - i % group);
}

static tl_status read_small_keys(const work *w, tl_roaring_input *in, art_node *node)
{
    size_t bytes = node->type == 0 ? 4 : 16;
    const uint8_t *body;
    if (!take(in, bytes, &body))
        return corrupt(w, "cut off in a node");
    for (uint16_t i = 0; i < node->n; i++)
        node->bytes[i] = body[backwards(i, TL_MIN(bytes, 8))];
    return TL_OK;
}

static tl_status read_node48(const work *w, tl_roaring_input *in, art_node *node)
{
    const uint8_t *body;
    uint64_t used = 0;
    uint16_t n = 0;
    if (!take(in, 256, &body))
        return corrupt(w, "cut off in a node");
    for (size_t b = 0; b < 256; b++) {
        uint8_t slot = body[backwards(b, 8)];
        if (slot == 0xff)
            continue;
        if (n == node->n || slot >= 48 || (used >> slot & 1) != 0)
            return corrupt(w, "wrong slots in a node");
        used |= UINT64_C(1) << slot;
        node->bytes[n] = (uint8_t)b;
        node->slots[n++] = slot;
    }
    return n == node->n ? TL_OK : corrupt(w, "wrong number of children");
}

static tl_status read_node256(const work *w, tl_roaring_input *in, art_node *node)
{
    const uint8_t *body;
    uint16_t n = 0;
    if (!take(in, 32, &body))
        return corrupt(w, "cut off in a node");
    for (int b = 0; b < 256; b++) {
        if (!tl_bit_get(body, b))
            continue;
        if (n == node->n)
            return corrupt(w, "wrong number of children");
        node->bytes[n++] = (uint8_t)b;
    }
    return n == node->n ? TL_OK : corrupt(w, "wrong number of children");
}

static tl_status read_leaf(const work *w, tl_roaring_input *in, bitmap64 *bm, const uint8_t *path, size_t depth, uint32_t number)
{
    const uint8_t *body;
    if (!take(in, KEY_BYTES + 8, &body))
        return corrupt(w, "cut off in a leaf");
    if (memcmp(body, path, depth) != 0)
        return corrupt(w, "a leaf in the wrong place");
    uint64_t box = tl_read_le64(body + KEY_BYTES);
    if (box > UINT32_MAX)
        return corrupt(w, "a leaf names a container that is not there");
    memcpy(bm->nodes[number].key, body, KEY_BYTES);
    bm->nodes[number].box = (uint32_t)box;
    bm->n_keys++;
    return TL_OK;
}

/* The subtree below `depth` bytes of path. Each level takes a byte at least, so it recurses six times at most. */
static tl_status read_tree(const work *w, tl_roaring_input *in, bitmap64 *bm, uint8_t *path, size_t depth, uint32_t *out)
{
    const uint8_t *head, *prefix;
    TL_TRY(add_node(w, bm, out));
    if (!take(in, 4, &head) || !take(in, head[3], &prefix) || head[0] > NODE_LEAF)
        return corrupt(w, "cut off in a node, or of unknown type");
    art_node node = {.type = head[0], .n = tl_read_le16(head + 1), .prefix_len = head[3]};
    if (node.type == NODE_LEAF) {
        bm->nodes[*out].type = NODE_LEAF;
        return read_leaf(w, in, bm, path, depth, *out);
    }
    if (depth + node.prefix_len >= KEY_BYTES || node.n == 0 || node.n > node_capacity[node.type])
        return corrupt(w, "a node that is too deep or has a wrong number of children");
    memcpy(node.prefix, prefix, node.prefix_len);
    memcpy(path + depth, prefix, node.prefix_len);
    depth += node.prefix_len;
    uint16_t n = node.n;
    node.n = 0;
    TL_TRY(alloc_children(w, &node, n));
    node.n = n;
    TL_TRY(node.type == 2   ? read_node48(w, in, &node)
           : node.type == 3 ? read_node256(w, in, &node)
                            : read_small_keys(w, in, &node));
    for (uint16_t i = 0; i < n; i++) {
        if (i > 0 && node.bytes[i] <= node.bytes[i - 1])
            return corrupt(w, "children out of order");
        path[depth] = node.bytes[i];
        TL_TRY(read_tree(w, in, bm, path, depth + 1, &node.children[i]));
    }
    bm->nodes[*out] = node;
    return TL_OK;
}

static tl_status read_box(const work *w, tl_roaring_input *in, tl_roaring_box *out)
{
    const uint8_t *mark, *head;
    *out = (tl_roaring_box){0};
    if (!take(in, 1, &mark) || mark[0] > 1)
        return corrupt(w, "wrong mark of a container");
    if (mark[0] == 0)
        return TL_OK;
    if (!take(in, 5, &head) || head[0] > TL_ROARING_ARRAY)
        return corrupt(w, "wrong form of a container");
    return tl_roaring_box_read(in, (tl_roaring_form)head[0], tl_read_le32(head + 1), out, w->err);
}

static tl_status read_boxes(const work *w, tl_roaring_input *in, bitmap64 *bm)
{
    const uint8_t *head, *tail;
    if (!take(in, 9, &head) || tl_read_le32(head) != 1 || tl_read_le32(head + 5) > in->left)
        return corrupt(w, "wrong number of containers");
    bm->n_boxes = bm->cap_boxes = tl_read_le32(head + 5);
    bm->boxes = tl_arena_alloc(w->arena, bm->n_boxes * sizeof *bm->boxes);
    if (bm->boxes == NULL)
        return tl_nomem(w->err, "roaring bitmap");
    for (uint32_t i = 0; i < bm->n_boxes; i++) {
        TL_TRY(read_box(w, in, &bm->boxes[i]));
        bm->n_used += bm->boxes[i].card > 0;
    }
    if (!take(in, 16, &tail))
        return corrupt(w, "cut off after the containers");
    bm->last_box = tl_read_le32(tail + 12);
    return bm->last_box < bm->n_boxes ? TL_OK : corrupt(w, "wrong index of the last container");
}

static tl_status check_leaves(const work *w, const bitmap64 *bm)
{
    for (uint32_t i = 0; i < bm->n_nodes; i++)
        if (bm->nodes[i].type == NODE_LEAF && (bm->nodes[i].box >= bm->n_boxes || bm->boxes[bm->nodes[i].box].card == 0))
            return corrupt(w, "a leaf names a container that is not there");
    return TL_OK;
}

static tl_status read_bitmap(const work *w, tl_bytes_view bytes, bitmap64 *out)
{
    tl_roaring_input in = {bytes.data, bytes.len};
    const uint8_t *head;
    uint8_t path[KEY_BYTES + 1];
    *out = (bitmap64){.root = NO_CHILD};
    if (!take(&in, 1, &head) || head[0] > 1)
        return corrupt(w, "wrong first byte");
    if (head[0] == 0)
        return TL_OK;
    if (!take(&in, 8, &head))
        return corrupt(w, "cut off in its header");
    TL_TRY(read_tree(w, &in, out, path, 0, &out->root));
    if (out->n_keys != tl_read_le64(head))
        return corrupt(w, "wrong number of keys");
    TL_TRY(read_boxes(w, &in, out));
    return check_leaves(w, out);
}

/* ---- inserting ---- */

static tl_status add_box(const work *w, bitmap64 *bm, const tl_roaring_box *box, uint32_t *out)
{
    uint32_t at = bm->n_boxes == 0 ? 0 : bm->last_box + 1;
    if (at >= bm->n_boxes) {
        /* The library's array grows by half; its length is stored. */
        uint32_t length = TL_MAX(at + 1, bm->n_boxes + bm->n_boxes / 2);
        tl_roaring_box *boxes = tl_arena_calloc(w->arena, length, sizeof *boxes);
        if (boxes == NULL)
            return tl_nomem(w->err, "roaring bitmap");
        if (bm->n_boxes > 0)
            memcpy(boxes, bm->boxes, bm->n_boxes * sizeof *boxes);
        bm->boxes = boxes;
        bm->n_boxes = length;
    }
    bm->boxes[at] = *box;
    bm->last_box = at;
    bm->n_used++;
    *out = at;
    return TL_OK;
}

static tl_status add_leaf(const work *w, bitmap64 *bm, const uint8_t *key, uint32_t box, uint32_t *out)
{
    TL_TRY(add_node(w, bm, out));
    bm->nodes[*out].type = NODE_LEAF;
    memcpy(bm->nodes[*out].key, key, KEY_BYTES);
    bm->nodes[*out].box = box;
    bm->n_keys++;
    return TL_OK;
}

/* First slot of a Node48 that is free, looked for as the library does. */
static uint8_t free_slot(const art_node *node)
{
    uint64_t used = 0;
    for (uint16_t i = 0; i < node->n; i++)
        used |= UINT64_C(1) << node->slots[i];
    if ((used >> node->n & 1) == 0)
        return (uint8_t)node->n;
    return (uint8_t)__builtin_ctzll(~used);
}

static tl_status insert_child(const work *w, art_node *node, uint8_t byte, uint32_t child)
{
    if (node->n == node_capacity[node->type])
        node->type++;
    uint8_t slot = 0;
    TL_TRY(alloc_children(w, node, (size_t)node->n + 1));
    if (node->type == 2)
        slot = free_slot(node);
    uint16_t at = node->n;
    for (; at > 0 && node->bytes[at - 1] > byte; at--) {
        node->bytes[at] = node->bytes[at - 1];
        node->children[at] = node->children[at - 1];
        if (node->type == 2)
            node->slots[at] = node->slots[at - 1];
    }
    node->bytes[at] = byte;
    node->children[at] = child;
    if (node->type == 2)
        node->slots[at] = slot;
    node->n++;
    return TL_OK;
}

static uint8_t common(const uint8_t *a, const uint8_t *b, size_t max)
{
    size_t n = 0;
    while (n < max && a[n] == b[n])
        n++;
    return (uint8_t)n;
}

/* A Node4 over `node` (whose own byte is `byte`) and a new leaf. */
static tl_status split(const work *w, bitmap64 *bm, const uint8_t *prefix, uint8_t prefix_len, uint32_t node, uint8_t byte,
                       const uint8_t *key, uint8_t key_byte, uint32_t box, uint32_t *out)
{
    uint32_t leaf;
    art_node fork = {.type = 0, .prefix_len = prefix_len};
    memcpy(fork.prefix, prefix, prefix_len);
    TL_TRY(insert_child(w, &fork, byte, node));
    TL_TRY(add_leaf(w, bm, key, box, &leaf));
    TL_TRY(insert_child(w, &fork, key_byte, leaf));
    TL_TRY(add_node(w, bm, out));
    bm->nodes[*out] = fork;
    return TL_OK;
}

/* Inserts a key that is not there; *number becomes the root of the changed subtree. */
static tl_status insert(const work *w, bitmap64 *bm, const uint8_t *key, uint32_t box, uint32_t *number)
{
    uint32_t *link = number;
    for (size_t depth = 0;;) {
        uint32_t at = *link, leaf;
        art_node *node = &bm->nodes[at];
        if (node->type == NODE_LEAF) {
            uint8_t other[KEY_BYTES];
            memcpy(other, node->key, KEY_BYTES);
            uint8_t n = common(other + depth, key + depth, KEY_BYTES - depth);
            if (depth + n >= KEY_BYTES)
                return corrupt(w, "a key twice");
            return split(w, bm, key + depth, n, at, other[depth + n], key, key[depth + n], box, link);
        }
        uint8_t n = common(node->prefix, key + depth, node->prefix_len);
        if (n != node->prefix_len) {
            uint8_t prefix[KEY_BYTES], byte = node->prefix[n];
            memcpy(prefix, node->prefix, sizeof prefix);
            node->prefix_len = (uint8_t)(node->prefix_len - n - 1);
            memmove(node->prefix, prefix + n + 1, node->prefix_len);
            return split(w, bm, prefix, n, at, byte, key, key[depth + n], box, link);
        }
        depth += n;
        uint16_t i = 0;
        while (i < node->n && node->bytes[i] < key[depth])
            i++;
        if (i == node->n || node->bytes[i] != key[depth]) {
            TL_TRY(add_leaf(w, bm, key, box, &leaf));
            return insert_child(w, &bm->nodes[at], key[depth], leaf);
        }
        link = &node->children[i];
        depth++;
    }
}

static uint32_t find(const bitmap64 *bm, const uint8_t *key)
{
    uint32_t at = bm->root;
    for (size_t depth = 0; at != NO_CHILD;) {
        const art_node *node = &bm->nodes[at];
        if (node->type == NODE_LEAF)
            return memcmp(node->key, key, KEY_BYTES) == 0 ? at : NO_CHILD;
        if (memcmp(node->prefix, key + depth, node->prefix_len) != 0)
            return NO_CHILD;
        depth += node->prefix_len;
        at = NO_CHILD;
        for (uint16_t i = 0; i < node->n; i++)
            if (node->bytes[i] == key[depth])
                at = node->children[i];
        depth++;
    }
    return NO_CHILD;
}

static tl_status put(const work *w, bitmap64 *bm, const uint8_t *key, const tl_roaring_box *box)
{
    uint32_t found = bm->root == NO_CHILD ? NO_CHILD : find(bm, key), number;
    if (found != NO_CHILD) {
        tl_roaring_box *mine = &bm->boxes[bm->nodes[found].box];
        return tl_roaring_box_union(mine, box, w->arena, mine, w->err);
    }
    TL_TRY(add_box(w, bm, box, &number));
    if (bm->root == NO_CHILD)
        return add_leaf(w, bm, key, number, &bm->root);
    return insert(w, bm, key, number, &bm->root);
}

/* All keys of the subtree in ascending order. */
static tl_status put_tree(const work *w, bitmap64 *bm, const bitmap64 *from, uint32_t number)
{
    const art_node *node = &from->nodes[number];
    if (node->type == NODE_LEAF)
        return put(w, bm, node->key, &from->boxes[node->box]);
    for (uint16_t i = 0; i < node->n; i++)
        TL_TRY(put_tree(w, bm, from, node->children[i]));
    return TL_OK;
}

/* ---- writing ---- */

static tl_status append_le(tl_buf *out, uint64_t v, size_t bytes)
{
    uint8_t le[8];
    tl_write_le64(le, v);
    return tl_buf_append(out, le, bytes);
}

static tl_status write_body(const art_node *node, tl_buf *out)
{
    uint8_t body[256] = {0};
    switch (node->type) {
    case 0:
    case 1:
        for (uint16_t i = 0; i < node->n; i++)
            body[backwards(i, node->type == 0 ? 4 : 8)] = node->bytes[i];
        return tl_buf_append(out, body, node->type == 0 ? 4 : 16);
    case 2:
        memset(body, 0xff, sizeof body);
        for (uint16_t i = 0; i < node->n; i++)
            body[backwards(node->bytes[i], 8)] = node->slots[i];
        return tl_buf_append(out, body, sizeof body);
    default:
        for (uint16_t i = 0; i < node->n; i++)
            tl_bit_set(body, node->bytes[i]);
        return tl_buf_append(out, body, 32);
    }
}

static tl_status write_tree(const bitmap64 *bm, uint32_t number, tl_buf *out)
{
    const art_node *node = &bm->nodes[number];
    TL_TRY(tl_buf_append_byte(out, node->type));
    TL_TRY(append_le(out, node->n, 2));
    TL_TRY(tl_buf_append_byte(out, node->prefix_len));
    if (node->type == NODE_LEAF) {
        TL_TRY(tl_buf_append(out, node->key, KEY_BYTES));
        return append_le(out, node->box, 8);
    }
    TL_TRY(tl_buf_append(out, node->prefix, node->prefix_len));
    TL_TRY(write_body(node, out));
    for (uint16_t i = 0; i < node->n; i++)
        TL_TRY(write_tree(bm, node->children[i], out));
    return TL_OK;
}

static tl_status write_bitmap(const bitmap64 *bm, tl_buf *out)
{
    TL_TRY(tl_buf_append_byte(out, bm->root != NO_CHILD));
    if (bm->root == NO_CHILD)
        return TL_OK;
    TL_TRY(append_le(out, bm->n_keys, 8));
    TL_TRY(write_tree(bm, bm->root, out));
    TL_TRY(append_le(out, 1, 4));
    TL_TRY(tl_buf_append_byte(out, ARRAY_MARK));
    TL_TRY(append_le(out, bm->n_boxes, 4));
    for (uint32_t i = 0; i < bm->n_boxes; i++) {
        const tl_roaring_box *box = &bm->boxes[i];
        TL_TRY(tl_buf_append_byte(out, box->card > 0));
        if (box->card == 0)
            continue;
        TL_TRY(tl_buf_append_byte(out, (uint8_t)box->form));
        TL_TRY(append_le(out, box->card, 4));
        TL_TRY(tl_buf_append(out, box->data, box->bytes));
    }
    TL_TRY(append_le(out, bm->n_used, 8));
    TL_TRY(append_le(out, 0, 4));
    return append_le(out, bm->last_box, 4);
}

static tl_status union_in(const work *w, tl_bytes_view a, tl_bytes_view b, tl_buf *out)
{
    bitmap64 x, y;
    TL_TRY(read_bitmap(w, a, &x));
    TL_TRY(read_bitmap(w, b, &y));
    if (y.root != NO_CHILD)
        TL_TRY(put_tree(w, &x, &y, y.root));
    for (uint32_t i = 0; i < x.n_boxes; i++)
        if (x.boxes[i].card > 0)
            TL_TRY(tl_roaring_box_optimize(&x.boxes[i], /* only_to_runs= */ true, w->arena, w->err));
    return write_bitmap(&x, out) == TL_OK ? TL_OK : tl_nomem(w->err, "roaring bitmap");
}

tl_status tl_merge__rbm64_union(tl_bytes_view a, tl_bytes_view b, tl_buf *out, tl_error *err)
{
    tl_arena arena = {0};
    work w = {&arena, err};
    out->len = 0;
    tl_status status = union_in(&w, a, b, out);
    tl_arena_deinit(&arena);
    return status;
}
