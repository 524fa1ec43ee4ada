"""The rules of idempotency keys."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from datetime import date, datetime, time
from decimal import Decimal
from enum import Enum
from hashlib import sha256
from itertools import combinations
from pathlib import Path
from typing import Any
from unicodedata import normalize
from uuid import UUID

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from dlq_console.errors import PayloadRefused
from dlq_console.store.canonical import canonical_json
from dlq_console.store.keys import (
    MAX_OWN_KEY,
    canonical_content_key,
    check_text,
    content_key,
    effect_key,
    own_key,
    payload_hash,
)

GOLDEN = json.loads((Path(__file__).parent / "golden_keys.json").read_text(encoding="utf-8"))
KEY = re.compile(r"v1:([\x21-\x39\x3b-\x7e]+):([\x21-\x39\x3b-\x7e]+):([\x21-\x39\x3b-\x7e]+):[0-9a-f]{32}")


class Weekday(Enum):
    MONDAY = "monday"


PYTHON_VALUES: dict[str, Callable[[Any], Any]] = {
    "$decimal": Decimal,
    "$datetime": datetime.fromisoformat,
    "$date": date.fromisoformat,
    "$time": time.fromisoformat,
    "$uuid": UUID,
    "$tuple": tuple,
    "$weekday": Weekday.__getitem__,
}


def python_value(value: Any) -> Any:
    """A payload of the golden file with the Python values it stands for."""
    if isinstance(value, list):
        return [python_value(item) for item in value]
    if not isinstance(value, dict):
        return value
    members = {key: python_value(item) for key, item in value.items()}
    name = next(iter(members), "")
    return PYTHON_VALUES[name](members[name]) if name in PYTHON_VALUES else members


def golden_keys() -> dict[str, str]:
    """The key of every golden pair as this process makes it, by name."""
    return {
        pair["name"]: content_key(
            kind=pair["kind"],
            account=pair["account"],
            entity_id=pair["entity_id"],
            version=pair["version"],
            payload=python_value(pair["payload"]),
        )
        for pair in GOLDEN["pairs"]
    }


def key(**changed: Any) -> str:
    arguments: dict[str, Any] = {"kind": "order.create", "account": "filial-sp", "entity_id": "8841"}
    return content_key(**{**arguments, "version": None, "payload": {}, **changed})


def test_golden_keys_have_not_changed() -> None:
    assert golden_keys() == {pair["name"]: pair["key"] for pair in GOLDEN["pairs"]}
    assert len(GOLDEN["pairs"]) >= 60


@pytest.mark.parametrize("names", GOLDEN["equal"], ids=lambda names: names[0])
def test_payloads_that_mean_the_same_have_one_key(names: list[str]) -> None:
    keys = golden_keys()
    assert len({keys[name] for name in names}) == 1


@pytest.mark.parametrize("names", GOLDEN["different"], ids=lambda names: names[0])
def test_events_that_differ_have_different_keys(names: list[str]) -> None:
    keys = golden_keys()
    for one, other in combinations(names, 2):
        assert keys[one] != keys[other], f"{one} / {other}"


@pytest.mark.parametrize(
    "environment",
    [
        {"PYTHONHASHSEED": "1", "LC_ALL": "C", "TZ": "Asia/Tokyo"},
        {"PYTHONHASHSEED": "4242", "LC_ALL": "tr_TR.UTF-8", "TZ": "America/Sao_Paulo", "PYTHONUTF8": "1"},
        {"PYTHONHASHSEED": "0", "LC_ALL": "POSIX", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    ],
)
def test_keys_are_the_same_in_a_process_with_another_hash_seed_locale_and_time_zone(
    environment: dict[str, str],
) -> None:
    program = "import json, runpy, sys; print(json.dumps(runpy.run_path(sys.argv[1])['golden_keys']()))"
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", program, __file__],
        env={**os.environ, **environment, "PYTHONPATH": str(root)},
        capture_output=True,
        check=True,
        timeout=60,
    )
    assert json.loads(done.stdout) == {pair["name"]: pair["key"] for pair in GOLDEN["pairs"]}


def test_the_digits_begin_the_hash_of_the_parts_with_their_lengths() -> None:
    hashed = b'12:order.create10:S\xc3\xa3o Paulo4:88412:v714:{"total":10.5}'
    digits = sha256(hashed).hexdigest()[:32]
    made = key(account="São Paulo", version="v7", payload={"total": Decimal("10.50")})
    assert made == f"v1:order.create:S%C3%A3o%20Paulo:8841:{digits}"


def test_an_absent_version_is_hashed_unlike_any_text() -> None:
    digits = sha256(b"12:order.create9:filial-sp4:8841-:2:{}").hexdigest()[:32]
    assert key() == f"v1:order.create:filial-sp:8841:{digits}"
    assert len({key(version=version) for version in (None, "", "-", "-:", "None", "0")}) == 6


def test_a_canonical_payload_makes_the_key_of_its_payload() -> None:
    payload = {"b": 1.0, "a": "x"}
    made = canonical_content_key(
        kind="order.create",
        account="filial-sp",
        entity_id="8841",
        version=None,
        canonical=canonical_json(payload),
    )
    assert made == key(payload=payload)


def test_two_accounts_with_the_same_entity_and_payload_have_different_keys() -> None:
    assert key(account="filial-sp") != key(account="filial-rj")


def test_a_version_tells_the_third_price_from_the_first() -> None:
    sent = [("1", 10), ("2", 12), ("3", 10)]
    assert len({key(version=version, payload={"price": price}) for version, price in sent}) == 3
    assert len({key(payload={"price": price}) for _, price in sent}) == 2


def test_ids_and_versions_may_come_as_numbers_or_uuids() -> None:
    assert key(entity_id=8841, version=3) == key(entity_id="8841", version="3")
    number = UUID("9f1c2d3e-4a5b-4c6d-8e7f-0123456789ab")
    assert key(entity_id=number) == key(entity_id=str(number))


fields = st.text(st.characters(exclude_categories=["Cs", "Cc", "Cf", "Zl", "Zp"]), min_size=1, max_size=120)
hostile = st.text("a:%/é*|3A ", min_size=1, max_size=50)
parts = (fields | hostile).filter(str.strip)


@given(parts, parts, parts)
def test_a_key_has_five_parts_few_characters_and_only_printable_ascii(
    kind: str, account: str, entity: str
) -> None:
    made = key(kind=kind, account=account, entity_id=entity)
    assert KEY.fullmatch(made)
    assert len(made) <= len("v1:") + 120 + len(":") + 32
    assert not re.search(r"%(?![0-9A-F]{2})", made)


@given(st.tuples(parts, parts, parts), st.tuples(parts, parts, parts))
@example(("a:b", "c", "d"), ("a", "b:c", "d"))
@example(("a", "b", "c"), ("ab", "c", "c"))
@example(("k" * 120, "a" * 120, "e1"), ("k" * 120, "a" * 119 + "b", "e1"))
def test_other_parts_make_another_key(one: tuple[str, str, str], other: tuple[str, str, str]) -> None:
    def clean(texts: tuple[str, str, str]) -> list[str]:
        return [normalize("NFC", text).strip() for text in texts]

    assume(clean(one) != clean(other))
    keys = {key(kind=kind, account=account, entity_id=entity) for kind, account, entity in (one, other)}
    assert len(keys) == 2


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"kind": ""}, "kind: it is empty; send a text."),
        ({"account": " \n"}, "account: it is empty; send a text."),
        ({"entity_id": None}, "entity_id: NoneType is not supported; send a text."),
        ({"entity_id": True}, "entity_id: bool is not supported; send a text."),
        ({"version": 1.5}, "version: float is not supported; send a text."),
        ({"kind": "k" * 121}, "kind: 121 characters are more than the limit of 120; shorten it."),
        ({"account": "a" * 121}, "account: 121 characters are more than the limit of 120; shorten it."),
        ({"entity_id": "e" * 201}, "entity_id: 201 characters are more than the limit of 200; shorten it."),
        ({"entity_id": 10**5000}, "entity_id: this number has too many digits; shorten it."),
        ({"version": "v" * 201}, "version: 201 characters are more than the limit of 200; shorten it."),
        ({"account": "a\0b"}, "account: a control character is not allowed; remove it."),
        ({"entity_id": "a\nb"}, "entity_id: a control character is not allowed; remove it."),
        ({"entity_id": "a\u202eb"}, "entity_id: a control character is not allowed; remove it."),
        (
            {"kind": "a\ud800"},
            "kind: half a character (a lone surrogate) cannot be stored; send valid Unicode text.",
        ),
        (
            {"payload": {"a": {1}}},
            "payload.a: a set is not supported; send a list in an order of your choice.",
        ),
    ],
)
def test_a_part_that_cannot_be_stored_is_refused_by_name(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(PayloadRefused) as caught:
        key(**changed)
    assert str(caught.value) == message


def test_a_checked_text_is_trimmed_and_in_one_unicode_form() -> None:
    assert check_text("  Sa\u0303o Paulo\n", "account", max_length=9) == "São Paulo"
    assert check_text(" ", "version", max_length=9, allow_empty=True) == ""


def test_an_own_key_is_kept_as_it_is() -> None:
    for text in ("invoice-77", "v1:invoice:77", "sha256:abc", "chave com espaço", "x" * MAX_OWN_KEY):
        assert own_key(text) == text
    assert own_key("  invoice-77 ") == "invoice-77"


def test_a_long_own_key_becomes_its_hash_and_stays_one_of_its_own() -> None:
    long = "x" * (MAX_OWN_KEY + 1)
    assert own_key(long) == f"sha256:{sha256(long.encode()).hexdigest()}"
    assert own_key(long) != own_key(long + "x")


@given(parts, parts, parts)
def test_an_own_key_can_never_be_the_key_of_another_event(kind: str, account: str, entity: str) -> None:
    with pytest.raises(PayloadRefused, match="this form is kept for keys made from content"):
        own_key(key(kind=kind, account=account, entity_id=entity))


@pytest.mark.parametrize(
    ("given_key", "message"),
    [
        ("", "idempotency_key: it is empty; send a text, or leave it out to have one made."),
        (" \t", "idempotency_key: it is empty; send a text, or leave it out to have one made."),
        ("a\0b", "idempotency_key: a control character is not allowed; remove it."),
        ("a\udc00", "idempotency_key: half a character (a lone surrogate) cannot be stored;"),
        (b"raw", "idempotency_key: bytes is not supported; send a text."),
    ],
)
def test_an_own_key_that_cannot_be_stored_is_refused(given_key: object, message: str) -> None:
    with pytest.raises(PayloadRefused) as caught:
        own_key(given_key)
    assert str(caught.value).startswith(message)


@given(st.text(max_size=250))
def test_any_own_key_is_refused_or_fits_its_column(text: str) -> None:
    try:
        kept = own_key(text)
    except PayloadRefused:
        return
    assert 1 <= len(kept) <= MAX_OWN_KEY
    assert own_key(kept) == kept


def test_the_effect_key_is_a_short_uuid_that_changes_with_key_and_generation_only() -> None:
    made = effect_key(key())
    assert made == effect_key(key(), 0)
    assert UUID(made).version == 8
    assert re.fullmatch(r"[a-z0-9-]{36}", made)
    assert len({made, effect_key(key(), 1), effect_key(key(), 10), effect_key(key(version="1"))}) == 4


def test_the_effect_key_of_a_given_event_has_not_changed() -> None:
    assert (
        effect_key("v1:order.create:filial-sp:8841:00000000000000000000000000000000")
        == "82be9e1f-264e-8e1f-a002-4ecc3cbe8cd4"
    )


def test_a_payload_hash_is_the_sha256_of_the_canonical_text() -> None:
    assert payload_hash('{"a":"é"}') == sha256('{"a":"é"}'.encode()).hexdigest()
