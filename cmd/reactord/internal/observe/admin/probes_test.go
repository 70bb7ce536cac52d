package admin_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/observe/admin"
	"go.uber.org/zap"
)

// The requests of others do not have a probe refused by the rate limit. Guessing a password is limited there, too.
func TestProbesAreNotLimited(t *testing.T) {
	const limit = "rate_limit: {interval: 24h, burst: 1}\n"
	for name, test := range map[string]struct {
		web, password string
		want          []int // of /livez and the password, /livez again, /readyz, another page, and a wrong password
	}{
		"open":      {limit, "", []int{200, 200, 200, 200, 200}},
		"passwords": {limit + users(t, "ops", "secret"), "secret", []int{200, 200, 200, 429, 429}},
	} {
		t.Run(name, func(t *testing.T) {
			_, file := webFiles(t)
			overwrite(t, file, test.web)
			s, err := admin.Listen("127.0.0.1:0", file, zap.NewNop())
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			s.Serve(http.NotFoundHandler())
			client := http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
			for i, ask := range []struct{ path, password string }{
				{"/livez", test.password}, {"/livez", test.password}, {"/readyz", test.password}, {"/", test.password},
				{"/livez", "guessed"},
			} {
				r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+s.Addr().String()+ask.path, http.NoBody)
				if err != nil {
					t.Fatal(err)
				}
				if ask.password != "" {
					r.SetBasicAuth("ops", ask.password)
				}
				got, err := client.Do(r)
				if err != nil {
					t.Fatal(err)
				}
				got.Body.Close()
				if got.StatusCode != test.want[i] {
					t.Errorf("request %d, %s: %s, want %d", i, ask.path, got.Status, test.want[i])
				}
			}
			if name == "open" { // "/" has used up what there is for other pages
				if got, err := client.Get("http://" + s.Addr().String() + "/"); err != nil || got.StatusCode != 429 {
					t.Errorf("another page: %v, %v", got, err)
				} else {
					got.Body.Close()
				}
			}
		})
	}
}
