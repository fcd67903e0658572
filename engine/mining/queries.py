"""Questions about runs of mining that the run database answers."""

from hobbes.engine.world import RunQuery

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
