// SPDX-License-Identifier: BSD-3-Clause
//
// Attributes that programs keep with windows, names, and error handlers of windows.

#include "win_check.h"

typedef struct seen {
    int deleted, fail;
    void *last;
    MPI_Win of;
} seen;

static int on_delete(MPI_Win win, int key, void *value, void *extra)
{
    seen *s = extra;
    (void)key;
    s->deleted++;
    s->last = value;
    s->of = win;
    return s->fail ? MPI_ERR_OTHER : MPI_SUCCESS;
}

static void keys(void)
{
    box b = box_new(ALLOCATE, 8, 1);
    seen s = {0};
    int key = MPI_KEYVAL_INVALID, plain = MPI_KEYVAL_INVALID, found = -1, one = 1, two = 2;
    int *value = NULL;
    CHECK_OK(MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, on_delete, &key, &s));
    CHECK_OK(MPI_Win_create_keyval(MPI_WIN_DUP_FN, MPI_WIN_NULL_DELETE_FN, &plain, NULL));
    CHECK(key != MPI_KEYVAL_INVALID && plain != key);
    CHECK_OK(MPI_Win_get_attr(b.win, key, &value, &found));
    CHECK_INT(found, 0);
    CHECK_OK(MPI_Win_set_attr(b.win, key, &one));
    CHECK_OK(MPI_Win_set_attr(b.win, plain, &two));
    CHECK_OK(MPI_Win_get_attr(b.win, key, &value, &found));
    CHECK(found && value == &one);
    CHECK_INT(s.deleted, 0);
    CHECK_OK(MPI_Win_set_attr(b.win, key, &two)); // deletes the first
    CHECK(s.deleted == 1 && s.last == &one && s.of == b.win);
    CHECK_OK(MPI_Win_delete_attr(b.win, key));
    CHECK(s.deleted == 2 && s.last == &two);
    CHECK_OK(MPI_Win_get_attr(b.win, key, &value, &found));
    CHECK_INT(found, 0);
    CHECK_OK(MPI_Win_set_attr(b.win, key, &one));
    s.fail = 1; // the attribute stays
    CHECK(MPI_Win_delete_attr(b.win, key) != MPI_SUCCESS);
    CHECK_INT(s.deleted, 3);
    CHECK_OK(MPI_Win_get_attr(b.win, key, &value, &found));
    CHECK(found && value == &one);
    s.fail = 0;
    int copy = key;
    CHECK_OK(MPI_Win_free_keyval(&key)); // lives on while it is used
    CHECK_INT(key, MPI_KEYVAL_INVALID);
    CHECK_OK(MPI_Win_get_attr(b.win, copy, &value, &found));
    CHECK(found && value == &one);
    box_free(&b);
    CHECK_INT(s.deleted, 4);
    CHECK_OK(MPI_Win_free_keyval(&plain));
}

// The attributes of the standard cannot be changed.
static void fixed(void)
{
    box b = box_new(ALLOCATE, 8, 1);
    int x = 0, code;
    CHECK_OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    code = MPI_Win_set_attr(b.win, MPI_WIN_BASE, &x);
    CHECK(code != MPI_SUCCESS && (error_class(code) == MPI_ERR_KEYVAL || !STRICT));
    code = MPI_Win_delete_attr(b.win, MPI_WIN_SIZE);
    CHECK(code != MPI_SUCCESS);
    box_free(&b);
}

static void names(void)
{
    box b = box_new(CREATE, 8, 1);
    char name[MPI_MAX_OBJECT_NAME], longest[MPI_MAX_OBJECT_NAME + 20];
    int length = -1;
    CHECK_OK(MPI_Win_set_name(b.win, "halo"));
    CHECK_OK(MPI_Win_get_name(b.win, name, &length));
    CHECK(strcmp(name, "halo") == 0 && length == 4);
    CHECK_OK(MPI_Win_set_name(b.win, ""));
    CHECK_OK(MPI_Win_get_name(b.win, name, &length));
    CHECK_INT(length, 0);
    memset(longest, 'x', sizeof longest);
    longest[MPI_MAX_OBJECT_NAME - 1] = '\0';
    CHECK_OK(MPI_Win_set_name(b.win, longest));
    CHECK_OK(MPI_Win_get_name(b.win, name, &length));
    CHECK_INT(length, MPI_MAX_OBJECT_NAME - 1);
    CHECK(strcmp(name, longest) == 0);
    box_free(&b);
}

// A handler has no argument of its own, so it notes what it got in an attribute of the window; the
// key of that attribute is the only thing it must know.
typedef struct heard {
    int calls, code;
} heard;

static int heard_key(MPI_Win win, heard **of, int key)
{
    int found = 0;
    CHECK_OK(MPI_Win_get_attr(win, key, of, &found));
    return found;
}

static void on_error(MPI_Win *win, int *code, ...)
{
    heard *h = NULL;
    char name[MPI_MAX_OBJECT_NAME];
    int length = 0;
    CHECK_OK(MPI_Win_get_name(*win, name, &length));
    CHECK(heard_key(*win, &h, atoi(name)));
    h->calls++;
    h->code = *code;
}

static void handlers(void)
{
    box b = box_new(ALLOCATE, 8, 1);
    heard h = {0};
    MPI_Errhandler handler, got;
    int key, x = 0;
    char name[MPI_MAX_OBJECT_NAME];
    CHECK_OK(MPI_Win_get_errhandler(b.win, &got));
    CHECK(got == MPI_ERRORS_RETURN);
    CHECK_OK(MPI_Errhandler_free(&got));
    CHECK_OK(MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, MPI_WIN_NULL_DELETE_FN, &key, NULL));
    CHECK_OK(MPI_Win_set_attr(b.win, key, &h));
    snprintf(name, sizeof name, "%d", key);
    CHECK_OK(MPI_Win_set_name(b.win, name));
    CHECK_OK(MPI_Win_create_errhandler(on_error, &handler));
    CHECK_OK(MPI_Win_set_errhandler(b.win, handler));
    CHECK_OK(MPI_Win_get_errhandler(b.win, &got));
    CHECK(got == handler);
    CHECK_OK(MPI_Errhandler_free(&got));
    CHECK_OK(MPI_Errhandler_free(&handler)); // the window keeps it
    CHECK(handler == MPI_ERRHANDLER_NULL);
    CHECK_OK(MPI_Win_call_errhandler(b.win, MPI_ERR_OTHER));
    CHECK(h.calls == 1 && h.code == MPI_ERR_OTHER);
    int code = MPI_Put(&x, 1, MPI_INT, b.size + 5, 0, 1, MPI_INT, b.win);
    CHECK(code != MPI_SUCCESS && h.calls == 2 && h.code == code);
    CHECK_INT(error_class(code), MPI_ERR_RANK);
    CHECK_OK(MPI_Win_set_errhandler(b.win, MPI_ERRORS_RETURN));
    CHECK(MPI_Put(&x, -1, MPI_INT, 0, 0, 1, MPI_INT, b.win) != MPI_SUCCESS);
    CHECK_INT(h.calls, 2);
    CHECK_OK(MPI_Win_free_keyval(&key));
    box_free(&b);
}

// A window that nobody told otherwise ends the job.
static void inherits(void)
{
    MPI_Win win;
    MPI_Errhandler got;
    int *base;
    CHECK_OK(MPI_Win_allocate(4, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
    CHECK_OK(MPI_Win_get_errhandler(win, &got));
    CHECK(got == MPI_ERRORS_ARE_FATAL);
    CHECK_OK(MPI_Errhandler_free(&got));
    CHECK_OK(MPI_Win_free(&win));
}

static void fatal(void)
{
    MPI_Win win;
    int *base, x = 0;
    CHECK_OK(MPI_Win_allocate(4, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
    MPI_Put(&x, 1, MPI_INT, 77, 0, 1, MPI_INT, win);
}

int main(int argc, char **argv)
{
    CHECK_OK(MPI_Init(&argc, &argv));
    if (argc > 1)
        fatal();
    keys();
    fixed();
    names();
    handlers();
    inherits();
    CHECK_OK(MPI_Finalize());
    return 0;
}
