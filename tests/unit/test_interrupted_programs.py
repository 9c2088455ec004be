# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C ends a call while a simulated kernel runs endlessly, and its device can be reopened."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
BEGIN = """
import signal, sys
from pathlib import Path
import numpy as np
import xtc
import xtc.ops as O
signal.signal(signal.SIGINT, signal.default_int_handler)

def forever(call):
    try:
        print("ready", flush=True)
        call()
    except KeyboardInterrupt:
        return
    raise AssertionError("it ended by itself")

def product(device, size):
    a, b = (O.tensor((size, size), name=name) for name in "AB")
    with O.graph(name="product") as gb:
        O.matmul(a, b, device=device)
    return gb.graph
"""
KERNEL = """
from tests.unit.device_contract import KINDS
kind = next(kind for kind in KINDS if kind.name == {name!r})
with kind.opened() as kernels:
    word = kernels.device.zeros(1, "int32")
    forever(lambda: kernels.device.launch(kernels.wait_for_word, [word]))
with kind.opened() as kernels:
    word = kernels.device.array(np.ones(1, np.int32))
    kernels.device.launch(kernels.wait_for_word, [word])
"""
GRAPH = """
from xtc_targets.{target} import {device}
with {device}() as device:
    with xtc.compile(product(device, {size})) as module:
        array = np.ones(({size}, {size}), np.float32)
        forever(lambda: module(array, array))
with {device}() as device:
    with xtc.compile(product(device, 8)) as module:
        module.check()
"""
WAFER = """
import tempfile
from tests.unit.csl_support import HEAD, compiled, layout
from xtc_targets.wse.options import WseOptions
from xtc_targets.wse.sdk.runtime import SdkRuntime
PE = HEAD + '''
const number: local_task_id = @get_local_task_id(10);
task again() void { @activate(number); }
fn main() void { @activate(number); }
fn short() void { sys.unblock_cmd_stream(); }
comptime { @bind_local_task(again, number); @export_symbol(main); @export_symbol(short); }
'''
with tempfile.TemporaryDirectory() as folder:
    files = {"layout.csl": layout('@export_name("short", fn()void);'), "pe.csl": PE}
    out = compiled(Path(folder), files)
    runner = SdkRuntime(out, options=WseOptions(timeout_s=600.0))
    runner.load()
    runner.run()
    def wait():
        runner.launch("main", nonblock=False)
        runner.stop()
    forever(wait)
    again = SdkRuntime(out, options=WseOptions())
    again.load()
    again.run()
    again.launch("short", nonblock=False)
    again.stop()
"""
PROGRAMS = {
    "null": KERNEL.format(name="null"),
    "null, a call": GRAPH.format(target="null", device="NullDevice", size=4000),
    "mppa": KERNEL.format(name="mppa:sim"),
    "nvgpu": KERNEL.format(name="nvgpu:sim"),
    "upmem": GRAPH.format(target="upmem", device="UpmemDevice", size=768),
    "wse": WAFER,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_an_interrupt_ends_a_kernel_and_leaks_nothing(name: str, tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "TMPDIR": str(tmp_path)}  # noqa: TID251
    program = f"{BEGIN}{PROGRAMS[name]}print('again', flush=True)\n"
    ran = subprocess.Popen(
        [sys.executable, "-c", program],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert ran.stdout is not None
    try:
        assert ran.stdout.readline() == "ready\n"
        time.sleep(0.5)
        children = psutil.Process(ran.pid).children()
        ran.send_signal(signal.SIGINT)
        said, errors = ran.communicate(timeout=120)
    finally:
        ran.kill()
    assert (said, ran.returncode) == ("again\n", 0), errors
    assert not any(child.is_running() for child in children)
