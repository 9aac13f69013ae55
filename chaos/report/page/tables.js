// Coverage and timings.

function coverageOf() {
  const points = data.scenarios.reduce((sum, scenario) => sum + scenario.points, 0);
  const idle = data.scenarios.map((scenario) => {
    const tried = new Set(scenario.schedules.map((one) => one.row));
    return [scenario, scenario.rows.filter((row, index) => !tried.has(index)).map(([, place]) => place)];
  }).filter(([, places]) => places.length);
  const missed = idle.reduce((sum, [, places]) => sum + places.length, 0);
  const table = bySource();
  return h('section', { id: 'coverage', 'aria-labelledby': 'coverage-title' },
    h('h2', { id: 'coverage-title' }, 'Coverage'),
    data.head.faults !== 'kill' ? null : h('p', {}, missed ? `Of ${number(points)} boundaries of the runs without a kill, ${number(missed)} had nothing tried at them.`
      : `Something was tried at each of the ${number(points)} boundaries of the runs without a kill.`),
    h('div', { class: 'wide' }, h('table', { class: 'plain' },
      h('thead', {}, h('tr', {}, h('th', { scope: 'col' }, 'source'), data.columns.map((name) => h('th', { scope: 'col' }, name)), h('th', { scope: 'col' }, 'schedules'))),
      h('tbody', {}, [...table].map(([source, counts]) => h('tr', {}, h('th', { scope: 'row' }, source),
        counts.map((count) => h('td', {}, count ? number(count) : '–')), h('td', {}, number(counts.reduce((sum, count) => sum + count, 0)))))))),
    missed ? h('details', {}, h('summary', {}, 'Boundaries at which nothing was tried'),
      h('ul', {}, idle.map(([scenario, places]) => h('li', {}, h('b', {}, scenario.name), ': ', h('code', {}, places.join(', ')))))) : null);
}

function bySource() {
  const table = new Map();
  for (const one of schedules) {
    const source = one.scenario.rows[one.row][1].split(/[:@]/, 1)[0];
    if (!table.has(source)) table.set(source, data.columns.map(() => 0));
    table.get(source)[one.column] += 1;
  }
  table.delete('no kill');
  return table;
}

function timingsOf() {
  const slowest = schedules.toSorted((one, other) => other.seconds - one.seconds).slice(0, 10);
  const long = data.scenarios.toSorted((one, other) => other.seconds - one.seconds).slice(0, 10);
  return h('section', { id: 'timings', 'aria-labelledby': 'timings-title' },
    h('h2', { id: 'timings-title' }, 'Timings'),
    h('div', { class: 'pair' },
      bars('Slowest schedules', slowest.map((one) => [h('a', { href: link(one) }, breakable(one.id)), one.seconds])),
      bars('Slowest scenarios, over all lanes', long.map((scenario) => [breakable(scenario.name), scenario.seconds]))));
}

function bars(title, rows) {
  const most = Math.max(...rows.map(([, value]) => value), 0.001);
  return h('table', { class: 'bars' }, h('caption', {}, title), h('tbody', {}, rows.map(([name, value]) =>
    h('tr', {}, h('th', { scope: 'row' }, name), h('td', {}, seconds(value)),
      h('td', { class: 'bar', 'aria-hidden': 'true' }, s('svg', { width: '100%', height: '8', preserveAspectRatio: 'none', viewBox: '0 0 100 8' }, s('rect', { width: (value / most) * 100, height: 8 })))))));
}
