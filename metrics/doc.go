// Package metrics is the reactor's and the proxy's counters for Prometheus.
//
// # The contract
//
// A scrape takes no lock on a loop, waits for none and wakes none: it reads counters that the loops
// store for it once a turn, and makes the series of that reading. Between scrapes nothing is kept here
// and nothing is counted here, so a series is gone when what it told of is gone. A loop that sleeps has
// no turns: the time of a wait is counted when the wait ends.
//
// Collectors may be used from any goroutine, by several scrapes at once, before the loops run, while
// they run and after they have ended. The numbers of a scrape are each exact, but they are not read at
// one instant: two of them need not add up to a third.
//
// Every series exists from the first scrape on, with the value 0, so that the first event of a kind is
// an increase. The values of labels are names from the configuration, numbers of loops and fixed words;
// none comes from a client.
//
// # The series of the loops (NewLoops)
//
// The label reactor is the loop's number.
//
//	reactord_io_backend_info{backend,reason}            gauge   1 for each kind of ring in use
//	reactord_io_ring_info{backend,setup,features}       gauge   1 for each; the kernel's IORING_SETUP_* and IORING_FEAT_* bits
//	reactord_reactor_loop_seconds_total{reactor,phase}  counter phase: busy (CPU time of its thread), wait (the rest)
//	reactord_reactor_completions_total{reactor}         counter
//	reactord_reactor_enters_total{reactor}              counter
//	reactord_reactor_cancels_total{reactor}             counter
//	reactord_reactor_posts_total{reactor}               counter
//	reactord_reactor_timers_total{reactor}              counter
//	reactord_reactor_stale_total{reactor}               counter 0, or there is a bug
//	reactord_reactor_leaked_total{reactor}              counter 0, or there is a bug
//	reactord_reactor_operations_in_flight{reactor}      gauge
//	reactord_buffer_ring_exhausted_total{reactor}       counter
//	reactord_buffers_ring_bytes{reactor}                gauge
//	reactord_buffers_in_use_bytes{reactor}              gauge
//
// The reason is why the ring is not io_uring: "" (it is), forced (epoll was asked for), disabled (the
// sysctl kernel.io_uring_disabled), eperm, enosys, old_kernel, memlock or other.
//
// # The series of a balancer (NewBalancer)
//
//	reactord_reactor_connections{reactor}               gauge   connections that a [reactor.Balancer] has given to the loop
//
// # The series of the proxy (NewProxy)
//
//	reactord_listener_connections_total{listener}                      counter
//	reactord_listener_connections{listener}                            gauge
//	reactord_listener_connections_limit{listener}                      gauge
//	reactord_listener_pauses_total{listener}                           counter times that the limit was reached
//	reactord_listener_receive_bytes_total{listener}                    counter from clients
//	reactord_listener_transmit_bytes_total{listener}                   counter to clients
//	reactord_listener_accept_errors_total{listener,reason}             counter
//	reactord_connections_closed_total{listener,term_by,phase}          counter
//	reactord_connection_duration_seconds{listener}                     histogram
//	reactord_server_connections_total{backend,server}                  counter
//	reactord_server_connections{backend,server}                        gauge
//	reactord_server_connect_failures_total{backend,server,reason}      counter
//	reactord_server_retries_total{backend,server}                      counter
//	reactord_server_connect_duration_seconds{backend}                  histogram of connections that were made
//
// # The series of the process (Handler)
//
// reactord_build_info{version,revision,goversion}; those of the Go runtime, go_*, with its garbage
// collector's and its scheduler's; those of the process, process_*; and the handler's own,
// promhttp_metric_handler_errors_total{cause}.
//
// # How many series there are
//
// With R loops, L listeners, B backends and S servers; E reasons of accept errors, T ways to end and
// F reasons of connect failures; and H, a histogram's bounds and three more (+Inf, sum, count):
//
//	13·R + (6+E+T+H)·L + H·B + (3+F)·S
//
// and two for each kind of ring in use: in general that is one kind. The process has some 165, nearly
// all of them the Go runtime's: their number depends on its version.
package metrics
