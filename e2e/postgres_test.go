package e2e

import (
	"bytes"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/reactord/reactord/internal/testenv"
)

// postgres starts a PostgreSQL server with an empty database and further arguments, and returns its address. It does
// not run as root.
func postgres(t *testing.T, settings ...string) string {
	t.Helper()
	return postgresWith(t, nil, settings...)
}

// postgresWith is the same with files of its data folder, by their names.
func postgresWith(t *testing.T, files map[string]string, settings ...string) string {
	t.Helper()
	bin := postgresBin(t)
	as := postgresUser(t)
	home, err := os.MkdirTemp("", "reactord-postgres-") //nolint:usetesting // another user must be able to enter it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(home) })
	if err := os.Chown(home, int(as.Uid), int(as.Gid)); err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(home, "data")
	initdb := exec.Command(filepath.Join(bin, "initdb"), "-D", data, "-U", "test", "-A", "trust", "-N", "--locale=C")
	initdb.SysProcAttr = &syscall.SysProcAttr{Credential: as}
	initdb.Dir = home
	if out, err := initdb.CombinedOutput(); err != nil {
		t.Fatalf("initdb: %v\n%s", err, out)
	}
	for name, text := range files {
		file := filepath.Join(data, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(file, int(as.Uid), int(as.Gid)); err != nil {
			t.Fatal(err)
		}
	}
	addr := testenv.Vacant(t)
	host, port, _ := net.SplitHostPort(addr)
	argv := []string{filepath.Join(bin, "postgres"), "-D", data, "-k", home, "-h", host, "-p", port, "-F"}
	launchAs(t, as, addr, append(argv, settings...)...)
	eventually(t, "PostgreSQL accepts connections", func() bool {
		return exec.Command(filepath.Join(bin, "pg_isready"), "-q", "-h", host, "-p", port).Run() == nil
	})
	return addr
}

// postgresBin is the folder of PostgreSQL's programs, which Debian keeps out of the path.
func postgresBin(t *testing.T) string {
	t.Helper()
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin")
	if len(found) == 0 {
		missing(t, "PostgreSQL is not installed; it is in Debian's package postgresql")
	}
	return found[len(found)-1]
}

func postgresUser(t *testing.T) *syscall.Credential {
	t.Helper()
	u, err := user.Lookup("postgres")
	if err != nil {
		missing(t, err.Error())
	}
	uid, _ := strconv.Atoi(u.Uid)
	gid, _ := strconv.Atoi(u.Gid)
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
}

// A database: a server that speaks first, many short transactions, and bulk in both directions by COPY.
func TestPostgres(t *testing.T) {
	t.Parallel()
	bin := postgresBin(t)
	addr := postgres(t)
	onEachRing(t, func(t *testing.T, ring string) {
		d := startProxy(t, ring, []string{addr})
		host, port, _ := net.SplitHostPort(d.addr)
		psql := func(stdin []byte, sql string) []byte {
			t.Helper()
			cmd := exec.CommandContext(t.Context(), filepath.Join(bin, "psql"), "-XqAt", "-v", "ON_ERROR_STOP=1",
				"-h", host, "-p", port, "-U", "test", "-d", "postgres", "-c", sql)
			cmd.Env = append(cleanEnv(), "PGSSLMODE=prefer")
			cmd.Stdin = bytes.NewReader(stdin)
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			out, err := cmd.Output()
			if err != nil {
				t.Fatalf("%s: %v\n%s", sql, err, stderr.Bytes())
			}
			return out
		}
		t.Run("COPY", func(t *testing.T) {
			var rows bytes.Buffer
			for i := range 100_000 {
				rows.WriteString(strconv.Itoa(i) + "\t" + strings.Repeat(strconv.Itoa(i), 20) + "\n")
			}
			psql(nil, "DROP TABLE IF EXISTS bulk; CREATE TABLE bulk (i int, text text)")
			psql(rows.Bytes(), "COPY bulk FROM STDIN")
			if got := psql(nil, "COPY (SELECT * FROM bulk ORDER BY i) TO STDOUT"); !bytes.Equal(got, rows.Bytes()) {
				t.Errorf("COPY returns %d bytes that differ from the %d sent, from %d on", len(got), rows.Len(),
					mismatch(got, rows.Bytes()))
			}
		})
		t.Run("pgbench", func(t *testing.T) {
			run := func(args ...string) string {
				t.Helper()
				common := []string{filepath.Join(bin, "pgbench"), "-h", host, "-p", port, "-U", "test"}
				r := runCommand(t, append(append(common, args...), "postgres")...)
				if r.code != 0 {
					t.Fatalf("exit code %d: %s%s", r.code, r.stdout, r.stderr)
				}
				return r.stdout
			}
			run("-i", "-q", "-s", "1")
			for _, args := range [][]string{
				{"-n", "-c", "10", "-j", "2", "-t", "200"},
				{"-n", "-S", "-C", "-c", "4", "-j", "2", "-t", "50"}, // a connection for each transaction
			} {
				if out := run(args...); !strings.Contains(out, "number of failed transactions: 0 ") {
					t.Errorf("%v: %s", args, out)
				}
			}
		})
		d.stop()
	})
}
