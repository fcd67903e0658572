"""`hobbes serve --gguf`, as far as it needs no model; tests/soak/test_local_model.py has one."""

import sys
from pathlib import Path

import pytest

from hobbes.nodes.players import parse_spec
from hobbes.wire.local_model import model_name
from hobbes.worlds import WORLDS
from tests.conftest import Cli


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (None, "No such file or directory"),
        (b"PK\x03\x04", "this is not a GGUF file; other formats must be converted"),
        (b"GGUF\x03", "local models need more than is installed: pip install 'hobbes[local]'"),
    ],
)
def test_what_a_model_of_this_machine_lacks_is_said_in_one_line(
    content: bytes | None, why: str, tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    file = tmp_path / "model.gguf"
    if content is not None:
        file.write_bytes(content)
    assert str(cli("serve", "--gguf", str(file)).exception).endswith(why)


def test_the_model_of_any_file_has_a_name_that_players_can_have() -> None:
    name = model_name(Path("models/My model, 0.5*8B (Q4).gguf"))
    assert parse_spec(WORLDS["trust"].policies, f"openai:{name}").name == name
