"""A plan as a PNG file: the time of each of its steps, and how long the machine would need at least."""

import numpy as np

from typednn.plans.explain import Explained, Timed
from typednn.reports.canvas import FILE, PALETTE, drawing, figure, label, legend_below, rendered

_MOST = 40  # bars; the steps of a longer plan are added up by their op
_HALVES = {"forward": PALETTE[0], "backward": PALETTE[1]}


def plan_picture(explained: Explained) -> bytes:
    """A bar for each step, in their order: its time, and a line at its limit. The steps of a plan with
    more than 40 are added up by their op.
    """
    bars = _bars(explained.lines)
    unit, scale = ("ms", 1e3) if max((seconds for *_, seconds, _ in bars), default=0.0) >= 2e-3 else ("µs", 1e6)
    with drawing():
        drawn, axes = figure(9.0, 1.4 + 0.26 * len(bars))
        places = np.arange(len(bars))
        for half, colour in _HALVES.items():
            own = [place for place, (of, *_) in enumerate(bars) if of == half]
            axes.barh(own, [scale * bars[place][2] for place in own], height=0.72, color=colour, label=half)
        limits = [scale * limit for *_, limit in bars]
        axes.vlines(limits, places - 0.42, places + 0.42, color=PALETTE[3], linewidth=1.6, label="limit")
        axes.set_yticks(places, [label(name, 48) for _, name, *_ in bars])
        axes.invert_yaxis()
        axes.margins(y=0.01)
        limit = sum(line.limit for line in explained.lines)
        axes.set(title=f"{explained.seconds * 1e3:.3g} ms, limit {limit * 1e3:.3g} ms", xlabel=unit, xlim=(0, None))
        axes.grid(visible=False, axis="y")
        legend_below(drawn, axes)
        return rendered(drawn, FILE)


def _bars(lines: tuple[Timed, ...]) -> list[tuple[str, str, float, float]]:
    """Half, name, and the seconds taken and at least."""
    if len(lines) <= _MOST:
        return [
            (line.half, f"{line.name.partition('.')[0]} {line.parameters}".strip(), line.seconds, line.limit)
            for line in lines
        ]
    together: dict[tuple[str, str], list[Timed]] = {}
    for line in lines:
        together.setdefault((line.half, line.name.partition(".")[0]), []).append(line)
    return [
        (half, f"{len(same)} x {name}", sum(each.seconds for each in same), sum(each.limit for each in same))
        for (half, name), same in together.items()
    ]
