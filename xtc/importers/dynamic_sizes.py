# SPDX-License-Identifier: Apache-2.0
"""Sizes of a model's inputs that are fixed only at compilation or by a call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from xtc.core.errors import UserError, did_you_mean
from xtc.importers.values import Array

Size = int | str


@dataclass(frozen=True)
class ModelInput:
    """An input of a model.

    Attributes:
        name: its name in the model.
        shape: sizes; a string names a dynamic dimension.
        dtype: name of the element type.
    """

    name: str
    shape: tuple[Size, ...]
    dtype: str

    def __str__(self) -> str:
        return f"{self.name}: {'x'.join([*map(str, self.shape), self.dtype])}"


@dataclass(frozen=True)
class DynamicSizes:
    """The dynamic dimensions of a model.

    Attributes:
        model: its name.
        inputs: arguments of a call.
        states: values that the module keeps between calls; their sizes may be free too.
        known: sizes given when the model was read.
        file: the file of the model.
    """

    model: str
    inputs: Sequence[ModelInput]
    states: Sequence[ModelInput]
    known: Mapping[str, int]
    file: str | None

    @property
    def symbols(self) -> tuple[str, ...]:
        """Names of the dynamic dimensions, in the order of the inputs."""
        return tuple(name for name in self.names if name not in self.known)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all dimensions, including those of known size."""
        shapes = (given.shape for given in (*self.inputs, *self.states))
        return tuple(dict.fromkeys(size for shape in shapes for size in shape if type(size) is str))

    def check_names(self, dims: Mapping[str, int]) -> None:
        """Raise UserError for an unknown dimension name."""
        for name in dims:
            if name not in self.names:
                raise UserError(
                    f"model '{self.model}' has no dynamic dimension '{name}'",
                    where=self.file,
                    hints=did_you_mean(name, self.names),
                )

    def chosen(self, dims: Mapping[str, int]) -> dict[str, int]:
        """All sizes by name. Raises UserError for unknown names, invalid sizes and missing ones."""
        self.check_names(dims)
        for name, size in dims.items():
            if not isinstance(size, int | np.integer) or isinstance(size, bool) or size < 0:
                raise UserError(
                    f"dimension '{name}' of model '{self.model}' cannot be {size!r}",
                    notes=["a size must be 0 or more"],
                )
        sizes = {**self.known, **{name: int(size) for name, size in dims.items()}}
        missing = [name for name in self.symbols if name not in sizes]
        if missing:
            raise self._missing(missing)
        return sizes

    def of_arrays(self, arrays: Mapping[str, Any]) -> dict[str, int]:
        """Dynamic sizes, from arrays by input name. Raises UserError if an array does not fit."""
        sizes: dict[str, int] = {}
        for given in self.inputs:
            self._match(given, arrays[given.name], sizes)
        return sizes

    def _match(self, given: ModelInput, array: Array, sizes: dict[str, int]) -> None:
        """Take dynamic sizes from an array. Raises UserError if it does not fit the input."""
        fits = array.ndim == len(given.shape)
        for size, found in zip(given.shape, array.shape, strict=False):
            wanted = self.known.get(size, size) if isinstance(size, str) else size
            if isinstance(wanted, str):
                wanted = sizes.setdefault(wanted, found)
            fits = fits and wanted == found
        if not fits:
            known = f" with {sizes}" if sizes else ""
            raise UserError(
                f"input '{given.name}' of model '{self.model}' has shape {array.shape}, "
                f"not {given.shape}{known}"
            )

    def _missing(self, names: Sequence[str]) -> UserError:
        listed = ", ".join(f"'{name}'" for name in names)
        pairs = ", ".join(f"'{name}': 32" for name in names)
        words = " ".join(f"--dim {name}=32" for name in names)
        return UserError(
            f"model '{self.model}' has the dynamic dimension{'s' * (len(names) != 1)} {listed}",
            where=self.file,
            notes=[f"inputs: {', '.join(map(str, self.inputs))}"],
            hints=[f"pass sizes: dims={{{pairs}}}, or {words} on the command line"],
        )
