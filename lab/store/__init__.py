"""The store: the run database (all SQL), its schema, the journal that writes a run, and prices."""
