// SPDX-License-Identifier: BSD-3-Clause
//
// What the ABI tells (sizes) and is told once (the properties of a Fortran compiler). Ranks of one
// process tell the same, each for itself. The argument `early` does it before MPI_Init.

#include "check.h"

static int number(MPI_Info info, const char *key)
{
    char value[32] = "";
    int room = (int)sizeof value, flag = 0;
    CHECK_OK(MPI_Info_get_string(info, key, &room, value, &flag));
    CHECK(flag);
    return atoi(value);
}

static void check_info(void)
{
    MPI_Info info = MPI_INFO_NULL;
    int major = -1, minor = -1;
    CHECK_OK(MPI_Abi_get_version(&major, &minor));
    CHECK_INT(major, MPI_ABI_VERSION);
    CHECK_INT(minor, MPI_ABI_SUBVERSION);
    CHECK_OK(MPI_Abi_get_info(&info));
    CHECK_INT(number(info, "mpi_aint_size"), sizeof(MPI_Aint));
    CHECK_INT(number(info, "mpi_count_size"), sizeof(MPI_Count));
    CHECK_INT(number(info, "mpi_offset_size"), sizeof(MPI_Offset));
    CHECK_OK(MPI_Info_set(info, "mpi_aint_size", "mine")); // a copy
    CHECK_OK(MPI_Info_free(&info));
}

static const struct {
    const char *key, *value;
} properties[] = {
    {"mpi_logical_size", "4"},
    {"mpi_integer_size", "4"},
    {"mpi_real_size", "4"},
    {"mpi_double_precision_size", "8"},
    {"mpi_integer8_supported", "true"},
    {"mpi_real16_supported", "false"},
};

static MPI_Info properties_info(void)
{
    MPI_Info info;
    CHECK_OK(MPI_Info_create(&info));
    for (int i = 0; i < COUNT_OF(properties); i++)
        CHECK_OK(MPI_Info_set(info, properties[i].key, properties[i].value));
    return info;
}

static void check_set_info(void)
{
    MPI_Info got = MPI_INFO_NULL, info = properties_info();
    CHECK_OK(MPI_Abi_set_fortran_info(info));
    CHECK_OK(MPI_Info_free(&info)); // it was copied
    CHECK_OK(MPI_Abi_get_fortran_info(&got));
    CHECK(got != MPI_INFO_NULL);
    CHECK_INT(number(got, "mpi_double_precision_size"), 8);
    int n = -1;
    CHECK_OK(MPI_Info_get_nkeys(got, &n));
    CHECK_INT(n, COUNT_OF(properties));
    CHECK_OK(MPI_Info_free(&got));
}

static void check_set_booleans(void)
{
    int is_true = -1, is_false = 0, t = 7, f = 7, is_set = -1;
    long long t8 = 7, f8 = 7;
    CHECK_OK(MPI_Abi_set_fortran_booleans(4, &is_true, &is_false));
    CHECK_OK(MPI_Abi_get_fortran_booleans(4, &t, &f, &is_set));
    CHECK(is_set);
    CHECK_INT(t, -1);
    CHECK_INT(f, 0);
    CHECK_OK(MPI_Abi_get_fortran_booleans(8, &t8, &f8, &is_set));
    CHECK(!is_set && t8 == 7 && f8 == 7);
}

// Refused and without effect, before it was set and afterwards.
static void check_refused(void)
{
    int one = 1, zero = 0, is_set = -1;
    MPI_Info info = properties_info();
    CHECK_OK(MPI_Info_set(info, "mpi_integer_size", "8"));
    CHECK_ERROR(MPI_Abi_set_fortran_info(info), MPI_ERR_ABI, "MPI_Abi_set_fortran_info",
                "mpi_integer_size");
    CHECK_OK(MPI_Info_set(info, "mpi_integer_size", "large"));
    CHECK_ERROR(MPI_Abi_set_fortran_info(info), MPI_ERR_INFO_VALUE, "MPI_Abi_set_fortran_info",
                "large");
    CHECK_OK(MPI_Info_free(&info));
    CHECK_ERROR(MPI_Abi_set_fortran_info(MPI_INFO_NULL), MPI_ERR_INFO, "MPI_Abi_set_fortran_info",
                "MPI_INFO_NULL");
    CHECK_ERROR(MPI_Abi_set_fortran_booleans(3, &one, &zero), MPI_ERR_ARG,
                "MPI_Abi_set_fortran_booleans", "3");
    CHECK_ERROR(MPI_Abi_set_fortran_booleans(32, &one, &zero), MPI_ERR_ARG,
                "MPI_Abi_set_fortran_booleans", "32");
    CHECK_ERROR(MPI_Abi_set_fortran_booleans(4, &one, &one), MPI_ERR_ARG,
                "MPI_Abi_set_fortran_booleans", "same");
    CHECK_ERROR(MPI_Abi_set_fortran_booleans(4, NULL, &zero), MPI_ERR_ARG,
                "MPI_Abi_set_fortran_booleans", "logical_true");
    CHECK_ERROR(MPI_Abi_get_fortran_booleans(4, &one, NULL, &is_set), MPI_ERR_ARG,
                "MPI_Abi_get_fortran_booleans", "logical_false");
    CHECK_ERROR(MPI_Abi_get_fortran_booleans(0, &one, &zero, &is_set), MPI_ERR_ARG,
                "MPI_Abi_get_fortran_booleans", "0");
    CHECK_ERROR(MPI_Abi_get_info(NULL), MPI_ERR_ARG, "MPI_Abi_get_info", "info");
}

// What was set stays.
static void check_once(void)
{
    int one = 1, zero = 0;
    MPI_Info info = properties_info();
    CHECK_OK(MPI_Info_set(info, "mpi_real2_supported", "true"));
    CHECK_ERROR(MPI_Abi_set_fortran_info(info), MPI_ERR_ABI, "MPI_Abi_set_fortran_info", "once");
    CHECK_ERROR(MPI_Abi_set_fortran_booleans(4, &one, &zero), MPI_ERR_ABI,
                "MPI_Abi_set_fortran_booleans", "once");
    CHECK_OK(MPI_Info_free(&info));
}

// A rank that is alone in its process: before and after.
static void check_alone(void)
{
    int one = -1, zero = 0, is_set = -1;
    MPI_Info info = properties_info(), none = info;
    CHECK_OK(MPI_Abi_get_fortran_info(&none));
    CHECK(none == MPI_INFO_NULL);
    CHECK_OK(MPI_Abi_get_fortran_booleans(4, &one, &zero, &is_set));
    CHECK(!is_set);
    check_refused();
    CHECK_OK(MPI_Abi_get_fortran_info(&none));
    CHECK(none == MPI_INFO_NULL);
    check_set_info();
    check_set_booleans();
    CHECK_ERROR(MPI_Abi_set_fortran_info(info), MPI_ERR_ABI, "MPI_Abi_set_fortran_info", "once");
    CHECK_ERROR(MPI_Abi_set_fortran_booleans(4, &one, &zero), MPI_ERR_ABI,
                "MPI_Abi_set_fortran_booleans", "once");
    CHECK_OK(MPI_Info_free(&info));
}

int main(int argc, char **argv)
{
    check_info();
    if (argc > 1 && strcmp(argv[1], "early") == 0) {
        check_set_info();
        check_set_booleans();
    }
    CHECK_OK(MPI_Init(&argc, &argv));
    errors_return();
    check_info();
    if (argc > 1 && strcmp(argv[1], "alone") == 0)
        check_alone();
    else if (argc == 1) {
        check_refused();
        check_set_info();
        check_set_booleans();
    }
    check_once();
    CHECK_OK(MPI_Finalize());
    check_info();
    return 0;
}
