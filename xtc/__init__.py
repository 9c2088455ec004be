# SPDX-License-Identifier: Apache-2.0
"""Write a tensor graph, say where tensors live and operators run, compile it, check it, run it.

import xtc
import xtc.ops as O

a, b = O.tensor((4, 16)), O.tensor((16, 8))
with O.graph(name="product") as gb:
    O.matmul(a, b)
module = xtc.compile(gb.graph)
module.check()
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from xtc.core.versions import VERSION

if TYPE_CHECKING:
    from xtc.public_names import *  # noqa: F403

__version__ = VERSION


def __getattr__(name: str) -> Any:
    """Imports a public name or a subpackage on first use, so that commands start fast."""
    if name == "__all__" or not name.startswith("_"):
        import xtc.public_names as public

        if name == "__all__" or name in public.__all__:
            globals()[name] = getattr(public, name)
        if name in globals():  # set as a side effect of importing the public names
            return globals()[name]
    raise AttributeError(f"module 'xtc' has no attribute {name!r}")


def __dir__() -> list[str]:
    import xtc.public_names as public

    return sorted({*globals(), *public.__all__})
