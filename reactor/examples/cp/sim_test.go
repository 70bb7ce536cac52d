package main

import (
	"bytes"
	"testing"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/reactor/reactortest"
	"github.com/reactord/reactord/sender/task"
)

// A copy is complete, or it fails.
func TestSimulated(t *testing.T) {
	reactortest.Run(t, func(m *reactortest.Machine) {
		data := make([]byte, m.Rand().IntN(3*pieceSize))
		for i := range data {
			data[i] = byte(m.Rand().Uint32())
		}
		m.WriteFile("/from", data)
		var failure error
		m.Loop(reactor.LoopConfig{}, func(l *reactor.Loop) error {
			c := &copying{loop: l, from: "/from", to: "/to"}
			l.Spawn(task.New(func(t *task.T) error {
				defer l.Stop()
				_, failure = task.Await(t, task.New(c.run))
				return nil
			}))
			return nil
		})
		m.After(func() {
			f := m.Faults()
			mayFail := f.IOError > 0 || f.NoSpace > 0 || f.NoDescriptor > 0
			got, err := m.ReadFile("/to")
			switch {
			case failure == nil && (err != nil || !bytes.Equal(got, data)):
				m.Errorf("%d bytes of %d were copied, and it did not fail: %v", len(got), len(data), err)
			case failure != nil && !mayFail:
				m.Errorf("%v", failure)
			}
		})
	})
}
