// Command noiouring runs a command that cannot use io_uring, as in a container that denies it:
//
//	go run ./internal/noiouring go test -count=1 ./...
//	go run ./internal/noiouring -errno ENOSYS go run ./cmd/reactord doctor
//
// A seccomp filter makes io_uring_setup(2) fail. The error is EPERM, as in Docker, or that of -errno: ENOSYS is
// Podman's. The filter is for the command and its children only; the rest of the machine keeps io_uring.
//
// The command's environment has [testenv.Variable] set, so that a test which needs io_uring is skipped even with
// CI=true. Run tests with -count=1: a cached result may be that of a run with io_uring.
package main
