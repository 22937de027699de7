"""SIGHUP, as an administrator sends it after a change and a terminal when it is closed."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from tests.live.cli.serving import CLUSTER, Served, served, until

BEFORE = "times: {grace_period: 7s}\nusers: [{name: bob, role: viewer}]\nport: 0\n"


def log_of(server: Served) -> str:
    return (server.data.parent / f"{server.data.name}.log").read_text()


def hang_up(server: Served, says: str) -> None:
    server.process.send_signal(signal.SIGHUP)
    until(lambda: says in log_of(server))
    assert server.client.health()["status"] == "ok"


@pytest.mark.slow
def test_the_configuration_is_read_again_where_it_can_change(tmp_path: Path) -> None:
    config = tmp_path / "cede.yaml"
    config.write_text(BEFORE)
    with served(tmp_path / "data", CLUSTER, "--config", config) as server:
        token = server.client.make_token("bob")["token"]
        as_bob = {"CEDE_URL": server.said["url"], "CEDE_TOKEN": token, "CEDE_DATA": ""}
        assert "bob is a viewer" in server.run("submit", "--", "true", **as_bob).err

        config.write_text(BEFORE.replace("viewer", "user, account: root") + "max_body: 2000\n")
        hang_up(server, "the configuration was read again: users changed; max_body will at the next start")
        assert "bob is a viewer" not in server.run("submit", "--", "true", **as_bob).err

        config.write_text("times: {grace: 7s}\n")
        hang_up(
            server, "the configuration stays as it was, for it cannot be used: times.grace: there is no key 'grace'"
        )
        assert "bob is a viewer" not in server.run("submit", "--", "true", **as_bob).err

        config.unlink()
        hang_up(server, "cannot be used: ")
        told = [entry["detail"] for entry in server.client.audit(about="configuration")]
        assert told[0] == "SIGHUP: users changed; max_body will at the next start"
        assert server.process.poll() is None


@pytest.mark.slow
def test_a_server_without_a_configuration_goes_on(tmp_path: Path) -> None:
    with served(tmp_path / "data", CLUSTER) as server:
        for _ in range(3):
            hang_up(server, "there is no configuration file to read again")

        assert server.process.poll() is None
        assert server.run("submit", "--name", "after", "--wait", "--", "true").code == 0


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGUSR1, signal.SIGUSR2, signal.SIGALRM])
def test_no_stray_signal_ends_a_server_without_a_word(tmp_path: Path, number: signal.Signals) -> None:
    with served(tmp_path / "data", CLUSTER) as server:
        server.process.send_signal(number)
        hang_up(server, "there is no configuration file to read again")

        assert server.run("submit", "--name", "after", "--wait", "--", "true").code == 0
