/*
 * Asking the indexes of a data file which rows can pass a filter (file_index.h has the layout).
 *
 * A filter is taken apart as everywhere: NOT is pushed to the leaves, where it turns an operator into its opposite. A leaf becomes
 * questions that the kinds know (tl_findex__ask); each index of its column answers, and the answers are met. What no index knows
 * counts as "all rows". The filter is applied to the rows once more when they are read, so that an answer may have more rows than
 * pass, never fewer. An index of a kind or for a type that is not known here says nothing.
 */
#include "index/file_index_private.h"

#include <stdatomic.h>

#define MAGIC INT64_C(1493475289347502)
#define HEAD_BYTES_MAX (64 << 20)
/* Rows of the answer that are closer than this are read as one range: skipping so few costs more than reading them. */
#define GAP_ROWS 15

static struct {
    _Atomic uint64_t files_asked, files_skipped, files_cut, rows_cut;
} counters;

tl_file_index_counters tl_file_index_count(void)
{
    return (tl_file_index_counters){atomic_load(&counters.files_asked), atomic_load(&counters.files_skipped), atomic_load(&counters.files_cut),
                                    atomic_load(&counters.rows_cut)};
}

/* ---- the container ---- */

/* One index of one column. */
typedef struct entry {
    tl_bytes_view column; /* modified UTF-8 */
    tl_bytes_view kind;
    int32_t start; /* -1: nothing was indexed */
    int32_t bytes;
    tl_findex__reader *reader; /* NULL: not opened yet */
} entry;

typedef struct container {
    tl_findex__input in;
    const tl_type *row_type;
    int64_t rows;
    entry *entries;
    size_t n, cap;
} container;

static tl_status take_utf(tl_findex__cursor *c, tl_bytes_view *out, tl_error *err)
{
    const uint8_t *p = NULL;
    TL_TRY(tl_findex__take(c, 2, &p, err));
    size_t bytes = tl_read_be16(p);
    TL_TRY(tl_findex__take(c, (int64_t)bytes, &p, err));
    *out = (tl_bytes_view){p, bytes};
    return TL_OK;
}

static tl_status add_entry(container *box, const entry *e, tl_error *err)
{
    if (box->n == box->cap) {
        size_t cap = box->cap == 0 ? 8 : box->cap * 2;
        entry *entries = tl_arena_alloc(box->in.arena, cap * sizeof *entries);
        if (entries == NULL)
            return tl_nomem(err, "file index");
        if (box->n > 0)
            memcpy(entries, box->entries, box->n * sizeof *entries);
        box->entries = entries;
        box->cap = cap;
    }
    box->entries[box->n++] = *e;
    return TL_OK;
}

static tl_status read_columns(container *box, tl_findex__cursor *c, tl_error *err)
{
    int32_t n_columns = 0, n_indexes = 0;
    TL_TRY(tl_findex__take_count(c, c->in->bytes / 6, "number of columns", &n_columns, err));
    for (int32_t i = 0; i < n_columns; i++) {
        entry e = {.start = -1};
        TL_TRY(take_utf(c, &e.column, err));
        TL_TRY(tl_findex__take_count(c, c->in->bytes / 10, "number of indexes", &n_indexes, err));
        for (int32_t k = 0; k < n_indexes; k++) {
            TL_TRY(take_utf(c, &e.kind, err));
            TL_TRY(tl_findex__take_i32(c, &e.start, err));
            TL_TRY(tl_findex__take_count(c, INT32_MAX, "size of an index", &e.bytes, err));
            TL_TRY(add_entry(box, &e, err));
        }
    }
    return TL_OK;
}

static tl_status read_head(container *box, tl_error *err)
{
    tl_findex__cursor c = tl_findex__cursor_at(&box->in, 0);
    tl_findex__input head;
    const uint8_t *p = NULL;
    TL_TRY(tl_findex__take(&c, 16, &p, err));
    if ((int64_t)tl_read_be64(p) != MAGIC)
        return tl_error_set(err, TL_E_CORRUPT, "byte 0: this is no file index");
    if (tl_read_be32(p + 8) != 1)
        return tl_error_set(err, TL_E_UNSUPPORTED, "version %u is not known", tl_read_be32(p + 8));
    int64_t bytes = tl_read_be32(p + 12);
    if (bytes < 20 || bytes > TL_MIN(box->in.bytes, HEAD_BYTES_MAX))
        return tl_error_set(err, TL_E_CORRUPT, "byte 12: a head of %lld bytes in %lld", (long long)bytes, (long long)box->in.bytes);
    TL_TRY(tl_findex__part(&box->in, 0, bytes, &head, err));
    c = tl_findex__cursor_at(&head, 16);
    return read_columns(box, &c, err);
}

tl_status tl_findex__utf_name(const char *name, tl_buf *out)
{
    const uint8_t *p = (const uint8_t *)name;
    size_t left = strlen(name);
    while (left > 0) {
        if (p[0] < 0xf0 || left < 4) {
            TL_TRY(tl_buf_append_byte(out, p[0]));
            p++;
            left--;
            continue;
        }
        uint32_t point = (p[0] & 7u) << 18 | (p[1] & 0x3fu) << 12 | (p[2] & 0x3fu) << 6 | (p[3] & 0x3fu);
        for (int half = 0; half < 2; half++) {
            uint32_t unit = half == 0 ? 0xd800 + ((point - 0x10000) >> 10) : 0xdc00 + ((point - 0x10000) & 0x3ff);
            const uint8_t bytes[3] = {(uint8_t)(0xe0 | unit >> 12), (uint8_t)(0x80 | (unit >> 6 & 0x3f)), (uint8_t)(0x80 | (unit & 0x3f))};
            TL_TRY(tl_buf_append(out, bytes, sizeof bytes));
        }
        p += 4;
        left -= 4;
    }
    return TL_OK;
}

const tl_findex__kind *tl_findex__kind_of(tl_bytes_view name)
{
    static const tl_findex__kind *const kinds[] = {&tl_findex__bloom_filter, &tl_findex__bitmap, &tl_findex__bsi, &tl_findex__range_bitmap};
    for (size_t i = 0; i < TL_ARRAY_LEN(kinds); i++) {
        if (tl_bytes_equal(name, (tl_bytes_view){(const uint8_t *)kinds[i]->name, strlen(kinds[i]->name)}))
            return kinds[i];
    }
    return NULL;
}

/* ---- answers ---- */

static void answer_deinit(tl_findex__answer *answer)
{
    tl_row_set_deinit(&answer->rows);
    answer->verdict = TL_INDEX_ALL;
}

static void answer_set(tl_findex__answer *answer, tl_file_index_verdict verdict)
{
    answer_deinit(answer);
    answer->verdict = verdict;
}

tl_status tl_findex__some(const tl_findex__reader *reader, tl_findex__answer *out, tl_error *err)
{
    TL_TRY(tl_row_set_init(&out->rows, reader->rows, /* all= */ false, err));
    out->verdict = TL_INDEX_SOME;
    return TL_OK;
}

/* What both let pass (or either one). Takes `other` over. */
static void meet(tl_findex__answer *answer, tl_findex__answer *other, bool is_and)
{
    tl_file_index_verdict neutral = is_and ? TL_INDEX_ALL : TL_INDEX_NONE, strong = is_and ? TL_INDEX_NONE : TL_INDEX_ALL;
    if (answer->verdict == strong || other->verdict == strong) {
        answer_set(answer, strong);
    } else if (answer->verdict == neutral) {
        answer_deinit(answer);
        *answer = *other;
        *other = (tl_findex__answer){TL_INDEX_ALL, {0, NULL}};
    } else if (other->verdict != neutral) {
        (is_and ? tl_row_set_and : tl_row_set_or)(&answer->rows, &other->rows);
    }
    answer_deinit(other);
}

/* ---- questions ---- */

/* A leaf as questions; their answers are united. */
typedef struct questions {
    tl_findex__ask items[2];
    int32_t n; /* 0: there is no question for it */
} questions;

static void ask_range(questions *q, const tl_findex__type *type, tl_findex__value low, bool has_low, bool low_open, tl_findex__value high,
                      bool has_high, bool high_open)
{
    /* Where values are cut, one that is above a bound may look like it. */
    q->items[q->n++] = (tl_findex__ask){.op = TL_FINDEX__RANGE,
                                        .has_low = has_low,
                                        .low_open = low_open && !type->coarse,
                                        .low = low,
                                        .has_high = has_high,
                                        .high_open = high_open && !type->coarse,
                                        .high = high};
}

static tl_pred_op opposite(tl_pred_op op)
{
    static const struct {
        tl_pred_op a, b;
    } pairs[] = {{TL_PRED_EQ, TL_PRED_NE}, {TL_PRED_LT, TL_PRED_GE}, {TL_PRED_LE, TL_PRED_GT}, {TL_PRED_IN, TL_PRED_NOT_IN},
                 {TL_PRED_IS_NULL, TL_PRED_IS_NOT_NULL}};
    for (size_t i = 0; i < TL_ARRAY_LEN(pairs); i++) {
        if (op == pairs[i].a || op == pairs[i].b)
            return op == pairs[i].a ? pairs[i].b : pairs[i].a;
    }
    return TL_PRED_TRUE; /* no question */
}

/* `values`: the literals, none of which is NULL. */
static void make_questions(const tl_predicate *leaf, bool want, const tl_findex__type *type, const tl_findex__value *values, int64_t n,
                           questions *q)
{
    const tl_findex__value none = {0, {NULL, 0}};
    bool is_between = leaf->op == TL_PRED_BETWEEN;
    tl_pred_op op = want || is_between ? leaf->op : opposite(leaf->op);
    switch (op) {
    case TL_PRED_EQ:
    case TL_PRED_IN:
        q->items[q->n++] = (tl_findex__ask){.op = TL_FINDEX__IN, .values = values, .n_values = n};
        break;
    case TL_PRED_NE:
    case TL_PRED_NOT_IN:
        q->items[q->n++] = type->coarse ? (tl_findex__ask){.op = TL_FINDEX__NOT_NULL}
                                        : (tl_findex__ask){.op = TL_FINDEX__NOT_IN, .values = values, .n_values = n};
        break;
    case TL_PRED_LT:
    case TL_PRED_LE:
        ask_range(q, type, none, false, false, values[0], true, op == TL_PRED_LT);
        break;
    case TL_PRED_GT:
    case TL_PRED_GE:
        ask_range(q, type, values[0], true, op == TL_PRED_GT, none, false, false);
        break;
    case TL_PRED_BETWEEN:
        if (want) {
            ask_range(q, type, values[0], true, false, values[1], true, false);
            break;
        }
        ask_range(q, type, none, false, false, values[0], true, true);
        ask_range(q, type, values[1], true, true, none, false, false);
        break;
    case TL_PRED_IS_NULL:
        q->items[q->n++] = (tl_findex__ask){.op = TL_FINDEX__NULL};
        break;
    case TL_PRED_IS_NOT_NULL:
        q->items[q->n++] = (tl_findex__ask){.op = TL_FINDEX__NOT_NULL};
        break;
    default:
        break;
    }
}

/* The literals as values; *n is -1 where one is NULL or has more than 64 bits: there is no question then. */
static tl_status literal_values(const tl_predicate *leaf, const tl_findex__type *type, tl_arena *arena, tl_findex__value **out, int64_t *n,
                                tl_error *err)
{
    *n = leaf->literals == NULL ? 0 : leaf->literals->length;
    *out = tl_arena_alloc(arena, ((size_t)*n + 1) * sizeof **out);
    if (*out == NULL)
        return tl_nomem(err, "file index");
    for (int64_t i = 0; i < *n; i++) {
        if (tl_col_is_null(leaf->literals, i) || !tl_findex__value_at(type, leaf->literals, i, &(*out)[i]))
            *n = -1;
    }
    return TL_OK;
}

/* ---- one leaf ---- */

static tl_status open_reader(container *box, entry *e, const tl_findex__kind *kind, const tl_findex__type *type, tl_error *err)
{
    if (e->reader != NULL)
        return TL_OK;
    tl_findex__reader *reader = tl_arena_calloc(box->in.arena, 1, kind->reader_bytes);
    if (reader == NULL)
        return tl_nomem(err, "file index");
    *reader = (tl_findex__reader){.kind = kind, .type = *type, .rows = box->rows};
    TL_TRY(tl_findex__part(&box->in, e->start, e->bytes, &reader->in, err));
    TL_TRY(kind->open(reader, err));
    e->reader = reader;
    return TL_OK;
}

/* Nothing was indexed: the file had no rows. */
static void answer_empty(const questions *q, tl_findex__answer *out)
{
    bool is_none = q->n > 0;
    for (int32_t i = 0; i < q->n; i++)
        is_none = is_none && (q->items[i].op == TL_FINDEX__IN || q->items[i].op == TL_FINDEX__RANGE || q->items[i].op == TL_FINDEX__NOT_NULL);
    out->verdict = is_none ? TL_INDEX_NONE : TL_INDEX_ALL;
}

static tl_status ask_entry(container *box, entry *e, const questions *q, const tl_findex__type *type, tl_findex__answer *out, tl_error *err)
{
    const tl_findex__kind *kind = tl_findex__kind_of(e->kind);
    const char *why = NULL;
    if (kind == NULL || !kind->holds(type->type, &why))
        return TL_OK;
    if (e->start == -1) {
        answer_empty(q, out);
        return TL_OK;
    }
    TL_TRY(open_reader(box, e, kind, type, err));
    out->verdict = TL_INDEX_NONE;
    for (int32_t i = 0; i < q->n; i++) {
        tl_findex__answer one = {TL_INDEX_ALL, {0, NULL}};
        tl_status status = kind->answer(e->reader, &q->items[i], &one, err);
        if (status != TL_OK) {
            answer_deinit(&one);
            return status;
        }
        meet(out, &one, /* is_and= */ false);
    }
    return TL_OK;
}

/* A column named as an index names values of a map: it has no index, and must not be given that one. */
static bool looks_like_value(const tl_field *field)
{
    return field->id != TL_FILE_INDEX_MAP_VALUE && strchr(field->name, '[') != NULL && field->name[strlen(field->name) - 1] == ']';
}

static tl_status ask_leaf(container *box, const tl_predicate *leaf, bool want, tl_findex__answer *out, tl_error *err)
{
    const tl_field *field = &box->row_type->fields[leaf->column];
    tl_findex__type type;
    tl_findex__value *values = NULL;
    questions q = {.n = 0};
    int64_t n = 0;
    if (!tl_findex__type_of(field->type, &type) || looks_like_value(field))
        return TL_OK;
    TL_TRY(literal_values(leaf, &type, box->in.arena, &values, &n, err));
    if (n >= 0)
        make_questions(leaf, want, &type, values, n, &q);
    if (q.n == 0)
        return TL_OK;
    TL_CLEANUP(tl_buf_deinit) tl_buf name = {0};
    if (tl_findex__utf_name(field->name, &name) != TL_OK)
        return tl_nomem(err, "file index");
    for (size_t i = 0; i < box->n && out->verdict != TL_INDEX_NONE; i++) {
        entry *e = &box->entries[i];
        tl_findex__answer one = {TL_INDEX_ALL, {0, NULL}};
        if (!tl_bytes_equal(e->column, (tl_bytes_view){name.data, name.len}))
            continue;
        tl_status status = ask_entry(box, e, &q, &type, &one, err);
        if (status != TL_OK) {
            answer_deinit(&one);
            return tl_error_wrap(err, status, "%.*s of column '%s'", (int)TL_MIN(e->kind.len, 100), (const char *)e->kind.data, field->name);
        }
        meet(out, &one, /* is_and= */ true);
    }
    return TL_OK;
}

/* ---- the tree ---- */

/* Rows on which the predicate is TRUE, or FALSE if that is wanted. *out comes as TL_INDEX_ALL. */
static tl_status ask_node(container *box, const tl_predicate *pred, bool want, tl_findex__answer *out, tl_error *err)
{
    switch (pred->op) {
    case TL_PRED_TRUE:
    case TL_PRED_FALSE:
        out->verdict = (pred->op == TL_PRED_TRUE) == want ? TL_INDEX_ALL : TL_INDEX_NONE;
        return TL_OK;
    case TL_PRED_NOT:
        return ask_node(box, pred->children[0], !want, out, err);
    case TL_PRED_AND:
    case TL_PRED_OR: {
        bool is_and = (pred->op == TL_PRED_AND) == want;
        out->verdict = is_and ? TL_INDEX_ALL : TL_INDEX_NONE;
        for (int32_t i = 0; i < pred->n_children && out->verdict != (is_and ? TL_INDEX_NONE : TL_INDEX_ALL); i++) {
            tl_findex__answer one = {TL_INDEX_ALL, {0, NULL}};
            tl_status status = ask_node(box, pred->children[i], want, &one, err);
            if (status != TL_OK) {
                answer_deinit(&one);
                return status;
            }
            meet(out, &one, is_and);
        }
        return TL_OK;
    }
    default:
        return ask_leaf(box, pred, want, out, err);
    }
}

/* ---- the call ---- */

static tl_status open_place(const tl_file_index_place *place, tl_findex__input *in, tl_error *err)
{
    in->memory = place->bytes;
    in->bytes = (int64_t)place->bytes.len;
    if (place->bytes.data != NULL)
        return TL_OK;
    TL_TRY(tl_fs_open_read(place->fs, place->path, &in->file, err));
    in->memory.data = tl_file_map(in->file, &in->bytes);
    if (in->memory.data == NULL)
        return tl_file_size(in->file, &in->bytes, err);
    in->memory.len = (size_t)in->bytes;
    return TL_OK;
}

static tl_status finish_answer(tl_findex__answer *answer, int64_t rows, tl_file_index_verdict *verdict, tl_row_ranges *out, tl_error *err)
{
    int64_t n = answer->verdict == TL_INDEX_SOME ? tl_row_set_count(&answer->rows) : answer->verdict == TL_INDEX_NONE ? 0 : rows;
    *verdict = n == rows && rows > 0 ? TL_INDEX_ALL : n == 0 ? TL_INDEX_NONE : TL_INDEX_SOME;
    if (*verdict == TL_INDEX_SOME)
        TL_TRY(tl_row_set_ranges(&answer->rows, GAP_ROWS, out, err));
    atomic_fetch_add(&counters.files_asked, 1);
    atomic_fetch_add(&counters.files_skipped, *verdict == TL_INDEX_NONE);
    atomic_fetch_add(&counters.files_cut, *verdict == TL_INDEX_SOME);
    int64_t kept = 0;
    for (size_t i = 0; i < out->n; i++)
        kept += out->items[i].to - out->items[i].from;
    atomic_fetch_add(&counters.rows_cut, *verdict == TL_INDEX_SOME ? (uint64_t)(rows - kept) : 0);
    return TL_OK;
}

tl_status tl_file_index_ask(const tl_file_index_place *place, const tl_predicate *pred, const tl_type *row_type, int64_t rows,
                            tl_file_index_verdict *verdict, tl_row_ranges *out, tl_error *err)
{
    tl_arena arena = {0};
    container box = {.in = {.arena = &arena}, .row_type = row_type, .rows = rows};
    tl_findex__answer answer = {TL_INDEX_ALL, {0, NULL}};
    *out = (tl_row_ranges){NULL, 0};
    tl_status status = open_place(place, &box.in, err);
    if (status == TL_OK)
        status = read_head(&box, err);
    if (status == TL_OK)
        status = ask_node(&box, pred, /* want= */ true, &answer, err);
    if (status == TL_OK)
        status = finish_answer(&answer, rows, verdict, out, err);
    answer_deinit(&answer);
    if (box.in.file != NULL)
        (void)tl_file_close(box.in.file, NULL); /* was only read */
    tl_arena_deinit(&arena);
    return place->bytes.data != NULL ? tl_error_wrap(err, status, "embedded file index")
                                     : tl_error_wrap(err, status, "file index '%s'", tl_path_base(place->path));
}
