/*
 * Hash map from byte strings to pointers (open addressing), and an ordered string → string table for options.
 */
#ifndef TL_BASE_MAP_H
#define TL_BASE_MAP_H

#include "base/mem.h"

/** Keys are copied. Zero-initialise; tl_map_deinit() releases (values are the caller's). */
typedef struct tl_map {
    struct tl_map_slot *slots;
    size_t cap; /* power of two */
    size_t count;
} tl_map;

void tl_map_deinit(tl_map *map);
/** Value of the key, NULL if absent (store non-NULL values). */
void *tl_map_get(const tl_map *map, const void *key, size_t key_bytes);
/** Insert or replace; *old (may be NULL) receives the replaced value. */
tl_status tl_map_put(tl_map *map, const void *key, size_t key_bytes, void *value, void **old);
/** Remove; returns the value or NULL. */
void *tl_map_remove(tl_map *map, const void *key, size_t key_bytes);
/** Iterate: start with *pos = 0; false at the end. Order is unspecified. */
bool tl_map_next(const tl_map *map, size_t *pos, tl_bytes_view *key, void **value);

/** Options: string → string in order of insertion; keys are unique. Zero-initialise. */
typedef struct tl_options {
    char **keys;
    char **values;
    size_t count;
    size_t cap;
} tl_options;

void tl_options_deinit(tl_options *options);
const char *tl_options_get(const tl_options *options, const char *key); /* NULL if absent */
tl_status tl_options_set(tl_options *options, const char *key, const char *value);
bool tl_options_remove(tl_options *options, const char *key);
tl_status tl_options_dup(const tl_options *from, tl_options *to);

#endif
