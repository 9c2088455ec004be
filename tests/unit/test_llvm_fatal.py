# SPDX-License-Identifier: Apache-2.0
"""LLVM's fatal errors, which would end the process, become exceptions."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time

import pytest

from xtc.codegen.llvm import Machine, compile_ir
from xtc.codegen.llvm.fatal import guarded
from xtc.core.errors import CompileError

LINUX = "x86_64-unknown-linux-gnu"
EMPTY = "define void @f() { ret void }"
# Verifies, but only scalable registers can hold it.
SCALABLE = """
define void @f(ptr %p) {
  %x = load <vscale x 4 x float>, ptr %p
  %y = fadd <vscale x 4 x float> %x, %x
  store <vscale x 4 x float> %y, ptr %p
  ret void
}
"""
FOREIGN_INTRINSIC = """
define i32 @f() {
  %x = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  ret i32 %x
}
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
"""
NO_PTX_SINE = """
define float @f(float %x) {
  %y = call float @llvm.sin.f32(float %x)
  ret float %y
}
declare float @llvm.sin.f32(float)
"""


@pytest.mark.parametrize(
    ("ir", "triple", "reason"),
    [
        (SCALABLE, LINUX, "scalable size"),
        (SCALABLE, "aarch64-linux-gnu", "scalable vectors"),
        (FOREIGN_INTRINSIC, LINUX, "Cannot select: intrinsic %llvm.nvvm.read.ptx.sreg.tid.x"),
        (NO_PTX_SINE, "nvptx64-nvidia-cuda", "fsin"),
    ],
)
def test_a_fatal_error_is_an_exception_and_later_work_succeeds(
    ir: str, triple: str, reason: str
) -> None:
    machine = Machine.of(triple, cpu="")
    with pytest.raises(CompileError) as caught:
        compile_ir(ir, machine, kind="assembly", name="mine")
    assert caught.value.what == f"LLVM cannot generate code for 'mine' ({machine.triple})"
    assert reason in caught.value.notes[0]
    assert compile_ir(EMPTY, machine, kind="assembly")


@pytest.mark.slow
def test_process_ends_normally_after_a_fatal_error() -> None:
    program = (
        "import sys\n"
        "from xtc.core.errors import CompileError\n"
        "from xtc.codegen.llvm import Machine, compile_ir\n"
        "try:\n"
        f"    compile_ir(sys.stdin.read(), Machine.of({LINUX!r}, 'x86-64'))\n"
        "except CompileError:\n"
        "    print('caught')"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], input=SCALABLE, capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "caught\n", "")


def test_exceptions_of_the_work_itself_are_passed_on() -> None:
    def fail() -> None:
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        guarded(fail, "nothing")


def test_interrupt_waits_for_the_work_to_end() -> None:
    events: list[str] = []

    def interrupt(*_: object) -> None:
        if not events:
            events.append("interrupted")
            raise KeyboardInterrupt

    def work() -> None:
        started.set()
        released.wait()
        events.append("worked")

    def interrupt_then_release() -> None:
        started.wait()
        while not events:  # Python may notice a signal only at the next one
            signal.pthread_kill(main, signal.SIGUSR1)
            time.sleep(0.01)
        released.set()

    started, released = threading.Event(), threading.Event()
    main = threading.get_ident()
    before = signal.signal(signal.SIGUSR1, interrupt)
    helper = threading.Thread(target=interrupt_then_release)
    helper.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            guarded(work, "nothing")
        assert events == ["interrupted", "worked"]
    finally:
        helper.join()
        signal.signal(signal.SIGUSR1, before)
