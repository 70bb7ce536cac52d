// Package exampletest runs the programs of the examples, and real clients, in tests.
//
// The test binary is the program: [Main] calls the program's main function if [Start] has started the process. So the
// program has the race detector and the assertions that its test is built with.
//
//	func TestMain(m *testing.M) { exampletest.Main(m, main) }
//
//	func TestCurl(t *testing.T) {
//		exampletest.OnRings(t, func(t *testing.T, ring string) {
//			p := exampletest.Start(t, "-ring", ring)
//			exampletest.Client(t, "curl", "--fail", "http://"+p.Addr)
//		})
//	}
package exampletest
