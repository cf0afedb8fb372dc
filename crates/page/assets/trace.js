// The trace: tables from the data element, and questions about them. Rows are numbered from 0 to the end; steps, which
// people count, from 1.

const data = JSON.parse(document.getElementById("data").textContent);

const [KIND, THREAD, OBJECT, TEXT, FILE, LINE, STACK] = [0, 1, 2, 3, 4, 5, 6];
const rows = data.rows;
const count = rows.length;

const kindOf = (row) => rows[row][KIND];
const threadOf = (row) => rows[row][THREAD];
const objectOf = (row) => rows[row][OBJECT];
const textOf = (row) => data.texts[rows[row][TEXT]];
const threadName = (thread) => data.threads[thread].path;

/// For each row, the number of its step or of the last one before it.
const steps = new Uint32Array(count);
/// For each thread and each object, its rows.
const ofThread = data.threads.map(() => []);
const ofObject = data.objects.map(() => []);
{
  let step = 0;
  rows.forEach((row, index) => {
    if (row[KIND] === "step") step += 1;
    steps[index] = step;
    if (row[THREAD] >= 0) ofThread[row[THREAD]].push(index);
    if (row[OBJECT] >= 0) ofObject[row[OBJECT]].push(index);
  });
}

/// How many entries of a sorted list are not above a number.
function rank(list, number, key = (entry) => entry) {
  let [low, high] = [0, list.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (key(list[middle]) <= number) low = middle + 1;
    else high = middle;
  }
  return low;
}

/// The last row that is no higher in a sorted list, and the first that is higher.
const upTo = (list, row) => list[rank(list, row) - 1];
const beyond = (list, row) => list[rank(list, row)];
const below = (list, row) => list[rank(list, row - 1) - 1];

const grouped = (pairs, size) => {
  const lists = Array.from({ length: size }, () => []);
  for (const [key, value] of pairs) lists[key].push(value);
  return lists;
};

const changesOf = grouped(
  data.changes.map(([row, object, holders, value]) => [object, { row, holders, value }]),
  data.objects.length,
);
const waitsOf = grouped(
  data.waits.map(([thread, first, last, object, of]) => [thread, { first, last, object, of }]),
  data.threads.length,
);
for (const waits of waitsOf) waits.sort((a, b) => a.first - b.first);

const arrowsTo = new Map();
const arrowsFrom = new Map();
for (const [from, to, kind] of data.arrows) {
  const arrow = { from, to, kind };
  for (const [map, row] of [[arrowsTo, to], [arrowsFrom, from]]) {
    if (!map.has(row)) map.set(row, []);
    map.get(row).push(arrow);
  }
}

/// An object after a row: `now`, and what it was before if this very row changed it.
function stateOf(object, row) {
  const changes = changesOf[object];
  const at = Math.max(rank(changes, row, (change) => change.row) - 1, 0);
  const changed = at > 0 && changes[at].row === row;
  return { now: changes[at], was: changed ? changes[at - 1] : undefined };
}

/// What a thread waits for after a row, if it does.
function waitOf(thread, row) {
  const waits = waitsOf[thread];
  const wait = waits[rank(waits, row, (entry) => entry.first) - 1];
  return wait && row <= wait.last ? wait : undefined;
}

const born = (thread, row) => thread === 0 || data.threads[thread].born <= row;

/// The row at which a thread stands after a row: the one it has just done if that is it, else what it does next.
function standsAt(thread, row) {
  if (threadOf(row) === thread) return row;
  if (!born(thread, row)) return undefined;
  const own = ofThread[thread];
  const last = own[own.length - 1];
  // What was never done is true of the whole end.
  return beyond(own, row) ?? (last !== undefined && kindOf(last) === "pending" ? last : undefined);
}

const fileName = (file) => data.sources[file].name;
function placeOf(row) {
  const [file, line] = [rows[row][FILE], rows[row][LINE]];
  return file < 0 ? "" : `${fileName(file)}:${line}`;
}
/// A place without its directories.
const shortPlace = (row) => placeOf(row).split("/").pop();

/// One row in words.
function sentence(row) {
  const step = kindOf(row) === "step" ? `step ${steps[row]}, ` : kindOf(row) === "pending" ? "at the end, " : "";
  const who = threadOf(row) >= 0 ? `${threadName(threadOf(row))}: ` : "";
  const place = placeOf(row);
  return `${step}${who}${textOf(row)}${place && `, at ${place}`}`;
}

const isError = (row) => kindOf(row) === "failure" || (kindOf(row) === "pending" && stuckAt.has(row));
const stuckAt = new Map(data.stuck.map((stuck) => [stuck.row, stuck]));
/// Rows that the failure can depend on, where that is known.
const matter = data.matter && new Set(data.matter);
const matters = (row) => !matter || matter.has(row);
/// Rows at which another thread goes on although the one before could have.
const preemptions = [];
{
  let before = -1;
  for (let row = 0; row < count; row += 1) {
    if (kindOf(row) !== "step") continue;
    const thread = before < 0 ? -1 : threadOf(before);
    if (thread >= 0 && thread !== threadOf(row)) {
      const next = beyond(ofThread[thread], before);
      const able = next !== undefined && kindOf(next) === "step" && row < data.known && !waitOf(thread, row - 1);
      if (able) preemptions.push(row);
    }
    before = row;
  }
}

/// For each thread, from where to where it holds what.
const heldBy = data.threads.map(() => []);
changesOf.forEach((changes, object) => {
  changes.forEach(({ row, holders }, at) => {
    const last = at + 1 < changes.length ? changes[at + 1].row : count - 1;
    for (const thread of holders) {
      const known = heldBy[thread];
      const open = known[known.length - 1];
      // A change of its value alone does not end it.
      if (open && open.object === object && open.last === row) open.last = last;
      else known.push({ object, first: row, last });
    }
  });
});

/// Rows that are about an error.
const errors = [];
for (let row = 0; row < count; row += 1) if (isError(row)) errors.push(row);
