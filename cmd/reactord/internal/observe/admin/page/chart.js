import { el, svg, say, set } from './dom.js';
import { clock, known } from './format.js';

// The times that a chart shows, in ms, with the distance of their marks. It is the first in which all of the series is.
const WINDOWS = [
  { length: 60e3, step: 15e3, name: 'minute', mark: (ago) => `−${ago / 1e3} s` },
  { length: 120e3, step: 30e3, name: '2 minutes', mark: (ago) => `−${ago / 1e3} s` },
  { length: 300e3, step: 60e3, name: '5 minutes', mark: (ago) => `−${ago / 60e3} min` },
];
const LONGEST = WINDOWS.at(-1);
const HOUR = { length: 3600e3, step: 900e3, name: 'hour', mark: (ago) => `−${ago / 60e3} min` };
const EDGE = { left: 62, right: 10, top: 10, bottom: 22 };

// Chart draws the last minutes of a Series: a line for each quantity, told apart by its dashes as well as its
// colour. Its text alternative is a summary and a table.
export class Chart {
  constructor({ title, series, names, text, base = 10, most = 0 }) {
    this.series = series;
    this.hour = null; // the series of the last hour
    this.long = false; // it is shown
    this.text = text; // of a value
    this.base = base; // of round values
    this.most = most; // the scale reaches at least this far
    this.drawing = svg('svg', { role: 'img' });
    this.keys = names.map((name, i) => {
      const value = el('b');
      const sample = svg('svg', { class: 'sample', viewBox: '0 0 24 8', 'aria-hidden': 'true' },
        svg('path', { class: `line line${i}`, d: 'M0 4H24' }));
      return { name, value, item: el('li', {}, sample, name + ' ', value) };
    });
    this.table = el('table');
    this.values = el('details', { class: 'values' },
      el('summary', {}, 'Values', el('span', { class: 'unseen' }, ` of ${title}`)), this.table);
    this.values.addEventListener('toggle', () => this.fillTable());
    this.title = title;
    this.element = el('section', { class: 'card chart' }, el('h3', {}, title),
      el('ul', { class: 'keys' }, ...this.keys.map((k) => k.item)), this.drawing, this.values);
    this.prepare();
  }

  prepare() {
    this.grid = svg('g', { class: 'grid' });
    this.lines = this.keys.map((_, i) => svg('path', { class: `line line${i}` }));
    this.area = svg('path', { class: 'area' });
    this.cross = svg('path', { class: 'cross' });
    this.drawing.append(this.grid, this.area, ...this.lines.toReversed(), this.cross);
    this.drawing.addEventListener('pointermove', (e) => { this.pointer = e.offsetX; this.draw(); });
    this.drawing.addEventListener('pointerleave', () => { this.pointer = null; this.draw(); });
    new ResizeObserver(([{ contentRect: r }]) => {
      this.width = r.width;
      this.height = r.height;
      set(this.drawing, 'viewBox', `0 0 ${r.width} ${r.height}`);
      this.draw();
    }).observe(this.drawing);
  }

  // choose shows the last hour, or the last minutes.
  choose(long) {
    this.long = long;
    this.draw();
  }

  // shown is the series that is drawn, and the longest time of it.
  get shown() { return this.long && this.hour ? this.hour : this.series; }
  get longest() { return this.long ? HOUR : LONGEST; }

  // draw draws the series as it is, up to a time.
  draw(now = this.now) {
    this.now = now;
    if (!now || !this.width) return;
    const stats = this.measure();
    const first = stats[0].points[0]?.[0] ?? now;
    this.window = this.long ? HOUR : WINDOWS.find((w) => now - first <= w.length) ?? LONGEST;
    const top = nice(Math.max(this.most, ...stats.map((s) => s.max ?? 0)), this.base);
    const bottom = this.height - EDGE.bottom;
    const right = this.width - EDGE.right;
    const x = (time) => right - (now - time) / this.window.length * (right - EDGE.left);
    const y = (value) => bottom - value / top * (bottom - EDGE.top);
    this.drawGrid(x, y, top);
    stats.forEach((s, i) => set(this.lines[i], 'd', path(s.points, x, y)));
    set(this.area, 'd', area(stats[0].points, x, y, bottom));
    this.point(stats, x, bottom);
    set(this.drawing, 'aria-label', this.summary(stats));
    if (this.values.open) this.fillTable();
  }

  // measure reads the points of each quantity.
  measure() {
    const stats = this.keys.map(() => ({ points: [], last: null, min: null, max: null }));
    this.shown.since(this.now - this.longest.length, (time, index) => stats.forEach((s, i) => {
      const value = this.shown.at(i, index);
      s.points.push([time, value]);
      s.last = value;
      if (!known(value)) return;
      s.min = Math.min(s.min ?? value, value);
      s.max = Math.max(s.max ?? value, value);
    }));
    return stats;
  }

  drawGrid(x, y, top) {
    const children = [], written = new Set();
    for (const i of [0, 4, 2]) {
      const at = y(top * i / 4), text = this.text(top * i / 4);
      children.push(svg('path', { d: `M${EDGE.left} ${at}H${this.width - EDGE.right}` }));
      if (!written.has(text)) { // half a connection is written as one
        children.push(svg('text', { x: EDGE.left - 8, y: at + 4, 'text-anchor': 'end' }, text));
      }
      written.add(text);
    }
    const { length, step, mark } = this.window;
    const sparse = this.width < 330 ? 2 : 1;
    for (let ago = 0; ago < length; ago += step * sparse) {
      children.push(svg('text', { x: x(this.now - ago), y: this.height - 5, 'text-anchor': ago ? 'middle' : 'end' },
        ago ? mark(ago) : 'now'));
    }
    this.grid.replaceChildren(...children);
  }

  // point shows the values under the pointer, or else the last ones.
  point(stats, x, bottom) {
    const points = stats[0].points;
    let at = points.length - 1;
    const pointed = known(this.pointer) && at >= 0;
    if (pointed) {
      const distance = (i) => Math.abs(x(points[i][0]) - this.pointer);
      for (let i = 0; i < points.length; i++) if (distance(i) < distance(at)) at = i;
    }
    set(this.cross, 'd', pointed ? `M${x(points[at][0])} ${EDGE.top}V${bottom}` : '');
    this.keys.forEach((k, i) => say(k.value, at < 0 ? '–' : this.text(stats[i].points[at][1])));
  }

  summary(stats) {
    const parts = stats.map((s, i) => `${this.keys[i].name}: ` + (s.max === null ? 'not known'
      : `${known(s.last) ? this.text(s.last) : 'not known now'}, from ${this.text(s.min)} to ${this.text(s.max)}`));
    return `${this.title} in the last ${this.window.name}. ${parts.join('. ')}.`;
  }

  // fillTable has a row for each half minute, or for each five of an hour.
  fillTable() {
    const rows = [];
    let due = -Infinity;
    const every = this.long ? 300e3 : 30e3;
    this.shown.since(this.now - this.longest.length, (time, index) => {
      if (time < due) return;
      due = time + every;
      rows.unshift(el('tr', {}, el('th', { scope: 'row' }, clock(new Date(time))),
        ...this.keys.map((_, i) => el('td', {}, this.text(this.shown.at(i, index))))));
    });
    const titles = ['Time', ...this.keys.map((k) => k.name)];
    this.table.replaceChildren(el('caption', { class: 'unseen' }, `${this.title}, every ${this.long ? '5 minutes' : '30 seconds'}`),
      el('thead', {}, el('tr', {}, ...titles.map((t) => el('th', { scope: 'col' }, t)))), el('tbody', {}, ...rows));
  }
}

// path is a line through the points, with gaps where a value is not known.
function path(points, x, y) {
  let d = '', pen = 'M';
  for (const [time, value] of points) {
    if (!known(value)) {
      pen = 'M';
      continue;
    }
    d += `${pen}${x(time).toFixed(1)} ${y(value).toFixed(1)}`;
    pen = 'L';
  }
  return d;
}

// area is what is below the line.
function area(points, x, y, bottom) {
  let d = '', run = [];
  const close = () => {
    if (run.length > 1) {
      d += path(run, x, y) + `V${bottom}H${x(run[0][0]).toFixed(1)}Z`;
    }
    run = [];
  };
  for (const p of points) known(p[1]) ? run.push(p) : close();
  close();
  return d;
}

// nice is a round number of at least n, for the top of a scale.
function nice(n, base) {
  let unit = 1;
  while (base > 10 && n / unit > 0.8 * base) unit *= base; // KiB, MiB, …
  unit *= 10 ** Math.floor(Math.log10(n / unit));
  return unit * [1, 2, 4, 6, 8, 10].find((f) => f * unit >= n * 0.9999);
}
