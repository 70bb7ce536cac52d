// How connections end, by what ended them: see connections_closed_total in docs/metrics.md.

const BY_SERVER = new Set(['server', 'server_down', 'server_cut', 'server_tls', 'connect_timeout', 'no_server',
  'first_byte_timeout', 'retry_budget']);
const BY_CLIENT = new Set(['client', 'client_cut', 'client_tls', 'denied', 'untrusted', 'bad_proxy_header',
  'bad_preamble', 'bad_client_hello', 'no_route', 'inspect_timeout']);
const BY_POLICY = new Set(['idle_timeout', 'half_close_timeout', 'lifetime', 'drain', 'admin', 'killed']);

// cause is who ended a connection: nobody before its time, the server, the client, a policy that ends connections which
// have served, or this proxy.
export function cause({ by, phase }) {
  if (by === 'normal') return 'normal';
  if (by === 'handshake_timeout') return phase === 'tls' ? 'client' : 'server';
  if (BY_SERVER.has(by)) return 'server';
  if (BY_CLIENT.has(by)) return 'client';
  return BY_POLICY.has(by) ? 'policy' : 'proxy';
}

// failed says whether a connection failed: by a server or the proxy, or in the TLS handshake with the client.
export function failed(end) {
  const of = cause(end);
  return of === 'server' || of === 'proxy' || end.phase === 'tls';
}
