"""Three hosts on one machine: namespaces of their own, joined by a network.

`python3 world.py …` is not a program: case.py starts itself inside an outer set of namespaces
(`enter`), and there makes the hosts (`World`). All that is made ends with the outer PID namespace,
however that ends, so that neither processes nor interfaces are left.

Each host has its own network, mount, UTS, IPC and PID namespace, an empty /tmp and /dev/shm, and
one interface, eth0. In the mode "bridge", veth pairs join the hosts to a bridge; in the mode
"forwarder", TAP devices join them to forwarder.py, which can drop, delay and reorder frames.
"""

import array
import ctypes
import fcntl
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
import time

import forwarder

NAMES = ("host-a", "host-b", "host-c")
ROOT = "/mnt"  # a tmpfs in the outer mount namespace: tree/, build/ and run/
NAMESPACES = "--net --mount --uts --ipc --pid --fork --kill-child --mount-proc".split()
TUNSETIFF, IFF_TAP, IFF_NO_PI = 0x400454CA, 0x0002, 0x1000
PR_SET_PDEATHSIG = 1
HOST = """
set -e
hostname "$1"
mount -t tmpfs none /tmp
chmod 1777 /tmp
mount -t tmpfs none /dev/shm
mount --bind "$2" /etc/hosts
ip link set lo up
echo ready
exec sleep infinity
"""
POSSIBLE = """
ip link add name b0 type bridge && ip link add v0 type veth peer name v1 && ip link set v1 up &&
mount -t tmpfs none /mnt && hostname host-a && test -c /dev/net/tun && ip tuntap add dev t0 mode tap
"""


def with_parent():
    """Ends this process with the one that started it."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def why_impossible():
    """Why no hosts can be made on this machine; "" if they can."""
    try:
        run = subprocess.run(
            ["unshare", *NAMESPACES, "sh", "-c", POSSIBLE],
            capture_output=True,
            text=True,
            check=False,
            preexec_fn=with_parent,
        )
    except FileNotFoundError:
        return "there is no unshare"
    if run.returncode == 0:
        return ""
    said = " ".join(run.stderr.split())
    return f"no network namespaces, veth, bridge or TAP devices here: {said or run.returncode}"


def enter(argv, **more):
    """Starts a command as the first process of the outer namespaces."""
    return subprocess.Popen(["unshare", *NAMESPACES, *argv], preexec_fn=with_parent, **more)


def _ip(*words):
    subprocess.run(["ip", *words], check=True)


def _open_tap(name):
    fd = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
    fcntl.ioctl(fd, TUNSETIFF, struct.pack("16sH22x", name.encode(), IFF_TAP | IFF_NO_PI))
    return fd


def _children(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        return [int(word) for word in file.read().split()]


class Host:
    """One host: its first process keeps the namespaces."""

    def __init__(self, name, hosts_file):
        self.name = name
        self.keeper = subprocess.Popen(
            ["unshare", *NAMESPACES, "sh", "-c", HOST, "host", name, hosts_file],
            stdout=subprocess.PIPE,
            text=True,
        )
        if self.keeper.stdout.readline() != "ready\n":
            raise OSError(f"{name} could not be made")
        self.pid = _children(self.keeper.pid)[0]

    def words(self, *argv):
        """The words that run a command on this host."""
        return ["nsenter", "-t", str(self.pid), "-n", "-m", "-u", "-i", "-p", "--", *argv]

    def run(self, *argv):
        """Runs a command on this host and returns its standard output."""
        run = subprocess.run(self.words(*argv), check=True, capture_output=True, text=True)
        return run.stdout

    def counters(self):
        """(bytes received, bytes sent) by eth0."""
        link = json.loads(self.run("ip", "-j", "-s", "link", "show", "eth0"))[0]["stats64"]
        return link["rx"]["bytes"], link["tx"]["bytes"]

    def processes(self):
        """{pid: words} of the processes of this host that have not ended."""
        here = os.readlink(f"/proc/{self.pid}/ns/pid")
        found = {}
        for entry in os.listdir("/proc"):
            if not entry.isdigit() or int(entry) == self.pid:
                continue
            try:
                if os.readlink(f"/proc/{entry}/ns/pid") != here:
                    continue
                with open(f"/proc/{entry}/cmdline", "rb") as file:
                    words = file.read().decode(errors="replace").split("\0")[:-1]
            except OSError:
                continue
            if words:  # a zombie has none
                found[int(entry)] = words
        return found


def environment_of(pid):
    """The environment with which a process started."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            pairs = file.read().decode(errors="replace").split("\0")
    except OSError:
        return {}
    return dict(pair.split("=", 1) for pair in pairs if "=" in pair)


class World:
    """The three hosts and their network."""

    def __init__(self, tree, build, environment, mode="bridge", seed=1):
        self.environment = environment
        self.mode = mode
        subprocess.run(["mount", "-t", "tmpfs", "none", ROOT], check=True)
        for name, of in (("tree", tree), ("build", build)):
            os.mkdir(f"{ROOT}/{name}")
            subprocess.run(["mount", "--bind", of, f"{ROOT}/{name}"], check=True)
        os.mkdir(f"{ROOT}/run")
        with open(f"{ROOT}/run/etc-hosts", "w", encoding="ascii") as file:
            file.write("127.0.0.1 localhost\n")
            for i, name in enumerate(NAMES):
                file.write(f"10.77.0.{i + 1} {name}\n")
        _ip("link", "set", "lo", "up")
        self.hosts = [Host(name, f"{ROOT}/run/etc-hosts") for name in NAMES]
        self.forwarder = None
        if mode == "bridge":
            self._bridge()
        else:
            self._forward(seed)
        for i, host in enumerate(self.hosts):
            host.run("ip", "addr", "add", f"10.77.0.{i + 1}/24", "dev", "eth0")
            host.run("ip", "link", "set", "eth0", "up")
        self._serve_agents()

    def _bridge(self):
        _ip("link", "add", "name", "br0", "type", "bridge")
        _ip("link", "set", "br0", "up")
        for host in self.hosts:
            port = "p-" + host.name
            pair = ("type", "veth", "peer", "name", "eth0", "netns", str(host.pid))
            _ip("link", "add", port, *pair)
            _ip("link", "set", port, "master", "br0", "up")

    def _forward(self, seed):
        taps = []
        for i, host in enumerate(self.hosts):
            taps.append(_open_tap(f"tap{i}"))
            _ip("link", "set", f"tap{i}", "netns", str(host.pid), "name", "eth0")
        self.forwarder = forwarder.Forwarder(taps, seed)
        self.forwarder.start()

    def link(self, name, up):
        """The cable of a host's interface: in the bridge its carrier is lost, in the forwarder all
        its frames."""
        if self.mode == "bridge":
            _ip("link", "set", "p-" + name, "up" if up else "down")
            return
        i = NAMES.index(name)
        for j in range(len(NAMES)):
            for way in ((i, j), (j, i)):
                self.forwarder.cut(way, not up)

    def cut_one_way(self, source, target, is_cut=True):
        """Frames from one host to another are lost; the other direction works."""
        way = (NAMES.index(source), NAMES.index(target))
        self.forwarder.cut(way, is_cut)

    def host(self, name):
        """The host of this name."""
        return self.hosts[NAMES.index(name)]

    def start(self, name, argv, **more):
        """Starts a command on a host, in ROOT/run."""
        words = self.host(name).words("env", "-C", f"{ROOT}/run", *argv)
        return subprocess.Popen(words, env=self.environment, **more)

    # ---- Open MPI's launch agent: agent.py asks this process to start a daemon on a host

    def _serve_agents(self):
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        listener.bind(f"{ROOT}/run/agent")
        listener.listen()
        threading.Thread(target=self._accept, args=(listener,), daemon=True).start()

    def _accept(self, listener):
        while True:
            connection, _ = listener.accept()
            threading.Thread(target=self._remote, args=(connection,), daemon=True).start()

    def _remote(self, connection):
        room = array.array("i", [0, 0, 0]).itemsize * 3
        data, control, _, _ = connection.recvmsg(1 << 16, socket.CMSG_LEN(room))
        fds = array.array("i")
        for _, _, bytes_ in control:
            fds.frombytes(bytes_)
        name, command = json.loads(data)
        run = self.start(name, ["sh", "-c", command], stdin=fds[0], stdout=fds[1], stderr=fds[2])
        for fd in fds:
            os.close(fd)
        try:
            connection.sendall(bytes([run.wait() & 255]))
        except OSError:
            pass  # the agent has ended
        connection.close()


def wait_until(holds, seconds, pause=0.05):
    """Waits until holds() returns something true, and returns it; None after so many seconds."""
    limit = time.monotonic() + seconds
    while True:
        value = holds()
        if value:
            return value
        if time.monotonic() > limit:
            return None
        time.sleep(pause)


if __name__ == "__main__":
    sys.exit(why_impossible())
