package admin_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/reactord/reactord/cmd/reactord/internal/observe/admin"
	"github.com/reactord/reactord/cmd/reactord/internal/observe/admin/admintest"
	"go.uber.org/zap"
)

// FuzzRequest makes any request. The answer is what the document says: a problem, or a value that its schema describes.
func FuzzRequest(f *testing.F) {
	for _, r := range requests {
		f.Add(r.method, r.path, r.body)
	}
	f.Add("GET", "/v1/connections?client=::ffff:1.2.3.4/97&min_age=1e3h", "")
	f.Add("PATCH", "/v1/backends/%2f/servers/%00", `{"weight":1e2}`)
	f.Fuzz(func(t *testing.T, method, path, body string) {
		if _, err := url.ParseRequestURI(path); err != nil || !strings.HasPrefix(path, "/") || !isMethod(method) ||
			strings.Contains(path, "/profiles/") { // which take their time
			return
		}
		r, err := http.NewRequest(method, "http://localhost"+path, strings.NewReader(body))
		if err != nil {
			return
		}
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		admin.Handler(admintest.New(3), zap.NewAtomicLevel(), zap.NewNop()).ServeHTTP(w, r)
		answer := w.Result()
		text, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		checkAnswer(t, r, answer, text)
	})
}

// isMethod reports whether a client can send the method.
func isMethod(method string) bool {
	return method != "" && strings.Trim(method, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == "" && method != http.MethodConnect
}

func checkAnswer(t *testing.T, r *http.Request, answer *http.Response, text []byte) {
	t.Helper()
	kind := answer.Header.Get("Content-Type")
	switch {
	case answer.StatusCode/100 == 3: // a path that is not in its shortest form
	case answer.StatusCode == http.StatusInternalServerError:
		t.Errorf("%s %s: %s", r.Method, r.URL, text)
	case answer.StatusCode >= 400:
		var p admin.Problem
		if err := json.Unmarshal(text, &p); err != nil || p.Detail == "" || p.Status != answer.StatusCode ||
			kind != "application/problem+json" {
			t.Errorf("%s %s: %d %s %s: %v", r.Method, r.URL, answer.StatusCode, kind, text, err)
		}
	case kind == "application/json":
		var value any
		if err := json.Unmarshal(text, &value); err != nil {
			t.Fatalf("%s %s: %s: %v", r.Method, r.URL, text, err)
		}
		schema := document.answer(r.Method, r.URL.EscapedPath(), answer.StatusCode)
		if schema == nil {
			t.Fatalf("%s %s: %d is not in the document", r.Method, r.URL, answer.StatusCode)
		}
		if err := document.validate(schema, value); err != nil {
			t.Errorf("%s %s: %s: %v", r.Method, r.URL, text, err)
		}
	}
}
