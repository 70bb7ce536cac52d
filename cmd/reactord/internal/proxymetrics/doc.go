// Package proxymetrics is the daemon's own series for Prometheus: the proxy's counters, and the build.
//
// [NewCollector] collects a reading of a proxy's counters, a [Stats]. [NewBuildInfo] is a collector of the build that
// [ReadBuild] reads. The daemon passes both to the handler of package metrics, with the collector of the loops. The
// contract of that package holds here as well: a scrape takes no lock on a loop, every series exists from the first
// scrape on, and no value of a label comes from a client.
//
// # The series of the proxy
//
//	reactord_connections                                               gauge
//	reactord_connections_limit                                         gauge
//	reactord_draining                                                  gauge   0 or 1
//	reactord_idle_timeout_ratio                                        gauge   below 1 while memory is short
//	reactord_memory_pressure_seconds_total                             counter
//	reactord_listener_connections_total{listener}                      counter
//	reactord_listener_connections{listener}                            gauge
//	reactord_listener_connections_limit{listener}                      gauge
//	reactord_listener_pauses_total{listener}                           counter times that a limit was reached
//	reactord_listener_paused_seconds_total{listener}                   counter of all loops together
//	reactord_listener_throttled_seconds_total{listener}                counter of all directions together
//	reactord_listener_rejected_total{listener,reason}                  counter limit, rate, source_rate, denied, draining
//	reactord_listener_receive_bytes_total{listener}                    counter from clients
//	reactord_listener_transmit_bytes_total{listener}                   counter to clients
//	reactord_listener_receive_datagrams_total{listener}                counter of clients, passed on (UDP)
//	reactord_listener_transmit_datagrams_total{listener}               counter of servers, passed on (UDP)
//	reactord_listener_dropped_datagrams_total{listener,reason}         counter refused, draining, full, error, ended
//	reactord_listener_accept_errors_total{listener,reason}             counter
//	reactord_connections_closed_total{listener,term_by,phase}          counter
//	reactord_connection_duration_seconds{listener}                     histogram
//	reactord_backend_connections_total{backend}                        counter
//	reactord_backend_connections{backend}                              gauge
//	reactord_backend_connections_limit{backend}                        gauge   0: none
//	reactord_backend_queue_length{backend}                             gauge
//	reactord_backend_queue_refused_total{backend}                      counter of those that found it full
//	reactord_backend_queue_duration_seconds{backend}                   histogram also of those that got no server
//	reactord_backend_retries_refused_total{backend}                    counter by the retry budget
//	reactord_backend_panic_mode{backend}                               gauge   0 or 1
//	reactord_server_connect_duration_seconds{backend}                  histogram of connects that succeeded
//	reactord_server_up{backend,server}                                 gauge   0 or 1
//	reactord_server_state{backend,server,state}                        gauge   0 or 1
//	reactord_server_weight{backend,server}                             gauge   in force: with slow start and agent check
//	reactord_server_connections_total{backend,server}                  counter
//	reactord_server_connections{backend,server}                        gauge
//	reactord_server_connections_limit{backend,server}                  gauge   0: none
//	reactord_server_connect_failures_total{backend,server,reason}      counter
//	reactord_server_retries_total{backend,server}                      counter
//	reactord_server_checks_total{backend,server,result}                counter
//	reactord_server_transitions_total{backend,server}                  counter changes of the state
//	reactord_server_ejections_total{backend,server}                    counter
//
// # The series of reloads
//
//	reactord_config_reloads_total{result}                              counter success, failure
//	reactord_config_last_reload_successful                             gauge   1: it succeeded, or there was none
//	reactord_config_last_reload_success_timestamp_seconds              gauge   of a reload, or of the start
//
// # The series of the build
//
//	reactord_build_info{version,revision,goversion}                    gauge   1
//
// # How many series there are
//
// With L listeners, B backends and S servers; E reasons of accept errors, R of rejections, D of dropped datagrams, T
// ways to end and F reasons of connect failures; K results of checks and Z states of servers; and with H, the number of
// bounds of a histogram and three more (+Inf, sum, count), without those of TLS and the access log:
//
//	(11+E+R+D+T+2H)·L + (8+3H)·B + (8+F+K+Z)·S + 10
package proxymetrics
