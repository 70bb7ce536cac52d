import { el, say, set } from './dom.js';
import { clock } from './format.js';

const MOST = 200; // events that the page keeps

// Events is the feed of what happens.
export class Events {
  constructor() {
    this.list = document.getElementById('events');
    this.none = document.getElementById('no-events');
    this.last = 0; // the number of the last event
  }

  // show adds events, the newest first. Those that were there before the page are not read out, and neither are
  // repetitions.
  show(events) {
    const first = this.last === 0;
    for (const e of events) {
      if (e.number <= this.last) continue;
      this.last = e.number;
      const key = JSON.stringify([e.level, e.message, e.fields]);
      const before = e.times > 1 && [...this.list.children].find((item) => item.key === key);
      if (before) before.repeat(e);
      else this.add(e, key);
    }
    if (first && events.length) requestAnimationFrame(() => this.list.setAttribute('aria-live', 'polite'));
  }

  restart(pid) {
    this.last = 0;
    this.add({ at: new Date(), level: 'info', message: 'another process answers', fields: { pid } });
  }

  add(e, key) {
    const about = el('span', { class: 'fields' });
    for (const [name, value] of Object.entries(e.fields)) {
      const text = typeof value === 'string' ? value : JSON.stringify(value);
      about.append(el('span', {}, el('i', {}, name + ' '), text), ' ');
    }
    const time = el('time'), times = el('b', { class: 'times' });
    const item = el('li', { 'data-level': e.level }, time, ' ', el('span', {},
      e.level === 'info' ? '' : el('b', {}, e.level + ': '), e.message, ' ', times), ' ', about);
    item.key = key;
    item.repeat = ({ at, times: n }) => {
      set(time, 'datetime', new Date(at).toISOString());
      say(time, clock(new Date(at)));
      say(times, n > 1 ? `×${n}` : '');
    };
    item.repeat(e);
    this.list.prepend(item);
    while (this.list.children.length > MOST) this.list.lastChild.remove();
    this.none.hidden = true;
  }
}
