// The log of a failure as it grew: one list of lines in the order in which they came, with the
// kills between them. It is the difference that a kill and what followed made, and the whole of it.

// Rows: lines that came (`born`), with the step that took them away, if any (`gone`).
function grown(story) {
  const rows = [];
  let alive = [];
  story.log.steps.forEach(([order, launch, keep, added], step) => {
    for (const row of alive.slice(keep)) row.gone = { order, launch, step };
    const lines = added.map((index, offset) => {
      const [facts, text, torn] = story.log.lines[index];
      return { facts, text, torn, number: keep + offset + 1, born: { order, launch, step } };
    });
    alive = [...alive.slice(0, keep), ...lines];
    rows.push(...lines);
  });
  return rows;
}

// The row that a violation names by its line: the one of that number that stood last when it broke.
function accused(rows, violation) {
  if (violation?.line === undefined) return undefined;
  const { line, launch = Infinity, order = Infinity } = violation;
  return rows.findLast((row) => row.number === line && row.born.launch <= launch && row.born.order <= order);
}

const MARKS = { lost: '−', torn: '~', added: '+', old: '' };

function lineOf(row, mark, firstKill) {
  const facts = row.torn !== undefined ? [h('span', { class: 'fact' }, `torn: ${number(row.torn, 'byte')}, no LF`)]
    : row.facts.length ? row.facts.map(([seq, words]) => factOf(seq, words))
      : [h('span', { class: 'fact' }, 'cannot be read as facts')];
  const state = row.torn !== undefined ? 'torn' : row.gone ? 'lost' : firstKill ? 'added' : 'old';
  const name = { lost: 'lost: ', torn: 'torn: ', added: 'added after the kill: ', old: '' }[state];
  return h('li', { class: `line ${state}${row.gone ? ' gone' : ''}${mark ? ' accused' : ''}`, 'data-order': row.born.order },
    h('details', {},
      h('summary', {},
        h('span', { class: 'sign', 'aria-hidden': 'true' }, mark ? '▸' : MARKS[state]),
        h('span', { class: 'unseen' }, name),
        h('span', { class: 'number' }, String(row.number)),
        h('span', { class: 'facts' }, facts, row.gone ? h('span', { class: 'taken' }, `gone in launch ${row.gone.launch + 1}`) : null)),
      h('pre', { tabindex: '0' }, pretty(row.text))));
}

function factOf(seq, words) {
  const [type, ...rest] = words.split(' ');
  return h('span', { class: 'fact' }, h('span', { class: 'seq' }, seq === null ? '' : String(seq)),
    h('b', {}, type), rest.length ? ` ${rest.join(' ')}` : '');
}

function pretty(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 1);
  } catch {
    return text;
  }
}

// `around`: only so many lines before the first kill, and up to the accused line.
function logOf(story, around) {
  const rows = grown(story);
  const guilty = accused(rows, story.violations[0]);
  const kills = new Map(story.kills.map((kill) => [kill.order, kill]));
  const items = [];
  const told = new Set();
  let launch = -1;
  for (const row of rows) {
    if (row.born.launch !== launch) {
      for (const kill of story.kills) {
        if (!told.has(kill.order) && launchOf(story, kill) < row.born.launch) items.push(killLine(kill, told));
      }
      launch = row.born.launch;
      items.push(h('li', { class: 'launch' }, story.launches[launch].name, story.launches[launch].found.map((what) => ` · ${what}`)));
    }
    items.push(lineOf(row, row === guilty, told.size > 0));
    items.at(-1).guilty = row === guilty;
    if (kills.has(row.born.order)) items.push(killLine(kills.get(row.born.order), told));
  }
  for (const kill of story.kills) if (!told.has(kill.order)) items.push(killLine(kill, told));
  return h('ol', { class: 'log' }, around === undefined ? items : nearest(items, around));
}

function launchOf(story, kill) {
  return story.launches.findIndex((launch) => launch.name === kill.launch);
}

function killLine(kill, told) {
  told.add(kill.order);
  return h('li', { class: 'kill' }, h('span', { class: 'sign', 'aria-hidden': 'true' }, '✕'), coded(kill.meaning));
}

// A few lines about the kill and the accused line, for a first look.
function nearest(items, around) {
  const points = items.flatMap((item, index) => (item.guilty || item.className === 'kill' ? [index] : []));
  const near = (index) => (points.length ? points : [items.length - 1]).some(
    (point) => index >= point - around && index <= point + around);
  let hidden = 0;
  const shown = [];
  const gap = () => {
    if (hidden) shown.push(h('li', { class: 'more' }, `… ${number(hidden, 'line')} not shown`));
    hidden = 0;
  };
  items.forEach((item, index) => {
    if (near(index)) {
      gap();
      shown.push(item);
    } else if (item.classList.contains('line')) hidden += 1;
  });
  gap();
  return shown;
}
