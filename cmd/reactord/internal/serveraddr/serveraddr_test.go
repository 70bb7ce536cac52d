package serveraddr

import (
	"encoding/json"
	"net/netip"
	"slices"
	"testing"
)

func TestAddr(t *testing.T) {
	for _, text := range []string{
		"10.0.0.1:80", "[2001:db8::1]:443", "[fe80::1%eth0]:1", "unix:///run/app.sock", "unix:///a b", "unix://@app",
	} {
		a, err := Parse(text)
		if err != nil || a.String() != text || !a.IsValid() {
			t.Errorf("%s: %v, %v", text, a, err)
		}
		var back Addr
		written, err := json.Marshal(a)
		if err == nil {
			err = json.Unmarshal(written, &back)
		}
		if err != nil || back != a || string(written) != `"`+text+`"` {
			t.Errorf("%s is written as %s, and read as %v, %v", text, written, back, err)
		}
	}
	for _, text := range []string{"", "10.0.0.1", "a:80", "unix://", "unix://a", "unix:/a", "tcp://10.0.0.1:80"} {
		if a, err := Parse(text); err == nil {
			t.Errorf("%q was read as %v", text, a)
		}
	}
}

// TestZero checks that the zero Addr is written and read as the zero netip.AddrPort was.
func TestZero(t *testing.T) {
	a := MustParse("10.0.0.1:80")
	if err := a.UnmarshalText(nil); err != nil || a.IsValid() || a != (Addr{}) {
		t.Errorf("read as %v, %v", a, err)
	}
	if text, err := a.MarshalText(); err != nil || len(text) != 0 {
		t.Errorf("written as %q, %v", text, err)
	}
	if IP(netip.AddrPort{}) != a || IP(netip.AddrPortFrom(netip.Addr{}, 80)) != a || Unix("") != a {
		t.Error("no address is not the zero Addr")
	}
}

func TestParts(t *testing.T) {
	ip, unix := IP(netip.MustParseAddrPort("[::ffff:10.0.0.1]:80")), Unix("/run/app.sock")
	if a := ip.Unmap().WithPort(81); a != MustParse("10.0.0.1:81") || a.Port() != 81 || a.IsUnix() || a.Path() != "" {
		t.Errorf("the IP address became %v", a)
	}
	a := unix.Unmap().WithPort(81)
	if a != unix || a.Path() != "/run/app.sock" || a.Port() != 0 || a.AddrPort().IsValid() {
		t.Errorf("the unix socket became %v", a)
	}
}

func TestOrder(t *testing.T) {
	want := []Addr{
		{}, MustParse("10.0.0.1:80"), MustParse("10.0.0.1:81"), MustParse("[::1]:1"), Unix("/a"), Unix("/b"), Unix("@a"),
	}
	got := slices.Clone(want)
	slices.Reverse(got)
	slices.SortFunc(got, Addr.Compare)
	if !slices.Equal(got, want) {
		t.Errorf("the order is %v", got)
	}
}
