# SPDX-License-Identifier: Apache-2.0
"""The logic of the digits demo: batches, comparison, report, command line; nothing is compiled."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from rich.console import Console

import xtc
from examples.digits import data, demo, demo_targets, models, report, run
from examples.digits.data import Digits
from examples.digits.demo_targets import DemoTarget
from examples.digits.models import DemoModel
from xtc.core.errors import DeviceFault, UserError


def probabilities_of(digits: list[int]) -> Any:
    return np.eye(10, dtype=np.float32)[digits]


def outcome(predicted: list[int], reference: list[int], **changes: Any) -> run.Outcome:
    fields: dict[str, Any] = {
        "model": "mlp",
        "target": "host",
        "labels": np.array([1, 2, 3, 4]),
        "probabilities": probabilities_of(predicted),
        "reference": probabilities_of(reference),
        "compile_seconds": 0.25,
        "batch_seconds": 12.34e-6,
        "bytes_per_batch": None,
    }
    return run.Outcome(**{**fields, **changes})


@pytest.mark.parametrize(("count", "batch"), [(500, 50), (7, 3), (7, 7), (2, 5), (1, 1)])
def test_every_batch_is_full_and_padding_is_dropped(count: int, batch: int) -> None:
    images = np.arange(count * 4, dtype=np.float32).reshape(count, 4) + 1
    sizes: list[int] = []
    done: list[int] = []

    def module(part: Any) -> Any:
        sizes.append(len(part))
        return part * 2

    result = run.run_batches(module, images, batch, done.append)
    batches = -(-count // batch)
    assert sizes == [batch] * batches
    assert done == list(range(1, batches + 1))
    assert len(result.seconds) == batches
    assert np.array_equal(result.probabilities, images * 2)


def test_padding_is_zero() -> None:
    last = list(run.padded_batches(np.ones((4, 8, 8, 1), np.float32), 3))[-1]
    assert last.shape == (3, 8, 8, 1)
    assert last.sum() == 64


def test_an_outcome_counts_correct_digits() -> None:
    result = outcome([1, 2, 3, 9], [1, 2, 8, 9])
    assert (result.correct, result.reference_correct) == (3, 2)
    assert (result.accuracy, result.agreement, result.max_difference) == (0.75, 0.75, 1.0)


def test_only_a_different_accuracy_is_a_mistake() -> None:
    assert report.mistakes([outcome([1, 2, 3, 4], [1, 2, 3, 4])]) == []
    (line,) = report.mistakes([outcome([1, 2, 0, 0], [1, 2, 3, 4])])
    assert line == "mlp on host reads 2 of 4 digits, NumPy reads 4"


def test_nan_results_are_reported() -> None:
    broken = outcome([1, 2, 3, 4], [1, 2, 3, 4], probabilities=np.full((4, 10), np.nan))
    assert report.mistakes([broken])
    assert np.isnan(broken.max_difference)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (2.5, "2.5 s"),
        (0.0123, "12.3 ms"),
        (45.6e-6, "45.6 µs"),
        (0.9997, "1 s"),
        (999e-6, "999 µs"),
    ],
)
def test_duration(seconds: float, text: str) -> None:
    assert report.duration(seconds) == text


def test_a_row_shows_bytes_only_if_data_is_copied() -> None:
    assert report.row(outcome([1, 2, 3, 9], [1, 2, 3, 9])) == (
        "mlp", "host", "75.00%", "100.00%", "0.0e+00", "12.3 µs", "250 ms", "-"
    )  # fmt: skip
    assert report.row(outcome([1] * 4, [1] * 4, bytes_per_batch=14800))[-1] == "14,800"


def test_meaningless_times_are_not_shown() -> None:
    assert report.batch_time(outcome([1], [1], batch_seconds=None)) == "-"
    modelled = outcome([1], [1], batch_seconds=None, modelled_batch_seconds=1e-3)
    assert report.batch_time(modelled) == "1 ms*"


def test_drawing_is_dark_where_the_image_is_bright() -> None:
    image = np.zeros((8, 8, 1), np.float32)
    image[2, 3] = 1
    lines = report.drawing(image).split("\n")
    assert [len(line) for line in lines] == [16] * 8
    assert lines[2] == " " * 6 + "@@" + " " * 8
    assert "".join(lines[:2] + lines[3:]).strip() == ""


class FakeDevice:
    """Counts what a module copies; remembers that it was closed."""

    def __init__(self) -> None:
        self.bytes_moved = 1000
        self.closed = False

    def close(self) -> None:
        self.closed = True


class FakeGraph:
    """Reads in every image the digit that is 16 times its first pixel."""

    def evaluate(self, images: Any) -> Any:
        return probabilities_of((images[:, 0] * 16).astype(int).tolist())


class FakeModule:
    """A compiled module: the graph's result plus `shift`."""

    def __init__(self, graph: FakeGraph, device: FakeDevice | None, shift: int = 0) -> None:
        self.graph, self.device, self.shift = graph, device, shift

    def __call__(self, images: Any) -> Any:
        if self.device is not None:
            self.device.bytes_moved += 10 * len(images)
        return np.roll(self.graph.evaluate(images), self.shift, axis=1)

    def __enter__(self) -> FakeModule:
        return self

    def __exit__(self, *_: object) -> None:
        pass


class FakeDemo:
    """One model, a host and a device, and the digits 0 to 6; `shift` breaks the compiled code."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.devices: list[FakeDevice] = []
        self.shift = 0
        self.fault: Exception | None = None
        images = np.zeros((7, 8, 8, 1), np.float32)
        labels = np.arange(7)
        images[:, 0, 0, 0] = labels / 16
        self.digits = Digits(images, labels)
        fake: Any = lambda *_: FakeGraph()  # noqa: E731
        self.model = DemoModel("fake", fake, fake, lambda digits: digits.flat)
        self.host = DemoTarget("host", lambda: None)
        self.accelerator = DemoTarget(
            "fake-device", self.open_device, {}, lambda device: int(device.bytes_moved)
        )
        targets = {target.label: target for target in (self.host, self.accelerator)}
        monkeypatch.setattr(models, "load_weights", lambda _: {})
        monkeypatch.setattr(demo, "MODELS", {"fake": self.model})
        monkeypatch.setattr(demo, "TARGETS", targets)
        monkeypatch.setattr(data, "load_split", lambda: (self.digits, self.digits))
        monkeypatch.setattr(xtc, "compile", self.compile, raising=False)

    def open_device(self) -> FakeDevice:
        self.devices.append(FakeDevice())
        return self.devices[-1]

    def compile(self, graph: FakeGraph, *, target: Any, dims: dict[str, int]) -> FakeModule:
        if self.fault is not None:
            raise self.fault
        return FakeModule(graph, None if target == "host" else target, self.shift)


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeDemo:
    return FakeDemo(monkeypatch)


def test_demo_prints_every_row_and_closes_devices(
    fake: FakeDemo, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(demo, "Console", lambda **options: Console(width=80, **options))
    assert demo.main(["--batch", "3"]) == 0
    text = capsys.readouterr().out
    words = [line.split() for line in text.splitlines()]
    rows = [row for row in words if row[:1] == ["fake"] and row[1] != "on"]
    assert [row[1:4] for row in rows] == [
        ["host", "100.00%", "100.00%"],
        ["fake-device", "100.00%", "100.00%"],
    ]
    assert [device.closed for device in fake.devices] == [True]


def test_rows_that_cannot_run_are_skipped_and_named(
    fake: FakeDemo, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(demo, "left_out", lambda: {"fake-device": "it was sold"})
    assert demo.main([]) == 0
    assert "no row fake-device: it was sold" in capsys.readouterr().out
    assert fake.devices == []
    assert demo.main(["--targets", "fake-device"]) == 0
    assert len(fake.devices) == 1


def test_bytes_are_counted_per_batch(fake: FakeDemo) -> None:
    there = run.run(fake.model, fake.accelerator, fake.digits, 3, lambda *_: None)
    assert there.bytes_per_batch == 30
    here = run.run(fake.model, fake.host, fake.digits, 3, lambda *_: None)
    assert here.bytes_per_batch is None


def test_wrong_compiled_code_fails_the_demo(
    fake: FakeDemo, capsys: pytest.CaptureFixture[str]
) -> None:
    fake.shift = 1
    assert demo.main(["--targets", "host"]) == 1
    message = capsys.readouterr().err
    assert "fake on host reads 0 of 7 digits, NumPy reads 7" in message
    assert fake.devices == []


def test_a_device_is_closed_when_compilation_fails(
    fake: FakeDemo, capsys: pytest.CaptureFixture[str]
) -> None:
    fake.fault = DeviceFault("kernel 'k' wrote past its buffer")
    assert demo.main(["--targets", "fake-device"]) == 1
    assert "error: kernel 'k' wrote past its buffer" in capsys.readouterr().err
    assert [device.closed for device in fake.devices] == [True]


def test_unknown_names_are_clear_errors(capsys: pytest.CaptureFixture[str]) -> None:
    assert demo.main(["--models", "mpl"]) == 1
    assert "did you mean 'mlp'?" in capsys.readouterr().err
    with pytest.raises(UserError, match="the demo has no 'moon'"):
        demo.chosen(demo_targets.TARGETS, ["moon"])


@pytest.mark.parametrize("batch", ["0", "-1", "many"])
def test_invalid_batch_sizes_are_refused(batch: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        demo.main(["--batch", batch])
    assert "--batch" in capsys.readouterr().err
