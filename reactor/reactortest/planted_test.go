package reactortest_test

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/reactor/reactortest"
	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/task"
)

// A planted program is wrong on purpose. TestPlanted plays it in another process, in which its test may fail.
var planted = map[string]func(t *testing.T){
	"emfile": func(t *testing.T) {
		reactortest.Run(t, func(m *reactortest.Machine) {
			m.Loop(reactor.LoopConfig{}, diesAtEMFILE)
			m.Peer("client", func(p *reactortest.Peer) {
				for range 3 {
					c := p.Dial(address)
					_, _ = io.WriteString(c, "hello")
					if _, err := io.ReadFull(c, make([]byte, 5)); err != nil {
						p.Fatalf("no echo: %v", err)
					}
					_ = c.Close()
				}
			})
		})
	},
	"fatal in a peer": func(t *testing.T) {
		reactortest.Run(t, func(m *reactortest.Machine) {
			m.Loop(reactor.LoopConfig{}, echo(time.Hour))
			m.Peer("client", func(p *reactortest.Peer) {
				defer func() { t.Log("a deferred function has run") }()
				p.Sleep(time.Second)
				if m.Seed() == 3 {
					t.Fatal("a failure of the test")
				}
			})
		})
		t.Log("all seeds were played")
	},
	"fatal on a loop": func(t *testing.T) {
		reactortest.Run(t, func(m *reactortest.Machine) {
			m.Loop(reactor.LoopConfig{}, func(l *reactor.Loop) error {
				l.Spawn(task.New(func(t2 *task.T) error {
					if _, err := task.Await(t2, l.SleepFor(time.Second)); err != nil {
						return err
					}
					t.Fatal("a failure of the test")
					return nil
				}))
				return nil
			})
			m.Peer("client", func(p *reactortest.Peer) { p.Sleep(time.Minute) })
		})
		t.Log("all seeds were played")
	},
	"fatal in the program": func(t *testing.T) {
		reactortest.Run(t, func(m *reactortest.Machine) {
			m.Peer("client", func(*reactortest.Peer) { t.Log("the peer runs") })
			if m.Seed() == 2 {
				t.Fatal("a failure of the test")
			}
		})
		t.Log("all seeds were played")
	},
	"error of t": func(t *testing.T) {
		reactortest.Run(t, func(m *reactortest.Machine) {
			m.Peer("client", func(*reactortest.Peer) {
				if m.Seed() == 5 {
					t.Error("an error of the test")
				}
			})
		})
	},
	"panic": func(t *testing.T) {
		reactortest.Run(t, func(m *reactortest.Machine) {
			m.Peer("client", func(*reactortest.Peer) { panic("an accident") })
		})
	},
	"channel": func(t *testing.T) {
		reactortest.Config{Stall: 200 * time.Millisecond}.Run(t, func(m *reactortest.Machine) {
			m.Peer("client", func(*reactortest.Peer) { <-make(chan int) })
		})
	},
	"descriptor": func(t *testing.T) {
		reactortest.Run(t, func(m *reactortest.Machine) {
			m.Loop(reactor.LoopConfig{}, func(l *reactor.Loop) error {
				return new(reactor.Socket).OpenListener(l, reactor.ListenConfig{Addr: address})
			})
			m.Peer("client", func(*reactortest.Peer) {})
		})
	},
	"lease": func(t *testing.T) {
		reactortest.Run(t, func(m *reactortest.Machine) {
			m.Loop(reactor.LoopConfig{}, keepsALease)
			m.Peer("client", func(p *reactortest.Peer) { _, _ = io.WriteString(p.Dial(address), "hello") })
		})
	},
	"setup": func(t *testing.T) {
		reactortest.Run(t, func(m *reactortest.Machine) {
			m.Loop(reactor.LoopConfig{}, func(*reactor.Loop) error { return errors.New("no wish to") })
		})
	},
	"for ever on a loop": func(t *testing.T) {
		reactortest.Run(t, func(m *reactortest.Machine) {
			m.Loop(reactor.LoopConfig{}, func(l *reactor.Loop) error {
				l.Spawn(task.New(func(t *task.T) error {
					var orders task.Queue[int]
					_, err := task.Await(t, orders.Pop())
					return err
				}))
				return nil
			})
			m.Peer("client", func(p *reactortest.Peer) { _, _ = p.Listen(address).Accept() })
		})
	},
	"for ever": func(t *testing.T) {
		reactortest.Run(t, func(m *reactortest.Machine) {
			m.Peer("server", func(p *reactortest.Peer) { _, _ = p.Listen(address).Accept() })
		})
	},
	"too long": func(t *testing.T) {
		reactortest.Config{Time: time.Hour}.Run(t, func(m *reactortest.Machine) {
			m.Peer("sleeper", func(p *reactortest.Peer) { p.Sleep(2 * time.Hour) })
		})
	},
	"too many turns": func(t *testing.T) {
		reactortest.Config{Turns: 1000}.Run(t, func(m *reactortest.Machine) {
			m.Peer("busy", func(p *reactortest.Peer) {
				for {
					p.Sleep(time.Microsecond)
				}
			})
		})
	},
	"not deterministic": func(t *testing.T) {
		runs := 0
		reactortest.Run(t, func(m *reactortest.Machine) {
			if runs++; runs == 3 {
				m.Peer("client", func(p *reactortest.Peer) { p.Errorf("the third run is wrong") })
			}
		})
	},
	"another's peer": func(t *testing.T) {
		reactortest.Run(t, func(m *reactortest.Machine) {
			var one *reactortest.Peer
			m.Peer("one", func(p *reactortest.Peer) {
				one = p
				p.Sleep(time.Second)
			})
			m.Peer("two", func(p *reactortest.Peer) {
				p.Sleep(time.Millisecond)
				one.Sleep(1)
			})
		})
	},
	"a machine of another run": func(t *testing.T) {
		var first *reactortest.Machine
		reactortest.Run(t, func(m *reactortest.Machine) {
			if first == nil {
				first = m
			}
			first.Loop(reactor.LoopConfig{}, nil)
			m.Peer("client", func(*reactortest.Peer) {})
		})
	},
}

// diesAtEMFILE is an echo server as one writes it at first: it opens a file for each connection, and ends when that
// fails.
func diesAtEMFILE(l *reactor.Loop) error {
	listener := new(reactor.Socket)
	if err := listener.OpenListener(l, reactor.ListenConfig{Addr: address}); err != nil {
		return err
	}
	l.Spawn(task.New(func(t *task.T) error {
		defer closeSocket(t, listener)
		for {
			fd, err := task.Await(t, listener.Accept())
			if err != nil {
				return err
			}
			c := new(reactor.Socket)
			c.Init(l, fd)
			l.SpawnOr(task.New(func(t *task.T) error { return serve(t, l, c, time.Hour) }), func() { discard(c) })
			if err := journal(t, l); err != nil {
				return err
			}
		}
	}))
	return nil
}

// journal notes that there is one connection more.
func journal(t *task.T, l *reactor.Loop) error {
	file, err := task.Await(t, l.Cwd().OpenFile(new(reactor.File), "journal", os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600))
	if err != nil {
		return err
	}
	_, err = task.Await(t, file.Write([]byte("accepted\n")))
	task.Unstoppable(t, func() { _, _ = task.Await(t, file.Close()) })
	return err
}

// keepsALease receives once, and does not release the lease.
func keepsALease(l *reactor.Loop) error {
	listener := new(reactor.Socket)
	if err := listener.OpenListener(l, reactor.ListenConfig{Addr: address}); err != nil {
		return err
	}
	l.Spawn(task.New(func(t *task.T) error {
		defer closeSocket(t, listener)
		fd, err := task.Await(t, listener.Accept())
		if err != nil {
			return nil
		}
		c := new(reactor.Socket)
		c.Init(l, fd)
		defer closeSocket(t, c)
		_, err = task.Await(t, c.RecvLease())
		if errors.Is(err, sender.ErrStopped) {
			return err
		}
		return nil
	}))
	return nil
}

const plantedEnv = "REACTORTEST_PLANTED"

// TestPlantedProgram is what the other process runs.
func TestPlantedProgram(t *testing.T) {
	name := os.Getenv(plantedEnv)
	if name == "" {
		t.Skip("for the other process of TestPlanted")
	}
	planted[name](t)
}

// playPlanted plays a planted program in another process, and returns what that prints.
func playPlanted(t *testing.T, name string, args ...string) string {
	t.Helper()
	args = append([]string{"-test.run=^TestPlantedProgram$", "-test.v", "-test.timeout=2m"}, args...)
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), plantedEnv+"="+name)
	out, err := cmd.CombinedOutput()
	if exit := (*exec.ExitError)(nil); err == nil || !errors.As(err, &exit) {
		t.Errorf("%s does not fail: %v\n%s", name, err, out)
	}
	return string(out)
}

// Each planted program fails, says what is wrong and what to do, and says how it is played again.
func TestPlanted(t *testing.T) {
	const again = "-reactortest.seed="
	for name, want := range map[string][]string{
		"emfile":                   {"no echo: connection reset by peer", "last steps", again},
		"fatal in a peer":          {"a failure of the test", "a deferred function has run", "that was seed 3", again},
		"fatal on a loop":          {"a failure of the test", "that was seed 0", again},
		"fatal in the program":     {"a failure of the test", "that was seed 2", again},
		"error of t":               {"an error of the test", "that was seed 5", again},
		"panic":                    {"client panicked: an accident", "planted_test.go", again},
		"channel":                  {"client (thread 1) has held the simulation", "planted_test.go", "outside of", again},
		"descriptor":               {"was left open", "Close each socket", again},
		"lease":                    {"bytes of buffers leased", "Call Release", again},
		"setup":                    {"the setup of loop1 failed: no wish to", again},
		"for ever":                 {"server waits for ever in Accept of TCP 127.0.0.1:7", again},
		"for ever on a loop":       {"loop1 waits for ever", "a task waits for Pop at /", "planted_test.go:", again},
		"too long":                 {"it has taken 1h0m0s; sleeper has not ended in Sleep", "Config.Time", again},
		"too many turns":           {"it has taken 1000 turns; busy has not ended", again},
		"not deterministic":        {"the third run is wrong", "depends on something else than its seed"},
		"another's peer":           {"a method of peer one is called elsewhere", again},
		"a machine of another run": {"of a run that has ended", again},
	} {
		t.Run(name, func(t *testing.T) {
			out := playPlanted(t, name)
			for _, text := range want {
				if !strings.Contains(out, text) {
					t.Errorf("it does not say %q:\n%s", text, out)
				}
			}
			if strings.Contains(out, "all seeds were played") {
				t.Errorf("it went on:\n%s", out)
			}
		})
	}
}

var (
	seedOf    = regexp.MustCompile(`seed (\d+): `)
	commandOf = regexp.MustCompile(`go test -run '(.*)' -reactortest.seed=(\d+) -v`)
	tookTime  = regexp.MustCompile(`\(\d+\.\d+s\)|0x[0-9a-f]+|goroutine \d+`)
)

// A seed that fails is played again by the command that is printed: with the same end, and each time the same steps.
func TestASeedIsReplayed(t *testing.T) {
	out := playPlanted(t, "emfile")
	seed, command := seedOf.FindStringSubmatch(out), commandOf.FindStringSubmatch(out)
	if seed == nil || command == nil || command[1] != "^TestPlantedProgram$" || command[2] != seed[1] {
		t.Fatalf("it names the seed %q and the command %q:\n%s", seed, command, out)
	}
	if seed[1] == "0" {
		t.Error("it fails without a fault")
	}
	var traces [2]string
	for i := range traces {
		again := playPlanted(t, "emfile", "-reactortest.seed="+seed[1])
		traces[i] = tookTime.ReplaceAllString(again, "")
	}
	if traces[0] != traces[1] {
		t.Errorf("two traces of seed %s differ:\n%s\n%s", seed[1], traces[0], traces[1])
	}
	for _, text := range []string{"odds: ", "NoDescriptor", "submit", "complete", "OPENAT E"} {
		if !strings.Contains(traces[0], text) {
			t.Errorf("the trace has no %q:\n%s", text, traces[0])
		}
	}
}

// A run that is shrunk has fewer faults, and fails alike.
func TestShrinking(t *testing.T) {
	out := playPlanted(t, "emfile", "-reactortest.shrink")
	shrunk := regexp.MustCompile(`-reactortest.seed=(\d+) -reactortest.faults=(\S+) -v`).FindStringSubmatch(out)
	if shrunk == nil || shrunk[2] != "NoDescriptor" {
		t.Fatalf("it was shrunk to %q:\n%s", shrunk, out)
	}
	again := playPlanted(t, "emfile", "-reactortest.seed="+shrunk[1], "-reactortest.faults="+shrunk[2])
	if !strings.Contains(again, "OPENAT E") || strings.Contains(again, "ShortTransfer") {
		t.Errorf("played again:\n%s", again)
	}
}

// A flag that is wrong is refused.
func TestFlags(t *testing.T) {
	for args, want := range map[string]string{
		"-reactortest.seed=x":      "is no number of a seed",
		"-reactortest.faults=Rain": `there is no fault "Rain"`,
	} {
		if out := playPlanted(t, "emfile", args); !strings.Contains(out, want) {
			t.Errorf("%s: %s", args, out)
		}
	}
}
