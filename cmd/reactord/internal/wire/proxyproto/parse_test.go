package proxyproto

import (
	"encoding/binary"
	"errors"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// binary2 is a header of version 2, with the length of its rest.
func binary2(command, family byte, rest ...string) string {
	all := strings.Join(rest, "")
	b := append([]byte(signature2), command, family)
	return string(binary.BigEndian.AppendUint16(b, uint16(len(all)))) + all
}

// Addresses of version 2: 192.0.2.1:1000 to 198.51.100.2:443, and [2001:db8::1]:1000 to [2001:db8::2]:443.
const (
	addresses4 = "\xc0\x00\x02\x01\xc6\x33\x64\x02\x03\xe8\x01\xbb"
	host6      = "\x20\x01\x0d\xb8\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"
	addresses6 = host6 + "\x01" + host6 + "\x02\x03\xe8\x01\xbb"
	mapped     = "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\xff\xff"
)

// unixPath is a unix address.
func unixPath(path string) string { return path + strings.Repeat("\x00", unixLen-len(path)) }

var (
	from4 = netip.MustParseAddrPort("192.0.2.1:1000")
	to4   = netip.MustParseAddrPort("198.51.100.2:443")
	from6 = netip.MustParseAddrPort("[2001:db8::1]:1000")
	to6   = netip.MustParseAddrPort("[2001:db8::2]:443")
)

// good are headers and what they say.
var good = []struct {
	name string
	text string
	want Header
}{
	{"v1 TCP4", "PROXY TCP4 192.0.2.1 198.51.100.2 1000 443\r\n", Header{Version: 1, Source: from4, Destination: to4}},
	{"v1 TCP6", "PROXY TCP6 2001:db8::1 2001:DB8:0::2 1000 443\r\n", Header{Version: 1, Source: from6, Destination: to6}},
	{
		"v1 mapped", "PROXY TCP6 ::ffff:192.0.2.1 ::ffff:c633:6402 1000 443\r\n",
		Header{Version: 1, Source: from4, Destination: to4},
	},
	{"v1 longest", "PROXY TCP6 " + strings.Repeat(strings.Repeat(":ffff", 8)[1:]+" ", 2) + "65535 65535\r\n",
		Header{
			Version:     1,
			Source:      netip.MustParseAddrPort("[ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff]:65535"),
			Destination: netip.MustParseAddrPort("[ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff]:65535"),
		}},
	{"v1 port 0", "PROXY TCP4 0.0.0.0 255.255.255.255 0 0\r\n", Header{
		Version: 1, Source: netip.MustParseAddrPort("0.0.0.0:0"), Destination: netip.MustParseAddrPort("255.255.255.255:0"),
	}},
	{"v1 UNKNOWN", "PROXY UNKNOWN\r\n", Header{Version: 1}},
	{"v1 UNKNOWN with anything", "PROXY UNKNOWN " + strings.Repeat("\xff", 91) + "\r\n", Header{Version: 1}},
	{"v2 LOCAL", binary2(0x20, 0), Header{Version: 2, Local: true}},
	{"v2 LOCAL with addresses", binary2(0x20, 0x11, addresses4), Header{Version: 2, Local: true}},
	{"v2 LOCAL with less than addresses", binary2(0x20, 0x21, "abc"), Header{Version: 2, Local: true}},
	{"v2 LOCAL of no family", binary2(0x20, 0xff, "abc"), Header{Version: 2, Local: true}},
	{"v2 TCP4", binary2(0x21, 0x11, addresses4), Header{Version: 2, Source: from4, Destination: to4}},
	{"v2 UDP4", binary2(0x21, 0x12, addresses4), Header{Version: 2, Datagram: true, Source: from4, Destination: to4}},
	{"v2 TCP6", binary2(0x21, 0x21, addresses6), Header{Version: 2, Source: from6, Destination: to6}},
	{"v2 UDP6", binary2(0x21, 0x22, addresses6), Header{Version: 2, Datagram: true, Source: from6, Destination: to6}},
	{
		"v2 mapped", binary2(0x21, 0x21, mapped+addresses4[:4]+mapped+addresses4[4:]),
		Header{Version: 2, Source: from4, Destination: to4},
	},
	{
		"v2 one mapped", binary2(0x21, 0x21, mapped+addresses4[:4]+addresses6[16:]),
		Header{Version: 2, Source: from4, Destination: to6},
	},
	{
		"v2 unix", binary2(0x21, 0x31, unixPath("/run/a"), unixPath("\x00b\x00c")),
		Header{Version: 2, Unix: true, UnixSource: []byte("/run/a"), UnixDestination: []byte("\x00b\x00c")},
	},
	{
		"v2 unix datagrams without names", binary2(0x21, 0x32, unixPath(""), unixPath("")),
		Header{Version: 2, Unix: true, Datagram: true},
	},
	{"v2 unix, full", binary2(0x21, 0x31, strings.Repeat("a", 108), strings.Repeat("b", 108)), Header{
		Version: 2, Unix: true,
		UnixSource: []byte(strings.Repeat("a", 108)), UnixDestination: []byte(strings.Repeat("b", 108)),
	}},
	{"v2 unspecified", binary2(0x21, 0), Header{Version: 2}},
	{"v2 unspecified with TLVs", binary2(0x21, 0, "\x02\x00\x01a"), Header{Version: 2, TLVs: TLVs("\x02\x00\x01a")}},
	{"v2 unspecified with anything", binary2(0x21, 0, "abc"), Header{Version: 2}},
	{"v2 unspecified protocol", binary2(0x21, 0x10, addresses4), Header{Version: 2}},
	{"v2 unspecified family of datagrams", binary2(0x21, 0x02), Header{Version: 2}},
	{"v2 TLVs", binary2(0x21, 0x11, addresses4, "\x01\x00\x02h2", "\x04\x00\x00", "\xe0\x00\x01\xff"), Header{
		Version: 2, Source: from4, Destination: to4, TLVs: TLVs("\x01\x00\x02h2\x04\x00\x00\xe0\x00\x01\xff"),
	}},
	{"v2 CRC32c", binary2(0x21, 0x11, addresses4, crc4), Header{
		Version: 2, Source: from4, Destination: to4, TLVs: TLVs(crc4),
	}},
	{"v2 longest", binary2(0x21, 0x11, addresses4, longTLV), Header{
		Version: 2, Source: from4, Destination: to4, TLVs: TLVs(longTLV),
	}},
}

// crc4 is the CRC32c of the header of TCP4 with addresses4 and nothing else, computed by a program that shares nothing
// with this one.
const crc4 = "\x03\x00\x04\x93\xf0\x0e\xb1"

// longTLV fills a header with addresses4 up to MaxLen.
var longTLV = "\xe1" + string(binary.BigEndian.AppendUint16(nil, MaxLen-16-12-3)) + strings.Repeat("x", MaxLen-16-12-3)

func TestGoodHeaders(t *testing.T) {
	for _, c := range good {
		t.Run(c.name, func(t *testing.T) {
			for _, behind := range []string{"", "\r\n", "GET / HTTP/1.1\r\n\r\n", "\x00"} {
				h, n, err := Parse([]byte(c.text + behind))
				if err != nil || n != len(c.text) {
					t.Fatalf("n = %d of %d, err = %v", n, len(c.text), err)
				}
				if diff := cmp.Diff(c.want, h, equal); diff != "" {
					t.Errorf("-want +got\n%s", diff)
				}
			}
			for i := range len(c.text) {
				if _, n, err := Parse([]byte(c.text[:i])); err != ErrIncomplete || n != 0 {
					t.Fatalf("after %d bytes: n = %d, err = %v", i, n, err)
				}
			}
		})
	}
}

func TestBadHeaders(t *testing.T) {
	line := strings.Repeat("x", 107-len("PROXY UNKNOWN "))
	for _, c := range []struct {
		name, text string
		want       error
		says       string
		at         int // the error is there after so many bytes, and not before; 0: after all
	}{
		{"nothing like it", "GET / HTTP/1.1\r\n", ErrNoHeader, `begins with "GET / HTTP/1.1\r\n"`, 1},
		{"TLS", "\x16\x03\x01\x02\x00", ErrNoHeader, `"\x16\x03\x01`, 1},
		{"nearly v1", "PROXYTCP4", ErrNoHeader, `"PROXYTCP4"`, 6},
		{"lower case", "proxy TCP4", ErrNoHeader, `"proxy TCP4"`, 1},
		{"nearly v2", "\r\n\r\n\x00\r\nQUIP", ErrNoHeader, `QUIP"`, 11},
		{"v1 too long", "PROXY UNKNOWN " + line, ErrTooLong, "no CRLF in the first 107 bytes", 107},
		{"v1 too long, with CR", "PROXY UNKNOWN " + line[1:] + "\r", ErrTooLong, "no CRLF in the first 107", 107},
		{"v1 LF", "PROXY TCP4 192.0.2.1 198.51.100.2 1000 443\n", ErrMalformed, "without CRLF", 0},
		{"v1 CR", "PROXY UNKNOWN\rX", ErrMalformed, "without CRLF", 0},
		{"v1 LF behind UNKNOWN", "PROXY UNKNOWN a\nb\r\n", ErrMalformed, "without CRLF", 16},
		{"v1 nothing", "PROXY \r\n", ErrMalformed, `neither "TCP4", "TCP6" nor "UNKNOWN"`, 0},
		{"v1 UDP4", "PROXY UDP4 192.0.2.1 198.51.100.2 1000 443\r\n", ErrMalformed, "neither", 0},
		{"v1 unknown", "PROXY unknown\r\n", ErrMalformed, "neither", 0},
		{"v1 TCP4 only", "PROXY TCP4\r\n", ErrMalformed, "four fields", 0},
		{"v1 three fields", "PROXY TCP4 192.0.2.1 198.51.100.2 1000\r\n", ErrMalformed, "four fields", 0},
		{"v1 five fields", "PROXY TCP4 192.0.2.1 198.51.100.2 1000 443 1\r\n", ErrMalformed, "four fields", 0},
		{"v1 a space at the end", "PROXY TCP4 192.0.2.1 198.51.100.2 1000 443 \r\n", ErrMalformed, "four fields", 0},
		{"v1 two spaces", "PROXY TCP4  192.0.2.1 198.51.100.2 1000\r\n", ErrMalformed, "an address that is none of TCP4", 0},
		{"v1 a tab", "PROXY TCP4\t192.0.2.1 198.51.100.2 1000 443\r\n", ErrMalformed, "neither", 0},
		{"v1 TCP4 of IPv6", "PROXY TCP4 ::1 ::1 1000 443\r\n", ErrMalformed, "none of TCP4", 0},
		{"v1 TCP6 of IPv4", "PROXY TCP6 192.0.2.1 198.51.100.2 1000 443\r\n", ErrMalformed, "none of TCP6", 0},
		{"v1 octal", "PROXY TCP4 192.0.2.01 198.51.100.2 1000 443\r\n", ErrMalformed, "an address", 0},
		{"v1 256", "PROXY TCP4 192.0.2.256 198.51.100.2 1000 443\r\n", ErrMalformed, "an address", 0},
		{"v1 three numbers", "PROXY TCP4 192.0.2 198.51.100.2 1000 443\r\n", ErrMalformed, "an address", 0},
		{"v1 zone", "PROXY TCP6 fe80::1%eth0 fe80::2 1000 443\r\n", ErrMalformed, "an address", 0},
		{"v1 brackets", "PROXY TCP6 [::1] [::1] 1000 443\r\n", ErrMalformed, "an address", 0},
		{"v1 port 65536", "PROXY TCP4 192.0.2.1 198.51.100.2 65536 443\r\n", ErrMalformed, "a port", 0},
		{"v1 port 0443", "PROXY TCP4 192.0.2.1 198.51.100.2 1000 0443\r\n", ErrMalformed, "a port", 0},
		{"v1 port +1", "PROXY TCP4 192.0.2.1 198.51.100.2 +1 443\r\n", ErrMalformed, "a port", 0},
		{"v1 no port", "PROXY TCP4 192.0.2.1 198.51.100.2  443\r\n", ErrMalformed, "a port", 0},
		{"v2 version 1", signature2 + "\x11", ErrMalformed, "version 1", 0},
		{"v2 version 3", signature2 + "\x31", ErrMalformed, "version 3", 0},
		{"v2 command 2", signature2 + "\x22", ErrMalformed, "command 2", 0},
		{"v2 family 4", signature2 + "\x21\x41", ErrMalformed, "family 4", 0},
		{"v2 protocol 3", signature2 + "\x21\x13", ErrMalformed, "protocol 3", 0},
		{"v2 short for IPv4", signature2 + "\x21\x11\x00\x0b", ErrMalformed, "a length of 11, and the addresses have 12", 0},
		{"v2 short for IPv6", signature2 + "\x21\x21\x00\x0c", ErrMalformed, "the addresses have 36", 0},
		{"v2 short for unix", signature2 + "\x21\x31\x00\xd7", ErrMalformed, "the addresses have 216", 0},
		{"v2 too long", signature2 + "\x21\x11\x0f\xf1", ErrTooLong, "4097 bytes, of which 4096 are accepted", 0},
		{"v2 LOCAL too long", signature2 + "\x20\x00\xff\xff", ErrTooLong, "65551 bytes", 0},
		{"v2 part of a TLV", binary2(0x21, 0x11, addresses4, "\x01\x00"), ErrMalformed, "2 bytes behind the addresses", 0},
		{"v2 oversize TLV", binary2(0x21, 0x11, addresses4, "\x01\x00\x03h2"), ErrMalformed, "end after 0", 0},
		{"v2 wrong CRC32c", binary2(0x21, 0x11, addresses4, crc4[:6]+"\x00"), ErrChecksum, "the header says", 0},
		{"v2 CRC32c of other addresses", binary2(0x21, 0x12, addresses4, crc4), ErrChecksum, "CRC32c is", 0},
		{"v2 wrong CRC32c, unspecified", binary2(0x21, 0, crc4), ErrChecksum, "the header says", 0},
		{"v2 short CRC32c", binary2(0x21, 0x11, addresses4, "\x03\x00\x03abc"), ErrMalformed, "a CRC32c of 3 bytes", 0},
		{"v2 two CRC32c", binary2(0x21, 0x11, addresses4, crc4, crc4), ErrMalformed, "a second CRC32c", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			at := c.at
			if at == 0 {
				at = len(c.text)
			}
			for i := range at {
				if _, _, err := Parse([]byte(c.text[:i])); err != ErrIncomplete {
					t.Fatalf("after %d bytes: %v", i, err)
				}
			}
			for i := at; i <= len(c.text); i++ {
				if _, n, err := Parse([]byte(c.text[:i])); !errors.Is(err, c.want) || n != 0 {
					t.Fatalf("after %d bytes: n = %d, err = %v, want %v", i, n, err, c.want)
				}
			}
			if _, _, err := Parse([]byte(c.text)); !strings.Contains(err.Error(), c.says) {
				t.Errorf("it says %q, want %q", err, c.says)
			}
		})
	}
}

func TestParsingDoesNotAllocate(t *testing.T) {
	for _, c := range good {
		b := []byte(c.text)
		if n := testing.AllocsPerRun(100, func() { _, _, _ = Parse(b) }); n != 0 {
			t.Errorf("%s: %v allocations", c.name, n)
		}
		b = b[:len(b)-1]
		if n := testing.AllocsPerRun(100, func() { _, _, _ = Parse(b) }); n != 0 {
			t.Errorf("%s, incomplete: %v allocations", c.name, n)
		}
	}
}
