// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/error/text.h"

#include <mpi.h>

#define TEXT(name, text) [name] = #name ": " text
static const char *const texts[] = {
    TEXT(MPI_SUCCESS, "no error"),
    TEXT(MPI_ERR_BUFFER, "invalid buffer address, or no buffer, or not enough of it"),
    TEXT(MPI_ERR_COUNT, "invalid count"),
    TEXT(MPI_ERR_TYPE, "invalid datatype"),
    TEXT(MPI_ERR_TAG, "invalid tag"),
    TEXT(MPI_ERR_COMM, "invalid communicator"),
    TEXT(MPI_ERR_RANK, "invalid rank"),
    TEXT(MPI_ERR_REQUEST, "invalid request or message"),
    TEXT(MPI_ERR_ROOT, "invalid root"),
    TEXT(MPI_ERR_GROUP, "invalid group"),
    TEXT(MPI_ERR_OP, "invalid operation"),
    TEXT(MPI_ERR_TOPOLOGY, "invalid topology"),
    TEXT(MPI_ERR_DIMS, "invalid dimensions"),
    TEXT(MPI_ERR_ARG, "invalid argument"),
    TEXT(MPI_ERR_UNKNOWN, "unknown error"),
    TEXT(MPI_ERR_TRUNCATE, "a message was longer than its receive buffer"),
    TEXT(MPI_ERR_OTHER, "an error that no other class covers"),
    TEXT(MPI_ERR_INTERN, "an error inside the MPI library"),
    TEXT(MPI_ERR_PENDING, "the operation is neither complete nor failed"),
    TEXT(MPI_ERR_IN_STATUS, "the statuses hold the errors of the single operations"),
    TEXT(MPI_ERR_ACCESS, "permission denied"),
    TEXT(MPI_ERR_AMODE, "invalid access mode of a file"),
    TEXT(MPI_ERR_ASSERT, "invalid assertion"),
    TEXT(MPI_ERR_BAD_FILE, "invalid file name"),
    TEXT(MPI_ERR_BASE, "invalid base address"),
    TEXT(MPI_ERR_CONVERSION, "a data conversion function failed"),
    TEXT(MPI_ERR_DISP, "invalid displacement"),
    TEXT(MPI_ERR_DUP_DATAREP, "the data representation was registered before"),
    TEXT(MPI_ERR_FILE_EXISTS, "the file exists"),
    TEXT(MPI_ERR_FILE_IN_USE, "the file is open in some process"),
    TEXT(MPI_ERR_FILE, "invalid file handle"),
    TEXT(MPI_ERR_INFO_KEY, "an info key is too long or empty"),
    TEXT(MPI_ERR_INFO_NOKEY, "the info object has no such key"),
    TEXT(MPI_ERR_INFO_VALUE, "an info value is too long"),
    TEXT(MPI_ERR_INFO, "invalid info object"),
    TEXT(MPI_ERR_IO, "input or output failed"),
    TEXT(MPI_ERR_KEYVAL, "invalid attribute key"),
    TEXT(MPI_ERR_LOCKTYPE, "invalid lock type"),
    TEXT(MPI_ERR_NAME, "the service name is not published"),
    TEXT(MPI_ERR_NO_MEM, "memory is exhausted"),
    TEXT(MPI_ERR_NOT_SAME,
         "a collective argument or the order of collective calls differs between processes"),
    TEXT(MPI_ERR_NO_SPACE, "no space is left on the device"),
    TEXT(MPI_ERR_NO_SUCH_FILE, "the file does not exist"),
    TEXT(MPI_ERR_PORT, "invalid port name"),
    TEXT(MPI_ERR_QUOTA, "the quota is exceeded"),
    TEXT(MPI_ERR_READ_ONLY, "the file or file system is read-only"),
    TEXT(MPI_ERR_RMA_ATTACH, "memory cannot be attached"),
    TEXT(MPI_ERR_RMA_CONFLICT, "conflicting accesses to a window"),
    TEXT(MPI_ERR_RMA_RANGE, "the target memory is not part of the window"),
    TEXT(MPI_ERR_RMA_SHARED, "memory cannot be shared"),
    TEXT(MPI_ERR_RMA_SYNC, "wrong synchronization of a window"),
    TEXT(MPI_ERR_SERVICE, "the service name cannot be unpublished"),
    TEXT(MPI_ERR_SIZE, "invalid size"),
    TEXT(MPI_ERR_SPAWN, "processes cannot be started"),
    TEXT(MPI_ERR_UNSUPPORTED_DATAREP, "the data representation is not supported"),
    TEXT(MPI_ERR_UNSUPPORTED_OPERATION, "the operation is not supported"),
    TEXT(MPI_ERR_WIN, "invalid window"),
    TEXT(MPI_ERR_RMA_FLAVOR, "wrong flavor of a window"),
    TEXT(MPI_ERR_PROC_ABORTED, "a process of the operation has aborted"),
    TEXT(MPI_ERR_VALUE_TOO_LARGE, "a value is too large for its variable"),
    TEXT(MPI_ERR_SESSION, "invalid session"),
    TEXT(MPI_ERR_ERRHANDLER, "invalid error handler"),
    TEXT(MPI_ERR_ABI, "an error of the application binary interface"),
};

#undef TEXT
#define TEXT(name, text) [name - MPI_T_ERR_CANNOT_INIT] = #name ": " text
static const char *const tool_texts[] = {
    TEXT(MPI_T_ERR_CANNOT_INIT, "the tool interface cannot be initialised"),
    TEXT(MPI_T_ERR_NOT_ACCESSIBLE, "not accessible"),
    TEXT(MPI_T_ERR_NOT_INITIALIZED, "the tool interface is not initialised"),
    TEXT(MPI_T_ERR_NOT_SUPPORTED, "not supported"),
    TEXT(MPI_T_ERR_MEMORY, "memory is exhausted"),
    TEXT(MPI_T_ERR_INVALID, "invalid use or argument"),
    TEXT(MPI_T_ERR_INVALID_INDEX, "invalid index"),
    TEXT(MPI_T_ERR_INVALID_ITEM, "invalid item index"),
    TEXT(MPI_T_ERR_INVALID_SESSION, "invalid session"),
    TEXT(MPI_T_ERR_INVALID_HANDLE, "invalid handle"),
    TEXT(MPI_T_ERR_INVALID_NAME, "invalid name"),
    TEXT(MPI_T_ERR_OUT_OF_HANDLES, "no more handles"),
    TEXT(MPI_T_ERR_OUT_OF_SESSIONS, "no more sessions"),
    TEXT(MPI_T_ERR_CVAR_SET_NOT_NOW, "the variable cannot be set now"),
    TEXT(MPI_T_ERR_CVAR_SET_NEVER, "the variable cannot be set"),
    TEXT(MPI_T_ERR_PVAR_NO_WRITE, "the variable cannot be written"),
    TEXT(MPI_T_ERR_PVAR_NO_STARTSTOP, "the variable cannot be started or stopped"),
    TEXT(MPI_T_ERR_PVAR_NO_ATOMIC, "the variable cannot be read and reset at once"),
};

enum { TEXTS = sizeof texts / sizeof *texts, TOOL_TEXTS = sizeof tool_texts / sizeof *tool_texts };
_Static_assert(TEXTS == MPI_ERR_ABI + 1, "a text for each class");

const char *mlt_error_text(int class)
{
    if (class >= 0 && class < TEXTS)
        return texts[class];
    if (class == MPI_ERR_LASTCODE)
        return "MPI_ERR_LASTCODE: no error of MPI's has a greater number";
    int tool = class - MPI_T_ERR_CANNOT_INIT;
    return tool >= 0 && tool < TOOL_TEXTS ? tool_texts[tool] : "no error class";
}
