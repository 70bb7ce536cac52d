package admin_test

import (
	"io"
	"net/http"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/reactord/reactord/cmd/reactord/internal/observe/admin/admintest"
)

// get makes a request of the page.
func (s *served) get(path string, header ...string) (code int, h http.Header, text string) {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, "http://localhost"+path, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	answer, err := s.http.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer answer.Body.Close()
	all, err := io.ReadAll(answer.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return answer.StatusCode, answer.Header, string(all)
}

// TestStatusPage loads the page with all that it refers to. Nothing of that is elsewhere.
func TestStatusPage(t *testing.T) {
	s := serve(t, admintest.New(1), onSocket(t))
	seen := map[string]bool{}
	var load func(at string)
	load = func(at string) {
		if seen[at] {
			return
		}
		seen[at] = true
		code, h, text := s.get(at)
		if code != http.StatusOK || text == "" {
			t.Fatalf("%s: %d", at, code)
		}
		checkPageHeader(t, at, h)
		if code, _, text := s.get(at, "If-None-Match", h.Get("ETag")); code != http.StatusNotModified || text != "" {
			t.Errorf("%s again: %d with %d bytes", at, code, len(text))
		}
		for _, m := range regexp.MustCompile(`(?:href|src)="([^"#]+)"`).FindAllStringSubmatch(text, -1) {
			load("/" + m[1])
		}
		for _, m := range regexp.MustCompile(`from '\./([^']+)'`).FindAllStringSubmatch(text, -1) {
			load("/page/" + m[1])
		}
		if elsewhere := regexp.MustCompile(`https?://[^'"]*`).FindString(text); elsewhere != "" &&
			elsewhere != "http://www.w3.org/2000/svg" {
			t.Errorf("%s refers to %s", at, elsewhere)
		}
		forbidden := regexp.MustCompile(`<script>|<style|\sstyle=|\son[a-z]+="|innerHTML|\beval\(`)
		if inline := forbidden.FindString(text); inline != "" {
			t.Errorf("%s has %q, which the policy forbids", at, inline)
		}
	}
	load("/")
	files, err := os.ReadDir("page")
	if err != nil || len(files) != len(seen) {
		t.Errorf("%d files, loaded were %v: %v", len(files), seen, err)
	}
}

func checkPageHeader(t *testing.T, at string, h http.Header) {
	t.Helper()
	kinds := map[string]string{"": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
	for name, want := range map[string]string{
		"Content-Type": kinds[path.Ext(at)], "Content-Security-Policy": "default-src 'none'; script-src 'self'; ",
		"X-Content-Type-Options": "nosniff", "Cache-Control": "no-cache", "Referrer-Policy": "no-referrer", "ETag": `"`,
	} {
		if got := h.Get(name); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s: %q, want %q", at, name, got, want)
		}
	}
	if strings.Contains(h.Get("Content-Security-Policy"), "unsafe") {
		t.Errorf("%s: %s", at, h.Get("Content-Security-Policy"))
	}
}

// TestStatusPageIsLocal asks for the page by the name of a site.
func TestStatusPageIsLocal(t *testing.T) {
	s := serve(t, admintest.New(1), "tcp://127.0.0.1:0")
	for _, at := range []string{"/", "/page/main.js", "/v1/snapshot"} {
		if code, _, _ := s.do("GET", at, "", "Host", "site.test"); code != http.StatusForbidden {
			t.Errorf("%s: %d", at, code)
		}
	}
}
