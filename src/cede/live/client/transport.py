"""Requests to a server and their answers, with every failure as a ClientError."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote, urlsplit

import httpx

from cede.live.client.discovery import Trust
from cede.live.client.errors import ClientError, error_of
from cede.model.errors import InputError, Problem, shown

PREFIX = "/api/v1"
_LOCAL = ("127.0.0.1", "localhost", "::1")
_PAUSES_S = (0.1, 0.3, 0.6, 1.0)
_LONGEST_WAIT_S = 86400.0
"""No socket can be waited for longer than 24 days at once."""
_LONGEST_WORD = 1000
"""Characters of a name or a filter: what a server knows is shorter, and an address cannot be endless."""
_UNTRUSTED = re.compile(r"certificate verify failed: (.+?)\.? \(_ssl")
_NO_TLS = "WRONG_VERSION_NUMBER"
_CLOSED = "disconnected without sending"
_SILENCE_S = 40.0
"""A stream that says nothing for so long is dead: a server gives a sign of life every 15 s."""


class Transport:
    """One server, reached with one token."""

    def __init__(self, url: str, token: str, timeout_s: float, trust: Trust | None = None) -> None:
        _check(url, token)
        self._timeout_s = timeout_s = min(timeout_s, _LONGEST_WAIT_S)
        # A proxy of the environment cannot know this machine's own addresses.
        beyond = urlsplit(url).hostname not in _LOCAL
        self._http = httpx.Client(
            base_url=f"{url}{PREFIX}",
            headers={"Authorization": f"Bearer {token}", "User-Agent": "cede-client"},
            timeout=timeout_s,
            trust_env=beyond,
            # Reading the certificates of the system takes longer than most questions.
            verify=url.startswith("https:") if trust is None or not url.startswith("https:") else trust.context(),
        )
        self.url = url

    def close(self) -> None:
        self._http.close()

    def get(self, path: str, **query: Any) -> Any:
        return self.page(path, **query).json()

    def get_at_leisure(self, path: str) -> Any:
        """The same for an answer that takes as long as it takes."""
        return self._page(path, {}, httpx.Timeout(self._timeout_s, read=None)).json()

    def page(self, path: str, **query: Any) -> httpx.Response:
        """A GET may be tried again while nobody listens: a server may be starting."""
        return self._page(path, _asked(query), httpx.Timeout(self._timeout_s))

    def _page(self, path: str, parameters: Mapping[str, Any], timeout: httpx.Timeout) -> httpx.Response:
        for pause_s in (*_PAUSES_S, None):
            try:
                return self._checked(self._http.get(path, params=parameters, timeout=timeout))
            except httpx.ConnectError as error:
                if pause_s is None:
                    raise self._unreachable(error) from None
                time.sleep(pause_s)
            except httpx.HTTPError as error:
                raise self._unreachable(error) from None
        raise AssertionError("the last try returns or raises")

    def send(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        """A change is asked for once: a second try could not know what the first one did."""
        content = None if body is None else json.dumps(given(body))
        headers = {} if body is None else {"Content-Type": "application/json"}
        try:
            return self._checked(self._http.request(method, path, content=content, headers=headers)).json()
        except httpx.HTTPError as error:
            raise self._unreachable(error) from None

    @contextmanager
    def events(
        self, after: int | None, workload: str | None, patience_s: float | None = None
    ) -> Iterator[Iterator[dict[str, Any]]]:
        """The server's events as they happen, until it ends the stream; open when this is entered.

        With `patience_s` it ends too when nothing came for a while, so that the reader can look at the clock.
        """
        query = _asked({"after": after, "workload": workload, "follow": True})
        silence_s = _SILENCE_S if patience_s is None else min(patience_s, _SILENCE_S)
        opened = False
        try:
            timeout = httpx.Timeout(10.0, read=silence_s)
            with self._http.stream("GET", "/events", params=query, timeout=timeout) as response:
                if response.is_error:
                    response.read()
                    raise error_of(response)
                opened = True
                yield _messages(response.iter_lines(), patient=patience_s is None)
        except httpx.ReadTimeout:
            if patience_s is None or not opened:
                raise ClientError(0, "", f"{self.url} fell silent") from None
        except httpx.HTTPError as error:
            raise self._unreachable(error) from None

    @staticmethod
    def _checked(response: httpx.Response) -> httpx.Response:
        if response.is_success:
            return response
        raise error_of(response)

    def _unreachable(self, error: httpx.HTTPError) -> ClientError:
        return ClientError(0, "", _why_not(self.url, str(error) or type(error).__name__))


def _why_not(url: str, error: str) -> str:
    """Why there was no answer, and what to do where the two ends speak different languages, or do not trust each
    other."""
    if (match := _UNTRUSTED.search(error)) is not None:
        return f"the certificate of {url} is not trusted: {match[1]} (give those to trust with --ca FILE, or CEDE_CA)"
    if _NO_TLS in error:
        return f"{url} speaks no TLS: http:// instead of https://?"
    if _CLOSED in error and url.startswith("http:"):
        return f"no answer from {url}: it closed the connection; a server that speaks TLS is reached by https://"
    return f"no answer from {url}: {error}"


def given(values: Mapping[str, Any]) -> dict[str, Any]:
    """What is not None."""
    return {key: value for key, value in values.items() if value is not None}


def quoted(name: str) -> str:
    """A name as a part of a path."""
    return quote(_text(name), safe="")


def _asked(query: Mapping[str, Any]) -> dict[str, Any]:
    """What is not None of a query."""
    return {key: _text(value) if isinstance(value, str) else value for key, value in given(query).items()}


def _text(word: str) -> str:
    """The word; an InputError if it is no text, like a name that was made of other bytes on a command line, or if no
    request can hold it."""
    if len(word) > _LONGEST_WORD:
        problem = f"{shown(word)} has {len(word)} characters, and nothing is called by more than {_LONGEST_WORD}"
        raise InputError([Problem("", problem)])
    try:
        word.encode()
    except UnicodeEncodeError:
        raise InputError([Problem("", f"{shown(word)} is no valid Unicode text")]) from None
    return word


def _check(url: str, token: str) -> None:
    """An InputError if no request could be made with these."""
    try:
        if httpx.URL(url).scheme not in ("http", "https"):
            raise ValueError("it begins with neither http:// nor https://")
        (urlsplit(url).hostname or "").encode("idna")
    except (ValueError, httpx.InvalidURL) as error:
        why = str(error).partition(": ")[2] if isinstance(error, UnicodeEncodeError) else str(error)
        hint = "write it like http://127.0.0.1:8642"
        raise InputError([Problem("", f"{shown(url)} is no address of a server: {why}", hint)]) from None
    if not (token.isascii() and token.isprintable()):
        raise InputError([Problem("", "the token has characters that none has", "give it as it was shown")])


def _messages(lines: Iterator[str], *, patient: bool) -> Iterator[dict[str, Any]]:
    """The data of the messages of a stream; one that announces its end ends it, and so does a mere sign of life to
    a reader without patience."""
    kind, data = "message", ""
    for line in lines:
        field, _, value = line.partition(": ")
        if field == "event":
            kind = value
        elif field == "data":
            data = value
        elif line.startswith(":") and not patient:
            return
        elif not line and data:
            if kind == "closed":
                return
            yield json.loads(data)
            kind, data = "message", ""
