// SPDX-License-Identifier: BSD-3-Clause
#include "boot/lists.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/unit_test.h"
#include "boot/child.h"
#include "boot/ctl.h"

static char port[] = "port", command[] = "./child", count[] = "3", word[] = "a b", empty[] = "",
            key[] = "wdir", value[] = "/tmp";

static char *head[] = {port, NULL}, *what[] = {command, count, NULL},
            *words[] = {word, empty, NULL}, *pairs[] = {key, value, NULL}, *nothing[] = {NULL};

static bool same(const mlt_lists *a, const mlt_lists *b)
{
    bool equal = a->count == b->count;
    for (uint32_t i = 0; equal && i < a->count; i++) {
        size_t n = mlt_lists_length(a->items[i]);
        equal = n == mlt_lists_length(b->items[i]);
        for (size_t k = 0; equal && k < n; k++)
            equal = strcmp(a->items[i][k], b->items[i][k]) == 0;
    }
    return equal;
}

static void test_round_trip(void)
{
    char **items[] = {head, nothing, words, pairs};
    for (uint32_t n = 0; n <= 4; n++) {
        mlt_lists lists = {.items = items, .count = n}, back;
        size_t size;
        char *bytes = mlt_lists_pack(&lists, &size);
        CHECK(bytes && mlt_lists_unpack(&back, bytes, size));
        CHECK(same(&lists, &back));
        mlt_lists_free(&back);
        free(bytes);
    }
}

// Whatever is cut off or changed: refused, or lists that stay within their bytes.
static void test_damage(void)
{
    char **items[] = {head, nothing, words, pairs};
    mlt_lists lists = {.items = items, .count = 4}, back;
    size_t size;
    char *bytes = mlt_lists_pack(&lists, &size);
    for (size_t n = 0; n < size; n++)
        CHECK(!mlt_lists_unpack(&back, bytes, n) && !back.items && !back.memory);
    for (size_t i = 0; i < size; i++)
        for (int change = 1; change < 256; change *= 2) {
            bytes[i] = (char)(bytes[i] ^ change);
            if (mlt_lists_unpack(&back, bytes, size))
                mlt_lists_free(&back);
            bytes[i] = (char)(bytes[i] ^ change);
        }
    free(bytes);
}

static bool is_request(char ***items, uint32_t lists)
{
    char why[256] = "";
    mlt_lists request = {.items = items, .count = lists};
    bool fine = mlt_child_check(&request, why, sizeof why);
    CHECK(fine == (why[0] == '\0'));
    return fine;
}

static void test_request(void)
{
    char zero[] = "0", much[] = "3000000000", text[] = "3x";
    char *without[] = {command, NULL}, *none[] = {empty, count, NULL}, *single[] = {key, NULL};
    char *bad[][3] = {{command, zero, NULL}, {command, much, NULL}, {command, text, NULL}};
    CHECK(is_request((char **[]){head, what, words, pairs}, 4));
    CHECK(is_request((char **[]){head, what, nothing, nothing, what, words, pairs}, 7));
    CHECK(!is_request((char **[]){head}, 1));
    CHECK(!is_request((char **[]){head, what, words}, 3));
    CHECK(!is_request((char **[]){nothing, what, words, pairs}, 4));
    CHECK(!is_request((char **[]){head, without, words, pairs}, 4));
    CHECK(!is_request((char **[]){head, none, words, pairs}, 4));
    CHECK(!is_request((char **[]){head, what, words, single}, 4));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        CHECK(!is_request((char **[]){head, bad[i], words, pairs}, 4));
}

// The other end of the pair comes with the packet.
static void test_ask(void)
{
    int ctl[2], fd, end = -1;
    CHECK(mlt_child_ask(-1, &fd) == MLT_ERR_CLOSED && fd == -1);
    CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ctl) == 0);
    CHECK(mlt_child_ask(ctl[0], &fd) == MLT_OK && fd >= 0);
    mlt_ctl packet;
    struct iovec part = {.iov_base = &packet, .iov_len = sizeof packet};
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(sizeof(int))];
    } room;
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = room.bytes,
                             .msg_controllen = sizeof room.bytes};
    CHECK(recvmsg(ctl[1], &message, 0) == (ssize_t)sizeof packet);
    CHECK(packet.type == MLT_CTL_SPAWN && packet.length == 0);
    memcpy(&end, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof end);
    char byte = 0;
    CHECK(write(fd, "x", 1) == 1 && read(end, &byte, 1) == 1 && byte == 'x');
    close(fd);
    CHECK(read(end, &byte, 1) == 0);
    close(end);
    close(ctl[1]);
    CHECK(mlt_child_ask(ctl[0], &fd) == MLT_ERR_CLOSED && fd == -1);
    close(ctl[0]);
}

int main(void)
{
    test_round_trip();
    test_damage();
    test_request();
    test_ask();
    return 0;
}
