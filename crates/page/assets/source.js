// The source, with the line at which every thread stands.

const source = { file: -1, from: 0, to: 0, lines: [], code: byId("code") };
/// Lines of a long file that are there at once, on either side of the current one.
const AROUND = 600;
const split = data.sources.map((file) => (file.text === null ? undefined : file.text.replace(/\n$/, "").split(/\r?\n/)));

const WORDS = new Set(
  ("as async auto await bool break case catch char class const constexpr continue default delete do double else enum extern false " +
    "float fn for goto if impl in inline int let long loop match mod move mut namespace new nullptr operator private protected pub " +
    "public ref return self short signed sizeof static struct super switch template this throw trait true try type typedef typename " +
    "union unsafe unsigned use using virtual void volatile where while").split(" "),
);
const TOKEN = /(\/\/.*|\/\*.*?(?:\*\/|$))|("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)')|(^\s*#\s*\w+)|([A-Za-z_]\w*)|(\d[\w.]*)/g;

/// A line of code with its words told apart.
function coloured(line) {
  if (line.length > 2000) return [line];
  const parts = [];
  let done = 0;
  for (const token of line.matchAll(TOKEN)) {
    const [text, comment, string, directive, word, number] = token;
    const kind = comment ? "comment" : string ? "string" : directive ? "word" : WORDS.has(word) ? "word" : number ? "numeral" : "";
    if (!kind) continue;
    parts.push(line.slice(done, token.index), make("span", { class: kind }, text));
    done = token.index + text.length;
  }
  return [...parts, line.slice(done)];
}

/// The lines of failures, which are marked whatever the step.
const guilty = new Set(data.failures.flatMap((failure) => failure.places.map((place) => `${place.file}:${place.line}`)));

function openFile(file, line) {
  const text = split[file];
  const inside = text && line > source.from && line <= source.to;
  if (file !== source.file || !inside) {
    const length = text?.length ?? 0;
    source.file = file;
    source.from = length > 2 * AROUND ? Math.max(0, line - AROUND) : 0;
    source.to = length > 2 * AROUND ? Math.min(length, line + AROUND) : length;
    source.lines = (text ?? []).slice(source.from, source.to).map((content, index) => {
      const number = source.from + index + 1;
      const wrong = guilty.has(`${file}:${number}`) ? " guilty" : "";
      return make("div", { class: `line${wrong}` }, make("span", { class: "who" }), make("span", { class: "number" }, String(number)), make("code", {}, ...coloured(content)));
    });
    source.code.replaceChildren(...source.lines);
    byId("file").value = String(file);
    tellNote(file);
  }
}

function tellNote(file) {
  const note = file < 0 ? "" : (data.sources[file].note ?? "");
  byId("note").textContent = note;
  byId("source").classList.toggle("noted", note !== "");
}

/// Shows a row's line, and where the others stand.
function showSource(row) {
  // A row of all threads has no line of its own: that of one who is somewhere.
  const somewhere = data.threads.map((_, thread) => standsAt(thread, row)).filter((at) => at !== undefined && rows[at][FILE] >= 0);
  const at = rows[row][FILE] >= 0 ? row : somewhere[somewhere.length - 1];
  if (at !== undefined) openFile(rows[at][FILE], rows[at][LINE]);
  else if (source.file < 0 && data.sources.length) openFile(0, 1);
  for (const line of source.code.querySelectorAll(".line.here, .line.stands")) {
    line.classList.remove("here", "stands");
    line.firstChild.replaceChildren();
  }
  const here = new Map();
  const lineAt = (line) => source.lines[line - 1 - source.from];
  data.threads.forEach((_, thread) => {
    const at = standsAt(thread, row);
    if (at === undefined || rows[at][FILE] !== source.file) return;
    const line = lineAt(rows[at][LINE]);
    if (!line) return;
    line.classList.add(at === row ? "here" : "stands");
    if (!here.has(line)) here.set(line, []);
    here.get(line).push(thread);
  });
  const widest = Math.max(1, ...[...here.values()].map((threads) => Math.min(threads.length, 3)));
  source.code.style.setProperty("--who", `${[0, 6, 10.5, 13][widest]}em`);
  for (const [line, threads] of here) line.firstChild.append(...tellWho(threads, threadOf(row)));
  if (at !== undefined) center(lineAt(rows[at][LINE]));
}

/// The threads at a line: two by name, the one that has just moved first.
function tellWho(threads, current) {
  threads.sort((a, b) => (b === current) - (a === current));
  const title = threads.map(threadName).join(", ");
  const chips = threads.slice(0, 2).map((thread) => chip(thread, thread === current ? "full" : ""));
  if (threads.length > 2) chips.push(make("span", { class: "chip", title }, `+${threads.length - 2}`));
  return chips;
}

function center(line) {
  if (!line) return;
  const { code } = source;
  const top = line.offsetTop;
  if (top < code.scrollTop + 30 || top > code.scrollTop + code.clientHeight - 50) code.scrollTop = top - code.clientHeight / 2;
}

/// Opens a place that is no row's.
function showPlace(file, line) {
  openFile(file, line);
  center(source.lines[line - 1 - source.from]);
  source.code.focus();
}

function fillFiles() {
  const option = (file, index) => make("option", { value: String(index) }, file.name + (file.text === null ? " (not there)" : ""));
  byId("file").append(...data.sources.map(option));
  byId("source").hidden = data.sources.length === 0;
  byId("file").addEventListener("change", (event) => openFile(Number(event.target.value), 1));
}
