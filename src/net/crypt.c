// SPDX-License-Identifier: BSD-3-Clause
#include "net/crypt.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "net/crypt_int.h"

enum { NONCE = 12, SHORT = 8, SHORT_KEY = 16 };

// ---- Loading

// A size that both sides of a call must agree on: the library's own function tells its.
typedef struct agreed_size {
    const char *function;
    size_t bytes;
} agreed_size;

static const agreed_size sizes[] = {
    {"crypto_generichash_bytes", MLT_CRYPT_HASH},
    {"crypto_generichash_keybytes", MLT_KEY_BYTES},
    {"crypto_shorthash_bytes", SHORT},
    {"crypto_shorthash_keybytes", SHORT_KEY},
    {"crypto_kx_publickeybytes", MLT_CRYPT_POINT},
    {"crypto_kx_secretkeybytes", MLT_CRYPT_POINT},
    {"crypto_kx_sessionkeybytes", MLT_KEY_BYTES},
    {"crypto_aead_chacha20poly1305_ietf_keybytes", MLT_KEY_BYTES},
    {"crypto_aead_chacha20poly1305_ietf_npubbytes", NONCE},
    {"crypto_aead_chacha20poly1305_ietf_abytes", MLT_CRYPT_SEAL},
};

typedef void *find_function(void *object, const char *name);

static mlt_status crypt_refuse(char *why, size_t why_size, const char *name, const char *fault)
{
    return mlt_fail(MLT_ERR_UNSUPPORTED, why, why_size,
                    "this is not the libsodium that Millet knows: %s %s", name, fault);
}

static mlt_status check_sizes(find_function *find, void *object, char *why, size_t why_size)
{
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        size_t (*tell)(void) = (size_t(*)(void))find(object, sizes[i].function);
        if (!tell)
            return crypt_refuse(why, why_size, sizes[i].function, "is missing");
        if (tell() != sizes[i].bytes)
            return crypt_refuse(why, why_size, sizes[i].function, "gives another size");
    }
    return MLT_OK;
}

mlt_status mlt_sodium_fill(mlt_sodium *out, find_function *find, void *object, char *why,
                           size_t why_size)
{
    const struct {
        const char *name;
        size_t place; // in mlt_sodium
    } functions[] = {
        {"sodium_init", offsetof(mlt_sodium, init)},
        {"crypto_generichash", offsetof(mlt_sodium, hash)},
        {"crypto_shorthash", offsetof(mlt_sodium, short_hash)},
        {"sodium_memcmp", offsetof(mlt_sodium, compare)},
        {"crypto_kx_keypair", offsetof(mlt_sodium, pair)},
        {"crypto_kx_client_session_keys", offsetof(mlt_sodium, dialler_keys)},
        {"crypto_kx_server_session_keys", offsetof(mlt_sodium, answerer_keys)},
        {"crypto_aead_chacha20poly1305_ietf_encrypt_detached", offsetof(mlt_sodium, encrypt)},
        {"crypto_aead_chacha20poly1305_ietf_decrypt_detached", offsetof(mlt_sodium, decrypt)},
    };
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        void *function = find(object, functions[i].name);
        if (!function)
            return crypt_refuse(why, why_size, functions[i].name, "is missing");
        memcpy((char *)out + functions[i].place, &function, sizeof function);
    }
    mlt_status status = check_sizes(find, object, why, why_size);
    if (status == MLT_OK && out->init() < 0)
        return crypt_refuse(why, why_size, "sodium_init", "fails");
    return status;
}

mlt_status mlt_sodium_load(mlt_sodium *out, const char *const *names, size_t count, char *why,
                           size_t why_size)
{
    void *object = NULL;
    for (size_t i = 0; i < count && !object; i++)
        object = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    if (!object)
        return mlt_fail(MLT_ERR_UNSUPPORTED, why, why_size,
                        "a job on several hosts needs libsodium (Debian: apt install %s): %s",
                        MLT_SODIUM_PACKAGES, dlerror());
    mlt_status status = mlt_sodium_fill(out, dlsym, object, why, why_size);
    if (status != MLT_OK)
        dlclose(object);
    return status;
}

static mlt_sodium sodium;

mlt_status mlt_crypt_load(char *why, size_t why_size)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static bool loaded;
    static const char *const names[] = MLT_SODIUM_NAMES;
    mlt_status status = MLT_OK;
    pthread_mutex_lock(&lock);
    if (!loaded)
        status = mlt_sodium_load(&sodium, names, sizeof names / sizeof *names, why, why_size);
    loaded = status == MLT_OK;
    pthread_mutex_unlock(&lock);
    return status;
}

// ---- What it is used for. The functions fail only if they are called wrongly.

void mlt_crypt_hash(uint8_t out[MLT_CRYPT_HASH], const mlt_key *key, const mlt_crypt_piece *pieces,
                    size_t count)
{
    uint8_t all[MLT_CRYPT_PIECES];
    size_t bytes = 0;
    for (size_t i = 0; i < count; i++) {
        mlt_assert(pieces[i].bytes <= sizeof all - bytes);
        memcpy(all + bytes, pieces[i].data, pieces[i].bytes);
        bytes += pieces[i].bytes;
    }
    int failed = sodium.hash(out, MLT_CRYPT_HASH, all, bytes, key->bytes, sizeof key->bytes);
    mlt_assert(failed == 0);
}

uint64_t mlt_crypt_short(const mlt_key *key, uint64_t number, uint64_t value)
{
    uint64_t in[2] = {number, value}, out;
    int failed = sodium.short_hash((uint8_t *)&out, (const uint8_t *)in, sizeof in, key->bytes);
    mlt_assert(failed == 0);
    return out;
}

bool mlt_crypt_same(const void *a, const void *b, size_t bytes)
{
    return sodium.compare(a, b, bytes) == 0;
}

void mlt_crypt_pair_new(mlt_crypt_pair *pair)
{
    int failed = sodium.pair(pair->open, pair->secret);
    mlt_assert(failed == 0);
}

mlt_status mlt_crypt_exchange(mlt_crypt_keys *keys, const mlt_crypt_pair *own,
                              const uint8_t peer[MLT_CRYPT_POINT], bool dials)
{
    int failed = (dials ? sodium.dialler_keys : sodium.answerer_keys)(
        keys->receive.bytes, keys->send.bytes, own->open, own->secret, peer);
    return failed ? MLT_ERR_INVALID : MLT_OK;
}

static void nonce_of(uint8_t nonce[NONCE], uint64_t number)
{
    memset(nonce, 0, NONCE);
    for (int i = 0; i < 8; i++)
        nonce[i] = (uint8_t)(number >> 8 * i);
}

void mlt_crypt_seal(uint8_t seal[MLT_CRYPT_SEAL], void *data, size_t bytes, const void *head,
                    size_t head_bytes, uint64_t number, const mlt_key *key)
{
    uint8_t nonce[NONCE];
    nonce_of(nonce, number);
    int failed =
        sodium.encrypt(data, seal, NULL, data, bytes, head, head_bytes, NULL, nonce, key->bytes);
    mlt_assert(failed == 0);
}

bool mlt_crypt_open(const uint8_t seal[MLT_CRYPT_SEAL], void *data, size_t bytes, const void *head,
                    size_t head_bytes, uint64_t number, const mlt_key *key)
{
    uint8_t nonce[NONCE];
    nonce_of(nonce, number);
    return sodium.decrypt(data, NULL, data, bytes, seal, head, head_bytes, nonce, key->bytes) == 0;
}
