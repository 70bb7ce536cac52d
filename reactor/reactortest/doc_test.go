package reactortest_test

import (
	"io"
	"testing"
	"time"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/reactor/reactortest"
	"github.com/reactord/reactord/sender/task"
)

// The code of docs/reactortest.md.

func server(l *reactor.Loop) error {
	listener := new(reactor.Socket)
	if err := listener.OpenListener(l, reactor.ListenConfig{Addr: address}); err != nil {
		return err
	}
	l.Spawn(task.New(func(t *task.T) error { return accept(t, l, listener) }))
	return nil
}

func accept(t *task.T, l *reactor.Loop, listener *reactor.Socket) error {
	return acceptEach(t, l, listener, func(t *task.T, c *reactor.Socket) error { return serve(t, l, c, time.Hour) })
}

func TestServer(t *testing.T) {
	reactortest.Run(t, func(m *reactortest.Machine) {
		m.Loop(reactor.LoopConfig{}, server)
		m.Peer("client", func(p *reactortest.Peer) {
			c := p.Dial(address)
			io.WriteString(c, "hello")
			got := make([]byte, 5)
			if _, err := io.ReadFull(c, got); err != nil {
				p.Errorf("no echo: %v", err)
			}
		})
	})
}

func TestChangingFaults(t *testing.T) {
	reactortest.Run(t, func(m *reactortest.Machine) {
		// No faults:
		m.SetFaults(reactortest.Faults{})
		// Only this one:
		m.SetFaults(reactortest.Faults{NoDescriptor: 0.5})
		// Those of the seed but for two:
		f := m.Faults()
		f.IOError, f.NoSpace = 0, 0
		m.SetFaults(f)
		m.SetLimits(reactortest.Limits{Descriptors: 3})
		m.Loop(reactor.LoopConfig{}, server)
		m.Peer("client", func(p *reactortest.Peer) { p.Dial(address) })
	})
}

func TestTwoMachines(t *testing.T) {
	primary, standby := server, server
	reactortest.Run(t, func(m *reactortest.Machine) {
		backup := m.NewMachine("backup")
		m.Link(backup).Set(reactortest.LinkConfig{Latency: 20 * time.Millisecond, Loss: 0.01})
		m.Loop(reactor.LoopConfig{}, primary)
		backup.Loop(reactor.LoopConfig{}, standby)
		m.Peer("operator", func(p *reactortest.Peer) {
			p.Sleep(time.Minute)
			m.Link(backup).Cut() // no packet passes, and neither side notices
			p.Sleep(10 * time.Minute)
			m.Link(backup).Heal()
			p.Sleep(time.Minute)
		})
		m.After(func() {
			if m.Now() < 12*time.Minute {
				m.Errorf("it ended after %v", m.Now())
			}
		})
	})
}

func TestMachineThatIsRestarted(t *testing.T) {
	standby := server
	reactortest.Run(t, func(m *reactortest.Machine) {
		backup := m.NewMachine("backup")
		backup.Loop(reactor.LoopConfig{}, standby)
		m.Peer("operator", func(p *reactortest.Peer) {
			p.Sleep(time.Minute)
			backup.PowerOff()
			p.Sleep(10 * time.Second)
			backup.PowerOn()
			backup.Loop(reactor.LoopConfig{}, standby)
		})
	})
}
