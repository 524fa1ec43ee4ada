"""Which fields of a payload are masked: by their names, by DLQ_REDACT, and by what is written inside a text."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dlq_console.errors import ConfigurationError
from dlq_console.redact import MASK, also_secret, is_secret, masked, read_paths, redact_text
from dlq_console.redact.fields import is_masked_path, is_never_shown
from dlq_console.runtime import Hub
from dlq_console.settings import read_settings


@pytest.mark.parametrize(
    "name",
    [
        "password", "Senha", "access_token", "accessToken", "API-Key", "apikey", "app_secret", "clientSecret", "CPF",
        "cnpj_cliente", "Authorization", "set-cookie", "card_number", "JWT", "tokens", "app_key", "sessionId",
    ],
)  # fmt: skip
def test_a_secret_is_known_by_its_name(name: str) -> None:
    assert is_secret(name)


@pytest.mark.parametrize(
    "name", ["customer_code", "tokenizer", "secretary", "passport", "key", "document", "", "123", "cpfl"]
)
def test_other_names_are_left_alone(name: str) -> None:
    assert not is_secret(name)


def test_masking_copies_and_keeps_what_is_not_secret() -> None:
    value = {"a": [{"token": "x", "b": 1}], "senha": None, "cpf": "", "secret": {"deep": 1}}
    assert masked(value) == {"a": [{"token": MASK, "b": 1}], "senha": None, "cpf": "", "secret": MASK}
    assert value["a"] == [{"token": "x", "b": 1}]


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ({"name": "app_secret", "value": "canary"}, {"name": "app_secret", "value": MASK}),
        ({"chave": "senha", "valor": 7}, {"chave": "senha", "valor": MASK}),
        ({"name": "color", "value": "red"}, {"name": "color", "value": "red"}),
        ({"callback": "https://a:canary@b/c"}, {"callback": f"https://{MASK}@b/c"}),
        ({"raw": '{"app_key": "canary", "n": 1}'}, {"raw": f'{{"app_key": "{MASK}", "n": 1}}'}),
        (["Bearer canary0123456789"], [f"Bearer {MASK}"]),
        ("plain text", "plain text"),
        ({"mail": "ana@empresa.example"}, {"mail": "ana@empresa.example"}),
    ],
)
def test_a_secret_beside_its_name_or_inside_a_text_is_masked(value: Any, shown: Any) -> None:
    assert masked(value) == shown


@pytest.mark.parametrize(
    ("paths", "value", "shown"),
    [
        ("fone", {"a": {"FONE": "1"}, "fones": "2"}, {"a": {"FONE": MASK}, "fones": "2"}),
        (
            "cliente.fone",
            {"fone": 1, "cliente": {"fone": 2, "x": {"fone": 3}}},
            {"fone": 1, "cliente": {"fone": MASK, "x": {"fone": 3}}},
        ),
        ("cliente.*", {"cliente": [{"a": 1}, {"b": {"c": 2}}]}, {"cliente": [{"a": MASK}, {"b": MASK}]}),
        ("*.fone", {"fone": 1, "x": {"fone": 2}}, {"fone": 1, "x": {"fone": MASK}}),
        ("fone, rua", {"fone": None, "rua": [1, 2]}, {"fone": None, "rua": MASK}),
    ],
)
def test_a_path_masks_the_fields_that_it_ends_at(
    forgetting: None, paths: str, value: Any, shown: Any
) -> None:
    also_secret(read_paths(paths))
    assert masked(value) == shown


def test_what_a_path_ends_at_is_taken_out_of_errors_as_well(forgetting: None) -> None:
    also_secret(read_paths("cliente.fone"))
    assert (
        redact_text('refused {"fone": "canary"} and fone=canary')
        == f'refused {{"fone": "{MASK}"}} and fone={MASK}'
    )
    assert redact_text("telefone=11 is kept") == "telefone=11 is kept"


def test_the_setting_reaches_what_the_process_shows_and_only_ever_adds(forgetting: None) -> None:
    for paths in ("fone", ""):
        Hub(read_settings(database_url="sqlite:///unused.db", redact=paths)).close()
        assert masked({"fone": "canary"}) == {"fone": MASK}


@pytest.mark.parametrize("paths", ["a..b", ".", "*", "*.*", "x" * 101, ".".join("abcdefghijk")])
def test_a_path_that_cannot_be_one_is_refused_with_a_sentence(paths: str) -> None:
    with pytest.raises(ConfigurationError, match="DLQ_REDACT is wrong: "):
        read_settings(redact=paths)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["a", "name", "value", "senha", "token"]) | st.text(max_size=8), inner, max_size=4
        )
    ),
    max_leaves=12,
)


@settings(deadline=None)
@given(json_values)
def test_masking_twice_changes_nothing_more_and_keeps_the_shape(value: Any) -> None:
    once = masked(value)
    assert masked(once) == once
    json.dumps(once)
    if isinstance(value, dict):
        assert list(once) == list(value)


@settings(deadline=None)
@given(json_values)
def test_no_secret_field_survives_at_any_depth(value: Any) -> None:
    canary = "c4n4ry"
    shown = json.dumps(
        masked({"list": [value, {"x": {"senha": canary, "appSecret": [canary], "n": {"token": canary}}}]})
    )
    assert canary not in shown


@pytest.mark.parametrize(
    ("name", "never"),
    [
        ("password", True),
        ("cpf_password", True),
        ("cnpjToken", True),
        ("cpf", False),
        ("customer_cnpj", False),
        ("number", False),
    ],
)
def test_numbers_of_people_are_masked_but_are_no_keys_to_anything(name: str, never: bool) -> None:
    assert is_never_shown(name) is never


@pytest.mark.parametrize(
    ("path", "hidden"),
    [
        ("customer.cpf", True),
        ("items.0.senha", True),
        ("token.inner", True),
        ("customer.name", False),
        ("items.0.sku", False),
    ],
)
def test_a_path_to_or_through_a_masked_field_is_masked(path: str, hidden: bool) -> None:
    assert is_masked_path(path) is hidden
