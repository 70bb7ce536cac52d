package proxyproto

import (
	"bufio"
	"bytes"
	"errors"
	"net"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	peer "github.com/pires/go-proxyproto"
)

// addSeeds adds headers, whole and not, good and bad.
func addSeeds(f *testing.F) {
	for _, c := range good {
		f.Add([]byte(c.text))
		f.Add([]byte(c.text + "more"))
	}
	f.Add([]byte("PROXY TCP4 192.0.2.1 198.51.100.2 1000 443 1\r\n"))
	f.Add([]byte(binary2(0x21, 0x11, addresses4, crc4[:6], "\x00")))
	f.Add([]byte(binary2(0x20, 0x21, addresses4)))
}

// FuzzParse parses anything: more bytes never change what was said, and what was parsed is the same after it was
// appended and parsed again.
func FuzzParse(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		b = b[:min(len(b), 2*MaxLen)]
		h, n, err := Parse(b)
		if n < 0 || n > len(b) || (n > 0) != (err == nil) {
			t.Fatalf("n = %d of %d, err = %v", n, len(b), err)
		}
		if len(b) >= MaxLen && err == ErrIncomplete {
			t.Fatalf("%d bytes are not enough", len(b))
		}
		for i := range min(len(b), 300) {
			_, m, err2 := Parse(b[:i])
			switch {
			case err2 == ErrIncomplete:
			case err2 == nil && m == n && err == nil:
			case err2 != nil && err != nil && err != ErrIncomplete:
			default:
				t.Fatalf("after %d bytes: n = %d, err = %v; after %d: n = %d, err = %v", i, m, err2, len(b), n, err)
			}
		}
		if err != nil {
			return
		}
		again := Append(nil, &h)
		h2, n2, err := Parse(again)
		if err != nil || n2 != len(again) {
			t.Fatalf("%q: n = %d of %d, err = %v", again, n2, len(again), err)
		}
		if diff := cmp.Diff(h, h2, equal); diff != "" {
			t.Fatalf("-first +again\n%s", diff)
		}
		if value, ok := h.TLVs.Get(TLS); ok {
			if s, err := ParseSSL(value); err == nil {
				back, _ := AppendSSL(nil, &s).Get(TLS)
				if s2, err := ParseSSL(back); err != nil || s2 != s {
					t.Fatalf("%+v is %+v, %v", s, s2, err)
				}
			}
		}
	})
}

// FuzzDifferential compares with another implementation. It differs where the specification leaves a choice, or is not
// followed by it:
//
//   - It takes lines of version 1 with anything behind "PROXY", with more fields than there are, and with a CR within
//     UNKNOWN.
//   - It refuses an unspecified family or protocol of the command PROXY, and the same and unknown ones of LOCAL.
//   - It neither verifies a CRC32c nor looks at TLVs when it parses.
//   - Its limit of 4096 bytes does not count the first 16.
//   - An abstract unix address is empty, and so is the value of a NOOP.
func FuzzDifferential(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		b = b[:min(len(b), 2*MaxLen)]
		h, n, err := Parse(b)
		in := bytes.NewReader(b)
		buffered := bufio.NewReaderSize(in, 4*MaxLen)
		theirs, theirErr := peer.Read(buffered)
		theirN := len(b) - in.Len() - buffered.Buffered()
		switch {
		case err == nil && theirErr == nil:
			if n != theirN {
				t.Fatalf("n = %d, theirs is %d", n, theirN)
			}
			compare(t, &h, theirs)
		case err == nil:
			unspecified := !h.Unix && !h.Source.IsValid()
			if !unspecified {
				t.Fatalf("%+v, and theirs is %v", h, theirErr)
			}
		case theirErr == nil:
			if !stricter(b, err) {
				t.Fatalf("%v, and theirs is %+v", err, theirs)
			}
		}
	})
}

// compare compares what both have parsed.
func compare(t *testing.T, h *Header, theirs *peer.Header) {
	if h.Version != int(theirs.Version) || h.Version == 2 && h.Local != theirs.Command.IsLocal() {
		t.Fatalf("version %d, local %v; theirs are %d, %v", h.Version, h.Local, theirs.Version, theirs.Command)
	}
	if h.Local || !h.Unix && !h.Source.IsValid() {
		return
	}
	if h.Datagram != theirs.TransportProtocol.IsDatagram() {
		t.Fatalf("datagram %v, theirs is %v", h.Datagram, theirs.TransportProtocol)
	}
	if from, to, ok := theirs.UnixAddrs(); ok {
		same := func(path []byte, theirs *net.UnixAddr) bool {
			return string(path) == theirs.Name || theirs.Name == "" && path[0] == 0
		}
		if !h.Unix || !same(h.UnixSource, from) || !same(h.UnixDestination, to) {
			t.Fatalf("%q to %q, theirs are %q to %q", h.UnixSource, h.UnixDestination, from.Name, to.Name)
		}
	} else if from, to := addrPort(theirs.SourceAddr), addrPort(theirs.DestinationAddr); h.Source != from ||
		h.Destination != to {
		t.Fatalf("%v to %v, theirs are %v to %v", h.Source, h.Destination, from, to)
	}
	all, err := theirs.TLVs()
	if err != nil {
		t.Fatalf("their TLVs: %v", err)
	}
	for kind, value := range h.TLVs.All() {
		if kind == Noop {
			value = nil
		}
		if len(all) == 0 || Type(all[0].Type) != kind || !bytes.Equal(all[0].Value, value) {
			t.Fatalf("TLV %x %q, theirs are %v", kind, value, all)
		}
		all = all[1:]
	}
	if len(all) > 0 {
		t.Fatalf("%v is missing", all)
	}
}

// addrPort is the address of an IP socket.
func addrPort(a net.Addr) netip.AddrPort {
	at := netip.MustParseAddrPort(a.String())
	return netip.AddrPortFrom(at.Addr().Unmap(), at.Port())
}

// stricter reports whether an error is one of those that the other implementation does not have.
func stricter(b []byte, err error) bool {
	switch {
	case errors.Is(err, ErrChecksum), errors.Is(err, ErrTooLong):
		return true
	case errors.Is(err, ErrNoHeader):
		return bytes.HasPrefix(b, []byte("PROXY"))
	}
	for _, text := range []string{"four fields", "without CRLF", "behind the addresses", "CRC32c"} {
		if strings.Contains(err.Error(), text) {
			return true
		}
	}
	return false
}
