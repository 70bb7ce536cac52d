package e2e

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/internal/testenv"
)

// serverVariable makes this test binary a server that answers any byte with its name: ADDRESS NAME.
const serverVariable = "E2E_SERVER"

// Checks, ejections, retries and weights of a real daemon, before servers that are processes: they are killed, stopped,
// continued and started again, while the daemon reloads and upgrades. Once nothing has changed for a while and a server
// is up, no client fails. REACTORD_E2E_ROUNDS has it run for longer, and E2E_SEED plays the same again.
func TestPoliciesTogether(t *testing.T) {
	rounds := 4
	if n, err := strconv.Atoi(os.Getenv("REACTORD_E2E_ROUNDS")); err == nil {
		rounds = n
	}
	onEachRing(t, func(t *testing.T, ring string) {
		t.Parallel()
		seed := rand.Uint64()
		if n, err := strconv.ParseUint(os.Getenv("E2E_SEED"), 10, 64); err == nil {
			seed = n
		}
		t.Logf("E2E_SEED=%d", seed)
		p := newTurmoil(t, ring, rand.New(rand.NewPCG(seed, 0)))
		for range rounds {
			p.trouble()
			p.settle()
			p.expectServed()
		}
		p.end()
	})
}

// settling is how long checks take at most to find out what has become of a server, on a busy machine: rise and fall
// are 2, a check may take a second and comes 200 ms after the one before.
const settling = 4 * time.Second

// turmoil is a daemon with servers that fail.
type turmoil struct {
	t       *testing.T
	rng     *rand.Rand
	file    string
	ring    string
	policy  string
	servers []*process
	daemon  *generations
	clients sync.WaitGroup
}

func newTurmoil(t *testing.T, ring string, rng *rand.Rand) *turmoil {
	p := &turmoil{t: t, rng: rng, ring: ring, file: filepath.Join(t.TempDir(), "reactord.yaml")}
	p.policy = []string{"p2c", "round_robin", "least_connections", "random"}[rng.IntN(4)]
	for i := range 2 + rng.IntN(3) {
		p.servers = append(p.servers, startProcess(t, fmt.Sprint("s", i)))
	}
	p.configure()
	d := spawn(t, nil, nil, "serve", "--config", p.file)
	d.addr = d.await("listening").str("address")
	p.daemon = generationsOf(t, d)
	return p
}

// configure writes a configuration with other weights, and perhaps without one of the servers.
func (p *turmoil) configure() {
	listen := "127.0.0.1:0"
	if p.daemon != nil {
		listen = p.daemon.addr
	}
	var servers []string
	for _, s := range p.servers {
		servers = append(servers, fmt.Sprintf(`{name: %s, address: "%s", weight: %d}`, s.name, s.address, 1+p.rng.IntN(4)))
	}
	text := fmt.Sprintf(`
ring: %s
loops: 2
drain: {timeout: 1s}
listeners: [{name: in, address: "%s", backend: all}]
backends:
  - name: all
    servers: [%s]
    balance: {policy: %s, slow_start: %ds}
    check: {interval: 200ms, timeout: 1s, rise: 2, fall: 2, send: "c", expect: "s"}
    connect_timeout: 500ms
`, p.ring, listen, strings.Join(servers, ", "), p.policy, p.rng.IntN(2))
	write(p.t, p.file+".next", text)
	if err := os.Rename(p.file+".next", p.file); err != nil {
		p.t.Fatal(err)
	}
}

// trouble is some things that happen one soon after another, while clients come.
func (p *turmoil) trouble() {
	stop := make(chan struct{})
	p.clients.Go(func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(10 * time.Millisecond):
				p.clients.Go(func() { _ = p.ask() })
			}
		}
	})
	defer p.clients.Wait()
	defer close(stop)
	for range 2 + p.rng.IntN(5) {
		s := p.servers[p.rng.IntN(len(p.servers))]
		switch p.rng.IntN(6) {
		case 0, 1:
			s.kill()
		case 2:
			s.stop()
		case 3:
			s.revive()
		case 4:
			p.reload()
		case 5:
			p.t.Log("upgrade")
			p.daemon.upgrade()
		}
		time.Sleep(time.Duration(p.rng.IntN(1000)) * time.Millisecond)
	}
}

func (p *turmoil) reload() {
	p.t.Log("reload")
	p.configure()
	n := len(p.daemon.logged(anything))
	if err := unix.Kill(p.daemon.pid, unix.SIGHUP); err != nil {
		p.t.Fatal(err)
	}
	p.daemon.awaitSince(n, "reloaded")
}

// settle leaves one server up at least, and often only that, and waits until the daemon knows of it.
func (p *turmoil) settle() {
	last := p.servers[p.rng.IntN(len(p.servers))]
	last.revive()
	if p.rng.IntN(2) == 0 {
		for _, s := range p.servers {
			switch {
			case s == last:
			case p.rng.IntN(2) == 0:
				s.kill()
			default:
				s.stop()
			}
		}
	}
	time.Sleep(settling)
}

// expectServed has clients come, which are all served.
func (p *turmoil) expectServed() {
	const clients = 40
	errs := make(chan error, clients)
	for range clients {
		go func() { errs <- p.ask() }()
		time.Sleep(10 * time.Millisecond)
	}
	failed := 0
	for range clients {
		if err := <-errs; err != nil {
			failed++
			if failed == 1 {
				p.t.Errorf("a client has failed: %v", err)
			}
		}
	}
	if failed != 0 {
		states := ""
		for _, s := range p.servers {
			states += fmt.Sprintf(" %s %s", s.name, s.state)
		}
		p.t.Errorf("%s, %d of %d clients have failed:%s", p.policy, failed, clients, states)
	}
}

// ask is a client.
func (p *turmoil) ask() error {
	c, err := net.DialTimeout("tcp", p.daemon.addr, patience)
	if err != nil {
		return err
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(5 * time.Second))
	if _, err = c.Write([]byte("?")); err != nil {
		return err
	}
	_, err = io.ReadFull(c, make([]byte, 2))
	return err
}

func (p *turmoil) end() {
	for _, s := range p.servers {
		s.kill()
	}
	p.daemon.end()
}

// process is a server that is a process.
type process struct {
	t             *testing.T
	name, address string
	state         processState
	cmd           *exec.Cmd // nil: it does not run
}

type processState string

const (
	processRuns  processState = "runs"
	processHangs processState = "hangs"
	processDead  processState = "is dead"
)

func startProcess(t *testing.T, name string) *process {
	s := &process{t: t, name: name, address: testenv.Vacant(t), state: processDead}
	s.revive()
	t.Cleanup(s.kill)
	return s
}

// revive starts or continues the server, and waits until it listens.
func (s *process) revive() {
	if s.state == processRuns {
		return
	}
	s.t.Log("revive", s.name)
	if s.state == processHangs {
		_ = s.cmd.Process.Signal(syscall.SIGCONT)
		s.state = processRuns
		return
	}
	s.cmd = exec.Command(os.Args[0])
	s.cmd.Env = append(cleanEnv(), serverVariable+"="+s.address+" "+s.name)
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := s.cmd.StdoutPipe()
	if err == nil {
		err = s.cmd.Start()
	}
	if err != nil {
		s.t.Fatal(err)
	}
	if _, err := io.ReadFull(out, make([]byte, 1)); err != nil {
		s.t.Fatalf("the server %s does not listen: %v", s.name, err)
	}
	s.state = processRuns
}

// stop has the server hang: the kernel still accepts connections for it, until its backlog is full.
func (s *process) stop() {
	if s.state == processRuns {
		s.t.Log("stop", s.name)
		_ = s.cmd.Process.Signal(syscall.SIGSTOP)
		s.state = processHangs
	}
}

func (s *process) kill() {
	if s.state != processDead {
		s.t.Log("kill", s.name)
		_ = s.cmd.Process.Kill()
		_ = s.cmd.Wait()
		s.state = processDead
	}
}

// beServer is the program of such a process: it does not return unless it cannot listen.
func beServer(what string) error {
	address, name, _ := strings.Cut(what, " ")
	l, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	fmt.Print("!")
	for {
		c, err := l.Accept()
		if err != nil {
			return err
		}
		go func() {
			defer c.Close()
			if _, err := io.ReadFull(c, make([]byte, 1)); err == nil {
				_, _ = io.WriteString(c, name)
				_, _ = io.Copy(io.Discard, c)
			}
		}()
	}
}
