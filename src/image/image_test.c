// SPDX-License-Identifier: BSD-3-Clause
// Images of this program itself: which words differ between the template and an image, and by how
// much.
#include "image/image.h"

#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>

#include "base/unit_test.h"
#include "image/image_int.h"
#include "image/slab.h"
#include "os/os.h"

enum { GUESSES = 1000, WHY = 512 };

static uint64_t guesses[GUESSES] = {1}; // .data
static int number = 7, *pointer = &number;
static int (*functions[3])(const char *) = {atoi, NULL, NULL};

static int own_function(const char *text)
{
    return text ? ++number : 0;
}

static int (*own)(const char *) = own_function;

static void *in_image(mlt_images *images, void *address)
{
    return mlt_image_shift(images, 1, address);
}

// Values that are addresses of this program, as the template's initial values of plain integers.
static void write_guesses(mlt_images *images)
{
    const mlt_image_set *set = &images->start;
    uintptr_t at = (uintptr_t)guesses - set->objects[0].base;
    char *words = mlt_template_at(&set->template, set->objects, 0, at);
    CHECK(words != NULL);
    for (uint64_t i = 0; i < GUESSES; i++) {
        uint64_t value = i % 2 ? (uint64_t)(uintptr_t)own_function + i : (uintptr_t)&number + i;
        memcpy(words + i * sizeof value, &value, sizeof value);
    }
}

static void check_guesses(mlt_images *images)
{
    const uint64_t *copy = in_image(images, guesses);
    for (uint64_t i = 0; i < GUESSES; i++)
        CHECK(copy[i] == (i % 2 ? (uint64_t)(uintptr_t)own_function + i : (uintptr_t)&number + i));
}

static bool is_fixup(const mlt_template *t, uint32_t object, uint64_t at)
{
    for (uint32_t i = 0; i < t->fixup_count[object]; i++)
        if (t->fixups[object][i].at == at)
            return true;
    return false;
}

// In a segment that is written; the rest of its pages, where they are large, is another segment's.
static bool is_written(const mlt_object *o, uintptr_t at)
{
    for (size_t i = 0; i < o->header_count; i++) {
        const Elf64_Phdr *h = &o->headers[i];
        if (h->p_type == PT_LOAD && h->p_flags & PF_W && at >= h->p_vaddr &&
            at < h->p_vaddr + h->p_memsz)
            return true;
    }
    return false;
}

// Every word of the image is the template's, or one that the tables name, moved with its object.
static void check_words(mlt_images *images)
{
    const mlt_image_set *set = &images->start;
    uint32_t moved = 0;
    const mlt_object *o = &set->objects[0];
    intptr_t shift = mlt_image_shift_of(set, 1, 0);
    for (uint32_t p = 0; p < o->pieces; p++)
        for (uintptr_t at = o->piece[p].from; o->piece[p].writable && at < o->piece[p].to;
             at += 8) {
            uint64_t was, is;
            memcpy(&was, mlt_template_at(&set->template, set->objects, 0, at), sizeof was);
            memcpy(&is, (const char *)o->base + shift + at, sizeof is);
            if (is == was || !is_written(o, at))
                continue;
            CHECK(is_fixup(&set->template, 0, at));
            moved++;
        }
    CHECK(moved > 0 && moved <= set->template.fixup_count[0]);
}

// A debugger that looks into the image finds the loader's list.
static void check_debug(mlt_images *images)
{
    const Elf64_Dyn *d = images->start.objects[0].dynamic;
    while (d->d_tag != DT_DEBUG && d->d_tag != DT_NULL)
        d++;
    const Elf64_Dyn *copy = in_image(images, (void *)(uintptr_t)d);
    CHECK(d->d_tag == DT_DEBUG && d->d_un.d_ptr);
    CHECK(((const struct r_debug *)d->d_un.d_ptr)->r_map == _r_debug.r_map);
    CHECK(copy != d && copy->d_tag == DT_DEBUG && copy->d_un.d_ptr == d->d_un.d_ptr);
}

static mlt_status images_of(uint32_t count, uint64_t mappings, mlt_images **images, char *why)
{
    mlt_images_conf conf = {.count = count, .mappings = mappings};
    return mlt_images_new(&conf, images, why, WHY);
}

static void check_functions(mlt_images *images, int *own_number)
{
    int (**own_functions)(const char *) = in_image(images, functions);
    CHECK(own_functions[0] == atoi && !own_functions[1]);
    int (*moved)(const char *) = *(int (**)(const char *))in_image(images, &own);
    CHECK(moved != own_function && moved("x") == 8 && *own_number == 8);
    CHECK(mlt_images_original(images, (uintptr_t)moved) == (uintptr_t)own_function);
    CHECK(mlt_images_index(images, (uintptr_t)moved) == 1);
    CHECK(mlt_images_index(images, (uintptr_t)own_function) == 0);
}

static void test_image(mlt_images *images)
{
    char why[WHY] = "";
    CHECK(mlt_images_exist(images));
    number = 8; // the original's; images begin with what the file says
    write_guesses(images);
    CHECK(mlt_images_refresh(images, why, sizeof why) == MLT_OK);
    CHECK(mlt_image_make(images, 1, why, sizeof why) == MLT_OK);
    check_words(images);
    check_guesses(images);
    check_debug(images);
    int *own_number = in_image(images, &number);
    CHECK(own_number != &number && *own_number == 7);
    CHECK(*(int **)in_image(images, &pointer) == own_number);
    check_functions(images, own_number);
    CHECK(pointer == &number && own == own_function && guesses[0] == 1 && number == 8);
}

// Five images in two slabs: of three, and of what is left.
static void test_slabs(void)
{
    char why[WHY] = "";
    mlt_images *images;
    CHECK(images_of(5, 3, &images, why) == MLT_OK);
    CHECK(images->start.slab == 3 && images->mappings == 2);
    mlt_image_need need;
    mlt_images_need(images, &need);
    test_image(images);
    for (uint32_t index = 2; index <= 5; index++) {
        int *its = mlt_image_shift(images, index, &number);
        CHECK(mlt_image_make(images, index, why, sizeof why) == MLT_OK);
        CHECK(*its == 7 && *(int **)mlt_image_shift(images, index, &pointer) == its);
        *its = (int)index;
        CHECK(mlt_images_index(images, (uintptr_t)its) == index);
        CHECK(mlt_images_original(images, (uintptr_t)its) == (uintptr_t)&number);
    }
    for (uint32_t index = 2; index <= 5; index++)
        CHECK(*(int *)mlt_image_shift(images, index, &number) == (int)index);
    struct stat file;
    CHECK(fstat(images->start.slab_fd, &file) == 0);
    uint64_t page = mlt_os_page_size(), taken = 512 * (uint64_t)file.st_blocks;
    CHECK(need.common <= taken && taken < need.common + 3 * 2 * MLT_OBJECT_PIECES * page);
    CHECK(need.written && need.written <= need.writable && !need.limited);
}

static void test_counts(void)
{
    CHECK(mlt_slab_images(1, 1) == 1 && mlt_slab_images(5, 1) == 5 && mlt_slab_images(5, 2) == 3);
    CHECK(mlt_slab_images(43471, 30717) == 2 && mlt_slab_images(999999, 30717) == 33);
    CHECK(mlt_slab_images(UINT32_MAX, 1) == UINT32_MAX);
    CHECK(mlt_slab_images(UINT32_MAX, UINT64_MAX) == 1);
    mlt_image_set set = {.copies = UINT32_MAX, .slab = 2};
    CHECK(mlt_slab_count(&set) == 1U << 31);
}

static void test_none_left(void)
{
    char why[WHY] = "";
    mlt_images *images;
    const mlt_images_conf conf = {.count = 5, .guards = UINT32_MAX};
    CHECK(mlt_images_new(&conf, &images, why, sizeof why) == MLT_ERR_NO_MEMORY && !images);
    CHECK(strstr(why, "globals of 6 ranks in one process need mappings, but the process has none"));
}

// The last: from now on nothing may be both written and executed.
static void test_refused(void)
{
    enum { SET_MDWE = 65, REFUSE_EXEC_GAIN = 1 }; // PR_SET_MDWE of Linux 6.3
    char why[WHY] = "";
    mlt_images *images;
    if (prctl(SET_MDWE, REFUSE_EXEC_GAIN, 0, 0, 0) != 0)
        return;
    CHECK(images_of(5, 3, &images, why) == MLT_ERR_NO_MEMORY && !images);
    CHECK(strstr(why, "globals of 6 ranks in one process") && strstr(why, "which it refuses"));
    CHECK(images_of(5, 0, &images, why) == MLT_OK && !images->start.slab);
}

int main(void)
{
    if (dlsym(RTLD_DEFAULT, "__asan_init") || dlsym(RTLD_DEFAULT, "__tsan_init"))
        return 77; // a sanitizer knows variables by their addresses
    char why[WHY] = "";
    mlt_images *images = NULL;
    if (images_of(2, 0, &images, why) != MLT_OK) {
        fprintf(stderr, "%s\n", why);
        return strstr(why, "linked for one address") ? 77 : 1;
    }
    CHECK(!images->start.slab);
    test_image(images);
    test_slabs();
    test_counts();
    test_none_left();
    test_refused();
    return 0;
}
