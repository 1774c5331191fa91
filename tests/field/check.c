/* What a table must hold, looked at from all sides: projections, filters, batch sizes, threads, changelog, fsck. */
#include "field.h"
#include "support/print_rows.h"

static cells *add_row(run *r, rowset *set)
{
    if (set->n == set->cap) {
        size_t cap = set->cap == 0 ? 16 : 2 * set->cap;
        cells *rows = tl_arena_alloc(&r->arena, cap * sizeof *rows);
        if (set->n > 0)
            memcpy(rows, set->rows, set->n * sizeof *rows);
        set->rows = rows;
        set->cap = cap;
    }
    set->rows[set->n] = (cells){0, 0, 0, tl_arena_calloc(&r->arena, FIELD_LIST_MAX, sizeof(char *))};
    return &set->rows[set->n++];
}

static int kind_of(const char *text)
{
    static const char *const kinds[] = {"+I", "-U", "+U", "-D"};
    for (int i = 0; i < 4; i++)
        if (strncmp(text, kinds[i], 2) == 0)
            return i;
    return -1;
}

static const char *raw_text(run *r, const tl_json *node)
{
    return tl_arena_strndup(&r->arena, (const char *)node->raw.data, node->raw.len);
}

/* {"_snapshot":1,"_kind":"+I","k":1} */
static tl_status add_line(run *r, const char *line, size_t n, rowset *out)
{
    const tl_json *object;
    TL_TRY(tl_json_parse(&r->arena, (tl_bytes_view){(const uint8_t *)line, n}, &object, &r->err));
    cells *row = add_row(r, out);
    for (const tl_json *member = object->child; member != NULL; member = member->next) {
        int64_t snapshot;
        if (member->key.len == 5 && memcmp(member->key.data, "_kind", 5) == 0) {
            row->kind = kind_of((const char *)member->text.data);
        } else if (member->key.len == 9 && memcmp(member->key.data, "_snapshot", 9) == 0) {
            row->snapshot = tl_json_int64(member, &snapshot) ? snapshot : -1;
        } else {
            if (out->n == 1)
                out->names[row->n] = tl_arena_strndup(&r->arena, (const char *)member->key.data, member->key.len);
            row->text[row->n++] = raw_text(r, member);
        }
    }
    out->n_columns = row->n;
    return TL_OK;
}

tl_status field_rows_text(run *r, tidelake_rows *rows, bool kinds, rowset *out)
{
    *out = (rowset){.names = tl_arena_calloc(&r->arena, FIELD_LIST_MAX, sizeof(char *))};
    tidelake_printer_options how = TIDELAKE_PRINTER_INIT;
    how.kinds = how.snapshots = kinds;
    tl_buf text = {0};
    tl_status status = print_rows(rows, &how, &text, &r->err);
    char *kept = status == TL_OK ? tl_arena_strndup(&r->arena, (const char *)text.data, text.len) : NULL;
    size_t len = text.len;
    tl_buf_deinit(&text);
    for (const char *at = kept; status == TL_OK && at < kept + len;) {
        size_t n = strcspn(at, "\n");
        status = add_line(r, at, n, out);
        at += n + 1;
    }
    return status;
}

tl_status field_parse_rows(run *r, const char *text, int n_columns, rowset *out)
{
    *out = (rowset){.n_columns = n_columns, .names = (const char **)r->c->columns};
    const char **pieces;
    int n = field_split_all(&r->arena, text, ' ', &pieces);
    for (int i = 0; i < n; i++) {
        cells *row = add_row(r, out);
        const char *at = pieces[i];
        int kind = kind_of(at);
        if (kind >= 0) {
            row->kind = kind;
            at += 2;
        }
        const tl_json *array;
        TL_TRY(tl_json_parse(&r->arena, (tl_bytes_view){(const uint8_t *)at, strlen(at)}, &array, &r->err));
        for (const tl_json *element = array->child; element != NULL; element = element->next)
            row->text[row->n++] = raw_text(r, element);
        if (n_columns > 0 && row->n != n_columns)
            return tl_error_set(&r->err, TL_E_INVALID, "'%s' has %d cells instead of %d", pieces[i], row->n, n_columns);
        out->n_columns = row->n;
    }
    return TL_OK;
}

/* ---- comparing ---- */

static int compare_rows(const void *a, const void *b)
{
    const cells *x = a, *y = b;
    if (x->snapshot != y->snapshot)
        return x->snapshot < y->snapshot ? -1 : 1;
    for (int i = 0; i < x->n && i < y->n; i++) {
        int order = strcmp(x->text[i], y->text[i]);
        if (order != 0)
            return order;
    }
    if (x->kind != y->kind)
        return x->kind - y->kind;
    return x->n - y->n;
}

static void append_row(tl_buf *buf, const cells *row)
{
    static const char *const kinds[] = {"", "-U", "+U", "-D"};
    tl_buf_appendf(buf, " %s[", kinds[row->kind & 3]);
    for (int i = 0; i < row->n; i++)
        tl_buf_appendf(buf, "%s%s", i > 0 ? "," : "", row->text[i]);
    tl_buf_append_str(buf, "]");
}

static const char *rows_text(run *r, const rowset *set)
{
    tl_buf buf = {0};
    for (size_t i = 0; i < set->n && i < 40; i++)
        append_row(&buf, &set->rows[i]);
    if (set->n == 0)
        tl_buf_append_str(&buf, " no rows");
    if (set->n > 40)
        tl_buf_appendf(&buf, " and %zu more", set->n - 40);
    const char *text = tl_arena_strndup(&r->arena, (const char *)buf.data, buf.len);
    tl_buf_deinit(&buf);
    return text;
}

tl_status field_compare(run *r, const rowset *wanted, const rowset *got, const char *what)
{
    rowset a = *wanted, b = *got;
    a.rows = tl_arena_alloc(&r->arena, (a.n + 1) * sizeof *a.rows);
    b.rows = tl_arena_alloc(&r->arena, (b.n + 1) * sizeof *b.rows);
    if (a.n > 0)
        memcpy(a.rows, wanted->rows, a.n * sizeof *a.rows);
    if (b.n > 0)
        memcpy(b.rows, got->rows, b.n * sizeof *b.rows);
    qsort(a.rows, a.n, sizeof *a.rows, compare_rows);
    qsort(b.rows, b.n, sizeof *b.rows, compare_rows);
    bool same = a.n == b.n;
    for (size_t i = 0; same && i < a.n; i++)
        same = compare_rows(&a.rows[i], &b.rows[i]) == 0;
    if (same)
        return TL_OK;
    return tl_error_set(&r->err, TL_E_CORRUPT, "%s:\n    wanted%s\n    got   %s", what, rows_text(r, &a), rows_text(r, &b));
}

/* ---- reading ---- */

tl_status field_read(run *r, const char *suffix, const reading *how, rowset *out)
{
    tidelake_table *table;
    TL_TRY(field_open_table(r, suffix, how->options, how->n_options, &table));
    tidelake_read_options options = TIDELAKE_READ_INIT;
    const char *columns[FIELD_LIST_MAX];
    if (how->columns != NULL) {
        options.columns = columns;
        options.n_columns = (size_t)field_split(&r->arena, how->columns, ',', columns, FIELD_LIST_MAX);
    }
    options.where = how->where;
    options.batch_rows = how->batch_rows;
    options.threads = how->threads;
    options.kinds = how->kinds;
    tidelake_rows *rows;
    tl_status status = tidelake_read(table, &options, &rows, &r->err);
    if (status == TL_OK)
        status = field_rows_text(r, rows, how->kinds, out);
    tidelake_table_close(table);
    return status;
}

tl_status field_changes(run *r, const char *from_options, rowset *out)
{
    tidelake_table *table;
    TL_TRY(field_open_table(r, "", NULL, 0, &table));
    tidelake_changes_options options = TIDELAKE_CHANGES_INIT;
    tidelake_option given[8];
    const char *words[8];
    int n = field_split(&r->arena, from_options, ' ', words, 8);
    for (int i = 0; i < n; i++) {
        const char *equals = strchr(words[i], '=');
        given[i] = (tidelake_option){tl_arena_strndup(&r->arena, words[i], (size_t)(equals - words[i])), equals + 1};
    }
    options.options = given;
    options.n_options = (size_t)n;
    options.next_snapshot = n == 0 ? 1 : 0;
    tidelake_rows *rows;
    tl_status status = tidelake_changes(table, &options, &rows, &r->err);
    if (status == TL_OK)
        status = field_rows_text(r, rows, true, out);
    tidelake_table_close(table);
    return status;
}

/* ---- the table from all sides ---- */

typedef bool (*cell_test)(const char *cell, const char *value);

static bool cell_is(const char *cell, const char *value)
{
    return strcmp(cell, value) == 0;
}

static bool cell_is_not(const char *cell, const char *value)
{
    return strcmp(cell, "null") != 0 && strcmp(cell, value) != 0;
}

static bool is_integer(const char *text)
{
    size_t n = strspn(text, "-0123456789");
    return n > 0 && text[n] == '\0';
}

static bool cell_at_most(const char *cell, const char *value)
{
    return is_integer(cell) && strtoll(cell, NULL, 10) <= strtoll(value, NULL, 10);
}

static bool cell_more(const char *cell, const char *value)
{
    return is_integer(cell) && strtoll(cell, NULL, 10) > strtoll(value, NULL, 10);
}

static tl_status check_filter(run *r, const rowset *wanted, int column, const char *value, const char *where, cell_test keep)
{
    rowset some = *wanted, got;
    some.n = some.cap = 0;
    some.rows = NULL;
    for (size_t i = 0; i < wanted->n; i++)
        if (keep(wanted->rows[i].text[column], value))
            *add_row(r, &some) = wanted->rows[i];
    reading how = {.where = where, .batch_rows = column % 2 == 0 ? 0 : 3};
    TL_TRY(field_read(r, "", &how, &got));
    return field_compare(r, &some, &got, where);
}

/* Whether every value is an integer, so that a range can be told from the text. */
static bool are_integers(const rowset *set, int column)
{
    for (size_t i = 0; i < set->n; i++) {
        const char *text = set->rows[i].text[column];
        if (strcmp(text, "null") != 0 && (!is_integer(text) || strcmp(text, "-0") == 0))
            return false;
    }
    return true;
}

static tl_status check_value(run *r, const rowset *wanted, int column, const char *value)
{
    const char *name = wanted->names[column];
    if (strcmp(value, "null") == 0) {
        TL_TRY(check_filter(r, wanted, column, value, tl_arena_strf(&r->arena, "[\"isNull\",\"%s\"]", name), cell_is));
        return check_filter(r, wanted, column, value, tl_arena_strf(&r->arena, "[\"isNotNull\",\"%s\"]", name), cell_is_not);
    }
    TL_TRY(check_filter(r, wanted, column, value, tl_arena_strf(&r->arena, "[\"=\",\"%s\",%s]", name, value), cell_is));
    TL_TRY(check_filter(r, wanted, column, value, tl_arena_strf(&r->arena, "[\"in\",\"%s\",[%s]]", name, value), cell_is));
    TL_TRY(check_filter(r, wanted, column, value, tl_arena_strf(&r->arena, "[\"!=\",\"%s\",%s]", name, value), cell_is_not));
    if (!are_integers(wanted, column))
        return TL_OK;
    TL_TRY(check_filter(r, wanted, column, value, tl_arena_strf(&r->arena, "[\"<=\",\"%s\",%s]", name, value), cell_at_most));
    return check_filter(r, wanted, column, value, tl_arena_strf(&r->arena, "[\">\",\"%s\",%s]", name, value), cell_more);
}

/* Filters on the first few values of a column; nested values cannot be compared with. */
static tl_status check_filters(run *r, const rowset *wanted, int column)
{
    for (size_t i = 0; i < wanted->n && i < 6; i++) {
        const char *value = wanted->rows[i].text[column];
        bool seen = *value == '[' || *value == '{';
        for (size_t k = 0; k < i && !seen; k++)
            seen = strcmp(wanted->rows[k].text[column], value) == 0;
        if (!seen)
            TL_TRY(check_value(r, wanted, column, value));
    }
    return TL_OK;
}

static tl_status check_projection(run *r, const rowset *wanted, int first, int second)
{
    rowset some = *wanted, got;
    some.n = some.cap = 0;
    some.rows = NULL;
    some.n_columns = second < 0 ? 1 : 2;
    for (size_t i = 0; i < wanted->n; i++) {
        cells *row = add_row(r, &some);
        row->n = some.n_columns;
        row->text[0] = wanted->rows[i].text[first];
        if (second >= 0)
            row->text[1] = wanted->rows[i].text[second];
    }
    reading how = {.columns = wanted->names[first], .batch_rows = 1 + first};
    if (second >= 0)
        how.columns = tl_arena_strf(&r->arena, "%s,%s", wanted->names[first], wanted->names[second]);
    TL_TRY(field_read(r, "", &how, &got));
    return field_compare(r, &some, &got, tl_arena_strf(&r->arena, "columns %s", how.columns));
}

/* Planned here, read from the splits' bytes, as another process would. */
static tl_status read_by_splits(run *r, rowset *out)
{
    tidelake_table *table;
    tidelake_bytes *splits = NULL;
    size_t n = 0;
    *out = (rowset){0};
    TL_TRY(field_open_table(r, "", NULL, 0, &table));
    tl_status status = tidelake_plan(table, NULL, &splits, &n, &r->err);
    for (size_t i = 0; i < n && status == TL_OK; i++) {
        tidelake_rows *rows;
        rowset some;
        status = tidelake_read_split(table, splits[i], NULL, &rows, &r->err);
        if (status == TL_OK)
            status = field_rows_text(r, rows, false, &some);
        for (size_t k = 0; status == TL_OK && k < some.n; k++)
            *add_row(r, out) = some.rows[k];
    }
    tidelake_free(splits);
    tidelake_table_close(table);
    return status;
}

tl_status field_check_everywhere(run *r, const rowset *wanted)
{
    rowset got;
    TL_TRY(field_read(r, "", &(reading){0}, &got));
    TL_TRY(field_compare(r, wanted, &got, "all rows"));
    TL_TRY(field_read(r, "", &(reading){.batch_rows = 1, .threads = 2}, &got));
    TL_TRY(field_compare(r, wanted, &got, "all rows, in batches of one, by two threads"));
    TL_TRY(read_by_splits(r, &got));
    TL_TRY(field_compare(r, wanted, &got, "all rows, split by split"));
    TL_TRY(field_read(r, "", &(reading){0}, &got));
    if (got.n == 0)
        return TL_OK;
    rowset named = *wanted;
    named.names = got.names; /* columns may have been added, moved, renamed */
    for (int i = 0; i < got.n_columns; i++) {
        TL_TRY(check_projection(r, &named, i, -1));
        TL_TRY(check_projection(r, &named, i, i == 0 ? got.n_columns - 1 : 0));
        TL_TRY(check_filters(r, &named, i));
    }
    return TL_OK;
}

tl_status field_check_fsck(run *r)
{
    tidelake_table *table;
    TL_TRY(field_open_table(r, "", NULL, 0, &table));
    char *report;
    size_t problems;
    tl_status status = tidelake_fsck(table, /* all_snapshots= */ 1, &report, &problems, &r->err);
    if (status == TL_OK) {
        if (problems > 0)
            status = tl_error_set(&r->err, TL_E_CORRUPT, "fsck: %s", report);
        tidelake_free(report);
    }
    tidelake_table_close(table);
    return status;
}

/* ---- changelog ---- */

static bool same_cells(const cells *a, const cells *b, const int *columns, int n)
{
    for (int i = 0; i < n; i++) {
        int column = columns == NULL ? i : columns[i];
        if (strcmp(a->text[column], b->text[column]) != 0)
            return false;
    }
    return true;
}

static int key_columns(run *r, const rowset *set, int *out)
{
    const char *names[FIELD_LIST_MAX];
    int n = field_split(&r->arena, r->c->key, ',', names, FIELD_LIST_MAX);
    for (int i = 0; i < n; i++)
        for (int k = 0; k < set->n_columns; k++)
            if (strcmp(names[i], set->names[k]) == 0)
                out[i] = k;
    return n;
}

tl_status field_check_replay(run *r, const rowset *wanted)
{
    rowset changes, state = {0};
    TL_TRY(field_changes(r, "", &changes));
    if (changes.n == 0)
        return field_compare(r, wanted, &state, "changes replayed");
    int keys[FIELD_LIST_MAX], n_keys = key_columns(r, &changes, keys);
    for (size_t i = 0; i < changes.n; i++) {
        cells *change = &changes.rows[i];
        size_t at = 0;
        while (at < state.n && !same_cells(&state.rows[at], change, keys, n_keys))
            at++;
        bool known = at < state.n, gone = change->kind == 1 || change->kind == 3;
        if ((change->kind != 0) != known && change->kind != 2)
            return tl_error_set(&r->err, TL_E_CORRUPT, "change %zu of%s: a key that is %s", i + 1, rows_text(r, &changes),
                                known ? "there already" : "not there");
        if (gone && !same_cells(&state.rows[at], change, NULL, change->n))
            return tl_error_set(&r->err, TL_E_CORRUPT, "change %zu of%s takes back another row", i + 1, rows_text(r, &changes));
        if (gone) {
            state.rows[at] = state.rows[--state.n];
        } else {
            if (!known)
                add_row(r, &state);
            state.rows[at] = *change;
            state.rows[at].kind = 0;
            state.rows[at].snapshot = 0;
        }
    }
    return field_compare(r, wanted, &state, "changes replayed");
}
