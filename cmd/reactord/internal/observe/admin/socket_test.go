package admin_test

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/observe/admin"
	"github.com/reactord/reactord/cmd/reactord/internal/observe/admin/admintest"
	"go.uber.org/zap"
)

func listen(address string, change func(*config.Admin)) (*admin.API, error) {
	cfg := config.Admin{Address: address, Mode: 0o600}
	if change != nil {
		change(&cfg)
	}
	return admin.ListenAPI(cfg, zap.NewNop())
}

// started is an API that answers.
func started(t *testing.T, address string) *admin.API {
	t.Helper()
	a, err := listen(address, nil)
	if err != nil {
		t.Fatal(err)
	}
	a.Serve(admintest.New(0), zap.NewAtomicLevel(), nil)
	return a
}

func closed(t *testing.T, a *admin.API) {
	t.Helper()
	if err := a.Close(); err != nil {
		t.Error(err)
	}
}

// answers reports whether a daemon answers at an address.
func answers(t *testing.T, address string) bool {
	t.Helper()
	c, err := admin.NewClient(admin.Access{Address: address})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_, _, err = admin.GetStatus.Call(t.Context(), c, admin.None{})
	return err == nil
}

func exists(path string) bool { _, err := os.Lstat(path); return err == nil }

func TestAddresses(t *testing.T) {
	for _, test := range []struct{ address, err string }{
		{"", "write unix:///PATH or tcp://127.0.0.1:PORT"},
		{"127.0.0.1:80", "write unix:///PATH or tcp://"},
		{"unix://run/admin.sock", "not an absolute path"},
		{"unix:///run//admin.sock", "write unix:///run/admin.sock"},
		{"unix:///" + strings.Repeat("x", 100), "101 bytes, more than 100"},
		{"tcp://127.0.0.1", "write tcp://127.0.0.1:PORT"},
		{"tcp://127.0.0.1:http", "write tcp://127.0.0.1:PORT"},
		{"tcp://0.0.0.0:80", "must be a loopback address"},
		{"tcp://[::]:80", "must be a loopback address"},
		{"tcp://192.0.2.1:80", "reach it through ssh"},
		{"tcp://admin.test:80", "must be a loopback address"},
	} {
		a, err := listen(test.address, nil)
		if err == nil {
			closed(t, a)
		}
		if err == nil || !strings.Contains(err.Error(), test.err) {
			t.Errorf("%q: %v", test.address, err)
		}
	}
	for _, address := range []string{"tcp://127.0.0.1:0", "tcp://127.1.2.3:0", "tcp://localhost:0"} {
		a := started(t, address)
		if !answers(t, a.Address()) {
			t.Errorf("%s does not answer at %s", address, a.Address())
		}
		closed(t, a)
	}
}

func TestPermissions(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can give files away")
	}
	path := filepath.Join(t.TempDir(), "admin.sock")
	a, err := listen("unix://"+path, func(c *config.Admin) { c.Mode, c.Owner, c.Group = 0o660, "65534", "12345" })
	if err != nil {
		t.Fatal(err)
	}
	defer closed(t, a)
	info, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	owner := info.Sys().(*syscall.Stat_t)
	if info.Mode() != fs.ModeSocket|0o660 || owner.Gid != 12345 || owner.Uid != 65534 {
		t.Errorf("mode %v, owner %d, group %d", info.Mode(), owner.Uid, owner.Gid)
	}
	if names, _ := filepath.Glob(filepath.Dir(path) + "/*"); len(names) != 1 {
		t.Errorf("files left: %v", names)
	}
}

func TestUnknownOwner(t *testing.T) {
	for _, change := range []func(*config.Admin){
		func(c *config.Admin) { c.Owner = "no-such-user" },
		func(c *config.Admin) { c.Group = "no-such-group" },
	} {
		address := onSocket(t)
		if a, err := listen(address, change); err == nil || !strings.Contains(err.Error(), `"no-such-`) {
			closed(t, a)
			t.Errorf("got %v", err)
		}
		if exists(strings.TrimPrefix(address, "unix://")) {
			t.Error("a socket is left")
		}
	}
}

// stale makes the socket of a process that is gone.
func stale(t *testing.T, path string) {
	t.Helper()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	l.Close()
}

func TestStaleSocketIsReplaced(t *testing.T) {
	address := onSocket(t)
	path := strings.TrimPrefix(address, "unix://")
	stale(t, path)
	stale(t, path+".new") // of a process that was killed while it started
	a := started(t, address)
	if !answers(t, address) {
		t.Error("no answer")
	}
	closed(t, a)
	if exists(path) {
		t.Error("the socket is left")
	}
}

func TestLiveSocketIsRefused(t *testing.T) {
	address := onSocket(t)
	a := started(t, address)
	defer closed(t, a)
	_, err := listen(address, nil)
	if err == nil || !strings.Contains(err.Error(), "another process answers there") {
		t.Errorf("got %v", err)
	}
	if !answers(t, address) {
		t.Error("the first one does not answer any more")
	}
}

func TestOtherFilesAreRefused(t *testing.T) {
	address := onSocket(t)
	path := strings.TrimPrefix(address, "unix://")
	if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := listen(address, nil); err == nil || !strings.Contains(err.Error(), "is not a socket") {
		t.Errorf("got %v", err)
	}
	if _, err := listen("unix:///no/such/directory/x", nil); !errors.Is(err, fs.ErrNotExist) ||
		!strings.Contains(err.Error(), "RuntimeDirectory=reactord") {
		t.Errorf("got %v", err)
	}
}

// TestSuccessor gives the socket to one process that fails, and to one that serves.
func TestSuccessor(t *testing.T) {
	for _, address := range []string{onSocket(t), "tcp://127.0.0.1:0"} {
		first := started(t, address)
		address = first.Address()
		closed(t, successor(t, first))
		if !answers(t, address) {
			t.Error(address, " does not answer after a successor has failed")
		}
		second := successor(t, first)
		second.Serve(admintest.New(0), zap.NewAtomicLevel(), nil)
		if err := first.Leave(); err != nil {
			t.Error(err)
		}
		if !answers(t, address) {
			t.Error(address, ": the successor does not answer")
		}
		closed(t, second)
		if path, unix := strings.CutPrefix(address, "unix://"); unix && exists(path) {
			t.Error("the socket is left")
		}
	}
}

// successor has the socket of a process, and does not answer yet.
func successor(t *testing.T, of *admin.API) *admin.API {
	t.Helper()
	fd, err := of.Dup()
	if err != nil {
		t.Fatal(err)
	}
	f := os.NewFile(uintptr(fd), "admin")
	defer f.Close()
	l, err := net.FileListener(f)
	if err != nil {
		t.Fatal(err)
	}
	a, err := admin.TakeOverAPI(config.Admin{Address: of.Address()}, l, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// TestReplacedSocketIsKept removes a socket and makes another one: the process before leaves that one alone.
func TestReplacedSocketIsKept(t *testing.T) {
	address := onSocket(t)
	first := started(t, address)
	if err := os.Remove(strings.TrimPrefix(address, "unix://")); err != nil {
		t.Fatal(err)
	}
	second := started(t, address)
	closed(t, first)
	if !answers(t, address) {
		t.Error("the second process does not answer")
	}
	closed(t, second)
}

// TestOneOfManyStarts starts many processes on a stale socket, together: one of them gets it.
func TestOneOfManyStarts(t *testing.T) {
	address := onSocket(t)
	stale(t, strings.TrimPrefix(address, "unix://"))
	var winner atomic.Pointer[admin.API]
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			a, err := listen(address, nil)
			if err != nil {
				if !strings.Contains(err.Error(), "another process answers") {
					t.Error(err)
				}
				return
			}
			if !winner.CompareAndSwap(nil, a) {
				t.Error("two have it")
				_ = a.Close()
			}
		})
	}
	all.Wait()
	if a := winner.Load(); a == nil {
		t.Error("none has it")
	} else {
		closed(t, a)
	}
}

func TestCloseAPIBeforeServe(t *testing.T) {
	address := onSocket(t)
	a, err := listen(address, nil)
	if err != nil {
		t.Fatal(err)
	}
	closed(t, a)
	if exists(strings.TrimPrefix(address, "unix://")) {
		t.Error("the socket is left")
	}
}

// TestMoreClientsWait connects more clients than are served together.
func TestMoreClientsWait(t *testing.T) {
	address := onSocket(t)
	a := started(t, address)
	defer closed(t, a)
	path := strings.TrimPrefix(address, "unix://")
	var idle []net.Conn
	for i := range 130 {
		c, err := net.Dial("unix", path)
		if err != nil {
			t.Fatal(strconv.Itoa(i)+": ", err)
		}
		idle = append(idle, c)
	}
	for _, c := range idle[:10] {
		c.Close()
	}
	if !answers(t, address) {
		t.Error("no answer")
	}
	for _, c := range idle {
		c.Close()
	}
}
