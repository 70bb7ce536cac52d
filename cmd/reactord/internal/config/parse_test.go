package config

import (
	"errors"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// valid is the shortest valid file. The tests of errors replace a part of it.
const valid = `listeners:
  - name: web
    address: tcp://127.0.0.1:8080
    backend: app
backends:
  - name: app
    servers: [tcp://127.0.0.1:9000]
`

func at(host string, port uint16) Address { return Address{Host: host, Port: port} }

func serverAt(host string, port uint16) Server {
	s := NewServer()
	s.Address = at(host, port)
	return s
}

func TestDefaults(t *testing.T) {
	got, _, err := Parse("a.yaml", []byte(valid))
	if err != nil {
		t.Fatal(err)
	}
	want := New()
	l, b := NewListener(), NewBackend()
	l.Name, l.Address, l.Backend = "web", at("127.0.0.1", 8080), "app"
	b.Name, b.Servers = "app", []Server{serverAt("127.0.0.1", 9000)}
	want.Listeners, want.Backends = []Listener{l}, []Backend{b}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestEverySetting(t *testing.T) {
	got, _, err := Parse("a.yaml", []byte(`%YAML 1.2
---
ring: io_uring
loops: 4
pin: true
min_wait: 350us
metrics: "[::1]:9090"
drain: {timeout: 1m30s}
log: {level: debug, format: json}
admin: {mode: 0660}
listeners:
  - name: web
    address: tcp://[::]:80
    backend: app
    max_connections: 1_000
  - {name: any.port-2, address: "tcp://0.0.0.0:0", backend: app}
  - {name: any_port-3, address: "tcp://0.0.0.0:0", backend: app}
  - {name: passed, address: "fd://web.socket", backend: app}
backends:
  - name: app # the application
    servers:
      - tcp://App.Example:9000
      - tcp://[::ffff:192.0.2.1]:9001
      - {address: 192.0.2.2:9001, weight: 5}
    source_addresses: ["::ffff:192.0.2.9"]
    connect_timeout: 250ms
    idle_timeout: 0
    half_close_timeout: 0s
    buffer: 1MiB
`))
	if err != nil {
		t.Fatal(err)
	}
	want := New()
	want.Ring, want.Loops, want.Pin, want.MinWait = "io_uring", 4, true, 350*time.Microsecond
	want.Metrics.Address = at("::1", 9090)
	want.Drain.Timeout = 90 * time.Second
	want.Log = Log{Level: "debug", Format: "json"}
	for _, l := range []Listener{
		{Name: "web", Address: at("::", 80), MaxConnections: 1000},
		{Name: "any.port-2", Address: at("0.0.0.0", 0)},
		{Name: "any_port-3", Address: at("0.0.0.0", 0)},
		{Name: "passed", Address: Address{FD: "web.socket"}},
	} {
		made := NewListener()
		made.Name, made.Address, made.Backend, made.MaxConnections = l.Name, l.Address, "app", l.MaxConnections
		want.Listeners = append(want.Listeners, made)
	}
	b := NewBackend()
	b.Name = "app"
	b.Servers = []Server{serverAt("app.example", 9000), serverAt("192.0.2.1", 9001), serverAt("192.0.2.2", 9001)}
	b.Servers[2].Weight = 5
	b.ConnectTimeout, b.IdleTimeout, b.HalfCloseTimeout, b.Buffer = 250*time.Millisecond, 0, 0, 1<<20
	b.SourceAddresses = []IP{{netip.MustParseAddr("192.0.2.9")}}
	want.Backends = []Backend{b}
	want.Admin.Mode = 0o660
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestErrors puts a mistake into the valid file, and expects exactly these lines.
func TestErrors(t *testing.T) {
	for _, test := range []struct {
		name     string
		old, new string // what to replace in the valid file; old "" puts new in front
		want     string
	}{{
		name: "unknown key, near one that exists",
		new:  "min-wait: 5s\n",
		want: `a.yaml:1:1: key "min-wait" is unknown: did you mean "min_wait"?`,
	}, {
		name: "unknown key, near none",
		new:  "log: {colour: blue}\n",
		want: `a.yaml:1:7: key "colour" is unknown: write one of "format" and "level"`,
	}, {
		name: "unknown key of a mapping that is not written",
		new:  "drain_timeout: 5s\n",
		want: `a.yaml:1:1: key "drain_timeout" is unknown: write timeout below drain`,
	}, {
		name: "a misspelt key is not also missing",
		old:  "    address:", new: "    adress:",
		want: `a.yaml:3:5: key "adress" is unknown: did you mean "address"?`,
	}, {
		name: "a key twice",
		new:  "pin: true\npin: false\n",
		want: `a.yaml:2:1: pin is already set in line 1`,
	}, {
		name: "loops that must stay on their CPU",
		new:  "incoming_cpu: true\n",
		want: `a.yaml:1:15: incoming_cpu requires loops that stay on their CPU: write pin: true, too`,
	}, {
		name: "no port",
		old:  "127.0.0.1:8080", new: "127.0.0.1",
		want: `a.yaml:3:14: address "tcp://127.0.0.1": no port: write tcp://127.0.0.1:PORT`,
	}, {
		name: "port out of range",
		old:  ":8080", new: ":80800",
		want: `a.yaml:3:14: address "tcp://127.0.0.1:80800": port "80800" is not a number from 0 to 65535`,
	}, {
		name: "no host",
		old:  "127.0.0.1:8080", new: ":8080",
		want: `a.yaml:3:14: address "tcp://:8080": no host: write tcp://127.0.0.1:8080 for this machine only, ` +
			"or tcp://[::]:8080 for every address",
	}, {
		name: "another scheme",
		old:  "tcp://127.0.0.1:8080", new: "http://127.0.0.1:8080",
		want: `a.yaml:3:14: address "http://127.0.0.1:8080": scheme "http" is unknown: write tcp://127.0.0.1:8080`,
	}, {
		name: "a path",
		old:  "127.0.0.1:8080", new: "127.0.0.1:8080/",
		want: `a.yaml:3:14: address "tcp://127.0.0.1:8080/": nothing may follow the port`,
	}, {
		name: "IPv6 without brackets",
		old:  "127.0.0.1:8080", new: "2001:db8::1",
		want: `a.yaml:3:14: address "tcp://2001:db8::1": no port: an IPv6 address is written in brackets, ` +
			"as in tcp://[2001:db8::1]:8080",
	}, {
		name: "an impossible IPv4 address",
		old:  "127.0.0.1:9000", new: "127.0.0.256:9000",
		want: `a.yaml:7:15: server "tcp://127.0.0.256:9000": "127.0.0.256" is not an IPv4 address`,
	}, {
		name: "an impossible host name",
		old:  "127.0.0.1:9000", new: "app server:9000",
		want: `a.yaml:7:15: server "tcp://app server:9000": "app server" is neither an IP address nor a host name`,
	}, {
		name: "an address of the wrong type",
		old:  "tcp://127.0.0.1:8080", new: "8080",
		want: `a.yaml:3:14: address is an address such as tcp://127.0.0.1:8080, not the number 8080`,
	}, {
		name: "a server at every address",
		old:  "127.0.0.1:9000", new: "0.0.0.0:9000",
		want: `a.yaml:7:15: 0.0.0.0 is not the address of one machine: write the address of the server`,
	}, {
		name: "a server without a port",
		old:  ":9000", new: ":0",
		want: `a.yaml:7:15: port 0 is not allowed: write the port that the server listens on`,
	}, {
		name: "no servers",
		old:  "[tcp://127.0.0.1:9000]", new: "[]",
		want: `a.yaml:7:14: no server: write at least one, or dns, files, http or kubernetes`,
	}, {
		name: "one server without a list",
		old:  "[tcp://127.0.0.1:9000]", new: "tcp://127.0.0.1:9000",
		want: `a.yaml:7:14: servers is a list, not "tcp://127.0.0.1:9000": put "- " before each entry`,
	}, {
		name: "a server twice",
		old:  "[tcp://127.0.0.1:9000]", new: "[tcp://127.0.0.1:9000, 127.0.0.1:9000]",
		want: `a.yaml:7:37: address "tcp://127.0.0.1:9000" is used twice; see a.yaml:7:15`,
	}, {
		name: "an unknown backend",
		old:  "backend: app", new: "backend: ap",
		want: `a.yaml:4:14: backend "ap" does not exist: did you mean "app"?`,
	}, {
		name: "no backend named",
		old:  "    backend: app\n", new: "",
		want: `a.yaml:2:5: no backend: write the name of a backend`,
	}, {
		name: "a route to an unknown backend",
		old:  "    backend: app\n", new: "    routes: [{sni: [a.test], backend: ap}]\n",
		want: `a.yaml:4:39: backend "ap" does not exist: did you mean "app"?`,
	}, {
		name: "a route without a condition",
		old:  "    backend: app\n", new: "    routes: [{backend: app}, {sni: [a], backend: app}]\n",
		want: `a.yaml:4:14: a route without a condition matches every connection: write sni, alpn, sources or destinations, ` +
			`or move it to the end`,
	}, {
		name: "a route by a pattern",
		old:  "    backend: app\n", new: "    routes: [{sni: [a.*.test], backend: app}]\n",
		want: `a.yaml:4:21: sni "a.*.test" has a "*" that is not its first label: ` +
			`write "*.example.org" for every name below example.org`,
	}, {
		name: "STARTTLS without TLS",
		old:  "    backend: app\n", new: "    backend: app\n    start_tls: smtp\n",
		want: `a.yaml:5:16: start_tls requires TLS: write tls.certificates to terminate it here, ` +
			`or routes by sni or alpn to pass it on`,
	}, {
		name: "a name of the wrong type",
		old:  "name: web", new: "name: 8080",
		want: `a.yaml:2:11: name is text, not the number 8080: write it in quotes, "8080"`,
	}, {
		name: "an empty value",
		old:  "name: web", new: "name:",
		want: `a.yaml:2:10: name is text, not empty`,
	}, {
		name: "a name with a space",
		old:  "name: web", new: "name: my web",
		want: `a.yaml:2:11: name "my web": use letters, digits, '-', '_' and '.' only`,
	}, {
		name: "a long name",
		old:  "name: web", new: "name: " + strings.Repeat("x", 64),
		want: `a.yaml:2:11: name "` + strings.Repeat("x", 60) + `…" is longer than 63 characters`,
	}, {
		name: "a duration without a unit",
		new:  "drain: {timeout: 30}\n",
		want: `a.yaml:1:18: timeout 30 has no unit: write a number with its unit, as in 500ms, 5s, 10m or 1h30m`,
	}, {
		name: "a duration in days",
		new:  "drain: {timeout: 1 day}\n",
		want: `a.yaml:1:18: timeout "1 day" is not a duration: write 24h`,
	}, {
		name: "a duration of the wrong type",
		new:  "drain: {timeout: true}\n",
		want: `a.yaml:1:18: timeout is a duration, not true: ` +
			"write a number with its unit, as in 500ms, 5s, 10m or 1h30m",
	}, {
		name: "a negative duration",
		new:  "drain: {timeout: -1s}\n",
		want: `a.yaml:1:18: timeout -1s is out of range: write 0s, or 1ms to 87600h`,
	}, {
		name: "an absurd duration",
		new:  "drain: {timeout: 100000h}\n",
		want: `a.yaml:1:18: timeout 100000h is out of range: write 0s, or 1ms to 87600h`,
	}, {
		name: "no time to connect",
		old:  "  - name: app\n", new: "  - name: app\n    connect_timeout: 0s\n",
		want: `a.yaml:7:22: connect_timeout 0s is out of range: write 1ms to 87600h`,
	}, {
		name: "hardly time to connect",
		old:  "  - name: app\n", new: "  - name: app\n    connect_timeout: 5us\n",
		want: `a.yaml:7:22: connect_timeout 5µs is out of range: write 1ms to 87600h`,
	}, {
		name: "a size with an unknown unit",
		old:  "  - name: app\n", new: "  - name: app\n    buffer: 64K\n",
		want: `a.yaml:7:13: buffer "64K" is not a size: write a whole number with B, KiB, MiB or GiB, as in 64KiB`,
	}, {
		name: "a small buffer",
		old:  "  - name: app\n", new: "  - name: app\n    buffer: 64\n",
		want: `a.yaml:7:13: buffer 64B is out of range: write 4KiB to 16MiB`,
	}, {
		name: "a buffer beyond 64 bits",
		old:  "  - name: app\n", new: "  - name: app\n    buffer: 99999999999GiB\n",
		want: `a.yaml:7:13: buffer "99999999999GiB" is too large`,
	}, {
		name: "a minimum wait out of range",
		new:  "min_wait: 1s\n",
		want: `a.yaml:1:11: min_wait 1s is out of range: write 0s, or 10µs to 100ms`,
	}, {
		name: "a minimum wait too short",
		new:  "min_wait: 100ns\n",
		want: `a.yaml:1:11: min_wait 100ns is out of range: write 0s, or 10µs to 100ms`,
	}, {
		name: "a count out of range",
		new:  "loops: -1\n",
		want: `a.yaml:1:8: loops -1 is out of range: write 0 to 1024`,
	}, {
		name: "a count beyond every number",
		new:  "loops: 18446744073709551615\n",
		want: `a.yaml:1:8: loops 9223372036854775807 is out of range: write 0 to 1024`,
	}, {
		name: "a fraction",
		new:  "loops: 1.5\n",
		want: `a.yaml:1:8: loops is a whole number, not the number 1.5`,
	}, {
		name: "a word for a truth value",
		new:  "pin: yes\n",
		want: `a.yaml:1:6: pin is true or false, not "yes"`,
	}, {
		name: "an unknown ring",
		new:  "ring: iouring\n",
		want: `a.yaml:1:7: ring "iouring" is unknown: did you mean "io_uring"?`,
	}, {
		name: "an unknown level",
		new:  "log:\n  level: verbose\n",
		want: `a.yaml:2:10: level "verbose" is unknown: write one of "debug", "info", "warn" and "error"`,
	}, {
		name: "an anchor",
		new:  "drain: {timeout: &t 5s}\n",
		want: `a.yaml:1:18: timeout is a duration, not an anchor or alias: ` +
			"write the value itself, or what several entries share below defaults: " +
			"write a number with its unit, as in 500ms, 5s, 10m or 1h30m",
	}, {
		name: "a merged mapping",
		old:  "  - name: app\n", new: "  - <<: {a: b}\n    name: app\n",
		want: `a.yaml:6:5: a key is plain text, not an anchor or alias: write the value itself, ` +
			"or what several entries share below defaults",
	}, {
		name: "a value that should be a mapping",
		new:  "log: debug\n",
		want: `a.yaml:1:6: log is a mapping of "format" and "level", not "debug"`,
	}} {
		t.Run(test.name, func(t *testing.T) {
			text := test.new + valid
			if test.old != "" {
				if strings.Count(valid, test.old) != 1 {
					t.Fatalf("%q does not occur once in the valid file", test.old)
				}
				text = strings.Replace(valid, test.old, test.new, 1)
			}
			expect(t, text, test.want)
		})
	}
}

func TestFilesThatAreNoConfiguration(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{
		{"empty", "", `a.yaml:1:1: the file is empty: write at least one listener and one backend`},
		{"a comment", "# later\n", `a.yaml:1:1: the file is empty: write at least one listener and one backend`},
		{"text", "hello",
			`a.yaml:1:1: the configuration is a mapping of "access_log", "admin", "backends", "defaults", "drain", "group", "include", "incoming_cpu", "kubernetes", "limits", ` +
				`"listeners", "log", "loops", "metrics", "min_wait", "pin", "resolver", "ring", "sets", "upgrade", "user", "watch" and "xds", not "hello"`},
		{"no end of a list", "a: [1,\n", `a.yaml:1:4: not YAML: sequence end token ']' not found`},
		{"wrong indentation", "ring: auto\n loops: 1\n",
			`a.yaml:1:7: not YAML: mapping value is not allowed in this context: check the indentation of this line and ` +
				`the next: settings of one mapping begin in the same column`},
		{"a variable in braces", "log: {level: ${LEVEL}}\n",
			`a.yaml:1:15: not YAML: ',' or '}' must be specified: write quotes around text with ${`},
		{"a tab", "log:\n\tlevel: info\n",
			`a.yaml:2:1: not YAML: found character '\t' (a tab: write spaces) that cannot start any token`},
		{"two documents", valid + "---\nring: auto\n",
			`a.yaml:9:1: a second document: a file holds one configuration`},
		{"too large", strings.Repeat("#", maxFile+1), `a.yaml:1:1: the configuration is larger than 32MiB`},
		{"a mapping with neither", "ring: auto\n",
			"a.yaml:1:1: no listener: write at least one\na.yaml:1:1: no backend: write at least one"},
	} {
		t.Run(test.name, func(t *testing.T) { expect(t, test.text, test.want) })
	}
}

// A user sees all mistakes of a file at the same time.
func TestAllErrorsInTheOrderOfTheFile(t *testing.T) {
	expect(t, `rnig: auto
metrics: localhost
listeners:
  - name: web
    address: tcp://127.0.0.1:8080
    backend: application
  - name: web
    address: tcp://127.0.0.1:8080
  - 5
backends:
  - name: app
    servers: [tcp://127.0.0.1, tcp://127.0.0.1:0]
    idle_timeout: -5s
  - {}
`, `a.yaml:1:1: key "rnig" is unknown: did you mean "ring"?
a.yaml:2:10: metrics "localhost": no port: write tcp://localhost:PORT
a.yaml:7:5: no backend: write the name of a backend
a.yaml:7:11: name "web" is used twice; see a.yaml:4:11
a.yaml:8:14: address "tcp://127.0.0.1:8080" is used twice; see a.yaml:5:14
a.yaml:9:5: listener is a mapping of "access_log", "address", "allow", "backend", "bandwidth", "deny", "from", "inspect_timeout", "max_client_hello", "max_connections", "name", "on_limit", "proxy_protocol", "rate", "routes", "socket", "source_connections", "source_rate", "start_tls", "tls" and "udp", not the number 5
a.yaml:12:15: server "tcp://127.0.0.1": no port: write tcp://127.0.0.1:PORT
a.yaml:12:32: port 0 is not allowed: write the port that the server listens on
a.yaml:13:19: idle_timeout -5s is out of range: write 0s, or 1ms to 87600h
a.yaml:14:5: no name: logs and metrics need one
a.yaml:14:5: no server: write at least one, or dns, files, http or kubernetes`)
}

func expect(t *testing.T, text, want string) {
	t.Helper()
	c, _, err := Parse("a.yaml", []byte(text))
	if err == nil {
		t.Fatalf("no error; want:\n%s", want)
	}
	if c != nil {
		t.Error("a configuration beside an error")
	}
	if diff := cmp.Diff(want, err.Error()); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	var e *Error
	if !errors.As(err, &e) || e.File != "a.yaml" || e.Line < 1 || e.Column < 1 {
		t.Errorf("no *Error in %#v", err)
	}
}

func TestLoad(t *testing.T) {
	path := filepath.Join(t.TempDir(), "reactord.yaml")
	if _, _, err := Load(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	if err := os.WriteFile(path, []byte(valid), 0o600); err != nil {
		t.Fatal(err)
	}
	if c, _, err := Load(path); err != nil || len(c.Listeners) != 1 {
		t.Errorf("Load = %v, %v", c, err)
	}
}

func FuzzParse(f *testing.F) {
	example, err := os.ReadFile(exampleFile)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(example)
	for _, s := range []string{
		valid, "a: &x [*x]\n", "<<: 1", "? [a]\n: 1\n", "a: |\n  b\n", "- - -", "\xff\x00\t",
		"listeners: {}\nbackends: {a: .inf}", "ring: !!str 0x1_0", "ring: ${A:-$${b}", "loops: ${A:-1}\nmin_wait: ${",
		valid + "    check: {interval: 1s, send: \"\\x00\\u2028\", expect: $${a}}\n",
		valid + "    source_addresses: [::1%1]\nadmin: {address: 'unix:///a b', mode: 0o7}\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c, places, err := Parse("f", data)
		if err == nil {
			if p := c.Validate(); len(p) > 0 {
				t.Fatalf("accepted, with %v", p)
			}
			text := printed(t, c, places.Origin)
			again, _, err := Parse("f", text)
			if err != nil {
				t.Fatalf("%v, in\n%s", err, text)
			}
			if diff := cmp.Diff(c, again); diff != "" {
				t.Fatalf("printed:\n%s\n%s", text, diff)
			}
			return
		}
		joined, ok := err.(interface{ Unwrap() []error })
		if !ok {
			t.Fatalf("%T is not a join", err)
		}
		lines := strings.Count(string(data), "\n") + strings.Count(string(data), "\r") + 1
		for _, e := range joined.Unwrap() {
			var at *Error
			if !errors.As(e, &at) || at.Line < 1 || at.Line > lines || at.Column < 1 {
				t.Fatalf("%v has no position in %d lines", e, lines)
			}
			if strings.ContainsAny(e.Error(), "\n\r") {
				t.Fatalf("%q is not one line", e)
			}
		}
	})
}
