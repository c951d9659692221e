// SPDX-License-Identifier: BSD-3-Clause
// The page: what is in view, selected and searched for; mouse, keys, and the link that keeps them.
"use strict";

const KEYS = [["wheel, w, s", "zoom time"], ["drag, a, d", "move"], ["Ctrl wheel, e, q", "zoom ranks"], ["up, down", "move over ranks"],
              ["0", "everything"], ["Shift drag", "measure"], ["m", "zoom to what was measured"], ["click", "select a call"], ["double click", "zoom to a call"],
              ["left, right", "previous and next call of the rank"], ["/", "search"], ["n, p", "next, previous match"], ["x", "critical path"],
              ["c", "the other run"], ["click, comma, point", "in Waits and Flow: choose the moment, move it"], ["t", "dark or light"], ["Escape", "select nothing"], ["?", "this list"]];
const SHORTEST = 50; // ns in view

class App {
  constructor({ states, runs }) {
    this.states = states;
    this.runs = runs;
    this.view = { run: runs[0], t0: 0, t1: runs[0].length, r0: 0, r1: runs[0].ranks, rank: null, call: null, pair: null, path: false, moment: null };
    this.tab = "why";
    this.timeline = new Timeline(byId("time"), byId("area"), this.view);
    this.wanted = false;
  }

  get run() { return this.view.run; }
  get pair() { return this.view.pair; }

  // ---- what is in view

  clamp() {
    const v = this.view, run = this.run;
    let long = Math.min(Math.max(v.t1 - v.t0, SHORTEST), run.length), many = Math.min(Math.max(v.r1 - v.r0, 1), run.ranks);
    v.t0 = Math.min(Math.max(0, v.t0), run.length - long);
    v.t1 = v.t0 + long;
    v.r0 = Math.min(Math.max(0, v.r0), run.ranks - many);
    v.r1 = v.r0 + many;
  }

  changed(panel = false) {
    this.clamp();
    if (panel) this.showPanel();
    this.ask();
    clearTimeout(this.linkTimer);
    this.linkTimer = setTimeout(() => this.writeLink(), 150);
  }

  ask() {
    if (this.wanted) return;
    this.wanted = true;
    requestAnimationFrame(() => { this.wanted = false; this.timeline.draw(); });
  }

  zoomTime(factor, at) {
    const v = this.view;
    at = at === undefined ? (v.t0 + v.t1) / 2 : at;
    const long = Math.min(this.run.length, Math.max(SHORTEST, (v.t1 - v.t0) * factor)), share = (at - v.t0) / (v.t1 - v.t0);
    v.t0 = at - long * share;
    v.t1 = v.t0 + long;
    this.changed();
  }

  zoomRanks(factor, at) {
    const v = this.view;
    at = at === undefined ? (v.r0 + v.r1) / 2 : at;
    const many = Math.min(this.run.ranks, Math.max(1, (v.r1 - v.r0) * factor)), share = (at - v.r0) / (v.r1 - v.r0);
    v.r0 = at - many * share;
    v.r1 = v.r0 + many;
    this.changed();
  }

  move(times, ranks) {
    const v = this.view, dt = (v.t1 - v.t0) * times, dr = (v.r1 - v.r0) * ranks;
    Object.assign(v, { t0: v.t0 + dt, t1: v.t1 + dt, r0: v.r0 + dr, r1: v.r1 + dr });
    this.changed();
  }

  fit() {
    Object.assign(this.view, { t0: 0, t1: this.run.length, r0: 0, r1: this.run.ranks });
    this.changed();
  }

  bring(rank, time) { // into view
    const v = this.view, many = v.r1 - v.r0, long = v.t1 - v.t0;
    if (rank < v.r0 || rank >= v.r1) { v.r0 = rank + 0.5 - many / 2; v.r1 = v.r0 + many; }
    if (time !== undefined && (time < v.t0 || time > v.t1)) { v.t0 = time - long / 2; v.t1 = v.t0 + long; }
  }

  // ---- what is selected

  select(rank, call = null) {
    Object.assign(this.view, { rank, call, pair: null });
    this.changed(true);
  }

  showRank(rank, time) {
    this.bring(rank, time);
    this.select(rank);
  }

  showTimes(begin, end, rank) {
    const spare = (end - begin) * 0.2 + SHORTEST;
    Object.assign(this.view, { t0: begin - spare, t1: end + spare });
    this.bring(rank);
    this.select(rank);
  }

  selectCall(rank, call, time) { // time: of the call, if it is known
    this.bring(rank, time);
    this.tab = "selection";
    this.select(rank, call);
  }

  // A piece has come from the server.
  arrived(what) {
    if (this.run.gone) this.say("millet view --serve has ended: what is not here yet cannot be shown");
    const step = what === "call" ? this.stepping : null;
    this.stepping = null;
    if (what === "spans") this.ask(); else this.changed(what !== "find");
    if (step) step();
  }

  setPair(pair) {
    Object.assign(this.view, { pair, rank: null, call: null });
    this.changed(true);
  }

  setMoment(moment) {
    this.view.moment = moment === null ? null : Math.min(Math.max(0, moment), this.run.length - 1);
    this.changed(true);
  }

  moveMoment(by) {
    const v = this.view, from = v.moment === null ? (v.t0 + v.t1) / 2 : v.moment;
    if (this.tab !== "flow") this.tab = "waits";
    this.setMoment(from + by * (v.t1 - v.t0) / 200);
  }

  togglePath() {
    this.view.path = !this.view.path;
    byId("path").setAttribute("aria-pressed", this.view.path);
    this.changed(true);
  }

  setRun(index) {
    this.view.run = this.runs[index];
    Object.assign(this.view, { rank: null, call: null, pair: null, moment: null });
    byId("run").selectedIndex = index;
    this.describe();
    this.changed(true);
  }

  // ---- search

  // What the words mean: a rank, or a test of a call or of a wait.
  meaning(words) {
    const text = words.trim().toLowerCase(), run = this.run;
    const rank = text.match(/^(?:rank\s*)?(\d+)$/), long = text.match(/^>\s*([\d.]+)\s*(ns|us|ms|s)$/), tag = text.match(/^tag\s*(\d+)$/);
    if (rank) return { rank: Number(rank[1]) };
    if (long) return { longer: Math.floor(Number(long[1]) * { ns: 1, us: 1e3, ms: 1e6, s: 1e9 }[long[2]]) };
    if (tag) return { tag: Number(tag[1]) };
    const causes = new Set(this.states.map((s, i) => s[0].toLowerCase().includes(text) ? i : -1).filter(i => i >= 0 && i < STATES.CAUSES));
    const fns = new Set(Object.keys(run.fns).filter(fn => run.name(fn).toLowerCase().includes(text)).map(Number));
    return { fns, causes, none: !fns.size && !causes.size };
  }

  search(words) {
    byId("search").value = words;
    const meaning = this.meaning(words);
    this.matches = [];
    this.match = -1;
    if (!words.trim()) return this.say("");
    if (meaning.rank !== undefined) {
      if (meaning.rank >= this.run.ranks) return this.say("no such rank");
      this.say("");
      return this.showRank(meaning.rank);
    }
    if (meaning.none) return this.say("nothing has that name");
    if (!this.run.exact()) return this.say("too many calls for this page: millet view --serve has them");
    if (this.run.served) return this.findServed(words, meaning);
    this.findAll(meaning);
    this.next(1);
  }

  findAll({ fns, causes, tag, longer }) {
    const most = 200000;
    const wanted = tag !== undefined ? (c, i) => c.tag[i] === tag : longer !== undefined ? (c, i) => c.end[i] - c.begin[i] > longer : (c, i) => fns.has(c.fn[i]);
    for (let rank = 0; rank < this.run.ranks && this.matches.length < most; rank++) {
      const { call, wait } = this.run.rank(rank);
      for (let i = 0; i < call.fn.length; i++) if (wanted(call, i)) this.matches.push([call.begin[i], rank, i]);
      for (let i = 0; causes && i < wait.cause.length; i++) {
        if (!causes.has(wait.cause[i])) continue;
        const inside = above(call.end, wait.begin[i]);
        this.matches.push([wait.begin[i], rank, inside < call.fn.length && call.begin[inside] <= wait.begin[i] ? inside : null, wait.end[i] - wait.begin[i]]);
      }
    }
    this.sortMatches();
  }

  findServed(words, { fns, causes, tag, longer }) {
    this.say("searching");
    const query = tag !== undefined ? { tag } : longer !== undefined ? { longer } : { fns: [...fns], causes: [...causes] };
    this.run.ask("find/" + words, "find", query, reader => {
      if (byId("search").value !== words) return; // another search has begun
      for (let n = reader.number(); n > 0; n--) {
        const begin = reader.number(), rank = reader.number(), call = reader.number(), cause = reader.number(), length = reader.number();
        this.matches.push([begin, rank, call ? call - 1 : null, ...(cause ? [length] : [])]);
      }
      this.sortMatches();
      this.next(1);
    });
  }

  // Of waits the longest comes first, of calls the earliest.
  sortMatches() { this.matches.sort((a, b) => a.length > 3 && b.length > 3 ? b[3] - a[3] : a[0] - b[0]); }

  next(by) {
    const n = this.matches ? this.matches.length : 0;
    if (!n) return this.say(byId("search").value ? "none" : "");
    this.match = (this.match + by + n) % n;
    const [time, rank, call] = this.matches[this.match];
    this.say(`${this.match + 1} of ${showCount(n)}`);
    if (call === null) this.showRank(rank, time); else this.selectCall(rank, call, time);
  }

  say(text) { byId("found").textContent = text; }

  // ---- around the timeline

  describe() {
    const r = this.run, parts = [r.command, `${showCount(r.ranks)} ranks`, showTime(r.length), `${showCount(r.events)} events`];
    if (!r.ended) parts.push("cut: mpirun did not write its end");
    else if (r.code) parts.push("exit code " + r.code);
    if (r.damaged) parts.push(`${showCount(r.damaged)} chunks are damaged`);
    byId("what").textContent = parts.join(" \u00b7 ");
    byId("what").title = r.command;
    document.title = r.command.split(" ")[0].replace(/.*\//, "") + " \u2013 Millet view";
  }

  showLegend() {
    byId("legend").replaceChildren(...this.states.map((s, i) => i < STATES.OUTSIDE && this.runs.some(r => r.does[i] > 0)
      ? element("span", { title: s[1] }, box(i), s[0]) : null).filter(e => e));
  }

  showPanel() {
    const tabs = Object.entries(PANELS).filter(([, { there }]) => !there || there(this));
    byId("tabs").replaceChildren(...tabs.map(([key, { title }]) => {
      const button = element("button", { onclick: () => { this.tab = key; this.changed(true); } }, title);
      button.setAttribute("aria-selected", key === this.tab);
      return button;
    }));
    byId("panel").replaceChildren(...PANELS[this.tab].make(this).filter(e => e));
  }

  setTheme(theme) {
    document.documentElement.dataset.theme = theme;
    this.theme = theme;
    this.showLegend();
    this.changed(true);
  }

  // ---- the link

  writeLink() {
    const v = this.view, parts = { run: v.run.index, t: `${Math.round(v.t0)}-${Math.round(v.t1)}`, r: `${+v.r0.toFixed(2)}-${+v.r1.toFixed(2)}`, tab: this.tab };
    if (v.rank !== null) parts.rank = v.rank;
    if (v.call !== null) parts.call = v.call;
    if (v.pair) parts.pair = v.pair.join("-");
    if (v.path) parts.path = 1;
    if (v.moment !== null) parts.moment = Math.round(v.moment);
    if (this.theme) parts.theme = this.theme;
    history.replaceState(null, "", "#" + new URLSearchParams(parts));
  }

  readLink() {
    const link = new URLSearchParams(location.hash.slice(1)), v = this.view, two = key => (link.get(key) || "").split("-").map(Number);
    const run = Number(link.get("run"));
    if (run > 0 && run < this.runs.length) v.run = this.runs[run];
    Object.assign(v, { t0: 0, t1: v.run.length, r0: 0, r1: v.run.ranks });
    for (const [key, from, to] of [["t", "t0", "t1"], ["r", "r0", "r1"]]) {
      const [a, b] = two(key);
      if (link.has(key) && a >= 0 && b > a) { v[from] = a; v[to] = b; }
    }
    if (PANELS[link.get("tab")]) this.tab = link.get("tab");
    const rank = Number(link.get("rank")), call = Number(link.get("call"));
    if (link.has("rank") && rank >= 0 && rank < v.run.ranks) v.rank = rank;
    if (v.rank !== null && link.has("call") && v.run.exact() && (v.run.served || v.run.call(rank, call))) v.call = call;
    if (link.has("moment")) v.moment = Number(link.get("moment"));
    if (link.has("pair") && two("pair").length === 3) v.pair = two("pair");
    if (link.has("path")) v.path = true;
    byId("path").setAttribute("aria-pressed", v.path);
    byId("run").selectedIndex = v.run.index;
    const theme = link.get("theme");
    if (theme === "dark" || theme === "light") document.documentElement.dataset.theme = this.theme = theme;
  }

  // ---- mouse and keys

  tip(event) {
    const t = this.timeline, rect = t.canvas.getBoundingClientRect(), x = event.clientX - rect.left, y = event.clientY - rect.top, tip = byId("tip");
    const rank = t.rankAt(y), time = t.timeAt(x);
    tip.hidden = x < GUTTER || rank < 0 || rank >= this.run.ranks || y > rect.height - AXIS;
    if (tip.hidden) return;
    tip.textContent = this.describeAt(rank, time);
    tip.style.left = Math.min(x + 14, rect.width - 300) + "px";
    tip.style.top = Math.min(y + 90, rect.height - 20) + "px";
  }

  describeAt(rank, time) {
    const t = this.timeline, at = t.at(rank, time), lines = [`rank ${rank} at ${showTime(time)}`];
    if (!at) {
      const c = t.cell(this.run, rank, time);
      if (c.count > 1) lines[0] = `ranks ${c.from} to ${Math.min(this.run.ranks, c.from + c.count) - 1} at ${showTime(time)}`;
      lines.push(`${this.states[c.one][0]}: ${showShare(c.share, 1)}`);
      if (c.two !== c.one) lines.push(`then ${this.states[c.two][0]}`);
      return lines.join("\n");
    }
    const { call: c, wait: w } = at.part || {};
    if (at.call !== null) {
      const i = at.call;
      lines.push(`${this.run.name(c.fn[i])}: ${showTime(c.end[i] - c.begin[i])}` + (c.peer[i] >= 0 ? `, peer ${c.peer[i]}` : "") +
                 (c.tag[i] >= 0 ? `, tag ${c.tag[i]}` : "") + (c.bytes[i] > 0 ? `, ${showBytes(c.bytes[i])}` : ""));
    } else lines.push("computing");
    if (at.wait !== null) {
      const i = at.wait;
      lines.push(`${this.states[w.cause[i]][0]}: ${showTime(w.end[i] - w.begin[i])}` + (w.rank[i] >= 0 ? `, rank ${w.rank[i]}` : ""));
    }
    return lines.join("\n");
  }

  click(x, y, zoom) {
    const t = this.timeline, rank = t.rankAt(y), time = t.timeAt(x);
    if (rank < 0 || rank >= this.run.ranks) return;
    if ((this.tab === "waits" || this.tab === "flow" && this.run.moves.length) && x >= GUTTER && !zoom) return this.setMoment(time);
    const at = x < GUTTER ? null : t.at(rank, time);
    if (at && at.call !== null) {
      this.selectCall(rank, at.index, Math.max(at.part.call.begin[at.call], this.view.t0));
      if (zoom) this.showCall(at.part.call, at.call);
    } else {
      this.select(rank);
      if (zoom) this.zoomTime(0.25, time);
    }
  }

  showCall(c, i) {
    const spare = (c.end[i] - c.begin[i]) / 2 + SHORTEST;
    Object.assign(this.view, { t0: c.begin[i] - spare, t1: c.end[i] + spare });
    this.changed();
  }

  listen() {
    const canvas = this.timeline.canvas;
    let drag = null;
    const place = event => { const rect = canvas.getBoundingClientRect(); return [event.clientX - rect.left, event.clientY - rect.top]; };
    canvas.onwheel = event => {
      event.preventDefault();
      const [x, y] = place(event), t = this.timeline, factor = 1.0015 ** event.deltaY;
      if (event.ctrlKey || event.altKey || x < GUTTER) this.zoomRanks(factor, this.view.r0 + y * t.scale / t.height * (this.view.r1 - this.view.r0));
      else if (event.shiftKey) this.move(0, Math.sign(event.deltaY || event.deltaX) * 0.1);
      else this.zoomTime(factor, t.timeAt(x));
    };
    canvas.onpointerdown = event => {
      canvas.setPointerCapture(event.pointerId);
      canvas.focus();
      const [x, y] = place(event);
      drag = { x, y, at: { ...this.view }, moved: false, ruler: event.shiftKey };
      if (drag.ruler) this.timeline.measured = [this.timeline.timeAt(x), this.timeline.timeAt(x)];
    };
    canvas.onpointermove = event => {
      if (!drag) return this.tip(event);
      const [x, y] = place(event), t = this.timeline, v = this.view;
      drag.moved = drag.moved || Math.hypot(x - drag.x, y - drag.y) > 3;
      if (!drag.moved) return;
      byId("tip").hidden = true;
      if (drag.ruler) { t.measured[1] = t.timeAt(x); this.ask(); return; }
      const dt = (x - drag.x) * t.scale / t.width * (drag.at.t1 - drag.at.t0), dr = (y - drag.y) * t.scale / t.height * (drag.at.r1 - drag.at.r0);
      Object.assign(v, { t0: drag.at.t0 - dt, t1: drag.at.t1 - dt, r0: drag.at.r0 - dr, r1: drag.at.r1 - dr });
      this.changed();
    };
    canvas.onpointerup = event => {
      if (drag && !drag.moved) {
        this.timeline.measured = null;
        this.click(...place(event), false);
      }
      drag = null;
    };
    canvas.onpointerleave = () => { byId("tip").hidden = true; };
    canvas.ondblclick = event => this.click(...place(event), true);
    byId("search").onkeydown = event => {
      event.stopPropagation();
      if (event.key === "Enter") this.search(event.target.value);
      if (event.key === "Escape") canvas.focus();
    };
    byId("run").onchange = event => this.setRun(event.target.selectedIndex);
    byId("path").onclick = () => this.togglePath();
    byId("fit").onclick = () => this.fit();
    byId("theme").onclick = () => this.key("t");
    byId("help").onclick = () => this.key("?");
    window.onresize = () => this.ask();
    window.onhashchange = () => { this.readLink(); this.describe(); this.changed(true); };
    document.onkeydown = event => {
      if (event.ctrlKey || event.metaKey || event.altKey || byId("keys").open) return;
      if (this.key(event.key)) event.preventDefault();
    };
  }

  step(by) { // to the rank's next call
    const { rank, call, t0 } = this.view;
    if (rank === null || !this.run.exact()) return;
    if (call === null) { // the first one in view
      const parts = this.run.parts(rank, t0, this.view.t1);
      if (!parts || !parts.length) return;
      const from = parts[0].first + above(parts[0].call.end, t0) - (by > 0 ? 0 : 1);
      if (from >= 0) this.selectCall(rank, from, undefined);
    } else if (call + by >= 0) {
      const next = this.run.call(rank, call + by), now = this.run.call(rank, call);
      if (next) this.selectCall(rank, call + by, next.begin);
      else if (this.run.served && now) this.stepping = () => this.step(by); // when it has come
    }
  }

  key(key) {
    const acts = {
      w: () => this.zoomTime(0.7), s: () => this.zoomTime(1 / 0.7), a: () => this.move(-0.15, 0), d: () => this.move(0.15, 0),
      e: () => this.zoomRanks(0.7), q: () => this.zoomRanks(1 / 0.7), ArrowUp: () => this.move(0, -0.15), ArrowDown: () => this.move(0, 0.15),
      ArrowLeft: () => this.step(-1), ArrowRight: () => this.step(1), 0: () => this.fit(), x: () => this.togglePath(),
      "/": () => byId("search").select(), n: () => this.next(1), p: () => this.next(-1),
      t: () => this.setTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark"),
      c: () => this.runs.length > 1 && this.setRun((this.run.index + 1) % this.runs.length),
      ",": () => this.moveMoment(-1), ".": () => this.moveMoment(1),
      m: () => { const m = this.timeline.measured; if (m) { Object.assign(this.view, { t0: Math.min(...m), t1: Math.max(...m) }); this.changed(); } },
      Escape: () => { this.timeline.measured = null; Object.assign(this.view, { rank: null, call: null, pair: null, moment: null }); this.changed(true); },
      "?": () => byId("keys").showModal(),
    };
    if (!acts[key]) return false;
    acts[key]();
    return true;
  }

  start() {
    document.documentElement.dataset.theme = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
    byId("run").replaceChildren(...this.runs.map(run => element("option", {}, run.file)));
    byId("run").hidden = this.runs.length < 2;
    byId("keys").replaceChildren(element("h2", {}, "Keys"), table(["", ""], KEYS.map(([keys, what]) => ({
      cells: [element("span", {}, ...keys.split(", ").flatMap(k => [element("kbd", {}, k), " "])), what] }))),
      element("form", { method: "dialog" }, element("button", {}, "close")));
    for (const run of this.runs) run.arrived = what => this.arrived(what);
    this.readLink();
    this.describe();
    this.showLegend();
    this.listen();
    this.changed(true);
  }
}

function byId(id) { return document.getElementById(id); }

readRuns().then(read => {
  window.millet = new App(read);
  window.millet.start();
}).catch(error => { byId("what").textContent = "This page cannot be shown: " + error.message; throw error; });
