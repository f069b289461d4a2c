"""Any machine in any dialect reads back as it is; cuts and damage never say what is not so."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from readers.matrix_text import TWO_SOCKETS, Dialect, Machine, pairs_of, print_matrix
from wirespeed.errors import WirespeedError
from wirespeed.evidence import Evidence
from wirespeed.readers import read_text

WORDS = st.sampled_from(["PIX", "PXB", "PHB", "NODE", "SYS", "SOC", "NV1", "NV4", "NV12", "NV18"])
NIC_WORDS = st.sampled_from(["PIX", "PXB", "PHB", "NODE", "SYS"])
NODES = (("0-15,32-47", "0"), ("16-31,48-63", "1"), ("64-79", "2-3"))


@st.composite
def machines(draw: st.DrawFn) -> Machine:
    gpus = draw(st.integers(1, 8))
    nics = draw(st.integers(0, 4))
    named = draw(st.booleans())
    size = gpus + nics
    words = [["X"] * size for _ in range(size)]
    for i in range(size):
        for j in range(i):
            words[i][j] = words[j][i] = draw(WORDS if i < gpus else NIC_WORDS)
    order = draw(st.permutations(range(nics)))
    names = [f"GPU{at}" for at in range(gpus)]
    names += [f"NIC{at}" if named else f"mlx5_{order[at]}" for at in range(nics)]
    fields = tuple((*draw(st.sampled_from(NODES)), "N/A") for _ in range(gpus))
    labels = tuple(f"mlx5_{at}" for at in order) if named else ()
    return Machine(tuple(names), tuple(map(tuple, words)), fields, labels)


@st.composite
def dialects(draw: st.DrawFn) -> Dialect:
    return Dialect(
        separator=draw(st.sampled_from(["\t", " "])),
        fields=draw(st.integers(0, 3)),
        double_tab=draw(st.booleans()),
        ansi=draw(st.sampled_from(["", "before", "after"])),
        dedent=False,
        prompt=draw(st.booleans()),
        fence=draw(st.booleans()),
        quote=draw(st.sampled_from(["", "> ", ">> "])),
        empty_fields=draw(st.booleans()),
        legend=draw(st.booleans()),
        newline=draw(st.sampled_from(["\n", "\r\n"])),
    )


def facts_of(evidence: Evidence) -> dict[tuple[str, str], object]:
    return {(fact.subject, fact.attribute): fact.value for fact in evidence.facts}


def read_or_refuse(data: bytes | str) -> Evidence | None:
    """Evidence, or None where it is refused with a message; any other error fails the test."""
    try:
        return read_text(data, file="paste")
    except WirespeedError:
        return None


@given(machines(), dialects())
def test_a_machine_printed_in_any_dialect_reads_back(machine: Machine, look: Dialect) -> None:
    found = read_text(print_matrix(machine, look), file="paste")
    assert pairs_of(found) == machine.pairs()
    assert not any(fact.inferred for fact in found.facts)
    for at, subject in enumerate(machine.subjects):
        assert found.value(subject, "name") == machine.names[at]
        if at < machine.gpus and look.fields > 0:
            assert found.value(subject, "cpu_affinity") == machine.fields[at][0]
        if at < machine.gpus and look.fields > 1:
            assert found.value(subject, "numa") == int(machine.fields[at][1][0])
    if machine.labels:
        nics = [found.value(f"nic{at}", "label") for at in range(len(machine.labels))]
        assert tuple(nics) == machine.labels


@given(machines(), dialects(), st.data())
def test_a_cut_says_nothing_that_the_whole_does_not_say(
    machine: Machine, look: Dialect, data: st.DataObject
) -> None:
    text = print_matrix(machine, look).encode()
    whole = facts_of(read_text(text, file="paste"))
    part = read_or_refuse(text[: data.draw(st.integers(0, len(text)))])
    for key, value in facts_of(part).items() if part else ():
        assert whole.get(key) == value


@given(machines(), st.data())
def test_rows_cut_at_the_end_lose_only_pairs_of_which_neither_row_remains(
    machine: Machine, data: st.DataObject
) -> None:
    lines = print_matrix(machine, Dialect(legend=False)).split("\n")
    kept = data.draw(st.integers(1, len(machine.names)))
    found = read_text("\n".join(lines[: kept + 1]) + "\n", file="paste")
    subjects = machine.subjects
    expected = {
        pair: word
        for pair, word in machine.pairs().items()
        if any(subject in subjects[:kept] for subject in pair.split(">"))
    }
    assert pairs_of(found) == expected


@given(machines(), st.data())
def test_a_word_lost_anywhere_makes_no_link_wrong(machine: Machine, data: st.DataObject) -> None:
    lines = print_matrix(machine).split("\n")
    at = data.draw(st.integers(1, len(machine.names)))
    words = lines[at].split("\t")
    del words[data.draw(st.integers(0, len(words) - 1))]
    lines[at] = "\t".join(words)
    found = read_or_refuse("\n".join(lines))
    truth = machine.pairs()
    for pair, word in pairs_of(found).items() if found else ():
        assert truth[pair] == word


@given(st.binary(max_size=400))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    read_or_refuse(data)


@given(st.data())
def test_bytes_lost_doubled_or_replaced_are_read_or_refused(data: st.DataObject) -> None:
    text = bytearray(print_matrix(TWO_SOCKETS, data.draw(dialects())).encode())
    for _ in range(data.draw(st.integers(1, 6))):
        at = data.draw(st.integers(0, len(text) - 1))
        length = data.draw(st.integers(0, 40))
        text[at : at + length] = data.draw(
            st.one_of(st.binary(max_size=8), st.just(bytes(text[at : at + length]) * 2))
        )
        if not text:
            return
    read_or_refuse(bytes(text))


ALPHABET = st.sampled_from(
    [
        *("GPU0", "GPU1", "NIC0", "mlx5_0", "PPU0", "X", "NV18", "SYS", "PIX", "OK", "ICN7"),
        *("0-7", "N/A", "CPU Affinity", "NUMA", "Affinity", "Legend:", "?"),
        *("\t", "\n", " ", "\x1b[4m", "> ", "|"),
    ]
)


@given(st.lists(ALPHABET, max_size=60))
def test_any_heap_of_matrix_words_is_read_or_refused(words: list[str]) -> None:
    read_or_refuse("".join(words))
    read_or_refuse(" ".join(words))
