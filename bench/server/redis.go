package server

// redis answers commands. All connections share the store.
func (c *Config) redis(s stream) error {
	in, out := make([]byte, 0, chunk), []byte(nil)
	for {
		if len(in) == cap(in) { // a long command
			in = append(in, make([]byte, len(in))...)[:len(in)]
		}
		n, err := s.Read(in[len(in):cap(in)])
		if err != nil || n == 0 {
			return err
		}
		in = in[:len(in)+n]
		used, replies, err := c.store.Answer(in, out[:0])
		out = replies
		if len(out) > 0 {
			if err := s.Write(out); err != nil {
				return err
			}
		}
		if err != nil {
			return err
		}
		in = in[:copy(in, in[used:])]
	}
}
