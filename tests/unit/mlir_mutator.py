# SPDX-License-Identifier: Apache-2.0
"""Damages MLIR text: drops, duplicates, swaps and nests tokens, and inserts tokens that break
parsers."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from random import Random

import xtc.ops as O
from xtc.driver import prepare
from xtc.graph.graph import Graph

_TOKEN = re.compile(r"\"[^\"\n]*\"|//[^\n]*|[\w.$#%@!^-]+|->|\s+|.", re.DOTALL)
_NUMBER = re.compile(r"-?\d+")
NUMBERS = (
    *("0", "-1", "-4", "1", "2", "7", "1000", "65536", "2147483647", "-2147483648", "4294967296"),
    *("9223372036854775807", "-9223372036854775808", "99999999999999999999", "1e999", "0x", "?"),
)
PIECES = (
    *("<", ">", "(", ")", "[", "]", "{", "}", '"', "\\", "//", "#", "%", "@", "!", "^", ":", "->"),
    *(
        "\0",
        "é",
        "\ud800",
        "*",
        "tensor<",
        "memref<?x",
        "vector<[4]xf32>",
        "affine_map<(d0)->(d0)>",
    ),
    *("dense<", "loc(", "unit", "true", "index", "i0", "i16777215", "f8E4M3", "#a", "!a", "none"),
    *("distinct[0]<", "array<i64: ", "strided<[-1], offset: -9>", "return", "^bb0:", "%0", "@f"),
)
BRACKETS = (("[", "]"), ("(", ")"), ("{", "}"), ("<", ">"), ("tuple<", ">"), ("module {", "}"))
DEPTHS = (2, 50, 400, 501, 5_000, 100_000)


def corpus(root: Path) -> list[str]:
    """The MLIR of the lit tests, and the stages of two graphs."""
    texts = [path.read_text() for path in sorted(root.rglob("*.mlir"))]
    for graph, schedule in ((_product(), "C: {i: , j: , k: , j#8: vectorize}"), (_layers(), None)):
        stages = ("source", "scheduled", "bufferized", "lowered")
        texts += [prepare(graph, schedule=schedule).stage_text(stage) for stage in stages]
    return texts


def mutant(random: Random, texts: Sequence[str]) -> str:
    """One of the texts with one to four mutations."""
    tokens = list(_tokens(random.choice(texts)))
    for _ in range(random.choice((1, 1, 1, 2, 4))):
        if tokens:
            random.choice(_WAYS)(random, tokens, texts)
    return "".join(tokens)


@cache
def _tokens(text: str) -> tuple[str, ...]:
    return tuple(_TOKEN.findall(text))


def _drop(random: Random, tokens: list[str], _: Sequence[str]) -> None:
    start = random.randrange(len(tokens))
    del tokens[start : start + random.choice((1, 1, 2, 5, 40))]


def _double(random: Random, tokens: list[str], _: Sequence[str]) -> None:
    start = random.randrange(len(tokens))
    piece = tokens[start : start + random.choice((1, 3, 10, 60))]
    tokens[start:start] = piece * random.choice((1, 1, 2, 20))


def _swap(random: Random, tokens: list[str], _: Sequence[str]) -> None:
    a, b = random.randrange(len(tokens)), random.randrange(len(tokens))
    tokens[a], tokens[b] = tokens[b], tokens[a]


def _put(random: Random, tokens: list[str], _: Sequence[str]) -> None:
    tokens[random.randrange(len(tokens))] = random.choice((*PIECES, *NUMBERS, *tokens[:200]))


def _number(random: Random, tokens: list[str], _: Sequence[str]) -> None:
    places = [place for place, token in enumerate(tokens) if _NUMBER.search(token)]
    if places:
        place = random.choice(places)
        tokens[place] = _NUMBER.sub(random.choice(NUMBERS), tokens[place], count=1)


def _nest(random: Random, tokens: list[str], _: Sequence[str]) -> None:
    depth, (opening, closing) = random.choice(DEPTHS), random.choice(BRACKETS)
    place = random.randrange(len(tokens))
    tokens[place] = opening * depth + tokens[place] + closing * random.choice((depth, depth, 0))


def _splice(random: Random, tokens: list[str], texts: Sequence[str]) -> None:
    other = _tokens(random.choice(texts))
    start = random.randrange(len(other))
    place = random.randrange(len(tokens))
    tokens[place:place] = other[start : start + random.choice((3, 30, 300))]


def _cut(random: Random, tokens: list[str], _: Sequence[str]) -> None:
    del tokens[random.randrange(len(tokens)) :]


_WAYS: tuple[Callable[[Random, list[str], Sequence[str]], None], ...] = (
    *(_drop, _double, _swap, _put, _number, _number, _number, _nest, _splice, _cut),
)


def _product() -> Graph:
    a, b = O.tensor((8, 16), name="A"), O.tensor((16, 24), name="B")
    with O.graph(name="product") as gb:
        O.matmul(a, b, name="C")
    return gb.graph


def _layers() -> Graph:
    x, w = O.tensor((1, 8, 8, 3), name="X"), O.tensor((3, 3, 3, 4), name="W")
    with O.graph(name="layers") as gb:
        O.softmax(O.relu(O.conv2d(x, w)))
    return gb.graph
