// SPDX-License-Identifier: BSD-3-Clause
// Wide characters for the streams in the place of stdout and stderr (output.h), which libc does not
// let be wide: they are converted here, as the rank's locale says. Other streams are libc's.
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <wchar.h>

#include "base/export.h"
#include "base/memory.h"
#include "host/libc/libc.h"
#include "host/stdio/output.h"

enum { FIRST = 256, WIDE_MOST = 1 << 24 }; // characters of what a format makes

static bool is_own(const FILE *stream)
{
    return mlt_output_which(stream) >= 0;
}

// False: errno tells why.
static bool wide_put(FILE *stream, const wchar_t *text)
{
    mbstate_t state = {0};
    const wchar_t *at = text;
    size_t bytes = wcsrtombs(NULL, &at, 0, &state);
    if (bytes == (size_t)-1)
        return false;
    char *narrow = mlt_xcalloc(bytes + 1, 1);
    (void)wcsrtombs(narrow, &at, bytes + 1, &state);
    bool done = fwrite(narrow, 1, bytes, stream) == bytes;
    free(narrow);
    return done;
}

static int put_list(FILE *stream, const wchar_t *format, va_list more)
{
    wchar_t *text = NULL;
    int n = -1, saved = errno;
    errno = 0;
    for (size_t room = FIRST; n < 0 && room <= WIDE_MOST; room *= 2) {
        va_list again;
        va_copy(again, more);
        text = mlt_xrealloc(text, room, sizeof *text);
        n = vswprintf(text, room, format, again);
        va_end(again);
        if (n < 0 && errno == EILSEQ)
            break;
    }
    errno = n >= 0 ? saved : errno;
    n = n >= 0 && wide_put(stream, text) ? n : -1;
    free(text);
    return n;
}

// ---- what programs call

#undef putwc
#undef putwc_unlocked
#undef putwchar
#undef putwchar_unlocked
#undef fputwc_unlocked

// NUL is a character, too.
static wint_t put_one(FILE *stream, wchar_t c)
{
    const wchar_t text[] = {c, L'\0'};
    bool done = c ? wide_put(stream, text) : fputc('\0', stream) != EOF;
    return done ? (wint_t)c : WEOF;
}

#define PUT_ONE(name)                                                                              \
    MLT_INTERPOSE wint_t name(wchar_t c, FILE *stream)                                             \
    {                                                                                              \
        return is_own(stream) ? put_one(stream, c) : MLT_LIBC(name)(c, stream);                    \
    }
PUT_ONE(fputwc)
PUT_ONE(putwc)
PUT_ONE(fputwc_unlocked)
PUT_ONE(putwc_unlocked)

MLT_INTERPOSE wint_t putwchar(wchar_t c)
{
    return is_own(stdout) ? put_one(stdout, c) : MLT_LIBC(putwchar)(c);
}

MLT_INTERPOSE wint_t putwchar_unlocked(wchar_t c)
{
    return is_own(stdout) ? put_one(stdout, c) : MLT_LIBC(putwchar_unlocked)(c);
}

#define PUT_TEXT(name)                                                                             \
    MLT_INTERPOSE int name(const wchar_t *restrict text, FILE *restrict stream)                    \
    {                                                                                              \
        if (!is_own(stream))                                                                       \
            return MLT_LIBC(name)(text, stream);                                                   \
        return wide_put(stream, text) ? 1 : -1;                                                    \
    }
PUT_TEXT(fputws)
PUT_TEXT(fputws_unlocked)

MLT_INTERPOSE int vfwprintf(FILE *restrict stream, const wchar_t *restrict format, va_list more)
{
    return is_own(stream) ? put_list(stream, format, more)
                          : MLT_LIBC(vfwprintf)(stream, format, more);
}

MLT_INTERPOSE int vwprintf(const wchar_t *restrict format, va_list more)
{
    return vfwprintf(stdout, format, more);
}

// Formats, with the names that -D_FORTIFY_SOURCE gives them.
int __vfwprintf_chk(FILE *stream, int flag, const wchar_t *format, va_list more);
int __vwprintf_chk(int flag, const wchar_t *format, va_list more);
int __fwprintf_chk(FILE *stream, int flag, const wchar_t *format, ...);
int __wprintf_chk(int flag, const wchar_t *format, ...);

MLT_INTERPOSE int __vfwprintf_chk(FILE *stream, int flag, const wchar_t *format, va_list more)
{
    return is_own(stream) ? put_list(stream, format, more)
                          : MLT_LIBC(__vfwprintf_chk)(stream, flag, format, more);
}

MLT_INTERPOSE int __vwprintf_chk(int flag, const wchar_t *format, va_list more)
{
    return __vfwprintf_chk(stdout, flag, format, more);
}

// A function with the arguments of a list.
#define WITH_LIST(last, call)                                                                      \
    ({                                                                                             \
        va_list more;                                                                              \
        va_start(more, last);                                                                      \
        int n = (call);                                                                            \
        va_end(more);                                                                              \
        n;                                                                                         \
    })

MLT_INTERPOSE int fwprintf(FILE *restrict stream, const wchar_t *restrict format, ...)
{
    return WITH_LIST(format, vfwprintf(stream, format, more));
}

MLT_INTERPOSE int wprintf(const wchar_t *restrict format, ...)
{
    return WITH_LIST(format, vfwprintf(stdout, format, more));
}

MLT_INTERPOSE int __fwprintf_chk(FILE *stream, int flag, const wchar_t *format, ...)
{
    return WITH_LIST(format, __vfwprintf_chk(stream, flag, format, more));
}

MLT_INTERPOSE int __wprintf_chk(int flag, const wchar_t *format, ...)
{
    return WITH_LIST(format, __vfwprintf_chk(stdout, flag, format, more));
}

// Such a stream takes both: it is as wide as it is asked to be.
MLT_INTERPOSE int fwide(FILE *stream, int mode)
{
    return is_own(stream) ? (mode > 0) - (mode < 0) : MLT_LIBC(fwide)(stream, mode);
}
