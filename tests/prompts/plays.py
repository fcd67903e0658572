"""The plays of prompts: what a prompt says is shown on the engine.

A template marks each sentence about the engine with `{# rule: NAME #}`. Each NAME has a play: a short game
that shows on the engine what the sentence says, and returns the numbers that the engine showed. The sentence
is rendered under the same config and must tell these numbers and no others. This is done twice, under the
default numbers and under `other_numbers`, so that a number typed into a template fails.

A new world needs a file tests/prompts/test_WORLD.py:

    PROMPTS = WorldPrompts(WORLD, shipped={"plain": ("en",)}, other_numbers={...}, ...)
    plays = PROMPTS.plays

    @plays("claim")
    def a_claim_costs_one(config: Values) -> Numbers: ...

    @plays("talk", "may write", "可以写信", messages=True)
    def a_message_is_read_next_turn(config: Values) -> None: ...

    @plays("talk", "cannot write", "不能写信", messages=False)
    def a_message_is_refused(config: Values) -> None: ...

    class TestPrompts(PromptTests):
        prompts = PROMPTS

`plays` enters a game in the table: the rule, the words that tell this treatment and no other (in English and
Chinese), and the treatment. A game that shows no number returns nothing. `PromptTests` brings the tests that
every world passes; the world's own tests are further methods of the class.

A new variant needs no line here. Its folder in prompts/WORLD is found, and each rule that it marks is held
against the plays: it has a play, its sentence tells the play's numbers, and treatments with different games
are told in different sentences. The variant may use its own words, leave rules out and add unmarked
sentences. If it marks a rule that no other variant has, enter a play for it. Tests with an argument `shipped`
or `shipped_variant` check the exact words of the variants that come with the world; to hold your variant to
them too, add it to `shipped`.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from inspect import signature
from itertools import permutations, product
from pathlib import Path
from typing import Any, ClassVar, TypeAlias, TypeVar

import pytest
from jinja2 import Environment
from jinja2.meta import find_undeclared_variables

from hobbes.engine import turn
from hobbes.engine.answer import FoundAs, Outcome, ParsedAnswer
from hobbes.engine.world import AnyWorld, make_setting
from hobbes.nodes import prompt_set, prompting
from hobbes.nodes.prompt_set import PromptError, PromptSet, fixed_values
from hobbes.nodes.prompt_templates import placeholders
from hobbes.nodes.prompting import (
    default_setting,
    filled_system_text,
    load_prompts,
    replace_codes,
    system_text,
    turn_text,
    values_to_try,
)
from hobbes.play.prompt_checks import check_prompts, prompt_warnings
from hobbes.play.render import question_in_new_run, token_counts
from hobbes.play.start import RunOptions
from hobbes.worlds import WORLDS

Numbers: TypeAlias = set[float]

Values: TypeAlias = dict[str, Any]
"""The values of a config that differ from the defaults."""

Game = TypeVar("Game", bound=Callable[[Any], Numbers | None])

MOST_TOKENS = 1400
"""The most tokens of a call, about, in the first turn as after many."""

OBSERVER = "observer"
"""The name under which the system text of an observer stands among the variants."""


def under(*layers: Mapping[str, Any]) -> Values:
    """Return the values of all layers; a later layer replaces an earlier one, also inside an object."""
    values: Values = {}
    for name, value in (item for layer in layers for item in layer.items()):
        inside = isinstance(value, Mapping) and isinstance(values.get(name), Mapping)
        values[name] = under(values[name], value) if inside else value
    return values


def numbers(text: str) -> Numbers:
    """Return the numbers in a text, except those in JSON."""
    return {float(number) for number in re.findall(r"\d+(?:\.\d+)?", re.sub(r"\{.*\}", "", text))}


def view_of(world: AnyWorld, state: Any, agent: str) -> Any:
    """Return the whole view that a turn shows to an agent, as plain JSON."""
    return json.loads(json.dumps(turn.view_of(world, state, {}, agent)))


def feedback_is_told(
    world: AnyWorld, values: Mapping[str, Any], accepted_answer: Mapping[str, Any] | None = None
) -> None:
    """Assert that an agent is told next turn what was rejected in its answer, and why.

    `accepted_answer` is one that is accepted whole; by default, an empty one.
    """
    fine = dict(accepted_answer or {})
    agents = world.names(3)
    setting = make_setting(world, agents, 1, values)
    said = {agents[0]: {**fine, "notes": ["nonsense", "x" * 999]}, agents[1]: fine}
    answers = {who: ParsedAnswer(Outcome.ANSWERED, FoundAs.JSON, one) for who, one in said.items()}
    state = world.setup(setting.config, setting.agents, setting.seed)
    played = turn.play_turn(world, state, {}, answers)
    seen: list[Any] = [turn.view_of(world, played.resolved.state, played.memories, who) for who in said]
    rejected, nothing = (view.get("memory", view).get("feedback", []) for view in seen)
    assert nothing == []
    assert [set(one) for one in rejected] == [{"rejected", "code", "why"}]
    assert "nonsense" in str(rejected[0]["rejected"])
    assert len(str(rejected[0]["rejected"])) < 150


def default_variant(world: AnyWorld) -> str:
    return world.prompts(make_setting(world, world.names(3), 1, {}).config)


def keys_in(value: Any) -> set[str]:
    if isinstance(value, dict):
        return set(value).union(*map(keys_in, value.values()))
    return set().union(*map(keys_in, value)) if isinstance(value, list) else set()


def filled_in(form: str, places: Mapping[str, str]) -> Any:
    """Return the form of an answer with JSON in each of its places, `<...>`. As it is, it is no answer."""
    assert not re.search(r"\d", form)
    with pytest.raises(ValueError, match="Expecting value"):
        json.loads(form)
    return json.loads(re.sub("<(.+?)>", lambda place: places[place[1]], form.replace(", ...", "")))


def accepted(takes: Callable[[int], bool]) -> Numbers:
    """Return the smallest and the largest number that is taken, after checking those between them."""
    found = [number for number in range(-2, 20) if takes(number)]
    assert found == list(range(found[0], found[-1] + 1)), f"not all are taken between the ends of {found}"
    return {found[0], found[-1]}


def _named(treatment: Mapping[str, Any]) -> str:
    """Name a treatment in a test id."""
    return " ".join(f"{name}={value}" for name, value in treatment.items())


# --- templates and plays -----------------------------------------------------------------------------------


REWORDINGS: Mapping[str, Sequence[str]] = dict.fromkeys(("terse", "formal", "story"), ("en",))
"""The shipped variants that say the rules in other words, with their languages."""


@dataclass(frozen=True)
class Template:
    """A variant of a world in one language, or the system text of its observer."""

    world_name: str
    variant: str
    lang: str
    shipped: bool = field(default=False, compare=False)

    def __str__(self) -> str:
        return f"{self.variant}-{self.lang}"

    @property
    def world(self) -> AnyWorld:
        return WORLDS[self.world_name]

    @property
    def prompts(self) -> PromptSet:
        """The texts, read once. The text of an observer stands in the place of the system text."""
        return _read(prompt_set.ROOT, self)

    @property
    def rewords(self) -> str | None:
        """The variant that this one says in other words, if it does."""
        return prompting.about(self.world_name, self.variant).get("rewords")

    def told(self, treatment: Mapping[str, Any]) -> Values:
        """Return the settings of a treatment without those that differ from their default and are untold."""
        untold = prompting.about(self.world_name, self.variant).get("untold", "").split()
        default = default_setting(self.world).config
        return {k: v for k, v in treatment.items() if k not in untold or v == getattr(default, k)}

    @property
    def rules(self) -> tuple[str, ...]:
        """The rules that the template marks. None if it cannot be loaded, which a test of its own reports."""
        try:
            return tuple(re.findall(r"\{# rule: ([\w-]+) #\}", self.prompts.system))
        except PromptError:
            return ()

    def render(self, values: Mapping[str, Any], agents: int = 3) -> str:
        setting = make_setting(self.world, self.world.names(agents), 1, values)
        if self.variant == OBSERVER:
            return load_prompts(self.world, default_variant(self.world), self.lang, setting).observer
        schema = prompting.answer_schema(self.world, setting)
        return system_text(replace(self.prompts, schema=schema), setting)

    def prose(self, values: Mapping[str, Any]) -> str:
        return re.sub(r"^\{.*\}$", "", self.render(values), flags=re.MULTILINE)

    def sentence(self, rule: str, values: Mapping[str, Any]) -> str:
        """Return the rendered sentence of a rule, up to the next rule or the end of its paragraph.

        It is empty if the template says nothing about the rule under these values.
        """
        marked = re.sub(r"\{# rule: ([\w-]+) #\}", r"⟦\1⟧", self.prompts.system)
        setting = make_setting(self.world, self.world.names(3), 1, values)
        text = system_text(replace(self.prompts, system=marked), setting)
        found = re.search(rf"⟦{rule}⟧(.*?)(?=\n*⟦|\n\n|\Z)", text, re.DOTALL)
        return found[1].lstrip("\n") if found else ""

    def unexplained(self, keys: Iterable[str], values: Mapping[str, Any]) -> list[str]:
        """Return the keys of a view that are no words of the text."""
        words = set(re.findall(r"[A-Za-z_]+", self.prose(values)))
        return sorted(set(keys) - words)


@cache
def _read(root: Path, template: Template) -> PromptSet:
    world, lang = template.world, template.lang
    if template.variant != OBSERVER:
        return load_prompts(world, template.variant, lang)
    text = (root / world.name / f"observer.{lang}.md").read_text(encoding="utf-8")
    return replace(load_prompts(world, default_variant(world), lang), system=text)


@dataclass(frozen=True, eq=False)
class Play:
    """A rule, the treatment under which it is played, the words that tell this treatment, and the game."""

    rule: str
    game: Callable[[Any], Numbers | None]
    treatment: Mapping[str, Any]
    words: Mapping[str, str]

    def __str__(self) -> str:
        return f"{self.rule} {_named(self.treatment)}".rstrip()


@dataclass(frozen=True, eq=False)
class WorldPrompts:
    """The prompts of a world: its templates, its table of plays, and what its shipped variants promise."""

    world: AnyWorld
    shipped: Mapping[str, Sequence[str]]
    """The variants that come with the world, the default first, and its observer; with their languages."""
    other_numbers: Mapping[str, Any]
    """Config values with numbers that the default config does not have."""
    constant_numbers: Numbers
    """The numbers in a variant that no config changes."""
    view_is_data: Mapping[str, str]
    """The words, by language, in which a turn says that the view is no instruction."""
    words_of_treatments: Sequence[tuple[Values, Values, set[str]]]
    """Words that no variant says under the first values, and of which each says some under the second."""
    advised: tuple[str, str, int]
    """The variant that gives advice, the one that says the same without it, and the advice's sections."""
    long: Sequence[str] = ()
    """The shipped variants with so much advice that a call may have more than MOST_TOKENS."""
    ones: Sequence[Values] = ()
    """Treatments under which every number that a plural may follow is 1."""
    constant_in_observer: Numbers = field(default_factory=set)
    """The numbers in the text of the observer that no config changes."""
    everything_on: Mapping[str, tuple[Values, Values]] = field(default_factory=lambda: {"baseline": ({}, {})})
    """Pairs of treatments under which the templates say as much as they can, without a common number."""
    unplayed_choices: Mapping[str, set[str]] = field(default_factory=dict)
    """The choices of a config field that need no play."""
    stage: Callable[[Values], Any] = dict
    """What a game is given: the config values, or what the world makes of them."""
    table: list[Play] = field(default_factory=list)
    _shown: dict[tuple[Play, str], Numbers] = field(default_factory=dict)

    def plays(self, rule: str, en: str = "", zh: str = "", **treatment: Any) -> Callable[[Game], Game]:

        def enter(game: Game) -> Game:
            self.table.append(Play(rule, game, treatment, {"en": en, "zh": zh}))
            return game

        return enter

    def templates(self) -> list[Template]:
        """Return every template in the folder of the world, those that somebody added included."""
        name = self.world.name
        found = [(v, lang) for v in prompting.variants(self.world) for lang in prompting.languages(name, v)]
        observers = sorted((prompt_set.ROOT / name).glob("observer.*.md"))
        found += [(OBSERVER, file.name.split(".")[1]) for file in observers]
        return [Template(name, v, lang, shipped=lang in self.shipped.get(v, ())) for v, lang in found]

    def played_in(self, template: Template) -> list[Play]:
        """Return the plays of the rules that a template marks, under the treatments that it tells."""
        marked = template.rules
        return [
            play
            for play in self.table
            if play.rule in marked and template.told(play.treatment) == play.treatment
        ]

    def values(self, play: Play, base: str) -> Values:
        """Return the config of a play on a base, `baseline` or `other`."""
        return under(self.other_numbers if base == "other" else {}, play.treatment)

    def shown(self, play: Play, base: str) -> Numbers:
        """Return the numbers that the engine shows in a play. The game is played once for all templates."""
        if (play, base) not in self._shown:
            self._shown[play, base] = play.game(self.stage(self.values(play, base))) or set()
        return self._shown[play, base]

    def contradictions(self, template: Template) -> Iterator[str]:
        """Yield where a template does not say what the engine shows in a play, on both bases."""
        for play, base in product(self.played_in(template), ("baseline", "other")):
            said = template.sentence(play.rule, self.values(play, base))
            words = play.words.get(template.lang, "")
            if template.shipped and not said:
                yield f"{template} says nothing of {play}"
            elif template.shipped and not template.rewords and words not in said:
                yield f"{template} does not tell {play} in the words {words!r}: {said}"
            elif said and numbers(said) != (shown := self.shown(play, base)):
                yield f"{play}, {base}: the engine shows {shown}, {template} says: {said}"

    def treatments(self) -> dict[str, set[str]]:
        """Return the config fields with named choices that the shipped templates use, and the choices."""
        jinja = Environment()  # noqa: S701  it only parses
        texts = [template.prompts.system for template in self.templates() if template.shipped]
        used = set().union(*(find_undeclared_variables(jinja.parse(text)) for text in texts))
        fields = self.world.config.model_json_schema()["properties"].items()
        return {name: set(schema["enum"]) for name, schema in fields if name in used and "enum" in schema}


# --- the tests of every world ------------------------------------------------------------------------------


class PromptTests:
    """The tests that the prompts of every world pass. A world's own tests are further methods.

    A test runs for each template that its argument stands for: `template` is every text of the world, those
    that somebody added included; `variant` is the same without observers; `shipped` and `shipped_variant` are
    those of them that come with the world.
    """

    prompts: ClassVar[WorldPrompts]

    @classmethod
    def pytest_generate_tests(cls, metafunc: pytest.Metafunc) -> None:
        prompts, asked = cls.prompts, set(metafunc.fixturenames)
        if names := asked & {"template", "variant", "shipped", "shipped_variant"}:
            (name,) = names
            found = [t for t in prompts.templates() if t.shipped or not name.startswith("shipped")]
            found = [t for t in found if t.variant != OBSERVER or not name.endswith("variant")]
            metafunc.parametrize(name, found, ids=str)
        if "pair" in asked:
            metafunc.parametrize("pair", sorted(prompts.everything_on))

    def run_all(self, template: Template) -> None:
        """Run every test that there is for a variant of one's own."""
        for name in (name for name in dir(self) if name.startswith("test_")):
            if set(signature(getattr(self, name)).parameters) in ({"template"}, {"variant"}):
                getattr(self, name)(template)

    def test_what_the_prompt_says_is_what_the_engine_does(self, template: Template) -> None:
        found = list(self.prompts.contradictions(template))
        assert not found, "\n".join(found)

    def test_each_marked_rule_is_played(self, template: Template) -> None:
        played = {play.rule for play in self.prompts.table}
        unplayed = [rule for rule in template.rules if rule not in played]
        assert not unplayed, f"{template} marks rules that have no play: {unplayed}"
        twice = {rule for rule in template.rules if template.rules.count(rule) > 1}
        assert not twice, f"{template} marks rules more than once: {twice}"

    def test_each_play_has_its_rule(self) -> None:
        marked = {rule for template in self.prompts.templates() for rule in template.rules}
        unmarked = {play.rule for play in self.prompts.table} - marked
        assert not unmarked, f"no template marks the rules of these plays: {unmarked}"

    def test_each_treatment_that_words_a_rule_is_played(self) -> None:
        for name, there in self.prompts.treatments().items():
            played = {play.treatment[name] for play in self.prompts.table if name in play.treatment}
            choices = there - self.prompts.unplayed_choices.get(name, set())
            assert played == choices, f"{name}: plays under {played}, choices {choices}"

    def test_a_treatment_is_told_in_words_that_no_other_treatment_has(self, template: Template) -> None:
        for play, other in permutations(self.prompts.played_in(template), 2):
            if play.rule != other.rule or play.words == other.words:
                continue
            said = template.sentence(other.rule, other.treatment)
            words = play.words.get(template.lang, "")
            exact = template.shipped and not template.rewords
            if exact and words not in ("", other.words[template.lang]):
                assert words not in said, f"{template} tells {other} in the words of {play}: {said}"
            if play.game is not other.game and said:
                alike = said == template.sentence(play.rule, play.treatment)
                assert not alike, f"{template} tells {play} and {other} in the same words: {said}"

    def test_no_number_of_a_rule_is_written_into_the_template(self, shipped: Template, pair: str) -> None:
        one, other = self.prompts.everything_on[pair]
        told = numbers(shipped.render(one, 29))
        assert len(told) >= 3, f"{shipped} tells hardly a number: {told}"
        fixed = told & numbers(shipped.render(under(self.prompts.other_numbers, other), 31))
        own = (
            self.prompts.constant_in_observer
            if shipped.variant == OBSERVER
            else self.prompts.constant_numbers
        )
        assert fixed == own, f"{shipped} tells {fixed} under any config; the engine's own are {own}"

    def test_a_treatment_is_spoken_of_only_where_it_is_on(self, shipped_variant: Template) -> None:
        for off, on, words in self.prompts.words_of_treatments:
            if shipped_variant.told(off) != off or shipped_variant.told(on) != on:
                continue
            without, with_it = shipped_variant.render(off), shipped_variant.prose(on)
            spoken = [word for word in words if word in without]
            assert not spoken, f"{shipped_variant} speaks of {spoken} under {off}"
            assert [word for word in words if word in with_it], (
                f"{shipped_variant}: none of {words} under {on}"
            )

    def test_the_prompts_hold_under_every_treatment(self, variant: Template) -> None:
        problems = check_prompts(variant.world, variant.prompts)
        assert not problems, "\n".join(problems)

    def test_a_shipped_variant_has_no_warnings(self, shipped_variant: Template) -> None:
        found = prompt_warnings(shipped_variant.world, shipped_variant.variant, shipped_variant.lang)
        assert list(found) == []

    def test_all_languages_of_a_shipped_variant_say_the_same(self) -> None:
        for variant, langs in self.prompts.shipped.items():
            templates = [Template(self.prompts.world.name, variant, lang) for lang in langs]
            said = [({*one.rules}, {*placeholders(one.prompts.system)}) for one in templates]
            assert said == [said[0]] * len(said), f"{variant}: other rules or placeholders in one language"

    @pytest.mark.parametrize("name", REWORDINGS)
    def test_a_rewording_tells_the_base_game_and_all_settings_that_it_does_not_refuse(
        self, name: str
    ) -> None:
        world = self.prompts.world
        old, new = (Template(world.name, each, "en") for each in (prompting.wordings(world)[0], name))
        rules = [{rule for rule in each.rules if each.sentence(rule, {})} for each in (old, new)]
        assert rules[0] == rules[1]
        assert rules[1] <= {play.rule for play in self.prompts.played_in(new)}
        fixed = fixed_values(new.prompts, default_setting(world))
        settings = new.told(values_to_try(world)).items()
        for told in ({**fixed, setting: value} for setting, values in settings for value in values):
            texts = [[filled_system_text(each.prompts, one) for one in (fixed, told)] for each in (old, new)]
            assert len({before == after for before, after in texts}) == 1, (
                f"one of {old} and {new} tells {told}"
            )

    def test_a_shipped_variant_says_how_much_it_advises(self, shipped_variant: Template) -> None:
        said = prompting.about(shipped_variant.world_name, shipped_variant.variant)
        assert said.keys() >= {"about", "advice"}
        if said["advice"] == "rules only":
            assert not [rule for rule in shipped_variant.rules if rule.startswith("advice-")]

    def test_advice_follows_the_whole_text_of_the_variant_without_it(self) -> None:
        advised, without, sections = self.prompts.advised
        for lang in self.prompts.shipped[advised]:
            one, other = (Template(self.prompts.world.name, name, lang) for name in (advised, without))
            for _, values, _ in self.prompts.words_of_treatments:
                text, plain = one.render(values), other.render(values)
                assert text.startswith(plain)
                assert len(re.findall("^# ", text.removeprefix(plain), re.MULTILINE)) == sections
            assert one.prompts.turn == other.prompts.turn

    @pytest.mark.parametrize("turn", [0, 5, 20])
    def test_a_call_is_short_and_most_of_it_is_the_same_for_all_agents_and_turns(self, turn: int) -> None:
        world = self.prompts.world
        for variant in self.prompts.shipped.keys() - {OBSERVER, *self.prompts.long}:
            agent = world.names(world.default_agents)[0]
            question = question_in_new_run(RunOptions(world.name, prompts=variant), turn, agent)
            prompts = question.load_prompts()
            prompt = question.render(prompts)
            tokens = token_counts(prompt, question.fixed_words(prompts, prompt))
            assert tokens["system"] + tokens["turn"] <= MOST_TOKENS
            assert tokens["shared"] >= 0.7

    def test_one_of_anything_is_told_in_the_singular(self, shipped: Template) -> None:
        """In Chinese, sats have no singular."""
        for values in self.prompts.ones if shipped.lang == "en" else ():
            plurals = re.findall(r"\b1 (?!is\b)[a-z]+s\b|last 1 ", shipped.prose(values))
            assert not plurals, f"{shipped} says {plurals}"

    def test_each_shipped_template_is_there_and_the_first_is_the_default(self) -> None:
        there = {(template.variant, template.lang) for template in self.prompts.templates()}
        shipped = [(variant, lang) for variant, langs in self.prompts.shipped.items() for lang in langs]
        assert set(shipped) <= there, f"missing: {set(shipped) - there}"
        assert shipped[0][0] == default_variant(self.prompts.world)

    def test_a_turn_says_that_the_view_is_data_and_ends_with_it(self, shipped_variant: Template) -> None:
        world = self.prompts.world
        setting = make_setting(world, world.names(3), 1, {})
        state = world.setup(setting.config, setting.agents, setting.seed)
        view = view_of(world, state, setting.agents[0])
        words, last = turn_text(shipped_variant.prompts, view).splitlines()
        assert json.loads(last) == replace_codes(shipped_variant.prompts, view)
        assert self.prompts.view_is_data[shipped_variant.lang] in words
