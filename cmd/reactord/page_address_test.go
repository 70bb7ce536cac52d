package main

import (
	"net/http"
	"strings"
	"testing"

	"github.com/reactord/reactord/internal/testenv"
)

// The second address of the admin API shows the page and changes nothing, beside a socket that does.
func TestPageAddress(t *testing.T) {
	at, sock := testenv.Vacant(t), t.TempDir()+"/admin"
	s := scrapedWith(t, "metrics: 127.0.0.1:0\nadmin: {address: 'unix://"+sock+"', page: {address: 'tcp://"+at+"'}}\n"+
		"listeners: [{name: a, backend: b, address: 127.0.0.1:0}]\nbackends: [{name: b, servers: ['127.0.0.1:1']}]\n")
	s.await(t, `"msg":"status page"`)
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for _, c := range []struct {
		method, path string
		want         int
	}{
		{http.MethodGet, "/", http.StatusOK}, {http.MethodGet, "/v1/snapshot", http.StatusOK},
		{http.MethodPost, "/v1/reload", http.StatusForbidden}, {http.MethodPost, "/v1/drain", http.StatusForbidden},
	} {
		r, err := http.NewRequestWithContext(t.Context(), c.method, "http://"+at+c.path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != c.want {
			t.Errorf("%s %s: %s, want %d", c.method, c.path, answer.Status, c.want)
		}
	}
	if out, err := command(t, "ctl", "--address", "unix://"+sock, "reload").CombinedOutput(); err != nil {
		t.Errorf("a reload by the socket: %v: %s", err, out)
	}
	out, err := command(t, "ctl", "--address", "tcp://"+at, "reload").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "POST /v1/reload requires the role operator, and this address gives") {
		t.Errorf("a reload by the page: %v: %s", err, out)
	}
}
