# SPDX-License-Identifier: Apache-2.0
# RUN: rm -rf %t && mkdir %t && cp -r %S/Inputs %t && cp %s %t/Inputs/commands.py
# RUN: %python %t/Inputs/commands.py 2>&1 | FileCheck %s --implicit-check-not=Traceback
# RUN: FileCheck %s --check-prefix=SVG < %t/Inputs/speed.svg
# RUN: FileCheck %s --check-prefix=HTML --implicit-check-not='<script' < %t/Inputs/report.html
"""Plots of a small database, and errors for missing data."""

from pathlib import Path

from session import session

from xtc.search import Result, Run, Store

folder = Path(__file__).parent
texts = dict.fromkeys(("graph", "text", "options", "machine", "space"), "")
run = Run(
    **texts,
    name="product <1>",
    target="host",
    versions={"xtc": "0.1"},
    strategy="tile3d",
    sampler="random",
    seed=1,
    budget=None,
    flops=10**9,
    nbytes=10**8,
    dtype="float32",
    peak=2e11,
    bandwidth=5e9,
    started="2026-01-01T00:00:00+00:00",
    seconds=3.0,
)
with Store(folder / "tuning.db") as store:
    for _ in range(2):
        number = store.add_run(run).number
        for i in (1, 2):
            result = Result(f"C: [i#{i}]", {"i": i}, "ok", samples=(0.01 * i,), at=float(i))
            store.add_result(number, result)
    number = store.add_run(run).number
    store.add_result(number, Result("C: [j]", {"i": 3}, "timeout", "too <slow>", at=3.0))

session(
    "xtc-plot --help",
    # CHECK: usage: xtc-plot
    # CHECK: Plot the measurements of an xtc-tune search.
    # CHECK: --output
    # CHECK: --run N
    # CHECK: --with N
    # CHECK: --x NAME
    # CHECK: --db DB
    # CHECK: plots:
    # CHECK: convergence {{.*}}best result so far
    # CHECK: distribution
    # CHECK: roofline
    # CHECK: heatmap
    # CHECK: comparison
    # CHECK: report
    "xtc-plot convergence --db tuning.db --run 1 -o speed.svg",
    # CHECK-LABEL: $ xtc-plot convergence
    # SVG: <?xml version="1.0"
    # SVG: <svg
    # SVG: <title>Convergence: run 1 of product &lt;1&gt;.
    # SVG: prefers-color-scheme:dark
    # SVG: >measurement</text>
    # SVG: >speed (GFLOP/s, measured)</text>
    # SVG: >time of the search (s)</text>
    "xtc-plot report --db tuning.db --run 1 --with 2 -o report.html",
    # CHECK-NEXT: $ xtc-plot report
    # HTML: <!DOCTYPE html>
    # HTML: Content-Security-Policy
    # HTML: <h1>Tuning run 1: product &lt;1&gt;</h1>
    # HTML: <h2>The 2 best</h2>
    # HTML: <td>10 ms</td><td>100</td><td>0.50</td><td><code>C: [i#1]</code></td>
    # HTML: <h2>Convergence</h2>
    # HTML: <h2>Distribution</h2>
    # HTML: <h2>Roofline</h2>
    # HTML: varied one parameter
    # HTML: <h2>Runs 1 and 2 of product &lt;1&gt;</h2>
    "xtc-plot convergence --db tuning.db",
    # CHECK-NEXT: $ xtc-plot convergence
    # CHECK-NEXT: xtc-plot: error: run 3 has no correct result
    # CHECK-NEXT:   note: its results: 1 timeout
    # CHECK-NEXT:   hint: `xtc-tune --run 3 --csv FILE` has the causes
    # CHECK-NEXT: exit code 1
    "xtc-plot heatmap --db tuning.db --run 1",
    # CHECK:      xtc-plot: error: run 1 varied one parameter
    # CHECK-NEXT:   note: it is 'i'
    # CHECK-NEXT:   hint: a heat map shows two
    "xtc-plot roofline --db tuning.db --run 9",
    # CHECK:      xtc-plot: error: tuning.db has no run 9
    # CHECK-NEXT:   hint: `xtc-tune --list` lists the runs
    "xtc-plot roofline --db gone.db",
    # CHECK:      xtc-plot: error: there is no tuning database gone.db
    "xtc-plot rooflines --db tuning.db",
    # CHECK:      xtc-plot: error: argument PLOT: invalid choice: 'rooflines'
    # CHECK-NEXT: exit code 2
)
