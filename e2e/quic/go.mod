module github.com/reactord/reactord/e2e/quic

go 1.26.0

require github.com/quic-go/quic-go v0.65.0

require (
	golang.org/x/crypto v0.57.0 // indirect
	golang.org/x/net v0.59.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
)
