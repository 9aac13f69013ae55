// One schedule: what it did, what broke, and everything that is known of it.

function scheduleOf(one) {
  const told = storyOf(one);
  const scenario = one.scenario;
  const at = scenario.schedules.indexOf(one);
  document.title = `${one.look.sign} ${one.id} — Killpoint`;
  return [
    h('nav', { class: 'trail', 'aria-label': 'Schedules' },
      h('a', { href: '#', class: 'back' }, '← Overview'),
      h('span', {}, neighbour(scenario.schedules[at - 1], '‹ previous'), neighbour(scenario.schedules[at + 1], 'next ›'))),
    h('main', { class: 'schedule' },
      h('p', { class: 'mark' }, breakable(scenario.name)),
      h('h1', { tabindex: '-1', id: 'top' }, h('span', { class: `badge ${one.look.look}` }, one.look.name), breakable(one.id)),
      h('ol', { class: 'launches', 'aria-label': 'The schedule' }, launchesOf(one)),
      one.verdict === 'PASS' ? null : brokenOf(one, told),
      replay(one) ? command(replay(one), 'again') : null,
      command(again(one), replay(one) ? 'from the scenario' : 'again'),
      kindOf(one),
      figuresOf(one),
      told && one.verdict !== 'PASS' ? storyShown(one, told) : evidenceOf(one)),
  ];
}

function neighbour(one, words) {
  return one ? h('a', { href: link(one), title: one.id }, words) : h('span', { class: 'off' }, words);
}

function launchesOf(one) {
  return one.schedule.split('; ').map((part) => {
    const [role, ...what] = part.split(': ');
    return h('li', {}, h('span', { class: 'role' }, role), ' ', h('code', {}, breakable(what.join(': '))));
  });
}

function brokenOf(one, told) {
  const violations = told?.of === one ? told.story.violations : [];
  const parts = violations.length ? violations.map((violation, index) => [
    violations[index - 1]?.id === violation.id ? null : ruleOf(violation.id),
    h('dl', { class: 'look' }, index ? null : killsOf(told.story), saidOf(violation)),
  ]) : [one.rules.map(ruleOf), told ? h('dl', { class: 'look' }, killsOf(told.story)) : null, h('p', { class: 'message' }, one.said)];
  const beside = (told?.story.kills ?? []).flatMap((kill) => kill.beside);
  return h('section', { class: `broken ${one.look.look}`, 'aria-label': 'What broke' }, parts,
    one.fault?.reason ? h('p', { class: 'reason' }, h('b', {}, 'known'), ` ${one.fault.reason}`) : null,
    beside.length ? h('p', { class: 'beside' }, `Beside it: ${beside.join('; ')}`) : null);
}

function kindOf(one) {
  if (!one.fault?.rules.length) return null;
  const others = one.fault.schedules.length - 1;
  return h('p', { class: 'links' }, 'Fault ', h('code', {}, one.fault.title),
    others ? [', with ', h('a', { href: link(one.fault.schedules.find((other) => other !== one)) }, number(others, 'other schedule'))] : ', alone');
}

function figuresOf(one) {
  const image = one.scenario.schedules[one.merged];
  return h('dl', { class: 'figures' },
    figure(number(one.kills), 'kills'),
    figure(one.kills ? `${number(one.exact)} of ${number(one.kills)}` : '–', 'proven exact'),
    figure(seconds(one.seconds), 'took'),
    image ? h('div', { class: 'long' }, h('dt', {}, 'left the same crash image as'), h('dd', {}, h('a', { href: link(image) }, breakable(image.id)))) : null);
}

function evidenceOf(one) {
  const place = one.verdict === 'PASS' ? 'passed' : 'failures';
  if (one.kept) {
    return h('p', { class: 'evidence' }, 'The evidence is not in this page. It lies in ', h('code', {}, `${place}/${one.id}/`), ' beside it: ',
      command(`chaos judge ${quoted(inFolder(`${place}/${one.id}`))}`));
  }
  if (one.verdict === 'PASS') return h('p', { class: 'evidence' }, 'It broke no rule. The evidence of schedules that pass is kept with --keep.');
  return h('p', { class: 'evidence' }, 'Its evidence is not here: the smallest schedules of each kind keep theirs, where there is any, and with --keep all of them. A replay makes it again.');
}

function storyShown(one, { story, of }) {
  const words = story.launches.filter((launch) => launch.stderr.length || launch.stdout.length);
  return [
    of === one ? null : h('p', { class: 'hint' }, 'It left a crash image that was judged already; what follows is the story of ', h('a', { href: link(of) }, breakable(of.id)), '.'),
    h('div', { class: 'story' },
      h('section', { 'aria-labelledby': 'timeline-title' }, h('h2', { id: 'timeline-title' }, 'Timeline'),
        h('p', { class: 'hint' }, 'In order; milliseconds on the left. Open a row for its raw facts.'), timelineOf(story)),
      h('section', { 'aria-labelledby': 'log-title' }, h('h2', { id: 'log-title' }, 'Log'),
        h('p', { class: 'hint' }, h('b', { class: 'plus' }, '+'), ' came after the kill, ', h('b', { class: 'wave' }, '~'), ' torn, ', h('b', { class: 'minus' }, '−'), ' lost later, ', h('b', { class: 'here' }, '▸'), ' where the rule broke.'),
        story.log.lines.length ? logOf(story) : h('p', { class: 'hint' }, 'The session of this target is not read.'),
        words.length ? [h('h2', {}, 'Last words'), words.map((launch) => [
          h('h3', {}, launch.name),
          launch.stderr.length ? h('pre', { tabindex: '0' }, launch.stderr.join('\n')) : null,
          launch.stdout.length ? h('pre', { tabindex: '0', class: 'stdout' }, launch.stdout.join('\n')) : null])] : null,
        story.lost.length ? [h('h2', {}, 'Lost'), h('p', { class: 'hint' }, 'Replies that were paid for and that no durable fact counts.'), h('ul', {}, story.lost.map((line) => h('li', {}, line)))] : null)),
    of.kept ? h('p', { class: 'evidence' }, 'The whole evidence lies in ', h('code', {}, `failures/${of.id}/`), ' beside this page.') : null,
  ];
}
