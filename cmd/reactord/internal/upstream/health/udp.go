package health

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/task"
)

const (
	// udpTries is how often a question is sent within the timeout, because datagrams are lost.
	udpTries = 4
	// udpAnswerLimit limits the bytes of a datagram that are searched.
	udpAnswerLimit = 4 << 10
	// udpAnswers limits the answers without what is expected, so that a flood of them ends the check.
	udpAnswers = 64
)

// exchangeUDP performs the steps in order over a connected UDP socket, on which a server without a socket refuses by
// ICMP. Each question is sent again, every so often, until a datagram contains what is expected; any datagram will do
// if nothing is expected. header precedes each question.
func (p *probe) exchangeUDP(steps []exchange, header []byte, every time.Duration) error {
	wrong := 0
	for i, x := range steps {
		p.hide(x.send)
		if len(steps) > 1 {
			p.in = fmt.Sprintf("step %d: ", i+1)
		}
		question := append(slices.Clip(header), x.send...)
		for {
			p.step = p.in + "send"
			if _, err := task.Await(p.t, p.socket.Send(question)); err != nil {
				return err
			}
			found, err := p.answerUDP(x.expect, &wrong, p.loop.Clock()+int64(every))
			if err != nil {
				return err
			}
			if found {
				break
			}
		}
	}
	return nil
}

// answerUDP receives datagrams until one contains want, or until a time. It counts the others.
func (p *probe) answerUDP(want []byte, wrong *int, until int64) (found bool, err error) {
	p.step = p.in + "receive"
	b := make([]byte, udpAnswerLimit)
	for {
		n, err := task.Await(p.t, sender.Timeout(p.socket.Recv(b), p.loop.SleepUntil(until)))
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded):
			return false, nil
		case err != nil:
			return false, err
		case bytes.Contains(b[:n], want):
			return true, nil
		}
		p.got = append(p.got[:0], b[:n]...) // for the error of a timeout
		if *wrong++; *wrong > udpAnswers {
			return false, fmt.Errorf("%d answers, such as %s, do not contain %s", *wrong, quote(p.redact(p.got)), quote(want))
		}
	}
}
