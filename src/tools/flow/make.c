// SPDX-License-Identifier: BSD-3-Clause
#include "tools/flow/make.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/text.h"
#include "flowc/gen.h"
#include "tools/flow/statics.h"
#include "tools/goal/sink.h"
#include "tools/goal/source.h"
#include "tools/mpirun.h"

// ---- files

bool mlt_flow_ends_with(const char *word, const char *with)
{
    size_t n = strlen(word), e = strlen(with);
    return n > e && strcmp(word + n - e, with) == 0;
}

// C++, as gcc and clang know it by its name.
static bool is_cxx(const char *word)
{
    return mlt_flow_ends_with(word, ".cc") || mlt_flow_ends_with(word, ".cpp") ||
           mlt_flow_ends_with(word, ".cxx") || mlt_flow_ends_with(word, ".c++") ||
           mlt_flow_ends_with(word, ".C");
}

bool mlt_flow_is_module_file(const char *word)
{
    return mlt_flow_ends_with(word, ".c") || mlt_flow_ends_with(word, ".o") ||
           mlt_flow_ends_with(word, ".a") || is_cxx(word);
}

bool mlt_flow_compiler_takes_value(const char *word)
{
    static const char *const names[] = {"-I",       "-L",       "-l",      "-U",       "-x",
                                        "-include", "-isystem", "-iquote", "-imacros", "-Xlinker",
                                        "-T",       "-u",       "-z",      "-B",       "--param"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(word, names[i]) == 0)
            return true;
    return false;
}

// The same bytes already? Then its date stays, and whoever depends on it has nothing to do.
static bool is_there(const char *path, const char *text, size_t size)
{
    FILE *f = fopen(path, "r");
    if (!f)
        return false;
    char *old = mlt_xcalloc(1, size + 1);
    bool same = fread(old, 1, size + 1, f) == size && memcmp(old, text, size) == 0;
    fclose(f);
    return same;
}

static void put_file(const char *path, const char *text, size_t size)
{
    if (is_there(path, text, size))
        return;
    mlt_sink sink = mlt_sink_open(path);
    fwrite(text, 1, size, sink.to);
    mlt_sink_close(&sink);
}

// FOLDER/NAME.flow.h or .c.
static char *make_join(const char *folder, const char *name, const char *end)
{
    return mlt_text_of("%s/%s%s", folder, name, end);
}

static FILE *make_memory(char **text, size_t *size)
{
    FILE *memory = open_memstream(text, size);
    if (!memory)
        mlt_args_failed(MLT_NO_ROOM "generated C");
    return memory;
}

void mlt_flow_make_headers(const mlt_flow_file *file, const char *folder)
{
    struct stat about;
    size_t count, size = 0;
    char *text = NULL;
    if (mkdir(folder, 0777) != 0 &&
        (errno != EEXIST || stat(folder, &about) != 0 || !S_ISDIR(about.st_mode)))
        mlt_args_failed("the folder '%s' cannot be made: %s", folder, strerror(errno));
    mlt_flow_declaration *modules = mlt_flow_gen_modules(file, &count);
    for (size_t i = 0; i < count + (file->operations != NULL); i++) {
        char *path = make_join(folder, i < count ? modules[i].name : "operations", ".flow.h");
        FILE *memory = make_memory(&text, &size);
        if (i < count)
            mlt_flow_gen_header(file, &modules[i], path, memory);
        else
            mlt_flow_gen_operations(file, memory);
        fclose(memory);
        put_file(path, text, size);
    }
}

static void make_program_text(const mlt_flow_input *input, const char *hosts, const char *path)
{
    char *text = NULL;
    size_t size = 0;
    FILE *memory = make_memory(&text, &size);
    mlt_flow_gen_program(input->file, input->overrides, input->override_count, hosts, memory);
    fclose(memory);
    put_file(path, text, size);
}

// ---- what the linker says

// The name in "undefined reference to `Chemical_run'" (GNU), "undefined symbol: Chemical_run"
// (LLVM); its length, or 0.
static size_t undefined(const char *line, size_t length, const char **name)
{
    static const char *const words[] = {"undefined reference to `", "undefined reference to '",
                                        "undefined symbol: ", "hidden symbol `"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const char *at = memmem(line, length, words[i], strlen(words[i]));
        if (at) {
            *name = at + strlen(words[i]);
            return strcspn(*name, "'\n\r ");
        }
    }
    return 0;
}

typedef struct missing {
    const mlt_flow_file *file;
    const mlt_flow_declaration *modules;
    size_t count;
    bool *run;        // [count]: module without NAME_run
    bool *operations; // in their order
    bool any;
} missing;

static bool is_missing(missing *m, const char *name, size_t length)
{
    for (size_t i = 0; i < m->count; i++) {
        size_t n = strlen(m->modules[i].name);
        if (length == n + 4 && strncmp(name, m->modules[i].name, n) == 0 &&
            strncmp(name + n, "_run", 4) == 0)
            return m->any = m->run[i] = true;
    }
    size_t k = 0;
    for (const mlt_flow_operation *o = m->file->operations; o; o = o->next, k++)
        if (strlen(o->name) == length && strncmp(name, o->name, length) == 0)
            return m->any = m->operations[k] = true;
    return false;
}

// Lines that say only that linking failed, or where.
static bool says_nothing(const char *line, size_t length)
{
    static const char *const words[] = {": in function `", "ld returned 1 exit status",
                                        "final link failed", "linker command failed with exit code",
                                        ">>> "};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (memmem(line, length, words[i], strlen(words[i])))
            return true;
    return false;
}

// Prints the compiler's words, but for what is said better below.
static void make_tell(const mlt_flow_input *input, const char *text)
{
    missing m = {.file = input->file};
    mlt_flow_declaration *modules = mlt_flow_gen_modules(input->file, &m.count);
    size_t operations = 0, others = 0;
    for (const mlt_flow_operation *o = input->file->operations; o; o = o->next)
        operations++;
    m.modules = modules;
    m.run = mlt_xcalloc(m.count + 1, sizeof *m.run);
    m.operations = mlt_xcalloc(operations + 1, sizeof *m.operations);
    for (int turn = 0; turn < 2; turn++)
        for (const char *line = text; *line;) {
            size_t length = strcspn(line, "\n");
            length += line[length] == '\n';
            const char *name;
            size_t n = undefined(line, length, &name);
            bool ours = n && is_missing(&m, name, n), idle = says_nothing(line, length);
            if (turn == 0)
                others += !ours && !idle;
            else if (!m.any || (others && !ours))
                fwrite(line, 1, length, stderr);
            line += length;
        }
    const char *path = input->file->path;
    for (size_t i = 0; i < m.count; i++)
        if (m.run[i])
            fprintf(stderr, "%s:%d: error: module %s has no %s_run in the files given\n", path,
                    modules[i].line, modules[i].name, modules[i].name);
    size_t k = 0;
    for (const mlt_flow_operation *o = input->file->operations; o; o = o->next, k++)
        if (m.operations[k])
            fprintf(stderr,
                    "%s:%d: error: operation %s has no function in the files given: void %s(%s "
                    "*into, const %s *with, size_t count)\n",
                    path, o->line, o->name, o->name, o->type, o->type);
}

// ---- compiling

static void make_show(const mlt_arg_texts *argv)
{
    for (size_t i = 0; i < argv->count; i++) {
        const char *word = argv->items[i];
        bool plain = *word && !word[strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVW"
                                                 "XYZ0123456789_/.,:=+@%^-")];
        fprintf(stderr, "%s%s%s%s", i ? " " : "", plain ? "" : "'", word, plain ? "" : "'");
    }
    fputc('\n', stderr);
}

// Runs the compiler and tells what it said. False: it failed, and has said why.
static bool compile(const mlt_flow_make *make, const mlt_flow_input *input,
                    const mlt_arg_texts *argv)
{
    if (make->verbose)
        make_show(argv);
    FILE *said = tmpfile();
    if (!said)
        mlt_args_failed("no temporary file can be made: %s", strerror(errno));
    int status = mlt_flow_execute((char *const *)argv->items, fileno(said));
    long size = fseek(said, 0, SEEK_END) == 0 ? ftell(said) : 0;
    rewind(said);
    char *text = mlt_xcalloc(1, (size_t)(size > 0 ? size : 0) + 1);
    size_t got = fread(text, 1, (size_t)(size > 0 ? size : 0), said);
    text[got] = '\0';
    fclose(said);
    if (*text)
        make_tell(input, text);
    if (WIFSIGNALED(status))
        mlt_args_failed("the compiler was ended by signal %d", WTERMSIG(status));
    if (WEXITSTATUS(status) != 0 && !*text)
        mlt_args_failed("the compiler failed (exit code %d)", WEXITSTATUS(status));
    return WEXITSTATUS(status) == 0;
}

static void make_add_words(mlt_arg_texts *to, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        mlt_arg_texts_add(to, words[i]);
}

static bool starts(const char *word, const char *with)
{
    return strncmp(word, with, strlen(with)) == 0;
}

// Options that only the linker needs.
static bool is_linkers(const char *word)
{
    static const char *const values[] = {"-Xlinker", "-T", "-u", "-z"};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        if (strcmp(word, values[i]) == 0)
            return true;
    return starts(word, "-l") || starts(word, "-L") || starts(word, "-Wl,");
}

// What the compiler does to each source file, and then with all of them.
typedef struct commands {
    mlt_arg_texts first; // the compiler and this command's own options
    mlt_arg_texts each;  // the user's, without files, -x and what only the linker needs
    mlt_arg_texts last;  // all of the user's words, objects in the place of sources
    mlt_arg_texts sources, languages; // what -x says of it, or "none"
    mlt_arg_texts objects;            // one for each source; then those of the user
    bool cxx;
} commands;

static void add_source(commands *c, const char *source, const char *language, const char *folder)
{
    char *object = mlt_text_of("%s/%zu-%.200s.o", folder, c->sources.count, mlt_flow_stem(source));
    const char *const words[] = {"-x", "none", object, "-x", language};
    bool named = strcmp(language, "none") == 0; // by its name
    mlt_arg_texts_add(&c->sources, source);
    mlt_arg_texts_add(&c->languages, language);
    mlt_arg_texts_add(&c->objects, object);
    make_add_words(&c->last, named ? &words[2] : words, named ? 1 : 5);
    c->cxx |= is_cxx(source);
}

static bool is_other_file(const char *word)
{
    return *word != '-' && (mlt_flow_is_module_file(word) || mlt_flow_ends_with(word, ".so") ||
                            mlt_flow_ends_with(word, ".s") || mlt_flow_ends_with(word, ".S"));
}

static void sort_words(commands *c, const mlt_arg_texts *words, const char *folder)
{
    const char *language = "none";
    for (size_t i = 0; i < words->count; i++) {
        const char *word = words->items[i];
        bool by_name = strcmp(language, "none") == 0;
        size_t count = mlt_flow_compiler_takes_value(word) && i + 1 < words->count ? 2 : 1;
        if (*word != '-' && (!by_name || mlt_flow_ends_with(word, ".c") || is_cxx(word))) {
            add_source(c, word, language, folder);
            continue;
        }
        make_add_words(&c->last, &words->items[i], count);
        if (starts(word, "-x"))
            language = count == 2 ? words->items[i + 1] : word + 2;
        else if (!is_other_file(word) && !is_linkers(word))
            make_add_words(&c->each, &words->items[i], count);
        i += count - 1;
    }
    for (size_t i = 0; i < words->count; i++)
        if (words->items[i][0] != '-' && mlt_flow_ends_with(words->items[i], ".o"))
            mlt_arg_texts_add(&c->objects, words->items[i]);
}

// Each source becomes an object; false: one has an error.
static bool compile_sources(const mlt_flow_make *make, const mlt_flow_input *input,
                            const commands *c)
{
    bool fine = true;
    for (size_t i = 0; i < c->sources.count; i++) {
        const char *const words[] = {"-x", c->languages.items[i], "-c", c->sources.items[i],
                                     "-o", c->objects.items[i]};
        mlt_arg_texts argv = {NULL, 0};
        make_add_words(&argv, c->first.items, c->first.count);
        make_add_words(&argv, c->each.items, c->each.count);
        make_add_words(&argv, words, sizeof words / sizeof *words);
        fine &= compile(make, input, &argv);
    }
    return fine;
}

static bool all_own(const commands *c)
{
    bool fine = true;
    for (size_t i = 0; i < c->objects.count; i++)
        fine &= mlt_flow_statics_none(
            c->objects.items[i], i < c->sources.count ? c->sources.items[i] : c->objects.items[i]);
    return fine;
}

void mlt_flow_make_program(const mlt_flow_make *make)
{
    mlt_flow_input input = mlt_flow_input_read(make->path);
    char mpicc[PATH_MAX], *hosts = mlt_source_text(make->hostfile);
    const char *folder = make->keep ? make->keep : mlt_flow_temporary();
    char *stem = mlt_flow_stem(make->path), *beside = mlt_flow_folder(make->path);
    char *program = make_join(folder, stem, ".flow.c");
    mlt_flow_make_headers(input.file, folder);
    make_program_text(&input, hosts, program);
    mlt_mpirun_beside("mpicc", mpicc);
    const char *const first[] = {mpicc, "-O2", "-g", "-I", folder, "-I", beside};
    commands c = {.cxx = false};
    mlt_arg_texts link = {NULL, 0};
    make_add_words(&c.first, first, sizeof first / sizeof *first);
    if (isatty(STDERR_FILENO))
        mlt_arg_texts_add(&c.first, "-fdiagnostics-color=always");
    sort_words(&c, &make->words, make->keep ? mlt_flow_temporary() : folder);
    if (!compile_sources(make, &input, &c) || (!make->shared_statics && !all_own(&c)))
        exit(MLT_EXIT_FOUND);
    // The program comes first: archives with modules are looked into for what it needs.
    // -rdynamic: crash reports have names of functions.
    const char *const words[] = {"-rdynamic", program, "-o", make->out};
    make_add_words(&link, c.first.items, c.first.count);
    make_add_words(&link, words, sizeof words / sizeof *words);
    make_add_words(&link, c.last.items, c.last.count);
    if (c.cxx) // C's compiler knows C++ by its name, but does not link its library
        mlt_arg_texts_add(&link, "-lstdc++");
    if (!compile(make, &input, &link))
        exit(MLT_EXIT_FOUND);
}
