package main

import (
	"fmt"

	"github.com/reactord/reactord/cmd/reactord/internal/admin"
	"github.com/reactord/reactord/cmd/reactord/internal/certs"
	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/plan"
)

// readKeys reads the files that the TLS settings of f name, into f. It checks the web configuration files. warn is told
// what is unusual; it may be nil.
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
	wrong = append(wrong, webProblems(f.Config)...)
	return f.Errors(wrong)
}

// keyFiles are the files that the TLS settings name, and the web configuration files.
func keyFiles(cfg *config.Config) (paths []string) {
	add := func(all ...string) {
		for _, path := range all {
			if path != "" {
				paths = append(paths, path)
			}
		}
	}
	add(cfg.Metrics.WebConfigFile, cfg.Admin.WebConfigFile)
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

// webProblems is what is wrong with the web configuration files.
func webProblems(cfg *config.Config) (wrong []config.Problem) {
	for _, w := range []struct {
		section, path string
		open          bool
	}{
		{"metrics", cfg.Metrics.WebConfigFile, false},
		{"admin", cfg.Admin.WebConfigFile, cfg.Admin.Open()},
	} {
		if w.path == "" {
			continue
		}
		if err := admin.CheckWeb(w.path, w.open); err != nil {
			wrong = append(wrong, config.Problem{
				Path: w.section + ".web_config_file", Setting: "web_config_file",
				Text: fmt.Sprintf("%q: %v", w.path, err), Err: err,
			})
		}
	}
	return wrong
}
