import { Chart } from './chart.js';
import { Series } from './history.js';
import { brief, byteRate, count, percent, rate } from './format.js';

const CHARTS = [
  { title: 'Open connections', names: ['open'], text: count, most: 1, values: (v) => [v.open] },
  { title: 'New connections', names: ['accepted', 'rejected'], text: rate, most: 1,
    values: (v) => [v.perSecond, v.rejectedPerSecond] },
  { title: 'Bytes of clients', names: ['received', 'sent'], text: byteRate, base: 1024, most: 1024,
    values: (v) => [v.received, v.sent] },
  { title: 'Time to connect', names: ['average', '99 % within'], text: brief, most: 0.001,
    values: (v) => [v.connectAverage, v.connectMost] },
  { title: 'Ends before their time', names: ['by servers', 'by clients', 'by this proxy'], text: rate, most: 1,
    values: (v) => [v.endedByServer, v.endedByClient, v.endedByProxy] },
  { title: 'Busy share of loops', names: ['average', 'busiest'], text: percent, most: 1,
    values: (v) => [v.busyAverage, v.busyMost] },
];

// Charts is the charts of the whole process.
export class Charts {
  constructor() {
    this.charts = CHARTS.map((c) => ({ ...c, chart: new Chart({ ...c, series: new Series(c.names) }) }));
    document.getElementById('charts').prepend(...this.charts.map((c) => c.chart.element));
  }

  show(view, now) {
    for (const { chart, values } of this.charts) {
      chart.series.push(now, values(view));
      chart.draw(now);
    }
  }

  gap(now) {
    for (const { chart } of this.charts) chart.series.gap(now);
  }
}
