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

	"github.com/reactord/reactord/cmd/reactord/internal/admin"
	"github.com/reactord/reactord/cmd/reactord/internal/admin/admintest"
	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"go.uber.org/zap"
)

func listen(address string, change func(*config.Admin), takeover bool) (*admin.API, error) {
	cfg := config.Admin{Address: address, Mode: 0o600}
	if change != nil {
		change(&cfg)
	}
	return admin.ListenAPI(cfg, takeover, zap.NewNop())
}

// started is an API that answers.
func started(t *testing.T, address string, takeover bool) *admin.API {
	t.Helper()
	a, err := listen(address, nil, takeover)
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
	c, err := admin.NewClient(address)
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
		{"unix://run/admin.sock", "a path begins with a slash"},
		{"unix:///run//admin.sock", "write unix:///run/admin.sock"},
		{"unix:///" + strings.Repeat("x", 100), "101 bytes long; at most 100"},
		{"tcp://127.0.0.1", "write tcp://127.0.0.1:PORT"},
		{"tcp://127.0.0.1:http", "write tcp://127.0.0.1:PORT"},
		{"tcp://0.0.0.0:80", "must be a loopback address"},
		{"tcp://[::]:80", "must be a loopback address"},
		{"tcp://192.0.2.1:80", "reach it through ssh"},
		{"tcp://admin.test:80", "must be a loopback address"},
	} {
		a, err := listen(test.address, nil, false)
		if err == nil {
			closed(t, a)
		}
		if err == nil || !strings.Contains(err.Error(), test.err) {
			t.Errorf("%q: %v", test.address, err)
		}
	}
	for _, address := range []string{"tcp://127.0.0.1:0", "tcp://127.1.2.3:0", "tcp://localhost:0"} {
		a := started(t, address, false)
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
	a, err := listen("unix://"+path, func(c *config.Admin) { c.Mode, c.Owner, c.Group = 0o660, "65534", "12345" }, false)
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
		if a, err := listen(address, change, false); err == nil || !strings.Contains(err.Error(), `"no-such-`) {
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
	a := started(t, address, false)
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
	a := started(t, address, false)
	defer closed(t, a)
	_, err := listen(address, nil, false)
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
	if _, err := listen(address, nil, false); err == nil || !strings.Contains(err.Error(), "is not a socket") {
		t.Errorf("got %v", err)
	}
	if _, err := listen("unix:///no/such/directory/x", nil, false); !errors.Is(err, fs.ErrNotExist) ||
		!strings.Contains(err.Error(), "RuntimeDirectory=reactord") {
		t.Errorf("got %v", err)
	}
}

// TestSuccessorKeepsSocket takes over a live socket; the one before leaves it alone when it ends.
func TestSuccessorKeepsSocket(t *testing.T) {
	address := onSocket(t)
	first := started(t, address, false)
	second := started(t, address, true)
	closed(t, first)
	if !answers(t, address) {
		t.Error("the successor does not answer")
	}
	closed(t, second)
	if exists(strings.TrimPrefix(address, "unix://")) {
		t.Error("the socket is left")
	}
}

// TestOneOfManyStarts starts many processes on a stale socket, together: one of them gets it.
func TestOneOfManyStarts(t *testing.T) {
	address := onSocket(t)
	stale(t, strings.TrimPrefix(address, "unix://"))
	var winner atomic.Pointer[admin.API]
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			a, err := listen(address, nil, false)
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
	a, err := listen(address, nil, false)
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
	a := started(t, address, false)
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
