// The data of the page: what Python wrote down briefly, with names.

const data = JSON.parse(document.getElementById('data').textContent);
const FIELDS = ['id', 'schedule', 'verdict', 'row', 'column', 'label', 'kills', 'exact', 'seconds',
  'merged', 'group', 'rules', 'said', 'kept'];
const EVENT = ['order', 'launch', 'ms', 'lane', 'kind', 'words', 'fields'];
// What a verdict looks like: a shape and a word, never colour alone.
const LOOKS = {
  PASS: { sign: '·', name: 'passed', look: 'pass' },
  VIOLATION: { sign: '✕', name: 'violation', look: 'violation' },
  KNOWN: { sign: '≈', name: 'known fault', look: 'known' },
  INCONCLUSIVE: { sign: '?', name: 'inconclusive', look: 'inconclusive' },
  HARNESS_ERROR: { sign: '!', name: 'harness error', look: 'error' },
};
const byId = new Map();
const schedules = [];

for (const scenario of data.scenarios) {
  scenario.schedules = scenario.schedules.map((values) => {
    const one = Object.fromEntries(FIELDS.map((name, index) => [name, values[index]]));
    one.scenario = scenario;
    one.verdict = data.verdicts[one.verdict];
    const reason = data.groups[one.group]?.reason;
    one.look = LOOKS[one.verdict === 'VIOLATION' && reason ? 'KNOWN' : one.verdict];
    byId.set(one.id, one);
    schedules.push(one);
    return one;
  });
}
for (const group of data.groups) {
  group.schedules = group.schedules.map((index) => schedules[index]);
  for (const one of group.schedules) one.fault = group;
}

function eventsOf(story) {
  return story.events.map((values) =>
    Object.fromEntries(EVENT.map((name, index) => [name, values[index]])));
}

// Where a kill fell, as the map names it.
function placeOf(one) {
  const [heading, place] = one.scenario.rows[one.row];
  return { heading, place };
}

// The story that is told for a schedule: its own, or that of the schedule that judged its image.
function storyOf(one) {
  for (let at = one, steps = 0; at && steps < 99; at = at.scenario.schedules[at.merged], steps++) {
    if (data.stories[at.id]) return { story: data.stories[at.id], of: at };
  }
  return undefined;
}

// Opened from a disk, the page knows where its folder is, wherever that was moved to.
function inFolder(name) {
  if (location.protocol !== 'file:') return `${data.folder}/${name}`;
  return decodeURIComponent(location.pathname).replace(/[^/]*$/, '') + name;
}

function replay(one) {
  return one.verdict === 'PASS' ? undefined : `chaos replay ${quoted(inFolder(`failures/${one.id}.json`))}`;
}

// The command that makes a schedule again from the scenario file. A selection chooses among
// schedules of the first level; what follows from one is explored from there.
function again(one) {
  const first = one.kills < 2 ? one : one.scenario.schedules.find(
    (other) => other.kills === 1 && one.schedule.startsWith(`${other.schedule};`)) ?? one;
  return ['chaos', 'run', one.scenario.path, '-k', first.id, ...data.again].map(quoted).join(' ');
}
