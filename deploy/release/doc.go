// Package release tests the configuration of releases, .goreleaser.yaml at the root, with GoReleaser's own reader. A
// whole release without publishing is .ci/release, which needs the program goreleaser.
package release
