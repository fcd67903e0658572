"""nations: territories, armies, trade and talk, in numbered phases that each keep a ledger."""
