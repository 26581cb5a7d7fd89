"""The data sets and models that runs need, and which of them are on this machine."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from repro import hub
from repro.backbones import contents
from repro.backbones.checks import check_folder
from repro.backbones.describe import LOCAL, mirror_of, package_folder
from repro.backbones.weight_files import NEEDED
from repro.errors import MissingData, MissingModel, told
from repro.folders import named_by
from repro.papers.matrix import tasks_of
from repro.papers.request import Request
from repro.spec import Backbone, RunSpec
from repro.spec.backbones import MINILM, TINY_T5
from repro.spec.contents import Content, changed, locked
from repro.spec.facts import KNOWN
from repro.tasks import catalogue, rows
from repro.tasks import hub as data_hub
from repro.tasks.catalogue import TITLES

State = Literal["here", "to fetch", "missing", "damaged"]
CACHE = "the hub's cache"


@dataclass(frozen=True, slots=True)
class Need:
    """A data set or a model that runs need.

    Attributes:
        kind: What it is.
        name: As `--tasks` or `--backbone` has it.
        state: Whether it is on this machine. "to fetch": the hub has it.
        where: The folder or package that it is in, or its id on the hub.
        splits: Of a data set, those that are read.
        files: Those that are on this machine, by their name in its folder.
        size: Bytes on this machine or on the hub; None where that is not known.
        mend: What to do where it is not here.
        backbone: The model.
    """

    kind: Literal["data set", "model"]
    name: str
    state: State
    where: str
    splits: tuple[str, ...] = ()
    files: Mapping[str, Path] = field(default_factory=dict)
    size: int | None = None
    mend: str = ""
    backbone: Backbone | None = None

    @property
    def in_cache(self) -> bool:
        """Whether its files are those of the hub's cache."""
        return self.where == CACHE

    @property
    def is_fetched(self) -> bool:
        """Whether `fetch` asks the hub for it: a damaged file of its cache is downloaded anew."""
        return self.state == "to fetch" or (self.state == "damaged" and self.in_cache)


@dataclass(slots=True)
class Wanted:
    """What runs read: the splits of each data set, the models, where local models are; `requests`
    are what the runs are of.
    """

    splits: dict[str, tuple[str, ...]] = field(default_factory=dict)
    models: dict[tuple[str, str | None], Backbone] = field(default_factory=dict)
    folders: dict[str, str] = field(default_factory=dict)
    requests: list[Request] = field(default_factory=list)
    any_rows: bool = False
    """Whether other rows than the published ones will do, as they do at scale "reduced"."""

    def add(self, spec: RunSpec) -> None:
        """Adds what one run reads. Generated rows and models need nothing."""
        if spec.backbone.id != TINY_T5:
            self.models[spec.backbone.id, spec.backbone.revision] = spec.backbone
        if spec.task.source == "generated":
            return
        for name in tasks_of(spec):
            whole = KNOWN[name].needed
            known = (*self.splits.get(name, ()), *spec.task.splits(name))
            self.splits[name] = tuple(split for split in whole if split in known)

    def needs(self) -> list[Need]:
        """Each of them, and whether it is here; the hub is not asked.

        Raises MissingData where $REPRO_DATA is set and no folder.
        """
        names = [name for name in TITLES if name in self.splits]
        return [
            *(_data_set(name, self.splits[name], any_rows=self.any_rows) for name in names),
            *(_model(backbone, self.folders) for backbone in self.models.values()),
        ]


def sized(needs: Iterable[Need]) -> tuple[list[Need], str]:
    """The needs with the sizes of what is to be fetched, and why the hub did not say them.

    An unreachable hub is asked once.
    """
    found, why = [], ""
    for need in needs:
        found.append(need)
        if need.state == "to fetch" and not why:
            try:
                found[-1] = replace(need, size=sum(one.size for one in _remote(need)))
            except Exception as problem:  # network, HTTP and offline errors share no base class
                why = told(problem)
    return found, why


def _remote(need: Need) -> list[hub.Remote]:
    """The hub's files of a need."""
    if need.backbone is not None:
        return list(contents.look(need.backbone).values())
    found = [data_hub.look(KNOWN[need.name], split) for split in need.splits]
    return [one for one in found if one is not None]


def fetch(needs: Iterable[Need], heard: hub.Heard) -> list[str]:
    """Downloads what is needed, one after the other; returns what went wrong, a line each."""
    problems = []
    for need in needs:
        for path in need.files.values() if need.state == "damaged" else ():
            if not hub.is_intact(path):
                hub.forget(path)
        try:
            _fetch(need, heard)
        except (MissingData, MissingModel) as problem:
            problems.append(str(problem))
    return problems


def _fetch(need: Need, heard: hub.Heard) -> None:
    """Downloads one, and compares what it holds with the lock file where that has it."""
    if need.backbone is not None:
        files = contents.fetch(need.backbone, heard)
        _check_locked(need.name, contents.content_of(files), locked().models.get(need.name))
        return
    facts = KNOWN[need.name]
    data_hub.fetch(facts, need.splits, heard=heard)
    read = catalogue.hub_content(need.name, splits=need.splits)
    _check_locked(need.name, read, locked().data.get(facts.folder))


def _check_locked(name: str, read: Content | None, known: Content | None) -> None:
    """Raises MissingData for a file or split that is not the one that the lock file names."""
    for part, digest in read.digests.items() if read and known else ():
        expected = known.digests.get(part, digest) if known else digest
        if digest != expected:
            raise MissingData(
                f"{part} of {name} is not the one that the lock file names: SHA-256 "
                f"{digest[:12]}, not {expected[:12]}. The hub's copy was changed: get an unchanged "
                "one from a mirror (HF_ENDPOINT), or use a newer version of repro."
            )


def _data_set(name: str, splits: tuple[str, ...], *, any_rows: bool) -> Need:
    found, facts = catalogue.look(name), KNOWN[name]
    base = Need("data set", name, "here", f"$REPRO_DATA/{found.folder}", splits)
    if found.state == "damaged":
        return replace(base, state="damaged", mend=found.problem)
    paths = rows.here(facts, facts.needed)
    if paths:
        return _local_files(base, found, paths, any_rows=any_rows)
    if not facts.hub_id:
        owner = facts.owner
        how = f" ({owner.made_of})" if owner.made_of else ""
        mend = (
            f"published by {owner.name}, {owner.url}{how}. Put its files there: {files_of(found)}"
        )
        return replace(base, state="missing", mend=mend)
    cached = {f"{split}.parquet": data_hub.cached(facts, split) for split in splits}
    here = {name: path for name, path in cached.items() if path is not None}
    return _from_hub(replace(base, where=facts.hub_id), here, whole=len(here) == len(splits))


def _local_files(
    base: Need, found: catalogue.Found, paths: Mapping[str, Path], *, any_rows: bool
) -> Need:
    """A data set that has files below $REPRO_DATA."""
    facts, files = KNOWN[base.name], dict[str, Path]()
    for path in paths.values():  # a split may be a folder that `datasets` saved
        own = [one for one in path.rglob("*") if one.is_file()] if path.is_dir() else [path]
        files |= {one.relative_to(path.parent).as_posix(): one for one in own}
    base = replace(base, files=files, size=_bytes(files.values()))
    lacking = [] if found.joined else [split for split in base.splits if split not in paths]
    if lacking:
        absent = " and ".join(f"{split}.jsonl.gz" for split in lacking)
        mend = f"{absent} not there. Add it{data_hub.or_hub(facts)}."
        return replace(base, state="missing", mend=mend)
    if not any_rows and _differs(found, base.splits):
        mend = (
            f"not the published rows: {sizes(found.here)}; published: "
            f"{sizes(found.published)}. Replace the files; the scale 'reduced' takes any rows."
        )
        return replace(base, state="damaged", mend=mend)
    return _checksummed(base, named_by("REPRO_DATA"))


def _differs(found: catalogue.Found, splits: Sequence[str]) -> bool:
    """Whether the files have other numbers of rows than the published set."""
    if found.joined:
        return sum(found.here.values()) != sum(found.published.values())
    return any(found.here[split] != found.published[split] for split in splits)


def _model(backbone: Backbone, folders: Mapping[str, str]) -> Need:
    base = Need("model", backbone.id, "here", backbone.id, backbone=backbone)
    try:
        if backbone.id == MINILM:
            return _folder(replace(base, where="an installed package"), package_folder())
        if backbone.id == LOCAL:
            return _folder(
                replace(base, name=backbone.name), Path(folders[backbone.revision or ""])
            )
        mirror = mirror_of(backbone)
        if mirror is None:
            cached = contents.cached(backbone)
            return _from_hub(base, cached, whole=bool(cached))
        if all((mirror / name).is_file() for name in NEEDED):
            check_folder(mirror)
        found = _folder(replace(base, where=f"$REPRO_MODELS/{backbone.id}"), mirror)
    except MissingModel as problem:
        return replace(base, state="missing", mend=str(problem))
    return _checksummed(found, named_by("REPRO_MODELS"))


def _folder(base: Need, folder: Path) -> Need:
    names = contents.files_read(path.name for path in folder.iterdir())
    files = {name: folder / name for name in names}
    return replace(base, files=files, size=_bytes(files.values()))


def _from_hub(base: Need, cached: Mapping[str, Path], *, whole: bool) -> Need:
    """Something that comes from the hub: here if all its files are in the cache, undamaged."""
    if not whole:
        return replace(base, state="to fetch")
    base = replace(base, where=CACHE, files=cached, size=_bytes(cached.values()))
    bad = [path for path in cached.values() if not hub.is_intact(path)]
    mend = f"{bad[0]} has another checksum than the hub's" if bad else ""
    return replace(base, state="damaged" if bad else "here", mend=mend)


def _checksummed(base: Need, root: Path | None) -> Need:
    """The need, damaged where a file of a prepared folder is not the one that was put there."""
    bad = changed(root, base.files.values()) if root is not None else []
    if not bad:
        return base
    mend = f"{bad[0]} has another checksum than when it was put there. Copy it again."
    return replace(base, state="damaged", mend=mend)


def files_of(found: catalogue.Found) -> str:
    """Which local files of a data set are looked for."""
    named = f"$REPRO_DATA/{found.folder}/{{{','.join(found.published)}}}.jsonl.gz or another format"
    return f"{named}; those that are there are joined" if found.joined else named


def sizes(rows: Mapping[str, int]) -> str:
    """train 11,712, validation 1,464, test 1,464."""
    return ", ".join(f"{split} {count:,}" for split, count in rows.items())


def _bytes(paths: Iterable[Path]) -> int:
    return sum(path.stat().st_size for path in paths)
