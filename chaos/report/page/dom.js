// Elements, and the few things that every part of the page needs. Text only ever becomes text:
// nothing here, or anywhere, turns a string into markup.

const SVG = 'http://www.w3.org/2000/svg';

function fill(node, properties, children) {
  for (const [name, value] of Object.entries(properties ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith('on')) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? '' : value);
  }
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return node;
}

function h(tag, properties, ...children) {
  return fill(document.createElement(tag), properties, children);
}

function s(tag, properties, ...children) {
  return fill(document.createElementNS(SVG, tag), properties, children);
}

function number(value, noun) {
  const text = value.toLocaleString('en').replaceAll(',', '\u202f');
  return noun === undefined ? text : `${text} ${noun}${value === 1 ? '' : 's'}`;
}

function seconds(value) {
  if (value < 1) return `${Math.round(value * 1000)} ms`;
  return `${value < 10 ? value.toFixed(2) : value.toFixed(1)} s`;
}

// As a shell reads it.
function quoted(word) {
  return /^[A-Za-z0-9_@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'"'"'`)}'`;
}

// Names break where they may, so that a narrow page need not scroll.
function breakable(text) {
  return text.split(/(?<=[/;:-])(?=.{3})/).flatMap((part, index) => (index ? [h('wbr'), part] : [part]));
}

// Words in which names stand between backticks.
function coded(text) {
  return text.split('`').map((part, index) => (index % 2 ? h('code', {}, part) : part));
}

function announce(text) {
  document.getElementById('said').textContent = text;
}

async function copy(text, button) {
  const usual = button.textContent;
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = h('textarea', {});
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand('copy');
    area.remove();
    button.focus();
  }
  button.textContent = 'copied';
  announce('copied');
  setTimeout(() => { button.textContent = usual; }, 1500);
}

// A command line to paste, with a button that copies it.
function command(text, label) {
  const code = h('code', { tabindex: '0' }, text);
  const button = h('button', { type: 'button', 'aria-label': `Copy: ${text}` }, 'copy');
  button.addEventListener('click', () => copy(text, button));
  return h('div', { class: 'command' }, label ? h('span', { class: 'label' }, label) : null, code, button);
}
