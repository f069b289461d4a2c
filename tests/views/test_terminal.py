"""Documents as text: aligned, plain in a pipe, coloured on a terminal alone."""

from __future__ import annotations

import io

from wirespeed.views.document import Column, Facts, Heading, Items, Sentence, Table
from wirespeed.views.html import html
from wirespeed.views.terminal import plain, write

TABLE = Table(
    (Column("size"), Column("time", "us"), Column("algorithm", right=False)),
    (("8", "1.5", "Ring"), ("1G", "1,024.0", "Tree")),
    strong=frozenset({1}),
)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_numbers_end_and_words_begin_under_their_head():
    assert plain([TABLE]).splitlines() == [
        "size     time  algorithm",
        "           us",
        "────────────────────────",
        "   8      1.5  Ring",
        "  1G  1,024.0  Tree",
    ]


def test_facts_stand_in_two_columns():
    assert plain([Facts((("GPUs", "8x H100"), ("NVLink", "18 links")))]).splitlines() == [
        "GPUs    8x H100",
        "NVLink  18 links",
    ]


def test_long_text_goes_on_below_its_beginning():
    lines = plain([Items(("word " * 30,)), Facts((("Fabric", "leaf-spine " * 12),))]).splitlines()
    assert [line[:8] for line in lines] == ["- word w", "  word w", "Fabric  ", "        "]
    assert max(map(len, lines)) <= 100
    assert all(not line.endswith("-") for line in lines)


def test_a_heading_and_what_follows_a_table_are_set_off():
    text = plain([Heading("One"), TABLE, Sentence("Why."), Heading("Two")])
    assert text.splitlines()[0] == "One"
    assert "\n\nWhy.\n\nTwo" in text


def test_only_a_terminal_gets_colour(monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    pipe, terminal = io.StringIO(), Terminal()
    for file in (pipe, terminal):
        write([Heading("One"), TABLE], file)
    assert "\033[1mOne\033[0m" in terminal.getvalue()
    assert "\033" not in pipe.getvalue()
    monkeypatch.setenv("NO_COLOR", "1")
    quiet = Terminal()
    write([Heading("One"), TABLE], quiet)
    assert "\033" not in quiet.getvalue()


def test_html_escapes_what_it_shows():
    text = html([Heading("a>b & c"), Sentence("<script>"), Items(("x<y",)), Facts((("n", "<"),))])
    assert "a&gt;b &amp; c" in text
    assert "<script>" not in text


def test_html_has_a_cell_for_every_cell():
    text = html([TABLE])
    assert text.count("<td") == 6
    assert text.count("<th>") == 3
    assert text.count("font-weight:bold") == 3
