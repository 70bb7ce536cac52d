package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
)

// scenario is a file of `reactord simulate`, as far as it is played here.
type scenario struct {
	Config   string
	Duration time.Duration
	Servers  struct {
		Default struct{ Latency time.Duration }
	}
	Clients []guests
	Events  []scenarioEvent
}

type scenarioEvent struct {
	At         time.Duration
	Servers    []string
	Do         string
	State      string
	Zones      []string
	Network    string
	Reload     string
	Discovered map[string][]string
}

// stageConfig is a configuration, as far as servers and their checks are concerned.
type stageConfig struct {
	Backends []struct {
		Name    string
		Check   checkTexts
		Servers []struct{ Name, Address, Locality string }
	}
}

// needNetworks skips a test that cannot have namespaces.
func needNetworks(t *testing.T) {
	t.Helper()
	need(t, "ip", "iproute2")
	need(t, "nft", "nftables")
	if os.Getuid() != 0 {
		missing(t, "network namespaces need root")
	}
}

// stage is where a scenario is played: machines for the clients, for the proxy, and for the servers, which have
// addresses in 10.77.0.0/16. Packets from and to the addresses of the set gone are dropped when they arrive.
type stage struct {
	*network
	scenario scenario
	dir      string // of the files of the scenario
	files    string // of those that the daemon reads
	a        *administered
	actors   map[string]*actor   // by address
	named    map[string][]*actor // by BACKEND/SERVER, and by BACKEND
	zones    map[string][]*actor
	checks   map[string]checkTexts // by backend
	ring     string
	guests   sync.WaitGroup // the clients
	serving  sync.WaitGroup // the servers
}

// The addresses of the machines. The listeners of all scenarios are at stageProxy.
const (
	stageProxy   = "10.76.1.1"
	stageAddress = stageProxy + ":8080"
	stageFiles   = "/run/predicted" // stands for the directory of the daemon's files
)

func newStage(t *testing.T, file string, letter int) *stage {
	t.Helper()
	prefix := fmt.Sprintf("rs%d%c-", os.Getpid(), letter)
	s := &stage{
		network: &network{t, prefix + "c", prefix + "p", prefix + "s"}, dir: filepath.Dir(file), files: t.TempDir(),
		actors: map[string]*actor{}, named: map[string][]*actor{}, zones: map[string][]*actor{},
		checks: map[string]checkTexts{},
	}
	if err := yaml.UnmarshalWithOptions([]byte(readFile(t, file)), &s.scenario, yaml.Strict()); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	for _, ns := range []string{s.clients, s.proxy, s.servers} {
		s.sh("ip netns add " + ns)
		t.Cleanup(func() { _ = exec.Command("ip", "netns", "del", ns).Run() })
		s.sh("ip -n " + ns + " link set lo up")
	}
	s.link(s.clients, "10.76.1.2/24", s.proxy, stageProxy+"/24")
	s.link(s.servers, "10.76.2.2/24", s.proxy, "10.76.2.1/24")
	s.sh("ip -n " + s.clients + " route add local 198.18.0.0/15 dev lo")
	s.sh("ip -n " + s.servers + " route add local 10.77.0.0/16 dev lo")
	s.sh("ip -n " + s.proxy + " route add 198.18.0.0/15 via 10.76.1.2")
	s.sh("ip -n " + s.proxy + " route add 10.77.0.0/16 via 10.76.2.2")
	for ns, which := range map[string]string{s.proxy: "saddr", s.servers: "daddr"} {
		s.nft(ns, "add table inet faults", "add set inet faults gone { type ipv4_addr; }",
			"add chain inet faults in { type filter hook input priority 0; }",
			"add rule inet faults in ip "+which+" @gone drop")
	}
	t.Cleanup(s.end)
	s.cast(s.config(s.scenario.Config))
	for i := range s.scenario.Events {
		if next := s.scenario.Events[i].Reload; next != "" {
			s.cast(s.config(next))
		}
		for backend, addresses := range s.scenario.Events[i].Discovered {
			for _, address := range addresses {
				s.join(backend, "", address, "")
			}
		}
	}
	for _, a := range s.actors {
		a.become("work")
	}
	return s
}

// end waits until no peer is left. The daemon has ended before.
func (s *stage) end() {
	for _, a := range s.actors {
		a.leave()
	}
	s.guests.Wait()
	s.serving.Wait()
}

// config returns the text of a configuration.
func (s *stage) config(file string) string {
	s.t.Helper()
	return strings.ReplaceAll(readFile(s.t, filepath.Join(s.dir, file)), stageFiles, s.files)
}

// cast makes the servers of a configuration, but for those that there are.
func (s *stage) cast(text string) {
	s.t.Helper()
	var c stageConfig
	if err := yaml.Unmarshal([]byte(text), &c); err != nil {
		s.t.Fatal(err)
	}
	for i := range c.Backends {
		b := &c.Backends[i]
		s.checks[b.Name] = b.Check
		for _, of := range b.Servers {
			s.join(b.Name, of.Name, of.Address, of.Locality)
		}
	}
}

// join makes a server, unless there is one at its address.
func (s *stage) join(backend, name, address, zone string) {
	if s.actors[address] != nil {
		return
	}
	a := &actor{
		s: s, backend: backend, address: address, check: s.checks[backend],
		latency: s.scenario.Servers.Default.Latency,
		conns:   map[*net.TCPConn]bool{},
	}
	s.actors[address] = a
	s.named[backend+"/"+name] = append(s.named[backend+"/"+name], a)
	s.named[backend] = append(s.named[backend], a)
	s.zones[zone] = append(s.zones[zone], a)
}

// play plays the scenario with a daemon. It returns what has become of the clients.
func (s *stage) play(ring string) *census {
	s.t.Helper()
	s.ring = ring
	s.start()
	ctx, cancel := context.WithCancel(s.t.Context())
	seen := newCrowd(s)
	defer func() {
		cancel() // if the test has failed, clients still come
		s.guests.Wait()
		close(seen.dials)
	}()
	begin := time.Now()
	for i := range s.scenario.Clients {
		s.guests.Go(func() { seen.come(ctx, &s.scenario.Clients[i], begin) })
	}
	for i := range s.scenario.Events {
		e := &s.scenario.Events[i]
		time.Sleep(time.Until(begin.Add(e.At)))
		s.carryOut(e)
	}
	s.guests.Wait()
	c := &census{Clients: int(seen.came.Load()), Outcomes: seen.outcomes}
	for _, a := range s.actors {
		c.Servers = append(c.Servers, censusServer{a.backend, a.address, int(a.clients.Load())})
	}
	c.Ends = s.ends()
	return c
}

// ends returns how connections have ended for the daemon.
func (s *stage) ends() (all []censusEnd) {
	s.t.Helper()
	var read struct {
		Listeners []struct {
			Ended    []censusEnd
			Rejected []struct {
				Reason string
				Count  int
			}
		}
	}
	s.a.read(&read, "listeners")
	counts := map[[2]string]int{}
	for _, l := range read.Listeners {
		for _, e := range l.Ended {
			counts[[2]string{e.By, e.Phase}] += e.Count
		}
		for _, r := range l.Rejected {
			counts[[2]string{"rejected", r.Reason}] += r.Count
		}
	}
	for way, n := range counts {
		all = append(all, censusEnd{way[0], way[1], n})
	}
	return all
}

// start starts the daemon, and waits until each of its servers was checked.
func (s *stage) start() {
	s.t.Helper()
	s.a = &administered{file: filepath.Join(s.files, "reactord.yaml"), socket: filepath.Join(s.files, "admin.sock")}
	s.write(s.scenario.Config)
	for i := range s.scenario.Events {
		if e := &s.scenario.Events[i]; e.At == 0 {
			s.discover(e)
		}
	}
	s.a.daemon = spawn(s.t, []string{"ip", "netns", "exec", s.proxy}, nil, "serve", "--config", s.a.file)
	s.a.await("listening")
	s.a.await("admin")
	eventually(s.t, "all servers are checked", func() bool {
		var all struct{ Servers []struct{ State string } }
		s.a.read(&all, "servers")
		return len(all.Servers) > 0 && !slices.ContainsFunc(all.Servers, func(s struct{ State string }) bool {
			return s.State == "waiting"
		})
	})
}

// write writes the daemon's configuration.
func (s *stage) write(file string) {
	s.t.Helper()
	s.a.write(s.t, fmt.Sprintf("ring: %s\nadmin: {address: 'unix://%s'}\n%s", s.ring, s.a.socket, s.config(file)))
}

// carryOut carries out an event.
func (s *stage) carryOut(e *scenarioEvent) {
	s.t.Helper()
	for _, name := range e.Servers {
		if len(s.named[name]) == 0 {
			s.t.Fatalf("no server %s", name)
		}
		for _, a := range s.named[name] {
			if e.Do != "" {
				a.become(e.Do)
			}
		}
		if backend, server, _ := strings.Cut(name, "/"); e.State != "" {
			s.a.ctl("server", "set", backend, server, "--state", e.State)
		}
	}
	for _, name := range e.Zones {
		s.lose(e.Network == "cut", s.zones[name]...)
	}
	if e.Reload != "" {
		s.write(e.Reload)
		s.a.ctl("reload")
	}
	if e.At > 0 {
		s.discover(e)
	}
}

// lose has the network lose all packets from and to servers, or carry them again.
func (s *stage) lose(on bool, actors ...*actor) {
	s.t.Helper()
	var addresses []string
	for _, a := range actors {
		addresses = append(addresses, netip.MustParseAddrPort(a.address).Addr().String())
	}
	verb := "delete"
	if on {
		verb = "add"
	}
	for _, ns := range []string{s.servers, s.proxy} {
		s.nft(ns, verb+" element inet faults gone { "+strings.Join(addresses, ", ")+" }")
	}
}

// discover writes the files that the daemon finds servers in: one for each backend, with its name.
func (s *stage) discover(e *scenarioEvent) {
	s.t.Helper()
	for backend, addresses := range e.Discovered {
		text := "[]"
		if len(addresses) > 0 {
			text = `[{"targets": ["` + strings.Join(addresses, `", "`) + `"]}]`
		}
		replace(s.t, filepath.Join(s.files, backend+".json"), text)
	}
}

// drawFrom draws an address of a network.
func drawFrom(network netip.Prefix) netip.Addr {
	b := network.Addr().As4()
	for i := range b {
		if host := min(max(8*(i+1)-network.Bits(), 0), 8); host > 0 {
			b[i] |= byte(rand.Uint32()) & (1<<host - 1)
		}
	}
	return netip.AddrFrom4(b)
}
