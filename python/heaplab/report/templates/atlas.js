// Hides the rows of all tables that lack one of the words, or one of the chosen values. The words are kept in
// the address, so that a search can be passed on and survives a reload.
const find = document.getElementById("find"), found = document.getElementById("found");
const filters = [...document.querySelectorAll("select[data-filter]")];
const rows = [...document.querySelectorAll("main tbody tr")].map((row) => [row, row.textContent.toLowerCase()]);

function show() {
  const words = find.value.toLowerCase().split(/\s+/).filter(Boolean);
  const wanted = words.concat(filters.map((one) => one.value.toLowerCase()).filter(Boolean));
  let shown = 0;
  for (const [row, text] of rows) {
    row.hidden = !wanted.every((word) => text.includes(word));
    shown += !row.hidden;
  }
  found.textContent = wanted.length ? `${shown} of ${rows.length} rows` : "";
  history.replaceState(null, "", find.value ? `?find=${encodeURIComponent(find.value)}${location.hash}` : location.pathname + location.hash);
}

find.value = new URLSearchParams(location.search).get("find") ?? "";
find.addEventListener("input", show);
filters.forEach((one) => one.addEventListener("change", show));
find.form.addEventListener("submit", (event) => event.preventDefault());
if (find.value) show();
