import { average, delta, quantile, total } from './history.js';

const SMOOTH = 10; // readings over which connect times are taken: a second may have few connects

// Model makes of one snapshot after another what the page shows: the snapshot's rows with their rates.
export class Model {
  constructor() { this.forget(); }

  // forget is for another process: its counters begin anew.
  forget() {
    this.before = null;
    this.times = new Map(); // of each backend, its last histograms
  }

  // read returns the snapshot with rates. They are null in the first one.
  read(snapshot) {
    const { status } = snapshot;
    const process = `${status.pid} ${status.started}`;
    const restarted = this.before !== null && this.before.process !== process;
    if (restarted) this.forget();
    const seconds = this.before && status.uptime_seconds - this.before.uptime;
    const old = this.before?.rows;
    const rows = new Map();
    const per = (kind, names, row) => {
      const id = key(kind, names);
      rows.set(id, row);
      const was = old?.get(id);
      // rate is null if there was no row before, or if it has begun anew.
      return (n) => was && seconds > 0 && n(row) >= n(was) ? (n(row) - n(was)) / seconds : null;
    };
    const view = {
      status, restarted, events: snapshot.events,
      loops: snapshot.loops.map((l) => this.loop(l, per('loop', [l.name], l))),
      listeners: snapshot.listeners.map((l) => this.listener(l, per('listener', [l.name], l))),
      backends: snapshot.backends.map((b) => this.backend(b, per('backend', [b.name], b))),
      servers: snapshot.servers.map((s) => this.server(s, per('server', [s.backend, s.address], s))),
    };
    view.ends = snapshot.listeners.flatMap((l) => (l.ended ?? []).map((e) => {
      const id = ['end', [l.name, e.by, e.phase]];
      // The first one of its kind: there was none before.
      if (old?.has(key('listener', [l.name])) && !old.has(key(...id))) old.set(key(...id), { count: 0 });
      return { ...e, listener: l.name, perSecond: per(...id, e)((r) => r.count) };
    }));
    this.forgetBackends(snapshot.backends);
    this.before = { process, uptime: status.uptime_seconds, rows };
    return Object.assign(view, this.sums(view));
  }

  loop(l, rate) {
    const busy = rate((r) => r.busy_seconds), waiting = rate((r) => r.waiting_seconds);
    const share = busy + waiting > 0 ? busy / (busy + waiting) : null;
    return { ...l, busy: share, completionRate: rate((r) => r.completions) };
  }

  server(s, rate) { return { ...s, perSecond: rate((r) => r.total) }; }

  listener(l, rate) {
    const rejections = (r) => (r.rejected ?? []).reduce((sum, c) => sum + c.count, 0);
    return {
      ...secured(l, rate),
      receivedDatagramsPerSecond: rate((r) => r.received_datagrams ?? 0),
      sentDatagramsPerSecond: rate((r) => r.sent_datagrams ?? 0),
      ...l, perSecond: rate((r) => r.accepted), rejections: rejections(l), rejectedPerSecond: rate(rejections),
      receivedPerSecond: rate((r) => r.received_bytes), sentPerSecond: rate((r) => r.sent_bytes),
    };
  }

  backend(b, rate) {
    const times = this.times.get(b.name) ?? [];
    if (b.connect_time) times.push(b.connect_time);
    if (times.length > SMOOTH) times.shift();
    this.times.set(b.name, times);
    const recent = times.length > 1 ? delta(times.at(-1), times[0]) : null;
    return {
      ...b, ...secured(b, rate), perSecond: rate((r) => r.total), recent,
      connectAverage: average(recent), connectMost: quantile(recent, 0.99),
    };
  }

  forgetBackends(backends) {
    const names = new Set(backends.map((b) => b.name));
    for (const name of this.times.keys()) if (!names.has(name)) this.times.delete(name);
  }

  // sums is what all listeners and backends have together.
  sums({ listeners, backends, servers, loops }) {
    const sum = (rows, n) => rows.reduce((all, r) => all + n(r), 0);
    const seen = listeners.filter((l) => l.perSecond !== null); // not those of which this is the first reading
    const recent = total(backends.map((b) => b.recent).filter(Boolean));
    const busy = loops.map((l) => l.busy).filter((b) => b !== null);
    return {
      open: sum(listeners, (l) => l.connections),
      accepted: sum(listeners, (l) => l.accepted),
      perSecond: sumOf(seen, (l) => l.perSecond),
      rejections: sum(listeners, (l) => l.rejections),
      rejectedPerSecond: sumOf(seen, (l) => l.rejectedPerSecond),
      received: sumOf(seen, (l) => l.receivedPerSecond),
      sent: sumOf(seen, (l) => l.sentPerSecond),
      queued: sum(backends, (b) => b.queued),
      queueRefused: sum(backends, (b) => b.queue_refused),
      up: servers.filter((s) => s.state === 'up').length,
      connectAverage: average(recent), connectMost: quantile(recent, 0.99),
      busyAverage: busy.length ? sum(busy, (b) => b) / busy.length : null,
      busyMost: busy.length ? Math.max(...busy) : null,
    };
  }
}

// secured is what there is of TLS.
function secured(row, rate) {
  const sum = (r, which) => (r.handshakes ?? []).filter(which).reduce((n, h) => n + h.count, 0);
  const failed = (h) => h.result === 'failed' || h.result === 'timeout';
  return {
    handshakesPerSecond: rate((r) => sum(r, (h) => !failed(h))), handshakesFailed: sum(row, failed),
    expires: row.certificates?.map((c) => Date.parse(c.expires)).sort((a, b) => a - b)[0],
  };
}

const key = (kind, names) => JSON.stringify([kind, ...names]);

// sumOf is null if there are no rows.
function sumOf(rows, n) {
  return rows.length ? rows.reduce((all, r) => all + n(r), 0) : null;
}
