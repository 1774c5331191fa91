/* Packed rows: columns of every type side by side come back as they were, few rows or many, from several batches. */
#include "types/packed_rows.h"
#include "values.h"

enum { SRCS = 3, SRC_ROWS = 20, COLUMNS = TL_ARRAY_LEN(every_type), ROWS = 40 };

typedef struct packed_case {
    tl_field fields[COLUMNS];
    const tl_type *row_type;
    tl_row_layout *layout;
    tl_column *cols[SRCS][COLUMNS];
    tl_packed_rows packed[SRCS];
} packed_case;

static void case_init(packed_case *c, uint64_t *rng)
{
    tl_error err;
    *c = (packed_case){0};
    for (size_t t = 0; t < COLUMNS; t++) {
        const tl_type *type = test_type(every_type[t]);
        c->fields[t].name = (char *)"c";
        assert_ok(tl_type_with_nullable(type, true, &c->fields[t].type, &err), &err);
        tl_type_unref(type);
    }
    assert_ok(tl_type_create_row(false, c->fields, COLUMNS, &c->row_type, &err), &err);
    assert_ok(tl_row_layout_create(c->row_type, &c->layout, &err), &err);
    for (int s = 0; s < SRCS; s++) {
        for (size_t t = 0; t < COLUMNS; t++)
            c->cols[s][t] = test_random_column(c->fields[t].type, SRC_ROWS, test_random(rng) % 2 == 0 ? 0 : 25, rng);
        assert_ok(tl_rows_pack(c->layout, (const tl_column *const *)c->cols[s], SRC_ROWS, &c->packed[s], &err), &err);
        assert_true(tl_packed_rows_bytes(&c->packed[s]) > SRC_ROWS * COLUMNS);
    }
}

static void case_deinit(packed_case *c)
{
    for (int s = 0; s < SRCS; s++) {
        for (size_t t = 0; t < COLUMNS; t++)
            tl_column_unref(c->cols[s][t]);
        tl_packed_rows_deinit(&c->packed[s]);
    }
    for (size_t t = 0; t < COLUMNS; t++)
        tl_type_unref(c->fields[t].type);
    tl_row_layout_free(c->layout);
    tl_type_unref(c->row_type);
}

static bool is_nested(const tl_type *type)
{
    tl_phys phys = tl_type_phys(type);
    return phys == TL_PHYS_LIST || phys == TL_PHYS_MAP || phys == TL_PHYS_ROW;
}

static void unpack_some(const packed_case *c, int64_t n, uint64_t *rng)
{
    tl_error err;
    tl_rowref refs[ROWS];
    const uint8_t *rows[ROWS];
    tl_column *got[COLUMNS];
    for (int64_t k = 0; k < n; k++) {
        refs[k] = (tl_rowref){(uint32_t)(test_random(rng) % SRCS), (uint32_t)(test_random(rng) % SRC_ROWS)};
        if (test_random(rng) % 6 == 0)
            refs[k].row = TL_ROW_NULL;
        const tl_packed_rows *from = &c->packed[refs[k].src];
        rows[k] = refs[k].row == TL_ROW_NULL ? tl_row_layout_null_row(c->layout) : from->bytes + from->starts[refs[k].row];
    }
    assert_ok(tl_rows_unpack(c->layout, rows, n, got, &err), &err);
    for (size_t t = 0; t < COLUMNS; t++) {
        assert_int_equal(got[t] == NULL, is_nested(c->fields[t].type));
        assert_int_equal(tl_row_layout_has(c->layout, (int32_t)t), got[t] != NULL);
        if (got[t] == NULL)
            continue;
        assert_ok(tl_column_check(got[t], &err), &err);
        assert_int_equal(got[t]->length, n);
        for (int64_t k = 0; k < n; k++) {
            const tl_column *src = c->cols[refs[k].src][t];
            assert_int_equal(tl_col_is_null(got[t], k), refs[k].row == TL_ROW_NULL || tl_col_is_null(src, refs[k].row));
            if (refs[k].row != TL_ROW_NULL)
                assert_same_value(got[t], k, src, refs[k].row);
        }
        tl_column_unref(got[t]); /* columns of one allocation: what outlives the others keeps what it needs */
    }
}

static void rows_come_back(void **state)
{
    (void)state;
    uint64_t rng = test_seed(18);
    for (int round = 0; round < 6; round++) {
        packed_case c;
        case_init(&c, &rng);
        for (int64_t n = 0; n <= ROWS; n += n < 4 || (n >= 15 && n < 18) ? 1 : 11)
            unpack_some(&c, n, &rng);
        case_deinit(&c);
    }
}

/* Strings too long for the one allocation of a few rows, and a slice, whose first offset is not 0. */
static void long_strings_come_back(void **state)
{
    (void)state;
    tl_error err;
    enum { N = 24, LONG = 70000 };
    const tl_type *type = test_type("ROW<a STRING, b BYTES>"), *text = type->fields[0].type;
    tl_column *col, *slice, *got[2];
    assert_ok(tl_column_alloc(text, N, &col, &err), &err);
    col->data = tl_alloc_aligned(N * LONG);
    for (int32_t i = 0; i < N; i++)
        col->offsets[i + 1] = col->offsets[i] + (i % 3 == 0 ? LONG : i);
    for (int32_t i = 0; i < col->offsets[N]; i++)
        col->data[i] = (uint8_t)('a' + i % 23);
    assert_ok(tl_column_slice(col, 8, 16, &slice, &err), &err);
    const tl_column *const both[2] = {slice, slice};
    tl_row_layout *layout;
    tl_packed_rows packed;
    assert_ok(tl_row_layout_create(type, &layout, &err), &err);
    assert_ok(tl_rows_pack(layout, both, 16, &packed, &err), &err);
    for (int64_t from = 0; from < 16; from += 4) {
        const uint8_t *rows[4];
        for (int64_t i = 0; i < 4; i++)
            rows[i] = packed.bytes + packed.starts[from + i];
        assert_ok(tl_rows_unpack(layout, rows, 4, got, &err), &err);
        for (int c = 0; c < 2; c++) {
            for (int64_t i = 0; i < 4; i++)
                assert_true(tl_bytes_compare(tl_col_bytes(got[c], i), tl_col_bytes(slice, from + i)) == 0);
            tl_column_unref(got[c]);
        }
    }
    tl_packed_rows_deinit(&packed);
    tl_row_layout_free(layout);
    tl_column_unref(slice);
    tl_column_unref(col);
    tl_type_unref(type);
}

static void memory_may_end_at_any_time(void **state)
{
    (void)state;
    uint64_t rng = test_seed(19);
    packed_case c;
    case_init(&c, &rng);
    for (int64_t n = 3; n <= 30; n += 27) {
        bool failed = true;
        for (uint64_t nth = 1; failed; nth++) {
            tl_error err;
            tl_row_layout *layout = NULL;
            tl_packed_rows packed = {0};
            tl_column *got[COLUMNS] = {NULL};
            const uint8_t *rows[30];
            tl_alloc_fail_at(nth);
            tl_status status = tl_row_layout_create(c.row_type, &layout, &err);
            if (status == TL_OK)
                status = tl_rows_pack(layout, (const tl_column *const *)c.cols[0], SRC_ROWS, &packed, &err);
            for (int64_t k = 0; k < n && status == TL_OK; k++)
                rows[k] = packed.bytes + packed.starts[k % SRC_ROWS];
            if (status == TL_OK)
                status = tl_rows_unpack(layout, rows, n, got, &err);
            tl_alloc_fail_at(0);
            failed = status != TL_OK;
            assert_true(!failed || status == TL_E_NOMEM);
            for (size_t t = 0; t < COLUMNS; t++) {
                assert_true(!failed || got[t] == NULL);
                tl_column_unref(got[t]);
            }
            tl_packed_rows_deinit(&packed);
            tl_row_layout_free(layout);
        }
    }
    case_deinit(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_come_back),
        cmocka_unit_test(long_strings_come_back),
        cmocka_unit_test(memory_may_end_at_any_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
