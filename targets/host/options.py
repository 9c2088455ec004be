# SPDX-License-Identifier: Apache-2.0
"""The options of host code: the processor, the code generator and the threads."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from xtc.core.errors import UserError
from xtc.core.value_checks import whole
from xtc_targets.host.threads import check_threads

if TYPE_CHECKING:
    from xtc.codegen.llvm import Machine
    from xtc_targets.host.data_caches import Caches


@dataclass(frozen=True)
class HostOptions:
    """Options of `xtc.compile(..., target="host")`.

    Attributes:
        triple: LLVM target triple; None for this machine's.
        cpu: LLVM's name of the processor; None for this machine's, or "generic" for another triple.
        features: processor features to add or remove, such as "+avx2,-avx512f".
        opt_level: the optimization level of LLVM or of the C compiler, 0 to 3.
        codegen: "llvm", or "c" for C code that the compiler named by XTC_CC compiles.
        threads: number of threads for parallel loops, 1 to 1024. None leaves it to load time:
            XTC_THREADS, or else the number of cores that the process may use.
        l1_bytes: size of the first-level data cache for default schedules; None for this machine's.
        l2_bytes: size of a core's second-level cache, likewise.
        winograd: use Winograd's algorithm for 3 x 3 convolutions of stride 1 with constant filters,
            if it is faster (pass winograd-convolutions). Rounding errors then differ.
        profile: record the end time of each operator; `Module.profile` sets this option itself.
    """

    triple: str | None = None
    cpu: str | None = None
    features: str | None = None
    opt_level: int = 3
    codegen: Literal["llvm", "c"] = "llvm"
    threads: int | None = None
    l1_bytes: int | None = None
    l2_bytes: int | None = None
    winograd: bool = True
    profile: bool = False

    def __post_init__(self) -> None:
        if self.opt_level not in (0, 1, 2, 3):
            raise UserError(f"opt_level={self.opt_level!r} is not 0, 1, 2 or 3")
        if self.profile and self.codegen == "c":
            raise UserError(
                "codegen='c' records no profile", hints=["profile it with codegen='llvm'"]
            )
        if self.threads is not None:
            check_threads(self.threads)
        for name in ("l1_bytes", "l2_bytes"):
            whole(name, getattr(self, name), 1 << 10, 1 << 40, optional=True)

    @property
    def is_parallel(self) -> bool:
        """Whether parallel loops may run on several threads."""
        return self.threads != 1

    @property
    def caches(self) -> Caches:
        """The cache sizes that default schedules are computed from."""
        from xtc_targets.host.description import HostDescription

        found = HostDescription.of(self.machine).caches
        given = {"l1_bytes": self.l1_bytes, "l2_bytes": self.l2_bytes}
        return replace(found, **{name: size for name, size in given.items() if size is not None})

    @property
    def machine(self) -> Machine:
        """The machine these options choose. Raises UserError for names LLVM does not know."""
        from xtc.codegen.llvm import Machine

        return Machine.of(self.triple, self.cpu, self.features)
