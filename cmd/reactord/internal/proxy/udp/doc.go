// Package udp carries datagrams between clients and servers. A session is the datagrams of one client, as its address
// tells, and of the server that was chosen for it.
//
// # How to use it
//
// A [Listener] is what one loop has of a UDP listener: its sockets, and the sessions of the clients whose datagrams
// come to them. [New] makes one, [Listener.Add] gives it sockets, [Listener.Start] and [Listener.Receive] begin. Its
// [Owner] decides about each session: whether there is room, which server it gets, with which [Settings]; and it keeps
// the accounts. It embeds a [Session] in what it keeps of one.
//
// A listener ends by [Listener.Drain], when its sessions have; or by [Listener.Close], which ends them. With
// [Listener.HandOver] another process receives from the same sockets: the sessions still pass on replies, and can be
// continued there: [Session.Rest] brings one to rest, [Session.Snapshot] describes it, and [Listener.Arrive] makes it
// one of the other process.
//
// # What it guarantees
//
// A datagram arrives whole or not at all, also an empty one and one of 65 507 bytes; never twice; and those of a
// session in the order in which they came, unless a socket had no room for one. What cannot be sent is dropped and
// counted. Nothing is retried: clients of UDP do that.
//
// A reply leaves from the address that its client has asked, also if the listener has several.
//
// The server's socket is connected, so that the loop hears of a server that does not listen (ICMP). That ends the
// session, and its owner learns of it; the client's next datagram makes another session.
//
// A session ends when it has been idle, when it has its requests and responses, when its lifetime has passed (which is
// noticed at the next datagram), or when its owner says so.
//
// # Memory
//
// There is no allocation for a datagram, and no timer for a session. An idle session holds no buffer. A session has at
// most 64 datagrams that wait to be sent, in each direction. The number of sessions is bounded by the owner.
//
// # Speed
//
// Datagrams are received in batches, and what a turn of the loop produces is submitted together. Where the kernel has
// UDP_GRO and UDP_SEGMENT, datagrams of one session that have the same size and follow each other are received and sent
// as one.
//
// # Threads
//
// A Listener and its sessions belong to their loop's thread, from Start on. New and Add are called before, on any
// thread.
//
// # Files
//
//	listener.go  Listener and its states: sessions are found, begun and ended
//	owner.go     Owner, Settings, Tally: what the user of the package has and gets
//	socket.go    the sockets that clients send to
//	session.go   Session and its states
//	snapshot.go  sessions that move to another process
//	idle.go      sessions in the order of their last datagram, and their timer
//	packet.go    datagrams on their way out
//	received.go  datagrams that were received, and what their control data says
package udp
