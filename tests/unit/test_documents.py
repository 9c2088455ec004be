# SPDX-License-Identifier: Apache-2.0
"""Pages are up to date: their programs run, and their IR and output are current."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tools.document_blocks import renew_documents, renewed, stale_documents
from xtc.cli import opt
from xtc.core import errors
from xtc.core.knobs import KNOBS
from xtc.tile import layout
from xtc_targets.nvgpu.toolkit import find

ROOT = Path(__file__).parents[2]
FENCE = re.compile(r"^```(?P<kind>\w+)\n(?P<body>.*?)^```$", re.DOTALL | re.MULTILINE)


def blocks(document: str, kind: str) -> list[str]:
    """The fenced blocks of a language, in order."""
    text = (ROOT / document).read_text()
    return [block["body"] for block in FENCE.finditer(text) if block["kind"] == kind]


def python(program: str, folder: Path) -> str:
    """The output of a program that runs in `folder`."""
    (folder / "program.py").write_text(program)
    done = subprocess.run(
        [sys.executable, "program.py"], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_blocks_show_the_current_output_of_commands() -> None:
    assert stale_documents(ROOT) == [], "run `make docs`"


@pytest.mark.slow
def test_the_example_of_the_readme_runs(tmp_path: Path) -> None:
    (example,) = blocks("README.md", "python")
    assert len(example.splitlines()) < 20
    first, second, *_ = python(
        example, tmp_path
    ).splitlines()  # the last line may report that the machine was busy
    assert first.startswith("256.0 C: all 8192 elements agree")
    assert "FLOP/s" in second


@pytest.mark.slow
def test_the_example_of_the_offload_page_prints_what_it_shows(tmp_path: Path) -> None:
    (example,), (printed,) = (blocks("docs/offload.md", kind) for kind in ("python", "text"))
    assert python(example, tmp_path) == printed


@pytest.mark.slow
def test_the_examples_of_the_page_of_tile_kernels_run(tmp_path: Path) -> None:
    program = "".join(blocks("docs/tile.md", "python"))
    if find("nvdisasm") is None or find("ptxas") is None:  # the two that need NVIDIA's programs
        program = program.replace(", kernel.sass", "").replace("kernel.resources", "")
    checked, candidate = python(program, tmp_path).splitlines()
    assert checked.startswith("no race in 2 blocks: ")
    assert re.fullmatch(r"no parameters: [\d.]+ us \(modelled\)", candidate)


@pytest.mark.slow
@pytest.mark.parametrize("document", ["docs/embedded.md", "docs/upmem.md", "docs/xtc-tools.md"])
def test_the_examples_of_a_page_run_in_order(document: str, tmp_path: Path) -> None:
    python("".join(blocks(document, "python")), tmp_path)


def test_the_picture_of_a_layout_is_current() -> None:
    picture, _ = blocks("docs/tile.md", "text")
    assert picture.rstrip() == (layout.spatial(8, 4) * layout.local(1, 2)).visualize().rstrip()


@pytest.mark.parametrize("stage", ["source", "scheduled", "bufferized", "offloaded", "lowered"])
def test_the_picture_of_the_readme_has_every_stage(stage: str) -> None:
    (picture,) = blocks("README.md", "text")
    assert stage in picture


def test_every_target_is_in_the_table_of_the_readme() -> None:
    rows = re.findall(r"^\| `(\w+)` \|", (ROOT / "README.md").read_text(), re.MULTILINE)
    folders = [path.name for path in (ROOT / "targets").iterdir() if (path / "build.py").is_file()]
    assert sorted(rows) == sorted(folders)


@pytest.mark.slow
def test_the_operator_of_its_page_is_correct(tmp_path: Path) -> None:
    operator, lit_test = blocks("docs/add-an-op.md", "python")
    (tmp_path / "ops").mkdir()
    (tmp_path / "ops" / "clip.py").write_text(operator)
    (tmp_path / "lit_test.py").write_text(lit_test)
    program = f"""
import runpy, xtc, xtc.ops as O
O.__path__.append({str(tmp_path / "ops")!r})
from xtc.ops.clip import clip
O.clip = clip
graph = runpy.run_path("lit_test.py")["graph"].graph
module = xtc.compile(graph, in_memory=True)
print(*module.check())
print(module.ir())
x = O.tensor((2,), name="x")
with O.graph(name="g"):
    clip(x)
    try:
        clip(x, low=2.0)
    except xtc.UserError as error:
        print(error.what)
"""
    printed = python(program, tmp_path)
    assert "y: all 6 elements agree" in printed
    assert "high=1.0 of clip is below low=2.0" in printed
    for line in re.findall(r"# CHECK: (?:%.*? = )?([a-z.]+)", lit_test):
        assert line in printed


@pytest.mark.slow
def test_the_pass_of_its_page_passes_its_test(tmp_path: Path) -> None:
    (code,) = blocks("docs/add-a-pass.md", "python")
    (lit_test,) = blocks("docs/add-a-pass.md", "mlir")
    (tmp_path / "passes").mkdir()
    (tmp_path / "passes" / "drop_node_ids.py").write_text(code)
    (tmp_path / "test.mlir").write_text(lit_test)
    program = f"""
import xtc_passes.tensor
xtc_passes.tensor.__path__.append({str(tmp_path / "passes")!r})
from xtc.cli import opt
opt.run(["test.mlir", "--drop-node-ids{{prefix=__xtc_id_}}"])
opt.run(["test.mlir", "--drop-node-ids"])
"""
    printed = python(program, tmp_path)
    assert printed.count("linalg.fill ins(") == 2
    assert "__xtc_id_" not in printed


@pytest.mark.slow
def test_a_copy_of_the_null_target_is_a_target(tmp_path: Path) -> None:
    (recipe,) = blocks("docs/add-a-target.md", "sh")
    copy, *renames, command = recipe.splitlines()
    (tmp_path / "targets").mkdir()
    (tmp_path / "targets" / "null").symlink_to(ROOT / "targets" / "null")
    for line in (copy.replace("cp -r", "cp -rL"), *renames):
        subprocess.run(["/bin/sh", "-c", line], cwd=tmp_path, check=True)
    program = f"""
import xtc_targets
xtc_targets.__path__.append({str(tmp_path / "targets")!r})
import xtc, numpy as np
from xtc.cli import run
run.run({command.replace("examples", str(ROOT / "examples")).split()[1:]!r})
import xtc.ops as O
from xtc_targets.npu import NpuDevice
with NpuDevice() as device:
    x = O.tensor((2, 2), name="X", device=device)
    with O.graph(name="square") as gb:
        O.matmul(x, x, name="Y", device=device)
    with xtc.compile(gb) as module:
        y = module(device.array(np.array([[1, 2], [3, 4]], np.float32)))
        print(y, y.numpy().tolist())
    print(device, *[str(status) for status in xtc.devices() if status.target == "npu"])
"""
    printed = python(program, tmp_path)
    assert "check C: all 32 elements agree" in printed
    assert "<device array 2x2xfloat32 on npu0> [[7.0, 10.0], [15.0, 22.0]]" in printed
    assert "<npu0, open> npu: ready" in printed
    sources = [*(tmp_path / "targets" / "npu").rglob("*.[ch]")]
    assert len(sources) > 3
    assert not any("null" in path.name or "null" in path.read_text() for path in sources)


def test_every_error_has_its_row() -> None:
    page = (ROOT / "docs" / "errors.md").read_text()
    classes = [name for name, value in vars(errors).items() if isinstance(value, type)]
    family = [name for name in classes if issubclass(getattr(errors, name), errors.XtcError)]
    assert len(family) > 5
    assert [name for name in family if f"`{name}`" not in page] == []


def test_every_knob_that_a_page_names_exists() -> None:
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    named = {name for page in pages for name in re.findall(r"\bXTC_[A-Z_]+", page.read_text())}
    assert named <= set(KNOBS)


SHOWN = "a\n<!-- shows: xtc-opt {file}{lines} -->\n```mlir\nold\n```\nb\n"


@pytest.mark.slow
def test_blocks_are_updated(tmp_path: Path) -> None:
    (tmp_path / "m.mlir").write_text("func.func private @f()\nfunc.func private @g()\n")
    text = SHOWN.format(file="m.mlir", lines=" | sed -n 2,2p")
    assert renewed(text, tmp_path) == text.replace("old", "  func.func private @f()")
    page = tmp_path / "README.md"
    page.write_text(SHOWN.format(file="m.mlir", lines=""))
    assert stale_documents(tmp_path) == [page]
    assert renew_documents(tmp_path) == [page]
    assert page.read_text().count("func.func private") == 2
    assert stale_documents(tmp_path) == []


@pytest.mark.slow
def test_lines_are_selected_by_patterns(tmp_path: Path) -> None:
    (tmp_path / "m.mlir").write_text("func.func private @f()\nfunc.func private @g()\n")
    text = SHOWN.format(file="m.mlir", lines=" | sed -n '/^  func.*@g/,/^}/p'")
    assert renewed(text, tmp_path) == text.replace("old", "  func.func private @g()\n}")
    with pytest.raises(ValueError, match="no line matches '@h'"):
        renewed(SHOWN.format(file="m.mlir", lines=" | sed -n '/@h/,/}/p'"), tmp_path)


def test_a_block_without_a_command_is_unchanged(tmp_path: Path) -> None:
    text = "<!-- a comment -->\n```mlir\nmodule\n```\n"
    assert renewed(text, tmp_path) == text


def test_a_command_that_fails_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(errors.UserError):
        renewed(SHOWN.format(file="gone.mlir", lines=""), tmp_path)
    assert opt.run is not None
