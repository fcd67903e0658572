"""A run that stops as it stands, to be gone on with."""


class HaltedError(RuntimeError):
    """A run stops rather than take default actions for agents. What was answered is kept."""
