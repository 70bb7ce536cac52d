// What the daemon remembers of the time before the page was opened.

const TIMEOUT = 10e3;

// Past asks for the history, and tells whoever shows it.
export class Past {
  constructor(showers) {
    this.showers = showers;
    this.reading = false;
  }

  // readRows has the tables show the history.
  readRows() { return this.read((s) => s.rowsOfPast); }

  // read has the showers show the history. A daemon without one, or an error, leaves the page as it is.
  async read(whether = () => true) {
    if (this.reading) return;
    this.reading = true;
    try {
      const answer = await fetch('v1/history', { signal: AbortSignal.timeout(TIMEOUT) });
      if (answer.ok) {
        const history = await answer.json();
        const now = Date.now();
        this.showers.filter(whether).forEach((s) => s.past(history, now));
      }
    } catch {
      // the snapshots tell that there is no answer
    }
    this.reading = false;
  }
}

// points calls visit(time, values) for the points of some quantities of a range, in order. What is not known is null.
export function points({ ranges }, step, names, now, visit) {
  const range = ranges.find((r) => r.step_seconds === step);
  const series = names.map((name) => range?.series.find((s) => s.name === name)?.points);
  if (!series.every(Boolean)) return;
  const length = series[0].length;
  for (let i = 0; i < length; i++) {
    const values = series.map((s) => (s[i] < 0 ? null : s[i]));
    if (values.some((v) => v !== null)) visit(now - (length - i) * step * 1e3, values);
  }
}
