package e2e

import (
	"encoding/json"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reactord/reactord/internal/testenv"
)

// verdicts runs a proxy with a backend for each check of a server, and returns "up", or the reason why the server is
// down, of each.
func verdicts(t *testing.T, ring string, checks map[string]string) map[string]string {
	t.Helper()
	dir := t.TempDir()
	socket := "unix://" + filepath.Join(dir, "admin.sock")
	text := fmt.Sprintf("ring: %s\nloops: 1\nadmin: {address: '%s'}\nlisteners:\n", ring, socket)
	backends := "backends:\n"
	for name, check := range checks {
		addr, settings, _ := strings.Cut(check, " ")
		text += fmt.Sprintf("  - {name: %s, address: '127.0.0.1:0', backend: %s}\n", name, name)
		backends += fmt.Sprintf("  - {name: %s, servers: ['%s'], check: {interval: 1h, fall: 1, rise: 1, timeout: 10s, "+
			"%s}}\n", name, addr, settings)
	}
	file := filepath.Join(dir, "reactord.yaml")
	write(t, file, text+backends)
	d := spawn(t, nil, nil, "serve", "--config", file)
	defer d.stop()
	out := map[string]string{}
	eventually(t, "every server was checked", func() bool {
		r := run(t, "ctl", "--address", socket, "servers", "--json")
		var all struct {
			Servers []struct{ Backend, State, Reason string }
		}
		if r.code != 0 || json.Unmarshal([]byte(r.stdout), &all) != nil {
			return false
		}
		for _, s := range all.Servers {
			switch s.State {
			case "up":
				out[s.Backend] = "up"
			case "down":
				out[s.Backend] = s.Reason
			}
		}
		return len(out) == len(checks)
	})
	if log := d.text(); strings.Contains(log, "s3same") {
		t.Errorf("a password is in the log: %s", log)
	}
	return out
}

func expectVerdicts(t *testing.T, checks map[string]string, want map[string]string) {
	t.Helper()
	onEachRing(t, func(t *testing.T, ring string) {
		got := verdicts(t, ring, checks)
		for name, text := range want {
			if !strings.Contains(got[name], text) {
				t.Errorf("%s: %q, want %q", name, got[name], text)
			}
		}
	})
}

// Checks of PostgreSQL find out whether it lets clients in, and which server is the primary.
func TestCheckPostgreSQL(t *testing.T) {
	t.Parallel()
	hba := map[string]string{
		"pg_hba.conf": "host all test 127.0.0.1/32 trust\nhost all scram 127.0.0.1/32 scram-sha-256\n" +
			"host all clear 127.0.0.1/32 password\nhost all md5 127.0.0.1/32 md5\n",
	}
	primary := postgresWith(t, hba)
	replica := postgresWith(t, map[string]string{"standby.signal": "", "pg_hba.conf": hba["pg_hba.conf"]})
	host, port, _ := net.SplitHostPort(primary)
	sql := "CREATE USER scram PASSWORD 's3same'; CREATE USER clear PASSWORD 's3same'; SET password_encryption = md5; " +
		"CREATE USER md5 PASSWORD 's3same'"
	psql := filepath.Join(postgresBin(t), "psql")
	if r := runCommand(t, psql, "-h", host, "-p", port, "-U", "test", "-d", "postgres", "-c", sql); r.code != 0 {
		t.Fatal(r.stderr)
	}
	const pg = "protocol: postgresql"
	expectVerdicts(t, map[string]string{
		"unnamed": primary + " " + pg, "on-replica": replica + " " + pg,
		"asks":     primary + " " + pg + ", user: scram",
		"primary":  primary + " " + pg + ", user: test, role: primary",
		"replica":  replica + " " + pg + ", user: test, role: replica",
		"wrong":    replica + " " + pg + ", user: test, role: primary",
		"scram":    primary + " " + pg + ", user: scram, password: s3same, role: primary",
		"bad":      primary + " " + pg + ", user: scram, password: s3samee",
		"none":     primary + " " + pg + ", user: scram, role: primary",
		"clear":    primary + " " + pg + ", user: clear, password: s3same",
		"md5":      primary + " " + pg + ", user: md5, password: s3same",
		"database": primary + " " + pg + ", user: test, database: nowhere, role: primary",
		"notls":    primary + " " + pg + ", tls: true",
	}, map[string]string{
		"unnamed": "no pg_hba.conf entry", "on-replica": "no pg_hba.conf entry", "asks": "up", "primary": "up",
		"replica": "up",
		"wrong":   "check failed: role: replica, want primary", "scram": "up",
		"bad": "login: receive: the server answers with an error: \"FATAL 28P01", "none": "write password",
		"clear": "in clear text: use TLS or SCRAM", "md5": "not supported (5)", "database": "3D000",
		"notls": "the server refuses TLS",
	})
}

// Checks of Redis log in and learn the role.
func TestCheckRedis(t *testing.T) {
	t.Parallel()
	program := need(t, "redis-server", "redis-server")
	start := func(args ...string) string {
		addr := testenv.Vacant(t)
		host, port, _ := net.SplitHostPort(addr)
		argv := []string{program, "--bind", host, "--port", port, "--save", "", "--appendonly", "no", "--dir", t.TempDir()}
		launch(t, addr, append(argv, args...)...)
		return addr
	}
	primary := start("--requirepass", "s3same", "--user", "check", "on", ">s3same", "+ping", "+role")
	replica := start("--replicaof", strings.Replace(primary, ":", " ", 1))
	expectVerdicts(t, map[string]string{
		"ping":    replica + " protocol: redis",
		"replica": replica + " protocol: redis, role: replica",
		"wrong":   replica + " protocol: redis, role: primary",
		"noauth":  primary + " protocol: redis",
		"auth":    primary + " protocol: redis, password: s3same",
		"primary": primary + " protocol: redis, user: check, password: s3same, role: primary",
		"bad":     primary + " protocol: redis, password: s3samee",
		"steps":   primary + ` steps: [{send: "AUTH s3same\r\n", expect: "+OK"}, {send: "ROLE\r\n", expect: master}]`,
	}, map[string]string{
		"ping": "up", "replica": "up", "wrong": "role: replica, want primary",
		"noauth": "PING: receive: the server answers \"-NOAUTH",
		"auth":   "up", "primary": "up", "bad": "AUTH: receive: the server answers \"-WRONGPASS", "steps": "up",
	})
}

// Checks of MySQL see the greeting, or log in so that the server does not block this host.
func TestCheckMySQL(t *testing.T) {
	t.Parallel()
	addr := mariadb(t, "--max-connect-errors=2")
	expectVerdicts(t, map[string]string{
		"login":   addr + " protocol: mysql, user: check",
		"unknown": addr + " protocol: mysql, user: nobody",
		"tcp":     addr,
	}, map[string]string{"login": "up", "unknown": "error 1045", "tcp": "up"})
}

// mariadb starts a MariaDB server that lets the user check in without a password, and returns its address.
func mariadb(t *testing.T, settings ...string) string {
	t.Helper()
	program, install := need(t, "mariadbd", "mariadb-server"), need(t, "mariadb-install-db", "mariadb-server")
	dir := t.TempDir()
	data := filepath.Join(dir, "data")
	r := runCommand(t, install, "--no-defaults", "--user=root", "--datadir="+data,
		"--auth-root-authentication-method=normal",
		"--skip-test-db")
	if r.code != 0 {
		t.Fatal(r.stdout, r.stderr)
	}
	addr := testenv.Vacant(t)
	host, port, _ := net.SplitHostPort(addr)
	users := filepath.Join(dir, "users.sql")
	write(t, users, "CREATE USER 'check'@'%';\n")
	argv := []string{program, "--no-defaults", "--user=root", "--datadir=" + data,
		"--socket=" + filepath.Join(dir, "sock"),
		"--bind-address=" + host, "--port=" + port, "--init-file=" + users, "--skip-name-resolve=0"}
	launch(t, addr, append(argv, settings...)...)
	return addr
}
