package clienthello

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"testing"
)

// errSeen ends a handshake when the server has seen the ClientHello.
var errSeen = errors.New("seen")

// oracle is what crypto/tls finds in a ClientHello; nil if it does not take it.
func oracle(b []byte) *tls.ClientHelloInfo {
	var seen *tls.ClientHelloInfo
	server := tls.Server(&replay{Reader: bytes.NewReader(b)}, &tls.Config{
		GetConfigForClient: func(info *tls.ClientHelloInfo) (*tls.Config, error) {
			seen = info
			return nil, errSeen
		},
	})
	_ = server.Handshake()
	return seen
}

// replay is a connection whose peer has said something and nothing more.
type replay struct {
	net.Conn
	io.Reader
}

func (r *replay) Write(b []byte) (int, error) { return len(b), nil }
func (r *replay) Read(b []byte) (int, error)  { return r.Reader.Read(b) }
func (r *replay) Close() error                { return nil }

// same returns how Parse and crypto/tls differ.
func same(b []byte) error {
	h, err := Parse(b)
	theirs := oracle(b)
	switch {
	case theirs == nil: // it checks more
		return nil
	case errors.Is(err, ErrTooLong), Check(theirs.ServerName, len(theirs.SupportedProtos)) != nil:
		return nil
	case err != nil:
		return fmt.Errorf("%w, and theirs is %q %q", err, theirs.ServerName, theirs.SupportedProtos)
	}
	protocols := slices.DeleteFunc(slices.Clone(theirs.SupportedProtos), func(p string) bool {
		return isGREASEProtocol([]byte(p))
	})
	if h.SNI != theirs.ServerName || !slices.Equal(h.ALPN, protocols) {
		return fmt.Errorf("%q %q, theirs is %q %q", h.SNI, h.ALPN, theirs.ServerName, protocols)
	}
	highest := uint16(0)
	for _, v := range theirs.SupportedVersions {
		if !isGREASE(v) {
			highest = max(highest, v)
		}
	}
	if !slices.Contains(theirs.Extensions, extSupportedVersions) {
		// Theirs are the versions that they know up to the message's own, even TLS 1.3.
		if highest = min(highest, tls.VersionTLS12); highest == 0 {
			return nil
		}
	}
	if h.Version != highest {
		return fmt.Errorf("version %x, theirs is %x", h.Version, highest)
	}
	return nil
}

// addSeeds adds ClientHellos, of crypto/tls and made ones.
func addSeeds(f *testing.F) {
	for _, c := range good[:len(good)-1] {
		f.Add([]byte(c.text))
	}
	hello := made(f, &tls.Config{ServerName: "example.org", NextProtos: []string{"h2"}})
	f.Add(hello)
	f.Add([]byte(records(string(hello[recordHeader:]), 1, 3, 10, 100)))
	f.Add(made(f, &tls.Config{ServerName: "example.org", MaxVersion: tls.VersionTLS12}))
	f.Add([]byte("GET / HTTP/1.1\r\n\r\n"))
	f.Add([]byte("\x80\x2e\x01\x00\x02"))
}

// FuzzParse parses anything: more bytes never change what was said, and what crypto/tls takes is taken and understood
// in the same way.
func FuzzParse(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		_, err := Parse(b)
		if len(b) >= MaxLen && err == ErrIncomplete {
			t.Fatalf("%d bytes are not enough", len(b))
		}
		for i := 0; i < len(b); i += 1 + len(b)/200 {
			_, err2 := Parse(b[:i])
			if err2 != ErrIncomplete && (err == ErrIncomplete || (err2 == nil) != (err == nil)) {
				t.Fatalf("after %d bytes: %v; after %d: %v", i, err2, len(b), err)
			}
		}
		if err := same(b); err != nil {
			t.Fatal(err)
		}
	})
}

// FuzzMessage is the same for one message, whose records are cut anywhere: the fuzzer does not have to find out about
// lengths.
func FuzzMessage(f *testing.F) {
	f.Add([]byte(sni("example.org")+alpn("h2")), uint16(10), uint16(20))
	f.Add([]byte(extension(extSupportedVersions, field(1, u16(0x0304), u16(0x1a1a)))), uint16(1), uint16(2))
	hello := made(f, &tls.Config{ServerName: "example.org", NextProtos: []string{"h2"}})
	if h := hello[recordHeader+messageHeader+2+32+33:]; len(h) > 100 {
		f.Add(h[len(h)-100:], uint16(5), uint16(500))
	}
	f.Fuzz(func(t *testing.T, extensions []byte, first, second uint16) {
		if len(extensions) > 1<<14 {
			return
		}
		m := message(string(extensions))
		whole, err := Parse([]byte(records(m)))
		cut, err2 := Parse([]byte(records(m, 1+int(first)%1000, 1+int(second)%1000)))
		if (err == nil) != (err2 == nil) || whole.SNI != cut.SNI || !slices.Equal(whole.ALPN, cut.ALPN) {
			t.Fatalf("%+v, %v; in pieces %+v, %v", whole, err, cut, err2)
		}
		if err := same([]byte(records(m))); err != nil {
			t.Fatal(err)
		}
	})
}
