package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/source/xds/ads"
	"github.com/reactord/reactord/cmd/reactord/internal/source/xds/xdstest"
	"github.com/reactord/reactord/internal/testenv"
	"google.golang.org/protobuf/proto"
)

// fleetProxy is a reactord that follows a control plane.
type fleetProxy struct {
	*exec.Cmd
	t       *testing.T
	metrics string
	listen  string // an address that is free for listeners
	log     logFile
}

// logFile is the log: a file, since a process that takes over has it, too.
type logFile struct{ path string }

func (l logFile) text() string {
	text, err := os.ReadFile(l.path)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// follow starts a reactord that follows a control plane. settings are further ones of xds, as lines.
func follow(t *testing.T, plane *xdstest.Server, dir, settings string) *fleetProxy {
	t.Helper()
	p := &fleetProxy{t: t, metrics: testenv.Vacant(t), listen: testenv.Vacant(t)}
	text := fmt.Sprintf("metrics: %s\nadmin: {address: 'unix://%s/admin'}\nring: epoll\nloops: 1\n"+
		"xds:\n  servers: ['%s']\n  node: {id: test}\n  reconnect: {min: 10ms, max: 100ms}\n%s",
		p.metrics, dir, plane.URL, settings)
	if err := os.WriteFile(filepath.Join(dir, "f.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	p.Cmd = command(t, "serve", "-c", filepath.Join(dir, "f.yaml"))
	p.log.path = filepath.Join(t.TempDir(), "log")
	out, err := os.Create(p.log.path)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	p.Stderr = out
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(p.log.text())
		}
	})
	return p
}

// eventually waits until f says nothing.
func eventually(t *testing.T, what string, f func() error) {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for {
		err := f()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: %v", what, err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func (p *fleetProxy) ready() error {
	r, err := http.Get("http://" + p.metrics + "/readyz")
	if err != nil {
		return err
	}
	defer r.Body.Close()
	if r.StatusCode != http.StatusOK {
		return fmt.Errorf("%s", r.Status)
	}
	return nil
}

// says is whether a connection to the listener leads to the server of this name.
func (p *fleetProxy) says(want string) error {
	c, err := net.Dial("tcp", p.listen)
	if err != nil {
		return err
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(5 * time.Second))
	got, err := io.ReadAll(c)
	if err != nil || string(got) != want {
		return fmt.Errorf("got %q, %w, want %q", got, err, want)
	}
	return nil
}

// ctl is what reactord ctl prints.
func (p *fleetProxy) ctl(dir string, args ...string) string {
	p.t.Helper()
	out, err := command(p.t, append([]string{"ctl", "--address", "unix://" + dir + "/admin"}, args...)...).CombinedOutput()
	if err != nil {
		p.t.Errorf("ctl %v: %v: %s", args, err, out)
	}
	return string(out)
}

func (p *fleetProxy) stop() {
	p.t.Helper()
	if err := p.Process.Signal(syscall.SIGTERM); err != nil {
		p.t.Fatal(err)
	}
	if err := p.Wait(); err != nil {
		p.t.Errorf("%v: %s", err, p.log.text())
	}
}

// namedServer accepts connections and says its name.
func namedServer(t *testing.T, name string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(c, name)
			c.Close()
		}
	}()
	t.Cleanup(func() {
		l.Close()
		<-ended
	})
	return l.Addr().String()
}

// A process follows a control plane, outlives it, and starts without it.
func TestControlPlane(t *testing.T) {
	defer http.DefaultClient.CloseIdleConnections()
	plane, dir := xdstest.New(t), t.TempDir()
	one, two := namedServer(t, "one"), namedServer(t, "two")
	p := follow(t, plane, dir, "  last_good: "+filepath.Join(dir, "last")+"\n")
	eventually(t, "it answers", func() error {
		if err := p.ready(); err == nil || !strings.Contains(err.Error(), "503") {
			return fmt.Errorf("ready: %v", err)
		}
		return nil
	})
	plane.Serve("web", p.listen, one)
	eventually(t, "the first server", func() error { return p.says("one") })
	eventually(t, "ready", p.ready)
	plane.Set(ads.Endpoints, map[string]proto.Message{"web": xdstest.Endpoints("web", two)})
	eventually(t, "the second server", func() error { return p.says("two") })
	plane.Set(ads.Listener, map[string]proto.Message{"taken": xdstest.Listener("taken", p.metrics, "web")})
	eventually(t, "a NACK", func() error {
		if _, nacks, _ := plane.Answers(); len(nacks) == 0 || !strings.Contains(nacks[0], "taken") {
			return fmt.Errorf("%q", nacks)
		}
		return nil
	})
	for _, want := range []string{"listener   taken", "refused", "listener   web", "accepted", "connected for"} {
		if out := p.ctl(dir, "xds"); !strings.Contains(out, want) {
			t.Errorf("ctl xds has no %q:\n%s", want, out)
		}
	}
	if out := p.ctl(dir, "config"); !strings.Contains(out, "name: web # xds 127.0.0.1:") {
		t.Errorf("ctl config:\n%s", out)
	}
	plane.Kill()
	if err := p.says("two"); err != nil {
		t.Error(err)
	}
	p.stop()
	again := follow(t, plane, dir, "  last_good: "+filepath.Join(dir, "last")+"\n")
	again.listen = p.listen
	eventually(t, "without the control plane", func() error { return again.says("two") })
	eventually(t, "ready", again.ready)
	again.stop()
}

// A process is ready while it has a listener: neither before the control plane has sent one, whatever the time, nor
// after it has removed the last one.
func TestReadyWithListeners(t *testing.T) {
	defer http.DefaultClient.CloseIdleConnections()
	plane, dir := xdstest.New(t), t.TempDir()
	p := follow(t, plane, dir, "  initial_fetch_timeout: 10ms\n  hold_back: 0s\n  gather: 1ms\n")
	defer p.stop()
	text := func() string {
		r, err := http.Get("http://" + p.metrics + "/readyz")
		if err != nil {
			return err.Error()
		}
		defer r.Body.Close()
		body, _ := io.ReadAll(r.Body)
		return r.Status + " " + string(body)
	}
	unready := func() error {
		if got := text(); !strings.HasPrefix(got, "503") || !strings.Contains(got, "no listeners") {
			return errors.New(got)
		}
		return nil
	}
	for range 2 {
		eventually(t, "no listeners", unready)
		plane.Serve("web", p.listen, namedServer(t, "one"))
		eventually(t, "ready", p.ready)
		eventually(t, "it answers", func() error { return p.says("one") })
		p.ctl(dir, "drain", "--hold")
		if got := text(); !strings.Contains(got, "held") {
			t.Errorf("held: %s", got)
		}
		plane.Set(ads.Listener, map[string]proto.Message{"web": nil})
		eventually(t, "the listener is closed", func() error {
			if c, err := net.Dial("tcp", p.listen); err == nil {
				c.Close()
				return errors.New("it accepts")
			}
			return nil
		})
		if got := text(); !strings.Contains(got, "held") {
			t.Errorf("held without listeners: %s", got)
		}
		p.ctl(dir, "drain", "--undo")
	}
	eventually(t, "no listeners", unready)
}

// A process whose file has listeners is ready with them, also if it would wait for the control plane forever.
func TestReadyWithFile(t *testing.T) {
	if testing.Short() {
		t.Skip("it waits for 15 s")
	}
	t.Parallel()
	plane, dir := xdstest.New(t), t.TempDir()
	plane.Kill()
	p := follow(t, plane, dir, "  initial_fetch_timeout: 0s\n"+
		"listeners: [{name: own, address: 'tcp://127.0.0.1:0', backend: own}]\n"+
		"backends: [{name: own, servers: [{address: 'tcp://127.0.0.1:1'}]}]\n")
	defer p.stop()
	eventually(t, "ready", p.ready)
}

// An upgrade hands over what the control plane has said: listeners accept throughout, also without the control plane.
func TestControlPlaneAndUpgrade(t *testing.T) {
	defer http.DefaultClient.CloseIdleConnections()
	plane, dir := xdstest.New(t), t.TempDir()
	p := follow(t, plane, dir, "")
	plane.Serve("web", p.listen, namedServer(t, "one"))
	eventually(t, "the server", func() error { return p.says("one") })
	eventually(t, "ready", p.ready)
	plane.Kill()
	ended := make(chan struct{})
	failed := make(chan error, 1)
	go func() {
		defer close(failed)
		for {
			select {
			case <-ended:
				return
			default:
			}
			if err := p.says("one"); err != nil {
				failed <- err
				return
			}
		}
	}()
	if err := p.Process.Signal(syscall.SIGUSR2); err != nil {
		t.Fatal(err)
	}
	if err := p.Wait(); err != nil {
		t.Errorf("%v: %s", err, p.log.text())
	}
	if err := p.says("one"); err != nil {
		t.Errorf("the next process: %v", err)
	}
	close(ended)
	if err := <-failed; err != nil {
		t.Errorf("meanwhile: %v", err)
	}
	p.endSuccessor()
}

// endSuccessor ends the process that has taken over.
func (p *fleetProxy) endSuccessor() {
	p.t.Helper()
	_, rest, _ := strings.Cut(p.log.text(), `"msg":"upgraded: the new process accepts connections","successor":`)
	var pid int
	if _, err := fmt.Sscanf(rest, "%d", &pid); err != nil {
		p.t.Fatalf("no successor: %v", err)
	}
	if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
		p.t.Fatal(err)
	}
	eventually(p.t, "the successor ends", func() error {
		if err := syscall.Kill(pid, 0); err == nil {
			return fmt.Errorf("%d runs", pid)
		}
		return nil
	})
}

// A file that is reloaded takes a name or an address from the control plane, gives it back, and ends and begins to
// follow.
func TestControlPlaneAndReload(t *testing.T) {
	defer http.DefaultClient.CloseIdleConnections()
	plane, dir := xdstest.New(t), t.TempDir()
	own := namedServer(t, "own")
	p := follow(t, plane, dir, "")
	plane.Serve("web", p.listen, namedServer(t, "theirs"))
	eventually(t, "theirs", func() error { return p.says("theirs") })
	file := filepath.Join(dir, "f.yaml")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	reload := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		p.ctl(dir, "reload")
	}
	of := fmt.Sprintf("listeners: [{name: own, address: '%s', backend: own}]\nbackends: [{name: own, servers: ['%s']}]\n",
		p.listen, own)
	reload(string(text) + of)
	if err := p.says("own"); err != nil {
		t.Error(err)
	}
	eventually(t, "the listener is refused", func() error {
		if out := p.ctl(dir, "xds"); !strings.Contains(out, "refused") {
			return fmt.Errorf("%s", out)
		}
		return nil
	})
	reload(string(text))
	eventually(t, "theirs again", func() error { return p.says("theirs") })
	without, _, _ := strings.Cut(string(text), "xds:")
	reload(without + of)
	eventually(t, "own", func() error { return p.says("own") })
	reload(string(text))
	eventually(t, "theirs at last", func() error { return p.says("theirs") })
	p.stop()
}
