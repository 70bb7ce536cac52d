package admin

import (
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.Cleanup(func(int) { http.DefaultClient.CloseIdleConnections() }))
}

func listen(t *testing.T, metrics http.Handler) (*Server, string) {
	t.Helper()
	s, err := Listen("127.0.0.1:0", "", zaptest.NewLogger(t))
	if err != nil {
		t.Fatal(err)
	}
	s.Serve(metrics)
	return s, "http://" + s.Addr().String()
}

func request(t *testing.T, method, url string) (code int, contentType, body string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, answer.Header.Get("Content-Type"), string(text)
}

func TestPaths(t *testing.T) {
	s, url := listen(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, "reactord_up 1\n")
	}))
	defer s.Close()
	const plain, html = "text/plain; charset=utf-8", "text/html; charset=utf-8"
	for _, test := range []struct {
		method, path      string
		code              int
		contentType, body string // body: how it begins
	}{
		{"GET", "/metrics", 200, plain, "reactord_up 1\n"},
		{"GET", "/livez", 200, plain, "alive\n"},
		{"HEAD", "/livez", 200, plain, ""},
		{"POST", "/livez", 405, plain, "Method Not Allowed\n"},
		{"GET", "/", 200, html, "<!doctype html>"},
		{"GET", "/else", 404, plain, "404 page not found\n"},
	} {
		code, contentType, body := request(t, test.method, url+test.path)
		if code != test.code || contentType != test.contentType || !strings.HasPrefix(body, test.body) {
			t.Errorf("%s %s: %d %q %q", test.method, test.path, code, contentType, body)
		}
	}
}

func TestReadiness(t *testing.T) {
	s, url := listen(t, http.NotFoundHandler())
	defer s.Close()
	if code, _, body := request(t, "GET", url+"/readyz"); code != 200 || body != "ready\n" {
		t.Errorf("before a drain: %d %q", code, body)
	}
	s.SetUnready("draining")
	if code, _, body := request(t, "GET", url+"/readyz"); code != 503 || body != "draining\n" {
		t.Errorf("in a drain: %d %q", code, body)
	}
	if code, _, _ := request(t, "GET", url+"/livez"); code != 200 {
		t.Errorf("not alive in a drain: %d", code)
	}
	s.SetReady()
	if code, _, body := request(t, "GET", url+"/readyz"); code != 200 || body != "ready\n" {
		t.Errorf("after a drain that was undone: %d %q", code, body)
	}
}

func TestAddressInUse(t *testing.T) {
	s, _ := listen(t, http.NotFoundHandler())
	defer s.Close()
	if other, err := Listen(s.Addr().String(), "", zap.NewNop()); err == nil {
		other.Close()
		t.Error("two servers at one address")
	}
}

func TestCloseBeforeServe(t *testing.T) {
	s, err := Listen("127.0.0.1:0", "", zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	address := s.Addr().String()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	again, err := Listen(address, "", zap.NewNop())
	if err != nil {
		t.Fatal("the address is still taken: ", err)
	}
	if err := again.Close(); err != nil {
		t.Error(err)
	}
}

// TestCloseDoesNotWaitForAClient closes while a client has sent half a request, and while an answer
// never ends.
func TestCloseDoesNotWaitForAClient(t *testing.T) {
	answering := make(chan struct{})
	s, url := listen(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		close(answering)
		<-r.Context().Done()
	}))
	c, err := net.Dial("tcp", s.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	io.WriteString(c, "GET /livez HT")
	done := make(chan error)
	go func() {
		answer, err := http.Get(url + "/metrics")
		if err == nil {
			answer.Body.Close()
		}
		done <- err
	}()
	<-answering
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := <-done; err == nil {
		t.Error("an answer without end was aborted, and the client saw no error")
	}
}
