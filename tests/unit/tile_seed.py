# SPDX-License-Identifier: Apache-2.0
"""The kernel of the seed document, read from its original file, with its imports changed."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

DOCUMENT = "002_c4e2d0914930dbf0.txt"
HEAD = "import xtc.tile as tilus\nfrom xtc.tile import float16, float32, int32\n\n"


def document() -> Path | None:
    """The document, in the folder `shared/seeds` beside the checkout or above; None if absent."""
    for folder in Path(__file__).resolve().parents:
        found = folder / "shared" / "seeds" / DOCUMENT
        if found.is_file():
            return found
    return None


def kernel_module(folder: Path) -> ModuleType:
    """A module with the document's class, written into `folder`; its page has no indentation."""
    path = document()
    assert path is not None
    text = path.read_text()
    begin, end = text.index('@tilus.autotune("num_warps"'), text.index("def main():")
    target = folder / "seed_kernel.py"
    target.write_text(HEAD + indented(text[begin:end]))
    spec = importlib.util.spec_from_file_location("seed_kernel", target)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["seed_kernel"] = module
    spec.loader.exec_module(module)
    return module


def script(folder: Path) -> ModuleType:
    """The document's whole program, with its imports changed, as a module in `folder`."""
    path = document()
    assert path is not None
    text = path.read_text()
    begin = text.index('@tilus.autotune("num_warps"')
    middle, end = text.index("def main():"), text.index('if __name__ == "__main__":')
    target = folder / "seed_script.py"
    head = HEAD + "import math\n\nimport pandas\nimport torch\n"
    head += "from xtc.tile.utils import benchmark_func\n\n"
    target.write_text(head + indented(text[begin:middle]) + indented_main(text[middle:end]))
    spec = importlib.util.spec_from_file_location("seed_script", target)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def indented_main(text: str) -> str:
    """The main function, whose loops end where it creates its table."""
    lines: list[str] = []
    depth = brackets = 0
    for line in text.splitlines():
        words = line.strip()
        if words.startswith("df ="):
            depth = 1
        lines.append("    " * depth + words if words else "")
        brackets += sum(map(words.count, "([{")) - sum(map(words.count, ")]}"))
        if not brackets and words.endswith(":"):
            depth += 1
    return "\n".join(lines) + "\n"


def indented(text: str) -> str:
    """A class whose lines lost their indentation; its loop ends where tensors are freed."""
    lines: list[str] = []
    depth = brackets = 0
    for line in text.splitlines():
        words = line.strip()
        if words.startswith(("@", "class ")):
            depth = 0
        elif words.startswith("def "):
            depth = 1
        elif not brackets and words.startswith("self.free_shared"):
            depth = 2
        inner = 1 if brackets and not words.startswith((")", "]")) else 0
        lines.append("    " * (depth + inner) + words if words else "")
        brackets += sum(map(words.count, "([{")) - sum(map(words.count, ")]}"))
        if not brackets and words.endswith(":"):
            depth += 1
    return "\n".join(lines) + "\n"
