/*
 * Runs a fuzz target without the engine: over the files given, and over copies of them with bytes changed, cut and repeated
 * (deterministic; TL_SEED replays). So every target is an ordinary test, too. An input that ends the program is left in
 * crash-input, in the current folder.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define DAMAGES 60
#define BYTES_MAX ((size_t)256 << 10)

static uint64_t random_state;

static uint64_t next_random(void)
{
    uint64_t z = (random_state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static size_t damage(uint8_t *copy, const uint8_t *data, size_t size)
{
    memcpy(copy, data, size);
    for (uint64_t n = 1 + next_random() % 4; n > 0 && size > 0; n--) {
        size_t at = next_random() % size;
        switch (next_random() % 4) {
        case 0:
            copy[at] ^= (uint8_t)(1u << next_random() % 8);
            break;
        case 1:
            copy[at] = (uint8_t)next_random();
            break;
        case 2:
            size = at;
            break;
        default: {
            size_t len = next_random() % (size - at);
            memmove(copy + next_random() % (size - len), copy + at, len);
        }
        }
    }
    return size;
}

static const uint8_t *current;
static size_t current_size;

static void keep_input(int signal_number)
{
    int fd = open("crash-input", O_WRONLY | O_CREAT | O_TRUNC, 0644);
    if (fd >= 0 && write(fd, current, current_size) == (ssize_t)current_size)
        (void)close(fd);
    (void)signal(signal_number, SIG_DFL);
    (void)raise(signal_number);
}

/* Each input has memory of exactly its size, so that a sanitizer sees reads past the end. */
static void run(const uint8_t *data, size_t size)
{
    uint8_t *exact = malloc(size == 0 ? 1 : size);
    memcpy(exact, data, size);
    current = exact;
    current_size = size;
    LLVMFuzzerTestOneInput(exact, size);
    free(exact);
}

int main(int argc, char **argv)
{
    const char *seed = getenv("TL_SEED");
    random_state = seed == NULL ? 1 : strtoull(seed, NULL, 0);
    uint8_t *data = malloc(BYTES_MAX), *copy = malloc(BYTES_MAX);
    long runs = 0;
    (void)signal(SIGABRT, keep_input);
    (void)signal(SIGSEGV, keep_input);
    for (int i = 1; i < argc; i++) {
        FILE *file = fopen(argv[i], "rb");
        if (file == NULL) {
            perror(argv[i]);
            return 1;
        }
        size_t size = fread(data, 1, BYTES_MAX, file);
        fclose(file);
        run(data, size);
        for (int k = 0; k < DAMAGES; k++)
            run(copy, damage(copy, data, size));
        runs += 1 + DAMAGES;
    }
    free(data);
    free(copy);
    printf("%ld inputs\n", runs);
    return runs > 0 ? 0 : 1;
}
