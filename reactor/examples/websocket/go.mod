module github.com/reactord/reactord/reactor/examples/websocket

go 1.26.0

require (
	github.com/coder/websocket v1.8.15
	github.com/reactord/reactord v0.0.0
)

require (
	go.uber.org/goleak v1.3.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
)

replace github.com/reactord/reactord => ../../..
