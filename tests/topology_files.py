"""Small topology files in the shape that NCCL and RCCL write, for the tests of several layers."""

from __future__ import annotations

PAIR_BEHIND_SWITCHES = """<system version="1">
  <cpu numaid="0" affinity="00000000,ffffffff" arch="x86_64" vendor="GenuineIntel" familyid="6" \
modelid="143">
    <pci busid="0000:15:00.0" class="0x060400" vendor="0x1000" device="0xc030" \
link_speed="32.0 GT/s PCIe" link_width="16">
      <pci busid="0000:18:00.0" class="0x030200" vendor="0x10de" device="0x2330" \
link_speed="32.0 GT/s PCIe" link_width="16">
        <gpu dev="0" sm="90" rank="0" gdr="1">
          <nvlink target="0000:07:00.0" count="10" tclass="0x068000"/>
          <nvlink target="0000:08:00.0" count="8" tclass="0x068000"/>
        </gpu>
      </pci>
      <pci busid="0000:19:00.0" class="0x020700" vendor="0x15b3" device="0x1021" \
link_speed="32.0 GT/s PCIe" link_width="16">
        <nic>
          <net name="mlx5_0" dev="0" speed="400000" port="1" latency="0.000000" \
guid="0x200000000000001" maxconn="131072" gdr="1"/>
        </nic>
      </pci>
    </pci>
  </cpu>
  <cpu numaid="1" affinity="ffffffff,00000000" arch="x86_64" vendor="GenuineIntel" familyid="6" \
modelid="143">
    <pci busid="0000:95:00.0" class="0x060400" vendor="0x1000" device="0xc030" \
link_speed="32.0 GT/s PCIe" link_width="16">
      <pci busid="0000:98:00.0" class="0x030200" vendor="0x10de" device="0x2330" \
link_speed="32.0 GT/s PCIe" link_width="16">
        <gpu dev="1" sm="90" rank="1" gdr="1">
          <nvlink target="0000:08:00.0" count="8" tclass="0x068000"/>
          <nvlink target="0000:07:00.0" count="10" tclass="0x068000"/>
        </gpu>
      </pci>
      <pci busid="0000:99:00.0" class="0x020700" vendor="0x15b3" device="0x1021" \
link_speed="32.0 GT/s PCIe" link_width="16">
        <nic>
          <net name="mlx5_1" dev="1" speed="400000" port="1" latency="0.000000" \
guid="0x200000000000002" maxconn="131072" gdr="1"/>
        </nic>
      </pci>
    </pci>
  </cpu>
</system>
"""
"""Two H100 on two sockets, each beside a 400G NIC, joined by two NVSwitches."""

TWO_PORTS = """<system version="1">
  <cpu numaid="0" arch="x86_64" vendor="AuthenticAMD" familyid="143" modelid="49">
    <pci busid="0000:01:00.0" class="0x030200" link_speed="16.0 GT/s PCIe" link_width="16">
      <gpu dev="0" sm="80" rank="0" gdr="1"/>
    </pci>
    <pci busid="0000:02:00.0" class="0x020000" link_speed="16.0 GT/s PCIe" link_width="8">
      <nic>
        <net name="p0" dev="0" speed="100000" port="1" guid="0x5" gdr="1"/>
        <net name="p1" dev="1" speed="100000" port="2" guid="0x5" gdr="1"/>
      </nic>
    </pci>
  </cpu>
</system>
"""
"""A card with two ports of 100 Gb/s in a slot of 15.75 GB/s."""

MESH = """<system version="2">
  <cpu numaid="0" arch="x86_64" vendor="AuthenticAMD" familyid="175" modelid="17">
    <pci busid="0000:0c:00.0" class="0x120000" vendor="0x1002" device="0x74a1" \
link_speed="32.0 GT/s PCIe" link_width="16">
      <gpu dev="0" sm="304" gcn="gfx942" rank="0" gdr="1">
        <xgmi target="0000:22:00.0" count="1" tclass="0x120000"/>
        <xgmi target="0000:38:00.0" count="1" tclass="0x120000"/>
      </gpu>
    </pci>
    <pci busid="0000:22:00.0" class="0x120000" vendor="0x1002" device="0x74a1" \
link_speed="32.0 GT/s PCIe" link_width="16">
      <gpu dev="1" sm="304" gcn="gfx942" rank="1" gdr="1">
        <xgmi target="0000:0c:00.0" count="1" tclass="0x120000"/>
      </gpu>
    </pci>
    <pci busid="0000:38:00.0" class="0x120000" vendor="0x1002" device="0x74a1" \
link_speed="32.0 GT/s PCIe" link_width="16">
      <gpu dev="2" sm="304" gcn="gfx942" rank="2" gdr="1">
        <xgmi target="0000:0c:00.0" count="1" tclass="0x120000"/>
      </gpu>
    </pci>
  </cpu>
</system>
"""
"""Three MI300X of which the first is joined to the others."""

GRACE = """<system version="1">
  <cpu host_hash="0x1" numaid="0" arch="arm64" vendor="ARM" familyid="0" modelid="0">
    <pci busid="0008:01:00.0" class="0x030200" vendor="0x10de" device="0x2941">
      <gpu dev="0" sm="100" rank="0" gdr="1">
        <nvlink target="fffffff:ffff:ff" count="18" tclass="0x068000"/>
        <c2c bw="45000" count="10"/>
      </gpu>
    </pci>
    <pci busid="0000:03:00.0" class="0x020700" link_speed="32.0 GT/s PCIe" link_width="16">
      <nic><net name="ibp3s0" dev="0" speed="400000" port="1" guid="0x11" gdr="1"/></nic>
    </pci>
  </cpu>
  <cpu host_hash="0x2" numaid="0" arch="arm64" vendor="ARM" familyid="0" modelid="0">
    <pci busid="0008:01:00.0" class="0x030200" vendor="0x10de" device="0x2941">
      <gpu dev="0" sm="100" rank="1" gdr="1">
        <nvlink target="fffffff:ffff:ff" count="18" tclass="0x068000"/>
        <c2c bw="45000" count="10"/>
      </gpu>
    </pci>
    <pci busid="0000:03:00.0" class="0x020700" link_speed="32.0 GT/s PCIe" link_width="16">
      <nic><net name="ibp3s0" dev="0" speed="400000" port="1" guid="0x12" gdr="1"/></nic>
    </pci>
  </cpu>
</system>
"""
"""Two hosts of a rack, one GPU with C2C each, on the rack's NVSwitches."""

ALL = {
    "pair": PAIR_BEHIND_SWITCHES,
    "two ports": TWO_PORTS,
    "mesh": MESH,
    "grace": GRACE,
}
