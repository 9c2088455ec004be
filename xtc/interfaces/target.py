# SPDX-License-Identifier: Apache-2.0
"""The contracts of targets: options, pipeline, build and runtime; compiling needs no hardware."""

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
"""The machine parameter of a target that tells how many threads its code uses."""
DEFAULT_TARGET = "host"
"""What a graph is compiled for where nothing else is said."""


@dataclass(frozen=True)
class BuildRequest:
    """What a target needs beside the lowered module to write an artefact.

    Attributes:
        entry: name of the function to export.
        arguments: its arguments, inputs then outputs.
        constants: bytes of each `memref.global` symbol.
        flops: arithmetic operations of one call.
        offload: what the code does on devices; their images are in the artefact's folder already.
        parts: the code of the parts of the program that the module does not have any more.
    """

    entry: str
    arguments: tuple[Argument, ...]
    constants: Mapping[str, bytes | memoryview]
    flops: int
    offload: Offload = field(default_factory=Offload)
    parts: PartsCode | None = None


class Target(ABC):
    """One kind of machine; `TARGET` in `targets/<name>/__init__.py` is an instance."""

    name: ClassVar[str]
    Options: ClassVar[type[Any]]
    parallel_levels: ClassVar[int] = 1
    """How many levels of parallel loops a schedule may have: 1 are threads, 2 are blocks and the
    threads of each."""

    def options(self, **given: Any) -> Any:
        """A checked instance of `Options`. Raises UserError for an option that does not fit."""
        self._check(given)
        return self.Options(**given)

    def option_values(self, texts: Mapping[str, str]) -> dict[str, Any]:
        """What texts on a command line mean, for `options`. Raises UserError as it does."""
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
        """Stages from `source` to `lowered`, ordered lists of passes. No files, no processes."""

    @abstractmethod
    def toolchain(self, options: Any) -> Mapping[str, str]:
        """Versions, options and knobs that shape the code, for cache key and manifest."""

    @abstractmethod
    def runtime(self, options: Any) -> CommonRuntimeInterface:
        """A runtime for code of this target. Raises DeviceNotFound saying what is missing."""

    @abstractmethod
    def unavailable(self) -> str | None:
        """None where `runtime` would succeed on this machine, else the reason why not."""


class PartsCode(ABC):
    """Code of parts of a program, each generated as soon as it is lowered.

    As a context it ends what is under way.
    """

    @abstractmethod
    def take(self, module: Operation, entry: str) -> Sequence[Operation]:
        """Take the parts out of a program on the stage before the last, as modules."""

    @abstractmethod
    def start(self, lowered: Operation) -> None:
        """Begin to generate the code of a part on the last stage; the module may be dropped."""

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
    """A machine that runs whole programs; other machines may compute for them."""

    @abstractmethod
    def runtime(self, options: Any) -> ProgramRuntime:
        """A runtime for code of this target. Raises DeviceNotFound saying what is missing."""

    def options_for(self, runtime: CommonRuntimeInterface, given: Mapping[str, Any]) -> Any:
        """Options of code for a live runtime, with those that the user gave. Raises UserError.

        A board's options follow from the board: its core, memories and clock.
        """
        return self.options(**given)

    @abstractmethod
    def build(
        self, lowered: Operation, request: BuildRequest, options: Any, folder: Path
    ) -> Artifact:
        """Write the artefact's files and manifest into `folder`. Needs no hardware."""

    @abstractmethod
    def code(self, lowered: Operation, request: BuildRequest, options: Any) -> str:
        """The `code` stage as text: assembly, C."""

    def parts_code(self, entry: str, options: Any) -> PartsCode | None:
        """What generates the code of one program part by part; None where it is done as a whole."""
        return None

    def check_offload(self, options: Any) -> None:
        """Raise UserError where code with these options cannot command devices."""

    def machine_parameters(self, options: Any) -> Mapping[str, int]:
        """Numbers of the machine that search strategies use by name, as `VECTOR_BYTES`."""
        return {}

    def build_in_memory(self, lowered: Operation, request: BuildRequest, options: Any) -> Artifact:
        """An artefact of objects in memory, not linked. Raises UserError where unsupported."""
        raise UserError(
            f"target '{self.name}' cannot load code from memory",
            hints=["compile without in_memory=True"],
        )


class AcceleratorTarget(Target):
    """A machine that runs kernels, which a program starts.

    Its pipeline is that of the device's code: a module of functions from outline-device-regions,
    on tensors up to the stage `scheduled`, on buffers in its memory from `bufferized` on.
    """

    splits_kernels: ClassVar[bool] = True
    """Whether loop nests that follow each other need a launch each, as they run on many cores that
    wait for each other only between launches."""
    kernels_allocate: ClassVar[bool] = True
    """Whether a kernel can have buffers of its own in the device's memory."""

    @abstractmethod
    def runtime(self, options: Any) -> AcceleratorDevice:
        """A device that code of this target runs on. Raises DeviceNotFound: what is missing."""

    def options_for(self, device: CommonRuntimeInterface, given: Mapping[str, Any]) -> Any:
        """Options of code for this device, with those that the user gave. Raises UserError.

        The device has the `options` that it was opened with.
        """
        if not isinstance(device, AcceleratorDevice) or device.target_name != self.name:
            raise UserError(f"{device.device_name} runs no code of target '{self.name}'")
        self._check(given)
        return options_of_device(device.options, given, device.device_name)

    def sharding(self, options: Any) -> tuple[Step, ...]:
        """Passes that say how the arguments of device functions lie over a device's memories.

        They see functions on buffers, before these are the device's, and write `xtc.shards`.
        """
        return ()

    def tiles(self, options: Any) -> TileSupport | None:
        """What it offers for tile kernels; None where it runs none."""
        return None

    def options_holding(self, array: Any) -> Any:
        """Options of the device in whose memory another library has this array; None: of none."""
        return None

    def options_in_use(self) -> Any:
        """Options of the device that other libraries of this process use now; None: of none."""
        return None

    def roundoff(self, options: Any) -> float:
        """Unit roundoff of what float32 is rounded to at the user's wish; 0 where it is not."""
        return 0.0

    def checked(self, options: Any) -> Any:
        """Options of code that tells a simulator more of what it does; the same where none does."""
        return options

    @abstractmethod
    def build_image(self, lowered: Operation, options: Any, folder: Path, stem: str) -> str:
        """Write the kernels' code into `folder`, as one file whose name begins with `stem`.

        Returns the file's name. Each function of the module is a kernel, found by `kernel_symbol`.
        """

    @abstractmethod
    def image_text(self, lowered: Operation, options: Any) -> str:
        """The `code` stage of the kernels as text: assembly, PTX, C."""


def kernel_symbol(name: str) -> str:
    """How device code calls the function `name` of the IR: as C can."""
    return name.replace(".", "_")
