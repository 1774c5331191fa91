/*
 * The embedded engine: an in-memory DuckDB, with our leaves as a table function and our expressions as scalar functions.
 *
 * Errors of our own code inside the engine are kept as they are and told instead of the engine's. Functions run in the engine's
 * threads; a leaf is read by one thread.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "sql/duck_query.h"

void tl_duck_close(tl_duck *duck)
{
    if (duck == NULL)
        return;
    if (duck->db != NULL)
        duck->api->close(&duck->db);
    pthread_mutex_destroy(&duck->lock);
    tl_free(duck->queries);
    tl_free(duck);
}

static void keep_failure(duck_query *q, const tl_error *err)
{
    pthread_mutex_lock(&q->lock);
    if (!q->failed) {
        q->failed = true;
        q->failure = *err;
    }
    pthread_mutex_unlock(&q->lock);
}

/* ---- scalar functions ---- */

static tl_status call_function(const duck_function *fn, duck_handle chunk, duck_handle out, tl_error *err)
{
    const duck_api *api = fn->query->api;
    int64_t n = (int64_t)api->data_chunk_get_size(chunk);
    TL_CLEANUP(tl_batch_freep) tl_batch *in = NULL;
    TL_CLEANUP(tl_batch_freep) tl_batch *result = NULL;
    TL_TRY(tl_batch_create(fn->input, n, &in, err));
    for (int32_t i = 0; i < fn->input->n_fields; i++)
        TL_TRY(duck_to_column(api, api->data_chunk_get_vector(chunk, (uint64_t)i), fn->input->fields[i].type, n, &in->cols[i], err));
    TL_TRY(tl_sql_program_run(fn->program, in, &result, err));
    return duck_from_column(api, result->cols[0], 0, n, out, err);
}

static void function_callback(duck_handle info, duck_handle chunk, duck_handle out)
{
    /* The extra info is reached through the function table of the one library that is loaded. */
    const duck_api *api;
    if (duck_load(&api, NULL) != TL_OK)
        return;
    const duck_function *fn = api->scalar_function_get_extra_info(info);
    tl_error err = {0};
    if (call_function(fn, chunk, out, &err) != TL_OK) {
        keep_failure(fn->query, &err);
        api->scalar_function_set_error(info, err.message);
    }
}

static tl_status register_function(duck_query *q, duck_function *fn, int64_t number, bool is_volatile, tl_error *err)
{
    const duck_api *api = q->api;
    char name[32];
    snprintf(name, sizeof name, "tlx%lld", (long long)number);
    duck_handle f = api->create_scalar_function();
    api->scalar_function_set_name(f, name);
    bool good = true;
    for (int32_t i = 0; i < fn->input->n_fields && good; i++) {
        duck_handle type = duck_carrier(api, fn->input->fields[i].type);
        good = type != NULL;
        if (good)
            api->scalar_function_add_parameter(f, type);
        api->destroy_logical_type(&type);
    }
    duck_handle result = good ? duck_carrier(api, fn->result) : NULL;
    if (result == NULL) {
        api->destroy_scalar_function(&f);
        return tl_nomem(err, "query");
    }
    api->scalar_function_set_return_type(f, result);
    api->destroy_logical_type(&result);
    api->scalar_function_set_special_handling(f);
    if (is_volatile)
        api->scalar_function_set_volatile(f);
    api->scalar_function_set_extra_info(f, fn, NULL);
    api->scalar_function_set_function(f, function_callback);
    int state = api->register_scalar_function(q->con, f);
    api->destroy_scalar_function(&f);
    return state == 0 ? TL_OK : tl_error_set(err, TL_E_INTERNAL, "DuckDB refuses function %s", name);
}

tl_status duck_add_function(duck_query *q, const tl_expr *expr, const tl_type *input, bool is_volatile, int64_t *number, tl_error *err)
{
    if (q->n_functions == q->cap_functions) {
        int32_t cap = q->cap_functions == 0 ? 16 : q->cap_functions * 2;
        duck_function **grown = tl_realloc(q->functions, (size_t)cap * sizeof *grown);
        if (grown == NULL)
            return tl_nomem(err, "query");
        q->functions = grown;
        q->cap_functions = cap;
    }
    duck_function *fn = tl_calloc(1, sizeof *fn);
    if (fn == NULL)
        return tl_nomem(err, "query");
    q->functions[q->n_functions++] = fn;
    pthread_mutex_lock(&q->duck->lock);
    *number = q->duck->n_functions++;
    pthread_mutex_unlock(&q->duck->lock);
    fn->query = q;
    fn->input = input;
    fn->result = expr->type;
    tl_field field = {.name = (char *)(uintptr_t)"r", .id = -1, .type = expr->type};
    TL_CLEANUP(tl_type_unrefp) const tl_type *output = NULL;
    TL_TRY(tl_type_create_row(false, &field, 1, &output, err));
    TL_TRY(tl_sql_program_create(&q->env, input, NULL, &expr, 1, output, &fn->program, err));
    return register_function(q, fn, *number, is_volatile, err);
}

/* ---- leaves ---- */

typedef struct leaf_state {
    duck_query *q;
    const tl_plan *plan;
    tl_reader *reader;
    tl_batch *batch;
    int64_t at;
    int32_t *columns; /* those that the engine wants; -1: one that is no column of ours (a row number) */
    int32_t n_columns;
} leaf_state;

typedef struct leaf_bind {
    duck_query *q;
    const tl_plan *plan;
} leaf_bind;

static void leaf_free(void *data)
{
    leaf_state *s = data;
    tl_batch_free(s->batch);
    tl_reader_free(s->reader);
    tl_free(s->columns);
    tl_free(s);
}

static duck_query *query_of_leaf(tl_duck *duck, int64_t leaf)
{
    duck_query *found = NULL;
    pthread_mutex_lock(&duck->lock);
    for (int32_t i = 0; i < duck->n_queries; i++)
        if (leaf >= duck->queries[i]->first_leaf && leaf < duck->queries[i]->first_leaf + duck->queries[i]->n_leaves)
            found = duck->queries[i];
    pthread_mutex_unlock(&duck->lock);
    return found;
}

static void leaf_bind_callback(duck_handle info)
{
    const duck_api *api;
    if (duck_load(&api, NULL) != TL_OK)
        return;
    duck_handle value = api->bind_get_parameter(info, 0);
    int64_t i = api->get_int64(value);
    api->destroy_value(&value);
    duck_query *q = query_of_leaf(api->bind_get_extra_info(info), i);
    if (q == NULL) {
        api->bind_set_error(info, "there is no such leaf");
        return;
    }
    leaf_bind *bind = tl_calloc(1, sizeof *bind);
    const tl_type *row = q->leaves[i - q->first_leaf]->type;
    bool good = bind != NULL;
    for (int32_t c = 0; c < row->n_fields && good; c++) {
        char name[16];
        snprintf(name, sizeof name, "c%d", (int)c);
        duck_handle type = duck_carrier(api, row->fields[c].type);
        good = type != NULL;
        if (good)
            api->bind_add_result_column(info, name, type);
        api->destroy_logical_type(&type);
    }
    if (!good) {
        tl_error err = {0};
        (void)tl_nomem(&err, "query");
        keep_failure(q, &err);
        api->bind_set_error(info, err.message);
        tl_free(bind);
        return;
    }
    *bind = (leaf_bind){q, q->leaves[i - q->first_leaf]};
    if (row->n_fields == 0) { /* a table needs a column */
        duck_handle type = api->create_logical_type(DUCK_BOOLEAN);
        api->bind_add_result_column(info, "none", type);
        api->destroy_logical_type(&type);
    }
    api->bind_set_bind_data(info, bind, tl_free);
}

static void leaf_init_callback(duck_handle info)
{
    const duck_api *api;
    if (duck_load(&api, NULL) != TL_OK)
        return;
    const leaf_bind *bind = api->init_get_bind_data(info);
    leaf_state *s = tl_calloc(1, sizeof *s);
    tl_error err = {0};
    tl_status status = s != NULL ? TL_OK : tl_nomem(&err, "query");
    if (status == TL_OK) {
        s->q = bind->q;
        s->plan = bind->plan;
        s->n_columns = (int32_t)api->init_get_column_count(info);
        s->columns = tl_calloc((size_t)s->n_columns + 1, sizeof *s->columns);
        status = s->columns != NULL ? TL_OK : tl_nomem(&err, "query");
    }
    for (int32_t i = 0; status == TL_OK && i < s->n_columns; i++) {
        uint64_t column = api->init_get_column_index(info, (uint64_t)i);
        s->columns[i] = column < (uint64_t)s->plan->type->n_fields ? (int32_t)column : -1;
    }
    if (status == TL_OK)
        status = tl_exec__open(s->q->session, &s->q->env, s->plan, &s->reader, &err);
    if (status != TL_OK) {
        keep_failure(bind->q, &err);
        api->init_set_error(info, err.message);
        if (s != NULL)
            leaf_free(s);
        return;
    }
    api->init_set_max_threads(info, 1);
    api->init_set_init_data(info, s, leaf_free);
}

static tl_status fill_chunk(const duck_api *api, leaf_state *s, duck_handle chunk, tl_error *err)
{
    while (s->batch == NULL || s->at == s->batch->n_rows) {
        tl_batch_free(s->batch);
        s->batch = NULL;
        s->at = 0;
        TL_TRY(tl_reader_next(s->reader, &s->batch, err));
        if (s->batch == NULL) {
            api->data_chunk_set_size(chunk, 0);
            return TL_OK;
        }
    }
    int64_t n = TL_MIN((int64_t)api->vector_size(), s->batch->n_rows - s->at);
    for (int32_t i = 0; i < s->n_columns; i++)
        if (s->columns[i] >= 0)
            TL_TRY(duck_from_column(api, s->batch->cols[s->columns[i]], s->at, n, api->data_chunk_get_vector(chunk, (uint64_t)i), err));
    s->at += n;
    api->data_chunk_set_size(chunk, (uint64_t)n);
    return TL_OK;
}

static void leaf_callback(duck_handle info, duck_handle chunk)
{
    const duck_api *api;
    if (duck_load(&api, NULL) != TL_OK)
        return;
    leaf_state *s = api->function_get_init_data(info);
    tl_error err = {0};
    if (fill_chunk(api, s, chunk, &err) != TL_OK) {
        keep_failure(s->q, &err);
        api->function_set_error(info, err.message);
        api->data_chunk_set_size(chunk, 0);
    }
}

static tl_status register_leaf(tl_duck *duck, duck_handle con, tl_error *err)
{
    const duck_api *api = duck->api;
    duck_handle f = api->create_table_function(), number = api->create_logical_type(DUCK_BIGINT);
    api->table_function_set_name(f, "tl_leaf");
    api->table_function_add_parameter(f, number);
    api->destroy_logical_type(&number);
    api->table_function_set_extra_info(f, duck, NULL);
    api->table_function_set_bind(f, leaf_bind_callback);
    api->table_function_set_init(f, leaf_init_callback);
    api->table_function_set_function(f, leaf_callback);
    api->table_function_supports_projection_pushdown(f, true);
    int state = api->register_table_function(con, f);
    api->destroy_table_function(&f);
    return state == 0 ? TL_OK : tl_error_set(err, TL_E_INTERNAL, "DuckDB refuses the table function");
}

/* ---- the database of a session ---- */

static tl_status open_database(tl_sql_session *session, tl_duck *duck, tl_error *err)
{
    const duck_api *api = duck->api;
    char temp[512], threads[16];
    const char *folder = getenv("TMPDIR");
    snprintf(temp, sizeof temp, "%s/tidelake-sql-%ld", folder != NULL && folder[0] != '\0' ? folder : "/tmp", (long)getpid());
    snprintf(threads, sizeof threads, "%d", session->pool != NULL ? tl_pool_threads(session->pool) : 1);
    const char *memory = tl_sql_session_get(session, "sql.memory-limit");
    const char *const settings[][2] = {{"autoinstall_known_extensions", "false"},
                                       {"autoload_known_extensions", "false"},
                                       {"temp_directory", temp},
                                       {"threads", threads},
                                       {"memory_limit", memory != NULL ? memory : "70%"}};
    duck_handle config = NULL;
    if (api->create_config(&config) != 0)
        return tl_nomem(err, "DuckDB");
    tl_status status = TL_OK;
    for (size_t i = 0; i < TL_ARRAY_LEN(settings) && status == TL_OK; i++)
        if (api->set_config(config, settings[i][0], settings[i][1]) != 0)
            status = tl_error_set(err, TL_E_INVALID, "DuckDB does not take %s = %s", settings[i][0], settings[i][1]);
    char *message = NULL;
    if (status == TL_OK && api->open_ext(NULL, &duck->db, config, &message) != 0)
        status = tl_error_set(err, TL_E_INTERNAL, "DuckDB: %s", message != NULL ? message : "cannot be opened");
    if (message != NULL)
        api->free(message);
    api->destroy_config(&config);
    duck_handle con = NULL;
    if (status == TL_OK && api->connect(duck->db, &con) != 0)
        status = tl_error_set(err, TL_E_INTERNAL, "DuckDB gives no connection");
    if (status == TL_OK)
        status = register_leaf(duck, con, err);
    if (con != NULL)
        api->disconnect(&con);
    return status;
}

/** The session's database, opened if need be. Called by one thread at a time, as all that a session does. */
static tl_status session_duck(tl_sql_session *session, tl_duck **out, tl_error *err)
{
    if (session->duck != NULL && session->duck->n_queries == 0 && session->duck->n_functions > DUCK_FUNCTIONS_MAX) {
        tl_duck_close(session->duck);
        session->duck = NULL;
    }
    if (session->duck == NULL) {
        const duck_api *api;
        TL_TRY(duck_load(&api, err));
        tl_duck *duck = tl_calloc(1, sizeof *duck);
        if (duck == NULL)
            return tl_nomem(err, "DuckDB");
        duck->api = api;
        pthread_mutex_init(&duck->lock, NULL);
        tl_status status = open_database(session, duck, err);
        if (status != TL_OK) {
            tl_duck_close(duck);
            return status;
        }
        session->duck = duck;
    }
    *out = session->duck;
    return TL_OK;
}

static tl_status enter_duck(duck_query *q, tl_duck *duck, tl_error *err)
{
    pthread_mutex_lock(&duck->lock);
    bool good = duck->n_queries < duck->cap_queries;
    if (!good) {
        int32_t cap = duck->cap_queries == 0 ? 4 : duck->cap_queries * 2;
        duck_query **grown = tl_realloc(duck->queries, (size_t)cap * sizeof *grown);
        good = grown != NULL;
        if (good) {
            duck->queries = grown;
            duck->cap_queries = cap;
        }
    }
    if (good) {
        duck->queries[duck->n_queries++] = q;
        q->duck = duck;
        q->first_leaf = duck->n_leaves;
        duck->n_leaves += DUCK_LEAVES_MAX;
    }
    pthread_mutex_unlock(&duck->lock);
    return good ? TL_OK : tl_nomem(err, "query");
}

static void leave_duck(duck_query *q)
{
    tl_duck *duck = q->duck;
    if (duck == NULL)
        return;
    pthread_mutex_lock(&duck->lock);
    int32_t n = 0;
    for (int32_t i = 0; i < duck->n_queries; i++)
        if (duck->queries[i] != q)
            duck->queries[n++] = duck->queries[i];
    duck->n_queries = n;
    pthread_mutex_unlock(&duck->lock);
}

/* ---- queries ---- */

static void query_free(duck_query *q)
{
    if (q == NULL)
        return;
    const duck_api *api = q->api;
    if (q->has_result)
        api->destroy_result(&q->result);
    if (q->pending != NULL)
        api->destroy_pending(&q->pending);
    if (q->prepared != NULL)
        api->destroy_prepare(&q->prepared);
    if (q->con != NULL)
        api->disconnect(&q->con);
    leave_duck(q);
    for (int32_t i = 0; i < q->n_functions; i++) {
        tl_sql_program_free(q->functions[i]->program);
        tl_free(q->functions[i]);
    }
    tl_free(q->functions);
    tl_free(q->leaves);
    tl_sql__stmt_deinit(&q->own);
    pthread_mutex_destroy(&q->lock);
    tl_free(q);
}

/** Our own error if there is one, else the engine's without its prefix. */
static tl_status engine_error(duck_query *q, const char *message, tl_error *err)
{
    pthread_mutex_lock(&q->lock);
    bool own = q->failed;
    tl_error failure = q->failure;
    pthread_mutex_unlock(&q->lock);
    if (own)
        return tl_error_set(err, failure.status != TL_OK ? failure.status : TL_E_INVALID, "%s", failure.message);
    if (message == NULL)
        message = "the query failed";
    static const char prefix[] = "Invalid Input Error: ";
    if (strncmp(message, prefix, sizeof prefix - 1) == 0)
        message += sizeof prefix - 1;
    if (strstr(message, "More than one row returned by a subquery") != NULL) /* the engine's text names its own settings */
        message = "a scalar subquery gave more than one row";
    return tl_error_set(err, strstr(message, "Out of Memory") != NULL ? TL_E_NOMEM : TL_E_INVALID, "%s", message);
}

static tl_status start(duck_query *q, const char *text, tl_error *err)
{
    const duck_api *api = q->api;
    if (api->prepare(q->con, text, &q->prepared) != 0)
        return engine_error(q, api->prepare_error(q->prepared), err);
    if (api->pending_prepared_streaming(q->prepared, &q->pending) != 0)
        return engine_error(q, api->pending_error(q->pending), err);
    q->has_result = true;
    if (api->execute_pending(q->pending, &q->result) != 0)
        return engine_error(q, api->result_error(&q->result), err);
    return TL_OK;
}

typedef struct duck_reader {
    tl_reader reader;
    duck_query *q;
} duck_reader;

static tl_status chunk_to_batch(const duck_api *api, duck_handle chunk, const tl_type *type, tl_batch **out, tl_error *err)
{
    int64_t n = (int64_t)api->data_chunk_get_size(chunk);
    TL_CLEANUP(tl_batch_freep) tl_batch *batch = NULL;
    TL_TRY(tl_batch_create(type, n, &batch, err));
    for (int32_t i = 0; i < type->n_fields; i++)
        TL_TRY(duck_to_column(api, api->data_chunk_get_vector(chunk, (uint64_t)i), type->fields[i].type, n, &batch->cols[i], err));
    *out = TL_STEAL(batch);
    return TL_OK;
}

static tl_status reader_next(tl_reader *reader, tl_batch **out, tl_error *err)
{
    duck_query *q = ((duck_reader *)reader)->q;
    const duck_api *api = q->api;
    *out = NULL;
    duck_handle chunk = api->fetch_chunk(q->result);
    if (chunk == NULL) {
        const char *message = api->result_error(&q->result);
        pthread_mutex_lock(&q->lock);
        bool failed = q->failed;
        pthread_mutex_unlock(&q->lock);
        return failed || (message != NULL && message[0] != '\0') ? engine_error(q, message, err) : TL_OK;
    }
    tl_status status = TL_OK;
    if (api->data_chunk_get_size(chunk) > 0)
        status = chunk_to_batch(api, chunk, reader->type, out, err);
    bool end = api->data_chunk_get_size(chunk) == 0;
    api->destroy_data_chunk(&chunk);
    return status != TL_OK || !end ? status : TL_OK;
}

static void reader_free(tl_reader *reader)
{
    query_free(((duck_reader *)reader)->q);
    tl_type_unref(reader->type);
    tl_free(reader);
}

/** Translate the plan and start it. */
static tl_status run(duck_query *q, const tl_plan *plan, tl_error *err)
{
    if (q->api->connect(q->duck->db, &q->con) != 0)
        return tl_error_set(err, TL_E_INTERNAL, "DuckDB gives no connection");
    tl_buf text = {0};
    char *sql = NULL;
    tl_status status = duck_translate(q, plan, &text, err);
    if (status == TL_OK)
        status = tl_buf_steal_str(&text, &sql) == TL_OK ? TL_OK : tl_nomem(err, "query");
    if (status == TL_OK && getenv("TIDELAKE_SQL_TRACE") != NULL)
        fprintf(stderr, "duckdb: %s\n", sql);
    if (status == TL_OK)
        status = start(q, sql, err);
    tl_free(sql);
    tl_buf_deinit(&text);
    return status;
}

tl_status tl_duck__open(tl_sql_session *session, const tl_sql_env *env, const tl_plan *plan, tl_reader **out, tl_error *err)
{
    static const tl_reader_ops ops = {reader_next, reader_free};
    tl_duck *duck;
    TL_TRY(session_duck(session, &duck, err));
    duck_query *q = tl_calloc(1, sizeof *q);
    duck_reader *r = tl_calloc(1, sizeof *r);
    if (q == NULL || r == NULL) {
        tl_free(q);
        tl_free(r);
        return tl_nomem(err, "query");
    }
    q->api = duck->api;
    q->session = session;
    q->env = *env;
    q->own.session = session;
    q->own.env = *env;
    pthread_mutex_init(&q->lock, NULL);
    tl_status status = enter_duck(q, duck, err);
    if (status == TL_OK)
        status = run(q, plan, err);
    if (status != TL_OK) {
        query_free(q);
        tl_free(r);
        return status;
    }
    *r = (duck_reader){.reader = {&ops, tl_type_ref(plan->type)}, .q = q};
    *out = &r->reader;
    return TL_OK;
}
