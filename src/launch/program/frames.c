// SPDX-License-Identifier: BSD-3-Clause
#include "launch/program/frames.h"

#include <elf.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "arch/code.h"

enum { MOST_HEADERS = 256, FRAMES_MOST_BYTES = 64 << 20 };

static mlt_frames frames_look(const uint8_t *code, size_t bytes)
{
    mlt_frames found = {.largest = 0};
    bool dynamic = false, probed = false;
    for (size_t at = 0; at < bytes;) {
        mlt_code_frame frame = mlt_code_frame_at(code, bytes, &at);
        if (frame.kind == MLT_CODE_FIXED && frame.bytes > found.largest)
            found.largest = frame.bytes;
        dynamic |= frame.kind == MLT_CODE_DYNAMIC;
        probed |= frame.kind == MLT_CODE_PROBE;
    }
    found.dynamic = dynamic && !probed;
    return found;
}

static void look_at_segment(const uint8_t *file, size_t size, const Elf64_Phdr *part,
                            mlt_frames *found)
{
    if (part->p_type != PT_LOAD || !(part->p_flags & PF_X) || part->p_offset >= size)
        return;
    size_t bytes = size - part->p_offset;
    bytes = part->p_filesz < bytes ? part->p_filesz : bytes;
    mlt_frames here =
        frames_look(file + part->p_offset, bytes < FRAMES_MOST_BYTES ? bytes : FRAMES_MOST_BYTES);
    found->largest = here.largest > found->largest ? here.largest : found->largest;
    found->dynamic |= here.dynamic;
}

mlt_frames mlt_frames_read(int fd)
{
    mlt_frames found = {.largest = 0};
    struct stat about;
    if (fstat(fd, &about) != 0 || !S_ISREG(about.st_mode) ||
        (size_t)about.st_size < sizeof(Elf64_Ehdr))
        return found;
    size_t size = (size_t)about.st_size;
    const uint8_t *file = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (file == MAP_FAILED)
        return found;
    Elf64_Ehdr head;
    memcpy(&head, file, sizeof head);
    bool ours = memcmp(head.e_ident, ELFMAG, SELFMAG) == 0 &&
                head.e_ident[EI_CLASS] == ELFCLASS64 && head.e_machine == MLT_CODE_MACHINE &&
                head.e_phentsize == sizeof(Elf64_Phdr);
    for (size_t i = 0; ours && i < head.e_phnum && i < MOST_HEADERS; i++) {
        Elf64_Phdr part;
        if (head.e_phoff > size || size - head.e_phoff < (i + 1) * sizeof part)
            break;
        memcpy(&part, file + head.e_phoff + i * sizeof part, sizeof part);
        look_at_segment(file, size, &part, &found);
    }
    (void)munmap((void *)(uintptr_t)file, size);
    return found;
}
