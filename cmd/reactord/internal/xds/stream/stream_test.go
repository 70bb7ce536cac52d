package stream

import (
	"fmt"
	"io"
	"log"
	"testing"
)

var discard = log.New(io.Discard, "", 0)

func TestMessagesGoBothWays(t *testing.T) {
	s := serve(t, nil, echo)
	run(t, config(s.at()), func(s *Stream) error {
		for i := range 100 {
			text := fmt.Sprint("message ", i)
			if got, err := ask(s, text); got != text || err != nil {
				t.Errorf("got %q, %v, want %q", got, err, text)
			}
		}
		if got := s.Received(); got != 100 {
			t.Errorf("received %d, want 100", got)
		}
		return errStop
	})
}
