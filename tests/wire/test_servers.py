"""The servers: what they accept from whom, how much of it, and for how long."""

import asyncio
import json
import re
import resource
import socket
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, cast

import httpx2
import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.testclient import TestClient
from starlette.types import ASGIApp, Message, Receive

from hobbes.engine.world import make_setting
from hobbes.errors import HobbesError, UsageError
from hobbes.show import run_list
from hobbes.show.web.server import HEADERS, server, site
from hobbes.store.home import Store
from hobbes.wire import body_limits
from hobbes.wire.listener import listener
from hobbes.wire.recorder import in_thread, run_server
from hobbes.wire.stand_in import stand_in
from hobbes.worlds import WORLDS
from tests.conftest import Cli, missing
from tests.small_runs import mining

LOCAL = "http://127.0.0.1"
TOKEN = "a-secret"  # noqa: S105  of these tests
EVERYWHERE = "0.0.0.0"  # noqa: S104  here only its name is used
OTHER = "10.1.2.3"


@pytest.fixture
def served(home: Path) -> Iterator[str]:
    """The URL of a home's pages on a real server."""
    with run_server(server(home, "127.0.0.1")) as base:
        yield base


@contextmanager
def connected(base: str, sent: bytes = b"") -> Iterator[socket.socket]:
    """Connect to a server, and send some bytes."""
    host, port = httpx2.URL(base).host, httpx2.URL(base).port
    assert port is not None
    with closing(socket.create_connection((host, port), timeout=60)) as connection:
        connection.sendall(sent)
        yield connection


def received(connection: socket.socket) -> bytes:
    """Return all that a server sends until it closes the connection."""
    found = b""
    try:
        while part := connection.recv(2**16):
            found += part
    except ConnectionResetError:
        pass  # closed as well, but with bytes that the server did not read
    return found


def send_often(connection: socket.socket, part: bytes, times: int) -> None:
    """Send the same bytes again and again."""
    for _ in range(times):
        connection.sendall(part)


# --- how much is read


def megabytes() -> float:
    """Return the most memory that this process has ever had, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def posting(base: str, headers: Sequence[str], path: str = "/last") -> bytes:
    """Return the head of a request that sends something."""
    lines = [f"POST {path} HTTP/1.1", f"Host: {httpx2.URL(base).netloc.decode()}", *headers]
    return "\r\n".join([*lines, "", ""]).encode()


def refusal(app: Starlette, path: str, host: str, receive: Receive) -> int:
    """Return the status with which a request is refused, and see that its connection is closed then."""
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "method": "POST",
        "path": path,
        "query_string": b"",
        "headers": [(b"host", host.encode())],
        "server": ("127.0.0.1", 80),
    }
    asyncio.run(app(scope, receive, send))
    assert (b"connection", b"close") in sent[0]["headers"]  # or uvicorn would receive the rest
    status: int = sent[0]["status"]
    return status


@pytest.mark.parametrize("length", [f"Content-Length: {200 * 2**20}", "Transfer-Encoding: chunked"])
def test_200_mb_that_are_sent_are_not_read(length: str, either: tuple[str, str]) -> None:
    """The pages take nothing, and the stand-in server no more than a model's prompt may have."""
    base, path = either
    before = megabytes()
    with connected(base, posting(base, [length], path)) as connection:
        chunk = b"a=b&" * 2**14
        part = b"%x\r\n%s\r\n" % (len(chunk), chunk) if "chunked" in length else chunk
        with pytest.raises(OSError, match=r"Broken pipe|Connection reset"):
            send_often(connection, part, 200 * 2**20 // len(chunk))
        answer = received(connection)
    assert answer.startswith(b"HTTP/1.1 413" if path.startswith("/v1") else b"HTTP/1.1 405")
    assert megabytes() < before + 50


@pytest.mark.parametrize(
    ("host", "token", "status"),
    [("evil.example", None, 400), ("127.0.0.1", None, 405), ("127.0.0.1", TOKEN, 405)],
    ids=["host", "method", "token"],
)
def test_who_asks_is_checked_before_a_byte_is_read(
    host: str, token: str | None, status: int, home: Path
) -> None:
    async def receive() -> Message:
        raise AssertionError("the body was read")

    assert refusal(site(home, "127.0.0.1", token), "/last", host, receive) == status


# --- for how long


@pytest.fixture(params=["view", "serve"])
def either(request: pytest.FixtureRequest, home: Path) -> Iterator[tuple[str, str]]:
    """The URL of a real server of either kind, and a path to which one can post."""
    if request.param == "view":
        with run_server(server(home, "127.0.0.1")) as base:
            yield base, "/last"
    else:
        with in_thread(stand_in()) as base:
            yield base.removesuffix("/v1"), "/v1/chat/completions"


def test_half_a_body_is_refused_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(body_limits, "REQUEST_SECONDS", 0.0)
    parts: list[Message] = [{"type": "http.request", "body": b"a=", "more_body": True}]

    async def receive() -> Message:
        if parts:
            return parts.pop()
        return await asyncio.Future[Message]()

    assert refusal(stand_in(), "/v1/chat/completions", "127.0.0.1", receive) == 408


def test_a_client_that_leaves_in_the_middle_prints_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    headers = ["Content-Length: 9", "Expect: 100-continue"]
    with in_thread(stand_in()) as url:
        base = url.removesuffix("/v1")
        with connected(base, posting(base, headers, "/v1/chat/completions")) as connection:
            assert connection.recv(2**16).startswith(b"HTTP/1.1 100")  # the server waits for the body now
            connection.sendall(b"half")
        assert httpx2.get(base).status_code == 404
    assert capfd.readouterr() == ("", "")


def ask(base: str, head: str) -> httpx2.Headers:
    """Return the headers of the answer to a request, which may be malformed."""
    with connected(base, f"{head}\r\nConnection: close\r\n\r\n".encode()) as connection:
        lines = received(connection).decode().partition("\r\n\r\n")[0].split("\r\n")
    named = [line.partition(": ") for line in lines[1:]]
    return httpx2.Headers([(":status", lines[0].split()[1]), *((name, value) for name, _, value in named)])


def test_every_answer_says_what_the_browser_may_do(
    opened: Store, served: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    mining(opened)
    monkeypatch.setattr(run_list, "page", lambda *_: 1 // 0)
    host = "\r\nHost: 127.0.0.1"
    for head, status in {
        f"GET /last HTTP/1.1{host}": 200,
        f"GET /last/0/miner-01 HTTP/1.1{host}": 200,
        f"GET /nothing HTTP/1.1{host}": 404,
        f"GET /a/b/c/d HTTP/1.1{host}": 404,
        f"DELETE /last HTTP/1.1{host}": 405,
        f"POST /last HTTP/1.1{host}": 405,
        f"GET / HTTP/1.1{host}": 500,
        "GET / HTTP/1.1\r\nHost: evil.example": 400,
        "GET / HTTP/1.1": 400,
        "nonsense": 400,
    }.items():
        headers = ask(served, head)
        assert headers[":status"] == str(status), head
        assert {name: headers.get(name) for name in HEADERS} == HEADERS, head
    policy = dict(part.split(" ", 1) for part in HEADERS["content-security-policy"].split("; "))
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == policy["connect-src"] == "'self'"
    ours, *of_single_pictures = policy["style-src"].split()
    assert ours == "'self'"
    assert all(one.startswith("'sha256-") for one in of_single_pictures)


def visitor(home: Path, host: str, token: str | None = None, at: str = "127.0.0.1") -> TestClient:
    """Return a visitor of pages that are served on a host, whose requests arrive at an address."""
    return TestClient(site(home, host, token), base_url=f"http://{at}")


@pytest.mark.parametrize(
    ("host", "names"),
    [
        ("127.0.0.1", ["localhost", "LOCALHOST:8766", "127.0.0.1", "127.0.0.1:8766", "[::1]", "[::1]:8766"]),
        ("127.0.0.2", ["localhost", "127.0.0.2"]),
        (EVERYWHERE, ["localhost", "127.0.0.1", socket.gethostname(), f"{OTHER}:8766"]),
    ],
)
def test_the_names_of_this_machine_are_served(host: str, names: list[str], home: Path) -> None:
    token = TOKEN if host == EVERYWHERE else None
    for name in names:
        pages = visitor(home, host, token, OTHER if OTHER in name else "127.0.0.1")
        assert pages.get("/", params={"token": TOKEN}, headers={"host": name}).status_code == 200, name


@pytest.mark.parametrize("host", ["127.0.0.1", EVERYWHERE])
@pytest.mark.parametrize(
    "name",
    [
        *("evil.example", "localhost.evil.example", "127.0.0.1.evil.example", OTHER, "", "["),
        *(
            "[::1]evil",
            "[::1]evil.example:80",
            "[::1].evil.example",
            "evil.example@localhost",
            "localhost:80:80",
        ),
        *("localhost/", "localhost?", "localhost#", "::1"),
    ],
)
def test_another_name_that_leads_here_is_refused(host: str, name: str, home: Path) -> None:
    """A page of another site may let its own name lead to this machine, to read what is served here."""
    pages = visitor(home, host, TOKEN if host == EVERYWHERE else None)
    refused = pages.get("/", params={"token": TOKEN}, headers={"host": name})
    told = "hobbes: open the address that `hobbes view` printed\n"
    assert (refused.status_code, refused.text) == (400, told)


def test_pages_with_a_token_need_it_once(opened: Store, home: Path) -> None:
    run = mining(opened)
    pages = visitor(home, EVERYWHERE, TOKEN)
    told = "hobbes: open the address that `hobbes view` printed, with its token\n"
    for address in ("/", f"/{run.id}", "/?token=", "/?token=another", "/?token=%ff"):
        refused = pages.get(address)
        assert (refused.status_code, refused.text) == (403, told), address
        assert "set-cookie" not in refused.headers
    assert pages.get("/", headers={"cookie": "hobbes-80=another"}).status_code == 403
    first = pages.get("/", params={"token": TOKEN})
    assert first.status_code == 200
    assert first.headers["set-cookie"] == f"hobbes-80={TOKEN}; Path=/; HttpOnly; SameSite=Strict"
    assert "<html" not in first.text
    assert pages.get(f"/{run.id}").status_code == 200
    assert "set-cookie" not in pages.get(f"/{run.id}").headers
    assert visitor(home, EVERYWHERE, TOKEN).get("/").status_code == 403  # another browser


def test_an_address_with_the_token_leads_to_the_address_without_it(home: Path) -> None:
    """The token does not stay in the address bar, nor in an address that is copied from there."""
    pages, base = visitor(home, EVERYWHERE, TOKEN), "http://127.0.0.1"
    for _ in ("without the cookie", "with it"):
        for asked, led in (
            (f"/?token={TOKEN}", "/"),
            (f"/a/2?turn=1&token={TOKEN}&agent=b+c", "/a/2?turn=1&agent=b+c"),
            (f"//evil.example/?token={TOKEN}", "//evil.example/"),
            (f"/%C3%A4?token={TOKEN}", "/%C3%A4"),
        ):
            told = pages.get(f"{base}{asked}")
            assert told.headers["refresh"] == f"0; url={base}{led}"
            assert TOKEN not in told.text


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[uvicorn.Server]:
    """The servers that would run."""
    found: list[uvicorn.Server] = []

    def run(self: uvicorn.Server, sockets: list[socket.socket]) -> None:
        assert sockets
        found.append(self)

    monkeypatch.setattr(uvicorn.Server, "run", run)
    return found


def test_pages_that_others_can_reach_have_a_secret_address(cli: Cli, started: list[uvicorn.Server]) -> None:
    secret, other = (cli("view", "--host", EVERYWHERE, "--port", "0") for _ in range(2))
    found = re.fullmatch(r"http://127\.0\.0\.1:\d+/\?token=([\w-]{43})\n", secret.stdout)
    assert found
    assert found[1] not in other.stdout
    assert "whoever has the token can read all runs" in secret.stderr
    first, _ = (TestClient(cast(ASGIApp, one.config.app), base_url=LOCAL) for one in started)
    assert first.get("/").status_code == 403
    assert first.get(f"/?token={found[1]}").status_code == 200
    alone = cli("view", "--port", "0")
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/\n", alone.stdout)
    assert TestClient(cast(ASGIApp, started[2].config.app), base_url=LOCAL).get("/").status_code == 200


@pytest.mark.parametrize("command", ["view", "serve"])
@pytest.mark.parametrize("host", ["", " "])
def test_an_empty_host_is_refused(command: str, host: str, cli: Cli, started: list[uvicorn.Server]) -> None:
    """Python would listen on all addresses."""
    found = cli(command, "--host", host, "--port", "0")
    assert isinstance(found.exception, UsageError)
    assert str(found.exception).startswith("--host is empty")
    assert not started


@pytest.mark.usefixtures("started")
def test_ipv6_is_served(cli: Cli) -> None:
    try:
        listener("::1", 0).close()
    except HobbesError:
        missing("there is no IPv6")
    assert re.fullmatch(r"http://\[::1\]:\d+/\n", cli("view", "--host", "::1", "--port", "0").stdout)
    assert re.fullmatch(r"http://\[::1\]:\d+/v1\n", cli("serve", "--host", "::1", "--port", "0").stdout)
    everywhere = cli("view", "--host", "::", "--port", "0")
    assert re.fullmatch(r"http://\[::1\]:\d+/\?token=.*\n", everywhere.stdout)


def test_an_address_of_another_machine_is_refused() -> None:
    for host in ("192.0.2.1", "2001:db8::1"):
        with pytest.raises(HobbesError, match=r"cannot listen on .*; choose another --host, an address of"):
            listener(host, 0)


# --- the stand-in server refuses what is no view


def test_no_request_is_an_error_of_the_stand_in_server() -> None:
    """Whatever is missing, of another type, or nested too deep, the client is told so."""
    world = WORLDS["mining"]
    setting = make_setting(world, ["miner-01", "miner-02"], 1, {})
    view = world.observe(world.setup(setting.config, setting.agents, setting.seed), "miner-01")
    wrong: tuple[Any, ...] = (None, 0, "x", [], {}, [[]], "\ud800")
    views = [{key: value for key, value in view.items() if key != left_out} for left_out in view]
    views += [{**view, key: value} for key in view for value in wrong]

    def request(*messages: object, more: object = 0) -> str:
        return json.dumps({"model": "policy/guided", "messages": messages, "more": more})

    def said(view: object) -> dict[str, str]:
        return {"role": "user", "content": json.dumps(view)}

    requests = [request(said(one)) for one in views]
    requests += [request(value, said(view)) for value in wrong]
    requests.append(request(said(view), more="\ud800"))
    requests.append(request(said(view)).replace(": 0}", f": {'[' * 970}{']' * 970}}}"))
    client = TestClient(stand_in())
    for body in requests:
        answer = client.post("/v1/chat/completions", content=body)
        assert answer.status_code in {200, 400}, body
        assert answer.status_code == 200 or answer.json()["error"]["message"]
