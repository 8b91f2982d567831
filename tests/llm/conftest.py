"""A chat completions server on the loopback address, and a clock that sleeping moves."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest


class FakeClock:
    """Seconds that pass only while someone sleeps."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.slept: list[float] = []
        self._lock = threading.Lock()

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        with self._lock:
            self.now += seconds
            self.slept.append(seconds)


DROP = "drop the connection"


@dataclass
class Reply:
    status: int = 200
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)


def chat_reply(content: Any = "ok", *, finish: str = "stop", model: str = "fake-1", **message: Any) -> Reply:
    return Reply(
        body={
            "model": model,
            "choices": [{"message": {"role": "assistant", "content": content, **message}, "finish_reason": finish}],
            "usage": {"prompt_tokens": 7, "completion_tokens": 3},
        }
    )


def error_reply(status: int, message: str, *, headers: dict[str, str] | None = None, **fields: Any) -> Reply:
    return Reply(status, {"error": {"message": message, **fields}}, headers or {})


class ChatServer:
    """Answers by `script(number of the request from 1, body)`; keeps what it was asked."""

    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []
        self.keys: list[str] = []
        self.script: Callable[[int, dict[str, Any]], Reply | str] = lambda number, body: chat_reply()
        self._lock = threading.Lock()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                with outer._lock:
                    outer.requests.append(body)
                    outer.keys.append(self.headers.get("Authorization") or self.headers.get("api-key") or "")
                    number = len(outer.requests)
                reply = outer.script(number, body)
                if isinstance(reply, str):
                    self.close_connection = True
                    self.connection.close()
                    return
                data = reply.body if isinstance(reply.body, bytes) else json.dumps(reply.body).encode()
                self.send_response(reply.status)
                for name, value in reply.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *args: Any) -> None:
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 64

            def handle_error(self, *args: Any) -> None:
                pass

        self._http = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}/v1"
        self._thread = threading.Thread(target=lambda: self._http.serve_forever(poll_interval=0.01), daemon=True)
        self._thread.start()

    @property
    def asked(self) -> list[str]:
        """The last message of each request."""
        return [body["messages"][-1]["content"] for body in self.requests]

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()


@pytest.fixture
def server() -> Iterator[ChatServer]:
    made = ChatServer()
    yield made
    made.close()


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def replies() -> Any:
    """The makers of replies, for scripts."""

    class Makers:
        chat = staticmethod(chat_reply)
        error = staticmethod(error_reply)
        drop = DROP
        raw = Reply

    return Makers
