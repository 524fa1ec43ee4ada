"""The page of alerts: what stands, what was, who was told, which rules hold, and what a person may do about it."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

import pytest
from flask import Flask

from dlq_console.clock import utc_now
from dlq_console.health.alert_lines import lines
from dlq_console.health.spelling import ACCOUNTS
from dlq_console.store import snapshots
from dlq_console.store.internal import ALERT
from dlq_console.store.queries import alerts as told
from dlq_console.store.queries.alerts import LAST_MESSAGES
from dlq_console.watch import alerts, looking
from dlq_console.watch.alert_rules import read_rules
from dlq_console.web import health_seen, looks
from tests.store.recording import recording
from tests.web import alerted
from tests.web.desk import Desk
from tests.web.visitor import Tags, Visitor, read

SOON = {"until": (utc_now() + timedelta(hours=4)).isoformat()}


def refreshed(app: Flask) -> None:
    """Let the next page not take what was known a second ago."""
    with app.app_context():
        looks.forget()


# What stands and what was


def test_before_anybody_has_looked_the_page_says_so(maria: Visitor) -> None:
    text = read(maria.get("/alerts").text)
    assert "Nobody has looked at the rules yet; a worker or the scheduler does." in text
    assert "There has been no alert yet." in text
    assert "No rule is known here yet." in text


def test_where_nothing_was_ever_found_that_is_no_error(desk: Desk, maria: Visitor) -> None:
    alerted.look(desk)
    text = read(maria.get("/alerts").text)
    assert "No alert is open." in text
    assert "There has been no alert yet." in text
    assert "Nobody has looked" not in text


def test_without_a_channel_the_page_says_that_nobody_is_told_and_how_to_change_that(
    desk: Desk, maria: Visitor
) -> None:
    alerted.look(desk, channels=False)
    text = read(maria.get("/alerts").text)
    assert "No channel is set up, so nobody is told; notices stand on this page only." in text
    assert "DLQ_ALERT_WEBHOOK_URL=" in text
    assert "Send a trial message" not in text


def test_an_open_notice_says_what_where_since_when_and_how_each_channel_was_told(
    desk: Desk, maria: Visitor
) -> None:
    store = desk.hub.store
    alerted.look(desk)
    (notice,) = alerted.find(store, "dead_letters", "filial-sp", value=13, to=("webhook", "mail"))
    alerted.brought(store, "webhook")
    alerted.bring(desk)
    alerted.change(store, [notice], opened_at=utc_now() - timedelta(minutes=90))
    page = maria.get("/alerts")
    text = read(page.text)
    assert "1 alert is open" in text
    for part in (
        "filial-sp has 13 dead letters.",
        "dead_letters",
        "1 h ago",
        "webhook sent",
        "mail will be tried again",
    ):
        assert part in text, part
    assert "The mail server cannot be reached: nobody listens there." in text
    links = {tag["href"] for tag in Tags(page.text).named("a")}
    assert {"/dead-letters?account=filial-sp", "/health/accounts/filial-sp"} <= links
    assert "s3cret" not in page.text


def test_the_newest_notice_stands_first_and_urgent_ones_say_so(desk: Desk, maria: Visitor) -> None:
    store = desk.hub.store
    alerted.look(desk)
    alerted.change(
        store, alerted.find(store, "in_doubt", "filial-sp"), opened_at=utc_now() - timedelta(hours=1)
    )
    alerted.find(store, "breaker_open", "filial-rj", level="page", value=1)
    text = read(maria.get("/alerts").text)
    assert text.index("urgent The circuit of filial-rj is open") < text.index("to look at It is not known")


def test_a_notice_that_was_told_together_with_others_says_that(desk: Desk, maria: Visitor) -> None:
    store = desk.hub.store
    alerted.look(desk)
    for number in range(8):
        desk.dead(str(number), account=f"filial-{number}")
    with alerted.steps_of(desk, public_url="https://ops.example") as hub:
        looking.count(hub)
        looking.look(hub)
        alerts.check(hub)
    standing = [one for one in told.open_notices(store) if one.rule == "dead_letters"]
    assert len(standing) == 8
    text = read(maria.get("/alerts").text)
    assert text.count("together with others") >= 7
    # Where one message tells of many, it leads to the page where they stand.
    with store.read() as connection:
        payloads = connection.execute(
            store.tables.event.select().where(store.tables.event.c.kind == ALERT)
        ).all()
    contents = [json.loads(row.payload)["content"] for row in payloads]
    assert "https://ops.example/alerts" in {one["link"] for one in contents if one["rule"] == "dead_letters"}


def test_many_open_notices_are_turned_like_pages(app: Flask, desk: Desk, maria: Visitor) -> None:
    store = desk.hub.store
    alerted.look(desk)
    names = [f"filial-{number:02}" for number in range(45)]
    alerted.find(store, "dead_letters", *names)
    page = maria.get("/alerts").text
    assert "45 alerts are open" in read(page)
    assert "1 to 15 of 45" in read(page)
    seen: set[str] = set()
    address = "/alerts"
    while address:
        page = maria.get(address).text
        seen |= {name for name in names if f"{name} has 3 dead letters." in page}
        address = next((tag["href"] for tag in Tags(page).named("a") if tag.get("rel") == "next"), "")
        address = address.replace("&amp;", "&")
    assert seen == set(names)


def test_what_is_over_stands_in_the_history_with_how_long_it_stood(desk: Desk, maria: Visitor) -> None:
    store = desk.hub.store
    alerted.look(desk)
    ids = alerted.find(store, "lag_p95", "filial-sp", value=480, level="page")
    alerted.close(store, *ids)
    text = read(maria.get("/alerts").text)
    assert "No alert is open." in text
    assert "History" in text
    assert "Events of filial-sp started up to 8 min after they were due (p95)." in text
    assert "2 h until" in text
    assert "There has been no alert yet." not in text


def test_the_history_is_walked_to_its_end_and_no_notice_comes_twice(desk: Desk, maria: Visitor) -> None:
    store = desk.hub.store
    alerted.look(desk)
    names = [f"filial-{number:02}" for number in range(50)]
    for number, one in enumerate(alerted.find(store, "dead_letters", *names)):
        # Pairs of the same moment, so that the id must decide.
        alerted.close(store, one, began=timedelta(hours=3, minutes=number // 2))
    seen: list[str] = []
    address = "/alerts"
    while address:
        page = maria.get(address).text
        seen += [name for name in names if f"{name} had 3 dead letters." in page]
        address = next((tag["href"] for tag in Tags(page).named("a") if tag.get("rel") == "next"), "")
    assert sorted(seen) == names


def test_a_damaged_place_in_the_history_is_refused(maria: Visitor) -> None:
    answer = maria.get("/alerts?cursor=x")
    assert answer.status_code == 400
    (way_back,) = [tag for tag in Tags(answer.text.partition("<main")[2]).named("a") if "href" in tag]
    assert way_back["href"] == "/alerts"
    assert maria.get("/alerts?start=-1").status_code == 400


def test_a_notice_of_a_rule_that_is_in_force_no_more_is_still_readable(desk: Desk, maria: Visitor) -> None:
    store = desk.hub.store
    alerted.look(desk)
    ids = alerted.find(store, "our own", "filial-sp")
    alerted.close(store, *ids)
    page = maria.get("/alerts").text
    assert "our own" in page
    assert "filial-sp" in read(page)
    assert "Snooze our own…" not in page


# Who sees what


def test_whoever_sees_some_accounts_sees_only_their_notices_and_may_change_nothing(
    app: Flask, desk: Desk
) -> None:
    store = desk.hub.store
    alerted.look(desk)
    alerted.find(store, "dead_letters", "filial-sp", "filial-rj")
    alerted.find(store, "recovery_queue", "orders", own=False)
    alerted.close(store, *alerted.find(store, "in_doubt", "filial-rj"))
    rita = Visitor(app).enter(desk, "rita", "admin", ["filial-sp"])
    page = rita.get("/alerts").text
    assert "filial-sp has 3 dead letters." in page
    assert "filial-rj" not in page
    assert "orders" not in page
    assert "1 alert is open" in read(page)
    for hidden in ("/alerts/snooze", "/alerts/test", "127.0.0.1:9"):
        assert hidden not in page
    for act, form in (("snooze", SOON | {"note": "x"}), ("unsnooze", {}), ("test", {"channel": "webhook"})):
        assert rita.post(f"/alerts/{act}", rule="dead_letters", **form).status_code == 403, act


def test_a_rule_about_an_account_is_seen_by_whoever_sees_that(app: Flask, desk: Desk, tmp_path: Path) -> None:
    file = tmp_path / "alerts.toml"
    file.write_text(
        '[[rule]]\nname = "sp late"\nwhen = "lag_p95"\naccount = "filial-sp"\n'
        '[[rule]]\nname = "rj late"\nwhen = "lag_p95"\naccount = "filial-rj"\n'
    )
    alerted.look(desk, alerts=str(file))
    page = Visitor(app).enter(desk, "rita", "operator", ["filial-sp"]).get("/alerts").text
    assert "sp late" in page
    assert "rj late" not in page


def test_the_number_of_open_notices_stands_beside_the_link_as_far_as_they_may_be_seen(
    app: Flask, desk: Desk, maria: Visitor
) -> None:
    alerted.find(desk.hub.store, "dead_letters", "filial-sp", "filial-rj")
    refreshed(app)
    assert "Alerts 2 My work" in read(maria.get("/work").text)
    rita = Visitor(app).enter(desk, "rita", "viewer", ["filial-sp"])
    assert "Alerts 1 My work" in read(rita.get("/work").text)
    refreshed(app)
    alerted.close(desk.hub.store, *(one.id for one in told.open_notices(desk.hub.store)))
    assert "Alerts My work" in read(maria.get("/work").text)


def test_a_viewer_reads_everything_and_is_offered_nothing(desk: Desk, vera: Visitor) -> None:
    alerted.look(desk)
    alerted.find(desk.hub.store, "dead_letters", "filial-sp")
    page = vera.get("/alerts").text
    assert "filial-sp has 3 dead letters." in page
    assert "Snooze" not in read(page)
    assert "Send a trial message" not in page
    assert vera.post("/alerts/test", channel="webhook").status_code == 403
    assert vera.post("/alerts/snooze", rule="dead_letters", note="x", **SOON).status_code == 403


# Rules


def test_the_rules_in_force_say_when_they_tell_and_where_they_come_from(
    app: Flask, desk: Desk, maria: Visitor, tmp_path: Path
) -> None:
    alerted.look(desk)
    text = read(maria.get("/alerts").text)
    assert "These are the built-in rules." in text
    assert "DLQ_ALERTS=/etc/dlq-console/alerts.toml" in text
    assert "lag_p95 events start more than 5 min after they are due (p95), for 10 min without a break" in text
    file = tmp_path / "alerts.toml"
    file.write_text(
        '[[rule]]\nname = "too many"\nwhen = "dead_letters"\nover = 1500\nto = ["mail"]\nrepeat_hours = 12\n'
    )
    alerted.look(desk, alerts=str(file))
    refreshed(app)
    text = read(maria.get("/alerts").text)
    assert f"These rules stand in {file} ." in text
    assert "too many more than 1,500 dead letters to look at mail 12 h" in text
    assert "lag_p95" not in text


def test_the_lines_that_the_page_shows_are_the_rules_when_they_are_read_again(tmp_path: Path) -> None:
    channels = ("webhook", "mail")
    file = tmp_path / "alerts.toml"
    file.write_text(
        '[[rule]]\nname = "a \\"quoted\\" \\\\ name: ção"\nwhen = "dead_letters"\nover = 2.5\naccount = "a"\nkind = "k"\nto = ["mail"]\n'
        '[[rule]]\nname = "none"\nwhen = "silence"\nto = []\nover = 12345678\nlevel = "page"\n'
    )
    own = read_rules(str(file), channels)
    for rules in (read_rules("", channels), own):
        again = tmp_path / "again.toml"
        again.write_text(lines(rules.rules, channels))
        assert read_rules(str(again), channels).rules == rules.rules


def test_a_file_that_makes_no_sense_is_said_aloud(
    app: Flask, desk: Desk, maria: Visitor, tmp_path: Path
) -> None:
    file = tmp_path / "alerts.toml"
    file.write_text('[[rule]]\nname = "x"\nwhen = "nonsense"\n')
    alerted.look(desk)
    with pytest.raises(Exception, match="when"):
        alerted.look(desk, alerts=str(file))
    text = read(maria.get("/alerts").text)
    assert "No rule is looked at:" in text
    rita = Visitor(app).enter(desk, "rita", "viewer", ["filial-sp"])
    assert str(file) not in rita.get("/alerts").text
    for page in (text, read(rita.get("/alerts").text)):
        assert "Rules of before, not looked at" in page
        assert "None of them is looked at until it is repaired." in page
        assert "Rules in force" not in page
        assert "These are the built-in rules." not in page


def test_a_mistake_in_the_first_file_is_said_instead_of_that_nothing_is_set_up(
    app: Flask, desk: Desk, maria: Visitor, tmp_path: Path
) -> None:
    file = tmp_path / "alerts.toml"
    file.write_text("rule = 1")
    with pytest.raises(Exception, match="line 1"):
        alerted.look(desk, alerts=str(file))
    text = read(maria.get("/alerts").text)
    assert "alerts.toml, line 1" in text
    for untrue in ("No alert is open.", "No channel is set up", "None is set up", "the rules below"):
        assert untrue not in text
    rita = read(Visitor(app).enter(desk, "rita", "viewer", ["filial-sp"]).get("/alerts").text)
    assert "the file of rules has a mistake" in rita
    assert "alerts.toml" not in rita


def test_behind_the_end_stands_the_last_page_there_is(desk: Desk, maria: Visitor) -> None:
    alerted.look(desk)
    alerted.find(desk.hub.store, "dead_letters", *(f"filial-{number:02}" for number in range(17)))
    assert "16 to 17 of 17" in read(maria.get("/alerts?start=90").text)


def test_a_message_that_reached_only_some_says_so(desk: Desk, maria: Visitor) -> None:
    alerted.look(desk)
    alerted.find(desk.hub.store, "dead_letters", "filial-sp", to=("mail",))
    alerted.brought(desk.hub.store, "mail", noted="The mail server refused 1 of 2 who were to get it (550).")
    text = read(maria.get("/alerts").text)
    assert "mail sent to some" in text
    assert "refused 1 of 2" in text


@pytest.mark.parametrize(
    ("note", "why"), [("a\u202eb", "holds a character that is not shown"), ("x" * 600, "is longer than 500")]
)
def test_a_refused_snooze_says_what_is_wrong_with_its_note(
    desk: Desk, maria: Visitor, note: str, why: str
) -> None:
    alerted.look(desk)
    maria.get("/alerts")
    text = maria.post("/alerts/snooze", rule="dead_letters", **(SOON | {"note": note})).text
    assert why in text
    assert "Choose a time" not in text


def test_a_snooze_ends_at_the_very_moment_that_was_chosen(desk: Desk, maria: Visitor) -> None:
    alerted.look(desk)
    maria.get("/alerts")
    until = (utc_now() + timedelta(hours=5)).replace(microsecond=0)
    maria.post("/alerts/snooze", rule="dead_letters", note="x", until=until.isoformat())
    assert told.snoozes(desk.hub.store)["dead_letters"].until == until


def test_the_lines_hold_hours_and_channels_without_what_may_be_secret(
    desk: Desk, maria: Visitor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEAM_CHANNEL", "slack://s3cret")
    file = tmp_path / "alerts.toml"
    file.write_text(
        '[channels]\nteam = "env:TEAM_CHANNEL"\nops = "json://s3cret@host"\n[hours]\nto = "19:30"\n'
    )
    alerted.look(desk, alerts=str(file))
    page = maria.get("/alerts").text
    text = read(page)
    assert "env:TEAM_CHANNEL" in text
    assert "json://•••" in text
    assert "19:30" in text
    assert "s3cret" not in page


def test_a_notice_keeps_its_sentence_when_its_rule_is_gone(desk: Desk, maria: Visitor) -> None:
    alerted.look(desk)
    ids = alerted.find(desk.hub.store, "our own", "filial-sp")
    alerted.change(desk.hub.store, ids, condition="dead_letters")
    alerted.close(desk.hub.store, *ids)
    assert "filial-sp had 3 dead letters." in read(maria.get("/alerts").text)


def test_rules_that_nobody_looks_at_any_more_are_said_aloud(desk: Desk, maria: Visitor) -> None:
    alerted.look(desk)
    table = desk.hub.store.tables.snapshot
    with desk.hub.store.write() as connection:
        connection.execute(
            table.update().where(table.c.name == "").values(changed_at=utc_now() - timedelta(minutes=5))
        )
    assert "Nobody has looked at the rules since" in read(maria.get("/alerts").text)


def test_that_no_step_runs_is_said_before_the_next_look_at_the_rules_would_be_late(
    app: Flask, desk: Desk, maria: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(health_seen, "FRESH_FOR", 0.0)
    alerted.look(desk)
    snapshots.keep(desk.hub.store, ACCOUNTS, {})
    assert "Nobody has looked at the rules since" not in read(maria.get("/alerts").text)
    _age(desk, 11)
    refreshed(app)
    assert "Nobody has looked at the rules since" in read(maria.get("/alerts").text)
    assert app.test_client().get("/readyz").status_code == 200


def _age(desk: Desk, seconds: float) -> None:
    """Let every reading have been taken so long ago."""
    statement = f"UPDATE {{snapshot}} SET changed_at = changed_at - {{interval[{seconds}]}} WHERE name = ''"
    with desk.hub.store.write() as connection:
        connection.execute(desk.hub.store.statement(statement))


# Snoozes


def test_a_rule_is_snoozed_with_a_reason_and_told_of_again(desk: Desk, maria: Visitor) -> None:
    alerted.look(desk)
    alerted.find(desk.hub.store, "dead_letters", "filial-sp")
    page = maria.get("/alerts?rule=dead_letters").text
    (chosen,) = [tag for tag in Tags(page).named("option") if "selected" in tag]
    assert chosen is not None
    answer = maria.post("/alerts/snooze", rule="dead_letters", note="inventário", **SOON)
    assert (answer.status_code, answer.headers["Location"]) == (303, "/alerts#rules")
    text = read(maria.get("/alerts").text)
    assert text.count("by maria: inventário") == 2, "on its notice and on its rule"
    assert read(maria.get("/audit").text).count("alert snoozed") > 1
    answer = maria.post("/alerts/unsnooze", rule="dead_letters")
    assert answer.status_code == 303
    assert "by maria: inventário" not in read(maria.get("/alerts").text)
    assert told.snoozes(desk.hub.store) == {}


@pytest.mark.parametrize(
    "form",
    [
        {"until": "", "note": "x"},
        {"until": "tomorrow", "note": "x"},
        {"until": "9999-12-31T23:59:59", "note": "x"},
        {"until": "2020-01-01T00:00:00Z", "note": "x"},
        {"until": (utc_now() + timedelta(days=91)).isoformat(), "note": "x"},
        SOON | {"note": ""},
        SOON | {"note": "  \t "},
        SOON | {"note": "x" * 501},
        SOON | {"at": "2020-01-01T00:00", "note": "x"},
    ],
    ids=[
        "nothing",
        "a word",
        "no year",
        "over",
        "too far",
        "no note",
        "blanks",
        "a long note",
        "the place of the form",
    ],
)
def test_a_snooze_without_a_time_ahead_or_without_a_reason_is_refused_and_no_word_is_lost(
    desk: Desk, maria: Visitor, form: dict[str, str]
) -> None:
    alerted.look(desk)
    maria.get("/alerts")
    answer = maria.post("/alerts/snooze", rule="dead_letters", **form)
    assert answer.status_code == 400
    assert form["note"].strip() in answer.text
    assert "/alerts?rule=dead_letters#snooze" in answer.text
    assert told.snoozes(desk.hub.store) == {}


def test_a_moment_of_the_calendar_counts_before_a_usual_one(desk: Desk, maria: Visitor) -> None:
    alerted.look(desk)
    maria.get("/alerts")
    at = f"{utc_now() + timedelta(days=3):%Y-%m-%dT%H:%M}"
    maria.post("/alerts/snooze", rule="dead_letters", note="x", at=at, **SOON)
    snooze = told.snoozes(desk.hub.store)["dead_letters"]
    assert timedelta(days=2) < snooze.until - utc_now() < timedelta(days=4)


def test_a_rule_that_is_not_in_force_cannot_be_snoozed_and_one_that_is_awake_cannot_be_woken(
    desk: Desk, maria: Visitor
) -> None:
    alerted.look(desk)
    maria.get("/alerts")
    assert maria.post("/alerts/snooze", rule="nothing", note="x", **SOON).status_code == 404
    assert maria.post("/alerts/unsnooze", rule="dead_letters").status_code == 409


# Channels


def test_a_trial_message_is_followed_until_it_is_there(desk: Desk, maria: Visitor) -> None:
    alerted.look(desk)
    page = maria.get("/alerts").text
    assert read(page).count("never tried") == 2
    assert "/_f/alerts/channels" not in page
    part = maria.htmx("/alerts/test", page="/alerts", channel="webhook").text
    assert "on its way" in part
    (follow,) = [tag["hx-get"] for tag in Tags(part).named("section")]
    assert maria.glance(follow).status_code == 204
    alerted.bring(desk)
    part = maria.glance(follow).text
    assert "will be tried again" in part
    assert "The webhook cannot be reached: nobody listens there." in part
    (follow,) = [tag["hx-get"] for tag in Tags(part).named("section")]
    table = desk.hub.store.tables.event
    with desk.hub.store.write() as connection:
        connection.execute(
            table.update().values(status="done", result='{"told":true}', finished_at=utc_now())
        )
    part = maria.glance(follow).text
    assert "sent" in read(part)
    assert "hx-get" not in part


def test_without_script_a_trial_comes_back_to_the_page_and_stands_in_the_audit(
    desk: Desk, maria: Visitor
) -> None:
    alerted.look(desk)
    maria.get("/alerts")
    answer = maria.post("/alerts/test", channel="mail")
    assert (answer.status_code, answer.headers["Location"]) == (303, "/alerts#channels")
    page = maria.get("/alerts").text
    assert "Look again" in page
    assert "mail 127.0.0.1:9 → •••@example.com last trial on its way" in read(page)
    text = read(maria.get("/audit?action=test_alert").text)
    assert "trial of a channel" in text


def test_a_trial_that_nobody_brings_says_what_to_look_at(desk: Desk, maria: Visitor) -> None:
    alerted.look(desk)
    maria.get("/alerts")
    maria.post("/alerts/test", channel="webhook")
    table = desk.hub.store.tables.event
    with desk.hub.store.write() as connection:
        connection.execute(table.update().values(created_at=utc_now() - timedelta(minutes=3)))
    assert "Nobody has brought it yet; see that a worker or the scheduler is running." in read(
        maria.get("/alerts").text
    )


def test_a_channel_that_there_is_not_cannot_be_tried_and_trials_are_not_endless(
    desk: Desk, maria: Visitor
) -> None:
    alerted.look(desk)
    maria.get("/alerts")
    assert maria.post("/alerts/test", channel="pager").status_code == 404
    answers = {maria.post("/alerts/test", channel="webhook").status_code for _ in range(10)}
    assert answers == {303, 429}


def test_where_a_channel_leads_is_told_without_anything_secret(desk: Desk, maria: Visitor) -> None:
    named = {
        "alert_webhook_url": "https://user:s3cret@hooks.example:8443/services/T000/s3cret?token=s3cret",
        "smtp_url": "smtps://dlq:s3cret@mail.example/?from=a@b.example&to=ana@um.example,rui@um.example,eva@dois.example",
    }
    alerted.look(desk, channels=False, **named)
    page = maria.get("/alerts").text
    assert "https://hooks.example:8443/•••" in page
    assert "mail.example:465 → •••@um.example, •••@dois.example" in page
    for secret in ("s3cret", "T000", "ana@", "user"):
        assert secret not in page.replace("user:password@host", ""), secret


# Following


def test_the_part_that_follows_holds_no_control_and_is_sent_only_when_it_has_changed(
    app: Flask, desk: Desk, maria: Visitor
) -> None:
    alerted.look(desk)
    (notice,) = alerted.find(desk.hub.store, "dead_letters", "filial-sp")
    alerted.change(desk.hub.store, [notice], opened_at=utc_now() - timedelta(hours=5))
    page = maria.get("/alerts?start=0").text
    assert Tags(page).found
    (address,) = [tag["hx-get"] for tag in Tags(page).named("div") if "data-pulse" in tag]
    first = maria.glance(address, page="/alerts")
    assert first.headers["Seen-Age"] == "0.0"
    assert first.headers["Seen-At"].endswith(" -03"), "with its zone, like every other page"
    assert not [name for name in ("form", "button", "input", "select") if Tags(first.text).named(name)]
    same = maria.get(address, HX_Request="true", If_None_Match=first.headers["ETag"])
    assert (same.status_code, same.text) == (304, "")
    alerted.close(desk.hub.store, notice)
    refreshed(app)
    other = maria.get(address, HX_Request="true", If_None_Match=first.headers["ETag"])
    assert other.status_code == 200
    assert 'data-said="No alert is open."' in other.text
    assert maria.get(address).status_code == 404, "opened by hand there is a page for people"


def test_however_many_look_the_database_is_asked_once_a_second(
    app: Flask, desk: Desk, maria: Visitor
) -> None:
    alerted.look(desk)
    alerted.find(desk.hub.store, "dead_letters", "filial-sp")
    maria.glance("/_f/alerts", page="/alerts")
    with recording(desk.hub.store) as sent:
        for _ in range(5):
            assert maria.glance("/_f/alerts", page="/alerts").status_code == 200
    assert [one for one in sent if "alert" in one[0]] == []


def test_a_notice_that_was_told_for_months_costs_no_more_than_one_of_today(desk: Desk) -> None:
    store = desk.hub.store
    (notice,) = alerted.find(store, "dead_letters", "filial-sp", to=("webhook", "mail"))
    for _ in range(40):
        # What is through waits for nobody, so that nothing is added to it.
        alerted.brought(store, "webhook")
        alerted.brought(store, "mail")
        alerted.change(store, [notice], told_at=utc_now() - timedelta(hours=5))
        alerted.find(store, "dead_letters", "filial-sp", to=("webhook", "mail"))
    (one,) = told.open_notices(store)
    assert one.told == 41
    found = told.deliveries(store, [one])[notice]
    assert {each.channel for each in found} == {"webhook", "mail"}
    with store.read() as connection:
        messages = connection.execute(store.tables.event.select()).all()
    assert len(messages) == 82 > LAST_MESSAGES
    last = max(row.created_at for row in messages)
    assert min(each.at for each in found) > last - timedelta(seconds=1)
    assert all(each.told_at is None for each in found), "not the last ones"
    with recording(store) as sent:
        told.deliveries(store, [one])
    ((statement, parameters),) = sent
    with store.read() as connection:
        assert len(connection.exec_driver_sql(statement, parameters).all()) == LAST_MESSAGES
