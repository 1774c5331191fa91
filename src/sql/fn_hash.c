/* Digests, as lower-case hexadecimal text. */
#include <openssl/evp.h>

#include "sql/bind.h"

static tl_status digest_row(tl_kernel *k, int64_t i, const EVP_MD *md)
{
    tl_bytes_view v = tl_vec_bytes(&k->args[0], i);
    uint8_t digest[EVP_MAX_MD_SIZE];
    unsigned n = 0;
    if (md == NULL || EVP_Digest(v.len > 0 ? (const void *)v.data : "", v.len, digest, &n, md, NULL) != 1)
        return tl_error_set(k->err, TL_E_UNSUPPORTED, "%s: the system's crypto library does not give this digest", k->fn->name);
    for (unsigned b = 0; b < n; b++)
        if (tl_buf_appendf(&k->text, "%02x", digest[b]) != TL_OK)
            return tl_nomem(k->err, "batch");
    return TL_OK;
}

static tl_status hash_row(tl_kernel *k, int64_t i, bool *is_null)
{
    static const struct {
        const char *name;
        const EVP_MD *(*md)(void);
    } digests[] = {{"MD5", EVP_md5}, {"SHA1", EVP_sha1}, {"SHA224", EVP_sha224}, {"SHA256", EVP_sha256}, {"SHA384", EVP_sha384}, {"SHA512", EVP_sha512}};
    (void)is_null;
    for (size_t d = 0; d < TL_ARRAY_LEN(digests); d++)
        if (strcmp(digests[d].name, k->fn->name) == 0)
            return digest_row(k, i, digests[d].md());
    return TL_E_INTERNAL;
}

static tl_status hash_kernel(tl_kernel *k)
{
    return tl_kernel_text_rows(k, hash_row);
}

static tl_status sha2_row(tl_kernel *k, int64_t i, bool *is_null)
{
    (void)is_null;
    switch (TL_VEC(&k->args[1], int32_t, i)) {
    case 224:
        return digest_row(k, i, EVP_sha224());
    case 256:
        return digest_row(k, i, EVP_sha256());
    case 384:
        return digest_row(k, i, EVP_sha384());
    case 512:
        return digest_row(k, i, EVP_sha512());
    default:
        return tl_error_set(k->err, TL_E_INVALID, "Unsupported algorithm.");
    }
}

static tl_status sha2_kernel(tl_kernel *k)
{
    return tl_kernel_text_rows(k, sha2_row);
}

/** As many hexadecimal digits as the digest has. */
static tl_status hash_rule(tl_binder *b, const tl_sql_function *fn, tl_expr **args, int32_t n, const tl_type **out)
{
    (void)n;
    static const struct {
        const char *name;
        int32_t digits;
    } lengths[] = {{"MD5", 32}, {"SHA1", 40}, {"SHA224", 56}, {"SHA256", 64}, {"SHA384", 96}, {"SHA512", 128}};
    for (size_t i = 0; i < TL_ARRAY_LEN(lengths); i++)
        if (strcmp(lengths[i].name, fn->name) == 0)
            return tl_bind__simple_type(b, TL_CHAR, args[0]->type->nullable, lengths[i].digits, 0, out);
    return tl_bind__simple_type(b, TL_VARCHAR, args[0]->type->nullable || args[1]->type->nullable, 128, 0, out);
}

const tl_sql_function tl_fn_hash[] = {
    {.name = "MD5", .args = "S", .rule = hash_rule, .kernel = hash_kernel, .flags = TL_FN_SLOW},
    {.name = "SHA1", .args = "S", .rule = hash_rule, .kernel = hash_kernel, .flags = TL_FN_SLOW},
    {.name = "SHA224", .args = "S", .rule = hash_rule, .kernel = hash_kernel, .flags = TL_FN_SLOW},
    {.name = "SHA256", .args = "S", .rule = hash_rule, .kernel = hash_kernel, .flags = TL_FN_SLOW},
    {.name = "SHA384", .args = "S", .rule = hash_rule, .kernel = hash_kernel, .flags = TL_FN_SLOW},
    {.name = "SHA512", .args = "S", .rule = hash_rule, .kernel = hash_kernel, .flags = TL_FN_SLOW},
    {.name = "SHA2", .args = "SI", .rule = hash_rule, .kernel = sha2_kernel, .flags = TL_FN_SLOW | TL_FN_CAN_FAIL},
    {.name = NULL},
};
