package list

import (
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
)

func setting(kind config.SetType) *config.Set {
	s := config.NewSet()
	s.Type = kind
	return &s
}

func TestRead(t *testing.T) {
	l, err := Read(strings.NewReader("\xef\xbb\xbf192.0.2.1\r\n\n# a comment\n"+
		" 198.51.100.0/24 ; SBL1 # more\n2001:db8::/32\t\n"+
		"::ffff:203.0.113.7\n198.51.100.9"), setting(config.NetworkSet))
	if err != nil {
		t.Fatal(err)
	}
	if l.Entries != 5 || l.Networks.Len() != 4 || l.Names != nil || l.Bytes() == 0 {
		t.Errorf("%+v", l)
	}
	for text, want := range map[string]bool{
		"192.0.2.1": true, "198.51.100.77": true, "2001:db8::1": true, "203.0.113.7": true, "203.0.113.8": false,
	} {
		if l.Networks.Contains(netip.MustParseAddr(text)) != want {
			t.Errorf("%s: %v", text, !want)
		}
	}
	l, err = Read(strings.NewReader("Example.org\n*.example.net # all\n"), setting(config.NameSet))
	if err != nil || l.Entries != 2 || l.Networks != nil || !l.Names.Contains("example.org") ||
		!l.Names.Contains("a.example.net") {
		t.Errorf("%+v, %v", l, err)
	}
}

func TestReadRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"192.0.2.1\n192.0.2.300\n": `2: "192.0.2.300" is not a network: write it as in 10.0.0.0/8 or 2001:db8::/32`,
		"10.0.0.1/8":               `1: "10.0.0.1/8" has bits beyond its length: write 10.0.0.0/8`,
		"192.0.2.1 192.0.2.2":      `1: "192.0.2.1 192.0.2.2" is not a network: write it as in 10.0.0.0/8 or 2001:db8::/32`,
		"set=other":                `1: "set=other" is a set: write a network, as in 10.0.0.0/8`,
		"<html>":                   `1: "<html>" is not a network: write it as in 10.0.0.0/8 or 2001:db8::/32`,
		"# nothing":                `too few entries: the text has 0, and min_entries is 1`,
		"":                         `too few entries: the text has 0, and min_entries is 1`,
		"\n" + strings.Repeat("#", maxLine+1): fmt.Sprintf(
			"2: too large: the line has more than %d bytes", maxLine),
	} {
		if _, err := Read(strings.NewReader(text), setting(config.NetworkSet)); err == nil || err.Error() != want {
			t.Errorf("%.40q:\n got %v\nwant %s", text, err, want)
		}
	}
	if _, err := Read(strings.NewReader("a b"), setting(config.NameSet)); err == nil {
		t.Error("a name with a blank is an entry")
	}
	empty := setting(config.NetworkSet)
	empty.MinEntries = 0
	if l, err := Read(strings.NewReader("\n"), empty); err != nil || l.Entries != 0 {
		t.Errorf("%+v, %v", l, err)
	}
}

// TestEndlessText wants no more to be read of a text than it may have.
func TestEndlessText(t *testing.T) {
	s := setting(config.NetworkSet)
	s.MaxSize = 1 << 20
	source := &endless{}
	_, err := Read(source, s)
	if !errors.Is(err, ErrTooLarge) || source.read > 1<<20+2*maxLine {
		t.Errorf("%v, after %d bytes", err, source.read)
	}
}

type endless struct{ read int }

func (e *endless) Read(b []byte) (int, error) {
	const line = "192.0.2.1\n"
	for i := range b {
		b[i] = line[(e.read+i)%len(line)]
	}
	e.read += len(b)
	return len(b), nil
}

func TestReadFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "blocked")
	if _, err := ReadFile(path, setting(config.NetworkSet)); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	if err := os.WriteFile(path, []byte("192.0.2.1\nx\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadFile(path, setting(config.NetworkSet)); err == nil || !strings.HasPrefix(err.Error(), path+":2: ") {
		t.Error(err)
	}
	if _, err := ReadFile(filepath.Dir(path), setting(config.NetworkSet)); err == nil {
		t.Error("a directory is a list")
	}
}

func TestReadFails(t *testing.T) {
	text := io.MultiReader(strings.NewReader("192.0.2.1\n"), failing{})
	if _, err := Read(text, setting(config.NetworkSet)); !errors.Is(err, errRead) {
		t.Error(err)
	}
}

var errRead = errors.New("it fails")

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errRead }

// FuzzRead wants each entry of a text that is read to be in its list, and nothing else to be said of it.
func FuzzRead(f *testing.F) {
	f.Add("192.0.2.1\n10.0.0.0/8 # a\n::/0\n", true)
	f.Add("example.org\n*.a.b;\r\n", false)
	f.Fuzz(func(t *testing.T, text string, networks bool) {
		s := setting(config.NameSet)
		if networks {
			s.Type = config.NetworkSet
		}
		s.MinEntries, s.MaxSize = 0, 1<<12
		l, err := Read(strings.NewReader(text), s)
		if err != nil {
			if l != nil {
				t.Fatal("a list with an error")
			}
			return
		}
		entries := 0
		for line := range strings.SplitSeq(strings.TrimPrefix(text, "\xef\xbb\xbf"), "\n") {
			entry := string(trim([]byte(line)))
			if entry == "" {
				continue
			}
			entries++
			parsed, err := s.Type.ParseSetEntry(entry)
			if err != nil {
				t.Fatalf("%q was read: %v", entry, err)
			}
			in := l.Names.Contains(strings.Replace(parsed, "*", "x", 1))
			if networks {
				in = l.Networks.Contains(netip.MustParsePrefix(parsed).Addr())
			}
			if !in {
				t.Fatalf("%q is not in the list", entry)
			}
		}
		if entries != l.Entries {
			t.Fatalf("%d entries, not %d", l.Entries, entries)
		}
	})
}

// BenchmarkRead reads a million addresses.
func BenchmarkRead(b *testing.B) {
	var text strings.Builder
	for i := range 1_000_000 {
		fmt.Fprintf(&text, "%d.%d.%d.%d\n", 1+i%223, i>>8&255, i>>16&255, i&255)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Read(strings.NewReader(text.String()), setting(config.NetworkSet)); err != nil {
			b.Fatal(err)
		}
	}
}
