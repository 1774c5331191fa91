/* Unions of sketches and bitmaps give the reference's bytes, and damaged ones do no harm. */
#include "support/test.h"

#include "merge/sketch.h"

typedef tl_status (*union_fn)(tl_bytes_view a, tl_bytes_view b, tl_buf *out, tl_error *err);

static union_fn find_union(const char *name)
{
    static const struct {
        const char *name;
        union_fn fn;
    } unions[] = {{"hll", tl_merge__hll_union},
                  {"theta", tl_merge__theta_union},
                  {"rbm32", tl_merge__rbm32_union},
                  {"rbm64", tl_merge__rbm64_union}};
    for (size_t i = 0; i < TL_ARRAY_LEN(unions); i++)
        if (strcmp(unions[i].name, name) == 0)
            return unions[i].fn;
    fail_msg("no union '%s'", name);
    return NULL;
}

static tl_bytes from_hex(const char *text)
{
    tl_bytes bytes = {malloc(strlen(text) / 2 + 1), strlen(text) / 2};
    for (size_t i = 0; i < bytes.len; i++) {
        unsigned byte;
        assert_int_equal(sscanf(text + 2 * i, "%2x", &byte), 1);
        bytes.data[i] = (uint8_t)byte;
    }
    return bytes;
}

/* One line of the vectors: function, values, result. */
typedef struct vector {
    union_fn fn;
    char name[16];
    tl_bytes values[8];
    int n; /* the last one is the result */
} vector;

typedef void (*vector_fn)(const vector *v, int line, void *ctx);

static void for_each_vector(vector_fn fn, void *ctx)
{
    FILE *file = fopen(TL_SOURCE_DIR "/tests/merge/sketches.txt", "r");
    assert_non_null(file);
    char *line = NULL;
    size_t cap = 0;
    for (int number = 1; getline(&line, &cap, file) > 0; number++) {
        vector v = {0};
        char *save = NULL, *name = strtok_r(line, " \n", &save);
        if (name == NULL || name[0] == '#')
            continue;
        v.fn = find_union(name);
        snprintf(v.name, sizeof v.name, "%s", name);
        for (char *p = strtok_r(NULL, " \n", &save); p != NULL; p = strtok_r(NULL, " \n", &save))
            v.values[v.n++] = from_hex(p);
        fn(&v, number, ctx);
        for (int i = 0; i < v.n; i++)
            free(v.values[i].data);
    }
    free(line);
    fclose(file);
}

static void check_vector(const vector *v, int line, void *ctx)
{
    tl_error err;
    tl_buf acc = {0}, next = {0};
    int *count = ctx;
    assert_int_equal(tl_buf_append(&acc, v->values[0].data, v->values[0].len), TL_OK);
    for (int i = 1; i < v->n - 1; i++) {
        assert_ok(v->fn((tl_bytes_view){acc.data, acc.len}, tl_bytes_view_of(v->values[i]), &next, &err), &err);
        tl_buf swap = acc;
        acc = next;
        next = swap;
    }
    if (!tl_bytes_equal((tl_bytes_view){acc.data, acc.len}, tl_bytes_view_of(v->values[v->n - 1])))
        fail_msg("line %d: union of %s differs from the reference's", line, v->name);
    (*count)++;
    tl_buf_deinit(&acc);
    tl_buf_deinit(&next);
}

static void unions_are_the_references(void **state)
{
    (void)state;
    int count = 0;
    for_each_vector(check_vector, &count);
    assert_true(count >= 50);
}

static void damage_vector(const vector *v, int line, void *ctx)
{
    tl_error err;
    uint64_t *rng = ctx;
    (void)line;
    for (int round = 0; round < 40; round++) {
        const tl_bytes *from = &v->values[test_random(rng) % (uint64_t)v->n];
        size_t len = round % 4 == 0 ? test_random(rng) % (from->len + 1) : from->len;
        uint8_t *copy = malloc(len + 1);
        tl_buf out = {0}, again = {0};
        memcpy(copy, from->data, len);
        for (int hit = 0; hit < 1 + round % 3 && len > 0; hit++) {
            size_t head = TL_MIN(len, 64);
            copy[test_random(rng) % (round % 2 ? head : len)] = (uint8_t)(test_random(rng) % 3 == 0 ? 0xff : test_random(rng));
        }
        tl_bytes_view damaged = {copy, len}, sound = tl_bytes_view_of(v->values[0]);
        if (v->fn(damaged, sound, &out, &err) == TL_OK)
            (void)v->fn(sound, (tl_bytes_view){out.data, out.len}, &again, &err); /* what came out may be fed in again */
        (void)v->fn(sound, damaged, &out, &err);
        (void)v->fn(damaged, damaged, &out, &err);
        tl_buf_deinit(&out);
        tl_buf_deinit(&again);
        free(copy);
    }
}

static void damaged_sketches_do_no_harm(void **state)
{
    (void)state;
    uint64_t rng = test_seed(21);
    for_each_vector(damage_vector, &rng);
}

static void failing_vector(const vector *v, int line, void *ctx)
{
    tl_error err;
    (void)line;
    (void)ctx;
    for (uint64_t nth = 1;; nth++) {
        tl_buf out = {0};
        tl_alloc_fail_at(nth);
        tl_status status = v->fn(tl_bytes_view_of(v->values[0]), tl_bytes_view_of(v->values[1]), &out, &err);
        tl_alloc_fail_at(0);
        tl_buf_deinit(&out);
        if (status == TL_OK)
            break;
        assert_int_equal(status, TL_E_NOMEM);
    }
}

static void failing_allocations_are_errors(void **state)
{
    (void)state;
    for_each_vector(failing_vector, NULL);
}

static void check_text(const char *name, const char *a, const char *b, const char *wanted)
{
    tl_error err;
    tl_bytes x = from_hex(a), y = from_hex(b), z = from_hex(wanted);
    tl_buf out = {0};
    assert_ok(find_union(name)(tl_bytes_view_of(x), tl_bytes_view_of(y), &out, &err), &err);
    assert_int_equal(out.len, z.len);
    assert_memory_equal(out.data, z.data, z.len);
    tl_buf_deinit(&out);
    free(x.data);
    free(y.data);
    free(z.data);
}

static void empty_ones_are_neutral(void **state)
{
    (void)state;
    check_text("hll", "0201070c030c0000", "0201070c030c0000", "0201070c030c0000");
    check_text("hll", "0201070c030c0000", "0201070c030803002bf2fb06862ff90d75816607",
               "0201070c030803002bf2fb06862ff90d75816607");
    check_text("theta", "01030300001e0000", "01030300001e0000", "01030300001e0000");
    check_text("rbm32", "3a30000000000000", "3a30000000000000", "3a30000000000000");
    check_text("rbm64", "00", "00", "00");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unions_are_the_references),
        cmocka_unit_test(damaged_sketches_do_no_harm),
        cmocka_unit_test(failing_allocations_are_errors),
        cmocka_unit_test(empty_ones_are_neutral),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
