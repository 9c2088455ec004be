# SPDX-License-Identifier: Apache-2.0
"""Map the repository's folders to import names; all other metadata is in pyproject.toml."""

from pathlib import Path

from setuptools import find_packages, setup

FOLDER_OF = {"xtc": "xtc", "xtc_passes": "mlir_passes", "xtc_targets": "targets"}
DATA_OF_ALL = ["py.typed", "csrc/**"]


def declared_data(target: Path) -> list[str]:
    """The patterns of files that a target's package_data.txt names, one in each line."""
    lines = (line.strip() for line in (target / "package_data.txt").read_text().splitlines())
    return [line for line in lines if line and not line.startswith("#")]


setup(
    package_dir=FOLDER_OF,
    packages=[
        package
        for name, folder in FOLDER_OF.items()
        for package in [name, *(f"{name}.{sub}" for sub in find_packages(folder))]
    ],
    package_data={"": DATA_OF_ALL}
    | {
        f"xtc_targets.{listed.parent.name}": declared_data(listed.parent)
        for listed in Path(FOLDER_OF["xtc_targets"]).glob("*/package_data.txt")
    },
)
