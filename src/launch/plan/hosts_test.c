// SPDX-License-Identifier: BSD-3-Clause
// Host lists and host files that are right: which hosts they name, in which order, with how many
// slots. test/launch/run tries those that are wrong.
#include "launch/plan/hosts.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <unistd.h>

#include "base/text.h"
#include "base/unit_test.h"

// "a:1 me@b:4 here:2".
static char *text_of(const mlt_hosts *hosts)
{
    mlt_text text = {0};
    for (uint32_t i = 0; i < hosts->count; i++) {
        const mlt_hosts_entry *h = &hosts->hosts[i];
        CHECK(!h->here || strcmp(h->name, mlt_hosts_own()) == 0);
        CHECK(mlt_hosts_find(hosts, h->name) == (int64_t)i);
        mlt_text_add(&text, "%s%s%s%s:%u", i ? " " : "", h->user ? h->user : "", h->user ? "@" : "",
                     h->here ? "here" : h->name, h->slots);
    }
    return text.text;
}

static void expect(mlt_hosts *hosts, const char *what, const char *wanted)
{
    char *is = text_of(hosts);
    check_same_text(what, is, wanted);
    free(is);
    mlt_hosts_free(hosts);
}

static void expect_list(const char *list, const char *wanted)
{
    mlt_hosts hosts = {.count = 0};
    mlt_hosts_add_list(&hosts, "-host", list);
    expect(&hosts, list, wanted);
}

// A file with this text; the caller frees its name.
static char *write_file(const char *text)
{
    char *path = mlt_text_of("/tmp/millet-hosts-XXXXXX");
    int fd = mkstemp(path);
    CHECK(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text) && close(fd) == 0);
    return path;
}

static void read_file(mlt_hosts *hosts, const char *text)
{
    char *path = write_file(text);
    mlt_hosts_add_file(hosts, path);
    CHECK(unlink(path) == 0);
    free(path);
}

static void expect_file(const char *text, const char *wanted)
{
    mlt_hosts hosts = {.count = 0};
    read_file(&hosts, text);
    expect(&hosts, text, wanted);
}

static void check_lists(void)
{
    expect_list("a", "a:1");
    expect_list("a,b:4,user@c", "a:1 b:4 user@c:1");
    expect_list("a,b,a", "a:2 b:1");
    expect_list("a:3,A,me@a:2", "me@a:6");
    expect_list("a:0,b:1048576", "a:0 b:1048576");
    expect_list("a.b-c_d.example.org:007", "a.b-c_d.example.org:7");
    expect_list("dom\\me@a,me@dom@b", "dom\\me@a:1 me@dom@b:1");
    expect_list("10.1.2.300,999", "10.1.2.300:1 999:1");
}

static void check_ranges(void)
{
    expect_list("node[01-03]:2", "node01:2 node02:2 node03:2");
    expect_list("n[1,3,5-7],x", "n1:1 n3:1 n5:1 n6:1 n7:1 x:1");
    expect_list("n[8-11]", "n8:1 n9:1 n10:1 n11:1");
    expect_list("n[098-101]", "n098:1 n099:1 n100:1 n101:1");
    expect_list("me@r[1-2]n[0-1].x:3", "me@r1n0.x:3 me@r1n1.x:3 me@r2n0.x:3 me@r2n1.x:3");
    expect_list("[1-2]", "1:1 2:1");
    expect_list("n[1-2,2]", "n1:1 n2:2");
    expect_list("n[999999999]", "n999999999:1");
}

static void check_addresses(void)
{
    expect_list("[fe80::1]:4,fe80::1", "fe80::1:5");
    expect_list("me@[2001:DB8:0:0::7]", "me@2001:db8::7:1");
    expect_list("fe80::1%eth0,[fe80::1%eth1]:2", "fe80::1%eth0:1 fe80::1%eth1:2");
    expect_list("192.0.2.7:3", "192.0.2.7:3");
}

// Names and addresses of this host are one host.
static void check_here(void)
{
    char name[400];
    struct ifaddrs *all;
    expect_list("localhost,LocalHost:2,127.0.0.1,::1,[::1]:2,[0:0:0:0:0:0:0:1]", "here:8");
    expect_list("a,localhost.localdomain,b,me@localhost:2", "a:1 me@here:3 b:1");
    snprintf(name, sizeof name, "%s,%s:2", mlt_hosts_own(), mlt_hosts_own());
    expect_list(name, "here:3");
    if (!strchr(mlt_hosts_own(), '.')) {
        snprintf(name, sizeof name, "%s.example.org", mlt_hosts_own());
        CHECK(mlt_hosts_is_here(name));
    }
    CHECK(getifaddrs(&all) == 0);
    for (struct ifaddrs *i = all; i; i = i->ifa_next) {
        int family = i->ifa_addr ? i->ifa_addr->sa_family : AF_UNSPEC;
        const void *address = &((struct sockaddr_in *)(void *)i->ifa_addr)->sin_addr;
        if (family == AF_INET6)
            address = &((struct sockaddr_in6 *)(void *)i->ifa_addr)->sin6_addr;
        if (family != AF_INET && family != AF_INET6)
            continue;
        CHECK(inet_ntop(family, address, name, sizeof name));
        CHECK(mlt_hosts_is_here(name));
        expect_list(name, "here:1");
        if (family == AF_INET6) {
            strcat(name, "%nowhere7");
            CHECK(strncmp(name, "::1%", 4) == 0 || !mlt_hosts_is_here(name));
        }
    }
    freeifaddrs(all);
    CHECK(!mlt_hosts_is_here("192.0.2.1") && !mlt_hosts_is_here("elsewhere.example.org"));
    CHECK(!mlt_hosts_is_here("") && !mlt_hosts_is_here("127.0.0.2"));
}

static void check_files(void)
{
    expect_file("a\nb:2\n", "a:1 b:2");
    expect_file("# all\n\n  me@a slots=4 max_slots=8 # x\n\tb max-slots=3 \r\na SLOTS=1",
                "me@a:5 b:1");
    expect_file("n[1-2,5] slots=2\n[fe80::2]:3\nfe80::2 slots=1", "n1:2 n2:2 n5:2 fe80::2:4");
    expect_file("a slots=0\nb slots=2", "a:0 b:2");
    expect_file("a\na\nb\nb\na\n", "a:3 b:2"); // a line a core
}

static void check_where(void)
{
    char where[MLT_HOST_WHERE_BYTES];
    mlt_hosts hosts = {.count = 0};
    mlt_hosts_add_list(&hosts, "-H", "a");
    check_same_text("an option", mlt_hosts_where(&hosts.hosts[0], where), "-H");
    char *path = write_file("# one\n\na\nb\n"), *wanted = mlt_text_of("%s:4", path);
    mlt_hosts_add_file(&hosts, path);
    check_same_text("a line", mlt_hosts_where(&hosts.hosts[1], where), wanted);
    CHECK(unlink(path) == 0);
    free(path);
    free(wanted);
    expect(&hosts, "both", "a:2 b:1");
}

static void expect_chosen(const char *file, const char *list, const char *wanted)
{
    mlt_hosts all = {.count = 0}, some = {.count = 0}, chosen = {.count = 0};
    read_file(&all, file);
    mlt_hosts_add_list(&some, "-host", list);
    mlt_hosts_choose(&chosen, &all, &some);
    mlt_hosts_free(&all);
    mlt_hosts_free(&some);
    expect(&chosen, list, wanted);
}

static void check_choice(void)
{
    static const char file[] = "me@a slots=4\nb\nc:2\nlocalhost slots=3\n";
    expect_chosen(file, "c,a", "c:1 me@a:1");
    expect_chosen(file, "b:5,you@c", "b:5 you@c:1");
    expect_chosen(file, "a,a", "me@a:2");
    expect_chosen(file, "127.0.0.1:2", "here:2");
}

static void expect_trimmed(const char *list, bool no_local, const char *wanted)
{
    mlt_hosts hosts = {.count = 0};
    mlt_hosts_add_list(&hosts, "-host", list);
    mlt_hosts_trim(&hosts, no_local);
    CHECK(mlt_hosts_find(&hosts, "absent") < 0);
    expect(&hosts, list, wanted);
}

static void check_trim(void)
{
    expect_trimmed("absent:0,b,localhost", false, "b:1 here:1");
    expect_trimmed("localhost,b,absent:0", true, "b:1");
    expect_trimmed("localhost:2,absent:0", true, "here:2");
    expect_trimmed("localhost:2", true, "here:2");
}

static void check_many(void)
{
    mlt_hosts hosts = {.count = 0};
    char name[32];
    mlt_hosts_add_list(&hosts, "-host", "node[000001-131072]:2");
    CHECK(hosts.count == MLT_HOSTS_MOST);
    mlt_hosts_add_list(&hosts, "-host", "node[000001-131072]"); // the same again
    CHECK(hosts.count == MLT_HOSTS_MOST);
    for (uint32_t i = 0; i < hosts.count; i += 997) {
        snprintf(name, sizeof name, "NODE%06u", i + 1);
        CHECK(mlt_hosts_find(&hosts, name) == (int64_t)i && hosts.hosts[i].slots == 3);
    }
    mlt_hosts_free(&hosts);
    CHECK(!hosts.count && mlt_hosts_find(&hosts, "node000001") < 0);
}

int main(void)
{
    check_lists();
    check_ranges();
    check_addresses();
    check_here();
    check_files();
    check_where();
    check_choice();
    check_trim();
    check_many();
    return 0;
}
