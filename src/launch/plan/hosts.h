// SPDX-License-Identifier: BSD-3-Clause
// The hosts that a section of the command line may use.
//
//     -host a,b:4,user@c,node[01-16]:2,[fe80::1%eth0]:2      a list; -hosts and -H are the same
//     host[:n]                                               lines of a host file, as Hydra's are,
//     [user@]host [slots=n] [max_slots=n]                    and as Open MPI's are; # is a remark
//
// A mention without a number is one slot; a host that is named again gets more of them. Brackets
// that hold numbers stand for several hosts, with as many digits as the first number of a range
// has; brackets that hold an address hide its colons. max_slots is read and has no effect, for no
// number of ranks is too large.
//
// All names and addresses of this host are one host. No name is looked up: names are compared as
// texts, addresses with those of this host's interfaces. Lists live until mpirun ends, unless they
// are freed. A mistake ends mpirun with a message that names the option, or the file and the line.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/table.h"

enum {
    MLT_HOSTS_MOST = 1 << 17,       // hosts of a list
    MLT_HOSTS_MENTIONS = 1 << 21,   // and how often it may name them: some files have a line a core
    MLT_HOSTS_MOST_SLOTS = 1 << 20, // of one host
    MLT_HOST_WHERE_BYTES = 4352,    // for mlt_hosts_where: a path and a number
};

typedef struct mlt_hosts_entry {
    const char *name;   // mlt_hosts_own() if it is this host
    const char *user;   // NULL: not said
    const char *source; // the option or the host file that named it first ...
    uint32_t line;      // ... and the line of the file; 0: an option
    uint32_t slots;
    bool here; // it is this host
} mlt_hosts_entry;

typedef struct mlt_hosts {  // all zero: an empty list
    mlt_hosts_entry *hosts; // in the order in which they were named
    uint32_t count;
    uint32_t room, mentions;
    mlt_table index; // of hosts, by name
} mlt_hosts;

// This host's name, as messages and %h show it.
const char *mlt_hosts_own(void);

// Each adds to the list. The option is named as the user wrote it.
void mlt_hosts_add_list(mlt_hosts *hosts, const char *option, const char *list);
void mlt_hosts_add_file(mlt_hosts *hosts, const char *path);

// A file with lines "host slots ...", of which the rest is for others.
void mlt_hosts_add_columns(mlt_hosts *hosts, const char *path);

// Adds one mention of a host, whose texts are copied; returns its index. Recognises this host.
uint32_t mlt_hosts_add(mlt_hosts *hosts, const mlt_hosts_entry *mention);

// -1: it is not in the list.
int64_t mlt_hosts_find(const mlt_hosts *hosts, const char *name);

// True of the names and addresses of this host.
bool mlt_hosts_is_here(const char *name);

// A host file and a list together: the list chooses among the file's hosts and says how many slots
// they have, as Open MPI's does; the file may say who the user is. Ends mpirun if a host is not in
// the file.
void mlt_hosts_choose(mlt_hosts *chosen, const mlt_hosts *file, const mlt_hosts *list);

// Removes hosts without slots, and this host if there are others and `no_local`. Ends mpirun if
// none is left.
void mlt_hosts_trim(mlt_hosts *hosts, bool no_local);

void mlt_hosts_free(mlt_hosts *hosts); // and it is empty

// "-host" or "hosts.txt:3", for messages; returns text.
const char *mlt_hosts_where(const mlt_hosts_entry *host, char text[MLT_HOST_WHERE_BYTES]);
