package main

import (
	"fmt"

	"github.com/reactord/reactord/cmd/reactord/internal/certs"
	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/plan"
)

// readKeys reads the files that the TLS settings of f name, into f. warn is told what is unusual; it may be nil.
func readKeys(f *plan.File, warn func(string)) error {
	f.Servers, f.Clients = map[string]*certs.Server{}, map[string]*certs.Client{}
	var wrong []config.Problem
	note := func(path string, found []certs.Problem) {
		for _, p := range found {
			placed := config.Problem{Path: path + ".tls." + p.Key, Text: p.Text, Err: p.Err}
			switch {
			case !p.Warning:
				wrong = append(wrong, placed)
			case warn != nil:
				warn(path + ".tls." + p.Key + ": " + p.Text)
			}
		}
	}
	for i := range f.Config.Listeners {
		l := &f.Config.Listeners[i]
		keys, found := certs.LoadServer(&l.TLS)
		f.Servers[l.Name] = keys
		note(fmt.Sprintf("listeners[%d]", i), found)
	}
	for i := range f.Config.Backends {
		b := &f.Config.Backends[i]
		keys, found := certs.LoadClient(&b.TLS)
		f.Clients[b.Name] = keys
		note(fmt.Sprintf("backends[%d]", i), found)
	}
	return f.Errors(wrong)
}

// keyFiles are the files that the TLS settings name.
func keyFiles(cfg *config.Config) (paths []string) {
	add := func(all ...string) {
		for _, path := range all {
			if path != "" {
				paths = append(paths, path)
			}
		}
	}
	for i := range cfg.Listeners {
		t := &cfg.Listeners[i].TLS
		for _, c := range t.Certificates {
			add(c.Cert, c.Key, c.OCSP)
		}
		add(t.ClientCA, t.TicketKeys)
	}
	for i := range cfg.Backends {
		t := &cfg.Backends[i].TLS
		add(t.CA, t.Cert, t.Key)
	}
	return paths
}
