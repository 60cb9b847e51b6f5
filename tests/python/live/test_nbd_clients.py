"""Programs that nobody here wrote, as clients of emulated drives: libnbd, QEMU, fio, nbdkit.

They are Debian's `libnbd-bin`, `python3-libnbd`, `qemu-utils`, `fio` and `nbdkit`; tests of absent
ones are skipped. Sizes are small in `make test`.
"""

import json
import os
import random
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from pathlib import Path

import needs
import pytest
from conftest import ROOT, THOROUGH, ran

import headstack

pytestmark = pytest.mark.linux

MIB = 1 << 20
#: Bytes that are copied to a drive and back.
IMAGE = 8 * MIB * THOROUGH


def nbdsh(script: str, **names: str) -> str:
    """Run a script of libnbd's shell; `h` is a handle that is not connected."""
    given = "".join(f"{k} = {v!r}\n" for k, v in names.items())
    return ran(*needs.NBDSH, "-c", given + textwrap.dedent(script), env=needs.plain())


@pytest.fixture(autouse=True)
def nothing_leaks() -> Iterator[None]:
    """No test leaves an open file or a thread."""
    open_files = set(os.listdir("/proc/self/fd"))
    threads = threading.active_count()
    yield
    assert len(os.listdir("/proc/self/fd")) <= len(open_files), os.listdir("/proc/self/fd")
    assert threading.active_count() == threads


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An authority, a server for localhost and a client."""
    folder = tmp_path_factory.mktemp("certificates")
    ran("sh", ROOT / "scripts/certificates.sh", folder)
    return folder


@pytest.mark.needs("nbdinfo")
def test_nbdinfo_sees_a_hard_disk():
    with headstack.emulate("exos-x18", speed=0) as disk:
        said = json.loads(ran("nbdinfo", "--json", disk.uri))
        (export,) = said["exports"]
        listed = json.loads(ran("nbdinfo", "--list", "--json", disk.uri))["exports"]
    assert export["export-size"] == disk.size_bytes
    assert export["contexts"] == ["base:allocation"]
    assert (export["block_size_minimum"], export["block_size_maximum"]) == (1, 32 * MIB)
    can = {k for k, v in export.items() if v is True}
    assert can >= {
        "is_rotational", "can_cache", "can_df", "can_fast_zero", "can_flush", "can_fua",
        "can_multi_conn", "can_trim", "can_zero",
    }  # fmt: skip
    assert export["is_read_only"] is False
    assert said["structured"] is True
    assert [e["export-name"] for e in listed] == ["0"]
    assert listed[0]["description"] == "exos-x18"


@pytest.mark.needs("nbdinfo", "nbdcopy")
def test_nbdinfo_lists_a_shelf(tmp_path):
    file = tmp_path / "shelf.toml"
    file.write_text(
        '[workload]\nsynthetic = { n_requests = 1, rate = "1/s" }\n'
        '[[system]]\nname = "shelf"\ndrive = "conner-cp3100"\ncount = 3\n'
    )
    data = random.Random(2).randbytes(3 * MIB)
    with headstack.emulate(file, speed=0) as disk:
        listed = json.loads(ran("nbdinfo", "--list", "--json", disk.uri))["exports"]
        second = disk.uri.replace(":///", ":///1")
        image = tmp_path / "image"
        image.write_bytes(data)
        ran("nbdcopy", image, second)
        places = ran("nbdinfo", "--map", second).split()
        empty = ran("nbdinfo", "--map", disk.uri.replace(":///", ":///2")).split()
    assert [(e["export-name"], e["description"]) for e in listed] == [(str(i), f"shelf, device {i}") for i in range(3)]
    # Offset, length, type, name of each extent; memory has pages of 64 KiB.
    assert places == [
        "0", str(3 * MIB), "0", "data",
        str(3 * MIB), str(disk.size_bytes - 3 * MIB), "3", "hole,zero",
    ]  # fmt: skip
    assert empty[:4] == ["0", str(disk.size_bytes), "3", "hole,zero"]


@pytest.mark.needs("nbdcopy", "qemu-img")
def test_nbdcopy_and_qemu_img_find_what_they_wrote(tmp_path):
    image, back = tmp_path / "image", tmp_path / "back"
    # Data with a hole in the middle.
    with image.open("wb") as file:
        file.write(random.Random(1).randbytes(3_000_000))
        file.seek(20 * MIB)
        file.write(b"end")
    with headstack.emulate("conner-cp3100", speed=0) as disk:
        assert disk.size_bytes > image.stat().st_size
        os.truncate(image, disk.size_bytes)
        ran("nbdcopy", image, disk.uri)
        ran("nbdcopy", "--connections=1", "--requests=1", disk.uri, back)
        assert back.read_bytes() == image.read_bytes()
        said = ran("qemu-img", "compare", "-f", "raw", "-F", "raw", image, disk.uri)
        assert "Images are identical" in said
    with headstack.emulate("conner-cp3100", speed=0, store=tmp_path / "store") as disk:
        ran("qemu-img", "convert", "-n", "-W", "-f", "raw", "-O", "raw", image, disk.uri)
        ran("nbdcopy", disk.uri, back)
        said = json.loads(ran("qemu-img", "map", "-f", "raw", "--output=json", disk.uri))
    assert back.read_bytes() == image.read_bytes()
    # The hole was not written.
    assert any(part["zero"] and part["length"] > 10 * MIB for part in said)
    assert (tmp_path / "store").stat().st_blocks * 512 < 5 * MIB


@pytest.mark.needs("qemu-img", "qemu-io")
def test_qemu_img_bench_and_qemu_io():
    with headstack.emulate("barracuda-es-750", speed=0) as disk:
        for more in ([], ["-w"], ["-w", "--flush-interval=40"]):
            count = str(400 * THOROUGH)
            ran("qemu-img", "bench", "-f", "raw", "-c", count, "-d", "32", *more, disk.uri)
        commands = [
            "write -P 7 1M 2M", "read -P 7 1M 2M", "write -f -P 9 0 512", "read -P 9 0 512",
            "write -z 1M 64k", "read -P 0 1M 64k", "discard 2M 64k", "aio_write -P 5 8M 4k",
            "aio_flush", "read -P 5 8M 4k", "flush",
        ]  # fmt: skip
        said = ran("qemu-io", "-f", "raw", *(w for c in commands for w in ("-c", c)), disk.uri)
        assert "Pattern verification failed" not in said
        assert "failed" not in said
    assert disk.served["requests"] > 1200


SHELL = """
    import nbd
    h.connect_uri(uri)
    assert h.get_size() == int(size) and h.can_multi_conn() and h.can_cache()
    def code(call):
        try:
            call()
        except nbd.Error as e:
            return e.errno
    # What is against the rules is sent nevertheless.
    h.set_strict_mode(0)
    end = h.get_size()
    assert code(lambda: h.pread(1, end)) == "EINVAL"
    assert code(lambda: h.pwrite(b"a", end)) == "ENOSPC"
    assert code(lambda: h.pread(0, 0)) == "EINVAL"
    assert code(lambda: h.zero(512, 0, nbd.CMD_FLAG_FAST_ZERO)) == "ENOTSUP"
    assert code(lambda: h.trim(512, end)) == "EINVAL"
    assert code(lambda: h.cache(512, end)) == "EINVAL"
    h.pwrite(b"x" * 100_000, 70_000, nbd.CMD_FLAG_FUA)
    h.zero(30_000, 80_000, nbd.CMD_FLAG_NO_HOLE)
    h.flush()
    h.cache(100_000, 0)
    want = b"x" * 10_000 + bytes(30_000) + b"x" * 60_000
    assert h.pread(100_000, 70_000) == want
    # In chunks, of which one may be a hole, or in one.
    for flags in 0, nbd.CMD_FLAG_DF:
        seen = []
        def chunk(data, offset, status, error):
            seen.append((offset, len(data), status))
        found = h.pread_structured(1 << 20, 0, chunk, flags)
        assert found[70_000:170_000] == want, flags
        assert sum(c[1] for c in seen if c[2] != nbd.READ_HOLE) >= 100_000
        if flags:
            assert seen == [(0, 1 << 20, nbd.READ_DATA)]
        else:
            assert seen[0] == (0, 65536, nbd.READ_HOLE), seen
    found = []
    def extent(name, offset, entries, error):
        found.append((name, entries))
    h.block_status(1 << 20, 0, extent)
    ((name, entries),) = found
    assert name == "base:allocation" and sum(entries[::2]) == 1 << 20
    found.clear()
    h.block_status(1 << 20, 0, extent, nbd.CMD_FLAG_REQ_ONE)
    assert found[0][1] == [65536, 3]
    h.trim(1 << 20, 0)
    h.shutdown()
"""


@pytest.mark.parametrize("structured", [True, False])
@pytest.mark.needs("nbdsh")
def test_libnbd_gets_the_answers_of_the_protocol(structured):
    script = textwrap.dedent(SHELL)
    if structured:
        script = script.replace("h.connect_uri", 'h.add_meta_context("base:allocation")\nh.connect_uri')
    else:
        # Without structured replies there are neither chunks nor metadata.
        first = script.index("# In chunks")
        script = "h.set_request_structured_replies(False)\n" + script[:first]
    with headstack.emulate("exos-x18", speed=0) as disk:
        nbdsh(script, uri=disk.uri, size=str(disk.size_bytes))


@pytest.mark.needs("nbdsh")
def test_libnbd_haggles_over_options():
    script = """
    import nbd
    h.set_opt_mode(True)
    h.set_full_info(True)
    h.connect_uri(uri)
    names = []
    h.opt_list(lambda name, description: names.append((name, description)))
    assert names == [("0", "exos-x18")], names
    contexts = []
    h.add_meta_context("base:allocation")
    h.add_meta_context("nobody:knows")
    h.opt_list_meta_context(lambda name: contexts.append(name))
    assert contexts == ["base:allocation"], contexts
    h.set_export_name("absent")
    try:
        h.opt_info()
        raise SystemExit("an export that is absent was described")
    except nbd.Error as e:
        assert e.errno == "ENOENT", e
    h.set_export_name("0")
    h.opt_info()
    assert h.get_canonical_export_name() == "0"
    assert h.get_export_description() == "exos-x18"
    assert h.get_block_size(nbd.SIZE_MAXIMUM) == 32 << 20
    h.opt_go()
    assert h.can_meta_context("base:allocation") and not h.can_meta_context("nobody:knows")
    h.shutdown()
    """
    with headstack.emulate("exos-x18", speed=0) as disk:
        nbdsh(script, uri=disk.uri)


def fio(uri: str, *more: str) -> dict[str, object]:
    said = ran("fio", "--name=v", "--ioengine=nbd", f"--uri={uri}", "--output-format=json", *more)
    # Connections are told before.
    return json.loads(said[said.index("\n{") :])


@pytest.mark.parametrize("pattern", ["randwrite", "write"])
@pytest.mark.parametrize(("jobs", "depth"), [(1, 1), (1, 32), (4, 1), (4, 32)])
@pytest.mark.needs("fio:nbd")
def test_fio_verifies_what_it_wrote(pattern, jobs, depth):
    size = THOROUGH * MIB
    with headstack.emulate("barracuda-es-750", speed=0) as disk:
        said = fio(
            disk.uri, f"--rw={pattern}", "--bs=4k", f"--size={size}", f"--iodepth={depth}",
            f"--numjobs={jobs}", f"--offset_increment={size}", "--verify=crc32c", "--fsync=100",
            "--verify_state_save=0", "--group_reporting", "--thread",
        )  # fmt: skip
    (job,) = said["jobs"]
    assert job["error"] == 0
    # Each block is written and read.
    blocks = jobs * size // 4096
    assert job["write"]["total_ios"] == blocks
    assert disk.served["requests"] >= 2 * blocks


@pytest.mark.parametrize("pattern", ["randread", "read", "randrw", "randtrim"])
@pytest.mark.needs("fio:nbd")
def test_fio_reads_and_mixes(pattern):
    with headstack.emulate("barracuda-es-750", speed=0) as disk:
        said = fio(
            disk.uri, f"--rw={pattern}", "--bs=16k", f"--size={8 * THOROUGH}M", "--iodepth=32",
            "--numjobs=2", "--group_reporting", "--thread",
        )  # fmt: skip
    assert said["jobs"][0]["error"] == 0


@pytest.mark.needs("nbdkit:nbd", "nbdcopy")
def test_nbdkit_is_a_proxy(tmp_path):
    image, back = tmp_path / "image", tmp_path / "back"
    with headstack.emulate("conner-cp3100", speed=0) as disk:
        image.write_bytes(random.Random(3).randbytes(min(IMAGE, disk.size_bytes)))
        os.truncate(image, disk.size_bytes)
        # Several connections to the drive, and shorter requests to it than those of the client.
        proxy = ["nbdkit", "--exit-with-parent", "-U", "-", "nbd", f"uri={disk.uri}", "--run"]
        ran(*proxy, f"nbdcopy '{image}' $uri && nbdinfo $uri >&2")
        ran("nbdcopy", disk.uri, back)
        assert back.read_bytes() == image.read_bytes()
        back.unlink()
        filters = [*proxy[:-3], "--filter=blocksize", *proxy[-3:-1], "maxdata=64k", "--run"]
        ran(*filters, f"nbdcopy $uri '{back}'")
        assert back.read_bytes() == image.read_bytes()


@pytest.mark.needs("openssl", "nbdinfo", "nbdcopy")
def test_certificates_of_usual_clients(certificates, tmp_path):
    image, back = tmp_path / "image", tmp_path / "back"
    stranger = tmp_path / "stranger"
    ran("sh", ROOT / "scripts/certificates.sh", stranger)
    given = {"tls_certificates": certificates, "tls_verify_peer": True, "speed": 0}
    for address in (None, "127.0.0.1:0"):
        with headstack.emulate("conner-cp3100", nbd=address, **given) as disk:
            assert disk.uri.startswith("nbds")
            mark = "&" if "?" in disk.uri else "?"
            uri = f"{disk.uri}{mark}tls-certificates={certificates}"
            said = json.loads(ran("nbdinfo", "--json", uri))
            assert said["TLS"] is True
            assert said["exports"][0]["export-size"] == disk.size_bytes
            image.write_bytes(random.Random(4).randbytes(min(IMAGE, disk.size_bytes)))
            os.truncate(image, disk.size_bytes)
            ran("nbdcopy", image, uri)
            ran("nbdcopy", uri, back)
            assert back.read_bytes() == image.read_bytes()
            # Without encryption, and with a certificate of somebody else's.
            for wrong in (disk.uri.replace("nbds", "nbd"), f"{disk.uri}{mark}tls-certificates={stranger}"):
                done = subprocess.run(["nbdinfo", wrong], capture_output=True, timeout=60, check=False)
                assert done.returncode != 0, wrong


@pytest.mark.needs("openssl", "qemu-img", "nbdcopy")
def test_qemu_encrypts(certificates, tmp_path):
    image = tmp_path / "image"
    with headstack.emulate(
        "conner-cp3100", nbd="127.0.0.1:0", speed=0, tls="on", tls_certificates=certificates
    ) as disk:
        assert disk.uri.startswith("nbd://")
        image.write_bytes(random.Random(5).randbytes(min(IMAGE, disk.size_bytes)))
        os.truncate(image, disk.size_bytes)
        host, port = disk.uri.removeprefix("nbd://").split(":")
        secret = [
            "--object", f"tls-creds-x509,id=t,endpoint=client,dir={certificates}",
            "--image-opts",
        ]  # fmt: skip
        target = f"driver=nbd,host={host},port={port},tls-creds=t,tls-hostname=localhost"
        try:
            said = ran("qemu-img", "info", *secret, target)
        except AssertionError as e:
            if "tls-hostname" not in str(e):
                raise
            # Before QEMU 7.0 the name is that of the host.
            target = target.replace(",tls-hostname=localhost", "")
            said = ran("qemu-img", "info", *secret, target)
        assert str(disk.size_bytes) in said.replace(",", "")
        ran("nbdcopy", image, disk.uri)
        said = ran("qemu-img", "compare", *secret, f"driver=raw,file.filename={image}", target)
        assert "Images are identical" in said


@pytest.mark.needs("nbdinfo", "nbdcopy")
def test_libnbd_starts_the_command_for_itself(tmp_path):
    serve = ["[", sys.executable, "-m", "headstack", "emulate", "conner-cp3100", "--speed", "0"]
    env = {**os.environ, "PYTHONPATH": str(ROOT / "python")}
    image, store = tmp_path / "image", tmp_path / "store"
    image.write_bytes(b"abc" * 100_000)
    ran("nbdcopy", "--", image, *serve, "--store", store, "]", env=env, cwd=ROOT)
    assert store.read_bytes().rstrip(b"\0") == image.read_bytes()
