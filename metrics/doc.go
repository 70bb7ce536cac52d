// Package metrics exposes the counters of the reactor's loops to Prometheus.
//
// # How to use it
//
// [NewLoops] is a collector of the counters of some loops. Register it where the other collectors of a program are:
//
//	prometheus.MustRegister(metrics.NewLoops(r.Loops()))
//
// Or let [Handler] serve it with the series of the process:
//
//	http.Handle("GET /metrics", metrics.Handler(metrics.NewLoops(r.Loops())))
//
// A program that leaves it to [reactor.Run] or to package server to make the loops gets them by the configuration:
//
//	cfg.OnLoops = func(loops []*reactor.Loop) { prometheus.MustRegister(metrics.NewLoops(loops)) }
//
// # What it guarantees
//
// A scrape takes no lock on a loop, waits for none and wakes none. It reads counters that a loop stores once in each of
// its turns. Nothing is kept or counted here between two scrapes. A loop that sleeps has no turns: the time of a wait
// is counted when the wait ends.
//
// The collectors may be used from any goroutine, by several scrapes at the same time, before the loops run, while they
// run and after they have ended. Each number of a scrape is exact. But the numbers are not read at one instant: two of
// them need not add up to a third.
//
// Every series exists from the first scrape on, with the value 0, so that the first event of a kind is an increase. The
// values of labels are the numbers of loops and words from fixed sets.
//
// # The series of the loops
//
// The label reactor is the loop's number.
//
//	reactord_io_backend_info{backend,reason}            gauge   1 for each kind of ring in use
//	reactord_io_ring_info{backend,setup,features}       gauge   1 for each set of IORING_SETUP_* and IORING_FEAT_* bits
//	reactord_reactor_loop_seconds_total{reactor,phase}  counter phase: busy, wait (the rest), see [reactor.Stats]
//	reactord_reactor_entries_total{reactor}             counter
//	reactord_reactor_completions_total{reactor}         counter
//	reactord_reactor_enters_total{reactor}              counter
//	reactord_reactor_overflows_total{reactor}           counter 0, or the completion queue is too small
//	reactord_reactor_cancels_total{reactor,outcome}     counter outcome: canceled, not_found, already
//	reactord_reactor_posts_total{reactor}               counter
//	reactord_reactor_timers_total{reactor}              counter
//	reactord_reactor_stale_total{reactor}               counter 0, or there is a bug
//	reactord_reactor_leaked_total{reactor}              counter 0, or there is a bug
//	reactord_reactor_operations_in_flight{reactor}      gauge
//	reactord_reactor_slow_turn_seconds{reactor}         histogram of turns of 1 ms or more
//	reactord_reactor_timer_lateness_seconds{reactor}    histogram
//	reactord_reactor_longest_turn_seconds{reactor}      gauge   since it began to run: more than 1 is too long
//	reactord_reactor_descriptors{reactor}               gauge
//	reactord_buffer_ring_exhausted_total{reactor}       counter
//	reactord_buffers_ring_bytes{reactor}                gauge
//	reactord_buffers_in_use_bytes{reactor}              gauge
//
// The histograms are classic and native ones at the same time: a server that scrapes native histograms gets those, any
// other the buckets of the classic one. A short turn is no problem and there are many, so only slow ones are counted.
//
// The reason is why the ring is not io_uring: "" (it is io_uring), forced (epoll was asked for), disabled (by the
// sysctl kernel.io_uring_disabled), eperm, enosys, old_kernel, memlock or other.
//
// # The series of a balancer
//
// [NewBalancer] is a collector of the connections that a [reactor.Balancer] has given to each loop.
//
//	reactord_reactor_connections{reactor}               gauge   connections that the balancer gave to the loop
//
// # The series of the process
//
// [Handler] adds those of the Go runtime, go_*, with its garbage collector's and its scheduler's; those of the process,
// process_*; and its own, promhttp_metric_handler_errors_total{cause}.
//
// # How many series there are
//
// R loops have 51·R series, of which 32·R are the two classic histograms, and two for each kind of ring in use, usually
// one kind. The process has about 165, nearly
// all of them the Go runtime's: their number depends on its version.
package metrics
