//go:build linux

// Package netconn adapts connections of package reactor to net.Conn, net.Listener and net.PacketConn, so that bufio,
// crypto/tls, net/http and other people's protocol libraries run over loops unchanged. There are two forms.
//
// A [Conn] belongs to one task. Its Read and Write await on the loop's thread, so the library that calls them runs
// there too, without a goroutine, a lock or another thread. An idle Conn whose task is in io.Copy holds no buffer:
//
//	l.Spawn(task.New(func(t *task.T) error {
//		c := netconn.New(t, socket)
//		defer c.Close()
//		_, err := io.Copy(c, c) // an echo, without a copy
//		return err
//	}))
//
// A [Stream] belongs to goroutines, any number of them, and promises all that package net does. [Listen] and [Dial]
// make it, on loops that run elsewhere; [Serve] makes the loops as well:
//
//	err := netconn.Serve(ctx, reactor.Config{}, reactor.ListenConfig{Addr: addr}, func(ln net.Listener) error {
//		return http.Serve(ln, handler)
//	})
//
// A task costs less, and what it calls must not block. Goroutines are for code that blocks, or that starts goroutines
// itself, as the server of net/http does.
//
// # Where methods may be called
//
//	method                                     Conn, PacketConn            TLS                     Stream
//	Read, Write, ReadFrom, WriteTo             in its task                 in its task             anywhere
//	WriteIn                                    -                           in another task         -
//	Handshake, Flush                           -                           in its task             -
//	Close, CloseWrite                          anywhere                    anywhere                anywhere
//	SetDeadline, SetReadDeadline, …            anywhere                    anywhere                anywhere
//	LocalAddr, RemoteAddr                      anywhere                    anywhere                anywhere
//	SetIdle, SetDrain, Socket                  on the loop's thread        of its NetConn          -
//	SyscallConn's Control                      on the loop's thread        of its NetConn          anywhere
//
// "In its task" is the function of the task that New was given, on its own goroutine; elsewhere these methods panic. To
// read in one task and write in another one of the same loop, make two Conns of the Socket, and close one of them.
// "Anywhere" is on any goroutine, and at any time.
//
// Close of a Conn waits until the socket is closed if it is called in the task; elsewhere it lets the loop close it,
// and returns. A method that another goroutine interrupts by Close returns an error that matches net.ErrClosed.
//
// # Deadlines
//
// The deadlines of net.Conn are points in time. When one is set on a Conn, what is left until then is rounded up to a
// millisecond and counted on the loop's clock: a change of the wall clock does not matter, and on a simulated kernel
// the loop's clock is virtual. [Conn.SetIdle] is a duration on the loop's clock, and bounds each Read and Write. The
// error matches os.ErrDeadlineExceeded, and is a net.Error whose Timeout reports true. After that the Conn can be used
// again. A Write that was interrupted returns how many bytes were sent.
//
// If the task is requested to stop, or its loop drains, Read and Write return [sender.ErrStopped]. [Conn.SetDrain] does
// that to Reads only.
//
// # TLS
//
// [Server] and [Client] put crypto/tls over a Conn. It holds a lock while it calls the Conn's Write, and its Read may
// write too (an answer to a KeyUpdate, an alert). If Write awaited, Read would block the thread of the loop on that
// lock. So under crypto/tls Write never waits: it appends to a queue that the loop sends. [TLS.Write] waits for room
// before it calls crypto/tls, with the write deadline of the Conn. An error of sending is returned by the next Write or
// by Close. A peer that makes crypto/tls answer and reads nothing is cut off when 1 MiB is queued.
//
// Close sends what is queued, and the close_notify, for at most [FlushTimeout]. CloseWrite sends a close_notify and
// leaves the other direction open.
//
// # Streams and loops
//
// The goroutine that reads or writes a Stream makes the system call itself. Only when that would block does it wait for
// its loop, which watches the descriptor by one multishot poll. In the end of a turn that has woken goroutines the loop
// yields its processor to them. When a loop ends, so do its Streams. A Stream's descriptor is closed when no goroutine
// uses it.
package netconn
