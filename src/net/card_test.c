// SPDX-License-Identifier: BSD-3-Clause
// Cards are written and read again; what is cut, longer or wrong in any place is refused.
#include "net/card.h"

#include <stdbool.h>

#include "base/unit_test.h"

static char why[200];

static mlt_card largest(void)
{
    mlt_card card = {.port = 65535, .count = MLT_ADDRESSES};
    memset(card.name, 'n', sizeof card.name - 1);
    for (int i = 0; i < MLT_ADDRESSES; i++) {
        CHECK(mlt_address_read(&card.addresses[i], i % 2 ? "2001:db8::1" : "10.0.0.1"));
        card.addresses[i].bytes[3] = (uint8_t)i;
        card.addresses[i].prefix = (uint8_t)i;
    }
    return card;
}

static void check_refused(const uint8_t *bytes, size_t size, const char *wanted)
{
    char text[200];
    mlt_card card;
    static const mlt_card zero;
    CHECK(mlt_card_read(&card, bytes, size, why, sizeof why) == MLT_ERR_INVALID);
    snprintf(text, sizeof text, "a process's card cannot be read: %s", wanted);
    check_same_text("refused", why, text);
    CHECK(memcmp(&card, &zero, sizeof zero) == 0);
}

static void test_again(void)
{
    mlt_card card = largest(), again;
    uint8_t bytes[MLT_CARD_BYTES + 1];
    size_t size = mlt_card_write(bytes, &card);
    CHECK(size == 6 + 255 + 16 * (6 + 18) && size <= MLT_CARD_BYTES);
    CHECK(mlt_card_read(&again, bytes, size, why, sizeof why) == MLT_OK);
    CHECK(memcmp(&card, &again, sizeof card) == 0);
    for (size_t cut = 0; cut < size; cut++)
        CHECK(mlt_card_read(&again, bytes, cut, why, sizeof why) == MLT_ERR_INVALID);
    bytes[size] = 0;
    check_refused(bytes, size + 1, "there is something behind its last address");
    check_refused(bytes, MLT_CARD_BYTES + 1, "it has not the length of a card");
}

static void test_names(void)
{
    mlt_card card = {.port = 1}, again;
    uint8_t bytes[MLT_CARD_BYTES];
    CHECK(mlt_card_read(&again, bytes, mlt_card_write(bytes, &card), why, sizeof why) == MLT_OK);
    check_same_text("no name", again.name, "host");
    strcpy(card.name, "a b\n\xc3\xa4.Z_9");
    CHECK(mlt_card_read(&again, bytes, mlt_card_write(bytes, &card), why, sizeof why) == MLT_OK);
    check_same_text("a strange name", again.name, "a-b---.Z_9");
}

static void test_wrong(void)
{
    static const struct {
        int at, byte;
        const char *why;
    } wrong[] = {
        {0, 2, "it is of another version of Millet"},
        {1, 33, "it has more addresses than a host can have"},
        {1, 2, "there is something behind its last address"},
        {1, 4, "an address is cut"},
        {2, 0, "its name is cut"},
        {2, 200, "its name is cut"},
        {3, 1, "its port is none"},
        {4, 0, "its port is none"},
        {6, '\n', "its name has a character that no name of a host has"},
        {7, 5, "an address is neither of IPv4 nor of IPv6"},
        {8, 33, "the subnet of an address has too many bits"},
        {9, 0, "an address names no host"},
        {9, 224, "an address names no host"},
        {9 + 4, 4, "the subnet of an address has too many bits"},
        {9 + 4 + 2, 0xff, "an address names no host"},
        {9 + 4 + 1, 129, "the subnet of an address has too many bits"},
    };
    mlt_card card = {.port = 7, .count = 3, .name = "h"};
    CHECK(mlt_address_read(&card.addresses[0], "10.0.0.1"));
    CHECK(mlt_address_read(&card.addresses[1], "::1"));
    CHECK(mlt_address_read(&card.addresses[2], "2001:db8::1"));
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        uint8_t bytes[MLT_CARD_BYTES];
        size_t size = mlt_card_write(bytes, &card);
        bytes[wrong[i].at] = (uint8_t)wrong[i].byte;
        snprintf(now_testing, sizeof now_testing, "case %zu", i);
        check_refused(bytes, size, wrong[i].why);
    }
    card.count = 1;
    memset(card.addresses[0].bytes, 0, 4);
    uint8_t bytes[MLT_CARD_BYTES];
    check_refused(bytes, mlt_card_write(bytes, &card), "an address names no host");
    now_testing[0] = 0;
}

int main(void)
{
    test_again();
    test_names();
    test_wrong();
    puts("all right");
    return 0;
}
