# SPDX-License-Identifier: Apache-2.0
"""A profile in the trace event format: a row for each thread and each device."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from xtc.evaluate.profile import OperatorTime, Profile, Span


def timeline(profile: Profile) -> dict[str, Any]:
    """The spans of one call for Perfetto and chrome://tracing; times are in microseconds."""
    modelled = {device.name for device in profile.devices if device.is_modelled}
    rows = list(dict.fromkeys(span.row for span in profile.spans))
    names = [f"{row} (modelled)" if row in modelled else row for row in rows]
    operators = [*profile.operators, *(o for d in profile.devices for o in d.operators)]
    about = {operator.name: operator for operator in operators}
    return {
        "traceEvents": [
            {"ph": "M", "pid": 1, "name": "process_name", "args": {"name": profile.program}},
            *(
                {"ph": "M", "pid": 1, "tid": tid, "name": "thread_name", "args": {"name": name}}
                for tid, name in enumerate(names, 1)
            ),
            *(_event(span, rows.index(span.row) + 1, about) for span in profile.spans),
        ],
        "displayTimeUnit": "ns",
    }


def _event(span: Span, tid: int, about: dict[str, OperatorTime]) -> dict[str, Any]:
    event: dict[str, Any] = {"name": span.name, "ph": "X", "pid": 1, "tid": tid}
    event |= {"ts": span.begin / 1e3, "dur": (span.end - span.begin) / 1e3}
    operator = about.get(span.name)
    if operator is None:
        return event
    arguments = {
        "kernel": span.kernel,
        "computes": " ".join(operator.computes),
        "of the file": " ".join(operator.origins),
        "FLOP": operator.flops,
        "bytes": operator.nbytes,
        "schedule": "; ".join(operator.schedule),
    }
    return {**event, "cat": operator.computes[-1], "args": arguments}
