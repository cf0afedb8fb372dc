// Elements are made here and nowhere else: text goes in as text, so nothing that a program says becomes markup.

const byId = (id) => document.getElementById(id);

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "click") element.addEventListener("click", value);
    else if (value !== undefined && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== undefined && child !== ""));
  return element;
}

const make = (tag, attributes = {}, ...children) => fill(document.createElement(tag), attributes, children);
const draw = (tag, attributes = {}, ...children) =>
  fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);

/// Which of the colours is a thread's.
const hue = (thread) => `t${thread % 8}`;
/// A thread's name in its colour.
const chip = (thread, more = "") => make("span", { class: `chip ${hue(thread)} ${more}` }, threadName(thread));
/// A button that leads to a row.
const lead = (row, text) =>
  make("button", { type: "button", class: "link row-link", "aria-label": `${text}: ${sentence(row)}`, click: () => select(row) }, text);
/// The step that people know a row by.
const stepName = (row) => (kindOf(row) === "step" ? `step ${steps[row]}` : kindOf(row) === "pending" ? "the end" : textOf(row));
