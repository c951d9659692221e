// SPDX-License-Identifier: BSD-3-Clause
// Jobs that ranks start: MPI_Comm_spawn and MPI_Comm_spawn_multiple from all ranks, from one, from
// halves of the world at the same time, by children; what the new ranks are told; messages and
// collective calls over the intercommunicator and its merged form. `spawn INFO...`: keys and values
// of the info object, by which children become threads or fibers.
#include <stdbool.h>

#include "comm_check.h"

enum { CHILDREN = 3, BYTES = 300000, TAG = 5 };

static char *program_of(char **argv)
{
    return argv[0];
}

// The word that tells a child what to do is its first argument.
static MPI_Comm spawn(char **argv, char *word, int ranks, MPI_Info info, int root, MPI_Comm comm)
{
    MPI_Comm kin = MPI_COMM_NULL;
    char blank[] = "two words", empty[] = "", colon[] = ":";
    char *arguments[] = {word, blank, empty, colon, NULL};
    int *codes = malloc((size_t)ranks * sizeof *codes);
    for (int i = 0; i < ranks; i++)
        codes[i] = -1;
    bool is_root = rank_of(comm) == root; // the arguments count there only
    CHECK_OK(MPI_Comm_spawn(is_root ? program_of(argv) : NULL, is_root ? arguments : NULL,
                            is_root ? ranks : -1, is_root ? info : MPI_INFO_NULL, root, comm, &kin,
                            codes));
    for (int i = 0; i < ranks; i++)
        CHECK_INT(codes[i], MPI_SUCCESS);
    free(codes);
    return kin;
}

// Both sides: each sends to its partner at once, in both directions.
static void exchange(MPI_Comm kin)
{
    int rank, size, remote;
    MPI_Comm_rank(kin, &rank);
    MPI_Comm_size(kin, &size);
    MPI_Comm_remote_size(kin, &remote);
    if (rank >= remote || rank >= size)
        return;
    unsigned char *out = malloc(BYTES), *in = malloc(BYTES);
    pattern_fill(out, BYTES, (uint64_t)rank);
    MPI_Status status;
    CHECK_OK(MPI_Sendrecv(out, BYTES, MPI_BYTE, rank, TAG, in, BYTES, MPI_BYTE, rank, TAG, kin,
                          &status));
    CHECK_STATUS(&status, rank, TAG, BYTES);
    CHECK_PATTERN(in, BYTES, (uint64_t)rank);
    free(out);
    free(in);
}

static void collect(MPI_Comm kin, bool is_child)
{
    int rank, size, remote, sum = 0;
    MPI_Comm_rank(kin, &rank);
    MPI_Comm_size(kin, &size);
    MPI_Comm_remote_size(kin, &remote);
    int mine = is_child ? 100 : 1;
    CHECK_OK(MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, kin));
    CHECK_INT(sum, remote * (is_child ? 1 : 100));
    MPI_Comm all;
    CHECK_OK(MPI_Intercomm_merge(kin, is_child, &all));
    CHECK_INT(size_of(all), size + remote);
    CHECK_INT(rank_of(all), is_child ? remote + rank : rank);
    CHECK_OK(MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, all));
    CHECK_INT(sum, is_child ? 100 * size + remote : size + 100 * remote);
    CHECK_OK(MPI_Comm_free(&all));
}

static void meet(MPI_Comm *kin, bool is_child)
{
    exchange(*kin);
    collect(*kin, is_child);
    CHECK_OK(MPI_Comm_disconnect(kin));
    CHECK(*kin == MPI_COMM_NULL);
}

static int attribute(int key)
{
    int *value, flag = 0;
    CHECK_OK(MPI_Comm_get_attr(MPI_COMM_WORLD, key, &value, &flag));
    CHECK(flag);
    return *value;
}

static void be_child(MPI_Comm parent, int argc, char **argv)
{
    char name[MPI_MAX_OBJECT_NAME];
    int length, inter = 0;
    CHECK_OK(MPI_Comm_test_inter(parent, &inter));
    CHECK(inter);
    CHECK_OK(MPI_Comm_get_name(parent, name, &length));
    CHECK(strcmp(name, "MPI_COMM_PARENT") == 0);
    CHECK(argc >= 5 && strcmp(argv[2], "two words") == 0 && !*argv[3] && strcmp(argv[4], ":") == 0);
    CHECK(attribute(MPI_UNIVERSE_SIZE) >= 1);
    if (strcmp(argv[1], "section") == 0)
        CHECK_INT(attribute(MPI_APPNUM), rank_of(MPI_COMM_WORLD) < 2 ? 0 : 1);
    else
        CHECK_INT(attribute(MPI_APPNUM), 0);
    MPI_Comm kin = MPI_COMM_NULL;
    char leaf[] = "leaf";
    if (strcmp(argv[1], "tree") == 0) // a grandchild
        kin = spawn(argv, leaf, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD);
    meet(&parent, true);
    if (kin != MPI_COMM_NULL)
        meet(&kin, false);
    CHECK_OK(MPI_Comm_get_parent(&parent));
    CHECK(parent == MPI_COMM_NULL);
}

static void spawn_sections(char **argv)
{
    char word[] = "section", blank[] = "two words", empty[] = "", colon[] = ":";
    char *arguments[] = {word, blank, empty, colon, NULL}, **argvs[] = {arguments, arguments};
    char *commands[] = {program_of(argv), program_of(argv)};
    int most[] = {2, 4}, codes[6];
    MPI_Info infos[] = {MPI_INFO_NULL, MPI_INFO_NULL};
    CHECK_OK(MPI_Info_create(&infos[1]));
    CHECK_OK(MPI_Info_set(infos[1], "soft", "1,7:9")); // 1 of 4
    CHECK_OK(MPI_Info_set(infos[1], "arch", "any"));
    CHECK_OK(MPI_Info_set(infos[1], "no_such_key", "ignored"));
    MPI_Comm kin;
    int last = size_of(MPI_COMM_WORLD) - 1, remote;
    CHECK_OK(MPI_Comm_spawn_multiple(2, commands, argvs, most, infos, last, MPI_COMM_WORLD, &kin,
                                     codes));
    CHECK_OK(MPI_Comm_remote_size(kin, &remote));
    CHECK_INT(remote, 3);
    for (int i = 0; i < 6; i++)
        CHECK((codes[i] == MPI_SUCCESS) == (i < 3));
    CHECK_OK(MPI_Info_free(&infos[1]));
    meet(&kin, false);
}

int main(int argc, char **argv)
{
    CHECK_OK(MPI_Init(&argc, &argv));
    MPI_Comm parent, kin, part;
    CHECK_OK(MPI_Comm_get_parent(&parent));
    if (parent != MPI_COMM_NULL) {
        be_child(parent, argc, argv);
        CHECK_OK(MPI_Finalize());
        return 0;
    }
    char plain[] = "plain", tree[] = "tree";
    MPI_Info info = MPI_INFO_NULL;
    if (argc > 2)
        CHECK_OK(MPI_Info_create(&info));
    for (int i = 1; i + 1 < argc; i += 2)
        CHECK_OK(MPI_Info_set(info, argv[i], argv[i + 1]));
    kin = spawn(argv, plain, argc > 2 ? 4 : CHILDREN, info, size_of(MPI_COMM_WORLD) - 1,
                MPI_COMM_WORLD);
    meet(&kin, false);
    if (info != MPI_INFO_NULL) {
        CHECK_OK(MPI_Info_free(&info));
        return MPI_Finalize();
    }
    // Halves spawn at the same time.
    CHECK_OK(MPI_Comm_split(MPI_COMM_WORLD, rank_of(MPI_COMM_WORLD) % 2, 0, &part));
    kin = spawn(argv, plain, 2, MPI_INFO_NULL, 0, part);
    meet(&kin, false);
    CHECK_OK(MPI_Comm_free(&part));
    kin = spawn(argv, tree, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD);
    meet(&kin, false);
    spawn_sections(argv);
    CHECK_OK(MPI_Finalize());
    return 0;
}
