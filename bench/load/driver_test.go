package load

import (
	"errors"
	"io"
	"net"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// serve runs handle for each connection to a new listener.
func serve(t *testing.T, handle func(net.Conn)) (address string) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				handle(c)
			}()
		}
	}()
	return l.Addr().String()
}

func echoing(c net.Conn) { io.Copy(c, c) }

// changed echoes what change makes of it.
func changed(change func([]byte) []byte) func(net.Conn) {
	return func(c net.Conn) {
		buf := make([]byte, MaxSize)
		for {
			n, err := c.Read(buf)
			if err != nil {
				return
			}
			if _, err := c.Write(change(buf[:n])); err != nil {
				return
			}
		}
	}
}

// run drives one plan. released is what the driver reads; ready is called when it holds.
func run(t *testing.T, plan Plan, released *os.File, ready func() error) (Result, error) {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	up, err := ListenUpstream()
	if err != nil {
		t.Fatal(err)
	}
	defer up.Close()
	if plan.Target == "" {
		plan.Target = serve(t, func(c net.Conn) { relay(c, up.Addr()) })
	}
	if released == nil {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		defer w.Close()
		released = r
	}
	d, err := NewDriver(plan, up, released, ready)
	if err != nil {
		return Result{}, err
	}
	defer d.Close()
	return d.Run()
}

// relay joins c with a connection to address.
func relay(c net.Conn, address string) {
	up, err := net.Dial("tcp", address)
	if err != nil {
		return
	}
	defer up.Close()
	go func() {
		io.Copy(up, c)
		up.(*net.TCPConn).CloseWrite()
	}()
	io.Copy(c, up)
}

func TestRunCounts(t *testing.T) {
	for _, size := range []int{1, 128, 16 << 10, MaxSize} {
		plan := Plan{Target: serve(t, echoing), Conns: 10, Size: size, Verify: 3, Warmup: time.Millisecond,
			Time: 20 * time.Millisecond, Pids: []int{os.Getpid()}}
		got, err := run(t, plan, nil, nil)
		if err != nil {
			t.Fatalf("%d bytes: %v", size, err)
		}
		if got.Verified != 30 || got.Messages == 0 || got.Elapsed < plan.Time || got.ServerCPU == 0 || got.LoadCPU == 0 {
			t.Errorf("%d bytes: %+v", size, got)
		}
	}
}

func TestRunThroughTheUpstream(t *testing.T) {
	for _, size := range []int{128, MaxSize} {
		plan := Plan{Conns: 100, Size: size, Verify: 2, Time: 10 * time.Millisecond}
		got, err := run(t, plan, nil, nil)
		if err != nil {
			t.Fatalf("%d bytes: %v", size, err)
		}
		if got.Verified != 200 || got.Messages == 0 {
			t.Errorf("%d bytes: %+v", size, got)
		}
	}
}

func TestBadServersFailTheRun(t *testing.T) {
	for _, test := range []struct {
		name   string
		server func(net.Conn)
		verify int
		want   string
	}{
		{"corrupts", changed(func(b []byte) []byte { b[len(b)/2] ^= 1; return b }), 1, "not what was sent"},
		{"adds", changed(func(b []byte) []byte { return append(b, 'x') }), 0, "bytes came back"},
		{"closes", func(c net.Conn) { c.Read(make([]byte, 1)); c.(*net.TCPConn).CloseWrite() }, 0, "EOF"},
		{"resets", func(c net.Conn) { c.(*net.TCPConn).SetLinger(0) }, 0, "reset"},
	} {
		plan := Plan{Target: serve(t, test.server), Conns: 1, Size: 64, Verify: test.verify, Time: time.Minute}
		if _, err := run(t, plan, nil, nil); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("a server that %s: %v", test.name, err)
		}
	}
}

func TestNobodyListens(t *testing.T) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	if _, err := run(t, Plan{Target: address, Conns: 1, Size: 1}, nil, nil); err == nil ||
		!strings.Contains(err.Error(), "refused") {
		t.Errorf("a port that nobody listens on: %v", err)
	}
}

func TestHoldIsReleased(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	held := 0
	got, err := run(t, Plan{Conns: 200, Size: 16, Verify: 1, Hold: true}, r, func() error {
		held++
		return w.Close()
	})
	if err != nil || held != 1 || got.Verified != 200 {
		t.Errorf("held %d times: %+v, %v", held, got, err)
	}
}

func TestReleaseAbandonsARun(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	w.Close()
	plan := Plan{Target: serve(t, echoing), Conns: 1, Size: 1, Time: time.Minute}
	if _, err := run(t, plan, r, nil); !errors.Is(err, ErrReleased) {
		t.Errorf("a run that was released: %v", err)
	}
}

func TestPlansThatMakeNoSense(t *testing.T) {
	good := Plan{Target: "127.0.0.1:1", Conns: 1, Size: 1}
	for _, spoil := range []func(*Plan){
		func(p *Plan) { p.Conns = 0 },
		func(p *Plan) { p.Size = 0 },
		func(p *Plan) { p.Size = MaxSize + 1 },
		func(p *Plan) { p.Time = -1 },
		func(p *Plan) { p.Hold = true },
		func(p *Plan) { p.Target = "localhost" },
		func(p *Plan) { p.Target = "[::1]:80" },
	} {
		plan := good
		spoil(&plan)
		if _, err := run(t, plan, nil, nil); err == nil {
			t.Errorf("%+v was taken", plan)
		}
	}
}

// TestAMessageAllocatesNothing sends messages from a client to an upstream connection and back.
func TestAMessageAllocatesNothing(t *testing.T) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(pair[0])
	defer unix.Close(pair[1])
	d := &Driver{
		plan:    Plan{Size: 128},
		phase:   measuring,
		pattern: make([]byte, 4*MaxSize),
		scratch: make([]byte, MaxSize),
	}
	up := &Upstream{conns: make([]echo, pair[1]+1)}
	up.conns[pair[1]].open = true
	c := &client{fd: pair[0], connected: true}
	if err := d.next(c); err != nil {
		t.Fatal(err)
	}
	allocs := testing.AllocsPerRun(100, func() {
		up.ready(pair[1], unix.EPOLLIN, d.scratch)
		if err := d.clientReady(c, unix.EPOLLIN|unix.EPOLLOUT); err != nil {
			t.Fatal(err)
		}
	})
	if allocs != 0 || d.messages != 101 {
		t.Errorf("%v allocations a message, %d messages", allocs, d.messages)
	}
}
