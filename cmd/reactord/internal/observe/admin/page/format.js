// Numbers as text for people. Everywhere in the page null is "not known", and is shown as a dash.

const DASH = '–';
const whole = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });

// digits is n with two or three digits.
function digits(n) {
  return n >= 100 || Number.isInteger(n) ? whole.format(n) : n.toFixed(n >= 0.995 ? 1 : 2);
}

function scaled(n, base, units) {
  let i = 0;
  while (Math.abs(n) >= base * 0.9995 && i < units.length - 1) {
    n /= base;
    i++;
  }
  return digits(n) + (units[i] && ' ' + units[i]);
}

export const known = (n) => n !== null && n !== undefined && !Number.isNaN(n);

// count is a number of things: all digits up to a million.
export function count(n) {
  if (!known(n)) return DASH;
  return Math.abs(n) < 1e6 ? whole.format(n) : scaled(n, 1000, ['', 'k', 'M', 'G', 'T']);
}

export const bytes = (n) => !known(n) ? DASH : scaled(Math.round(n), 1024, ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB']);

// rate is how many there are each second.
export const rate = (n) => !known(n) ? DASH : (n < 1000 ? digits(Math.round(n * 10) / 10) : count(n)) + '/s';

export const byteRate = (n) => !known(n) ? DASH : bytes(n) + '/s';

export const percent = (share) => !known(share) ? DASH : digits(Math.round(share * 1000) / 10) + ' %';

// brief is a short time, in seconds.
export function brief(s) {
  if (!known(s)) return DASH;
  if (s === 0) return '0 s';
  if (s < 0.0995e-3) return digits(s * 1e6) + ' µs';
  return s < 0.9995 ? digits(s * 1e3) + ' ms' : digits(s) + ' s';
}

// long is a long time with its two largest units, in seconds.
export function long(s) {
  if (!known(s)) return DASH;
  s = Math.max(0, Math.floor(s));
  const parts = [[86400, 'd'], [3600, 'h'], [60, 'min'], [1, 's']];
  const first = Math.max(0, parts.findIndex(([size]) => s >= size));
  if (s < 60) return s + ' s';
  return parts.slice(first, first + 2).map(([size, unit]) => {
    const n = Math.floor(s / size);
    s %= size;
    return n + ' ' + unit;
  }).join(' ');
}

// limited is a number with its limit, of which 0 is none.
export const limited = (n, limit) => limit > 0 ? `${count(n)} of ${count(limit)}` : count(n);

// words is a name of the metrics as people write it.
export const words = (name) => name.replaceAll('_', ' ');

export const clock = (date) => date.toLocaleTimeString('en-GB');
