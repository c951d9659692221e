// SPDX-License-Identifier: BSD-3-Clause
// The runs as millet view wrote them (src/tools/view/pack.c is the other side): reads levels of detail, calls, waits and messages. A page
// that is served asks for calls, waits and messages by pieces (pieces.c is the other side): what is not there yet is null, and drawn when it comes.
"use strict";

const STATES = { ASLEEP: 12, COMPUTE: 14, MESSAGES: 15, COLLECTIVES: 16, OTHER: 17, OUTSIDE: 18, CAUSES: 14, STUCK: 0 };
const GROUP_STATE = [STATES.OTHER, STATES.MESSAGES, STATES.COLLECTIVES, STATES.COLLECTIVES, STATES.COLLECTIVES, STATES.COLLECTIVES,
                     STATES.COLLECTIVES, STATES.OTHER];
const KEPT_RANKS = 4096; // whose calls and waits stay decoded
const TILE_RANKS = 64, TILES_UP = 7, KEPT_PIECES = 512, ASKED_MOST = 6, ARROWS_MOST = 3000;

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

// Calls and waits of a rank from the server.
function readPart(reader) {
  const begin = reader.number(), end = reader.number(), first = reader.number();
  return Object.assign(readRank(reader), { begin: end > 0 ? begin : Infinity, end, first });
}

// Messages, as columns.
function readMessages(reader, n) {
  const m = { from: new Uint32Array(n), to: new Uint32Array(n), sent: new Float64Array(n), matched: new Float64Array(n),
              bytes: new Float64Array(n), tag: new Float64Array(n), context: new Uint32Array(n) };
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
  return m;
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

function put(map, key, value) { // the oldest goes
  if (map.size >= KEPT_PIECES) map.delete(map.keys().next().value);
  map.set(key, value);
}

function first(list, otherwise) { return list.length ? list[0] : otherwise; }
function last(list, otherwise) { return list.length ? list[list.length - 1] : otherwise; }

class Run {
  constructor(about, bytes, index, served) {
    Object.assign(this, about);
    this.bytes = bytes;
    this.index = index;
    this.served = served;
    this.kept = new Map(); // ranks, or pieces from the server
    this.asked = new Set();
    this.gone = false;     // the server is
    this.arrived = () => {};
    this.length = Math.max(1, this.length);
  }

  name(fn) { return this.fns[fn] ? this.fns[fn][0] : "function " + fn; }
  state(fn) { return this.fns[fn] ? GROUP_STATE[this.fns[fn][1]] : STATES.OTHER; }
  exact() { return this.served || this.spans.at !== undefined; }

  // ---- pieces

  // Asks the server for one; `take` reads it. If too many are under way, nothing happens: who draws asks again when one has come.
  ask(key, what, query, take) {
    if (this.gone || this.asked.has(key) || this.asked.size >= ASKED_MOST) return;
    this.asked.add(key);
    fetch(`${what}?run=${this.index}&${new URLSearchParams(query)}`)
      .then(answer => answer.ok ? answer.arrayBuffer() : answer.text().then(text => { throw new Error(text); }))
      .then(buffer => take(new Reader(new Uint8Array(buffer), 0)))
      .catch(error => { this.gone = true; console.error(error); })
      .finally(() => { this.asked.delete(key); this.arrived(what); });
  }

  tile(long, number, group) {
    for (let up = 0; up < TILES_UP; up++) { // a longer one has the same
      const found = this.kept.get(`${long * 2 ** up}/${Math.floor(number / 2 ** up)}/${group}`);
      if (found && (found.ranks || up === 0)) return found;
    }
    const key = `${long}/${number}/${group}`, from = group * TILE_RANKS, count = Math.min(this.ranks - from, TILE_RANKS);
    this.ask(key, "spans", { first: from, count, begin: number * long, end: (number + 1) * long }, reader => {
      const ranks = reader.number() ? [] : null;
      for (let i = 0; ranks && i < count; i++) ranks.push(readPart(reader));
      put(this.kept, key, { ranks });
    });
    return null;
  }

  // What a rank did between two times, in parts by time: each has calls, waits, the index of the first call, and when the rank began and ended.
  // null: the page does not have it (yet).
  parts(rank, t0, t1) {
    if (!this.served) return this.exact() ? [this.rank(rank)] : null;
    const long = 2 ** Math.ceil(Math.log2(Math.max(1024, t1 - t0))), group = Math.floor(rank / TILE_RANKS), found = [];
    let whole = true;
    for (let i = Math.floor(Math.max(0, t0) / long); i * long <= Math.min(t1, this.length); i++) {
      const tile = this.tile(long, i, group), part = tile && tile.ranks ? tile.ranks[rank - group * TILE_RANKS] : null;
      if (!part) whole = false;
      else if (found[found.length - 1] !== part) found.push(part);
    }
    return whole ? found : null;
  }

  // Everything that a rank did, in a page that is not served.
  rank(rank) {
    if (this.served || !this.exact() || rank < 0 || rank >= this.ranks) return null;
    let found = this.kept.get(rank);
    if (!found) {
      const index = new DataView(this.bytes.buffer, this.bytes.byteOffset + this.spans.index);
      const { call, wait } = found = readRank(new Reader(this.bytes, this.spans.at + index.getUint32(4 * rank, true)));
      found.first = 0;
      found.begin = Math.min(first(call.begin, Infinity), first(wait.begin, Infinity));
      found.end = Math.max(last(call.end, 0), last(wait.end, 0));
      if (this.kept.size >= KEPT_RANKS) this.kept.delete(this.kept.keys().next().value);
      this.kept.set(rank, found);
    }
    return found;
  }

  // A call of a rank and its waits; null: it is not there (yet).
  call(rank, index) {
    const make = ({ call: c, wait: w, first: from }) => {
      const i = index - from, waits = [];
      if (i < 0 || i >= c.fn.length) return null;
      for (let k = above(w.end, c.begin[i]); k < w.cause.length && w.begin[k] < c.end[i]; k++)
        waits.push({ cause: w.cause[k], begin: w.begin[k], end: w.end[k], rank: w.rank[k] });
      return { fn: c.fn[i], begin: c.begin[i], end: c.end[i], peer: c.peer[i], tag: c.tag[i], context: c.context[i], bytes: c.bytes[i], waits };
    };
    if (!this.served) return this.exact() ? make(this.rank(rank)) : null;
    const key = `call/${rank}/${index}`;
    if (!this.kept.has(key)) this.ask(key, "call", { rank, call: index }, reader => { reader.number(); put(this.kept, key, make(readPart(reader))); });
    return this.kept.get(key) || null;
  }

  // Ranks that wait at a time: [rank, cause, the rank that it waits for or -1, begin, end]; null: it is not known (yet).
  waitsAt(time) {
    if (this.served) {
      const key = `waits/${Math.floor(time)}`;
      if (!this.kept.has(key)) this.ask(key, "waits", { time: Math.floor(time) }, reader => {
        const found = [];
        for (let n = reader.number(); n > 0; n--) found.push([reader.number(), reader.number(), reader.signed(), reader.number(), reader.number()]);
        put(this.kept, key, found);
      });
      return this.kept.get(key) || null;
    }
    if (!this.exact()) return null;
    const found = [];
    for (let rank = 0; rank < this.ranks; rank++) {
      const w = this.rank(rank).wait, i = above(w.end, time);
      if (i < w.cause.length && w.begin[i] <= time) found.push([rank, w.cause[i], w.rank[i], w.begin[i], w.end[i]]);
    }
    return found;
  }

  // The level whose rows are at least so many pixels high.
  level(rankPixels, least) {
    return this.levels.find(l => rankPixels * 2 ** l.shift >= least) || this.levels[this.levels.length - 1];
  }

  // Messages of what is selected: of a call, of a rank between two times, or of a cell of the matrix. Columns, and which of them.
  selected({ rank, call, pair, t0, t1 }) {
    const none = { m: null, list: [] }, one = call === null || rank === null ? null : this.call(rank, call);
    if ((rank === null && !pair) || (call !== null && rank !== null && !one)) return none;
    const from = one ? one.begin : t0, to = one ? one.end : t1;
    if (this.served) return this.selectedPiece(rank, pair, from, to);
    const m = this.links(), list = [], seen = new Set();
    const look = (indices, times) => {
      for (const i of indices) {
        if (list.length >= ARROWS_MOST) break;
        if (pair && (m.from[i] >> pair[2] !== pair[0] || m.to[i] >> pair[2] !== pair[1])) continue;
        if (times[i] >= from && times[i] <= to && !seen.has(i)) { seen.add(i); list.push(i); }
      }
    };
    if (pair) {
      for (let r = pair[1] * 2 ** pair[2]; r < Math.min(this.ranks, (pair[1] + 1) * 2 ** pair[2]); r++) look(m.in(r), m.matched);
    } else {
      look(m.in(rank), m.matched);
      look(m.out(rank), m.sent);
    }
    return { m, list };
  }

  selectedPiece(rank, pair, from, to) {
    const step = 2 ** Math.floor(Math.log2(Math.max(1, (to - from) / 4)));
    const begin = Math.max(0, Math.floor(from / step) * step), end = Math.max(0, Math.ceil(to / step) * step);
    const what = pair ? { from: pair[0], to: pair[1], shift: pair[2] } : { rank }, selection = JSON.stringify(what), key = `${selection}/${begin}/${end}`;
    if (!this.kept.has(key))
      this.ask(key, "messages", { ...what, begin, end }, reader => {
        const n = reader.number(), m = readMessages(reader, n);
        put(this.kept, key, m);
        this.lastMessages = { selection, m };
      });
    const m = this.kept.get(key) || (this.lastMessages && this.lastMessages.selection === selection ? this.lastMessages.m : null);
    if (!m) return { m: null, list: [] };
    const list = [];
    for (let i = 0; i < m.from.length; i++)
      if ((m.matched[i] >= from && m.matched[i] <= to) || (!pair && m.from[i] === rank && m.sent[i] >= from && m.sent[i] <= to)) list.push(i);
    return { m, list };
  }

  // Messages as columns, and for each rank the indices of those that it sent and received.
  links() {
    if (this.linked) return this.linked;
    const n = this.messages.count, m = readMessages(new Reader(this.bytes, this.messages.at), n);
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
  const about = JSON.parse(document.getElementById("about").textContent), inside = document.getElementById("data");
  const answer = await fetch(inside ? "data:application/octet-stream;base64," + inside.textContent : "data");
  if (!answer.ok) throw new Error(await answer.text());
  const bytes = new Uint8Array(await answer.arrayBuffer());
  if (inside) inside.remove();
  return { states: about.states, runs: about.runs.map((run, i) => new Run(run, bytes, i, about.served)) };
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
