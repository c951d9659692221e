// SPDX-License-Identifier: BSD-3-Clause
//
// MPI_Pack and MPI_Unpack: positions, messages of several parts, sent as MPI_PACKED and received as
// what they are and the other way round, absolute addresses, and buffers that are too small.

#include "check.h"

#define WORLD MPI_COMM_WORLD

// The classic: a length, then so many values, in one message.
static void several_parts(void)
{
    int rank = world_rank(), size = world_size(), at = 0, n = 3 + rank, bytes = 0, total = 0;
    int left = (rank + size - 1) % size, right = (rank + 1) % size;
    double values[16], got[16];
    char out[256], in[256];
    MPI_Status status;
    for (int i = 0; i < n; i++)
        values[i] = rank * 100 + i;
    CHECK_OK(MPI_Pack_size(1, MPI_INT, WORLD, &bytes));
    total += bytes;
    CHECK_OK(MPI_Pack_size(n, MPI_DOUBLE, WORLD, &bytes));
    total += bytes;
    CHECK(total <= (int)sizeof out);
    CHECK_OK(MPI_Pack(&n, 1, MPI_INT, out, total, &at, WORLD));
    CHECK_OK(MPI_Pack(values, n, MPI_DOUBLE, out, total, &at, WORLD));
    CHECK(at <= total);
    CHECK_OK(MPI_Sendrecv(out, at, MPI_PACKED, right, 5, in, sizeof in, MPI_PACKED, left, 5, WORLD,
                          &status));
    CHECK_OK(MPI_Get_count(&status, MPI_PACKED, &bytes));
    at = 0;
    CHECK_OK(MPI_Unpack(in, bytes, &at, &n, 1, MPI_INT, WORLD));
    CHECK_INT(n, 3 + left);
    CHECK_OK(MPI_Unpack(in, bytes, &at, got, n, MPI_DOUBLE, WORLD));
    CHECK_INT(at, bytes);
    for (int i = 0; i < n; i++)
        CHECK(got[i] == left * 100 + i);
}

static void as_the_type(void)
{
    int in[8] = {1, 2, 3, 4, 5, 6, 7, 8}, out[8] = {0}, at = 0;
    char packed[64];
    MPI_Datatype column;
    CHECK_OK(MPI_Type_vector(4, 1, 2, MPI_INT, &column));
    CHECK_OK(MPI_Type_commit(&column));
    CHECK_OK(MPI_Pack(in, 1, column, packed, sizeof packed, &at, WORLD));
    CHECK_INT(at, 16);
    CHECK_OK(MPI_Sendrecv(packed, at, MPI_PACKED, 0, 1, out, 1, column, 0, 1, MPI_COMM_SELF,
                          MPI_STATUS_IGNORE));
    CHECK(out[0] == 1 && out[1] == 0 && out[2] == 3 && out[4] == 5 && out[6] == 7 && out[7] == 0);
    memset(packed, 0, sizeof packed);
    memset(out, 0, sizeof out);
    CHECK_OK(MPI_Sendrecv(in, 1, column, 0, 1, packed, sizeof packed, MPI_PACKED, 0, 1,
                          MPI_COMM_SELF, MPI_STATUS_IGNORE));
    at = 0;
    CHECK_OK(MPI_Unpack(packed, 16, &at, out, 4, MPI_INT, WORLD));
    CHECK(out[0] == 1 && out[1] == 3 && out[2] == 5 && out[3] == 7 && out[4] == 0);
    CHECK_OK(MPI_Type_free(&column));
}

// Two variables by their addresses.
static void absolute(void)
{
    int first = 17, lengths[] = {1, 1};
    double second = 2.5;
    MPI_Aint at[2];
    MPI_Datatype both, types[] = {MPI_INT, MPI_DOUBLE};
    MPI_Count position = 0;
    char packed[32];
    CHECK_OK(MPI_Get_address(&first, &at[0]));
    CHECK_OK(MPI_Get_address(&second, &at[1]));
    CHECK_OK(MPI_Type_create_struct(2, lengths, at, types, &both));
    CHECK_OK(MPI_Type_commit(&both));
    CHECK_OK(MPI_Pack_c(MPI_BOTTOM, 1, both, packed, sizeof packed, &position, WORLD));
    CHECK_INT(position, 12);
    first = 0;
    second = 0;
    position = 0;
    CHECK_OK(MPI_Unpack_c(packed, 12, &position, MPI_BOTTOM, 1, both, WORLD));
    CHECK_INT(position, 12);
    CHECK(first == 17 && second == 2.5);
    CHECK_OK(MPI_Type_free(&both));
}

static void sizes(void)
{
    int size = -1;
    MPI_Count large = -1;
    MPI_Datatype pair;
    CHECK_OK(MPI_Type_contiguous(2, MPI_DOUBLE, &pair));
    CHECK_OK(MPI_Type_commit(&pair));
    CHECK_OK(MPI_Pack_size(0, pair, WORLD, &size));
    CHECK_INT(size, 0);
    CHECK_OK(MPI_Pack_size(3, pair, WORLD, &size));
    CHECK_INT(size, 48);
    CHECK_OK(MPI_Pack_size_c((MPI_Count)1 << 40, pair, WORLD, &large));
    CHECK_INT(large, (MPI_Count)1 << 44);
    if (STRICT) { // more than an int can say
        CHECK_OK(MPI_Pack_size(1 << 30, pair, WORLD, &size));
        CHECK_INT(size, MPI_UNDEFINED);
    }
    CHECK_OK(MPI_Type_free(&pair));
}

// Nothing is written, and the position stays.
static void too_small(void)
{
    int in[3] = {1, 2, 3}, at = 3;
    char out[64], before[64];
    memset(out, 0xee, sizeof out);
    memcpy(before, out, sizeof out);
    CHECK_ERROR(MPI_Pack(in, 3, MPI_INT, out, 10, &at, WORLD), MPI_ERR_TRUNCATE, "MPI_Pack",
                "5 are missing");
    CHECK_INT(at, 3);
    CHECK_ERROR(MPI_Unpack(out, 10, &at, in, 3, MPI_INT, WORLD), MPI_ERR_TRUNCATE, "MPI_Unpack",
                "insize is 10");
    CHECK_ERROR(MPI_Pack(in, 1, MPI_INT, out, -1, &at, WORLD), MPI_ERR_ARG, "MPI_Pack", "outsize");
    at = 11;
    CHECK_ERROR(MPI_Pack(in, 1, MPI_INT, out, 10, &at, WORLD), MPI_ERR_ARG, "MPI_Pack", "11");
    at = -2;
    CHECK_ERROR(MPI_Unpack(out, 10, &at, in, 1, MPI_INT, WORLD), MPI_ERR_ARG, "MPI_Unpack", "-2");
    at = 0;
    CHECK_ERROR(MPI_Pack(in, 1, MPI_INT, NULL, 10, &at, WORLD), MPI_ERR_BUFFER, "MPI_Pack",
                "outbuf");
    CHECK_ERROR(MPI_Unpack(NULL, 10, &at, in, 1, MPI_INT, WORLD), MPI_ERR_BUFFER, "MPI_Unpack",
                "inbuf");
    CHECK_ERROR(MPI_Pack(NULL, 1, MPI_INT, out, 10, &at, WORLD), MPI_ERR_BUFFER, "MPI_Pack",
                "inbuf");
    CHECK_ERROR(MPI_Unpack(out, 10, &at, NULL, 1, MPI_INT, WORLD), MPI_ERR_BUFFER, "MPI_Unpack",
                "outbuf");
    CHECK_ERROR(MPI_Pack(in, -1, MPI_INT, out, 10, &at, WORLD), MPI_ERR_COUNT, "MPI_Pack", "-1");
    CHECK_ERROR(MPI_Unpack(out, 10, &at, in, -1, MPI_INT, WORLD), MPI_ERR_COUNT, "MPI_Unpack",
                "-1");
    CHECK_ERROR(MPI_Pack(in, 1, MPI_INT, out, 10, NULL, WORLD), MPI_ERR_ARG, "MPI_Pack",
                "position");
    CHECK_ERROR(MPI_Pack_size(-1, MPI_INT, WORLD, &at), MPI_ERR_COUNT, "MPI_Pack_size", "-1");
    CHECK_INT(at, 0);
    CHECK(memcmp(out, before, sizeof out) == 0);
    CHECK(in[0] == 1 && in[1] == 2 && in[2] == 3);
    CHECK_OK(MPI_Pack(NULL, 0, MPI_INT, NULL, 0, &at, WORLD)); // no data, no buffer
    CHECK_INT(at, 0);
}

int main(int argc, char **argv)
{
    CHECK_OK(MPI_Init(&argc, &argv));
    errors_return();
    several_parts();
    as_the_type();
    sizes();
    if (STRICT) { // MPICH packs nothing at MPI_BOTTOM, and ends the program for a short buffer
        absolute();
        too_small();
    }
    CHECK_OK(MPI_Finalize());
    return 0;
}
