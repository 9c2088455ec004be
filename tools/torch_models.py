# SPDX-License-Identifier: Apache-2.0
"""Compiles standard architectures of PyTorch, with random weights, and compares the results.

    python tools/torch_models.py [--only TEXT] [--reference] [--export] [--json FILE]

Architectures are built from the configurations of the package transformers, and of torchvision and
timm if they are installed, at small sizes. A model is "right" if compiled code agrees with
PyTorch to 1e-4, relative to the largest element. `--reference` runs the imported graph by
its NumPy reference and compiles nothing; `--export` uses torch.export instead of
torch.compile.
"""

from __future__ import annotations

import argparse
import collections
import importlib
import json
import re
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from tools.torch_architectures import TIMM, TORCHVISION, TRANSFORMERS, Inputs

TOLERANCE = 1e-4
KINDS = ("right", "refused", "wrong", "crash")
Example = tuple[torch.nn.Module, Inputs]


@dataclass(frozen=True)
class Outcome:
    """The outcome of an architecture: status and message."""

    name: str
    kind: str
    seconds: float
    text: str = ""


def examples() -> dict[str, Callable[[], Example]]:
    """The available architectures of the installed packages, by name."""
    found: dict[str, Callable[[], Example]] = {}
    for name, (config, inputs) in TRANSFORMERS.items():
        found[f"transformers.{name}"] = _transformer(name, config, inputs)
    for package, sizes in (("torchvision", TORCHVISION), ("timm", TIMM)):
        if _importable(package):
            for name, size in sizes.items():
                found[f"{package}.{name}"] = _network(package, name, size)
    return found


def _importable(package: str) -> bool:
    try:
        importlib.import_module(package)
    except (ImportError, RuntimeError):  # RuntimeError: its compiled part is for another PyTorch
        return False
    return True


def _transformer(
    name: str, values: dict[str, Any], inputs: Callable[..., Inputs]
) -> Callable[[], Example]:
    def build() -> Example:
        import transformers

        created = getattr(transformers, name)
        config = created.config_class(**values)
        config.use_cache = False
        config._experts_implementation = "batched_mm"
        return created(config), inputs()

    return build


def _network(package: str, name: str, size: int) -> Callable[[], Example]:
    def build() -> Example:
        x = {"x": torch.randn(1, 3, size, size)}
        if package == "timm":
            import timm

            return timm.create_model(name), x
        import torchvision

        return torchvision.models.get_model(name, weights=None), x

    return build


def tensors_of(result: Any) -> list[torch.Tensor]:
    """All tensors in the result of a model."""
    if isinstance(result, torch.Tensor):
        return [result]
    if isinstance(result, Mapping):
        return [x for value in result.values() for x in tensors_of(value)]
    if isinstance(result, Sequence) and not isinstance(result, str):
        return [x for value in result for x in tensors_of(value)]
    return []


class Plain(torch.nn.Module):  # type: ignore[misc]  # torch is not seen
    """A model that takes tensors by position and returns a tuple of tensors."""

    def __init__(self, model: torch.nn.Module, names: Sequence[str]) -> None:
        super().__init__()
        self.model = model
        self.names = names

    def forward(self, *tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """The tensors of the model's results."""
        found = self.model(**dict(zip(self.names, tensors, strict=True)))
        return tuple(tensors_of(found))


def _run(build: Callable[[], Example], *, export: bool, reference: bool) -> str:
    """The largest relative error. Raises AssertionError if it is too large."""
    torch.manual_seed(0)
    torch._dynamo.reset()
    model, inputs = build()
    model = model.eval()
    first = next(iter(inputs)) if "x" not in inputs else None
    names = list(inputs)
    values = [inputs[name] for name in names]
    with torch.no_grad():
        if first is None:
            plain: torch.nn.Module = model
            wanted = tensors_of(plain(*values))
        else:
            plain = Plain(model, names)
            wanted = list(plain(*values))
        found = _outputs(plain, values, export=export, reference=reference)
    if len(found) != len(wanted):
        raise AssertionError(f"{len(found)} outputs, not {len(wanted)}")
    return f"largest relative error {max(map(_error, found, wanted)):.1e}"


def _error(found: torch.Tensor, wanted: torch.Tensor) -> float:
    if found.shape != wanted.shape:
        raise AssertionError(f"shape {found.shape}, not {wanted.shape}")
    scale = max(float(wanted.double().abs().max()), 1e-30)
    error = float((found.double() - wanted.double()).abs().max()) / scale
    if not error <= TOLERANCE:
        raise AssertionError(f"relative error {error:.1e}")
    return error


def _outputs(
    model: torch.nn.Module, values: list[torch.Tensor], *, export: bool, reference: bool
) -> list[torch.Tensor]:
    import xtc
    from xtc.importers.torch.backend import xtc_backend

    if not export and not reference:
        return tensors_of(torch.compile(model, backend=xtc_backend)(*values))
    graph: Any = xtc.from_torch(torch.export.export(model, tuple(values)))  # static sizes
    names = [str(tensor.name) for tensor in graph.inputs]
    arrays = dict(zip(names, [value.numpy() for value in values], strict=True))
    if reference:
        results = graph.evaluate(**arrays)
    else:
        with xtc.compile(graph) as module:
            results = module(**arrays)
    if isinstance(results, dict):
        results = tuple(results.values())
    return [torch.from_numpy(x) for x in (results if isinstance(results, tuple) else [results])]


def outcome(name: str, build: Callable[[], Example], **how: bool) -> Outcome:
    """Run one architecture in this process."""
    from xtc.core.errors import UserError

    start = time.monotonic()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            kind, text = "right", _run(build, **how)
    except AssertionError as error:
        kind, text = "wrong", str(error)
    except Exception as error:
        cause = _user_error(error)
        kind = "refused" if isinstance(cause, UserError) else "crash"
        text = str(cause or "".join(traceback.format_exception(error)[-6:]))
    return Outcome(name, kind, time.monotonic() - start, text[-3000:])


def _user_error(error: BaseException | None) -> BaseException | None:
    from xtc.core.errors import UserError

    while error is not None and not isinstance(error, UserError):
        error = error.__cause__ or getattr(error, "inner_exception", None) or error.__context__
    return error


def outcomes(only: str, **how: bool) -> Iterator[Outcome]:
    """Run all architectures whose names match."""
    for name, build in examples().items():
        if re.search(only, name):
            yield outcome(name, build, **how)


def main() -> int:
    """Entry point."""
    parser = argparse.ArgumentParser(description="Compile standard architectures of PyTorch.")
    parser.add_argument("--only", default="", help="regular expression of names")
    parser.add_argument("--export", action="store_true", help="by torch.export and from_torch")
    parser.add_argument("--reference", action="store_true", help="by NumPy, compiling nothing")
    parser.add_argument("--json", type=Path, help="file for all outcomes")
    args = parser.parse_args()
    counts: collections.Counter[str] = collections.Counter()
    results = []
    for result in outcomes(args.only, export=args.export, reference=args.reference):
        counts[result.kind] += 1
        results.append(result)
        sys.stdout.write(f"{result.kind} {result.name} {result.seconds:.1f} s: {result.text}\n")
        sys.stdout.flush()
    if args.json:
        args.json.write_text(json.dumps([vars(result) for result in results], indent=1))
    sys.stdout.write(", ".join(f"{kind} {counts[kind]}" for kind in KINDS) + "\n")
    return 1 if counts["wrong"] or counts["crash"] else 0


if __name__ == "__main__":
    sys.exit(main())
