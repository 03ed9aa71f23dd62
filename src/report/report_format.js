// SPDX-License-Identifier: Apache-2.0
// Words, numbers, colours and symbols of the page. Everything that comes from the data reaches the
// document through `element` and as text; no markup is ever parsed. Plotly reads a little markup in
// its labels, so what it draws passes `plain` first.

const SVG = "http://www.w3.org/2000/svg";

// element("td", {class: "num"}, "text", child, ...); null and undefined children are left out.
function element(name, attributes, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  for (const child of children) {
    if (child !== null && child !== undefined) made.append(child);
  }
  return made;
}

function drawing(name, attributes, ...children) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

const byId = (id) => document.getElementById(id);

// A variable of the style sheet. Reading one is slow, and charts ask thousands of times, so values
// are kept until the theme changes.
const variables = new Map();
function variable(name) {
  if (!variables.has(name)) {
    const style = getComputedStyle(document.documentElement);
    variables.set(name, style.getPropertyValue(name).trim());
  }
  return variables.get(name);
}

// Text that Plotly shows as it is.
function plain(text) {
  return String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
}

function shortened(text, length) {
  const points = Array.from(String(text));
  return points.length <= length ? String(text) : points.slice(0, length - 1).join("") + "…";
}

// Three significant digits, without an exponent.
function digits(value) {
  const size = Math.abs(value);
  if (size >= 100 || size === 0) return value.toFixed(0);
  if (size >= 10) return value.toFixed(1);
  return size >= 1 ? value.toFixed(2) : value.toPrecision(3);
}

function scaled(value, unit) {
  const steps = [[1e15, "P"], [1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]];
  for (const [size, prefix] of steps) {
    if (Math.abs(value) >= size) return `${digits(value / size)} ${prefix}${unit}`;
  }
  return `${digits(value)} ${unit}`;
}

const rateUnit = (engine) => (engine === "special" ? "op/s" : "FLOP/s");

function time(ns) {
  if (ns >= 1e9) return `${digits(ns / 1e9)} s`;
  if (ns >= 1e6) return `${digits(ns / 1e6)} ms`;
  if (ns >= 1e3) return `${digits(ns / 1e3)} µs`;
  return `${digits(ns)} ns`;
}

function percent(share, places = 1) {
  return `${(share * 100).toFixed(places)} %`;
}

// "10.2 to 10.9", of shares, in percent.
function span(low, high, places = 1) {
  return `${(low * 100).toFixed(places)} to ${(high * 100).toFixed(places)}`;
}

function percentRange(interval) {
  return `${percent(interval.median)} (${span(interval.low, interval.high)})`;
}

function timeRange(interval) {
  return `${time(interval.median)} (${time(interval.low)} to ${time(interval.high)})`;
}

function factor(ratio) {
  return `${ratio.toFixed(2)}×`;
}

function counted(n, one, many) {
  return `${n} ${n === 1 ? one : many}`;
}

const words = (name) => String(name).replace(/_/g, " ");

// Colours of operators by their order, and symbols of candidates; both repeat when they run out.
const COLOURS = 10;
const SYMBOLS = [
  ["circle", "M6 1.6A4.4 4.4 0 1 1 5.99 1.6Z"],
  ["diamond", "M6 .8 11.2 6 6 11.2.8 6Z"],
  ["square", "M2 2H10V10H2Z"],
  ["triangle-up", "M6 1.4 11 10.2H1Z"],
  ["triangle-down", "M6 10.6 11 1.8H1Z"],
  ["pentagon", "M6 1 11 4.7 9.1 10.6H2.9L1 4.7Z"],
  ["star", "M6 .8 7.4 4.4 11.2 4.6 8.3 7 9.3 10.8 6 8.7 2.7 10.8 3.7 7 .8 4.6 4.6 4.4Z"],
  ["hexagon", "M3.5 1.6H8.5L11 6 8.5 10.4H3.5L1 6Z"],
  ["cross", "M4.3 1.3H7.7V4.3H10.7V7.7H7.7V10.7H4.3V7.7H1.3V4.3H4.3Z"],
  ["hourglass", "M1.8 1.6H10.2L6.6 6 10.2 10.4H1.8L5.4 6Z"],
];

function glyph(index, colour, hollow) {
  const path = drawing("path", {
    d: SYMBOLS[index % SYMBOLS.length][1],
    fill: hollow ? "none" : colour, stroke: colour, "stroke-width": "1.3",
  });
  return drawing("svg", {width: 12, height: 12, viewBox: "0 0 12 12", "aria-hidden": "true"}, path);
}

function channels(colour) {
  return [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
}

// Attainment as a colour between the two ends of the page's ramp.
function ramp(share) {
  const [from, to] = [channels(variable("--s0")), channels(variable("--s1"))];
  const t = Math.min(1, Math.max(0, share));
  return `rgb(${from.map((c, i) => Math.round(c + (to[i] - c) * t)).join(",")})`;
}

// The colour of text on `ramp(share)`.
const inkOn = (share) => variable(share < 0.45 ? "--ink-low" : "--ink-high");

// A share as a bar on the scale 0..1 with its interval, so that a column of them compares by eye.
function rangeBar(low, median, high, colour, width) {
  const x = (share) => Math.min(1, Math.max(0, share)) * (width - 8) + 4;
  const bar = (from, to, y, height, opacity) => drawing("rect", {
    x: x(from), y, width: Math.max(0.5, x(to) - x(from)), height, rx: 1.5, fill: colour,
    "fill-opacity": opacity,
  });
  return drawing("svg", {class: "range", width, height: 14, viewBox: `0 0 ${width} 14`},
    drawing("rect", {x: x(0), y: 4, width: width - 8, height: 6, rx: 1.5, fill: "var(--soft)"}),
    bar(0, median, 4, 6, 0.45), bar(low, high, 1.5, 11, 0.55),
    drawing("circle", {cx: x(median), cy: 7, r: 3, fill: colour}));
}

function shareBar(share) {
  const fill = element("i", {});
  fill.style.width = `${Math.min(1, Math.max(0, share)) * 100}%`;
  return element("span", {class: "bar"}, fill);
}

// The one tooltip, beside the pointer and inside the window.
const tip = {
  show(event, title, rows, warning) {
    const box = byId("tip");
    const list = element("dl", {});
    for (const [key, value] of rows) {
      if (value !== null && value !== undefined && value !== "") {
        list.append(element("dt", {}, key), element("dd", {}, value));
      }
    }
    box.replaceChildren(element("strong", {}, title), list);
    if (warning) box.append(element("p", {}, warning));
    box.hidden = false;
    const beside = event.clientX + 16;
    const left = beside + box.offsetWidth > innerWidth
      ? event.clientX - 14 - box.offsetWidth : beside;
    const top = Math.min(event.clientY + 14, innerHeight - box.offsetHeight - 8);
    box.style.left = `${Math.max(6, left)}px`;
    box.style.top = `${Math.max(6, top)}px`;
  },
  hide() {
    byId("tip").hidden = true;
  },
};
