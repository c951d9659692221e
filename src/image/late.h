// SPDX-License-Identifier: BSD-3-Clause
// Libraries that are loaded when ranks run already (dlopen). The dynamic loader loads each of them
// once, as the original; here it becomes one more set of objects of which images can be made, for one
// rank at a time.
//
// Constructors of the original run before anybody can look at it, unless mlt_images_silence is called
// in time (prelude.h): then it is as new, and the loader leaves its constructors and destructors to
// us.
//
// Objects have numbers (image_int.h). All but mlt_images_at want the caller's lock, which also keeps
// others from loading.
#pragma once

#include "image/image.h"

#define MLT_IMAGES_NO_OBJECT UINT32_MAX

// Takes over what was loaded since the last call, by one dlopen. prelude: the name of the one that
// brings in the others; NULL: the first of them does.
void mlt_images_add(mlt_images *images, const char *prelude);

// The prelude goes away: from now on this handle finds symbols of what it brought in.
void mlt_images_replace_scope(mlt_images *images, const void *prelude, void *handle);

// The object that has an address of the original, or MLT_IMAGES_NO_OBJECT. Any thread, any time.
uint32_t mlt_images_at(const mlt_images *images, const void *address);

// Of all that were added: the loader will run no constructors and destructors of the originals.
void mlt_images_silence(mlt_images *images);
// The same of the program, if there are images of it: then its first rank is constructed as the others
// are, where it can call MPI. To be called before libc runs them.
void mlt_images_silence_program(mlt_images *images);
bool mlt_images_is_silenced(const mlt_images *images, uint32_t object);

// True if dlclose must leave it as it is.
bool mlt_images_stays(const mlt_images *images, uint32_t object);
// The handle with which it was loaded, for symbols of what was loaded together; NULL: at the start.
void *mlt_images_scope(const mlt_images *images, uint32_t object);

bool mlt_images_is_from_start(const mlt_images *images, uint32_t object);

// True if the object was loaded late and each rank has its own, or its own thread-local variables, or
// should have.
bool mlt_images_is_late(const mlt_images *images, uint32_t object);

// The late objects that this one needs to run, itself included, each after those that it needs
// itself; *count. The caller frees it.
uint32_t *mlt_images_needed(const mlt_images *images, uint32_t object, uint32_t *count);

// NULL, or why ranks cannot have their own of it.
const char *mlt_images_refused(const mlt_images *images, uint32_t object);

// Maps and relocates one of them for image `index`. Index 0: gives the original its initial values
// again.
mlt_status mlt_image_late_make(const mlt_images *images, uint32_t index, uint32_t object, char *why,
                               size_t why_size) MLT_MUST_CHECK;

// Run its constructors or destructors. No lock is needed.
void mlt_image_late_construct(const mlt_images *images, uint32_t index, uint32_t object, int argc,
                              char **argv, char **envp);
void mlt_image_late_destruct(const mlt_images *images, uint32_t index, uint32_t object);

// Where it lies in image `index`.
void mlt_image_late_span(const mlt_images *images, uint32_t index, uint32_t object, uintptr_t *from,
                         uintptr_t *to);
