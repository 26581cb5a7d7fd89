"""Makes the helper modules beside this file importable; tests are quick and equal on every run."""

from __future__ import annotations

import builtins
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

# Before torch is imported: tests' tensors are too small to share among threads.
os.environ.setdefault("OMP_NUM_THREADS", "1")

settings.register_profile("repro", derandomize=True, deadline=None)
settings.load_profile("repro")


@pytest.fixture(autouse=True)
def _cache_of_its_own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """No test reads or writes what this user's commands keep."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("REPRO_CACHE", str(tmp_path_factory.getbasetemp() / "cache"))
        yield


@pytest.fixture(autouse=True)
def _signals_as_they_were() -> Iterator[None]:
    """A worker that a test starts in this process listens to signals for good."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGUSR2)
    before = {number: signal.getsignal(number) for number in numbers}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture
def methods_forgotten(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Methods of a user's file that a test registers are gone after it."""
    from repro.spec import method as registry

    registry.methods()
    monkeypatch.setattr(registry, "_FOUND", dict(registry._FOUND))
    monkeypatch.setattr(registry, "_REMEMBERED", {})
    monkeypatch.setenv(registry.VARIABLE, "")
    yield
    for name in [name for name in sys.modules if name.startswith(registry.OF_A_FILE)]:
        del sys.modules[name]


@pytest.fixture
def strange_name() -> Iterator[None]:
    """This process is called by bytes that are no UTF-8, and by a parenthesis."""
    comm = Path("/proc/self/comm")
    if not comm.exists():
        pytest.skip("this system has no /proc/self/comm")
    before = comm.read_bytes()
    comm.write_bytes(b"\xff) \xfe")
    yield
    comm.write_bytes(before.strip())


@pytest.fixture(autouse=True, scope="session")
def _lock_of_made_up_contents() -> Iterator[None]:
    """What made-up runs read stands in the lock file, so that their numbers can be judged."""
    from fake_contents import LOCK

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("repro.report.declared.locked", lambda: LOCK)
        yield


@pytest.fixture(autouse=True, scope="session")
def _refuse_version_dependent_sums() -> Iterator[None]:
    """Fails the test in which the package adds floats with the builtin `sum`.

    Its last digits depend on the Python version (3.12 compensates rounding errors, 3.11 does not);
    `math.fsum` and `statistics.fmean` are exact on every version.
    """
    plain = builtins.sum

    def checked(iterable: Iterable[Any], /, start: Any = 0) -> Any:
        total = plain(iterable, start)
        caller = sys._getframe(1).f_globals.get("__name__", "")
        if isinstance(total, float) and caller.split(".")[0] == "repro":
            raise TypeError(f"{caller} adds floats with sum(); use math.fsum or statistics.fmean")
        return total

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(builtins, "sum", checked)
        yield


@pytest.fixture
def refusing_flock(tmp_path: Path) -> Callable[[int], dict[str, str]]:
    """Error number -> environment of a process where flock(2) refuses so, as some mounts do."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler (cc) builds the library that makes flock refuse")
    library = tmp_path.parent / f"{tmp_path.name}-noflock.so"
    source = Path(__file__).parent / "noflock.c"
    subprocess.run([compiler, "-shared", "-fPIC", "-o", library, source], check=True)
    return lambda code: {"LD_PRELOAD": str(library), "FLOCK_ERRNO": str(code)}
