
// The list: the reader's own time, and entries by words and news.
for (const time of document.querySelectorAll("time")) {
  time.title = time.textContent;
  time.textContent = new Date(time.dateTime).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });
}
const filter = document.getElementById("filter");
function choose() {
  const words = document.getElementById("words").value.toLowerCase().split(/\s+/).filter(Boolean);
  const news = document.getElementById("news").checked;
  const entries = [...document.querySelectorAll("[data-entry]")];
  for (const entry of entries) {
    const text = entry.textContent.toLowerCase();
    entry.hidden = !words.every((word) => text.includes(word)) || (news && !entry.dataset.news);
  }
  const shown = entries.filter((entry) => !entry.hidden).length;
  document.getElementById("shown").textContent = shown < entries.length ? `${shown} of ${entries.length} shown` : "";
}
if (filter) {
  filter.hidden = false;
  filter.addEventListener("input", choose);
  filter.addEventListener("submit", (event) => event.preventDefault());
}
