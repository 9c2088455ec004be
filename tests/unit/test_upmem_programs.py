# SPDX-License-Identifier: Apache-2.0
"""C programs of DPUs and their hosts, built and run with the commands."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.unit.upmem_support import Command, native_cache, upmem
from xtc.core.errors import ToolError, UserError
from xtc_targets.upmem.description import profile_named
from xtc_targets.upmem.toolchain.clang import unavailable
from xtc_targets.upmem.toolchain.command_line import read_command_line
from xtc_targets.upmem.toolchain.elf import ProgramSize
from xtc_targets.upmem.toolchain.program import build

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(unavailable() is not None, reason=str(unavailable())),
]

ROOT = Path(__file__).parents[2]
PROGRAMS = ROOT / "benchmarks" / "upmem"
NAMES = sorted(path.parent.name for path in PROGRAMS.glob("*/dpu.c"))
PAGE = "004_d19a83b1d22f6648.txt"
FOLDERS = [folder / "shared" / "seeds" for folder in (ROOT.parent, ROOT.parent.parent)]
PARALLEL_ACCESS = next(
    (folder / PAGE for folder in FOLDERS if (folder / PAGE).exists()), Path(PAGE)
)


__all__ = ["native_cache", "upmem"]  # fixtures


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    """A copy of the programs, whose Makefiles write into their folder."""
    copy: Path = shutil.copytree(PROGRAMS, tmp_path / "programs")
    return copy


def _run_by_command(upmem: Command, folder: Path, tasklets: int) -> tuple[int, str]:
    words = ("--dpu", "dpu=dpu.c", "--tasklets", tasklets, "-DBLOCK=10", "-I..", "host.c")
    done = upmem("run", *words, cwd=folder)
    return done.returncode, done.stdout + done.stderr


def _run_by_makefile(upmem: Command, folder: Path, tasklets: int) -> tuple[int, str]:
    words = ("make", "--silent", "test", f"NR_TASKLETS={tasklets}")
    done = upmem("env", "--", *words, cwd=folder)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("name", NAMES)
def test_a_program_is_correct(upmem: Command, sources: Path, name: str, is_long: bool) -> None:
    """Each program with one of the two commands, and the first with both; all with both in long
    runs."""
    right = (0, f"{name}: all results are right\n")
    turn = NAMES.index(name)
    if is_long or turn == 0 or turn % 2:
        assert _run_by_command(upmem, sources / name, 11) == right
    if is_long or turn % 2 == 0:
        assert _run_by_makefile(upmem, sources / name, 1) == right
    for tasklets in (2, 3, 8, 16, 24) if is_long else ():
        assert _run_by_command(upmem, sources / name, tasklets) == right
        (sources / name / "dpu").unlink()
        assert _run_by_makefile(upmem, sources / name, tasklets) == right


def test_makefiles_find_the_kit_in_its_home(upmem: Command, tmp_path: Path) -> None:
    there = ("bin/dpu-upmem-dpurte-clang", "include/dpu/dpu.h", "lib/libdpu.so")
    found = " && ".join(f"test -e $UPMEM_HOME/{name}" for name in there)
    assert upmem("env", "--", "sh", "-c", found, cwd=tmp_path).returncode == 0


def _page(tmp_path: Path) -> None:
    """The two programs of the page on parallel access."""
    text = PARALLEL_ACCESS.read_text()
    dpu = text.index("#include <stdint.h>\n#include <stdio.h>\n#include <mram.h>")
    (tmp_path / "dpu.c").write_text(text[dpu : text.index("The host program allocates and launch")])
    (tmp_path / "host.c").write_text(text[text.index("#include <dpu.h>") :])


@pytest.mark.skipif(not PARALLEL_ACCESS.exists(), reason=f"{PARALLEL_ACCESS} is not there")
def test_the_key_value_example_prints_correct_sums(upmem: Command, tmp_path: Path) -> None:
    _page(tmp_path)
    words = ("--dpu", "wram_fifo_example=dpu.c", "--tasklets", 16)
    report = tmp_path / "report.json"
    first = upmem("run", *words, "--report", report, "host.c", cwd=tmp_path)
    assert first.returncode == 0, first.stderr
    lines = [line for line in first.stdout.splitlines() if line.startswith("key:")]
    assert len(lines) == 64
    for line in lines:
        received, expected = (int(part.split("=")[1].rstrip(")")) for part in line.split()[3:])
        assert received == expected
    found = json.loads(report.read_text())
    assert [launch["program"] for launch in found["launches"]] == ["wram_fifo_example"]
    again = upmem("run", *words, "--report", report, "host.c", cwd=tmp_path)
    assert again.stdout == first.stdout
    assert json.loads(report.read_text()) == found  # modelled times too


HOST = """
#include <dpu.h>
int main(void)
{
    struct dpu_set_t set;
    DPU_ASSERT(dpu_alloc(2, NULL, &set));
    DPU_ASSERT(dpu_load(set, "program", NULL));
    dpu_error_t status = dpu_launch(set, DPU_SYNCHRONOUS);
    char *text = dpu_error_to_string(status);
    printf("%s\\n", text);
    free(text);
    struct dpu_set_t dpu;
    DPU_FOREACH (set, dpu) {
        if (status == DPU_OK)
            DPU_ASSERT(dpu_log_read(dpu, stdout));
    }
    DPU_ASSERT(dpu_free(set));
    return status != DPU_OK;
}
"""
HEAD = """
#include <alloc.h>
#include <assert.h>
#include <barrier.h>
#include <defs.h>
#include <mram.h>
#include <stdio.h>
volatile int zero;
BARRIER_INIT(all, NR_TASKLETS);
__mram_noinit uint8_t bytes[4096];
__dma_aligned uint8_t cache[4096];
int main(void) { if (me() == 1) {
"""
FAULTS = {
    "*(volatile int *)70000 = 1;": "a load or store outside of WRAM, address 0x11170",
    "volatile int *odd = (void *)(cache + 2); *odd = 1;": "store that is not aligned to its size",
    "mram_read(bytes, cache, 12);": "DMA fault: a transfer has 8 to 2048 bytes, a multiple of 8, "
    "not 12",
    "mram_read(bytes, cache, 4096);": "a multiple of 8, not 4096",
    "mram_read(bytes, (void *)63488, 8);": "DMA fault: bytes outside of WRAM or MRAM, address",
    "for (;;) mem_alloc(4096);": "the heap of WRAM is full",
    "zero = 7 / zero;": "division by zero",
    "assert(zero);": "an assertion failed",
    "halt();": "the program called halt or abort",
}


def _written(tmp_path: Path, body: str) -> None:
    (tmp_path / "host.c").write_text(HOST)
    (tmp_path / "dpu.c").write_text(f"{HEAD}{body}\n}}\nreturn 0; }}\n")


@pytest.mark.parametrize("body", FAULTS)
def test_a_fault_names_dpu_tasklet_and_line(upmem: Command, tmp_path: Path, body: str) -> None:
    _written(tmp_path, body)
    done = upmem("run", "--dpu", "program=dpu.c", "--tasklets", 2, "host.c", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "a DPU is at fault\n")
    assert "program 'program', DPU 0 of rank 0, tasklet 1: " in done.stderr
    assert FAULTS[body] in done.stderr
    assert "dpu.c:13" in done.stderr or "alloc.h" in done.stderr or "mram.h" in done.stderr


def test_an_endless_wait_is_a_timeout(upmem: Command, tmp_path: Path) -> None:
    _written(tmp_path, "while (!zero) continue;")
    done = upmem("run", "--dpu", "program=dpu.c", "--tasklets", 2, "host.c", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "timeout\n")
    assert "an endless loop: nothing can happen that would end it" in done.stderr


def test_a_deadlock_is_a_fault(upmem: Command, tmp_path: Path) -> None:
    _written(tmp_path, "barrier_wait(&all);")
    done = upmem("run", "--dpu", "program=dpu.c", "--tasklets", 2, "host.c", cwd=tmp_path)
    assert "deadlock: every tasklet waits for another" in done.stderr


def test_programs_print(upmem: Command, tmp_path: Path) -> None:
    body = 'printf("%d %5.2f|%-4s|%lld %c %lx %zu\\n", -3, 1.5, "ab", 1ll << 40, 65, 1l << 35, '
    body += "sizeof(long)); mram_read(bytes, cache, 0);"
    _written(tmp_path, body)
    done = upmem("run", "--dpu", "program=dpu.c", "--tasklets", 2, "host.c", cwd=tmp_path)
    text = "-3  1.50|ab  |1099511627776 A 800000000 8\n"
    assert done.stdout == f"success\n=== DPU#0x0 ===\n{text}=== DPU#0x1 ===\n{text}"
    assert "2 DMA transfers of 0 bytes, for which the machine moves 2048" in done.stderr


def test_a_program_that_is_too_large_is_refused(upmem: Command, tmp_path: Path) -> None:
    _written(tmp_path, "")
    words = ("--dpu", "program=dpu.c", "--tasklets", 16, "--stack", 4096)
    done = upmem("run", *words, "host.c", cwd=tmp_path)
    assert done.returncode == 1
    assert "bytes of data and stacks in WRAM, and a v1B has 63488" in done.stderr
    assert "hint: use fewer tasklets, or a smaller STACK_SIZE_DEFAULT" in done.stderr


def test_unsupported_features_have_a_hint(
    upmem: Command, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    large = ProgramSize(5000, 8, 1024, 0, 0, 1)
    with pytest.raises(UserError, match=r"5000 instructions .*a v1B has 3968") as raised:
        large.check(profile_named("v1B"), "large")
    assert raised.value.hints[0] == "compile it with -Os"
    (tmp_path / "dpu.c").write_text(
        "#include <stdlib.h>\nint main(void) { return malloc(NR_TASKLETS) == 0; }\n"
    )
    with pytest.raises(ToolError) as failed:
        build(read_command_line(["-o", str(tmp_path / "dpu"), str(tmp_path / "dpu.c")]))
    assert "DPUs have mem_alloc, buddy_alloc and fsb_alloc, by alloc.h" in failed.value.hints
    assert "dpu.c reads NR_TASKLETS, which is 1\n  hint: -D" in capfd.readouterr().err
    done = upmem("env", "--", "dpu-lldb", cwd=tmp_path)
    assert done.returncode == 1
    assert "hint: there is no debugger: a fault names tasklet, line and address" in done.stderr


SUM = """
#include <defs.h>
#include <mram.h>
#include <stdio.h>
__mram_noinit uint8_t buffer[64];
__host uint32_t sum, factor;
int main(void)
{
    if (me())
        return 0;
    sum = 0;
    for (int i = 0; i < 64; i++)
        sum += buffer[i] * factor;
    printf("sum %u\\n", sum);
    return 0;
}
"""
CXX_HOST = """
#include <dpu>
#include <dpu_probe.h>
#include <iostream>
#include <unistd.h>
using namespace dpu;
static void check(bool right) { if (!right) std::exit(2); }
int main()
{
    auto all = DpuSet::allocate(66, "backend=simulator");
    DpuSet system = std::move(all);
    DpuProgram program = system.load("sum");
    std::vector<std::vector<uint8_t>> data(66, std::vector<uint8_t>(64));
    for (size_t i = 0; i < 66; i++)
        data[i].assign(64, i);
    system.copy("buffer", data);
    system.copy("factor", std::vector<uint32_t>(1, 3));
    struct dpu_probe_t probe;
    DPU_ASSERT(dpu_probe_init("energy", &probe));
    DPU_ASSERT(dpu_probe_start(&probe));
    auto later = system.async();
    unsigned called = 0;
    later.exec();
    later.call([&](DpuSet &rank, unsigned number) {
        __atomic_add_fetch(&called, rank.dpus().size() + 1000 * number, __ATOMIC_RELAXED);
    });
    later.sync();
    DPU_ASSERT(dpu_probe_stop(&probe));
    double joules, seconds;
    DPU_ASSERT(dpu_probe_get(&probe, DPU_ENERGY, DPU_AVERAGE, &joules));
    DPU_ASSERT(dpu_probe_get(&probe, DPU_TIME, DPU_ACCUMULATE, &seconds));
    std::cout << system.ranks().size() << " ranks, " << called << ", ";
    std::cout << joules / seconds << " W\\n";
    std::vector<std::vector<uint32_t>> sums(66, std::vector<uint32_t>(1));
    DpuSymbol sum = program.symbol("sum");
    system.copy(sums, sum);
    for (unsigned i = 0; i < 66; i++)
        check(sums[i][0] == 3 * 64 * i);
    std::vector<std::vector<uint32_t>> last(2, std::vector<uint32_t>(1));
    system.ranks()[1]->copy(last, 4, "sum");
    check(last[1][0] == 3 * 64 * 65);
    system.dpus()[65]->log(std::cout);
    try {
        system.copy("nothing", data);
    } catch (const DpuError &error) {
        std::cout << error.what() << "\\n";
    }
    auto kept = std::make_shared<int>(0);
    later.call([kept](DpuSet &, unsigned) { throw DpuError(DPU_ERR_TIMEOUT); });
    usleep(20000); // the callback has failed, or has not yet
    later.call([kept](DpuSet &, unsigned) { ++*kept; }, false);
    try {
        later.sync();
    } catch (const DpuError &error) {
        std::cout << error.what() << ", " << *kept << ", kept " << kept.use_count() << "\\n";
    }
}
"""


RARE = """
#include <barrier.h>
#include <defs.h>
#include <mram_unaligned.h>
#include <mutex.h>
uint8_t __atomic_bit bits[2];
mutex_id_t locks[2];
BARRIER_INIT(all, NR_TASKLETS);
__mram uint8_t bytes[8];
__host uint32_t count;
struct wide { long a; char c; unsigned long b; long double d; };
__host struct wide wide = {1L << 40, -1, 0xfffffffffful, 2.5L};
static void add(uint8_t *byte, void *by) { *byte += (uintptr_t)by; }
int main(void)
{
    locks[0] = &bits[0], locks[1] = &bits[1];
    barrier_wait(&all);
    for (int i = 0; i < 10; i++)
        mram_update_byte_atomic(&bytes[i & 1], add, (void *)3);
    mutex_lock(locks[1]);
    count += bytes[1] != 0;
    wide.a += me() == 0 && wide.c < 0;
    mutex_unlock(locks[1]);
    return 0;
}
"""
RARE_HOST = """
#include <dpu.h>
#include <dpu_management.h>
#include <dpu_target_macros.h>
struct wide { long a; char c; unsigned long b; double d; };
int main(void)
{
    struct dpu_set_t set, dpu;
    uint32_t count;
    uint8_t bytes[8];
    struct wide wide;
    DPU_ASSERT(dpu_alloc(10, "backend=hw", &set));
    DPU_ASSERT(dpu_load(set, "rare", NULL));
    DPU_ASSERT(dpu_launch(set, DPU_SYNCHRONOUS));
    DPU_FOREACH (set, dpu) {
        DPU_ASSERT(dpu_copy_from(dpu, "bytes", 0, bytes, 8));
        DPU_ASSERT(dpu_copy_from(dpu, "count", 0, &count, 4));
        DPU_ASSERT(dpu_copy_from(dpu, "wide", 0, &wide, sizeof wide));
    }
    struct dpu_t *last = NULL;
    DPU_FOREACH (set, dpu)
        last = dpu_from_set(dpu);
    struct dpu_rank_t *rank = dpu_get_rank(last);
    printf("%u %u %u, rank %d, node %d, %d.%d\\n", bytes[0], bytes[1], count,
           dpu_get_rank_id(rank) & DPU_TARGET_MASK, dpu_get_rank_numa_node(rank),
           dpu_get_slice_id(last), dpu_get_member_id(last));
    printf("%lx %lx %g\\n", wide.a, wide.b, wide.d);
    DPU_ASSERT(dpu_free(set));
    return 0;
}
"""


RARE_PRINTED = "60 60 4, rank 0, node 0, 1.1\n10000000001 ffffffffff 2.5\n"


def test_rarely_used_functions(upmem: Command, tmp_path: Path) -> None:
    (tmp_path / "host.c").write_text(RARE_HOST)
    (tmp_path / "rare.c").write_text(RARE)
    done = upmem("run", "--dpu", "rare=rare.c", "--tasklets", 4, "host.c", cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, RARE_PRINTED, "")


def test_hosts_may_be_written_in_cxx(upmem: Command, tmp_path: Path) -> None:
    (tmp_path / "host.cpp").write_text(CXX_HOST)
    (tmp_path / "dpu.c").write_text(SUM)
    words = ("--dpu", "sum=dpu.c", "--tasklets", 2, "-Wall", "-Wextra", "host.cpp")
    done = upmem("run", *words, cwd=tmp_path)
    printed = "2 ranks, 1066, 9.9 W\n=== DPU#0x41 ===\nsum 12480\nunknown symbol\n"
    printed += "asynchronous callback: timeout, 0, kept 1\n"
    assert (done.returncode, done.stdout, done.stderr) == (0, printed, "")


PYTHON_HOST = """
import io
from dpu import DpuSet, driver
source = io.StringIO("#include <stdio.h>\\n__host int my_var; int main() { return my_var++; }")
with DpuSet(nr_dpus=1, c_source=source) as dpu:
    dpu.my_var = b"\\x05\\0\\0\\0"
    dpu.exec()
    print(dpu.my_var.int32())
with driver.allocate(2, profile="backend=simulator") as dpus:
    program = dpus.load("sum")
    dpus.copy("buffer", bytes(range(64)))
    dpus.factor = bytes([1, 0, 0, 0])
    dpus.exec()
    found = bytearray(4)
    dpus[1].copy(found, "sum", 4, 0)
    print(int.from_bytes(found, "little"), dpus.sum.uint32())
    print(sorted(program.fetch_all_symbols()), program.get_symbol("buffer").size)
"""


def test_hosts_may_be_written_in_python(upmem: Command, tmp_path: Path) -> None:
    (tmp_path / "host.py").write_text(PYTHON_HOST)
    (tmp_path / "dpu.c").write_text(SUM)
    words = "dpu-upmem-dpurte-clang -O2 -o sum dpu.c && python3 host.py"
    printed = "6\n2016 [2016, 2016]\n['buffer', 'factor', 'sum'] 64\n"
    done = upmem("env", "--", "sh", "-c", words, cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, printed, "")


CMAKE_DPU = """
cmake_minimum_required(VERSION 3.13)
project(rare LANGUAGES C)
add_executable(rare rare.c)
target_compile_definitions(rare PUBLIC NR_TASKLETS=4)
target_link_options(rare PUBLIC -DNR_TASKLETS=4)
"""
CMAKE_HOST = """
cmake_minimum_required(VERSION 3.13)
project(host LANGUAGES C)
include($ENV{UPMEM_HOME}/share/upmem/cmake/include/host/DpuHost.cmake)
link_directories(${DPU_HOST_LINK_DIRECTORIES})
add_executable(host host.c)
target_include_directories(host PUBLIC ${DPU_HOST_INCLUDE_DIRECTORIES})
target_link_libraries(host ${DPU_HOST_LIBRARIES})
"""


@pytest.mark.skipif(shutil.which("cmake") is None, reason="cmake is not installed")
def test_projects_of_cmake(upmem: Command, tmp_path: Path) -> None:
    projects = {"rare.c": (CMAKE_DPU, RARE), "host.c": (CMAKE_HOST, RARE_HOST)}
    for name, (project, source) in projects.items():
        folder = tmp_path / Path(name).stem
        folder.mkdir()
        (folder / "CMakeLists.txt").write_text(project)
        (folder / name).write_text(source)
    toolchain = "-DCMAKE_TOOLCHAIN_FILE=$UPMEM_HOME/share/upmem/cmake/dpu.cmake"
    words = f"cmake -S rare -B kernel {toolchain} && make -C kernel && "
    words += "cmake -S host -B made -DCMAKE_C_COMPILER_WORKS=1 && make -C made && "
    words += "cd kernel && ../made/host"
    done = upmem("env", "--", "sh", "-ec", words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith(RARE_PRINTED)


def test_clang_compiles_for_dpus_where_they_are_its_target(upmem: Command, tmp_path: Path) -> None:
    (tmp_path / "dpu.c").write_text(SUM)
    words = ("$UPMEM_HOME/bin/clang", "--target=dpu-upmem-dpurte", "-o", "sum", "dpu.c")
    assert upmem("env", "--", "sh", "-c", " ".join(words), cwd=tmp_path).returncode == 0
    assert (tmp_path / "sum").exists()
    (tmp_path / "system").mkdir()
    (tmp_path / "system" / "clang").write_text("#!/bin/sh\necho system $*\n")
    (tmp_path / "system" / "clang").chmod(0o755)
    words = ("PATH=$UPMEM_HOME/bin:$PWD/system:/usr/bin:/bin", "clang", "-o", "host", "host.c")
    done = upmem("env", "--", "sh", "-c", " ".join(words), cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "system -o host host.c\n")
