// Colours come from the style sheet, so that light and dark are decided in one place.

const HUES = { likelihood: "--slate", bias: "--gold", sum: "--plum" };

function channels(name) {
  const text = getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  return [1, 3, 5].map((at) => parseInt(text.slice(at, at + 2), 16));
}

/** A scale of 256 colours from `--low` to the colour of that name. */
function ramp(name) {
  const low = channels("--low"), high = channels(name);
  return Array.from({ length: 256 }, (_, i) => low.map((from, c) => Math.round(from + (i / 255) * (high[c] - from))));
}

/** How bright a height is, from 0 to 1, by how far it lies below the highest, in units of log-likelihood. */
function brightness(below) {
  return Math.exp(-Math.pow(Math.max(0, below) / 4, 0.8));
}

const SVG = "http://www.w3.org/2000/svg";

/** A new element of a drawing inside `parent`, with attributes. */
function draw(parent, kind, attributes = {}, text = "") {
  const element = document.createElementNS(SVG, kind);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  if (text) element.textContent = text;
  parent.append(element);
  return element;
}

/** A number for people: three digits that count. */
function short(value) {
  const size = Math.abs(value);
  if (size >= 1000) return Math.round(value).toLocaleString("en");
  if (size >= 100) return value.toFixed(0);
  return size === 0 ? "0" : size >= 10 ? value.toFixed(1) : value.toFixed(2);
}

const percent = (part) => `${Math.round(100 * part)}%`;
