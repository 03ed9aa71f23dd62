// SPDX-License-Identifier: Apache-2.0
// Puts the page together: joins the data once, keeps what the reader has chosen, and redraws.

function makeModel(data) {
  const key = (row) => JSON.stringify([row.operator, row.shape, row.phase]);
  const index = new Map(data.workloads.map((workload, at) => [key(workload), at]));
  const workloadOf = (verdict) => index.get(key(verdict));
  const weights = new Map();
  const phasesOfShape = new Map();
  for (const workload of data.workloads) {
    const shape = JSON.stringify([workload.operator, workload.shape]);
    const {value} = workload.weight;
    if (value > 0) phasesOfShape.set(shape, (phasesOfShape.get(shape) || 0) + 1);
    weights.set(workload.operator, (weights.get(workload.operator) || 0) + value);
  }
  for (const verdict of data.verdicts) {
    if (!weights.has(verdict.operator)) weights.set(verdict.operator, 0);
  }
  const operators = [...weights.keys()].sort((a, b) =>
    weights.get(b) - weights.get(a) || a.localeCompare(b));
  const places = new Map(data.candidates.map((c, at) => [c.candidate, at % SYMBOLS.length]));
  const symbolIndex = (candidate) => places.get(candidate) || 0;
  const verdictOf = (point) => (point.verdict === null ? null : data.verdicts[point.verdict]);
  return {
    ...data, workloadOf, verdictOf, operators, phasesOfShape, symbolIndex,
    points: data.points.map((point, at) => ({...point, at})),
    judged: new Set(data.verdicts.map(workloadOf)),
    hasCandidates: data.candidates.some((c) => c.role === "candidate"),
    heaviest: Math.max(0, ...data.workloads.map((w) => w.weight.value)),
    colour: (operator) => variable(`--c${Math.max(0, operators.indexOf(operator)) % COLOURS}`),
    symbol: (point) => {
      const verdict = verdictOf(point);
      if (verdict === null) return "circle-open";
      const open = verdict.role === "baseline" ? "-open" : "";
      return SYMBOLS[symbolIndex(verdict.candidate)][0] + open;
    },
  };
}

// What the reader has chosen. `hidden` holds "o:operator", "c:candidate" and "p:phase".
function makeView(model) {
  const has = (name) => model.points.some((p) => p[`against_${name}`]);
  const published = model.scores.length > 0 && !model.scores.some((r) => r.score === "roofmark");
  const view = {
    hidden: new Set(), against: has("datasheet") || !has("measured") ? "datasheet" : "measured",
    score: published ? "published" : "roofmark", phase: "all",
  };
  view.showsWorkload = (row) => !view.hidden.has(`o:${row.operator}`) &&
    !view.hidden.has(`p:${row.phase}`);
  view.showsVerdict = (verdict) => view.showsWorkload(verdict) &&
    !view.hidden.has(`c:${verdict.candidate}`);
  view.shows = (point) => {
    const verdict = model.verdictOf(point);
    return verdict ? view.showsVerdict(verdict)
      : view.showsWorkload(model.workloads[point.workload]);
  };
  return view;
}

const STATES = {
  ready: ["Ready", "--ok"], partly_ready: ["Partly ready", "--warn"],
  gates_passed: ["Gates passed", "--accent"], partly_passed: ["Partly passed", "--warn"],
  not_ready: ["Not ready", "--bad"], nothing: ["Not judged", "--ink2"],
};

function drawHead(model) {
  const about = model.provenance;
  byId("title").textContent = model.title;
  const facts = [["device", about.device && about.device.name], ["suite", about.suite],
    ["date", about.date]].filter(([, value]) => value);
  byId("where").replaceChildren(...facts.map(([name, value]) =>
    element("div", {}, element("dt", {}, name), element("dd", {}, value))));
  const {state, sentence, detail} = model.headline;
  byId("headline").dataset.state = state;
  byId("state").textContent = STATES[state][0];
  byId("state").style.color = `var(${STATES[state][1]})`;
  byId("sentence").textContent = sentence;
  byId("detail").textContent = detail;
}

// The four figures of the candidate that leads.
function drawFigures(model) {
  const candidates = model.candidates.filter((c) => c.role === "candidate");
  const lead = [...candidates, ...model.candidates].find((c) => c.total);
  if (!lead) return;
  const {total} = lead;
  const fleet = total.fleet_time;
  const figure = (value, label, range) => element("div", {class: "figure"},
    element("div", {class: "value"}, value), element("div", {class: "label"}, label),
    element("div", {class: "range"}, range));
  byId("figures").replaceChildren(
    element("div", {class: "of"}, candidates.length > 1 ? "Best score: " : null,
      element("span", {class: "name"}, lead.candidate)),
    figure(percent(total.s), `score S, ${total.score}`, span(total.low, total.high)),
    figure(total.adoption === null ? "–" : percent(total.adoption, 0), "adoption",
      "of device time"),
    figure(`${lead.passed}/${lead.judged}`, "workloads passed",
      `${lead.judged - lead.passed} failed`),
    figure(fleet ? factor(fleet.median) : "–", "fleet time", fleet
      ? `${fleet.low.toFixed(2)} to ${fleet.high.toFixed(2)}` : "deployed time unknown"));
}

// Chips that show which colour or symbol is what, and hide or show it.
function chipGroup(what, chips, view, changed) {
  const box = element("div", {class: "group"}, element("span", {class: "what"}, what));
  for (const {key, label, mark} of chips) {
    const button = element("button", {
      type: "button", class: "chip", "aria-pressed": String(!view.hidden.has(key)),
      title: `${label}: a click hides or shows it, Shift and a click shows it alone`,
    }, mark, element("span", {}, label));
    button.addEventListener("click", (event) => {
      if (event.shiftKey) {
        for (const other of chips) view.hidden.add(other.key);
        view.hidden.delete(key);
      } else if (!view.hidden.delete(key)) {
        view.hidden.add(key);
      }
      changed({});
    });
    box.append(button);
  }
  return box;
}

function drawFilters(model, view, changed) {
  const place = byId("filters");
  place.replaceChildren(chipGroup("operator", model.operators.map((name) => ({
    key: `o:${name}`, label: name, mark: glyph(0, model.colour(name), false),
  })), view, changed));
  if (model.candidates.length) {
    place.append(chipGroup("candidate", model.candidates.map((c) => ({
      key: `c:${c.candidate}`, label: c.candidate,
      mark: glyph(model.symbolIndex(c.candidate), variable("--ink2"), c.role === "baseline"),
    })), view, changed));
  }
  const phases = ["prefill", "decode", "mixed", "unknown"].filter((phase) =>
    model.workloads.some((w) => w.phase === phase));
  if (phases.length > 1) {
    place.append(chipGroup("phase", phases.map((name) => ({
      key: `p:${name}`, label: name, mark: null,
    })), view, changed));
  }
  const sets = ["datasheet", "measured"].filter((name) =>
    model.points.some((p) => p[`against_${name}`]));
  if (sets.length > 1) {
    place.append(element("div", {class: "group switches"},
      element("span", {class: "what"}, "S against"),
      segmented(sets.map((name) => [name, name]), view.against,
        (against) => changed({against}))));
  }
}

function keyEntry(mark, text) {
  return element("span", {}, element("i", mark), text);
}

function drawCaptions(model, view) {
  const weighted = model.workloads.filter((w) => w.weight.value > 0);
  const labels = [...new Set(weighted.map((w) => w.weight.label))].join(", ");
  const without = model.workloads.length - weighted.length;
  byId("weights-caption").textContent = `Size: share of GPU time (${labels || "no weights"}). ` +
    `Colour: attainment S of the best ${model.hasCandidates ? "candidate" : "baseline"} that ` +
    `passed.${without ? ` ${counted(without, "workload has", "workloads have")} no weight.` : ""}`;
  byId("weights-key").replaceChildren(
    element("span", {}, "S 0 %", element("i", {class: "ramp"}), "100 %"),
    keyEntry({style: "background:var(--fail)"}, "none passed"),
    keyEntry({style: "background:var(--none)"}, "not judged"));

  byId("roofline-caption").textContent = `${counted(model.points.length, "point", "points")} of ` +
    `${counted(model.workloads.length, "workload", "workloads")}. Colour: operator; symbol: ` +
    "candidate, hollow for baselines; size: weight.";
  const card = model.provenance.device || {};
  const failed = (p) => p.verdict !== null && model.verdictOf(p).outcome !== "passed";
  byId("roofline-key").replaceChildren(...[
    card.datasheet && keyEntry({class: "line"}, "datasheet roof"),
    card.measured && keyEntry({class: "line dashed"}, "measured roof"),
    model.points.some((p) => p.verdict === null) &&
      keyEntry({class: "ring"}, "nothing measured: on its roof"),
    model.points.some(failed) && keyEntry({class: "out"}, "measured, but failed a gate"),
  ].filter(Boolean));

  byId("strip-caption").replaceChildren(
    `SOL time over measured time against the ${view.against} roof, with its interval; the dotted ` +
    "line is the speed of light. ", element("span", {class: "cross"}, "×"), " failed a gate.");
}

function drawMined(model) {
  const {mined} = model;
  if (!mined) return;
  const share = mined.gpu_ns > 0 ? mined.unattributed_ns / mined.gpu_ns : 0;
  const part = (width, colour) => {
    const fill = element("i", {style: `background:var(${colour})`});
    fill.style.width = `${width * 100}%`;
    return fill;
  };
  const box = element("div", {class: "mined"},
    element("div", {class: "coverage"}, part(1 - share, "--accent"), part(share, "--none")),
    element("div", {}, `Mined from ${counted(mined.profiles, "profile", "profiles")}: ` +
      `${time(mined.gpu_ns)} of GPU time, ${percent(1 - share)} attributed, ${percent(share)} ` +
      `unattributed; ${percent(mined.loss)} of events lost.`));
  if (mined.unattributed.length) {
    box.append(element("details", {}, element("summary", {}, "Unattributed kernels"),
      element("ol", {}, ...mined.unattributed.map((kernel) =>
        element("li", {}, `${time(kernel.ns)}  ${kernel.kernel}`)))));
  }
  byId("weights-key").after(box);
}

// What the address says after '#': theme=dark, filter=words.
const asked = () => new URLSearchParams(location.hash.slice(1));

function start() {
  const root = document.documentElement;
  const preferred = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  root.dataset.theme = (asked().get("theme") || preferred) === "dark" ? "dark" : "light";
  const model = makeModel(JSON.parse(byId("data").textContent));
  const view = makeView(model);
  const changed = (change) => {
    Object.assign(view, change);
    if (change.against) drawWeights(model, view);  // the one choice that it depends on
    drawFilters(model, view, changed);
    drawCaptions(model, view);
    drawScoreSwitch(model, view, changed);
    drawScores(model, view);
    drawRoofline(model, view);
    drawStrip(model, view);
  };
  const recolour = () => {
    variables.clear();
    byId("theme").textContent = root.dataset.theme === "dark" ? "Light" : "Dark";
    drawStanding(model);
    changed({against: view.against});
  };
  byId("theme").addEventListener("click", () => {
    root.dataset.theme = root.dataset.theme === "dark" ? "light" : "dark";
    recolour();
  });
  drawHead(model);
  drawFigures(model);
  drawOwners(model);
  setUpVerdicts(model, asked().get("filter") || "");
  drawProvenance(model);
  drawMined(model);
  recolour();
  document.body.dataset.drawn = "yes";
}

addEventListener("error", (event) => {
  const box = byId("trouble");
  box.hidden = false;
  box.textContent = `This page could not be drawn completely: ${event.message}`;
  document.body.dataset.drawn = "failed";
});
start();
