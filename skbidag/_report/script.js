"use strict";
// The network: what is drawn, and the table of it, follow from the data in the page and
// from `state`. Nothing is loaded and nothing is sent.
(() => {
  const byId = (id) => document.getElementById(id);
  const data = JSON.parse(byId("network-data").textContent);
  const nNodes = data.names.length;
  const svg = byId("network"), scene = byId("scene"), tip = byId("tip");

  const SMALLEST_FONT = 8; // pixels; below, only labels that have room are shown
  const OVERVIEW_FONT = 10.5;
  const HEAD = 10; // length of an arrowhead
  const ROWS = 200; // of the table, until more are asked for
  const NAMED = 30; // variables without edges

  const state = {
    view: "consensus",
    sample: 0,
    threshold: data.threshold,
    focus: null, // a node
    scope: "all",
    unconnected: nNodes <= 40,
    sort: { column: "joined", up: false },
    allRows: false,
    places: null, // where nodes are: {x, y, moved}
    camera: { scale: 1, x: 0, y: 0 },
    seesAll: true, // the camera follows what is drawn
  };

  // ------------------------------------------------------------------ the data

  // Numbers of a pair i < j: of i -> j at [0], of j -> i at [1].
  const pairs = data.pairs.map(([i, j, joined, ...rest]) => ({
    i, j, joined,
    dag: rest.slice(0, 2),
    cpdag: rest.slice(2, 4),
    error: rest.slice(4, 6),
    rhat: rest.slice(6, 8),
    effect: rest.slice(8, 10),
  }));
  const key = (i, j) => i * nNodes + j;
  const pairAt = new Map(pairs.map((pair) => [key(pair.i, pair.j), pair]));
  const routeAt = new Map(data.routes.map(([i, j, points]) => [key(i, j), points]));
  const inBest = new Set(data.best.map(([i, j]) => key(i, j)));
  const background = new Set(data.background);

  // An edge as it is drawn and listed, with the numbers of its direction.
  function makeEdge(pair, from, to, directed, weight) {
    const side = from === pair.i ? 0 : 1;
    return {
      from, to, directed, weight,
      joined: pair.joined,
      probability: pair.dag[side],
      error: pair.error[side],
      rhat: pair.rhat[side],
      effect: pair.effect[side],
      best: inBest.has(key(from, to)),
      faint: false,
    };
  }

  const pairOf = (i, j) => pairAt.get(i < j ? key(i, j) : key(j, i));

  // Joined above the threshold; directed if one direction alone is, in the CPDAGs.
  function consensus(threshold) {
    return pairs.filter((pair) => pair.joined > threshold).map((pair) => {
      const [there, back] = pair.cpdag.map((p) => p > threshold);
      const directed = there !== back;
      const forwards = directed ? there : pair.dag[0] >= pair.dag[1];
      const ends = forwards ? [pair.i, pair.j] : [pair.j, pair.i];
      return makeEdge(pair, ...ends, directed, pair.joined);
    });
  }

  // A graph of its own; of what has both directions, the more probable one is listed.
  function given(list) {
    const present = new Set(list.map(([i, j]) => key(i, j)));
    const edges = [];
    for (const [i, j] of list) {
      const pair = pairOf(i, j);
      const both = present.has(key(j, i));
      const side = i === pair.i ? 0 : 1;
      if (both && (pair.dag[side] < pair.dag[1 - side]
          || (pair.dag[side] === pair.dag[1 - side] && i > j))) continue;
      const weight = state.view === "cpdag" ? pair.joined : pair.dag[side];
      edges.push(makeEdge(pair, i, j, !both, weight));
    }
    for (const edge of edges) edge.faint = !(edge.weight > state.threshold);
    return edges;
  }

  function graph() {
    if (state.view === "consensus") return consensus(state.threshold);
    if (state.view === "sample") return given(data.samples[state.sample].edges);
    return given(data[state.view]);
  }

  // Who a node's edges lead to, by their role.
  function around(node, edges) {
    const found = { parents: [], children: [], undirected: [], spouses: [] };
    for (const edge of edges) {
      if (edge.from !== node && edge.to !== node) continue;
      const other = edge.from === node ? edge.to : edge.from;
      if (!edge.directed) found.undirected.push(other);
      else if (edge.to === node) found.parents.push(other);
      else found.children.push(other);
    }
    const near = new Set([node, ...found.parents, ...found.children, ...found.undirected]);
    const children = new Set(found.children);
    for (const edge of edges) {
      if (edge.directed && children.has(edge.to) && !near.has(edge.from)) {
        near.add(edge.from);
        found.spouses.push(edge.from);
      }
    }
    return found;
  }

  // What is to be seen: nodes and edges.
  function visible() {
    let edges = graph();
    const { focus, scope } = state;
    if (focus !== null && scope !== "all") {
      const { parents, children, undirected, spouses } = around(focus, edges);
      const chosen = new Set([focus, ...parents, ...children, ...undirected]);
      if (scope === "blanket") spouses.forEach((node) => chosen.add(node));
      edges = edges.filter((edge) => chosen.has(edge.from) && chosen.has(edge.to));
      return { edges, nodes: chosen, rows: [parents, [focus, ...undirected], children, spouses] };
    }
    const nodes = new Set(edges.flatMap((edge) => [edge.from, edge.to]));
    const connected = nodes.size;
    if (state.unconnected) data.names.forEach((_, node) => nodes.add(node));
    if (focus !== null) nodes.add(focus);
    return { edges, nodes, connected };
  }

  // -------------------------------------------------------------------- places

  const layout = () => ({ x: [...data.x], y: [...data.y], moved: new Set() });
  let whole = layout();

  // Few nodes around one: parents above, children below, and below these their other
  // parents; as many in a row as fit.
  function closeUp(rows) {
    const gap = 24, most = Math.max(3, Math.floor(svg.clientWidth / 120));
    const places = { x: [...data.x], y: [...data.y], moved: new Set(data.names.keys()) };
    let top = 0;
    for (const row of rows) {
      const inView = row.filter((node) => shown.nodes.has(node));
      for (let start = 0; start < inView.length; start += most) {
        const line = inView.slice(start, start + most);
        let left = -(line.reduce((sum, node) => sum + data.width[node] + gap, -gap)) / 2;
        // every other one lower, so that edges within a row do not cross boxes
        line.forEach((node, k) => {
          places.x[node] = left + data.width[node] / 2;
          places.y[node] = top + (k % 2) * (line.length > 2 ? 1.2 * data.height : 0);
          left += data.width[node] + gap;
        });
        top += 3.2 * data.height;
      }
      top += 1.2 * data.height;
    }
    return places;
  }

  // ------------------------------------------------------------------- drawing

  function element(name, attributes, parent) {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [attribute, value] of Object.entries(attributes)) {
      made.setAttribute(attribute, value);
    }
    parent?.append(made);
    return made;
  }

  const nodeElements = data.labels.map((label, node) => {
    const group = element("g", { class: "node", "data-node": node }, byId("network-nodes"));
    if (background.has(node)) group.classList.add("given");
    const [width, height] = [data.width[node], data.height];
    element("rect", { x: -width / 2, y: -height / 2, width, height, rx: 6 }, group);
    element("title", {}, group).textContent = data.names[node];
    return group;
  });
  // above all boxes, for small pictures have labels that are larger than their boxes
  const labelElements = data.labels.map((label) => {
    const text = element("text", { "font-size": data.font_size }, byId("network-labels"));
    text.textContent = label;
    return text;
  });

  // Names that are wider than was thought are pressed into their boxes.
  const room = (node) => data.width[node] - 8;
  const pressed = new Set(data.names.map((_, node) => node).filter((node) =>
    labelElements[node].getComputedTextLength() > room(node)));

  function place(node) {
    for (const part of [nodeElements[node], labelElements[node]]) {
      part.setAttribute("transform", `translate(${state.places.x[node]} ${state.places.y[node]})`);
    }
  }

  // Where the line between two centers leaves a box.
  function border(node, dx, dy) {
    const inside = Math.min(
      data.width[node] / 2 / Math.max(Math.abs(dx), 1e-9),
      data.height / 2 / Math.max(Math.abs(dy), 1e-9),
    );
    return [state.places.x[node] + dx * inside, state.places.y[node] + dy * inside];
  }

  // The way of an edge: an SVG path, where it ends, and where it comes from there.
  function way({ from, to }) {
    if (!state.places.moved.has(from) && !state.places.moved.has(to)) {
      const route = routeAt.get(key(from, to)) ?? routeAt.get(key(to, from))?.slice().reverse();
      if (route) return routed(route);
    }
    const [dx, dy] = [state.places.x[to] - state.places.x[from], state.places.y[to] - state.places.y[from]];
    if (data.slices && Math.abs(dx) < 1) return arc(from, to, dy);
    const start = border(from, dx, dy), end = border(to, -dx, -dy);
    if (data.slices && Math.abs(dy) < 1 && Math.abs(dx) > 1.5 * data.slices) {
      // past the slices between, in the same row
      const control = [(start[0] + end[0]) / 2, start[1] - 1.6 * data.height];
      return { path: `M${start} Q${control} ${end}`, end, before: control };
    }
    return { path: `M${start} L${end}`, end, before: start };
  }

  // S-shaped through the gaps between layers, straight through layers.
  function routed(route) {
    let path = `M${route[0]}`;
    for (let k = 0; k < route.length; k += 2) {
      const [start, end] = [route[k], route[k + 1]];
      const middle = (start[1] + end[1]) / 2;
      if (k) path += ` L${start}`;
      path += ` C${start[0]},${middle} ${end[0]},${middle} ${end}`;
    }
    const end = route.at(-1);
    return { path, end, before: [end[0], route.at(-2)[1]] };
  }

  // Between nodes of one column: beside it.
  function arc(from, to, dy) {
    const start = [state.places.x[from] + data.width[from] / 2, state.places.y[from]];
    const end = [state.places.x[to] + data.width[to] / 2, state.places.y[to]];
    const control = [Math.max(start[0], end[0]) + 20 + 0.25 * Math.abs(dy), (start[1] + end[1]) / 2];
    return { path: `M${start} Q${control} ${end}`, end, before: control };
  }

  const headScale = () => Math.min(2.5, Math.max(1, 0.75 / state.camera.scale));

  function drawEdge(edge, layer) {
    const { path, end, before } = way(edge);
    const marked = state.focus === edge.from || state.focus === edge.to;
    const group = element("g", { class: "edge" }, layer);
    group.classList.toggle("faint", edge.faint);
    group.classList.toggle("marked", marked);
    if (data.signed && edge.effect) {
      group.classList.add(edge.effect > 0 ? "positive" : "negative");
    }
    const dimmed = state.focus !== null && state.scope === "all" && !marked;
    group.style.opacity = (0.35 + 0.65 * edge.weight) * (dimmed ? 0.25 : 1);
    const line = element("path", { class: "line", d: path }, group);
    line.style.setProperty("--width", `${0.8 + 2 * edge.weight}px`);
    if (edge.directed) {
      const length = Math.hypot(end[0] - before[0], end[1] - before[1]) || 1;
      const [ux, uy] = [(end[0] - before[0]) / length, (end[1] - before[1]) / length];
      const reach = HEAD * headScale(), half = 0.42 * reach;
      const base = [end[0] - reach * ux, end[1] - reach * uy];
      const corner = (sign) => [base[0] - sign * half * uy, base[1] + sign * half * ux];
      element("path", { class: "head", d: `M${end} L${corner(1)} L${corner(-1)} Z` }, group);
    }
    element("path", { class: "touch", d: path }, group).edge = edge;
  }

  let shown = visible();
  let headsAt = 1;

  function drawEdges() {
    const layer = byId("network-edges");
    layer.replaceChildren();
    headsAt = headScale();
    // the most probable last, above the others
    const sorted = [...shown.edges].sort((a, b) => a.weight - b.weight);
    for (const edge of sorted) drawEdge(edge, layer);
  }

  function drawNodes() {
    const near = state.focus === null ? null : around(state.focus, shown.edges);
    const marked = near && new Set([state.focus, ...near.parents, ...near.children, ...near.undirected]);
    nodeElements.forEach((group, node) => {
      const dimmed = marked !== null && state.scope === "all" && !marked.has(node);
      group.style.display = shown.nodes.has(node) ? "" : "none";
      group.classList.toggle("focus", node === state.focus);
      group.classList.toggle("dimmed", dimmed);
      labelElements[node].classList.toggle("dimmed", dimmed);
      labelElements[node].style.display = "none";
      place(node);
    });
  }

  // If letters get too small to be read, those labels stay that have room, as large as
  // can be read: first the marked one's and its neighbors', then those with most edges.
  function drawLabels() {
    const { scale } = state.camera;
    const small = data.font_size * scale < SMALLEST_FONT;
    const size = small ? OVERVIEW_FONT / scale : data.font_size;
    const degree = new Array(nNodes).fill(0);
    for (const edge of shown.edges) { degree[edge.from] += 1; degree[edge.to] += 1; }
    for (const { from, to } of shown.edges) {
      if (from === state.focus) degree[to] += nNodes;
      if (to === state.focus) degree[from] += nNodes;
    }
    if (state.focus !== null) degree[state.focus] = Infinity;
    const taken = [];
    const order = [...shown.nodes].sort((a, b) => degree[b] - degree[a] || a - b);
    for (const node of order) {
      const text = labelElements[node];
      text.setAttribute("font-size", size);
      text.classList.toggle("overview", small);
      let fits = true;
      if (pressed.has(node) && !small) {
        text.setAttribute("textLength", room(node));
        text.setAttribute("lengthAdjust", "spacingAndGlyphs");
      } else text.removeAttribute("textLength");
      if (small) {
        const half = 0.31 * data.labels[node].length * size, tall = 0.65 * size;
        const box = [state.places.x[node] - half, state.places.x[node] + half, state.places.y[node] - tall, state.places.y[node] + tall];
        fits = taken.every((other) =>
          box[0] > other[1] || box[1] < other[0] || box[2] > other[3] || box[3] < other[2]);
        if (fits) taken.push(box);
      }
      text.style.display = fits ? "" : "none";
    }
  }

  // -------------------------------------------------------------------- camera

  function look() {
    const { scale, x, y } = state.camera;
    scene.setAttribute("transform", `translate(${x} ${y}) scale(${scale})`);
    svg.style.setProperty("--thin", Math.min(1, Math.max(0.4, 1.2 * scale)));
    drawLabels();
    if (Math.abs(headScale() - headsAt) > 0.05 * headsAt) drawEdges();
  }

  // A small network needs less of the page.
  const wanted = (svg.clientWidth * data.size[1]) / Math.max(data.size[0], 1) + 60;
  svg.style.height = `${Math.max(320, Math.min(wanted, 1.3 * data.size[1] + 60, svg.clientHeight))}px`;

  function fit() {
    state.seesAll = true;
    const nodes = [...shown.nodes];
    const width = svg.clientWidth, height = svg.clientHeight;
    if (!nodes.length || !width || !height) return;
    const left = Math.min(...nodes.map((k) => state.places.x[k] - data.width[k] / 2));
    const right = Math.max(...nodes.map((k) => state.places.x[k] + data.width[k] / 2));
    const top = Math.min(...nodes.map((k) => state.places.y[k] - data.height / 2));
    const bottom = Math.max(...nodes.map((k) => state.places.y[k] + data.height / 2));
    const margin = Math.min(32, width / 12); // labels may be wider than their boxes
    const scale = Math.min(
      (width - 2 * margin) / (right - left), (height - 2 * margin) / (bottom - top), 1.3);
    state.camera = {
      scale,
      x: width / 2 - scale * (left + right) / 2,
      y: height / 2 - scale * (top + bottom) / 2,
    };
    look();
  }

  function zoom(factor, x = svg.clientWidth / 2, y = svg.clientHeight / 2) {
    const { camera } = state;
    const scale = Math.min(4, Math.max(0.05, camera.scale * factor));
    const share = scale / camera.scale;
    state.camera = { scale, x: x - share * (x - camera.x), y: y - share * (y - camera.y) };
    state.seesAll = false;
    look();
  }

  function pan(dx, dy) {
    state.camera.x += dx;
    state.camera.y += dy;
    state.seesAll = false;
    look();
  }

  // --------------------------------------------------------------------- words

  const text = (value, decimals = 3) => {
    if (value === null || value === undefined) return "–";
    return typeof value === "number" ? value.toFixed(decimals) : "∞";
  };
  const plural = (count, one, many) => `${count} ${count === 1 ? one : many}`;
  const effectText = (value) => {
    if (value === null || value === undefined) return "–";
    return (data.signed && value > 0 ? "+" : "") + value.toPrecision(2).replace("-", "−");
  };

  function describe() {
    const { edges, nodes, connected } = shown;
    const directed = edges.filter((edge) => edge.directed).length;
    const parts = [plural(edges.length, "edge", "edges")];
    if (directed < edges.length) parts.push(` (${directed} with a direction)`);
    const between = connected ?? nodes.size;
    parts.push(` between ${between} of ${plural(nNodes, "variable", "variables")}`);
    if (state.view !== "consensus") {
      const probable = edges.filter((edge) => !edge.faint).length;
      parts.push(`; ${probable} more probable than ${state.threshold.toFixed(2)}, the others dashed`);
    }
    if (state.view === "sample") {
      const { chain, draw, log_score: score } = data.samples[state.sample];
      parts.push(`. Draw ${draw + 1} of chain ${chain + 1}, log score ${score.toFixed(2)}`);
    }
    byId("status").textContent = `${parts.join("")}.`;
    describeRest();
    svg.setAttribute("aria-label", `The network: ${parts.join("")}.`);
  }

  // Variables that are not drawn, because they have no edges.
  function describeRest() {
    const rest = shown.rows ? [] : data.names.filter((_, node) => !shown.nodes.has(node));
    const more = rest.length > NAMED ? ` and ${rest.length - NAMED} more` : "";
    byId("rest").textContent = rest.length
      ? `Without edges here: ${rest.slice(0, NAMED).join(", ")}${more}.`
      : "";
  }

  function describeFocus() {
    const panel = byId("details");
    panel.replaceChildren();
    if (state.focus === null) return;
    const found = around(state.focus, graph());
    const heading = document.createElement("h3");
    heading.textContent = data.names[state.focus];
    const list = document.createElement("ul");
    const roles = [
      ["Parents", found.parents], ["Children", found.children],
      ["Joined, without a direction", found.undirected],
      ["Other parents of its children", found.spouses],
    ];
    for (const [role, nodes] of roles) {
      if (!nodes.length) continue;
      const item = document.createElement("li");
      item.append(`${role}: `);
      nodes.forEach((node, k) => item.append(k ? ", " : "", nameButton(node)));
      list.append(item);
    }
    if (!list.childElementCount) {
      const item = document.createElement("li");
      item.textContent = "No edges here.";
      list.append(item);
    }
    panel.append(heading, list);
  }

  function nameButton(node) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "name";
    button.textContent = data.names[node];
    button.addEventListener("click", () => focusOn(node));
    return button;
  }

  function edgeText(edge) {
    const arrow = edge.directed ? "→" : "—";
    const lines = [
      `${data.names[edge.from]} ${arrow} ${data.names[edge.to]}`,
      `joined: ${text(edge.joined)}`,
      `${data.names[edge.from]} → ${data.names[edge.to]}: ${text(edge.probability)}`
        + (edge.error === null ? "" : ` ± ${text(edge.error)}`),
    ];
    if (edge.rhat !== null) lines.push(`R-hat: ${text(edge.rhat)}`);
    if (edge.effect !== null) lines.push(`effect: ${effectText(edge.effect)}`);
    return lines;
  }

  function showTip(lines, event) {
    tip.replaceChildren(...lines.map((line, k) => {
      const part = document.createElement(k ? "div" : "b");
      part.textContent = line;
      return part;
    }));
    tip.hidden = false;
    const box = tip.parentElement.getBoundingClientRect();
    const x = event.clientX - box.left + 14, y = event.clientY - box.top + 14;
    tip.style.left = `${Math.max(0, Math.min(x, box.width - tip.offsetWidth))}px`;
    tip.style.top = `${Math.max(0, Math.min(y, box.height - tip.offsetHeight))}px`;
  }

  // --------------------------------------------------------------------- table

  const COLUMNS = [
    { name: "from", label: "From", value: (e) => data.names[e.from], text: true },
    { name: "to", label: "To", value: (e) => data.names[e.to], text: true },
    { name: "joined", label: "Joined", value: (e) => e.joined },
    { name: "probability", label: "Direction", value: (e) => e.probability },
    { name: "error", label: "Error", value: (e) => e.error },
    { name: "rhat", label: "R-hat", value: (e) => e.rhat },
    { name: "effect", label: "Effect", value: (e) => e.effect, hidden: !data.effect },
    { name: "best", label: "Best DAG", value: (e) => (e.best ? 1 : 0) },
  ].filter((column) => !column.hidden);

  function sortedEdges() {
    const { column: name, up } = state.sort;
    const column = COLUMNS.find((candidate) => candidate.name === name);
    const rank = (value) => (value === null ? -Infinity : value === "infinite" ? Infinity : value);
    return [...shown.edges].sort((a, b) => {
      const [one, other] = [column.value(a), column.value(b)];
      const order = column.text ? one.localeCompare(other) : Math.sign(rank(one) - rank(other)) || 0;
      return (up ? order : -order) || b.joined - a.joined || b.probability - a.probability;
    });
  }

  function drawHeadings() {
    const row = document.createElement("tr");
    for (const column of COLUMNS) {
      const heading = document.createElement("th");
      heading.scope = "col";
      if (!column.text) heading.className = "number";
      if (state.sort.column === column.name) {
        heading.setAttribute("aria-sort", state.sort.up ? "ascending" : "descending");
      }
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = column.label;
      button.addEventListener("click", () => {
        const same = state.sort.column === column.name;
        // numbers start with the largest, text with the first
        state.sort = { column: column.name, up: same ? !state.sort.up : Boolean(column.text) };
        drawHeadings();
        drawRows();
        byId("edges").tHead.rows[0].cells[COLUMNS.indexOf(column)].firstChild.focus();
      });
      heading.append(button);
      row.append(heading);
    }
    byId("edges").tHead.replaceChildren(row);
  }

  function drawRows() {
    const edges = sortedEdges();
    const rows = (state.allRows ? edges : edges.slice(0, ROWS)).map((edge) => {
      const row = document.createElement("tr");
      for (const column of COLUMNS) {
        const cell = row.insertCell();
        const value = column.value(edge);
        if (column.name === "from") cell.append(nameButton(edge.from));
        else if (column.name === "to") {
          const arrow = document.createElement("span");
          arrow.textContent = edge.directed ? "→ " : "— ";
          arrow.setAttribute("aria-label", edge.directed ? "to" : "without a certain direction to");
          arrow.setAttribute("role", "img");
          cell.append(arrow, nameButton(edge.to));
        } else {
          cell.className = column.name === "joined" ? "share" : "number";
          if (column.name === "joined") cell.style.setProperty("--share", `${100 * value}%`);
          cell.textContent = column.name === "best" ? (value ? "yes" : "")
            : column.name === "effect" ? effectText(value) : text(value);
        }
      }
      return row;
    });
    byId("edges").tBodies[0].replaceChildren(...rows);
    byId("more").hidden = rows.length === edges.length;
    byId("more").textContent = `Show all ${edges.length} edges`;
  }

  // -------------------------------------------------------------------- saving

  function save(name, type, content) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  }

  function csv() {
    const cell = (value) => {
      const plain = value === null ? "" : String(value);
      return /[",\n]/.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain;
    };
    const names = COLUMNS.map((column) => column.name);
    const rows = sortedEdges().map((edge) =>
      [...COLUMNS.map((column) => column.value(edge)), edge.directed ? 1 : 0]);
    return [[...names, "directed"], ...rows].map((row) => `${row.map(cell).join(",")}\n`).join("");
  }

  const STYLES = [
    "fill", "stroke", "stroke-width", "stroke-dasharray", "opacity", "font-family",
    "font-weight", "text-anchor", "dominant-baseline", "paint-order",
  ];
  const LENGTHS = ["stroke-width", "stroke-dasharray"];

  // The picture as it is seen, with its style inside.
  function picture() {
    const copy = svg.cloneNode(true);
    const [originals, copies] = [svg, copy].map((root) => [...root.querySelectorAll("*")]);
    originals.forEach((original, k) => {
      const style = getComputedStyle(original);
      for (const property of STYLES) copies[k].setAttribute(property, style.getPropertyValue(property));
      if (style.vectorEffect === "non-scaling-stroke") {
        // lengths on the screen in units of the scene, for not every program knows this
        for (const property of LENGTHS) {
          const onScreen = style.getPropertyValue(property);
          copies[k].setAttribute(property, onScreen.replace(/[\d.]+(px)?/g, (length) =>
            (parseFloat(length) / state.camera.scale).toFixed(3)));
        }
      }
      copies[k].removeAttribute("style");
      if (style.display === "none" || original.matches(".touch, title")) copies[k].remove();
    });
    const width = svg.clientWidth, height = svg.clientHeight;
    for (const name of ["tabindex", "role", "aria-describedby", "id"]) copy.removeAttribute(name);
    copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
    copy.setAttribute("viewBox", `0 0 ${width} ${height}`);
    copy.setAttribute("width", width);
    copy.setAttribute("height", height);
    const paper = element("rect", { width, height, fill: getComputedStyle(svg).backgroundColor });
    copy.prepend(paper);
    return { source: new XMLSerializer().serializeToString(copy), width, height };
  }

  function savePNG() {
    const { source, width, height } = picture();
    const image = new Image();
    image.addEventListener("load", () => {
      const canvas = document.createElement("canvas");
      [canvas.width, canvas.height] = [2 * width, 2 * height];
      canvas.getContext("2d").drawImage(image, 0, 0, 2 * width, 2 * height);
      canvas.toBlob((blob) => save("network.png", "image/png", blob));
    });
    image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(source)}`;
  }

  // -------------------------------------------------------------------- events

  function update() {
    shown = visible();
    state.places = shown.rows ? closeUp(shown.rows) : whole;
    byId("threshold-value").textContent = state.threshold.toFixed(2);
    byId("sample-label").hidden = state.view !== "sample";
    byId("sample-value").textContent = `${state.sample + 1} of ${data.samples.length}`;
    drawNodes();
    drawEdges();
    describe();
    describeFocus();
    drawRows();
    if (state.seesAll) fit();
    else look();
  }

  function focusOn(node) {
    state.focus = node;
    byId("search").value = node === null ? "" : data.names[node];
    if (state.scope !== "all") state.seesAll = true;
    update();
  }

  // Sliding asks for many pictures; one per frame is enough.
  let waiting = false;
  function soon() {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; update(); });
  }

  byId("controls").addEventListener("submit", (event) => event.preventDefault());
  byId("view").addEventListener("change", (event) => { state.view = event.target.value; update(); });
  byId("sample").addEventListener("input", (event) => { state.sample = Number(event.target.value); soon(); });
  byId("threshold").addEventListener("input", (event) => { state.threshold = Number(event.target.value); soon(); });
  byId("unconnected").addEventListener("change", (event) => { state.unconnected = event.target.checked; update(); });
  byId("scope").addEventListener("change", (event) => {
    state.scope = event.target.value;
    state.seesAll = true;
    update();
  });
  byId("search").addEventListener("input", (event) => {
    const wanted = event.target.value.trim().toLowerCase();
    const matches = data.names.filter((name) => name.toLowerCase().includes(wanted));
    const exact = data.names.findIndex((name) => name.toLowerCase() === wanted);
    if (!wanted) focusOn(null);
    else if (exact >= 0 || matches.length === 1) {
      state.focus = exact >= 0 ? exact : data.names.indexOf(matches[0]);
      if (state.scope !== "all") state.seesAll = true;
      update();
    } else {
      byId("status").textContent = `${plural(matches.length, "variable has", "variables have")} this in the name.`;
    }
  });
  byId("more").addEventListener("click", () => { state.allRows = true; drawRows(); });
  byId("zoom-in").addEventListener("click", () => zoom(1.3));
  byId("zoom-out").addEventListener("click", () => zoom(1 / 1.3));
  byId("fit").addEventListener("click", fit);
  byId("reset").addEventListener("click", () => {
    Object.assign(state, { focus: null, scope: "all", seesAll: true });
    whole = layout();
    byId("scope").value = "all";
    byId("search").value = "";
    update();
  });
  byId("save-svg").addEventListener("click", () => save("network.svg", "image/svg+xml", picture().source));
  byId("save-png").addEventListener("click", savePNG);
  byId("save-csv").addEventListener("click", () => save("edges.csv", "text/csv", csv()));

  const KEYS = {
    "+": () => zoom(1.2), "=": () => zoom(1.2), "-": () => zoom(1 / 1.2), "0": fit,
    ArrowLeft: () => pan(40, 0), ArrowRight: () => pan(-40, 0),
    ArrowUp: () => pan(0, 40), ArrowDown: () => pan(0, -40),
    Escape: () => focusOn(null),
  };
  svg.addEventListener("keydown", (event) => {
    if (!(event.key in KEYS) || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    KEYS[event.key]();
  });

  // Pointers that are down: one drags a node or the picture, two zoom.
  const pointers = new Map();
  let drag = null;
  const local = (event) => {
    const box = svg.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  svg.addEventListener("pointerdown", (event) => {
    const group = event.target.closest(".node");
    pointers.set(event.pointerId, local(event));
    drag = { node: group ? Number(group.dataset.node) : null, far: 0 };
    svg.setPointerCapture(event.pointerId);
    if (event.target.edge) showTip(edgeText(event.target.edge), event);
    else tip.hidden = true;
  });
  svg.addEventListener("pointermove", (event) => {
    if (!pointers.has(event.pointerId)) {
      if (event.target.edge) showTip(edgeText(event.target.edge), event);
      else tip.hidden = true;
      return;
    }
    const before = pointers.get(event.pointerId), now = local(event);
    const [dx, dy] = [now[0] - before[0], now[1] - before[1]];
    if (pointers.size === 2) {
      const [other] = [...pointers].filter(([id]) => id !== event.pointerId).map(([, point]) => point);
      const distance = (point) => Math.hypot(point[0] - other[0], point[1] - other[1]) || 1;
      zoom(distance(now) / distance(before), (now[0] + other[0]) / 2, (now[1] + other[1]) / 2);
    }
    pointers.set(event.pointerId, now);
    if (pointers.size > 1 || !drag) return;
    drag.far += Math.hypot(dx, dy);
    if (drag.far < 4) return;
    tip.hidden = true;
    if (drag.node === null) pan(dx, dy);
    else {
      state.places.x[drag.node] += dx / state.camera.scale;
      state.places.y[drag.node] += dy / state.camera.scale;
      state.places.moved.add(drag.node);
      state.seesAll = false;
      place(drag.node);
      drawEdges();
    }
  });
  for (const name of ["pointerup", "pointercancel"]) {
    svg.addEventListener(name, (event) => {
      const clicked = name === "pointerup" && pointers.size === 1 && drag && drag.far < 4;
      pointers.delete(event.pointerId);
      if (clicked && drag.node !== null) focusOn(drag.node === state.focus ? null : drag.node);
      drag = null;
    });
  }
  svg.addEventListener("pointerleave", () => { tip.hidden = true; });
  svg.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) return; // the page scrolls
    event.preventDefault();
    zoom(Math.exp(-0.01 * Math.max(-50, Math.min(50, event.deltaY))), ...local(event));
  }, { passive: false });
  new ResizeObserver(() => { if (state.seesAll) fit(); }).observe(svg);

  // --------------------------------------------------------------------- start

  for (const name of data.names) {
    const option = document.createElement("option");
    option.value = name;
    byId("variables").append(option);
  }
  byId("sample").max = Math.max(0, data.samples.length - 1);
  if (!data.samples.length) byId("view").querySelector('[value="sample"]').remove();
  byId("threshold").min = data.least;
  byId("threshold").value = state.threshold;
  byId("unconnected").checked = state.unconnected;
  // browsers keep what was chosen before the page was loaded again
  byId("view").value = state.view;
  byId("scope").value = state.scope;
  byId("search").value = "";
  drawHeadings();
  update();
})();

// A large picture is shrunk to the page; its button shows it in full size.
for (const button of document.querySelectorAll("button.zoom")) {
  button.addEventListener("click", () => {
    const full = button.closest("figure").classList.toggle("full");
    button.setAttribute("aria-pressed", String(full));
  });
}
