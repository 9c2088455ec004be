# SPDX-License-Identifier: Apache-2.0
"""The handwritten digits bundled with scikit-learn, in a fixed split, and the stored weights."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from xtc.core.errors import UserError

Floats = npt.NDArray[np.floating[Any]]
Labels = npt.NDArray[np.int64]

SIDE = 8
CLASSES = 10
BRIGHTEST = 16  # scikit-learn stores pixels as 0..16
TEST_IMAGES_PER_DIGIT = 50
SPLIT_SEED = 2026
WEIGHTS_FILE = Path(__file__).with_name("weights.npz")


@dataclass(frozen=True)
class Digits:
    """Images of shape (n, 8, 8, 1), float32 in 0..1, and their labels of shape (n,)."""

    images: npt.NDArray[np.float32]
    labels: Labels

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def flat(self) -> npt.NDArray[np.float32]:
        """The same images as rows, of shape (n, 64)."""
        return self.images.reshape(len(self), SIDE * SIDE)

    def subset(self, indices: npt.NDArray[np.int64]) -> Digits:
        """The images and labels at `indices`, in that order."""
        return Digits(self.images[indices], self.labels[indices])


def load_digits() -> Digits:
    """All 1797 images. Raises UserError if scikit-learn is not installed."""
    try:
        from sklearn import datasets
    except ImportError as error:
        raise UserError(
            "the digits come with scikit-learn, which is not installed",
            notes=[str(error)],
            hints=["pip install scikit-learn"],
        ) from error
    bunch = datasets.load_digits()
    images = (bunch.images / BRIGHTEST).astype(np.float32)[..., np.newaxis]
    return Digits(images, bunch.target.astype(np.int64))


def split_indices(labels: Labels) -> tuple[Labels, Labels]:
    """Indices of the training and test images; 50 test images of every digit.

    RandomState draws the order, because its stream is the same in all versions of NumPy: no machine
    ever trains on test images.
    """
    order = np.random.RandomState(SPLIT_SEED).permutation(len(labels))
    digits = [order[labels[order] == digit] for digit in range(CLASSES)]
    is_test = np.zeros(len(labels), dtype=bool)
    is_test[np.concatenate([indices[:TEST_IMAGES_PER_DIGIT] for indices in digits])] = True
    return order[~is_test[order]], order[is_test[order]]


def load_split() -> tuple[Digits, Digits]:
    """The 1297 training images and the 500 test images, each shuffled."""
    digits = load_digits()
    train, test = split_indices(digits.labels)
    return digits.subset(train), digits.subset(test)


def save_weights(models: Mapping[str, Mapping[str, Floats]], path: Path = WEIGHTS_FILE) -> None:
    """Store {model: {name: array}} as float32, without pickling; replaces `path` atomically."""
    arrays: dict[str, Any] = {
        f"{model}.{name}": array.astype(np.float32)
        for model, weights in models.items()
        for name, array in weights.items()
    }
    unfinished = path.with_suffix(".unfinished.npz")
    np.savez_compressed(unfinished, **arrays)
    unfinished.replace(path)


def load_weights(model: str, path: Path = WEIGHTS_FILE) -> dict[str, npt.NDArray[np.float32]]:
    """The stored weights of `model` by name. Raises UserError for a missing or damaged file."""
    prefix = f"{model}."
    try:
        with np.load(path, allow_pickle=False) as stored:
            names = [name for name in stored.files if name.startswith(prefix)]
            weights = {name.removeprefix(prefix): stored[name] for name in names}
    except (OSError, ValueError, EOFError, zipfile.BadZipFile, zipfile.LargeZipFile) as error:
        raise _weights_error("the stored weights cannot be read", path, str(error)) from error
    if not weights:
        raise _weights_error(f"there are no weights of a model named '{model}'", path)
    return weights


def _weights_error(what: str, path: Path, *notes: str) -> UserError:
    return UserError(
        what, where=path, notes=notes, hints=["train again: python -m examples.digits.train"]
    )
