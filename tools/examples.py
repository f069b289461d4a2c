"""Write the example inputs of examples/ from the presets' own graphs.

The texts are what such machines would print, so they stay true when a preset changes:
`python tools/examples.py` writes them, `--check` says whether they are as they would be written.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))

from wirespeed.inventory.lost_links import without_links
from wirespeed.inventory.matrix_text import matrix_text
from wirespeed.topology.kinds import ComponentKind
from wirespeed.topology.machines import preset_machine

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"


def texts() -> dict[str, str]:
    """File name -> content."""
    h100 = preset_machine("dgx-h100").unit
    gpu2 = int(h100.of_kind(ComponentKind.GPU)[2])
    box = preset_machine("pcie-8x-rtx4090").unit
    return {
        "dgx-h100-topo-m.txt": matrix_text(h100, cores=56),
        "dgx-h100-gpu2-without-nvlink-topo-m.txt": matrix_text(
            without_links(h100, {gpu2: 18}), cores=56
        ),
        "pcie-8x-rtx4090-topo-m.txt": matrix_text(box, cores=32),
    }


def main() -> int:
    """0 where the files are written, or are as they would be."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; 1 if a file differs")
    check = parser.parse_args().check
    status = 0
    EXAMPLES.mkdir(exist_ok=True)
    for name, text in texts().items():
        path = EXAMPLES / name
        if check and (not path.is_file() or path.read_text(encoding="utf-8") != text):
            print(f"{name} is not as tools/examples.py writes it")
            status = 1
        elif not check:
            path.write_text(text, encoding="utf-8")
    return status


if __name__ == "__main__":
    sys.exit(main())
