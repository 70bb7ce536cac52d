// Package testenv skips the tests that need what the machine does not have, says how much of a long search a test makes
// ([Seeds]), finds addresses on which nobody listens ([Vacant]), and polls descriptors ([Poll]).
//
// A test that needs io_uring tries to use it, and gives the error to [NeedIOUring]:
//
//	ring, err := uring.New(uring.Config{})
//	testenv.NeedIOUring(t, err)
//
// Where io_uring cannot be used, the test is skipped, and its message says why. With CI=true the test fails
// instead, because the machine is expected to have io_uring. A run that is meant to have none says so with the
// environment variable [Variable], which the command internal/noiouring sets.
package testenv
