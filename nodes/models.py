"""The settings with which a chat model is asked: a table of a models file, or what `openai:NAME` says.

docs/models.md describes them for people.
"""

import json
import os
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, JsonValue, field_validator, model_validator

from hobbes.nodes.secrecy import BASE_URL, KEY, key_in, without_secrets

if TYPE_CHECKING:
    import httpx2

MAX_TEMPERATURE = 2
"""The highest temperature that the chat-completions protocol allows."""

AT_ONCE = 100
"""How many requests to one model may be under way at the same time, unless the settings say otherwise."""

OPENAI = "https://api.openai.com/v1"
"""OpenAI's own server, which is asked if neither the settings nor OPENAI_BASE_URL name another."""

OPENAI_KEY = "OPENAI_API_KEY"
"""The variable with the key for the server of OPENAI_BASE_URL, or for OpenAI's own."""

VARIABLE = re.compile(r"(?!.*[A-Z0-9]{20})[A-Z_][A-Z0-9_]*")
"""The name of an environment variable. Keys have small letters, hyphens, or a long row of capitals."""

SENT = ("temperature", "top_p", "seed", "max_tokens", "reasoning_effort")
"""The settings that are sent as they are, under their own names."""

RESERVED = {*SENT, "model", "messages", "input", "store", "response_format", "stream", "n"}
"""What `extra_body` may not hold: it has a setting of its own, or hobbes could not read the response."""

Limit = Annotated[int, Field(ge=1)]


class _Strict(BaseModel):
    # Built when they are first used: most runs ask no model.
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False, defer_build=True)


class Price(_Strict):
    """US dollars per million tokens. Without a price of their own, cached tokens cost what others do."""

    input: float = Field(ge=0)
    output: float = Field(ge=0)
    cache_read: float | None = Field(None, ge=0)
    cache_write: float | None = Field(None, ge=0)


class ModelSettings(_Strict):
    """How one chat model is asked, and what it costs. There is never a key in it, only a variable's name."""

    model: str = Field(min_length=1)
    """The provider's name for the model."""
    base_url: str | None = None
    """The server; None for that of OPENAI_BASE_URL, or else OpenAI's own."""
    key: str | None = None
    """The environment variable with the key; None for OPENAI_API_KEY without a base_url, else for no key."""
    api: Literal["chat", "responses"] = "chat"
    """Whether the server is asked for a chat completion, or for a response of OpenAI's Responses API."""
    temperature: float | None = Field(None, ge=0, le=MAX_TEMPERATURE)
    top_p: float | None = Field(None, ge=0, le=1)
    seed: int | None = None
    max_tokens: Limit | None = None
    reasoning_effort: str | None = Field(None, min_length=1)
    extra_body: dict[str, JsonValue] = {}
    """Further parameters of each request."""
    response_format: Literal["json_object", "json_schema", "none"] = "json_object"
    required: list[str] = []
    """Parameters without which a run stops, if the server refuses one."""
    cache: bool = False
    """Whether the system text is marked, so that the provider keeps it in its cache."""
    timeout: float = Field(600.0, gt=0)
    """How many seconds one try may take: reasoning models take minutes."""
    parallel: Limit = AT_ONCE
    """How many requests may be under way at the same time."""
    calls_per_minute: Limit | None = None
    tokens_per_minute: Limit | None = None
    """Tokens of prompts and answers together."""
    price: Price | None = None

    @field_validator("base_url")
    @classmethod
    def _a_url_without_secrets(cls, value: str | None) -> str | None:
        if value is not None and (url_of(value).query or not value):
            raise ValueError(
                "may not be empty or have a query; the key goes into a variable that `key` names"
            )
        return value

    @field_validator("key")
    @classmethod
    def _a_variable(cls, value: str | None) -> str | None:
        if value is not None and VARIABLE.fullmatch(value) is None:
            raise ValueError(
                "write the name of the environment variable that holds the key, in capitals, never the key"
            )
        return value

    @field_validator("extra_body")
    @classmethod
    def _nothing_with_a_field_of_its_own(cls, value: dict[str, JsonValue]) -> dict[str, JsonValue]:
        if reserved := sorted(RESERVED & value.keys()):
            raise ValueError(f"may not hold {', '.join(reserved)}")
        return value

    @model_validator(mode="after")
    def _no_secrets(self) -> "ModelSettings":
        text = self.model_dump_json()
        if KEY.search(text) or without_secrets(text) != text:
            raise ValueError("contains a key; only `key` may name the environment variable that holds it")
        return self

    @property
    def key_variable(self) -> str | None:
        """The environment variable with the key; None if no key is sent."""
        return self.key or (None if self.base_url else OPENAI_KEY)

    def api_key(self) -> str:
        """Return the key, empty if there is none. Raise ValueError if it cannot be sent in a header."""
        if self.key_variable is None:
            return ""
        key = key_in(self.key_variable)
        if not (key.isascii() and key.isprintable()):
            raise ValueError(f"{self.key_variable} contains a character that a key cannot have")
        return key

    def parameters(self, schema: str) -> dict[str, Any]:
        """Return the parameters of each request; `schema` is the JSON schema of an answer."""
        own = {name: value for name in SENT if (value := getattr(self, name)) is not None}
        if self.api == "responses":
            own["reasoning_summary"] = "auto"
        if self.response_format == "none":
            return {**own, **self.extra_body}
        form: dict[str, Any] = {"type": self.response_format}
        if self.response_format == "json_schema":
            # Not strict: strict schemas allow no objects by agent, such as the reports.
            form["json_schema"] = {"name": "answer", "schema": json.loads(schema or "{}"), "strict": False}
        return {"response_format": form, **own, **self.extra_body}

    def to_json(self) -> dict[str, Any]:
        """Return the settings as JSON, without those that are not set."""
        return self.model_dump(mode="json", exclude_none=True)


Models: TypeAlias = Mapping[str, ModelSettings]
"""Settings of models by the names that a models file gives to them."""

NO_MODELS: Models = {}


def server_address(settings: ModelSettings) -> "httpx2.URL":
    """Return the base URL of a model's server: that of its settings, of OPENAI_BASE_URL, or OpenAI's own.

    Raise ValueError if OPENAI_BASE_URL is not valid or names a user. The message does not quote it.
    """
    if settings.base_url:
        return url_of(settings.base_url)
    try:
        return url_of(os.environ.get(BASE_URL) or OPENAI)
    except ValueError as error:
        raise ValueError(f"{BASE_URL} {error}") from None


def url_of(text: str) -> "httpx2.URL":
    """Return a base URL, empty for an empty text.

    Raise ValueError if it is not valid or names a user. The message does not quote it: it may contain a key.
    """
    import httpx2  # noqa: PLC0415  slow to import, and scripted policies need none of it

    wrong = "is not a valid URL; write http://HOST:PORT/v1 or https://…"
    try:
        address = httpx2.URL(text)
    except (httpx2.InvalidURL, ValueError):
        raise ValueError(wrong) from None
    is_port = address.port is None or 0 < address.port < 2**16
    somewhere = address.scheme in {"http", "https"} and address.host and is_port
    if text and (not somewhere or any(character.isspace() for character in text)):
        raise ValueError(wrong)
    if address.userinfo:  # the transport refuses to send both a user and a key
        raise ValueError("contains a user name; put the key in an environment variable instead")
    return address
