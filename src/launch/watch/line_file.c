// SPDX-License-Identifier: BSD-3-Clause
// A table of lines is a program for each unit of the source: it counts addresses and lines up, and
// names files by their place in the unit's list. Here it runs only as far as the address, for the
// file's place; the names follow by DWARF 5, section 6.2. Sections that are compressed, or lie in
// another file, have no answer.
#include "launch/watch/line_file.h"

#include <elf.h>
#include <stdbool.h>
#include <string.h>

#include "base/text.h"

// ---- reading

// Bytes that are left; after the end all reads give 0, and `bad` says so.
typedef struct cursor {
    const unsigned char *at, *end;
    bool bad;
} cursor;

static size_t left(const cursor *c)
{
    return (size_t)(c->end - c->at);
}

static const unsigned char *skip(cursor *c, uint64_t bytes)
{
    const unsigned char *at = c->at;
    c->bad = c->bad || bytes > left(c);
    if (c->bad)
        return NULL;
    c->at += bytes;
    return at;
}

static uint64_t read_word(cursor *c, unsigned bytes)
{
    uint64_t word = 0;
    const unsigned char *at = skip(c, bytes);
    for (unsigned i = 0; at && i < bytes; i++)
        word |= (uint64_t)at[i] << 8 * i;
    return word;
}

static uint64_t read_leb(cursor *c)
{
    uint64_t word = 0;
    for (unsigned shift = 0; !c->bad; shift += 7) {
        uint64_t byte = read_word(c, 1);
        word |= shift < 64 ? (byte & 127) << shift : 0;
        if (byte < 128)
            break;
    }
    return word;
}

static const char *read_text(cursor *c)
{
    const unsigned char *end = c->bad ? NULL : memchr(c->at, 0, left(c));
    c->bad = !end;
    return end ? (const char *)skip(c, (uint64_t)(end - c->at) + 1) : NULL;
}

// A text at that place of a section.
static const char *line_file_text_at(cursor section, uint64_t offset)
{
    (void)skip(&section, offset);
    return read_text(&section);
}

// ---- sections

typedef struct sections {
    cursor lines, line_texts, texts;
} sections;

static bool part_of(cursor whole, uint64_t offset, uint64_t bytes, cursor *part)
{
    const unsigned char *at = skip(&whole, offset);
    if (!at || bytes > left(&whole))
        return false;
    *part = (cursor){.at = whole.at, .end = whole.at + bytes};
    return true;
}

static bool read_header(cursor whole, Elf64_Ehdr *head, cursor *names)
{
    Elf64_Shdr section;
    if (left(&whole) < sizeof *head)
        return false;
    memcpy(head, whole.at, sizeof *head);
    cursor at;
    if (memcmp(head->e_ident, ELFMAG, SELFMAG) != 0 || head->e_ident[EI_CLASS] != ELFCLASS64 ||
        head->e_ident[EI_DATA] != ELFDATA2LSB || head->e_shentsize != sizeof section ||
        head->e_shstrndx >= head->e_shnum ||
        !part_of(whole, head->e_shoff + head->e_shstrndx * sizeof section, sizeof section, &at))
        return false;
    memcpy(&section, at.at, sizeof section);
    return part_of(whole, section.sh_offset, section.sh_size, names);
}

static bool find_sections(cursor whole, sections *found)
{
    Elf64_Ehdr head;
    cursor names, at;
    *found = (sections){0};
    if (!read_header(whole, &head, &names))
        return false;
    for (uint32_t i = 0; i < head.e_shnum; i++) {
        Elf64_Shdr s;
        if (!part_of(whole, head.e_shoff + i * sizeof s, sizeof s, &at))
            return false;
        memcpy(&s, at.at, sizeof s);
        const char *name = line_file_text_at(names, s.sh_name);
        cursor *to = !name                                  ? NULL
                     : strcmp(name, ".debug_line") == 0     ? &found->lines
                     : strcmp(name, ".debug_line_str") == 0 ? &found->line_texts
                     : strcmp(name, ".debug_str") == 0      ? &found->texts
                                                            : NULL;
        if (to && s.sh_type != SHT_NOBITS && !(s.sh_flags & SHF_COMPRESSED))
            (void)part_of(whole, s.sh_offset, s.sh_size, to); // or it stays empty
    }
    return left(&found->lines) > 0;
}

// ---- a unit

typedef struct line_file_unit {
    cursor tables, program;
    unsigned word; // bytes of an offset: 4 or 8
    uint64_t least, range, opcode_base;
    unsigned char lengths[256]; // operands of standard opcodes
} line_file_unit;

// False: the section ends, or is damaged. Units of other versions have no program.
static bool next_unit(cursor *lines, line_file_unit *u)
{
    *u = (line_file_unit){.word = 4};
    uint64_t bytes = read_word(lines, 4);
    if (bytes == UINT32_MAX) {
        u->word = 8;
        bytes = read_word(lines, 8);
    }
    cursor c;
    if (lines->bad || !part_of(*lines, 0, bytes, &c))
        return false;
    (void)skip(lines, bytes);
    if (read_word(&c, 2) != 5)
        return true;
    uint64_t address = read_word(&c, 1);
    (void)read_word(&c, 1);
    uint64_t header = read_word(&c, u->word);
    cursor program = c;
    (void)skip(&program, header);
    u->least = read_word(&c, 1);
    (void)read_word(&c, 3); // operations an instruction, is_stmt, line_base
    u->range = read_word(&c, 1);
    u->opcode_base = read_word(&c, 1);
    for (uint64_t i = 1; i < u->opcode_base; i++)
        u->lengths[i] = (unsigned char)read_word(&c, 1);
    if (!c.bad && !program.bad && address == 8 && u->range && u->opcode_base >= 10) {
        u->tables = c;
        u->program = program;
    }
    return true;
}

// ---- its program

typedef struct machine {
    uint64_t address, file;
    uint64_t from, from_file; // the row before
    bool has_row, starts_at_0;
} machine;

// A row ends where the next one begins. What the linker has left out begins at 0.
static bool covers(machine *m, uint64_t address)
{
    bool found = m->has_row && !m->starts_at_0 && m->from <= address && address < m->address;
    if (!found) {
        m->starts_at_0 = m->has_row ? m->starts_at_0 : m->address == 0;
        m->has_row = true;
        m->from = m->address;
        m->from_file = m->file;
    }
    return found;
}

static bool run_extended(cursor *c, machine *m, uint64_t address)
{
    enum { END = 1, SET_ADDRESS };
    uint64_t bytes = read_leb(c);
    cursor operand;
    if (c->bad || !part_of(*c, 0, bytes, &operand)) {
        c->bad = true;
        return false;
    }
    (void)skip(c, bytes);
    uint64_t what = read_word(&operand, 1);
    if (what == SET_ADDRESS)
        m->address = read_word(&operand, 8);
    if (what != END)
        return false;
    bool found = covers(m, address);
    if (!found)
        *m = (machine){.file = 1};
    return found;
}

// True: the row before covers the address.
static bool run_opcode(const line_file_unit *u, cursor *c, machine *m, uint64_t address)
{
    enum { EXTENDED, COPY, ADVANCE, FILE_IS = 4, ADD_CONSTANT = 8, ADD_FIXED = 9 };
    uint64_t opcode = read_word(c, 1);
    if (opcode >= u->opcode_base) {
        m->address += (opcode - u->opcode_base) / u->range * u->least;
        return covers(m, address);
    }
    switch (opcode) {
    case EXTENDED:
        return run_extended(c, m, address);
    case COPY:
        return covers(m, address);
    case ADVANCE:
        m->address += read_leb(c) * u->least;
        return false;
    case FILE_IS:
        m->file = read_leb(c);
        return false;
    case ADD_CONSTANT:
        m->address += (255 - u->opcode_base) / u->range * u->least;
        return false;
    case ADD_FIXED:
        m->address += read_word(c, 2);
        return false;
    default:
        for (unsigned i = 0; i < u->lengths[opcode]; i++)
            (void)read_leb(c);
        return false;
    }
}

static bool find_row(const line_file_unit *u, uint64_t address, uint64_t *file)
{
    cursor c = u->program;
    machine m = {.file = 1};
    while (!c.bad && left(&c))
        if (run_opcode(u, &c, &m, address)) {
            *file = m.from_file;
            return !c.bad;
        }
    return false;
}

// ---- its names

typedef struct line_file_entry {
    const char *name;
    uint64_t folder;
} line_file_entry;

static const char *read_form(cursor *c, const sections *s, unsigned word, uint64_t form,
                             uint64_t *number)
{
    enum { DATA2 = 5, DATA4, DATA8, TEXT, BLOCK, DATA1 = 11, OFFSET = 14, LEB, DATA16 = 30, LINE };
    switch (form) {
    case TEXT:
        return read_text(c);
    case OFFSET:
        return line_file_text_at(s->texts, read_word(c, word));
    case LINE:
        return line_file_text_at(s->line_texts, read_word(c, word));
    case LEB:
        *number = read_leb(c);
        return NULL;
    case BLOCK:
        (void)skip(c, read_leb(c));
        return NULL;
    case DATA16:
        (void)skip(c, 16);
        return NULL;
    case DATA1:
    case DATA2:
    case DATA4:
    case DATA8:
        *number = read_word(c, form == DATA1 ? 1 : form == DATA2 ? 2 : form == DATA4 ? 4 : 8);
        return NULL;
    default:
        c->bad = true;
        return NULL;
    }
}

// Reads a list of folders or of files. The entry at that place; its name is NULL: there is none.
static line_file_entry line_file_read_list(cursor *c, const sections *s, unsigned word,
                                           uint64_t place)
{
    enum { FORMATS = 16, NAME = 1, FOLDER = 2 };
    uint64_t what[FORMATS], form[FORMATS], formats = read_word(c, 1);
    line_file_entry found = {0};
    c->bad = c->bad || formats > FORMATS;
    for (uint64_t i = 0; i < formats && !c->bad; i++) {
        what[i] = read_leb(c);
        form[i] = read_leb(c);
    }
    uint64_t count = read_leb(c);
    c->bad = c->bad || count > left(c); // each has a byte at least
    for (uint64_t k = 0; k < count && !c->bad; k++) {
        line_file_entry e = {0};
        for (uint64_t i = 0; i < formats; i++) {
            uint64_t number = 0;
            const char *text = read_form(c, s, word, form[i], &number);
            e.name = what[i] == NAME ? text : e.name;
            e.folder = what[i] == FOLDER ? number : e.folder;
        }
        found = k == place ? e : found;
    }
    return found;
}

static char *line_file_name_of(const line_file_unit *u, const sections *s, uint64_t file)
{
    cursor c = u->tables;
    (void)line_file_read_list(&c, s, u->word, 0);
    line_file_entry name = line_file_read_list(&c, s, u->word, file);
    if (c.bad || !name.name || !*name.name)
        return NULL;
    cursor again = u->tables, first = u->tables;
    const char *folder = line_file_read_list(&again, s, u->word, name.folder).name;
    const char *home = line_file_read_list(&first, s, u->word, 0).name;
    if (name.name[0] == '/' || !folder || !*folder)
        return mlt_text_of("%s", name.name);
    if (folder[0] == '/' || !home || !*home)
        return mlt_text_of("%s/%s", folder, name.name);
    return mlt_text_of("%s/%s/%s", home, folder, name.name);
}

char *mlt_lines_file_of(const void *elf, size_t bytes, uint64_t address)
{
    cursor whole = {.at = elf, .end = (const unsigned char *)elf + bytes};
    sections s;
    line_file_unit u;
    uint64_t file;
    if (!find_sections(whole, &s))
        return NULL;
    while (left(&s.lines) && next_unit(&s.lines, &u))
        if (find_row(&u, address, &file))
            return line_file_name_of(&u, &s, file);
    return NULL;
}
