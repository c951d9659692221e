// SPDX-License-Identifier: BSD-3-Clause
// Images: where several ranks share a process, each has its own copy of the program's writable
// memory, as if it were a process of its own.
//
// What the dynamic loader has loaded is the original; the first rank runs in it. For each other
// rank the same segments lie once more at another address: code and constants are mapped from the
// same files, so the memory is shared, and writable segments are private. All code is
// position-independent, so that the copy's code uses the copy's data. Addresses that stand in the
// data are found by the files' relocation tables, exactly: nothing is guessed from values.
//
// Where there are more images than the system allows mappings, one mapping holds several (slab.h).
//
//     area                              | image 1                         | image 2
//      each: program, its own libraries | text r-x | data rw- | lib | ... | text ...
//                                         the file   the template, copied on write
//
// Private are the program and its own libraries, as far as they have variables or refer to a
// library that has. Shared are the C library and the like, the compiler's run-time and Millet
// (mlt_images_shared names them), and what a setting adds.
//
// A template is one file in memory with all writable segments as they are before any constructor
// has run, relocated for the original's addresses, and a list of the words in it that are addresses,
// with the object whose shift they need. Making an image is mapping, and adding to those words.
//
// Any thread may make or look for images at any time after mlt_images_new.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "image/need.h"

typedef struct mlt_images mlt_images;

typedef struct mlt_images_conf {
    uint32_t count;       // images beside the original
    uint64_t mappings;    // that they may take; 0: what the system allows, and others do not need
    uint32_t guards;      // mappings that stacks take
    bool always;          // also for a program that has no variables but libc's
    const char *shared;   // names of libraries that are shared beside the usual ones, by commas
    const char *private;  // ... and of those that are private though they are among the usual ones
    const char *obstacle; // why there can be none in this process; NULL: nothing prevents them
} mlt_images_conf;

// Looks at what is loaded and makes the template. Called before the constructors of the program
// run (those of its libraries have). A program may have no variables; then images are empty, and all
// ranks use the original, but for libraries that they load later (late.h); *out NULL: not even
// those. MLT_ERR_UNSUPPORTED: there can be no images, though the program has variables; why says the
// reason and what to do, as a sentence that could follow "because".
mlt_status mlt_images_new(const mlt_images_conf *conf, mlt_images **out, char *why,
                          size_t why_size) MLT_MUST_CHECK;

// What images of a process need; `all` is that of the process (image/need.h).
void mlt_images_need(const mlt_images *images, mlt_image_need *out);

// Takes over what the program has in its own memory of other libraries' objects (stdout, environ,
// std::cout) as it is now: after constructors, before the first rank. On failure a message.
mlt_status mlt_images_refresh(mlt_images *images, char *why, size_t why_size) MLT_MUST_CHECK;

// Maps and relocates image `index` (1..count); its constructors have not run. On failure a message.
mlt_status mlt_image_make(mlt_images *images, uint32_t index, char *why,
                          size_t why_size) MLT_MUST_CHECK;

// Run constructors and destructors of an image, on the calling stack. Of the original, the program's
// only, which are left to us; those of its libraries are the loader's.
void mlt_image_construct(const mlt_images *images, uint32_t index, int argc, char **argv,
                         char **envp);
void mlt_image_destruct(const mlt_images *images, uint32_t index);

// The image's counterpart of an address of the original; the address itself if it belongs to
// nothing private, or index is 0.
void *mlt_image_shift(const mlt_images *images, uint32_t index, const void *address);

// What image `index` has in the place of a variable of the C library that belongs to a rank
// (environ, stdout, optind; as this library refers to it); NULL: the program does not refer to it.
// The variable itself if index is 0 or images NULL.
void *mlt_image_variable(const mlt_images *images, uint32_t index, void *variable);

// False: only thread-local variables are exchanged, or images is NULL.
bool mlt_images_exist(const mlt_images *images);

// The original's counterpart of an address of an image; others stay as they are. images may be NULL.
// Safe in a signal handler.
uintptr_t mlt_images_original(const mlt_images *images, uintptr_t address);

// The number of the image that has the address; 0: none. Safe in a signal handler.
uint32_t mlt_images_index(const mlt_images *images, uintptr_t address);

// True if the address lies in a library that a process has once, whether ranks have globals of their
// own or not: libc, a device's driver.
bool mlt_images_share(const mlt_images *images, const void *address);

// ---- thread-local variables of the program and its libraries: kept for a thread by the system,
// but a rank's

// Bytes of all of them; 0: there are none. Without those of libraries that were loaded later.
size_t mlt_images_tls_bytes(const mlt_images *images);
// Where the calling thread has them: one address an object with some, for the calls below.
typedef struct mlt_image_tls {
    struct {
        char *at;
        uint32_t bytes, object;
    } * block;
    uint32_t count, room;
} mlt_image_tls;
void mlt_image_tls_of_thread(const mlt_images *images, mlt_image_tls *out);
// Adds those of an object that was loaded later, if it has some.
void mlt_image_tls_add(const mlt_images *images, uint32_t object, mlt_image_tls *tls);
void mlt_image_tls_free(mlt_image_tls *tls);
size_t mlt_image_tls_bytes(const mlt_image_tls *tls);
// Initial values, as image `index` has them.
void mlt_image_tls_init(const mlt_images *images, const mlt_image_tls *tls, uint32_t index);
void mlt_image_tls_init_block(const mlt_images *images, const mlt_image_tls *tls, uint32_t block,
                              uint32_t index);
// The first `blocks` of them, to and from memory of as many bytes as they have.
void mlt_image_tls_save(const mlt_image_tls *tls, uint32_t blocks, char *to);
void mlt_image_tls_load(const mlt_image_tls *tls, uint32_t blocks, const char *from);
