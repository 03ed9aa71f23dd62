// SPDX-License-Identifier: Apache-2.0
// The tables of the page: how each candidate stands, scores, owners, verdicts, provenance.

const STANDINGS = {
  ready: ["ready", "pill ok"], gates_passed: ["gates passed", "pill calm"],
  not_ready: ["not ready", "pill bad"],
};
const BASELINE_STANDINGS = {
  ready: ["passed", "pill"], gates_passed: ["passed", "pill"], not_ready: ["failed", "pill bad"],
};

// Columns: [text, class or undefined].
function headRow(...columns) {
  const row = element("tr", {});
  for (const [text, look] of columns) {
    row.append(element("th", {scope: "col", ...(look ? {class: look} : {})}, text));
  }
  return element("thead", {}, row);
}

function numberCell(...content) {
  return element("td", {class: "num"}, ...content);
}

function nameCell(model, candidate, role, lanes) {
  const baseline = role === "baseline";
  return element("td", {}, element("div", {class: "who", title: candidate},
    glyph(model.symbolIndex(candidate), variable(baseline ? "--ink3" : "--ink2"), baseline),
    element("span", {class: "name"}, candidate),
    element("span", {class: "tag"}, lanes.join(", ") + (baseline ? ", baseline" : ""))));
}

function missingCell(summary) {
  const cell = element("td", {class: "pills"});
  for (const [outcome, count] of Object.entries(summary.failures)) {
    cell.append(element("span", {class: "pill bad"}, `${words(outcome)} ${count}`));
  }
  if (summary.reasons.length) {
    const text = summary.reasons.join("; ");
    cell.append(element("div", {class: "dim", title: text}, shortened(text, 90)));
  }
  return cell;
}

function drawStanding(model) {
  if (model.candidates.length === 0) return;
  const body = element("tbody", {});
  for (const summary of model.candidates) {
    const {total} = summary;
    const baseline = summary.role === "baseline";
    const [word, look] = (baseline ? BASELINE_STANDINGS : STANDINGS)[summary.standing];
    const colour = variable(baseline ? "--ink3" : "--accent");
    body.append(element("tr", baseline ? {class: "baseline"} : {},
      element("td", {}, element("span", {class: look}, word)),
      nameCell(model, summary.candidate, summary.role, summary.lanes),
      element("td", {}, total && rangeBar(total.low, total.s, total.high, colour, 96)),
      numberCell(total ? percent(total.s) : "–"),
      numberCell(total && total.adoption !== null ? percent(total.adoption, 0) : "–"),
      numberCell(total && total.fleet_time ? factor(total.fleet_time.median) : "–"),
      numberCell(shareBar(summary.passed / summary.judged), `${summary.passed}/${summary.judged}`),
      missingCell(summary)));
  }
  byId("standing").replaceChildren(headRow([""], ["candidate"], ["score S"],
    ["", "num"], ["adoption", "num"], ["fleet time", "num"], ["passed", "num"],
    ["what failed or is missing"]), body);
}

// ----------------------------------------------------------------------------------- scores

const SCORE_CAPTIONS = {
  roofmark: "The launch floor is inside the roofline, a failed workload counts 0, and workloads " +
    "are weighted. Fleet time is against what is deployed: under 1× is a gain.",
  published: "As published: no launch floor, the median over an operator's correct shapes, " +
    "operators weighted. Not comparable with the other score.",
};

function scoreRow(model, row) {
  const baseline = row.role === "baseline";
  const gates = [row.pass_compile, row.pass_correctness, row.pass_performance].map((share) => {
    const cell = numberCell(percent(share, 0));
    if (share < 1) cell.style.color = "var(--bad)";
    else cell.classList.add("dim");
    return cell;
  });
  const fleet = row.fleet_time;
  return element("tr", baseline ? {class: "baseline"} : {},
    nameCell(model, row.candidate, row.role, [row.lane]),
    element("td", {},
      rangeBar(row.low, row.s, row.high, variable(baseline ? "--ink3" : "--accent"), 120)),
    numberCell(percent(row.s)),
    element("td", {class: "num dim"}, span(row.low, row.high)),
    numberCell(row.adoption === null ? "–" : percent(row.adoption, 0)), ...gates,
    numberCell(fleet ? factor(fleet.median) : "–", fleet &&
      element("span", {class: "tag"}, `${fleet.low.toFixed(2)} to ${fleet.high.toFixed(2)}`)));
}

function drawScores(model, view) {
  const rows = model.scores.filter((row) =>
    row.score === view.score && (row.phase || "all") === view.phase);
  const groups = new Map();
  for (const row of rows) groups.set(row.operator, [...(groups.get(row.operator) || []), row]);
  const weight = (list) => Math.max(...list.map((row) => row.weight));
  const ordered = [...groups].sort(([a, x], [b, y]) =>
    (b === "all") - (a === "all") || weight(y) - weight(x) || a.localeCompare(b));
  const body = element("tbody", {});
  for (const [operator, list] of ordered) {
    const all = operator === "all";
    list.sort((a, b) => (a.role === "baseline") - (b.role === "baseline") || b.s - a.s);
    body.append(element("tr", {class: "group"}, element("td", {colspan: 9},
      all ? "All operators" : operator,
      all ? null : element("span", {class: "tag"}, `weight ${percent(weight(list))}`))));
    for (const row of list) body.append(scoreRow(model, row));
  }
  if (rows.length === 0) {
    body.append(element("tr", {}, element("td", {colspan: 9, class: "dim"}, "No such score.")));
  }
  byId("scores").replaceChildren(headRow(["candidate"], ["score S, of 100 %"], ["", "num"],
    ["interval", "num"], ["adoption", "num"], ["compile", "num"], ["correct", "num"],
    ["perf.", "num"], ["fleet time", "num"]), body);
  byId("score-caption").textContent = SCORE_CAPTIONS[view.score];
}

// A row of buttons of which one is pressed.
function segmented(options, current, choose) {
  const box = element("span", {class: "seg", role: "group"});
  for (const [value, label] of options) {
    const button = element("button", {
      type: "button", "aria-pressed": String(value === current),
    }, label);
    button.addEventListener("click", () => choose(value));
    box.append(button);
  }
  return box;
}

function drawScoreSwitch(model, view, changed) {
  const kinds = [["roofmark", "Roofmark"], ["published", "Published"]]
    .filter(([kind]) => model.scores.some((row) => row.score === kind));
  const phases = ["all", "prefill", "decode", "mixed", "unknown"].filter((phase) =>
    model.scores.some((row) => row.score === view.score && (row.phase || "all") === phase));
  const place = byId("score-switch");
  place.replaceChildren();
  if (phases.length > 1) {
    place.append(segmented(phases.map((name) => [name, name === "all" ? "All phases" : name]),
      view.phase, (phase) => changed({phase})));
  }
  if (kinds.length > 1) {
    place.append(segmented(kinds, view.score, (score) => changed({score, phase: "all"})));
  }
}

// ----------------------------------------------------------------------------------- owners

const OWNERS = {
  own: "compiled from the candidate's source", dsl: "compiled from it by a kernel language",
  compiler: "generated by another compiler", framework: "framework", vendor: "vendor library",
  prebuilt: "binary that the candidate brought along",
  unknown: "unknown", runtime: "memory set and copy",
};

function ownerStack(row) {
  const stack = element("div", {class: "stack"});
  const parts = Object.keys(OWNERS).filter((owner) => row.shares[owner] > 0);
  for (const owner of parts) {
    const part = element("i", {"data-owner": owner});
    part.style.width = `${row.shares[owner] * 100}%`;
    part.style.background = `var(--${owner})`;
    stack.append(part);
  }
  stack.addEventListener("mousemove", (event) => tip.show(event,
    `${row.operator}, ${row.candidate}`, [
      ...parts.map((owner) => [owner, `${percent(row.shares[owner])}, ${OWNERS[owner]}`]),
      ["adoption", percent(row.adoption)], ["workloads", String(row.workloads)],
    ], null));
  stack.addEventListener("mouseleave", () => tip.hide());
  return stack;
}

function drawOwners(model) {
  const place = byId("owners");
  if (model.owners.length === 0) {
    place.replaceChildren(element("p", {class: "dim"}, "No device time was attributed."));
    return;
  }
  const used = Object.keys(OWNERS).filter((owner) =>
    model.owners.some((row) => row.shares[owner] > 0));
  byId("owners-key").replaceChildren(...used.map((owner) => element("span", {title: OWNERS[owner]},
    element("i", {style: `background:var(--${owner})`}), owner)));
  place.replaceChildren();
  let operator = null;
  const rank = (row) => model.operators.indexOf(row.operator);
  for (const row of [...model.owners].sort((a, b) => rank(a) - rank(b))) {
    if (row.operator !== operator) place.append(element("div", {class: "op"}, row.operator));
    operator = row.operator;
    place.append(
      element("div", {
        class: row.role === "baseline" ? "who baseline" : "who", title: row.candidate,
      }, row.candidate),
      ownerStack(row), element("div", {class: "num"}, percent(row.adoption, 0)));
  }
}

// --------------------------------------------------------------------------------- verdicts

// Name, key to sort by (numbers sort as numbers), and whether the column is one of numbers.
const COLUMNS = [
  ["outcome", (v) => (v.outcome === "passed" ? "~" : v.outcome)], ["gate", (v) => v.gate],
  ["operator", (v) => v.operator], ["shape", (v) => v.shape], ["phase", (v) => v.phase],
  ["candidate", (v) => v.candidate], ["lane", (v) => v.lane],
  ["time", (v) => (v.time_ns ? v.time_ns.median : Infinity), "num"],
  ["attainment", (v) => (v.attainment ? -v.attainment.median : Infinity), "num"],
  ["adoption", (v) => (v.adoption === null ? Infinity : -v.adoption), "num"],
  ["reason", (v) => v.reason],
];

function moreRow(verdict) {
  const list = element("dl", {});
  const say = (key, value) => {
    if (value) list.append(element("dt", {}, key), element("dd", {}, value));
  };
  say("reason", verdict.reason);
  say("time", verdict.time_ns && timeRange(verdict.time_ns));
  const clocks = verdict.clocks_ns;
  say("clocks", clocks && ["device", "event", "host"].map((clock) =>
    `${clock} ${timeRange(clocks[clock])}`).join(", "));
  say("attainment", verdict.attainment &&
    `${percentRange(verdict.attainment)} of the ${verdict.attainment_against} roof`);
  say("launch", verdict.launch_bound && "within 1.3 launch floors: the launch is the time");
  const against = verdict.against;
  say("against", against && (against.ratio
    ? `${against.comparison}, against ${against.baseline}: ${digits(against.ratio.median)} ` +
      `[${digits(against.ratio.low)}, ${digits(against.ratio.high)}] of its time`
    : `${against.baseline}: ${against.reason}`));
  say("mode", verdict.mode === "graph" && "replays of a CUDA graph");
  say("device time", verdict.shares && Object.entries(verdict.shares).map(([owner, share]) =>
    `${owner} ${percent(share)}`).join(", "));
  say("kernels", verdict.kernels.join("\n"));
  say("largest error", verdict.max_error > 0 && `${digits(verdict.max_error)} of the tolerance`);
  say("level", verdict.level);
  say("device", verdict.device);
  say("candidate", `${verdict.candidate}  ${verdict.candidate_hash}`);
  return element("tr", {class: "more"}, element("td", {colspan: COLUMNS.length}, list));
}

function verdictRow(verdict) {
  const passed = verdict.outcome === "passed";
  const open = element("button", {
    type: "button", class: "open", "aria-expanded": "false", "aria-label": "Details",
  }, "▸");
  const cell = (text, look = "nowrap") => element("td", {class: look, title: text}, text);
  const row = element("tr", {class: verdict.role === "baseline" ? "row baseline" : "row"},
    element("td", {class: "nowrap"}, open,
      element("span", {class: passed ? "pill ok" : "pill bad"}, words(verdict.outcome))),
    cell(verdict.gate), cell(verdict.operator), cell(verdict.shape), cell(verdict.phase),
    cell(verdict.candidate, "name"), cell(verdict.lane),
    numberCell(verdict.time_ns
      ? time(verdict.time_ns.median) + (verdict.launch_bound ? " (launch-bound)" : "") : "–"),
    numberCell(verdict.attainment ? percentRange(verdict.attainment) : "–"),
    numberCell(verdict.adoption === null ? "–" : percent(verdict.adoption, 0)),
    element("td", {class: "reason"}, element("div", {}, verdict.reason)));
  row.addEventListener("click", () => {
    if (getSelection().toString()) return;
    const next = row.nextElementSibling;
    const shown = next !== null && next.classList.contains("more");
    if (shown) next.remove();
    else row.after(moreRow(verdict));
    open.textContent = shown ? "▸" : "▾";
    open.setAttribute("aria-expanded", String(!shown));
  });
  return row;
}

function searchText(verdict) {
  const fields = [verdict.outcome, words(verdict.outcome), verdict.gate, verdict.operator,
    verdict.shape, verdict.phase, verdict.candidate, verdict.lane, verdict.role, verdict.reason];
  return fields.join(" ").toLowerCase();
}

function compareBy(key, upwards) {
  return (a, b) => {
    const [x, y] = [key(a.verdict), key(b.verdict)];
    const order = typeof x === "number" ? (x < y ? -1 : x > y ? 1 : 0)
      : String(x).localeCompare(String(y), undefined, {numeric: true});
    return upwards ? order : -order;
  };
}

function outcomeChips(rows, toggle) {
  const counts = new Map();
  for (const {verdict} of rows) {
    counts.set(verdict.outcome, (counts.get(verdict.outcome) || 0) + 1);
  }
  return [...counts].map(([outcome, count]) => {
    const chip = element("button", {type: "button", class: "chip"},
      element("b", {}, String(count)), element("span", {}, words(outcome)));
    chip.style.color = outcome === "passed" ? "var(--ok)" : "var(--bad)";
    chip.addEventListener("click", () => toggle(outcome));
    return chip;
  });
}

// Fills the table a part at a time, so that thousands of rows do not hold up the page. Rows are
// made when they are first shown. A later call supersedes an earlier one.
function fillInParts(body, items, make) {
  const PART = 200;
  const turn = (Number(body.dataset.turn) || 0) + 1;
  body.dataset.turn = turn;
  body.replaceChildren();
  const next = (from) => {
    if (Number(body.dataset.turn) !== turn) return;
    body.append(...items.slice(from, from + PART).map(make));
    if (from + PART < items.length) setTimeout(next, 0, from + PART);
  };
  next(0);
}

// The table with its filter, its outcome chips and its sorting; failed verdicts come first.
function setUpVerdicts(model, initial) {
  const rows = model.verdict_order.map((at) => ({
    verdict: model.verdicts[at], text: searchText(model.verdicts[at]), row: null,
  }));
  const rowOf = (item) => {
    item.row = item.row || verdictRow(item.verdict);
    return item.row;
  };
  const body = element("tbody", {});
  const box = byId("filter");
  let [sorted, upwards] = [null, true];
  const refresh = () => {
    const asked = box.value.toLowerCase().split(/\s+/).filter(Boolean);
    const kept = rows.filter(({text}) => asked.every((word) => text.includes(word)));
    if (sorted) kept.sort(compareBy(sorted, upwards));
    fillInParts(body, kept, rowOf);
    byId("shown").textContent = `${kept.length} of ${counted(rows.length, "verdict", "verdicts")}`;
  };
  const head = headRow(...COLUMNS.map(([name, , look]) => [name, look]));
  head.querySelectorAll("th").forEach((cell, at) => {
    cell.title = "Sort";
    cell.addEventListener("click", () => {
      const key = COLUMNS[at][1];
      [sorted, upwards] = [key, sorted === key ? !upwards : true];
      refresh();
    });
  });
  const widths = COLUMNS.map(([name]) => element("col", {class: `of-${name}`}));
  byId("verdicts").replaceChildren(element("colgroup", {}, ...widths), head, body);
  byId("outcomes").replaceChildren(...outcomeChips(rows, (outcome) => {
    box.value = box.value === outcome ? "" : outcome;
    refresh();
  }));
  box.value = initial;
  box.addEventListener("input", refresh);
  refresh();
}

// ------------------------------------------------------------------------------- provenance

function drawProvenance(model) {
  const about = model.provenance;
  const card = about.device;
  const list = element("dl", {class: "facts"});
  const say = (key, value, look) => {
    if (!value) return;
    list.append(element("div", look ? {class: look} : {},
      element("dt", {}, key), element("dd", {}, value)));
  };
  say("date", about.date);
  say("suite", about.suite);
  say("device", card && [card.name, card.arch].filter(Boolean).join(", "));
  say("driver", about.driver);
  for (const [name, version] of Object.entries(about.versions)) say(name, version);
  say("level", about.level, "wide");
  say("measured roof", card && card.measured && card.measured_note, "wide");
  const sources = card && card.datasheet ? Object.values(card.datasheet.sources) : [];
  say("datasheet roof", [...new Set(sources)].join("; "), "wide");
  byId("provenance").replaceChildren(element("h3", {}, "Provenance"), list);
  if (about.notes.length) {
    byId("provenance").append(
      element("ul", {}, ...about.notes.map((note) => element("li", {}, note))));
  }
}
