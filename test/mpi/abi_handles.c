// SPDX-License-Identifier: BSD-3-Clause
//
// Handles as integers: every predefined handle is the number that the standard's ABI has for it,
// there and back; others get numbers above 4095, the same every time; numbers that nobody gave are
// null handles. Also as Fortran's integers, and statuses in Fortran's forms.

#include "check.h"

static void check_comm(MPI_Comm handle, int number, const char *name)
{
    if (MPI_Comm_toint(handle) != number || MPI_Comm_c2f(handle) != number)
        check_fail(__FILE__, __LINE__, "%s is %d, should be %d", name, MPI_Comm_toint(handle),
                   number);
    CHECK(MPI_Comm_fromint(number) == handle && MPI_Comm_f2c(number) == handle);
}

static void check_type(MPI_Datatype handle, int number, const char *name)
{
    if (MPI_Type_toint(handle) != number || MPI_Type_c2f(handle) != number)
        check_fail(__FILE__, __LINE__, "%s is %d, should be %d", name, MPI_Type_toint(handle),
                   number);
    CHECK(MPI_Type_fromint(number) == handle && MPI_Type_f2c(number) == handle);
}

static void check_errhandler(MPI_Errhandler handle, int number, const char *name)
{
    if (MPI_Errhandler_toint(handle) != number || MPI_Errhandler_c2f(handle) != number)
        check_fail(__FILE__, __LINE__, "%s is %d, should be %d", name, MPI_Errhandler_toint(handle),
                   number);
    CHECK(MPI_Errhandler_fromint(number) == handle && MPI_Errhandler_f2c(number) == handle);
}

static void check_file(MPI_File handle, int number, const char *name)
{
    if (MPI_File_toint(handle) != number || MPI_File_c2f(handle) != number)
        check_fail(__FILE__, __LINE__, "%s is %d, should be %d", name, MPI_File_toint(handle),
                   number);
    CHECK(MPI_File_fromint(number) == handle && MPI_File_f2c(number) == handle);
}

static void check_group(MPI_Group handle, int number, const char *name)
{
    if (MPI_Group_toint(handle) != number || MPI_Group_c2f(handle) != number)
        check_fail(__FILE__, __LINE__, "%s is %d, should be %d", name, MPI_Group_toint(handle),
                   number);
    CHECK(MPI_Group_fromint(number) == handle && MPI_Group_f2c(number) == handle);
}

static void check_info(MPI_Info handle, int number, const char *name)
{
    if (MPI_Info_toint(handle) != number || MPI_Info_c2f(handle) != number)
        check_fail(__FILE__, __LINE__, "%s is %d, should be %d", name, MPI_Info_toint(handle),
                   number);
    CHECK(MPI_Info_fromint(number) == handle && MPI_Info_f2c(number) == handle);
}

static void check_message(MPI_Message handle, int number, const char *name)
{
    if (MPI_Message_toint(handle) != number || MPI_Message_c2f(handle) != number)
        check_fail(__FILE__, __LINE__, "%s is %d, should be %d", name, MPI_Message_toint(handle),
                   number);
    CHECK(MPI_Message_fromint(number) == handle && MPI_Message_f2c(number) == handle);
}

static void check_op(MPI_Op handle, int number, const char *name)
{
    if (MPI_Op_toint(handle) != number || MPI_Op_c2f(handle) != number)
        check_fail(__FILE__, __LINE__, "%s is %d, should be %d", name, MPI_Op_toint(handle),
                   number);
    CHECK(MPI_Op_fromint(number) == handle && MPI_Op_f2c(number) == handle);
}

static void check_request(MPI_Request handle, int number, const char *name)
{
    if (MPI_Request_toint(handle) != number || MPI_Request_c2f(handle) != number)
        check_fail(__FILE__, __LINE__, "%s is %d, should be %d", name, MPI_Request_toint(handle),
                   number);
    CHECK(MPI_Request_fromint(number) == handle && MPI_Request_f2c(number) == handle);
}

static void check_session(MPI_Session handle, int number, const char *name)
{
    if (MPI_Session_toint(handle) != number || MPI_Session_c2f(handle) != number)
        check_fail(__FILE__, __LINE__, "%s is %d, should be %d", name, MPI_Session_toint(handle),
                   number);
    CHECK(MPI_Session_fromint(number) == handle && MPI_Session_f2c(number) == handle);
}

static void check_win(MPI_Win handle, int number, const char *name)
{
    if (MPI_Win_toint(handle) != number || MPI_Win_c2f(handle) != number)
        check_fail(__FILE__, __LINE__, "%s is %d, should be %d", name, MPI_Win_toint(handle),
                   number);
    CHECK(MPI_Win_fromint(number) == handle && MPI_Win_f2c(number) == handle);
}

static void check_predefined_comm(void)
{
    check_comm(MPI_COMM_NULL, 0x00000100, "MPI_COMM_NULL");
    check_comm(MPI_COMM_WORLD, 0x00000101, "MPI_COMM_WORLD");
    check_comm(MPI_COMM_SELF, 0x00000102, "MPI_COMM_SELF");
    CHECK(MPI_Comm_fromint(INT32_MAX) == MPI_COMM_NULL && MPI_Comm_fromint(-1) == MPI_COMM_NULL);
    CHECK(MPI_Comm_f2c(INT32_MAX) == MPI_COMM_NULL && MPI_Comm_f2c(INT32_MIN) == MPI_COMM_NULL);
}

static void check_predefined_type(void)
{
    check_type(MPI_DATATYPE_NULL, 0x00000200, "MPI_DATATYPE_NULL");
    check_type(MPI_AINT, 0x00000201, "MPI_AINT");
    check_type(MPI_COUNT, 0x00000202, "MPI_COUNT");
    check_type(MPI_OFFSET, 0x00000203, "MPI_OFFSET");
    check_type(MPI_PACKED, 0x00000207, "MPI_PACKED");
    check_type(MPI_SHORT, 0x00000208, "MPI_SHORT");
    check_type(MPI_INT, 0x00000209, "MPI_INT");
    check_type(MPI_LONG, 0x0000020a, "MPI_LONG");
    check_type(MPI_LONG_LONG, 0x0000020b, "MPI_LONG_LONG");
    check_type(MPI_LONG_LONG_INT, 0x0000020b, "MPI_LONG_LONG_INT");
    check_type(MPI_UNSIGNED_SHORT, 0x0000020c, "MPI_UNSIGNED_SHORT");
    check_type(MPI_UNSIGNED, 0x0000020d, "MPI_UNSIGNED");
    check_type(MPI_UNSIGNED_LONG, 0x0000020e, "MPI_UNSIGNED_LONG");
    check_type(MPI_UNSIGNED_LONG_LONG, 0x0000020f, "MPI_UNSIGNED_LONG_LONG");
    check_type(MPI_FLOAT, 0x00000210, "MPI_FLOAT");
    check_type(MPI_C_FLOAT_COMPLEX, 0x00000212, "MPI_C_FLOAT_COMPLEX");
    check_type(MPI_C_COMPLEX, 0x00000212, "MPI_C_COMPLEX");
    check_type(MPI_CXX_FLOAT_COMPLEX, 0x00000213, "MPI_CXX_FLOAT_COMPLEX");
    check_type(MPI_DOUBLE, 0x00000214, "MPI_DOUBLE");
    check_type(MPI_C_DOUBLE_COMPLEX, 0x00000216, "MPI_C_DOUBLE_COMPLEX");
    check_type(MPI_CXX_DOUBLE_COMPLEX, 0x00000217, "MPI_CXX_DOUBLE_COMPLEX");
    check_type(MPI_LOGICAL, 0x00000218, "MPI_LOGICAL");
    check_type(MPI_INTEGER, 0x00000219, "MPI_INTEGER");
    check_type(MPI_REAL, 0x0000021a, "MPI_REAL");
    check_type(MPI_COMPLEX, 0x0000021b, "MPI_COMPLEX");
    check_type(MPI_DOUBLE_PRECISION, 0x0000021c, "MPI_DOUBLE_PRECISION");
    check_type(MPI_DOUBLE_COMPLEX, 0x0000021d, "MPI_DOUBLE_COMPLEX");
    check_type(MPI_CHARACTER, 0x0000021e, "MPI_CHARACTER");
    check_type(MPI_LONG_DOUBLE, 0x00000220, "MPI_LONG_DOUBLE");
    check_type(MPI_C_LONG_DOUBLE_COMPLEX, 0x00000224, "MPI_C_LONG_DOUBLE_COMPLEX");
    check_type(MPI_CXX_LONG_DOUBLE_COMPLEX, 0x00000225, "MPI_CXX_LONG_DOUBLE_COMPLEX");
    check_type(MPI_FLOAT_INT, 0x00000228, "MPI_FLOAT_INT");
    check_type(MPI_DOUBLE_INT, 0x00000229, "MPI_DOUBLE_INT");
    check_type(MPI_LONG_INT, 0x0000022a, "MPI_LONG_INT");
    check_type(MPI_2INT, 0x0000022b, "MPI_2INT");
    check_type(MPI_SHORT_INT, 0x0000022c, "MPI_SHORT_INT");
    check_type(MPI_LONG_DOUBLE_INT, 0x0000022d, "MPI_LONG_DOUBLE_INT");
    check_type(MPI_2REAL, 0x00000230, "MPI_2REAL");
    check_type(MPI_2DOUBLE_PRECISION, 0x00000231, "MPI_2DOUBLE_PRECISION");
    check_type(MPI_2INTEGER, 0x00000232, "MPI_2INTEGER");
    check_type(MPI_C_BOOL, 0x00000238, "MPI_C_BOOL");
    check_type(MPI_CXX_BOOL, 0x00000239, "MPI_CXX_BOOL");
    check_type(MPI_WCHAR, 0x0000023c, "MPI_WCHAR");
    check_type(MPI_INT8_T, 0x00000240, "MPI_INT8_T");
    check_type(MPI_UINT8_T, 0x00000241, "MPI_UINT8_T");
    check_type(MPI_CHAR, 0x00000243, "MPI_CHAR");
    check_type(MPI_SIGNED_CHAR, 0x00000244, "MPI_SIGNED_CHAR");
    check_type(MPI_UNSIGNED_CHAR, 0x00000245, "MPI_UNSIGNED_CHAR");
    check_type(MPI_BYTE, 0x00000247, "MPI_BYTE");
    check_type(MPI_INT16_T, 0x00000248, "MPI_INT16_T");
    check_type(MPI_UINT16_T, 0x00000249, "MPI_UINT16_T");
    check_type(MPI_INT32_T, 0x00000250, "MPI_INT32_T");
    check_type(MPI_UINT32_T, 0x00000251, "MPI_UINT32_T");
    check_type(MPI_INT64_T, 0x00000258, "MPI_INT64_T");
    check_type(MPI_UINT64_T, 0x00000259, "MPI_UINT64_T");
    check_type(MPI_LOGICAL1, 0x000002c0, "MPI_LOGICAL1");
    check_type(MPI_INTEGER1, 0x000002c1, "MPI_INTEGER1");
    check_type(MPI_LOGICAL2, 0x000002c8, "MPI_LOGICAL2");
    check_type(MPI_INTEGER2, 0x000002c9, "MPI_INTEGER2");
    check_type(MPI_REAL2, 0x000002ca, "MPI_REAL2");
    check_type(MPI_LOGICAL4, 0x000002d0, "MPI_LOGICAL4");
    check_type(MPI_INTEGER4, 0x000002d1, "MPI_INTEGER4");
    check_type(MPI_REAL4, 0x000002d2, "MPI_REAL4");
    check_type(MPI_COMPLEX4, 0x000002d3, "MPI_COMPLEX4");
    check_type(MPI_LOGICAL8, 0x000002d8, "MPI_LOGICAL8");
    check_type(MPI_INTEGER8, 0x000002d9, "MPI_INTEGER8");
    check_type(MPI_REAL8, 0x000002da, "MPI_REAL8");
    check_type(MPI_COMPLEX8, 0x000002db, "MPI_COMPLEX8");
    check_type(MPI_LOGICAL16, 0x000002e0, "MPI_LOGICAL16");
    check_type(MPI_INTEGER16, 0x000002e1, "MPI_INTEGER16");
    check_type(MPI_REAL16, 0x000002e2, "MPI_REAL16");
    check_type(MPI_COMPLEX16, 0x000002e3, "MPI_COMPLEX16");
    check_type(MPI_COMPLEX32, 0x000002eb, "MPI_COMPLEX32");
    CHECK(MPI_Type_fromint(INT32_MAX) == MPI_DATATYPE_NULL &&
          MPI_Type_fromint(-1) == MPI_DATATYPE_NULL);
    CHECK(MPI_Type_f2c(INT32_MAX) == MPI_DATATYPE_NULL &&
          MPI_Type_f2c(INT32_MIN) == MPI_DATATYPE_NULL);
}

static void check_predefined_errhandler(void)
{
    check_errhandler(MPI_ERRHANDLER_NULL, 0x00000140, "MPI_ERRHANDLER_NULL");
    check_errhandler(MPI_ERRORS_ARE_FATAL, 0x00000141, "MPI_ERRORS_ARE_FATAL");
    check_errhandler(MPI_ERRORS_ABORT, 0x00000142, "MPI_ERRORS_ABORT");
    check_errhandler(MPI_ERRORS_RETURN, 0x00000143, "MPI_ERRORS_RETURN");
    CHECK(MPI_Errhandler_fromint(INT32_MAX) == MPI_ERRHANDLER_NULL &&
          MPI_Errhandler_fromint(-1) == MPI_ERRHANDLER_NULL);
    CHECK(MPI_Errhandler_f2c(INT32_MAX) == MPI_ERRHANDLER_NULL &&
          MPI_Errhandler_f2c(INT32_MIN) == MPI_ERRHANDLER_NULL);
}

static void check_predefined_file(void)
{
    check_file(MPI_FILE_NULL, 0x00000118, "MPI_FILE_NULL");
    CHECK(MPI_File_fromint(INT32_MAX) == MPI_FILE_NULL && MPI_File_fromint(-1) == MPI_FILE_NULL);
    CHECK(MPI_File_f2c(INT32_MAX) == MPI_FILE_NULL && MPI_File_f2c(INT32_MIN) == MPI_FILE_NULL);
}

static void check_predefined_group(void)
{
    check_group(MPI_GROUP_NULL, 0x00000108, "MPI_GROUP_NULL");
    check_group(MPI_GROUP_EMPTY, 0x00000109, "MPI_GROUP_EMPTY");
    CHECK(MPI_Group_fromint(INT32_MAX) == MPI_GROUP_NULL &&
          MPI_Group_fromint(-1) == MPI_GROUP_NULL);
    CHECK(MPI_Group_f2c(INT32_MAX) == MPI_GROUP_NULL && MPI_Group_f2c(INT32_MIN) == MPI_GROUP_NULL);
}

static void check_predefined_info(void)
{
    check_info(MPI_INFO_NULL, 0x00000130, "MPI_INFO_NULL");
    check_info(MPI_INFO_ENV, 0x00000131, "MPI_INFO_ENV");
    CHECK(MPI_Info_fromint(INT32_MAX) == MPI_INFO_NULL && MPI_Info_fromint(-1) == MPI_INFO_NULL);
    CHECK(MPI_Info_f2c(INT32_MAX) == MPI_INFO_NULL && MPI_Info_f2c(INT32_MIN) == MPI_INFO_NULL);
}

static void check_predefined_message(void)
{
    check_message(MPI_MESSAGE_NULL, 0x00000128, "MPI_MESSAGE_NULL");
    check_message(MPI_MESSAGE_NO_PROC, 0x00000129, "MPI_MESSAGE_NO_PROC");
    CHECK(MPI_Message_fromint(INT32_MAX) == MPI_MESSAGE_NULL &&
          MPI_Message_fromint(-1) == MPI_MESSAGE_NULL);
    CHECK(MPI_Message_f2c(INT32_MAX) == MPI_MESSAGE_NULL &&
          MPI_Message_f2c(INT32_MIN) == MPI_MESSAGE_NULL);
}

static void check_predefined_op(void)
{
    check_op(MPI_OP_NULL, 0x00000020, "MPI_OP_NULL");
    check_op(MPI_SUM, 0x00000021, "MPI_SUM");
    check_op(MPI_MIN, 0x00000022, "MPI_MIN");
    check_op(MPI_MAX, 0x00000023, "MPI_MAX");
    check_op(MPI_PROD, 0x00000024, "MPI_PROD");
    check_op(MPI_BAND, 0x00000028, "MPI_BAND");
    check_op(MPI_BOR, 0x00000029, "MPI_BOR");
    check_op(MPI_BXOR, 0x0000002a, "MPI_BXOR");
    check_op(MPI_LAND, 0x00000030, "MPI_LAND");
    check_op(MPI_LOR, 0x00000031, "MPI_LOR");
    check_op(MPI_LXOR, 0x00000032, "MPI_LXOR");
    check_op(MPI_MINLOC, 0x00000038, "MPI_MINLOC");
    check_op(MPI_MAXLOC, 0x00000039, "MPI_MAXLOC");
    check_op(MPI_REPLACE, 0x0000003c, "MPI_REPLACE");
    check_op(MPI_NO_OP, 0x0000003d, "MPI_NO_OP");
    CHECK(MPI_Op_fromint(INT32_MAX) == MPI_OP_NULL && MPI_Op_fromint(-1) == MPI_OP_NULL);
    CHECK(MPI_Op_f2c(INT32_MAX) == MPI_OP_NULL && MPI_Op_f2c(INT32_MIN) == MPI_OP_NULL);
}

static void check_predefined_request(void)
{
    check_request(MPI_REQUEST_NULL, 0x00000180, "MPI_REQUEST_NULL");
    CHECK(MPI_Request_fromint(INT32_MAX) == MPI_REQUEST_NULL &&
          MPI_Request_fromint(-1) == MPI_REQUEST_NULL);
    CHECK(MPI_Request_f2c(INT32_MAX) == MPI_REQUEST_NULL &&
          MPI_Request_f2c(INT32_MIN) == MPI_REQUEST_NULL);
}

static void check_predefined_session(void)
{
    check_session(MPI_SESSION_NULL, 0x00000120, "MPI_SESSION_NULL");
    CHECK(MPI_Session_fromint(INT32_MAX) == MPI_SESSION_NULL &&
          MPI_Session_fromint(-1) == MPI_SESSION_NULL);
    CHECK(MPI_Session_f2c(INT32_MAX) == MPI_SESSION_NULL &&
          MPI_Session_f2c(INT32_MIN) == MPI_SESSION_NULL);
}

static void check_predefined_win(void)
{
    check_win(MPI_WIN_NULL, 0x00000110, "MPI_WIN_NULL");
    CHECK(MPI_Win_fromint(INT32_MAX) == MPI_WIN_NULL && MPI_Win_fromint(-1) == MPI_WIN_NULL);
    CHECK(MPI_Win_f2c(INT32_MAX) == MPI_WIN_NULL && MPI_Win_f2c(INT32_MIN) == MPI_WIN_NULL);
}

enum { OBJECTS = 1000 };

static void on_error(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    (void)code;
}

// Objects of the user's: many, so that the table grows.
static void check_objects(void)
{
    MPI_Info *infos = must_alloc(OBJECTS * sizeof *infos);
    int *numbers = must_alloc(OBJECTS * sizeof *numbers);
    for (int i = 0; i < OBJECTS; i++) {
        CHECK_OK(MPI_Info_create(&infos[i]));
        numbers[i] = MPI_Info_toint(infos[i]);
        CHECK(numbers[i] > 4095);
    }
    for (int i = 0; i < OBJECTS; i++) {
        CHECK_INT(MPI_Info_toint(infos[i]), numbers[i]);
        CHECK_INT(MPI_Info_c2f(infos[i]), numbers[i]);
        CHECK(MPI_Info_fromint(numbers[i]) == infos[i] && MPI_Info_f2c(numbers[i]) == infos[i]);
        for (int j = 0; j < i; j += 37)
            CHECK(numbers[i] != numbers[j]);
    }
    for (int i = 0; i < OBJECTS; i++)
        CHECK_OK(MPI_Info_free(&infos[i]));
    free(infos);
    free(numbers);
}

static void check_kinds(void)
{
    MPI_Errhandler handler;
    MPI_Request request;
    MPI_Message message;
    MPI_Session session;
    int value = 0, rank = world_rank();
    CHECK_OK(MPI_Comm_create_errhandler(on_error, &handler));
    CHECK(MPI_Errhandler_fromint(MPI_Errhandler_toint(handler)) == handler);
    CHECK(MPI_Errhandler_toint(handler) > 4095);
    CHECK_OK(MPI_Errhandler_free(&handler));
    CHECK_OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
    CHECK(MPI_Session_f2c(MPI_Session_c2f(session)) == session);
    CHECK_OK(MPI_Session_finalize(&session));
    // A request and a message can be used after the way there and back.
    CHECK_OK(MPI_Irecv(&value, 1, MPI_INT, rank, 1, MPI_COMM_WORLD, &request));
    request = MPI_Request_fromint(MPI_Request_toint(request));
    CHECK_OK(MPI_Send(&rank, 1, MPI_INT, rank, 1, MPI_COMM_WORLD));
    CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK_INT(value, rank);
    CHECK_OK(MPI_Isend(&rank, 1, MPI_INT, rank, 2, MPI_COMM_WORLD, &request));
    CHECK_OK(MPI_Mprobe(rank, 2, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE));
    message = MPI_Message_f2c(MPI_Message_c2f(message));
    value = -1;
    CHECK_OK(MPI_Mrecv(&value, 1, MPI_INT, &message, MPI_STATUS_IGNORE));
    CHECK_INT(value, rank);
    CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

static void check_statuses(void)
{
    MPI_Status status, back;
    MPI_F08_status f08;
    MPI_Fint f[MPI_F_STATUS_SIZE];
    int rank = world_rank(), value[4] = {1, 2, 3, 4};
    CHECK_OK(MPI_Sendrecv(value, 2, MPI_INT, rank, 5, &value[2], 2, MPI_INT, rank, 5,
                          MPI_COMM_WORLD, &status));
    CHECK_STATUS(&status, rank, 5, 8);
    status.MPI_ERROR = MPI_ERR_DIMS;
    CHECK_OK(MPI_Status_c2f(&status, f));
    CHECK_INT(f[MPI_F_SOURCE], rank);
    CHECK_INT(f[MPI_F_TAG], 5);
    CHECK_INT(f[MPI_F_ERROR], MPI_ERR_DIMS);
    memset(&back, 0, sizeof back);
    CHECK_OK(MPI_Status_f2c(f, &back));
    CHECK_STATUS(&back, rank, 5, 8);
    CHECK_OK(MPI_Status_c2f08(&status, &f08));
    memset(&back, 0, sizeof back);
    CHECK_OK(MPI_Status_f082c(&f08, &back));
    CHECK_STATUS(&back, rank, 5, 8);
    memset(&f08, 0, sizeof f08);
    CHECK_OK(MPI_Status_f2f08(f, &f08));
    memset(f, 0, sizeof f);
    CHECK_OK(MPI_Status_f082f(&f08, f));
    memset(&back, 0, sizeof back);
    CHECK_OK(MPI_Status_f2c(f, &back));
    CHECK_STATUS(&back, rank, 5, 8);
    CHECK_ERROR(MPI_Status_c2f(NULL, f), MPI_ERR_ARG, "MPI_Status_c2f", "c_status");
    CHECK_ERROR(MPI_Status_f2c(NULL, &back), MPI_ERR_ARG, "MPI_Status_f2c", "f_status");
    CHECK_ERROR(MPI_Status_f082c(NULL, &back), MPI_ERR_ARG, "MPI_Status_f082c", "f08_status");
    CHECK_ERROR(MPI_Status_c2f(&status, NULL), MPI_ERR_ARG, "MPI_Status_c2f", "f_status");
}

int main(int argc, char **argv)
{
    check_predefined_comm();
    check_predefined_type();
    check_predefined_errhandler();
    check_predefined_file();
    check_predefined_group();
    check_predefined_info();
    check_predefined_message();
    check_predefined_op();
    check_predefined_request();
    check_predefined_session();
    check_predefined_win();
    CHECK_OK(MPI_Init(&argc, &argv));
    errors_return();
    check_predefined_comm();
    check_predefined_type();
    check_predefined_errhandler();
    check_predefined_file();
    check_predefined_group();
    check_predefined_info();
    check_predefined_message();
    check_predefined_op();
    check_predefined_request();
    check_predefined_session();
    check_predefined_win();
    check_objects();
    check_kinds();
    check_statuses();
    CHECK_ERROR(MPI_Send(argv, 1, MPI_INT, 0, 0, MPI_Comm_fromint(INT32_MAX)), MPI_ERR_COMM,
                "MPI_Send", "MPI_COMM_NULL");
    CHECK_OK(MPI_Finalize());
    return 0;
}
