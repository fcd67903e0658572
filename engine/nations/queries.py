"""Questions about runs of nations that the run database answers, and the plain table of nations and turns."""

from hobbes.engine.world import AgentTurns, RunQuery

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

AGENT_TURNS = AgentTurns(
    {
        "income": ("integer", "what its land earned in the turn, before damage"),
        "granted": ("integer", "money that it paid to others"),
        "received": ("integer", "money that others paid to it"),
        "attacks": ("integer", "mils that it sent against others"),
        "army": ("integer", "mils that it has after the turn"),
        "welfare": ("integer", "welfare that it has gathered so far"),
        "territories": ("integer", "territories that it owns after the turn"),
    },
    """select run, turn, account.key as agent, (
    select line.value ->> 1 from json_each(account.value, '$.money') as line where line.value ->> 0 = 'gross'
  ) as income,
  (select coalesce(sum(value), 0) from json_each(account.value, '$.granted_to')) as granted,
  (select coalesce(sum(value), 0) from json_each(account.value, '$.received_from')) as received,
  (select coalesce(sum(value), 0) from json_each(account.value, '$.attacked')) as attacks,
  account.value ->> 'army' as army, account.value ->> 'total' as welfare,
  json_array_length(state, '$.territories.' || json_quote(account.key)) as territories
from played, json_each(state, '$.accounts') as account""",
)
