"""Emulated drives: usual clients, recorded sessions and arguments."""

import random
import signal
import socket
import struct
import subprocess
import time
from pathlib import Path
from urllib.parse import unquote

import pytest
from conftest import HEADSTACK, ROOT, THOROUGH, command

import headstack

pytestmark = pytest.mark.linux

READ, WRITE, FLUSH = 0, 1, 3


def path_of(uri: str) -> str:
    return unquote(uri.partition("socket=")[2])


class Client:
    """A client that sends one request after another, from the text of the protocol."""

    def __init__(self, path: str) -> None:
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        assert self.take(18)[:16] == b"NBDMAGICIHAVEOPT"
        self.socket.sendall(struct.pack(">I8sII", 3, b"IHAVEOPT", 1, 0))
        self.bytes, self.flags = struct.unpack(">QH", self.take(10))

    def take(self, n: int) -> bytes:
        found = b""
        while len(found) < n:
            found += self.socket.recv(n - len(found)) or pytest.fail("the server has left")
        return found

    def ask(self, command: int, offset: int = 0, length: int = 0, data: bytes = b"") -> bytes:
        head = struct.pack(">IHHQQI", 0x25609513, 0, command, 7, offset, length)
        self.socket.sendall(head + data)
        assert struct.unpack(">IIQ", self.take(16)) == (0x67446698, 0, 7)
        return self.take(length if command == READ else 0)


@pytest.mark.parametrize("drive", ["exos-x18", "barracuda-es-750"])
def test_a_recorded_session_is_a_trace_with_the_same_times(drive, tmp_path):
    trace, seed = tmp_path / "session.csv", 5
    print("seed", seed)
    rng = random.Random(seed)
    with headstack.emulate(drive, speed=0, seed=3, record=trace) as disk:
        client = Client(path_of(disk.uri))
        assert client.bytes == disk.size_bytes
        for i in range(150):
            offset = 4096 * rng.randrange(client.bytes // 4096 - 1)
            if i % 3 == 0:
                client.ask(WRITE, offset, 4096, bytes([i]) * 4096)
                assert client.ask(READ, offset, 4096) == bytes([i]) * 4096
            elif i % 50 == 1:
                client.ask(FLUSH)
            else:
                client.ask(READ, offset, 4096)
    assert disk.served["requests"] == 200
    assert disk.served["clients"] == 1
    rows = [line.split(",") for line in trace.read_text().splitlines()[1:]]
    result = headstack.run(workload={"trace": str(trace)}, systems={"drive": drive, "seed": 3})
    log = result.requests.sort_values("id")
    times = log["completion_ns"] - log["arrival_ns"]
    assert list(times) == [int(row[5]) for row in rows]


def test_systems_of_an_experiment(tmp_path):
    file = tmp_path / "shelf.toml"
    file.write_text(
        '[workload]\nsynthetic = { n_requests = 1, rate = "1/s" }\n'
        '[[system]]\nname = "shelf"\ndrive = "barracuda-es-750"\ncount = 3\n'
        '[[system]]\nname = "mirror"\ndrive = "barracuda-es-750"\ncount = 2\n'
        'organisation = "raid1"\n'
    )
    with headstack.emulate(file, system="shelf", speed=0) as disk:
        assert [d.name for d in disk.devices] == ["0", "1", "2"]
        assert disk.devices[2].description == "shelf, device 2"
    with headstack.emulate(file, system="mirror", speed=0) as disk:
        (device,) = disk.devices
        client = Client(path_of(disk.uri))
        client.ask(WRITE, 5, 3, b"abc")
        assert client.ask(READ, 4, 5) == b"\0abc\0"
    assert device.size_bytes <= 750156374016


def test_the_socket_and_its_folder_go():
    with headstack.emulate("exos-x18", speed=0) as disk:
        path = Path(path_of(disk.uri))
        assert path.is_socket()
    assert not path.parent.exists()
    assert not disk.stop()["requests"]


def started(*args: object) -> "subprocess.Popen[str]":
    words, pipe = [*HEADSTACK, "emulate", *map(str, args)], subprocess.PIPE
    return subprocess.Popen(words, stdout=pipe, stderr=pipe, text=True, cwd=ROOT)


def test_the_command_prints_the_uri_and_ends_with_a_signal(tmp_path):
    with started("exos-x18", "--nbd", f"unix:{tmp_path / 'disk'}") as server:
        uri = server.stdout.readline().strip()
        assert uri == f"nbd+unix:///?socket={tmp_path / 'disk'}"
        client = Client(str(tmp_path / "disk"))
        begun = time.monotonic()
        for i in range(10):
            client.ask(READ, i * client.bytes // 10, 4096)
        # Ten reads take ten seeks and turns: at least a millisecond each.
        assert time.monotonic() - begun > 0.01
        server.send_signal(signal.SIGINT)
        out, said = server.communicate(timeout=60)
    assert (out, server.returncode) == ("", 0)
    assert "10 requests of 1 clients; replies late by" in said
    assert not (tmp_path / "disk").exists()


def test_what_is_acknowledged_survives_kill_9(tmp_path):
    seed = 9
    print("seed", seed)
    rng = random.Random(seed)
    store = tmp_path / "disk"
    acknowledged = {}
    for kill in range(3 if THOROUGH <= 1 else 200):
        path = tmp_path / f"socket-{kill}"
        address = f"unix:{path}"
        with started("ibm-18es", "--nbd", address, "--store", store, "--speed", 0) as server:
            assert server.stdout.readline().startswith("nbd+unix")
            client = Client(str(path))
            for i in range(rng.randrange(1, 60)):
                block, data = rng.randrange(1000), struct.pack(">II", kill, i) * 512
                # The last one is not answered: it may be there or not.
                if i and rng.random() < 0.02:
                    acknowledged.pop(block, None)
                    head = struct.pack(">IHHQQI", 0x25609513, 0, WRITE, 7, block * 4096, 4096)
                    client.socket.sendall(head + data)
                    break
                client.ask(WRITE, block * 4096, 4096, data)
                acknowledged[block] = data
            server.kill()
            server.communicate(timeout=60)
        with store.open("rb") as file:
            for block, data in acknowledged.items():
                file.seek(block * 4096)
                assert file.read(4096) == data, (kill, block)
    assert len(acknowledged) > 20


@pytest.mark.parametrize("args", [("emulate",), ("emulate", "--iscsi"), ("probe",)])
def test_an_installation_for_simulations_says_how_to_get_more(monkeypatch, args):
    for name in ("emulate", "become_server", "Emulated", "ProbeTarget"):
        monkeypatch.delattr(headstack._core, name)
    target = "sim:wd-re3-2009" if args == ("probe",) else "wd-re3-2009"
    done = command(args[0], target, *args[1:])
    need = f"need one with servers and probes; run make live in {ROOT}"
    assert done.returncode == 1
    assert done.stderr.split() == (f"{args[0]}: got an installation for simulations alone, {need}".split())
    # It is a target of the file there.
    assert "\nlive: " in (ROOT / "Makefile").read_text("utf-8")
