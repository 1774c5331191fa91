/*
 * Texts as numbers of a dictionary (DICTIONARY_V2). The first row group of a stripe is kept as numbers; at its end it is decided
 * whether the stripe has a dictionary: if its words are at most a share of its values, as in the reference
 * (orc.dictionary.key.threshold). Java: org.apache.orc.impl.writer.StringBaseTreeWriter, there once for all stripes. Words keep the
 * order in which they come, so that numbers go out as rows come in.
 */
#include "format/orc/write_private.h"
#include "base/utf8.h"

void tl_orc__words_deinit(tl_orc_words *words)
{
    tl_format__dict_deinit(&words->dict);
    tl_buf_deinit(&words->lengths);
    tl_buf_deinit(&words->in_group);
    tl_buf_deinit(&words->ids);
}

void tl_orc__words_reset(tl_orc_words *words)
{
    if (words->state != TL_ORC_WORDS_NONE || words->dict.count > 0)
        tl_format__dict_reset(&words->dict, 0);
    words->state = words->threshold > 0 ? TL_ORC_WORDS_TRIED : TL_ORC_WORDS_NONE;
    words->lengths.len = words->in_group.len = words->ids.len = 0;
}

/* CHAR is padded with blanks to its length, CHAR and VARCHAR are cut to theirs: in characters. */
tl_status tl_orc__fit_text(tl_orc_wnode *node, tl_bytes_view *v, tl_error *err)
{
    size_t max = (size_t)node->type->length;
    if (node->kind == TL_ORC_STRING || (node->kind == TL_ORC_VARCHAR && v->len <= max))
        return TL_OK;
    size_t n = (size_t)tl_utf8_length(*v), len = 0;
    if (n > max) {
        for (n = 0; len < v->len; len++)
            if ((v->data[len] & 0xc0) != 0x80 && n++ == max)
                break;
        v->len = len;
        return TL_OK;
    }
    if (node->kind == TL_ORC_VARCHAR || n == max)
        return TL_OK;
    node->scratch.len = 0;
    if (tl_buf_append(&node->scratch, v->data, v->len) != TL_OK || tl_buf_reserve(&node->scratch, max - n) != TL_OK)
        return tl_nomem(err, "ORC writer");
    memset(node->scratch.data + v->len, ' ', max - n);
    *v = (tl_bytes_view){node->scratch.data, v->len + max - n};
    return TL_OK;
}

/* What is written for a word. */
static tl_status fitted(tl_orc_wnode *node, uint32_t id, tl_bytes_view *out, tl_error *err)
{
    *out = tl_format__dict_value(&node->words.dict, id);
    return tl_orc__fit_text(node, out, err);
}

/* Lengths of words that are new, and that no row of the group has them yet. */
static tl_status note_new(tl_orc_wnode *node, tl_error *err)
{
    tl_orc_words *words = &node->words;
    tl_bytes_view v;
    for (uint32_t id = (uint32_t)words->in_group.len; id < words->dict.count; id++) {
        TL_TRY(fitted(node, id, &v, err));
        uint32_t len = (uint32_t)v.len;
        if (tl_buf_append(&words->lengths, &len, sizeof len) != TL_OK || tl_buf_append_byte(&words->in_group, 0) != TL_OK)
            return tl_nomem(err, "dictionary");
    }
    return TL_OK;
}

/* Rows of `col` as numbers behind those in words->ids. */
static tl_status number_rows(tl_orc_words *words, const tl_column *col, const uint32_t *rows, int64_t from, int64_t n, tl_error *err)
{
    if (tl_buf_reserve(&words->ids, (size_t)n * sizeof(uint32_t)) != TL_OK)
        return tl_nomem(err, "dictionary");
    uint32_t *ids = (uint32_t *)(void *)(words->ids.data + words->ids.len);
    if (tl_format__dict_ids_bytes(&words->dict, col, rows, from, n, ids) != TL_OK)
        return tl_nomem(err, "dictionary");
    words->ids.len += (size_t)n * sizeof(uint32_t);
    return TL_OK;
}

tl_status tl_orc__words_put(tl_orc_wnode *node, const tl_column *col, const uint32_t *rows, int64_t from, int64_t n, tl_error *err)
{
    tl_orc_words *words = &node->words;
    size_t first = words->ids.len / sizeof(uint32_t);
    TL_TRY(number_rows(words, col, rows, from, n, err));
    TL_TRY(note_new(node, err));
    const uint32_t *ids = (const uint32_t *)(const void *)words->ids.data + first, *lengths = (const uint32_t *)(const void *)words->lengths.data;
    for (int64_t i = 0; i < n; i++) {
        words->in_group.data[ids[i]] = 1;
        node->group.bytes += lengths[ids[i]];
    }
    if (words->state == TL_ORC_WORDS_TRIED)
        return TL_OK;
    for (int64_t i = 0; i < n; i++)
        TL_TRY(tl_orc__ints_put(&node->ints, ids[i], err));
    words->ids.len = 0;
    return TL_OK;
}

static tl_status add_bound(tl_orc_wnode *node, uint32_t id, tl_error *err)
{
    tl_bytes_view v;
    TL_TRY(fitted(node, id, &v, err));
    return tl_orc__bounds_text(&node->group, v) == TL_OK ? TL_OK : tl_nomem(err, "statistics");
}

/* Cutting keeps the order of words, padding does not: "a" and "a\t". */
tl_status tl_orc__words_bounds(tl_orc_wnode *node, tl_error *err)
{
    tl_orc_words *words = &node->words;
    uint8_t *in_group = words->in_group.data;
    uint32_t min, max;
    for (uint32_t id = 0; node->kind == TL_ORC_CHAR && id < words->in_group.len; id++)
        if (in_group[id])
            TL_TRY(add_bound(node, id, err));
    if (node->kind != TL_ORC_CHAR && words->in_group.len > 0 && tl_format__dict_bounds(&words->dict, in_group, &min, &max)) {
        TL_TRY(add_bound(node, min, err));
        TL_TRY(add_bound(node, max, err));
    }
    if (words->in_group.len > 0)
        memset(in_group, 0, words->in_group.len);
    return TL_OK;
}

tl_status tl_orc__words_decide(tl_orc_wnode *node, tl_error *err)
{
    tl_orc_words *words = &node->words;
    const uint32_t *ids = (const uint32_t *)(const void *)words->ids.data;
    size_t n = words->ids.len / sizeof *ids;
    bool pays = n > 0 && (double)words->dict.count <= words->threshold * (double)n;
    tl_bytes_view v;
    words->state = pays ? TL_ORC_WORDS_USED : TL_ORC_WORDS_NONE;
    tl_orc__wnode_restart_group(node);
    for (size_t i = 0; i < n; i++) {
        if (pays) {
            TL_TRY(tl_orc__ints_put(&node->ints, ids[i], err));
        } else {
            TL_TRY(fitted(node, ids[i], &v, err));
            TL_TRY(tl_orc__out_put(&node->data, v.data, v.len, err));
            TL_TRY(tl_orc__ints_put(&node->lengths, (int64_t)v.len, err));
        }
    }
    words->ids.len = 0;
    return TL_OK;
}

tl_status tl_orc__words_flush(tl_orc_wnode *node, tl_error *err)
{
    tl_bytes_view v;
    for (uint32_t id = 0; id < node->words.dict.count; id++) {
        TL_TRY(fitted(node, id, &v, err));
        TL_TRY(tl_orc__out_put(&node->data, v.data, v.len, err));
        TL_TRY(tl_orc__ints_put(&node->lengths, (int64_t)v.len, err));
    }
    return TL_OK;
}
