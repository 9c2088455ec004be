# SPDX-License-Identifier: Apache-2.0
"""Hints for idioms of NumPy, CUDA and other tile languages."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType

from xtc.core.errors import UserError, close_match, did_you_mean

_OF_TILES = frozenset(
    (
        "sum max min any all abs neg exp exp2 log log2 sqrt rsqrt round floor ceil square dot "
        "sin cos tanh erf reshape flatten view squeeze unsqueeze repeat repeat_interleave cumsum "
        "cumprod scan where clip maximum minimum cast"
    ).split()
)
"""Instructions that are array methods elsewhere."""

_BLOCK = "a kernel describes a whole block: self.single_thread() selects one thread"
_GROUP = "call one of its instructions, as self.mbarrier.arrive(barrier)"
_TILE = "self.register_tensor(dtype=..., shape=[...], init=...), a number or a function of indices"
_NAMES: Mapping[str, str] = MappingProxyType(
    {
        "threadIdx": _BLOCK,
        "blockDim": _BLOCK,
        "get_thread_binding": _BLOCK,
        **dict.fromkeys(("syncthreads", "sync_threads", "syncwarp", "barrier"), "self.sync()"),
        "T": "self.transpose(x)",
        "astype": "self.cast(x, dtype=...)",
        "size": "math.prod(x.shape)",
        "mma": "self.dot(a, b, c)",
        "sigmoid": "1.0 / (1.0 + self.exp(-x))",
        "relu": "self.maximum(x, 0.0)",
        "pow": "x ** y",
        "log1p": "self.log(1.0 + x)",
        "permute": "self.transpose(x) exchanges two dimensions, s.permute(dims) those of memory",
        "reduce": "self.sum, self.max, self.min, self.any and self.all; self.scan for prefixes",
        **dict.fromkeys(("broadcast_to", "expand"), "operators broadcast; self.repeat(x, [2, 1])"),
        **dict.fromkeys(
            ("cat", "concatenate", "join", "stack"),
            "assign parts of a tile: y[:, 0] = x, or store parts of a shared tensor",
        ),
        **dict.fromkeys(
            ("gather", "take"),
            "elements are read by number, x[i].item(); atomic.global_scatter_add of zeros returns "
            "those at indices by output=",
        ),
        **dict.fromkeys(
            ("sort", "topk"), "self.max and self.where select one after another, or write a network"
        ),
        "softmax": "self.max, self.exp and self.sum compute it",
        "program_id": "self.blockIdx.x",
        "num_programs": "self.gridDim.x",
        **dict.fromkeys(("cdiv", "ceildiv", "ceil_div"), "self.utils.cdiv(a, b)"),
        **dict.fromkeys(("atomic_add", "atomicAdd"), "self.atomic.global_add(tensor, values)"),
        "load": "self.load_global or self.load_shared",
        "store": "self.store_global or self.store_shared",
        **dict.fromkeys(("arange", "zeros", "ones", "full", "empty"), _TILE),
        # Names of earlier versions of Tilus.
        "load_global_generic": "self.load_global(tensor, offsets=[...], shape=[...])",
        "store_global_generic": "self.store_global(tensor, tile, offsets=[...])",
        "mma_dot": "self.dot(a, b, c)",
        **dict.fromkeys(("init_barrier", "init"), "self.mbarrier.alloc(counts)"),
        "arrive_barrier": "self.mbarrier.arrive(barrier)",
        "wait_barrier": "self.mbarrier.wait(barrier, phase)",
        "fence_proxy_copy_async": "self.fence.proxy_async()",
        **dict.fromkeys(
            ("copy_async_bulk_global_to_shared", "copy_async_tensor_global_to_shared"),
            "self.tma.global_to_shared(src=, dst=, offsets=, mbarrier=)",
        ),
        **dict.fromkeys(
            ("copy_async_bulk_shared_to_global", "copy_async_tensor_shared_to_global"),
            "self.tma.shared_to_global(src, dst, offsets)",
        ),
        "copy_async_bulk_global_to_cluster_shared": (
            "self.tma.global_to_shared(src=, dst=, offsets=, mbarrier=, multicast_mask=)"
        ),
        "tma.load": "self.tma.global_to_shared(src=, dst=, offsets=, mbarrier=)",
        "tma.store": "self.tma.shared_to_global(src, dst, offsets)",
        **dict.fromkeys(("block_rank", "block_rank_in_cluster"), "self.cluster.blockRank"),
    }
)
_VALUES: Mapping[str, str] = MappingProxyType(
    {
        "Scalar": "a run-time number",
        "Pointer": "a pointer",
        "RegisterTensor": "a register tensor",
        "SharedTensor": "a shared tensor",
        "GlobalTensor": "a global tensor",
        "DataType": "an element type",
        "Range": "a range",
        "Barrier": "an mbarrier",
        "Barriers": "a list of mbarriers",
    }
)
_MODULES = frozenset(("tl", "T", "triton", "tilelang", "ct", "cute", "gl"))
_ARGUMENTS: Mapping[str, str] = MappingProxyType(
    {
        "axis": "it is called 'dim'",
        "keepdims": "it is called 'keepdim'",
        "offset": "it is called 'offsets', one for each dimension",
        "offsets": "index the tensor to choose a part of it: s[i], s[:, j]",
        "parity": "it is called 'phase'",
        "group_size": "it is called 'num_threads'",
        "cta_mask": "it is called 'multicast_mask'",
        "mask": "elements outside of a tensor are read as 0, and not written",
        "other": "elements outside of a tensor are read as 0: choose others by self.where",
    }
)


_MESSAGES: Mapping[str, str] = MappingProxyType(
    {
        "'Dim3' object is not subscriptable": "self.blockIdx.x, .y and .z",
        "'Barrier' object is not subscriptable": "alloc([1, 1]) is a list, alloc(1) an mbarrier",
        "'Pointer' object is not subscriptable": "self.global_view(p, dtype=, shape=) has elements",
        "'Range' object is not subscriptable": "a range is for loops: for i in range(n)",
        "'Fence' object is not callable": "self.fence.proxy_async()",
        "'(Atomic|Cluster|MBarrier|Tma|Wgmma)' object is not callable": _GROUP,
        "not supported between instances of": "load a tensor in memory into registers first",
        "doesn't define __round__": "self.round(x)",
        "'tuple' object does not support item assignment": "assign the whole tuple",
        "No such file": "read files before the kernel is compiled, and pass arrays to it",
        "'(Register|Global|Shared)Tensor' has no len": "x.shape has the sizes",
        "bad operand type for unary": "numbers and tiles are operands",
        "'RegisterTensor' object is not iterable": "self.sum(x) reduces it; x[0] is an element",
        "'int' object is not iterable": "for i in range(n)",
        "unsupported format string": "self.printf prints run-time numbers",
        "division( or modulo)? by zero": "the divisor is a constant: use another number",
        "index out of range": "indices are numbered from 0, and from -1 backwards",
    }
)
"""Hints for Python's own messages."""

_OF_SHARED: Mapping[str, str] = MappingProxyType(
    {
        "T": "s.transpose()",
        **dict.fromkeys(("reshape", "view"), "self.reshape_shared(s, shape)"),
        **dict.fromkeys(("load", "item"), "self.load_shared(s), or s[i, j].item()"),
        **dict.fromkeys(("store", "copy_"), "self.store_shared(s, tile)"),
    }
)
"""Names of shared tensors elsewhere."""

_OF_VALUES: Mapping[str, list[str]] = MappingProxyType(
    {
        "RegisterTensor": ["it has dtype, shape and to(dtype); instructions are self.sum(x), ..."],
        "SharedTensor": ["it has dtype, shape, nbytes, transpose() and s[i]"],
        "GlobalTensor": ["it has dtype, shape and g[i, j]; self.load_global(g, ...) loads a tile"],
        "Scalar": ["it has operators, and functions of Python's math: math.exp(x)"],
        "Pointer": ["self.global_view(p, dtype=..., shape=...) is a tensor over this memory"],
    }
)
"""Hints for unknown attributes of run-time values."""

_PYTHON: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "AsyncFor": ("async for", "write for"),
        "AsyncFunctionDef": ("async def", "write a method of the class"),
        "AsyncWith": ("async with", "write with"),
        "Await": ("await", "self.copy_async_wait_group(n) waits for copies"),
        "ClassDef": ("class", "write it outside, as a subclass of tile.Class"),
        "Delete": ("del", "self.free_shared(s) frees shared memory; other names need no deletion"),
        "FunctionDef": ("def", "write a method of the class, which is inlined, or a lambda"),
        "Global": ("global", "keep it in an attribute: self.count = ..."),
        "Import": ("import", "import at the top of the file"),
        "ImportFrom": ("import", "import at the top of the file"),
        "Match": ("match", "write if and elif"),
        "Nonlocal": ("nonlocal", "keep it in an attribute: self.count = ..."),
        "Raise": ("raise", "self.static_assert(condition, message) stops the compilation"),
        "Try": ("try", "nothing is raised on the device: check constants by self.static_assert"),
        "TryStar": ("try", "nothing is raised on the device"),
        "Yield": ("yield", "return several values as a tuple, or a list"),
        "YieldFrom": ("yield", "return several values as a tuple, or a list"),
    }
)
"""Unsupported Python syntax, as written, with alternatives."""


def of_python(node: ast.AST) -> tuple[str, list[str]]:
    """An unsupported piece of syntax, as written, and hints."""
    kind = type(node).__name__
    word, hint = _PYTHON.get(kind, (kind, ""))
    return word, [hint] if hint else []


def argument_hints(name: str) -> list[str]:
    """Hints for an unknown argument of an instruction."""
    return [_ARGUMENTS[name]] if name in _ARGUMENTS else []


def call_hints(problem: str, signature: inspect.Signature) -> list[str]:
    """Hints for a call whose arguments do not fit a function's parameters."""
    if found := re.search(r"missing a required(?: keyword-only)? argument: '(\w+)'", problem):
        return [f"pass it by name: {found[1]}=..."]
    named = [p.name for p in signature.parameters.values() if p.kind is p.KEYWORD_ONLY]
    if named:
        return [f"these are passed by name: {', '.join(f'{name}=' for name in named)}"]
    count = sum(name != "self" for name in signature.parameters)
    return [f"it takes at most {count}"] if count else ["it takes none"]


def not_in_group(group: str, name: str, known: Iterable[str]) -> UserError:
    """The error for a name that a group of instructions, which has those `known`, lacks."""
    public = [each for each in known if not each.startswith("_")]
    longer = [f"did you mean '{each}'?" for each in public if _is_part(name, each)][:1]
    known_as = _NAMES.get(f"{group}.{name}", _NAMES.get(name))
    hints = [known_as] if known_as is not None else longer or did_you_mean(name, public)
    return UserError(f"'{group}.{name}' is not supported", hints=hints)


def _is_part(name: str, other: str) -> bool:
    """Whether one name has the words of the other at an end."""
    short, long = sorted((name, other), key=len)
    return long.endswith(f"_{short}") or long.startswith(f"{short}_")


def name_hints(name: str) -> list[str]:
    """Hints for a name that is not defined."""
    if name == "tilus":
        return ["import xtc.tile as tilus"]
    if name in _NAMES:
        return [_NAMES[name]]
    if name not in _MODULES:
        return []
    return [
        f"functions of '{name}' elsewhere are methods of the script here: self.load_global, ..."
    ]


def error_hints(error: Exception) -> list[str]:
    """Hints for a Python error raised while a kernel is transcribed."""
    if isinstance(error, AttributeError) and error.name is not None:
        return _attribute_hints(error.name, error.obj)
    text = str(error)
    for pattern, hint in _MESSAGES.items():
        if re.search(pattern, text):
            return [hint]
    if isinstance(error, KeyError):
        return ["the keys of a dictionary are constants"]
    if found := re.search(r"has no callable (\w+) method", text):  # a NumPy function
        return _of_tile(found[1])
    return []


def _attribute_hints(name: str, owner: object) -> list[str]:
    if type(owner).__name__ in ("RegisterTensor", "Scalar") and name in _OF_TILES:
        return _of_tile(name)
    if type(owner).__name__ == "SharedTensor" and name in _OF_SHARED:
        return [_OF_SHARED[name]]
    if name in _NAMES:
        return [_NAMES[name]]
    if hasattr(type(owner), "blockIdx"):
        known = [each for each in dir(owner) if not each.startswith("_")]
        return close_match(name, known) or ["write a method of this name, or set it in __init__"]
    known = [each for each in dir(owner) if not each.startswith("_")]
    return close_match(name, known) or _OF_VALUES.get(type(owner).__name__, [])


def in_words(text: str) -> str:
    """Python's own message with the names that the language has for its values."""
    text = re.sub(r"object of type '(\w+)'", r"'\1' object", text)
    return re.sub(r"'(\w+)' object", lambda found: _VALUES.get(found[1], found[0]), text)


def _of_tile(name: str) -> list[str]:
    return [f"it is an instruction: self.{name}(tile)"] if name in _OF_TILES else []
