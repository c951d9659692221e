// SPDX-License-Identifier: BSD-3-Clause
// Any bytes as a configuration file: its words, quoted and written a line each, are read again as
// the same lines; a file that is refused is refused with its name and a line that it has.
#include "launch/plan/words.h"

#include <fuzz/fuzz.h>
#include <fuzz/launcher.h>
#include <stdlib.h>
#include <string.h>

// Writes the words of all lines, each word in quotes.
static void read_all(void *argument)
{
    FILE *to = argument;
    mlt_words_file file;
    unsigned before = 0;
    mlt_words_open(&file, "file");
    while (mlt_words_line(&file)) {
        FUZZ_CHECK(file.line > before && file.words && file.words[0]);
        before = file.line;
        for (char **word = file.words; *word; word++) {
            fputs(word == file.words ? "'" : " '", to);
            for (const char *c = *word; *c; c++)
                if (*c == '\'')
                    fputs("'\\''", to);
                else
                    fputc(*c, to);
            fputc('\'', to);
        }
        fputc('\n', to);
    }
    mlt_words_close(&file);
}

// True if the file was understood. The caller frees the text.
static bool quote(const uint8_t *data, size_t size, char **text, size_t *text_size)
{
    FILE *to = open_memstream(text, text_size);
    FUZZ_CHECK(to);
    fuzz_file(data, size);
    bool good = fuzz_run(read_all, to);
    fclose(to);
    return good;
}

static void check_refusal(size_t input_lines)
{
    static const char name[] = "file:";
    size_t size;
    const char *said = fuzz_said(&size);
    fuzz_check_lines(said, size);
    FUZZ_CHECK(fuzz_code() == 2 && strncmp(said, name, sizeof name - 1) == 0);
    unsigned long line = strtoul(said + sizeof name - 1, NULL, 10);
    FUZZ_CHECK(line >= 1 && line <= input_lines);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *first = NULL, *second = NULL;
    size_t first_size, second_size;
    if (quote(data, size, &first, &first_size)) {
        fuzz_release();
        FUZZ_CHECK(quote((const uint8_t *)first, first_size, &second, &second_size));
        FUZZ_CHECK(first_size == second_size && memcmp(first, second, first_size) == 0);
    } else {
        size_t lines = 1;
        for (size_t i = 0; i < size; i++)
            lines += data[i] == '\n';
        check_refusal(lines);
    }
    fuzz_release();
    free(first);
    free(second);
    return 0;
}
