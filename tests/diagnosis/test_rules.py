"""Rules: each fires on what it is for, and not on what is nearly that."""

from __future__ import annotations

from dataclasses import replace

import pytest

from wirespeed.diagnosis.case import Case
from wirespeed.diagnosis.report import findings_on, verdict_on
from wirespeed.diagnosis.rules import RULES
from wirespeed.evidence import Evidence, Fact, Measurement, Remark, Row
from wirespeed.topology.machines import preset_machine
from wirespeed.topology.software import Notice

RUN = Measurement("all_reduce", "run.txt", (Row(2**20, 1e-3, line=2),), ranks=8)


def codes(case: Case, rule: str) -> list[str]:
    return [finding.code for finding in RULES[rule](case)]


def with_env(**env: str) -> Case:
    facts = tuple(Fact("env", name, value, 3 + k) for k, (name, value) in enumerate(env.items()))
    lines = ("{", '"env": {', *(f'"{name}": "{value}",' for name, value in env.items()))
    return Case((Evidence("nccl-tests", "run.json", facts),), {"run.json": lines})


def with_remark(code: str) -> Case:
    evidence = Evidence(
        "nccl-tests", "run.txt", (), (Remark(code, "results are wrong", 2),), (RUN,)
    )
    return Case((evidence,), {"run.txt": ("head", "8  2  float  1.0  N/A")})


def with_oddity(code: str) -> Case:
    notice = Notice(code, "gpu2 has lost its NVLinks; check `nvidia-smi nvlink -s`", "gpu2")
    machine = replace(preset_machine("dgx-h100"), oddities=(notice,))
    facts = (Fact("gpu2", "name", "GPU2", 1), Fact("gpu2>gpu0", "link", "SYS", 4))
    lines = ("\x1b[4m GPU0 GPU1\x1b[0m", "", "", "GPU2   SYS \t SYS")
    return Case((Evidence("topo-m", "m.txt", facts),), {"m.txt": lines}, machine)


def test_every_rule_says_who_confirms_it():
    assert all(rule.source_url.startswith("https://") for rule in RULES.values())
    assert all(rule.look.__doc__ for rule in RULES.values())


def test_an_empty_case_has_no_findings():
    assert [finding for rule in RULES.values() for finding in rule(Case())] == []


def test_a_setting_that_costs_is_found_with_its_line():
    (finding,) = RULES["settings"](with_env(NCCL_P2P_DISABLE="1"))
    assert finding.code == "p2p_disabled_env"
    assert finding.severity == "warning"
    assert finding.evidence[0].line == 3
    assert "NCCL_P2P_DISABLE" in finding.evidence[0].text
    assert "unset NCCL_P2P_DISABLE" in finding.remedy


@pytest.mark.parametrize(
    "env",
    [
        {"NCCL_P2P_DISABLE": "0"},
        {"NCCL_DEBUG": "INFO", "NCCL_IB_HCA": ""},
        {"NCCL_ALGO": "Ring"},
        {"NCCL_MAX_NCHANNELS": "32"},
    ],
)
def test_settings_that_cost_nothing_for_sure_are_not_found(env):
    assert codes(with_env(**env), "settings") == []


def test_wrong_results_and_failed_runs_are_errors_and_other_remarks_are_not():
    assert codes(with_remark("wrong-values"), "wrong_values") == ["wrong_values"]
    assert codes(with_remark("run-failed"), "run_failed") == ["run_failed"]
    assert codes(with_remark("table-cut"), "wrong_values") == []
    assert codes(with_remark("table-cut"), "run_failed") == []


def test_oddities_of_the_machine_bear_the_lines_of_the_part():
    (finding,) = RULES["oddities"](with_oddity("nvlink-lost"))
    assert finding.code == "nvlink_down"
    assert finding.severity == "error"
    assert [(line.line, line.text) for line in finding.evidence] == [(4, "GPU2 SYS SYS")]
    assert finding.remedy.startswith("check `nvidia-smi nvlink")
    (other,) = RULES["oddities"](with_oddity("nic-idle"))
    assert (other.code, other.severity) == ("nic_idle", "warning")


def test_a_lost_link_is_shown_by_the_line_of_its_own_host():
    notice = Notice("nvlink-lost", "gpu1 has lost a link", "a: gpu1")
    machine = replace(preset_machine("dgx-h100"), oddities=(notice,))
    evidence = tuple(
        Evidence(
            "nvidia-smi-nvlink",
            f"{host}.txt",
            (Fact("gpu1", "name", "H100", 1), Fact("gpu1 link7", "state", "inactive", 2)),
            host=host,
        )
        for host in "ba"
    )
    texts = {part.file: ("GPU 1: H100", "Link 7: <inactive>") for part in evidence}
    (finding,) = RULES["oddities"](Case(evidence, texts, machine))
    assert [(line.file, line.text) for line in finding.evidence] == [
        ("a.txt", "Link 7: <inactive>")
    ]


def test_an_oddity_that_names_a_line_is_shown_by_it_and_bears_the_code_of_the_records():
    notice = Notice("acs-redirect", "ACS sends peer traffic up", "lspci.txt:2")
    machine = replace(preset_machine("dgx-h100"), oddities=(notice,))
    texts = {"lspci.txt": ("00:01.0 PCI bridge", "ACSCtl: ReqRedir+")}
    case = Case((Evidence("lspci", "lspci.txt", ()),), texts, machine)
    (finding,) = RULES["oddities"](case)
    assert finding.code == "acs_iommu"
    assert [line.text for line in finding.evidence] == ["ACSCtl: ReqRedir+"]


def test_a_machine_without_oddities_has_none():
    assert codes(Case(machine=preset_machine("dgx-h100")), "oddities") == []


def test_rows_without_a_machine_are_said_to_be_open():
    case = Case(open=(("run.txt", "all_reduce: the output does not say on what it ran"),))
    (finding,) = RULES["not_compared"](case)
    assert finding.severity == "ok"
    assert "cannot be said" in finding.cause
    assert "--on" in finding.remedy


def test_where_nothing_is_odd_that_is_the_finding():
    case = Case((Evidence("topo-m", "m.txt", ()),), {}, preset_machine("dgx-h100"))
    (finding,) = findings_on(case)
    assert (finding.code, finding.severity) == ("nothing_odd", "ok")
    assert verdict_on([finding], slow=False)[0] == "ok"


def test_the_gravest_come_first_and_one_thing_is_said_once():
    twice = with_remark("wrong-values")
    odd = with_oddity("nic-idle")
    both = replace(odd, evidence=(*twice.evidence, *twice.evidence), texts=twice.texts)
    found = findings_on(both)
    assert [finding.code for finding in found] == ["wrong_values", "nic_idle"]
    verdict, sentence = verdict_on(found, slow=False)
    assert verdict == "wrong"
    assert "wrong_values, nic_idle" in sentence
    assert verdict_on([*found, found[0]], slow=False)[1] == sentence
    assert sentence.startswith("2 things are")
