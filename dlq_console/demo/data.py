"""What the invented companies buy and sell: customers, products and the documents made of them.

Everything follows from a seed, and nothing can be mistaken for real: the companies are named after animals, their
mail addresses end in `.example`, and every tax number has wrong check digits.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import cache
from random import Random
from typing import Any

#: Of the demo's customers; its ERP and its producers must agree on it.
SEED = 2026
#: Customers an account trades with.
CUSTOMERS_PER_ACCOUNT = 60
#: How many of them nobody has registered in the ERP yet.
UNREGISTERED_PER_ACCOUNT = 6

_TRADES = (
    "Padaria",
    "Papelaria",
    "Oficina",
    "Mercearia",
    "Farmácia",
    "Livraria",
    "Ferragens",
    "Floricultura",
)
_ANIMALS = (
    "Capivara",
    "Tamanduá",
    "Jaguatirica",
    "Arara",
    "Sabiá",
    "Tatu",
    "Quati",
    "Lontra",
    "Mico-Leão",
    "Jabuti",
)
_COLOURS = ("Azul", "Verde", "Dourada", "Prateada", "Lilás", "Coral")
_TOWNS = (
    "Vila Inventada",
    "Porto Imaginário",
    "Serra de Papel",
    "Campo do Faz de Conta",
    "Lagoa de Mentirinha",
)
_GOODS = (
    ("Café torrado 500 g", "18.90"),
    ("Erva-mate 1 kg", "24.50"),
    ("Caderno pautado", "12.40"),
    ("Caneta azul, caixa com 50", "39.90"),
    ("Parafuso sextavado, cento", "27.35"),
    ("Furadeira de bancada", "1240.00"),
    ("Vaso de barro", "33.00"),
    ("Lâmpada LED 9 W", "8.75"),
    ("Óleo lubrificante 1 L", "31.20"),
    ("Farinha de mandioca 1 kg", "9.80"),
    ("Rapadura, fardo com 12", "64.80"),
    ("Estante de aço", "389.00"),
)


@dataclass(frozen=True, slots=True)
class Customer:
    """A company that buys; `registered` says whether the ERP knows it from the start."""

    code: str
    name: str
    document: str
    email: str
    town: str
    registered: bool


@dataclass(frozen=True, slots=True)
class Product:
    """Something sold, with its price in reais."""

    sku: str
    name: str
    price: Decimal


PRODUCTS = tuple(
    Product(sku=f"P-{number:04d}", name=name, price=Decimal(price))
    for number, (name, price) in enumerate(_GOODS, start=31)
)


@cache
def customers(seed: int, account: str) -> tuple[Customer, ...]:
    """The customers of an account; the same seed and account give the same ones."""
    random = Random(f"customers:{seed}:{account}")
    codes = random.sample(range(1000, 10_000), CUSTOMERS_PER_ACCOUNT)
    unregistered = set(random.sample(codes, UNREGISTERED_PER_ACCOUNT))
    return tuple(_customer(random, code, code not in unregistered) for code in codes)


def _customer(random: Random, code: int, registered: bool) -> Customer:
    animal, colour = random.choice(_ANIMALS), random.choice(_COLOURS)
    return Customer(
        code=str(code),
        name=f"{random.choice(_TRADES)} {animal} {colour}",
        document=_impossible_cnpj(code),
        email=f"compras.{code}@empresa-inventada.example",
        town=random.choice(_TOWNS),
        registered=registered,
    )


def _impossible_cnpj(code: int) -> str:
    """A tax number in the usual form whose first check digit is wrong, so that it can belong to nobody."""
    base = f"00{code:06d}0001"
    wrong = (cnpj_check_digit(base) + 1) % 10
    return f"{base[:2]}.{base[2:5]}.{base[5:8]}/{base[8:]}-{wrong}0"


def cnpj_check_digit(base: str) -> int:
    """The first check digit that a CNPJ with these 12 digits would need."""
    weights = (5, 4, 3, 2, 9, 8, 7, 6, 5, 4, 3, 2)
    rest = sum(int(digit) * weight for digit, weight in zip(base, weights, strict=True)) % 11
    return 0 if rest < 2 else 11 - rest


def order(random: Random, customer: Customer, number: int, issued_on: date) -> dict[str, Any]:
    """The payload of an order of one to four different products."""
    lines = [_line(random, product) for product in random.sample(PRODUCTS, random.randint(1, 4))]
    return {
        "number": str(number),
        "customer_code": customer.code,
        "customer_name": customer.name,
        "issued_on": issued_on,
        "lines": lines,
        "total": sum((line["amount"] for line in lines), Decimal(0)),
    }


def _line(random: Random, product: Product) -> dict[str, Any]:
    quantity = random.randint(1, 24)
    return {
        "sku": product.sku,
        "description": product.name,
        "quantity": quantity,
        "unit_price": product.price,
        "amount": product.price * quantity,
    }


def invoice(of_order: dict[str, Any], number: int, *, wrong_total: bool) -> dict[str, Any]:
    """The payload of the invoice of an order; with `wrong_total` its sum is one real too high, which an ERP refuses."""
    return {
        "number": str(number),
        "order_number": of_order["number"],
        "customer_code": of_order["customer_code"],
        "issued_on": of_order["issued_on"],
        "lines": of_order["lines"],
        "total": of_order["total"] + (1 if wrong_total else 0),
    }


def customer_record(customer: Customer, credit_limit: Decimal) -> dict[str, Any]:
    """The payload that registers or changes a customer."""
    return {
        "code": customer.code,
        "name": customer.name,
        "document": customer.document,
        "email": customer.email,
        "town": customer.town,
        "credit_limit": credit_limit,
    }


def stock_move(random: Random, moved_on: date) -> dict[str, Any]:
    """The payload of goods entering (positive) or leaving (negative) a warehouse."""
    product = random.choice(PRODUCTS)
    return {
        "sku": product.sku,
        "description": product.name,
        "quantity": random.choice((-1, 1)) * random.randint(1, 60),
        "warehouse": random.choice(("central", "loja", "devolucoes")),
        "moved_on": moved_on,
    }
