// Sorting, the filter, the theme, and a hint beside what is wider than the page. Everything on a page can be read without this file.
"use strict";

// A column of words and numbers: a number counts by its value, what has none stands last.
function order(row, column) {
  const cell = row.cells[column];
  if (cell.dataset.order !== undefined) return Number(cell.dataset.order);
  const text = cell.textContent.trim();
  if (text === "—" || text === "") return null;
  const number = Number(text.replace(/,/g, "").replace("−", "-"));
  return Number.isNaN(number) ? text.toLowerCase() : number;
}

function compare(a, b) {
  if (typeof a === typeof b) return a < b ? -1 : a > b ? 1 : 0;
  return typeof a === "number" ? -1 : 1;
}

function sort(table, heading) {
  const down = heading.getAttribute("aria-sort") === "ascending";
  const column = heading.cellIndex;
  const body = table.tBodies[0];
  const rows = [...body.rows].map((row) => [order(row, column), row]);
  const known = rows.filter(([value]) => value !== null);
  known.sort((a, b) => (down ? -1 : 1) * compare(a[0], b[0]));
  const unknown = rows.filter(([value]) => value === null);
  for (const [, row] of [...known, ...unknown]) body.append(row);
  for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
  heading.setAttribute("aria-sort", down ? "descending" : "ascending");
}

for (const table of document.querySelectorAll("table.sortable")) {
  for (const heading of table.tHead.rows[0].cells) {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...heading.childNodes);
    button.addEventListener("click", () => sort(table, heading));
    heading.append(button);
  }
}

// A table or plot that is wider than its place says so.
const sizes = new ResizeObserver((changed) => {
  for (const { target } of changed) {
    target.classList.toggle("wide", target.scrollWidth > target.clientWidth + 1);
  }
});
for (const place of document.querySelectorAll(".scroll")) sizes.observe(place);

for (const input of document.querySelectorAll("input[data-filter]")) {
  const rows = [...document.getElementById(input.dataset.filter).tBodies[0].rows];
  const told = input.parentElement.querySelector("output");
  input.parentElement.hidden = false;
  input.addEventListener("input", () => {
    const wanted = input.value.trim().toLowerCase();
    for (const row of rows) row.hidden = !row.textContent.toLowerCase().includes(wanted);
    const shown = rows.filter((row) => !row.hidden).length;
    told.textContent = wanted ? `${shown} of ${rows.length}` : "";
  });
}

const theme = document.getElementById("theme");
const stored = (() => { try { return localStorage.getItem("theme"); } catch { return null; } })();
const preferred = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";

function use(scheme) {
  document.documentElement.style.colorScheme = scheme;
  theme.textContent = scheme === "dark" ? "Light theme" : "Dark theme";
  theme.dataset.scheme = scheme;
}

theme.hidden = false;
use(stored || preferred);
theme.addEventListener("click", () => {
  use(theme.dataset.scheme === "dark" ? "light" : "dark");
  try { localStorage.setItem("theme", theme.dataset.scheme); } catch { /* kept for this page only */ }
});
