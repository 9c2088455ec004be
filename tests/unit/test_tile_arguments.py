# SPDX-License-Identifier: Apache-2.0
"""Error messages of a kernel for wrong calls, objects and queries."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.unit.tile_kernels import VectorAdd
from xtc import tile
from xtc.core import knobs
from xtc.core.errors import ToolError, UserError

X = np.ones(8, np.float32)
KERNEL = "the kernel is VectorAdd(n: int32, x_ptr: ~float32, y_ptr: ~float32, z_ptr: ~float32)"


def _message(call: Callable[[], Any]) -> list[str]:
    with pytest.raises(UserError) as caught:
        call()
    return str(caught.value).splitlines()


def _readonly() -> Any:
    array = X.copy()
    array.setflags(write=False)
    return array


@pytest.mark.parametrize(
    ("arguments", "named", "what", "hint"),
    [
        ((8, X, X), {}, "VectorAdd needs 'z_ptr'", "an array, as z_ptr=numpy.zeros(...)"),
        ((), {}, "VectorAdd needs 'n'", "a number, as n=1"),
        (
            (8, X, X, X, 1),
            {},
            "VectorAdd takes 4 arguments, not 5",
            "tuning parameters belong to the object: Kernel(block=64)(...)",
        ),
        (
            (8, X, X),
            {"z_pt": X},
            "VectorAdd does not take an argument 'z_pt'",
            "did you mean 'z_ptr'?",
        ),
        ((8, X, X), {"n": 8}, "VectorAdd gets 'n' twice", "by its position, or by its name"),
        (
            (8, X.astype(np.float64), X, X),
            {},
            "'x_ptr' has elements of float64, and the kernel takes float32",
            "pass an array of float32, or annotate the parameter otherwise",
        ),
        (
            (8, np.ones((8, 2), np.float32)[:, 0], X, X),
            {},
            "'x_ptr' is not contiguous, and a pointer has no strides",
            "pass numpy.ascontiguousarray(x_ptr), or a copy of the slice",
        ),
        (
            (8, X, None, X),
            {},
            "'y_ptr' is an array, not None",
            "NumPy arrays, device arrays, and tensors of libraries that support DLPack",
        ),
        ((1.5, X, X, X), {}, "'n' is an int32, not 1.5", "pass int(x)"),
        ((True, X, X, X), {}, "'n' is an int32, not True", "pass a number"),
        (
            (X, X, X, X),
            {},
            "'n' is an int32, not an array of float32 and shape [8]",
            "annotate the parameter ~float32, ...",
        ),
        (
            (2**40, X, X, X),
            {},
            "'n' = 1099511627776 does not fit in int32",
            "it holds numbers from -2147483648 to 2147483647",
        ),
    ],
)
def test_a_wrong_call_is_located(
    arguments: tuple[Any, ...], named: dict[str, Any], what: str, hint: str
) -> None:
    first, *rest = _message(lambda: VectorAdd(8)(*arguments, **named))
    assert re.fullmatch(rf"\S*test_tile_arguments\.py:\d+: {re.escape(what)}", first)
    assert rest == [f"  note: {KERNEL}", f"  hint: {hint}"]


@pytest.mark.slow
def test_a_read_only_result_is_refused() -> None:
    assert _message(lambda: VectorAdd(8)(8, X, X, _readonly())) == [
        "VectorAdd writes an array that is read-only",
        "  hint: pass a copy: array.copy()",
    ]


def test_wrong_objects_are_refused() -> None:
    add: Any = VectorAdd
    first, hint = _message(lambda: add(blok=3).compile(8, None, None, None))
    assert first.endswith("VectorAdd.__init__: got an unexpected keyword argument 'blok'")
    assert hint == "  hint: did you mean 'block'?"
    first, hint = _message(lambda: add(1, 2).compile(8, None, None, None))
    assert first.endswith("VectorAdd.__init__: too many positional arguments")
    assert hint == "  hint: it takes block"
    fixed: Any = type("Fixed", (VectorAdd,), {"debug_schedule": {"blok": 3}})
    _, note, hint = _message(lambda: fixed().compile(8, None, None, None))
    assert (note, hint) == ("  note: tuned: blok=3", "  hint: did you mean 'block'?")
    wrong: Any = type("Wrong", (VectorAdd,), {"debug_schedule": 3})
    assert _message(lambda: wrong().compile(8, None, None, None)) == [
        "Wrong.debug_schedule is 3",
        "  hint: dict(block=64): the tuning parameters by name",
    ]


def test_invalid_tuning_parameters_are_refused() -> None:
    assert _message(lambda: tile.autotune("block", 3)) == [  # type: ignore[arg-type]
        "autotune('block', 3) takes names and a list of values",
        '  hint: autotune("block_m, block_n", [(64, 64), (128, 64)])',
    ]
    bad: Any = tile.autotune("block", [0, -1])(type("Bad", (VectorAdd,), {}))
    first, *notes = _message(lambda: bad().compile(8, None, None, None))
    assert first.endswith("no schedule of Bad compiles")
    assert notes[:2] == [
        "  note: block=0: int32 division by 0",
        "  note: block=-1: load_global: -1 is not a size: an integer of 1 or more",
    ]


@pytest.mark.slow
def test_machine_code_needs_a_toolkit(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No toolkit is installed here; PTX needs none."""
    monkeypatch.setenv(knobs.CUDA_ROOT.name, str(tmp_path))
    kernel: Any = VectorAdd(8).compile(8, None, None, None)
    assert ".visible .entry" in kernel.ptx
    for question in ("sass", "resources"):
        with pytest.raises(ToolError) as caught:
            getattr(kernel, question)
        first, hint = str(caught.value).splitlines()
        assert re.fullmatch(
            rf"{knobs.CUDA_ROOT.name} is \S+, which does not contain 'bin/\w+'", first
        )
        assert hint.startswith("  hint: unset it, or name the folder of a CUDA toolkit: ")


@pytest.mark.slow
def test_invalid_queries_are_refused() -> None:
    kernel: Any = VectorAdd(8).compile(8, None, None, None)
    assert _message(lambda: kernel.ir("sched")) == [
        "there is no stage 'sched'",
        "  hint: did you mean 'scheduled'?",
    ]
    assert _message(lambda: kernel.ir(3))[0] == "there is no stage '3'"
    assert _message(lambda: tile.use_device(3)) == [  # type: ignore[arg-type]
        "use_device(3) takes a device",
        "  hint: a device of a target, or None",
    ]
    assert _message(lambda: tile.option.bench_repeat(0)) == [
        "bench_repeat(0)",
        "  hint: a whole number, 1 or more",
    ]
