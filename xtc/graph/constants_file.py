# SPDX-License-Identifier: Apache-2.0
"""Large constants of a graph, in a `.npz` file beside its YAML file.

Plain NumPy reads it; bfloat16, which NumPy's format lacks, is stored as its bits in uint16. The
YAML file records the SHA-256 of the file. The reader accepts only uncompressed plain arrays of
exactly the names, types and sizes that the YAML file declares.
"""

from __future__ import annotations

import hashlib
import re
import struct
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np

from xtc.core.errors import UserError
from xtc.core.types import ElementType, TensorType
from xtc.graph.array_text import from_bytes

Array = np.ndarray[Any, Any]

SUFFIX = ".constants.npz"
_PLAIN_NAME = re.compile(r"[^/\\\x00:]{1,255}")
_MAGIC = struct.Struct("<8sH")
_SLACK = 4096
_CHUNK = 1 << 20


def write_constants(file: IO[bytes], arrays: Mapping[str, Array]) -> None:
    """Write arrays by name, little-endian."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for name, array in arrays.items():
            entry = zipfile.ZipInfo(f"{name}.npy")
            with archive.open(entry, "w", force_zip64=True) as stream:
                np.lib.format.write_array(stream, _storable(array), allow_pickle=False)


def file_sha256(file: IO[bytes]) -> str:
    """SHA-256 of a file from its beginning, in hexadecimal."""
    file.seek(0)
    digest = hashlib.sha256()
    while chunk := file.read(_CHUNK):
        digest.update(chunk)
    return digest.hexdigest()


def check_file_name(name: str) -> str:
    """`name` if it is a plain file name, which cannot leave its folder. Raises UserError."""
    if _PLAIN_NAME.fullmatch(name) is None or name in (".", ".."):
        raise UserError(
            f"{name!r} is not a plain file name",
            notes=["constants lie in the folder of the graph's own file"],
        )
    return name


def read_constants(path: Path, sha256: str, types: Mapping[str, TensorType]) -> dict[str, Array]:
    """The arrays of `path` by name. Raises UserError unless the file matches the declarations."""
    if not path.is_file():
        raise UserError(f"the constants file '{path.name}' is missing", notes=[str(path)])
    try:
        with path.open("rb") as file:
            _check_size(path, file, types)
            if file_sha256(file) != sha256:
                raise UserError(
                    f"'{path.name}' is not the file that was saved with the graph",
                    notes=[f"its SHA-256 is not {sha256}"],
                )
            with zipfile.ZipFile(file) as archive:
                return _read_all(archive, path, types)
    except OSError as error:
        raise UserError(
            f"the constants file '{path.name}' cannot be read", notes=[str(error.strerror or error)]
        ) from None
    except (zipfile.BadZipFile, ValueError, EOFError, RuntimeError, struct.error) as error:
        raise UserError(
            f"the constants file '{path.name}' is damaged", notes=[str(error)]
        ) from None


def _check_size(path: Path, file: IO[bytes], types: Mapping[str, TensorType]) -> None:
    expected = sum(type.nbytes + _SLACK for type in types.values())
    if file.seek(0, 2) > expected + _SLACK:
        raise UserError(f"the constants file '{path.name}' is larger than its constants")


def _read_all(
    archive: zipfile.ZipFile, path: Path, types: Mapping[str, TensorType]
) -> dict[str, Array]:
    names = [info.filename for info in archive.infolist()]
    if sorted(names) != sorted(f"{name}.npy" for name in types):
        raise UserError(
            f"the constants file '{path.name}' does not contain the graph's constants",
            notes=[f"declared: {', '.join(sorted(types))}"],
        )
    return {
        name: _read_one(archive, archive.getinfo(f"{name}.npy"), type)
        for name, type in types.items()
    }


def _read_one(archive: zipfile.ZipFile, info: zipfile.ZipInfo, type: TensorType) -> Array:
    if info.compress_type != zipfile.ZIP_STORED:
        raise ValueError(f"{info.filename} is compressed")
    with archive.open(info) as stream:
        start = stream.read(_MAGIC.size)
        magic, size = _MAGIC.unpack(start) if len(start) == _MAGIC.size else (b"", 0)
        header = stream.read(size).decode("latin-1").strip()
        if magic != b"\x93NUMPY\x01\x00" or header != _header(type):
            raise ValueError(f"{info.filename} is not an array of type {type}")
        data = stream.read(type.nbytes + 1)
    if len(data) != type.nbytes:
        raise ValueError(f"{info.filename} does not have {type.nbytes} bytes")
    return from_bytes(data, type)


def _header(type: TensorType) -> str:
    """The header that the array must have: it is compared, not parsed."""
    descr = _stored_dtype(type.element).str
    return f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {type.sizes}, }}"


def _stored_dtype(element: ElementType) -> np.dtype[Any]:
    dtype: np.dtype[Any] = np.dtype(np.uint16) if element.name == "bfloat16" else element.numpy
    stored: np.dtype[Any] = dtype.newbyteorder("<")
    return stored


def _storable(array: Array) -> Array:
    bits = array.view(np.uint16) if array.dtype.name == "bfloat16" else array
    return bits.astype(bits.dtype.newbyteorder("<"))
