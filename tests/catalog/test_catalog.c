/* The file system catalog: databases, tables, and names that must not lead elsewhere. */
#include "catalog/catalog.h"
#include "support/test.h"

typedef struct fixture {
    tl_fs *fs;
    tl_catalog *catalog;
    tl_table_schema *schema;
} fixture;

static int set_up(void **state)
{
    tl_error err;
    fixture *f = calloc(1, sizeof *f);
    static const char json[] =
        "{\"version\":3,\"id\":0,\"fields\":[{\"id\":0,\"name\":\"a\",\"type\":\"INT\"}],\"highestFieldId\":0}";
    assert_ok(tl_fs_memory(&f->fs, &err), &err);
    assert_ok(tl_catalog_open(f->fs, "file:///w/", &f->catalog, &err), &err);
    assert_ok(tl_table_schema_parse((tl_bytes_view){(const uint8_t *)json, strlen(json)}, &f->schema, &err), &err);
    assert_ok(tl_catalog_create_database(f->catalog, "db", false, &err), &err);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    fixture *f = *state;
    tl_catalog_close(f->catalog);
    tl_table_schema_unref(f->schema);
    tl_fs_unref(f->fs);
    free(f);
    return 0;
}

static void assert_names(char **names, size_t n, const char *wanted)
{
    char text[256] = "";
    for (size_t i = 0; i < n; i++) {
        strcat(text, names[i]);
        strcat(text, " ");
    }
    tl_names_free(names, n);
    assert_string_equal(text, wanted);
}

static void a_warehouse_is_a_plain_folder(void **state)
{
    fixture *f = *state;
    tl_error err;
    tl_catalog *other = NULL;
    assert_string_equal(tl_catalog_warehouse(f->catalog), "/w");
    assert_ok(tl_catalog_open(f->fs, "file:/x/y", &other, &err), &err);
    assert_string_equal(tl_catalog_warehouse(other), "/x/y");
    tl_catalog_close(other);
    assert_fails(tl_catalog_open(f->fs, "s3://b/x", &other, &err), TL_E_UNSUPPORTED, &err, "s3://b/x");
    assert_fails(tl_catalog_open(f->fs, "", &other, &err), TL_E_INVALID, &err, "no folder");
}

static void databases_are_created_listed_and_dropped(void **state)
{
    fixture *f = *state;
    tl_error err;
    char **names = NULL;
    size_t n = 0;
    assert_fails(tl_catalog_create_database(f->catalog, "db", false, &err), TL_E_EXISTS, &err, "'db'");
    assert_ok(tl_catalog_create_database(f->catalog, "db", true, &err), &err);
    assert_ok(tl_catalog_create_database(f->catalog, "a", false, &err), &err);
    assert_fails(tl_catalog_create_database(f->catalog, "sys", true, &err), TL_E_INVALID, &err, "sys");
    assert_ok(tl_fs_mkdirs(f->fs, "/w/no-database", &err), &err);
    assert_ok(tl_catalog_list_databases(f->catalog, &names, &n, &err), &err);
    assert_names(names, n, "a db ");
    assert_ok(tl_catalog_create_table(f->catalog, "db", "t", f->schema, &err), &err);
    assert_fails(tl_catalog_drop_database(f->catalog, "db", false, /* cascade= */ false, &err), TL_E_INVALID, &err,
                 "not empty");
    assert_ok(tl_catalog_drop_database(f->catalog, "db", false, /* cascade= */ true, &err), &err);
    assert_ok(tl_catalog_drop_database(f->catalog, "db", /* if_exists= */ true, false, &err), &err);
    assert_fails(tl_catalog_drop_database(f->catalog, "db", false, false, &err), TL_E_NOT_FOUND, &err, "'db'");
    assert_ok(tl_catalog_list_databases(f->catalog, &names, &n, &err), &err);
    assert_names(names, n, "a ");
}

static void tables_are_created_listed_renamed_and_dropped(void **state)
{
    fixture *f = *state;
    tl_error err;
    char **names = NULL;
    size_t n = 0;
    bool there = true;
    assert_ok(tl_catalog_table_exists(f->catalog, "db", "t", &there, &err), &err);
    assert_false(there);
    assert_fails(tl_catalog_create_table(f->catalog, "none", "t", f->schema, &err), TL_E_NOT_FOUND, &err, "'none'");
    assert_ok(tl_catalog_create_table(f->catalog, "db", "t", f->schema, &err), &err);
    assert_fails(tl_catalog_create_table(f->catalog, "db", "t", f->schema, &err), TL_E_EXISTS, &err, "'db.t'");
    assert_ok(tl_catalog_create_table(f->catalog, "db", "s", f->schema, &err), &err);
    assert_ok(tl_fs_mkdirs(f->fs, "/w/db.db/no-table", &err), &err);
    assert_ok(tl_catalog_list_tables(f->catalog, "db", &names, &n, &err), &err);
    assert_names(names, n, "s t ");
    assert_fails(tl_catalog_rename_table(f->catalog, "db", "t", "s", &err), TL_E_EXISTS, &err, "'db.s'");
    assert_fails(tl_catalog_rename_table(f->catalog, "db", "x", "y", &err), TL_E_NOT_FOUND, &err, "'db.x'");
    assert_ok(tl_catalog_rename_table(f->catalog, "db", "t", "u", &err), &err);
    assert_ok(tl_catalog_drop_table(f->catalog, "db", "s", false, &err), &err);
    assert_ok(tl_catalog_drop_table(f->catalog, "db", "s", /* if_exists= */ true, &err), &err);
    assert_fails(tl_catalog_drop_table(f->catalog, "db", "s", false, &err), TL_E_NOT_FOUND, &err, "'db.s'");
    assert_ok(tl_catalog_list_tables(f->catalog, "db", &names, &n, &err), &err);
    assert_names(names, n, "u ");
    assert_fails(tl_catalog_list_tables(f->catalog, "none", &names, &n, &err), TL_E_NOT_FOUND, &err, "'none'");
}

static void a_table_is_what_has_a_schema_whatever_its_number(void **state)
{
    fixture *f = *state;
    tl_error err;
    bool there = false;
    assert_ok(tl_fs_publish(f->fs, "/w/db.db/t/schema/schema-4", (tl_bytes_view){(const uint8_t *)"{}", 2}, false, &err), &err);
    assert_ok(tl_catalog_table_exists(f->catalog, "db", "t", &there, &err), &err);
    assert_true(there);
}

static void names_cannot_lead_out_of_the_warehouse(void **state)
{
    fixture *f = *state;
    tl_error err;
    char *path = NULL;
    static const char *const bad[] = {"", ".", "..", "../x", "a/b", "/", "a\\b", "a\nb", "t$files"};
    for (size_t i = 0; i < TL_ARRAY_LEN(bad); i++) {
        assert_fails(tl_catalog_table_path(f->catalog, "db", bad[i], &path, &err), TL_E_INVALID, &err, "table name");
        assert_fails(tl_catalog_table_path(f->catalog, bad[i], "t", &path, &err), TL_E_INVALID, &err, "database name");
        assert_fails(tl_catalog_drop_table(f->catalog, "db", bad[i], true, &err), TL_E_INVALID, &err, "table name");
        assert_fails(tl_catalog_drop_database(f->catalog, bad[i], true, true, &err), TL_E_INVALID, &err, "database name");
        assert_fails(tl_catalog_rename_table(f->catalog, "db", "t", bad[i], &err), TL_E_INVALID, &err, "table name");
    }
    assert_ok(tl_catalog_table_path(f->catalog, "d\xc3\xa4", "t 1.x", &path, &err), &err);
    assert_string_equal(path, "/w/d\xc3\xa4.db/t 1.x");
    tl_free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_warehouse_is_a_plain_folder, set_up, tear_down),
        cmocka_unit_test_setup_teardown(databases_are_created_listed_and_dropped, set_up, tear_down),
        cmocka_unit_test_setup_teardown(tables_are_created_listed_renamed_and_dropped, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_table_is_what_has_a_schema_whatever_its_number, set_up, tear_down),
        cmocka_unit_test_setup_teardown(names_cannot_lead_out_of_the_warehouse, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
