/* Time zones by name, with their rules. */
#ifndef TL_TYPES_TZ_H
#define TL_TYPES_TZ_H

#include "base/error.h"
#include "base/mem.h"

typedef struct tl_tz tl_tz;

/** "UTC", "Europe/Berlin", "+02:00", "GMT+8"; TL_E_NOT_FOUND. Cached for the life of the process. */
tl_status tl_tz_find(tl_bytes_view name, const tl_tz **out, tl_error *err);
/** Offset from UTC in milliseconds at an instant. */
int64_t tl_tz_offset_ms(const tl_tz *zone, int64_t utc_ms);
/** Instant of a local time: the earlier of two, the later side of a gap (java.time). */
int64_t tl_tz_to_utc_ms(const tl_tz *zone, int64_t local_ms);
const char *tl_tz_name(const tl_tz *zone);

#endif
