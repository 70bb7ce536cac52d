import { el, say } from './dom.js';
import { brief, byteRate, bytes, count, long, words } from './format.js';
import { Table } from './table.js';

// What is read only when the reader of the page asks for it: it may be long.

const TIMEOUT = 20e3;
const MOST = 2000; // connections

const number = (name, sort, text, more = {}) => ({ name, number: true, sort, text: (r) => text(sort(r)), ...more });
const some = (of) => (rows) => rows.some((r) => of(r) !== undefined);

const CONNECTIONS = [
  { name: 'Client', head: true, text: (c) => c.client },
  number('Age', (c) => c.age_seconds, long),
  number('Idle', (c) => c.idle_seconds, long),
  { name: 'State', text: (c) => words(c.state) },
  number('Bytes per second', (c) => (c.received_bytes + c.sent_bytes) / Math.max(c.age_seconds, 1), byteRate),
  number('RTT to the client', (c) => c.client_tcp?.rtt_seconds, brief),
  number('RTT to the server', (c) => c.server_tcp?.rtt_seconds, brief, { when: some((c) => c.server_tcp) }),
  number('Sent again', (c) => (c.client_tcp?.retransmits ?? 0) + (c.server_tcp?.retransmits ?? 0), count),
  { name: 'Listener', text: (c) => c.listener },
  { name: 'Backend', text: (c) => c.backend || '–' },
  { name: 'Server', text: (c) => c.server ?? '–' },
  { name: 'Server name (SNI)', text: (c) => c.sni ?? '–', when: some((c) => c.sni) },
  { name: 'TLS', text: (c) => c.tls_version ?? '–', when: some((c) => c.tls_version) },
  number('Received', (c) => c.received_bytes, bytes),
  number('Sent', (c) => c.sent_bytes, bytes),
  { name: 'Id', text: (c) => c.id },
];

const SOURCES = [
  { name: 'Source', head: true, text: (s) => s.source },
  { name: 'Listener', text: (s) => s.listener ?? 'all' },
  number('Connections', (s) => s.connections, count),
  number('Limit', (s) => s.limit, count, { when: some((s) => s.limit) }),
  number('Received', (s) => s.received_bytes, bytes),
  number('Sent', (s) => s.sent_bytes, bytes),
  number('Accepted in all', (s) => s.accepted, count),
  { name: 'Rejected', text: (s) => s.rejected?.map((c) => `${words(c.reason)} ${count(c.count)}`).join(', ') || '–' },
  { name: 'Limited now by', text: (s) => s.limited?.map(words).join(', ') || '–' },
  { name: 'Stays at', text: (s) => s.server ?? '–', when: some((s) => s.server) },
];

const ROUTES = [
  { name: 'Listener', head: true, text: (r) => r.listener },
  number('Order', (r) => r.order, count),
  { name: 'Route', text: (r) => r.name },
  { name: 'If', wrapped: true, text: (r) => r.matches },
  { name: 'Backend', text: (r) => r.backend },
];

// routesOf lists the routes of a plan in the order in which they are tried, and what is behind them: the backend of the
// listener.
function routesOf(plan) {
  return plan.listeners.flatMap((l) => {
    const all = (l.settings.routes ?? []).map((r, i) => {
      const { name, backend, backends, ...rest } = r;
      const to = backend || (backends ?? []).map((b) => `${b.backend} (${b.weight})`).join(', ');
      const matches = Object.entries(rest).map(([k, v]) =>
        `${words(k)}: ${Array.isArray(v) ? v.join(', ') : typeof v === 'object' ? JSON.stringify(v) : v}`);
      return { listener: l.name, order: i + 1, name: name || to, matches: matches.join('; ') || 'always', backend: to };
    });
    if (l.backend) {
      all.push({ listener: l.name, order: all.length + 1, name: '–', matches: all.length ? 'no route matches' : 'always',
        backend: l.backend });
    }
    return all;
  });
}

const LOOKUPS = [
  { title: 'Open connections', columns: CONNECTIONS, path: `v1/connections?tcp=true&limit=${MOST}`,
    rows: (answer) => answer.connections,
    remark: (answer) => answer.next ? `The first ${count(MOST)}: reactord ctl connections lists all.` : '',
    find: (c) => `${c.client} ${c.listener} ${c.backend} ${c.server ?? ''} ${c.state} ${c.sni ?? ''}` },
  { title: 'Top sources', columns: SOURCES, path: 'v1/sources?limit=100', rows: (answer) => answer.sources,
    remark: (answer) => answer.total > answer.sources.length ? `The first of ${count(answer.total)}.` : '',
    find: (s) => `${s.source} ${s.listener ?? ''}` },
  { title: 'Routes', columns: ROUTES, path: 'v1/plan', rows: routesOf, remark: () => '',
    find: (r) => `${r.listener} ${r.name} ${r.matches} ${r.backend}` },
];

// Lookup is a table that a button fills.
class Lookup {
  constructor({ title, columns, path, rows, remark, find }) {
    Object.assign(this, { path, rows, remark });
    this.table = new Table({ title, columns, empty: 'Not read yet.', find });
    this.button = el('button', { type: 'button', 'aria-label': `Read ${title.toLowerCase()}` }, 'Read');
    this.button.addEventListener('click', () => this.read());
    this.said = el('span', { class: 'note', role: 'status' });
    this.table.bar.append(this.said, this.button);
    this.element = this.table.element;
    this.table.show([]);
  }

  async read() {
    this.button.disabled = true;
    say(this.said, 'Reading …');
    try {
      const answer = await fetch(this.path, { signal: AbortSignal.timeout(TIMEOUT) });
      const body = await answer.json();
      if (!answer.ok) throw new Error(body.detail ?? `status ${answer.status}`);
      this.table.empty = 'There are none.';
      this.table.show(this.rows(body));
      say(this.said, [this.remark(body), `Of ${new Date().toLocaleTimeString('en-GB')}.`].filter(Boolean).join(' '));
      say(this.button, 'Read again');
    } catch (e) {
      say(this.said, `Not read: ${e.message}`);
    }
    this.button.disabled = false;
  }
}

// Lookups is all of them.
export class Lookups {
  constructor() {
    document.getElementById('lookups').append(...LOOKUPS.map((l) => new Lookup(l).element));
  }
}
