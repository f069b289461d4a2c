"""What someone set is no excuse but the first suspect."""

from __future__ import annotations

import pytest

from wirespeed.diagnosis.causes import causes
from wirespeed.diagnosis.stated import _SETTINGS, as_intended, suspects
from wirespeed.readers.records import Inputs, RecordCluster
from wirespeed.topology.change import parse_change


def inputs(env: dict[str, str] | None = None, **cluster) -> Inputs:
    plain = {"gpu": "H100-SXM", "nodes": 2, "gpus_per_node": 8} | cluster
    return Inputs(RecordCluster(**plain), "all_reduce", 16, env=tuple(sorted((env or {}).items())))


def causes_of(given: Inputs) -> list[str]:
    return [entry.cause for entry in as_intended(given)[1]]


def test_a_plain_run_has_no_suspects_and_stays_as_it_is():
    plain = inputs({"NCCL_DEBUG": "INFO", "NCCL_SOCKET_IFNAME": "eth0"}, gdr="yes")
    assert as_intended(plain) == (plain, ())


@pytest.mark.parametrize(
    ("name", "value", "cause"),
    [
        ("NCCL_P2P_DISABLE", "1", "p2p_disabled_env"),
        ("NCCL_P2P_LEVEL", "LOC", "p2p_disabled_env"),
        ("NCCL_NVLS_ENABLE", "0", "nvls_off"),
        ("NCCL_PROTO", "LL", "forced_protocol"),
        ("NCCL_NET_GDR_LEVEL", "LOC", "gdr_off"),
        ("NCCL_IB_DISABLE", "1", "fabric_not_driven"),
        ("NCCL_NET", "Socket", "fabric_not_driven"),
        ("NCCL_MAX_NCHANNELS", "4", "forced_setting"),
        ("NCCL_IB_SPLIT_DATA_ON_QPS", "1", "qp_striping"),
    ],
)
def test_a_setting_that_costs_is_taken_out_and_suspected(name, value, cause):
    intended, stated = as_intended(inputs({name: value}))
    assert intended.env == ()
    assert [entry.cause for entry in stated] == [cause]
    assert stated[0].changes == (parse_change(f"env:{name}={value}"),)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("NCCL_P2P_DISABLE", "0"),
        ("NCCL_P2P_LEVEL", "SYS"),
        ("NCCL_NVLS_ENABLE", "1"),
        ("NCCL_NVLS_ENABLE", "default"),
        ("NCCL_NET_GDR_LEVEL", "PHB"),
        ("NCCL_NET", "AWS Libfabric"),
        ("NCCL_CROSS_NIC", "1"),
        ("NCCL_IB_DISABLE", "0"),
    ],
)
def test_values_that_cost_nothing_are_left_alone(name, value):
    given = inputs({name: value})
    assert as_intended(given) == (given, ())


def test_a_forced_algorithm_is_the_question_and_stays():
    given = inputs({"NCCL_ALGO": "Ring"})
    intended, stated = as_intended(given)
    assert intended == given
    assert [entry.cause for entry in stated] == ["algo_choice"]


def test_what_a_description_lacks_is_suspected_too():
    assert causes_of(inputs(gdr="no", fabric="IB NDR")) == ["gdr_off"]
    assert causes_of(inputs(p2p=False)) == ["p2p_unavailable"]
    assert causes_of(inputs(p2p=False, path="PIX")) == ["same_switch_no_p2p"]


def test_sockets_are_one_cause_though_they_have_no_gpudirect_either():
    given = inputs(gdr="no", fabric="Slingshot-11, TCP sockets")
    assert causes_of(given) == ["fabric_not_driven"]
    assert as_intended(given)[0].cluster.fabric == "slingshot"


def test_a_network_that_needs_a_plugin_is_not_driven_without_one():
    assert causes_of(inputs(gdr="no", fabric="Omni-Path (hfi1)")) == ["fabric_not_driven"]
    with_plugin = inputs({"FI_PROVIDER": "efa"}, gdr="no", fabric="EFA v1")
    assert causes_of(with_plugin) == ["gdr_off"]


def test_variables_of_one_cause_are_one_suspect():
    found = suspects({"NCCL_IB_DISABLE": "1", "NCCL_NET": "Socket", "NCCL_PROTO": "LL"})
    assert [entry.cause for entry in found] == ["fabric_not_driven", "forced_protocol"]
    assert len(found[0].changes) == 2


def test_every_code_has_its_sentence():
    assert {cause for _, cause in _SETTINGS.values()} <= set(causes())
    assert all(cause.text.endswith(".") and cause.remedy for cause in causes().values())
    assert all(cause.source_url.startswith("https://") for cause in causes().values())
