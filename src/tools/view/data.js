// SPDX-License-Identifier: BSD-3-Clause
// The runs as millet view wrote them (src/tools/view/pack.c is the other side): reads levels of detail, calls, waits and messages.
"use strict";

const STATES = { COMPUTE: 11, MESSAGES: 12, COLLECTIVES: 13, OTHER: 14, OUTSIDE: 15, CAUSES: 11 };
const GROUP_STATE = [STATES.OTHER, STATES.MESSAGES, STATES.COLLECTIVES, STATES.COLLECTIVES, STATES.COLLECTIVES, STATES.COLLECTIVES,
                     STATES.COLLECTIVES, STATES.OTHER];
const KEPT_RANKS = 4096; // whose calls and waits stay decoded

class Reader {
  constructor(bytes, at) { this.bytes = bytes; this.at = at; }

  number() {
    let low = 0, shift = 0, byte = 0;
    do {
      byte = this.bytes[this.at++];
      low |= (byte & 0x7f) << shift;
      shift += 7;
    } while (byte >= 0x80 && shift < 28);
    if (byte < 0x80) return low;
    let sum = low, scale = 2 ** shift;
    do {
      byte = this.bytes[this.at++];
      sum += (byte & 0x7f) * scale;
      scale *= 128;
    } while (byte >= 0x80);
    return sum;
  }

  signed() {
    const n = this.number();
    return n % 2 ? -(n + 1) / 2 : n / 2;
  }
}

// The first index of a sorted array whose value is above x.
function above(array, x) {
  let low = 0, high = array.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (array[middle] <= x) low = middle + 1; else high = middle;
  }
  return low;
}

// Calls and waits of a rank, as columns.
function readRank(reader) {
  const call = { fn: [], begin: [], end: [], peer: [], tag: [], context: [], bytes: [] };
  const wait = { cause: [], begin: [], end: [], rank: [] };
  let time = 0;
  for (let head; (head = reader.number()) > 0;) {
    time += reader.number();
    call.fn.push(head - 1);
    call.begin.push(time);
    call.end.push(time + reader.number());
    call.peer.push(reader.signed());
    call.tag.push(reader.signed());
    call.context.push(reader.number());
    call.bytes.push(reader.number());
  }
  time = 0;
  for (let head; (head = reader.number()) > 0;) {
    time += reader.number();
    wait.cause.push(head - 1);
    wait.begin.push(time);
    wait.end.push(time + reader.number());
    wait.rank.push(reader.signed());
  }
  return { call, wait };
}

class Run {
  constructor(about, bytes, index) {
    Object.assign(this, about);
    this.bytes = bytes;
    this.index = index;
    this.kept = new Map();
    this.length = Math.max(1, this.length);
  }

  name(fn) { return this.fns[fn] ? this.fns[fn][0] : "function " + fn; }
  state(fn) { return this.fns[fn] ? GROUP_STATE[this.fns[fn][1]] : STATES.OTHER; }
  exact() { return this.spans.at !== undefined; }

  // Everything that a rank did; null if the page does not have it.
  rank(rank) {
    if (!this.exact() || rank < 0 || rank >= this.ranks) return null;
    let found = this.kept.get(rank);
    if (!found) {
      const index = new DataView(this.bytes.buffer, this.bytes.byteOffset + this.spans.index);
      found = readRank(new Reader(this.bytes, this.spans.at + index.getUint32(4 * rank, true)));
      if (this.kept.size >= KEPT_RANKS) this.kept.delete(this.kept.keys().next().value);
      this.kept.set(rank, found);
    }
    return found;
  }

  // The level whose rows are at least so many pixels high.
  level(rankPixels, least) {
    return this.levels.find(l => rankPixels * 2 ** l.shift >= least) || this.levels[this.levels.length - 1];
  }

  // Messages as columns, and for each rank the indices of those that it sent and received.
  links() {
    if (this.linked) return this.linked;
    const n = this.messages.count, m = { from: new Uint32Array(n), to: new Uint32Array(n), sent: new Float64Array(n), matched: new Float64Array(n),
                                         bytes: new Float64Array(n), tag: new Float64Array(n), context: new Uint32Array(n) };
    const reader = new Reader(this.bytes, this.messages.at);
    let time = 0;
    for (let i = 0; i < n; i++) {
      const head = reader.number();
      m.from[i] = Math.floor(head / 4);
      m.to[i] = reader.number();
      time += reader.signed();
      const late = reader.signed();
      m.matched[i] = head & 1 ? time : NaN;
      m.sent[i] = head & 2 ? time - late : NaN;
      m.bytes[i] = reader.number();
      m.tag[i] = reader.signed();
      m.context[i] = reader.number();
    }
    m.out = this.lists(m.from, n);
    m.in = this.lists(m.to, n);
    return this.linked = m;
  }

  lists(of, n) {
    const start = new Uint32Array(this.ranks + 2), item = new Uint32Array(n);
    for (let i = 0; i < n; i++) start[Math.min(of[i], this.ranks - 1) + 2]++;
    for (let i = 2; i < start.length; i++) start[i] += start[i - 1];
    for (let i = 0; i < n; i++) item[start[Math.min(of[i], this.ranks - 1) + 1]++] = i;
    return rank => item.subarray(start[rank], start[rank + 1]);
  }

  worker(rank) { return this.workers.find(w => rank >= w[3] && rank < w[3] + w[4]); }
}

async function readRuns() {
  const about = JSON.parse(document.getElementById("about").textContent);
  const text = document.getElementById("data").textContent;
  const bytes = new Uint8Array(await (await fetch("data:application/octet-stream;base64," + text)).arrayBuffer());
  document.getElementById("data").remove();
  return { states: about.states, runs: about.runs.map((run, i) => new Run(run, bytes, i)) };
}

// ---- numbers for people

function showTime(ns) {
  const abs = Math.abs(ns);
  const [by, unit] = abs >= 1e9 ? [1e9, "s"] : abs >= 1e6 ? [1e6, "ms"] : abs >= 1e3 ? [1e3, "us"] : [1, "ns"];
  return (ns / by).toPrecision(by === 1 && abs < 100 ? Math.max(1, String(Math.round(abs)).length) : 3) .replace(/e\+?\d+$/, "") + " " + unit;
}

function showCount(n) { return n.toLocaleString("en-US"); }

function showBytes(n) {
  for (const unit of ["bytes", "KiB", "MiB", "GiB"]) {
    if (n < 1024 || unit === "GiB") return (unit === "bytes" ? n : n.toFixed(1)) + " " + unit;
    n /= 1024;
  }
}

function showShare(part, all) { return all > 0 ? (100 * part / all).toFixed(1) + "%" : "-"; }
