// SPDX-License-Identifier: BSD-3-Clause
// Matching goes back where it must: match_here tries the rest of the pattern at a place and answers
// where the match ends, or NULL. Texts of Lua end with a NUL, so looking at the character after the
// pattern is fine.
#include "lua/match.h"

#include <ctype.h>
#include <lauxlib.h>
#include <lua.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "lua/limit.h"

enum {
    DEEPEST = 200, // matches in matches, as in Lua
    CAPTURES = 32,
    OPEN = -1,     // lengths of captures: it has not ended,
    POSITION = -2, // it is a place: "()"
    PRICED = 256   // steps that are charged at once
};

typedef struct capture {
    const char *at;
    ptrdiff_t length;
} capture;

typedef struct match {
    lua_State *L;
    const char *text, *end; // what is searched
    const char *pattern_end;
    int depth; // left
    int captures;
    uint32_t steps; // not charged yet
    capture capture[CAPTURES];
} match;

static const char *match_here(match *m, const char *s, const char *p);

static inline void step(match *m)
{
    if (++m->steps < PRICED)
        return;
    mlt_lua_charge(m->L, m->steps);
    m->steps = 0;
}

// ---- one character

// Where the class of characters at p ends: a letter, "%a", "[a-z]".
static const char *class_end(match *m, const char *p)
{
    char c = *p++;
    if (c == '%') {
        if (p == m->pattern_end)
            luaL_error(m->L, "malformed pattern (ends with '%%')");
        return p + 1;
    }
    if (c != '[')
        return p;
    if (*p == '^')
        p++;
    do { // a ']' that comes first stands for itself
        if (p == m->pattern_end)
            luaL_error(m->L, "malformed pattern (missing ']')");
        if (*p++ == '%' && p < m->pattern_end)
            p++;
    } while (*p != ']');
    return p + 1;
}

static int is_nul(int c)
{
    return c == 0;
}

static bool in_named_class(int c, int name)
{
    static const struct {
        char name;
        int (*is)(int c);
    } classes[] = {{'a', isalpha}, {'c', iscntrl},  {'d', isdigit}, {'g', isgraph},
                   {'l', islower}, {'p', ispunct},  {'s', isspace}, {'u', isupper},
                   {'w', isalnum}, {'x', isxdigit}, {'z', is_nul}};
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
        if (tolower(name) == classes[i].name)
            return (classes[i].is(c) != 0) == (islower(name) != 0);
    return name == c;
}

// p is at the '[', `last` at the ']'.
static bool in_set(match *m, int c, const char *p, const char *last)
{
    bool answer = true;
    if (p[1] == '^') {
        answer = false;
        p++;
    }
    while (++p < last) {
        step(m);
        if (*p == '%') {
            p++;
            if (in_named_class(c, (unsigned char)*p))
                return answer;
        } else if (p[1] == '-' && p + 2 < last) {
            p += 2;
            if ((unsigned char)p[-2] <= c && c <= (unsigned char)*p)
                return answer;
        } else if ((unsigned char)*p == c)
            return answer;
    }
    return !answer;
}

// Is there a character at s that the class from p to p_end has?
static bool fits(match *m, const char *s, const char *p, const char *p_end)
{
    step(m);
    if (s >= m->end)
        return false;
    int c = (unsigned char)*s;
    switch (*p) {
    case '.':
        return true;
    case '%':
        return in_named_class(c, (unsigned char)p[1]);
    case '[':
        return in_set(m, c, p, p_end - 1);
    default:
        return (unsigned char)*p == c;
    }
}

// ---- repeats

static const char *match_most(match *m, const char *s, const char *p, const char *p_end)
{
    ptrdiff_t n = 0;
    while (fits(m, s + n, p, p_end))
        n++;
    for (; n >= 0; n--) {
        const char *end = match_here(m, s + n, p_end + 1);
        if (end)
            return end;
    }
    return NULL;
}

static const char *match_least(match *m, const char *s, const char *p, const char *p_end)
{
    for (;; s++) {
        const char *end = match_here(m, s, p_end + 1);
        if (end)
            return end;
        if (!fits(m, s, p, p_end))
            return NULL;
    }
}

// ---- captures

static const char *open_capture(match *m, const char *s, const char *p, ptrdiff_t kind)
{
    if (m->captures >= CAPTURES)
        luaL_error(m->L, "too many captures");
    m->capture[m->captures++] = (capture){s, kind};
    const char *end = match_here(m, s, p);
    if (!end)
        m->captures--;
    return end;
}

static const char *close_capture(match *m, const char *s, const char *p)
{
    int i = m->captures - 1;
    while (i >= 0 && m->capture[i].length != OPEN)
        i--;
    if (i < 0)
        luaL_error(m->L, "invalid pattern capture");
    m->capture[i].length = s - m->capture[i].at;
    const char *end = match_here(m, s, p);
    if (!end)
        m->capture[i].length = OPEN;
    return end;
}

// "%1": what that capture has, once more.
static const char *match_again(match *m, const char *s, int digit)
{
    int i = digit - '1';
    if (i < 0 || i >= m->captures || m->capture[i].length == OPEN)
        luaL_error(m->L, "invalid capture index %%%d", i + 1);
    size_t length = (size_t)m->capture[i].length; // a place is longer than anything
    if ((size_t)(m->end - s) < length)
        return NULL;
    mlt_lua_charge(m->L, length / 64);
    return memcmp(m->capture[i].at, s, length) == 0 ? s + length : NULL;
}

// ---- "%bxy" and "%f[set]"

static const char *match_balance(match *m, const char *s, const char *p)
{
    if (p + 1 >= m->pattern_end)
        luaL_error(m->L, "malformed pattern (missing arguments to '%%b')");
    if (*s != *p) // after the text is a NUL, which counts, as in Lua
        return NULL;
    for (int open = 1; ++s < m->end;) {
        step(m);
        if (*s == p[1]) {
            if (--open == 0)
                return s + 1;
        } else if (*s == *p)
            open++;
    }
    return NULL;
}

static bool match_frontier(match *m, const char *s, const char *p, const char *p_end)
{
    int before = s == m->text ? 0 : (unsigned char)s[-1], here = (unsigned char)*s;
    return !in_set(m, before, p, p_end - 1) && in_set(m, here, p, p_end - 1);
}

// ---- the whole

// After "%": *p is after what was understood. False: it is an ordinary class.
static bool match_special(match *m, const char **s, const char **p)
{
    const char *at = *p + 2;
    int kind = (unsigned char)(*p)[1];
    if (kind == 'b') {
        *s = match_balance(m, *s, at);
        at += 2;
    } else if (kind == 'f') {
        if (*at != '[')
            luaL_error(m->L, "missing '[' after '%%f' in pattern");
        const char *end = class_end(m, at);
        if (!match_frontier(m, *s, at, end))
            *s = NULL;
        at = end;
    } else if (isdigit(kind))
        *s = match_again(m, *s, kind);
    else
        return false;
    *p = at;
    return true;
}

// One class and its repeat: the pattern goes on at *s and *p, or *s is the answer and *p the end.
static void match_class(match *m, const char **s, const char **p)
{
    const char *p_end = class_end(m, *p), *end;
    char repeat = *p_end;
    if (!fits(m, *s, *p, p_end)) {
        bool none_will_do = repeat == '*' || repeat == '?' || repeat == '-';
        *s = none_will_do ? *s : NULL;
        *p = p_end + 1;
    } else if (repeat == '?') {
        end = match_here(m, *s + 1, p_end + 1);
        *s = end ? end : *s;
        *p = end ? m->pattern_end : p_end + 1;
    } else if (repeat == '*' || repeat == '+') {
        *s = match_most(m, *s + (repeat == '+'), *p, p_end);
        *p = m->pattern_end;
    } else if (repeat == '-') {
        *s = match_least(m, *s, *p, p_end);
        *p = m->pattern_end;
    } else {
        ++*s;
        *p = p_end;
    }
}

static const char *match_here(match *m, const char *s, const char *p)
{
    if (m->depth-- == 0)
        luaL_error(m->L, "pattern too complex");
    while (s && p != m->pattern_end) {
        step(m);
        if (*p == '(') {
            bool place = p[1] == ')';
            s = open_capture(m, s, p + 1 + place, place ? POSITION : OPEN);
            break;
        }
        if (*p == ')') {
            s = close_capture(m, s, p + 1);
            break;
        }
        if (*p == '$' && p + 1 == m->pattern_end) {
            s = s == m->end ? s : NULL;
            break;
        }
        if (*p != '%' || !match_special(m, &s, &p))
            match_class(m, &s, &p);
    }
    m->depth++;
    return s;
}

static const char *match_at(match *m, const char *s, const char *p)
{
    m->captures = 0;
    m->depth = DEEPEST;
    return match_here(m, s, p);
}

// ---- what is found

// Capture i of a match from s to e on the stack; 0 is all of it, if there is no capture.
static void push_capture(match *m, int i, const char *s, const char *e)
{
    if (i >= m->captures) {
        if (i != 0)
            luaL_error(m->L, "invalid capture index %%%d", i + 1);
        lua_pushlstring(m->L, s, (size_t)(e - s));
        return;
    }
    const capture *c = &m->capture[i];
    if (c->length == OPEN)
        luaL_error(m->L, "unfinished capture");
    if (c->length == POSITION)
        lua_pushinteger(m->L, c->at - m->text + 1);
    else
        lua_pushlstring(m->L, c->at, (size_t)c->length);
}

// All captures; all of the match if there is none and s is given. How many.
static int push_captures(match *m, const char *s, const char *e)
{
    int n = m->captures == 0 && s ? 1 : m->captures;
    luaL_checkstack(m->L, n, "too many captures");
    for (int i = 0; i < n; i++)
        push_capture(m, i, s, e);
    return n;
}

// The text and the pattern of a call, at these places of the stack.
static match match_begin(lua_State *L, int text, int of, const char **pattern)
{
    size_t length, pattern_length;
    match m = {.L = L};
    m.text = luaL_checklstring(L, text, &length);
    m.end = m.text + length;
    *pattern = luaL_checklstring(L, of, &pattern_length);
    m.pattern_end = *pattern + pattern_length;
    return m;
}

// Argument 3, where to begin, counted from 0; behind the text's end if it is.
static size_t beginning(lua_State *L, const match *m)
{
    lua_Integer init = luaL_optinteger(L, 3, 1), length = m->end - m->text;
    if (init > 0)
        return (size_t)init - 1;
    return init == 0 || init < -length ? 0 : (size_t)(length + init);
}

static bool has_specials(const char *p, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (p[i] && strchr("^$*+?.([%-", p[i]))
            return true;
    return false;
}

static int find_plain(match *m, const char *p, size_t from)
{
    size_t length = (size_t)(m->pattern_end - p);
    mlt_lua_charge(m->L, (size_t)(m->end - m->text) / 64);
    const char *at = length ? memmem(m->text + from, (size_t)(m->end - m->text) - from, p, length)
                            : m->text + from;
    if (!at) {
        luaL_pushfail(m->L);
        return 1;
    }
    lua_pushinteger(m->L, at - m->text + 1);
    lua_pushinteger(m->L, at - m->text + (lua_Integer)length);
    return 2;
}

static int search(lua_State *L, bool find)
{
    const char *p;
    match m = match_begin(L, 1, 2, &p);
    size_t from = beginning(L, &m);
    if (from > (size_t)(m.end - m.text)) {
        luaL_pushfail(L);
        return 1;
    }
    if (find && (lua_toboolean(L, 4) || !has_specials(p, (size_t)(m.pattern_end - p))))
        return find_plain(&m, p, from);
    bool anchored = *p == '^';
    p += anchored;
    const char *s = m.text + from;
    do {
        const char *e = match_at(&m, s, p);
        if (!e)
            continue;
        if (!find)
            return push_captures(&m, s, e);
        lua_pushinteger(L, s - m.text + 1);
        lua_pushinteger(L, e - m.text);
        return push_captures(&m, NULL, NULL) + 2;
    } while (s++ < m.end && !anchored);
    luaL_pushfail(L);
    return 1;
}

static int l_find(lua_State *L)
{
    return search(L, true);
}

static int l_match(lua_State *L)
{
    return search(L, false);
}

// Upvalues: text, pattern, where to go on, where the last match ended (-1: there is none).
static int next_match(lua_State *L)
{
    const char *p;
    match m = match_begin(L, lua_upvalueindex(1), lua_upvalueindex(2), &p);
    lua_Integer last = lua_tointeger(L, lua_upvalueindex(4));
    for (const char *s = m.text + lua_tointeger(L, lua_upvalueindex(3)); s <= m.end; s++) {
        const char *e = match_at(&m, s, p);
        if (!e || e - m.text == last)
            continue;
        lua_pushinteger(L, e - m.text);
        lua_pushvalue(L, -1);
        lua_replace(L, lua_upvalueindex(3));
        lua_replace(L, lua_upvalueindex(4));
        return push_captures(&m, s, e);
    }
    return 0;
}

static int l_gmatch(lua_State *L)
{
    const char *p;
    match m = match_begin(L, 1, 2, &p);
    size_t from = beginning(L, &m);
    size_t length = (size_t)(m.end - m.text);
    lua_settop(L, 2);
    lua_pushinteger(L, (lua_Integer)(from > length ? length + 1 : from));
    lua_pushinteger(L, -1);
    lua_pushcclosure(L, next_match, 4);
    return 1;
}

// ---- replacing

static void add_replacement_text(match *m, luaL_Buffer *b, const char *s, const char *e)
{
    size_t length;
    const char *text = lua_tolstring(m->L, 3, &length), *end = text + length, *percent;
    for (; (percent = memchr(text, '%', (size_t)(end - text))); text = percent + 2) {
        luaL_addlstring(b, text, (size_t)(percent - text));
        char kind = percent[1];
        if (kind == '%')
            luaL_addchar(b, '%');
        else if (kind == '0')
            luaL_addlstring(b, s, (size_t)(e - s));
        else if (isdigit((unsigned char)kind)) {
            push_capture(m, kind - '1', s, e);
            luaL_addvalue(b);
        } else
            luaL_error(m->L, "invalid use of '%%' in replacement string");
    }
    luaL_addlstring(b, text, (size_t)(end - text));
}

// What stands for the match.
static void add_replacement(match *m, luaL_Buffer *b, const char *s, const char *e, int type)
{
    lua_State *L = m->L;
    if (type == LUA_TFUNCTION) {
        lua_pushvalue(L, 3);
        lua_call(L, push_captures(m, s, e), 1);
    } else if (type == LUA_TTABLE) {
        push_capture(m, 0, s, e);
        lua_gettable(L, 3);
    } else {
        add_replacement_text(m, b, s, e);
        return;
    }
    if (!lua_toboolean(L, -1)) { // the match stays
        lua_pop(L, 1);
        luaL_addlstring(b, s, (size_t)(e - s));
        return;
    }
    if (!lua_isstring(L, -1))
        luaL_error(L, "invalid replacement value (a %s)", luaL_typename(L, -1));
    luaL_addvalue(b);
}

static int l_gsub(lua_State *L)
{
    const char *p, *last = NULL;
    match m = match_begin(L, 1, 2, &p);
    const char *s = m.text;
    int type = lua_type(L, 3);
    if (type != LUA_TNUMBER && type != LUA_TSTRING && type != LUA_TTABLE && type != LUA_TFUNCTION)
        luaL_typeerror(L, 3, "string/function/table");
    lua_Integer most = luaL_optinteger(L, 4, m.end - m.text + 1), n = 0;
    bool anchored = *p == '^';
    p += anchored;
    luaL_Buffer b;
    luaL_buffinit(L, &b);
    while (n < most) {
        const char *e = match_at(&m, s, p);
        if (e && e != last) {
            n++;
            add_replacement(&m, &b, s, e, type);
            s = last = e;
        } else if (s < m.end)
            luaL_addchar(&b, *s++);
        else
            break;
        if (anchored)
            break;
    }
    luaL_addlstring(&b, s, (size_t)(m.end - s));
    luaL_pushresult(&b);
    lua_pushinteger(L, n);
    return 2;
}

void mlt_lua_match_open(lua_State *L)
{
    static const luaL_Reg all[] = {
        {"find", l_find}, {"match", l_match}, {"gmatch", l_gmatch}, {"gsub", l_gsub}, {NULL, NULL}};
    luaL_setfuncs(L, all, 0);
}
