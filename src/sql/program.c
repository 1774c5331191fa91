/*
 * Programs: bound expressions, compiled to a list of nodes without duplicates and run over whole batches.
 *
 * A run has frames: the root sees all rows of the batch, a frame below it some of them. AND, OR, CASE and COALESCE open frames
 * for operands that can fail or are slow, so that `CASE WHEN x <> 0 THEN 1 / x END` divides only where it may; all others are
 * computed for all rows, which is quicker than to pick them. Within a frame a node is computed once; a frame takes what its
 * parent has computed already by gathering it.
 */
#include "sql/bind.h"

typedef struct node {
    tl_expr_kind kind;
    const tl_type *type; /* ref held */
    const tl_sql_function *fn;
    int32_t column;
    tl_column *literal; /* ref held */
    int32_t *args;
    int32_t n_args;
    bool is_try;
    bool can_fail; /* here or below */
    bool slow;
    bool is_volatile;
    void *aux;
} node;

struct tl_sql_program {
    node *nodes;
    int32_t n_nodes, cap;
    int32_t filter; /* -1: none */
    int32_t *outputs;
    int32_t n_outputs;
    const tl_type *input;
    const tl_type *output;
    bool wants_watermark;
    tl_sql_env env;
};

/* ---- compiling ---- */

void tl_sql_program_free(tl_sql_program *program)
{
    if (program == NULL)
        return;
    for (int32_t i = 0; i < program->n_nodes; i++) {
        node *x = &program->nodes[i];
        if (x->aux != NULL && x->fn != NULL && x->fn->release != NULL)
            x->fn->release(x->aux);
        tl_type_unref(x->type);
        tl_column_unref(x->literal);
        tl_free(x->args);
    }
    tl_free(program->nodes);
    tl_free(program->outputs);
    tl_type_unref(program->input);
    tl_type_unref(program->output);
    tl_free(program);
}

static bool same_node(const node *a, const node *b)
{
    if (a->kind != b->kind || a->fn != b->fn || a->column != b->column || a->is_try != b->is_try || a->n_args != b->n_args || a->is_volatile || b->is_volatile)
        return false;
    if (a->n_args > 0 && memcmp(a->args, b->args, (size_t)a->n_args * sizeof *a->args) != 0)
        return false;
    if (!tl_type_equal(a->type, b->type, /* with_nullable= */ false) || tl_sql__is_interval(a->type) != tl_sql__is_interval(b->type))
        return false;
    return a->kind != TL_EXPR_LITERAL || tl_column_equal(a->literal, 0, b->literal, 0);
}

/** Add a node (its args array is taken over), or find the same one. */
static tl_status add_node(tl_sql_program *p, node x, int32_t *out, tl_error *err)
{
    for (int32_t i = 0; i < p->n_nodes; i++)
        if (same_node(&p->nodes[i], &x)) {
            tl_free(x.args);
            *out = i;
            return TL_OK;
        }
    if (p->n_nodes == p->cap) {
        int32_t cap = p->cap == 0 ? 32 : p->cap * 2;
        node *grown = tl_realloc(p->nodes, (size_t)cap * sizeof *grown);
        if (grown == NULL) {
            tl_free(x.args);
            return tl_nomem(err, "expression");
        }
        p->nodes = grown;
        p->cap = cap;
    }
    x.type = tl_type_ref(x.type);
    x.literal = x.literal != NULL ? tl_column_ref(x.literal) : NULL;
    p->nodes[p->n_nodes] = x;
    *out = p->n_nodes++;
    return TL_OK;
}

static tl_status prepare_call(tl_sql_program *p, node *x, tl_error *err)
{
    if (x->fn->prepare == NULL)
        return TL_OK;
    const tl_column **constants = tl_calloc((size_t)x->n_args + 1, sizeof *constants);
    if (constants == NULL)
        return tl_nomem(err, "expression");
    for (int32_t i = 0; i < x->n_args; i++)
        if (p->nodes[x->args[i]].kind == TL_EXPR_LITERAL)
            constants[i] = p->nodes[x->args[i]].literal;
    tl_status status = x->fn->prepare(x->fn, x->type, constants, x->n_args, &x->aux, err);
    tl_free(constants);
    return status;
}

static tl_status compile(tl_sql_program *p, const tl_expr *e, int32_t *out, tl_error *err)
{
    if (e->kind == TL_EXPR_SUBQUERY || e->kind == TL_EXPR_OUTER || (int)e->kind >= TL_EXPR__AGG)
        return tl_error_set(err, TL_E_UNSUPPORTED, "line %d:%d: a subquery cannot be evaluated row by row", (int)e->line, (int)e->position);
    if (e->kind == TL_EXPR_COLUMN && (e->column < 0 || e->column >= p->input->n_fields))
        return tl_error_set(err, TL_E_INTERNAL, "line %d:%d: the expression names column %d of %d", (int)e->line, (int)e->position, (int)e->column,
                            (int)p->input->n_fields);
    p->wants_watermark = p->wants_watermark || e->kind == TL_EXPR_WATERMARK;
    node x = {.kind = e->kind, .type = e->type, .fn = e->fn, .column = e->column, .literal = e->literal, .n_args = e->n_args, .is_try = e->is_try};
    if (e->n_args > 0 && (x.args = tl_calloc((size_t)e->n_args, sizeof *x.args)) == NULL)
        return tl_nomem(err, "expression");
    for (int32_t i = 0; i < e->n_args; i++) {
        tl_status status = compile(p, e->args[i], &x.args[i], err);
        if (status != TL_OK) {
            tl_free(x.args);
            return status;
        }
        const node *arg = &p->nodes[x.args[i]];
        x.can_fail = x.can_fail || arg->can_fail;
        x.slow = x.slow || arg->slow;
        x.is_volatile = x.is_volatile || arg->is_volatile;
    }
    if (e->kind == TL_EXPR_CAST) {
        x.can_fail = x.can_fail || !e->is_try;
        x.slow = x.slow || tl_type_phys(e->type) == TL_PHYS_BYTES || tl_type_phys(e->args[0]->type) == TL_PHYS_BYTES;
        if (!tl_sql__is_text(e->args[0]->type) && e->type->n_fields == 0)
            x.can_fail = p->nodes[x.args[0]].can_fail;
    } else if (e->kind == TL_EXPR_CALL) {
        x.can_fail = x.can_fail || (e->fn->flags & TL_FN_CAN_FAIL) != 0;
        x.slow = x.slow || (e->fn->flags & TL_FN_SLOW) != 0;
        x.is_volatile = x.is_volatile || (e->fn->flags & TL_FN_VOLATILE) != 0;
    }
    int32_t before = p->n_nodes;
    TL_TRY(add_node(p, x, out, err));
    if (e->kind == TL_EXPR_CALL && p->n_nodes > before)
        TL_TRY(tl_error_wrap(err, prepare_call(p, &p->nodes[*out], err), "line %d:%d", (int)e->line, (int)e->position));
    return TL_OK;
}

tl_status tl_sql_program_create(const tl_sql_env *env, const tl_type *input, const tl_expr *filter, const tl_expr *const *exprs, int32_t n,
                                const tl_type *output, tl_sql_program **out, tl_error *err)
{
    TL_CLEANUP(tl_sql_program_freep) tl_sql_program *p = tl_calloc(1, sizeof *p);
    if (p == NULL)
        return tl_nomem(err, "expression");
    if (output->n_fields != n)
        return tl_error_set(err, TL_E_INTERNAL, "a program of %d expressions cannot give %d columns", (int)n, (int)output->n_fields);
    p->env = env != NULL ? *env : (tl_sql_env){0};
    if (p->env.clock == NULL)
        p->env.clock = tl_clock_system();
    p->input = tl_type_ref(input);
    p->output = tl_type_ref(output);
    p->filter = -1;
    p->outputs = tl_calloc((size_t)n + 1, sizeof *p->outputs);
    if (p->outputs == NULL)
        return tl_nomem(err, "expression");
    if (filter != NULL)
        TL_TRY(compile(p, filter, &p->filter, err));
    for (int32_t i = 0; i < n; i++) {
        TL_TRY(compile(p, exprs[i], &p->outputs[i], err));
        p->n_outputs = i + 1;
        if (tl_type_phys(exprs[i]->type) != tl_type_phys(output->fields[i].type))
            return tl_error_set(err, TL_E_INTERNAL, "column '%s' of a program has another layout than its expression", output->fields[i].name);
    }
    *out = TL_STEAL(p);
    return TL_OK;
}

/* ---- running ---- */

typedef struct frame frame;
struct frame {
    const tl_sql_program *p;
    const tl_batch *in; /* of the root */
    int64_t n;
    frame *parent;
    const uint32_t *sel; /* rows of the parent */
    tl_vec *memo;        /* per node; refs held where step is 1 or `owned` */
    int64_t now_ms;
    tl_error *err;
};

static tl_status frame_init(frame *f, const tl_sql_program *p, tl_error *err)
{
    f->p = p;
    f->err = err;
    f->memo = tl_calloc((size_t)p->n_nodes + 1, sizeof *f->memo);
    return f->memo != NULL ? TL_OK : tl_nomem(err, "batch");
}

static void frame_deinit(frame *f)
{
    for (int32_t i = 0; f->memo != NULL && i < f->p->n_nodes; i++)
        tl_column_unref((tl_column *)(uintptr_t)f->memo[i].col);
    tl_free(f->memo);
    f->memo = NULL;
}

static tl_status eval(frame *f, int32_t id, tl_vec *out);

/** Open a frame over some rows. */
static tl_status sub_frame(frame *parent, const uint32_t *sel, int64_t n, frame *out)
{
    *out = (frame){.in = parent->in, .n = n, .parent = parent, .sel = sel, .now_ms = parent->now_ms};
    return frame_init(out, parent->p, parent->err);
}

static tl_status gather(frame *f, const tl_vec *from, tl_vec *out)
{
    if (from->step == 0) {
        *out = (tl_vec){tl_column_ref(from->col), 0};
        return TL_OK;
    }
    tl_column *col;
    TL_TRY(tl_column_gather(from->col, f->sel, f->n, &col, f->err));
    *out = (tl_vec){col, 1};
    return TL_OK;
}

/* ---- AND, OR ---- */

static bool worth_picking(const node *x, int64_t n_rows, int64_t n_needed)
{
    return (x->can_fail && n_needed < n_rows) || (x->slow && n_needed < n_rows - n_rows / 4);
}

enum { IS_FALSE, IS_TRUE, IS_NULL };

static uint8_t truth(const tl_vec *v, int64_t i)
{
    return tl_vec_is_null(v, i) ? IS_NULL : TL_VEC(v, uint8_t, i);
}

/** state := state AND/OR operand, for rows 0..n of the operand; `sel` (NULL: all) says which rows of `state` they are. */
static void combine(uint8_t *state, const tl_vec *v, int64_t n, const uint32_t *sel, bool is_and)
{
    uint8_t decided = is_and ? IS_FALSE : IS_TRUE;
    if (v->step == 1 && v->col->validity == NULL && sel == NULL) {
        const uint8_t *values = v->col->values;
        for (int64_t i = 0; i < n; i++)
            state[i] = state[i] == decided || values[i] == decided ? decided : state[i];
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        uint8_t *s = &state[sel != NULL ? sel[i] : i], t = truth(v, i);
        *s = *s == decided || t == decided ? decided : *s == IS_NULL || t == IS_NULL ? IS_NULL : t;
    }
}

static tl_status bool_column(frame *f, const tl_type *type, const uint8_t *state, tl_vec *out)
{
    tl_column *col;
    TL_TRY(tl_column_alloc(type, f->n, &col, f->err));
    uint8_t *values = col->values;
    int64_t nulls = 0;
    for (int64_t i = 0; i < f->n; i++) {
        values[i] = state[i] == IS_TRUE;
        nulls += state[i] == IS_NULL;
    }
    if (nulls > 0) {
        col->validity = tl_calloc(tl_bitmap_bytes(f->n), 1);
        if (col->validity == NULL) {
            tl_column_unref(col);
            return tl_nomem(f->err, "batch");
        }
        for (int64_t i = 0; i < f->n; i++)
            if (state[i] != IS_NULL)
                tl_bit_set(col->validity, i);
        col->null_count = nulls;
    }
    *out = (tl_vec){col, 1};
    return TL_OK;
}

static tl_status eval_logic_rows(frame *f, const node *x, uint8_t *state, uint32_t *sel)
{
    bool is_and = x->kind == TL_EXPR_AND;
    uint8_t decided = is_and ? IS_FALSE : IS_TRUE;
    memset(state, is_and ? IS_TRUE : IS_FALSE, (size_t)f->n);
    for (int32_t a = 0; a < x->n_args; a++) {
        const node *arg = &f->p->nodes[x->args[a]];
        tl_vec v;
        int64_t n = f->n;
        if (a > 0 && (arg->can_fail || arg->slow)) {
            n = 0;
            for (int64_t i = 0; i < f->n; i++) {
                sel[n] = (uint32_t)i;
                n += state[i] != decided;
            }
            if (n == 0)
                return TL_OK;
        }
        if (!worth_picking(arg, f->n, n)) {
            TL_TRY(eval(f, x->args[a], &v));
            combine(state, &v, f->n, NULL, is_and);
            continue;
        }
        frame inner;
        tl_status status = sub_frame(f, sel, n, &inner);
        if (status == TL_OK)
            status = eval(&inner, x->args[a], &v);
        if (status == TL_OK)
            combine(state, &v, n, sel, is_and);
        frame_deinit(&inner);
        TL_TRY(status);
    }
    return TL_OK;
}

static tl_status eval_logic(frame *f, const node *x, tl_vec *out)
{
    TL_CLEANUP(tl_freep) uint8_t *state = tl_alloc((size_t)f->n + 1);
    TL_CLEANUP(tl_freep) uint32_t *sel = tl_alloc((size_t)(f->n + 1) * sizeof *sel);
    if (state == NULL || sel == NULL)
        return tl_nomem(f->err, "batch");
    TL_TRY(eval_logic_rows(f, x, state, sel));
    return bool_column(f, x->type, state, out);
}

/* ---- CASE, COALESCE ---- */

/** Values that the result is put together from. */
typedef struct choices {
    const tl_column **cols;
    tl_column **owned; /* of values that were computed for some rows */
    int32_t n;
    tl_rowref *refs;
} choices;

static void choices_deinit(choices *c)
{
    for (int32_t i = 0; c->owned != NULL && i < c->n; i++)
        tl_column_unref(c->owned[i]);
    tl_free(c->cols);
    tl_free(c->owned);
    tl_free(c->refs);
}

static tl_status choices_init(choices *c, int32_t n, int64_t rows, tl_error *err)
{
    *c = (choices){.n = n};
    c->cols = tl_calloc((size_t)n, sizeof *c->cols);
    c->owned = tl_calloc((size_t)n, sizeof *c->owned);
    c->refs = tl_alloc((size_t)(rows + 1) * sizeof *c->refs);
    return c->cols != NULL && c->owned != NULL && c->refs != NULL ? TL_OK : tl_nomem(err, "batch");
}

/** Value `id` for the rows sel[0..n) as source `src` of their refs. */
static tl_status choose(frame *f, choices *c, int32_t src, int32_t id, const uint32_t *sel, int64_t n)
{
    const node *x = &f->p->nodes[id];
    tl_vec v;
    if (!worth_picking(x, f->n, n)) {
        TL_TRY(eval(f, id, &v));
        c->cols[src] = v.col;
        for (int64_t i = 0; i < n; i++)
            c->refs[sel[i]] = (tl_rowref){(uint32_t)src, (uint32_t)(sel[i] * v.step)};
        return TL_OK;
    }
    frame inner;
    tl_status status = sub_frame(f, sel, n, &inner);
    if (status == TL_OK)
        status = eval(&inner, id, &v);
    if (status == TL_OK) {
        c->owned[src] = tl_column_ref(v.col);
        c->cols[src] = v.col;
        for (int64_t i = 0; i < n; i++)
            c->refs[sel[i]] = (tl_rowref){(uint32_t)src, (uint32_t)(i * v.step)};
    }
    frame_deinit(&inner);
    return status;
}

static tl_status finish_choices(frame *f, const node *x, choices *c, tl_vec *out)
{
    int32_t used = 0; /* sources that no row chose have no column */
    for (int32_t i = 0; i < c->n; i++)
        if (c->cols[i] != NULL)
            used = i + 1;
    for (int32_t i = 0; i < used; i++)
        if (c->cols[i] == NULL)
            c->cols[i] = c->cols[used - 1];
    tl_column *col;
    TL_TRY(tl_column_gather_multi(x->type, c->cols, c->refs, f->n, &col, f->err));
    *out = (tl_vec){col, 1};
    return TL_OK;
}

/** Move rows for which the condition is TRUE from `rest` to `taken`. */
static void split_rows(const tl_vec *v, bool over_rest, uint32_t *rest, int64_t *n_rest, uint32_t *taken, int64_t *n_taken)
{
    int64_t n = 0;
    *n_taken = 0;
    for (int64_t i = 0; i < *n_rest; i++) {
        bool is_true = truth(v, over_rest ? i : (int64_t)rest[i]) == IS_TRUE;
        uint32_t row = rest[i];
        if (is_true)
            taken[(*n_taken)++] = row;
        else
            rest[n++] = row;
    }
    *n_rest = n;
}

static tl_status eval_case_rows(frame *f, const node *x, choices *c, uint32_t *rest, uint32_t *taken)
{
    int64_t n_rest = f->n, n_taken = 0;
    for (int64_t i = 0; i < f->n; i++)
        rest[i] = (uint32_t)i;
    for (int32_t a = 0; a + 1 < x->n_args && n_rest > 0; a += 2) {
        const node *condition = &f->p->nodes[x->args[a]];
        tl_vec v;
        if (!worth_picking(condition, f->n, n_rest)) {
            TL_TRY(eval(f, x->args[a], &v));
            split_rows(&v, /* over_rest= */ false, rest, &n_rest, taken, &n_taken);
        } else {
            frame inner;
            tl_status status = sub_frame(f, rest, n_rest, &inner);
            if (status == TL_OK)
                status = eval(&inner, x->args[a], &v);
            if (status == TL_OK)
                split_rows(&v, /* over_rest= */ true, rest, &n_rest, taken, &n_taken);
            frame_deinit(&inner);
            TL_TRY(status);
        }
        if (n_taken > 0)
            TL_TRY(choose(f, c, a / 2, x->args[a + 1], taken, n_taken));
    }
    return n_rest > 0 ? choose(f, c, c->n - 1, x->args[x->n_args - 1], rest, n_rest) : TL_OK;
}

static tl_status eval_case(frame *f, const node *x, tl_vec *out)
{
    TL_CLEANUP(tl_freep) uint32_t *rest = tl_alloc((size_t)(f->n + 1) * sizeof *rest);
    TL_CLEANUP(tl_freep) uint32_t *taken = tl_alloc((size_t)(f->n + 1) * sizeof *taken);
    if (rest == NULL || taken == NULL)
        return tl_nomem(f->err, "batch");
    TL_CLEANUP(choices_deinit) choices c;
    TL_TRY(choices_init(&c, x->n_args / 2 + 1, f->n, f->err));
    TL_TRY(eval_case_rows(f, x, &c, rest, taken));
    return finish_choices(f, x, &c, out);
}

static tl_status eval_coalesce_rows(frame *f, const node *x, choices *c, uint32_t *rest)
{
    int64_t n_rest = f->n;
    for (int64_t i = 0; i < f->n; i++)
        rest[i] = (uint32_t)i;
    for (int32_t a = 0; a < x->n_args && n_rest > 0; a++) {
        TL_TRY(choose(f, c, a, x->args[a], rest, n_rest));
        int64_t n = 0;
        for (int64_t i = 0; i < n_rest; i++) {
            uint32_t row = rest[i];
            rest[n] = row;
            n += tl_col_is_null(c->cols[a], c->refs[row].row);
        }
        n_rest = n;
    }
    return TL_OK;
}

static tl_status eval_coalesce(frame *f, const node *x, tl_vec *out)
{
    TL_CLEANUP(tl_freep) uint32_t *rest = tl_alloc((size_t)(f->n + 1) * sizeof *rest);
    if (rest == NULL)
        return tl_nomem(f->err, "batch");
    TL_CLEANUP(choices_deinit) choices c;
    TL_TRY(choices_init(&c, x->n_args, f->n, f->err));
    TL_TRY(eval_coalesce_rows(f, x, &c, rest));
    return finish_choices(f, x, &c, out);
}

/* ---- calls ---- */

tl_status tl_kernel_null(tl_kernel *k, int64_t i)
{
    if (k->own_valid == NULL) {
        k->own_valid = tl_alloc(tl_bitmap_bytes(k->n) + 1);
        if (k->own_valid == NULL)
            return tl_nomem(k->err, "batch");
        if (k->valid != NULL)
            memcpy(k->own_valid, k->valid, tl_bitmap_bytes(k->n));
        else
            memset(k->own_valid, 0xFF, tl_bitmap_bytes(k->n));
        k->valid = k->own_valid;
    }
    tl_bit_clear(k->own_valid, i);
    return TL_OK;
}

tl_status tl_kernel_end(tl_kernel *k)
{
    if (k->text.len > INT32_MAX)
        return tl_error_set(k->err, TL_E_LIMIT, "%s: the texts of one batch have more than 2 GiB", k->fn->name);
    k->out->offsets[++k->n_put] = (int32_t)k->text.len;
    return TL_OK;
}

tl_status tl_kernel_put(tl_kernel *k, const void *data, size_t bytes)
{
    if (tl_buf_append(&k->text, data, bytes) != TL_OK)
        return tl_nomem(k->err, "batch");
    return tl_kernel_end(k);
}

tl_status tl_kernel_put_null(tl_kernel *k)
{
    TL_TRY(tl_kernel_null(k, k->n_put));
    return tl_kernel_end(k);
}

tl_status tl_kernel_text_rows(tl_kernel *k, tl_text_row_fn fn)
{
    for (int64_t i = 0; i < k->n; i++) {
        bool is_null = !tl_kernel_is_valid(k, i);
        size_t before = k->text.len;
        if (!is_null)
            TL_TRY(fn(k, i, &is_null));
        if (is_null) {
            k->text.len = before;
            TL_TRY(tl_kernel_put_null(k));
        } else {
            TL_TRY(tl_kernel_end(k));
        }
    }
    return TL_OK;
}

/** Bitmap of rows where no argument is NULL. NULL: all. `owned`: the caller frees it. */
static tl_status strict_validity(frame *f, const tl_vec *args, int32_t n_args, int64_t n, uint8_t **out, bool *owned)
{
    *out = NULL;
    *owned = false;
    for (int32_t a = 0; a < n_args; a++) {
        uint8_t *bits = args[a].step == 1 && args[a].col->null_count > 0 ? args[a].col->validity : NULL;
        if (bits == NULL)
            continue;
        if (*out == NULL) {
            *out = bits;
            continue;
        }
        size_t bytes = tl_bitmap_bytes(n);
        if (!*owned) {
            uint8_t *copy = tl_memdup(*out, bytes + (bytes == 0));
            if (copy == NULL)
                return tl_nomem(f->err, "batch");
            *out = copy;
            *owned = true;
        }
        for (size_t i = 0; i < bytes; i++)
            (*out)[i] &= bits[i];
    }
    return TL_OK;
}

static void zero_nulls(tl_column *col)
{
    int width = tl_phys_width(col->phys);
    uint8_t *values = col->values;
    for (int64_t i = 0; i < col->length; i++)
        if (!tl_bit_get(col->validity, i))
            memset(values + (size_t)i * (size_t)width, 0, (size_t)width);
}

/** Give the result its validity and text. */
static tl_status finish_kernel(tl_kernel *k)
{
    tl_column *col = k->out;
    if (col->phys == TL_PHYS_BYTES) {
        tl_bytes bytes = tl_buf_steal(&k->text);
        col->data = bytes.data;
    }
    if (k->valid == NULL)
        return TL_OK;
    int64_t valid = tl_bitmap_count(k->valid, 0, k->n);
    if (valid == k->n)
        return TL_OK;
    col->validity = k->own_valid != NULL ? TL_STEAL(k->own_valid) : tl_memdup(k->valid, tl_bitmap_bytes(k->n));
    if (col->validity == NULL)
        return tl_nomem(k->err, "batch");
    col->null_count = k->n - valid;
    if (tl_phys_width(col->phys) > 0)
        zero_nulls(col);
    return TL_OK;
}

static tl_status run_kernel(tl_kernel *k)
{
    if ((k->fn->flags & TL_FN_SETS_OUT) != 0)
        return k->fn->kernel(k);
    TL_TRY(tl_column_alloc(k->type, k->n, &k->out, k->err));
    TL_TRY(k->fn->kernel(k));
    return finish_kernel(k);
}

static tl_status call_kernel(frame *f, const node *x, const tl_vec *args, int64_t n, tl_vec *out)
{
    tl_kernel k = {.type = x->type,
                   .fn = x->fn,
                   .args = args,
                   .n_args = x->n_args,
                   .n = n,
                   .env = &f->p->env,
                   .now_ms = f->now_ms,
                   .aux = x->aux,
                   .err = f->err};
    bool strict = (x->fn->flags & TL_FN_NULLS) == 0, owned = false;
    if (strict)
        TL_TRY(strict_validity(f, args, x->n_args, n, &k.valid, &owned));
    if (owned)
        k.own_valid = k.valid;
    tl_status status = run_kernel(&k);
    tl_free(k.own_valid);
    tl_buf_deinit(&k.text);
    if (status != TL_OK) {
        tl_column_unref(k.out);
        return status;
    }
    *out = (tl_vec){k.out, 1};
    return TL_OK;
}

static tl_status eval_call(frame *f, const node *x, tl_vec *out)
{
    tl_vec few[8], *args = few;
    TL_CLEANUP(tl_freep) tl_vec *many = NULL;
    if (x->n_args > (int32_t)TL_ARRAY_LEN(few)) {
        args = many = tl_alloc((size_t)x->n_args * sizeof *many);
        if (many == NULL)
            return tl_nomem(f->err, "batch");
    }
    bool constant = (x->fn->flags & TL_FN_VOLATILE) == 0, null = false;
    for (int32_t i = 0; i < x->n_args; i++) {
        TL_TRY(eval(f, x->args[i], &args[i]));
        constant = constant && args[i].step == 0;
        null = null || (args[i].step == 0 && tl_col_is_null(args[i].col, 0));
    }
    if (null && (x->fn->flags & TL_FN_NULLS) == 0) {
        tl_column *col;
        TL_TRY(tl_column_nulls(x->type, 1, &col, f->err));
        *out = (tl_vec){col, 0};
        return TL_OK;
    }
    TL_TRY(call_kernel(f, x, args, constant ? 1 : f->n, out));
    out->step = constant ? 0 : 1;
    return TL_OK;
}

static tl_status eval_cast(frame *f, const node *x, tl_vec *out)
{
    tl_vec v;
    tl_column *col;
    TL_TRY(eval(f, x->args[0], &v));
    TL_TRY(tl_cast_column(v.col, x->type, x->is_try, f->p->env.zone, &col, f->err));
    *out = (tl_vec){col, v.step};
    return TL_OK;
}

/** PROCTIME() as a value: now. */
static tl_status eval_proctime(frame *f, const node *x, tl_vec *out)
{
    tl_column *col;
    TL_TRY(tl_column_alloc(x->type, 1, &col, f->err));
    *(int64_t *)col->values = f->now_ms;
    *out = (tl_vec){col, 0};
    return TL_OK;
}

static tl_status eval_new(frame *f, int32_t id, tl_vec *out)
{
    const node *x = &f->p->nodes[id];
    switch (x->kind) {
    case TL_EXPR_COLUMN:
    case TL_EXPR_WATERMARK:
        if (f->parent == NULL) {
            int32_t column = x->kind == TL_EXPR_COLUMN ? x->column : f->p->input->n_fields;
            if (column >= f->in->n_cols || (x->kind == TL_EXPR_WATERMARK && f->in->cols[column]->type->kind != x->type->kind))
                return tl_error_set(f->err, TL_E_UNSUPPORTED, "CURRENT_WATERMARK stands in SELECT and WHERE alone, not in a condition of a join");
            *out = (tl_vec){tl_column_ref(f->in->cols[column]), 1};
            return TL_OK;
        } else {
            tl_vec v;
            TL_TRY(eval(f->parent, id, &v));
            return gather(f, &v, out);
        }
    case TL_EXPR_LITERAL:
        *out = (tl_vec){tl_column_ref(x->literal), 0};
        return TL_OK;
    case TL_EXPR_CALL:
        return eval_call(f, x, out);
    case TL_EXPR_CAST:
        return eval_cast(f, x, out);
    case TL_EXPR_AND:
    case TL_EXPR_OR:
        return eval_logic(f, x, out);
    case TL_EXPR_CASE:
        return eval_case(f, x, out);
    case TL_EXPR_COALESCE:
        return eval_coalesce(f, x, out);
    case TL_EXPR_ROWTIME:
        return eval_proctime(f, x, out);
    default:
        return tl_error_set(f->err, TL_E_INTERNAL, "an expression of kind %d cannot be evaluated", (int)x->kind);
    }
}

/** The value of a node; the frame keeps the reference. */
static tl_status eval(frame *f, int32_t id, tl_vec *out)
{
    if (f->memo[id].col == NULL) {
        frame *up = f->parent;
        while (up != NULL && up->memo[id].col == NULL)
            up = up->parent;
        if (up != NULL && f->parent->memo[id].col != NULL)
            TL_TRY(gather(f, &f->parent->memo[id], &f->memo[id]));
        else if (up != NULL) { /* an ancestor has it: take it down frame by frame */
            tl_vec v;
            TL_TRY(eval(f->parent, id, &v));
            TL_TRY(gather(f, &v, &f->memo[id]));
        } else
            TL_TRY(eval_new(f, id, &f->memo[id]));
    }
    *out = f->memo[id];
    return TL_OK;
}

/* ---- results ---- */

/** Passing rows of the filter in a frame that sees all rows. */
static tl_status select_rows(frame *f, uint32_t *sel, int64_t *n)
{
    tl_vec v;
    TL_TRY(eval(f, f->p->filter, &v));
    int64_t k = 0;
    for (int64_t i = 0; i < f->n; i++) {
        sel[k] = (uint32_t)i;
        k += truth(&v, i) == IS_TRUE;
    }
    *n = k;
    return TL_OK;
}

static tl_status root_frame(const tl_sql_program *program, const tl_batch *in, frame *out, tl_error *err)
{
    int64_t now = program->env.fixed_now_ms != 0 ? program->env.fixed_now_ms : tl_clock_now_ms(program->env.clock);
    *out = (frame){.in = in, .n = in->n_rows, .now_ms = now};
    if (in->n_cols < program->input->n_fields) /* more behind them are not looked at */
        return tl_error_set(err, TL_E_INTERNAL, "a program over %d columns got a batch of %d", (int)program->input->n_fields, (int)in->n_cols);
    return frame_init(out, program, err);
}

static tl_status output_columns(frame *f, tl_batch *batch)
{
    for (int32_t i = 0; i < f->p->n_outputs; i++) {
        tl_vec v;
        TL_TRY(eval(f, f->p->outputs[i], &v));
        const tl_type *type = f->p->output->fields[i].type;
        tl_column *col = NULL;
        if (v.step == 0)
            TL_TRY(tl_column_repeat(v.col, 0, f->n, &col, f->err));
        else
            col = tl_column_ref(v.col);
        if (col->type != type && !tl_type_equal(col->type, type, /* with_nullable= */ true)) {
            tl_column *typed = NULL;
            tl_status status = tl_column_retype(col, type, &typed, f->err);
            tl_column_unref(col);
            TL_TRY(status);
            col = typed;
        }
        batch->cols[i] = col;
    }
    return TL_OK;
}

static tl_status output_row_info(const tl_batch *in, const uint32_t *sel, tl_batch *out, tl_error *err)
{
    int64_t n = out->n_rows;
    out->level = in->level;
    out->snapshot = in->snapshot;
    if (in->row_kind != NULL) {
        out->row_kind = tl_alloc((size_t)n + 1);
        if (out->row_kind == NULL)
            return tl_nomem(err, "batch");
        for (int64_t i = 0; i < n; i++)
            out->row_kind[i] = in->row_kind[sel != NULL ? sel[i] : i];
    }
    if (in->seq != NULL) {
        out->seq = tl_alloc((size_t)(n + 1) * sizeof *out->seq);
        if (out->seq == NULL)
            return tl_nomem(err, "batch");
        for (int64_t i = 0; i < n; i++)
            out->seq[i] = in->seq[sel != NULL ? sel[i] : i];
    }
    return TL_OK;
}

static tl_status run_outputs(frame *f, const uint32_t *sel, tl_batch **out)
{
    TL_CLEANUP(tl_batch_freep) tl_batch *batch = NULL;
    TL_TRY(tl_batch_create(f->p->output, f->n, &batch, f->err));
    TL_TRY(output_columns(f, batch));
    TL_TRY(output_row_info(f->in, sel, batch, f->err));
    *out = TL_STEAL(batch);
    return TL_OK;
}

static tl_status run(frame *root, uint32_t *sel, tl_batch **out)
{
    int64_t n = root->n;
    if (root->p->filter >= 0)
        TL_TRY(select_rows(root, sel, &n));
    if (n == root->n)
        return run_outputs(root, NULL, out);
    frame passing;
    tl_status status = sub_frame(root, sel, n, &passing);
    if (status == TL_OK)
        status = run_outputs(&passing, sel, out);
    frame_deinit(&passing);
    return status;
}

bool tl_sql_program_wants_watermark(const tl_sql_program *program)
{
    return program->wants_watermark;
}

tl_status tl_sql_program_run(const tl_sql_program *program, const tl_batch *in, tl_batch **out, tl_error *err)
{
    TL_CLEANUP(tl_freep) uint32_t *sel = tl_alloc((size_t)(in->n_rows + 1) * sizeof *sel);
    if (sel == NULL)
        return tl_nomem(err, "batch");
    TL_CLEANUP(frame_deinit) frame root = {0};
    TL_TRY(root_frame(program, in, &root, err));
    return run(&root, sel, out);
}

tl_status tl_sql_program_select(const tl_sql_program *program, const tl_batch *in, uint32_t *sel, int64_t *n_sel, tl_error *err)
{
    if (program->filter < 0) {
        for (int64_t i = 0; i < in->n_rows; i++)
            sel[i] = (uint32_t)i;
        *n_sel = in->n_rows;
        return TL_OK;
    }
    TL_CLEANUP(frame_deinit) frame root = {0};
    TL_TRY(root_frame(program, in, &root, err));
    return select_rows(&root, sel, n_sel);
}

/* ---- as an operator ---- */

typedef struct program_reader {
    tl_reader reader;
    tl_sql_program *program;
    tl_reader *in;
} program_reader;

static tl_status reader_next(tl_reader *reader, tl_batch **out, tl_error *err)
{
    program_reader *r = (program_reader *)reader;
    for (;;) {
        TL_CLEANUP(tl_batch_freep) tl_batch *in = NULL;
        TL_TRY(tl_reader_next(r->in, &in, err));
        *out = NULL;
        if (in == NULL)
            return TL_OK;
        TL_TRY(tl_sql_program_run(r->program, in, out, err));
        if ((*out)->n_rows > 0)
            return TL_OK;
        tl_batch_free(*out);
        *out = NULL;
    }
}

static void reader_free(tl_reader *reader)
{
    program_reader *r = (program_reader *)reader;
    tl_reader_free(r->in);
    tl_type_unref(r->reader.type);
    tl_sql_program_free(r->program);
    tl_free(r);
}

tl_status tl_sql_program_reader(tl_sql_program *program, tl_reader *in, tl_reader **out, tl_error *err)
{
    static const tl_reader_ops ops = {reader_next, reader_free};
    program_reader *r = tl_calloc(1, sizeof *r);
    if (r == NULL) {
        tl_sql_program_free(program);
        tl_reader_free(in);
        return tl_nomem(err, "query");
    }
    *r = (program_reader){.reader = {&ops, tl_type_ref(program->output)}, .program = program, .in = in};
    *out = &r->reader;
    return TL_OK;
}
