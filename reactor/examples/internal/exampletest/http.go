package exampletest

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Curl returns what curl prints of a URL of the program, which must succeed. The certificate is not checked.
func Curl(t *testing.T, args ...string) string {
	t.Helper()
	return Client(t, "curl", append([]string{"--silent", "--show-error", "--fail", "--insecure"}, args...)...)
}

// TestCurl asks an HTTP server for "/", which is "hello"; for "/count", which are the numbers from 1000 down to 1, of a
// length that is not known; and for "/echo", which is what was posted. version is an option of curl.
func TestCurl(t *testing.T, url, version string) {
	t.Helper()
	if got := Curl(t, version, url); got != "hello\n" {
		t.Errorf("%q", got)
	}
	if got := Curl(t, version, url, url, url, "--write-out", "%{num_connects}"); got != "hello\n1hello\n0hello\n0" {
		t.Errorf("the connection is not kept: %q", got)
	}
	var count strings.Builder
	for i := 1000; i > 0; i-- {
		fmt.Fprintln(&count, i)
	}
	if got := Curl(t, version, url+"/count"); got != count.String() {
		t.Errorf("%d bytes of a response without a length, want %d", len(got), count.Len())
	}
	body := bytes.Repeat([]byte("0123456789abcdef"), 3<<20/16)
	file := filepath.Join(t.TempDir(), "body")
	if err := os.WriteFile(file, body, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := Curl(t, version, "--data-binary", "@"+file, url+"/echo"); got != string(body) {
		t.Errorf("posted %d bytes, %d came back", len(body), len(got))
	}
	if got := Curl(t, version, "--data", "x", url+"/echo", url+"/echo", "--write-out", "%{num_connects}"); got != "x1x0" {
		t.Errorf("the connection is not kept after a body: %q", got)
	}
	chunked := []string{version, "--header", "Transfer-Encoding: chunked", "--data-binary", "@" + file, url + "/echo"}
	if got := Curl(t, chunked...); got != string(body) {
		t.Errorf("posted %d bytes in chunks, %d came back", len(body), len(got))
	}
	if out, err := ClientErr(t, "curl", "--silent", "--fail", "--insecure", version, url+"/nothing"); err == nil {
		t.Errorf("what is not there: %q", out)
	}
}

// TestWrk runs wrk for a second, and expects no error.
func TestWrk(t *testing.T, url string) {
	t.Helper()
	out := Client(t, "wrk", "--threads", "1", "--connections", "16", "--duration", "1s", url)
	if strings.Contains(out, "Socket errors") || strings.Contains(out, "Non-2xx") || strings.Contains(out, " 0 requests") {
		t.Errorf("%s", out)
	}
}

// TestH2load makes requests with h2load, and expects an answer to each.
func TestH2load(t *testing.T, url string, args ...string) {
	t.Helper()
	out := Client(t, "h2load", append([]string{"--requests=2000", "--clients=10"}, append(args, url)...)...)
	if !strings.Contains(out, "2000 succeeded, 0 failed, 0 errored, 0 timeout") {
		t.Errorf("%s", out)
	}
}
