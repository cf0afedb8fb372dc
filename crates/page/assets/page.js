// The page: what is selected, and how one gets from there to elsewhere.

const page = { row: 0, hidden: new Set(), only: false, matches: undefined, list: [], drawn: false, address: 0 };

/// Goes to a row.
function select(row) {
  if (row === undefined || row < 0 || row >= count) return;
  if (lanes.shown[lanes.index[row]] !== row) unhide(row);
  page.row = row;
  reveal(row);
  redraw();
  showSource(row);
  showStep(row);
  showState(row);
  const total = steps[count - 1];
  byId("where").textContent = kindOf(row) === "step" ? `step ${steps[row]} of ${total}` : `after step ${steps[row]} of ${total}`;
  byId("live").textContent = sentence(row);
  byId("scroll").setAttribute("aria-activedescendant", `row-${row}`);
  // Not at once: browsers refuse many changes of the address in a second.
  clearTimeout(page.address);
  page.address = setTimeout(() => history.replaceState(null, "", `#${row}`), 300);
}

/// Draws with the next frame, however often it is asked for.
function redraw() {
  if (page.drawn) return;
  page.drawn = true;
  requestAnimationFrame(drawNow);
}

function drawNow() {
  page.drawn = false;
  drawLanes(page.row, page.matches);
}

const moveBy = (by) => {
  const at = Math.min(Math.max(lanes.index[page.row] + by, 0), lanes.shown.length - 1);
  select(lanes.shown[at]);
};
const inList = (list, forward) => select(forward ? beyond(list, page.row) : below(list, page.row));
const ofThis = (kind, lists, forward) => {
  const key = kind(page.row);
  if (key >= 0) inList(lists[key], forward);
};
/// The next of some rows, and after the last one the first.
const around = (list, forward) => {
  if (!list.length) return;
  select((forward ? beyond(list, page.row) : below(list, page.row)) ?? list[forward ? 0 : list.length - 1]);
};

function zoomBy(by) {
  const zoom = Math.min(Math.max(lanes.zoom + by, 0), HEIGHTS.length - 1);
  if (zoom === lanes.zoom) return;
  const { scroll } = lanes;
  measure();
  const offset = rowY(page.row);
  lanes.zoom = zoom;
  sizeLanes();
  // The current row stays where it is.
  scroll.scrollTop = (lanes.index[page.row] + 0.5) * rowHeight() + 8 - Math.min(Math.max(offset, 0), scroll.clientHeight);
  redraw();
}

/// Shows some threads, and of them only what matters or everything.
function filter(hidden, only = page.only) {
  page.hidden = hidden;
  page.only = only;
  arrangeLanes(hidden, only);
  drawMap();
  byId("matter").setAttribute("aria-pressed", String(only));
  for (const box of byId("filter-list").querySelectorAll("input")) box.checked = !hidden.has(Number(box.value));
  byId("filter").classList.toggle("active", hidden.size > 0);
  const row = lanes.shown[lanes.index[page.row]] === page.row ? page.row : lanes.shown[Math.min(lanes.index[page.row], lanes.shown.length - 1)];
  if (row === undefined) redraw();
  else select(row);
}

const unhide = (row) => filter(new Set([...page.hidden].filter((thread) => thread !== threadOf(row))), page.only && matters(row));
const toggleMatter = () => matter && filter(page.hidden, !page.only);

function search(text) {
  const wanted = text.trim().toLowerCase();
  page.list = [];
  for (let row = 0; wanted && row < count; row += 1) {
    if (`${textOf(row)} ${placeOf(row)}`.toLowerCase().includes(wanted)) page.list.push(row);
  }
  page.matches = wanted ? new Set(page.list) : undefined;
  byId("matches").textContent = wanted ? `${page.list.length} found` : "";
  redraw();
}

function toggleHelp() {
  const dialog = byId("keys");
  if (dialog.open) dialog.close();
  else dialog.showModal();
}

/// Key, what people call it, what it does, the button that does the same.
const KEYS = [
  ["ArrowDown j", "↓ j", "next step", () => moveBy(1), "next"],
  ["ArrowUp k", "↑ k", "previous step", () => moveBy(-1), "previous"],
  ["ArrowRight t", "→ t", "next step of this thread", () => ofThis(threadOf, ofThread, true), "thread-next"],
  ["ArrowLeft T", "← T", "previous step of this thread", () => ofThis(threadOf, ofThread, false), "thread-previous"],
  ["o", "o", "next step on this object", () => ofThis(objectOf, ofObject, true), "object-next"],
  ["O", "O", "previous step on this object", () => ofThis(objectOf, ofObject, false), "object-previous"],
  ["e", "e", "next error", () => around(errors, true), "error-next"],
  ["p", "p", "next preemption", () => around(preemptions, true), "switch-next"],
  ["Home", "Home", "first step", () => moveBy(-count), "first"],
  ["End", "End", "last step", () => moveBy(count), "last"],
  ["PageDown", "Page\u00a0Down", "a page on", () => moveBy(Math.floor(lanes.scroll.clientHeight / rowHeight()))],
  ["PageUp", "Page\u00a0Up", "a page back", () => moveBy(-Math.floor(lanes.scroll.clientHeight / rowHeight()))],
  ["+ =", "+", "zoom in", () => zoomBy(1), "zoom-in"],
  ["-", "-", "zoom out", () => zoomBy(-1), "zoom-out"],
  ["/", "/", "search by object, operation or line", () => byId("search").focus()],
  ["n", "n", "next match", () => around(page.list, true), "match-next"],
  ["N", "N", "previous match", () => around(page.list, false), "match-previous"],
  ["f", "f", "threads to show", toggleFilter],
  ["m", "m", "only the steps that matter, or all", toggleMatter, "matter"],
  ["d", "d", "light or dark", switchTheme],
  ["?", "?", "this help", toggleHelp, "help"],
];

const SIGNS = [
  ["arrow lock", "a lock handed over"], ["arrow value", "a value read from another thread"], ["arrow wake", "a notification"],
  ["arrow message", "a message, a permit, a barrier"], ["arrow spawn", "creation and end of a thread"],
  ["arrow reason", "why a thread cannot go on"], ["waiting", "cannot go on"], ["held", "holds a lock"],
];

function toggleFilter() {
  const filter = byId("filter");
  filter.open = !filter.open;
  if (filter.open) filter.querySelector("summary").focus();
}

function listenToKeys(event) {
  const typing = event.target.matches("input[type=search], select, textarea");
  if (event.key === "Escape" && typing) event.target.blur();
  if (event.key === "Escape") byId("filter").open = false;
  if (event.key === "Enter" && event.target === byId("search")) around(page.list, !event.shiftKey);
  if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
  if (byId("keys").open && event.key !== "?") return;
  // The source and the output scroll by their own keys.
  const scrolls = event.target.closest("#code, #output pre") && /^(Arrow|Page|Home|End)/.test(event.key);
  const known = KEYS.find(([keys]) => keys.split(" ").includes(event.key));
  if (!known || scrolls) return;
  event.preventDefault();
  known[3]();
}

function begin() {
  const [failure] = data.failures;
  byId("kind").textContent = failure ? failure.kind + (failure.rule ? ` (${failure.rule})` : "") : "no error";
  byId("kind").classList.toggle("good", !failure);
  byId("title").textContent = data.program;
  const plural = (number, what) => `${number.toLocaleString("en")} ${what}${number === 1 ? "" : "s"}`;
  const facts = [plural(steps[count - 1] ?? 0, "step"), plural(data.threads.length, "thread"), plural(data.objects.length, "object")];
  if (data.preemptions !== null) facts.push(plural(data.preemptions, "preemption"));
  const first = data.shortened;
  if (first) facts.push(`shortened from ${plural(first.steps, "step")} with ${plural(first.switches, "switch").replace("switchs", "switches")}`);
  byId("facts").textContent = facts.join(", ");
  if (data.home) fill(byId("home"), { href: data.home }, []).hidden = false;
  if (data.output) {
    byId("output").hidden = false;
    byId("output").querySelector("pre").textContent = data.output;
  }
  fillHelp();
  fillFilter();
  fillFiles();
  showWhy();
  for (const [, , , action, button] of KEYS) if (button) byId(button).addEventListener("click", action);
  byId("print").addEventListener("click", () => print());
  byId("search").addEventListener("input", (event) => search(event.target.value));
  byId("error-next").hidden = errors.length === 0;
  byId("switch-next").hidden = preemptions.length === 0;
  byId("map").addEventListener("click", (event) => select(rowOnMap(event.offsetY)));
  byId("matter").hidden = !matter || matter.size === count;
  addEventListener("keydown", listenToKeys);
  addEventListener("beforeprint", layOut);
  lanes.scroll.addEventListener("scroll", redraw, { passive: true });
  new ResizeObserver(() => (sizeLanes(), drawMap(), redraw())).observe(lanes.scroll);
  lanes.zoom = count > 3000 ? 3 : 4;
  arrangeLanes(page.hidden, page.only);
  const asked = /^#\d+$/.test(location.hash) ? Number(location.hash.slice(1)) : undefined;
  // In the middle of what the sentence names is what another thread did.
  const cause = data.cause?.rows ?? [];
  select(asked < count ? asked : (cause[Math.floor(cause.length / 2)] ?? errors[0] ?? 0));
}

function fillHelp() {
  const key = ([, name, text]) => make("tr", {}, make("th", { scope: "row" }, ...name.split(" ").map((one) => make("kbd", {}, one))), make("td", {}, text));
  byId("key-list").tBodies[0].append(...KEYS.map(key));
  const sign = ([name, text]) => {
    const line = draw("line", { class: name, x1: 2, y1: 8, x2: 42, y2: 8 });
    return make("tr", {}, make("td", {}, draw("svg", { width: 44, height: 16, "aria-hidden": "true" }, line)), make("td", {}, text));
  };
  byId("sign-list").tBodies[0].append(...SIGNS.map(sign));
}

function fillFilter() {
  const box = (thread) => {
    const input = make("input", { type: "checkbox", value: String(thread), checked: true });
    input.addEventListener("change", () => {
      const hidden = new Set(page.hidden);
      if (input.checked) hidden.delete(thread);
      else hidden.add(thread);
      filter(hidden);
    });
    return make("label", {}, input, " ", chip(thread), ` ${data.threads[thread].name ?? ""}`);
  };
  byId("filter-list").append(...data.threads.map((_, thread) => box(thread)));
  byId("show-all").addEventListener("click", () => filter(new Set()));
  byId("show-this").addEventListener("click", () => {
    const current = threadOf(page.row);
    if (current >= 0) filter(new Set(data.threads.map((_, thread) => thread).filter((thread) => thread !== current)));
  });
}

begin();
