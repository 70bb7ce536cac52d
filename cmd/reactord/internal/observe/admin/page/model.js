import { mayOperate } from './actions.js';
import { cause, failed } from './ends.js';
import { average, delta, quantile, total } from './history.js';

const SMOOTH = 10; // readings over which connect times are taken: a second may have few connects
const RECENT = 5; // readings over which failures are taken, likewise

// Shares of failures from which on something is suspect, and is as good as down.
const SUSPECT = 0.01;
const FAILING = 0.5;

// Model makes of one snapshot after another what the page shows: the snapshot's rows with their rates.
export class Model {
  constructor() { this.forget(); }

  // forget is for another process: its counters begin anew.
  forget() {
    this.before = null;
    this.times = new Map(); // of each backend, its last histograms
    this.tries = new Map(); // of each row, how many have failed and succeeded, in the last readings
  }

  // read returns the snapshot with rates. They are null in the first one.
  read(snapshot) {
    const { status } = snapshot;
    const process = `${status.pid} ${status.started}`;
    const restarted = this.before !== null && this.before.process !== process;
    if (restarted) this.forget();
    this.uptime = status.uptime_seconds;
    this.operator = mayOperate(status.role);
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
    const failures = new Map(); // connects, by backend
    for (const s of snapshot.servers) failures.set(s.backend, (failures.get(s.backend) ?? 0) + s.failures);
    const view = {
      status, restarted, events: snapshot.events,
      failing: snapshot.failing.map((f) => ({ ...f, problem: urgency(f) })),
      loops: snapshot.loops.map((l) => this.loop(l, per('loop', [l.name], l))),
      listeners: snapshot.listeners.map((l) => this.listener(l, per('listener', [l.name], l))),
      backends: snapshot.backends.map((b) => this.backend(b, per('backend', [b.name], b),
        failures.get(b.name) ?? 0)),
      servers: snapshot.servers.map((s) => this.server(s, per('server', [s.backend, s.address], s))),
    };
    view.ends = snapshot.listeners.flatMap((l) => (l.ended ?? []).map((e) => {
      const id = ['end', [l.name, e.by, e.phase]];
      // The first one of its kind: there was none before.
      if (old?.has(key('listener', [l.name])) && !old.has(key(...id))) old.set(key(...id), { count: 0 });
      const perSecond = per(...id, e)((r) => r.count);
      return { ...e, listener: l.name, perSecond, problem: !failed(e) ? 0 : perSecond > 0 ? 2 : 1 };
    }));
    this.forgetBackends(snapshot.backends);
    for (const id of this.tries.keys()) if (!rows.has(id)) this.tries.delete(id);
    this.before = { process, uptime: status.uptime_seconds, rows };
    return Object.assign(view, this.sums(view));
  }

  loop(l, rate) {
    const busy = rate((r) => r.busy_seconds), waiting = rate((r) => r.waiting_seconds);
    const share = busy + waiting > 0 ? busy / (busy + waiting) : null;
    return { ...l, busy: share, completionRate: rate((r) => r.completions) };
  }

  // failing is how many have failed lately, each second and of all.
  failing(id, uptime, bad, good) {
    const tries = this.tries.get(id) ?? [];
    tries.push({ uptime, bad, good });
    if (tries.length > RECENT) tries.shift();
    this.tries.set(id, tries);
    const { uptime: since, bad: wereBad, good: wereGood } = tries[0];
    const failures = Math.max(0, bad - wereBad), all = failures + Math.max(0, good - wereGood);
    return {
      failedPerSecond: uptime > since ? failures / (uptime - since) : null, failedShare: all ? failures / all : null,
    };
  }

  server(s, rate) {
    const failing = this.failing(key('server', [s.backend, s.address]), this.uptime, s.failures, s.total);
    const fails = failing.failedShare >= FAILING;
    return {
      ...s, ...failing, perSecond: rate((r) => r.total), fails, operable: this.operator,
      problem: s.state === 'down' || fails ? 2 : s.state !== 'up' || failing.failedShare >= SUSPECT ? 1 : 0,
    };
  }

  listener(l, rate) {
    const rejections = (r) => (r.rejected ?? []).reduce((sum, c) => sum + c.count, 0);
    const ends = (which) => (l.ended ?? []).filter(which).reduce((sum, e) => sum + e.count, 0);
    const bad = ends(failed);
    const failing = this.failing(key('listener', [l.name]), this.uptime, bad, ends(() => true) - bad);
    const rejectedPerSecond = rate(rejections);
    return {
      ...secured(l, rate), ...failing, fails: failing.failedShare >= FAILING,
      problem: failing.failedShare >= FAILING ? 2 : failing.failedShare >= SUSPECT || rejectedPerSecond > 0 ? 1 : 0,
      receivedDatagramsPerSecond: rate((r) => r.received_datagrams ?? 0),
      sentDatagramsPerSecond: rate((r) => r.sent_datagrams ?? 0),
      ...l, perSecond: rate((r) => r.accepted), rejections: rejections(l), rejectedPerSecond,
      receivedPerSecond: rate((r) => r.received_bytes), sentPerSecond: rate((r) => r.sent_bytes),
    };
  }

  backend(b, rate, connectFailures) {
    const times = this.times.get(b.name) ?? [];
    if (b.connect_time) times.push(b.connect_time);
    if (times.length > SMOOTH) times.shift();
    this.times.set(b.name, times);
    const recent = times.length > 1 ? delta(times.at(-1), times[0]) : null;
    const tls = secured(b, rate); // a connect whose handshake fails has not succeeded
    const failing = this.failing(key('backend', [b.name]), this.uptime, connectFailures + tls.handshakesFailed,
      b.handshakes ? tls.handshakesDone : b.total);
    const fails = failing.failedShare >= FAILING;
    const down = b.servers > 0 && b.up === 0;
    return {
      ...b, ...tls, ...failing, fails,
      problem: down || fails ? 2 : b.up < b.servers || b.panic || b.paused || b.queued || failing.failedShare >= SUSPECT ? 1 : 0,
      perSecond: rate((r) => r.total), recent,
      connectAverage: average(recent), connectMost: quantile(recent, 0.99),
    };
  }

  forgetBackends(backends) {
    const names = new Set(backends.map((b) => b.name));
    for (const name of this.times.keys()) if (!names.has(name)) this.times.delete(name);
  }

  // sums is what all listeners and backends have together.
  sums({ listeners, backends, servers, loops, ends }) {
    const sum = (rows, n) => rows.reduce((all, r) => all + n(r), 0);
    const seen = listeners.filter((l) => l.perSecond !== null); // not those of which this is the first reading
    const recent = total(backends.map((b) => b.recent).filter(Boolean));
    const busy = loops.map((l) => l.busy).filter((b) => b !== null);
    const failing = listeners.filter((l) => l.failedPerSecond !== null);
    const allEnds = ends.filter((e) => e.perSecond !== null);
    const endsBy = (who) => seen.length ? sum(allEnds.filter((e) => cause(e) === who), (e) => e.perSecond) : null;
    return {
      failedPerSecond: sumOf(failing, (l) => l.failedPerSecond),
      failedShare: shareOf(failing),
      problems: [listeners, backends, servers].reduce((n, rows) => n + rows.filter((r) => r.problem === 2).length, 0),
      endedByServer: endsBy('server'), endedByClient: endsBy('client'), endedByProxy: endsBy('proxy'),
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

// urgency is how much of a problem a failure is: what clients and limits do is no fault of a server.
function urgency(f) {
  if (!f.recent) return 0;
  return f.share >= SUSPECT && (f.fault === 'server' || f.fault === 'proxy') ? 2 : 1;
}

// shareOf is the share of failures of all listeners, weighted by how many connections of each have ended.
function shareOf(listeners) {
  let failures = 0, all = 0;
  for (const l of listeners) {
    if (!l.failedShare) all += l.perSecond ?? 0;
    else {
      failures += l.failedPerSecond;
      all += l.failedPerSecond / l.failedShare;
    }
  }
  return all ? failures / all : null;
}

// secured is what there is of TLS.
function secured(row, rate) {
  const sum = (r, which) => (r.handshakes ?? []).filter(which).reduce((n, h) => n + h.count, 0);
  const failed = (h) => h.result === 'failed' || h.result === 'timeout';
  return {
    handshakesPerSecond: rate((r) => sum(r, (h) => !failed(h))), handshakesFailed: sum(row, failed),
    handshakesDone: sum(row, (h) => !failed(h)),
    expires: row.certificates?.map((c) => Date.parse(c.expires)).sort((a, b) => a - b)[0],
  };
}

const key = (kind, names) => JSON.stringify([kind, ...names]);

// sumOf is null if there are no rows.
function sumOf(rows, n) {
  return rows.length ? rows.reduce((all, r) => all + n(r), 0) : null;
}
