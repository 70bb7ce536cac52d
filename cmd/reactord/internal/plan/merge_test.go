package plan

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/serveraddr"
)

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

func parsed(t testing.TB, text string) *File {
	t.Helper()
	c, places, err := config.Parse("f", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return &File{Config: c, Errors: places.Errors, Place: places.Place}
}

func server(address, name string) Server {
	return Server{Address: serveraddr.MustParse(address), Name: name, Weight: 1, Origin: "dns a.test"}
}

// A plan has the servers of all sources, each once: that of the first source that has it. Overrides come last.
func TestMerge(t *testing.T) {
	f := parsed(t, twoSources)
	app := &f.Config.Backends[0]
	dns, file := Sources(app)[0], Sources(app)[1]
	weight, state := 9, Drain
	p := merged(t, Parts{
		File: f,
		Discovered: map[Source][]Server{
			dns:                       {server("10.0.0.2:80", "from-dns"), server("[::ffff:10.0.0.4]:80", "")},
			file:                      {server("10.0.0.4:80", "late"), server("10.0.0.3:80", "three")},
			{"gone", "dns", "b.test"}: {server("10.0.0.9:80", "")},
		},
		Overrides: map[ServerKey]Override{
			{"app", serveraddr.MustParse("10.0.0.3:80")}: {State: &state},
			{"app", serveraddr.MustParse("10.0.0.2:80")}: {Weight: &weight},
			{"app", serveraddr.MustParse("10.9.9.9:80")}: {Weight: &weight},
		},
	})
	at := serveraddr.MustParse
	want := []Server{
		{Name: "10.0.0.1:80", Address: at("10.0.0.1:80"), Weight: 1, Origin: "f:5:15"},
		{Name: "two", Address: at("10.0.0.2:80"), Weight: 9, Origin: "override of f:5:30"},
		{Name: "three", Address: at("10.0.0.3:80"), Weight: 1, State: Drain, Origin: "override of dns a.test",
			Reason: "set by an operator"},
		{Name: "10.0.0.4:80", Address: at("10.0.0.4:80"), Weight: 1, Origin: "dns a.test"},
	}
	if diff := cmp.Diff(want, p.Backend("app").Servers, cmpopts.EquateComparable(serveraddr.Addr{})); diff != "" {
		t.Error(diff)
	}
	if b := p.Backend("empty"); b == nil || len(b.Servers) != 0 {
		t.Errorf("a backend without servers is %v", b)
	}
	if p.Backend("gone") != nil || p.Backend("") != nil {
		t.Error("there is a backend that the file does not have")
	}
	if s := p.Backend("app").Settings; s.Servers != nil || len(s.Finders()) != 0 {
		t.Error("the policies have servers")
	}
}

// Names that have one address are one server: of the lowest priority, or the first.
func TestMergeNamesOfOneAddress(t *testing.T) {
	const listener = `listeners: [{name: web, address: "127.0.0.1:80", backend: app}]` + "\n"
	const app = "backends:\n- name: app\n  servers: "
	for _, test := range []struct{ servers, want string }{
		{`["10.0.0.1:80", "ten.test:80"]`, "10.0.0.1:80"},
		{`["ten.test:80", "10.0.0.1:80"]`, "ten.test:80"},
		{`[{address: "x.test:80", backup: true}, "10.0.0.1:80", "ten.test:80"]`, "10.0.0.1:80"},
		{`[{address: "ten.test:80", priority: 2}, {address: "10.0.0.1:80", priority: 1, name: b}]`, "b"},
	} {
		f := parsed(t, listener+app+test.servers)
		f.Addresses = map[string]netip.Addr{}
		for _, host := range []string{"127.0.0.1", "10.0.0.1"} {
			f.Addresses[host] = netip.MustParseAddr(host)
		}
		f.Addresses["ten.test"], f.Addresses["x.test"] = f.Addresses["10.0.0.1"], f.Addresses["10.0.0.1"]
		p, err := Merge(Parts{File: f})
		if err != nil {
			t.Errorf("%s: %v", test.servers, err)
			continue
		}
		if s := p.Backend("app").Servers; len(s) != 1 || s[0].Name != test.want || s[0].Weight != 1 {
			t.Errorf("%s: %+v, want the server %s", test.servers, s, test.want)
		}
	}
}

// A plan is refused with the places of everything that is wrong.
func TestMergeRefuses(t *testing.T) {
	const listener = `listeners: [{name: web, address: "127.0.0.1:80", backend: app}]` + "\n"
	const app = "backends:\n- name: app\n  dns: [{name: a.test, port: 80}]\n  servers: "
	for _, test := range []struct {
		name, text string
		found      []Server
		want       string
	}{
		{"servers that are none", listener + app + `["10.0.0.1:80"]`, []Server{
			server("0.0.0.0:80", ""), server("10.0.0.2:0", ""), {Origin: "dns a.test"},
			{Address: serveraddr.MustParse("10.0.0.3:80"), Weight: 1001, Origin: "dns a.test"},
			server("10.0.0.4:80", "10.0.0.1:80"),
		}, "dns a.test: 0.0.0.0 is not the address of one machine|" +
			"dns a.test: 10.0.0.2: port 0 cannot be connected to|dns a.test: a server without an address|" +
			"dns a.test: 10.0.0.3:80: weight 1001 is out of range: write 0 to 1000|" +
			`dns a.test: "10.0.0.1:80" is the name of another server of the backend: see f:5:13`},
		{"discovered self-proxying", listener + app + `["10.0.0.1:80"]`, []Server{server("127.0.0.1:80", "")},
			"dns a.test: 127.0.0.1:80 leads back to listener web: its connections would be proxied in an endless loop"},
	} {
		f := parsed(t, test.text)
		f.Addresses = map[string]netip.Addr{"ten.test": netip.MustParseAddr("10.0.0.1")}
		source := Sources(&f.Config.Backends[0])[0]
		p, err := Merge(Parts{File: f, Discovered: map[Source][]Server{source: test.found}})
		if p != nil || err == nil || strings.ReplaceAll(err.Error(), "\n", "|") != test.want {
			t.Errorf("%s: got\n%v\nwant\n%s", test.name, err, test.want)
		}
	}
}

// A backend has a bound.
func TestMergeBoundsServers(t *testing.T) {
	f := parsed(t, twoSources)
	var found []Server
	for i := range MaxServers {
		at := netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 1, byte(i >> 8), byte(i)}), 80)
		found = append(found, Server{Address: serveraddr.IP(at), Origin: "dns a.test"})
	}
	source := Sources(&f.Config.Backends[0])[0]
	_, err := Merge(Parts{File: f, Discovered: map[Source][]Server{source: found}})
	if want := fmt.Sprintf("dns a.test: the backend has more than %d servers", MaxServers); fmt.Sprint(err) != want {
		t.Errorf("got %v", err)
	}
}

// BenchmarkMerge merges 1 000 listeners and 5 000 servers, all of them, or one of 1 000 backends.
func BenchmarkMerge(b *testing.B) {
	c := config.New()
	for i := range 1000 {
		l, backend := config.NewListener(), config.NewBackend()
		l.Name, backend.Name, l.Backend = fmt.Sprintf("l%d", i), fmt.Sprintf("b%d", i), fmt.Sprintf("b%d", i)
		l.Address = config.Address{Host: "127.0.0.1", Port: uint16(10000 + i)}
		for j := range 5 {
			s := config.NewServer()
			s.Address = config.Address{Host: fmt.Sprintf("10.0.%d.%d", i>>8, i&255), Port: uint16(80 + j)}
			backend.Servers = append(backend.Servers, s)
		}
		c.Listeners, c.Backends = append(c.Listeners, l), append(c.Backends, backend)
	}
	parts := Parts{File: &File{Config: c}}
	before, err := Merge(parts)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("all", func(b *testing.B) {
		for b.Loop() {
			p, _ := MergeFrom(before, &parts, nil)
			_ = Compare(before, p)
		}
	})
	b.Run("one", func(b *testing.B) {
		for b.Loop() {
			p, _ := MergeFrom(before, &parts, func(backend string) bool { return backend != "b7" })
			_ = Compare(before, p)
		}
	})
}
