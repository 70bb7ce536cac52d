package main

import "text/template"

// The limits are raised for 3 000 pairs. TLS is 1.3 everywhere.

// reactordConfig has those timeouts by default that the other two have.
var reactordConfig = template.Must(template.New("reactord.yaml").Parse(`ring: {{.Ring}}
loops: {{.Loops}}
{{- with .MinWait}}
min_wait: {{.}}
{{- end}}
{{- if .Operated}}
metrics: {{.Metrics}}
limits: {max_connections: 8192}
access_log: {path: {{.AccessLog}}, format: tcplog}
{{- end}}
listeners:
  - name: bench
    address: tcp://{{.Listen}}
{{- if .TLS}}
    tls: {min_version: "1.3", certificates: [{cert: {{.Certificate}}, key: {{.Certificate}}}]}
{{- end}}
    backend: upstream
backends:
  - name: upstream
    servers: [tcp://{{.Upstream}}]
{{- if .Operated}}
    max_connections: 4096
    check: {interval: 2s}
{{- end}}
`))

// nginxConfig has no checks but those of its connections: others are not free.
var nginxConfig = template.Must(template.New("nginx.conf").Parse(`load_module ` + nginxModule + `;
daemon off;
worker_processes {{.Loops}};
worker_cpu_affinity {{.CPUMask}};
worker_rlimit_nofile 16384;
pid {{.Dir}}/nginx.pid;
error_log {{.Dir}}/error.log;
events { worker_connections 8192; }
stream {
{{- if .Operated}}
	upstream checked {
		zone checked 64k;
		server {{.Upstream}} max_conns=4096 max_fails=3 fail_timeout=10s;
	}
	log_format tcp '$remote_addr:$remote_port [$time_local] $upstream_addr $upstream_connect_time/$session_time '
		'$bytes_sent/$bytes_received $status';
	access_log {{.AccessLog}} tcp;
	proxy_connect_timeout 5s;
	proxy_timeout 10m;
{{- end}}
	server {
		listen {{.Listen}}{{if .TLS}} ssl{{end}} backlog=4096;
		proxy_pass {{if .Operated}}checked{{else}}{{.Upstream}}{{end}};
{{- if .TLS}}
		ssl_protocols TLSv1.3;
		ssl_certificate {{.Certificate}};
		ssl_certificate_key {{.Certificate}};
		ssl_session_cache shared:sessions:10m;
		ssl_session_tickets on;
{{- end}}
	}
}
`))

// haproxyConfig has tickets and a cache of sessions by default.
var haproxyConfig = template.Must(template.New("haproxy.cfg").Parse(`global
	nbthread {{.Loops}}
	cpu-map 1/1-{{.Loops}} {{.CPU}}
	maxconn 8192
{{- if .Operated}}
	log stdout format raw local0
	stats socket {{.Dir}}/haproxy.sock
{{- end}}
defaults
	mode tcp
	timeout connect 5s
	timeout client 10m
	timeout server 10m
{{- if .Operated}}
	log global
	option tcplog
{{- end}}
listen bench
	bind {{.Listen}} backlog 4096{{if .TLS}} ssl crt {{.Certificate}} ssl-min-ver TLSv1.3{{end}}
	server upstream {{.Upstream}}{{if .Operated}} check inter 2s maxconn 4096{{end}}
`))
