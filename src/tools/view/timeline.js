// SPDX-License-Identifier: BSD-3-Clause
// Draws the timeline: a line for each rank or group of ranks, coloured by what it did; above it how many ranks did what. Time and ranks
// are drawn from cells of levels of detail; where these are wider than a pixel, from the calls and waits themselves.
"use strict";

const GUTTER = 104, AXIS = 22, ARROWS_MOST = 3000, EXACT_RANKS = 600;

// Okabe and Ito's colours and shades of them: told apart by the colour-blind, and by their lightness.
const COLOURS = {
  light: ["#d55e00", "#cc79a7", "#e69f00", "#f7c65b", "#f0e442", "#a89a00", "#7f3b08", "#56b4e9", "#6a3d9a", "#b6bdc5", "#8d6e63",
          "#b5e0d2", "#0072b2", "#00456b", "#7a8ba0", "#ffffff"],
  dark: ["#f0700a", "#d98cb8", "#e69f00", "#f7cf7a", "#f0e442", "#a89a00", "#b35f1f", "#56b4e9", "#a17fd0", "#59636d", "#a1887f",
         "#1f6b57", "#0b66ab", "#cfe8fb", "#8797aa", "#14181d"],
};

function packed(colour) { // as a pixel of ImageData, little-endian
  const n = parseInt(colour.slice(1), 16);
  return (255 << 24 | (n & 255) << 16 | (n >> 8 & 255) << 8 | n >> 16) >>> 0;
}

class Timeline {
  constructor(canvas, area, state) {
    this.canvas = canvas;
    this.area = area;
    this.state = state;
    this.measured = null; // [begin, end] of the ruler
  }

  size() {
    this.scale = window.devicePixelRatio || 1;
    for (const c of [this.canvas, this.area]) {
      const width = Math.round(c.clientWidth * this.scale), height = Math.round(c.clientHeight * this.scale);
      if (c.width !== width || c.height !== height) { c.width = width; c.height = height; }
    }
    this.left = Math.round(GUTTER * this.scale);
    this.width = Math.max(1, this.canvas.width - this.left);
    this.height = Math.max(1, this.canvas.height - Math.round(AXIS * this.scale));
  }

  x(time) { return this.left + (time - this.state.t0) / (this.state.t1 - this.state.t0) * this.width; }
  y(rank) { return (rank - this.state.r0) / (this.state.r1 - this.state.r0) * this.height; }
  timeAt(x) { return this.state.t0 + (x * this.scale - this.left) / this.width * (this.state.t1 - this.state.t0); }
  rankAt(y) { return Math.floor(this.state.r0 + y * this.scale / this.height * (this.state.r1 - this.state.r0)); }
  rankPixels() { return this.height / (this.state.r1 - this.state.r0); }

  draw() {
    this.size();
    const run = this.state.run, context = this.canvas.getContext("2d");
    const theme = document.documentElement.dataset.theme;
    this.colours = COLOURS[theme].map(packed);
    this.names = COLOURS[theme];
    const image = context.createImageData(this.width, this.height);
    this.pixels = new Uint32Array(image.data.buffer);
    this.pixels.fill(this.colours[STATES.OUTSIDE]);
    this.sums = new Float32Array(this.width * 16);
    const level = run.level(this.rankPixels(), 2 * this.scale);
    const slice = run.length / 2 ** level.log / (this.state.t1 - this.state.t0) * this.width;
    this.isExact = run.exact() && level.shift === 0 && slice > 1.5 && this.state.r1 - this.state.r0 <= EXACT_RANKS;
    if (this.isExact) this.paintExact(run); else this.paintCells(run, level, slice);
    const style = getComputedStyle(document.documentElement), colour = name => style.getPropertyValue(name).trim();
    context.fillStyle = colour("--back");
    context.fillRect(0, 0, this.canvas.width, this.canvas.height);
    context.putImageData(image, this.left, 0);
    this.drawGutter(context, run, colour);
    this.drawAxis(context, colour);
    context.save();
    context.beginPath();
    context.rect(this.left, 0, this.width, this.height);
    context.clip();
    if (this.isExact) this.drawNames(context, run);
    if (this.state.path) this.drawPath(context, run, colour);
    this.drawArrows(context, run, colour);
    this.drawSelection(context, run, colour);
    context.restore();
    this.drawMeasure(context, colour);
    this.drawArea(colour);
  }

  // ---- cells

  paintCells(run, level, slice) {
    let up = 0, slices = 2 ** level.log, at = level.at;
    while (slice * 2 <= 1 && slices > 1) { // two slices in a pixel: the next ones are as long as both
      at += 2 * level.rows * slices;
      slices /= 2;
      slice *= 2;
      up++;
    }
    const { t0, t1, r0, r1 } = this.state, column = new Int32Array(this.width);
    for (let x = 0; x < this.width; x++) {
      const time = t0 + (x + 0.5) / this.width * (t1 - t0);
      column[x] = time < 0 || time >= run.length ? -1 : Math.min(slices - 1, Math.floor(time / run.length * slices));
    }
    const group = 2 ** level.shift, first = Math.max(0, Math.floor(r0 / group)), last = Math.min(level.rows, Math.ceil(r1 / group));
    for (let row = first; row < last; row++)
      this.paintRow(run, row * group, Math.min(run.ranks, (row + 1) * group), at + 2 * row * slices, column);
  }

  paintRow(run, from, to, at, column) {
    const top = Math.max(0, Math.round(this.y(from)));
    let bottom = Math.min(this.height, Math.max(Math.round(this.y(to)), Math.round(this.y(from)) + 1));
    if (bottom - top >= 6 * this.scale) bottom -= 1;
    const { pixels, width, colours, sums } = this, bytes = run.bytes, ranks = to - from;
    for (let x = 0; x < width; x++) {
      if (column[x] < 0) continue;
      const states = bytes[at + 2 * column[x]], share = bytes[at + 2 * column[x] + 1] / 255;
      const one = states & 15, two = states >> 4;
      sums[16 * x + one] += ranks * share;
      sums[16 * x + two] += ranks * (1 - share);
      const split = bottom - top < 4 ? top : Math.round(top + (bottom - top) * (1 - share));
      for (let y = top, p = top * width + x; y < bottom; y++, p += width) pixels[p] = colours[y < split ? two : one];
    }
  }

  // ---- calls and waits

  paintExact(run) {
    const { t0, t1, r0, r1 } = this.state, perPixel = (t1 - t0) / this.width;
    const states = new Uint8Array(this.width);
    for (let rank = Math.max(0, Math.floor(r0)); rank < Math.min(run.ranks, Math.ceil(r1)); rank++) {
      const all = run.rank(rank), { call, wait } = all;
      states.fill(STATES.OUTSIDE);
      const begin = Math.min(call.begin.length ? call.begin[0] : Infinity, wait.begin.length ? wait.begin[0] : Infinity);
      const end = Math.max(call.end.length ? call.end[call.end.length - 1] : 0, wait.end.length ? wait.end[wait.end.length - 1] : 0);
      const fill = (from, to, state) => {
        const a = Math.max(0, Math.floor((from - t0) / perPixel)), b = Math.min(this.width, Math.max(Math.floor((to - t0) / perPixel), a + 1));
        if (to >= t0 && from <= t1) states.fill(state, a, b);
      };
      fill(begin, end, STATES.COMPUTE);
      for (let i = above(call.end, t0); i < call.fn.length && call.begin[i] < t1; i++) fill(call.begin[i], call.end[i], run.state(call.fn[i]));
      for (let i = above(wait.end, t0); i < wait.cause.length && wait.begin[i] < t1; i++) fill(wait.begin[i], wait.end[i], wait.cause[i]);
      this.paintStates(rank, states);
    }
  }

  paintStates(rank, states) {
    const top = Math.max(0, Math.round(this.y(rank)));
    let bottom = Math.min(this.height, Math.max(Math.round(this.y(rank + 1)), top + 1));
    if (bottom - top >= 6 * this.scale) bottom -= 1;
    for (let x = 0; x < this.width; x++) {
      const colour = this.colours[states[x]];
      this.sums[16 * x + states[x]]++;
      for (let y = top, p = top * this.width + x; y < bottom; y++, p += this.width) this.pixels[p] = colour;
    }
  }

  drawNames(context, run) {
    const height = this.rankPixels(), { t0, t1, r0, r1 } = this.state;
    if (height < 13 * this.scale) return;
    context.font = 11 * this.scale + "px system-ui, sans-serif";
    context.textBaseline = "middle";
    for (let rank = Math.max(0, Math.floor(r0)); rank < Math.min(run.ranks, Math.ceil(r1)); rank++) {
      const { call, wait } = run.rank(rank);
      let drawn = 0;
      for (let i = above(call.end, t0); i < call.fn.length && call.begin[i] < t1 && drawn < 300; i++) {
        const from = Math.max(this.left, this.x(call.begin[i])), to = Math.min(this.x(call.end[i]), this.left + this.width);
        const name = run.name(call.fn[i]).replace(/^MPI_/, "");
        const wide = context.measureText(name).width + 8 * this.scale;
        if (to - from < wide) continue;
        const k = above(wait.end, call.begin[i]), waits = k < wait.cause.length && wait.begin[k] < call.end[i];
        context.fillStyle = waits && wait.cause[k] !== 6 && wait.cause[k] !== 8 ? "#000" : "#fff";
        context.fillText(name, from + 4 * this.scale, this.y(rank) + height / 2);
        drawn++;
      }
    }
  }

  // ---- around it

  drawGutter(context, run, colour) {
    const { r0, r1 } = this.state, s = this.scale, height = this.rankPixels();
    context.textBaseline = "middle";
    context.font = 11 * s + "px system-ui, sans-serif";
    let host = null, hosts = 0;
    for (const [number, name, , first, count] of run.workers) {
      if (name !== host) { host = name; hosts++; }
      if (first >= r1 || first + count <= r0) continue;
      const top = Math.max(0, this.y(first)), bottom = Math.min(this.height, this.y(first + count));
      context.fillStyle = hosts % 2 ? colour("--soft") : colour("--line");
      context.fillRect(0, top, 5 * s, bottom - top);
      context.fillStyle = number % 2 ? colour("--line") : colour("--row");
      context.fillRect(6 * s, top, 5 * s, bottom - top - 1);
    }
    const step = Math.max(1, 2 ** Math.ceil(Math.log2(14 * s / height)));
    context.textAlign = "right";
    for (let rank = Math.ceil(Math.max(0, r0) / step) * step; rank < Math.min(run.ranks, r1); rank += step) {
      const chosen = this.state.rank === rank, worst = run.culprits[0] && run.culprits[0][0] === rank && run.culprits[0][1] > 0.2 * run.blamed;
      context.fillStyle = chosen ? colour("--mark") : colour("--fore");
      const label = "rank " + showCount(rank) + (worst ? " *" : "");
      context.fillText(label, this.left - 6 * s, this.y(rank) + (step === 1 ? height / 2 : 6 * s));
    }
    context.textAlign = "left";
  }

  drawAxis(context, colour) {
    const { t0, t1 } = this.state, s = this.scale, least = (t1 - t0) / this.width * 90 * s;
    let step = 10 ** Math.ceil(Math.log10(least));
    for (const part of [5, 2.5, 2]) if (step / part >= least) { step /= part; break; }
    context.fillStyle = colour("--soft");
    context.strokeStyle = colour("--line");
    context.font = 11 * s + "px system-ui, sans-serif";
    context.textBaseline = "top";
    context.lineWidth = 1;
    for (let t = Math.ceil(t0 / step) * step; t < t1; t += step) {
      const x = Math.round(this.x(t)) + 0.5;
      context.beginPath();
      context.moveTo(x, this.height);
      context.lineTo(x, this.height + 5 * s);
      context.stroke();
      context.fillText(t === 0 ? "0" : axisLabel(t, step), x + 3 * s, this.height + 5 * s);
    }
  }

  drawArea(colour) {
    const context = this.area.getContext("2d"), h = this.area.height, visible = Math.max(1, Math.min(this.state.run.ranks, this.state.r1) - Math.max(0, this.state.r0));
    const order = [11, 12, 13, 14, 7, 8, 9, 10, 6, 5, 4, 3, 2, 1, 0];
    context.fillStyle = colour("--back");
    context.fillRect(0, 0, this.area.width, h);
    for (let x = 0; x < this.width; x++) {
      let y = h;
      for (const state of order) {
        const high = this.sums[16 * x + state] / visible * h;
        if (high <= 0) continue;
        context.fillStyle = this.names[state];
        context.fillRect(this.left + x, y - high, 1, high + 0.5);
        y -= high;
      }
    }
    context.fillStyle = colour("--soft");
    context.font = 11 * this.scale + "px system-ui, sans-serif";
    context.textBaseline = "top";
    context.fillText("ranks by state", 4 * this.scale, 4 * this.scale);
    context.fillText(showCount(Math.round(visible)) + " in view", 4 * this.scale, 18 * this.scale);
  }

  // ---- on it

  line(context, x0, y0, x1, y1, head) {
    context.beginPath();
    context.moveTo(x0, y0);
    context.lineTo(x1, y1);
    if (head) {
      const angle = Math.atan2(y1 - y0, x1 - x0), size = 6 * this.scale;
      for (const turn of [-0.45, 0.45]) {
        context.moveTo(x1, y1);
        context.lineTo(x1 - size * Math.cos(angle + turn), y1 - size * Math.sin(angle + turn));
      }
    }
    context.stroke();
  }

  drawPath(context, run, colour) {
    const steps = run.path.steps, { t0, t1 } = this.state;
    for (const [wide, style] of [[4, colour("--back")], [2, colour("--fore")]]) {
      context.lineWidth = wide * this.scale;
      context.strokeStyle = style;
      context.beginPath();
      let last = null;
      for (let i = 0; i < steps.length; i += 3) {
        if (steps[i + 2] < t0 || steps[i + 1] > t1) { last = null; continue; }
        const y = this.y(steps[i] + 0.5), x = this.x(steps[i + 1]);
        if (last === null) context.moveTo(x, y); else context.lineTo(x, y);
        context.lineTo(this.x(steps[i + 2]), y);
        last = y;
      }
      context.stroke();
    }
  }

  // Messages of what is selected: of a call, of a rank in view, or of a cell of the matrix.
  arrows(run) {
    const { rank, call, pair, t0, t1 } = this.state, found = [];
    if (rank === null && !pair) return found;
    const m = run.links(), all = call === null || rank === null ? null : run.rank(rank).call;
    const from = all ? all.begin[call] : t0, to = all ? all.end[call] : t1;
    const look = (list, times) => {
      for (const i of list) {
        if (found.length >= ARROWS_MOST) break;
        if (pair && (m.from[i] >> pair[2] !== pair[0] || m.to[i] >> pair[2] !== pair[1])) continue;
        if (times[i] >= from && times[i] <= to) found.push(i);
      }
    };
    if (pair) {
      for (let r = pair[1] * 2 ** pair[2]; r < Math.min(run.ranks, (pair[1] + 1) * 2 ** pair[2]); r++) look(m.in(r), m.matched);
      return found;
    }
    look(m.in(rank), m.matched);
    look(m.out(rank), m.sent);
    return [...new Set(found)];
  }

  drawArrows(context, run, colour) {
    const found = this.arrows(run), m = found.length ? run.links() : null;
    for (const [wide, style] of [[3, colour("--back")], [1.3, colour("--fore")]]) {
      context.lineWidth = wide * this.scale;
      context.strokeStyle = style;
      for (const i of found) {
        const sent = isNaN(m.sent[i]) ? m.matched[i] : m.sent[i], matched = isNaN(m.matched[i]) ? this.state.t1 : m.matched[i];
        context.setLineDash(isNaN(m.matched[i]) ? [4, 4] : []);
        this.line(context, this.x(sent), this.y(m.from[i] + 0.5), this.x(matched), this.y(m.to[i] + 0.5), true);
      }
    }
    context.setLineDash([]);
    this.arrowCount = found.length;
  }

  drawSelection(context, run, colour) {
    const { rank, call } = this.state;
    if (rank === null) return;
    context.strokeStyle = colour("--mark");
    context.lineWidth = 2 * this.scale;
    const top = this.y(rank), high = Math.max(3, this.rankPixels());
    const all = call === null ? null : run.rank(rank).call;
    if (all) context.strokeRect(this.x(all.begin[call]), top, Math.max(2, this.x(all.end[call]) - this.x(all.begin[call])), high);
    else context.strokeRect(this.left - 2, top, this.width + 4, high);
  }

  drawMeasure(context, colour) {
    if (!this.measured) return;
    const [a, b] = this.measured.map(t => this.x(t)), s = this.scale;
    context.strokeStyle = colour("--mark");
    context.fillStyle = colour("--mark");
    context.lineWidth = 1.5 * s;
    for (const x of [a, b]) this.line(context, x, 0, x, this.height);
    this.line(context, a, 14 * s, b, 14 * s);
    context.font = "bold " + 12 * s + "px system-ui, sans-serif";
    const text = showTime(Math.abs(this.measured[1] - this.measured[0])), wide = context.measureText(text).width;
    const x = Math.max(this.left, (a + b - wide) / 2);
    context.fillStyle = colour("--back");
    context.fillRect(x - 3 * s, 18 * s, wide + 6 * s, 16 * s);
    context.fillStyle = colour("--mark");
    context.textBaseline = "top";
    context.fillText(text, x, 20 * s);
  }

  // ---- what is where

  // The call and the wait of a rank at a time; null: not known exactly.
  at(run, rank, time) {
    const all = this.isExact ? run.rank(rank) : null;
    if (!all) return null;
    const slack = (this.state.t1 - this.state.t0) / this.width;
    const pick = (list) => {
      const i = above(list.end, time - slack);
      return i < list.begin.length && list.begin[i] <= time + slack ? i : null;
    };
    return { call: pick(all.call), wait: pick(all.wait), all };
  }

  cell(run, rank, time) {
    const level = run.level(this.rankPixels(), 2 * this.scale), slices = 2 ** level.log;
    const i = Math.min(slices - 1, Math.floor(time / run.length * slices)), at = level.at + 2 * ((rank >> level.shift) * slices + i);
    const states = run.bytes[at], share = run.bytes[at + 1] / 255;
    return { one: states & 15, two: states >> 4, share, from: rank >> level.shift << level.shift, count: 2 ** level.shift };
  }
}

function axisLabel(t, step) {
  const [by, unit] = t >= 1e9 ? [1e9, " s"] : t >= 1e6 ? [1e6, " ms"] : t >= 1e3 ? [1e3, " us"] : [1, " ns"];
  const digits = Math.max(0, Math.min(9, -Math.floor(Math.log10(step / by) + 1e-9)));
  return (t / by).toFixed(digits) + unit;
}
