"""`freeze RUN --task NAME`: one task's generated adapters as an ordinary adapter, in a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from repro.cli import options as o
from repro.cli.requests import find_folders
from repro.cli.why import find_run
from repro.engine.parents import frozen_adapters
from repro.report.files import write_artefact

FOLDER = "adapters"


@o.grouped
def command(
    run: Annotated[str, typer.Argument(help="A run of HyperFormer: its key or first digits.")],
    task: Annotated[str, typer.Option(help="A task that it was trained on, for example rte.")],
    out: Annotated[
        Path | None, typer.Option(help="The file (default: adapters/RUN.TASK.safetensors).")
    ] = None,
    *,
    asked: o.AskedBackbone,
    store: o.StoreOption = None,
) -> None:
    """Writes the adapters that HyperFormer generates for a task as plain ones, without generators.

    T5 with them answers the task as the whole model does, to the bit. The file holds D, U, biases
    and layer norm of every slot and T5's own norms; its metadata holds the run of plain adapters.

    KEY is that of a run that `plan Hyperformer-1` lists.

    Example: python -m repro freeze KEY --task rte
    """
    from safetensors.torch import save

    results = o.open_store(store)
    key = find_run(run, results.specs())
    plain, tensors = frozen_adapters(results, key, task, find_folders(asked.get("backbone")))
    path = out or Path(FOLDER) / f"{key[:12]}.{task}.safetensors"
    write_artefact(path, save(tensors, metadata={"run": plain.model_dump_json()}))
    size = sum(tensor.numel() for tensor in tensors.values())
    print(f"Wrote {path}: {len(tensors)} tensors, {size:,} parameters.")
