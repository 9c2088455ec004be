# SPDX-License-Identifier: Apache-2.0
"""The compared libraries: this project, and others in separate environments.

The versions are exact, so that two runs compare the same code.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

NUMPY = "numpy==2.4.6"


@dataclass(frozen=True)
class Library:
    """One row of the comparison.

    Attributes:
        name: name for `--peers`.
        title: name in tables.
        module: its file in benchmarks/workers.
        requirements: packages to install for it; empty if it runs in this environment.
        is_ours: whether it is this project.
        environment: variables for its process, in which `{threads}` is replaced.
    """

    name: str
    title: str
    module: str
    requirements: tuple[str, ...] = ()
    is_ours: bool = False
    environment: Mapping[str, str] = field(default_factory=dict, hash=False)

    @property
    def distributions(self) -> tuple[str, ...]:
        """The names of its installed packages."""
        return tuple(
            requirement.partition("==")[0].partition("[")[0] for requirement in self.requirements
        )


OURS = Library("ours", "xtc", "ours", is_ours=True)
LIBRARIES = (
    OURS,
    Library("tuned", "xtc, tuned", "ours_tuned", is_ours=True),
    Library("numpy", "NumPy (OpenBLAS)", "openblas", (NUMPY,)),
    Library("torch", "PyTorch", "pytorch", ("torch==2.13.0", NUMPY)),
    Library(
        "onnxruntime",
        "ONNX Runtime",
        "onnx_runtime",
        ("onnxruntime==1.31.1", "onnx==1.23.2", NUMPY),
    ),
    Library(
        "jax",
        "JAX (XLA)",
        "jax_xla",
        ("jax==0.10.2", "jaxlib==0.10.2", NUMPY),
        environment={"PJRT_NPROC": "{threads}"},
    ),
    Library(
        "iree",
        "IREE",
        "iree_cpu",
        ("iree-base-compiler==3.13.0", "iree-base-runtime==3.13.0", NUMPY),
    ),
    Library(
        "tvm",
        "TVM",
        "tvm_te",
        # Parts of TVM crash with the newest apache-tvm-ffi.
        ("apache-tvm==0.27.0.post1", "apache-tvm-ffi==0.1.14.post0", NUMPY),
    ),
    Library(
        "xtc-tools",
        "xtc-tools (TVM)",
        "xtc_tools",
        ("xtc-tools[tvm]==0.3.2", "intel-openmp==2026.2.0", "numpy==2.2.6"),
    ),
)
YARDSTICKS = Library("machine", "machine", "yardsticks")
PLOT_REQUIREMENTS = ("matplotlib==3.11.2",)
