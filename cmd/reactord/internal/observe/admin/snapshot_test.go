package admin_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/reactord/reactord/cmd/reactord/internal/observe/admin"
	"github.com/reactord/reactord/cmd/reactord/internal/observe/admin/admintest"
	"github.com/reactord/reactord/cmd/reactord/internal/stats"
)

// An answer is made once for all who ask within its age, and a failure is not kept.
func TestShared(t *testing.T) {
	var s admin.Shared[int64]
	var made atomic.Int64
	render := func() (int64, error) { return made.Add(1), nil }
	if _, err := s.Get(time.Hour, func() (int64, error) { return 0, io.EOF }); err != io.EOF {
		t.Errorf("error %v", err)
	}
	var asking sync.WaitGroup
	for range 100 {
		asking.Go(func() {
			if n, err := s.Get(time.Hour, render); n != 1 || err != nil {
				t.Errorf("answer %d, error %v", n, err)
			}
		})
	}
	asking.Wait()
	if n, _ := s.Get(0, render); n != 2 {
		t.Errorf("an old answer is used again: %d", n)
	}
}

// Readers of the page that share a snapshot get the events that are new to each.
func TestManyReaders(t *testing.T) {
	s := serve(t, admintest.New(1), onSocket(t))
	for after, want := range []int{2, 1, 0} {
		_, _, body := s.do("GET", fmt.Sprintf("/v1/snapshot?after=%d", after), "")
		var got admin.Snapshot
		if err := json.Unmarshal([]byte(body), &got); err != nil {
			t.Fatal(err)
		}
		if len(got.Events) != want || len(got.Servers) != 2 || len(got.Failing) != 1 || got.Status.Role != "admin" {
			t.Errorf("after %d: %d events, %d servers, %d failures, role %q", after, len(got.Events), len(got.Servers),
				len(got.Failing), got.Status.Role)
		}
	}
}

// hostile has names that want to be markup or JSON.
type hostile struct{ *admintest.Daemon }

const hostileName = `</script><img src=x onerror=alert(1)>"]}` + "\u2028"

func (h hostile) Reading() admin.Reading {
	r := h.Daemon.Reading()
	r.Listeners[0].Name = hostileName
	r.Failing[0].Failure = stats.Failure{Listener: hostileName, Server: hostileName, Fault: stats.ProxyFault}
	return r
}

// Names cannot leave their strings.
func TestHostileNames(t *testing.T) {
	s := serve(t, hostile{admintest.New(0)}, onSocket(t))
	_, h, body := s.do("GET", "/v1/snapshot", "")
	var got admin.Snapshot
	if err := json.Unmarshal([]byte(body), &got); err != nil {
		t.Fatal(err)
	}
	if got.Listeners[0].Name != hostileName || got.Failing[0].Listener != hostileName {
		t.Errorf("%q, %q", got.Listeners[0].Name, got.Failing[0].Listener)
	}
	if strings.Contains(body, "<") || h.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("an answer could be taken for a page: %q", body)
	}
}

// BenchmarkSnapshot answers snapshots of 1 000 services, of which one in a hundred is rendered, as by 100 readers.
func BenchmarkSnapshot(b *testing.B) {
	for _, readers := range []int{1, 100} {
		b.Run(fmt.Sprint(readers, " readers"), func(b *testing.B) {
			api := admin.Handler(fleet{admintest.New(0), fleetReading()}, zap.NewAtomicLevel(), zap.NewNop())
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if i%readers == 0 {
					admin.ForgetSnapshot(api)
				}
				api.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "http://localhost/v1/snapshot", nil))
			}
		})
	}
}

type fleet struct {
	*admintest.Daemon
	reading admin.Reading
}

func (f fleet) Reading() admin.Reading { return f.reading }

func fleetReading() admin.Reading {
	one := admintest.New(0).Reading()
	r := admin.Reading{Status: one.Status}
	for i := range 1000 {
		l, b := one.Listeners[0], one.Backends[0]
		l.Name, b.Name = fmt.Sprint("l", i), fmt.Sprint("b", i)
		r.Listeners, r.Backends = append(r.Listeners, l), append(r.Backends, b)
		r.Servers = append(r.Servers, one.Servers...)
	}
	return r
}
