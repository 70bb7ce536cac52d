import { say, set } from './dom.js';
import { clock } from './format.js';
import { Model } from './model.js';
import { Charts } from './charts.js';
import { Tables } from './tables.js';
import { Figures } from './figures.js';
import { Events } from './events.js';
import { Past } from './past.js';
import { Lookups } from './lookups.js';

const INTERVAL = 1000; // ms, between two snapshots
const TIMEOUT = 10e3; // of a snapshot
const PATIENCE = 5000; // between two attempts at most, while there is no answer

const model = new Model();
const tables = new Tables();
const charts = new Charts();
const parts = [new Figures(), charts, tables];
const events = new Events();
const past = new Past([charts, tables]);
new Lookups(); // it fills itself

// The page is live, paused by its reader, hidden, or lost: the last requests had no answer. Whether it is paused is the
// state of the button, and whether it is hidden that of the document.
const pause = document.getElementById('pause');
const state = document.getElementById('state');
const lost = document.getElementById('lost');
let failures = 0;
let timer = null;
let reading = false;

const stopped = () => document.hidden || pause.getAttribute('aria-pressed') === 'true';

function tell() {
  const name = stopped() ? 'paused' : failures ? 'lost' : 'live';
  set(state, 'data-state', name);
  say(state, { paused: 'Paused', lost: 'No answer', live: 'Live' }[name]);
  set(document.body, 'data-state', name);
}

// read shows a snapshot, and has the next one read. There is one request at a time.
async function read() {
  if (reading || stopped()) return;
  reading = true;
  const began = performance.now();
  try {
    const answer = await fetch(`v1/snapshot?after=${events.last}`, { signal: AbortSignal.timeout(TIMEOUT) });
    if (!answer.ok) throw new Error(`status ${answer.status}`);
    show(await answer.json());
  } catch {
    fail();
  }
  reading = false;
  tell();
  // A page with thousands of servers takes a fifth of the time at most.
  const took = performance.now() - began;
  plan(failures ? Math.min(failures * INTERVAL, PATIENCE) : Math.max(INTERVAL - took, 4 * took));
}

function plan(delay) {
  clearTimeout(timer);
  timer = stopped() ? null : setTimeout(read, delay);
}

function show(snapshot) {
  const now = Date.now();
  if (failures) {
    failures = 0;
    lost.hidden = true;
    parts.forEach((p) => p.gap?.(now));
  }
  const view = model.read(snapshot);
  if (view.restarted) {
    parts.forEach((p) => p.gap?.(now));
    events.restart(view.status.pid); // and its first events come with the next snapshot
  } else {
    events.show(view.events);
  }
  parts.forEach((p) => p.show(view, now));
}

function fail() {
  if (failures++ === 0) {
    lost.hidden = false;
    say(lost, `The daemon has not answered since ${clock(new Date())}. What is shown is older. Trying again …`);
  }
}

function resume() {
  tell();
  if (!stopped()) {
    model.forget(); // rates are of a second, not of the pause
    parts.forEach((p) => p.gap?.(Date.now()));
    past.read(); // what happened meanwhile
  }
  plan(0);
}

pause.addEventListener('click', () => {
  set(pause, 'aria-pressed', pause.getAttribute('aria-pressed') !== 'true');
  resume();
});
document.addEventListener('visibilitychange', resume);

const problems = document.getElementById('problems');
problems.addEventListener('click', () => {
  const only = problems.getAttribute('aria-pressed') !== 'true';
  set(problems, 'aria-pressed', only);
  tables.onlyProblems(only);
});
tell();
read();
past.read();
setInterval(() => { if (!stopped()) past.readRows(); }, 30e3);
