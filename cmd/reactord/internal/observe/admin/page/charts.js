import { Chart } from './chart.js';
import { el, set } from './dom.js';
import { Series } from './history.js';
import { points } from './past.js';
import { brief, byteRate, count, percent, rate } from './format.js';

const CHARTS = [
  { title: 'Open connections', names: ['open'], text: count, most: 1, values: (v) => [v.open], past: ['open'] },
  { title: 'New connections', names: ['accepted', 'rejected'], text: rate, most: 1,
    values: (v) => [v.perSecond, v.rejectedPerSecond], past: ['accepted', 'rejected'] },
  { title: 'Bytes of clients', names: ['received', 'sent'], text: byteRate, base: 1024, most: 1024,
    values: (v) => [v.received, v.sent], past: ['received', 'sent'] },
  { title: 'Time to connect', names: ['average', '99 % within'], text: brief, most: 0.001,
    values: (v) => [v.connectAverage, v.connectMost], past: ['connect_average', 'connect_99'] },
  { title: 'Ends before their time', names: ['by servers', 'by clients', 'by this proxy'], text: rate, most: 1,
    values: (v) => [v.endedByServer, v.endedByClient, v.endedByProxy],
    past: ['ended_by_servers', 'ended_by_clients', 'ended_by_proxy'] },
  { title: 'Busy share of loops', names: ['average', 'busiest'], text: percent, most: 1,
    values: (v) => [v.busyAverage, v.busyMost], past: ['busy_average', 'busy_most'] },
];

const COARSE = 10; // seconds between the points of the last hour

// Charts is the charts of the whole process, of the last minutes or of the last hour.
export class Charts {
  constructor() {
    this.charts = CHARTS.map((c) => ({ ...c, chart: new Chart({ ...c, series: new Series(c.names) }),
      long: new Series(c.names), sum: c.names.map(() => []) }));
    document.getElementById('charts').prepend(...this.charts.map((c) => c.chart.element));
    this.range = el('button', { type: 'button', id: 'range', 'aria-pressed': 'false' }, 'Last hour');
    this.range.addEventListener('click', () => this.choose(this.range.getAttribute('aria-pressed') !== 'true'));
    document.getElementById('problems').after(this.range);
    this.live = 0; // the time of the first point that the page has read itself
  }

  // choose shows the last hour, or the last minutes.
  choose(long) {
    set(this.range, 'aria-pressed', long);
    for (const { chart } of this.charts) chart.choose(long);
    document.getElementById('charts-title').textContent = long ? 'The last hour' : 'The last five minutes';
  }

  show(view, now) {
    this.live ||= now;
    this.due ||= now + COARSE * 1e3;
    for (const c of this.charts) {
      const values = c.values(view);
      c.chart.series.push(now, values);
      values.forEach((v, i) => { if (v !== null) c.sum[i].push(v); });
      if (now >= this.due) {
        c.long.push(now, c.sum.map((s) => s.length ? s.reduce((a, b) => a + b) / s.length : null));
        c.sum = c.sum.map(() => []);
      }
      c.chart.draw(now);
    }
    if (now >= this.due) this.due = now + COARSE * 1e3;
  }

  gap(now) {
    for (const { chart } of this.charts) chart.series.gap(now);
  }

  // past replaces what is shown by what the daemon remembers, up to now.
  past(history, now) {
    for (const c of this.charts) {
      const fine = new Series(c.names), long = new Series(c.names);
      points(history, 1, c.past, now, (time, values) => fine.push(time, values));
      points(history, COARSE, c.past, now, (time, values) => long.push(time, values));
      c.chart.series = fine;
      c.long = long;
      c.chart.hour = long;
      c.chart.draw(now);
    }
  }
}
