/*
 * Data types: Paimon's type system, immutable and reference counted.
 *
 * Text forms (`DECIMAL(10, 2) NOT NULL`) and JSON forms of nested types are those of schema files: format reference §2,
 * Java: DataTypeJsonParser, DataField.
 */
#ifndef TL_TYPES_TYPE_H
#define TL_TYPES_TYPE_H

#include "base/json.h"
#include "base/mem.h"

typedef enum tl_type_kind {
    TL_BOOLEAN,
    TL_TINYINT,
    TL_SMALLINT,
    TL_INT,
    TL_BIGINT,
    TL_FLOAT,
    TL_DOUBLE,
    TL_DECIMAL,
    TL_CHAR,
    TL_VARCHAR, /* STRING is VARCHAR(TL_LENGTH_MAX) */
    TL_BINARY,
    TL_VARBINARY, /* BYTES is VARBINARY(TL_LENGTH_MAX) */
    TL_DATE,
    TL_TIME,
    TL_TIMESTAMP,
    TL_TIMESTAMP_LTZ,
    TL_ARRAY,
    TL_MAP,
    TL_MULTISET,
    TL_ROW,
    TL_VARIANT,
    TL_BLOB,
    TL_VECTOR, /* a list of a fixed number of numbers or BOOLEANs, none of them NULL */
    TL_TYPE_KIND_COUNT
} tl_type_kind;

#define TL_LENGTH_MAX 2147483647
#define TL_TYPE_DEPTH_MAX 64
#define TL_TYPE_FIELDS_MAX 100000

/**
 * How values of a type lie in a column (column.h).
 * DECIMAL p<=18 is I64 (unscaled), above I128. TIMESTAMP/LTZ p<=3 is I64 milliseconds, p<=6 I64 microseconds, above TS96.
 * DATE is I32 (epoch day), TIME I32 (milliseconds of day). BOOLEAN is one byte, 0 or 1.
 */
typedef enum tl_phys {
    TL_PHYS_BOOL,
    TL_PHYS_I8,
    TL_PHYS_I16,
    TL_PHYS_I32,
    TL_PHYS_I64,
    TL_PHYS_I128,
    TL_PHYS_F32,
    TL_PHYS_F64,
    TL_PHYS_TS96, /* struct tl_ts96: 16 bytes */
    TL_PHYS_BYTES, /* offsets + data */
    TL_PHYS_LIST,  /* offsets + 1 child: ARRAY, VECTOR */
    TL_PHYS_MAP,   /* offsets + 2 children (key, value): MAP, MULTISET (value INT NOT NULL) */
    TL_PHYS_ROW    /* n children: ROW; VARIANT (2 BYTES children: value, metadata) */
} tl_phys;

/** TIMESTAMP(7..9): floor-divided, so 0 <= nanos < 1000000. */
typedef struct tl_ts96 {
    int64_t millis;
    int32_t nanos; /* of the millisecond */
    int32_t zero;
} tl_ts96;

typedef __int128 tl_i128;

typedef struct tl_type tl_type;

typedef struct tl_field {
    char *name;
    int32_t id; /* schema field id; -1 where there is none (elements of ARRAY, MAP, MULTISET) */
    const tl_type *type;
    char *description;   /* NULL if none */
    char *default_value; /* NULL if none */
} tl_field;

struct tl_type {
    tl_type_kind kind;
    bool nullable;
    int32_t length;    /* CHAR, VARCHAR, BINARY, VARBINARY; VECTOR: elements of a value */
    int32_t precision; /* DECIMAL, TIME, TIMESTAMP, TIMESTAMP_LTZ */
    int32_t scale;     /* DECIMAL */
    /* ARRAY, VECTOR: 1 ("element"); MAP: 2 ("key", "value"); MULTISET: 2 ("element", INT NOT NULL "count"); ROW: its fields;
     * VARIANT: 2 (BYTES NOT NULL "value", "metadata"), so that code over columns needs no special case */
    int32_t n_fields;
    tl_field *fields;
    int32_t depth; /* 1 for scalars; at most TL_TYPE_DEPTH_MAX, so recursion over types and columns is bounded */
    int refs;      /* atomic; private to type.c */
};

const tl_type *tl_type_ref(const tl_type *type);
void tl_type_unref(const tl_type *type); /* NULL is fine */
static inline void tl_type_unrefp(const tl_type **type)
{
    tl_type_unref(*type);
}

/**
 * Scalar type. `a` = length or precision, `b` = scale; ignored by types without them.
 * TL_E_INVALID if they are out of range (length >= 1, DECIMAL precision 1..38 and scale 0..precision, times 0..9).
 */
tl_status tl_type_create(tl_type_kind kind, bool nullable, int32_t a, int32_t b, const tl_type **out, tl_error *err);
tl_status tl_type_create_array(bool nullable, const tl_type *element, const tl_type **out, tl_error *err);
/** `length` >= 1 elements of a number type without DECIMAL, or of BOOLEAN. Its values have exactly that many, whose type may be nullable but
 * which are not: tl_vectors_check(). */
tl_status tl_type_create_vector(bool nullable, int32_t length, const tl_type *element, const tl_type **out, tl_error *err);
/** The ARRAY of a VECTOR's elements, of the same nullability. */
tl_status tl_type_array_of_vector(const tl_type *vector, const tl_type **out, tl_error *err);
/** The type with an ARRAY for each VECTOR in it, at any depth: what columns are retyped to for those who know no vectors. */
tl_status tl_type_vectors_as_arrays(const tl_type *type, const tl_type **out, tl_error *err);
tl_status tl_type_create_map(bool nullable, const tl_type *key, const tl_type *value, const tl_type **out, tl_error *err);
tl_status tl_type_create_multiset(bool nullable, const tl_type *element, const tl_type **out, tl_error *err);
/** Fields are copied (texts dup'ed, types ref'ed). TL_E_LIMIT beyond TL_TYPE_DEPTH_MAX or TL_TYPE_FIELDS_MAX, as for the others. */
tl_status tl_type_create_row(bool nullable, const tl_field *fields, int32_t n_fields, const tl_type **out, tl_error *err);
/** The same type with another nullability. */
tl_status tl_type_with_nullable(const tl_type *type, bool nullable, const tl_type **out, tl_error *err);
/** A ROW of some fields of `row`, by index; the nullability is that of `row`. */
tl_status tl_type_project(const tl_type *row, const int32_t *indices, int32_t n, const tl_type **out, tl_error *err);

/** Parse the text form, nested ones included (`ROW<a INT, b STRING>`, `ARRAY<INT> NOT NULL`), any case, all aliases of §2. */
tl_status tl_type_parse(tl_bytes_view text, const tl_type **out, tl_error *err);
/** From a schema file: a string or, for nested types, an object. */
tl_status tl_type_from_json(const tl_json *json, const tl_type **out, tl_error *err);
void tl_type_to_json(const tl_type *type, tl_json_writer *w);
/** The fields of a ROW as the array of a schema file: id, name, type and, where given, description and defaultValue. */
void tl_fields_to_json(const tl_type *row, tl_json_writer *w);
/** Text as the reference prints it; appended to buf. */
tl_status tl_type_format(const tl_type *type, tl_buf *buf);

/** Equal in kind, parameters, children's names and types; nullability counts only if asked. Ids do not count. */
bool tl_type_equal(const tl_type *a, const tl_type *b, bool with_nullable);
/** Equal in all but nullability, ids of fields included: files of either hold the same columns. */
bool tl_type_same(const tl_type *a, const tl_type *b);
tl_phys tl_type_phys(const tl_type *type);
/** Bytes of one value for fixed-width kinds; 0 for BYTES, LIST, MAP, ROW. */
int tl_phys_width(tl_phys phys);
/** Index of a field of a ROW by name, -1 if absent. */
int32_t tl_type_field_index(const tl_type *row, const char *name);
int32_t tl_type_field_index_by_id(const tl_type *row, int32_t id);

#endif
