package reactortest

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"syscall"
	"time"

	"github.com/reactord/reactord/internal/simring"
	"github.com/reactord/reactord/reactor"
)

// Machine is a simulated machine: a kernel with its sockets, files and processes, on which loops and peers run. Its
// methods are called in the program, or on the simulated threads: those of loops and of peers.
type Machine struct {
	r     *run
	k     *simring.Kernel
	name  string
	addr4 netip.Addr
	addr6 netip.Addr
	loops int // ever made
}

// run is the state that the machines of a run share.
type run struct {
	seed     uint64
	faults   []string        // that may happen; nil for all
	k        *simring.Kernel // of the first machine
	machines []*Machine
	loops    []machineLoop
	threads  map[*simring.Thread]*Peer
	peers    int  // that have not ended
	ending   bool // the last peer has ended
	over     bool
	after    []func()
}

// machineLoop is a loop of a machine.
type machineLoop struct {
	*reactor.Loop
	m *Machine
}

// newMachine makes the machine of a kernel. The n-th has the addresses 10.0.0.n and fd00::n.
func newMachine(r *run, k *simring.Kernel, name string) *Machine {
	n := byte(len(r.machines) + 1)
	m := &Machine{
		r: r, k: k, name: name,
		addr4: netip.AddrFrom4([4]byte{10, 0, 0, n}), addr6: netip.AddrFrom16([16]byte{0: 0xfd, 15: n}),
	}
	k.SetName(name)
	k.SetAddrs(m.addr4, m.addr6)
	r.machines = append(r.machines, m)
	return m
}

// use panics if the run has ended.
func (m *Machine) use() {
	if m.r.over {
		panic(errOver)
	}
}

// useForThread panics if nothing can run on the machine.
func (m *Machine) useForThread() {
	m.use()
	if !m.k.HasPower() {
		panic(fmt.Sprintf("reactortest: %s has lost its power: call PowerOn before Loop, Peer and StartProcess", m.name))
	}
}

// Seed returns the seed of the run.
func (m *Machine) Seed() uint64 { return m.r.seed }

// Name returns the machine's name.
func (m *Machine) Name() string { return m.name }

// Rand returns the random source of the run. A program draws from it whatever varies, and from no other: otherwise a
// seed would not play the same run again.
func (m *Machine) Rand() *rand.Rand { return m.k.Rand() }

// Now returns the virtual time since the run began.
func (m *Machine) Now() time.Duration { return m.k.Elapsed() }

// Errorf reports that something is wrong. The run ends at the next call that can wait, and fails.
func (m *Machine) Errorf(format string, args ...any) {
	m.use()
	m.k.Errorf(format, args...)
}

// Logf writes to the trace that -reactortest.seed prints.
func (m *Machine) Logf(format string, args ...any) {
	m.use()
	m.k.Logf(format, args...)
}

// After registers f to be called when all loops and peers have ended, and nothing was wrong so far: to check by
// [Machine.Errorf] what must hold in the end. Functions are called in the order of their registration.
func (m *Machine) After(f func()) {
	m.use()
	m.r.after = append(m.r.after, f)
}

// Loop makes a loop, on a ring of the machine, and a simulated thread that runs it. setup, if not nil, is the loop's
// first work, on its thread, and meets no faults: a server opens the same when it begins.
//
// The loop must end, which it does after [reactor.Loop.Stop], when it has drained. When the last peer of the run has
// ended, all loops are stopped. Of cfg, Ring and Entries are ignored, and no thread has a CPU; DrainTimeout is an
// hour unless it is set. It panics if cfg is wrong.
func (m *Machine) Loop(cfg reactor.LoopConfig, setup func(*reactor.Loop) error) *reactor.Loop {
	m.useForThread()
	if cfg.DrainTimeout == 0 {
		cfg.DrainTimeout = time.Hour
	}
	l, err := reactor.NewLoopOn(m.k.NewRing(), m.k.System(), cfg)
	if err != nil {
		panic(fmt.Sprintf("reactortest: Machine.Loop: %v", err))
	}
	m.loops++
	name := fmt.Sprintf("loop%d", m.loops)
	m.r.loops = append(m.r.loops, machineLoop{l, m})
	m.k.Go(name, func(thread *simring.Thread) {
		thread.Explain(func() string { return waits(l) })
		err := l.Run(func() {
			if setup != nil {
				m.k.Spared(func() { m.setUp(name, l, setup) })
			}
		})
		m.ended(name, l, err)
	})
	if m.r.ending {
		l.Stop()
	}
	return l
}

// waits returns where the tasks of a loop wait.
func waits(l *reactor.Loop) (text string) {
	const most = 8
	tasks := 0
	for _, f := range l.InFlight() {
		if f.Operation != "task" {
			continue
		}
		if tasks++; tasks <= most {
			text += fmt.Sprintf("\n\ta task %s at %s", f.State, f.Where)
		}
	}
	if tasks > most {
		text += fmt.Sprintf("\n\tand %d more tasks", tasks-most)
	}
	return text
}

func (m *Machine) setUp(name string, l *reactor.Loop, setup func(*reactor.Loop) error) {
	if err := setup(l); err != nil {
		m.Errorf("the setup of %s failed: %w", name, err)
	}
}

// ended asserts that a loop whose Run has returned err has nothing left.
func (m *Machine) ended(name string, l *reactor.Loop, err error) {
	if err != nil {
		m.Errorf("Run of %s returned: %w", name, err)
	}
	s := l.Stats()
	if s.Leaked != 0 {
		m.Errorf("%s has ended with %d operations that never completed: a callback or a task did not return, or "+
			"LoopConfig.DrainTimeout is too short", name, s.Leaked)
	}
	if s.LeasedBytes != 0 {
		m.Errorf("%s has ended with %d bytes of buffers leased", name, s.LeasedBytes)
	}
}

// Signal sends a signal to the process, which is all loops of the machine: [reactor.Loop.Signals] receives it.
func (m *Machine) Signal(sig os.Signal) {
	m.use()
	m.k.Signal(sig)
}

// StartProcess starts a child process that ends after a virtual time with an exit status. The program waits for it by
// [reactor.Loop.WaitProcess].
func (m *Machine) StartProcess(life time.Duration, status int) (pid int) {
	m.useForThread()
	return m.k.Child(life, status)
}

// Kill ends a child process by a signal. The error is ESRCH if there is no such process.
func (m *Machine) Kill(pid int, sig syscall.Signal) error {
	m.use()
	return m.k.Kill(pid, sig)
}

// WriteFile makes a file of the machine with these bytes, and the directories that it is in, or replaces its bytes.
func (m *Machine) WriteFile(name string, data []byte) {
	m.use()
	if err := m.k.WriteFile(name, data); err != nil {
		panic(fmt.Sprintf("reactortest: WriteFile of %s: %v", name, err))
	}
}

// MkdirAll makes a directory of the machine, and those that it is in.
func (m *Machine) MkdirAll(name string) {
	m.use()
	if err := m.k.MkdirAll(name); err != nil {
		panic(fmt.Sprintf("reactortest: MkdirAll of %s: %v", name, err))
	}
}

// ReadFile returns the bytes of a file of the machine. The error is an errno, such as ENOENT.
func (m *Machine) ReadFile(name string) ([]byte, error) { return m.k.ReadFile(name) }

// ReadDir returns the names in a directory of the machine, sorted.
func (m *Machine) ReadDir(name string) ([]string, error) { return m.k.ReadDir(name) }

// Remove removes a file or an empty directory of the machine.
func (m *Machine) Remove(name string) error {
	m.use()
	return m.k.Remove(name)
}
