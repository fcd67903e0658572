"""Questions about runs of trust that the run database answers."""

from hobbes.engine.world import RunQuery

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
