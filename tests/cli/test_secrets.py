"""What an environment holds beside the library's own variables is printed by no command."""

from __future__ import annotations

import io
import json
import zipfile

import pytest

from readers.test_nccl_tests import tree

SECRETS = ("hunter2", "opensesame")
ENVIRONMENT = {"NCCL_ALGO": "Ring", "API_TOKEN": "hunter2", "MY_CODE": "opensesame", "PATH": "/b"}


def contents(kind: str) -> tuple[str, bytes]:
    """A name and what is in it: the JSON alone, cut, in a paste, in an archive."""
    document = json.dumps(tree() | {"env": ENVIRONMENT}, indent=1)
    if kind == "cut":
        document = document[: document.index("opensesame") + 12]
    if kind == "paste":
        document = f"a@b:~$ MY_CODE=opensesame cat out.json\n{document}\na@b:~$ ls\nout.json\n"
    if kind != "archive":
        return "out.json", document.encode()
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("run/out.json", document)
        archive.writestr("run/other.txt", document[:-30])
    return "bundle.zip", out.getvalue()


@pytest.mark.parametrize("kind", ["alone", "cut", "paste", "archive"])
@pytest.mark.parametrize("verb", ["doctor", "check", "topo", "diff"])
def test_no_command_prints_them(tmp_path, run, kind: str, verb: str):
    name, content = contents(kind)
    file = tmp_path / name
    file.write_bytes(content)
    words = [str(file), str(file)] if verb == "diff" else [str(file)]
    shown = "".join(
        text for more in ((), ("--json",)) for text in run(verb, *words, *more)[1:] if text
    )
    assert shown
    assert not [secret for secret in SECRETS if secret in shown]


@pytest.mark.parametrize("kind", ["alone", "cut", "paste", "archive"])
def test_no_copy_holds_them(tmp_path, run, kind: str):
    name, content = contents(kind)
    (tmp_path / name).write_bytes(content)
    run("doctor", str(tmp_path / name), "--redact", str(tmp_path / "copies"))
    copies = [file.read_text() for file in (tmp_path / "copies").iterdir()]
    assert copies
    assert not [secret for secret in SECRETS for copy in copies if secret in copy]
