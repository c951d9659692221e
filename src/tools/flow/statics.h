// SPDX-License-Identifier: BSD-3-Clause
// Variables that a module has outside its data section. All instances of a process would share them,
// so what a program computes would depend on where its instances run.
#pragma once

#include <stdbool.h>

// True if the code of an object file defines no variable that may be written to. Otherwise an error on standard
// error for each, up to a few, under the name of the file that it was made from. A file that is no
// object of this machine (one of -flto, say) has none.
bool mlt_flow_statics_none(const char *object, const char *source);
