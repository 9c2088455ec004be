# SPDX-License-Identifier: Apache-2.0
"""The machine to generate code for: triple, processor and features, checked against LLVM."""

from __future__ import annotations

import functools
from dataclasses import dataclass

from xtc.codegen.llvm import processors
from xtc.codegen.llvm.capi import llvm, take_string
from xtc.codegen.llvm.target_machine import layout_of
from xtc.codegen.llvm.triple import normalize, split

# Synonyms of architectures and of operating systems.
_SYNONYMS = {"arm64": "aarch64", "amd64": "x86_64", "darwin": "macosx", "macos": "macosx"}


@dataclass(frozen=True)
class Machine:
    """A machine to generate code for.

    Attributes:
        triple: the normalized triple, such as "x86_64-unknown-linux-gnu".
        cpu: LLVM's name of the processor, such as "znver5"; "" for the architecture's generic one.
        features: features added to and removed from the processor's, in LLVM's syntax, such as
            "+avx2,-avx512f".
    """

    triple: str
    cpu: str
    features: str

    @staticmethod
    def host() -> Machine:
        """This process's machine, with all features of its processor."""
        return _host()

    @staticmethod
    def of(
        triple: str | None = None, cpu: str | None = None, features: str | None = None
    ) -> Machine:
        """A checked machine, with defaults for None.

        The default triple is the host's. With the host's triple, the default `cpu` is the host's,
        and `features` are then added to the detected features. The default `features` are the
        detected ones if `cpu` is the host's. All other defaults are generic.

        Raises:
            UserError: LLVM does not know the triple, the processor or a feature, or generates no
                code for their combination.
        """
        host = Machine.host()
        chosen = host.triple if triple is None else normalize(triple)
        at_home = Machine(chosen, "", "").is_host
        detected = host.features if at_home and cpu in (None, host.cpu) else ""
        if features is None:
            features = detected
        elif cpu is None:
            features = ",".join(filter(None, (detected, features)))
        if cpu is None:
            cpu = host.cpu if at_home else ""
        machine = Machine(chosen, cpu, features)
        machine.check()
        return machine

    def check(self) -> None:
        """Raise UserError unless LLVM generates code for this machine; checked only once."""
        if self != Machine.host():
            processors.check(self.triple, self.cpu, self.features)

    @property
    def is_host(self) -> bool:
        """Whether an object for this machine can be loaded in this process.

        Compares architecture, operating system and data layout with the host's, not the features
        of the processor.
        """
        return _platform(self.triple) == _platform(Machine.host().triple)

    @property
    def pointer_bits(self) -> int:
        """The width of a pointer in the default address space, in bits."""
        return layout_of(self.triple).pointer_bits

    @property
    def data_layout(self) -> str:
        """The LLVM data layout string."""
        return layout_of(self.triple).text


@functools.lru_cache(maxsize=1)
def _host() -> Machine:
    lib = llvm()
    triple = normalize(take_string(lib.LLVMGetDefaultTargetTriple()))
    cpu = take_string(lib.LLVMGetHostCPUName())
    return Machine(triple, cpu, take_string(lib.LLVMGetHostCPUFeatures()))


@functools.lru_cache(maxsize=64)
def _platform(triple: str) -> tuple[str, str, str]:
    words = split(triple)
    architecture = _SYNONYMS.get(words.architecture, words.architecture)
    system = _SYNONYMS.get(words.system, words.system)
    return architecture, system, layout_of(triple).text
