// Faults: a thousand broken schedules as the few things that are wrong, the smallest of each told.

function faultsOf() {
  if (!data.groups.length) return null;
  return h('section', { id: 'faults', 'aria-labelledby': 'faults-title' },
    h('h2', { id: 'faults-title' }, 'Faults'),
    data.groups.map(faultOf));
}

function faultOf(group) {
  const smallest = group.schedules[0];
  const told = storyOf(smallest);
  const news = group.rules.length > 0;
  const look = smallest.look;
  return h('article', { class: `fault ${look.look}` },
    h('h3', {},
      h('span', { class: `badge ${look.look}`, 'aria-hidden': 'true' }, look.sign),
      news ? h('span', { class: 'fingerprint' }, group.title) : look.name,
      h('span', { class: 'count' }, number(group.schedules.length, 'schedule'))),
    group.reason ? h('p', { class: 'reason' }, h('b', {}, 'known'), ` ${group.reason}`) : null,
    group.rules.slice(0, 1).map((rule) => ruleOf(rule)),
    told ? firstLook(smallest, told.story) : h('p', { class: 'said' }, smallest.said),
    replay(smallest) ? command(replay(smallest)) : null,
    h('p', { class: 'links' },
      h('a', { href: link(smallest), class: 'open' }, `Open the smallest${told ? ': timeline and log' : ''}`),
      group.rules.length > 1 ? h('span', {}, `also broken: ${group.rules.slice(1).join(' ')}`) : null),
    group.schedules.length > 1 ? likewise(group) : null);
}

function ruleOf(rule) {
  return h('p', { class: 'rule' }, h('b', {}, rule), ' ', data.rules[rule] ?? '');
}

function firstLook(one, story) {
  return [
    h('dl', { class: 'look' },
      killsOf(story),
      one.verdict === 'VIOLATION' ? saidOf(story.violations[0]) : [h('dt', {}, 'why'), h('dd', {}, one.said)]),
    story.log.lines.length ? logOf(story, 3) : null,
  ];
}

// Each kill by its meaning, then by its name and proof.
function killsOf(story) {
  return story.kills.map((kill) => [h('dt', {}, 'killed'), h('dd', {}, `${kill.launch}: `, coded(kill.meaning),
    h('span', { class: 'words' }, h('code', {}, breakable(kill.point)), ` ${kill.proof}`))]);
}

function saidOf(violation) {
  const names = { what: 'broken', expected: 'expected', found: 'found', where: 'where' };
  return Object.entries(names).filter(([key]) => violation[key]).map(([key, name]) => [h('dt', {}, name), h('dd', {}, violation[key])]);
}

function likewise(group) {
  const most = 200;
  return h('details', { class: 'likewise' },
    h('summary', {}, `All ${number(group.schedules.length)}`),
    h('ol', {}, group.schedules.slice(0, most).map((one) =>
      h('li', {}, h('a', { href: link(one) }, breakable(one.id)))),
    group.schedules.length > most ? h('li', { class: 'more' }, `… ${number(group.schedules.length - most)} more: filter the kill map by ${group.title}`) : null));
}

function link(one) {
  return `#${encodeURIComponent(one.id)}`;
}
