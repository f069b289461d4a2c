"""The layers of the suite, how long a fast test may take, and how examples are drawn."""

from __future__ import annotations

import os
import time
from collections.abc import Generator

import pytest
from hypothesis import HealthCheck, settings

LAYERS = ("fast", "real", "corpus", "validation")
FUZZ_EXAMPLES = int(os.environ.get("WIRESPEED_FUZZ_EXAMPLES", "0"))

# Both count time by the wall, which says nothing on a busy machine.
UNTIMED = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("fast", derandomize=True, database=None, **UNTIMED)
settings.register_profile("fuzz", max_examples=FUZZ_EXAMPLES or 5000, print_blob=True, **UNTIMED)
settings.load_profile("fuzz" if FUZZ_EXAMPLES else "fast")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addini(
        "fast_cpu_limit_s", "CPU seconds that a test of the fast layer may use", default="2"
    )
    parser.addini("fast_wall_limit_s", "seconds after which a fast test has waited", default="20")


def pytest_itemcollected(item: pytest.Item) -> None:
    """A test that names no layer is fast."""
    if not any(item.get_closest_marker(layer) for layer in LAYERS):
        item.add_marker("fast")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Fail a fast test that is not; CPU time decides, since a busy machine does not lengthen it."""
    cpu, wall = cpu_seconds(), time.monotonic()
    result = yield
    cpu, wall = cpu_seconds() - cpu, time.monotonic() - wall
    limited = item.get_closest_marker("fast") and not item.get_closest_marker("slow")
    if limited and not FUZZ_EXAMPLES:
        complain(item, "used", "CPU time", cpu, "fast_cpu_limit_s")
        complain(item, "took", "by the clock", wall, "fast_wall_limit_s")
    return result


def complain(item: pytest.Item, verb: str, kind: str, seconds: float, limit: str) -> None:
    """Fail when the seconds are over the limit, and say what to do."""
    allowed = float(item.config.getini(limit))
    if seconds > allowed:
        pytest.fail(
            f"this test {verb} {seconds:.1f} s {kind}; a fast test has {allowed:g} s.\n"
            "Make it smaller, or mark it: pytest.mark.slow if it must compute that long,\n"
            "pytest.mark.real if it starts processes, opens sockets or waits.",
            pytrace=False,
        )


def cpu_seconds() -> float:
    """User and system time of this process and of the children that it waited for, in seconds."""
    return sum(os.times()[:4])
