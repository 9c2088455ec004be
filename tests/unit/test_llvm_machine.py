# SPDX-License-Identifier: Apache-2.0
"""Descriptions of machines: defaults, refusals and error messages."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

from xtc.codegen.llvm import Machine
from xtc.core.errors import UserError

LINUX = "x86_64-unknown-linux-gnu"


@pytest.mark.slow
def test_import_loads_no_llvm() -> None:
    program = (
        "import xtc.codegen.llvm\n"
        "from xtc.codegen.llvm import capi\n"
        "print(capi._load.cache_info().currsize)\n"
        "xtc.codegen.llvm.Machine.host()\n"
        "print(capi._load.cache_info().currsize)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("0\n1\n", "")


def test_host_is_this_machine() -> None:
    host = Machine.host()
    architecture = {"AMD64": "x86_64", "arm64": "aarch64"}.get(
        platform.machine(), platform.machine()
    )
    assert host.triple.replace("arm64", "aarch64").startswith(architecture)
    assert host.is_host
    assert host.pointer_bits == (64 if sys.maxsize > 2**32 else 32)
    assert host.cpu
    host.check()


def test_the_default_is_the_host() -> None:
    assert Machine.of() == Machine.host()
    assert Machine.of(Machine.host().triple) == Machine.host()


def test_features_alone_change_the_host() -> None:
    host = Machine.host()
    feature = next(iter(host.features.split(",")))
    machine = Machine.of(features=f"-{feature[1:]}")
    assert machine.cpu == host.cpu
    assert machine.features == f"{host.features},-{feature[1:]}"


def test_another_processor_has_no_features_of_the_host() -> None:
    machine = Machine.of(LINUX, "haswell")
    assert (machine.cpu, machine.features) == ("haswell", "")


def test_another_triple_is_generic_and_normalized() -> None:
    machine = Machine.of("thumbv7em-none-eabihf")
    assert machine == Machine("thumbv7em-unknown-none-eabihf", "", "")


def test_every_field_round_trips() -> None:
    for machine in (Machine.host(), Machine.of(LINUX, "haswell", "-avx2")):
        assert Machine.of(machine.triple, machine.cpu, machine.features) == machine


@pytest.mark.parametrize(
    ("triple", "bits"),
    [
        (LINUX, 64),
        ("aarch64-linux-gnu", 64),
        ("thumbv7em-none-eabi", 32),
        ("nvptx64-nvidia-cuda", 64),
        ("x86_64-linux-gnux32", 32),
    ],
)
def test_pointer_width_and_layout_come_from_the_triple(triple: str, bits: int) -> None:
    machine = Machine.of(triple, cpu="")
    assert machine.pointer_bits == bits
    assert machine.data_layout.startswith("e-")


@pytest.mark.skipif(
    (sys.platform, platform.machine()) != ("linux", "x86_64"), reason="about an x86-64 Linux host"
)
@pytest.mark.parametrize(
    ("triple", "is_host"),
    [
        (LINUX, True),
        ("x86_64-pc-linux-musl", True),
        ("x86_64-linux-gnux32", False),
        ("x86_64-apple-macosx13.0", False),
        ("x86_64", False),
        ("i686-linux-gnu", False),
        ("aarch64-linux-gnu", False),
    ],
)
def test_host_is_architecture_system_and_layout(triple: str, is_host: bool) -> None:
    assert Machine.of(triple, cpu="").is_host == is_host


@pytest.mark.parametrize(
    ("triple", "message"),
    [
        (
            "x86_46-linux-gnu",
            "unknown architecture 'x86_46' in the target triple 'x86_46-linux-gnu'\n"
            "  hint: did you mean 'x86_64'?",
        ),
        (
            "thumbv7emm-none-eabi",
            "unknown architecture 'thumbv7emm' in the target triple 'thumbv7emm-none-eabi'\n"
            "  hint: did you mean 'thumbv7em'?",
        ),
        (
            "x86_64-linx-gnu",
            "unknown vendor or operating system 'linx' in the target triple 'x86_64-linx-gnu'\n"
            "  hint: did you mean 'linux'?",
        ),
        (
            "x86_64-pc-linx-gnu",
            "unknown operating system 'linx' in the target triple 'x86_64-pc-linx-gnu'\n"
            "  hint: did you mean 'linux'?",
        ),
        (
            "armv7-linux-gnueabihff",
            "unknown environment 'gnueabihff' in the target triple 'armv7-linux-gnueabihff'\n"
            "  hint: did you mean 'gnueabihf'?",
        ),
    ],
)
def test_an_invalid_triple_is_refused(triple: str, message: str) -> None:
    with pytest.raises(UserError) as caught:
        Machine.of(triple)
    assert str(caught.value) == message


def test_empty_triple_lists_the_architectures() -> None:
    with pytest.raises(UserError, match=r"one of [0-9]+, such as: "):
        Machine.of("")


def test_an_unknown_processor_is_refused(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(UserError) as caught:
        Machine.of(LINUX, "haswel")
    assert str(caught.value) == (
        "unknown processor 'haswel' for x86_64-unknown-linux-gnu\n  hint: did you mean 'haswell'?"
    )
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("cpu", ["native", "help"])
def test_keywords_of_llvms_tools_are_refused_as_processors(cpu: str) -> None:
    with pytest.raises(UserError, match=f"unknown processor '{cpu}'"):
        Machine.of(LINUX, cpu)


@pytest.mark.parametrize(
    ("features", "message"),
    [
        (
            "+avx2,-avx512ff",
            "unknown feature 'avx512ff' for x86_64-unknown-linux-gnu\n"
            "  hint: did you mean 'avx512f'?",
        ),
        (
            "avx2",
            "the feature 'avx2' begins with neither + nor -\n  hint: write '+avx2' or '-avx2'",
        ),
    ],
)
def test_an_unknown_feature_is_refused(
    features: str, message: str, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(UserError) as caught:
        Machine.of(LINUX, "x86-64", features)
    assert str(caught.value) == message
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("triple", "cpu", "features", "reason"),
    [
        (LINUX, "i486", None, "64-bit code requested on a subtarget that doesn't support it!"),
        ("nvptx64-nvidia-cuda", "sm_100a", "+ptx60", "Minimum required PTX version is 8.6"),
    ],
)
def test_a_combination_that_would_abort_is_refused(
    triple: str, cpu: str, features: str | None, reason: str
) -> None:
    with pytest.raises(UserError, match="LLVM generates no code for") as caught:
        Machine.of(triple, cpu, features)
    assert reason in str(caught.value)
