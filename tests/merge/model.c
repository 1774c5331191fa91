#include "model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INSERT, UPDATE_BEFORE, UPDATE_AFTER, DELETE };

static bool retracts(const model_record *r)
{
    return r->kind == UPDATE_BEFORE || r->kind == DELETE;
}

static const model_value nothing = {.null = true};

static int compare_values(model_type type, const model_value *a, const model_value *b)
{
    if (a->null || b->null)
        return b->null - a->null;
    if (type == M_STRING)
        return strcmp(a->text, b->text);
    return (a->num > b->num) - (a->num < b->num);
}

static int compare_records(const model *m, const model_record *a, const model_record *b)
{
    for (int i = 0; i < m->n_sequence_fields; i++) {
        int c = m->sequence_fields[i], order = compare_values(m->cols[c].type, &a->cols[c], &b->cols[c]);
        if (order != 0)
            return m->sequence_descending && !a->cols[c].null && !b->cols[c].null ? -order : order;
    }
    return (a->seq > b->seq) - (a->seq < b->seq);
}

void model_order(const model *m, model_record **records, int n)
{
    for (int i = 1; i < n; i++)
        for (int j = i; j > 0 && compare_records(m, records[j - 1], records[j]) > 0; j--) {
            model_record *t = records[j];
            records[j] = records[j - 1];
            records[j - 1] = t;
        }
}

/* ---- functions: acc and input to result, as the reference's FieldAggregator classes ---- */

/* Per merge and column: first_value and first_non_null_value remember whether they have begun. */
typedef struct agg_state {
    bool initialized;
} agg_state;

static int find_item(const model_value *v, int32_t item)
{
    for (int i = 0; i < v->n; i++)
        if (v->items[i] == item)
            return i;
    return -1;
}

static void push(model_value *v, int32_t item, int32_t value)
{
    if (v->n == MODEL_ITEMS)
        abort();
    v->items[v->n] = item;
    v->values[v->n++] = value;
}

/* As java.util.HashSet<Integer> gives its elements: a list of each place, in order of arrival. */
static model_value as_hash_set(const model_value *set)
{
    uint32_t places = 16;
    while (4 * (uint32_t)set->n > 3 * places)
        places *= 2;
    model_value out = {.null = false};
    for (uint32_t p = 0; p < places; p++)
        for (int i = 0; i < set->n; i++)
            if ((((uint32_t)set->items[i] ^ (uint32_t)set->items[i] >> 16) & (places - 1)) == p)
                push(&out, set->items[i], 0);
    return out;
}

static model_value collect(const model_column *c, model_value acc, model_value in)
{
    model_value out = {.null = false};
    if (acc.null && in.null)
        return nothing;
    if ((acc.null || in.null) && !c->distinct)
        return acc.null ? in : acc;
    for (int i = 0; !acc.null && i < acc.n; i++)
        if (!c->distinct || find_item(&out, acc.items[i]) < 0)
            push(&out, acc.items[i], 0);
    for (int i = 0; !in.null && i < in.n; i++)
        if (!c->distinct || find_item(&out, in.items[i]) < 0)
            push(&out, in.items[i], 0);
    return c->distinct ? as_hash_set(&out) : out;
}

static void put(model_value *map, int32_t key, int32_t value)
{
    int at = find_item(map, key);
    if (at >= 0)
        map->values[at] = value;
    else
        push(map, key, value);
}

static model_value merge_map(model_value acc, model_value in)
{
    model_value out = {.null = false};
    for (int i = 0; i < acc.n; i++)
        put(&out, acc.items[i], acc.values[i]);
    for (int i = 0; i < in.n; i++)
        put(&out, in.items[i], in.values[i]);
    return out;
}

static bool has_token(const char *list, const char *token)
{
    size_t len = strlen(token);
    for (const char *p = list;; p++) {
        const char *end = strchr(p, ',');
        size_t n = end == NULL ? strlen(p) : (size_t)(end - p);
        if (n == len && memcmp(p, token, n) == 0)
            return true;
        if (end == NULL)
            return false;
        p = end;
    }
}

static model_value listagg(const model_column *c, model_value acc, model_value in)
{
    if (in.text[0] == 0)
        return acc;
    if (acc.text[0] == 0)
        return in;
    char rest[400];
    snprintf(rest, sizeof rest, "%s", in.text);
    if (!c->distinct) {
        strcat(acc.text, ",");
        strcat(acc.text, rest);
        return acc;
    }
    char *save = NULL;
    for (char *token = strtok_r(rest, ",", &save); token != NULL; token = strtok_r(NULL, ",", &save))
        if (!has_token(acc.text, token)) {
            strcat(acc.text, ",");
            strcat(acc.text, token);
        }
    return acc;
}

static model_value agg(const model_column *c, agg_state *state, model_value acc, model_value in)
{
    const char *fn = c->fn;
    if (strcmp(fn, "last_value") == 0)
        return in;
    if (strcmp(fn, "last_non_null_value") == 0)
        return in.null ? acc : in;
    if (strcmp(fn, "first_value") == 0) {
        if (state->initialized)
            return acc;
        state->initialized = true;
        return in;
    }
    if (strcmp(fn, "first_non_null_value") == 0) {
        if (state->initialized || in.null)
            return acc;
        state->initialized = true;
        return in;
    }
    if (strcmp(fn, "collect") == 0)
        return collect(c, acc, in);
    if (acc.null || in.null)
        return acc.null ? in : acc;
    if (strcmp(fn, "sum") == 0)
        acc.num = (int32_t)(uint32_t)(acc.num + in.num);
    else if (strcmp(fn, "product") == 0)
        acc.num = (int32_t)(uint32_t)(acc.num * in.num);
    else if (strcmp(fn, "max") == 0)
        return compare_values(c->type, &acc, &in) < 0 ? in : acc;
    else if (strcmp(fn, "min") == 0)
        return compare_values(c->type, &acc, &in) < 0 ? acc : in;
    else if (strcmp(fn, "bool_and") == 0)
        acc.num = acc.num && in.num;
    else if (strcmp(fn, "bool_or") == 0)
        acc.num = acc.num || in.num;
    else if (strcmp(fn, "listagg") == 0)
        return listagg(c, acc, in);
    else if (strcmp(fn, "merge_map") == 0)
        return merge_map(acc, in);
    else
        abort();
    return acc;
}

static model_value agg_reversed(const model_column *c, agg_state *state, model_value acc, model_value in)
{
    if (strcmp(c->fn, "collect") == 0 && !c->ignore_retract)
        return collect(c, acc, in);
    return agg(c, state, in, acc);
}

static model_value retract(const model_column *c, model_value acc, model_value in)
{
    const char *fn = c->fn;
    if (c->ignore_retract)
        return acc;
    if (strcmp(fn, "last_value") == 0)
        return nothing;
    if (strcmp(fn, "last_non_null_value") == 0)
        return in.null ? acc : nothing;
    if (strcmp(fn, "sum") == 0) {
        if (in.null)
            return acc;
        model_value out = in;
        out.num = (int32_t)(uint32_t)((acc.null ? 0 : acc.num) - in.num);
        return out;
    }
    if (strcmp(fn, "product") == 0) {
        if (!acc.null && !in.null)
            acc.num = (int32_t)(acc.num / in.num);
        return acc;
    }
    if (acc.null || in.null || in.n == 0)
        return acc;
    model_value out = {.null = false};
    bool map = strcmp(fn, "merge_map") == 0;
    if (!map && strcmp(fn, "collect") != 0)
        abort();
    for (int i = 0; i < acc.n; i++) {
        int at = find_item(&in, acc.items[i]);
        if (map && at < 0)
            put(&out, acc.items[i], acc.values[i]);
        if (!map && at < 0)
            push(&out, acc.items[i], 0);
        if (!map && at >= 0) {
            in.items[at] = in.items[in.n - 1];
            in.n--;
        }
    }
    return out;
}

/* ---- engines ---- */

typedef struct running {
    const model *m;
    model_record row;
    agg_state states[MODEL_COLUMNS];
    bool removed;
    bool met_insert;
} running;

static void init_row(running *r, const model_record *from)
{
    memcpy(r->row.cols, from->cols, sizeof r->row.cols);
}

/* Sequence columns of a group in two rows. */
static int compare_group(const model *m, int group, const model_record *a, const model_record *b)
{
    for (int c = 0; c < m->n_cols; c++) {
        if (m->cols[c].group != group || !m->cols[c].is_sequence)
            continue;
        int order = compare_values(m->cols[c].type, &a->cols[c], &b->cols[c]);
        if (order != 0)
            return order;
    }
    return 0;
}

static bool group_empty(const model *m, int group, const model_record *a)
{
    for (int c = 0; c < m->n_cols; c++)
        if (m->cols[c].group == group && m->cols[c].is_sequence && !a->cols[c].null)
            return false;
    return true;
}

static void add_with_groups(running *r, const model_record *in)
{
    const model *m = r->m;
    model_record before = r->row;
    for (int c = 0; c < m->n_cols; c++) {
        const model_column *col = &m->cols[c];
        model_value *acc = &r->row.cols[c];
        if (col->group < 0) {
            if (!in->cols[c].null)
                *acc = in->cols[c];
            continue;
        }
        if (group_empty(m, col->group, in))
            continue;
        bool newer = compare_group(m, col->group, in, &before) >= 0;
        if (col->is_sequence || col->fn == NULL) {
            if (newer)
                *acc = in->cols[c];
        } else {
            *acc = newer ? agg(col, &r->states[c], *acc, in->cols[c]) : agg_reversed(col, &r->states[c], *acc, in->cols[c]);
        }
    }
}

static void retract_with_groups(running *r, const model_record *in)
{
    const model *m = r->m;
    model_record before = r->row;
    for (int g = 0; g < m->n_groups; g++)
        if (m->group_removes[g] && in->kind == DELETE && !group_empty(m, g, in) && compare_group(m, g, in, &before) >= 0) {
            r->removed = true;
            init_row(r, in);
            return;
        }
    for (int c = 0; c < m->n_cols; c++) {
        const model_column *col = &m->cols[c];
        model_value *acc = &r->row.cols[c];
        if (col->group < 0 || group_empty(m, col->group, in))
            continue;
        bool newer = compare_group(m, col->group, in, &before) >= 0;
        if (col->is_sequence)
            *acc = newer ? in->cols[c] : *acc;
        else if (col->fn != NULL)
            *acc = retract(col, *acc, in->cols[c]);
        else if (newer)
            *acc = nothing;
    }
}

static void partial_update(running *r, const model_record *in, bool first)
{
    const model *m = r->m;
    r->removed = false;
    if (!retracts(in)) {
        r->row.seq = in->seq;
        if (m->n_groups > 0) {
            add_with_groups(r, in);
        } else {
            for (int c = 0; c < m->n_cols; c++)
                if (!in->cols[c].null)
                    r->row.cols[c] = in->cols[c];
        }
        r->met_insert = true;
        return;
    }
    if (first)
        init_row(r, in);
    if (m->ignore_delete)
        return;
    r->row.seq = in->seq;
    if (m->n_groups > 0) {
        retract_with_groups(r, in);
    } else if (m->remove_on_delete && in->kind == DELETE) {
        r->removed = true;
        init_row(r, in);
    }
}

static void aggregate(running *r, const model_record *in)
{
    const model *m = r->m;
    r->row.seq = in->seq;
    r->removed = m->remove_on_delete && in->kind == DELETE;
    if (r->removed) {
        init_row(r, in);
        return;
    }
    for (int c = 0; c < m->n_cols; c++) {
        model_column col = m->cols[c];
        for (int s = 0; s < m->n_sequence_fields; s++)
            if (m->sequence_fields[s] == c)
                col.fn = "last_value";
        if (col.fn == NULL)
            col.fn = "last_non_null_value";
        r->row.cols[c] =
            retracts(in) ? retract(&col, r->row.cols[c], in->cols[c]) : agg(&col, &r->states[c], r->row.cols[c], in->cols[c]);
    }
}

static model_record first_or_last(const model *m, model_record *const *records, int n)
{
    const model_record *result = NULL;
    for (int i = 0; i < n; i++) {
        if (m->ignore_delete && retracts(records[i]))
            continue;
        if (m->engine == M_DEDUPLICATE || result == NULL)
            result = records[i];
    }
    if (result == NULL) /* the reference gives nothing: any retraction will do */
        result = m->engine == M_DEDUPLICATE ? records[n - 1] : records[0];
    return *result;
}

model_record model_merge(const model *m, model_record *const *records, int n, bool always_call)
{
    if (n == 1 && !always_call)
        return *records[0];
    if (m->engine == M_DEDUPLICATE || m->engine == M_FIRST_ROW)
        return first_or_last(m, records, n);
    running r = {.m = m};
    r.row.key = records[0]->key;
    for (int c = 0; c < m->n_cols; c++)
        r.row.cols[c] = nothing;
    for (int i = 0; i < n; i++) {
        if (m->engine == M_PARTIAL_UPDATE)
            partial_update(&r, records[i], i == 0);
        else
            aggregate(&r, records[i]);
    }
    bool deleted = r.removed || (m->engine == M_PARTIAL_UPDATE && !r.met_insert);
    r.row.kind = deleted ? DELETE : INSERT;
    return r.row;
}
