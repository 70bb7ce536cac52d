// Package container tests the files of deploy/container: the image is built, and run by the runtime that Docker uses,
// under the seccomp profiles that a container gets. It has no code that is used.
package container
