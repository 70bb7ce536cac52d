package planner

import (
	"fmt"
	"testing"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/cmd/reactord/internal/serveraddr"
)

// small is a file with a listener "web" and a backend "app" with two servers.
func small() *plan.File {
	c := config.New()
	l, b := config.NewListener(), config.NewBackend()
	l.Name, l.Backend, l.Address = "web", "app", config.Address{Host: "127.0.0.1", Port: 80}
	b.Name = "app"
	for i := range 2 {
		s := config.NewServer()
		s.Address = config.Address{Host: fmt.Sprintf("10.0.0.%d", i+1), Port: 80}
		b.Servers = append(b.Servers, s)
	}
	c.Listeners, c.Backends = []config.Listener{l}, []config.Backend{b}
	return &plan.File{Config: c}
}

// twoSources is a file with a backend of servers and sources, and one of a source only.
const twoSources = `
listeners: [{name: web, address: "127.0.0.1:80", backend: app}]
backends:
  - name: app
    servers: ["10.0.0.1:80", {address: "10.0.0.2:80", name: two, weight: 3}]
    dns: [{name: a.test, port: 80}]
    files: [{path: /etc/servers.yaml}]
  - name: empty
    http: [{url: "http://127.0.0.1/servers"}]
`

func parsed(t testing.TB, text string) *plan.File {
	t.Helper()
	c, places, err := config.Parse("f", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return &plan.File{Config: c, Errors: places.Errors, Place: places.Place}
}

func server(address, name string) plan.Server {
	return plan.Server{Address: serveraddr.MustParse(address), Name: name, Weight: 1, Origin: "dns a.test"}
}
