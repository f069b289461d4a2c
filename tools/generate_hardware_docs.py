"""Write docs/hardware.md and docs/wrong-figures.md from the catalog.

python tools/generate_hardware_docs.py
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import msgspec
from hardware_sections import SECTIONS, Section

from wirespeed.catalog import (
    TABLES,
    Board,
    Correction,
    EfaInstance,
    FabricSize,
    Row,
    corrections,
    fabrics,
)

DOCS = Path(__file__).resolve().parents[1] / "docs"


HARDWARE = """# Hardware

Every figure that a forecast starts from, with where it was published and how sure it is. GB are 1e9
bytes; a bandwidth is one direction unless it says bidirectional; Gb/s are bits.
The page is written by `tools/generate_hardware_docs.py` from `src/wirespeed/catalog/data/`: change
it there.

How sure: **spec** is published, **measured** was seen on a machine, **assumed** is recalled,
estimated or disputed. A star marks single figures that are assumed in a row that otherwise is not.
The word after it tells how the figures were read: at the *source*, *via* a text that quotes it,
*computed* or *recalled*. Remarks stand below each table.

Figures that are often quoted wrongly: [wrong figures](wrong-figures.md).
"""

WRONG = """# Wrong figures

People arrive with these figures: they stand on widely read pages, and a comparison with one of
them makes a healthy machine look broken, or a broken one healthy. Each is here as it is told, with
what is right and why. The right figures are in [hardware](hardware.md).
The page is written by `tools/generate_hardware_docs.py` from `src/wirespeed/catalog/data/`.
"""

MISTAKES = {
    "direction": (
        "One direction or both",
        "NVLink, xGMI, C2C and NVSwitch headlines sum both directions. InfiniBand, Ethernet and "
        "EFA rates are one direction. PCIe is told either way. wirespeed always means one.",
    ),
    "bits-and-bytes": (
        "Bits or bytes",
        "Networks are sold in bits a second (Gb/s), memory and NVLink in bytes (GB/s): 8 times as "
        "much.",
    ),
    "lanes-and-links": (
        "Lanes, links and GPUs",
        "Several lanes make one link, several links one GPU's total; the same round figures turn "
        "up at every level.",
    ),
    "sparsity": (
        "Dense or sparse",
        "Since Hopper, data sheets lead with rates that count multiplications by 2:4 structured "
        "zeros, which are never done. Dense rates are half.",
    ),
    "wrong-part": ("The figure of another part", ""),
}


def escaped(text: str) -> str:
    """Text as Markdown shows it literally, also inside a table."""
    return re.sub(r"([|~*<])", r"\\\1", text)


def cell(value: object) -> str:
    """A value as a table shows it; empty where there is none."""
    if value is None or value == "" or value == () or value == {}:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.6g}" if abs(value) < 1e6 else f"{value:.0f}"
    if isinstance(value, dict):
        return ", ".join(f"{key}: {cell(part)}" for key, part in value.items())
    if isinstance(value, (list, tuple)):
        return ", ".join(
            f"({cell(part)})" if isinstance(part, (list, tuple)) else cell(part) for part in value
        )
    return escaped(str(value))


def link(url: str) -> str:
    """A link that shows the host."""
    return f"[{urlsplit(url).netloc.removeprefix('www.')}]({url})"


def figure(row: Row, column: str) -> str:
    """One cell; a star marks what is assumed."""
    if column == "@x16":
        return cell(round(row.bandwidth(16) / 1e9, 3))  # type: ignore[attr-defined]
    if column == "@instances":
        text = "; ".join(instance(i) for i in row.instances)  # type: ignore[attr-defined]
        return escaped(text) + (r"\*" if "instances" in row.assumed else "")
    value = getattr(row, column)
    if (column.endswith(("_generation", "_links")) and value == 0) or value == "shipping":
        return ""
    return cell(value) + (r"\*" if column in row.assumed else "")


def instance(of: EfaInstance) -> str:
    """An instance type with its network."""
    product = f"{of.nics} x {of.nic_rate_Gbps:g} = " if of.nics else ""
    return f"{of.name}: {product}{of.rate_Gbps:g} Gb/s"


def sure(row: Row) -> str:
    """The confidence cell."""
    basis = {"read": "source", "recall": "recalled"}.get(row.basis, row.basis)
    level = "**assumed**" if row.confidence == "assumed" else row.confidence
    return f"{level}, {basis}"


def remark(row: Row, shown: Iterable[str]) -> str:
    """What a row says beside its columns, or nothing."""
    parts = [escaped(row.note)] if row.note else []
    if row.doubt:
        parts.append(f"In doubt: {escaped(row.doubt)}")
    hidden = [column for column in row.assumed if column not in shown]
    if hidden:
        parts.append(f"Assumed: {', '.join(hidden)}")
    parts += [
        f"{key.replace('_', ' ')}: {cell(value)}"
        for key, value in row.extra.items()
        if value not in ("", None)
    ]
    parts += [f"{key.replace('_', ' ')}: {cell(value)}" for key, value in unshown(row, shown)]
    return f"- **{escaped(row.name)}** (`{row.key}`): {'. '.join(parts)}." if parts else ""


def unshown(row: Row, shown: Iterable[str]) -> Iterator[tuple[str, object]]:
    """Columns that are set but have no place in the table."""
    common = {*Row.__struct_fields__, *shown, "status", "vendor", "instances", "sizes"}
    defaults = dict(
        zip(
            reversed(row.__struct_fields__),
            reversed(row.__struct_defaults__),
            strict=False,
        )
    )
    for column in row.__struct_fields__:
        value = getattr(row, column)
        if column in common or value in (None, "", (), {}) or value == defaults.get(column):
            continue
        if isinstance(value, tuple) and value and isinstance(value[0], Board):
            value = "; ".join(f"{board.model}: {board.links}" for board in value)
        yield column, value


def table(section: Section) -> list[str]:
    """Lines of one section."""
    rows = TABLES[section.table]()
    columns = {
        head: column
        for head, column in section.columns.items()
        if any(figure(row, column) for row in rows)
    }
    heads = ["", *columns, "How sure", "Source"]
    lines = [f"## {section.title}", ""]
    if section.text:
        lines += [section.text, ""]
    lines += [f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}"]
    for row in rows:
        sources = link(row.source)
        if row.check_source:
            sources += f", also: {link(row.check_source)}"
        cells = [escaped(row.name), *(figure(row, c) for c in columns.values()), sure(row), sources]
        lines.append(f"| {' | '.join(cells)} |")
    remarks = [text for row in rows if (text := remark(row, columns.values()))]
    return [*lines, "", *remarks, *([""] if remarks else [])]


def sizes() -> list[str]:
    """Lines of the reference designs' switches and cables."""
    heads = ["", *(name.replace("_", " ") for name in FabricSize.__struct_fields__)]
    lines = ["### Reference designs, size by size", ""]
    lines += [f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}"]
    for fabric in fabrics():
        star = r"\*" if fabric.confidence == "assumed" else ""
        for size in fabric.sizes:
            figures = [cell(value) for value in msgspec.structs.astuple(size)]
            lines.append(f"| {escaped(fabric.name)}{star} | {' | '.join(figures)} |")
    return [*lines, ""]


def hardware() -> str:
    """All of docs/hardware.md."""
    lines = [HARDWARE]
    for section in SECTIONS:
        lines += table(section)
        if section.table == "fabric":
            lines += sizes()
    return "\n".join(lines).rstrip() + "\n"


def right_rows(correction: Correction) -> Iterator[Row]:
    """Rows with the right figures."""
    for reference in correction.right_in:
        name, _, key = reference.partition("/")
        yield next(row for row in TABLES[name]() if row.key == key)


def wrong_figure(row: Correction) -> list[str]:
    """Lines of one wrong figure."""
    right = [f"{escaped(r.name)} ({sure(r)}: {link(r.source)})" for r in right_rows(row)]
    if row.source != row.found_at:
        right.append(link(row.source))
    return [
        f"### {escaped(row.name)}",
        "",
        f"- **As told:** {escaped(row.claim)}",
        f"- **Right:** {escaped(row.correct)}",
        f"- **Why:** {escaped(row.why)}",
        f"- **Source:** {', '.join(right)}",
        *([f"- **Met at:** {link(row.found_at)}"] if row.found_at else []),
        "",
    ]


def wrong_figures() -> str:
    """All of docs/wrong-figures.md."""
    lines = [WRONG]
    for mistake, (title, text) in MISTAKES.items():
        lines += [f"## {title}", ""]
        if text:
            lines += [text, ""]
        for row in corrections():
            if row.mistake == mistake:
                lines += wrong_figure(row)
    return "\n".join(lines).rstrip() + "\n"


PAGES = {"hardware.md": hardware, "wrong-figures.md": wrong_figures}

if __name__ == "__main__":
    DOCS.mkdir(exist_ok=True)
    for name, write in PAGES.items():
        (DOCS / name).write_text(write(), encoding="utf-8")
