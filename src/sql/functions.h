/*
 * Scalar functions: the registry and how a kernel sees its arguments. Private to sql/.
 *
 * One table says for each function its name, arguments, result type and kernel. A kernel computes a whole batch; arguments
 * that are constant come as one value with step 0, so that the same loop serves both.
 */
#ifndef TL_SQL_FUNCTIONS_H
#define TL_SQL_FUNCTIONS_H

#include "sql/sql.h"

/** An argument: row i of the batch is row i * step of the column. */
typedef struct tl_vec {
    const tl_column *col;
    int64_t step; /* 1, or 0 for a constant */
} tl_vec;

typedef struct tl_kernel tl_kernel;
/** One call of a kernel. */
struct tl_kernel {
    const tl_type *type;
    const tl_sql_function *fn;
    const tl_vec *args;
    int32_t n_args;
    int64_t n; /* rows */
    const tl_sql_env *env;
    int64_t now_ms;  /* one value for the batch */
    const void *aux; /* what prepare() made of constant arguments; NULL */
    tl_error *err;

    /* Result. Fixed width: `out` has room for n values, zeroed. Text: tl_kernel_put(). Others: the kernel sets `out` itself. */
    tl_column *out;
    uint8_t *valid;     /* bitmap of n rows: strict functions: rows where no argument is NULL; NULL: all. */
    uint8_t *own_valid; /* `valid`, if it is allocated */
    tl_buf text;
    int64_t n_put;
};

typedef tl_status (*tl_kernel_fn)(tl_kernel *k);

enum {
    TL_FN_NULLS = 1,    /* the kernel looks at NULL arguments itself (else: strict, NULL in gives NULL out) */
    TL_FN_VOLATILE = 2, /* not folded, not shared: RAND, UUID */
    TL_FN_NOW = 4,      /* constant within a query in batch mode, never folded in streaming mode */
    TL_FN_SETS_OUT = 8, /* the kernel makes `out` itself (nested types, or a shared column) */
    TL_FN_NO_NULL = 16, /* never NULL, whatever the arguments */
    TL_FN_CAN_FAIL = 32, /* errors on some values: evaluated only on rows that need it */
    TL_FN_SLOW = 64      /* worth picking the rows first */
};

typedef struct tl_binder tl_binder;

struct tl_sql_function {
    const char *name;
    /*
     * Arguments, a letter each: S text, Y bytes, B BOOLEAN, I INT, L BIGINT, D DOUBLE, N any number, E DECIMAL or integer, d DATE,
     * m TIME, T TIMESTAMP, Z TIMESTAMP_LTZ, v an interval, A ARRAY, P MAP, R ROW, X anything; `?` before the first optional one, `*` at the
     * end: the last may come again; `=`: as the one before, both cast to their common type.
     */
    const char *args;
    /* Result: S B I L D Y d m, T3 T6 …, Z3, 0 or 1 (type of that argument); `?` after it: always nullable, `!`: never. */
    const char *result;
    tl_kernel_fn kernel;
    unsigned flags;
    /* Result type by a rule of its own (NULL: `result`). May change the arguments. */
    tl_status (*rule)(tl_binder *b, const tl_sql_function *fn, tl_expr **args, int32_t n, const tl_type **out);
    /* From constant arguments (args[i] is NULL if it is not constant): a thing shared by all calls. NULL: none. */
    tl_status (*prepare)(const tl_sql_function *fn, const tl_type *type, const tl_column *const *args, int32_t n, void **aux, tl_error *err);
    void (*release)(void *aux);
};

/** Groups of functions, one file each; ended by an entry without name. */
extern const tl_sql_function tl_fn_operators[], tl_fn_numbers[], tl_fn_text[], tl_fn_text_parts[], tl_fn_regex[], tl_fn_hash[], tl_fn_blobs[],
    tl_fn_times[], tl_fn_time_text[], tl_fn_arrays[], tl_fn_maps[], tl_fn_json[], tl_fn_json_make[];

/** Next function of that name after `from` (NULL: first), NULL at the end. */
const tl_sql_function *tl_fn_find(const char *name, const tl_sql_function *from);
/** The i-th function of all, NULL at the end. */
const tl_sql_function *tl_fn_at(size_t i);

/* ---- for kernels ---- */

static inline int64_t tl_vec_row(const tl_vec *v, int64_t i)
{
    return i * v->step;
}
static inline bool tl_vec_is_null(const tl_vec *v, int64_t i)
{
    return tl_col_is_null(v->col, i * v->step);
}
static inline bool tl_kernel_is_valid(const tl_kernel *k, int64_t i)
{
    return k->valid == NULL || tl_bit_get(k->valid, i);
}
static inline tl_bytes_view tl_vec_bytes(const tl_vec *v, int64_t i)
{
    return tl_col_bytes(v->col, i * v->step);
}
#define TL_VEC(V, TYPE, I) (((const TYPE *)(V)->col->values)[(I) * (V)->step])
#define TL_OUT(K, TYPE) ((TYPE *)(K)->out->values)

/** Make row i of a fixed-width result NULL. */
tl_status tl_kernel_null(tl_kernel *k, int64_t i);
/** Text and bytes results, row after row from 0 to n - 1, none left out. */
tl_status tl_kernel_put(tl_kernel *k, const void *data, size_t bytes);
tl_status tl_kernel_put_null(tl_kernel *k);
/** End a text result that was appended to k->text directly. */
tl_status tl_kernel_end(tl_kernel *k);
/** A kernel that is told row by row: fn appends to k->text, or sets *is_null. NULL rows of strict functions are not asked. */
typedef tl_status (*tl_text_row_fn)(tl_kernel *k, int64_t i, bool *is_null);
tl_status tl_kernel_text_rows(tl_kernel *k, tl_text_row_fn fn);

/* ---- months ---- */

/** Months later, on the same day or the month's last. */
int64_t tl_sql__plus_months(int64_t days, int64_t months);

/* ---- casts ---- */

/** Cast a column; a value that does not fit the rules is NULL (is_try) or an error; decimals that do not fit are always NULL. */
tl_status tl_cast_column(const tl_column *from, const tl_type *to, bool is_try, const tl_tz *zone, tl_column **out, tl_error *err);

#endif
