import { brief, byteRate, bytes, count, limited, long, percent, rate, words } from './format.js';
import { SERVER_ACTIONS } from './actions.js';
import { svg } from './dom.js';
import { Table } from './table.js';

const share = (n, limit) => limit > 0 ? n / limit : null;
const reasons = (counts) => counts?.map((c) => `${words(c.reason)} ${count(c.count)}`).join(', ') || '–';

// number is a column of numbers that are sorted by the number itself.
const number = (name, sort, text, more = {}) => ({ name, number: true, sort, text: (r) => text(sort(r)), ...more });

const connections = (limit) => ({
  name: 'Connections', number: true, sort: (r) => r.connections, text: (r) => limited(r.connections, limit(r)),
  share: (r) => share(r.connections, limit(r)),
});

// The rows of what not every listener has: a column is there if one of them has it.
const some = (of) => (rows) => rows.some((r) => of(r) !== undefined);

const TLS = [
  number('TLS handshakes', (r) => r.handshakesPerSecond, rate, { when: some((r) => r.handshakes) }),
  number('Handshakes failed', (r) => r.handshakesFailed, count, { when: some((r) => r.handshakes) }),
];

// failed is how many fail now, and which share that is of all.
const failed = (what) => ({
  name: 'Failing', number: true, sort: (r) => r.failedPerSecond,
  text: (r) => rate(r.failedPerSecond) + (r.failedPerSecond > 0 ? `, ${percent(r.failedShare)}` : ''),
  state: (r) => r.fails ? 'down' : r.failedShare >= 0.01 ? 'warn' : '', title: what,
});

const UDP = { when: some((l) => l.received_datagrams) };

const LISTENERS = [
  { name: 'Listener', head: true, text: (l) => l.name },
  connections((l) => l.limit),
  number('Accepted', (l) => l.perSecond, rate),
  failed('Connections that end by a fault of a server or this proxy, or in the TLS handshake'),
  number('Rejected', (l) => l.rejectedPerSecond, rate),
  number('Received', (l) => l.receivedPerSecond, byteRate),
  number('Sent', (l) => l.sentPerSecond, byteRate),
  number('Datagrams received', (l) => l.receivedDatagramsPerSecond, rate, UDP),
  number('Datagrams sent', (l) => l.sentDatagramsPerSecond, rate, UDP),
  ...TLS,
  { name: 'Certificate expires', sort: (l) => l.expires, text: expiry, state: urgency,
    when: some((l) => l.certificates) },
  { name: 'Rejected in all', text: (l) => reasons(l.rejected), when: some((l) => l.rejected) },
  { name: 'Address', text: (l) => l.address },
  { name: 'Backend', text: (l) => l.backend },
  number('Routes', (l) => l.routes, count, { when: some((l) => l.routes) }),
  number('Accepted in all', (l) => l.accepted, count),
  number('Pauses', (l) => l.pauses, count),
  { name: 'Datagrams dropped', text: (l) => reasons(l.dropped_datagrams), ...UDP },
  { name: 'Errors of accepting', text: (l) => reasons(l.accept_errors), when: some((l) => l.accept_errors) },
];

const BACKENDS = [
  { name: 'Backend', head: true, text: (b) => b.name },
  { name: 'Servers up', number: true, sort: (b) => share(b.up, b.servers),
    text: (b) => `${count(b.up)} of ${count(b.servers)}`,
    state: (b) => b.fails || !b.up && b.servers ? 'down' : b.up === b.servers ? 'up' : 'warn' },
  connections((b) => b.max_connections),
  number('New', (b) => b.perSecond, rate),
  failed('Connects and TLS handshakes with servers that fail'),
  { name: 'Queue', number: true, sort: (b) => b.queued, text: (b) => limited(b.queued, b.queue_size),
    share: (b) => share(b.queued, b.queue_size) },
  number('Held', (b) => b.held, count),
  number('Queue full', (b) => b.queue_refused, count),
  number('Connect time', (b) => b.connectAverage, brief),
  number('99 % within', (b) => b.connectMost, brief),
  ...TLS,
  { name: 'Policy', text: (b) => words(b.policy) },
  number('Retries refused', (b) => b.retries_refused, count),
  { name: 'Paused', text: (b) => b.paused ? `${long(b.pause_left_seconds)} left` : '–',
    state: (b) => b.paused ? 'warn' : '', when: (rows) => rows.some((b) => b.paused) },
  { name: 'Health', text: (b) => b.panic ? 'ignored: too few servers are healthy' : 'respected',
    state: (b) => b.panic ? 'warn' : '', when: (rows) => rows.some((b) => b.panic) },
];

const SERVERS = [
  { name: 'Server', head: true, text: (s) => s.name },
  { name: 'State', text: (s) => s.fails && s.state === 'up' ? 'up, failing' : s.state,
    state: (s) => s.fails && s.state === 'up' ? 'down' : s.state },
  { name: 'Backend', text: (s) => s.backend },
  number('For', (s) => (Date.now() - Date.parse(s.since)) / 1000, long),
  { name: 'Weight', number: true, sort: (s) => s.weight * s.weight_percent,
    text: (s) => count(s.weight) + (s.weight_percent < 100 ? ` (${percent(s.weight_percent / 100)})` : '') },
  connections((s) => s.max_connections),
  number('New', (s) => s.perSecond, rate),
  failed('Connects that fail'),
  { name: 'Actions', actions: SERVER_ACTIONS, text: () => '', when: some((s) => s.operable || undefined) },
  number('In all', (s) => s.total, count),
  number('Failures', (s) => s.failures, count),
  number('Retries', (s) => s.retries, count),
  number('Ejections', (s) => s.ejections, count),
  { name: 'Why', wrapped: true, text: (s) => s.reason ?? '–', when: some((s) => s.reason) },
  { name: 'Last check', text: check, sort: (s) => s.check?.took_seconds, when: some((s) => s.check) },
  { name: 'Address', text: (s) => s.address },
];

// expiry says when the first certificate of a listener expires; it is urgent a week before.
function expiry(l) {
  if (!l.expires) return '–';
  return l.expires < Date.now() ? 'expired' : `in ${long((l.expires - Date.now()) / 1000)}`;
}

function urgency(l) {
  if (l.expires < Date.now()) return 'down';
  return l.expires < Date.now() + 7 * 86400e3 ? 'warn' : '';
}

function check(s) {
  if (!s.check) return '–';
  const took = s.check.took_seconds < 0.001 ? 'less than 1 ms' : brief(s.check.took_seconds);
  return `${s.check.ok ? 'passed' : 'failed'} in ${took}`;
}

const LOOPS = [
  { name: 'Loop', head: true, text: (l) => l.name },
  { name: 'Busy', number: true, sort: (l) => l.busy, text: (l) => percent(l.busy), share: (l) => l.busy },
  number('Connections', (l) => l.connections, count),
  number('Completions', (l) => l.completionRate, rate),
  number('Longest turn', (l) => l.longest_turn_seconds, brief),
  number('In flight', (l) => l.in_flight, count),
  number('Descriptors', (l) => l.descriptors, count),
  number('Buffers', (l) => l.buffer_bytes, bytes),
  number('Waits for buffers', (l) => l.buffer_waits, count),
];

const ENDS = [
  { name: 'Ended by', head: true, text: (e) => words(e.by) },
  { name: 'Phase', text: (e) => words(e.phase) },
  { name: 'Listener', text: (e) => e.listener },
  number('Now', (e) => e.perSecond, rate),
  number('In all', (e) => e.count, count),
];

const FAILING = [
  { name: 'What fails', head: true, wrapped: true, text: (f) => f.text || words(f.reason) },
  { name: 'Listener', text: (f) => f.listener },
  { name: 'Backend', text: (f) => f.backend ?? '–' },
  { name: 'Server', text: (f) => f.server ?? '–' },
  { name: 'TLS', text: (f) => f.tls_cause ? words(f.tls_cause) : '–', when: some((f) => f.tls_cause) },
  { name: 'Share', number: true, sort: (f) => f.share, text: (f) => f.recent ? percent(f.share) : '–',
    title: 'Of the connections of the listener that ended in the last minute',
    state: (f) => f.problem === 2 ? 'down' : f.share >= 0.005 ? 'warn' : '' },
  number('Last minute', (f) => f.recent, count),
  number('In all', (f) => f.count, count),
  number('Last', (f) => (Date.now() - Date.parse(f.last)) / 1000, (s) => `${long(s)} ago`),
  { name: 'Fault of', text: (f) => ({ proxy: 'this proxy', policy: 'a limit' })[f.fault] ?? `the ${f.fault}` },
    { name: 'Code', text: (f) => f.code, title: 'Of the access log in the format tcplog' },
  { name: 'Ended by', text: (f) => `${words(f.reason)}, ${words(f.phase)}`, title: 'term_by and phase of the metrics' },
];

const HOUR = [
  { name: 'In the last hour', head: true, text: (r) => r.name },
  { name: 'Kind', text: (r) => r.kind },
  { name: 'Backend', text: (r) => r.backend ?? '–' },
  { name: 'New', draw: (r) => trend(r.new, 0), sort: (r) => mean(r.new), text: (r) => rate(mean(r.new)) },
  number('New on average', (r) => mean(r.new), rate),
  { name: 'Failed', draw: (r) => trend(r.failed, 1), sort: (r) => mean(r.failed), text: (r) => rate(mean(r.failed)) },
  number('Failed in all', (r) => Math.round(known(r.failed).reduce((a, b) => a + b, 0) * 10), count),
];

const known = (points) => points.filter((p) => p >= 0);

function mean(points) {
  const all = known(points);
  return all.length ? all.reduce((a, b) => a + b, 0) / all.length : null;
}

// trend draws the points of an hour as a small line.
function trend(points, line) {
  const top = Math.max(...points, 1e-9);
  let d = '', pen = 'M';
  points.forEach((p, i) => {
    if (p < 0) {
      pen = 'M';
      return;
    }
    d += `${pen}${i} ${(22 - p / top * 20).toFixed(1)}h1`; // a point alone is seen
    pen = 'L';
  });
  return svg('svg', { class: 'trend', role: 'img', viewBox: `0 0 ${points.length} 24`, preserveAspectRatio: 'none',
    'aria-label': `at most ${rate(top)}, now ${rate(points.at(-1) < 0 ? null : points.at(-1))}` },
  svg('path', { class: `line line${line}`, 'vector-effect': 'non-scaling-stroke', d }));
}

// Tables is everything that is counted one by one.
export class Tables {
  constructor() {
    const none = 'There are none.';
    this.tables = {
      failing: new Table({ title: 'Failures', columns: FAILING, empty: 'Nothing has failed in the last hour.',
        find: (f) => `${f.text} ${f.listener} ${f.backend ?? ''} ${f.server ?? ''} ${f.tls_cause ?? ''} ${f.code}` }),
      listeners: new Table({ title: 'Listeners', columns: LISTENERS, empty: none,
        find: (l) => `${l.name} ${l.address} ${l.backend}` }),
      backends: new Table({ title: 'Backends', columns: BACKENDS, empty: none, find: (b) => `${b.name} ${b.policy}` }),
      servers: new Table({ title: 'Servers', columns: SERVERS, empty: none,
        find: (s) => `${s.name} ${s.address} ${s.backend} ${s.state} ${s.reason ?? ''} ${s.locality ?? ''}` }),
      hour: new Table({ title: 'Busiest and failing', columns: HOUR, empty: 'Nothing has been busy yet.',
        find: (r) => `${r.name} ${r.kind} ${r.backend ?? ''}` }),
      loops: new Table({ title: 'Loops', columns: LOOPS, empty: none }),
      ends: new Table({ title: 'How connections ended', columns: ENDS, empty: 'None has ended yet.',
        find: (e) => `${e.by} ${e.phase} ${e.listener}` }),
    };
    document.getElementById('tables').append(...Object.values(this.tables).map((t) => t.element));
  }

  // onlyProblems hides rows without a problem, or shows them again.
  onlyProblems(only) {
    for (const table of Object.values(this.tables)) table.onlyProblems(only);
  }

  show(view) {
    for (const [name, table] of Object.entries(this.tables)) if (view[name]) table.show(view[name]);
  }

  // past shows what was busy or has failed in the last hour.
  past({ rows }) { this.tables.hour.show(rows); }

  get rowsOfPast() { return true; }
}
