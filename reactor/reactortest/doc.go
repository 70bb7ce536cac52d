// Package reactortest plays a program that uses package reactor on simulated machines: with virtual time, with faults,
// and with another order of events for each seed. A seed plays the same run each time.
//
// # Use
//
//	func TestEcho(t *testing.T) {
//		reactortest.Run(t, func(m *reactortest.Machine) {
//			m.Loop(reactor.LoopConfig{}, server) // what is tested, as in Loop.Run: func(*reactor.Loop) error
//			m.Peer("client", func(p *reactortest.Peer) {
//				c := p.Dial(address)
//				io.WriteString(c, "hello")
//				got := make([]byte, 5)
//				if _, err := io.ReadFull(c, got); err != nil || string(got) != "hello" {
//					p.Errorf("%q, %v", got, err)
//				}
//				began := p.Now()
//				if _, err := c.Read(got); err != io.EOF { // the server closes an idle connection
//					p.Errorf("the end is %v", err)
//				}
//				if idle := p.Now() - began; idle < 30*time.Second { // which takes no real time
//					p.Errorf("idle for %v", idle)
//				}
//			})
//		})
//	}
//
// [Run] plays that with 100 seeds. Loops are real ones, on rings of a simulated kernel. A [Peer] is a thread of
// another process, in direct style. Functions of [Machine.After] check what must hold in the end.
//
// docs/reactortest.md is a tutorial.
//
// # Seeds
//
// Seed 0 has no faults. Each other seed draws which faults happen and how often ([Faults]), how large things are
// ([Limits]), and at each call that can wait which thread runs next. The same seeds are played each time, unless flags
// say otherwise:
//
//	-reactortest.seeds N      play N seeds; also by the environment: REACTORTEST_SEEDS=N go test ./...
//	-reactortest.from S       begin with seed S
//	-reactortest.seed S       play seed S only, and print what happens, step by step
//	-reactortest.faults F,…   only these faults may happen; none: no faults
//	-reactortest.shrink       when a seed fails, look for a shorter run with fewer faults that fails in the same way
//
// The first seed that fails fails the test, which then prints the error, the last steps, and the command that plays the
// seed again. What a seed plays changes when the program or this module changes. So a fault that a seed has found
// deserves a separate test.
//
// # What each run asserts by itself
//
// No descriptor is left open, closed twice, or closed under an operation. No buffer is leased when its loop has ended.
// No operation is in flight when its loop has ended. The memory of a zero-copy send does not change. No thread waits
// forever, and the run ends in time ([Config]). No loop's Run returns an error.
//
// # Rules for programs
//
//   - What varies comes from [Machine.Rand]. The order of a map, package time's clock, other random sources, and
//     variables that an earlier seed has changed make a run that cannot be played again; Run notices and says so.
//   - Goroutines, channels, locks that are held across a call that waits, time.Sleep, and package net are not part of
//     the simulation. A program that waits for one of them stops the simulation: after [Config.Stall] the process
//     ends, with a message and all stacks.
//   - Descriptors of a machine mean nothing to the real kernel: use those of package reactor.
//   - All threads of a run are coroutines on the test's goroutine, and run one at a time. So they share variables
//     without locks. The race detector finds nothing there.
//   - [testing.T] may be used on each of them, also its FailNow: the run ends, deferred functions run, and so the test
//     ends. On a loop, a callback or task that calls FailNow ends, and the loop runs on: see [reactor.Loop.Run]; the
//     test ends when the run has ended. Errorf of [Machine] and [Peer] end the run immediately, and are traced; prefer
//     them.
//   - The functions of this package are called in the program and on its simulated threads, as each of them says.
//
// # Several machines
//
// [Machine.NewMachine] makes another machine of the network, with its own addresses, ports, files, descriptors and
// processes. A [Link] has latency, loss, and for datagrams duplicates and another order. It can be cut, in one
// direction or both, and healed. Over links TCP does as tcp(7) says: what is lost is sent again after 200 ms, 400 ms
// and so on, up to 120 s; after 924 s the sender fails with ETIMEDOUT, and a connect after 127 s. What has not been
// sent notices nothing. [Machine.PowerOff] ends all that runs on a machine without a word.
//
// A machine resolves the names of machines: it is a Resolver for [reactor.Dialer]. Without one, a Dialer asks the real
// resolver of the process.
//
// # Limits
//
// Of TCP, each direction of a connection has one segment under way, as large as the receiver's buffer;
// acknowledgements and window updates take no time and are not lost; there are no keepalive probes, and
// TCP_USER_TIMEOUT has no effect. A machine that is off, bandwidth, and queues in the network are not simulated. There
// is no multicast. On the disk, symbolic links are not followed, directories not renamed, permissions not checked. CPU
// time is not simulated: a callback takes none. Child processes run nothing: they end after a time.
package reactortest
