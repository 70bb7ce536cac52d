package cli

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/observe/admin"
	"github.com/reactord/reactord/cmd/reactord/internal/observe/admin/admintest"
	"go.uber.org/zap"
)

var updateTables = flag.Bool("update-tables", false, "write what commands print into testdata")

// serveAdmin serves the admin API of a daemon in memory, and returns its address.
func serveAdmin(t *testing.T, d admin.Daemon) string {
	t.Helper()
	cfg := config.Admin{Address: "unix://" + filepath.Join(t.TempDir(), "admin.sock"), Mode: 0o600}
	a, err := admin.ListenAPI(cfg, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	a.Serve(d, zap.NewAtomicLevel(), nil)
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	return cfg.Address
}

// runCtl runs reactord ctl with arguments.
func runCtl(t *testing.T, address string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	c := command(t, append([]string{"ctl"}, args...)...)
	c.Env = append(c.Env, "REACTORD_ADMIN="+address)
	c.Stdout, c.Stderr = &out, &errs
	_ = c.Run() // the exit code says it
	return c.ProcessState.ExitCode(), out.String(), errs.String()
}

// TestCtl runs commands one after the other against one daemon, and compares what they print, and their exit codes,
// with testdata/ctl.txt.
func TestCtl(t *testing.T) {
	d := admintest.New(4)
	d.By = "ann"
	address := serveAdmin(t, d)
	var got strings.Builder
	for _, args := range []string{
		"status", "plan", "config", "listeners", "backends", "servers", "servers --backend app", "servers --backend none",
		"explain --listener web --from 192.0.2.7 --sni x.test", "explain --listener none",
		"connections", "connections --client 10.0.0.2/31 --limit 1", "connections --min-age 2s --server b",
		"connections --wide", "connections --sort rtt --limit 2", "connections --sort rate --limit 1 --json",
		"connections --sort age", "discovery",
		"set list", "set add blocked 192.0.2.7 --for 1h --why scan", "set add blocked example.org --for -1s",
		"set show blocked", "set show none", "set test 192.0.2.7", "set test 192.0.2.8", "set remove blocked 192.0.2.7",
		"set remove blocked 192.0.2.7",
		"sources", "sources --listener dns --sort bytes --limit 1", "sources --sort age",
		"backend pause app --for 90s", "backends", "status", "backend pause none", "backend pause app --for 25h",
		"backend resume app", "backend resume none",
		"server set app a --state drain --weight 50", "server reset app 192.0.2.1:80", "server reset app a",
		"server set app c --weight 1",
		"server set app a", "server set app a --weight 2000", "server set app a --state off",
		"server add app 192.0.2.3:80 --name c --weight 3 --zone eu-1a", "server add app 192.0.2.3:80",
		"server add none 192.0.2.3:80", "server set app b --health up --for 3h --max-connections 7",
		"server set app b --for 10m", "drain --zone eu-1a --backend app", "drain --network 10.2.0.0/16",
		"drain --network 10.2.0.0/16 --undo", "drain --network 10.2.0.0/16 --undo", "drain --backend app",
		"drain --zone x --hold", "overrides", "server remove app none", "server remove app c --drain", "overrides clear",
		"overrides clear --all", "overrides",
		"close 2 9", "close --server a", "close", "close --all --server a", "close --all", "connections",
		"log-level", "log-level debug", "log-level loud", "reload", "upgrade --wait 0", "drain --show", "drain", "status",
		"loops", "profile", "profile none",
	} {
		code, stdout, stderr := runCtl(t, address, strings.Fields(args)...)
		got.WriteString("$ reactord ctl " + args + "\n" + stdout + stderr)
		if code != 0 {
			got.WriteString("exit code " + string(rune('0'+code)) + "\n")
		}
		got.WriteString("\n")
	}
	compareWith(t, "testdata/ctl.txt", got.String())
}

// compareWith compares what commands have printed with a file.
func compareWith(t *testing.T, golden, got string) {
	t.Helper()
	if *updateTables {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s differs; go test ./cmd/reactord/internal/cli -update-tables writes it:\n%s", golden, diff)
	}
}

// TestCtlJSON prints the API's answers unchanged.
func TestCtlJSON(t *testing.T) {
	address := serveAdmin(t, admintest.New(2))
	client, err := admin.NewClient(admin.Access{Address: address})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	_, want, err := admin.ListListeners.Call(t.Context(), client, admin.None{})
	if err != nil {
		t.Fatal(err)
	}
	if code, stdout, stderr := runCtl(t, address, "listeners", "--json"); stdout != string(want) || code != 0 {
		t.Errorf("%d %s%s, want %s", code, stdout, stderr, want)
	}
	if _, stdout, _ := runCtl(t, address, "connections", "--json"); !strings.HasPrefix(stdout, `{"connections":[{"id":"1"`) {
		t.Errorf("connections: %s", stdout)
	}
	if _, stdout, _ := runCtl(t, address, "openapi"); stdout != string(admin.OpenAPI()) {
		t.Errorf("openapi: %.100s", stdout)
	}
}

// TestCtlManyConnections lists more than a page.
func TestCtlManyConnections(t *testing.T) {
	const n = 2500
	address := serveAdmin(t, admintest.New(n))
	if _, stdout, stderr := runCtl(t, address, "connections"); strings.Count(stdout, "\n") != n+1 {
		t.Errorf("%d lines, %s", strings.Count(stdout, "\n"), stderr)
	}
	if _, stdout, stderr := runCtl(t, address, "connections", "--limit", "1700"); strings.Count(stdout, "\n") != 1701 {
		t.Errorf("%d lines with a limit, %s", strings.Count(stdout, "\n"), stderr)
	}
}

// TestCtlReloadErrors prints what is wrong as check does.
func TestCtlReloadErrors(t *testing.T) {
	d := admintest.New(0)
	d.Err = admintest.Refused
	address := serveAdmin(t, d)
	code, stdout, stderr := runCtl(t, address, "reload")
	if want := d.Err.Error() + "\n"; stderr != want || stdout != "" || code != 1 {
		t.Errorf("%d %q %q, want %q", code, stdout, stderr, want)
	}
	if _, stdout, _ := runCtl(t, address, "status"); !strings.Contains(stdout, "refused:\n             proxy.yaml:3:5: ") {
		t.Errorf("status: %s", stdout)
	}
}

func TestCtlProfile(t *testing.T) {
	address := serveAdmin(t, admintest.New(0))
	file := filepath.Join(t.TempDir(), "heap")
	code, stdout, stderr := runCtl(t, address, "profile", "heap", "-o", file)
	if code != 0 || !strings.Contains(stdout, "go tool pprof "+file) {
		t.Errorf("%d %s%s", code, stdout, stderr)
	}
	if text, err := os.ReadFile(file); err != nil || !bytes.HasPrefix(text, []byte{0x1f, 0x8b}) {
		t.Errorf("%d bytes, %v", len(text), err)
	}
	_, stdout, _ = runCtl(t, address, "profile", "goroutine", "--text")
	if !strings.HasPrefix(stdout, "goroutine profile") {
		t.Errorf("as text: %.100s", stdout)
	}
}

// TestCtlWithoutDaemon says what to do if no daemon answers.
func TestCtlWithoutDaemon(t *testing.T) {
	for _, test := range []struct {
		address string
		code    int
		want    string
	}{
		{"unix:///no/such/socket", 1, "reactord: no reactord answers at unix:///no/such/socket: "},
		{"tcp://127.0.0.1:1", 1, "reactord: no reactord answers at tcp://127.0.0.1:1: "},
		{"tcp://192.0.2.1:1", 2, `reactord: error: "tcp://192.0.2.1:1": plain HTTP requires a loopback address`},
		{"socket", 2, `reactord: error: "socket": write unix:///PATH`},
	} {
		code, stdout, stderr := runCtl(t, test.address, "status")
		if code != test.code || stdout != "" || !strings.HasPrefix(stderr, test.want) {
			t.Errorf("%s: %d %s%s", test.address, code, stdout, stderr)
		}
	}
	if code, _, stderr := runCtl(t, "", "--address", "unix:///no/such/socket", "status"); code != 1 {
		t.Errorf("%d %s", code, stderr)
	}
}

// TestPlain has no control characters in a table.
func TestPlain(t *testing.T) {
	table := newTable("NAME", ">N")
	table.add("a\x1b[2J\nb\u009b", 1)
	table.add("é", 22)
	table.add("", "")
	var b strings.Builder
	table.write(&b, nil)
	const want = "NAME       N\na?[2J?b?   1\né         22\n-          -\n"
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Error(diff)
	}
}

func TestHumanUnits(t *testing.T) {
	for n, want := range map[uint64]string{
		0: "0B", 1023: "1023B", 1024: "1.0KiB", 1536: "1.5KiB", 1 << 20: "1.0MiB", 1<<20 - 1: "1.0MiB", 5 << 40: "5.0TiB",
		1 << 63: "8.0EiB",
	} {
		if got := humanBytes(n); got != want {
			t.Errorf("%d bytes: %s, want %s", n, got, want)
		}
	}
	for s, want := range map[admin.Seconds]string{
		0: "0ms", 0.0123: "12ms", 1.25: "1.2s", 9.96: "10.0s", 59.9: "59s", 61: "1m01s", 3600: "1h00m", 90061: "1d01h",
	} {
		if got := humanTime(s); got != want {
			t.Errorf("%v s: %s, want %s", s, got, want)
		}
	}
}
