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

void mlt_names_put_bytes(mlt_names_cursor *c, const void *data, size_t bytes)
{
    if (c->failed || bytes > c->end - c->at) {
        c->failed = true;
        return;
    }
    memcpy(c->out + c->at, data, bytes);
    c->at += bytes;
}

void mlt_names_get_bytes(mlt_names_cursor *c, void *data, size_t bytes)
{
    if (c->failed || bytes > c->end - c->at) {
        c->failed = true;
        memset(data, 0, bytes);
        return;
    }
    memcpy(data, c->in + c->at, bytes);
    c->at += bytes;
}

void mlt_names_put_number(mlt_names_cursor *c, uint64_t value, int bytes)
{
    unsigned char raw[8];
    for (int i = 0; i < bytes; i++)
        raw[i] = (unsigned char)(value >> (8 * i));
    mlt_names_put_bytes(c, raw, (size_t)bytes);
}

uint64_t mlt_names_get_number(mlt_names_cursor *c, int bytes)
{
    unsigned char raw[8];
    uint64_t value = 0;
    mlt_names_get_bytes(c, raw, (size_t)bytes);
    for (int i = 0; i < bytes; i++)
        value |= (uint64_t)raw[i] << (8 * i);
    return value;
}

void mlt_names_put_text(mlt_names_cursor *c, const char *text)
{
    size_t bytes = strlen(text);
    mlt_names_put_number(c, bytes, 2);
    mlt_names_put_bytes(c, text, bytes);
}

// A text that has a 0 inside would be another one for whoever reads it later: it is refused.
void mlt_names_get_text(mlt_names_cursor *c, char *text, size_t size)
{
    size_t bytes = (size_t)mlt_names_get_number(c, 2);
    text[0] = '\0';
    if (c->failed || bytes >= size) {
        c->failed = true;
        return;
    }
    mlt_names_get_bytes(c, text, bytes);
    text[bytes] = '\0';
    if (strlen(text) != bytes)
        c->failed = true;
}

void mlt_names_put_endpoint(mlt_names_cursor *c, const mlt_endpoint *at)
{
    int kind = !at->socket[0] ? ADDRESS_NONE : at->far.port ? ADDRESS_TCP : ADDRESS_UNIX;
    mlt_names_put_number(c, (uint64_t)kind, 1);
    mlt_names_put_number(c, at->job, 8);
    mlt_names_put_number(c, at->worker, 4);
    if (kind == ADDRESS_NONE)
        return;
    mlt_names_put_number(c, at->far.host, 8);
    mlt_names_put_text(c, at->socket);
    if (kind == ADDRESS_UNIX)
        return;
    mlt_names_put_number(c, at->far.number, 4);
    mlt_names_put_number(c, at->far.port, 2);
    mlt_names_put_number(c, at->far.used, 1);
    mlt_names_put_bytes(c, at->far.bytes, at->far.used);
}

static void get_far(mlt_names_cursor *c, mlt_far_place *far)
{
    far->number = (uint32_t)mlt_names_get_number(c, 4);
    far->port = (uint16_t)mlt_names_get_number(c, 2);
    uint64_t used = mlt_names_get_number(c, 1);
    if (used > MLT_FAR_BYTES) {
        c->failed = true;
        return;
    }
    far->used = (uint8_t)used;
    mlt_names_get_bytes(c, far->bytes, used);
    c->failed |= !far->port || !mlt_far_good(far);
}

void mlt_names_get_endpoint(mlt_names_cursor *c, mlt_endpoint *at)
{
    uint64_t kind = mlt_names_get_number(c, 1);
    memset(at, 0, sizeof *at);
    at->job = mlt_names_get_number(c, 8);
    at->worker = (uint32_t)mlt_names_get_number(c, 4);
    if (kind >= ADDRESS_KINDS)
        c->failed = true;
    if (kind == ADDRESS_NONE || c->failed)
        return;
    at->far.host = mlt_names_get_number(c, 8);
    mlt_names_get_text(c, at->socket, sizeof at->socket);
    c->failed |= !at->socket[0];
    if (kind == ADDRESS_TCP)
        get_far(c, &at->far);
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

static void put_name(mlt_names_cursor *c, const mlt_name *name)
{
    mlt_names_put_text(c, name->name);
    mlt_names_put_number(c, name->kind, 1);
    mlt_names_put_number(c, name->size, 4);
    mlt_names_put_number(c, name->object, 4);
    mlt_names_put_number(c, (uint32_t)name->node, 4);
    mlt_names_put_endpoint(c, &name->at);
    mlt_names_put_text(c, name->kind == MLT_OBJECT_NONE ? name->text : "");
}

static void get_name(mlt_names_cursor *c, mlt_name *name)
{
    const char *wrong;
    mlt_names_get_text(c, name->name, sizeof name->name);
    name->kind = (uint8_t)mlt_names_get_number(c, 1);
    name->size = (uint32_t)mlt_names_get_number(c, 4);
    name->object = (uint32_t)mlt_names_get_number(c, 4);
    name->node = (int32_t)mlt_names_get_number(c, 4);
    mlt_names_get_endpoint(c, &name->at);
    mlt_names_get_text(c, name->text, sizeof name->text);
    if (name->kind > MLT_OBJECT_PORT || !mlt_names_good(name->name, &wrong))
        c->failed = true;
}

// ---- messages

static void put_field(mlt_names_cursor *c, char field, const mlt_names_message *m)
{
    switch (field) {
    case 'v':
        mlt_names_put_number(c, m->version, 1);
        break;
    case 'k':
        mlt_names_put_bytes(c, m->key, sizeof m->key);
        break;
    case 'i':
        mlt_names_put_number(c, m->id, 4);
        break;
    case 'f':
        mlt_names_put_number(c, m->flag, 1);
        break;
    case 's':
        mlt_names_put_number(c, m->status, 1);
        break;
    case 'n':
        mlt_names_put_text(c, m->name.name);
        break;
    case 'e':
        put_name(c, &m->name);
        break;
    case 'c':
        mlt_names_put_number(c, m->numbers[0], 8);
        break;
    case 'C':
        for (int i = 0; i < MLT_NAMES_NUMBERS_MOST; i++)
            mlt_names_put_number(c, m->numbers[i], 8);
        break;
    case 't':
        mlt_names_put_text(c, m->text);
        break;
    }
}

static void get_field(mlt_names_cursor *c, char field, mlt_names_message *m)
{
    switch (field) {
    case 'v':
        m->version = (uint8_t)mlt_names_get_number(c, 1);
        break;
    case 'k':
        mlt_names_get_bytes(c, m->key, sizeof m->key);
        break;
    case 'i':
        m->id = (uint32_t)mlt_names_get_number(c, 4);
        break;
    case 'f':
        m->flag = (uint8_t)mlt_names_get_number(c, 1);
        break;
    case 's':
        m->status = (uint8_t)mlt_names_get_number(c, 1);
        break;
    case 'n':
        mlt_names_get_text(c, m->name.name, sizeof m->name.name);
        break;
    case 'e':
        get_name(c, &m->name);
        break;
    case 'c':
        m->numbers[0] = mlt_names_get_number(c, 8);
        break;
    case 'C':
        for (int i = 0; i < MLT_NAMES_NUMBERS_MOST; i++)
            m->numbers[i] = mlt_names_get_number(c, 8);
        break;
    case 't':
        mlt_names_get_text(c, m->text, sizeof m->text);
        break;
    }
}

size_t mlt_names_encode(const mlt_names_message *message, unsigned char out[MLT_NAMES_FRAME])
{
    mlt_assert(message->verb > 0 && message->verb < MLT_NAMES_VERBS);
    mlt_names_cursor c = {.out = out, .at = TEXT_LENGTH_BYTES, .end = MLT_NAMES_FRAME};
    mlt_names_put_number(&c, message->verb, 1);
    for (const char *field = fields[message->verb]; *field; field++)
        put_field(&c, *field, message);
    size_t bytes = c.at;
    mlt_assert(!c.failed);
    c.at = 0;
    mlt_names_put_number(&c, bytes - TEXT_LENGTH_BYTES, TEXT_LENGTH_BYTES);
    return bytes;
}

int mlt_names_decode(const unsigned char *in, size_t bytes, mlt_names_message *out)
{
    mlt_names_cursor c = {.in = in, .end = bytes};
    if (bytes < TEXT_LENGTH_BYTES)
        return 0;
    uint64_t length = mlt_names_get_number(&c, TEXT_LENGTH_BYTES);
    if (length < 1 || length > MLT_NAMES_FRAME - TEXT_LENGTH_BYTES)
        return -1;
    if (bytes > TEXT_LENGTH_BYTES) { // what is no message at all is refused at once
        uint8_t verb = in[TEXT_LENGTH_BYTES];
        if (verb == 0 || verb >= MLT_NAMES_VERBS)
            return -1;
    }
    if (bytes - TEXT_LENGTH_BYTES < length)
        return 0;
    c.end = TEXT_LENGTH_BYTES + (size_t)length;
    memset(out, 0, sizeof *out);
    out->verb = (uint8_t)mlt_names_get_number(&c, 1);
    for (const char *field = fields[out->verb]; *field; field++)
        get_field(&c, *field, out);
    if (c.failed || c.at != c.end || out->status >= CSP_STATUSES)
        return -1;
    return (int)c.end;
}
