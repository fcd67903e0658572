"""The boards of some turns as one SVG that shows them in turn, without a script: it moves in a README."""

import re
from collections.abc import Mapping

from hobbes.engine.board import Board
from hobbes.show.boards import whole
from hobbes.show.strokes import MARGIN, STYLE, WIDTH, escape_foreign, number, word

SECONDS, LAST = 2, 4
"""How long a board is shown, and the last one."""

_SHAPE = re.compile('<g (?:role="img"|pointer-events="none")>.*?</g>', re.DOTALL)


class Shapes:
    """The shapes that a document has so far, each with its name."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}

    def once(self, drawn: str) -> str:
        """Return a part of the document, in which a shape that the document has already is a reference."""
        return _SHAPE.sub(lambda found: self._shape(found[0]), drawn)

    def _shape(self, shape: str) -> str:
        if shape in self._names:
            return f'<use href="#{self._names[shape]}"/>'
        self._names[shape] = f"s{len(self._names)}"
        # What is referred to is styled by itself, without what stands around it.
        return shape.replace("<g", f'<g id="{self._names[shape]}" class="board"', 1)


def moving_svg(boards: Mapping[str, Board]) -> str:
    """Return boards as one SVG that shows each for a while, above its name, and then begins again.

    Whoever prefers no motion sees the last one.
    """
    drawn = {name: whole(board) for name, board in boards.items()}
    base = max(high for _, high in drawn.values()) + 10
    shapes, frames = Shapes(), []
    for k, (name, (board, _)) in enumerate(drawn.items()):
        group = f'<g class="frame f{k}" role="group" aria-label="{escape_foreign(boards[name].title)}">'
        caption = word(escape_foreign(name), (MARGIN, base), "q")
        frames.append("\n".join([group, shapes.once("\n".join(board)), caption, "</g>"]))
    size = f'viewBox="0 0 {WIDTH} {number(base + MARGIN)}" width="{WIDTH}" height="{number(base + MARGIN)}"'
    begins = f'<svg xmlns="http://www.w3.org/2000/svg" class="board" {size}>'
    return "\n".join([begins, f"<style>{STYLE}{_timing(len(frames))}</style>", *frames, "</svg>", ""])


def _timing(frames: int) -> str:
    """Return the style sheet that shows one frame after the other."""
    whole = SECONDS * (frames - 1) + LAST
    later = "".join(f".f{k}{{animation-delay:{k * SECONDS}s}}" for k in range(1, frames))
    return (
        f".frame{{visibility:hidden;animation:frame {whole}s step-end infinite}}{later}"
        f".f{frames - 1}{{animation-name:last}}"
        f"@keyframes frame{{0%{{visibility:visible}}{100 * SECONDS / whole:.4f}%{{visibility:hidden}}}}"
        f"@keyframes last{{0%{{visibility:visible}}{100 * LAST / whole:.4f}%{{visibility:hidden}}}}"
        f"@media(prefers-reduced-motion){{.frame{{animation:none}}.f{frames - 1}{{visibility:visible}}}}\n"
    )
