"""Questions about runs of mining that the run database answers, and the plain table of miners and rounds."""

from hobbes.engine.world import AgentTurns, RunQuery

QUERIES = (
    RunQuery(
        "gold",
        "gold and plots by turn",
        "The gold of each miner, which is its score, and its plots, after each turn.",
        """select turn, gold.key as agent, gold.value as gold, (
  select count(*) from json_each(state, '$.owners') as line, json_each(line.value) as plot
  where plot.value = gold.key
) as plots
from turns, json_each(state, '$.gold') as gold where run = :chosen order by turn, agent""",
    ),
    RunQuery(
        "raids",
        "raids by result",
        "Who raided whom, and what came of it.",
        """select agent, event ->> 'owner' as owner, event ->> 'result' as result, count(*) as raids
from events where run = :chosen and type = 'raid' group by 1, 2, 3 order by raids desc, 1, 2, 3""",
    ),
)

AGENT_TURNS = AgentTurns(
    {
        "claims": ("integer", "plots that it claimed"),
        "raids": ("integer", "plots that it raided"),
        "defences": (
            "integer",
            "stamina that it spent on defence, one for each time that it defended a plot",
        ),
        "mined": ("integer", "gold that it mined in the round"),
        "gold": ("integer", "gold that it has after the round"),
        "plots": ("integer", "plots that it owns after the round"),
    },
    """select run, turn, deeds.key as agent, deeds.value ->> 'claim' as claims,
  deeds.value ->> 'raid' as raids, deeds.value ->> 'defend' as defences, deeds.value ->> 'gold' as mined,
  json_extract(state, '$.gold.' || json_quote(deeds.key)) as gold, (
    select count(*) from json_each(state, '$.owners') as line, json_each(line.value) as plot
    where plot.value = deeds.key
  ) as plots
from played, json_each(state, '$.past[#-1].deeds') as deeds""",
)
