// Package proxyproto reads and writes headers of the PROXY protocol, versions 1 and 2. A header in front of a
// connection's first byte tells the addresses of the connection that another proxy has accepted.
//
// # How to use it
//
// Call [Parse] with the bytes that have arrived, from the first one. While it returns [ErrIncomplete], call it again
// when there are more. Else n bytes were the header, and what follows them is the connection's. [Append] makes a
// header, and [AppendTLV] and [AppendSSL] what it may have besides addresses.
//
// # What it guarantees
//
// The specification is proxy-protocol.txt of HAProxy (doc/ in its sources). Parse is strict where the specification
// is, and where it leaves the receiver a choice, this is the choice:
//
//   - The first byte that no header can have is an error, without waiting for more.
//   - A header is at most [MaxLen] bytes, of the 65 551 that version 2 could have. A line of version 1 is at most 107.
//   - A CR or LF that is not part of CRLF is an error, even behind UNKNOWN.
//   - LOCAL: all that follows is skipped, whatever its family.
//   - An unspecified family or protocol: the header has no addresses, and the connection's own count. The bytes behind
//     the addresses of the family are TLVs if they have the form of TLVs, and are ignored if not.
//   - Of all other headers, the bytes behind the addresses must have the form of TLVs.
//   - A CRC32c is verified where there is one. There may be one only.
//   - An IPv4 address that is written as an IPv6 address ("::ffff:192.0.2.1") is an IPv4 address.
//
// Parse reads what it was given, and neither copies nor keeps it: a [Header] refers to these bytes. It allocates for
// an error only. Its time is proportional to the bytes it was given.
//
// # Threads
//
// All functions are pure and may be called on any thread.
//
// # Files
//
//	header.go  Header, errors, Parse: which version it is
//	v1.go      the line of version 1
//	v2.go      the binary header of version 2
//	tlv.go     TLVs: types, iteration, making them
//	ssl.go     the TLV about TLS
package proxyproto
