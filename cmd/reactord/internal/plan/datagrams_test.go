package plan

import (
	"fmt"
	"strings"
	"testing"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/serveraddr"
)

// A server on a unix socket is refused in the backend of a UDP listener, whichever source names it, and in no other.
func TestUnixServersGetNoDatagrams(t *testing.T) {
	const want = "unix:///run/app.sock gets no datagrams, and listener l is one of UDP"
	server := Server{Address: serveraddr.MustParse("unix:///run/app.sock"), Weight: 1, Origin: "found"}
	for network, refused := range map[string]bool{"udp": true, "tcp": false} {
		check := func(kind string, err error) {
			t.Helper()
			if (err != nil) != refused || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%s, %s: %v", network, kind, err)
			}
		}
		c, places, err := config.Parse("f", fmt.Appendf(nil, `
listeners: [{name: l, address: '%s://127.0.0.9:80', backend: b}]
backends: [{name: b, files: [{path: /f}]}]
`, network))
		if err != nil {
			t.Fatal(err)
		}
		found := map[Source][]Server{Sources(&c.Backends[0])[0]: {server}}
		_, err = Merge(Parts{File: &File{Config: c, Errors: places.Errors}, Discovered: found})
		check("a file of discovery", err)

		control, l := oneBackend(server), c.Listeners[0]
		l.Backend = "cluster"
		control.Listeners = []config.Listener{l}
		_, err = Merge(Parts{File: &File{Config: config.New(), Errors: places.Errors}, Control: control})
		check("the answer of a control plane", err)
		if items, rest := ControlErrors(err); err != nil && (len(items) != 1 || rest != nil || items[0].Backend == "") {
			t.Errorf("the fault is not that of a backend: %v", err)
		}
	}
}
