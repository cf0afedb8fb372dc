// The swim lanes: a window of rows, drawn anew whenever it moves. Nothing outside of the window exists, so that the length of
// a trace does not matter.

/// For each zoom, how high a row is and how narrow a lane may get: the larger, the more of the words is there.
const HEIGHTS = [3, 6, 12, 20, 26, 34, 46];
const NARROWEST = [18, 18, 18, 110, 140, 220, 340];
const lanes = {
  zoom: 4,
  /// The rows that are shown, and where each row is among them.
  shown: [],
  index: new Int32Array(count),
  /// The threads that are shown, and their lanes.
  threads: [],
  lane: [],
  scroll: byId("scroll"),
  drawing: byId("drawing"),
  /// The window, as it was measured last: to ask the browser for each row would take longer than to draw it.
  top: 0,
  width: 0,
};
const CHARACTER = 7.25;

function measure() {
  lanes.top = lanes.scroll.scrollTop;
  lanes.width = lanes.scroll.clientWidth;
}

const rowHeight = () => HEIGHTS[lanes.zoom];
const withText = () => rowHeight() >= 14;
const gutter = () => (withText() ? 56 : 12);

function laneWidth() {
  const room = lanes.width - gutter() - 8;
  return Math.max(room / lanes.threads.length, NARROWEST[lanes.zoom]);
}

/// Takes in which threads are shown, and whether only what matters is.
function arrangeLanes(hidden, only) {
  lanes.threads = data.threads.map((_, thread) => thread).filter((thread) => !hidden.has(thread));
  lanes.lane = data.threads.map(() => -1);
  lanes.threads.forEach((thread, lane) => (lanes.lane[thread] = lane));
  lanes.shown = [];
  for (let row = 0; row < count; row += 1) {
    lanes.index[row] = lanes.shown.length;
    const seen = threadOf(row) < 0 || lanes.lane[threadOf(row)] >= 0;
    if (seen && (!only || matters(row))) lanes.shown.push(row);
  }
  sizeLanes();
}

function sizeLanes() {
  measure();
  const space = byId("space");
  const [height, width] = [lanes.shown.length * rowHeight() + 24, gutter() + laneWidth() * lanes.threads.length];
  space.style.height = `${height}px`;
  // With room for a scroll bar, where one is needed.
  lanes.scroll.style.flexBasis = `${height + (width > lanes.width ? 18 : 0)}px`;
  space.style.width = `${width}px`;
}

const laneX = (thread) => gutter() + laneWidth() * Math.max(lanes.lane[thread], 0) + (withText() ? 14 : laneWidth() / 2);
const rowY = (row) => (lanes.index[row] + 0.5) * rowHeight() + 8 - lanes.top;

/// Brings a row into view.
function reveal(row) {
  measure();
  const { scroll } = lanes;
  const [top, height] = [lanes.index[row] * rowHeight(), scroll.clientHeight];
  const margin = Math.min(height / 4, 90);
  if (top < scroll.scrollTop + margin || top > scroll.scrollTop + height - margin - rowHeight()) {
    scroll.scrollTop = Math.max(0, top - height / 2);
  }
  const thread = threadOf(row);
  if (thread < 0) return;
  const left = laneX(thread) - gutter();
  if (left < scroll.scrollLeft || left + laneWidth() > scroll.scrollLeft + scroll.clientWidth - gutter()) {
    scroll.scrollLeft = Math.max(0, left - 40);
  }
}

function drawLanes(current, matches) {
  const { scroll, drawing, shown } = lanes;
  measure();
  const [width, height] = [lanes.width, scroll.clientHeight];
  drawing.setAttribute("width", width);
  drawing.setAttribute("height", height);
  const first = Math.max(0, Math.floor((scroll.scrollTop - 8) / rowHeight()) - 1);
  const last = Math.min(shown.length, Math.ceil((scroll.scrollTop + height) / rowHeight()) + 1);
  const visible = shown.slice(first, last);
  const inside = (row) => row >= visible[0] && row <= visible[visible.length - 1];
  const view = { current, matches, left: scroll.scrollLeft, width, height, visible, inside };
  const board = draw("g", { transform: `translate(${-view.left} 0)` });
  if (visible.length) board.append(...bands(view), ...lines(view), ...bars(view), ...arrowsIn(view));
  for (const row of visible) board.append(drawRow(row, view));
  drawing.replaceChildren(board);
  drawHeads(view);
  moveMap();
}

/// The whole execution at the edge: every thread's steps, the cause, the errors, and what is in view.
function drawMap() {
  const map = byId("map");
  const height = map.clientHeight;
  const size = lanes.shown.length;
  const parts = [];
  // More lines than pixels say nothing more.
  const stride = Math.max(1, Math.floor(size / Math.max(height, 1)));
  const thick = Math.max(height / Math.max(size, 1), 1);
  const mark = (at, kind, wide) => parts.push(draw("rect", { class: kind, x: wide ? 0 : 3, y: (at / size) * height, width: wide ? 12 : 6, height: Math.max(Math.min(thick, 4), wide ? 2 : 1) }));
  for (let at = 0; at < size; at += stride) {
    const thread = threadOf(lanes.shown[at]);
    if (thread >= 0) mark(at, `mark ${hue(thread)}`, false);
  }
  for (const row of data.cause?.rows ?? []) mark(lanes.index[row], "cause", true);
  for (const row of errors) mark(lanes.index[row], "wrong", true);
  parts.push(draw("rect", { class: "view", id: "map-view", x: 0, y: 0, width: 12, height: 0 }));
  map.replaceChildren(...parts);
}

function moveMap() {
  const [box, map, { scroll }] = [byId("map-view"), byId("map"), lanes];
  if (!box) return;
  const whole = Math.max(scroll.scrollHeight, 1);
  box.setAttribute("y", (scroll.scrollTop / whole) * map.clientHeight);
  box.setAttribute("height", Math.min(scroll.clientHeight / whole, 1) * map.clientHeight);
}

const rowOnMap = (y) => lanes.shown[Math.min(Math.floor((y / Math.max(byId("map").clientHeight, 1)) * lanes.shown.length), lanes.shown.length - 1)];

/// Bars beside the lines of threads that hold something.
function bars(view) {
  const parts = [];
  const [top, bottom] = [view.visible[0], view.visible[view.visible.length - 1]];
  for (const thread of lanes.threads.filter((thread) => inSight(thread, view))) {
    const open = [];
    for (const { object, first, last } of heldBy[thread]) {
      if (last < top || first > bottom) continue;
      // Those that overlap stand beside each other.
      let place = open.findIndex((end) => end <= first);
      if (place < 0) place = open.length;
      open[place] = last;
      const x = laneX(thread) - 7 - 5 * Math.min(place, 3);
      const bar = draw("line", { class: `held ${hue(thread)}`, x1: x, x2: x, y1: rowY(Math.max(first, top)), y2: rowY(Math.min(last, bottom)) });
      bar.append(draw("title", {}, `${threadName(thread)} holds ${data.objects[object].name}`));
      parts.push(bar);
    }
  }
  return parts;
}

const inSight = (thread, view) => {
  const x = laneX(thread) - view.left;
  return x > -laneWidth() && x < view.width + 20;
};

/// Behind everything: the current row.
function bands({ current, width, left }) {
  const index = lanes.index[current];
  if (lanes.shown[index] !== current) return [];
  const y = rowY(current) - rowHeight() / 2;
  const error = isError(current) ? " error" : "";
  return [draw("rect", { class: `band${error}`, x: left, y, width, height: Math.max(rowHeight(), 3) })];
}

/// For threads with the earlier access of a race, the last row that tells of one.
const clashes = [];
for (const { accesses, row } of data.failures) {
  if (accesses && row !== null) clashes[accesses[0].thread] = row;
}

/// The threads' lines, broad where they wait.
function lines(view) {
  const [top, bottom] = [view.visible[0], view.visible[view.visible.length - 1]];
  const parts = [];
  const clamp = (y) => Math.min(Math.max(y, -40), view.height + 40);
  for (const thread of lanes.threads.filter((thread) => inSight(thread, view))) {
    const x = laneX(thread);
    const own = ofThread[thread];
    const begin = data.threads[thread].born;
    const end = Math.max(own[own.length - 1] ?? begin, clashes[thread] ?? begin);
    if (begin > bottom || end < top) continue;
    const waits = waitsOf[thread];
    for (let at = Math.max(rank(waits, top, (wait) => wait.first) - 1, 0); at < waits.length; at += 1) {
      const wait = waits[at];
      if (wait.first > bottom) break;
      if (wait.last < top) continue;
      const until = Math.max(rowY(Math.min(wait.last + 1, count - 1)), rowY(wait.first));
      parts.push(draw("line", { class: "waiting", x1: x, x2: x, y1: clamp(rowY(wait.first)), y2: clamp(Math.min(until, rowY(end))) }));
    }
    const span = { x1: x, x2: x, y1: clamp(rowY(begin)), y2: clamp(rowY(end)) };
    parts.push(draw("line", { class: `lane ${hue(thread)}`, ...span }));
  }
  return parts;
}

/// Arrows with an end in sight; those of the current row stand out, and are there wherever they lead.
function arrowsIn(view) {
  const found = new Set();
  for (const row of [...view.visible, view.current]) {
    for (const arrow of [...(arrowsTo.get(row) ?? []), ...(arrowsFrom.get(row) ?? [])]) found.add(arrow);
  }
  const seen = (row) => lanes.shown[lanes.index[row]] === row;
  const parts = [];
  for (const arrow of found) {
    if (!seen(arrow.from) || !seen(arrow.to)) continue;
    const now = arrow.from === view.current || arrow.to === view.current;
    parts.push(curve(arrow.from, arrow.to, `arrow ${arrow.kind}${now ? " now" : ""}`, view));
  }
  for (const { row, because } of data.stuck) {
    for (const reason of because) {
      if (!seen(reason) || !seen(row) || !(view.inside(reason) || view.inside(row))) continue;
      const now = row === view.current || reason === view.current;
      parts.push(curve(reason, row, `arrow reason${now ? " now" : ""}`, view));
    }
  }
  return parts;
}

function curve(from, to, kind, view) {
  const clamp = (y) => Math.min(Math.max(y, -2000), view.height + 2000);
  const [x1, y1, x2, y2] = [laneX(threadOf(from)), clamp(rowY(from)), laneX(threadOf(to)), clamp(rowY(to))];
  const bend = Math.min(Math.max((y2 - y1) / 2, 6), 60);
  const path = `M${x1} ${y1}C${x1} ${y1 + bend} ${x2} ${y2 - bend} ${x2} ${y2}`;
  const size = withText() ? 5 : 3;
  const head = `M${x2 - size} ${y2 - size * 1.9}L${x2} ${y2 - 4}L${x2 + size} ${y2 - size * 1.9}`;
  return draw("path", { class: kind, d: path + head });
}

function drawRow(row, { current, matches, left }) {
  const [thread, y] = [threadOf(row), rowY(row)];
  const classes = ["row", kindOf(row), thread >= 0 ? hue(thread) : "", isError(row) ? "error" : ""];
  if (row === current) classes.push("current");
  if (matches?.has(row)) classes.push("match");
  if (!matters(row)) classes.push("aside");
  const group = draw("g", {
    id: `row-${row}`,
    class: classes.join(" "),
    role: "option",
    "aria-selected": String(row === current),
    "aria-label": sentence(row),
    click: () => select(row),
  });
  const x = thread < 0 ? gutter() + left + 26 : laneX(thread);
  const height = Math.max(rowHeight(), 3);
  group.append(draw("rect", { class: "hit", x: left, y: y - height / 2, width: lanes.width, height }));
  if (thread >= 0) group.append(sign(row, x, y));
  if (withText()) {
    const step = kindOf(row) === "step" ? String(steps[row]) : kindOf(row) === "failure" ? "!" : kindOf(row) === "pending" ? "–" : "";
    const room = thread < 0 ? lanes.width - gutter() : laneWidth() - 28;
    group.append(draw("text", { x: x + (thread < 0 ? 0 : 12), y: y + 4 }, ...label(row, Math.floor(room / CHARACTER))));
    group.append(...raceNote(row, y));
    // Where lanes are scrolled under the numbers.
    const ground = { class: "gutter", x: left, y: y - height / 2, width: gutter() - 12, height };
    if (left > 0) group.append(draw("rect", ground));
    group.append(draw("text", { class: "number", x: left + gutter() - 18, y: y + 4 }, step));
  }
  group.append(draw("title", {}, sentence(row)));
  return group;
}

function label(row, room) {
  const text = textOf(row);
  if (text.length > room) return [`${text.slice(0, room - 1)}…`];
  const place = shortPlace(row);
  if (!place || text.length + place.length + 2 > room) return [text];
  return [text, draw("tspan", { class: "place", dx: 10 }, place)];
}

/// A race is between two lanes: the earlier access belongs somewhere above, in the other one.
function raceNote(row, y) {
  const failure = kindOf(row) === "failure" && data.failures.find((failure) => failure.row === row);
  if (!failure || !failure.accesses) return [];
  const [first, second] = failure.accesses;
  if (lanes.lane[first.thread] < 0 || lanes.lane[second.thread] < 0) return [];
  const [x1, x2] = [laneX(first.thread), laneX(second.thread)];
  const room = Math.floor((laneWidth() - 28) / CHARACTER);
  const text = `${first.at ? first.at.split("/").pop() : "an access"}, earlier`.slice(0, room);
  // Between the two, without crossing the words of the one on the left.
  const words = x1 < x2 ? text.length : Math.min(textOf(row).length + 2 + shortPlace(row).length, room);
  const from = Math.min(x1, x2) + 22 + words * CHARACTER;
  const parts = [draw("circle", { class: "clash", cx: x1, cy: y, r: 5 }), draw("text", { x: x1 + 12, y: y + 4 }, text)];
  const to = Math.max(x1, x2) - 8;
  if (from < to) parts.push(draw("line", { class: "clash", x1: from, x2: to, y1: y, y2: y }));
  return parts;
}

function sign(row, x, y) {
  const size = Math.min(Math.max(rowHeight() / 5, 1.5), 5.5);
  if (isError(row)) {
    const s = Math.max(size * 1.3, 3);
    return draw("path", { class: "sign", d: `M${x} ${y - s}L${x + s} ${y}L${x} ${y + s}L${x - s} ${y}Z` });
  }
  if (kindOf(row) === "spawn") return draw("circle", { class: "sign hollow", cx: x, cy: y, r: size });
  return draw("circle", { class: "sign", cx: x, cy: y, r: size });
}

function drawHeads(view) {
  const heads = lanes.threads.filter((thread) => inSight(thread, view)).map((thread) => {
    const { path, name } = data.threads[thread];
    const head = make("span", { class: `head ${hue(thread)}`, title: name ? `${path} "${name}"` : path }, name ? `${path} ${name}` : path);
    head.style.left = `${laneX(thread) - view.left - (withText() ? 8 : laneWidth() / 2)}px`;
    head.style.width = `${laneWidth() - 6}px`;
    return head;
  });
  byId("heads").replaceChildren(...heads);
}
