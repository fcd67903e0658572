"""Queries that researchers ask of a run database, for `hobbes datasette`.

They are plain SQL and take their parameters by name. A parameter that is left empty has a default.
"""
# ruff: noqa: S608  there are no values in them

import re
from collections.abc import Mapping
from typing import NamedTuple

from hobbes.engine.answer import DECISIONS
from hobbes.engine.record import MESSAGE
from hobbes.engine.world import CHOSEN_RUN
from hobbes.engine.worlds import WORLDS


class Query(NamedTuple):
    """A query, with its title and a description for people."""

    title: str
    description: str
    sql: str

    @property
    def parameters(self) -> list[str]:
        """The names of the parameters, in the order in which they occur."""
        return list(dict.fromkeys(re.findall(r":(\w+)", self.sql)))


DECIDED = ", ".join(f"'{outcome}'" for outcome in sorted(DECISIONS))
"""SQL for the outcomes of calls that did not fail."""

AGGRESSION = ", ".join(
    sorted({f"'{world.landmarks[0].event}'" for world in WORLDS.values() if world.landmarks})
)
"""SQL for the types of events that are meant if none is named: what a reader looks for first."""

NO_DEEDS = ", ".join(f"'{type_}'" for type_ in (MESSAGE, *(one for w in WORLDS.values() for one in w.causes)))
"""SQL for the types of events that name another agent and are not deeds."""


def _run_query(condition: str = "") -> str:
    """Return the SQL for the run that is meant, among those for which the condition holds."""
    return f"""chosen as (
  select id, agents from runs where {condition}:run in ('', id, name) order by rowid desc limit 1
)"""


CHOSEN = _run_query()

CHOSEN_ID = "(select id from chosen)"

IN_RUN = f"run = {CHOSEN_ID}"

DEEDS = f"""names as (
  select agent as name from calls where {IN_RUN}
  union select value from chosen, json_each(chosen.agents)
), deeds as (
  select turn, n, events.type, agent, field.value as other, field.key as role, event
  from events, json_each(event) as field
  where {IN_RUN} and events.type not in ({NO_DEEDS}) and field.key not in ('type', 'agent')
    and field.type = 'text' and field.value in (select name from names)
)"""
"""SQL for the events that name another agent, once for each agent that they name."""

OF_TYPE = f"(type = :event or (:event = '' and type in ({AGGRESSION})))"

RUN = "run: the id or the name of a run; if it is empty, the newest run."
RUN_OF_WORLD = "run: the id or the name of a run; if it is empty, the newest run of this world."
EVENT = "event: a type of event; if it is empty, attacks and raids."

OF_ANY_WORLD: Mapping[str, Query] = {
    "rejections_and_corrections": Query(
        "Rejections and corrections by code and agent",
        f"What was refused or changed in the answers of a run, and how often. {RUN}",
        f"""with {CHOSEN}, found as (
  select 'rejection' as kind, code, agent, turn from drops where {IN_RUN}
  union all
  select 'correction', code, agent, turn from mends where {IN_RUN}
)
select kind, code, agent, count(*) as times, min(turn) as first_turn, max(turn) as last_turn
from found group by kind, code, agent order by times desc, kind, code, agent""",
    ),
    "failed_calls": Query(
        "Failed calls by outcome and agent",
        f"Calls that count and failed, so that the default action was taken. {RUN}",
        f"""with {CHOSEN}, counting as (
  select turn, agent, max(attempt), outcome, model, error from calls
  where {IN_RUN} and (question = 1 or question = 2 and outcome in ({DECIDED}))
  group by turn, agent
)
select outcome, agent, model, count(*) as calls, min(turn) as first_turn, max(turn) as last_turn,
  max(error) as an_error
from counting where outcome not in ({DECIDED})
group by outcome, agent, model order by calls desc, outcome, agent""",
    ),
    "who_did_what_to_whom": Query(
        "Who did what to whom",
        "Events that name another agent, such as attacks and raids, and how often they happened. "
        f"Messages are left out. The role is the field of the event that names the other agent. {RUN}",
        f"""with {CHOSEN}, {DEEDS}
select agent, type, role, other, count(*) as times, min(turn) as first_turn, max(turn) as last_turn
from deeds group by agent, type, role, other order by times desc, agent, type, other""",
    ),
    "messages_before": Query(
        "Messages before an attack",
        "Each attack or raid, beside the messages between the two agents, or from one of them to all, in "
        "that turn and in the turns before it. Whether a message was a promise is for you to judge. "
        f"{RUN} turns: how many turns to look back; if it is empty, 3. {EVENT}",
        f"""with {CHOSEN}, {DEEDS}, told as (
  select turn, n, sender, receiver, text from messages where {IN_RUN}
)
select deeds.turn, deeds.agent, deeds.type, deeds.other, deeds.event,
  told.turn as said_in_turn, told.sender, told.receiver, told.text
from deeds left join told
  on told.turn between deeds.turn - iif(:turns = '', 3, cast(:turns as integer)) and deeds.turn
  and ((told.sender = deeds.agent and told.receiver in (deeds.other, 'all'))
    or (told.sender = deeds.other and told.receiver in (deeds.agent, 'all')))
where {OF_TYPE}
order by deeds.turn, deeds.n, told.turn, told.n""",
    ),
    "ratings_beside_deeds": Query(
        "Ratings beside what was done",
        "The last ratings that each agent gave each other agent, beside how often the rated agent attacked "
        f"or raided the rater, and anybody. {RUN} {EVENT}",
        f"""with {CHOSEN}, {DEEDS}, last as (
  select rater, ratee, kind, max(turn), score from reports where {IN_RUN} group by rater, ratee, kind
)
select rater, ratee,
  max(iif(kind = 'aggressor_report', score, null)) as aggressor_report,
  max(iif(kind = 'keeps_word_report', score, null)) as keeps_word_report,
  (select count(*) from deeds where agent = ratee and other = rater and {OF_TYPE}) as did_to_rater,
  (select count(*) from deeds where agent = ratee and {OF_TYPE}) as did_to_anybody
from last where rater != ratee group by rater, ratee order by rater, ratee""",
    ),
    "tokens_by_agent": Query(
        "Calls, tokens and time by agent",
        f"What the calls of each agent took, repeated calls and follow-up questions included. {RUN}",
        f"""with {CHOSEN}
select agent, player, model, count(*) as calls, sum(tries) as requests,
  sum(tokens_in) as tokens_in, sum(tokens_out) as tokens_out,
  cast(avg(milliseconds) as integer) as mean_milliseconds
from calls where {IN_RUN} group by agent, player, model order by agent, player, model""",
    ),
    "prompts_and_answers": Query(
        "Prompts and answers",
        "What models and people were sent in a turn, and what all agents answered. The view that a scripted "
        f"policy was sent is not stored; `hobbes export` has it. {RUN} "
        "turn: a turn; if it is empty, the last one. agent: an agent; if it is empty, all of them.",
        f"""with {CHOSEN}
select turn, agent, attempt, outcome, systems.text as system, prompts.text as prompt, reasoning, answer
from calls
  left join texts as systems on systems.hash = calls.system
  left join texts as prompts on prompts.hash = calls.prompt
where {IN_RUN}
  and turn = iif(:turn = '', (select max(turn) from calls where {IN_RUN}), cast(:turn as integer))
  and :agent in ('', agent)
order by agent, attempt""",
    ),
    "measures_by_turn": Query(
        "Measures by turn",
        f"The measures of single turns of a finished run. {RUN} "
        "measure: the name of a measure; if it is empty, all of them.",
        f"""with {CHOSEN}
select name, cast(substr(scope, 6) as integer) as turn, value, decisions, failures
from measures where {IN_RUN} and scope glob 'turn/*' and :measure in ('', name)
order by name, turn""",
    ),
    "measures_by_arm": Query(
        "Measures by arm of an experiment",
        "Plain means over the runs of each arm; `hobbes report` has intervals and tests. "
        "experiment: its name; if it is empty, all of them. "
        "measure: the name of a measure; if it is empty, all of them.",
        """select cells.experiment, measures.name as measure, cells.arm, count(value) as runs,
  avg(value) as mean, min(value) as least, max(value) as most, sum(failures) as failed_calls
from cells join measures on measures.run = cells.run
where scope = 'run' and :experiment in ('', experiment) and :measure in ('', name)
group by 1, 2, 3 order by 1, 2, 3""",
    ),
}
"""The queries about runs of any world, by name."""


def queries() -> dict[str, Query]:
    """Return all queries by name: those about any world, then those of each world."""
    by_name = dict(OF_ANY_WORLD)
    for world in WORLDS.values():
        for one in world.queries:
            chosen = _run_query(f"world = '{world.name}' and ")
            sql = f"with {chosen}\n{one.sql.replace(CHOSEN_RUN, CHOSEN_ID)}"
            title = f"{world.name.capitalize()}: {one.title}"
            by_name[f"{world.name}_{one.name}"] = Query(title, f"{one.description} {RUN_OF_WORLD}", sql)
    return by_name
