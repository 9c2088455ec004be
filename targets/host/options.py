# SPDX-License-Identifier: Apache-2.0
"""The options of code for the host: which processor it is for, and what makes it."""

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
        triple: LLVM triple; None is this machine's.
        cpu: LLVM's name of the processor; None is this machine's, or generic for another triple.
        features: additions and removals such as "+avx2,-avx512f".
        opt_level: the optimisation level of LLVM or of the C compiler, 0 to 3.
        codegen: "llvm", or "c" for C that the compiler named by XTC_CC translates.
        threads: on how many threads loops run that a schedule made parallel, 1 to 1024. None is
            decided where the code is loaded: XTC_THREADS, else the cores the process may use.
        l1_bytes: first-level data cache that default schedules reckon with; None is this machine's.
        l2_bytes: second-level cache of a core, likewise.
        winograd: compute 3 x 3 convolutions of stride 1 whose filters are constants with fewer
            multiplications, where that is faster (pass winograd-convolutions). Sums are of the same
            numbers in another order.
        profile: record when each operator ends, for `Module.profile`, which sets it by itself.
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
        """The caches that default schedules reckon with."""
        from xtc_targets.host.description import HostDescription

        found = HostDescription.of(self.machine).caches
        given = {"l1_bytes": self.l1_bytes, "l2_bytes": self.l2_bytes}
        return replace(found, **{name: size for name, size in given.items() if size is not None})

    @property
    def machine(self) -> Machine:
        """The machine these options choose. Raises UserError for names LLVM does not know."""
        from xtc.codegen.llvm import Machine

        return Machine.of(self.triple, self.cpu, self.features)
