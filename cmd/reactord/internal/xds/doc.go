// Package xds has the plan follow a control plane that speaks delta xDS: it is one more source of the plan, beside the
// file.
//
// # How to use it
//
// [New] makes a [Client], [Client.Restore] takes what the process before has accepted, [Client.Start] connects. What is
// to be in force is given to [Config.Apply]. [Client.Status] tells people what has become of each resource.
//
// # What it guarantees
//
// Each resource is judged alone: one that cannot be honoured is refused by name, with the reason, and what it said
// before stays in force. An ACK is sent when what was accepted is in force, or waits for other resources only. A
// panic of the code that reads resources is a refusal.
//
// A cluster comes into force when its endpoints and secrets have arrived, and a listener after its clusters and
// secrets. Until then what was in force before stays. The order in which resources arrive makes no difference. What
// never gets warm keeps only itself back. Something new whose endpoints or clusters have not arrived within
// initial_fetch_timeout comes up without them; something that works is never replaced by that. A listener in force
// keeps its address as long as the control plane has it there, whichever others claim it.
//
// A removed cluster stays in force as long as a listener in force refers to it. Clusters that no listener refers to
// are kept, as Envoy does, and become no backend, so that they cost no checks. Endpoints and secrets stay as long
// as something needs them, also if the control plane says that they are gone.
//
// Unchanged content is no change, whatever its version is. Pushes are gathered for a moment. One that would remove
// all listeners, clusters or servers, or so many per cent of them, is held back for a while: what returns meanwhile
// was never gone. What is removed drains.
//
// What is in force stays so when the control plane dies. The last good file has it survive the process.
//
// # Threads
//
// A [Client] has one goroutine, which decides and applies, and three of the transport. While a plan is applied, nothing
// more is read than one response. Its methods may be called from any goroutine.
//
// # Files
//
//	client.go    Client, its goroutine
//	session.go   a stream
//	settings.go  what the configuration says
//	language.go  what a resource means: package translate behind a small interface
//	resource.go  what is known about one resource, and its state
//	book.go      which contents are to be in force: warming, holding back
//	apply.go     has the plan follow, leaves out what is wrong, answers
//	lastgood.go  what survives the process
//	status.go    what people are told
package xds
