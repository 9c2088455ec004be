# SPDX-License-Identifier: Apache-2.0
"""Builds an LLVM IR function as text, with the modelled cycles of its blocks."""

from __future__ import annotations

from dataclasses import dataclass, field

from xtc_targets.wse.sema import types as t

CLOCK, LIMIT, STACK, STACK_LIMIT = 8, 16, 24, 28
"""Offsets in `wse_pe_head` of `csrc/wse_code.h`; the address of the memory is at 0."""


def llvm_type(kind: t.Type) -> str:
    """The LLVM type of an operand."""
    if isinstance(kind, t.Int):
        return f"i{kind.bits}"
    if isinstance(kind, t.Float):
        return {"f16": "half", "bf16": "bfloat", "f32": "float", "f64": "double"}.get(
            kind.name, "i16"
        )
    if kind == t.BOOL:
        return "i1"
    if isinstance(kind, t.Enum):
        return llvm_type(kind.base)
    if t.is_aggregate(kind):
        return "ptr"
    return "void" if kind == t.VOID else "i16"


def memory_type(kind: t.Type) -> str:
    """The LLVM type of a scalar in memory."""
    if isinstance(kind, t.Enum):
        return memory_type(kind.base)
    return f"i{8 * kind.size}" if isinstance(kind, t.Int) or kind == t.BOOL else llvm_type(kind)


@dataclass
class BasicBlock:
    """Instructions up to a terminator."""

    label: str
    lines: list[str] = field(default_factory=list)
    cost: int = 0
    done: bool = False


class Code:
    """One function: blocks, numbered values, and a stack in the PE's memory."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._count = 0
        self.entry = BasicBlock("entry")
        self.block = self.entry
        self._blocks = [self.entry]
        self._allocas: list[str] = []
        self.stack_bytes = 0

    @property
    def done(self) -> bool:
        """Whether the current block is terminated, which makes further code unreachable."""
        return self.block.done

    def fresh(self, hint: str = "t") -> str:
        self._count += 1
        return f"{hint}{self._count}"

    def line(self, text: str) -> None:
        if not self.block.done:
            self.block.lines.append(f"  {text}")

    def value(self, text: str, cost: int = 0) -> str:
        """Append an instruction with a result; return the result's name."""
        name = "%" + self.fresh()
        self.line(f"{name} = {text}")
        self.block.cost += cost
        return name

    def charge(self, cycles: int) -> None:
        self.block.cost += cycles

    def slot(self, kind: str) -> str:
        """Allocate space outside the PE's memory for a value of an LLVM type."""
        name = "%" + self.fresh("v")
        self._allocas.append(f"  {name} = alloca {kind}, align 8")
        return name

    def stack(self, nbytes: int, alignment: int) -> str:
        """Allocate stack space in the PE's memory; return its address, an i16."""
        self.stack_bytes = -(-self.stack_bytes // alignment) * alignment
        offset = self.stack_bytes
        self.stack_bytes += nbytes
        return self.value(f"add i16 %sp, {offset}")

    def new_block(self, hint: str) -> BasicBlock:
        return BasicBlock(self.fresh(hint))

    def start(self, block: BasicBlock) -> None:
        """Set the insertion point to the end of `block`."""
        if block not in self._blocks:
            self._blocks.append(block)
        self.block = block

    def jump(self, block: BasicBlock) -> None:
        self._end(f"br label %{block.label}")

    def branch(self, condition: str, then: BasicBlock, otherwise: BasicBlock) -> None:
        self._end(f"br i1 {condition}, label %{then.label}, label %{otherwise.label}")

    def emit_return(self, operand: str) -> None:
        """Emit the return of `type value` or `void`."""
        if not self.block.done:
            self.flush()
            self.line("; return")
            self._end(f"ret {operand}")

    def unreachable(self) -> None:
        self._end("unreachable")

    def flush(self) -> None:
        """Advance the PE's clock by the cycles charged since the last flush."""
        cost, self.block.cost = self.block.cost, 0
        if cost and not self.block.done:
            clock = self.value(f"getelementptr i8, ptr %pe, i64 {CLOCK}")
            before = self.value(f"load i64, ptr {clock}")
            after = self.value(f"add i64 {before}, {cost}")
            self.line(f"store i64 {after}, ptr {clock}")

    def check_limit(self) -> None:
        """Check the cycle limit at a loop's back edge, to stop endless loops."""
        self.flush()
        clock = self.value(f"getelementptr i8, ptr %pe, i64 {CLOCK}")
        limit = self.value(f"getelementptr i8, ptr %pe, i64 {LIMIT}")
        now, last = self.value(f"load i64, ptr {clock}"), self.value(f"load i64, ptr {limit}")
        over = self.value(f"icmp ugt i64 {now}, {last}")
        stop, onward = self.new_block("over"), self.new_block("on")
        self.branch(over, stop, onward)
        self.start(stop)
        self.line("call void @wse_overrun(ptr %pe)")
        self.jump(onward)
        self.start(onward)

    def call(self, result: str, name: str, *operands: str) -> str:
        """Call a function of the simulator with an up-to-date clock; return the result's name or
        "".
        """
        self.flush()
        text = f"call {result} @{name}({', '.join(('ptr %pe', *operands))})"
        if result == "void":
            self.line(text)
            return ""
        return self.value(text)

    def _end(self, terminator: str) -> None:
        if self.block.done:
            return
        self.flush()
        self.line(terminator)
        self.block.done = True

    def text(self) -> str:
        """The finished body, starting at its opening brace."""
        before, after = self._frame()
        lines = ["{", "entry:", *self._allocas]
        lines.append("  %base = load ptr, ptr %pe")
        lines += before
        for block in self._blocks:
            if block is not self.entry:
                lines.append(f"{block.label}:")
            for line in block.lines:
                lines += after if line == "  ; return" else [line]
        return "\n".join([*lines, "}", ""])

    def _frame(self) -> tuple[list[str], list[str]]:
        """The code that allocates and frees the stack frame."""
        if not self.stack_bytes:
            return [], []
        nbytes = -(-self.stack_bytes // 4) * 4
        before = [
            f"  %sp.now = call i32 @wse_push(ptr %pe, i32 {nbytes})",
            "  %sp = trunc i32 %sp.now to i16",
        ]
        return before, [f"  call void @wse_pop(ptr %pe, i32 {nbytes})"]
