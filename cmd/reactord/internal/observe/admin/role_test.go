package admin_test

import (
	"io"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/observe/admin"
	"github.com/reactord/reactord/cmd/reactord/internal/observe/admin/admintest"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest"
)

// ask sends a request as a user, and returns the status and the body.
func ask(t *testing.T, url, method, path, user, password string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	if user != "" {
		r.SetBasicAuth(user, password)
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

// serveAccess serves the API of a daemon with these settings, and returns its URL.
func serveAccess(t *testing.T, access config.Admin) (url string) {
	t.Helper()
	access.Address = "tcp://127.0.0.1:0"
	a, err := admin.ListenAPI(access, zaptest.NewLogger(t))
	if err != nil {
		t.Fatal(err)
	}
	a.Serve(admintest.New(3), zap.NewAtomicLevel(), nil)
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	return strings.Replace(a.Address(), "tcp://", "http://", 1)
}

var parameter = regexp.MustCompile(`\{\w+\}`)

// A user gets nowhere that the role does not allow, whatever the method, and is told which role it takes.
func TestRoles(t *testing.T) {
	file := filepath.Join(t.TempDir(), "web.yml")
	text := "basic_auth_users:\n"
	for _, user := range []string{"grafana", "ops", "boss", "guest"} {
		text += "  " + strings.TrimSuffix(strings.TrimPrefix(users(t, user, "of "+user), "basic_auth_users: {"), "}\n") + "\n"
	}
	overwrite(t, file, text)
	url := serveAccess(t, config.Admin{WebConfigFile: file, Roles: []config.UserRole{
		{User: "grafana", Role: config.ReadRole}, {User: "ops", Role: config.OperatorRole},
		{User: "boss", Role: config.AdminRole},
	}})
	ranks := []string{"read", "operator", "admin"}
	needs := map[string]int{}
	for path, item := range document["paths"].(object) {
		for method, op := range item.(object) {
			method = strings.ToUpper(method)
			required, _ := op.(object)["x-role"].(string)
			rank := slices.Index(ranks, required)
			needs[required]++
			if rank < 0 || (rank == 0) != (method == http.MethodGet) {
				t.Errorf("%s %s requires the role %q", method, path, required)
			}
			for user, has := range map[string]int{"grafana": 0, "guest": 0, "ops": 1, "boss": 2} {
				if has >= rank && method != http.MethodGet {
					continue // it would be done
				}
				at := parameter.ReplaceAllString(path, "a")
				status, body := ask(t, url, method, at, user, "of "+user)
				if has >= rank {
					if status == http.StatusForbidden {
						t.Errorf("%s, %s %s: %s", user, method, at, body)
					}
					continue
				}
				if status != http.StatusForbidden || !strings.Contains(body, "requires the role "+required) ||
					!strings.Contains(body, "the role "+ranks[has]) {
					t.Errorf("%s, %s %s: %d %s", user, method, at, status, body)
				}
			}
		}
	}
	if needs["read"] == 0 || needs["operator"] == 0 || needs["admin"] == 0 {
		t.Errorf("routes by role: %v", needs)
	}
	for _, c := range []struct {
		user, password, method, path string
		want                         int
	}{
		{"ops", "of ops", http.MethodPost, "/v1/reload", http.StatusOK},
		{"boss", "of boss", http.MethodPost, "/v1/upgrade", http.StatusOK},
		{"boss", "of ops", http.MethodPost, "/v1/upgrade", http.StatusUnauthorized},
		{"", "", http.MethodGet, "/v1/status", http.StatusUnauthorized},
		{"grafana", "of grafana", http.MethodGet, "/", http.StatusOK},
		{"grafana", "of grafana", http.MethodHead, "/v1/reload", http.StatusMethodNotAllowed},
	} {
		if status, body := ask(t, url, c.method, c.path, c.user, c.password); status != c.want {
			t.Errorf("%s, %s %s: %d, want %d: %s", c.user, c.method, c.path, status, c.want, body)
		}
	}
	_, body := ask(t, url, http.MethodGet, "/v1/status", "ops", "of ops")
	if !strings.Contains(body, `"role":"operator"`) {
		t.Errorf("the status does not say the role: %s", body)
	}

	overwrite(t, file, "") // nobody has to log in any longer: a name is only claimed
	for _, password := range []string{"", "of boss"} {
		if status, body := ask(t, url, http.MethodPost, "/v1/reload", "boss", password); status != http.StatusForbidden {
			t.Errorf("without users in the file, a claimed name has a role: %d %s", status, body)
		}
	}
}

// The default role is that of an address without users, and admin unless it is set.
func TestDefaultRole(t *testing.T) {
	page := config.StatusPage{}
	for _, c := range []struct {
		access config.Admin
		want   int
	}{
		{config.Admin{}, http.StatusOK},
		{config.Admin{DefaultRole: config.ReadRole}, http.StatusForbidden},
		{config.Admin{DefaultRole: config.OperatorRole}, http.StatusOK},
		{page.Access(), http.StatusForbidden},
	} {
		url := serveAccess(t, c.access)
		status, body := ask(t, url, http.MethodPost, "/v1/reload", "boss", "guessed")
		if status != c.want || status == http.StatusForbidden && !strings.Contains(body, "this address gives the role read") {
			t.Errorf("%+v: %d %s", c.access, status, body)
		}
	}
	path := filepath.Join(t.TempDir(), "admin.sock")
	a, err := admin.ListenAPI(config.Admin{Address: "unix://" + path, Mode: 0o600, DefaultRole: config.ReadRole},
		zaptest.NewLogger(t))
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	a.Serve(admintest.New(0), zap.NewAtomicLevel(), nil)
	client, err := admin.NewClient(admin.Access{Address: a.Address()})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	const want = "POST /v1/reload requires the role operator, and this address gives the role read: see admin.roles"
	if _, _, err := admin.PostReload.Call(t.Context(), client, admin.None{}); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}
