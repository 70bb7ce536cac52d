package stop_test

import (
	"testing"

	"github.com/reactord/reactord/sender/stop"
)

func mustPanic(t *testing.T, f func()) {
	t.Helper()
	defer func() {
		if recover() == nil {
			t.Error("it did not panic")
		}
	}()
	f()
}

func TestMisuseIsLoud(t *testing.T) {
	var s stop.Source
	var c, d stop.Callback
	var h counter
	c.Register(s.Token(), &h)
	mustPanic(t, func() { c.Register(s.Token(), &h) })
	mustPanic(t, s.Reset)
	d.Register(s.Token(), handler(func() { mustPanic(t, s.Reset) }))
	s.RequestStop()
	c.Deregister()
	s.Reset()
}
