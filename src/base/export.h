// SPDX-License-Identifier: BSD-3-Clause
// What a program that is linked with the library sees. Everything else is hidden.
#ifndef MLT_BASE_EXPORT_H
#define MLT_BASE_EXPORT_H

#define MLT_EXPORT __attribute__((visibility("default")))

#endif
