"""The table of models: which row a name means, and what is assumed of a model without one."""

import tomllib

import pytest

from core.model.base import TABLE, ModelAbilities, Price, ThinkingStyle, known_model
from core.usage import Usage

ROWS = tomllib.loads(TABLE.read_text())


@pytest.mark.parametrize("name", ROWS)
def test_every_row_is_found_by_its_name_and_is_plausible(name: str) -> None:
    row = ROWS[name]
    known = known_model("openai", name)
    able = known.abilities
    assert (able.context_tokens, able.max_output_tokens) == (row["context"], row["output"])
    assert 1024 <= row["output"] <= row["context"] <= 2_000_000
    assert able.max_temperature in (None, 1.0, 2.0)
    assert set(row) <= {"context", "output", "images", "temperature", "thinking", "usd"}
    assert (able.thinking is ThinkingStyle.NONE) == ("thinking" not in row)
    if known.price is not None:
        assert 0 < known.price.input_usd <= known.price.output_usd
        assert (known.price.cached_usd or 0) < known.price.input_usd


@pytest.mark.parametrize(
    "name, row",
    [
        ("gpt-5-mini", "gpt-5-mini"),
        ("gpt-5-mini-2025-08-07", "gpt-5-mini"),
        ("openai/gpt-5-mini", "gpt-5-mini"),
        ("azure/eu/GPT-5-mini", "gpt-5-mini"),
        ("gpt-5-2025-08-07", "gpt-5"),
        ("gpt-5.2-pro", "gpt-5-2"),
        ("gpt-5.9-later", "gpt-5"),
        ("gpt-4o-2024-11-20", "gpt-4o"),
        ("gpt-4-0613", "gpt-4"),
        ("anthropic/claude-opus-4.7", "claude-opus-4-7"),
        ("claude-opus-4-7@20260416", "claude-opus-4-7"),
        ("claude-next-6", "claude"),
        ("o3-mini-high", "o3-mini"),
    ],
)
def test_a_model_is_found_by_the_longest_matching_prefix_of_its_name(name: str, row: str) -> None:
    assert known_model("openai", name) == known_model("openai", row)
    assert known_model("openai", name).abilities.context_tokens == ROWS[row]["context"]


@pytest.mark.parametrize("name", ["sim-1", "gpt-4omega", "o3x", "gpt", "", "my-gpt-5", "llama3.3:70b"])
def test_nothing_is_assumed_of_an_unknown_model_except_that_it_may_think(name: str) -> None:
    for provider, style in (("openai", ThinkingStyle.EFFORT), ("anthropic", ThinkingStyle.ADAPTIVE)):
        known = known_model(provider, name)
        assert known.abilities == ModelAbilities(thinking=style)
        assert known.price is None


def test_the_api_decides_how_effort_and_temperature_are_given() -> None:
    for name, style in (
        ("claude-haiku-4-5", "budget"),
        ("claude-opus-4-6", "adaptive"),
        ("gpt-5", "adaptive"),
    ):
        assert known_model("anthropic", name).abilities.thinking == style
        assert known_model("openai", name).abilities.thinking == "effort"
    assert known_model("openai", "gpt-4o").abilities.max_temperature == 2.0
    assert known_model("anthropic", "gpt-4o").abilities.max_temperature == 1.0
    assert known_model("anthropic", "claude-opus-4-7").abilities.max_temperature is None


def test_a_free_model_has_no_price() -> None:
    assert known_model("openai", "openai/gpt-5-mini:free").price is None
    assert known_model("openai", "openai/gpt-5-mini").price == Price(0.25, 2.0, 0.025)


def test_cached_tokens_have_their_own_price() -> None:
    usage = Usage(1000, 100, cached_input_tokens=600, cache_write_tokens=300)
    assert Price(3.0, 15.0, 0.3, 3.75).applied(usage).cost_micro_usd == 300 + 1500 + 180 + 1125
    assert Price(3.0, 15.0).applied(usage).cost_micro_usd == 3000 + 1500
