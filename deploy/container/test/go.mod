module github.com/reactord/reactord/deploy/container/test

go 1.26.0

require (
	github.com/google/go-cmp v0.7.0
	github.com/moby/profiles/seccomp v0.2.4
	github.com/opencontainers/runtime-spec v1.2.1
)

require golang.org/x/sys v0.49.0
