"""The way to a model's server: proxies, certificates, organization and project."""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx2
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from hobbes.engine.answer import Outcome
from hobbes.nodes.chat import ChatPlayer, PlainClient
from hobbes.nodes.journal import Address, Prompt, Reply
from hobbes.nodes.models import ModelSettings
from hobbes.nodes.prompt_set import PromptSet

NOWHERE = "http://127.0.0.1:1"
"""A proxy that nobody runs."""

COMPLETION = json.dumps(
    {"choices": [{"message": {"role": "assistant", "content": "{}"}, "finish_reason": "stop"}]}
).encode()


async def reply() -> Reply:
    """Ask a model of the server in OPENAI_BASE_URL once."""
    player = ChatPlayer(ModelSettings(model="any"), "", PromptSet("mining", "guided", "en", "", "", ""))
    try:
        return await player.reply(Address(0, "ann"), Prompt("be", "play"))
    finally:
        await player.close()


@asynccontextmanager
async def serving(
    heads: list[str], context: ssl.SSLContext | None = None, behind: str = ""
) -> AsyncIterator[str]:
    """Run a server or a proxy, note the head of each request, and yield its host and port.

    A tunnel leads to the server `behind`, whatever host is asked for. Any other request is answered with a
    completion.
    """

    served: list[asyncio.Task[None] | None] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        served.append(asyncio.current_task())
        with closing(writer):
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            heads.append(head)
            if head.startswith("CONNECT"):
                await tunnel(reader, writer, behind)
                return
            length = next(line for line in head.lower().splitlines() if line.startswith("content-length"))
            await reader.readexactly(int(length.partition(":")[2]))
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % len(COMPLETION) + COMPLETION)
            await writer.drain()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context)
    async with server:
        yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    await asyncio.gather(*filter(None, served))


async def tunnel(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, behind: str) -> None:
    """Pass on what two sides send each other, until both have ended."""
    other_reader, other_writer = await asyncio.open_connection(*behind.split(":"))
    writer.write(b"HTTP/1.1 200 OK\r\n\r\n")

    async def pass_on(one: asyncio.StreamReader, other: asyncio.StreamWriter) -> None:
        with closing(other):
            while data := await one.read(2**16):
                other.write(data)

    await asyncio.gather(pass_on(reader, other_writer), pass_on(other_reader, writer))


def test_a_server_is_asked_through_the_proxy_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    heads: list[str] = []
    monkeypatch.setenv("OPENAI_BASE_URL", "http://model.invalid/v1")

    async def asking(variable: str) -> Reply:
        async with serving(heads) as proxy:
            with monkeypatch.context() as patch:
                patch.setenv(variable, f"http://{proxy}")
                return await reply()

    for variable in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        assert asyncio.run(asking(variable)).text == "{}"
    assert [head.split()[1] for head in heads] == ["http://model.invalid/v1/chat/completions"] * 3


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of how openai's transport uses aiohttp
def test_a_proxy_is_told_its_user_and_password_and_no_error_quotes_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    heads: list[str] = []
    monkeypatch.setenv("OPENAI_BASE_URL", "http://model.invalid/v1")

    async def asking() -> Reply:
        async with serving(heads) as proxy:
            monkeypatch.setenv("HTTP_PROXY", f"http://ann:canary-0123@{proxy}")
            assert (await reply()).text == "{}"
        return await reply()  # now nobody runs the proxy

    failed = asyncio.run(asking())
    assert "\r\nProxy-Authorization: Basic YW5uOmNhbmFyeS0wMTIz\r\n" in heads[0]
    assert failed.failure is Outcome.PROVIDER_ERROR
    assert "canary" not in failed.error


def test_hosts_in_no_proxy_are_asked_directly(monkeypatch: pytest.MonkeyPatch) -> None:
    heads: list[str] = []
    monkeypatch.setenv("HTTP_PROXY", NOWHERE)
    monkeypatch.setenv("NO_PROXY", "example.org,127.0.0.1")

    async def asking() -> Reply:
        async with serving(heads) as server:
            monkeypatch.setenv("OPENAI_BASE_URL", f"http://{server}/v1")
            return await reply()

    assert asyncio.run(asking()).text == "{}"
    assert heads[0].startswith("POST /v1/chat/completions ")


def test_https_goes_through_a_tunnel_and_trusts_the_authority_of_ssl_cert_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_server: list[str] = []
    at_proxy: list[str] = []
    monkeypatch.setenv("OPENAI_BASE_URL", "https://model.invalid/v1")
    monkeypatch.setenv("OPENAI_API_KEY", "canary-0123")

    async def asking(context: ssl.SSLContext) -> tuple[Reply, Reply]:
        async with serving(at_server, context) as server, serving(at_proxy, behind=server) as proxy:
            monkeypatch.setenv("HTTPS_PROXY", f"http://{proxy}")
            distrusting = await reply()
            monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
            return distrusting, await reply()

    distrusting, trusting = asyncio.run(asking(certified(tmp_path, "model.invalid")))
    assert distrusting.failure is Outcome.PROVIDER_ERROR
    assert "CERTIFICATE_VERIFY_FAILED" in distrusting.error.upper()
    assert trusting.text == "{}"
    assert {head.partition("\r\n")[0] for head in at_proxy} == {"CONNECT model.invalid:443 HTTP/1.1"}
    assert "canary" not in "".join(at_proxy)
    assert "authorization: bearer canary-0123" in at_server[0].lower()


OTHERS = ("OPENAI_API_BASE", "OPENAI_PROXY", "LANGSMITH_GATEWAY")
"""Variables by which LangChain would send prompts and key to another server."""


@pytest.mark.parametrize("base", ["", "http://model.invalid/v1"])
def test_prompts_and_key_go_to_the_server_of_openai_base_url_or_else_to_openai(
    base: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    async def send(_: PlainClient, request: httpx2.Request, **_options: object) -> httpx2.Response:
        asked.append(str(request.url))
        return httpx2.Response(200, content=COMPLETION, request=request)

    monkeypatch.setattr(PlainClient, "send", send)
    monkeypatch.setenv("OPENAI_BASE_URL", base)
    for variable in OTHERS:
        monkeypatch.setenv(variable, "http://third.invalid")
    assert asyncio.run(reply()).text == "{}"
    assert asked == [f"{base or 'https://api.openai.com/v1'}/chat/completions"]


def test_a_proxy_for_openai_alone_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    heads: list[str] = []
    monkeypatch.setenv("OPENAI_PROXY", NOWHERE)

    async def asking() -> Reply:
        async with serving(heads) as server:
            monkeypatch.setenv("OPENAI_BASE_URL", f"http://{server}/v1")
            return await reply()

    assert asyncio.run(asking()).text == "{}"


def test_organization_and_project_are_sent_as_headers(monkeypatch: pytest.MonkeyPatch) -> None:
    heads: list[str] = []
    monkeypatch.setenv("OPENAI_ORG_ID", "org-1")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "proj-2")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "X-Team: miners")

    async def asking() -> None:
        async with serving(heads) as server:
            monkeypatch.setenv("OPENAI_BASE_URL", f"http://{server}/v1")
            await reply()

    asyncio.run(asking())
    told = heads[0].lower().splitlines()
    assert {"openai-organization: org-1", "openai-project: proj-2", "x-team: miners"} <= {*told}


def test_every_request_of_a_run_has_its_own_body_address_and_cookies(monkeypatch: pytest.MonkeyPatch) -> None:
    heads: list[str] = []

    async def asking() -> None:
        async with serving(heads) as server:
            monkeypatch.setenv("OPENAI_BASE_URL", f"http://{server}/v1")
            player = ChatPlayer(
                ModelSettings(model="any"), "", PromptSet("mining", "guided", "en", "", "", "")
            )
            await player.reply(Address(0, "ann"), Prompt("be", "play"))
            player._http.cookies.set("session", "7")  # noqa: SLF001  as a server would set it
            await player.reply(Address(1, "bob"), Prompt("be", "play on"))
            await player.close()

    asyncio.run(asking())
    first, second = (head.lower().splitlines() for head in heads)
    assert {*first} - {*second} == {"x-hobbes-address: 0/ann/1", f"content-length: {length_of('play')}"}
    assert {*second} - {*first} == {
        "x-hobbes-address: 1/bob/1",
        f"content-length: {length_of('play on')}",
        "cookie: session=7",
    }


def length_of(turn: str) -> int:
    """Return the length of the body that openai's client sends for a turn."""
    messages = [{"content": "be", "role": "system"}, {"content": turn, "role": "user"}]
    body = {"model": "any", "stream": False, "messages": messages, "response_format": {"type": "json_object"}}
    return len(json.dumps(body, separators=(",", ":")))


def test_a_request_may_take_ten_seconds_to_connect_and_the_timeout_of_its_model_for_the_rest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    allowed: list[dict[str, float]] = []

    async def send(_: PlainClient, request: httpx2.Request, **_options: object) -> httpx2.Response:
        allowed.append(request.extensions["timeout"])
        return httpx2.Response(200, content=COMPLETION, request=request)

    monkeypatch.setattr(PlainClient, "send", send)
    monkeypatch.setenv("OPENAI_API_KEY", "any")
    asyncio.run(reply())
    assert allowed == [{"connect": 10.0, "read": 600.0, "write": 600.0, "pool": 600.0}]


@pytest.mark.parametrize(
    ("variable", "value", "words"),
    [
        ("HTTPS_PROXY", "http://ann:canary@proxy:port", "a proxy in the environment .* is not a valid URL"),
        ("ALL_PROXY", "ftp://ann:canary@proxy", "a proxy in the environment .* is not a valid URL"),
        ("SSL_CERT_FILE", "/nowhere/ca.pem", "SSL_CERT_FILE or SSL_CERT_DIR cannot be used: No such file"),
    ],
)
def test_an_unusable_proxy_or_authority_is_one_line_without_secrets(
    variable: str, value: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(ValueError, match=words) as refused:
        asyncio.run(reply())
    assert "canary" not in str(refused.value)


def certified(folder: Path, host: str) -> ssl.SSLContext:
    """Return the TLS of a server for a host, whose authority's certificate is `ca.pem` in the folder."""
    authority, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    root = certificate("an authority", "an authority", authority, authority)
    leaf = certificate(host, "an authority", key, authority)
    (folder / "ca.pem").write_bytes(root.public_bytes(serialization.Encoding.PEM))
    (folder / "server.pem").write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        + leaf.public_bytes(serialization.Encoding.PEM)
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "server.pem")
    return context


def certificate(
    subject: str, issuer: str, key: ec.EllipticCurvePrivateKey, signing: ec.EllipticCurvePrivateKey
) -> x509.Certificate:
    """Return a certificate for a key, signed by an authority's key; an authority signs its own."""
    names = [x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]) for name in (subject, issuer)]
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(names[0])
        .issuer_name(names[1])
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(subject.replace(" ", "-"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=subject == issuer, path_length=None), critical=True)
        .sign(signing, hashes.SHA256())
    )
