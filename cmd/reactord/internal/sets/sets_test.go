package sets

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/sets/list"
	"github.com/reactord/reactord/cmd/reactord/internal/stats"
	"go.uber.org/zap"
)

func blocked(change func(*config.Set)) []config.Set {
	s := config.NewSet()
	s.Name = "blocked"
	change(&s)
	return []config.Set{s}
}

// has waits until an address is in a set, or is not.
func has(t *testing.T, m *Manager, address string, want bool) {
	t.Helper()
	ip := netip.MustParseAddr(address)
	for deadline := time.Now().Add(20 * time.Second); m.Directory().Set("blocked").Contains(ip) != want; {
		if time.Now().After(deadline) {
			t.Fatalf("%s is in the set: %v; %+v", address, !want, m.Stats())
		}
		time.Sleep(time.Millisecond)
	}
}

// source waits until the only source of the set is as wanted.
func awaitSource(t *testing.T, m *Manager, want func(*stats.SetSource) bool) stats.SetSource {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; {
		s := m.Stats()[0].Sources[1]
		if want(&s) {
			return s
		}
		if time.Now().After(deadline) {
			t.Fatalf("the source stays %+v", s)
		}
		time.Sleep(time.Millisecond)
	}
}

func newManager(t *testing.T) *Manager {
	t.Helper()
	m := NewManager(zap.NewNop(), Record{})
	t.Cleanup(m.Close)
	return m
}

func TestFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "blocked")
	replace := func(text string) {
		if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path+".new", path); err != nil {
			t.Fatal(err)
		}
	}
	replace("192.0.2.0/24\n")
	m := newManager(t)
	m.Follow(blocked(func(s *config.Set) {
		s.Files, s.Entries = []config.SetFile{{Path: path}}, []string{"198.51.100.1"}
	}), nil)
	has(t, m, "192.0.2.1", true)
	has(t, m, "198.51.100.1", true)
	replace("192.0.2.0/24\n203.0.113.9\n")
	has(t, m, "203.0.113.9", true)
	replace("203.0.113.10\nwrong\n")
	s := awaitSource(t, m, func(s *stats.SetSource) bool { return !s.Successful })
	if !strings.HasPrefix(s.LastError, path+":2: ") || s.Entries != 2 {
		t.Errorf("%+v", s)
	}
	has(t, m, "203.0.113.9", true)
	replace("# nothing\n")
	awaitSource(t, m, func(s *stats.SetSource) bool { return strings.Contains(s.LastError, "min_entries") })
	has(t, m, "203.0.113.9", true)
	replace("203.0.113.11\n")
	has(t, m, "203.0.113.9", false)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	awaitSource(t, m, func(s *stats.SetSource) bool { return !s.Successful })
	has(t, m, "203.0.113.11", true)
}

// listServer is a server of lists whose answer is replaced.
type listServer struct {
	mu     sync.Mutex
	answer http.HandlerFunc
	asked  []http.Header
}

func (s *listServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	answer := s.answer
	s.asked = append(s.asked, r.Header)
	s.mu.Unlock()
	answer(w, r)
}

func (s *listServer) answers(f http.HandlerFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer = f
}

func text(t string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, t) }
}

// TestHostileURL wants the last good entries to stay whatever the server does, and its answers to be bounded.
func TestHostileURL(t *testing.T) {
	released := make(chan struct{})
	elsewhere := httptest.NewServer(text("203.0.113.1\n"))
	defer elsewhere.Close()
	server := &listServer{answer: func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"1"`)
		if r.Header.Get("If-None-Match") == `"1"` {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		_, _ = io.WriteString(w, "192.0.2.0/24\n")
	}}
	at := httptest.NewServer(server)
	defer at.Close()
	defer close(released)
	m := newManager(t)
	m.Follow(blocked(func(s *config.Set) {
		s.MaxSize = 64 * config.KiB
		s.HTTP = []config.SetHTTP{{URL: at.URL, Interval: 5 * time.Millisecond, Timeout: time.Second}}
	}), nil)
	has(t, m, "192.0.2.1", true)
	unchanged := awaitSource(t, m, func(s *stats.SetSource) bool { return s.Attempts > 2 })
	if unchanged.Failures != 0 || server.asked[1].Get("If-None-Match") != `"1"` {
		t.Errorf("%+v, %v", unchanged, server.asked[1])
	}
	for _, test := range []struct {
		name, want string
		answer     http.HandlerFunc
	}{
		{"an endless body", "max_size", func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				if _, err := io.WriteString(w, strings.Repeat("198.51.100.1\n", 100)); err != nil {
					return
				}
			}
		}},
		{"an endless line", "the line has more", func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				if _, err := io.WriteString(w, strings.Repeat("1", 1000)); err != nil {
					return
				}
			}
		}},
		{"a slow body", "deadline exceeded", func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, "198.51.100.1\n")
			w.(http.Flusher).Flush()
			select {
			case <-r.Context().Done():
			case <-released:
			}
		}},
		{"garbage", "is not a network", text("<html><body>502</body></html>")},
		{"a cut body", "unexpected EOF", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			_, _ = io.WriteString(w, "198.51.100.1\n")
		}},
		{"nothing", "min_entries", text("")},
		{"a failure", "status 500", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusInternalServerError)
		}},
		{"a redirect to elsewhere", "redirect to another host", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.URL, http.StatusFound)
		}},
		{"a circle", "redirects", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, at.URL, http.StatusFound)
		}},
	} {
		server.answers(test.answer)
		awaitSource(t, m, func(s *stats.SetSource) bool { return strings.Contains(s.LastError, test.want) })
		for address, want := range map[string]bool{"192.0.2.1": true, "198.51.100.1": false, "203.0.113.1": false} {
			if m.Directory().Set("blocked").Contains(netip.MustParseAddr(address)) != want {
				t.Errorf("%s: %s is in the set: %v", test.name, address, !want)
			}
		}
	}
	server.answers(text("198.51.100.1\n"))
	has(t, m, "198.51.100.1", true)
	has(t, m, "192.0.2.1", false)
}

// TestReload wants sources whose settings stay to go on, and the entries of others to stay until those that replace
// them have answered.
func TestReload(t *testing.T) {
	asked, answer := make(chan struct{}, 100), make(chan struct{})
	second := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked <- struct{}{}
		<-answer
		_, _ = io.WriteString(w, "203.0.113.1\n")
	}))
	defer second.Close()
	first := httptest.NewServer(text("192.0.2.1\n"))
	defer first.Close()
	with := func(url string, more ...string) []config.Set {
		return blocked(func(s *config.Set) {
			s.Entries = more
			s.HTTP = []config.SetHTTP{{URL: url, Interval: time.Hour, Timeout: time.Minute}}
		})
	}
	m := newManager(t)
	m.Follow(with(first.URL), nil)
	has(t, m, "192.0.2.1", true)
	set := m.Directory().Set("blocked")
	m.Follow(with(first.URL, "198.51.100.1"), nil)
	if s := m.Stats()[0]; s.Sources[1].Attempts != 1 || s.Entries != 2 || m.Directory().Set("blocked") != set {
		t.Errorf("after a reload: %+v", s)
	}
	m.Follow(with(second.URL), nil)
	<-asked
	has(t, m, "192.0.2.1", true) // the new source has not answered
	close(answer)
	has(t, m, "203.0.113.1", true)
	has(t, m, "192.0.2.1", false)
	if err := m.Await(t.Context(), time.Minute); err != nil {
		t.Error(err)
	}
	m.Follow(nil, nil)
	if len(m.Stats()) != 0 || m.Directory().Set("blocked") == set {
		t.Error("the set is still there")
	}
}

func TestAdded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := NewManager(zap.NewNop(), Record{Added: []Added{
			{Set: "blocked", Entry: "192.0.2.9", Until: time.Now().Add(time.Hour), Why: "before"},
			{Set: "blocked", Entry: "192.0.2.10", Until: time.Now().Add(-time.Hour)},
			{Set: "blocked", Entry: "garbage"}, {Set: "other", Entry: "192.0.2.11"},
		}})
		defer m.Close()
		sets := blocked(func(*config.Set) {})
		m.Follow(sets, nil)
		in := func(address string) bool { return m.Directory().Set("blocked").Contains(netip.MustParseAddr(address)) }
		if !in("192.0.2.9") || in("192.0.2.10") || in("192.0.2.11") {
			t.Errorf("%+v", m.Stats())
		}
		if _, err := m.Add("blocked", "198.51.100.0/24", time.Minute, "scan"); err != nil {
			t.Fatal(err)
		}
		m.Follow(sets, nil) // a reload keeps it
		if !in("198.51.100.7") {
			t.Error("the entry was not added")
		}
		found, err := m.Match("", "198.51.100.7")
		if err != nil || len(found) != 1 || found[0] != (Match{"blocked", "198.51.100.0/24", "added"}) {
			t.Errorf("%+v, %v", found, err)
		}
		time.Sleep(time.Minute + time.Second)
		synctest.Wait()
		if in("198.51.100.7") || !in("192.0.2.9") {
			t.Error("the entry did not expire, or the other one did")
		}
		for _, wrong := range []error{
			func() error { _, err := m.Add("other", "192.0.2.1", 0, ""); return err }(),
			func() error { _, err := m.Add("blocked", "example.org", 0, ""); return err }(),
			func() error { _, err := m.Add("blocked", "192.0.2.1", 0, strings.Repeat("x", MaxWhy+1)); return err }(),
			m.Remove("blocked", "192.0.2.77"), m.Remove("other", "192.0.2.9"),
		} {
			if wrong == nil {
				t.Error("a wrong change was made")
			}
		}
		if err := m.Remove("blocked", "192.0.2.9"); err != nil || in("192.0.2.9") {
			t.Error(err)
		}
		for i := range MaxAdded {
			if _, err := m.Add("blocked", fmt.Sprintf("10.0.%d.%d", i>>8, i&255), 0, ""); err != nil {
				t.Fatal(i, err)
			}
			if i == 100 { // the rest need not be in force for each step
				break
			}
		}
		m.sets[0].added = map[string]Added{}
		for i := range MaxAdded {
			m.sets[0].added[fmt.Sprint(i)] = Added{}
		}
		if _, err := m.Add("blocked", "192.0.2.1", 0, ""); !errors.Is(err, ErrFull) {
			t.Error(err)
		}
	})
}

// TestUpgrade wants the next process to have what a URL has said, until the URL says something else.
func TestUpgrade(t *testing.T) {
	server := &listServer{answer: text("192.0.2.0/24\n2001:db8::/32\n")}
	at := httptest.NewServer(server)
	defer at.Close()
	sets := blocked(func(s *config.Set) {
		s.HTTP = []config.SetHTTP{{URL: at.URL, Interval: 10 * time.Millisecond, Timeout: time.Minute}}
	})
	before := newManager(t)
	before.Follow(sets, nil)
	has(t, before, "2001:db8::1", true)
	if _, err := before.Add("blocked", "198.51.100.7", 0, ""); err != nil {
		t.Fatal(err)
	}
	server.answers(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) })
	record, err := json.Marshal(before.Record())
	if err != nil {
		t.Fatal(err)
	}
	var given Record
	if err := json.Unmarshal(record, &given); err != nil {
		t.Fatal(err)
	}
	m := NewManager(zap.NewNop(), given)
	t.Cleanup(m.Close)
	m.Follow(sets, nil)
	awaitSource(t, m, func(s *stats.SetSource) bool { return s.Failures > 1 })
	for _, address := range []string{"192.0.2.1", "2001:db8::1", "198.51.100.7"} {
		has(t, m, address, true)
	}
	server.answers(text("203.0.113.1\n"))
	has(t, m, "203.0.113.1", true)
	has(t, m, "192.0.2.1", false)
	has(t, m, "198.51.100.7", true)
}

func TestNames(t *testing.T) {
	all := blocked(func(s *config.Set) { s.Type = config.NameSet; s.Entries = []string{"Example.org", "*.example.net"} })
	d := NewDirectory(all, nil)
	s := d.Set("blocked")
	for name, want := range map[string]bool{"example.org": true, "a.example.net": true, "example.net": false, "": false} {
		if s.ContainsName(name) != want {
			t.Errorf("%q: %v", name, !want)
		}
	}
	if s.Contains(netip.MustParseAddr("192.0.2.1")) || d.Set("unknown").ContainsName("example.org") {
		t.Error("a set has what it has not")
	}
}

func TestContainsDoesNotAllocate(t *testing.T) {
	s := NewDirectory(blocked(func(s *config.Set) { s.Entries = []string{"192.0.2.0/24"} }), nil).Set("blocked")
	ip := netip.MustParseAddr("192.0.2.1")
	if n := testing.AllocsPerRun(100, func() { s.Contains(ip); s.ContainsName("example.org") }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestPrepared wants a set that a plan adds to have its files' entries before it is followed.
func TestPrepared(t *testing.T) {
	m := newManager(t)
	sets := blocked(func(s *config.Set) { s.Files = []config.SetFile{{Path: "/nowhere"}} })
	files := map[list.Key]*list.List{}
	files[list.Key{Set: "blocked", Path: "/nowhere"}] = list.Of(config.NetworkSet, []string{"192.0.2.1/32"})
	m.Prepare(sets, files)
	has(t, m, "192.0.2.1", true)
	m.Follow(sets, files)
	awaitSource(t, m, func(s *stats.SetSource) bool { return !s.Successful })
	has(t, m, "192.0.2.1", true)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_ = m.Await(ctx, time.Hour)
}
