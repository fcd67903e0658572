"""mining: agents claim, raid, defend and mine the plots of a grid. The rules: docs/rules/mining.md."""
