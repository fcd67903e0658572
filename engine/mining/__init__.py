"""mining: agents claim, raid, defend and mine a grid, without talk or authority."""
