// SPDX-License-Identifier: BSD-3-Clause
// Prints what an MPI library shows to tools: control variables with their values, performance
// variables, and events, by category. Works with every MPI that has events (MPI 4.0).
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROOM = 1024 };

static const char *scope_name(int scope)
{
    return scope == MPI_T_SCOPE_CONSTANT   ? "constant"
           : scope == MPI_T_SCOPE_READONLY ? "read-only"
           : scope == MPI_T_SCOPE_LOCAL    ? "local"
           : scope == MPI_T_SCOPE_ALL_EQ   ? "the same everywhere"
                                           : "of a group";
}

static const char *class_name(int class)
{
    static const char *const names[] = {"?",          "state",     "level",    "size",
                                        "percentage", "high mark", "low mark", "counter",
                                        "sum",        "timer",     "generic"};
    return names[class >= 0 && class <= 10 ? class : 0];
}

static void print_value(MPI_Datatype type, MPI_T_enum names, const void *value)
{
    char name[ROOM];
    int room = ROOM, item;
    if (names != MPI_T_ENUM_NULL &&
        MPI_T_enum_get_item(names, *(const int *)value, &item, name, &room) == MPI_SUCCESS)
        printf("%s", name);
    else if (type == MPI_CHAR)
        printf("\"%s\"", (const char *)value);
    else if (type == MPI_INT)
        printf("%d", *(const int *)value);
    else if (type == MPI_UNSIGNED)
        printf("%u", *(const unsigned *)value);
    else if (type == MPI_DOUBLE)
        printf("%g", *(const double *)value);
    else
        printf("%lld", *(const long long *)value);
}

static void print_cvar(int i)
{
    char name[ROOM], desc[ROOM];
    int room = ROOM, desc_room = ROOM, scope, bind, count;
    MPI_Datatype type;
    MPI_T_enum names;
    MPI_T_cvar_handle handle;
    MPI_T_cvar_get_info(i, name, &room, NULL, &type, &names, desc, &desc_room, &bind, &scope);
    printf("  control      %-19s ", name);
    if (bind == MPI_T_BIND_NO_OBJECT &&
        MPI_T_cvar_handle_alloc(i, NULL, &handle, &count) == MPI_SUCCESS) {
        void *value = calloc((size_t)count + 1, sizeof(double));
        if (value && MPI_T_cvar_read(handle, value) == MPI_SUCCESS)
            print_value(type, names, value);
        free(value);
        MPI_T_cvar_handle_free(&handle);
    }
    printf(" (%s): %s\n", scope_name(scope), desc);
}

static void print_pvar(int i)
{
    char name[ROOM], desc[ROOM];
    int room = ROOM, desc_room = ROOM, class, bind, continuous;
    MPI_T_pvar_get_info(i, name, &room, NULL, &class, NULL, NULL, desc, &desc_room, &bind, NULL,
                        &continuous, NULL);
    printf("  performance  %-19s %s%s%s: %s\n", name, class_name(class),
           bind == MPI_T_BIND_NO_OBJECT ? "" : " of an object", continuous ? ", continuous" : "",
           desc);
}

static void print_event(int i)
{
    char name[ROOM], desc[ROOM];
    int room = ROOM, desc_room = ROOM, elements = 0, items = 0;
    MPI_T_enum names;
    MPI_T_event_get_info(i, name, &room, NULL, NULL, NULL, &elements, &names, NULL, desc,
                         &desc_room, NULL);
    printf("  event        %-19s (", name);
    if (names != MPI_T_ENUM_NULL)
        MPI_T_enum_get_info(names, &items, NULL, NULL);
    for (int e = 0; e < items; e++) {
        char item[ROOM];
        room = ROOM;
        MPI_T_enum_get_item(names, e, NULL, item, &room);
        printf("%s%s", e ? ", " : "", item);
    }
    printf("): %s\n", desc);
}

typedef int get_list(int category, int len, int indices[]);

static void print_list(int category, int count, get_list *get, void (*print)(int i))
{
    int *indices = calloc((size_t)count + 1, sizeof *indices);
    if (!indices || get(category, count, indices) != MPI_SUCCESS)
        count = 0;
    for (int i = 0; i < count; i++)
        print(indices[i]);
    free(indices);
}

static void print_category(int category)
{
    char name[ROOM], desc[ROOM];
    int room = ROOM, desc_room = ROOM, cvars, pvars, categories, events;
    MPI_T_category_get_info(category, name, &room, desc, &desc_room, &cvars, &pvars, &categories);
    MPI_T_category_get_num_events(category, &events);
    printf("\n%s: %s\n", name, desc);
    print_list(category, cvars, MPI_T_category_get_cvars, print_cvar);
    print_list(category, pvars, MPI_T_category_get_pvars, print_pvar);
    print_list(category, events, MPI_T_category_get_events, print_event);
}

int main(void)
{
    int provided, cvars, pvars, events, categories;
    if (MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) != MPI_SUCCESS) {
        fprintf(stderr, "there is no tool interface\n");
        return 1;
    }
    MPI_T_cvar_get_num(&cvars);
    MPI_T_pvar_get_num(&pvars);
    MPI_T_event_get_num(&events);
    MPI_T_category_get_num(&categories);
    printf("%d control variables, %d performance variables, %d events, in %d categories\n", cvars,
           pvars, events, categories);
    for (int i = 0; i < categories; i++)
        print_category(i);
    return MPI_T_finalize() != MPI_SUCCESS;
}
