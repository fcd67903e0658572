"""A Python player for nations: it pays back what it was granted."""

from typing import Any

OPENING_GIFT = 10
"""Money that it grants each other nation in the first turn."""


class Grateful:
    """Begins with a gift to all, then grants each nation as much money as that nation granted last turn."""

    def act(self, view: dict[str, Any]) -> dict[str, Any]:
        """Return the answer to a view."""
        others = [agent for agent in view["agents"] if agent != view["self"]]
        if view["turn"] == 0:
            grants, why = dict.fromkeys(others, OPENING_GIFT), "A gift may be returned."
        else:
            grants, why = view["account"].get("received_from", {}), "I pay back what I got."
        return {"reasoning": why, "money_grants": grants, "messages": {"all": why}}
