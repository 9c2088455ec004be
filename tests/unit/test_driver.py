# SPDX-License-Identifier: Apache-2.0
"""Modules from graph to close: compile, save, load, close, and no leaks."""

from __future__ import annotations

import ctypes
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

import xtc
import xtc.ops as O
from xtc.core.errors import (
    ArtifactError,
    DeviceNotFound,
    ToolError,
    UserError,
)
from xtc.driver import Compilation, prepare
from xtc.graph.graph import Graph
from xtc.interfaces.artifact import FORMAT, MANIFEST_FILE

AARCH64 = "aarch64-unknown-linux-gnu"
ELF_AARCH64 = 183  # EM_AARCH64, at offset 18 of the file


def matmul_graph(rows: int | str = 3) -> Graph:
    a, b = O.tensor((rows, 4), "int32", name="A"), O.tensor((4, 2), "int32", name="B")
    with O.graph(name="product") as gb:
        O.matmul(a, b, name="C")
    return gb.graph


A = np.arange(12, dtype=np.int32).reshape(3, 4)
B = np.arange(8, dtype=np.int32).reshape(4, 2)


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The artifact of `product`."""
    folder = tmp_path_factory.mktemp("saved") / "product"
    with xtc.compile(matmul_graph()) as module:
        module.save(folder)
    return folder


@pytest.fixture
def copy(saved: Path, tmp_path: Path) -> Path:
    """A private copy of an artifact, to be damaged."""
    folder = tmp_path / "copy"
    folder.mkdir()
    for file in saved.iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    return folder


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which temporary files are made."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def module_folders(temporary: Path) -> list[Path]:
    """The existing folders of modules."""
    return list(temporary.rglob("module-*"))


def mapped(name: str) -> list[str]:
    """Files of that name that are mapped into this process."""
    return [m.path for m in psutil.Process().memory_maps() if m.path.endswith(name)]


class TestCompile:
    @pytest.mark.slow
    def test_compile_takes_a_graph_or_a_builder(self) -> None:
        a = O.tensor((2,), name="A")
        with O.graph(name="positive") as gb:
            O.relu(a)
        for graph in (gb, gb.graph):
            with xtc.compile(graph, in_memory=True) as module:
                assert module.graph is gb.graph
        for wrong in (a, "positive", None, gb.graph.nodes[0]):
            with pytest.raises(UserError, match=r"xtc\.compile takes a graph, not"):
                xtc.compile(wrong)  # type: ignore[call-overload]

    @pytest.mark.parametrize("target", ["hots", "", "../host", "null0"])
    def test_an_unknown_target_is_refused(self, target: str) -> None:
        with pytest.raises(UserError, match=f"there is no target '{target}'"):
            xtc.compile(matmul_graph(), target=target)

    def test_tensors_cannot_be_placed_on_the_host_by_name(self) -> None:
        x = O.tensor((2,), name="X", device="host0")
        with O.graph(name="g") as gb:
            O.relu(x)
        with pytest.raises(UserError, match="host0 is not an accelerator: nothing can be placed"):
            xtc.compile(gb.graph)

    def test_an_invalid_target_is_refused(self) -> None:
        with pytest.raises(UserError, match="device=5 is not a device"):
            xtc.compile(matmul_graph(), target=5)

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"cpus": "x"}, "target 'host' has no option 'cpus'"),
            ({"opt_level": 4}, "opt_level=4 is not 0, 1, 2 or 3"),
            ({"opt_level": "3"}, "option 'opt_level' of target 'host' cannot be '3'"),
            ({"cpu": 5}, "option 'cpu' of target 'host' cannot be 5"),
            ({"cpu": "pentium9"}, "pentium9"),
            ({"triple": "z81-linux"}, "z81"),
        ],
    )
    def test_invalid_options_are_refused(self, options: dict[str, Any], message: str) -> None:
        with pytest.raises(UserError, match=message):
            xtc.compile(matmul_graph(), **options)

    @pytest.mark.slow
    def test_every_optimization_level_is_correct(self) -> None:
        for level in range(4):
            with xtc.compile(matmul_graph(), opt_level=level, in_memory=True) as module:
                np.testing.assert_array_equal(module(A, B), A @ B)

    def test_a_symbolic_dimension_needs_a_size(self) -> None:
        with pytest.raises(UserError, match="has the symbolic dimension 'N'"):
            xtc.compile(matmul_graph("N"))
        with xtc.compile(matmul_graph("N"), dims={"N": 3}, in_memory=True) as module:
            np.testing.assert_array_equal(module(A, B), A @ B)
            with pytest.raises(UserError, match=r"'A' has shape \(3, 4\), not \(2, 4\)"):
                module(A[:2], B)

    @pytest.mark.parametrize("dims", [{"M": 3}, {"N": 0}, {"N": -1}, {"N": 2.5}, {"N": "3"}])
    def test_invalid_sizes_are_refused(self, dims: dict[str, Any]) -> None:
        with pytest.raises(UserError):
            xtc.compile(matmul_graph("N"), dims=dims)

    def test_times_are_reported_and_kept(self) -> None:
        with xtc.compile(matmul_graph(), in_memory=True, time_passes=True) as module:
            seconds = dict(module.compile_seconds)
            assert {"emit", "bufferized", "lowered", "code"} < set(seconds)
            assert "bufferized/canonicalize" in seconds
            module.ir("lowered")
            assert module.compile_seconds == seconds

    @pytest.mark.slow
    def test_ir_is_dumped_after_every_pass(self, tmp_path: Path) -> None:
        with xtc.compile(matmul_graph(), in_memory=True, dump_dir=tmp_path / "ir") as module:
            names = sorted(file.name for file in (tmp_path / "ir").iterdir())
            assert names[0].startswith("01-")
            module.ir("lowered")
        assert sorted(file.name for file in (tmp_path / "ir").iterdir()) == names

    def test_an_unknown_stage_is_refused(self) -> None:
        with pytest.raises(UserError, match="there is no stage 'lowerd'") as failure:
            prepare(matmul_graph()).stage_text("lowerd")
        assert failure.value.hints == ("did you mean 'lowered'?",)

    def test_a_graph_without_operations_has_no_rate(self) -> None:
        x = O.tensor((4, 4), name="X")
        with O.graph(name="turn") as gb:
            O.transpose(x)
        with xtc.compile(gb.graph, in_memory=True) as module:
            measured = module.measure(repeat=2)
        assert (measured.gflops, measured.fraction_of_peak) == (None, None)


class TestFailure:
    @pytest.mark.slow
    def test_a_failing_linker_leaves_no_files(
        self, temporary: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("XTC_CC", "false")
        before = device_number()
        with pytest.raises(ToolError, match=r"linking module\.so failed"):
            xtc.compile(matmul_graph())
        assert module_folders(temporary) == []
        assert device_number() == before


def device_number() -> int:
    """The number of the next runtime of the host."""
    with xtc.compile(matmul_graph(), in_memory=True) as module:
        return module.runtime.device_id


class TestModule:
    def test_a_module_describes_itself(self) -> None:
        with xtc.compile(matmul_graph(), in_memory=True) as module:
            number = module.runtime.device_id
            assert repr(module) == (
                f"<xtc.Module product(A: 3x4xint32, B: 4x2xint32, C: 3x2xint32) on host{number}>"
            )
            assert module.name == "product"

    @pytest.mark.parametrize("in_memory", [False, True])
    @pytest.mark.slow
    def test_a_module_may_be_closed_twice_and_then_refuses_calls(self, in_memory: bool) -> None:
        module = xtc.compile(matmul_graph(), in_memory=in_memory)
        np.testing.assert_array_equal(module(A, B), A @ B)
        module.close()
        module.close()
        for use in (lambda: module(A, B), module.check, module.measure, lambda: module("junk")):
            with pytest.raises(UserError, match="module 'product' is closed"):
                use()
        assert "linalg.matmul" in module.ir()

    def test_a_module_in_memory_has_no_files(self, tmp_path: Path) -> None:
        with (
            xtc.compile(matmul_graph(), in_memory=True) as module,
            pytest.raises(UserError, match="is in memory only"),
        ):
            module.save(tmp_path / "saved")
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.slow
    def test_closed_modules_leak_nothing(self, temporary: Path) -> None:
        def use() -> None:
            with xtc.compile(matmul_graph()) as module:
                assert module(A, B).shape == (3, 2)
                assert mapped("module.so")
                assert len(module_folders(temporary)) == 1

        use()
        process = psutil.Process()
        descriptors, threads = process.num_fds(), process.num_threads()
        for _ in range(3):
            use()
        assert (process.num_fds(), process.num_threads()) == (descriptors, threads)
        assert module_folders(temporary) == []
        assert mapped("module.so") == []

    @pytest.mark.slow
    def test_device_numbers_are_released(self) -> None:
        assert device_number() == device_number()


class TestSave:
    @pytest.mark.slow
    def test_a_saved_module_is_loaded(self, saved: Path, temporary: Path) -> None:
        with xtc.load(saved) as module:
            np.testing.assert_array_equal(module(A, B=B), A @ B)
            assert module.compile_seconds == {}
            for use in (lambda: module.graph, module.ir, module.check):
                with pytest.raises(UserError, match="was loaded from files"):
                    use()
        assert module_folders(temporary) == []

    def test_an_existing_folder_is_refused(self, saved: Path, tmp_path: Path) -> None:
        with xtc.load(saved) as module:
            with pytest.raises(UserError, match="exists"):
                module.save(tmp_path)
            with pytest.raises(UserError, match="cannot create the folder"):
                module.save(tmp_path / "no" / "where")
            module.save(tmp_path / "again")
        assert [path.name for path in tmp_path.iterdir()] == ["again"]
        with xtc.load(tmp_path / "again") as module:
            np.testing.assert_array_equal(module(A, B), A @ B)

    def test_a_failed_save_leaves_no_files(
        self, saved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def full(*_: object, **__: object) -> None:
            raise OSError("no space left on device")

        with xtc.load(saved) as module:
            monkeypatch.setattr("shutil.copytree", full)
            with pytest.raises(OSError, match="no space left"):
                module.save(tmp_path / "copy")
        assert list(tmp_path.iterdir()) == []

    def test_a_flipped_bit_is_detected_before_the_library_is_loaded(
        self, copy: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        library = copy / "module.so"
        content = bytearray(library.read_bytes())
        content[len(content) // 2] ^= 1
        library.write_bytes(content)
        monkeypatch.setattr(ctypes, "CDLL", lambda *_: pytest.fail("it was loaded"))
        with pytest.raises(ArtifactError, match=r"file 'module\.so' does not match the manifest"):
            xtc.load(copy)

    def test_a_missing_or_truncated_file_is_refused(self, copy: Path) -> None:
        library = copy / "module.so"
        library.write_bytes(library.read_bytes()[:-1])
        with pytest.raises(ArtifactError, match="does not match the manifest"):
            xtc.load(copy)
        library.unlink()
        with pytest.raises(ArtifactError, match="does not match the manifest"):
            xtc.load(copy)

    def test_a_folder_without_an_artifact_is_refused(self, tmp_path: Path) -> None:
        for folder in (tmp_path, tmp_path / "nowhere"):
            with pytest.raises(ArtifactError, match="no artifact here"):
                xtc.load(folder)

    @pytest.mark.parametrize(
        ("old", "new"),
        [
            ('"entry": "product"', '"entry": "other"'),
            ('"entry": "product"', '"entry": 5'),
            ('"target": "host"', '"target": "null"'),
            ('"module.so"', '"../module.so"'),
            (f'"format": {FORMAT}', f'"format": {FORMAT + 1}'),
        ],
    )
    def test_a_contradictory_manifest_is_refused(self, copy: Path, old: str, new: str) -> None:
        path = copy / MANIFEST_FILE
        assert old in path.read_text()
        path.write_text(path.read_text().replace(old, new))
        with pytest.raises(ArtifactError):
            xtc.load(copy)

    def test_an_unknown_target_is_named(self, copy: Path) -> None:
        path = copy / MANIFEST_FILE
        path.write_text(path.read_text().replace('"target": "host"', '"target": "os.system"'))
        with pytest.raises(UserError, match=r"there is no target 'os\.system'"):
            xtc.load(copy)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An artifact for AArch64."""
    x = O.tensor((2, 4), name="X")
    w = O.tensor((4, 4), name="W", const=np.eye(4, dtype=np.float32))
    with O.graph(name="scale") as gb:
        O.matmul(x, w)
    folder = tmp_path_factory.mktemp("aarch64")
    artifact = prepare(gb.graph, triple=AARCH64).build(folder)
    assert set(artifact.manifest.files) == {"module.o", "constants.o"}
    return folder


class TestOtherMachines:
    @pytest.mark.slow
    def test_objects_are_not_linked(self, built: Path) -> None:
        assert {file.name for file in built.iterdir()} == {
            "module.o",
            "constants.o",
            MANIFEST_FILE,
        }
        for name in ("module.o", "constants.o"):
            header = (built / name).read_bytes()[:20]
            assert header[:4] == b"\x7fELF"
            assert int.from_bytes(header[18:20], "little") == ELF_AARCH64

    def test_loading_explains_the_refusal(self, built: Path) -> None:
        with pytest.raises(ArtifactError, match=f"code for {AARCH64} cannot run") as failure:
            xtc.load(built)
        assert "kept as object files, not linked" in str(failure.value)

    def test_assembly_is_printed(self) -> None:
        text = prepare(matmul_graph(), triple=AARCH64).stage_text("code")
        assert "product:" in text
        assert "\tret\n" in text

    def test_running_is_refused_before_anything_is_compiled(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(Compilation, "build", lambda *_: pytest.fail("it was built"))
        with pytest.raises(DeviceNotFound, match=f"code for {AARCH64} cannot run"):
            xtc.compile(matmul_graph(), triple=AARCH64)
