package proxy

import (
	"net"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/reactor"
)

// finish ends a connection by EOF of both sides, and waits until so many have ended.
func finish(t *testing.T, p *Proxy, c, s net.Conn, ended uint64) {
	t.Helper()
	c.Close()
	s.Close()
	waitFor(t, "the connection has ended", func() bool { return endedBy(p, reasonNormal) == ended })
}

// With skip_normal, only what is not normal has a line: a reset, and a connection that was retried.
func TestSkipNormal(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		ln := listen(t)
		log := config.AccessLog{
			Path: filepath.Join(t.TempDir(), "log"), Mode: 0o600, SkipNormal: true, Fields: []string{"code", "retries"},
		}
		once := Backend{Set: func(b *config.Backend) { b.Retries = 1 }}
		p := startLogged(t, ring, once, log, ln)
		c, s := pair(t, p, ln)
		finish(t, p, c, s, 1)
		c, s = pair(t, p, ln)
		swap(t, c, s, 1)
		resetConn(c)
		expectFields(t, logged(t, log.Path, 1)[0], map[string]any{"code": "CD", "retries": 0})

		log.Path += ".retried"
		next := setupOf(once, refusing(t), ln)
		retried := next.plan()
		retried.AccessLog = log
		q := runPlan(t, next.Config, retried)
		for ended := uint64(1); ; ended++ { // until one has tried the other server first
			c, s = pair(t, q, ln)
			finish(t, q, c, s, ended)
			if q.Stats().Servers[0].Retries+q.Stats().Servers[1].Retries > 0 {
				break
			}
		}
		expectFields(t, logged(t, log.Path, 1)[0], map[string]any{"code": "--", "retries": 1})
	})
}

// A sample has a line of the connections whose ids are in it, and of all that are not normal.
func TestSampledLog(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		ln := listen(t)
		log := config.AccessLog{
			Path: filepath.Join(t.TempDir(), "log"), Mode: 0o600, Sample: 3, Fields: []string{"id", "code"},
		}
		p := startLogged(t, ring, Backend{}, log, ln)
		const n = 20
		var want, reset []uint64
		for i := range uint64(n) {
			c, s := pair(t, p, ln)
			id := list(t, p, Filter{}, 0)[0].ID
			if a := (association{id: id}); a.inSample(3) {
				want = append(want, id)
			}
			finish(t, p, c, s, i+1)
		}
		for range n {
			c, s := pair(t, p, ln)
			swap(t, c, s, 1)
			reset = append(reset, list(t, p, Filter{}, 0)[0].ID)
			resetConn(c)
			waitFor(t, "it has ended", func() bool { return endedBy(p, reasonClientReset) == uint64(len(reset)) })
		}
		var got []uint64
		for _, line := range logged(t, log.Path, len(want)+n) {
			got = append(got, uint64(asObject(t, line)["id"].(float64)))
		}
		slices.Sort(got)
		all := slices.Concat(want, reset)
		slices.Sort(all)
		if !slices.Equal(got, all) || len(want) == n {
			t.Errorf("lines of %v, want %v", got, all)
		}
	})
}

// Interim lines follow the same rule: a normal connection has none with skip_normal.
func TestSkipNormalInterim(t *testing.T) {
	ln := listen(t)
	log := config.AccessLog{
		Path: filepath.Join(t.TempDir(), "log"), Mode: 0o600, SkipNormal: true, Interim: time.Millisecond,
		Fields: []string{"interim"},
	}
	cfg := setupOf(Backend{}, ln)
	cfg.Ring, cfg.Loops = reactor.Epoll, 1
	first := cfg.plan()
	first.AccessLog = log
	p := runPlan(t, cfg.Config, first)
	c, s := pair(t, p, ln)
	swap(t, c, s, 1)
	waitFor(t, "an interim line was due", func() bool {
		due := false
		p.on(func(w *worker) {
			if l := w.conns.First(); l != nil {
				c := connOf(l)
				due = due || c.log.interimDue > c.began+2*int64(log.Interim)
			}
		})
		return due
	})
	resetConn(s)
	expectFields(t, logged(t, log.Path, 1)[0], map[string]any{"interim": false})
}

// A UDP session that ends idle after an answer is normal.
func TestSkipNormalUDP(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		short := config.UDP{IdleTimeout: 100 * time.Millisecond}
		f := udpFixture(Backend{}, short, listenUDP(t, "127.0.0.1:0", "").addr())
		f.Ring, f.Loops = ring, 1
		first := f.plan()
		first.AccessLog = config.AccessLog{
			Path: filepath.Join(t.TempDir(), "log"), Mode: 0o600, SkipNormal: true, Fields: []string{"by"},
		}
		p := runPlan(t, f.Config, first)
		ask(t, dialUDP(t, p.Addrs()[0]), []byte("x"))
		waitFor(t, "the session is idle", func() bool { return endedBy(p, reasonIdle) == 1 })
		closed := 0
		waitFor(t, "an open session is closed", func() bool {
			ask(t, dialUDP(t, p.Addrs()[0]), []byte("x"))
			n, err := p.CloseConnections(t.Context(), Filter{})
			if err != nil {
				t.Fatal(err)
			}
			closed += n
			return closed > 0
		})
		for _, line := range logged(t, first.AccessLog.Path, closed) {
			expectFields(t, line, map[string]any{"by": "admin"})
		}
	})
}
