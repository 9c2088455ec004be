# SPDX-License-Identifier: Apache-2.0
"""All plots of a run as a self-contained HTML page without scripts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from xtc.core.errors import UserError
from xtc.drawing.svg_parts import escaped
from xtc.evaluate.units import seconds_text
from xtc.search.plots.comparison import comparison
from xtc.search.plots.convergence import convergence
from xtc.search.plots.distribution import distribution
from xtc.search.plots.heatmap import heat_map, heat_map_of
from xtc.search.plots.measured import Measured
from xtc.search.plots.picture import DARK, GRID, INK, MUTED, Picture
from xtc.search.plots.render import SCOPE, svg_element
from xtc.search.plots.roofline import roofline

_BEST = 10
_MOST_TEXT = 2000  # characters of a message or a schedule
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_STYLE = f"""
:root{{color-scheme:light dark;--ink:{INK};--muted:{MUTED};--line:{GRID};--page:#ffffff}}
@media (prefers-color-scheme:dark){{:root{{--ink:{DARK[INK]};--muted:{DARK[MUTED]};\
--line:{DARK[GRID]};--page:#0f1319}}}}
body{{margin:2rem auto;max-width:62rem;padding:0 1rem;background:var(--page);color:var(--ink);\
font:15px/1.5 system-ui,sans-serif}}
h1{{font-size:1.5rem}}
h2{{font-size:1.15rem;margin-top:2.2rem}}
p,figcaption,dt{{color:var(--muted)}}
dl{{display:grid;grid-template-columns:max-content 1fr;gap:.2rem 1rem}}
dd{{margin:0;overflow-wrap:anywhere}}
figure{{margin:1rem 0}}
.{SCOPE}{{max-width:100%;height:auto;border:1px solid var(--line);border-radius:12px}}
table{{border-collapse:collapse;width:100%}}
th,td{{border-bottom:1px solid var(--line);padding:.3rem .6rem .3rem 0;text-align:left;\
vertical-align:top}}
code{{font-size:.85em;overflow-wrap:anywhere;white-space:pre-wrap}}
"""

Draw = Callable[[Measured], Picture]


def report_text(
    measured: Measured,
    other: Measured | None = None,
    x: str | None = None,
    y: str | None = None,
) -> str:
    """The page about a run; with `other`, which searched the same graph, it compares both.

    A plot that this run does not support is omitted, and the page gives the reason. Raises
    UserError for an unknown parameter `x` or `y` of the heat map.
    """
    if x is not None or y is not None:
        heat_map_of(measured, x, y)  # raises for unknown parameters
    plots: list[Draw] = [
        convergence,
        distribution,
        roofline,
        lambda m: heat_map(m, x, y),
    ]
    if other is not None:
        picture = comparison(measured, other)
        plots.append(lambda _: picture)
    parts = [*_head(measured), *_best(measured), *_failures(measured)]
    for draw in plots:
        parts += _plot(measured, draw)
    return "\n".join([*parts, "</body>", "</html>"]) + "\n"


def _head(measured: Measured) -> Iterator[str]:
    run = measured.run
    title = escaped(f"Tuning run {run.number}: {run.name}")
    yield "<!DOCTYPE html>"
    yield '<html lang="en">'
    yield '<head><meta charset="utf-8">'
    yield f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
    yield '<meta name="viewport" content="width=device-width,initial-scale=1">'
    yield f"<title>{title}</title><style>{_STYLE}</style></head>"
    yield f"<body><h1>{title}</h1>"
    ended = "finished" if run.finished else "not finished"
    versions = ", ".join(f"{name} {version}" for name, version in sorted(run.versions.items()))
    facts = {
        "target": f"{run.target} {run.options}".strip(),
        "machine": run.machine,
        "search": f"{run.strategy}; {run.sampler}, seed {run.seed}",
        "length": f"{run.seconds:.1f} s, {len(measured.results)} measurements; {ended}",
        "started": run.started,
        "versions": versions,
        "graph": run.text,
    }
    yield "<dl>"
    for name, value in facts.items():
        shown = _code(value) if name == "graph" else escaped(_short(value))
        yield f"<dt>{name}</dt><dd>{shown}</dd>"
    yield "</dl>"


def _best(measured: Measured) -> Iterator[str]:
    yield f"<h2>The {min(_BEST, len(measured.best))} best</h2>"
    peak = measured.peak
    heads = ["best time, measured", f"speed ({measured.unit})"]
    heads += ["of the measured peak"] if peak else []
    heads += ["of the default's speed"] if measured.default else []
    rows = []
    for result, speed in measured.best[:_BEST]:
        cells = [seconds_text(result.seconds or 0.0), f"{speed:.4g}"]
        cells += [f"{speed / peak:.2f}"] if peak else []
        cells += [f"{speed / measured.default:.2f}"] if measured.default else []
        rows.append([*map(escaped, cells), _code(result.schedule or "the default schedule")])
    yield from _table([*heads, "schedule"], rows)


def _failures(measured: Measured) -> Iterator[str]:
    """The number of failures by status, with the first message."""
    failed = [result for result in measured.results if result.status != "ok"]
    yield "<h2>Failed candidates</h2>"
    if not failed:
        yield "<p>Nothing.</p>"
        return
    counts = Counter(result.status for result in failed)
    first = {result.status: result for result in reversed(failed)}
    rows = [
        [escaped(status), str(count), _code(first[status].message), _code(first[status].schedule)]
        for status, count in sorted(counts.items())
    ]
    yield from _table(["status", "count", "first message", "its schedule"], rows)


def _plot(measured: Measured, draw: Draw) -> Iterator[str]:
    try:
        picture = draw(measured)
    except UserError as error:
        yield f"<p>{escaped(_short(error.what))}</p>"
        return
    yield f"<h2>{escaped(picture.title.split(':')[0])}</h2>"
    yield f"<figure>{svg_element(picture)}<figcaption>{escaped(picture.caption)}</figcaption>"
    yield "</figure>"


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """A table; heads are text, cells are HTML."""
    yield f"<table><tr>{''.join(f'<th>{escaped(head)}</th>' for head in heads)}</tr>"
    for row in rows:
        yield f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>"
    yield "</table>"


def _code(text: str) -> str:
    return f"<code>{escaped(_short(text))}</code>"


def _short(text: str) -> str:
    return text if len(text) <= _MOST_TEXT else f"{text[: _MOST_TEXT - 1]}…"
