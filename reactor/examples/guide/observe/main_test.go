package main

import (
	"context"
	"io"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/reactord/reactord/internal/testenv"
	"github.com/reactord/reactord/reactor/examples/internal/exampletest"
	"github.com/reactord/reactord/reactor/server"
)

func TestMain(m *testing.M) { exampletest.Main(m, main) }

func TestProgram(t *testing.T) {
	observe := testenv.Vacant(t)
	p := exampletest.Start(t, "-observe", observe)
	exampletest.Echo(t, p.Addr)
	for path, want := range map[string]string{
		"/metrics":                       "reactord_reactor_completions_total",
		"/inflight":                      "Accept",
		"/debug/pprof/goroutine?debug=1": "echo",
	} {
		if got := get(t, "http://"+observe+path); !strings.Contains(got, want) {
			t.Errorf("%s has no %q: %s", path, want, got)
		}
	}
}

// A program that is stopped while it starts ends without an error.
func TestStoppedEarly(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := run(ctx, server.Config{Addr: netip.MustParseAddrPort("127.0.0.1:0")}); err != nil {
		t.Error(err)
	}
}

func get(t *testing.T, url string) string {
	t.Helper()
	client := &http.Client{Timeout: exampletest.Deadline}
	defer client.CloseIdleConnections()
	var resp *http.Response
	exampletest.Eventually(t, url, func() (ok bool) {
		var err error
		resp, err = client.Get(url)
		return err == nil
	})
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}
