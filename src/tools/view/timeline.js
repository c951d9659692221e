// SPDX-License-Identifier: BSD-3-Clause
// Draws the timeline: a line for each rank or group of ranks, coloured by what it did; above it how many ranks did what. Time and ranks
// are drawn from cells of levels of detail; where these are wider than a pixel, from the calls and waits themselves.
"use strict";

const GUTTER = 104, AXIS = 22, EXACT_RANKS = 600;

// Any two of them are far apart for everybody, with whatever cones: test/view/run computes how far. Waiting is warm, computing is calm.
const COLOURS = {
  light: ["#942200", "#6c3a48", "#ba6900", "#f3b13f", "#ffe200", "#a1af62", "#550000", "#9687ff", "#9b00ff", "#000091", "#00d7fe",
          "#3f0163", "#69a6ae", "#9b7b68", "#b4f2b2", "#0655b7", "#001123", "#615084", "#ffffff"],
  dark: ["#ab3200", "#be6b85", "#e57a2b", "#ffb3a5", "#f3e67f", "#b4e203", "#610a00", "#7d1496", "#2800aa", "#8700ff", "#60c2d3",
          "#a6a3ff", "#4e275d", "#776ca5", "#165c43", "#0e70e2", "#b9fff8", "#9f8559", "#14181d"],
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

  // Pixels that are written every time; made again only if the size changes.
  image(context, width, height, name) {
    if (!this[name] || this[name].width !== width || this[name].height !== height) {
      this[name] = context.createImageData(width, height);
      this[name].pixels = new Uint32Array(this[name].data.buffer);
    }
    return this[name];
  }

  draw() {
    this.size();
    const run = this.state.run, context = this.canvas.getContext("2d", { alpha: false });
    const theme = document.documentElement.dataset.theme;
    this.colours = COLOURS[theme].map(packed);
    this.names = COLOURS[theme];
    const image = this.image(context, this.width, this.height, "lines");
    this.pixels = image.pixels;
    this.pixels.fill(this.colours[STATES.OUTSIDE]);
    if (!this.sums || this.sums.length !== this.width * 32) this.sums = new Float32Array(this.width * 32); else this.sums.fill(0);
    const level = run.level(this.rankPixels(), 2 * this.scale);
    const slice = run.length / 2 ** level.log / (this.state.t1 - this.state.t0) * this.width;
    this.exact = null;
    if (run.exact() && this.rankPixels() >= 2 * this.scale && (slice > 1.5 || level.shift > 0) && this.state.r1 - this.state.r0 <= EXACT_RANKS)
      this.exact = this.parts(run);
    this.isExact = this.exact !== null;
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
    this.drawCopies(context, run, colour);
    if (this.state.path) this.drawPath(context, run, colour);
    this.drawArrows(context, run, colour);
    this.drawSelection(context, run, colour);
    context.restore();
    this.drawMoment(context, colour);
    this.drawMeasure(context, colour);
    this.drawArea(colour);
  }

  // Calls and waits of all ranks in view; null: not all of them are there.
  parts(run) {
    const { t0, t1, r0, r1 } = this.state, found = new Map();
    let whole = true;
    for (let rank = Math.max(0, Math.floor(r0)); rank < Math.min(run.ranks, Math.ceil(r1)); rank++) {
      const parts = run.parts(rank, t0, t1);
      if (parts) found.set(rank, parts); else whole = false; // the others are asked for, too
    }
    return whole ? found : null;
  }

  // ---- cells

  paintCells(run, level, slice) {
    let slices = 2 ** level.log, at = level.at;
    while (slice * 2 <= 1 && slices > 1) { // two slices in a pixel: the next ones are as long as both
      at += 2 * level.rows * slices;
      slices /= 2;
      slice *= 2;
    }
    const { t0, t1, r0, r1 } = this.state, column = new Int32Array(this.width);
    for (let x = 0; x < this.width; x++) {
      const time = t0 + (x + 0.5) / this.width * (t1 - t0);
      column[x] = time < 0 || time >= run.length ? -1 : Math.min(slices - 1, Math.floor(time / run.length * slices));
    }
    const group = 2 ** level.shift, first = Math.max(0, Math.floor(r0 / group)), last = Math.min(level.rows, Math.ceil(r1 / group));
    const lower = new Uint32Array(this.width), upper = new Uint32Array(this.width), split = new Int32Array(this.width);
    for (let row = first; row < last; row++) {
      const [top, bottom] = this.rows(row * group, Math.min(run.ranks, (row + 1) * group));
      this.readRow(run, Math.min(run.ranks, (row + 1) * group) - row * group, at + 2 * row * slices, column, top, bottom, lower, upper, split);
      this.paintRow(top, bottom, lower, upper, split);
    }
  }

  // From which line of pixels to which one the ranks are drawn.
  rows(from, to) {
    const top = Math.max(0, Math.round(this.y(from)));
    const bottom = Math.min(this.height, Math.max(Math.round(this.y(to)), Math.round(this.y(from)) + 1));
    return [top, bottom - top >= 6 * this.scale ? bottom - 1 : bottom];
  }

  readRow(run, ranks, at, column, top, bottom, lower, upper, split) {
    const { width, colours, sums } = this, bytes = run.bytes, outside = colours[STATES.OUTSIDE], flat = bottom - top < 4;
    for (let x = 0; x < width; x++) {
      if (column[x] < 0) {
        lower[x] = outside;
        split[x] = top;
        continue;
      }
      const cell = bytes[at + 2 * column[x]] | bytes[at + 2 * column[x] + 1] << 8, one = cell & 31, two = cell >> 5 & 31, share = (cell >> 10) / 63;
      sums[32 * x + one] += ranks * share;
      sums[32 * x + two] += ranks * (1 - share);
      lower[x] = colours[one];
      upper[x] = colours[two];
      split[x] = flat ? top : Math.round(top + (bottom - top) * (1 - share));
    }
  }

  // Line after line, as they lie in memory.
  paintRow(top, bottom, lower, upper, split) {
    const { pixels, width } = this;
    let most = top;
    for (let x = 0; x < width; x++) if (split[x] > most) most = split[x];
    for (let y = top; y < bottom; y++) {
      const p = y * width;
      if (y >= most) pixels.set(lower, p);
      else for (let x = 0; x < width; x++) pixels[p + x] = y < split[x] ? upper[x] : lower[x];
    }
  }

  // ---- calls and waits

  paintExact(run) {
    const { t0, t1 } = this.state, perPixel = (t1 - t0) / this.width;
    const states = new Uint8Array(this.width);
    const fill = (from, to, state) => {
      const a = Math.max(0, Math.floor((from - t0) / perPixel)), b = Math.min(this.width, Math.max(Math.floor((to - t0) / perPixel), a + 1));
      if (to >= t0 && from <= t1) states.fill(state, a, b);
    };
    for (const [rank, parts] of this.exact) {
      states.fill(STATES.OUTSIDE);
      if (parts.length && parts[0].end >= parts[0].begin) fill(parts[0].begin, parts[0].end, STATES.COMPUTE);
      for (const { call } of parts)
        for (let i = above(call.end, t0); i < call.fn.length && call.begin[i] < t1; i++) fill(call.begin[i], call.end[i], run.state(call.fn[i]));
      for (const { wait } of parts)
        for (let i = above(wait.end, t0); i < wait.cause.length && wait.begin[i] < t1; i++) fill(wait.begin[i], wait.end[i], wait.cause[i]);
      this.paintStates(rank, states);
    }
  }

  paintStates(rank, states) {
    const [top, bottom] = this.rows(rank, rank + 1), line = new Uint32Array(this.width);
    for (let x = 0; x < this.width; x++) {
      line[x] = this.colours[states[x]];
      this.sums[32 * x + states[x]]++;
    }
    for (let y = top; y < bottom; y++) this.pixels.set(line, y * this.width);
  }

  drawNames(context, run) {
    const height = this.rankPixels(), { t0, t1 } = this.state;
    if (height < 13 * this.scale) return;
    context.font = 11 * this.scale + "px system-ui, sans-serif";
    context.textBaseline = "middle";
    for (const [rank, parts] of this.exact) {
      let drawn = 0, next = -1; // a call that two parts have is named once
      for (const { call, wait, first } of parts)
        for (let i = Math.max(above(call.end, t0), next - first); i < call.fn.length && call.begin[i] < t1 && drawn < 300; i++) {
          next = first + i + 1;
          const from = Math.max(this.left, this.x(call.begin[i])), to = Math.min(this.x(call.end[i]), this.left + this.width);
          if (to - from < 20 * this.scale) continue;
          const name = run.name(call.fn[i]).replace(/^MPI_/, "");
          const wide = context.measureText(name).width + 8 * this.scale;
          if (to - from < wide) continue;
          const under = t0 + (from + 6 * this.scale - this.left) / this.width * (t1 - t0), k = above(wait.end, under);
          context.fillStyle = inkOn(this.names[k < wait.cause.length && wait.begin[k] <= under ? wait.cause[k] : run.state(call.fn[i])]);
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
    const context = this.area.getContext("2d", { alpha: false }), h = this.area.height;
    const visible = Math.max(1, Math.min(this.state.run.ranks, this.state.r1) - Math.max(0, this.state.r0));
    const order = [11, 12, 13, 14, 7, 8, 9, 10, 6, 5, 4, 3, 2, 1, 0], back = colour("--back");
    const image = this.image(context, this.width, h, "stack"), { pixels } = image, { width, colours, sums } = this;
    pixels.fill(packed(back));
    for (let x = 0; x < width; x++) {
      let sum = 0, bottom = h;
      for (const state of order) {
        const part = sums[32 * x + state];
        if (part <= 0) continue;
        sum += part;
        const top = Math.max(0, Math.round(h - sum / visible * h));
        for (let y = top, p = top * width + x; y < bottom; y++, p += width) pixels[p] = colours[state];
        bottom = Math.min(bottom, top);
      }
    }
    context.fillStyle = back;
    context.fillRect(0, 0, this.area.width, h);
    context.putImageData(image, this.left, 0);
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

  // Copies by devices, below what the rank did.
  drawCopies(context, run, colour) {
    const all = run.copies.all, { t0, t1, r0, r1 } = this.state, high = Math.max(2 * this.scale, this.rankPixels() / 8);
    if (!all.length || this.rankPixels() < 6 * this.scale) return;
    context.fillStyle = colour("--fore");
    for (let i = 0; i < all.length; i += 5) {
      const rank = all[i], begin = all[i + 2], end = all[i + 3];
      if (rank < r0 - 1 || rank > r1 || end < t0 || begin > t1) continue;
      context.fillRect(this.x(begin), this.y(rank + 1) - high - 1, Math.max(this.scale, this.x(end) - this.x(begin)), high);
    }
  }

  drawArrows(context, run, colour) {
    const { m, list } = run.selected(this.state);
    for (const [wide, style] of [[3, colour("--back")], [1.3, colour("--fore")]]) {
      context.lineWidth = wide * this.scale;
      context.strokeStyle = style;
      for (const i of list) {
        const sent = isNaN(m.sent[i]) ? m.matched[i] : m.sent[i], matched = isNaN(m.matched[i]) ? this.state.t1 : m.matched[i];
        context.setLineDash(isNaN(m.matched[i]) ? [4, 4] : []);
        this.line(context, this.x(sent), this.y(m.from[i] + 0.5), this.x(matched), this.y(m.to[i] + 0.5), true);
      }
    }
    context.setLineDash([]);
    this.arrowCount = list.length;
  }

  drawSelection(context, run, colour) {
    const { rank, call } = this.state;
    if (rank === null) return;
    context.strokeStyle = colour("--mark");
    context.lineWidth = 2 * this.scale;
    const top = this.y(rank), high = Math.max(3, this.rankPixels());
    const one = call === null ? null : run.call(rank, call);
    if (one) context.strokeRect(this.x(one.begin), top, Math.max(2, this.x(one.end) - this.x(one.begin)), high);
    else context.strokeRect(this.left - 2, top, this.width + 4, high);
  }

  // The moment of which the wait-for graph or the flow is shown.
  drawMoment(context, colour) {
    const { moment } = this.state;
    if (moment === null) return;
    const x = this.x(moment), s = this.scale;
    if (x < this.left || x > this.canvas.width) return;
    context.strokeStyle = colour("--mark");
    context.lineWidth = 1.5 * s;
    context.setLineDash([5 * s, 3 * s]);
    this.line(context, x, 0, x, this.height);
    context.setLineDash([]);
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

  // The call and the wait of a rank at a time, `index` being the call's among all of the rank; null: not known exactly.
  at(rank, time) {
    const parts = this.exact ? this.exact.get(rank) : null, slack = (this.state.t1 - this.state.t0) / this.width;
    if (!parts) return null;
    const pick = list => {
      const i = above(list.end, time - slack);
      return i < list.begin.length && list.begin[i] <= time + slack ? i : null;
    };
    for (const part of parts) {
      const call = pick(part.call), wait = pick(part.wait);
      if (call !== null || wait !== null) return { call, wait, part, index: call === null ? null : part.first + call };
    }
    return { call: null, wait: null, part: parts[0] || null, index: null };
  }

  cell(run, rank, time) {
    const level = run.level(this.rankPixels(), 2 * this.scale), slices = 2 ** level.log;
    const i = Math.min(slices - 1, Math.floor(time / run.length * slices)), at = level.at + 2 * ((rank >> level.shift) * slices + i);
    const cell = run.bytes[at] | run.bytes[at + 1] << 8;
    return { one: cell & 31, two: cell >> 5 & 31, share: (cell >> 10) / 63, from: rank >> level.shift << level.shift, count: 2 ** level.shift };
  }
}

function axisLabel(t, step) {
  const [by, unit] = t >= 1e9 ? [1e9, " s"] : t >= 1e6 ? [1e6, " ms"] : t >= 1e3 ? [1e3, " us"] : [1, " ns"];
  const digits = Math.max(0, Math.min(9, -Math.floor(Math.log10(step / by) + 1e-9)));
  return (t / by).toFixed(digits) + unit;
}
