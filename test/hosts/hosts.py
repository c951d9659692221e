# SPDX-License-Identifier: BSD-3-Clause
"""Several hosts on one machine, for runners: network namespaces with a name, addresses and, where wanted, a /tmp each.

    hosts.enter()                                # once, first in main: raises Skip where namespaces are not allowed
    with hosts.Hosts(3) as net:                  # h0 h1 h2, at 10.0.0.1 to 3 and fd00::1 to 3
        net.run("h0", ["ping", "h1"])            # options and result are those of harness.run
        net.cut("h0", "h1")                      # h1 hears nothing from h0 any more

enter() forks: the caller stays outside and waits, the runner goes on inside namespaces of its own. Whatever dies, nothing is left:

    caller      outside; its death kills init (PDEATHSIG), the end of init is its own
    init        process 1 inside: adopts orphans, ends when the runner does, and the kernel then kills all others
    runner      what called enter(). /run, /dev/shm and the scratch folders are in memory and vanish too
    holders     one a host: sleeps in the host's namespaces so that they exist

Processes of a host are those in its network namespace. All hosts are in one process namespace, so numbers of processes differ between
hosts, and the runner sees and signals every process. The runner itself is on the hosts' switch, as 10.0.0.254 and fd00::fe."""

import contextlib
import ctypes
import os
import pathlib
import pwd
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import uuid

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import harness  # noqa: E402
import patience  # noqa: E402
import proxy  # noqa: E402
from harness import ROOT, Skip  # noqa: E402

STATE = pathlib.Path("/run/hosts")  # inside: in memory, seen by all hosts, private to this runner
NAMES = STATE / "names"  # files with the process of a host's holder, by each name and address of the host
PATH = os.environ.get("PATH", "") + ":/usr/local/sbin:/usr/sbin:/sbin"  # users do not have these
NOBODY = "02:00:00:00:00:01"  # no host has this link address
OUTSIDE = ("10.0.0.254", "fd00::fe")  # the runner's

CLONE_NEWNS, CLONE_NEWUTS, CLONE_NEWIPC, CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET = (
    0x20000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000)
MS_BIND, MS_REC, MS_PRIVATE = 0x1000, 0x4000, 0x40000
PR_SET_PDEATHSIG = 1
libc = ctypes.CDLL(None, use_errno=True)
libc.mount.argtypes = [ctypes.c_char_p] * 3 + [ctypes.c_ulong, ctypes.c_char_p]
inside = None  # after enter(): "root" or "user", the kind of namespaces
real_uid, real_gid = os.getuid(), os.getgid()


# ---- the kernel's calls


def call(name, *args):
    if getattr(libc, name)(*args) != 0:
        error = ctypes.get_errno()
        raise OSError(error, f"{name}: {os.strerror(error)}")


def mount(what, where, kind=None, flags=0, data=None):
    call("mount", *(os.fsencode(word) if word else None for word in (what, where, kind)), flags, os.fsencode(data) if data else None)


def bind(what, where):
    mount(what, where, flags=MS_BIND | MS_REC)


def fresh(path, keep=()):
    """Mounts an empty file system in memory there; folders below that are to be kept are seen as before."""
    kept = [(folder, os.open(folder, os.O_PATH)) for folder in map(pathlib.Path, keep) if pathlib.Path(path) in folder.parents and folder.exists()]
    mount("hosts", path, "tmpfs", data="mode=1777")
    for folder, opened in kept:
        folder.mkdir(parents=True, exist_ok=True)
        bind(f"/proc/self/fd/{opened}", folder)
        os.close(opened)


# ---- namespaces around the runner


def enter(user=False):
    """The rest of this runner runs in namespaces of its own, and ends with all that it starts. Call it before any thread is started.
    Root uses its right to make them, others a user namespace; with `user` root does that too. Raises Skip with the reason if neither works."""
    global inside
    if inside:
        return
    for tool, package in (("ip", "iproute2"), ("nsenter", "util-linux")):
        if not shutil.which(tool, path=PATH):
            raise Skip(f"there is no {tool} (package {package})")
    sys.stdout.flush()
    inside = unshare(user)
    told, tell = os.pipe()
    init = os.fork()
    if init != 0:
        os.close(tell)
        stand_outside(init, told)
    os.close(told)
    become_init(tell)  # returns in the runner
    os.environ["PATH"] = PATH
    tempfile.tempdir = str(STATE / "scratch")


def unshare(user):
    """Makes the namespaces. Says which kind."""
    flags, said = CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWPID | CLONE_NEWNET, []
    for kind, more in (("root", 0), ("user", CLONE_NEWUSER)):
        if kind == "root" and (user or real_uid != 0):
            continue
        try:
            call("unshare", flags | more)
        except OSError as error:
            said.append(f"{kind} namespaces: {error.strerror}")
            continue
        if kind == "user":
            for name, text in (("setgroups", "deny"), ("uid_map", f"0 {real_uid} 1"), ("gid_map", f"0 {real_gid} 1")):
                pathlib.Path("/proc/self", name).write_text(text)
        return kind
    raise Skip("namespaces are not allowed here: " + "; ".join(said))


def stand_outside(init, told):
    """The caller: waits, and ends as init does. Any signal that ends it ends init too."""
    with os.fdopen(told) as said:
        why = said.read()
    if why != "ready":
        os.waitpid(init, 0)
        raise Skip(f"namespaces are not whole here: {why}")
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os._exit(os.waitstatus_to_exitcode(os.waitpid(init, 0)[1]) & 0xFF)


def become_init(tell):
    """Process 1. Returns in its child, the runner, which has the private mounts."""
    try:
        call("prctl", PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        mount_private()
        try_network()
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        runner = os.fork()
        if runner == 0:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            return os.close(tell)
        os.write(tell, b"ready")  # fails if the caller died before PDEATHSIG was set
        os.close(tell)
    except OSError as error:
        with contextlib.suppress(OSError):
            os.write(tell, str(error.strerror or error).encode())
        os._exit(1)
    while True:
        pid, status = os.wait()
        if pid == runner:
            code = os.waitstatus_to_exitcode(status)
            os._exit(code if code >= 0 else 128 - code)


def mount_private():
    mount("none", "/", flags=MS_REC | MS_PRIVATE)
    mount("proc", "/proc", "proc")
    fresh("/run", [ROOT])
    if os.path.isdir("/dev/shm"):
        fresh("/dev/shm")
    for folder in (STATE, STATE / "scratch", NAMES):
        folder.mkdir()
    (STATE / "hosts").write_text(localhost())
    bind(STATE / "hosts", "/etc/hosts")


def try_network():
    """Brings loopback up, and finds out whether this kernel has what the hosts need."""
    run_ip(["link set lo up", "link add switch type bridge", "link delete switch", "link add one type veth peer name two", "link delete one"])
    if not os.path.exists("/proc/net/if_inet6"):
        raise OSError("there is no IPv6")


def localhost():
    return "127.0.0.1 localhost\n::1 localhost ip6-localhost\n"


def run_ip(commands, *options):
    """Commands of ip(8) in the network namespace of this thread. With -force it goes on after errors, and there is none."""
    said = subprocess.run([shutil.which("ip", path=PATH), *options, "-batch", "-"], input="\n".join(commands) + "\n", text=True, capture_output=True, timeout=30)
    if said.returncode != 0 and "-force" not in options:
        raise OSError(f"ip: {said.stderr.strip()}")


@contextlib.contextmanager
def several(count, wanted=True):
    """Hosts for a runner that is not about them: the net, or None if they are not wanted. Call it before any thread is started."""
    if not wanted:
        yield None
        return
    enter()
    with Hosts(count) as net:
        yield net


# ---- hosts


RSH = """#!/bin/sh
# rsh [options] [user@]host command...: as ssh is called, with the login's environment and folder, but by way of nsenter: no network is needed.
while :; do case $1 in -n) exec </dev/null; shift ;; -[BbcDEeFIiJLlmOoPpQRSWw]) shift 2 ;; -*) shift ;; *) break ;; esac; done
at={names}/${{1#*@}}; [ -f "$at" ] || {{ echo "rsh: Could not resolve hostname ${{1#*@}}: Name or service not known" >&2; exit 255; }}
shift; exec nsenter -t "$(cat "$at")" -m -u -i -n env -i {environment} sh -c "cd 2>/dev/null; ${{*:-exec sh}}"
"""


class Hosts:
    """Hosts h0 to hN-1 on one switch, each with its own name, addresses, interfaces, System V memory, /etc/hosts, and boot_id and
    machine-id, by which libraries know that two processes share memory. One such net at a time.

    own: folders of which each host has its own, empty at first ("/tmp", "/dev/shm"); the source tree, the runner's scratch folders and
    `keep` stay visible below them. own_name_is_local: as Debian installs it, a host's own name is 127.0.1.1 in its /etc/hosts. names: others
    than h0 to hN-1, of at most 10 letters."""

    def __init__(self, count, own=(), keep=(), own_name_is_local=False, names=None):
        assert inside and 0 < count <= 200
        self.names = names or [f"h{i}" for i in range(count)]
        self.numbers = {host: i + 1 for i, host in enumerate(self.names)}  # the last part of their addresses; those of traps too
        self.aimed, self.trapped = set(), set()  # pairs (a, b): a asks no more for b's link address; a's packets to b go to a trap
        self.own, self.keep, self.own_name_is_local = own, [ROOT, STATE, *keep], own_name_is_local
        self.holders, self.daemons, self.ends = {}, {}, contextlib.ExitStack()

    def __enter__(self):
        with contextlib.ExitStack() as undo:
            undo.callback(self.remove)
            self.make()
            undo.pop_all()
        return self

    def __exit__(self, *_):
        self.remove()

    def addresses(self, host):
        """(IPv4, IPv6) of a host."""
        number = self.numbers[host]
        return f"10.0.0.{number}", f"fd00::{number:x}"

    def make(self):
        run_ip(["link add switch type bridge mcast_snooping 0", f"address add {OUTSIDE[0]}/24 dev switch", f"address add {OUTSIDE[1]}/64 dev switch nodad",
                "link set switch up"])
        self.attach(self.names)
        for host in self.names:
            for name in (host, *self.addresses(host)):
                (NAMES / name).write_text(f"{self.holders[host]}\n")
        (STATE / "hosts").write_text(self.hosts_file())
        self.write_remote_shell()

    def attach(self, names):
        """Makes namespaces of these names, which have numbers, and plugs them into the switch."""
        readers = [self.fork_holder(name) for name in names]
        for name, reader in zip(names, readers):
            with os.fdopen(reader) as said:
                why = said.read()
            if why != "ready":
                raise OSError(f"{name}: {why}")
        run_ip([*(f"link add to-{name} type veth peer name eth0 address {self.link_address(name)} netns {self.holders[name]}" for name in names),
                *(f"link set to-{name} master switch up" for name in names)])
        for name in names:
            v4, v6 = self.addresses(name)
            self.ip(name, "link set lo up", f"address add {v4}/24 dev eth0", f"address add {v6}/64 dev eth0 nodad", "link set eth0 up")

    def link_address(self, name):
        return f"02:00:00:00:01:{self.numbers[name]:02x}"

    def fork_holder(self, host):
        """Starts the process that holds a host's namespaces; the descriptor from which `ready` can be read."""
        reader, writer = os.pipe()
        pid = os.fork()
        if pid == 0:
            try:
                self.become_holder(host)
                os.write(writer, b"ready")
            except BaseException as error:
                os.write(writer, str(error).encode())
            os.closerange(0, 1 << 16)
            while True:
                signal.pause()
        os.close(writer)
        self.holders[host] = pid
        return reader

    def become_holder(self, host):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):  # Ctrl-C is for the runner
            signal.signal(number, signal.SIG_IGN)
        call("unshare", CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWNET)
        socket.sethostname(host)
        identity = uuid.uuid4()
        for path, text in (("/etc/hosts", self.hosts_file(host)), ("/etc/machine-id", f"{identity.hex}\n"), ("/proc/sys/kernel/random/boot_id", f"{identity}\n")):
            own = STATE / f"{pathlib.Path(path).name}.{host}"
            own.write_text(text)
            if path == "/etc/hosts" or os.path.exists(path):
                bind(own, path)
        for path in self.own:
            fresh(path, self.keep)
        pathlib.Path("/proc/sys/net/ipv4/ip_unprivileged_port_start").write_text("0")  # for an sshd that is not root

    def hosts_file(self, of=None):
        """/etc/hosts as one host sees it (None: as the runner does)."""
        lines = [f"{address} {host}" for host in self.names for address in self.addresses(host) if not (self.own_name_is_local and host == of)]
        return localhost() + "".join(f"{line}\n" for line in lines + [f"127.0.1.1 {of}"] * bool(self.own_name_is_local and of))

    def write_remote_shell(self):
        """Its environment is that of a login, as ssh's is: what the caller exported is not there."""
        login = {"HOME": os.environ.get("HOME", "/"), "USER": os.environ.get("USER", "root"), "SHELL": "/bin/sh", "PATH": PATH}
        environment = " ".join(shlex.quote(f"{name}={value}") for name, value in login.items())
        self.remote_shell = STATE / "rsh"
        self.remote_shell.write_text(RSH.format(names=NAMES, environment=environment))
        self.remote_shell.chmod(0o755)

    def remove(self):
        """Also after a make() that failed half way."""
        self.ends.close()
        self.trapped.clear()
        self.detach(list(self.holders))
        with contextlib.suppress(OSError):  # it was not made
            run_ip(["link delete switch"])
        for path in NAMES.iterdir():
            path.unlink()

    def detach(self, names):
        for name in names:
            self.kill(name)
        run_ip([f"link delete to-{name}" for name in names], "-force")  # some may not have been made
        for name in names:
            holder = self.holders.pop(name)
            os.kill(holder, signal.SIGKILL)
            os.waitpid(holder, 0)
            del self.numbers[name]

    # ---- commands

    def words(self, host, words, cwd=None):
        """The command line, for any runner of commands, that runs the words on a host. It becomes the command: same process, same signals."""
        there = ["sh", "-c", 'cd -- "$0" && exec "$@"', str(cwd or os.getcwd())]  # entering a mount namespace leads to its root
        return ["nsenter", "-t", str(self.holders[host]), "-m", "-u", "-i", "-n", *there, *map(str, words)]

    def run(self, host, words, cwd=None, **options):
        return harness.run(*self.words(host, words, cwd), **options)

    def start(self, host, words, cwd=None, **options):
        return harness.start(*self.words(host, words, cwd), **options)

    def mpirun(self, launcher, *words, hosts=("h0", "h1"), cwd=None, **options):
        """The result of mpirun on the first of these hosts with a job on all of them; nothing of it may be left anywhere."""
        job = [launcher, "--rsh", self.remote_shell, "-host", ",".join(hosts), *words]
        result = self.run(hosts[0].split(":")[0], job, cwd, **options)
        harness.wait_until(lambda: not self.left(), "the end of all processes of the job", 5)
        return result

    @contextlib.contextmanager
    def inside(self, host):
        """This thread, and the sockets and processes that it makes, are in the host's network (nothing else is the host's)."""
        with open("/proc/thread-self/ns/net") as back, open(f"/proc/{self.holders[host]}/ns/net") as there:
            call("setns", there.fileno(), CLONE_NEWNET)
            try:
                yield
            finally:
                call("setns", back.fileno(), CLONE_NEWNET)

    def ip(self, host, *commands):
        """Commands of ip(8) on a host: more addresses, more interfaces, routes."""
        with self.inside(host):
            run_ip(commands)

    # ---- faults

    def link_down(self, host):
        """Pulls the host's cable: nothing gets in or out, nobody is told but the host's own interface, which keeps its addresses."""
        run_ip([f"link set to-{host} down"])

    def link_up(self, host):
        run_ip([f"link set to-{host} up"])

    def cut(self, a, b, both=False):
        """What a sends to b is lost on the way, in silence; with `both` the other way too. That needs no packet filter, and no right that
        a user namespace does not give."""
        self.aim(a, b, NOBODY)
        if both:
            self.aim(b, a, NOBODY)
        elif (b, a) not in self.aimed:  # b must not have to ask a, whose answer would be lost (IPv6)
            self.heal(b, a)

    def heal(self, a, b, both=False):
        """Undoes cut."""
        self.aim(a, b, self.link_address(trap_name(a, b) if (a, b) in self.trapped else b))
        if both:
            self.heal(b, a)

    def aim(self, a, b, link_address):
        """a's packets to b go to this link address from now on."""
        self.ip(a, *(f"neighbour replace {to} lladdr {link_address} dev eth0 nud permanent" for to in self.addresses(b)))
        self.aimed.add((a, b))

    def proxy(self, a, b, ports):
        """A proxy (proxy.py) between two hosts until its end: connections to these ports go by way of it, whichever of the two dials, and
        whatever address of the other it dials. Other ports refuse connections meanwhile. The side that is dialled sees the runner's address.

        The proxy listens in a trap for each direction: a namespace that has the addresses of the host that is dialled, too."""
        listeners = []
        for near, far in ((a, b), (b, a)):
            trap = self.make_trap(near, far)
            with self.inside(trap):
                listeners += [(proxy.listener((address, port)), (address, port)) for address in self.addresses(far) for port in ports]
            self.trapped.add((near, far))
            self.heal(near, far)
        return proxy.Proxy(listeners, lambda: self.end_traps([(a, b), (b, a)]))

    def make_trap(self, near, far):
        trap = trap_name(near, far)
        self.numbers[trap] = next(number for number in range(253, 200, -1) if number not in self.numbers.values())
        self.attach([trap])
        with self.inside(trap):
            pathlib.Path("/proc/sys/net/ipv4/conf/all/arp_ignore").write_text("1")  # nobody is to hear of it
        self.aim(trap, near, self.link_address(near))  # nor does it ask for the address, in the name of the host that it plays
        self.ip(trap, *(f"address add {address} dev lo{' nodad' if ':' in address else ''}" for address in self.addresses(far)))
        return trap

    def end_traps(self, pairs):
        for pair in pairs:
            if pair in self.trapped:  # else the whole net has ended already
                self.trapped.remove(pair)
                self.heal(*pair)
                self.detach([trap_name(*pair)])

    # ---- processes of a host

    def all_processes(self, host):
        """Living processes in the host's network namespace, without its holder."""
        net, found = os.readlink(f"/proc/{self.holders[host]}/ns/net"), []
        if net == os.readlink("/proc/self/ns/net"):  # this host was never made
            return []
        for entry in os.listdir("/proc"):
            if entry.isdigit() and int(entry) not in (self.holders[host], os.getpid()):
                with contextlib.suppress(OSError):  # it has ended; for one that was not waited for, there is no link
                    if os.readlink(f"/proc/{entry}/ns/net") == net:
                        found.append(int(entry))
        return found

    def processes(self, host):
        """What tests have started on the host and what that left behind: all but the sshd of sshd()."""
        return [pid for pid in self.all_processes(host) if pid != self.daemons.get(host)]

    def left(self):
        """{host: command lines} of all hosts that have processes; empty if nothing is left."""
        found = {host: [command_line(pid) for pid in self.processes(host)] for host in self.names}
        return {host: lines for host, lines in found.items() if lines}

    def stop(self, host):
        """Stops all processes of the host. Its kernel still answers: connections stay and fill; add link_down for a host that is silent."""
        self.signal_until(host, signal.SIGSTOP, "TtZXD")  # D: a stopped child is about to exec for it (vfork)

    def cont(self, host):
        """Process groups as a whole first: if one of a group ended while others are still stopped, the kernel would send all of them a SIGHUP."""
        pids = self.all_processes(host)
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(os.getpgid(pid), signal.SIGCONT)
        for pid in pids:
            send(pid, signal.SIGCONT)

    def kill(self, host):
        """Kills all processes of the host, as a power cut does; its sshd too."""
        self.signal_until(host, signal.SIGKILL, "ZX")
        self.daemons.pop(host, None)

    def signal_until(self, host, number, states, seconds=10):
        """Again until all have got the signal and are in one of these states: some were just being forked."""
        began, sent = time.monotonic(), set()
        while waiting := [pid for pid in self.all_processes(host) if pid not in sent or process_state(pid) not in states]:
            if patience.left(began, seconds) < 0:
                raise AssertionError(f"{host}: signal {number} did not do it for {[command_line(pid) for pid in waiting]}")
            for pid in waiting:
                send(pid, number)
                sent.add(pid)
            time.sleep(0.001)

    # ---- a real sshd

    def sshd(self):
        """Starts an sshd on each host, with keys made here. The path of a script that is called as ssh and logs in with them."""
        program = shutil.which("sshd", path=PATH)
        if not program:
            raise Skip("there is no sshd (package openssh-server)")
        folder = STATE / "ssh"
        if not folder.exists():
            make_keys(folder)
        pathlib.Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
        for host in self.names:
            with open(folder / f"{host}.log", "w") as log:
                daemon = self.start(host, [*as_caller(), program, "-D", "-e", "-f", folder / "sshd_config"], stdout=log, stderr=log)
            self.daemons[host] = daemon.pid
            self.ends.callback(daemon.wait)
            self.ends.callback(daemon.kill)
        for host in self.names:
            harness.wait_until(lambda: accepts(self.addresses(host)[0], 22), f"{host}: sshd: {(folder / f'{host}.log').read_text()}")
        self.try_login(folder)
        harness.wait_until(lambda: not self.left(), "the end of the connections that tried it")
        return folder / "ssh"

    def try_login(self, folder):
        """Skip if this user may not log in anywhere; else it must work."""
        result = harness.run(folder / "ssh", "h0", "true", code=None)
        log = (folder / "h0.log").read_text()
        if why := re.search(r"User .* not allowed because .*", log):
            raise Skip(f"sshd: {why.group()}")
        harness.expect(result.code == 0, "ssh logs in", result, log)


def trap_name(near, far):
    return f"{near}-{far}"


def make_keys(folder):
    folder.mkdir(mode=0o700)
    for name in ("host", "user"):
        harness.run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / name)
    shutil.copy(folder / "user.pub", folder / "authorized_keys")
    (folder / "known_hosts").write_text(f"* {(folder / 'host.pub').read_text()}")
    (folder / "sshd_config").write_text(
        f"HostKey {folder}/host\nAuthorizedKeysFile {folder}/authorized_keys\nPidFile none\nUsePAM no\nStrictModes no\nUseDNS no\n"
        "PasswordAuthentication no\nPermitRootLogin prohibit-password\nMaxStartups 1000\nMaxSessions 1000\n")
    (folder / "ssh_config").write_text(
        f"IdentityFile {folder}/user\nIdentitiesOnly yes\nUserKnownHostsFile {folder}/known_hosts\nGlobalKnownHostsFile /dev/null\n"
        f"StrictHostKeyChecking yes\nBatchMode yes\nLogLevel ERROR\nUser {login_name()}\n")
    (folder / "ssh").write_text(f'#!/bin/sh\nexec ssh -F {folder}/ssh_config "$@"\n')
    (folder / "ssh").chmod(0o755)


def login_name():
    return pwd.getpwuid(real_uid if inside == "user" else 0).pw_name


def as_caller():
    """In a user namespace there is one user, called root, and an sshd of root would want another one. So it runs as the caller."""
    return ["unshare", "--user", f"--map-user={real_uid}", f"--map-group={real_gid}"] if inside == "user" and real_uid != 0 else []


def accepts(address, port):
    with contextlib.suppress(OSError), socket.create_connection((address, port), timeout=1):
        return True
    return False


def send(pid, number):
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def process_state(pid):
    """The letter of proc(5); X if there is no such process."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return "X"


def command_line(pid):
    with contextlib.suppress(OSError):
        return f"{pid}: " + pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
    return f"{pid}"
