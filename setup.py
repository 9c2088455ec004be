# SPDX-License-Identifier: Apache-2.0
"""Map the repository's folders to import names; all other metadata is in pyproject.toml."""

from setuptools import find_packages, setup

FOLDER_OF = {"xtc": "xtc", "xtc_passes": "mlir_passes", "xtc_targets": "targets"}

setup(
    package_dir=FOLDER_OF,
    packages=[
        package
        for name, folder in FOLDER_OF.items()
        for package in [name, *(f"{name}.{sub}" for sub in find_packages(folder))]
    ],
)
