package machine

import (
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"os"
	"runtime"
	"slices"
	"testing"
)

func TestThisMachineIsKnown(t *testing.T) {
	m := This(t.Context())
	if m.Kernel == Unknown || m.CPUs < 1 || len(m.Allowed) < 1 || m.OpenFiles == 0 || m.Ports() < 1 || m.Backlog < 1 ||
		m.Congestion == "" {
		t.Errorf("%+v", m)
	}
}

func TestParseCPU(t *testing.T) {
	info := "processor\t: 0\nvendor_id\t: AuthenticAMD\nmodel\t\t: 2\nmodel name\t: AMD EPYC\n"
	if got := parseCPU([]byte(info)); got != "AMD EPYC" {
		t.Errorf("the CPU is %q", got)
	}
	if got := parseCPU(nil); got != Unknown {
		t.Errorf("no CPU is %q", got)
	}
}

func TestOnline(t *testing.T) {
	for list, want := range map[string]int{"0": 1, "0-1": 2, "0-3,8,10-11": 7, "": runtime.NumCPU(),
		"x-y": runtime.NumCPU(), "3-1": runtime.NumCPU()} {
		if got := online(list); got != want {
			t.Errorf("%q is %d CPUs, want %d", list, got, want)
		}
	}
}

// The kernel prints addresses as words in the byte order of the machine.
func TestParseAddress(t *testing.T) {
	v4 := fmt.Sprintf("%08X:1F90", binary.NativeEndian.Uint32([]byte{127, 0, 0, 1}))
	if a, err := parseAddress(v4); a != netip.MustParseAddrPort("127.0.0.1:8080") || err != nil {
		t.Errorf("%s is %v, %v", v4, a, err)
	}
	v6 := fmt.Sprintf("%08X%08X%08X%08X:0050", 0, 0, 0, binary.NativeEndian.Uint32([]byte{0, 0, 0, 1}))
	if a, err := parseAddress(v6); a != netip.MustParseAddrPort("[::1]:80") || err != nil {
		t.Errorf("%s is %v, %v", v6, a, err)
	}
	for _, bad := range []string{"", "0100007F", "0100007F:", "010:0050", "xx00007F:0050"} {
		if _, err := parseAddress(bad); err == nil {
			t.Errorf("%q was taken for an address", bad)
		}
	}
}

// A listening process is found for every kind of bound address.
func TestListeners(t *testing.T) {
	for _, at := range []string{"127.0.0.1:0", "[::1]:0", ":0"} {
		l, err := net.Listen("tcp", at)
		if err != nil {
			t.Log(err)
			continue
		}
		defer l.Close()
		ask := netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), l.Addr().(*net.TCPAddr).AddrPort().Port())
		if at == "[::1]:0" {
			ask = netip.AddrPortFrom(netip.IPv6Loopback(), ask.Port())
		}
		if pids := Listeners("tcp", ask, ""); !slices.Equal(pids, []int{os.Getpid()}) {
			t.Errorf("%s: %v listen on %v, want this process, %d", at, pids, ask, os.Getpid())
		}
	}
	path := t.TempDir() + "/s"
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if pids := Listeners("unix", netip.AddrPort{}, path); !slices.Equal(pids, []int{os.Getpid()}) {
		t.Errorf("%v listen on %s", pids, path)
	}
	if pids := Listeners("tcp", netip.MustParseAddrPort("127.0.0.1:1"), ""); len(pids) != 0 {
		t.Errorf("%v listen on a port without a listener", pids)
	}
}
