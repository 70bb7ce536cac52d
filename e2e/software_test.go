package e2e

import (
	"bytes"
	"crypto/sha256"
	"encoding/csv"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/reactord/reactord/internal/testenv"
)

// launch starts a server and waits until it accepts connections at addr. The server is killed when the test ends.
func launch(t *testing.T, addr string, argv ...string) {
	t.Helper()
	launchAs(t, nil, addr, argv...)
}

// launchAs is launch as a user; nil: the same user.
func launchAs(t *testing.T, as *syscall.Credential, addr string, argv ...string) {
	t.Helper()
	var output bytes.Buffer
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stdout, cmd.Stderr = &output, &output
	// Its own process group, so that its workers are killed with it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL, Credential: as}
	if as != nil {
		cmd.Dir = "/" // the user may not see this one
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	exited := make(chan struct{})
	go func() { defer close(exited); _ = cmd.Wait() }()
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		<-exited
		if t.Failed() {
			t.Logf("%s\n%s", strings.Join(argv, " "), output.String())
		}
	})
	// To connect would tell as much, but a proxy would pass that on to its server.
	eventually(t, argv[0]+" listens", func() bool { return listens(cmd.Process.Pid, addr) })
}

// redis starts a redis server that keeps nothing, and returns its address.
func redis(t *testing.T) string {
	t.Helper()
	program := need(t, "redis-server", "redis-server")
	addr := testenv.Vacant(t)
	host, port, _ := net.SplitHostPort(addr)
	launch(t, addr, program, "--bind", host, "--port", port, "--save", "", "--appendonly", "no", "--dir", t.TempDir())
	return addr
}

func TestRedis(t *testing.T) {
	cli, benchmark := need(t, "redis-cli", "redis-tools"), need(t, "redis-benchmark", "redis-tools")
	onEachRing(t, func(t *testing.T, ring string) {
		d := startProxy(t, ring, []string{redis(t)})
		host, port, _ := net.SplitHostPort(d.addr)

		t.Run("redis-cli", func(t *testing.T) {
			command := func(stdin []byte, args ...string) string {
				cmd := exec.CommandContext(t.Context(), cli, append([]string{"-h", host, "-p", port}, args...)...)
				cmd.Stdin = bytes.NewReader(stdin)
				out, err := cmd.CombinedOutput()
				if err != nil {
					t.Fatalf("redis-cli %v: %v\n%s", args, err, out)
				}
				return strings.TrimSuffix(string(out), "\n")
			}
			value := []byte(fmt.Sprintf("%x", bulk)) // 2 MiB that redis-cli prints as they are
			if got := command(value, "-x", "SET", "key"); got != "OK" {
				t.Errorf("SET: %q", got)
			}
			if got := command(nil, "GET", "key"); got != string(value) {
				t.Errorf("GET returns %d bytes that are not the %d set", len(got), len(value))
			}
		})
		t.Run("redis-benchmark", func(t *testing.T) {
			r := runCommand(t, benchmark, "-h", host, "-p", port, "-t", "ping_mbulk,set,get,lrange_100", "-n", "100000",
				"-c", "50", "-P", "16", "-d", "128", "--csv")
			if r.code != 0 {
				t.Fatalf("exit code %d: %s%s", r.code, r.stdout, r.stderr)
			}
			rows, err := csv.NewReader(strings.NewReader(r.stdout)).ReadAll()
			if err != nil {
				t.Fatal(err)
			}
			measured := map[string]bool{}
			for _, row := range rows[1:] { // after the heading: test, requests per second, …
				if rps, err := strconv.ParseFloat(row[1], 64); err != nil || rps <= 0 {
					t.Errorf("%s: %q requests/s", row[0], row[1])
				}
				measured[strings.Fields(row[0])[0]] = true
				t.Logf("%s: %s requests/s", row[0], row[1])
			}
			for _, test := range []string{"PING_MBULK", "SET", "GET", "LRANGE_100"} {
				if !measured[test] {
					t.Errorf("no figure for %s", test)
				}
			}
		})
		d.stop()
	})
}

// nginx starts an nginx that serves the files of dir, and returns its address.
func nginx(t *testing.T, dir string) string {
	t.Helper()
	program := need(t, "nginx", "nginx-light")
	addr := testenv.Vacant(t)
	home := t.TempDir()
	config := filepath.Join(home, "nginx.conf")
	err := os.WriteFile(config, fmt.Appendf(nil, `
daemon off; pid %[1]s/pid; error_log stderr; worker_processes 1; user root;
events { worker_connections 1024; }
http {
	access_log off; sendfile on; default_type application/octet-stream;
	client_body_temp_path %[1]s/body; proxy_temp_path %[1]s/proxy; fastcgi_temp_path %[1]s/fastcgi;
	uwsgi_temp_path %[1]s/uwsgi; scgi_temp_path %[1]s/scgi;
	server { listen %[2]s; root %[3]s; }
}`, home, addr, dir), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	launch(t, addr, program, "-p", home, "-e", "stderr", "-c", config)
	return addr
}

// seeded writes a file of the size in which all MiB differ, and returns its SHA-256.
func seeded(t *testing.T, path string, size int) (sum [sha256.Size]byte) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	hash := sha256.New()
	block := bytes.Clone(bulk)
	for i := range size / len(block) {
		copy(block, strconv.Itoa(i))
		hash.Write(block)
		if _, err := f.Write(block); err != nil {
			t.Fatal(err)
		}
	}
	return [sha256.Size]byte(hash.Sum(nil))
}

func TestNginx(t *testing.T) {
	const size = 1 << 30
	curl := need(t, "curl", "curl")
	need(t, "nginx", "nginx-light")
	dir := t.TempDir()
	want := seeded(t, filepath.Join(dir, "large"), size)
	for i := range 20 {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprint("small", i)), bulk[:i*1000], 0o644); err != nil {
			t.Fatal(err)
		}
	}
	onEachRing(t, func(t *testing.T, ring string) {
		d := startProxy(t, ring, []string{nginx(t, dir)})
		t.Run("1 GiB", func(t *testing.T) {
			if got := download(t, curl, "http://"+d.addr+"/large"); got != want {
				t.Errorf("SHA-256 %x, want %x", got, want)
			}
		})
		t.Run("files over one connection", func(t *testing.T) {
			r := runCommand(t, curl, "--silent", "--fail", "http://"+d.addr+"/small[0-19]")
			var all []byte
			for i := range 20 {
				all = append(all, bulk[:i*1000]...)
			}
			if r.code != 0 || r.stdout != string(all) {
				t.Errorf("exit code %d and %d bytes, want %d: %s", r.code, len(r.stdout), len(all), r.stderr)
			}
		})
		d.stop()
	})
}

// download fetches a page with curl and returns the SHA-256 of what arrived.
func download(t *testing.T, curl, url string) (sum [sha256.Size]byte) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), curl, "--silent", "--show-error", "--fail", url)
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	hash := sha256.New()
	_, copied := io.Copy(hash, stdout)
	if err := cmd.Wait(); err != nil || copied != nil {
		t.Fatalf("curl: %v, %v", err, copied)
	}
	return [sha256.Size]byte(hash.Sum(nil))
}

// sumOf returns the SHA-256 of a file.
func sumOf(t *testing.T, path string) (sum [sha256.Size]byte) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	hash := sha256.New()
	if _, err := io.Copy(hash, f); err != nil {
		t.Fatal(err)
	}
	return [sha256.Size]byte(hash.Sum(nil))
}
