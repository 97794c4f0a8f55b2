// Click on a heading sorts the table by that column, another click turns it around.
for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0];
  const headings = [...table.tHead.rows[0].cells];
  const value = (row, column) => row.cells[column].dataset.value;
  headings.forEach((heading, column) => {
    const button = heading.querySelector("button");
    if (!button) return;
    button.addEventListener("click", () => {
      const text = heading.dataset.type === "text";
      const now = heading.getAttribute("aria-sort");
      // numbers start with the largest, text with the first
      const up = now ? now === "descending" : text;
      const compare = (a, b) => text
        ? a.localeCompare(b)
        : Number(a) - Number(b);
      const rows = [...body.rows].sort((a, b) =>
        (up ? 1 : -1) * compare(value(a, column), value(b, column)));
      headings.forEach((other) => other.removeAttribute("aria-sort"));
      heading.setAttribute("aria-sort", up ? "ascending" : "descending");
      body.append(...rows);
    });
  });
}

// A large picture is shrunk to the page; its button shows it in full size.
for (const button of document.querySelectorAll("button.zoom")) {
  button.addEventListener("click", () => {
    const full = button.closest("figure").classList.toggle("full");
    button.setAttribute("aria-pressed", String(full));
  });
}
