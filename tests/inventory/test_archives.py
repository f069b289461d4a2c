"""Archives as sources: read in memory, within limits, never followed anywhere."""

from __future__ import annotations

import gzip
import io
import tarfile
import time
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import wirespeed as ws
from command import Command
from nccl_tests_text import cluster_of, printed
from wirespeed.errors import InputError
from wirespeed.inventory import resolve
from wirespeed.inventory.archives import MOST_MEMBERS, folders_as_hosts, is_archive, unpacked

WELL = Path("examples/dgx-h100-topo-m.txt").read_bytes()
LOST = Path("examples/dgx-h100-gpu2-without-nvlink-topo-m.txt").read_bytes()
QUERY = b"index, name\n0, NVIDIA H200\n"
FILES = {"run/nvidia-smi.txt": LOST, "run/more/gpus.csv": QUERY, "notes.md": b"rebooted\n"}


@pytest.fixture
def run(capsys) -> Command:
    return Command(capsys)


def tar(files: Mapping[str, bytes], extra: tuple[tarfile.TarInfo, ...] = ()) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
        for info in extra:
            archive.addfile(info)
    return out.getvalue()


def zipped(files: Mapping[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return out.getvalue()


PACKED = {"b.tar": tar(FILES), "b.tgz": gzip.compress(tar(FILES)), "b.zip": zipped(FILES)}


def odd(kind: bytes, name: str = "odd", target: str = "/etc/passwd") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type = kind
    info.linkname = target
    return info


@pytest.mark.parametrize("name", sorted(PACKED))
def test_the_files_of_an_archive_are_one_machine(tmp_path, name: str):
    (tmp_path / name).write_bytes(PACKED[name])
    resolved = resolve(str(tmp_path / name))
    assert resolved.machine.gpu == "h200-sxm"
    assert {part.file for part in resolved.evidence} == {
        f"{name}:run/nvidia-smi.txt",
        f"{name}:run/more/gpus.csv",
    }
    assert any("b.t" in n.where or "notes.md" in n.text for n in resolved.machine.warnings)


@pytest.mark.parametrize("name", sorted(PACKED))
def test_the_doctor_points_into_the_archive(tmp_path, name: str):
    (tmp_path / name).write_bytes(PACKED[name])
    report = ws.doctor(str(tmp_path / name))
    (found,) = [f for f in report.findings if f.code == "nvlink_down"]
    assert found.evidence[0].file == f"{name}:run/nvidia-smi.txt"
    assert found.evidence[0].text.startswith("GPU2 NODE")


def test_a_file_that_gzip_packed_alone_is_that_file(tmp_path):
    (tmp_path / "topo.txt.gz").write_bytes(gzip.compress(LOST[:99]) + gzip.compress(LOST[99:]))
    assert resolve(str(tmp_path / "topo.txt.gz")).machine.name == "topo.txt.gz"
    assert resolve("-", stdin=lambda: gzip.compress(WELL)).machine.platform == "dgx-h100"


def test_an_archive_in_a_directory_is_unpacked_too(tmp_path):
    (tmp_path / "b.zip").write_bytes(zipped({"gpus.csv": QUERY}))
    (tmp_path / "topo.txt").write_bytes(WELL)
    (tmp_path / "broken.tgz").write_bytes(PACKED["b.tgz"][:200])
    machine = resolve(str(tmp_path)).machine
    assert machine.gpu == "h200-sxm"
    assert any("broken.tgz is left out" in n.text for n in machine.warnings)
    assert ws.doctor(str(tmp_path)).verdict == "ok"


def test_folders_with_the_same_files_are_hosts(tmp_path):
    files = {f"bundle/{host}/topo.txt": WELL for host in ("n1", "n2", "n3")}
    files["bundle/n3/topo.txt"] = LOST
    (tmp_path / "b.tar").write_bytes(tar(files))
    resolved = resolve(str(tmp_path / "b.tar"))
    assert resolved.nodes == 3
    assert resolved.machine.oddities[0].text.startswith("n3: gpu2 has lost")
    assert folders_as_hosts(["b:run/topo.txt", "b:other/log.txt"]) == {}


def test_links_and_devices_are_not_followed():
    kinds = (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE)
    found = unpacked(tar({"topo.txt": WELL}, tuple(odd(kind) for kind in kinds)), "b.tar")
    assert [name for name, _ in found.texts] == ["b.tar:topo.txt"]
    assert [n.text for n in found.notices] == [
        "b.tar:odd is left out: it is a link or a device"
    ] * 4
    info = zipfile.ZipInfo("odd")
    info.external_attr = 0o120777 << 16
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr(info, "/etc/passwd")
        archive.writestr("topo.txt", WELL)
    assert [name for name, _ in unpacked(out.getvalue(), "b.zip").texts] == ["b.zip:topo.txt"]


def test_names_cannot_steer_a_terminal_or_leave_the_archive():
    found = unpacked(tar({"../../etc/\x1b[31mx": WELL, "/abs/y:z": WELL}), "b.tar")
    assert [name for name, _ in found.texts] == ["b.tar:../../etc/?[31mx", "b.tar:abs/y?z"]


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (gzip.compress(b"\0" * (80 * 2**20), 9), "times its size"),
        (zipped({"a": b"\0" * (7 * 2**20)}), "times its size"),
        (tar({f"{k}": b"" for k in range(MOST_MEMBERS + 1)}), "entries"),
        (b"\x1f\x8b" + bytes(33 * 2**20), "up to 32 MiB"),
    ],
    ids=["gzip bomb", "zip bomb", "many entries", "large"],
)
def test_what_would_fill_the_memory_is_refused_soon(data: bytes, why: str):
    begin = time.process_time()
    with pytest.raises(InputError, match="too much to read") as caught:
        unpacked(data, "b")
    assert why in str(caught.value)
    assert time.process_time() - begin < 2


def test_archives_inside_of_archives_are_left_out_and_packed_files_are_not():
    files = {"a.zip": PACKED["b.zip"], "b.tgz": PACKED["b.tgz"], "dmesg.gz": gzip.compress(WELL)}
    found = unpacked(tar(files), "b.tar")
    assert found.texts == [("b.tar:dmesg.gz", WELL)]
    assert all("archive in an archive" in notice.text for notice in found.notices)


@pytest.mark.parametrize("name", sorted(PACKED))
@pytest.mark.parametrize("share", [0.3, 0.9])
def test_a_broken_archive_is_one_clear_error(tmp_path, run, name: str, share: float):
    broken = PACKED[name][: int(share * len(PACKED[name]))]
    with pytest.raises(InputError, match="archive"):
        unpacked(broken if name != "b.tar" else broken[: 512 + len(LOST) // 2], name)
    file = tmp_path / name
    file.write_bytes(broken[: 512 + len(LOST) // 2])
    for verb in ("topo", "doctor"):
        done = run(verb, str(file))
        assert (done.status, done.out) == (2, "")
        assert done.err.count("wirespeed:") == 1


@settings(max_examples=80)
@given(st.sampled_from(sorted(PACKED)), st.data())
def test_damage_is_read_or_refused(name: str, data: st.DataObject):
    packed = bytearray(PACKED[name])
    for _ in range(data.draw(st.integers(1, 6))):
        packed[data.draw(st.integers(0, len(packed) - 1))] = data.draw(st.integers(0, 255))
    cut = bytes(packed[: data.draw(st.integers(1, len(packed)))])
    try:
        found = unpacked(cut, name)
    except InputError:
        return
    assert found.texts
    assert is_archive(cut) or found.texts == [(name, cut)]


def test_redacted_copies_are_of_every_text_of_an_archive(tmp_path, run):
    secret = b"alice@gpu07:~$ export HF_TOKEN=hf_secret1\n"
    files = {"run/gpu07/topo.txt": secret + WELL, "run/gpu08/topo.txt": WELL, "core": b"\0\1" * 99}
    (tmp_path / "b.tgz").write_bytes(gzip.compress(tar(files)))
    copies = tmp_path / "copies"
    done = run("doctor", str(tmp_path / "b.tgz"), "--redact", str(copies))
    written = sorted(copies.iterdir())
    assert len(written) == 2
    shown = "".join(file.name + file.read_text() for file in written) + done.out + done.err
    assert "hf_secret1" not in shown
    for private in ("alice", "gpu07", "gpu08"):
        assert not any(private in file.name + file.read_text() for file in written)


def test_check_finds_the_measurement_in_an_archive(tmp_path, run):
    result = printed(cluster_of("dgx-h100"), sizes=[2**30]).encode()
    (tmp_path / "b.zip").write_bytes(zipped({"notes.md": b"slow?\n", "run/out.txt": result}))
    done = run("check", str(tmp_path / "b.zip"), "--json")
    assert (done.status, done.json["verdict"]) == (0, "ok")


def test_what_never_ends_is_refused(run):
    for verb in ("doctor", "topo"):
        done = run(verb, "/dev/zero")
        assert done.status == 2
        assert done.err.startswith("wirespeed: ")
