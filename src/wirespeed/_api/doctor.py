"""doctor: from what people have to what is wrong."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from pathlib import Path

import msgspec

from wirespeed._api.check import ClusterOf, cluster_for, notices_of
from wirespeed._api.clusters import cluster
from wirespeed._api.inputs import inputs_of as given_inputs
from wirespeed._api.inputs import with_inputs
from wirespeed._api.reading import Reading, free_name, nothing_read, texts_of
from wirespeed.catalog import parameters
from wirespeed.comparison.check import check as check_one
from wirespeed.comparison.check import joined
from wirespeed.comparison.machines import collective_of, group_on, inputs_of
from wirespeed.diagnosis.attribution import Diagnosis, attribute
from wirespeed.diagnosis.case import Case, Compared
from wirespeed.diagnosis.records import verdicts
from wirespeed.diagnosis.redact import redacted
from wirespeed.diagnosis.report import (
    DoctorReport,
    comparison_of,
    findings_on,
    verdict_on,
)
from wirespeed.diagnosis.run import Run, Runs, measured_of, run_on
from wirespeed.errors import InputError, UsageError, WirespeedError
from wirespeed.evidence import Evidence, Measurement
from wirespeed.inventory import Resolved
from wirespeed.inventory.archives import Text, folders_as_hosts
from wirespeed.inventory.combined import combine
from wirespeed.inventory.log_node import is_log
from wirespeed.readers import decode
from wirespeed.readers.records import are_records, read_records
from wirespeed.topology.cluster import Cluster
from wirespeed.topology.result import ParameterSet
from wirespeed.topology.software import Notice


def doctor(*sources: str, on: Cluster | ClusterOf | str | None = None) -> DoctorReport:
    """The findings on files: what is wrong, where it is seen, what to do.

    `sources` are files and directories of what machines and benchmarks print, in any format that is
    known, `-` for standard input, `live` for what this host says of itself; or one file of records,
    of which each gets a verdict. `on` is the machine that it ran on, where the files do not say it.
    Raises InputError where nothing can be read.
    """
    if not sources:
        raise UsageError(
            "there is nothing to look at",
            where="FILE",
            why="the doctor reads what machines and benchmarks print",
            remedy="give the output of nccl-tests and of `nvidia-smi topo -m`",
        )
    read = Reading()
    texts = [text for source in sources for text in texts_of(source, read.notices)]
    given = given_inputs(sources=list(sources), on=on if isinstance(on, str | Cluster) else None)
    if len(texts) == 1 and are_records(texts[0][1]):
        return with_inputs(_on_records(texts[0]), given)
    read.take(texts)
    if not read.evidence:
        raise nothing_read(sources, read.notices)
    return with_inputs(_on_evidence(read, on), given)


def write_redacted(sources: Iterable[str], folder: str) -> list[Path]:
    """Copies of sources without names, addresses and serials, in a new folder; what was written.

    Of an archive each text is a copy of its own. Raises UsageError where the folder holds something
    already, InputError where a source cannot be read.
    """
    to = Path(folder).expanduser()
    if to.exists() and any(to.iterdir()):
        raise UsageError(
            "the folder is not empty",
            where="--redact",
            why=f"copies would stand beside what is in {folder}",
            remedy="name a new folder",
        )
    given = [text for source in sources for text in texts_of(source, [])]
    texts: dict[str, str] = {}
    for name, data in given:
        try:
            text = decode(data, file=name)
        except InputError:
            # Of several files one that is no text has no copy.
            if len(given) == 1:
                raise
            continue
        texts[free_name(name, texts)] = text
    to.mkdir(parents=True, exist_ok=True)
    written: list[Path] = []
    for name, text in redacted(texts, hosts=folders_as_hosts(texts).values()).items():
        file = to / re.sub(r"[:/\\]+", "-", name)
        file.write_text(text, encoding="utf-8")
        written.append(file)
    return written


def _on_records(text: Text) -> DoctorReport:
    good, bad = read_records(text[1], file=text[0])
    found, notices = verdicts(good, bad)
    slow = sum(entry.verdict == "slow" for entry in found)
    return DoctorReport(
        parameters=ParameterSet(parameters().digest),
        warnings=tuple(notices),
        verdict="slow" if slow else "ok",
        sentence=f"{slow} of {len(found)} records are slower than such machines should be.",
        records=tuple(found),
    )


def _on_evidence(read: Reading, on: Cluster | ClusterOf | str | None) -> DoctorReport:
    resolved = _machine(read, on)
    make = _maker(on, resolved)
    if make is not None and on is not None:
        # What was named and is not there is an error, whatever the texts hold.
        make(None)
    compared, left = list[Compared](), list[tuple[str, str]]()
    known: dict[object, Compared] = {}
    for evidence in read.evidence:
        inputs = _inputs_of(evidence)
        for measured in evidence.measurements:
            # Copies between all pairs come in thousands, and in a paste often twice.
            asked = (inputs, _without_lines(measured)) if measured.source else object()
            try:
                if asked not in known:
                    known[asked] = _compared(evidence, measured, make)
                compared.append(replace(known[asked], measurement=measured))
            except WirespeedError as error:
                left.append((evidence.file, f"{measured.operation}: {error.what}"))
    machine = resolved.machine if resolved else None
    if machine is None and isinstance(on, Cluster):
        machine = on.machine
    case = Case(tuple(read.evidence), read.texts, machine, tuple(compared), tuple(left))
    findings = findings_on(case)
    verdict, sentence = verdict_on(findings, slow=any(entry.diagnosis.slow for entry in compared))
    check = joined([entry.check for entry in compared]) if compared else None
    worst = max(compared, key=lambda entry: entry.diagnosis.factor or 0.0, default=None)
    warnings = [*read.notices, *(check.warnings if check else machine.warnings if machine else ())]
    return DoctorReport(
        parameters=ParameterSet(parameters().digest),
        warnings=tuple(dict.fromkeys(warnings)),
        verdict=verdict,
        sentence=sentence,
        findings=findings,
        comparison=comparison_of(check) if check else None,
        attribution=worst.diagnosis.causes if worst else (),
    )


def _inputs_of(evidence: Evidence) -> frozenset[object]:
    """What a text says of its run, wherever it says it."""
    return frozenset((fact.subject, fact.attribute, fact.value) for fact in evidence.facts)


def _without_lines(measured: Measurement) -> Measurement:
    rows = tuple(msgspec.structs.replace(row, line=0) for row in measured.rows)
    return msgspec.structs.replace(measured, rows=rows)


def _compared(evidence: Evidence, measured: Measurement, make: ClusterOf | None) -> Compared:
    run = _run(evidence, measured, make)
    remarks = notices_of([*evidence.remarks, *measured.remarks])
    check = check_one(
        measured, run.collective, run.cluster, run.group, remarks=remarks, unknown=run.unknown
    )
    if check.verdict == "invalid":
        # Times of wrong results mean nothing: there is nothing to explain.
        return Compared(measured, run, check, Diagnosis(slow=False, factor=None))
    return Compared(measured, run, check, attribute(run, measured_of(measured)))


def _run(evidence: Evidence, measured: Measurement, make: ClusterOf | None) -> Run:
    """The run on the machine that is known, or else on the one that the output itself names."""
    if make is None:
        return Runs().of_inputs(inputs_of(evidence, measured))
    made = cluster_for(make, evidence, measured)
    said = {f.attribute: str(f.value) for f in evidence.facts if f.subject == "env"}
    software = replace(made.software, env={**made.software.env, **said})
    made = replace(made, software=software)
    return run_on(made, group_on(made, measured), collective_of(measured))


def _machine(read: Reading, on: Cluster | ClusterOf | str | None) -> Resolved | None:
    """The machine that the files describe, where they do and no other was named."""
    parts = read.evidence
    if on is not None or all(part.format == "nccl-tests" for part in parts):
        return None
    try:
        found = combine(parts, gpu=None)
    except WirespeedError as error:
        read.notices.append(Notice("machine-not-known", f"the machine stays open: {error.what}"))
        return None
    software = found.software
    if software and any(part.measurements and is_log(part) for part in parts):
        # A run with a log of its own was made under what that says, and nothing else.
        software = replace(software, env={})
    return Resolved(
        found.machine,
        nodes=found.nodes,
        software=software,
        evidence=tuple(parts),
        design=found.design,
    )


def _maker(on: Cluster | ClusterOf | str | None, resolved: Resolved | None) -> ClusterOf | None:
    """What makes the cluster of so many nodes; None leaves it to the measurement itself."""
    if isinstance(on, Cluster):
        whole = on
        return lambda nodes: whole
    if callable(on):
        return on
    source = on if on is not None else resolved
    if source is None:
        return None
    named = source
    return cache(lambda nodes: cluster(named, nodes=nodes))
