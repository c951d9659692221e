// SPDX-License-Identifier: BSD-3-Clause
// libsodium is loaded or refused with a message; what it gives is what its documentation says: one
// known answer of each function, and the faults that encryption must notice.
#include "net/crypt.h"

#include <dlfcn.h>

#include "base/unit_test.h"
#include "net/crypt_int.h"

static char why[400];

static const char *missing; // the function that is not found
static const char *strange; // ... that is another one
static void *object;

static size_t seven(void)
{
    return 7;
}

static int fails(void)
{
    return -1;
}

static void *find(void *unused, const char *name)
{
    if (missing && strcmp(name, missing) == 0)
        return NULL;
    if (strange && strcmp(name, strange) == 0)
        return strcmp(name, "sodium_init") == 0 ? (void *)fails : (void *)seven;
    return dlsym(object, name);
}

static void test_refusals(void)
{
    static const char *const names[] = {
        "sodium_init", "crypto_generichash", "crypto_shorthash", "sodium_memcmp",
        "crypto_kx_keypair", "crypto_kx_client_session_keys", "crypto_kx_server_session_keys",
        "crypto_aead_chacha20poly1305_ietf_encrypt_detached",
        "crypto_aead_chacha20poly1305_ietf_decrypt_detached",
        // sizes
        "crypto_generichash_bytes", "crypto_generichash_keybytes", "crypto_shorthash_bytes",
        "crypto_shorthash_keybytes", "crypto_kx_publickeybytes", "crypto_kx_secretkeybytes",
        "crypto_kx_sessionkeybytes", "crypto_aead_chacha20poly1305_ietf_keybytes",
        "crypto_aead_chacha20poly1305_ietf_npubbytes", "crypto_aead_chacha20poly1305_ietf_abytes"};
    enum { COUNT = sizeof names / sizeof *names, SIZES = 9 };
    mlt_sodium table;
    char wanted[400];
    static const char *const sonames[] = MLT_SODIUM_NAMES, *none[] = {"libmillet-none.so.1"},
                             *second[] = {"libmillet-none.so.1", "libm.so.6"};
    object = dlopen(sonames[0], RTLD_NOW | RTLD_LOCAL);
    object = object ? object : dlopen(sonames[1], RTLD_NOW | RTLD_LOCAL);
    for (int i = 0; i < COUNT; i++) {
        missing = names[i];
        CHECK(mlt_sodium_fill(&table, find, NULL, why, sizeof why) == MLT_ERR_UNSUPPORTED);
        snprintf(wanted, sizeof wanted,
                 "this is not the libsodium that Millet knows: %s is missing", names[i]);
        check_same_text("a function is missing", why, wanted);
        missing = NULL;
        strange = i == 0 || i >= SIZES ? names[i] : NULL;
        if (!strange)
            continue;
        CHECK(mlt_sodium_fill(&table, find, NULL, why, sizeof why) == MLT_ERR_UNSUPPORTED);
        CHECK(strstr(why, names[i]) && strstr(why, i ? "gives another size" : "fails"));
        strange = NULL;
    }
    CHECK(mlt_sodium_fill(&table, find, NULL, why, sizeof why) == MLT_OK);
    CHECK(mlt_sodium_load(&table, none, 1, why, sizeof why) == MLT_ERR_UNSUPPORTED);
    CHECK(strstr(
        why,
        "needs libsodium (Debian: apt install libsodium23 or libsodium26): libmillet-none.so.1"));
    CHECK(mlt_sodium_load(&table, second, 2, why, sizeof why) == MLT_ERR_UNSUPPORTED);
    CHECK(strstr(why, "sodium_init is missing"));
    dlclose(object);
}

static void of_hex(uint8_t *out, const char *hex)
{
    for (unsigned byte; *hex; hex += 2) {
        CHECK(sscanf(hex, "%2x", &byte) == 1);
        *out++ = (uint8_t)byte;
    }
}

static void test_hash(void)
{
    uint8_t out[MLT_CRYPT_HASH], again[MLT_CRYPT_HASH];
    mlt_key key;
    for (int i = 0; i < MLT_KEY_BYTES; i++)
        key.bytes[i] = (uint8_t)i;
    mlt_crypt_piece pieces[] = {{"mil", 3}, {"", 0}, {"let", 3}};
    mlt_crypt_hash(out, &key, pieces, 3);
    mlt_crypt_hash(again, &key, &(mlt_crypt_piece){"millet", 6}, 1);
    CHECK(mlt_crypt_same(out, again, sizeof out));
    key.bytes[31] ^= 1;
    mlt_crypt_hash(again, &key, pieces, 3);
    CHECK(!mlt_crypt_same(out, again, sizeof out));
    uint8_t
        known[MLT_CRYPT_HASH]; // hashlib.blake2b(b"millet", key=bytes(range(32)), digest_size=32)
    of_hex(known, "07c86c55973808e721f746bef067046955eecb48169338a5a2df411c624b0bb0");
    CHECK(mlt_crypt_same(out, known, sizeof out));
}

// The reference implementation's vector of 16 bytes.
static void test_short_hash(void)
{
    mlt_key key;
    for (int i = 0; i < MLT_KEY_BYTES; i++)
        key.bytes[i] = (uint8_t)i;
    uint64_t number = 0x0706050403020100, value = 0x0f0e0d0c0b0a0908;
    CHECK(mlt_crypt_short(&key, number, value) == 0x3f2acc7f57c29bdb);
    CHECK(mlt_crypt_short(&key, number + 1, value) != mlt_crypt_short(&key, number, value));
}

static void test_exchange(void)
{
    mlt_crypt_pair a, b;
    mlt_crypt_keys of_a, of_b;
    mlt_crypt_pair_new(&a);
    mlt_crypt_pair_new(&b);
    CHECK(memcmp(&a, &b, sizeof a) != 0);
    CHECK(mlt_crypt_exchange(&of_a, &a, b.open, true) == MLT_OK);
    CHECK(mlt_crypt_exchange(&of_b, &b, a.open, false) == MLT_OK);
    CHECK(mlt_crypt_same(&of_a.send, &of_b.receive, sizeof of_a.send));
    CHECK(mlt_crypt_same(&of_a.receive, &of_b.send, sizeof of_a.send));
    CHECK(!mlt_crypt_same(&of_a.send, &of_a.receive, sizeof of_a.send));
    static const uint8_t none[MLT_CRYPT_POINT]; // every secret leads from there to the same key
    CHECK(mlt_crypt_exchange(&of_a, &a, none, true) == MLT_ERR_INVALID);
}

// RFC 8439, 2.8.2, has another first half of the nonce than a counter; so this is our own.
static void test_seal(void)
{
    enum { BYTES = 1000 };
    uint8_t data[BYTES], copy[BYTES], seal[MLT_CRYPT_SEAL], head[] = "head";
    mlt_key key = {{42}};
    for (int i = 0; i < BYTES; i++)
        data[i] = copy[i] = (uint8_t)random64();
    mlt_crypt_seal(seal, data, BYTES, head, sizeof head, 7, &key);
    CHECK(memcmp(data, copy, BYTES) != 0);
    CHECK(!mlt_crypt_open(seal, data, BYTES, head, sizeof head, 8, &key));
    mlt_crypt_seal(seal, memcpy(data, copy, BYTES), BYTES, head, sizeof head, 7, &key);
    CHECK(mlt_crypt_open(seal, data, BYTES, head, sizeof head, 7, &key));
    CHECK(memcmp(data, copy, BYTES) == 0);
    uint8_t *const parts[] = {data, seal, head, key.bytes};
    const size_t last[] = {BYTES - 1, MLT_CRYPT_SEAL - 1, sizeof head - 1, MLT_KEY_BYTES - 1};
    for (int part = 0; part < 4; part++) {
        mlt_crypt_seal(seal, memcpy(data, copy, BYTES), BYTES, head, sizeof head, 7, &key);
        parts[part][last[part]] ^= 0x80;
        CHECK(!mlt_crypt_open(seal, data, BYTES, head, sizeof head, 7, &key));
        if (part >= 2)
            parts[part][last[part]] ^= 0x80;
    }
    mlt_crypt_seal(seal, data, 0, NULL, 0, UINT64_MAX, &key); // nothing at all has a seal, too
    CHECK(mlt_crypt_open(seal, data, 0, NULL, 0, UINT64_MAX, &key));
    CHECK(!mlt_crypt_open(seal, data, 0, NULL, 0, 0, &key));
}

int main(void)
{
    if (mlt_crypt_load(why, sizeof why) != MLT_OK) {
        fprintf(stderr, "skipped: %s\n", why);
        return 77;
    }
    CHECK(mlt_crypt_load(why, sizeof why) == MLT_OK);
    test_refusals();
    test_hash();
    test_short_hash();
    test_exchange();
    test_seal();
    puts("all right");
    return 0;
}
