// Package resp has a small Redis: PING, ECHO, GET, SET, DEL and COMMAND over a map, in RESP2. The servers that are
// compared, also those on other libraries, share it. So they differ only in how bytes come and go.
//
// See https://redis.io/docs/latest/develop/reference/protocol-spec.
package resp
