"""Own texts of every format, for tests of pastes: by name, each ended by a newline."""

from __future__ import annotations

from nccl_tests_text import cluster_of, printed
from readers import host_texts
from readers.matrix_text import TWO_SOCKETS, print_matrix
from readers.test_nccl_graph import TWO_NODES as GRAPH
from readers.test_nccl_log import TWO_NODES as LOG

MATRIX = print_matrix(TWO_SOCKETS)
TOPOLOGY = """\
<system version="1">
  <cpu numaid="0" affinity="ff" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="143">
    <pci busid="0000:1b:00.0" class="0x030200" link_speed="32.0 GT/s PCIe" link_width="16">
      <gpu dev="0" sm="90" rank="0" gdr="1"/>
    </pci>
  </cpu>
</system>
"""
RUN = printed(cluster_of("dgx-h100"), sizes=[2**20, 2**30])

TEXTS: dict[str, str] = {
    name: text if text.endswith("\n") else f"{text}\n"
    for name, text in {
        **{name: text for name, (text, _) in host_texts.TEXTS.items()},
        "matrix": MATRIX,
        "log": LOG,
        "graph": GRAPH,
        "topology": TOPOLOGY,
        "run": RUN,
    }.items()
}
