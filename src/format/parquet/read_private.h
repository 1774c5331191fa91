/*
 * Parquet reader: what its files share.
 *
 *   read_file.c      opening: tail, footer, checks that the rest relies on
 *   read_schema.c    schema elements -> tree of nodes; lists, maps and rows in all their historical forms; tl_type of a node
 *   read_convert.c   which stored types can be read as which types, and the loops that do it
 *   read_page.c      pages of one column chunk: headers, decompression, dictionary; forward only, skipping cheaply
 *   read_sink.c      growing buffers for decoded values
 *   read_values.c    values of one page, by encoding
 *   read_leaf.c      rows of one stored column: levels and values
 *   read_field.c     a column of the result: which stored columns it is made of
 *   read_nested.c    levels -> offsets and validity of lists, maps and rows
 *   read_stats.c     statistics of a file as a whole
 *   read_prune.c     row groups and pages that cannot match, by statistics and page indexes
 *   read_bloom.c     ... by bloom filters
 *   read_rows.c      the reader: row groups as parts of a row reader (../row_reader.h)
 *
 * A *slot* is a place in a column, null or not; *dense* values are the non-null ones, as Parquet stores them.
 */
#ifndef TL_FORMAT_PARQUET_READ_PRIVATE_H
#define TL_FORMAT_PARQUET_READ_PRIVATE_H

#include "format/parquet/decode.h"
#include "format/parquet/parquet_private.h"
#include "format/row_reader.h"

/** Nesting of the schema; keeps levels in one byte and recursion bounded. */
#define TL_PQ_DEPTH_MAX 100
/** A page, compressed or not. Writers make pages of about 1 MiB; one value may be larger. */
#define TL_PQ_PAGE_BYTES_MAX ((int64_t)1 << 30)
/** Bytes of one string column in one batch (its offsets have 32 bits). */
#define TL_PQ_BATCH_BYTES_MAX ((int64_t)1 << 30)
/** Batches get fewer rows where a column's strings would take more than this. */
#define TL_PQ_BATCH_BYTES_AIM ((int64_t)64 << 20)
/** Elements of one nested column in one batch. */
#define TL_PQ_BATCH_LEVELS_MAX ((int64_t)256 << 20)
/** Batches get fewer rows where a nested column would have more elements than this. */
#define TL_PQ_BATCH_LEVELS_AIM ((int64_t)4 << 20)

/* ---- read_schema.c ---- */

typedef struct tl_pq_node tl_pq_node;
struct tl_pq_node {
    const tl_pq_schema_element *el;
    const tl_pq_node *parent; /* NULL for the root */
    int32_t n_children;
    tl_pq_node *children;
    uint8_t def;  /* definition level from which a value is there (for a repeated node: an entry) */
    uint8_t rep;  /* repetition level of its values */
    int32_t leaf; /* column number; of a group: of its first leaf */
};

/** What a node is once the historical forms of lists and maps are seen through. */
typedef enum tl_pq_form_kind { TL_PQ_FORM_LEAF, TL_PQ_FORM_LIST, TL_PQ_FORM_MAP, TL_PQ_FORM_ROW } tl_pq_form_kind;

/** A node as a value; `is_entry`: its repetition has been taken for a list's, so that it stands for one element. */
typedef struct tl_pq_view {
    const tl_pq_node *node;
    bool is_entry;
} tl_pq_view;

typedef struct tl_pq_form {
    tl_pq_form_kind kind;
    const tl_pq_node *node;  /* ROW: its children are the fields; LEAF */
    uint8_t valid_def;       /* not null from this definition level on */
    const tl_pq_node *entry; /* LIST, MAP: the repeated node */
    tl_pq_view element;      /* LIST: element; MAP: key */
    tl_pq_view value;        /* MAP */
} tl_pq_form;

/** Build the tree in `arena`; *leaves receives the leaf nodes in column order. */
tl_status tl_pq__schema_tree(const tl_pq_file_meta *meta, tl_arena *arena, tl_pq_node **root, tl_pq_node ***leaves,
                             int32_t *n_leaves, tl_error *err);
tl_status tl_pq__form(tl_pq_view view, tl_pq_form *out, tl_error *err);
/** The type that the file's own schema gives a node. */
tl_status tl_pq__node_type(tl_pq_view view, const tl_type **out, tl_error *err);
const tl_pq_node *tl_pq__child(const tl_pq_node *node, const char *name);
/** "a.list.element" for messages; cut to the buffer. */
void tl_pq__node_path(const tl_pq_node *node, char *buf, size_t buf_bytes);
#define TL_PQ_PATH_BYTES 160

/* ---- read_convert.c ---- */

/** LogicalType of a leaf, taken from ConvertedType where only that is there; kind NONE if it has no annotation. */
tl_pq_logical tl_pq__annotation(const tl_pq_schema_element *el);
/** The type that stands for a stored one: kind and parameters of tl_type_create(). False if there is none. */
bool tl_pq__natural_type(const tl_pq_schema_element *el, tl_type_kind *kind, int32_t *a, int32_t *b);
/** "INT64 (TIMESTAMP NANOS)" for messages. */
void tl_pq__type_text(const tl_pq_schema_element *el, char *buf);
#define TL_PQ_TYPE_BYTES 80

/** How one leaf's stored values become values of the requested type. */
typedef struct tl_pq_conversion tl_pq_conversion;
/** `n` dense values; src and dst may not overlap. Values that do not fit are TL_E_INVALID. */
typedef tl_status (*tl_pq_convert_fn)(const tl_pq_conversion *conv, const void *src, void *dst, int64_t n, tl_error *err);
/** As above from strings of any length (decimals in BYTE_ARRAY): value i is data[offsets[i]..offsets[i+1]). */
typedef tl_status (*tl_pq_convert_bytes_fn)(const tl_pq_conversion *conv, const int32_t *offsets, const uint8_t *data,
                                            void *dst, int64_t n, tl_error *err);
struct tl_pq_conversion {
    int src_width;                  /* stored bytes of a value (BOOLEAN: 1); 0: BYTE_ARRAY */
    int dst_width;                  /* tl_phys_width of the target; 0: BYTES */
    tl_pq_convert_fn fixed;         /* NULL: stored values are the target's */
    tl_pq_convert_bytes_fn strings; /* src_width 0, dst_width > 0 */
    /* parameters of the loops */
    int64_t divide;   /* units of the file in one of the target; 1 */
    int64_t multiply; /* units of the target in one of the file; 1 */
    tl_i128 rescale;  /* decimals: factor to the target's scale */
    tl_i128 limit;    /* decimals: 10^precision of the target; integers: bounds */
    int64_t int_min, int_max;
    bool is_order_kept; /* bounds in statistics can be converted like values */
};
/** TL_E_UNSUPPORTED names both types. `el` is a leaf. */
tl_status tl_pq__conversion(const tl_pq_schema_element *el, const tl_type *target, tl_pq_conversion *out, tl_error *err);

/* ---- read_file.c ---- */

typedef struct tl_pq_file {
    tl_format__input in;
    tl_arena arena;
    tl_bytes footer; /* owned unless mapped */
    tl_pq_file_meta meta;
    tl_pq_node *root;
    tl_pq_node **leaves;
    int32_t n_leaves;
} tl_pq_file;

/** `bytes` <= 0: ask the file system. */
tl_status tl_pq__file_open(tl_fs *fs, const char *path, int64_t bytes, tl_pq_file *out, tl_error *err);
void tl_pq__file_close(tl_pq_file *file);
/** A piece of the file that is looked at as a whole (indexes, bloom filters), as tl_format__input_piece() gives it. */
tl_status tl_pq__file_piece(const tl_pq_file *file, int64_t offset, int64_t bytes, tl_bytes_view *out, uint8_t **owned,
                            tl_error *err);

/* ---- read_page.c ---- */

/** Dense values of a dictionary, already in the target's form. */
typedef struct tl_pq_dictionary {
    int32_t n;
    uint8_t *values;   /* dst_width > 0 */
    int32_t *offsets;  /* dst_width == 0 */
    uint8_t *data;     /* with TL_PQ_SLACK bytes behind */
    int32_t max_bytes; /* of the longest string */
} tl_pq_dictionary;

/** The three parts of a data page, decompressed. Each is readable TL_PQ_SLACK bytes beyond its end. */
typedef struct tl_pq_page {
    tl_pq_page_header header;
    tl_bytes_view rep;
    tl_bytes_view def;
    tl_bytes_view values;
} tl_pq_page;

/** Forward cursor over the data pages of one column chunk. */
typedef struct tl_pq_pages {
    tl_pq_file *file;
    const tl_pq_node *node;
    const tl_pq_conversion *conv; /* NULL: levels only, no values are wanted */
    const tl_pq_column_chunk *chunk;
    tl_codec codec;
    const tl_pq_offset_index *index; /* NULL: pages are found by walking over their headers */
    int32_t index_next;              /* next page in `index` */
    int64_t group_rows;
    int64_t pos;         /* file offset of the next header */
    int64_t released;    /* mapped bytes of the chunk up to here have been given back */
    int64_t values_seen; /* levels of the pages so far */
    bool has_peeked;     /* `header` is that of the page at `pos` */
    tl_pq_page_header header;
    size_t header_bytes;
    bool has_dictionary; /* its page has been passed */
    bool is_dictionary_loaded;
    int64_t dictionary_pos;
    tl_pq_dictionary dictionary;
    /* window: bytes of the file around `pos`, where the file is not mapped */
    uint8_t *window;
    size_t window_cap;
    int64_t window_from;
    int64_t window_bytes;
    /* decompressed page */
    uint8_t *page;
    size_t page_cap;
} tl_pq_pages;

void tl_pq__pages_init(tl_pq_pages *pages, tl_pq_file *file, const tl_pq_node *node, const tl_pq_conversion *conv);
void tl_pq__pages_deinit(tl_pq_pages *pages);
/** Start with a column chunk; buffers are kept. `index` (may be NULL) must outlive the chunk. */
tl_status tl_pq__pages_open(tl_pq_pages *pages, int32_t group, const tl_pq_offset_index *index, tl_error *err);
/** Header of the next data page in pages->header, without touching its body; *more is false behind the last. */
tl_status tl_pq__pages_peek(tl_pq_pages *pages, bool *more, tl_error *err);
/** Read the dictionary of the chunk, if there is one and it was passed; between peek and load. */
tl_status tl_pq__pages_load_dictionary(tl_pq_pages *pages, tl_error *err);
/** Step over the peeked page. */
void tl_pq__pages_skip(tl_pq_pages *pages);
/** Read and decompress the peeked page; valid until the next call. */
tl_status tl_pq__pages_load(tl_pq_pages *pages, tl_pq_page *out, tl_error *err);
/** With an index: go on with the page that holds `row` of the row group; *first_row is its first row. Never backwards. */
tl_status tl_pq__pages_seek(tl_pq_pages *pages, int64_t row, int64_t *first_row, tl_error *err);

/* ---- read_sink.c ---- */

/** Growing dense values of the target type. */
typedef struct tl_pq_sink {
    int width; /* 0: BYTES */
    int64_t len;
    int64_t cap;
    uint8_t *values;
    int32_t *offsets; /* BYTES: [0..len], room for cap + 1 */
    uint8_t *data;    /* TL_PQ_SLACK bytes more than data_cap */
    int64_t data_len;
    int64_t data_cap;
} tl_pq_sink;

void tl_pq__sink_deinit(tl_pq_sink *sink);
/** Room for `extra` more values. */
tl_status tl_pq__sink_reserve(tl_pq_sink *sink, int64_t extra, tl_error *err);
/** Room for `extra` more bytes of strings; TL_E_LIMIT beyond TL_PQ_BATCH_BYTES_MAX. */
tl_status tl_pq__sink_reserve_data(tl_pq_sink *sink, int64_t extra, tl_error *err);

/* ---- read_values.c ---- */

/** Position in the values of one page. */
typedef struct tl_pq_values {
    const tl_pq_conversion *conv;
    tl_pq_type type;
    tl_pq_encoding encoding; /* PLAIN_DICTIONARY is turned into RLE_DICTIONARY */
    const uint8_t *p;
    const uint8_t *end;
    int64_t pos;   /* values taken */
    int64_t count; /* BYTE_STREAM_SPLIT: values in the page */
    const tl_pq_dictionary *dictionary;
    bool is_index_safe; /* every index of this width is inside the dictionary */
    tl_pq_rle rle;
    tl_pq_delta delta;        /* values; lengths; prefix lengths */
    tl_pq_delta suffixes;     /* DELTA_BYTE_ARRAY */
    int64_t bytes_per_string; /* PLAIN: average of the last read, for the room of the next */
    tl_buf last;              /* DELTA_BYTE_ARRAY: the last value */
    /* scratch, kept from page to page */
    tl_buf raw;
    tl_buf indices;
    tl_pq_sink strings; /* stored strings that are converted */
} tl_pq_values;

void tl_pq__values_deinit(tl_pq_values *values);
/** Start with a page; `dictionary` may be NULL. */
tl_status tl_pq__values_open(tl_pq_values *values, const tl_pq_conversion *conv, const tl_pq_schema_element *el,
                             const tl_pq_page *page, const tl_pq_dictionary *dictionary, tl_error *err);
/** Append the next n dense values to the sink. */
tl_status tl_pq__values_read(tl_pq_values *values, int64_t n, tl_pq_sink *sink, tl_error *err);
tl_status tl_pq__values_skip(tl_pq_values *values, int64_t n, tl_error *err);
/** `n` PLAIN values into the target's form. */
tl_status tl_pq__values_plain(const tl_pq_conversion *conv, const tl_pq_schema_element *el, tl_bytes_view bytes, int64_t n,
                              tl_pq_dictionary *out, tl_error *err);
void tl_pq__dictionary_deinit(tl_pq_dictionary *dictionary);

/* ---- read_leaf.c ---- */

typedef struct tl_pq_leaf {
    const tl_pq_node *node;
    const tl_type *type; /* target; NULL: levels only */
    tl_pq_conversion conv;
    bool with_levels; /* keep def and rep: a nested column is built from them */
    tl_pq_pages pages;
    tl_pq_values values;
    int64_t group_rows;
    int64_t row;       /* next row of the row group */
    int64_t page_left; /* levels left in the current page, those decoded ahead excluded */
    tl_pq_rle def_rle, rep_rle;
    tl_buf def_unpacked, rep_unpacked; /* levels in the deprecated BIT_PACKED order, turned round */
    /* nested: levels decoded ahead; [ahead_pos, ahead_n) are not used yet */
    uint8_t *ahead_def, *ahead_rep;
    int64_t ahead_pos, ahead_n;
    /* result of the current batch */
    tl_pq_sink sink;
    uint8_t *validity; /* flat optional: bitmap over the batch's slots */
    size_t validity_cap;
    int64_t n_slots;
    uint8_t *def, *rep; /* nested: levels of the batch, with TL_PQ_SLACK bytes behind */
    int64_t n_levels;
    int64_t levels_cap;
} tl_pq_leaf;

tl_status tl_pq__read_leaf_init(tl_pq_leaf *leaf, tl_pq_file *file, const tl_pq_node *node, const tl_type *type,
                                bool with_levels, tl_error *err);
void tl_pq__read_leaf_deinit(tl_pq_leaf *leaf);
tl_status tl_pq__read_leaf_open_group(tl_pq_leaf *leaf, int32_t group, const tl_pq_offset_index *index, tl_error *err);
/** Read some rows of the row group, n_rows together and behind everything read before, into the leaf's result. */
tl_status tl_pq__read_leaf_rows(tl_pq_leaf *leaf, const tl_row_ranges *rows, int64_t n_rows, tl_error *err);
/** The result of a flat leaf as a column. */
tl_status tl_pq__read_leaf_take(tl_pq_leaf *leaf, tl_column **out, tl_error *err);
/**
 * How many rows a batch should have at most for this leaf. `with_dictionary` looks at the longest string of the dictionary,
 * which may mean to read it.
 */
tl_status tl_pq__read_leaf_rows_max(tl_pq_leaf *leaf, bool with_dictionary, int64_t *out, tl_error *err);

/* ---- read_field.c ---- */

typedef enum tl_pq_field_kind {
    TL_PQ_FIELD_MISSING, /* not in the file: NULL */
    TL_PQ_FIELD_LEAF,
    TL_PQ_FIELD_LIST, /* 1 child; MAP: 2 children */
    TL_PQ_FIELD_ROW,
    TL_PQ_FIELD_SHREDDED /* a VARIANT out of 1 child, the ROW of its parts */
} tl_pq_field_kind;

/** One column of the result, or a part of one. */
typedef struct tl_pq_field tl_pq_field;
struct tl_pq_field {
    const tl_type *type; /* borrowed from the read spec's row type */
    tl_pq_field_kind kind;
    tl_pq_leaf *leaf; /* LEAF: its values; LIST, ROW: any leaf below, for the levels */
    /* An entry of the leaf's levels is a slot here if rep <= slot_rep and def >= slot_def; it is valid if def >= valid_def. */
    uint8_t slot_rep, slot_def, valid_def;
    uint8_t entry_rep, entry_def; /* LIST: the same for its children's slots */
    int32_t n_children;
    tl_pq_field *children;
};

/** The leaves of one top-level column are read together. */
typedef struct tl_pq_column {
    tl_pq_field field;
    bool is_flat; /* one leaf without levels */
    int32_t n_leaves;
    tl_pq_leaf **leaves; /* owned */
    int32_t n_types;
    const tl_type **types; /* of shredded VARIANTs; refs held */
} tl_pq_column;

tl_status tl_pq__column_init(tl_pq_column *column, tl_pq_file *file, tl_arena *arena, const tl_field *field, tl_error *err);
void tl_pq__column_deinit(tl_pq_column *column);
tl_status tl_pq__column_read(tl_pq_column *column, const tl_row_ranges *rows, int64_t n_rows, tl_column **out, tl_error *err);

/* ---- read_variant.c ---- */

/** A group annotated as VARIANT, shredded or not. */
bool tl_pq__is_variant(const tl_pq_node *node);
/** The parts of a shredded VARIANT as a ROW for tl_variant_unshred(). TL_E_UNSUPPORTED: a group that is none. */
tl_status tl_pq__shredded_type(const tl_pq_node *node, const tl_type **out, tl_error *err);

/* ---- read_nested.c ---- */

tl_status tl_pq__assemble(const tl_pq_field *field, tl_column **out, tl_error *err);
/** A column of the type without buffers and children, to be filled. */
tl_status tl_pq__column_shell(const tl_type *type, int64_t length, int32_t n_children, tl_column **out, tl_error *err);

/* ---- read_prune.c ---- */

/** Which flat columns of the file stand for which columns of the predicate, and how their bounds are read. */
typedef struct tl_pq_pruner {
    tl_pq_file *file;
    const tl_type *row_type;
    const tl_predicate *predicate;
    bool *is_used;            /* per column of row_type: in the predicate */
    bool *is_missing;         /* per column: not in the file */
    const tl_pq_node **nodes; /* per column: its leaf; NULL: nested, missing or unused */
    tl_pq_conversion *conversions;
} tl_pq_pruner;

/** `row_type` and `predicate` must outlive the pruner; arrays live in `arena`. */
tl_status tl_pq__pruner_init(tl_pq_pruner *pruner, tl_pq_file *file, tl_arena *arena, const tl_type *row_type,
                             const tl_predicate *predicate, tl_error *err);
/** The same for the statistics of all columns, without a predicate. */
tl_status tl_pq__pruner_init_all(tl_pq_pruner *pruner, tl_pq_file *file, tl_arena *arena, const tl_type *row_type, tl_error *err);
/** Statistics of a row group's chunk of column `idx`; what cannot be trusted is not set. */
tl_status tl_pq__group_stats(const tl_pq_pruner *pruner, int32_t group, int32_t idx, tl_column_stats *out, tl_error *err);
/** *out is false only if no row of the row group can pass: by statistics, then by bloom filters. */
tl_status tl_pq__group_may_match(const tl_pq_pruner *pruner, int32_t group, bool *out, tl_error *err);
/**
 * Bounds as a column of the predicate's column `idx`: value i from values[i] as statistics store it, NULL where is_null[i]
 * (may be NULL). *out is NULL if they cannot be used.
 */
tl_status tl_pq__bounds_column(const tl_pq_pruner *pruner, int32_t idx, const tl_bytes_view *values, const bool *is_null,
                               int64_t n, tl_column **out, tl_error *err);
/** Whether min_value, max_value and the page index of a leaf follow the order of its type. */
bool tl_pq__is_order_known(const tl_pq_file *file, int32_t leaf);

/* ---- read_page_index.c ---- */

/** Rows in pages that may match: tl_row_ranges_deinit(). Without page indexes: all rows. */
tl_status tl_pq__group_ranges(const tl_pq_pruner *pruner, int32_t group, tl_row_ranges *out, tl_error *err);
/** Offset index of a chunk, checked, in `arena`; *out is NULL if there is none. */
tl_status tl_pq__offset_index(tl_pq_file *file, int32_t group, int32_t leaf, tl_arena *arena, const tl_pq_offset_index **out,
                              tl_error *err);

/* ---- read_bloom.c ---- */

/** *out is false if the bloom filters of a row group exclude every row. */
tl_status tl_pq__bloom_may_match(const tl_pq_pruner *pruner, int32_t group, bool *out, tl_error *err);

#endif
