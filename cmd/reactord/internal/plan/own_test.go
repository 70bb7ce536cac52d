package plan

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/serveraddr"
)

// ownParts has a process with an admin API at 127.0.0.1:91, metrics at 0.0.0.0:92, and the admin server of a bootstrap
// at [::1]:93.
func ownParts(t *testing.T, servers string) Parts {
	t.Helper()
	c, places, err := config.Parse("f", []byte("admin: {address: 'tcp://localhost:91'}\nmetrics: '0.0.0.0:92'\n"+
		"listeners: [{name: l, address: '127.0.0.9:80', backend: b}]\n"+
		"backends: [{name: b, servers: ["+servers+"], files: [{path: /f}]}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	return Parts{File: &File{
		Config: c, Errors: places.Errors,
		Own: []OwnAddress{{"the admin API in Envoy's place", netip.MustParseAddrPort("[::1]:93")}},
	}}
}

// oneBackend is a control plane with a backend of one server.
func oneBackend(server Server) *Control {
	b := config.NewBackend()
	b.Name = "cluster"
	return &Control{Origin: "test", Backends: []config.Backend{b}, Servers: map[string][]Server{b.Name: {server}}}
}

// A server that is the process itself is refused, whichever source names it and however its address is written.
func TestOwnAddressesAreNoServers(t *testing.T) {
	for at, want := range map[string]string{
		"127.0.0.1:91":          "is the admin API of this process",
		"[::ffff:127.0.0.1]:91": "is the admin API of this process",
		"127.0.0.1:92":          "is the address of the metrics of this process",
		"127.0.0.7:92":          "is the address of the metrics of this process",
		"[::1]:92":              "is the address of the metrics of this process",
		"[::1]:93":              "is the admin API in Envoy's place of this process",
		"127.0.0.1:93":          "",
		"127.0.0.1:94":          "",
		"192.0.2.1:91":          "",
		"192.0.2.1:92":          "",
		"unix:///run/app.sock":  "",
	} {
		check := func(kind string, err error) {
			t.Helper()
			if (err != nil) != (want != "") || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%s in %s: %v, want %q", at, kind, err, want)
			}
		}
		server := Server{Address: serveraddr.MustParse(at), Weight: 1, Origin: "found"}
		_, err := Merge(ownParts(t, "'"+at+"'"))
		check("the file", err)
		parts := ownParts(t, "")
		parts.Discovered = map[Source][]Server{Sources(&parts.File.Config.Backends[0])[0]: {server}}
		_, err = Merge(parts)
		check("a file of discovery", err)
		parts = ownParts(t, "")
		parts.Control = oneBackend(server)
		_, err = Merge(parts)
		check("the answer of a control plane", err)
		if items, rest := ControlErrors(err); err != nil && (len(items) != 1 || rest != nil || items[0].Backend == "") {
			t.Errorf("%s: the fault is not that of a backend: %v", at, err)
		}
	}
}

// TestOwnSocketIsNoServer checks that the socket of the admin API is refused as a server.
func TestOwnSocketIsNoServer(t *testing.T) {
	parts := ownParts(t, "'unix:///run/admin.sock'")
	if _, err := Merge(parts); err != nil {
		t.Error(err)
	}
	parts.File.Config.Admin.Address, parts.merged = "unix:///run/admin.sock", nil
	if _, err := Merge(parts); err == nil || !strings.Contains(err.Error(), "is the admin API of this process") {
		t.Error(err)
	}
}

// So is one that a control plane's platform asks whether the process is ready.
func TestReadyListenersAreNoServers(t *testing.T) {
	parts := ownParts(t, "")
	parts.Control = oneBackend(Server{Address: serveraddr.MustParse("127.0.0.1:95"), Weight: 1})
	if _, err := Merge(parts); err != nil {
		t.Fatal(err)
	}
	parts.Control.Ready = []netip.AddrPort{netip.MustParseAddrPort("0.0.0.0:95")}
	parts.merged = nil
	if _, err := Merge(parts); err == nil || !strings.Contains(err.Error(), "a listener for readiness of this process") {
		t.Errorf("%v", err)
	}
}
