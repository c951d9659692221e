// SPDX-License-Identifier: BSD-3-Clause
#include "image/slab.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"

enum { CHUNK = 1 << 20 };

uint32_t mlt_slab_images(uint32_t images, uint64_t maps)
{
    return (uint32_t)(images / maps + (images % maps != 0));
}

uint32_t mlt_slab_count(const mlt_image_set *set)
{
    return (uint32_t)(((uint64_t)set->copies + set->slab - 1) / set->slab);
}

// ---- the file

static bool write_all(int fd, const char *from, size_t bytes, uint64_t offset)
{
    while (bytes) {
        ssize_t n = pwrite(fd, from, bytes, (off_t)offset);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        from += n;
        bytes -= (size_t)n;
        offset += (uint64_t)n;
    }
    return true;
}

// To where the object has the address `at` (relative to its base), in each image of the file.
static bool put_everywhere(const mlt_image_set *set, uint32_t object, uintptr_t at,
                           const char *from, size_t bytes)
{
    uint64_t place = set->place[object] + (at - set->objects[object].piece[0].from);
    for (uint32_t i = 0; i < set->slab; i++)
        if (!write_all(set->slab_fd, from, bytes, i * set->span + place))
            return false;
    return true;
}

// What the template has in the piece, without its pages of zeros: they are holes of this file, too.
static bool fill_writable(const mlt_image_set *set, uint32_t object, uint32_t piece)
{
    const mlt_template *t = &set->template;
    const mlt_object_map *p = &set->objects[object].piece[piece];
    uint64_t begin = t->offset[object][piece], end = begin + (p->to - p->from);
    off_t data = lseek(t->fd, (off_t)begin, SEEK_DATA);
    while (data >= 0 && (uint64_t)data < end) {
        off_t hole = lseek(t->fd, data, SEEK_HOLE);
        uint64_t to = hole < 0 || (uint64_t)hole > end ? end : (uint64_t)hole;
        if (!put_everywhere(set, object, p->from + ((uint64_t)data - begin), t->memory + data,
                            to - (uint64_t)data))
            return false;
        data = lseek(t->fd, (off_t)to, SEEK_DATA);
    }
    return true;
}

static bool is_read_only(const Elf64_Phdr *h)
{
    return h->p_type == PT_LOAD && !(h->p_flags & PF_W);
}

// What the object's file has in a segment that is only read.
static bool fill_segment(const mlt_image_set *set, uint32_t object, const Elf64_Phdr *h,
                         char *chunk)
{
    for (uint64_t done = 0; done < h->p_filesz; done += CHUNK) {
        size_t bytes = h->p_filesz - done < CHUNK ? h->p_filesz - done : CHUNK;
        if (!mlt_object_read(&set->objects[object], h->p_vaddr + done, chunk, bytes) ||
            !put_everywhere(set, object, h->p_vaddr + done, chunk, bytes))
            return false;
    }
    return true;
}

static bool fill_object(const mlt_image_set *set, uint32_t object, char *chunk)
{
    const mlt_object *o = &set->objects[object];
    for (size_t i = 0; i < o->header_count; i++) {
        const Elf64_Phdr *h = &o->headers[i];
        if (is_read_only(h) && !fill_segment(set, object, h, chunk))
            return false;
    }
    for (uint32_t p = 0; p < o->pieces; p++)
        if (o->piece[p].writable && !fill_writable(set, object, p))
            return false;
    return true;
}

static mlt_status refuse_memory(char *why, size_t why_size)
{
    return mlt_fail(MLT_ERR_NO_MEMORY, why, why_size,
                    "the system refuses memory for copies of globals: %s", strerror(errno));
}

mlt_status mlt_slab_fill(const mlt_image_set *set, char *why, size_t why_size)
{
    char *chunk = mlt_xcalloc(1, CHUNK);
    bool good = true;
    for (uint32_t i = set->first; good && i < set->count; i++)
        good = !set->objects[i].own || fill_object(set, i, chunk);
    free(chunk);
    return good ? MLT_OK : refuse_memory(why, why_size);
}

static bool make_file(mlt_image_set *set)
{
    set->slab_fd = memfd_create("millet images", MFD_CLOEXEC);
    return set->slab_fd >= 0 && ftruncate(set->slab_fd, (off_t)(set->span * set->slab)) == 0;
}

uint64_t mlt_slab_bytes(const mlt_image_set *set)
{
    struct stat data;
    uint64_t bytes = fstat(set->template.fd, &data) == 0 ? 512 * (uint64_t)data.st_blocks : 0;
    for (uint32_t i = set->first; i < set->count; i++) {
        const mlt_object *o = &set->objects[i];
        for (size_t h = 0; o->own && h < o->header_count; h++)
            bytes += is_read_only(&o->headers[h]) ? o->headers[h].p_filesz : 0;
    }
    return bytes * set->slab;
}

// ---- the area

static bool map_all(const mlt_image_set *set)
{
    for (uint32_t at = 0; at < set->copies; at += set->slab) {
        uint32_t images = set->copies - at < set->slab ? set->copies - at : set->slab;
        if (mmap(set->area + at * set->span, images * set->span, PROT_READ | PROT_WRITE | PROT_EXEC,
                 MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE, set->slab_fd, 0) == MAP_FAILED)
            return false;
    }
    return true;
}

mlt_status mlt_slab_new(mlt_image_set *set, char *why, size_t why_size)
{
    // Linux does not compare with `ulimit -d` what takes the place of another mapping; but counts it.
    const mlt_image_need need = {.limited = set->span, .images = set->copies};
    mlt_image_room room;
    mlt_image_room_now(0, &room);
    if (mlt_image_need_fits(&need, &room, why, why_size) == MLT_FIT_NOT)
        return MLT_ERR_NO_MEMORY;
    if (!make_file(set))
        return refuse_memory(why, why_size);
    if (map_all(set))
        return MLT_OK;
    if (errno == EACCES || errno == EPERM)
        return mlt_fail(
            MLT_ERR_NO_MEMORY, why, why_size,
            "globals of %u ranks in one process need more mappings than the system allows, or "
            "memory that can be both written and executed, which it refuses: start more processes "
            "(-n with --workers process), share them (--globals shared), or let the administrator "
            "raise vm.max_map_count",
            set->copies + 1);
    return mlt_fail(MLT_ERR_NO_MEMORY, why, why_size,
                    "the system refuses memory for the globals of %u ranks (%llu bytes each): %s",
                    set->copies + 1, (unsigned long long)set->span, strerror(errno));
}

void mlt_slab_free(mlt_image_set *set)
{
    if (set->slab && set->slab_fd >= 0)
        close(set->slab_fd);
    set->slab = 0;
}
