package stream

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Code is a gRPC status code.
type Code uint32

// Status codes with a meaning here. The others have only names.
const (
	OK                Code = 0
	Canceled          Code = 1
	Unknown           Code = 2
	InvalidArgument   Code = 3
	DeadlineExceeded  Code = 4
	NotFound          Code = 5
	PermissionDenied  Code = 7
	ResourceExhausted Code = 8
	Unimplemented     Code = 12
	Internal          Code = 13
	Unavailable       Code = 14
	Unauthenticated   Code = 16
)

// codes are the names of status codes.
var codes = [...]string{
	"OK", "Canceled", "Unknown", "InvalidArgument", "DeadlineExceeded", "NotFound", "AlreadyExists", "PermissionDenied",
	"ResourceExhausted", "FailedPrecondition", "Aborted", "OutOfRange", "Unimplemented", "Internal", "Unavailable",
	"DataLoss", "Unauthenticated",
}

// String returns the name of the code as servers write it.
func (c Code) String() string {
	if int(c) < len(codes) {
		return codes[c]
	}
	return "code " + strconv.FormatUint(uint64(c), 10)
}

// Error is a server's end of a stream, even one without a fault ([OK]).
type Error struct {
	Code    Code
	Message string // from the server, bounded, without control characters; may be empty
}

// Error describes the end for people.
func (e *Error) Error() string {
	text := "the server closed the stream: " + e.Code.String()
	if e.Message != "" {
		text += ": " + e.Message
	}
	return text
}

// maxText limits how much of a server's text is kept, in bytes.
const maxText = 1024

// errNoStatus reports a stream that ends without a status, closed by something in between.
var errNoStatus = errors.New("the stream ended without a gRPC status")

// errHalf reports a truncated message.
var errHalf = errors.New("the stream ended within a message")

// ended returns the error in the trailers of a stream.
func ended(trailers http.Header) error {
	text := trailers.Get("Grpc-Status")
	if text == "" {
		return errNoStatus
	}
	code, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		return fmt.Errorf("the stream ended with an invalid status: %s", clean(text))
	}
	return &Error{Code: Code(code), Message: clean(unescape(trailers.Get("Grpc-Message")))}
}

// answered checks the header of a response. It returns nil if messages follow.
func answered(r *http.Response) error {
	kind := r.Header.Get("Content-Type")
	grpc := kind == "application/grpc" || strings.HasPrefix(kind, "application/grpc+") ||
		strings.HasPrefix(kind, "application/grpc;")
	switch {
	case r.StatusCode == http.StatusOK && grpc:
		if r.Header.Get("Grpc-Status") != "" { // trailers only
			return ended(r.Header)
		}
		return nil
	case r.Header.Get("Grpc-Status") != "" && grpc:
		return ended(r.Header)
	case r.StatusCode == http.StatusOK:
		return fmt.Errorf("the server does not speak gRPC: its answer is %q", clip(kind))
	}
	e := &Error{Code: codeOf(r.StatusCode), Message: "HTTP status " + clip(r.Status)}
	body, _ := io.ReadAll(io.LimitReader(r.Body, maxText))
	if text := clean(string(body)); text != "" {
		e.Message += ": " + text
	}
	return e
}

// codeOf maps an HTTP status, as gRPC's document "HTTP to gRPC Status Code Mapping" does.
func codeOf(status int) Code {
	switch status {
	case http.StatusBadRequest:
		return Internal
	case http.StatusUnauthorized:
		return Unauthenticated
	case http.StatusForbidden:
		return PermissionDenied
	case http.StatusNotFound:
		return Unimplemented
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return Unavailable
	}
	return Unknown
}

// unescape decodes the percent-encoding of a message. Invalid escapes stay as they are.
func unescape(text string) string {
	if !strings.Contains(text, "%") {
		return text
	}
	var out strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '%' && i+2 < len(text) {
			if b, err := strconv.ParseUint(text[i+1:i+3], 16, 8); err == nil {
				out.WriteByte(byte(b))
				i += 2
				continue
			}
		}
		out.WriteByte(text[i])
	}
	return out.String()
}

// clean returns a server's text as one line of printable characters, limited in length.
func clean(text string) string {
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "�")), " ")
	return clip(strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '�'
		}
		return r
	}, text))
}

// clip limits a text.
func clip(text string) string {
	if len(text) <= maxText {
		return text
	}
	at := maxText
	for at > 0 && !utf8.RuneStart(text[at]) {
		at--
	}
	return text[:at] + "…"
}

// tooManyPings reports whether a server closed the connection because of too many pings. The type of the error is not
// exported.
func tooManyPings(err error) bool {
	return err != nil && strings.Contains(err.Error(), "ENHANCE_YOUR_CALM")
}

// explain rephrases an error of the connection for people.
func explain(err error, ping time.Duration) error {
	switch text := err.Error(); {
	case errors.Is(err, errHalf):
		return err
	case strings.Contains(text, "http2: client connection lost"):
		return fmt.Errorf("connection lost: no answer to a ping within %v", ping)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), strings.Contains(text, "could not be established"):
		return fmt.Errorf("the server closed the connection: %w", io.ErrUnexpectedEOF)
	case strings.Contains(text, "GOAWAY"):
		return fmt.Errorf("the server closed the connection (%s)", clean(text))
	}
	return err
}
