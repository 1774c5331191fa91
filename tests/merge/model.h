/*
 * A model of the merge engines, record by record and value by value, written from the description of the reference and
 * sharing nothing with the engine under test: slow and plain.
 */
#ifndef TL_TESTS_MERGE_MODEL_H
#define TL_TESTS_MERGE_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#define MODEL_COLUMNS 12
#define MODEL_ITEMS 96

/* Kinds of columns. */
typedef enum model_type { M_INT, M_BOOL, M_STRING, M_ARRAY, M_MAP } model_type;

typedef struct model_value {
    bool null;
    int64_t num; /* M_INT, M_BOOL */
    char text[400];
    int n; /* M_ARRAY: items; M_MAP: items -> values */
    int32_t items[MODEL_ITEMS];
    int32_t values[MODEL_ITEMS];
} model_value;

typedef struct model_record {
    int32_t key;
    uint8_t kind; /* tl_row_kind */
    int64_t seq;
    model_value cols[MODEL_COLUMNS];
} model_record;

typedef enum model_engine { M_DEDUPLICATE, M_PARTIAL_UPDATE, M_AGGREGATION, M_FIRST_ROW } model_engine;

typedef struct model_column {
    model_type type;
    const char *fn; /* aggregate function, NULL: none */
    bool ignore_retract;
    bool distinct;
    int group;        /* sequence group, -1: none */
    bool is_sequence; /* sequence column of its group */
} model_column;

typedef struct model {
    model_engine engine;
    int n_cols;
    model_column cols[MODEL_COLUMNS];
    int n_groups;
    bool group_removes[4];
    bool ignore_delete;
    bool remove_on_delete;
    int n_sequence_fields; /* sequence.field */
    int sequence_fields[4];
    bool sequence_descending;
} model;

/** Orders the records of one key for merging (stable). */
void model_order(const model *m, model_record **records, int n);
/** Merges the records of one key. */
model_record model_merge(const model *m, model_record *const *records, int n, bool always_call);

#endif
