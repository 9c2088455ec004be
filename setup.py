# SPDX-License-Identifier: Apache-2.0
"""Map the repository's folders to import names, and take in the data that targets declare.

All other metadata is in pyproject.toml.
"""

from pathlib import Path

from setuptools import find_packages, setup

FOLDER_OF = {"xtc": "xtc", "xtc_passes": "mlir_passes", "xtc_targets": "targets"}

EVERYWHERE = ["py.typed", "csrc/**"]
DECLARED = "package-data.txt"  # in a target's folder: a glob per line


def declared(file: Path) -> list[str]:
    """The globs in a target's declaration of its data."""
    return [line.strip() for line in file.read_text().splitlines() if line.strip()]


setup(
    package_dir=FOLDER_OF,
    packages=[
        package
        for name, folder in FOLDER_OF.items()
        for package in [name, *(f"{name}.{sub}" for sub in find_packages(folder))]
    ],
    package_data={
        "": EVERYWHERE,
        **{
            f"xtc_targets.{file.parent.name}": declared(file)
            for file in sorted(Path("targets").glob(f"*/{DECLARED}"))
        },
    },
)
