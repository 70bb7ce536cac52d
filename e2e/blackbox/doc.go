// Package blackbox tests from outside what a layer 4 proxy does with bytes, EOF and resets. It knows only the proxy's
// address, and plays both the client and the server behind it. So it runs against any proxy, and against none: with the
// server's own address it must pass.
//
// # The language
//
// A [Case] is two scripts, of a client and of a server. An action is a line, or ends with a semicolon:
//
//	connect             to the proxy; the client's first action
//	accept              the connection from the proxy; the server's first action
//	send DATA           DATA is "text" as in Go, or a size such as 1MiB: that much of the party's stream
//	dribble DATA        the same, a byte at a time
//	urgent DATA         send it, with its last byte as urgent data (MSG_OOB)
//	flood               send from the stream until nothing is taken any more for half a second
//	expect DATA         receive exactly that: a size is that much of the other party's stream
//	expect flood        receive what the other party's last flood has sent
//	expect line         receive until "\r\n"
//	expect eof          receive EOF, and nothing before it
//	expect reset        receive until the connection is reset
//	expect gone         receive until EOF or a reset
//	expect silence TIME receive nothing for so long
//	shutdown            send EOF
//	shutdown-read       receive no more (SHUT_RD)
//	reset               close with a reset
//	close               close; the kernel sends EOF, or a reset if there is something unread
//	pause TIME
//	signal NAME         let the other party continue that awaits it
//	await NAME
//	wait                for the actions that run in the background: those that end with &
//
// The stream of a party is a sequence of bytes that never repeats within reach, so that bytes which are lost, added,
// reordered or from another connection are found.
//
// # Files
//
//	case.go    Case, and how it is run
//	parse.go   reads a script
//	party.go   what each action does
//	cases.go   the cases that every proxy should pass
//	proxied.go those of a proxy that believes PROXY headers and sends them
package blackbox
