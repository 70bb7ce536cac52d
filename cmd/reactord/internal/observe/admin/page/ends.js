// Whose fault the end of a connection is: the API says it.

// cause is who ended a connection: nobody before its time, the server, the client, a policy that ends connections which
// have served, or this proxy.
export const cause = (end) => end.fault ?? 'normal';

// failed says whether a connection failed: by a server or the proxy, or in the TLS handshake with the client.
export function failed(end) {
  const of = cause(end);
  return of === 'server' || of === 'proxy' || end.phase === 'tls';
}
