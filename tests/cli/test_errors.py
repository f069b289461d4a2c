"""What cannot be done gets one clear message, exit status 2, and no traceback."""

from __future__ import annotations

import pytest

ALL_REDUCE = ("collective", "all_reduce", "--on", "dgx-h100")

WRONG_USE = [
    pytest.param(["colective"], "no verb 'colective'\n  did you mean collective", id="verb"),
    pytest.param(["--nope"], "--nope", id="option before a verb"),
    pytest.param(["topo"], "no machine was named", id="no source"),
    pytest.param(["topo", "dgx-h10"], "did you mean dgx-h100", id="unknown preset"),
    pytest.param(["topo", "nowhere/node.txt"], "no file nowhere/node.txt", id="no such file"),
    pytest.param(["topo", "--nope"], "no option --nope", id="unknown option in place of SOURCE"),
    pytest.param(["topo", "dgx-h100", "--nope"], "no option --nope", id="unknown option"),
    pytest.param(["topo", "dgx-h100", "dgx-a100"], "'dgx-a100' is one argument too many", id="two"),
    pytest.param(["topo", "dgx-h100", "--to", "pdf"], '"pdf"', id="unknown format"),
    pytest.param(["topo", "dgx-h100", "--gpu", "voodoo-3"], "no GPU 'voodoo-3'", id="unknown GPU"),
    pytest.param(["topo", "dgx-h100", "--nodes", "1,2"], "one number is needed", id="topo of two"),
    pytest.param(["collective", "all_reduce"], "--on is missing", id="no --on"),
    pytest.param(["collective", "--on", "dgx-h100"], "OP is missing", id="no operation"),
    pytest.param(
        ["collective", "allreduse", "--on", "dgx-h100"], "did you mean all_reduce", id="operation"
    ),
    pytest.param([*ALL_REDUCE, "--nodes", "0"], "--nodes: '0'", id="no node"),
    pytest.param([*ALL_REDUCE, "--nodes", "-1"], "--nodes", id="fewer than none"),
    pytest.param([*ALL_REDUCE, "--nodes", "two"], "'two' is not a whole number", id="words"),
    pytest.param([*ALL_REDUCE, "--nodes", "9" * 5000], "--nodes", id="a very long number"),
    pytest.param([*ALL_REDUCE, "--nodes", "4:2"], "is no range", id="falling range"),
    pytest.param([*ALL_REDUCE, "--nodes", "65537"], "from 1 to 65,536", id="too many nodes"),
    pytest.param(
        [*ALL_REDUCE, "--nodes", "2049", "--fabric", "superpod-h100"], "the largest", id="too small"
    ),
    pytest.param([*ALL_REDUCE, "--racks", "0"], "--racks: '0'", id="no rack"),
    pytest.param([*ALL_REDUCE, "--racks", "2", "--nodes", "2"], "both", id="racks and nodes"),
    pytest.param(
        [*ALL_REDUCE, "--sizes", "12 parsecs"], "'12 parsecs' is not a message", id="size"
    ),
    pytest.param([*ALL_REDUCE, "--sizes", "0"], "cannot be forecast", id="nothing to send"),
    pytest.param([*ALL_REDUCE, "--sizes", "1G:1M"], "is not a range of sizes", id="falling sizes"),
    pytest.param([*ALL_REDUCE, "--fabric", "hammock"], "no fabric 'hammock'", id="fabric"),
    pytest.param([*ALL_REDUCE, "--fabric", "no/such.toml"], "fabric cannot be read", id="no TOML"),
    pytest.param([*ALL_REDUCE, "--library", "mpi"], "'mpi' is not a library", id="library"),
    pytest.param([*ALL_REDUCE, "--env", "NCCL_ALGO"], "'NCCL_ALGO' is no setting", id="env"),
    pytest.param([*ALL_REDUCE, "--algo", "Spiral"], "--algo: the library has no", id="algorithm"),
    pytest.param([*ALL_REDUCE, "--proto", "UDP"], "--proto: the library has no", id="protocol"),
    pytest.param([*ALL_REDUCE, "--ranks", "3-1"], "'3-1' holds no rank", id="falling ranks"),
    pytest.param([*ALL_REDUCE, "--ranks", "8"], "ranks run from 0 to 7", id="no such rank"),
    pytest.param([*ALL_REDUCE, "--ranks", "0,0"], "takes part once", id="a rank twice"),
    pytest.param([*ALL_REDUCE, "--ranks", "0"], "all_reduce on 1 GPU", id="alone"),
    pytest.param([*ALL_REDUCE, "--change", "faster"], "'faster' is not a change", id="change"),
    pytest.param([*ALL_REDUCE, "--change", "gpu9=down"], "no component 'gpu9'", id="no such GPU"),
]


@pytest.mark.parametrize(("words", "message"), WRONG_USE)
def test_wrong_use_is_said_and_ends_with_status_2(run, words, message):
    done = run(*words)
    assert done.status == 2
    assert done.out == ""
    assert done.err.startswith("wirespeed: ")
    assert message in done.err
    assert max(map(len, done.err.splitlines()[1:]), default=0) <= 100


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param(b"\x7fELF\x00\x01\x02\x03" * 40, "binary", id="a binary file"),
        pytest.param(b"", "nothing to read", id="an empty file"),
        pytest.param(b"\tGPU0\tGPU1\tCPU Aff", "header", id="a matrix cut inside its header"),
        pytest.param(b"Dear all,\nplease find attached\n", "no format", id="a letter"),
    ],
)
def test_an_unreadable_file_is_named_with_the_reason(run, tmp_path, content, message):
    file = tmp_path / "node7.txt"
    file.write_bytes(content)
    done = run("topo", str(file))
    assert done.status == 2
    assert "node7.txt" in done.err
    assert message in done.err


def test_a_directory_without_any_readable_file_is_refused(run, tmp_path):
    done = run("topo", str(tmp_path))
    assert done.status == 2
    assert "no file here can be read" in done.err


def test_a_fabric_file_is_told_all_its_errors_at_once(run, tmp_path):
    file = tmp_path / "fabric.toml"
    file.write_text('kind = "leaf-spine"\nradix = "many"\ncolour = "blue"\n')
    done = run(*ALL_REDUCE, "--nodes", "4", "--fabric", str(file))
    assert done.status == 2
    assert "radix" in done.err
    assert "colour" in done.err


def test_a_fabric_file_that_is_no_toml_is_refused(run, tmp_path):
    file = tmp_path / "fabric.toml"
    file.write_text("kind: leaf-spine\n")
    done = run(*ALL_REDUCE, "--nodes", "4", "--fabric", str(file))
    assert done.status == 2
    assert "this is not TOML" in done.err
