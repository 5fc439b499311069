// Keeps the page as fresh as the loop: the server says that something happened, and the page asks for its new content.
"use strict";

const panel = document.getElementById("panel");
const link = document.getElementById("link");
const PAUSE = 1000; // milliseconds between two refreshes, at least
const OFTEN = 5000; // and at most, so that what is computed beside the loop appears, too
let asked = 0, known = Date.now(), waiting = null, lost = false;

function ago(text) {
  const seconds = Math.max(0, (Date.now() - Date.parse(text)) / 1000);
  for (const [size, word] of [[86400, "d"], [3600, "h"], [60, "min"]]) {
    if (seconds >= size) return `${Math.floor(seconds / size)} ${word} ago`;
  }
  return `${Math.floor(seconds)} s ago`;
}

function tellTimes() {
  for (const time of panel.querySelectorAll("time")) {
    time.title = new Date(time.dateTime).toLocaleString();
    time.textContent = ago(time.dateTime);
  }
}

function say(text) {
  lost = text !== "";
  link.textContent = text;
  link.hidden = !lost;
}

async function refresh() {
  waiting = null;
  asked = Date.now();
  try {
    const answer = await fetch(panel.dataset.panel);
    if (!answer.ok) throw new Error(`the server answers ${answer.status}`);
    const open = [...panel.querySelectorAll("details")].map((item) => item.open);
    const focused = document.activeElement && document.activeElement.dataset ? document.activeElement.dataset.mode : null;
    panel.innerHTML = await answer.text();
    panel.querySelectorAll("details").forEach((item, number) => { item.open = open[number] || false; });
    if (focused) panel.querySelector(`button[data-mode="${focused}"]`)?.focus();
    known = asked;
    tellTimes();
    say("");
  } catch (error) {
    const since = new Date(known);
    say(`No connection to the server since ${since.toLocaleTimeString()}: this is what was known ${ago(since.toISOString())}.`);
  }
}

function soon() {
  if (waiting === null) waiting = setTimeout(refresh, Math.max(0, asked + PAUSE - Date.now()));
}

async function setMode(button) {
  if (button.getAttribute("aria-pressed") === "true" || !confirm(button.dataset.confirm)) return;
  const url = button.closest("[data-url]").dataset.url;
  const body = JSON.stringify({ mode: button.dataset.mode });
  try {
    const answer = await fetch(url, { method: "POST", headers: { "Content-Type": "application/json" }, body });
    if (!answer.ok) alert((await answer.json()).error);
  } catch (error) {
    alert(`The mode was not changed: ${error.message}`);
  }
  soon();
}

panel.addEventListener("click", (event) => {
  const button = event.target.closest("button[data-mode]");
  if (button) setMode(button);
});

if (panel.dataset.events) {
  const source = new EventSource(panel.dataset.events);
  for (const kind of ["decided", "observed", "refused", "cancelled", "expired", "mode", "policy"]) {
    source.addEventListener(kind, soon);
  }
}
setInterval(soon, OFTEN);
tellTimes();
