package loader

import (
	"slices"
	"strings"
	"testing"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
)

// Backends whose servers are asked for names that clients choose are named.
func TestWarnOfNames(t *testing.T) {
	ends := config.ServerTLS{Certificates: []config.Certificate{{Cert: "x"}}}
	for name, test := range map[string]struct {
		listener config.Listener
		server   string // the name of the servers
		want     bool
	}{
		"the listener ends TLS": {config.Listener{TLS: ends, Backend: "b"}, "", true},
		"a name is configured":  {config.Listener{TLS: ends, Backend: "b"}, "b.test", false},
		"no name":               {config.Listener{TLS: ends, Backend: "b"}, ".", false},
		"no TLS with clients":   {config.Listener{Backend: "b"}, "", false},
		"a route of a listener": {config.Listener{TLS: ends, Routes: []config.Route{{Backend: "b"}}}, "", true},
		"a route with TLS":      {config.Listener{Routes: []config.Route{{Backend: "b", TLS: ends}}}, "", true},
		"TLS is passed through": {config.Listener{TLS: ends, Routes: []config.Route{{Backend: "b", Passthrough: true}}}, "",
			false},
	} {
		test.listener.Name = "web"
		b := config.NewBackend()
		b.Name, b.TLS.Enabled, b.TLS.ServerName = "b", true, test.server
		var warnings []string
		warnOfNames(&config.Config{Listeners: []config.Listener{test.listener}, Backends: []config.Backend{b}},
			func(text string) { warnings = append(warnings, text) })
		if got := strings.Join(warnings, ""); strings.Contains(got, `backends[0].tls.server_name`) != test.want ||
			test.want && !strings.Contains(got, `"web"`) {
			t.Errorf("%s: %q", name, warnings)
		}
	}
}

// The files of passwords are watched, and read by check, where those of keys are.
func TestNamedFilesOfKeys(t *testing.T) {
	server := func(at string) config.ServerTLS {
		return config.ServerTLS{Certificates: []config.Certificate{{
			Cert: at + "cert", Key: at + "key", KeyPasswordFile: at + "key_password_file",
		}}}
	}
	const listener, route, backend = "listeners[0].tls.certificates[0].", "listeners[0].routes[0].tls.certificates[0].",
		"backends[0].tls."
	cfg := &config.Config{
		Listeners: []config.Listener{{TLS: server(listener), Routes: []config.Route{{TLS: server(route)}}}},
		Backends: []config.Backend{{TLS: config.ClientTLS{
			Cert: backend + "cert", Key: backend + "key", KeyPasswordFile: backend + "key_password_file",
		}}},
	}
	files := namedFiles(cfg)
	for _, at := range []string{listener, route, backend} {
		for _, setting := range []string{"cert", "key", "key_password_file"} {
			if want := (namedFile{at + setting, at + setting}); !slices.Contains(files, want) {
				t.Errorf("%v is not there: %v", want, files)
			}
		}
	}
}
