"""The hub's files of a data set: parquet, fetched by huggingface_hub.

It honours HF_ENDPOINT, HF_HOME and HF_HUB_OFFLINE; no code of the hub is run.
"""

from __future__ import annotations

import os
from pathlib import Path

from repro.errors import MissingData, told
from repro.spec.facts import Facts

FOLDER_VARIABLE = "REPRO_DATA"


def or_hub(facts: Facts) -> str:
    """The other mend of an error about local files: ", or unset ... from the hub", if any."""
    unset = f", or unset {FOLDER_VARIABLE} to use {facts.hub_id} from the hub"
    return unset if facts.hub_id else ""


def hub_name(facts: Facts, split: str) -> str:
    """The split's file in the hub's repository."""
    return f"{facts.hub_folder}/{split}-00000-of-00001.parquet"


def hub_place(facts: Facts, split: str) -> str:
    """The same for a reader."""
    return f"{facts.hub_id} {hub_name(facts, split)}"


def hub_commit(facts: Facts, split: str, revision: str | None) -> str | None:
    """The commit that a split's file was downloaded at; None where it is not in the hub's cache."""
    import huggingface_hub

    found = huggingface_hub.try_to_load_from_cache(
        facts.hub_id, hub_name(facts, split), revision=revision, repo_type="dataset"
    )
    parts = Path(found).parts if isinstance(found, str) else ()
    return parts[parts.index("snapshots") + 1] if "snapshots" in parts else None


def download(facts: Facts, split: str, revision: str | None) -> Path:
    """The split's file from the hub, or its cache, at a revision (None: the newest)."""
    import huggingface_hub

    file = hub_name(facts, split)
    try:
        return Path(
            huggingface_hub.hf_hub_download(
                facts.hub_id, file, repo_type="dataset", revision=revision
            )
        )
    except Exception as error:  # network, HTTP, cache and disk errors share no base class
        at = f" at revision {revision}" if revision else ""
        raise MissingData(
            f"{facts.title}'s {split} set is missing. Looked for {split}.jsonl.gz or another "
            f"format in the folder {facts.folder} under ${FOLDER_VARIABLE} "
            f"({os.environ.get(FOLDER_VARIABLE) or 'not set'}), then for {file} of the hub's "
            f"data set {facts.hub_id}{at}, which failed: {told(error).rstrip('.')}. Either set "
            f"{FOLDER_VARIABLE} to a folder that holds {facts.folder}/{split}.jsonl.gz, or give "
            "the command once where the hub can be reached (HF_ENDPOINT names a mirror, HF_HOME "
            "the cache)."
        ) from error
