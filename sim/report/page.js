// A read-out of the numbers nearest to the pointer. They come from the table beneath each chart.
for (const chart of document.querySelectorAll(".chart")) {
  const plot = chart.querySelector(".plot"), svg = plot.querySelector("svg");
  const names = [...chart.querySelectorAll("thead th")].map((th) => th.textContent);
  const rows = [...chart.querySelectorAll("tbody tr")].map((tr) => ({ x: +tr.dataset.x, cells: [...tr.children].map((c) => c.textContent) }));
  if (!rows.length) continue;
  const tip = document.createElement("div"), line = document.createElementNS(svg.namespaceURI, "line");
  tip.className = "tip";
  tip.hidden = true;
  chart.append(tip);
  line.setAttribute("y1", 10);
  line.setAttribute("y2", svg.viewBox.baseVal.height - 40);
  line.style.stroke = "var(--muted)";
  line.style.visibility = "hidden";
  svg.append(line);
  const hide = () => { tip.hidden = true; line.style.visibility = "hidden"; };
  svg.addEventListener("pointerleave", hide);
  svg.addEventListener("pointermove", (event) => {
    const box = svg.getBoundingClientRect(), scale = box.width / svg.viewBox.baseVal.width;
    const at = (event.clientX - box.left) / scale;
    const row = rows.reduce((best, r) => (Math.abs(r.x - at) < Math.abs(best.x - at) ? r : best));
    line.setAttribute("x1", row.x);
    line.setAttribute("x2", row.x);
    line.style.visibility = "visible";
    tip.replaceChildren();
    names.forEach((name, i) => {
      const entry = document.createElement(i ? "div" : "b");
      entry.textContent = name + " " + row.cells[i];
      tip.append(entry);
    });
    tip.hidden = false;
    const outer = chart.getBoundingClientRect(), x = box.left - outer.left + row.x * scale;
    const right = x + 12 + tip.offsetWidth > outer.width;
    tip.style.left = Math.max(0, right ? x - 12 - tip.offsetWidth : x + 12) + "px";
    tip.style.top = box.top - outer.top + 8 + "px";
  });
}
