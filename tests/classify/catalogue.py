"""The answers that providers are known to give, and what each means; the number of the row leads each name.

Bodies are made up in the shape that was seen. Rows without an answer to judge: 5 and 6 (how to call, kept as limits of the
pack), 24 (a list that lacks its total), 44 (a notice by mail), 39 (only field names, guessed).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from xmlrpc.client import Fault

import httpx

#: When all answers of the catalogue arrive: 11:30 in São Paulo, 15:30 in Warsaw.
NOW = datetime(2026, 11, 30, 14, 30, tzinfo=UTC)
UNTIL_MIDNIGHT_IN_SAO_PAULO = 12.5 * 3600
UNTIL_MIDNIGHT_UTC = 9.5 * 3600


@dataclass(frozen=True, kw_only=True)
class Case:
    """One answer and the verdict on it.

    Attributes:
        name: row of the catalogue, and what is special.
        body: JSON, a text, or an exception that is raised as it is.
    """

    name: str
    provider: str | None
    status: int | None
    body: Any
    class_: str
    effect: str
    reach: str
    wait: float | None = None
    source: str | None = None
    block: bool = False
    counts: str | None = None
    adopt: str | None = None
    renew: bool = False
    writes: bool = True
    kind: str = "order.create"
    headers: dict[str, str] | None = None

    def error(self) -> BaseException:
        """What a handler would raise."""
        if isinstance(self.body, BaseException):
            return self.body
        assert self.status is not None
        request = httpx.Request("POST", "http://127.0.0.1/")
        if isinstance(self.body, str):
            response = httpx.Response(self.status, text=self.body, headers=self.headers)
        else:
            response = httpx.Response(self.status, json=self.body, headers=self.headers)
        return httpx.HTTPStatusError("refused", request=request, response=response)


CASES: list[Case] = []


def case(
    name: str,
    provider: str | None,
    status: int | None,
    body: Any,
    class_: str,
    effect: str = "not_applied",
    reach: str = "event",
    wait: float | None = None,
    source: str | None = None,
    **more: Any,
) -> None:
    """Add one."""
    CASES.append(
        Case(
            name=name, provider=provider, status=status, body=body, class_=class_, effect=effect, reach=reach, wait=wait,
            source=source, **more,
        )
    )  # fmt: skip


def fault(code: str | int, text: str) -> dict[str, Any]:
    """Omie's shape."""
    return {"faultcode": code, "faultstring": text}


def omie(
    name: str,
    code: str,
    text: str,
    class_: str,
    effect: str = "not_applied",
    reach: str = "event",
    wait: float | None = None,
    source: str | None = None,
    *,
    status: int = 500,
    **more: Any,
) -> None:
    """One fault of Omie."""
    case(name, "omie", status, fault(f"SOAP-ENV:{code}", text), class_, effect, reach, wait, source, **more)


def tiny(
    name: str,
    code: str | int | None,
    text: str,
    class_: str,
    effect: str = "not_applied",
    reach: str = "event",
    wait: float | None = None,
    source: str | None = None,
    *,
    status: int = 200,
    **more: Any,
) -> None:
    """One refusal of Tiny."""
    answer: dict[str, Any] = {"status": "Erro", "erros": [{"erro": text}]}
    if code is not None:
        answer["codigo_erro"] = code
    case(name, "tiny", status, {"retorno": answer}, class_, effect, reach, wait, source, **more)


# fmt: off
# One line each: a table is read down its columns.

# ---- 1a. Omie

case("01-omie-429", "omie", 429, "too many requests", "rate_limited", reach="method", wait=60, source="rule default")
case("01-omie-429-json", "omie", 429, {"message": "Too many requests"}, "rate_limited", reach="method", wait=60, source="rule default", counts="none")
case("01-omie-429-with-retry-after", "omie", 429, "too many requests", "rate_limited", reach="method", wait=17, source="header Retry-After", headers={"Retry-After": "17"})

BLOCK_EN = "API blocked for improper consumption, try again in 1700 seconds"
BLOCK_PT = "ERROR: API bloqueada por consumo indevido. Tente novamente em {} segundos."
omie("02-block-english", "Client-500", BLOCK_EN, "rate_limited", reach="method", wait=1700, source="message", status=425, block=True, counts="none")
omie("02-block-portuguese", "Client-500", BLOCK_PT.format(1789), "rate_limited", reach="method", wait=1789, source="message", status=425, block=True)
omie("02-block-in-a-500", "Client-500", BLOCK_PT.format(300), "rate_limited", reach="method", wait=300, source="message", block=True)
omie("02-block-in-a-200", "Client-500", BLOCK_PT.format(1678), "rate_limited", reach="method", wait=1678, source="message", status=200, block=True)
omie("02-block-of-57-seconds", "Client-500", BLOCK_PT.format(57), "rate_limited", reach="method", wait=57, source="message", block=True)
omie("02-block-without-a-number", "Client-500", "API bloqueada por consumo indevido", "rate_limited", reach="method", wait=1800, source="rule default", status=425, block=True)
case("02-block-without-a-body", "omie", 425, "", "rate_limited", reach="method", wait=1800, source="rule default", block=True)
case("02-block-as-a-page", "omie", 425, "<html><body>blocked</body></html>", "rate_limited", reach="method", wait=1800, source="rule default", block=True, headers={"Content-Type": "text/html"})
case("02-near-425-elsewhere", None, 425, "too early", "transient", counts="failure")
omie("02-near-a-blocked-customer", "Client-900", "cliente bloqueado para faturamento", "unknown", "unknown", counts="success")

case("03-misuse", "omie", 500, fault("MISUSE_API_PROCESS", "processo bloqueado"), "rate_limited", reach="method", wait=900, source="rule default", block=True)
case("03-misuse-with-a-number", "omie", 200, fault("MISUSE_API_PROCESS", "Tente novamente em 1200 segundos"), "rate_limited", reach="method", wait=1200, source="message", block=True)
case("03-misuse-small-letters", "omie", 500, fault("misuse_api_process", "x"), "rate_limited", reach="method", wait=900, source="rule default", block=True)
case("03-near-misuse-only-in-the-text", "omie", 500, fault("X", "see MISUSE of the field"), "unknown", "unknown")

omie("04-redundant-english", "Client-6", "redundant consumption, wait 43 seconds (REDUNDANT)", "rate_limited", "unknown", "event", 43, "message", counts="none")
omie("04-redundant-portuguese", "Client-6", "ERROR: Consumo redundante detectado. Aguarde 5 segundos", "rate_limited", "unknown", "event", 5, "message")
omie("04-redundant-in-a-200", "Client-6", "Consumo redundante detectado. Aguarde 57 segundos (REDUNDANT)", "rate_limited", "unknown", "event", 57, "message", status=200)
omie("04-redundant-without-a-number", "Client-6", "consumo redundante", "rate_limited", "unknown", "event", 60, "rule default")
omie("04-redundant-of-a-read", "Client-6", "Aguarde 9 segundos", "rate_limited", "not_applied", "event", 9, "message", writes=False)
omie("04-redundant-known-by-its-text", "Client-77", "ERROR: Consumo redundante detectado. Aguarde 43 segundos e tente novamente. (REDUNDANT)", "rate_limited", "unknown", "event", 43, "message")
omie("04-near-code-60", "Client-60", "valor", "unknown", "unknown")
omie("04-near-redundant-as-a-word", "Client-9", "campo redundante informado", "unknown", "unknown")

omie("07-method-runs", "Client-1880", "this method is already running", "transient", reach="method", counts="success")
omie("07-method-runs-portuguese", "Client-1880", "ERROR: Já existe uma requisição desse método sendo executada", "transient", reach="method", counts="success")
omie("07-method-runs-known-by-its-text", "Client-8", "Já existe uma requisição desse método sendo executada.", "transient", reach="method", counts="success")
omie("07-near-code-188", "Client-188", "x", "unknown", "unknown")

omie("08-no-records-of-a-list", "Client-5113", "no records for page 1", "benign", writes=False, counts="success")
omie("08-no-records-portuguese", "Client-5113", "ERROR: Não existem registros para a página [1]!", "benign", writes=False)
omie("08-no-records-in-a-200", "Client-5113", "Não existem registros para a página [42]!", "benign", status=200, writes=False)
omie("08-no-records-known-by-its-text", "Client-1", "Nao existem registros para a pagina [3]", "benign", writes=False)
omie("08-near-no-records-of-a-write", "Client-5113", "no records for page 1", "unknown", "unknown")
omie("08-near-code-511", "Client-511", "x", "unknown", "not_applied", writes=False)

omie("09-integration-code-known", "Client-101", "integration code [X-1] already registered", "duplicate", "applied", counts="success")
omie("09-integration-code-known-portuguese", "Client-101", "ERROR: Código de integração [X-1] já cadastrado!", "duplicate", "applied")
omie("09-order-known", "Client-101", "ERROR: Pedido de venda já cadastrado para o codigo de integracao [A-1]!", "duplicate", "applied")
omie("09-known-before", "Client-101", "O código de integração [abc] já foi cadastrado anteriormente.", "duplicate", "applied")
omie("09-other-code-same-text", "Client-4", "Código de integração [X-1] já cadastrado!", "duplicate", "applied")
omie("09-near-code-101-says-nothing", "Client-101", "valor", "unknown", "unknown")
omie("09-near-code-1011", "Client-1011", "valor", "unknown", "unknown")

omie("10-entry-known", "Client-102", "entry already registered for this account nCod [123]", "duplicate", "applied", adopt="123")
omie("10-entry-known-portuguese", "Client-102", "ERROR: Lançamento já cadastrado, nCod [8995630051]!", "duplicate", "applied", adopt="8995630051")
omie("10-entry-known-without-a-number", "Client-102", "entry already registered", "duplicate", "applied", adopt=None)
omie("10-near-number-of-something-else", "Client-102", "entry already registered with code [55]", "duplicate", "applied", adopt=None)
omie("10-near-code-102-says-nothing", "Client-102", "x", "unknown", "unknown")

omie("11-customer-known", "Client-100", "customer already registered for TAXID [00000000000191] with Id [77] and integration code [C-1]", "duplicate", "applied", adopt=None)
omie("11-customer-known-portuguese", "Client-100", "ERROR: Cliente já cadastrado para o CPF/CNPJ [00000000000191] com o Id [77] e código de integração [C-1]!", "duplicate", "applied", adopt=None)

omie("12-adjustment-known", "Client-1035", "stock adjustment exists for code [ITEM] with ID [9]", "duplicate", "unknown", adopt=None)
omie("12-adjustment-known-portuguese", "Client-1035", "ERROR: Já existe um ajuste de estoque para o código de integração [ITEM] com o ID [9]", "duplicate", "unknown", adopt=None)

omie("13-cost-is-pending", "Client-5", "balance/cost calculation not finished for this location", "transient", wait=300, source="rule default", counts="success")
omie("13-cost-is-pending-portuguese", "Client-5", "O cálculo do saldo/custo do estoque ainda não foi concluído para este local", "transient", wait=300, source="rule default", counts="success")
omie("13-near-cost-is-wrong", "Client-5", "custo informado excede o limite", "unknown", "unknown")

omie("14-not-registered", "Client-5", "document not registered for code [X]", "permanent", counts="success")
omie("14-not-registered-portuguese", "Client-5", "ERROR: Documento não cadastrado para o código [X]", "permanent")
omie("15-service-order-not-found", "Client-5001", "service order not found", "permanent")
omie("15-by-code-alone", "Client-5001", "x", "permanent")
omie("15-product-not-found", "Client-103", "ERROR: Produto não encontrado!", "permanent")

omie("16-missing-tag", "Client-3", "missing tag [codigo_cliente]", "permanent")
omie("16-unknown-tag", "Client-3", "ERROR: Tag [CODIGO] não faz parte da estrutura do tipo complexo", "permanent")
omie("16-unit-value", "Client-3", "unit value must exceed zero", "permanent")
omie("16-unit-value-portuguese", "Client-3", "O valor unitário deve ser maior que zero", "permanent")
omie("16-required", "Client-3", "ERROR: O preenchimento da tag [cnpj_cpf] é obrigatório!", "permanent")
omie("16-product-not-found", "Client-3", "product not found", "permanent")
omie("16-inactive-product", "Client-3", "produto inativo", "permanent")
omie("16-year-too-early", "Client-104", "ERROR: O ano informado na tag [filtrar_por_data_de] deve ser maior que 1900!", "permanent")

case("17-unstable-write", "omie", 500, {}, "transient", "unknown", counts="failure")
case("17-unstable-read", "omie", 500, {}, "transient", "not_applied", writes=False)
case("17-unstable-empty-body", "omie", 500, "", "transient", "unknown")
omie("17-server-fault", "Server", "internal error", "transient", "unknown")
omie("17-near-unknown-fault", "Client-9999", "algo deu errado", "unknown", "unknown", counts="success")

omie("18-bad-json-english", "Client-1", "Invalid JSON object", "permanent")
omie("18-bad-json-syntax", "Client-1", "JSON request with syntax error", "permanent")
case("18-bad-json-in-a-400", "omie", 400, "Invalid JSON object", "permanent")

omie("19-fault-in-a-200", "Client-5", "document not registered for code [X]", "permanent", status=200)
omie("19-unknown-fault-in-a-200", "Client-9999", "algo", "unknown", "unknown", status=200)
case("20-status-in-a-200", "omie", 200, {"cCodStatus": "101", "cDescStatus": "business refusal"}, "permanent")
case("20-status-as-a-number", "omie", 200, {"cCodStatus": 101, "cDescStatus": "recusado"}, "permanent")
case("20-near-no-status", "omie", 200, {"pedidos": []}, "unknown", "unknown")

omie("21-app-key", "Client-101", "App Key inválida", "auth", reach="account", counts="success")
omie("21-app-key-english", "Client-101", "SOAP-ENV:Client-101: invalid App Key", "auth", reach="account")
omie("21-access-key", "Client-101", "ERROR: Chave de acesso invalida", "auth", reach="account")
omie("21-access-key-of-code-102", "Client-102", "A chave de acesso informada é inválida.", "auth", reach="account")
omie("21-secret-of-another-code", "Client-3", "app_secret invalid", "auth", reach="account", status=403)

case("22-moved", "omie", 301, "", "permanent")
case("22-moved-with-a-page", "omie", 301, "<html>moved</html>", "permanent", headers={"Content-Type": "text/html", "Location": "/x/"})
case("23-page-502", "omie", 502, "<html>Bad Gateway</html>", "transient", "unknown", headers={"Content-Type": "text/html"})
case("23-page-500", "omie", 500, "<html>oops</html>", "transient", "unknown", headers={"Content-Type": "text/html; charset=utf-8"})
case("23-page-429", "omie", 429, "<html>slow</html>", "rate_limited", reach="method", wait=60, source="rule default", headers={"Content-Type": "text/html"})
case("23-page-200", "omie", 200, "<html>sign in</html>", "unknown", "unknown", headers={"Content-Type": "text/html"})
case("23-page-403", "omie", 403, "<html>denied</html>", "unknown", "unknown", headers={"Content-Type": "text/html"})
case("24-first-page-with-a-fault", "omie", 200, {"pagina": 1, **fault("SOAP-ENV:Client-5113", "Não existem registros")}, "benign", writes=False)
omie("c-processed-or-in-progress", "Client-1100", "Requisição já foi processada ou está sendo processada. Tentar novamente às 11:34:08. (1)", "rate_limited", "unknown", "event", 248, "message")

omie("c-environment-is-unstable", "Client-1", "PROTO_BYEBYE", "transient", "unknown", counts="failure")

# ---- 1b. Tiny, Bling and others of Brazil

tiny("25-blocked", 6, "blocked, too many accesses", "rate_limited", reach="account", wait=120, source="rule default", counts="none")
tiny("25-blocked-portuguese", 6, "API Bloqueada - Excedido o número de acessos a API", "rate_limited", reach="account", wait=120, source="rule default")
tiny("25-blocked-without-code", None, "API bloqueada, excedido o numero de acessos", "rate_limited", reach="account", wait=120, source="rule default")
tiny("25-blocked-names-seconds", 6, "aguarde 90 segundos", "rate_limited", reach="account", wait=90, source="message")
tiny("25-near-code-60", 60, "x", "unknown", "unknown")
tiny("26-no-rows", 20, "A consulta não retornou registros", "benign", counts="success")
tiny("26-no-rows-as-text", "20", "no rows", "benign")
tiny("c-page-behind-the-last", 23, "A página não existe", "benign", writes=False)
tiny("27-token", 1, "token invalido", "auth", reach="account")
tiny("27-near-code-10", 10, "x", "unknown", "unknown")
tiny("28-search", 4, "erro na pesquisa", "benign", writes=False)
tiny("28-write", 4, "erro", "permanent")
tiny("29-misleading", 3, "JSON mal formado", "permanent")
tiny("29-misleading-english", 3, "malformed JSON", "permanent")
tiny("30-guesses-are-off-duplicate", 30, "registro em duplicidade", "unknown", "unknown", counts="success")
tiny("30-guesses-are-off-validation", 31, "validacao", "unknown", "unknown")
tiny("30-guesses-are-off-blocked-account", 5, "conta", "unknown", "unknown")
tiny("30-guesses-are-off-maintenance", 99, "manutencao", "unknown", "unknown")
tiny("31-code-as-text", "6", "x", "rate_limited", reach="account", wait=120, source="rule default")
tiny("31-code-429", "429", "x", "rate_limited", reach="account", wait=120, source="rule default")
tiny("31-code-429-number-and-status", 429, "x", "rate_limited", reach="account", wait=120, source="rule default", status=429)
tiny("31-code-as-a-fraction", 6.0, "x", "rate_limited", reach="account", wait=120, source="rule default")  # type: ignore[arg-type]  # JSON knows no whole numbers
case("31-tiny-status-429", "tiny", 429, "slow down", "rate_limited", reach="account", wait=60, source="rule default")
case("31-near-tiny-code-in-another-place", "tiny", 200, {"codigo_erro": 6}, "unknown", "unknown")
case("31-olist-is-tiny", "olist", 200, {"retorno": {"status": "Erro", "codigo_erro": 6, "erros": [{"erro": "x"}]}}, "rate_limited", reach="account", wait=120, source="rule default")


def bling(name: str, status: int, type_: str, text: str, *verdict: Any, **more: Any) -> None:
    """One refusal of Bling."""
    case(
        name,
        "bling",
        status,
        {"error": {"type": type_, "message": "refused", "description": text}},
        *verdict,
        **more,
    )


bling("32-second", 429, "TOO_MANY_REQUESTS", "O limite de requisições por segundo foi atingido", "rate_limited", "not_applied", "account", 1, "rule default")
bling("32-day", 429, "TOO_MANY_REQUESTS", "O limite de requisições por dia foi atingido", "rate_limited", "not_applied", "account", UNTIL_MIDNIGHT_IN_SAO_PAULO, "next day")
bling("32-day-english", 429, "TOO_MANY_REQUESTS", "limit of 120000 requests per day reached", "rate_limited", "not_applied", "account", UNTIL_MIDNIGHT_IN_SAO_PAULO, "next day")
bling("32-neither", 429, "TOO_MANY_REQUESTS", "limite", "rate_limited", "not_applied", "account", 10, "rule default")
bling("33-validation", 400, "VALIDATION_ERROR", "campo invalido", "permanent")
bling("34-not-found-write", 404, "RESOURCE_NOT_FOUND", "nao existe", "permanent")
bling("34-not-found-read", 404, "RESOURCE_NOT_FOUND", "nao existe", "benign", writes=False)
bling("35-server-error-write", 500, "INTERNAL_SERVER_ERROR", "erro", "transient", "unknown")
bling("35-server-error-read", 500, "INTERNAL_SERVER_ERROR", "erro", "transient", "not_applied", writes=False)
bling("36-token-expired", 401, "invalid_token", "The access token expired", "auth", "not_applied", "account", renew=True, counts="success")
bling("37-guess-is-off", 403, "FORBIDDEN", "sem permissao", "auth", "not_applied", "account", renew=True)


def protheus(name: str, text: str, *verdict: Any, **more: Any) -> None:
    """One refusal of Protheus; its numbers are each customer's own."""
    case(name, "protheus", 400, {"errorCode": 7, "errorMessage": text}, *verdict, **more)


protheus("38-customer", "Client not registered", "permanent")
protheus("38-customer-portuguese", "Cliente 000123 não cadastrado", "permanent")
protheus("38-included", "Request already included", "duplicate", "applied")
protheus("38-included-portuguese", "Requisição já incluída", "duplicate", "applied")
protheus("38-company", "Could not open company", "transient", "not_applied", "account", counts="failure")
protheus("38-json", "Invalid JSON", "permanent")
protheus("38-internal", "Internal exception", "unknown", "unknown", counts="failure")
protheus("38-items", "Item limit exceeded", "permanent")
protheus("38-near-other-refusal", "Condição de pagamento", "permanent")

case("40-sankhya-deadlock", "sankhya", 200, {"statusMessage": "x", "message": "Deadlock found when trying to get lock"}, "transient", counts="success")
case("40-sankhya-competition", "sankhya", 200, {"message": "Erro de concorrência no registro"}, "transient", counts="success")
case("40-near-sankhya-refusal", "sankhya", 200, {"message": "Parceiro não informado"}, "unknown", "unknown")
case("41-asaas", "asaas", 429, {"errors": [{"code": "x", "description": "limit"}]}, "rate_limited", reach="account", wait=41, source="header Ratelimit-Reset", headers={"RateLimit-Reset": "41"})
case("41-asaas-without-a-header", "asaas", 429, {}, "rate_limited", reach="account", wait=60, source="rule default")
case("42-pluggy", "pluggy", 429, {"code": 429, "message": "too many"}, "rate_limited", reach="method", wait=12, source="header Ratelimit-Reset", headers={"RateLimit-Reset": "12", "Retry-After": "60"})
case("42-near-only-retry-after", "pluggy", 429, {"code": 429, "message": "too many"}, "rate_limited", reach="method", wait=60, source="header Retry-After", headers={"Retry-After": "60"})
case("43-guru-limit", "guru", 429, {"message": "rate limit"}, "rate_limited", reach="account", wait=90, source="header X-Ratelimit-Reset", headers={"X-RateLimit-Reset": str(int(NOW.timestamp()) + 90)})
case("43-guru-same-request", "guru", 429, {"message": "identical concurrent request avoided"}, "rate_limited", "unknown", "event", 5, "header Retry-After", headers={"Retry-After": "5"})
case("45-fidelimax", "fidelimax", 403, "<html>request rejected</html>", "rate_limited", reach="provider", wait=300, source="rule default", block=True, headers={"Content-Type": "text/html"})
case("45-tecnospeed", "tecnospeed", 403, "forbidden", "rate_limited", reach="provider", wait=300, source="rule default", block=True)
case("45-near-403-elsewhere", "acme", 403, "forbidden", "auth", reach="account", renew=True)
case("46-portal", "portal-de-assinaturas", 422, {"message": "too many"}, "rate_limited", reach="account", wait=60, source="rule default", block=True)
case("46-near-422-elsewhere", "acme", 422, {"message": "name is missing"}, "permanent")
case("47-baselinker", "baselinker", 200, {"status": "ERROR", "error_code": "ERROR_BLOCKED_TOKEN", "error_message": "Query limit exceeded, token blocked until 2026-11-30 15:40:00"}, "rate_limited", reach="account", wait=600, source="message", block=True)
case("47-baselinker-clock-time", "baselinker", 200, {"error_message": "Token blocked until 15:45"}, "rate_limited", reach="account", wait=900, source="message", block=True)
case("47-near-other-error", "baselinker", 200, {"error_message": "Unknown order"}, "unknown", "unknown")

# ---- 1c. NetSuite, SAP, Odoo, Dynamics

case("48-restlet-limit", "netsuite", 400, {"error": {"code": "SSS_REQUEST_LIMIT_EXCEEDED", "message": "x"}}, "rate_limited", reach="account", wait=10, source="rule default")
case("48-near-other-code", "netsuite", 400, {"error": {"code": "SSS_MISSING_REQD_ARGUMENT", "message": "x"}}, "permanent")
case("48-near-elsewhere", "acme", 400, {"error": {"code": "SSS_REQUEST_LIMIT_EXCEEDED"}}, "permanent")


def soap(name: str, code: str, text: str) -> str:
    """A fault of NetSuite."""
    envelope = "http://schemas.xmlsoap.org/soap/envelope/"
    return (
        f'<?xml version="1.0"?><soapenv:Envelope xmlns:soapenv="{envelope}"><soapenv:Body><soapenv:Fault>'
        f"<faultcode>soapenv:Server.userException</faultcode><faultstring>{text}</faultstring><detail>"
        f'<p:{name} xmlns:p="urn:faults"><p:code>{code}</p:code><p:message>{text}</p:message></p:{name}>'
        "</detail></soapenv:Fault></soapenv:Body></soapenv:Envelope>"
    )


XML = {"Content-Type": "text/xml; charset=utf-8"}
case("49-session-limit", "netsuite", 500, soap("exceededRequestLimitFault", "WS_CONCUR_SESSION_DISALLWD", "x"), "rate_limited", reach="account", wait=10, source="rule default", headers=XML)
case("49-session-limit-by-fault", "netsuite", 500, soap("ExceededRequestLimitFault", "X", "x"), "rate_limited", reach="account", wait=10, source="rule default", headers=XML)
case("50-concurrency", "netsuite", 500, soap("f", "WS_REQUEST_BLOCKED", "x"), "rate_limited", reach="account", wait=10, source="rule default", headers=XML)
case("50-concurrency-by-fault", "netsuite", 500, soap("ExceededConcurrentRequestLimitFault", "X", "x"), "rate_limited", reach="account", wait=10, source="rule default", headers=XML)
case("50-near-other-fault", "netsuite", 500, soap("UnexpectedErrorFault", "UNEXPECTED_ERROR", "x"), "transient", "unknown", headers=XML)


def details(*codes: str) -> dict[str, Any]:
    """NetSuite's REST shape."""
    causes = [{"detail": "x", "o:errorCode": code, "o:errorPath": "y"} for code in codes]
    return {"title": "Bad Request", "status": 400, "o:errorDetails": causes}


case("51-rest-429", "netsuite", 429, details("X"), "rate_limited", reach="account", wait=60, source="rule default")
case("52-user-error", "netsuite", 400, details("USER_ERROR"), "permanent")
case("52-second-cause", "netsuite", 400, details("OTHER", "USER_ERROR"), "permanent")
case("52-invalid-method", "netsuite", 405, details("INVALID_METHOD"), "permanent")
case("53-invalid-login", "netsuite", 401, details("INVALID_LOGIN"), "auth", reach="account")
case("53-invalid-login-fault", "netsuite", 500, soap("f", "X", "Invalid login attempt."), "auth", reach="account", headers=XML)
case("54-cut-after-fifteen-minutes", "netsuite", None, httpx.ReadTimeout("timed out"), "transient", "unknown", "account", counts="failure")
case("55-maintenance", "netsuite", 500, soap("f", "X", "The system is down for scheduled maintenance"), "transient", "not_applied", "account", headers=XML, counts="failure")
case("55-permission", "netsuite", 500, soap("f", "X", "Permission Violation: you need the Orders permission"), "auth", reach="account", headers=XML)
case("56-guess-is-off", "netsuite", 400, details("RCRD_HAS_BEEN_CHANGED"), "permanent")


def sap(code: int | str, text: str = "x") -> dict[str, Any]:
    """SAP's shape."""
    return {"error": {"code": code, "message": {"lang": "en-us", "value": text}}}


case("57-session", "sap-b1", 401, sap(301, "Invalid session."), "auth", "not_applied", "account", renew=True, counts="success")
case("57-near-other-401", "sap-b1", 401, sap(999), "auth", reach="account", renew=True)
case("58-not-found", "sap-b1", 404, sap(-2028, "No matching records found"), "permanent")
case("58-duplicate", "sap-b1", 400, sap(-10, "entry already exists"), "duplicate", "applied")
case("58-forbidden", "sap-b1", 403, sap(804), "auth", reach="account")
case("58-bad-query", "sap-b1", 400, sap(-1000), "permanent")
case("58-code-as-text", "sap-b1", 400, sap("-10"), "duplicate", "applied")
case("58-near-code-10", "sap-b1", 400, sap(10), "permanent")
case("60-csrf", "sap-s4", 403, sap("x", "CSRF token validation failed"), "transient", renew=True, counts="success")
case("60-csrf-as-text", "sap-s4", 403, "CSRF token validation failed", "transient", renew=True)
case("60-near-403", "sap-s4", 403, sap("x", "No authorization"), "auth", reach="account", renew=True)
case("61-stale-tag", "sap-s4", 412, sap("x", "Precondition failed"), "transient", counts="success")

TRACEBACK = "Traceback (most recent call last):\n" + '  File "odoo/models.py", line 99, in write\n' * 60
case("62-odoo-user-error", "odoo", 200, Fault(2, "Please define a journal"), "permanent", counts="success")
case("62-odoo-code-as-text", "odoo", 200, Fault("2", "x"), "permanent")  # type: ignore[arg-type]  # servers of old answer texts
case("63-odoo-access-denied", "odoo", 200, Fault(3, "Access Denied"), "auth", reach="account")
case("63-odoo-access-error", "odoo", 200, Fault(4, "not allowed"), "auth", reach="account")
case("64-odoo-traceback", "odoo", 200, Fault(1, TRACEBACK + "KeyError: 'x'"), "unknown", "unknown", counts="success")
case("65-odoo-serialization", "odoo", 200, Fault(1, TRACEBACK + 'psycopg2.errors.SerializationFailure: could not serialize access due to concurrent update\n'), "transient", counts="success")
case("65-odoo-short", "odoo", 200, Fault(1, "could not serialize access due to concurrent update"), "transient")
case("65-elsewhere", None, 500, {"message": "ERROR: could not serialize access due to concurrent update"}, "transient", counts="success")
case("66-odoo-log-in", "odoo", 200, {"jsonrpc": "2.0", "result": False}, "auth", reach="account", kind="odoo.authenticate")
case("66-near-other-kind", "odoo", 200, {"jsonrpc": "2.0", "result": False}, "unknown", "unknown")


def microsoft(code: str) -> dict[str, Any]:
    """Microsoft's shape."""
    return {"error": {"code": code, "message": "requests exceeded the limit of 6000 in 300 s"}}


case("67-dataverse-requests", "dataverse", 429, microsoft("0x80072322"), "rate_limited", reach="account", wait=35, source="header Retry-After", headers={"Retry-After": "35"})
case("67-dataverse-no-header", "dataverse", 429, microsoft("0x80072322"), "rate_limited", reach="account", wait=60, source="rule default")
case("68-dataverse-time", "dataverse", 429, microsoft("0x80072321"), "rate_limited", reach="account", wait=200, source="header Retry-After", headers={"Retry-After": "200"})
case("69-dataverse-at-once", "dataverse", 429, microsoft("0x80072326"), "rate_limited", reach="account", wait=7, source="header Retry-After", headers={"Retry-After": "7"})
case("70-business-central", "business-central", 429, {"error": {"code": "x"}}, "rate_limited", reach="account", wait=60, source="rule default")
case("71-business-central-cut", "business-central", 504, "", "transient", "unknown")
case("71-business-central-cut-read", "business-central", 504, "", "transient", "not_applied", writes=False)

# ---- 1d. Interfaces to compare with

case("72-stripe-key-reused", "stripe", 400, {"error": {"type": "idempotency_error", "message": "Keys for idempotent requests"}}, "permanent")
case("73-stripe-lock", "stripe", 429, {"error": {"code": "lock_timeout", "type": "invalid_request_error", "message": "x"}}, "transient", counts="success")
case("73-near-other-429", "stripe", 429, {"error": {"code": "rate_limit", "message": "x"}}, "rate_limited", reach="account", wait=60, source="rule default")
case("74-stripe-card", "stripe", 402, {"error": {"type": "card_error", "code": "card_declined", "message": "x"}}, "permanent")
case("75-shopify-rest", "shopify", 429, {"errors": "Exceeded 2 calls per second"}, "rate_limited", reach="account", wait=2, source="header Retry-After", headers={"Retry-After": "2.0"})
THROTTLED = {
    "errors": [{"message": "Throttled", "extensions": {"code": "THROTTLED"}}],
    "extensions": {
        "cost": {"requestedQueryCost": 752, "throttleStatus": {"currentlyAvailable": 2, "restoreRate": 50.0}}
    },
}
case("76-shopify-in-a-200", "shopify", 200, THROTTLED, "rate_limited", reach="account", wait=15, source="cost")
case("76-shopify-in-a-429", "shopify", 429, THROTTLED, "rate_limited", reach="account", wait=15, source="cost")
case("76-near-other-graphql-error", "shopify", 200, {"errors": [{"message": "x", "extensions": {"code": "undefinedField"}}]}, "unknown", "unknown")
case("77-visma", "visma-eaccounting", 429, {"ErrorCode": 4010, "DeveloperErrorMessage": "Too many requests, try again in 55 seconds"}, "rate_limited", reach="account", wait=55, source="message")
case("77-near-other-code", "visma-eaccounting", 400, {"ErrorCode": 4000, "DeveloperErrorMessage": "try again in 55 seconds"}, "permanent")
case("78-sellercloud", "sellercloud", 429, {"Error": "limit", "RateLimitResetTime": "2026-11-30T14:31:30Z"}, "rate_limited", reach="account", wait=90, source="path RateLimitResetTime")
case("78-sellercloud-past", "sellercloud", 400, {"Error": "limit", "RateLimitResetTime": "2020-01-01T00:00:00Z"}, "rate_limited", reach="account", wait=0, source="path RateLimitResetTime")
case("79-constant-contact-day", "constant-contact", 429, [{"error_key": "quota_exceeded"}], "rate_limited", reach="account", wait=UNTIL_MIDNIGHT_UTC, source="next day")
case("79-constant-contact-second", "constant-contact", 429, [{"error_key": "throttled"}], "rate_limited", reach="account", wait=1, source="rule default")
case("80-celigo-throttled", "celigo", 429, {}, "rate_limited", reach="account", wait=9, source="header Retry-After", headers={"Retry-After": "9"})
case("80-celigo-token", "celigo", 401, {}, "auth", reach="account", renew=True)
case("80-celigo-forbidden", "celigo", 403, {}, "auth", reach="account", renew=True)

# ---- Statuses alone (2b, 6)

for _status in (500, 502, 503, 504):
    case(f"s-{_status}", None, _status, "", "transient", "unknown", counts="failure")
    case(f"s-{_status}-read", None, _status, "", "transient", "not_applied", writes=False)
for _status in (501, 505, 507):
    case(f"s-{_status}", None, _status, "", "permanent", counts="success")
for _status in (400, 404, 405, 410, 413, 415, 422, 428):
    case(f"s-{_status}", None, _status, "", "permanent", counts="success")
case("s-409", None, 409, "", "transient", "unknown", counts="success")
case("s-409-read", None, 409, "", "transient", writes=False, counts="success")
case("s-412", None, 412, "", "transient", counts="success")
case("s-408", None, 408, "", "transient")
case("s-401", None, 401, "", "auth", reach="account", renew=True)
case("s-403", None, 403, "", "auth", reach="account", renew=True)
case("s-429", None, 429, "", "rate_limited", reach="account", wait=60, source="rule default")
case("s-503-with-retry-after", None, 503, "", "transient", "unknown", wait=30, source="header Retry-After", headers={"Retry-After": "30"})
case("s-400-ignores-retry-after", None, 400, "", "permanent", headers={"Retry-After": "30"})
case("s-400-marker-in-the-text", None, 400, "HTTP 400: connection parameter is invalid", "permanent")
case("s-404-with-throttle-in-the-text", None, 404, "page about throttled requests", "permanent")
case("s-200-with-nothing-known", None, 200, {"ok": True}, "unknown", "unknown", counts="success")
case("s-599", None, 599, "", "unknown", "unknown", counts="failure")
