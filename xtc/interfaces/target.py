# SPDX-License-Identifier: Apache-2.0
"""The contract of targets: options, pipeline, build and runtime; compiling needs no hardware."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, get_type_hints

from typing_extensions import Self

from xtc.core import option_types
from xtc.core.errors import UserError, did_you_mean
from xtc.interfaces.artifact import Argument, Artifact
from xtc.interfaces.offload import Offload
from xtc.interfaces.options import options_of_device
from xtc.interfaces.runtime import AcceleratorDevice, CommonRuntimeInterface, ProgramRuntime
from xtc.interfaces.tile_support import TileSupport
from xtc.ir.pipeline import Pipeline, Step

if TYPE_CHECKING:
    from types import TracebackType

    from xtc.ir.mlir import Operation


THREADS = "THREADS"
"""The machine parameter with the number of threads that a target's code uses."""
DEFAULT_TARGET = "host"
"""The default target."""


@dataclass(frozen=True)
class BuildRequest:
    """The inputs that a target needs besides the lowered module to write an artifact.

    Attributes:
        entry: name of the function to export.
        arguments: its arguments, inputs then outputs.
        constants: the bytes of each `memref.global` symbol.
        flops: arithmetic operations of one call.
        offload: the code's use of devices, whose images are already in the artifact's folder.
        parts: the code of the parts that were taken out of the module.
    """

    entry: str
    arguments: tuple[Argument, ...]
    constants: Mapping[str, bytes | memoryview]
    flops: int
    offload: Offload = field(default_factory=Offload)
    parts: PartsCode | None = None


class Target(ABC):
    """A kind of machine; `TARGET` in `targets/<name>/__init__.py` is an instance."""

    name: ClassVar[str]
    Options: ClassVar[type[Any]]
    parallel_levels: ClassVar[int] = 1
    """The number of levels of parallel loops that a schedule may have: 1 for threads, 2 for blocks
    of threads."""

    def options(self, **given: Any) -> Any:
        """A validated instance of `Options`. Raises UserError for an invalid option."""
        self._check(given)
        return self.Options(**given)

    def option_values(self, texts: Mapping[str, str]) -> dict[str, Any]:
        """Options from the texts of a command line, for `options`. Raises UserError likewise."""
        values = {}
        for option, text in texts.items():
            declared = self._option_type(option)
            try:
                values[option] = option_types.parse(text, declared)
            except ValueError:
                raise self._unusable(option, text, declared) from None
        return values

    def _check(self, given: Mapping[str, Any]) -> None:
        for option, value in given.items():
            declared = self._option_type(option)
            if not option_types.fits(value, declared):
                raise self._unusable(option, value, declared)

    def _option_type(self, option: str) -> Any:
        known = get_type_hints(self.Options)
        if option not in known:
            raise UserError(
                f"target '{self.name}' has no option '{option}'",
                hints=did_you_mean(option, known),
            )
        return known[option]

    def _unusable(self, option: str, value: object, declared: Any) -> UserError:
        return UserError(
            f"option '{option}' of target '{self.name}' cannot be {value!r}",
            notes=[f"it is {option_types.type_text(declared)}"],
        )

    @abstractmethod
    def pipeline(self, options: Any) -> Pipeline:
        """Stages from `source` to `lowered`, as ordered lists of passes. No files, no processes."""

    @abstractmethod
    def toolchain(self, options: Any) -> Mapping[str, str]:
        """Versions, options and knobs that affect the code, for the cache key and the manifest."""

    @abstractmethod
    def runtime(self, options: Any) -> CommonRuntimeInterface:
        """A runtime for code of this target. Raises DeviceNotFound saying what is missing."""

    @abstractmethod
    def unavailable(self) -> str | None:
        """None if `runtime` would succeed on this machine, else the reason why not."""


class PartsCode(ABC):
    """The code of parts of a program, each generated as soon as it is lowered.

    As a context manager, it stops its threads at the end.
    """

    @abstractmethod
    def take(self, module: Operation, entry: str) -> Sequence[Operation]:
        """Take the parts out of a program at the stage before the last, as modules."""

    @abstractmethod
    def start(self, lowered: Operation) -> None:
        """Start generating the code of a lowered part, whose module is not used afterwards."""

    def __enter__(self) -> Self:
        return self

    @abstractmethod
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...


class ProgramTarget(Target):
    """A machine that runs whole programs; other machines may run kernels for them."""

    @abstractmethod
    def runtime(self, options: Any) -> ProgramRuntime:
        """A runtime for code of this target. Raises DeviceNotFound saying what is missing."""

    def options_for(self, runtime: CommonRuntimeInterface, given: Mapping[str, Any]) -> Any:
        """The code options for a live runtime, merged with the user's. Raises UserError.

        A board determines its options: its core, memories and clock.
        """
        return self.options(**given)

    @abstractmethod
    def build(
        self, lowered: Operation, request: BuildRequest, options: Any, folder: Path
    ) -> Artifact:
        """Write the artifact's files and manifest to `folder`. Needs no hardware."""

    @abstractmethod
    def code(self, lowered: Operation, request: BuildRequest, options: Any) -> str:
        """The `code` stage as text: assembly, C."""

    def parts_code(self, entry: str, options: Any) -> PartsCode | None:
        """A generator of one program's code in parts; None if it is generated as a whole."""
        return None

    def check_offload(self, options: Any) -> None:
        """Raise UserError if code with these options cannot use devices."""

    def machine_parameters(self, options: Any) -> Mapping[str, int]:
        """Machine parameters that search strategies use by name, such as `VECTOR_BYTES`."""
        return {}

    def build_in_memory(self, lowered: Operation, request: BuildRequest, options: Any) -> Artifact:
        """An artifact of unlinked objects in memory. Raises UserError if unsupported."""
        raise UserError(
            f"target '{self.name}' cannot load code from memory",
            hints=["compile without in_memory=True"],
        )


class AcceleratorTarget(Target):
    """A machine that runs kernels that a program launches.

    Its pipeline compiles the device's code: a module of functions from outline-device-regions, on
    tensors up to the stage `scheduled`, on buffers in its memory from `bufferized` on.
    """

    splits_kernels: ClassVar[bool] = True
    """Whether each loop nest needs a separate launch, because the machine's cores synchronize only
    between launches."""
    kernels_allocate: ClassVar[bool] = True
    """Whether a kernel can have local buffers in the device's memory."""

    @abstractmethod
    def runtime(self, options: Any) -> AcceleratorDevice:
        """A device that runs code of this target. Raises DeviceNotFound with what is missing."""

    def options_for(self, device: CommonRuntimeInterface, given: Mapping[str, Any]) -> Any:
        """The code options for this device, merged with the user's. Raises UserError.

        The device's `options` are those it was opened with.
        """
        if not isinstance(device, AcceleratorDevice) or device.target_name != self.name:
            raise UserError(f"{device.device_name} does not run code of target '{self.name}'")
        self._check(given)
        return options_of_device(device.options, given, device.device_name)

    def sharding(self, options: Any) -> tuple[Step, ...]:
        """Passes that shard the arguments of device functions over a device's memories.

        They run on functions over buffers, before these are device buffers, and set `xtc.shards`.
        """
        return ()

    def tiles(self, options: Any) -> TileSupport | None:
        """Its support for tile kernels; None if it has none."""
        return None

    def options_holding(self, array: Any) -> Any:
        """Options of the device that holds this array of another library; None if none does."""
        return None

    def options_in_use(self) -> Any:
        """Options of the device that other libraries in this process use; None if there is none."""
        return None

    def roundoff(self, options: Any) -> float:
        """Unit roundoff of the type that an option substitutes for float32; 0 without one."""
        return 0.0

    def checked(self, options: Any) -> Any:
        """Options for code with more checks on a simulator; the same options if there are none."""
        return options

    @abstractmethod
    def build_image(self, lowered: Operation, options: Any, folder: Path, stem: str) -> str:
        """Write the kernels' code to one file in `folder`, whose name begins with `stem`.

        Returns the file's name. Each function of the module is a kernel named by `kernel_symbol`.
        """

    @abstractmethod
    def image_text(self, lowered: Operation, options: Any) -> str:
        """The `code` stage of the kernels as text: assembly, PTX, C."""


def kernel_symbol(name: str) -> str:
    """The symbol of the IR function `name` in device code: a C identifier."""
    return name.replace(".", "_")
