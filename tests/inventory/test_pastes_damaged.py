"""Whatever is cut, joined or changed in what people published: an answer or one clear error, soon.

Every sample of the corpus, alone and several together, with prompts, prefixes and archives around
them; and the same for own small texts, which need no corpus.
"""

from __future__ import annotations

import contextlib
import functools
import gzip
import io
import re
import tarfile
import time
import zipfile

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import wirespeed as ws
from readers.pastes import TEXTS
from support import shared
from wirespeed.errors import WirespeedError
from wirespeed.inventory import resolve
from wirespeed.inventory.archives import unpacked
from wirespeed.readers import read_parts

THINNED = min(400, settings.default.max_examples * 2 // 5)
"""Of the usual number of examples, and no more than five minutes: each is read three times."""
UNTRACED = (Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink)
"""Without the phase that traces every line, which takes ten times as long."""
BETWEEN = (
    "",
    "\n",
    "$ cmd\n",
    "root@n1:~# nvidia-smi topo -m\n",
    "[me@n2 ~]$ x\n",
    "```\n",
    "----\nn[1-3]\n----\n",
    "n3 | CHANGED | rc=0 >>\n",
)
BEFORE_LINES = ("", "", "", "n1: ", "0: ", "[1,0]<stdout>:", "2026-03-02T10:11:12Z ", "> ", "| ")
NOISE = ("", "9", "-1", "1e999", "\x1b[4m", "<", "{", "[", "|", "\t", "é", "NaN", "0" * 400)


@functools.cache
def samples() -> tuple[str, ...]:
    return tuple(
        path.read_text("utf-8", errors="replace")
        for path in sorted(shared("samples").glob("*/*"))
        if path.is_file()
    )


def damaged(draw: st.DrawFn, texts: tuple[str, ...]) -> str:
    """Up to three texts with something between them, pieces of it lost, doubled or replaced."""
    chosen = draw(st.lists(st.integers(0, len(texts) - 1), min_size=1, max_size=3))
    text = "".join(draw(st.sampled_from(BETWEEN)) + texts[k] for k in chosen)
    for _ in range(draw(st.integers(0, 3))):
        begin = draw(st.integers(0, len(text)))
        end = min(len(text), begin + draw(st.sampled_from((0, 1, 7, 60, 900, 20_000))))
        times = draw(st.sampled_from((0, 0, 2, 30)))
        piece = text[begin:end] * times if end - begin < 1000 else text[begin:end]
        text = text[:begin] + draw(st.sampled_from(NOISE)) + piece + text[end:]
    before = draw(st.sampled_from(BEFORE_LINES))
    if before:
        text = "".join(f"{before}{line}\n" for line in text.split("\n"))
    return text or "-"


@st.composite
def of_samples(draw: st.DrawFn) -> str:
    return damaged(draw, samples())


@st.composite
def of_own_texts(draw: st.DrawFn) -> str:
    return damaged(draw, tuple(TEXTS.values()))


def answered(text: str, folder) -> None:
    """Holds where readers, the inventory and the doctor answer or refuse in words, and in time."""
    file = folder / "paste.txt"
    file.write_text(text, encoding="utf-8")
    for ask in (
        lambda: read_parts(text, file="paste"),
        lambda: str(resolve(str(file)).machine.name),
        lambda: str(ws.doctor(str(file))),
    ):
        begin, told = time.process_time(), ""
        try:
            ask()
        except WirespeedError as error:
            told = str(error)
        # It says what is wrong and what to do in a few lines, whatever it is given.
        assert len(told) < 4000
        assert time.process_time() - begin <= 2 + 2 * len(text) / 2**20


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder, when all that is loaded once is loaded."""
    folder = tmp_path_factory.mktemp("pastes")
    (folder / "first.txt").write_text(TEXTS["matrix"] + TEXTS["run"])
    ws.doctor(str(folder / "first.txt"))
    return folder


@pytest.mark.corpus
@settings(max_examples=THINNED, phases=UNTRACED)
@given(of_samples())
def test_published_outputs_in_any_state(folder, text: str):
    answered(text, folder)


@pytest.mark.slow
@settings(max_examples=THINNED, phases=UNTRACED)
@given(of_own_texts())
def test_own_texts_in_any_state(folder, text: str):
    answered(text, folder)


@pytest.mark.corpus
def test_every_published_output_alone(folder):
    for text in samples():
        answered(text, folder)


def packed(kind: str, texts: tuple[str, ...]) -> bytes:
    out = io.BytesIO()
    if kind == "zip":
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
            for k, text in enumerate(texts):
                archive.writestr(f"run/{k}.txt", text)
        return out.getvalue()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for k, text in enumerate(texts):
            info = tarfile.TarInfo(f"run/{k}.txt")
            info.size = len(text.encode())
            archive.addfile(info, io.BytesIO(text.encode()))
    return gzip.compress(out.getvalue()) if kind == "tgz" else out.getvalue()


@pytest.mark.corpus
@settings(max_examples=THINNED // 2, phases=UNTRACED)
@given(st.sampled_from(("tar", "tgz", "zip")), st.data())
def test_archives_of_published_outputs_in_any_state(folder, kind: str, data: st.DataObject):
    chosen = data.draw(st.lists(st.integers(0, len(samples()) - 1), min_size=1, max_size=3))
    whole = bytearray(packed(kind, tuple(samples()[k] for k in chosen)))
    for _ in range(data.draw(st.integers(0, 3))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    cut = bytes(whole[: data.draw(st.sampled_from((len(whole), len(whole) // 2)))])
    file = folder / f"bundle.{kind}"
    file.write_bytes(cut)
    begin = time.process_time()
    try:
        texts = unpacked(cut, file.name).texts
        str(ws.doctor(str(file)))
    except WirespeedError:
        texts = []
    size = sum(len(content) for _, content in texts)
    assert time.process_time() - begin <= 2 + 2 * max(size, len(cut)) / 2**20


SHAPES = {
    "prompts": "$ x\n",
    "prompts of hosts": "root@n{n}:~# x\nGPU{n}\n",
    "prefixes of hosts": "n{n}: GPU0 X NV4\n",
    "ranks": "{n}: GPU0 X NV4\n",
    "fences": "```\nGPU0\n```\n",
    "rules": "----\nn{n}\n----\n",
    "log": "n{n}:1:1 [{n}] NCCL INFO GPU/{n} :GPU/{n} (0/5.0/LOC) NET/0 (3/48.0/PXB)\n",
    "comms": "n:1:1 [0] NCCL INFO comm 0x1 rank {n} nRanks 9 busId {n}000 - Init START\n",
    "graph": '<graph id="{n}" pattern="4"><channel><gpu dev="{n}"/></channel></graph>\n',
    "open tags": '<graph id="1" <pci busid="{n}\n',
    "at signs": "a@b a@b a@b $\n",
    "blanks": " " * 60 + "\n",
    "digits": "8" * 400 + "x 1 float\n",
    "dashes": "a-",
    "dots": "node.",
    "one line": "n1: [1,0]<stdout>:NCCL INFO ",
}


@pytest.mark.slow
@pytest.mark.parametrize("shape", sorted(SHAPES))
def test_a_quarter_mebibyte_of_one_shape_is_answered_in_time(shape: str, folder):
    unit = SHAPES[shape]
    count = 2**18 // len(unit)
    answered("".join(unit.replace("{n}", str(n % 4099)) for n in range(count)), folder)


@pytest.mark.slow
@pytest.mark.parametrize("digits", ["9" * 30, "9" * 5000, "²", "-7"], ids=["30", "5000", "²", "-7"])
@pytest.mark.parametrize("name", sorted(TEXTS))
def test_numbers_of_any_length_are_read_or_passed_over(name: str, digits: str, folder):
    """One place after the other, and all that look alike at once."""
    text = TEXTS[name]
    places = [match.span() for match in re.finditer(r"\d+", text)]
    for begin, end in places[:: max(1, len(places) // 5)]:
        with contextlib.suppress(WirespeedError):
            read_parts(text[:begin] + digits + text[end:], file="paste")
    begin, end = places[len(places) // 2]
    answered(text.replace(text[begin:end], digits), folder)
