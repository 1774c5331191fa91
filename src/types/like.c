/*
 * LIKE: % is any text, _ is one code point, \ takes the special meaning from %, _ and itself.
 */
#include "types/predicate_private.h"

bool tl_like__valid(tl_bytes_view pattern)
{
    for (size_t i = 0; i < pattern.len; i++) {
        if (pattern.data[i] != '\\')
            continue;
        i++;
        if (i == pattern.len || (pattern.data[i] != '%' && pattern.data[i] != '_' && pattern.data[i] != '\\'))
            return false;
    }
    return true;
}

/* Bytes of the code point that starts at `i`; 1 for bytes that are no UTF-8. */
static size_t code_point_bytes(tl_bytes_view text, size_t i)
{
    size_t n = 1;
    if (text.data[i] >= 0xc0)
        while (n < 4 && i + n < text.len && (text.data[i + n] & 0xc0) == 0x80)
            n++;
    return n;
}

/*
 * Greedy with one point of return: after a mismatch only the last % has to be widened, as an earlier one could only give a
 * match that the last one finds as well. Time is at most the product of the lengths.
 */
bool tl_like__match(tl_bytes_view text, tl_bytes_view pattern)
{
    size_t t = 0, p = 0;
    size_t return_t = 0, return_p = SIZE_MAX;
    while (t < text.len) {
        if (p < pattern.len && pattern.data[p] == '%') {
            return_p = ++p;
            return_t = t;
            continue;
        }
        if (p < pattern.len && pattern.data[p] == '_') {
            t += code_point_bytes(text, t);
            p++;
            continue;
        }
        size_t literal = p + (p < pattern.len && pattern.data[p] == '\\');
        if (literal < pattern.len && pattern.data[literal] == text.data[t]) {
            t++;
            p = literal + 1;
            continue;
        }
        if (return_p == SIZE_MAX)
            return false;
        return_t += code_point_bytes(text, return_t);
        t = return_t;
        p = return_p;
    }
    while (p < pattern.len && pattern.data[p] == '%')
        p++;
    return p == pattern.len;
}

bool tl_like__prefix(tl_bytes_view pattern, uint8_t *prefix, size_t *prefix_len)
{
    size_t n = 0;
    for (size_t i = 0; i < pattern.len; i++) {
        if (pattern.data[i] == '%' || pattern.data[i] == '_') {
            *prefix_len = n;
            return false;
        }
        if (pattern.data[i] == '\\' && i + 1 < pattern.len)
            i++;
        prefix[n++] = pattern.data[i];
    }
    *prefix_len = n;
    return true;
}
