# SPDX-License-Identifier: Apache-2.0
"""A profile as a table: the operators of the host and of each device, the slowest first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

from xtc.evaluate.units import seconds_text

if TYPE_CHECKING:
    from xtc.evaluate.profile import Copies, DeviceProfile, OperatorTime, Profile


_HEADINGS = ("time", "share", "GFLOP/s", "of peak", "GB/s", "roofline", "computes")
_CACHED = "cached"
_NAMES = 4
"""The number of model names that fit a row: a fused operator may have dozens."""
_NONE: Mapping[int, float] = MappingProxyType({})


def profile_table(profile: Profile, limit: int | None) -> str:
    """The lines of a profile; `limit` is the largest number of operators for each machine."""
    lines = _device_lines(profile, limit) if profile.devices else _host_lines(profile, limit)
    return "\n".join(lines) + "\n"


def _host_lines(profile: Profile, limit: int | None) -> Iterator[str]:
    threads = "1 thread" if profile.threads == 1 else f"{profile.threads} threads"
    vectors = f", {profile.vector_bits}-bit vectors" if profile.vector_bits else ""
    yield (
        f"profile of {profile.program}: {seconds_text(profile.seconds)} a call, "
        f"the middle half of {profile.repeat}, {threads}{vectors}"
    )
    yield from _rates("measured here", profile.peak_flops, profile.bandwidth, profile.peaks)
    yield _line("operator", *_HEADINGS)
    rates = profile.peak_flops, profile.bandwidth
    yield from _rows(profile.operators, limit, *rates, _CACHED)
    yield _sum(profile.operators, profile.peak_flops)
    yield (
        f"operators are {_percent(profile.operator_seconds, profile.seconds)} of a call; "
        f"recording costs {profile.overhead:.1%}, give or take {profile.overhead_error:.1%}"
    )


def _device_lines(profile: Profile, limit: int | None) -> Iterator[str]:
    calls = "1 call" if profile.repeat == 1 else f"median of {profile.repeat} calls"
    yield f"profile of {profile.program}: {calls}, one command after another"
    for device in profile.devices:
        yield from _lines_of(device, limit)
    if profile.operators:
        yield _line("on the host", *_HEADINGS)
        yield from _rows(profile.operators, limit, 0.0, 0.0)


def _lines_of(device: DeviceProfile, limit: int | None) -> Iterator[str]:
    name = f"{device.name}, modelled" if device.is_modelled else device.name
    yield from _rates(device.name, device.peak_flops, device.bandwidth)
    yield _line(name, *_HEADINGS)
    yield from _rows(device.operators, limit, device.peak_flops, device.bandwidth)
    yield _sum(device.operators, device.peak_flops)
    for copies in device.copies:
        yield _copies(copies)


def _copies(copies: Copies) -> str:
    rate = f"{copies.nbytes / copies.seconds / 1e9:.1f}" if copies.seconds else ""
    time = seconds_text(copies.seconds) if copies.seconds else "-"
    what = f"{copies.count} cop{'y' if copies.count == 1 else 'ies'}, {copies.nbytes} bytes"
    return _line(copies.kind, time, "", "", "", rate, "", what)


def _rates(
    name: str, peak_flops: float, bandwidth: float, peaks: Mapping[int, float] = _NONE
) -> Iterator[str]:
    rates = []
    if len(peaks) > 1:
        by_width = (f"{rate / 1e9:.1f} of {bits}-bit vectors" for bits, rate in peaks.items())
        rates.append(f"peak in GFLOP/s {', '.join(by_width)}")
    elif peak_flops:
        rates.append(f"peak {peak_flops / 1e9:.1f} GFLOP/s")
    if bandwidth:
        rates.append(f"reading {bandwidth / 1e9:.1f} GB/s")
    if rates:
        yield f"{name}: {', '.join(rates)}"


def _rows(
    operators: Sequence[OperatorTime],
    limit: int | None,
    peak_flops: float,
    bandwidth: float,
    beyond: str = "",
) -> Iterator[str]:
    """The rows; `beyond` marks operators that read arrays faster than `bandwidth`."""
    shown = sorted(operators, key=lambda operator: -operator.seconds)[:limit]
    total = sum(operator.seconds for operator in operators)
    for operator in shown:
        of_peak = operator.of_peak(peak_flops)
        bound = operator.roofline(peak_flops, bandwidth)
        passes = beyond if bound > max(1.0, of_peak) else ""
        yield _line(
            operator.name,
            seconds_text(operator.seconds),
            _percent(operator.seconds, total),
            f"{operator.flop_rate / 1e9:.1f}",
            f"{of_peak:.0%}" if of_peak else "-",
            f"{operator.byte_rate / 1e9:.1f}",
            passes or (f"{bound:.0%}" if bound else "-"),
            _computed(operator),
        )
    left = len(operators) - len(shown)
    if left:
        rest = total - sum(operator.seconds for operator in shown)
        yield _line(f"{left} others", seconds_text(rest), _percent(rest, total), "", "", "", "", "")


def _computed(operator: OperatorTime) -> str:
    """The nodes of an operator, and the first of its names in a model's file."""
    text = "+".join(operator.computes)
    if not operator.origins:
        return text
    shown, left = operator.origins[:_NAMES], len(operator.origins[_NAMES:])
    more = [f"{left} more"] if left else []
    return f"{text}  of {', '.join([*shown, *more])}"


def _sum(operators: Sequence[OperatorTime], peak_flops: float) -> str:
    flops, work = sum(o.flops for o in operators), sum(o.work for o in operators)
    total = sum(operator.seconds for operator in operators)
    rate = f"{flops / total / 1e9:.1f}" if total else ""
    of_peak = f"{work / total / peak_flops:.0%}" if total and peak_flops else ""
    return _line("in all", seconds_text(total), "100.0%", rate, of_peak, "", "", "")


def _percent(part: float, whole: float) -> str:
    return f"{part / whole:.1%}" if whole else "-"


def _line(name: str, *cells: str) -> str:
    *numbers, computes = cells
    return "  ".join([f"{name:<20}", *(f"{cell:>9}" for cell in numbers), computes]).rstrip()
