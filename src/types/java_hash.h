/*
 * Java's hashes of values, and the order in which its hash tables give what they hold (java_hash.c). The reference writes some of
 * its files in that order.
 */
#ifndef TL_TYPES_JAVA_HASH_H
#define TL_TYPES_JAVA_HASH_H

#include "types/column.h"

/** hashCode() of a value as the reference holds it (BinaryString, Timestamp, BigDecimal …); 0 for NULL. Scalars without BINARY. */
int32_t tl_java_hash(const tl_column *col, int64_t i);
/** Long.hashCode(). */
int32_t tl_java_hash_long(int64_t v);
/** The reference's BinaryString.hashCode(). */
int32_t tl_java_hash_string(tl_bytes_view text);
/** java.lang.String.hashCode() of a UTF-8 text. */
int32_t tl_java_hash_text(tl_bytes_view text);
/** How keys came into a hash table. */
typedef enum tl_java_fill {
    TL_JAVA_PUT,         /* put(): keys of one place in order of arrival */
    TL_JAVA_COMPUTE,     /* computeIfAbsent(): the newest one first; a table is too full for the call after the one that fills it */
    TL_JAVA_COMPUTE_LAST /* the same, and no call came after the one that brought the last key */
} tl_java_fill;
/** The order in which a HashMap gives `n` keys: order[k] is the number of the k-th. `order` has room for n. */
tl_status tl_java_order(const int32_t *hashes, uint32_t n, tl_java_fill fill, uint32_t *order, tl_error *err);

#endif
