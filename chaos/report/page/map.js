// The kill map: scenario × boundary × phase, a link for each schedule. One cell of the map is in the
// tab order; arrow keys go from there.

function mapOf() {
  const order = [...data.scenarios].sort((one, other) => worst(other) - worst(one));
  const map = h('div', { class: 'map', onkeydown: walk, onfocusin: settle, onmouseover: read, onmouseout: read },
    order.map(cardOf));
  const first = map.querySelector('a.cell');
  if (first) first.tabIndex = 0;
  return h('section', { id: 'map', 'aria-labelledby': 'map-title' },
    h('h2', { id: 'map-title' }, 'Kill map'),
    h('p', { class: 'hint' }, 'A row is a boundary of the run, a cell a schedule: before, within or after what happens there ',
      '(of the exchange with the model: request, chunk, response). Of several kills, the last. ',
      h('span', { class: 'keys' }, h('kbd', {}, '←'), h('kbd', {}, '→'), h('kbd', {}, '↑'), h('kbd', {}, '↓'), ' go from cell to cell, ',
        h('kbd', {}, 'Enter'), ' opens, ', h('kbd', {}, '/'), ' filters.')),
    filters(map),
    map,
    h('p', { class: 'none', hidden: true }, 'No schedule matches.'));
}

const MOST_NARROW = 160; // schedules of a scenario whose card is one among others in a line
const LOUDNESS = ['PASS', 'KNOWN', 'INCONCLUSIVE', 'HARNESS_ERROR', 'VIOLATION'].map((name) => LOOKS[name]);

function worst(scenario) {
  return Math.max(0, ...scenario.schedules.map((one) => LOUDNESS.indexOf(one.look)));
}

function cardOf(scenario) {
  const counts = new Map();
  for (const one of scenario.schedules) counts.set(one.look, (counts.get(one.look) ?? 0) + 1);
  const rows = scenario.rows.map(() => data.columns.map(() => []));
  for (const one of scenario.schedules) rows[one.row][one.column].push(one);
  const bodies = [];
  let heading;
  rows.forEach((columns, index) => {
    const [title, place] = scenario.rows[index];
    if (title !== heading) {
      bodies.push(h('tbody', {}, title
        ? h('tr', { class: 'heading' }, h('th', { colspan: '4', scope: 'rowgroup' }, title)) : null));
      heading = title;
    }
    bodies.at(-1).append(rowOf(place, columns));
  });
  return h('article', { class: scenario.schedules.length > MOST_NARROW ? 'card large' : 'card', 'aria-label': scenario.name },
    h('h3', {}, breakable(scenario.name)),
    h('p', { class: 'counts' }, [...counts].map(([look, count]) => `${number(count)} ${look.name}`).join(', ') || 'nothing run'),
    h('table', {},
      widths(rows, scenario.schedules.length > MOST_NARROW ? 26 : 5),
      h('thead', {}, h('tr', {}, h('td', {}), data.columns.map((name) => h('th', { scope: 'col' }, name)))),
      bodies));
}

// Each column is as wide as its fullest cell asks for, within bounds.
function widths(rows, most) {
  return h('colgroup', {}, h('col'), data.columns.map((name, column) => {
    const fullest = Math.max(...rows.map((columns) => columns[column].length));
    const col = h('col');
    col.style.width = `${Math.max(2.9, 0.6 + 1.29 * Math.min(most, fullest))}rem`;
    return col;
  }));
}

function rowOf(place, columns) {
  const idle = columns.every((cells) => !cells.length);
  return h('tr', { class: idle ? 'idle' : undefined },
    h('th', { scope: 'row' }, breakable(place), idle ? h('span', { class: 'unseen' }, ': nothing tried') : null),
    columns.map((cells) => h('td', {}, h('div', {}, cells.map(cellOf)))));
}

function cellOf(one) {
  const { heading, place } = placeOf(one);
  const broken = one.look === LOOKS.VIOLATION;
  const rules = one.rules.length ? ` ${one.rules.join(' ')}` : '';
  const cell = h('a', {
    class: `cell ${one.look.look}`,
    href: link(one),
    tabindex: '-1',
    'aria-label': `${place} ${one.label}: ${one.look.name}${rules}`,
    title: `${heading ? `${heading}: ` : ''}${place} / ${one.label} — ${one.look.name}${rules}`,
  }, broken ? one.rules[0] : one.look.sign);
  cell.schedule = one;
  return cell;
}

function visibleCells(map) {
  return [...map.querySelectorAll('a.cell')].filter((cell) => !cell.hidden);
}

const STEPS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

function walk(event) {
  const cell = event.target.closest('a.cell');
  if (!cell || event.altKey || event.ctrlKey || event.metaKey) return;
  const cells = visibleCells(event.currentTarget);
  const at = cells.indexOf(cell);
  const ends = { Home: 0, End: cells.length - 1 };
  let target;
  if (event.key in ends) target = cells[ends[event.key]];
  else if (event.key in STEPS) {
    const [across, down] = STEPS[event.key];
    target = across ? cells[at + across] : rowwards(cells, at, down);
  } else return;
  event.preventDefault();
  target?.focus();
}

// The cell of the next row that has any: in the same column if it can be, else nearest to it.
function rowwards(cells, at, down) {
  const row = (cell) => cell.closest('tr');
  let next = at;
  while (cells[next] && row(cells[next]) === row(cells[at])) next += down;
  if (!cells[next]) return undefined;
  const there = cells.filter((cell) => row(cell) === row(cells[next]));
  const distance = (cell) => Math.abs(cell.schedule.column - cells[at].schedule.column);
  const among = (cell) => [...cell.parentNode.children].indexOf(cell);
  return there.toSorted((one, other) => distance(one) - distance(other)
    || Math.abs(among(one) - among(cells[at])) - Math.abs(among(other) - among(cells[at])))[0];
}

function settle(event) {
  const cell = event.target.closest('a.cell');
  if (!cell) return;
  for (const other of event.currentTarget.querySelectorAll('a.cell[tabindex="0"]')) other.tabIndex = -1;
  cell.tabIndex = 0;
  readout(cell);
}

function read(event) {
  readout(event.type === 'mouseover' ? event.target.closest('a.cell') : null);
}

function readout(cell) {
  const place = document.querySelector('.readout');
  if (place) place.textContent = cell ? cell.title : '';
}

// --- filter --------------------------------------------------------------------------------------

const chosen = { words: '', looks: new Set() };

function filters(map) {
  const counts = new Map();
  for (const one of schedules) counts.set(one.look, (counts.get(one.look) ?? 0) + 1);
  const field = h('input', {
    type: 'search', id: 'filter', placeholder: 'boundary, scenario, rule, fault …', autocomplete: 'off', spellcheck: 'false',
    oninput: () => { chosen.words = field.value; apply(map); },
  });
  field.value = chosen.words;
  const toggles = LOUDNESS.filter((look) => counts.has(look)).map((look) => {
    const button = h('button', { type: 'button', 'aria-pressed': String(chosen.looks.has(look)), class: 'toggle' },
      h('span', { class: `badge ${look.look}`, 'aria-hidden': 'true' }, look.sign), `${number(counts.get(look))} ${look.name}`);
    button.addEventListener('click', () => {
      if (!chosen.looks.delete(look)) chosen.looks.add(look);
      button.setAttribute('aria-pressed', String(chosen.looks.has(look)));
      apply(map);
    });
    return button;
  });
  if (chosen.words || chosen.looks.size) queueMicrotask(() => apply(map));
  return h('form', { class: 'filters', role: 'search', onsubmit: (event) => event.preventDefault() },
    h('label', { for: 'filter' }, 'Filter'), field, toggles, h('output', { class: 'readout' }));
}

// What a filter looks for words in.
function subject(one) {
  one.subject ??= [one.id, one.schedule, one.scenario.name, one.scenario.rows[one.row].slice(0, 2).join(' '), one.label, one.rules.join(' '),
    one.fault?.title ?? ''].join('\n').toLowerCase();
  return one.subject;
}

function apply(map) {
  const words = chosen.words.toLowerCase().split(/\s+/).filter(Boolean);
  const all = !words.length && !chosen.looks.size;
  let found = 0;
  for (const cell of map.querySelectorAll('a.cell')) {
    const one = cell.schedule;
    const match = (!chosen.looks.size || chosen.looks.has(one.look)) && words.every((word) => subject(one).includes(word));
    cell.hidden = !match;
    found += match;
  }
  const empty = (node) => !all && !node.querySelector('a.cell:not([hidden])');
  for (const node of map.querySelectorAll('tr:not(thead tr, .heading), tbody, .card')) node.hidden = empty(node);
  document.querySelector('.none').hidden = found > 0;
  const cells = visibleCells(map);
  if (cells.length && !cells.some((cell) => cell.tabIndex === 0)) cells[0].tabIndex = 0;
  announce(`${number(found, 'schedule')} shown`);
}
