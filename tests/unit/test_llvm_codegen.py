# SPDX-License-Identifier: Apache-2.0
"""IR to objects and assembly: effects of the machine, determinism, threads, no output."""

from __future__ import annotations

import struct
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from xtc.codegen.llvm import Machine, compile_ir, data_object, optimize_ir
from xtc.codegen.llvm.capi import package_file
from xtc.core.errors import CompileError, UserError

LINUX = "x86_64-unknown-linux-gnu"

# y[i] += a * x[i], which the loop vectorizer widens to the machine's registers.
AXPY = """
define void @axpy(float %a, ptr noalias %x, ptr noalias %y, i64 %n) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %px = getelementptr float, ptr %x, i64 %i
  %py = getelementptr float, ptr %y, i64 %i
  %vx = load float, ptr %px, align 4
  %vy = load float, ptr %py, align 4
  %product = fmul contract float %a, %vx
  %sum = fadd contract float %product, %vy
  store float %sum, ptr %py, align 4
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %n
  br i1 %more, label %loop, label %end
end:
  ret void
}
"""
# Four neighbors at once: the SLP vectorizer makes one addition of them.
FOUR_SUMS = (
    "define void @four(ptr noalias %x, ptr noalias %y) {\n"
    + "".join(
        f"  %x{i} = getelementptr float, ptr %x, i64 {i}\n"
        f"  %y{i} = getelementptr float, ptr %y, i64 {i}\n"
        f"  %a{i} = load float, ptr %x{i}\n"
        f"  %b{i} = fadd float %a{i}, 1.0\n"
        f"  store float %b{i}, ptr %y{i}\n"
        for i in range(4)
    )
    + "  ret void\n}\n"
)


def assembly(ir: str, *machine: str, opt: int = 3) -> str:
    return compile_ir(ir, Machine.of(*machine), kind="assembly", opt=opt).decode()


@pytest.mark.parametrize(
    ("cpu", "features", "widest", "absent"),
    [
        ("x86-64", "", "%xmm", "%ymm"),
        ("x86-64", "+avx2", "%ymm", "%zmm"),
        ("haswell", "", "%ymm", "%zmm"),
        ("znver5", "", "%zmm", None),
        ("znver5", "-avx512f", "%ymm", "%zmm"),
    ],
)
def test_registers_follow_processor_and_features(
    cpu: str, features: str, widest: str, absent: str | None
) -> None:
    text = assembly(AXPY, LINUX, cpu, features)
    assert widest in text
    assert absent is None or absent not in text


def test_fused_multiply_add_needs_its_feature() -> None:
    assert "vfmadd" in assembly(AXPY, LINUX, "x86-64", "+avx,+fma")
    assert "fmadd" not in assembly(AXPY, LINUX, "x86-64", "+avx")


def test_the_optimization_level_has_an_effect() -> None:
    assert "mulps" not in assembly(AXPY, LINUX, "x86-64", opt=0)
    assert "mulps" in assembly(AXPY, LINUX, "x86-64", opt=3)


def test_neighboring_scalars_are_vectorized() -> None:
    assert "fadd <4 x float>" in optimize_ir(FOUR_SUMS, Machine.of(LINUX, "x86-64"))


def test_optimized_ir_is_for_the_machine() -> None:
    text = optimize_ir(AXPY, Machine.of(LINUX, "haswell"))
    assert f'target triple = "{LINUX}"' in text
    assert "<8 x float>" in text
    assert "vector.body" not in optimize_ir(AXPY, Machine.of(LINUX, "haswell"), opt=0)


def test_triple_and_layout_of_the_ir_are_replaced() -> None:
    foreign = 'target datalayout = "E-p:32:32"\ntarget triple = "sparc-sun-solaris"\n' + AXPY
    machine = Machine.of(LINUX, "x86-64")
    assert compile_ir(foreign, machine) == compile_ir(AXPY, machine)


# e_machine of the ELF specification: EM_ARM, EM_X86_64, EM_AARCH64.
@pytest.mark.parametrize(
    ("triple", "cpu", "bits", "e_machine"),
    [
        (LINUX, "x86-64", 64, 62),
        ("aarch64-linux-gnu", "cortex-a53", 64, 183),
        ("thumbv7em-none-eabihf", "cortex-m4", 32, 40),
    ],
)
def test_object_is_elf_of_the_machine(triple: str, cpu: str, bits: int, e_machine: int) -> None:
    content = compile_ir(AXPY, Machine.of(triple, cpu))
    assert content[:4] == b"\x7fELF"
    assert content[4] == bits // 32
    assert struct.unpack_from("<HH", content, 16) == (1, e_machine)


@pytest.mark.parametrize(
    ("triple", "cpu", "expected"),
    [
        ("aarch64-linux-gnu", "cortex-a53", "fmla\tv"),
        ("thumbv7em-none-eabihf", "cortex-m4", "vmul.f32\ts"),
        ("thumbv7em-none-eabi", "cortex-m3", "__aeabi_fmul"),
        ("nvptx64-nvidia-cuda", "sm_80", "fma.rn.f32"),
    ],
)
def test_assembly_is_of_the_machine(triple: str, cpu: str, expected: str) -> None:
    assert expected in assembly(AXPY, triple, cpu)


def test_bitcode_is_accepted() -> None:
    done = subprocess.run(
        [package_file("bin", "llvm-as"), "-o", "-"], input=AXPY.encode(), capture_output=True
    )
    machine = Machine.of(LINUX, "x86-64")
    assert done.stdout[:2] == b"BC"
    assert b"axpy" in compile_ir(done.stdout, machine, kind="assembly")


def test_inline_assembly_is_assembled() -> None:
    ir = 'define void @f() {\n  call void asm sideeffect "nop", ""()\n  ret void\n}'
    assert compile_ir(ir, Machine.of(LINUX, "x86-64"))


@pytest.mark.slow
def test_same_input_gives_the_same_bytes_in_every_process() -> None:
    machine = Machine.of(LINUX, "znver5")
    here = {compile_ir(AXPY + FOUR_SUMS, machine) for _ in range(3)}
    program = (
        "import sys, hashlib\n"
        "from xtc.codegen.llvm import Machine, compile_ir\n"
        f"code = compile_ir(sys.stdin.read(), Machine.of({LINUX!r}, 'znver5'))\n"
        "sys.stdout.buffer.write(code)"
    )
    there = subprocess.run(
        [sys.executable, "-c", program], input=(AXPY + FOUR_SUMS).encode(), capture_output=True
    )
    assert here == {there.stdout}


@pytest.mark.slow
def test_threads_compile_concurrently() -> None:
    machines = [
        Machine.of(LINUX, "x86-64"),
        Machine.of(LINUX, "znver5"),
        Machine.of("aarch64-linux-gnu"),
        Machine.of("thumbv7em-none-eabihf", "cortex-m4"),
    ]
    alone = [compile_ir(AXPY, machine) for machine in machines]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda machine: compile_ir(AXPY, machine), machines * 4))
    assert together == alone * 4


@pytest.mark.slow
def test_targets_are_initialized_from_any_thread() -> None:
    program = (
        "from concurrent.futures import ThreadPoolExecutor\n"
        "from xtc.codegen.llvm import Machine, compile_ir\n"
        "ir = 'define void @f() { ret void }'\n"
        f"triples = [{LINUX!r}, 'aarch64-linux-gnu', 'thumbv7em-none-eabi'] * 3\n"
        "work = lambda triple: compile_ir(ir, Machine.of(triple))\n"
        "with ThreadPoolExecutor(9) as pool:\n"
        "    print(len(set(pool.map(work, triples))))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("3\n", "")


# Prints the bytes and the descriptors that 20 compilations leak.
GROWTH = f"""
import psutil
from xtc.codegen.llvm import Machine, compile_ir

machine = Machine.of({LINUX!r}, "x86-64")
ir = "@big = constant [{4 << 20} x i8] zeroinitializer\\n@t = constant [4096 x i8] [%s]"
ir %= ", ".join(["i8 1"] * 4096)
process = psutil.Process()
compile_ir(ir, machine, opt=0)
memory, descriptors = process.memory_info().rss, process.num_fds()
for _ in range(20):
    compile_ir(ir, machine, opt=0)
print(process.memory_info().rss - memory, process.num_fds() - descriptors)
"""


@pytest.mark.slow
def test_memory_and_descriptors_are_released() -> None:
    # In a separate process, because other tests leave threads that allocate in this one.
    done = subprocess.run([sys.executable, "-c", GROWTH], capture_output=True, text=True)
    assert done.stderr == ""
    memory, descriptors = map(int, done.stdout.split())
    assert memory < 10 * (4 << 20)
    assert descriptors == 0


@pytest.mark.parametrize(
    ("ir", "what", "reason"),
    [
        (
            "define void @f() {\n  %x = add i32 1, 2.0\n  ret void\n}",
            "LLVM cannot parse 'mine' (x86_64-unknown-linux-gnu)",
            "mine:2:19: error: floating point constant invalid for type",
        ),
        (
            "define i32 @f(i1 %c) {\n  br i1 %c, label %a, label %b\na:\n  %x = add i32 1, 2\n"
            "  br label %b\nb:\n  ret i32 %x\n}",
            "LLVM cannot verify 'mine' (x86_64-unknown-linux-gnu)",
            "Instruction does not dominate all uses!",
        ),
        (
            'define void @f() {\n  call void asm sideeffect "frobnicate", ""()\n  ret void\n}',
            "LLVM cannot generate code for 'mine' (x86_64-unknown-linux-gnu)",
            "invalid instruction mnemonic 'frobnicate'",
        ),
        (
            'target datalayout = "zork"',
            "LLVM cannot parse 'mine' (x86_64-unknown-linux-gnu)",
            "unknown specifier 'z'",
        ),
    ],
)
def test_invalid_ir_is_refused(
    ir: str, what: str, reason: str, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(CompileError) as caught:
        compile_ir(ir, Machine.of(LINUX, "x86-64"), name="mine")
    assert caught.value.what == what
    assert reason in caught.value.notes[0]
    assert capfd.readouterr() == ("", "")


def test_invalid_bitcode_is_refused() -> None:
    with pytest.raises(CompileError, match="cannot parse"):
        compile_ir(b"BC\xc0\xde" + b"\x01" * 400, Machine.of(LINUX, "x86-64"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"opt": 4}, "there is no optimization level 4\n  hint: choose 0, 1, 2 or 3"),
        ({"kind": "objekt"}, "unknown kind of code 'objekt'\n  hint: did you mean 'object'?"),
    ],
)
def test_an_invalid_option_is_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(UserError) as caught:
        compile_ir(AXPY, Machine.of(LINUX, "x86-64"), **options)  # type: ignore[arg-type]
    assert str(caught.value) == message


def test_a_machine_constructed_by_hand_is_checked() -> None:
    with pytest.raises(UserError, match="unknown processor 'haswel'"):
        compile_ir(AXPY, Machine(LINUX, "haswel", ""))


def test_processor_of_a_function_is_checked(capfd: pytest.CaptureFixture[str]) -> None:
    ir = 'define void @f() "target-cpu"="haswel" { ret void }'
    with pytest.raises(UserError, match="unknown processor 'haswel'"):
        compile_ir(ir, Machine.of(LINUX, "x86-64"))
    assert capfd.readouterr() == ("", "")


def test_the_processor_of_a_function_is_used() -> None:
    ir = AXPY.replace("i64 %n) {", 'i64 %n) "target-features"="+avx2" {')
    assert "%ymm" in assembly(ir, LINUX, "x86-64")


def test_ptx_has_no_object() -> None:
    machine = Machine.of("nvptx64-nvidia-cuda", "sm_80")
    with pytest.raises(UserError, match="PTX is text"):
        compile_ir(AXPY, machine)
    with pytest.raises(UserError, match="PTX is text"):
        data_object({"x": b"abc"}, machine)
