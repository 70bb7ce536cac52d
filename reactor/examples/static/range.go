package main

import (
	"net/http"
	"strconv"
	"strings"
)

// byteRange returns what a Range header asks for of a file of that many bytes: the status of the response, and the part
// of the file. A header that is malformed, or that asks for several ranges, is ignored.
//
// Source: RFC 9110, section 14.
func byteRange(header string, size int64) (status int, off, n int64) {
	first, last, ok := strings.Cut(strings.TrimPrefix(header, "bytes="), "-")
	if !ok || !strings.HasPrefix(header, "bytes=") {
		return http.StatusOK, 0, size
	}
	from, err1 := number(first)
	to, err2 := number(last)
	switch {
	case err1 != nil || err2 != nil || first == "" && last == "" || first != "" && last != "" && from > to:
		return http.StatusOK, 0, size
	case first == "": // the last bytes, to of them
		n = min(to, size)
		off = size - n
	default:
		if last == "" || to >= size {
			to = size - 1
		}
		off, n = from, to-from+1
	}
	if n <= 0 {
		return http.StatusRequestedRangeNotSatisfiable, 0, 0
	}
	return http.StatusPartialContent, off, n
}

// number parses a decimal number without a sign; 0 for no digits.
func number(digits string) (int64, error) {
	if digits == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(digits, 10, 63)
	return int64(n), err
}
