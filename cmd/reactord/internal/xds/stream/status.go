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

// Code is a status code of gRPC.
type Code uint32

// The status codes that have a meaning here. The others have only names.
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

// String is the name of the code as servers write it.
func (c Code) String() string {
	if int(c) < len(codes) {
		return codes[c]
	}
	return "code " + strconv.FormatUint(uint64(c), 10)
}

// Error is how a server has ended a stream, also if it has done so without a fault ([OK]).
type Error struct {
	Code    Code
	Message string // from the server, bounded, without control characters; may be empty
}

// Error is a text for people.
func (e *Error) Error() string {
	text := "the server has ended the stream: " + e.Code.String()
	if e.Message != "" {
		text += ": " + e.Message
	}
	return text
}

// maxText is how much of a server's text is kept, in bytes.
const maxText = 1024

// errNoStatus is the error of a stream that ends without a status: something in between has ended it.
var errNoStatus = errors.New("the stream has ended without a status of gRPC")

// errHalf is the error of a message that ends early.
var errHalf = errors.New("the stream has ended within a message")

// ended is the error that the trailers of a stream say.
func ended(trailers http.Header) error {
	text := trailers.Get("Grpc-Status")
	if text == "" {
		return errNoStatus
	}
	code, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		return fmt.Errorf("the stream has ended with a status that is no number: %s", clean(text))
	}
	return &Error{Code: Code(code), Message: clean(unescape(trailers.Get("Grpc-Message")))}
}

// answered checks the header of a response. nil: messages follow.
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
	e := &Error{Code: codeOf(r.StatusCode), Message: "it answers with the status " + clip(r.Status) + " of HTTP"}
	body, _ := io.ReadAll(io.LimitReader(r.Body, maxText))
	if text := clean(string(body)); text != "" {
		e.Message += ": " + text
	}
	return e
}

// codeOf is the code for a status of HTTP, as gRPC's document "HTTP to gRPC Status Code Mapping" has it.
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

// unescape decodes the percent-encoding of a message. What is no encoding stays as it is.
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

// clean is a server's text in one line, bounded, of characters that can be printed.
func clean(text string) string {
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "�")), " ")
	return clip(strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '�'
		}
		return r
	}, text))
}

// clip bounds a text.
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

// tooManyPings reports whether a server has closed the connection because it was asked for signs of life too often.
// The error's type is not exported.
func tooManyPings(err error) bool {
	return err != nil && strings.Contains(err.Error(), "ENHANCE_YOUR_CALM")
}

// explain is an error of the connection in words for people.
func explain(err error, ping time.Duration) error {
	switch text := err.Error(); {
	case errors.Is(err, errHalf):
		return err
	case strings.Contains(text, "http2: client connection lost"):
		return fmt.Errorf("the connection is lost: no answer to a ping within %v", ping)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), strings.Contains(text, "could not be established"):
		return fmt.Errorf("the server has closed the connection: %w", io.ErrUnexpectedEOF)
	case strings.Contains(text, "GOAWAY"):
		return fmt.Errorf("the server has closed the connection (%s)", clean(text))
	}
	return err
}
