# SPDX-License-Identifier: Apache-2.0
"""Device memory as a simulator keeps it: host bytes behind addresses of their own."""

from __future__ import annotations

from dataclasses import dataclass, field

from xtc.core.errors import DeviceMemoryError

POISON = 0xCD  # fresh memory is not zero, as on a machine
GUARD = 4096  # bytes between allocations that belong to none


@dataclass
class Memory:
    """Allocations in one address space; an address is never given out twice.

    Attributes:
        first: the lowest address.
        size: how many bytes can be allocated at a time.
        alignment: every allocation starts at a multiple of this many bytes.
    """

    first: int
    size: int
    alignment: int
    _allocations: dict[int, bytearray] = field(default_factory=dict)
    _next: int = 0

    @property
    def used(self) -> int:
        """Bytes allocated."""
        return sum(map(len, self._allocations.values()))

    def allocate(self, nbytes: int) -> int:
        """The address of new bytes. Raises DeviceMemoryError where there are not as many."""
        free = self.size - self.used
        if not 1 <= nbytes <= free:
            raise DeviceMemoryError(
                f"cannot allocate {nbytes} bytes", notes=[f"{free} of {self.size} bytes are free"]
            )
        address = self.first + self._next
        self._next += -(-(nbytes + GUARD) // self.alignment) * self.alignment
        self._allocations[address] = bytearray([POISON]) * nbytes
        return address

    def free(self, address: int) -> None:
        """Release an allocation. Raises DeviceMemoryError where none begins at `address`."""
        if address not in self._allocations:
            raise DeviceMemoryError(f"no allocation begins at {address:#x}")
        del self._allocations[address]

    def view(self, address: int, nbytes: int) -> memoryview:
        """The bytes at `address`. Raises DeviceMemoryError unless one allocation holds them all."""
        for start, content in self._allocations.items():
            offset = address - start
            if offset >= 0 and nbytes >= 0 and offset + nbytes <= len(content):
                return memoryview(content)[offset : offset + nbytes]
        raise DeviceMemoryError(f"{nbytes} bytes at {address:#x} are not inside an allocation")
