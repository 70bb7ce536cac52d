package config

import (
	"strings"
	"testing"
)

func TestParseAddress(t *testing.T) {
	for text, want := range map[string]string{
		"tcp://127.0.0.1:80":                       "tcp://127.0.0.1:80",
		"localhost:1":                              "tcp://localhost:1",
		"tcp://[::1]:65535":                        "tcp://[::1]:65535",
		"[2001:DB8:0::1]:1":                        "tcp://[2001:db8::1]:1",
		"[fe80::1%eth0]:1":                         "tcp://[fe80::1%eth0]:1",
		"tcp://[::ffff:10.0.0.1]:1":                "tcp://10.0.0.1:1",
		"_sip.Example.org.:5060":                   "tcp://_sip.example.org.:5060",
		"a:8000-8010":                              "tcp://a:8000-8010",
		"a:8000-8000":                              "tcp://a:8000",
		"tcp://[::]:1-4096":                        "tcp://[::]:1-4096",
		"udp://127.0.0.1:53":                       "udp://127.0.0.1:53",
		"unix:///run/a b.sock":                     "unix:///run/a b.sock",
		"unix://@name/x":                           "unix://@name/x",
		"fd://web":                                 "fd://web",
		"fd+udp://dns":                             "fd+udp://dns",
		"unix://" + strings.Repeat("/a", 53) + "b": "unix://" + strings.Repeat("/a", 53) + "b",
	} {
		a, err := ParseAddress(text)
		if err != nil || a.String() != want {
			t.Errorf("ParseAddress(%q) = %v, %v, want %s", text, a, err, want)
			continue
		}
		if again, err := ParseAddress(want); err != nil || again != a {
			t.Errorf("ParseAddress(%q) = %v, %v, want %v", want, again, err, a)
		}
	}
	for _, text := range []string{
		"", ":", "a", "a:", ":1", "a:-1", "a:+1", "a:65536", "a:http", "a:1:2", "[::1]", "[::1:80", "::1:80", "[a]:1",
		"tcp://", "tcp:a:1", "udp://a", "udp://:1", "sctp://a:1", "a b:1", "-a:1", "a-:1", "a..b:1", ".:1",
		"1.2.3:1", "1.2.3.4.5:1",
		"a:1/", "a/b:1",
		"a:2-1", "a:0-1",
		"a:1-4097", "a:1-", "a:-1-2", "a:1-2-3", "a:1-65536", "unix://", "unix://@", "unix://a", "unix:///a/",
		"unix:///a//b", "unix:///a/../b", "unix:///a\x00b", "unix:///a\xffb",
		"unix://" + strings.Repeat("/a", 54), "fd://",
		"fd://a:b", "fd+udp://", "fd+tcp://a",
		strings.Repeat("a", 64) + ":1", strings.Repeat("a.", 127) + "a:1", "ä:1", "tcp://tcp://a:1",
	} {
		if a, err := ParseAddress(text); err == nil {
			t.Errorf("ParseAddress(%q) = %v", text, a)
		}
	}
}

func TestParseSize(t *testing.T) {
	for text, want := range map[string]Size{
		"0": 0, "1": 1, "7B": 7, "64KiB": 65536, "64 KiB": 65536, "1kB": 1000, "3MB": 3e6, "2GiB": 2 << 30, "1GB": 1e9,
		"-1KiB": -1024, "8589934591GiB": 8589934591 << 30,
	} {
		if got, err := ParseSize(text); err != nil || got != want {
			t.Errorf("ParseSize(%q) = %d, %v, want %d", text, got, err, want)
		}
		if again, err := ParseSize(want.String()); err != nil || again != want {
			t.Errorf("ParseSize(%q) = %d, %v, want %d", want, again, err, want)
		}
	}
	for _, text := range []string{
		"", "KiB", "1.5KiB", "1K", "1kib", "1  KiB", "0x10", "8589934592GiB", "9223372036854775808",
	} {
		if got, err := ParseSize(text); err == nil {
			t.Errorf("ParseSize(%q) = %d", text, got)
		}
	}
}

func TestDistance(t *testing.T) {
	for _, test := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"a", "", 1}, {"", "abc", 3}, {"kitten", "sitting", 3}, {"ring", "rnig", 1},
		{"ca", "abc", 3}, {"auto", "auto", 0},
	} {
		if got := distance(test.a, test.b); got != test.want {
			t.Errorf("distance(%q, %q) = %d, want %d", test.a, test.b, got, test.want)
		}
		if got := distance(test.b, test.a); got != test.want {
			t.Errorf("distance(%q, %q) = %d, want %d", test.b, test.a, got, test.want)
		}
	}
}
