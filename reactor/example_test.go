//go:build linux

package reactor_test

import (
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/seq"
	"github.com/reactord/reactord/sender/task"
)

// play runs a task on its own loop, which is stopped when the task ends.
func play(f func(t *task.T, l *reactor.Loop) error) {
	l, err := reactor.NewLoop(reactor.LoopConfig{})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := l.Run(func() {
		l.Spawn(task.New(func(t *task.T) error {
			defer l.Stop()
			if err := f(t, l); err != nil {
				fmt.Println(err)
			}
			return nil
		}))
	}); err != nil {
		fmt.Println(err)
	}
}

// closing closes a descriptor, even if the task is stopped.
func closing(t *task.T, ds ...*reactor.Descriptor) {
	task.Unstoppable(t, func() {
		for _, d := range ds {
			_, _ = task.Await(t, d.Close())
		}
	})
}

// Datagrams on the loopback interface: the reply goes to the address that the request came from.
func ExampleSocket_RecvFrom() {
	play(func(t *task.T, l *reactor.Loop) error {
		var server, client reactor.Socket
		here, err := reactor.IPAddress(netip.MustParseAddrPort("127.0.0.1:0"))
		if err != nil {
			return err
		}
		for _, s := range []*reactor.Socket{&server, &client} {
			if err := s.Open(l, unix.AF_INET, unix.SOCK_DGRAM, 0); err != nil {
				return err
			}
			defer closing(t, &s.Descriptor)
			if err := s.Bind(here); err != nil {
				return err
			}
		}
		at, err := server.LocalAddress()
		if err != nil {
			return err
		}
		if _, err := task.Await(t, client.SendTo([]byte("question"), at)); err != nil {
			return err
		}
		buf := make([]byte, 1500)
		m, err := task.Await(t, server.RecvFrom(buf))
		if err != nil {
			return err
		}
		fmt.Printf("%s\n", buf[:m.N])
		if _, err := task.Await(t, server.SendTo([]byte("answer"), m.From)); err != nil {
			return err
		}
		m, err = task.Await(t, client.RecvFrom(buf))
		fmt.Printf("%s from the server: %v\n", buf[:m.N], m.From == at)
		return err
	})
	// Output:
	// question
	// answer from the server: true
}

// A connection of unix sockets, and a descriptor that is passed over it.
func ExampleOpenPair() {
	play(func(t *task.T, l *reactor.Loop) error {
		var a, b reactor.Socket
		if err := reactor.OpenPair(l, unix.SOCK_STREAM, &a, &b); err != nil {
			return err
		}
		defer closing(t, &a.Descriptor, &b.Descriptor)
		null, err := os.Open("/dev/null")
		if err != nil {
			return err
		}
		defer null.Close()
		if _, err := task.Await(t, a.SendFDs([]byte("take it"), []int{int(null.Fd())})); err != nil {
			return err
		}
		buf := make([]byte, 64)
		got, err := task.Await(t, b.RecvFDs(buf, 1))
		fmt.Printf("%s: %d descriptor\n", buf[:got.N], len(got.FDs))
		got.Close()
		return err
	})
	// Output: take it: 1 descriptor
}

func ExampleDir_OpenFile() {
	name := filepath.Join(os.TempDir(), fmt.Sprintf("reactor-example-%d", os.Getpid()))
	play(func(t *task.T, l *reactor.Loop) error {
		var f reactor.File
		if _, err := task.Await(t, l.Cwd().OpenFile(&f, name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)); err != nil {
			return err
		}
		defer closing(t, &f.Descriptor)
		if _, err := task.Await(t, f.WriteAllAt([]byte("hello, storage"), 0)); err != nil {
			return err
		}
		if _, err := task.Await(t, f.DataSync()); err != nil {
			return err
		}
		buf := make([]byte, 7)
		n, err := task.Await(t, f.ReadFullAt(buf, 7))
		if err != nil {
			return err
		}
		st, err := task.Await(t, f.Stat())
		fmt.Printf("%s, one of %d bytes, %v\n", buf[:n], st.Size, st.Mode)
		return err
	})
	play(func(t *task.T, l *reactor.Loop) error {
		_, err := task.Await(t, l.Cwd().Unlink(name))
		return err
	})
	_, err := os.Stat(name)
	fmt.Println(os.IsNotExist(err))
	// Output:
	// storage, one of 14 bytes, -rw-------
	// true
}

// The entries of a directory, as many at a time as fit into the buffer.
func ExampleFile_ReadDir() {
	play(func(t *task.T, l *reactor.Loop) error {
		var dir reactor.File
		if _, err := task.Await(t, l.Cwd().OpenFile(&dir, "examples", os.O_RDONLY|unix.O_DIRECTORY, 0)); err != nil {
			return err
		}
		defer closing(t, &dir.Descriptor)
		dirs := 0
		for buf := make([]byte, 4096); ; {
			entries, err := task.Await(t, dir.ReadDir(buf))
			if err != nil || entries.Len() == 0 {
				fmt.Println(dirs > 0)
				return err
			}
			for e := range entries.All() {
				if e.Type == fs.ModeDir {
					dirs++
				}
			}
		}
	})
	// Output: true
}

// Bytes that a socket receives move on through a pipe, without being copied to the program.
func ExampleSplice() {
	play(func(t *task.T, l *reactor.Loop) error {
		var from, via, to, end reactor.Socket
		var p reactor.Pipe
		if err := reactor.OpenPair(l, unix.SOCK_STREAM, &from, &via); err != nil {
			return err
		}
		defer closing(t, &from.Descriptor, &via.Descriptor)
		if err := reactor.OpenPair(l, unix.SOCK_STREAM, &to, &end); err != nil {
			return err
		}
		defer closing(t, &to.Descriptor, &end.Descriptor)
		if err := p.Open(l); err != nil {
			return err
		}
		defer closing(t, &p.Reader.Descriptor, &p.Writer.Descriptor)
		if _, err := task.Await(t, from.SendAll([]byte("straight on"))); err != nil {
			return err
		}
		n, err := task.Await(t, reactor.Splice(via.Stream(), p.Writer.Stream(), 1<<16))
		if err != nil {
			return err
		}
		if _, err := task.Await(t, reactor.Splice(p.Reader.Stream(), to.Stream(), n)); err != nil {
			return err
		}
		buf := make([]byte, 64)
		n, err = task.Await(t, end.Recv(buf))
		fmt.Printf("%s\n", buf[:n])
		return err
	})
	// Output: straight on
}

// A receive with a timeout.
func ExampleLoop_SleepFor() {
	play(func(t *task.T, l *reactor.Loop) error {
		var a, b reactor.Socket
		if err := reactor.OpenPair(l, unix.SOCK_STREAM, &a, &b); err != nil {
			return err
		}
		defer closing(t, &a.Descriptor, &b.Descriptor)
		_, err := task.Await(t, sender.StopWhen(a.Recv(make([]byte, 1)), l.SleepFor(time.Millisecond)))
		fmt.Println(err)
		return nil
	})
	// Output: sender: stopped
}

// The first three ticks of a clock.
func ExampleLoop_Every() {
	play(func(t *task.T, l *reactor.Loop) error {
		var first, last int64
		ticks := seq.Take(l.Every(time.Millisecond, reactor.Unlimited), 3, nil)
		_, err := task.Await(t, seq.ForEach(ticks, func(tick reactor.Tick) error {
			if first == 0 {
				first = tick.At
			}
			last = tick.At
			return nil
		}, nil))
		fmt.Println("on the schedule:", (last-first)%int64(time.Millisecond) == 0)
		return err
	})
	// Output: on the schedule: true
}

// counted is a mailbox for numbers. It stops its loop after a few messages.
type counted struct {
	reactor.Mailbox[int]
	l   *reactor.Loop
	sum int
}

func (c *counted) OnMessage(m *reactor.Envelope[int]) {
	if c.sum += m.Value; c.sum == 6 {
		fmt.Println("sum:", c.sum)
		c.l.Stop()
	}
}

// Another goroutine posts numbers to a loop.
func ExampleMailbox() {
	l, err := reactor.NewLoop(reactor.LoopConfig{})
	if err != nil {
		fmt.Println(err)
		return
	}
	c := &counted{l: l}
	c.Init(l, c)
	go func() {
		messages := make([]reactor.Envelope[int], 3)
		for i := range messages {
			messages[i].Value = i + 1
			c.Post(&messages[i])
		}
	}()
	if err := l.Run(nil); err != nil {
		fmt.Println(err)
	}
	// Output: sum: 6
}

// Connections that one loop accepts are given to two loops, round-robin.
func ExampleBalancer() {
	r, err := reactor.New(reactor.Config{Loops: 2})
	if err != nil {
		fmt.Println(err)
		return
	}
	placed := make(chan *reactor.Loop, 4)
	var p *reactor.Balancer
	p, err = reactor.NewBalancer(reactor.BalancerConfig{
		Loops:  r.Loops(),
		Policy: reactor.RoundRobin,
		Take: func(l *reactor.Loop, fd int) {
			unix.Close(fd) // a server would give it to a Socket of l
			placed <- l
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	accepting := r.Loops()[0]
	go func() {
		defer r.Stop()
		seen := map[*reactor.Loop]int{}
		for range cap(placed) {
			l := <-placed
			seen[l]++
		}
		fmt.Println(seen[r.Loops()[0]], seen[r.Loops()[1]], "imbalance", p.Imbalance())
	}()
	if err := r.Run(func(l *reactor.Loop) error {
		if l != accepting {
			return nil
		}
		for range cap(placed) { // in place of what AcceptMany delivers
			fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
			if err != nil {
				return err
			}
			p.Assign(l, fd)
		}
		return nil
	}); err != nil {
		fmt.Println(err)
	}
	// Output: 2 2 imbalance 1
}
