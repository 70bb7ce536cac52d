import { el, say, set } from './dom.js';
import { brief, byteRate, count, known, limited, long, percent, rate } from './format.js';

// What is most important, as a number with a remark.
const TILES = [
  ['Open connections', (v) => count(v.open), (v) => v.status.limit ? `of ${count(v.status.limit)}` : ''],
  ['New connections', (v) => rate(v.perSecond), (v) => `${count(v.accepted)} so far`],
  ['Rejected', (v) => rate(v.rejectedPerSecond), (v) => `${count(v.rejections)} so far`, (v) => v.rejectedPerSecond > 0 ? 'warn' : ''],
  ['Received', (v) => byteRate(v.received), () => 'from clients'],
  ['Sent', (v) => byteRate(v.sent), () => 'to clients'],
  ['Connecting', (v) => brief(v.connectAverage), (v) => known(v.connectMost) ? `99 % within ${brief(v.connectMost)}` : 'to servers'],
  ['In queues', (v) => count(v.queued), (v) => `${count(v.queueRefused)} found it full`, (v) => v.queued > 0 ? 'warn' : ''],
  ['Servers up', (v) => limited(v.up, v.servers.length), (v) => others(v.servers), (v) => v.up === v.servers.length ? 'up' : 'warn'],
];

// others says in which states the servers are that are not up.
function others(servers) {
  const states = new Map();
  for (const s of servers) if (s.state !== 'up') states.set(s.state, (states.get(s.state) ?? 0) + 1);
  return [...states].map(([state, n]) => `${count(n)} ${state}`).join(', ') || 'all of them';
}

// What is known of the process.
const FACTS = [
  ['Phase', (s) => s.phase + (s.drain ? `, ${long(s.drain.left_seconds)} left` : '')],
  ['Running for', (s) => long(s.uptime_seconds)],
  ['Version', (s) => s.version + (s.revision ? ` (${s.revision.slice(0, 12)})` : '')],
  ['Process', (s) => s.pid.toString()],
  ['Ring', (s) => s.ring + (s.ring_reason ? `: ${s.ring_reason}` : '')],
  ['Plan', (s) => `revision ${s.plan}`],
  ['Last reload', reload],
  ['Memory', (s) => s.idle_timeout_ratio < 1 ? `short: idle timeouts are at ${percent(s.idle_timeout_ratio)}` : 'enough'],
  ['Access log', (s) => s.access_log ? `${count(s.access_log.lines)} lines, ${count(s.access_log.dropped)} dropped` : 'none'],
  ['Log level', (s) => s.log_level],
];

function reload({ last_reload: r }) {
  if (!r) return 'none yet';
  const when = new Date(r.at).toLocaleString('en-GB');
  if (!r.ok) return `refused at ${when}: ${r.errors.map((e) => e.text).join('; ')}`;
  return `at ${when}, ${r.changes.length === 1 ? '1 change' : `${count(r.changes.length)} changes`}`;
}

// Figures is the tiles and the facts.
export class Figures {
  constructor() {
    this.tiles = TILES.map(([name, value, remark, state]) => {
      const tile = { value, remark, state, big: el('dd', {}, '–'), small: el('dd', { class: 'remark' }) };
      document.getElementById('tiles').append(el('div', {}, el('dt', {}, name), tile.big, tile.small));
      return tile;
    });
    this.facts = FACTS.map(([name, text]) => {
      const value = el('dd', {}, '–');
      document.getElementById('facts').append(el('div', {}, el('dt', {}, name), value));
      return { text, value };
    });
    this.phase = document.getElementById('phase');
  }

  show(view) {
    for (const t of this.tiles) {
      say(t.big, t.value(view));
      say(t.small, t.remark(view));
      if (t.state) set(t.small, 'data-state', t.state(view));
    }
    for (const f of this.facts) say(f.value, f.text(view.status));
    say(this.phase, view.status.phase);
    set(this.phase, 'data-state', view.status.phase === 'serving' ? 'up' : 'warn');
  }
}
