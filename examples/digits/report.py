# SPDX-License-Identifier: Apache-2.0
"""The output of the demo: a table of outcomes, and digits drawn as text."""

from __future__ import annotations

from collections.abc import Sequence

from rich.box import SIMPLE_HEAVY
from rich.columns import Columns
from rich.table import Table
from rich.text import Text

from examples.digits.data import Digits
from examples.digits.models import Images
from examples.digits.run import Outcome

NAMES = ("model", "target")
FIGURES = ("accuracy", "agrees", "max diff", "batch time", "compile", "batch bytes")
CAPTION = (
    "agrees: same digit as NumPy; max diff: largest difference of a probability; "
    "*: modelled by a simulator; upmem: in int8"
)
SHADES = " .:-=+*#%@"


def table(outcomes: Sequence[Outcome], batch: int) -> Table:
    """A row per model and target."""
    title = f"Handwritten digits, batches of {batch}"
    result = Table(title=title, caption=CAPTION, box=SIMPLE_HEAVY, padding=0)
    for name in NAMES:
        result.add_column(name, no_wrap=True)
    for figure in FIGURES:
        result.add_column(figure.replace(" ", "\n"), justify="right", no_wrap=True)
    for outcome in outcomes:
        result.add_row(*row(outcome))
    return result


def row(outcome: Outcome) -> tuple[str, ...]:
    """The cells of one outcome."""
    moved = outcome.bytes_per_batch
    return (
        outcome.model,
        outcome.target,
        f"{outcome.accuracy:.2%}",
        f"{outcome.agreement:.2%}",
        f"{outcome.max_difference:.1e}",
        batch_time(outcome),
        duration(outcome.compile_seconds),
        "-" if moved is None else f"{moved:,}",
    )


def batch_time(outcome: Outcome) -> str:
    """The time of one batch: measured, or modelled by a simulator."""
    if outcome.modelled_batch_seconds is not None:
        return f"{duration(outcome.modelled_batch_seconds)}*"
    return "-" if outcome.batch_seconds is None else duration(outcome.batch_seconds)


def duration(seconds: float) -> str:
    """Three significant digits with a suitable unit."""
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= 0.9995 * size:  # values that round to 1 unit
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-6:.3g} µs"


def drawing(image: Images) -> str:
    """Draw an image (8, 8, 1) of 0..1 as text, two characters per pixel, since they are tall."""
    levels = (image[..., 0] * (len(SHADES) - 1)).round().astype(int)
    return "\n".join("".join(SHADES[level] * 2 for level in line) for line in levels)


def samples(outcomes: Sequence[Outcome], digits: Digits, count: int = 3) -> Columns:
    """The first `count` images side by side, each above the digits read by models and targets."""
    drawings = []
    for index in range(min(count, len(digits))):
        readings = [_reading(outcome, index) for outcome in outcomes]
        label = f"written: {digits.labels[index]}"
        drawings.append(Text("\n".join([drawing(digits.images[index]), label, *readings])))
    return Columns(drawings, padding=(1, 4))


def _reading(outcome: Outcome, index: int) -> str:
    digit = outcome.predictions[index]
    certainty = outcome.probabilities[index, digit]
    return f"{outcome.model} on {outcome.target}: {digit} ({certainty:.0%})"


def boards(outcomes: Sequence[Outcome]) -> list[str]:
    """One line per program of a board with its sizes and instructions."""
    return [
        f"{outcome.model} on {outcome.target}: {outcome.board.flash:,} bytes of flash, "
        f"{outcome.board.ram:,} bytes of RAM, {outcome.board.instructions:,} instructions an image"
        for outcome in outcomes
        if outcome.board is not None
    ]


def mistakes(outcomes: Sequence[Outcome]) -> list[str]:
    """A line per outcome whose accuracy differs too much from that of the reference."""
    return [
        f"{outcome.model} on {outcome.target} reads {outcome.correct} of {len(outcome.labels)} "
        f"digits, NumPy reads {outcome.reference_correct}"
        for outcome in outcomes
        if abs(outcome.correct - outcome.reference_correct)
        > outcome.tolerance * len(outcome.labels)
    ]
