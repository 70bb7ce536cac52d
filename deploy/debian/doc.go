// Debian builds the package for Debian, with nfpm as a library, into a directory:
//
//	go run . -arch amd64 -out DIR
//
// The version is that of the nearest tag of git (v1.2.3), with the commits since then. nfpm.yaml says what is in the
// package, and README.md how it behaves.
package main
