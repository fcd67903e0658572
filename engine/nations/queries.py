"""Questions about runs of nations that the run database answers."""

from hobbes.engine.world import RunQuery

QUERIES = (
    RunQuery(
        "holdings",
        "welfare, land and army by turn",
        "What each nation has after each turn. Welfare is the score of all nations except bad actors.",
        """select turn, welfare.key as agent, welfare.value as welfare,
  (select json_array_length(value) from json_each(state, '$.territories') where key = welfare.key)
    as territories,
  (select value from json_each(state, '$.army') where key = welfare.key) as army
from turns, json_each(state, '$.welfare') as welfare where run = :chosen order by turn, agent""",
    ),
    RunQuery(
        "attacks",
        "attacks by pair",
        "Who attacked whom, with how many mils, and what it destroyed.",
        """select agent, event ->> 'target' as target, count(*) as attacks, sum(event ->> 'mils') as mils,
  sum(event ->> 'damage') as damage, sum(event ->> 'lost') as lost, min(turn) as first_turn
from events where run = :chosen and type = 'attack' group by 1, 2 order by mils desc, 1, 2""",
    ),
)
