"""Questions about runs of trust that the run database answers, and the plain table of units and rounds."""

from hobbes.engine.world import AgentTurns, RunQuery

QUERIES = (
    RunQuery(
        "sats",
        "sats by turn",
        "The sats of each unit after each turn. The score of an agent is the sats of its living units.",
        """select turn, unit.value ->> 'id' as unit, unit.value ->> 'team' as agent,
  unit.value ->> 'sats' as sats, unit.value ->> 'alive' as alive
from turns, json_each(state, '$.units') as unit where run = :chosen order by turn, unit""",
    ),
    RunQuery(
        "pairs",
        "high fives, misses and attacks by pair",
        "What each unit did to each other one. A miss is a high five that came out as an attack; it is "
        "counted among the attacks, too.",
        """select agent, event ->> 'target' as target, sum(type = 'high_five') as high_fives,
  sum(type = 'miss') as misses, sum(type = 'attack') as attacks,
  sum(type = 'attack' and event ->> 'blocked') as blocked
from events where run = :chosen and type in ('high_five', 'miss', 'attack')
group by 1, 2 order by 1, 2""",
    ),
)

AGENT_TURNS = AgentTurns(
    {
        "action": ("text", "what it meant to do"),
        "did": ("text", "what came of it: a missed high five is an attack, a fumble do_nothing"),
        "target": ("text", "at whom, empty if at nobody"),
        "chosen": ("integer", "0 for a default action, else 1"),
        "change": ("integer", "the change of its sats in the round"),
        "sats": ("integer", "the sats that it has after the round"),
    },
    """select run, turn, deed.value ->> 'unit' as agent, deed.value ->> 'meant' as action,
  deed.value ->> 'did' as did, coalesce(deed.value ->> 'target', '') as target,
  deed.value ->> 'chosen' as chosen, (
    select coalesce(sum(effect.value ->> 'sats'), 0) from json_each(state, '$.history[#-1].effects') as effect
    where effect.value ->> 'unit' = deed.value ->> 'unit'
  ) as change, (
    select unit.value ->> 'sats' from json_each(state, '$.units') as unit
    where unit.value ->> 'id' = deed.value ->> 'unit'
  ) as sats
from played, json_each(state, '$.history[#-1].deeds') as deed""",
)
