package laboratory

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/reactord/reactord/cmd/reactord/internal/proxy"
	"github.com/reactord/reactord/cmd/reactord/internal/yamltree"
)

// Cases holds what a file expects of a configuration.
type Cases struct {
	Config string // path of the configuration
	All    []Case
}

// Case describes a client, and what is expected of its connection.
type Case struct {
	Name   string
	File   string
	At     yamltree.Position
	Client proxy.ClientText
	States []States // of all cases, and of this one
	Expect Expectation
}

// Place returns where the case is: FILE:LINE:COLUMN.
func (c *Case) Place() string { return fmt.Sprintf("%s:%d:%d", c.File, c.At.Line, c.At.Column) }

// Expectation holds what is expected of a connection. What is nil is not compared.
type Expectation struct {
	Outcome     *string            `yaml:"outcome" enum:"forward,queue,wait,refuse"`
	Reason      *string            `yaml:"reason"`   // of the access log, as denied/opening
	Route       *string            `yaml:"route"`    // "": none matches
	Backend     *string            `yaml:"backend"`  // the only one
	Backends    map[string]float64 `yaml:"backends"` // per cent of such connections
	Servers     []string           `yaml:"servers"`  // that may be chosen, by name or address
	Server      *string            `yaml:"server"`   // that is chosen
	ProxyHeader *string            `yaml:"proxy_header" enum:"none,v1,v2"`
	ClientTLS   *string            `yaml:"client_tls" enum:"none,terminated,passed on"`
	Certificate *string            `yaml:"certificate"` // that the client is shown
	ServerName  *string            `yaml:"server_name"` // of TLS with the servers
	Timeouts    map[string]string  `yaml:"timeouts"`    // such as idle_timeout: 1h
}

// casesForm has the keys of a file of cases.
type casesForm struct {
	Config string     `yaml:"config"`
	At     States     `yaml:"at"`
	Cases  []caseForm `yaml:"cases"`
}

type caseForm struct {
	Name   string      `yaml:"name"`
	Client clientForm  `yaml:"client"`
	At     States      `yaml:"at"`
	Expect Expectation `yaml:"expect"`
}

type clientForm struct {
	Listener string   `yaml:"listener"`
	From     string   `yaml:"from"`
	Via      string   `yaml:"via"`
	To       string   `yaml:"to"`
	SNI      string   `yaml:"sni"`
	ALPN     []string `yaml:"alpn"`
	TLS      bool     `yaml:"tls"`
}

// ReadCases reads a file of cases. The path of the configuration is relative to it. The error joins a [*config.Error]
// for each mistake.
func ReadCases(path string) (*Cases, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	out, wrong := parseCases(path, text)
	return out, placed(path, wrong)
}

// parseCases reads the text of a file of cases.
func parseCases(path string, text []byte) (*Cases, []*yamltree.Error) {
	var form casesForm
	d := &decoder{}
	top, ok := d.read(text, &form)
	if !ok {
		return nil, d.errs
	}
	if form.Config == "" {
		d.add(top.at, "no config: write the path of the configuration")
	}
	if len(form.Cases) == 0 {
		d.add(top.at, "no cases: write a list of them")
	}
	if !filepath.IsAbs(form.Config) {
		form.Config = filepath.Join(filepath.Dir(path), form.Config)
	}
	out, names := &Cases{Config: form.Config}, map[string]bool{}
	places := top.itemsOf("cases")
	for i := range form.Cases {
		c, at := &form.Cases[i], places[i]
		switch {
		case c.Name == "":
			d.add(at, "a case without a name")
		case names[c.Name]:
			d.add(at, "%q is the name of another case", c.Name)
		case c.Expect.isEmpty():
			d.add(at, "case %q expects nothing: write expect", c.Name)
		}
		for name := range c.Expect.Timeouts {
			if !slices.Contains(timeoutNames, name) {
				d.add(at, "there is no timeout %s: write one of %s", name, strings.Join(timeoutNames, ", "))
			}
		}
		names[c.Name] = true
		out.All = append(out.All, Case{
			Name: c.Name, File: path, At: at, Client: proxy.ClientText(c.Client), States: []States{form.At, c.At},
			Expect: c.Expect,
		})
	}
	if len(d.errs) > 0 {
		return nil, d.errs
	}
	return out, nil
}

// itemsOf returns the places of the items of a list.
func (n *node) itemsOf(key string) (all []yamltree.Position) {
	for _, e := range n.entries {
		if e.Key != key {
			continue
		}
		if e.Value.items == nil {
			return []yamltree.Position{e.Value.at}
		}
		for _, item := range e.Value.items {
			all = append(all, item.at)
		}
		return all
	}
	return nil
}

// keysOf returns the places of the keys of a mapping.
func (n *node) keysOf(key string) map[string]yamltree.Position {
	all := map[string]yamltree.Position{}
	for _, e := range n.entries {
		if e.Key == key {
			for _, one := range e.Value.entries {
				all[one.Key] = one.At
			}
		}
	}
	return all
}

// timeoutNames lists the timeouts that an explanation may have.
var timeoutNames = []string{
	"inspect_timeout", "client_handshake_timeout", "queue.timeout", "hold", "connect_timeout", "total_connect_timeout",
	"server_handshake_timeout", "first_byte_timeout", "idle_timeout", "half_close_timeout", "lifetime", "user_timeout",
}
