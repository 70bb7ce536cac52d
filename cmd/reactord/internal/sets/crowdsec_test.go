package sets

import (
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
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
)

// fakeLAPI answers as a local API of CrowdSec: with all decisions at a startup, and else with what it was told.
type fakeLAPI struct {
	mu      sync.Mutex
	key     string
	all     string
	changes []string
	asked   []string
	answer  http.HandlerFunc // instead; may be nil
}

func (f *fakeLAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) { f.next(r)(w, r) }

// next returns the answer to a request.
func (f *fakeLAPI) next(r *http.Request) http.HandlerFunc {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked = append(f.asked, r.URL.String())
	switch {
	case r.Header.Get("X-Api-Key") != f.key:
		return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }
	case f.answer != nil:
		return f.answer
	case r.URL.Query().Get("startup") == "true":
		return text(f.all)
	case len(f.changes) == 0:
		return text(`{"deleted":null,"new":null}`)
	}
	first := f.changes[0]
	f.changes = f.changes[1:]
	return text(first)
}

// set changes what the API answers with.
func (f *fakeLAPI) set(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}

func decisionText(id int, kind, scope, value, duration string) string {
	return fmt.Sprintf(`{"id":%d,"uuid":"x","origin":"cscli","type":%q,"scope":%q,"value":%q,"duration":%q,"scenario":"s"}`,
		id, kind, scope, value, duration)
}

func newCrowdsecTest(t *testing.T, f *fakeLAPI) *crowdsecFeed {
	t.Helper()
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	key := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(key, []byte("secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := config.NewSet()
	cfg := config.NewSetCrowdsec()
	cfg.URL, cfg.KeyFile = server.URL+"/", key
	feed := newCrowdsecFeed(cfg, &s)
	t.Cleanup(feed.client.Close)
	return feed
}

func TestCrowdsec(t *testing.T) {
	f := &fakeLAPI{key: "secret", all: `{"deleted":[` + decisionText(9, "ban", "Ip", "192.0.2.99", "-1h") + `],"new":[` + strings.Join([]string{
		decisionText(1, "ban", "Ip", "192.0.2.1", "1h"), decisionText(2, "ban", "Range", "198.51.100.7/24", "4h"),
		decisionText(3, "captcha", "Ip", "192.0.2.3", "1h"), decisionText(4, "ban", "Country", "XX", "1h"),
		decisionText(5, "ban", "Ip", "2001:db8::1", "59m59.5s"), decisionText(6, "ban", "Ip", "192.0.2.6", "-5s"),
	}, ",") + `]}`}
	feed := newCrowdsecTest(t, f)
	now := time.Now()
	step := func(at time.Time) (bool, error) {
		changed, err := feed.attempt(t.Context(), at)
		return feed.expire(at) || changed, err
	}
	banned := func(want string) {
		t.Helper()
		l := feed.list()
		var got []string
		for _, a := range []string{
			"192.0.2.1", "192.0.2.3", "192.0.2.6", "198.51.100.200", "2001:db8::1", "203.0.113.5", "192.0.2.99",
		} {
			if l.Networks.Contains(netip.MustParseAddr(a)) {
				got = append(got, a)
			}
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("banned are %s, not %s", s, want)
		}
	}
	if changed, err := step(now); !changed || err != nil {
		t.Fatal(changed, err)
	}
	banned("192.0.2.1 198.51.100.200 2001:db8::1")

	// A second decision for the same address outlasts the first one.
	changes := []string{
		`{"new":[` + decisionText(7, "ban", "Ip", "192.0.2.1", "3h") + `],"deleted":[` + decisionText(1, "ban", "ip", "192.0.2.1", "-1s") + `]}`,
		`{"new":[` + decisionText(8, "ban", "Ip", "203.0.113.5", "2h") + `],"deleted":[` + decisionText(2, "ban", "Range", "198.51.100.0/24", "-1s") + `]}`,
	}
	f.set(func() { f.changes = changes })
	for range 2 {
		if changed, err := step(now.Add(time.Minute)); !changed || err != nil {
			t.Fatal(changed, err)
		}
	}
	banned("192.0.2.1 2001:db8::1 203.0.113.5")
	if changed, err := step(now.Add(2 * time.Minute)); changed || err != nil {
		t.Fatal(changed, err)
	}

	// Decisions end also while the API does not answer. After a failure all of them are asked for again.
	f.set(func() { f.answer = text(`{"new":[{"id":`) })
	if changed, err := step(now.Add(time.Hour)); !changed || err == nil {
		t.Fatal(changed, err)
	}
	banned("192.0.2.1 203.0.113.5")
	f.set(func() { f.answer, f.all = nil, `{"new":[`+decisionText(7, "ban", "Ip", "192.0.2.1", "3h")+`]}` })
	if changed, err := step(now.Add(time.Hour)); !changed || err != nil {
		t.Fatal(changed, err)
	}
	banned("192.0.2.1")
	f.mu.Lock()
	defer f.mu.Unlock()
	if last := f.asked[len(f.asked)-1]; !strings.HasSuffix(last, "/v1/decisions/stream?startup=true") {
		t.Errorf("asked for %s", last)
	}
}

func TestHostileCrowdsec(t *testing.T) {
	f := &fakeLAPI{key: "secret", all: `{"new":[` + decisionText(1, "ban", "Ip", "192.0.2.1", "9h") + `]}`}
	feed := newCrowdsecTest(t, f)
	feed.set.MaxSize = 64 * config.KiB
	now := time.Now()
	if _, err := feed.attempt(t.Context(), now); err != nil {
		t.Fatal(err)
	}
	feed.cfg.Timeout = 500 * time.Millisecond
	for _, test := range []struct {
		name, want string
		answer     http.HandlerFunc
	}{
		{"an endless list", "max_size", func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, `{"new":[`)
			for i := 0; r.Context().Err() == nil; i++ {
				if _, err := io.WriteString(w, decisionText(i, "ban", "Ip", "198.51.100.1", "1h")+","); err != nil {
					return
				}
			}
		}},
		{"an endless text", "max_size", func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, `{"x":"`)
			for r.Context().Err() == nil {
				if _, err := io.WriteString(w, strings.Repeat("x", 1000)); err != nil {
					return
				}
			}
		}},
		{"a slow answer", "deadline", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }},
		{"another type", "want", text(`[]`)},
		{"another list", "want a list", text(`{"new":{"a":1}}`)},
		{"a redirect", "redirect", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/elsewhere", http.StatusFound)
		}},
		{"a failure", "status 500", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusInternalServerError)
		}},
	} {
		f.set(func() { f.answer = test.answer })
		changed, err := feed.attempt(t.Context(), now)
		if changed || err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, %v", test.name, changed, err)
		}
	}
	f.set(func() { f.answer, f.key = nil, "other" })
	if _, err := feed.attempt(t.Context(), now); err == nil || !strings.Contains(err.Error(), "cscli bouncers add") {
		t.Error(err)
	}
	if l := feed.list(); l.Entries != 1 {
		t.Errorf("%d entries", l.Entries)
	}
	all := `{"new":[` + decisionText(1, "ban", "Ip", "nonsense", "9h") + `,` + decisionText(2, "ban", "Ip", "192.0.2.2", "9h") + `]}`
	f.set(func() { f.key, f.all = "secret", all })
	if _, err := feed.attempt(t.Context(), now); err == nil || !strings.Contains(err.Error(), "decision 1 was skipped") {
		t.Error(err)
	}
	if l := feed.list(); l.Entries != 1 || !l.Networks.Contains(netip.MustParseAddr("192.0.2.2")) {
		t.Errorf("%d entries", l.Entries)
	}
}

// FuzzDecisions wants any answer to be read or refused, and everything that is taken to be bounded in time.
func FuzzDecisions(f *testing.F) {
	f.Add(`{"new":[` + decisionText(1, "ban", "Ip", "192.0.2.1", "1h") + `],"deleted":null,"other":[{}]}`)
	f.Add(`{"deleted":[` + decisionText(1, "ban", "Range", "192.0.2.1/24", "1h") + `]}`)
	f.Fuzz(func(t *testing.T, answer string) {
		now := time.Now()
		known := map[ban]time.Time{{1, netip.MustParsePrefix("192.0.2.0/24")}: now}
		d := decisions{now: now, bans: map[ban]time.Time{}, known: known}
		_ = d.read(strings.NewReader(answer), 1<<12)
		for b, until := range d.bans {
			if !b.network.IsValid() || !until.After(now) {
				t.Fatalf("%v until %v", b, until)
			}
		}
		if len(d.deleted) > 0 && len(answer) < 40 {
			t.Fatal("something was deleted by too few bytes")
		}
	})
}
