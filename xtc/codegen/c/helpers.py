# SPDX-License-Identifier: Apache-2.0
"""The C text of helper functions and types, each printed once before the code that uses it.

Vectors use the extension that GCC and Clang share: operators work lane by lane, and comparisons
give vectors of integers that are 0 or -1.
"""

from __future__ import annotations

from collections.abc import Sequence

from xtc.codegen.c.types import CType


def vector_type(type: CType) -> str:
    """A vector type with natural alignment."""
    return (
        f"typedef {type.scalar.name} {type.name} "
        f"__attribute__((vector_size({type.nbytes * type.lanes})));"
    )


def memory_type(type: CType) -> str:
    """The same vector type with an element's alignment, which may alias any type."""
    return f"typedef {type.name} {type.name}_u __attribute__((aligned({type.nbytes}), may_alias));"


BF16_TYPE = "typedef uint16_t bf16;  // the upper half of a float"


def load(type: CType) -> str:
    """A function that loads a vector from consecutive elements."""
    return f"""\
static inline {type.name} load_{type.short}(const {type.scalar.name} *from) {{
  return *(const {type.name}_u *)from;
}}"""


def store(type: CType) -> str:
    """A function that stores a vector to consecutive elements."""
    return f"""\
static inline void store_{type.short}({type.scalar.name} *to, {type.name} value) {{
  *({type.name}_u *)to = value;
}}"""


_SUFFIXES = {"f32": "ps", "f64": "pd", "i32": "epi32", "i64": "epi64"}
_PREFIXES = {128: "_mm", 256: "_mm256", 512: "_mm512"}
_REGISTERS = {"ps": "", "pd": "d", "epi32": "i", "epi64": "i"}
_AVX512 = {128: "__AVX512VL__", 256: "__AVX512VL__", 512: "__AVX512F__"}


def load_part(type: CType) -> str:
    """A function that loads the first `count` lanes, the others 0, with x86 instructions.

    Intel intrinsics guide: loadu with a zeroing mask of AVX-512, maskload of AVX2.
    """
    suffix, prefix = _SUFFIXES[type.element], _PREFIXES[_bits(type)]
    avx2 = _under_avx2(
        type,
        f"return ({type.name}){prefix}_maskload_{suffix}((const {_pointee(type)} *)from, "
        f"{_lane_mask(type)});",
    )
    return f"""\
static inline {type.name} load_part_{type.short}(const {type.scalar.name} *from, size_t count) {{
#ifdef {_AVX512[_bits(type)]}
  return ({type.name}){prefix}_maskz_loadu_{suffix}((1u << count) - 1, from);
{avx2}#else
  {type.name} value = {{0}};
  memcpy(&value, from, count * sizeof *from);
  return value;
#endif
}}"""


def store_part(type: CType) -> str:
    """A function that stores the first `count` lanes, with x86 instructions."""
    suffix, prefix = _SUFFIXES[type.element], _PREFIXES[_bits(type)]
    register = f"__m{_bits(type)}{_REGISTERS[suffix]}"
    avx2 = _under_avx2(
        type,
        f"{prefix}_maskstore_{suffix}(({_pointee(type)} *)to, {_lane_mask(type)}, "
        f"({register})value);",
    )
    parameters = f"{type.scalar.name} *to, {type.name} value, size_t count"
    return f"""\
static inline void store_part_{type.short}({parameters}) {{
#ifdef {_AVX512[_bits(type)]}
  {prefix}_mask_storeu_{suffix}(to, (1u << count) - 1, ({register})value);
{avx2}#else
  memcpy(to, &value, count * sizeof *to);
#endif
}}"""


def _bits(type: CType) -> int:
    return type.bits * type.lanes


def _under_avx2(type: CType, statement: str) -> str:
    """A preprocessor branch for AVX2, whose vectors have at most 256 bits."""
    return "" if _bits(type) > 256 else f"#elif defined(__AVX2__)\n  {statement}\n"


def _pointee(type: CType) -> str:
    """The element type in the intrinsics' pointer parameters."""
    return {"i32": "int", "i64": "long long"}.get(type.element, type.scalar.name)


def _lane_mask(type: CType) -> str:
    """A mask of the first `count` lanes in a vector register."""
    lanes = ", ".join(str(lane) for lane in range(type.lanes))
    mask, integer = type.mask.name, type.mask.scalar.name
    return f"(__m{_bits(type)}i)(({mask}){{{lanes}}} < ({integer})count)"


def splat(type: CType) -> str:
    """A splat: x - 0 is x, even for -0; not for _Float16, which C computes as float."""
    lanes = ", ".join("x" for _ in range(type.lanes))
    listed = type.element == "f16" or type.lanes == 1
    value = f"({type.name}){{{lanes}}}" if listed else f"x - ({type.name}){{0}}"
    return f"""\
static inline {type.name} splat_{type.short}({type.scalar.name} x) {{
  return {value};
}}"""


def select(type: CType) -> str:
    """A select: the lanes of `a` where the mask is -1, of `b` where it is 0."""
    mask = type.mask.name
    return f"""\
static inline {type.name} select_{type.short}({mask} mask, {type.name} a, {type.name} b) {{
  return ({type.name})((mask & ({mask})a) | (~mask & ({mask})b));
}}"""


def extreme(kind: str, type: CType) -> str:
    """The maximum or minimum of floats: NaN if either is NaN; +0 is greater than -0."""
    sign = ">" if kind == "maximum" else "<"
    if type.lanes:
        mask, zero = type.mask.name, ">= 0" if kind == "maximum" else "< 0"
        tie = f"(({mask})(a == b) & ({mask})(({mask})a {zero}))"
        return f"""\
static inline {type.name} {kind}_{type.short}({type.name} a, {type.name} b) {{
  const {mask} first = ({mask})(a {sign} b) | ({mask})(a != a) | {tie};
  return ({type.name})((first & ({mask})a) | (~first & ({mask})b));
}}"""
    tie = "!signbit(a)" if kind == "maximum" else "signbit(a)"
    return f"""\
static inline {type.name} {kind}_{type.short}({type.name} a, {type.name} b) {{
  return a {sign} b || a != a || (a == b && {tie}) ? a : b;
}}"""


def integer_extreme(kind: str, type: CType) -> str:
    """The maximum or minimum of integers; kinds that begin with u are unsigned."""
    sign = ">" if kind.endswith("maximum") else "<"
    name, unsigned = type.name, kind.startswith("u")
    if type.lanes:
        flip = f" ^ INT{type.bits}_MIN" if unsigned else ""
        return f"""\
static inline {name} {kind}_{type.short}({name} a, {name} b) {{
  const {name} first = ({name})((a{flip}) {sign} (b{flip}));
  return (first & a) | (~first & b);
}}"""
    convert = f"(u{name})" if unsigned else ""
    return f"""\
static inline {name} {kind}_{type.short}({name} a, {name} b) {{
  return {convert}a {sign} {convert}b ? a : b;
}}"""


def by_lane(function: str, name: str, type: CType, arguments: Sequence[str]) -> str:
    """A function that applies a C library function to each lane."""
    parameters = ", ".join(f"{type.name} {argument}" for argument in arguments)
    lanes = ", ".join(f"{argument}[lane]" for argument in arguments)
    first = arguments[0]
    return f"""\
static inline {type.name} {name}_{type.short}({parameters}) {{
  for (int lane = 0; lane < {type.lanes}; ++lane) {{
    {first}[lane] = {function}({lanes});
  }}
  return {first};
}}"""


def division(name: str) -> str:
    """A division of indices that rounds down or up."""
    adjust = "- (n % d != 0 && (n < 0) != (d < 0))"
    if name == "ceil_div":
        adjust = "+ (n % d != 0 && (n < 0) == (d < 0))"
    return f"""\
static inline ptrdiff_t {name}(ptrdiff_t n, ptrdiff_t d) {{
  return n / d {adjust};
}}"""


FLOAT_OF_BF16 = """\
static inline float float_of_bf16(bf16 x) {
  const uint32_t bits = (uint32_t)x << 16;
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}"""

BF16_OF_FLOAT = """\
// Rounds to nearest, ties to even; NaN stays NaN.
static inline bf16 bf16_of_float(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  if (x != x) {
    return (bf16)(bits >> 16 | 0x40);
  }
  return (bf16)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}"""


def floats_of_bf16(lanes: int) -> str:
    """A conversion of bf16 vectors to float."""
    return f"""\
static inline f32x{lanes} float_of_bf16x{lanes}(bf16x{lanes} x) {{
  return (f32x{lanes})(__builtin_convertvector(x, u32x{lanes}) << 16);
}}"""


def bf16_of_floats(lanes: int) -> str:
    """A rounding of float vectors to bf16."""
    wide = f"u32x{lanes}"
    return f"""\
// Rounds to nearest, ties to even; NaN stays NaN.
static inline bf16x{lanes} bf16_of_f32x{lanes}(f32x{lanes} x) {{
  const {wide} bits = ({wide})x;
  const {wide} nan = ({wide})(x != x);
  const {wide} rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
  return __builtin_convertvector((nan & (bits >> 16 | 0x40)) | (~nan & rounded), bf16x{lanes});
}}"""
