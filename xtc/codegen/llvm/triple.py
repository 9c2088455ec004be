# SPDX-License-Identifier: Apache-2.0
"""Target triples: normalization and a check of each component.

LLVM accepts any operating system or environment and silently generates code for an unknown one;
here an unknown component is a user error.
"""

from __future__ import annotations

import functools
from collections.abc import Collection
from typing import NamedTuple

from xtc.codegen.llvm.capi import llvm, take_string
from xtc.core.errors import UserError, did_you_mean

_ARM_VERSIONS = (
    *("", "v4t", "v5te", "v6", "v6k", "v6t2", "v7", "v7a", "v7r", "v7s", "v7k", "v7ve"),
    *("v8", "v8a", "v8r", "v8.1a", "v8.2a", "v8.3a", "v8.4a", "v8.5a", "v8.6a", "v9a"),
    *("v6m", "v7m", "v7em", "v8m.base", "v8m.main", "v8.1m.main"),
)

# The target family of each architecture, by the name in LLVMInitialize<family>Target.
FAMILY_OF = {
    **dict.fromkeys(("x86_64", "x86_64h", "amd64", "i386", "i486", "i586", "i686"), "X86"),
    **dict.fromkeys(("aarch64", "aarch64_be", "arm64", "arm64e"), "AArch64"),
    **{f"{isa}{version}": "ARM" for isa in ("arm", "thumb") for version in _ARM_VERSIONS},
    **dict.fromkeys(("nvptx", "nvptx64"), "NVPTX"),
}
_VENDORS = (
    *("unknown", "none", "pc", "apple", "nvidia", "amd", "arm", "intel", "ibm", "oe", "poky"),
    *("alpine", "amazon", "redhat", "suse", "w64"),
)
_SYSTEMS = (
    *("unknown", "none", "linux", "darwin", "macos", "macosx", "ios", "cuda", "nvcl", "windows"),
    *("freebsd", "netbsd", "openbsd", "dragonfly", "solaris", "fuchsia", "haiku", "uefi"),
)
_ENVIRONMENTS = (
    *("unknown", "gnu", "gnueabi", "gnueabihf", "gnux32", "gnu_ilp32", "musl", "musleabi"),
    *("musleabihf", "muslx32", "eabi", "eabihf", "elf", "macho", "coff", "android"),
    *("androideabi", "msvc", "cygnus", "simulator", "macabi"),
)


class Triple(NamedTuple):
    """The components of a normalized triple without versions; "" if omitted."""

    architecture: str
    vendor: str
    system: str
    environment: str


@functools.lru_cache(maxsize=256)
def normalize(triple: str) -> str:
    """The triple normalized by LLVM: "x86_64-linux-gnu" becomes "x86_64-unknown-linux-gnu".

    Raises:
        UserError: LLVM was not built for the architecture, or the vendor, operating system or
            environment is unknown.
    """
    normal = take_string(llvm().LLVMNormalizeTargetTriple(triple.encode()))
    words = split(normal)
    _check(words.architecture, "architecture", FAMILY_OF, triple)
    # LLVM moves an unknown component to the vendor.
    _check(words.vendor, "vendor or operating system", (*_VENDORS, *_SYSTEMS), triple)
    _check(words.system, "operating system", _SYSTEMS, triple)
    _check(words.environment, "environment", _ENVIRONMENTS, triple)
    return normal


def split(normal: str) -> Triple:
    """The components of a normalized triple."""
    architecture, vendor, system, environment, *_ = [*normal.split("-"), "", "", ""]
    return Triple(architecture, vendor, _unversioned(system), _unversioned(environment))


def _unversioned(word: str) -> str:
    return word if word in _ENVIRONMENTS else word.rstrip("0123456789.")


def _check(word: str, kind: str, known: Collection[str], triple: str) -> None:
    if word not in known and (word or kind == "architecture"):
        raise UserError(
            f"unknown {kind} '{word}' in the target triple '{triple}'",
            hints=did_you_mean(word, known),
        )
