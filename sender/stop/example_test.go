package stop_test

import (
	"fmt"

	"github.com/reactord/reactord/sender/stop"
)

type download struct{ onStop stop.Callback }

func (d *download) OnStop() { fmt.Println("cancelling") }

func Example() {
	var source stop.Source
	var d download
	d.onStop.Register(source.Token(), &d)
	fmt.Println(source.RequestStop(), source.RequestStop())
	d.onStop.Deregister()
	fmt.Println(source.Token().StopRequested())
	// Output:
	// cancelling
	// true false
	// true
}
