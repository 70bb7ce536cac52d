import { el, say, set } from './dom.js';
import { count } from './format.js';

const PAGE = 25; // rows at a time
const FEW = 8; // rows that need no filter

// Table is a table whose columns sort it, in pages. A column is
//
//	{ name, title, text(row), sort(row), number, wrapped, state(row), share(row), head, when(rows), draw(row),
//	  actions: [{ name, when(row), run(row) }] }
//
// text is what a cell says; sort is what it is sorted by, and is text without it. number aligns it to the right,
// wrapped is for long texts. state gives the cell a mark, share a bar below its text, unless it is null. head makes it
// the header of its row, and title explains it. actions are buttons, which a row has when it is ready for them. when
// says whether there is such a column at all. draw gives the cell a drawing with the text as its name.
//
// Rows with a problem come first: the larger the number problem of a row, the earlier. The others are in natural order.
export class Table {
  constructor({ title, columns, empty, find = null }) {
    this.columns = columns;
    this.empty = empty; // what is said if there are no rows
    this.rows = [];
    this.from = 0;
    this.sorted = null; // the column
    this.down = false;
    this.only = false; // only rows with a problem
    this.heading = columns.find((c) => c.head);
    this.find = find; // a row's text that the filter searches
    this.buttons = columns.map((c) => this.button(c));
    this.heads = columns.map((c, i) => el('th', { scope: 'col', class: c.number ? 'number' : null }, this.buttons[i]));
    this.body = el('tbody');
    const head = el('thead', {}, el('tr', {}, ...this.heads));
    const table = el('table', {}, el('caption', { class: 'unseen' }, title), head, this.body);
    const scroll = el('div', { class: 'scroll', role: 'region', tabindex: '0', 'aria-label': `${title}, table` },
      table);
    this.bar = el('div', { class: 'bar' }, el('h2', {}, title), ...this.tools(title));
    this.note = el('p', { class: 'note' }, empty);
    this.element = el('section', { class: 'card' }, this.bar, scroll, this.note, this.pages(title));
  }

  button(column) {
    const b = el('button', { type: 'button', title: column.title }, column.name);
    b.addEventListener('click', () => {
      this.down = this.sorted === column ? !this.down : !!column.number;
      this.sorted = column;
      this.from = 0;
      this.draw();
    });
    return b;
  }

  // tools is the filter, if the table has one.
  tools(title) {
    if (!this.find) return [];
    this.filter = el('input', {
      type: 'search', placeholder: 'Filter', 'aria-label': `Filter ${title.toLowerCase()}`, autocomplete: 'off',
      spellcheck: 'false',
    });
    this.filter.addEventListener('input', () => { this.from = 0; this.draw(); });
    this.found = el('output');
    this.toolbox = el('div', { class: 'tools' }, this.found, this.filter);
    return [this.toolbox];
  }

  pages(title) {
    const turn = (by, text) => {
      const b = el('button', { type: 'button', 'aria-label': `${text} page of ${title.toLowerCase()}` }, text);
      b.addEventListener('click', () => { this.from += by; this.draw(); });
      return b;
    };
    this.back = turn(-PAGE, 'Previous');
    this.forth = turn(PAGE, 'Next');
    this.where = el('span');
    this.pager = el('nav', { class: 'pages', 'aria-label': `Pages of ${title.toLowerCase()}` },
      this.back, this.where, this.forth);
    return this.pager;
  }

  show(rows) {
    this.rows = rows;
    this.draw();
  }

  onlyProblems(only) {
    this.only = only;
    this.from = 0;
    this.draw();
  }

  // draw shows a page of the rows. It uses the elements of the rows that were there before.
  draw() {
    const rows = this.chosen();
    this.from = Math.max(0, Math.min(this.from, Math.floor((rows.length - 1) / PAGE) * PAGE));
    const page = rows.slice(this.from, this.from + PAGE);
    const shown = this.columns.map((c) => !c.when || c.when(this.rows));
    this.columns.forEach((c, i) => {
      this.heads[i].hidden = !shown[i];
      set(this.heads[i], 'aria-sort', this.sorted !== c ? 'none' : this.down ? 'descending' : 'ascending');
    });
    while (this.body.rows.length > page.length) this.body.lastChild.remove();
    while (this.body.rows.length < page.length) this.body.append(this.line());
    page.forEach((row, i) => {
      const line = this.body.rows[i];
      line.row = row;
      this.columns.forEach((c, j) => this.cell(line.cells[j], c, row, shown[j]));
    });
    this.note.hidden = page.length > 0;
    this.tell(rows.length, page.length);
  }

  chosen() {
    const words = (this.filter?.value ?? '').toLowerCase().split(/\s+/).filter(Boolean);
    const has = (text) => words.every((w) => text.includes(w));
    let rows = words.length ? this.rows.filter((r) => has(this.find(r).toLowerCase())) : this.rows.slice();
    if (this.only) rows = rows.filter((r) => r.problem !== 0); // those of other tables have no such number
    const by = this.sorted && (this.sorted.sort ?? this.sorted.text);
    if (by) {
      const sign = this.down ? -1 : 1;
      rows.sort((a, b) => sign * compare(by(a), by(b)));
    } else {
      rows.sort((a, b) => (b.problem ?? 0) - (a.problem ?? 0) || compare(this.heading.text(a), this.heading.text(b)));
    }
    return rows;
  }

  line() {
    const line = el('tr', {}, ...this.columns.map((c) => c.head ? el('th', { scope: 'row', class: c.wrapped ? 'wrapped' : null })
      : el('td', { class: c.number ? 'number' : c.wrapped ? 'wrapped' : c.actions ? 'actions' : null },
        ...(c.actions ?? []).map((a) => {
          const b = el('button', { type: 'button' }, a.name);
          b.addEventListener('click', () => a.run(line.row));
          return b;
        }))));
    return line;
  }

  cell(cell, column, row, shown) {
    if (cell.hidden === shown) cell.hidden = !shown;
    if (!shown) return;
    if (column.actions) {
      column.actions.forEach((a, i) => {
        cell.children[i].hidden = !a.when(row);
        set(cell.children[i], 'aria-label', `${a.name} ${this.heading.text(row)}`);
      });
      return;
    }
    if (column.draw) {
      cell.replaceChildren(column.draw(row));
      return;
    }
    say(cell, column.text(row));
    if (column.state) set(cell, 'data-state', column.state(row));
    if (!column.share) return;
    const share = column.share(row);
    cell.classList.toggle('share', share !== null);
    cell.style.setProperty('--share', Math.min(share ?? 0, 1));
  }

  tell(found, onPage) {
    this.pager.hidden = found <= PAGE;
    this.back.disabled = this.from === 0;
    this.forth.disabled = this.from + PAGE >= found;
    say(this.where, `${count(this.from + 1)} to ${count(this.from + onPage)} of ${count(found)}`);
    if (!this.filter) return;
    this.toolbox.hidden = this.rows.length <= FEW && !this.filter.value;
    const all = count(this.rows.length);
    say(this.found, this.only || this.filter.value.trim() ? `${count(found)} of ${all}` : all);
    say(this.note, !this.rows.length ? this.empty
      : this.only && !this.filter.value.trim() ? 'None has a problem.' : 'No row has all of these words.');
  }
}

const collator = new Intl.Collator('en', { numeric: true });

// compare orders texts as people do, and numbers; what is not known is the least.
function compare(a, b) {
  if (typeof a === 'string' && typeof b === 'string') return collator.compare(a, b);
  return (a ?? -1) - (b ?? -1);
}
