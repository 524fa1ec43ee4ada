"""`dlq-console serve`, `worker`, `scheduler` and `demo`: the processes of an installation."""

from __future__ import annotations

import math
from pathlib import Path

import click

from dlq_console.cli.common import accounts_option, log_to_stderr, open_hub, require_tables
from dlq_console.cli.interrupts import loading
from dlq_console.settings import read_settings


@click.command()
@click.option(
    "--bind", default="127.0.0.1:8000", show_default=True, help="HOST:PORT or unix:PATH to listen on."
)
@click.option("--workers", default=2, type=click.IntRange(1, 64), show_default=True, help="Web processes.")
def serve(bind: str, workers: int) -> None:
    """Serve the console and the JSON API."""
    with open_hub(check_tables=False) as hub:
        with loading():
            from dlq_console.app import create_app
            from dlq_console.cli.server import check_bind, serve_app

            app = create_app(hub)
        require_tables(hub)
        check_bind(bind)
        # What was opened for the check does not cross the fork.
        hub.store.engines.dispose()
        serve_app(app, bind=bind, workers=workers)


@click.command()
@click.option(
    "--concurrency", default=4, type=click.IntRange(1, 256), show_default=True, help="Events at once."
)
@accounts_option("Serve only these accounts; all if left out.")
@click.option("--no-scheduler", is_flag=True, help="Leave the periodic steps to others.")
def worker(concurrency: int, accounts: tuple[str, ...] | None, no_scheduler: bool) -> int:
    """Run events with the handlers of DLQ_APP, through the broker where one is set."""
    log_to_stderr()
    with loading():
        from dlq_console.workers.loading import load_hub

        hub = load_hub(read_settings().app)
        if hub.settings.broker_url:
            from dlq_console.workers.celery_worker import run_worker
        else:
            from dlq_console.workers.runner import run_worker
    require_tables(hub)
    return run_worker(hub, concurrency=concurrency, accounts=accounts, scheduler=not no_scheduler)


@click.command()
def scheduler() -> int:
    """Run the periodic steps alone; workers host them too unless told otherwise."""
    with loading():
        from dlq_console.workers.scheduler import run_scheduler

    log_to_stderr()
    with open_hub() as hub:
        return run_scheduler(hub)


@click.command()
@click.option(
    "--port", default=8000, type=click.IntRange(1, 65535), show_default=True, help="Port of the console."
)
@click.option(
    "--data", type=click.Path(path_type=Path, file_okay=False), help="Keep the data in this folder."
)
@click.option("--seconds", type=click.FloatRange(1), help="End by itself after this time.")
@click.option(
    "--rate", default=2.0, type=click.FloatRange(0.01, 1000), show_default=True, help="Events per second."
)
def demo(port: int, data: Path | None, seconds: float | None, rate: float) -> int:
    """Show everything at once, with invented data and a simulated ERP."""
    if math.isnan(rate) or (seconds is not None and math.isnan(seconds)):
        raise click.BadParameter("write numbers.", param_hint="--rate, --seconds")
    if data is not None:
        try:
            data.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise click.BadParameter(
                f"{data} cannot be made: {error.strerror}.", param_hint="--data"
            ) from error
    with loading():
        from dlq_console.demo.command import Demo, run_demo

    return run_demo(Demo(port=port, data=data, seconds=seconds, rate=rate))
