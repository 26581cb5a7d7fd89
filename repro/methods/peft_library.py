"""A module of the peft library, given by an adapter configuration of its own.

    --method peft:lora.json

The file is what the library writes as `adapter_config.json`; its content is part of a run's
identity, but for the keys that say where an adapter was trained. The library's modules stand in the
copy of the encoder in place of the maps that they change; they have no run axis, so each run is
trained by itself.
"""

from __future__ import annotations

import importlib.metadata
import json
import warnings
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from repro.errors import ReproError, StoreError, told
from repro.folders import cache_folder
from repro.methods.inside import ChosenHead
from repro.spec.fields import identity
from repro.spec.identity import canonical_json, identity_fields
from repro.spec.method import method
from repro.strict import unique_keys

if TYPE_CHECKING:
    from torch import nn

    from repro.backbones.load import Encoder
    from repro.methods.inside.learner import Added, Inside, Place
    from repro.methods.inside.passing import Pass
    from repro.spec.types import Backbone, RunSpec

KINDS = ("LORA", "IA3", "LOHA", "LOKR", "VERA", "OFT", "HRA", "FOURIERFT", "LN_TUNING")
"""Types whose modules change maps or norms and need nothing else from a training loop. Prompts
change the input; AdaLoRA, X-LoRA and Poly need steps or losses of their own.
"""
STARTS = (True, False, "gaussian")
"""What LoRA may start with (`init_lora_weights`); the others decompose the encoder's weights."""
OF_NO_RUN = (
    "auto_mapping", "base_model_name_or_path", "inference_mode", "peft_version", "revision",
    "task_type",
)  # fmt: skip
"""Keys that say where an adapter comes from, or how it is loaded."""
FILE = "adapter_config.json"


@method("peft")
class PeftLibrary(ChosenHead):
    """Modules of the peft library in the encoder; pooler and head as LoRA's."""

    config: str = identity(doc="content of the library's adapter_config.json, as JSON")

    trains_alone: ClassVar[bool] = True
    foreign: ClassVar[bool] = True
    package: ClassVar[str] = "peft"

    @classmethod
    def settings_from(cls, path: Path) -> dict[str, Any]:
        """The configuration in a file, or in a folder that the library saved."""
        file = path / FILE if path.is_dir() else path
        try:
            content = json.loads(file.read_text("utf-8"), object_pairs_hook=unique_keys)
        except OSError as problem:
            raise ReproError(
                f"{file} cannot be read ({problem.strerror}). Correct --method peft:FILE.json."
            ) from problem
        except ValueError as problem:
            raise ReproError(
                f"{file} is no JSON ({problem}). It has to be an adapter configuration of the peft "
                f"library, as {FILE}."
            ) from problem
        if not isinstance(content, dict):
            raise ReproError(f"{file} holds no JSON object, as {FILE} of the peft library does.")
        kept = {key: value for key, value in content.items() if key not in OF_NO_RUN}
        return {"config": canonical_json(kept)}

    @property
    def content(self) -> dict[str, Any]:
        """The configuration as an object. Raises ReproError where it is none, or of a type that
        cannot be trained here.
        """
        try:
            found = json.loads(self.config)
        except ValueError as problem:
            raise ReproError(
                f"The method 'peft' has a configuration that is no JSON ({problem}). Give it as "
                "--method peft:FILE.json."
            ) from problem
        kind = found.get("peft_type") if isinstance(found, dict) else None
        if kind not in KINDS:
            raise ReproError(
                f"The method 'peft' cannot train the peft_type {kind!r}: choose one of "
                f"{', '.join(KINDS)}. Prompts change the input, and other types need more from a "
                "training loop than their modules."
            )
        start = found.get("init_lora_weights", True)
        if start not in STARTS:
            raise ReproError(
                f"The method 'peft' cannot start with init_lora_weights {start!r}, which changes "
                "the encoder's own weights or needs data: leave it out."
            )
        return dict(found)

    def label(self) -> str:
        """peft lora r8."""
        rank = self.content.get("r")
        size = f" r{rank}" if isinstance(rank, int) else ""
        return f"peft {self.content['peft_type'].lower().replace('_', ' ')}{size}"

    def check(self, run: RunSpec) -> None:
        """The library takes the configuration, and finds its maps in the encoder."""
        self.added_parameters(run.backbone)

    def added_parameters(self, backbone: Backbone) -> int:
        """Counted on the library's modules, built without weights."""
        shape = backbone.model_copy(update={"id": "shape", "revision": None, "name": "shape"})
        return _added_parameters(self, shape)

    def learner(self, run: RunSpec, runs: int, encoder: Encoder) -> Inside:
        """The library draws from the process's generator: it is set by the run's seed meanwhile."""
        import torch

        from repro.methods.modules.randomness import stream_seed

        with torch.random.fork_rng():
            torch.manual_seed(stream_seed("peft", run.seed))
            return super().learner(run, runs, encoder)

    def added(self, place: Place) -> Added:
        """The library's modules, in the place of what they change."""
        import torch

        from repro.methods.inside.learner import Added

        class Modules(Added):
            """The parameters that the library trains, named by the modules that they are in."""

            name = "peft"
            idles = True

            def __init__(self, wrapped: nn.Module) -> None:
                super().__init__()
                self._wrapped = (wrapped,)  # in a tuple: most of it is the encoder
                for name, parameter in _trained(wrapped).items():
                    self.register_parameter(name, parameter)

            def initialise(self, streams: list[torch.Generator]) -> None:
                """Drawn by the library when the modules were made."""

        return Modules(wrap(self.content, place.model, place.now))


@lru_cache(maxsize=32)
def _added_parameters(settings: PeftLibrary, backbone: Backbone) -> int:
    """Counted once on a machine and kept in the user's cache: a plan of such a run loads neither
    torch nor the library.
    """
    from repro.store.atomic import write_json
    from repro.store.entry import digest_of

    counted = [importlib.metadata.version("peft"), settings.revision, settings.config]
    name = digest_of(canonical_json([*counted, identity_fields(backbone)]).encode())
    file = cache_folder() / "peft" / f"{name}.json"
    with suppress(OSError, ValueError):
        return int(file.read_text("utf-8"))
    count = _counted(settings, backbone)
    with suppress(StoreError):  # then it is counted again
        write_json(file, count)
    return count


def _counted(settings: PeftLibrary, backbone: Backbone) -> int:
    import torch

    from repro.methods.modules.counting import shape_of

    with torch.device("meta"):
        wrapped = wrap(settings.content, shape_of(backbone).model)
    return sum(parameter.numel() for parameter in _trained(wrapped).values())


def _trained(wrapped: nn.Module) -> dict[str, nn.Parameter]:
    """Name without dots -> parameter that the library trains."""
    return {
        name.removeprefix("base_model.model.").replace(".", "-"): parameter
        for name, parameter in wrapped.named_parameters()
        if parameter.requires_grad
    }


def wrap(content: dict[str, Any], model: nn.Module, now: Pass | None = None) -> nn.Module:
    """The model with the library's modules in it, whose dropout draws as the pass `now` says.

    Raises ReproError where the library refuses the configuration, and where parameters of the
    encoder itself would be trained or changed.
    """
    import peft

    own = {name: (p, p.data_ptr(), p._version) for name, p in model.named_parameters()}
    try:
        with warnings.catch_warnings():  # of what the library asks of another library
            warnings.simplefilter("ignore", FutureWarning)
            wrapped: nn.Module = peft.get_peft_model(model, peft.get_peft_config(content))
    except Exception as problem:  # of many classes, by type of adapter
        raise ReproError(
            f"The peft library refuses the configuration of the method 'peft': {told(problem)}"
        ) from problem
    for name, (parameter, place, version) in own.items():
        if parameter.requires_grad:
            raise ReproError(
                f"The configuration of the method 'peft' trains the encoder's own {name}, which "
                "is shared with other runs: leave out what it asks of biases."
            )
        if (parameter.data_ptr(), parameter._version) != (place, version):
            raise ReproError(
                f"The configuration of the method 'peft' changes the encoder's own {name} before "
                "training: choose another initialisation."
            )
    if not _trained(wrapped):
        raise ReproError("The configuration of the method 'peft' trains nothing.")
    if now is not None:
        _seed_dropout(wrapped, now)
    return wrapped


def _seed_dropout(wrapped: nn.Module, now: Pass) -> None:
    """Dropout of the library's modules from the run's own generator; the encoder's is hooked."""
    from torch import Tensor, nn

    def hook(rate: float) -> Any:
        def drop(_: nn.Module, __: Any, output: Tensor) -> Tensor:
            return now.dropout(output, rate)

        return drop

    for module in wrapped.modules():
        if isinstance(module, nn.Dropout) and module.p > 0:
            module.register_forward_hook(hook(module.p))
            module.p = 0.0
