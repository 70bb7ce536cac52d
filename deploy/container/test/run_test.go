package container

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/moby/profiles/seccomp"
	"github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"
)

// patience is how long anything may take on a slow machine.
const patience = time.Minute

// configuration is that of the daemon in the container.
const configuration = `
metrics: "[::]:9090"
admin: {address: "unix:///run/reactord/admin.sock"}
log: {format: json}
listeners: [{name: a, address: "127.0.0.1:8080", backend: b}]
backends: [{name: b, servers: ["127.0.0.1:8081"]}]
`

// standardProfile is what Docker gives a container.
func standardProfile(t *testing.T) *specs.LinuxSeccomp {
	p, err := seccomp.GetDefaultProfile(withoutCapabilities())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// fileProfile is what Docker makes of seccomp.json.
func fileProfile(t *testing.T) *specs.LinuxSeccomp {
	text, err := os.ReadFile(profileFile)
	if err != nil {
		t.Fatal(err)
	}
	p, err := seccomp.LoadProfile(string(text), withoutCapabilities())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// bundle is the container as runc is told of it. It has a network of its own.
func (i *image) bundle(t *testing.T, profile *specs.LinuxSeccomp) string {
	t.Helper()
	dir, config := t.TempDir(), t.TempDir()
	var user specs.User
	if _, err := fmt.Sscanf(i.Config.User, "%d:%d", &user.UID, &user.GID); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(config, "reactord.yaml"), []byte(configuration), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(config, 0o755); err != nil {
		t.Fatal(err)
	}
	// Without the numbers it would belong to root.
	writable := []string{"nosuid", "nodev", "noexec", fmt.Sprintf("uid=%d,gid=%d", user.UID, user.GID)}
	s := specs.Spec{
		Version: specs.Version,
		Root:    &specs.Root{Path: i.root, Readonly: true},
		Process: &specs.Process{
			User: user, Cwd: "/", Env: i.Config.Env, Args: slices.Concat(i.Config.Entrypoint, i.Config.Cmd),
			NoNewPrivileges: true, Capabilities: &specs.LinuxCapabilities{},
		},
		Mounts: []specs.Mount{
			{Destination: "/proc", Type: "proc", Source: "proc"},
			{Destination: "/dev", Type: "tmpfs", Source: "tmpfs", Options: []string{"nosuid", "mode=755"}},
			{Destination: "/run/reactord", Type: "tmpfs", Source: "tmpfs", Options: writable},
			{Destination: "/etc/reactord", Type: "bind", Source: config, Options: []string{"bind", "ro"}},
		},
		Linux: &specs.Linux{Seccomp: profile},
	}
	for _, kind := range []specs.LinuxNamespaceType{
		specs.PIDNamespace, specs.MountNamespace, specs.IPCNamespace, specs.UTSNamespace, specs.NetworkNamespace,
	} {
		s.Linux.Namespaces = append(s.Linux.Namespaces, specs.LinuxNamespace{Type: kind})
	}
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "config.json"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// A daemon is the process of a container.
type daemon struct {
	t       *testing.T
	image   *image
	state   string // the directory of runc
	id      string
	process *exec.Cmd

	mu    sync.Mutex
	log   bytes.Buffer
	ended chan struct{} // closed when the log has ended
}

// start runs the image, and ends it with the test.
func (i *image) start(t *testing.T, profile *specs.LinuxSeccomp) *daemon {
	t.Helper()
	d := &daemon{t: t, image: i, state: t.TempDir(), ended: make(chan struct{})}
	d.id = fmt.Sprintf("reactord-test-%d-%d", os.Getpid(), time.Now().UnixNano()) // the name of its cgroup, too
	d.process = d.runc("run", "--bundle", i.bundle(t, profile), d.id)
	r, w := io.Pipe()
	d.process.Stdout, d.process.Stderr = w, w
	d.process.WaitDelay = patience
	if err := d.process.Start(); err != nil {
		t.Fatal(err)
	}
	go d.read(r)
	go func() {
		_ = d.process.Wait() // ProcessState has the result
		w.Close()
	}()
	t.Cleanup(func() {
		_ = d.runc("delete", "--force", d.id).Run()
		<-d.ended
		if t.Failed() {
			t.Log(d.text())
		}
	})
	d.await(`"msg":"metrics"`)
	return d
}

func (d *daemon) runc(args ...string) *exec.Cmd {
	c := exec.Command("runc", append([]string{"--root", d.state}, args...)...)
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return c
}

func (d *daemon) read(r io.Reader) {
	defer close(d.ended)
	for s := bufio.NewScanner(r); s.Scan(); {
		d.mu.Lock()
		fmt.Fprintln(&d.log, s.Text())
		d.mu.Unlock()
	}
}

func (d *daemon) text() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.log.String()
}

func (d *daemon) has(text string) bool { return strings.Contains(d.text(), text) }

// await waits until the log has the text.
func (d *daemon) await(text string) {
	d.t.Helper()
	for start := time.Now(); !d.has(text); time.Sleep(time.Millisecond) {
		select {
		case <-d.ended:
			if !d.has(text) {
				d.t.Fatalf("it has ended without %q", text)
			}
		default:
		}
		if time.Since(start) > patience {
			d.t.Fatalf("the log has no %q", text)
		}
	}
}

// in runs a command in the container.
func (d *daemon) in(args ...string) (string, error) {
	out, err := d.runc(slices.Concat([]string{"exec", d.id}, args)...).CombinedOutput()
	return string(out), err
}

// serves checks what the container is good for, and ends it as Docker does.
func (d *daemon) serves(ring string) {
	t := d.t
	t.Helper()
	page, want := d.metrics(), fmt.Sprintf("reactord_io_backend_info{backend=%q,", ring)
	if !strings.Contains(page, want) {
		t.Errorf("%d bytes of metrics have no %s", len(page), want)
	}
	if out, err := d.in(d.image.Config.Healthcheck.Test[1:]...); err != nil || out != "alive\n" {
		t.Errorf("the health check: %v, %q", err, out)
	}
	out, err := d.in("/reactord", "health", "--config", "/etc/reactord/reactord.yaml")
	if err != nil || out != "ready\n" {
		t.Errorf("the health by the file: %v, %q", err, out)
	}
	if out, err := d.in("/reactord", "health", "--address", "127.0.0.1:1"); err == nil {
		t.Errorf("nothing is healthy: %q", out)
	}
	if out, err := d.in("/reactord", "ctl", "status"); err != nil {
		t.Errorf("ctl status: %v, %s", err, out)
	}
	if out, err := d.runc("kill", d.id, d.image.Config.StopSignal).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	select {
	case <-d.ended:
	case <-time.After(patience):
		t.Fatal("it does not end")
	}
	if code := d.process.ProcessState.ExitCode(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// metrics asks from inside of the container's network.
func (d *daemon) metrics() string {
	d.t.Helper()
	var state struct{ Pid int }
	out, err := d.runc("state", d.id).Output()
	if err == nil {
		err = json.Unmarshal(out, &state)
	}
	if err != nil {
		d.t.Fatal(err)
	}
	var page []byte
	asked := make(chan error)
	go func() {
		runtime.LockOSThread() // and not unlocked: the thread ends with its goroutine
		c, err := dialIn(state.Pid, "127.0.0.1:9090")
		if err == nil {
			page, err = get(c, "/metrics")
		}
		asked <- err
	}()
	if err := <-asked; err != nil {
		d.t.Fatal(err)
	}
	return string(page)
}

// dialIn connects in the network of a process, to which it moves its thread.
func dialIn(pid int, address string) (net.Conn, error) {
	network, err := os.Open(fmt.Sprintf("/proc/%d/ns/net", pid))
	if err != nil {
		return nil, err
	}
	defer network.Close()
	if err := unix.Setns(int(network.Fd()), unix.CLONE_NEWNET); err != nil {
		return nil, err
	}
	return net.DialTimeout("tcp", address, patience)
}

func get(c net.Conn, path string) ([]byte, error) {
	defer c.Close()
	request, err := http.NewRequest(http.MethodGet, "http://container"+path, nil)
	if err != nil {
		return nil, err
	}
	request.Close = true
	if err := request.Write(c); err != nil {
		return nil, err
	}
	response, err := http.ReadResponse(bufio.NewReader(c), request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	return io.ReadAll(response.Body)
}
