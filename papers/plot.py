# SPDX-License-Identifier: BSD-3-Clause
"""Plots as SVG, to stand in a page: lines with their spread, or bars; linear or logarithmic axes."""

import html
import math

WIDTH, HEIGHT = 520, 320
LEFT, RIGHT, TOP, BOTTOM = 62, 12, 12, 46
COLOURS = 8  # classes c0 to c7 of the page's style


def escape(text):
    return html.escape(str(text))


class Axis:
    """Values to pixels, and the ticks between."""

    def __init__(self, values, log, first, last, from_zero):
        values = [value for value in values if value is not None and (value > 0 or not log)]
        low, high = (min(values), max(values)) if values else (0, 1)
        if from_zero and not log:
            low = min(low, 0)
        if low == high:
            low, high = (low / 2, high * 2) if log and low > 0 else (low - 0.5 if low else 0, high + 0.5)
        self.log, self.first, self.last = log, first, last
        if log:
            self.low, self.high = math.log10(low), math.log10(high)
        else:
            self.step = self.nice((high - low) / 5)
            self.low, self.high = math.floor(low / self.step) * self.step, math.ceil(high / self.step - 1e-9) * self.step

    @staticmethod
    def nice(step):
        power = 10 ** math.floor(math.log10(step))
        return next(times * power for times in (1, 2, 2.5, 5, 10) if times * power >= step * (1 - 1e-9))

    def at(self, value):
        place = math.log10(value) if self.log else value
        return self.first + (place - self.low) / ((self.high - self.low) or 1) * (self.last - self.first)

    def ticks(self):
        if not self.log:
            count = round((self.high - self.low) / self.step)
            return [self.low + index * self.step for index in range(count + 1)]
        powers = range(math.floor(self.low), math.ceil(self.high) + 1)
        dense = self.high - self.low < 1.5
        found = [times * 10 ** power for power in powers for times in ((1, 2, 5) if dense else (1,))
                 if self.low - 1e-9 <= math.log10(times * 10 ** power) <= self.high + 1e-9]
        while len(found) > 8:
            found = found[::2]
        return found or [10 ** self.low, 10 ** self.high]


def tick_text(value):
    if value == 0:
        return "0"
    for unit, size in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if abs(value) >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value:.3g}"


def draw(plot):
    """The picture of a Plot (lab.py)."""
    return (bars if plot.bars else lines)(plot)


def frame(plot, legend, inside):
    items, x, y = [], LEFT, 14
    for index, name in enumerate(legend):
        width = 26 + 6.4 * len(name)
        if x > LEFT and x + width > WIDTH - RIGHT:
            x, y = LEFT, y + 18
        dashed = " paper" if name in plot.paper else ""
        items.append(f'<line class="c{index % COLOURS}{dashed}" x1="{x:.1f}" x2="{x + 18:.1f}" y1="{y}" y2="{y}"/>'
                     f'<text x="{x + 23:.1f}" y="{y + 4}">{escape(name)}</text>')
        x += width + 14
    above = y + 6  # the legend's rows stand above the plot
    return (f'<svg viewBox="0 {-above} {WIDTH} {HEIGHT + above}" role="img" aria-label="{escape(plot.title)}"><title>{escape(plot.title)}</title>'
            f'<g transform="translate(0 {-above})">{"".join(items)}</g>{inside}'
            f'<text class="axis" x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 6}">{escape(plot.x)}</text>'
            f'<text class="axis" transform="translate(13 {(TOP + HEIGHT - BOTTOM) / 2}) rotate(-90)">{escape(plot.y)}</text></svg>')


def rows(axis):
    return "".join(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{axis.at(tick):.1f}" y2="{axis.at(tick):.1f}"/>'
                   f'<text class="y" x="{LEFT - 6}" y="{axis.at(tick) + 4:.1f}">{tick_text(tick)}</text>' for tick in axis.ticks())


def lines(plot):
    points = [point for series in plot.series.values() for point in series]
    xs = Axis([point[0] for point in points], plot.log_x, LEFT + 8, WIDTH - RIGHT - 8, False)
    ys = Axis([value for point in points for value in point[1:]], plot.log_y, HEIGHT - BOTTOM, TOP, True)
    inside = [rows(ys)]
    inside += [f'<line class="grid" y1="{TOP}" y2="{HEIGHT - BOTTOM}" x1="{xs.at(tick):.1f}" x2="{xs.at(tick):.1f}"/>'
               f'<text class="x" x="{xs.at(tick):.1f}" y="{HEIGHT - BOTTOM + 16}">{tick_text(tick)}</text>' for tick in xs.ticks()]
    for index, (name, series) in enumerate(plot.series.items()):
        look = f'c{index % COLOURS}{" paper" if name in plot.paper else ""}'
        series = [point for point in sorted(series) if point[1] > 0 or not plot.log_y]
        way = " ".join(f"{xs.at(point[0]):.1f},{ys.at(point[1]):.1f}" for point in series)
        inside.append(f'<polyline class="{look}" points="{way}"/>')
        for point in series:
            x, y = xs.at(point[0]), ys.at(point[1])
            if len(point) == 4 and point[3] > point[2] and (point[2] > 0 or not plot.log_y):
                inside.append(f'<line class="{look} spread" x1="{x:.1f}" x2="{x:.1f}" y1="{ys.at(point[2]):.1f}" y2="{ys.at(point[3]):.1f}"/>')
            inside.append(f'<circle class="{look}" cx="{x:.1f}" cy="{y:.1f}" r="3"><title>{escape(name)}: {point[0]:g}, {point[1]:.4g}</title></circle>')
    return frame(plot, plot.series, "".join(inside))


def bars(plot):
    groups = list(dict.fromkeys(point[0] for series in plot.series.values() for point in series))
    ys = Axis([value for series in plot.series.values() for point in series for value in point[1:]], plot.log_y, HEIGHT - BOTTOM, TOP, True)
    room = (WIDTH - LEFT - RIGHT) / max(len(groups), 1)
    width = room * 0.8 / len(plot.series)
    floor = HEIGHT - BOTTOM
    inside = [rows(ys)]
    inside += [f'<text class="x" x="{LEFT + (at + 0.5) * room:.1f}" y="{floor + 16}">{escape(group)}</text>' for at, group in enumerate(groups)]
    for index, (name, series) in enumerate(plot.series.items()):
        look = f'c{index % COLOURS}{" paper" if name in plot.paper else ""}'
        for point in series:
            if plot.log_y and point[1] <= 0:
                continue
            x = LEFT + groups.index(point[0]) * room + room * 0.1 + index * width
            y = ys.at(point[1])
            inside.append(f'<rect class="{look}" x="{x:.1f}" y="{y:.1f}" width="{width * 0.92:.1f}" height="{max(floor - y, 0.5):.1f}">'
                          f'<title>{escape(name)}, {escape(point[0])}: {point[1]:.4g}</title></rect>')
            if len(point) == 4 and point[3] > point[2] and (point[2] > 0 or not plot.log_y):
                middle = x + width * 0.46
                inside.append(f'<line class="spread" x1="{middle:.1f}" x2="{middle:.1f}" y1="{ys.at(point[2]):.1f}" y2="{ys.at(point[3]):.1f}"/>')
    return frame(plot, plot.series, "".join(inside))
