// Which page is shown: the overview, or the schedule that the address names.

const page = document.getElementById('page');
let overview;
let height = 0;

function overviewOf() {
  const parts = [faultsOf(), mapOf(), graphsOf(), coverageOf(), timingsOf()].filter(Boolean);
  const names = { faults: 'Faults', map: 'Kill map', graph: 'Crash graph', coverage: 'Coverage', timings: 'Timings' };
  const jump = (id) => h('a', { href: '#', onclick: (event) => {
    event.preventDefault();
    const heading = document.getElementById(`${id}-title`);
    heading.tabIndex = -1;
    heading.scrollIntoView();
    heading.focus({ preventScroll: true });
  } }, names[id]);
  return [headOf(), h('nav', { class: 'jump', 'aria-label': 'Parts' }, parts.map((part) => jump(part.id))), h('main', { class: 'overview' }, parts)];
}

function show(moved) {
  const asked = addressed();
  const one = byId.get(asked);
  if (page.dataset.id === '') height = scrollY;
  page.dataset.id = one?.id ?? '';
  if (one) {
    page.replaceChildren(...scheduleOf(one));
    scrollTo(0, 0);
  } else {
    overview ??= overviewOf();
    const unknown = asked ? h('p', { class: 'none', role: 'alert' }, 'No schedule here has the id ', h('code', {}, breakable(asked)), '.') : null;
    page.replaceChildren(...[unknown, ...overview].filter(Boolean));
    document.title = `${verdictSign()} ${verdict().words} — Killpoint`;
    scrollTo(0, height);
  }
  if (moved) (one ? document.getElementById('top') : last() ?? document.getElementById('top')).focus({ preventScroll: true });
}

function addressed() {
  try {
    return decodeURIComponent(location.hash.slice(1));
  } catch {
    return ''; // somebody's half of an address
  }
}

// The cell of the map that was gone from.
function last() {
  return document.querySelector('.map a.cell[tabindex="0"]');
}

document.getElementById('skip').addEventListener('click', (event) => {
  event.preventDefault();
  document.getElementById('top').focus();
});
addEventListener('hashchange', () => show(true));
addEventListener('keydown', (event) => {
  if (event.key === 'Escape' && page.dataset.id) location.hash = '';
  if (event.key === '/' && !/^(INPUT|TEXTAREA)$/.test(event.target.tagName)) {
    const field = document.getElementById('filter');
    if (field) {
      event.preventDefault();
      field.focus();
    }
  }
});
show(false);
