# SPDX-License-Identifier: Apache-2.0
"""Environment variables: their defaults as text, and the errors of invalid values."""

from __future__ import annotations

from typing import Any

import pytest

from xtc.core import knobs
from xtc.core.errors import UserError
from xtc.core.knobs import KNOBS, Knob


@pytest.mark.parametrize("knob", KNOBS.values(), ids=lambda knob: knob.name)
def test_the_text_of_a_default_is_a_value_of_the_variable(knob: Knob[Any]) -> None:
    if knob.default_text:
        assert knob.parse(knob.default_text) == knob.default
    else:
        assert knob.default in (None, (), "")


@pytest.mark.parametrize(
    ("knob", "hint"),
    [
        (knobs.CACHE, "unset XTC_CACHE to get the default (1)"),
        (knobs.THREADS, "unset XTC_THREADS to get the default"),
        (knobs.UPMEM_SEED, "unset XTC_UPMEM_SEED to get the default (0)"),
    ],
    ids=lambda value: value.name if isinstance(value, Knob) else "",
)
def test_an_invalid_value_is_refused_with_the_default(
    knob: Knob[Any], hint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(knob.name, "many")
    with pytest.raises(UserError, match=f"{knob.name} has the unusable value 'many'") as caught:
        knob.get()
    assert caught.value.hints == (hint,)
