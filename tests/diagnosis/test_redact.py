"""Copies that can be shown: nothing of whose they are, all that matters for the finding."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support import shared
from wirespeed.diagnosis.redact import redacted
from wirespeed.errors import InputError
from wirespeed.readers import decode, read_text

LOG = """\
alice@gpu-prod-17:~$ cat /home/alice/run.log
gpu-prod-17:410:433 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [RO]; OOB ens3:10.21.7.11<0>
gpu-prod-18:512:533 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [RO]; OOB ens3:10.21.7.12<0>
gpu-prod-17:410:470 [0] transport/net_ib.cc:1345 NCCL WARN NET/IB : Got completion from peer \
10.21.7.12<40111> with status=12 opcode=0 len=0 vendor err 129 (Send) localGid fe80::a288:c2ff:fe11 remoteGidsfd00::2
GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-3f0c2a11-5d1e-44aa-9c3b-aaaabbbbcccc)
HF_TOKEN=hf_abcdefgh12345
Node GUID: 0xa088c20300aa11bb
Serial Number : 1652823004112
bus 0000:18:00.0 ACSCtl: SrcValid+ 32 GT/s PCIe 2.21.5+cuda12.4
"""  # noqa: E501


def test_nothing_that_names_people_or_machines_is_left():
    (text,) = redacted({"run.log": LOG}).values()
    for private in ("alice", "gpu-prod", "10.21.7", "3f0c2a11", "hf_abc", "a088c203", "165282"):
        assert private not in text
    assert "fe80" not in text
    assert "fd00" not in text


def test_what_the_finding_rests_on_stays_and_so_do_the_lines():
    (text,) = redacted({"run.log": LOG}).values()
    assert text.count("\n") == LOG.count("\n")
    for kept in ("status=12", "mlx5_0:1/IB", "0000:18:00.0", "H100 80GB", "2.21.5+cuda12.4"):
        assert kept in text


FABRIC = """\
switchguid=0xb83fd20300aa01(b83fd20300aa01)
Switch 41 "S-00b83fd20300aa01" # "MF0;site7-row3-ib1-A:MQM8700/U1" enhanced port 0 lid 3 lmc 0
[1] "H-00b83fd20300aa02"[1](b83fd20300aa02) # "gpu-prod-17 mlx5_0" lid 9 4xHDR
"""
JSON = (
    """{"devices": [{"rank": 0, "host": "gpu-prod-17"}, {"rank": 1, "hostname": "gpu-prod-18"}]}"""
)


def test_names_of_switches_and_numbers_without_their_zeros_go_too():
    fabric, run = redacted({"fabric.txt": FABRIC, "run.json": JSON}).values()
    for private in ("site7", "gpu-prod", "b83fd2"):
        assert private not in fabric + run
    # One number is one stand-in, however it is written.
    numbers = [int(n, 16) for n in re.findall(r"(?:0x|S-|\()([0-9a-f]{14,16})\b", fabric)]
    assert len(numbers) == 4
    assert len(set(numbers)) == 2


def test_the_same_host_is_the_same_stand_in_in_every_file():
    other = "# Rank  0 Group  0 Pid   2001 on gpu-prod-17 device  0 [0000:18:00] NVIDIA H100\n"
    texts = redacted({"a": LOG, "b": other})
    host = re.findall(r"on (\S+) device", texts["b"])[0]
    assert f"{host}:410:433" in texts["a"]


@given(st.text(max_size=300))
def test_any_text_keeps_its_lines(text: str):
    (after,) = redacted({"x": text}).values()
    assert after.count("\n") == text.count("\n")


@pytest.mark.corpus
@pytest.mark.parametrize("folder", ["nccl-info-log", "nccl-tests", "ibstat-ibdev2netdev", "lspci"])
def test_samples_say_the_same_of_the_machine_afterwards(folder: str):
    for path in sorted(shared("samples", folder).iterdir()):
        text = decode(path.read_bytes(), file=path.name)
        try:
            before = read_text(text, file=path.name)
        except InputError:
            continue
        after = read_text(redacted({path.name: text})[path.name], file=path.name)
        assert after.format == before.format, path.name
        assert len(after.measurements) == len(before.measurements), path.name
        assert [f.line for f in after.facts] == [f.line for f in before.facts], path.name


def test_hosts_and_users_that_only_prompts_and_prefixes_name_go_too():
    paste = (
        "(base) [bob@login-3 runs]$ pdsh -w gpu[07-08] hostname\n"
        "gpu07: gpu07\ngpu08: gpu08\nroot@gpu07:~# uptime\n"
        "----------------\ngpu[07-08]\n----------------\nup\n"
        "storage-9 | CHANGED | rc=0 >>\nok\nbob@storage-9.site.org\n"
    )
    (text,) = redacted({"paste.txt": paste}).values()
    for private in ("bob", "login-3", "gpu07", "gpu08", "gpu[07", "storage-9"):
        assert private not in text
    assert text.count("\n") == paste.count("\n")


@pytest.mark.parametrize("cut", [1.0, 0.9])
@pytest.mark.parametrize(
    "environment",
    [
        '{"PATH": "/home/x", "APP_CODE": "opensesame", "NCCL_DEBUG": "INFO"}',
        '["PATH=/home/x", "APP_CODE=opensesame", "NCCL_DEBUG=INFO"]',
    ],
)
def test_of_an_environment_in_json_only_the_library_s_own_is_left(environment: str, cut: float):
    whole = f'$ cat out.json\n{{"version": 1, "env": {environment}, "results": []}}\n'
    (text,) = redacted({"a": whole[: int(len(whole) * cut)]}).values()
    assert "opensesame" not in text
    assert "INFO" in text
    assert "APP_CODE" in text
