# SPDX-License-Identifier: Apache-2.0
"""The states of a module: arrays that it keeps between calls and that calls update in place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from xtc.core.errors import ArtifactError, UserError, did_you_mean
from xtc.driver.arguments import aligned_empty, writable
from xtc.driver.device_arguments import check_type
from xtc.interfaces.artifact import Argument, Manifest

FILE = "states.npz"
Array = np.ndarray[Any, Any]


class States(Mapping[str, Array]):
    """States by name: `module.state["cache"]` is the array that the next call updates.

    `module.state["cache"] = array` sets a state; `reset` restores all initial values.
    """

    def __init__(self, manifest: Manifest, initial: Mapping[str, Array]) -> None:
        """`initial` has the non-zero initial values."""
        self._arguments = {argument.name: argument for argument in manifest.states}
        self._arrays = {
            name: aligned_empty(argument.shape, argument.dtype)
            for name, argument in self._arguments.items()
        }
        self._initial = dict(initial)
        self.reset()

    def reset(self) -> None:
        """Restore every state's initial value."""
        for name, array in self._arrays.items():
            array[...] = self._initial.get(name, 0)

    def begin_as_they_are(self) -> None:
        """Make the current values the initial values for `reset`."""
        self._initial = {name: array.copy() for name, array in self._arrays.items()}

    def save(self, path: str | Path) -> None:
        """Write all states to a NumPy file; the name ends in .npz."""
        arrays: dict[str, Any] = self._raw()
        np.savez(Path(path), **arrays)

    def load(self, path: str | Path) -> None:
        """Read a file of `save`. Raises ArtifactError if its states do not match."""
        try:
            with np.load(Path(path), allow_pickle=False) as file:
                found = {name: file[name] for name in file.files}
        except (OSError, ValueError) as error:
            raise ArtifactError(f"no states can be read: {error}", where=Path(path)) from None
        raw = self._raw()
        sizes = {name: array.size for name, array in found.items()}
        if sizes != {name: array.size for name, array in raw.items()}:
            raise ArtifactError("these are states of another module", where=Path(path))
        for name, array in raw.items():
            array[...] = found[name]

    def of_call(self, given: Mapping[str, Any]) -> dict[str, Array]:
        """The state arrays of a call: the caller's where given, else the module's.

        Raises UserError if a given array cannot be updated in place.
        """
        hint = "a call updates it in place: pass a dense array, such as np.zeros(shape, dtype)"
        return {
            name: writable(given[name], argument, f"state '{name}'", hint)
            if name in given
            else self._arrays[name]
            for name, argument in self._arguments.items()
        }

    def _raw(self) -> dict[str, Array]:
        """The states as bytes, because NumPy's files do not support all element types."""
        return {name: a.reshape(-1).view(np.uint8) for name, a in self._arrays.items()}

    def __getitem__(self, name: str) -> Array:
        self._argument(name)
        return self._arrays[name]

    def __setitem__(self, name: str, value: Any) -> None:
        array = np.asarray(value)
        check_type(array, self._argument(name))
        self._arrays[name][...] = array

    def _argument(self, name: str) -> Argument:
        if name not in self._arguments:
            raise UserError(f"there is no state '{name}'", hints=did_you_mean(name, self._arrays))
        return self._arguments[name]

    def __contains__(self, name: object) -> bool:
        return name in self._arguments

    def __iter__(self) -> Iterator[str]:
        return iter(self._arrays)

    def __len__(self) -> int:
        return len(self._arrays)

    def __repr__(self) -> str:
        shapes = [
            f"{a.name}: {'x'.join(map(str, (*a.shape, a.dtype)))}" for a in self._arguments.values()
        ]
        return f"<states {', '.join(shapes)}>"
