/* Options of the merge engines: what is refused, with whose words, and which columns a projection needs. */
#include "support/random_column.h"

#include "merge/merge.h"

#define OPTIONS_MAX 8

typedef struct refusal {
    const char *name;
    const char *type;
    const char *options[2 * OPTIONS_MAX];
    const char *message; /* NULL: accepted */
} refusal;

static const int32_t key_column = 0;

static tl_options make_options(const char *const *pairs)
{
    tl_options options = {0};
    for (; pairs[0] != NULL; pairs += 2)
        assert_int_equal(tl_options_set(&options, pairs[0], pairs[1]), TL_OK);
    return options;
}

#define ROW_VGH "ROW<k INT NOT NULL, v INT, w INT, g INT, h INT, s STRING, l ARRAY<INT>>"

/* At CREATE; most are the schemas of the reference's fixture `refused`. */
static const refusal validations[] = {
    {"unknown engine", ROW_VGH, {"merge-engine", "median"}, "merge-engine"},
    {"names in any case", ROW_VGH, {"merge-engine", "PARTIAL-UPDATE"}, NULL},
    {"first row by sequence",
     ROW_VGH,
     {"merge-engine", "first-row", "sequence.field", "v"},
     "Do not support use sequence field on FIRST_ROW"},
    {"sequence field missing", ROW_VGH, {"sequence.field", "nope"}, "Sequence field: 'nope' can not be found in table schema."},
    {"sequence field twice", ROW_VGH, {"sequence.field", "v, v"}, "Sequence field 'v' is defined repeatedly."},
    {"sequence field aggregated",
     ROW_VGH,
     {"merge-engine", "aggregation", "sequence.field", "v", "fields.v.aggregate-function", "sum"},
     "Should not define aggregation on sequence field: 'v'."},
    {"group member missing",
     ROW_VGH,
     {"merge-engine", "partial-update", "fields.g.sequence-group", "v,nope"},
     "Field nope can not be found in table schema"},
    {"group column missing",
     ROW_VGH,
     {"merge-engine", "partial-update", "fields.nope.sequence-group", "v"},
     "Field nope can not be found in table schema."},
    {"blank in a list",
     ROW_VGH,
     {"merge-engine", "partial-update", "fields.g.sequence-group", "v, w"},
     "Field  w can not be found"},
    {"member of two groups",
     ROW_VGH,
     {"merge-engine", "partial-update", "fields.g.sequence-group", "v", "fields.h.sequence-group", "v"},
     "Field v is defined repeatedly by multiple groups: fields.h.sequence-group"},
    {"option of an unknown field",
     ROW_VGH,
     {"fields.nope.aggregate-function", "sum"},
     "Field nope can not be found in table schema."},
    {"default function is no field",
     ROW_VGH,
     {"merge-engine", "aggregation", "fields.default-aggregate-function", "sum"},
     NULL},
    {"unknown function",
     ROW_VGH,
     {"merge-engine", "aggregation", "fields.v.aggregate-function", "median"},
     "Could not find any factory for identifier 'median'"},
    {"unknown default function", ROW_VGH, {"merge-engine", "aggregation", "fields.default-aggregate-function", "avg"}, "'avg'"},
    {"a function of the wrong type is found at the first write",
     ROW_VGH,
     {"merge-engine", "aggregation", "fields.s.aggregate-function", "sum"},
     NULL},
    {"functions of other engines do not matter",
     ROW_VGH,
     {"merge-engine", "deduplicate", "fields.v.aggregate-function", "median"},
     NULL},
    {"aggregate without a group",
     ROW_VGH,
     {"merge-engine", "partial-update", "fields.v.aggregate-function", "sum"},
     "Must use sequence group for aggregation functions but not found for field v."},
    {"last_non_null_value needs no group",
     ROW_VGH,
     {"merge-engine", "partial-update", "fields.v.aggregate-function", "last_non_null_value"},
     NULL},
    {"default function without a group",
     ROW_VGH,
     {"merge-engine", "partial-update", "fields.g.sequence-group", "v", "fields.default-aggregate-function", "sum"},
     "Must use sequence group for aggregation functions but not found for field w."},
    {"remove and ignore",
     ROW_VGH,
     {"merge-engine", "partial-update", "ignore-delete", "true", "partial-update.remove-record-on-delete", "true"},
     "ignore-delete and partial-update.remove-record-on-delete have conflicting behavior"},
    {"remove by group and ignore",
     ROW_VGH,
     {"merge-engine", "partial-update", "ignore-delete", "true", "fields.g.sequence-group", "v",
      "partial-update.remove-record-on-sequence-group", "g"},
     "ignore-delete and partial-update.remove-record-on-sequence-group have conflicting behavior"},
    {"removal and ignored retractions",
     ROW_VGH,
     {"merge-engine", "aggregation", "fields.v.aggregate-function", "sum", "fields.v.ignore-retract", "true",
      "aggregation.remove-record-on-delete", "true"},
     "aggregation.remove-record-on-delete and fields.v.ignore-retract have conflicting behavior"},
    {"remove and groups",
     ROW_VGH,
     {"merge-engine", "partial-update", "fields.g.sequence-group", "v", "partial-update.remove-record-on-delete", "true"},
     "sequence-group and partial-update.remove-record-on-delete have conflicting behavior"},
    {"remove by a column that is no sequence",
     ROW_VGH,
     {"merge-engine", "partial-update", "fields.g.sequence-group", "v", "partial-update.remove-record-on-sequence-group", "v"},
     "must be part of sequence groups"},
};

static void options_are_refused_as_the_reference_does(void **state)
{
    (void)state;
    for (size_t i = 0; i < TL_ARRAY_LEN(validations); i++) {
        const refusal *r = &validations[i];
        tl_error err = {0};
        const tl_type *type = test_type(r->type);
        tl_options options = make_options(r->options);
        tl_status status = tl_merge_validate(type, &key_column, 1, &options, &err);
        if (status != (r->message == NULL ? TL_OK : TL_E_INVALID) ||
            (r->message != NULL && strstr(err.message, r->message) == NULL))
            fail_msg("%s: %s '%s'", r->name, tl_status_name(status), err.message);
        tl_options_deinit(&options);
        tl_type_unref(type);
    }
}

/* What only the engine finds. */
static const refusal engines[] = {
    {"sum of strings",
     ROW_VGH,
     {"merge-engine", "aggregation", "fields.s.aggregate-function", "sum"},
     "column 's': aggregate function 'sum' takes a numeric type, not STRING"},
    {"bool_and of numbers",
     ROW_VGH,
     {"merge-engine", "aggregation", "fields.v.aggregate-function", "bool_and"},
     "takes BOOLEAN, not INT"},
    {"listagg of a bounded string",
     "ROW<k INT NOT NULL, s VARCHAR(10)>",
     {"merge-engine", "aggregation", "fields.s.aggregate-function", "listagg"},
     "takes STRING, not VARCHAR(10)"},
    {"collect of numbers", ROW_VGH, {"merge-engine", "aggregation", "fields.v.aggregate-function", "collect"}, "takes ARRAY"},
    {"nested_update of numbers",
     ROW_VGH,
     {"merge-engine", "aggregation", "fields.l.aggregate-function", "nested_update"},
     "takes ARRAY<ROW>"},
    {"nested key that is none",
     "ROW<k INT NOT NULL, t ARRAY<ROW<a INT>>>",
     {"merge-engine", "aggregation", "fields.t.aggregate-function", "nested_update", "fields.t.nested-key", "b"},
     "nested-key"},
    {"nested_partial_update without a key",
     "ROW<k INT NOT NULL, t ARRAY<ROW<a INT>>>",
     {"merge-engine", "aggregation", "fields.t.aggregate-function", "nested_partial_update"},
     "needs the option 'fields.t.nested-key'"},
    {"keytime without rows",
     "ROW<k INT NOT NULL, m MAP<INT, INT>>",
     {"merge-engine", "aggregation", "fields.m.aggregate-function", "merge_map_with_keytime"},
     "ROWs of two fields"},
    {"keytime by a field that is none",
     "ROW<k INT NOT NULL, m MAP<INT, ROW<a INT, t STRING>>>",
     {"merge-engine", "aggregation", "fields.m.aggregate-function", "merge_map_with_keytime", "fields.m.ts-field", "x"},
     "no field 'x'"},
    {"ignore-retract and removal",
     ROW_VGH,
     {"merge-engine", "aggregation", "fields.v.aggregate-function", "sum", "fields.v.ignore-retract", "true",
      "aggregation.remove-record-on-delete", "true"},
     "conflicting behavior"},
    {"wrong flag",
     ROW_VGH,
     {"merge-engine", "aggregation", "fields.v.aggregate-function", "sum", "fields.v.ignore-retract", "maybe"},
     "fields.v.ignore-retract"},
    {"groups that share a sequence column",
     ROW_VGH,
     {"merge-engine", "partial-update", "fields.g.sequence-group", "v", "fields.g,h.sequence-group", "w"},
     "defined repeatedly"},
    {"projection without a group's member",
     "ROW<k INT NOT NULL, g INT>",
     {"merge-engine", "partial-update", "fields.g.sequence-group", "v"},
     NULL},
    {"projection without the group",
     "ROW<k INT NOT NULL, f INT>",
     {"merge-engine", "partial-update", "fields.g.sequence-group", "v", "partial-update.remove-record-on-sequence-group", "g"},
     NULL},
    {"projection without the sequence column",
     "ROW<k INT NOT NULL, v INT, g INT>",
     {"merge-engine", "partial-update", "fields.g,h.sequence-group", "v"},
     "not all of its sequence columns are read"},
};

static void engines_refuse_what_they_cannot_do(void **state)
{
    (void)state;
    for (size_t i = 0; i < TL_ARRAY_LEN(engines); i++) {
        const refusal *r = &engines[i];
        tl_error err = {0};
        tl_merge_engine *engine = NULL;
        const tl_type *type = test_type(r->type);
        tl_options options = make_options(r->options);
        tl_status status = tl_merge_engine_create(type, &key_column, 1, &options, &engine, &err);
        if (status != (r->message == NULL ? TL_OK : TL_E_INVALID) ||
            (r->message != NULL && strstr(err.message, r->message) == NULL))
            fail_msg("%s: %s '%s'", r->name, tl_status_name(status), err.message);
        tl_merge_engine_unref(engine);
        tl_options_deinit(&options);
        tl_type_unref(type);
    }
}

static void failing_allocations_are_errors(void **state)
{
    (void)state;
    const tl_type *type = test_type(ROW_VGH);
    static const char *const pairs[] = {"merge-engine",
                                        "partial-update",
                                        "fields.g.sequence-group",
                                        "v,l",
                                        "fields.h.sequence-group",
                                        "w,s",
                                        "fields.s.aggregate-function",
                                        "listagg",
                                        "fields.l.aggregate-function",
                                        "collect",
                                        "sequence.field",
                                        "v",
                                        "partial-update.remove-record-on-sequence-group",
                                        "g",
                                        NULL};
    tl_options options = make_options(pairs);
    for (uint64_t nth = 1;; nth++) {
        tl_error err = {0};
        tl_merge_engine *engine = NULL;
        tl_alloc_fail_at(nth);
        tl_status status = tl_merge_validate(type, &key_column, 1, &options, &err);
        if (status == TL_OK)
            status = tl_merge_engine_create(type, &key_column, 1, &options, &engine, &err);
        tl_alloc_fail_at(0);
        tl_merge_engine_unref(engine);
        if (status == TL_OK)
            break;
        assert_int_equal(status, TL_E_NOMEM);
    }
    tl_options_deinit(&options);
    tl_type_unref(type);
}

/* Columns needed for `wanted` (a letter each), as letters. */
static void check_needed(const char *const *pairs, const char *wanted, const char *needed)
{
    tl_error err;
    const tl_type *type = test_type(ROW_VGH);
    tl_options options = make_options(pairs);
    bool want[16] = {0}, need[16] = {0};
    for (int32_t c = 0; c < type->n_fields; c++)
        want[c] = strchr(wanted, type->fields[c].name[0]) != NULL;
    assert_ok(tl_merge_required_columns(type, &options, want, need, &err), &err);
    for (int32_t c = 0; c < type->n_fields; c++)
        if (need[c] != (strchr(needed, type->fields[c].name[0]) != NULL))
            fail_msg("wanted %s: column %s %s", wanted, type->fields[c].name, need[c] ? "is needed" : "is not needed");
    tl_options_deinit(&options);
    tl_type_unref(type);
}

static void a_projection_reads_the_sequence_columns(void **state)
{
    (void)state;
    static const char *const plain[] = {NULL};
    static const char *const sequence[] = {"sequence.field", "g, h", NULL};
    static const char *const groups[] = {
        "merge-engine", "partial-update", "fields.g.sequence-group", "v", "fields.h,s.sequence-group", "w", NULL};
    static const char *const removing[] = {"merge-engine",
                                           "partial-update",
                                           "fields.g.sequence-group",
                                           "v",
                                           "fields.h.sequence-group",
                                           "w",
                                           "partial-update.remove-record-on-sequence-group",
                                           "g",
                                           NULL};
    check_needed(plain, "v", "");
    check_needed(sequence, "v", "gh");
    check_needed(groups, "v", "g");
    check_needed(groups, "w", "hs");
    check_needed(groups, "vw", "ghs");
    check_needed(groups, "l", "");
    check_needed(groups, "h", "hs");
    /* Without g, deletes of its group would not be seen. */
    check_needed(removing, "l", "g");
    check_needed(removing, "w", "gh");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_are_refused_as_the_reference_does),
        cmocka_unit_test(engines_refuse_what_they_cannot_do),
        cmocka_unit_test(failing_allocations_are_errors),
        cmocka_unit_test(a_projection_reads_the_sequence_columns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
