"""Shapes of boards that one document holds once, however often they are drawn."""

import re
from dataclasses import dataclass, field

_SHAPE = re.compile('<g role="img">.*?</g>', re.DOTALL)


@dataclass(frozen=True, slots=True)
class Shapes:
    """The shapes that a document has so far, each with its name."""

    names: dict[str, str] = field(default_factory=dict)

    def once(self, drawn: str) -> str:
        """Return a part of the document, in which a shape that the document has already is a reference."""
        return _SHAPE.sub(lambda found: self._shape(found[0]), drawn)

    def _shape(self, shape: str) -> str:
        if shape in self.names:
            return f'<use href="#{self.names[shape]}"/>'
        self.names[shape] = f"s{len(self.names)}"
        # What is referred to is styled by itself, without what stands around it.
        return shape.replace("<g", f'<g id="{self.names[shape]}" class="board"', 1)
