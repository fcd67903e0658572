"""No key is written or shown, wherever a server says it aloud: every file, stdout and stderr are searched."""

import gzip
import html
import json
import re
import sqlite3
import sys
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.testclient import TestClient
from typer.testing import CliRunner

from hobbes.cli import app
from hobbes.engine.record import Findings
from hobbes.engine.said import clean_text
from hobbes.nodes import secrecy
from hobbes.nodes.secrecy import MAX_STORED_LENGTH, storable, without_secrets
from hobbes.show.web.server import site
from hobbes.wire import recorder
from hobbes.wire.recorder import environment as environment_of
from hobbes.wire.recorder import in_thread
from tests.conftest import Cli
from tests.forking import Command

WHO = "somebody:canary%40base-0123"
"""Who asks, in an address."""
CANARIES = {
    "OPENAI_API_KEY": "sk-canary-0123456",
    "OPENAI_ORG_ID": "org-canary-0123456",
    "OPENAI_PROJECT_ID": "proj-canary-0123456",
}


async def gossip(request: Request) -> Response:
    """Say everything that was sent, in every field that is kept; the second agent is refused loudly."""
    heard = f"{dict(request.headers)} {request.url} {CANARIES}"
    if "miner-02" in request.headers.get("x-hobbes-address", ""):
        return JSONResponse({"error": {"message": heard, "code": 401}}, 401, CANARIES)
    said = {"memory": heard, "reasoning": heard, "claim": [heard, [0, 0]]}
    spelled = "".join(f"\\u{ord(character):04x}" for character in CANARIES["OPENAI_API_KEY"])
    content = f'{json.dumps(said)[:-1]}, "history_summary": "{spelled}"}}'
    message = {"role": "assistant", "content": content, "reasoning_content": heard}
    choice = {"message": message, "finish_reason": "stop"}
    return JSONResponse({"id": heard, "model": heard, "choices": [choice]})


@pytest.fixture
def environment() -> Iterator[dict[str, str]]:
    """The variables with canaries in them, and a server that gossips at their address."""
    server = Starlette(
        routes=[
            Route("/v1/chat/completions", gossip, methods=["POST"]),
            Route("/v1/models", gossip),
        ]
    )
    with in_thread(server) as base:
        yield {**CANARIES, "OPENAI_BASE_URL": base}


def in_letters(said: bytes) -> bytes:
    """Undo what JSON may do to a letter."""
    return re.sub(rb"\\+u00([0-7][0-9a-f])", lambda found: bytes([int(found[1], 16)]), said)


def searched(folder: Path) -> Iterator[bytes]:
    """Return the bytes of every file; what is packed also unpacked, what is spelled by number in letters."""
    for file in folder.rglob("*"):
        if file.is_file():
            yield file.read_bytes()
            yield in_letters(file.read_bytes())
            if file.suffix == ".gz":
                yield in_letters(gzip.decompress(file.read_bytes()))
            if file.suffix == ".parquet":
                yield str(pyarrow.parquet.read_table(file).to_pylist()).encode()


RUN = ("run", "mining", "--agents", "2", "--rounds", "2", "--model", "openai:m")


def test_no_key_is_in_any_file_or_output(
    environment: dict[str, str],
    process: Callable[..., Command],
    home: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with_user = environment["OPENAI_BASE_URL"].replace("//", f"//{WHO}@")
    somebody = {**environment, "OPENAI_BASE_URL": with_user}
    nowhere = {**environment, "OPENAI_BASE_URL": f"http://{WHO}@127.0.0.1:nine/v1?key=canary"}
    commands = [
        ((*RUN, "--set", "on_failure=halt", "--json"), environment, 1),
        (RUN, {**environment, "OPENAI_BASE_URL": "127.0.0.1:1/v1?key=canary-0123"}, 1),
        (("resume", "last"), environment, 1),
        (("replay", "last"), environment, 0),
        (("trace", "last", "--json"), environment, 0),
        (("runs", "--json"), environment, 0),
        (("doctor",), somebody, 0),
        (("doctor",), nowhere, 1),
        (RUN, somebody, 1),
        (RUN, nowhere, 1),
        (("compare", "told", "last"), environment, 0),
        *(
            (("export", "told", "--format", form, "--to", str(tmp_path / form)), environment, 0)
            for form in ("jsonl", "csv", "parquet", "page", "svg")
        ),
    ]
    playing = process(*RUN, "--set", "reask=1", "--name", "told", env=environment)
    outputs = ["".join(playing.communicate())]
    assert playing.returncode == 1, outputs
    for words, env, code in commands:
        shown = CliRunner().invoke(app, words, env={"HOBBES_HOME": str(home), **env})
        assert shown.exit_code == code, (words, shown.output)
        outputs.append(f"{shown.output}{shown.exception}")
    assert sum("OPENAI_API_KEY" in told or "(a key)" in told for told in outputs) >= 2, "nothing was told"
    cassette = tmp_path / "gossip.toml"
    cassette.write_text('world = "mining"\nagents = 2\nrounds = 2\nmodel = "openai:m"\n')
    with environment_of(**environment), pytest.MonkeyPatch.context() as patched:
        patched.setattr(sys, "argv", ["recording", str(cassette)])
        recorder.main()
    replayed = CliRunner().invoke(app, ["replay", str(cassette.with_suffix(".yaml"))])
    assert replayed.exit_code == 0, replayed.output
    outputs += [*capsys.readouterr(), replayed.output]
    files = list(searched(tmp_path))
    assert (home / "checkpoints.db").read_bytes() in files
    with TestClient(site(home, "127.0.0.1"), base_url="http://127.0.0.1") as pages:
        seen = [pages.get(address).text for address in ("/", "/told", "/told/0", "/told/0/miner-01")]
    assert ["told" in page for page in seen[:1]] + ["miner-01" in page for page in seen[1:]] == [True] * 4
    outputs += seen
    found = [text for text in (*files, *(told.encode() for told in outputs)) if b"canary" in text]
    assert [text[:300] for text in found] == []
    assert any(b"(OPENAI_API_KEY)" in text for text in files)


@pytest.mark.parametrize(
    ("base", "said", "told"),
    [
        ("http://me:canary-0123@h/v1", "canary-0123, me", "(OPENAI_BASE_URL), me"),
        ("http://canary-0123@h/v1", "http://canary-0123@h", "http://(OPENAI_BASE_URL)@h"),
        (
            "http://h/v1?key=canary%2B0123",
            "canary+0123 or canary%2B0123",
            "(OPENAI_BASE_URL) or (OPENAI_BASE_URL)",
        ),
        (
            "http://me:canary%400123@h/v1",
            "canary@0123 or canary%400123",
            "(OPENAI_BASE_URL) or (OPENAI_BASE_URL)",
        ),
        ("http://h/v1", "http://h/v1", "http://h/v1"),
        ("http://canary-0123:x@h/v1", "canary-0123", "(OPENAI_BASE_URL)"),
        ("h:1/v1?key=canary-0123", "GET /v1?key=canary-0123", "GET /v1?key=(OPENAI_BASE_URL)"),
        ("u:canary-0123@h:1/v1", "no canary-0123", "no (OPENAI_BASE_URL)"),
        ("//u:canary-0123@h:1/v1", "no canary-0123", "no (OPENAI_BASE_URL)"),
        (
            "http://h/v1?key=can@ary-0123",
            "can@ary-0123, can%40ary-0123",
            "(OPENAI_BASE_URL), (OPENAI_BASE_URL)",
        ),
        ("http://h/v1?a=b#canary-0123", "canary-0123", "(OPENAI_BASE_URL)"),
        ("http://h/v1?canary-0123", "/v1?canary-0123=", "/v1?(OPENAI_BASE_URL)="),
        ("http://[::1/v1?key=canary-0123", "canary-0123", "(OPENAI_BASE_URL)"),
        # a blank is sent as a plus
        (
            "http://h/v1?key=can%20ary/0123",
            "can+ary/0123, can+ary%2F0123",
            "(OPENAI_BASE_URL), (OPENAI_BASE_URL)",
        ),
        # bytes that are no text are looked for as they are
        ("http://h/v1?key=canary\udcff0123", "canary%FF0123", "(OPENAI_BASE_URL)"),
    ],
)
def test_a_key_in_the_address_is_a_key(
    base: str, said: str, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", base)
    assert without_secrets(said) == told


@pytest.mark.parametrize(
    "said",
    [
        "can+ary/0123==",
        "can%2Bary%2F0123%3D%3D",
        "can%2bary%2f0123%3d%3d",
        "can+ary/0123%3D%3D",
        "can+ary%2F0123%3D%3D",
        "can ary/0123==",
        "can%20ary/0123==",
        "can\\u002bary\\/0123==",
    ],
)
def test_a_key_in_the_address_is_found_however_a_client_spells_it(
    said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A plus is a blank to one who reads it as a form does, and a plus to one who does not."""
    for typed in ("can+ary/0123==", "can+ary%2f0123%3D="):
        monkeypatch.setenv("OPENAI_BASE_URL", f"http://h/v1?key={typed}")
        assert without_secrets(f"<{said}>") == "<(OPENAI_BASE_URL)>"


KEY = "canary+Key/0123-456789>>?secret"

CANARY = "canary/0123-é"


@given(st.data())
def test_a_key_written_with_escapes_is_found_however_they_are_mixed(data: st.DataObject) -> None:
    r"""Each character is itself, after a backslash or not, or \\u and four digits, or \\x or % and two."""
    spelled = "".join(
        data.draw(
            st.sampled_from(
                [
                    c,
                    f"\\{c}",
                    f"\\u{ord(c):04x}",
                    f"\\u{ord(c):04X}",
                    f"\\x{ord(c):02X}",
                    f"\\\\u{ord(c):04x}",
                    "".join(f"%{byte:02x}" for byte in c.encode()),
                ]
            )
        )
        for c in CANARY
    )
    with environment_of(OPENAI_ORG_ID=CANARY):
        assert without_secrets(f"{spelled} {spelled[:-1]}") == f"(OPENAI_ORG_ID) {spelled[:-1]}"


def spelled(form: str) -> str:
    """Return KEY with each character written in this form, in which `{:...}` stands for its number."""
    return "".join(form.format(ord(character)) for character in KEY)


DISGUISED = {
    "a zero-width space": "\u200b".join((KEY[:9], KEY[9:])),
    "zero-width characters": "\u200b".join(KEY),
    "ten zero-width spaces": ("\u200b" * 10).join(KEY),
    "fillers": "\u3164".join(KEY),
    "joiners": "\u200d".join(KEY),
    "the blank of Braille": "\u2800".join(KEY),
    "emoji": "\U0001f600".join(KEY),
    "DEL": "\x7f".join(KEY),
    "NUL": "\x00".join(KEY),
    "BEL": "\x07".join(KEY),
    "lone surrogates": "\ud83d".join(KEY),
    "blanks": " ".join(KEY),
    "ten blanks": (" " * 10).join(KEY),
    "line breaks": "\n".join(KEY),
    "line breaks as JSON has them": "\\n".join(KEY),
    "zero-width spaces as JSON has them": "\\u200b".join(KEY),
    "emoji as JSON has them": "\\ud83d\\ude00".join(KEY),
    "an escape that is split": "".join(f"\\\u200bu{ord(character):04x}" for character in KEY),
    "upper case": KEY.upper(),
    "backwards": KEY[::-1],
    "hexadecimal digits": KEY.encode().hex(),
    "escapes": spelled("\\u{:04x}"),
    "escapes within escapes": spelled("\\\\\\\\\\\\u{:04x}"),
    "bytes": spelled("\\x{:02x}"),
    "bytes of a URL": spelled("%{:02x}"),
    "entities": spelled("&#{};"),
    "hexadecimal entities": spelled("&#x{:X};"),
    "entities as JSON may have them": spelled("\\u0026#{};"),
    "base64": b64encode(KEY.encode()).decode(),
    "base64, shifted by one": b64encode(b"a" + KEY.encode()).decode(),
    "base64, shifted by two": b64encode(b"ab" + KEY.encode()).decode(),
    "base64 in a URL": urlsafe_b64encode(KEY.encode()).decode(),
}


@pytest.mark.parametrize("disguised", DISGUISED.values(), ids=DISGUISED.keys())
def test_a_disguised_key_is_found(disguised: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cleaning would join the pieces of some of these, so they are looked for before it."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    found = without_secrets(f"It is {disguised}.")
    assert "(OPENAI_API_KEY)" in found
    assert len(found) < len("It is (OPENAI_API_KEY).") + 10


@pytest.mark.parametrize("before_the_end", range(0, 2 * len(KEY), 5))
def test_no_part_of_a_key_stands_where_a_long_text_is_cut(
    before_the_end: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    begins = "x" * (MAX_STORED_LENGTH - before_the_end)
    kept = storable(f"{begins}{KEY}{'y' * 20_000}")
    assert len(kept) == MAX_STORED_LENGTH + 1
    assert set(kept.removeprefix(begins)) <= {*"(OPENAI_API_KEY)y…"}


@pytest.mark.parametrize("escapes", ["%73", "&#115;", "\\u0073", "\\", "%25%37%33", "a ", "\\\\x73"])
def test_the_search_for_keys_works_out_each_escape_once(
    escapes: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A long text of escapes takes no more of them than it has different ones, at each depth."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    worked_out: list[str] = []
    meaning = secrecy._meaning  # noqa: SLF001  its calls are counted

    def counting(pattern: re.Pattern[str], is_json: bool, escape: str) -> str:  # noqa: FBT001  as it has it
        worked_out.append(escape)
        return meaning(pattern, is_json, escape)

    monkeypatch.setattr(secrecy, "_meaning", counting)
    assert without_secrets(f"{escapes * 10_000}{KEY}").endswith("(OPENAI_API_KEY)")
    assert len(worked_out) < 50


def test_nothing_that_is_removed_from_a_text_hides_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    every = [chr(code) for code in range(sys.maxunicode + 1)]
    removed = [one for one in every if not clean_text(Findings("ann"), "reflection", one)]
    assert len(removed) > 6000  # lone surrogates and tags above all
    for one in removed:
        assert without_secrets(one.join(KEY)) == "(OPENAI_API_KEY)"


def bare(text: str) -> str:
    """Return the letters and digits of a text, in lower case, after its escapes were undone three times."""
    for _ in range(3):
        text = html.unescape(unquote(re.sub(r"\\+(?:u|x00)([0-9a-fA-F]{2,4})", r"&#x\1;", text)))
        text = re.sub(r"\\+n", "", text)
    return re.sub("[^0-9a-z]+", "", text.lower())


BARE = {bare(one) for one in (KEY, *DISGUISED.values())}


def test_a_key_is_nowhere_whatever_a_server_hides_it_with_and_wherever_it_says_it(
    home: Path, cli: Cli
) -> None:
    """In turn k the key is spelled in way k: in an answer, a broken one, prose, a tool call, an error."""
    prompts: list[str] = []

    async def leak(request: Request) -> Response:
        prompts.append((await request.body()).decode())
        turn, agent, _ = request.headers["x-hobbes-address"].split("/")
        said = list(DISGUISED.values())[int(turn)]
        texts = dict.fromkeys(("memory", "reasoning", "history_summary", "message", said), said)
        decoded = json.dumps({**texts, "claim": [said, {"cell": said}]}).encode("ascii").decode()
        as_it_is = f'{{"memory": "{said}", "message": "{said}", "claim": [["{said}'
        message: dict[str, Any] = {"role": "assistant", "content": decoded, "reasoning_content": said}
        match agent:
            case "miner-01":
                pass
            case "miner-02":
                message["content"] = as_it_is
            case "miner-03":
                message |= {"content": said, "refusal": said if int(turn) % 2 else None}
            case "miner-04":
                message |= {"content": "", "tool_calls": [call(said)]}
            case _:
                return answer({"error": {"message": said, "code": said, "param": said}}, 400)
        return answer({"id": said, "model": said, "choices": [{"message": message, "finish_reason": "stop"}]})

    def call(said: str) -> dict[str, Any]:
        return {"type": "function", "id": said, "function": {"name": said, "arguments": json.dumps(said)}}

    def answer(content: Any, status: int = 200) -> Response:
        return Response(json.dumps(content), status, media_type="application/json")

    rounds = len(DISGUISED)
    run = f"run mining --agents 5 --model openai:m --rounds {rounds} --set taint_share=1 --json".split()
    with in_thread(Starlette(routes=[Route("/v1/chat/completions", leak, methods=["POST"])])) as base:
        done = cli(*run, env={"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": base})
    assert done.exit_code == 0, done.exception
    shown = [cli("export", "last", "--format", form, "--to", str(home / form)) for form in ("jsonl", "page")]
    assert [told.exit_code for told in shown] == [0, 0]
    kept = {
        file.name: file.read_bytes().decode(errors="ignore") for file in home.rglob("*") if file.is_file()
    }
    with closing(sqlite3.connect(home / "runs.db")) as runs:
        kept["dump"] = "\n".join(runs.iterdump())
    texts = {**kept, "stdout": done.output, "prompts": "\n".join(prompts)}
    assert all("(OPENAI_API_KEY)" in texts[name] for name in ("runs.db", "prompts"))
    searched_in = {name: bare(text) for name, text in texts.items()}
    assert [(name, one) for name, text in searched_in.items() for one in BARE if one in text] == []
