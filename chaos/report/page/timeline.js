// The timeline of a failure: a row an event, a column a lane, in the order in which things happened.
// Drawn to order and not to time: what matters is who came first, and most of the time passes while
// programs start. The time stands in each row.

function timelineOf(story) {
  const marked = new Map();
  for (const violation of story.violations) if (violation.order !== undefined) marked.set(violation.order, violation);
  const events = eventsOf(story);
  const rows = [];
  story.launches.forEach((launch, index) => {
    const own = events.filter((event) => event.launch === index);
    const dead = own.findIndex((event) => event.kind === 'KILL');
    rows.push(launchRow(launch, own[0]));
    own.forEach((event, at) => {
      rows.push(eventRow(event, dead < 0 || at <= dead, marked.get(event.order), asking(own, at)));
    });
    if (!launch.killed) rows.push(endRow(launch));
  });
  if (story.more) rows.push(h('li', { class: 'more' }, `… ${number(story.more, 'event')} more in the evidence`));
  return h('div', { class: 'timeline' },
    h('div', { class: 'lanes legend', 'aria-hidden': 'true' }, data.lanes.map((lane) => h('span', { class: `name in-${lane}` }, lane === 'outside' ? 'outside world' : lane))),
    h('ol', { onkeydown: stepOver }, rows));
}

// Is the model being waited for at this event?
function asking(events, at) {
  const last = events.slice(0, at).findLast((event) => event.kind === 'request' || event.kind === 'answer');
  return last?.kind === 'request';
}

function lanes(kind, alive, asked, sign) {
  return h('span', { class: 'lanes', 'aria-hidden': 'true' }, data.lanes.map((lane, index) => {
    const on = (lane === 'agent' && alive) || (lane === 'provider' && asked);
    return h('i', { class: `in-${lane}${on ? ' on' : ''}${index === kind ? ' here' : ''}` }, index === kind ? sign : '');
  }));
}

// Launches that no step of the scenario asked for.
const ROLES = { idle: ': a second resume, which must do nothing', probe: ': a further turn, which must work' };
const SIGNS = { log: '■', provider: '◆', tools: '▶', outside: '●', kills: '✕', agent: '○' };

function launchRow(launch, first) {
  return h('li', { class: 'launch' }, h('details', {},
    h('summary', {}, lanes(0, true, false, '○'), h('span', { class: 'ms' }, first ? `${first.ms.toFixed(0)}` : ''),
      h('span', { class: 'words' }, h('b', {}, launch.name), ROLES[launch.role] ?? '', launch.found.length ? ` · ${launch.found.join('; ')}` : '')),
    fieldsOf({ command: launch.command, pid: launch.pid, seconds: launch.seconds, end: launch.end })));
}

function endRow(launch) {
  return h('li', { class: 'end' }, h('span', { class: 'row' }, lanes(0, false, false, '○'), h('span', { class: 'ms' }),
    h('span', { class: 'words' }, launch.end)));
}

function eventRow(event, alive, violation, asked) {
  const lane = data.lanes[event.lane];
  return h('li', { class: `event in-${lane}${violation ? ' accused' : ''}`, id: `event-${event.order}` }, h('details', {},
    h('summary', {}, lanes(event.lane, alive, asked, SIGNS[lane]),
      h('span', { class: 'ms' }, event.ms.toFixed(1)),
      h('span', { class: 'words' }, event.kind === lane ? null : [h('span', { class: 'kind' }, event.kind), ' '], breakable(event.words),
        violation ? h('span', { class: 'verdict' }, `broke ${violation.id}`) : null)),
    fieldsOf({ event: event.order, ...event.fields }),
    event.lane === data.lanes.indexOf('log') || event.kind === 'KILL' ? toTheLog(event) : null));
}

// From an event to the line that it wrote.
function toTheLog(event) {
  return h('p', { class: 'links' }, h('button', { type: 'button', onclick: () => {
    const line = [...document.querySelectorAll(`.story .log [data-order="${event.order}"] summary`)].at(-1);
    line?.scrollIntoView({ block: 'center' });
    line?.focus();
  } }, 'the line it left in the log'));
}

function fieldsOf(values) {
  return h('dl', { class: 'fields' }, Object.entries(values).map(([name, value]) => [h('dt', {}, name), h('dd', {}, typeof value === 'string' ? pretty(value) : JSON.stringify(value))]));
}

// Up and down go from event to event.
function stepOver(event) {
  const down = { ArrowUp: -1, ArrowDown: 1 }[event.key];
  if (!down || event.target.tagName !== 'SUMMARY') return;
  const all = [...event.currentTarget.querySelectorAll('summary')];
  const next = all[all.indexOf(event.target) + down];
  if (!next) return;
  event.preventDefault();
  next.focus();
}
