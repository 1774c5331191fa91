/* Values that the source 'datagen' makes up, by type and options. Java: RandomGeneratorVisitor, SequenceGeneratorVisitor of Flink's datagen. */
#ifndef TL_CONNECT_GENERATED_H
#define TL_CONNECT_GENERATED_H

#include "base/map.h"
#include "connect/connect_private.h"

typedef struct tl_generated tl_generated;
struct tl_generated {
    const tl_type *type; /* borrowed */
    tl_generated *children;
    int32_t n_children;
    bool is_sequence;
    int64_t min, max;       /* whole numbers; of a sequence: start and end */
    double min_real, max_real; /* FLOAT, DOUBLE, DECIMAL */
    int64_t length;         /* characters, bytes, elements */
    bool any_length;        /* at most so many */
    double null_rate;
    int64_t past_ms;        /* timestamps: at most so long ago */
};

/** Options `fields.NAME.*` of one column and, below it, of its parts; what is taken is noted in `used`. */
tl_status tl_generated_init(tl_generated *gen, const char *name, const tl_type *type, const tl_options *options, tl_map *used, tl_error *err);
void tl_generated_deinit(tl_generated *gen);
/** Append the value of a row of column `column`: a function of both and of the moment alone. `text` is room for strings. */
tl_status tl_generated_add(const tl_generated *gen, int64_t row, int32_t column, int64_t now_ms, tl_buf *text, tl_builder *builder);

#endif
