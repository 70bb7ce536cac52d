package discovery

import (
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
)

const oneTarget = `[{"targets": ["10.0.0.1:80"], "labels": {"weight": "2"}}]`

// httpSource is a source that asks often.
func httpSource(url string, change ...func(*config.HTTPDiscovery)) *HTTP {
	cfg := config.NewHTTPDiscovery()
	cfg.URL, cfg.Interval = url, 20*time.Millisecond
	for _, f := range change {
		f(&cfg)
	}
	return NewHTTP(cfg)
}

// answering is a server that answers with the handler of the moment.
type answering struct {
	handler atomic.Pointer[http.HandlerFunc]
}

func (a *answering) set(h http.HandlerFunc) { a.handler.Store(&h) }

func (a *answering) ServeHTTP(w http.ResponseWriter, r *http.Request) { (*a.handler.Load())(w, r) }

func text(s string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, s) }
}

func TestHTTP(t *testing.T) {
	var h answering
	h.set(text(oneTarget))
	s := httptest.NewServer(&h)
	defer s.Close()
	source := httpSource(s.URL+"/sd", func(*config.HTTPDiscovery) {})
	r := start(t, source)
	one := []string{"10.0.0.1:80 w2 p0"}
	if got := r.await(one...); got[0].Origin != s.URL+"/sd" {
		t.Errorf("%+v", got)
	}
	for _, test := range []struct {
		handler http.HandlerFunc
		text    string
	}{
		{func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) }, "status 500"},
		{func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(204) }, "status 204"},
		{text("[\n<html>"), "2:1: not JSON"},
		{text(""), "not JSON"},
		{text(strings.Repeat(" ", maxContent+1)), "larger than 8MiB"},
		{func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, "[")
		}, "unexpected EOF"},
		{func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/sd", http.StatusFound) }, "redirects"},
	} {
		h.set(test.handler)
		if got := r.awaitError(test.text); !slices.Equal(addresses(got.servers), one) && got.servers != nil {
			t.Errorf("%v", got)
		} else if !strings.HasPrefix(got.err.Error(), s.URL+"/sd: ") {
			t.Errorf("the error does not name the URL: %v", got.err)
		}
		h.set(text(oneTarget))
		r.await(one...)
	}
	h.set(text("[]"))
	r.await()
	if s := source.Stats(); s.Lookups[ResultInvalid] == 0 || s.Lookups[ResultError] == 0 {
		t.Errorf("%+v", s)
	}
}

// A server that does not answer in time changes nothing.
func TestHTTPTimeout(t *testing.T) {
	var h answering
	h.set(text(oneTarget))
	s := httptest.NewServer(&h)
	defer s.Close()
	source := httpSource(s.URL+"/sd", func(c *config.HTTPDiscovery) { c.Timeout = 500 * time.Millisecond })
	r := start(t, source)
	one := []string{"10.0.0.1:80 w2 p0"}
	r.await(one...)
	h.set(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	if got := r.awaitError("context deadline exceeded"); !slices.Equal(addresses(got.servers), one) && got.servers != nil {
		t.Errorf("%v", got)
	} else if !strings.HasPrefix(got.err.Error(), s.URL+"/sd: ") {
		t.Errorf("the error does not name the URL: %v", got.err)
	}
	h.set(text(oneTarget))
	r.await(one...)
	if s := source.Stats(); s.Lookups[ResultTimeout] == 0 {
		t.Errorf("%+v", s)
	}
}

// A server dies, and comes back on its port.
func TestHTTPServerRestarts(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	serve := func(l net.Listener, body string) func() {
		s, ended := &http.Server{Handler: text(body)}, make(chan struct{})
		go func() { defer close(ended); _ = s.Serve(l) }()
		return func() { s.Close(); <-ended }
	}
	stop := serve(l, oneTarget)
	r := start(t, httpSource("http://"+addr))
	r.await("10.0.0.1:80 w2 p0")
	stop()
	r.awaitError("connection refused")
	if l, err = net.Listen("tcp", addr); err != nil {
		t.Fatal(err)
	}
	defer serve(l, `[{"targets": ["10.0.0.2:80"]}]`)()
	r.await("10.0.0.2:80 w1 p0")
}

func TestHTTPRequest(t *testing.T) {
	dir := t.TempDir()
	token := filepath.Join(dir, "token")
	replace(t, token, "first\n")
	requests := make(chan *http.Request, 1000)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests <- r
		w.Header().Set("ETag", `"1"`)
		if r.Header.Get("If-None-Match") == `"1"` {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		_, _ = io.WriteString(w, oneTarget)
	}))
	defer s.Close()
	source := httpSource(s.URL, func(c *config.HTTPDiscovery) {
		c.TokenFile, c.Interval = token, 1500*time.Millisecond/50
	})
	r := start(t, source)
	r.await("10.0.0.1:80 w2 p0")
	q := <-requests
	for name, want := range map[string]string{
		"Authorization": "Bearer first", "Accept": "application/json", "X-Prometheus-Refresh-Interval-Seconds": "0.03",
		"If-None-Match": "",
	} {
		if got := q.Header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if q = <-requests; q.Header.Get("If-None-Match") != `"1"` {
		t.Errorf("%v", q.Header)
	}
	replace(t, token, "second")
	eventually(t, "the new token is used", func() bool {
		return (<-requests).Header.Get("Authorization") == "Bearer second"
	})
	eventually(t, "it has asked three times", func() bool { return source.Stats().Lookups[ResultOK] >= 3 })
	if len(r.reports) != 0 {
		t.Errorf("the same servers are reported %d times", len(r.reports))
	}
	if err := os.Remove(token); err != nil {
		t.Fatal(err)
	}
	r.awaitError("token_file: ")
}

func TestHTTPAuthority(t *testing.T) {
	s := httptest.NewUnstartedServer(text(oneTarget))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	defer s.Close()
	ca := filepath.Join(t.TempDir(), "ca.pem")
	replace(t, ca, "nothing")
	r := start(t, httpSource(s.URL, func(c *config.HTTPDiscovery) { c.CAFile = ca }))
	r.awaitError("no certificate in PEM form")
	replace(t, ca, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})))
	r.await("10.0.0.1:80 w2 p0")
	if got := start(t, httpSource(s.URL)).next(); got.err == nil || !strings.Contains(fmt.Sprint(got.err), "certificate") {
		t.Errorf("without certificate authority: %v", got)
	}
}

// A password is not shown.
func TestHTTPPassword(t *testing.T) {
	r := start(t, httpSource("http://user:secret@127.0.0.1:1/"))
	if got := r.next(); strings.Contains(got.err.Error(), "secret") {
		t.Error(got.err)
	}
}
