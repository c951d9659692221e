// SPDX-License-Identifier: BSD-3-Clause
// A C++ library of the program's own, with statics and exceptions.
#pragma once
#include <memory>
#include <stdexcept>
#include <string>

struct Shape {
    virtual ~Shape() = default;
    virtual int sides() const = 0;
};

struct Square : Shape {
    int sides() const override;
};

struct Wrong : std::runtime_error {
    int code;
    Wrong(const std::string &text, int c);
    ~Wrong() override;
};

std::unique_ptr<Shape> make_shape(const std::string &name); // throws Wrong
int &shapes_made();                                         // a local static of the library
template <class T> struct Count { // one a program, whoever instantiates it
    static int of;
};
template <class T> int Count<T>::of = 0;
inline int inline_counter = 0;
void count_in_library();
