// SPDX-License-Identifier: BSD-3-Clause
//
// MPI_T without any variable of Millet's own: what every MPI answers. Initialising several times,
// before MPI_Init, between and after MPI_Finalize; all control and performance variables,
// enumerations, categories, event types and sources, their names by every rule for strings, and
// every wrong index, name and handle.

#include "check.h"

enum { NAME_ROOM = 2048 };

// A string by every rule: the length alone, cut, whole, and not at all.
#define CHECK_STRING(call_of_buffer_and_length, whole)                                             \
    do {                                                                                           \
        char s_[NAME_ROOM];                                                                        \
        char *b_ = NULL;                                                                           \
        int n_ = 7, want_ = (int)strlen(whole) + 1;                                                \
        int *l_ = &n_;                                                                             \
        CHECK_INT(call_of_buffer_and_length, MPI_SUCCESS);                                         \
        CHECK_INT(n_, want_);                                                                      \
        memset(s_, '#', sizeof s_);                                                                \
        b_ = s_;                                                                                   \
        n_ = 0;                                                                                    \
        CHECK_INT(call_of_buffer_and_length, MPI_SUCCESS);                                         \
        CHECK_INT(n_, want_);                                                                      \
        CHECK(s_[0] == '#');                                                                       \
        n_ = 3;                                                                                    \
        CHECK_INT(call_of_buffer_and_length, MPI_SUCCESS);                                         \
        CHECK(strncmp(s_, whole, 2) == 0 && strlen(s_) == (want_ > 2 ? 2u : (size_t)want_ - 1));   \
        CHECK(s_[3] == '#');                                                                       \
        if (STRICT) /* MPICH 4.0 leaves what it was */                                             \
            CHECK_INT(n_, want_);                                                                  \
        n_ = want_;                                                                                \
        CHECK_INT(call_of_buffer_and_length, MPI_SUCCESS);                                         \
        CHECK(strcmp(s_, whole) == 0);                                                             \
        l_ = NULL;                                                                                 \
        memset(s_, '#', sizeof s_);                                                                \
        CHECK_INT(call_of_buffer_and_length, MPI_SUCCESS);                                         \
        CHECK(s_[0] == '#');                                                                       \
    } while (0)

static void check_enum(MPI_T_enum e)
{
    int num = -1, room = NAME_ROOM;
    char whole[NAME_ROOM];
    CHECK_INT(MPI_T_enum_get_info(e, &num, whole, &room), MPI_SUCCESS);
    CHECK(num > 0 && whole[0]);
    CHECK_STRING(MPI_T_enum_get_info(e, NULL, b_, l_), whole);
    for (int i = 0; i < num; i++) {
        int value = -1;
        room = NAME_ROOM;
        CHECK_INT(MPI_T_enum_get_item(e, i, &value, whole, &room), MPI_SUCCESS);
        CHECK(whole[0] && room == (int)strlen(whole) + 1);
        CHECK_STRING(MPI_T_enum_get_item(e, i, &value, b_, l_), whole);
    }
    if (STRICT) {
        CHECK_INT(MPI_T_enum_get_item(e, num, &num, whole, &room), MPI_T_ERR_INVALID_INDEX);
        CHECK_INT(MPI_T_enum_get_item(e, -1, &num, whole, &room), MPI_T_ERR_INVALID_INDEX);
    }
}

static int is_tool_type(MPI_Datatype t)
{
    const MPI_Datatype types[] = {
        MPI_INT,     MPI_UNSIGNED, MPI_UNSIGNED_LONG, MPI_CHAR,    MPI_UNSIGNED_LONG_LONG,
        MPI_COUNT,   MPI_DOUBLE,   MPI_INT32_T,       MPI_INT64_T, MPI_UINT32_T,
        MPI_UINT64_T};
    for (int i = 0; i < COUNT_OF(types); i++)
        if (types[i] == t)
            return 1;
    return 0;
}

static void check_cvar(int i)
{
    int room = NAME_ROOM, verbosity = -1, bind = -1, scope = -1, again = -1, count = -1;
    char whole[NAME_ROOM], desc[NAME_ROOM];
    int desc_room = NAME_ROOM;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_T_enum e = MPI_T_ENUM_NULL;
    CHECK_INT(MPI_T_cvar_get_info(i, whole, &room, &verbosity, &type, &e, desc, &desc_room, &bind,
                                  &scope),
              MPI_SUCCESS);
    CHECK(whole[0] && is_tool_type(type) && verbosity > 0);
    CHECK(bind >= MPI_T_BIND_NO_OBJECT && scope >= MPI_T_SCOPE_CONSTANT);
    CHECK_STRING(MPI_T_cvar_get_info(i, b_, l_, NULL, NULL, NULL, NULL, NULL, NULL, NULL), whole);
    if (STRICT)
        CHECK_STRING(MPI_T_cvar_get_info(i, NULL, NULL, NULL, NULL, NULL, b_, l_, NULL, NULL),
                     desc);
    CHECK_INT(MPI_T_cvar_get_index(whole, &again), MPI_SUCCESS);
    CHECK(again == i || !STRICT);
    if (e != MPI_T_ENUM_NULL)
        check_enum(e);
    if (bind != MPI_T_BIND_NO_OBJECT)
        return;
    MPI_T_cvar_handle h = MPI_T_CVAR_HANDLE_NULL;
    CHECK_INT(MPI_T_cvar_handle_alloc(i, NULL, &h, &count), MPI_SUCCESS);
    CHECK(h != MPI_T_CVAR_HANDLE_NULL && count >= (STRICT ? 1 : 0));
    double *buf = calloc((size_t)count + 1, sizeof *buf);
    CHECK(buf != NULL);
    CHECK_INT(MPI_T_cvar_read(h, buf), MPI_SUCCESS);
    if (scope == MPI_T_SCOPE_CONSTANT || scope == MPI_T_SCOPE_READONLY)
        CHECK(MPI_T_cvar_write(h, buf) != MPI_SUCCESS);
    free(buf);
    CHECK_INT(MPI_T_cvar_handle_free(&h), MPI_SUCCESS);
    CHECK(h == MPI_T_CVAR_HANDLE_NULL);
}

static void check_cvars(void)
{
    int num = -1, x = -1;
    MPI_T_cvar_handle h = MPI_T_CVAR_HANDLE_NULL;
    CHECK_INT(MPI_T_cvar_get_num(&num), MPI_SUCCESS);
    for (int i = 0; i < num; i++)
        check_cvar(i);
    CHECK_INT(MPI_T_cvar_get_info(num, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
              MPI_T_ERR_INVALID_INDEX);
    CHECK_INT(MPI_T_cvar_get_info(-1, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
              MPI_T_ERR_INVALID_INDEX);
    CHECK_INT(MPI_T_cvar_handle_alloc(num, NULL, &h, &x), MPI_T_ERR_INVALID_INDEX);
    CHECK_INT(MPI_T_cvar_get_index("no such variable", &x), MPI_T_ERR_INVALID_NAME);
    if (!STRICT)
        return;
    CHECK_INT(MPI_T_cvar_get_index(NULL, &x), MPI_T_ERR_INVALID);
    CHECK_INT(MPI_T_cvar_get_num(NULL), MPI_T_ERR_INVALID);
    CHECK_INT(MPI_T_cvar_handle_alloc(0, NULL, NULL, &x), MPI_T_ERR_INVALID);
    CHECK_INT(MPI_T_cvar_handle_alloc(0, NULL, &h, NULL), MPI_T_ERR_INVALID);
    CHECK_INT(MPI_T_cvar_handle_free(&h), MPI_T_ERR_INVALID_HANDLE);
    CHECK_INT(MPI_T_cvar_handle_free(NULL), MPI_T_ERR_INVALID);
    CHECK_INT(MPI_T_cvar_read(h, &x), MPI_T_ERR_INVALID_HANDLE);
    CHECK_INT(MPI_T_cvar_write(h, &x), MPI_T_ERR_INVALID_HANDLE);
    CHECK_INT(MPI_T_cvar_handle_alloc(0, NULL, &h, &x), MPI_SUCCESS);
    CHECK_INT(MPI_T_cvar_read(h, NULL), MPI_T_ERR_INVALID);
    CHECK_INT(MPI_T_cvar_write(h, NULL), MPI_T_ERR_INVALID);
    MPI_T_cvar_handle stale = h;
    CHECK_INT(MPI_T_cvar_handle_free(&h), MPI_SUCCESS);
    CHECK_INT(MPI_T_cvar_read(stale, &x), MPI_T_ERR_INVALID_HANDLE);
    CHECK_INT(MPI_T_cvar_handle_free(&stale), MPI_T_ERR_INVALID_HANDLE);
}

// Each class has the types that the standard allows it.
static int fits_class(int class, MPI_Datatype t)
{
    int number = t == MPI_UNSIGNED || t == MPI_UNSIGNED_LONG || t == MPI_UNSIGNED_LONG_LONG;
    switch (class) {
    case MPI_T_PVAR_CLASS_STATE:
        return t == MPI_INT;
    case MPI_T_PVAR_CLASS_PERCENTAGE:
        return t == MPI_DOUBLE;
    case MPI_T_PVAR_CLASS_COUNTER:
        return number;
    default:
        return number || t == MPI_DOUBLE;
    }
}

static void check_handle(MPI_T_pvar_session s, int i, int read_only, int continuous, int atomic)
{
    MPI_T_pvar_handle h = MPI_T_PVAR_HANDLE_NULL;
    int count = -1;
    CHECK_INT(MPI_T_pvar_handle_alloc(s, i, NULL, &h, &count), MPI_SUCCESS);
    CHECK(count >= 1);
    double *buf = calloc((size_t)count, sizeof *buf);
    CHECK(buf != NULL);
    CHECK_INT(MPI_T_pvar_start(s, h), continuous ? MPI_T_ERR_PVAR_NO_STARTSTOP : MPI_SUCCESS);
    if (!continuous)
        CHECK_INT(MPI_T_pvar_start(s, h), MPI_SUCCESS); // it runs already
    CHECK_INT(MPI_T_pvar_read(s, h, buf), MPI_SUCCESS);
    if (read_only) {
        CHECK_INT(MPI_T_pvar_write(s, h, buf), MPI_T_ERR_PVAR_NO_WRITE);
        CHECK_INT(MPI_T_pvar_reset(s, h), MPI_T_ERR_PVAR_NO_WRITE);
    } else {
        CHECK_INT(MPI_T_pvar_reset(s, h), MPI_SUCCESS);
    }
    if (STRICT)
        CHECK_INT(MPI_T_pvar_readreset(s, h, buf), atomic ? MPI_SUCCESS : MPI_T_ERR_PVAR_NO_ATOMIC);
    CHECK_INT(MPI_T_pvar_stop(s, h), continuous ? MPI_T_ERR_PVAR_NO_STARTSTOP : MPI_SUCCESS);
    CHECK_INT(MPI_T_pvar_handle_free(s, &h), MPI_SUCCESS);
    CHECK(h == MPI_T_PVAR_HANDLE_NULL);
    free(buf);
}

static void check_pvar(MPI_T_pvar_session s, int i)
{
    int room = NAME_ROOM, desc_room = NAME_ROOM, verbosity = -1, bind = -1, class = -1;
    int read_only = -1, continuous = -1, atomic = -1, again = -1;
    char whole[NAME_ROOM], desc[NAME_ROOM];
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_T_enum e = MPI_T_ENUM_NULL;
    CHECK_INT(MPI_T_pvar_get_info(i, whole, &room, &verbosity, &class, &type, &e, desc, &desc_room,
                                  &bind, &read_only, &continuous, &atomic),
              MPI_SUCCESS);
    CHECK(whole[0] && verbosity > 0 && bind >= MPI_T_BIND_NO_OBJECT);
    CHECK(fits_class(class, type) || !STRICT);
    CHECK((unsigned)read_only < 2 && (unsigned)continuous < 2 && (unsigned)atomic < 2);
    CHECK_STRING(
        MPI_T_pvar_get_info(i, b_, l_, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
        whole);
    if (STRICT)
        CHECK_STRING(MPI_T_pvar_get_info(i, NULL, NULL, NULL, NULL, NULL, NULL, b_, l_, NULL, NULL,
                                         NULL, NULL),
                     desc);
    CHECK_INT(MPI_T_pvar_get_index(whole, class, &again), MPI_SUCCESS);
    CHECK(again == i || !STRICT);
    CHECK((e != MPI_T_ENUM_NULL) == (class == MPI_T_PVAR_CLASS_STATE) || !STRICT);
    if (e != MPI_T_ENUM_NULL)
        check_enum(e);
    if (bind == MPI_T_BIND_NO_OBJECT && STRICT)
        check_handle(s, i, read_only, continuous, atomic);
}

static void check_pvar_errors(MPI_T_pvar_session s, int num)
{
    MPI_T_pvar_session other = MPI_T_PVAR_SESSION_NULL, stale;
    MPI_T_pvar_handle h = MPI_T_PVAR_HANDLE_NULL, old;
    unsigned long long buf[64];
    int x = -1;
    CHECK_INT(MPI_T_pvar_get_num(NULL), MPI_T_ERR_INVALID);
    CHECK_INT(MPI_T_pvar_get_index(NULL, MPI_T_PVAR_CLASS_LEVEL, &x), MPI_T_ERR_INVALID);
    CHECK_INT(MPI_T_pvar_session_create(NULL), MPI_T_ERR_INVALID);
    CHECK_INT(MPI_T_pvar_session_free(NULL), MPI_T_ERR_INVALID);
    CHECK_INT(MPI_T_pvar_session_free(&other), MPI_T_ERR_INVALID_SESSION);
    CHECK_INT(MPI_T_pvar_handle_alloc(other, 0, NULL, &h, &x), MPI_T_ERR_INVALID_SESSION);
    CHECK_INT(MPI_T_pvar_handle_alloc(s, num, NULL, &h, &x), MPI_T_ERR_INVALID_INDEX);
    CHECK_INT(MPI_T_pvar_handle_alloc(s, -1, NULL, &h, &x), MPI_T_ERR_INVALID_INDEX);
    CHECK_INT(MPI_T_pvar_handle_alloc(s, 0, NULL, NULL, &x), MPI_T_ERR_INVALID);
    CHECK_INT(MPI_T_pvar_handle_alloc(s, 0, NULL, &h, NULL), MPI_T_ERR_INVALID);
    CHECK_INT(MPI_T_pvar_handle_free(s, &h), MPI_T_ERR_INVALID_HANDLE);
    CHECK_INT(MPI_T_pvar_handle_free(s, NULL), MPI_T_ERR_INVALID);
    CHECK_INT(MPI_T_pvar_start(s, h), MPI_T_ERR_INVALID_HANDLE);
    CHECK_INT(MPI_T_pvar_read(s, MPI_T_PVAR_ALL_HANDLES, buf), MPI_T_ERR_INVALID_HANDLE);
    CHECK_INT(MPI_T_pvar_readreset(s, MPI_T_PVAR_ALL_HANDLES, buf), MPI_T_ERR_INVALID_HANDLE);
    CHECK_INT(MPI_T_pvar_write(s, MPI_T_PVAR_ALL_HANDLES, buf), MPI_T_ERR_INVALID_HANDLE);
    CHECK_INT(MPI_T_pvar_handle_alloc(s, 0, NULL, &h, &x), MPI_SUCCESS);
    CHECK_INT(MPI_T_pvar_session_create(&other), MPI_SUCCESS);
    CHECK_INT(MPI_T_pvar_read(other, h, buf), MPI_T_ERR_INVALID_HANDLE); // of another session
    CHECK_INT(MPI_T_pvar_read(s, h, NULL), MPI_T_ERR_INVALID);
    CHECK_INT(MPI_T_pvar_readreset(s, h, NULL), MPI_T_ERR_INVALID);
    CHECK_INT(MPI_T_pvar_write(s, h, NULL), MPI_T_ERR_INVALID);
    old = h;
    stale = other;
    CHECK_INT(MPI_T_pvar_handle_free(s, &h), MPI_SUCCESS);
    CHECK_INT(MPI_T_pvar_session_free(&other), MPI_SUCCESS);
    CHECK_INT(MPI_T_pvar_read(s, old, buf), MPI_T_ERR_INVALID_HANDLE);
    CHECK_INT(MPI_T_pvar_read(stale, old, buf), MPI_T_ERR_INVALID_SESSION);
    CHECK_INT(MPI_T_pvar_start(stale, MPI_T_PVAR_ALL_HANDLES), MPI_T_ERR_INVALID_SESSION);
    CHECK_INT(MPI_T_pvar_stop(stale, old), MPI_T_ERR_INVALID_SESSION);
    CHECK_INT(MPI_T_pvar_reset(stale, old), MPI_T_ERR_INVALID_SESSION);
}

static void check_pvars(void)
{
    int num = -1, x = -1;
    MPI_T_pvar_session s = MPI_T_PVAR_SESSION_NULL;
    CHECK_INT(MPI_T_pvar_get_num(&num), MPI_SUCCESS);
    CHECK_INT(MPI_T_pvar_session_create(&s), MPI_SUCCESS);
    for (int i = 0; i < num; i++)
        check_pvar(s, i);
    CHECK_INT(MPI_T_pvar_get_info(num, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
                                  NULL, NULL),
              MPI_T_ERR_INVALID_INDEX);
    CHECK_INT(MPI_T_pvar_get_index("no such variable", MPI_T_PVAR_CLASS_COUNTER, &x),
              MPI_T_ERR_INVALID_NAME);
    // All of none.
    CHECK_INT(MPI_T_pvar_start(s, MPI_T_PVAR_ALL_HANDLES), MPI_SUCCESS);
    CHECK_INT(MPI_T_pvar_reset(s, MPI_T_PVAR_ALL_HANDLES), MPI_SUCCESS);
    CHECK_INT(MPI_T_pvar_stop(s, MPI_T_PVAR_ALL_HANDLES), MPI_SUCCESS);
    if (STRICT)
        check_pvar_errors(s, num);
    CHECK_INT(MPI_T_pvar_session_free(&s), MPI_SUCCESS);
    CHECK(s == MPI_T_PVAR_SESSION_NULL);
}

// ---- categories

static void check_indices(int num, int got, int all, int *seen,
                          int (*get)(int cat, int len, int indices[]), int cat)
{
    int *indices = must_alloc((size_t)(num + 2) * sizeof *indices);
    for (int i = 0; i < num + 2; i++)
        indices[i] = -7;
    CHECK_INT(get(cat, num + 1, indices), MPI_SUCCESS);
    for (int i = 0; i < got; i++) {
        CHECK(indices[i] >= 0 && indices[i] < all);
        seen[indices[i]]++;
    }
    CHECK(indices[got] == -7 || !STRICT);
    for (int i = 0; i < num + 2; i++)
        indices[i] = -7;
    if (got > 1) {
        CHECK_INT(get(cat, 1, indices), MPI_SUCCESS);
        CHECK(indices[0] >= 0 && indices[1] == -7);
    }
    if (STRICT) {
        CHECK_INT(get(cat, 0, NULL), MPI_SUCCESS);
        CHECK_INT(get(cat, 1, NULL), MPI_T_ERR_INVALID);
        CHECK_INT(get(cat, -1, indices), MPI_T_ERR_INVALID);
        CHECK_INT(get(-1, 1, indices), MPI_T_ERR_INVALID_INDEX);
    }
    free(indices);
}

enum { CVARS, PVARS, EVENTS, CATEGORIES, KINDS };

static void check_category(int cat, const int *all, int *const *seen)
{
    int room = NAME_ROOM, again = -1, got[KINDS] = {-1, -1, 0, -1};
    char whole[NAME_ROOM];
    CHECK_INT(MPI_T_category_get_info(cat, whole, &room, NULL, NULL, &got[CVARS], &got[PVARS],
                                      &got[CATEGORIES]),
              MPI_SUCCESS);
    CHECK_STRING(MPI_T_category_get_info(cat, b_, l_, NULL, NULL, NULL, NULL, NULL), whole);
    CHECK_INT(MPI_T_category_get_index(whole, &again), MPI_SUCCESS);
    CHECK_INT(again, cat);
    CHECK_INT(MPI_T_category_get_num_events(cat, &got[EVENTS]), MPI_SUCCESS);
    check_indices(all[CVARS], got[CVARS], all[CVARS], seen[CVARS], MPI_T_category_get_cvars, cat);
    check_indices(all[PVARS], got[PVARS], all[PVARS], seen[PVARS], MPI_T_category_get_pvars, cat);
    check_indices(all[EVENTS], got[EVENTS], all[EVENTS], seen[EVENTS], MPI_T_category_get_events,
                  cat);
    check_indices(all[CATEGORIES], got[CATEGORIES], all[CATEGORIES], seen[CATEGORIES],
                  MPI_T_category_get_categories, cat);
}

static void check_categories(void)
{
    int all[KINDS], *seen[KINDS], x = -1, before = -1, after = -2;
    CHECK_INT(MPI_T_cvar_get_num(&all[CVARS]), MPI_SUCCESS);
    CHECK_INT(MPI_T_pvar_get_num(&all[PVARS]), MPI_SUCCESS);
    CHECK_INT(MPI_T_event_get_num(&all[EVENTS]), MPI_SUCCESS);
    CHECK_INT(MPI_T_category_get_num(&all[CATEGORIES]), MPI_SUCCESS);
    CHECK_INT(MPI_T_category_changed(&before), MPI_SUCCESS);
    for (int k = 0; k < KINDS; k++) {
        seen[k] = calloc((size_t)all[k] + 1, sizeof **seen);
        CHECK(seen[k] != NULL);
    }
    for (int cat = 0; cat < all[CATEGORIES]; cat++)
        check_category(cat, all, seen);
    CHECK_INT(MPI_T_category_changed(&after), MPI_SUCCESS);
    CHECK_INT(after, before);
    // Everything is in one category; one category, the first, is in none.
    for (int k = 0; STRICT && k < KINDS; k++)
        for (int i = 0; i < all[k]; i++)
            CHECK_INT(seen[k][i], !(k == CATEGORIES && i == 0));
    for (int k = 0; k < KINDS; k++)
        free(seen[k]);
    CHECK_INT(MPI_T_category_get_info(all[CATEGORIES], NULL, NULL, NULL, NULL, NULL, NULL, NULL),
              MPI_T_ERR_INVALID_INDEX);
    CHECK_INT(MPI_T_category_get_index("no such category", &x), MPI_T_ERR_INVALID_NAME);
    if (!STRICT)
        return;
    CHECK_INT(MPI_T_category_get_num_events(-1, &x), MPI_T_ERR_INVALID_INDEX);
    CHECK_INT(MPI_T_category_get_num_events(0, NULL), MPI_T_ERR_INVALID);
    CHECK_INT(MPI_T_category_get_index(NULL, &x), MPI_T_ERR_INVALID);
    CHECK_INT(MPI_T_category_get_num(NULL), MPI_T_ERR_INVALID);
    CHECK_INT(MPI_T_category_changed(NULL), MPI_T_ERR_INVALID);
}

// ---- events and sources

static void check_event(int i)
{
    int room = NAME_ROOM, elements = 0, again = -1, verbosity = -1, bind = -1, items = -1;
    char whole[NAME_ROOM];
    MPI_T_enum e = MPI_T_ENUM_NULL;
    MPI_Info info = MPI_INFO_NULL;
    CHECK_INT(MPI_T_event_get_info(i, whole, &room, &verbosity, NULL, NULL, &elements, &e, &info,
                                   NULL, NULL, &bind),
              MPI_SUCCESS);
    CHECK(whole[0] && elements > 0 && verbosity > 0 && info != MPI_INFO_NULL);
    CHECK_OK(MPI_Info_free(&info));
    CHECK_STRING(
        MPI_T_event_get_info(i, b_, l_, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
        whole);
    CHECK_INT(MPI_T_event_get_index(whole, &again), MPI_SUCCESS);
    CHECK_INT(again, i);
    check_enum(e); // the names of the elements
    CHECK_INT(MPI_T_enum_get_info(e, &items, NULL, NULL), MPI_SUCCESS);
    CHECK_INT(items, elements);
    MPI_Datatype types[8] = {MPI_DATATYPE_NULL, MPI_DATATYPE_NULL};
    MPI_Aint places[8] = {-1, -1};
    int some = 1, end = 0;
    CHECK_INT(MPI_T_event_get_info(i, NULL, NULL, NULL, types, places, &some, NULL, NULL, NULL,
                                   NULL, NULL),
              MPI_SUCCESS);
    CHECK_INT(some, elements);
    CHECK(types[1] == MPI_DATATYPE_NULL && places[1] == -1);
    some = COUNT_OF(types);
    CHECK_INT(MPI_T_event_get_info(i, NULL, NULL, NULL, types, places, &some, NULL, NULL, NULL,
                                   NULL, NULL),
              MPI_SUCCESS);
    for (int k = 0; k < elements; k++) {
        CHECK(is_tool_type(types[k]) && places[k] >= end);
        end = (int)places[k] + 1;
    }
}

static void check_sources(void)
{
    int num = -1, x = -1;
    MPI_Count now = -1, later = -1;
    CHECK_INT(MPI_T_source_get_num(&num), MPI_SUCCESS);
    for (int i = 0; i < num; i++) {
        char whole[NAME_ROOM];
        int room = NAME_ROOM;
        MPI_Count ticks = -1, most = -1;
        MPI_T_source_order order = 0;
        MPI_Info info = MPI_INFO_NULL;
        CHECK_INT(MPI_T_source_get_info(i, whole, &room, NULL, NULL, &order, &ticks, &most, &info),
                  MPI_SUCCESS);
        CHECK(whole[0] && ticks > 0 && most > 0);
        CHECK(order == MPI_T_SOURCE_ORDERED || order == MPI_T_SOURCE_UNORDERED);
        CHECK_OK(MPI_Info_free(&info));
        CHECK_STRING(MPI_T_source_get_info(i, b_, l_, NULL, NULL, NULL, NULL, NULL, NULL), whole);
        CHECK_STRING(MPI_T_source_get_info(i, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL) ||
                         MPI_T_source_get_info(i, b_, l_, NULL, NULL, NULL, NULL, NULL, NULL),
                     whole);
        CHECK_INT(MPI_T_source_get_timestamp(i, &now), MPI_SUCCESS);
        CHECK_INT(MPI_T_source_get_timestamp(i, &later), MPI_SUCCESS);
        CHECK(now > 0 && later >= now);
    }
    CHECK_INT(MPI_T_source_get_info(num, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
              MPI_T_ERR_INVALID_INDEX);
    CHECK_INT(MPI_T_source_get_timestamp(num, &now), MPI_T_ERR_INVALID_INDEX);
    if (!STRICT)
        return;
    CHECK_INT(MPI_T_source_get_timestamp(0, NULL), MPI_T_ERR_INVALID);
    CHECK_INT(MPI_T_source_get_num(NULL), MPI_T_ERR_INVALID);
    CHECK_INT(MPI_T_source_get_timestamp(-1, &now), MPI_T_ERR_INVALID_INDEX);
    CHECK_INT(MPI_T_event_get_num(NULL), MPI_T_ERR_INVALID);
    CHECK_INT(MPI_T_event_get_index(NULL, &x), MPI_T_ERR_INVALID);
    CHECK_INT(MPI_T_event_get_index("no such event", &x), MPI_T_ERR_INVALID_NAME);
    CHECK_INT(
        MPI_T_event_get_info(-1, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
        MPI_T_ERR_INVALID_INDEX);
}

static void check_events(void)
{
    int num = -1;
    CHECK_INT(MPI_T_event_get_num(&num), MPI_SUCCESS);
    for (int i = 0; i < num; i++)
        check_event(i);
    check_sources();
}

// ---- the beginning and the end

static void check_closed(void)
{
    int x = -1;
    MPI_T_pvar_session s;
    CHECK_INT(MPI_T_cvar_get_num(&x), MPI_T_ERR_NOT_INITIALIZED);
    CHECK_INT(MPI_T_pvar_get_num(&x), MPI_T_ERR_NOT_INITIALIZED);
    CHECK_INT(MPI_T_category_get_num(&x), MPI_T_ERR_NOT_INITIALIZED);
    CHECK_INT(MPI_T_pvar_session_create(&s), MPI_T_ERR_NOT_INITIALIZED);
    if (!STRICT)
        return;
    CHECK_INT(MPI_T_event_get_num(&x), MPI_T_ERR_NOT_INITIALIZED);
    CHECK_INT(MPI_T_source_get_num(&x), MPI_T_ERR_NOT_INITIALIZED);
    CHECK_INT(MPI_T_enum_get_info(MPI_T_ENUM_NULL, &x, NULL, NULL), MPI_T_ERR_NOT_INITIALIZED);
    CHECK_INT(MPI_T_finalize(), MPI_T_ERR_NOT_INITIALIZED);
}

static void check_open(void)
{
    int x = -1;
    check_cvars();
    check_pvars();
    check_categories();
    check_events();
    if (STRICT) {
        CHECK_INT(MPI_T_enum_get_info(MPI_T_ENUM_NULL, &x, NULL, NULL), MPI_T_ERR_INVALID_HANDLE);
        CHECK_INT(MPI_T_enum_get_item(MPI_T_ENUM_NULL, 0, &x, NULL, NULL),
                  MPI_T_ERR_INVALID_HANDLE);
    }
}

int main(int argc, char **argv)
{
    int provided = -1, x = -1;
    check_closed();
    CHECK_INT(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided), MPI_SUCCESS);
    CHECK(provided >= MPI_THREAD_SINGLE);
    check_open();
    CHECK_INT(MPI_T_finalize(), MPI_SUCCESS);
    check_closed();
    // Counted; and one that lives through all of MPI.
    CHECK_INT(MPI_T_init_thread(MPI_THREAD_FUNNELED, &provided), MPI_SUCCESS);
    CHECK_INT(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided), MPI_SUCCESS);
    if (STRICT) {
        CHECK_INT(MPI_T_init_thread(12345, &provided), MPI_T_ERR_INVALID);
        CHECK_INT(MPI_T_init_thread(MPI_THREAD_SINGLE, NULL), MPI_T_ERR_INVALID);
    }
    CHECK_OK(MPI_Init(&argc, &argv));
    CHECK_INT(MPI_T_finalize(), MPI_SUCCESS);
    check_open();
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
    CHECK_INT(MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided), MPI_SUCCESS);
    CHECK(provided < MPI_THREAD_MULTIPLE || !STRICT); // MPI_Init granted less
    CHECK_INT(MPI_T_finalize(), MPI_SUCCESS);
    CHECK_OK(MPI_Finalize());
    check_open();
    CHECK_INT(MPI_T_finalize(), MPI_SUCCESS);
    check_closed();
    CHECK_INT(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided), MPI_SUCCESS);
    CHECK_INT(MPI_T_cvar_get_num(&x), MPI_SUCCESS);
    CHECK_INT(MPI_T_finalize(), MPI_SUCCESS);
    return 0;
}
