package testenv

import (
	"os"
	"testing"
)

// Variable is the environment variable that says whether tests are expected to find io_uring.
const Variable = "REACTORD_TEST_IO_URING"

// Denied is the value of [Variable] in a run without io_uring.
const Denied = "denied"

// NeedIOUring ends the test if err is not nil. Err is the result of an attempt to use io_uring. The test is
// skipped, but with CI=true and without [Variable] it fails.
func NeedIOUring(t testing.TB, err error) {
	t.Helper()
	switch {
	case err == nil:
	case os.Getenv("CI") == "true" && os.Getenv(Variable) != Denied:
		t.Fatalf("the test needs io_uring: %v", err)
	default:
		t.Skipf("the test needs io_uring: %v", err)
	}
}
