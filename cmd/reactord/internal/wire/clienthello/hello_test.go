package clienthello

import (
	"bytes"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// made is the ClientHello of crypto/tls for a configuration.
func made(t testing.TB, c *tls.Config) []byte {
	t.Helper()
	var out recorder
	if err := tls.Client(&out, c).Handshake(); !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	return out.Bytes()
}

// recorder is a connection whose peer says nothing.
type recorder struct {
	net.Conn
	bytes.Buffer
}

func (r *recorder) Write(b []byte) (int, error) { return r.Buffer.Write(b) }
func (r *recorder) Read([]byte) (int, error)    { return 0, io.EOF }
func (r *recorder) Close() error                { return nil }

// field is a field with its length in front, of so many bytes.
func field(size int, parts ...string) string {
	all := strings.Join(parts, "")
	var length [8]byte
	binary.BigEndian.PutUint64(length[:], uint64(len(all)))
	return string(length[8-size:]) + all
}

// u16 is a number of two bytes.
func u16(n int) string { return string([]byte{byte(n >> 8), byte(n)}) }

// extension is an extension.
func extension(kind int, value string) string { return u16(kind) + field(2, value) }

// message is a ClientHello message with these extensions.
func message(extensions ...string) string {
	body := "\x03\x03" + strings.Repeat("r", 32) + field(1) + field(2, "\x13\x01") + field(1, "\x00")
	if len(extensions) > 0 {
		body += field(2, extensions...)
	}
	return "\x01" + field(3, body)
}

// records are the records of a message, whose contents have these lengths; the rest is in a last one.
func records(message string, lengths ...int) string {
	var b strings.Builder
	for _, n := range append(lengths, len(message)) {
		if n = min(n, len(message)); n > 0 {
			b.WriteString("\x16\x03\x01" + field(2, message[:n]))
			message = message[n:]
		}
	}
	return b.String()
}

// sni and alpn are extensions.
func sni(name string) string { return extension(extServerName, field(2, "\x00", field(2, name))) }
func alpn(names ...string) string {
	all := ""
	for _, name := range names {
		all += field(1, name)
	}
	return extension(extALPN, field(2, all))
}

var good = []struct {
	name string
	text string
	want Hello
}{
	{"without extensions", records(message()), Hello{Version: 0x0303}},
	{"a version of the future", strings.Replace(records(message()), "\x03\x03", "\x03\x09", 1), Hello{Version: 0x0303}},
	{"another version of the record", strings.Replace(records(message()), "\x03\x01", "\x02\x00", 1),
		Hello{Version: 0x0303}},
	{"SNI", records(message(sni("example.org"))), Hello{SNI: "example.org", Version: 0x0303}},
	{"SNI as it was written", records(message(sni("eXample.ORG"))), Hello{SNI: "eXample.ORG", Version: 0x0303}},
	{"a name of another type", records(message(extension(0, field(2, "\x01", field(2, "a"), "\x00", field(2, "b"))))),
		Hello{SNI: "b", Version: 0x0303}},
	{"ALPN", records(message(alpn("h2", "http/1.1", "x"))), Hello{ALPN: []string{"h2", "http/1.1", "x"}, Version: 0x0303}},
	{"GREASE", records(message(extension(0x1a1a, ""), alpn("\x0a\x0a", "h2", "\xfa\xfa"),
		extension(extSupportedVersions, field(1, u16(0x8a8a), u16(0x0304), u16(0x0303))), extension(0xeaea, "\x00"))),
		Hello{ALPN: []string{"h2"}, Version: 0x0304}},
	{"versions", records(message(extension(extSupportedVersions, field(1, u16(0x0302), u16(0x0303))))),
		Hello{Version: 0x0303}},
	{"the pre-shared key is the last", records(message(sni("a"), extension(extPreSharedKey, "x"))),
		Hello{SNI: "a", Version: 0x0303}},
	{"two records", records(message(sni("example.org")), 20), Hello{SNI: "example.org", Version: 0x0303}},
	{"records of a byte", records(message(sni("example.org"), alpn("h2")), slices.Repeat([]int{1}, 200)...),
		Hello{SNI: "example.org", ALPN: []string{"h2"}, Version: 0x0303}},
	{"large", records(message(extension(21, strings.Repeat("\x00", 50000)), sni("a")), 16384, 16384, 16384, 16384),
		Hello{SNI: "a", Version: 0x0303}},
}

func TestGoodHellos(t *testing.T) {
	for _, c := range good {
		t.Run(c.name, func(t *testing.T) {
			for _, behind := range []string{"", "\x16\x03\x01", "\x17", "anything"} {
				got, err := Parse([]byte(c.text + behind))
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(c.want, got); diff != "" {
					t.Errorf("-want +got\n%s", diff)
				}
			}
			step := 1 + len(c.text)/2000
			for i := 0; i < len(c.text); i += step {
				if _, err := Parse([]byte(c.text[:i])); err != ErrIncomplete {
					t.Fatalf("after %d bytes: %v", i, err)
				}
			}
		})
	}
}

func TestBadHellos(t *testing.T) {
	big := message(extension(21, strings.Repeat("\x00", 65400)), extension(22, strings.Repeat("\x00", 60000)))
	for _, c := range []struct {
		name, text string
		want       error
		says       string
		at         int // the error is there after so many bytes, and not before; 0: after all
	}{
		{"HTTP", "GET / HTTP/1.1\r\n\r\n", ErrNotTLS, `begins with "GET / HTTP/1.1\r\n"`, 1},
		{"SSH", "SSH-2.0-OpenSSH\r\n", ErrNotTLS, `"SSH-2.0`, 1},
		{"SSL 2", "\x80\x2e\x01\x00\x02", ErrNotTLS, "a hello of SSL 2", 1},
		{"an alert", "\x15\x03\x01\x00\x02\x02\x28", ErrNotTLS, `"\x15\x03`, 1},
		{"no version", "\x16\x10\x00", ErrNotTLS, `"\x16\x10`, 2},
		{"an empty record", "\x16\x03\x01\x00\x00", ErrMalformed, "a record of 0 bytes", 0},
		{"a large record", "\x16\x03\x01\x40\x01", ErrMalformed, "a record of 16385 bytes", 0},
		{"a ServerHello", "\x16\x03\x01\x00\x10\x02", ErrMalformed, "a message of type 2", 0},
		{"another record inside", records(message(), 20)[:25] + "\x17", ErrMalformed, "a record of type 23", 0},
		{"too long", records(big, slices.Repeat([]int{16384}, 9)...), ErrTooLong, "more than 65536", 9},
		{"too many records", records("\x01\x00\x80\x00"+strings.Repeat("x", 32768), slices.Repeat([]int{1}, 32768)...),
			ErrTooLong, "more than 65536", 32768},
		{"short", records("\x01\x00\x00\x02\x03\x03"), ErrMalformed, "ends within its fields", 0},
		{"short extensions", records("\x01" + field(3, "\x03\x03", strings.Repeat("r", 32), "\x00\x00\x00\x00\x00\x01")),
			ErrMalformed, "its length and that of the extensions differ", 0},
		{"bytes behind extensions", records("\x01" + field(3, message(sni("a"))[4:], "x")), ErrMalformed, "differ", 0},
		{"a short extension", records(message("\x00\x00\x00\x01")), ErrMalformed, "ends within extension 0", 0},
		{"a long name", records(message(sni(strings.Repeat("a", MaxSNI+1)))), ErrMalformed, "an SNI of 256 bytes", 0},
		{"many protocols", records(message(alpn(slices.Repeat([]string{"a"}, MaxProtocols+1)...))), ErrMalformed,
			"65 protocols", 0},
		{"an extension twice", records(message(sni("a"), sni("b"))), ErrMalformed, "extension 0 is there twice", 0},
		{"two names", records(message(extension(0, field(2, "\x00", field(2, "a"), "\x00", field(2, "b"))))),
			ErrMalformed, "two host names", 0},
		{"an empty name", records(message(sni(""))), ErrMalformed, "an SNI", 0},
		{"no name", records(message(extension(0, "\x00\x00"))), ErrMalformed, "an SNI", 0},
		{"a dot", records(message(sni("example.org."))), ErrMalformed, `"example.org." ends with a dot`, 0},
		{"no protocol", records(message(alpn())), ErrMalformed, "an ALPN", 0},
		{"an empty protocol", records(message(alpn("h2", ""))), ErrMalformed, "an ALPN", 0},
		{"bytes behind ALPN", records(message(extension(16, field(2, field(1, "h2"))+"x"))), ErrMalformed, "an ALPN", 0},
		{"no version", records(message(extension(43, "\x00"))), ErrMalformed, "supported versions", 0},
		{"half a version", records(message(extension(43, "\x03\x03\x04\x03"))), ErrMalformed, "supported versions", 0},
		{"behind the pre-shared key", records(message(extension(41, "x"), sni("a"))), ErrMalformed, "behind the pre-", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			at := c.at
			if at == 0 {
				at = len(c.text)
			}
			for i := 0; i <= len(c.text); i += 1 + len(c.text)/500 {
				_, err := Parse([]byte(c.text[:i]))
				if i < at && i < 32768 && err != ErrIncomplete || i >= max(at, 65536) && !errors.Is(err, c.want) {
					t.Fatalf("after %d bytes: %v", i, err)
				}
			}
			if _, err := Parse([]byte(c.text[:max(c.at, 1)])); c.at > 0 && c.at < 32768 && !errors.Is(err, c.want) {
				t.Errorf("after %d bytes: %v", c.at, err)
			}
			if _, err := Parse([]byte(c.text)); !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v, want %v that says %q", err, c.want, c.says)
			}
		})
	}
}

func TestHellosOfCryptoTLS(t *testing.T) {
	for _, c := range []*tls.Config{
		{ServerName: "example.org"},
		{InsecureSkipVerify: true},
		{ServerName: "example.org", NextProtos: []string{"h2", "http/1.1"}},
		{ServerName: "example.org", MaxVersion: tls.VersionTLS12},
		{ServerName: strings.Repeat("a.", 120) + "org", NextProtos: slices.Repeat([]string{strings.Repeat("p", 255)}, 60)},
	} {
		hello := made(t, c)
		if err := same(hello); err != nil {
			t.Error(err)
		}
		got, err := Parse(hello)
		if err != nil || got.SNI != c.ServerName || !slices.Equal(got.ALPN, c.NextProtos) {
			t.Errorf("%+v, %v; want %q %q", got, err, c.ServerName, c.NextProtos)
		}
		if want := uint16(tls.VersionTLS13); c.MaxVersion == 0 && got.Version != want {
			t.Errorf("version %x", got.Version)
		}
	}
}

func TestParsingAllocatesStringsOnly(t *testing.T) {
	for i, c := range []struct {
		text string
		want float64
	}{
		{records(message()), 0},
		{records(message(sni("example.org"))), 1},
		{records(message(sni("example.org"), alpn("h2", "http/1.1"))), 2},
		{records(message(sni("example.org"), alpn("h2", "http/1.1")), 40), 3},
		{records(message(sni("example.org"), alpn("h2", "http/1.1")), 40)[:80], 0},
	} {
		b := []byte(c.text)
		if n := testing.AllocsPerRun(100, func() { _, _ = Parse(b) }); n != c.want {
			t.Errorf("%d: %v allocations, want %v", i, n, c.want)
		}
	}
}

// Another bound counts in the same way, however the bytes arrive.
func TestParseUpTo(t *testing.T) {
	b := []byte(records(message(sni("a.test"))))
	for most, want := range map[int]error{len(b): nil, len(b) - 1: ErrTooLong, 4: ErrTooLong} {
		for n := range len(b) {
			if _, err := ParseUpTo(b[:n], most); n < most && err != ErrIncomplete || n >= most && !errors.Is(err, ErrTooLong) {
				t.Errorf("%d of %d bytes, up to %d: %v", n, len(b), most, err)
			}
		}
		if _, err := ParseUpTo(b, most); !errors.Is(err, want) {
			t.Errorf("up to %d of %d bytes: %v, want %v", most, len(b), err, want)
		}
	}
}
