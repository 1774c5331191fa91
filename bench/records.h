/*
 * The benchmark's input: fixed-width little-endian records that every peer reads for next to nothing, made by gen.c. For
 * Tidelake they become Arrow batches, as a source's rows would come.
 */
#ifndef TL_BENCH_RECORDS_H
#define TL_BENCH_RECORDS_H

#include <stdint.h>

#include <tidelake/arrow_abi.h>

/** An order-status change stream. 120 bytes. */
typedef struct __attribute__((packed)) order_record {
    int64_t order_id;
    int64_t amount;     /* unscaled DECIMAL(12, 2) */
    int64_t updated_at; /* milliseconds since 1970, rising */
    int32_t city;       /* 0..199, a function of the key */
    int32_t label[8];
    uint16_t broker;  /* 0..9999, a function of the key: "broker_%05d" */
    uint8_t status;   /* 0..7: a name */
    uint8_t nulls;    /* bit i: label i is NULL (about 30%) */
    uint8_t note_len; /* 32..48 */
    uint8_t pad[7];
    char note[48];
} order_record;

/** Two streams that fill different columns of one wide table. 144 bytes. */
typedef struct __attribute__((packed)) wide_record {
    int64_t k;
    int64_t seq;
    int32_t i[6];
    int64_t l[3];
    double d[3];
    uint8_t stream; /* 0: the columns a…, 1: the columns b… (which have d[2] not) */
    uint8_t s_len[2];
    uint8_t pad[5];
    char s[2][24];
} wide_record;

/** A mapped record file. */
typedef struct records {
    const uint8_t *data;
    int64_t n;
    int wide;
} records;

/** Exits with a message if the file is not there. */
records records_open(const char *path, int wide);
/** The table's description for tidelake_create_table(); `options` is the JSON text of further options ("" or ",\"k\":\"v\""…). */
const char *records_schema_json(int wide, int primary_key, const char *options);
/** Rows [from, from + n) as one Arrow batch that owns its memory, and the schema that goes with it (static; never released). */
void records_batch(const records *r, int64_t from, int64_t n, struct ArrowArray *out);
const struct ArrowSchema *records_arrow_schema(int wide);

#endif
