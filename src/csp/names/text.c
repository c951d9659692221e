// SPDX-License-Identifier: BSD-3-Clause
#include "csp/names/text.h"

#include <string.h>

#include "base/log.h"
#include "csp/net/remote.h"

enum { ADDRESS_NONE, ADDRESS_UNIX, ADDRESS_TCP, ADDRESS_KINDS, TEXT_LENGTH_BYTES = 4 };

// The fields of each verb, a letter each: v version, k key, i id, f flag, s status, n bare name,
// e a whole name, c one number, C all numbers, t text.
static const char *const fields[MLT_NAMES_VERBS] = {
    [MLT_NAMES_HELLO] = "vkct", [MLT_NAMES_WELCOME] = "c",  [MLT_NAMES_REFUSED] = "t",
    [MLT_NAMES_PUT] = "ie",     [MLT_NAMES_FIND] = "ifn",   [MLT_NAMES_CANCEL] = "i",
    [MLT_NAMES_DROP] = "in",    [MLT_NAMES_LIST] = "in",    [MLT_NAMES_STATUS] = "i",
    [MLT_NAMES_STOP] = "i",     [MLT_NAMES_ANSWER] = "ist", [MLT_NAMES_FOUND] = "ie",
    [MLT_NAMES_ENTRY] = "iect", [MLT_NAMES_NUMBERS] = "iC",
};

// ---- bytes

void mlt_names_bytes(mlt_names_cursor *c, void *data, size_t bytes)
{
    c->failed |= bytes > c->end - c->at;
    if (c->failed && !c->out)
        memset(data, 0, bytes);
    if (c->failed)
        return;
    if (c->out)
        memcpy(c->out + c->at, data, bytes);
    else
        memcpy(data, c->in + c->at, bytes);
    c->at += bytes;
}

uint64_t mlt_names_number(mlt_names_cursor *c, uint64_t value, int bytes)
{
    unsigned char raw[8];
    for (int i = 0; i < bytes; i++)
        raw[i] = (unsigned char)(value >> (8 * i));
    mlt_names_bytes(c, raw, (size_t)bytes);
    value = 0;
    for (int i = 0; i < bytes; i++)
        value |= (uint64_t)raw[i] << (8 * i);
    return value;
}

// A text that has a 0 inside would be another one for whoever reads it later: it is refused.
void mlt_names_text(mlt_names_cursor *c, char *text, size_t size)
{
    size_t bytes = (size_t)mlt_names_number(c, c->out ? strlen(text) : 0, 2);
    c->failed |= bytes >= size;
    if (c->failed)
        bytes = 0;
    mlt_names_bytes(c, text, bytes);
    if (c->out)
        return;
    text[bytes] = '\0';
    c->failed |= strlen(text) != bytes;
}

void mlt_names_endpoint(mlt_names_cursor *c, mlt_endpoint *at)
{
    mlt_far_place *far = &at->far;
    if (!c->out)
        memset(at, 0, sizeof *at);
    uint64_t kind = !at->socket[0] ? ADDRESS_NONE : far->port ? ADDRESS_TCP : ADDRESS_UNIX;
    kind = mlt_names_number(c, kind, 1);
    at->job = mlt_names_number(c, at->job, 8);
    at->worker = (uint32_t)mlt_names_number(c, at->worker, 4);
    c->failed |= kind >= ADDRESS_KINDS;
    if (kind == ADDRESS_NONE || c->failed)
        return;
    far->host = mlt_names_number(c, far->host, 8);
    mlt_names_text(c, at->socket, sizeof at->socket);
    c->failed |= !at->socket[0];
    if (kind == ADDRESS_UNIX)
        return;
    far->number = (uint32_t)mlt_names_number(c, far->number, 4);
    far->port = (uint16_t)mlt_names_number(c, far->port, 2);
    far->used = (uint8_t)mlt_names_number(c, far->used, 1);
    c->failed |= far->used > MLT_FAR_BYTES;
    if (c->failed)
        return;
    mlt_names_bytes(c, far->bytes, far->used);
    c->failed |= !far->port || !mlt_far_good(far);
}

size_t mlt_names_seal(mlt_names_cursor *c, int length_bytes)
{
    size_t bytes = c->at;
    mlt_assert(!c->failed);
    c->at = 0;
    mlt_names_number(c, bytes - (size_t)length_bytes, length_bytes);
    return bytes;
}

int mlt_names_open(mlt_names_cursor *c, int length_bytes, size_t most)
{
    size_t bytes = c->end;
    if (bytes < (size_t)length_bytes)
        return 0;
    uint64_t length = mlt_names_number(c, 0, length_bytes);
    if (length < 1 || length > most - (size_t)length_bytes)
        return -1;
    if (bytes - (size_t)length_bytes < length)
        return 0;
    c->end = (size_t)length_bytes + (size_t)length;
    return (int)c->end;
}

// ---- names

bool mlt_names_good(const char *name, const char **wrong)
{
    size_t bytes = strnlen(name, MLT_NAME_MOST + 1);
    *wrong = bytes == 0 ? "is empty" : "is longer than 255 bytes";
    if (bytes == 0 || bytes > MLT_NAME_MOST)
        return false;
    *wrong = "has control characters in it";
    for (size_t i = 0; i < bytes; i++)
        if ((unsigned char)name[i] < 0x20 || name[i] == 0x7f)
            return false;
    return true;
}

static void whole_name(mlt_names_cursor *c, mlt_name *name)
{
    const char *wrong;
    mlt_names_text(c, name->name, sizeof name->name);
    name->kind = (uint8_t)mlt_names_number(c, name->kind, 1);
    name->size = (uint32_t)mlt_names_number(c, name->size, 4);
    name->object = (uint32_t)mlt_names_number(c, name->object, 4);
    name->node = (int32_t)mlt_names_number(c, (uint32_t)name->node, 4);
    mlt_names_endpoint(c, &name->at);
    if (name->kind != MLT_OBJECT_NONE)
        name->text[0] = '\0';
    mlt_names_text(c, name->text, sizeof name->text);
    c->failed |= name->kind > MLT_OBJECT_PORT || !mlt_names_good(name->name, &wrong);
}

// ---- messages

static void message_field(mlt_names_cursor *c, char field, mlt_names_message *m)
{
    switch (field) {
    case 'v':
        m->version = (uint8_t)mlt_names_number(c, m->version, 1);
        break;
    case 'k':
        mlt_names_bytes(c, m->key, sizeof m->key);
        break;
    case 'i':
        m->id = (uint32_t)mlt_names_number(c, m->id, 4);
        break;
    case 'f':
        m->flag = (uint8_t)mlt_names_number(c, m->flag, 1);
        break;
    case 's':
        m->status = (uint8_t)mlt_names_number(c, m->status, 1);
        break;
    case 'n':
        mlt_names_text(c, m->name.name, sizeof m->name.name);
        break;
    case 'e':
        whole_name(c, &m->name);
        break;
    case 'c':
        m->numbers[0] = mlt_names_number(c, m->numbers[0], 8);
        break;
    case 'C':
        for (int i = 0; i < MLT_NAMES_NUMBERS_MOST; i++)
            m->numbers[i] = mlt_names_number(c, m->numbers[i], 8);
        break;
    case 't':
        mlt_names_text(c, m->text, sizeof m->text);
        break;
    }
}

// Writes or reads it, its verb too.
static void whole_message(mlt_names_cursor *c, mlt_names_message *m)
{
    m->verb = (uint8_t)mlt_names_number(c, m->verb, 1);
    for (const char *field = fields[m->verb]; *field; field++)
        message_field(c, *field, m);
}

size_t mlt_names_encode(const mlt_names_message *message, unsigned char out[MLT_NAMES_FRAME])
{
    mlt_assert(message->verb > 0 && message->verb < MLT_NAMES_VERBS);
    mlt_names_cursor c = {.out = out, .at = TEXT_LENGTH_BYTES, .end = MLT_NAMES_FRAME};
    mlt_names_message m = *message;
    whole_message(&c, &m);
    return mlt_names_seal(&c, TEXT_LENGTH_BYTES);
}

int mlt_names_decode(const unsigned char *in, size_t bytes, mlt_names_message *out)
{
    mlt_names_cursor c = {.in = in, .end = bytes};
    int whole = mlt_names_open(&c, TEXT_LENGTH_BYTES, MLT_NAMES_FRAME);
    if (bytes > TEXT_LENGTH_BYTES) { // what is no message at all is refused at once
        uint8_t verb = in[TEXT_LENGTH_BYTES];
        if (verb == 0 || verb >= MLT_NAMES_VERBS)
            return -1;
    }
    if (whole <= 0)
        return whole;
    memset(out, 0, sizeof *out);
    whole_message(&c, out);
    return c.failed || c.at != c.end || out->status >= CSP_STATUSES ? -1 : whole;
}
