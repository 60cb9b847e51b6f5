"""The iSCSI server beside tgt, in one run: conformance, rates, processor time, memory.

    .venv/bin/python benches/iscsi_peers.py [--seconds 4]

Conformance is that of `iscsi-test-cu` (Debian: libiscsi-bin), by tests that pass, fail and are
skipped. Rates are those of an initiator of this file, with 32 commands at once, and of `iscsi-perf`
of libiscsi with 128, on drives whose times are zero (`--speed 0`) and on a file in memory of tgt.
The processor time of the server for a command hardly depends on what else the machine does. tgt
needs root.
"""

import argparse
import contextlib
import os
import re
import resource
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

#: A drive of 18 GB, and the size of tgt's file.
DRIVE, BYTES = "ibm-18es", 1 << 30
#: Commands at once: of the initiator of this file, and of `iscsi-perf`.
WINDOW, MOST = 32, 128
INITIATOR = "iqn.2026-11.org.example:initiator"
TICKS = os.sysconf("SC_CLK_TCK")


class AbsentError(Exception):
    """Something is absent here; the message says what."""


@dataclass(frozen=True)
class Server:
    """A server that runs.

    Attributes:
        name: for people.
        url: of its disk.
        pid: of its process.
    """

    name: str
    url: str
    pid: int

    def cpu_s(self) -> float:
        """Return the processor time that it has had, seconds."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def memory(self) -> int:
        """Return the bytes that it has in memory."""
        found = re.search(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{self.pid}/status").read_text())
        return int(found[1]) << 10 if found else 0


class Initiator:
    """A session with one target: RFC 7143, as much as measuring needs."""

    def __init__(self, url: str, isid: int = 1) -> None:
        """Log in."""
        parts = re.match(r"iscsi://([^/]+)/([^/]+)/(\d+)", url)
        assert parts is not None, url
        host, target, lun = parts.groups()
        name, port = host.rsplit(":", 1)
        self._socket = socket.create_connection((name, int(port)), timeout=60)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._lun, self._sn, self._tag = int(lun), 1, 0
        self._input = bytearray()
        text = b"".join(
            f"{key}={value}\0".encode()
            for key, value in {
                "InitiatorName": INITIATOR,
                "TargetName": target,
                "SessionType": "Normal",
                "AuthMethod": "None",
                "HeaderDigest": "None",
                "DataDigest": "None",
                "MaxRecvDataSegmentLength": "262144",
            }.items()
        )
        # From the security phase to the operational one, to full feature.
        stages = [(0x81, text), (0x87, b"")]
        for flags, keys in stages:
            head = bytearray(48)
            head[0], head[1] = 0x43, flags
            head[5:8] = len(keys).to_bytes(3, "big")
            head[8:14] = bytes((0x80, 0, 0, 0, 0, isid & 0xFF))
            head[11:13] = (isid >> 8).to_bytes(2, "big")
            head[24:28] = self._sn.to_bytes(4, "big")
            self._socket.sendall(bytes(head) + keys + bytes(-len(keys) % 4))
            answer, _ = self._unit()
            assert answer[0] & 0x3F == 0x23, answer
            assert answer[36:38] == b"\0\0", answer[36:38]

    def _unit(self) -> tuple[bytes, bytes]:
        """Return header and data of the next unit."""
        head = self._take(48)
        length = int.from_bytes(head[5:8], "big")
        return head, self._take(length + -length % 4)

    def _take(self, n: int) -> bytes:
        while len(self._input) < n:
            got = self._socket.recv(1 << 18)
            if not got:
                raise ConnectionError("the server has closed the connection")
            self._input += got
        taken = bytes(self._input[:n])
        del self._input[:n]
        return taken

    def run(self, cdb: bytes, expected: int, count: int) -> int:
        """Send a command so many times, WINDOW at once; return how many ended with GOOD."""
        flags = 0xC1 if expected else 0x81
        sent = ended = good = 0
        while ended < count:
            batch = bytearray()
            while sent < count and sent - ended < WINDOW:
                batch += self._command(flags, cdb, expected)
                sent += 1
            if batch:
                self._socket.sendall(batch)
            n, well = self._some_ends()
            ended, good = ended + n, good + well
        return good

    def _command(self, flags: int, cdb: bytes, expected: int) -> bytes:
        self._tag += 1
        head = struct.pack(
            ">BB6x8sIIII16s", 0x01, flags, bytes((0, self._lun, 0, 0, 0, 0, 0, 0)), self._tag,
            expected, self._sn, 0, cdb,
        )  # fmt: skip
        self._sn += 1
        return head

    def _some_ends(self) -> tuple[int, int]:
        """Read until commands have ended; return how many, and how many with GOOD."""
        ended = good = 0
        while not ended or len(self._input) >= 48:
            head, _ = self._unit()
            kind = head[0] & 0x3F
            if kind == 0x21 or (kind == 0x25 and head[1] & 1):
                ended += 1
                good += head[3] == 0
            elif kind not in (0x25, 0x20):
                raise AssertionError(f"unit {kind:02x}")
        return ended, good

    def write(self, lba: int, data: bytes) -> int:
        """Write blocks to the medium (FUA), with their data in the command; return the status."""
        self._tag += 1
        cdb = struct.pack(">BBIBHB", 0x2A, 0x08, lba, 0, len(data) // 512, 0)
        head = struct.pack(
            ">BB3s3s8sIIII16s", 0x01, 0xA1, bytes(3), len(data).to_bytes(3, "big"),
            bytes((0, self._lun, 0, 0, 0, 0, 0, 0)), self._tag, len(data), self._sn, 0, cdb,
        )  # fmt: skip
        self._sn += 1
        self._socket.sendall(head + data)
        answer, _ = self._unit()
        assert answer[0] & 0x3F == 0x21, answer
        return answer[3]

    def close(self) -> None:
        """End the connection."""
        self._socket.close()


def free_port() -> int:
    """Return a port of this machine that nobody listens at now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextlib.contextmanager
def headstack_server() -> Iterator[Server]:
    """Run the server of this project, with times of zero."""
    program = Path(sys.executable).with_name("headstack")
    command = [str(program), "emulate", DRIVE, "--iscsi", "127.0.0.1:0", "--speed", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        assert process.stdout is not None
        yield Server("headstack", process.stdout.readline().strip(), process.pid)
    finally:
        process.terminate()
        process.wait(20)


@contextlib.contextmanager
def tgt_server() -> Iterator[Server]:
    """Run tgt with a file in memory; raise `AbsentError` where it is absent or refuses to run."""
    for program in ("tgtd", "tgtadm"):
        if shutil.which(program) is None:
            raise AbsentError(f"{program} is absent (Debian: tgt)")
    if os.geteuid() != 0:
        raise AbsentError("tgt needs root")
    port, control = free_port(), 30_000 + os.getpid() % 1000
    name = "iqn.2026-11.org.example:tgt"
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        store = Path(folder) / "disk"
        with store.open("wb") as file:
            file.truncate(BYTES)
        process = subprocess.Popen(
            ["tgtd", "-f", "-C", str(control), "--iscsi", f"portal=127.0.0.1:{port}"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

        def admin(*args: str) -> bool:
            call = ["tgtadm", "-C", str(control), "--lld", "iscsi", *args]
            return subprocess.run(call, capture_output=True, check=False).returncode == 0

        try:
            new = ("--op", "new", "--mode", "target", "--tid", "1", "-T", name)
            for _ in range(50):
                if admin(*new):
                    break
                time.sleep(0.1)
            else:
                raise AbsentError("tgtd does not run here")
            disk = ("--op", "new", "--mode", "logicalunit", "--tid", "1", "--lun", "1")
            assert admin(*disk, "-b", str(store))
            assert admin("--op", "bind", "--mode", "target", "--tid", "1", "-I", "ALL")
            yield Server("tgt", f"iscsi://127.0.0.1:{port}/{name}/1", process.pid)
        finally:
            process.kill()
            process.wait(20)


@dataclass(frozen=True)
class Conformance:
    """What `iscsi-test-cu` found.

    Attributes:
        tests: number of tests of the family.
        ran: how many of them ran.
        passed: how many passed.
        failed: how many did not.
        skipped: why tests skipped something, by name.
        said: all that it printed.
    """

    tests: int
    ran: int
    passed: int
    failed: int
    skipped: dict[str, str]
    said: str


def conformance(url: str, family: str) -> Conformance:
    """Run a family of libiscsi's tests, `SCSI` or `iSCSI`."""
    done = subprocess.run(
        ["iscsi-test-cu", "-d", "-t", family, url], capture_output=True, text=True, timeout=280, check=False
    )
    said = done.stdout + done.stderr
    totals = re.search(r"^\s*tests\s+(\d+)\s+(\d+)\s+(\d+)\s+(\d+)", said, re.MULTILINE)
    if totals is None:
        raise AbsentError(f"iscsi-test-cu ended early: {said[-300:]}")
    suite, test, skipped = "", "", {}
    for line in said.splitlines():
        if found := re.match(r"Suite: (\S+)", line):
            suite = found[1]
        if found := re.match(r"\s*Test: (\S+)", line):
            test = f"{suite}.{found[1]}"
        if found := re.search(r"\[SKIPPED\] (.*)", line):
            skipped.setdefault(test, found[1])
    tests, ran, passed, failed = (int(n) for n in totals.groups())
    return Conformance(tests, ran, passed, failed, skipped, said)


#: Commands whose rates are measured: TEST UNIT READY, and reads of 4 KiB at one place.
LOADS = {"TEST UNIT READY": (bytes(16), 0), "reads of 4 KiB": (bytes((0x28, 0, 0, 0, 0, 64, 0, 0, 8)) + bytes(7), 4096)}


def rates(server: Server, seconds: float) -> dict[str, tuple[float, float]]:
    """Return commands per second, and microseconds of the server for each, of each load."""
    session = Initiator(server.url)
    # Unit attentions first.
    session.run(bytes(16), 0, 4)
    found = {}
    for name, (cdb, expected) in LOADS.items():
        begin, cpu, n = time.monotonic(), server.cpu_s(), 0
        while time.monotonic() - begin < seconds:
            good = session.run(cdb, expected, 4000)
            assert good == 4000, f"{name}: {good} of 4000"
            n += good
        took, spent = time.monotonic() - begin, server.cpu_s() - cpu
        found[name] = (n / took, spent / n * 1e6)
    session.close()
    return found


def quick_reads(server: Server, seconds: int) -> tuple[float, float]:
    """Return reads of 4 KiB per second that `iscsi-perf` gets, and microseconds for each."""
    cpu = server.cpu_s()
    options = ["-m", str(MOST), "-b", "8", "-t", str(seconds)]
    said = subprocess.run(["iscsi-perf", *options, server.url], capture_output=True, text=True, check=True).stdout
    rate = int(re.findall(r"iops average (\d+)", said)[-1])
    return rate, (server.cpu_s() - cpu) / (rate * seconds) * 1e6


def memory_of_sessions(server: Server, count: int) -> tuple[float, float]:
    """Return bytes of the server for each of so many sessions, and those that stay afterwards."""
    before = server.memory()
    sessions = [Initiator(server.url, isid) for isid in range(1, count + 1)]
    for session in sessions:
        session.run(bytes(16), 0, 2)
    during = server.memory()
    for session in sessions:
        session.close()
    time.sleep(1)
    return (during - before) / count, (server.memory() - before) / count


def main() -> None:
    """Print the tables."""
    ask = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    ask.add_argument("--seconds", type=float, default=4, help="of each rate")
    ask.add_argument("--sessions", type=int, default=1000)
    asked = ask.parse_args()
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 8192), hard))
    print("| server | SCSI: tests, failed, skipped | iSCSI | TEST UNIT READY | reads of 4 KiB "
          "| reads, iscsi-perf |")  # fmt: skip
    print("|---|---|---|---|---|---|")
    for start in (headstack_server, tgt_server):
        with start() as server:
            found = (conformance(server.url, family) for family in ("SCSI", "iSCSI"))
            cells = [f"{c.tests}, {c.failed}, {len(c.skipped)}" for c in found]
            got = rates(server, asked.seconds)
            got["iscsi-perf"] = quick_reads(server, max(1, round(asked.seconds)))
            cells += [f"{rate:,.0f}/s, {us:.1f} us" for rate, us in got.values()]
            print(f"| {server.name} | {' | '.join(cells)} |", flush=True)
            each, left = memory_of_sessions(server, asked.sessions)
            print(f"{server.name}: {each:,.0f} bytes for each of {asked.sessions} sessions, "
                  f"{left:,.0f} afterwards", file=sys.stderr)  # fmt: skip


if __name__ == "__main__":
    try:
        if shutil.which("iscsi-test-cu") is None:
            raise AbsentError("iscsi-test-cu is absent (Debian: libiscsi-bin)")
        main()
    except AbsentError as reason:
        sys.exit(str(reason))
