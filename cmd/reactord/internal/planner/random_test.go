package planner

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"strings"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/cmd/reactord/internal/serveraddr"
)

// The small world of random programs.
var (
	someListeners = []string{"127.0.0.1:81", "127.0.0.1:82", "127.0.0.1:83", "127.0.0.2:81"}
	someBackends  = []string{"a", "b", "c"}
	someNames     = []string{"one.test", "two.test"}
)

// errSERVFAIL is the error of sources that know what they report with it.
var errSERVFAIL = errors.New("SERVFAIL")

func pick[T any](r *rand.Rand, all []T) T { return all[r.IntN(len(all))] }

func someServer(r *rand.Rand) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 0, 2, byte(1 + r.IntN(5))}), 80)
}

// randomFile is a file that is often valid. Wrong ones have two listeners on an address, or a setting that must stay.
func randomFile(r *rand.Rand, wrong bool) *plan.File {
	c := config.New()
	for _, name := range someBackends[:1+r.IntN(len(someBackends))] {
		b := config.NewBackend()
		b.Name, b.Retries = name, r.IntN(3)
		used := map[string]bool{}
		for range 1 + r.IntN(3) {
			s := config.NewServer()
			at := someServer(r)
			s.Address = config.Address{Host: at.Addr().String(), Port: at.Port()}
			s.Weight = r.IntN(3)
			if !used[s.Address.String()] {
				b.Servers = append(b.Servers, s)
			}
			used[s.Address.String()] = true
		}
		for _, n := range someNames[:r.IntN(len(someNames)+1)] {
			d := config.NewDNS()
			d.Name, d.Port = n, 80
			b.DNS = append(b.DNS, d)
		}
		c.Backends = append(c.Backends, b)
	}
	for i, at := range someListeners[:1+r.IntN(len(someListeners))] {
		l := config.NewListener()
		a := netip.MustParseAddrPort(at)
		l.Name, l.Backend = fmt.Sprintf("l%d", i), pick(r, c.Backends).Name
		l.Address = config.Address{Host: a.Addr().String(), Port: a.Port()}
		l.MaxConnections = r.IntN(3)
		c.Listeners = append(c.Listeners, l)
	}
	c.Drain.Timeout = time.Duration(1+r.IntN(2)) * time.Second
	switch {
	case wrong && r.IntN(2) == 0:
		c.Loops = 7
	case wrong:
		twice := c.Listeners[0]
		twice.Name = "twice"
		c.Listeners = append(c.Listeners, twice)
	}
	return &plan.File{Config: c}
}

// randomServers is what a source finds. Wrong ones cannot be connected to, or have the name of another one.
func randomServers(r *rand.Rand, wrong bool) []plan.Server {
	servers := []plan.Server{}
	used := map[netip.AddrPort]bool{}
	for range r.IntN(4) {
		at := someServer(r)
		if !used[at] {
			servers = append(servers, plan.Server{Address: serveraddr.IP(at), Weight: 1 + r.IntN(2), Origin: "dns"})
		}
		used[at] = true
	}
	if wrong {
		s := plan.Server{Address: serveraddr.MustParse("192.0.2.9:80"), Name: "192.0.2.1:80", Weight: 1, Origin: "dns"}
		if r.IntN(2) == 0 {
			s.Address = s.Address.WithPort(0)
		}
		servers = append(servers, s)
	}
	return servers
}

// randomControl is what a control plane says. It may be in the way of a file, or of itself. Now and then it is nothing.
func randomControl(r *rand.Rand) *plan.Control {
	var at []string
	for _, one := range someListeners {
		if r.IntN(3) == 0 {
			at = append(at, one)
		}
	}
	if len(at) == 0 {
		return nil
	}
	c := someControl([]string{someServer(r).String()}, at...)
	if r.IntN(5) == 0 {
		c.Backends[0].Name = pick(r, someBackends)
		c.Listeners[0].Backend = c.Backends[0].Name
	}
	if r.IntN(5) == 0 {
		c.Backends[0].Retries = -1
	}
	return c
}

func describeControl(c *plan.Control) string {
	if c == nil {
		return "nothing"
	}
	var all []string
	for i := range c.Listeners {
		l := &c.Listeners[i]
		all = append(all, fmt.Sprint(l.Name, "→", l.Backend, " ", c.Servers[l.Backend]))
	}
	return strings.Join(all, ", ")
}

func randomProgram(r *rand.Rand) (program []step) {
	for range 5 + r.IntN(40) {
		if r.IntN(5) > 0 {
			program = append(program, randomStep(r, true))
			continue
		}
		var burst []step
		var text []string
		used := map[string]bool{}
		for range 2 + r.IntN(6) {
			s := randomStep(r, false)
			subject, _, _ := strings.Cut(s.text, ":")
			if used[subject] {
				continue // the result of the last one only would be known
			}
			used[subject] = true
			burst, text = append(burst, s), append(text, s.text)
		}
		program = append(program, step{"together " + strings.Join(text, "; "), func(w *world) {
			for _, s := range burst {
				s.do(w)
			}
		}})
	}
	return program
}

// randomStep is a step. alone is whether it is no part of a burst.
func randomStep(r *rand.Rand, alone bool) step {
	switch n := r.IntN(24); {
	case n >= 20:
		c := randomControl(r)
		return step{fmt.Sprintf("control: %s", describeControl(c)), func(w *world) { w.control(c, alone) }}
	case n < 6:
		wrong := r.IntN(4) == 0
		f := randomFile(r, wrong)
		var gone error
		if r.IntN(6) == 0 {
			gone = errors.New("no such file")
		}
		return step{fmt.Sprintf("reload: wrong %v, gone %v: %s", wrong, gone, describe(f)), func(w *world) {
			w.reload(f, gone, alone)
		}}
	case n < 14:
		source := plan.Source{Backend: pick(r, someBackends), Kind: "dns", Name: pick(r, someNames) + ":80"}
		servers := randomServers(r, r.IntN(4) == 0)
		var err error
		if r.IntN(4) == 0 {
			err = errSERVFAIL
			if r.IntN(2) == 0 {
				servers = nil
			}
		}
		return step{fmt.Sprintf("%v: %v %v", source, servers, err), func(w *world) { w.discovered(source, servers, err) }}
	case n < 17:
		backend, server := pick(r, someBackends), someServer(r).String()
		var o plan.Override
		if r.IntN(3) > 0 {
			weight, state := r.IntN(5), plan.State(r.IntN(3))
			o = plan.Override{State: &state, Weight: &weight}
		}
		return step{fmt.Sprintf("override %s/%s: %v", backend, server, !o.IsZero()), func(w *world) {
			w.override(backend, server, o)
		}}
	default:
		at, refuse := netip.MustParseAddrPort(pick(r, someListeners)), r.IntN(2) == 0
		return step{fmt.Sprintf("bind %v: refused %v", at, refuse), func(w *world) {
			w.target.mu.Lock()
			defer w.target.mu.Unlock()
			w.target.refuse[at] = refuse
		}}
	}
}

func describe(f *plan.File) string {
	var all []string
	for _, l := range f.Config.Listeners {
		all = append(all, l.Name+" "+l.Address.HostPort()+"→"+l.Backend)
	}
	for _, b := range f.Config.Backends {
		text := b.Name + ":"
		for _, s := range b.Servers {
			text += " " + s.Address.HostPort()
		}
		for _, d := range b.DNS {
			text += " dns " + d.Name
		}
		all = append(all, text)
	}
	return strings.Join(all, ", ")
}
