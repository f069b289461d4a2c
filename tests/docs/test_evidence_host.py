"""The page on host tools names every format, attribute and remark that their readers give."""

from __future__ import annotations

import re
from pathlib import Path

from readers import host_texts as texts
from wirespeed.readers import read_text

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "evidence-host.md").read_text("utf-8")
# Whole families, of which the page gives examples.
BY_PRINTED_NAME = re.compile(
    r"\w+_(?:ce|sm)_\w+|[A-Z]\w+|psu\d_\w+|fan\d+_rpm|\w+_errors|device_to_device_latency_sm_ns"
)


def test_every_attribute_is_on_the_page() -> None:
    named = set(re.findall(r"`([A-Za-z]\w*)`", PAGE))
    for name, (text, _) in texts.TEXTS.items():
        for fact in read_text(text, file=name).facts:
            known = fact.attribute in named or BY_PRINTED_NAME.fullmatch(fact.attribute)
            assert known, (name, fact.attribute)


def test_every_format_and_remark_is_on_the_page() -> None:
    for name, (text, form) in texts.TEXTS.items():
        assert f"`{form}`" in PAGE, form
        for remark in read_text(text, file=name).remarks:
            assert f"`{remark.code}`" in PAGE, (name, remark.code)
