# SPDX-License-Identifier: Apache-2.0
"""The runtime hierarchy: loads and runs code on the host, an accelerator or a bare-metal board.

A runtime is an instance, never a module-wide singleton: two simulators of one machine can coexist.
Timing is implemented once, in `xtc.evaluate`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

from xtc.core.closing import Closing
from xtc.interfaces.artifact import Artifact


class LoadedModule(Protocol):
    """Code that a runtime has loaded and can call until it is unloaded."""

    artifact: Artifact

    def bind(self, addresses: Sequence[int]) -> Callable[[], None]:
        """A reusable call of the entry point on these argument addresses.

        Arguments on the host have host addresses, `memref.on_device` arguments device addresses.
        The caller keeps the buffers alive.
        """


class HostCode(LoadedModule, Protocol):
    """Code in this process."""

    def set_address(self, variable: str, address: int) -> None:
        """Set a variable of the code to an address. Raises ArtifactError if it does not exist."""


class Piece(NamedTuple):
    """A part of a parallel loop: its thread (0 is the caller), and its start and end in ns."""

    thread: int
    begin: int
    end: int


class RecordedKernel(NamedTuple):
    """A kernel call with a recorded end.

    Attributes:
        node: the graph node that represents the operator, the same for all its kernels.
        function: the function that runs.
        nodes: the nodes that it computes at least in part.
        operations: the floating-point operations that it executes; None if unknown.
    """

    node: str
    function: str
    nodes: tuple[str, ...] = ()
    operations: int | None = None


@runtime_checkable
class RecordedKernels(Protocol):
    """Code that records the end of each kernel.

    Attributes:
        threads: the number of threads of its parallel loops.
    """

    threads: int

    @property
    def vector_bits(self) -> int:
        """The vector width of the code in bits; 0 if unknown."""

    @property
    def kernels(self) -> Sequence[RecordedKernel]:
        """The kernel calls, in order."""

    def stamps(self) -> Sequence[int]:
        """The start of a call's recorded kernels, then the end of each, in nanoseconds."""

    def record_only(self, first: int, count: int) -> None:
        """Record `count` kernels from number `first` on in later calls; initially all."""

    def pieces(self, call: Callable[[], None]) -> Sequence[Piece]:
        """Run `call`; returns the pieces that threads computed, by the clock of `stamps`."""


class CommonRuntimeInterface(Closing):
    """The common interface of runtimes. Use it as a context manager, or call `close`."""

    @property
    @abstractmethod
    def target_name(self) -> str:
        """The name of the target whose code it runs, for example "host"."""

    @property
    @abstractmethod
    def device_name(self) -> str:
        """A name that is unique in the process: the target and a number, such as "mppa0"."""

    @property
    @abstractmethod
    def device_arch(self) -> str:
        """The architecture's name, such as a CPU name."""

    @property
    @abstractmethod
    def device_id(self) -> int:
        """The number in `device_name`."""

    @property
    def is_modelled(self) -> bool:
        """True for a simulator: its peaks come from a description, and wall time is meaningless."""
        return False

    @abstractmethod
    def counters(self) -> Mapping[str, float]:
        """Counters since the runtime was opened; modelled ones have the prefix "modelled."."""

    def modelled_figures(self) -> Mapping[str, float]:
        """The modelled counters that a measurement reports, without the prefix "modelled."."""
        prefix = "modelled."
        found = self.counters().items()
        return {name[len(prefix) :]: value for name, value in found if name.startswith(prefix)}

    @abstractmethod
    def peak_flops(self, dtype: str) -> float:
        """The multiply-add peak in FLOP/s, measured or from the description; 0 if unknown."""

    def remeasured_peak_flops(self, dtype: str) -> float:
        """Like `peak_flops`, but a measured peak is measured again: for rates above it."""
        return self.peak_flops(dtype)

    def peaks_by_width(self, dtype: str) -> Mapping[int, float]:
        """Measured peaks in FLOP/s by vector width in bits; empty if the width is fixed."""
        return {}

    def memory_bandwidth(self) -> float:
        """The measured read bandwidth of main memory in bytes per second; 0 if unknown."""
        return 0.0


class ProgramRuntime(CommonRuntimeInterface):
    """A runtime for whole programs. An accelerator runs kernels that a program launches."""

    @abstractmethod
    def load(self, artifact: Artifact) -> LoadedModule:
        """Make code callable. Raises ArtifactError if it is damaged or for another machine."""

    @abstractmethod
    def unload(self, module: LoadedModule) -> None:
        """Release a loaded module; its bound calls must not run afterwards."""

    @abstractmethod
    def evaluate(self, module: LoadedModule, addresses: Sequence[int]) -> None:
        """Run the entry point once and wait. Raises a DeviceError if the run fails."""


class HostRuntime(ProgramRuntime):
    """Runs code in this process; arguments are in ordinary memory."""

    @abstractmethod
    def load(self, artifact: Artifact) -> HostCode:
        """Map code into this process. Raises ArtifactError like `ProgramRuntime.load`."""


class Event(Protocol):
    """A point in a command queue."""

    @property
    def done(self) -> bool:
        """Whether the queue has reached it; does not block."""


class CommandQueue(ABC):
    """An ordered, asynchronous queue of one device: commands start in the order of submission.

    Each command returns an event for its completion. Until then, the caller must not touch the host
    memory of a copy. `parallel` allows a command to overlap with a kernel if the machine can. The
    queue stops after a failed command: each wait for that command or a later one raises its error,
    which names the command.
    """

    @abstractmethod
    def copy_to(self, destination: int, source: memoryview, *, parallel: bool = False) -> Event:
        """Copy host bytes to a device address."""

    @abstractmethod
    def copy_from(self, destination: memoryview, source: int, *, parallel: bool = False) -> Event:
        """Copy bytes at a device address to the host."""

    @abstractmethod
    def fill_zero(self, address: int, nbytes: int) -> Event:
        """Set device bytes to zero."""

    @abstractmethod
    def launch(self, function: Any, arguments: Sequence[Any], grid: Sequence[int] = ()) -> Event:
        """Launch a device function on integers, floats and addresses.

        `grid` is the number of blocks in up to three dimensions; the default is the function's own
        grid. Machines without grids refuse the argument.
        """

    @abstractmethod
    def callback(self, function: Callable[[], None], *, parallel: bool = False) -> Event:
        """Call a host function when the queue reaches this command."""

    @abstractmethod
    def after(self, event: Event) -> Event:
        """Make later commands wait for `event`, which may belong to another queue."""

    @abstractmethod
    def event(self) -> Event:
        """An event that completes with all commands submitted so far."""

    @abstractmethod
    def wait(self, event: Event | None = None) -> None:
        """Block until the event, or all commands submitted so far, are complete."""

    @abstractmethod
    def close(self) -> None:
        """Drop commands that have not started and release the queue; closing twice is allowed."""


class Streams(Protocol):
    """Streams of the vendor's runtime library, which other libraries in the process also use.

    A stream is a number: 0 is the device's default, others are handles; CUDA's 1 and 2 are as in
    DLPack. Only `seconds`, `wait` and `settle` block. Errors of kernels are raised later.
    """

    def launch(
        self, stream: int, function: Any, arguments: Sequence[Any], grid: Sequence[int] = ()
    ) -> None:
        """Launch a device function in a stream; see `CommandQueue.launch`."""

    def fill_zero(self, stream: int, address: int, nbytes: int) -> None:
        """Set device bytes to zero, in stream order."""

    def copy_within(self, stream: int, destination: int, source: int, nbytes: int) -> None:
        """Copy device bytes, in stream order."""

    def after(self, stream: int, other: int) -> None:
        """Make later work of a stream wait for the work submitted to `other` so far."""

    def mark(self, stream: int) -> Any:
        """A point in a stream that the device timestamps."""

    def seconds(self, first: Any, second: Any) -> float:
        """The time between two marks by the device's clock, in seconds; waits for the second."""

    def wait(self, stream: int) -> None:
        """Wait for the work submitted to a stream so far."""

    def settle(self) -> None:
        """Wait for all work that other libraries submitted to the device."""


class AcceleratorDevice(CommonRuntimeInterface):
    """A device with separate memory, which the host uses through copies and launches.

    Addresses are device addresses. Every method except the closing ones raises DeviceLost once the
    device is closed or lost.

    Attributes:
        options: the options it was opened with, an instance of its target's `Options`.
    """

    options: Any

    @property
    def device_chip(self) -> str:
        """The name of the machine for measured times, or of its architecture if it has no name."""
        return self.device_arch

    @property
    def streams(self) -> Streams | None:
        """Streams of the vendor's runtime library, with measured times; None for a simulator."""
        return None

    def callers_streams(self, arrays: Sequence[Any]) -> Sequence[int]:
        """The current streams of the libraries that own these arrays; () if there are none."""
        return ()

    def current_stream(self) -> int:
        """The current stream of libraries in this process; 0 if there are none."""
        return 0

    @classmethod
    @abstractmethod
    def detect_accelerator(cls) -> str | None:
        """None if such a device can be opened here, else the reason why not."""

    @abstractmethod
    def init_device(self) -> None:
        """Open the device. Raises DeviceNotFound; opening twice is allowed."""

    @abstractmethod
    def deinit_device(self) -> None:
        """Release the device with its memory and modules."""

    def adversarial_simulator(self) -> AcceleratorDevice | None:
        """A simulator like this one with adversarial timing; None for a real machine.

        It runs concurrent work in random order, delays transfers as long as the machine may, and
        reports races as faults, as far as the simulator supports this. It is not open yet.
        """
        return None

    @abstractmethod
    def load_module(self, image: bytes) -> Any:
        """Load device code and return a handle. Raises ArtifactError for an invalid image."""

    @abstractmethod
    def get_module_function(self, module: Any, name: str) -> Any:
        """A function of a loaded module. Raises LaunchError if it does not exist."""

    @abstractmethod
    def unload_module(self, module: Any) -> None:
        """Release a handle of `load_module`."""

    @abstractmethod
    def memory_allocate(self, nbytes: int) -> int:
        """Allocate memory; returns its device address. Raises DeviceMemoryError."""

    @abstractmethod
    def memory_free(self, address: int) -> None:
        """Free memory. Raises DeviceMemoryError if `address` is not an allocation's."""

    @abstractmethod
    def memory_copy_to(self, destination: int, source: memoryview) -> None:
        """Copy host bytes to the device and wait. Raises DeviceMemoryError when out of range."""

    @abstractmethod
    def memory_copy_from(self, destination: memoryview, source: int) -> None:
        """Copy device bytes to the host and wait. Raises DeviceMemoryError when out of range."""

    @abstractmethod
    def memory_fill_zero(self, address: int, nbytes: int) -> None:
        """Set device bytes to zero and wait."""

    @abstractmethod
    def memory_data_pointer(self, address: int) -> int:
        """The address that kernels use."""

    @abstractmethod
    def queue(self) -> CommandQueue:
        """A new command queue."""


class EmbeddedDevice(ProgramRuntime):
    """A bare-metal board: flash an image, write symbols, run, read symbols."""

    @abstractmethod
    def flash(self, image: bytes) -> None:
        """Flash a whole image. Raises DeviceError if it does not fit."""

    @abstractmethod
    def write(self, symbol: str, data: bytes) -> None:
        """Set the bytes of a symbol of the image."""

    @abstractmethod
    def read(self, symbol: str) -> bytes:
        """The bytes of a symbol of the image."""

    @abstractmethod
    def run(self, repeat: int = 1) -> None:
        """Run the image's entry `repeat` times. Raises DeviceTimeout, DeviceFault."""
