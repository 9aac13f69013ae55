// The crash graph of each walk over crashes of crashes: a column for each number of kills, in it the
// images by the boundary at which the first kill that left them fell. Lines lead from image to image;
// an image that many kills lead to is told by its weight.

const MOST_DOTS = 24; // of one boundary, unless asked for

function graphsOf() {
  const walks = data.scenarios.filter((scenario) => scenario.graph);
  if (!walks.length) return null;
  return h('section', { id: 'graph', 'aria-labelledby': 'graph-title' },
    h('h2', { id: 'graph-title' }, 'Crash graph'),
    h('p', { class: 'hint' }, 'A dot is a crash image, judged to its end; a line the first kill that led to it. ',
      'Touch a dot to see every kill that leads to it, and what its recovery leads to.'),
    walks.map((scenario, index) => {
      const box = h('div', { class: 'drawing' });
      const opened = new Set();
      const redraw = () => box.replaceChildren(draw(scenario, opened, redraw));
      const details = h('details', { class: 'walk', open: index < 3 },
        h('summary', {}, h('b', {}, scenario.name), ` ${extent(scenario)}`), box);
      const open = () => { if (details.open && !box.firstChild) redraw(); };
      details.addEventListener('toggle', open);
      open();
      return details;
    }));
}

function extent(scenario) {
  const closure = scenario.closure;
  const end = data.head.interrupted ? 'interrupted' : closure.complete ? `closed at depth ${closure.depth}: no kill leads to another image`
    : `${closure.cut ? 'cut at ' : ''}depth ${closure.depth}, ${number(closure.left, 'image')} not explored further`;
  return `${number(closure.states, 'image')}, ${end}`;
}

// Columns of blocks of nodes, by depth and boundary.
function columnsOf(scenario) {
  const columns = new Map();
  for (const [index, depth] of scenario.graph.nodes) {
    const one = scenario.schedules[index];
    const place = scenario.rows[one.row][1];
    if (!columns.has(depth)) columns.set(depth, new Map());
    const blocks = columns.get(depth);
    if (!blocks.has(place)) blocks.set(place, []);
    blocks.get(place).push(index);
  }
  return [...columns].sort(([one], [other]) => one - other);
}

const COLUMN = 250;
const STEP = 15;
const ACROSS = 14;

function draw(scenario, opened, redraw) {
  const spots = new Map([[-1, { x: 14, y: 44 }]]);
  const drawn = [];
  let height = 80;
  columnsOf(scenario).forEach(([depth, blocks], column) => {
    const x = 70 + column * COLUMN;
    let y = 20;
    drawn.push(s('text', { x, y: 12, class: 'depth' }, `${number(depth, 'kill')} · ${number([...blocks.values()].flat().length, 'image')}`));
    for (const [place, nodes] of blocks) {
      const key = `${depth} ${place}`;
      drawn.push(s('text', { x, y: y + 12, class: 'place' }, place.length > 38 ? `${place.slice(0, 37)}…` : place));
      y += 24;
      const closed = nodes.length > MOST_DOTS && !opened.has(key);
      if (closed) {
        drawn.push(pill(x, y, nodes.length, place, () => { opened.add(key); redraw(); }));
        for (const node of nodes) spots.set(node, { x: x + 30, y });
      } else {
        nodes.forEach((node, index) => spots.set(node, { x: x + 5 + (index % ACROSS) * STEP, y: y + Math.floor(index / ACROSS) * STEP, own: true }));
      }
      y += (closed ? 1 : Math.ceil(nodes.length / ACROSS)) * STEP + 3;
    }
    height = Math.max(height, y + 6);
  });
  const lines = s('g', { class: 'lines' });
  const into = new Map();
  for (const [from, to, index] of scenario.graph.edges) {
    into.set(to, (into.get(to) ?? 0) + 1);
    if (index === to) lines.append(curve(spots.get(from), spots.get(to), 'first'));
  }
  const dots = scenario.graph.nodes.filter(([node]) => spots.get(node).own).map(([node]) => dot(scenario, node, spots, into));
  const width = 70 + Math.max(1, ...scenario.graph.nodes.map(([, depth]) => depth)) * COLUMN;
  const over = s('g', { class: 'lines over' });
  const svg = s('svg', { viewBox: `0 0 ${width} ${height}`, width, height, role: 'group', 'aria-label': `Crash images of ${scenario.name}` },
    lines, over, s('circle', { class: 'start', cx: 14, cy: 44, r: 6 }), s('text', { x: 0, y: 30, class: 'place' }, 'start'), drawn, dots);
  const show = (event) => {
    const node = event.target.closest('a')?.node;
    over.replaceChildren();
    svg.classList.toggle('lit', node !== undefined);
    if (node === undefined) return;
    for (const [from, to] of scenario.graph.edges) {
      const way = to === node ? 'in' : from === node ? 'out' : undefined;
      if (way) over.append(curve(spots.get(from), spots.get(to), way));
    }
  };
  for (const kind of ['mouseover', 'focusin', 'mouseout', 'focusout']) svg.addEventListener(kind, kind.endsWith('out') ? () => show({ target: svg }) : show);
  return svg;
}

function curve(from, to, way) {
  if (from.x === to.x && from.y === to.y) return s('circle', { class: way, cx: from.x, cy: from.y, r: 7 });
  const middle = from.x === to.x ? from.x + 40 : (from.x + to.x) / 2;
  return s('path', { class: way, d: `M${from.x} ${from.y}C${middle} ${from.y} ${middle} ${to.y} ${to.x} ${to.y}` });
}

function dot(scenario, node, spots, into) {
  const one = scenario.schedules[node];
  const { x, y } = spots.get(node);
  const ways = into.get(node) ?? 0;
  const link_ = s('a', { href: link(one), 'aria-label': `image of ${one.schedule}: ${one.look.name}, ${number(ways, 'kill')} lead here` },
    s('circle', { class: one.look.look, cx: x, cy: y, r: Math.min(6.5, 3 + Math.log2(ways + 1)) }),
    one.look === LOOKS.PASS ? null : s('text', { x, y: y + 3, class: 'sign' }, one.look.sign),
    s('title', {}, `${one.schedule}\n${one.look.name}, ${number(ways, 'kill')} lead here`));
  link_.node = node;
  return link_;
}

function pill(x, y, count, place, open) {
  return s('g', { class: 'pill', role: 'button', tabindex: '0', 'aria-label': `Show the ${count} images at ${place}`, onclick: open,
    onkeydown: (event) => { if (event.key === 'Enter' || event.key === ' ') { event.preventDefault(); open(); } } },
  s('rect', { x, y: y - 8, width: 92, height: 16, rx: 8 }), s('text', { x: x + 46, y: y + 4 }, `${count} images`));
}
