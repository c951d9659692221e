// SPDX-License-Identifier: BSD-3-Clause
// Any bytes as a snapshot, of a job whose agents are damaged or of another version: refused, or shown,
// and then nothing of it talks to the terminal, and JSON and Prometheus's text are such. Each case is
// two snapshots. A case that begins with an odd byte gives the numbers of records, so that they fit.
#include "tools/live/screen.h"

#include <fuzz/fuzz.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "launch/live/write.h"

// ---- what is written

static const char *skip_text(const char *at)
{
    FUZZ_CHECK(*at == '"');
    for (at++; *at != '"'; at++) {
        FUZZ_CHECK((unsigned char)*at >= ' ');
        if (*at == '\\')
            at++;
        FUZZ_CHECK(*at);
    }
    return at + 1;
}

static const char *skip_space(const char *at)
{
    return at + strspn(at, " \n");
}

static const char *skip_value(const char *at);

static const char *skip_list(const char *at, char end)
{
    for (at = skip_space(at + 1); *at != end; at = skip_space(at)) {
        if (end == '}') {
            at = skip_space(skip_text(at));
            FUZZ_CHECK(*at == ':');
            at++;
        }
        at = skip_space(skip_value(skip_space(at)));
        FUZZ_CHECK(*at == ',' || *at == end);
        if (*at == ',') {
            at = skip_space(at + 1);
            FUZZ_CHECK(*at != end);
        }
    }
    return at + 1;
}

static const char *skip_value(const char *at)
{
    size_t word = strspn(at, "truefalsn"), number = strspn(at, "-0123456789.");
    if (*at == '"')
        return skip_text(at);
    if (*at == '{' || *at == '[')
        return skip_list(at, *at == '{' ? '}' : ']');
    FUZZ_CHECK(word == 4 || word == 5 || number > 0); // true, false, null
    return at + (number ? number : word);
}

static void check_metrics(const char *text)
{
    for (; *text; text += strcspn(text, "\n") + 1) {
        FUZZ_CHECK(strchr(text, '\n'));
        if (*text == '#')
            continue;
        size_t name = strspn(text, "abcdefghijklmnopqrstuvwxyz_");
        FUZZ_CHECK(name > 0);
        const char *at = text + name;
        for (bool more = *at == '{'; more;) {
            at += 1 + strspn(at + 1, "abcdefghijklmnopqrstuvwxyz_");
            FUZZ_CHECK(*at == '=');
            at = skip_text(at + 1);
            FUZZ_CHECK(*at == ',' || *at == '}');
            more = *at == ',';
            at += !more;
        }
        FUZZ_CHECK(*at == ' ' && strspn(at + 1, "0123456789.") == strcspn(at + 1, "\n"));
    }
}

// What a terminal of that size shows of it; characters have up to four bytes.
static void check_cut(const char *screen, size_t size, uint32_t columns, uint32_t rows)
{
    char *bytes = NULL;
    size_t length = 0, line = 0, lines = 1;
    FILE *out = open_memstream(&bytes, &length);
    if (!out)
        return;
    mlt_screen_cut(screen, size, columns, rows, out);
    fclose(out);
    for (size_t i = 0; i < length; i++) {
        line = bytes[i] == '\n' ? 0 : line + 1;
        lines += bytes[i] == '\n';
        FUZZ_CHECK(line <= 4 * columns && lines <= rows);
    }
    free(bytes);
}

static void show(const mlt_screen_view *now, const mlt_screen_view *before)
{
    mlt_screen_tally tally = {0};
    mlt_text text = {0};
    char *bytes = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&bytes, &size);
    if (!out)
        return;
    mlt_screen_count(&tally, before);
    mlt_screen_count(&tally, now);
    mlt_screen_print(now, before, &tally, out);
    fclose(out);
    for (size_t i = 0; i < size; i++)
        FUZZ_CHECK(((unsigned char)bytes[i] >= ' ' && bytes[i] != 0x7f) || bytes[i] == '\n');
    check_cut(bytes, size, 20, 5);
    free(bytes);
    mlt_screen_tally_fini(&tally);
    mlt_live_write_json(&now->job, &now->snap, &text);
    FUZZ_CHECK(*skip_space(skip_value(mlt_text_so_far(&text))) == '\0');
    mlt_text_free(&text);
    mlt_live_write_metrics(&now->job, &now->snap, &text);
    check_metrics(mlt_text_so_far(&text));
    mlt_text_free(&text);
}

// ---- what is read

// Some records of each kind, filled with what there is; the caller frees it.
static char *make_part(const uint8_t **data, size_t *size, size_t *length)
{
    uint8_t n[6];
    fuzz_take(data, size, n, sizeof n);
    mlt_live_part part = {.magic = MLT_LIVE_PART,
                          .workers = n[0] % 4,
                          .procs = n[1] % 3,
                          .ranks = n[2] % 8,
                          .calls = n[3] % 4,
                          .queues = n[4] % 4,
                          .paths = n[5] % 3};
    size_t records = part.workers * sizeof(mlt_live_worker) + part.procs * sizeof(mlt_live_proc) +
                     part.ranks * sizeof(mlt_live_rank) + part.calls * sizeof(mlt_live_call) +
                     part.queues * sizeof(mlt_live_queue) + part.paths * sizeof(mlt_ctl_path);
    size_t half = *size / 2;
    *length = sizeof(mlt_live_job) + sizeof part + records;
    char *bytes = mlt_xcalloc(1, *length);
    for (size_t i = 0; half && i < *length; i++)
        bytes[i] = (char)(*data)[i % half];
    memcpy(bytes + sizeof(mlt_live_job), &part, sizeof part);
    *data += half;
    *size -= half;
    return bytes;
}

// As they are, in memory of that size: a sanitizer sees who reads on.
static char *some_bytes(const uint8_t **data, size_t *size, size_t *length)
{
    uint16_t wanted;
    fuzz_take(data, size, &wanted, sizeof wanted);
    *length = wanted < *size ? wanted : *size;
    char *bytes = mlt_xcalloc(1, *length ? *length : 1);
    fuzz_take(data, size, bytes, *length);
    return bytes;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t fits = 0;
    mlt_screen_view view[2];
    bool fine[2];
    fuzz_take(&data, &size, &fits, 1);
    for (int i = 0; i < 2; i++) {
        size_t length;
        char *bytes =
            fits & 1 ? make_part(&data, &size, &length) : some_bytes(&data, &size, &length);
        fine[i] = mlt_screen_read(&view[i], bytes, length);
        FUZZ_CHECK(fine[i] || !(fits & 1));
        free(bytes);
    }
    if (fine[0])
        show(&view[0], fine[1] ? &view[1] : &view[0]);
    for (int i = 0; i < 2; i++)
        if (fine[i])
            mlt_live_snap_fini(&view[i].snap);
    return 0;
}
