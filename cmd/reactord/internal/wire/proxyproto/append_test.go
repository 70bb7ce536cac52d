package proxyproto

import (
	"bytes"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestAppend(t *testing.T) {
	for _, c := range []struct {
		name string
		h    Header
		want string
	}{
		{"v1", Header{Version: 1, Source: from4, Destination: to4}, "PROXY TCP4 192.0.2.1 198.51.100.2 1000 443\r\n"},
		{"v1, IPv6", Header{Version: 1, Source: from6, Destination: to6},
			"PROXY TCP6 2001:db8::1 2001:db8::2 1000 443\r\n"},
		{"v1, both", Header{Version: 1, Source: from4, Destination: to6},
			"PROXY TCP6 ::ffff:c000:0201 2001:db8::2 1000 443\r\n"},
		{"v1, mapped", Header{
			Version: 1, Source: netip.MustParseAddrPort("[::ffff:192.0.2.1]:1000"), Destination: to4,
		}, "PROXY TCP4 192.0.2.1 198.51.100.2 1000 443\r\n"},
		{"v1, zone", Header{
			Version: 1, Source: netip.MustParseAddrPort("[fe80::1%eth0]:1000"), Destination: to6,
		}, "PROXY TCP6 fe80::1 2001:db8::2 1000 443\r\n"},
		{"v1, nothing", Header{Version: 1}, "PROXY UNKNOWN\r\n"},
		{"v1, one only", Header{Version: 1, Source: from4}, "PROXY UNKNOWN\r\n"},
		{"v1, local", Header{Version: 1, Local: true, Source: from4, Destination: to4}, "PROXY UNKNOWN\r\n"},
		{"v1, UDP", Header{Version: 1, Datagram: true, Source: from4, Destination: to4}, "PROXY UNKNOWN\r\n"},
		{"v1, unix", Header{Version: 1, Unix: true, UnixSource: []byte("/a")}, "PROXY UNKNOWN\r\n"},
		{"v2", Header{Source: from4, Destination: to4}, binary2(0x21, 0x11, addresses4)},
		{"v2, UDP", Header{Datagram: true, Source: from6, Destination: to6}, binary2(0x21, 0x22, addresses6)},
		{"v2, both", Header{Source: from4, Destination: to6},
			binary2(0x21, 0x21, mapped+addresses4[:4]+addresses6[16:])},
		{"v2, nothing", Header{Datagram: true}, binary2(0x21, 0)},
		{"v2, local", Header{Local: true, Source: from4, Destination: to4, TLVs: TLVs(crc4)}, binary2(0x20, 0)},
		{"v2, unix", Header{Unix: true, UnixSource: []byte("/a"), UnixDestination: []byte("\x00b")},
			binary2(0x21, 0x31, unixPath("/a"), unixPath("\x00b"))},
		{"v2, a path that is too long", Header{Unix: true, Datagram: true, UnixSource: bytes.Repeat([]byte("a"), 200)},
			binary2(0x21, 0x32, strings.Repeat("a", 108), unixPath(""))},
		{"v2, CRC32c", Header{Source: from4, Destination: to4, TLVs: AppendTLV(nil, CRC32C, nil)},
			binary2(0x21, 0x11, addresses4, crc4)},
		{"v2, CRC32c of another header", Header{Source: from4, Destination: to4, TLVs: TLVs("\x03\x00\x04abcd")},
			binary2(0x21, 0x11, addresses4, crc4)},
		{"v2, two CRC32c", Header{Source: from4, Destination: to4, TLVs: TLVs(crc4 + crc4)},
			binary2(0x21, 0x11, addresses4, crc4)},
		{"v2, what is no TLV", Header{Source: from4, Destination: to4, TLVs: TLVs("\x02\x00\x01a\x02\x00\x02b")},
			binary2(0x21, 0x11, addresses4, "\x02\x00\x01a")},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Append([]byte("front"), &c.h); string(got) != "front"+c.want {
				t.Errorf("%q, want %q behind what was there", got, c.want)
			}
			if _, n, err := Parse([]byte(c.want)); n != len(c.want) || err != nil {
				t.Errorf("parsed again: n = %d, err = %v", n, err)
			}
		})
	}
}

func TestWhatDoesNotFitIsLeftOut(t *testing.T) {
	big := AppendTLV(nil, 0xe0, make([]byte, 40000))
	h := Header{Source: from4, Destination: to4, TLVs: append(append(big, "\x02\x00\x01a"...), big...)}
	if got, want := len(Append(nil, &h)), 16+12+40003+4; got != want {
		t.Errorf("%d bytes, want %d", got, want)
	}
	if tlvs := AppendTLV(nil, 0xe0, make([]byte, 65536)); len(tlvs) != 0 {
		t.Errorf("a value that is too long has %d bytes", len(tlvs))
	}
	long := strings.Repeat("x", 40000)
	if tlvs := AppendSSL(big, &SSL{CN: long, Cipher: long}); len(tlvs) != len(big) {
		t.Errorf("what is too long about TLS has %d bytes", len(tlvs)-len(big))
	}
}

func TestTLVs(t *testing.T) {
	ssl := SSL{
		TLS: true, CertConn: true, Verified: true, Version: "TLSv1.3", CN: "client.example", Cipher: "TLS_AES_128_GCM_SHA256",
		SigAlg: "RSA-SHA256", KeyAlg: "RSA2048",
	}
	var tlvs TLVs
	tlvs = AppendTLVString(tlvs, ALPN, "h2")
	tlvs = AppendTLVString(tlvs, Authority, "example.org")
	tlvs = AppendTLV(tlvs, CRC32C, nil)
	tlvs = AppendTLV(tlvs, Noop, nil)
	tlvs = AppendTLV(tlvs, UniqueID, []byte{1, 2})
	tlvs = AppendSSL(tlvs, &ssl)
	tlvs = AppendTLVString(tlvs, NetNS, "blue")
	header := Append(nil, &Header{Source: from4, Destination: to4, TLVs: tlvs})
	h, n, err := Parse(header)
	if err != nil || n != len(header) {
		t.Fatalf("n = %d of %d, err = %v", n, len(header), err)
	}
	var kinds []Type
	for kind := range h.TLVs.All() {
		kinds = append(kinds, kind)
	}
	if want := []Type{ALPN, Authority, CRC32C, Noop, UniqueID, TLS, NetNS}; !cmp.Equal(kinds, want) {
		t.Errorf("types %x, want %x", kinds, want)
	}
	for kind, want := range map[Type]string{ALPN: "h2", Authority: "example.org", UniqueID: "\x01\x02", NetNS: "blue"} {
		if value, ok := h.TLVs.Get(kind); !ok || string(value) != want {
			t.Errorf("type %x is %q", kind, value)
		}
	}
	if _, ok := h.TLVs.Get(0xe0); ok {
		t.Error("there is a type that was not sent")
	}
	value, _ := h.TLVs.Get(TLS)
	if got, err := ParseSSL(value); err != nil || got != ssl {
		t.Errorf("%+v, %v", got, err)
	}
	for range h.TLVs.All() {
		break // an iteration may end early
	}
	for _, flip := range []int{0, 13, 17, 40, len(header) - 1} {
		damaged := bytes.Clone(header)
		damaged[flip] ^= 1
		if _, _, err := Parse(damaged); err == nil {
			t.Errorf("byte %d is wrong, and there is no error", flip)
		}
	}
}

func TestBadSSL(t *testing.T) {
	const fixed = "\x01\x00\x00\x00\x00"
	for _, value := range []string{"", fixed[1:], fixed + "\x21\x00", fixed + "\x21\x00\x02a"} {
		if s, err := ParseSSL([]byte(value)); err == nil {
			t.Errorf("%q: %+v", value, s)
		}
	}
	for _, s := range []SSL{{}, {Verified: true}, {TLS: true, CertSession: true}, {CN: "a"}} {
		value, _ := AppendSSL(nil, &s).Get(TLS)
		if got, err := ParseSSL(value); err != nil || got != s {
			t.Errorf("%+v is %+v, %v", s, got, err)
		}
	}
}

// equal compares headers by their values.
var equal = cmp.Options{cmpopts.EquateComparable(netip.AddrPort{}), cmpopts.EquateEmpty()}

func TestGoodHeadersAreTheSameAgain(t *testing.T) {
	for _, c := range good {
		h, _, err := Parse(Append(nil, &c.want))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if diff := cmp.Diff(c.want, h, equal); diff != "" {
			t.Errorf("%s: -want +got\n%s", c.name, diff)
		}
	}
}

func TestAppendingDoesNotAllocate(t *testing.T) {
	room := make([]byte, 0, 2*MaxLen)
	tlvs := AppendSSL(AppendTLV(AppendTLVString(nil, Authority, "example.org"), CRC32C, nil), &SSL{TLS: true})
	for _, c := range good {
		for version := 1; version <= 2; version++ {
			h := c.want
			h.Version = version
			if len(h.TLVs) == 0 {
				h.TLVs = tlvs
			}
			if n := testing.AllocsPerRun(100, func() { Append(room, &h) }); n != 0 {
				t.Errorf("%s, version %d: %v allocations", c.name, version, n)
			}
		}
	}
}
