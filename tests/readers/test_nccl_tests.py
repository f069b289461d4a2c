"""nccl-tests output of every version, whole and damaged, text and JSON."""

from __future__ import annotations

import json

import pytest

from support import shared
from wirespeed.errors import InputError
from wirespeed.readers import read_text
from wirespeed.readers.nccl_tests import read

DEVICES = "\n".join(
    f"#  Rank {rank:2} Group  0 Pid {rank} on node-a device {rank:2} [0x{rank:02x}] NVIDIA H200"
    for rank in range(8)
)
HEAD = """\
# nThread 1 nGpus 1 minBytes 1048576 maxBytes 8388608 step: 2(factor) warmup iters: 5 iters: 20 \
agg iters: 1 validation: 1 graph: 0
#
# Using devices
{devices}
#
#                                                      out-of-place                  in-place
#    size     count   type redop  root   time  algbw  busbw #wrong   time  algbw  busbw #wrong
#     (B) (elements)                     (us) (GB/s) (GB/s)          (us) (GB/s) (GB/s)
"""
ROWS = """\
 1048576    262144  float   sum    -1  45.00  23.30  40.78      0  44.00  23.83  41.70      0
 8388608   2097152  float   sum    -1  80.00 104.86 183.50      0  81.00 103.56 181.24      0
"""
TAIL = "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 111.8\n#\n"
WHOLE = HEAD.format(devices=DEVICES) + ROWS + TAIL


def measured(text: str):
    evidence = read(text, "run.txt")
    [measurement] = evidence.measurements
    return evidence, measurement


def codes(evidence) -> set[str]:
    own = {remark.code for m in evidence.measurements for remark in m.remarks}
    return own | {remark.code for remark in evidence.remarks}


def test_a_whole_run_gives_both_columns_in_seconds_and_bytes():
    _, run = measured("all_reduce_perf -b 1M\n" + WHOLE)
    assert (run.operation, run.ranks, run.dtype, run.launch, run.reduction) == (
        "all_reduce",
        8,
        "float",
        "process",
        "sum",
    )
    first, second = run.rows[:2]
    assert (first.size, first.in_place, second.in_place) == (2**20, False, True)
    assert first.time == pytest.approx(45e-6)
    assert first.busbw == pytest.approx(40.78e9)
    assert first.line == 1 + HEAD.format(devices=DEVICES).count("\n") + 1


def test_a_whole_run_needs_no_remark():
    evidence, _ = measured("all_reduce_perf -b 1M\n" + WHOLE)
    assert not codes(evidence)


def test_the_registry_knows_the_format():
    assert read_text(WHOLE, file="run.txt").format == "nccl-tests"


def test_the_device_list_says_hosts_and_models():
    evidence, _ = measured(WHOLE)
    assert evidence.value("rank7", "gpu_model") == "NVIDIA H200"
    assert evidence.value("rank0", "host") == "node-a"


def test_one_process_with_eight_gpus_is_a_thread_launch_and_graphs_are_graphs():
    _, threads = measured(WHOLE.replace("nGpus 1", "nGpus 8"))
    _, graphs = measured(WHOLE.replace("graph: 0", "graph: 3"))
    assert (threads.launch, graphs.launch) == ("thread", "graph")


def test_since_2_17_the_preamble_names_version_and_operation():
    preamble = (
        "# nccl-tests version 2.18.0 nccl-headers=22907 nccl-library=22907\n"
        "# Collective test starting: reduce_scatter_perf\n"
    )
    evidence, run = measured(preamble + WHOLE)
    assert run.operation == "reduce_scatter"
    assert evidence.value("run", "nccl_version") == "2.29.7"


def test_interval_columns_and_timestamps_do_not_shift_the_others():
    header = "# size count type redop root time algbw busbw i_min i_max i_p99 i_cv% #wrong " * 1
    header += "time algbw busbw i_min i_max i_p99 i_cv% #wrong timestamp\n"
    row = (
        "1048576 262144 float sum -1 45.00 23.30 40.78 44 47 46 1.2 0 "
        "44.00 23.83 41.70 43 46 45 1.1 0 2025-01-02 03:04:05\n"
    )
    _, run = measured("all_reduce_perf -I 1\n" + header + row + TAIL)
    assert [value.time for value in run.rows] == pytest.approx([45e-6, 44e-6])


def test_interval_columns_are_known_without_a_header_too():
    row = (
        "1048576 262144 float sum -1 45.00 23.30 40.78 44 47 46 1.2 0 "
        "44.00 23.83 41.70 43 46 45 1.1 0\n"
    )
    _, run = measured(row)
    assert [value.busbw for value in run.rows] == pytest.approx([40.78e9, 41.70e9])


def test_cpu_time_stands_in_the_place_of_time():
    _, run = measured(WHOLE.replace("time  algbw", "cputime  algbw"))
    assert run.rows[0].time == pytest.approx(45e-6)


def test_old_tables_have_a_blank_operator_and_no_root():
    text = (
        "# size count type time algbw busbw error time algbw busbw error\n"
        "1048576 32768 float 45.00 23.30 20.39 N/A 44.00 23.83 20.85 N/A\n"
    )
    _, run = measured("alltoall_perf -g 8\n" + text)
    assert (run.operation, run.ranks, len(run.rows)) == ("alltoall", 8, 2)


def test_hand_edited_tables_have_underscored_sizes_and_few_columns():
    text = "   size   time  algbw  busbw\n 1_048_576  45.00  23.30  40.78\n"
    _, run = measured(text)
    assert run.rows[0].size == 2**20
    assert run.dtype is None


def test_several_operators_in_one_table_are_several_measurements():
    rows = ROWS + ROWS.replace("sum", "max")
    evidence = read(HEAD.format(devices=DEVICES) + rows + TAIL, "run.txt")
    assert [m.reduction for m in evidence.measurements] == ["sum", "max"]


def test_two_runs_in_one_paste_are_two_measurements():
    evidence = read(WHOLE + "\n" + WHOLE, "run.txt")
    assert [len(m.rows) for m in evidence.measurements] == [4, 4]


@pytest.mark.parametrize(
    ("operation", "row", "ranks"),
    [
        ("all_reduce", "8388608 2097152 float sum -1 80.00 100.00 196.88 0", 64),
        ("all_gather", "8388608 131072 float none -1 80.00 100.00 93.75 0", 16),
        ("sendrecv", "8388608 2097152 float none -1 80.00 100.00 100.00 0", None),
    ],
)
def test_ranks_come_out_of_the_bus_factor(operation, row, ranks):
    _, run = measured(f"{operation}_perf -b 8M\n{row}\n")
    assert run.ranks == ranks


def test_a_list_of_devices_that_contradicts_the_factor_is_told():
    text = WHOLE.replace(DEVICES, DEVICES.splitlines()[0])
    evidence, run = measured(text)
    assert run.ranks == 8
    assert "ranks-differ" in codes(evidence)


def test_a_torn_row_keeps_its_whole_group():
    torn = (
        ROWS.splitlines()[0] + "\n 8388608   2097152  float   sum    -1  80.00 104.86 183.50  0 8"
    )
    evidence, run = measured(HEAD.format(devices=DEVICES) + torn)
    assert [row.size for row in run.rows] == [2**20, 2**20, 2**23]
    assert {"torn-row", "table-cut"} <= codes(evidence)


def test_a_run_that_failed_in_the_middle_says_so():
    failed = "node-a: Test NCCL failure common.cu:303 'remote process exited'\n"
    evidence, run = measured(HEAD.format(devices=DEVICES) + ROWS + failed)
    assert len(run.rows) == 4
    assert "run-failed" in codes(evidence)


def test_wrong_results_are_told():
    wrong = WHOLE.replace("40.78      0", "40.78  4.19e+06").replace("0 OK", "108 FAILED")
    evidence, _ = measured(wrong)
    assert "wrong-values" in codes(evidence)


def test_a_template_is_no_measurement():
    text = (
        "# size count type redop root time algbw busbw #wrong\n1024 256 float sum -1 XXX X.XX X 0\n"
    )
    with pytest.raises(InputError, match="template"):
        read(text, "run.txt")


def test_a_run_without_a_table_shows_its_error():
    text = "+ srun all_reduce_perf -b 8\nsrun: error: Unable to create step\n"
    evidence = read_text(text, file="run.txt")
    assert evidence.measurements == ()
    (failed,) = evidence.remarks
    assert (failed.code, failed.line) == ("run-failed", 2)
    assert "Unable to create step" in failed.text


def tree() -> dict:
    reading = {"time": 45.0, "alg_bw": 23.3, "bus_bw": 40.78, "nwrong": 0.0}
    return {
        "version": 1,
        "args": ["./build/all_reduce_perf", "-J", "out.json"],
        "env": ["NCCL_ALGO=Ring", "API_TOKEN=hunter2", "PATH=/bin"],
        "nccl_version": 22907,
        "config": {
            "nthreads": 1,
            "ngpus": 1,
            "graph": 0,
            "devices": [{"rank": r, "hostname": "a", "device_info": "NVIDIA H200"} for r in (0, 1)],
        },
        "results": [
            {
                "size": 2**20,
                "count": 2**18,
                "type": "float",
                "redop": "sum",
                "root": "    -1",
                "out_of_place": reading,
                "in_place": reading | {"time": "nan"},
            }
        ],
        "out_of_bounds": {"count": 0, "okay": "true"},
        "average_bus_bandwidth": {"bandwidth": 40.0, "okay": "unchecked"},
    }


def test_json_gives_the_same_as_text():
    _, run = measured(json.dumps(tree()))
    assert (run.operation, run.ranks, run.dtype, run.launch) == (
        "all_reduce",
        2,
        "float",
        "process",
    )
    assert [row.time for row in run.rows] == [pytest.approx(45e-6), None]


def test_of_an_environment_only_the_librarys_settings_are_kept():
    evidence, _ = measured(json.dumps(tree()))
    assert evidence.value("env", "NCCL_ALGO") == "Ring"
    assert "hunter2" not in repr(evidence)


def test_json_that_is_cut_is_refused():
    with pytest.raises(InputError, match="cannot be read"):
        read(json.dumps(tree())[:-40], "out.json")


FAILED = {
    "08-variant-extra-lines.txt": "no CUDA-capable device",
    "09-failed-no-table.txt": "Unable to create step",
}
# Whole samples: operation and ranks of the first measurement, and remarks that must be there.
CORPUS = {
    "04-reduce-root.txt": ("reduce", 8, set()),
    "05-broadcast-root.txt": ("broadcast", 8, set()),
    "07-h100-nvls-over-line-rate.txt": ("all_reduce", 8, set()),
    "11-torn-config-line.txt": ("all_reduce", 96, {"ranks-recovered"}),
    "12-gb200-72rank-tail.txt": ("all_reduce", 72, set()),
    "13-gb200-20racks.txt": ("all_reduce", 1440, set()),
    "15-a3mega-wide-columns.txt": ("all_gather", 16, {"operation-inferred"}),
    "17-underscored-sizes.txt": ("all_reduce", 8, {"ranks-recovered"}),
    "18-wrong-values-failed.txt": ("all_reduce", 2, {"wrong-values", "table-cut"}),
    "19-nccl-failure-in-the-middle.txt": ("alltoall", None, {"run-failed"}),
    "21-v2.18-preamble.txt": ("all_reduce", 8, {"ranks-differ"}),
    "24-multi-op-blocks.txt": ("all_reduce", 16, {"table-cut"}),
}


@pytest.mark.corpus
@pytest.mark.parametrize("name", CORPUS)
def test_samples_are_read(name):
    operation, ranks, expected = CORPUS[name]
    evidence = read_text(shared("samples", "nccl-tests", name).read_bytes(), file=name)
    first = evidence.measurements[0]
    assert (first.operation, first.ranks) == (operation, ranks)
    assert expected <= codes(evidence)


@pytest.mark.corpus
@pytest.mark.parametrize(("name", "why"), FAILED.items())
def test_samples_of_failed_runs_say_what_they_failed_of(name, why):
    evidence = read_text(shared("samples", "nccl-tests", name).read_bytes(), file=name)
    assert evidence.measurements == ()
    assert any(r.code == "run-failed" and why in r.text for r in evidence.remarks)


@pytest.mark.corpus
def test_the_sample_of_a_template_is_none_either():
    name = "16-placeholder-template.txt"
    with pytest.raises(InputError, match="template"):
        read_text(shared("samples", "nccl-tests", name).read_bytes(), file=name)


@pytest.mark.corpus
def test_every_sample_is_covered():
    names = {path.name for path in shared("samples", "nccl-tests").iterdir()}
    without = {
        "08-variant-extra-lines.txt",
        "09-failed-no-table.txt",
        "16-placeholder-template.txt",
    }
    assert names == set(CORPUS) | without


def test_settings_before_a_command_and_among_its_launcher_s_options_are_read():
    command = (
        "$ NCCL_ALGO=Ring TOKEN=x mpirun -x NCCL_DEBUG -x NCCL_PROTO='LL' all_reduce_perf -b 8"
    )
    found = read_text(f"{command}\n{HEAD}{ROWS}", file="run.txt")
    env = [(f.attribute, f.value, f.line) for f in found.facts if f.subject == "env"]
    assert env == [("NCCL_ALGO", "Ring", 1), ("NCCL_PROTO", "LL", 1)]


def test_json_of_another_shape_is_refused_in_words():
    for results in (["x", 1, None], {"a": 1}, []):
        text = json.dumps(tree() | {"results": results, "note": "out_of_place"})
        with pytest.raises(InputError, match="no nccl-tests results"):
            read_text(text, file="out.json")
    deep = '{"results": ' + "[" * 100_000 + '"out_of_place"'
    with pytest.raises(InputError, match="cannot be read"):
        read_text(deep, file="out.json")
