import { el, say, set } from './dom.js';
import { brief, byteRate, count, known, long, percent, rate, words } from './format.js';

// What is most important, as a number with a remark.
const TILES = [
  { name: 'Open connections', value: (v) => count(v.open), remark: (v) => `of ${count(v.status.limit)}` },
  { name: 'New connections', value: (v) => rate(v.perSecond), remark: (v) => `${count(v.accepted)} so far` },
  { name: 'Rejected', value: (v) => rate(v.rejectedPerSecond), remark: (v) => `${count(v.rejections)} so far`,
    state: (v) => v.rejectedPerSecond > 0 ? 'warn' : '' },
  { name: 'Failed', value: (v) => rate(v.failedPerSecond),
    remark: (v) => known(v.failedShare) ? `${percent(v.failedShare)} of all` : 'by servers or TLS',
    state: (v) => v.failedShare >= 0.01 ? 'warn' : '' },
  { name: 'Received', value: (v) => byteRate(v.received), remark: () => 'from clients' },
  { name: 'Sent', value: (v) => byteRate(v.sent), remark: () => 'to clients' },
  { name: 'Connecting', value: (v) => brief(v.connectAverage),
    remark: (v) => known(v.connectMost) ? `99 % in ${brief(v.connectMost)}` : 'to servers' },
  { name: 'In queues', value: (v) => count(v.queued), remark: (v) => `${count(v.queueRefused)} found it full`,
    state: (v) => v.queued > 0 ? 'warn' : '' },
  { name: 'Servers up', value: (v) => count(v.up), remark: (v) => `of ${count(v.servers.length)}${others(v.servers)}`,
    state: (v) => v.up === v.servers.length ? 'up' : 'warn' },
];

// others says in which states the servers are that are not up.
function others(servers) {
  const states = new Map();
  for (const s of servers) if (s.state !== 'up') states.set(s.state, (states.get(s.state) ?? 0) + 1);
  return [...states].map(([state, n]) => `, ${count(n)} ${state}`).join('');
}

// What is known of the process.
const FACTS = [
  ['Phase', (s) => s.phase + (s.drain ? `, ${long(s.drain.left_seconds)} left` : '')],
  ['Running for', (s) => long(s.uptime_seconds)],
  ['Version', (s) => s.version + (s.revision ? ` (${s.revision.slice(0, 12)})` : '')],
  ['Host', (s) => s.host || '–'],
  ['Process', (s) => s.pid.toString()],
  ['Old processes', ({ predecessors: all }) => all?.map(old).join('; ') ?? 'none'],
  ['Ring', (s) => s.ring + (s.ring_reason ? `: ${s.ring_reason}` : '')],
  ['Plan', (s) => `revision ${s.plan}`],
  ['Last reload', reload],
  ['Memory', ({ idle_timeout_ratio: r }) => r < 1 ? `short: idle timeouts are at ${percent(r)}` : 'enough'],
  ['Access log', ({ access_log: l }) => l?.lines || l?.dropped
    ? `${count(l.lines)} lines, ${count(l.dropped)} dropped` : 'no lines'],
  ['Log level', (s) => s.log_level],
];

// old describes a process that an upgrade has replaced.
function old(p) {
  if (p.error) return `${p.pid}: ${p.error}`;
  const stay = p.staying?.map((c) => `${count(c.count)} ${words(c.reason)}`).join(', ');
  const left = p.left_seconds > 0 ? `, ${long(p.left_seconds)} left` : '';
  const open = `${count(p.connections)} connections${stay ? ` (${stay})` : ''}`;
  return `${p.pid}: ${open}, replaced ${long(p.elapsed_seconds)} ago${left}`;
}

function reload({ last_reload: r }) {
  if (!r) return 'none yet';
  const when = new Date(r.at).toLocaleString('en-GB');
  if (!r.ok) return `refused at ${when}: ${r.errors.map((e) => e.text).join('; ')}`;
  return `at ${when}, ${r.changes.length === 1 ? '1 change' : `${count(r.changes.length)} changes`}`;
}

// Figures is the tiles and the facts.
export class Figures {
  constructor() {
    this.tiles = TILES.map((t) => {
      const big = el('dd', {}, '–'), small = el('dd', { class: 'remark' });
      document.getElementById('tiles').append(el('div', {}, el('dt', {}, t.name), big, small));
      return { ...t, big, small };
    });
    this.facts = FACTS.map(([name, text]) => {
      const value = el('dd', {}, '–');
      document.getElementById('facts').append(el('div', {}, el('dt', {}, name), value));
      return { text, value };
    });
    this.phase = document.getElementById('phase');
    this.title = document.querySelector('h1');
  }

  show(view) {
    for (const t of this.tiles) {
      say(t.big, t.value(view));
      say(t.small, t.remark(view));
      if (t.state) set(t.small, 'data-state', t.state(view));
    }
    for (const f of this.facts) say(f.value, f.text(view.status));
    const { host } = view.status;
    say(this.title, host ? `reactord on ${host}` : 'reactord');
    document.title = view.problems ? `(${view.problems}) ${host || 'reactord'}` : this.title.textContent;
    say(this.phase, view.status.phase);
    set(this.phase, 'data-state', view.status.phase === 'serving' ? 'up' : 'warn');
  }
}
