# SPDX-License-Identifier: Apache-2.0
"""The result of a compilation: files or objects, and a manifest that describes the calls."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from xtc.core.errors import ArtifactError, UserError
from xtc.core.types import element_type
from xtc.interfaces import checked
from xtc.interfaces.memory_map import MemoryMap
from xtc.interfaces.offload import Offload

VECTOR_BITS = "vector_bits"
"""The key of the code's vector width in a manifest's toolchain."""

MANIFEST_FILE = "manifest.json"
FORMAT = 2
MAX_MANIFEST = 64 << 20
_CHUNK = 1 << 20


@dataclass(frozen=True)
class Argument:
    """One argument of the entry point: a dense, row-major array.

    Attributes:
        name: the tensor's name.
        dtype: element type by name.
        shape: sizes.
        role: whether the function reads it or writes it.
        device: name of the device on which the caller's buffer lives, None for the host.
        symbol: the program's symbol of an array at a fixed address; "" if the caller passes the
            address.
        state: whether the module keeps it between calls; the function reads and writes it.
        shards: the number of shards along its first dimension, one for each of the device's
        memories; 0 if it is replicated in each of them.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    role: Literal["input", "output"]
    device: str | None = None
    symbol: str = ""
    shards: int = 0
    state: bool = False

    @property
    def nbytes(self) -> int:
        """Bytes of the array."""
        return math.prod(self.shape) * element_type(self.dtype).nbytes


@dataclass(frozen=True)
class Manifest:
    """How to call an artifact, and the toolchain that built it.

    Attributes:
        entry: the function `void entry(void *argument0, ...)`, arguments in order.
        target: name of the target that built it.
        arguments: inputs, then outputs.
        toolchain: versions and options that affect the code.
        offload: its use of devices.
        flops: arithmetic operations of one call.
        files: SHA-256 of each file beside the manifest, by file name.
        returns_status: whether the entry returns an int instead of void: 0, or 1 if memory for its
            temporary arrays was exhausted.
        memory: the memory map of a bare-metal program.
    """

    entry: str
    target: str
    arguments: tuple[Argument, ...]
    toolchain: Mapping[str, str]
    offload: Offload = field(default_factory=Offload)
    flops: int = 0
    files: Mapping[str, str] = field(default_factory=dict)
    returns_status: bool = False
    memory: MemoryMap | None = None

    @property
    def inputs(self) -> tuple[Argument, ...]:
        """Arguments the function reads."""
        return tuple(argument for argument in self.arguments if argument.role == "input")

    @property
    def states(self) -> tuple[Argument, ...]:
        """Inputs that the module keeps between calls."""
        return tuple(argument for argument in self.inputs if argument.state)

    @property
    def outputs(self) -> tuple[Argument, ...]:
        """Arguments the function writes."""
        return tuple(argument for argument in self.arguments if argument.role == "output")

    def to_json(self) -> str:
        """The manifest as text; equal manifests have equal texts."""
        return json.dumps({"format": FORMAT, **asdict(self)}, indent=1, sort_keys=True) + "\n"

    @staticmethod
    def from_json(text: str, where: Path) -> Manifest:
        """Parse the text of `to_json`. Raises ArtifactError for other texts."""
        try:
            data: dict[str, Any] = json.loads(text)
            if data.pop("format") != FORMAT:
                raise ValueError("another format version")
            arguments = tuple(map(_argument, data.pop("arguments")))
            offload = Offload.from_data(data.pop("offload"))
            memory = data.pop("memory")
            memory = None if memory is None else MemoryMap.from_data(memory)
            for name in ("entry", "target"):
                checked.text(data[name])
            for name in ("toolchain", "files"):
                checked.texts([*data[name].keys(), *data[name].values()])
            checked.number(data["flops"])
            return Manifest(**data, arguments=arguments, offload=offload, memory=memory)
        except _UNREADABLE as error:
            raise ArtifactError(f"the manifest cannot be read: {error!r}", where=where) from None


_UNREADABLE = (ValueError, TypeError, KeyError, AttributeError, RecursionError, UserError)


def _argument(data: dict[str, Any]) -> Argument:
    argument = Argument(**{**data, "shape": tuple(map(checked.number, data["shape"]))})
    checked.text(argument.name)
    checked.text(argument.symbol)
    element_type(checked.text(argument.dtype))
    if argument.role not in ("input", "output"):
        raise ValueError(f"role {argument.role!r}")
    if argument.device is not None:
        checked.text(argument.device)
    checked.number(argument.shards)
    return argument


@dataclass(frozen=True)
class Artifact:
    """Compiled code: a folder of files with a manifest, or relocatable objects in memory."""

    manifest: Manifest
    folder: Path | None = None
    objects: tuple[bytes, ...] = ()

    def file(self, name: str) -> Path:
        """The path of a file of this artifact. Raises ArtifactError if it is not listed."""
        if self.folder is None or name not in self.manifest.files:
            raise ArtifactError(f"the artifact has no file '{name}'", where=self.folder)
        return self.folder / name

    @staticmethod
    def read(folder: Path) -> Artifact:
        """The artifact in `folder`, its files checked by their hashes. Raises ArtifactError."""
        path = folder / MANIFEST_FILE
        try:
            manifest = Manifest.from_json(_manifest_text(path), path)
        except (OSError, UnicodeDecodeError) as error:
            raise ArtifactError(f"no artifact here: {error}", where=folder) from None
        for name, expected in manifest.files.items():
            if Path(name).name != name or not _is_intact(folder / name, expected):
                raise ArtifactError(f"file '{name}' does not match the manifest", where=folder)
        return Artifact(manifest, folder)


def file_hash(path: Path) -> str:
    """SHA-256 of a file's bytes. Raises OSError if it cannot be read."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def _manifest_text(path: Path) -> str:
    """The text of a regular file. Raises OSError for others: a pipe may never end."""
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {path}")
    if path.stat().st_size > MAX_MANIFEST:
        raise ArtifactError(f"the manifest is larger than {MAX_MANIFEST >> 20} MiB", where=path)
    return path.read_text(encoding="utf-8")


def _is_intact(path: Path, expected: str) -> bool:
    try:
        return path.is_file() and file_hash(path) == expected
    except (OSError, ValueError):  # ValueError: a name that no file can have
        return False
