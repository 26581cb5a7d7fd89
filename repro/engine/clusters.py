"""The executors beside this machine's, and the file in which a site says what its jobs need."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from repro.engine.dispatch import Executor
from repro.engine.on_ray import Profile as RayProfile
from repro.engine.on_ray import RayExecutor
from repro.engine.slurm import Profile as SlurmProfile
from repro.engine.slurm import SlurmExecutor
from repro.errors import ReproError
from repro.strict import why_refused


class Profiles(BaseModel):
    """A profile file: a table for each cluster. docs/scheduling.md has an example."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    slurm: SlurmProfile = SlurmProfile()
    ray: RayProfile = RayProfile()


def cluster(name: str, profile: Path | None, root: Path) -> Executor:
    """The executor of a cluster for the store in `root`. Raises ReproError for a bad profile."""
    found = Profiles() if profile is None else read_profiles(profile)
    if name == "slurm":
        return SlurmExecutor(root, found.slurm)
    return RayExecutor(root, found.ray)


def read_profiles(path: Path) -> Profiles:
    """What a profile file says. Raises ReproError."""
    try:
        return Profiles.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        problem = error.strerror or str(error)
    except ValidationError as error:
        problem = _problem(error)
    except ValueError as error:  # no TOML, or no text
        problem = str(error)
    raise ReproError(f"--profile {path}: {problem}. docs/scheduling.md has an example.")


def _problem(error: ValidationError) -> str:
    """What is wrong first: the setting, its value, and what is expected. An unknown name is
    answered with those that there are.
    """
    first = error.errors(include_url=False)[0]
    *tables, name = map(str, first["loc"])
    if first["type"] == "extra_forbidden":
        fields = Profiles.model_fields[tables[0]].annotation if tables else Profiles
        known = ", ".join(fields.model_fields)  # type: ignore[union-attr]
        where = f"setting in [{tables[0]}]" if tables else "table"
        return f"there is no {where} called '{name}'; known: {known}"
    where = f"[{tables[0]}] {'.'.join([*tables[1:], name])}" if tables else name
    return f"{where} = {json.dumps(first['input'], default=str)}: {why_refused(first)}"
