"""A document as HTML that needs nothing but itself."""

from __future__ import annotations

from html import escape

from wirespeed.views.document import Block, Document, Facts, Heading, Items, Sentence, Table


def html(document: Document) -> str:
    """The document as one `div`."""
    return f'<div class="wirespeed">{"".join(map(_block, document))}</div>'


def _block(block: Block) -> str:
    match block:
        case Heading():
            return f"<h4>{escape(block.text)}</h4>"
        case Sentence():
            return f"<p>{escape(block.text)}</p>"
        case Items():
            items = "".join(f"<li>{escape(text)}</li>" for text in block.texts)
            return f"<ul>{items}</ul>"
        case Facts():
            rows = "".join(
                f'<tr><th>{escape(name)}</th><td style="text-align:left">{escape(text)}</td></tr>'
                for name, text in block.rows
            )
            return f"<table><tbody>{rows}</tbody></table>"
        case Table():
            return _table(block)


def _table(table: Table) -> str:
    heads = "".join(
        f"<th>{escape(c.head)}{f'<br><small>{escape(c.unit)}</small>' if c.unit else ''}</th>"
        for c in table.columns
    )
    sides = ["right" if c.right else "left" for c in table.columns]
    rows = "".join(_row(row, sides, k in table.strong) for k, row in enumerate(table.rows))
    return f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>"


def _row(cells: tuple[str, ...], sides: list[str], strong: bool) -> str:
    weight = ";font-weight:bold" if strong else ""
    return "".join(
        [
            "<tr>",
            *(
                f'<td style="text-align:{side}{weight}">{escape(cell)}</td>'
                for cell, side in zip(cells, sides, strict=True)
            ),
            "</tr>",
        ]
    )
