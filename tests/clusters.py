"""A real Slurm on this machine, and jobs whose workers are stand-ins."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from run_samples import run_spec

from repro.engine.jobs import Job, make_job
from repro.store import Store

Scenario = Callable[..., None]
LARGEST_ARRAY = 5
PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "scontrol", "scancel")
CONFIGURATION = """
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmUser={user}
SlurmdUser={user}
AuthInfo=socket={folder}/munge/socket
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/%n.log
MailProg=/bin/true
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=sched_min_interval=100000,bf_interval=1
SlurmdTimeout=10
MaxArraySize={largest_array}
KillWait=5
ReturnToService=2
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
NodeName=n1 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[1]} CPUs=1
NodeName=n2 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[2]} CPUs=1
PartitionName=main Nodes=n1,n2 Default=YES State=UP
"""


@dataclass(slots=True)
class Slurm:
    """A controller and two nodes of one CPU each, all processes of this user."""

    folder: Path
    daemons: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def start(self, *names: str) -> None:
        """Starts daemons: `munged`, `slurmctld`, a node."""
        munge, conf = self.folder / "munge", str(self.folder / "slurm.conf")
        commands = {
            "munged": ["munged", "-F", "--force", "--num-threads=1", f"--socket={munge}/socket",
                       f"--key-file={munge}/key", f"--pid-file={munge}/pid",
                       f"--log-file={munge}/log", f"--seed-file={munge}/seed"],
            "slurmctld": ["slurmctld", "-D", "-f", conf],
            "n1": ["slurmd", "-D", "-N", "n1", "-f", conf],
            "n2": ["slurmd", "-D", "-N", "n2", "-f", conf],
        }  # fmt: skip
        for name in names:
            self.daemons[name] = subprocess.Popen(
                commands[name], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )

    def shut_down(self, name: str) -> None:
        """Ends a daemon, which saves its state."""
        daemon = self.daemons.pop(name)
        daemon.terminate()
        daemon.wait()

    def lose(self, node: str) -> None:
        """Kills a node and all that runs there, as a power cut does."""
        daemon = self.daemons.pop(node)
        daemon.kill()
        daemon.wait()
        for pid in self._jobs(node):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def _jobs(self, node: str) -> list[int]:
        """The processes of jobs on a node, after those that watch over them and would tell."""
        marks = {
            f"SLURMD_NODENAME={node}".encode(),
            f"SLURM_CONF={self.folder}/slurm.conf".encode(),
        }
        found = []
        for path in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                if marks <= set((path / "environ").read_bytes().split(b"\0")):
                    found.append(int(path.name))
        above = {ancestors(pid)[0] for pid in found}
        watching = [pid for pid in above if Path(f"/proc/{pid}/comm").read_text() == "slurmstepd\n"]
        return [*watching, *found]

    def stop(self) -> None:
        """Ends all daemons and jobs."""
        command("scancel", "--me")
        for node in ("n1", "n2"):
            if node in self.daemons:
                self.lose(node)
        for daemon in self.daemons.values():
            daemon.kill()
            daemon.wait()


def ancestors(pid: int) -> list[int]:
    """The process that started a process, the one that started that and so on."""
    found = []
    while pid > 1:
        pid = int(Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[1])
        found.append(pid)
    return found


def command(*words: str) -> str:
    return subprocess.run(words, capture_output=True, text=True, check=False).stdout


def free_ports(count: int) -> list[int]:
    """Ports that nobody listens at now."""
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


def wait_until(condition: Callable[[], bool], seconds: float = 60.0) -> None:
    """Waits for what another process does; fails where it never does."""
    last = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < last, "it never happens"
        time.sleep(0.05)


def attempts(store: Store) -> list[dict[str, Any]]:
    """What the stand-ins noted when they were started."""
    path = store.root.parent / "attempts.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def jobs_of(count: int) -> list[Job]:
    """Jobs of one run each, told apart by their learning rates 1, 2, ..."""
    return [make_job([run_spec(recipe__learning_rate=float(n))]) for n in range(1, count + 1)]
