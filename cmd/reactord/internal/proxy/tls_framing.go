package proxy

// framing follows the records of TLS as crypto/tls is given them. It knows whether the last one is whole, which
// crypto/tls does not tell. The zero framing is before the first record.
type framing struct {
	left   uint16 // bytes of the record that are to come
	header uint8  // bytes of its header that have come, if it is not whole
}

// recordHeader is the length of the header of a record: type, version, length.
const recordHeader = 5

// took notes the next bytes.
func (f *framing) took(b []byte) {
	for len(b) != 0 {
		if f.header == 0 && f.left != 0 {
			n := min(len(b), int(f.left))
			f.left -= uint16(n)
			b = b[n:]
			continue
		}
		if f.header++; f.header >= recordHeader-1 {
			f.left = f.left<<8 | uint16(b[0])
		}
		f.header %= recordHeader
		b = b[1:]
	}
}

// cut reports whether the last record is not whole.
func (f *framing) cut() bool { return f.left != 0 || f.header != 0 }
