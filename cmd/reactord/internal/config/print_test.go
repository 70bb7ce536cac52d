package config

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// printed is a configuration as YAML.
func printed(t *testing.T, c *Config, origin func(string) string) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Print(&b, c, origin); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// What is printed is read as the same configuration.
func TestPrintedExamplesAreTheSame(t *testing.T) {
	for name, data := range examples(t) {
		c, places, err := Parse(name, data)
		if err != nil {
			t.Fatal(err)
		}
		text := printed(t, c, places.Origin)
		again, _, err := Parse(name, text)
		if err != nil {
			t.Fatalf("%v, in\n%s", err, text)
		}
		if diff := cmp.Diff(c, again); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// The same with values of any kind, whether they obey the rules or not.
func TestPrintedValuesAreTheSame(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 0))
		c := New()
		scramble(r, root, reflect.ValueOf(c).Elem())
		text := printed(t, c, nil)
		d := &decoder{}
		again, _ := d.decode(&part{}, "f", text)
		if err := d.joined(); err != nil {
			t.Fatalf("seed %d: %v, in\n%s", seed, err, text)
		}
		if diff := cmp.Diff(c, again); diff != "" {
			t.Fatalf("seed %d: %s", seed, diff)
		}
	}
}

// The same in brief.
func TestBriefValuesAreTheSame(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		c := New()
		scramble(r, root, reflect.ValueOf(c).Elem())
		var b bytes.Buffer
		if err := PrintBrief(&b, c); err != nil {
			t.Fatal(err)
		}
		d := &decoder{}
		again, _ := d.decode(&part{}, "f", b.Bytes())
		if err := d.joined(); err != nil {
			t.Fatalf("seed %d: %v, in\n%s", seed, err, b.String())
		}
		if diff := cmp.Diff(c, again); diff != "" {
			t.Fatalf("seed %d: %s", seed, diff)
		}
	}
}

// A configuration in brief has what differs from the defaults, in the short forms of the documentation.
func TestBrief(t *testing.T) {
	const text = `metrics: 127.0.0.1:9090

listeners:
  - name: web
    address: "[::]:443"
    routes:
      - {sni: [example.org, "*.example.org"], sources: [10.0.0.0/8, 192.0.2.1], backend: app}
    backend: app

backends:
  - name: app
    servers:
      - 10.0.0.1:80
      - {address: 10.0.0.2:80, weight: 2}
      - app.example.org:80
    check: {interval: 5s, send: "PING\r\n"}
`
	c, _, err := Parse("f", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := PrintBrief(&b, c); err != nil || b.String() != text {
		t.Errorf("%v: %s", err, cmp.Diff(text, b.String()))
	}
}

// scramble sets every setting at random.
func scramble(r *rand.Rand, s *shape, v reflect.Value) {
	for _, f := range s.fields {
		if f.rule.resolved {
			continue
		}
		x := f.of(v)
		if f.isList() {
			if n := r.IntN(3); n > 0 {
				x.Set(reflect.MakeSlice(f.typ, n, n))
			}
			for i := range x.Len() {
				scrambleOne(r, f, x.Index(i))
			}
			continue
		}
		scrambleOne(r, f, x)
	}
}

func scrambleOne(r *rand.Rand, f *field, v reflect.Value) {
	if f.shape != nil {
		scramble(r, f.shape, v)
		return
	}
	texts := []string{
		"", "plain", "with space", "true", "No", "null", "~", "1", "0x1", "1e3", ".inf", "${HOME}", "$${", "$$${x", "$",
		"a: b", "a #b", "- a", "? a", "\r\n\t\x00\x1b\x7f\u0085\u2028", "\\", `"'`, "ü€😀",
		"{a}", "[a]", "&a", "*a", "!a", "|", ">", "%a", "@",
		"`", "---", "...", " leading", "trailing ", "2026-11-22", "<<", "=", "a/b.c:1",
	}
	switch into := v.Addr().Interface().(type) {
	case *int:
		*into = []int{0, 1, -1, 1 << 30}[r.IntN(4)]
	case *bool:
		*into = r.IntN(2) == 0
	case *Address:
		*into = []Address{
			{}, {Host: "127.0.0.1", Port: 1}, {Host: "fe80::1%eth0", Port: 65535},
			{Host: "a_b.example.", Port: 0}, {FD: "a.b"},
		}[r.IntN(5)]
	case *time.Duration:
		*into = []time.Duration{0, time.Second, time.Hour, 90 * time.Minute, 1500 * time.Microsecond, -1, 1}[r.IntN(7)]
	case *Size:
		*into = []Size{0, 1, KiB, 3 * GiB, -5}[r.IntN(5)]
	case *ServicePort:
		*into = []ServicePort{"", "http", "8080"}[r.IntN(3)]
	case *FileMode:
		*into = FileMode(r.IntN(0o1000))
	case *IP:
		into.Addr = netip.MustParseAddr([]string{"::", "192.0.2.1", "fe80::1%1"}[r.IntN(3)])
	case *Prefix:
		into.Prefix = netip.MustParsePrefix([]string{"::/0", "192.0.2.0/24", "2001:db8::1/128"}[r.IntN(3)])
	default:
		v.SetString(texts[r.IntN(len(texts))])
	}
}

// Each value says where it comes from.
// Secrets are not printed, unless that is asked for.
func TestPrintedSecrets(t *testing.T) {
	c, _, err := Parse("f", []byte(`xds: {servers: ["http://127.0.0.1:1"], metadata: [{name: x-token, value: s3cret}]}
listeners: [{name: l, address: '127.0.0.1:1', backend: b}]
backends:
  - name: b
    servers: ["a:1"]
    check: {interval: 5s, send: "AUTH s3cret"}
    agent: {port: 1, send: s3cret}
  - {name: c, servers: ["a:2"], check: {interval: 5s, send_hex: "7333637265740a"}}
  - {name: d, servers: ["a:3"], check: {interval: 5s, steps: [{send: "AUTH s3cret"}, {send_hex: "7333637265740a"}]}}
`))
	if err != nil {
		t.Fatal(err)
	}
	var all, redacted strings.Builder
	if err := errors.Join(Print(&all, c, nil), PrintRedacted(&redacted, c, nil)); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(redacted.String(), Redacted); n != 6 {
		t.Errorf("%d secrets are redacted, want 6", n)
	}
	for _, secret := range []string{"s3cret", "7333637265740a"} {
		if strings.Contains(redacted.String(), secret) || !strings.Contains(all.String(), secret) {
			t.Errorf("%q is printed: %s", secret, redacted.String())
		}
	}
	if !strings.Contains(redacted.String(), `send: ""`) {
		t.Error("a secret that is not set looks as if it were")
	}
}

func TestPrintedSources(t *testing.T) {
	t.Setenv("TEST_LOOPS", "3")
	c, places, err := Parse("a.yaml", []byte("loops: ${TEST_LOOPS}\n"+valid))
	if err != nil {
		t.Fatal(err)
	}
	text := string(printed(t, c, places.Origin))
	for _, want := range []string{
		"ring: auto # default\n", "loops: 3 # a.yaml:1, environment\n", "listeners:\n  - name: web # a.yaml:3\n",
		"    servers:\n      - address: tcp://127.0.0.1:9000 # a.yaml:8\n        name: \"\" # default\n",
		"    dns: [] # default\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
	if got := places.Place("backends[0].servers[0].weight"); got != "a.yaml:8:15" {
		t.Errorf("the server is at %s", got)
	}
	if bare := string(printed(t, c, nil)); strings.Contains(bare, "#") {
		t.Errorf("comments without an origin:\n%s", bare)
	}
	if err := Print(full{}, c, nil); err == nil {
		t.Error("an error of the writer is lost")
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, fmt.Errorf("full") }
