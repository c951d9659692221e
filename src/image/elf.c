// SPDX-License-Identifier: BSD-3-Clause
#include "image/elf.h"

#include <ctype.h>
#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"

enum {
    MOST_SECTIONS = 1 << 16,
    MOST_TABLE_BYTES = 256 << 20, // of symbols, names or relocations
    MOST_HEADERS = 4096,
    MOST_COPIES = 256,
    MOST_NEEDED = 256,
    MOST_GLOBALS = 1 << 17,
    MOST_READS = 4, // times the file's size: no linker lets tables overlap, but a hostile file may
    START_FILES_BYTES = 24, // __dso_handle, completed.0 and padding, which every program has
};

typedef struct elf {
    int fd;
    uint64_t size; // of the file
    uint64_t left; // bytes that may still be read
    Elf64_Ehdr head;
    Elf64_Shdr *sections;
    size_t section_count;
    char *names; // of sections, with a NUL after them
    uint64_t names_bytes;
    bool interpreted;                // a program, not a library
    uint64_t relro_start, relro_end; // read-only once the program is loaded
    uint64_t *copies; //  addresses of variables that belong to libraries (copy relocations)
    size_t copy_count, copy_room;
} elf;

// A copy of a piece of the file, with a NUL after it; NULL if the file does not have all of it.
static void *piece(elf *e, uint64_t at, uint64_t bytes)
{
    if (bytes > MOST_TABLE_BYTES || at > e->size || bytes > e->size - at || bytes > e->left)
        return NULL;
    e->left -= bytes;
    char *memory = malloc(bytes + 1);
    uint64_t done = 0;
    while (memory && done < bytes) {
        ssize_t n = pread(e->fd, memory + done, bytes - done, (off_t)(at + done));
        if (n <= 0) {
            free(memory);
            return NULL;
        }
        done += (uint64_t)n;
    }
    if (memory)
        memory[bytes] = '\0';
    return memory;
}

static bool read_head(elf *e)
{
    static const uint16_t probe = 1;
    unsigned char order = *(const unsigned char *)&probe ? ELFDATA2LSB : ELFDATA2MSB;
    Elf64_Ehdr *head = piece(e, 0, sizeof *head);
    if (!head)
        return false;
    e->head = *head;
    free(head);
    return memcmp(e->head.e_ident, ELFMAG, SELFMAG) == 0 &&
           e->head.e_ident[EI_CLASS] == ELFCLASS64 && e->head.e_ident[EI_DATA] == order;
}

// The program headers; NULL if they are not all there. The caller frees them.
static Elf64_Phdr *elf_read_headers(elf *e, size_t *count)
{
    *count = e->head.e_phnum;
    if (*count == 0 || *count > MOST_HEADERS || e->head.e_phentsize != sizeof(Elf64_Phdr))
        return NULL;
    return piece(e, e->head.e_phoff, *count * sizeof(Elf64_Phdr));
}

static bool is_dynamic(elf *e)
{
    size_t count;
    Elf64_Phdr *headers = elf_read_headers(e, &count);
    bool found = false;
    for (size_t i = 0; headers && i < count; i++) {
        found |= headers[i].p_type == PT_DYNAMIC;
        e->interpreted |= headers[i].p_type == PT_INTERP;
        if (headers[i].p_type == PT_GNU_RELRO) {
            e->relro_start = headers[i].p_vaddr;
            e->relro_end = headers[i].p_vaddr + headers[i].p_memsz;
        }
    }
    free(headers);
    return found;
}

static bool read_sections(elf *e)
{
    uint64_t count = e->head.e_shnum;
    if (e->head.e_shoff == 0 || e->head.e_shentsize != sizeof(Elf64_Shdr))
        return false;
    if (count == 0) { // too many for the header: the first section tells
        Elf64_Shdr *zero = piece(e, e->head.e_shoff, sizeof *zero);
        if (!zero)
            return false;
        count = zero->sh_size;
        free(zero);
    }
    if (count == 0 || count > MOST_SECTIONS)
        return false;
    e->sections = piece(e, e->head.e_shoff, count * sizeof *e->sections);
    if (!e->sections)
        return false;
    e->section_count = count;
    uint64_t names = e->head.e_shstrndx == SHN_XINDEX ? e->sections[0].sh_link : e->head.e_shstrndx;
    if (names < count) {
        e->names = piece(e, e->sections[names].sh_offset, e->sections[names].sh_size);
        e->names_bytes = e->names ? e->sections[names].sh_size : 0;
    }
    return true;
}

static const char *section_name(const elf *e, const Elf64_Shdr *section)
{
    return section->sh_name < e->names_bytes ? e->names + section->sh_name : "";
}

// True for a section that holds variables which the program could change, thread-local ones too.
static bool is_writable(const elf *e, const Elf64_Shdr *section)
{
    static const char *const others[] = {".data.rel.ro", ".got",        ".dynamic",
                                         ".init_array",  ".fini_array", ".tm_clone_table",
                                         ".jcr",         ".eh_frame",   ".preinit_array",
                                         ".ctors",       ".dtors"};
    uint64_t wanted = SHF_WRITE | SHF_ALLOC;
    if ((section->sh_flags & wanted) != wanted ||
        (section->sh_type != SHT_PROGBITS && section->sh_type != SHT_NOBITS))
        return false;
    const char *name = section_name(e, section);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strncmp(name, others[i], strlen(others[i])) == 0)
            return false;
    return true;
}

// The same, but for thread-local ones.
static bool holds_variables(const elf *e, const Elf64_Shdr *section)
{
    return !(section->sh_flags & SHF_TLS) && is_writable(e, section);
}

static bool is_copy(uint64_t type, uint16_t machine)
{
    return (machine == EM_AARCH64 && type == R_AARCH64_COPY) ||
           (machine == EM_X86_64 && type == R_X86_64_COPY);
}

static void read_copies(elf *e)
{
    for (size_t s = 0; s < e->section_count; s++) {
        const Elf64_Shdr *section = &e->sections[s];
        if (section->sh_type != SHT_RELA || !(section->sh_flags & SHF_ALLOC))
            continue;
        Elf64_Rela *entries = piece(e, section->sh_offset, section->sh_size);
        for (size_t i = 0; entries && i < section->sh_size / sizeof *entries; i++) {
            if (e->copy_count == MOST_COPIES)
                break;
            if (!is_copy(ELF64_R_TYPE(entries[i].r_info), e->head.e_machine))
                continue;
            if (!MLT_ARRAY_TRY(e->copies, e->copy_count + 1, e->copy_room))
                break;
            e->copies[e->copy_count++] = entries[i].r_offset;
        }
        free(entries);
    }
}

static bool is_own(const elf *e, const Elf64_Sym *symbol, const char *name)
{
    unsigned type = ELF64_ST_TYPE(symbol->st_info);
    if ((type != STT_OBJECT && type != STT_COMMON) || symbol->st_size == 0 ||
        symbol->st_shndx >= e->section_count || symbol->st_shndx == SHN_UNDEF ||
        !holds_variables(e, &e->sections[symbol->st_shndx]) ||
        (symbol->st_value >= e->relro_start && symbol->st_value < e->relro_end))
        return false;
    // The compiler's and the C library's own; what C++ makes of types is constant.
    if (!*name || strcmp(name, "__dso_handle") == 0 || strcmp(name, "__TMC_END__") == 0 ||
        strncmp(name, "completed.", 10) == 0 || strncmp(name, "_ZSt", 4) == 0 ||
        strncmp(name, "_ZGV", 4) == 0 || strncmp(name, "_ZT", 3) == 0 ||
        strncmp(name, "DW.ref.", 7) == 0 || strncmp(name, "__odr_asan.", 11) == 0 ||
        strchr(name, '@'))
        return false;
    for (size_t i = 0; i < e->copy_count; i++)
        if (e->copies[i] == symbol->st_value)
            return false;
    return true;
}

// A source name in C++'s coding ("7counter"); returns what follows it, NULL if it is none.
static const char *source_name(const char *at, char *to, size_t room)
{
    if (!isdigit((unsigned char)*at))
        return NULL;
    char *end;
    unsigned long n = strtoul(at, &end, 10);
    if (n >= room || strnlen(end, n) < n)
        return NULL;
    memcpy(to, end, n);
    to[n] = '\0';
    return end + n;
}

// A static in a function is "counter.0" by gcc, "main.counter" or "main.counter.1" by clang.
static void plain_static(char *name)
{
    char *end = strstr(name, ".lto_priv"), *dot;
    if (end && end > name)
        *end = '\0';
    dot = strrchr(name, '.');
    if (dot && dot > name && dot[1] && strspn(dot + 1, "0123456789") == strlen(dot + 1))
        *dot = '\0';
    dot = strrchr(name, '.');
    if (dot && dot > name && (isalpha((unsigned char)dot[1]) || dot[1] == '_'))
        memmove(name, dot + 1, strlen(dot + 1) + 1);
}

// Names as people wrote them: "counter.0" (a static in a function) is counter, "_ZL7counter" is
// counter, and
// "_ZN5shape5countE" is shape::count, "_ZZ4mainE5calls" calls. What is more involved stays as it
// is.
static void plain_name(const char *name, char out[MLT_ELF_NAME])
{
    char part[MLT_ELF_NAME], whole[MLT_ELF_NAME] = "";
    const char *at = NULL;
    if (strncmp(name, "_ZN", 3) == 0) {
        size_t n = 0;
        for (at = name + 3; at && *at && *at != 'E';) {
            at += *at == 'L';
            at = source_name(at, part, sizeof part);
            size_t length = at ? strlen(part) : 0;
            if (at && strcmp(part, "_GLOBAL__N_1") == 0) // a namespace without a name
                continue;
            if (!at || n + length + 3 > sizeof whole) {
                at = NULL;
                break;
            }
            if (n) {
                memcpy(whole + n, "::", 2);
                n += 2;
            }
            memcpy(whole + n, part, length + 1);
            n += length;
        }
        at = at && at[0] == 'E' && !at[1] ? at : NULL;
    } else if (strncmp(name, "_ZZ", 3) == 0 && strrchr(name, 'E')) {
        at = source_name(strrchr(name, 'E') + 1, whole, sizeof whole);
        at = at && !*at ? at : NULL;
    } else if (strncmp(name, "_ZL", 3) == 0) {
        at = source_name(name + 3, whole, sizeof whole);
        at = at && !*at ? at : NULL;
    }
    if (!at) {
        size_t n = strnlen(name, MLT_ELF_NAME - 1);
        memcpy(whole, name, n);
        whole[n] = '\0';
        plain_static(whole);
    }
    memcpy(out, whole, MLT_ELF_NAME);
    for (char *c = out; *c; c++) // a hostile file shall not talk to the terminal
        if (!isprint((unsigned char)*c))
            *c = '?';
}

static void keep_global(mlt_elf_globals *out, const char *name, const Elf64_Sym *symbol)
{
    if (out->kept == MOST_GLOBALS || !MLT_ARRAY_TRY(out->first, out->kept + 1, out->room))
        return;
    mlt_elf_global *global = &out->first[out->kept++];
    plain_name(name, global->name);
    global->bytes = symbol->st_size;
    global->thread = ELF64_ST_TYPE(symbol->st_info) == STT_TLS;
}

static void read_symbols(elf *e, const Elf64_Shdr *section,
                         bool (*counts)(const elf *, const Elf64_Sym *, const char *),
                         mlt_elf_globals *out)
{
    if (section->sh_link >= e->section_count)
        return;
    const Elf64_Shdr *strings = &e->sections[section->sh_link];
    Elf64_Sym *symbols = piece(e, section->sh_offset, section->sh_size);
    char *names = piece(e, strings->sh_offset, strings->sh_size);
    if (symbols && names)
        out->stripped = false;
    for (size_t i = 0; symbols && names && i < section->sh_size / sizeof *symbols; i++) {
        if (symbols[i].st_name >= strings->sh_size ||
            !counts(e, &symbols[i], names + symbols[i].st_name))
            continue;
        out->count++;
        out->bytes += symbols[i].st_size;
        keep_global(out, names + symbols[i].st_name, &symbols[i]);
    }
    free(symbols);
    free(names);
}

static uint64_t unnamed_bytes(const elf *e)
{
    uint64_t bytes = 0;
    for (size_t s = 0; s < e->section_count; s++)
        if (holds_variables(e, &e->sections[s]))
            bytes += e->sections[s].sh_size;
    for (size_t i = 0; i < e->copy_count; i++)
        bytes -= bytes >= 8 ? 8 : 0; // nearly all of them are pointers
    return bytes > START_FILES_BYTES ? bytes - START_FILES_BYTES : 0;
}

// Thread-local variables lie elsewhere.
static uint64_t largest_align(const elf *e)
{
    uint64_t largest = 1;
    for (size_t s = 0; s < e->section_count; s++)
        if ((e->sections[s].sh_flags & (SHF_ALLOC | SHF_TLS)) == SHF_ALLOC &&
            e->sections[s].sh_addralign > largest)
            largest = e->sections[s].sh_addralign;
    return largest;
}

static bool open_elf(elf *e, int fd)
{
    struct stat about;
    *e = (elf){.fd = fd};
    if (fstat(fd, &about) != 0 || !S_ISREG(about.st_mode) || about.st_size <= 0)
        return false;
    e->size = (uint64_t)about.st_size;
    e->left = MOST_READS * e->size;
    return read_head(e);
}

// A program or library, not an object file.
static bool is_linked(const elf *e)
{
    return e->head.e_type == ET_EXEC || e->head.e_type == ET_DYN;
}

static void close_elf(elf *e)
{
    free(e->sections);
    free(e->names);
    free(e->copies);
}

static int by_size(const void *a, const void *b)
{
    const mlt_elf_global *x = a, *y = b;
    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? -1 : 1;
    return strcmp(x->name, y->name);
}

static bool has_section(const elf *e, uint32_t type)
{
    for (size_t s = 0; s < e->section_count; s++)
        if (e->sections[s].sh_type == type)
            return true;
    return false;
}

void mlt_elf_read(int fd, size_t most, mlt_elf_globals *out)
{
    *out = (mlt_elf_globals){.program = false};
    elf e;
    if (!open_elf(&e, fd) || !is_linked(&e) || !is_dynamic(&e) || !read_sections(&e)) {
        close_elf(&e);
        return;
    }
    out->program = true;
    out->stripped = true;
    out->fixed = e.head.e_type == ET_EXEC;
    out->align = largest_align(&e);
    read_copies(&e);
    // A stripped library still has the names that it exports.
    uint32_t table = has_section(&e, SHT_SYMTAB) || e.interpreted ? SHT_SYMTAB : SHT_DYNSYM;
    for (size_t s = 0; s < e.section_count; s++)
        if (e.sections[s].sh_type == table)
            read_symbols(&e, &e.sections[s], is_own, out);
    if (out->kept)
        qsort(out->first, out->kept, sizeof *out->first, by_size);
    out->kept = out->kept < most ? out->kept : most;
    if (out->stripped || table == SHT_DYNSYM)
        out->unnamed = unnamed_bytes(&e);
    if (out->stripped)
        out->bytes = out->unnamed;
    close_elf(&e);
}

// A variable that the file's own source defines. Weak and unique names are those of C++'s inline
// functions and templates, which every file has that includes their header.
static bool is_source_own(const elf *e, const Elf64_Sym *symbol, const char *name)
{
    unsigned type = ELF64_ST_TYPE(symbol->st_info), bind = ELF64_ST_BIND(symbol->st_info);
    if ((type != STT_OBJECT && type != STT_COMMON && type != STT_TLS) || symbol->st_size == 0 ||
        (bind != STB_LOCAL && bind != STB_GLOBAL))
        return false;
    // What the language and the compiler add; Fortran's modules begin with two underscores, too.
    if (!*name || *name == '.' || strncmp(name, "_ZSt", 4) == 0 || strncmp(name, "_ZNSt", 5) == 0 ||
        strncmp(name, "_ZGV", 4) == 0 || strncmp(name, "_ZT", 3) == 0 ||
        (strncmp(name, "__", 2) == 0 && !strstr(name, "_MOD_")))
        return false;
    return symbol->st_shndx == SHN_COMMON ||
           (symbol->st_shndx < e->section_count && is_writable(e, &e->sections[symbol->st_shndx]));
}

void mlt_elf_read_object(int fd, mlt_elf_globals *out)
{
    *out = (mlt_elf_globals){.program = false};
    elf e;
    out->program = open_elf(&e, fd) && e.head.e_type == ET_REL && read_sections(&e);
    out->stripped = out->program;
    for (size_t s = 0; out->program && s < e.section_count; s++)
        if (e.sections[s].sh_type == SHT_SYMTAB)
            read_symbols(&e, &e.sections[s], is_source_own, out);
    close_elf(&e);
}

void mlt_elf_fini(mlt_elf_globals *globals)
{
    free(globals->first);
    globals->first = NULL;
}

// ---- What it needs

// The file's place of an address, UINT64_MAX if it is in no part that is loaded from it.
static uint64_t place_of(const Elf64_Phdr *headers, size_t count, uint64_t address)
{
    for (size_t i = 0; i < count; i++)
        if (headers[i].p_type == PT_LOAD && address >= headers[i].p_vaddr &&
            address - headers[i].p_vaddr < headers[i].p_filesz)
            return address - headers[i].p_vaddr + headers[i].p_offset;
    return UINT64_MAX;
}

static uint64_t value_of(const Elf64_Dyn *entries, size_t count, int64_t tag)
{
    for (size_t i = 0; i < count && entries[i].d_tag != DT_NULL; i++)
        if (entries[i].d_tag == tag)
            return entries[i].d_un.d_val;
    return 0;
}

static void take_links(const Elf64_Dyn *entries, size_t count, uint64_t size, mlt_elf_links *out)
{
    for (size_t i = 0; i < count && entries[i].d_tag != DT_NULL; i++) {
        uint64_t at = entries[i].d_un.d_val;
        if (at >= size)
            continue;
        if (entries[i].d_tag == DT_RPATH)
            out->rpath = out->strings + at;
        if (entries[i].d_tag == DT_RUNPATH)
            out->runpath = out->strings + at;
        if (entries[i].d_tag == DT_NEEDED && out->count < MOST_NEEDED)
            out->needed[out->count++] = out->strings + at;
    }
}

bool mlt_elf_links_read(int fd, mlt_elf_links *out)
{
    *out = (mlt_elf_links){.count = 0};
    elf e;
    size_t headers_count, count = 0;
    if (!open_elf(&e, fd) || !is_linked(&e))
        return false;
    Elf64_Phdr *headers = elf_read_headers(&e, &headers_count);
    Elf64_Dyn *entries = NULL;
    for (size_t i = 0; headers && i < headers_count && !entries; i++)
        if (headers[i].p_type == PT_DYNAMIC) {
            entries = piece(&e, headers[i].p_offset, headers[i].p_filesz);
            count = headers[i].p_filesz / sizeof *entries;
        }
    uint64_t size = entries ? value_of(entries, count, DT_STRSZ) : 0;
    if (size) {
        uint64_t at = place_of(headers, headers_count, value_of(entries, count, DT_STRTAB));
        out->strings = piece(&e, at, size);
        out->needed = calloc(MOST_NEEDED, sizeof *out->needed);
        if (out->strings && out->needed)
            take_links(entries, count, size, out);
    }
    free(headers);
    free(entries);
    return out->strings && out->needed;
}

void mlt_elf_links_fini(mlt_elf_links *links)
{
    free(links->needed);
    free(links->strings);
}

static bool see_undefined(elf *e, const Elf64_Shdr *section,
                          bool (*see)(void *user, const char *name), void *user)
{
    if (section->sh_link >= e->section_count)
        return false;
    const Elf64_Shdr *strings = &e->sections[section->sh_link];
    Elf64_Sym *symbols = piece(e, section->sh_offset, section->sh_size);
    char *names = piece(e, strings->sh_offset, strings->sh_size);
    bool found = false;
    for (size_t i = 0; symbols && names && !found && i < section->sh_size / sizeof *symbols; i++)
        found = symbols[i].st_shndx == SHN_UNDEF && symbols[i].st_name < strings->sh_size &&
                names[symbols[i].st_name] && see(user, names + symbols[i].st_name);
    free(symbols);
    free(names);
    return found;
}

bool mlt_elf_imports(int fd, bool (*see)(void *user, const char *name), void *user)
{
    elf e;
    bool found = false;
    if (open_elf(&e, fd) && is_linked(&e) && read_sections(&e))
        for (size_t s = 0; s < e.section_count && !found; s++)
            found =
                e.sections[s].sh_type == SHT_DYNSYM && see_undefined(&e, &e.sections[s], see, user);
    close_elf(&e);
    return found;
}

bool mlt_elf_names(int fd, const char *name)
{
    elf e;
    bool found = false;
    if (open_elf(&e, fd) && is_linked(&e) && read_sections(&e))
        for (size_t s = 0; s < e.section_count && !found; s++) {
            if (e.sections[s].sh_type != SHT_STRTAB || !(e.sections[s].sh_flags & SHF_ALLOC))
                continue;
            void *strings = piece(&e, e.sections[s].sh_offset, e.sections[s].sh_size);
            found = strings && memmem(strings, e.sections[s].sh_size, name, strlen(name) + 1);
            free(strings);
        }
    close_elf(&e);
    return found;
}
