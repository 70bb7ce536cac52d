package stream

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"google.golang.org/protobuf/types/known/wrapperspb"
)

// FuzzMessages reads what a server may send, whole and byte by byte.
func FuzzMessages(f *testing.F) {
	good, _ := appendMessage(nil, wrapperspb.String("good"))
	f.Add(good)
	f.Add(append(good, good[:7]...))
	f.Add([]byte{0, 255, 255, 255, 255})
	f.Add([]byte{1, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, data []byte) {
		all := func(from io.Reader) (messages [][]byte, err error) {
			r := reader{from: from, limit: 1000}
			for {
				m, err := r.next()
				if err != nil {
					return messages, err
				}
				if len(m) > r.limit {
					t.Fatalf("%d bytes", len(m))
				}
				messages = append(messages, bytes.Clone(m))
			}
		}
		whole, err := all(bytes.NewReader(data))
		single, err2 := all(iotest.OneByteReader(bytes.NewReader(data)))
		if err.Error() != err2.Error() || len(whole) != len(single) {
			t.Fatalf("%d messages, %v; byte by byte %d, %v", len(whole), err, len(single), err2)
		}
		var again []byte
		for _, m := range whole {
			again = append(append(again, 0, byte(len(m)>>24), byte(len(m)>>16), byte(len(m)>>8), byte(len(m))), m...)
		}
		if !bytes.HasPrefix(data, again) || errors.Is(err, io.EOF) && len(again) != len(data) {
			t.Fatalf("%q was read as %q, %v", data, again, err)
		}
	})
}

// FuzzStatus reads what a server may say at the end.
func FuzzStatus(f *testing.F) {
	f.Add("0", "", "application/grpc", 200)
	f.Add("8", "try%20another%2", "application/grpc+proto", 200)
	f.Add("-1", "%ff%00%0a", "text/html", 502)
	f.Add("", "%", "", 0)
	f.Fuzz(func(t *testing.T, code, message, kind string, status int) {
		r := &http.Response{StatusCode: status, Status: "status", Header: http.Header{}, Trailer: http.Header{}}
		r.Header.Set("Content-Type", kind)
		r.Body = io.NopCloser(strings.NewReader(message))
		if code != "" {
			r.Header.Set("Grpc-Status", code)
			r.Trailer.Set("Grpc-Status", code)
		}
		r.Header.Set("Grpc-Message", message)
		r.Trailer.Set("Grpc-Message", message)
		for _, err := range []error{answered(r), ended(r.Trailer)} {
			if err == nil {
				continue
			}
			text := err.Error()
			if len(text) > 5*maxText || strings.ContainsAny(text, "\n\x00\x1b") || !utf8.ValidString(text) {
				t.Fatalf("%q", text)
			}
		}
	})
}
