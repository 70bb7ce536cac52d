package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reactord/reactord/reactor/examples/internal/exampletest"
)

func TestMain(m *testing.M) { exampletest.Main(m, main) }

// files makes a directory with a site in it, and a file beside the site that clients must not get.
func files(t *testing.T) (root string, large []byte) {
	t.Helper()
	dir := t.TempDir()
	root = filepath.Join(dir, "site")
	large = bytes.Repeat([]byte("0123456789abcdef"), 3<<20/16)
	for name, data := range map[string][]byte{
		"secret":               []byte("secret\n"),
		"site/index.html":      []byte("<p>hello</p>\n"),
		"site/large.bin":       large,
		"site/empty":           nil,
		"site/sub/index.html":  []byte("<p>sub</p>\n"),
		"site/with space.html": []byte("space\n"),
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root, large
}

func TestCurl(t *testing.T) {
	root, large := files(t)
	exampletest.OnRings(t, func(t *testing.T, ring string) {
		p := exampletest.Start(t, "-ring", ring, "-root", root)
		curl := func(args ...string) string {
			t.Helper()
			args = append([]string{"--silent", "--path-as-is", "--write-out", "%{http_code}"}, args...)
			return exampletest.Client(t, "curl", args...)
		}
		url := "http://" + p.Addr
		for _, test := range []struct{ path, want string }{
			{"/", "<p>hello</p>\n200"},
			{"/sub/", "<p>sub</p>\n200"},
			{"/sub", "404"},
			{"/empty", "200"},
			{"/with%20space.html", "space\n200"},
			{"/nothing", "404"},
			{"/index.html/x", "404"},
			{"/../secret", "404"},
			{"/sub/../../secret", "404"},
			{"/%2e%2e/secret", "404"},
			{"/..%2fsecret", "404"},
			{"/%00", "500"},
		} {
			if got := curl(url + test.path); got != test.want {
				t.Errorf("%s: %q, want %q", test.path, got, test.want)
			}
		}
		if got := curl(url + "/large.bin"); got != string(large)+"200" {
			t.Errorf("%d bytes of %d", len(got)-3, len(large))
		}
		// Several responses on one connection.
		got := curl(url+"/large.bin", url+"/", url+"/sub/")
		if !strings.HasSuffix(got, "200<p>hello</p>\n200<p>sub</p>\n200") {
			t.Errorf("%q", got[max(0, len(got)-100):])
		}
		if got := curl("--range", "16-31", url+"/large.bin"); got != "0123456789abcdef206" {
			t.Errorf("a range: %q", got)
		}
		if got := curl("--range", "4000000-", url+"/large.bin"); got != "416" {
			t.Errorf("a range outside of the file: %q", got)
		}
		if got := curl("--head", url+"/large.bin"); !strings.Contains(got, "Content-Length: 3145728\r\n") {
			t.Errorf("HEAD: %q", got)
		}
		if got := curl("--data", "x", url+"/"); got != "405" {
			t.Errorf("POST: %q", got)
		}
	})
}

// The server survives a shortage of descriptors.
func TestShortage(t *testing.T) {
	root, _ := files(t)
	exampletest.TestShortage(t, func(t *testing.T, p *exampletest.Program) {
		if got := exampletest.Client(t, "curl", "--silent", "--fail", "http://"+p.Addr); got != "<p>hello</p>\n" {
			t.Errorf("%q", got)
		}
	}, "-root", root)
}
