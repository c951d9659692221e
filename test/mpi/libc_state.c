// SPDX-License-Identifier: BSD-3-Clause
//
// Functions of libc with hidden state keep it for each rank, whatever the other ranks of the
// process do in between: every rank sees the numbers and words that it would see alone.

#define _GNU_SOURCE // beyond C11: usleep, srand48 and their like

#include "check.h"

#include <arpa/inet.h>
#include <grp.h>
#include <netdb.h>
#include <pwd.h>
#include <search.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>

static void let_others_run(void)
{
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
}

static void check_numbers(int rank)
{
    unsigned short old[3] = {1, 2, 3}, mine[3] = {(unsigned short)rank, 5, 9};
    char array[64], text[] = "a b c";
    long first[4] = {0}, words = 0;
    for (int round = 0; round < 2; round++) { // the same seed gives the same numbers
        srand((unsigned)rank + 1);
        let_others_run();
        long a = rand();
        let_others_run();
        srand48(rank);
        let_others_run();
        long b = lrand48();
        memcpy(old, mine, sizeof old);
        seed48(old);
        let_others_run();
        long c = lrand48();
        char *before = initstate((unsigned)rank + 42, array, sizeof array);
        let_others_run();
        long d = random();
        CHECK(setstate(before) == array);
        if (round == 0) {
            first[0] = a, first[1] = b, first[2] = c, first[3] = d;
        } else {
            CHECK(a == first[0] && b == first[1] && c == first[2] && d == first[3]);
        }
    }
    for (char *word = strtok(text, " "); word; word = strtok(NULL, " ")) {
        CHECK(word[0] == 'a' + words++);
        let_others_run();
    }
    CHECK(words == 3);
    time_t day = (time_t)86400 * (rank + 1);
    struct tm *date = gmtime(&day);
    let_others_run();
    CHECK_INT(date->tm_mday, rank + 2);
}

// What libc keeps in one place for all: a table, answers, where one stands in a text.
static void check_answers(int rank)
{
    char key[16], found[16];
    snprintf(key, sizeof key, "key %d", rank);
    CHECK(hcreate(8 + (size_t)rank));
    CHECK(hsearch((ENTRY){key, key}, ENTER));
    let_others_run();
    ENTRY *entry = hsearch((ENTRY){key, NULL}, FIND);
    CHECK(entry && entry->data == key);
    snprintf(found, sizeof found, "key %d", rank + 1);
    CHECK(!hsearch((ENTRY){found, NULL}, FIND));
    hdestroy();
    char *text = inet_ntoa((struct in_addr){htonl(0x0a000000u + (unsigned)rank)});
    snprintf(key, sizeof key, "10.0.0.%d", rank);
    let_others_run();
    CHECK(strcmp(text, key) == 0);
    struct passwd *user = getpwuid(rank % 2 ? 0 : 1);
    let_others_run();
    struct group *group = getgrgid(rank % 2 ? 0 : 1);
    let_others_run();
    CHECK(!user || user->pw_uid == (rank % 2 ? 0 : 1));
    CHECK(!group || group->gr_gid == (rank % 2 ? 0 : 1));
    char name[64] = "", team[64] = "";
    snprintf(name, sizeof name, "%s", user ? user->pw_name : "");
    snprintf(team, sizeof team, "%s", group ? group->gr_name : "");
    CHECK(!*name || getpwnam(name)->pw_uid == (rank % 2 ? 0 : 1));
    CHECK(!*team || getgrnam(team)->gr_gid == (rank % 2 ? 0 : 1));
    CHECK(!getpwnam("no such user") && !getgrnam("no such group"));
    unsigned short state[3] = {(unsigned short)rank, 1, 2}, again[3] = {(unsigned short)rank, 1, 2};
    double a = erand48(state);
    let_others_run();
    CHECK(a == erand48(again) && nrand48(state) == nrand48(again) &&
          jrand48(state) == jrand48(again));
    wchar_t wide;
    CHECK(mblen("x", 1) == 1 && mbtowc(&wide, "y", 1) == 1 && wide == L'y');
    CHECK(wctomb(found, L'z') == 1 && found[0] == 'z');
    CHECK(mblen(NULL, 0) == 0 && mbtowc(NULL, NULL, 0) == 0 && wctomb(NULL, 0) == 0);
    struct hostent *host = gethostbyname("127.0.0.1");
    let_others_run();
    CHECK(host && host->h_addrtype == AF_INET && host->h_addr_list[0][0] == 127);
    CHECK(!ttyname(-1));
    (void)getlogin(); // there may be none
    tzset();
    CHECK(tzname[0] && *tzname[0]);
}

int main(int argc, char **argv)
{
    CHECK_OK(MPI_Init(&argc, &argv));
    check_numbers(world_rank());
    check_answers(world_rank());
    CHECK_OK(MPI_Finalize());
    return 0;
}
