// SPDX-License-Identifier: BSD-3-Clause
// A plug-in in C++: static objects, exceptions, a trace of the stack.
#include <execinfo.h>

#include <cstdlib>
#include <cstring>
#include <iostream>
#include <stdexcept>
#include <string>

extern "C" void note(const char *text);

struct Noisy {
    std::string name = "noisy";
    Noisy()
    {
        note("constructed");
    }
    ~Noisy()
    {
        note((name + " destroyed").c_str());
    }
};

static Noisy noisy;
static thread_local std::string last = "none";

extern "C" void throw_it(int depth)
{
    static Noisy local;
    local.name = "local";
    if (depth == 0)
        throw std::runtime_error("thrown after " + last);
    throw_it(depth - 1);
    note("never");
}

extern "C" int catch_it(void (*call)(int), int depth)
{
    try {
        call(depth);
    } catch (const std::exception &e) {
        last = e.what();
        note(e.what());
        return 1;
    }
    return 0;
}

extern "C" int trace_names_me(void)
{
    void *frames[32];
    int count = backtrace(frames, 32), found = 0;
    char **names = backtrace_symbols(frames, count);
    for (int i = 0; i < count; i++)
        found += strstr(names[i], "trace_names_me") != nullptr;
    free(names);
    return found;
}
