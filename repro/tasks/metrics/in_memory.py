"""What the metrics share: `compute` keeps predictions in memory, not in files."""

from __future__ import annotations

from typing import Any


class InMemory:
    """To be named before `evaluate.Metric`, which by default writes predictions into a cache folder
    of the user's home and locks them there. Here nothing is written, so that any number of
    processes can compute at once; `num_process` above 1 is refused.
    """

    _data_dir_root: str

    def __init__(self, config_name: str | None = None, **settings: Any) -> None:
        super().__init__(config_name, **(settings | {"keep_in_memory": True}))  # type: ignore[call-arg]

    def _build_data_dir(self) -> str:
        """The folder's name alone: the original makes the folder."""
        return self._data_dir_root
