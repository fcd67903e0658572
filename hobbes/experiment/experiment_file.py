"""Experiment files: arms or factors, seeds and what to compare, in TOML."""

import json
import math
import re
from collections.abc import Iterator, Mapping
from itertools import combinations_with_replacement, product
from pathlib import Path, PurePath
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    ValidationError,
    model_validator,
)

from hobbes.engine.world import MAX_NAME, MAX_SEED
from hobbes.errors import UsageError
from hobbes.files import read_toml
from hobbes.nodes.models import MAX_TEMPERATURE

NULL = "null"
"""The name of the null arm: the baseline, played a second time with answers of its own."""

COPY = "@"
"""What stands between the name of an arm and the number of its further answers, such as `plain@2`."""

WORDING = "~"
"""What stands between the name of an arm and that of one of its wordings, such as `plain~short`."""

MAX_SEEDS = 100_000
"""More seeds than this are a slip of the keyboard."""

MAX_ARMS = 1_000
"""More arms than this, made of factors, are a slip of the keyboard, too."""

MODEL_SETTINGS = ("temperature", "top_p", "reasoning_effort", "response_format")
"""Settings of chat models that an arm may have; they hold for each chat model of the arm."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")

_IN_BRACES = re.compile(r"\{([\w-]+)\}")
"""A name in `model` that a factor or a parameter replaces."""


_FROM_TO = re.compile(r"([0-9]{1,18})-([0-9]{1,18})")
"""The first and the last of the seeds."""


def _name(given: object) -> object:
    """Refuse names that could not be a part of a run's name."""
    if isinstance(given, str) and (_NAME.fullmatch(given) is None or len(given) > MAX_NAME):
        raise ValueError(
            f"{given!r} is not a name; use letters, digits, hyphens and underscores, {MAX_NAME} at most"
        )
    return given


def _seeds(given: object) -> tuple[int, ...]:
    """Return the seeds: as many as a number says from 1 on, from one to another, or those of a list."""
    if isinstance(given, str) and (ends := _FROM_TO.fullmatch(given)):
        first, last = int(ends[1]), int(ends[2])
        if not first <= last <= MAX_SEED or last - first >= MAX_SEEDS:
            raise ValueError(f"{given!r}: write the smaller seed first, and at most {MAX_SEEDS} seeds")
        return tuple(range(first, last + 1))
    if type(given) is int and given > MAX_SEEDS:
        raise ValueError(f"{given} are too many seeds; write at most {MAX_SEEDS}")
    if type(given) is int and given > 0:
        return tuple(range(1, given + 1))
    if isinstance(given, list) and given and all(type(s) is int and abs(s) <= MAX_SEED for s in given):
        if len(set(given)) == len(given):
            return tuple(given)
        raise ValueError("a seed is listed twice")
    raise ValueError(
        "write the number of seeds, at least 1, the first and the last one such as '101-120', or a list"
    )


def _levels(given: object) -> object:
    """Refuse what is neither a list nor a table, and what is empty."""
    if isinstance(given, list | dict) and given:
        return given
    raise ValueError("write a list of values, or a table of values with their names")


def _text(given: object) -> object:
    """Refuse an empty text."""
    if given == "":
        raise ValueError("is empty; give it a value, or leave it out")
    return given


def _turn(given: object) -> object:
    """Refuse what is neither a turn nor the first of a landmark."""
    if (type(given) is int and given >= 0) or (isinstance(given, str) and re.fullmatch(r"first \S.*", given)):
        return given
    raise ValueError('write a turn, such as 12, or the first of a landmark, such as "first raid"')


def _several(given: object) -> object:
    """Refuse what is not a list of at least two values, and one that is listed twice."""
    if not isinstance(given, list | tuple) or len(given) < 2:  # noqa: PLR2004  one is no sample
        raise ValueError("list at least two; without it, there is one")
    if len({*map(str, given)}) < len(given):
        raise ValueError("one is listed twice")
    return tuple(given)


Name = Annotated[str, BeforeValidator(_name)]
Text = Annotated[str, BeforeValidator(_text)]
Seeds = Annotated[tuple[int, ...], BeforeValidator(_seeds)]
Several = Annotated[tuple[Text, ...], BeforeValidator(_several)]


class _Table(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Options(_Table):
    """What an arm may have different from the others."""

    model: Text | None = None
    models: Several | None = None
    """Models that stand for all models: a claim about the arm is one about models like these."""
    prompts: Text | None = None
    paraphrases: Several | None = None
    """Prompts that say the same in other words: a claim about the arm is one about wordings like these."""
    lang: Text | None = None
    agents: int | None = Field(None, ge=1)
    temperature: float | None = Field(None, ge=0, le=MAX_TEMPERATURE)
    top_p: float | None = Field(None, ge=0, le=1)
    reasoning_effort: Text | None = None
    response_format: Literal["json_object", "json_schema", "none"] | None = None
    settings: dict[str, JsonValue] = Field(default={}, alias="set")

    def of_models(self) -> dict[str, Any]:
        """Return the settings of chat models that are set, by name."""
        return {name: value for name in MODEL_SETTINGS if (value := getattr(self, name)) is not None}

    @model_validator(mode="after")
    def _one_or_several(self) -> "Options":
        for one, several in (("model", "models"), ("prompts", "paraphrases")):
            if getattr(self, one) and getattr(self, several):
                raise ValueError(f"write either {one} or {several}")
        return self


class Factors(BaseModel):
    """Factors, each with its levels: a list of values, or a table of values by their names.

    A factor is a setting, `model`, `prompts`, `lang`, `agents`, one of MODEL_SETTINGS, a field of a setting
    such as `constants.c_trade_factor`, or a name that `model` mentions in braces.
    """

    model_config = ConfigDict(frozen=True, extra="allow", strict=True)
    __pydantic_extra__: dict[str, Annotated[list[JsonValue] | dict[str, JsonValue], BeforeValidator(_levels)]]

    design: Literal["crossed", "one-at-a-time", "pairs"] = "crossed"

    def combinations(self) -> Iterator[dict[str, JsonValue]]:
        """Yield the levels of each arm, by factor; in the baseline of `one-at-a-time` no factor has one.

        A level is a value, or the name of one.
        """
        levels = self.__pydantic_extra__
        if self.design == "one-at-a-time":
            yield {}
            yield from ({factor: level} for factor, of_factor in levels.items() for level in of_factor)
        elif self.design == "pairs":
            first = next(iter(levels.values()))
            pairs = combinations_with_replacement(first, 2)
            yield from (dict(zip(levels, pair, strict=True)) for pair in pairs)
        else:
            yield from (dict(zip(levels, one, strict=True)) for one in product(*levels.values()))

    def value(self, factor: str, level: JsonValue) -> JsonValue:
        """Return the value of a level of a factor."""
        levels = self.__pydantic_extra__[factor]
        return levels[str(level)] if isinstance(levels, dict) else level

    def count(self) -> int:
        """Return the number of arms."""
        lengths = [len(levels) for levels in self.__pydantic_extra__.values()]
        if self.design == "pairs":
            return math.comb(lengths[0] + 1, 2)
        return math.prod(lengths) if self.design == "crossed" else 1 + sum(lengths)

    @model_validator(mode="after")
    def _pairs_are_of_one_list(self) -> "Factors":
        levels = [*self.__pydantic_extra__.values()]
        if self.design == "pairs" and (len(levels) != 2 or levels[0] != levels[1]):  # noqa: PLR2004
            raise ValueError("the design pairs needs two factors with the same values")
        return self


class Compare(_Table):
    """What is compared: each arm with the baseline, by these measures."""

    baseline: str | None = None
    """The first arm if none is named."""
    measures: list[str] | None = None
    """The headline measures of the world if none are named."""
    null: bool = True
    """Whether the null arm is played."""
    after_end: Literal["leave-out", "keep-last"] = "leave-out"
    """What a curve over time has of a game that has ended: nothing, or the last value of the game."""


class Hypothesis(_Table):
    """What somebody expects of an experiment."""

    text: Text
    measure: str
    arm: str | None = None
    """The arm that it is about; none for a trend or an interaction, which are about all arms."""
    direction: Literal["higher", "lower"]
    test: Literal["baseline", "halves", "zero", "trend", "interaction"] = "baseline"
    """Whether the arm is compared with the baseline (or `against`), the second half of its runs with the
    first, the measure itself with 0, or all arms by the values of one or two factors."""
    against: str | None = None
    """The arm that this one is compared with; by default the baseline."""
    share: float | None = Field(None, gt=0, allow_inf_nan=False)
    """With which share of the measure of that arm this one is compared; by default with all of it."""
    factors: list[str] | None = None
    """The factor of a trend, or the two of an interaction."""


class Base(_Table):
    """A recorded run that each arm forks, and the turn at which it is forked."""

    number: int
    """What stands for it in place of a seed."""
    run: str
    """Its id."""
    name: str
    """Its name, or its id if it has none."""
    turn: int


FOUND = ("bases", "left_out")
"""The fields of `From` that nobody writes into a file: they are found in a home."""


class From(_Table):
    """Where an experiment begins whose arms fork recorded runs."""

    runs: Annotated[list[Text], Field(min_length=1)]
    """Names or ids; `*` stands for anything."""
    turn: Annotated[int | str, BeforeValidator(_turn)]
    """A turn, or `first` and the name of a landmark, for the turn in which it is first."""
    bases: list[Base] = []
    left_out: list[str] = []
    """Which of the runs cannot be forked there, and why."""


class ExperimentFile(Options):
    """An experiment file."""

    name: Name
    world: str = ""
    """That of the recorded runs if the arms fork some."""
    question: Text | None = None
    """What the experiment is to find out, in a sentence. The report begins with it."""
    rounds: int | None = Field(None, ge=1)
    seeds: Seeds = ()
    """`seeds = 20` stands for the seeds 1 to 20, `seeds = "101-120"` for those from 101 to 120.

    Where arms fork recorded runs, they are the numbers of these runs.
    """
    origin: From | None = Field(None, alias="from")
    """The recorded runs that all arms fork, so that pairs share their first turns."""
    arms: dict[Name, Options] = {}
    """Those of the factors if the file has factors."""
    factors: Factors | None = None
    parameters: dict[str, int | float | str] = {}
    """What names in braces stand for in `model`, in arms that have no factor of this name."""
    compare: Compare = Compare()
    smallest: dict[str, Annotated[float, Field(gt=0)]] = {}
    """The smallest difference that matters, by measure."""
    answers: int = Field(1, ge=1, le=100)
    """How often each game of an arm is played with the same seed, each time with answers of its own."""
    pilot: Name | None = None
    """An experiment whose spread says how many seeds this one needs."""
    hypotheses: list[Hypothesis] = Field([], alias="hypothesis")

    @property
    def baseline(self) -> str:
        """The arm that the others are compared with."""
        return self.compare.baseline or next(iter(self.arms))

    @property
    def all_arms(self) -> tuple[str, ...]:
        """The arms, the null arm last."""
        return (*self.arms, *([NULL] if self.compare.null else ()))

    def models_of(self, arm: str) -> tuple[str, ...]:
        """Return the models of an arm that stand for others, empty if it has none."""
        own = self.arms[self.baseline if arm == NULL else arm]
        return own.models or (() if own.model else self.models) or ()

    def paraphrases_of(self, arm: str) -> tuple[str, ...]:
        """Return the prompts of an arm that stand for others, empty if it has none."""
        own = self.arms[self.baseline if arm == NULL else arm]
        return own.paraphrases or (() if own.prompts else self.paraphrases) or ()

    def of_wordings(self, arm: str) -> dict[str, dict[str, str]]:
        """Return what each wording of an arm has different, by its name; empty with one wording only."""
        paraphrases = {_level(PurePath(one).name): {"prompts": one} for one in self.paraphrases_of(arm)}
        return paraphrases or {_level(one): {"model": one} for one in self.models_of(arm)}

    def wordings(self, arm: str) -> tuple[str, ...]:
        """Return the names of an arm with each of its wordings; its own name if it has one wording only."""
        return tuple(f"{arm}{WORDING}{wording}" for wording in self.of_wordings(arm)) or (arm,)

    def copies(self, arm: str) -> tuple[str, ...]:
        """Return the names under which the games of an arm are played: of each wording and each answer."""
        numbers = range(2, self.answers + 1)
        return tuple(
            name
            for wording in self.wordings(arm)
            for name in (wording, *(f"{wording}{COPY}{number}" for number in numbers))
        )

    def options(self, name: str) -> Options:
        """Return what the runs of an arm or of one of its copies have: its own, or else that of the file."""
        arm, wording, _ = parts_of(name)
        own = self.arms[self.baseline if arm == NULL else arm]
        rounds = {} if self.rounds is None else {"rounds": self.rounds}
        of_arm = Options(
            model=own.model or (None if own.models else self.model),
            prompts=own.prompts or (None if own.paraphrases else self.prompts),
            models=self.models_of(arm) or None,
            paraphrases=self.paraphrases_of(arm) or None,
            lang=own.lang or self.lang,
            agents=own.agents or self.agents,
            **{**self.of_models(), **own.of_models()},
            set={**rounds, **self.settings, **own.settings},
        )
        if not wording:
            return of_arm
        return of_arm.model_copy(
            update={"models": None, "paraphrases": None, **self.of_wordings(arm).get(wording, {})}
        )

    def place(self, name: str) -> str:
        """Return the words for where an arm stands in the file, or one of its wordings."""
        arm, wording, _ = parts_of(name)
        where = f"[factors] {arm}" if self.factors else f"[arms.{arm}]"
        if not wording:
            return where
        return f"{where} {'paraphrases' if self.paraphrases_of(arm) else 'models'} {wording}"


class Parts(NamedTuple):
    """The parts of the name under which games of an arm are played; empty where it has none."""

    arm: str
    wording: str
    number: str
    """That of the answer, from 2 on."""


def parts_of(name: str) -> Parts:
    """Return the parts of the name under which games of an arm are played."""
    worded, _, number = name.partition(COPY)
    arm, _, wording = worded.partition(WORDING)
    return Parts(arm, wording, number)


def rng_of(name: str) -> str | None:
    """Return the name under which the policies of an arm draw random numbers, None for the usual one.

    The null arm and further answers draw anew. All wordings of an arm draw the same.
    """
    arm, _, number = parts_of(name)
    return "-".join(part for part in (arm if arm == NULL else "", number) if part) or None


def read_experiment_file(path: Path) -> tuple[ExperimentFile, dict[str, Any]]:
    """Return an experiment file, and its content as plain JSON. Raise UsageError, in one line."""
    content = read_toml(path)
    if "world" in content and not {"seeds", "arms", "factors"} & content.keys():
        raise UsageError(f"{path} has no seeds, arms or factors; `hobbes run {path}` plays it as one run")
    try:
        for name in FOUND:
            if isinstance(origin := content.get("from"), dict) and name in origin:
                raise ValueError(f"[from] {name}: is found by hobbes; leave it out")  # noqa: TRY301
        file = parse(content)
        _check_parameters(file)
    except ValueError as error:
        raise UsageError(f"{path}: {error}") from error
    return file, content


def parse(content: Mapping[str, Any]) -> ExperimentFile:
    """Return the experiment of a file's content. Raise ValueError, in one line, if it is wrong."""
    try:
        file = ExperimentFile.model_validate(content)
    except ValidationError as error:
        problem = error.errors()[0]
        raise ValueError(_in_words(problem["type"], problem["msg"], problem["loc"])) from error
    file = _with_seeds(file)
    if bool(file.arms) == bool(file.factors) or (file.factors and not file.factors.model_extra):
        raise ValueError("write either [arms] or [factors], with at least one entry")
    if file.factors:
        file = file.model_copy(update={"arms": _arms(file, file.factors)})
    elif file.parameters:
        raise ValueError("[parameters]: only an experiment with [factors] takes them")
    if NULL in file.arms:
        raise ValueError(f"[arms.{NULL}]: this name stands for the null arm; choose another one")
    if file.baseline not in file.arms:
        raise ValueError(
            f"[compare] baseline: there is no arm {file.baseline!r}; arms: {', '.join(file.arms)}"
        )
    if file.rounds is not None and "rounds" in file.settings:
        raise ValueError("rounds is set twice, by itself and in [set]; set it once")
    if len(file.arms) == 1 and not file.compare.null:
        table = "[factors]" if file.factors else "[arms]"
        raise ValueError(f"{table}: there is one arm and no null arm, so nothing can be compared")
    _check_measures(file)
    _check_hypotheses(file)
    _check_wordings(file)
    _check_forks(file)
    return file


def _with_seeds(file: ExperimentFile) -> ExperimentFile:
    """Return a file with its seeds: its own, or the numbers of the recorded runs that it forks.

    Raise ValueError, in one line, if it has neither or both.
    """
    if file.origin is None:
        for key in ("world", "seeds"):
            if not getattr(file, key):
                raise ValueError(f"{key}: is missing")
        return file
    if file.seeds:
        raise ValueError("seeds: the runs in [from] take their place; leave it out")
    return file.model_copy(update={"seeds": tuple(base.number for base in file.origin.bases)})


def _check_forks(file: ExperimentFile) -> None:
    """Raise ValueError, in one line, for forks that would have other agents than their runs."""
    if file.origin and (file.agents or any(arm.agents for arm in file.arms.values())):
        raise ValueError("agents: a fork has the agents of its run; leave it out")


def _check_wordings(file: ExperimentFile) -> None:
    """Raise ValueError, in one line, for wordings that could not be told apart, or crossed with something."""
    is_ranked = file.factors is not None and file.factors.design == "pairs"
    for arm in file.arms:
        paraphrases, models = file.paraphrases_of(arm), file.models_of(arm)
        if paraphrases and models:
            raise ValueError(f"{file.place(arm)}: an arm has either paraphrases or models; leave one out")
        if len(file.of_wordings(arm)) < len(paraphrases or models):
            raise ValueError(f"{file.place(arm)}: two wordings have the same name; rename a folder")
        if models and is_ranked:
            raise ValueError(f"{file.place(arm)} models: an experiment with pairs needs `model` instead")


def _check_measures(file: ExperimentFile) -> None:
    """Raise ValueError, in one line, for an empty list of measures, or one that is listed twice."""
    measures = file.compare.measures
    if measures is not None and not measures:
        raise ValueError("[compare] measures: name at least one, or leave it out")
    if measures is not None and len(set(measures)) < len(measures):
        raise ValueError("[compare] measures: a measure is listed twice")


def _check_hypotheses(file: ExperimentFile) -> None:
    """Raise ValueError, in one line, for a hypothesis about arms or factors that it cannot be about."""
    for number, one in enumerate(file.hypotheses, start=1):
        place = f"[[hypothesis]] {number}"
        for key, arm, arms in (("arm", one.arm, file.arms), ("against", one.against, file.all_arms)):
            if arm is not None and arm not in arms:
                raise ValueError(f"{place} {key}: there is no arm {arm!r}; arms: {', '.join(arms)}")
        if one.share is not None and one.test != "baseline":
            raise ValueError(f"{place} share: the test {one.test} compares no arms; leave it out")
        if one.test in FACTORS_OF_TEST:
            _check_factors(file, one, place)
            continue
        if one.arm is None:
            raise ValueError(f"{place} arm: is missing")
        if one.factors is not None:
            raise ValueError(f"{place} factors: only a trend or an interaction has them; leave them out")
        if one.against is not None and one.test != "baseline":
            raise ValueError(f"{place} against: the test {one.test} compares no arms; leave it out")
        if one.test == "baseline" and one.arm == (one.against or file.baseline):
            what = "the same arm" if one.against else "the baseline itself"
            raise ValueError(f"{place} arm: {one.arm!r} is {what}; name another arm")


FACTORS_OF_TEST = {"trend": 1, "interaction": 2}
"""How many factors a test is about."""


def _check_factors(file: ExperimentFile, one: Hypothesis, place: str) -> None:
    """Raise ValueError for a trend or an interaction that the factors do not have."""
    known = list(file.factors.model_extra or ()) if file.factors else []
    wanted, given = FACTORS_OF_TEST[one.test], one.factors or []
    if one.arm or one.against:
        raise ValueError(f"{place} arm: the test {one.test} is about all arms; leave out arm and against")
    if len(given) != wanted or len({*given}) != wanted or not {*given} <= {*known}:
        number = "one factor" if wanted == 1 else "two factors"
        raise ValueError(
            f"{place} factors: name {number} of: {', '.join(known) or 'none, there are no factors'}"
        )
    if file.factors and file.factors.design != "crossed" and (wanted > 1 or file.factors.design == "pairs"):
        raise ValueError(f"{place} test: {one.test} needs crossed factors")


def _check_parameters(file: ExperimentFile) -> None:
    """Raise ValueError, in one line, for a parameter that nothing uses."""
    if file.factors is None:
        return
    levels = (file.factors.model_extra or {}).get("model", {})
    models = [file.model, *(levels.values() if isinstance(levels, dict) else levels)]
    in_models = {name for model in models for name in _IN_BRACES.findall(str(model))}
    for name in file.parameters:
        if name not in in_models:
            raise ValueError(
                f"[parameters] {name}: nothing uses it; write {{{name}}} in model, or leave it out"
            )
        if name in next(file.factors.combinations()):
            raise ValueError(f"[parameters] {name}: the factor {name} replaces it; leave one of them out")


def _arms(file: ExperimentFile, factors: Factors) -> dict[str, Options]:
    """Return the arms of factors by their names. Raise ValueError, in one line, for a wrong value."""
    if factors.count() > MAX_ARMS:
        raise ValueError(f"[factors]: {factors.count():,} are too many arms; make at most {MAX_ARMS:,}")
    arms: dict[str, Options] = {}
    for levels in factors.combinations():
        name = ",".join(f"{factor}={_level(level)}" for factor, level in levels.items()) or "baseline"
        if name in arms:
            raise ValueError(f"[factors]: two arms would have the name {name!r}; change one of their values")
        values = {factor: factors.value(factor, level) for factor, level in levels.items()}
        try:
            arms[name] = Options.model_validate(_options(file, values))
        except ValidationError as error:
            problem = error.errors()[0]
            raise ValueError(
                _in_words(problem["type"], problem["msg"], ("factors", *problem["loc"]))
            ) from error
    return arms


def _options(file: ExperimentFile, values: Mapping[str, JsonValue]) -> dict[str, Any]:
    """Return what an arm has different, from the values of its factors."""
    options: dict[str, Any] = {"model": file.model}
    options |= {factor: value for factor, value in values.items() if factor in Options.model_fields}
    settings: dict[str, JsonValue] = {}
    named = {**file.parameters, **values}
    in_model = set(_IN_BRACES.findall(str(options["model"]))) & named.keys()
    if isinstance(options["model"], str):
        options["model"] = _IN_BRACES.sub(lambda found: str(named.get(found[1], found[0])), options["model"])
    for factor in [name for name in values if name not in options and name not in in_model]:
        setting, _, part = factor.partition(".")
        whole = settings.get(setting, file.settings.get(setting))
        parts = whole if isinstance(whole, dict) else {}
        settings[setting] = {**parts, part: values[factor]} if part else values[factor]
    return {**options, "set": settings}


def _level(value: JsonValue) -> str:
    """Return a value as a part of an arm's name, with hyphens in place of what a shell might not take."""
    if isinstance(value, int | float):
        return json.dumps(value)
    text = value if isinstance(value, str) else json.dumps(value)
    return re.sub(r"[^\w.]+", "-", text).strip("-")


def _in_words(kind: str, message: str, place: tuple[int | str, ...]) -> str:
    """Return what pydantic finds wrong, with table and key."""
    names = [str(name) for name in place if "[" not in str(name)]  # the others are types of pydantic
    tables = {
        "arms": 2,
        "compare": 1,
        "factors": 1,
        "from": 1,
        "hypothesis": 2,
        "parameters": 1,
        "set": 1,
        "smallest": 1,
    }
    if not names:
        return message.removeprefix("Value error, ")
    table = tables.get(names[0], 0)
    where = f"[{'.'.join(names[:table])}]" if table else ""
    if names[0] == "hypothesis":
        where = " ".join(["[[hypothesis]]", *(str(int(number) + 1) for number in place[1:2])])
    key = ".".join(names[table:])
    message = message.removeprefix("Value error, ")
    if kind == "extra_forbidden":
        of_table: dict[str, type[BaseModel]] = {
            "arms": Options,
            "compare": Compare,
            "from": From,
            "hypothesis": Hypothesis,
        }
        fields = of_table.get(names[0], ExperimentFile).model_fields
        keys = sorted(field.alias or name for name, field in fields.items() if name not in FOUND)
        message, key = f"unknown key {key!r}; the keys are {', '.join(keys)}", ""
    elif kind == "missing":
        message = "is missing"
    elif kind in {"dict_type", "model_type"}:
        message = "write a table here"
    elif kind == "list_type":
        message = "write a list of values"
    at = " ".join(part for part in (where, key) if part)
    return f"{at}: {message}" if at else message
