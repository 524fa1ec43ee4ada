"""Which words do the pages of the simulated ERP use, in Portuguese and in English?"""

from __future__ import annotations

from dataclasses import fields

from dlq_console.demo.erp_temper import Temper

LANGUAGES = ("pt", "en")

#: Name of a sentence: (Portuguese, English).
WORDS: dict[str, tuple[str, str]] = {
    "title": ("ERP simulado", "Simulated ERP"),
    "intro": (
        "Aqui se conserta o cadastro que o ERP recusou. Depois, no console, use Reprocessar. Todos os dados são inventados.",
        "Here you fix the record that the ERP refused. Then use Reprocess in the console. All data are invented.",
    ),
    "all_accounts": ("Todas as contas", "All accounts"),
    "refresh": ("Atualizar", "Refresh"),
    "in_service": ("● em serviço", "● in service"),
    "slow": ("▲ lento agora", "▲ slow now"),
    "out_of_service": ("■ fora do ar", "■ out of service"),
    "blocked": ("■ bloqueado: {kinds}", "■ blocked: {kinds}"),
    "start_outage": ("Tirar do ar", "Start an outage"),
    "end_outage": ("Voltar ao ar", "End the outage"),
    "calls": ("Chamadas", "Calls"),
    "applied": ("Efeitos", "Effects"),
    "replayed": ("Repetições reconhecidas", "Repeats recognised"),
    "twice": ("Efeitos em dobro", "Effects that took place twice"),
    "refused": ("Recusas", "Refusals"),
    "while_blocked": ("Chamadas durante um bloqueio", "Calls during a block"),
    "missing_title": ("Clientes pedidos e não cadastrados", "Customers asked for and not registered"),
    "nothing_missing": ("Nenhum cliente falta agora.", "No customer is missing now."),
    "code": ("Código", "Code"),
    "name": ("Nome", "Name"),
    "wanted_by": ("Pedido por", "Asked for by"),
    "orders": ("pedido", "order"),
    "invoices": ("nota", "invoice"),
    "customers": ("cliente", "customer"),
    "stock-moves": ("movimento de estoque", "stock move"),
    "times": ("Vezes", "Times"),
    "last_asked": ("Última vez", "Last time"),
    "register_this": ("Cadastrar este cliente", "Register this customer"),
    "register_another": ("Cadastrar outro cliente", "Register another customer"),
    "register": ("Cadastrar", "Register"),
    "registered_title": ("Clientes cadastrados", "Registered customers"),
    "registered_notice": (
        "Cliente {code} cadastrado. Agora, no console, reprocesse os eventos dele.",
        "Customer {code} is registered. Now reprocess its events in the console.",
    ),
    "register_refused": (
        "O cliente não foi cadastrado: escreva um código e um nome, cada um com até 100 caracteres.",
        "The customer was not registered: write a code and a name, each of at most 100 characters.",
    ),
    "record_taken": (
        "● Está no ERP como documento {document}.",
        "● The ERP holds it as document {document}.",
    ),
    "customer_held": ("● Está cadastrado como {name}.", "● It is registered as {name}."),
    "record_absent": ("■ Não está no ERP.", "■ The ERP does not hold it."),
    "record_refused": ("Foi recusado por último com:", "It was refused last, with:"),
    "record_needs": (
        "Antes, o cliente {code} ({name}) precisa estar cadastrado.",
        "Before that, customer {code} ({name}) has to be registered.",
    ),
    "record_may_come": (
        "O cliente já está cadastrado. No console, use Reprocessar.",
        "The customer is registered by now. Use Reprocess in the console.",
    ),
    "temper_latency": ("responde em {latency} s", "answers within {latency} s"),
    "temper_limit": (
        "aceita {calls_per_window} chamadas em {window} s; acima disso, 429",
        "takes {calls_per_window} calls in {window} s; beyond that, 429",
    ),
    "temper_glitch": ("{glitch_rate} das chamadas param em um 502", "{glitch_rate} of calls end in a 502"),
    "temper_hang": (
        "{hang_rate} das chamadas travam por {hang} s, sem efeito",
        "{hang_rate} of calls hang for {hang} s, without effect",
    ),
    "temper_late": (
        "{late_rate} das chamadas têm efeito, mas a resposta demora {late} s",
        "{late_rate} of calls take effect, but the answer takes {late} s",
    ),
    "temper_late_every": (
        "de cada {late_every} chamadas, uma tem efeito, mas a resposta demora {late} s",
        "one in {late_every} calls takes effect, but its answer takes {late} s",
    ),
    "temper_block": (
        "depois de {block_after} recusas em {block_window} s, bloqueia esse tipo de chamada por {block_lasts} s",
        "after {block_after} refusals within {block_window} s it blocks that kind of call for {block_lasts} s",
    ),
    "temper_slow": (
        "fica lento (mais {slow_by} s) por {slow_lasts} s a cada {slow_every} s",
        "is slow (another {slow_by} s) for {slow_lasts} s in every {slow_every} s",
    ),
    "temper_outage": (
        "fica fora do ar por {outage_lasts} s a cada {outage_every} s",
        "is out of service for {outage_lasts} s in every {outage_every} s",
    ),
    "temper_doubles": (
        "não reconhece repetições: cada uma é um segundo efeito",
        "does not recognise repeats: each is a second effect",
    ),
    "temper_fault_on_repeat": ("responde a uma repetição com erro", "answers a repeat with a fault"),
}


def words(language: str) -> dict[str, str]:
    """Every sentence in one language, "pt" or "en"."""
    column = LANGUAGES.index(language)
    return {name: pair[column] for name, pair in WORDS.items()}


def describe(temper: Temper, language: str) -> list[str]:
    """A temper in plain words, one sentence part per trait."""
    say = words(language)
    values = {
        field.name: _value(field.name, getattr(temper, field.name), language) for field in fields(temper)
    }
    traits = {
        "temper_latency": True,
        "temper_limit": temper.calls_per_window,
        "temper_glitch": temper.glitch_rate,
        "temper_hang": temper.hang_rate,
        "temper_late": temper.late_rate,
        "temper_late_every": temper.late_every,
        "temper_block": temper.block_after,
        "temper_slow": temper.slow_every,
        "temper_outage": temper.outage_every,
        "temper_doubles": not temper.deduplicates,
        "temper_fault_on_repeat": temper.repeat_is_fault,
    }
    return [say[name].format(**values) for name, holds in traits.items() if holds]


def _value(name: str, value: float, language: str) -> str:
    text = f"{value * 100:.3g} %" if name.endswith("_rate") else f"{value:g}"
    return text.replace(".", ",") if language == "pt" else text
