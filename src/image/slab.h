// SPDX-License-Identifier: BSD-3-Clause
// Slabs: how images are laid out where there are more of them than the system allows mappings.
//
// A slab is several images in one mapping. What it maps is a file in memory with all that these
// images have, read-only and writable pages in turns, as the objects want them. All slabs map that
// one file, privately: pages that nobody writes are in memory once for all of them.
//
//     the file     | text data | text data | ... |  `slab` times
//     the area     | image 1   | image 2   | ... | image slab+1 | image slab+2 | ... |
//                  |<-------- one mapping ----->|<--------- the next one ---------->|
//
// Code finds its data by their distance, so neither can be put together with its like. Hence such a
// mapping may be read, written and executed, all of it: nothing stops a rank that writes to its
// code or constants, and a system that refuses such memory (SELinux, PR_SET_MDWE) refuses slabs.
#pragma once

#include "image/image_int.h"

// The fewest images a slab may have, if so many mappings may be taken. maps > 0.
uint32_t mlt_slab_images(uint32_t images, uint64_t maps);

// The slabs of a set.
uint32_t mlt_slab_count(const mlt_image_set *set);

// Makes the file and maps all slabs into the set's area: its images need no mapping of their own. On
// failure a message.
mlt_status mlt_slab_new(mlt_image_set *set, char *why, size_t why_size) MLT_MUST_CHECK;
void mlt_slab_free(mlt_image_set *set);

// Fills the file, from the objects' files and the template, as it is now. On failure a message.
mlt_status mlt_slab_fill(const mlt_image_set *set, char *why, size_t why_size) MLT_MUST_CHECK;
// The bytes that it takes then.
uint64_t mlt_slab_bytes(const mlt_image_set *set);
