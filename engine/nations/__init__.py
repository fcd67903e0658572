"""nations: agents hold territories and armies, attack, trade and write, in numbered phases."""
