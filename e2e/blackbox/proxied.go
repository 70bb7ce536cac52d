package blackbox

import (
	"fmt"
	"slices"
	"strconv"
)

// Headers of the PROXY protocol, version 2: LOCAL, TCP over IPv4 with a length, and the addresses.
const (
	signature = "\r\n\r\n\x00\r\nQUIT\n"
	v2Local   = signature + "\x20\x00\x00\x00"
	v2TCP4    = signature + "\x21\x11"
	v2TCP6    = signature + "\x21\x21"
	v2None    = signature + "\x21\x00"
	v2Hosts   = "\xc0\x00\x02\x01\xc6\x33\x64\x02\x03\xe8\x01\xbb"
	v2Host6   = "\x20\x01\x0d\xb8\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"
	v1TCP4    = "PROXY TCP4 192.0.2.1 198.51.100.2 1000 443\r\n"
	v1TCP6    = "PROXY TCP6 2001:db8::1 2001:db8::2 1000 443\r\n"
)

// Proxied returns the cases of a proxy that trusts the PROXY headers of its clients. With tells, the proxy sends
// headers of version 1 to its servers. Client, server and proxy are on 127.0.0.0/8.
func Proxied(tells bool) []Case {
	return slices.Concat(believed(tells), unknown(tells), bad)
}

// believed returns cases of headers with addresses.
func believed(tells bool) []Case {
	answers := func(header, text string) string { return answers(tells, header, text) }
	accept := "accept; "
	if tells {
		accept += "expect " + strconv.Quote(v1TCP4) + "; "
	}
	return []Case{
		{Name: "v1 TCP4",
			Client: headed(v1TCP4, "ping"), Server: answers(v1TCP4, "ping")},
		{Name: "v1 TCP6",
			Client: headed(v1TCP6, "ping"), Server: answers(v1TCP6, "ping")},
		{Name: "v2 TCP4",
			Client: headed(v2TCP4+"\x00\x0c"+v2Hosts, "ping"), Server: answers(v1TCP4, "ping")},
		{Name: "v2 TCP6",
			Client: headed(v2TCP6+"\x00\x24"+v2Host6+"\x01"+v2Host6+"\x02"+v2Hosts[8:], "ping"),
			Server: answers(v1TCP6, "ping")},
		{Name: "v2 with TLVs",
			Client: headed(v2TCP4+"\x00\x16"+v2Hosts+"\x02\x00\x04name\xe0\x00\x00", "ping"), Server: answers(v1TCP4, "ping")},
		{Name: "v2 with a CRC32c",
			Client: headed(v2TCP4+"\x00\x13"+v2Hosts+"\x03\x00\x04\x93\xf0\x0e\xb1", "ping"), Server: answers(v1TCP4, "ping")},
		{Name: "a header and nothing more",
			Client: `connect; send ` + strconv.Quote(v1TCP4) + `; expect "220 ready"; send "QUIT"; expect eof`,
			Server: accept + `send "220 ready"; expect "QUIT"; close`},
		{Name: "a header and much behind it",
			Client: `connect; send ` + strconv.Quote(v1TCP4) + `; send 8MiB; shutdown; expect 8MiB; expect eof`,
			Server: accept + `expect 8MiB; expect eof; send 8MiB; close`},
		{Name: "headers twice: the second is data",
			Client: headed(v1TCP4, v1TCP6), Server: answers(v1TCP4, v1TCP6)},
		{Name: "v1 in two segments",
			Client: `connect; send "PROXY "; pause 300ms; send ` + strconv.Quote(v1TCP4[len("PROXY "):]+"ping") +
				`; expect "pong"; shutdown; expect eof`,
			Server: answers(v1TCP4, "ping")},
	}
}

// unknown returns cases of headers without addresses, for which those of the socket count.
func unknown(tells bool) []Case {
	server := `accept; expect "ping"; send "pong"; expect eof; close`
	if tells {
		server = `accept; expect "PROXY TCP4 127."; expect line; expect "ping"; send "pong"; expect eof; close`
	}
	return []Case{
		{Name: "v1 UNKNOWN",
			Client: headed("PROXY UNKNOWN\r\n", "ping"), Server: server},
		{Name: "v1 UNKNOWN with more",
			Client: headed("PROXY UNKNOWN 192.0.2.1 198.51.100.2 1000 443\r\n", "ping"), Server: server},
		{Name: "v2 LOCAL",
			Client: headed(v2Local, "ping"), Server: server},
		{Name: "v2 LOCAL with addresses",
			Client: headed(signature+"\x20\x11\x00\x0c"+v2Hosts, "ping"), Server: server},
		{Name: "v2 without a family",
			Client: headed(v2None+"\x00\x00", "ping"), Server: server},
	}
}

// bad has cases of missing or invalid headers. They end the connection, and no server sees it.
var bad = []Case{
	{Name: "no header", Client: refused("GET / HTTP/1.1\r\n\r\n")},
	{Name: "no header, but TLS", Client: refused("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03")},
	{Name: "nothing and EOF", Client: `connect; shutdown; expect gone`},
	{Name: "v1 that is too long", Client: refused("PROXY UNKNOWN " + fmt.Sprintf("%0*d", 100, 0) + "\r\n")},
	{Name: "v1 with LF only", Client: refused("PROXY TCP4 192.0.2.1 198.51.100.2 1000 443\nGET / HTTP/1.1\r\n\r\n")},
	{Name: "v1 with a wrong port", Client: refused("PROXY TCP4 192.0.2.1 198.51.100.2 65536 443\r\n")},
	{Name: "v1 with a wrong address", Client: refused("PROXY TCP4 192.0.2.256 198.51.100.2 1000 443\r\n")},
	{Name: "v1 of another family", Client: refused("PROXY TCP4 2001:db8::1 2001:db8::2 1000 443\r\n")},
	{Name: "v2 of another version", Client: refused(signature + "\x31\x11\x00\x0c" + v2Hosts)},
	{Name: "v2 with another command", Client: refused(signature + "\x22\x11\x00\x0c" + v2Hosts)},
	{Name: "v2 that is shorter than its addresses", Client: refused(v2TCP4 + "\x00\x0b" + v2Hosts[:11])},
	{Name: "v2 with an oversize TLV", Client: refused(v2TCP4 + "\x00\x10" + v2Hosts + "\x02\x00\x05a")},
	{Name: "v2 with a wrong CRC32c", Client: refused(v2TCP4 + "\x00\x13" + v2Hosts + "\x03\x00\x04\x93\xf0\x0e\xb2")},
	{Name: "v2 that is too long", Client: refused(v2TCP4 + "\xff\xff" + v2Hosts)},
}

// headed returns a client that sends a header and text in one segment.
func headed(header, text string) string {
	return `connect; send ` + strconv.Quote(header+text) + `; expect "pong"; shutdown; expect eof`
}

// answers returns a server that receives a header, if the proxy sends one, and text.
func answers(tells bool, header, text string) string {
	if !tells {
		header = ""
	}
	return `accept; expect ` + strconv.Quote(header+text) + `; send "pong"; expect eof; close`
}

// refused returns a client whose first bytes are refused.
func refused(text string) string { return `connect; send ` + strconv.Quote(text) + `; expect gone` }

// Cut returns cases of headers that arrive in pieces, or together with EOF. The proxy sends headers. The results of
// other proxies depend on timing.
func Cut() []Case {
	cases := []Case{
		{Name: "a header and EOF",
			Client: `connect; send ` + strconv.Quote(v1TCP4) + `; shutdown; expect "late"; expect eof`,
			Server: `accept; expect ` + strconv.Quote(v1TCP4) + `; expect eof; send "late"; close`},
		{Name: "half a header and EOF", Client: `connect; send "PROXY TCP4 192.0.2.1"; shutdown; expect gone`},
		{Name: "v1 a byte at a time",
			Client: `connect; dribble ` + strconv.Quote(v1TCP4) + `; send "ping"; expect "pong"; shutdown; expect eof`,
			Server: answers(true, v1TCP4, "ping")},
	}
	for i, header := range []string{v1TCP4, v2TCP4 + "\x00\x0c" + v2Hosts} {
		for at := 1; at < len(header); at++ {
			cases = append(cases, Case{
				Name: fmt.Sprintf("v%d cut behind byte %d", i+1, at),
				Client: `connect; send ` + strconv.Quote(header[:at]) + `; pause 1ms; send ` +
					strconv.Quote(header[at:]+"ping") + `; expect "pong"; shutdown; expect eof`,
				Server: answers(true, v1TCP4, "ping"),
			})
		}
	}
	return cases
}
