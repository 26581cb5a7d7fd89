"""`new`: a file to begin a method of your own with."""

from __future__ import annotations

import re
from importlib import resources
from pathlib import Path
from typing import Annotated

import typer

from repro.errors import ReproError
from repro.spec.method import methods

TEMPLATE = "method_template.txt"


def command(
    what: Annotated[str, typer.Argument(help="What to begin: method.")],
    name: Annotated[str, typer.Argument(help="Its name, as in `--set` and tables: my-scales.")],
) -> None:
    """Writes NAME.py, a method that trains as it stands, for you to change.

    Example: python -m repro new method my-scales
    """
    if what != "method":
        raise ReproError(f"There is no template of a {what}; there is one of a method.")
    if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", name):
        raise ReproError(
            f"'{name}' is no name of a method: use small letters, digits and hyphens (my-scales)."
        )
    if name in methods():
        raise ReproError(f"There is a method '{name}' already: choose another name.")
    path, cls = Path(f"{name.replace('-', '_')}.py"), name.title().replace("-", "")
    text = resources.files("repro.cli").joinpath(TEMPLATE).read_text(encoding="utf-8")
    try:
        with path.open("x", encoding="utf-8") as file:
            text = text.replace("my-scales", name).replace("MyScales", cls)
            file.write(text.replace("my scales", name.replace("-", " ")))
    except FileExistsError as error:
        raise ReproError(f"{path} is there already. Choose another name, or move it.") from error
    except OSError as error:
        raise ReproError(f"{path} cannot be written: {error.strerror}.") from error
    print(f"Wrote {path}. Train it beside a published table's rows:")
    print(f"  python -m repro table 3-shared-2 --scale smoke --tasks rte --method {path}:{cls}")
