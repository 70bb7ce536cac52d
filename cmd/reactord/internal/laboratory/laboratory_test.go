package laboratory

import (
	"bytes"
	"encoding/xml"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reactord/reactord/cmd/reactord/internal/yamltree"
)

const examples = "../../../../docs/examples/cases"

// The examples do what their cases expect.
func TestExamples(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(examples, "*.yaml"))
	if err != nil || len(files) < 5 {
		t.Fatalf("%d files of cases, %v", len(files), err)
	}
	for _, path := range files {
		for _, r := range try(t, path) {
			for _, d := range r.Differences {
				t.Errorf("%s: %s: %s", r.Case.Place(), r.Case.Name, d)
			}
		}
	}
}

// try tries the cases of a file.
func try(t *testing.T, path string) (all []Result) {
	t.Helper()
	cases, err := ReadCases(path)
	if err != nil {
		t.Fatal(err)
	}
	l, err := Open(t.Context(), cases.Config)
	if err != nil {
		t.Fatal(err)
	}
	for i := range cases.All {
		all = append(all, l.Try(&cases.All[i]))
	}
	return all
}

// routes configures a route, a hash and TLS to a server.
const routes = `
listeners:
  - name: front
    address: 127.0.0.1:8443
    routes:
      - {name: mail, sni: [mail.example.org], backend: mail, idle_timeout: 1h}
      - {name: both, alpn: [h2], backends: [{backend: app, weight: 3}, {backend: mail, weight: 1}]}
    backend: app
backends:
  - name: app
    balance: {policy: source_hash}
    proxy_protocol: {version: v1}
    servers: [{address: 192.0.2.1:80, name: one}, {address: 192.0.2.2:80, name: two, weight: 0}]
  - name: mail
    tls: {enabled: true, server_name: inside.example.org, insecure: true}
    servers: [{address: 192.0.2.9:25, name: post}]
`

// write writes files into a directory, and returns the path of the last one.
func write(t *testing.T, files ...string) (path string) {
	t.Helper()
	dir := t.TempDir()
	for i := 0; i < len(files); i += 2 {
		path = filepath.Join(dir, files[i])
		if err := os.WriteFile(path, []byte(files[i+1]), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

// Each expectation passes if it is right, and is a difference that names both values if it is wrong.
func TestExpectations(t *testing.T) {
	for _, test := range []struct{ client, right, wrong, difference string }{
		{"sni: mail.example.org", "outcome: forward", "outcome: refuse", "outcome is forward, want refuse"},
		{"tls: false", "reason: bad_client_hello/opening", "reason: ''", `reason is bad_client_hello/opening, want ""`},
		{"sni: mail.example.org", "route: mail", "route: both", "route is mail, want both"},
		{"sni: www.example.org", "route: ''", "route: mail", `route is "", want mail`},
		{"alpn: [h2]", "backends: {app: 75, mail: 25}", "backends: {app: 100}",
			"backends is {app: 75, mail: 25}, want {app: 100}"},
		{"sni: mail.example.org", "backend: mail", "backend: app", "backend is mail, want app"},
		{"alpn: [h2]", "servers: [post, one]", "servers: [one]", "servers is one, post, want one"},
		{"sni: www.example.org", "server: one", "server: two", "server is one, want two"},
		{"sni: www.example.org", "proxy_header: v1", "proxy_header: v2", "proxy_header is v1, want v2"},
		{"sni: www.example.org", "client_tls: passed on", "client_tls: none", "client_tls is passed on, want none"},
		{"sni: mail.example.org", "server_name: inside.example.org", "server_name: ''",
			`server_name is inside.example.org, want ""`},
		{"sni: mail.example.org", "timeouts: {idle_timeout: 60m}", "timeouts: {idle_timeout: 1s}",
			"idle_timeout is 1h0m0s, want 1s"},
		{"sni: mail.example.org", "certificate: ''", "certificate: a.test", `certificate is "", want a.test`},
	} {
		path := write(t, "config.yaml", routes, "cases.yaml", "config: config.yaml\ncases:\n"+
			"  - {name: right, client: {from: 192.0.2.77, "+test.client+"}, expect: {"+test.right+"}}\n"+
			"  - {name: wrong, client: {from: 192.0.2.77, "+test.client+"}, expect: {"+test.wrong+"}}\n")
		all := try(t, path)
		if d := all[0].Differences; len(d) != 0 {
			t.Errorf("%s: %q", test.right, d)
		}
		if d := all[1].Differences; len(d) != 1 || d[0] != test.difference {
			t.Errorf("%s: %q, want %q", test.wrong, d, test.difference)
		}
		if want := path + ":4:5"; all[1].Case.Place() != want {
			t.Errorf("the case is at %s, want %s", all[1].Case.Place(), want)
		}
	}
}

// A client that cannot be tried fails its case, and says why.
func TestCaseThatCannotBeTried(t *testing.T) {
	path := write(t, "config.yaml", routes, "cases.yaml", `
config: config.yaml
at: {mail/post: drain}
cases:
  - {name: listener, client: {listener: none, from: 192.0.2.1}, expect: {route: ""}}
  - {name: address, client: {from: here}, expect: {route: ""}}
  - {name: missing, client: {}, expect: {route: ""}}
  - {name: state, client: {from: 192.0.2.1}, at: {mail/post: off}, expect: {route: ""}}
  - {name: drained, client: {from: 192.0.2.1, sni: mail.example.org}, expect: {outcome: refuse}}
`)
	want := []string{
		`no such listener: "none" is unknown: write front`,
		`from: "here" is not an address: write IP, IP:PORT or [IPv6]:PORT`,
		"there can be no such client: from: write the address of the client",
		`mail/post=off: "off" is no state: write up, down, drain or maintenance`, "",
	}
	for i, r := range try(t, path) {
		if got := strings.Join(r.Differences, "; "); got != want[i] {
			t.Errorf("%s: %q, want %q", r.Case.Name, got, want[i])
		}
	}
}

// A server that is chosen by chance cannot be expected; one that is named by its address can.
func TestExpectedServer(t *testing.T) {
	const two = `
listeners: [{name: l, address: "127.0.0.1:80", backend: app}]
backends:
  - name: app
    check: {interval: 2s}
    servers: [{address: 192.0.2.1:80, name: one}, {address: 192.0.2.2:80, name: two}]
`
	path := write(t, "config.yaml", two, "cases.yaml", `
config: config.yaml
at: {app/two: down}
cases:
  - {name: chance, client: {from: 192.0.2.77}, at: {"app/192.0.2.2:80": up}, expect: {server: one}}
  - {name: alone, client: {from: 192.0.2.77}, expect: {server: "192.0.2.1:80", servers: ["192.0.2.1:80"]}}
  - {name: twice, client: {from: 192.0.2.77}, at: {app/one: up, "app/192.0.2.1:80": down}, expect: {server: one}}
`)
	want := []string{
		"server is any of one, two, by chance or by their connections: write servers", "",
		"app/one=up: the same server is there as app/192.0.2.1:80",
	}
	for i, r := range try(t, path) {
		if got := strings.Join(r.Differences, "; "); got != want[i] {
			t.Errorf("%s: %q, want %q", r.Case.Name, got, want[i])
		}
	}
}

// A file of cases with a mistake is refused, by its place.
func TestBadCases(t *testing.T) {
	for text, want := range map[string]string{
		""://
		"1:1: no config: write the path of the configuration\n1:1: no cases: write a list of them",
		"config: a\n":                   "1:1: no cases: write a list of them",
		"config: a\ncases: 1\n":         "2:8: cases is a mapping, as in {KEY: VALUE}\n2:8: a case without a name",
		"config: a\ncases:\n  - {}\n":   "3:5: a case without a name",
		"config: a\ncases: [{name: x}]": `2:9: case "x" expects nothing: write expect`,
		"config: [\n":                   "1:",
		"config: a\n---\nconfig: b\n":   "3:1: a second document",
		"config: a\ncases: [{title: x, client: {snii: y}, expect: {outcome: forwarded}}]": //
		"2:10: title is unknown: write name, client, at, expect\n" +
			"2:29: snii is unknown: write listener, from, via, to, sni, alpn, tls\n" +
			`2:57: outcome "forwarded" is unknown: write one of forward, queue, wait, refuse` + "\n" +
			"2:9: a case without a name",
		"config: a\ncases: [{name: x, client: {tls: yes}, expect: {server: {a: b}}}]"://
		"2:33: tls is true or false\n2:56: server is text: write quotes around text with a colon or brackets",
		"config: a\ncases: [{name: x, expect: {timeouts: {idle: 1s}, backends: {a: b}}}]"://
		"2:64: a is a number\n2:9: there is no timeout idle: write one of inspect_timeout",
		"config: a\nconfig: b\ncases: [{name: x, expect: {route: y}}, {name: x, expect: {route: y}}]"://
		`2:1: config is there twice` + "\n" + `3:40: "x" is the name of another case`,
	} {
		_, err := ReadCases(write(t, "cases.yaml", text))
		if err == nil {
			t.Errorf("%q: no error", text)
			continue
		}
		got := strings.Split(err.Error(), "\n")
		for i, line := range strings.Split(want, "\n") {
			if i >= len(got) || !strings.HasPrefix(got[i][strings.Index(got[i], ".yaml:")+6:], line) {
				t.Errorf("%q: %q, want %q", text, got, want)
			}
		}
	}
}

func FuzzCases(f *testing.F) {
	for _, name := range []string{"web.yaml", "postgresql.yaml"} {
		text, err := os.ReadFile(filepath.Join(examples, name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte("config: a\nat: {a/b: down}\ncases: [{name: x, client: {alpn: [h2]}, expect: {backends: {a: 1}}}]"))
	f.Fuzz(func(t *testing.T, text []byte) {
		c, wrong := parseCases("cases.yaml", text)
		if len(wrong) == 0 && (c == nil || len(c.All) == 0) {
			t.Fatal("there are no cases, and no error")
		}
		for _, e := range wrong {
			if e.At.Line < 1 || e.At.Column < 1 || e.Text == "" {
				t.Fatalf("%+v has no place or no text", e)
			}
		}
	})
}

// JUnit's XML has each case, and the differences of those that have failed.
func TestJUnit(t *testing.T) {
	var out bytes.Buffer
	err := WriteJUnit(&out, "web.yaml", []Result{
		{Case: &Case{Name: "good"}},
		{
			Case:        &Case{Name: `bad & "quoted"`, File: "web.yaml", At: yamltree.Position{Line: 3, Column: 5}},
			Differences: []string{"route is <a>, want b", "more"},
		},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var got junitSuite
	if err := xml.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	want := junitFault{"route is <a>, want b; more", "web.yaml:3:5\nroute is <a>, want b\nmore"}
	if bad := got.Cases[1]; got.Tests != 2 || got.Failures != 1 || got.Cases[0].Failure != nil ||
		bad.Name != `bad & "quoted"` || bad.Line != 3 || *bad.Failure != want {
		t.Errorf("%s", out.String())
	}
	out.Reset()
	got = junitSuite{}
	if err = WriteJUnit(&out, "web.yaml", nil, errors.New("a mistake")); err == nil {
		err = xml.Unmarshal(out.Bytes(), &got)
	}
	if err != nil || got.Errors != 1 || got.Cases[0].Error.Message != "a mistake" {
		t.Errorf("%v: %s", err, out.String())
	}
}
