module github.com/reactord/reactord/uring/oracle

go 1.26.0

require (
	github.com/pawelgaczynski/giouring v0.0.0-20230826085535-69588b89acb9
	github.com/reactord/reactord v0.0.0
)

require golang.org/x/sys v0.49.0 // indirect

replace github.com/reactord/reactord => ../..
