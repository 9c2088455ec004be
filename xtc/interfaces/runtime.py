# SPDX-License-Identifier: Apache-2.0
"""The runtime hierarchy: what loads and runs code on the host, an accelerator or a bare board.

A runtime is an instance, never a module-wide singleton: two simulators of one machine can live side
by side. Timing is written once, in `xtc.evaluate`, not here.
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
        """A call of the entry point on these argument addresses, ready to run again and again.

        Addresses of arguments on the host are host addresses, those of `memref.on_device` arguments
        are the device's. The caller keeps the buffers alive.
        """


class HostCode(LoadedModule, Protocol):
    """Code in this process."""

    def set_address(self, variable: str, address: int) -> None:
        """Write an address into a variable of the code. Raises ArtifactError if it has none."""


class Piece(NamedTuple):
    """A part of a parallel loop: which thread computed it, 0 being the caller, and when, in ns."""

    thread: int
    begin: int
    end: int


class RecordedKernel(NamedTuple):
    """A call of a kernel whose end is recorded.

    Attributes:
        node: the graph node that stands for the operator, the same for all its kernels.
        function: that runs.
        nodes: of which it computes a part.
        operations: of floating point that it executes; None if unknown.
    """

    node: str
    function: str
    nodes: tuple[str, ...] = ()
    operations: int | None = None


@runtime_checkable
class RecordedKernels(Protocol):
    """Code that records when its kernels end.

    Attributes:
        threads: that its parallel loops use.
    """

    threads: int

    @property
    def vector_bits(self) -> int:
        """How wide the vectors of the code are; 0 if unknown."""

    @property
    def kernels(self) -> Sequence[RecordedKernel]:
        """The calls of kernels, in their order."""

    def stamps(self) -> Sequence[int]:
        """When the recorded kernels of a call started and when each ended, in nanoseconds."""

    def record_only(self, first: int, count: int) -> None:
        """Record `count` kernels from number `first` in the next calls: all of them at first."""

    def pieces(self, call: Callable[[], None]) -> Sequence[Piece]:
        """Make a call, and return what threads computed meanwhile; the same clock as `stamps`."""


class CommonRuntimeInterface(Closing):
    """What every runtime offers. Use it as a context manager, or call `close`."""

    @property
    @abstractmethod
    def target_name(self) -> str:
        """The target whose code it runs, for example "host"."""

    @property
    @abstractmethod
    def device_name(self) -> str:
        """A name unique in the process: the target and a number, "mppa0"."""

    @property
    @abstractmethod
    def device_arch(self) -> str:
        """The machine's own name for its architecture, such as a CPU name."""

    @property
    @abstractmethod
    def device_id(self) -> int:
        """The number in `device_name`."""

    @property
    def is_modelled(self) -> bool:
        """True for a simulator: its peaks come from a description, and wall time says nothing."""
        return False

    @abstractmethod
    def counters(self) -> Mapping[str, float]:
        """Counts since the runtime was opened; names of modelled ones begin with "modelled."."""

    def modelled_figures(self) -> Mapping[str, float]:
        """The modelled ones among `counters()` that a measurement reports, without "modelled."."""
        prefix = "modelled."
        found = self.counters().items()
        return {name[len(prefix) :]: value for name, value in found if name.startswith(prefix)}

    @abstractmethod
    def peak_flops(self, dtype: str) -> float:
        """Multiply-add peak in FLOP/s: measured, or from the description; 0 if unknown."""

    def remeasured_peak_flops(self, dtype: str) -> float:
        """As `peak_flops`, measured anew where it is measured: for a rate that passed it."""
        return self.peak_flops(dtype)

    def peaks_by_width(self, dtype: str) -> Mapping[int, float]:
        """Measured peaks in FLOP/s by the bits of vectors; empty if there is no such choice."""
        return {}

    def memory_bandwidth(self) -> float:
        """The rate of reading main memory in bytes per second, measured; 0 if unknown."""
        return 0.0


class ProgramRuntime(CommonRuntimeInterface):
    """What runs whole programs. An accelerator runs kernels, which a program starts."""

    @abstractmethod
    def load(self, artifact: Artifact) -> LoadedModule:
        """Make code callable. Raises ArtifactError if it is damaged or for another machine."""

    @abstractmethod
    def unload(self, module: LoadedModule) -> None:
        """Release what `load` took; calls that were bound must not run afterwards."""

    @abstractmethod
    def evaluate(self, module: LoadedModule, addresses: Sequence[int]) -> None:
        """Run the entry point once and wait. Raises a DeviceError if the run fails."""


class HostRuntime(ProgramRuntime):
    """Runs code in this process; arguments are ordinary memory."""

    @abstractmethod
    def load(self, artifact: Artifact) -> HostCode:
        """Map code into this process. Raises ArtifactError as `ProgramRuntime.load` does."""


class Event(Protocol):
    """A point in a command queue."""

    @property
    def done(self) -> bool:
        """Whether the queue got there; does not block."""


class CommandQueue(ABC):
    """An ordered, asynchronous queue of one device: commands start in the order they were given.

    A command returns the event of its end. The caller leaves the host memory of a copy alone until
    then. `parallel` lets a command run beside a kernel where the machine can. After a command that
    failed the queue runs nothing more: each wait for that command or a later one raises its error,
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
        """Start a device function on integers, floats and addresses.

        `grid` is the number of blocks in up to three dimensions; without one the function's own
        is taken. Machines without grids refuse one.
        """

    @abstractmethod
    def callback(self, function: Callable[[], None], *, parallel: bool = False) -> Event:
        """Call a host function when the queue gets there."""

    @abstractmethod
    def after(self, event: Event) -> Event:
        """Start what is given from now on only after `event`, which may be another queue's."""

    @abstractmethod
    def event(self) -> Event:
        """An event that is reached when everything given so far is done."""

    @abstractmethod
    def wait(self, event: Event | None = None) -> None:
        """Block until the event, or everything given so far, is done."""

    @abstractmethod
    def close(self) -> None:
        """Drop what has not started and release the queue; closing twice is allowed."""


class Streams(Protocol):
    """Streams of a machine's own library, in which other libraries of the process work, too.

    A stream is a number: 0 is the device's, others are handles; CUDA's 1 and 2 are as in DLPack.
    Nothing but `seconds`, `wait` and `settle` waits. What a kernel did wrong is raised later.
    """

    def launch(
        self, stream: int, function: Any, arguments: Sequence[Any], grid: Sequence[int] = ()
    ) -> None:
        """Start a device function after what the stream was given; see `CommandQueue.launch`."""

    def fill_zero(self, stream: int, address: int, nbytes: int) -> None:
        """Set device bytes to zero after what the stream was given."""

    def copy_within(self, stream: int, destination: int, source: int, nbytes: int) -> None:
        """Copy device bytes after what the stream was given."""

    def after(self, stream: int, other: int) -> None:
        """Start what a stream is given from now on after what `other` was given so far."""

    def mark(self, stream: int) -> Any:
        """A point in a stream, of which the device notes when it is reached."""

    def seconds(self, first: Any, second: Any) -> float:
        """The time between two marks by the device's clock, in seconds; waits for the second."""

    def wait(self, stream: int) -> None:
        """Wait for what a stream was given so far."""

    def settle(self) -> None:
        """Wait for all that other libraries gave the device."""


class AcceleratorDevice(CommonRuntimeInterface):
    """A device with separate memory, reached from the host by copies and launches.

    Addresses are the device's. Every method but the closing ones raises DeviceLost once the device
    is closed or gone.

    Attributes:
        options: what it was opened with, an instance of its target's `Options`.
    """

    options: Any

    @property
    def device_chip(self) -> str:
        """What measured times are of: the machine's name where it has one, else its code's."""
        return self.device_arch

    @property
    def streams(self) -> Streams | None:
        """Streams of the machine's own library, whose times are measured; None: a simulator."""
        return None

    def callers_streams(self, arrays: Sequence[Any]) -> Sequence[int]:
        """The streams in which the libraries of these arrays work now; () where none does."""
        return ()

    def current_stream(self) -> int:
        """The stream in which libraries of this process work now; 0 if there are none."""
        return 0

    @classmethod
    @abstractmethod
    def detect_accelerator(cls) -> str | None:
        """None if such a device can be opened, else the reason why not."""

    @abstractmethod
    def init_device(self) -> None:
        """Open the device. Raises DeviceNotFound; opening twice is allowed."""

    @abstractmethod
    def deinit_device(self) -> None:
        """Give the device back, its memory and modules included."""

    def disturbed(self) -> AcceleratorDevice | None:
        """A simulator like this one that is as unkind as the machine may be; None for a machine.

        What runs at the same time runs in a random order, transfers come as late as they can, and
        races are faults, as far as the simulator can do that. It is not open yet.
        """
        return None

    @abstractmethod
    def load_module(self, image: bytes) -> Any:
        """Load device code and return a handle. Raises ArtifactError if it is none."""

    @abstractmethod
    def get_module_function(self, module: Any, name: str) -> Any:
        """A function of a loaded module. Raises LaunchError if there is none of that name."""

    @abstractmethod
    def unload_module(self, module: Any) -> None:
        """Release a handle of `load_module`."""

    @abstractmethod
    def memory_allocate(self, nbytes: int) -> int:
        """The device address of new memory. Raises DeviceMemoryError saying what is free."""

    @abstractmethod
    def memory_free(self, address: int) -> None:
        """Release memory. Raises DeviceMemoryError if `address` is not an allocation's."""

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
        """The address as kernels see it."""

    @abstractmethod
    def queue(self) -> CommandQueue:
        """A new command queue."""


class EmbeddedDevice(ProgramRuntime):
    """A bare-metal board: an image is flashed, symbols are written, it runs, symbols are read."""

    @abstractmethod
    def flash(self, image: bytes) -> None:
        """Put a whole image on the board. Raises DeviceError if it does not fit."""

    @abstractmethod
    def write(self, symbol: str, data: bytes) -> None:
        """Set the bytes of a symbol of the image."""

    @abstractmethod
    def read(self, symbol: str) -> bytes:
        """The bytes of a symbol of the image."""

    @abstractmethod
    def run(self, repeat: int = 1) -> None:
        """Run the image's entry `repeat` times. Raises DeviceTimeout, DeviceFault."""
