"""A server that speaks https, and who takes it for what it says it is."""

import gc
import shutil
import socket
import ssl
import subprocess
import tracemalloc
from asyncio.sslproto import SSLProtocol
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from cede.live.api import connections
from cede.live.client import Client, ClientError
from cede.live.config import ServerConfig
from cede.live.server import LiveServer, check_exposure
from cede.model.errors import CedeError, InputError
from tests.live.serving import Live, serving, until

pytestmark = pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the certificates")


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A certificate for localhost, signed by itself, and its key."""
    folder = tmp_path_factory.mktemp("tls")
    cert, key = folder / "cert.pem", folder / "key.pem"
    made = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    made += ["-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    subprocess.run([*made, "-keyout", str(key), "-out", str(cert)], check=True, capture_output=True)
    return cert, key


@pytest.fixture(scope="module")
def live(certificate: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    data = tmp_path_factory.mktemp("data")
    config = ServerConfig(port=0, data=data, tls_cert=certificate[0], tls_key=certificate[1])
    made = Live(None, config)
    made.server = LiveServer(config, None)
    made.server.start()
    made.client = Client(data=data)
    yield made
    made.stop()


def port_of(live: Live) -> int:
    return urlsplit(live.client.url).port or 0


def test_commands_of_the_same_account_know_the_server_by_its_certificate(live: Live) -> None:
    assert live.client.url.startswith("https://127.0.0.1:")
    assert live.client.health()["status"] == "ok"


def test_others_need_a_certificate_to_trust_and_the_right_name(
    live: Live, certificate: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert live.server.ready is not None
    token, named = live.server.ready.local_token, f"https://localhost:{port_of(live)}"

    with Client(named, token, ca=certificate[0]) as client:
        assert client.server()["you"]["role"] == "admin"
    with Client(named, token) as client, pytest.raises(ClientError, match=r"(?i)certificate"):
        client.health()
    wrong_name = Client(f"https://127.0.0.1:{port_of(live)}", token, ca=certificate[0])
    with wrong_name as client, pytest.raises(ClientError, match=r"(?i)not valid for '127.0.0.1'"):
        client.health()
    monkeypatch.setenv("CEDE_CA", str(certificate[0]))
    with Client(named, token) as client:
        assert client.health()["status"] == "ok"


def test_whoever_does_not_trust_the_server_is_told_what_to_give(live: Live) -> None:
    assert live.server.ready is not None
    token, port = live.server.ready.local_token, port_of(live)

    with Client(f"https://localhost:{port}", token) as client, pytest.raises(ClientError) as caught:
        client.health()
    said = f"the certificate of https://localhost:{port} is not trusted: self-signed certificate"
    assert caught.value.detail == f"{said} (give those to trust with --ca FILE, or CEDE_CA)"


def test_two_that_speak_different_languages_are_told_so(live: Live, tmp_path: Path) -> None:
    assert live.server.ready is not None
    token, port = live.server.ready.local_token, port_of(live)

    with Client(f"http://127.0.0.1:{port}", token) as client, pytest.raises(ClientError, match="is reached by https"):
        client.health()
    with serving(tmp_path, None) as plain:
        secured = plain.client.url.replace("http://", "https://")
        with Client(secured, token) as client, pytest.raises(ClientError, match="speaks no TLS"):
            client.health()


def test_a_file_without_certificates_is_told_so(tmp_path: Path) -> None:
    (tmp_path / "none.pem").write_text("nothing")

    with pytest.raises(ClientError, match=r"none.pem: no certificates to trust"):
        Client("https://localhost:1", "token", ca=tmp_path / "none.pem")


def test_a_handshake_that_never_ends_is_given_up(live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "HANDSHAKE_WITHIN_S", 0.3)
    with socket.create_connection(("127.0.0.1", port_of(live)), timeout=30) as line:
        assert line.recv(1) == b""
    assert live.client.health()["status"] == "ok"


def test_a_connection_takes_little_memory_from_its_beginning(live: Live) -> None:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    count = 50
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        with ExitStack() as stack:
            for _ in range(count):
                line = stack.enter_context(socket.create_connection(("127.0.0.1", port_of(live)), timeout=30))
                stack.enter_context(context.wrap_socket(line))
            now, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert (now - before) / count < 64 * 1024


def test_nobody_shakes_hands_with_those_who_had_to_make_room(certificate: tuple[Path, Path], tmp_path: Path) -> None:
    """However many come at once: what a handshake takes is held by as many as may be connected."""
    few = 20
    config = ServerConfig(port=0, data=tmp_path, tls_cert=certificate[0], tls_key=certificate[1], connections=few)
    server = LiveServer(config, None)
    port = urlsplit(server.start().url).port
    with ExitStack() as stack:
        stack.callback(server.stop)
        for _ in range(20 * few):
            stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=30))

        def handshakes() -> int:
            gc.collect()
            return sum(isinstance(one, SSLProtocol) for one in gc.get_objects())

        until(lambda: handshakes() <= few, within=5.0)


def test_plain_http_is_not_answered(live: Live) -> None:
    with socket.create_connection(("127.0.0.1", port_of(live)), timeout=30) as line:
        line.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
        assert not line.recv(100).startswith(b"HTTP")


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "cluster.example.org"])
def test_beyond_this_machine_without_tls_is_refused_unless_it_is_meant(
    host: str, certificate: tuple[Path, Path]
) -> None:
    with pytest.raises(InputError, match=r"host: .* without TLS .*--insecure"):
        check_exposure(ServerConfig(host=host))

    check_exposure(ServerConfig(host=host, insecure=True))
    check_exposure(ServerConfig(host=host, tls_cert=certificate[0], tls_key=certificate[1]))


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "127.0.0.2"])
def test_this_machine_needs_no_tls(host: str) -> None:
    check_exposure(ServerConfig(host=host))


def test_files_that_are_no_certificate_and_key_are_refused(tmp_path: Path, certificate: tuple[Path, Path]) -> None:
    config = ServerConfig(port=0, data=tmp_path, tls_cert=certificate[1], tls_key=certificate[0])

    with pytest.raises(CedeError, match="that TLS can use: one of the two is not in them in PEM"):
        LiveServer(config, None).start()
    with pytest.raises(InputError, match="tls_key: there is a key, but no certificate"):
        check_exposure(ServerConfig(tls_key=certificate[1]))


def test_a_token_goes_over_plain_http_only_where_that_is_served(tmp_path: Path) -> None:
    with serving(tmp_path) as plain:
        assert plain.client.url.startswith("http://127.0.0.1:")
