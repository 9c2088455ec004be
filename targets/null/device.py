# SPDX-License-Identifier: Apache-2.0
"""The runtime: memory and command queues that work, and functions that do nothing.

WHAT A FUNCTION WOULD COMPUTE IS NOT COMPUTED: all outputs of a call are zero.
"""

from __future__ import annotations

import re
import weakref
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from xtc.core.errors import ArtifactError, DeviceLost, LaunchError, UserError, did_you_mean
from xtc.core.numbering import Numbering
from xtc.interfaces.artifact import Artifact
from xtc.interfaces.runtime import AcceleratorDevice, CommonRuntimeInterface, LoadedModule
from xtc_targets.null.description import CODE, NULL
from xtc_targets.null.memory import Memory
from xtc_targets.null.module import NullModule
from xtc_targets.null.queue import NullQueue

_FUNCTION = re.compile(r"^\s*func\.func (?:private )?@([\w$.]+)\(", re.MULTILINE)
_LAST_COMMANDS = 1000
_numbers = Numbering()


@dataclass(frozen=True, eq=False)
class NullImage:
    """Device code that was loaded: MLIR text."""

    functions: tuple[str, ...]


@dataclass(frozen=True)
class NullFunction:
    """A device function of an image."""

    image: NullImage
    name: str


class NullDevice(AcceleratorDevice):
    """An accelerator with `memory_bytes` of memory; open from the start.

    Attributes:
        commands: what the device did, in order, as text; the last thousand.
    """

    def __init__(self, memory_bytes: int = NULL.memory_bytes) -> None:
        self._memory_bytes = memory_bytes
        self._open = False
        self.init_device()

    @property
    def target_name(self) -> str:
        return "null"

    @property
    def device_name(self) -> str:
        return f"null{self._number}"

    @property
    def device_arch(self) -> str:
        return "null"

    @property
    def device_id(self) -> int:
        return self._number

    @property
    def is_modelled(self) -> bool:
        return True

    @classmethod
    def detect_accelerator(cls) -> str | None:
        return None

    def init_device(self) -> None:
        if self._open:
            return
        self._number = _numbers.take()
        self._give_number_back = weakref.finalize(self, _numbers.give_back, self._number)
        # No address is that of host memory, or another device's: the upper 20 bits tell them apart.
        self._memory = Memory((self._number + 1) << 44, self._memory_bytes, NULL.alignment)
        self._images: set[NullImage] = set()
        self._queues: weakref.WeakSet[NullQueue] = weakref.WeakSet()
        self.commands: deque[str] = deque(maxlen=_LAST_COMMANDS)
        self._counts = dict.fromkeys(("launches", "bytes_to_device", "bytes_from_device"), 0)
        self._open = True

    def deinit_device(self) -> None:
        if not self._open:
            return
        for queue in self._queues:
            queue.close()
        self._open = False
        self._memory = Memory(0, 0, NULL.alignment)
        self._images.clear()
        self._give_number_back()

    def close(self) -> None:
        self.deinit_device()

    def load(
        self, artifact: Artifact, devices: Mapping[str, CommonRuntimeInterface] | None = None
    ) -> NullModule:
        self._require_open()
        if artifact.manifest.target != self.target_name:
            raise ArtifactError(
                f"{self.device_name} cannot load code for {artifact.manifest.target}"
            )
        image = self.load_module(artifact.file(CODE).read_bytes())
        return NullModule(artifact, self, image, devices or {})

    def unload(self, module: LoadedModule) -> None:
        if isinstance(module, NullModule):
            module.close()

    def evaluate(self, module: LoadedModule, addresses: Sequence[int]) -> None:
        module.bind(addresses)()

    def counters(self) -> Mapping[str, float]:
        return {name: float(count) for name, count in self._counts.items()}

    def peak_flops(self, dtype: str) -> float:
        return 0.0

    def load_module(self, image: bytes) -> NullImage:
        self._require_open()
        functions = _FUNCTION.findall(image.decode(errors="replace"))
        if not functions:
            raise ArtifactError("the image has no function")
        loaded = NullImage(tuple(functions))
        self._images.add(loaded)
        return loaded

    def get_module_function(self, module: Any, name: str) -> NullFunction:
        self._require_loaded(module)
        if name not in module.functions:
            raise LaunchError(
                f"the module has no function '{name}'", hints=did_you_mean(name, module.functions)
            )
        return NullFunction(module, name)

    def unload_module(self, module: Any) -> None:
        self._images.discard(module)

    def run_function(self, function: NullFunction, arguments: Sequence[int]) -> None:
        """Do nothing but note it. Raises LaunchError unless the function is loaded here."""
        if not isinstance(function, NullFunction):
            raise LaunchError(f"{function!r} is not a device function")
        self._require_loaded(function.image)
        self._note("launch", function.name, *map(hex, arguments))
        self._counts["launches"] += 1

    def memory_allocate(self, nbytes: int) -> int:
        self._require_open()
        address = self._memory.allocate(nbytes)
        self._note("allocate", hex(address), nbytes)
        return address

    def memory_free(self, address: int) -> None:
        self._require_open()
        self._memory.free(address)
        self._note("free", hex(address))

    def memory_copy_to(self, destination: int, source: memoryview) -> None:
        self._require_open()
        data = _flat(source)
        self._memory.view(destination, data.nbytes)[:] = data
        self._note("copy_to", hex(destination), data.nbytes)
        self._counts["bytes_to_device"] += data.nbytes

    def memory_copy_from(self, destination: memoryview, source: int) -> None:
        self._require_open()
        data = _flat(destination)
        if data.readonly:
            raise UserError("the destination of a copy is read-only")
        data[:] = self._memory.view(source, data.nbytes)
        self._note("copy_from", hex(source), data.nbytes)
        self._counts["bytes_from_device"] += data.nbytes

    def memory_fill_zero(self, address: int, nbytes: int) -> None:
        self._require_open()
        content = self._memory.view(address, nbytes)
        content[:] = bytes(nbytes)
        self._note("fill_zero", hex(address), nbytes)

    def memory_data_pointer(self, address: int) -> int:
        self._require_open()
        self._memory.view(address, 0)
        return address

    def queue(self) -> NullQueue:
        self._require_open()
        queue = NullQueue(self)
        self._queues.add(queue)
        return queue

    def __repr__(self) -> str:
        return f"<{self.device_name}, {'open' if self._open else 'closed'}>"

    def _note(self, *words: object) -> None:
        self.commands.append(" ".join(map(str, words)))

    def _require_open(self) -> None:
        if not self._open:
            raise DeviceLost(f"{self.device_name} is closed")

    def _require_loaded(self, image: object) -> None:
        self._require_open()
        if image not in self._images:
            raise LaunchError(f"the module is not loaded on {self.device_name}")


def _flat(view: memoryview) -> memoryview:
    if not view.c_contiguous:
        raise UserError("a copy takes dense memory in row-major order")
    return view.cast("B") if view.nbytes else view
