// SPDX-License-Identifier: BSD-3-Clause
// Calls that the table cannot describe: those with functions, attributes, lengths of strings, the
// command line, and those that return something else than a code. Compiled twice, see call.h.
#include <stdlib.h>
#include <string.h>

#include "fortran/call.h"

#pragma GCC visibility push(default)
#pragma GCC diagnostic ignored "-Wmissing-prototypes" // only Fortran calls them

#define ALIAS(name) MLT_F_ALIAS(name##_f08_, name##_)

// ---- the beginning

// What .TRUE. and .FALSE. are is told once a process; a program may have done so itself.
static void tell_booleans(void)
{
    MPI_Fint yes = 1, no = 0, a, b;
    int told = 1;
    PMPI_Abi_get_fortran_booleans(sizeof yes, &a, &b, &told);
    if (!told)
        PMPI_Abi_set_fortran_booleans(sizeof yes, &yes, &no);
}

void F(init_)(MPI_Fint *ierror)
{
    int code = C(Init)(NULL, NULL);
    if (code == MPI_SUCCESS)
        tell_booleans();
    mlt_f_error(ierror, code);
}
ALIAS(init);

void F(init_thread_)(const MPI_Fint *required, MPI_Fint *provided, MPI_Fint *ierror)
{
    int code = C(Init_thread)(NULL, NULL, *required, provided);
    if (code == MPI_SUCCESS)
        tell_booleans();
    mlt_f_error(ierror, code);
}
ALIAS(init_thread);

void F(info_create_env_)(MPI_Fint *info, MPI_Fint *ierror)
{
    MPI_Info made = MPI_INFO_NULL;
    int code = C(Info_create_env)(0, NULL, &made);
    *info = mlt_f_number(made);
    mlt_f_error(ierror, code);
}
ALIAS(info_create_env);

void F(pcontrol_)(const MPI_Fint *level)
{
    C(Pcontrol)(*level);
}
ALIAS(pcontrol);

// ---- what returns a value

double F(wtime_)(void)
{
    return C(Wtime)();
}
ALIAS(wtime);

double F(wtick_)(void)
{
    return C(Wtick)();
}
ALIAS(wtick);

MPI_Aint F(aint_add_)(const MPI_Aint *base, const MPI_Aint *disp)
{
    return C(Aint_add)(*base, *disp);
}
ALIAS(aint_add);

MPI_Aint F(aint_diff_)(const MPI_Aint *addr1, const MPI_Aint *addr2)
{
    return C(Aint_diff)(*addr1, *addr2);
}
ALIAS(aint_diff);

// ---- strings with a length of their own, which in C counts the end mark

// C's function writes into room of its own.
static char *room_for(MPI_Fint length, char *few)
{
    return length < MLT_F_TEXT ? few : malloc((size_t)length + 1);
}

void F(info_get_)(const MPI_Fint *info, const char *key, const MPI_Fint *valuelen, char *value,
                  MPI_Fint *flag, MPI_Fint *ierror, size_t key_len, size_t value_len)
{
    char key_few[MLT_F_TEXT], few[MLT_F_TEXT], *text = room_for(*valuelen, few);
    char *key_c = mlt_f_text_trimmed(key_few, key, key_len);
    int code = C(Info_get)(mlt_f_info(*info), key_c, *valuelen, text, flag);
    if (code == MPI_SUCCESS && *flag)
        mlt_f_text_out(value, value_len, text);
    mlt_f_text_end(key_few, key_c);
    mlt_f_text_end(few, text);
    mlt_f_error(ierror, code);
}
ALIAS(info_get);

void F(info_get_string_)(const MPI_Fint *info, const char *key, MPI_Fint *buflen, char *value,
                         MPI_Fint *flag, MPI_Fint *ierror, size_t key_len, size_t value_len)
{
    char key_few[MLT_F_TEXT], few[MLT_F_TEXT], *text = room_for(*buflen, few);
    char *key_c = mlt_f_text_trimmed(key_few, key, key_len);
    int length = *buflen > 0 ? *buflen + 1 : *buflen;
    int code = C(Info_get_string)(mlt_f_info(*info), key_c, &length, text, flag);
    if (code == MPI_SUCCESS && *flag) {
        if (*buflen > 0)
            mlt_f_text_out(value, value_len, text);
        *buflen = length - 1;
    }
    mlt_f_text_end(key_few, key_c);
    mlt_f_text_end(few, text);
    mlt_f_error(ierror, code);
}
ALIAS(info_get_string);

void F(session_get_nth_pset_)(const MPI_Fint *session, const MPI_Fint *info, const MPI_Fint *n,
                              MPI_Fint *pset_len, char *pset_name, MPI_Fint *ierror,
                              size_t pset_name_len)
{
    char few[MLT_F_TEXT], *text = room_for(*pset_len, few);
    int length = *pset_len > 0 ? *pset_len + 1 : *pset_len;
    int code =
        C(Session_get_nth_pset)(mlt_f_session(*session), mlt_f_info(*info), *n, &length, text);
    if (code == MPI_SUCCESS) {
        if (*pset_len > 0)
            mlt_f_text_out(pset_name, pset_name_len, text);
        *pset_len = length - 1;
    }
    mlt_f_text_end(few, text);
    mlt_f_error(ierror, code);
}
ALIAS(session_get_nth_pset);

// ---- command lines: strings one behind the other, of which blanks around them are no part; a blank
// one is the end

// The strings at `text`, `step` bytes apart, as C wants them; free with free_words.
static char **words_at(const char *text, size_t length, size_t step)
{
    size_t n = 0, i;
    for (const char *at = text;; at += step, n++) {
        for (i = 0; i < length && at[i] == ' '; i++)
            ;
        if (i == length)
            break;
    }
    char **words = calloc(n + 1, sizeof *words);
    for (i = 0; words && i < n; i++) {
        char few[MLT_F_TEXT], *word = mlt_f_text_trimmed(few, text + i * step, length);
        words[i] = word == few ? strdup(word) : word;
    }
    return words;
}

static void free_words(char **words)
{
    for (char **word = words; word && *word; word++)
        free(*word);
    free(words);
}

void F(comm_spawn_)(const char *command, const char *argv, const MPI_Fint *maxprocs,
                    const MPI_Fint *info, const MPI_Fint *root, const MPI_Fint *comm,
                    MPI_Fint *intercomm, MPI_Fint *array_of_errcodes, MPI_Fint *ierror,
                    size_t command_len, size_t argv_len)
{
    MPI_Comm its_comm = mlt_f_comm(*comm), made = MPI_COMM_NULL;
    int rank = -1;
    PMPI_Comm_rank(its_comm, &rank);
    bool at_root = rank == *root; // elsewhere nothing of it is looked at
    char few[MLT_F_TEXT], *path = mlt_f_text_trimmed(few, command, at_root ? command_len : 0);
    char **words = at_root && argv != &mlt_f_argv_null_ ? words_at(argv, argv_len, argv_len) : NULL;
    int code = C(Comm_spawn)(path, words ? words : MPI_ARGV_NULL, *maxprocs, mlt_f_info(*info),
                             *root, its_comm, &made, mlt_f_errcodes(array_of_errcodes));
    *intercomm = mlt_f_number(made);
    free_words(words);
    mlt_f_text_end(few, path);
    mlt_f_error(ierror, code);
}
ALIAS(comm_spawn);

void F(comm_spawn_multiple_)(const MPI_Fint *count, const char *array_of_commands,
                             const char *array_of_argv, const MPI_Fint *array_of_maxprocs,
                             const MPI_Fint *array_of_info, const MPI_Fint *root,
                             const MPI_Fint *comm, MPI_Fint *intercomm, MPI_Fint *array_of_errcodes,
                             MPI_Fint *ierror, size_t commands_len, size_t argv_len)
{
    MPI_Comm its_comm = mlt_f_comm(*comm), made = MPI_COMM_NULL;
    int rank = -1;
    PMPI_Comm_rank(its_comm, &rank);
    int n = rank == *root && *count > 0 ? *count : 0;
    bool argvs = array_of_argv != &mlt_f_argvs_null_ && n > 0;
    char **paths = calloc((size_t)n + 1, sizeof *paths);
    char ***words = argvs ? calloc((size_t)n + 1, sizeof *words) : NULL;
    void *few[MLT_F_FEW], **infos = mlt_f_handles(few, array_of_info, n);
    for (int i = 0; i < n; i++) {
        char text[MLT_F_TEXT];
        char *path =
            mlt_f_text_trimmed(text, array_of_commands + (size_t)i * commands_len, commands_len);
        paths[i] = path == text ? strdup(path) : path;
        if (argvs) // an element of each column
            words[i] =
                words_at(array_of_argv + (size_t)i * argv_len, argv_len, (size_t)n * argv_len);
    }
    int code = C(Comm_spawn_multiple)(*count, paths, argvs ? words : MPI_ARGVS_NULL,
                                      array_of_maxprocs, (const MPI_Info *)infos, *root, its_comm,
                                      &made, mlt_f_errcodes(array_of_errcodes));
    *intercomm = mlt_f_number(made);
    for (int i = 0; i < n && argvs; i++)
        free_words(words[i]);
    free(words);
    free_words(paths);
    mlt_f_handles_end(few, infos);
    mlt_f_error(ierror, code);
}
ALIAS(comm_spawn_multiple);

// ---- operations and error handlers: made as C's, then marked (mpi/fortran.h)

#define OP_CREATE(symbol, Name, function)                                                          \
    void F(symbol)(function * user_fn, const MPI_Fint *commute, MPI_Fint *op, MPI_Fint *ierror)    \
    {                                                                                              \
        MPI_Op made = MPI_OP_NULL;                                                                 \
        int code = C(Name)(user_fn, *commute, &made);                                              \
        mlt_fortran_mark_op(made);                                                                 \
        *op = mlt_f_number(made);                                                                  \
        mlt_f_error(ierror, code);                                                                 \
    }
OP_CREATE(op_create_, Op_create, MPI_User_function)
ALIAS(op_create);
OP_CREATE(op_create_c_f08_, Op_create_c, MPI_User_function_c)

#define ERRHANDLER(Kind, kind)                                                                     \
    void F(kind##_create_errhandler_)(MPI_##Kind##_errhandler_function * fn,                       \
                                      MPI_Fint * errhandler, MPI_Fint * ierror)                    \
    {                                                                                              \
        MPI_Errhandler made = MPI_ERRHANDLER_NULL;                                                 \
        int code = C(Kind##_create_errhandler)(fn, &made);                                         \
        mlt_fortran_mark_errhandler(made);                                                         \
        *errhandler = mlt_f_number(made);                                                          \
        mlt_f_error(ierror, code);                                                                 \
    }                                                                                              \
    ALIAS(kind##_create_errhandler)
ERRHANDLER(Comm, comm);
ERRHANDLER(File, file);
ERRHANDLER(Session, session);
ERRHANDLER(Win, win);

// ---- attributes

// The predefined functions by their numbers, which C's function knows.
static uintptr_t function_of(void (*fn)(void), uintptr_t null, uintptr_t dup)
{
    return (uintptr_t)fn == null ? 0 : (uintptr_t)fn == dup ? 1 : (uintptr_t)fn;
}

// The old function has INTEGERs.
#define KEYVAL(symbol, Kind, prefix, integer, old)                                                 \
    void F(symbol##_)(void (*copy)(void), void (*delete)(void), MPI_Fint *keyval,                  \
                      const integer *extra_state, MPI_Fint *ierror)                                \
    {                                                                                              \
        uintptr_t copies =                                                                         \
            function_of(copy, (uintptr_t)prefix##null_copy_fn_, (uintptr_t)prefix##dup_fn_);       \
        uintptr_t deletes = function_of(delete, (uintptr_t)prefix##null_delete_fn_, 0);            \
        int code = C(Kind##_create_keyval)((MPI_##Kind##_copy_attr_function *)copies,              \
                                           (MPI_##Kind##_delete_attr_function *)deletes, keyval,   \
                                           (void *)(MPI_Aint)*extra_state);                        \
        if (code == MPI_SUCCESS)                                                                   \
            mlt_fortran_mark_keyval(*keyval, old);                                                 \
        mlt_f_error(ierror, code);                                                                 \
    }
KEYVAL(comm_create_keyval, Comm, mpi_comm_, MPI_Aint, false)
ALIAS(comm_create_keyval);
KEYVAL(type_create_keyval, Type, mpi_type_, MPI_Aint, false)
ALIAS(type_create_keyval);
KEYVAL(win_create_keyval, Win, mpi_win_, MPI_Aint, false)
ALIAS(win_create_keyval);
KEYVAL(keyval_create, Comm, mpi_, MPI_Fint, true)

// What C's function gave: an address, in Fortran an integer. Predefined attributes are numbers at
// an address, except a window's base; and so are those that Fortran has set.
static MPI_Aint value_of(int keyval, void *value)
{
    switch (keyval) {
    case MPI_TAG_UB:
    case MPI_IO:
    case MPI_HOST:
    case MPI_WTIME_IS_GLOBAL:
    case MPI_APPNUM:
    case MPI_LASTUSEDCODE:
    case MPI_UNIVERSE_SIZE:
    case MPI_WIN_DISP_UNIT:
    case MPI_WIN_CREATE_FLAVOR:
    case MPI_WIN_MODEL:
        return *(int *)value;
    case MPI_WIN_SIZE:
        return *(MPI_Aint *)value;
    default:
        return mlt_fortran_attr_was() ? *(MPI_Aint *)value : (MPI_Aint)value;
    }
}

// The old functions have INTEGERs: what does not fit is cut.
#define ATTRIBUTE(get, set, Kind, handle, integer)                                                 \
    void F(get##_)(const MPI_Fint *object, const MPI_Fint *keyval, integer *value, MPI_Fint *flag, \
                   MPI_Fint *ierror)                                                               \
    {                                                                                              \
        void *got = NULL;                                                                          \
        int code = C(Kind##_get_attr)(handle(*object), *keyval, &got, flag);                       \
        if (code == MPI_SUCCESS && *flag)                                                          \
            *value = (integer)value_of(*keyval, got);                                              \
        mlt_f_error(ierror, code);                                                                 \
    }                                                                                              \
    void F(set##_)(const MPI_Fint *object, const MPI_Fint *keyval, const integer *value,           \
                   MPI_Fint *ierror)                                                               \
    {                                                                                              \
        mlt_fortran_attr(true);                                                                    \
        int code = C(Kind##_set_attr)(handle(*object), *keyval, (void *)(MPI_Aint)*value);         \
        mlt_fortran_attr(false);                                                                   \
        mlt_f_error(ierror, code);                                                                 \
    }
ATTRIBUTE(comm_get_attr, comm_set_attr, Comm, mlt_f_comm, MPI_Aint)
ALIAS(comm_get_attr);
ALIAS(comm_set_attr);
ATTRIBUTE(type_get_attr, type_set_attr, Type, mlt_f_datatype, MPI_Aint)
ALIAS(type_get_attr);
ALIAS(type_set_attr);
ATTRIBUTE(win_get_attr, win_set_attr, Win, mlt_f_win, MPI_Aint)
ALIAS(win_get_attr);
ALIAS(win_set_attr);
ATTRIBUTE(attr_get, attr_put, Comm, mlt_f_comm, MPI_Fint)

// ---- generalized requests

// The functions get the program's own variable, which they may change, as in other MPIs.
void F(grequest_start_)(MPI_Grequest_query_function *query_fn, MPI_Grequest_free_function *free_fn,
                        MPI_Grequest_cancel_function *cancel_fn, MPI_Aint *extra_state,
                        MPI_Fint *request, MPI_Fint *ierror)
{
    MPI_Request made = MPI_REQUEST_NULL;
    int code = C(Grequest_start)(query_fn, free_fn, cancel_fn, extra_state, &made);
    if (code == MPI_SUCCESS)
        mlt_fortran_mark_grequest(made);
    *request = mlt_f_number(made);
    mlt_f_error(ierror, code);
}
ALIAS(grequest_start);

// ---- data representations. They are never freed, and so neither is what is remembered of them.

typedef struct datarep {
    mlt_f_conversion_fn *read, *write;
    void (*extent)(MPI_Fint *datatype, MPI_Aint *extent, MPI_Aint *extra_state, MPI_Fint *ierror);
    MPI_Aint extra;
} datarep;

static int convert(mlt_f_conversion_fn *fn, datarep *rep, void *userbuf, MPI_Datatype datatype,
                   void *count, void *filebuf, MPI_Offset position)
{
    MPI_Fint type = mlt_f_number(datatype), code = MPI_SUCCESS;
    fn(userbuf, &type, count, filebuf, &position, &rep->extra, &code);
    return code;
}

#define CONVERT(name, direction, number)                                                           \
    static int name(void *userbuf, MPI_Datatype datatype, number count, void *filebuf,             \
                    MPI_Offset position, void *extra)                                              \
    {                                                                                              \
        return convert(((datarep *)extra)->direction, extra, userbuf, datatype, &count, filebuf,   \
                       position);                                                                  \
    }
CONVERT(read_few, read, int)
CONVERT(write_few, write, int)
CONVERT(read_many, read, MPI_Count)
CONVERT(write_many, write, MPI_Count)

static int its_extent(MPI_Datatype datatype, MPI_Aint *extent, void *extra)
{
    datarep *rep = extra;
    MPI_Fint type = mlt_f_number(datatype), code = MPI_SUCCESS;
    rep->extent(&type, extent, &rep->extra, &code);
    return code;
}

#define DATAREP(symbol, Name, null, null_c, reads, writes)                                         \
    void F(symbol)(const char *name, mlt_f_conversion_fn *read, mlt_f_conversion_fn *write,        \
                   void (*extent)(MPI_Fint *, MPI_Aint *, MPI_Aint *, MPI_Fint *),                 \
                   const MPI_Aint *extra_state, MPI_Fint *ierror, size_t name_len)                 \
    {                                                                                              \
        char few[MLT_F_TEXT], *text = mlt_f_text(few, name, name_len);                             \
        datarep *rep = malloc(sizeof *rep);                                                        \
        int code = MPI_ERR_NO_MEM;                                                                 \
        if (rep) {                                                                                 \
            *rep = (datarep){read, write, extent, *extra_state};                                   \
            code = C(Name)(text, read == null ? null_c : reads, write == null ? null_c : writes,   \
                           its_extent, rep);                                                       \
        }                                                                                          \
        if (code != MPI_SUCCESS)                                                                   \
            free(rep);                                                                             \
        mlt_f_text_end(few, text);                                                                 \
        mlt_f_error(ierror, code);                                                                 \
    }
DATAREP(register_datarep_, Register_datarep, mpi_conversion_fn_null_, MPI_CONVERSION_FN_NULL,
        read_few, write_few)
ALIAS(register_datarep);
DATAREP(register_datarep_c_f08_, Register_datarep_c, mpi_conversion_fn_null_c_,
        MPI_CONVERSION_FN_NULL_C, read_many, write_many)

#pragma GCC visibility pop
