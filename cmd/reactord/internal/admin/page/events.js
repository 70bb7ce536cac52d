import { el } from './dom.js';
import { clock } from './format.js';

const MOST = 200; // events that the page keeps

// Events is the feed of what happens.
export class Events {
  constructor() {
    this.list = document.getElementById('events');
    this.none = document.getElementById('no-events');
    this.last = 0; // the number of the last event
  }

  // show adds events, the newest first. Those that were there before the page are not read out.
  show(events) {
    const first = this.last === 0;
    for (const e of events) {
      if (e.number <= this.last) continue;
      this.last = e.number;
      this.add(new Date(e.at), e.level, e.message, e.fields);
    }
    if (first && events.length) requestAnimationFrame(() => this.list.setAttribute('aria-live', 'polite'));
  }

  restart(pid) {
    this.last = 0;
    this.add(new Date(), 'info', 'another process answers', { pid });
  }

  add(at, level, message, fields) {
    const about = el('span', { class: 'fields' });
    for (const [key, value] of Object.entries(fields)) {
      about.append(el('span', {}, el('i', {}, key + ' '), typeof value === 'string' ? value : JSON.stringify(value)), ' ');
    }
    this.list.prepend(el('li', { 'data-level': level }, el('time', { datetime: at.toISOString() }, clock(at)), ' ',
      el('span', { class: 'message' }, level === 'info' ? '' : el('b', {}, level + ': '), message), ' ', about));
    while (this.list.children.length > MOST) this.list.lastChild.remove();
    this.none.hidden = true;
  }
}
