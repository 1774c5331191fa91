/*
 * Folders outside the table that new data and changelog files are written to (options `data-file.external-paths…`): a file lies in
 * FOLDER/PARTITION/bucket-N as it would in the table's folder, and its manifest entry has the whole path.
 * Java: AbstractFileStore#createExternalPaths, ExternalPathProvider and its kinds.
 *
 * Reading goes by the recorded path alone: the options may have changed since.
 */
#include "lsm/lsm_private.h"

#include <stdatomic.h>

#include "base/parse.h"

typedef enum strategy { ROUND_ROBIN, WEIGHTED, ENTROPY_INJECT } strategy;

struct tl_lsm__external {
    strategy strategy;
    int32_t n;
    char **roots;       /* local paths, without scheme and last slash */
    uint64_t *weights;  /* WEIGHTED: sums up to each root */
    _Atomic uint64_t turn;
};

void tl_lsm__external_free(tl_lsm__external *external)
{
    if (external == NULL)
        return;
    for (int32_t i = 0; external->roots != NULL && i < external->n; i++)
        tl_free(external->roots[i]);
    tl_free(external->roots);
    tl_free(external->weights);
    tl_free(external);
}

/* ---- options ---- */

static tl_status add_root(tl_lsm__external *external, tl_bytes_view uri, const char *only_scheme, tl_error *err)
{
    const char *text = (const char *)uri.data, *colon = memchr(text, ':', uri.len);
    if (colon == NULL)
        return tl_error_set(err, TL_E_INVALID, "option 'data-file.external-paths': '%.*s' has no scheme; write file:%.*s", (int)uri.len, text,
                            (int)uri.len, text);
    size_t scheme = (size_t)(colon - text);
    if (only_scheme != NULL && (strlen(only_scheme) != scheme || strncasecmp(only_scheme, text, scheme) != 0))
        return TL_OK;
    TL_CLEANUP(tl_freep) char *whole = tl_strf("%.*s", (int)uri.len, text);
    if (whole == NULL)
        return tl_nomem(err, "external paths");
    if (scheme != 4 || strncasecmp(text, "file", 4) != 0)
        return tl_error_set(err, TL_E_UNSUPPORTED, "option 'data-file.external-paths': '%s': only local folders (file:/…)", whole);
    char *path = tl_path_of_uri(whole);
    if (path == NULL)
        return tl_nomem(err, "external paths");
    external->roots[external->n++] = path;
    return *path == '/' ? TL_OK : tl_error_set(err, TL_E_INVALID, "option 'data-file.external-paths': '%s' is no absolute path", whole);
}

static tl_status parse_roots(tl_lsm__external *external, const char *paths, const char *only_scheme, tl_error *err)
{
    size_t most = 1;
    for (const char *p = paths; *p != '\0'; p++)
        most += *p == ',';
    external->roots = tl_calloc(most, sizeof *external->roots);
    if (external->roots == NULL)
        return tl_nomem(err, "external paths");
    tl_bytes_view piece;
    for (const char *at = paths; tl_list_next(&at, &piece);)
        TL_TRY(add_root(external, piece, only_scheme, err));
    return external->n > 0 ? TL_OK
                           : tl_error_set(err, TL_E_INVALID, "option 'data-file.external-paths': no path has the scheme '%s' of 'data-file.external-paths.specific-fs'",
                                          only_scheme);
}

static tl_status parse_weights(tl_lsm__external *external, const char *weights, tl_error *err)
{
    if (weights == NULL || external->n < 2) { /* as the reference: in turn */
        external->strategy = ROUND_ROBIN;
        return TL_OK;
    }
    external->weights = tl_calloc((size_t)external->n, sizeof *external->weights);
    if (external->weights == NULL)
        return tl_nomem(err, "external paths");
    uint64_t sum = 0;
    int32_t n = 0;
    tl_bytes_view piece;
    for (const char *at = weights; tl_list_next(&at, &piece); n++) {
        int64_t weight = 0;
        TL_CLEANUP(tl_freep) char *text = tl_strf("%.*s", (int)piece.len, (const char *)piece.data);
        if (text == NULL)
            return tl_nomem(err, "external paths");
        if (tl_parse_int(text, 1, INT32_MAX, &weight, NULL) != TL_OK || n >= external->n)
            break;
        external->weights[n] = sum += (uint64_t)weight;
    }
    if (n == external->n)
        return TL_OK;
    return tl_error_set(err, TL_E_INVALID, "option 'data-file.external-paths.weights' = '%s': one positive number for each of the %d paths is expected", weights,
                        external->n);
}

static tl_status parse(tl_lsm__external *external, const tl_options *options, const char *kind, tl_error *err)
{
    const char *only_scheme = NULL;
    if (strcmp(kind, "specific-fs") == 0) {
        only_scheme = tl_options_get(options, "data-file.external-paths.specific-fs");
        if (only_scheme == NULL)
            return tl_error_set(err, TL_E_INVALID, "the strategy specific-fs of external paths needs option 'data-file.external-paths.specific-fs'");
    } else if (strcmp(kind, "weight-robin") == 0) {
        external->strategy = WEIGHTED;
    } else if (strcmp(kind, "entropy-inject") == 0) {
        external->strategy = ENTROPY_INJECT;
    } else if (strcmp(kind, "round-robin") != 0) {
        return tl_error_set(err, TL_E_INVALID, "option 'data-file.external-paths.strategy' = '%s': none, specific-fs, round-robin, weight-robin or entropy-inject",
                            kind);
    }
    TL_TRY(parse_roots(external, tl_options_get(options, "data-file.external-paths"), only_scheme, err));
    return external->strategy == WEIGHTED ? parse_weights(external, tl_options_get(options, "data-file.external-paths.weights"), err) : TL_OK;
}

tl_status tl_lsm__external_create(const tl_options *options, tl_lsm__external **out, tl_error *err)
{
    const char *paths = tl_options_get(options, "data-file.external-paths"), *kind = tl_options_get(options, "data-file.external-paths.strategy");
    *out = NULL;
    if (paths == NULL || *paths == '\0' || kind == NULL || strcmp(kind, "none") == 0)
        return TL_OK;
    tl_lsm__external *external = tl_calloc(1, sizeof *external);
    if (external == NULL)
        return tl_nomem(err, "external paths");
    tl_status status = parse(external, options, kind, err);
    if (status != TL_OK) {
        tl_lsm__external_free(external);
        return status;
    }
    char uuid[37];
    tl_uuid(uuid);
    atomic_init(&external->turn, (uint64_t)uuid[0] + (uint64_t)uuid[1]); /* writers begin at different folders */
    *out = external;
    return TL_OK;
}

/* ---- names ---- */

static uint32_t rotate(uint32_t v, int by)
{
    return v << by | v >> (32 - by);
}

/* MurmurHash3 x86 32 of a file name, seed 0 (Guava's murmur3_32). */
static uint32_t murmur3(const char *text)
{
    size_t len = strlen(text);
    uint32_t h = 0, k = 0;
    for (size_t i = 0; i < len; i++) {
        k |= (uint32_t)(uint8_t)text[i] << (8 * (i % 4));
        if (i % 4 != 3 && i + 1 < len)
            continue;
        h ^= rotate(k * 0xcc9e2d51u, 15) * 0x1b873593u;
        if (i % 4 == 3)
            h = rotate(h, 13) * 5 + 0xe6546b64u;
        k = 0;
    }
    h ^= (uint32_t)len;
    h = (h ^ h >> 16) * 0x85ebca6bu;
    h = (h ^ h >> 13) * 0xc2b2ae35u;
    return h ^ h >> 16;
}

/* The low 20 bits of a name's hash as folders of 4, 4, 4 and 8 binary digits, a slash behind each. */
static void entropy(const char *name, char out[25])
{
    uint32_t h = murmur3(name);
    char *at = out;
    for (int bit = 19; bit >= 0; bit--) {
        *at++ = (char)('0' + (h >> bit & 1));
        if (bit == 16 || bit == 12 || bit == 8 || bit == 0)
            *at++ = '/';
    }
    *at = '\0';
}

static const char *choose(tl_lsm__external *external)
{
    uint64_t turn = atomic_fetch_add_explicit(&external->turn, 1, memory_order_relaxed);
    if (external->strategy != WEIGHTED)
        return external->roots[turn % (uint64_t)external->n];
    int32_t i = 0;
    while (external->weights[i] <= turn % external->weights[external->n - 1])
        i++;
    return external->roots[i];
}

char *tl_lsm__external_next(const tl_lsm__bucket *bucket, const char *name)
{
    tl_lsm__external *external = bucket->config->external;
    const char *below = bucket->dir + strlen(bucket->config->paths.table); /* begins with a slash */
    char hash[25] = "";
    if (external->strategy == ENTROPY_INJECT)
        entropy(name, hash);
    return tl_strf("file:%s%s/%s%s", choose(external), below, hash, name);
}

bool tl_lsm_is_external(const tl_lsm_config *config, const char *path)
{
    for (int32_t i = 0; config->external != NULL && i < config->external->n; i++) {
        size_t len = strlen(config->external->roots[i]);
        if (strncmp(path, config->external->roots[i], len) == 0 && path[len] == '/' && tl_path_is_inside(path + len + 1))
            return true;
    }
    return false;
}
