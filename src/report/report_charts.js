// SPDX-License-Identifier: Apache-2.0
// The three charts. Each is a function of the model (the data, joined once) and the view (what the
// reader has filtered), and is drawn anew when the view or the theme changes.

const CONFIG = {displayModeBar: false, responsive: true, displaylogo: false};

function baseLayout(margin) {
  return {
    margin, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", showlegend: false,
    font: {family: getComputedStyle(document.body).fontFamily, size: 11, color: variable("--ink2")},
    hovermode: "closest", dragmode: "zoom", hoverdistance: 18,
  };
}

function axis(title, more) {
  return {
    title: {text: title, standoff: 8, font: {size: 11}}, gridcolor: variable("--grid"),
    zeroline: false, linecolor: variable("--line"), tickcolor: variable("--line"), ...more,
  };
}

// Draws, and answers the pointer with `describe(point of Plotly)` -> [title, rows, warning].
function draw(id, traces, layout, describe) {
  const place = byId(id);
  const first = !place.classList.contains("js-plotly-plot");
  if (first) {
    place.classList.remove("empty");
    place.replaceChildren();
  }
  Plotly.react(place, traces, layout, CONFIG);
  place.describe = describe;
  if (!first) return;
  place.on("plotly_hover", (hit) => {
    const said = place.describe(hit.points[0]);
    if (said) tip.show(hit.event, ...said);
  });
  place.on("plotly_unhover", () => tip.hide());
  place.on("plotly_afterplot", () => hideShrunkText(place));
}

// Plotly shrinks a treemap's text until it fits; what is too small to read only disturbs.
function hideShrunkText(place) {
  for (const text of place.querySelectorAll(".slicetext text")) {
    const scale = /scale\(([\d.]+)/.exec(text.getAttribute("transform") || "");
    text.style.display = scale && Number(scale[1]) < 0.75 ? "none" : "";
  }
}

function drawNothing(id, text) {
  const place = byId(id);
  if (place.classList.contains("js-plotly-plot")) Plotly.purge(place);
  place.classList.remove("js-plotly-plot");
  place.classList.add("empty");
  place.replaceChildren(element("p", {}, text));
}

function workloadTitle(workload) {
  return `${workload.operator} / ${workload.shape} · ${workload.phase}`;
}

function workloadRows(workload) {
  const {weight} = workload;
  const roof = (name) => workload[name] &&
    `${time(workload[name].sol_ns)}, bound by ${words(workload[name].bound_by)}`;
  return [
    ["axes", shortened(workload.detail, 160)],
    ["weight", weight.value > 0
      ? `${percent(weight.value, 2)} (${span(weight.low, weight.high, 2)}), ${weight.label}` : null],
    ["SOL, datasheet", roof("datasheet")],
    ["SOL, measured", roof("measured")],
    ["deployed", workload.deployed_ns ? time(workload.deployed_ns) : null],
  ];
}

// What the pointer says about one point of the roofline or the strip.
function describePoint(model, point) {
  const workload = model.workloads[point.workload];
  const verdict = model.verdictOf(point);
  const against = (name) => point[`against_${name}`] && percentRange(point[`against_${name}`]);
  const role = verdict && verdict.role === "baseline" ? ", baseline" : "";
  const measured = verdict ? [
    ["candidate", `${verdict.candidate} (${verdict.lane}${role})`],
    ["outcome", words(verdict.outcome)],
    ["S, datasheet", against("datasheet")],
    ["S, measured", against("measured")],
    ["time", timeRange(verdict.time_ns)],
    ["adoption", verdict.adoption === null ? "not measured" : percent(verdict.adoption)],
  ] : [["measured", "nothing: shown on its roof"]];
  const rates = [
    ["rate", `${scaled(point.ops_per_s, rateUnit(workload.engine))} on ${words(workload.engine)}`],
    ["bandwidth", scaled(point.bytes_per_s, "B/s")],
    ["intensity", `${digits(point.intensity)} FLOP/B`],
  ];
  return [workloadTitle(workload), [...measured, ...rates, ...workloadRows(workload)],
    verdict && verdict.outcome !== "passed" ? shortened(verdict.reason, 300) : null];
}

// ---------------------------------------------------------------------------------- weights

// The best passed attainment of each workload: of candidates, or of baselines if there are none.
function bestByWorkload(model, view) {
  const best = new Map();
  for (const point of model.points) {
    const verdict = model.verdictOf(point);
    const attained = point[`against_${view.against}`];
    if (!verdict || !attained || verdict.outcome !== "passed") continue;
    if (model.hasCandidates && verdict.role === "baseline") continue;
    const known = best.get(point.workload);
    if (!known || known.attained.median < attained.median) {
      best.set(point.workload, {attained, verdict});
    }
  }
  return best;
}

function leafCell(model, workload, index, best, alone) {
  const found = best.get(index);
  const failed = !found && model.judged.has(index);
  const state = found ? `S ${percent(found.attained.median, 0)}`
    : failed ? "none passed" : "not judged";
  return {
    id: JSON.stringify([workload.operator, workload.shape, workload.phase]),
    label: alone ? `${shortened(workload.shape, 28)} · ${workload.phase}` : workload.phase,
    value: workload.weight.value, text: `${percent(workload.weight.value)} · ${state}`,
    colour: found ? ramp(found.attained.median) : variable(failed ? "--fail" : "--none"),
    index, found, failed, ink: found ? inkOn(found.attained.median) : variable(
      failed ? "--on-fail" : "--ink"),
  };
}

// Operator > shape > phase; a shape with one phase is one cell.
function treemapCells(model, view) {
  const best = bestByWorkload(model, view);
  const cells = [];
  const inner = new Map();
  const enclosing = (id, parent, name) => {
    if (!inner.has(id)) {
      inner.set(id, {id, parent, name, value: 0, colour: variable("--soft"), text: ""});
      cells.push(inner.get(id));
    }
    return inner.get(id);
  };
  model.workloads.forEach((workload, index) => {
    if (!(workload.weight.value > 0)) return;
    const above = [enclosing("all", "", "all workloads")];
    const shapeId = JSON.stringify([workload.operator, workload.shape]);
    const alone = model.phasesOfShape.get(shapeId) === 1;
    above.push(enclosing(JSON.stringify([workload.operator]), "all", workload.operator));
    if (!alone) above.push(enclosing(shapeId, above.at(-1).id, workload.shape));
    for (const cell of above) cell.value += workload.weight.value;
    cells.push({...leafCell(model, workload, index, best, alone), parent: above.at(-1).id});
  });
  for (const cell of inner.values()) {
    cell.ink = variable("--ink");
    cell.label = `${shortened(cell.name, 40)}  ${percent(cell.value)}`;
  }
  leaveOutTinyText(cells);
  return cells;
}

// Text that would not be legible is left out; the pointer still tells. A cell's area follows from
// its share; its sides are taken as not far from equal, as the tiling makes them.
function leaveOutTinyText(cells) {
  const place = byId("weights");
  const total = cells.length ? cells[0].value : 1;
  for (const cell of cells) {
    const pixels = cell.value / total * place.clientWidth * place.clientHeight;
    if (pixels < 5200) cell.text = "";
    if (pixels < (cell.index === undefined ? 5000 : 2200)) cell.label = "";
  }
}

function describeCell(model, cell) {
  if (cell.index === undefined) {
    return [cell.name, [["weight", percent(cell.value, 2)]], null];
  }
  const best = cell.found ? [["best candidate", cell.found.verdict.candidate],
    ["its S", percentRange(cell.found.attained)]] : [];
  const workload = model.workloads[cell.index];
  return [workloadTitle(workload), [...best, ...workloadRows(workload)],
    cell.failed ? "Nothing passed every gate." : null];
}

function drawWeights(model, view) {
  const cells = treemapCells(model, view);
  if (cells.length === 0) return drawNothing("weights", "No workload carries a weight.");
  const all = (pick) => cells.map(pick);
  draw("weights", [{
    type: "treemap", branchvalues: "total", ids: all((c) => c.id), parents: all((c) => c.parent),
    labels: all((c) => plain(c.label)), values: all((c) => c.value),
    text: all((c) => c.text), textinfo: "label+text", hoverinfo: "none",
    textfont: {size: 12, color: all((c) => c.ink)}, tiling: {pad: 1}, pathbar: {visible: false},
    marker: {
      colors: all((c) => c.colour), pad: {t: 20, l: 3, r: 3, b: 3}, cornerradius: 3,
      line: {width: 1, color: variable("--card")},
      pattern: {
        shape: all((c) => (c.failed ? "/" : "")), size: 6, solidity: 0.15,
        fgcolor: variable("--card"), fillmode: "overlay",
      },
    },
  }], baseLayout({l: 0, r: 0, t: 0, b: 0}), (hit) => describeCell(model, cells[hit.pointNumber]));
}

// --------------------------------------------------------------------------------- roofline

// Ceilings as lines over [x0, x1]: memory up to the highest ridge, each engine from its own on.
function roofLines(ceilings, engines, x0, x1, dash) {
  const memory = ceilings.memory_bytes_per_s;
  const highest = Math.max(0, ...engines.map((engine) => ceilings.ops_per_s[engine] || 0));
  const end = memory > 0 && highest > 0 ? Math.min(x1, highest / memory) : x1;
  const line = (x, y) => ({
    type: "scatter", mode: "lines", hoverinfo: "skip", x, y, line: {
      dash, width: dash === "solid" ? 1.4 : 1.1,
      color: variable(dash === "solid" ? "--ink2" : "--ink3"),
    },
  });
  const lines = memory > 0 ? [line([x0, end], [x0 * memory, end * memory])] : [];
  for (const engine of engines) {
    const peak = ceilings.ops_per_s[engine] || 0;
    const from = memory > 0 ? Math.max(x0, peak / memory) : x0;
    if (peak > 0 && from < x1) lines.push(line([from, x1], [peak, peak]));
  }
  return lines;
}

function roofLabels(ceilings, engines, frame) {
  const font = {size: 10.5, color: variable("--ink2")};
  const place = byId("roofline");
  const [across, up] = [frame.x[1] - frame.x[0], frame.y[1] - frame.y[0]];
  const rising = engines.filter((engine) => ceilings.ops_per_s[engine] > 0)
    .sort((a, b) => ceilings.ops_per_s[a] - ceilings.ops_per_s[b]);
  const lineHeight = 13 * up / (place.clientHeight - 50);
  let lowest = -Infinity;  // where the next label may lie
  const labels = rising.map((engine) => {
    const y = Math.max(lowest, Math.log10(ceilings.ops_per_s[engine]));
    lowest = y + lineHeight;
    return {
      xref: "paper", x: 1, y, xanchor: "left", yanchor: "middle", xshift: 4, showarrow: false, font,
      text: plain(`${words(engine).replace("tensor ", "")} ` +
        scaled(ceilings.ops_per_s[engine], rateUnit(engine))),
    };
  });
  const memory = ceilings.memory_bytes_per_s;
  if (memory > 0) {
    // The label lies along its line, whose angle on screen follows from the size of the plot.
    const angle = Math.atan2((place.clientHeight - 50) / up, (place.clientWidth - 184) / across);
    const start = Math.max(frame.x[0], frame.y[0] - Math.log10(memory));
    const x = start + across * 0.12;
    labels.push({
      x, y: x + Math.log10(memory), showarrow: false, textangle: -angle * 180 / Math.PI,
      xshift: -9 * Math.sin(angle), yshift: 9 * Math.cos(angle), font,
      text: plain(`memory ${scaled(memory, "B/s")}`),
    });
  }
  return labels;
}

function markerSize(workload, heaviest) {
  return 7.5 + (heaviest > 0 ? 6 * Math.sqrt(workload.weight.value / heaviest) : 1);
}

// Points of one operator as a trace; `x` and `y` place them.
function pointTrace(model, operator, points, x, y, more) {
  const colour = model.colour(operator);
  const edge = (point) => {
    const verdict = model.verdictOf(point);
    if (verdict && verdict.outcome !== "passed") return [1.8, variable("--bad")];
    return verdict && verdict.role === "candidate" ? [0.7, variable("--card")] : [1.4, colour];
  };
  return {
    type: "scatter", mode: "markers", x: points.map(x), y: points.map(y), hoverinfo: "none",
    customdata: points.map((p) => p.at), name: plain(operator), cliponaxis: false,
    marker: {
      color: colour, symbol: points.map((p) => model.symbol(p)),
      size: points.map((p) => markerSize(model.workloads[p.workload], model.heaviest)),
      opacity: points.map((p) => (p.verdict === null ? 0.6 : 0.88)),
      line: {width: points.map((p) => edge(p)[0]), color: points.map((p) => edge(p)[1])},
    },
    ...more,
  };
}

// The ranges of both axes (log10) over everything that can be shown, so that filters do not move
// the chart; and where a workload goes that only moves data: it has no intensity, so it stands at
// the left edge, where its distance from the memory roof is still its attainment.
function rooflineFrame(model, sets, engines) {
  const still = model.points.some((p) => p.intensity === 0);
  const positive = model.points.map((p) => p.intensity).filter((x) => x > 0);
  const tops = sets.flatMap((set) => engines.map((engine) => set.ops_per_s[engine] || 0));
  const ridges = sets.flatMap((set) => (set.memory_bytes_per_s > 0
    ? engines.map((engine) => (set.ops_per_s[engine] || 0) / set.memory_bytes_per_s) : []));
  const least = Math.log10(positive.length ? Math.min(...positive) : 1);
  const edge = 10 ** (least - 0.55);
  const placeX = (p) => (p.intensity > 0 ? p.intensity : edge);
  const placeY = (p) => (p.intensity > 0 ? p.ops_per_s : p.bytes_per_s * edge);
  const ys = model.points.map(placeY);
  return {
    x: [least - (still ? 0.9 : 0.35), Math.log10(Math.max(...positive, ...ridges, 1)) + 0.3],
    y: [Math.log10(Math.min(...ys)) - 0.35, Math.log10(Math.max(...ys, ...tops)) + 0.35],
    placeX, placeY, still: still ? Math.log10(edge) : null,
  };
}

function drawRoofline(model, view) {
  if (model.points.length === 0) {
    return drawNothing("roofline", "No workload has a time or a roof.");
  }
  const card = model.provenance.device || {};
  const sets = [["datasheet", "solid"], ["measured", "dash"]].filter(([name]) => card[name]);
  const engines = [...new Set(model.points.map((p) => model.workloads[p.workload].engine))];
  const frame = rooflineFrame(model, sets.map(([name]) => card[name]), engines);
  const [x0, x1] = frame.x.map((x) => 10 ** x);
  const traces = sets.flatMap(([name, dash]) => roofLines(card[name], engines, x0, x1, dash));
  const shown = model.points.filter((p) => view.shows(p));
  for (const operator of model.operators) {
    const points = shown.filter((p) => model.workloads[p.workload].operator === operator);
    if (points.length === 0) continue;
    traces.push(pointTrace(model, operator, points, frame.placeX, frame.placeY, {}));
  }
  const labels = sets.length ? roofLabels(card[sets[0][0]], engines, frame) : [];
  if (frame.still !== null) {
    labels.push({
      x: frame.still, y: frame.y[0], yanchor: "bottom", showarrow: false, text: "no arithmetic",
      textangle: -90, font: {size: 10, color: variable("--ink3")},
    });
  }
  draw("roofline", traces, {
    ...baseLayout({l: 58, r: 126, t: 8, b: 42}), annotations: labels,
    xaxis: axis("arithmetic intensity, FLOP/B", decades(frame.x)),
    yaxis: axis("achieved rate, FLOP/s", decades(frame.y)),
  }, (hit) => describePoint(model, model.points[hit.customdata]));
}

// A power of ten at each tick, as few digits as it takes: "0.1", "100", "10 T".
function decades([from, to]) {
  const ticks = [];
  for (let k = Math.ceil(from); k <= to; ++k) ticks.push(k);
  return {
    type: "log", range: [from, to], tickmode: "array", tickvals: ticks.map((k) => 10 ** k),
    ticktext: ticks.map((k) => (k >= 3 ? scaled(10 ** k, "").replace(".00", "").replace(".0", "")
      : String(Number((10 ** k).toPrecision(1))))),
  };
}

// ------------------------------------------------------------------------------------ strip

// Workloads side by side, grouped by operator; candidates of a workload stand next to each other.
function stripOrder(model, view) {
  const order = model.workloads.map((workload, index) => ({workload, index}))
    .filter(({workload}) => view.showsWorkload(workload));
  const rank = (name) => model.operators.indexOf(name);
  return order.sort((a, b) => rank(a.workload.operator) - rank(b.workload.operator) ||
    a.workload.phase.localeCompare(b.workload.phase) ||
    b.workload.weight.value - a.workload.weight.value || a.index - b.index);
}

function stripGroups(order) {
  const groups = [];
  order.forEach(({workload}, x) => {
    const last = groups.at(-1);
    if (last && last.operator === workload.operator) last.to = x;
    else groups.push({operator: workload.operator, from: x, to: x});
  });
  return groups;
}

function failureTrace(model, view, placeX) {
  const failed = model.verdicts.map((verdict, at) => ({verdict, at, x: placeX(verdict)}))
    .filter(({verdict, x}) => verdict.outcome !== "passed" && x !== null &&
      view.showsVerdict(verdict));
  return {
    type: "scatter", mode: "markers", x: failed.map((f) => f.x), y: failed.map(() => 0),
    customdata: failed.map((f) => f.at), meta: "failed", hoverinfo: "none", cliponaxis: false,
    marker: {symbol: "x-thin", size: 6, line: {width: 1.7, color: variable("--bad")}},
  };
}

function stripLayout(model, order, top) {
  const groups = stripGroups(order);
  const labelled = order.length <= 120;
  const names = order.map(({workload}) => shortened(workload.shape, 16));
  const upright = order.length <= 60 && names.every((name) => name.length <= 4);
  const band = (group) => ({
    type: "rect", xref: "x", yref: "paper", x0: group.from - 0.5, x1: group.to + 0.5, y0: 0, y1: 1,
    line: {width: 0}, layer: "below", fillcolor: variable("--soft"), opacity: 0.6,
  });
  const light = {
    type: "line", xref: "paper", x0: 0, x1: 1, y0: 1, y1: 1, layer: "below",
    line: {width: 1.2, color: variable("--ink3"), dash: "dot"},
  };
  return {
    ...baseLayout({l: 58, r: 12, t: 22, b: !labelled ? 14 : upright ? 26 : 70}),
    xaxis: axis("", {
      range: [-0.6, order.length - 0.4], showgrid: false, tickmode: "array", ticks: "",
      tickvals: labelled ? order.map((_, x) => x) : [], tickfont: {size: 10},
      ticktext: names.map(plain), tickangle: upright ? 0 : -45,
    }),
    yaxis: axis("attainment S", {range: [-0.05, top], tickformat: ".0%", dtick: 0.25}),
    shapes: [...groups.filter((_, i) => i % 2 === 0).map(band), light],
    annotations: groups.map((group) => ({
      x: (group.from + group.to) / 2, y: 1, yref: "paper", yanchor: "bottom", showarrow: false,
      text: plain(shortened(group.operator, 30)),
      font: {size: 11, color: model.colour(group.operator)},
    })),
  };
}

function describeFailure(verdict) {
  return [workloadTitle(verdict), [
    ["candidate", `${verdict.candidate} (${verdict.lane})`], ["gate", verdict.gate],
    ["outcome", words(verdict.outcome)],
  ], shortened(verdict.reason, 300)];
}

function drawStrip(model, view) {
  const order = stripOrder(model, view);
  if (order.length === 0) return drawNothing("strip", "No workload is selected.");
  const slots = new Map(order.map(({index}, x) => [index, x]));
  const names = model.candidates.map((c) => c.candidate).filter((n) => !view.hidden.has(`c:${n}`));
  const step = Math.min(0.2, 0.76 / Math.max(1, names.length));
  const dodge = (name) => (names.indexOf(name) - (names.length - 1) / 2) * step;
  const placeX = (verdict) => {
    const slot = slots.get(model.workloadOf(verdict));
    return slot === undefined ? null : slot + dodge(verdict.candidate);
  };
  const key = `against_${view.against}`;
  const shown = model.points.filter((p) => p.verdict !== null && p[key] && view.shows(p) &&
    model.verdictOf(p).outcome === "passed");
  const traces = [];
  for (const operator of model.operators) {
    const points = shown.filter((p) => model.workloads[p.workload].operator === operator);
    if (points.length === 0) continue;
    traces.push(pointTrace(model, operator, points, (p) => placeX(model.verdictOf(p)),
      (p) => p[key].median, {
        error_y: {
          type: "data", symmetric: false, width: 0, thickness: 1.4, color: model.colour(operator),
          array: points.map((p) => p[key].high - p[key].median),
          arrayminus: points.map((p) => p[key].median - p[key].low),
        },
      }));
  }
  const failures = failureTrace(model, view, placeX);
  if (failures.x.length) traces.push(failures);
  const top = Math.max(1, ...shown.map((p) => p[key].high)) + 0.05;
  draw("strip", traces, stripLayout(model, order, top), (hit) => (hit.data.meta === "failed"
    ? describeFailure(model.verdicts[hit.customdata])
    : describePoint(model, model.points[hit.customdata])));
}
