// Light or dark, as the system has it or as the button says. The choice lasts for the page.

function switchTheme() {
  const root = document.documentElement;
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
}

document.getElementById("theme")?.addEventListener("click", switchTheme);
