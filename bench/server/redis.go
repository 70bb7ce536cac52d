package server

import "net"

// redis answers commands. All connections share the store.
func (c *Config) redis(conn net.Conn) error {
	in, out := make([]byte, 0, chunk), []byte(nil)
	for {
		if len(in) == cap(in) { // a long command
			in = append(in, make([]byte, len(in))...)[:len(in)]
		}
		n, err := conn.Read(in[len(in):cap(in)])
		if err != nil {
			return err
		}
		in = in[:len(in)+n]
		used, replies, failed := c.store.Answer(in, out[:0])
		out = replies
		if len(out) > 0 {
			if _, err := conn.Write(out); err != nil {
				return err
			}
		}
		if failed != nil {
			return failed
		}
		in = in[:copy(in, in[used:])]
	}
}
