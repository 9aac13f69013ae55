// The head: the verdict in words, the counts, and what was left out.

function verdict() {
  const head = data.head;
  const faults = data.groups.filter((group) => group.rules.length && !group.reason);
  const known = data.groups.filter((group) => group.reason);
  const broken = faults.reduce((sum, group) => sum + group.schedules.length, 0);
  const unproven = head.inconclusive + head.errors;
  if (faults.length) {
    return { look: 'violation', words: `${number(faults.length, 'fault')}, in ${number(broken)} of ${number(head.schedules, 'schedule')}` };
  }
  if (unproven) return { look: 'inconclusive', words: `${number(unproven, 'schedule')} of ${number(head.schedules)} prove nothing` };
  if (known.length) return { look: 'known', words: `No fault but ${number(known.length)} known` };
  if (!head.schedules) return { look: 'inconclusive', words: 'Nothing was judged' };
  if (head.interrupted) return { look: 'inconclusive', words: `Interrupted: ${number(head.schedules)} passed so far` };
  return { look: 'pass', words: head.schedules === 1 ? 'The schedule passed' : `All ${number(head.schedules)} schedules passed` };
}

// What else is the matter, where the headline speaks of faults.
function besides() {
  const { inconclusive, errors } = data.head;
  const known = data.groups.filter((group) => group.reason).length;
  if (verdict().look !== 'violation') return [];
  return [
    errors ? number(errors, 'harness error') : '',
    inconclusive ? `${number(inconclusive)} inconclusive` : '',
    known ? number(known, 'known fault') : '',
  ].filter(Boolean).map((words, index) => (index ? words : `Besides: ${words}`));
}

function verdictSign() {
  return { pass: '✓', violation: '✕', known: '≈', inconclusive: '?' }[verdict().look];
}

function figure(value, name, title) {
  return h('div', { title }, h('dt', {}, name), h('dd', {}, value));
}

function headOf() {
  const head = data.head;
  const { look, words } = verdict();
  return h('header', { class: 'head' },
    h('p', { class: 'mark' }, 'Killpoint'),
    h('h1', { tabindex: '-1', id: 'top' }, h('span', { class: `badge ${look}`, 'aria-hidden': 'true' }, verdictSign()), words),
    besides().length ? h('p', { class: 'besides' }, `${besides().join(', ')}.`) : null,
    head.interrupted ? h('p', { class: 'interrupted' }, 'The sweep was interrupted; this is what it knew.') : null,
    head.command ? command(head.command) : null,
    h('dl', { class: 'figures' },
      figure(number(data.scenarios.length), 'scenarios'),
      figure(number(head.schedules), 'schedules'),
      figure(number(head.kills), 'kills'),
      figure(number(head.exact), 'proven exact', 'kills whose bytes on disk and wait status are those that the point promises'),
      head.harvested ? figure(number(head.harvested), 'harvested', 'kills not made: their image was known') : null,
      figure(seconds(head.seconds), 'in all'),
      figure(head.kills ? (head.kills / Math.max(head.seconds, 0.001)).toFixed(1) : '0', 'kills a second'),
      figure(head.launch, 'launches'),
      head.faults === 'kill' ? null : figure(head.faults, 'family of faults'),
      figure(String(head.seed), 'seed')),
    h('details', { class: 'gaps', open: head.interrupted },
      h('summary', {}, 'What was left out'),
      h('ul', {}, head.gaps.map((gap) => h('li', {}, gap)))));
}
