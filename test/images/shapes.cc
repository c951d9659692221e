// SPDX-License-Identifier: BSD-3-Clause
#include "shapes.h"

#include <map>

int Square::sides() const
{
    return 4;
}

Wrong::Wrong(const std::string &text, int c) : std::runtime_error(text), code(c)
{
}
Wrong::~Wrong() = default;

int &shapes_made()
{
    static int made = 0;
    return made;
}

static std::map<std::string, int> asked_for;

std::unique_ptr<Shape> make_shape(const std::string &name)
{
    asked_for[name]++;
    if (name != "square")
        throw Wrong(name + " is no shape", asked_for[name]);
    shapes_made()++;
    return std::make_unique<Square>();
}

void count_in_library()
{
    Count<Shape>::of++;
    inline_counter++;
}
