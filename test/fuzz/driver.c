// SPDX-License-Identifier: BSD-3-Clause
// Stands in for libFuzzer where there is none: feeds a harness every seed of a folder, and then
// variants of them from a fixed sequence of pseudo-random numbers. Every run does the same. An
// input that fails is named, and kept in fuzz.input.
//
//     fuzz_x SEEDS [VARIANTS]     or     fuzz_x FILE, for one input
#include <fuzz/fuzz.h>

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_SEEDS = 256, MOST_BYTES = 1 << 16, MOST_STEPS = 6, LONGEST_PIECE = 32 };

typedef struct input {
    char *name;
    uint8_t *bytes;
    size_t size;
} input;

static input seeds[MOST_SEEDS];
static size_t seed_count;

static struct {
    const uint8_t *bytes;
    size_t size;
    char name[300];
} now;

static void keep_input(void)
{
    int fd = open("fuzz.input", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd >= 0) {
        (void)!write(fd, now.bytes, now.size);
        close(fd);
    }
    (void)!write(STDERR_FILENO, now.name, strlen(now.name));
}

static void died(int signal_number)
{
    keep_input();
    (void)signal(signal_number, SIG_DFL);
    (void)raise(signal_number);
}

// There only if a sanitizer is.
void __sanitizer_set_death_callback(void (*call)(void)) __attribute__((weak));

static void run(const char *name, long variant, const uint8_t *bytes, size_t size)
{
    // In memory of exactly its size, so that a sanitizer sees the byte behind it.
    uint8_t *own = malloc(size ? size : 1);
    if (!own)
        exit(77);
    memcpy(own, bytes, size);
    now.bytes = own;
    now.size = size;
    snprintf(now.name, sizeof now.name, "this was variant %ld of %s; see fuzz.input\n", variant,
             name);
    (void)LLVMFuzzerTestOneInput(own, size);
    free(own);
}

static uint64_t random_state = 1;

static size_t below(size_t n)
{
    random_state = random_state * UINT64_C(6364136223846793005) + 1442695040888963407;
    return n ? (size_t)(random_state >> 33) % n : 0;
}

// Puts bytes in at a place, as far as there is room. They may lie in the buffer itself.
static size_t put(uint8_t *buffer, size_t size, size_t at, const uint8_t *piece, size_t n)
{
    uint8_t copy[LONGEST_PIECE];
    if (size + n > MOST_BYTES)
        return size;
    memcpy(copy, piece, n);
    memmove(buffer + at + n, buffer + at, size - at);
    memcpy(buffer + at, copy, n);
    return size + n;
}

static size_t mutate(uint8_t *buffer, size_t size)
{
    static const uint8_t bytes[] = {0, 1, 0x7f, 0x80, 0xff, '\n', ' ', '%', ':', '=', '-', '9'};
    static const uint64_t numbers[] = {0,          1,         0x7f,       0xffff,   INT32_MAX,
                                       UINT32_MAX, INT64_MAX, UINT64_MAX, 48 * 1024};
    size_t at = below(size), n = 1 + below(LONGEST_PIECE);
    const input *other = &seeds[below(seed_count)];
    if (size == 0 || at + n > size)
        n = size - at;
    switch (below(7)) {
    case 0:
        if (size)
            buffer[at] ^= (uint8_t)(1u << below(8));
        return size;
    case 1:
        if (size)
            buffer[at] = bytes[below(sizeof bytes)];
        return size;
    case 2:
        return put(buffer, size, at, &bytes[below(sizeof bytes)], 1);
    case 3: // a piece is missing
        memmove(buffer + at, buffer + at + n, size - at - n);
        return size - n;
    case 4: // a piece comes twice
        return put(buffer, size, below(size + 1), buffer + at, n);
    case 5: { // a piece of another seed
        size_t from = below(other->size), most = other->size - from;
        size_t length = below(LONGEST_PIECE);
        return put(buffer, size, at, other->bytes + from, length < most ? length : most);
    }
    default: { // a number, at a place where one may be
        size_t width = (size_t)1 << below(4);
        size_t place = at / width * width;
        if (place + width <= size)
            memcpy(buffer + place, &numbers[below(sizeof numbers / sizeof *numbers)], width);
        return size;
    }
    }
}

static void read_seed(const char *folder, const char *name)
{
    static uint8_t bytes[MOST_BYTES];
    char path[4096];
    snprintf(path, sizeof path, "%s%s%s", folder, *name ? "/" : "", name);
    FILE *file = fopen(path, "re");
    if (!file || seed_count == MOST_SEEDS) {
        fprintf(stderr, "%s: cannot be read, or is one seed too many\n", path);
        exit(1);
    }
    input *seed = &seeds[seed_count++];
    seed->size = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    seed->name = strdup(path);
    seed->bytes = malloc(seed->size + 1);
    if (!seed->name || !seed->bytes)
        exit(77);
    memcpy(seed->bytes, bytes, seed->size);
}

static void read_seeds(const char *path)
{
    struct stat about;
    if (stat(path, &about) == 0 && S_ISREG(about.st_mode)) {
        read_seed(path, "");
        return;
    }
    struct dirent **entries;
    int n = scandir(path, &entries, NULL, alphasort);
    for (int i = 0; i < n; i++) {
        if (entries[i]->d_name[0] != '.')
            read_seed(path, entries[i]->d_name);
        free(entries[i]);
    }
    if (n >= 0)
        free(entries);
}

int main(int argc, char **argv)
{
    static uint8_t buffer[MOST_BYTES];
    if (argc < 2) {
        fprintf(stderr, "usage: %s SEEDS [VARIANTS]\n", argv[0]);
        return 2;
    }
    (void)signal(SIGABRT, died);
    if (__sanitizer_set_death_callback)
        __sanitizer_set_death_callback(keep_input);
    else
        (void)signal(SIGSEGV, died);
    read_seeds(argv[1]);
    long variants = argc > 2 ? atol(argv[2]) : 0;
    if (seed_count == 0) {
        fprintf(stderr, "%s: no seeds\n", argv[1]);
        return 1;
    }
    run("nothing", 0, buffer, 0);
    for (size_t i = 0; i < seed_count; i++)
        run(seeds[i].name, 0, seeds[i].bytes, seeds[i].size);
    for (long v = 1; v <= variants; v++) {
        const input *seed = &seeds[below(seed_count)];
        size_t size = seed->size;
        memcpy(buffer, seed->bytes, size);
        for (size_t steps = 1 + below(MOST_STEPS); steps > 0; steps--)
            size = mutate(buffer, size);
        run(seed->name, v, buffer, size);
    }
    for (size_t i = 0; i < seed_count; i++) {
        free(seeds[i].name);
        free(seeds[i].bytes);
    }
    printf("%zu seeds and %ld variants: all right\n", seed_count, variants);
    return 0;
}
