"""The error that stops a run between two turns or inside one, so that it can be resumed later."""


class HaltedError(RuntimeError):
    """The run stops here instead of taking default actions. The answers that have arrived are kept."""
