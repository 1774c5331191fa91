/* Descriptors of blobs: the bytes of the reference, and bytes that are none. */
#include "types/blob_descriptor.h"
#include "support/test.h"

/* Version 1, as the reference keeps it for its own test of compatibility: "/test/path", 100, 200. */
static const uint8_t version_1[] = {1, 10, 0, 0, 0, '/', 't', 'e', 's', 't', '/', 'p', 'a', 't', 'h', 100, 0, 0, 0, 0, 0, 0, 0, 200, 0, 0, 0, 0, 0, 0, 0};
static const uint8_t version_2[] = {2, 'C', 'S', 'E', 'D', 'B', 'O', 'L', 'B', 2, 0, 0, 0, '/', 'a', 5, 0, 0, 0, 0, 0, 0, 0, 255, 255, 255, 255, 255, 255, 255, 255};

static tl_bytes_view view(const uint8_t *bytes, size_t n)
{
    return (tl_bytes_view){bytes, n};
}

static void both_versions_are_read(void **state)
{
    (void)state;
    tl_blob_descriptor d;
    assert_int_equal(tl_blob_descriptor_read(view(version_1, sizeof version_1), &d, NULL), TL_OK);
    assert_true(d.uri.len == 10 && memcmp(d.uri.data, "/test/path", 10) == 0 && d.offset == 100 && d.length == 200);
    assert_true(!tl_blob_is_descriptor(view(version_1, sizeof version_1)));
    assert_int_equal(tl_blob_descriptor_read(view(version_2, sizeof version_2), &d, NULL), TL_OK);
    assert_true(d.uri.len == 2 && memcmp(d.uri.data, "/a", 2) == 0 && d.offset == 5 && d.length == TL_BLOB_TO_END);
    assert_true(tl_blob_is_descriptor(view(version_2, sizeof version_2)));
    tl_buf out = {0};
    assert_int_equal(tl_blob_descriptor_append(&d, &out), TL_OK);
    assert_true(out.len == sizeof version_2 && memcmp(out.data, version_2, out.len) == 0);
    tl_buf_deinit(&out);
}

static void what_is_none_is_refused(void **state)
{
    (void)state;
    tl_blob_descriptor d;
    uint8_t bytes[sizeof version_2];
    for (size_t n = 0; n < sizeof version_2; n++) {
        assert_true(tl_blob_descriptor_read(view(version_2, n), &d, NULL) == TL_E_INVALID);
        assert_true(tl_blob_is_descriptor(view(version_2, n)) == (n >= 9));
    }
    for (size_t n = 0; n < sizeof version_1; n++)
        assert_true(tl_blob_descriptor_read(view(version_1, n), &d, NULL) == TL_E_INVALID);
    static const struct {
        size_t at;
        uint8_t byte;
        tl_status status;
    } spoilt[] = {{0, 3, TL_E_UNSUPPORTED}, {0, 0, TL_E_INVALID},    {0, 255, TL_E_INVALID}, {3, 'X', TL_E_INVALID},
                  {9, 3, TL_E_INVALID},     {12, 255, TL_E_INVALID}, {22, 128, TL_E_INVALID}, {23, 254, TL_E_INVALID}};
    for (size_t i = 0; i < TL_ARRAY_LEN(spoilt); i++) {
        memcpy(bytes, version_2, sizeof bytes);
        bytes[spoilt[i].at] = spoilt[i].byte;
        assert_true(tl_blob_descriptor_read(view(bytes, sizeof bytes), &d, NULL) == spoilt[i].status);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_versions_are_read),
        cmocka_unit_test(what_is_none_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
