// What stands beside the lanes: what went wrong, the step, the state after it.

function showWhy() {
  const body = byId("why-body");
  const [first] = data.failures;
  byId("why").hidden = !first;
  const told = new Set();
  if (data.cause) {
    const rows = data.cause.rows.flatMap((row) => [" ", lead(row, stepName(row))]);
    body.append(make("p", { class: "cause" }, make("b", {}, "Cause: "), data.cause.text, ...rows));
  }
  for (const failure of data.failures) {
    const message = `${failure.kind} ${failure.message}`;
    if (told.has(message)) continue;
    told.add(message);
    body.append(tellFailure(failure));
  }
  if (data.stuck.length) body.append(...tellStuck());
  if (data.again) {
    body.append(make("p", { class: "again" }, "Run exactly this execution again: ", make("code", {}, data.again)));
  }
}

function tellFailure(failure) {
  const rule = failure.rule ? ` (${failure.rule})` : "";
  const head = make("h3", {}, `${failure.kind}${rule} `);
  if (failure.row !== null) head.append(lead(failure.row, "show"));
  const part = make("div", { class: "failure" }, head);
  const stuck = ["deadlock", "livelock"].includes(failure.kind) && data.stuck.length;
  // What each thread waits for is told below, with links.
  if (!stuck) part.append(make("p", { class: "message" }, failure.message));
  if (failure.variables.length) part.append(make("ul", { class: "variables" }, ...failure.variables.map((text) => make("li", {}, text))));
  if (failure.places.length && !stuck) part.append(make("ul", {}, ...failure.places.map((place, index) => tellPlace(failure, place, index))));
  return part;
}

function tellPlace(failure, place, index) {
  const go = () => showPlace(place.file, place.line);
  const item = make("li", {}, make("button", { type: "button", class: "link", click: go }, `${fileName(place.file)}:${place.line}`));
  const thread = failure.threads[index];
  if (thread !== null) item.prepend(chip(thread), " ");
  const calls = failure.stacks[index];
  if (calls?.length > 1) item.append(make("ol", { class: "calls" }, ...calls.map((call) => make("li", {}, call))));
  return item;
}

function tellStuck() {
  const item = (stuck) => {
    const line = make("li", {}, chip(stuck.thread), ` ${stuck.text} `, lead(stuck.row, "show"));
    for (const row of stuck.because) line.append(" ", lead(row, stepName(row)));
    return line;
  };
  const parts = [make("ul", {}, ...data.stuck.map(item))];
  const cycle = findCycle();
  if (cycle) parts.unshift(drawCycle(cycle));
  return parts;
}

/// Threads that wait for each other in a ring, with what each waits for.
function findCycle() {
  const next = (stuck) => {
    const other = stuck.on.find((thread) => data.stuck.some((it) => it.thread === thread));
    return data.stuck.find((it) => it.thread === other);
  };
  for (const start of data.stuck) {
    const ring = [start];
    for (let at = next(start); at && ring.length <= data.stuck.length; at = next(at)) {
      if (at === start) return ring;
      ring.push(at);
    }
  }
  return undefined;
}

function drawCycle(ring) {
  const size = ring.length;
  const name = (stuck) => (stuck.object === null ? "its end" : data.objects[stuck.object].name);
  const told = ring.map((stuck, at) => `${threadName(stuck.thread)} waits for ${name(stuck)}, which ${threadName(ring[(at + 1) % size].thread)} has`);
  if (size > 8) return make("p", { class: "message" }, told.join("; "));
  const height = size <= 2 ? 112 : size <= 4 ? 184 : 280;
  const [cx, cy, rx, ry] = [210, height / 2, size === 1 ? 0 : 130, size <= 2 ? 0 : height / 2 - 34];
  const point = (at) => {
    const angle = size === 2 ? Math.PI * (1 + at) : (2 * Math.PI * at) / size - Math.PI / 2;
    return [cx + rx * Math.cos(angle), cy + ry * Math.sin(angle)];
  };
  const picture = draw("svg", { class: "cycle", viewBox: `0 0 420 ${height}`, role: "img", "aria-label": `A cycle: ${told.join("; ")}` });
  ring.forEach((stuck, at) => {
    const [[x1, y1], [x2, y2]] = [point(at), point((at + 1) % size)];
    const [dx, dy] = [x2 - x1, y2 - y1];
    const length = Math.hypot(dx, dy) || 1;
    // Bowed to the outside, so that two arrows between two threads do not lie on each other.
    const [bx, by] = [(x1 + x2) / 2 + (dy / length) * 38, (y1 + y2) / 2 - (dx / length) * 38];
    const cut = (from, to, by) => {
      const far = Math.hypot(to[0] - from[0], to[1] - from[1]) || 1;
      return [from[0] + ((to[0] - from[0]) / far) * by, from[1] + ((to[1] - from[1]) / far) * by];
    };
    const [a, b] = [cut([x1, y1], [bx, by], 30), cut([x2, y2], [bx, by], 34)];
    if (size === 1) return;
    picture.append(draw("path", { class: "held", d: `M${a}Q${bx} ${by} ${b}` }));
    const turn = (Math.atan2(b[1] - by, b[0] - bx) * 180) / Math.PI;
    picture.append(draw("path", { class: "tip", d: "M0 0L-9 -4.5L-9 4.5Z", transform: `translate(${b}) rotate(${turn})` }));
    picture.append(draw("text", { x: bx, y: by + 4, class: "object" }, name(stuck)));
  });
  ring.forEach((stuck, at) => {
    const [x, y] = point(at);
    const width = Math.max(threadName(stuck.thread).length * 7.4 + 20, 56);
    picture.append(
      draw("rect", { class: `node ${hue(stuck.thread)}`, x: x - width / 2, y: y - 13, width, height: 26, rx: 13 }),
      draw("text", { x, y: y + 4, class: "name" }, threadName(stuck.thread)),
    );
  });
  if (size === 1) picture.append(draw("text", { x: cx, y: cy + 34, class: "object" }, `waits for ${name(ring[0])}, which it has`));
  return picture;
}

const HANDS = {
  spawn: "creation", join: "end of the thread", lock: "lock", value: "value", wake: "notification", message: "message",
  done: "initialisation", permit: "permit", arrival: "barrier", close: "end of senders",
};

function showStep(row) {
  byId("step").hidden = threadOf(row) < 0;
  byId("step-title").replaceChildren(
    ...(threadOf(row) >= 0 ? [chip(threadOf(row), "full")] : []),
    ` ${kindOf(row) === "step" ? `${steps[row]}. ` : ""}${textOf(row)}`,
  );
  const body = byId("step-body");
  const parts = [];
  const place = placeOf(row);
  if (place) parts.push(make("p", { class: "place" }, place));
  if (objectOf(row) >= 0) parts.push(make("p", { class: "place" }, aboutObject(objectOf(row))));
  const list = [];
  const stuck = stuckAt.get(row);
  if (stuck) list.push(make("li", { class: "error" }, `${threadName(stuck.thread)} ${stuck.text}`));
  for (const { from, kind } of arrowsTo.get(row) ?? []) {
    list.push(make("li", {}, `after `, lead(from, stepName(from)), ` of ${threadName(threadOf(from))} (${HANDS[kind]})`));
  }
  for (const { to, kind } of (arrowsFrom.get(row) ?? []).slice(0, 8)) {
    list.push(make("li", {}, `before `, lead(to, stepName(to)), ` of ${threadName(threadOf(to))} (${HANDS[kind]})`));
  }
  if (list.length) parts.push(make("ul", {}, ...list));
  const calls = data.stacks[rows[row][STACK]] ?? [];
  if (calls.length) parts.push(make("ol", { class: "calls" }, ...calls.map((call) => make("li", {}, call))));
  body.replaceChildren(...parts);
}

/// What an object is, and where it comes from.
function aboutObject(object) {
  const { name, kind, first, allocated } = data.objects[object];
  const parts = [name.startsWith(kind) ? name : `${name}: ${kind}`, allocated && `allocated at ${allocated}`, first && `first used at ${first}`];
  return parts.filter(Boolean).join(", ");
}

/// Most lines of each table; the rest is told as a number.
const LINES = 60;

function showState(row) {
  const known = row < data.known;
  byId("unknown").hidden = known;
  showThreads(row);
  showVariables(row);
  byId("objects").hidden = !data.objects.length;
  if (known) showObjects(row);
  else byId("objects").tBodies[0].replaceChildren();
}

function showThreads(row) {
  const line = (thread) => {
    const at = standsAt(thread, row);
    const wait = row < data.known ? waitOf(thread, row) : undefined;
    const name = make("th", { scope: "row" }, chip(thread, threadOf(row) === thread ? "full" : ""));
    const place = at === undefined ? "" : lead(at, shortPlace(at) || stepName(at));
    return make("tr", { class: wait ? "waits" : "" }, name, make("td", {}, place), make("td", {}, whatNow(thread, row, at, wait)));
  };
  const all = data.threads.map((_, thread) => thread);
  const here = all.filter((thread) => born(thread, row));
  const body = here.slice(0, LINES).map(line);
  if (here.length > LINES) body.push(more(here.length - LINES, 3));
  byId("threads").tBodies[0].replaceChildren(...body);
}

function whatNow(thread, row, at, wait) {
  if (at === row) return ["pending", "failure"].includes(kindOf(row)) ? textOf(row) : `did ${textOf(row)}`;
  if (at === undefined) return "is at its end";
  if (!wait) return `is about to ${textOf(at)}`;
  if (wait.of >= 0) return `waits for the end of ${threadName(wait.of)}`;
  if (wait.object >= 0) return `waits: ${textOf(at)}`;
  return `cannot go on: ${textOf(at)}`;
}

/// Variables that the failure is about, from what was written to them.
function showVariables(row) {
  byId("variables").hidden = !data.variables.length;
  const line = ({ name, values }) => {
    const at = Math.max(rank(values, row, ([from]) => from) - 1, 0);
    const [from, now] = values[at];
    const was = at > 0 && from === row && values[at - 1][1] !== now ? values[at - 1][1] : undefined;
    return make(
      "tr",
      { class: was === undefined ? "" : "changed" },
      make("th", { scope: "row" }, name),
      make("td", {}, ...(was === undefined ? [now] : [make("s", {}, was), " → ", make("b", {}, now)])),
    );
  };
  byId("variables").tBodies[0].replaceChildren(...data.variables.map(line));
}

function showObjects(row) {
  const waiting = new Map();
  data.threads.forEach((_, thread) => {
    const wait = waitOf(thread, row);
    if (!wait || wait.object < 0) return;
    if (!waiting.has(wait.object)) waiting.set(wait.object, []);
    waiting.get(wait.object).push(thread);
  });
  const used = (object) => upTo(ofObject[object], row) ?? -1;
  // What was used last comes first in long lists; short ones stay as they are.
  let order = data.objects.map((_, object) => object);
  if (order.length > 12) order.sort((a, b) => used(b) - used(a));
  const left = order.length - LINES;
  order = order.slice(0, LINES);
  const line = (object) => {
    const { now, was } = stateOf(object, row);
    const value = was && was.value !== now.value ? [make("s", {}, was.value), " → ", make("b", {}, now.value)] : [now.value];
    const on = objectOf(row) === object ? " on" : "";
    return make(
      "tr",
      { class: `${was ? "changed" : ""}${on}` },
      make("th", { scope: "row", title: aboutObject(object) }, data.objects[object].name),
      make("td", {}, ...value),
      make("td", {}, ...new Set(now.holders.map((thread) => chip(thread)))),
      make("td", {}, ...(waiting.get(object) ?? []).map((thread) => chip(thread, "waits"))),
    );
  };
  const body = order.map(line);
  if (left > 0) body.push(more(left, 4));
  byId("objects").tBodies[0].replaceChildren(...body);
}

const more = (left, columns) => make("tr", {}, make("td", { colspan: columns }, `… and ${left} more`));

/// What is printed: every row as a line of a table.
const PRINTED = 5000;

function layOut() {
  const line = (row) =>
    make(
      "tr",
      { class: isError(row) ? "error" : "" },
      make("td", {}, kindOf(row) === "step" ? String(steps[row]) : ""),
      make("td", {}, threadOf(row) < 0 ? "" : threadName(threadOf(row))),
      make("td", {}, textOf(row) + (stuckAt.has(row) ? ` – ${stuckAt.get(row).text}` : "")),
      make("td", {}, placeOf(row)),
    );
  const head = make("tr", {}, ...["step", "thread", "what", "where"].map((name) => make("th", { scope: "col" }, name)));
  const shown = lanes.shown.slice(0, PRINTED);
  const rest = lanes.shown.length - shown.length;
  byId("paper").replaceChildren(
    make("table", {}, make("thead", {}, head), make("tbody", {}, ...shown.map(line))),
    rest > 0 ? make("p", {}, `… and ${rest} more rows, which are not printed.`) : "",
  );
}
