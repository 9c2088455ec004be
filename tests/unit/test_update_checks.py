# SPDX-License-Identifier: Apache-2.0
"""Golden CHECK lines are rewritten, handwritten ones are kept, and the result passes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.keep_output import prefixes
from tools.update_checks import UpdateError, check_lines, main, refresh, run_lit


def test_lines_follow_the_output() -> None:
    output = "\nmodule {\n  f()  \n\n}\n"
    assert check_lines(output, "CHECK", "// ") == [
        "// CHECK:       module {",
        "// CHECK-NEXT:    f()",
        "// CHECK-EMPTY:",
        "// CHECK-NEXT:  }",
    ]


def test_special_characters_of_filecheck_are_escaped() -> None:
    assert check_lines("a = [[1, 2]]\nb = {{x}}\n", "LOW", "# ") == [
        "# LOW{LITERAL}: a = [[1, 2]]",
        "# LOW-NEXT{LITERAL}: b = {{x}}",
    ]


def test_only_the_block_below_the_marker_is_replaced() -> None:
    text = "\n".join(
        [
            "# CHECK: by hand",
            "  # GOLDEN",
            "  # CHECK:      old",
            "  # CHECK-NEXT{LITERAL}: [[old]]",
            "  # CHECK-EMPTY:",
            "x = 1",
            "# CHECK-NOT: by hand as well",
        ]
    )
    assert refresh(text, {"CHECK": "new\n"}).splitlines() == [
        "# CHECK: by hand",
        "  # GOLDEN",
        "  # CHECK:       new",
        "x = 1",
        "# CHECK-NOT: by hand as well",
    ]


def test_each_prefix_has_its_block() -> None:
    text = "// GOLDEN LOW\n// LOW: old\n// CHECK: by hand\n// GOLDEN\n// CHECK: old\n"
    assert refresh(text, {"LOW": "low", "CHECK": "high"}).splitlines() == [
        "// GOLDEN LOW",
        "// LOW:       low",
        "// CHECK: by hand",
        "// GOLDEN",
        "// CHECK:       high",
    ]


@pytest.mark.parametrize(
    ("text", "outputs", "message"),
    [
        ("// CHECK: x", {"CHECK": "x"}, "no GOLDEN marker"),
        ("// GOLDEN", {}, "FileCheck for CHECK"),
        ("// GOLDEN", {"CHECK": " \n"}, "FileCheck for CHECK"),
        ("// GOLDEN LOW", {"CHECK": "x"}, "FileCheck for LOW"),
    ],
)
def test_files_that_cannot_be_refreshed_are_reported(
    text: str, outputs: dict[str, str], message: str
) -> None:
    with pytest.raises(UpdateError, match=message):
        refresh(text, outputs)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["t.mlir"], ["CHECK"]),
        (["t.mlir", "--check-prefix=LOW"], ["LOW"]),
        (["t.mlir", "-check-prefix", "LOW"], ["LOW"]),
        (["--check-prefixes=A,B", "t.mlir", "--dump-input=fail"], ["A", "B"]),
    ],
)
def test_prefixes_of_a_command_line(options: list[str], expected: list[str]) -> None:
    assert prefixes(options) == expected


PROGRAM = "print('first [[1]]'); print(); print('last')"


@pytest.mark.slow
def test_a_stale_test_passes_after_the_update(lit_suite: Path) -> None:
    test = lit_suite / "case.test"
    test.write_text(
        f'// RUN: %python -c "{PROGRAM}" | FileCheck %s\n'
        "// RUN: echo low | FileCheck %s --check-prefix=LOW\n"
        "// GOLDEN\n// CHECK: stale\n\n// CHECK-NOT: middle\n// GOLDEN LOW\n"
    )
    assert run_lit(test).returncode == 1
    assert main([str(test)]) == 0
    assert run_lit(test).returncode == 0
    assert test.read_text().splitlines()[2:] == [
        "// GOLDEN",
        "// CHECK{LITERAL}: first [[1]]",
        "// CHECK-EMPTY:",
        "// CHECK-NEXT:  last",
        "",
        "// CHECK-NOT: middle",
        "// GOLDEN LOW",
        "// LOW:       low",
    ]
    again = test.read_text()
    assert main([str(test)]) == 0
    assert test.read_text() == again


@pytest.mark.slow
@pytest.mark.parametrize(
    ("run", "message"),
    [
        ('%python -c "raise SystemExit(3)" | FileCheck %s', "own commands fail"),
        ("FileCheck --input-file=%s %s", "own commands fail"),
        ("echo", "FileCheck for CHECK"),
    ],
)
def test_a_failing_test_is_unchanged(
    lit_suite: Path, capsys: pytest.CaptureFixture[str], run: str, message: str
) -> None:
    test = lit_suite / "case.test"
    text = f"// RUN: {run}\n// GOLDEN\n// CHECK: kept\n"
    test.write_text(text)
    assert main([str(test)]) == 1
    assert message in capsys.readouterr().err
    assert test.read_text() == text


@pytest.mark.slow
def test_a_failing_hand_written_line_is_reported(
    lit_suite: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    test = lit_suite / "case.test"
    test.write_text("// RUN: echo one | FileCheck %s\n// GOLDEN\n\n// CHECK: two\n")
    assert main([str(test)]) == 1
    assert "outside the block fails" in capsys.readouterr().err
