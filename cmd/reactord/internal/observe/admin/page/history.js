// What has happened since the page was opened, in memory of fixed size.

// Series is the last values of some quantities, with their times in ms.
export class Series {
  constructor(names, size = 600) {
    this.names = names;
    this.size = size;
    this.length = 0;
    this.next = 0;
    this.times = new Float64Array(size);
    this.values = names.map(() => new Float64Array(size));
  }

  // push adds a value of each quantity; null is a gap.
  push(time, values) {
    this.times[this.next] = time;
    this.values.forEach((ring, i) => { ring[this.next] = values[i] ?? NaN; });
    this.next = (this.next + 1) % this.size;
    this.length = Math.min(this.length + 1, this.size);
  }

  gap(time) { this.push(time, []); }

  // since calls visit(time, index) for the values from a time on, in order. index is for at.
  since(time, visit) {
    for (let i = 0; i < this.length; i++) {
      const index = (this.next - this.length + i + this.size) % this.size;
      if (this.times[index] >= time) visit(this.times[index], index);
    }
  }

  at(quantity, index) { return this.values[quantity][index]; }
}

// delta is what a histogram has counted since an earlier reading of it. null: it has begun anew.
export function delta(now, before) {
  const counts = now.counts.map((n, i) => n - (before.counts[i] ?? 0));
  return counts.some((n) => n < 0) ? null : { bounds: now.bounds, counts, sum: now.sum - before.sum };
}

// total is several histograms as one. All have the same bounds.
export function total(all) {
  return all.reduce((a, b) => a && {
    bounds: a.bounds, counts: a.counts.map((n, i) => n + b.counts[i]), sum: a.sum + b.sum,
  } || b, null);
}

const size = (h) => h.counts.reduce((a, b) => a + b, 0);

// average is null if nothing was counted.
export function average(h) {
  const n = h && size(h);
  return n ? Math.max(h.sum, 0) / n : null;
}

// quantile is about the value below which a share of what was counted is: it is interpolated in its bucket.
export function quantile(h, share) {
  let left = h && share * size(h);
  if (!left) return null;
  for (let i = 0; i < h.bounds.length; i++) {
    if (left <= h.counts[i]) {
      const low = i ? h.bounds[i - 1] : 0;
      return low + (h.bounds[i] - low) * left / h.counts[i];
    }
    left -= h.counts[i];
  }
  return h.bounds[h.bounds.length - 1];
}
