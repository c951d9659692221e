// SPDX-License-Identifier: BSD-3-Clause
// The panels beside the timeline. Names from a trace become text, never HTML.
"use strict";

function element(tag, properties = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children.filter(child => child !== null));
  return made;
}

// rows: { cells, act }; what act does happens on a click. A cell { words } may have several lines.
function table(heads, rows) {
  const made = element("table", {}, element("thead", {}, element("tr", {}, ...heads.map(h => element("th", {}, h)))));
  const body = element("tbody");
  for (const row of rows) {
    const line = element("tr", row.act ? { className: "link", onclick: row.act } : {}, ...row.cells.map(c => c && c.words ? element("td", { className: "words" }, c.words) : element("td", {}, c)));
    if (row.title) line.title = row.title;
    body.append(line);
  }
  made.append(body);
  return made;
}

function box(state) {
  const made = element("span", { className: "box" });
  made.style.background = COLOURS[document.documentElement.dataset.theme][state];
  return made;
}

const PANELS = {
  why: { title: "Why", make: panelWhy },
  collectives: { title: "Collectives", make: panelCollectives },
  matrix: { title: "Matrix", make: panelMatrix },
  waits: { title: "Waits", make: panelWaits },
  flow: { title: "Flow", make: panelFlow, there: app => app.run.queues.length > 0 },
  stages: { title: "Stages", make: panelStages, there: app => app.run.paths.length > 0 },
  copies: { title: "GPUs", make: panelCopies, there: app => app.run.copies.count > 0 },
  calls: { title: "Calls", make: panelCalls },
  path: { title: "Path", make: panelPath },
  selection: { title: "Selection", make: panelSelection },
  compare: { title: "Compare", make: panelCompare, there: app => app.runs.length > 1 },
};

function panelWhy(app) {
  const run = app.run, out = [element("h2", {}, "What stands out")];
  for (const [rank, text] of run.findings)
    out.push(element("div", { className: "finding", onclick: () => rank >= 0 && app.showRank(rank) }, text));
  const all = run.does.reduce((a, b) => a + b, 0);
  out.push(element("h2", {}, "Why ranks waited"));
  const waits = run.causes.map((c, i) => [i, ...c]).filter(c => c[2] > 0).sort((a, b) => b[2] - a[2]);
  out.push(table(["wait state", "time", "share", "goes back to"], waits.map(([i, , ns, worst, blamed]) => ({
    cells: [element("span", {}, box(i), app.states[i][0]), showTime(ns), showShare(ns, all), blamed ? `rank ${worst}: ${showShare(blamed, ns)}` : "-"],
    title: app.states[i][1],
    act: () => app.search(app.states[i][0]),
  }))));
  if (!waits.length) out.push(element("p", { className: "soft" }, "No rank waited."));
  out.push(element("h2", {}, "Ranks that others waited for"));
  out.push(table(["rank", "others waited", "share", "it computed", "it waited"], run.culprits.filter(c => c[1] > 0).slice(0, 12).map(c => ({
    cells: ["rank " + c[0], showTime(c[1]), showShare(c[1], run.blamed), showTime(c[2 + STATES.COMPUTE] + c[2 + STATES.ASLEEP]),
            showTime(c.slice(2, 2 + STATES.CAUSES).reduce((a, b) => a + b, 0) - c[2 + STATES.ASLEEP])],
    act: () => app.showRank(c[0]),
  }))));
  out.push(element("p", { className: "soft" },
                   "Waiting goes back to the rank that did something else while others waited for it: a rank that waits itself passes it on."));
  out.push(element("h2", {}, "What all ranks did"));
  out.push(table(["state", "time", "share"], run.does.map((ns, i) => [i, ns]).filter(d => d[1] > 0).sort((a, b) => b[1] - a[1])
    .map(([i, ns]) => ({ cells: [element("span", {}, box(i), app.states[i][0]), showTime(ns), showShare(ns, all)], title: app.states[i][1] }))));
  return out;
}

function panelCollectives(app) {
  const run = app.run;
  if (!run.collectives.length) return [element("p", { className: "soft" }, "No collective of two ranks or more is in the trace.")];
  const kinds = [...run.collectives].sort((a, b) => b[4] - a[4]);
  return [
    element("h2", {}, "Collectives"),
    table(["call", "times", "waited", "skew", "most", "late"], kinds.map(([fn, context, ranks, count, waited, mean, most, late, times]) => ({
      cells: [run.name(fn), showCount(count), showTime(waited), showTime(mean), showTime(most), `rank ${late}: ${Math.round(100 * times / count)}%`],
      title: `${ranks} ranks, communicator ${context}`,
      act: () => app.showRank(late),
    }))),
    element("p", { className: "soft" }, "Skew is the mean time between the first rank that came and the last. Waited is summed over all ranks. Late is the rank that came last most often."),
    ...panelSchedules(app),
    element("h2", {}, "Those that took most"),
    table(["call", "at", "skew", "waited", "late"], run.meetings.map(([fn, , , first, last, end, late, waited]) => ({
      cells: [run.name(fn), showTime(first), showTime(last - first), showTime(waited), "rank " + late],
      act: () => app.showTimes(first, end, late),
    }))),
  ];
}

// The messages of a collective as a graph: a column for each rank, a line for each step.
function panelSchedules(app) {
  const run = app.run, all = run.schedules;
  if (!all.length) return [];
  const chosen = all.find(s => s.fn === app.schedule) || all[0], pick = element("select", {}, ...all.map(s => element("option", { selected: s === chosen }, run.name(s.fn))));
  pick.onchange = () => { app.schedule = all[pick.selectedIndex].fn; app.changed(true); };
  const long = Math.max(...chosen.messages.flatMap(m => [m[4] - m[3], chosen.why ? 0 : m[6] - m[5]]), 1), theirs = chosen.end - chosen.first;
  const of = (title, sent, matched) => element("div", {}, element("h3", {}, title), drawSchedule(chosen, long, sent, matched));
  return [
    element("h2", {}, "Its messages: ", pick),
    element("p", {}, element("button", { onclick: () => app.showTimes(chosen.first, chosen.end, chosen.ranks[0][0]) }, "show it in the timeline"),
            ` ${chosen.messages.length} messages of ${chosen.ranks.length} ranks; measured ${showTime(theirs)}` + (chosen.why ? "" : `, simulated ${showTime(chosen.simulated)}`)),
    element("div", { className: "beside" }, of("measured", 3, 4), chosen.why ? element("p", { className: "soft" }, "It cannot be simulated: " + chosen.why) : of("simulated", 5, 6)),
    element("p", { className: "legend" }, "0 ", ...[0, 0.25, 0.5, 0.75, 1].map(t => { const b = element("span", { className: "box" }); b.style.background = heat(t); return b; }), " " + showTime(long),
            " from a message's sending to its match"),
    element("p", { className: "soft" }, `This is the one that took longest after all had come. In the simulation ranks come when they came, and messages take ${showTime(run.machine[0])}` +
            ` and ${+(run.machine[1]).toPrecision(3)} ns a byte: what took longer than that is no matter of the algorithm.`),
  ];
}

function drawSchedule({ ranks, messages }, long, sent, matched) {
  const wide = 26, gap = ranks.length > 16 ? 2 : 6, steps = Math.max(...messages.map(m => m[7])) + 1, nodes = [], edges = [];
  const place = (rank, step) => step * ranks.length + rank;
  for (let step = 0; step <= steps; step++)
    for (let i = 0; i < ranks.length; i++)
      nodes.push({ x: i * (wide + gap), y: step * (NODE_HIGH + GAP_Y), label: String(ranks[i][0]), colour: heat(0), title: `rank ${ranks[i][0]}, which came at ${showTime(ranks[i][1])}` });
  for (const m of messages)
    edges.push({ from: place(m[0], m[7]), to: place(m[1], m[7] + 1), colour: heat((m[matched] - m[sent]) / long), wide: 2.5,
                 title: `rank ${ranks[m[0]][0]} to rank ${ranks[m[1]][0]}, ${showBytes(m[2])}: measured ${showTime(m[4] - m[3])}, simulated ${showTime(m[6] - m[5])}` });
  const last = new Map(); // a message that came lights up its receiver
  for (const m of messages) last.set(place(m[1], m[7] + 1), Math.max(last.get(place(m[1], m[7] + 1)) || 0, (m[matched] - m[sent]) / long));
  for (const [at, share] of last) nodes[at].colour = heat(share);
  return drawGraph(nodes, edges, wide);
}

function panelMatrix(app) {
  const run = app.run, { shift, side, cells } = run.matrix, group = 2 ** shift;
  const canvas = element("canvas", { id: "matrix", width: side, height: side });
  const context = canvas.getContext("2d"), note = element("p", { className: "soft" }), by = element("select", {}, element("option", {}, "bytes"), element("option", {}, "messages"));
  const paint = () => {
    const which = by.selectedIndex === 0 ? 3 : 2, dark = document.documentElement.dataset.theme === "dark";
    let most = 1;
    for (let i = 0; i < cells.length; i += 4) most = Math.max(most, cells[i + which]);
    context.fillStyle = dark ? "#20262d" : "#eef1f4";
    context.fillRect(0, 0, side, side);
    for (let i = 0; i < cells.length; i += 4) {
      const depth = Math.log1p(cells[i + which]) / Math.log1p(most), light = dark ? 25 + 60 * depth : 85 - 65 * depth;
      context.fillStyle = `hsl(205 80% ${light}%)`;
      context.fillRect(cells[i + 1], cells[i], 1, 1);
    }
    if (app.pair) {
      context.fillStyle = "#d55e00";
      context.fillRect(app.pair[1], app.pair[0], 1, 1);
    }
  };
  const which = event => {
    const rect = canvas.getBoundingClientRect();
    return [Math.floor((event.clientY - rect.top) / rect.height * side), Math.floor((event.clientX - rect.left) / rect.width * side)];
  };
  const name = i => group === 1 ? "rank " + i : `ranks ${i * group}-${Math.min(run.ranks, (i + 1) * group) - 1}`;
  const say = (from, to) => {
    for (let i = 0; i < cells.length; i += 4)
      if (cells[i] === from && cells[i + 1] === to) return `${name(from)} to ${name(to)}: ${showCount(cells[i + 2])} messages, ${showBytes(cells[i + 3])}`;
    return `${name(from)} to ${name(to)}: no messages`;
  };
  canvas.onmousemove = event => { note.textContent = say(...which(event)); };
  canvas.onclick = event => { app.setPair([...which(event), shift]); paint(); };
  by.onchange = paint;
  paint();
  note.textContent = app.pair ? say(app.pair[0], app.pair[1]) : "A row sends, a column receives. A click shows only these messages.";
  const clear = app.pair ? element("button", { onclick: () => app.setPair(null) }, "all messages") : null;
  return [element("h2", {}, "Who sent to whom: ", by), canvas, note, clear];
}

// Where ranks were stuck when mpirun looked; else who waits for whom at a moment.
function panelWaits(app) {
  const run = app.run, { moment } = app.view, shown = moment === null && !run.hang ? (app.view.t0 + app.view.t1) / 2 : moment;
  const buttons = element("p", {}, element("button", { onclick: () => app.setMoment((app.view.t0 + app.view.t1) / 2) }, "the middle of what is in view"), " ",
                          run.hang ? element("button", { onclick: () => app.setMoment(null) }, "the hang") : null);
  const out = [element("p", { className: "soft" }, "A click in the timeline chooses the moment; , and . move it. An arrow goes from a rank to the one that it waits for."), buttons];
  return shown === null ? [...panelHang(app), ...out] : [...out, ...panelMoment(app, shown)];
}

function panelHang(app) {
  const { why, stuck, cycle } = app.run.hang, inBarrier = new Set(stuck.filter(s => s[2]).map(s => s[0]));
  const rest = stuck.map(s => s[0]).filter(r => !inBarrier.has(r)); // a barrier waits for those that are not in it
  const waits = stuck.map(([rank, peers, star, words]) => [rank, STATES.STUCK, star ? [...peers, ...rest] : peers, words]);
  return [
    element("h2", {}, `Where ranks were stuck: ${why}`),
    cycle.length ? element("p", { className: "warn" }, `These wait for each other: ${[...cycle, cycle[0]].join(" \u2192 ")}`) : null,
    ...(waits.length ? waitGraph(app, waits) : []),
    table(["rank", "what it waits for"], stuck.slice(0, 200).map(([rank, , , words]) => ({ cells: [String(rank), { words }], act: () => app.showRank(rank) }))),
  ];
}

function panelMoment(app, time) {
  const run = app.run, found = run.waitsAt(time), head = element("h2", {}, `Who waits for whom at ${showTime(time)}`);
  if (!run.exact()) return [head, element("p", { className: "soft" }, "This page has no single waits: millet view --serve shows them.")];
  if (!found) return [head, element("p", { className: "soft" }, "It is on its way.")];
  if (!found.length) return [head, element("p", { className: "soft" }, "No rank waits.")];
  const waits = found.map(([rank, cause, peer, begin, end]) => [rank, cause, peer >= 0 ? [peer] : [], `${app.states[cause][0]}, ${showTime(end - begin)}`]);
  return [head, ...waitGraph(app, waits),
          table(["rank", "wait state", "for", "so far", "it took"], [...found].sort((a, b) => (b[4] - b[3]) - (a[4] - a[3])).slice(0, 100).map(([rank, cause, peer, begin, end]) => ({
            cells: ["rank " + rank, element("span", {}, box(cause), app.states[cause][0]), peer >= 0 ? "rank " + peer : "-", showTime(time - begin), showTime(end - begin)],
            act: () => app.showRank(rank) })))];
}

// The graph with a slider: at its left end the whole run, then slices of it.
function flowInTime(app) {
  const { queues, moves, depths, length } = app.run;
  if (!moves.length) return flowGraph(queues);
  const slices = moves[0][1].length, place = moment => moment === null ? -1 : Math.min(slices - 1, Math.floor(moment / length * slices));
  const slider = element("input", { type: "range", id: "moves", min: -1, max: slices - 1, step: 1, value: place(app.view.moment) }), word = element("span"), graph = element("div"), shares = element("div");
  slider.setAttribute("aria-label", "the moment that is shown");
  const draw = () => {
    const slice = Number(slider.value);
    word.textContent = slice < 0 ? " the whole run" : ` ${showTime(slice * length / slices)} to ${showTime((slice + 1) * length / slices)}`;
    graph.replaceChildren(slice < 0 ? flowGraph(queues) : flowGraphAt(queues, moves, depths, slice));
    shares.replaceChildren(moduleTable(moves, slice));
  };
  slider.oninput = () => {
    app.view.moment = slider.value < 0 ? null : (Number(slider.value) + 0.5) * length / slices;
    draw();
    app.changed(); // the panel stays: the slider is being moved
  };
  draw();
  return element("div", {}, element("p", {}, slider, word), graph, shares);
}

// What the instances of each module did, in a slice or (-1) in the whole run: the one that waits least is what the others wait for.
function moduleTable(moves, slice) {
  const share = all => slice < 0 ? all.reduce((a, b) => a + b, 0) / all.length : all[slice];
  if (!moves.some(m => m[3].some(life => life > 0))) return element("div"); // the run was cut off: nobody told when it ended
  const rows = moves.map(([name, room, element_, life]) => [name, Math.max(0, share(life) - share(room) - share(element_)), share(room), share(element_)]);
  return table(["module", "runs", "waits for room", "for an element"], rows.sort((a, b) => b[1] - a[1]).map(([name, ...parts]) => ({ cells: [name, ...parts.map(p => Math.round(p) + " %")] })));
}

function panelFlow(app) {
  const queues = app.run.queues, dropped = queues.filter(q => !q[1]);
  if (!queues.length) return [element("p", { className: "soft" }, "This is no flow program.")];
  return [
    element("h2", {}, "Modules and their queues"),
    queues.some(q => q[1]) ? flowInTime(app) : null,
    element("p", { className: "soft" }, "A module is as dark as its senders waited for room in its queues: the darkest one is too slow for what feeds it. A dashed queue is one whose readers waited longer for elements." +
            (app.run.moves.length ? " The slider, a click in the timeline, and , and . choose a moment; the number at a queue is then how many elements it holds." : "")),
    table(["queue", "elements", "deepest", "blocked", "starved"], queues.filter(q => q[1]).map(q => ({
      cells: [`${q[0]} \u2192 ${q[1]}`, showCount(q[3]), showCount(q[5]), showTime(q[6]), showTime(q[7])], title: `${showCount(q[2])} lines, ${showBytes(q[4])}` }))),
    ...dropped.map(q => element("p", { className: "warn" }, `${q[0]} is not wired: ${showCount(q[3])} elements were dropped.`)),
    element("p", { className: "soft" }, "Blocked: senders waited for room. Starved: readers waited for elements. Both are summed over the whole run and all instances."),
  ];
}

// A path's last calls: { number, times: of each lane, ends }. What does not fit is left out.
function lastCalls(plays) {
  const lanes = plays.filter(p => !p[1]).map(p => p[2]), calls = [];
  for (const [, number, words] of plays) {
    const all = number ? words.split(" ").map(Number) : [];
    if (all.length === lanes.length * MOMENTS && all.length && all.every(n => n >= 0))
      calls.push({ number, times: lanes.map((_, i) => all.slice(i * MOMENTS, (i + 1) * MOMENTS)), ends: Math.max(1, ...all) });
  }
  return { lanes, calls };
}

// When the stages of each worker were, of one call after the other; a slider and a button that plays them.
function playedCalls(plays, graph) {
  const { lanes, calls } = lastCalls(plays);
  if (!calls.length) return null;
  const slider = element("input", { type: "range", className: "plays", min: 0, max: calls.length * STEPS, step: 1, value: calls.length * STEPS });
  const word = element("p"), button = element("button", { className: "play" }, "\u25b6 play"), drawn = element("div");
  let shown = null, timer = 0;
  slider.setAttribute("aria-label", "the moment of the last calls that is shown");
  const draw = () => {
    const at = Number(slider.value) / STEPS, i = Math.min(calls.length - 1, Math.floor(at)), call = calls[i], moment = (at - i) * call.ends;
    if (shown !== i) drawn.replaceChildren(drawLanes(lanes, call));
    shown = i;
    const x = LANE_LEFT + moment / call.ends * LANE_WIDE, cursor = drawn.querySelector(".cursor"), does = call.times.map(t => stageAt(t, moment));
    cursor.setAttribute("x1", x);
    cursor.setAttribute("x2", x);
    for (const node of graph ? graph.querySelectorAll("[data-stage]") : []) node.classList.toggle("lit", does.some(d => stageNames(d).includes(node.dataset.stage)));
    word.textContent = `call ${call.number} of ${calls.length === 1 ? "one" : "the last " + calls.length}: ${showTime(moment)} of ${showTime(call.ends)}`;
  };
  const stop = () => { clearInterval(timer); timer = 0; button.textContent = "\u25b6 play"; };
  const play = () => {
    if (timer) return stop();
    if (Number(slider.value) >= Number(slider.max)) slider.value = 0;
    button.textContent = "\u25a0 stop";
    timer = setInterval(() => {
      if (!slider.isConnected) return stop(); // another panel
      slider.value = Number(slider.value) + 1;
      draw();
      if (Number(slider.value) >= Number(slider.max)) stop();
    }, 30);
  };
  button.onclick = play;
  slider.oninput = () => { stop(); draw(); };
  draw();
  return element("div", { className: "played" }, element("p", {}, button, " ", slider), word, drawn);
}

function panelStages(app) {
  const paths = [];
  app.run.paths.forEach((p, i) => {
    if (p[6]) paths[paths.length - 1].stages.push(p);
    else paths.push({ name: p[0], words: p[1], stages: [], plays: app.run.plays.filter(play => play[0] === i) });
  });
  if (!paths.length) return [element("p", { className: "soft" }, "mpirun --paths measures the stages of collectives.")];
  return [element("h2", {}, "Paths of collectives, and where their time goes"), ...paths.flatMap(({ name, words, stages, plays }) => {
    const graph = stages.length ? pathGraph(stages) : null;
    return [element("h2", {}, name), element("p", { className: "soft" }, words), graph, playedCalls(plays, graph),
      table(["stage", "times", "least", "mean", "most"], stages.map(s => ({ cells: [s[0], s[2] ? showCount(s[2]) : "-", ...[3, 4, 5].map(i => s[2] ? showTime(s[i]) : "-")] })))];
  })];
}

function panelCalls(app) {
  const run = app.run, all = run.does.reduce((a, b) => a + b, 0);
  return [element("h2", {}, "Calls"), table(["function", "times", "time", "share", "bytes", "longest"],
    [...run.calls].sort((a, b) => b[2] - a[2]).map(([fn, count, ns, bytes, longest, rank]) => ({
      cells: [run.name(fn), showCount(count), showTime(ns), showShare(ns, all), bytes ? showBytes(bytes) : "-", `${showTime(longest)}, rank ${rank}`],
      act: () => app.search(run.name(fn)),
    })))];
}

function panelCopies(app) {
  const { count, ways, all } = app.run.copies, drawn = all.length / 5;
  return [
    element("h2", {}, "Copies by GPUs"),
    table(["way", "times", "bytes", "time"], ways.map(([, name, times, bytes, ns]) => ({
      cells: [name, showCount(times), showBytes(bytes), showTime(ns)] }))),
    element("p", { className: "soft" }, "The thin lines below the ranks in the timeline are these copies, from the begin to the end that MPI saw." +
            (drawn < count ? ` Of ${showCount(count)}, ${showCount(drawn)} are drawn.` : "") +
            " “Through the host”: a message in chunks. “Between processes”: one process copies for both."),
  ];
}

function panelPath(app) {
  const run = app.run, long = run.path.ranks.reduce((a, b) => a + b[1], 0);
  return [
    element("h2", {}, "The critical path"),
    element("p", {}, `What ended last depends on ${showCount(run.path.count)} steps, one after the other. Only what is on this path can make the run shorter.`),
    element("button", { onclick: () => app.togglePath() }, app.view.path ? "hide it" : "show it in the timeline"),
    table(["rank", "time on it", "share"], run.path.ranks.map(([rank, ns]) => ({
      cells: ["rank " + rank, showTime(ns), showShare(ns, long)], act: () => app.showRank(rank) }))),
  ];
}

function panelSelection(app) {
  const run = app.run, { rank, call } = app.view;
  if (rank === null) return [element("p", { className: "soft" }, "Click a call or a rank in the timeline.")];
  const worker = run.worker(rank);
  const out = [element("h2", {}, "rank " + rank + (worker ? `, worker ${worker[0]} on ${worker[1]}, process ${worker[2]}` : ""))];
  if (call !== null) {
    const c = run.call(rank, call);
    if (!c) return [...out, element("p", { className: "soft" }, "The call is on its way.")];
    const facts = [["call", run.name(c.fn)], ["from", showTime(c.begin)], ["took", showTime(c.end - c.begin)]];
    if (c.peer >= 0) facts.push(["peer or root", "rank " + c.peer + " of its communicator"]);
    if (c.tag >= 0) facts.push(["tag", c.tag]);
    if (c.bytes > 0) facts.push(["size", showBytes(c.bytes)]);
    for (const w of c.waits) facts.push([app.states[w.cause][0], showTime(w.end - w.begin) + (w.rank >= 0 ? ", rank " + w.rank : "")]);
    out.push(table(["", ""], facts.map(f => ({ cells: f.map(String) }))));
  }
  const { m, list: found } = run.selected(app.view);
  out.push(element("h2", {}, `Messages (${showCount(found.length)}${found.length >= ARROWS_MOST ? " or more" : ""}${call === null ? " in view" : ""})`));
  out.push(table(["from", "to", "sent", "on its way", "bytes", "tag"], found.slice(0, 200).map(i => ({
    cells: ["rank " + m.from[i], "rank " + m.to[i], isNaN(m.sent[i]) ? "?" : showTime(m.sent[i]),
            isNaN(m.matched[i]) ? "not received" : showTime(m.matched[i] - m.sent[i]), showBytes(m.bytes[i]), m.tag[i] > -1000 ? String(m.tag[i]) : "collective"],
    act: () => app.showRank(m.from[i] === rank ? m.to[i] : m.from[i], isNaN(m.sent[i]) ? m.matched[i] : m.sent[i]),
  }))));
  if (!run.served && run.messages.count < run.messages.all)
    out.push(element("p", { className: "soft" }, `The page has ${showCount(run.messages.count)} of ${showCount(run.messages.all)} messages: those that a rank waited for.`));
  return out;
}

function panelCompare(app) {
  if (app.runs.length < 2) return [element("p", { className: "soft" }, "millet view a.mlt b.mlt makes a page that compares two runs.")];
  const [a, b] = app.runs, ratio = (x, y) => x > 0 ? (y / x).toFixed(2) : "-";
  const line = (name, x, y) => ({ cells: [name, showTime(x), showTime(y), ratio(x, y)] });
  const sum = (run, i) => run.does[i];
  const states = app.states.map((s, i) => [s[0], i]).filter(([, i]) => i < STATES.OUTSIDE && sum(a, i) + sum(b, i) > 0).sort((x, y) => Math.abs(sum(b, y[1]) - sum(a, y[1])) - Math.abs(sum(b, x[1]) - sum(a, x[1])));
  const time = run => new Map(run.calls.map(c => [run.name(c[0]), c[2]]));
  const ta = time(a), tb = time(b), names = [...new Set([...ta.keys(), ...tb.keys()])];
  names.sort((x, y) => Math.abs((tb.get(y) || 0) - (ta.get(y) || 0)) - Math.abs((tb.get(x) || 0) - (ta.get(x) || 0)));
  return [
    element("h2", {}, "Two runs"),
    table(["", a.file, b.file, "ratio"], [line("the whole run", a.length, b.length),
      { cells: ["ranks", showCount(a.ranks), showCount(b.ranks), ratio(a.ranks, b.ranks)] },
      { cells: ["messages", showCount(a.messages.all), showCount(b.messages.all), ratio(a.messages.all, b.messages.all)] }]),
    element("h2", {}, "What ranks did, in sum: what changed most comes first"),
    table(["state", a.file, b.file, "ratio"], states.map(([name, i]) => line(element("span", {}, box(i), name), sum(a, i), sum(b, i)))),
    element("h2", {}, "Calls"),
    table(["function", a.file, b.file, "ratio"], names.slice(0, 30).map(n => line(n, ta.get(n) || 0, tb.get(n) || 0))),
  ];
}
