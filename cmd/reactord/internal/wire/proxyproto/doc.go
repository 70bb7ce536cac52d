// Package proxyproto reads and writes headers of the PROXY protocol, versions 1 and 2. A header in front of a
// connection's first byte has the addresses of the connection that another proxy has accepted.
//
// # How to use it
//
// Call [Parse] with the bytes that have arrived, from the first one. While it returns [ErrIncomplete], call it again
// when there are more. Otherwise the header was n bytes, and the bytes of the connection follow. [Append] makes a
// header, and [AppendTLV] and [AppendSSL] make TLVs for it.
//
// # What it guarantees
//
// The specification is proxy-protocol.txt of HAProxy (doc/ in its repository). Parse is strict where the specification
// is, and makes these choices where it leaves some to the receiver:
//
//   - The first byte that no header can have is an error, without waiting for more.
//   - A header is at most [MaxLen] bytes, of the 65 551 that version 2 could have. A line of version 1 is at most 107.
//   - A CR or LF that is not part of CRLF is an error, even behind UNKNOWN.
//   - LOCAL: the rest of the header is skipped, whatever its family.
//   - An unspecified family or protocol: the header has no addresses, and those of the socket count. The bytes behind
//     the addresses of the family are TLVs if they are well-formed, and are ignored if not.
//   - In all other headers, the bytes behind the addresses must be well-formed TLVs.
//   - A CRC32c is verified if present. A second one is an error.
//   - An IPv4 address that is written as an IPv6 address ("::ffff:192.0.2.1") is an IPv4 address.
//
// Parse does not copy the bytes: a [Header] refers to them. It allocates for an error only. Its time is proportional to
// the number of bytes.
//
// # Threads
//
// All functions are pure and may be called on any thread.
//
// # Files
//
//	header.go  Header, errors, Parse
//	v1.go      the line of version 1
//	v2.go      the binary header of version 2
//	tlv.go     TLVs
//	ssl.go     the TLV about TLS
package proxyproto
