"""Are wrong columns of a kind refused where they are written?"""

from __future__ import annotations

from typing import Any

import pytest

from dlq_console import ConfigurationError, Policy


def test_columns_are_labels_with_paths() -> None:
    policy = Policy(columns={" Order ": "order.number", "First item": "items.0.sku"})
    assert policy.columns == {"Order": "order.number", "First item": "items.0.sku"}
    assert policy.published()["columns"] == policy.columns


def test_a_policy_with_columns_can_still_be_a_key() -> None:
    assert len({Policy(columns={"Order": "number"}), Policy(columns={"Order": "number"})}) == 1


@pytest.mark.parametrize(
    ("columns", "told"),
    [
        ("number", "write up to 8 labels with a path each"),
        ({f"Field {number}": "number" for number in range(9)}, "write up to 8 labels with a path each"),
        ({"": "number"}, "a label is a text of 1 to 40 characters"),
        ({"x" * 41: "number"}, "a label is a text of 1 to 40 characters"),
        ({"a\u202eb": "number"}, "a label is a text of 1 to 40 characters"),
        ({7: "number"}, "a label is a text of 1 to 40 characters"),
        ({"Order": 7}, "Order: the path is a text"),
        ({"Order": ""}, "Order: write up to 10 names joined by dots"),
        ({"Order": "a..b"}, "Order: write up to 10 names joined by dots"),
        ({"Order": ".".join("abcdefghijk")}, "Order: write up to 10 names joined by dots"),
        ({"Key": "login.api_key"}, "Key: login.api_key is a secret"),
    ],
)
def test_wrong_columns_are_refused_with_what_to_write(columns: Any, told: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        Policy(columns=columns)
    assert caught.value.message.startswith(f"Policy.columns is wrong: {told}")
