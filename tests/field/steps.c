/* What a step does. */
#include "field.h"

#include <unistd.h>

static bool axis_is(const run *r, int which, const char *value)
{
    return strcmp(r->values[which], value) == 0;
}

tl_status field_open_table(run *r, const char *suffix, const tidelake_option *options, int n, tidelake_table **out)
{
    return tidelake_table_open(r->lake, tl_arena_strf(&r->arena, "db.t%s", suffix), options, (size_t)n, out, &r->err);
}

static void write_names(tl_json_writer *w, run *r, const char *names)
{
    const char *pieces[FIELD_LIST_MAX];
    int n = names == NULL ? 0 : field_split(&r->arena, names, ',', pieces, FIELD_LIST_MAX);
    tl_json_begin_array(w);
    for (int i = 0; i < n; i++)
        tl_json_write_str(w, pieces[i]);
    tl_json_end_array(w);
}

static void write_option(tl_json_writer *w, run *r, const char *text)
{
    const char *equals = strchr(text, '=');
    tl_json_key(w, tl_arena_strndup(&r->arena, text, (size_t)(equals - text)));
    tl_json_write_str(w, equals + 1);
}

static bool given(const field_case *c, const char *key)
{
    size_t n = strlen(key);
    for (int i = 0; i < c->n_options; i++)
        if (strncmp(c->options[i], key, n) == 0 && c->options[i][n] == '=')
            return true;
    return false;
}

static void write_options(tl_json_writer *w, run *r)
{
    const field_case *c = r->c;
    tl_json_begin_object(w);
    for (int i = 0; i < c->n_options; i++)
        write_option(w, r, c->options[i]);
    write_option(w, r, tl_arena_strf(&r->arena, "file.format=%s", r->values[AXIS_FORMAT]));
    if (!given(c, "bucket"))
        write_option(w, r, tl_arena_strf(&r->arena, "bucket=%s", c->key != NULL || given(c, "bucket-key") ? r->values[AXIS_BUCKET] : "-1"));
    if (c->key != NULL && axis_is(r, AXIS_STAGE, "minor") && !given(c, "num-sorted-run.compaction-trigger"))
        write_option(w, r, "num-sorted-run.compaction-trigger=2");
    if (axis_is(r, AXIS_COMMITS, "flushed")) { /* each record is flushed alone */
        write_option(w, r, "write-buffer-size=1 b");
        write_option(w, r, "write-buffer-spillable=false");
    }
    for (int i = AXIS_MORE; i < c->n_axes; i++)
        write_option(w, r, tl_arena_strf(&r->arena, "%s=%s", c->axes[i].name, r->values[i]));
    tl_json_end_object(w);
}

tl_status field_create(run *r)
{
    const field_case *c = r->c;
    tl_json_writer w;
    tl_json_writer_init(&w, false);
    tl_json_begin_object(&w);
    tl_json_key(&w, "columns");
    tl_json_begin_array(&w);
    for (int i = 0; i < c->n_columns; i++) {
        tl_json_begin_object(&w);
        tl_json_key(&w, "name");
        tl_json_write_str(&w, c->columns[i]);
        tl_json_key(&w, "type");
        tl_json_write_str(&w, c->types[i]);
        tl_json_end_object(&w);
    }
    tl_json_end_array(&w);
    tl_json_key(&w, "primaryKeys");
    write_names(&w, r, c->key);
    tl_json_key(&w, "partitionKeys");
    write_names(&w, r, c->partition);
    tl_json_key(&w, "options");
    write_options(&w, r);
    tl_json_end_object(&w);
    const char *schema = tl_arena_strndup(&r->arena, (const char *)w.out.data, w.out.len);
    tl_json_writer_deinit(&w);
    return tidelake_create_table(r->lake, "db.t", schema, 0, &r->err);
}

/* ---- writing ---- */

/* The table's columns may have changed since it was made: names come from its schema. */
static int column_names(run *r, tidelake_table *table, const char **names)
{
    struct ArrowSchema schema;
    if (tidelake_table_arrow_schema(table, &schema, &r->err) != TL_OK)
        return -1;
    int n = (int)schema.n_children;
    for (int i = 0; i < n && i < FIELD_LIST_MAX; i++)
        names[i] = tl_arena_strdup(&r->arena, schema.children[i]->name);
    schema.release(&schema);
    return n;
}

static tl_status rows_as_json(run *r, tidelake_table *table, const char *text, const char *path)
{
    static const char *const kinds[] = {"+I", "-U", "+U", "-D"};
    const char *names[FIELD_LIST_MAX];
    int n = column_names(r, table, names);
    rowset rows;
    if (n < 0)
        return TL_E_INVALID;
    TL_TRY(field_parse_rows(r, text, n, &rows));
    FILE *file = fopen(path, "w");
    if (file == NULL)
        return tl_error_set(&r->err, TL_E_IO, "%s", path);
    for (size_t i = 0; i < rows.n; i++) {
        fprintf(file, "{\"_kind\":\"%s\"", kinds[rows.rows[i].kind]);
        for (int k = 0; k < n; k++)
            fprintf(file, ",\"%s\":%s", names[k], rows.rows[i].text[k]);
        fputs("}\n", file);
    }
    return fclose(file) == 0 ? TL_OK : tl_error_set(&r->err, TL_E_IO, "%s", path);
}

/* Each row is a batch of its own where each is to be flushed alone. */
static tl_status write_rows(run *r, tidelake_table *table, tidelake_writer *writer, const char *text)
{
    const char *path = tl_arena_strf(&r->arena, "%s/rows.jsonl", r->folder);
    const char **pieces = &text;
    int n = 1;
    if (axis_is(r, AXIS_COMMITS, "flushed"))
        n = field_split_all(&r->arena, text, ' ', &pieces);
    tl_status status = TL_OK;
    for (int i = 0; i < n && status == TL_OK; i++) {
        TL_TRY(rows_as_json(r, table, pieces[i], path));
        tidelake_input *input;
        TL_TRY(tidelake_input_open(table, path, NULL, &input, &r->err));
        tidelake_batch *batch;
        int commit;
        while ((status = tidelake_input_next(input, &batch, &commit, &r->err)) == TL_OK && batch != NULL) {
            status = tidelake_writer_write_batch(writer, batch, &r->err);
            tidelake_batch_free(batch);
            if (status != TL_OK)
                break;
        }
        tidelake_input_close(input);
    }
    return status;
}

/* Writers of tables without buckets do not compact: a compaction follows each commit there. */
static bool has_buckets(const run *r)
{
    return r->c->key != NULL || given(r->c, "bucket-key");
}

static tidelake_write_options write_options_of(run *r)
{
    tidelake_write_options options = TIDELAKE_WRITE_INIT;
    options.compaction = axis_is(r, AXIS_STAGE, "auto")                     ? TIDELAKE_COMPACT_AUTO
                         : axis_is(r, AXIS_STAGE, "full") && has_buckets(r) ? TIDELAKE_COMPACT_FULL
                                                                            : TIDELAKE_COMPACT_NONE;
    return options;
}

static tl_status compact(run *r, int full)
{
    tidelake_table *table;
    TL_TRY(field_open_table(r, "", NULL, 0, &table));
    tl_status status = tidelake_compact(table, NULL, full, 0, NULL, &r->err);
    tidelake_table_close(table);
    return status;
}

/* Rows as one commit, followed by what the stage wants. `partition` NULL: of those that get rows. */
static tl_status commit_rows_at(run *r, const char *text, bool overwrite, const char *partition, int64_t watermark)
{
    tidelake_commit_options commit = TIDELAKE_COMMIT_INIT;
    commit.watermark = watermark;
    tidelake_table *table;
    TL_TRY(field_open_table(r, "", NULL, 0, &table));
    tidelake_write_options options = write_options_of(r);
    options.overwrite = overwrite;
    tidelake_option *spec = NULL;
    tl_status status = TL_OK;
    if (partition != NULL)
        status = tidelake_parse_partition(table, partition, &spec, &options.n_overwrite_partition, &r->err);
    options.overwrite_partition = spec;
    tidelake_writer *writer = NULL;
    if (status == TL_OK)
        status = tidelake_writer_open(table, &options, &writer, &r->err);
    if (status == TL_OK)
        status = write_rows(r, table, writer, text);
    if (status == TL_OK)
        status = tidelake_writer_commit(writer, &commit, NULL, &r->err);
    tidelake_writer_close(writer);
    tidelake_free(spec);
    tidelake_table_close(table);
    bool full = axis_is(r, AXIS_STAGE, "full") && !has_buckets(r);
    if (status == TL_OK && (full || axis_is(r, AXIS_STAGE, "minor")))
        status = compact(r, full);
    return status;
}

static tl_status commit_rows(run *r, const char *text, bool overwrite, const char *partition)
{
    return commit_rows_at(r, text, overwrite, partition, INT64_MIN);
}

/* "MILLIS ROWS": a commit with a watermark. */
static tl_status mark_step(run *r, const char *rest)
{
    char *rows = NULL;
    long long watermark = strtoll(rest, &rows, 10);
    return commit_rows_at(r, rows, false, NULL, watermark);
}

static tl_status write_step(run *r, const char *rest)
{
    if (axis_is(r, AXIS_COMMITS, "apart"))
        return commit_rows(r, rest, false, NULL);
    r->pending = r->pending == NULL ? rest : tl_arena_strf(&r->arena, "%s %s", r->pending, rest);
    return TL_OK;
}

tl_status field_settle(run *r)
{
    const char *text = r->pending;
    r->pending = NULL;
    return text == NULL ? TL_OK : commit_rows(r, text, false, NULL);
}

static tl_status overwrite_step(run *r, const char *rest)
{
    if (*rest != '{')
        return commit_rows(r, rest, true, NULL);
    const char *end = strchr(rest, '}');
    return commit_rows(r, end + 1, true, tl_arena_strndup(&r->arena, rest, (size_t)(end + 1 - rest)));
}

/* ---- writers with names, which work beside each other ---- */

static int find_writer(run *r, const char *name)
{
    int i = 0;
    while (i < r->writer_count && strcmp(r->writers[i].name, name) != 0)
        i++;
    return i;
}

static tl_status writer_step(run *r, const char *name, const char *verb, const char *rest)
{
    int i = find_writer(r, name);
    if (i == r->writer_count) {
        tidelake_write_options options = write_options_of(r);
        options.commit_user = name;
        TL_TRY(field_open_table(r, "", NULL, 0, &r->writers[i].table));
        r->writers[i].name = name;
        r->writers[i].writer = NULL;
        r->writers[i].messages = NULL;
        r->writer_count++;
        TL_TRY(tidelake_writer_open(r->writers[i].table, &options, &r->writers[i].writer, &r->err));
    }
    if (strcmp(verb, "write") == 0)
        return write_rows(r, r->writers[i].table, r->writers[i].writer, rest);
    if (strcmp(verb, "prepare") == 0)
        return tidelake_writer_prepare(r->writers[i].writer, &r->writers[i].messages, &r->writers[i].n_messages, &r->err);
    if (strcmp(verb, "commit") != 0)
        return tl_error_set(&r->err, TL_E_INVALID, "a writer can write, prepare and commit, not '%s'", verb);
    if (r->writers[i].messages == NULL)
        return tidelake_writer_commit(r->writers[i].writer, NULL, NULL, &r->err);
    tl_status status = tidelake_commit_prepared(r->writers[i].table, name, r->writers[i].messages, r->writers[i].n_messages, NULL, NULL, &r->err);
    tidelake_free(r->writers[i].messages);
    r->writers[i].messages = NULL;
    return status;
}

void field_close_writers(run *r)
{
    for (int i = 0; i < r->writer_count; i++) {
        tidelake_free(r->writers[i].messages);
        tidelake_writer_close(r->writers[i].writer);
        tidelake_table_close(r->writers[i].table);
    }
    r->writer_count = 0;
}

/* ---- looking ---- */

static tl_status rows_step(run *r, const char *rest)
{
    TL_TRY(field_parse_rows(r, rest, 0, &r->expected));
    r->has_expected = true;
    return field_check_everywhere(r, &r->expected);
}

/* "BEFORE : ROWS" */
static tl_status cut(run *r, const char *rest, const char **before, rowset *wanted)
{
    const char *colon = strcmp(rest, ":") == 0 || strncmp(rest, ": ", 2) == 0 ? rest : strstr(rest, " : ");
    size_t n = strlen(rest);
    if (colon == NULL && n >= 2 && strcmp(rest + n - 2, " :") == 0)
        colon = rest + n - 2;
    if (colon == NULL)
        return tl_error_set(&r->err, TL_E_INVALID, "'%s' has no ':'", rest);
    *before = tl_arena_strndup(&r->arena, rest, (size_t)(colon - rest));
    return field_parse_rows(r, colon + strspn(colon, " :"), 0, wanted);
}

static tl_status where_step(run *r, const char *rest)
{
    rowset wanted, got;
    reading how = {0};
    TL_TRY(cut(r, rest, &how.where, &wanted));
    TL_TRY(field_read(r, "", &how, &got));
    TL_TRY(field_compare(r, &wanted, &got, how.where));
    how.batch_rows = 1;
    TL_TRY(field_read(r, "", &how, &got));
    return field_compare(r, &wanted, &got, how.where);
}

static tl_status select_step(run *r, const char *rest)
{
    rowset wanted, got;
    reading how = {0};
    TL_TRY(cut(r, rest, &how.columns, &wanted));
    TL_TRY(field_read(r, "", &how, &got));
    return field_compare(r, &wanted, &got, how.columns);
}

static int parse_options(run *r, const char *text, tidelake_option *out, int max)
{
    const char *words[8];
    int n = field_split(&r->arena, text, ' ', words, max);
    for (int i = 0; i < n; i++) {
        const char *equals = strchr(words[i], '=');
        out[i] = (tidelake_option){tl_arena_strndup(&r->arena, words[i], (size_t)(equals - words[i])), equals + 1};
    }
    return n;
}

static tl_status as_step(run *r, const char *rest)
{
    rowset wanted, got;
    const char *options;
    TL_TRY(cut(r, rest, &options, &wanted));
    reading how = {0};
    how.n_options = parse_options(r, options, how.options, 8);
    TL_TRY(field_read(r, "", &how, &got));
    return field_compare(r, &wanted, &got, options);
}

/* "$snapshots COLUMNS [where JSON] [OPTION=VALUE…] : ROWS" */
static tl_status system_step(run *r, const char *rest)
{
    rowset wanted, got;
    const char *before, *words[10];
    TL_TRY(cut(r, rest, &before, &wanted));
    int n = field_split(&r->arena, before, ' ', words, 10), at = 2;
    reading how = {0};
    if (n < 2)
        return tl_error_set(&r->err, TL_E_INVALID, "system $NAME COLUMNS : ROWS");
    how.columns = strcmp(words[1], "*") == 0 ? NULL : words[1];
    if (n > 3 && strcmp(words[2], "where") == 0) {
        how.where = words[3];
        at = 4;
    }
    for (; at < n; at++)
        how.n_options += parse_options(r, words[at], how.options + how.n_options, 1);
    TL_TRY(field_read(r, words[0], &how, &got));
    return field_compare(r, &wanted, &got, before);
}

static tl_status changes_step(run *r, const char *rest)
{
    rowset wanted, got;
    const char *options;
    TL_TRY(cut(r, rest, &options, &wanted));
    TL_TRY(field_changes(r, options, &got));
    for (size_t i = 0; i < got.n; i++)
        got.rows[i].snapshot = 0;
    return field_compare(r, &wanted, &got, "changes");
}

/* ---- the rest ---- */

static tl_status alter_step(run *r, const char *rest)
{
    int64_t id;
    return tidelake_alter_table(r->lake, "db.t", rest, &id, &r->err);
}

static tl_status set_step(run *r, const char *rest)
{
    const char *equals = strchr(rest, '=');
    return alter_step(r, tl_arena_strf(&r->arena, "[{\"op\":\"setOption\",\"key\":\"%.*s\",\"value\":\"%s\"}]", (int)(equals - rest), rest,
                                       equals + 1));
}

static tl_status sql_step(run *r, const char *rest)
{
    if (r->session == NULL)
        TL_TRY(tidelake_session_open(r->folder, "db", 1, &r->session, &r->err));
    tidelake_rows *rows = NULL;
    TL_TRY(tidelake_session_execute(r->session, rest, &rows, &r->err));
    rowset got;
    return rows == NULL ? TL_OK : field_rows_text(r, rows, false, &got);
}

/* "SQL : ROWS". Batch queries need the engine that is loaded for them; where it is not installed nothing can be asked. */
static tl_status query_step(run *r, const char *rest)
{
    rowset wanted, got;
    const char *sql;
    tidelake_rows *rows = NULL;
    TL_TRY(cut(r, rest, &sql, &wanted));
    if (r->session == NULL)
        TL_TRY(tidelake_session_open(r->folder, "db", 1, &r->session, &r->err));
    tl_status status = tidelake_session_execute(r->session, sql, &rows, &r->err);
    if (status != TL_OK && strstr(r->err.message, "fetch-duckdb") != NULL)
        return TL_OK;
    TL_TRY(status);
    if (rows == NULL)
        return tl_error_set(&r->err, TL_E_INVALID, "'%s' has no result", sql);
    TL_TRY(field_rows_text(r, rows, false, &got));
    return field_compare(r, &wanted, &got, sql);
}

/* "FILE TEXT": a line more in a file that jobs read. */
static tl_status line_step(run *r, const char *rest)
{
    size_t n = strcspn(rest, " ");
    FILE *file = fopen(tl_arena_strf(&r->arena, "%s/%.*s", r->folder, (int)n, rest), "a");
    if (file == NULL)
        return tl_error_set(&r->err, TL_E_IO, "%s", rest);
    fprintf(file, "%s\n", rest + n + (rest[n] == ' '));
    return fclose(file) == 0 ? TL_OK : tl_error_set(&r->err, TL_E_IO, "%s", rest);
}

/* A script with the lake in use; streaming INSERTs end when their input is read. */
static tl_status run_script(run *r, const char *rest, int streaming)
{
    const char *text = tl_arena_strf(&r->arena,
                                     "CREATE CATALOG lake WITH ('type' = 'paimon', 'warehouse' = '%s'); USE CATALOG lake; USE db; "
                                     "SET 'execution.checkpointing.interval' = '10 ms'; %s",
                                     r->folder, rest);
    const tidelake_option data = {"DATA", r->folder};
    tidelake_run_options options = TIDELAKE_RUN_INIT;
    options.vars = &data;
    options.n_vars = 1;
    options.streaming = streaming;
    options.stop_after_idle_s = 0.1;
    options.fresh = 1;
    return tidelake_run_script(text, strlen(text), &options, NULL, &r->err);
}

static tl_status stream_step(run *r, const char *rest)
{
    return run_script(r, rest, 1);
}

static tl_status batch_step(run *r, const char *rest)
{
    return run_script(r, rest, 0);
}

static tl_status tag_step(run *r, const char *rest)
{
    tidelake_table *table;
    const char *words[2] = {"", "0"};
    field_split(&r->arena, rest, ' ', words, 2);
    TL_TRY(field_open_table(r, "", NULL, 0, &table));
    tl_status status = tidelake_create_tag(table, words[0], strtoll(words[1], NULL, 10), -1, &r->err);
    tidelake_table_close(table);
    return status;
}

static tl_status delete_step(run *r, const char *rest)
{
    tidelake_table *table;
    TL_TRY(field_open_table(r, "", NULL, 0, &table));
    tl_status status = tidelake_delete(table, NULL, rest, NULL, NULL, &r->err);
    tidelake_table_close(table);
    return status;
}

static tl_status untag_step(run *r, const char *rest)
{
    tidelake_table *table;
    TL_TRY(field_open_table(r, "", NULL, 0, &table));
    tl_status status = tidelake_delete_tag(table, rest, &r->err);
    tidelake_table_close(table);
    return status;
}

static tl_status expire_step(run *r, const char *rest)
{
    tidelake_table *table;
    int expired;
    TL_TRY(field_open_table(r, "", NULL, 0, &table));
    int64_t kept = strtoll(rest, NULL, 10);
    tl_status status = tidelake_expire(table, kept, kept, /* retain_ms= */ 0, &expired, &r->err);
    tidelake_table_close(table);
    return status;
}

static tl_status drop_partition_step(run *r, const char *rest)
{
    tidelake_table *table;
    TL_TRY(field_open_table(r, "", NULL, 0, &table));
    tl_status status = tidelake_drop_partitions(table, NULL, &rest, 1, &r->err);
    tidelake_table_close(table);
    return status;
}

/* A file or folder below the table's folder, by hand. */
static tl_status remove_step(run *r, const char *rest)
{
    const char *path = tl_arena_strf(&r->arena, "%s/db.db/t/%s", r->folder, rest);
    return remove(path) == 0 ? TL_OK : tl_error_set(&r->err, TL_E_IO, "%s", path);
}

static tl_status exists_step(run *r, const char *rest)
{
    const char *path = tl_arena_strf(&r->arena, "%s/db.db/t/%s", r->folder, rest);
    return access(path, F_OK) == 0 ? TL_OK : tl_error_set(&r->err, TL_E_NOT_FOUND, "%s", path);
}

static tl_status create_step(run *r, const char *rest)
{
    (void)rest;
    return field_create(r);
}

static tl_status compact_step(run *r, const char *rest)
{
    return compact(r, strcmp(rest, "full") == 0);
}

static tl_status end_step(run *r, const char *rest)
{
    (void)r;
    (void)rest;
    return TL_OK;
}

/* "1..3:[$,\"row $\"]" becomes a row for each number. */
static const char *expand(run *r, const char *text)
{
    const char **pieces = tl_arena_alloc(&r->arena, 512 * sizeof *pieces);
    if (strstr(text, "..") == NULL || strchr(text, '$') == NULL)
        return text;
    int n = field_split(&r->arena, text, ' ', pieces, 512);
    const char *out = "";
    for (int i = 0; i < n; i++) {
        int from, to, begin = 0;
        if (sscanf(pieces[i], "%d..%d:%n", &from, &to, &begin) != 2 || begin == 0) {
            out = tl_arena_strf(&r->arena, "%s %s", out, pieces[i]);
            continue;
        }
        for (; from <= to; from++) {
            out = tl_arena_strf(&r->arena, "%s ", out);
            for (const char *at = pieces[i] + begin; *at != '\0';) {
                size_t k = strcspn(at, "$");
                out = at[k] == '$' ? tl_arena_strf(&r->arena, "%s%.*s%d", out, (int)k, at, from) : tl_arena_strf(&r->arena, "%s%s", out, at);
                at += k + (at[k] == '$');
            }
        }
    }
    return out;
}

tl_status field_step(run *r, const step *given)
{
    step copy = *given, *s = &copy;
    static const struct {
        const char *verb;
        tl_status (*run)(run *r, const char *rest);
    } verbs[] = {
        {"write", write_step}, {"overwrite", overwrite_step}, {"rows", rows_step},     {"where", where_step},
        {"select", select_step}, {"as", as_step},             {"system", system_step}, {"changes", changes_step},
        {"alter", alter_step}, {"set", set_step},             {"sql", sql_step},       {"tag", tag_step},
        {"untag", untag_step}, {"expire", expire_step},       {"create", create_step}, {"compact", compact_step},
        {"query", query_step},       {"mark", mark_step},         {"line", line_step},         {"stream", stream_step},      {"batch", batch_step},
        {"delete", delete_step}, {"remove", remove_step}, {"exists", exists_step},     {"end", end_step},       {"drop-partition", drop_partition_step},
    };
    if (strcmp(s->verb, "sql") != 0 && strcmp(s->verb, "query") != 0 && strcmp(s->verb, "system") != 0)
        s->rest = expand(r, s->rest);
    if (strcmp(s->verb, "write") != 0)
        TL_TRY(field_settle(r));
    const char *dot = strchr(s->verb, '.');
    if (dot != NULL)
        return writer_step(r, tl_arena_strndup(&r->arena, s->verb, (size_t)(dot - s->verb)), dot + 1, s->rest);
    for (size_t i = 0; i < TL_ARRAY_LEN(verbs); i++)
        if (strcmp(s->verb, verbs[i].verb) == 0)
            return verbs[i].run(r, s->rest);
    return tl_error_set(&r->err, TL_E_INVALID, "there is no step '%s'", s->verb);
}
