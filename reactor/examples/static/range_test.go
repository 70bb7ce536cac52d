package main

import "testing"

func TestByteRange(t *testing.T) {
	for _, test := range []struct {
		header string
		size   int64
		status int
		off, n int64
	}{
		{"", 100, 200, 0, 100},
		{"bytes=0-0", 100, 206, 0, 1},
		{"bytes=10-19", 100, 206, 10, 10},
		{"bytes=10-", 100, 206, 10, 90},
		{"bytes=-10", 100, 206, 90, 10},
		{"bytes=-1000", 100, 206, 0, 100},
		{"bytes=90-1000", 100, 206, 90, 10},
		{"bytes=100-", 100, 416, 0, 0},
		{"bytes=-0", 100, 416, 0, 0},
		{"bytes=0-", 0, 416, 0, 0},
		{"bytes=20-10", 100, 200, 0, 100},
		{"bytes=-", 100, 200, 0, 100},
		{"bytes=x-y", 100, 200, 0, 100},
		{"bytes=+1-2", 100, 200, 0, 100},
		{"bytes=0-1,5-6", 100, 200, 0, 100},
		{"bytes=0-9223372036854775807", 100, 206, 0, 100},
		{"bytes=0-9223372036854775808", 100, 200, 0, 100},
		{"lines=0-1", 100, 200, 0, 100},
	} {
		if status, off, n := byteRange(test.header, test.size); status != test.status || off != test.off || n != test.n {
			t.Errorf("%q of %d: %d, %d bytes from %d", test.header, test.size, status, n, off)
		}
	}
}

func TestLocal(t *testing.T) {
	for url, want := range map[string]string{
		"/a.txt":            "/a.txt",
		"/":                 "/index.html",
		"":                  "/index.html",
		"/dir/":             "/dir/index.html",
		"/../../etc/passwd": "/etc/passwd",
		"../etc/passwd":     "/etc/passwd",
		"/a/../../b":        "/b",
		"/..":               "/",
	} {
		if got := local(url); got != want {
			t.Errorf("%q is %q, want %q", url, got, want)
		}
	}
}
