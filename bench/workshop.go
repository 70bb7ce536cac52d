package main

import (
	"bytes"
	"context"
	"crypto/x509"
	"embed"
	"encoding/pem"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/reactord/reactord/bench/proc"
)

//go:embed reference/*.c reference/*.h
var sources embed.FS

// A workshop is the directory in which a suite builds its peers and writes their configurations, and the settings to
// start them with.
type workshop struct {
	dir       string
	self      []string // this program
	env       []string // additional environment of its children
	serverCPU int
	loadCPU   int
	warmup    time.Duration    // load before a measurement
	settle    time.Duration    // connections are idle for this time before their memory is read
	built     map[string]error // by the name of the program
}

func newWorkshop(serverCPU, loadCPU int) (*workshop, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "reactord-bench-")
	if err != nil {
		return nil, err
	}
	// The servers are measured with their default settings.
	for _, name := range []string{"GOMAXPROCS", "GOGC", "GOMEMLIMIT", "GODEBUG", "REACTORD_RING"} {
		os.Unsetenv(name)
	}
	w := &workshop{dir: dir, self: []string{self}, serverCPU: serverCPU, loadCPU: loadCPU, warmup: 250 * time.Millisecond,
		settle: 3 * time.Second, built: map[string]error{}}
	if err := errors.Join(os.CopyFS(dir, sources), w.writeCertificate()); err != nil {
		w.close()
		return nil, err
	}
	return w, nil
}

func (w *workshop) close() { os.RemoveAll(w.dir) }

// writeCertificate writes the certificate of servers, with its key.
func (w *workshop) writeCertificate() error {
	certificate, err := selfSigned()
	if err != nil {
		return err
	}
	key, err := x509.MarshalPKCS8PrivateKey(certificate.PrivateKey)
	if err != nil {
		return err
	}
	text := append(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate.Certificate[0]}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key})...)
	return os.WriteFile(w.certificate(), text, 0o600)
}

func (w *workshop) certificate() string { return w.path("server.pem") }

// accessLog is the access log of the proxies, one at a time.
func (w *workshop) accessLog() string { return w.path("access.log") }

func (w *workshop) path(name string) string { return filepath.Join(w.dir, name) }

// start starts argv on a CPU.
func (w *workshop) start(ctx context.Context, cpu int, argv []string) (*proc.Child, error) {
	pinned := slices.Concat(w.self, []string{"exec", "--stamp", w.path(execStamp), cpuString(cpu), "--"})
	return proc.Start(ctx, append(pinned, argv...), w.env)
}

// execStamp is the file with the time at which the child that was started last was executed.
const execStamp = "executed"

// executed returns that time.
func (w *workshop) executed() (time.Time, error) { return proc.Executed(w.path(execStamp)) }

// compile builds a server of reference/ and returns the version of the compiler.
func (w *workshop) compile(ctx context.Context, name string, libs ...string) (string, error) {
	args := append([]string{"-O2", "-o", w.path(name), w.path("reference/" + name + ".c")}, libs...)
	if said, err := exec.CommandContext(ctx, "gcc", args...).CombinedOutput(); err != nil {
		return "", fmt.Errorf("gcc: %w %s", err, firstError(said))
	}
	version, err := exec.CommandContext(ctx, "gcc", "-dumpfullversion").Output()
	if err != nil {
		return "", fmt.Errorf("gcc: %w", err)
	}
	built := []string{"gcc " + firstLine(version)}
	for _, lib := range libs {
		lib = "lib" + strings.TrimPrefix(lib, "-l")
		if version, err := exec.CommandContext(ctx, "pkg-config", "--modversion", lib).Output(); err == nil {
			built = append(built, lib+" "+firstLine(version))
		}
	}
	return strings.Join(built, ", "), nil
}

// build builds a Go program in a directory, once.
func (w *workshop) build(ctx context.Context, name, dir string, args ...string) error {
	err, done := w.built[name]
	if !done {
		build := exec.CommandContext(ctx, "go", append([]string{"build", "-o", w.path(name)}, args...)...)
		build.Dir = dir
		if said, failed := build.CombinedOutput(); failed != nil {
			err = fmt.Errorf("go build: %w %s", failed, firstError(said))
		}
		w.built[name] = err
	}
	return err
}

// buildReactord builds the daemon from the module that the working directory is in.
func (w *workshop) buildReactord(ctx context.Context) (string, error) {
	return runtime.Version(), w.build(ctx, "reactord", "", "github.com/reactord/reactord/cmd/reactord")
}

// buildPeers builds the nested module peers/ with the tags that it needs, and returns the version of the library.
func (w *workshop) buildPeers(ctx context.Context, library string) (string, error) {
	list := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "github.com/reactord/reactord")
	dir, err := list.Output()
	if err != nil {
		return "", fmt.Errorf("go list: %w", err)
	}
	if err := w.build(ctx, "peers", filepath.Join(firstLine(dir), "bench", "peers"), "-tags", "poll_opt,gc_opt",
		"."); err != nil {
		return "", err
	}
	version, err := exec.CommandContext(ctx, w.path("peers"), library, "version").Output()
	return firstLine(version) + ", " + runtime.Version(), err
}

// firstError returns the first line of a compiler's output that reports an error.
func firstError(said []byte) string {
	rest := []byte{}
	for line := range bytes.Lines(said) {
		if bytes.Contains(line, []byte("error:")) || bytes.Contains(line, []byte("cannot find")) {
			return strings.TrimSpace(string(line))
		}
		if !bytes.HasPrefix(line, []byte("go: downloading")) {
			rest = append(rest, line...)
		}
	}
	return firstLine(rest)
}

// freeAddress returns an address of 127.0.0.1 that is free for TCP and UDP. Its port is below the ephemeral ports, so
// that no connection takes it before the server listens.
func freeAddress() (string, error) {
	const first, tries = 10000, 100
	end := 32768 // the default of net.ipv4.ip_local_port_range
	if text, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range"); err == nil {
		low := 0
		if _, err := fmt.Sscan(string(text), &low); err == nil && low > first {
			end = low
		}
	}
	for range tries {
		address := fmt.Sprintf("127.0.0.1:%d", first+rand.IntN(end-first))
		stream, err := net.Listen("tcp4", address)
		if err != nil {
			continue
		}
		defer stream.Close()
		datagrams, err := net.ListenPacket("udp4", address)
		if err != nil {
			continue
		}
		defer datagrams.Close()
		return address, nil
	}
	return "", fmt.Errorf("no free port between %d and %d in %d tries", first, end, tries)
}
