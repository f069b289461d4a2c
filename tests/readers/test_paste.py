"""One paste with several outputs: each is read by its own reader, with the lines of the paste."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from readers.matrix_text import TWO_SOCKETS, pairs_of
from readers.pastes import LOG, MATRIX, RUN, TEXTS
from wirespeed.errors import InputError
from wirespeed.evidence import Evidence, Fact, Row
from wirespeed.readers import read_parts, read_text

QUERY = "index, name, pci.bus_id\n0, NVIDIA H200, 00000000:19:00.0\n"


def statements(parts: tuple[Evidence, ...], shift: int = 0) -> set[Fact | Row]:
    """All facts and rows, on lines that are moved."""
    facts = [
        msgspec.structs.replace(fact, line=fact.line + shift if fact.line else 0)
        for part in parts
        for fact in part.facts
        # A prompt is one of a log's lines.
        if fact.attribute != "lines"
    ]
    rows = [
        msgspec.structs.replace(row, line=row.line + shift)
        for part in parts
        for measured in part.measurements
        for row in measured.rows
    ]
    return {*facts, *rows}


def formats(parts: tuple[Evidence, ...]) -> set[str]:
    return {name for part in parts for name in part.format.split("+")}


def kinds(text: str) -> list[tuple[str, str]]:
    """(host, format) of the parts of a paste."""
    return [(part.host, part.format) for part in read_parts(text, file="paste")]


@pytest.mark.parametrize(
    "prompt",
    [
        "$ ",
        "root@node:~# ",
        "(base) me@node:~/runs$ ",
        "[me@node ~]$ ",
        "[12:01:33] root@node:/workspace# ",
        "me@node ~ % ",
        "node:~ # ",
        "bash-5.1$ ",
        "❯ ",
        "+ ",
        "# ",
        "node# ",
        "In [3]: !",
    ],
)
def test_prompts_of_shells_part_outputs(prompt: str):
    text = f"{prompt}nvidia-smi topo -m\n{MATRIX}{prompt}nvidia-smi --query-gpu\n{QUERY}"
    parts = read_parts(text, file="paste")
    assert formats(parts) == {"topo-m", "nvidia-smi-query"}
    assert {part.host for part in parts} == ({"node"} if "node" in prompt else {""})
    assert pairs_of(parts[0]) == TWO_SOCKETS.pairs()
    lines = text.split("\n")
    (model,) = [f for part in parts for f in part.facts if f.attribute == "model"]
    assert "H200" in lines[model.line - 1]


@settings(max_examples=settings.default.max_examples // 2)
@given(st.sampled_from(sorted(TEXTS)), st.sampled_from(sorted(TEXTS)), st.booleans())
def test_two_texts_with_prompts_between_say_what_each_says_alone(one: str, other: str, fenced):
    head = "```console\n$ first\n" if fenced else "$ first\n"
    middle = "```\nand then\n```\n$ second\n" if fenced else "$ second\n"
    pasted = f"{head}{TEXTS[one]}{middle}{TEXTS[other]}"
    before = head.count("\n")
    between = before + TEXTS[one].count("\n") + middle.count("\n")
    alone = statements(read_parts(TEXTS[one], file="paste"), before)
    alone |= statements(read_parts(TEXTS[other], file="paste"), between)
    assert statements(read_parts(pasted, file="paste")) == alone


@pytest.mark.parametrize("name", sorted(TEXTS))
def test_a_text_that_is_one_output_stays_as_it_is(name: str):
    parts = read_parts(TEXTS[name], file="paste")
    assert parts == (read_text(TEXTS[name], file="paste"),)
    assert parts[0].host == ""


def test_a_run_with_its_log_and_a_prompt_is_one_output():
    assert kinds(f"$ mpirun all_reduce_perf -b 8\n{LOG}{RUN}") == [("", "nccl-tests+nccl-log")]


def test_hosts_that_prompts_name_are_kept_apart():
    text = f"root@a:~# nvidia-smi topo -m\n{MATRIX}root@b:~# nvidia-smi topo -m\n{MATRIX}"
    assert kinds(text) == [("a", "topo-m"), ("b", "topo-m")]


@pytest.mark.parametrize(
    "command",
    [
        "ssh {}",
        "ssh -o StrictHostKeyChecking=no -p 22 root@{}",
        "kubectl exec -it {} --",
        "docker exec {}",
    ],
)
def test_a_command_that_runs_elsewhere_names_the_host(command: str):
    text = "".join(f"$ {command.format(n)} nvidia-smi topo -m\n{MATRIX}" for n in ("n1", "n2"))
    assert kinds(text) == [("n1", "topo-m"), ("n2", "topo-m")]


@pytest.mark.parametrize("form", ["[rank{}]: ", "[default{}]:", "(Worker pid={}, ip=10.0.0.1) "])
def test_names_of_ranks_are_no_hosts(form: str):
    text = "".join(f"{form.format(0)}{line}\n" for line in RUN.splitlines())
    (part,) = read_parts(text, file="paste")
    assert part.host == ""
    assert statements((part,)) == statements(read_parts(RUN, file="paste"))


@pytest.mark.parametrize("form", ["{}: ", "[{}] ", "{}  | ", "[pod/{}/main] "])
def test_lines_that_begin_with_their_host_are_sorted_by_it(form: str):
    pairs = zip(MATRIX.splitlines(), MATRIX.splitlines(), strict=True)
    text = "".join(f"{form.format('n0')}{a}\n{form.format('n1')}{b}\n" for a, b in pairs)
    parts = read_parts(text, file="paste")
    assert [part.host for part in parts] == ["n0", "n1"]
    assert all(pairs_of(part) == TWO_SOCKETS.pairs() for part in parts)
    assert {fact.line % 2 for fact in parts[0].facts} == {1}
    assert {fact.line % 2 for fact in parts[1].facts if fact.line} == {0}


def test_a_log_stays_whole_whatever_hosts_stand_before_its_lines():
    text = "".join(f"node-{n % 2}: {line}\n" for n, line in enumerate(LOG.splitlines()))
    (part,) = read_parts(text, file="paste")
    assert statements((part,)) == statements(read_parts(LOG, file="paste"))


def test_ranks_that_print_the_same_machine_say_it_once():
    text = "".join(f"{rank}: {line}\n" for rank in range(2) for line in MATRIX.splitlines())
    (part,) = read_parts(text, file="paste")
    assert pairs_of(part) == TWO_SOCKETS.pairs()


def test_ranks_that_print_over_each_other_are_sorted():
    lines = MATRIX.splitlines()
    text = "".join(f"[1,{rank}]<stdout>:{line}\n" for line in lines for rank in range(2))
    parts = read_parts(text, file="paste")
    assert all(pairs_of(part) == TWO_SOCKETS.pairs() for part in parts)


@pytest.mark.parametrize("stamp", ["2026-03-02T10:11:12.123456789Z ", "[2026-03-02 10:11:12] "])
def test_time_stamps_before_every_line_are_passed_over(stamp: str):
    text = "".join(f"{stamp}{line}\n" for line in RUN.splitlines())
    assert statements(read_parts(text, file="p")) == statements(read_parts(RUN, file="p"))


def test_heads_of_parallel_shells_name_their_hosts():
    rule = "-" * 16
    gathered = "".join(f"{rule}\n{name}\n{rule}\n{MATRIX}" for name in ("node[1-2]", "node3"))
    assert kinds(gathered) == [("node[1-2]", "topo-m"), ("node3", "topo-m")]
    ansible = "".join(f"{name} | CHANGED | rc=0 >>\n{MATRIX}\n" for name in ("a", "b"))
    assert kinds(ansible) == [("a", "topo-m"), ("b", "topo-m")]


def test_what_no_reader_knows_between_outputs_is_passed_over():
    text = f"$ hostname\nnode\n$ nvidia-smi topo -m\n{MATRIX}$ uptime\n up 3 days\n$ cat q\n{QUERY}"
    assert formats(read_parts(text, file="paste")) == {"topo-m", "nvidia-smi-query"}


def test_words_of_a_command_are_never_shown():
    text = f"$ export TOKEN=verysecret\n$ nvidia-smi topo -m\n{MATRIX}$ ls\nx\n$ cat q\n{QUERY}"
    assert "verysecret" not in str(read_parts(text, file="paste"))


def test_more_prompts_than_anyone_pastes_leave_the_text_whole():
    text = MATRIX + "$ true\n" * 1000
    assert kinds(text) == [("", "topo-m")]


@settings(max_examples=settings.default.max_examples // 2)
@given(st.data())
def test_cuts_of_pastes_are_read_or_refused(data: st.DataObject):
    names = data.draw(st.lists(st.sampled_from(sorted(TEXTS)), min_size=2, max_size=3))
    prompts = st.sampled_from(
        ["$ x\n", "root@n1:~# x\n", "```\n", "n1: ", "0: ", "----\nn1\n----\n"]
    )
    text = "".join(data.draw(prompts) + TEXTS[name] for name in names)
    begin = data.draw(st.integers(0, len(text)))
    part = text[begin : data.draw(st.integers(begin, len(text)))]
    try:
        parts = read_parts(part or "-", file="x")
    except InputError:
        return
    count = part.count("\n") + 1
    assert all(0 <= fact.line <= count for found in parts for fact in found.facts)


def test_a_document_after_its_command_needs_no_mending():
    text = f"$ cat topology.xml\n{TEXTS['topology']}$ cat graph.xml\n{TEXTS['graph']}"
    assert [part.remarks for part in read_parts(text, file="paste")] == [(), ()]
