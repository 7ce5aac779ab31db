"""A plot of growth as SVG: both axes logarithmic, one line an operation, its name at its end."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from xml.sax.saxutils import escape

WIDTH, HEIGHT = 860, 420
LEFT, RIGHT, TOP, BOTTOM = 70, 300, 40, 50
COLOURS = ("#1f5fa8", "#b3541e", "#2d7d46", "#7a3e9d")
LINE_GAP = 16
"""Points between two names at least, so that none covers another."""


def svg(title: str, sizes: Sequence[str], lines: Mapping[str, Sequence[float]]) -> str:
    """Milliseconds over sizes that grow by the same factor; every value above 0."""
    values = [value for line in lines.values() for value in line]
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    high = max(high, low + 1)

    def x(place: int) -> float:
        return LEFT + place * (WIDTH - LEFT - RIGHT) / (len(sizes) - 1)

    def y(value: float) -> float:
        return TOP + (high - math.log10(value)) * (HEIGHT - TOP - BOTTOM) / (high - low)

    parts = [_text(LEFT, TOP - 18, title, weight="bold")]
    for power in range(low, high + 1):
        height = y(10.0**power)
        parts.append(f'<path d="M{LEFT} {height:.1f}H{WIDTH - RIGHT}" stroke="#999" stroke-width="0.5"/>')
        parts.append(_text(LEFT - 8, height + 4, f"{10.0**power:g} ms", anchor="end"))
    parts += [_text(x(place), HEIGHT - BOTTOM + 22, size, anchor="middle") for place, size in enumerate(sizes)]
    names = _apart({name: y(line[-1]) for name, line in lines.items()})
    for colour, (name, line) in zip(COLOURS, lines.items(), strict=False):
        points = [(x(place), y(value)) for place, value in enumerate(line)]
        path = "L".join(f"{one:.1f} {other:.1f}" for one, other in points)
        parts.append(f'<path d="M{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [f'<circle cx="{one:.1f}" cy="{other:.1f}" r="3.5" fill="{colour}"/>' for one, other in points]
        parts.append(_text(WIDTH - RIGHT + 12, names[name] + 4, name, colour=colour))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif"'
        f' font-size="13">\n<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>\n' + "\n".join(parts) + "\n</svg>\n"
    )


def _apart(heights: Mapping[str, float]) -> dict[str, float]:
    """The heights of names, moved down where one would cover the one above it."""
    placed: dict[str, float] = {}
    least = 0.0
    for name, height in sorted(heights.items(), key=lambda pair: pair[1]):
        placed[name] = max(height, least)
        least = placed[name] + LINE_GAP
    return placed


def _text(x: float, y: float, text: str, *, anchor: str = "start", colour: str = "#222", weight: str = "normal") -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}" font-weight="{weight}">'
        f"{escape(text)}</text>"
    )
