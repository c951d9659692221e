# SPDX-License-Identifier: BSD-3-Clause
"""papers.json as one page of HTML: a table of all claims, then each experiment with its pictures."""

import html

import plot as plots
from lab import CONFIRMED, EXPERIMENTS, NOT_JUDGED, PAPERS, REFUTED, Plot

STYLE = """
:root { --ink: #1d2430; --soft: #5b6675; --line: #d9dee6; --paper: #fff; --field: #f5f7fa; --good: #1a7f4b; --bad: #b3372f; --open: #8a6d1a;
  --c0: #1f6fb4; --c1: #d1662a; --c2: #2e8b57; --c3: #8e4fb0; --c4: #b08a1f; --c5: #138a9e; --c6: #b5447d; --c7: #6b7280; }
@media (prefers-color-scheme: dark) { :root { --ink: #e3e8ef; --soft: #9aa6b5; --line: #333c49; --paper: #161b22; --field: #1e2530; --good: #4cc38a;
  --bad: #f0776c; --open: #e0b84a; --c0: #5aa9ea; --c1: #f08f52; --c2: #57bd84; --c3: #bd85dd; --c4: #d8b44a; --c5: #47bcd0; --c6: #e07bab; --c7: #9aa3b0; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 1180px; padding: 1.2rem; font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); overflow-wrap: break-word; }
h1 { margin: 0; font-size: 1.7rem; } h2 { margin: 2.6rem 0 0.3rem; padding-top: 0.8rem; border-top: 2px solid var(--line); font-size: 1.3rem; }
h3 { margin: 0 0 0.4rem; font-size: 1.05rem; } a { color: inherit; } .soft { color: var(--soft); } p { margin: 0.35rem 0; }
.wide { overflow-x: auto; } table { border-collapse: collapse; font-size: 0.92rem; } th, td { padding: 0.3rem 0.7rem; border-bottom: 1px solid var(--line);
  text-align: left; vertical-align: top; } th { color: var(--soft); font-weight: 600; } td.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
#all { width: 100%; } .verdict { display: inline-block; border: 1px solid; border-radius: 999px; padding: 0 0.6rem; font-size: 0.82rem; white-space: nowrap; }
.good { color: var(--good); } .bad { color: var(--bad); } .open { color: var(--open); }
.counts { display: flex; flex-wrap: wrap; gap: 1.6rem; margin: 1rem 0; } .counts b { display: block; font-size: 1.8rem; line-height: 1.1; }
article { margin: 1.1rem 0; padding: 1rem 1.2rem; border: 1px solid var(--line); border-radius: 8px; }
dl { display: grid; grid-template-columns: 8.5rem 1fr; gap: 0.25rem 0.9rem; margin: 0.6rem 0; } dt { color: var(--soft); } dd { margin: 0; min-width: 0; }
.pictures { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 420px), 1fr)); gap: 1rem; } figure { margin: 0.5rem 0; min-width: 0; max-width: 680px; }
figcaption { font-size: 0.9rem; color: var(--soft); } svg { width: 100%; height: auto; background: var(--field); border-radius: 6px; }
svg text { font: 12px system-ui, sans-serif; fill: var(--soft); } svg .y { text-anchor: end; } svg .x, svg .axis { text-anchor: middle; }
svg .grid { stroke: var(--line); } svg polyline { fill: none; } svg polyline, svg line[class^=c] { stroke-width: 2; } svg .spread { stroke-width: 1.2; stroke: var(--ink); }
svg .paper { stroke-dasharray: 5 4; } svg rect.paper { opacity: 0.45; } pre { margin: 0.4rem 0; padding: 0.6rem; background: var(--field); border-radius: 6px; overflow-x: auto; font-size: 0.82rem; }
summary { cursor: pointer; color: var(--soft); }
@media (max-width: 640px) { body { padding: 0.7rem; } article { padding: 0.7rem; } dl { grid-template-columns: 1fr; } dt { margin-top: 0.4rem; }
  #all td:nth-child(2), #all th:nth-child(2) { display: none; } th, td { padding: 0.3rem 0.4rem; } }
""" + "".join(f"svg .c{i} {{ stroke: var(--c{i}); }} svg circle.c{i}, svg rect.c{i} {{ fill: var(--c{i}); }}\n" for i in range(plots.COLOURS))

LOOKS = {CONFIRMED: "good", REFUTED: "bad", NOT_JUDGED: "open"}


def text(words):
    return html.escape(str(words))


def verdict(word):
    return f'<span class="verdict {LOOKS[word]}">{word}</span>'


def table(data):
    def cell(value):
        number = str(value)[:1].isdigit() or str(value)[:1] == "-"
        return f'<td class="number">{text(value)}</td>' if number else f"<td>{text(value)}</td>"
    head = "".join(f"<th>{text(word)}</th>" for word in data["head"])
    body = "".join("<tr>" + "".join(cell(value) for value in row) + "</tr>" for row in data["rows"])
    title = f'<p class="soft">{text(data["title"])}</p>' if data["title"] else ""
    return f'{title}<div class="wide"><table><tr>{head}</tr>{body}</table></div>'


def picture(data):
    return f'<figure>{plots.draw(Plot(**data))}<figcaption>{text(data["title"])}</figcaption></figure>'


def article(entry):
    facts = [("The paper", entry["claim"]), ("Its numbers", entry["numbers"]), ("Here", entry["ran"]), ("Simulated", entry["simulated"]),
             ("Verdict", entry["why"])]
    facts = "".join(f"<dt>{name}</dt><dd>{text(words)}</dd>" for name, words in facts if words)
    commands = "".join(text(line) + "\n" for line in entry["commands"])
    note = f'{entry["seconds"]:.0f} s' + (f', others took {entry["busy"]:.0%} of a core' if entry["busy"] >= 0.02 else "") + (
        ", sizes and rounds of --quick" if entry["quick"] else "")
    return (f'<article id="{entry["id"]}"><h3>{text(entry["id"])} · {text(entry["where"])} {verdict(entry["verdict"])}</h3><dl>{facts}</dl>'
            f'<div class="pictures">{"".join(picture(one) for one in entry["plots"])}</div>{"".join(table(one) for one in entry["tables"])}'
            f'<details><summary>{len(entry["commands"])} commands, {note}</summary><pre>{commands}</pre></details></article>')


def page(state):
    entries = [state["experiments"][id] for id in EXPERIMENTS if id in state["experiments"]]
    counts = "".join(f'<div class="{look}"><b>{sum(entry["verdict"] == word for entry in entries)}</b>{word}</div>' for word, look in LOOKS.items())
    summary = "".join(f'<tr><td><a href="#{entry["id"]}">{text(entry["id"])}</a></td><td>{text(PAPERS[entry["paper"]][0])}, {text(entry["where"])}</td>'
                      f'<td>{text(entry["claim"])}</td><td>{verdict(entry["verdict"])}</td></tr>' for entry in entries)
    parts = []
    for paper, (title, authors) in PAPERS.items():
        articles = [article(entry) for entry in entries if entry["paper"] == paper]
        if articles:
            parts.append(f'<h2 id="paper-{paper}">{text(title)}</h2><p class="soft">{text(authors)}</p>{"".join(articles)}')
    left = [id for id in EXPERIMENTS if id not in state["experiments"]]
    missing = f'<p class="soft">Not run yet: {text(", ".join(left))}.</p>' if left else ""
    machine = "".join(f"<dt>{text(name)}</dt><dd>{text(value)}</dd>" for name, value in state["machine"].items())
    return (f'<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
            f"<title>Five papers, repeated</title><style>{STYLE}</style>"
            f"<h1>Five papers, repeated</h1><p class=\"soft\">Every experiment and measurable claim of the five texts that Millet stands on, as this machine saw it.</p>"
            f'<div class="counts">{counts}</div><dl>{machine}</dl>{missing}'
            f'<div class="wide"><table id="all"><tr><th>id</th><th>where</th><th>claim</th><th>verdict</th></tr>{summary}</table></div>{"".join(parts)}</html>\n')
