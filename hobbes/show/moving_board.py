"""The boards of some turns as one SVG that shows them in turn, without a script: it moves in a README."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from hobbes.engine.board import Board
from hobbes.show.boards import svg
from hobbes.show.strokes import STYLE, STYLE_ELEMENT, WIDTH, number

SECONDS = 1.0
"""How long a board is shown."""


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


def moving_svg(boards: Iterable[Board]) -> str:
    """Return boards as one SVG that shows each for a while, under its title, and then begins again.

    Whoever prefers no motion sees the last one.
    """
    shapes, frames = Shapes(), []
    for k, board in enumerate(boards):
        drawn = shapes.once(svg(board).replace(STYLE_ELEMENT, ""))
        frames.append(drawn.replace('class="board"', f'class="frame f{k}"', 1))
    high = max(float(re.findall(r'height="([\d.]+)"', frame)[0]) for frame in frames)
    size = f'viewBox="0 0 {WIDTH} {number(high)}" width="{WIDTH}" height="{number(high)}"'
    begins = f'<svg xmlns="http://www.w3.org/2000/svg" class="board" {size}>'
    return "\n".join([begins, f"<style>{STYLE}{_timing(len(frames))}</style>", *frames, "</svg>", ""])


def _timing(frames: int) -> str:
    """Return the style sheet that shows one frame after the other."""
    later = "".join(f".f{k}{{animation-delay:{k * SECONDS:g}s}}" for k in range(1, frames))
    return (
        f".frame{{visibility:hidden;animation:frame {frames * SECONDS:g}s step-end infinite}}{later}"
        f"@keyframes frame{{0%{{visibility:visible}}{100 / frames:.4f}%{{visibility:hidden}}}}"
        f"@media(prefers-reduced-motion){{.frame{{animation:none}}.f{frames - 1}{{visibility:visible}}}}\n"
    )
