"""Experiment files: arms or factors, seeds and what to compare, in TOML."""

from collections.abc import Mapping
from pathlib import Path, PurePath
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, ValidationError

from hobbes.errors import DamagedError, UsageError
from hobbes.experiment.arms import Factors, Options, Table, arms_of_factors, check_parameters, name_of_level
from hobbes.experiment.file_values import PROBLEMS, Name, Seeds, Text, Turn, unknown_key
from hobbes.files import read_toml
from hobbes.nodes.prompt_set import SHIPPED
from hobbes.store.experiment_tables import cells_of, damaged_file, experiment_file, experiment_names
from hobbes.store.home import Store
from hobbes.worlds import world_named

NULL = "null"
"""The name of the null arm: the baseline, played a second time with answers of its own."""

WORDING = "~"
"""What stands between the name of an arm and that of one of its wordings, such as `plain~short`."""


class Compare(Table):
    """What is compared: each arm with the baseline, by these measures."""

    baseline: str | None = None
    """The first arm if none is named."""
    measures: list[str] | None = Field(None, min_length=1)
    """The headline measures of the world if none are named."""
    null: bool = True
    """Whether the null arm is played."""


class Hypothesis(Table):
    """What somebody expects of an experiment."""

    text: Text
    measure: str
    arm: str | None = None
    """The arm that it is about; none for a trend, which is about all arms."""
    direction: Literal["higher", "lower"]
    test: Literal["baseline", "halves", "zero", "trend"] = "baseline"
    """Whether the arm is compared with the baseline (or `against`), the second half of its runs with the
    first, the measure itself with 0, or all arms by the values of a factor."""
    against: str | None = None
    """The arm that this one is compared with; by default the baseline."""
    share: float | None = Field(None, gt=0, allow_inf_nan=False)
    """With which share of the measure of that arm this one is compared; by default with all of it."""
    factors: list[str] | None = Field(None, min_length=1, max_length=1)
    """The factor of a trend."""

    @property
    def factor(self) -> str | None:
        """The factor of a trend."""
        return self.factors[0] if self.factors else None


class Base(Table):
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


class From(Table):
    """Where an experiment begins whose arms fork recorded runs."""

    runs: Annotated[list[Text], Field(min_length=1)]
    """Names or ids; `*` stands for anything."""
    turn: Turn
    """A turn, or `first` and the name of an event, for the turn in which it is first."""
    bases: list[Base] = Field([])
    left_out: list[str] = Field([])
    """Which of the runs cannot be forked there, and why."""

    def to_json(self) -> dict[str, Any]:
        """Return where the runs begin as plain JSON."""
        runs = [{"number": one.number, "run": one.name, "turn": one.turn} for one in self.bases]
        return {"turn": self.turn, "runs": runs, "left_out": self.left_out}


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
    arms: dict[Name, Options] = Field({})
    """Those of the factors if the file has factors."""
    factors: Factors | None = None
    parameters: dict[str, int | float | str] = Field({})
    """What names in braces stand for in `model`, in arms that have no factor of this name."""
    compare: Compare = Compare()
    smallest: dict[str, Annotated[float, Field(gt=0)]] = Field({})
    """The smallest difference that matters, by measure."""
    pilot: Name | None = None
    """Of files of earlier versions; it means nothing any more."""
    hypotheses: list[Hypothesis] = Field([], alias="hypothesis")

    @property
    def baseline(self) -> str:
        """The arm that the others are compared with."""
        return self.compare.baseline or next(iter(self.arms))

    @property
    def all_arms(self) -> tuple[str, ...]:
        """The arms, the null arm last."""
        return (*self.arms, *([NULL] if self.compare.null else ()))

    def paraphrases_of(self, arm: str) -> dict[str, str]:
        """Return the prompts of an arm that stand for others, by their names; empty if it has none."""
        own = self.arms[self.baseline if arm == NULL else arm]
        paraphrases = own.paraphrases or (() if own.prompts else self.paraphrases) or ()
        return {name_of_level(PurePath(one).name): one for one in paraphrases}

    def wordings(self, arm: str) -> tuple[str, ...]:
        """Return the names of an arm with each of its wordings; its own name if it has one wording only."""
        return tuple(f"{arm}{WORDING}{wording}" for wording in self.paraphrases_of(arm)) or (arm,)

    @property
    def names(self) -> tuple[str, ...]:
        """The names under which the arms are played: each with each of its wordings, the null arm last."""
        return tuple(name for arm in self.all_arms for name in self.wordings(arm))

    @property
    def cells(self) -> list[tuple[str, int]]:
        """The name and the seed of each run, in the order of play: all arms of a seed, then the next."""
        return [(name, seed) for seed in self.seeds for name in self.names]

    def options(self, name: str) -> Options:
        """Return what the runs of an arm or one of its wordings have: its own, or else that of the file."""
        arm, wording = parts_of(name)
        own = self.arms[self.baseline if arm == NULL else arm]
        rounds = {} if self.rounds is None else {"rounds": self.rounds}
        return Options(
            model=own.model or self.model,
            prompts=self.paraphrases_of(arm).get(wording)
            or own.prompts
            or (None if own.paraphrases else self.prompts),
            lang=own.lang or self.lang,
            agents=own.agents or self.agents,
            set={**rounds, **self.settings, **own.settings},
        )

    def place(self, name: str) -> str:
        """Return the words for where an arm stands in the file, or one of its wordings."""
        arm, wording = parts_of(name)
        where = f"[factors] {arm}" if self.factors else f"[arms.{arm}]"
        return f"{where} paraphrases {wording}" if wording else where


def parts_of(name: str) -> tuple[str, str]:
    """Return the arm in the name of its games, and the wording; empty for an arm that has one wording."""
    arm, _, wording = name.partition(WORDING)
    return arm, wording


def read_experiment_file(path: Path) -> tuple[ExperimentFile, dict[str, Any]]:
    """Return an experiment file, and its content as plain JSON. Raise UsageError, in one line."""
    content = read_toml(path)
    if "world" in content and not {"seeds", "arms", "factors"} & content.keys():
        raise UsageError(f"{path} has no seeds, arms or factors; `hobbes run {path}` plays it as one run")
    try:
        for name in FOUND:
            if isinstance(origin := content.get("from"), dict) and name in origin:
                raise ValueError(f"[from] {name}: is found by hobbes; leave it out")  # noqa: TRY301
        _list_wordings(content)
        file = parse(content)
        if file.factors:
            check_parameters(file.factors, file.model, file.parameters)
    except ValueError as error:
        raise UsageError(f"{path}: {error}") from error
    return file, content


def _list_wordings(content: dict[str, Any]) -> None:
    """Write the wordings of its world into a file's content in place of SHIPPED, for a plan that is kept."""
    from hobbes.nodes.prompting import wordings  # noqa: PLC0415  slow to import

    arms = content.get("arms")
    for table in [content, *(arms.values() if isinstance(arms, dict) else ())]:
        if isinstance(table, dict) and table.get("paraphrases") == SHIPPED:
            table["paraphrases"] = [*wordings(world_named(str(content.get("world", ""))))]


def parse(content: Mapping[str, Any]) -> ExperimentFile:
    """Return the experiment of a file's content. Raise ValueError, in one line, if it is wrong."""
    try:
        file = ExperimentFile.model_validate(content)
    except ValidationError as error:
        raise _in_one_line(error) from error
    file = _with_seeds(file)
    if bool(file.arms) == bool(file.factors) or (file.factors and not file.factors.model_extra):
        raise ValueError("write either [arms] or [factors], with at least one entry")
    if file.factors:
        try:
            arms = arms_of_factors(file.factors, file, file.parameters)
        except ValidationError as error:
            raise _in_one_line(error, "factors") from error
        file = file.model_copy(update={"arms": arms})
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
    """Raise ValueError, in one line, for wordings that could not be told apart."""
    for name, own in [("paraphrases", file), *((file.place(arm), own) for arm, own in file.arms.items())]:
        names = [name_of_level(PurePath(one).name) for one in own.paraphrases or ()]
        if len({*names}) < len(names):
            raise ValueError(f"{name}: two wordings have the same name; rename a folder")


def _check_hypotheses(file: ExperimentFile) -> None:
    for number, one in enumerate(file.hypotheses, start=1):
        place = f"[[hypothesis]] {number}"
        for key, arm, arms in (("arm", one.arm, file.arms), ("against", one.against, file.all_arms)):
            if arm is not None and arm not in arms:
                raise ValueError(f"{place} {key}: there is no arm {arm!r}; arms: {', '.join(arms)}")
        if one.share is not None and one.test != "baseline":
            raise ValueError(f"{place} share: the test {one.test} compares no arms; leave it out")
        if one.test == "trend":
            _check_trend(file, one, place)
            continue
        if one.arm is None:
            raise ValueError(f"{place} arm: is missing")
        if one.factors is not None:
            raise ValueError(f"{place} factors: only a trend has them; leave them out")
        if one.against is not None and one.test != "baseline":
            raise ValueError(f"{place} against: the test {one.test} compares no arms; leave it out")
        if one.test == "baseline" and one.arm == (one.against or file.baseline):
            what = "the same arm" if one.against else "the baseline itself"
            raise ValueError(f"{place} arm: {one.arm!r} is {what}; name another arm")


def _check_trend(file: ExperimentFile, one: Hypothesis, place: str) -> None:
    known = list(file.factors.model_extra or ()) if file.factors else []
    if one.arm or one.against:
        raise ValueError(f"{place} arm: a trend is about all arms; leave out arm and against")
    if one.factor not in known:
        raise ValueError(
            f"{place} factors: name one factor of: {', '.join(known) or 'none, there are no factors'}"
        )
    if file.factors and file.factors.design != "crossed":
        raise ValueError(f"{place} test: a trend needs crossed factors")


def _in_one_line(error: ValidationError, *table: str) -> ValueError:
    """Return the first problem that pydantic found in a file, or in this table of it."""
    problem = error.errors()[0]
    return ValueError(_in_words(problem["type"], problem["msg"], (*table, *problem["loc"])))


def _in_words(kind: str, message: str, place: tuple[int | str, ...]) -> str:
    """Return what pydantic finds wrong, with table and key."""
    names = [str(name) for name in place if "[" not in str(name)]  # the others are types of pydantic
    tables: dict[str, tuple[int, type[BaseModel]]] = {
        **dict.fromkeys(("factors", "parameters", "set", "smallest"), (1, ExperimentFile)),
        "arms": (2, Options),
        "compare": (1, Compare),
        "from": (1, From),
        "hypothesis": (2, Hypothesis),
    }
    if not names:
        return message.removeprefix("Value error, ")
    table, model = tables.get(names[0], (0, ExperimentFile))
    where = f"[{'.'.join(names[:table])}]" if table else ""
    if names[0] == "hypothesis":
        where = " ".join(["[[hypothesis]]", *(str(int(number) + 1) for number in place[1:2])])
    key = ".".join(names[table:])
    message = message.removeprefix("Value error, ")
    if kind == "extra_forbidden":
        message, key = unknown_key(key, model, FOUND), ""
    message = PROBLEMS.get(kind, message)
    at = " ".join(part for part in (where, key) if part)
    return f"{at}: {message}" if at else message


def overview(store: Store) -> list[dict[str, Any]]:
    """Return the experiments of a home, the newest first, each with how much of it has been played.

    Of one whose file is damaged, only the name and the damage are returned.
    """
    listed: list[dict[str, Any]] = []
    for name in experiment_names(store):
        try:
            file = stored_file(store, name)
        except DamagedError as error:
            listed.append({"experiment": name, "damage": str(error)})
            continue
        begun = cells_of(store, name)
        listed.append(
            {
                "experiment": name,
                "world": file.world,
                "arms": list(file.all_arms),
                "seeds": len(file.seeds),
                "runs": len(file.cells),
                "played": sum(begun[cell].finished for cell in file.cells if cell in begun),
            }
        )
    return listed


def stored_file(store: Store, name: str) -> ExperimentFile:
    """Return the stored file of an experiment; raise MissingError or DamagedError if there is none."""
    try:
        file = parse(experiment_file(store, name))
        world_named(file.world)
    except ValueError as error:
        raise damaged_file(name, f"the column experiments.file cannot be read: {error}") from error
    return file
