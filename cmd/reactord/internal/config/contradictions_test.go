package config

import (
	"fmt"
	"strings"
	"testing"
)

// Each line breaks a rule: what is written, and what is then said.
func TestRules(t *testing.T) {
	for _, test := range []struct{ where, text, want string }{
		{"", "admin: {address: 'tcp://192.0.2.1:1'}", `address "tcp://192.0.2.1:1" is reachable from other machines, ` +
			"and the admin API would be unprotected: write web_config_file, too, with TLS and users, or the address " +
			"unix:///PATH or tcp://127.0.0.1:PORT"},
		{"", "admin: {address: 'unix:///a', web_config_file: a}", "web_config_file requires a TCP address, and a unix " +
			"socket is"},
		{"", "admin: {web_config_file: a}", "web_config_file requires address: write address: tcp://HOST:PORT, too"},
		{"", "admin: {address: 'unix:///a', roles: [{user: a, role: read}]}", "roles requires web_config_file, whose users"},
		{"", "admin: {address: 'tcp://[::1]:1', web_config_file: a, roles: [{user: a, role: read}, {user: a, role: admin}]}",
			`user "a" has a role already`},
		{"", "admin: {address: 'tcp://[::1]:1', web_config_file: a, roles: [{user: a}]}",
			"no role: write read, operator or admin"},
		{"", "admin: {address: 'unix:///a', default_role: root}", `default_role "root" is no role: write read, operator or`},
		{"", "admin: {page: {address: 'tcp://[::1]:1'}}", "page is a second address: write address of admin, too"},
		{"", "admin: {address: 'unix:///a', page: {address: 'unix:///b'}}", "a browser needs a TCP address"},
		{"", "admin: {address: 'tcp://[::1]:1', page: {address: 'tcp://[::1]:1'}}", "is the address of the admin API"},
		{"", "admin: {address: 'unix:///a', page: {address: 'tcp://192.0.2.1:1'}}", "the page would be unprotected"},
		{"", "admin: {address: 'unix:///a', page: {web_config_file: b}}", "web_config_file requires address"},
		{"", "metrics: {web_config_file: a}", "web_config_file requires address: write address: HOST:PORT, too"},
		{"", `metrics: {address: 'a:1', web_config_file: "a\0b"}`, "has a zero byte"},
		{"", "kubernetes: {address: 'ftp://a'}", `address "ftp://a" is not the URL of an API server: write ` +
			`https://HOST:PORT`},
		{"", "kubernetes: {address: 'https://a:b@c'}", `address "https://a:b@c" contains a password, which logs would show`},
		{"", "kubernetes: {address: 'https://a/?b'}", "has a query or a fragment"},
		{"", "kubernetes: {key_file: a}", "key_file requires cert_file: write it, too"},
		{"", "kubernetes: {address: 'http://a', ca_file: a}", "ca_file has no effect with http"},
		{"", "kubernetes: {address: 'HTTP://a', token_file: a}", "the token would be sent unencrypted: write an https"},
		{"", "metrics: 5", `metrics is an address such as tcp://127.0.0.1:8080, or a mapping of "address"`},
		{"", "admin: {address: 'unix://a'}", `address "unix://a" has no absolute path: write unix:///PATH`},
		{"", "admin: {address: 'unix:///" + strings.Repeat("a", 110) + "'}",
			`is longer than 100 bytes, the limit for a socket's path`},
		{"", "admin: {address: 'a b'}", `address "a b" is not an address: write unix:///PATH, or tcp://127.0.0.1:PORT`},
		{"", "admin: {address: 'fd://a'}", "is not an address: write unix:///PATH, or tcp://127.0.0.1:PORT"},
		{"", "admin: {address: 'localhost:1', owner: www}",
			"owner requires a unix socket: write address: unix:///PATH, or remove it"},
		{"", "admin: {mode: 0888}", `mode "0888" is not a file mode: write permissions in octal, from 0000 to 0777, as ` +
			`in 0600`},
		{"", "admin: {mode: 01000}", `mode "01000" is not a file mode`},
		{"", "metrics: fd://a",
			`address "fd://a": only a listener may be a socket of the service manager: write HOST:PORT`},
		{"", "access_log: {path: a, fields: [clinet]}", `field "clinet" is unknown: did you mean "client"?`},
		{"", "access_log: {path: a, format: text, template: '{clinet}'}",
			`template "{clinet}" has an unknown field "clinet": did you mean "client"?`},
		{"", "access_log: {path: a, format: text, template: '{client'}",
			`template "{client" has an unmatched '{': write '{{' for a literal brace`},
		{"", "access_log: {path: a, format: text, template: 'client}'}",
			`template "client}" has an unmatched '}': write '}}' for a literal brace`},
		{"", "access_log: {path: a, format: text}", "the format text requires template: write it, too"},
		{"", "access_log: {path: a, template: '{client}'}",
			"template requires the format text: write format: text, or remove it"},
		{"", "access_log: {path: a, format: tcplog, fields: [client]}",
			"fields requires the format json: write format: json, or remove it"},
		{"", "access_log: {path: a, interim: 1ms}", "interim 1ms is out of range: write 0s, or 1s to"},
		{"", "access_log: {path: a, sample: 0}", "sample 0 is out of range: write 1 to 1000000"},
		{"", "access_log: {path: a, skip_normal: true, sample: 100}",
			"skip_normal omits what sample chooses from: remove one of them"},
		{"", "access_log: {path: a, address: unix:///dev/log}", "the lines go to one place: remove path or address"},
		{"", "access_log: {address: 'udp://logs:0'}", `"udp://logs:0": no port: write that of the log server`},
		{"", "access_log: {address: 'udp://logs:1-2'}", "only a listener may have a range of ports"},
		{"", "access_log: {address: 'fd://logs'}", "only a listener may be a socket of the service manager"},
		{"", "access_log: {address: 'udp://logs:514', tls: {enabled: true}}", "TLS requires a stream"},
		{"", "access_log: {path: a, tls: {enabled: true}}", "TLS requires an address"},
		{"", "access_log: {path: a, syslog: rfc5424}", "syslog requires an address"},
		{"", "access_log: {address: 'udp://logs:514', syslog: rfc1}", `syslog "rfc1" is unknown`},
		{"", "access_log: {address: 'udp://logs:514', facility: local8}", `facility "local8" is unknown: did you mean`},
		{"", "access_log: {address: 'udp://logs:514', tag: 'a b'}", "is no tag: write up to 48 ASCII characters"},
		{"", "access_log: {path: a, queue: 1}", "queue 1 is out of range: write 16 to 1048576"},
		{"", "limits: {rate: {burst: 5}}", "burst has no effect without a rate: write connections, too"},
		{"", "limits: {source_rate: {connections: 5, ipv4_prefix: 33}}", "ipv4_prefix 33 is out of range: write 1 to 32"},
		{"", "limits: {memory: 1MiB}", "memory 1MiB is out of range: write 0B, or 16MiB to 1048576GiB"},
		{"", "drain: {spread: 1m}",
			"spread 1m is longer than the timeout, at which all connections are reset: write at most 30s; see"},
		{"", "resolver: {servers: ['dns.example.org:53']}",
			`server "dns.example.org:53" is not the address of a DNS server: ` +
				"write an IP address and a port, as in 192.0.2.1:53 or [2001:db8::1]:53"},
		{"", "resolver: {attempts: 0}", "attempts 0 is out of range: write 1 to 100"},

		{"listener", "on_limit: drop", `on_limit "drop" is unknown: write one of "wait" and "reject"`},
		{"", "metrics: unix:///a", `address "unix:///a": only a listener may be a unix socket: write HOST:PORT`},
		{"", "metrics: 'a:1-2'", `address "tcp://a:1-2": only a listener may have a range of ports: write HOST:PORT`},
		{"", "metrics: 'udp://a:1'", `address "udp://a:1": HTTP is spoken over TCP: write HOST:PORT`},
		{"", "admin: {address: 'udp://127.0.0.1:1'}", "is not an address: write unix:///PATH, or tcp://127.0.0.1:PORT"},
		{"listener", "udp: {requests: 1}", "udp requires a UDP address: write address: udp://HOST:PORT, or remove it"},
		{"listener", "socket: {owner: www}", "owner does not fit the address: it applies to the file of a"},
		{"listener", "socket: {mode: 0600}", "mode does not fit the address"},
		{"listener", "socket: {ipv6_only: true}",
			"ipv6_only applies only to the address [::], which accepts IPv4 clients, too: remove it"},
		{"server", "address: 'unix://a'", "the path is not absolute"},
		{"server", "name: 'unix://a'", `name "unix://a": use letters`},
		{"server", "address: 'a:1-2'", `only a listener may have a range of ports: write tcp://HOST:PORT`},
		{"server", "address: 'udp://a:1'", `address "udp://a:1" cannot serve the connections of listener "l": write a:1 ` +
			`without a scheme`},
		{"listener", "tls: {certificates: [{key: k}]}", "no certificate: write the path of its file, in PEM"},
		{"listener", "tls: {certificates: [{cert: c}], min_version: '1.3', max_version: '1.2'}",
			`min_version "1.3" is greater than max_version, 1.2`},
		{"listener", "tls: {certificates: [{cert: c}], ciphers: [TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA257]}",
			"is unknown: did you mean"},
		{"listener", "tls: {certificates: [{cert: c}], ciphers: [TLS_AES_128_GCM_SHA256]}", `cipher "TLS_AES_128_GCM_SHA256" is a cipher suite of TLS 1.3,`},
		{"listener", "tls: {certificates: [{cert: c}], curves: [P-255]}", `curve "P-255" is unknown: did you mean "P-256"`},
		{"listener", "tls: {certificates: [{cert: c}], curves: [X25519MLKEM768], max_version: '1.2'}",
			"TLS 1.2 has none of these key exchanges: add X25519"},
		{"backend", "tls: {curves: [P-256]}", "has no effect without TLS: write enabled: true, too"},
		{"listener", "tls: {certificates: [{cert: c}], alpn: ['']}", `alpn "" is not a protocol`},
		{"listener", "tls: {client_auth: require}", "has no effect without certificates: write certificates, too"},
		{"listener", "tls: {certificates: [{cert: c}], client_auth: require}",
			"client_auth: require needs client_ca: write the file"},
		{"listener", "tls: {certificates: [{cert: c}], client_ca: a}", "client_ca has no effect with client_auth: none"},
		{"listener", "tls: {certificates: [{cert: c}], tickets: false, ticket_keys: a}", "ticket_keys has no effect " +
			"with tickets: false: remove one of"},
		{"backend", "tls: {server_name: a}", "has no effect without TLS: write enabled: true, too"},
		{"listener", "tls: {certificates: [{cert: c}], client_sans: [any]}",
			"client_sans has no effect with client_auth: none"},
		{"listener", "tls: {certificates: [{cert: c}], client_crl: a}", "client_crl requires client_ca: write it, too"},
		{"listener", "tls: {client_crl: a}", "client_crl has no effect without certificates"},
		{"backend", "tls: {enabled: true, crl: a}", "crl requires ca: write it, too"},
		{"listener", "tls: {client_sans: [any]}", "client_sans has no effect without certificates"},
		{"listener", "tls: {deny_sans: [any]}", "deny_sans has no effect without certificates"},
		{"listener", "tls: {certificates: [{cert: c}], deny_sans: [any]}",
			"deny_sans has no effect with client_auth: none"},
		{"listener", "tls: {certificates: [{cert: c}], client_auth: require, client_ca: a, deny_sans: ['except dns:a']}",
			"nothing is denied after the last exception"},
		{"listener", "tls: {certificates: [{cert: c}], client_auth: require, client_ca: a, deny_sans: ['except b', any]}",
			`deny_san "except b" is not a subject alternative name`},
		{"backend", "tls: {enabled: true, insecure: true, sans: [any]}", "sans has no effect with insecure: remove one " +
			"of them"},
		{"backend", "tls: {sans: [any]}", "sans has no effect without TLS: write enabled: true, too"},
		{"backend", "tls: {enabled: true, server_name: .}", `server_name "." requires sans: write the names that the ` +
			`certificate may have`},
		{"backend", "tls: {enabled: true, sans: ['dns:a', b]}", `san "b" is not a subject alternative name: write it as in`},
		{"backend", "tls: {enabled: true, sans: ['dns:']}", `"dns:" has no name: write it after the colon`},
		{"backend", "tls: {enabled: true, sans: ['dns-:a']}", `san "dns-:a" is not a subject alternative name`},
		{"backend", "tls: {enabled: true, sans: ['ip-prefix:10.']}", `san "ip-prefix:10.": IP addresses have no partial ` +
			`match`},
		{"backend", "tls: {enabled: true, sans: ['ip:a']}", "is not an IP address: write it as in ip:192.0.2.1"},
		{"backend", "tls: {enabled: true, insecure: true, ca: a}", "ca has no effect with insecure: remove one of them"},
		{"backend", "tls: {enabled: true, key: a}", "key requires cert: write it, too"},
		{"backend", "tls: {enabled: true, key_password_file: a}", "key_password_file requires cert: write it, too"},
		{"backend", "tls: {key: a}", "has no effect without TLS: write enabled: true, too"},
		{"backend", "tls: {key_password_file: a}", "has no effect without TLS: write enabled: true, too"},
		{"backend", "proxy_protocol: {version: v2, tlvs: [received, crc32]}", `tlv "crc32" is unknown: did you mean ` +
			`"crc32c"?`},
		{"backend", "proxy_protocol: {version: v2, tlvs: [sni]}",
			`write one of "alpn", "authority", "ssl", "unique_id", "crc32c" and "received"`},
		{"backend", "proxy_protocol: {version: v1, tlvs: [alpn]}", "tlvs requires version 2: write version: v2"},
		{"backend", "proxy_protocol: {tlvs: [alpn]}", "tlvs requires version 2: write version: v2"},
		{"", "access_log: /a", `"template" and "tls", not "/a": write it as in access_log: {path: /var/log/reactord/access.log}`},
		{"listener", "proxy_protocol: true", "write it as in proxy_protocol: {trusted: [10.0.0.0/8]}"},
		{"backend", "proxy_protocol: v2", "write it as in proxy_protocol: {version: v2}"},
		{"listener", "tls: true", "write it as in tls: {certificates: [{cert: /etc/reactord/example.org.pem}]}"},
		{"backend", "tls: true", "write it as in tls: {enabled: true}"},
		{"listener", "proxy_protocol: {optional: true}", "optional has no effect without trusted networks"},
		{"listener", "routes: [{sni: [a]}]", "no backend: write the name of a backend"},
		{"listener", "routes: [{sni: [a], backend: b, backends: [{backend: b}]}]", "backend and backends are both set"},
		{"listener", "routes: [{sni: [a], backends: [{backend: c}]}]", `backend "c" does not exist`},
		{"listener", "routes: [{sni: [a], backends: [{weight: 1}]}]", "no backend: write the name of a backend"},
		{"listener", "routes: [{sni: [a], backends: [{backend: b, weight: -1}]}]",
			"weight -1 is out of range: write 0 to 1000000"},
		{"listener", "routes: [{backend: b}]",
			`a route without a condition leaves no connections for the listener's backend "b": remove one of both; see`},
		{"listener", "routes: [{transport: any, backend: b}, {sni: [a], backend: b}]", "or move it to the end"},
		{"listener", "routes: [{transport: tcp, sni: [a], backend: b}]", `transport "tcp" is unknown`},
		{"listener", "routes: [{transport: raw, sni: [a], backend: b}]", "sni has no effect with transport: raw: remove " +
			"it, or write"},
		{"listener", "routes: [{transport: raw, tls: {certificates: [{cert: c}]}, backend: b}]",
			"tls has no effect with transport: raw: remove it, or write"},
		{"listener", "routes: [{destination_ports: [0], backend: b}]",
			"destination_port 0 is out of range: write 1 to 65535"},
		{"listener", "routes: [{sni: [a], passthrough: true, backend: b}]", "passthrough has no effect on a listener " +
			"that does not"},
		{"listener", "routes: [{sni: [a], passthrough: true, tls: {certificates: [{cert: c}]}, backend: b}]",
			"passthrough and tls.certificates contradict each other: remove one of them"},
		{"listener", "routes: [{sni: [a], tls: {client_auth: require}, backend: b}]",
			"has no effect without certificates: write certificates, too"},
		{"listener", "routes: [{sni: [a], tls: {certificates: [{key: k}]}, backend: b}]", "no certificate: write the path"},
		{"listener", "socket: {keep_alive: {idle: 5s}}", "has no effect without mode: own: write it, too"},
		{"listener", "socket: {keep_alive: {mode: off}}", `mode`},
		{"server", "plain: true", "plain has no effect: the backend has no TLS: remove it"},
		{"listener", "source_rate: {burst: 5}", "burst has no effect without a rate: write connections, too"},

		{"server", "address: fd://a",
			`address "fd://a": only a listener may be a socket of the service manager: write tcp://HOST:PORT`},
		{"server", "weight: 1001", "weight 1001 is out of range: write 0 to 1000"},
		{"server", "priority: 1, backup: true", "backup and priority are both set: write one of them"},
		{"server", "state: down", `state "down" is unknown: write maintenance`},
		{"server", "name: a b", `name "a b": use`},

		{"backend", "source_addresses: [localhost]", `source_address "localhost" is not an IP address: ` +
			"write an address of this machine, without a name or port"},
		{"backend", "source_addresses: ['0.0.0.0']", "source_address 0.0.0.0 is not the address of one machine"},
		{"backend", "source_addresses: ['::1', '::1']", `source_address "::1" is used twice; see`},
		{"backend", "balance: {load_factor: 150}", "load_factor requires the policy source_hash or maglev: " +
			"write one of them, or remove it"},
		{"backend", "balance: {policy: maglev, load_factor: 50}",
			"load_factor 50 is out of range: write 0, or 101 to 100000"},
		{"backend", "balance: {subset_key: a}", "subset_key has no effect without a subset: write subset, too"},
		{"backend", "balance: {subset: -1}", "subset -1 is out of range: write 0 to 1048576"},
		{"backend", "balance: {policy: roundrobin}", `policy "roundrobin" is unknown: did you mean "round_robin"?`},
		{"backend", "check: {interval: 1s, send: a, send_hex: '00'}", "send and send_hex are both set: write one of them"},
		{"backend", "check: {interval: 1s, expect: a, expect_hex: '00'}",
			"expect and expect_hex are both set: write one of them"},
		{"backend", "check: {interval: 1s, send_hex: 0x}", `send_hex "0x" is not hexadecimal: ` +
			"write two digits for each byte, as in 0d0a, and at most 65536 bytes"},
		{"backend", "check: {interval: 1s, expect_hex: '0'}", `expect_hex "0" is not hexadecimal`},
		{"backend", "check: {interval: 1s, port: 65536}", "port 65536 is out of range: write 0 to 65535"},
		{"backend", "check: {interval: 1s, tls_server_name: a}",
			"tls_server_name has no effect without TLS: write tls: true, too"},
		{"backend", "check: {interval: 1s, tls: true, tls_server_name: a b}", `tls_server_name "a b" is not a host`},
		{"backend", "check: {send: PING}", "send has no effect without an interval"},
		{"backend", "check: {steps: [{send: a}]}", "steps has no effect without an interval"},
		{"backend", "check: {interval: 1s, send: a, steps: [{send: a}]}", "steps take the place of send: write it as " +
			"the first step; see f:4:78"},
		{"backend", "check: {interval: 1s, steps: [{send: a, send_hex: '00'}]}", "send and send_hex are both set"},
		{"backend", "check: {interval: 1s, steps: [{send: a}, {expect_hex: 0x}]}", `expect_hex "0x" is not hexadecimal`},
		{"backend", "check: {interval: 1s, steps: [{}]}", "nothing to send or to expect: write send or expect"},
		{"backend", "check: {interval: 1s, steps: [" + strings.Repeat("{send: a},", 65) + "]}", "65 steps are too many: " +
			"write at most 64"},
		{"backend", "check: {protocol: mysql}", "protocol has no effect without an interval"},
		{"backend", "check: {interval: 1s, protocol: pgsql}", `protocol "pgsql" is unknown`},
		{"backend", "check: {interval: 1s, protocol: redis, send: a}", "send does not fit the protocol redis"},
		{"backend", "check: {interval: 1s, password: a}", "password does not fit the protocol tcp"},
		{"backend", "check: {interval: 1s, protocol: mysql, role: primary}", "role does not fit the protocol mysql"},
		{"backend", "check: {interval: 1s, protocol: redis, role: master}", `role "master" is unknown`},
		{"backend", "check: {interval: 1s, protocol: redis, user: a}", "user requires password"},
		{"backend", "check: {interval: 1s, protocol: mysql, user: \"a\\0b\"}", "has a zero byte"},
		{"backend", "check: {interval: 1s, protocol: udp, expect: a}", "udp requires something to send"},
		{"backend", "check: {interval: 1s, protocol: udp, steps: [{expect: a}]}", "udp requires something to send"},
		{"backend", "check: {interval: 1s, protocol: udp, tls: true, send: a}", "tls does not fit the protocol udp"},
		{"server", "check: {port: 1}", "check has no effect: the backend has none: write check: {interval: 5s}"},
		{"server", "agent: {disabled: true}", "disabled has no effect: the backend has no agent"},
		{"server", "agent: {port: 1, disabled: true}", "port has no effect with disabled"},
		{"backend", "check: {pgsql_check: true}", "write check: {protocol: postgresql} below a backend"},
		{"backend", "check: {close_on_down: true}", "close_on_down has no effect without an interval"},
		{"backend", "agent: {send: a}", "send has no effect without a port: write port, too"},
		{"backend", "ejection: {max_time: 1s}", "max_time 1s is less than time, 10s: write at least that; see"},
		{"backend", "keep_alive: {idle: 1500ms}", "idle 1.5s has a fraction: write a multiple of 1s"},
		{"backend", "dns: [{port: 1}]", "no name: write the name whose addresses are servers"},
		{"backend", "dns: [{name: a.b}]", "no port: write the port that the servers listen on, or type: SRV"},
		{"backend", "dns: [{name: a.b, type: SRV, port: 1}]",
			"port has no effect with SRV records: remove it, or write another type"},
		{"backend", "dns: [{name: 192.0.2.1, port: 1}]", `name "192.0.2.1" is an IP address: write it below servers`},
		{"backend", "dns: [{name: 'a:53', port: 1}]",
			`name "a:53" is not a name: write it as in app.example.org, without a port`},
		{"backend", "dns: [{name: a, port: 1}, {name: A, port: 1}]", "is used twice; see"},
		{"backend", "dns: [{name: a, port: 1, max_interval: 1ms}]",
			"max_interval 1ms is less than min_interval, 1s: write at least that"},
		{"backend", "files: [{path: /a/*/b}]",
			`path "/a/*/b" has a pattern in a directory: only the last part may be a pattern`},
		{"backend", "files: [{path: /a/}]", `path "/a/" is a directory: write a file in it, or a pattern such as *.json`},
		{"backend", "files: [{path: '/a/['}]", `path "/a/[" is not a pattern: write \[ for a bracket of the name`},
		{"backend", "http: [{url: 'ftp://a/'}]",
			`url "ftp://a/" is not a URL: write http://HOST/PATH or https://HOST/PATH`},
		{"backend", "http: [{url: 'http://a.example/', token_file: a}]", "the token would be sent unencrypted"},
		{"backend", "http: [{url: 'http://192.0.2.1/', token_file: a}]", "the token would be sent unencrypted"},
		{"backend", "http: [{url: 'http://u:p@a/'}]", `url "http://u:p@a/" contains a password, which logs would show`},
		{"backend", "http: [{url: 'http://a/', ca_file: /a}]",
			"ca_file has no effect with http: write an https URL, or remove it"},
		{"backend", "kubernetes: [{}]", "no service: write the name of the Service"},
		{"backend", "kubernetes: [{service: a.b}]", `service "a.b" is not the name of a Service: write it without its ` +
			`namespace`},
		{"backend", "kubernetes: [{service: A}]", `service "A" is not the name of a Service`},
		{"backend", "kubernetes: [{service: -a}]", `service "-a" is not the name of a Service`},
		{"backend", "kubernetes: [{service: a, namespace: b/c}]", `namespace "b/c" is not the name of a namespace`},
		{"backend", "kubernetes: [{service: a, port: 0}]", `port "0" is not a port: write 1 to 65535`},
		{"backend", "kubernetes: [{service: a, port: 65536}]", `port "65536" is not a port: write 1 to 65535`},
		{"backend", "kubernetes: [{service: a, port: a b}]", `port "a b" is not a port: write its name as in http, or ` +
			`its number`},
		{"backend", "kubernetes: [{service: a, address_type: FQDN}]", `address_type "FQDN" is unknown: write one of ` +
			`"ip", "IPv4" and "IPv6"`},
		{"backend", "kubernetes: [{service: a, port: 1}, {service: a, port: 1}]", "is used twice; see"},
		{"backend", "check: {subset: 5}", "subset has no effect without an interval"},
		{"backend", "check: {interval: 1s, subset: 5}, balance: {subset: 6}",
			"subset 5 is less than balance.subset, 6, so unchecked servers would be used: write at least that"},
		{"backend", "agent: {port: 1}, check: {subset: 5}", "subset does not apply to agent checks: remove it, or write"},
		{"backend", "hold: 5s, queue: {size: 0}", "hold has no effect with queue.size 0: no connection waits: write a size"},
		{"backend", "hold: 5s, queue: {timeout: 9s}", "timeout has no effect with hold, which limits the wait instead"},
		{"backend", "hold: 5s, total_connect_timeout: 4s", "hold 5s is longer than total_connect_timeout, 4s, which ends"},
		{"backend", "hold: 5s, retry_delay: 0s", "hold requires a retry_delay, after which a server is tried again"},
		{"backend", "hold: 5", "hold 5 has no unit: write a number with its unit"},
		{"backend", "http: [{url: 'http://a/#b'}]", "has a fragment, which is never sent: remove the part from # on"},
	} {
		settings := map[string]string{"listener": "", "server": "", "backend": ""}
		if test.where != "" {
			settings[test.where] = ", " + test.text
		}
		address := "address: '192.0.2.1:1'"
		if strings.HasPrefix(test.text, "address: ") {
			address, settings["server"] = test.text, ""
		}
		text := fmt.Sprintf("listeners:\n- {name: l, address: '127.0.0.1:1', backend: b%s}\n"+
			"backends:\n- {name: b, servers: [{%s%s}]%s}\n",
			settings["listener"], address, settings["server"], settings["backend"])
		if test.where == "" {
			text += test.text + "\n"
		}
		_, _, err := Parse("f", []byte(text))
		if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: got\n%v\nwant\n%s", test.text, err, test.want)
		}
	}
}

// Names of routes, and what is said about them.
func TestServerNames(t *testing.T) {
	for name, want := range map[string]string{
		"example.org": "", "*.example.org": "", "localhost": "", "_a.b": "", "xn--bcher-kva.example": "", "*.org": "",
		"192.0.2.1":         "is an IP address, which clients do not send: write a name, or a route by destinations",
		"[2001:db8::1]":     "is an IP address",
		"2001:db8::1":       "is an IP address",
		"*.192.0.2.1":       "is an IP address",
		"*":                 "matches no name: to match every name, write the listener's backend",
		"*.*.org":           `has a "*" that is not its first label`,
		"bücher.example":    "is not ASCII, which clients send: write it in its ASCII form, xn--…",
		"example.org.":      "ends with a dot, which clients do not send: write it without the dot at the end",
		"*.example.org.":    "ends with a dot",
		"":                  "is not the name of a server: write it",
		".":                 "is not the name of a server",
		"*.":                "is not the name of a server",
		".example.org":      "is not the name of a server",
		"a..example.org":    "is not the name of a server",
		"*..org":            "is not the name of a server",
		"example.org..":     "is not the name of a server",
		"example.org:443":   "is not the name of a server: write it without a port and a path",
		"https://a.example": "is not the name of a server: write it without a port and a path",
		"a b":               "is not the name of a server",
	} {
		if got := sniFault(name); !strings.HasPrefix(got, want) || want == "" && got != "" {
			t.Errorf("%q: got %q, want %q", name, got, want)
		}
	}
}

// Settings that do not fit the address of a listener.
func TestMisfits(t *testing.T) {
	for _, test := range []struct{ address, text, want string }{
		{"unix:///a", "allow: [10.0.0.0/8]", "allow does not fit the address: clients of a unix socket have"},
		{"unix://@a", "deny: [10.0.0.0/8]", "deny does not fit the address"},
		{"unix:///a", "source_rate: {connections: 1}", "source_rate does not fit"},
		{"unix:///a", "bandwidth: {source: {from_client: 1MiB}}", "bandwidth.source does not fit"},
		{"unix:///a", "socket: {tos: 8}", "tos does not fit the address: unix sockets have no such option"},
		{"unix://@a", "socket: {mode: 0600}", "mode does not fit the address: it applies to the file of a"},
		{"fd://a", "socket: {interface: eth0}", "interface does not fit the address: the service manager opens"},
		{"udp://[::]:1", "tls: {certificates: [{cert: a}]}", "tls does not fit the address: it applies to connections, and"},
		{"udp://[::]:1", "proxy_protocol: {trusted: ['::/0']}", "proxy_protocol.trusted does not fit"},
		{"fd+udp://a", "start_tls: smtp", "start_tls does not fit the address"},
		{"udp://[::]:1", "routes: [{sni: [a], backend: b}]", "a UDP listener cannot route by sni or alpn: remove them, or"},
		{"udp://[::]:1", "routes: [{transport: raw, backend: b}]", "transport does not fit the address"},
		{"udp://[::]:1", "routes: [{sources: ['::1'], idle_timeout: 1s, backend: b}]",
			"idle_timeout does not fit the address"},
		{"udp://[::]:1", "routes: [{sources: ['::1'], tls: {certificates: [{cert: a}]}, backend: b}]", "tls does not fit"},
		{"udp://[::]:1", "socket: {keep_alive: {mode: none}}", "keep_alive does not fit the address"},
		{"unix:///a", "socket: {free_bind: true}", "free_bind does not fit the address"},
		{"fd://a", "socket: {free_bind: true}", "free_bind does not fit the address"},
		{"udp://[::]:1", "socket: {backlog: 5}", "backlog does not fit the address: it is a TCP option, and"},
		{"udp://[::]:1", "udp: {responses: 1}", "responses has no effect without requests"},
		{"tcp://[::]:1", "routes: [{sni: [a], tls: {certificates: [{cert: a}]}, backend: b}, " +
			"{sni: [b], passthrough: true, backend: b}, {transport: raw, allow: ['::1'], backends: [{backend: b}]}]", ""},
		{"udp://[::]:1", "routes: [{destination_ports: [1], deny: ['::1'], lifetime: 1s, backends: [{backend: b}]}]", ""},
		{"udp://[::]:1",
			"socket: {ipv6_only: true, interface: lo, tos: 8}, udp: {requests: 1, responses: 1}, deny: ['::1']", ""},
		{"unix:///a", "socket: {mode: 0666, owner: a, group: '5', backlog: 5}", ""},
		{"fd://a", "socket: {mss: 1000, tos: 8, backlog: 5}", ""},
		{"tcp://[::]:1-5", "socket: {mss: 1000, fast_open: 5, ipv6_only: true}, allow: [10.0.0.1, '::1/128']", ""},
	} {
		text := fmt.Sprintf("listeners:\n- {name: l, address: '%s', backend: b, %s}\n"+
			"backends:\n- {name: b, servers: ['192.0.2.1:1']}\n", test.address, test.text)
		_, _, err := Parse("f", []byte(text))
		if test.want == "" && err == nil {
			continue
		}
		if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n") || test.want == "" {
			t.Errorf("%s, %s: got\n%v\nwant\n%s", test.address, test.text, err, test.want)
		}
	}
}

// Settings of a backend that cannot hold for the datagrams that a listener, or a route of it, sends there.
func TestBackendsOfDatagrams(t *testing.T) {
	const noTLS = `: TLS cannot protect the datagrams of listener "l": remove it`
	for _, test := range []struct{ text, want string }{
		{"tls: {enabled: true}", "enabled true" + noTLS},
		{"tls: {start_tls: smtp}", "start_tls smtp" + noTLS},
		{"proxy_protocol: {version: v1}", `version v1 has no header for the datagrams of listener "l"`},
		{"hold: 5s", `hold does not apply to the datagrams of listener "l", which are dropped while there is no server`},
		{"tls: {enabled: false, start_tls: none}, proxy_protocol: {version: v2}", ""},
	} {
		for _, to := range []string{
			"backend: b", "backend: other, routes: [{sources: [10.0.0.0/8], backend: b}]",
		} {
			text := fmt.Sprintf("listeners:\n- {name: l, address: 'udp://[::]:1', %s}\nbackends:\n"+
				"- {name: b, servers: ['192.0.2.1:1'], %s}\n- {name: other, servers: ['192.0.2.1:1']}\n", to, test.text)
			_, _, err := Parse("f", []byte(text))
			if test.want == "" && err == nil {
				continue
			}
			if err == nil || test.want == "" || !strings.Contains(err.Error(), test.want) ||
				strings.Contains(err.Error(), "\n") {
				t.Errorf("%s, %s: got\n%v\nwant\n%s", to, test.text, err, test.want)
			}
		}
	}
}

// What looks like a contradiction, and is none.
func TestAllowed(t *testing.T) {
	for _, text := range []string{
		"agent: {port: 1}\n    check: {close_on_down: true}",
		"dns: [{name: a, port: 1}, {name: a, port: 1, type: AAAA}, {name: a, type: SRV}]",
		"dns: [{name: _http._tcp.a, type: SRV}]",
		"balance: {policy: source_hash, load_factor: 125}",
		"max_connections: 5\n    queue: {size: 0}",
		"check: {interval: 1s, send_hex: 00FF, expect_hex: 0a}",
		"http: [{url: 'HTTPS://A/', ca_file: /a}]",
		"files: [{path: 'relative/*.yml'}, {path: other}]",
		"kubernetes: [{service: a}, {service: a, port: 1}, {service: a, port: http}, {service: a, namespace: b, port: '1'}]",
		"keep_alive: {idle: 0s}",
		"hold: 5s\n    total_connect_timeout: 5s\n    retries: 0",
		"check: {interval: 1s, subset: 5}\n    balance: {subset_key: a}",
		"agent: {port: 1}\n    check: {subset: 5}\n    balance: {subset: 5}",
		"source_addresses: []",
		"proxy_protocol: {version: v2, tlvs: [alpn, authority, ssl, unique_id, crc32c, received]}",
		"proxy_protocol: {version: v1, tlvs: []}",
	} {
		if _, _, err := Parse("f", []byte(valid+"    "+text+"\n")); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// A backend that has only discovery needs no servers.
func TestDiscoveryInsteadOfServers(t *testing.T) {
	text := strings.Replace(valid, "servers: [tcp://127.0.0.1:9000]", "files: [{path: a.json}]", 1)
	if _, _, err := Parse("f", []byte(text)); err != nil {
		t.Error(err)
	}
}
