// Colours come from the style sheet, so that light and dark are decided in one place.

const HUES = { likelihood: "--slate", bias: "--gold", sum: "--plum" };

function channels(name) {
  const text = getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  return [1, 3, 5].map((at) => parseInt(text.slice(at, at + 2), 16));
}

const ramps = new Map();
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => ramps.clear());

/** A scale of 256 colours from `--low` to the colour of that name: as text, and packed as a canvas stores them. */
function ramp(name) {
  if (!ramps.has(name)) {
    const low = channels("--low"), high = channels(name);
    const scale = Array.from({ length: 256 }, (_, i) => low.map((from, c) => Math.round(from + (i / 255) * (high[c] - from))));
    const packed = Uint32Array.from(scale, ([red, green, blue]) => (255 << 24) | (blue << 16) | (green << 8) | red);
    ramps.set(name, { text: scale.map((colour) => `rgb(${colour})`), packed });
  }
  return ramps.get(name);
}

/** Set an attribute where it differs: most of a drawing stays as it is from step to step. */
function put(element, name, value) {
  if (element.getAttribute(name) !== String(value)) element.setAttribute(name, value);
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
  if (size < 0.005) return size < 1e-9 ? "0" : "under 0.01";
  return size >= 10 ? value.toFixed(1) : value.toFixed(2);
}

const percent = (part) => `${Math.round(100 * part)}%`;
