package loader

import (
	"fmt"

	"github.com/reactord/reactord/cmd/reactord/internal/certs"
	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/observe/admin"
	"github.com/reactord/reactord/cmd/reactord/internal/plan"
)

// readKeys reads the files that the TLS settings of f name into f, and checks the web configuration files. warn may be
// nil.
func readKeys(f *plan.File, warn func(string)) error {
	f.Servers, f.Clients = map[string]*certs.Server{}, map[string]*certs.Client{}
	f.RouteServers = map[string][]*certs.Server{}
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
		keys, found := certs.LoadServer(&l.TLS, nil)
		f.Servers[l.Name] = keys
		note(fmt.Sprintf("listeners[%d]", i), found)
		for j := range l.Routes {
			keys, found := certs.LoadServer(&l.Routes[j].TLS, nil)
			f.RouteServers[l.Name] = append(f.RouteServers[l.Name], keys)
			note(fmt.Sprintf("listeners[%d].routes[%d]", i, j), found)
		}
	}
	for i := range f.Config.Backends {
		b := &f.Config.Backends[i]
		keys, found := certs.LoadClient(&b.TLS, nil)
		f.Clients[b.Name] = keys
		note(fmt.Sprintf("backends[%d]", i), found)
	}
	wrong = append(wrong, webProblems(f.Config)...)
	return f.Errors(wrong)
}

// warnOfNames warns of backends whose servers are asked for the names that clients choose. warn may be nil.
func warnOfNames(cfg *config.Config, warn func(string)) {
	if warn == nil {
		return
	}
	chosen := map[string]string{} // the listener, by backend
	for i := range cfg.Listeners {
		l := &cfg.Listeners[i]
		ends := len(l.TLS.Certificates) != 0
		if ends && l.Backend != "" {
			chosen[l.Backend] = l.Name
		}
		for j := range l.Routes {
			r := &l.Routes[j]
			if len(r.TLS.Certificates) == 0 && (!ends || r.Passthrough || r.Transport == config.RawTransport) {
				continue
			}
			for _, to := range r.Targets() {
				chosen[to.Backend] = l.Name
			}
		}
	}
	for i := range cfg.Backends {
		b := &cfg.Backends[i]
		if l, ok := chosen[b.Name]; ok && b.TLS.Enabled && b.TLS.ServerName == "" {
			warn(fmt.Sprintf("backends[%d].tls.server_name: it is empty, so clients of the listener %q choose the name that "+
				"servers are asked for: write the name of the servers", i, l))
		}
	}
}

// namedFile is a file that a setting names.
type namedFile struct{ setting, path string }

// namedFiles returns the files that the TLS settings name, and the web configuration files.
func namedFiles(cfg *config.Config) (files []namedFile) {
	add := func(setting, path string) {
		if path != "" {
			files = append(files, namedFile{setting, path})
		}
	}
	add("metrics.web_config_file", cfg.Metrics.WebConfigFile)
	add("admin.web_config_file", cfg.Admin.WebConfigFile)
	add("admin.page.web_config_file", cfg.Admin.Page.WebConfigFile)
	server := func(at string, t *config.ServerTLS) {
		for j, c := range t.Certificates {
			at := fmt.Sprintf("%scertificates[%d].", at, j)
			add(at+"cert", c.Cert)
			add(at+"key", c.Key)
			add(at+"key_password_file", c.KeyPasswordFile)
			add(at+"ocsp", c.OCSP)
		}
		add(at+"client_ca", t.ClientCA)
		add(at+"client_crl", t.ClientCRL)
		add(at+"ticket_keys", t.TicketKeys)
	}
	for i := range cfg.Listeners {
		l, at := &cfg.Listeners[i], fmt.Sprintf("listeners[%d].", i)
		server(at+"tls.", &l.TLS)
		for j := range l.Routes {
			server(fmt.Sprintf("%sroutes[%d].tls.", at, j), &l.Routes[j].TLS)
		}
	}
	for i := range cfg.Backends {
		t, at := &cfg.Backends[i].TLS, fmt.Sprintf("backends[%d].tls.", i)
		add(at+"ca", t.CA)
		add(at+"crl", t.CRL)
		add(at+"cert", t.Cert)
		add(at+"key", t.Key)
		add(at+"key_password_file", t.KeyPasswordFile)
	}
	return files
}

// keyFiles returns the paths of those files.
func keyFiles(cfg *config.Config) (paths []string) {
	for _, f := range namedFiles(cfg) {
		paths = append(paths, f.path)
	}
	return paths
}

// webProblems checks the web configuration files.
func webProblems(cfg *config.Config) (wrong []config.Problem) {
	page := cfg.Admin.Page.Access()
	for _, w := range []struct {
		section, path string
		open          bool
	}{
		{"metrics", cfg.Metrics.WebConfigFile, false},
		{"admin", cfg.Admin.WebConfigFile, cfg.Admin.Open()},
		{"admin.page", page.WebConfigFile, page.Open()},
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
