"""The store: all SQL of the run database, its schema, the journal that writes a run, and model prices."""
