"""Names of unfinished files and folders, which say whose they are: no sweep takes a live one.

A name is `<prefix>-<machine>-<pid>-<start>-<random>`. Process ids are reused and are only unique
inside one PID namespace of one boot, so the machine part covers those and the start time settles
the rest.
"""

from __future__ import annotations

import hashlib
import os
import platform
import secrets
import time
from functools import cache
from pathlib import Path
from typing import Literal

Prefix = Literal[".tmp", ".staging"]
PREFIXES: tuple[Prefix, ...] = (".tmp", ".staging")
DAY = 86_400.0
UNKNOWN = "0"


def host() -> str:
    """This machine's name; what cannot be printed in it is "?"."""
    return "".join(one if one.isprintable() else "?" for one in platform.node())


@cache
def machine() -> str:
    """12 hexadecimal digits for this host, boot and PID namespace."""
    boot = Path("/proc/sys/kernel/random/boot_id")
    namespace = Path("/proc/self/ns/pid")
    parts = [
        platform.node(),
        boot.read_text().strip() if boot.exists() else "",
        str(namespace.readlink()) if namespace.is_symlink() else "",
    ]
    return hashlib.sha256(os.fsencode("\n".join(parts))).hexdigest()[:12]


def started(pid: int) -> str | None:
    """When `pid` started, in clock ticks since boot (proc(5), field 22 of stat).

    None where no such process lives, a zombie included; UNKNOWN where the system does not say.
    """
    try:
        line = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:  # gone, hidden from this user, or a system without /proc
        return UNKNOWN if _answers(pid) else None
    # The second field is the command in parentheses, which may itself hold spaces, parentheses and
    # bytes that are no text.
    state, *rest = line.rpartition(b")")[2].split()
    return None if state in b"ZX" else rest[18].decode()


def _answers(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def unfinished_name(prefix: Prefix) -> str:
    """A name that nothing else has, owned by this process."""
    pid = os.getpid()
    return f"{prefix}-{machine()}-{pid}-{started(pid)}-{secrets.token_hex(6)}"


def is_unfinished(name: str) -> bool:
    """Whether `name` is one that `unfinished_name` makes (or an older layout of it)."""
    return any(name.startswith(f"{prefix}-") for prefix in PREFIXES)


def is_leftover(path: Path) -> bool:
    """Whether the process that owned `path` is gone.

    Another machine's (or namespace's, or boot's) processes cannot be seen from here: there, a day
    without a change decides.
    """
    parts = path.name.split("-")
    if len(parts) == 5 and parts[1] == machine() and parts[2].isdecimal():
        found = started(int(parts[2]))
        return found is None or (found != parts[3] and found != UNKNOWN)
    changed = last_change(path)
    return changed is not None and time.time() - changed > DAY


def last_change(path: Path) -> float | None:
    """The newest modification time of `path` and what it holds, in seconds since the epoch; None
    where it, or something in it, vanished while we looked: it is in use.
    """
    inside = path.rglob("*") if path.is_dir() and not path.is_symlink() else ()
    try:
        return max(float(item.lstat().st_mtime) for item in (path, *inside))
    except OSError:
        return None
