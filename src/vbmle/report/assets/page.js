/* Filters, contents, folds and tables. Fetches nothing. */
(function () {
  "use strict";
  const figures = window.figures;
  const all = (selector, scope) => Array.from((scope || document).querySelectorAll(selector));

  /* Filters: agents and worlds, everywhere at once */
  const form = document.getElementById("filter");
  function off(name) {
    return new Set(all("input[name=" + name + "]:not(:checked)", form).map((box) => box.value));
  }
  const boxes = (name) => all("input[name=" + name + "]", form);
  /* A figure or a table of which nothing is left says so. */
  function empty(part, none) {
    const content = part.querySelector(".grid, .wide"), legend = part.querySelector(".legend");
    let note = part.querySelector(".empty");
    if (none && !note) {
      note = document.createElement("p");
      note.className = "empty";
      note.textContent = "Nothing here belongs to the agents and worlds that are chosen.";
      part.insertBefore(note, content);
    }
    if (!none && note) note.remove();
    content.hidden = none;
    if (legend) legend.hidden = none;
  }
  /* What the sentences are about, where not everything is shown. */
  function partly(agents, worlds) {
    const note = document.getElementById("partial"), some = agents.size + worlds.size > 0;
    const left = [["agent", agents], ["world", worlds]].map((pair) => [boxes(pair[0]).length - pair[1].size, boxes(pair[0]).length, pair[0]]);
    const none = left.filter((part) => part[0] === 0).map((part) => part[2] + "s");
    const shown = left.map((part) => part[0] + " of " + part[1] + " " + part[2] + "s").join(" and ");
    note.hidden = !some;
    note.textContent = none.length
      ? "No " + none.join(" and no ") + " are chosen, so there is nothing to show. Choose some under “" + none.map((n) => n[0].toUpperCase() + n.slice(1)).join("” and “") + "”."
      : some ? shown + " are shown. The sentences, and the ratios above, are still about all of them." : "";
    document.body.classList.toggle("partial", some);
  }
  function told() {
    all("details", form).forEach((part) => {
      const boxes = all("input", part), on = boxes.filter((box) => box.checked).length;
      part.querySelector("summary span").textContent = on === boxes.length ? "all " + on : on + " of " + boxes.length;
    });
  }
  function changed() {
    const agents = off("agent"), worlds = off("world");
    [["agents", agents], ["worlds", worlds]].forEach((pair) => {
      figures.hidden[pair[0]].clear();
      pair[1].forEach((label) => figures.hidden[pair[0]].add(label));
    });
    all("[data-world], [data-agent]").forEach((element) => {
      const set = element.dataset;
      const hide = worlds.has(set.world) || agents.has(set.agent) || agents.has(set.against);
      element.toggleAttribute("data-off", hide);
    });
    all(".grid").forEach((grid) => {
      const none = all(".axes", grid).every((axes) => axes.hasAttribute("data-off"));
      empty(grid.parentElement, none || agents.size === boxes("agent").length || worlds.size === boxes("world").length);
    });
    all("table.sortable").forEach((table) => {
      empty(table.parentElement.parentElement, Array.from(table.tBodies[0].rows).every((row) => row.hasAttribute("data-off")));
    });
    groups();
    told();
    partly(agents, worlds);
    figures.redraw();
    figures.start();
  }
  /* The headings above columns of the picture are as broad as what is left of their columns. */
  function groups() {
    const columns = all(".matrix .worlds th");
    let place = 0;
    all(".matrix .group").forEach((head) => {
      const own = columns.slice(place, (place += Number(head.dataset.columns)));
      const left = own.filter((column) => !column.hasAttribute("data-off")).length;
      head.toggleAttribute("data-off", left === 0);
      head.colSpan = Math.max(left, 1);
    });
  }
  function filters() {
    form.hidden = false;
    told();
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("change", (event) => {
      if (event.target.id === "scale") figures.setScale(event.target.value);
      else changed();
    });
    all("button", form).forEach((button) => button.addEventListener("click", () => {
      const name = button.dataset.all || button.dataset.none;
      all("input[name=" + name + "]", form).forEach((box) => { box.checked = "all" in button.dataset; });
      changed();
    }));
    const late = document.getElementById("late");
    if (late) {
      late.hidden = false;
      late.addEventListener("click", () => {
        all(".late").forEach((row) => row.classList.add("on"));
        late.remove();
      });
    }
  }

  /* Contents: where one is */
  const links = all("nav a");
  const places = links.map((link) => document.getElementById(decodeURIComponent(link.hash.slice(1))));
  let current = null;
  function where() {
    const line = Math.min(0.35 * window.innerHeight, 260);
    const tops = places.map((place) => place.getBoundingClientRect().top);
    const end = window.innerHeight + window.scrollY >= document.documentElement.scrollHeight - 2;
    const highest = end ? Math.max.apply(null, tops) : Math.max.apply(null, tops.filter((top) => top <= line).concat(tops[0]));
    // of cards side by side, and of all at the foot of the page, the one that was asked for
    const asked = links.findIndex((link) => link.hash === location.hash);
    const there = asked >= 0 && (end ? tops[asked] > 0 : Math.abs(tops[asked] - highest) < 8);
    const found = there ? asked : tops.findIndex((top) => Math.abs(top - highest) < 8);
    if (links[found] === current) return;
    if (current) current.removeAttribute("aria-current");
    current = links[found];
    current.setAttribute("aria-current", "true");
    const bar = current.closest("ol");
    if (bar.scrollWidth > bar.clientWidth) bar.scrollLeft = current.offsetLeft - bar.offsetLeft - 40;
    const side = current.closest("aside"), place = current.offsetTop;
    if (place < side.scrollTop || place + 40 > side.scrollTop + side.clientHeight) side.scrollTop = place - 0.5 * side.clientHeight;
  }
  /* A link into something folded opens it. */
  function unfold() {
    const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target) return;
    let part = target.closest("details"), opened = false;
    for (; part; part = part.parentElement.closest("details")) {
      opened = opened || !part.open;
      part.open = true;
    }
    if (target.tagName === "TR") target.scrollIntoView({ block: "center" });
    else if (opened) target.scrollIntoView();
    where();
  }

  /* On a phone the figures of cards are folded away, so that the answers stand together. */
  const narrow = window.matchMedia("(max-width: 45rem)");
  function fold() {
    all(".shown").forEach((part) => { part.open = !narrow.matches; });
  }

  /* Tables */
  function sortBy(table, column, down) {
    const body = table.tBodies[0];
    const key = (row) => {
      const cell = row.cells[column];
      if (cell.dataset.value !== undefined) return Number(cell.dataset.value);
      return cell.textContent === "-" ? null : cell.textContent;
    };
    const sorted = Array.from(body.rows).map((row) => [key(row), row]);
    sorted.sort((a, b) => {
      if (a[0] === null || b[0] === null) return (a[0] === null) - (b[0] === null); // what is missing comes last
      const one = typeof a[0] === "number" && typeof b[0] === "number" ? a[0] - b[0] : String(a[0]).localeCompare(String(b[0]), "en", { numeric: true });
      return down ? -one : one;
    });
    sorted.forEach((pair) => { pair[1].classList.remove("first"); body.appendChild(pair[1]); });
  }
  function sortable(table) {
    Array.from(table.tHead.rows[0].cells).forEach((cell, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...cell.childNodes);
      cell.append(button);
      button.addEventListener("click", () => {
        const down = cell.getAttribute("aria-sort") === "ascending";
        table.querySelectorAll("th[aria-sort]").forEach((other) => other.removeAttribute("aria-sort"));
        cell.setAttribute("aria-sort", down ? "descending" : "ascending");
        sortBy(table, column, down);
      });
    });
  }

  /* LaTeX: the rows that are shown, in their order, as latex.py has made them. */
  function latex(table) {
    const rows = Array.from(table.tBodies[0].rows).filter((row) => !row.hasAttribute("data-off"));
    const made = rows.map((row) => JSON.parse(row.dataset.latex));
    return JSON.parse(table.dataset.latex).map((part, n) => {
      const lines = [part[0]];
      made.forEach((row, k) => {
        if (row[n][0] && (k === 0 || made[k - 1][n][0] !== row[n][0])) lines.push(row[n][0]);
        lines.push(row[n][1]);
      });
      return lines.concat([part[1], ""]).join("\n");
    }).join("\n");
  }
  function copy(text) {
    if (navigator.clipboard && window.isSecureContext) return navigator.clipboard.writeText(text).catch(() => aside(text));
    return Promise.resolve(aside(text));
  }
  function aside(text) {
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  function copying(button) {
    const table = button.closest(".listing").querySelector("table"), name = button.textContent;
    button.hidden = false;
    button.addEventListener("click", () => copy(latex(table)).then(() => {
      button.textContent = "Copied";
      button.focus();
      setTimeout(() => { button.textContent = name; }, 1500);
    }));
  }

  filters();
  all("table.sortable").forEach(sortable);
  all(".copy").forEach(copying);
  all("details").forEach((part) => part.addEventListener("toggle", () => { if (part.open) figures.start(); }));
  narrow.addEventListener("change", fold);
  window.addEventListener("hashchange", unfold);
  window.addEventListener("scroll", where, { passive: true });
  window.addEventListener("resize", where);
  fold();
  figures.start();
  where();
  unfold();
})();
