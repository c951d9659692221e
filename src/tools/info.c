// SPDX-License-Identifier: BSD-3-Clause
// `millet info`: what this Millet is, how it is set, what it would choose here, and which MPI functions it
// has.
#include "tools/commands.h"

#include <errno.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/settings.h"
#include "base/status.h"
#include "base/text.h"
#include "lib/settings.h"
#include "mpi_fn.h"
#include "os/os.h"
#include "os/uring.h"
#include "p2p/settings.h"
#include "p2p/worker.h"
#include "tools/coll/info.h"
#include "tools/gpus.h"
#include "tools/net.h"
#include "tools/products.h"

enum { VARIABLE_BYTES = 80 };

// One fact about this machine: what Millet does and why.
typedef struct fact {
    const char *name;
    char text[256];
} fact;

enum { FACTS = 11 };

static const char *value_text(const mlt_setting *setting)
{
    char variable[VARIABLE_BYTES];
    mlt_setting_variable(setting, variable, sizeof variable);
    const char *text = getenv(variable);
    return text ? text : setting->initial;
}

static const char *guard_here(void)
{
    size_t page = mlt_os_page_size();
    char *memory = mlt_os_map_stacks(2 * page);
    if (!memory)
        return "unknown: memory is exhausted";
    bool light = mlt_os_guard_install(memory, page) == MLT_OK;
    mlt_os_unmap(memory, 2 * page);
    return light ? "guard pages without a mapping of their own (MADV_GUARD_INSTALL)"
                 : "mprotect for up to some 30,000 ranks a process, then canaries";
}

// Where the memory is that processes of a job share.
static const char *segment_here(void)
{
    int fd = mlt_os_memfd("info", mlt_os_page_size());
    bool usual = fd < 0 || mlt_os_is_memfd(fd);
    if (fd >= 0)
        close(fd);
    return usual ? "a memfd" : "a file without a name, because memfd_create is refused here";
}

static MLT_PRINTF(3, 4) void add_fact(fact facts[FACTS], const char *name, const char *format, ...)
{
    int i = 0;
    while (facts[i].name)
        i++;
    facts[i].name = name;
    MLT_TEXT_PRINT(facts[i].text, sizeof facts[i].text, format);
}

// "mpi (2254 KiB of code), csp (149 KiB)"
static void add_products(fact facts[FACTS])
{
    mlt_text text = {0};
    for (const mlt_product *p = mlt_products; p->name; p++) {
        mlt_text_add(&text, "%s%s", text.length ? ", " : "", p->name);
        if (p->bytes)
            mlt_text_add(&text, " (%llu KiB%s)", (unsigned long long)(p->bytes >> 10),
                         p == mlt_products ? " of code" : "");
    }
    add_fact(facts, "library", "%s", mlt_text_so_far(&text));
}

// The list ends with one without a name.
static void find_facts(fact facts[FACTS])
{
    struct utsname system;
    bool readable = mlt_os_peers_readable(), reads = readable && mlt_p2p_reads_here();
    memset(facts, 0, FACTS * sizeof *facts);
    add_products(facts);
    if (uname(&system) == 0)
        add_fact(facts, "machine", "%s, %s %s, %d cores for this process", system.machine,
                 system.sysname, system.release, mlt_os_cores());
    add_fact(facts, "same worker", "a call; one copy from the sender's buffer to the receiver's");
    add_fact(facts, "same process",
             "a ring; above %lld bytes the receiver copies straight from the sender's buffer",
             (long long)mlt_conf.eager_thread);
    add_fact(facts, "same host", "a ring in %s; above %lld bytes %s", segment_here(),
             (long long)(reads ? mlt_conf.eager_read : mlt_conf.eager_process),
             reads ? "the receiver reads the sender's memory (process_vm_readv)"
                   : "a pipeline of chunks through the segment");
    add_fact(facts, "reading peers", "%s",
             readable ? "process_vm_readv works here; MILLET_LARGE says who uses it"
                      : "process_vm_readv is refused here");
    int refused = mlt_os_uring_refused();
    if (refused)
        add_fact(facts, "files", "threads wait for the disk: io_uring is refused here (%s)",
                 refused == ENOSYS ? "Linux before 6.1, or a filter" : strerror(refused));
    else
        add_fact(facts, "files",
                 "the kernel waits for short reads (io_uring works here), threads for all else; "
                 "MILLET_FILE_ASYNC chooses");
    add_fact(facts, "stack guards", "%s", guard_here());
    add_fact(facts, "idle workers",
             "poll for %lld us, then sleep (at once, if there are more workers than cores)",
             (long long)mlt_conf.spin_us);
    if (access("/proc/self/stat", R_OK) != 0)
        add_fact(facts, "/proc", "is not mounted: memory that is left is not known");
}

static int count_functions(int chapter) // 0: of all
{
    int count = 0;
    for (int i = 1; i < MLT_FN_COUNT; i++)
        count += chapter == 0 || mlt_fn_table[i].chapter == chapter;
    return count;
}

// ---- for people

static void say_functions(void)
{
    for (int c = 0; c < MLT_CHAPTER_COUNT; c++) {
        printf("\nChapter %d, %s\n", mlt_chapter_table[c].number, mlt_chapter_table[c].title);
        int column = 0;
        for (int i = 1; i < MLT_FN_COUNT; i++) {
            const mlt_fn *fn = &mlt_fn_table[i];
            if (fn->chapter != mlt_chapter_table[c].number)
                continue;
            if (column > 0 && column + 1 + (int)strlen(fn->name) > 100) {
                putchar('\n');
                column = 0;
            }
            column += printf("%s%s", column ? " " : "  ", fn->name);
        }
        putchar('\n');
    }
}

static void say_coverage(void)
{
    printf("\nMPI functions, by chapter of the standard\n");
    for (int c = 0; c < MLT_CHAPTER_COUNT; c++)
        printf("  %2d  %3d  %s\n", mlt_chapter_table[c].number,
               count_functions(mlt_chapter_table[c].number), mlt_chapter_table[c].title);
    printf("      %3d  in all\n", count_functions(0));
}

static void say_settings(const mlt_settings_table *tables, size_t count)
{
    printf("\nSettings: environment variables, * where yours differs from the default\n");
    for (size_t t = 0; t < count; t++)
        for (size_t i = 0; i < tables[t].count; i++) {
            const mlt_setting *s = &tables[t].settings[i];
            if (s->scope == MLT_SCOPE_INTERNAL)
                continue;
            char variable[VARIABLE_BYTES];
            mlt_setting_variable(s, variable, sizeof variable);
            bool changed = strcmp(value_text(s), s->initial) != 0;
            printf("  %c %-21s %-8s %s", changed ? '*' : ' ', variable,
                   *value_text(s) ? value_text(s) : "-", s->help);
            if (changed)
                printf(" (default %s)", *s->initial ? s->initial : "-");
            if (s->choices)
                printf(" [%s]", s->choices);
            putchar('\n');
        }
}

static void say_all(const mlt_settings_table *tables, size_t count, bool functions)
{
    fact facts[FACTS];
    find_facts(facts);
    printf("Millet %s: MPI %d.%d, ABI %d.%d (libmpi_abi.so.1)\n\nHere\n", MLT_VERSION, MPI_VERSION,
           MPI_SUBVERSION, MPI_ABI_VERSION, MPI_ABI_SUBVERSION);
    for (int i = 0; facts[i].name; i++)
        printf("  %-14s %s\n", facts[i].name, facts[i].text);
    mlt_gpus_say();
    say_settings(tables, count);
    say_coverage();
    if (functions)
        say_functions();
    else
        printf("      `millet info --functions` names them\n");
}

// ---- for programs

static void json_field(const char *name, const char *text, const char *end)
{
    printf("\"%s\": ", name);
    mlt_text_print_json(stdout, text);
    printf("%s", end);
}

static void json_settings(const mlt_settings_table *tables, size_t count)
{
    printf("  \"settings\": [");
    const char *comma = "\n";
    for (size_t t = 0; t < count; t++)
        for (size_t i = 0; i < tables[t].count; i++) {
            const mlt_setting *s = &tables[t].settings[i];
            if (s->scope == MLT_SCOPE_INTERNAL)
                continue;
            printf("%s    {", comma);
            json_field("layer", tables[t].layer, ", ");
            json_field("name", s->name, ", ");
            json_field("value", value_text(s), ", ");
            json_field("default", s->initial, ", ");
            json_field("help", s->help, "}");
            comma = ",\n";
        }
    printf("\n  ],\n");
}

static void json_all(const mlt_settings_table *tables, size_t count)
{
    fact facts[FACTS];
    find_facts(facts);
    printf("{\n  \"version\": \"%s\",\n  \"mpi\": \"%d.%d\",\n  \"abi\": \"%d.%d\",\n  \"here\": {",
           MLT_VERSION, MPI_VERSION, MPI_SUBVERSION, MPI_ABI_VERSION, MPI_ABI_SUBVERSION);
    for (int i = 0; facts[i].name; i++) {
        printf("%s\n    ", i ? "," : "");
        json_field(facts[i].name, facts[i].text, "");
    }
    printf("\n  },\n  \"gpus\": ");
    mlt_gpus_json();
    printf(",\n");
    json_settings(tables, count);
    printf("  \"chapters\": [");
    for (int c = 0; c < MLT_CHAPTER_COUNT; c++) {
        printf("%s\n    {\"chapter\": %d, ", c ? "," : "", mlt_chapter_table[c].number);
        json_field("title", mlt_chapter_table[c].title, ", ");
        printf("\"functions\": %d}", count_functions(mlt_chapter_table[c].number));
    }
    printf("\n  ],\n  \"functions\": [");
    for (int i = 1; i < MLT_FN_COUNT; i++) {
        const mlt_fn *fn = &mlt_fn_table[i];
        printf("%s\n    {\"name\": \"%s\", \"chapter\": %d, \"abi\": %s}", i > 1 ? "," : "",
               fn->name, fn->chapter, fn->abi ? "true" : "false");
    }
    printf("\n  ]\n}\n");
}

static bool info_functions, info_json, info_coll, info_net, info_fabrics, info_gpus;
static const char *info_iface, *info_ports;

static mlt_arg info_args[] = {
    {"functions", 0, MLT_ARG_FLAG, &info_functions, NULL, .help = "name every MPI function"},
    {"json", 0, MLT_ARG_FLAG, &info_json, NULL, .help = "print everything as JSON, for programs"},
    {"net", 0, MLT_ARG_FLAG, &info_net, NULL,
     .help = "say instead which addresses this host has for jobs over several hosts"},
    {"iface", 0, MLT_ARG_TEXT, &info_iface, "LIST", .help = "with --net: as mpirun's --iface"},
    {"port-range", 0, MLT_ARG_TEXT, &info_ports, "A-B",
     .help = "with --net: as mpirun's --port-range"},
    {"fabrics", 0, MLT_ARG_FLAG, &info_fabrics, NULL,
     .help = "say instead which networks libfabric has here, and which one MILLET_FABRIC takes"},
    {"gpus", 0, MLT_ARG_FLAG, &info_gpus, NULL,
     .help = "say instead which GPUs there are, and try whether processes can share their memory"},
    {"coll", 0, MLT_ARG_FLAG, &info_coll, "[COLLECTIVE]",
     .help = "say instead which algorithm a collective would use, by which rule, and why not "
             "another one; without --ranks list collectives, algorithms and rules"},
};

// Options and words of --coll, without it.
static void needs_coll(const mlt_arg_texts *words)
{
    for (int i = 0; i < MLT_INFO_COLL_ARGS; i++)
        if (mlt_info_coll_args[i].given)
            mlt_args_wrong("--%s needs --coll", mlt_info_coll_args[i].name);
    if (words->count)
        mlt_args_wrong("'%s' is one word too many without --coll", words->items[0]);
}

static int info_run(const mlt_arg_texts *words)
{
    mlt_settings_table tables[MLT_SETTINGS_MOST];
    size_t count = mlt_lib_settings(tables, MLT_SETTINGS_MOST);
    if (mlt_settings_read(tables, count, MLT_ARGS_WHY) != MLT_OK)
        fprintf(stderr, "%s: %s\n", mlt_args_command(), mlt_args_why);
    if (!info_coll)
        needs_coll(words);
    if (!info_net && (info_iface || info_ports))
        mlt_args_wrong("--iface and --port-range need --net");
    if (info_coll)
        mlt_info_coll(words->count ? words->items[0] : NULL);
    else if (info_net)
        mlt_info_net(info_iface, info_ports);
    else if (info_fabrics)
        mlt_info_fabrics();
    else if (info_gpus)
        mlt_info_gpus();
    else if (info_json)
        json_all(tables, count);
    else
        say_all(tables, count, info_functions);
    return MLT_EXIT_FINE;
}

const mlt_command mlt_info_command = {
    .name = "millet info",
    .help = "show version, settings, choices on this machine, coverage of MPI",
    .most = 1, // that of --coll
    .purpose = "Shows this Millet: its version, what it would choose on this machine, its "
               "settings, and how much of MPI it has.",
    .groups = {{NULL, MLT_ARG_LIST(info_args)}, {"For --coll", MLT_ARG_LIST(mlt_info_coll_args)}},
    .run = info_run};
