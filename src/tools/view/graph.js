// SPDX-License-Identifier: BSD-3-Clause
// Small graphs as SVG: who waits for whom; steps of a collective; modules of a flow. Names become text, never HTML.
"use strict";

const NODE_WIDE = 76, NODE_HIGH = 20, GAP_X = 10, GAP_Y = 34;

function svg(tag, attributes = {}, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) if (value !== undefined) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

// Black or white, whichever is easier to read on the colour.
function inkOn(colour) {
  const n = parseInt(colour.slice(1), 16);
  return 0.299 * (n >> 16) + 0.587 * (n >> 8 & 255) + 0.114 * (n & 255) > 140 ? "#000" : "#fff";
}

// From light to dark (in the dark theme from dark to light), in steps of lightness that everybody can tell apart.
function heat(share) {
  const dark = document.documentElement.dataset.theme === "dark", t = Math.min(1, Math.max(0, share));
  const from = dark ? [58, 66, 76] : [222, 226, 231], to = dark ? [255, 190, 60] : [150, 50, 0];
  return "#" + from.map((c, i) => Math.round(c + (to[i] - c) * t).toString(16).padStart(2, "0")).join("");
}

// nodes: { x, y, label, colour, title, act, mark }, x and y of the middle; edges: { from, to, colour, title, wide, dashed, label } by index of nodes.
function drawGraph(nodes, edges, wide = NODE_WIDE) {
  const x0 = Math.min(...nodes.map(n => n.x)) - wide / 2 - 6, x1 = Math.max(...nodes.map(n => n.x)) + wide / 2 + 6;
  const y0 = Math.min(...nodes.map(n => n.y)) - NODE_HIGH, y1 = Math.max(...nodes.map(n => n.y)) + NODE_HIGH;
  const made = svg("svg", { class: "graph", viewBox: `${x0} ${y0} ${x1 - x0} ${y1 - y0}`, width: x1 - x0, height: y1 - y0 });
  for (const e of edges) made.append(drawEdge(nodes[e.from], nodes[e.to], e, wide));
  for (const n of nodes) {
    const group = svg("g", n.act ? { class: "link" } : {}, svg("title", {}, n.title || n.label),
      svg("rect", { x: n.x - wide / 2, y: n.y - NODE_HIGH / 2, width: wide, height: NODE_HIGH, rx: 4, fill: n.colour, class: n.mark ? "marked" : "node", "data-stage": n.stage }),
      svg("text", { x: n.x, y: n.y + 4, "text-anchor": "middle", fill: inkOn(n.colour) }, n.label));
    if (n.act) group.onclick = n.act;
    made.append(group);
  }
  return element("div", { className: "graphbox" }, made);
}

// A line between the borders of two nodes, with a head; to itself: a loop.
function drawEdge(a, b, e, wide) {
  const style = { fill: "none", stroke: e.colour || "currentColor", "stroke-width": e.wide || 1.5, "stroke-dasharray": e.dashed ? "4 3" : undefined };
  const group = svg("g", {}, svg("title", {}, e.title || ""));
  if (a === b) {
    group.append(svg("path", { ...style, d: `M ${a.x + wide / 2} ${a.y - 4} c 14 -14 14 22 0 8` }));
    return group;
  }
  const dx = b.x - a.x, dy = b.y - a.y, cut = 1 / Math.max(Math.abs(dx) / (wide / 2 + 2), Math.abs(dy) / (NODE_HIGH / 2 + 2), 1e-9);
  const [ax, ay, bx, by] = [a.x + dx * Math.min(cut, 0.5), a.y + dy * Math.min(cut, 0.5), b.x - dx * Math.min(cut, 0.5), b.y - dy * Math.min(cut, 0.5)];
  const angle = Math.atan2(by - ay, bx - ax), head = turn => `${bx - 7 * Math.cos(angle + turn)} ${by - 7 * Math.sin(angle + turn)}`;
  group.append(svg("path", { ...style, d: `M ${ax} ${ay} L ${bx} ${by}` }));
  if (e.label) group.append(svg("text", { x: (ax + bx) / 2, y: (ay + by) / 2 - 5, "text-anchor": "middle", class: "depth" }, e.label));
  group.append(svg("path", { ...style, "stroke-dasharray": undefined, d: `M ${head(-0.45)} L ${bx} ${by} L ${head(0.45)}` }));
  return group;
}

// ---- who waits for whom

// waits: [rank, cause, ranks that it waits for]. Ranks that nobody waits for and that wait for the same one for the same reason share a node.
function waitNodes(waits) {
  const awaited = new Set(waits.flatMap(w => w[2])), nodes = new Map(), shared = new Map();
  const add = (key, node) => { nodes.set(key, node); return node; };
  for (const [rank, cause, peers, title] of waits) {
    const key = `${cause}/${peers.join(",")}`;
    if (awaited.has(rank)) add(rank, { ranks: [rank], cause, peers, title });
    else if (shared.has(key)) shared.get(key).ranks.push(rank);
    else shared.set(key, add("s" + key, { ranks: [rank], cause, peers, title }));
  }
  for (const rank of awaited) if (!nodes.has(rank)) add(rank, { ranks: [rank], cause: null, peers: [], title: null });
  return nodes;
}

// A place for each: those that wait for nobody and those of a cycle come first, whoever waits for them hangs below.
function placeWaits(nodes) {
  const parent = key => nodes.get(key).peers.find(p => nodes.has(p)), below = new Map(), placed = new Set();
  for (const key of nodes.keys()) {
    const up = parent(key);
    if (up !== undefined) below.set(up, [...(below.get(up) || []), key]);
  }
  let right = 0;
  const put = (key, depth) => {
    placed.add(key);
    const node = nodes.get(key), first = right;
    for (const child of below.get(key) || []) if (!placed.has(child)) put(child, depth + 1);
    if (right === first) right += NODE_WIDE + GAP_X;
    node.x = (first + right - GAP_X - NODE_WIDE) / 2 + NODE_WIDE / 2;
    node.y = depth * (NODE_HIGH + GAP_Y);
  };
  for (const key of nodes.keys()) if (parent(key) === undefined) put(key, 0);
  for (const key of nodes.keys()) { // what is left leads to a cycle
    if (placed.has(key)) continue;
    const seen = new Set();
    let at = key;
    while (!seen.has(at)) { seen.add(at); at = parent(at); }
    const cycle = [at];
    for (let next = parent(at); next !== at; next = parent(next)) cycle.push(next);
    cycle.forEach(k => { placed.add(k); nodes.get(k).inCycle = true; });
    const from = right, around = Math.max(1, cycle.length);
    for (const k of cycle) for (const child of below.get(k) || []) if (!placed.has(child)) put(child, 5);
    const wide = Math.max(right - from, Math.min(around, 6) * (NODE_WIDE + GAP_X)), radius = Math.max(60, around * 16);
    right = from + Math.max(wide, 2 * radius + NODE_WIDE);
    cycle.forEach((k, i) => {
      const angle = 2 * Math.PI * i / around - Math.PI / 2;
      Object.assign(nodes.get(k), { x: (from + right) / 2 + radius * Math.cos(angle), y: 80 + Math.min(radius, 90) * Math.sin(angle) });
    });
  }
}

// ---- modules and their queues

// From left to right: a module is one column behind those that feed it. What leads back does not count.
function placeFlow(names, edges) {
  const column = new Map(names.map(n => [n, 0]));
  for (let round = 0; round < names.length; round++) {
    let moved = false;
    for (const [from, to] of edges)
      if (from !== to && column.get(to) <= column.get(from) && column.get(from) + 1 < names.length && !leadsTo(edges, to, from)) {
        column.set(to, column.get(from) + 1);
        moved = true;
      }
    if (!moved) break;
  }
  const rows = new Map(), places = new Map();
  for (const n of names) {
    const c = column.get(n), row = rows.get(c) || 0;
    rows.set(c, row + 1);
    places.set(n, { x: c * (NODE_WIDE + 54), y: row * (NODE_HIGH + GAP_Y) });
  }
  return places;
}

function leadsTo(edges, from, to) {
  const seen = new Set([from]), open = [from];
  while (open.length) {
    const at = open.pop();
    if (at === to) return true;
    for (const [a, b] of edges) if (a === at && !seen.has(b)) { seen.add(b); open.push(b); }
  }
  return false;
}

// queues: [from, to, lines, elements, bytes, deepest, blocked, starved]. An edge is as dark as its senders waited for room; dashed: its readers waited for elements longer.
function flowGraph(queues) {
  const module = name => name.split(".")[0], wired = queues.filter(q => q[1]);
  const names = [...new Set(wired.flatMap(q => [module(q[0]), module(q[1])]))];
  const places = placeFlow(names, wired.map(q => [module(q[0]), module(q[1])])), most = Math.max(...wired.map(q => q[6]), 1);
  const held = name => Math.max(0, ...wired.filter(q => module(q[1]) === name).map(q => q[6])) / most;
  const nodes = names.map(n => ({ ...places.get(n), label: n, colour: heat(held(n)), title: `${n}: its senders waited ${showTime(held(n) * most)} for room`, mark: held(n) === 1 }));
  return drawGraph(nodes, wired.map(q => ({ from: names.indexOf(module(q[0])), to: names.indexOf(module(q[1])), colour: heat(Math.max(0.12, q[6] / most)), wide: 1.5 + 3 * q[6] / most, dashed: q[7] > q[6],
    title: `${q[0]} to ${q[1]}: ${showCount(q[3])} elements, deepest ${showCount(q[5])}, senders waited ${showTime(q[6])} for room, readers ${showTime(q[7])} for elements` })));
}

// The same in a slice of the run: moves: [module, shares of each slice that its processes waited for room, for an element], of 100. Which of its
// queues a module waits at is not known: all that it writes to are as dark. depths: [queue, room, how many, elements of each slice]; a queue that is not
// there never held anything.
function flowGraphAt(queues, moves, depths, slice) {
  const module = name => name.split(".")[0], wired = queues.filter(q => q[1]);
  const names = [...new Set(wired.flatMap(q => [module(q[0]), module(q[1])]))], by = new Map(moves.map(m => [m[0], m]));
  const room = name => by.has(name) ? by.get(name)[1][slice] : 0, element = name => by.has(name) ? by.get(name)[2][slice] : 0;
  const places = placeFlow(names, wired.map(q => [module(q[0]), module(q[1])]));
  const held = name => Math.max(0, ...wired.filter(q => module(q[1]) === name).map(q => room(module(q[0]))));
  const nodes = names.map(n => ({ ...places.get(n), label: n, colour: heat(held(n) / 100), mark: held(n) > 50,
    title: by.has(n) ? `${n}: waits for room ${room(n)} % of the time, for an element ${element(n)} %` : `${n}: it never waited` }));
  return drawGraph(nodes, wired.map(q => {
    const full = room(module(q[0])), empty = element(module(q[1])), word = full > empty ? "full" : empty > 50 ? "empty" : "neither full nor empty";
    const deep = depths.find(d => d[0] === q[1]), held = deep ? deep[3][slice] : 0, share = deep && deep[1] ? held / deep[1] : 0;
    const words = depths.length ? `${showDepth(held)} elements in the mean${deep ? ` of ${showCount(deep[1])} that have room` : ""}; ` : "";
    return { from: names.indexOf(module(q[0])), to: names.indexOf(module(q[1])), colour: heat(Math.max(0.12, full / 100, share)), wide: 1.5 + 3 * Math.max(full / 100, share), dashed: empty > full,
             label: depths.length ? showDepth(held) : "",
             title: `${q[0]} to ${q[1]}: ${word}; ${words}the sender waits for room ${full} % of the time, the reader for an element ${empty} %` };
  }));
}

function showDepth(held) {
  return held >= 10 || held === 0 ? String(Math.round(held)) : held < 0.1 ? "<0.1" : held.toFixed(1);
}

// The stages of a path, one after the other, dark where the time goes.
function pathGraph(stages) {
  const most = Math.max(...stages.map(s => s[4]), 1), wide = 104;
  const nodes = stages.map((s, i) => ({ x: i % 3 * (wide + 20), y: Math.floor(i / 3) * (NODE_HIGH + GAP_Y), label: s[0], colour: heat(s[4] / most), stage: s[0],
                                        title: `${s[0]}: ${showCount(s[2])} times, ${showTime(s[3])} to ${showTime(s[5])}, ${showTime(s[4])} in the mean` }));
  return drawGraph(nodes, stages.slice(1).map((s, i) => ({ from: i, to: i + 1 })), wide);
}

// ---- the last calls of a path

// A worker's moments: its first rank comes, all are there, they have combined, the schedule is over, all have the result.
const MOMENTS = 5, STEPS = 120, LANE_LEFT = 110, LANE_WIDE = 250, LANE_HIGH = 16;
const STAGE_COLOURS = [["gather", "#8b93e8"], ["combine", "#3f9a63"], ["exchange", "#2f78c4"], ["spread", "#e08a3c"]];

// Which stage it is in: 0 gathers, 1 combines, 2 exchanges, 3 spreads; -1 before, 4 after.
function stageAt(times, moment) {
  return times.findIndex(t => moment < t) < 0 ? MOMENTS - 1 : times.findIndex(t => moment < t) - 1;
}

// How pathGraph calls it.
function stageNames(stage) {
  return [["combine: gather", "gather"], ["combine: reduce"], ["exchange"], ["spread"]][stage] || [];
}

function drawLanes(lanes, call) {
  const high = (lanes.length + 1) * LANE_HIGH + 6, scale = LANE_WIDE / call.ends;
  const made = svg("svg", { class: "graph lanes", viewBox: `0 0 ${LANE_LEFT + LANE_WIDE + 8} ${high}`, width: LANE_LEFT + LANE_WIDE + 8, height: high });
  STAGE_COLOURS.forEach(([name, colour], i) => made.append(
    svg("rect", { x: LANE_LEFT - 40 + i * 74, y: 2, width: 9, height: 9, fill: colour }), svg("text", { x: LANE_LEFT - 28 + i * 74, y: 11, fill: "currentColor" }, name)));
  lanes.forEach((name, w) => {
    const y = (w + 1) * LANE_HIGH + 4, short = name.length > 17 ? name.slice(0, 16) + "\u2026" : name;
    made.append(svg("text", { x: 0, y: y + 9, fill: "currentColor" }, svg("title", {}, name), short));
    STAGE_COLOURS.forEach(([stage, fill], i) => {
      const from = call.times[w][i], to = call.times[w][i + 1];
      if (to > from) made.append(svg("rect", { x: LANE_LEFT + from * scale, y, width: Math.max(1.5, (to - from) * scale), height: LANE_HIGH - 5, fill },
                                     svg("title", {}, `${name}: ${stage} from ${showTime(from)} to ${showTime(to)}`)));
    });
  });
  made.append(svg("line", { class: "cursor", y1: LANE_HIGH, y2: high, stroke: "currentColor" }));
  return element("div", { className: "graphbox" }, made);
}

const WAIT_NODES = 120;

function waitGraph(app, waits) {
  const all = waitNodes(waits), theme = COLOURS[document.documentElement.dataset.theme];
  const big = [...all].sort((a, b) => b[1].ranks.length - a[1].ranks.length), nodes = all.size > WAIT_NODES ? new Map(big.slice(0, WAIT_NODES)) : all;
  placeWaits(nodes);
  const keys = [...nodes.keys()], index = new Map(keys.map((k, i) => [k, i])), edges = [];
  const drawn = keys.map(key => {
    const n = nodes.get(key), many = n.ranks.length > 1;
    const names = many ? `ranks ${n.ranks.slice(0, 20).join(", ")}${n.ranks.length > 20 ? ", ..." : ""}` : "rank " + n.ranks[0];
    for (const p of n.peers) if (index.has(p)) edges.push({ from: index.get(key), to: index.get(p), title: `${names}: waits for rank ${p}`, wide: n.inCycle ? 2.5 : 1.5 });
    return { x: n.x, y: n.y, label: many ? showCount(n.ranks.length) + " ranks" : names, mark: n.inCycle || n.cause === null,
             colour: n.cause === null ? theme[STATES.COMPUTE] : theme[n.cause],
             title: `${names}: ${n.title || (n.cause === null ? "does not wait" : app.states[n.cause][0])}`, act: () => app.showRank(n.ranks[0]) };
  });
  return [drawGraph(drawn, edges), all.size > nodes.size ? element("p", { className: "soft" }, `${showCount(all.size - nodes.size)} smaller nodes are left out.`) : null];
}
